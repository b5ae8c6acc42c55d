"""Checks of arguments of batches: numbers and names."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Sequence
from typing import Any

from sapwood.errors import MismatchError, WrongTypeError


def whole(value: Any, what: str, least: int | None = None) -> int:
    """A whole number of Python, from ``least`` on: numbers of NumPy become one, which JSON holds.

    >>> whole(3, "size=", 1)
    3
    """
    try:
        found = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        found = None
    start = "" if least is None else f" from {least} on"
    if found is None:
        raise WrongTypeError(f"{what} is a whole number{start}, not {value!r}")
    if least is not None and found < least:
        raise MismatchError(f"{what} is a whole number{start}, not {value!r}")
    return found


def is_number(value: Any) -> bool:
    """Whether a value is a finite number of Python or NumPy."""
    return isinstance(value, numbers.Real) and math.isfinite(value)


def names_of(value: Any, what: str) -> tuple[str, ...]:
    """One name, or several ones."""
    found = (value,) if isinstance(value, str) else value
    if not isinstance(found, Sequence) or not all(isinstance(one, str) for one in found):
        raise WrongTypeError(f"{what} takes a name or an expression, or several ones, not {value!r}")
    return tuple(found)
