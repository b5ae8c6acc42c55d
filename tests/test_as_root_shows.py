"""Stored state that ROOT finishes when it is first asked: buffers of histograms, weights of trees, errors."""

from __future__ import annotations

import subprocess
import sys
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sapwood

ROOT = pytest.importorskip("ROOT")


@pytest.fixture(scope="module")
def buffered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Any]]:
    """Histograms that still have entries in their buffers, for ROOT and for this package."""
    path = str(tmp_path_factory.mktemp("buffered") / "buffered.root")
    file = ROOT.TFile(path, "RECREATE")
    ROOT.TH1.AddDirectory(False)
    made = {
        "automatic": ROOT.TH1F("automatic", "", 10, 0, 0),
        "given": ROOT.TH1D("given", "", 4, 0, 4),
        "two": ROOT.TH2D("two", "", 4, 0, 0, 3, 0, 0),
        "three": ROOT.TH3F("three", "", 4, 0, 0, 3, 0, 0, 2, 0, 0),
        "profile": ROOT.TProfile("profile", "", 5, 0, 0),
        "profile2": ROOT.TProfile2D("profile2", "", 3, 0, 0, 2, 0, 0),
    }
    for name, histogram in made.items():
        if name == "given":
            histogram.SetBuffer(100)
        count = {"two": 2, "three": 3, "profile": 2, "profile2": 3}.get(name, 1)
        for x in (1.0, 2.0, 2.5, 7.0):
            histogram.Fill(*[x + place for place in range(count)])
    made["automatic"].Fill(3.0, 0.5)
    for histogram in made.values():
        file.WriteTObject(histogram)
    listed = ROOT.TList()
    inside = ROOT.TH1D("inside", "", 10, 0, 0)
    for x in (1.0, 2.0, 7.0):
        inside.Fill(x)
    listed.Add(inside)
    listed.Write("list", ROOT.TObject.kSingleKey)
    file.Close()
    file = ROOT.TFile.Open(path)
    with sapwood.open(path) as ours:
        yield file, ours
    file.Close()


@pytest.mark.parametrize("name", ["automatic", "given", "two", "three", "profile", "profile2", "inside"])
def test_entries_in_a_buffer_are_in_bins(buffered: tuple[Any, Any], name: str) -> None:
    file, ours = buffered
    wanted = file.Get("list").At(0) if name == "inside" else file.Get(name)
    found = ours["list"][0] if name == "inside" else ours[name]
    cells = wanted.GetNcells()
    assert found.values(flow=True).ravel(order="F").tolist() == [
        wanted.GetBinContent(n) for n in range(cells)
    ]
    assert found.errors(flow=True).ravel(order="F") == pytest.approx(
        [wanted.GetBinError(n) for n in range(cells)]
    )
    for place, axis in enumerate([wanted.GetXaxis(), wanted.GetYaxis(), wanted.GetZaxis()][: found._ndim]):
        assert found.axis(place).low == axis.GetXmin() and found.axis(place).high == axis.GetXmax()
    assert found.member("fEntries") == wanted.GetEntries() > 0
    assert found.all_members["fTsumw"] == found.member("fTsumw") > 0


def test_a_buffered_histogram_is_copied_as_it_is(buffered: tuple[Any, Any], tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "copy.root") as out:
        out["h"] = buffered[1]["given"]
    file = ROOT.TFile.Open(str(tmp_path / "copy.root"))
    assert [file.Get("h").GetBinContent(n) for n in range(6)] == buffered[1]["given"].values(
        flow=True
    ).tolist()
    file.Close()


