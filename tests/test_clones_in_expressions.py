"""Expressions over a TClonesArray that is not split, beside real ROOT."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sapwood

from support.rootrun import root

EXPRESSIONS = [
    "a.fE", "a.fP.fX", "a[0].fE", "a[1].fP.fX", "@a.size()", "a.fE * 2 + n", "Sum$(a.fE)", "Length$(a.fE)",
    "a.fE - a.fP.fY", "late.fE", "@late.size()", "Max$(late.fP.fX)",
]  # fmt: skip
WRITE = """
ROOT.gInterpreter.Declare('''void write_clones(const char *path) {
  TFile file(path, "RECREATE"); TTree tree("t", "t");
  auto *a = new TClonesArray("TLorentzVector"), *late = new TClonesArray("TLorentzVector"),
       *empty = new TClonesArray("TLorentzVector");
  int n;
  tree.Branch("a", &a, 32000, 0); tree.Branch("late", &late, 32000, 0); tree.Branch("empty", &empty, 32000, 0);
  tree.Branch("n", &n);
  for (n = 0; n < 60; ++n) {
    a->Clear(); late->Clear();
    for (int k = 0; k < n % 4; ++k) new ((*a)[k]) TLorentzVector(n, k, 0, 10 * n + k);
    for (int k = 0; n > 40 && k < n % 3; ++k) new ((*late)[k]) TLorentzVector(n, k, 0, n + k);
    tree.Fill();
  }
  tree.Write();
}''')
ROOT.write_clones(sys.argv[1])
file = ROOT.TFile.Open(sys.argv[1])
tree = file.Get("t")
def drawn(text, cut=""):
    count = tree.Draw(text, cut, "goff")
    return [tree.GetV1()[k] for k in range(max(count, 0))]
answer([drawn(text) for text in sys.argv[2:]] + [drawn("a.fE", "a.fP.fY > 0")])
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[list[float]]]:
    path = tmp_path_factory.mktemp("clones") / "clones.root"
    return path, root(WRITE, path, *EXPRESSIONS)


def values(tree: Any, text: str, cut: str = "") -> list[float]:
    return list(tree.points(text, cut=cut)[0][0].tolist())


def test_members_of_objects_in_a_whole_clones_array(written: tuple[Path, list[list[float]]]) -> None:
    path, drawn = written
    tree = sapwood.open(path)["t"]
    assert {text: values(tree, text) for text in EXPRESSIONS} == dict(
        zip(EXPRESSIONS, drawn[:-1], strict=True)
    )
    assert values(tree, "a.fE", "a.fP.fY > 0") == drawn[-1] and len(drawn[-1]) > 10
    lists = tree.arrays(["a.fE"], entries=[3, 42])["a.fE"].to_list()
    assert lists == [[30, 31, 32], [420, 421]]


def test_they_are_found_in_a_friend(written: tuple[Path, list[list[float]]], tmp_path: Path) -> None:
    path, drawn = written
    with sapwood.recreate(tmp_path / "main.root") as file:
        file["main"] = {"i": list(range(60))}
    tree = sapwood.open(tmp_path / "main.root")["main"]
    tree.add_friend(sapwood.open(path)["t"], "f")
    assert values(tree, "f.late.fE") == drawn[EXPRESSIONS.index("late.fE")]


def test_wrong_members_are_refused(written: tuple[Path, list[list[float]]]) -> None:
    tree = sapwood.open(written[0])["t"]
    with pytest.raises(sapwood.errors.ExpressionError, match="no member"):
        values(tree, "a.fEE")
    with pytest.raises(sapwood.errors.ExpressionError):
        values(tree, "empty.fE")
