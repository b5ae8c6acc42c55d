"""Columns of NumPy's StringDType, and types that no branch has."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")

TEXTS = ["a", "b\u00e9", "", "long " * 20]


def _strings(**options: Any) -> Any:
    if not hasattr(np.dtypes, "StringDType"):
        pytest.skip("NumPy 1 has no StringDType")
    return np.dtypes.StringDType(**options)


@pytest.mark.parametrize("format", ["ttree", "rntuple"])
def test_texts_of_numpy_2_are_texts(format: str) -> None:
    texts = np.array(TEXTS, dtype=_strings())
    with sapwood.recreate(memory := io.BytesIO()) as file:
        make = file.mktree if format == "ttree" else file.mkrntuple
        with make("t", {"s": texts, "x": np.arange(4)}) as tree:
            tree.extend({"s": texts[::2], "x": np.arange(2)})
    assert sapwood.open(memory)["t"].arrays().s.tolist() == TEXTS + TEXTS[::2]


def test_texts_of_numpy_2_are_assigned_declared_and_stand_in_rows() -> None:
    texts = np.array(TEXTS, dtype=_strings())
    with sapwood.recreate(memory := io.BytesIO()) as file:
        file["t"] = {"s": texts, "pairs": np.stack([texts, texts], axis=1)}
        with file.mktree("declared", {"s": _strings()}) as tree:
            tree.extend({"s": texts})
    file = sapwood.open(memory)
    assert file["t"].arrays().s.tolist() == file["declared"].arrays().s.tolist() == TEXTS
    assert file["t"].arrays().pairs.tolist() == [[text, text] for text in TEXTS]


def test_missing_texts_of_numpy_2_are_refused() -> None:
    texts = np.array(["a", None], dtype=_strings(na_object=None))
    with sapwood.recreate(io.BytesIO()) as file:
        with pytest.raises(sapwood.errors.MismatchError, match="missing values"):
            file["t"] = {"s": texts}


def test_half_floats_are_refused_with_what_to_do() -> None:
    with sapwood.recreate(io.BytesIO()) as file:
        with pytest.raises(sapwood.errors.UnsupportedError, match=r"astype\('float32'\) keeps every value"):
            file["t"] = {"x": np.zeros(3, "float16")}