def test_errors_of_negative_bins(tmp_path: Path) -> None:
    path = str(tmp_path / "negative.root")
    file = ROOT.TFile(path, "RECREATE")
    plain = ROOT.TH2D("plain", "", 2, 0, 2, 1, 0, 1)
    plain.SetBinContent(1, 1, 4)
    plain.SetBinContent(2, 1, -4)
    plain.Write()
    squares = ROOT.TH1F("squares", "", 2, 0, 2)
    squares.Sumw2()
    squares.GetSumw2()[1] = -1.0
    squares.GetSumw2()[2] = 9.0
    squares.Write()
    file.Close()
    with sapwood.open(path) as ours:
        assert ours["plain"].errors().ravel().tolist() == [2.0, 2.0]
        assert ours["plain"].variances().ravel().tolist() == [4.0, 4.0]
        found = ours["squares"].errors()
    assert np.isnan(found[0]) and found[1] == 3.0


@pytest.fixture(scope="module")
def weighted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two trees of other weights, chains of them, and a tree whose first values decide on the bins."""
    folder = tmp_path_factory.mktemp("weighted")
    for name, weight in (("a", 0.25), ("b", 3.0)):
        file = ROOT.TFile(str(folder / f"{name}.root"), "RECREATE")
        tree = ROOT.TTree("t", "")
        x = array("d", [0])
        tree.Branch("x", x, "x/D")
        for n in range(10):
            x[0] = n
            tree.Fill()
        tree.SetWeight(weight)
        tree.Write()
        file.Close()
    file = ROOT.TFile(str(folder / "chains.root"), "RECREATE")
    for name, weight in (("own", None), ("global", 7.0)):
        chain = ROOT.TChain("t")
        chain.Add(str(folder / "a.root"))
        chain.Add(str(folder / "b.root"))
        if weight is not None:
            chain.SetWeight(weight, "global")
        chain.Write(name)
    file.Close()
    return folder


def test_the_weight_of_a_tree_counts(weighted: Path) -> None:
    with sapwood.open(weighted / "a.root") as file:
        tree = file["t"]
        assert tree.draw("x>>h(2,0,10)", "x>2", library="np")[0].tolist() == [0.5, 1.25]
        assert tree.draw("x>>h(2,0,10)", "2*(x>2)", library="np")[0].tolist() == [1.0, 2.5]
        assert tree.draw("x>>h(2,0,10)", "x>2", library="np", tree_weight=False)[0].tolist() == [2.0, 5.0]
        assert tree.draw("x>>h(2,0,10)", "x>2", library="np", tree_weight=2)[0].tolist() == [4.0, 10.0]
        many = tree.draw_many(["x>>h(2,0,10)", ("x>>h(2,0,10)", "x>2")], library="root")
        assert [one.values().tolist() for one in many] == [[1.25, 1.25], [0.5, 1.25]]
        assert many[1].variances().tolist() == [2 * 0.25**2, 5 * 0.25**2]
        assert tree.points("x", "x>7")[1].tolist() == [0.25, 0.25]
        assert tree.points("x", "x>7", tree_weight=False)[1].tolist() == [1.0, 1.0]


def test_each_tree_of_a_chain_has_its_own_weight(weighted: Path) -> None:
    trees = [f"{weighted}/a.root:t", f"{weighted}/b.root:t"]
    words = "x>>g(2,0,10)"
    assert sapwood.draw(trees, words, library="np")[0].tolist() == [16.25, 16.25]
    assert sapwood.draw(trees, words, library="np", tree_weight=False)[0].tolist() == [10.0, 10.0]
    assert sapwood.draw_many(trees, [words], library="np", tree_weight=False)[0][0].tolist() == [10.0, 10.0]
    with sapwood.open(weighted / "chains.root") as file:
        assert file["own"].draw(words, library="np")[0].tolist() == [16.25, 16.25]
        assert file["global"].draw(words, library="np")[0].tolist() == [70.0, 70.0]


@pytest.mark.parametrize(
    ("target", "option", "wanted"),
    [
        ("a.root:t", [], [0.5, 1.25]),
        ("a.root:t", ["--no-tree-weight"], [2.0, 5.0]),
        ("chains.root:global", [], [28.0, 70.0]),
    ],
)
def test_the_command_weights_as_well(
    weighted: Path, tmp_path: Path, target: str, option: list[str], wanted: list[float]
) -> None:
    out = tmp_path / "drawn.root"
    command = [
        sys.executable,
        "-m",
        "sapwood",
        "draw",
        f"{weighted}/{target}",
        "x>>h(2,0,10)",
        "x>2",
        "--out",
        str(out),
    ]
    subprocess.run([*command, *option], check=True)
    with sapwood.open(out) as file:
        assert file["h"].values().tolist() == wanted


def test_the_first_values_decide_on_bins_as_the_tree_says(tmp_path: Path) -> None:
    path = str(tmp_path / "estimate.root")
    file = ROOT.TFile(path, "RECREATE")
    tree = ROOT.TTree("t", "")
    x = array("d", [0])
    tree.Branch("x", x, "x/D")
    for n in range(25_000):
        x[0] = n % 100 if n < 20_000 else 1000
        tree.Fill()
    tree.SetEstimate(20_000)
    tree.Write()
    tree.Draw("x>>drawn(5)", "", "goff")
    wanted = ROOT.gDirectory.Get("drawn").Clone()
    file.Close()
    with sapwood.open(path) as ours:
        found = ours["t"].draw("x>>drawn(5)", library="root")
    axis = wanted.GetXaxis()
    assert (found.axis(0).low, found.axis(0).high) == (axis.GetXmin(), axis.GetXmax())
    assert found.values().tolist() == [wanted.GetBinContent(n) for n in range(1, 6)]


@pytest.mark.parametrize("drawn", ["y:x", "v:x", "v:y:x"])
def test_axes_of_several_expressions_end_with_their_values(tmp_path: Path, drawn: str) -> None:
    path = str(tmp_path / "axes.root")
    file = ROOT.TFile(path, "RECREATE")
    tree = ROOT.TTree("t", "")
    x, y, v = array("d", [0]), array("d", [0]), array("d", [0, 0])
    tree.Branch("x", x, "x/D")
    tree.Branch("y", y, "y/D")
    tree.Branch("v", v, "v[2]/D")
    for n in range(600):
        x[0], y[0], v[0], v[1] = n * 7919 % 600 / 90 - 3.3, n, n % 7, n % 11
        tree.Fill()
    tree.Write()
    file.Close()
    file = ROOT.TFile(path)
    tree = file.Get("t")

    def of_root(cut: str) -> list[tuple[float, float]]:
        tree.Draw(drawn, cut, "goff")
        made = tree.GetHistogram()
        axes = [made.GetXaxis(), made.GetYaxis(), made.GetZaxis()][: made.GetDimension()]
        return [(axis.GetXmin(), axis.GetXmax()) for axis in axes]

    with sapwood.open(path) as ours:

        def found(cut: str) -> list[tuple[float, float]]:
            made = ours["t"].draw(drawn, cut, library="root")
            return [(made.axis(n).low, made.axis(n).high) for n in range(drawn.count(":") + 1)]

        # Half of the entries: fewer values than the buffer holds.
        assert found("Entry$%2") == of_root("Entry$%2")
        # Beyond 1,000 values ROOT empties its buffer, which doubles each range upwards.
        all_values = found("")
        root = of_root("")
        if drawn == "y:x":
            assert all_values == root
        else:
            assert root == [(low, high + (high - low)) for low, high in all_values]
    file.Close()


def test_histograms_of_uproot_keep_all_that_uproot_knows(tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    path = str(tmp_path / "h.root")
    file = ROOT.TFile(path, "RECREATE")
    made = ROOT.TH1F("h", "title;my x;my y", 3, 0, 3)
    made.Sumw2()
    made.Fill(0.2, 2.5)
    made.Fill(1.7, 0.5)
    made.GetXaxis().SetBinLabel(2, "two")
    made.Write()
    profile = ROOT.TProfile("p", "means;x;y", 3, 0, 3)
    profile.Fill(0.2, 5.0, 2.0)
    profile.Write()
    file.Close()
    with sapwood.recreate(tmp_path / "out.root") as out, uproot.open(path) as source:
        out["h"], out["p"] = source["h"], source["p"]
    file = ROOT.TFile.Open(str(tmp_path / "out.root"))
    found, axis = file.Get("h"), file.Get("h").GetXaxis()
    assert (str(found.GetTitle()), str(axis.GetTitle()), str(found.GetYaxis().GetTitle())) == (
        "title",
        "my x",
        "my y",
    )
    assert [str(axis.GetBinLabel(n)) for n in (1, 2, 3)] == ["", "two", ""]
    assert (found.GetEntries(), found.GetMean()) == (made.GetEntries(), made.GetMean())
    assert [found.GetBinError(n) for n in range(5)] == [made.GetBinError(n) for n in range(5)]
    assert file.Get("p").GetBinContent(1) == 5.0 and file.Get("p").GetMean() == profile.GetMean()
    file.Close()


def test_axes_of_hist_are_bins(tmp_path: Path) -> None:
    hist = pytest.importorskip("hist")
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["t"] = {"x": [0.5, 1.5, 1.6, 2.5], "y": [0.0, 1.0, 5.0, 9.0]}
    tree = sapwood.open(tmp_path / "a.root")["t"]
    regular, edges = hist.axis.Regular(3, 0, 3, name="x", label="of x"), hist.axis.Variable([0, 1, 10])
    found = tree.draw("x", bins=regular)
    assert found.values().tolist() == [1, 2, 1] and found.axes[0].label == "x"
    for axes in ([regular, edges], (regular, edges), hist.Hist(regular, edges).axes):
        assert tree.draw("y:x", bins=axes).values().tolist() == [[1, 0], [0, 2], [0, 1]]
    for axis in (hist.axis.StrCategory(["a"]), hist.axis.Regular(3, 0, 3, circular=True)):
        with pytest.raises(sapwood.errors.MismatchError, match="an axis of numbers that has ends"):
            tree.draw("x", bins=axis)


def test_histograms_that_were_read_are_added(tmp_path: Path) -> None:
    pytest.importorskip("hist")
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["h"] = (np.array([1.0, 2.0]), np.array([0.0, 1.0, 2.0]))
    h = sapwood.open(tmp_path / "a.root")["h"]
    assert (h + h).values().tolist() == [2, 4]
    assert (h + h.to_hist()).values().tolist() == [2, 4]
    assert (h + 1).values().tolist() == [2, 3]
    for other in (None, "a", [1.0, 2.0]):
        with pytest.raises(TypeError, match="unsupported operand"):
            h + other


def test_histograms_with_and_without_weights_are_added(tmp_path: Path) -> None:
    pytest.importorskip("hist")
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["t"] = {"x": [0.5, 0.5, 1.5], "w": [2.0, 3.0, 4.0]}
    tree = sapwood.open(tmp_path / "a.root")["t"]
    counts, weighted = tree.draw_many(["x", ("x", "w")], bins=(2, 0, 2), library="root")
    assert weighted.weighted and not counts.weighted
    sums = counts + weighted, weighted + counts, counts + weighted.to_hist(), weighted + counts.to_hist()
    for both in sums:
        assert both.values().tolist() == [7, 5]
        assert both.variances().tolist() == [2 + 4 + 9, 1 + 16]


def test_means_that_were_read_are_added_as_means(tmp_path: Path) -> None:
    pytest.importorskip("hist")
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["t"] = {"x": [0.5, 0.5, 1.5], "y": [2.0, 4.0, 5.0], "w": [1.0, 3.0, 2.0]}
    tree = sapwood.open(tmp_path / "a.root")["t"]
    for cut in ("", "w"):
        one = tree.draw("y:x", cut, bins=(2, 0, 2), profile=True, library="root")
        both = one + one
        assert both.kind == "MEAN" and both.values().tolist() == one.values().tolist()
        assert both.counts().tolist() == [2 * count for count in one.counts()]
