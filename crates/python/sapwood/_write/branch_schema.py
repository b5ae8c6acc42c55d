"""From arrays and tables to the branches of a tree that is written."""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sapwood import errors
from sapwood._write import branch_types, classes, lossless

CounterName = Callable[[str], str] | str
FieldName = Callable[[str, str], str] | str
"""Choices of names: functions, or texts with ``{}`` for what they are given."""


@dataclass(frozen=True)
class Spec:
    """A branch: ``kind`` is ``numbers``, ``jagged``, ``counter``, ``text``, ``vector``, ``object`` or ``leaves``.

    Of a vector ``dimensions`` is its depth, and ``dtype`` is empty where it holds strings; of an object it is
    the split level, and ``objects`` is its type, as it is of a list of leaves. ``packing`` is the range of
    ``Double32_t`` and ``Float16_t``.
    """

    name: str
    kind: str
    dtype: str = ""
    counter: str = ""
    dimensions: tuple[int, ...] = ()
    objects: classes.Type | None = None
    packing: str | None = None

    def for_engine(self, compression: str | None = None) -> tuple[Any, ...]:
        numbers = self.dtype, self.counter, self.dimensions
        return self.name, self.kind, *numbers, self.objects, self.packing, compression


@dataclass
class Schema:
    """Branches in their order, and for each column of the data the branches that it fills: a field of it, or
    itself.

    A column of whole numbers that has the name of a counter is that counter: it may be given, and must agree
    with the lists.
    """

    specs: list[Spec] = field(default_factory=list)
    columns: dict[str, list[tuple[str | None, Spec]]] = field(default_factory=dict)
    counters: dict[str, str] = field(default_factory=dict)
    """Branches that count, and a branch that each of them counts."""
    places: dict[str, int] = field(default_factory=dict)
    """Where the branch of a name stands."""
    is_declared: bool = True
    """Whether the types were given: then a counter has its own, else it is an ``int``."""

    def add(self, column: str, part: str | None, spec: Spec) -> None:
        if spec.counter and spec.counter not in self.counters:
            self.counters[spec.counter] = spec.name
            counter = Spec(spec.counter, "counter", "int32")
            given = self.places.get(spec.counter)
            if given is not None and _may_count(self.specs[given]):
                self.specs[given] = (
                    replace(counter, dtype=self.specs[given].dtype) if self.is_declared else counter
                )
                self.columns.pop(spec.counter, None)
            else:
                self._append(counter)
        if spec.name in self.counters and _may_count(spec) and part is None:
            if self.is_declared:
                there = self.places[spec.name]
                self.specs[there] = replace(self.specs[there], dtype=spec.dtype)
            return
        self._append(spec)
        self.columns.setdefault(column, []).append((part, spec))

    def refusal(self, row: Mapping[str, Any]) -> str | None:
        """Why a row is none of this tree, as far as names and plain types say so; nothing where it may be
        one."""
        if row.keys() != self.columns.keys() and row.keys() - self.counters.keys() != self.columns.keys():
            wanted = ", ".join(map(repr, self.columns))
            return f"a row has a value for each of {wanted}; given were {', '.join(map(repr, row))}"
        for name, (kinds, least, most) in self._passing.items():
            value = row[name]
            if type(value) in kinds and (least is None or least <= value <= most):
                continue
            part, spec = self.columns[name][0]
            # Of a record only its conversion knows more.
            wrong = _refusal(spec, value) if part is None or value is None else None
            if wrong:
                return f"branch {spec.name!r} {wrong}"
        return None

    @functools.cached_property
    def _passing(self) -> dict[str, tuple[frozenset[type], Any, Any]]:
        """For each column the types of values that need no second look, and the least and most of whole
        numbers."""
        found: dict[str, tuple[frozenset[type], Any, Any]] = {}
        for name, ((part, spec), *_) in self.columns.items():
            if part is not None or spec.objects is not None:
                found[name] = frozenset(), None, None
            elif spec.kind == "numbers" and not spec.dimensions:
                kind = np.dtype(spec.dtype)
                range_ = np.iinfo(kind) if kind.kind in "iu" else None
                kinds = frozenset(_FITTING[kind.kind]) & {bool, int, float}
                found[name] = (
                    kinds,
                    None if range_ is None else range_.min,
                    None if range_ is None else range_.max,
                )
            else:
                found[name] = (
                    frozenset((str, bytes) if spec.kind == "text" else (list, np.ndarray)),
                    None,
                    None,
                )
        return found

    def _append(self, spec: Spec) -> None:
        check_text(spec.name, "the name of a branch")
        if spec.name in self.places:
            raise errors.MismatchError(
                f"two branches would have the name {spec.name!r}: see counter_name and field_name"
            )
        self.places[spec.name] = len(self.specs)
        self.specs.append(spec)


