"""Queries beside real ROOT and uproot: CPU seconds and ratios, the best of several runs in processes of their own.

Usage: python bench/query/query.py [--entries N] [--runs N]

`draw` is compared with `arrays` of the same columns, which has to build them. *again* is a second drawing in
one process, whose memory is there already.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "data" / "query.root"

#: name, expression with bins, cut, columns that it needs, the same for RDataFrame
ROWS = [
    (
        "the seed sentence", "x>>h(100,-5,5)", "y<0 && sqrt(z)>6", ["x", "y", "z"],
        'frame.Filter("y<0 && sqrt(z)>6").Histo1D(("h", "", 100, -5, 5), "x")',
    ),
    ("one column", "x>>h(100,-5,5)", "", ["x"], 'frame.Histo1D(("h", "", 100, -5, 5), "x")'),
    (
        "two axes", "y:x>>h(50,-5,5,50,-5,5)", "", ["x", "y"],
        'frame.Histo2D(("h", "", 50, -5, 5, 50, -5, 5), "x", "y")',
    ),
    (
        "a sum over lists", "Sum$(v)>>h(100,0,200)", "", ["v"],
        'frame.Define("s", "ROOT::VecOps::Sum(v)").Histo1D(("h", "", 100, 0, 200), "s")',
    ),
    (
        "items of lists with a cut", "v>>h(100,0,100)", "w>0", ["v", "w"],
        'frame.Define("k", "v[w>0]").Histo1D(("h", "", 100, 0, 100), "k")',
    ),
    (
        "a cut of 0.01 %", "c0+c1+c2+c3>>h(100,-5,5)", "z>370", ["c0", "c1", "c2", "c3", "z"],
        'frame.Filter("z>370").Define("s", "c0+c1+c2+c3").Histo1D(("h", "", 100, -5, 5), "s")',
    ),
]  # fmt: skip

WRITE = """
import sys, numpy as np, awkward as ak, sapwood
entries = int(sys.argv[2])
rng = np.random.default_rng(1)
with sapwood.recreate(sys.argv[1], compression="zstd:5") as file:
    tree = None
    for start in range(0, entries, 500_000):
        rows = min(500_000, entries - start)
        columns = {name: np.round(rng.normal(0, 1, rows), 3).astype("f4") for name in ["x", "y", *(f"c{n}" for n in range(8))]}
        columns["z"] = np.round(rng.exponential(40, rows), 2)
        counts = rng.poisson(3, rows)
        columns["v"] = ak.unflatten(np.round(rng.exponential(20, counts.sum()), 2).astype("f4"), counts)
        columns["w"] = ak.unflatten(np.round(rng.normal(0, 1, counts.sum()), 2).astype("f4"), counts)
        if tree is None:
            file["t"] = columns
            tree = file["t"]
        else:
            tree.extend(columns)
"""

SAPWOOD = """
import sys, time, awkward, sapwood
path, what, expression, cut, columns = sys.argv[1:6]
tree = sapwood.open(path, threads=1)["t"]
if what == "again":
    tree.draw(expression, cut, library="root")
began = time.process_time()
if what != "arrays":
    tree.draw(expression, cut, library="root")
else:
    tree.arrays(columns.split(","))
print(time.process_time() - began)
"""

UPROOT = """
import sys, time, uproot, numpy as np
path, _, expression, cut, columns = sys.argv[1:6]
tree = uproot.open(path)["t"]
began = time.process_time()
tree.arrays(columns.split(","))
print(time.process_time() - began)
"""

ROOT = """
import sys, time, ROOT
path, what, expression, cut, columns = sys.argv[1:6]
ROOT.gROOT.SetBatch(True)
file = ROOT.TFile(path)
tree = file.Get("t")
tree.Draw(expression, cut, "goff", 10)
began = time.process_time()
tree.Draw(expression, cut, "goff")
print(time.process_time() - began)
"""

#: Compiled in a first run, which is not measured.
FRAME = """
import sys, time, ROOT
path, _, code = sys.argv[1:4]
for run in range(2):
    frame = ROOT.RDataFrame("t", path)
    began = time.process_time()
    eval(code).GetEntries()
    took = time.process_time() - began
print(took)
"""


def measure(program: str, row: tuple[str, str, str, list[str], str], what: str, runs: int) -> float:
    """The least CPU seconds of some runs."""
    _, expression, cut, columns, frame = row
    arguments = [frame] if program == FRAME else [expression, cut, ",".join(columns)]
    command = [sys.executable, "-c", program, str(DATA), what, *arguments]
    found = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(runs)]
    return min(float(one.split()[-1]) for one in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, default=4_000_000)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    if not DATA.exists():
        DATA.parent.mkdir(exist_ok=True)
        subprocess.run([sys.executable, "-c", WRITE, str(DATA), str(arguments.entries)], check=True)
    results = []
    head = "".join(f" {name:>7}" for name in ("draw", "again", "arrays", "uproot", "ROOT", "RDF"))
    print(f"{'':28}{head}   draw/arrays  ROOT/draw  RDF/draw (aims 1, 3, 3)")
    for row in ROWS:
        draw, again, arrays = (
            measure(SAPWOOD, row, what, arguments.runs) for what in ("draw", "again", "arrays")
        )
        uproot, root, frame = (
            measure(program, row, "draw", arguments.runs) for program in (UPROOT, ROOT, FRAME)
        )
        found = {
            "draw": draw,
            "again": again,
            "arrays": arrays,
            "uproot_arrays": uproot,
            "root": root,
            "rdf": frame,
        }
        results.append({"row": row[0], **found})
        print(
            f"{row[0]:28}" + "".join(f" {seconds:7.3f}" for seconds in found.values()),
            f"  {draw / arrays:11.2f}  {root / draw:9.1f} {frame / draw:9.1f}",
            flush=True,
        )
    (HERE / "query.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
