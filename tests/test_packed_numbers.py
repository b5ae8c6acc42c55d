"""`Double32_t`, `Float16_t` and lists of leaves, beside what real ROOT writes of the same values, byte by byte."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.rootrun import root

sapwood = pytest.importorskip("sapwood")
uproot = pytest.importorskip("uproot")
ak = pytest.importorskip("awkward")

ENTRIES = 500
#: Types as `mktree` takes them, and as `TTree::Branch` does.
PACKED = {
    "d": ("Double32_t", "d/d"),
    "range": ("d[0,10,8]", "range/d[0,10,8]"),
    "whole": ("Double32_t[-5, 5]", "whole/d[-5,5]"),
    "bits": ("/d[0,0,10]", "bits/d[0,0,10]"),
    "angle": ("d[-pi,pi,16]", "angle/d[-pi,pi,16]"),
    "f": ("/f", "f/f"),
    "frange": ("f[0,10,30]", "frange/f[0,10,30]"),
    "fbits": ("Float16_t[0,0,5]", "fbits/f[0,0,5]"),
    "matrix": ("2 * 3 * d[-1,1,12]", "matrix[2][3]/d[-1,1,12]"),
    "list": ("var * d[0,10,16]", "list[nlist]/d[0,10,16]"),
    "flist": ("var * Float16_t", "flist[nflist]/f"),
}
LEAVES = "c/B:x/F:y/I:z[3]/D:ok/O:big/l"
LEAF_TYPE = np.dtype(
    [("c", "i1"), ("x", "f4"), ("y", "i4"), ("z", "f8", (3,)), ("ok", "?"), ("big", "u8")], align=False
)

WRITE = """
from array import array
import numpy as np
values = np.load(sys.argv[2])
leaves = np.load(sys.argv[3])
branches = json.loads(sys.argv[4])
file = ROOT.TFile(sys.argv[1], "recreate", "", 0)
tree = ROOT.TTree("tree", "")
memory = {}
for name, title in branches.items():
    kind = title.split("/")[1][0]
    memory[name] = array("d" if kind == "d" else "f", [0.0] * 20)
    if title.startswith(name + "[n"):
        memory["n" + name] = array("i", [0])
        tree.Branch("n" + name, memory["n" + name], f"n{name}/I")
    tree.Branch(name, memory[name], title)
record = np.zeros(1, leaves.dtype)
tree.Branch("leaves", record, sys.argv[5])
for entry in range(len(leaves)):
    for name, title in branches.items():
        for place in range(20):
            memory[name][place] = values[entry, place]
        if "n" + name in memory:
            memory["n" + name][0] = entry % 7
    record[0] = leaves[entry]
    tree.Fill()
tree.Write()
file.Close()
"""

READ = """
file = ROOT.TFile(sys.argv[1])
tree = file.Get("tree")
found = {}
for name in json.loads(sys.argv[2]) + ["leaves"]:
    branch = tree.GetBranch(name)
    leaves = list(branch.GetListOfLeaves())
    found[name] = [[branch.GetTitle(), branch.GetTotBytes()]]
    found[name] += [[leaf.ClassName(), leaf.GetTitle(), leaf.GetOffset(), leaf.GetLenType()] for leaf in leaves]
    for entry in range(tree.GetEntries()):
        branch.GetEntry(entry)
        if leaves[0].GetLeafCount():
            tree.GetBranch(leaves[0].GetLeafCount().GetName()).GetEntry(entry)
            branch.GetEntry(entry)
        found[name].append([[leaf.GetTypedValue["double"](k) for k in range(leaf.GetLen())] for leaf in leaves])
