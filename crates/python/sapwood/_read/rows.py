"""Trees entry by entry."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from sapwood import errors
from sapwood._file import session
from sapwood._read import layout, reading
from sapwood._read.libraries import as_library
from sapwood._remote import urls
from sapwood._write import lossless
from sapwood.interpretation import Unknown
from sapwood.models.entry_list import as_numbers

if TYPE_CHECKING:
    from sapwood._tree.tree import Tree


AHEAD_BYTES = 1 << 20
"""Of rows that are read together, once inflated."""


class Row(Mapping[str, Any]):
    """One entry of a tree: a mapping from names of branches to values, which are read when they are looked
    at."""

    __slots__ = ("_index", "_rows", "entry")

    def __init__(self, rows: Rows, index: int) -> None:
        self._rows = rows
        self._index = index
        self.entry = rows._entries[index]
        """Number of the entry in its tree."""

    def __getitem__(self, name: str) -> Any:
        return self._rows._value(name, self._index)

    def __iter__(self) -> Iterator[str]:
        return (branch.name for branch in self._rows.tree.branches)

    def __len__(self) -> int:
        return len(self._rows.tree.branches)

    def __repr__(self) -> str:
        return f"<Row {self.entry} of {self._rows.tree.object_path!r}>"


def _numbers(entries: Any, num_entries: int) -> list[int]:
    """Numbers of entries, of a list of them or of a mask."""
    if not isinstance(entries, (np.ndarray, list, tuple)) and isinstance(entries, Iterable):
        entries = list(entries)
    try:
        array = np.asarray(lossless.as_array(lossless.unmasked(entries, "entries")))
    except errors.MismatchError:
        raise
    except ValueError:  # lists of different lengths
        array = np.empty((0, 0))
    if array.ndim != 1 or array.size and array.dtype.kind not in "biu":
        raise errors.MismatchError(
            f"entries are whole numbers, or a mask with a truth value for each entry, not {lossless.shown(entries)}"
        )
    if array.dtype.kind == "b":
        if len(array) != num_entries:
            raise errors.MismatchError(f"a mask of {len(array)} values was given for {num_entries} entries")
        return np.flatnonzero(array).tolist()
    if array.size and array.min() < 0:
        raise errors.MismatchError(f"no such entry: {array.min()}, numbers of entries are not negative")
    return array.tolist()


class Rows(Sequence[Row]):
    """Entries of a tree, one at a time and in any order. Made by :meth:`sapwood.Tree.rows`."""

    def __init__(self, tree: Tree, entries: Any = None, columns: Any = None) -> None:
        self.tree = tree
        """The tree."""
        self._entries = (
            range(tree.num_entries)
            if entries is None
            else _numbers(as_numbers(entries, tree), tree.num_entries)
        )
        self._listed = entries is not None
        named = [] if columns is None else [tree[name] for name in tree.keys(filter_name=columns)]
        if columns is not None and not named:
            raise errors.NotFoundError(f"no branch is named like {columns!r} (object {tree.object_path})")
        below = (below for branch in named for below in reading.values_below(branch))
        self._together = list(
            dict.fromkeys(one._id for one in below if not isinstance(one.interpretation, Unknown))
        )
        self._generation = -1
        self._begin()

    def _begin(self) -> None:
        self._reader = self.tree._reader(self._entries if self._listed else None)
        # A child process that was forked has a tree of its own.
        self._generation = session.generation()
        #: By name: the values of a basket or of some rows, and where those of an entry are.
        self._values: dict[str, tuple[range | dict[int, int], Any]] = {}
        self._branches: dict[str, tuple[Any, list[int]]] = {}
        #: By name: the row that follows those that were read, and how many these were.
        self._runs: dict[str, tuple[int, int]] = {}

    def _value(self, name: str, index: int) -> Any:
        entry = self._entries[index]
        places, values = self._values.get(name, (range(0), None))
        if entry not in places or self._generation != session.generation():
            places, values = self._read(name, index)
        return values[entry - places.start if isinstance(places, range) else places[entry]]

    def _read(self, name: str, index: int) -> tuple[range | dict[int, int], Any]:
        entry = self._entries[index]
        if self._generation != session.generation():
            self._begin()
        if name not in self._branches:
            branch = self.tree[name]
            self._branches[name] = branch, [below._id for below in reading.values_below(branch)]
        branch, ids = self._branches[name]
        if self._together:
            # A branch without the entry is an error only when it is looked at.
            with contextlib.suppress(errors.SapwoodError):
                self._reader.touch(self._together, entry)
        if ids == [branch._id] and layout.has_items(branch.interpretation.kind):
            start, column = self._reader.read(ids[0], entry)
            self._values[name] = range(start, start + len(column)), layout.items(column)
        else:
            basket = range(*self._reader.touch(ids, entry))
            self._values[name] = self._arrays(index, basket, name)
        return self._values[name]

    def _arrays(self, index: int, basket: range, name: str) -> tuple[range | dict[int, int], Any]:
        """The values of a basket, or of more rows where those before were read in order."""
        branch, ids = self._branches[name]
        rows = self._together_with(index, basket, name, ids)
        try:
            if self._listed and len(rows) > 1:
                wanted = sorted(set(self._entries[rows.start : rows.stop]))
                array = branch.array(entries=wanted, library=as_library("ak"))
                return {entry: place for place, entry in enumerate(wanted)}, array
            places = basket if self._listed else range(basket.start, max(basket.stop, rows.stop))
            array = branch.array(entry_start=places.start, entry_stop=places.stop, library=as_library("ak"))
            return places, array
        except errors.SapwoodError:
            del self._runs[name]
        # What is broken is the error of the row that has it.
        entry = self._entries[index]
        array = branch.array(entry_start=entry, entry_stop=entry + 1, library=as_library("ak"))
        return range(entry, entry + 1), array

    def _together_with(self, index: int, basket: range, name: str, ids: list[int]) -> range:
        """The rows to read with one that is wanted, as far as rows were read in order before.

        An Awkward Array of one entry takes as long to make as one of many: where a basket has few entries,
        that is most of the time.
        """
        expected, count = self._runs.get(name, (-len(basket) - 1, 1))
        # In a list, rows may have been in the basket of the one before.
        count = 2 * count if 0 <= index - expected <= (len(basket) if self._listed else 0) else 1
        core, last = self.tree._core, len(self._entries)
        if urls.is_url(self.tree.file_path):
            count = 1  # the next entries may need a request that nothing was fetched ahead for
        elif count > 1:
            stored = sum(self.tree._branch(id)._row["tot_bytes"] for id in ids)
            count = min(count, max(AHEAD_BYTES * self.tree.num_entries // max(stored, 1), 1))
            if not self._listed:
                ranges = [core.entry_range(id) for id in ids]
                last = min([last, *(found[1] for found in ranges if found is not None)])
        rows = range(index, max(min(index + count, last), index + 1))
        self._runs[name] = rows.stop if self._listed else max(rows.stop, basket.stop), count
        return rows

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [Row(self, one) for one in range(len(self))[index]]
        return Row(self, range(len(self))[index])

    def __repr__(self) -> str:
        return f"<Rows: {len(self)} of {self.tree.object_path!r}>"
