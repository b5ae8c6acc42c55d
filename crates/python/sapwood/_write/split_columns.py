"""Values of objects as reading has them where they are split: a column for each sub-branch, under its name.

``tree.arrays()`` gives these columns one beside the other, ``tree["event"].array()`` as fields of records.
Here they become records with the members of the class again, and lists of records for collections.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sapwood._write.branch_schema import Schema
from sapwood._write.classes import Type, item_of
from sapwood._write.lossless import awkward
from sapwood._write.tables import is_awkward

Columns = dict[str, Any]


def gathered(schema: Schema, columns: Mapping[str, Any]) -> Mapping[str, Any]:
    """Columns, with objects in place of those that hold parts of them."""
    out = dict(columns)
    for name, parts in schema.columns.items():
        kind = parts[0][1].objects
        if kind is None or kind[0] != "object" or parts[0][1].kind == "leaves":
            continue
        given = out.get(name)
        if given is not None and not _is_split(given):
            continue
        unknown = {column: out[column] for column in out if column not in schema.columns}
        leaves = dict(_leaves(name, given)) if given is not None else unknown
        prefixes = [name] if name.endswith(".") else ["", f"{name}."]
        parts_of = _Parts(leaves)
        members = parts_of.members(kind[1], prefixes, 1)
        if not members:
            continue
        if given is None:
            out = {column: values for column, values in out.items() if column not in parts_of.used}
        out[name] = awkward().zip(members, depth_limit=1)
    return out


def _is_split(array: Any) -> bool:
    """Whether it is a record of sub-branches, which has no name of a class."""
    if not is_awkward(array) or not array.fields:
        return False
    return bool(array.layout.is_record and array.layout.parameter("__record__") is None)


def _leaves(name: str, array: Any) -> Iterator[tuple[str, Any]]:
    if not _is_split(array):
        yield name, array
        return
    for field in array.fields:
        yield from _leaves(field, array[field])


class _Parts:
    """Columns of sub-branches, by their names."""

    def __init__(self, leaves: Mapping[str, Any]) -> None:
        # Names of branches of arrays have their extents.
        self._leaves = {name.split("[")[0]: (name, values) for name, values in leaves.items()}
        self.used: set[str] = set()

    def members(self, kind: tuple[Any, ...], prefixes: list[str], depth: int) -> Columns:
        """What there is of the members of a class, those of its bases among them: each at the ``depth`` of the
        lists that its objects are in."""
        found: Columns = {}
        for name, of, is_base, _ in kind[2]:
            whole = self._take([prefix + name for prefix in prefixes])
            inner = [f"{prefix}{name}." for prefix in prefixes]
            if is_base and of[0] == "object":
                if whole is None:
                    found |= self.members(of[1], [*prefixes, *inner], depth)
                else:
                    found |= {field: whole[field] for field in whole.fields}
            elif whole is not None:
                found[name] = whole
            else:
                made = self._nested(of, inner, depth)
                found |= {} if made is None else {name: made}
        return found

    def _nested(self, of: Type, prefixes: list[str], depth: int) -> Any:
        """An object in an object, or a collection of them."""
        item = item_of(of)
        if of[0] == "object":
            made, depth = self.members(of[1], prefixes, depth), depth
        elif item is not None and item[0] == "object":
            made, depth = self.members(item[1], prefixes, depth + 1), depth + 1
        else:
            return None
        return awkward().zip(made, depth_limit=depth) if made else None

    def _take(self, names: list[str]) -> Any:
        for name in names:
            if name in self._leaves:
                full, values = self._leaves[name]
                self.used.add(full)
                return values
        return None
