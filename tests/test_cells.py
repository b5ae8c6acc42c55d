"""Values of every type look alike in the table of the browser and in what the command prints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from support.browser import browsing

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")

VALUES = {
    "maybe": [1.5, None, 3.5],
    "lists": [[1, None], [], [None, 2, 3]],
    "records": [{"a": 1, "b": [0.5]}, {"a": 2, "b": [1.5, 2.5]}, {"a": 3, "b": []}],
    "text": ["x", "", "yz"],
    "large": [2**60, 1, -(2**60)],
    "flag": [True, False, True],
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cells") / "n.root"
    with sapwood.recreate(path, format="rntuple") as file:
        file["n"] = ak.zip({name: ak.Array(values) for name, values in VALUES.items()}, depth_limit=1)
    return path


def test_the_command_prints_them(path: Path) -> None:
    command = [sys.executable, "-m", "sapwood", "scan", f"{path}:n", *VALUES, "--json"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    rows = [json.loads(line) for line in lines]
    assert {name: [row[name] for row in rows] for name in VALUES} == VALUES


def test_the_browser_shows_them(path: Path) -> None:
    with browsing(path) as served:
        answer = served.ask("table", file="0", path="n", columns="\n".join(VALUES), count=10)
    # Whole numbers beyond 53 bits are texts: JavaScript would round them.
    shown = {**VALUES, "large": [str(2**60), 1, str(-(2**60))]}
    assert dict(zip(VALUES, answer["columns"], strict=True)) == shown


def test_patterns_are_those_of_rewrite(tmp_path: Path) -> None:
    path = tmp_path / "names.root"
    with sapwood.recreate(path) as file:
        file["t"] = {name: np.arange(3.0) for name in ("Jet_pt", "Jet_eta", "Jet_mass", "v")}
        file["a"] = {"v": np.arange(6.0).reshape(3, 2)}

    def heads(*arguments: str) -> list[str]:
        command = [sys.executable, "-m", "sapwood", "scan", *arguments, "--csv"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()[0].split(",")[1:]

    assert heads(f"{path}:t", "Jet_[pe]*") == ["Jet_pt", "Jet_eta"]
    assert heads(f"{path}:t", "Jet_[!mp]*") == ["Jet_eta"] and heads(f"{path}:t", "Jet_??") == ["Jet_pt"]
    assert heads(f"{path}:a", "v[0]*2", "v*") == ["v[0]*2", "v"]
