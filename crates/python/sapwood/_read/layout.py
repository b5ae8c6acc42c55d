"""From the engine's columns to Awkward Arrays, NumPy and Python objects, without a copy where there is a
choice.

A column is a type (nested tuples) and buffers. The tuples are:

* ``("number", buffer, dtype)``
* ``("text", offsets, bytes)``, ``("opaque", offsets, bytes, class)``
* ``("list", offsets, "sequence" | "set" | "map", item)``
* ``("fixed", length, item)``
* ``("record", class, [(name, is_base, type), ...])``
* ``("oneof", tags, [type, ...])``: what pointers lead to; a tag is -1 for null
* ``("pointer", buffer, class)``: only where objects point back at one another, so that no array holds them
"""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

from sapwood._read import elements, vectors

Members = list[tuple[str, tuple[Any, ...]]]


def members(kind: tuple[Any, ...]) -> Members:
    """Fields of a record with those of its bases in place of the bases, the way uproot shows them.

    Of a record of an RNTuple, whose bases are counted (``:_0``), members of bases whose name others have,
    too, are named after their base. Of an object of a tree the last of a name is shown.
    """
    if kind[1] == "TRef":
        return [(name, of) for name, _, of in kind[2] if name == "ref"]
    out: list[tuple[str, tuple[Any, ...], str]] = []
    for name, is_base, of in kind[2]:
        if is_base and of[0] == "record":
            # TObject's own two members are shown nowhere: uproot leaves them out of its records, too.
            if of[1] != "TObject":
                base = of[1] if name.startswith(":_") else ""
                out.extend((inner, inner_of, base) for inner, inner_of in members(of))
        else:
            out.append((name, of, ""))
    counts = collections.Counter(name for name, _, _ in out)
    seen: dict[str, tuple[Any, ...]] = {}
    for name, of, base in out:
        seen[f"{base}::{name}" if base and counts[name] > 1 else name] = of
    return list(seen.items())


def has(kind: tuple[Any, ...], what: str) -> bool:
    """Is a node of this sort anywhere in the type?"""
    if kind[0] == what:
        return True
    if kind[0] in ("list", "fixed"):
        return has(kind[-1], what)
    if kind[0] == "record":
        return any(has(of, what) for _, _, of in kind[2])
    if kind[0] == "oneof":
        return any(has(of, what) for of in kind[2])
    return False


def has_choice(kind: tuple[Any, ...]) -> bool:
    """Are there values of several types in one column, anywhere in the type?"""
    if kind[0] == "oneof":
        return len(kind[2]) > 1 or any(has_choice(of) for of in kind[2])
    if kind[0] in ("list", "fixed"):
        return has_choice(kind[-1])
    return kind[0] == "record" and any(has_choice(of) for _, _, of in kind[2])


def has_values(kind: tuple[Any, ...]) -> bool:
    """Is there no record without fields anywhere in the type?"""
    if kind[0] in ("list", "fixed"):
        return has_values(kind[-1])
    if kind[0] == "oneof":
        return all(has_values(of) for of in kind[2])
    return kind[0] != "record" or bool(kind[2]) and all(has_values(of) for _, _, of in kind[2])


def numbers(column: Any, buffer: int, dtype: str) -> np.ndarray:
    """A buffer of the column as numbers: a view of the engine's memory."""
    return np.asarray(column.buffer(buffer)).view(dtype)


def to_awkward(column: Any, mark: str | None = None) -> Any:
    """The column as an Awkward Array. Buffers are shared. Its outermost lists may get a mark
    (``__array__``)."""
    import awkward as ak

    if has(column.kind, "pointer"):
        return ak.from_iter(to_objects(column))
    content = _content(column, column.kind, len(column), ak.contents, ak.index)
    if mark is not None and column.kind[0] == "list":
        content = content.copy(parameters={"__array__": mark})
    return ak.Array(content)


class Items:
    """Lists of numbers by row, each a NumPy array when it is looked at."""

    __slots__ = ("_ends", "_items")

    def __init__(self, items: np.ndarray[Any, Any], ends: Any) -> None:
        self._items, self._ends = items, ends

    def __getitem__(self, row: int) -> np.ndarray[Any, Any]:
        return self._items[self._ends[row] : self._ends[row + 1]]


def has_items(kind: tuple[Any, ...]) -> bool:
    """Whether a column holds numbers, or lists of them, so that :func:`items` has its rows."""
    if kind[0] == "fixed":
        return kind[1] > 0 and kind[2][0] == "number"
    return kind[0] == "number" or (kind[0] == "list" and kind[2] == "sequence" and kind[3][0] == "number")


