"""Branches that a skim takes as they are keep the types with which they are stored: ROOT wrote them."""

from __future__ import annotations

import array
import os
from pathlib import Path

import numpy as np
import pytest
import sapwood

from support.rootrun import root

ROOT = pytest.importorskip("ROOT")


def test_a_skim_keeps_every_kind_of_branch(tmp_path: Path) -> None:
    path, out = str(tmp_path / "in.root"), str(tmp_path / "out.root")
    file = ROOT.TFile(path, "RECREATE")
    tree = ROOT.TTree("t", "the title")
    text, vector, nested = (
        ROOT.std.string("abc"),
        ROOT.std.vector["float"](),
        ROOT.std.vector["vector<int>"](),
    )
    vector.push_back(2.5)
    n = array.array("h", [2])
    double, single = array.array("d", [1.5] * 3), array.array("f", [1.5])
    small, truth, square = array.array("b", [7]), np.array([True]), np.array([[1, 2], [3, 4]], "i4")
    leaves, letters = np.array([5, 6], "i4"), bytearray(b"hey\0")
    tree.Branch("s", text)
    tree.Branch("vector", vector)
    tree.Branch("nested", nested)
    for name, values, leaf in (
        ("d", double, "d/d[0,10,8]"),
        ("h", single, "h/f[0,10,8]"),
        ("h2", single, "h2/f"),
        ("n", n, "n/S"),
        ("v", double, "v[n]/d[0,10]"),
        ("w", double, "w[n]/D"),
        ("a", double, "a[3]/d[0,10,12]"),
        ("b", small, "b/B"),
        ("o", truth, "o/O"),
        ("m", square, "m[2][2]/I"),
        ("xy", leaves, "x/I:y/I"),
        ("c", letters, "c/C"),
    ):
        tree.Branch(name, values, leaf)
    tree.Fill()
    tree.Write()
    file.Close()

    def layout(place: str) -> object:
        opened = ROOT.TFile.Open(place)
        found = {
            str(branch.GetName()): (
                str(branch.ClassName()),
                str(branch.GetClassName()),
                str(branch.GetTitle()),
                [(str(leaf.ClassName()), str(leaf.GetTitle())) for leaf in branch.GetListOfLeaves()],
            )
            for branch in opened.Get("t").GetListOfBranches()
        }
        title = str(opened.Get("t").GetTitle())
        opened.Close()
        return found, title

    assert sapwood.skim([f"{path}:t", f"{path}:t"], out, filter_name="*") == 2
    assert layout(out) == layout(path)
    assert sapwood.open(out)["t"].arrays().tolist() == sapwood.open(path)["t"].arrays().tolist() * 2


PACKED = """
ROOT.gInterpreter.Declare('''
struct SapwoodPacked {
   Double32_t q; //[0,100,16]
   Float16_t t; //[0,1,12] of a pulse
   Double32_t p;
   Double32_t a[3]; //[-2*pi,2*pi,20]
   void set(int i) {
      q = 3.3 * i, t = i / 9., p = i / 7.;
      for (int k = 0; k < 3; k++) a[k] = i - k;
   }
};
''')
file = ROOT.TFile(sys.argv[1], "RECREATE")
tree, value = ROOT.TTree("t", "t"), ROOT.SapwoodPacked()
tree.Branch("one.", "SapwoodPacked", value)
for i in range(7):
    value.set(i)
    tree.Fill()
tree.Write()
"""

LEAVES = """
file = ROOT.TFile(sys.argv[1])
tree = file.Get("t")
answer([[leaf.ClassName(), str(leaf.GetTitle())] for leaf in tree.GetListOfLeaves()])
"""


def test_packed_members_of_objects_stay_packed(tmp_path: Path) -> None:
    source, out = tmp_path / "in.root", tmp_path / "out.root"
    root(PACKED, source)
    assert sapwood.skim(f"{source}:t", out, cut="Entry$ != 2") == 6
    before, after = sapwood.open(source)["t"], sapwood.open(out)["t"]
    for name in ("one.q", "one.t", "one.p", "one.a[3]"):
        read = after[name.removesuffix("[3]")].array(library="np").tolist()
        assert read == np.delete(before[name].array(library="np"), 2, axis=0).tolist()
    assert root(LEAVES, out) == [
        ["TLeafD32", "one.q/d[0,100,16]"],
        ["TLeafF16", "one.t/f[0,1,12]"],
        ["TLeafD32", "one.p"],
        ["TLeafD32", "one.a[3]/d[-2*pi,2*pi,20]"],
    ]


