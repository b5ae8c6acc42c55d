"""Indices of trees (`TTreeIndex`) that are merged: those of real ROOT's `hadd`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.rootrun import root
from test_merge import hadd

sapwood = pytest.importorskip("sapwood")

INDEXED = """
from array import array
which, *paths = sys.argv[1:]
for number, path in enumerate(paths):
    file = ROOT.TFile(path, "RECREATE")
    tree = ROOT.TTree("t", "")
    run, event = array("i", [0]), array("i", [0])
    tree.Branch("run", run, "run/I")
    tree.Branch("event", event, "event/I")
    for i in range(5):
        run[0], event[0] = (5 - i) // 2, 10 * (number + 1) + i
        tree.Fill()
    if which == "all" or (number == 0 and which != "last"):
        tree.BuildIndex("run", "event")
    elif which == "last" and number == 2:
        tree.BuildIndex("run", "event")
    elif which == "other":
        tree.BuildIndex("event")
    tree.SetAlias("twice", "2*run")
    if number > 1:
        tree.AddFriend("t", paths[0])
    tree.Write(); file.Close()
"""
LOOK = """
found = []
for path in sys.argv[1:]:
    file = ROOT.TFile(path)
    tree = file.Get("t")
    index = tree.GetTreeIndex()
    rows = [tree.GetEntryNumberWithIndex(run, event) for run in range(4) for event in range(8, 40)] if index else None
    found.append([rows, str(index.GetMinorName()) if index else None, str(tree.GetAlias("twice")), tree.GetEntries()])
answer(found)
"""


def test_an_index_grows_with_its_tree(tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.root" for name in ("first", "second", "third")]
    root(INDEXED, "all", *paths)
    target, theirs = tmp_path / "out.root", tmp_path / "hadd.root"
    assert sapwood.merge(target, paths).notices == []
    assert hadd(theirs, *paths).returncode == 0
    ours, rooted = root(LOOK, target, theirs)
    assert ours == rooted and ours[1:] == ["event", "2*run", 15]
    assert sorted(entry for entry in ours[0] if entry >= 0) == list(range(15))
    # Inputs without entries have no index, and take none away.
    empty = tmp_path / "empty.root"
    root('file = ROOT.TFile(sys.argv[1], "RECREATE"); import array\ntree = ROOT.TTree("t", "")\n'
         'run, event = array.array("i", [0]), array.array("i", [0])\ntree.Branch("run", run, "run/I")\n'
         'tree.Branch("event", event, "event/I"); tree.SetAlias("twice", "2*run"); '
         'tree.Write(); file.Close()', empty)  # fmt: skip
    assert sapwood.merge(target, [empty, *paths]).notices == []
    assert root(LOOK, target) == [ours]
    assert sapwood.merge(target, [paths[0], empty, *paths[1:]]).notices == []
    assert root(LOOK, target) == [ours]
    # A tree that is added to goes on with its index.
    shutil.copy(paths[0], tmp_path / "more.root")
    assert sapwood.merge(tmp_path / "more.root", paths[1:], append=True).notices == []
    assert root(LOOK, tmp_path / "more.root") == [ours]


@pytest.mark.parametrize("which", ["first", "other"])
def test_an_index_that_an_input_lacks_is_dropped(which: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.root" for name in ("first", "second", "third")]
    root(INDEXED, which, *paths)
    target = tmp_path / "out.root"
    assert sapwood.merge(target, paths[:1]).notices == []
    assert root(LOOK, target)[0][0] is not None
    (notice,) = sapwood.merge(target, paths).notices
    assert "index" in notice and "second.root" in notice
    assert root(LOOK, target) == [[None, None, "2*run", 15]]


def test_an_index_that_only_a_later_input_has_is_told_of(tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.root" for name in ("first", "second", "third")]
    root(INDEXED, "last", *paths)
    target = tmp_path / "out.root"
    notices = sapwood.merge(target, paths).notices
    assert len(notices) == 1 and "t has no index" in notices[0] and "third.root has one" in notices[0]
    # ROOT reads all entries, and makes one.
    assert root(LOOK, target)[0][0] is None
    assert sapwood.merge(tmp_path / "one.root", paths[2:]).notices == []
