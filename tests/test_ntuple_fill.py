"""Fields with values for all entries, added to RNTuples of ROOT, of uproot and of Sapwood: real ROOT and uproot read
every value, old and new."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import sapwood

from support.ntuples import HOWS, rows_of
from test_ntuple_append import dumped, sound


def filled(rows: int) -> dict[str, Any]:
    """Columns of several kinds, without a zero, an empty text or an empty list at their beginning."""
    numbers = np.arange(1, rows + 1)
    return {
        "score": numbers * 0.5,
        "int16": (numbers % 30_000).astype("i2"),
        "string": [f"text {n}" for n in numbers.tolist()],
        "vector": ak.Array([[n] * (n % 4) for n in numbers.tolist()]),
        "array": np.stack([numbers, -numbers, 2 * numbers], axis=1).astype("f4"),
        "optional": ak.Array([None if n % 3 == 0 else n / 4 for n in numbers.tolist()]),
        "record": ak.Array([{"n": n, "v": [n] * (n % 3)} for n in numbers.tolist()]),
    }


def plain(columns: dict[str, Any]) -> dict[str, list[Any]]:
    return {name: ak.Array(values).tolist() for name, values in columns.items()}


@pytest.mark.parametrize("how", HOWS)
def test_fields_are_added_to_those_of_root(
    ntuples_made: Any, ntuple_library: Path, tmp_path: Path, how: str
) -> None:
    uproot = pytest.importorskip("uproot")
    path, values = ntuples_made(how)
    grown = tmp_path / "grown.root"
    shutil.copy(path, grown)
    rows = HOWS[how][1]
    more = {f"new_{name}": column for name, column in filled(rows).items()}
    with sapwood.update(grown) as file:
        file.add_branches("all", more)
    sound(grown)
    ours = sapwood.open(grown)["all"]
    by_root = dumped(grown, ntuple_library, *values)
    for name, expected in values.items():
        assert rows_of(ours[name].array(), name) == expected, name
        assert by_root[name] == expected, name
    for name, expected in plain(more).items():
        assert ours[name].array().tolist() == expected, name
        assert (
            ours[name].array(entry_start=rows // 3, entry_stop=rows // 2).tolist()
            == expected[rows // 3 : rows // 2]
        ), name
    if how == "small keys":  # uproot does not read payloads in several records
        return
    theirs = uproot.open(grown)["all"]
    for name, expected in plain(more).items():
        assert theirs.arrays([name])[name].tolist() == expected, name


def test_root_reads_fields_that_were_added(ntuple_library: Path, tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    path = tmp_path / "new.root"
    with sapwood.recreate(path) as file, file.mkrntuple("all", {"int32": "int32"}) as ntuple:
        for start in range(0, 50, 10):
            ntuple.extend({"int32": range(start, start + 10)})
            ntuple.flush()
            if start == 20:
                ntuple.add_fields({"late": "float64", "vector": "var * int32"})
                break
        for start in range(30, 50, 10):
            lists = [[n] * (n % 3) for n in range(10)]
            ntuple.extend({"int32": range(start, start + 10), "late": np.ones(10), "vector": lists})
            ntuple.flush()
    numbers = np.arange(50)
    more = {
        "int64": numbers + 7,
        "string": [f"s{n}" * (n % 3) for n in range(50)],
        "strings": [[f"{n}"] * (n % 3) for n in range(50)],
        "array": np.stack([numbers, numbers, -numbers], axis=1).astype("f4"),
        "optional": [None if n % 3 == 0 else n / 4 for n in range(50)],
    }
    # In two steps, and entries after them: each is whole.
    with sapwood.update(path) as file:
        file.add_branches("all", {name: more[name] for name in ("int64", "string")}, compression=None)
        with pytest.raises(sapwood.errors.MismatchError, match="since the file was opened"):
            file.add_branches("all", {"strings": more["strings"]})
    with sapwood.update(path) as file:
        file.add_branches(
            "all", {name: more[name] for name in ("strings", "array", "optional")}, compression="lz4:4"
        )
    expected = plain(more) | {
        "int32": list(range(50)),
        "late": [0.0] * 30 + [1.0] * 20,
        "vector": [[]] * 30 + [[n] * (n % 3) for n in range(10)] * 2,
    }
    with sapwood.update(path) as file, file.append("all") as ntuple:
        ntuple.extend({name: values[-5:] for name, values in expected.items()})
    expected = {name: values + values[-5:] for name, values in expected.items()}
    sound(path)
    ours, theirs = sapwood.open(path)["all"], uproot.open(path)["all"]
    by_root = dumped(path, ntuple_library, *(name for name in expected if name != "late"))
    for name, rows in expected.items():
        assert ours[name].array().tolist() == rows, name
        assert ours[name].array(entry_start=23, entry_stop=41).tolist() == rows[23:41], name
        assert theirs.arrays([name])[name].tolist() == rows, name
        if name != "late":
            assert by_root[name] == rows, name
    # Writing it again changes nothing.
    again = tmp_path / "again.root"
    sapwood.rewrite(path, again)
    assert sapwood.open(again)["all"].arrays().tolist() == ours.arrays().tolist()


def test_fields_are_added_to_what_uproot_wrote(ntuple_library: Path, tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    path = tmp_path / "uproot.root"
    data = {"int32": np.arange(50, dtype="i4"), "vector": ak.Array([[k] * (k % 4) for k in range(50)])}
    with uproot.recreate(path) as file:
        file.mkrntuple("all", data)
    more = {"int64": np.arange(50) - 9, "strings": [["a" * k] * (k % 3) for k in range(50)]}
    with sapwood.update(path) as file:
        file.add_branches("all", more)
    sound(path)
    by_root = dumped(path, ntuple_library, *data, *more)
    for name, values in (data | more).items():
        rows = ak.Array(values).tolist()
        assert sapwood.open(path)["all"][name].array().tolist() == rows
        assert uproot.open(path)["all"].arrays([name])[name].tolist() == rows
        assert by_root[name] == rows


def test_fields_that_cannot_be_added_leave_the_file_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.root"
    with sapwood.recreate(path) as file, file.mkrntuple("t", {"x": [1, 2, 3]}) as ntuple:
        ntuple.flush()
        ntuple.extend({"x": [4]})
    before = sapwood.open(path)["t"].arrays().tolist()
    wrong: list[tuple[dict[str, Any], type[Exception], str]] = [
        (
            {"y": [1, 2, 3]},
            sapwood.errors.MismatchError,
            "another number of values than the RNTuple has entries",
        ),
        ({"y": range(4), "z": range(5)}, sapwood.errors.MismatchError, "another number of values"),
        ({"x": range(4)}, sapwood.errors.ExistsError, 'a field "x" already'),
    ]
    for data, kind, words in wrong:
        with sapwood.update(path) as file, pytest.raises(kind, match=words):
            file.add_branches("t", data)
        assert sapwood.open(path)["t"].arrays().tolist() == before
        sound(path)
    with sapwood.update(path) as file:
        file.add_branches("t", {"y": [9, 8, 7, 6]})
    assert sapwood.open(path)["t"].arrays(["y"])["y"].tolist() == [9, 8, 7, 6]


def test_an_rntuple_without_entries_gets_fields(tmp_path: Path) -> None:
    path = tmp_path / "a.root"
    with sapwood.recreate(path) as file:
        file.mkrntuple("t", {"x": "int32"}).close()
    with sapwood.update(path) as file:
        file.add_branches("t", {"y": np.zeros(0)})
    with sapwood.update(path) as file, file.append("t") as ntuple:
        ntuple.extend({"x": [1], "y": [2.5]})
    sound(path)
    assert sapwood.open(path)["t"].arrays().tolist() == [{"x": 1, "y": 2.5}]


def test_a_directory_adds_fields_to_what_it_holds(tmp_path):
    path = tmp_path / "folder.root"
    with sapwood.recreate(path) as file:
        file.mkrntuple("d/t", {"x": np.arange(5)})
    with sapwood.update(path) as file:
        file["d"].add_branches("t", {"y": np.arange(5) * 2})
    with sapwood.open(path) as file:
        assert file["d/t/y"].array().tolist() == [0, 2, 4, 6, 8]
    assert sapwood.verify(path) == []
