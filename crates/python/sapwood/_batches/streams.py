"""The origin of the rows of batches: a stream for each sample, and how many rows of each a batch has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sapwood._batches.form import Held, Piece
from sapwood._batches.order import Group, Order
from sapwood._tree.iteration import ahead


class Allotted(NamedTuple):
    """How many rows of each sample a batch has."""

    number: int
    rows: int
    wanted: list[int]
    taken: list[int]
    """Rows that were taken of each sample after it."""
    mix: Any
    """In which order its rows come; ``None`` if as they are."""


class Block(NamedTuple):
    """Batches that are made together."""

    pieces: list[Piece]
    mix: list[Any]
    """In which order the rows of each batch come; empty if they come as they are."""
    ends: list[tuple[int, list[int]]]
    """The rows of each batch, and those that were taken of each sample after it."""


class Stream:
    """The rows of one sample from a place up to a limit, again from the first one after the last; the next
    group is read ahead."""

    def __init__(
        self,
        orders: Callable[[int], Order],
        read: Callable[[Group], Held],
        taken: int,
        rows: int,
        limit: int,
    ) -> None:
        """``orders`` makes the order of a cycle through all rows."""

        def groups() -> Iterator[tuple[Group, int]]:
            cycle, skip = divmod(taken, rows) if rows else (0, 0)
            at = taken
            while at < limit and rows:
                for group, skipped in orders(cycle).groups(skip):
                    yield group, skipped
                    at += group.rows - skipped
                    if at >= limit:
                        return
                cycle, skip = cycle + 1, 0

        self._groups = ahead(groups(), lambda one: (read(one[0]), one[1]), late=True)
        self._is_coming = True
        self._held: Held | None = None
        self._at = 0

    def begin(self) -> None:
        """Reads the next group ahead: when a block begins, all groups before the one in use are given up."""
        if not self._is_coming:
            next(self._groups, None)
            self._is_coming = True

    def take(self, rows: int, pieces: list[Piece]) -> None:
        """Adds the next rows: one piece for each group that they come from."""
        while rows > 0:
            if self._held is None:
                self.begin()
                found = next(self._groups, None)
                assert found is not None, "a sample has rows up to its limit"
                self._held, self._at = found
                self._is_coming = False
            held = self._held
            stop = min(self._at + rows, len(held))
            if pieces and pieces[-1].held is held and pieces[-1].last == self._at:
                pieces[-1] = pieces[-1]._replace(last=stop)
            else:
                pieces.append(Piece(held, self._at, stop))
            rows, self._at = rows - (stop - self._at), stop
            if stop == len(held):
                self._held = None  # its memory is free for the group after the next

    def close(self) -> None:
        """Ends reading ahead."""
        self._groups.close()


def allot(shares: Sequence[float], taken: Sequence[int], stop: int) -> list[int]:
    """How many rows each sample gives to a batch, so that ``stop`` rows are taken after it, each sample's
    share of them to less than one row."""
    missing = stop - sum(taken)
    due = [share * stop - before for share, before in zip(shares, taken, strict=True)]
    wanted = [min(max(int(one), 0), missing) for one in due]
    while sum(wanted) > missing:
        wanted[int(np.argmax(wanted))] -= 1
    for _ in range(missing - sum(wanted)):
        most = int(np.argmax([one - rows for one, rows in zip(due, wanted, strict=True)]))
        wanted[most] += 1
    return wanted