_SCALARS = (int, float, complex, str, bytes, np.generic)
_FITTING: dict[str, Any] = {
    "b": (bool, np.bool_),
    "i": (int, np.integer, np.bool_),
    "u": (int, np.integer, np.bool_),
    "f": (int, float, np.number, np.bool_),
}
"""Python's types of numbers that a branch of numbers takes."""


def _refusal(spec: Spec, value: Any) -> str | None:
    """Why a value cannot be one entry of a branch, as far as its type says so; nothing where it may be
    one."""
    if value is None or value is np.ma.masked:
        is_pointer = spec.objects is not None and spec.objects[0] == "pointer"
        return None if is_pointer and value is None else "cannot hold missing values"
    if spec.kind == "numbers" and not spec.dimensions:
        kind = np.dtype(spec.dtype).kind
        if isinstance(value, _FITTING[kind]):
            if kind not in "iu" or np.iinfo(spec.dtype).min <= int(value) <= np.iinfo(spec.dtype).max:
                return None
        elif not isinstance(value, (*_SCALARS, list, tuple, dict, np.ndarray)):
            return None  # a number of another library, perhaps
        return f"holds {spec.dtype} and was given {lossless.shown(value)}"
    if spec.kind == "text":
        return (
            None
            if isinstance(value, (str, bytes))
            else f"holds strings and was given {lossless.shown(value)}"
        )
    if isinstance(value, _SCALARS) and not (spec.objects and spec.objects[0] in ("number", "text")):
        return f"holds {'objects' if spec.objects else 'lists'} and was given {lossless.shown(value)}"
    return None


def check_text(name: Any, what: str) -> str:
    """A name that a file can hold.

    >>> check_text("x", "the name of a branch")
    'x'

    Raises :class:`sapwood.errors.MismatchError` for another.
    """
    if not isinstance(name, str):
        raise errors.MismatchError(f"{what} is a text, not {lossless.shown(name)}")
    if "\0" in name:
        raise errors.MismatchError(f"{what} has a zero in it, where names end: {name!r}")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise errors.MismatchError(f"{what} has no UTF-8: {name!r}") from None
    return name


def _may_count(spec: Spec) -> bool:
    return spec.kind == "numbers" and not spec.dimensions and np.dtype(spec.dtype).kind in "iu"


def counter_name(counted: str) -> str:
    """uproot's choice: ``nMuon`` counts ``Muon``."""
    return "n" + counted


def field_name(outer: str, inner: str) -> str:
    """uproot's choice: ``Muon_pt`` is the field ``pt`` of ``Muon``; a record without a name has its fields'
    names."""
    return inner if outer == "" else f"{outer}_{inner}"


def are_types(given: Any) -> bool:
    """Whether these are types of branches, and not data.

    >>> are_types({"x": "f4", "y": {"z": np.int32}}), are_types({"x": [1.5]})
    (True, False)
    """
    return isinstance(given, Mapping) and all(map(_is_type, given.values()))


