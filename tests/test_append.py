"""Entries and branches that are added to trees of a file, ours and real ROOT's: real ROOT reads all of it without a word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.rootrun import root
from test_classes import BUILD, CPP, EVENTS, READ, Event, plain

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")

MAKE = """
from array import array
file = ROOT.TFile(sys.argv[1], "RECREATE")
tree = ROOT.TTree("tree", "of ROOT")
n, x, m, b = array("i", [0]), array("f", 100 * [0]), array("d", 4 * [0]), array("b", [0])
s = bytearray(100)
v, vv, w = ROOT.std.vector("float")(), ROOT.std.vector(ROOT.std.vector("short"))(), ROOT.std.vector("string")()
tree.Branch("n", n, "n/I")
tree.Branch("x", x, "x[n]/F")
tree.Branch("m", m, "m[2][2]/D")
tree.Branch("b", b, "b/B")
tree.Branch("s", s, "s/C")
tree.Branch("v", v)
tree.Branch("vv", vv)
tree.Branch("w", w)
if len(sys.argv) > 2:
    tree.SetAutoFlush(int(sys.argv[2]))
for i in range(250):
    n[0] = i % 5
    for k in range(n[0]): x[k] = i + k / 4
    for k in range(4): m[k] = i * k
    b[0] = i % 100
    text = f"entry {i}".encode() + b"\\0"
    s[: len(text)] = text
    v.clear(); vv.clear(); w.clear()
    for k in range(i % 3):
        v.push_back(i / 2); inner = ROOT.std.vector("short")(); inner.push_back(k); vv.push_back(inner); w.push_back(f"w{k}")
    tree.Fill()
