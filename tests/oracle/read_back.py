"""What real ROOT reads from files that others wrote: python read_back.py FILE... prints one JSON document.

For each tree of a file: entries, where its clusters begin, and for each branch the values of every entry.
Merging and appending leave files beside the first one: `merged.root`, `appended.root`.
"""

from __future__ import annotations

import json
import shutil
import sys
from array import array
from pathlib import Path
from typing import Any

import ROOT

ROOT.gROOT.SetBatch(True)
ROOT.gInterpreter.Declare(
    "std::string leaf_text(TLeaf *leaf) { return static_cast<const char *>(leaf->GetValuePointer()); }"
)


def plain(value: Any) -> Any:
    """Numbers, texts and nested lists of them."""
    if isinstance(value, (str, int, float, bool)):
        return value
    if type(value).__name__ in ("string", "std::string"):
        return str(value)
    if hasattr(value, "shape") and value.shape:
        return [plain(value[i]) for i in range(value.shape[0])]
    return [plain(v) for v in value] if hasattr(value, "__len__") else float(value)


def leaf_values(leaf: Any) -> Any:
    """The leaf's values of the current entry, in a flat list; of a string the text."""
    if leaf.ClassName() == "TLeafC":
        return str(ROOT.leaf_text(leaf))
    if leaf.ClassName() == "TLeafElement":
        return plain(getattr(leaf.GetBranch().GetTree(), leaf.GetName()))
    whole = leaf.ClassName() in ("TLeafL", "TLeafI", "TLeafS", "TLeafB", "TLeafO")
    get = (
        (lambda i: int(leaf.GetTypedValue["ULong64_t" if leaf.IsUnsigned() else "Long64_t"](i)))
        if whole
        else leaf.GetValue
    )
    return [get(i) for i in range(leaf.GetLen())]


def tree_values(tree: Any) -> dict[str, Any]:
    leaves = [(leaf.GetName(), leaf) for leaf in tree.GetListOfLeaves()]
    rows: dict[str, list[Any]] = {name: [] for name, _ in leaves}
    for entry in range(tree.GetEntries()):
        if tree.GetEntry(entry) <= 0:
            sys.exit(f"{tree.GetName()}: entry {entry} cannot be read")
        for name, leaf in leaves:
            rows[name].append(leaf_values(leaf))
    clusters, iterator = [], tree.GetClusterIterator(0)
    while (start := iterator()) < tree.GetEntries():
        clusters.append(start)
    return {"entries": tree.GetEntries(), "clusters": clusters, "values": rows}


def walk(folder: Any, path: str, out: dict[str, Any]) -> None:
    for key in folder.GetListOfKeys():
        name, thing = path + key.GetName(), key.ReadObj()
        if thing.InheritsFrom("TDirectory"):
            walk(thing, name + "/", out)
        elif thing.InheritsFrom("TTree"):
            out[name] = tree_values(thing)
        else:
            out[name] = {"class": thing.ClassName(), "text": str(thing.GetName())}


def merge(path: Path) -> None:
    """The file twice, merged without inflating anything."""
    merger = ROOT.TFileMerger(False)
    merger.OutputFile(str(path.parent / "merged.root"), "RECREATE", 505)
    for _ in range(2):
        merger.AddFile(str(path))
    if not merger.Merge():
        sys.exit("ROOT cannot merge")


def append(path: Path, name: str) -> None:
    """One more entry, by ROOT, to the tree of a copy."""
    copy = path.parent / "appended.root"
    shutil.copy(path, copy)
    file = ROOT.TFile(str(copy), "UPDATE")
    tree = file.Get(name)
    tree.GetEntry(0)
    x = array("i", [-1])
    tree.SetBranchAddress("i32", x)
    tree.Fill()
    tree.GetDirectory().WriteTObject(tree, "tree", "Overwrite")
    file.Close()


def main() -> None:
    out = {}
    for argument in sys.argv[1:]:
        file = ROOT.TFile.Open(argument)
        out[argument] = {}
        walk(file, "", out[argument])
        file.Close()
    first = Path(sys.argv[1])
    merge(first)
    append(first, "folder/tree")
    sys.stdout.write("\n" + json.dumps(out) + "\n")


if __name__ == "__main__":
    main()
