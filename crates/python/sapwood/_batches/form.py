"""The form of batches: names, types, padding, scaling; what the engine makes of columns."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
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


class Fields(NamedTuple):
    """Columns for the engine."""

    parts: list[Part]
    fields: list[Any]
    special: list[list[int]]
    """Numbers of each column of each part that are not finite, and that the engine does not see."""


class Meter:
    """Counts the bytes of rows and batches that are in memory."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self._lock = threading.Lock()
        #: Bytes that were given back. A lease may end at any moment, also while the lock is held.
        self._ended: deque[int] = deque()

    def add(self, size: int, passing: int = 0) -> None:
        """Adds bytes; ``passing`` bytes exist for a moment only."""
        with self._lock:
            while self._ended:
                self.now -= self._ended.popleft()
            self.now += size
            self.most = max(self.most, self.now + passing)

    def end(self, size: int) -> None:
        """Gives bytes back."""
        self._ended.append(size)

    def __reduce__(self) -> tuple[Any, ...]:
        return Meter, ()  # another process has none of this memory


class Lease:
    """Bytes that count for as long as it lives."""

    def __init__(self, meter: Meter, size: int, passing: int = 0) -> None:
        self._meter, self._size = meter, size
        meter.add(size, passing)

    def __del__(self) -> None:
        self._meter.end(self._size)


class Held(NamedTuple):
    """Rows in the memory of the engine."""

    parts: list[Part]
    rows: Any
    lease: Lease

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
        """Rows from which batches are taken in an order."""
        read = self._fields(columns)
        rows = _core.BatchRows(read.fields, None if order is None else order.astype("uint32"), threads)
        return _held(read, rows, counts, _bytes_of_columns(columns))

    def mix(
        self, pieces: Iterable[Mapping[str, list[Any]]], seed: int, rows: int, counts: Counts, threads: int
    ) -> Held | None:
        """Rows that come in several pieces, from which batches are taken in the order of a seed; ``None`` if
        their types differ."""
        mixing = _core.BatchMixing(seed, rows)
        first: Fields | None = None
        largest = 0
        for columns in pieces:
            largest = max(largest, _bytes_of_columns(columns))
            read = self._fields(columns)
            if first is None:
                first = read._replace(fields=[])
            elif read.parts != first.parts:
                return None
            else:
                special = zip(first.special, read.special, strict=True)
                first = first._replace(
                    special=[[a + b for a, b in zip(*both, strict=True)] for both in special]
                )
            mixing.add(read.fields, threads)
            del columns, read  # their memory is free for the next ones
        assert first is not None, "a group has rows"
        return _held(first, mixing.finish(), counts, largest)

    def _fields(self, columns: Mapping[str, list[Any]]) -> Fields:
        """Columns in the form of batches, for the engine."""
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
        return Fields(parts, fields, [[one.not_finite for one in of_part] for of_part in made])

    def _padding(self, part: Part) -> tuple[int, bytes] | None:
        if not part.are_lists or not part.shape:
            return None
        return part.shape[0], np.full(1, self.pad_value, part.dtype).tobytes()


def _bytes_of_columns(columns: Mapping[str, list[Any]]) -> int:
    return sum(one.nbytes for pieces in columns.values() for one in pieces)


def _held(read: Fields, rows: Any, counts: Counts, passing: int) -> Held:
    """Rows of the engine, made of columns of so many bytes; counts numbers that are not finite."""
    found = {
        name: count + more
        for part, engine, special in zip(read.parts, rows.not_finite, read.special, strict=True)
        for name, count, more in zip(part.names, engine, special, strict=True)
        if count + more
    }
    counts.add("not_finite", found)
    return Held(read.parts, rows, Lease(counts.memory, rows.nbytes, passing))


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
    places: set[int] = set()
    for part, (values, offsets, mask, cut) in zip(pieces[0].held.parts, answer, strict=True):
        numbers = np.asarray(values).view(part.dtype)
        place = numbers.__array_interface__["data"][0]
        if place in places and numbers.size:
            numbers = numbers.copy()  # a column that is a target, too: each may be changed in place
        places.add(place)
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
    """Counts of values that are not finite, of lists that were cut short, and of bytes."""

    not_finite: dict[str, int] = field(default_factory=dict)
    cut_lists: dict[str, int] = field(default_factory=dict)
    memory: Meter = field(default_factory=Meter)

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
