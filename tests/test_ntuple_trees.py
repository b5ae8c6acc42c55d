"""RNTuples that become trees, and trees that become RNTuples, read by uproot."""

from __future__ import annotations

import dataclasses
import os
import warnings
from pathlib import Path

import awkward as ak
import numpy as np
import pytest
import sapwood

from support.rootrun import root


def test_records_without_a_class_become_branches(tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    old, new = tmp_path / "ntuple.root", tmp_path / "tree.root"
    jets = ak.Array(
        [[{"pt": 1.5 * k, "hits": list(range(k)), "name": str(k)} for k in range(n % 3)] for n in range(9)]
    )
    data = {
        "jets": ak.values_astype(jets, "float32"),
        "met": ak.Array([{"x": n, "at": {"y": [n, n]}} for n in range(9)]),
        "nested": ak.Array([[[{"a": n}] * k for k in range(n % 3)] for n in range(9)]),
        "nnested": np.arange(9),
    }
    with sapwood.recreate(old, format="rntuple") as file:
        file["t"] = data
    sapwood.rewrite(old, new, to="ttree")
    for opened in (sapwood.open(new)["t"], uproot.open(new)["t"]):
        assert opened.keys() == [
            *("njets", "jets_pt", "jets_hits", "jets_name"),
            *("met_x", "met_at_y", "nested_a", "nnested"),
        ]
        arrays = opened.arrays(library="ak")
        assert arrays["njets"].to_list() == [n % 3 for n in range(9)]
        for name in ("pt", "hits", "name"):
            assert arrays[f"jets_{name}"].to_list() == data["jets"][name].to_list(), name
        assert arrays["met_at_y"].to_list() == data["met"]["at"]["y"].to_list()
        assert arrays["nested_a"].to_list() == data["nested"]["a"].to_list()
    assert uproot.open(new)["t/jets_pt"].typename == "float[]"
    sapwood.rewrite(old, new, to="ttree", cut="nnested > 5", drop="jets")
    some = sapwood.open(new)["t"]
    assert some["met_x"].array().to_list() == [6, 7, 8] and "jets_pt" not in some
    with sapwood.recreate(old, format="rntuple") as file:
        file["t"] = {"a": ak.Array([{"b_c": 1}]), "a_b": ak.Array([{"c": 1}])}
    with pytest.raises(sapwood.errors.UnsupportedError, match='two branches would have the name "a_b_c"'):
        sapwood.rewrite(old, new, to="ttree")


def test_trees_come_back_from_rntuples(tmp_path: Path) -> None:
    old, ntuple, back = (tmp_path / f"{name}.root" for name in ("old", "ntuple", "back"))
    data = {
        "whole": np.arange(40, dtype="u2"),
        "fixed": np.arange(240, dtype="f4").reshape(40, 2, 3),
        "text": ak.Array([f"{n}" * (n % 4) for n in range(40)]),
        "list": ak.values_astype(ak.Array([[n] * (n % 5) for n in range(40)]), "int16"),
        "lists": ak.Array([[[0.5 * n] * k for k in range(n % 3)] for n in range(40)]),
    }
    with sapwood.recreate(old) as file:
        file["t"] = data
    sapwood.rewrite(old, ntuple, to="rntuple")
    _, after = sapwood.rewrite(ntuple, back, to="ttree", compression="lz4:4")["t"]
    tree = sapwood.open(back)["t"]
    assert tree["nlist"].array().to_list() == [n % 5 for n in range(40)]
    assert after.entries == 40 and str(tree["whole"].compression) == str(sapwood.LZ4(4))
    for name, values in data.items():
        assert tree[name].array().to_list() == ak.Array(values).to_list(), name
        assert ak.type(tree[name].array()) == ak.type(sapwood.open(ntuple)["t"][name].array()), name


def test_counters_become_projected_fields(tmp_path: Path) -> None:
    old, new = tmp_path / "old.root", tmp_path / "new.root"
    jets = ak.zip({"pt": [[1.0, 2.0], [], [3.0]], "eta": [[0.1, 0.2], [], [0.3]]})
    with sapwood.recreate(old) as file:
        file["Events"] = {"Jet": jets, "Muon_pt": ak.Array([[], [5.0], []]), "MET": np.array([1.0, 2.0, 3.0])}
    sapwood.rewrite(old, new, to="rntuple")
    ntuple = sapwood.open(new)["Events"]
    assert ntuple.draw("MET>>h(3, 0, 4)", "nJet == 2").sum().value == 1
    lines = """
frame = ROOT.RDataFrame("Events", sys.argv[1])
sums = [frame.Sum(name).GetValue() for name in ("nJet", "nMuon_pt")]
answer([frame.GetColumnType("nJet"), *sums, frame.Filter("nJet == 2").Count().GetValue()])
"""
    assert root(lines, new) == ["std::uint32_t", 3, 1, 1]
    # Without a list that they count, and with the lists alone.
    sapwood.rewrite(old, new, to="rntuple", keep=["nJet", "MET"])
    assert sapwood.open(new)["Events"]["nJet"].array().to_list() == [2, 0, 1]
    sapwood.rewrite(old, new, to="rntuple", keep=["Jet_eta"])
    assert sapwood.open(new)["Events"].arrays().to_list() == [
        {"Jet_eta": eta, "nJet": len(eta)} for eta in jets.eta.to_list()
    ]


def test_projected_fields_take_no_values(tmp_path: Path) -> None:
    old, new = tmp_path / "old.root", tmp_path / "new.root"
    with sapwood.recreate(old) as file:
        file["t"] = {"x": ak.Array([[1.0, 2.0], [], [3.0]])}
    sapwood.rewrite(old, new, to="rntuple")
    with sapwood.update(new) as file, file.append("t") as ntuple:
        with pytest.raises(sapwood.errors.MismatchError, match='"nx" shows values of another field'):
            ntuple.extend({"x": [[4.0]], "nx": [1]})
        with pytest.raises(sapwood.errors.ExistsError, match='a field "nx" already'):
            ntuple.add_fields({"nx": "i4"})
        ntuple.add_fields({"late": "i4"})
        ntuple.extend({"x": [[4.0]], "late": [7]})
    assert sapwood.verify(new) == []
    assert sapwood.open(new)["t"].arrays(["nx", "late"]).to_list() == [
        {"nx": nx, "late": late} for nx, late in ((2, 0), (0, 0), (1, 0), (1, 7))
    ]
    lines = "answer([ROOT.RDataFrame('t', sys.argv[1]).Sum(name).GetValue() for name in ('nx', 'late')])"
    assert root(lines, new) == [4, 7]


CORPUS = Path(os.environ.get("SAPWOOD_CORPUS") or Path(__file__).resolve().parents[2] / "shared/corpus")


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus of real files is not here")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name, left_out, compared",
    [
        ("roottest__Event1", ["TRef"], 0),  # streamed by hand
        ("roottest__S_1_104_qgsjet_100_1.KGrec", ["TBits", "EventInfo"], 0),  # arrays with a length
        ("roottest__pluto_newpers", [], 41),  # TString members
        ("roottest__ship_ROOT_9674", [], 1),  # TNamed as a base
        ("unroot__issue116", [], 102),
        ("roottest__missingString", [], 92),  # bases without members
    ],
)
def test_classes_that_come_back_are_those_that_are_described(
    name: str, left_out: list[str], compared: int, tmp_path: Path
) -> None:
    """A tree has one layout for a version of a class: that of the file. What an RNTuple stores otherwise is
    stored as it was, or left out and said so."""
    ntuple, back = tmp_path / "ntuple.root", tmp_path / "back.root"
    original = next(iter(CORPUS.glob(f"**/{name}*.root")))
    sapwood.rewrite(original, ntuple, to="rntuple", unsupported="drop")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sapwood.rewrite(ntuple, back, to="ttree", unsupported="drop")
    said = "\n".join(str(warning.message) for warning in caught)
    for word in left_out:
        assert word in said
    same = 0
    with sapwood.open(original) as before, sapwood.open(ntuple) as ntuples, sapwood.open(back) as trees:
        for path in trees.keys(filter_classname="TTree", cycle=False):
            tree, old = trees[path], before[path]
            for branch in tree.branches:
                values, expected = branch.array(), ntuples[path][branch.name].array()
                assert len(values) == tree.num_entries
                if values.type == expected.type:
                    assert repr(values.to_list()) == repr(expected.to_list()), branch.name  # NaN, too
                    same += 1
            names = {key.rpartition("/")[2]: key for key in old.keys() if not old[key].branches}
            for key in tree.keys():
                values, was = tree[key].array(), names.get(key.rpartition("/")[2])
                if was is not None and not tree[key].branches:
                    assert repr(values.to_list()) == repr(old[was].array().to_list()), key
                    same += 1
    assert same >= compared


