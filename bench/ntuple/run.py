#!/usr/bin/env python3
"""Measure RNTuples: the limit, ROOT, uproot and Sapwood side by side, and draw docs/benchmarks/rntuple.md.

    python -m bench.ntuple.run [--scale 0.1] [--only PART_OF_A_NAME] [--parts
    reading,opening,writing,merging,far] [--repeat 5]

Inputs are written by ROOT when they are missing. Every number is the median over runs in one process that has
read the file once before; CPU time is that of all threads. Sums of all values must agree between readers, and
files that were written are read back by another reader. Parts and rows that are not measured stay as they
were. Results of another scale than 1 stay in the data folder.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.ntuple.files import DATA, FOLDER, INPUTS, THREE, Input, generate
from bench.ntuple.index import write_index
from bench.ntuple.page import page
from bench.read.run import HERE, build_example, build_limit, check_sums, machine, run
from bench.support.worker import failure
from bench.write.written import LIBRARY

PARTS = ["reading", "opening", "writing", "merging", "far"]
WAYS = {"sapwood": ["arrays", "iterate"], "uproot": ["arrays"], "root": ["bulk", "entry", "frame"]}
OPENING = ["open", "names", "one"]
TRIP_MS, MEGABITS = 22, 100
MERGED = 6
"""How many files are merged."""
MERGE = """
import os, resource, sys, time
import sapwood
sapwood.merge
os.path.exists(sys.argv[1]) and os.unlink(sys.argv[1])
began, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
sapwood.merge(sys.argv[1], sys.argv[2:])
now = resource.getrusage(resource.RUSAGE_SELF)
print(time.perf_counter() - began, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime)
"""
MERGER = """
import os, resource, sys, time
import ROOT
ROOT.gSystem.Load("libROOTNTuple")
merger = ROOT.TFileMerger(False, False)
merger.SetPrintLevel(0)
os.path.exists(sys.argv[1]) and os.unlink(sys.argv[1])
began, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
merger.OutputFile(sys.argv[1], "RECREATE", ROOT.TFile(sys.argv[2]).GetCompressionSettings())
for path in sys.argv[2:]:
    merger.AddFile(path, False)
