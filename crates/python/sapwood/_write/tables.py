"""Whatever is a table, as columns: NumPy and Awkward arrays. What no branch can hold (masks, missing values)
is refused and never dropped."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from sapwood import errors
from sapwood._read.libraries import need
from sapwood._write import lossless

_HOW = "give them a value, or leave these rows out"


def columns_of(data: Any, wanted: Collection[str] | None = None) -> dict[str, Any]:
    """The columns of a table, as :func:`table` gives them.

    >>> columns_of({"x": [1, 2]})
    {'x': [1, 2]}

    Raises :class:`sapwood.errors.MismatchError` for what is none.
    """
    columns = table(data, wanted)
    if columns is None:
        raise errors.MismatchError(f"a tree is filled from {TABLES}, not from {lossless.shown(data)}")
    return columns


TABLES = (
    "a mapping of names to arrays, a structured NumPy array, an Awkward record array, a DataFrame or an "
    "Arrow table"
)
"""What is a table, in words."""


def check_columns(tree: str, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Columns as arrays of one length.

    Raises :class:`sapwood.errors.MismatchError` where the lengths differ.
    """
    found = {name: as_column(name, data) for name, data in columns.items()}
    lengths = {name: len(data) for name, data in found.items()}
    if len(set(lengths.values())) > 1:
        raise errors.MismatchError(f"columns of {tree!r} have different lengths: {lengths}")
    return found


def table(data: Any, wanted: Collection[str] | None = None) -> dict[str, Any] | None:
    """The columns of whatever is a table; nothing where it is none. Where a tree is there that has columns
    already, these are ``wanted``: the index of a DataFrame is a column where the tree has one of that name.

    An Awkward Array with a list of records for each entry is one column without a name, whose fields share a
    counter.

    >>> table(5) is None
    True
    """
    if isinstance(data, Mapping):
        return _once((str(name), column) for name, column in data.items())
    if isinstance(data, np.ndarray) and data.dtype.names:
        return {name: data[name] for name in data.dtype.names}
    if _is_pandas(data):
        if not hasattr(data, "columns"):
            return _of_series(data)
        columns = _once((str(name), data.iloc[:, place]) for place, name in enumerate(data.columns))
        index = _index_of(data, columns) if wanted is None or not set(columns) >= set(wanted) else {}
        return {
            **{name: level for name, level in index.items() if wanted is None or name in wanted},
            **columns,
        }
    if lossless.is_awkward(data):
        if lossless.is_awkward(data, "Record"):
            raise errors.MismatchError(
                "an ak.Record is one row of a table: give an ak.Array of records, or the record to fill"
            )
        if data.fields and data.ndim > 1 and (wanted is None or "" in wanted):
            return {"": data}
        return {name: data[name] for name in data.fields} or None
    if _is_arrow(data):
        pa = need("pyarrow", "writing from Arrow")
        try:
            found = data.to_arrow() if hasattr(data, "to_arrow") else pa.table(data)
        except (pa.ArrowInvalid, TypeError, ValueError):  # one column without a name
            return None
        if not hasattr(found, "column_names"):
            return None
        return _once(zip(found.column_names, found.columns))
    return None


def _is_arrow(data: Any) -> bool:
    """Does it speak Arrow's C interface?"""
    return any(hasattr(data, name) for name in ("__arrow_c_stream__", "__arrow_c_array__", "to_arrow"))


def batches(data: Any) -> Iterator[Any]:
    """A table in parts: a stream of Arrow and a LazyFrame batch by batch, so that no more than one is in memory;
    all else whole. There is at least one part, which has the columns.

    >>> list(batches({"x": [1, 2]}))
    [{'x': [1, 2]}]
    """
    kind = f"{type(data).__module__}.{type(data).__name__}"
    if kind.startswith("polars.") and kind.endswith("LazyFrame"):
        parts = data.collect_batches(maintain_order=True)
        empty = data.limit(0).collect
    elif (
        not hasattr(data, "__arrow_c_stream__")
        or kind.startswith(("polars.", "pyarrow.lib.Table", "pyarrow.lib.ChunkedArray"))
        or _is_pandas(data)
        or lossless.is_awkward(data)
    ):
        yield data
        return
    else:
        pa = need("pyarrow", "writing from Arrow")
        try:
            reader = pa.RecordBatchReader.from_stream(data)
        except (pa.ArrowInvalid, TypeError, ValueError):  # one column without a name
            yield data
            return
        parts, empty = (pa.Table.from_batches([batch]) for batch in reader), reader.schema.empty_table
    some = False
    for part in parts:
        if len(part):
            yield part
            some = True
    if not some:
        yield empty()


