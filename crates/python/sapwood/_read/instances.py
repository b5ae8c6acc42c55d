"""Entries as dataclasses: what the engine read as columns of a class becomes its instances, a member at a
time.

The engine finds members by name and turns numbers into those that the class declares; here a column becomes a
list of values, and lists of members become objects.
"""

from __future__ import annotations

import collections
import dataclasses
import typing
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood import errors
from sapwood._write import classes
from sapwood._write.classes import Column

if TYPE_CHECKING:
    from sapwood._tree.tree import Tree


def instances(tree: Tree, path: str, kind: Any, start: int, stop: int) -> Iterator[Any]:
    """Entries of a branch, or of the tree's own branches where there is no path, cluster by cluster."""
    columns = tree._core.iter_columns(path, classes.type_of(kind), start, stop)
    return (value for column in columns for value in _values(kind, column))


def _values(kind: Any, column: Column) -> list[Any]:
    """The values of a column, whose type is an annotation."""
    if classes.is_class(kind):
        return _objects(kind, column)
    if kind is str:
        _, ends, (_, _, text) = column
        return [text[start:end].decode("utf-8", "surrogateescape") for start, end in _spans(ends)]
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated and isinstance(arguments[1], str):
        return _values(arguments[0], column)
    if origin is typing.Annotated:
        return _arrays(_numbers(arguments[0], column), arguments[1:])
    pointee = classes.pointee_of(kind)
    if pointee is not None:
        there = _objects(pointee, column[2])
        return [there[start] if start < end else None for start, end in _spans(column[1])]
    if origin is dict:
        keys, values = (_values(of, half) for of, half in zip(arguments, column[2][2]))
        return [dict(zip(keys[start:end], values[start:end])) for start, end in _spans(column[1])]
    if origin is tuple:  # of a multimap
        return list(zip(*(_values(of, half) for of, half in zip(arguments, column[2]))))
    if origin is not None:
        items = _values(arguments[0], column[2])
        made = origin if origin in (set, frozenset, collections.deque) else list
        return [made(items[start:end]) for start, end in _spans(column[1])]
    return _numbers(kind, column)


def _objects(kind: type, column: Column) -> list[Any]:
    _, rows, columns = column
    members = _members(kind, rows, columns)
    fields = dataclasses.fields(kind)
    for field in fields:
        if rows and field.init and field.name not in members and not _has_default(field):
            raise errors.MismatchError(
                f"class {kind.__name__}: no member {field.name!r} ({field.type}) is stored, and the dataclass gives it no default"
            )
    names = [field.name for field in fields if field.init and field.name in members]
    made: list[Any] = [
        kind(**dict(zip(names, row))) for row in _rows([members[name] for name in names], rows)
    ]
    for field in fields:
        if not field.init and field.name in members:
            for one, value in zip(made, members[field.name]):
                object.__setattr__(one, field.name, value)  # frozen ones are whole only now
    return made


def _members(kind: type, rows: int, columns: list[Column]) -> dict[str, list[Any]]:
    """The members that are stored, those of bases included."""
    found: dict[str, list[Any]] = {}
    for member, column in zip(classes.members_of(kind), columns):
        if member.is_base:
            found |= _members(member.kind, rows, column[2])
        elif _length(column) == rows:
            found[member.name] = _values(member.kind, column)
    return found


def _rows(members: list[list[Any]], rows: int) -> Iterator[tuple[Any, ...]]:
    return zip(*members) if members else (() for _ in range(rows))


def _has_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def _length(column: Column) -> int:
    if column[0] == "numbers":
        return len(column[2]) // max(column[1], 1)
    return column[1] if column[0] == "record" else len(column[1]) // 8


def _spans(ends: bytes) -> Iterator[tuple[int, int]]:
    """Where each list begins and ends."""
    stops = np.frombuffer(ends, "u8").tolist()
    return zip([0, *stops], stops)


def _numbers(kind: Any, column: Column) -> list[Any]:
    """Numbers of the very type of the annotation: Python's own, or NumPy's."""
    _, name = classes.type_of(kind)
    numbers = np.frombuffer(column[2], name)
    return numbers.tolist() if kind in (bool, int, float) else list(numbers)


def _arrays(items: list[Any], extents: tuple[int, ...]) -> list[Any]:
    for extent in reversed(extents):
        items = [items[start : start + extent] for start in range(0, len(items), extent)]
    return items
