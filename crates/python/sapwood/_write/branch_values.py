"""From columns of values to the buffers of branches, whose types are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sapwood import errors
from sapwood._write import classes, lossless, split_columns
from sapwood._write.branch_schema import Schema, Spec, is_string
from sapwood._write.tables import as_column

Array = np.ndarray[Any, Any]
NOTHING = np.empty(0, "u1")
Ends = dict[tuple[int, int, str], tuple[Array, Array]]
"""Offsets and where lists end, by address, length and type of the offsets: those of many fields are the same."""


def values(
    schema: Schema, columns: Mapping[str, Any]
) -> list[tuple[str, list[Array], Array, classes.Column | None]]:
    """What the engine takes: for each branch its name, where the lists of each level end, and its values; or
    objects."""
    if any(parts[0][1].objects is not None for parts in schema.columns.values()):
        columns = split_columns.gathered(schema, columns)
    columns = _by_branch(schema, columns)
    missing = [name for name in schema.columns if name not in columns]
    unknown = [name for name in columns if name not in schema.columns and name not in schema.counters]
    if missing or unknown:
        words = [f"the data lacks {', '.join(map(repr, missing))}"] if missing else []
        words += [f"the tree has no branch for {', '.join(map(repr, unknown))}"] if unknown else []
        raise errors.MismatchError("; ".join(words))
    out: list[tuple[str, list[Array], Array, classes.Column | None]] = []
    ends: Ends = {}
    for name, parts in schema.columns.items():
        column = columns[name]
        if parts[0][1].objects is not None:
            if parts[0][1].kind == "leaves":
                column = _records(column)
            try:
                out.append((name, [], NOTHING, classes.column_of(parts[0][1].objects, column)))
            except errors.MismatchError as error:
                where = _where_unfit(parts[0][1].objects, column)
                raise errors.MismatchError(f"branch {name!r}{where}: {error}") from None
            continue
        found = as_column(name, column)
        _check_fields(name, found, [part for part, _ in parts if part is not None])
        for part, spec in parts:
            array: Any = found
            if part is not None and getattr(found, "fields", None):  # lists with nothing in them know of none
                for inner in part.split("."):
                    # Through its layout: an array would be looked over as a whole for each field.
                    array = (array.layout if hasattr(array, "layout") else array)[inner]
            out.append((spec.name, *_buffers(spec, array, ends), None))
    _check_counters(schema, columns, {name: levels for name, levels, *_ in out})
    return out


def _records(column: Any) -> Any:
    """Values of leaves, which are structured arrays, dictionaries of arrays, or rows, as records."""
    ak = lossless.awkward()

    if isinstance(column, Mapping):
        return ak.zip(dict(column), depth_limit=1)
    if isinstance(column, np.ndarray) and column.dtype.names is not None:
        return ak.from_numpy(column)
    # Without rows nothing says which fields they would have.
    return ak.from_iter(column) if isinstance(column, list) and column else column


def _where_unfit(kind: classes.Type, column: Any) -> str:
    """The first row whose objects are not of a type, found by halves."""
    try:
        first, end = 0, len(column)
        while end - first > 1:
            middle = (first + end) // 2
            try:
                classes.column_of(kind, column[first:middle])
                first = middle
            except errors.MismatchError:
                end = middle
        return _in_row(first, len(column))
    except TypeError:  # neither a list nor an array
        return ""


def _by_branch(schema: Schema, columns: Mapping[str, Any]) -> Mapping[str, Any]:
    """Columns, with records as the branches that were made of them: a tree that is there already knows only the
    names of its branches."""
    out: dict[str, Any] = {}
    for name, column in columns.items():
        if name in schema.columns or name in schema.counters:
            out[name] = column
            continue
        column = as_column(name, column)
        fields = getattr(column, "fields", None) or getattr(getattr(column, "dtype", None), "names", None)
        for separator in "_.":
            parts = {f"{name}{separator}{inner}": column[inner] for inner in fields or ()}
            parts = dict(_by_branch(schema, parts))
            if parts and parts.keys() <= schema.columns.keys():
                out.update(parts)
                break
        else:
            out[name] = column
    return out


def _check_fields(name: str, array: Any, parts: list[str]) -> None:
    """Records have the fields that branches are for, and no others, which would be lost."""
    wanted = {part.split(".", 1)[0] for part in parts}
    found = set(getattr(array, "fields", ()))
    if found != wanted and (found or _has_items(array)):
        words = [
            f"{what} {', '.join(map(repr, sorted(names)))}"
            for what, names in (
                ("its records lack", wanted - found),
                ("the tree has no branch for their", found - wanted),
            )
            if names
        ]
        raise errors.MismatchError(f"column {name!r}: {'; '.join(words)}")
    below: dict[str, list[str]] = {}
    for part in parts:
        first, dot, inner = part.partition(".")
        if dot:
            below.setdefault(first, []).append(inner)
    for first in found & below.keys():
        _check_fields(f"{name}.{first}", array[first], below[first])


def _has_items(array: Any) -> bool:
    if not lossless.is_awkward(array):
        return bool(array.size)
    ak = lossless.awkward()

    return len(ak.flatten(array, axis=None)) > 0


def _check_counters(schema: Schema, columns: Mapping[str, Any], levels: Mapping[str, list[Array]]) -> None:
    """Counts that were given are those of the lists."""
    for counter, counted in schema.counters.items():
        if counter not in columns or counter in schema.columns:
            continue  # a record of that name fills branches of other names
        given = np.asarray(as_column(counter, columns[counter]))
        lengths = np.diff(levels[counted][0], prepend=0)
        if given.shape != lengths.shape or (given != lengths).any():
            words = f"the numbers given for {counter!r} are not the lengths of the lists of {counted!r}"
            if given.shape == lengths.shape:
                row = int((given != lengths).argmax())
                words += f": row {row} has {given[row]} for a list of {lengths[row]}"
            raise errors.MismatchError(words)


def _buffers(spec: Spec, array: Any, known: Ends) -> tuple[list[Array], Array]:
    if spec.kind == "numbers":
        if lossless.is_awkward(array):
            ak = lossless.awkward()

            try:
                array = ak.to_numpy(array, allow_missing=False)
            except (ValueError, TypeError):
                raise _wrong(spec, _first_other(spec, array)) from None
        if len(array) and array.shape[1:] != spec.dimensions:
            raise _wrong(spec, _type_of(array))
        return [], _native(spec, array, [])
    ak = lossless.awkward()

    depth = spec.dimensions[0] if spec.kind == "vector" else int(spec.kind == "jagged")
    is_text = not spec.dtype
    wanted = " of ".join(["lists"] * depth + ["strings"] * is_text)

    def wrong() -> errors.MismatchError:  # the words cost more than many a column
        given = f"values of type {_type_of(array)}"
        return errors.MismatchError(f"branch {spec.name!r} holds {wanted} and was given {given}")

    levels: list[Array] = []
    if not is_text and lossless.is_awkward(array):
        numbers = _as_they_lie(getattr(array, "layout", array), depth, known, levels)
        if numbers is not None and numbers.ndim == 1 and (spec.kind == "vector" or not spec.dimensions):
            return levels, _native(spec, numbers, levels)
        levels.clear()
    if not lossless.is_awkward(array):
        array = ak.from_numpy(array.astype(array.dtype.newbyteorder("=")), regulararray=True)
    layout = ak.to_layout(ak.to_packed(array))
    for level in range(depth + is_text):
        if len(layout) == 0:  # nothing says what would be in it
            levels.append(np.empty(0, "i8"))
            continue
        if not (layout.is_list or layout.is_regular) or is_string(layout.form.type) != (level == depth):
            raise wrong()
        layout = layout.to_ListOffsetArray64(True)
        offsets = np.asarray(layout.offsets.data)
        levels.append(np.ascontiguousarray(offsets[1:]))
        layout = layout.content[: offsets[-1]]
    if len(layout) == 0:
        return levels, NOTHING
    if is_text:
        return levels, classes.memory(np.asarray(layout.data))
    try:
        numbers = ak.to_numpy(layout, allow_missing=False)
    except ValueError:
        raise wrong() from None
    shape = () if spec.kind == "vector" else spec.dimensions
    if numbers.shape[1:] != shape:
        raise _wrong(spec, f"lists of {_type_of(numbers)}")
    return levels, _native(spec, numbers, levels)


def _as_they_lie(layout: Any, depth: int, known: Ends, levels: list[Array]) -> Any:
    """The numbers in lists of an Awkward layout that need no packing, and the ends of its lists in ``levels``;
    none of others."""
    ak = lossless.awkward()

    first, last = 0, len(layout)
    for _ in range(depth):
        if type(layout) is not ak.contents.ListOffsetArray or layout.parameters:
            return None
        offsets = np.asarray(layout.offsets.data)[first : last + 1]
        key = (offsets.ctypes.data, len(offsets), offsets.dtype.str)
        first, last = int(offsets[0]), int(offsets[-1])
        if key not in known:
            known[key] = (offsets, np.subtract(offsets[1:], first, dtype="i8"))
        levels.append(known[key][1])
        layout = layout.content
    if type(layout) is not ak.contents.NumpyArray or layout.parameters:
        return None
    return np.asarray(layout.data)[first:last]


def _wrong(spec: Spec, given: str) -> errors.MismatchError:
    wanted = _type_words(spec.dtype, spec.dimensions if spec.kind != "vector" else ())
    lists = "" if spec.kind == "numbers" else "lists of "
    return errors.MismatchError(f"branch {spec.name!r} holds {lists}{wanted} and was given {given}")


def _first_other(spec: Spec, array: Any) -> str:
    """What of an Awkward array is not as the branch of numbers has it, and the first row with it."""
    ak = lossless.awkward()

    layout = ak.to_layout(array)
    if layout.is_union:
        fits = [content.is_numpy and not spec.dimensions for content in layout.contents]
        tags = np.asarray(layout.tags)
        row = int(np.isin(tags, [tag for tag, good in enumerate(fits) if not good]).argmax())
        return f"{ak.type(layout.contents[tags[row]]).content}{_in_row(row, len(array))}"
    if layout.is_list and spec.dimensions:
        lengths = np.asarray(ak.num(array, axis=1))
        row = int((lengths != spec.dimensions[0]).argmax())
        return f"a list of {lengths[row]}{_in_row(row, len(array))}"
    return _type_of(array)


def _in_row(row: int, rows: int) -> str:
    """Which row it is; of a single one its caller knows."""
    return "" if rows == 1 else f" in row {row}"


def _row_of(item: int, levels: list[Array]) -> int:
    """The row of an item, where the lists of each level end at ``levels``."""
    for ends in reversed(levels):
        item = int(np.searchsorted(ends, item, side="right"))
    return item


def _native(spec: Spec, array: Any, levels: list[Array]) -> Array:
    """Bytes of numbers as the branch has them. Digits of floats may be lost; numbers fit or are refused."""
    wanted = np.dtype(spec.dtype)
    if array.size == 0:  # nothing says of what type
        return NOTHING
    kinds = array.dtype.kind + wanted.kind
    if kinds[0] not in "biuf" or (
        kinds[0] != kinds[1] and kinds not in ("ui", "iu", "if", "uf", "bi", "bu", "bf")
    ):
        raise _wrong(spec, _type_words(array.dtype, ()))
    try:
        return classes.memory(lossless.fitted(array, wanted))
    except errors.MismatchError:
        place = lossless.first_unfit(array, wanted)
        row, rows = _row_of(place // array[0].size, levels), len(levels[0] if levels else array)
        raise _wrong(spec, f"{array.flat[place]}{_in_row(row, rows)}, which does not fit") from None


def _type_of(array: Any) -> str:
    """The type of the values of an array, in the words that :meth:`mktree` takes."""
    if lossless.is_awkward(array):
        ak = lossless.awkward()

        return str(ak.type(array).content)
    return _type_words(array.dtype, array.shape[1:])


def _type_words(kind: Any, extents: tuple[int, ...]) -> str:
    kind = np.dtype(kind)
    name = {"U": "strings", "S": "strings", "O": "objects"}.get(kind.kind, kind.name)
    return " * ".join([*map(str, extents), name])
