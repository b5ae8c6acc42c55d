"""Advice of the doctor on cuts: what statistics skip, and what sorting would add."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sapwood

ENTRIES, BASKETS = 20_000, 100


@pytest.fixture(params=["tree", "rntuple"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A rising column, one without order, a constant, lists and texts, in 100 baskets or pages."""
    path = tmp_path / "events.root"
    random = np.random.default_rng(2)
    columns = {
        "run": np.arange(ENTRIES, dtype="i4") // 7,
        "met": random.uniform(0, 100, ENTRIES),
        "one": np.ones(ENTRIES, "f4"),
        "hits": np.zeros((ENTRIES, 2), "f4"),
        "label": ["a"] * ENTRIES,
    }
    with sapwood.recreate(path) as target:
        make = target.mktree if request.param == "tree" else target.mkrntuple
        step = ENTRIES // BASKETS
        options = {"auto_flush": step} if request.param == "tree" else {"cluster_bytes": 2_000}
        rows = [{n: c[start : start + step] for n, c in columns.items()} for start in range(0, ENTRIES, step)]
        table = make("events", rows[0], **options)
        for part in rows[1:]:
            table.extend(part)
    return path


def test_a_scattered_column_gains_by_sorting_and_a_rising_one_does_not(file: Path, tmp_path: Path) -> None:
    assert sapwood.doctor(file).trees[0]["cuts"] == []
    [tree] = sapwood.doctor(file, cuts=True).trees
    met, run = tree["cuts"]
    assert (met["column"], run["column"]) == ("met", "run")
    assert not met["useful"] and met["part"] > 0.95 and met["skipped"] < met["runs"] / 4
    assert run["useful"] and run["part"] < 0.02 and run["skipped"] == run["skipped_if_sorted"]
    # A sorted file keeps the promise.
    sapwood.rewrite(
        file, tmp_path / "sorted.root", sort_by="met", statistics=True, auto_flush=ENTRIES // BASKETS
    )
    values = sapwood.open(file)["events"]["met"].array(library="np")
    decided = sapwood.open(tmp_path / "sorted.root")["events"].decided(f"met > {np.quantile(values, 0.99)}")
    assert decided.none >= ENTRIES * 97 // 100
    assert met["skipped_if_sorted"] == met["runs"] - -(-met["runs"] // 100) - 1
    [after] = sapwood.doctor(tmp_path / "sorted.root", cuts=True).trees
    assert [cut["skipped"] for cut in after["cuts"] if cut["column"] == "met"][0] >= met[
        "skipped_if_sorted"
    ] - 1


def test_the_command_prints_the_line_that_sorts(file: Path) -> None:
    command = [sys.executable, "-m", "sapwood", "doctor", str(file), "--cuts"]
    words = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    sorted_file = str(file).removesuffix(".root") + "-sorted.root"
    assert f"sapwood rewrite {file} {sorted_file} --tree events --sort-by met --statistics" in words
    assert "statistics help cuts on 1 of 2 columns" in words
