"""The eight queries of the ADL benchmark by ROOT's RDataFrame, beside ``adl.py``: what is a loop here is C++."""

from __future__ import annotations

import argparse
import time
from typing import Any

CODE = r"""
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
"""


def histogram(frame: Any, of: str, low: float = 0.0, high: float = 200.0) -> Any:
    """A histogram of a hundred bins."""
    return frame.Histo1D(("h", "", 100, low, high), of)


def book(files: list[str]) -> dict[str, Any]:
    """The histograms of the queries, which wait for a pass."""
    import ROOT  # type: ignore[import-not-found]

    if not hasattr(ROOT, "transverse"):
        ROOT.gInterpreter.Declare(CODE)
    df = ROOT.RDataFrame("Events", files)
    jets = "Jet_pt, Jet_eta, Jet_phi, Jet_mass"
    tops = (
        df.Filter("nJet >= 3")
        .Define("t", f"top({jets}, Jet_btagDeepFlavB)")
        .Define("tpt", "t[0]")
        .Define("tb", "t[1]")
    )
    leptons = df.Filter("nMuon + nElectron >= 3")
    for member in ("pt", "eta", "phi", "mass", "charge"):
        leptons = leptons.Define("L_" + member, f"Concatenate(Electron_{member}, Muon_{member})")
    leptons = leptons.Define("kind", "Concatenate(I(nElectron, 11), I(nMuon, 13))")
    leptons = leptons.Define("mt", "transverse(L_pt, L_eta, L_phi, L_mass, L_charge, kind, MET_pt, MET_phi)")
    return {
        "1": histogram(df, "MET_pt"),
        "2": histogram(df, "Jet_pt"),
        "3": histogram(df.Define("central", "Jet_pt[abs(Jet_eta) < 1]"), "central"),
        "4": histogram(df.Filter("Sum(Jet_pt > 40) >= 2"), "MET_pt"),
        "5": histogram(
            df.Filter("nMuon >= 2 && hasZ(Muon_pt, Muon_eta, Muon_phi, Muon_mass, Muon_charge)"), "MET_pt"
        ),
        "6a": histogram(tops, "tpt"),
        "6b": histogram(tops, "tb", 0.0, 1.0),
        "7": histogram(
            df.Define(
                "ht",
                "cleanHt(Jet_pt, Jet_eta, Jet_phi, Muon_pt, Muon_eta, Muon_phi, Electron_pt, Electron_eta,"
                " Electron_phi)",
            ),
            "ht",
        ),
        "8": histogram(leptons.Filter("mt >= 0"), "mt"),
    }


def main() -> None:
    """Fills all histograms, and prints what is in them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", help="NanoAOD")
    given = parser.parse_args()
    began = time.process_time()
    results = book(given.files)
    for name, result in results.items():
        print(f"query {name:2}: {result.GetEntries():12.0f} entries")
    print(f"{time.process_time() - began:.2f} s of CPU, compilation included")


if __name__ == "__main__":
    main()
