"""Values of objects as reading has them where they are split: a column for each sub-branch, under its name.

``tree.arrays()`` gives these columns one beside the other, ``tree["event"].array()`` as fields of records.
Here they become records with the members of the class again, and lists of records for collections.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sapwood._write.branch_schema import Schema
from sapwood._write.classes import Type, item_of, names_of
from sapwood._write.lossless import awkward, is_awkward

Columns = dict[str, Any]


def gathered(schema: Schema, columns: Mapping[str, Any]) -> Mapping[str, Any]:
    """Columns, with objects in place of those that hold parts of them. Objects that are given whole stay."""
    out = dict(columns)
    for name, parts in schema.columns.items():
        kind = parts[0][1].objects
        if kind is None or kind[0] != "object" or parts[0][1].kind == "leaves":
            continue
        given = out.get(name)
        if given is None:
            fields = {column: out[column] for column in out if column not in schema.columns}
        elif _is_split(kind[1], given):
            fields = _fields(given)
        else:
            continue
        used: set[str] = set()
        members = _members(kind[1], fields, [name] if name.endswith(".") else ["", f"{name}."], 1, used)
        if members:
            if given is None:
                out = {column: values for column, values in out.items() if column not in used}
            else:  # what is no member is refused with the records
                members |= {field: value for field, value in fields.items() if field not in used}
            out[name] = awkward().zip(members, depth_limit=1)
    return out


def _fields(record: Any) -> Columns:
    return {field: record[field] for field in record.fields}


def _is_node(name: str, value: Any) -> bool:
    """Whether a field holds the sub-branches of a branch of its name."""
    return is_awkward(value) and any(field.startswith(f"{name}.") for field in value.fields)


def _is_split(kind: tuple[Any, ...], array: Any) -> bool:
    """Whether records have sub-branches for fields, and not the members of a class."""
    if not is_awkward(array) or not array.layout.is_record:
        return False
    known = names_of(kind)
    return any(field not in known or _is_node(field, array[field]) for field in array.fields)


def _members(
    kind: tuple[Any, ...], fields: Columns, prefixes: list[str], depth: int, used: set[str]
) -> Columns:
    """What there is of the members of a class, those of its bases among them, in fields whose names begin with
    one of these: each at the ``depth`` of the lists that its objects are in."""
    # Names of branches of arrays have their extents.
    full = {field.split("[")[0]: field for field in fields}
    found: Columns = {}
    for name, of, is_base, _ in kind[2]:
        there = next((full[prefix + name] for prefix in prefixes if prefix + name in full), None)
        inner = [f"{prefix}{name}." for prefix in prefixes]
        if there is not None:
            used.add(there)
        if is_base and of[0] == "object":
            # Names of members may have that of the base in them, and below its branch none.
            above, bare = (fields, []) if there is None else (_fields(fields[there]), [""])
            found |= _members(of[1], above, [*prefixes, *inner, *bare], depth, used)
        elif there is None:
            found |= _nested(name, of, fields, inner, depth, used)
        elif _is_node(there, fields[there]):
            found |= _nested(name, of, _fields(fields[there]), [f"{there}."], depth, used)
        else:
            found[name] = fields[there]
    return found


def _nested(name: str, of: Type, fields: Columns, prefixes: list[str], depth: int, used: set[str]) -> Columns:
    """A member that is an object in the object, or a collection of them, if there is any of its members."""
    item = item_of(of) if of[0] != "object" else of
    if item is None or item[0] != "object":
        return {}
    depth += of[0] != "object"
    made = _members(item[1], fields, prefixes, depth, used)
    return {name: awkward().zip(made, depth_limit=depth)} if made else {}
