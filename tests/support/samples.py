"""Files that uproot writes for the tests of the Python package."""

from __future__ import annotations

from typing import Any

import awkward as ak
import numpy as np

ENTRIES, BASKET = 1000, 100


def content(entries: int = ENTRIES, seed: int = 1) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    counts = random.integers(0, 5, entries)
    total = int(counts.sum())
    return {
        "i": np.arange(entries, dtype="int32"),
        "x": random.normal(size=entries),
        "flag": random.integers(0, 2, entries).astype(bool),
        "xyz": random.normal(size=(entries, 3)).astype("float32"),
        "Muon": ak.zip(
            {
                "pt": ak.unflatten(random.exponential(20, total).astype("float32"), counts),
                "charge": ak.unflatten(random.choice([-1, 1], total).astype("int32"), counts),
            }
        ),
    }


def write(file: Any, name: str, data: dict[str, Any], step: int | None = None) -> None:
    """A TTree (plain assignment would be an RNTuple), in baskets of `step` entries."""
    types = {
        key: np.dtype((array.dtype, array.shape[1:])) if isinstance(array, np.ndarray) else array.type.content
        for key, array in data.items()
    }
    made = file.mktree(name, types)
    entries = len(next(iter(data.values())))
    for start in range(0, entries, step or entries):
        made.extend({key: array[start : start + (step or entries)] for key, array in data.items()})
