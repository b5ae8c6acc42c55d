"""The eight queries of the ADL benchmark in one pass: https://github.com/iris-hep/adl-benchmarks-index.

Run it with ``python examples/adl.py FILE``, where FILE is NanoAOD with a tree or an RNTuple ``Events``. Each
query is a histogram of a frame. All of them read the file once, and what they have in common is computed
once.
"""

from __future__ import annotations

import argparse
from typing import Any

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


def main() -> None:
    """Fills all histograms, and prints what is in them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", help="NanoAOD")
    given = parser.parse_args()
    results = book([f"{file}:Events" for file in given.files])
    sapwood.run(*results.values())
    for name, result in results.items():
        histogram = result.value
        print(
            f"query {name:2}: {histogram.sum(flow=True):12.0f} entries, {histogram.sum():12.0f} in its range"
        )


if __name__ == "__main__":
    main()
