"""Columns of a group of rows: numbers of a fixed shape, and lists of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapwood._batches.catalogue import Catalogue, Rows
from sapwood._batches.order import Group
from sapwood._read.libraries import need
from sapwood.errors import MismatchError

Values = NDArray[Any]


class Ragged(NamedTuple):
    """Lists of different lengths: those of row ``i`` are ``values[offsets[i]:offsets[i + 1]]``."""

    offsets: Rows
    values: Values


#: Rows whose lists are padded at a time.
_BLOCK = 2048

#: Numbers of a fixed shape, one item a row, or lists.
Column = Values | Ragged


def read(
    catalogue: Catalogue, group: Group, names: Iterable[str], missing: float | None = None
) -> dict[str, Column]:
    """The columns of a group, in the order of its files."""
    names = list(dict.fromkeys(names))
    if not names:
        return {}
    parts = []
    for file, rows in group.files:
        found = catalogue.read(file, names, rows)
        path = str(catalogue.files[file].source.file)
        parts.append([of_array(name, one, missing, path) for name, one in zip(names, found, strict=True)])
    columns = {}
    for at, name in enumerate(names):
        columns[name] = joined(name, [part[at] for part in parts])
    return columns


def of_array(name: str, array: Any, missing: float | None, path: str) -> Column:
    """An Awkward array as numbers or lists of numbers."""
    ak = need("awkward", "sapwood.batches")
    if missing is not None:
        array = ak.fill_none(array, missing, axis=-1)
    kind = array.type.content
    wrong = f"the column {name!r} holds {kind} in {path}: batches take numbers and lists of numbers"
    if array.ndim > 1 and isinstance(kind, ak.types.ListType):
        layout = ak.to_packed(array).layout.to_ListOffsetArray64(True)
        if not isinstance(layout.content, ak.contents.NumpyArray):
            raise MismatchError(wrong)
        return Ragged(np.asarray(layout.offsets), np.asarray(layout.content.data))
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


def length(column: Column) -> int:
    """Its rows."""
    return len(column[0]) - 1 if isinstance(column, Ragged) else len(column)


def padded(column: Ragged, width: int, fill: float) -> tuple[Values, NDArray[np.bool_], int]:
    """Lists as a matrix of ``width`` columns, a mask of its items, and the number of longer lists."""
    offsets, values = column
    rows = len(offsets) - 1
    matrix = (
        np.zeros((rows, width), values.dtype) if fill == 0 else np.full((rows, width), fill, values.dtype)
    )
    mask = np.zeros((rows, width), bool)
    cut = 0
    # So many rows at a time that the places of their items stay in the processor's cache.
    for start in range(0, rows, _BLOCK):
        stop = min(start + _BLOCK, rows)
        cut += _pad(
            offsets[start : stop + 1], values, matrix[start:stop].reshape(-1), mask[start:stop].reshape(-1)
        )
    return matrix, mask, cut


def _pad(offsets: Rows, values: Values, matrix: Values, mask: NDArray[np.bool_]) -> int:
    """Fills the rows of some lists; returns the number of lists that are longer than a row."""
    counts = np.diff(offsets)
    rows = len(counts)
    width = len(mask) // rows
    values = values[offsets[0] : offsets[-1]]
    # The place of each item: its distance from the start of the row is its distance from the start of the
    # list.
    shifts = np.arange(rows) * width - (offsets[:-1] - offsets[0])
    places = np.arange(len(values)) + np.repeat(shifts, counts)
    cut = int(np.count_nonzero(counts > width))
    if cut:
        kept = places < np.repeat(np.arange(1, rows + 1) * width, counts)
        places, values = places[kept], values[kept]
    matrix[places] = values
    mask[places] = True
    return cut


def as_dtype(name: Any) -> np.dtype[Any]:
    """A type of numbers by its name, ``"bf16"`` among them."""
    if name in ("bf16", "bfloat16"):
        return np.dtype(need("ml_dtypes", 'dtype="bf16"').bfloat16)
    found = np.dtype(name)
    if found.kind not in "biufV" and "float" not in found.name:
        raise MismatchError(f"values of batches are numbers, and {name!r} is something else")
    return found


def not_finite(columns: Mapping[str, Column]) -> dict[str, int]:
    """How many numbers of each column are infinite or none."""
    found = {}
    for name, column in columns.items():
        values = column.values if isinstance(column, Ragged) else column
        if values.dtype.kind != "f":
            continue
        with np.errstate(all="ignore"):
            # A sum of such numbers is not finite, and neither is one beyond the type.
            is_suspect = not np.isfinite(values.sum())
        count = int(values.size - np.count_nonzero(np.isfinite(values))) if is_suspect else 0
        if count:
            found[name] = count
    return found