assert merger.PartialMerge(merger.kAll | merger.kRegular | merger.kKeepCompression)
now = resource.getrusage(resource.RUSAGE_SELF)
print(time.perf_counter() - began, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime)
"""


def worker(job: dict[str, Any]) -> list[dict[str, Any]]:
    return run([sys.executable, "-W", "ignore", "-m", "bench.ntuple.worker", json.dumps(job)])


def asked(job: dict[str, Any], ways: list[str]) -> Iterator[dict[str, Any]]:
    """One answer for each way of a reader."""
    got = worker(job | {"ways": ways})
    answered = {answer.get("way") for answer in got}
    yield from (answer for answer in got if "way" in answer)
    why = next((answer["error"] for answer in got if "way" not in answer), "the process died")
    yield from ({"way": way, "error": why} for way in ways if way not in answered)


def workloads(i: Input) -> Iterator[tuple[str, list[str], int]]:
    """Name of the workload, columns, threads."""
    yield "all", [], 1
    if i.family == "flat":
        yield "three", THREE, 1
    if i.codec == "zstd5" and i.family != "wide":
        yield "threads", [], 2


def reading(limit: Path, i: Input, args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    path = i.path(args.scale)
    index = write_index(path)
    for workload, columns, threads in workloads(i):
        of = {"input": i.name, "workload": workload, "threads": threads}
        for way in ("fresh", "reused"):
            command = [
                str(limit),
                "--ntuple",
                str(index),
                "--repeat",
                str(args.repeat),
                "--threads",
                str(threads),
            ]
            command += ["--memory", way, *(["--columns", ",".join(columns)] if columns else [])]
            yield of | {"reader": "limit", "way": way} | run(command)[0]
        for reader, ways in WAYS.items():
            if reader not in args.readers.split(","):
                continue
            some = [way for way in ways if not (reader == "root" and i.family == "wide" and way == "frame")]
            some = [
                way for way in some if not (reader == "root" and workload == "threads" and way != "frame")
            ]
            job = {
                "reader": reader,
                "path": str(path),
                "family": i.family,
                "columns": columns,
                "threads": threads,
                "repeat": args.repeat,
            }
            if reader == "uproot" and i.family == "wide":
                job |= {"repeat": 1, "warm": False}  # a minute each
            for answer in asked(job, some):
                yield of | {"reader": reader} | answer


def opening(limit: Path, i: Input, args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    path = i.path(args.scale)
    of = {"input": i.name, "threads": 1}
    command = [str(limit), "--ntuple", str(write_index(path)), "--repeat", "15", "--open"]
    yield of | {"workload": "open", "reader": "limit", "way": "open"} | run(command)[0] | {"sum": None}
    for reader in args.readers.split(","):
        job = {
            "reader": reader,
            "path": str(path),
            "family": i.family,
            "columns": [],
            "threads": 1,
            "repeat": 15,
        }
        for answer in asked(job, OPENING):
            yield of | {"workload": answer["way"], "reader": reader} | answer


def writing(limit: Path, i: Input, args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    source, ours = (
        Input(i.family, "none" if i.family != "wide" else i.codec).path(args.scale),
        FOLDER / "ours.root",
    )
    job = {
        "family": i.family, "codec": i.codec, "entries": i.entries(args.scale), "source": str(source),
        "threads": 1,
        "repeat": min(args.repeat, 3),
    }  # fmt: skip
    for threads in (1, 2) if i.codec == "zstd5" and i.family != "wide" else (1,):
        of = {"input": i.name, "workload": f"write{threads}", "threads": threads}
        for writer in ("sapwood", "root", *(["uproot"] if threads == 1 else [])):
            target = ours if writer == "sapwood" else FOLDER / f"by_{writer}.root"
            once = {"repeat": 1} if writer == "uproot" and args.repeat < 5 else {}
            more = once | {
                "writer": writer,
                "target": str(target),
                "threads": threads,
                "keep": writer == "sapwood",
            }
            yield of | {"reader": writer} | {"way": "write"} | worker(job | more)[0]
        ours.with_suffix(".index").unlink(missing_ok=True)
        try:
            index = write_index(ours)
        except Exception as error:
            yield of | {"reader": "limit", "way": "write"} | failure(error)
            continue
        command = [
            str(limit),
            "--ntuple",
            str(index),
            "--write",
            str(FOLDER / "limit.out"),
            "--codec",
            LIBRARY[i.codec],
        ]
        command += ["--threads", str(threads), "--repeat", str(job["repeat"])]
        yield of | {"reader": "limit", "way": "write"} | run(command)[0]
        index.unlink()
        ours.unlink()


def merging(i: Input, args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Copies of one file; the output is removed just before each turn."""
    copies = [FOLDER / f"part{k}.root" for k in range(MERGED)]
    for copy in copies:
        shutil.copyfile(i.path(args.scale), copy)
    target, names = args.merged / "merged.root", [str(copy) for copy in copies]
    timed = [sys.executable, "-W", "ignore", "-c"]
    contenders = {
        "cat": ["sh", "-c", 'out=$1; shift; exec cat "$@" > "$out"', "cat", str(target), *names],
        "sapwood": [*timed, MERGE, str(target), *names],
        "root": [*timed, MERGER, str(target), *names],
    }
    rows: dict[str, dict[str, Any]] = {}
    for _ in range(args.repeat):
        for who, command in contenders.items():
            if who == "cat":
                target.unlink(
                    missing_ok=True
                )  # the others do so when they are loaded: freed pages do not stay warm
            before = os.times()
            began = time.perf_counter()
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            wall, after = time.perf_counter() - began, os.times()
            cpu = after.children_user + after.children_system - before.children_user - before.children_system
            row = rows.setdefault(who, {"cpu": [], "wall": []})
            if done.returncode:
                row["error"] = done.stderr.strip()[-200:]
                continue
            if who != "cat":
                wall, cpu = map(float, done.stdout.split()[-2:])
            row["cpu"].append(cpu)
            row["wall"].append(wall)
            row["size"] = target.stat().st_size
    target.unlink(missing_ok=True)
    for copy in copies:
        copy.unlink()
    for who, row in rows.items():
        yield {"input": i.name, "workload": "merge", "threads": 1, "reader": who, "way": "merge"} | row


