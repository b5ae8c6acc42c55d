"""Queries beside real ROOT and uproot: CPU seconds and ratios, the best of several runs in processes of their own.

Usage: python bench/query/query.py [--entries N] [--runs N]

`draw` is compared with `arrays` of the same columns, which has to build them; aims are in the table's last column.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "data" / "query.root"

#: name, expression with bins, cut, columns that it needs
ROWS = [
    ("the seed sentence", "x>>h(100,-5,5)", "y<0 && sqrt(z)>6", ["x", "y", "z"]),
    ("one column", "x>>h(100,-5,5)", "", ["x"]),
    ("two axes", "y:x>>h(50,-5,5,50,-5,5)", "", ["x", "y"]),
    ("a sum over lists", "Sum$(v)>>h(100,0,200)", "", ["v"]),
    ("items of lists with a cut", "v>>h(100,0,100)", "w>0", ["v", "w"]),
    ("a cut of 0.01 %", "c0+c1+c2+c3>>h(100,-5,5)", "z>370", ["c0", "c1", "c2", "c3", "z"]),
]

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
began = time.process_time()
if what == "draw":
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


def measure(program: str, row: tuple[str, str, str, list[str]], what: str, runs: int) -> float:
    """The least CPU seconds of some runs."""
    _, expression, cut, columns = row
    command = [sys.executable, "-c", program, str(DATA), what, expression, cut, ",".join(columns)]
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
    print(f"{'':28} {'draw':>7} {'arrays':>7} {'uproot':>7} {'ROOT':>7}   draw/arrays  ROOT/draw (aim 3)")
    for row in ROWS:
        draw, arrays = (measure(SAPWOOD, row, what, arguments.runs) for what in ("draw", "arrays"))
        uproot, root = (measure(program, row, "draw", arguments.runs) for program in (UPROOT, ROOT))
        results.append({"row": row[0], "draw": draw, "arrays": arrays, "uproot_arrays": uproot, "root": root})
        print(
            f"{row[0]:28} {draw:7.3f} {arrays:7.3f} {uproot:7.3f} {root:7.3f}   {draw / arrays:11.2f}  {root / draw:.1f}",
            flush=True,
        )
    (HERE / "query.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
