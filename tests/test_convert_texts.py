"""CSV and JSON lines: which types their columns get, whole numbers of 64 bits, and numbers that are not finite."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")
pa = pytest.importorskip("pyarrow")
ak = pytest.importorskip("awkward")

from sapwood import errors  # noqa: E402

LARGE = [18446744073709551615, 5200169598750543700, 0]
TEXTS = {
    "csv": "a\n18446744073709551615\n5200169598750543700\n0\n",
    "jsonl": '{"a":18446744073709551615}\n{"a":5200169598750543700}{"a":0}\n',
}


def column(folder: Path, name: str, **options: Any) -> Any:
    """The column ``a`` of a text, by way of a file of ROOT."""
    sapwood.convert(folder / name, f"{folder}/back.root:t", overwrite=True, **options)
    return sapwood.open(f"{folder}/back.root:t")["a"].array()


@pytest.mark.parametrize("ends", ["csv", "jsonl", "csv.gz", "jsonl.gz"])
def test_whole_numbers_of_64_bits_stay_what_they_are(tmp_path: Path, ends: str) -> None:
    content = TEXTS[ends.removesuffix(".gz")].encode()
    (tmp_path / f"a.{ends}").write_bytes(gzip.compress(content) if ends.endswith("gz") else content)
    found = column(tmp_path, f"a.{ends}")
    assert str(found.type) == "3 * uint64" and found.tolist() == LARGE
    # There and back.
    with sapwood.recreate(tmp_path / "u.root", format="rntuple") as file:
        file["t"] = {"a": np.array(LARGE, "u8"), "d": [1e20, 2.0**63, 5.0]}
    sapwood.convert(tmp_path / "u.root", tmp_path / f"u.{ends}")
    assert column(tmp_path, f"u.{ends}").tolist() == LARGE
    assert sapwood.open(f"{tmp_path}/back.root:t")["d"].array().tolist() == [1e20, 2.0**63, 5.0]


def test_whole_numbers_in_lists_and_records(tmp_path: Path) -> None:
    rows = [{"a": [LARGE, []], "r": {"p": 1.5, "q": 2**63}}, {"a": None, "r": {"p": 2**63, "q": None}}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    sapwood.convert(tmp_path / "a.jsonl", tmp_path / "a.root", format="rntuple", nullable=True)
    back = sapwood.open(tmp_path / "a.root")["a"].arrays()
    assert back.tolist() == [rows[0], {"a": None, "r": {"p": 2.0**63, "q": None}}]


@pytest.mark.parametrize("ends", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1, 2**64], "'a' has whole numbers that 64 bits cannot hold, like 18446744073709551616: types="),
        ([1, -(2**63) - 1], "64 bits cannot hold, like -9223372036854775809"),
        ([-1, 2**63], "'a' has negative numbers and such above 2\\^63, -1 and 9223372036854775808"),
    ],
)
def test_what_64_bits_do_not_hold_is_a_double_if_that_is_said(
    tmp_path: Path, ends: str, values: list[int], words: str
) -> None:
    lines = ["a", *map(str, values)] if ends == "csv" else [f'{{"a":{value}}}' for value in values]
    (tmp_path / f"a.{ends}").write_text("\n".join(lines) + "\n")
    with pytest.raises(errors.MismatchError, match=f"{words}.*float64.*file .*a.{ends}"):
        column(tmp_path, f"a.{ends}")
    assert column(tmp_path, f"a.{ends}", types={"a": "float64"}).tolist() == [float(one) for one in values]
    # Beside a fraction they are doubles that somebody rounded.
    lines.append("0.5" if ends == "csv" else '{"a":0.5}')
    (tmp_path / f"a.{ends}").write_text("\n".join(lines) + "\n")
    assert column(tmp_path, f"a.{ends}").tolist() == [*map(float, values), 0.5]


def test_types_that_are_said(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n001,1\n,2\n")
    assert column(tmp_path, "a.csv", types={"a": "string", "b": pa.uint8()}).tolist() == ["001", ""]
    assert sapwood.open(f"{tmp_path}/back.root:t")["b"].typename == "uint8_t"
    (tmp_path / "a.jsonl").write_text('{"a":"2020-01-01 00:00:00"}\n')
    assert column(tmp_path, "a.jsonl", types={"a": "string"}).tolist() == ["2020-01-01 00:00:00"]
    (tmp_path / "a.jsonl").write_text('{"x":1,"y":18446744073709551615,"a":"z"}\n')
    for types in ({"a": "string"}, {"a": "string", "y": "uint64"}, None):
        assert column(tmp_path, "a.jsonl", types=types).tolist() == ["z"]
        assert sapwood.open(f"{tmp_path}/back.root:t").keys() == ["x", "y", "a"]
    (tmp_path / "no.jsonl").write_text("")
    assert column(tmp_path, "no.jsonl", types={"a": "int32"}).tolist() == []
    for types, words in (
        ({"c": "string"}, "there is no column 'c' to have a type; nearest: 'a'.*a.csv"),
        ({"a": "strung"}, "column 'a': unknown type 'strung'; nearest: 'string'"),
        ({"a": 5}, "a type is a name, like 'uint64', or one of pyarrow, not 5"),
    ):
        with pytest.raises(errors.SapwoodError, match=words):
            column(tmp_path, "a.csv", types=types)


def test_types_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b=c\n001,2\n")
    line = [
        sys.executable,
        "-m",
        "sapwood",
        "convert",
        f"{tmp_path}/a.csv",
        f"{tmp_path}/a.root:t",
        "--types",
    ]
    said = subprocess.run([*line, "a"], capture_output=True, text=True, timeout=120)
    assert (
        said.returncode == 1
        and said.stderr == "sapwood: --types a: it is a column and its type, like id=uint64\n"
    )
    subprocess.run([*line, "a=string", "--types", "b=c=float32"], check=True, timeout=120)
    tree = sapwood.open(f"{tmp_path}/a.root:t")
    assert tree.arrays(library="np")["a"].tolist() == ["001"] and tree.typenames()["b=c"] == "float"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", "a,b\n1,2\n3\n", "the text cannot be read: CSV.*: Expected 2 columns, got 1: 3"),
        ("a.jsonl", '{"a":1}\n{"a":"x"}\n', "changed from number to string in row 1.*types= .--types"),
        ("a.jsonl", '{"a":1}\n{"a":\n', "the text cannot be read: JSON parse error"),
        ("a.jsonl", "", "the file is empty, and nothing says which columns it has"),
        ("a.csv", "", "the file is empty, and nothing says which columns it has"),
        ("a.csv", "a\n" + "1\n" * 2**19 + "9223372036854775808\n", "value '9223372036854775808'.*float64"),
        ("a.jsonl", '{"a":1}\n' * 2**18 + '{"a":1,"b":2}\n', "unexpected field.*first block says"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_file(
    tmp_path: Path, name: str, content: str, words: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(errors.MismatchError, match=f"{words}.*file .*{name}"):
        column(tmp_path, name, step_size="1 MB")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_numbers_that_are_not_finite(tmp_path: Path) -> None:
    values = [1.5, float("inf"), float("-inf"), float("nan")]
    with sapwood.recreate(tmp_path / "a.root", format="rntuple") as file:
        file["t"] = {"x": values, "v": ak.Array([values, [], [], values])}
    sapwood.convert(tmp_path / "a.root", tmp_path / "a.jsonl")
    assert (tmp_path / "a.jsonl").read_text().splitlines()[1:3] == [
        '{"x":Infinity,"v":[]}',
        '{"x":-Infinity,"v":[]}',
    ]
    sapwood.convert(tmp_path / "a.root", tmp_path / "a.csv", columns=["x"])
    for name in ("a.jsonl", "a.csv"):
        sapwood.convert(tmp_path / name, f"{tmp_path}/b.root:t", overwrite=True)
        back = sapwood.open(f"{tmp_path}/b.root:t").arrays()
        assert np.array_equal(back["x"], values, equal_nan=True)
    sapwood.convert(tmp_path / "a.jsonl", f"{tmp_path}/b.root:t", overwrite=True, format="rntuple")
    assert np.array_equal(sapwood.open(f"{tmp_path}/b.root:t")["v"].array()[3], values, equal_nan=True)
    # A scan writes the same, and both come back.
    tree = sapwood.open(tmp_path / "a.root")["t"]
    scanned = tree.scan("x").json_lines(None)
    assert [json.loads(line)["x"] for line in scanned.splitlines()][:3] == values[:3]
    for text, ends in ((scanned, "jsonl"), (tree.scan("x").csv(), "csv")):
        (tmp_path / f"s.{ends}").write_text(text)
        sapwood.convert(tmp_path / f"s.{ends}", f"{tmp_path}/b.root:t", overwrite=True)
        assert np.array_equal(sapwood.open(f"{tmp_path}/b.root:t")["x"].array(), values, equal_nan=True)


def test_other_packages_read_what_is_not_finite(tmp_path: Path) -> None:
    duckdb, pandas = pytest.importorskip("duckdb"), pytest.importorskip("pandas")
    values = [float("nan"), float("inf"), float("-inf"), 1.5]
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["t"] = {"x": values}
    sapwood.convert(tmp_path / "a.root", tmp_path / "a.jsonl")
    text = (tmp_path / "a.jsonl").read_text()
    found = [
        pandas.read_json(io.StringIO(text), lines=True)["x"].to_list(),
        [row[0] for row in duckdb.sql(f"select x from read_json('{tmp_path}/a.jsonl')").fetchall()],
        [json.loads(line)["x"] for line in text.splitlines()],
    ]
    assert all(np.array_equal(one, values, equal_nan=True) for one in found)


def test_blanks_and_marks_before_whole_numbers_lose_no_digit(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("b,a\n" + "".join(f"1, {value}\n" for value in LARGE))
    assert column(tmp_path, "a.csv").tolist() == LARGE
    (tmp_path / "a.jsonl").write_text(
        "\ufeff" + "".join(f'{{"a": {value}}}\n' for value in LARGE), encoding="utf-8"
    )
    assert column(tmp_path, "a.jsonl").tolist() == LARGE


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    text, binary = tmp_path / "twice.csv", tmp_path / "twice.parquet"
    text.write_text("a,b,a\n1,2,3\n")
    parquet.write_table(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), binary)
    for path in (text, binary):
        words = f"two columns of .*{path.name} have the name 'a'"
        with pytest.raises(sapwood.errors.MismatchError, match=words):
            sapwood.convert(path, tmp_path / "out.root")
        assert not (tmp_path / "out.root").exists()
