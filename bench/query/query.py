"""Queries beside the limit, real ROOT and uproot; writes docs/benchmarks/queries.md.

Usage: python -m bench.query.query [--entries N] [--runs N] [--only PART_OF_A_NAME]

CPU seconds on one thread, and seconds by the clock on two, the best of several runs in processes of their
own. The limit (`bench/limit`) inflates and swaps the columns that a row needs into memory that is there
already.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from bench.query import data, page
from bench.read.run import build_limit
from bench.support.index import write_index

HERE = Path(__file__).resolve().parent
EIGHT = [f"c{n}" for n in range(8)]
SUM = "+".join(EIGHT)
MASS = "sqrt(2*Muon_pt[0]*Muon_pt[1]*(cosh(Muon_eta[0]-Muon_eta[1])-cos(Muon_phi[0]-Muon_phi[1])))"
PAIR = "nMuon==2 && Muon_charge[0]!=Muon_charge[1]"
BINS = '("h", "", 100, -5, 5)'


class Row(NamedTuple):
    """What is drawn, the columns that it needs, and the same for RDataFrame."""

    name: str
    expression: str
    cut: str
    columns: list[str]
    frame: str
    path: Path = data.FLAT
    tree: str = "t"


def thin(cut: str, column: str, words: str) -> Row:
    """Eight columns behind a cut that keeps little."""
    frame = f'frame.Filter("{cut}").Define("s", "{SUM}").Histo1D(("h", "", 100, -20, 20), "s")'
    return Row(words, f"{SUM}>>h(100,-20,20)", cut, [column, *EIGHT], frame)


ROWS = [
    Row("`x`", "x>>h(100,-5,5)", "", ["x"], f'frame.Histo1D({BINS}, "x")'),
    Row(
        "`x`, cut `y<0 && sqrt(z)>6`", "x>>h(100,-5,5)", "y<0 && sqrt(z)>6", ["x", "y", "z"],
        f'frame.Filter("y<0 && sqrt(z)>6").Histo1D({BINS}, "x")',
    ),
    Row(
        "`y:x`", "y:x>>h(50,-5,5,50,-5,5)", "", ["x", "y"],
        'frame.Histo2D(("h", "", 50, -5, 5, 50, -5, 5), "x", "y")',
    ),
    Row(
        "`Sum$(v)`", "Sum$(v)>>h(100,0,200)", "", ["v"],
        'frame.Define("s", "ROOT::VecOps::Sum(v)").Histo1D(("h", "", 100, 0, 200), "s")',
    ),
    Row(
        "`v`, cut `w>0`", "v>>h(100,0,100)", "w>0", ["v", "w"],
        'frame.Define("k", "v[w>0]").Histo1D(("h", "", 100, 0, 100), "k")',
    ),
    Row(
        "mass of two muons of opposite charge", f"{MASS}>>h(100,0,200)", PAIR,
        ["Muon_pt", "Muon_eta", "Muon_phi", "Muon_charge"],
        f'frame.Filter("{PAIR}").Define("m", "{MASS}").Histo1D(("h", "", 100, 0, 200), "m")',
        data.MUONS, "Events",
    ),
    thin("random<0.01", "random", "8 columns, 1 % at random"),
    thin("random<0.0001", "random", "8 columns, 0.01 % at random"),
    thin("place>0.5 && place<0.51", "place", "8 columns, 1 % together"),
    thin("place>0.5 && place<0.5001", "place", "8 columns, 0.01 % together"),
]  # fmt: skip

SAPWOOD = """
import sys, time, awkward, sapwood
path, tree, what, threads, expression, cut, columns = sys.argv[1:8]
tree = sapwood.open(path, threads=int(threads))[tree]
words = [(f"{name}>>h{n}(100,-5,5)", "") for n, name in enumerate(columns.split(","))]
run = {
    "arrays": lambda: tree.arrays(columns.split(",")),
    "many": lambda: tree.draw_many(words, library="root"),
}.get(what, lambda: tree.draw(expression, cut, library="root"))
if what == "again":
    run()
cpu, wall = time.process_time(), time.perf_counter()
run()
print(time.process_time() - cpu, time.perf_counter() - wall)
"""

UPROOT = """
import sys, time, uproot
path, tree, _, _, _, _, columns = sys.argv[1:8]
tree = uproot.open(path)[tree]
cpu, wall = time.process_time(), time.perf_counter()
tree.arrays(columns.split(","))
print(time.process_time() - cpu, time.perf_counter() - wall)
"""

ROOT = """
import sys, time, ROOT
path, tree, what, _, expression, cut, columns = sys.argv[1:8]
ROOT.gROOT.SetBatch(True)
file = ROOT.TFile(path)
tree = file.Get(tree)
tree.Draw(expression, cut, "goff", 10)
cpu, wall = time.process_time(), time.perf_counter()
for words in [f"{name}>>h(100,-5,5)" for name in columns.split(",")] if what == "many" else [expression]:
    tree.Draw(words, cut, "goff")
