"""The analyses of the examples by arrays and Awkward: peers of frames. Columns are read by the engine, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import awkward as ak
import hist
import numpy as np
import sapwood
import vector

vector.register_awkward()

VECTOR = ["pt", "eta", "phi", "mass"]
#: Cross sections, and the luminosity, of `examples/ttbar.py`.
SAMPLES = {"ttbar": 729.84, "single_top": 70.0, "wjets": 774.35}
LUMINOSITY = 3378.0


def filled(values: Any, low: float = 0, high: float = 200, bins: int = 100) -> Any:
    """A histogram of numbers."""
    return hist.Hist.new.Reg(bins, low, high).Double().fill(values)


def collection(arrays: Any, name: str, *more: str) -> Any:
    """Columns of NanoAOD as vectors."""
    members = {member: arrays[f"{name}_{member}"] for member in [*VECTOR, *more]}
    return ak.zip(members, with_name="Momentum4D")


def columns(*names: str) -> list[str]:
    """The members of collections."""
    return [f"{name}_{member}" for name in names for member in VECTOR]


def query_1(tree: Any) -> list[Any]:
    """Missing momentum."""
    return [filled(tree["MET_pt"].array(library="np"))]


def query_2(tree: Any) -> list[Any]:
    """Momenta of jets."""
    return [filled(ak.flatten(tree["Jet_pt"].array()))]


def query_3(tree: Any) -> list[Any]:
    """Momenta of central jets."""
    arrays = tree.arrays(["Jet_pt", "Jet_eta"])
    return [filled(ak.flatten(arrays.Jet_pt[abs(arrays.Jet_eta) < 1]))]


def query_4(tree: Any) -> list[Any]:
    """Missing momentum with two hard jets."""
    arrays = tree.arrays(["Jet_pt", "MET_pt"])
    return [filled(arrays.MET_pt[ak.sum(arrays.Jet_pt > 40, axis=1) >= 2])]


def query_5(tree: Any) -> list[Any]:
    """Missing momentum with a pair of muons near the Z boson."""
    arrays = tree.arrays(["MET_pt", "Muon_charge", *columns("Muon")], cut="nMuon >= 2")
    one, other = ak.unzip(ak.combinations(collection(arrays, "Muon", "charge"), 2))
    mass = (one + other).mass
    is_z = (mass > 60) & (mass < 120) & (one.charge != other.charge)
    return [filled(arrays.MET_pt[ak.any(is_z, axis=1)])]


def query_6(tree: Any) -> list[Any]:
    """The three jets nearest to the top quark: their momentum, and their largest tag."""
    tag = "btagDeepFlavB"
    arrays = tree.arrays([f"Jet_{tag}", *columns("Jet")], cut="nJet >= 3")
    jets = collection(arrays, "Jet")
    cartesian = {"px": jets.px, "py": jets.py, "pz": jets.pz, "E": jets.E, "tag": arrays[f"Jet_{tag}"]}
    one, two, three = ak.unzip(ak.combinations(ak.zip(cartesian, with_name="Momentum4D"), 3))
    sums = one + two + three
    best = ak.argmin(abs(sums.mass - 172.5), axis=1, keepdims=True)
    tags = np.maximum(one["tag"], np.maximum(two["tag"], three["tag"]))
    return [filled(ak.flatten(sums[best].pt)), filled(ak.flatten(tags[best]), 0, 1)]


def query_7(tree: Any) -> list[Any]:
    """The sum of the momenta of jets far from leptons."""
    arrays = tree.arrays(columns("Jet", "Muon", "Electron"))
    jets, muons, electrons = (collection(arrays, name) for name in ("Jet", "Muon", "Electron"))

    def far(leptons: Any) -> Any:
        jet, lepton = ak.unzip(ak.cartesian([jets, leptons[leptons.pt > 10]], nested=True))
        return ak.all(jet.deltaR(lepton) >= 0.4, axis=2)

    clean = jets[far(muons) & far(electrons) & (jets.pt > 30)]
    return [filled(ak.sum(clean.pt, axis=1))]


def query_8(tree: Any) -> list[Any]:
    """Transverse mass of the hardest lepton next to a pair near the Z boson."""
    charges = ["Muon_charge", "Electron_charge"]
    arrays = tree.arrays(
        ["MET_pt", "MET_phi", *charges, *columns("Muon", "Electron")], cut="nMuon + nElectron >= 3"
    )
    arrays["Muon_flavour"], arrays["Electron_flavour"] = (
        -13 * arrays.Muon_charge,
        -11 * arrays.Electron_charge,
    )
    parts = [collection(arrays, name, "flavour") for name in ("Electron", "Muon")]
    leptons = ak.with_name(ak.concatenate(parts, axis=1), "Momentum4D")
    pairs = ak.argcombinations(leptons, 2, fields=["one", "two"])
    pairs = pairs[leptons.flavour[pairs.one] == -leptons.flavour[pairs.two]]
    mass = (leptons[pairs.one] + leptons[pairs.two]).mass
    pairs = ak.drop_none(pairs[ak.argmin(abs(mass - 91.2), axis=1, keepdims=True)])
    has_pair = ak.num(pairs) > 0
    leptons, pairs = leptons[has_pair], pairs[has_pair][:, 0]
    missing, phi = arrays.MET_pt[has_pair], arrays.MET_phi[has_pair]
    place = ak.local_index(leptons.pt)
    others = leptons[(place != pairs.one) & (place != pairs.two)]
    lead = others[ak.argmax(others.pt, axis=1, keepdims=True)][:, 0]
    return [filled(np.sqrt(2 * lead.pt * missing * (1 - np.cos(lead.phi - phi))))]


QUERIES = {
    "1": query_1,
    "2": query_2,
    "3": query_3,
    "4": query_4,
    "5": query_5,
    "6": query_6,
    "7": query_7,
    "8": query_8,
}


class TopQuarks(sapwood.Selector):
    """The measurement of `examples/ttbar.py` for one sample."""

    columns = (
        "genWeight",
        "MET_pt",
        "Jet_pt",
        "Jet_eta",
        "Jet_btagDeepFlavB",
        "Muon_pt",
        "Muon_eta",
        "Electron_pt",
        "Electron_eta",
    )

    def __init__(self, sample: str, entries: int) -> None:
        self.weight = SAMPLES[sample] * LUMINOSITY / entries

    def process(self, a: Any) -> dict[str, Any]:
        """Histograms of two regions, twelve variations each."""
        found = {}
        leptons = sum(
            ak.sum((a[f"{name}_pt"] > 30) & (abs(a[f"{name}_eta"]) < 2.1), axis=1)
            for name in ("Muon", "Electron")
        )
        a = a[leptons == 1]
        weight = self.weight * a.genWeight
        resolution = 1 + 0.05 * np.sin(1000.0 * ak.values_astype(a.Jet_pt, "f8"))
        for name, scale in (
            ("nominal", 1.0),
            ("scale_up", 1.03),
            ("scale_down", 0.97),
            ("res_up", resolution),
        ):
            pt = a.Jet_pt * scale
            good = (pt > 30) & (abs(a.Jet_eta) < 2.4)
            tagged = ak.sum(good & (a.Jet_btagDeepFlavB > 0.5), axis=1)
            ht = ak.sum(pt[good], axis=1)
            weights = {name: weight}
            if name == "nominal":
                padded = ak.fill_none(ak.pad_none(a.Jet_pt, 4, clip=True), 0)
                for jet in range(4):
                    for tag, sign in (("up", 1), ("down", -1)):
                        weights[f"btag_{jet}_{tag}"] = weight * (1 + sign * 0.075 * padded[:, jet] / 50)
            for region, chosen in (("4j1b", tagged == 1), ("4j2b", tagged >= 2)):
                chosen = chosen & (ak.sum(good, axis=1) >= 4)
                for variation, of in weights.items():
                    hts, missing = hist.Hist.new.Reg(11, 50, 600), hist.Hist.new.Reg(20, 0, 200)
                    found[f"{region}_ht_{variation}"] = hts.Weight().fill(ht[chosen], weight=of[chosen])
                    found[f"{region}_met_{variation}"] = missing.Weight().fill(
                        a.MET_pt[chosen], weight=of[chosen]
                    )
        return found

    def merge(self, one: Any, other: Any) -> Any:
        """Both as one."""
        return {name: one[name] + other[name] for name in one}


def top_quarks(folder: Path) -> int:
    """All histograms of the measurement; their number."""
    from concurrent.futures import ThreadPoolExecutor

    count = 0
    with ThreadPoolExecutor(1) as executor:
        for sample in SAMPLES:
            files = [f"{path}:Events" for path in sorted(folder.glob(f"{sample}_*.root"))]
            entries = sum(number for *_, number in sapwood.num_entries(files))
            count += len(sapwood.process(files, TopQuarks(sample, entries), executor))
    return count
