"""The type of numbers that were stored as several types, and their conversion to it: exact, or an error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from sapwood.errors import MismatchError

Numbers = np.ndarray[Any, Any]


def common_type(arrays: Sequence[Numbers]) -> np.dtype[Any]:
    """The smallest type that holds the numbers of all arrays. For whole numbers of 64 bits with and without a sign it
    depends on the numbers, as no type holds all of both.

    >>> common_type([np.array([1], "i4"), np.array([1.5], "f4")])
    dtype('float64')
    >>> common_type([np.array([1], "i8"), np.array([2**63 + 1], "u8")])
    dtype('uint64')
    >>> common_type([np.array([-1], "i8"), np.array([1], "u8")])
    dtype('int64')

    Raises :class:`~sapwood.errors.MismatchError` if negative numbers meet numbers from 2^63.
    """
    found = np.result_type(*{array.dtype for array in arrays})
    if found.kind != "f" or any(array.dtype.kind == "f" for array in arrays):
        return found
    filled = [array for array in arrays if array.size]
    if not any(int(array.max()) >= 2**63 for array in filled):
        return np.dtype("int64")
    least = min(int(array.min()) for array in filled)
    if least >= 0:
        return np.dtype("uint64")
    most = max(int(array.max()) for array in filled)
    raise MismatchError(f"no type of numbers holds whole numbers from {least} to {most}: read them apart")


def first_inexact(array: Numbers, wanted: np.dtype[Any]) -> int | None:
    """The place of the first whole number that a type of floats does not hold exactly, counted in all numbers;
    ``None`` if it holds all.

    >>> first_inexact(np.array([1, 2**24 + 1]), np.dtype("f4"))
    1
    """
    if wanted.kind != "f" or array.dtype.kind not in "iu" or not array.size:
        return None
    exact = 2 ** (np.finfo(wanted).nmant + 1)
    if int(array.max()) <= exact and int(array.min()) >= -exact:
        return None
    floats = array.astype(wanted)
    # A float that is rounded up to 2^63 or 2^64 is beyond the type of whole numbers.
    is_inside = floats < float(2.0 ** (8 * array.itemsize - (array.dtype.kind == "i")))
    same = np.zeros(array.shape, bool)
    same[is_inside] = floats[is_inside].astype(array.dtype) == array[is_inside]
    return None if same.all() else int((~same).argmax())


def agreed(places: Iterable[Sequence[Numbers]]) -> Iterator[np.dtype[Any]]:
    """The common type of the numbers of each place: in a column, or in a field of its records.

    >>> list(agreed([[np.array([1], "i4"), np.array([1.5], "f4")]]))
    [dtype('float64')]

    Raises :class:`~sapwood.errors.MismatchError` for numbers that it would change.
    """
    for arrays in places:
        common = common_type(arrays)
        for array in arrays:
            check_exact(array, common)
        yield common


def check_exact(array: Numbers, wanted: np.dtype[Any]) -> None:
    """Compares numbers with the type that they are to have.

    Raises :class:`~sapwood.errors.MismatchError` for whole numbers that floats do not hold exactly.
    """
    place = first_inexact(array, wanted)
    if place is not None:
        raise MismatchError(
            f"{array.flat[place]} is not exact as {wanted}, the type that all files have in common: read the files "
            "apart (iterate), or convert the branch in an expression"
        )


def converted(array: Numbers, wanted: np.dtype[Any]) -> Numbers:
    """Numbers as another type that :func:`common_type` chose.

    Raises :class:`~sapwood.errors.MismatchError` for whole numbers that floats do not hold exactly.
    """
    check_exact(array, wanted)
    return array.astype(wanted, copy=False)


__all__ = ["agreed", "check_exact", "common_type", "converted", "first_inexact"]