def _is_type(kind: Any) -> bool:
    if isinstance(kind, Mapping):
        return all(map(_is_type, kind.values()))
    if isinstance(kind, (tuple, list)):
        return branch_types.is_shaped(kind)
    if isinstance(kind, (str, type, np.dtype)) or typing.get_origin(kind) or not hasattr(kind, "__iter__"):
        return True
    return type(kind).__module__.startswith("awkward.types")


def schema_of(columns: Mapping[str, Any], counters: CounterName, fields: FieldName) -> Schema:
    """The branches that hold these columns."""
    types: dict[str, Any] = {}
    for name, column in columns.items():
        if lossless.is_awkward(column):
            ak = lossless.awkward()

            types[name] = ak.type(column).content
        else:
            types[name] = np.dtype((column.dtype, column.shape[1:]))
    return schema(types, counters, fields, is_declared=False)


def schema(
    types: Mapping[str, Any],
    counters: CounterName,
    fields: FieldName,
    split_level: int = 99,
    is_declared: bool = True,
) -> Schema:
    """The branches of a mapping from names to types: NumPy's, Awkward's, their texts (``f4``, ``var *
    float32``), or dataclasses."""
    count, part = _namer("counter_name", counters), _namer("field_name", fields)
    out = Schema(is_declared=is_declared)
    for name, kind in types.items():
        if classes.is_class(kind):
            out.add(
                name, None, Spec(name, "object", dimensions=(split_level,), objects=classes.type_of(kind))
            )
        elif isinstance(kind, Mapping):
            for inner, of in kind.items():
                _add(
                    out,
                    name,
                    str(inner),
                    part(name, str(inner)),
                    _of_branch(part(name, str(inner)), of),
                    count,
                    part,
                )
        else:
            _add(out, name, None, name, _of_branch(name, kind), count, part)
    return out


def _namer(what: str, choice: Any) -> Any:
    """A choice of names as a function."""
    if callable(choice):
        return choice
    places = 1 if what == "counter_name" else 2
    try:
        choice.format(*[""] * places)
        return choice.format
    except (AttributeError, LookupError, ValueError):
        raise errors.MismatchError(
            f"{what} is a function of names, or a text with {'{}' if places == 1 else 'two {}'} for them, not {choice!r}"
        ) from None


def _of_branch(name: str, kind: Any) -> Any:
    try:
        return branch_types.as_type(kind)
    except errors.UnsupportedError as error:
        raise errors.UnsupportedError(f"branch {name!r}: {error}") from None


def _add(
    out: Schema,
    column: str,
    part: str | None,
    name: str,
    kind: Any,
    counters: Any,
    fields: Any,
    packing: str | None = None,
) -> None:
    if isinstance(kind, branch_types.Packed):
        _add(out, column, part, name, kind.of, counters, fields, kind.range)
    elif isinstance(kind, branch_types.Objects):
        out.add(column, part, Spec(name, "object", dimensions=(99,), objects=kind.of))
    elif isinstance(kind, branch_types.Leaves):
        out.add(column, part, Spec(name, "leaves", objects=kind.type_of(name)))
    elif isinstance(kind, str):
        depth, dtype = branch_types.vector(name, kind)
        out.add(column, part, Spec(name, "vector", dtype, dimensions=(depth,)))
    elif is_string(kind):
        out.add(column, part, Spec(name, "text"))
    elif inner_types := _fields_of(kind):
        for inner, of in inner_types:
            path = inner if part is None else f"{part}.{inner}"
            _add(out, column, path, fields(name, inner), of, counters, fields)
    elif isinstance(kind, np.dtype) or _word(kind) in ("Numpy", "Regular", "Unknown"):
        dtype, dimensions = _numbers(name, kind)
        out.add(column, part, Spec(name, "numbers", dtype, dimensions=dimensions, packing=packing))
    elif _word(kind) == "List" and (inner_types := _fields_of(kind.content)):
        for inner, of in inner_types:
            if _word(of) in ("List", "Record"):
                raise errors.UnsupportedError(
                    f"branch {name!r}: lists of records with {inner!r} of type {of} cannot be written yet"
                )
            dtype, dimensions = _numbers(fields(name, inner), of)
            path = inner if part is None else f"{part}.{inner}"
            out.add(column, path, Spec(fields(name, inner), "jagged", dtype, counters(name), dimensions))
    elif _word(kind) == "List" and _word(kind.content) == "List":
        depth = 0
        while _word(kind) == "List" and not is_string(kind):
            depth, kind = depth + 1, kind.content
        dtype, dimensions = ("", ()) if is_string(kind) else _numbers(name, kind)
        if dimensions:
            raise errors.UnsupportedError(f"branch {name!r}: vectors of arrays cannot be written yet")
        out.add(column, part, Spec(name, "vector", dtype, dimensions=(depth,)))
    elif _word(kind) == "List":
        dtype, dimensions = _numbers(name, kind.content)
        out.add(column, part, Spec(name, "jagged", dtype, counters(name), dimensions, packing=packing))
    else:
        raise _no_type(name, kind)


