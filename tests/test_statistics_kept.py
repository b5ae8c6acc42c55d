"""Statistics of files that are made of others: joined by merging, kept by rewriting, made while closing."""

from __future__ import annotations

import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import sapwood

ENTRIES = 4_000
CUTS = ["run > 130", "x > 0.999", "any(v > 3.5)", "run == 105 && x < 0.5", "Length$(v) > 2"]


def columns(seed: int) -> dict[str, Any]:
    """Runs that rise, numbers at random, and lists."""
    random = np.random.default_rng(seed)
    counts = random.integers(0, 4, ENTRIES)
    return {
        "run": (100 + 20 * seed + np.arange(ENTRIES) // 400).astype("i4"),
        "x": random.random(ENTRIES),
        "v": ak.unflatten(random.normal(0, 1, counts.sum()), counts),
    }


def write(path: Path, seed: int, kind: str, **options: Any) -> None:
    """Writes clusters of some 200 entries."""
    values = columns(seed)
    with sapwood.recreate(path, **options) as file:
        make = file.mktree if kind == "tree" else file.mkrntuple
        flush = {"auto_flush": 200} if kind == "tree" else {"cluster_bytes": 3_000}
        table = make("events", {name: column[:200] for name, column in values.items()}, **flush)
        for first in range(200, ENTRIES, 200):
            table.extend({name: column[first : first + 200] for name, column in values.items()})


@pytest.fixture(params=["tree", "rntuple"])
def inputs(request: pytest.FixtureRequest, tmp_path: Path) -> list[Path]:
    """Two files with statistics."""
    paths = [tmp_path / f"run{seed}.root" for seed in (0, 1)]
    for seed, path in enumerate(paths):
        write(path, seed, request.param, statistics=True)
    return paths


def check(path: Path, expects: bool = True) -> None:
    """Statistics decide, and leave no entry out."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with sapwood.open(path) as file:
            tree = file["events"]
            passing = {cut: tree.passing(cut).tolist() for cut in CUTS}
            decided = {cut: tree.decided(cut) for cut in CUTS}
    side = Path(f"{path}.sapwood-index")
    if not expects:
        assert not side.exists()
        return
    assert decided["run > 130"].none >= ENTRIES and decided["Length$(v) > 2"] is not None
    side.rename(side.with_suffix(".away"))
    with sapwood.open(path) as file:
        assert {cut: file["events"].passing(cut).tolist() for cut in CUTS} == passing
    side.with_suffix(".away").rename(side)
    assert sapwood.verify(path) == []


def test_a_written_file_has_them(tmp_path: Path) -> None:
    path = tmp_path / "new.root"
    write(path, 0, "tree", statistics=["run", "v"])
    with sapwood.open(path) as file:
        assert file["events"].decided("run > 1000").none == ENTRIES
        assert file["events"].decided("any(v > 1000)").none == ENTRIES
        assert file["events"].decided("x > 1000") is None


def test_what_has_no_place_for_them_is_refused_first() -> None:
    import io

    with pytest.raises(ValueError, match="next to a file"):
        sapwood.recreate(io.BytesIO(), statistics=True)
    with pytest.raises(ValueError, match="next to a file"):
        sapwood.create("http://127.0.0.1:9/new.root", statistics=True)


@pytest.mark.parametrize("how", [{}, {"recluster": True}, {"compression": "lz4:1"}])
def test_merging_joins_them(inputs: list[Path], tmp_path: Path, how: dict[str, Any]) -> None:
    out = tmp_path / "all.root"
    sapwood.merge(out, inputs, **how)
    check(out)
    with sapwood.open(out) as file:
        tree = file["events"]
        # The runs of the inputs, whatever clusters the output has.
        assert tree.decided("run < 120").all == ENTRIES
        assert tree.decided("run < 120").runs_all > 10


def test_the_command_does_so_too(inputs: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "all.root"
    command("merge", out, *inputs)
    check(out)
    few = tmp_path / "few.root"
    command("rewrite", out, few, "--cut", "run > 110")
    assert not Path(f"{few}.sapwood-index").exists()
    command("rewrite", out, few, "--cut", "run > 110", "--statistics", "--force")
    with sapwood.open(few) as file:
        assert file["events"].decided("run > 110").all == file["events"].num_entries
    command("merge", out, few, inputs[0], "--statistics", "--force")
    check(out)


def test_an_input_without_them_leaves_none(inputs: list[Path], tmp_path: Path) -> None:
    Path(f"{inputs[1]}.sapwood-index").unlink()
    sapwood.merge(tmp_path / "all.root", inputs)
    check(tmp_path / "all.root", expects=False)


def test_stale_ones_are_not_joined(inputs: list[Path], tmp_path: Path) -> None:
    """A copy has another time and place: its statistics are of another file."""
    copy = tmp_path / "copy.root"
    shutil.copy(inputs[0], copy)
    shutil.copy(f"{inputs[0]}.sapwood-index", f"{copy}.sapwood-index")
    sapwood.merge(tmp_path / "all.root", [copy, inputs[1]])
    check(tmp_path / "all.root", expects=False)


@pytest.mark.parametrize(
    "how", [{}, {"baskets": "keep"}, {"to": "rntuple"}, {"to": "ttree"}, {"compression": "zlib:1"}]
)
def test_rewriting_keeps_them(inputs: list[Path], tmp_path: Path, how: dict[str, Any]) -> None:
    is_tree = sapwood.open(inputs[0])["events"].__class__.__name__ == "Tree"
    if how.get("to") == ("ttree" if is_tree else "rntuple"):
        pytest.skip("it has this format")
    out = tmp_path / "new.root"
    sapwood.rewrite(inputs[1], out, **how)
    with sapwood.open(out) as file:
        tree = file["events"]
        assert tree.decided("run < 120").none == ENTRIES
        passing = {cut: tree.passing(cut).tolist() for cut in CUTS}
    Path(f"{out}.sapwood-index").unlink()
    with sapwood.open(out) as file:
        assert {cut: file["events"].passing(cut).tolist() for cut in CUTS} == passing


def test_fewer_entries_have_none_and_fewer_columns_some(inputs: list[Path], tmp_path: Path) -> None:
    sapwood.rewrite(inputs[0], tmp_path / "cut.root", cut="x > 0.5")
    assert not (tmp_path / "cut.root.sapwood-index").exists()
    sapwood.rewrite(inputs[0], tmp_path / "fewer.root", drop="x")
    with sapwood.open(tmp_path / "fewer.root") as file:
        assert file["events"].decided("run > 1000").none == ENTRIES
    sapwood.rewrite(inputs[0], tmp_path / "cut.root", cut="x > 0.5", statistics=True)
    with sapwood.open(tmp_path / "cut.root") as file:
        tree = file["events"]
        assert tree.decided("x > 0.5").all == tree.num_entries


def test_a_file_that_is_rewritten_in_place_keeps_them(inputs: list[Path]) -> None:
    path = inputs[0]
    sapwood.rewrite(path, path, compression="zlib:1")
    check_run(path)
    command("rewrite", path, path, "--force", "--compression", "lz4:1")
    check_run(path)
    with sapwood.open(path) as file:
        sapwood.rewrite(file, path.parent / "other.root")
    check_run(path.parent / "other.root")


def check_run(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with sapwood.open(path) as file:
            assert file["events"].decided("run > 1000").none == ENTRIES


def test_statistics_that_have_no_place_are_refused_first(inputs: list[Path], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="next to a file"):
        sapwood.rewrite(inputs[0], "http://127.0.0.1:9/new.root", statistics=True)
    with pytest.raises(ValueError, match="appended"):
        sapwood.merge(inputs[0], [inputs[1]], append=True, statistics=True)
    assert sapwood.open(inputs[0])["events"].num_entries == ENTRIES


def test_a_wider_type_has_none(tmp_path: Path) -> None:
    """Merging widens the numbers of the first input."""
    paths = [tmp_path / "narrow.root", tmp_path / "wide.root"]
    for path, type_, value in zip(paths, ["i2", "i4"], [5, 100_000], strict=True):
        with sapwood.recreate(path, statistics=True) as file:
            file["events"] = {"n": np.full(10, value, type_), "run": np.arange(10, dtype="i4")}
    out = tmp_path / "all.root"
    sapwood.merge(out, paths)
    with sapwood.open(out) as file:
        tree = file["events"]
        assert tree["n"].array(library="np").tolist() == [5] * 10 + [100_000] * 10
        assert tree.decided("n > 50") is None and tree.decided("run > 50").none == 20


def command(*arguments: object) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sapwood", *map(str, arguments)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
