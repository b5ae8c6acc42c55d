"""Whether files say the same to real ROOT as they do here: each branch of numbers is read entry by entry and in bulk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import sapwood

from support.rootrun import root

READ = """
def of_leaves(tree, names):
    found = {name: [] for name in names}
    for entry in range(tree.GetEntries()):
        tree.GetEntry(entry)
        for name in names:
            branch = tree.GetBranch(name)
            leaf = branch.GetListOfLeaves()[0]
            is_vector = str(branch.GetClassName()).startswith("vector")
            values = list(getattr(tree, name)) if is_vector else [leaf.GetValue(k) for k in range(leaf.GetLen())]
            found[name].append(values)
    return found
def of_frame(path, tree, names):
    columns = ROOT.RDataFrame(tree, path).AsNumpy(names) if tree.isidentifier() else {}
    plain = lambda value: [float(v) for v in value] if hasattr(value, "__len__") else [float(value)]
    return {name: [plain(value) for value in column] for name, column in columns.items()}
answers = []
for path, name, branches in json.loads(sys.argv[1]):
    file = ROOT.TFile.Open(path)
    tree = file.Get(name)
    lengths = {b.GetName(): b.GetEntryOffsetLen() > 0 for b in tree.GetListOfBranches()}
    leaves = of_leaves(tree, branches)
    file.Close()
    bulk = of_frame(path, name, [b for b in branches if b.replace("_", "a").isalnum()])
    answers.append([leaves, bulk, lengths])
answer(answers)
"""


def assert_true_for_root(files: dict[Path, dict[str, list[Any]]], tree: str = "t") -> list[dict[str, bool]]:
    """Compares what each file holds with these values, as read here, by ``GetEntry`` and by ``RDataFrame``.

    Values are numbers or lists of them. Returns for each file which branches declare offsets of entries.
    """

    def listed(value: Any) -> list[float]:
        return [float(v) for v in value] if isinstance(value, list) else [float(value)]

    asked = json.dumps([[str(path), tree, list(values)] for path, values in files.items()])
    declared = []
    for (path, values), (leaves, bulk, lengths) in zip(files.items(), root(READ, asked), strict=True):
        expected = {name: [listed(value) for value in column] for name, column in values.items()}
        own = sapwood.open(path)[tree]
        here = {name: [listed(value) for value in own[name].array().tolist()] for name in values}
        assert here == expected, f"{path.name}: read here"
        assert leaves == expected, f"{path.name}: read by GetEntry"
        assert bulk == {name: expected[name] for name in bulk}, f"{path.name}: read by RDataFrame"
        declared.append(lengths)
    return declared
