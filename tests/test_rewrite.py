"""Files that are written again in other clusters: every value stays what it was, in real ROOT and here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rootrun import root
from test_classes import BUILD, CPP, EVENTS, READ, Event, plain

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")

CORPUS = Path(os.environ.get("SAPWOOD_CORPUS") or Path(__file__).resolve().parents[2] / "shared/corpus")
SMALL = 400_000
"""Files above that many bytes are left to the corpus test."""


def values(tree: Any) -> dict[str, Any]:
    """All values of a tree, as plain lists; what cannot be read is left out."""
    found = {}
    for name in tree.keys(recursive=True):
        try:
            found[name] = ak.to_list(tree[name].array())
        except Exception as error:  # what cannot be read before cannot be compared; what can be read must be there afterwards
            found[name] = f"{type(error).__name__}"
    return found


def same(a: Any, b: Any) -> bool:
    """Equality of plain lists, with numbers that are none equal to themselves."""
    return bool(a == b) or repr(a) == repr(b)


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus of real files is not here")
def test_files_of_all_writers_keep_their_values(tmp_path: Path) -> None:
    """Real files: clusters of three entries, small baskets, another codec; then back into large clusters."""
    counts = {"files": 0, "branches": 0, "refused": 0}
    for path in sorted(CORPUS.rglob("*.root")):
        if path.stat().st_size > SMALL:
            continue
        try:
            before = sapwood.open(path)
            names = before.keys(filter_classname=["TTree", "TNtuple", "TNtupleD"], cycle=False)
            old = {name: values(before[name]) for name in names if before[name].num_entries <= 2000}
        except Exception:
            continue
        if not old:
            continue
        first, second = tmp_path / "first.root", tmp_path / "second.root"
        try:
            sapwood.rewrite(path, first, auto_flush=3, basket_bytes=300, compression="lz4:1", trees=list(old))
        except (sapwood.errors.UnsupportedError, sapwood.errors.MalformedError, sapwood.errors.LimitError):
            counts["refused"] += 1
            assert not first.exists()
            continue
        sapwood.rewrite(first, second, compression="zstd:3", trees=list(old))
        for step in (first, second):
            with sapwood.open(step) as after:
                for name, columns in old.items():
                    new = values(after[name])
                    for branch, wanted in columns.items():
                        if wanted in ("NotImplementedError", "UnsupportedError", "MalformedError", "Damaged"):
                            continue
                        assert same(new.get(branch), wanted), f"{path.name}: {name}/{branch}"
                        counts["branches"] += 1
            assert not sapwood.verify(step).damaged, path
        counts["files"] += 1
    assert counts["files"] > 100 and counts["refused"] < counts["files"] / 4, counts
    print(counts)


def test_real_root_reads_objects_that_were_moved_as_bytes(tmp_path: Path) -> None:
    (tmp_path / "classes.C").write_text(CPP)
    for split in (0, 1, 99):
        with sapwood.recreate(tmp_path / f"{split}.root") as file:
            tree = file.mktree("t", {"event": Event}, split_level=split, auto_flush=11)
            tree.extend({"event": EVENTS})
        sapwood.rewrite(tmp_path / f"{split}.root", tmp_path / f"{split}.new.root", auto_flush=7, basket_bytes=500)
    lines = """
found = []
for split in (0, 1, 99):
    file = ROOT.TFile(f"{sys.argv[2]}/{split}.new.root")
    tree = file.Get("t")
    one = ROOT.Event()
    tree.SetBranchAddress("event", one)
    found.append([event(one) for entry in range(tree.GetEntries()) if tree.GetEntry(entry) > 0])
answer(found)
"""
    for rows in root(READ + BUILD + lines, tmp_path / "classes.C", tmp_path):
        for found, one in zip(rows, EVENTS, strict=True):
            assert found == plain(one)


def test_trees_of_root_are_reclustered(tmp_path: Path) -> None:
    path, target = tmp_path / "old.root", tmp_path / "new.root"
    lines = """
