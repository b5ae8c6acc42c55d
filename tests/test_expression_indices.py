"""Indices of expressions: each kind in each place, beside a reference in plain Python."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import awkward as ak
import numpy as np
import pytest
import sapwood

ENTRIES = 6


def columns() -> dict[str, list[Any]]:
    """Lists of one to three dimensions with a different number in each place, and what can be an index."""
    draw = random.Random(20)
    number = iter(range(10_000))

    def lists(depth: int) -> Any:
        if depth == 0:
            return next(number)
        return [lists(depth - 1) for _ in range(draw.randrange(4))]

    deep = {name: [lists(depth) for _ in range(ENTRIES)] for name, depth in (("v", 1), ("vv", 2), ("vvv", 3))}
    positions = [[draw.randrange(4) for _ in range(draw.randrange(4))] for _ in range(ENTRIES)]
    pairs = [[[draw.randrange(3) for _ in range(draw.randrange(3))] for _ in entry] for entry in positions]
    return {
        **deep,
        "a": np.arange(ENTRIES * 6).reshape(ENTRIES, 2, 3).tolist(),
        "i": [draw.randrange(3) for _ in range(ENTRIES)],
        "k": positions,
        "kk": pairs,
        **{f"len_{name}": [[len(part) for part in entry] for entry in deep[name]] for name in ("vv", "vvv")},
    }


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    path = tmp_path_factory.mktemp("indices") / "indices.root"
    with sapwood.recreate(path) as file:
        jagged = {name: values for name, values in columns().items() if name not in "ai"}
        arrays = {name: ak.values_astype(ak.Array(values), "i8") for name, values in jagged.items()}
        fixed = {name: np.array(columns()[name], "i8") for name in "ai"}
        file["t"] = {**arrays, **fixed}
    with sapwood.open(path) as file:
        yield file["t"]


class Lacking:
    """A number that is not there, because an index led beyond its list."""


def empty(depth: int) -> Any:
    return [] if depth else Lacking


def below(value: Any, level: int, change: Callable[[Any], Any]) -> Any:
    """The value with each list of a level changed."""
    if level == 0:
        return change(value)
    return [below(part, level - 1, change) for part in value]


def picked(value: Any, level: int, depth: int, by: Any) -> Any:
    """The item that ``by`` names of each list of a level: outer lists are matched from the outside in."""
    if isinstance(by, list):
        if level > 0:
            return [picked(part, level - 1, depth - 1, one) for part, one in zip(value, by, strict=False)]
        return [picked(value, 0, depth, one) for one in by]
    if level > 0:
        return [picked(part, level - 1, depth - 1, by) for part in value]
    return value[by] if 0 <= by < len(value) else empty(depth - 1)


def flat(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [number for part in value for number in flat(part)]
    return [] if value is Lacking else [value]


def masked(value: Any, level: int, passes: Callable[[Any], bool]) -> Any:
    return below(value, level, lambda part: [item for item in part if passes(item)])


def case(draw: random.Random) -> tuple[str, list[Any]]:
    """An expression of random indices and its values by entry."""
    name, depth = draw.choice([("v", 1), ("vv", 2), ("vvv", 3), ("a", 2)])
    values, text, level = columns()[name], name, 0
    is_untouched = True
    while level < depth and (is_untouched or draw.random() < 0.8):
        kinds = ["number", "column", "list", "lists", "all", "slice"]
        if is_untouched and level == 0 and name in ("vv", "vvv"):
            kinds.append("mask")
        if is_untouched and level == depth - 1:
            kinds.append("mask of numbers")
        kind = draw.choice(kinds)
        by: list[Any]
        if kind == "number":
            number = draw.randrange(3)
            text, by, grown = f"{text}[{number}]", [number] * ENTRIES, 0
        elif kind == "column":
            text, by, grown = f"{text}[i]", columns()["i"], 0
        elif kind in ("list", "lists"):
            index, grown = ("k", 1) if kind == "list" else ("kk", 2)
            text, by = f"{text}[{index}]", columns()[index]
        elif kind == "all":
            text, level = f"{text}[]", level + 1
            continue
        elif kind == "slice":
            if level > 0:
                text, level = f"{text}[]", level + 1
                continue
            text, is_untouched = f"{text}[:, 1:3]", False
            values, level = [below(value, level, lambda part: part[1:3]) for value in values], level + 1
            continue
        elif kind == "mask":
            text, is_untouched = f"{text}[len_{name} > 1]", False
            values, level = [masked(value, level, lambda part: len(part) > 1) for value in values], level + 1
            continue
        else:
            text, is_untouched = f"{text}[{name} % 2 == 0]", False
            values, level = [masked(value, level, lambda item: item % 2 == 0) for value in values], level + 1
            continue
        values = [picked(value, level, depth, one) for value, one in zip(values, by, strict=True)]
        # The lists of the index come first, and the picked level is used up.
        depth, level, is_untouched = depth - 1 + max(grown - level, 0), max(level, grown), False
    return text, values


def test_indices_of_all_kinds_in_all_places(tree: Any) -> None:
    draw = random.Random(3)
    cases = dict(case(draw) for _ in range(400))
    assert len(cases) > 150
    for text, values in cases.items():
        assert tree.points(text)[0][0].tolist() == flat(values), text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("vv[k][0]", lambda c: chosen(c, "vv", lambda part: part[:1])),
        ("a[1][k]", lambda c: [[c["a"][e][1][k] for k in c["k"][e] if k < 3] for e in range(6)]),
        ("vvv[:, k, 0, 1]", None),
        ("vvv[:, k, ..., 1]", None),
        # The index counts turns of the loop that is left: none, then that of the first dimension.
        ("a[Iteration$ % 2][1]", lambda c: [entry[0][1] for entry in c["a"]]),
        ("a[][Iteration$ % 2]", lambda c: [[entry[0][0], entry[1][1]] for entry in c["a"]]),
        ("a[Alt$(k[3], 1)][2]", lambda c: [entry[1][2] for entry in c["a"]]),
        ("a[][0] * a[Iteration$][1]", lambda c: [[part[0] * part[1] for part in entry] for entry in c["a"]]),
    ],
)
def test_an_index_uses_up_its_dimension(tree: Any, text: str, wanted: Any) -> None:
    if wanted is None:
        wanted = spelled[text]
    assert tree.points(text)[0][0].tolist() == flat(wanted(columns()))


def chosen(c: Any, name: str, inner: Callable[[Any], Any]) -> list[Any]:
    return [[inner(c[name][e][k]) for k in c["k"][e] if k < len(c[name][e])] for e in range(6)]


spelled = {
    "vvv[:, k, 0, 1]": lambda c: chosen(c, "vvv", lambda part: part[0][1:2] if part else []),
    "vvv[:, k, ..., 1]": lambda c: chosen(c, "vvv", lambda part: [row[1:2] for row in part]),
}
