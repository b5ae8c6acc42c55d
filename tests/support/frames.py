"""Events of frames' tests."""

from __future__ import annotations

import awkward as ak
import numpy as np
import pytest
import sapwood

ENTRIES = 3_000


@pytest.fixture(scope="module")
def arrays():
    """Events with lists of several lengths, weights and flags."""
    rng = np.random.default_rng(7)
    counts = rng.integers(0, 6, ENTRIES)
    return {
        "met": rng.exponential(40, ENTRIES),
        "run": np.repeat(np.arange(6), ENTRIES // 6).astype("int32"),
        "w": rng.normal(1, 0.3, ENTRIES),
        "jet_pt": ak.unflatten(rng.exponential(30, counts.sum()).astype("float32"), counts),
        "jet_eta": ak.unflatten(rng.normal(0, 2, counts.sum()).astype("float32"), counts),
    }


@pytest.fixture(scope="module", params=["tree", "rntuple"])
def path(request, arrays, tmp_path_factory):
    """A file with them, in clusters of a few hundred entries."""
    path = str(tmp_path_factory.mktemp("frame") / "events.root")
    with sapwood.recreate(path) as file:
        if request.param == "tree":
            file.mktree("events", arrays)
        else:
            file.mkrntuple("events", arrays)
    return f"{path}:events"


def small(tmp_path, name="small.root", **columns):
    """A file of a few entries."""
    with sapwood.recreate(tmp_path / name) as file:
        file["t"] = columns
    return f"{tmp_path / name}:t"
