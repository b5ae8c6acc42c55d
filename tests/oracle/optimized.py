"""Writes trees with real ROOT, and prints as JSON the basket sizes that `TTree::OptimizeBaskets` gives them; and a file with gaps.

python optimized.py FOLDER
"""

from __future__ import annotations

import array
import json
import sys
from pathlib import Path
from typing import Any

import ROOT

#: Memory and least compression that ROOT is asked for.
SETTINGS = [(10_000_000, 1.1), (30_000_000, 1.0), (100_000, 1.1), (2_000, 5.0), (3_000_000_000, 1.1)]


def numbers(branches: int, basket: int, flush: int | None, entries: int) -> Any:
    """A flat tree, with lists and a string."""

    def fill() -> Any:
        tree = ROOT.TTree("tree", "")
        plain = [array.array("d" if k % 2 else "f", [0]) for k in range(branches)]
        for k, buffer in enumerate(plain):
            tree.Branch(f"x{k}", buffer, f"x{k}/{'D' if k % 2 else 'F'}", basket)
        count, items, text = array.array("i", [0]), array.array("f", [0] * 50), array.array("b", [0] * 20)
        record = array.array("i", [0] * 3)
        tree.Branch("n", count, "n/I", basket)
        tree.Branch("items", items, "items[n]/F", basket)
        tree.Branch("text", text, "text/C", basket)
        tree.Branch("record", record, "a/I:b/I:c/I", basket)
        if flush is not None:
            tree.SetAutoFlush(flush)
        for entry in range(entries):
            for k, buffer in enumerate(plain):
                buffer[0] = entry * (k + 1) % 1013
            count[0] = entry * 7 % 50
            for k in range(count[0]):
                items[k] = entry + k / 8
            for k, letter in enumerate(b"entry" + str(entry).encode()):
                text[k] = letter
            record[0] = record[1] = record[2] = entry
            tree.Fill()
        return tree

    return fill


CLASSES = """
struct Inner { float x = 0; double y[3] = {0, 0, 0}; };
struct Event { int run = 0; double energy = 0; Inner inner; std::vector<float> values; TString name; };
TTree *objects(int split) {
   auto tree = new TTree("tree", "");
   auto event = new Event;
   auto named = new TClonesArray("TNamed", 20);
   auto words = new std::vector<std::string>;
   tree->Branch("event", &event, 16000, split);
   tree->Branch("dotted.", &event, 8000, split);
   tree->Branch("named", &named, 4000, split);
   tree->Branch("words", &words);
   tree->SetAutoFlush(400);
   for (int entry = 0; entry < 2000; ++entry) {
      event->run = entry;
      event->values.assign(entry % 9, entry);
      event->name = TString::Format("event %d", entry);
      named->Clear();
      words->clear();
      for (int k = 0; k < entry % 5; ++k) {
         new ((*named)[k]) TNamed("name", "title");
         words->push_back(std::string(k, 'w'));
      }
      tree->Fill();
   }
   tree->ResetBranchAddresses();
   return tree;
}
"""


def objects(split: int) -> Any:
    """Objects, whole or split into their members."""

    def fill() -> Any:
        if not hasattr(ROOT, "Inner"):
            ROOT.gInterpreter.Declare(CLASSES)
        return ROOT.objects(split)

    return fill


def empty() -> Any:
    """A tree without entries."""
    tree = ROOT.TTree("tree", "")
    tree.Branch("x", array.array("f", [0]), "x/F")
    return tree


CASES = {
    "flat": numbers(20, 32_000, None, 20_000),
    "small_baskets": numbers(5, 700, 500, 5_000),
    "without_clusters": numbers(8, 4_000, 0, 20_000),
    "wide": numbers(300, 32_000, 100, 1_000),
    "large_baskets": numbers(3, 5_000_000, 1_000, 3_000),
    "split": objects(99),
    "unsplit": objects(0),
    "empty": empty,
}


def with_gaps(path: str) -> None:
    """Objects and cycles that were deleted and written over."""
    file = ROOT.TFile(path, "RECREATE")
    for name, bins in (("a", 900), ("b", 50), ("c", 700)):
        ROOT.TH1D(name, "", bins, 0, 1).Write()
    tree = ROOT.TTree("tree", "")
    x = array.array("f", [0])
    tree.Branch("x", x, "x/F", 1_000)
    for entry in range(3_000):
        x[0] = entry
        tree.Fill()
        if entry % 500 == 0:
            tree.AutoSave()
    file.Delete("a;1")
    file.Delete("c;1")
    ROOT.TH1D("d", "", 5, 0, 1).Write()
    file.Write()
    file.Close()


def leaves_of(branches: Any, into: dict[str, int], path: str = "") -> None:
    for branch in branches:
        name = path + str(branch.GetName())
        into[name] = int(branch.GetBasketSize())
        leaves_of(branch.GetListOfBranches(), into, name + "/")


def main() -> None:
    folder = Path(sys.argv[1])
    found = {}
    for case, make in CASES.items():
        path = str(folder / f"{case}.root")
        file = ROOT.TFile(path, "RECREATE")
        make()
        file.Write()
        file.Close()
        for memory, packed in SETTINGS:
            file = ROOT.TFile(path)
            tree = file.Get("tree")
            tree.OptimizeBaskets(memory, packed, "")
            sizes: dict[str, int] = {}
            leaves_of(tree.GetListOfBranches(), sizes)
            found[f"{case} {memory} {packed}"] = sizes
            file.Close()
    with_gaps(str(folder / "gaps.root"))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
