"""Histograms of hist, boost-histogram and UHI written and read again, and drawn by mplhep."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")
hist = pytest.importorskip("hist")
bh = pytest.importorskip("boost_histogram")

from sapwood import errors  # noqa: E402

RNG = np.random.default_rng(7)
NUMBERS = RNG.normal(size=300)
WEIGHTS = RNG.uniform(size=300)
NEW = hist.Hist.new
CASES: dict[str, Any] = {
    "regular": NEW.Reg(10, -2, 2, name="x", label="X [GeV]").Double().fill(NUMBERS),
    "weighted": NEW.Reg(10, -2, 2, name="x").Weight().fill(NUMBERS, weight=WEIGHTS),
    "negative": NEW.Reg(10, -2, 2).Weight().fill(NUMBERS, weight=WEIGHTS - 0.5),
    "counts": NEW.Reg(10, -2, 2).Int64().fill(NUMBERS),
    "variable": NEW.Var([-2, 0, 0.5, 3], name="x").Weight().fill(NUMBERS, weight=2),
    "logarithmic": NEW.Log(4, 1, 100).Double().fill(np.abs(NUMBERS) * 30),
    "categories": NEW.StrCat(["a", "b", "c d"], name="c").Double().fill(["a", "b", "b", "none"]),
    "growing": NEW.StrCat([], growth=True).Weight().fill(["mu", "e", "e"]),
    "numbers": NEW.IntCat([3, 5, 9]).Double().fill([3, 5, 5, 7]),
    "integers": NEW.Int(0, 5, name="n", label="jets").Double().fill([1, 2, 2, 9]),
    "truth": NEW.Bool().Double().fill([True, False, True]),
    "no flow": NEW.Reg(4, -1, 1, flow=False).Double().fill(NUMBERS),
    "circular": NEW.Reg(4, -1, 1, circular=True).Double().fill(NUMBERS),
    "two axes": NEW.Reg(4, -2, 2, label="x")
    .StrCat(["a", "b"], label="kind")
    .Weight()
    .fill(NUMBERS[:2], ["a", "b"]),
    "three axes": NEW.Reg(4, -2, 2)
    .Reg(3, -2, 2)
    .Var([-2, 0.2, 1])
    .Double()
    .fill(NUMBERS, NUMBERS[::-1], NUMBERS),
    "means": NEW.Reg(4, -2, 2).Mean().fill(NUMBERS, sample=WEIGHTS),
    "weighted means": NEW.Reg(4, -2, 2).WeightedMean().fill(NUMBERS, sample=WEIGHTS, weight=WEIGHTS),
    "boost": bh.Histogram(bh.axis.Regular(4, -2, 2), storage=bh.storage.Weight()).fill(
        NUMBERS, weight=WEIGHTS
    ),
}


def stored(histogram: Any) -> Any:
    """What is read of a histogram that was written."""
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        file["h"] = histogram
    return sapwood.open(memory)["h"]


@pytest.mark.parametrize("name", CASES)
def test_axes_values_and_variances_are_kept(name: str) -> None:
    wanted = CASES[name]
    read = stored(wanted)
    for made in (read.to_hist(), read.to_boost(), bh.Histogram(read), hist.Hist(read)):
        assert made.values() == pytest.approx(wanted.values())
        if wanted.variances() is not None:
            assert np.nan_to_num(made.variances()) == pytest.approx(np.nan_to_num(wanted.variances()))
        for axis, other in zip(made.axes, wanted.axes, strict=True):
            assert len(axis) == len(other)
            if isinstance(other, (bh.axis.StrCategory, bh.axis.IntCategory)):
                assert list(axis) == list(other) and "Category" in type(axis).__name__
            else:
                assert np.asarray(axis.edges).tolist() == pytest.approx(np.asarray(other.edges).tolist())
    if made.values(flow=True).shape == wanted.values(flow=True).shape:
        assert made.values(flow=True) == pytest.approx(wanted.values(flow=True))
    labels = [getattr(axis, "label", "") or getattr(axis, "name", "") for axis in wanted.axes]
    # hist shows the name of an axis that has no label; ROOT names axes by itself.
    assert [axis.label for axis in read.to_hist().axes] == [
        f"{'xyz'[place]}axis" if not label or label.startswith("Axis ") else label
        for place, label in enumerate(labels)
    ]
    assert "Weight" in str(type(made.storage_type())) or "weight" not in name or name == "weighted means"


def test_protocols_of_uhi() -> None:
    plottable = pytest.importorskip("uhi.typing.plottable")
    for name, histogram in CASES.items():
        read = stored(histogram)
        assert isinstance(read, plottable.PlottableHistogram), name
        assert read.kind == ("MEAN" if "means" in name else "COUNT")
        assert [axis.traits.discrete for axis in read.axes] == [
            isinstance(axis, (bh.axis.StrCategory, bh.axis.IntCategory)) for axis in histogram.axes
        ]


def test_serialization_of_uhi() -> None:
    form = pytest.importorskip("uhi.io.json")
    for name, histogram in CASES.items():
        read = stored(histogram)
        text = json.dumps({"h": read}, default=form.default)
        parts = json.loads(text, object_hook=form.object_hook)["h"]
        assert hist.Hist(parts).values() == pytest.approx(histogram.values()), name
        again = stored(parts)
        assert (
            again.classname == read.classname
            and again.values(flow=True).tolist() == read.values(flow=True).tolist()
        )
        assert repr(again.variances(flow=True).tolist()) == repr(read.variances(flow=True).tolist()), name
        assert [axis.labels() for axis in again.axes] == [axis.labels() for axis in read.axes]


@pytest.mark.parametrize("name", CASES)
def test_mplhep_draws_them(name: str) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    mplhep = pytest.importorskip("mplhep")
    from matplotlib import pyplot

    wanted = CASES[name]
    read = stored(wanted)
    if len(read.axes) > 2:
        pytest.skip("three axes have no picture")
    draw = mplhep.histplot if len(read.axes) == 1 else mplhep.hist2dplot
    figures = []
    for one in (read, wanted):
        figure, axes = pyplot.subplots()
        draw(one, ax=axes)
        lines = [line.get_ydata().tolist() for line in axes.get_lines()]
        meshes = [
            np.asarray(mesh.get_array()).tolist() for mesh in axes.collections if mesh.get_array() is not None
        ]
        figures.append(
            (lines, meshes, [text.get_text() for text in axes.get_xticklabels()] if "cat" in name else [])
        )
        pyplot.close(figure)
    assert repr(figures[0]) == repr(figures[1])


def test_what_has_no_class_of_root_says_so() -> None:
    four = NEW.Reg(2, 0, 1).Reg(2, 0, 1).Reg(2, 0, 1).Reg(2, 0, 1).Double()
    with pytest.raises(errors.MismatchError, match="one to three axes, not 4: project it"):
        stored(four)


def test_bins_may_end_at_infinity(tmp_path: Path) -> None:
    edges = np.array([-np.inf, 0.0, 1.0, np.inf])
    wanted = hist.Hist(hist.axis.Variable(edges)).fill([-5, 0.5, 0.5, 7])
    path = tmp_path / "infinite.root"
    with sapwood.recreate(path) as file:
        file["h"] = wanted
        file["counts"] = (np.array([1.0, 2.0, 3.0]), edges)
    ROOT = pytest.importorskip("ROOT")
    values = [-5.0, 0.5, 0.5, 7.0, np.inf]
    filled = ROOT.TH1D("filled", "", 3, edges)
    for value in values:
        filled.Fill(value)
    with ROOT.TFile(str(path), "update") as file:
        file.WriteObject(filled, "filled")
        read = file.Get("h")
        assert [read.GetBinContent(bin) for bin in range(5)] == [0, 1, 2, 1, 0]
        # ROOT's own mean of the bins is NaN; each value is taken to be in its bin.
        assert read.GetMean() == 0.5
        assert list(read.GetXaxis().GetXbins()) == list(edges)
    total = tmp_path / "sum.root"
    sapwood.merge(total, [path, path])
    with sapwood.open(total) as file:
        assert file["filled"].values(flow=True).tolist() == [0, 2, 4, 2, 2]
        assert file["h"].values().tolist() == [2, 4, 2]
        assert file["h"].to_hist().axes[0].edges.tolist() == wanted.axes[0].edges.tolist()
        assert file["h"].axis().edges().tolist() == list(edges)
    for bad in ([-np.inf, -np.inf, 1.0], [0.0, np.nan, 1.0], [np.inf, np.inf]):
        with pytest.raises(errors.MismatchError, match="must grow"):
            sapwood.recreate(io.BytesIO())["h"] = (np.ones(len(bad) - 1), np.array(bad))
    with pytest.raises(errors.MismatchError, match="finite limits"):
        sapwood.open("examples/data/nano.root")["Events"].draw("Jet_pt", bins=(3, 0, np.inf))
