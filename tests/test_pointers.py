"""Branches whose classes hold pointers, as real ROOT writes them: names of classes, widths of numbers, keys of maps,
and all libraries. Values are compared with ROOT's in ``test_oracle.py``."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sapwood

from support.rootrun import root


@pytest.fixture(scope="module")
def web() -> Iterator[Any]:
    pytest.importorskip("ROOT", reason="real ROOT is not installed")
    from test_oracle import ensure_cases

    with sapwood.open(ensure_cases() / "classes_split0_memberwise.root") as file:
        yield file["web;1"]["w."]


def test_class_names_widths_and_map_keys_that_are_objects(web: Any) -> None:
    array = web.array()
    assert array.layout.parameter("__record__") == "Web"
    node = array.fNode
    assert node.layout.purelist_parameter("__record__") == "Node"
    assert str(node.fWide.type).endswith("?uint64") and node.fWide[1] > 2**63
    assert str(node.fSmall.type).endswith("?uint16")
    assert "tuple[[Plain[i: int32, f: float32, d: float64], uint64]" in str(node.fByPlain.type)
    # A key that comes twice does so here, too.
    keys = [[key for key, _ in entry] for entry in node.fMulti.to_list() if entry]
    assert any(len(set(entry)) < len(entry) for entry in keys), "a multimap with a key twice"
    # Null among the values of a map, and in a list.
    assert any(value is None for entry in array.fHitOf.to_list() for _, value in entry)
    assert any(one is None for entry in array.fNodes.to_list() for one in entry)


def test_lists_of_objects_are_unrolled_and_what_points_back_is_named(web: Any) -> None:
    array = web.array(entry_stop=24)
    lengths = []
    for entry, node in enumerate(array.fNode.to_list()):
        length = 0
        while node is not None:
            node, length = node["fNext"], length + 1
        lengths.append(length)
        assert length == (entry % 6 + 1 if entry % 4 else 0)
    assert max(lengths) == 6
    for entry, relative in enumerate(array.fFamily.to_list()):
        assert (relative is None) == (entry % 2 == 0)
        if relative is not None:
            assert relative["fId"] == entry and relative["fParent"] is None and relative["fChildren"]
            assert {child["fParent"] for child in relative["fChildren"]} == {"<Relative>"}


def test_all_libraries_give_the_same_values(web: Any) -> None:
    plain = web.array().to_list()
    pa = pytest.importorskip("pyarrow")
    arrow = web.array(library="arrow")
    arrow.validate(full=True)
    kind = arrow.type.field("fNode").type
    assert kind.field("fWide").type == pa.uint64() and kind.field("fSmall").type == pa.uint16()
    assert arrow.type.field("fNode").nullable and not arrow.type.field("fHitOf").nullable
    numpy = web.array(library="np")
    series = web.array(library="pd")
    for entry in range(0, len(plain), 7):
        for other in (arrow[entry].as_py(), numpy[entry], series.iloc[entry]):
            other = other.to_list() if hasattr(other, "to_list") else other
            nodes = zip(plain[entry]["fNodes"], other["fNodes"])
            for node, ours in ((plain[entry]["fNode"], other["fNode"]), *nodes):
                assert (node is None) == (ours is None)
                if node is not None:
                    assert all(node[name] == ours[name] for name in ("fWide", "fSmall", "fHit"))
                    assert node["fWides"] == list(ours["fWides"])
    row = web.tree.rows()[5]["w."]
    assert row.fNode.fWide == plain[5]["fNode"]["fWide"]


def test_several_classes_behind_one_pointer_are_a_union(web: Any) -> None:
    ak = pytest.importorskip("awkward")
    branch = web.tree.file["pointers;1"]["p."]
    array = branch.array()
    names = {content.purelist_parameter("__record__") for content in array.fAny.layout.contents}
    assert names == {"TNamed", "Track", "TObjString"}
    assert ak.is_valid(array) and pickle.loads(pickle.dumps(array)).to_list() == array.to_list()
    # In a range with one class it is an option of that class, and joined ranges are one array.
    assert "union" not in str(branch.array(entry_start=1, entry_stop=2).fAny.type)
    some = branch.array(entries=[1, 30, 31, 3])
    assert some.to_list() == [array[entry].to_list() for entry in (1, 30, 31, 3)]
    arrow = branch.array(library="arrow")
    arrow.validate(full=True)
    assert [one.as_py()["fAny"] is None for one in arrow] == [one is None for one in array.fAny]


def test_old_object_branches_keep_the_class_name_and_widths(tmp_path: Path) -> None:
    path = tmp_path / "old.root"
    root(
        """
