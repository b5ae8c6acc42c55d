"""Where rows go to: writers of all formats, which take Arrow's batches one after another."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from sapwood._convert import counters, formats, kinds
from sapwood._convert.hdf5 import Hdf5Writer
from sapwood._convert.numpy_files import NpyWriter, NpzWriter
from sapwood._read.libraries import need
from sapwood._write import tables
from sapwood.errors import MismatchError, SapwoodError, UnsupportedError, place


class Writer(Protocol):
    """A file that is written."""

    def write(self, batch: Any) -> None:
        """Adds rows."""

    def close(self) -> None:
        """Completes the file."""

    def abort(self) -> None:
        """Ends without completing it."""


class InRoot(NamedTuple):
    """The tree or RNTuple that a file of ROOT gets."""

    name: str
    nullable: bool
    """Whether fields of an RNTuple may have missing values."""
    counting: counters.Counting
    """Facts about counters of lists that an earlier attempt found."""
    is_only_attempt: bool
    """Whether the rows cannot be read again."""


def writer(path: str, format: str, schema: Any, setting: str | None, in_root: InRoot) -> Writer:
    """What writes a file."""
    if in_root.nullable and format != "rntuple":
        raise MismatchError(f"nullable is for RNTuples: {format} keeps missing values where it can")
    if format in ("ttree", "rntuple"):
        return RootWriter(path, format, schema, setting, in_root)
    return _WRITERS[format](path, schema, setting)


class RootWriter:
    """A tree or an RNTuple in a file of ROOT. Columns of other formats may have missing values; those that
    have none need no optional field for that."""

    def __init__(self, path: str, format: str, schema: Any, setting: str | None, in_root: InRoot) -> None:
        from sapwood.writing import recreate

        self._compression: dict[str, Any] = (
            {} if setting is None else {"compression": None if setting == "none" else setting}
        )
        self._file = recreate(path, format=format, **self._compression)
        self._format, self._schema, self._in_root = format, schema, in_root
        self._kinds, self._title = kinds.numbers(schema, "_" if format == "ttree" else ".")
        self._tree: Any = None
        self._counters: counters.Counters | None = None
        self._collision: MismatchError | None = None
        """The first error about rows that do not fit the counters: later rows are only compared, not written."""

    def write(self, batch: Any) -> None:
        """Adds rows.

        Raises :class:`~sapwood._convert.counters.CountersCollideError` if they do not fit the counters of
        lists and cannot be read again. If they can, :meth:`close` raises it, when all of them were compared.
        """
        if self._collision is not None and self._counters is not None:
            names = self._counters.compared()
            self._counters.compare(self._columns(batch.select([n for n in batch.schema.names if n in names])))
            return
        rows = self._columns(batch)
        try:
            self._add(rows)
        except UnsupportedError as error:
            raise self._with_a_way_out(error) from None
        except MismatchError as error:
            if "cannot be named" in str(error):
                way = "rename the column, leave it out (columns, -c), or write a tree (--to ttree)"
                raise MismatchError(f"{str(error).removeprefix('mismatch: ')}: {way}") from None
            if self._counters is None or not self._counters.are_refuted(rows):
                raise
            if self._in_root.is_only_attempt:
                raise counters.CountersCollideError(str(error), self._counters.found()) from error
            self._collision = error

    def _columns(self, batch: Any) -> Any:
        """Rows as the tree takes them."""
        pa = need("pyarrow", "sapwood.convert()")
        types = {name: kind for name, kind in self._kinds.items() if name in batch.schema.names}
        rows: Any = kinds.with_types(pa.Table.from_batches([batch]), types)
        if self._in_root.nullable:
            return rows
        try:
            return {name: tables.as_column(name, rows.column(name)) for name in rows.column_names}
        except UnsupportedError as error:
            raise self._with_a_way_out(error) from None
        except MismatchError as error:
            if "missing values" not in str(error):
                raise
            if self._format == "ttree":
                way = "keep them in an RNTuple (format='rntuple', nullable=True; --to rntuple --nullable)"
                raise MismatchError(f"{error}; or {way}") from None
            words = str(error).replace("no branch", "no plain field")
            raise MismatchError(f"{words}; or keep them (nullable=True, --nullable)") from None

    def _add(self, rows: Any) -> None:
        if self._tree is not None:
            self._tree.extend(rows)
        elif self._format != "ttree":
            self._tree = self._file.mkrntuple(self._in_root.name, rows, self._title)
        else:
            remembered = counters.remembered(self._schema)
            self._counters = counters.Counters(rows, remembered, self._in_root.counting)
            types = self._counters.types(rows)
            counter_name = self._counters.of
            self._tree = self._file.mktree(self._in_root.name, types, self._title, counter_name=counter_name)
            self._tree.extend(rows)
        if self._counters is not None:
            self._counters.watch(rows)

    def close(self) -> None:
        """Completes the file."""
        if self._tree is None:
            pa = need("pyarrow", "sapwood.convert()")
            self.write(pa.RecordBatch.from_pylist([], schema=self._schema))
        if self._collision is not None and self._counters is not None:
            raise counters.CountersCollideError(str(self._collision), self._counters.found())
        self._tree.close()
        self._file.close()
        if self._counters is not None:
            self._counters.tell()

    def abort(self) -> None:
        """Ends without completing it."""
        try:
            self._file.close()
        except Exception:
            pass  # of what goes wrong, the first is told

    def _with_a_way_out(self, error: UnsupportedError) -> UnsupportedError:
        """The error about a type, with advice that the command can follow."""
        way = "name another (types=, --types COLUMN=float64 or COLUMN=string), or leave it out (columns, -c)"
        words = str(error).removeprefix("unsupported: ").replace("cast it to another", way)
        if self._format == "ttree" and words.endswith("cannot be written yet"):
            words += (
                " in trees: write an RNTuple (format='rntuple', --to rntuple), or leave it out (columns, -c)"
            )
        return UnsupportedError(words)


class ParquetWriter:
    """A Parquet file: a row group for each batch."""

    def __init__(self, path: str, schema: Any, setting: str | None) -> None:
        parquet = need("pyarrow.parquet", "sapwood.convert()", "pyarrow")
        codec, level = formats.codec("parquet", setting)
        pa = need("pyarrow", "sapwood.convert()")
        for field in schema:
            if pa.types.is_union(field.type):
                raise formats.refuse(
                    "Parquet", field.name, field.type, "has no type for values of several types", ("Feather",)
                )
        #: Parquet has no values in a record that is missing, whose members Arrow keeps.
        self._schema = pa.schema([kinds.with_missing_members(field) for field in schema], schema.metadata)
        self._is_same = self._schema.equals(schema)
        self._writer = parquet.ParquetWriter(
            path, self._schema, compression=codec or "none", compression_level=level
        )

    def write(self, batch: Any) -> None:
        """Adds rows."""
        if self._is_same:
            return self._writer.write_batch(batch)
        pa = need("pyarrow", "sapwood.convert()")
        self._writer.write_table(pa.Table.from_batches([batch]).cast(self._schema))

    def close(self) -> None:
        """Completes the file."""
        self._writer.close()

    abort = close


class ArrowWriter:
    """A file of Arrow's format: with an index of its batches (Feather), or as a stream."""

    def __init__(self, path: str, schema: Any, setting: str | None, is_stream: bool = False) -> None:
        pa = need("pyarrow", "sapwood.convert()")
        name, level = formats.codec("feather", setting)
        codec = None if name is None else pa.Codec(name, level) if level is not None else pa.Codec(name)
        options = pa.ipc.IpcWriteOptions(compression=codec)
        begin = pa.ipc.new_stream if is_stream else pa.ipc.new_file
        self._sink = pa.OSFile(path, "wb")
        self._writer = begin(self._sink, schema, options=options)

    def write(self, batch: Any) -> None:
        """Adds rows."""
        self._writer.write_batch(batch)

    def close(self) -> None:
        """Completes the file."""
        self._writer.close()
        self._sink.close()

    abort = close


