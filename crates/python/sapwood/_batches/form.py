"""The form of batches: names, types, padding, scaling; what the engine makes of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood._batches import columns as column_module
from sapwood._batches.columns import Column, Ragged, Shape, as_dtype, shape_of, to_engine, to_numpy
from sapwood._batches.scaling import Scaling
from sapwood.errors import MismatchError

#: A part of a batch (`x`, `mask`, `y` or `w`) and the name of a column.
Key = tuple[str, str]
Prepared = dict[Key, Column]
#: Types to which the engine converts numbers.
_ENGINE_TYPES = ("float16", "bfloat16", "float32", "float64")


class Part(NamedTuple):
    """One column of batches, or the matrix."""

    key: Key
    dtype: np.dtype[Any]
    are_lists: bool
    shape: tuple[int, ...]
    """The shape of a row."""
    names: list[str]
    """The columns that it is made of."""


class Made(NamedTuple):
    """A column on its way into the engine."""

    pieces: list[Any]
    shape: Shape
    dtype: np.dtype[Any]
    to: str | None = None
    """The type to which the engine converts it."""
    scale: tuple[float, float] | None = None
    not_finite: int = 0
    """Numbers that NumPy counted, since the engine does not see them."""

    @property
    def input(self) -> tuple[list[Any], str | None, tuple[float, float] | None]:
        """The arguments for the engine."""
        return self.pieces, self.to, self.scale


class Held(NamedTuple):
    """Rows in the memory of the engine."""

    parts: list[Part]
    rows: Any

    def __len__(self) -> int:
        return len(self.rows)


class Piece(NamedTuple):
    """Some of the rows that are held, in their order."""

    held: Held
    first: int
    last: int


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

    def hold(
        self, columns: Mapping[str, list[Any]], order: NDArray[Any] | None, counts: Counts, threads: int
    ) -> Held:
        """The rows of a group, from which batches are taken in an order."""
        parts: list[Part] = []
        made: list[list[Made]] = []
        joined: list[tuple[str, Made]] = []
        dtype = None if self.dtype is None else as_dtype(self.dtype)
        for name in self.columns:
            are_lists = _shape(columns[name][0]).are_lists
            kind = np.dtype("float32") if self.matrix and dtype is None and not are_lists else dtype
            one = _made(name, columns[name], kind, self.scaling)
            if self.matrix and not are_lists:
                joined.append((name, one))
                continue
            width = self.pad.get(name) if isinstance(self.pad, Mapping) else self.pad
            shape = one.shape.inner if not are_lists else () if width is None else (width,)
            parts.append(Part(("x", name), one.dtype, are_lists, shape, [name]))
            made.append([one])
        if self.matrix:
            if not joined:
                raise MismatchError("matrix=True joins columns of numbers, and all of these are lists")
            width = sum(int(np.prod(one.shape.inner, dtype="int64")) for _, one in joined)
            parts.append(Part(("x", ""), joined[0][1].dtype, False, (width,), [name for name, _ in joined]))
            made.append([one for _, one in joined])
        others: list[tuple[str, str, Any]] = [("y", name, None) for name in self.target]
        if self.weight is not None:
            if _shape(columns[self.weight][0]).are_lists:
                words = f"a weight is one number for each row, and {self.weight!r} holds lists"
                raise MismatchError(words)
            others.append(("w", self.weight, np.dtype("float32") if dtype is None else dtype))
        for which, name, kind in others:
            one = _made(name, columns[name], kind, None)
            parts.append(Part((which, name), one.dtype, one.shape.are_lists, one.shape.inner, [name]))
            made.append([one])
        fields = [
            ([one.input for one in of_part], part.are_lists, self._padding(part))
            for part, of_part in zip(parts, made, strict=True)
        ]
        rows = _core.BatchRows(fields, None if order is None else order.astype("uint32"), threads)
        found = {
            name: count + one.not_finite
            for part, of_part, engine in zip(parts, made, rows.not_finite, strict=True)
            for name, one, count in zip(part.names, of_part, engine, strict=True)
            if count + one.not_finite
        }
        counts.add("not_finite", found)
        return Held(parts, rows)

    def _padding(self, part: Part) -> tuple[int, bytes] | None:
        if not part.are_lists or not part.shape:
            return None
        return part.shape[0], np.full(1, self.pad_value, part.dtype).tobytes()


def _shape(column: Any) -> Shape:
    return shape_of(column.kind) or Shape(False, "float64", ())


def _made(name: str, pieces: list[Any], dtype: np.dtype[Any] | None, scaling: Scaling | None) -> Made:
    """A column for the engine, or, if that does not know the type, converted by NumPy."""
    shapes = [_shape(piece) for piece in pieces]
    first = shapes[0]
    if any((one.are_lists, one.inner) != (first.are_lists, first.inner) for one in shapes):
        column_module.joined(name, [to_numpy(piece) for piece in pieces])  # raises an error with the shapes
    scale = None if scaling is None else scaling.columns.get(name)
    stored = np.dtype(first.number)
    if len({one.number for one in shapes}) == 1:
        natural = stored if scale is None or stored.kind == "f" else np.dtype("float64")
        wanted = natural if dtype is None else dtype
        if scale is None and wanted == stored:
            return Made(pieces, first, wanted)
        if wanted.name in _ENGINE_TYPES:
            return Made(pieces, first, wanted, wanted.name, scale)
    elif dtype is not None and dtype.name in _ENGINE_TYPES:
        return Made(pieces, first, dtype, dtype.name, scale)
    column = column_module.joined(name, [to_numpy(piece) for piece in pieces])
    values = column.values if isinstance(column, Ragged) else column
    special = int(np.count_nonzero(~np.isfinite(values))) if values.dtype.kind == "f" else 0
    if scaling is not None:
        values = scaling.apply(name, values)
    if dtype is not None:
        with np.errstate(invalid="ignore"):
            values = values.astype(dtype, copy=False)
    is_seen = values.dtype.name in ("float32", "float64")
    column = Ragged(column.offsets, values) if isinstance(column, Ragged) else values
    return Made([to_engine(column)], first, values.dtype, not_finite=0 if is_seen else special)


def taken(pieces: Sequence[Piece], mix: NDArray[Any] | None, counts: Counts, threads: int) -> Prepared:
    """The rows of some pieces, one after another or in the order of ``mix``."""
    first = pieces[0].held.parts
    if all(piece.held.parts == first for piece in pieces):
        order = None if mix is None else mix.astype("uint32")
        return _taken(pieces, order, counts, threads)
    # Samples whose types differ have the type that holds those of all.
    found = [_taken([piece], None, counts, threads) for piece in pieces]
    whole = {key: column_module.joined(key[1], [one[key] for one in found]) for key in found[0]}
    return whole if mix is None else {key: column_module.take(one, mix) for key, one in whole.items()}


def _taken(pieces: Sequence[Piece], mix: NDArray[Any] | None, counts: Counts, threads: int) -> Prepared:
    rows = sum(piece.last - piece.first for piece in pieces)
    answer = _core.take_rows([(one.held.rows, one.first, one.last) for one in pieces], mix, threads)
    prepared: Prepared = {}
    for part, (values, offsets, mask, cut) in zip(pieces[0].held.parts, answer, strict=True):
        numbers = np.asarray(values).view(part.dtype)
        if offsets is not None:
            prepared[part.key] = Ragged(np.asarray(offsets).view("int64"), numbers)
        else:
            prepared[part.key] = numbers.reshape(rows, *part.shape)
        if mask is not None:
            prepared["mask", part.key[1]] = np.asarray(mask).view("bool").reshape(rows, *part.shape)
        if cut:
            counts.add("cut_lists", {part.key[1]: cut})
    return prepared


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


def rows_of(prepared: Prepared, rows: slice) -> Prepared:
    """Consecutive rows; numbers are not copied."""
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
