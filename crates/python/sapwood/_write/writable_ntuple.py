"""RNTuples that are being filled."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from sapwood import errors
from sapwood._file.sizes import as_bytes
from sapwood._write import classes, fields, tables
from sapwood._write.lossless import shown
from sapwood._write.parallel_tree import check_number
from sapwood._write.read_back import ReadBack
from sapwood.compression import as_compression, of_names
from sapwood.errors import MismatchError, SapwoodError

if TYPE_CHECKING:
    from sapwood.writing import WritableFile


class WritableNTuple(ReadBack):
    """An RNTuple that is being filled. It is read, too, with all rows so far.

    >>> import io, sapwood
    >>> memory = io.BytesIO()
    >>> with sapwood.recreate(memory) as file:
    ...     ntuple = file.mkrntuple("events", {"run": "int32", "jets": "var * float32"})
    ...     ntuple.extend({"run": [1, 1], "jets": [[20.5, 30.5], []]})
    >>> sapwood.open(memory)["events"]["jets"].array().tolist()
    [[20.5, 30.5], []]
    """

    _noun = "RNTuple"

    def __init__(
        self,
        core: Any,
        kinds: dict[str, fields.Kind] | None,
        name: str,
        file: WritableFile | None = None,
        before: int = 0,
    ) -> None:
        super().__init__(file)
        self._engine = core
        self._known = kinds
        self.name = name
        """Its name in the file."""
        self._entries = before
        self.closed = False
        """Whether it takes no more rows."""

    @classmethod
    def there(cls, file: WritableFile, name: str) -> WritableNTuple:
        """An RNTuple that was in the file before; it is opened for writing when the first rows come."""
        ntuple = cls(None, None, name, file)
        ntuple._entries = ntuple._read().num_entries
        return ntuple

    @property
    def _core(self) -> Any:
        if self._engine is None:
            file = self.file
            if self.closed or file is None:
                raise MismatchError(f"the RNTuple {self.name!r} is closed")
            self._engine = file._core.append_ntuple(self.name, None, None, None, AUTO_SAVE)
            self._known = dict(self._engine.fields())
        return self._engine

    @property
    def _kinds(self) -> dict[str, fields.Kind]:
        if self._known is None:
            self._core  # opening it finds them
        assert self._known is not None, "the engine knows the fields of an open RNTuple"
        return self._known

    @property
    def num_entries(self) -> int:
        """Entries so far; of an RNTuple that was in the file before, all of them."""
        return self._entries

    @property
    def field_names(self) -> list[str]:
        """Names of its fields."""
        return list(self._kinds)

    def extend(self, data: Any) -> None:
        """Adds rows: a mapping from names of fields to columns, an Awkward array of records, a structured
        NumPy array, a DataFrame or an Arrow table; or objects of a dataclass, whose members are the fields.

        Raises :class:`~sapwood.errors.MismatchError` where fields are missing, unknown or of another type: no
        row is added then.
        """
        if self.closed:
            raise MismatchError(f"the RNTuple {self.name!r} is closed")
        if _are_objects(data):
            self._extend(_members(data, self._kinds))
            return
        for part in tables.batches(data):
            self._extend(tables.columns_of(part, self._kinds))

    def _extend(self, columns: Mapping[str, Any]) -> None:
        given, rows = [], 0
        for name, column in columns.items():
            kind, rows, buffers = fields.of_data(name, column, self._kinds.get(name))
            given.append((name, kind, rows, buffers))
        before = self._core.taken()
        try:
            self._core.extend(given)
        except SapwoodError:
            raise
        except BaseException:
            # Ctrl-C, or what another handler of a signal raises. The rest of this call would take as long to
            # write as what was interrupted.
            self._core.give_up(before)
            self._entries += self._core.taken() - before
            raise
        self._entries += rows if given else 0

    def add_fields(self, field_types: Any, *, compression: Any = None) -> None:
        """Adds fields, by the types that ``mkrntuple`` takes. Rows so far have zeros, empty lists and empty
        strings there, and those that wait are written as a cluster; later rows give them values.

        ``compression`` is a setting, or a mapping from names or globs of fields to settings; without it the
        fields have that of the RNTuple.

        >>> import io, sapwood
        >>> with sapwood.recreate(memory := io.BytesIO()) as file:
        ...     ntuple = file.mkrntuple("events", {"x": [1, 2]})
        ...     ntuple.add_fields({"weight": "float32"})
        ...     ntuple.extend({"x": [3], "weight": [0.5]})
        >>> sapwood.open(memory)["events/weight"].array().tolist()
        [0.0, 0.0, 0.5]

        Raises :class:`~sapwood.errors.ExistsError` for a name that there is already.
        """
        if self.closed:
            raise MismatchError(f"the RNTuple {self.name!r} is closed")
        if classes.is_class(field_types):
            kinds = fields.of_members(field_types)
        elif fields.are_types(field_types):
            kinds = {str(name): fields.of_type(str(name), kind) for name, kind in field_types.items()}
        else:
            raise MismatchError(f"types of fields were expected, and {shown(field_types)} was given")
        general, own = of_names(compression, {name: () for name in kinds}) if compression else (None, {})
        self._core.add_fields([(name, kind, own.get(name, general)) for name, kind in kinds.items()])
        self._known = self._kinds | kinds

    def flush(self) -> None:
        """Writes rows that wait as a cluster of their own."""
        if not self.closed and self._engine is not None:
            self._engine.flush()

    def close(self) -> None:
        """Writes rows that wait, and ends."""
        if not self.closed:
            self.closed = True
            if self._engine is not None:
                self._engine.close()

    def __enter__(self) -> WritableNTuple:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        known = "" if self._known is None else f"{len(self._known)} fields, "
        return f"<WritableNTuple {self.name!r} ({known}{self._entries} entries)>"


class NTupleContext(WritableNTuple):
    """What one thread fills an RNTuple through: as :class:`WritableNTuple`, but leaving its ``with`` block by
    an error gives up the rows that wait."""

    def discard(self) -> None:
        """Gives up the rows that wait, and ends. What was committed stays."""
        if not self.closed:
            self.closed = True
            self._core.discard()

    def __enter__(self) -> NTupleContext:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            self.close()
        else:
            self.discard()


class NumberedNTupleContext:
    """Brings numbered units of work of an RNTuple, one after another. Leaving its ``with`` block ends it."""

    def __init__(self, core: Any, ntuple: ParallelNTuple) -> None:
        self._core = core
        self._ntuple = ntuple

    def unit(self, number: int) -> NTupleContext:
        """Begins the unit of a number: it is whole once it is closed.

        Raises :class:`sapwood.errors.ExistsError` where the number was given before,
        :class:`sapwood.errors.MismatchError` while the last unit of this context is open.
        """
        return self._ntuple._begun(self._core.unit(check_number(number)))

    def close(self) -> None:
        """Brings no more units."""
        self._core.close()

    def __enter__(self) -> NumberedNTupleContext:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ParallelNTuple:
    """An RNTuple that many threads fill."""

    def __init__(self, core: Any, kinds: dict[str, fields.Kind], name: str) -> None:
        self._core = core
        self._kinds = kinds
        self.name = name
        """Its name in the file."""
        self._contexts: set[NTupleContext] = set()
        self._lock = threading.Lock()
        self.closed = False
        """Whether it takes no more rows."""

    @property
    def num_entries(self) -> int:
        """Entries of the clusters that are committed: a save shows as many."""
        return int(self._core.entries())

    @property
    def field_names(self) -> list[str]:
        """Names of its fields."""
        return list(self._kinds)

    def context(self) -> NTupleContext:
        """What one thread fills the RNTuple through. Its clusters follow those that others committed before.

        Rows wait in it until their cluster is whole: close it, or leave its ``with`` block. One that is left
        open is closed with the RNTuple.
        """
        return self._begun(self._core.context())

    def numbered(self) -> NumberedNTupleContext:
        """Brings units of work that stand in the RNTuple in the order of their numbers, from 0 on, whichever is
        done first: the file does not depend on the threads (with ``reproducible`` not in a byte).

        Make one for each thread before any begins: waiting for a number that no open context can bring is an
        error.

        >>> import io, sapwood
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> def work(worker, numbers):
        ...     with worker:
        ...         for number in numbers:
        ...             with worker.unit(number) as unit:
        ...                 unit.extend({"x": [10 * number, 10 * number + 1]})
        >>> with sapwood.recreate(memory := io.BytesIO()) as file:
        ...     ntuple = file.parallel_rntuple("events", {"x": "i4"})
        ...     workers = [ntuple.numbered() for _ in range(2)]
        ...     with ThreadPoolExecutor(2) as pool:
        ...         _ = list(pool.map(work, workers, [[1, 2], [0, 3]]))
        >>> sapwood.open(memory)["events/x"].array().tolist()
        [0, 1, 10, 11, 20, 21, 30, 31]
        """
        return NumberedNTupleContext(self._core.numbered(), self)

    def _begun(self, core: Any) -> NTupleContext:
        context = NTupleContext(core, self._kinds, self.name)
        with self._lock:
            self._contexts = {known for known in self._contexts if not known.closed} | {context}
        return context

    def save(self) -> int:
        """Makes what is committed visible to every reader, from any thread; gives the entries that the
        RNTuple has then."""
        return int(self._core.save())

    def flush(self) -> None:
        """The same as :meth:`save`: rows that wait are their contexts' own."""
        if not self.closed:
            self.save()

    def close(self) -> None:
        """Ends the RNTuple, and contexts that are still open."""
        if self.closed:
            return
        self.closed = True
        failures: list[Exception] = []
        for context in self._contexts:
            try:
                context.close()
            except Exception as error:
                failures.append(error)
        self._contexts.clear()
        self._core.close()
        errors.throw(failures)

    def __enter__(self) -> ParallelNTuple:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        errors.close_after(error, self.close)

    def __repr__(self) -> str:
        return f"<ParallelNTuple {self.name!r} ({len(self._kinds)} fields)>"


