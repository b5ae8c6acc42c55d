"""Functions of Python that compute columns of a frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sapwood._frame.arrays import array
from sapwood._write import fields


def as_column(name: str, function: Callable[..., Any], library: str) -> Callable[[list[Any]], Any]:
    """A function of the engine's columns, for one of arrays."""

    def call(columns: list[Any]) -> Any:
        found = function(*(array(column, library) for column in columns))
        return fields.of_data(name, found)

    return call
