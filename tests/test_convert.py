"""Conversion to other formats and back: values, types, parts, what goes wrong. Their own packages read what
is written."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")
pa = pytest.importorskip("pyarrow")

pq = pytest.importorskip("pyarrow.parquet")
feather = pytest.importorskip("pyarrow.feather")

from sapwood import errors  # noqa: E402
from sapwood._convert import targets  # noqa: E402

ENTRIES = 1000


def flat() -> dict[str, Any]:
    rng = np.random.default_rng(2)
    return {
        "x": rng.normal(size=ENTRIES),
        "i": np.arange(ENTRIES) - 500,
        "f": rng.normal(size=ENTRIES).astype("f4"),
        "u": (np.arange(ENTRIES) % 200).astype("u1"),
        "b": np.arange(ENTRIES) % 2 == 0,
        "s": [f"name {k}é" for k in range(ENTRIES)],
    }


def nested() -> dict[str, Any]:
    return {
        "x": np.arange(float(ENTRIES)),
        "v": ak.Array([[1.5] * (k % 3) for k in range(ENTRIES)]),
        "a": np.arange(6.0 * ENTRIES).reshape(ENTRIES, 2, 3),
        "r": ak.Array(
            [{"p": float(k), "q": [{"z": k, "t": "a" * (k % 3)}] * (k % 2)} for k in range(ENTRIES)]
        ),
    }


@pytest.fixture(scope="module")
def files(tmp_path_factory: Any) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("convert")
    for name, data, format in (("flat", flat(), "ttree"), ("nested", nested(), "rntuple")):
        with sapwood.recreate(folder / f"{name}.root", format=format) as file:
            file["events"] = data
    return {name: folder / f"{name}.root" for name in ("flat", "nested")}


def rows(path: Any) -> list[Any]:
    return list(sapwood.open(path).arrays().tolist())


@pytest.mark.parametrize("step", [300, "64 MB"])
@pytest.mark.parametrize(
    ("ends", "options"),
    [
        ("root", {"format": "ttree"}),
        ("root", {"format": "rntuple", "compression": "lz4:4"}),
        ("parquet", {}),
        ("parquet", {"compression": "snappy"}),
        ("parquet", {"compression": "none"}),
        ("feather", {}),
        ("arrow", {"compression": "lz4"}),
        ("arrows", {"compression": "none"}),
        ("jsonl", {}),
        ("ndjson.gz", {}),
        ("jsonl.zst", {}),
        ("npz", {}),
        ("npz", {"compression": "zip:9"}),
        ("h5", {}),
        ("hdf5", {"compression": "gzip:4"}),
    ],
)
def test_flat_columns_there_and_back(
    files: dict[str, Path], tmp_path: Path, ends: str, options: Any, step: Any
) -> None:
    if ends.startswith("h"):
        pytest.importorskip("h5py")
    target = tmp_path / f"out.{ends}"
    done = sapwood.convert(files["flat"], target, step_size=step, **options)
    assert done == ([str(target)], ENTRIES)
    back = tmp_path / "back.root"
    assert sapwood.convert(target, f"{back}:folder/t", step_size=step).entries == ENTRIES
    tree = sapwood.open(back)["folder/t"]
    assert tree.arrays().tolist() == rows(f"{files['flat']}:events")
    if ends not in ("jsonl", "ndjson.gz", "jsonl.zst"):  # texts do not say how wide a number is
        assert tree.typenames() == sapwood.open(files["flat"])["events"].typenames()
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.parametrize("ends", ["root", "parquet", "feather", "arrows", "jsonl"])
def test_nested_columns_there_and_back(files: dict[str, Path], tmp_path: Path, ends: str) -> None:
    target, back = tmp_path / f"out.{ends}", tmp_path / "back.root"
    more = {"format": "rntuple"} if ends == "root" else {}
    sapwood.convert(files["nested"], target, step_size=300, **more)
    sapwood.convert(target, back, format="rntuple", step_size=300)
    assert rows(f"{back}:{'events' if ends == 'root' else 'out'}") == rows(f"{files['nested']}:events")


def test_own_packages_read_what_is_written(files: dict[str, Path], tmp_path: Path) -> None:
    data = flat()
    sapwood.convert(files["flat"], tmp_path / "a.parquet", compression="zstd:3", step_size=300)
    table = pq.read_table(tmp_path / "a.parquet")
    assert table["s"].to_pylist() == data["s"] and table.schema.field("f").type == pa.float32()
    meta = pq.ParquetFile(tmp_path / "a.parquet").metadata
    assert meta.num_row_groups == 4 and meta.row_group(0).column(0).compression == "ZSTD"
    sapwood.convert(files["flat"], tmp_path / "a.feather", step_size=300)
    assert feather.read_table(tmp_path / "a.feather").equals(
        table.cast(pa.schema(sapwood.open(files["flat"])["events"]))
    )
    sapwood.convert(files["flat"], tmp_path / "a.csv", columns=["i", "s", "b"])
    assert (tmp_path / "a.csv").read_text().splitlines()[:2] == ['"i","s","b"', '-500,"name 0é",true']
    sapwood.convert(files["flat"], tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as npz:
        assert (
            npz["x"].tolist() == data["x"].tolist()
            and npz["s"].tolist() == data["s"]
            and npz["u"].dtype == np.uint8
        )
    sapwood.convert(files["flat"], tmp_path / "a.npy", columns=["x", "i"], step_size=300)
    array = np.load(tmp_path / "a.npy")
    assert array.dtype.names == ("x", "i") and array["i"].tolist() == data["i"].tolist()
    sapwood.convert(tmp_path / "a.npy", tmp_path / "b.root:t")
    assert sapwood.open(f"{tmp_path}/b.root:t")["x"].array().tolist() == data["x"].tolist()
    sapwood.convert(files["nested"], tmp_path / "a.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert lines == rows(f"{files['nested']}:events")


def test_csv_there_and_back(files: dict[str, Path], tmp_path: Path) -> None:
    for ends in ("csv", "csv.gz", "csv.zst", "csv.bz2"):
        sapwood.convert(files["flat"], tmp_path / f"a.{ends}", step_size=300)
        sapwood.convert(tmp_path / f"a.{ends}", tmp_path / "back.root:t", step_size=300, overwrite=True)
        back = sapwood.open(f"{tmp_path}/back.root:t").arrays()
        assert back.x.tolist() == flat()["x"].tolist() and back.s.tolist() == flat()["s"]
        assert (
            np.asarray(back.f).astype("f4").tolist() == flat()["f"].tolist()
            and back.b.tolist() == flat()["b"].tolist()
        )


LISTS = [[1.5], [], [2.0, 3.0]]


@pytest.mark.parametrize(
    ("columns", "branches", "told"),
    [
        ({"x": LISTS, "nx": [1, 0, 2]}, ["nx", "x"], 0),
        ({"x": LISTS, "nx": pa.array([1, 0, 2], pa.uint8())}, ["nx", "x"], 0),
        ({"x": LISTS, "nx": [7, 8, 9]}, ["x_n", "x", "nx"], 1),
        ({"x": LISTS, "nx": [1.0, 0.0, 2.0]}, ["x_n", "x", "nx"], 1),
        ({"x": LISTS, "nx": ["a", "b", "c"]}, ["x_n", "x", "nx"], 1),
        ({"x": LISTS, "nx": [7, 8, 9], "x_n": [4, 5, 6]}, ["x_n_", "x", "nx", "x_n"], 1),
        ({"n": LISTS, "nn": [7, 8, 9], "_n": LISTS}, ["n_n_", "n", "nn", "n_n", "_n"], 1),
        ({"r": [{"v": one} for one in LISTS], "nr_v": [1, 0, 2]}, ["nr_v", "r_v"], 0),
        ({"x": LISTS, "nx": [{"a": 1}] * 3}, ["nx", "x", "nx_a"], 0),
        ({"j": [[{"n": 1, "pt": 2.0}], [], []], "nj": [5, 6, 7]}, ["j_n_", "j_n", "j_pt", "nj"], 1),
    ],
)
def test_a_column_with_the_name_of_a_counter_stays(
    columns: dict[str, Any], branches: list[str], told: int, tmp_path: Path
) -> None:
    path, target = tmp_path / "a.parquet", tmp_path / "a.root"
    pq.write_table(pa.table(columns), path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sapwood.convert(path, target)
    counts = [str(one.message) for one in caught if "counts the items of" in str(one.message)]
    assert len(counts) == len(caught) == told and all(repr(branches[0]) in one for one in counts)
    tree = sapwood.open(target)["a"]
    assert tree.keys() == branches
    for name, values in columns.items():
        if name in branches and values != [{"a": 1}] * 3:
            assert tree[name].array().tolist() == pa.array(values).to_pylist()
    assert tree[branches[0]].array().tolist() == ([1, 0, 0] if "j" in columns else [1, 0, 2])


@pytest.mark.parametrize("order", [1, -1])
def test_rows_to_come_tell_whether_a_column_counts(order: int, tmp_path: Path) -> None:
    parts: list[dict[str, Any]] = [
        {"x": LISTS, "nx": [1, 0, 2]},
        {"x": [[], []], "nx": [0, 0]},
        {"x": LISTS, "nx": [1, 0, 7]},
    ]
    target = tmp_path / "all.root"
    for number, part in enumerate(parts[::order]):
        pq.write_table(pa.table(part), tmp_path / f"{number}.parquet")
    with pytest.warns(UserWarning, match="'x_n' counts the items of 'x', since 'nx' is another column"):
        sapwood.convert(str(tmp_path / "*.parquet"), target)
    (name,) = sapwood.open(target).keys()
    tree = sapwood.open(target)[name]
    assert tree["x"].array().tolist() == [one for part in parts[::order] for one in part["x"]]
    assert tree["nx"].array().tolist() == [one for part in parts[::order] for one in part["nx"]]
    assert tree["x_n"].array().tolist() == [len(one) for part in parts[::order] for one in part["x"]]


@pytest.mark.parametrize(
    ("first", "other", "said"),
    [
        (pa.array([True]), pa.array([7]), "b.parquet has other columns than .*a.parquet: 'x' is int64, and"),
        (pa.array([7]), pa.array(["7"]), "'x' is string, and not int64"),
        (pa.array([7]), pa.array([1.0]), "'x' is double, and not int64"),
        (pa.array([7], pa.int8()), pa.array([300]), "of 'x' that int8, its type in .*a.parquet, does not"),
        (pa.array([0.5], pa.float32()), pa.array([0.1]), "does not hold"),
        (pa.array([[0.5]], pa.list_(pa.float32())), pa.array([[0.1]]), "does not hold"),
    ],
)
def test_files_after_the_first_have_its_types(first: Any, other: Any, said: str, tmp_path: Path) -> None:
    for name, column in {"a": first, "b": other}.items():
        pq.write_table(pa.table({"x": column}), tmp_path / f"{name}.parquet")
    with pytest.raises(errors.MismatchError, match=said):
        sapwood.convert([str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")], tmp_path / "c.feather")
    assert not (tmp_path / "c.feather").exists()


def test_numbers_of_other_widths_and_further_columns(tmp_path: Path) -> None:
    nan = float("nan")
    times = [pa.array([1000], pa.timestamp(unit)) for unit in ("us", "ms")]
    columns = {"x": pa.array([1], pa.int8()), "f": pa.array([nan], pa.float32()), "t": times[0]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    pq.write_table(pa.table({"z": [1], "t": times[1], "f": [nan], "x": [2]}), tmp_path / "b.parquet")
    with pytest.warns(UserWarning, match=r"b.parquet: left out, since .*a.parquet has no such columns: z"):
        sapwood.convert(str(tmp_path / "*.parquet"), tmp_path / "c.feather")
    found = feather.read_table(tmp_path / "c.feather")
    assert found["x"].to_pylist() == [1, 2] and found.schema.names == ["x", "f", "t"]
    assert found["t"].cast("int64").to_pylist() == [1000, 1_000_000]
    assert np.isnan(found["f"].to_numpy()).all()
    listed = [str(tmp_path / "b.parquet"), str(tmp_path / "a.parquet")]
    with pytest.raises(errors.MismatchError, match=r"a.parquet has other columns than .*: there is no 'z'"):
        sapwood.convert(listed, tmp_path / "d.feather")


def test_hdf5_has_lists_and_records(files: dict[str, Path], tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with sapwood.recreate(tmp_path / "a.root", format="rntuple") as file:
        file["t"] = {
            "v": nested()["v"],
            "a": nested()["a"],
            "r": ak.Array([{"p": k, "q": 0.5} for k in range(ENTRIES)]),
        }
    sapwood.convert(tmp_path / "a.root", tmp_path / "a.h5", compression="gzip", step_size=300)
    with h5py.File(tmp_path / "a.h5") as made:
        assert (
            made["a"].shape == (ENTRIES, 2, 3) and made["r/p"][7] == 7 and made["v"][5].tolist() == [1.5, 1.5]
        )
        assert made["a"].compression == "gzip"
    sapwood.convert(tmp_path / "a.h5", tmp_path / "b.root:t", format="rntuple", step_size=300)
    back, wanted = (sapwood.open(tmp_path / name)["t"].arrays() for name in ("b.root", "a.root"))
    assert all(back[name].tolist() == wanted[name].tolist() for name in wanted.fields)


@pytest.mark.parametrize("lengths", [(0, 2, 1), (2, 2, 2), (0, 0, 0)])
def test_hdf5_has_lists_of_records(tmp_path: Path, lengths: tuple[int, ...]) -> None:
    h5py = pytest.importorskip("h5py")
    hits = [
        [{"e": k + 0.5, "at": {"x": k, "on": k > 0}, "p": [k, k + 1.0]} for k in range(length)]
        for length in lengths
    ]
    at = pa.struct([("x", pa.int32()), ("on", pa.bool_())])
    kind = pa.list_(pa.struct([("e", pa.float64()), ("at", at), ("p", pa.list_(pa.float32(), 2))]))
    pq.write_table(pa.table({"hits": pa.array(hits, kind)}), tmp_path / "a.parquet")
    sapwood.convert(tmp_path / "a.parquet", tmp_path / "a.h5", step_size=2)
    with h5py.File(tmp_path / "a.h5") as made:
        assert made["hits"].dtype.metadata["vlen"].names == ("e", "at", "p")
        assert [row["at"]["x"].tolist() for row in made["hits"]] == [
            list(range(length)) for length in lengths
        ]
    sapwood.convert(tmp_path / "a.h5", tmp_path / "b.parquet", step_size=2)
    assert pq.read_table(tmp_path / "b.parquet")["hits"].to_pylist() == hits
    pq.write_table(
        pa.table({"hits": pa.array([[{"e": None, "at": None, "p": None}]], kind)}), tmp_path / "c.parquet"
    )
    with pytest.raises(errors.MismatchError, match="column 'hits.e' has missing values"):
        sapwood.convert(tmp_path / "c.parquet", tmp_path / "c.h5")


def test_a_file_is_not_converted_in_place(files: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "a.root"
    path.write_bytes(files["flat"].read_bytes())
    with pytest.raises(sapwood.errors.MismatchError, match="is a file that is read"):
        sapwood.convert(path, path, format="rntuple", step_size=300, overwrite=True)
    assert path.read_bytes() == files["flat"].read_bytes()


def test_texts_of_categories_are_texts(tmp_path: Path) -> None:
    table = pa.table({"c": pa.array(["a", "b", "a"]).dictionary_encode()})
    pq.write_table(table, tmp_path / "a.parquet")
    sapwood.convert(tmp_path / "a.parquet", tmp_path / "b.root")
    assert sapwood.open(tmp_path / "b.root")["a/c"].array().tolist() == ["a", "b", "a"]


def test_several_files(files: dict[str, Path], tmp_path: Path) -> None:
    sapwood.convert(files["flat"], tmp_path / "in1.parquet")
    sapwood.convert(files["flat"], tmp_path / "in2.parquet", columns=["x", "i", "f", "u", "b", "s"])
    done = sapwood.convert(tmp_path / "in*.parquet", tmp_path / "all.root:t", step_size=400)
    assert done.entries == 2 * ENTRIES
    assert sapwood.open(f"{tmp_path}/all.root:t")["i"].array().tolist() == 2 * flat()["i"].tolist()
    done = sapwood.convert([f"{tmp_path}/in*.parquet", tmp_path / "in1.parquet"], tmp_path / "three.feather")
    assert done.entries == 3 * ENTRIES
    # A folder gets a file for each.
    done = sapwood.convert(tmp_path / "in*.parquet", f"{tmp_path}/new/", format="rntuple", jobs=2)
    assert (
        sorted(done.files) == [f"{tmp_path}/new/in1.root", f"{tmp_path}/new/in2.root"]
        and done.entries == 2 * ENTRIES
    )
    assert sapwood.open(f"{tmp_path}/new/in2.root")["in2"].num_entries == ENTRIES
    done = sapwood.convert(f"{tmp_path}/new/*.root", tmp_path / "both.csv", columns=["i"])
    assert (
        done.entries == 2 * ENTRIES
        and len((tmp_path / "both.csv").read_text().splitlines()) == 2 * ENTRIES + 1
    )
    done = sapwood.convert({f"{tmp_path}/new/in1.root": "in1"}, tmp_path / "one.arrows")
    assert done.entries == ENTRIES


def test_columns_cuts_and_expressions(files: dict[str, Path], tmp_path: Path) -> None:
    target = tmp_path / "a.parquet"
    sapwood.convert(
        files["flat"], target, columns=["i", "x * 2", "double"], aliases={"double": "2 * i"}, cut="i > 450"
    )
    table = pq.read_table(target)
    assert table["i"].to_pylist() == list(range(451, 500)) and table["double"].to_pylist() == list(
        range(902, 1000, 2)
    )
    sapwood.convert(files["flat"], target, filter_name=["x", "s"], overwrite=True)
    assert pq.read_schema(target).names == ["x", "s"]
    sapwood.convert(target, tmp_path / "b.feather", columns=["s"])
    assert feather.read_table(tmp_path / "b.feather").column_names == ["s"]
    assert sapwood.convert(sapwood.open(files["flat"])["events"], tmp_path / "c.arrows").entries == ENTRIES


def test_nothing_to_convert_has_columns(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        file.mktree("t", {"x": "f4", "v": "var * i4"})
        file["u"] = {"x": np.zeros(0)}
    for ends in ("parquet", "feather", "arrows"):
        assert sapwood.convert(f"{tmp_path}/a.root:t", tmp_path / f"a.{ends}").entries == 0
        assert sapwood.convert(tmp_path / f"a.{ends}", tmp_path / "b.root:t", overwrite=True).entries == 0
        assert sapwood.open(tmp_path / "b.root")["t"].typenames()["x"] == "float"
    for ends in ("npz", "npy", "h5"):
        if ends == "h5":
            pytest.importorskip("h5py")
        assert sapwood.convert(f"{tmp_path}/a.root:u", tmp_path / f"u.{ends}").entries == 0
        assert sapwood.convert(tmp_path / f"u.{ends}", tmp_path / "b.root:t", overwrite=True).entries == 0


def test_missing_values(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1, None, 3], "y": [1.0, 2.0, 3.0]}), tmp_path / "a.parquet")
    said = (
        ("ttree", "which no branch can hold"),
        ("rntuple", "which no plain field can hold.*; or keep them \\(nullable=True"),
    )
    for format, more in said:
        with pytest.raises(
            errors.MismatchError, match=f"column 'x': missing values \\(the first in row 1\\), {more}"
        ):
            sapwood.convert(tmp_path / "a.parquet", tmp_path / "b.root", format=format)
    sapwood.convert(tmp_path / "a.parquet", tmp_path / "b.root:t", format="rntuple", nullable=True)
    assert sapwood.open(tmp_path / "b.root")["t/x"].array().tolist() == [1, None, 3]
    sapwood.convert(tmp_path / "b.root", tmp_path / "c.parquet")
    assert pq.read_table(tmp_path / "c.parquet")["x"].to_pylist() == [1, None, 3]
    for ends in ("npz", "npy", "h5"):
        with pytest.raises(errors.MismatchError, match="column 'x' has 1 missing values, for which"):
            sapwood.convert(tmp_path / "a.parquet", tmp_path / f"b.{ends}")
    with pytest.raises(errors.MismatchError, match="nullable is for RNTuples"):
        sapwood.convert(tmp_path / "a.parquet", tmp_path / "b.csv", nullable=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet", "b.root", "c.parquet"]


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        (
            "csv",
            "column 'v' holds large_list<.*>, and CSV has one value in a cell: leave it out .* JSON lines or Parquet",
        ),
        ("npz", "column 'v' holds large_list<.*>, and npz has columns of numbers and texts alone"),
        ("npy", "column 'v' holds large_list<.*>, and npy has columns of numbers and texts alone"),
        ("h5", "column 'q' holds large_list<.*struct.*>, and HDF5 has lists of numbers and of records of"),
    ],
)
def test_types_that_a_target_lacks_are_named(
    files: dict[str, Path], tmp_path: Path, ends: str, words: str
) -> None:
    with pytest.raises(errors.UnsupportedError, match=words):
        sapwood.convert(files["nested"], tmp_path / f"a.{ends}")
    assert list(tmp_path.iterdir()) == []


def test_unions_have_no_place_in_parquet(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        file.mkrntuple("t", {"u": "union[int32, string]"}).extend({"u": ak.Array([1, "a"])})
    with pytest.raises(
        errors.UnsupportedError, match="column 'u' holds dense_union.*, and Parquet has no type"
    ):
        sapwood.convert(tmp_path / "a.root", tmp_path / "a.parquet")
    assert sapwood.convert(tmp_path / "a.root", tmp_path / "a.feather").entries == 2


def test_what_goes_wrong_leaves_nothing(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a.parquet"
    target.write_text("mine")
    with pytest.raises(errors.ExistsError, match="a.parquet is there already"):
        sapwood.convert(files["flat"], target)
    write = targets.ParquetWriter.write
    calls: list[Any] = []

    def fails_late(self: Any, batch: Any) -> None:
        calls.append(batch)
        if len(calls) == 3:
            raise OSError("no space left on device")
        write(self, batch)

    monkeypatch.setattr(targets.ParquetWriter, "write", fails_late)
    with pytest.raises(OSError, match="no space left"):
        sapwood.convert(files["flat"], target, step_size=100, overwrite=True)
    assert target.read_text() == "mine" and [path.name for path in tmp_path.iterdir()] == ["a.parquet"]
    monkeypatch.undo()
    sapwood.convert(files["flat"], target, overwrite=True)
    assert target.stat().st_size > 1000
    assert not [one for one in threading.enumerate() if one.name.startswith("sapwood-convert")]
    # A file that is cut off.
    target.write_bytes(target.read_bytes()[:-20])
    with pytest.raises(Exception, match="(?i)parquet"):
        sapwood.convert(target, tmp_path / "b.root")
    with pytest.raises(errors.MissingFileError, match="no file"):
        sapwood.convert(tmp_path / "no.parquet", tmp_path / "b.root")
    with pytest.raises(errors.MissingFileError):
        sapwood.convert(tmp_path / "no*.csv", tmp_path / "b.root")
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


def test_one_file_that_fails_ends_the_others(files: dict[str, Path], tmp_path: Path) -> None:
    for number in range(4):
        sapwood.convert(files["flat"], tmp_path / f"in{number}.parquet", columns=["x", "i"])
    (tmp_path / "in0.parquet").write_bytes(b"PAR1 and nothing else PAR1")
    with pytest.raises(Exception, match="(?i)parquet"):
        sapwood.convert(tmp_path / "in*.parquet", f"{tmp_path}/out/", format="csv", jobs=2, step_size=10)
    assert not [path for path in (tmp_path / "out").iterdir() if path.name.startswith(".")]
    assert not (tmp_path / "out/in0.csv").exists()


def test_arguments_that_do_not_fit(files: dict[str, Path], tmp_path: Path) -> None:
    convert, flat_file = sapwood.convert, files["flat"]
    for arguments, words in (
        ((flat_file, tmp_path / "a.data"), "'a.data' does not say which format"),
        ((flat_file, tmp_path), "is a folder: name the format"),
    ):
        with pytest.raises(errors.MismatchError, match=words):
            convert(*arguments)
    with pytest.raises(errors.MismatchError, match="no format 'parket'; nearest: 'parquet'"):
        convert(flat_file, tmp_path / "a", format="parket")
    with pytest.raises(
        errors.MismatchError, match="parquet has no compression 'lzma': it is one of none, snappy"
    ):
        convert(flat_file, tmp_path / "a.parquet", compression="lzma")
    with pytest.raises(errors.MismatchError, match="compressed is said by its name"):
        convert(flat_file, tmp_path / "a.csv", compression="gzip")
    with pytest.raises(KeyError, match="there is no column 'z'; nearest: 'x'"):
        convert(flat_file, tmp_path / "a.feather")
        convert(tmp_path / "a.feather", tmp_path / "b.csv", columns=["z"])
    with pytest.raises(errors.MismatchError, match="cut, aliases and filter_name are for files of ROOT"):
        convert(tmp_path / "a.feather", tmp_path / "b.csv", cut="x > 1")
    with pytest.raises(errors.MismatchError, match="two files would become"):
        convert([flat_file, flat_file], f"{tmp_path}/new/", format="csv")
    (tmp_path / "other.csv").write_text("i,z\n1,2\n")
    convert(flat_file, tmp_path / "i.csv", columns=["i", "x"])
    with pytest.raises(errors.MismatchError, match="other.csv has other columns than .*i.csv"):
        convert([tmp_path / "i.csv", tmp_path / "other.csv"], tmp_path / "z.root")
    with pytest.raises(TypeError, match="convert"):
        convert(flat_file, tmp_path / "b.csv", nothing=1)
    with pytest.raises(errors.UnsupportedError, match="files of dcap:// are read, and cannot be written"):
        convert(flat_file, "dcap://127.0.0.1:9/a.parquet")
    with pytest.raises(errors.UnsupportedError, match="a.parquet is on a server, from where files of ROOT"):
        convert("https://127.0.0.1:9/a.parquet", tmp_path / "b.root")
    bad = tmp_path / "bad.npz"
    np.savez(bad, x=np.zeros(3), y=np.zeros(4))
    with pytest.raises(errors.MismatchError, match="arrays have different lengths"):
        convert(bad, tmp_path / "z.root")
    np.savez(bad, x=np.array([{}, {}], object))
    with pytest.raises(errors.UnsupportedError, match="'x' holds objects of Python"):
        convert(bad, tmp_path / "z.root")


def test_patterns_of_columns(files: dict[str, Path], tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["t"] = {"Muon_pt": [1.0, 2.0], "Muon_eta": [3.0, 4.0], "x": [5.0, 6.0]}
    sapwood.convert(tmp_path / "a.root", tmp_path / "a.parquet", columns=["x", "Muon_*", "Muon_pt", "x*x"])
    assert pq.read_schema(tmp_path / "a.parquet").names == ["x", "Muon_pt", "Muon_eta", "x*x"]
    sapwood.convert(tmp_path / "a.parquet", tmp_path / "b.feather", columns=["M*eta", "x*x"])
    assert feather.read_table(tmp_path / "b.feather").column_names == ["Muon_eta", "x*x"]
    with pytest.raises(KeyError, match="there is no column 'z\\*'; nearest"):
        sapwood.convert(tmp_path / "a.parquet", tmp_path / "c.feather", columns=["z*"])


def test_targets_that_are_no_files_are_told(files: dict[str, Path], tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    sapwood.convert(files["flat"], "new/folder/a.parquet", columns=["x"])
    assert pq.read_schema(tmp_path / "new/folder/a.parquet").names == ["x"]
    for source, target, words in (
        (files["flat"], "-", "writes a file, and not to the terminal"),
        (files["flat"], "new/folder/a.parquet:t", "a.parquet has no trees: leave out ':t'"),
        (files["flat"], "other.csv:t", "other.csv has no trees: leave out ':t', for csv is one table"),
        (
            "new/folder/",
            "b.root",
            "new/folder/ is a folder: name its files, .* like 'new/folder/\\*.parquet'",
        ),
    ):
        with pytest.raises(errors.MismatchError, match=words):
            sapwood.convert(source, target, format="csv" if target == "-" else None)
    with sapwood.recreate("b.root") as file:
        file["fr"] = {"y": [1.0]}
    parts = [{str(files["flat"]): "events"}, {"b.root": "fr"}]
    with pytest.raises(errors.MismatchError, match="^b.root:fr has other columns than .*flat.root:events: "):
        sapwood.convert(parts, "c.parquet")
    assert sorted(os.listdir()) == ["b.root", "new"]


def test_files_that_other_packages_cannot_read_are_named(tmp_path: Path) -> None:
    np.save(tmp_path / "o.npy", np.array([{}, [1]], object), allow_pickle=True)
    (tmp_path / "p.parquet").write_bytes(b"no Parquet")
    (tmp_path / "a.feather").write_bytes(b"no Arrow")
    for name in ("n.npy", "n.npz"):
        (tmp_path / name).write_bytes(b"")
    for name, words in (
        ("o.npy", "the array 'values' holds objects of Python (object), for which"),
        ("p.parquet", "the file cannot be read as parquet: "),
        ("a.feather", "the file cannot be read as feather: "),
        ("n.npy", "the file cannot be read as npy: "),
        ("n.npz", "the file cannot be read as npz: "),
    ):
        done = command(tmp_path / name, tmp_path / "x.root")
        assert done.returncode == 1 and done.stderr.startswith(f"sapwood: {words}"), done.stderr
        assert done.stderr.endswith(f"(file {tmp_path}/{name})\n") and done.stderr.count("\n") == 1


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "sapwood", "convert", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, timeout=120)


def test_the_command(files: dict[str, Path], tmp_path: Path) -> None:
    done = command(
        f"{files['flat']}:events",
        tmp_path / "a.parquet",
        "-c",
        "x",
        "-c",
        "i",
        "--cut",
        "i > 0",
        "--step-size",
        "100",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"499 rows in 1 file: {tmp_path}/a.parquet\n" and done.stderr == ""
    done = command(tmp_path / "a.parquet", tmp_path / "a.parquet")
    assert done.returncode == 1 and "is there already" in done.stderr and done.stdout == ""
    done = command(
        tmp_path / "*.parquet", f"{tmp_path}/out/", "--to", "rntuple", "--compression", "zstd:3", "-q"
    )
    assert done.returncode == 0 and done.stdout == ""
    assert sapwood.open(f"{tmp_path}/out/a.root:a").num_entries == 499
    done = command(tmp_path / "no.csv", tmp_path / "b.root")
    assert done.returncode == 1 and "no file" in done.stderr
    assert "HDF5" in command("--help").stdout
    done = subprocess.run(
        [sys.executable, "-m", "sapwood", "--help"], capture_output=True, text=True, timeout=120
    )
    assert "convert       Convert files" in done.stdout


def test_branches_without_a_column_are_named(tmp_path: Path) -> None:
    @dataclasses.dataclass
    class Hit(sapwood.TObject):
        x: np.float32 = np.float32(0)

    @dataclasses.dataclass
    class Event(sapwood.TObject):
        hits: Annotated[list[Hit], "TClonesArray"] = dataclasses.field(default_factory=list)

    with sapwood.recreate(tmp_path / "objects.root") as file:
        tree = file.mktree("t", {"event": Event, "y": "f4"}, split_level=0)
        tree.extend({"event": [Event(hits=[Hit(x=np.float32(2))])], "y": [1.0]})
        file["other"] = {"x": [1]}
    done = command(f"{tmp_path}/objects.root:t", tmp_path / "a.csv")
    said = f"{tmp_path}/objects.root:t: left out, since they cannot be columns of Arrow: event"
    assert done.returncode == 0 and done.stderr == f"sapwood: warning: {said}\n"
    with pytest.warns(UserWarning, match="left out, since they cannot be columns of Arrow: event"):
        sapwood.convert(f"{tmp_path}/objects.root:t", tmp_path / "b.csv")
    done = command(f"{tmp_path}/objects.root:t", tmp_path / "c.csv", "-c", "y")
    assert done.returncode == 0 and done.stderr == ""
    done = command(tmp_path / "objects.root", tmp_path / "d.csv")
    assert done.returncode == 1 and "has several trees ('t', 'other'): say which" in done.stderr
    assert done.stderr.count("\n") == 1, "no traceback"


def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["t"] = {"x": np.random.default_rng(1).normal(size=3_000_000)}
    line = [
        sys.executable,
        "-m",
        "sapwood",
        "convert",
        str(tmp_path / "a.root"),
        str(tmp_path / "a.jsonl"),
        "--step-size",
        "1000",
    ]
    started = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(600):
            if any(path.stat().st_size for path in tmp_path.glob(".*")):
                break
            time.sleep(0.05)
        started.send_signal(signal.SIGINT)
        _, said = started.communicate(timeout=60)
    finally:
        started.kill()
    assert started.returncode == 130 and said == "sapwood: interrupted\n"
    assert [path.name for path in tmp_path.iterdir()] == ["a.root"]


@pytest.mark.parametrize(("missing", "target"), [("pyarrow", "a.parquet"), ("h5py", "a.h5")])
def test_a_missing_package_gives_its_install_line(
    files: dict[str, Path], tmp_path: Path, missing: str, target: str
) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None\nimport sapwood\n"
        f"try:\n    sapwood.convert({str(files['flat'])!r}, {str(tmp_path / target)!r})\n"
        "except ModuleNotFoundError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert f"needs the package '{missing}': pip install {missing}" in done.stdout
    assert list(tmp_path.iterdir()) == []
