"""The engine's columns as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood._read import layout
from sapwood._read.libraries import as_library, need


def array(column: Any, library: str) -> Any:
    """A column as an array of a library. Others see the same memory: it cannot be written to."""
    if library != "np":
        return layout.to_awkward(column)
    found = layout.to_numpy(column)
    found.flags.writeable = False
    return found


def joined(parts: list[Any], library: str) -> Any:
    """Arrays of steps as one."""
    if not parts:
        empty = np.zeros(0)
        return empty if library == "np" else need("awkward", 'library="ak"').Array(empty)
    if len(parts) == 1:
        return parts[0].copy() if library == "np" else parts[0]
    return as_library(library).join_arrays(parts)
