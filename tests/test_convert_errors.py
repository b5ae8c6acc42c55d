"""Options and files that a conversion cannot take: errors say what, where and what to do."""

from __future__ import annotations

import datetime
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sapwood = pytest.importorskip("sapwood")
pytest.importorskip("awkward")
pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
pq = pytest.importorskip("pyarrow.parquet")

from sapwood import errors  # noqa: E402


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.csv").write_text("day,n\n2024-02-29,1\n")
    (tmp_path / "a.jsonl").write_text('{"day":"2024-02-29","n":1,"at":"12:30:00","bad":"noon"}\n')
    with sapwood.recreate(tmp_path / "a.root") as file:
        file.mktree("t", {"x": "i8"}).extend({"x": [1, 2]})
    return tmp_path


def ends(folder: Path, *arguments: Any) -> str:
    """The error that ends the command."""
    command = [sys.executable, "-m", "sapwood", "convert", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder)
    assert done.returncode in (1, 2) and done.stdout == "" and "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("a.csv o.root --step-size abc", "step_size (--step-size) cannot be 'abc': it is a number of rows"),
        ("a.csv o.root --step-size ²", "cannot be '²'"),
        ("a.csv o.root --types n=", "--types n=: it is a column and its type"),
        ("a.csv o.root --types n=int8 --types n=int16", "'n' has the type int8 already"),
        ("a.csv o.root --jobs -1", "jobs (-j, --jobs) cannot be -1"),
        ("a.root:t o.csv --filter-name /[/", "the filter '/[/' is not a regular expression"),
        ("a.csv o.parquet --compression snappy:5", "snappy has no levels"),
    ],
)
def test_the_command_names_the_option(folder: Path, arguments: str, words: str) -> None:
    assert words in ends(folder, *arguments.split())


@pytest.mark.parametrize(
    "size", ["abc", "", "0", "-5", "1.5", "5 XB", "1e400 MB", "nan MB", 0, -1, 1.5, None]
)
def test_sizes_of_steps(folder: Path, size: Any) -> None:
    with pytest.raises(
        errors.MismatchError, match=r"step_size \(--step-size\) cannot be .*rows, or of bytes like"
    ):
        sapwood.convert(folder / "a.csv", folder / "o.root", step_size=size)


@pytest.mark.parametrize("size", [10**20, "99999999999 YB"])
@pytest.mark.parametrize("ends", ["csv", "parquet", "feather", "npz"])
def test_steps_may_be_larger_than_all_files(folder: Path, ends: str, size: Any) -> None:
    sapwood.convert(f"{folder}/a.root:t", folder / f"b.{ends}", step_size=size)
    sapwood.convert(folder / f"b.{ends}", f"{folder}/b.root:t", step_size=size)
    assert sapwood.open(folder / "b.root")["t/x"].array().tolist() == [1, 2]


@pytest.mark.parametrize(
    ("target", "setting", "words"),
    [
        ("o.parquet", "zstd:999", "levels of zstd go from -131072 to 22"),
        ("o.parquet", "gzip:10", "levels of gzip go from 0 to 9"),
        ("o.parquet", "snappy:1", "snappy has no levels"),
        ("o.parquet", "", "it is one of none, snappy"),
        ("o.parquet", "zstd:", "and a level after a colon"),
        ("o.parquet", "zstd:--5", "and a level after a colon"),
        ("o.parquet", "zstd:²", "and a level after a colon"),
        ("o.parquet", "zstd:99999999999999", "and a level after a colon"),
        ("o.feather", "lz4:13", "levels of lz4 go from 0 to 12"),
        ("o.npz", "zip:10", "levels of zip go from 0 to 9"),
        ("o.h5", "gzip:10", "levels of gzip go from 0 to 9"),
        ("o.h5", "lzf:1", "lzf has no levels"),
        ("o.root", "zstd:99", "levels of zstd go from 0 to 11"),
        ("o.root", "", "no such compression: an empty text"),
    ],
)
def test_compression(folder: Path, target: str, setting: str, words: str) -> None:
    with pytest.raises(errors.MismatchError, match=words):
        sapwood.convert(folder / "a.csv", folder / target, compression=setting)


@pytest.mark.parametrize("kind", ["", "abc", "list", "timestamp[fs]", "fixed_size_binary[x]"])
def test_unknown_types_are_an_error_that_lists_some(folder: Path, kind: str) -> None:
    for source in ("a.csv", "a.jsonl"):
        with pytest.raises(errors.MismatchError, match=r"column 'n': unknown type .*; nearest: '"):
            sapwood.convert(folder / source, folder / "o.root", types={"n": kind})


def test_types_are_a_mapping(folder: Path) -> None:
    with pytest.raises(errors.MismatchError, match=r"types are a mapping of columns"):
        sapwood.convert(folder / "a.csv", folder / "o.root", types=["n=int8"])


