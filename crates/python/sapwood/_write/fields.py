"""Columns of Python as the engine's: a type as nested tuples (see :mod:`sapwood._read.layout`), and buffers."""

from __future__ import annotations

import contextlib
import functools
import typing
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sapwood._read import layout
from sapwood._write import branch_types, choices, classes, tables
from sapwood._write.lossless import as_array, awkward, from_values, is_awkward, shown
from sapwood.errors import MismatchError, UnsupportedError

Kind = tuple[Any, ...]
Buffers = list[np.ndarray[Any, Any]]


def of_data(name: str, data: Any, wanted: Kind | None = None) -> tuple[Kind, int, Buffers]:
    """Type, rows and buffers of a column: NumPy, Awkward, pandas, Arrow, or lists; objects of dataclasses
    where the type of its field is declared with them. Where that type is given, numbers are converted to it
    if none changes.

    >>> of_data("x", [[1, 2], []])[:2]
    (('list', 0, 'sequence', ('number', 1, 'int64')), 2)

    Raises :class:`~sapwood.errors.UnsupportedError` for what no RNTuple holds.
    """
    buffers: Buffers = []
    if wanted is not None and wanted[0] == "typed":
        try:
            return ("typed", classes.column_of(wanted[1], data)), len(data), []
        except MismatchError as error:
            raise MismatchError(f"field {name!r}: {error}{_first_row(wanted[1], data)}") from None
    kind: Kind = ("unknown",)
    try:
        if isinstance(data, np.ndarray) and data.dtype.kind in "biuf" and not np.ma.isMaskedArray(data):
            kind, rows = _numpy(data, buffers), len(data)
        else:
            data = _plain(data)
            rows = len(data)
            if wanted is not None and isinstance(data, list) and layout.has_choice(wanted):
                return _of_values(wanted, data, buffers), rows, buffers
            kind = _layout(_awkward(data).layout, buffers)
        if wanted is None:
            return _settled(kind, buffers), rows, buffers
        try:
            return _fit(wanted, kind, buffers), rows, buffers
        except _DiffersError:
            if not layout.has_choice(wanted):
                raise
        # Types alone do not tell which of several is meant: values may.
        buffers = []
        return _of_values(wanted, data.tolist(), buffers), rows, buffers
    except UnsupportedError as error:
        raise UnsupportedError(f"{error} (field {name!r})") from None
    except (TypeError, ValueError, RuntimeError) as error:  # of NumPy and Awkward
        raise MismatchError(f"{shown(data)} cannot be a column: {error} (field {name!r})") from None
    except _DiffersError as error:
        message = f"field {name!r} takes {shape(wanted or ())}, and was given {error.given or shape(kind)}"
        if error.index is not None:
            message += f" in row {error.index}"
        raise MismatchError(message) from None


def _first_row(kind: classes.Type, values: Any) -> str:
    """The row of the first value that is not of a type, in words."""
    for row, value in enumerate(values if isinstance(values, (list, tuple)) else ()):
        try:
            classes.column_of(kind, [value])
        except MismatchError:
            return f" in row {row}"
    return ""


def is_declared(kind: Any) -> bool:
    """Whether a type is a dataclass, or a container or an array as those of its members are."""
    return classes.is_class(kind) or typing.get_origin(kind) is not None


def of_members(kind: type) -> dict[str, Kind]:
    """The members of a dataclass as fields, those of its bases first."""

    def members(made: Any) -> dict[str, Kind]:
        found: dict[str, Kind] = {}
        for name, of, is_base, _ in made[2]:
            found |= members(of[1]) if is_base else {name: ("typed", of)}
        return found

    return members(classes.type_of(kind)[1])


def of_type(name: str, kind: Any) -> Kind:
    """The type that a NumPy or Awkward type, a word for one, or a dataclass stands for.

    >>> of_type("x", "var * float32")
    ('list', 0, 'sequence', ('number', 1, 'float32'))
    """
    if is_declared(kind):
        try:
            return "typed", classes.type_of(kind)
        except UnsupportedError as error:
            raise UnsupportedError(f"{error} (field {name!r})") from None
    ak = awkward()

    try:
        found = branch_types.as_type(kind)
        if isinstance(found, str):  # a vector in C++ words
            depth, item = branch_types.vector(name, found)
            found = branch_types.of_datashape("var * " * depth + (item or "string"))
        if isinstance(found, np.dtype):
            empty: Any = np.empty(0, found)
        else:
            empty = ak.Array(ak.forms.from_type(found).length_zero_array(highlevel=False))
    except UnsupportedError:
        raise
    except Exception as error:  # of Awkward, which has errors of its own
        raise UnsupportedError(f"{kind!r} is no type that an RNTuple holds (field {name!r})") from error
    return of_data(name, empty)[0]


