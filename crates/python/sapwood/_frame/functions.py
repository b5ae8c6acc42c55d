"""Functions of Python that compute columns of a frame."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sapwood._frame.arrays import array
from sapwood._write import fields
from sapwood.errors import MismatchError

_local = threading.local()


@contextmanager
def running() -> Iterator[None]:
    """Marks that a function of a frame runs in this thread."""
    depth = getattr(_local, "depth", 0)
    _local.depth = depth + 1
    try:
        yield
    finally:
        _local.depth = depth


def is_running() -> bool:
    """Whether a function of a frame runs in this thread."""
    return getattr(_local, "depth", 0) > 0


def as_column(name: str, function: Callable[..., Any], library: str) -> Callable[[list[Any]], Any]:
    """A function of the engine's columns, for one of arrays."""

    def call(columns: list[Any]) -> Any:
        with running():
            found = function(*(array(column, library) for column in columns))
        if not hasattr(found, "__len__"):
            words = "it has to return a value for each entry"
            raise MismatchError(f"the function of {name!r} returned {found!r}: {words}")
        return fields.of_data(name, found)

    return call