PAIRS = """
#include <array>
#include <vector>
#include <TFile.h>
#include <TTree.h>
struct Pairs { std::vector<std::array<int, 2>> all; int n; };
inline void fill(const char *path) {
  TFile file(path, "recreate");
  TTree tree("t", "t");
  Pairs one;
  tree.Branch("o", &one, 32000, 0);
  for (int i = 0; i < 4; ++i) {
    one.all.assign(i, {i, 2 * i});
    one.n = i;
    tree.Fill();
  }
  tree.Write();
}
#ifdef __ROOTCLING__
#pragma link C++ class Pairs+;
#pragma link C++ function fill;
#endif
"""


def test_arrays_in_collections_of_objects_stay_out_of_trees(tmp_path: Path) -> None:
    """ROOT reads zeros where they are members of a record of their own."""
    code, old, ntuple = (tmp_path / name for name in ("pairs.C", "old.root", "ntuple.root"))
    code.write_text(PAIRS)
    lines = """
build(sys.argv[1])
ROOT.fill(sys.argv[2])
answer("filled")
"""
    assert root(lines, code, old) == "filled"
    sapwood.rewrite(old, ntuple, to="rntuple")
    assert sapwood.open(ntuple)["t"].num_entries == 4
    with pytest.raises(sapwood.errors.UnsupportedError, match="array<int,2> as an object"):
        sapwood.rewrite(ntuple, tmp_path / "back.root", to="ttree")