def are_types(given: Any) -> bool:
    """Whether a mapping gives types, and no data."""
    ak = awkward()

    types = (str, np.dtype, type, ak.types.Type)
    return (
        isinstance(given, dict)
        and bool(given)
        and all(
            isinstance(one, types) or is_declared(one) or branch_types.is_shaped(one)
            for one in given.values()
        )
    )


def _plain(data: Any) -> Any:
    """What a column holds as an Awkward Array, or as a list of Python's values."""
    ak = awkward()

    if is_awkward(data):
        return data
    if hasattr(data, "__arrow_c_array__") or type(data).__module__.startswith("pyarrow"):
        return tables.of_arrow(data)
    if isinstance(data, np.ndarray) and data.dtype.names:
        return ak.from_numpy(data)
    if hasattr(data, "isna") and not (isinstance(data.dtype, np.dtype) and data.dtype.kind in "biuf"):
        # A Series of pandas with missing values: these are None, and whole numbers stay whole.
        data = [None if is_missing else one for one, is_missing in zip(data.tolist(), data.isna())]
    elif hasattr(data, "to_numpy") and not isinstance(data, np.ndarray):
        data = data.to_numpy()
    if isinstance(data, np.ndarray) and data.dtype.kind in "biufUS":
        return ak.from_numpy(data)
    if isinstance(data, np.ndarray):
        data = data.tolist()
    return data if isinstance(data, list) else list(data)


def _awkward(data: Any) -> Any:
    """Awkward Arrays as they are, and lists of Python's values as such."""
    ak = awkward()

    if not isinstance(data, list):
        return data
    if data and all(isinstance(one, (int, np.integer)) and not isinstance(one, bool) for one in data):
        return ak.from_numpy(as_array(data))
    return from_values(data)


def _of_values(wanted: Kind, values: list[Any], buffers: Buffers) -> Kind:
    """Values of Python as a type with several ones to choose from: each value is of that which suits it."""
    if not layout.has_choice(wanted):
        return _fit(wanted, _layout(_awkward(values).layout, buffers), buffers)
    if wanted[0] == "oneof":
        tags = choices.tags_of(wanted[2], values)
        others = tags == choices.NO_TYPE
        if others.any():
            row = int(others.argmax())
            raise _DiffersError(shown(values[row]), row)
        kinds = []
        for tag, kind in enumerate(wanted[2]):
            rows = np.flatnonzero(tags == tag).tolist()
            with _within(rows.__getitem__):
                kinds.append(_of_values(kind, [values[row] for row in rows], buffers))
        return ("oneof", _add(buffers, tags), kinds)
    if wanted[0] == "record":
        return _of_records(wanted, values, buffers)
    for row, value in enumerate(values):
        if not isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
            raise _DiffersError(shown(value), row)
        if wanted[0] == "fixed" and len(value) != wanted[1]:
            raise _DiffersError(f"a list of {len(value)}", row)
    offsets = np.zeros(len(values) + 1, "int64")
    np.cumsum([len(value) for value in values], out=offsets[1:])
    with _within(_list_of(offsets)):
        inner = _of_values(wanted[-1], [item for value in values for item in value], buffers)
    if wanted[0] == "fixed":
        return ("fixed", wanted[1], inner)
    return ("list", _add(buffers, offsets), wanted[2], inner)


def _of_records(wanted: Kind, values: list[Any], buffers: Buffers) -> Kind:
    """Mappings, or tuples where the type is one, as records."""
    members = layout.members(wanted)
    names = [name for name, _ in members]
    rows = []
    for row, value in enumerate(values):
        if isinstance(value, tuple) and len(value) == len(names) and wanted[1] in ("pair", "tuple"):
            value = dict(zip(names, value))
        if not isinstance(value, dict) or set(value) != set(names):
            raise _DiffersError(shown(value), row)
        rows.append(value)
    columns = [_of_values(kind, [value[name] for value in rows], buffers) for name, kind in members]
    return _fit(wanted, ("record", "", _fields(names, columns)), buffers)


