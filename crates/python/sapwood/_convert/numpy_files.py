"""NumPy's files: columns of numbers, and texts of a fixed length, read and written in parts."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sapwood._convert import formats
from sapwood._read.libraries import need
from sapwood.errors import MismatchError, UnsupportedError, place

_BLOCK = 1 << 20


def read_npz(path: str, rows_in: Callable[[Any], int]) -> tuple[Any, Iterator[Any], int]:
    """Schema, batches and length of a ``.npz`` file: each array is a column."""
    archive = zipfile.ZipFile(path)
    members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    streams, found = {}, {}
    for name, info in members.items():
        streams[name] = archive.open(info)
        found[name] = _header(streams[name], name, path)
    lengths = {name: shape[0] if shape else None for name, (_, shape) in found.items()}
    if len(set(lengths.values())) != 1 or None in lengths.values():
        raise MismatchError(f"the arrays have different lengths, or none: {lengths}{place(path, None)}")
    total = next(iter(lengths.values())) or 0
    empty = {name: np.zeros((0, *shape[1:]), dtype) for name, (dtype, shape) in found.items()}
    schema = _table(empty).schema
    step = rows_in(schema)

    def batches() -> Iterator[Any]:
        for start in range(0, total, step):
            rows = min(step, total - start)
            columns = {
                name: _read(streams[name], dtype, (rows, *shape[1:]))
                for name, (dtype, shape) in found.items()
            }
            yield from _table(columns).cast(schema).to_batches()

    return schema, batches(), total


def read_npy(path: str, rows_in: Callable[[Any], int]) -> tuple[Any, Iterator[Any], int]:
    """The same of a ``.npy`` file: the fields of a structured array are columns, or one of the name
    ``values``."""
    with open(path, "rb") as file:
        np.lib.format.read_magic(file)  # NumPy takes any other file for objects of Python
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        if "bject" not in str(error):
            raise
        check_dtype(np.dtype(object), "values", path)
        raise
    for name, of in (array.dtype.fields or {"values": (array.dtype,)}).items():
        check_dtype(of[0], name, path)
    if not array.ndim:
        raise MismatchError(f"one value is no column{place(path, None)}")
    schema = _table(_fields(array[:0])).schema
    step = rows_in(schema)

    def batches() -> Iterator[Any]:
        for start in range(0, len(array), step):
            part = np.ascontiguousarray(array[start : start + step])
            yield from _table(_fields(part)).cast(schema).to_batches()

    return schema, batches(), len(array)


def _fields(array: Any) -> dict[str, Any]:
    return {name: array[name] for name in array.dtype.names} if array.dtype.names else {"values": array}


def check_dtype(dtype: np.dtype[Any], name: str, path: str, with_records: bool = False) -> None:
    """Checks that columns of Arrow, and branches, have a type for the values of an array.

    >>> check_dtype(np.dtype("c16"), "z", "a.npz")
    Traceback (most recent call last):
    sapwood.errors.UnsupportedError: the array 'z' holds complex numbers (complex128), for which trees and tables have \
no place: save their parts as two arrays, like z.real and z.imag (file a.npz)
    """
    base = dtype.base
    if base.names and with_records:
        for field in base.names:
            check_dtype(base[field], f"{name}.{field}", path, True)
        return
    pa = need("pyarrow", "sapwood.convert()")
    if base.kind == "c":
        what, way = "complex numbers", f"save their parts as two arrays, like {name}.real and {name}.imag"
    elif base.names:
        what, way = "records", "save each field as an array"
    elif base.hasobject:
        what, way = "objects of Python", f"save it with another type, as in {name}.astype('f8')"
    else:
        try:
            pa.from_numpy_dtype(base.newbyteorder("="))
        except (pa.ArrowException, NotImplementedError):
            other = {"M": "M8[s]", "m": "m8[s]", "V": "V"}.get(base.kind, "f8")
            view = f"view(('u1', {base.itemsize}))" if other == "V" else f"astype({other!r})"
            what, way = "values of another type", f"save it with another type, as in {name}.{view}"
        else:
            return
    words = f"the array {name!r} holds {what} ({base}), for which trees and tables have no place: {way}"
    raise UnsupportedError(f"{words}{place(path, None)}")


def _header(stream: Any, name: str, path: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Type and shape of an array; its values follow."""
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, is_fortran, dtype = read(stream)
    check_dtype(dtype, name, path)
    if is_fortran and len(shape) > 1:
        words = f"the array {name!r} is stored by columns, and rows are read one after another"
        raise UnsupportedError(f"{words}: save numpy.ascontiguousarray({name}){place(path, None)}")
    return dtype, shape