def test_a_tree_joins_a_file_whose_classes_an_older_root_described(tmp_path: Path) -> None:
    """`TBranchElement` keeps its version where its base `TBranch` got a new one: one file then has both."""
    source = next(iter(CORPUS.glob("**/unroot__issue116*.root")), None) if CORPUS.exists() else None
    if source is None:
        pytest.skip("the corpus of real files is not here")
    path = tmp_path / "old.root"
    path.write_bytes(source.read_bytes())
    with sapwood.update(path) as file:
        file.mktree("new", {"v": "vector<float>"}).extend({"v": [[1, 2], [3]]})
    with sapwood.open(path) as file:
        described = file.file.streamers
        assert len(described["TBranch"]) == 2 and len(described["TBranchElement"]) == 1
        assert file["new/v"].array().to_list() == [[1, 2], [3]]
        (old,) = (key for key in file.keys(filter_classname="TTree") if not key.startswith("new"))
        assert len(file[old].arrays()) == file[old].num_entries
    lines = """
file = ROOT.TFile(sys.argv[1])
tree = file.Get("new")
answer([[tree.GetEntry(entry) > 0, list(tree.v)] for entry in range(2)])
"""
    assert root(lines, path) == [[True, [1, 2]], [True, [3]]]


@pytest.mark.parametrize("to", ["ttree", "rntuple"])
def test_entries_that_go_with_what_is_dropped_are_said(tmp_path: Path, to: str) -> None:
    source = tmp_path / "source.root"
    with sapwood.recreate(source) as file:
        if to == "ttree":
            file.mkrntuple("t", {"u": "union[int32, string]"}).extend({"u": [1, "a", 2]})
        else:
            file["t"] = {"x": [1, 2, 3]}
    target = tmp_path / "target.root"
    if to == "rntuple":  # what is there says how many entries there are
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sapwood.rewrite(source, target, to=to, unsupported="drop")
        assert sapwood.open(target)["t"].num_entries == 3
        return
    with pytest.warns(UserWarning, match="'t': .* so its 3 entries are gone, too"):
        sapwood.rewrite(source, target, to=to, unsupported="drop")
    assert sapwood.open(target)["t"].num_entries == 0


