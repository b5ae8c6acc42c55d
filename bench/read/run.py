#!/usr/bin/env python3
"""Measure the limit, ROOT, uproot and Sapwood side by side, and draw docs/benchmarks.md.

    python -m bench.read.run [--quick] [--only PART_OF_A_NAME] [--readers limit,root,uproot,sapwood] [--repeat
    5]

Inputs are written by bench/support/gen.py when they are missing. Every number is the median over runs in one
process that has read the file once before; CPU time is that of all threads. Sums of all values must agree
between readers.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.support import draw, draw_writing
from bench.support.files import DATA, INPUTS, THREE, Input
from bench.support.gen import generate
from bench.support.index import write_index

HERE = Path(__file__).resolve().parent.parent
ROOT_WAYS = ["getentry", "ttreereader", "bulk", "rdataframe"]


def build_limit() -> Path:
    target = DATA / "build" / "limit"
    subprocess.run(
        ["cargo", "build", "--release", "--quiet", "--target-dir", str(target)],
        cwd=HERE / "limit",
        check=True,
    )
    return target / "release" / "limit"


def busy_seconds() -> tuple[float, float]:
    """CPU seconds that the whole machine has spent, and those of this process with its children."""
    try:
        words = [int(x) for x in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    except OSError:
        return 0.0, 0.0
    t = os.times()
    spent = (sum(words) - words[3] - words[4]) / os.sysconf("SC_CLK_TCK")
    return spent, t.user + t.system + t.children_user + t.children_system


def without_paths(text: str) -> str:
    """An error's words without the folders of this machine."""
    for folder in (DATA, HERE.parent, sys.prefix, Path.home()):
        text = text.replace(f"{folder}/", "")
    return text


def run(command: list[str]) -> list[dict[str, Any]]:
    """The JSON lines that a command prints. `others`: the share of the machine that other processes used."""
    (machine, own), began = busy_seconds(), time.perf_counter()
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=900)
    except subprocess.TimeoutExpired:
        return [{"error": "more than 900 s"}]
    (machine2, own2), seconds = busy_seconds(), time.perf_counter() - began
    lines = [x for x in done.stdout.splitlines() if x.startswith("{")]
    if not lines:
        return [{"error": f"exit code {done.returncode}: {without_paths(done.stderr.strip()[-200:])}"}]
    share = (machine2 - machine - (own2 - own)) / max(seconds * (os.cpu_count() or 1), 1e-3)
    answers = [json.loads(x) for x in lines]
    for answer in answers:
        if "error" in answer:
            answer["error"] = without_paths(answer["error"])
    return [{**x, "others": round(max(share, 0.0), 3)} for x in answers]


def ways_of(reader: str, i: Input, workload: str) -> list[str]:
    if workload == "open2":  # with all cores; the others open in one thread
        return ["open"] if reader == "sapwood" else []
    if reader == "root":
        if workload == "open":
            return ["open"]
        if workload == "threads":
            return ["rdataframe"]
        if workload == "memory":
            return ["getentry"]
        if i.family == "wide":  # one object for each of 2,000 columns: not what these interfaces are for
            return ["getentry", "bulk"]
        return [w for w in ROOT_WAYS if w != "bulk" or i.family == "flat"]
    if workload == "open":
        return ["open"]
    if reader == "limit":
        if workload == "memory":
            return []
        return ["fresh", "reused", *(["plain"] if i.family == "event_whole" and workload == "all" else [])]
    if reader == "sapwood":
        return ["arrays", "iterate"]
    return ["arrays"]


def workloads(i: Input) -> Iterator[tuple[str, list[str], int]]:
    """Name of the workload, columns, threads."""
    if i.flush:
        yield "open", [], 1
        yield "open2", [], 0
        return
    yield "all", [], 1
    if i.family in THREE:
        yield "three", THREE[i.family], 1
    if i.codec != "lz4" and i.family != "wide":
        yield "threads", [], 2
    if i.codec in ("zstd5", "zlib1"):
        yield "memory", [], 1


def measure(
    limit: Path, i: Input, reader: str, workload: str, columns: list[str], threads: int, args: Any
) -> Iterator[dict[str, Any]]:
    """One result for each way of a reader."""
    path, ways = i.path(args.scale), ways_of(reader, i, workload)
    if reader == "limit":
        index = str(path.with_suffix(".index"))
        for way in ways:
            command = [str(limit), index, "--repeat", str(args.repeat), "--threads", str(threads)]
            command += ["--record"] if way == "open" else ["--sums"]
            command += ["--plain", "--memory", "reused"] if way == "plain" else []
            command += ["--memory", way] if way in ("fresh", "reused") else []
            command += ["--columns", ",".join(columns)] if columns else []
            r = run(command)[0]
            if "sums" in r:
                r["sum"] = sum(r.pop("sums").values())
            yield {"way": way, **r}
        return
    job = {
        "reader": reader, "ways": ways, "path": str(path), "family": i.family, "columns": columns,
        "threads": threads,
        "tiny": str(i.path("tiny")), "memory": workload == "memory",
        "repeat": 1 if workload == "memory" else args.repeat,
    }  # fmt: skip
    worker = [sys.executable, "-W", "ignore", "-m", "bench.read.worker"]
    # peaks of memory need a fresh process each; times do not, and ROOT takes long to start
    together = [ways] if reader == "root" and workload != "memory" else [[w] for w in ways]
    for some in together:
        got = run([*worker, json.dumps({**job, "ways": some})]) if some else []
        answered = {r.get("way") for r in got}
        yield from (r for r in got if "way" in r)
        why = next((r["error"] for r in got if "way" not in r), "the process died")
        yield from ({"way": w, "error": why} for w in some if w not in answered)


