"""Arrays of Arrow without the values that nothing shows: those under a missing record, and those outside of the lists.
Casts look at them too, and fail if one of them does not fit."""

from __future__ import annotations

from typing import Any

from sapwood._convert.arrow_types import arrow
from sapwood._read.libraries import need


def visible(column: Any) -> Any:
    """Copies of lists and records with the shown values alone. Views of lists become lists, and dictionaries their
    values.

    >>> import pyarrow as pa
    >>> lists = pa.array([[300], [1, 2]]).slice(1)
    >>> lists.values.to_pylist(), visible(lists).values.to_pylist()
    ([300, 1, 2], [1, 2])
    """
    pa = arrow()
    if isinstance(column, pa.ChunkedArray):
        chunks = [visible(chunk) for chunk in column.chunks]
        return pa.chunked_array(chunks) if chunks else column
    types, kind = pa.types, column.type
    if types.is_dictionary(kind):
        return column.dictionary_decode()
    if types.is_struct(kind) and kind.num_fields:
        members = [visible(member) for member in column.flatten()]
        fields = [field.with_type(member.type).with_nullable(True) for field, member in zip(kind, members)]
        return pa.StructArray.from_arrays(members, fields=fields, mask=_missing(column))
    is_large = types.is_large_list(kind) or types.is_large_list_view(kind)
    if is_large or types.is_list(kind) or types.is_list_view(kind):
        pc = need("pyarrow.compute", "sapwood.convert()", "pyarrow")
        items = visible(column.flatten())
        width = pa.int64() if is_large else pa.int32()
        lengths = pc.list_value_length(column).fill_null(0).cast(pa.int64())
        ends = pc.cumulative_sum(lengths).cast(width)
        offsets = pa.concat_arrays([pa.array([0], width), ends])
        made = pa.LargeListArray if is_large else pa.ListArray
        field = kind.value_field.with_type(items.type)
        of = pa.large_list(field) if is_large else pa.list_(field)
        return made.from_arrays(offsets, items, type=of, mask=_missing(column))
    return column


def _missing(column: Any) -> Any:
    return column.is_null() if column.null_count else None
