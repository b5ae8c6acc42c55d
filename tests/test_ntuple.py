"""RNTuples: what real ROOT and uproot write is read value by value, and what is written is read by them."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import sapwood

from support.rootrun import root

MACRO = Path(__file__).resolve().parent / "oracle" / "ntuples.C"
COMPILE = """
assert ROOT.gSystem.CompileMacro(sys.argv[1], "kOs"), "ACLiC cannot compile it"
"""
WRITE = """
ROOT.gSystem.Load(sys.argv[1])
path, numbers = sys.argv[2], [int(word) for word in sys.argv[3:7]]
ROOT.ntuples.write_all(path, *numbers)
reader = ROOT.RNTupleReader.Open("all", path)
names = [field.GetFieldName() for field in reader.GetDescriptor().GetTopLevelFields()]
ROOT.ntuples.dump_all(path, "all", path + ".json", ROOT.std.vector["std::string"](names))
"""
DUMP = """
ROOT.gSystem.Load(sys.argv[1])
path, name = sys.argv[2], sys.argv[3]
ROOT.ntuples.dump_all(path, name, path + ".json", ROOT.std.vector["std::string"](sys.argv[4:]))
"""
UNORDERED = {"unordered_set", "unordered_multiset", "unordered_map", "unordered_multimap"}


def normal(value: Any) -> Any:
    """A value as the JSON of the dumps has it."""
    if isinstance(value, dict):
        if list(value) == ["first", "second"]:
            return [normal(one) for one in value.values()]
        return {name: normal(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [normal(one) for one in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if isinstance(value, bool):
        return int(value)
    return value


def rows_of(array: Any, name: str) -> list[Any]:
    rows: list[Any] = normal(array.to_list())
    return [sorted(row, key=repr) for row in rows] if name in UNORDERED else rows


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The macro, compiled by ROOT."""
    folder = tmp_path_factory.mktemp("macro")
    shutil.copy(MACRO, folder)
    root(COMPILE, folder / MACRO.name)
    return folder / "ntuples_C.so"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, library: Path) -> Any:
    """Makes files with ROOT, each once: (compression, entries, entries a cluster, flags) to the file and its values."""
    folder = tmp_path_factory.mktemp("ntuples")
    known: dict[tuple[int, int, int, int], tuple[Path, dict[str, Any]]] = {}

    def make(*how: int) -> tuple[Path, dict[str, Any]]:
        if how not in known:
            path = folder / ("-".join(map(str, how)) + ".root")
            root(WRITE, library, path, *how)
            values = json.loads(Path(f"{path}.json").read_text())
            for name in UNORDERED & set(values):
                values[name] = [sorted(row, key=repr) for row in values[name]]
            known[how] = path, values
        return known[how]

    return make


HOWS = [
    pytest.param((505, 300, 0, 0), id="one cluster"),
    pytest.param((0, 100, 30, 0), id="raw"),
    pytest.param((404, 300, 70, 1), id="small pages"),
    pytest.param((101, 300, 70, 2), id="no checksums"),
    pytest.param((505, 100, 30, 4), id="unbuffered"),
    pytest.param((0, 300, 0, 8), id="small keys"),
    pytest.param((207, 200, 30, 16), id="late fields"),
    pytest.param((0, 200, 30, 16 + 32 + 1), id="cluster groups"),
]


@pytest.mark.parametrize("how", HOWS)
def test_every_value_of_root_is_read(made: Any, how: tuple[int, ...]) -> None:
    path, values = made(*how)
    with sapwood.open(path) as file:
        ntuple = file["all"]
        assert ntuple.num_entries == how[1] and ntuple.description == "fields of many types"
        assert ntuple.keys(recursive=False) == list(values)
        for name, expected in values.items():
            assert rows_of(ntuple[name].array(), name) == expected, name
    found = sapwood.verify(path)
    assert not found and not found.damaged, [str(finding) for finding in found]
    assert found.counts["ntuples"] == 1 and found.counts["pages"] > 100


