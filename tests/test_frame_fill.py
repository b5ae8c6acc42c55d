"""Frames that fill histograms of hist, and arrays of several files."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import awkward as ak
import numpy as np
import pytest
import sapwood
from sapwood.errors import MismatchError

from support import frames
from support.frames import small

path = frames.path
arrays = frames.arrays


def test_files_of_different_types_are_not_joined_in_silence(tmp_path):
    numbers = small(tmp_path, "numbers.root", x=[1.0, 2.0])
    lists = small(tmp_path, "lists.root", x=ak.Array([[1.0], [2.0, 3.0]]))
    for library in ["ak", "np"]:
        with pytest.raises(MismatchError, match="different types under one name"):
            sapwood.frame([numbers, lists]).take("x", library=library).value


def test_histograms_of_any_axes_are_filled(path):
    hist = pytest.importorskip("hist")
    empty = hist.Hist.new.IntCat([0, 1, 2]).Reg(10, 0, 100).Reg(4, -5, 5).Variable([0, 20, 200]).Weight()
    frame = sapwood.frame(path, threads=2).filter("met > 5")
    frame = frame.define("kind", "met > 30").vary("jes", {"up": {"jet_pt": "jet_pt * 1.1"}})
    result = frame.fill(empty, "kind", "jet_pt", "jet_eta", "met", weight="2 * met")
    assert empty.sum().value == 0, "the one that was given stays as it is"
    with sapwood.open(path.rpartition(":")[0]) as file:
        arrays = file[path.rpartition(":")[2]].arrays(["met", "jet_pt", "jet_eta"], "met > 5")
    for name, scale in [("nominal", 1.0), ("jes:up", 1.1)]:
        own = empty.copy()
        met = ak.flatten(ak.broadcast_arrays(arrays.met, arrays.jet_pt)[0])
        pt, eta = ak.flatten(arrays.jet_pt) * scale, ak.flatten(arrays.jet_eta)
        own.fill(ak.values_astype(met > 30, int), pt, eta, met, weight=2 * met)
        found = result.variations[name]
        assert found.axes == own.axes
        np.testing.assert_allclose(found.values(flow=True), own.values(flow=True), rtol=1e-6)
        np.testing.assert_allclose(found.variances(flow=True), own.variances(flow=True), rtol=1e-6)


def test_categories_of_texts_are_filled_by_sample_and_by_workers(tmp_path):
    hist = pytest.importorskip("hist")
    files = [
        small(tmp_path, f"{name}.root", x=[1.0, 2.0, 2.5], word=words)
        for name, words in [("a", ["u", "v", "u"]), ("b", ["w", "w", "u"])]
    ]
    empty = hist.Hist.new.StrCat([], growth=True).Reg(3, 0, 3).Int64()
    whole = sapwood.frame(files).fill(empty, "word", "x").value
    assert {word: whole[word, sum] for word in whole.axes[0]} == {"u": 3, "v": 1, "w": 2}
    counts = sapwood.frame(files).fill(empty, "word", "x")
    with ThreadPoolExecutor(2) as executor:
        sapwood.run(counts, executor=executor)
    assert counts.value.values().sum() == 6 and set(counts.value.axes[0]) == {"u", "v", "w"}
    samples = {name: {"files": file, "kind": name} for name, file in zip("ab", files)}
    by_sample = sapwood.frame(samples).fill(hist.Hist.new.StrCat(["a", "b"]).Int64(), "kind").value
    assert {name: found.values().tolist() for name, found in by_sample.items()} == {"a": [3, 0], "b": [0, 3]}


def test_missing_values_are_not_filled(tmp_path):
    hist = pytest.importorskip("hist")
    file = small(tmp_path, v=ak.Array([[1.0, 2.0], [], [0.5]]), w=[1.0, 2.0, 3.0])
    found = sapwood.frame(file).fill(hist.Hist.new.Reg(4, 0, 4).Weight(), "first(v)", weight="w").value
    assert found.values().tolist() == [3, 1, 0, 0]


def test_what_cannot_be_filled_is_refused(path):
    hist = pytest.importorskip("hist")
    frame = sapwood.frame(path)
    with pytest.raises(MismatchError, match="2 axes takes an expression for each, not 1"):
        frame.fill(hist.Hist.new.Reg(2, 0, 1).Reg(2, 0, 1).Double(), "met")
    with pytest.raises(MismatchError, match="hist or boost-histogram is filled"):
        frame.fill([0, 1, 2], "met")
    with pytest.raises(MismatchError, match="holds whole numbers"):
        frame.fill(hist.Hist.new.Reg(2, 0, 1).Int64(), "met", weight="met")
    with pytest.raises(MismatchError, match="broadcast"):
        frame.fill(hist.Hist.new.Reg(2, 0, 1).Reg(2, 0, 1).Double(), "jet_pt", "jet_pt[jet_pt > 40]").value
