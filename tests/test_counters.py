"""Branches that count lists, of every type of whole numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.rootrun import root

sapwood = pytest.importorskip("sapwood")
uproot = pytest.importorskip("uproot")
ak = pytest.importorskip("awkward")

TYPES = {"i1": "B", "u1": "b", "i2": "S", "u2": "s", "i4": "I", "u4": "i", "i8": "L", "u8": "l"}
COUNTS = [e % 5 for e in range(200)] + [120]


def rows() -> dict[str, Any]:
    return {f"v{kind}": [[k + e / 4 for k in range(n)] for e, n in enumerate(COUNTS)] for kind in TYPES}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("counters") / "counters.root"
    types = {f"n{kind}": kind for kind in list(TYPES)[:4]}
    types |= {f"v{kind}": "var * float64" for kind in TYPES}
    types |= {f"n{kind}": kind for kind in list(TYPES)[4:]}  # behind the lists that they count
    with sapwood.recreate(path) as file:
        tree = file.mktree("t", types, counter_name=lambda name: "n" + name[1:], auto_flush=70)
        tree.extend(rows())
    return path


def test_real_root_uproot_and_sapwood_read_them(path: Path) -> None:
    lines = """
file = ROOT.TFile(sys.argv[1])
tree = file.Get("t")
found = {}
for branch in tree.GetListOfBranches():
    values = []
    for entry in range(tree.GetEntries()):
        assert tree.GetEntry(entry) > 0
        leaf = branch.GetLeaf(branch.GetName())
        values.append([leaf.GetValue(k) for k in range(leaf.GetLen())])
    found[branch.GetName()] = [values, branch.GetTitle(), branch.GetLeaf(branch.GetName()).GetMaximum()]
answer(found)
"""
    found = root(lines, path)
    for kind, letter in TYPES.items():
        assert found[f"v{kind}"][0] == rows()[f"v{kind}"]
        assert found[f"n{kind}"] == [[[n] for n in COUNTS], f"n{kind}/{letter}", 120]
    for reader in (uproot, sapwood):
        with reader.open(path) as file:
            for kind in TYPES:
                assert file[f"t/v{kind}"].array().tolist() == rows()[f"v{kind}"]
                counts = file[f"t/n{kind}"].array(library="np")
                assert counts.dtype == np.dtype(kind) and counts.tolist() == COUNTS


def test_entries_are_added(path: Path, tmp_path: Path) -> None:
    lines = """
import array
file = ROOT.TFile(sys.argv[1], "RECREATE")
tree = ROOT.TTree("t", "")
n, v = array.array("I", [0]), array.array("f", [0.0] * 10)
tree.Branch("nMuon", n, "nMuon/i")
tree.Branch("Muon_pt", v, "Muon_pt[nMuon]/F")
for entry in range(20):
    n[0] = entry % 3
    for k in range(n[0]): v[k] = entry + k
    tree.Fill()
tree.Write()
file.Close()
"""
    mine = tmp_path / "root.root"
    root(lines, mine)
    more = [[1.5] * 7, [], [2.5]]
    with sapwood.update(mine) as file, file.append("t") as tree:
        tree.extend({"Muon_pt": more})
    lines = """
file = ROOT.TFile(sys.argv[1])
answer([[int(row.nMuon), list(row.Muon_pt)] for row in file.Get("t")])
"""
    wanted = [[float(e + k) for k in range(e % 3)] for e in range(20)] + more
    assert root(lines, mine) == [[len(row), row] for row in wanted]
    assert (
        sapwood.open(mine)["t/Muon_pt"].array().tolist()
        == uproot.open(mine)["t/Muon_pt"].array().tolist()
        == wanted
    )


def test_what_cannot_count(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        tree = file.mktree("t", {"nx": "i1", "x": "var * float32"})
        with pytest.raises(ValueError, match=r"nx/B.* cannot count a list of \"x\".*127.*128"):
            tree.extend({"x": [[0.0] * 128]})
        tree.extend({"x": [[0.0] * 127]})
        with pytest.raises(ValueError, match="two branches"):
            file.mktree("u", {"nx": "f4", "x": "var * float32"})
        file["inferred"] = {"ny": np.array([1, 0]), "y": ak.Array([[1.5], []])}
    with sapwood.open(tmp_path / "a.root") as file:
        assert file["t/x"].array().tolist() == [[0.0] * 127]
        assert file["inferred/ny"].array(library="np").dtype == np.int32
