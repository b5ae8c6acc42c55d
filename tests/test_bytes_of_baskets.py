"""Baskets as bytes: what ROOT wrote, and what uproot says of them."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from support.rootrun import root

sapwood = pytest.importorskip("sapwood")
uproot = pytest.importorskip("uproot")

ROOT_TREE = """
from array import array
file = ROOT.TFile(sys.argv[1], "recreate")
tree = ROOT.TTree("tree", "")
x, n, y = array("i", [0]), array("i", [0]), array("f", [0] * 9)
tree.Branch("x", x, "x/I", 800)
tree.Branch("n", n, "n/I", 800)
tree.Branch("y", y, "y[n]/F", 800)
text = ROOT.std.string()
tree.Branch("text", text)
tree.SetAutoFlush(0)
for i in range(700):
    x[0], n[0] = i, i % 9
    for k in range(n[0]):
        y[k] = i + k
    text.assign("t" * (i % 5))
    tree.Fill()
tree.Write()
file.Close()
"""


def test_baskets_are_those_of_uproot(tmp_path: Path) -> None:
    path = tmp_path / "baskets.root"
    root(ROOT_TREE, path)
    with sapwood.open(path) as file, uproot.open(path) as other:
        for name in ("x", "n", "y", "text"):
            ours, theirs = file["tree"][name], other["tree"][name]
            assert ours.num_baskets == theirs.num_baskets
            assert name == "text" or ours.num_baskets > 2
            for number in range(ours.num_baskets):
                basket, reference = ours.basket(number), theirs.basket(number)
                assert basket.data.tobytes() == reference.data.tobytes()
                starts = reference.byte_offsets
                assert (basket.byte_offsets is None) == (starts is None)
                assert starts is None or basket.byte_offsets.tolist() == starts.tolist()
                assert basket.num_entries == reference.num_entries
                assert basket.entry_start_stop == reference.entry_start_stop
                assert basket.uncompressed_bytes == reference.uncompressed_bytes
                assert basket.compressed_bytes == reference.compressed_bytes
                assert ours.basket_uncompressed_bytes(number) == reference.uncompressed_bytes
                assert basket.is_embedded == reference.is_embedded
                if not basket.is_embedded:
                    key, known = ours.basket_key(number), theirs.basket_key(number)
                    assert (key.fSeekKey, key.fNbytes, key.fKeylen) == (
                        known.fSeekKey,
                        known.fNbytes,
                        known.fKeylen,
                    )
            values = np.concatenate([ours.basket(i).data for i in range(ours.num_baskets)])
            if name == "x":
                assert values.view(">i4").tolist() == list(range(700))


def test_fields_have_no_baskets() -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory, format="rntuple") as file:
        file["n"] = {"x": [1, 2]}
    with sapwood.open(memory) as file, pytest.raises(sapwood.errors.UnsupportedError, match="pages instead"):
        file["n/x"].basket(0)


def test_a_basket_that_is_not_there_or_damaged_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "damaged.root"
    with sapwood.recreate(path, compression="zlib:6") as file:
        file["tree"] = {"x": np.arange(1000)}
    with sapwood.open(path) as file:
        branch = file["tree/x"]
        with pytest.raises(IndexError, match="has 1 baskets"):
            branch.basket(1)
        seek, length = branch.basket_seek(0), branch.basket_compressed_bytes(0)
    content = bytearray(path.read_bytes())
    content[seek + length // 2 : seek + length - 8] = bytes(length - 8 - length // 2)
    with sapwood.open(bytes(content)) as file, pytest.raises(sapwood.SapwoodError, match="basket 0"):
        file["tree/x"].basket(0)


ROOFIT = """
ROOT.RooMsgService.instance().setGlobalKillBelow(ROOT.RooFit.ERROR)
x = ROOT.RooRealVar("x", "x", 0, 10)
slope = ROOT.RooRealVar("slope", "slope", -0.3, -5, 0)
model = ROOT.RooExponential("model", "model", x, slope)
ROOT.RooRandom.randomGenerator().SetSeed(7)
data = model.generate({x}, 2000)
result = model.fitTo(data, Save=True, PrintLevel=-1)
frame = x.frame(Bins=20)
data.plotOn(frame, Name="data")
model.plotOn(frame, Name="curve")
model.plotOn(frame, VisualizeError=(result, 1.0), Name="band")
file = ROOT.TFile(sys.argv[1], "recreate")
for name in ("data", "curve", "band"):
    file.WriteObject(frame.findObject(name), name)
