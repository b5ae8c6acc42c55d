"""The order of rows in one epoch, as groups that fit into memory: it depends on the seed, the epoch and the
rank alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from sapwood import _core
from sapwood._batches.catalogue import Catalogue, Files, Part, numbers, together
from sapwood._batches.columns import Rows

Shuffle = Literal["clusters", "rows"] | None


class Group(NamedTuple):
    """Rows that are in memory together."""

    pieces: list[Files]
    """Rows that are read together."""
    order: Rows | None = None
    """The row at each place; ``None`` if they are in order."""
    seed: int | None = None
    """A number that determines their order instead."""

    @property
    def files(self) -> Files:
        """The rows of all pieces."""
        return [one for piece in self.pieces for one in piece]

    @property
    def rows(self) -> int:
        """How many they are."""
        return sum(_rows(piece) for piece in self.pieces)

    @property
    def places(self) -> Rows | None:
        """The row at each place, also if a number orders them."""
        if self.seed is None:
            return self.order
        return np.asarray(_core.shuffled_order(self.seed, self.rows)).view("uint32").astype("int64")


def _rows(files: Files) -> int:
    return sum(one.stop - one.start if isinstance(one, slice) else len(one) for _, one in files)


def random(*keys: int) -> np.random.Generator:
    """Random numbers that these keys determine."""
    return np.random.Generator(np.random.PCG64(seeds(*keys)))


def seeds(*keys: int) -> np.random.SeedSequence:
    """A source of seeds that these keys determine."""
    return np.random.SeedSequence([key & (2**63 - 1) for key in keys])


def share_of(rows: int, rank: int, world: int) -> tuple[int, int]:
    """The first row of a rank, and the first row after it.

    >>> [share_of(10, rank, 3) for rank in range(3)]
    [(0, 3), (3, 6), (6, 10)]
    """
    return rank * rows // world, (rank + 1) * rows // world


class Order:
    """The rows of one rank in one epoch."""

    def __init__(
        self,
        catalogue: Catalogue,
        shuffle: Shuffle,
        group_rows: int,
        keys: tuple[int, ...],
        rank: int = 0,
        world: int = 1,
        read_rows: int | None = None,
    ) -> None:
        """``group_rows`` rows are in memory together, of which ``read_rows`` are read together."""
        self._catalogue, self._shuffle, self._keys = catalogue, shuffle, keys
        total = catalogue.rows
        self.first, self.last = share_of(total, rank, world)
        self._group_rows = max(1, group_rows)
        self._read_rows = max(1, group_rows if read_rows is None else read_rows)
        parts = np.arange(len(catalogue.parts))
        if shuffle is not None:
            random(*keys, 0).shuffle(parts)
        self._parts = parts
        self._ends = np.cumsum(catalogue.counts[parts])
        self._permuted: Rows | None = None
        if shuffle == "rows":
            self._permuted = random(*keys, 1).permutation(total).astype("int64")

    def __len__(self) -> int:
        return self.last - self.first

    def groups(self, skip: int = 0) -> Iterator[tuple[Group, int]]:
        """Groups from a row on, each with the number of its rows that come before."""
        if self._shuffle is None:
            yield from self._in_order(self.first + skip)
            return
        number = skip // self._group_rows
        start = self.first + number * self._group_rows
        skipped = skip - number * self._group_rows
        while start < self.last:
            stop = min(start + self._group_rows, self.last)
            yield self._group(start, stop, number), skipped
            start, number, skipped = stop, number + 1, 0

    def _in_order(self, start: int) -> Iterator[tuple[Group, int]]:
        """Groups of whole parts, as far as they fit."""
        while start < self.last:
            number = int(np.searchsorted(self._ends, start, "right"))
            fitting = int(np.searchsorted(self._ends, start + self._group_rows, "right")) - 1
            stop = min(int(self._ends[max(number, fitting)]), self.last)
            yield self._group(start, stop, 0), 0
            start = stop

    def _group(self, start: int, stop: int, number: int) -> Group:
        if self._permuted is not None:
            return scattered(self._catalogue, self._permuted[start:stop])
        first, last = np.searchsorted(self._ends, [start, stop - 1], "right")
        chosen = []
        for at in range(int(first), int(last) + 1):
            part = self._catalogue.parts[self._parts[at]]
            begin = int(self._ends[at]) - part.rows
            chosen.append((part, max(start - begin, 0), min(stop - begin, part.rows)))
        chosen.sort()
        if self._shuffle is None:
            return Group([self._files(chosen)])
        pieces: list[list[tuple[Part, int, int]]] = []
        rows = 0
        for one in chosen:
            more = one[2] - one[1]
            if not pieces or rows + more > self._read_rows:
                pieces.append([])
                rows = 0
            pieces[-1].append(one)
            rows += more
        seed = int(seeds(*self._keys, 2, number).generate_state(1, "uint64")[0])
        return Group([self._files(piece) for piece in pieces], seed=seed)

    def _files(self, chosen: Iterable[tuple[Part, int, int]]) -> Files:
        found: dict[int, list[slice | Rows]] = {}
        for part, first, last in chosen:
            found.setdefault(part.file, []).append(self._catalogue.chosen(part, first, last))
        return [(file, together(pieces)) for file, pieces in found.items()]


def scattered(catalogue: Catalogue, wanted: Rows) -> Group:
    """Rows by their numbers in the catalogue, in any order."""
    rising = np.argsort(wanted, kind="stable")
    order = np.empty(len(wanted), "int64")
    order[rising] = np.arange(len(wanted))
    wanted = wanted[rising]
    ends = np.cumsum(catalogue.counts)
    files: dict[int, list[Rows]] = {}
    at = 0
    while at < len(wanted):
        number = int(np.searchsorted(ends, wanted[at], "right"))
        part = catalogue.parts[number]
        stop = int(np.searchsorted(wanted, ends[number], "left"))
        inside = wanted[at:stop] - (int(ends[number]) - part.rows)
        files.setdefault(part.file, []).append(numbers(catalogue.chosen(part))[inside])
        at = stop
    return Group([[(file, np.concatenate(rows)) for file, rows in files.items()]], order)


def mixing(order: Order, size: int) -> float:
    """How well batches mix: the mean distance between the places of neighbours in a batch, as a share of that
    of a perfect shuffle. 1 is perfect, 0 is the order of the files. Places count the wanted rows alone."""
    catalogue = order._catalogue
    rows_of = np.zeros(len(catalogue.files), "int64")
    for part in catalogue.parts:
        rows_of[part.file] += part.rows
    before = np.cumsum(rows_of) - rows_of
    ends: dict[int, Rows | None] = {}
    total, count = 0.0, 0
    for group, _ in order.groups():
        found = []
        for file, rows in group.files:
            if file not in ends:
                mask = catalogue.files[file].mask(0, catalogue.files[file].entries)
                ends[file] = None if mask is None else np.cumsum(mask)
            wanted = ends[file]
            found.append(before[file] + (numbers(rows) if wanted is None else wanted[numbers(rows)] - 1))
        places, order_of = np.concatenate(found), group.places
        places = places if order_of is None else places[order_of]
        for start in range(0, len(places) - 1, size):
            distances = np.abs(np.diff(places[start : start + size]))
            total, count = total + float(distances.sum()), count + len(distances)
    # Two places at random are a third of the whole apart.
    return min(1.0, total / count / (catalogue.rows / 3)) if count else 0.0


def mixing_of_samples(batches: Iterable[tuple[Sequence[int], Rows | None]]) -> float:
    """How well batches mix samples: how often neighbours are of different ones, as a share of how often they
    would be in a perfect shuffle. ``batches`` are the rows of each sample, and the order in which they come.

    >>> mixing_of_samples([([50, 50], None)])
    0.02
    """
    found = expected = 0.0
    for counts, order in batches:
        sample = np.repeat(np.arange(len(counts)), counts)
        rows = len(sample)
        found += np.count_nonzero(np.diff(sample if order is None else sample[order]))
        expected += (
            (rows - sum(count * (count - 1) for count in counts) / max(rows - 1, 1)) * (rows - 1) / rows
        )
    return float(min(1.0, found / expected)) if expected else 1.0
