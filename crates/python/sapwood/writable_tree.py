"""Trees that are being filled."""

from __future__ import annotations

import copy
import itertools
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from sapwood import _core, errors, filling, tables
from sapwood.filling import Schema

_PLAIN = (int, float, str, bytes, bool, np.number, np.bool_)
"""Types whose values never change."""
ROWS = 1000
"""So many rows are gathered before they become columns."""


class WritableTree:
    """A tree that is being filled."""

    def __init__(self, core: _core.TreeWriter, schema: Schema, name: str) -> None:
        self._core = core
        self._schema = schema
        self.name = name
        """Its name in the file."""
        self._rows: list[tuple[int, Mapping[str, Any]]] = []
        self._filled = 0
        # Rows that are gathered are given away once, whoever does so; threads had better have a context each.
        self._lock = threading.RLock()
        self.closed = False
        """Whether it takes no more rows."""

    @property
    def branches(self) -> list[str]:
        """Names of the branches, those that count lists included."""
        return [spec.name for spec in self._schema.specs]

    @property
    def num_entries(self) -> int:
        """Entries that were given so far, and taken."""
        return self._core.taken + len(self._rows)

    def extend(self, data: Any) -> None:
        """Adds rows: the same number for every column.

        ``data`` is a mapping from names to arrays, a structured NumPy array, an Awkward record array, a DataFrame or an Arrow
        table. Rows are kept until their cluster is whole.

        Raises :class:`sapwood.errors.MismatchError` where columns are missing or unknown, lengths differ, or a type does not
        fit: then no row was added. It comes also where rows that :meth:`fill` gathered before do not fit, and says so: then those
        are left out, and all rows of this call were added. What the disk reports (:class:`OSError`, for this cluster or the one
        before) leaves all rows added: they wait, and :meth:`flush` tries again.
        """
        given = filling.values(self._schema, tables.columns_of(data))
        with self._lock:
            try:
                self._spill("; the rows given to extend are added")
            finally:
                if not self._rows:  # else these would stand before them
                    self._give(given)

    def _give(self, given: Any) -> None:
        try:
            self._core.extend(given)
        except errors.IOError as error:
            error.add_note("all rows of this call are kept: flush() tries again, giving them again would double them")
            raise

    def fill(self, row: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        """Adds one row: a value for every column, and lengths of lists where one likes (they must be those). Rows are gathered, and given to the
        engine many at a time.

        Raises :class:`sapwood.errors.MismatchError` where columns are missing or unknown, or a value is plainly of another type: then this
        row is left out. Whether all of a value fits (items of lists, members of objects) shows when the rows that were gathered are
        written: the error comes with a later call then, and names the row, counted in calls from 0. Rows that fit are always kept.

        >>> import io, sapwood
        >>> with sapwood.recreate(io.BytesIO()) as file:
        ...     tree = file.mktree("tree", {"x": "f8"})
        ...     tree.fill(x=1.5)
        ...     tree.fill(x="one")
        Traceback (most recent call last):
        sapwood.errors.MismatchError: row 1 is left out: branch 'x' holds float64 and was given str 'one'
        """
        if self.closed:
            raise errors.MismatchError(f"the tree {self.name!r} is closed")
        number, self._filled = self._filled, self._filled + 1
        values = {**(row or {}), **more}
        for name, value in values.items():
            if isinstance(value, np.ndarray) and value.ndim == 0:
                values[name] = value[()]
        wrong = self._schema.refusal(values)
        if wrong:
            raise errors.MismatchError(f"row {number} is left out: {wrong}")
        # A caller may use one array or object for all rows.
        kept = {name: value if isinstance(value, _PLAIN) else copy.deepcopy(value) for name, value in values.items()}
        with self._lock:
            self._rows.append((number, kept))
            if len(self._rows) >= ROWS:
                self._spill()

    def _spill(self, more: str = "") -> None:
        """Gives the engine the rows that were gathered. Those that do not fit are found by halves, and left out; the error says
        ``more`` then."""
        wrong: list[tuple[int, Exception]] = []
        gathered = len(self._rows)
        # Some rows may have lengths of lists with them, and others not.
        sizes = [len(list(rows)) for _, rows in itertools.groupby(self._rows, lambda row: row[1].keys())][::-1]
        while sizes:
            size = sizes.pop()
            rows = self._rows[:size]
            before = self._core.taken
            try:
                columns = {name: [row[name] for _, row in rows] for name in rows[0][1]}
                self._core.extend(filling.values(self._schema, columns))
            except (errors.IOError, MemoryError):
                raise
            except Exception as error:
                if size > 1:
                    sizes += [size - size // 2, size // 2]
                else:
                    wrong.append((rows[0][0], error))
                    del self._rows[0]
            finally:
                # Whatever happens, the engine knows what it has taken.
                del self._rows[: self._core.taken - before]
        if wrong:
            number, first = wrong[0]
            others = f" (and {len(wrong) - 1} others, the last is row {wrong[-1][0]})" if len(wrong) > 1 else ""
            kind = errors.UnsupportedError if isinstance(first, errors.UnsupportedError) else errors.MismatchError
            raise kind(
                f"row {number}{others} is left out: {first}; {gathered - len(wrong)} of the {gathered} rows that were gathered are kept{more}"
            )

    def flush(self) -> None:
        """Writes the rows that are kept as a cluster of their own."""
        with self._lock:
            if not self.closed:
                try:
                    self._spill()
                finally:
                    self._core.flush()

    def close(self) -> None:
        """Writes the rows that are kept, and ends."""
        with self._lock:
            self.closed = True
            try:
                self._spill()
            finally:
                self._core.close()

    def __enter__(self) -> WritableTree:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        errors.close_after(error, self.close)
