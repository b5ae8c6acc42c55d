"""Small things that programs for uproot count on: texts of types, the same object twice, members of graphs."""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import numpy as np
import pytest
import ROOT
import sapwood
import uproot
from sapwood import objects
from sapwood.interpretation import interpret

WRITE = """
void write_likeness(const char* path) {
  TFile file(path, "recreate");
  TTree tree("t", "");
  std::vector<std::vector<float>> nested(1);
  std::vector<std::string> texts(1);
  std::map<std::string, int> counts;
  ROOT::Math::XYZVectorF whole;
  tree.Branch("nested", &nested);
  tree.Branch("texts", &texts);
  tree.Branch("counts", &counts, 32000, 0);
  tree.Branch("whole", &whole, 32000, 0);
  Double_t doubles[3] = {1, 1, 1};
  Float_t floats[3] = {1, 1, 1};
  tree.Branch("p0", doubles, "p0/d[-2.71,10,20]");
  tree.Branch("p0s", doubles, "p0s[3]/d[-2.71,10,20]");
  tree.Branch("p1", floats, "p1/f[0,8,5]");
  tree.Branch("p1s", floats, "p1s[3]/f[0,8,5]");
  tree.Branch("p2", doubles, "p2/d");
  tree.Fill();
  tree.Write();
  TProfile("plain", "", 2, 0, 2).Write();
  TH1F("h", "", 3, 0, 1).Write();
}
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tree and objects, by ROOT."""
    if not hasattr(ROOT, "write_likeness"):
        ROOT.gInterpreter.Declare(WRITE)
    place = str(tmp_path_factory.mktemp("likeness") / "a.root")
    ROOT.write_likeness(place)
    return place


def test_types_have_the_texts_that_uproot_has(path: str) -> None:
    with sapwood.open(path)["t"] as ours, uproot.open(path)["t"] as theirs:
        names = ["nested", "texts", "counts", "whole", "p0", "p1"]
        texts = {name: repr(ours[name].interpretation) for name in names}
        assert texts == {name: repr(theirs[name].interpretation) for name in names}
        # With the title that ROOT gives an array's leaf today, uproot finds no range.
        assert repr(ours["p1s"].interpretation) == "AsFloat16(0.0, 8.0, 5, to_dims=(3,))"
        assert texts["counts"] == "AsObjects(AsMap(True, AsString(True), dtype('>i4')))"
        assert texts["whole"].startswith(
            "AsStridedObjects(Model_ROOT_3a3a_Math_3a3a_DisplacementVector3D_3c_"
        )
        # What has no range is no whole number in the file.
        assert type(ours["p2"].interpretation) is sapwood.AsDtype


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("std::bitset<9>", "AsBitSet(True, dtype('bool'))"),
        ("std::vector<std::set<uint32_t>>", "AsVector(True, AsSet(False, dtype('>u4')))"),
        ("std::vector<float>[]", "AsArray(True, False, AsVector(False, dtype('>f4')), ())"),
        (
            "std::vector<a_b::C<int,double>*>",
            "AsVector(True, AsPointer(Model_a_5f_b_3a3a_C_3c_int_2c_double_3e_))",
        ),
        # uproot has no word for these.
        ("std::unordered_map<int32_t, float>", "std::unordered_map<int32_t, float>"),
        ("std::vector<std::list<float>>", "std::vector<std::list<float>>"),
        ("float[][3]", "float[][3]"),
    ],
)
def test_texts_of_types(name: str, text: str) -> None:
    bits = ("list", 0, "sequence", ("number", 1, "bool"))
    assert repr(interpret(name, ("list", 2, "sequence", bits))) == f"AsObjects({text})"
    if "bitset" in name:
        assert repr(interpret(name, bits)) == f"AsObjects({text})"


