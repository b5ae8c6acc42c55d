"""The measurement of ``ttbar.py`` by ROOT's RDataFrame: the same regions, weights and variations."""

from __future__ import annotations

import argparse
import glob
import time
from typing import Any

CODE = """
ROOT::RVecD blurred(const ROOT::RVecF &pt) {
    ROOT::RVecD all;
    for (double one : pt) all.push_back(one * (1 + 0.05 * sin(1000 * one)));
    return all;
}
"""
CROSS_SECTIONS = {"ttbar": 729.84, "single_top": 70.0, "wjets": 774.35}
REGIONS = {"4j1b": "nb == 1", "4j2b": "nb >= 2"}


def book(folder: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Histograms with their variations, and a report of each sample, which wait for a pass."""
    import ROOT  # type: ignore[import-not-found]

    ROOT.TH1.SetDefaultSumw2(True)
    if not hasattr(ROOT, "blurred"):
        ROOT.gInterpreter.Declare(CODE)
    found: dict[str, Any] = {}
    reports: dict[str, Any] = {}
    for sample, section in CROSS_SECTIONS.items():
        df = ROOT.RDataFrame("Events", sorted(glob.glob(f"{folder}/{sample}_*.root")))
        count = df.Count().GetValue()
        df = df.Define("pt", "ROOT::RVecD(Jet_pt.begin(), Jet_pt.end())")
        df = df.Define("w", f"{section!r} * 3378.0 / {count} * genWeight")
        momenta = "ROOT::RVec<ROOT::RVecD>{pt * 1.03, pt * 0.97, blurred(Jet_pt)}"
        df = df.Vary("pt", momenta, ["scale_up", "scale_down", "res_up"], "pt")
        tags = [(jet, tag, sign) for jet in range(4) for tag, sign in (("up", "+"), ("down", "-"))]
        weights = ",".join(
            f"w * (1 {sign} 0.075 * (Jet_pt.size() > {jet} ? Jet_pt[{jet}] : 0) / 50)"
            for jet, _, sign in tags
        )
        df = df.Vary("w", f"ROOT::RVecD{{{weights}}}", [f"{jet}_{tag}" for jet, tag, _ in tags], "btag")
        leptons = (
            "Sum(Muon_pt > 30 && abs(Muon_eta) < 2.1) + Sum(Electron_pt > 30 && abs(Electron_eta) < 2.1)"
        )
        df = df.Filter(f"{leptons} == 1", "one lepton").Define("good", "pt > 30 && abs(Jet_eta) < 2.4")
        df = df.Filter("Sum(good) >= 4", "four jets")
        df = df.Define("nb", "Sum(good && Jet_btagDeepFlavB > 0.5)").Define("ht", "Sum(pt[good])")
        reports[sample] = df.Report()
        for region, cut in REGIONS.items():
            inside = df.Filter(cut)
            for name, of, bins in (("ht", "ht", (11, 50.0, 600.0)), ("met", "MET_pt", (20, 0.0, 200.0))):
                histogram = inside.Histo1D(("h", "", *bins), of, "w")
                found[f"{region}_{name}_{sample}"] = ROOT.RDF.Experimental.VariationsFor(histogram)
    return found, reports


def histograms(found: dict[str, Any]) -> dict[str, Any]:
    """All histograms by name, those of variations as ``NAME_VARIATION_TAG``."""
    return {
        name if str(key) == "nominal" else f"{name}_{str(key).replace(':', '_')}": of[key]
        for name, of in found.items()
        for key in of.GetKeys()
    }


def main() -> None:
    """Fills all histograms, and prints their number."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="the folder that ttbar.py has written")
    given = parser.parse_args()
    began = time.process_time()
    found, _ = book(given.folder)
    print(
        f"{len(histograms(found))} histograms; {time.process_time() - began:.2f} s of CPU, compilation included"
    )


if __name__ == "__main__":
    main()
