"""Types of columns: other types that a user asks for, and dates, times and bytes as the whole numbers that files of
ROOT have in their place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sapwood._convert import kept, octets
from sapwood._convert.arrow_types import arrow, is_number, is_text
from sapwood._convert.visible import visible
from sapwood._read.libraries import need
from sapwood._read.stated_types import stated, title_of
from sapwood.errors import MismatchError, near

_TIME = r"^\d\d:\d\d(:\d\d(\.\d+)?)?$"
_STAMP = re.compile(r"timestamp\[(s|ms|us|ns), ?tz=(.+)\]")


def named(types: Mapping[str, Any] | None) -> dict[str, Any]:
    """Types by column, as types of Arrow.

    >>> named({"id": "uint64"})
    {'id': DataType(uint64)}

    Raises :class:`~sapwood.errors.MismatchError` for a type that does not exist.
    """
    pa = arrow()
    found: dict[str, Any] = {}
    for name, kind in (types or {}).items():
        try:
            found[name] = _by_name(kind) if isinstance(kind, str) else kind
        except ValueError:
            words = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
            words += ["float32", "float64", "double", "bool", "string", "binary", "date32", "timestamp[us]"]
            raise MismatchError(
                f"column {name!r}: unknown type {kind!r}{near(kind, words, len(words))}"
            ) from None
        if not isinstance(found[name], pa.DataType):
            raise MismatchError(
                f"column {name!r}: a type is a name, like 'uint64', or one of pyarrow, not {kind!r}"
            )
    return found


def with_leaves(
    kind: Any, change: Callable[[str, Any], Any], path: str = "", lists_of_bytes: bool = False
) -> Any:
    """A type with others in the lists and records of it: ``change`` takes the path of a value, whose parts have a
    dot between them, and its type. With ``lists_of_bytes``, it takes a list of numbers from 0 to 255 as a whole."""
    pa = arrow()
    types = pa.types

    def below(inner: Any, name: str = "") -> Any:
        return with_leaves(inner, change, path + name, lists_of_bytes)

    def item() -> Any:
        return kind.value_field.with_type(below(kind.value_type))

    if lists_of_bytes and octets.are_lists(kind):
        return change(path, kind)
    if types.is_struct(kind):
        return pa.struct([field.with_type(below(field.type, f".{field.name}")) for field in kind])
    if types.is_fixed_size_list(kind):
        return pa.list_(item(), kind.list_size)
    if types.is_large_list(kind):
        return pa.large_list(item())
    return pa.list_(item()) if types.is_list(kind) else change(path, kind)


def cast(column: Any, kind: Any) -> Any:
    """A column as another type. Arrow makes dates and times of 32 bits only of whole numbers of 32 bits, and no
    bytes of lists."""
    pa = arrow()
    column = _plain(column, kind)
    try:
        return _cast(column, kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        if not pa.types.is_nested(column.type):
            raise
        return _cast(visible(column), kind)


def _cast(column: Any, kind: Any) -> Any:
    pa = arrow()
    column = octets.exchanged(column, kind)

    def plain(_: str, leaf: Any) -> Any:
        return pa.int32() if pa.types.is_date32(leaf) or pa.types.is_time32(leaf) else leaf

    if column.type.equals(kind):
        return column
    try:
        return column.cast(kind)
    except pa.ArrowNotImplementedError:
        if pa.types.is_temporal(column.type) and pa.types.is_temporal(kind):
            raise  # a day is not a time of day, even if the numbers fit
        if pa.types.is_time(kind) and is_text(column.type):
            return _times_of(column, kind)
        return column.cast(with_leaves(column.type, plain)).cast(with_leaves(kind, plain)).cast(kind)


def _times_of(texts: Any, kind: Any) -> Any:
    """Times of day of texts, which Arrow reads as a part of a date alone."""
    pa = arrow()
    pc = need("pyarrow.compute", "sapwood.convert()", "pyarrow")
    texts = texts.cast(pa.large_string()) if pa.types.is_string_view(texts.type) else texts
    # Arrow takes "10" for an hour.
    is_time = pc.match_substring_regex(texts, _TIME).fill_null(True)
    if not pc.all(is_time).as_py():
        raise ValueError(f"{texts.filter(pc.invert(is_time))[0]} does not name a time of day, like 12:30:00")
    day = pa.scalar("1970-01-01T", texts.type)
    stamps = pc.binary_join_element_wise(day, texts, pa.scalar("", texts.type))
    try:
        return stamps.cast(pa.timestamp(kind.unit)).cast(kind)
    except pa.ArrowInvalid as error:
        raise ValueError(str(error).replace("1970-01-01T", "")) from None


def _plain(column: Any, kind: Any) -> Any:
    """A column without its dictionary, or the meaning that an extension of Arrow has for it, unless the other type
    has them, too."""
    pa = arrow()
    is_kept = isinstance(kind, pa.BaseExtensionType) or pa.types.is_dictionary(kind)
    plain = _plain_type(column.type)
    return column if is_kept or plain is column.type else column.cast(plain)


def _plain_type(kind: Any) -> Any:
    pa = arrow()
    if isinstance(kind, pa.BaseExtensionType):
        return _plain_type(kind.storage_type)
    return _plain_type(kind.value_type) if pa.types.is_dictionary(kind) else kind


def has_bytes(kind: Any) -> bool:
    """Whether values of a type are bytes, or hold some."""
    return any(octets.are_bytes(_plain_type(leaf)) for leaf in leaves(kind))


def are_numbers(kind: Any) -> bool:
    """Whether values of a type are numbers, or lists and records of numbers alone."""
    return all(map(is_number, leaves(kind)))


def are_texts(kind: Any) -> bool:
    """Whether values of a type are texts or bytes."""
    return is_text(kind) or octets.are_bytes(kind)


def leaves(kind: Any) -> list[Any]:
    """The types of the values in lists and records, however deep."""
    found: list[Any] = []

    def note(_: str, leaf: Any) -> Any:
        found.append(leaf)
        return leaf

    with_leaves(kind, note)
    return found


def changed(rows: Any, wanted: Mapping[str, Any], path: str) -> tuple[Any, Iterator[Any]]:
    """Schema and batches with other types of columns. A plain type stands for the items of lists, too.

    Raises :class:`~sapwood.errors.MismatchError` for values that a type does not hold. Floats of fewer bits
    are rounded, but not to infinity.
    """
    pa, schema = arrow(), rows.schema
    for name, kind in wanted.items():
        place = schema.get_field_index(name)
        field = schema.field(place)
        if not pa.types.is_nested(kind):
            are_bytes = octets.are_bytes(kind)
            kind = with_leaves(field.type, lambda _, __, kind=kind: kind, "", are_bytes)  # type: ignore[misc]
        schema = schema.set(place, field.with_type(kind))

    def batches() -> Iterator[Any]:
        for batch in rows.batches:
            columns = []
            for field in schema:
                column = batch.column(field.name)
                try:
                    columns.append(cast(column, field.type))
                    kept.check(column, columns[-1])
                except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
                    words = (
                        f"{path} has values of {field.name!r} ({column.type}) that {field.type} does not hold"
                    )
                    other = f"types= (--types {field.name}=TYPE) names another type"
                    raise MismatchError(f"{words}: {error}: {other}") from None
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return schema, batches()


def numbers(schema: Any, separator: str) -> tuple[dict[str, Any], str]:
    """The types of columns that files of ROOT hold in another type (dates and times, bytes, floats of 16 bits), and a
    title that remembers dates, times and bytes. The separator is between names of records and fields."""
    pa = arrow()
    found, stated = {}, {}
    for field in schema:

        def change(path: str, leaf: Any, name: str = field.name) -> Any:
            place, plain = name + path.replace(".", separator), _plain_type(leaf)
            if pa.types.is_float16(leaf):
                return pa.float32()
            if octets.are_bytes(plain):
                stated[place] = octets.name_of(plain)
                return octets.numbers_of(plain)
            if not pa.types.is_temporal(plain) or pa.types.is_interval(plain):
                return leaf
            stated[place] = str(plain)
            return pa.int64()

        kind = with_leaves(field.type, change)
        if not kind.equals(field.type):
            found[field.name] = kind
    return found, title_of(stated)


def unknown_zone(kind: Any) -> str | None:
    """A time zone of values of a type that this machine does not know, if there is one."""
    pa = arrow()
    for leaf in leaves(kind):
        if pa.types.is_timestamp(leaf) and leaf.tz is not None:
            try:
                pa.array([0], leaf).cast(pa.string())
            except pa.ArrowException:
                return str(leaf.tz)
    return None


def with_missing_members(field: Any) -> Any:
    """A column whose records may be missing, with members that may be missing, too.

    >>> import pyarrow as pa
    >>> member = pa.field("x", pa.int32(), nullable=False)
    >>> with_missing_members(pa.field("r", pa.struct([member]))).type.field("x").nullable
    True
    """
    pa = arrow()
    kind = field.type
    if pa.types.is_struct(kind):
        members = [one.with_nullable(one.nullable or field.nullable) for one in kind]
        return field.with_type(pa.struct([with_missing_members(one) for one in members]))
    if pa.types.is_list(kind):
        return field.with_type(pa.list_(with_missing_members(kind.value_field)))
    if pa.types.is_large_list(kind):
        return field.with_type(pa.large_list(with_missing_members(kind.value_field)))
    if pa.types.is_fixed_size_list(kind):
        return field.with_type(pa.list_(with_missing_members(kind.value_field), kind.list_size))
    return field


def for_json(schema: Any) -> dict[str, Any]:
    """The types of columns whose values would lose digits as objects of Python: times in nanoseconds are texts, and
    durations are whole numbers, as in CSV."""
    pa = arrow()

    def change(_: str, leaf: Any) -> Any:
        if pa.types.is_duration(leaf):
            return pa.int64()
        has_nanoseconds = pa.types.is_timestamp(leaf) or pa.types.is_time64(leaf)
        return pa.string() if has_nanoseconds and leaf.unit == "ns" else leaf

    found = {field.name: with_leaves(field.type, change) for field in schema}
    return {field.name: found[field.name] for field in schema if not found[field.name].equals(field.type)}


def with_types(batch: Any, wanted: Mapping[str, Any]) -> Any:
    """A batch, or a table, with other types of columns, which hold all values."""
    for name, kind in wanted.items():
        place = batch.schema.get_field_index(name)
        batch = batch.set_column(
            place, batch.schema.field(place).with_type(kind), cast(batch.column(place), kind)
        )
    return batch


def remembered(title: str, schema: Any) -> dict[str, Any]:
    """The types of columns of whole numbers that were dates and times, and of lists of them that were bytes, as the
    title of a tree has them.

    >>> import pyarrow as pa
    >>> remembered('Types of columns: {"day": "date32[day]"}', pa.schema([("day", pa.int64())]))
    {'day': DataType(date32[day])}
    """
    pa = arrow()
    former = {path: octets.by_name(kind) or _date(kind) for path, kind in stated(title).items()}
    found = {}
    for field in schema:

        def change(path: str, leaf: Any, name: str = field.name) -> Any:
            kind = former.get(name + path)
            fits = kind is not None and (octets.are_lists if octets.are_bytes(kind) else pa.types.is_int64)(
                leaf
            )
            return kind if fits else leaf

        kind = with_leaves(field.type, change, "", True)
        if not kind.equals(field.type):
            found[field.name] = kind
    return found


def _date(words: str) -> Any:
    """A type of dates or times by its name; nothing for other names."""
    pa = arrow()
    try:
        kind = _by_name(words)
    except ValueError:
        return None
    return kind if pa.types.is_temporal(kind) else None


def _by_name(words: str) -> Any:
    """A type of Arrow by its name.

    Raises ``ValueError`` for a name that it does not know.
    """
    pa, stamp = arrow(), _STAMP.fullmatch(words)
    if stamp:
        return pa.timestamp(stamp[1], stamp[2])
    return octets.by_name(words) or pa.type_for_alias(words)
