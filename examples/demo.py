"""The main job on a real file: open, look, read columns, cut, write, and draw a histogram in the terminal.

Run with ``make demo``.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import awkward as ak
import numpy as np
import sapwood

DATA = Path(__file__).parent / "data"


def bars(values: np.ndarray, edges: np.ndarray, width: int = 50) -> None:
    """Draws bin contents as bars."""
    top = values.max() or 1
    for low, high, value in zip(edges, edges[1:], values):
        print(f"  {low:8.2f} to {high:8.2f} | {'#' * round(width * value / top)} {value:g}")


def main() -> None:
    """Shows each step and what it gave."""
    start = time.perf_counter()
    file = sapwood.open(DATA / "nano.root")
    events = file["Events"]
    print(
        f"{file.file_path}\n  keys: {file.keys()}\n  {events.num_entries} events, {len(events.keys())} branches"
    )

    jets = events.arrays(["nJet", "Jet_pt", "Jet_eta"])
    print("\nColumns of any length, as Awkward Arrays:")
    print(
        f"  type: {jets.type}\n  first events: {[[round(pt, 1) for pt in event] for event in ak.to_list(jets['Jet_pt'][:3])]} GeV"
    )

    cut = "(nJet > 2) & (MET_pt > 20)"
    busy = events.arrays(["Jet_pt", "MET_pt"], cut=cut)
    print(f"\nOnly where {cut}: {len(busy)} of {events.num_entries} events")
    print(f"  hardest jet: {ak.max(busy['Jet_pt']):.1f} GeV")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "busy.root"
        with sapwood.recreate(path, compression="zstd:5") as out:
            out["busy"] = busy
        again = sapwood.open(path)["busy"]
        print(
            f"\nWritten as a tree of {path.stat().st_size} bytes that ROOT reads, and read back: {again.typenames()}"
        )

    histogram = sapwood.open(DATA / "histograms.root")["h1d"]
    print(
        f"\nObjects by key: {histogram.classname} {histogram.member('fName')!r}, {histogram.member('fEntries'):g} entries"
    )
    bars(histogram.values(), histogram.axis(0).edges())

    print(f"\nAll in {1000 * (time.perf_counter() - start):.0f} ms, without ROOT. The same from the shell:")
    print(
        f"  .venv/bin/sapwood ls -l {DATA / 'nano.root'}\n  .venv/bin/sapwood scan {DATA / 'nano.root'}:Events nJet Jet_pt"
    )


if __name__ == "__main__":
    main()
