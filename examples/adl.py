"""The eight queries of the ADL benchmark in one pass: https://github.com/iris-hep/adl-benchmarks-index.

Run it with ``python examples/adl.py FILE``, where FILE is NanoAOD with a tree or an RNTuple ``Events``;
``--toy`` writes such a file first. Each query is a histogram of a frame. All of them read the file once, and
what they have in common is computed once.
"""

from __future__ import annotations

import argparse
from typing import Any

import awkward as ak
import numpy as np
import sapwood

#: The member of jets that is large for those of b quarks: NanoAOD has several.
BTAG = "btagDeepFlavB"


def book(files: Any, **options: Any) -> dict[str, sapwood.Result]:
    """The histograms of the queries, which wait for a pass."""
    events = sapwood.frame(files, **options)
    missing = (100, 0, 200)

    # 5: a pair of muons of opposite charge with a mass near that of the Z boson.
    muons = events.filter("nMuon >= 2", "two muons").define("mumu", "pairs(Muon)")
    z = muons.filter(
        "any(mumu.first.charge != mumu.second.charge && mass(mumu) > 60 && mass(mumu) < 120)", "a Z boson"
    )

    # 6: the three jets whose mass is nearest to that of the top quark.
    jets = events.filter("nJet >= 3", "three jets").define("three", "triples(Jet)")
    top = jets.define("top", "three[argmin(abs(mass(three) - 172.5))]")
    best = f"max(top.first.{BTAG}, max(top.second.{BTAG}, top.third.{BTAG}))"

    # 7: jets that are far from muons and electrons.
    clean = events.define(
        "clean",
        "Jet[Jet.pt > 30 && min_deltaR(Jet, Muon[Muon.pt > 10]) >= 0.4"
        " && min_deltaR(Jet, Electron[Electron.pt > 10]) >= 0.4]",
    )

    # 8: two leptons of one flavour and opposite charge, nearest to the Z boson, and the hardest of the
    # others.
    leptons = events.filter("nMuon + nElectron >= 3", "three leptons").define(
        "lepton", "concat(Electron, Muon)"
    )
    leptons = leptons.define("two", "pairs(lepton)")
    leptons = leptons.define(
        "likely", "two[two.first.which == two.second.which && two.first.charge != two.second.charge]"
    )
    leptons = leptons.define("Z", "likely[argmin(abs(mass(likely) - 91.2))]").filter(
        "len(likely) > 0", "a pair"
    )
    leptons = leptons.define(
        "other",
        "lepton[(lepton.which != Z.first.which || lepton.index != Z.first.index)"
        " && (lepton.which != Z.second.which || lepton.index != Z.second.index)]",
    ).define("lead", "other[argmax(other.pt)]")

    return {
        "1": events.hist("MET_pt", bins=missing),
        "2": events.hist("Jet_pt", bins=missing),
        "3": events.hist("Jet[abs(Jet.eta) < 1].pt", bins=missing),
        "4": events.filter("Sum$(Jet.pt > 40) >= 2", "two hard jets").hist("MET_pt", bins=missing),
        "5": z.hist("MET_pt", bins=missing),
        "6a": top.hist("pt(top)", bins=missing),
        "6b": top.hist(best, bins=(100, 0, 1)),
        "7": clean.hist("sum(clean.pt)", bins=missing),
        "8": leptons.hist("sqrt(2 * lead.pt * MET_pt * (1 - cos(lead.phi - MET_phi)))", bins=missing),
    }


def toy(entries: int, seed: int) -> dict[str, Any]:
    """Events with the columns that the queries need, some leptons and jets near each other."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        "MET_pt": rng.exponential(40, entries).astype("f4"),
        "MET_phi": rng.uniform(-np.pi, np.pi, entries).astype("f4"),
    }
    for name, mean, mass in (("Muon", 1.0, 0.106), ("Electron", 0.8, 0.0005), ("Jet", 5.0, 12.0)):
        counts = rng.poisson(mean, entries)
        total = int(counts.sum())
        members = {
            "pt": rng.exponential(30, total) + 5,
            "eta": rng.normal(0, 1.2, total),
            "phi": rng.uniform(-np.pi, np.pi, total),
            "mass": rng.exponential(mass, total) if name == "Jet" else np.full(total, mass),
            BTAG: rng.random(total),
        }
        members = {key: of.astype("f4") for key, of in members.items()}
        members["charge"] = rng.choice(np.array([-1, 1], "i4"), total)
        columns[name] = ak.unflatten(ak.zip(members), counts)
    return columns


def main() -> None:
    """Fills all histograms, and prints what is in them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", help="NanoAOD")
    parser.add_argument("--toy", type=int, metavar="N", help="write N toy events into the files first")
    given = parser.parse_args()
    for number, path in enumerate(given.files if given.toy else []):
        with sapwood.create(path) as file:
            file["Events"] = toy(given.toy, number)
    results = book([f"{file}:Events" for file in given.files])
    sapwood.run(*results.values())
    for name, result in results.items():
        histogram = result.value
        print(
            f"query {name:2}: {histogram.sum(flow=True).value:12.0f} entries, {histogram.sum().value:12.0f} in its range"
        )


if __name__ == "__main__":
    main()