def _add(buffers: Buffers, array: np.ndarray[Any, Any]) -> int:
    buffers.append(np.ascontiguousarray(array).reshape(-1).view("uint8"))
    return len(buffers) - 1


@functools.cache
def _native(dtype: np.dtype[Any]) -> tuple[np.dtype[Any], str]:
    """Numbers of the same type in the byte order of this machine, and the name of that type: NumPy takes longer
    to tell it than a small column to be written."""
    native = dtype.newbyteorder("=")
    return native, native.name


def _numpy(array: np.ndarray[Any, Any], buffers: Buffers) -> Kind:
    is_held = array.dtype.kind in "biuf" and array.dtype.itemsize in (1, 2, 4, 8)
    if not is_held or array.dtype == np.float16:
        to = "float32" if array.dtype == np.float16 else "another type"
        message = f"values of type {array.dtype} cannot be in RNTuples: convert them to {to} first (astype)"
        raise UnsupportedError(message)
    dtype, name = _native(array.dtype)
    kind: Kind = ("number", _add(buffers, array.astype(dtype, copy=False)), name)
    for length in reversed(array.shape[1:]):
        kind = ("fixed", int(length), kind)
    return kind


def _layout(layout: Any, buffers: Buffers) -> Kind:
    """The type of a layout of Awkward; its memory is added to the buffers."""
    if layout.is_numpy:
        return _numpy(np.asarray(layout.data), buffers)
    if layout.is_unknown:
        # A list that was always empty: nothing says of what.
        return ("unknown",)
    if layout.is_list and layout.parameter("__array__") in ("string", "bytestring"):
        layout = layout.to_ListOffsetArray64(True)
        offsets = np.asarray(layout.offsets)
        at = _add(buffers, offsets.astype("int64", copy=False))
        data = np.asarray(layout.content.data)[: int(offsets[-1])]
        return ("text", at, _add(buffers, data))
    if layout.is_regular:
        if layout.size == 0:
            raise UnsupportedError("an RNTuple cannot hold arrays of no items")
        return ("fixed", int(layout.size), _layout(layout.content[: layout.size * len(layout)], buffers))
    if layout.is_list:
        layout = layout.to_ListOffsetArray64(True)
        offsets = np.asarray(layout.offsets)
        at = _add(buffers, offsets.astype("int64", copy=False))
        item = layout.content[: int(offsets[-1])]
        is_map = item.is_record and item.is_tuple and item.parameter("__array__") == "sorted_map"
        means = "map" if is_map else "set" if layout.parameter("__array__") == "set" else "sequence"
        kind = _layout(item, buffers)
        return ("list", at, means, ("record", "pair", kind[2]) if is_map else kind)
    if layout.is_record:
        # Before what is inside is cut to its length.
        names = layout.fields
        contents = [_layout(content[: len(layout)], buffers) for content in layout.contents]
        if layout.is_tuple:
            return ("record", "tuple", _fields(names, contents))
        is_pair = names == ["first", "second"] and layout.parameter("__record__") is None
        return ("record", "pair" if is_pair else "", _fields(names, contents))
    if layout.is_option:
        layout = layout.to_IndexedOptionArray64()
        index = np.asarray(layout.index)
        at = _add(buffers, np.where(index < 0, -1, 0).astype("int8"))
        return ("oneof", at, [_layout(layout.content._carry(_index(index[index >= 0]), False), buffers)])
    if layout.is_indexed:
        return _layout(layout.project(), buffers)
    if layout.is_union:
        return _union(layout, buffers)
    raise UnsupportedError(f"an RNTuple cannot hold {type(layout).__name__}")


def _fields(names: list[str], kinds: list[Kind]) -> list[tuple[str, bool, Kind]]:
    return [(name, False, kind) for name, kind in zip(names, kinds)]


def _index(numbers: np.ndarray[Any, Any]) -> Any:
    ak = awkward()

    return ak.index.Index64(numbers.astype("int64", copy=False))


