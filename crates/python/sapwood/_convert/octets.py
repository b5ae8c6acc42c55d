"""Bytes, which files of ROOT hold as lists of numbers: a string of a tree ends at the first zero, and other programs
take it for text."""

from __future__ import annotations

import re
from typing import Any

from sapwood._convert.arrow_types import arrow, is_list

_OF_ONE_LENGTH = re.compile(r"fixed_size_binary\[(\d{1,9})\]")


def are_bytes(kind: Any) -> bool:
    """Whether values of a type are bytes, also those of one length."""
    types = arrow().types
    found = types.is_binary, types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary
    return any(is_one(kind) for is_one in found) and not types.is_decimal(kind)


def are_lists(kind: Any) -> bool:
    """Whether values of a type are lists of numbers from 0 to 255."""
    return bool(is_list(kind) and arrow().types.is_uint8(kind.value_type))


def numbers_of(kind: Any) -> Any:
    """The type of lists that hold bytes of a type.

    >>> import pyarrow as pa
    >>> numbers_of(pa.binary(4)).list_size, pa.types.is_list(numbers_of(pa.binary()))
    (4, True)
    """
    pa = arrow()
    item = pa.field("item", pa.uint8(), nullable=False)
    # No array of ROOT is empty.
    if pa.types.is_fixed_size_binary(kind) and kind.byte_width:
        return pa.list_(item, kind.byte_width)
    return pa.large_list(item) if pa.types.is_large_binary(kind) else pa.list_(item)


def name_of(kind: Any) -> str:
    """The name of a type of bytes, which :func:`by_name` knows."""
    return "binary" if arrow().types.is_binary_view(kind) else str(kind)


def by_name(name: str) -> Any:
    """A type of bytes by its name; nothing for other names.

    >>> by_name("fixed_size_binary[4]"), by_name("binary"), by_name("string")
    (FixedSizeBinaryType(fixed_size_binary[4]), DataType(binary), None)
    """
    pa = arrow()
    found = _OF_ONE_LENGTH.fullmatch(name)
    if found:
        return pa.binary(int(found[1]))
    return {"binary": pa.binary(), "large_binary": pa.large_binary()}.get(name)


def exchanged(column: Any, kind: Any) -> Any:
    """A column with bytes in place of lists of numbers if ``kind`` has bytes, and with lists if it has
    lists, within lists and records too. All else stays as it is.

    >>> import pyarrow as pa
    >>> exchanged(pa.array([b"ab", None]), pa.list_(pa.uint8())).to_pylist()
    [[97, 98], None]

    Raises ``ValueError`` for lists with missing numbers, and for bytes of another length.
    """
    pa = arrow()
    if isinstance(column, pa.ChunkedArray):
        chunks = column.chunks or [pa.array([], column.type)]
        return pa.chunked_array([exchanged(chunk, kind) for chunk in chunks])
    types, found = pa.types, column.type
    if are_bytes(kind) and are_lists(found):
        return _bytes(column).cast(kind)
    if are_lists(kind) and are_bytes(found):
        return _lists(column)
    is_list, is_large = types.is_list(found), types.is_large_list(found)
    if is_list or is_large or types.is_fixed_size_list(found):
        if not (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)):
            return column
        items = exchanged(column.values, kind.value_type)
        # Buffers of what it holds are not among those of a list.
        buffers = column.buffers()[: 2 if is_list or is_large else 1]
        field = found.value_field.with_type(items.type)
        if types.is_fixed_size_list(found):
            made = pa.list_(field, found.list_size)
        else:
            made = pa.large_list(field) if is_large else pa.list_(field)
        return pa.Array.from_buffers(made, len(column), buffers, -1, column.offset, [items])
    if types.is_struct(found) and types.is_struct(kind) and found.num_fields == kind.num_fields:
        parts = [exchanged(column.field(place), kind.field(place).type) for place in range(found.num_fields)]
        fields = [field.with_type(part.type) for field, part in zip(found, parts)]
        mask = column.is_null() if column.null_count else None
        # A record without fields would lose its length.
        return pa.StructArray.from_arrays(parts, fields=fields, mask=mask) if parts else column
    return column


def _lists(column: Any) -> Any:
    """Bytes as lists of numbers, in the same memory."""
    pa = arrow()
    if pa.types.is_binary_view(column.type):
        column = column.cast(pa.large_binary())
    if pa.types.is_fixed_size_binary(column.type) and not column.type.byte_width:
        column = column.cast(pa.binary())
    kind = numbers_of(column.type)
    if not len(column):
        return pa.array([], kind)
    *others, data = column.buffers()
    size = 0 if data is None else data.size
    numbers = pa.Array.from_buffers(pa.uint8(), size, [None, data]) if size else pa.array([], pa.uint8())
    return pa.Array.from_buffers(kind, len(column), others, -1, column.offset, [numbers])


def _bytes(column: Any) -> Any:
    """Lists of numbers as bytes, in the same memory."""
    pa = arrow()
    numbers, is_fixed = column.values, pa.types.is_fixed_size_list(column.type)
    if numbers.null_count and column.flatten().null_count:
        raise ValueError("numbers are missing in a list")
    if is_fixed:
        kind = pa.binary(column.type.list_size)
    else:
        kind = pa.large_binary() if pa.types.is_large_list(column.type) else pa.binary()
    if not len(column):
        return pa.array([], kind)
    data = numbers.buffers()[1]
    data = pa.py_buffer(b"") if data is None else data.slice(numbers.offset, len(numbers))
    others = column.buffers()[: 1 if is_fixed else 2]
    return pa.Array.from_buffers(kind, len(column), [*others, data], -1, column.offset)
