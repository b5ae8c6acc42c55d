"""Questions about types of Arrow, and the package itself."""

from __future__ import annotations

from typing import Any

from sapwood._read.libraries import need


def arrow() -> Any:
    """The package of Arrow."""
    return need("pyarrow", "sapwood.convert()")


def is_text(kind: Any) -> bool:
    """Whether values of a type are texts.

    >>> is_text(arrow().large_string()), is_text(arrow().binary())
    (True, False)
    """
    types = arrow().types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def is_list(kind: Any) -> bool:
    """Whether values of a type are lists, also of one length.

    >>> is_list(arrow().list_(arrow().int8(), 2)), is_list(arrow().int8())
    (True, False)
    """
    types = arrow().types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def is_number(kind: Any) -> bool:
    """Whether values of a type are numbers, decimals or truth values.

    >>> is_number(arrow().bool_()), is_number(arrow().date32())
    (True, False)
    """
    types = arrow().types
    of_numbers = types.is_integer, types.is_floating, types.is_boolean, types.is_decimal
    return any(is_one(kind) for is_one in of_numbers)
