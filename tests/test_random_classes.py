"""Classes, trees and values at random, written by real ROOT: each branch, whole and split, must hold what ROOT reads.

SAPWOOD_SEEDS=200 pytest tests/test_random_classes.py
python tests/test_random_classes.py FOLDER            # what is wrong in files of
tests/oracle/random_classes.py
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "oracle")]

import random_classes
import sapwood

SEEDS = range(1, 1 + int(os.environ.get("SAPWOOD_SEEDS", "4")))


class Absent(Exception):
    """A value that ROOT's dump does not have."""


def part(value: Any, names: list[str]) -> Any:
    """A member of a value, of all items where the value is a list. What is no member is a base, whose members the object
    has itself."""
    if not names:
        return value
    if isinstance(value, list):
        return [part(one, names) for one in value]
    if not isinstance(value, dict):
        raise Absent(".".join(names))
    if names[0] in value:
        return part(value[names[0]], names[1:])
    return part(value, names[1:])


def differs(ours: Any, expected: Any, path: str = "") -> str:
    """Where the values first differ; nothing where they do not. A base is part of what is expected."""
    if isinstance(ours, np.ndarray):
        ours = ours.tolist()
    if isinstance(ours, np.generic):
        ours = ours.item()
    if isinstance(expected, dict) and isinstance(ours, tuple):
        ours = dict(zip(("first", "second"), ours))
    if isinstance(expected, dict) and isinstance(ours, dict):
        for name, value in ours.items():
            if name not in expected:
                return f"{path}.{name} is not expected"
            wrong = differs(value, expected[name], f"{path}.{name}")
            if wrong:
                return wrong
        return ""
    if isinstance(expected, list) and isinstance(ours, list):
        if len(ours) != len(expected):
            return f"{path} has {len(ours)} items, ROOT has {len(expected)}"
        pairs = enumerate(zip(ours, expected))
        return next((wrong for at, pair in pairs if (wrong := differs(*pair, f"{path}[{at}]"))), "")
    if isinstance(ours, float) and isinstance(expected, (int, float)) and not isinstance(expected, bool):
        same = ours == expected or math.isnan(ours) and math.isnan(expected)
    else:
        same = type(ours) is type(expected) and ours == expected
    return "" if same else f"{path} is {ours!r}, ROOT has {expected!r}"[:300]


def whole(ours: Any, expected: Any) -> str:
    """As :func:`differs`, and no member of an object is missing."""
    if isinstance(expected, dict) and isinstance(ours, dict) and set(expected) - set(ours):
        return f"{sorted(set(expected) - set(ours))} missing in {sorted(ours)}"
    return differs(ours, expected)


def names_of(branch: Any, top: Any) -> list[str]:
    name = re.sub(r"\[[^\]]*\]", "", branch.name)
    prefix = top.name.rstrip(".") + "."
    name = name.removeprefix(prefix) if name.startswith(prefix) else name
    return [one for one in name.split(".") if one and one != top.name]


def leaves(branch: Any) -> Iterator[Any]:
    if not branch.branches:
        yield branch
    for below in branch.branches:
        yield from leaves(below)


def of_leaf(branch: Any, top: Any, expected: list[Any]) -> str:
    names = names_of(branch, top)
    if names and names[-1] in ("fUniqueID", "fBits", "TObject"):
        return ""
    try:
        values = [part(value, names) for value in expected]
    except Absent:
        # the counts of a collection
        return "" if branch.name.endswith("_") else f"{branch.name} is no member"
    for library in ("ak", "np"):
        array = branch.array(library=library)
        ours = array.to_list() if library == "ak" else list(array)
        wrong = differs(ours, values)
        if wrong:
            return f"{library}: {wrong}"
    half = len(expected) // 2
    wrong = differs(branch.array(library="ak", entry_start=half).to_list(), values[half:])
    return f"from entry {half}: {wrong}" if wrong else ""


def members(expected: Any) -> set[str]:
    """Members of the first object of a value, or of a list of such."""
    while isinstance(expected, list):
        expected = next((one for one in expected if one), None)
    return set(expected) if isinstance(expected, dict) else set()


def parts_of(form: Any) -> set[str]:
    """Names in the paths of all fields of the array of a split branch: a member that is split is there by its parts."""
    names = (
        {name for field in form.fields for name in re.sub(r"\[[^\]]*\]", "", field).split(".")}
        if form.is_record
        else set()
    )
    inner = (
        form.contents
        if form.is_record or form.is_union
        else [form.content]
        if hasattr(form, "content")
        else []
    )
    return names.union(*map(parts_of, inner))


def check(path: Path) -> Iterator[str]:
    """What is wrong in a file."""
    told = json.loads(path.with_suffix(".json").read_text())
    with sapwood.open(path) as file:
        for name, branches in told.items():
            tree = file[name]
            for top_name, expected in branches.items():
                top = tree[top_name]
                for leaf in leaves(top):
                    try:
                        wrong = of_leaf(leaf, top, expected)
                    except Exception as error:
                        wrong = f"{type(error).__name__}: {error}"
                    if wrong:
                        yield f"{path.name} {name}/{top_name}: {leaf.name} ({leaf.typename}): {wrong}"
                try:
                    array = top.array(library="ak")
                except Exception as error:
                    yield f"{path.name} {name}/{top_name}: {type(error).__name__}: {error}"
                    continue
                if not top.branches:
                    entries = (whole(ours, value) for ours, value in zip(array.to_list(), expected))
                    wrong = next(filter(None, entries), "")
                    if wrong:
                        yield f"{path.name} {name}/{top_name} as a whole: {wrong}"
                elif missing := {below.name for below in top.branches} - set(array.fields):
                    yield f"{path.name} {name}/{top_name}: {sorted(missing)} missing in {array.fields}"
                elif missing := members(expected) - parts_of(array.layout.form):
                    yield f"{path.name} {name}/{top_name}: no part of {sorted(missing)} in {array.fields}"


@pytest.mark.skipif(importlib.util.find_spec("ROOT") is None, reason="real ROOT is not installed")
@pytest.mark.parametrize("seed", SEEDS)
def test_random_classes(seed: int, tmp_path: Path) -> None:
    random_classes.generate(tmp_path, seed)
    wrong = list(check(tmp_path / f"random_{seed}.root"))
    assert not wrong, "\n".join([f"{len(wrong)} branches differ", *wrong[:20]])


if __name__ == "__main__":
    for one in sorted(Path(sys.argv[1]).glob("random_*.root")):
        if one.with_suffix(".json").exists():
            for line in check(one):
                print(line)
