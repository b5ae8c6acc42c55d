#!/usr/bin/env python3
"""Steps smaller than clusters: a tree and an RNTuple, whole and in steps, beside uproot: docs/benchmarks/steps.md.

    python -m bench.read.steps [--entries 1000000] [--rounds 5]

Each number is the median of the CPU seconds of all threads of a process that has read the file once before.
Each round opens the file anew, since uproot keeps arrays of what it read.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # NumPy's idle threads would spin, and their CPU time count

from bench.support.draw import table  # noqa: E402
from bench.support.files import DATA  # noqa: E402

FOLDER = DATA / "steps"
TARGET = Path(__file__).resolve().parent.parent.parent / "docs" / "benchmarks" / "steps.md"
#: Entries of a step; none for all at once.
STEPS = [None, 500_000, 100_000, 20_000, 5_000, 1_000]
FORMS = {"tree": "TTree", "rntuple": "RNTuple"}
READERS = ["Sapwood", "uproot"]

MEASURE = """
import json, resource, statistics, sys
import awkward as ak, sapwood, uproot
path, reader, step, rounds = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), int(sys.argv[4])
def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
def read():
    opened = sapwood.open(path, threads=1) if reader == "Sapwood" else uproot.open(path)
    with opened as file:
        steps = file["t"].iterate(step_size=step) if step else [file["t"].arrays()]
        return sum(int(ak.sum(step["n"])) for step in steps)
answer, took = read(), []
for _ in range(rounds):
    before = cpu()
    read()
    took.append(cpu() - before)
print(json.dumps([answer, statistics.median(took)]))
"""


def make(entries: int) -> None:
    """The inputs: ten columns of floats, one of counts and a list, in clusters of half the entries."""
    import awkward as ak
    import numpy as np
    import sapwood

    FOLDER.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(1)
    counts = random.integers(0, 5, entries).astype("i4")
    columns = {f"x{i}": random.normal(size=entries).astype("f4") for i in range(10)}
    columns |= {"n": counts, "list": ak.unflatten(random.normal(size=counts.sum()).astype("f4"), counts)}
    types = {name: "float32" for name in columns} | {"n": "int32", "list": "var * float32"}
    for form in FORMS:
        path = FOLDER / f"{form}_{entries}.root"
        if path.exists():
            continue
        with sapwood.recreate(path, compression="zstd:5") as file:
            if form == "tree":
                made = file.mktree("t", types, auto_flush=entries // 2)
            else:
                made = file.mkrntuple("t", types)
            made.extend(columns)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    said = parser.parse_args()
    make(said.entries)
    rows, answers = [], set()
    for form, label in FORMS.items():
        path = FOLDER / f"{form}_{said.entries}.root"
        for step in STEPS:
            took = {}
            for reader in READERS:
                arguments = [str(path), reader, json.dumps(step), str(said.rounds)]
                command = [sys.executable, "-c", MEASURE, *arguments]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                answer, took[reader] = json.loads(done.stdout)
                answers.add(answer)
                print(form, step, reader, took[reader], flush=True)
            of = f"steps of {step:,}" if step else "whole"
            ratio = took["uproot"] / took["Sapwood"]
            rows.append([f"{label}, {of}", *(f"{took[reader]:.3f}" for reader in READERS), f"{ratio:.3g}"])
    assert len(answers) == 1, answers
    head = ["", *(f"{reader}, CPU s" for reader in READERS), "uproot / Sapwood"]
    TARGET.write_text(f"""# Steps smaller than clusters

Written by `python -m bench.read.steps --entries {said.entries}`, one thread. CPU seconds of reading {said.entries:,} entries of
twelve columns as Awkward Arrays, at once and in steps; median of {said.rounds}, the file opened anew each time. Half of the entries are a
cluster of the tree, all are one of the RNTuple; ZSTD. What a step cuts stays inflated for the next one
([how](../decisions/tree-cache.md)).

{table(head, rows)}
""")
    print(f"wrote {TARGET.name}")


if __name__ == "__main__":
    main()
