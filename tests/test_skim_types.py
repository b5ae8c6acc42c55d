"""Branches that a skim takes as they are keep the types with which they are stored: ROOT wrote them."""

import array

import numpy as np
import pytest
import sapwood

ROOT = pytest.importorskip("ROOT")


def test_a_skim_keeps_every_kind_of_branch(tmp_path):
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

    def layout(place):
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