TITLES = """
file = ROOT.TFile(sys.argv[1])
answer([[str(branch.GetName()), str(branch.GetTitle())] for branch in file.Get("Events").GetListOfBranches()])
"""


def test_titles_stay(tmp_path: Path) -> None:
    types = {"x": "f4", "m": "i4", "Muon_pt": "var * float32", "v": "vector<float>"}
    titles = {"x": "a length, in cm", "nMuon": "muons / event", "Muon_pt": "pt", "v": "v:[0]"}
    with sapwood.recreate(tmp_path / "in.root") as file:
        tree = file.mktree("Events", types, counter_name=lambda _: "nMuon", branch_titles=titles)
        tree.extend({"x": [1, 2], "m": [3, 4], "Muon_pt": [[5, 6], [7]], "v": [[], [8]]})
        with pytest.raises(sapwood.errors.MismatchError, match="branch 'y' takes a title; nearest: 'x'"):
            file.mktree("other", types, branch_titles={"y": "no branch"})
    source, out = f"{tmp_path / 'in.root'}:Events", tmp_path / "out.root"
    wanted = {**titles, "m": "m/I"}
    assert {branch.name: branch.title for branch in sapwood.open(source).branches} == wanted
    sapwood.skim(source, out, cut="x > 0")
    assert dict(root(TITLES, out)) == wanted
    # Branches keep their titles under other names.
    sapwood.skim(source, out, {"y": "x", "twice": "x * 2", "Muon_pt": "Muon_pt"})
    wanted = {"y": titles["x"], "twice": "twice/F", "Muon_pt": "pt", "nMuon": titles["nMuon"]}
    assert dict(root(TITLES, out)) == wanted
    assert sapwood.open(out)["Events/y"].array().tolist() == [1, 2]


OF_ALL_KINDS = """
from array import array
file = ROOT.TFile(sys.argv[1], "RECREATE")
tree = ROOT.TTree("t", "")
kept = [
    ("s", ROOT.std.string("hi")), ("v", ROOT.std.vector("float")([1, 2])), ("m", ROOT.std.map("int,float")()),
    ("p", ROOT.std.pair("int,float")(1, 2)), ("lorentz", ROOT.TLorentzVector(1, 2, 3, 4), 32000, 0),
    ("k", array("d", [1]), "k/D"), ("leaves", array("d", [1, 2]), "a/D:b/D"), ("wide", array("f", [1, 2]), "wide[2]/F"),
]
for one in kept:
    tree.Branch(*one).SetTitle({"k": "k/GeV"}.get(one[0], "title of " + one[0]))
tree.Fill()
tree.Write()
file.Close()
answer(None)
"""


def test_branches_with_titles_of_all_kinds_are_skimmed(tmp_path: Path) -> None:
    """Objects and records have titles, too, which their branches in a skim do not take."""
    root(OF_ALL_KINDS, source := tmp_path / "source.root")
    names = ["s", "v", "m", "p", "lorentz", "k", "leaves", "wide"]
    for columns in (None, *([name] for name in names)):
        assert sapwood.skim(f"{source}:t", out := tmp_path / "out.root", columns) == 1
        with sapwood.open(out) as file:
            titles = {branch.name: branch.title for branch in file["t"].branches}
        kept = {"v": "title of v", "k": "k/GeV", "leaves": "title of leaves", "wide": "title of wide"}
        assert {name: title for name, title in titles.items() if name in kept} == {
            name: title for name, title in kept.items() if columns is None or name in columns
        }


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_an_output_that_is_no_plain_file_stays(tmp_path: Path) -> None:
    with sapwood.recreate(source := tmp_path / "source.root") as file:
        file["t"] = {"x": [1, 2]}
    os.mkfifo(pipe := tmp_path / "pipe")
    (folder := tmp_path / "folder").mkdir()
    for target in (pipe, folder):
        before = target.stat().st_mode
        with pytest.raises(sapwood.errors.IOError, match="not a plain file"):
            sapwood.skim(f"{source}:t", target)
        with pytest.raises(sapwood.errors.IOError, match="no plain file"):
            sapwood.rewrite(source, target)
        assert target.stat().st_mode == before
    with pytest.raises(sapwood.errors.IOError, match="not a plain file"):
        sapwood.convert(f"{source}:t", pipe, format="csv", overwrite=True)
    assert pipe.is_fifo()
