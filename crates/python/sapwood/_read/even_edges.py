"""Edges of bins of one width."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood.errors import MismatchError


def even_edges(bins: int, low: float, high: float) -> NDArray[Any]:
    """The edges of ``bins`` bins between two limits.

    >>> even_edges(2, 0, 1).tolist()
    [0.0, 0.5, 1.0]

    Raises :class:`~sapwood.errors.MismatchError` for limits that are not finite.
    """
    if not np.isfinite([low, high]).all():
        raise MismatchError(f"bins of one width have finite limits, not {low} and {high}")
    return np.linspace(low, high, bins + 1)