def _no_type(name: str, kind: Any) -> errors.UnsupportedError:
    if _word(kind) == "Option":
        words = f"no branch can hold missing values, so that its type cannot be {kind}"
    else:
        words = f"values of type {kind} cannot be written yet"
        if "datetime" in str(kind) or "timedelta" in str(kind):
            words += ": write them as whole numbers, with astype('int64')"
        elif "float16" in str(kind):
            words += ": astype('float32') keeps every value"
    return errors.UnsupportedError(f"branch {name!r}: {words}")


def _fields_of(kind: Any) -> list[tuple[str, Any]]:
    """Fields of a record and their types; none of anything else."""
    if isinstance(kind, np.dtype):
        return [(name, kind[name]) for name in kind.names or ()]
    if _word(kind) != "Record":
        return []
    return list(
        zip(
            [str(place) for place in range(len(kind.contents))] if kind.is_tuple else kind.fields,
            kind.contents,
        )
    )


def _word(kind: Any) -> str:
    """``List`` for Awkward's ``ListType``, and so on."""
    return type(kind).__name__.removesuffix("Type")


def is_string(kind: Any) -> bool:
    """Whether values of a type are text or bytes."""
    if isinstance(kind, np.dtype):
        return kind.kind in "UST"
    return _word(kind) == "List" and (kind.parameters or {}).get("__array__") in ("string", "bytestring")


def _numbers(name: str, kind: Any) -> tuple[str, tuple[int, ...]]:
    """Type of the numbers, and the extents of the array that each is."""
    dimensions: tuple[int, ...] = ()
    while _word(kind) == "Regular":
        dimensions += (int(kind.size),)
        kind = kind.content
    if isinstance(kind, np.dtype):
        base, shape = kind.subdtype or (kind, ())
        if base.kind in "biuf" and base.itemsize <= 8 and base != np.float16:
            return base.newbyteorder("=").name, dimensions + tuple(shape)
    elif _word(kind) == "Numpy" and not _is_complex(kind.primitive):
        return kind.primitive, dimensions
    elif _word(kind) == "Unknown":
        # Lists that are all empty: what NumPy and Awkward make of them, and an RNTuple gets.
        return "float64", dimensions
    raise _no_type(name, kind)


def _is_complex(primitive: str) -> bool:
    return primitive.startswith(("complex", "datetime", "timedelta", "float16", "float128"))


def schema_there(
    branches: list[tuple[str, str, str, str, list[int], classes.Type | None, str | None]],
) -> Schema:
    """The branches of a tree that is there already, as the engine tells them: each is a column of its own."""
    out = Schema()
    for name, kind, dtype, counter, dimensions, objects, packing in branches:
        spec = Spec(name, kind, dtype, counter, tuple(dimensions), objects, packing)
        out.places[name] = len(out.specs)
        out.specs.append(spec)
        if kind != "counter":
            out.columns[name] = [(None, spec)]
        if counter:
            out.counters.setdefault(counter, name)
    return out