def _are_objects(data: Any) -> bool:
    """Whether rows are objects of a dataclass."""
    return isinstance(data, (list, tuple)) and bool(data) and classes.is_class(type(data[0]))


def _members(data: Any, names: Iterable[str]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    for name in names:
        columns[name] = column = []
        for row, value in enumerate(data):
            try:
                column.append(getattr(value, name))
            except AttributeError:
                words = f"an object with a member {name!r} was expected, and {shown(value)} was given"
                raise MismatchError(f"{words} in row {row}") from None
    return columns


def _specs(
    file: WritableFile, kinds: Mapping[str, fields.Kind], compression: Any
) -> tuple[list[tuple[str, fields.Kind, str | None]], str]:
    """Fields for the engine, and the compression of all that have none."""
    general, own = file._compressions(compression, {name: () for name in kinds})
    if general is None:
        general = "zstd:5" if file._is_usual else as_compression(file._setting)
    return [(name, kind, own.get(name)) for name, kind in kinds.items()], general


def _begun(
    file: WritableFile,
    path: str,
    kinds: Mapping[str, fields.Kind],
    description: str,
    compression: Any,
    cluster_bytes: int | str | None,
    page_bytes: int | str | None,
    **how: bool,
) -> Any:
    """The engine's RNTuple of these fields."""
    specs, general = _specs(file, kinds, compression)
    sizes = [None if size is None else as_bytes(size) for size in (cluster_bytes, page_bytes)]
    file._make_way(path)
    return file._core.ntuple(
        path, specs, description, general, cluster_bytes=sizes[0], page_bytes=sizes[1], **how
    )


def begin(
    file: WritableFile,
    path: str,
    given: Any,
    description: str,
    compression: Any,
    cluster_bytes: int | str | None,
    page_bytes: int | str | None,
) -> WritableNTuple:
    """Begins an RNTuple of types, or of data, which are its first entries."""
    data: Any = None
    parts: Iterator[Any] = iter(())
    if classes.is_class(given):
        kinds = fields.of_members(given)
    elif _are_objects(given):
        kinds, data = fields.of_members(type(given[0])), given
    elif fields.are_types(given):
        kinds = {str(name): fields.of_type(str(name), kind) for name, kind in given.items()}
    else:
        parts = tables.batches(given)
        data = tables.columns_of(next(parts))
        kinds = {name: fields.of_data(name, column)[0] for name, column in data.items()}
    core = _begun(file, path, kinds, description, compression, cluster_bytes, page_bytes)
    ntuple = WritableNTuple(core, kinds, path, file)
    file._take(ntuple)
    if data is not None:
        for part in chain([data], parts):
            ntuple.extend(part)
    return ntuple


def append(
    file: WritableFile,
    path: str,
    compression: Any,
    auto_save: int,
    cluster_bytes: int | str | None,
    page_bytes: int | str | None,
) -> WritableNTuple:
    """An RNTuple that was in the file before."""
    if auto_save > 0:
        raise MismatchError("an RNTuple is saved after a number of bytes: give auto_save a size")
    setting = None if compression == "tree" else as_compression(compression)
    cluster, page = (None if size is None else as_bytes(size) for size in (cluster_bytes, page_bytes))
    core = file._core.append_ntuple(path, setting, cluster, page, -auto_save or NEVER)
    before = file._last_saved()[path].num_entries
    ntuple = WritableNTuple(core, dict(core.fields()), path, file, before)
    file._take(ntuple)
    return ntuple


def fill_fields(file: WritableFile, path: str, data: Any, compression: Any) -> None:
    """Adds fields to an RNTuple that was in the file before, with a value for each of its entries."""
    columns = [(name, *fields.of_data(name, column)) for name, column in tables.columns_of(data, ()).items()]
    specs, general = _specs(file, {name: kind for name, kind, *_ in columns}, compression)
    file._core.fill_fields(path, specs, columns, general)


NEVER = 2**63
"""Bytes that no file has."""

AUTO_SAVE = 300_000_000
"""Compressed bytes after which an RNTuple is saved by default."""


def begin_parallel(
    file: WritableFile,
    path: str,
    given: Any,
    description: str,
    compression: Any,
    cluster_bytes: int | str | None,
    page_bytes: int | str | None,
) -> ParallelNTuple:
    """Begins an RNTuple of types that many threads fill."""
    if classes.is_class(given):
        kinds = fields.of_members(given)
    elif fields.are_types(given):
        kinds = {str(name): fields.of_type(str(name), kind) for name, kind in given.items()}
    else:
        raise MismatchError(f"types of fields were expected, and {shown(given)} was given")
    core = _begun(file, path, kinds, description, compression, cluster_bytes, page_bytes, parallel=True)
    ntuple = ParallelNTuple(core, kinds, path)
    file._take(ntuple)
    return ntuple