@pytest.mark.parametrize("threads", [1, 2])
def test_parts_are_the_same_as_the_whole(made: Any, threads: int) -> None:
    path, values = made(505, 300, 70, 1)
    rng = np.random.default_rng(5)
    with sapwood.open(path, threads=threads) as file:
        ntuple = file["all"]
        for start, stop in [(0, 1), (69, 71), (10, 290), (299, 300), (70, 140), (5, 5)]:
            arrays = ntuple.arrays(entry_start=start, entry_stop=stop)
            for name, expected in values.items():
                assert rows_of(arrays[name], name) == expected[start:stop], (name, start, stop)
        mask = rng.random(300) < 0.1
        arrays = ntuple.arrays(entries=mask)
        for name, expected in values.items():
            assert rows_of(arrays[name], name) == [row for row, is_in in zip(expected, mask) if is_in], name
        steps = list(ntuple.iterate(["vector", "strings", "map"], step_size=37))
        assert [len(step) for step in steps] == [37] * 8 + [4]
        assert rows_of(ak.concatenate([step["strings"] for step in steps]), "strings") == values["strings"]


def test_members_are_read_alone(made: Any) -> None:
    path, values = made(505, 300, 0, 0)
    ntuple = sapwood.open(path)["all"]
    assert rows_of(ntuple["object.fName"].array(), "") == [row["fName"] for row in values["object"]]
    assert rows_of(ntuple["objects.fBase"].array(), "") == [[one["fBase"] for one in row] for row in values["objects"]]
    assert rows_of(ntuple["objects.fMember.fName"].array(), "") == [
        [one["fMember"]["fName"] for one in row] for row in values["objects"]
    ]
    assert rows_of(ntuple["pairs.1"].array(), "") == [[one[1] for one in row] for row in values["pairs"]]
    assert rows_of(ntuple["map.0"].array(), "") == [[one[0] for one in row] for row in values["map"]]
    assert "objects.fMember.fName" in ntuple.keys() and "objects" in ntuple
    with pytest.raises(KeyError, match="objects"):
        ntuple["objects.fOthers"]


def test_what_is_written_is_read_by_root_and_uproot(made: Any, library: Path, tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    path, values = made(505, 300, 70, 1)
    source = sapwood.open(path)["all"]
    # The classes of objects are ROOT's own; unordered and multiple containers, and pointers, become plain ones.
    others = {"enum", "small_enum", "enums", "char", "byte", "multiset", "multimap", "pointer", "pointers", "atomic"}
    others |= {"atomic_float", "object_pointer", "variant_of_objects", "rvec", "rvecs", "bits", "more_bits"}
    others |= {"vector_of_bits", "array_of_objects", *UNORDERED}
    others |= {name for name in values if "object" in name or name == "derived"}
    names = [name for name in values if name not in others]
    arrays = {name: source[name].array() for name in names}
    for compression in ("zstd:5", "lz4:4", None):
        ours = tmp_path / f"{compression}.root".replace(":", "")
        with sapwood.recreate(ours) as file:
            first = {name: array[:111] for name, array in arrays.items()}
            ntuple = file.mkrntuple("all", first, "here", compression=compression, cluster_bytes=4000, page_bytes=300)
            ntuple.extend({name: array[111:] for name, array in arrays.items()})
        again = sapwood.open(ours)["all"]
        assert len(again.clusters) > 3
        assert {name: again[name].typename for name in names} == {name: source[name].typename for name in names}
        root(DUMP, library, ours, "all", *names)
        dumped = json.loads(Path(f"{ours}.json").read_text())
        by_uproot = uproot.open(ours)["all"]
        for name in names:
            assert rows_of(again[name].array(), name) == values[name], name
            assert dumped[name] == values[name], name
            # uproot 5.7 takes the values of a variant from the wrong cluster.
            if "variant" not in name:
                assert rows_of(by_uproot.arrays([name])[name], name) == values[name], name


def test_what_uproot_writes_is_read(tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    data = {
        "x": np.arange(100, dtype="f4"),
        "n": ak.Array([[number] * (number % 3) for number in range(100)]),
        "s": ak.Array([str(number) for number in range(100)]),
        "r": ak.Array([{"a": number, "b": [number / 2]} for number in range(100)]),
    }
    with uproot.recreate(tmp_path / "theirs.root") as file:
        ntuple = file.mkrntuple("t", {name: array[:60] for name, array in data.items()})
        ntuple.extend({name: array[60:] for name, array in data.items()})
    arrays = sapwood.open(tmp_path / "theirs.root")["t"].arrays()
    for name, array in data.items():
        assert arrays[name].to_list() == ak.Array(array).to_list(), name
