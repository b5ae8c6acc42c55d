"""Whole analyses beside RDataFrame and arrays; writes docs/benchmarks/frame.md.

Usage: python -m bench.query.frame [--events N] [--runs N] [--write]

The eight ADL queries and a measurement of top quarks in 144 histograms (`examples/`), equal drawings, twenty
variations, a filter that few entries pass, a new file next to histograms, and the time from nothing to the
first number. Seconds of CPU and by the clock, the best of several runs in separate processes. RDataFrame
compiles its graph while it runs: the second of two passes in one process is without that. Awkward is what
one writes with arrays (`bench/query/frame_awkward.py`); the engine reads them.
"""

from __future__ import annotations

import argparse
import datetime
import resource
import subprocess
import sys
import time
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
        cpu, wall = time.process_time(), time.perf_counter()
        work()
        print(time.process_time() - cpu, time.perf_counter() - wall)
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
timed(lambda: one(NAMES), 2)
"""
)
ADL_ROOT = (
    ROOTS
    + """
adl = example("adl_rdataframe")
def one(names):
    results = adl.book([f"{data}/nano.root"])
    chosen = [results.pop(name) for name in list(results) if name[0] in names]
    results.clear()
    [result.GetEntries() for result in chosen]
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
timed(all_histograms, 2)
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
def all_histograms():
    frame = sapwood.frame(f"{data}/nano.root:Events", threads=threads)
    frame = frame.define("ht", "Sum$(Jet_pt * (Jet_pt > 30))")
    sapwood.run(*[frame.hist("ht", bins=(100, 0, 500)) for _ in range(NUMBER)])
timed(all_histograms, 2)
"""
)
RARE = (
    OURS
    + """
def all_histograms():
    frame = sapwood.frame(f"{data}/nano.root:Events", threads=threads).filter("MET_pt > 184")
    sapwood.run(*[frame.hist(f"Jet_pt * {number}", bins=(100, 0, 500)) for number in range(50)])
timed(all_histograms, 2)
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


VARIED = (
    OURS
    + """
def all_histograms():
    shifts = {f"s{n}": {"Jet_pt": f"Jet_pt * {0.9 + 0.01 * n}"} for n in range(20)}
    frame = sapwood.frame(f"{data}/nano.root:Events", threads=threads).vary("jes", shifts)
    ht = frame.define("ht", "Sum$(Jet_pt * (Jet_pt > 30))").filter("ht > 50").hist("ht", bins=(100, 0, 500))
    ht.variations
timed(all_histograms, 2)
"""
)
VARIED_ROOT = (
    ROOTS
    + """
def all_histograms():
    frame = ROOT.RDataFrame("Events", f"{data}/nano.root")
    shifts = ", ".join(f"Jet_pt * {0.9 + 0.01 * n}f" for n in range(20))
    frame = frame.Vary("Jet_pt", f"ROOT::RVec<ROOT::RVecF>{{{shifts}}}", [f"s{n}" for n in range(20)], "jes")
    frame = frame.Define("ht", "Sum(Jet_pt[Jet_pt > 30])").Filter("ht > 50")
    found = ROOT.RDF.Experimental.VariationsFor(frame.Histo1D(("h", "", 100, 0., 500.), "ht"))
    [found[key].GetEntries() for key in found.GetKeys()]
timed(all_histograms, 2)
"""
)
SKIM = (
    OURS
    + """
import os, tempfile
new = os.path.join(tempfile.mkdtemp(), "skim.root")
kept = ["MET_pt", "Muon_pt", "Muon_eta", "Muon_phi", "Muon_mass", "Muon_charge", "Jet_pt"]
def all_results():
    frame = sapwood.frame(f"{data}/nano.root:Events", threads=threads).filter("nMuon >= 2")
    results = [frame.snapshot(new, kept, compression="zstd:5")]
    results += [frame.hist(name, bins=(100, 0, 500)) for name in ("MET_pt", "Muon_pt", "Jet_pt")]
    sapwood.run(*results)
timed(all_results, 2)
"""
)
SKIM_ROOT = (
    ROOTS
    + """
import os, tempfile
new = os.path.join(tempfile.mkdtemp(), "skim.root")
kept = ["MET_pt", "Muon_pt", "Muon_eta", "Muon_phi", "Muon_mass", "Muon_charge", "Jet_pt"]
def all_results():
    frame = ROOT.RDataFrame("Events", f"{data}/nano.root").Filter("nMuon >= 2")
    how = ROOT.RDF.RSnapshotOptions()
    how.fLazy, how.fCompressionAlgorithm, how.fCompressionLevel = True, ROOT.ROOT.RCompressionSetting.EAlgorithm.kZSTD, 5
    booked = [frame.Histo1D(("h", "", 100, 0., 500.), name) for name in ("MET_pt", "Muon_pt", "Jet_pt")]
    written = frame.Snapshot("Events", new, kept, how)
    written.GetValue()
    [one.GetEntries() for one in booked]
timed(all_results, 2)
"""
)
AWKWARD = """
from bench.query import frame_awkward
"""
ADL_AWKWARD = (
    OURS
    + "sys.path.insert(0, sys.argv[1])\n"
    + AWKWARD
    + """
def one(names):
    for name in names:
        # A file for each, so that no array stays from the query before.
        with sapwood.open(f"{data}/nano.root", threads=threads) as file:
            frame_awkward.QUERIES[name](file["Events"])
timed(lambda: one(NAMES), 2)
"""
)
TTBAR_AWKWARD = (
    OURS
    + "sys.path.insert(0, sys.argv[1])\nfrom pathlib import Path\n"
    + AWKWARD
    + "timed(lambda: frame_awkward.top_quarks(Path(data)), 2)\n"
)
FIRST = {
    "Sapwood": """
import sys, sapwood
print(sapwood.frame(f"{sys.argv[2]}/nano.root:Events", threads=1).filter("nMuon >= 2").count().value)
""",
    "RDataFrame": """
import sys, ROOT
print(ROOT.RDataFrame("Events", f"{sys.argv[2]}/nano.root").Filter("nMuon >= 2").Count().GetValue())
""",
    "Awkward": """
import sys, awkward as ak, sapwood
with sapwood.open(f"{sys.argv[2]}/nano.root", threads=1) as file:
    print(ak.sum(file["Events"]["nMuon"].array() >= 2))
""",
}


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


