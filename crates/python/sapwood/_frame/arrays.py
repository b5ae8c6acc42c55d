"""The engine's columns as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood._read import layout


def array(column: Any, library: str) -> Any:
    """A column as an array of a library."""
    return layout.to_numpy(column) if library == "np" else layout.to_awkward(column)


def joined(parts: list[Any], library: str) -> Any:
    """Arrays of steps as one."""
    if library == "np":
        return np.concatenate(parts) if parts else np.zeros(0)
    import awkward

    return awkward.concatenate(parts) if len(parts) > 1 else parts[0] if parts else awkward.Array([])