tree.Write()
file.Close()
"""

LOOK = """
ROOT.gInterpreter.Declare('std::string text_of(TTree &tree) { return static_cast<const char *>(tree.GetLeaf(\"s\")->GetValuePointer()); }')
file = ROOT.TFile(sys.argv[1])
tree = file.Get("tree")
rows = []
for i in range(tree.GetEntries()):
    assert tree.GetEntry(i) > 0
    rows.append([tree.n, list(tree.x)[: tree.n], [tree.m[k // 2][k % 2] for k in range(4)], int(tree.b) if not isinstance(tree.b, str) else ord(tree.b), str(ROOT.text_of(tree)), list(tree.v), [list(q) for q in tree.vv], [str(q) for q in tree.w]])
clusters, iterator = [], tree.GetClusterIterator(0)
while (start := iterator()) < tree.GetEntries(): clusters.append(start)
answer([rows, clusters, [branch.GetName() for branch in tree.GetListOfBranches()], {b: [getattr(tree, b)] for b in ("extra", "lists_n") if tree.GetBranch(b)}])
"""


def row(i: int) -> list[Any]:
    return [
        i % 5, [i + k / 4 for k in range(i % 5)], [float(i * k) for k in range(4)], i % 100, f"entry {i}",
        [i / 2] * (i % 3),
        [[k] for k in range(i % 3)], [f"w{k}" for k in range(i % 3)],
    ]  # fmt: skip


def columns(rows: range) -> dict[str, Any]:
    of = [row(i) for i in rows]
    return {
        "x": ak.Array([r[1] for r in of]), "m": np.array([r[2] for r in of]).reshape(-1, 2, 2), "b": np.array([r[3] for r in of], "i1"),
        "s": [r[4] for r in of], "v": ak.Array([r[5] for r in of]), "vv": ak.Array([r[6] for r in of]),
        "w": ak.Array([r[7] for r in of]),
    }  # fmt: skip


@pytest.mark.parametrize("flush", ["", "100", "70"])
def test_entries_follow_those_of_root(tmp_path: Path, flush: str) -> None:
    path = tmp_path / "file.root"
    root(MAKE, path, *([flush] if flush else []))
    for start in (250, 330):
        with sapwood.update(path) as file, file.append("tree") as tree:
            assert "n" in tree.branches
            tree.extend(columns(range(start, start + 50)))
            tree.extend(columns(range(start + 50, start + 80)))
    rows, clusters, names, _ = root(LOOK, path)
    assert rows == [row(i) for i in range(410)] and len(names) == 8
    assert clusters[0] == 0 and 250 in clusters and 330 in clusters and clusters == sorted(clusters)
    with sapwood.open(path) as file:
        assert file.keys(cycle=False) == ["tree"]
        assert ak.to_list(file["tree/w"].array()) == [row(i)[7] for i in range(410)]
        assert [start for start, _ in file["tree"].clusters] == clusters
    assert sapwood.verify(path) == []


def test_root_goes_on_where_we_stopped(tmp_path: Path) -> None:
    path = tmp_path / "file.root"
    root(MAKE, path)
    with sapwood.update(path) as file, file.append("tree") as tree:
        tree.extend(columns(range(250, 300)))
    lines = """
file = ROOT.TFile(sys.argv[1], "UPDATE")
tree = file.Get("tree")
tree.GetEntry(7)
tree.Fill()
tree.Write("", ROOT.TObject.kOverwrite)
file.Close()
"""
    root(lines, path)
    with sapwood.update(path) as file, file.append("tree") as tree:
        tree.extend(columns(range(301, 310)))
    rows, *_ = root(LOOK, path)
    assert rows == [row(i) for i in [*range(300), 7, *range(301, 310)]]


LOOK_AT_BASKETS = """
file = ROOT.TFile.Open(sys.argv[1])
tree = file.Get("t")
baskets = [branch.GetWriteBasket() for branch in tree.GetListOfBranches()]
answer([tree.GetAutoFlush(), baskets, [tree.GetEntry(i) and (tree.x, tree.y) for i in map(int, sys.argv[2:])]])
"""


@pytest.mark.parametrize("rows", [1, 100])
def test_a_small_tree_that_was_closed_does_not_make_later_clusters_small(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "file.root"
    x = np.arange(200_000.0)
    with sapwood.recreate(path) as file:
        file["t"] = {"x": x[:rows]}
    for start, stop in ((rows, rows + 1), (rows + 1, len(x))):
        with sapwood.update(path) as file:
            file["t"].extend({"x": x[start:stop]})
    # Added branches have baskets that end where those of the tree do.
    with sapwood.update(path) as file:
        file.add_branches("t", {"y": -x})
    assert [end for _, end in sapwood.open(path)["t"].clusters] == [rows, rows + 1, len(x)]
    assert sapwood.verify(path) == []
    entries = [0, 1, 2, 50_000, len(x) - 1]
    flush, (baskets, more), values = root(LOOK_AT_BASKETS, path, *entries)
    assert flush == -30_000_000 and 3 <= more <= baskets < 10
    assert values == [[entry, -entry] for entry in entries]


def test_root_measures_the_first_cluster_of_a_tree_that_was_closed_while_small(tmp_path: Path) -> None:
    path = tmp_path / "file.root"
    with sapwood.recreate(path) as file:
        file["t"] = {"x": np.arange(100.0)}
    lines = """
file = ROOT.TFile(sys.argv[1], "UPDATE")
tree = file.Get("t")
x = array("d", [0])
tree.SetBranchAddress("x", x)
tree.SetAutoFlush(-100_000)
generator = ROOT.TRandom3(1)
for i in range(100_000):
    x[0] = generator.Rndm()
    tree.Fill()
tree.Write("", ROOT.TObject.kOverwrite)
answer([tree.GetAutoFlush(), tree.GetBranch("x").GetWriteBasket()])
file.Close()
"""
    flush, baskets = root("from array import array\n" + lines, path)
    assert 10_000 < flush < 50_000 and baskets < 40
    assert len(sapwood.open(path)["t"]["x"].array()) == 100_100


AUTO_FLUSH = """
file = ROOT.TFile.Open(sys.argv[1])
answer(file.Get("t").GetAutoFlush())
"""


def test_the_size_that_a_number_of_bytes_gave_stays(tmp_path: Path) -> None:
    path = tmp_path / "file.root"
    x = np.random.default_rng(1).random(100_000)
    with sapwood.recreate(path, compression=None) as file:
        tree = file.mktree("t", {"x": "f8"}, auto_flush="80 kB")
        tree.extend({"x": x})
    first = sapwood.open(path)["t"].clusters[0][1]
    assert 9_000 < first < 11_000
    with sapwood.update(path) as file:
        file["t"].extend({"x": x})
    clusters = sapwood.open(path)["t"].clusters
    assert {stop - start for start, stop in clusters[:9]} == {first} and len(clusters) < 25
    assert root(AUTO_FLUSH, path) == first


def test_branches_are_added_to_trees_of_root(tmp_path: Path) -> None:
    path = tmp_path / "file.root"
    root(MAKE, path, 100)
    with sapwood.update(path) as file:
        file.add_branches("tree", {"extra": np.arange(250) / 8, "lists": [[i] * (i % 3) for i in range(250)]})
    lines = LOOK.replace(
        "clusters, iterator",
        "extra = []\nfor i in range(250): tree.GetEntry(i); extra.append([tree.extra, list(tree.lists)[: tree.nlists]])\nclusters, iterator",
    )
    rows, clusters, names, _ = root(lines.replace("answer([rows", "answer([extra"), path)
    assert rows == [[i / 8, [i] * (i % 3)] for i in range(250)]
    assert names[-3:] == ["extra", "nlists", "lists"] or set(names[-3:]) == {"extra", "nlists", "lists"}
    assert root(LOOK, path)[0] == [row(i) for i in range(250)]
    # and entries behind, for old and new branches alike
    with sapwood.update(path) as file, file.append("tree") as tree:
        more = columns(range(250, 260)) | {"extra": np.arange(10.0), "lists": [[1]] * 10}
        tree.extend(more)
    assert root(LOOK, path)[0] == [row(i) for i in range(260)]
    assert sapwood.open(path)["tree/extra"].array()[-1] == 9.0
    assert sapwood.verify(path) == []


def test_objects_follow_those_of_root(tmp_path: Path) -> None:
    (tmp_path / "classes.C").write_text(CPP)
    lines = """
one = ROOT.Event()
for split in (0, 1, 99):
    file = ROOT.TFile(f"{sys.argv[2]}/{split}.root", "RECREATE")
    tree = ROOT.TTree("tree", "")
    tree.Branch("event.", one, 32000, split)
    tree.Branch("plain", one, 32000, split)
    for i in range(20):
        one.number = i
        one.tracks.resize(i % 3)
        tree.Fill()
    tree.Write()
    file.Close()
"""
    root(BUILD + lines, tmp_path / "classes.C", tmp_path)
    for split in (0, 1, 99):
        with sapwood.update(tmp_path / f"{split}.root") as file, file.append("tree") as tree:
            tree.extend({"event.": EVENTS, "plain": EVENTS})
    lines = """
found = []
one = ROOT.Event()
two = ROOT.Event()
for split in (0, 1, 99):
    file = ROOT.TFile(f"{sys.argv[2]}/{split}.root")
    tree = file.Get("tree")
    tree.SetBranchAddress("event.", one)
    tree.SetBranchAddress("plain", two)
    rows = []
    for entry in range(tree.GetEntries()):
        assert tree.GetEntry(entry) > 0
        rows.append(event(one) if entry >= 20 else [one.number, one.tracks.size()])
        assert entry < 20 or event(two) == event(one)
    found.append(rows)
answer(found)
"""
    for rows in root(READ + BUILD + lines, tmp_path / "classes.C", tmp_path):
        assert rows[:20] == [[i, i % 3] for i in range(20)]
        for found, one in zip(rows[20:], EVENTS, strict=True):
            assert found == plain(one)


def test_what_cannot_be_added_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file.root"
    with sapwood.recreate(path) as file:
        file["tree"] = {"x": np.arange(10), "y": [[1.5]] * 10}
        with pytest.raises(ValueError, match="updated"):
            file.append("tree")
    before = path.read_bytes()
    with sapwood.update(path) as file:
        with pytest.raises(ValueError, match="another number of entries"):
            file.add_branches("tree", {"z": np.arange(9)})
        with pytest.raises(OSError, match="already"):
            file.add_branches("tree", {"x": np.arange(10)})
        with pytest.raises(KeyError):
            file.append("other")
    assert sapwood.open(path)["tree"].keys() == ["x", "y"] and len(path.read_bytes()) >= len(before)
    with sapwood.update(path) as file:
        tree = file.append("tree")
        with pytest.raises(ValueError, match="'y'"):
            tree.extend({"x": [1]})
        with pytest.raises(ValueError, match="x"):
            tree.extend({"x": [1.5], "y": [[1.0]]})
        tree.extend({"x": [1], "y": [[1.0]]})
        with pytest.raises(ValueError, match="written"):
            file.append("tree")
    assert sapwood.open(path)["tree/x"].array().tolist() == [*range(10), 1]


def test_dataclasses_are_added_to_our_own_trees(tmp_path: Path) -> None:
    path = tmp_path / "file.root"
    for split in (99, 0):
        with sapwood.recreate(path) as file:
            file.mktree("t", {"e": Event}, split_level=split).extend({"e": EVENTS[:10]})
        with sapwood.update(path) as file, file.append("t") as tree:
            tree.extend({"e": EVENTS[10:]})
        with sapwood.open(path) as file:
            assert file["t"].num_entries == len(EVENTS)
            if split:
                assert file["t/name"].array().tolist() == [e.name for e in EVENTS]


NAMESAKES = """
from array import array
file = ROOT.TFile(sys.argv[1], "RECREATE")
tree = ROOT.TTree("tree", "leaves and branches of other names")
n, x, k, y = array("i", [0]), array("f", 100 * [0]), array("i", [0]), array("f", 100 * [0])
tree.Branch("counter", n, "n/I")
tree.Branch("x", x, "values[n]/F")
tree.Branch("n", k, "k/I")
tree.Branch("y", y, "values[k]/F")
for i in range(10):
    n[0], k[0] = i % 3, i % 2
    tree.Fill()
tree.Write()
file.Close()
"""

RANGES = """
file = ROOT.TFile(sys.argv[1])
tree = file.Get("tree")
lengths = [[tree.GetEntry(i), tree.GetBranch("x").GetLeaf("values").GetLen(), tree.GetBranch("y").GetLeaf("values").GetLen()] for i in range(tree.GetEntries())]
answer([[tree.GetBranch("counter").GetLeaf("n").GetMaximum(), tree.GetBranch("n").GetLeaf("k").GetMaximum()], [l[1:] for l in lengths]])
"""


def test_largest_counts_are_those_of_the_leaves_of_a_branch(tmp_path: Path) -> None:
    path = tmp_path / "file.root"
    root(NAMESAKES, path)
    x, y = [[1.0] * 7, [], [2.0] * 3], [[3.0] * 20, [4.0], []]
    with sapwood.update(path) as file, file.append("tree") as tree:
        tree.extend({"x": ak.Array(x), "y": ak.Array(y)})
    largest, lengths = root(RANGES, path)
    assert largest == [7, 20]
    assert lengths[10:] == [[len(a), len(b)] for a, b in zip(x, y)]
    with sapwood.open(path) as file:
        assert file["tree"]["y"].array().tolist()[10:] == y


def test_a_name_with_its_cycle_is_the_tree(tmp_path: Path) -> None:
    path = tmp_path / "file.root"
    with sapwood.recreate(path) as file:
        file.mktree("folder/tree", {"x": "i4"}).extend({"x": [1, 2]})
    with sapwood.update(path) as file, file.append("folder/tree;1") as tree:
        tree.extend({"x": [3]})
    with sapwood.update(path) as file:
        file.add_branches("/folder/tree;1", {"y": [0.5, 1.5, 2.5]})
    with sapwood.open(path) as file:
        assert file.keys(recursive=True) == ["folder;1", "folder/tree;1"]
        assert file["folder/tree"].arrays(library="np")["x"].tolist() == [1, 2, 3]
        assert file["folder/tree"]["y"].array(library="np").tolist() == [0.5, 1.5, 2.5]


@pytest.mark.parametrize("rows", [4, 9, 11, 16])
def test_added_branches_have_a_value_for_each_entry_and_no_more(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "file.root"
    with sapwood.recreate(path) as file:
        file.mktree("tree", {"x": "i4"}, auto_flush=5).extend({"x": range(10)})
    with sapwood.update(path) as file:
        with pytest.raises(sapwood.errors.MismatchError, match="entries"):
            file.add_branches("tree", {"y": np.arange(rows) / 2})
    with sapwood.open(path) as file:
        assert file["tree"].keys() == ["x"]
        assert file["tree"]["x"].array(library="np").tolist() == list(range(10))
    assert sapwood.verify(path) == []


def test_real_root_s_own_strings_go_on(tmp_path: Path) -> None:
    path = tmp_path / "strings.root"
    lines = """
file = ROOT.TFile(sys.argv[1], "RECREATE")
tree = ROOT.TTree("t", "")
text, number = ROOT.std.string(), ROOT.std.vector("int")()
tree.Branch("text", text); tree.Branch("numbers", number)
for i in range(5):
    text.assign("r" * i); number.push_back(i)
    tree.Fill()
file.Write("", ROOT.TObject.kOverwrite)
"""
    root(lines, path)
    texts = ["", "short", "x" * 254, "y" * 255, "z" * 70_000]
    with sapwood.update(path) as file:
        file.append("t").extend({"text": texts, "numbers": [[i] for i in range(5)]})
    wanted = ["r" * i for i in range(5)] + texts
    with sapwood.open(path) as file:
        assert file["t/text"].array().tolist() == wanted
    assert sapwood.verify(path) == []
    lines = """
file = ROOT.TFile(sys.argv[1])
tree = file.Get("t")
found = []
for i in range(tree.GetEntries()):
    assert tree.GetEntry(i) > 0
    found.append([str(tree.text), list(tree.numbers)])
frame = ROOT.RDataFrame("t", sys.argv[1])
answer([found, [str(text) for text in frame.Take["std::string"]("text").GetValue()]])
"""
    rows, taken = root(lines, path)
    assert [text for text, _ in rows] == taken == wanted and rows[-1][1] == [4]