@pytest.mark.parametrize("is_pipe", [False, True])
def test_json_lines_with_types_that_arrow_does_not_make_of_texts(folder: Path, is_pipe: bool) -> None:
    types = {"day": "date32", "at": "time32[s]", "n": "float16", "bad": "string"}
    source: Any = folder / "a.jsonl"
    if is_pipe:
        command = [
            sys.executable,
            "-m",
            "sapwood",
            "convert",
            "/dev/stdin",
            folder / "o.feather",
            "--from",
            "jsonl",
        ]
        options = [one for name, kind in types.items() for one in ("--types", f"{name}={kind}")]
        done = subprocess.run(
            [*map(str, command), *options], input=source.read_bytes(), timeout=120, check=False
        )
        assert done.returncode == 0
    else:
        sapwood.convert(source, folder / "o.feather", types=types)
    found = feather.read_table(folder / "o.feather")
    assert found.schema.names == ["day", "n", "at", "bad"]
    day, time = datetime.date(2024, 2, 29), datetime.time(12, 30)
    assert found.to_pylist() == [{"day": day, "n": 1.0, "at": time, "bad": "noon"}]
    assert found.schema.types == [pa.date32(), pa.float16(), pa.time32("s"), pa.string()]
    # Without rows there are the types alone.
    (folder / "none.jsonl").write_text("")
    sapwood.convert(folder / "none.jsonl", folder / "none.feather", types=types)
    assert set(feather.read_table(folder / "none.feather").schema.types) == set(found.schema.types)


def test_types_of_columns_that_have_their_first_value_in_a_later_block(tmp_path: Path) -> None:
    rows = 120_000
    (tmp_path / "a.jsonl").write_text('{"x":1,"day":null}\n' * rows + '{"x":2,"day":"2024-02-29"}\n')
    sapwood.convert(tmp_path / "a.jsonl", tmp_path / "a.feather", types={"day": "date32"}, step_size="1 MB")
    found = feather.read_table(tmp_path / "a.feather")
    assert found.schema.types == [pa.int64(), pa.date32()] and found["day"].null_count == rows
    assert found["day"].to_pylist()[-1] == datetime.date(2024, 2, 29)
    command = [sys.executable, "-m", "sapwood", "convert", "/dev/stdin", tmp_path / "b.feather"]
    options = ["--from", "jsonl", "--types", "day=date32", "--step-size", "1 MB"]
    text = (tmp_path / "a.jsonl").read_bytes()
    subprocess.run([*map(str, command), *options], input=text, timeout=120, check=True)
    assert feather.read_table(tmp_path / "b.feather").equals(found)


