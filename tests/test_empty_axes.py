"""Histograms whose axes have no bin yet, as those of jobs that selected nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.rootrun import root

sapwood = pytest.importorskip("sapwood")
hist = pytest.importorskip("hist")
bh = pytest.importorskip("boost_histogram")

LABELS = hist.axis.StrCategory([], growth=True, name="cut", label="cuts")


def empty() -> dict[str, Any]:
    numbers, whole = hist.axis.IntCategory([], growth=True), hist.axis.Integer(3, 3, growth=True)
    regular = hist.axis.Regular(2, 0, 1)
    return {
        "labels": hist.Hist(LABELS),
        "numbers": hist.Hist(numbers),
        "whole": hist.Hist(whole),
        "first": hist.Hist(LABELS, regular, storage=hist.storage.Weight()),
        "last": hist.Hist(regular, LABELS, numbers),
        "profile": hist.Hist(LABELS, storage=hist.storage.WeightedMean()),
        "boost": bh.Histogram(bh.axis.StrCategory([], growth=True)),
    }


@pytest.mark.parametrize("name", empty())
def test_axes_without_bins_get_an_empty_one(tmp_path: Path, name: str) -> None:
    given = empty()[name]
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["h"] = given
    found = sapwood.open(tmp_path / "a.root")["h"]
    sizes = [max(len(axis), 1) for axis in given.axes]
    assert found.values().shape == tuple(sizes)
    assert not found.values(flow=True).any() and found.member("fEntries") == 0
    edges = found.axis(0).edges().tolist()
    assert edges == {"whole": [3.0, 4.0], "last": [0.0, 0.5, 1.0]}.get(name, [0.0, 1.0])
    if name == "labels":
        assert found.axis().member("fTitle") == "cuts"


def test_overflow_stays_overflow(tmp_path: Path) -> None:
    given = bh.Histogram(bh.axis.StrCategory([]), bh.axis.Regular(2, 0, 1))
    given.fill(["a", "b", "b"], [0.1, 0.6, 7])
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["h"] = given
    found = sapwood.open(tmp_path / "a.root")["h"].values(flow=True)
    assert found.tolist() == [[0, 0, 0, 0], [0, 0, 0, 0], [0, 1, 1, 1]]


@pytest.mark.parametrize("order", [1, -1])
def test_they_are_merged_with_those_of_other_jobs(tmp_path: Path, order: int) -> None:
    filled = hist.Hist(hist.axis.StrCategory([], growth=True)).fill(["a", "b", "b"])
    for name, one in (("empty", hist.Hist(LABELS)), ("filled", filled)):
        with sapwood.recreate(tmp_path / f"{name}.root") as file:
            file["h"] = one
    names = [str(tmp_path / f"{name}.root") for name in ("empty", "filled")][::order]
    command = [sys.executable, "-m", "sapwood", "merge", str(tmp_path / "ours.root"), *names]
    assert subprocess.run(command, capture_output=True, timeout=120).returncode == 0
    lines = """
merger = ROOT.TFileMerger(False)
merger.OutputFile(sys.argv[1], "RECREATE")
for name in sys.argv[2:]: merger.AddFile(name)
assert merger.Merge()
answer(None)
"""
    root(lines, tmp_path / "theirs.root", *names)
    for name in ("ours", "theirs"):
        found = sapwood.open(tmp_path / f"{name}.root")["h"]
        assert found.axis().labels() == ["a", "b"] and found.values(flow=True).tolist() == [0, 1, 2, 0]


def test_real_root_fills_them(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["h"] = hist.Hist(LABELS)
    lines = """
file = ROOT.TFile(sys.argv[1])
h = file.Get("h")
found = [h.GetNbinsX(), h.GetEntries(), h.Integral()]
h.SetCanExtend(ROOT.TH1.kAllAxes)
for label in "aabc": h.Fill(label, 1.0)
h.LabelsDeflate()
found += [[h.GetXaxis().GetBinLabel(k), h.GetBinContent(k)] for k in range(1, h.GetNbinsX() + 1)]
answer(found)
"""
    assert root(lines, tmp_path / "a.root") == [1, 0.0, 0.0, ["a", 2.0], ["b", 1.0], ["c", 1.0]]
    assert np.isfinite(sapwood.open(tmp_path / "a.root")["h"].axis().edges()).all()
