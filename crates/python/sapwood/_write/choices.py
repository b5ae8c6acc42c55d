"""Which of several types a value of Python is: the members of unions (``std::variant``), in their declared order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sapwood._read import layout

Kind = tuple[Any, ...]

_NOT, _CONVERTED, _LIKE, _EXACT = range(4)


def tags_of(members: Sequence[Kind], values: Sequence[Any]) -> np.ndarray[Any, Any]:
    """For each value the place of the type that suits it best, the first of equals: numbers of its own sort come
    before those that it could be converted to. -1 for ``None``, :data:`NO_TYPE` where it is of none of them.

    >>> members = [("number", 0, "int8"), ("number", 1, "float64"), ("text", 2, 3)]
    >>> tags_of(members, [1, 2.5, "a", None, 1000, [1]]).tolist()
    [0, 1, 2, -1, 1, -2]
    """
    tags = np.full(len(values), NO_TYPE, "int8")
    types = np.fromiter((id(type(value)) for value in values), "int64", len(values))
    for kind in set(map(type, values)):
        rows = np.flatnonzero(types == id(kind))
        is_float = kind is float and any(of[0] == "number" and of[2] == "float64" for of in members)
        if is_float or kind in (str, bytes, bool, type(None)):  # which depend on the type alone
            tags[rows] = _tag_of(members, values[rows[0]])
            continue
        if kind is int:
            rows = _tag_whole(members, values, rows, tags)
        for row in rows.tolist():
            tags[row] = _tag_of(members, values[row])
    return tags


NO_TYPE = -2


def _tag_whole(
    members: Sequence[Kind], values: Sequence[Any], rows: np.ndarray[Any, Any], tags: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """Tags whole numbers that some type has, and gives the rows of the others."""
    try:
        numbers = np.array([values[row] for row in rows.tolist()], "int64")
    except OverflowError:
        return rows
    is_open = np.ones(len(rows), bool)
    for tag, kind in enumerate(members):
        if kind[0] == "number" and kind[2] in _WHOLE:
            least, most = _WHOLE[kind[2]]
            fits = is_open & (numbers >= least) & (numbers <= min(most, 2**63 - 1))
            tags[rows[fits]] = tag
            is_open &= ~fits
    return rows[is_open]


def _tag_of(members: Sequence[Kind], value: Any) -> int:
    if value is None:
        return -1
    grades = [_grade(kind, value) for kind in members]
    best = max(grades, default=_NOT)
    return NO_TYPE if best == _NOT else grades.index(best)


def _grade(kind: Kind, value: Any) -> int:
    """How well a value is of a type."""
    sort = kind[0]
    if sort == "number":
        return _grade_number(kind[2], value)
    if sort == "oneof":
        return _EXACT if value is None else max((_grade(of, value) for of in kind[2]), default=_NOT)
    if sort == "text":
        return _EXACT if isinstance(value, (str, bytes)) else _NOT
    if sort == "record":
        return _grade_record(kind, value)
    if sort in ("list", "fixed") and isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        if sort == "fixed" and len(value) != kind[1]:
            return _NOT
        # A tuple is rather one of C++, if there is one.
        best = _LIKE if isinstance(value, tuple) else _EXACT
        return min((_grade(kind[-1], item) for item in value), default=best) and best
    return _NOT


def _grade_number(wanted: str, value: Any) -> int:
    is_bool = isinstance(value, (bool, np.bool_))
    if is_bool or wanted == "bool":
        return _EXACT if is_bool and wanted == "bool" else _NOT
    if isinstance(value, np.generic) and value.dtype == wanted:
        return _EXACT
    if isinstance(value, (int, np.integer)):
        if wanted in _WHOLE:
            least, most = _WHOLE[wanted]
            return _LIKE if least <= value <= most else _NOT
        return _CONVERTED if _is_kept(wanted, int(value)) else _NOT
    if not isinstance(value, (float, np.floating)):
        return _NOT
    if wanted == "float64":
        return _EXACT
    if wanted == "float32":
        return _NOT if _MOST_FLOAT <= abs(float(value)) < math.inf else _LIKE
    return _CONVERTED if float(value).is_integer() and _grade_number(wanted, int(value)) else _NOT


def _is_kept(wanted: str, value: int) -> bool:
    """Whether a float has a whole number as it is."""
    try:
        return int(float(value) if wanted == "float64" else np.float32(float(value))) == value
    except OverflowError:
        return False


_WHOLE = {
    name: (int(np.iinfo(name).min), int(np.iinfo(name).max))
    for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
}
_MOST_FLOAT = 2.0**128 - 2.0**103
"""What is larger is rounded to infinity in 32 bits."""


def _grade_record(kind: Kind, value: Any) -> int:
    members = layout.members(kind)
    if isinstance(value, dict) and list(value) and set(value) == {name for name, _ in members}:
        items = [(of, value[name]) for name, of in members]
    elif isinstance(value, tuple) and len(value) == len(members) and kind[1] in ("pair", "tuple"):
        items = [(of, item) for (_, of), item in zip(members, value)]
    else:
        return _NOT
    return min((_grade(of, item) for of, item in items), default=_EXACT)