def _read(stream: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Any:
    size = dtype.itemsize * int(np.prod(shape))
    data = bytearray()
    while len(data) < size:
        part = stream.read(min(size - len(data), 64 * _BLOCK))
        if not part:
            raise MismatchError("the file ends before its values do")
        data += part
    return np.frombuffer(data, dtype).reshape(shape)


def _table(columns: dict[str, Any]) -> Any:
    pa = need("pyarrow", "sapwood.convert()")
    return pa.table({name: _arrow(pa, array) for name, array in columns.items()})


def _arrow(pa: Any, array: Any) -> Any:
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8", "surrogateescape")
    flat = pa.array(np.ascontiguousarray(array).reshape(-1))
    for size in reversed(array.shape[1:]):
        flat = pa.FixedSizeListArray.from_arrays(flat, size)
    return flat


# ---- writing


def to_numpy(column: Any, name: str, format: str) -> Any:
    """A column of Arrow as a NumPy array.

    Raises :class:`~sapwood.errors.UnsupportedError` naming column and type, and
    :class:`~sapwood.errors.MismatchError` for missing values.
    """
    pa = need("pyarrow", "sapwood.convert()")
    kind, shape = column.type, []
    if column.null_count:
        raise MismatchError(
            f"column {name!r} has {column.null_count} missing values, for which {format} has no place"
        )
    while pa.types.is_fixed_size_list(kind):
        shape.append(kind.list_size)
        kind = kind.value_type
        column = column.flatten()
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return np.asarray(column.to_pylist(), "U") if len(column) else np.zeros((0, *shape), "U1")
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise formats.refuse(
            format, name, kind, "has columns of numbers and texts alone", ("Parquet", "Feather")
        )
    return column.to_numpy(zero_copy_only=False).reshape((-1, *shape))


class NpzWriter:
    """A ``.npz`` file: each column goes to a file of its own, and all of them to the archive in the end."""

    def __init__(self, path: str, schema: Any, setting: str | None) -> None:
        self._path = path
        codec, level = formats.codec("npz", setting)
        self._how = (zipfile.ZIP_DEFLATED if codec else zipfile.ZIP_STORED, level)
        self._folder = tempfile.TemporaryDirectory(dir=os.path.dirname(path) or ".", prefix=".sapwood-")
        empty = schema.empty_table()
        self._columns = {name: _Column(self._folder.name, number) for number, name in enumerate(schema.names)}
        for name, column in self._columns.items():
            column.add(to_numpy(empty.column(name).combine_chunks(), name, "npz"))

    def write(self, batch: Any) -> None:
        """Adds rows."""
        for name, column in self._columns.items():
            column.add(to_numpy(batch.column(name), name, "npz"))

    def close(self) -> None:
        """Puts the archive together."""
        kind, level = self._how
        with zipfile.ZipFile(self._path, "w", kind, compresslevel=level) as archive:
            for name, column in self._columns.items():
                archive.write(column.finish(), f"{name}.npy")
        self._folder.cleanup()

    def abort(self) -> None:
        """Takes away what was written."""
        for column in self._columns.values():
            column.file.close()
        self._folder.cleanup()


class NpyWriter:
    """A ``.npy`` file: a structured array with a field for each column."""

    def __init__(self, path: str, schema: Any, setting: str | None) -> None:
        formats.codec("npy", setting)
        empty = {
            name: to_numpy(schema.empty_table().column(name).combine_chunks(), name, "npy")
            for name in schema.names
        }
        for name, array in empty.items():
            if array.dtype.kind == "U":
                raise formats.refuse(
                    "npy", name, schema.field(name).type, "has rows of one size", ("npz", "Parquet")
                )
        self._dtype = np.dtype([(name, array.dtype, array.shape[1:]) for name, array in empty.items()])
        self._column = _Column(os.path.dirname(path) or ".", os.path.basename(path), path)
        self._column.add(np.zeros(0, self._dtype))

    def write(self, batch: Any) -> None:
        """Adds rows."""
        rows = np.empty(batch.num_rows, self._dtype)
        for name in self._dtype.names or ():
            rows[name] = to_numpy(batch.column(name), name, "npy")
        self._column.add(rows)

    def close(self) -> None:
        """Says how many rows there are."""
        self._column.finish()

    def abort(self) -> None:
        """Ends without them."""
        self._column.file.close()


class _Column:
    """An array that grows in a file; texts are kept in memory, since the longest says how long they are."""

    def __init__(self, folder: str, number: Any, path: str | None = None) -> None:
        self.path = path or os.path.join(folder, f"{number}.npy")
        self.file = open(self.path, "w+b")
        self._rows = 0
        self._dtype: Any = None
        self._inner: tuple[int, ...] = ()
        self._texts: list[Any] = []

    def add(self, array: Any) -> None:
        if self._dtype is None:
            self._dtype, self._inner = array.dtype, array.shape[1:]
            self._write_header()
        if self._dtype.kind == "U":
            self._texts.append(array)
        else:
            self.file.write(np.ascontiguousarray(array).data)
        self._rows += len(array)

    def _write_header(self) -> None:
        self.file.seek(0)
        shape = (self._rows, *self._inner)
        header = {"descr": np.lib.format.dtype_to_descr(self._dtype), "fortran_order": False, "shape": shape}
        # It has room for the number of rows to grow.
        np.lib.format.write_array_header_2_0(self.file, header)

    def finish(self) -> str:
        """Completes the file; gives its path."""
        if self._texts:
            whole = np.concatenate(self._texts)
            self.file.seek(0)
            np.lib.format.write_array(self.file, whole, allow_pickle=False)
        else:
            self._write_header()
        self.file.close()
        return self.path
