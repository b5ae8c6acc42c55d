"""HDF5: a dataset for each column, a group for each record; lists are of HDF5's type of variable length."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sapwood._convert import formats, numpy_files
from sapwood._read.libraries import need
from sapwood.errors import MismatchError, UnsupportedError, place

#: Rows of a chunk, which is compressed and read as a whole.
CHUNK = 16384


def _h5py() -> Any:
    return need("h5py", "HDF5")


def read(path: str, rows_in: Callable[[Any], int]) -> tuple[Any, Iterator[Any], int]:
    """Schema, batches and length of a file: each dataset is a column, and each group a record."""
    h5py = _h5py()
    pa = need("pyarrow", "sapwood.convert()")
    file = h5py.File(path, "r")
    lengths: dict[str, int] = {}

    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            if not item.shape:
                raise MismatchError(f"the dataset {name!r} is one value, and no column{place(path, None)}")
            lengths[name] = item.shape[0]

    file.visititems(visit)
    if len(set(lengths.values())) != 1:
        raise MismatchError(
            f"the datasets have different lengths, or there are none: {lengths}{place(path, None)}"
        )
    total = next(iter(lengths.values()))

    def part(group: Any, start: int, stop: int) -> dict[str, Any]:
        return {
            name: _record(pa, part(item, start, stop), stop - start)
            if isinstance(item, h5py.Group)
            else _column(pa, h5py, name, item, start, stop, path)
            for name, item in group.items()
        }

    schema = pa.table(part(file, 0, 0)).schema
    step = rows_in(schema)

    def batches() -> Iterator[Any]:
        with file:
            for start in range(0, total, step):
                yield from pa.table(part(file, start, min(start + step, total))).cast(schema).to_batches()

    return schema, batches(), total


def _record(pa: Any, columns: dict[str, Any], length: int) -> Any:
    return (
        pa.StructArray.from_arrays(list(columns.values()), list(columns))
        if columns
        else pa.nulls(length, pa.struct([]))
    )


def _column(pa: Any, h5py: Any, name: str, dataset: Any, start: int, stop: int, path: str) -> Any:
    kind = dataset.dtype
    text = h5py.check_string_dtype(kind)
    if text is not None:
        values = dataset.asstr(errors="surrogateescape")[start:stop]
        return pa.array(values.reshape(-1).tolist() if values.size else [], pa.large_string())
    items = h5py.check_vlen_dtype(kind)
    numpy_files.check_dtype(kind if items is None else items, name, path, True)
    if items is not None:
        rows = dataset[start:stop]
        offsets = np.cumsum([0, *(len(row) for row in rows)], dtype="int64")
        flat = np.concatenate(rows) if len(rows) else np.zeros(0, items)
        return pa.LargeListArray.from_arrays(pa.array(offsets), _fixed(pa, flat.astype(items, copy=False)))
    if kind.names:
        return _fixed(pa, dataset[start:stop])
    if h5py.check_enum_dtype(kind) is not None and kind != np.dtype(bool):
        raise UnsupportedError(
            f"the dataset {name!r} holds an enumeration, which no column can hold{place(path, name)}"
        )
    return numpy_files._arrow(pa, dataset[start:stop])


def _fixed(pa: Any, values: Any) -> Any:
    """A column of numbers, or of records of such, arrays of them included."""
    if not values.dtype.names:
        return numpy_files._arrow(pa, values)
    flat = values.reshape(-1)
    column = _record(pa, {field: _fixed(pa, flat[field]) for field in values.dtype.names}, len(flat))
    for size in reversed(values.shape[1:]):
        column = pa.FixedSizeListArray.from_arrays(column, size)
    return column


def _fixed_dtype(pa: Any, kind: Any) -> Any:
    """The type of what HDF5 can hold in a list: numbers, arrays of them and records; ``None`` of all else."""
    if _is_number(pa, kind):
        return np.dtype(kind.to_pandas_dtype())
    if pa.types.is_fixed_size_list(kind):
        item = _fixed_dtype(pa, kind.value_type)
        return item if item is None else np.dtype((item, kind.list_size))
    if not pa.types.is_struct(kind) or not kind.num_fields:
        return None
    fields = [kind.field(place) for place in range(kind.num_fields)]
    found = [(field.name, _fixed_dtype(pa, field.type)) for field in fields]
    return np.dtype(found) if all(dtype is not None for _, dtype in found) else None


def _fixed_values(pa: Any, column: Any, dtype: np.dtype[Any], name: str) -> Any:
    """The items of lists as an array of that type."""
    if column.null_count:
        raise MismatchError(f"column {name!r} has missing values, for which HDF5 has no place")
    if dtype.subdtype is not None:
        item, _ = dtype.subdtype
        return _fixed_values(pa, column.flatten(), item, name).reshape(len(column), *dtype.shape)
    if not dtype.names:
        return column.to_numpy(zero_copy_only=False)
    values = np.empty(len(column), dtype)
    for field, below in zip(dtype.names, column.flatten()):
        values[field] = _fixed_values(pa, below, dtype[field], f"{name}.{field}")
    return values


def _write_lists(to: Any, start: int, rows: Any) -> None:
    """Writes lists below h5py's own assignment, which takes lists of one length for an array of two dimensions."""
    h5s = _h5py().h5s
    if len(rows):
        here = to.id.get_space()
        here.select_hyperslab((start,), (len(rows),))
        to.id.write(h5s.create_simple((len(rows),)), here, rows)