def test_missing_numbers_of_csv_with_a_type_that_arrow_does_not_make(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,h\n" + "1,\n" * 400_000 + "2,1.5\n")
    sapwood.convert(tmp_path / "a.csv", tmp_path / "a.feather", types={"h": "float16"}, step_size="1 MB")
    found = feather.read_table(tmp_path / "a.feather")["h"]
    assert found.type == pa.float16() and found[-1].as_py() == 1.5 and found.null_count == 400_000


@pytest.mark.parametrize("kind", ["large_binary", "binary", "large_string", "string_view", "binary_view"])
@pytest.mark.parametrize("ends", ["csv", "jsonl"])
def test_texts_of_any_type_are_not_numbers(tmp_path: Path, ends: str, kind: str) -> None:
    if not hasattr(pa, kind):
        pytest.skip("an older pyarrow")
    (tmp_path / "a.csv").write_text("code\n001\n")
    (tmp_path / "a.jsonl").write_text('{"code":"2024-02-29"}\n')
    sapwood.convert(tmp_path / f"a.{ends}", tmp_path / "a.feather", types={"code": kind})
    found = feather.read_table(tmp_path / "a.feather")["code"]
    assert found.type == pa.type_for_alias(kind)
    assert found.cast(pa.large_string()).to_pylist() == ["001" if ends == "csv" else "2024-02-29"]


@pytest.mark.parametrize(
    ("source", "types", "words"),
    [
        (
            "a.jsonl",
            {"day": "int8"},
            r"column 'day' has a string, which int8 does not hold: types= .*a\.jsonl\)",
        ),
        (
            "a.jsonl",
            {"n": "string"},
            r"column 'n' has a number, which string does not hold: types= .*a\.jsonl\)",
        ),
        (
            "a.jsonl",
            {"n": "null"},
            r"a\.jsonl has values of 'n' \(int64\) that null does not hold.*--types n=TYPE",
        ),
        ("a.jsonl", {"at": "date32"}, r"a\.jsonl has values of 'at' .* that date32.* does not hold"),
        (
            "a.jsonl",
            {"n": "time32[s]", "bad": "time32[s]"},
            r"'bad' .*noon does not name a time",
        ),
        ("a.jsonl", {"day": "time32[s]"}, r"'day' .* does not hold: the date would be lost"),
        ("a.jsonl", {"zz": "date32"}, r"column 'zz' does not exist .*nearest"),
        (
            "a.csv",
            {"day": "int8"},
            r"column 'day': CSV conversion error to int8: invalid value '2024-02-29'.*a\.csv",
        ),
        ("a.csv", {"n": "null"}, r"a\.csv has values of 'n' \(int64\) that null does not hold"),
        ("a.csv", {"zz": "int8"}, r"no column 'zz' to have a type; nearest"),
    ],
)
def test_texts_that_a_type_does_not_hold(
    folder: Path, source: str, types: dict[str, str], words: str
) -> None:
    with pytest.raises((errors.MismatchError, errors.NotFoundError), match=words):
        sapwood.convert(folder / source, folder / "o.feather", types=types)
    assert not (folder / "o.feather").exists()


def test_filters_that_fit_no_branch(folder: Path) -> None:
    for name in ("zz", ""):
        with pytest.raises(
            errors.NotFoundError, match=rf"no branch passes filter_name='{name}' .*nearest: 'x'.*a\.root"
        ):
            sapwood.convert(f"{folder}/a.root:t", folder / "o.csv", filter_name=name)


def test_a_time_zone_that_is_not_known(folder: Path) -> None:
    when = pa.array([0, 1], pa.timestamp("us", "Nowhere/X"))
    feather.write_feather(pa.table({"n": [1, 2], "when": when}), folder / "a.feather")
    sapwood.convert(folder / "a.feather", f"{folder}/b.root:t")
    for source in (folder / "a.feather", f"{folder}/b.root:t"):
        for format in ("csv", "jsonl"):
            target = folder / f"o.{format}"
            with pytest.raises(
                errors.MismatchError,
                match=r"'when' .* zone 'Nowhere/X'.*timestamp\[us\]\).*when=int64.*\(file .*/o\.",
            ):
                sapwood.convert(source, target)
            assert not target.exists()
            sapwood.convert(source, target, types={"when": "timestamp[us]"})
            assert "1970-01-01 00:00:00.000001" in target.read_text()
            sapwood.convert(source, target, types={"when": "int64"}, overwrite=True)
            target.unlink()
        with pytest.raises(
            errors.MismatchError, match=r"values of 'when' .*string does not hold: .*Nowhere/X"
        ):
            sapwood.convert(source, folder / "o.parquet", types={"when": "string"})
    types = ["--types", "when=timestamp[us, tz=Europe/Berlin]"]
    command = [sys.executable, "-m", "sapwood", "convert", f"{folder}/b.root:t", folder / "o.csv", *types]
    subprocess.run([*map(str, command)], check=True, timeout=120)
    assert "1970-01-01 01:00:00.000001+0100" in (folder / "o.csv").read_text()


@pytest.mark.parametrize(
    ("column", "target", "words"),
    [
        (pa.array([2**31 - 1], pa.int32()).cast(pa.date32()), "o.jsonl", r"date32.* jsonl does not hold"),
        (pa.array([b"\xff"]), "o.csv", r"binary.* csv does not hold: .*UTF8"),
        (
            pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
            "o.parquet",
            r".*interval.* parquet does not hold",
        ),
    ],
)
def test_values_that_a_format_does_not_hold(folder: Path, column: Any, target: str, words: str) -> None:
    feather.write_feather(pa.table({"n": [1], "x": column}), folder / "a.feather")
    with pytest.raises(
        errors.MismatchError, match=rf"column 'x' \({words}.*--types x=TYPE.*\(file .*/{target}\)"
    ):
        sapwood.convert(folder / "a.feather", folder / target)
    assert not (folder / target).exists()


def test_a_file_that_is_not_of_numpy(folder: Path) -> None:
    with pytest.raises(errors.MismatchError, match=r"cannot be read as npy: .*of another format"):
        sapwood.convert(folder / "a.csv", folder / "o.root", source_format="npy")


@pytest.mark.parametrize("target", ["o.root", "rntuple.root", "o.h5", "o.npy"])
def test_a_column_without_a_name(tmp_path: Path, target: str) -> None:
    (tmp_path / "a.csv").write_text("a,,c\n1,2,3\n")
    pq.write_table(pa.table({"a": [1], "": [2]}), tmp_path / "a.parquet")
    format = "rntuple" if target.startswith("rntuple") else None
    for name in ("a.csv", "a.parquet"):
        with pytest.raises(errors.MismatchError, match=rf"column 2 of .*/{name} has no name.*-c\)"):
            sapwood.convert(tmp_path / name, tmp_path / target, format=format)
    if target != "o.h5":
        sapwood.convert(tmp_path / "a.csv", tmp_path / target, format=format, columns=["a", "c"])
    sapwood.convert(tmp_path / "a.csv", tmp_path / "o.parquet")
    assert pq.read_table(tmp_path / "o.parquet").to_pydict() == {"a": [1], "": [2], "c": [3]}


def test_a_name_that_no_rntuple_has(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a.b": [1]}), tmp_path / "a.parquet")
    with pytest.raises(errors.MismatchError, match=r'cannot be named "a\.b".*rename the column.*--to ttree'):
        sapwood.convert(tmp_path / "a.parquet", tmp_path / "a.root", format="rntuple")