def _union(layout: Any, buffers: Buffers) -> Kind:
    tags = np.asarray(layout.tags).astype("int8")
    index = np.asarray(layout.index)[: len(tags)]
    at, contents = _add(buffers, tags), []
    rows = tags.copy()
    for tag, content in enumerate(layout.contents):
        its = index[tags == tag]
        picked = content._carry(_index(its), False)
        if picked.is_option:
            # A variant has no nulls of its own but those that stand for none of its types.
            picked = picked.to_IndexedOptionArray64()
            inner = np.asarray(picked.index)
            rows[np.flatnonzero(tags == tag)[inner < 0]] = -1
            picked = picked.content._carry(_index(inner[inner >= 0]), False)
        contents.append(_layout(picked, buffers))
    buffers[at] = rows.view("uint8")
    return ("oneof", at, contents)


class _DiffersError(Exception):
    """Values do not fit: the first of them, in words, and its index where it is known."""

    def __init__(self, given: str = "", index: int | None = None) -> None:
        self.given = given
        self.index = index


@contextlib.contextmanager
def _within(row_of: Callable[[int], int]) -> Iterator[None]:
    """What does not fit is an item: the row that it is in."""
    try:
        yield
    except _DiffersError as error:
        if error.index is not None:
            error.index = row_of(error.index)
        raise


def _list_of(offsets: np.ndarray[Any, Any]) -> Callable[[int], int]:
    """Which list an item is in."""
    return lambda item: int(np.searchsorted(offsets, item, side="right")) - 1


def _settled(kind: Kind, buffers: Buffers) -> Kind:
    """A type in which items of lists that were always empty are floats, as in Awkward."""
    if kind[0] == "unknown":
        return _numpy(np.empty(0), buffers)
    if kind[0] in ("list", "fixed"):
        return (*kind[:-1], _settled(kind[-1], buffers))
    if kind[0] == "record":
        return (*kind[:2], [(name, base, _settled(of, buffers)) for name, base, of in kind[2]])
    if kind[0] == "oneof":
        return (*kind[:2], [_settled(of, buffers) for of in kind[2]])
    return kind


def _nothing(kind: Kind, buffers: Buffers) -> Kind:
    """No values of a type."""
    if kind[0] == "number":
        return ("number", _add(buffers, np.empty(0, kind[2])), kind[2])
    if kind[0] == "text":
        return ("text", _add(buffers, np.zeros(1, "int64")), _add(buffers, np.empty(0, "uint8")))
    if kind[0] == "opaque":
        return ("opaque", _add(buffers, np.zeros(1, "int64")), _add(buffers, np.empty(0, "uint8")), kind[3])
    if kind[0] == "list":
        return ("list", _add(buffers, np.zeros(1, "int64")), kind[2], _nothing(kind[3], buffers))
    if kind[0] == "fixed":
        return ("fixed", kind[1], _nothing(kind[2], buffers))
    if kind[0] == "record":
        return (*kind[:2], [(name, base, _nothing(of, buffers)) for name, base, of in kind[2]])
    return ("oneof", _add(buffers, np.empty(0, "int8")), [_nothing(of, buffers) for of in kind[2]])