def items(column: Any) -> np.ndarray[Any, Any] | Items:
    """Rows of a column of numbers, or of lists of them."""
    kind = column.kind
    if kind[0] == "fixed":
        return Items(numbers(column, kind[2][1], kind[2][2]), range(0, 1 << 62, kind[1]))
    if kind[0] == "list":
        return Items(numbers(column, kind[3][1], kind[3][2]), numbers(column, kind[1], "int64"))
    return numbers(column, kind[1], kind[2])


def _content(column: Any, kind: tuple[Any, ...], length: int, contents: Any, index: Any) -> Any:
    sort = kind[0]
    if sort == "number":
        return contents.NumpyArray(numbers(column, kind[1], kind[2])[:length])
    if sort in ("text", "opaque"):
        offsets = numbers(column, kind[1], "int64")
        char = "char" if sort == "text" else "byte"
        data = contents.NumpyArray(np.asarray(column.buffer(kind[2])), parameters={"__array__": char})
        name = "string" if sort == "text" else "bytestring"
        return contents.ListOffsetArray(
            index.Index64(offsets[: length + 1]), data, parameters={"__array__": name}
        )
    if sort == "list":
        offsets = numbers(column, kind[1], "int64")[: length + 1]
        total = int(offsets[-1]) if len(offsets) else 0
        if kind[2] == "map":
            pair = [_content(column, of, total, contents, index) for _, of in members(kind[3])]
            # uproot puts the mark on the pairs.
            item = contents.RecordArray(pair, None, length=total, parameters={"__array__": "sorted_map"})
            parameters = None
        else:
            item = _content(column, kind[3], total, contents, index)
            parameters = {"__array__": "set"} if kind[2] == "set" else None
        return contents.ListOffsetArray(index.Index64(offsets), item, parameters=parameters)
    if sort == "fixed":
        item = _content(column, kind[2], length * kind[1], contents, index)
        return contents.RegularArray(item, kind[1], zeros_length=length)
    if sort == "record":
        fields = members(kind)
        inner = [_content(column, of, length, contents, index) for _, of in fields]
        if kind[1] == "tuple":
            return contents.RecordArray(inner, None, length=length)
        parameters = {"__record__": kind[1]} if kind[1] and kind[1] != "pair" else None
        if kind[1] and kind[1].startswith(("TLorentzVector", "TVector", "ROOT::Math::")):
            vectors.register(kind[1])
        return contents.RecordArray(inner, [name for name, _ in fields], length=length, parameters=parameters)
    if sort == "oneof":
        return _one_of(column, kind, length, contents, index)
    raise TypeError(f"no array can hold {kind!r}")


def _one_of(column: Any, kind: tuple[Any, ...], length: int, contents: Any, index: Any) -> Any:
    """Values of one of several types, or null."""
    tags = numbers(column, kind[1], "int8")[:length]
    if not kind[2]:
        return contents.IndexedOptionArray(index.Index64(np.full(length, -1)), contents.EmptyArray())
    rows = places(tags, len(kind[2]))
    counts = [int((tags == tag).sum()) for tag in range(len(kind[2]))]
    items = [_content(column, of, count, contents, index) for of, count in zip(kind[2], counts)]
    if len(items) == 1:
        # Of values of several types, or of such that may be absent themselves, Awkward has simpler forms.
        return contents.IndexedOptionArray.simplified(index.Index64(rows), items[0])
    # A union has no nulls of its own: these are in the type that comes first.
    nulls = np.append(np.arange(len(items[0])), -1)
    first = contents.IndexedOptionArray.simplified(index.Index64(nulls), items[0])
    others = [contents.UnmaskedArray.simplified(item) for item in items[1:]]
    rows = np.where(tags < 0, len(items[0]), rows)
    return contents.UnionArray(index.Index8(np.maximum(tags, 0)), index.Index64(rows), [first, *others])


def places(tags: np.ndarray, types: int) -> np.ndarray:
    """Where the value of each row is among those of its type; -1 for null.

    >>> places(np.array([0, 1, -1, 0], "int8"), 2).tolist()
    [0, 0, -1, 1]
    """
    rows = np.full(len(tags), -1, "int64")
    for tag in range(types):
        its = tags == tag
        rows[its] = np.arange(np.count_nonzero(its))
    return rows


