"""CSV and JSON lines: texts, whose first block says of which types the columns are, unless that is said."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sapwood._convert import formats, kinds
from sapwood._convert.json_depth import CheckedJson, check_depth
from sapwood._read.libraries import need
from sapwood.errors import MismatchError, near, not_found, place

#: A schema and its batches.
Found = tuple[Any, Iterator[Any]]
_SIGNED, _UNSIGNED = 1 << 63, 1 << 64
_BLANK = re.compile(r"\s*")


def read_csv(path: str, block: int, types: Mapping[str, Any] | None) -> Found:
    """Schema and batches of comma separated values below a line of names."""
    csv = need("pyarrow.csv", "sapwood.convert()", "pyarrow")
    pa = need("pyarrow", "sapwood.convert()")
    said = kinds.named(types)

    def start(column_types: Mapping[str, Any]) -> Any:
        # Not a number is one, and not missing.
        nulls = ["", "NULL", "null", "NA", "N/A", "#N/A"]
        convert = csv.ConvertOptions(null_values=nulls, column_types=dict(column_types))
        return csv.open_csv(
            _bytes_of(path), read_options=csv.ReadOptions(block_size=block), convert_options=convert
        )

    with _Errors(path, pa):
        schema, first, rest = _begun(start(said))
        _check_names(said, schema, path)
        large = [field.name for field in schema if field.name not in said and _is_large(first, field)]
        if large:
            _check_file(path, large)
            reader = start({**said, **dict.fromkeys(large, pa.string())})
            written = reader.read_next_batch()
            for name in large:
                whole = [value for value in map(_whole, written.column(name).to_pylist()) if value != ""]
                said[name] = _type_of(pa, whole, name, path)
            schema, first, rest = _begun(start(said))
    return schema, _batches(path, pa, first, rest)


def read_jsonl(path: str, block: int, types: Mapping[str, Any] | None) -> Found:
    """Schema and batches of JSON, an object on each line."""
    pjson = need("pyarrow.json", "sapwood.convert()", "pyarrow")
    pa = need("pyarrow", "sapwood.convert()")
    said = kinds.named(types)

    def start(column_types: Mapping[str, Any]) -> Any:
        parse = pjson.ParseOptions(
            explicit_schema=pa.schema(list(column_types.items())) if column_types else None
        )
        text = _bytes_of(path) if is_file else pa.PythonFile(CheckedJson(_opened(path), path), "r")
        return pjson.open_json(text, read_options=pjson.ReadOptions(block_size=block), parse_options=parse)

    # Arrow reads ahead in a thread. One that calls Python ends the process if Python ends at that time, as
    # after an error, so only what cannot be read twice is checked while it is read.
    is_file = os.path.isfile(path)
    with _Errors(path, pa):
        if is_file:
            check_depth(_opened(path), path)
        if said and _is_empty(path):
            return pa.schema(list(said.items())), iter(())
        names = _names(pa, lambda: start({})) if said and is_file else []
        schema, first, rest = _begun(start(said))
        _check_names(said, schema, path)
        large = [field.name for field in schema if field.name not in said and _is_large(first, field)]
        if large:
            _check_file(path, large)
            rows = _rows(path, block, first.num_rows)
            for name in large:
                values = [row.get(name) for row in rows]
                said[name] = _with_whole(pa, schema.field(name).type, values, name, path)
            names = names or schema.names
            schema, first, rest = _begun(start(said))
    return _ordered(pa, names, schema, _batches(path, pa, first, rest))


def _names(pa: Any, start: Callable[[], Any]) -> list[str]:
    """The columns in their order; none where they cannot be read without their types."""
    try:
        return list(start().schema.names)
    except pa.ArrowInvalid:
        return []


def _ordered(pa: Any, names: list[str], schema: Any, batches: Iterator[Any]) -> Found:
    """Columns in the order of names: Arrow puts those first that have a type that was said."""
    places = {name: place for place, name in reversed(list(enumerate(names)))}
    order = sorted(schema.names, key=lambda name: places.get(name, len(names)))
    if order == schema.names:
        return schema, batches
    fields = [schema.field(name) for name in order]
    return pa.schema(fields), (batch.select(order) for batch in batches)


def check_once(names: list[str], path: str) -> None:
    """Columns have names of their own.

    >>> check_once(["a", "b", "a"], "x.csv")
    Traceback (most recent call last):
    sapwood.errors.MismatchError: two columns of x.csv have the name 'a': rename one of them
    """
    if len(set(names)) < len(names):
        first = next(name for place, name in enumerate(names) if name in names[:place])
        raise MismatchError(f"two columns of {path} have the name {first!r}: rename one of them")


def _check_names(said: Mapping[str, Any], schema: Any, path: str) -> None:
    check_once(schema.names, path)
    for name in said:
        if name not in schema.names:
            raise not_found(f"there is no column {name!r} to have a type{near(name, schema.names)}", path)


def _check_file(path: str, names: list[str]) -> None:
    """A text that has to be read a second time is a file."""
    if not os.path.isfile(path):
        words = f"column {names[0]!r} has whole numbers above 2^63"
        raise MismatchError(f"{words}: name its type (types=, --types), for {path} can be read only once")


def _begun(reader: Any) -> tuple[Any, Any, Iterator[Any]]:
    """Schema, first batch (or none) and the others."""
    rest = iter(reader)
    return reader.schema, next(rest, None), rest


def _batches(path: str, pa: Any, first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    with _Errors(path, pa):
        if first is not None:
            yield first
        yield from rest


class _Errors:
    """What the text has that cannot be read, told with its file and what to do."""

    def __init__(self, path: str, pa: Any) -> None:
        self._path, self._pa = path, pa

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: Any, error: BaseException | None, __: Any) -> None:
        if not isinstance(error, (self._pa.ArrowInvalid, self._pa.ArrowKeyError)):
            return
        said = " ".join(str(error).split())
        if said.startswith("Empty "):
            raise MismatchError(
                f"the file is empty, and nothing says which columns it has{place(self._path, None)}"
            ) from None
        if any(word in said for word in ("onver", "changed from", "unexpected field")):
            said += (
                ". The first block says which columns there are, and of which types, unless types= "
                "(--types COLUMN=TYPE) does: float64 takes all numbers, and in CSV string takes all"
            )
        raise MismatchError(f"the text cannot be read: {said}{place(self._path, None)}") from None


def _bytes_of(path: str) -> Any:
    codec = formats.packing(path)
    pa = need("pyarrow", "sapwood.convert()")
    return path if codec is None else pa.CompressedInputStream(pa.OSFile(path), codec)


def _opened(path: str) -> Any:
    found = _bytes_of(path)
    return open(found, "rb") if isinstance(found, str) else found


def _is_empty(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    with _opened(path) as file:
        return not file.read(1)


# ---- whole numbers above 2^63, which Arrow takes for doubles


def _is_large(batch: Any, field: Any) -> bool:
    """Whether a column has doubles that may be whole numbers above 2^63."""
    return batch is not None and any(map(_has_large, _doubles(batch.column(field.name))))


def _doubles(column: Any) -> Iterator[Any]:
    """All doubles in a column, those in lists and records, too."""
    pa = need("pyarrow", "sapwood.convert()")
    if pa.types.is_float64(column.type):
        yield column
    elif pa.types.is_list(column.type):
        yield from _doubles(column.flatten())
    elif pa.types.is_struct(column.type):
        for below in column.flatten():
            yield from _doubles(below)


def _has_large(column: Any) -> bool:
    compute = need("pyarrow.compute", "sapwood.convert()", "pyarrow")
    values = column.drop_null()
    if not len(values) or not compute.any(compute.greater_equal(compute.abs(values), float(_SIGNED))).as_py():
        return False
    return bool(compute.all(compute.equal(compute.floor(values), values)).as_py())


def _whole(text: str | None) -> int | float | str:
    """A whole number of CSV; a float for what is none, and nothing for what is missing."""
    text = text and text.strip()
    if not text or text in ("NULL", "null", "NA", "N/A", "#N/A"):
        return ""
    try:
        return int(text) if text.removeprefix("-").isdecimal() else 0.0
    except ValueError:
        return 0.0


def _type_of(pa: Any, values: list[Any], name: str, path: str) -> Any:
    """The type of numbers that Arrow took for doubles."""
    if any(isinstance(value, float) for value in values):
        return pa.float64()
    small, large = min(values), max(values)
    if 0 <= small and large < _UNSIGNED:
        return pa.uint64()
    if large >= _UNSIGNED or small < -_SIGNED:
        beyond = large if large >= _UNSIGNED else small
        words = f"whole numbers that 64 bits cannot hold, like {beyond}"
    else:
        words = (
            f"negative numbers and such above 2^63, {small} and {large}, which no type of 64 bits holds both"
        )
    raise MismatchError(
        f"column {name!r} has {words}: types={{{name.partition('.')[0]!r}: ...}} "
        f"(--types {name.partition('.')[0]}=...) says what they are to be, float64 (53 bits are kept) or, "
        f"in CSV, string{place(path, None)}"
    )


def _with_whole(pa: Any, kind: Any, values: list[Any], name: str, path: str) -> Any:
    """A type of JSON, with unsigned numbers in place of doubles where these are whole numbers."""
    there = [value for value in values if value is not None]
    if pa.types.is_list(kind):
        items = [item for value in there for item in value]
        return pa.list_(_with_whole(pa, kind.value_type, items, name, path))
    if pa.types.is_struct(kind):
        return pa.struct(
            [
                (
                    field.name,
                    _with_whole(
                        pa,
                        field.type,
                        [value.get(field.name) for value in there],
                        f"{name}.{field.name}",
                        path,
                    ),
                )
                for field in kind
            ]
        )
    is_whole = pa.types.is_float64(kind) and any(
        isinstance(one, int) and abs(one) >= _SIGNED for one in there
    )
    return _type_of(pa, there, name, path) if is_whole else kind


def _rows(path: str, block: int, count: int) -> list[dict[str, Any]]:
    """The first objects of a text, as Python has them: whole numbers with all their digits."""
    decoder, at = json.JSONDecoder(), 0
    found: list[dict[str, Any]] = []
    with _opened(path) as file:
        text = bytes(file.read(block)).decode("utf-8-sig", "replace")
    while len(found) < count:
        try:
            row, at = decoder.raw_decode(text, _BLANK.match(text, at).end())  # type: ignore[union-attr]
        except ValueError as error:
            raise MismatchError(f"the text cannot be read: {error}{place(path, None)}") from None
        found.append(row)
    return found
