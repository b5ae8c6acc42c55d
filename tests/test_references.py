"""References between objects, in files that are copied from several: each is followed by real ROOT to the object that it named."""

from __future__ import annotations

import struct
import warnings
from pathlib import Path

import pytest

from support.rootrun import root

sapwood = pytest.importorskip("sapwood")

WRITE = """
ROOT.gInterpreter.Declare(r'''
void fill(const char *name, const char *letter) {
    TFile file(name, "RECREATE");
    TTree tree("tree", "");
    TNamed *named = nullptr;
    TRef *ref = new TRef;
    tree.Branch("named", "TNamed", &named, 4000, 0);
    tree.Branch("ref", "TRef", &ref, 4000, 0);
    for (int i = 0; i < 10; i++) {
        named = new TNamed("named", TString::Format("%s%d", letter, i).Data());
        *ref = named;
        tree.Fill();
        if (i == 4) tree.FlushBaskets();
    }
    tree.Write();
    TNamed alone("alone", letter);
    TRef to_alone(&alone);
    TList pair;
    pair.Add(&to_alone);
    alone.Write();
    pair.Write("pair", TObject::kSingleKey);
}
''')
ROOT.fill(*sys.argv[1:])
"""

CLONE = """
folder, kept = ROOT.TFile(sys.argv[1], "RECREATE"), []
for letter, path in zip("ab", sys.argv[2:]):
    source = ROOT.TFile(path)
    folder.mkdir(letter).cd()
    tree = source.Get("tree").CloneTree(-1, "fast")
    tree.Write()
    source.Get("alone").Write()
    source.Get("pair").Write("pair", ROOT.TObject.kSingleKey)
    kept.append((source, tree))
folder.Close()
"""

READ = """
ROOT.gInterpreter.Declare(r'''
std::vector<std::string> follow(TFile &file, TString folder) {
    auto said = [](TObject *object, TProcessID *process) {
        return std::string(object ? object->GetTitle() : "nothing") + " of " + (process ? process->GetTitle() : "nobody");
    };
    std::vector<std::string> found;
    auto tree = file.Get<TTree>(folder + "/tree");
    TNamed *named = nullptr;
    TRef *ref = nullptr;
    tree->SetBranchAddress("named", &named);
    tree->SetBranchAddress("ref", &ref);
    for (int i = 0; i < tree->GetEntries(); i++) {
        tree->GetEntry(i);
        found.push_back(said(ref->GetObject(), ref->GetPID()));
    }
    auto alone = file.Get<TNamed>(folder + "/alone");
    auto to_alone = static_cast<TRef *>(file.Get<TList>(folder + "/pair")->First());
    found.push_back(alone ? said(to_alone->GetObject(), to_alone->GetPID()) : "");
    return found;
}
''')
file = ROOT.TFile(sys.argv[1])
found = {folder: [str(text) for text in ROOT.follow(file, folder)] for folder in sys.argv[2:]}
answer([found, sorted(key.GetName() for key in file.GetListOfKeys() if key.GetClassName() == "TProcessID")])
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files of two processes, whose objects have the same numbers."""
    folder = tmp_path_factory.mktemp("references")
    paths = {letter: folder / f"{letter}.root" for letter in "ab"}
    for letter, path in paths.items():
        root(WRITE, path, letter)
    return paths


def process(path: Path) -> str:
    with sapwood.open(path) as file:
        return str(file["ProcessID0"].member("fTitle"))


def copied(files: dict[str, Path], path: Path) -> Path:
    with sapwood.recreate(path) as both:
        for letter, source in files.items():
            for name in ("tree", "alone", "pair"):
                both.copy(source, name, f"{letter}/{name}")
        both.copy(files["a"], "ProcessID0")  # is there already
    assert sapwood.verify(path) == []
    return path


def offsets(path: Path) -> list[int]:
    """ProcessID offsets in the keys of baskets, in the order of the file."""
    data, found, at = path.read_bytes(), [], 0
    while (at := data.find(b"\x07TBasket", at + 1)) > 0:
        version, high = struct.unpack(">h20xH", data[at - 30 : at - 6])
        found.append(high if version > 1000 else 0)
    return found


@pytest.fixture(scope="module")
def cloned(
    files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, list[str]], list[int]]:
    """Where references lead in a file into which real ROOT cloned both trees, and the offsets of its baskets."""
    path = tmp_path_factory.mktemp("cloned") / "both.root"
    root(CLONE, path, *files.values())
    return root(READ, path, "a", "b")[0], offsets(path)


def test_copies_from_several_files_keep_their_references_apart(
    files: dict[str, Path], cloned: tuple[dict[str, list[str]], list[int]], tmp_path: Path
) -> None:
    path = copied(files, tmp_path / "both.root")
    found, processes = root(READ, path, "a", "b")
    # ROOT 6.40 minds the offsets of objects, and forgets those of baskets, its own as well.
    assert found == cloned[0]
    assert (
        offsets(path) == [0] * 4 + [1] * 4
        and [bool(offset) for offset in cloned[1]] == [False] * 4 + [True] * 4
    )
    assert processes == ["ProcessID0", "ProcessID1"]
    for letter, source in files.items():
        assert found[letter][-1] == f"{letter} of {process(source)}"
    assert found["a"][:10] == [f"a{i} of {process(files['a'])}" for i in range(10)]

    # A copy of copies, where other processes stand first.
    again = tmp_path / "again.root"
    with sapwood.recreate(again) as file:
        file.copy(files["b"], "alone", "first/alone")
        for folder in "ab":
            file.copy(path, folder, folder)
    found, processes = root(READ, again, "a", "b")
    assert processes == ["ProcessID0", "ProcessID1", "ProcessID2"] and offsets(again) == [1] * 4 + [2] * 4
    for letter, source in files.items():
        assert found[letter][-1] == f"{letter} of {process(source)}"


@pytest.mark.parametrize("baskets", ["new", "keep"])
def test_rewritten_trees_keep_their_references(
    files: dict[str, Path], cloned: tuple[dict[str, list[str]], list[int]], tmp_path: Path, baskets: str
) -> None:
    path = tmp_path / "rewritten.root"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        sapwood.rewrite(copied(files, tmp_path / "both.root"), path, baskets=baskets)
    # Merged baskets cannot become one: they are kept, and that is said.
    assert ["several places" in str(word.message) for word in said] == [True] * (baskets == "new")
    assert root(READ, path, "a", "b") == [cloned[0], ["ProcessID0", "ProcessID1"]]
    assert offsets(path)[-4:] == [1] * 4 and set(offsets(path)[:-4]) == {0}