ROOT.gInterpreter.Declare('''
#include "TFile.h"
#include "TLorentzVector.h"
#include "TTree.h"
void write(const char *path)
{
   TFile file(path, "RECREATE");
   TTree tree("t", "old");
   auto vector = new TLorentzVector;
   tree.BranchOld("p4", "TLorentzVector", &vector, 32000, 0);
   for (int entry = 0; entry < 30; ++entry)
      vector->SetPxPyPzE(entry, entry + 0.25, -entry, 100 + entry), tree.Fill();
   tree.Write();
}
''')
ROOT.write(sys.argv[1])
""",
        path,
    )
    with sapwood.open(path) as file:
        branch = file["t"]["p4"]
        array = branch.array()
        assert branch.classname == "TBranchObject"
    vector = "TVector3[fX: float64, fY: float64, fZ: float64]"
    assert str(array.type) == f"30 * TLorentzVector[fP: {vector}, fE: float64]"
    assert array.fP.fY.to_list() == [entry + 0.25 for entry in range(30)]
    assert array.fE.to_list() == [100.0 + entry for entry in range(30)]


@pytest.mark.parametrize(
    ("expression", "cut"),
    [
        ("w.fNode.fSmall", "Entry$ % 4 != 0"),
        ("w.fNode.fNext.fSmall", "Entry$ % 4 != 0 && Entry$ % 6 != 0"),
        ("w.fNode.fHit.fE", "Entry$ % 4 && Entry$ % 3"),
        ("w.fFamily.fId", "Entry$ % 2 == 1"),
        ("w.fFamily.fChildren.fId", "Entry$ % 2 == 1"),
        ("Sum$(w.fFamily.fChildren.fId)", "Entry$ % 2 == 1"),
        ("w.fNode.fHit.fX + w.fNode.fHit.fY", "Entry$ % 4 && Entry$ % 3"),
    ],
)
def test_expressions_follow_pointers_as_those_of_root_do(expression: str, cut: str) -> None:
    from test_oracle import ensure_cases

    path = ensure_cases() / "classes_split0_memberwise.root"
    lines = """
ROOT.gErrorIgnoreLevel = ROOT.kError  # there is no dictionary
file = ROOT.TFile.Open(sys.argv[1])
tree = file.Get("web")
found = tree.Draw(sys.argv[2], sys.argv[3], "goff")
answer([tree.GetV1()[row] for row in range(found)])
"""
    wanted = root(lines, path, expression, cut)
    with sapwood.open(path) as file:
        found = file["web;1"].points(expression, cut)[0][0].tolist()
        assert found == wanted and len(found) > 10
        if "Sum$" not in expression:
            # Without the cut, what null pointers would lead to is left out, and not 0.
            assert len(file["web;1"].points(expression)[0][0]) == len(found)


def test_what_pointers_lead_to_is_absent_where_they_are_null(web: Any) -> None:
    tree = web.tree
    found = tree.arrays(["w.fNode.fSmall", "w.fNodes.fSmall", "@w.fNodes.size()"], entry_stop=40)
    objects = web.array(entry_stop=40).to_list()
    for row, entry in zip(found.to_list(), objects):
        assert row["w.fNode.fSmall"] == (entry["fNode"] and entry["fNode"]["fSmall"])
        assert row["w.fNodes.fSmall"] == [node and node["fSmall"] for node in entry["fNodes"]]
        assert row["@w.fNodes.size()"] == len(entry["fNodes"])
    with pytest.raises(sapwood.errors.ExpressionError, match='no member "fSmal".*fSmall'):
        tree.arrays(["w.fNode.fSmal"])
    with pytest.raises(sapwood.errors.NotFoundError) as caught:
        tree.arrays(["nothing"])
    assert str(caught.value).count("(file ") == 1


def test_pointers_in_columns_of_friends_are_followed(web: Any, tmp_path: Path) -> None:
    tree = web.tree
    names = ["w.fNode.fSmall", "w.fNodes.fSmall", "Sum$(w.fFamily.fChildren.fId)"]
    few = 5  # entries that the friend lacks
    with sapwood.recreate(tmp_path / "main.root") as file:
        file["t"] = {"x": [0] * (tree.num_entries + few)}
    with sapwood.open(tmp_path / "main.root") as file:
        main = file["t"]
        main.add_friend(tree, "f")
        found = main.arrays([f"f.{name}" if name[0] == "w" else name.replace("(w", "(f.w") for name in names])
        wanted = tree.arrays(names)
        for ours, theirs, lacking in zip(found.fields, names, (None, [], 0), strict=True):
            assert found[ours].to_list() == wanted[theirs].to_list() + [lacking] * few
            assert len(set(map(str, wanted[theirs].to_list()))) > 3
