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
from sapwood._write import lossless
from sapwood.interpretation import Unknown
from sapwood.models.entry_list import as_numbers

if TYPE_CHECKING:
    from sapwood._tree.tree import Tree


class Row(Mapping[str, Any]):
    """One entry of a tree: a mapping from names of branches to values, which are read when they are looked
    at."""

    __slots__ = ("_rows", "entry")

    def __init__(self, rows: Rows, entry: int) -> None:
        self._rows = rows
        self.entry = entry
        """Number of the entry in its tree."""

    def __getitem__(self, name: str) -> Any:
        return self._rows._value(name, self.entry)

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
        #: By name: first entry, one past the last, and the values of a basket.
        self._values: dict[str, tuple[int, int, Any]] = {}
        self._branches: dict[str, tuple[Any, list[int]]] = {}

    def _value(self, name: str, entry: int) -> Any:
        start, stop, values = self._values.get(name, (0, 0, None))
        if not start <= entry < stop or self._generation != session.generation():
            start, stop, values = self._read(name, entry)
        return values[entry - start]

    def _read(self, name: str, entry: int) -> tuple[int, int, Any]:
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
            stop, array = start + len(column), layout.items(column)
        else:
            start, stop = self._reader.touch(ids, entry)
            array = branch.array(entry_start=start, entry_stop=stop, library=as_library("ak"))
        self._values[name] = start, stop, array
        return self._values[name]

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [Row(self, entry) for entry in self._entries[index]]
        return Row(self, self._entries[index])

    def __repr__(self) -> str:
        return f"<Rows: {len(self)} of {self.tree.object_path!r}>"