from array import array
file = ROOT.TFile(sys.argv[1], "RECREATE")
h = ROOT.TH1D("h", "", 10, 0, 1); h.Fill(0.5)
file.mkdir("deep").cd()
tree = ROOT.TTree("tree", "")
tree.SetAutoFlush(0)
n, x = array("i", [0]), array("f", 10 * [0])
v = ROOT.std.vector("double")()
obj = ROOT.TNamed("a", "b")
tree.Branch("n", n, "n/I", 500); tree.Branch("x", x, "x[n]/F", 500); tree.Branch("v", v, 500); tree.Branch("obj", obj, 500, 0)
for i in range(3000):
    n[0] = i % 7
    for k in range(n[0]): x[k] = i + k / 8
    v.clear()
    for k in range(i % 4): v.push_back(i)
    obj.SetTitle(f"title {i}")
    tree.Fill()
tree.Write()
file.cd()
h.Write()
file.Close()
"""
    root(lines, path)
    (made,) = sapwood.rewrite(path, target, compression="zstd:5", auto_flush=1000).values()
    before, after = made
    assert (before.entries, after.entries, after.clusters) == (3000, 3000, 3) and after.baskets < before.baskets / 3
    look = """
file = ROOT.TFile(sys.argv[1])
tree = file.Get("deep/tree")
rows = [[tree.GetEntry(i) > 0 and tree.n, list(tree.x)[: tree.n], list(tree.v), str(tree.obj.GetTitle())] for i in range(tree.GetEntries())]
clusters, iterator = [], tree.GetClusterIterator(0)
while (start := iterator()) < tree.GetEntries(): clusters.append(start)
answer([rows, clusters, file.Get("h").GetBinContent(6)])
"""
    rows, clusters, content = root(look, target)
    assert clusters == [0, 1000, 2000] and content == 1.0
    for i, row in enumerate(rows):
        assert row == [i % 7, [i + k / 8 for k in range(i % 7)], [float(i)] * (i % 4), f"title {i}"]
    assert sapwood.doctor(target).healthy or not sapwood.doctor(target).complaints
    seeks = [basket for branch in sapwood.open(target)["deep/tree"].layout()["branches"] for basket in branch.get("seeks", [])]
    assert seeks == sorted(seeks) or not seeks


def test_branches_and_entries_are_chosen(tmp_path: Path) -> None:
    path, target = tmp_path / "old.root", tmp_path / "new.root"
    x = np.arange(1000)
    with sapwood.recreate(path) as file:
        file["a/tree"] = {"x": x, "y": x * 0.5, "hits": ak.unflatten(np.arange((x % 3).sum()), x % 3), "name": [f"n{i}" for i in x]}
        file["other"] = {"x": x}
        file["note"] = "stays"
    with pytest.raises(KeyError, match="nothing"):
        sapwood.rewrite(path, target, trees=["nothing"])
    assert not target.exists() and sorted(p.name for p in tmp_path.iterdir()) == ["old.root"]
    made = sapwood.rewrite(path, target, trees=["a/tree"], keep=["hits", "name"], cut="x % 5 == 2")
    assert made["a/tree"][1].entries == 200 and made["other"][1].entries == 1000
    with sapwood.open(target) as file:
        tree = file["a/tree"]
        assert tree.keys() == ["nhits", "hits", "name"] and file["note"].member("fString") == "stays"
        assert tree["name"].array().tolist() == [f"n{i}" for i in x if i % 5 == 2]
        hits = ak.unflatten(np.arange((x % 3).sum()), x % 3)[x % 5 == 2]
        assert tree["hits"].array().tolist() == hits.tolist()
    rows = root("file = ROOT.TFile(sys.argv[1]); tree = file.Get('a/tree'); answer([tree.Draw('hits', '', 'goff'), tree.GetEntries()])", target)
    assert rows == [int((x % 3)[x % 5 == 2].sum()), 200]
    command = [sys.executable, "-m", "sapwood", "rewrite", str(path), str(target), "--drop", "h*", "--entries", "10:20"]
    assert subprocess.run(command, capture_output=True).returncode == 1, "the target is there"
    done = subprocess.run([*command, "--force", "--tree", "a/tree", "--compression", "zstd:3"], capture_output=True, text=True)
    assert done.returncode == 0 and "1000" in done.stdout, done.stderr
    with sapwood.open(target) as file:
        assert file["a/tree/x"].array().tolist() == list(range(10, 20)) and "hits" not in file["a/tree"]
