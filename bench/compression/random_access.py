"""Random access compression: the tables of the 2017 paper with its three kinds of events, beside real ROOT and uproot.

    python -m bench.compression.random_access [--scale 0.05] [--runs 3]

The paper fills 100,000,000 tiny events, 1,000,000 small and 1,000 large ones; `--scale` says how many of them
here. Each figure is the least of several runs in processes of their own. A cold cache is one from which the
system was asked to drop the file. Draws docs/benchmarks/random-access.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

from bench.support.draw import table
from bench.support.files import DATA, HERE

KINDS = {"TFloat": (6, 100_000_000), "TSmall": (1_000, 1_000_000), "TLarge": (1_000_000, 1_000)}
"""Numbers of an event, and how many events the paper has."""

MODES = {"whole": None, "each event": 1, "auto": "auto"}
CODEC, BASKET_BYTES = "zlib:6", 64_000
"""Those of the paper."""

OTHERS = [("zlib:6", 512_000), ("lz4:4", 64_000), ("lz4:4", 512_000), ("zstd:5", 64_000), ("zstd:5", 512_000)]
"""Other codecs and baskets, of which only *auto* is compared with *whole*."""

READ = 1_000
PAPER = {
    "TFloat": {"size": 2.88, "random": 0.840 / 3.980, "sequential": 91.660 / 94.507},
    "TSmall": {"size": 1.10, "random": 0.287 / 1.363, "sequential": 3.577 / 10.907},
    "TLarge": {"size": 1.00, "random": 1.007 / 0.970, "sequential": 9.520 / 9.440},
}
"""What one event a block costs in the paper, as ratios to baskets that are compressed whole: CPU with a hot cache."""

WRITE = """
import json, sys, time
import numpy as np, sapwood
path, codec, numbers, events, mode, basket_bytes = *sys.argv[1:3], *map(json.loads, sys.argv[3:])
rng, step = np.random.default_rng(1), max(1, 4_000_000 // numbers)
spent = 0.0
with sapwood.recreate(path, compression=codec, threads=1, random_access=mode) as file:
    tree = file.mktree("t", {"event": np.dtype(("f4", (numbers,)))}, basket_bytes=basket_bytes)
    for start in range(0, events, step):
        rows = min(step, events - start)
        # Numbers that repeat six times.
        values = np.repeat(rng.random(-(-rows * numbers // 6), dtype="f4"), 6)[: rows * numbers]
        began = time.process_time()
        tree.extend({"event": values.reshape(rows, numbers)})
        spent += time.process_time() - began
    began = time.process_time()
print(json.dumps([spent + time.process_time() - began]))
"""

READERS = {
    "sapwood": """
import sapwood
tree = sapwood.open(path, threads=1)["t"]
rows = tree.rows()
def one(entry):
    return rows[entry]["event"]
def all_of_them():
    for _ in tree.iterate(["event"], library="np", step_size="50 MB"):
        pass
""",
    "sapwood, one call": """
import sapwood
tree = sapwood.open(path, threads=1)["t"]
def many(entries):
    tree.arrays(["event"], entries=entries, library="np")
""",
    "ROOT": """
import ROOT
file = ROOT.TFile(path)
tree = file.Get("t")
branch = tree.GetBranch("event")
tree.SetCacheSize(0)
ROOT.gInterpreter.Declare("void one_of(TBranch *b, Long64_t e) { b->GetEntry(e); }"
                          "void all_of(TBranch *b) { for (Long64_t e = 0; e < b->GetEntries(); ++e) b->GetEntry(e); }")
def one(entry):
    ROOT.one_of(branch, entry)
def all_of_them():
    ROOT.all_of(branch)
""",
    "uproot": """
import uproot
branch = uproot.open(path)["t/event"]
def one(entry):
    branch.array(entry_start=entry, entry_stop=entry + 1, library="np")
""",
}
MEASURE = """
import json, os, random, sys, time, warnings
warnings.simplefilter("ignore")
path, what, wanted, is_cold = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), sys.argv[4] == "cold"
{reader}
entries = random.Random(7).sample(range(wanted[0]), wanted[1])
if what == "random" and "one" in globals():
    one(entries[0])  # opens and describes what is read
if is_cold:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
wall, cpu = time.perf_counter(), time.process_time()
if what == "all":
    all_of_them()
elif "many" in globals():
    many(sorted(entries))
else:
    for entry in entries[1:]:
        one(entry)
print(json.dumps([time.process_time() - cpu, time.perf_counter() - wall]))
"""


def run(script: str, *arguments: object) -> list[float]:
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    answer: list[float] = json.loads(done.stdout.splitlines()[-1])
    return answer


def best(runs: int, script: str, *arguments: object) -> list[float]:
    """The least CPU, and the least time."""
    answers = [run(script, *arguments) for _ in range(runs)]
    return [min(column) for column in zip(*answers)]


def figures(
    kind: str, events: int, mode: str, codec: str, basket_bytes: int, runs: int, is_short: bool
) -> dict[str, Any]:
    """What one file costs."""
    folder = DATA / "random_access"
    folder.mkdir(parents=True, exist_ok=True)
    path, numbers = folder / f"{kind}.root", KINDS[kind][0]
    row: dict[str, Any] = {"events": events, "raw": 4 * numbers * events}
    row["write"] = best(runs, WRITE, path, codec, numbers, events, json.dumps(MODES[mode]), basket_bytes)[0]
    row["bytes"] = path.stat().st_size
    wanted = json.dumps([events, min(READ, events)])
    for reader, code in READERS.items():
        script = MEASURE.replace("{reader}", code)
        for cache in ("hot", "cold"):
            if is_short and (cache == "cold" or reader == "uproot"):
                continue
            cpu, wall = best(runs if cache == "hot" else 1, script, path, "random", wanted, cache)
            each = min(READ, events) - (reader != "sapwood, one call")
            row[f"random {cache}, {reader}"] = [1e6 * cpu / each, 1e6 * wall / each]
        if "all_of_them" in code:
            row[f"all, {reader}"] = best(runs, script, path, "all", wanted, "hot")
    path.unlink()
    return row


def measure(scale: float, runs: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for kind, (_, events) in KINDS.items():
        events = max(20, int(events * scale))
        for mode in MODES:
            found[f"{kind} {mode}"] = figures(kind, events, mode, CODEC, BASKET_BYTES, runs, False)
            print(kind, mode, json.dumps(found[f"{kind} {mode}"]), flush=True)
        for codec, basket_bytes in OTHERS if kind != "TLarge" else []:
            for mode in ("whole", "auto"):
                name = f"{kind} {codec} {basket_bytes} {mode}"
                found[name] = figures(kind, events, mode, codec, basket_bytes, runs, True)
                print(name, json.dumps(found[name]), flush=True)
    return found


def draw(found: dict[str, Any], scale: float) -> str:
    """The page."""
    ratios, random_rows, others = [], [], []
    for kind in KINDS:
        whole = found[f"{kind} whole"]
        for mode in MODES:
            row = found[f"{kind} {mode}"]
            random_cpu = row["random hot, sapwood"][0] / whole["random hot, sapwood"][0]
            together = row["random hot, sapwood, one call"][0] / whole["random hot, sapwood, one call"][0]
            ours, root = (row[f"all, {x}"][0] / whole[f"all, {x}"][0] for x in ("sapwood", "ROOT"))
            paper = PAPER[kind] if mode == "each event" else {}
            said = [f"{paper[x]:.2f}" if paper else "" for x in ("size", "random", "sequential")]
            ratios.append(
                [
                    f"{kind}, {mode}",
                    f"{row['raw'] / row['bytes']:.2f}",
                    f"{row['bytes'] / whole['bytes']:.3f}",
                    said[0],
                ]
                + [f"{row['write'] / whole['write']:.2f}", f"{random_cpu:.3f}", f"{together:.3f}", said[1]]
                + [f"{ours:.2f}", f"{root:.2f}", said[2]]
            )
            hot = [row[f"random hot, {reader}"][0] for reader in READERS]
            cold = [row[f"random cold, {reader}"][1] for reader in READERS]
            random_rows.append([f"{kind}, {mode}", *(f"{x:,.1f}" for x in hot), *(f"{x:,.1f}" for x in cold)])
        auto = found[f"{kind} auto"]["random hot, sapwood"][0]
        others.append(
            [
                kind,
                f"{whole['random hot, ROOT'][0] / auto:.1f}",
                f"{whole['random hot, uproot'][0] / auto:.1f}",
            ]
        )
    further = []
    for kind in ("TFloat", "TSmall"):
        for codec, basket_bytes in OTHERS:
            whole, auto = (found[f"{kind} {codec} {basket_bytes} {mode}"] for mode in ("whole", "auto"))
            ratio = [auto[x][0] / whole[x][0] for x in ("random hot, sapwood", "all, sapwood", "all, ROOT")]
            further.append(
                [f"{kind}, {codec}, {basket_bytes // 1000} kB", f"{auto['bytes'] / whole['bytes']:.3f}"]
                + [f"{auto['write'] / whole['write']:.2f}", *(f"{x:.2f}" for x in ratio)]
                + [f"{auto['random hot, sapwood'][0]:.1f}", f"{whole['random hot, ROOT'][0]:.1f}"]
            )
    entry = [
        found[f"{kind} auto"]["random hot, sapwood"][0] / found[f"{kind} whole"]["random hot, sapwood"][0]
        for kind in ("TFloat", "TSmall")
    ]
    size = [f"{found[f'{kind} whole']['events']:,} {kind}" for kind in KINDS]
    return f"""# Random access

Written by `python -m bench.compression.random_access --scale {scale}`. Events as in the [paper of
2017](https://doi.org/10.1088/1742-6596/1085/3/032037): numbers that repeat six times, 6 of them in a `TFloat`, 1,000 in
a `TSmall`, 1,000,000 in a `TLarge`; here {", ".join(size[:-1])} and {size[-1]}. ZLIB at level 6, baskets of 64 kB, one
thread. *Whole* baskets are what ROOT writes, *each event* is the paper's prototype, *auto* is `random_access="auto"`.

**In short.** *Auto* keeps files within 1.12 times their size. One entry costs {entry[0]:.2f} to {entry[1]:.2f} of what it
costs in whole baskets of 64 kB (the aim is 0.1: what is left is opening, planning and decoding, which takes about 10
µs), and 0.12 to 0.17 in those of 512 kB. With ZLIB and ZSTD, whose blocks begin with tables of codes, all
entries take up to 1.5 times the CPU (the aim is 1.03), 1.14 times in baskets of 512 kB, and up to 2.5 times in ROOT
with ZSTD; with LZ4 as much as before. Events larger than a basket lose nothing, where the prototype of the paper did.

## Ratios to whole baskets

Columns named *paper* are its own ratios. *Together* reads the {READ:,} entries with one call of `arrays(entries=)`.

{table(["events", "raw / file", "size", "paper", "write CPU", "random CPU", "together", "paper", "all, CPU", "all in ROOT", "paper"], ratios)}
## One entry at random, in microseconds

CPU with a hot cache, then time with a cold one. ROOT inflates whole baskets of any file.

{table(["events", *(f"{x}, hot" for x in READERS), *(f"{x}, cold" for x in READERS)], random_rows)}
## Auto with other codecs and baskets

Ratios to whole baskets of the same codec and size; then microseconds of CPU for one entry at random: ours of the
*auto* file, ROOT's of the *whole* one.

{table(["events", "size", "write CPU", "random CPU", "all, CPU", "all in ROOT", "ours", "ROOT"], further)}
## How many times faster than others on the file that they know

`rows()` on the *auto* file, against ROOT's `GetEntry` and uproot's `array` on the *whole* one; CPU, hot cache.

{table(["events", "ROOT", "uproot"], others)}"""


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--scale", type=float, default=0.05)
    arguments.add_argument("--runs", type=int, default=3)
    given = arguments.parse_args()
    found = measure(given.scale, given.runs)
    page = HERE.parent / "docs" / "benchmarks" / "random-access.md"
    page.write_text(draw(found, given.scale))
    print(f"drawn: {page}")


if __name__ == "__main__":
    main()
