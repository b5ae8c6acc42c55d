"""A measurement of top quarks in one pass, after the Analysis Grand Challenge: regions, weights and variations.

Run it with ``python examples/ttbar.py FOLDER``: files of toy events are written there first. ``book`` takes
files of NanoAOD in their place. The histograms go to a file that cabinetry and pyhf fit.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import sapwood

#: Cross sections in picobarn, and the luminosity in inverse picobarn.
CROSS_SECTIONS = {"ttbar": 729.84, "single_top": 70.0, "wjets": 774.35}
LUMINOSITY = 3378.0
REGIONS = {"4j1b": "nb == 1", "4j2b": "nb >= 2"}


def toy(seed: int, events: int, jets: float, hardness: float, b_part: float) -> dict[str, Any]:
    """Events like NanoAOD: leptons, jets with a tag, missing momentum and a weight."""
    rng = np.random.default_rng(seed)

    def collection(mean: float, scale: float, **more: Any) -> Any:
        counts = rng.poisson(mean, events)
        total = int(counts.sum())
        members = {
            "pt": rng.exponential(scale, total) + 15,
            "eta": rng.normal(0, 1.4, total),
            **{name: make(total) for name, make in more.items()},
        }
        return ak.unflatten(ak.zip({name: values.astype("f4") for name, values in members.items()}), counts)

    def tags(total: int) -> Any:
        return np.where(rng.random(total) < b_part, rng.beta(8, 2, total), rng.beta(2, 8, total))

    return {
        "Muon": collection(0.6, 30),
        "Electron": collection(0.5, 30),
        "Jet": collection(jets, hardness, btagDeepFlavB=tags),
        "MET_pt": rng.exponential(45, events).astype("f4"),
        "genWeight": rng.normal(1, 0.1, events).astype("f4"),
    }


def write_toys(folder: Path, events: int) -> dict[str, list[str]]:
    """Files of toy events for each sample."""
    shapes = {"ttbar": (6.0, 45.0, 0.45), "single_top": (4.0, 40.0, 0.3), "wjets": (3.0, 35.0, 0.1)}
    files: dict[str, list[str]] = {}
    for number, (name, shape) in enumerate(shapes.items()):
        for part in range(2):
            path = folder / f"{name}_{part}.root"
            with sapwood.recreate(path) as file:
                file["Events"] = toy(10 * number + part, events, *shape)
            files.setdefault(name, []).append(f"{path}:Events")
    return files


def entries(files: list[str]) -> int:
    """Events of all files."""
    return sum(count for *_, count in sapwood.num_entries(files))


def book(files: dict[str, list[str]], **options: Any) -> dict[str, sapwood.Result]:
    """Histograms of two regions for each sample and variation, which wait for a pass."""
    samples = {
        name: {"files": of, "xsec": CROSS_SECTIONS[name], "n": entries(of)} for name, of in files.items()
    }
    events = sapwood.frame(samples, **options).define("w", f"xsec * {LUMINOSITY} / n * genWeight")
    events = events.vary(
        "pt",
        {
            "scale_up": {"Jet_pt": "Jet_pt * 1.03"},
            "scale_down": {"Jet_pt": "Jet_pt * 0.97"},
            "res_up": {"Jet_pt": "Jet_pt * (1 + 0.05 * sin(1000 * Jet_pt))"},
        },
    )
    tagging = "w * (1 {} 0.075 * (len(Jet_pt) > {} ? Jet_pt[{}] : 0) / 50)"
    events = events.vary(
        "btag",
        {
            f"{jet}_{tag}": {"w": tagging.format(sign, jet, jet)}
            for jet in range(4)
            for tag, sign in (("up", "+"), ("down", "-"))
        },
    )
    leptons = "Sum$(Muon.pt > 30 && abs(Muon.eta) < 2.1) + Sum$(Electron.pt > 30 && abs(Electron.eta) < 2.1)"
    chosen = events.filter(f"{leptons} == 1", "one lepton").define(
        "good", "Jet[Jet.pt > 30 && abs(Jet.eta) < 2.4]"
    )
    chosen = chosen.filter("len(good) >= 4", "four jets")
    chosen = chosen.define("nb", "Sum$(good.btagDeepFlavB > 0.5)").define("ht", "Sum$(good.pt)")
    found = {"cuts": chosen.report(weight="w")}
    for region, cut in REGIONS.items():
        inside = chosen.filter(cut, region)
        found[f"{region}_ht"] = inside.hist("ht", bins=(11, 50, 600), weight="w", library="root")
        found[f"{region}_met"] = inside.hist("MET_pt", bins=(20, 0, 200), weight="w", library="root")
    return found


def save(results: dict[str, sapwood.Result], path: Path) -> int:
    """Writes a histogram for each region, sample and variation, and returns their number."""
    count = 0
    with sapwood.recreate(path) as file:
        for name, result in results.items():
            if name == "cuts":
                continue
            for variation, of_samples in result.variations.items():
                for sample, histogram in of_samples.items():
                    tail = "" if variation == "nominal" else "_" + variation.replace(":", "_")
                    file[f"{name}_{sample}{tail}"] = histogram
                    count += 1
    return count


def main() -> None:
    """Writes toys, computes everything, and prints the filters."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="where toys and histograms are written")
    parser.add_argument("--events", type=int, default=20_000, help="events of each file")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    results = book(write_toys(given.folder, given.events))
    count = save(results, given.folder / "histograms.root")
    for sample, cuts in results["cuts"].value.items():
        print(f"{sample}\n{cuts}\n")
    print(f"{count} histograms in {given.folder / 'histograms.root'}")


if __name__ == "__main__":
    main()