file.Close()
curve, hist = frame.findObject("curve"), frame.findObject("data")
points = [0.5 * i + 0.13 for i in range(19)]
answer({"curve": [curve.interpolate(point) for point in points], "points": points,
        "counts": [hist.GetPointY(i) for i in range(hist.GetN())],
        "low": [hist.GetErrorYlow(i) for i in range(hist.GetN())],
        "high": [hist.GetErrorYhigh(i) for i in range(hist.GetN())]})
"""


def test_plots_of_roofit_become_histograms(tmp_path: Path) -> None:
    pytest.importorskip("boost_histogram")
    path = tmp_path / "roofit.root"
    known = root(ROOFIT, path)
    points = known["points"]
    with sapwood.open(path) as file, uproot.open(path) as other:
        data, curve, band = file["data"], file["curve"], file["band"]
        assert (curve.curve_type, band.curve_type) == ("VALUES", "ERRORS")
        assert curve.interpolate(points) == pytest.approx(known["curve"], rel=1e-6)
        up, down = band.interpolate_asymm_errors(points)
        assert (up > curve.interpolate(points)).all() and (down < curve.interpolate(points)).all()
        theirs = other["band"].interpolate_asymm_errors(np.array(points))
        assert np.allclose(up, theirs[0]) and np.allclose(down, theirs[1])
        made = data.to_boost()
        assert made.axes[0].edges == pytest.approx(np.linspace(0, 10, 21))
        assert made.values().tolist() == known["counts"]
        errors = (np.array(known["low"]) + known["high"]) / 2
        assert made.variances() == pytest.approx(errors**2)
        filled = curve.to_boost(made.axes[0].edges, error_curve=band)
        reference = other["curve"].to_boost(made.axes[0].edges, error_curve=other["band"])
        assert np.allclose(filled.values(), reference.values())
        assert np.allclose(filled.variances(), reference.variances())
        with pytest.raises(sapwood.errors.MismatchError, match="is a band"):
            band.interpolate(points)
        with pytest.raises(sapwood.errors.MismatchError, match="not a band"):
            curve.interpolate_errors(points)


def test_bases_and_classes_of_users() -> None:
    class Track(sapwood.Model):
        def twice(self) -> float:
            return 2 * self.member("fVal")

    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        file["h"] = (np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0, 3.0]))
        file["p"] = sapwood.objects.parameter(1.5)
    with sapwood.open(memory) as file:
        numbers = file["h"].bases[-1]
        assert np.asarray(numbers).tolist() == [0, 1, 2, 3, 0] and len(numbers) == 5 and numbers[1] == 1
        assert type(file["p"]) is not Track
    sapwood.classes["TParameter<double>"] = Track
    try:
        with sapwood.open(memory) as file:
            assert file["p"].twice() == 3.0
    finally:
        del sapwood.classes["TParameter<double>"]


def test_numbers_are_read_into_wider_arrays() -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        file["tree"] = {"i": np.arange(5, dtype="i4"), "f": np.arange(5, dtype="f8")}
    with sapwood.open(memory) as file:
        tree = file["tree"]
        into = np.zeros(5, dtype="i8")
        assert tree["i"].array(tree["i"].interpretation.inplace(into), library="np").base is into
        assert into.tolist() == [0, 1, 2, 3, 4]
        for narrow in ("i2", "f4", "u4"):
            with pytest.raises(TypeError, match="cannot be read into"):
                tree["i"].interpretation.inplace(np.zeros(5, dtype=narrow))
