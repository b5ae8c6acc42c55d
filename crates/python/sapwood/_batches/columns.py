"""Columns of a group of rows: numbers of a fixed shape, and lists of numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood._batches.catalogue import Catalogue, Rows
from sapwood._batches.order import Files
from sapwood._read import layout
from sapwood._read.libraries import need
from sapwood.errors import MismatchError

Values = NDArray[Any]


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


def read(
    catalogue: Catalogue, files: Files, names: Iterable[str], missing: float | None = None
) -> dict[str, list[Any]]:
    """The columns of some rows: those of each of their files, as the engine holds them."""
    names = list(dict.fromkeys(names))
    found: dict[str, list[Any]] = {name: [] for name in names}
    for file, rows in files:
        path = str(catalogue.files[file].source.file)
        for name, one in zip(names, catalogue.read(file, names, rows), strict=True):
            if not isinstance(one, _core.Column):
                one = to_engine(of_array(name, one, missing, path))
            elif shape_of(one.kind) is None:
                one = to_engine(of_array(name, layout.to_awkward(one), missing, path))
            found[name].append(one)
    return found


def of_array(name: str, array: Any, missing: float | None, path: str) -> Column:
    """An Awkward array as numbers or lists of numbers."""
    ak = need("awkward", "sapwood.batches")
    if missing is not None:
        array = ak.fill_none(array, missing, axis=-1)
    kind = array.type.content
    wrong = f"the column {name!r} holds {kind} in {path}: batches take numbers and lists of numbers"
    if array.ndim > 1 and isinstance(kind, ak.types.ListType):
        packed = ak.to_packed(array).layout.to_ListOffsetArray64(True)
        if not isinstance(packed.content, ak.contents.NumpyArray):
            raise MismatchError(wrong)
        return Ragged(np.asarray(packed.offsets), np.asarray(packed.content.data))
    try:
        values = ak.to_numpy(array, allow_missing=False)
    except ValueError as error:
        if "?" in str(kind) or "option" in str(kind):
            words = (
                f"the column {name!r} lacks values in {path}: missing= names a number that stands in for them"
            )
            raise MismatchError(words) from None
        raise MismatchError(wrong) from error
    if values.dtype.kind not in "biuf":
        raise MismatchError(wrong)
    return np.asarray(values)


def to_numpy(column: Any) -> Column:
    """A column of the engine as NumPy arrays, which share its memory."""
    are_lists, number, inner = shape_of(column.kind) or Shape(False, "float64", ())
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


def joined(name: str, parts: list[Column]) -> Column:
    """Columns of several files, one after another."""
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, Ragged) for part in parts):
        ends = np.cumsum([0, *(part[0][-1] for part in parts)])
        offsets = [part[0][1:] + end for part, end in zip(parts, ends[:-1], strict=True)]
        return Ragged(
            np.concatenate([np.zeros(1, "int64"), *offsets]), np.concatenate([part[1] for part in parts])
        )
    shapes = {"lists" if isinstance(part, Ragged) else part.shape[1:] for part in parts}
    if len(shapes) > 1:
        raise MismatchError(
            f"the column {name!r} has different shapes in the files: {sorted(map(str, shapes))}"
        )
    return np.concatenate(parts)


def take(column: Column, rows: Any) -> Column:
    """Some rows of a column, in any order."""
    if not isinstance(column, Ragged):
        return np.take(column, rows, axis=0)
    offsets, values = column
    starts, counts = offsets[:-1][rows], np.diff(offsets)[rows]
    ends = np.concatenate([np.zeros(1, "int64"), np.cumsum(counts)])
    # Every item is as far from the beginning of its list as before.
    places = np.arange(ends[-1]) - np.repeat(ends[:-1] - starts, counts)
    return Ragged(ends, values[places])


def as_dtype(name: Any) -> np.dtype[Any]:
    """A type of numbers by its name, ``"bf16"`` among them."""
    if name in ("bf16", "bfloat16"):
        return np.dtype(need("ml_dtypes", 'dtype="bf16"').bfloat16)
    found = np.dtype(name)
    if found.kind not in "biufV" and "float" not in found.name:
        raise MismatchError(f"values of batches are numbers, and {name!r} is something else")
    return found