class _Text:
    """A file of text, compressed if its name says so."""

    def __init__(self, path: str, setting: str | None, format: str) -> None:
        pa = need("pyarrow", "sapwood.convert()")
        codec, _ = formats.codec(format, setting)
        self.sink = pa.OSFile(path, "wb")
        self.out = self.sink if codec is None else pa.CompressedOutputStream(self.sink, codec)

    def close(self) -> None:
        if self.out is not self.sink:
            self.out.close()
        self.sink.close()


class CsvWriter:
    """Comma separated values with a line of names."""

    def __init__(self, path: str, schema: Any, setting: str | None) -> None:
        csv = need("pyarrow.csv", "sapwood.convert()", "pyarrow")
        pa = need("pyarrow", "sapwood.convert()")
        for field in schema:
            if pa.types.is_nested(field.type):
                raise formats.refuse(
                    "CSV", field.name, field.type, "has one value in a cell", ("JSON lines", "Parquet")
                )
        self._text = _Text(path, setting, "csv")
        self._writer = csv.CSVWriter(self._text.out, schema)

    def write(self, batch: Any) -> None:
        """Adds rows."""
        self._writer.write_batch(batch)

    def close(self) -> None:
        """Completes the file."""
        self._writer.close()
        self._text.close()

    abort = close


