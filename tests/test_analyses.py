"""Whole analyses of the examples beside RDataFrame: bins, variances, entries, filters and variations."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.rootrun import root

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def example(name: str) -> Any:
    """An example as a module."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def nano(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("adl") / "nano.root"
    toy = example("adl").toy
    with sapwood.recreate(path) as file:
        file["Events"] = toy(6_000, 3)
        file["Events"].extend(toy(6_000, 4))
    return path


#: An example of RDataFrame as a module of the process that runs ROOT.
LOAD = """
import importlib.util
def example(name):
    spec = importlib.util.spec_from_file_location(name, f"{sys.argv[1]}/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
"""
ADL = """
booked = example("adl_rdataframe").book([sys.argv[2]])
answer({name: [[of.GetBinContent(b) for b in range(102)], of.GetEntries()] for name, of in booked.items()})
"""
TTBAR = """
ttbar = example("ttbar_rdataframe")
booked, reports = ttbar.book(sys.argv[2])
found = {}
for name, one in ttbar.histograms(booked).items():
    bins = range(one.GetNbinsX() + 2)
    variances = [one.GetBinError(b) ** 2 for b in bins]
    found[name] = [[one.GetBinContent(b) for b in bins], variances, one.GetEntries()]
cuts = {
    sample: [[cut.GetName(), cut.GetAll(), cut.GetPass()] for cut in report.GetValue()]
    for sample, report in reports.items()
}
answer([found, cuts])
"""


def test_the_queries_of_the_adl_benchmark_are_those_of_rdataframe(nano: Path) -> None:
    results = example("adl").book(f"{nano}:Events")
    sapwood.run(*results.values())
    theirs = root(LOAD + ADL, EXAMPLES, nano)
    assert set(theirs) == set(results)
    for name, (bins, entries) in theirs.items():
        found = results[name].value.values(flow=True)
        assert np.array_equal(found, bins), name
        assert found.sum() == entries and entries > 100, name


@pytest.mark.parametrize("threads", [1, 3])
def test_the_analysis_of_top_quarks_is_that_of_rdataframe(tmp_path: Path, threads: int) -> None:
    """144 histograms: two regions of two observables for three samples, each as it is and in eleven variations."""
    ttbar = example("ttbar")
    results = ttbar.book(ttbar.write_toys(tmp_path, 8_000), threads=threads)
    assert ttbar.save(results, tmp_path / "histograms.root") == 144
    theirs, cuts = root(LOAD + TTBAR, EXAMPLES, tmp_path)
    assert len(theirs) == 144
    with sapwood.open(tmp_path / "histograms.root") as file:
        for name, (bins, variances, entries) in theirs.items():
            found = file[name]
            np.testing.assert_allclose(found.values(flow=True), bins, rtol=1e-13, err_msg=name)
            np.testing.assert_allclose(found.variances(flow=True), variances, rtol=1e-13, err_msg=name)
            assert found.member("fEntries") == entries, name
    for sample, of_sample in results["cuts"].value.items():
        assert [list(cut[:3]) for cut in of_sample] == cuts[sample]
        assert of_sample[0].weights[0] == pytest.approx(
            ttbar.CROSS_SECTIONS[sample] * ttbar.LUMINOSITY, rel=0.02
        )


@pytest.mark.filterwarnings("ignore")
def test_cabinetry_and_pyhf_fit_what_a_frame_wrote(tmp_path: Path) -> None:
    """Templates by the names in the file, and a fit to their own sum: the strength of the signal is 1."""
    cabinetry = pytest.importorskip("cabinetry")
    ttbar = example("ttbar")
    ttbar.save(ttbar.book(ttbar.write_toys(tmp_path, 8_000)), tmp_path / "histograms.root")
    regions, observable = ("4j1b", "4j2b"), "ht"
    with sapwood.update(tmp_path / "histograms.root") as file:
        for region in regions:
            names = [f"{region}_{observable}_{sample}" for sample in ttbar.CROSS_SECTIONS]
            whole = sum(file[name].to_hist() for name in names[1:]) + file[names[0]].to_hist()
            file[f"{region}_{observable}_data"] = whole
    jes = {"Up": {"VariationPath": "_pt_scale_up"}, "Down": {"VariationPath": "_pt_scale_down"}}
    config = {
        "General": {
            "Measurement": "toy",
            "POI": "mu",
            "HistogramFolder": str(tmp_path / "templates"),
            "InputPath": f"{tmp_path}/histograms.root:{{RegionPath}}_{{SamplePath}}{{VariationPath}}",
            "VariationPath": "",
        },
        "Regions": [{"Name": region, "RegionPath": f"{region}_{observable}"} for region in regions],
        "Samples": [
            {"Name": "data", "SamplePath": "data", "Data": True},
            *({"Name": sample, "SamplePath": sample} for sample in ttbar.CROSS_SECTIONS),
        ],
        "Systematics": [{"Name": "jes", "Type": "NormPlusShape", "Samples": "ttbar", **jes}],
        "NormFactors": [{"Name": "mu", "Samples": "ttbar", "Nominal": 1, "Bounds": [0, 5]}],
    }
    cabinetry.templates.collect(config)
    cabinetry.templates.postprocess(config)
    model, data = cabinetry.model_utils.model_and_data(cabinetry.workspace.build(config))
    fitted = cabinetry.fit.fit(model, data)
    strength = dict(zip(fitted.labels, fitted.bestfit, strict=True))["mu"]
    assert strength == pytest.approx(1, abs=0.01)