def far(i: Input, args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Three columns over http through a link with a delay; each read in a process of its own, from nothing."""
    from bench.remote.remote import Link, wan
    from tests.support import servers

    program = args.wan or build_example("wan", "sapwood-testkit")
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    with servers.serving("apache2") as server:
        shutil.copyfile(i.path(args.scale), server.data / "far.root")
        (server.data / "far.root").chmod(0o644)
        with wan(program, int(server.url.rsplit(":", 1)[1]), Link("far", TRIP_MS, MEGABITS)) as way:
            url = f"http://127.0.0.1:{way.port}/far.root"
            for _ in range(3):
                for reader, how in (
                    ("sapwood", "arrays"),
                    ("uproot", "arrays"),
                    ("root", "bulk"),
                    ("root", "frame"),
                ):
                    job = {
                        "reader": reader,
                        "path": url,
                        "family": i.family,
                        "columns": THREE,
                        "threads": 1,
                        "repeat": 1,
                        "warm": False,
                    }
                    before = way.counts()
                    answer = next(iter(asked(job, [how])))
                    after = way.counts()
                    row = rows.setdefault((reader, how), {"cpu": [], "wall": []})
                    for name in ("cpu", "wall"):
                        row[name] += answer.get(name, [])
                    row |= {name: answer[name] for name in ("error", "sum") if name in answer}
                    row |= {name: after[name] - before[name] for name in ("requests", "down")}
    for (reader, how), row in rows.items():
        yield {"input": i.name, "workload": "far", "threads": 1, "reader": reader, "way": how} | row


def shown(r: dict[str, Any]) -> str:
    if "error" in r or not r.get("cpu"):
        return str(r.get("error"))[:150]
    return f"cpu {statistics.median(r['cpu']):8.4f} s  wall {statistics.median(r['wall']):8.4f} s"


def key(r: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(r[k] for k in ("input", "workload", "reader", "way"))


def measured(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    limit, parts = args.limit or build_limit(), args.parts.split(",")
    for i in INPUTS:
        if args.only in i.name:
            if "reading" in parts:
                yield from reading(limit, i, args)
            if "opening" in parts and i.family == "wide":
                yield from opening(limit, i, args)
            if "writing" in parts:
                yield from writing(limit, i, args)
            if i.name == "flat_zstd5":
                if "merging" in parts:
                    yield from merging(i, args)
                if "far" in parts:
                    yield from far(i, args)


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--scale", type=float, default=1.0, help="share of the entries of a full run")
    ap.add_argument("--only", default="", help="only inputs whose name contains this")
    ap.add_argument("--parts", default=",".join(PARTS))
    ap.add_argument("--readers", default=",".join(WAYS), help="of the parts reading and opening")
    ap.add_argument("--repeat", type=int, default=5, help="measured runs")
    ap.add_argument("--merged", type=Path, default=FOLDER, help="the folder that merged files are written to")
    ap.add_argument("--limit", type=Path, help="the program of the limit, if it is built already")
    ap.add_argument("--wan", type=Path, help="the program that is the link, if it is built already")
    ap.add_argument("--no-draw", action="store_true", help="leave docs/benchmarks/rntuple.md as it is")
    args = ap.parse_args()
    generate(args.scale, args.only if "writing" not in args.parts else "")
    target = HERE / "ntuple" / "ntuple.json" if args.scale == 1 else DATA / "ntuple.json"
    old = json.loads(target.read_text())["rows"] if target.exists() else []
    document: dict[str, Any] = {"scale": args.scale, "machine": machine(), "rows": old}
    rows: list[dict[str, Any]] = []
    for row in measured(args):
        rows.append({name: value for name, value in row.items() if value is not None})
        print(
            f"{row['input']:14} {row['workload']:8} {row['reader'] + ' ' + row['way']:20} {shown(row)}",
            flush=True,
        )
        fresh = {key(r): r for r in rows}
        document["rows"] = [fresh.pop(key(r), r) for r in old] + list(fresh.values())
        target.write_text(
            json.dumps(document, indent=1) + "\n"
        )  # a run that is stopped keeps what was measured
    if not args.no_draw:
        docs = HERE.parent / "docs" if args.scale == 1 else DATA / "docs"
        (docs / "benchmarks").mkdir(parents=True, exist_ok=True)
        (docs / "benchmarks" / "rntuple.md").write_text(page(document))
    wrong = check_sums(rows)
    print("\n".join(["sums differ:", *wrong]) if wrong else "sums agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
