"""Split objects of trees become one field each, as ROOT's importer makes them."""

from __future__ import annotations

from pathlib import Path

import pytest
import sapwood

from support.rootrun import compiled, root

MACRO = Path(__file__).resolve().parent / "oracle" / "split_objects.C"
WRITE = """
ROOT.gSystem.Load(sys.argv[1])
ROOT.splits.write(sys.argv[2], 9)
ROOT.splits.import_tree(sys.argv[2], sys.argv[3])
"""
READ = """
ROOT.gSystem.Load(sys.argv[1])
for path in sys.argv[2:]:
    ROOT.splits.dump(path, path + ".txt")
objects = [("dotted_", 0), ("plain", 1), ("shallow_", 0), ("whole", 0)]
answer([ROOT.splits.is_event(sys.argv[3], name, at, at + more) for name, more in objects for at in range(9)])
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("splits"), MACRO.stem, MACRO.read_text())


def test_split_objects_become_what_roots_importer_makes_of_them(library: Path, tmp_path: Path) -> None:
    tree, theirs, ours = (tmp_path / f"{name}.root" for name in ("tree", "theirs", "ours"))
    root(WRITE, library, tree, theirs)
    with pytest.warns(UserWarning, match='branch "(dotted|shallow)." is now field') as notes:
        sapwood.rewrite(tree, ours, to="rntuple")
    assert len(notes) == 2, [str(note.message) for note in notes]
    # Real ROOT reads objects of the class.
    assert root(READ, library, theirs, ours) == [True] * 36
    expected, got = (Path(f"{path}.txt").read_text() for path in (theirs, ours))
    assert got == expected and expected.count("splits::Hit") > 5 and expected.count('"run"') == 72
    # ROOT's importer refuses a `TClonesArray`.
    array = sapwood.open(ours)["clones"]["array"]
    assert array.typename == "std::vector<splits::Track>"
    assert [[one["pt"] for one in row] for row in array.array().to_list()] == [
        [entry + k for k in range(entry % 3)] for entry in range(9)
    ]
    assert sapwood.open(ours)["clones"]["array.p.x"].array().to_list() == [[0.0] * (n % 3) for n in range(9)]


def test_some_entries_of_split_objects(library: Path, tmp_path: Path) -> None:
    tree, theirs, ours = (tmp_path / f"{name}.root" for name in ("tree", "theirs", "ours"))
    root(WRITE, library, tree, theirs)
    sapwood.rewrite(tree, ours, to="rntuple", trees=["t"], cut="plain.weight > 2", keep=["plain", "hits"])
    before, after = sapwood.open(theirs)["t"], sapwood.open(ours)["t"]
    assert after.keys(recursive=False) == ["plain", "hits"] and after.num_entries == 5
    for name in ("plain", "hits"):
        assert after[name].array().to_list() == before[name].array().to_list()[4:], name