def _fit(wanted: Kind, given: Kind, buffers: Buffers) -> Kind:
    """The buffers of a type as of another one: numbers are converted where none changes."""
    if given[0] == "unknown":
        return _nothing(wanted, buffers)
    if wanted[0] == "number" and given[0] == "number":
        return _fit_numbers(wanted, given, buffers)
    if wanted[0] == "fixed" and given[0] == "list":
        offsets = buffers[given[1]].view("int64")
        lengths = np.diff(offsets)
        if (lengths != wanted[1]).any():
            row = int((lengths != wanted[1]).argmax())
            raise _DiffersError(f"a list of {lengths[row]}", row)
        with _within(lambda item: item // int(wanted[1])):
            return ("fixed", wanted[1], _fit(wanted[2], given[3], buffers))
    if wanted[0] == "list" and given[0] == "fixed":
        rows = _rows(given, buffers)
        at = _add(buffers, np.arange(rows + 1, dtype="int64") * given[1])
        with _within(lambda item: item // int(given[1])):
            return ("list", at, wanted[2], _fit(wanted[3], given[2], buffers))
    if wanted[0] == given[0] == "oneof" and len(wanted[2]) == 1 and wanted[2][0][0] == "oneof":
        # Awkward has no option of a union: its nulls are those of the union.
        tags = buffers[given[1]].view("int8")
        at = _add(buffers, np.where(tags < 0, -1, 0).astype("int8"))
        return (
            "oneof",
            at,
            [_fit(wanted[2][0], ("oneof", _add(buffers, tags[tags >= 0]), given[2]), buffers)],
        )
    if wanted[0] == "oneof" and len(wanted[2]) > 1:
        given = _in_order(wanted, given, buffers)
    if wanted[0] == "opaque" and given[0] == "text":
        # As the class's streamer wrote them.
        return ("opaque", *given[1:], wanted[3])
    if wanted[0] != given[0]:
        if wanted[0] == "oneof" and len(wanted[2]) == 1:
            # Values without a null are given to a field that may have them.
            inner = _fit(wanted[2][0], given, buffers)
            buffers.append(np.zeros(_rows(inner, buffers), "uint8"))
            return ("oneof", len(buffers) - 1, [inner])
        if given[0] == "oneof":
            if len(given[2]) == 1 and not (buffers[given[1]].view("int8") < 0).any():
                # Values that may be missing, of which none is.
                return _fit(wanted, given[2][0], buffers)
            raise _first_other(wanted, given, buffers)
        raise _DiffersError
    if wanted[0] == "text":
        return given
    if wanted[0] == "list":
        with _within(_list_of(buffers[given[1]].view("int64"))):
            return ("list", given[1], wanted[2], _fit(wanted[3], given[3], buffers))
    if wanted[0] == "fixed":
        if wanted[1] != given[1]:
            raise _DiffersError
        with _within(lambda item: item // int(given[1])):
            return ("fixed", given[1], _fit(wanted[2], given[2], buffers))
    if wanted[0] == "record":
        return _fit_record(wanted, given, buffers)
    if len(wanted[2]) != len(given[2]):
        raise _DiffersError
    kinds = []
    for tag, (one, other) in enumerate(zip(wanted[2], given[2])):
        rows_of = np.flatnonzero(buffers[given[1]].view("int8") == tag)
        with _within(lambda item, rows_of=rows_of: int(rows_of[item])):  # type: ignore[misc]
            kinds.append(_fit(one, other, buffers))
    return ("oneof", given[1], kinds)


def _in_order(wanted: Kind, given: Kind, buffers: Buffers) -> Kind:
    """Values of one type, or of several, as those of a union: its types in their order, some of no values."""
    is_one = given[0] != "oneof"
    members = [given] if is_one else given[2]
    places = [_place_in(wanted[2], kind) for kind in members]
    if len(set(places)) < len(places):
        raise _DiffersError
    tags = np.zeros(_rows(given, buffers), "int8") if is_one else buffers[given[1]].view("int8")
    at = _add(buffers, np.array([*places, -1], "int8")[tags])  # the last for those that are absent
    kinds = [
        members[places.index(tag)] if tag in places else _nothing(kind, buffers)
        for tag, kind in enumerate(wanted[2])
    ]
    return ("oneof", at, kinds)


def _place_in(members: list[Kind], given: Kind) -> int:
    """The only one of several types that is the given one, or, where none is, the only one of its sort."""

    def sort(kind: Kind) -> str:
        return str(kind[0]) if kind[0] != "number" else np.dtype(kind[2]).kind.replace("u", "i")

    same = [tag for tag, kind in enumerate(members) if shape(kind) == shape(given)]
    same = same or [tag for tag, kind in enumerate(members) if sort(kind) == sort(given)]
    if len(same) != 1:
        raise _DiffersError
    return same[0]


def _fit_numbers(wanted: Kind, given: Kind, buffers: Buffers) -> Kind:
    """Numbers as those of another type, where none changes but for digits of floats."""
    if wanted[2] != given[2]:
        values = buffers[given[1]].view(given[2])
        with np.errstate(all="ignore"):
            there = values.astype(wanted[2])
            if (there.dtype.kind == "b") != (values.dtype.kind == "b"):
                raise _DiffersError
            if there.dtype.kind == "f":
                other = np.isinf(there) & np.isfinite(values)
                if values.dtype.kind != "f":
                    other |= there.astype(values.dtype) != values
            else:
                other = there.astype(values.dtype) != values
        if other.any():
            index = int(other.argmax())
            raise _DiffersError(str(values[index]), index)
        buffers[given[1]] = there.view("uint8")
    return ("number", given[1], wanted[2])


def _fit_record(wanted: Kind, given: Kind, buffers: Buffers) -> Kind:
    if wanted[1] in ("pair", "tuple") and [field for field, _, _ in given[2]] == _counted(wanted):
        # Awkward counts the members of a tuple; their fields have names.
        members = [(field, base, kind) for (field, base, _), (_, _, kind) in zip(wanted[2], given[2])]
        given = ("record", given[1], members)
    named = {field: kind for field, _, kind in given[2]}
    names = _own_names(wanted)
    missing = [field for field in names if field not in named]
    unknown = [field for field in named if field not in names]
    if missing or unknown:
        words = [f"without {', '.join(map(repr, missing))}"] if missing else []
        words += [f"with {', '.join(map(repr, unknown))}"] if unknown else []
        raise _DiffersError(f"records {' and '.join(words)}")
    members = []
    for field, base, kind in wanted[2]:
        if _is_hidden(base, kind):
            members.append((field, base, _new_objects(kind, _rows(given, buffers), buffers)))
            continue
        # The members of a base are shown as those of the class.
        its = (
            ("record", "", [(name, False, named[name]) for name in _own_names(kind)])
            if base
            else named[field]
        )
        members.append((field, base, _fit(kind, its, buffers)))
    return ("record", wanted[1], members)


def _counted(record: Kind) -> list[str]:
    return [str(number) for number in range(len(record[2]))]


def _own_names(record: Kind) -> list[str]:
    """Names of the members of a record, with those of its bases in their place."""
    found: list[str] = []
    for field, base, kind in record[2]:
        if not _is_hidden(base, kind):
            found += _own_names(kind) if base else [field]
    return found


def _is_hidden(base: bool, kind: Kind) -> bool:
    """Whether members are shown nowhere: those of TObject, which say nothing of the values."""
    return bool(base and kind[0] == "record" and kind[1] == "TObject")


def _new_objects(kind: Kind, rows: int, buffers: Buffers) -> Kind:
    """TObject's members as of objects that were just made."""
    members = [
        (
            field,
            base,
            ("number", _add(buffers, np.full(rows, classes.NEW_OBJECT.get(field, 0), of[2])), of[2]),
        )
        for field, base, of in kind[2]
    ]
    return ("record", kind[1], members)


def _first_other(wanted: Kind, given: Kind, buffers: Buffers) -> _DiffersError:
    """The first of values that may be absent, or of several types, that is not of the type that is wanted."""
    fits = [kind[0] == wanted[0] for kind in given[2]]
    tags = buffers[given[1]].view("int8")
    index = int((~np.isin(tags, [tag for tag, good in enumerate(fits) if good])).argmax())
    tag = int(tags[index])
    return _DiffersError("None" if tag < 0 else shape(given[2][tag]), index)


def _rows(kind: Kind, buffers: Buffers) -> int:
    """Rows of a type, by its buffers."""
    if kind[0] == "number":
        return len(buffers[kind[1]]) // np.dtype(kind[2]).itemsize
    if kind[0] in ("text", "opaque", "list"):
        return len(buffers[kind[1]]) // 8 - 1
    if kind[0] == "fixed":
        return _rows(kind[2], buffers) // int(kind[1])
    if kind[0] == "oneof":
        return len(buffers[kind[1]])
    return _rows(kind[2][0][2], buffers) if kind[0] == "record" and kind[2] else 0


def shape(kind: Kind) -> str:
    """A type in words, without the numbers of buffers."""
    if kind[0] == "unknown":
        return "unknown"
    if kind[0] == "number":
        return str(kind[2])
    if kind[0] == "text":
        return "string"
    if kind[0] == "opaque":
        return f"bytes of {kind[3]}"
    if kind[0] == "list":
        return f"var * {shape(kind[3])}"
    if kind[0] == "fixed":
        return f"{kind[1]} * {shape(kind[2])}"
    if kind[0] == "record":
        return "{" + ", ".join(f"{name}: {shape(of)}" for name, _, of in kind[2]) + "}"
    inside = ", ".join(shape(of) for of in kind[2])
    return f"?{inside}" if len(kind[2]) == 1 else f"union[{inside}]"