def to_numpy(column: Any, typename: str = "") -> np.ndarray:
    """The column as a NumPy array: plain where the type allows it, else an array of objects, as uproot gives
    it. The name of its type in C++ tells what is a multiset."""
    kind, shape = column.kind, [len(column)]
    while kind[0] == "fixed":
        shape.append(kind[1])
        kind = kind[2]
    if kind[0] == "number":
        return numbers(column, kind[1], kind[2]).reshape(shape)
    if kind[0] == "record" and not kind[1] and len(shape) == 1:
        fields = []
        for name, of in members(kind):
            dims: list[int] = []
            while of[0] == "fixed":
                dims.append(of[1])
                of = of[2]
            if of[0] != "number":
                break
            fields.append((name, of, tuple(dims)))
        else:
            out = np.empty(len(column), [(name, of[2], inner) for name, of, inner in fields])
            for name, of, inner in fields:
                out[name] = numbers(column, of[1], of[2]).reshape((len(column), *inner))
            return out
    out = np.empty(len(column), object)
    out[:] = elements.wrap_elements(elements.with_multisets(column.kind, typename), to_objects(column))
    return out


def form(kind: tuple[Any, ...]) -> Any:
    """The form of the Awkward Array of a type."""
    import awkward as ak

    return _content(_Empty(), kind, 0, ak.contents, ak.index).form


class _Empty:
    """A column without rows: enough zeros for one offset."""

    def buffer(self, _id: int) -> np.ndarray:
        return np.zeros(8, "uint8")


def awkward_to_numpy(array: Any) -> np.ndarray:
    """An Awkward Array as a NumPy array: plain where that is possible, else of one array or object a row."""
    import awkward as ak

    if array.layout.purelist_isregular and not array.fields:
        return ak.to_numpy(array, allow_missing=False)
    out = np.empty(len(array), object)
    if array.ndim == 2 and not array.fields:
        out[:] = [np.asarray(row) for row in array]
    else:
        out[:] = array.to_list()
    return out


def to_objects(column: Any) -> list[Any]:
    """The rows as Python objects."""
    return _rows(column, column.kind, range(len(column)))


def _rows(column: Any, kind: tuple[Any, ...], rows: range) -> list[Any]:
    from sapwood.model import Model, as_plain

    sort = kind[0]
    if sort == "number":
        return numbers(column, kind[1], kind[2])[rows.start : rows.stop].tolist()
    if sort in ("text", "opaque"):
        offsets = numbers(column, kind[1], "int64")
        data = bytes(np.asarray(column.buffer(kind[2])))
        bounds = offsets[rows.start : rows.stop + 1].tolist()
        out: list[Any] = [data[start:stop] for start, stop in zip(bounds, bounds[1:])]
        return [one.decode("utf-8", "surrogateescape") for one in out] if sort == "text" else out
    if sort == "list":
        offsets = numbers(column, kind[1], "int64")
        first, last = int(offsets[rows.start]), int(offsets[rows.stop])
        if kind[3][0] == "number":
            flat: Any = numbers(column, kind[3][1], kind[3][2])[first:last]
        else:
            flat = _rows(column, kind[3], range(first, last))
        bounds = (offsets[rows.start : rows.stop + 1] - first).tolist()
        lists = [flat[start:stop] for start, stop in zip(bounds, bounds[1:])]
        if kind[2] == "map":
            return [[tuple(pair.values()) for pair in one] for one in lists]
        return lists
    if sort == "fixed":
        flat = _rows(column, kind[2], range(rows.start * kind[1], rows.stop * kind[1]))
        return [flat[i * kind[1] : (i + 1) * kind[1]] for i in range(len(rows))]
    if sort == "record":
        names = [name for name, _ in members(kind)]
        columns = [_rows(column, of, rows) for _, of in members(kind)]
        if kind[1] == "tuple":
            return list(zip(*columns)) if columns else [() for _ in rows]
        if not columns:
            return [{} for _ in rows]
        return [dict(zip(names, row)) for row in zip(*columns)]
    if sort == "oneof":
        tags = numbers(column, kind[1], "int8")
        before, here = tags[: rows.start], tags[rows.start : rows.stop]
        values: list[Any] = []
        for tag, of in enumerate(kind[2]):
            first = int((before == tag).sum())
            values.append(_rows(column, of, range(first, first + int((here == tag).sum()))))
        spots = places(here, len(values)).tolist()
        return [None if tag < 0 else values[tag][spot] for tag, spot in zip(here.tolist(), spots)]
    ids = numbers(column, kind[1], "uint32")[rows.start : rows.stop].tolist()
    return [None if (found := column.object(i)) is None else as_plain(Model.of(found)) for i in ids]
