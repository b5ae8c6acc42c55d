"""The form of batches: names, types, padding, scaling; what the engine makes of columns."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood._batches import columns as column_module
from sapwood._batches.arguments import whole
from sapwood._batches.columns import Column, Ragged, Shape, shape_in, to_engine, to_numpy
from sapwood._batches.scaling import Scaling, scaled
from sapwood._batches.types import ColumnTypes
from sapwood.errors import MismatchError

#: A part of a batch (`x`, `mask`, `y` or `w`) and the name of a column.
Key = tuple[str, str]
Prepared = dict[Key, Column]
#: Types to which the engine converts numbers.
_ENGINE_TYPES = ("float16", "bfloat16", "float32", "float64")
#: The least numbers that are rounded to infinity.
_INFINITE_FROM = {
    "float16": 65520.0,
    "bfloat16": 2.0**128 - 2.0**119,
    "float32": 2.0**128 - 2.0**103,
}


class BatchColumn(NamedTuple):
    """One column of batches, or the matrix."""

    key: Key
    dtype: np.dtype[Any]
    are_lists: bool
    shape: tuple[int, ...]
    """The shape of a row."""
    names: list[str]
    """The columns that it is made of."""
    scales: list[tuple[float, float] | None]
    """The mean and the width of each of them."""


class Made(NamedTuple):
    """A column on its way into the engine."""

    pieces: list[Any]
    to: str | None = None
    """The type to which the engine converts it."""
    scale: tuple[float, float] | None = None
    not_finite: int = 0
    """Numbers that NumPy counted, since the engine does not: also those that become infinite."""

    @property
    def input(self) -> tuple[list[Any], str | None, tuple[float, float] | None]:
        """The arguments for the engine."""
        return self.pieces, self.to, self.scale


class Fields(NamedTuple):
    """Columns for the engine."""

    fields: list[Any]
    special: list[list[int]]
    """Numbers of each column of each field that are not finite in batches, and that the engine does not count."""


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

    rows: Any
    lease: Lease

    def __len__(self) -> int:
        return len(self.rows)


class Piece(NamedTuple):
    """Some of the rows that are held, in their order."""

    held: Held
    first: int
    last: int


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

    @property
    def by_column(self) -> dict[str, dict[str, int]]:
        """Numbers that are not finite, and lists that were cut short, by column."""
        return {"not_finite": dict(self.not_finite), "cut_lists": dict(self.cut_lists)}


@dataclass(frozen=True)
class Form:
    """The form of batches: names, types, padding, scaling."""

    columns: tuple[str, ...]
    target: tuple[str, ...]
    weight: str | None
    pad: Mapping[str, int] | int | None
    pad_value: float
    dtype: np.dtype[Any] | None
    matrix: bool
    scaling: Scaling | None
    made_of: tuple[BatchColumn, ...] = ()
    """The columns of each batch."""

    @property
    def names(self) -> list[str]:
        """All columns that are read."""
        return list(
            dict.fromkeys([*self.columns, *self.target, *([] if self.weight is None else [self.weight])])
        )

    @property
    def identity(self) -> list[Any]:
        """All that decides on the values of batches."""
        made_of = [
            [one.key, str(one.dtype), one.are_lists, one.shape, one.names, one.scales] for one in self.made_of
        ]
        return [list(self.columns), list(self.target), self.weight, repr(float(self.pad_value)), made_of]

    def decided(self, types: ColumnTypes) -> Form:
        """The form with the columns of each batch: their types do not depend on the rows that it has."""
        found: list[BatchColumn] = []
        matrix: list[str] = []
        if self.scaling is not None:
            self.scaling.check(self.columns)
        for name in self.columns:
            if self.matrix and not types[name].are_lists:
                matrix.append(name)
            else:
                found.append(self._column("x", name, types[name], self.dtype, self._scale(name)))
        single = np.dtype("float32") if self.dtype is None else self.dtype
        if self.matrix:
            found.append(self._matrix(matrix, types, single, [one.key[1] for one in found]))
        found += [self._column("y", name, types[name], None, None) for name in self.target]
        if self.weight is not None:
            if types[self.weight].are_lists or types[self.weight].inner:
                words = f"a weight is one number for each row, and {self.weight!r} holds several"
                raise MismatchError(words)
            found.append(self._column("w", self.weight, types[self.weight], single, None))
        return replace(self, made_of=tuple(found))

    def _scale(self, name: str) -> tuple[float, float] | None:
        return None if self.scaling is None else self.scaling.columns[name]

    def _column(
        self,
        part: str,
        name: str,
        stored: Shape,
        dtype: np.dtype[Any] | None,
        scale: tuple[float, float] | None,
    ) -> BatchColumn:
        natural = np.dtype(stored.number)
        if scale is not None and natural.kind != "f":
            natural = np.dtype("float64")
        kind = natural if dtype is None else dtype
        shape = stored.inner
        width = self.pad.get(name) if isinstance(self.pad, Mapping) else self.pad
        if stored.are_lists and width is not None:
            shape = (width,)
            check_pad_value(name, self.pad_value, kind)
        return BatchColumn((part, name), kind, stored.are_lists, shape, [name], [scale])

    def _matrix(
        self, names: list[str], types: ColumnTypes, dtype: np.dtype[Any], others: list[str]
    ) -> BatchColumn:
        if not names:
            raise MismatchError("matrix=True joins columns of numbers, and all of these are lists")
        if "matrix" in others:
            raise MismatchError(
                "with matrix=True the name 'matrix' is that of the matrix, and a column of lists has it, too: "
                "give the column another name by aliases="
            )
        width = sum(int(np.prod(types[name].inner, dtype="int64")) for name in names)
        return BatchColumn(("x", ""), dtype, False, (width,), names, [self._scale(name) for name in names])

    def hold(
        self, columns: Mapping[str, list[Any]], order: NDArray[Any] | None, counts: Counts, threads: int
    ) -> Held:
        """Rows from which batches are taken in an order."""
        read = self._fields(columns)
        rows = _core.BatchRows(read.fields, None if order is None else order.astype("uint32"), threads)
        return self._held(read.special, rows, counts, _bytes_of_columns(columns))

    def mix(
        self, pieces: Iterable[Mapping[str, list[Any]]], seed: int, rows: int, counts: Counts, threads: int
    ) -> Held:
        """Rows that come in several pieces, from which batches are taken in the order of a seed."""
        mixing = _core.BatchMixing(seed, rows)
        special = [[0] * len(one.names) for one in self.made_of]
        largest = 0
        for columns in pieces:
            largest = max(largest, _bytes_of_columns(columns))
            read = self._fields(columns)
            special = [
                [a + b for a, b in zip(*both, strict=True)]
                for both in zip(special, read.special, strict=True)
            ]
            mixing.add(read.fields, threads)
            del columns, read  # their memory is free for the next ones
        return self._held(special, mixing.finish(), counts, largest)

    def _fields(self, columns: Mapping[str, list[Any]]) -> Fields:
        """Columns in the form of batches, for the engine."""
        fields, special = [], []
        for one in self.made_of:
            made = [
                _made(name, columns[name], one.dtype, scale)
                for name, scale in zip(one.names, one.scales, strict=True)
            ]
            fields.append(([each.input for each in made], one.are_lists, self._padding(one)))
            special.append([each.not_finite for each in made])
        return Fields(fields, special)

    def _padding(self, one: BatchColumn) -> tuple[int, bytes] | None:
        if not one.are_lists or not one.shape:
            return None
        return one.shape[0], np.full(1, self.pad_value, one.dtype).tobytes()

    def _held(self, special: list[list[int]], rows: Any, counts: Counts, passing: int) -> Held:
        """Rows of the engine, made of columns of ``passing`` bytes; counts numbers that are not finite."""
        found: dict[str, int] = {}
        for one, engine, more in zip(self.made_of, rows.not_finite, special, strict=True):
            for name, *both in zip(one.names, engine, more, strict=True):
                if sum(both):
                    found[name] = sum(both)
        counts.add("not_finite", found)
        return Held(rows, Lease(counts.memory, rows.nbytes, passing))

    def take(
        self, pieces: Sequence[Piece], mix: NDArray[Any] | None, counts: Counts, threads: int
    ) -> Prepared:
        """The rows of some pieces, one after another or in the order of ``mix``."""
        rows = sum(piece.last - piece.first for piece in pieces)
        order = None if mix is None else mix.astype("uint32")
        answer = _core.take_rows([(one.held.rows, one.first, one.last) for one in pieces], order, threads)
        prepared: Prepared = {}
        places: set[int] = set()
        for one, (values, offsets, mask, cut) in zip(self.made_of, answer, strict=True):
            array = np.asarray(values).view(one.dtype)
            place = array.__array_interface__["data"][0]
            if place in places and array.size:
                array = array.copy()  # a column that is a target, too: each may be changed in place
            places.add(place)
            if offsets is not None:
                prepared[one.key] = Ragged(np.asarray(offsets).view("int64"), array)
            else:
                prepared[one.key] = array.reshape(rows, *one.shape)
            if mask is not None:
                prepared["mask", one.key[1]] = np.asarray(mask).view("bool").reshape(rows, *one.shape)
            if cut:
                counts.add("cut_lists", {one.key[1]: cut})
        return prepared


def _bytes_of_columns(columns: Mapping[str, list[Any]]) -> int:
    return sum(one.nbytes for pieces in columns.values() for one in pieces)


def _made(name: str, pieces: list[Any], dtype: np.dtype[Any], scale: tuple[float, float] | None) -> Made:
    """A column for the engine, or, if that does not know the type, converted by NumPy."""
    if scale is None and all(shape_in(piece).number == dtype.name for piece in pieces):
        return Made(pieces)
    if dtype.name in _ENGINE_TYPES:
        return Made(pieces, dtype.name, scale, sum(too_large(piece, dtype, scale) for piece in pieces))
    column = column_module.joined([to_numpy(piece) for piece in pieces])
    values = column.values if isinstance(column, Ragged) else column
    special = int(np.count_nonzero(~np.isfinite(values))) if values.dtype.kind == "f" else 0
    if scale is not None:
        values = scaled(values, scale)
    try:
        with np.errstate(invalid="raise" if dtype.kind in "iu" else "ignore"):
            values = values.astype(dtype, copy=False)
    except FloatingPointError:
        raise MismatchError(
            f"the column {name!r} holds numbers that {dtype} does not hold, as NaN or larger ones: dtype= names "
            "a type of floats for them, or a cut leaves them out"
        ) from None
    is_seen = values.dtype.name in ("float32", "float64")
    column = Ragged(column.offsets, values) if isinstance(column, Ragged) else values
    return Made([to_engine(column)], not_finite=0 if is_seen else special)


def too_large(column: Any, dtype: np.dtype[Any], scale: tuple[float, float] | None) -> int:
    """How many finite numbers of a column of the engine become infinite in a type of floats.

    >>> column = to_engine(np.array([65519.0, 65520.0, -1e5, np.inf]))
    >>> too_large(column, np.dtype("float16"), None)
    2
    """
    if dtype.name not in _INFINITE_FROM:
        return 0
    stored = np.dtype(shape_in(column).number)
    mean, width = scale or (0.0, 1.0)
    least, most = (np.float64(mean + sign * _INFINITE_FROM[dtype.name] * width) for sign in (-1, 1))
    if stored.kind == "b" or (least < _limits(stored).min and _limits(stored).max < most):
        return 0
    numbers = to_numpy(column)
    values = numbers.values if isinstance(numbers, Ragged) else numbers
    with np.errstate(invalid="ignore"):  # NaN that signals
        # Most columns hold none: their least and largest number show it.
        if not values.size or (np.fmin.reduce(values, None) > least and np.fmax.reduce(values, None) < most):
            return 0
        return int(np.count_nonzero(((values <= least) | (values >= most)) & np.isfinite(values)))


def _limits(dtype: np.dtype[Any]) -> Any:
    return np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)


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
    if isinstance(pad, Mapping):
        if unknown := [name for name in pad if name not in columns]:
            raise MismatchError(f"pad= names {unknown[0]!r}, and the columns are {list(columns)!r}")
        return {name: whole(width, "pad=, a length of lists,", 1) for name, width in pad.items()}
    return None if pad is None else whole(pad, "pad=, a length of lists,", 1)


def check_pad_value(name: str, value: float, dtype: np.dtype[Any]) -> None:
    """Raises an error unless a type holds the number that fills up lists."""
    if dtype.kind not in "iub":
        return
    least, most = (0, 1) if dtype.kind == "b" else (_limits(dtype).min, _limits(dtype).max)
    if not (least <= value <= most and value % 1 == 0):
        raise MismatchError(
            f"pad_value={value!r} is not a number of {dtype}, the type of {name!r}: dtype= names another type"
        )
