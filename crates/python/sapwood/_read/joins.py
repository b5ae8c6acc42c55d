"""Columns of several files one after another, for Arrow and Polars: numbers become the type that all files have in
common, as :mod:`~sapwood._read.common_numbers` chooses it, in lists and records, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sapwood._read import common_numbers
from sapwood.errors import MismatchError

Numbers = common_numbers.Numbers


def different(types: list[str]) -> MismatchError:
    """The error about values of several types that no type holds."""
    return MismatchError(
        f"files hold values of different types under one name ({'; '.join(sorted(set(types)))}): read them one by one, "
        "or name what all have in common"
    )


def arrow_columns(pa: Any, columns: list[Any]) -> Any:
    """Chunked arrays of Arrow as one."""
    kinds = [column.type for column in columns]
    if any(not kind.equals(kinds[0]) for kind in kinds):
        leaves = [list(_arrow_leaves(pa, column.type, column.chunks)) for column in columns]
        common = common_numbers.agreed(zip(*leaves))
        wanted = _arrow_type(pa, kinds, common)
        columns = [column.cast(wanted, safe=False) for column in columns]
    chunks = [chunk for column in columns for chunk in column.chunks]
    return pa.chunked_array(chunks, columns[0].type)


def arrow_tables(pa: Any, tables: list[Any]) -> Any:
    """Tables of Arrow as one."""
    names = tables[0].column_names
    if len(set(names)) != len(names) or any(table.column_names != names for table in tables):
        return pa.concat_tables(tables)
    columns = [arrow_columns(pa, [table.column(name) for table in tables]) for name in names]
    return pa.table(columns, names)


def _arrow_leaves(pa: Any, kind: Any, chunks: list[Any]) -> Iterator[Numbers]:
    """The numbers of each place in a column that has some, without those that are missing."""
    types = pa.types
    if types.is_struct(kind):
        for place, field in enumerate(kind):
            yield from _arrow_leaves(pa, field.type, [chunk.flatten()[place] for chunk in chunks])
    elif _is_arrow_list(pa, kind):
        yield from _arrow_leaves(pa, kind.value_type, [chunk.flatten() for chunk in chunks])
    elif _is_arrow_number(pa, kind):
        whole = pa.chunked_array(chunks, kind).drop_null()
        yield np.asarray(whole.to_numpy(), kind.to_pandas_dtype())


def _is_arrow_list(pa: Any, kind: Any) -> bool:
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _is_arrow_number(pa: Any, kind: Any) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _arrow_type(pa: Any, kinds: list[Any], common: Iterator[np.dtype[Any]]) -> Any:
    """The type that has the same shape as all these, and the numbers that all have in common."""
    first, types = kinds[0], pa.types
    if all(_is_arrow_number(pa, kind) for kind in kinds):
        return pa.from_numpy_dtype(next(common))
    if all(kind.equals(first) for kind in kinds):
        for _ in _arrow_leaves(pa, first, []):
            next(common)
        return first
    if len({kind.id for kind in kinds}) > 1:
        raise different([str(kind) for kind in kinds])
    if types.is_struct(first) and all([f.name for f in kind] == [f.name for f in first] for kind in kinds):
        return pa.struct([_arrow_field(pa, list(fields), common) for fields in zip(*kinds)])
    if _is_arrow_list(pa, first):
        item = _arrow_field(pa, [kind.value_field for kind in kinds], common)
        if not types.is_fixed_size_list(first):
            return pa.large_list(item) if types.is_large_list(first) else pa.list_(item)
        if len({kind.list_size for kind in kinds}) == 1:
            return pa.list_(item, first.list_size)
    raise different([str(kind) for kind in kinds])


def _arrow_field(pa: Any, fields: list[Any], common: Iterator[np.dtype[Any]]) -> Any:
    kind = _arrow_type(pa, [field.type for field in fields], common)
    return pa.field(fields[0].name, kind, any(field.nullable for field in fields), fields[0].metadata)


def polars_columns(pl: Any, columns: list[Any]) -> Any:
    """Series of Polars as one."""
    kinds = [column.dtype for column in columns]
    if any(kind != kinds[0] for kind in kinds):
        leaves = [list(_polars_leaves(pl, column)) for column in columns]
        common = common_numbers.agreed(zip(*leaves))
        wanted = _polars_type(pl, kinds, common)
        columns = [column.cast(wanted) for column in columns]
    return pl.concat(columns)


def polars_frames(pl: Any, frames: list[Any]) -> Any:
    """DataFrames of Polars as one."""
    names = frames[0].columns
    if any(frame.columns != names for frame in frames):
        return pl.concat(frames)
    return pl.DataFrame([polars_columns(pl, [frame[name] for frame in frames]) for name in names])


def _polars_leaves(pl: Any, column: Any) -> Iterator[Numbers]:
    """The numbers of each place in a column that has some, without those that are missing."""
    kind = column.dtype
    if isinstance(kind, pl.Struct):
        for field in kind.fields:
            yield from _polars_leaves(pl, column.struct.field(field.name))
    elif isinstance(kind, (pl.List, pl.Array)):
        yield from _polars_leaves(pl, column.explode())
    elif kind.is_numeric() or kind == pl.Boolean:
        yield column.drop_nulls().to_numpy()


def _polars_type(pl: Any, kinds: list[Any], common: Iterator[np.dtype[Any]]) -> Any:
    """The type that has the same shape as all these, and the numbers that all have in common."""
    first = kinds[0]
    if all(kind.is_numeric() or kind == pl.Boolean for kind in kinds):
        return pl.Series(np.empty(0, next(common))).dtype
    if all(kind == first for kind in kinds):
        for _ in _polars_leaves(pl, pl.Series([], dtype=first)):
            next(common)
        return first
    if all(isinstance(kind, pl.Struct) for kind in kinds):
        names = [[field.name for field in kind.fields] for kind in kinds]
        if all(one == names[0] for one in names):
            fields = zip(*([field.dtype for field in kind.fields] for kind in kinds))
            return pl.Struct(
                [pl.Field(name, _polars_type(pl, list(of), common)) for name, of in zip(names[0], fields)]
            )
    if all(isinstance(kind, pl.List) for kind in kinds):
        return pl.List(_polars_type(pl, [kind.inner for kind in kinds], common))
    if all(isinstance(kind, pl.Array) and kind.size == first.size for kind in kinds):
        return pl.Array(_polars_type(pl, [kind.inner for kind in kinds], common), first.size)
    raise different([str(kind) for kind in kinds])
