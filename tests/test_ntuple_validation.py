"""The public validation suite of RNTuple (``root-project/rntuple-validation``): real ROOT writes its files and says
what is in them, and every value is the same here.

``SAPWOOD_RNTUPLE_VALIDATION`` is a clone of it. Cases that need a dictionary of their own are left out: such
classes are in ``oracle/ntuples.C``.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
import sapwood

from support.rootrun import root

SUITE = Path(os.environ.get("SAPWOOD_RNTUPLE_VALIDATION", ""))
CASES = (
    sorted(path.parent for path in SUITE.rglob("write.C") if not (path.parent / "Makefile").exists())
    if "SAPWOOD_RNTUPLE_VALIDATION" in os.environ
    else []
)
RUN = """
folder, out = sys.argv[1:]
for step, files in (("write", [out + ".root"]), ("read", [out + ".root", out + ".json"])):
    ROOT.gROOT.LoadMacro(f"{folder}/{step}.C")
    getattr(ROOT, step)(*files)
"""


def same(ours: Any, theirs: Any, is_unordered: bool) -> bool:
    """Is a value the one that the suite prints? Numbers may be texts there, bits are digits, the highest first."""
    if isinstance(theirs, str) and isinstance(ours, (int, float)) and not isinstance(ours, bool):
        number = float.fromhex(theirs)
        return number == ours or math.isnan(number) and math.isnan(ours)
    if isinstance(theirs, str) and isinstance(ours, list):
        return "".join("1" if bit else "0" for bit in reversed(ours)) == theirs
    if isinstance(theirs, dict) and isinstance(ours, list):
        pairs: dict[str, list[Any]] = {}
        for key, value in ours:
            pairs.setdefault(str(key), []).append(value)
        # Of a multimap all values of a key.
        return pairs.keys() == theirs.keys() and all(
            same(values if isinstance(theirs[key], list) else values[0], theirs[key], True)
            for key, values in pairs.items()
        )
    if isinstance(ours, dict) and isinstance(theirs, list):
        return same(list(ours.values()), theirs, is_unordered)
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(
            same(ours[key], theirs[key], is_unordered) for key in ours
        )
    if isinstance(ours, (list, tuple)) and isinstance(theirs, list):
        if is_unordered:
            ours, theirs = sorted(ours, key=str), sorted(theirs, key=str)
        return len(ours) == len(theirs) and all(
            same(one, other, is_unordered) for one, other in zip(ours, theirs)
        )
    return bool(ours == theirs)


@pytest.mark.skipif(not CASES, reason="SAPWOOD_RNTUPLE_VALIDATION names no clone of the suite")
@pytest.mark.parametrize("case", CASES, ids=lambda case: ".".join(case.relative_to(SUITE).parts))
def test_values_are_those_of_the_suite(case: Path, tmp_path: Path) -> None:
    out = tmp_path / "case"
    root(RUN, case, out)
    path = out.with_suffix(".root")
    file = sapwood.open(path)
    if case.name == "feature_flag":
        with pytest.raises(sapwood.errors.UnsupportedError, match="feature 137"):
            file["ntpl"]
        return
    theirs = json.loads(out.with_suffix(".json").read_text())
    ntuple = file["ntpl"]
    if case.name == "attributes":
        said = ntuple.attributes("Attributes").arrays().to_list()
        assert [(row["_userData"]["attr"], row["_rangeStart"]) for row in said] == [
            (row["Value"], row["Range"][0]) for row in theirs
        ]
    elif isinstance(theirs, dict):
        assert {name: int(sum(ntuple[name].array(library="np"))) for name in theirs} == theirs
    else:
        ours = ntuple.arrays().to_list()
        assert len(ours) == len(theirs)
        for entry, row in enumerate(theirs):
            assert row.keys() == ours[entry].keys()
            for name, value in row.items():
                assert same(ours[entry][name], value, "unordered" in str(case)), (entry, name)
    assert not sapwood.verify(path).damaged