class JsonWriter:
    """A line of JSON for each row. What is not finite is written as Python, pandas, DuckDB and Arrow read it:
    ``NaN``, ``Infinity``, ``-Infinity``."""

    def __init__(self, path: str, schema: Any, setting: str | None) -> None:
        for field in schema:
            if kinds.has_bytes(field.type):
                raise formats.refuse(
                    "JSON", field.name, field.type, "has texts alone", ("Parquet", "Feather")
                )
        self._text = _Text(path, setting, "jsonl")
        self._kinds = kinds.for_json(schema)

    def write(self, batch: Any) -> None:
        """Adds rows."""
        rows = kinds.with_types(batch, self._kinds).to_pylist()
        lines = [json.dumps(row, separators=(",", ":"), default=str) for row in rows]
        self._text.out.write(("\n".join(lines) + "\n").encode() if lines else b"")

    def close(self) -> None:
        """Completes the file."""
        self._text.close()

    abort = close


def _stream_writer(path: str, schema: Any, setting: str | None) -> ArrowWriter:
    return ArrowWriter(path, schema, setting, True)


_WRITERS: dict[str, Any] = {
    "parquet": ParquetWriter,
    "feather": ArrowWriter,
    "arrows": _stream_writer,
    "csv": CsvWriter,
    "jsonl": JsonWriter,
    "npz": NpzWriter,
    "npy": NpyWriter,
    "hdf5": Hdf5Writer,
}


@contextlib.contextmanager
def explained(path: str, format: str, schema: Any, batch: Any = None) -> Iterator[None]:
    """Errors of pyarrow about rows that a format does not hold, with the column, the file and what to do.

    Raises :class:`~sapwood.errors.MismatchError` for them.
    """
    pa = need("pyarrow", "sapwood.convert()")
    try:
        yield
    except (pa.ArrowException, OverflowError) as error:
        if isinstance(error, SapwoodError) or getattr(error, "errno", None) is not None:
            raise
        name = _culprit(format, schema, batch)
        zone = None if name is None else kinds.unknown_zone(schema.field(name).type)
        said = " ".join(str(error).split())
        if name is None:
            words = f"{format} cannot hold these rows: {said}: name other types (types=, --types COLUMN=TYPE)"
        elif zone is not None:
            words = (
                f"column {name!r} has times of the zone {zone!r}, which is not known here: take UTC (types=, --types "
                f"{name}=timestamp[us]) or whole numbers (--types {name}=int64)"
            )
        else:
            words = (
                f"column {name!r} ({schema.field(name).type}) has values that {format} does not hold: {said}: name "
                f"another type (types=, --types {name}=TYPE), or leave it out (columns, -c)"
            )
        raise MismatchError(f"{words}{place(path, None)}") from error


def _culprit(format: str, schema: Any, batch: Any) -> str | None:
    """The first column that a format does not hold, if one alone is the reason."""
    pa = need("pyarrow", "sapwood.convert()")
    for field in schema if format in ("parquet", "feather", "arrows", "csv", "jsonl") else ():
        try:
            trial = _WRITERS[format](os.devnull, pa.schema([field]), None)
            try:
                if batch is not None:
                    trial.write(batch.select([field.name]))
            finally:
                trial.close()
        except (pa.ArrowException, OverflowError):
            return str(field.name)
    return None


def check_setting(path: str, format: str, setting: str | None) -> str | None:
    """The compression of a target: a setting, or for texts what its name says.

    Raises :class:`~sapwood.errors.MismatchError` for what the format does not have.
    """
    if format in ("ttree", "rntuple"):
        from sapwood.compression import as_compression

        if setting not in (None, "none"):
            as_compression(setting)
        return setting
    if format in ("csv", "jsonl"):
        named = formats.packing(path)
        if setting not in (None, named):
            raise MismatchError(
                f"{path}: how a text is compressed is said by its name, like .{format}.gz and .{format}.zst"
            )
        return named
    formats.codec(format, setting)
    return setting
