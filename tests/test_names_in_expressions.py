"""Names, texts and functions of expressions that TTree::Draw knows, beside real ROOT."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sapwood

from support.rootrun import root

ROOT = pytest.importorskip("ROOT")
WORDS = ("lambda", "is", "in", "if", "or", "and", "not", "else")
#: Objects of classes that are split into branches, in a separate process: the answer is what ROOT draws.
SPLIT = r'''
ROOT.gInterpreter.Declare("""
#include <TFile.h>
#include <TTree.h>
struct NameBase { int fID = 0; virtual ~NameBase() {} };
struct NameSub { int fN = 0; float fM[2][2] = {{0}}; };
struct NameHit { float x = 0; };
struct NameEvent : public NameBase { NameSub fSub; NameSub fOther; std::vector<NameHit> fHits; double fA[3] = {0}; };
void fill(const char *path, const char *branch) {
    TFile file(path, "RECREATE");
    TTree tree("t", "t");
    NameEvent *event = new NameEvent;
    tree.Branch(branch, &event, 32000, 99);
    for (int n = 0; n < 3; ++n) {
        event->fID = n; event->fSub.fN = 10 * n; event->fOther.fN = 100 * n; event->fA[1] = -n;
        event->fSub.fM[1][0] = n;
        event->fHits.resize(n);
        for (int k = 0; k < n; ++k) event->fHits[k].x = 1000 * n + k;
        tree.Fill();
    }
    tree.Write();
}
""")
ROOT.fill(sys.argv[1], sys.argv[2])
file = ROOT.TFile.Open(sys.argv[1])
tree = file.Get("t")
found = {}
for words in sys.argv[3:]:
    count = tree.Draw(words, "", "goff")
    found[words] = [tree.GetV1()[n] for n in range(count)]
answer(found)
'''


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    path = str(tmp_path_factory.mktemp("names") / "names.root")
    file = ROOT.TFile(path, "RECREATE")
    tree = ROOT.TTree("t", "")
    x = array("d", [1.5])
    for name in (*WORDS, "P#0.index", "x"):
        tree.Branch(name, x, name.replace(".", "_") + "/D")
    text, texts = ROOT.std.string("tau"), ROOT.std.vector("string")(["a", "bcd"])
    numbers = ROOT.std.vector("float")([1.0, 2.0])
    tree.Branch("s", text)
    tree.Branch("vs", texts)
    tree.Branch("v", numbers)
    for value in (1.5, -4.0, 7.0, 3.14159):
        x[0] = value
        tree.Fill()
    tree.Write()
    file.Close()
    file = ROOT.TFile.Open(path)
    with sapwood.open(path) as ours:
        yield file.Get("t"), ours["t"]
    file.Close()


def drawn(tree: Any, words: str) -> list[float]:
    count = tree.Draw(words, "", "goff")
    return [tree.GetV1()[n] for n in range(count)]


@pytest.mark.parametrize(
    "words",
    [
        *(f"{name}*2" for name in WORDS),
        "P#0.index*2",
        "s.size()",
        "s.length()",
        "vs.size()",
        "@vs.size()",
        "@v.size()",
        "TVector2::Phi_mpi_pi(x)",
        "TVector2::Phi_0_2pi(x)",
        "ROOT::VecOps::DeltaPhi(x,1)",
        "ROOT::VecOps::DeltaPhi(1,x)",
        "ROOT::Math::VectorUtil::Phi_mpi_pi(x)",
        "ROOT::Math::VectorUtil::Phi_0_2pi(x)",
        "ROOT::VecOps::DeltaR(x,1.,2.,x)",
    ],
)
def test_as_in_root(trees: tuple[Any, Any], words: str) -> None:
    theirs, ours = trees
    wanted = drawn(theirs, words)
    assert len(wanted) >= 4
    assert ours.points(words)[0][0].tolist() == pytest.approx(wanted, rel=1e-14)


def test_the_length_of_texts_in_columns_and_cuts(trees: tuple[Any, Any]) -> None:
    ours = trees[1]
    assert ours.arrays(["vs.size()"])["vs.size()"].tolist() == [[1, 3]] * 4
    assert ours.arrays(["v.size()"])["v.size()"].tolist() == [2] * 4
    assert ours.points("x", "s.length() == 4")[0][0].tolist() == []


def test_words_of_python_are_explained(trees: tuple[Any, Any]) -> None:
    for words in ("x and v", "not x", "x if v else 1", "not (x)", "x in v"):
        with pytest.raises(sapwood.errors.ExpressionError, match="&&"):
            trees[1].points(words)


@pytest.mark.parametrize("branch", ["ev", "ev."])
def test_members_of_split_objects_have_the_names_of_root(tmp_path: Path, branch: str) -> None:
    path = tmp_path / "split.root"
    names = ["ev.fID", "ev.fSub.fN", "ev.fOther.fN", "ev.fHits.x", "ev.fSub.fM[1][0]", "ev.fA[1]"]
    wanted = root(SPLIT, path, branch, *names)
    with sapwood.open(path) as ours:
        for words in names:
            assert ours["t"].points(words)[0][0].tolist() == wanted[words], words