@dataclasses.dataclass
class Point:
    """What may be there."""

    x: float
    n: int


@dataclasses.dataclass
class WithPoint:
    """A pointer, which a split object has in a branch of its own."""

    a: float
    point: Point | None


@pytest.mark.parametrize("split_level", [0, 1, 99])
@pytest.mark.parametrize("present", ["all", "none", "some", "those of the first cluster"])
def test_pointers_of_split_objects_are_options(tmp_path: Path, present: str, split_level: int) -> None:
    rows = 40
    is_there = {
        "all": lambda row: True,
        "none": lambda row: False,
        "some": lambda row: row % 3 == 0,
        "those of the first cluster": lambda row: row < 10,
    }[present]
    objects = [WithPoint(row, Point(row / 2, row) if is_there(row) else None) for row in range(rows)]
    with sapwood.recreate(tmp_path / "tree.root") as file:
        tree = file.mktree("t", {"e": WithPoint}, split_level=split_level, auto_flush=10)
        tree.extend({"e": objects})
    sapwood.rewrite(tmp_path / "tree.root", tmp_path / "ntuple.root", to="rntuple")
    ntuple = sapwood.open(tmp_path / "ntuple.root")["t"]
    assert ntuple["e.point"].typename == "std::optional<Point>"
    found = [row["e"] for row in ntuple.arrays().to_list()]
    assert found == [dataclasses.asdict(one) for one in objects]


WITH_OBJECTS = """
ROOT.gInterpreter.Declare('''
void with_objects(const char *path) {
  TFile file(path, "recreate");
  TTree tree("t", "t");
  TVector3 at;
  TLorentzVector p;
  tree.Branch("at", &at, 32000, 0); // a TBranchObject
  tree.Branch("p", &p, 32000, 0);
  for (int i = 0; i < 5; i++) {
    at.SetXYZ(i, 2 * i, -i);
    p.SetPxPyPzE(i, 1, 2, 3 * i);
    tree.Fill();
  }
  tree.Write();
}
''')
ROOT.with_objects(sys.argv[1])
"""

#: Sub-fields one by one: of classes with streamers of their own ROOT makes no fields.
OF_OBJECTS = """
reader = ROOT.RNTupleReader.Open("t", sys.argv[1])
views = [reader.GetView["double"](name) for name in ("at.fX", "at.fY", "at.fZ", "p.fP.fX", "p.fE")]
answer([[view(entry) for entry in range(5)] for view in views])
del views
"""


def test_objects_of_a_tbranchobject_become_fields_of_their_class(tmp_path: Path) -> None:
    old, new = tmp_path / "old.root", tmp_path / "new.root"
    root(WITH_OBJECTS, old)
    sapwood.rewrite(old, new, to="rntuple")
    with sapwood.open(old) as before, sapwood.open(new) as after:
        assert before["t"].classname == "TTree" and after["t"]["at"].typename == "TVector3"
        arrays = after["t"].arrays()
        assert arrays.to_list() == before["t"].arrays().to_list()
        assert arrays["p"][4].to_list() == {"fP": {"fX": 4.0, "fY": 1.0, "fZ": 2.0}, "fE": 12.0}
    columns = [[i, 2 * i, -i, i, 3 * i] for i in range(5)]
    assert root(OF_OBJECTS, new) == [list(column) for column in zip(*columns)]
    assert sapwood.verify(new) == []
