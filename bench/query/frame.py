"""Whole analyses beside RDataFrame and arrays; writes docs/benchmarks/frame.md.

Usage: python -m bench.query.frame [--events N] [--runs N] [--write]

The eight ADL queries and a measurement of top quarks in 144 histograms (`examples/`), equal drawings, and a
filter that few entries pass: seconds of CPU, the best of several runs in separate processes. RDataFrame
compiles its graph while it runs: the second of two passes in one process is without that.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
from pathlib import Path

import sapwood
from bench.support.draw import table

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "bench/data/frame"
PAGE = ROOT / "docs/benchmarks/frame.md"

HEAD = """
import importlib.util, sys, time, warnings
warnings.filterwarnings("ignore")
def example(name):
    spec = importlib.util.spec_from_file_location(name, f"{sys.argv[1]}/examples/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
def timed(work, passes=1):
    for _ in range(passes):
        cpu = time.process_time()
        work()
        print(time.process_time() - cpu)
data, threads = sys.argv[2], int(sys.argv[3])
"""
OURS = HEAD + "import sapwood, hist, awkward\n"
ROOTS = HEAD + "import ROOT\nROOT.gROOT.SetBatch(True)\nif threads > 1: ROOT.EnableImplicitMT(threads)\n"
ADL = (
    OURS
    + """
adl = example("adl")
def one(names):
    results = adl.book(f"{data}/nano.root:Events", threads=threads)
    # Others are not computed, since nobody holds them.
    chosen = [results.pop(name) for name in list(results) if name[0] in names]
    results.clear()
    sapwood.run(*chosen)
timed(lambda: one(NAMES))
"""
)
ADL_ROOT = (
    ROOTS
    + """
adl = example("adl_rdataframe")
def one(names):
    results = adl.book([f"{data}/nano.root"])
    [result.GetEntries() for name, result in results.items() if name[0] in names]
timed(lambda: one(NAMES), 2)
"""
)
TTBAR = (
    OURS
    + """
import glob
ttbar = example("ttbar")
def all_histograms():
    files = {s: [f"{f}:Events" for f in sorted(glob.glob(f"{data}/{s}_*.root"))] for s in ttbar.CROSS_SECTIONS}
    results = ttbar.book(files, threads=threads)
    sapwood.run(*results.values())
timed(all_histograms)
"""
)
TTBAR_ROOT = (
    ROOTS
    + """
ttbar = example("ttbar_rdataframe")
timed(lambda: [h.GetEntries() for h in ttbar.histograms(ttbar.book(data)[0]).values()], 2)
"""
)
EQUAL = (
    OURS
    + """
frame = sapwood.frame(f"{data}/nano.root:Events", threads=threads).define("ht", "Sum$(Jet_pt * (Jet_pt > 30))")
results = [frame.hist("ht", bins=(100, 0, 500)) for _ in range(NUMBER)]
timed(lambda: sapwood.run(*results))
"""
)
RARE = (
    OURS
    + """
frame = sapwood.frame(f"{data}/nano.root:Events", threads=threads).filter("MET_pt > 184")
results = [frame.hist(f"Jet_pt * {number}", bins=(100, 0, 500)) for number in range(50)]
timed(lambda: sapwood.run(*results))
"""
)
RARE_ROOT = (
    ROOTS
    + """
def all_histograms():
    frame = ROOT.RDataFrame("Events", f"{data}/nano.root").Filter("MET_pt > 184")
    booked = [frame.Define(f"v{n}", f"Jet_pt * {n}").Histo1D(("h", "", 100, 0., 500.), f"v{n}") for n in range(50)]
    [one.GetEntries() for one in booked]
timed(all_histograms, 2)
"""
)


def write(events: int) -> None:
    """Writes what does not exist yet."""
    DATA.mkdir(parents=True, exist_ok=True)
    if not (DATA / "nano.root").exists():
        sys.path.insert(0, str(ROOT / "examples"))
        import adl
        import ttbar

        with sapwood.recreate(DATA / "nano.root", compression="zstd:5") as file:
            file["Events"] = adl.toy(events, 1)
        ttbar.write_toys(DATA, events // 6)


def seconds(code: str, threads: int, runs: int) -> list[float]:
    """CPU seconds of each pass, the best of several processes."""
    best: list[float] = []
    for _ in range(runs):
        done = subprocess.run(
            [sys.executable, "-c", code, str(ROOT), str(DATA), str(threads)], capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        found = [float(line) for line in done.stdout.split() if line.replace(".", "").isdigit()]
        best = [min(pair) for pair in zip(best, found, strict=True)] if best else found
    return best


def main() -> None:
    """Measures, prints and, on request, writes the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=500_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    write(given.events)
    rows = []

    def row(name: str, ours: str, theirs: str | None) -> None:
        one = seconds(ours, 1, given.runs)[0]
        peer = seconds(theirs, 1, given.runs) if theirs else []
        ratio = f"{peer[-1] / one:.1f}" if peer else ""
        rows.append(
            [name, f"{one:.3f}", *(f"{of:.3f}" for of in reversed(peer)), *([""] * (2 - len(peer))), ratio]
        )
        print(*rows[-1], sep=" | ", flush=True)

    for query in "12345678":
        names = f"NAMES = {query!r}\n"
        row(f"ADL query {query}", names + ADL, names + ADL_ROOT)
    names = "NAMES = '12345678'\n"
    row("all eight in one pass", names + ADL, names + ADL_ROOT)
    row("144 histograms of top quarks", TTBAR, TTBAR_ROOT)
    for number in (1, 12, 48):
        row(f"{number} equal histograms", f"NUMBER = {number}\n" + EQUAL, None)
    row("50 histograms of 1 % of the events", RARE, RARE_ROOT)
    head = ["", "Sapwood", "RDataFrame", "with compilation", "RDataFrame / Sapwood"]
    words = table(head, rows)
    print(words)
    if given.write:
        page = f"""# Whole analyses beside RDataFrame

Measured on {datetime.date.today():%d %B %Y} by `python -m bench.query.frame --events {given.events} --write`: seconds
of CPU on one thread, the best of {given.runs} runs. *RDataFrame* is its second pass in one process; the first one
compiles the graph.

{words}
"""
        PAGE.write_text(page)


if __name__ == "__main__":
    main()
