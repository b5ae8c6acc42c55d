"""CSV and JSON lines: texts, whose first block says of which types the columns are, unless that is said."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sapwood._convert import formats, kinds
from sapwood._convert.arrow_types import arrow
from sapwood._convert.json_depth import check_depth, pieces
from sapwood._read.libraries import need
from sapwood.errors import MismatchError, near, not_found, place

#: A schema and its batches.
Found = tuple[Any, Iterator[Any]]
_SIGNED, _UNSIGNED = 1 << 63, 1 << 64
_CHANGED = re.compile(r"Column\(/(.+?)\) changed from (\w+) to (\w+)")
_NUMBERED = re.compile(r"In CSV column #(\d+): ")
_BLANK = re.compile(r"\s*")


def unparsed(types: Mapping[str, Any], format: str) -> dict[str, Any]:
    """The types that Arrow does not make of texts of a format: they are made of the types that it finds. All types
    if the format is not text.

    >>> import pyarrow as pa
    >>> unparsed({"day": pa.date32(), "n": pa.int8()}, "jsonl")
    {'day': DataType(date32[day])}
    """
    of = arrow().types
    if format not in ("csv", "jsonl"):
        return dict(types)
    only_csv = (of.is_date, of.is_time, of.is_duration, of.is_fixed_size_binary) if format == "csv" else ()

    def is_parsed(kind: Any) -> bool:
        # Arrow reads 1e39 as an infinite float of 32 bits.
        is_number = of.is_integer(kind) or of.is_boolean(kind) or of.is_float64(kind)
        others = (
            of.is_string,
            of.is_large_string,
            of.is_timestamp,
            of.is_decimal,
            of.is_binary,
            of.is_dictionary,
        )
        return is_number or any(is_one(kind) for is_one in (*others, *only_csv))

    return {name: kind for name, kind in types.items() if not all(map(is_parsed, kinds.leaves(kind)))}


def _parsed_types(types: Mapping[str, Any] | None, format: str) -> dict[str, Any]:
    """The types that Arrow makes of texts. Other types of texts are made of these, and not of numbers that Arrow finds
    in them: ``001`` is not 1."""
    pa, found = need("pyarrow", "sapwood.convert()"), kinds.named(types)
    later = unparsed(found, format)
    texts = {name: pa.string() for name, kind in later.items() if kinds.are_texts(kind)}
    return {name: kind for name, kind in found.items() if name not in later} | texts


def _all_missing(schema: Any, types: Mapping[str, Any]) -> dict[str, Any]:
    """Types of columns that have no value in the first block, if their type is made of what is found: numbers for
    numbers, and texts for all else."""
    pa = need("pyarrow", "sapwood.convert()")
    names = [field.name for field in schema if field.name in types and pa.types.is_null(field.type)]
    return {name: pa.float64() if kinds.are_numbers(types[name]) else pa.string() for name in names}


def read_csv(path: str, block: int, types: Mapping[str, Any] | None) -> Found:
    """Schema and batches of comma separated values below a line of names."""
    arrow_csv = need("pyarrow.csv", "sapwood.convert()", "pyarrow")
    pa = need("pyarrow", "sapwood.convert()")
    said = _parsed_types(types, "csv")

    def start(column_types: Mapping[str, Any]) -> Any:
        # Not a number is one, and not missing.
        nulls = ["", "NULL", "null", "NA", "N/A", "#N/A"]
        convert = arrow_csv.ConvertOptions(null_values=nulls, column_types=dict(column_types))
        reading = arrow_csv.ReadOptions(block_size=block)
        found = arrow_csv.open_csv(_bytes_of(path), read_options=reading, convert_options=convert)
        if len(found.schema) > 1:
            return found
        # The only value of a row may be missing: its line is empty then.
        parsing = arrow_csv.ParseOptions(ignore_empty_lines=False)
        return arrow_csv.open_csv(
            _bytes_of(path), read_options=reading, parse_options=parsing, convert_options=convert
        )

    with _Errors(path, pa, said):
        schema, first, rest = _begun(start(said))
        _check_names(said, schema, path)
        missing = _all_missing(schema, unparsed(kinds.named(types), "csv"))
        if missing:
            said |= missing
            schema, first, rest = _begun(start(said))
        large = [field.name for field in schema if field.name not in said and _is_large(first, field)]
        if large:
            _check_file(path, large)
            reader = start({**said, **dict.fromkeys(large, pa.string())})
            written = reader.read_next_batch()
            for name in large:
                whole = [value for value in map(_whole, written.column(name).to_pylist()) if value != ""]
                said[name] = _type_of(pa, whole, name, path)
            schema, first, rest = _begun(start(said))
    return schema, _batches(path, pa, said, first, rest)


def read_jsonl(path: str, block: int, types: Mapping[str, Any] | None) -> Found:
    """Schema and batches of JSON, an object on each line."""
    pjson = need("pyarrow.json", "sapwood.convert()", "pyarrow")
    pa = need("pyarrow", "sapwood.convert()")
    said, everything = _parsed_types(types, "jsonl"), kinds.named(types)
    if not os.path.isfile(path):
        return _read_pipe(path, block, said, everything)

    def start(column_types: Mapping[str, Any]) -> Any:
        options = pjson.ReadOptions(block_size=block)
        return pjson.open_json(_bytes_of(path), read_options=options, parse_options=_parsing(column_types))

    with _Errors(path, pa, said):
        check_depth(_opened(path), path)
        if everything and _is_empty(path):
            return pa.schema(list(everything.items())), iter(())
        names = _names(pa, lambda: start({})) if said else []
        schema, first, rest = _begun(start(said))
        _check_names(said, schema, path)
        missing = _all_missing(schema, everything)
        if missing:
            said |= missing
            names = names or schema.names
            schema, first, rest = _begun(start(said))
        if first is not None and any(_is_large(first, field) for field in schema if field.name not in said):
            with _opened(path) as file:
                text = bytes(file.read(block))
            said = _with_large(first, said, text, path)
            names = names or schema.names
            schema, first, rest = _begun(start(said))
    return _ordered(pa, names, schema, _batches(path, pa, said, first, rest))


def _read_pipe(path: str, block: int, said: dict[str, Any], everything: dict[str, Any]) -> Found:
    """Schema and batches of JSON that can be read only once. Arrow parses what was read: a thread of Arrow that
    called Python would end the process if Python ended at that time."""
    pa = need("pyarrow", "sapwood.convert()")
    source = pieces(_opened(path), path, block)
    parts = (part for part in source if part.strip())
    try:
        with _Errors(path, pa, said):
            text = next(parts, None)
            if text is None:
                if not everything:
                    raise pa.ArrowInvalid("Empty JSON file")
                return pa.schema(list(everything.items())), iter(())
            names = _names(pa, lambda: _parsed(text, {})) if said else []
            first = _parsed(text, said)
            _check_names(said, first.schema, path)
            missing = _all_missing(first.schema, everything)
            if missing:
                said |= missing
                names = names or first.schema.names
                first = _parsed(text, said)
            if any(_is_large(first, field) for field in first.schema if field.name not in said):
                names = names or first.schema.names
                first = _parsed(text, _with_large(first, said, text, path))
    except BaseException:
        source.close()  # the one who writes into the pipe waits for it
        raise
    known = {field.name: field.type for field in first.schema}

    def batches() -> Iterator[Any]:
        try:
            with _Errors(path, pa, said):
                yield first
                for part in parts:
                    yield _parsed(part, known, "error").select(first.schema.names)
        finally:
            source.close()

    return _ordered(pa, names, first.schema, batches())


def _parsing(column_types: Mapping[str, Any], others: str = "infer") -> Any:
    """How Arrow parses JSON with these types of columns."""
    pjson = need("pyarrow.json", "sapwood.convert()", "pyarrow")
    pa = need("pyarrow", "sapwood.convert()")
    schema = pa.schema(list(column_types.items())) if column_types else None
    return pjson.ParseOptions(explicit_schema=schema, unexpected_field_behavior=others)


def _parsed(text: bytes, column_types: Mapping[str, Any], others: str = "infer") -> Any:
    """Lines of JSON as a batch."""
    pjson = need("pyarrow.json", "sapwood.convert()", "pyarrow")
    pa = need("pyarrow", "sapwood.convert()")
    options = pjson.ReadOptions(block_size=len(text) + 1, use_threads=False)
    table = pjson.read_json(
        pa.BufferReader(text), read_options=options, parse_options=_parsing(column_types, others)
    )
    (batch,) = table.combine_chunks().to_batches()
    return batch


def _with_large(first: Any, said: Mapping[str, Any], text: bytes, path: str) -> dict[str, Any]:
    """Types of columns, of those with whole numbers above 2^63, too: ``first`` are the first rows of the text."""
    pa = need("pyarrow", "sapwood.convert()")
    found, rows = dict(said), _rows(text, first.num_rows, path)
    for field in first.schema:
        if field.name not in said and _is_large(first, field):
            values = [row.get(field.name) for row in rows]
            found[field.name] = _with_whole(pa, field.type, values, field.name, path)
    return found


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


def _batches(path: str, pa: Any, said: Mapping[str, Any], first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    with _Errors(path, pa, said):
        if first is not None:
            yield first
        yield from rest


class _Errors:
    """What the text has that cannot be read, told with its file and what to do."""

    def __init__(self, path: str, pa: Any, types: Mapping[str, Any]) -> None:
        self._path, self._pa, self._types = path, pa, types

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
        changed = _CHANGED.search(said)
        if changed and changed[1] in self._types:
            name, article = changed[1], "an" if changed[3] in ("array", "object") else "a"
            raise MismatchError(
                f"column {name!r} has {article} {changed[3]}, which {self._types[name]} does not hold: types= (--types "
                f"{name}=TYPE) names another type{place(self._path, None)}"
            ) from None
        column = _NUMBERED.match(said)
        if column:
            said = f"column {_header(self._path, int(column[1]))}: {said[column.end() :]}"
        if any(word in said for word in ("onver", "changed from", "unexpected field")):
            said += (
                ". The first block says which columns there are, and of which types, unless types= "
                "(--types COLUMN=TYPE) does: float64 takes all numbers, and in CSV string takes all"
            )
        raise MismatchError(f"the text cannot be read: {said}{place(self._path, None)}") from None


def _bytes_of(path: str) -> Any:
    codec = formats.packing(path)
    if codec is None:
        return path
    pa = need("pyarrow", "sapwood.convert()")
    return pa.CompressedInputStream(pa.OSFile(path), codec)


def _opened(path: str) -> Any:
    """A text as bytes, without its compression."""
    codec, file = formats.packing(path), open(path, "rb")
    return file if codec is None else need("pyarrow", "sapwood.convert()").CompressedInputStream(file, codec)


def _header(path: str, number: int) -> str:
    """A column of CSV by its number, in words: its name, if the line of names has one."""
    try:
        with _opened(path) as file:
            text = bytes(file.read(1 << 20)).decode("utf-8-sig", "replace")
        return repr(next(csv.reader(io.StringIO(text, newline="")))[number])
    except (OSError, IndexError, StopIteration, csv.Error):
        return str(number + 1)


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


def _rows(start: bytes, count: int, path: str) -> list[dict[str, Any]]:
    """The first objects of a text, as Python has them: whole numbers with all their digits."""
    decoder, at = json.JSONDecoder(), 0
    found: list[dict[str, Any]] = []
    text = start.decode("utf-8-sig", "replace")
    while len(found) < count:
        try:
            row, at = decoder.raw_decode(text, _BLANK.match(text, at).end())  # type: ignore[union-attr]
        except ValueError as error:
            raise MismatchError(f"the text cannot be read: {error}{place(path, None)}") from None
        found.append(row)
    return found
