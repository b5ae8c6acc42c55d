#!/usr/bin/env python3
"""Many small things: a chain of files, histograms of a directory, keys of a file; beside ROOT and uproot.

    python -m bench.read.many [--files 10000] [--histograms 1000] [--keys 1000000] [--rounds 3]

Each contender is a process of its own that has loaded its libraries before; a number is the median of the CPU
seconds of all its threads, and memory the highest that it had above what it had then. What is read is in the
page cache, and answers agree.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # NumPy's idle threads would spin, and their CPU time count

from bench.support.draw import table  # noqa: E402
from bench.support.files import DATA  # noqa: E402

FOLDER = DATA / "many"
TARGET = Path(__file__).resolve().parent.parent.parent / "docs" / "benchmarks" / "many.md"

MEASURE = """
import re, resource, sys, warnings
warnings.filterwarnings("ignore")
def cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
def memory(of):
    return int(re.search(of + r":\\s+(\\d+)", open("/proc/self/status").read()).group(1)) / 1024
import numpy as np
folder = sys.argv[1]
{load}
# What the libraries took at most before is no part of it.
open("/proc/self/clear_refs", "w").write("5")
before = cpu(), memory("VmRSS")
{work}
print("answer", repr(float(answer)), cpu() - before[0], memory("VmHWM") - before[1])
"""

LOAD = {
    "Sapwood": "import sapwood, awkward",
    "uproot": "import uproot, awkward",
    "ROOT": "import ROOT; ROOT.gROOT.SetBatch(True); ROOT.TH1.AddDirectory(False); ROOT.TTree; ROOT.TChain; ROOT.TH1D",
}

#: What is done, by who does it. Each ends with a number, which is the same for all.
WORK = {
    "one column of a chain": {
        "Sapwood": "answer = np.sum(sapwood.concatenate(folder + '/chain/*.root:t', ['x'], library='np')['x'])",
        "uproot": "answer = np.sum(uproot.concatenate(folder + '/chain/*.root:t', ['x'], library='np')['x'])",
        "ROOT": "chain = ROOT.TChain('t'); chain.Add(folder + '/chain/*.root'); chain.SetEstimate(100 * files); "
        "n = chain.Draw('x', '', 'goff'); answer = np.sum(np.frombuffer(chain.GetV1(), dtype='f8', count=n))",
    },
    "bins of histograms": {
        "Sapwood": "file = sapwood.open(folder + '/histograms.root'); "
        "answer = sum(float(file[name].values().sum()) for name in file.keys())",
        "uproot": "file = uproot.open(folder + '/histograms.root'); "
        "answer = sum(float(file[name].values().sum()) for name in file.keys())",
        "ROOT": "file = ROOT.TFile(folder + '/histograms.root'); "
        "answer = sum(file.Get(key.GetName()).Integral() for key in file.GetListOfKeys())",
    },
    "names of keys": {
        "Sapwood": "answer = len(sapwood.open(folder + '/keys.root').keys())",
        "uproot": "answer = len(uproot.open(folder + '/keys.root').keys())",
        "ROOT": "file = ROOT.TFile(folder + '/keys.root'); "
        "answer = len([key.GetName() for key in file.GetListOfKeys()])",
    },
    "one object of that file": {
        "Sapwood": "answer = int(str(sapwood.open(folder + '/keys.root')[f'k{last}']))",
        "uproot": "answer = int(str(uproot.open(folder + '/keys.root')[f'k{last}']))",
        "ROOT": "answer = int(ROOT.TFile(folder + '/keys.root').Get(f'k{last}').GetString().Data())",
    },
    "writing that file": {
        "Sapwood": "file = sapwood.recreate(folder + '/new.root')\n"
        "for i in range(last + 1): file[f'k{i}'] = str(i)\n"
        "file.close(); answer = last",
        "ROOT": "file = ROOT.TFile(folder + '/new.root', 'recreate')\n"
        "for i in range(last + 1): file.WriteObject(ROOT.TObjString(str(i)), f'k{i}')\n"
        "file.Close(); answer = last",
    },
}


def make(files: int, histograms: int, keys: int) -> None:
    """The inputs, written once."""
    import numpy as np
    import sapwood

    (FOLDER / "chain").mkdir(parents=True, exist_ok=True)
    made = FOLDER / "made.json"
    if made.exists() and json.loads(made.read_text()) == [files, histograms, keys]:
        return
    for old in FOLDER.glob("chain/*.root"):
        old.unlink()
    for number in range(files):
        with sapwood.recreate(FOLDER / f"chain/{number:06}.root", threads=1) as file:
            file["t"] = {name: np.arange(100.0) + number for name in ("x", "y", "z")}
    with sapwood.recreate(FOLDER / "histograms.root") as file:
        for number in range(histograms):
            file[f"h{number}"] = np.histogram(np.arange(number % 97), bins=100, range=(0, 100))
    with sapwood.recreate(FOLDER / "keys.root") as file:
        for number in range(keys):
            file[f"k{number}"] = str(number)
    made.write_text(json.dumps([files, histograms, keys]))


def measured(what: str, who: str, files: int, last: int) -> tuple[str, float, float]:
    """The answer, CPU seconds, and megabytes."""
    script = MEASURE.format(load=f"files, last = {files}, {last}\n{LOAD[who]}", work=WORK[what][who])
    done = subprocess.run(
        [sys.executable, "-c", script, str(FOLDER)], capture_output=True, text=True, check=True
    )
    _, answer, cpu, memory = next(
        line for line in done.stdout.splitlines() if line.startswith("answer")
    ).split()
    return answer, float(cpu), float(memory)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, usual in (("files", 10_000), ("histograms", 1_000), ("keys", 1_000_000), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    said = parser.parse_args()
    make(said.files, said.histograms, said.keys)
    rows = []
    for what, contenders in WORK.items():
        runs: dict[str, list[tuple[str, float, float]]] = {who: [] for who in LOAD}
        for _ in range(said.rounds):
            for who in contenders:
                runs[who].append(measured(what, who, said.files, said.keys - 1))
                print(what, who, runs[who][-1], flush=True)
        answers = {answer for found in runs.values() for answer, _, _ in found}
        assert len(answers) == 1, f"{what}: {answers}"

        def median(who: str, place: int) -> float | None:
            return statistics.median(run[place] for run in runs[who]) if runs[who] else None

        cpu = [median(who, 1) for who in LOAD]
        memory = [median(who, 2) for who in LOAD]
        best = min(seconds for seconds in cpu[1:] if seconds is not None) / (cpu[0] or 1)
        cells = ["" if value is None else f"{value:.3g}" for value in cpu]
        cells += ["" if value is None else f"{value:.0f}" for value in memory]
        rows.append([what, *cells, f"{best:.3g}"])
    head = ["", *(f"{who}, CPU s" for who in LOAD), *(f"{who}, MB" for who in LOAD), "best peer / Sapwood"]
    TARGET.write_text(f"""# Many small things

Written by `python -m bench.read.many --files {said.files} --histograms {said.histograms} --keys {said.keys}`, {os.cpu_count()} cores.
CPU seconds of a process that has loaded its libraries, median of {said.rounds}, and the memory that it took above that. A file of the
chain has 100 entries of three columns; a key has a number as text. uproot writes no such objects.

{table(head, rows)}
""")
    print(f"wrote {TARGET.name}")


if __name__ == "__main__":
    main()
