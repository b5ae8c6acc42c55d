"""Trees that are being filled."""

from __future__ import annotations

import copy
import itertools
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood import _core, errors
from sapwood._write import branch_values, tables
from sapwood._write.branch_schema import Schema
from sapwood._write.read_back import ReadBack
from sapwood.compression import as_compression, of_branches

if TYPE_CHECKING:
    from sapwood.writing import WritableFile

_PLAIN = (int, float, str, bytes, bool, np.number, np.bool_)
"""Types whose values never change."""
ROWS = 1000
"""So many rows are gathered before they become columns."""


class WritableTree(ReadBack):
    """A tree that is being filled. It can be read, too, as a :class:`~sapwood.Tree`: rows that wait are
    written first.

    >>> import io, sapwood
    >>> with sapwood.recreate(io.BytesIO()) as file:
    ...     tree = file.mktree("tree", {"x": "f8"}, compression="zstd:5")
    ...     tree.extend({"x": [1.5, 2.5]})
    ...     tree["x"].compression = "lz4:4"
    ...     tree.extend({"x": [3.5]})
    ...     tree["x"].array().tolist(), tree["x"].compression
    ([1.5, 2.5, 3.5], LZ4(4))
    """

    _noun = "tree"

    def __init__(
        self, core: Any, schema: Schema | None, name: str, file: WritableFile | None = None, before: int = 0
    ) -> None:
        """``before`` counts the entries that the tree has already."""
        super().__init__(file)
        self._engine = core
        self._known = schema
        self.name = name
        """Its name in the file."""
        self._rows: list[tuple[int, Mapping[str, Any]]] = []
        self._filled = 0
        self._before = before
        # Rows that are gathered are given to the engine once; threads had better have a context each.
        self._lock = threading.RLock()
        self.closed = False
        """Whether it takes no more rows."""
        self.is_unsaved = False
        """Whether it was written whole since the last save, so that it has no key yet."""

    @classmethod
    def there(cls, file: WritableFile, name: str) -> WritableTree:
        """A tree that was in the file before; it is opened for writing when the first rows come."""
        tree = cls(None, None, name, file)
        tree._before = tree._read().num_entries
        return tree

    def again(self) -> WritableTree:
        """The same tree, to go on with it after it was closed."""
        tree = WritableTree(None, self._known, self.name, self.file)
        tree._before, tree.is_unsaved = self.num_entries, self.is_unsaved
        return tree

    @property
    def _core(self) -> _core.TreeWriter:
        with self._lock:
            if self._engine is None:
                self._engine = self._begin_again()
            engine: _core.TreeWriter = self._engine
            return engine

    def _begin_again(self) -> Any:
        """The engine's tree, for one that rests or was in the file before."""
        file = self.file
        if self.closed or file is None:
            raise errors.MismatchError(f"the tree {self.name!r} is closed")
        if self._known is not None:
            return file._core.resume(self.name, [], None, None)
        engine, self._known = file._append(self.name)
        return engine

    @property
    def is_resting(self) -> bool:
        """Whether the engine has given up its memory: it is begun again when rows come."""
        return self._engine is None

    @property
    def _schema(self) -> Schema:
        if self._known is None:
            self._core  # which tells it
        assert self._known is not None, "a tree that was opened has told its branches"
        return self._known

    @property
    def path(self) -> tuple[str, ...]:
        """Names of the directories from the root down to it, and its own."""
        return tuple(self.name.split("/"))

    @property
    def object_path(self) -> str:
        """Its path in the file."""
        return f"/{self.name}"

    @property
    def branches(self) -> list[str]:
        """Names of the branches, those that count lists included."""
        return [spec.name for spec in self._schema.specs]

    @property
    def num_entries(self) -> int:
        """Entries that were given so far, and taken; of a tree that was in the file before, all of them."""
        given = 0 if self._engine is None else self._engine.taken
        return self._before + given + len(self._rows)

    @property
    def compression(self) -> Any:
        """Setting of the branches, a mapping where they differ; a new one counts for what is written from now
        on."""
        found = {branch.name: branch.compression for branch in self._read().branches}
        settings = list(found.values())
        return settings[0] if settings and all(one == settings[0] for one in settings) else found

    @compression.setter
    def compression(self, setting: Any) -> None:
        general, own = of_branches(setting, "", self._schema)
        names = [spec.name for spec in self._schema.specs]
        self._recompress({name: own.get(name, general) for name in names})

    def _recompress(self, settings: Mapping[str, str | None]) -> None:
        with self._lock:
            if self.closed:
                raise errors.MismatchError(f"the tree {self.name!r} is closed")
            if self.file is None or self._known is None:
                raise errors.MismatchError(
                    f"the tree {self.name!r} was in the file before: append(compression=) sets it"
                )
            self.rest()
            wanted = [(name, setting) for name, setting in settings.items() if setting is not None]
            self._engine = self.file._core.resume(self.name, wanted, None, None)

    def __getitem__(self, where: str) -> Any:
        """A branch, to be read or to be given another compression."""
        if self._known is not None and where in self._known.places:
            return WritableBranch(self, where)
        return super().__getitem__(where)

    def extend(self, data: Any) -> None:
        """Adds rows: the same number for every column.

        ``data`` is a mapping from names to arrays, a structured NumPy array, an Awkward record array, a
        DataFrame or an Arrow table. Rows are kept until their cluster is whole. A stream of Arrow is taken
        batch by batch, and what is said below of a call is true for each batch.

        Raises :class:`sapwood.errors.MismatchError` where columns are missing or unknown, lengths differ, or
        a type does not fit: then no row was added. It comes also where rows that :meth:`fill` gathered before
        do not fit, and says so: then those are left out, and all rows of this call were added. What the disk
        reports (:class:`OSError`, for this cluster or the one before) leaves all rows added: they wait, and
        :meth:`flush` tries again.
        """
        for part in tables.batches(data):
            given = branch_values.values(self._schema, tables.columns_of(part, self._schema.columns))
            with self._lock:
                try:
                    self._spill("; the rows given to extend are added")
                finally:
                    if not self._rows:  # else these would stand before them
                        self._give(given)

    def _give(self, given: Any) -> None:
        before = self._core.taken
        try:
            self._core.extend(given)
        except errors.IOError as error:
            error.add_note(
                "all rows of this call are kept: flush() tries again, giving them again would double them"
            )
            raise
        except errors.SapwoodError:
            raise
        except BaseException:
            # Ctrl-C, or what another handler of a signal raises. The rest of this call would take as long to
            # write as what was interrupted.
            self._core.give_up(before)
            raise

    def fill(self, row: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        """Adds one row: a value for every column, and lengths of lists where one likes (they must be those).
        Rows are gathered, and given to the engine many at a time.

        Raises :class:`sapwood.errors.MismatchError` where columns are missing or unknown, or a value is
        plainly of another type: then this row is left out. Whether all of a value fits (items of lists,
        members of objects) shows when the rows that were gathered are written: the error comes with a later
        call then, and names the row, counted in calls from 0. Rows that fit are always kept.

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
        kept = {
            name: value if isinstance(value, _PLAIN) else copy.deepcopy(value)
            for name, value in values.items()
        }
        with self._lock:
            self._rows.append((number, kept))
            if len(self._rows) >= ROWS:
                self._spill()

    def _spill(self, more: str = "") -> None:
        """Gives the engine the rows that were gathered. Those that do not fit are found by halves, and left
        out; the error says ``more`` then."""
        wrong: list[tuple[int, Exception]] = []
        gathered = len(self._rows)
        # Some rows may have lengths of lists with them, and others not.
        sizes = [len(list(rows)) for _, rows in itertools.groupby(self._rows, lambda row: row[1].keys())][
            ::-1
        ]
        while sizes:
            size = sizes.pop()
            rows = self._rows[:size]
            before = self._core.taken
            try:
                columns = {name: [row[name] for _, row in rows] for name in rows[0][1]}
                self._core.extend(branch_values.values(self._schema, columns))
            except (errors.IOError, MemoryError):
                raise
            except Exception as error:
                if self._core.taken > before:
                    raise  # of a handler of a signal: the rows are taken
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
            others = (
                f" (and {len(wrong) - 1} others, the last is row {wrong[-1][0]})" if len(wrong) > 1 else ""
            )
            kind = (
                errors.UnsupportedError
                if isinstance(first, errors.UnsupportedError)
                else errors.MismatchError
            )
            raise kind(
                f"row {number}{others} is left out: {first}; {gathered - len(wrong)} of the {gathered} rows that were gathered are kept{more}"
            )

    def flush(self) -> None:
        """Writes the rows that are kept as a cluster of their own."""
        with self._lock:
            if not self.closed and (self._engine is not None or self._rows):
                try:
                    self._spill()
                finally:
                    self._core.flush()

    def rest(self) -> None:
        """Writes the rows that are kept and gives back the memory that they took, until more come."""
        with self._lock:
            self.flush()
            if self._engine is not None:
                self._before += self._engine.taken
                self._engine.close()
                self._engine = None
                self.is_unsaved = True

    def close(self) -> None:
        """Writes the rows that are kept, and ends."""
        with self._lock:
            if self._engine is None and not self._rows:
                self.closed = True
                return
            engine, self.closed = self._core, True
            try:
                self._spill()
            finally:
                self._before += engine.taken
                self._engine = None
                engine.close()

    def __enter__(self) -> WritableTree:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        errors.close_after(error, self.close)

    def __repr__(self) -> str:
        return f"<WritableTree {self.name!r} of {self.num_entries} entries>"


class WritableBranch:
    """A branch of a tree that is being filled: its compression can be set, and it can be read, as a
    :class:`~sapwood.Branch`."""

    def __init__(self, tree: WritableTree, name: str) -> None:
        self._tree = tree
        self.name = name
        """Its name."""

    @property
    def tree(self) -> WritableTree:
        """The tree that it is in."""
        return self._tree

    @property
    def compression(self) -> Any:
        """Its setting; a new one counts for what is written from now on."""
        return self._tree._read()[self.name].compression

    @compression.setter
    def compression(self, setting: Any) -> None:
        self._tree._recompress({self.name: as_compression(setting)})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") and name != "__array__":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._tree._read()[self.name], name)

    def __repr__(self) -> str:
        return f"<WritableBranch {self.name!r} in {self._tree.name!r}>"
