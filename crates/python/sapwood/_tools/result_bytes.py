"""An estimate of the memory that a result takes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import islice
from typing import Any

#: Levels of containers and of members that are looked into, items of each container, and items of all.
_MAX_DEPTH = 6
_MAX_ITEMS = 1000
_MAX_LOOKS = 10_000


def bytes_of(value: Any, depth: int = 0, looks: int = _MAX_LOOKS) -> int:
    """Bytes of a result: of arrays exactly, of containers from their first thousand items. Containers share the
    ``looks`` at items, so that an estimate takes milliseconds however many items there are.

    >>> import numpy as np
    >>> bytes_of({"a": [np.zeros(1000), np.zeros(1000)]}) > 16_000
    True
    """
    try:
        return _bytes_of(value, depth, looks)
    except Exception:
        # Properties of any class are asked here, and an estimate is not worth an error.
        return sys.getsizeof(type(value))


def _bytes_of(value: Any, depth: int, looks: int) -> int:
    known = getattr(value, "nbytes", None)  # NumPy, Awkward, xarray
    if isinstance(known, int):
        return known
    if isinstance(value, (str, bytes, bytearray)):
        return sys.getsizeof(value)
    usage = getattr(value, "memory_usage", None)  # pandas
    if callable(usage):
        used = usage()
        return int(used.sum() if hasattr(used, "sum") else used)
    view = getattr(value, "view", None)  # boost_histogram, hist
    if callable(view) and hasattr(value, "axes"):
        return int(view(flow=True).nbytes)
    own = sys.getsizeof(value)
    if depth == _MAX_DEPTH:
        return own
    if isinstance(value, Mapping):
        return own + _all(value.values(), len(value), depth, looks)
    if isinstance(value, (list, tuple, set, frozenset)):
        return own + _all(value, len(value), depth, looks)
    members = getattr(value, "__dict__", None)
    return own + (_all(members.values(), len(members), depth, looks) if isinstance(members, dict) else 0)


def _all(items: Any, count: int, depth: int, looks: int) -> int:
    looked = min(count, _MAX_ITEMS, max(looks, 1))
    found = sum(bytes_of(item, depth + 1, looks // looked) for item in islice(iter(items), looked))
    return found * count // looked if looked else 0
