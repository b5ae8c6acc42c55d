"""Plain lists as arrays. NumPy makes floats of whole numbers above 2^63 that stand beside small ones; here they stay whole."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from sapwood.errors import MismatchError

_LEAST, _MOST = -(2**63), 2**64 - 1


def as_array(data: Any) -> np.ndarray[Any, Any]:
    """The same as ``numpy.asarray``, but that whole numbers are ``uint64`` where some are above 2^63 and none is negative.

    >>> as_array([1, 2**63]).dtype
    dtype('uint64')

    Raises :class:`~sapwood.errors.MismatchError` for whole numbers that no type of 64 bits holds together; ``ValueError`` for lists of
    different lengths.
    """
    array = np.asarray(data)
    if isinstance(data, np.ndarray) or array.dtype.kind not in "fO" or not _is_whole(_first(data)):
        return array
    numbers = np.empty(array.shape, object)
    numbers[...] = data
    if not all(map(_is_whole, numbers.flat)):
        return array
    least, most = int(numbers.min()), int(numbers.max())
    if least < 0 and most >= 2**63 or least < _LEAST or most > _MOST:
        raise MismatchError(f"no type of 64 bits holds whole numbers from {least} to {most}")
    return numbers.astype(np.uint64)


def as_jagged(data: Any) -> Any:
    """An Awkward Array of lists, or of lists of lists, of numbers that :func:`as_array` takes."""
    import awkward as ak

    if not all(isinstance(item, (list, tuple, np.ndarray)) for item in data):
        return ak.from_numpy(as_array(data))
    return ak.unflatten(as_jagged([item for items in data for item in items]), [len(items) for items in data])


def _first(data: Any) -> Any:
    while isinstance(data, Collection) and not isinstance(data, (str, bytes)) and len(data):
        data = next(iter(data))
    return data


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
