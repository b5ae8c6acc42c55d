"""Whether a column of another type has the same values: Arrow refuses some changes by itself, and makes others without
a word."""

from __future__ import annotations

from typing import Any

from sapwood._convert.arrow_types import arrow, is_list, is_number, is_text
from sapwood._read.libraries import need


def check(before: Any, after: Any, rounds: bool = True) -> None:
    """Raises ``ValueError`` for values that another type changed. Floats of fewer bits are rounded, but not to infinity,
    if ``rounds``; so are decimals as floats.

    >>> import pyarrow as pa
    >>> check(pa.array([1.5, None]), pa.array([1.5, None], pa.float32()))
    >>> check(pa.array([2, 1]), pa.array([True, True]))
    Traceback (most recent call last):
    ...
    ValueError: 2 becomes True
    """
    pa = arrow()
    types = pa.types
    before, after = _plain(before), _plain(after)
    one, other = before.type, after.type
    if one.equals(other):
        return
    if types.is_map(one) and types.is_map(other):
        check(_entries(before), _entries(after), rounds)
    elif types.is_struct(one) and types.is_struct(other):
        _check_records(before, after, rounds)
    elif is_list(one) and is_list(other):
        check(before.flatten(), after.flatten(), rounds)
    elif types.is_timestamp(one) and types.is_time(other):
        raise ValueError("the date would be lost")
    elif types.is_timestamp(one) and types.is_date(other):
        _check_days(before)
    elif types.is_decimal(one) and (types.is_integer(other) or types.is_decimal(other)):
        return  # Arrow refuses what does not fit
    elif is_number(one) and is_number(other):
        _check_numbers(before, after, rounds)
    elif types.is_floating(other) and is_text(one):
        _check_texts(before, after)


def _plain(column: Any) -> Any:
    """A column without its dictionary, or the meaning that an extension of Arrow has for it."""
    pa = arrow()
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column.type, pa.BaseExtensionType):
        return _plain(column.storage)
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _entries(column: Any) -> Any:
    """The pairs of maps as records."""
    pa = arrow()
    pairs = pa.struct([("key", column.type.key_type), ("value", column.type.item_type)])
    return column.cast(pa.list_(pairs)).flatten()


def _check_records(before: Any, after: Any, rounds: bool) -> None:
    """Arrow finds members by name, and fills those that are not there."""
    names = [[field.name for field in column.type] for column in (before, after)]
    if sorted(names[0]) != sorted(names[1]):
        raise ValueError(f"records have the members {names[0]}, and not {names[1]}")
    if len(set(names[0])) < len(names[0]):
        raise ValueError(f"two members have one name: {names[0]}")
    values = dict(zip(names[1], after.flatten()))
    for name, value in zip(names[0], before.flatten()):
        check(value, values[name], rounds)


def _check_days(before: Any) -> None:
    pc = need("pyarrow.compute", "sapwood.convert()", "pyarrow")
    is_lost = pc.not_equal(pc.floor_temporal(before, unit="day"), before)
    lost = before.filter(is_lost)
    if len(lost):
        raise ValueError(f"{_words(lost, 0)} has a time of day")


def _check_texts(before: Any, after: Any) -> None:
    """A text may say infinity itself."""
    pa = arrow()
    pc = need("pyarrow.compute", "sapwood.convert()", "pyarrow")
    wide = after.cast(pa.float32()) if pa.types.is_float16(after.type) else after
    place = pc.is_inf(wide).fill_null(False)
    says_infinity = pc.match_substring_regex(before, r"^\s*[-+]?inf", ignore_case=True).fill_null(True)
    lost = before.filter(pc.and_(place, pc.invert(says_infinity)))
    if len(lost):
        raise ValueError(f"{lost[0]} becomes {after.filter(place)[0]}")


def _check_numbers(before: Any, after: Any, rounds: bool) -> None:
    pa = arrow()
    pc = need("pyarrow.compute", "sapwood.convert()", "pyarrow")
    types = pa.types
    if types.is_float16(before.type):
        before = before.cast(pa.float32())
    if types.is_float16(after.type):
        after = after.cast(pa.float32())
    is_lossy = types.is_floating(before.type) or types.is_decimal(before.type)
    if rounds and is_lossy and types.is_floating(after.type):
        is_finite = pc.is_finite(before) if types.is_floating(before.type) else pc.is_valid(before)
        is_lost = pc.and_(pc.is_inf(after), is_finite)
    else:
        # The way back must lead to the same value.
        try:
            back = after.cast(before.type, safe=False)
        except pa.ArrowInvalid:  # decimals of too many digits
            back = pa.nulls(len(after), before.type)
        is_lost = pc.and_(pc.invert(pc.equal(back, before).fill_null(False)), pc.is_valid(before))
        if types.is_floating(before.type):
            is_lost = pc.and_(is_lost, pc.invert(pc.and_(pc.is_nan(before), _is_nan(after)).fill_null(False)))
    place = pc.index(is_lost, True).as_py()
    if place >= 0:
        raise ValueError(f"{before[place]} becomes {after[place]}")


def _words(column: Any, place: int) -> str:
    try:
        return str(column[place])
    except (ValueError, OverflowError):  # Python has no such date
        return f"a time of {column.type}"


def _is_nan(column: Any) -> Any:
    pa = arrow()
    pc = need("pyarrow.compute", "sapwood.convert()", "pyarrow")
    return pc.is_nan(column) if pa.types.is_floating(column.type) else pa.array([False] * len(column))
