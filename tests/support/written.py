"""What is written in memory, and read back."""

from __future__ import annotations

import io
from typing import Any

import pytest

sapwood = pytest.importorskip("sapwood")


def written(data: Any, types: Any = None, **options: Any) -> Any:
    """The tree that is read back."""
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        if types is None:
            file["t"] = data
        else:
            file.mktree("t", types, **options).extend(data)
    return sapwood.open(memory)["t"]
