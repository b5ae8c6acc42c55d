"""Entries that passed a cut, as ranges: what the engine finds, and what an entry list stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
#: Stored numbers or bits of a block, whether they are numbers, and how many entries passed.
Block = tuple[NDArray[np.uint16], bool, int]

#: Entries that a TEntryListBlock counts: 4,000 words of 16 bits.
BLOCK_ENTRIES = 64_000


class EntryRanges:
    """Rising ranges of entries. A range takes 16 bytes, whatever its length.

    >>> passed = EntryRanges([0, 3, 7, 9])
    >>> len(passed), passed.numbers().tolist(), passed.within(2, 8).numbers().tolist()
    (5, [0, 1, 2, 7, 8], [2, 7])
    """

    def __init__(self, ends: Any) -> None:
        """``ends`` are the first entry of a range and the one after its last, range by range."""
        pairs = np.asarray(ends, "int64").reshape(-1, 2)
        self._starts, self._stops = pairs[:, 0], pairs[:, 1]

    @classmethod
    def joined(cls, parts: Iterable[EntryRanges]) -> EntryRanges:
        """Ranges of several parts, each of which begins after the one before it ends."""
        pairs = [np.stack([part._starts, part._stops], axis=1) for part in parts]
        return cls(pairs[0] if len(pairs) == 1 else np.concatenate([np.zeros((0, 2), "int64"), *pairs]))

    def __len__(self) -> int:
        return int(self._stops.sum() - self._starts.sum())

    def pairs(self) -> list[tuple[int, int]]:
        """The ranges as Python's numbers."""
        return list(zip(self._starts.tolist(), self._stops.tolist(), strict=True))

    def numbers(self) -> Numbers:
        """The number of each entry. Only the answer is allocated."""
        lengths = self._stops - self._starts
        numbers = np.ones(int(lengths.sum()), "int64")
        if len(numbers):
            # Every number is one more than the number before it, except at the beginning of a range.
            numbers[0] = self._starts[0]
            numbers[np.cumsum(lengths[:-1])] = self._starts[1:] - self._stops[:-1] + 1
            np.cumsum(numbers, out=numbers)
        return numbers

    def within(self, start: int, stop: int) -> EntryRanges:
        """The entries from ``start`` until before ``stop``."""
        first = int(np.searchsorted(self._stops, start, "right"))
        last = max(first, int(np.searchsorted(self._starts, stop, "left")))
        starts, stops = np.maximum(self._starts[first:last], start), np.minimum(self._stops[first:last], stop)
        return EntryRanges(np.stack([starts, stops], axis=1)) if start < stop else EntryRanges([])

    def among(self, rows: Numbers) -> Numbers:
        """The items of ``rows`` that are in the ranges, in their order."""
        if not len(self._starts):
            return rows[:0]
        place = np.searchsorted(self._starts, rows, "right") - 1
        return rows[(place >= 0) & (rows < self._stops[place])]

    def blocks(self) -> Iterator[Block]:
        """The blocks of a ``TEntryList``: bits, or numbers if these take less."""
        count = -(-int(self._stops[-1]) // BLOCK_ENTRIES) if len(self._stops) else 0
        for place in range(count):
            first = place * BLOCK_ENTRIES
            inside = self.within(first, first + BLOCK_ENTRIES)
            passed = len(inside)
            if _is_list(passed):
                yield (inside.numbers() - first).astype("uint16"), True, passed
                continue
            steps = np.zeros(BLOCK_ENTRIES + 1, "int8")
            steps[inside._starts - first] += 1
            steps[inside._stops - first] -= 1
            yield _bits(np.cumsum(steps[:-1], dtype="int8").view(bool)), False, passed


def blocks_of_numbers(numbers: Numbers) -> Iterator[Block]:
    """The blocks of a ``TEntryList`` of rising numbers, which are not copied."""
    count = int(numbers[-1]) // BLOCK_ENTRIES + 1 if len(numbers) else 0
    borders = np.searchsorted(numbers, np.arange(count + 1) * BLOCK_ENTRIES)
    for place in range(count):
        inside = numbers[borders[place] : borders[place + 1]] - place * BLOCK_ENTRIES
        if _is_list(len(inside)):
            yield inside.astype("uint16"), True, len(inside)
            continue
        mask = np.zeros(BLOCK_ENTRIES, bool)
        mask[inside] = True
        yield _bits(mask), False, len(inside)


def _is_list(passed: int) -> bool:
    return passed < BLOCK_ENTRIES // 16


def _bits(mask: NDArray[np.bool_]) -> NDArray[np.uint16]:
    return np.packbits(mask, bitorder="little").view("<u2").astype("uint16")
