"""Which of several types a value of Python is: the members of unions (``std::variant``), in their declared order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sapwood._read import layout

Kind = tuple[Any, ...]

_NOT, _CONVERTED, _LIKE, _EXACT = range(4)


def tag_of(members: Sequence[Kind], value: Any) -> int | None:
    """The place of the type that suits a value best, the first of equals: numbers of its own sort come before
    those that it could be converted to. -1 for ``None``; ``None`` where it is of no type.

    >>> members = [("number", 0, "int8"), ("number", 1, "float64"), ("text", 2, 3)]
    >>> [tag_of(members, value) for value in (1, 2.5, "a", None, 1000, [1])]
    [0, 1, 2, -1, 1, None]
    """
    if value is None:
        return -1
    grades = [_grade(kind, value) for kind in members]
    best = max(grades, default=_NOT)
    return None if best == _NOT else grades.index(best)


def _grade(kind: Kind, value: Any) -> int:
    """How well a value is of a type."""
    sort = kind[0]
    if sort == "number":
        return _grade_number(np.dtype(kind[2]), value)
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


def _grade_number(wanted: np.dtype[Any], value: Any) -> int:
    is_bool = isinstance(value, (bool, np.bool_))
    if is_bool or wanted.kind == "b":
        return _EXACT if is_bool and wanted.kind == "b" else _NOT
    if isinstance(value, np.generic) and value.dtype == wanted:
        return _EXACT
    if isinstance(value, (int, np.integer)):
        if wanted.kind in "iu":
            return _LIKE if np.iinfo(wanted).min <= value <= np.iinfo(wanted).max else _NOT
        return _CONVERTED if int(wanted.type(value)) == value else _NOT
    if not isinstance(value, (float, np.floating)):
        return _NOT
    if wanted.kind == "f":
        with np.errstate(over="ignore"):
            is_lost = bool(np.isinf(wanted.type(value)) and np.isfinite(value))
        return _NOT if is_lost else _EXACT if wanted.itemsize == 8 else _LIKE
    return _CONVERTED if float(value).is_integer() and _grade_number(wanted, int(value)) else _NOT


def _grade_record(kind: Kind, value: Any) -> int:
    members = layout.members(kind)
    if isinstance(value, dict) and list(value) and set(value) == {name for name, _ in members}:
        items = [(of, value[name]) for name, of in members]
    elif isinstance(value, tuple) and len(value) == len(members) and kind[1] in ("pair", "tuple"):
        items = [(of, item) for (_, of), item in zip(members, value)]
    else:
        return _NOT
    return min((_grade(of, item) for of, item in items), default=_EXACT)
