"""Expressions, cuts and histograms, beside real ROOT: each value of `TTree::Draw`, in its order."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")

HERE = Path(__file__).parent
TABLE = HERE / "data" / "expressions.txt"
LINES = [line for line in TABLE.read_text().splitlines() if line.strip() and not line.startswith("#")]

@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, dict[str, Any]]:
    if importlib.util.find_spec("ROOT") is None:
        if os.environ.get("CI", "").lower() in ("1", "true", "yes"):
            pytest.fail("ROOT is required in CI")
        pytest.skip("real ROOT is not installed")
    folder = tmp_path_factory.mktemp("query")
    output = folder / "answers.json"
    done = subprocess.run(
        [sys.executable, HERE / "oracle" / "draw.py", folder, TABLE, output], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    found = {one["line"]: one for one in json.loads(output.read_text())}
    return sapwood.open(folder / "expressions.root")["t"], found


def test_the_table_has_many_expressions() -> None:
    assert len(set(LINES)) == len(LINES) >= 250


@pytest.mark.parametrize("line", LINES)
def test_values_and_weights_are_those_of_root(answers: tuple[Any, dict[str, Any]], line: str) -> None:
    tree, found = answers
    theirs = found[line]
    expression, _, cut = line.partition(" ;; ")
    columns, weights = tree.points(expression, cut)
    # ROOT numbers the expressions from the first one; ours are along x first.
    for ours, values in zip(reversed(columns), theirs["columns"], strict=True):
        np.testing.assert_allclose(ours, np.array(values, "float64"), rtol=2e-14, atol=1e-13)
    np.testing.assert_allclose(weights, theirs["weights"], rtol=1e-15)