def test_the_same_object_is_the_same_model(path: str, tmp_path: Path) -> None:
    with sapwood.open(path)["t"] as tree:
        leaves = tree.member("fLeaves")
        assert tree["p0"].member("fLeaves")[0] is tree.member("fLeaves")["p0"] is leaves["p0"]
        assert next(iter(tree["p1"].member("fLeaves"))) is leaves["p1"] is not leaves["p0"]
        assert pickle.loads(pickle.dumps(leaves["p0"])) == leaves["p0"]
    with sapwood.open(path) as file:
        # Objects of two records have the same numbers, and are not the same.
        assert file["h"].member("fFunctions") is not file["plain"].member("fFunctions")
        axis = file["h"].member("fXaxis")
        assert axis.name == "xaxis"


def test_a_graph_of_a_frame_has_members(tmp_path: Path) -> None:
    made = sapwood.as_TGraph({"x": [1.0, 2.0, 3.0], "y": [10.0, 30.0, 20.0]}, title="points")
    assert (made.name, made.member("fMinimum"), made.member("fMaximum")) == ("Graph", 8.0, 32.0)
    flat = sapwood.as_TGraph({"x": [1.0, 2.0], "y": [5.0, 5.0]}, minY=np.float32(1))
    assert (flat.member("fMinimum"), flat.member("fMaximum")) == (1.0, -1111.0)
    assert sapwood.as_TGraph({"x": [], "y": []}).member("fMaximum") == -1111.0
    with sapwood.recreate(tmp_path / "g.root") as file:
        file["one"], file["both"] = made, objects.collection([made, flat])
    file = ROOT.TFile(str(tmp_path / "g.root"))
    one = file.Get("one")
    assert (one.GetName(), one.GetTitle(), one.GetMinimum(), list(one.GetY())) == (
        "one",
        "points;;",
        8,
        [10, 30, 20],
    )
    assert [graph.GetN() for graph in file.Get("both")] == [3, 2]
    file.Close()


def test_classes_are_shown_with_what_they_need(path: str) -> None:
    with sapwood.open(path) as ours, uproot.open(path) as theirs:
        for name in ("TNamed", "TAttAxis"):
            texts = io.StringIO(), io.StringIO()
            ours.file.show_streamers(name, stream=texts[0])
            theirs.file.show_streamers(name, stream=texts[1])
            assert texts[0].getvalue() == texts[1].getvalue()
        assert ours.file.streamer_dependencies("TNamed") == [("TString", 2), ("TObject", 1), ("TNamed", 1)]
        kinds = {
            element.name: element.classname
            for versions in ours.file.streamers.values()
            for info in versions.values()
            for element in info.elements
        }
        described = {
            element.name: element.classname
            for versions in theirs.file.streamers.values()
            for info in versions.values()
            for element in info.elements
        }
        assert kinds == {name: kind.removeprefix("Model_") for name, kind in described.items()}


def test_numbers_are_looked_at_as_another_type(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["t"] = {"x": np.array([1.5, -2.0, np.nan]), "v": [[1.5], [], [2.5, 3.5]]}
    with sapwood.open(tmp_path / "a.root")["t"] as tree, uproot.open(tmp_path / "a.root")["t"] as other:
        expected = other.arrays({"x": uproot.AsDtype(">i8")})["x"].to_list()
        assert tree.arrays({"x": sapwood.AsDtype(">i8")})["x"].to_list() == expected
        assert tree["x"].array(sapwood.AsDtype(">i8")).to_list() == expected
        assert tree.arrays({"x": ">i8"})["x"].to_list() == expected
        assert tree["x"].array(tree["x"].interpretation, library="np")[0] == 1.5
        with pytest.raises(TypeError, match="several numbers are a type for AsJagged only"):
            tree["x"].array(sapwood.AsDtype([("a", "i4"), ("b", "i4")]))
    assert repr(sapwood.AsDtype("i4")) == "AsDtype('>i4')"
    for wrong in ("S4", [("a", "S4")], ("f4", 3)):
        with pytest.raises(TypeError, match="a type of one number, such as '>i8', not as"):
            sapwood.AsDtype(wrong)
