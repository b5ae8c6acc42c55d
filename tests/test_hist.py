"""Histograms that Rust fills: members, statistics and errors against the same fills in real ROOT."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Any

import pytest

from support import rust_examples
from support.rootobjects import COMPARE
from support.rootrun import root

FILLS = """
import struct
from array import array
data = open(sys.argv[1], "rb").read()
rows = list(struct.iter_unpack("=5d", data))
ROOT.TH1.AddDirectory(False)
regular, small, edges = (20, -2., 2.), (4, -1.5, 1.5), (4, array("d", [-3, -1, 0, .5, 2]))
made = {}
def add(name, hist, columns, weighted):
    hist.SetName(name)
    hist.SetTitle("a title")
    for row in rows:
        hist.Fill(*(row["xyzv".index(column)] for column in columns), *([row[4]] if weighted else []))
    made[name] = hist
def axes(hist, *given):
    for axis, bins in zip((hist.GetXaxis(), hist.GetYaxis(), hist.GetZaxis()), given):
        axis.Set(*bins)
    return hist
add("plain", ROOT.TH1D("", "", *regular), "x", False)
made["plain"].GetXaxis().SetTitle("x [cm]")
add("weighted", ROOT.TH1D("", "", *regular), "x", True)
add("edges", ROOT.TH1F("", "", *edges), "x", True)
for name, kind in (("chars", ROOT.TH1C), ("shorts", ROOT.TH1S), ("ints", ROOT.TH1I), ("longs", ROOT.TH1L)):
    add(name, kind("", "", 2, -1., 1.), "x", False)
add("truncated", ROOT.TH1S("", "", *small), "x", True)
add("two", ROOT.TH2F("", "", *regular, *edges), "xy", True)
add("three", axes(ROOT.TH3I("", "", *small, 4, 0, 1, *small), small, edges, small), "xyz", False)
add("three_weighted", axes(ROOT.TH3D("", "", *small, *small, 4, 0, 1), small, small, edges), "xyz", True)
add("profile", ROOT.TProfile("", "", *regular), "xv", False)
add("profile_weighted", ROOT.TProfile("", "", *edges), "xv", True)
add("profile2", ROOT.TProfile2D("", "", *small, *edges), "xyv", True)
add("profile3", ROOT.TProfile3D("", "", *small, *small, *small), "xyzv", False)
add("limited", ROOT.TProfile("", "", *small, -1., 1.), "xv", True)
growing = ROOT.TH1D("", "", *small)
growing.SetCanExtend(ROOT.TH1.kXaxis)
add("growing", growing, "x", True)
growing2 = ROOT.TH2D("growing2", "", *small, *small)
growing2.SetCanExtend(ROOT.TH1.kXaxis)
for row in rows:
    if row[0] == row[0]:
        growing2.Fill(row[0], row[1], row[4])
labels = ROOT.TH1D("labels", "", 2, 0, 2)
for number, label in enumerate("ab", 1):
    labels.GetXaxis().SetBinLabel(number, label)
labels.GetXaxis().SetAlphanumeric(True)
labels.GetXaxis().SetCanExtend(True)
for label, row in zip(["a", "b", "c", "a", "dd", "e"], rows):
    labels.Fill(label, row[4])
overflows = ROOT.TH2D("overflows", "", *small, *small)
overflows.SetStatOverflows(ROOT.TH1.kConsider)
for row in rows:
    if abs(row[0]) < 1e300 and abs(row[1]) < 1e300:
        overflows.Fill(row[0], row[1], row[4])
total, half = ROOT.TProfile("sum", "", *small), len(rows) // 2
total.Sumw2()
for number, row in enumerate(rows):
    total.Fill(row[0], row[3], 1. if number < half else row[4])
add("poisson", ROOT.TH1F("", "", *regular), "x", False)
made["poisson"].SetBinErrorOption(ROOT.TH1.kPoisson)
add("ranged", ROOT.TH1D("", "", *regular), "x", True)
made["ranged"].GetXaxis().SetRange(5, 12)
for hist in (labels, growing2, overflows, total):
    made[hist.GetName()] = hist