class Hdf5Writer:
    """A file with a dataset for each column, which grows."""

    def __init__(self, path: str, schema: Any, setting: str | None) -> None:
        codec, level = formats.codec("hdf5", setting)
        h5py = _h5py()
        self._options = {"compression": codec, **({"compression_opts": level} if level is not None else {})}
        if codec is not None:
            self._options["shuffle"] = True
        self._file = h5py.File(path, "w", libver="latest")
        self._rows = 0
        try:
            for field in schema:
                self._make(self._file, field.name, field.type)
        except BaseException:
            self._file.close()
            raise

    def _make(self, group: Any, name: str, kind: Any) -> None:
        """An empty dataset for a type, or a group for a record."""
        h5py, pa = _h5py(), need("pyarrow", "sapwood.convert()")
        if "/" in name or name in ("", "."):
            words = (
                "a name is not empty, and slashes separate groups: rename it, or leave it out (columns, -c)"
            )
            raise MismatchError(f"HDF5 has no column of the name {name!r}: {words}")
        if pa.types.is_struct(kind):
            below = group.create_group(name)
            for place in range(kind.num_fields):
                self._make(below, kind.field(place).name, kind.field(place).type)
            return
        shape: list[int] = []
        item = kind
        if _is_text(pa, kind):
            dtype = h5py.string_dtype()
        elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
            items = _fixed_dtype(pa, kind.value_type)
            if items is None or items.subdtype is not None:
                words = "has lists of numbers and of records of numbers alone"
                raise formats.refuse("HDF5", name, kind, words, ("Parquet", "Feather"))
            dtype = h5py.vlen_dtype(items)
        else:
            while pa.types.is_fixed_size_list(item):
                shape.append(item.list_size)
                item = item.value_type
            if not _is_number(pa, item):
                raise formats.refuse("HDF5", name, kind, "has no such type", ("Parquet", "Feather"))
            dtype = np.dtype(item.to_pandas_dtype())
        group.create_dataset(
            name, (0, *shape), dtype, maxshape=(None, *shape), chunks=(CHUNK, *shape), **self._options
        )

    def write(self, batch: Any) -> None:
        """Adds rows."""
        stop = self._rows + batch.num_rows
        for name, column in zip(batch.schema.names, batch.columns):
            self._add(self._file[name], name, column, stop)
        self._rows = stop

    def _add(self, to: Any, name: str, column: Any, stop: int) -> None:
        h5py, pa = _h5py(), need("pyarrow", "sapwood.convert()")
        if column.null_count:
            raise MismatchError(
                f"column {name!r} has {column.null_count} missing values, for which HDF5 has no place"
            )
        if isinstance(to, h5py.Group):
            for place, below in enumerate(column.flatten()):
                field = column.type.field(place).name
                self._add(to[field], f"{name}.{field}", below, stop)
            return
        to.resize(stop, 0)
        if _is_text(pa, column.type):
            to[self._rows : stop] = column.to_pylist()
        elif (items := h5py.check_vlen_dtype(to.dtype)) is not None:
            offsets = np.asarray(column.offsets)
            flat = _fixed_values(pa, column.values, np.dtype(items), name)
            rows = np.empty(len(column), to.dtype)
            for place, (start, end) in enumerate(zip(offsets, offsets[1:])):
                rows[place] = flat[start:end]
            _write_lists(to, self._rows, rows)
        else:
            to[self._rows : stop] = numpy_files.to_numpy(column, name, "HDF5")

    def close(self) -> None:
        """Completes the file."""
        self._file.close()

    abort = close


def _is_text(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_number(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))