def check_sums(rows: list[dict[str, Any]]) -> list[str]:
    """Readers must agree on the sum of all values of a workload."""
    wrong = []
    for key in sorted({(r["input"], r["workload"]) for r in rows}):
        sums = {
            f"{r['reader']} {r['way']}": r["sum"]
            for r in rows
            if (r["input"], r["workload"]) == key and r.get("sum") and r["way"] != "iterate"
        }
        if not sums:
            continue
        middle = statistics.median(sums.values())
        wrong += [
            f"{key[0]} {key[1]}: {who} has {s!r}, the median is {middle!r}"
            for who, s in sums.items()
            if abs(s - middle) > 1e-6 * abs(middle)
        ]
    return wrong


def build_example(name: str, package: str) -> Path:
    """A program of the workspace's examples, built for speed."""
    command = ["cargo", "build", "--release", "--example", name, "-p", package, "--message-format=json"]
    lines = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=HERE.parent
    ).stdout.splitlines()
    made = [json.loads(line) for line in lines if line.startswith("{")]
    return next(Path(x["executable"]) for x in made if x.get("executable") and x["target"]["name"] == name)


def machine() -> dict[str, Any]:
    cpu = ""
    try:
        cpu = next(
            x.split(":", 1)[1].strip()
            for x in Path("/proc/cpuinfo").read_text().splitlines()
            if x.startswith("model name")
        )
    except (OSError, StopIteration):
        pass
    versions = {}
    for name in ("ROOT", "uproot", "awkward", "numpy", "pyarrow", "sapwood"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            # Without having been installed it may still be on the path.
            found = importlib.import_module(name) if importlib.util.find_spec(name) else None
            versions[name] = getattr(found, "__version__", "not installed")
    return {
        "cpu": cpu or platform.processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": versions,
    }


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument(
        "--quick", action="store_true", help="inputs ten times smaller, fewer runs: is everything in order?"
    )
    ap.add_argument("--only", default="", help="only inputs whose name contains this")
    ap.add_argument("--workloads", default="all,three,threads,memory,open,open2")
    ap.add_argument("--readers", default="limit,sapwood,uproot,root")
    ap.add_argument("--repeat", type=int, default=0, help="measured runs (default 5, with --quick 2)")
    ap.add_argument(
        "--results", type=Path, help="default: bench/read/results.json, with --quick in the data folder"
    )
    ap.add_argument("--no-draw", action="store_true", help="leave docs/benchmarks.md as it is")
    args = ap.parse_args()
    args.repeat = args.repeat or (2 if args.quick else 5)
    args.scale = "quick" if args.quick else "full"
    generate(args.scale, args.only)
    generate("tiny", args.only)
    limit = build_limit()
    rows: list[dict[str, Any]] = []
    for i in INPUTS:
        if args.only not in i.name:
            continue
        index = write_index(i.path(args.scale))
        assert index.exists()
        for workload, columns, threads in workloads(i):
            if workload not in args.workloads.split(","):
                continue
            for reader in args.readers.split(","):
                for r in measure(limit, i, reader, workload, columns, threads, args):
                    way = r["way"]
                    rows.append(
                        {"input": i.name, "workload": workload, "reader": reader, "threads": threads, **r}
                    )
                    shown = r.get("error")
                    if not shown:
                        cpu, wall = statistics.median(r["cpu"]), statistics.median(r["wall"])
                        shown = f"cpu {cpu:8.4f} s  wall {wall:8.4f} s"
                    if "peak" in r and workload == "memory":
                        shown += f"  peak {r['peak'] / 1e6:8.1f} MB"
                    print(f"{i.name:20} {workload:8} {reader + ' ' + way:20} {shown}", flush=True)
    wrong = check_sums(rows)
    results = {"quick": args.quick, "machine": machine(), "command": "python -m bench.read.run", "rows": rows}
    target = args.results or (DATA / "results.json" if args.quick else HERE / "read" / "results.json")
    if not args.quick and target.exists():
        results["rows"] = merged(json.loads(target.read_text())["rows"], rows)
    target.write_text(json.dumps(results, indent=1) + "\n")
    if not args.no_draw:
        docs = (DATA / "docs") if args.quick else HERE.parent / "docs"
        draw.draw(results, docs)
        if not args.quick:
            draw_writing.again(docs)
        print(f"drawn: {docs / 'benchmarks.md'}")
    print("\n".join(["sums differ:", *wrong]) if wrong else "sums agree")
    return 1 if wrong else 0


def merged(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A run of some rows replaces these and leaves the others."""

    def key(r: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(r[k] for k in ("input", "workload", "reader", "way"))

    fresh = {key(r): r for r in new}
    return [fresh.pop(key(r), r) for r in old] + list(fresh.values())


if __name__ == "__main__":
    sys.exit(main())
