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


def events(entries: int, seed: int) -> dict[str, Any]:
    """NanoAOD with leptons and jets, some of them near each other."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        "MET_pt": rng.exponential(40, entries).astype("f4"),
        "MET_phi": rng.uniform(-np.pi, np.pi, entries).astype("f4"),
    }
    for name, mean, mass in (("Muon", 1.3, 0.106), ("Electron", 0.9, 0.0005), ("Jet", 4.0, 12.0)):
        counts = rng.poisson(mean, entries)
        total = int(counts.sum())
        members = {
            "pt": rng.exponential(30, total) + 5,
            "eta": rng.normal(0, 1.2, total),
            "phi": rng.uniform(-np.pi, np.pi, total),
            "mass": np.full(total, mass) if name != "Jet" else rng.exponential(mass, total),
            "btagDeepFlavB": rng.random(total),
        }
        members = {key: of.astype("f4") for key, of in members.items()}
        members["charge"] = rng.choice(np.array([-1, 1], "i4"), total)
        columns[name] = ak.unflatten(ak.zip(members), counts)
    return columns


@pytest.fixture(scope="module")
def nano(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("adl") / "nano.root"
    with sapwood.recreate(path) as file:
        file["Events"] = events(6_000, 3)
        file["Events"].extend(events(6_000, 4))
    return path


ADL = r"""
ROOT.gInterpreter.Declare(r'''
#include <cmath>
#include <vector>
#include "Math/Vector4D.h"
#include "Math/VectorUtil.h"
using F = ROOT::RVecF; using I = ROOT::RVecI; using V = ROOT::Math::PxPyPzEVector;
std::vector<V> vectors(const F &pt, const F &eta, const F &phi, const F &mass) {
    std::vector<V> all;
    for (size_t i = 0; i < pt.size(); ++i)
        all.emplace_back(ROOT::Math::PtEtaPhiMVector(pt[i], eta[i], phi[i], mass[i]));
    return all;
}
bool hasZ(const F &pt, const F &eta, const F &phi, const F &mass, const I &charge) {
    auto p = vectors(pt, eta, phi, mass);
    for (size_t i = 0; i < p.size(); ++i)
        for (size_t k = i + 1; k < p.size(); ++k) {
            double m = (p[i] + p[k]).M();
            if (charge[i] != charge[k] && m > 60 && m < 120) return true;
        }
    return false;
}
std::vector<double> top(const F &pt, const F &eta, const F &phi, const F &mass, const F &b) {
    auto p = vectors(pt, eta, phi, mass);
    double nearest = 1e300, sum = 0, best = 0;
    for (size_t i = 0; i < p.size(); ++i)
        for (size_t j = i + 1; j < p.size(); ++j)
            for (size_t k = j + 1; k < p.size(); ++k) {
                auto all = p[i] + p[j] + p[k];
                double far = std::abs(all.M() - 172.5);
                if (far < nearest) { nearest = far; sum = all.Pt(); best = std::max(b[i], std::max(b[j], b[k])); }
            }
    return {sum, best};
}
double cleanHt(const F &pt, const F &eta, const F &phi, const F &mpt, const F &meta, const F &mphi, const F &ept,
               const F &eeta, const F &ephi) {
    double sum = 0;
    auto near = [](double e1, double p1, const F &pt, const F &eta, const F &phi) {
        for (size_t k = 0; k < pt.size(); ++k) {
            double de = e1 - (double)eta[k], dp = ROOT::VecOps::DeltaPhi((double)phi[k], p1);
            if (pt[k] > 10 && std::sqrt(de * de + dp * dp) < 0.4) return true;
        }
        return false;
    };
    for (size_t i = 0; i < pt.size(); ++i)
        if (pt[i] > 30 && !near(eta[i], phi[i], mpt, meta, mphi) && !near(eta[i], phi[i], ept, eeta, ephi)) sum += pt[i];
    return sum;
}
double transverse(const F &pt, const F &eta, const F &phi, const F &mass, const I &charge, const I &kind, float met,
                  float metphi) {
    auto p = vectors(pt, eta, phi, mass);
    double nearest = 1e300; int a = -1, b = -1, lead = -1;
    for (size_t i = 0; i < p.size(); ++i)
        for (size_t k = i + 1; k < p.size(); ++k) {
            if (charge[i] == charge[k] || kind[i] != kind[k]) continue;
            double far = std::abs((p[i] + p[k]).M() - 91.2);
            if (far < nearest) { nearest = far; a = i; b = k; }
        }
    if (a < 0) return -1;
    for (int i = 0; i < (int)pt.size(); ++i)
        if (i != a && i != b && (lead < 0 || pt[i] > pt[lead])) lead = i;
    return std::sqrt(2. * pt[lead] * met * (1 - std::cos(phi[lead] - metphi)));
}
''')
df = ROOT.RDataFrame("Events", sys.argv[1])
def h(frame, of, low=0.0, high=200.0):
    return frame.Histo1D(("h", "", 100, low, high), of)
jets = "Jet_pt, Jet_eta, Jet_phi, Jet_mass"
tops = df.Filter("nJet >= 3").Define("t", f"top({jets}, Jet_btagDeepFlavB)").Define("tpt", "t[0]").Define("tb", "t[1]")
leptons = df.Filter("nMuon + nElectron >= 3")
for member in ("pt", "eta", "phi", "mass", "charge"):
    leptons = leptons.Define("L_" + member, f"Concatenate(Electron_{member}, Muon_{member})")