def _index_of(data: Any, columns: Mapping[str, Any]) -> dict[str, Any]:
    """The index of a DataFrame as columns: by its names, ``index`` or ``level_0`` and so on where it has
    none."""
    index = data.index
    if index.nlevels == 1:
        found = {"index" if index.name is None else str(index.name): index}
    else:
        names = (f"level_{place}" if name is None else str(name) for place, name in enumerate(index.names))
        found = _once((name, index.get_level_values(place)) for place, name in enumerate(names))
    taken = [name for name in found if name in columns]
    if not taken:
        return found
    if type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1:
        return {}  # which says nothing
    raise errors.MismatchError(
        f"the index and a column have the name {taken[0]!r}: rename one of them, or drop the index (reset_index(drop=True))"
    )


def _of_series(data: Any) -> dict[str, Any] | None:
    if not hasattr(data, "name"):
        return None
    if data.name is None:
        raise errors.MismatchError(
            "a Series without a name is no table: give it one with rename, or write {'name': series}"
        )
    return {str(data.name): data}


def _once(columns: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, column in columns:
        if name in found:
            raise errors.MismatchError(f"two columns have the name {name!r}: rename one of them")
        found[name] = column
    return found


def _is_pandas(data: Any) -> bool:
    return lossless.is_of(data, "pandas")


def as_column(name: str, data: Any) -> Any:
    """A column as a NumPy or Awkward array, as long as there are entries.

    >>> as_column("x", iter([1, 2])).tolist()
    [1, 2]

    Raises :class:`sapwood.errors.MismatchError` and :class:`sapwood.errors.UnsupportedError` naming the
    column.
    """
    try:
        return _column(data)
    except (errors.MismatchError, errors.UnsupportedError) as error:
        raise type(error)(f"column {name!r}: {error}") from None


def _column(data: Any) -> Any:
    if isinstance(data, np.ma.MaskedArray):
        data = lossless.unmasked(data)
    if lossless.is_awkward(data) and not lossless.is_awkward(data, "Record"):
        ak = lossless.awkward()

        return _without_options(_without_categories(ak.Array(data)))
    if isinstance(data, np.ndarray) and data.ndim > 0:
        return _of_numpy(data)
    if _is_pandas(data) and hasattr(data, "columns"):
        return _records(table(data) or {})
    if _is_pandas(data):
        return _column(_of_pandas(data))
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return _of_arrow(data)
    if isinstance(data, Mapping):
        return _records(data)
    if (
        isinstance(data, (str, bytes))
        or not hasattr(data, "__iter__")
        or getattr(data, "ndim", 1) == 0
        or lossless.is_awkward(data)
    ):
        raise errors.MismatchError(
            f"a column is a list of values, one for each entry, and {lossless.shown(data)} was given"
        )
    if (
        not isinstance(data, Collection)
        and not hasattr(data, "__array__")
        or isinstance(data, (set, frozenset))
    ):
        data = list(data)
    return _of_values(data)


def _of_numpy(array: Any) -> Any:
    if array.dtype.names:
        return _records({name: array[name] for name in array.dtype.names})
    return _of_values(array.tolist()) if array.dtype.kind in "USOT" else array


def _of_values(data: Any) -> Any:
    """A column of Python's values."""
    kinds = set(map(type, data)) if isinstance(data, (list, tuple)) else set()
    if not kinds <= {bool, int, float}:
        data = lossless.unmasked(data)
        if all(issubclass(kind, (str, bytes)) for kind in kinds):
            return lossless.as_texts(data)
    try:
        array = lossless.as_array(data)
    except errors.SapwoodError:
        raise
    except ValueError:
        array = np.empty(0, object)  # lists of different lengths
    if array.dtype.names:
        return _of_numpy(array)
    # Of empty lists NumPy would say that they hold floats.
    if array.dtype.kind not in "SUO" and (array.ndim == 1 or array.size):
        return array
    try:
        return _without_options(lossless.from_values(data))
    except errors.SapwoodError:
        raise
    except (RuntimeError, TypeError, ValueError):  # whole numbers above 2^63, or what Awkward does not know
        pass
    try:
        return lossless.as_jagged(data)
    except errors.SapwoodError:
        raise
    except (ValueError, TypeError, AttributeError):
        names = ", ".join(sorted({type(item).__name__ for item in data}))
        raise errors.MismatchError(f"values of type {names} cannot be written together") from None


def _records(columns: Mapping[Any, Any]) -> Any:
    """Columns of one length side by side."""
    ak = lossless.awkward()

    wrong = [name for name in columns if not isinstance(name, str)]
    if wrong or not columns:
        raise errors.MismatchError(
            f"a mapping has names of fields as keys, not {', '.join(map(repr, wrong)) or 'none'}"
        )
    arrays = {name: as_column(name, column) for name, column in columns.items()}
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise errors.MismatchError(f"the fields have different lengths: {lengths}")
    layouts = [
        ak.to_layout(ak.from_numpy(array, regulararray=True) if isinstance(array, np.ndarray) else array)
        for array in arrays.values()
    ]
    return ak.Array(ak.contents.RecordArray(layouts, list(arrays)))


def _of_pandas(data: Any) -> Any:
    """The values of a Series, an Index or an array of pandas. Its own types have values that are missing,
    where NumPy has none."""
    kind = data.dtype
    if not isinstance(kind, np.dtype) or kind.kind == "O":
        missing = np.asarray(data.isna())
        if missing.any():
            raise _missing(int(missing.argmax()))
    if isinstance(kind, np.dtype):
        return data.to_numpy()
    plain = getattr(kind, "numpy_dtype", None)
    is_number = isinstance(plain, np.dtype) and plain.kind in "biuf"
    return data.to_numpy(dtype=plain) if is_number else data.to_numpy(dtype=object)


def _missing(row: int) -> errors.MismatchError:
    return errors.MismatchError(f"missing values (the first in row {row}), which no branch can hold: {_HOW}")


def _of_arrow(data: Any) -> Any:
    return _without_options(of_arrow(data))


def of_arrow(data: Any) -> Any:
    """A column of Arrow as an Awkward Array.

    Raises :class:`sapwood.errors.UnsupportedError` for a type that has no place there.
    """
    pa = need("pyarrow", "writing from Arrow")
    ak = lossless.awkward()
    try:
        if hasattr(data, "to_arrow"):  # Polars gives categories of plain texts, which Arrow can take apart
            data = data.to_arrow()
        array = pa.chunked_array(data) if hasattr(data, "__arrow_c_stream__") else pa.array(data)
        kind = _without_views(pa, array.type)
        if kind != array.type:
            array = array.cast(kind)
        if isinstance(array, pa.ChunkedArray) and array.num_chunks == 0:
            array = pa.chunked_array([pa.array([], array.type)])
        if any(map(_is_sliced, array.chunks if isinstance(array, pa.ChunkedArray) else [array])):
            # Awkward takes the bits of missing values from the beginning of what a slice was made of.
            array = array.take(pa.array(range(len(array)), pa.int64()))
        return ak.from_arrow(array)
    except (ValueError, TypeError, NotImplementedError, AssertionError, pa.ArrowException):
        raise errors.UnsupportedError(
            f"Arrow's type {getattr(data, 'type', '')} cannot be written: cast it to another"
        ) from None


def _is_sliced(array: Any) -> bool:
    """Whether bits for missing values of an array of Arrow, or of what it holds, do not begin where their memory
    does."""
    if array.offset and array.buffers()[0] is not None:
        return True
    inner = [array.field(place) for place in range(array.type.num_fields)] if hasattr(array, "field") else []
    return any(map(_is_sliced, inner + ([array.values] if hasattr(array, "values") else [])))


def _without_views(pa: Any, kind: Any) -> Any:
    """A type of Arrow with values in place of numbers in a dictionary, and with texts whose bytes lie one behind
    the other: Awkward knows those alone."""
    types = pa.types
    if types.is_dictionary(kind):
        return _without_views(pa, kind.value_type)
    if types.is_string_view(kind):
        return pa.large_string()
    if types.is_binary_view(kind):
        return pa.large_binary()
    if types.is_struct(kind):
        return pa.struct([field.with_type(_without_views(pa, field.type)) for field in kind])
    if types.is_fixed_size_list(kind):
        return pa.list_(_item(pa, kind), kind.list_size)
    if types.is_list(kind):
        return pa.list_(_item(pa, kind))
    if types.is_large_list(kind):
        return pa.large_list(_item(pa, kind))
    return kind


def _item(pa: Any, kind: Any) -> Any:
    return kind.value_field.with_type(_without_views(pa, kind.value_type))


def _without_categories(array: Any) -> Any:
    """Values in place of Awkward's categories: a branch has no dictionary."""
    ak = lossless.awkward()

    if "categorical" not in str(array.type):
        return array

    def project(layout: Any, **_: Any) -> Any:
        if layout.is_indexed and not layout.is_option and layout.parameter("__array__") == "categorical":
            return ak.transform(project, layout.project(), highlevel=False)
        return None

    return ak.transform(project, array)


def _without_options(array: Any) -> Any:
    """Values may be missing in Arrow and in lists of Python; ROOT's branches have no room for it."""
    ak = lossless.awkward()

    if "?" not in str(array.type) and "option" not in str(array.type):
        return array

    def is_complete(rows: Any) -> bool:
        holes = []

        def look(layout: Any, **_: Any) -> None:
            holes.append(layout.is_option and bool(layout.mask_as_bool(valid_when=False).any()))

        # What is out of sight may be missing.
        ak.transform(look, ak.to_packed(rows), return_value="none")
        return not any(holes)

    def project(layout: Any, **_: Any) -> Any:
        return ak.transform(project, layout.project(), highlevel=False) if layout.is_option else None

    if not is_complete(array):
        first, end = 0, len(array)
        while end - first > 1:
            middle = (first + end) // 2
            first, end = (middle, end) if is_complete(array[first:middle]) else (first, middle)
        raise _missing(first)
    return ak.transform(project, ak.to_packed(array))