print(time.process_time() - cpu, time.perf_counter() - wall)
"""

#: Compiled in a first run, which is not measured.
FRAME = """
import sys, time, ROOT
path, tree, what, threads, expression, cut, columns = sys.argv[1:8]
if threads != "1":
    ROOT.EnableImplicitMT(int(threads))
for run in range(2):
    frame = ROOT.RDataFrame(tree, path)
    cpu, wall = time.process_time(), time.perf_counter()
    if what == "many":
        drawn = [frame.Histo1D(("h", "", 100, -5, 5), name) for name in columns.split(",")]
    else:
        drawn = [eval(expression)]
    for one in drawn:
        one.GetEntries()
    took = time.process_time() - cpu, time.perf_counter() - wall
print(*took)
"""

CHAIN = {
    "sapwood": """
import sys, time, sapwood
cpu, wall = time.process_time(), time.perf_counter()
drawn = sapwood.draw(sys.argv[1] + "/*.root:t", "x>>h(100,-5,5)", "y>0", library="root", threads=1)
print(time.process_time() - cpu, time.perf_counter() - wall)
""",
    "root": """
import sys, time, ROOT
ROOT.gROOT.SetBatch(True)
first = ROOT.TChain("t")
first.Add(sys.argv[1] + "/0000.root")
first.Draw("x>>h(100,-5,5)", "y>0", "goff")
cpu, wall = time.process_time(), time.perf_counter()
chain = ROOT.TChain("t")
chain.Add(sys.argv[1] + "/*.root")
chain.Draw("x>>h(100,-5,5)", "y>0", "goff")
print(time.process_time() - cpu, time.perf_counter() - wall)
""",
}

#: A packet for each unit, whose selector does nothing: what is left is what a packet costs.
PACKETS = """
import sys, time, sapwood
from distributed import Client, LocalCluster
from sapwood._tools import packets

class Nothing(sapwood.Selector):
    columns = ["x"]
    def process(self, batch):
        return 1

if __name__ == "__main__":
    packets.SECONDS = 0.0
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            sapwood.process(sys.argv[1] + "/000?.root:t", Nothing(), client)
            cpu, wall = time.process_time(), time.perf_counter()
            units = sapwood.process(sys.argv[1] + "/0*.root:t", Nothing(), client)
            print((time.process_time() - cpu) / units, (time.perf_counter() - wall) / units)
"""


def run(program: str, *arguments: object, runs: int) -> dict[str, float]:
    """The least seconds of some runs: of CPU and by the clock."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    found = []
    for _ in range(runs):
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-3000:])
        found.append([float(one) for one in done.stdout.split()[-2:]])
    return {"cpu": min(cpu for cpu, _ in found), "wall": min(wall for _, wall in found)}


def limit(program: Path, row: Row, threads: int, runs: int) -> dict[str, float]:
    """Inflating and swapping the columns of a row, into memory that is there already."""
    index = row.path.with_suffix(".index")
    if not index.exists():
        write_index(row.path, row.tree)
    words = ["--memory", "reused", "--repeat", str(runs + 2), "--threads", str(threads)]
    command = [str(program), str(index), *words, "--columns", ",".join(row.columns)]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {"cpu": min(found["cpu"]), "wall": min(found["wall"])}


def measure(row: Row, program: Path, runs: int) -> dict[str, Any]:
    """One row: all programs on one thread, and on two those that can."""

    def of(
        code: str, what: str = "draw", threads: int = 1, expression: str = row.expression
    ) -> dict[str, float]:
        arguments = (row.path, row.tree, what, threads, expression, row.cut, ",".join(row.columns))
        return run(code, *arguments, runs=runs)

    what = "many" if row.name == page.MANY else "draw"
    return {
        "row": row.name,
        "draw": of(SAPWOOD, what),
        "again": of(SAPWOOD, "again") if what == "draw" else None,
        "arrays": of(SAPWOOD, "arrays"),
        "limit": limit(program, row, 1, runs),
        "uproot": of(UPROOT),
        "root": of(ROOT, what),
        "rdf": of(FRAME, what, 1, row.frame),
        "draw2": of(SAPWOOD, what, 2),
        "limit2": limit(program, row, 2, runs),
        "rdf2": of(FRAME, what, 2, row.frame),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, default=4_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="", help="only rows whose names have this; writes no page")
    arguments = parser.parse_args()
    data.write(arguments.entries)
    program = build_limit()
    ten = ["x", "y", *EIGHT]
    rows = [*ROWS, Row(page.MANY, "x", "", ten, "")]
    found: dict[str, Any] = {"entries": arguments.entries, "runs": arguments.runs, "rows": []}
    if not arguments.only:
        found["chain"] = {name: run(code, data.SMALL, runs=arguments.runs) for name, code in CHAIN.items()}
        found["packet"] = run(PACKETS, data.SMALL, runs=arguments.runs)
        print(found, flush=True)
    for row in rows:
        if arguments.only in row.name:
            found["rows"].append(measure(row, program, arguments.runs))
            print(page.line(found["rows"][-1]), flush=True)
            if not arguments.only:
                # After each row: all of them take half an hour.
                (HERE / "query.json").write_text(json.dumps(found, indent=1) + "\n")
                page.write(found)


if __name__ == "__main__":
    main()