leptons = leptons.Define("kind", "Concatenate(I(nElectron, 11), I(nMuon, 13))")
leptons = leptons.Define("mt", "transverse(L_pt, L_eta, L_phi, L_mass, L_charge, kind, MET_pt, MET_phi)")
booked = {
    "1": h(df, "MET_pt"),
    "2": h(df, "Jet_pt"),
    "3": h(df.Define("central", "Jet_pt[abs(Jet_eta) < 1]"), "central"),
    "4": h(df.Filter("Sum(Jet_pt > 40) >= 2"), "MET_pt"),
    "5": h(df.Filter("nMuon >= 2 && hasZ(Muon_pt, Muon_eta, Muon_phi, Muon_mass, Muon_charge)"), "MET_pt"),
    "6a": h(tops, "tpt"),
    "6b": h(tops, "tb", 0.0, 1.0),
    "7": h(df.Define("ht", "cleanHt(Jet_pt, Jet_eta, Jet_phi, Muon_pt, Muon_eta, Muon_phi, Electron_pt, Electron_eta,"
                     " Electron_phi)"), "ht"),
    "8": h(leptons.Filter("mt >= 0"), "mt"),
}
answer({name: [[of.GetBinContent(b) for b in range(102)], of.GetEntries()] for name, of in booked.items()})
"""


def test_the_queries_of_the_adl_benchmark_are_those_of_rdataframe(nano: Path) -> None:
    results = example("adl").book(f"{nano}:Events")
    sapwood.run(*results.values())
    theirs = root(ADL, nano)
    assert set(theirs) == set(results)
    for name, (bins, entries) in theirs.items():
        found = results[name].value.values(flow=True)
        assert np.array_equal(found, bins), name
        assert found.sum() == entries and entries > 100, name


TTBAR = r"""
import glob
ROOT.TH1.SetDefaultSumw2(True)
ROOT.gInterpreter.Declare('''
ROOT::RVecD blurred(const ROOT::RVecF &pt) {
    ROOT::RVecD all;
    for (double one : pt) all.push_back(one * (1 + 0.05 * sin(1000 * one)));
    return all;
}
''')
sections = {"ttbar": 729.84, "single_top": 70.0, "wjets": 774.35}
found, kept, cuts = {}, [], {}
for sample, section in sections.items():
    files = sorted(glob.glob(f"{sys.argv[1]}/{sample}_*.root"))
    df = ROOT.RDataFrame("Events", files)
    count = df.Count().GetValue()
    df = df.Define("pt", "ROOT::RVecD(Jet_pt.begin(), Jet_pt.end())")
    df = df.Define("w", f"{section!r} * 3378.0 / {count} * genWeight")
    df = df.Vary("pt", "ROOT::RVec<ROOT::RVecD>{pt * 1.03, pt * 0.97, blurred(Jet_pt)}",
                 ["scale_up", "scale_down", "res_up"], "pt")
    # As it is: a variation of the weight is not one of the momenta.
    tags = [(jet, tag, sign) for jet in range(4) for tag, sign in (("up", "+"), ("down", "-"))]
    weights = ",".join(f"w * (1 {sign} 0.075 * (Jet_pt.size() > {jet} ? Jet_pt[{jet}] : 0) / 50)" for jet, _, sign in tags)
    df = df.Vary("w", f"ROOT::RVecD{{{weights}}}", [f"{jet}_{tag}" for jet, tag, _ in tags], "btag")
    lepton = "Sum(Muon_pt > 30 && abs(Muon_eta) < 2.1) + Sum(Electron_pt > 30 && abs(Electron_eta) < 2.1)"
    df = df.Filter(f"{lepton} == 1", "one lepton").Define("good", "pt > 30 && abs(Jet_eta) < 2.4")
    df = df.Filter("Sum(good) >= 4", "four jets")
    df = df.Define("nb", "Sum(good && Jet_btagDeepFlavB > 0.5)").Define("ht", "Sum(pt[good])")
    report = df.Report()
    for region, cut in (("4j1b", "nb == 1"), ("4j2b", "nb >= 2")):
        inside = df.Filter(cut)
        for name, of, bins in (("ht", "ht", (11, 50.0, 600.0)), ("met", "MET_pt", (20, 0.0, 200.0))):
            all = ROOT.RDF.Experimental.VariationsFor(inside.Histo1D(("h", "", *bins), of, "w"))
            for key in all.GetKeys():
                one = all[key]
                tail = "" if str(key) == "nominal" else "_" + str(key).replace(":", "_")
                places = range(one.GetNbinsX() + 2)
                found[f"{region}_{name}_{sample}{tail}"] = [
                    [one.GetBinContent(b) for b in places], [one.GetBinError(b) ** 2 for b in places], one.GetEntries()]
    cuts[sample] = [[cut.GetName(), cut.GetAll(), cut.GetPass()] for cut in report.GetValue()]
answer([found, cuts])
"""


@pytest.mark.parametrize("threads", [1, 3])
def test_the_analysis_of_top_quarks_is_that_of_rdataframe(tmp_path: Path, threads: int) -> None:
    """144 histograms: two regions of two observables for three samples, each as it is and in eleven variations."""
    ttbar = example("ttbar")
    results = ttbar.book(ttbar.write_toys(tmp_path, 8_000), threads=threads)
    assert ttbar.save(results, tmp_path / "histograms.root") == 144
    theirs, cuts = root(TTBAR, tmp_path)
    assert len(theirs) == 144
    with sapwood.open(tmp_path / "histograms.root") as file:
        for name, (bins, variances, entries) in theirs.items():
            found = file[name]
            # In RDataFrame weights that vary see the momenta as they are; `len(Jet_pt)` has no other choice.
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
