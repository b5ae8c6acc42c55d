"""A dimuon spectrum over many files: look at them, draw, count what is in a peak, and keep what is interesting.

Run it with ``python examples/dimuon.py FOLDER``: files of toy muons are written there first, as a detector
would have seen them; with NanoAOD of your own, leave that step out. Every step is one that a notebook would
have in a cell.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import sapwood

#: What the two muons of an event come from: mass, width as a detector sees it, and the part of events.
RESONANCES = {"J/psi": (3.097, 0.04, 0.15), "Upsilon": (9.46, 0.1, 0.05), "Z": (91.19, 2.5, 0.3)}

#: Two muons of opposite charge, and their mass.
PAIR = "nMuon == 2 && Muon_charge[0] != Muon_charge[1]"
MASS = (
    "sqrt(2 * Muon_pt[0] * Muon_pt[1] * (cosh(Muon_eta[0] - Muon_eta[1]) - cos(Muon_phi[0] - Muon_phi[1])))"
)
FIELDS = ["Muon_pt", "Muon_eta", "Muon_phi", "Muon_charge"]


def toy(rng: np.random.Generator, events: int) -> dict[str, Any]:
    """Events with some muons, of which pairs of opposite charge have the mass of a resonance or any other."""
    counts = rng.choice([0, 1, 2, 3], events, p=[0.2, 0.3, 0.45, 0.05])
    names = ["other", *RESONANCES]
    parts = [1 - sum(part for *_, part in RESONANCES.values()), *(part for *_, part in RESONANCES.values())]
    mass = rng.exponential(30, events) + 2
    for number, kind in enumerate(rng.choice(len(names), events, p=parts)):
        if kind:
            mean, width, _ = RESONANCES[names[kind]]
            mass[number] = rng.normal(mean, width)
    eta = rng.normal(0, 1, (events, 3))
    phi = rng.uniform(-np.pi, np.pi, (events, 3))
    pt = rng.exponential(15, (events, 3)) + 3
    # The second one has the momentum that makes the mass.
    angle = 2 * (np.cosh(eta[:, 0] - eta[:, 1]) - np.cos(phi[:, 0] - phi[:, 1]))
    pt[:, 1] = mass**2 / (pt[:, 0] * angle)
    charge = rng.choice(np.array([-1, 1], "i4"), (events, 3))
    kept = np.arange(3) < counts[:, None]
    columns = {"pt": pt, "eta": eta, "phi": phi}
    fields = {name: values[kept].astype("f4") for name, values in columns.items()}
    # A list of records becomes nMuon, Muon_pt, Muon_eta ...
    muons = ak.unflatten(ak.zip({**fields, "charge": charge[kept]}), counts)
    return {"run": np.repeat(np.int32(1), events), "event": np.arange(events), "Muon": muons}


def write(folder: Path, files: int, events: int) -> None:
    """Step 0: files as an experiment would have them."""
    for number in range(files):
        with sapwood.recreate(folder / f"run{number}.root", compression="zstd:5") as file:
            file["Events"] = toy(np.random.default_rng(number), events)


class Peaks(sapwood.Selector):
    """Counts pairs in the window of each resonance, and finds the heaviest pair: for workers of any kind."""

    columns = ["mass", "event"]
    cut = PAIR
    aliases = {"mass": MASS}

    def process(self, batch: Any) -> Any:
        mass = batch["mass"].to_numpy()
        found = {"pairs": len(mass), "heaviest": float(mass.max(initial=0))}
        for name, (mean, width, _) in RESONANCES.items():
            found[name] = int(np.count_nonzero(abs(mass - mean) < 3 * width))
        return found

    def merge(self, one: Any, other: Any) -> Any:
        joined = {key: one[key] + other[key] for key in one}
        joined["heaviest"] = max(one["heaviest"], other["heaviest"])
        return joined


def main() -> None:
    """All steps, each with what it gave."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--events", type=int, default=50_000, help="events in each file")
    arguments = parser.parse_args()
    arguments.folder.mkdir(exist_ok=True)
    write(arguments.folder, arguments.files, arguments.events)
    files = f"{arguments.folder}/run*.root:Events"

    print("1. What do the first events look like?")
    print(sapwood.scan(files, ["nMuon", *FIELDS[:2]], "nMuon > 1", limit=6, precision=4))

    print("\n2. The spectrum, of all files as one:")
    spectrum = sapwood.draw(files, f"{MASS}>>mass(60, 0, 120)", PAIR, library="root")
    values, edges = spectrum.to_numpy()
    for low, value in zip(edges, values):
        print(f"  {low:5.0f} GeV | {'#' * round(60 * value / values.max())} {value:.0f}")

    print("\n3. What is in the peaks, by workers that share the files:")
    counts = sapwood.process(files, Peaks(), step_size="5 MB")
    for name, count in counts.items():
        print(f"  {name}: {count:.6g}")

    print("\n4. Around the Z alone, as a file of its own, which ROOT opens, too:")
    mean, width, _ = RESONANCES["Z"]
    z = f"{PAIR} && abs(mass - {mean}) < {3 * width}"
    skimmed = arguments.folder / "z.root"
    with sapwood.recreate(skimmed) as out:
        tree = None
        for step in sapwood.iterate(files, ["mass", *FIELDS], z, aliases={"mass": MASS}, step_size="20 MB"):
            if tree is None:
                out["Events"] = step
                tree = out["Events"]
            else:
                tree.extend(step)
        out["mass"] = spectrum
    mass = sapwood.open(skimmed)["Events/mass"].array(library="np")
    print(f"  {len(mass)} events, mean {mass.mean():.2f} GeV, width {mass.std():.2f} GeV")


if __name__ == "__main__":
    main()