Times = list[tuple[float, float]]


def seconds(code: str, threads: int, runs: int) -> Times:
    """Seconds of CPU and by the clock of each pass, the best of several processes."""
    best: Times = []
    for _ in range(runs):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code, str(ROOT), str(DATA), str(threads)],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        lines = [line.split() for line in done.stdout.splitlines()]
        found = [(float(line[0]), float(line[1])) for line in lines if len(line) == 2]
        best = [(min(a[0], b[0]), min(a[1], b[1])) for a, b in zip(best or found, found, strict=True)]
    return best


def from_nothing(code: str, runs: int) -> tuple[float, float]:
    """Seconds of CPU and by the clock of a whole process, the best of several."""
    found = []
    for _ in range(runs):
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code, str(ROOT), str(DATA)],
            capture_output=True,
            check=True,
        )
        wall = time.perf_counter() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found.append((cpu, wall))
    return min(cpu for cpu, _ in found), min(wall for _, wall in found)


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
    rows, threaded = [], []

    def row(name: str, ours: str, theirs: str | None, arrays: str | None = None) -> None:
        one = seconds(ours, 1, given.runs)[-1][0]
        peer = [cpu for cpu, _ in seconds(theirs, 1, given.runs)] if theirs else []
        by_arrays = seconds(arrays, 1, given.runs)[-1][0] if arrays else None
        cells = [
            f"{one:.3f}",
            "" if by_arrays is None else f"{by_arrays:.3f}",
            *(f"{of:.3f}" for of in reversed(peer)),
            *([""] * (2 - len(peer))),
            "" if by_arrays is None else f"{by_arrays / one:.1f}",
            f"{peer[-1] / one:.1f}" if peer else "",
        ]
        rows.append([name, *cells])
        print(*rows[-1], sep=" | ", flush=True)

    def both(name: str, ours: str, theirs: str) -> None:
        of_programs = []
        for code in (ours, theirs):
            walls = [seconds(code, threads, given.runs)[-1][1] for threads in (1, 2)]
            of_programs += [f"{walls[0]:.3f}", f"{walls[1]:.3f}", f"{walls[0] / walls[1]:.2f}"]
        threaded.append([name, *of_programs])
        print(*threaded[-1], sep=" | ", flush=True)

    for query in "12345678":
        names = f"NAMES = {query!r}\n"
        row(f"ADL query {query}", names + ADL, names + ADL_ROOT, names + ADL_AWKWARD)
    names = "NAMES = '12345678'\n"
    row("all eight in one pass", names + ADL, names + ADL_ROOT, names + ADL_AWKWARD)
    row("144 histograms of top quarks", TTBAR, TTBAR_ROOT, TTBAR_AWKWARD)
    for number in (1, 12, 48):
        row(f"{number} equal histograms", f"NUMBER = {number}\n" + EQUAL, None)
    row("a histogram in 20 variations of its jets", VARIED, VARIED_ROOT)
    row("50 histograms of 1 % of the events", RARE, RARE_ROOT)
    row("three histograms and a new file", SKIM, SKIM_ROOT)
    both("all eight ADL queries in one pass", names + ADL, names + ADL_ROOT)
    both("144 histograms of top quarks", TTBAR, TTBAR_ROOT)
    both("a histogram in 20 variations of its jets", VARIED, VARIED_ROOT)
    both("50 histograms of 1 % of the events", RARE, RARE_ROOT)
    first = []
    for name, code in FIRST.items():
        cpu, wall = from_nothing(code, given.runs)
        first.append([name, f"{wall:.2f}", f"{cpu:.2f}"])
        print(*first[-1], sep=" | ", flush=True)
    head = [
        "",
        "Sapwood",
        "Awkward",
        "RDataFrame",
        "with compilation",
        "Awkward / Sapwood",
        "RDataFrame / Sapwood",
    ]
    of_threads = ["", "Sapwood 1", "2", "gain", "RDataFrame 1", "2", "gain"]
    words = [
        table(head, rows),
        table(of_threads, threaded),
        table(["a count below a filter", "seconds", "of CPU"], first),
    ]
    print(*words, sep="\n\n")
    if given.write:
        PAGE.write_text(f"""# Whole analyses beside RDataFrame and Awkward

Measured on {datetime.date.today():%d %B %Y} by `python -m bench.query.frame --events {given.events} --write`, the best
of {given.runs} runs. Seconds of CPU on one thread, of the second pass in a process: modules are imported, and
*RDataFrame* has compiled the expressions in the first one (*with compilation*). *Awkward* is what one writes with
arrays; the engine reads them, one query after another.

{words[0]}

Seconds by the clock on one thread and on two:

{words[1]}

From nothing (a new process, imports included) to the first number:

{words[2]}
""")


if __name__ == "__main__":
    main()
