"""Trees that other objects hold: in a TList, a TObjArray, a TMap, beside real ROOT."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import sapwood

from support.rootrun import root

WRITE = """
ROOT.gInterpreter.Declare('''
void write_trees(const char *path) {
  TFile file(path, "RECREATE");
  int i; float x;
  auto make = [&](const char *name, TDirectory *place, int n) {
    auto *tree = new TTree(name, "numbers");
    tree->SetDirectory(place);
    tree->Branch("i", &i); tree->Branch("x", &x);
    for (i = 0; i < n; ++i) { x = 0.5f * i; tree->Fill(); }
    return tree;
  };
  TList list; list.Add(make("t", nullptr, 5)); list.Add(new TNamed("n", "a name")); list.Add(make("t", nullptr, 3));
  file.cd(); list.Write("list", TObject::kSingleKey);
  TObjArray array; array.Add(make("stored", &file, 4));
  static_cast<TTree *>(array.At(0))->FlushBaskets();
  file.cd(); array.Write("array", TObject::kSingleKey);
  auto *tuple = new TNtuple("tuple", "", "a:b"); tuple->SetDirectory(nullptr); tuple->Fill(1, 2);
  TMap map; map.Add(new TObjString("first"), tuple);
  file.cd(); map.Write("map", TObject::kSingleKey);
  TList inner; inner.Add(make("deep", nullptr, 2)); TList outer; outer.Add(&inner);
  file.cd(); outer.Write("outer", TObject::kSingleKey);
}''')
ROOT.write_trees(sys.argv[1])
file = ROOT.TFile.Open(sys.argv[1])
answer([[entry.i for entry in file.Get("list").At(0)], [entry.x for entry in file.Get("list").At(2)]])
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[list[float]]]:
    path = tmp_path_factory.mktemp("lists") / "trees.root"
    return path, root(WRITE, path)


def test_a_tree_in_a_list_is_a_tree(written: tuple[Path, list[list[float]]]) -> None:
    path, (whole, halves) = written
    first, named, other = sapwood.open(path)["list"]
    assert isinstance(first, sapwood.Tree) and named.title == "a name"
    assert first["i"].array().to_list() == whole == [0, 1, 2, 3, 4]
    assert other.arrays(["x"], library="np")["x"].tolist() == halves == [0, 0.5, 1]
    assert (first.name, first.title, first.classname, first.num_entries) == ("t", "numbers", "TTree", 5)
    # Its baskets are in the file, which the tree that ROOT finds in the array does not know.
    assert sapwood.open(path)["array"]["stored"]["i"].array(library="np").tolist() == [0, 1, 2, 3]
    assert sapwood.open(path)["outer"][0][0].arrays().x.to_list() == [0, 0.5]
    tuple_ = sapwood.open(path)["map"]["first"]
    assert (tuple_.classname, tuple_.arrays(library="np")["b"].tolist()) == ("TNtuple", [2])


def test_a_tree_in_a_list_is_one_tree_and_knows_its_place(written: tuple[Path, list[list[float]]]) -> None:
    with sapwood.open(written[0]) as file:
        found = file["list"]
        first, other = found[0], found[2]
        assert found[0] is first and first.file is file
        assert first.object_path != other.object_path and first.cache_key != other.cache_key
        assert first.object_path.startswith("/list;1#") and first["i"].object_path == f"{first.object_path}:i"
        for tree in (first, other):
            again = pickle.loads(pickle.dumps(tree))
            assert again["i"].array().to_list() == tree["i"].array().to_list()
            assert again.object_path == tree.object_path
        plain = found.tolist()
        assert [plain[0]["fEntries"], plain[1]["fTitle"], plain[2]["fEntries"]] == [5, "a name", 3]
        assert pickle.loads(pickle.dumps(found))[0].member("fEntries") == 5
        assert first.points("i*2")[0][0].tolist() == [0, 2, 4, 6, 8]
    with pytest.raises(sapwood.errors.IOError, match="closed"):
        first["i"].array()
    del first, other, tree
    assert found[0].member("fEntries") == 5, "objects stay good without their file"


def test_a_list_with_trees_is_written_whole(written: tuple[Path, list[list[float]]], tmp_path: Path) -> None:
    with sapwood.open(written[0]) as file, sapwood.recreate(tmp_path / "copy.root") as out:
        out["list"] = file["list"]
    assert sapwood.open(tmp_path / "copy.root")["list"][2]["x"].array().to_list() == [0, 0.5, 1]
