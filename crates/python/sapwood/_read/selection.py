"""Which entries are wanted, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

Range = tuple[int, int]


def bounds(entries: int, start: int | None, stop: int | None) -> Range:
    """``entry_start`` and ``entry_stop`` as whole numbers within ``entries``; negative ones count from the
    end.

    >>> bounds(100, -10, None)
    (90, 100)
    """
    first = 0 if start is None else int(start) + (entries if start < 0 else 0)
    last = entries if stop is None else int(stop) + (entries if stop < 0 else 0)
    first, last = min(entries, max(0, first)), min(entries, max(0, last))
    return first, max(first, last)


class Selection:
    """Entries in the order in which they are wanted."""

    __slots__ = ("rows", "span")

    def __init__(self, span: Range, rows: np.ndarray[Any, Any] | None = None) -> None:
        self.span = span
        """All entries are in this range; all of it is wanted where there are no ``rows``."""
        self.rows = rows
        """Numbers of entries, in any order, any number of times."""

    def __len__(self) -> int:
        return self.span[1] - self.span[0] if self.rows is None else len(self.rows)

    def narrow(self, mask: np.ndarray[Any, Any]) -> Selection:
        """Those of the entries whose mask is true."""
        rows = np.arange(*self.span, dtype="int64") if self.rows is None else self.rows
        return of_rows(rows[mask])

    def in_order(self) -> tuple[np.ndarray[Any, Any] | None, np.ndarray[Any, Any] | None]:
        """The entries, each once and ascending (``None`` for all of the span), and where each wanted one is
        among them (``None`` if these are the same)."""
        if self.rows is None or bool(np.all(self.rows[1:] > self.rows[:-1])):
            return self.rows, None
        rows, index = np.unique(self.rows, return_inverse=True)
        return rows, index


def of_rows(rows: np.ndarray[Any, Any]) -> Selection:
    """Entries by their numbers; a range where these follow one another."""
    if len(rows) == 0:
        return Selection((0, 0))
    first, last = int(rows.min()), int(rows.max()) + 1
    if last - first == len(rows) and (len(rows) == 1 or bool(np.all(rows[1:] == rows[:-1] + 1))):
        return Selection((first, last))
    return Selection((first, last), rows)


def select(total: int, start: int | None, stop: int | None, entries: Any = None) -> Selection:
    """What ``entry_start``, ``entry_stop`` and ``entries`` ask for.

    ``entries`` is a ``slice``, a list of ``(start, stop)`` ranges, a mask with one boolean for each entry
    between ``entry_start`` and ``entry_stop``, or entry numbers as an entry list has them. Ranges, slices and
    numbers count from the tree's first entry, and only what is between ``entry_start`` and ``entry_stop`` is
    taken.

    Raises ``IndexError`` for numbers that the tree does not have, ``ValueError`` for a mask of another
    length.
    """
    first, last = bounds(total, start, stop)
    if entries is None:
        return Selection((first, last))
    if isinstance(entries, Iterator):
        entries = list(entries)
    if isinstance(entries, (slice, range)):
        if isinstance(entries, range):
            rows = _numbers(np.arange(entries.start, entries.stop, entries.step, dtype="int64"), total)
        else:
            a, b, step = entries.indices(total)
            if step == 1:
                a, b = max(a, first), min(b, last)
                return Selection((a, max(a, b)))
            rows = np.arange(a, b, step, dtype="int64")
    elif _is_ranges(entries):
        pieces = []
        for a, b in entries:
            a, b = bounds(total, a, b)
            pieces.append(np.arange(max(a, first), max(min(b, last), max(a, first)), dtype="int64"))
        rows = np.concatenate(pieces) if pieces else np.zeros(0, "int64")
    else:
        array = np.asarray(entries)
        if array.ndim != 1:
            raise ValueError(f"entries must be one-dimensional, not of shape {array.shape}")
        if array.dtype == bool:
            if len(array) == last - first:
                return of_rows(first + np.flatnonzero(array))
            if len(array) != total:
                raise ValueError(
                    f"the mask has {len(array)} items for {last - first} entries (the tree has {total})"
                )
            rows = np.flatnonzero(array)
        elif len(array) == 0:
            rows = np.zeros(0, "int64")
        elif np.issubdtype(array.dtype, np.integer):
            rows = _numbers(array.astype("int64"), total)
        else:
            raise TypeError(f"entries are a slice, ranges, a mask or whole numbers, not {array.dtype}")
    return of_rows(rows[(rows >= first) & (rows < last)])


def _numbers(rows: np.ndarray[Any, Any], total: int) -> np.ndarray[Any, Any]:
    rows = np.where(rows < 0, rows + total, rows)
    outside = (rows < 0) | (rows >= total)
    if outside.any():
        raise IndexError(f"entry {int(rows[outside][0])} is outside of the tree's {total} entries")
    return rows


def _is_ranges(entries: Any) -> bool:
    if isinstance(entries, (str, bytes)) or not isinstance(entries, Iterable):
        return False
    if isinstance(entries, np.ndarray):
        return entries.ndim == 2 and entries.shape[1] == 2
    pairs = [isinstance(one, (tuple, list)) and len(one) == 2 for one in entries]
    return bool(pairs) and all(pairs)
