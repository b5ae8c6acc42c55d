"""The form of batches: groups of rows are scaled, of one type, padded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sapwood._batches.columns import Column, Ragged, as_dtype, not_finite, padded, take
from sapwood._batches.scaling import Scaling
from sapwood.errors import MismatchError

#: A part of a batch (`x`, `mask`, `y` or `w`) and the name of a column.
Key = tuple[str, str]
Prepared = dict[Key, Column]
#: Rows that are put side by side at a time.
_BLOCK = 2048


@dataclass(frozen=True)
class Form:
    """The form of batches: names, types, padding, scaling."""

    columns: tuple[str, ...]
    target: tuple[str, ...]
    weight: str | None
    pad: Mapping[str, int] | int | None
    pad_value: float
    dtype: Any
    matrix: bool
    scaling: Scaling | None

    @property
    def names(self) -> list[str]:
        """All columns that are read."""
        return list(
            dict.fromkeys([*self.columns, *self.target, *([] if self.weight is None else [self.weight])])
        )

    def prepare(self, columns: Mapping[str, Column], counts: Counts) -> Prepared:
        """The columns of a group as they are handed out."""
        found: Prepared = {}
        counts.add("not_finite", not_finite({name: columns[name] for name in self.names}))
        for name in self.columns:
            self._feature(name, columns[name], found, counts)
        if self.matrix:
            self._join(found)
        for name in self.target:
            found["y", name] = columns[name]
        if self.weight is not None:
            weight = columns[self.weight]
            if isinstance(weight, Ragged):
                raise MismatchError(f"a weight is one number for each row, and {self.weight!r} holds lists")
            found["w", self.weight] = (
                weight.astype("float32") if self.dtype is None else _cast(weight, self.dtype)
            )
        return found

    def _feature(self, name: str, column: Column, found: Prepared, counts: Counts) -> None:
        values = column.values if isinstance(column, Ragged) else column
        if self.scaling is not None:
            values = self.scaling.apply(name, values)
        if self.dtype is not None:
            values = _cast(values, self.dtype)
        if not isinstance(column, Ragged):
            found["x", name] = values
            return
        column = Ragged(column.offsets, values)
        width = self.pad.get(name) if isinstance(self.pad, Mapping) else self.pad
        if width is None:
            found["x", name] = column
            return
        found["x", name], found["mask", name], longer = padded(column, width, self.pad_value)
        if longer:
            counts.add("cut_lists", {name: longer})

    def _join(self, found: Prepared) -> None:
        """Joins the columns of one number, or of a fixed shape, into one matrix."""
        fixed = [
            key
            for key, one in found.items()
            if key[0] == "x" and not isinstance(one, Ragged) and ("mask", key[1]) not in found
        ]
        if not fixed:
            raise MismatchError("matrix=True joins columns of numbers, and all of these are lists")
        kind = np.dtype("float32") if self.dtype is None else as_dtype(self.dtype)
        parts = [found.pop(key) for key in fixed]
        found["x", ""] = _matrix([np.asarray(part).reshape(len(part), -1) for part in parts], kind)


def _matrix(parts: Sequence[Any], kind: np.dtype[Any]) -> Any:
    """Columns side by side. So many rows at a time that they stay in the processor's cache."""
    rows, widths = len(parts[0]), [part.shape[1] for part in parts]
    ends = np.cumsum([0, *widths])
    matrix = np.empty((rows, int(ends[-1])), kind)
    for start in range(0, rows, _BLOCK):
        block = matrix[start : start + _BLOCK]
        for part, first, last in zip(parts, ends, ends[1:], strict=False):
            block[:, first:last] = part[start : start + _BLOCK]
    return matrix


def _cast(values: Any, dtype: Any) -> Any:
    return values.astype(as_dtype(dtype), copy=False)


@dataclass
class Counts:
    """Counts of values that are not finite, and of lists that were cut short."""

    not_finite: dict[str, int] = field(default_factory=dict)
    cut_lists: dict[str, int] = field(default_factory=dict)

    def add(self, what: str, more: Mapping[str, int]) -> None:
        """Adds counts by column."""
        known = getattr(self, what)
        for name, count in more.items():
            known[name] = known.get(name, 0) + count


def rows_of(prepared: Prepared, rows: slice | Any) -> Prepared:
    """Some rows; a slice of numbers is not copied."""
    if not isinstance(rows, slice):
        return {key: take(column, rows) for key, column in prepared.items()}
    return {key: _sliced(column, rows) for key, column in prepared.items()}


def _sliced(column: Column, rows: slice) -> Column:
    if not isinstance(column, Ragged):
        return column[rows]
    ends = column.offsets[rows.start : rows.stop + 1]
    return Ragged(ends - ends[0], column.values[ends[0] : ends[-1]])


def bytes_of(prepared: Prepared) -> int:
    """The memory of all columns."""
    arrays = [
        part for column in prepared.values() for part in (column if isinstance(column, Ragged) else [column])
    ]
    return sum(array.nbytes for array in arrays)


def check_pad(pad: Any, columns: Sequence[str]) -> Any:
    """Widths of padded lists, for all or by column."""
    widths = pad.values() if isinstance(pad, Mapping) else [] if pad is None else [pad]
    for width in widths:
        if isinstance(width, bool) or not isinstance(width, int) or width < 1:
            raise MismatchError(f"pad= is a length of lists, from 1 on, or one for each column, not {pad!r}")
    if isinstance(pad, Mapping) and (unknown := [name for name in pad if name not in columns]):
        raise MismatchError(f"pad= names {unknown[0]!r}, and the columns are {list(columns)!r}")
    return pad
