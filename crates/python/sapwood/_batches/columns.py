"""Columns of a group of rows: numbers of a fixed shape, and lists of numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood._read import layout
from sapwood._read.libraries import need
from sapwood.errors import MismatchError

Values = NDArray[Any]
Rows = NDArray[np.int64]


class Ragged(NamedTuple):
    """Lists of different lengths: those of row ``i`` are ``values[offsets[i]:offsets[i + 1]]``."""

    offsets: Rows
    values: Values


#: Numbers of a fixed shape, one item a row, or lists.
Column = Values | Ragged


class Shape(NamedTuple):
    """The type of a column that the engine takes as it is."""

    are_lists: bool
    number: str
    inner: tuple[int, ...]
    """Numbers of a row, by dimension."""


def shape_of(kind: Any) -> Shape | None:
    """The shape of a column's type; ``None`` for all that is not a number, an array, or a list of numbers."""
    are_lists = kind[0] == "list"
    if are_lists:
        kind = kind[3]
    inner = []
    while kind[0] == "fixed" and not are_lists:
        inner.append(int(kind[1]))
        kind = kind[2]
    return Shape(are_lists, kind[2], tuple(inner)) if kind[0] == "number" else None


def shape_in(column: Any) -> Shape:
    """The shape of a column that :func:`as_engine` returned."""
    found = shape_of(column.kind)
    assert found is not None, "columns of batches hold numbers"
    return found


def as_engine(name: str, column: Any, missing: float | None, path: str) -> Any:
    """A column of the engine that holds numbers or lists of numbers, made of any column or Awkward array."""
    if isinstance(column, _core.Column):
        if shape_of(column.kind) is not None:
            return column
        column = layout.to_awkward(column)
    return to_engine(of_array(name, column, missing, path))


def of_array(name: str, array: Any, missing: float | None, path: str) -> Column:
    """An Awkward array as numbers or lists of numbers."""
    ak = need("awkward", "sapwood.batches")
    types = ak.types
    lacks = f"the column {name!r} lacks values in {path}: missing= names a number that stands in for them"
    if missing is not None:
        array = ak.fill_none(array, missing, axis=-1)
    kind = array.type.content
    wrong = f"the column {name!r} holds {kind} in {path}: batches take numbers and lists of numbers"
    inner = kind.content if isinstance(kind, types.OptionType) else kind
    if array.ndim > 1 and isinstance(inner, types.ListType):
        if missing is not None and inner is not kind:
            array = ak.fill_none(array, [], axis=0)  # a list that is missing has no numbers
        if ak.any(ak.is_none(array)):
            raise MismatchError(lacks)
        packed = ak.to_packed(ak.drop_none(array, axis=0)).layout.to_ListOffsetArray64(True)
        if packed.content.is_option:
            if ak.any(ak.is_none(packed.content)):
                raise MismatchError(lacks)
            packed = ak.to_packed(ak.drop_none(array, axis=-1)).layout.to_ListOffsetArray64(True)
        if not isinstance(packed.content, ak.contents.NumpyArray):
            raise MismatchError(wrong)
        return Ragged(np.asarray(packed.offsets), np.asarray(packed.content.data))
    try:
        values = ak.to_numpy(array, allow_missing=False)
    except ValueError as error:
        if "?" in str(kind) or "option" in str(kind):
            raise MismatchError(lacks) from None
        raise MismatchError(wrong) from error
    if values.dtype.kind not in "biuf":
        raise MismatchError(wrong)
    return np.asarray(values)


def to_numpy(column: Any) -> Column:
    """A column of the engine as NumPy arrays, which share its memory."""
    are_lists, number, inner = shape_in(column)
    if are_lists:
        _, offsets, _, item = column.kind
        ends = np.asarray(column.buffer(offsets)).view("int64")[: len(column) + 1]
        return Ragged(ends, np.asarray(column.buffer(item[1])).view(number)[: ends[-1]])
    kind = column.kind
    while kind[0] == "fixed":
        kind = kind[2]
    values = np.asarray(column.buffer(kind[1])).view(number)
    return values[: len(column) * int(np.prod(inner, dtype="int64"))].reshape(len(column), *inner)


def to_engine(column: Column) -> Any:
    """A copy of NumPy arrays as a column of the engine. Types that it does not know become bytes."""
    values = np.ascontiguousarray(column.values if isinstance(column, Ragged) else column)
    known = values.dtype.kind in "biuf" and values.dtype.itemsize <= 8 and values.dtype.name != "float16"
    number, each = (values.dtype.name, 1) if known else ("uint8", values.dtype.itemsize)
    memory = values.reshape(-1).view("uint8")
    if isinstance(column, Ragged):
        return _core.column_of(memory, number, each, np.ascontiguousarray(column.offsets, "int64"))
    width = int(np.prod(values.shape[1:], dtype="int64")) * each
    return _core.column_of(memory, number, width)


def joined(parts: list[Column]) -> Column:
    """Columns of several files that have the same shape, one after another."""
    lists = [part for part in parts if isinstance(part, Ragged)]
    if not lists:
        return np.concatenate(parts)
    ends = np.cumsum([0, *(part.offsets[-1] for part in lists)])
    offsets = [part.offsets[1:] + end for part, end in zip(lists, ends[:-1], strict=True)]
    return Ragged(
        np.concatenate([np.zeros(1, "int64"), *offsets]), np.concatenate([part.values for part in lists])
    )


def as_dtype(name: Any) -> np.dtype[Any]:
    """A type of numbers by its name, ``"bf16"`` among them."""
    if name in ("bf16", "bfloat16"):
        return np.dtype(need("ml_dtypes", 'dtype="bf16"').bfloat16)
    try:
        found = np.dtype(name)
    except TypeError:
        found = np.dtype("O")
    # Types of numbers of ml_dtypes are of the kind "V" for NumPy.
    if found.kind not in "biuf" and "float" not in found.name:
        raise MismatchError(f'dtype= is a type of numbers, as "f4", "f2" or "bf16", not {name!r}')
    return found
