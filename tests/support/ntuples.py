"""RNTuples that real ROOT writes in several ways, each with the values that ROOT reads back."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from support.rootrun import compiled, root

MACRO = Path(__file__).resolve().parents[1] / "oracle" / "ntuples.C"
WRITE = """
ROOT.gSystem.Load(sys.argv[1])
for how in sys.argv[3:]:
    path = f"{sys.argv[2]}/{how}.root"
    ROOT.ntuples.write_all(path, *map(int, how.split("-")))
    reader = ROOT.RNTupleReader.Open("all", path)
    names = [field.GetFieldName() for field in reader.GetDescriptor().GetTopLevelFields()]
    ROOT.ntuples.dump_all(path, "all", path + ".json", ROOT.std.vector["std::string"](names))
"""
DUMP = """
ROOT.gSystem.Load(sys.argv[1])
paths, names = sys.argv[2].split(), sys.argv[3:]
for path in paths:
    reader = ROOT.RNTupleReader.Open("all", path)
    wanted = names or [field.GetFieldName() for field in reader.GetDescriptor().GetTopLevelFields()]
    ROOT.ntuples.dump_all(path, "all", path + ".json", ROOT.std.vector["std::string"](wanted))
"""
DUMP_TREE = """
ROOT.gSystem.Load(sys.argv[1])
ROOT.ntuples.dump_tree(sys.argv[2], "all", sys.argv[2] + ".json")
"""
UNORDERED = {"unordered_set", "unordered_multiset", "unordered_map", "unordered_multimap"}


def normal(value: Any) -> Any:
    """A value as the JSON of the dumps has it."""
    if isinstance(value, dict):
        if list(value) == ["first", "second"]:
            return [normal(one) for one in value.values()]
        return {name: normal(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [normal(one) for one in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if isinstance(value, bool):
        return int(value)
    return value


def rows_of(array: Any, name: str) -> list[Any]:
    rows: list[Any] = normal(array.to_list())
    return [sorted(row, key=repr) for row in rows] if name in UNORDERED else rows


@pytest.fixture(scope="session")
def ntuple_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The macro, compiled by ROOT."""
    return compiled(tmp_path_factory.mktemp("macro"), MACRO.stem, MACRO.read_text())


HOWS = {
    "one cluster": (505, 300, 0, 0),
    "raw": (0, 100, 30, 0),
    "small pages": (404, 300, 70, 1),
    "no checksums": (101, 300, 70, 2),
    "unbuffered": (505, 100, 30, 4),
    "small keys": (0, 300, 0, 8),
    "late fields": (207, 200, 30, 16),
    "cluster groups": (0, 200, 30, 16 + 32 + 1),
}
"""Compression, entries, entries a cluster, flags of the macro."""


@pytest.fixture(scope="session")
def ntuples_made(tmp_path_factory: pytest.TempPathFactory, ntuple_library: Path) -> Any:
    """Files that ROOT wrote, and the values that it reads from them, by name."""
    folder = tmp_path_factory.mktemp("ntuples")
    words = {name: "-".join(map(str, how)) for name, how in HOWS.items()}
    root(WRITE, ntuple_library, folder, *words.values())

    def find(name: str) -> tuple[Path, dict[str, Any]]:
        path = folder / f"{words[name]}.root"
        values = json.loads(Path(f"{path}.json").read_text())
        for field in UNORDERED & set(values):
            values[field] = [sorted(row, key=repr) for row in values[field]]
        return path, values

    return find
