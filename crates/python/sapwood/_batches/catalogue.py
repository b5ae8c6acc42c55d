"""The rows that a training reads: which files, which clusters, and which entries a cut or a split leaves."""

from __future__ import annotations

import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from sapwood._batches.columns import Rows, as_engine, shape_in
from sapwood._batches.identity import Table, check_unchanged, table_of
from sapwood._batches.split import Split
from sapwood._batches.types import ColumnTypes
from sapwood._file import session
from sapwood._read import chain as chains
from sapwood._read import reading
from sapwood._read.chain import Chain, FriendSpan
from sapwood._read.entry_ranges import EntryRanges
from sapwood._read.libraries import AWKWARD
from sapwood._remote import paths
from sapwood.errors import MismatchError, NotFoundError

#: Entry numbers of some files, rising in each of them.
Files = list[tuple[int, slice | Rows]]

#: Files that stay open between two groups of rows.
OPEN_FILES = 32
#: Entries for which a cut and a split are computed together: a multiple of 8, as bits are kept in bytes.
STEP = 1 << 20


class Part(NamedTuple):
    """Entries of one file that were written together."""

    file: int
    start: int
    stop: int
    rows: int
    """How many of them are wanted."""


class FileOfRows(NamedTuple):
    """One of the files."""

    source: paths.Source
    entries: int
    bits: NDArray[np.uint8] | None
    """A bit for each entry, set if it is wanted; ``None`` if all are."""
    friends: list[FriendSpan]
    """Trees whose entries belong to those of this file."""
    tables: list[Table]
    """Its tree, followed by those of its friends."""

    def mask(self, start: int, stop: int) -> NDArray[np.bool_] | None:
        """A truth value for each entry: whether it is wanted. ``None`` if all are."""
        if self.bits is None:
            return None
        begin = start // 8
        inside = np.unpackbits(self.bits[begin : -(-stop // 8)]).view("bool")
        return inside[start - 8 * begin : stop - 8 * begin]


class Opened(NamedTuple):
    """The tree of a file while it is open."""

    tree: Any
    friends: list[Any]
    closing: ExitStack


class Catalogue:
    """The parts of some files, in order. Making it opens each file once; a cut and a split are computed then,
    so that it is known how many rows there are."""

    def __init__(
        self,
        files: Any,
        options: Mapping[str, Any],
        *,
        cut: str | None = None,
        split: Split | None = None,
        aliases: Mapping[str, str] | None = None,
        allow_missing: bool = False,
        names: Sequence[str] = (),
        is_wide: bool = True,
        missing: float | None = None,
        friends: Mapping[str, Any] | None = None,
        lumi_mask: Any = None,
        entries: Any = None,
    ) -> None:
        """``names`` are the columns that will be read: every file has to have them, in one shape; without
        ``is_wide`` also in one type. ``missing`` stands in for numbers that files lack."""
        chain = Chain(
            "batches",
            files,
            options,
            allow_missing=allow_missing,
            friends=friends,
            lumi_mask=lumi_mask,
            entries=entries,
        )
        self._opening = chain.opening
        self._cut, self._aliases, self._split = cut, dict(aliases or {}), split
        self._missing = missing
        self.types = ColumnTypes(is_wide)
        """The type of each column."""
        self.files: list[FileOfRows] = []
        self.parts: list[Part] = []
        for member in chain.members():
            try:
                self._take(chain, member, names)
            except NotFoundError as error:
                chain.left_out(member.source, error)
        if not self.files:
            raise MismatchError("no file has a tree or an RNTuple whose rows could be read")
        self.counts = self._counted()
        """Rows of each part."""
        self.rows = int(self.counts.sum())
        self._trees: OrderedDict[int, Opened] = OrderedDict()
        self._lock, self._generation = threading.Lock(), session.generation()

    def _counted(self) -> Rows:
        return np.array([part.rows for part in self.parts], "int64")

    def _take(self, chain: Chain, member: chains.Member, names: Sequence[str]) -> None:
        tree, friends = member.tree, chain.friends_of(member)
        entries = int(tree.num_entries)
        # A read of no rows has the types of columns, and reads nothing.
        columns = self._columns(Opened(tree, friends, ExitStack()), names, slice(0, 0))
        shapes = {name: shape_in(one) for name, one in zip(names, columns, strict=True)}
        bits = self._wanted(member, friends)
        branches = [name for name in names if tree._find(name) is not None]
        self.types.add(shapes, str(tree.file_path), branches)
        number = len(self.files)
        tables = [table_of(tree), *(table_of(one) for friend in friends for one in friend.trees)]
        self.files.append(FileOfRows(member.source, entries, bits, chain.spans(member), tables))
        self._add_parts(number, tree.tree.clusters or [(0, entries)], entries)

    def _add_parts(self, number: int, ranges: Iterable[tuple[int, int]], most_rows: int) -> None:
        """Adds the parts of a file: entries that were written together, but no more than ``most_rows``."""
        for first, last in ranges:
            for start in range(first, last, max(most_rows, 1)):
                stop = min(start + most_rows, last)
                mask = self.files[number].mask(start, stop)
                rows = stop - start if mask is None else int(np.count_nonzero(mask))
                if rows:
                    self.parts.append(Part(number, start, stop, rows))

    def divide(self, most_rows: int) -> None:
        """Divides parts that have more entries."""
        known, self.parts = self.parts, []
        for number, parts in groupby(known, lambda part: part.file):
            self._add_parts(number, [(part.start, part.stop) for part in parts], most_rows)
        self.counts = self._counted()

    def _wanted(self, member: chains.Member, friends: list[Any]) -> NDArray[np.uint8] | None:
        """A bit for each entry, computed some entries at a time; ``None`` if all are wanted."""
        if self._cut is None and self._split is None and member.source.steps is None and member.rows is None:
            return None
        entries = int(member.tree.num_entries)
        bits = [np.zeros(0, "uint8")]
        for start in range(0, entries, STEP):
            stop = min(start + STEP, entries)
            mask = np.ones(stop - start, bool)
            if member.source.steps is not None:
                mask[:] = False
                for first, last in member.ranges:
                    mask[max(first - start, 0) : max(last - start, 0)] = True
            if member.rows is not None:
                within = slice(*np.searchsorted(member.rows, [start, stop]))
                mask &= _among(start, stop, member.rows[within])
            if self._cut is not None:
                plan = reading.Plan(member.tree, [], aliases=self._aliases, friends=friends)
                passed = EntryRanges(plan.query([], self._cut).passing(start, stop))
                mask &= _among(start, stop, passed.numbers())
            if self._split is not None:
                mask &= self._share(member.tree, self._split, friends, start, stop)
            bits.append(np.packbits(mask))
        return np.concatenate(bits)

    def _share(self, tree: Any, split: Split, friends: list[Any], start: int, stop: int) -> NDArray[np.bool_]:
        """A truth value for each entry: whether the split leaves it."""

        def columns(names: Sequence[str]) -> Any:
            plan = reading.Plan(tree, list(names), aliases=self._aliases, friends=friends)
            return reading.read(plan, reading.select(tree.num_entries, start, stop), "np", tuple, False)

        return split.mask(columns, start, stop, str(tree.file_path))

    def chosen(self, part: Part, first: int = 0, last: int | None = None) -> slice | Rows:
        """Entry numbers of the wanted rows of a part, or of some of these rows."""
        mask = self.files[part.file].mask(part.start, part.stop)
        if mask is None:
            return slice(part.start + first, part.stop if last is None else part.start + last)
        return (np.flatnonzero(mask) + part.start)[first:last].astype("int64")

    def columns(self, files: Files, names: Iterable[str]) -> dict[str, list[Any]]:
        """The columns of some rows: those of each of their files, as the engine holds them."""
        names = list(dict.fromkeys(names))
        found: dict[str, list[Any]] = {name: [] for name in names}
        if self._generation != session.generation():
            # Files of the parent process are not read here, and a thread of it may have held the lock.
            self._lock, self._trees = threading.Lock(), OrderedDict()
            self._generation = session.generation()
        for file, rows in files:
            with self._lock:
                for name, one in zip(names, self._columns(self._opened(file), names, rows), strict=True):
                    found[name].append(one)
        return found

    def _columns(self, opened: Opened, names: Sequence[str], entries: slice | Rows) -> list[Any]:
        """Columns of some entries of an open file."""
        tree = opened.tree
        plan = reading.Plan(tree, list(names), aliases=self._aliases, friends=opened.friends)
        selection = reading.select(tree.num_entries, None, None, entries)
        loaded, values, selection = reading.load_plan(plan, plan.plain(), selection, None)
        found: list[Any] = []
        for output in plan.outputs:
            branch = output.branch
            one = values[output.name] if branch is None else loaded.get(branch._id)
            if one is not None:
                column = one.column if one.index is None else AWKWARD.column(one, selection)
            else:
                column = reading.branch_value(cast("Any", branch), loaded, AWKWARD, selection)
            found.append(as_engine(output.name, column, self._missing, str(tree.file_path)))
        return found

    def _opened(self, file: int) -> Opened:
        """The open tree of a file; of the others, the last ones that were used stay open."""
        opened = self._trees.pop(file, None)
        if opened is None:
            opened = self._open(self.files[file])
        self._trees[file] = opened
        while len(self._trees) > OPEN_FILES:
            self._trees.popitem(last=False)[1].closing.close()
        return opened

    def _open(self, file: FileOfRows) -> Opened:
        tree = chains.open_tree(file.source, self._opening)
        with ExitStack() as closing:
            closing.callback(chains.close, file.source, tree)
            friends = closing.enter_context(chains.opened(file.friends, self._opening))
            trees = [tree, *(one for friend in friends for one in friend.trees)]
            for one, known in zip(trees, file.tables, strict=True):
                check_unchanged(one, known)
            return Opened(tree, friends, closing.pop_all())

    def close(self) -> None:
        """Closes files that are open; they are opened again when they are read."""
        if self._generation != session.generation():
            return
        with self._lock:
            for opened in self._trees.values():
                opened.closing.close()
            self._trees.clear()

    @property
    def tables(self) -> list[Any]:
        """All tables that are read: copies of the files have the same."""
        return [
            [
                [[table.key, table.entries] for table in file.tables],
                [[span.name, len(span.sources), span.first, span.by] for span in file.friends],
            ]
            for file in self.files
        ]

    @property
    def meaning(self) -> list[Any]:
        """All that decides what the names of columns mean."""
        missing = None if self._missing is None else repr(float(self._missing))
        return [sorted(self._aliases.items()), self.types.identity, missing]

    @property
    def choice(self) -> list[Any]:
        """All that decides which rows are wanted."""
        bits = [None if file.bits is None else zlib.crc32(file.bits.tobytes()) for file in self.files]
        split = None if self._split is None else self._split.identity
        return [self._cut, split, bits]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_trees": OrderedDict(), "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock, self._generation = threading.Lock(), session.generation()


def _among(start: int, stop: int, rows: Rows) -> NDArray[np.bool_]:
    """A truth value for each entry: whether it is one of some rows."""
    mask = np.zeros(stop - start, bool)
    mask[rows - start] = True
    return mask


def numbers(entries: slice | Rows) -> Rows:
    """Entry numbers as an array."""
    return np.arange(entries.start, entries.stop, dtype="int64") if isinstance(entries, slice) else entries


def together(pieces: Sequence[slice | Rows]) -> slice | Rows:
    """Consecutive pieces as one: a slice if no entry is left out between them."""
    first, last = pieces[0], pieces[-1]
    ranges = [one for one in pieces if isinstance(one, slice)]
    if len(ranges) == len(pieces) and isinstance(first, slice) and isinstance(last, slice):
        if all(one.stop == other.start for one, other in zip(ranges, ranges[1:], strict=False)):
            return slice(first.start, last.stop)
    return np.concatenate([numbers(one) for one in pieces])
