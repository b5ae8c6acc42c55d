"""What reading costs: figures by ROOT's names, ranges, pictures, and two runs side by side."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from rootrun import root

sapwood = pytest.importorskip("sapwood")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "perf.root"
    with sapwood.recreate(found, compression="zlib:1") as file:
        tree = file.mktree("t", {name: "f8" for name in "abcd"}, auto_flush=1_000)
        chance = np.random.default_rng(1)
        tree.extend({name: chance.random(10_000) for name in "abcd"})
    return found


def test_figures_are_exact(path: Path) -> None:
    tree = sapwood.open(path, threads=1)["t"]
    with tree.perf as perf:
        tree.arrays(["a", "c"])
    figures = perf.figures
    baskets = [basket for branch in tree.layout()["branches"] if branch["path"] in "ac" for basket in branch["baskets"]]
    used = sum(nbytes for *_, nbytes in baskets)
    assert (figures["N leaves"].value, len(baskets)) == (2, 20)
    assert figures["ReadTotal"].value == pytest.approx((used + sum_of_gaps(perf, baskets)) / 1e6)
    assert figures["Thrown away"].value == pytest.approx(sum_of_gaps(perf, baskets) / 1e6)
    # Keys and headers are not compressed away.
    assert 16 * 10_000 / 1e6 < figures["ReadUnZip"].value < 1.05 * 16 * 10_000 / 1e6
    assert figures["ReadCalls"].value == len({read.at for read in perf.reads if read.entry is not None})
    assert sorted(read.entry for read in perf.reads if read.entry is not None)[0] == 0
    for read in perf.reads:
        assert 0 <= read.used_bytes <= read.stop - read.start and read.took >= 0
    assert 0 < figures["Disk Time"].value <= figures["Real Time"].value
    with tree.perf as perf:
        pass
    assert perf.figures["ReadCalls"].value == 0 and perf.reads == []


def sum_of_gaps(perf: Any, baskets: list[Any]) -> int:
    """Bytes that were read and hold none of these baskets."""
    read = sum(read.stop - read.start for read in perf.reads if read.entry is not None)
    return read - sum(nbytes for *_, nbytes in baskets)


def test_nothing_is_recorded_unless_it_is_wanted(path: Path) -> None:
    tree = sapwood.open(path)["t"]
    tree.arrays()
    assert tree.perf.reads == []


def test_pictures_and_two_runs(path: Path, tmp_path: Path) -> None:
    tree = sapwood.open(path)["t"]
    for cache, name in ((0, "before"), ("30 MB", "after")):
        tree.cache_size = cache
        with tree.perf as perf:
            tree.arrays(["a"])
        perf.save(tmp_path / f"{name}.json")
    before, after = perf.beside(tmp_path / "before.json")["ReadCalls"]
    assert before == 10 and after < 10, "a basket a call, or as many as a window needs"
    marks = ElementTree.fromstring(perf.svg(tmp_path / "reads.svg")).findall("{http://www.w3.org/2000/svg}rect")
    assert len(marks) == 2 + 2 * len(perf.reads) and (tmp_path / "reads.svg").exists()
    assert "ReadCalls" in str(perf) and "MBytes/s" in str(perf)


def test_the_command(path: Path, tmp_path: Path) -> None:
    def run(*arguments: object) -> str:
        done = subprocess.run([sys.executable, "-m", "sapwood", "perf", *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    told = json.loads(run(path, "a", "b", "--json", "--threads", 1))
    assert told["figures"]["N leaves"]["value"] == 2
    run(path, "--tree-cache", 0, "--save", tmp_path / "before.json", "--svg", tmp_path / "reads.svg")
    beside = run(path, "--against", tmp_path / "before.json")
    line = next(line.split() for line in beside.splitlines() if line.startswith("ReadCalls"))
    assert int(line[1]) == 40 and int(line[2]) < 40
    assert ElementTree.parse(tmp_path / "reads.svg").getroot().tag.endswith("svg")


def test_real_root_uses_as_many_bytes_in_no_fewer_calls(path: Path) -> None:
    """The same columns through TTreeCache and TTreePerfStats."""
    lines = """
file = ROOT.TFile(sys.argv[1])
tree = file.Get("t")
tree.SetCacheSize(30_000_000)
tree.AddBranchToCache("a"); tree.AddBranchToCache("c"); tree.StopCacheLearningPhase()
stats = ROOT.TTreePerfStats("io", tree)
tree.SetBranchStatus("*", 0); tree.SetBranchStatus("a", 1); tree.SetBranchStatus("c", 1)
for i in range(tree.GetEntries()): tree.GetEntry(i)
stats.Finish()
answer([stats.GetReadCalls(), stats.GetBytesRead() - stats.GetBytesReadExtra()])
"""
    calls, theirs = root(lines, path)
    tree = sapwood.open(path, threads=1)["t"]
    with tree.perf as perf:
        tree.arrays(["a", "c"])
    assert perf.figures["ReadCalls"].value <= calls
    assert 1e6 * (perf.figures["ReadTotal"].value - perf.figures["Thrown away"].value) == pytest.approx(theirs)
