"""Stands in for scikit-hep-testdata, which downloads: the files of a checkout."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

DATA = os.environ["SKHEP_DATA"]
known_files = set(os.listdir(DATA))
data = SimpleNamespace(cache_path=lambda: DATA)


def data_path(name: str, raise_missing: bool = True, cache_dir: Any = None) -> str:
    path = os.path.join(DATA, os.path.basename(name))
    if not os.path.exists(path):
        pytest.skip(f"no test data {name}")
    return path