for name in ("labels", "limited", "growing", "overflows", "sum", "poisson", "ranged"):
    made[name].SetTitle("")
file = ROOT.TFile(sys.argv[2], "recreate")
told = {}
for name, hist in made.items():
    file.WriteTObject(hist)
    # ROOT knows no mean of the value of a TProfile3D.
    directions = range(1, hist.GetDimension() + 1 + hist.InheritsFrom("TProfile") + hist.InheritsFrom("TProfile2D"))
    bins = range(hist.GetNcells())
    told[name] = {
        "entries": hist.GetEntries(), "effective": hist.GetEffectiveEntries(), "integral": hist.Integral(),
        "means": [hist.GetMean(axis) for axis in directions], "deviations": [hist.GetStdDev(axis) for axis in directions],
        "values": [hist.GetBinContent(bin) for bin in bins], "errors": [hist.GetBinError(bin) for bin in bins],
        "low": [hist.GetBinErrorLow(bin) for bin in bins], "high": [hist.GetBinErrorUp(bin) for bin in bins],
    }
plain, weighted = ROOT.TEfficiency("efficiency", "a title", *small), ROOT.TEfficiency("efficiency2", "", *small, *small)
for x, y, z, value, weight in rows:
    plain.Fill(value < 0, x)
    weighted.FillWeighted(value < 0, abs(weight), x, y)
x, y, z, value, weight = (array("d", column) for column in zip(*rows[900:920]))
graphs = [ROOT.TGraph(20, x, y), ROOT.TGraphErrors(20, x, y, z, value),
          ROOT.TGraphAsymmErrors(20, x, y, z, value, weight, x)]
for graph in graphs:
    graph.SetTitle("a title")
    graph.SetName("Graph")
twice = ROOT.TList()
twice.Add(graphs[2].Clone())
graphs[2].Merge(twice)
for name, one in zip(("efficiency", "efficiency2", "graph", "graph_errors", "graph_asymmetric"), (plain, weighted, *graphs)):
    file.WriteTObject(one, name)
file.Close()
answer(told)
"""


def numbers(path: Path) -> None:
    """Rows of x, y, z, value and weight, with flow, values on edges, NaN and infinities among them."""
    chance = random.Random(11)

    def coordinate() -> float:
        if chance.random() < 0.3:
            return chance.choice([-3, -1.5, -0.75, 0.5, 2, *(-2 + 0.2 * step for step in range(21)), 1e-300])
        return chance.gauss(0, 1.3)

    rows = [[*(coordinate() for _ in range(4)), chance.choice([1, 2.5, 0.1, -1])] for _ in range(1000)]
    for place, odd in enumerate((float("nan"), float("inf"), float("-inf"))):
        for column in range(3):
            rows[100 * place + column][column] = odd
    # So that a histogram without weights becomes one with them on the way.
    for row in rows[:50]:
        row[4] = 1
    path.write_bytes(b"".join(struct.pack("=5d", *row) for row in rows))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Any]:
    """What Rust and ROOT say of the same fills, and the folder with their files."""
    place = tmp_path_factory.mktemp("hist")
    numbers(place / "numbers")
    ours = json.loads(rust_examples.run("histograms", place / "numbers", place / "ours.root"))
    theirs = root(FILLS, place / "numbers", place / "theirs.root")
    return place, ours, theirs


def test_fills_give_the_members_that_root_gives(filled: tuple[Path, Any, Any]) -> None:
    place, ours, _ = filled
    compared = root(COMPARE, place / "theirs.root", place / "ours.root")
    assert compared["differences"] == []
    assert compared["same"] == len(ours) + 5 > 20


def test_statistics_and_errors_are_those_of_root(filled: tuple[Path, Any, Any]) -> None:
    _, ours, theirs = filled
    assert ours.keys() == theirs.keys()
    for name, said in theirs.items():
        for what, expected in said.items():
            found = ours[name][what][: len(expected)] if isinstance(expected, list) else ours[name][what]
            # Limits of Poisson distributions are found by other means there.
            close = 1e-9 if what in ("low", "high") else 1e-12
            assert found == pytest.approx(expected, rel=close, abs=1e-12), (name, what)