answer(found)
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same values, written by ROOT and by us."""
    place = tmp_path_factory.mktemp("packed")
    random = np.random.default_rng(11)
    # Many are beyond the ranges.
    values = random.normal(2, 4, (ENTRIES, 20)).astype("f4").astype("f8")
    values[:4] = np.array([0.0, -0.0, 10.0, 1e-30])[:, None]
    leaves = np.zeros(ENTRIES, LEAF_TYPE)
    for name in LEAF_TYPE.names or ():
        shape = leaves[name].shape
        leaves[name] = random.normal(0, 50, shape) if name in "xz" else random.integers(0, 100, shape)
    leaves["big"] += np.uint64(2**63)
    np.save(place / "values.npy", values)
    np.save(place / "leaves.npy", leaves)
    theirs, ours = place / "root.root", place / "ours.root"
    titles = {name: title for name, (_, title) in PACKED.items()}
    root(WRITE, theirs, place / "values.npy", place / "leaves.npy", json.dumps(titles), LEAVES)
    columns: dict[str, Any] = {}
    for name, (kind, _) in PACKED.items():
        dtype = "f4" if "f" in kind.replace("inf", "") and "Double" not in kind else "f8"
        found = values.astype(dtype)
        if "var" in kind:
            counts = np.arange(ENTRIES) % 7
            columns[name] = ak.unflatten(np.concatenate([row[:n] for row, n in zip(found, counts)]), counts)
        else:
            columns[name] = found[:, :6].reshape(-1, 2, 3) if name == "matrix" else found[:, 0]
    with sapwood.recreate(ours, compression=None) as file:
        types = {name: kind for name, (kind, _) in PACKED.items()}
        tree = file.mktree("tree", {**types, "leaves": LEAVES})
        half = ENTRIES // 2
        for part in (slice(0, half), slice(half, None)):
            tree.extend({name: column[part] for name, column in columns.items()} | {"leaves": leaves[part]})
    return theirs, ours


def test_root_reads_what_it_would_have_written(files: tuple[Path, Path]) -> None:
    theirs, ours = (root(READ, place, json.dumps(list(PACKED))) for place in files)
    for name in [*PACKED, "leaves"]:
        # Bytes of keys differ with the number of baskets.
        assert theirs[name][0][0] == ours[name][0][0]
        assert theirs[name][1:] == ours[name][1:], name


def test_baskets_are_those_of_root(files: tuple[Path, Path]) -> None:
    """The bytes of the entries are the same."""
    theirs, ours = (sapwood.open(place)["tree"] for place in files)
    for name in [*PACKED, "leaves"]:
        parts = []
        for tree in (theirs, ours):
            branch = tree[name]
            baskets = [branch.basket(number) for number in range(branch.num_baskets)]
            parts.append(b"".join(bytes(basket.data) for basket in baskets))
        assert parts[0] == parts[1], name


def test_everyone_reads_the_same(files: tuple[Path, Path]) -> None:
    theirs, ours = (sapwood.open(place)["tree"].arrays(library="ak") for place in files)
    for name in theirs.fields:
        assert ak.array_equal(theirs[name], ours[name]), name
    of_root, of_ours = (uproot.open(place)["tree"] for place in files)
    # It fails where Float16_t has no range, in both files.
    for name in [*(set(PACKED) - {"f", "flist"}), "leaves"]:
        found = of_ours[name].array()
        assert ak.array_equal(found, of_root[name].array()), name
        # It rounds otherwise than ROOT, and knows no ranges of arrays and lists.
        if found.ndim == 1 and not found.fields:
            assert ak.all(abs(found - theirs[name]) < 1e-6), name


def test_more_entries_are_added(files: tuple[Path, Path], tmp_path: Path) -> None:
    theirs, _ = files
    place = tmp_path / "more.root"
    place.write_bytes(theirs.read_bytes())
    before = sapwood.open(place)["tree"].arrays(library="ak")
    with sapwood.update(place) as file:
        fields = [name for name in before.fields if not name.startswith("n")]
        file["tree"].extend({name: before[name] for name in fields})
    after = sapwood.open(place)["tree"].arrays(library="ak")
    assert len(after) == 2 * len(before)
    for name in before.fields:
        # What was packed once is packed to the same.
        assert ak.array_equal(after[name][ENTRIES:], before[name]), name
    lines = "file = ROOT.TFile(sys.argv[1])\nanswer(file.Get('tree').GetEntries())"
    assert root(lines, place) == 2 * ENTRIES


def test_what_is_no_number_is_packed_as_root_does(tmp_path: Path) -> None:
    theirs, ours = tmp_path / "root.root", tmp_path / "ours.root"
    lines = """
from array import array
file = ROOT.TFile(sys.argv[1], "recreate", "", 0)
tree = ROOT.TTree("tree", "")
d, f = array("d", [0.0]), array("f", [0.0])
tree.Branch("d", d, "d/d[0,10,8]")
tree.Branch("f", f, "f/f[0,10,16]")
for value in json.loads(sys.argv[2]):
    d[0] = f[0] = value
    tree.Fill()
tree.Write()
file.Close()
"""
    values = [1.5, math.nan, math.inf, -math.inf, 10.0, 11.0, -1.0]
    root(lines, theirs, json.dumps(values))
    with sapwood.recreate(ours, compression=None) as file:
        tree = file.mktree("tree", {"d": "d[0,10,8]", "f": "f[0,10,16]"})
        tree.extend({"d": np.array(values), "f": np.array(values, "f4")})
    found = [sapwood.open(place)["tree"].arrays(library="np") for place in (theirs, ours)]
    for name in ("d", "f"):
        assert found[0][name].tolist() == found[1][name].tolist(), name


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("d[0,10,99]", "range"),
        ("d[0,1,2,3]", "range"),
        ("d[a,b]", "range"),
        ("x/Q", "not understood"),
        ("x/F:y/C", "not understood"),
        ("x/F:x/F", "two leaves"),
    ],
)
def test_what_is_no_range_is_refused(tmp_path: Path, kind: str, words: str) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        with pytest.raises(Exception, match=words):
            file.mktree("tree", {"x": kind})
        file["h"] = np.histogram([1.0], bins=2)


def test_leaves_are_given_in_several_forms(tmp_path: Path) -> None:
    place = tmp_path / "a.root"
    given = np.array([(1.5, 2, [3, 4]), (2.5, 3, [5, 6])], [("x", "f4"), ("n", "i4"), ("z", "f8", (2,))])
    with sapwood.recreate(place) as file:
        tree = file.mktree("tree", {"p": "x/F:n/I:z[2]/D"})
        tree.extend({"p": given})
        tree.extend({"p": {name: given[name] for name in ("x", "n", "z")}})
        tree.extend({"p": []})
        tree.extend({"p": ak.Array(given)})
        tree.extend({"p": [{"x": 1.5, "n": 2, "z": [3, 4]}, {"x": 2.5, "n": 3, "z": [5, 6]}]})
        with pytest.raises(sapwood.errors.MismatchError, match="'p'"):
            tree.extend({"p": {"x": [1.0]}})
    found = sapwood.open(place)["tree/p"].array()
    assert found["x"].to_list() == [1.5, 2.5] * 4
    assert found["n"].to_list() == [2, 3] * 4
    assert found["z"].to_list() == [[3, 4], [5, 6]] * 4
