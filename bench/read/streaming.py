#!/usr/bin/env python3
"""Streaming as the paper of 2010 and the page of 1997 measured it; writes docs/benchmarks/streaming.md.

    python -m bench.read.streaming [--scale 0.1] [--rounds 5] [--only cms] [--draw]

Five files in the class structures of CMS' (`bench/read/streaming.C`), member by member against object by
object; compiled programs against a decoder that looks up each value's type, on classes of three experiments
(`bench/read/experiments.C`, `plain.cc`); the Event benchmark with ROOT's own classes
(`bench/read/event1997.C`). Contenders take turns, each in a process of its own and in one thread; numbers are
medians over all rounds. What was measured is kept in `bench/read/streaming.json`: `--only` measures some of
it again, `--draw` nothing. A scale other than 1 writes below `bench/data`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import make_dataclass
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # NumPy's idle threads would spin, and their CPU time count

from bench.read import event1997, streaming_plain  # noqa: E402
from bench.read.run import machine  # noqa: E402
from bench.read.worker import cpu_seconds  # noqa: E402
from bench.support.draw import table  # noqa: E402
from bench.support.files import DATA, HERE, load_root  # noqa: E402

FOLDER = DATA / "streaming"
RESULTS = HERE / "read" / "streaming.json"
TARGET = HERE.parent / "docs" / "benchmarks" / "streaming.md"
#: The paper's files: what ours hold, the split level, and how many events.
CMS = {
    "cms1": ("reco", 99, 1200, "RECO, split"),
    "cms4": ("pat", 99, 2400, "PAT, split"),
    "cms2": ("raw", 0, 1600, "RAW, unsplit"),
    "cms3": ("reco", 0, 1200, "RECO, unsplit"),
    "cms5": ("aod", 0, 2400, "AOD, unsplit"),
}
WAYS = ("object by object", "member by member")
REPEAT = 3


def path_of(name: str, member_wise: bool, who: str) -> Path:
    return FOLDER / f"{name}_{int(member_wise)}_{who}.root"


def class_of(name: str, kind: Any, known: dict[str, Any]) -> Any:
    """The type of an Arrow column for a writer: structures become dataclasses, whose members are those of bases too."""
    import pyarrow as pa

    if pa.types.is_large_list(kind):
        return list[class_of(name, kind.value_type, known)]  # type: ignore[misc]
    if pa.types.is_fixed_size_list(kind):
        from typing import Annotated

        return Annotated[kind.value_type.to_pandas_dtype(), kind.list_size]
    if pa.types.is_struct(kind):
        key = str(kind)
        if key not in known:
            members = [(field.name, class_of(f"{name}_{field.name}", field.type, known)) for field in kind]
            known[key] = make_dataclass(name, members)
        return known[key]
    return str if pa.types.is_large_string(kind) else kind.to_pandas_dtype()


def write_by_root(scale: float) -> dict[str, Any]:
    """All files of CMS' kinds, both ways; their sizes."""
    root = load_root(DATA, ["streaming"])
    sizes: dict[str, Any] = {}
    for name, (kind, split, entries, _) in CMS.items():
        root.streaming_make(kind, max(int(entries * scale), 20))
        for member_wise in (False, True):
            root.TVirtualStreamerInfo.SetStreamMemberWise(member_wise)
            path = path_of(name, member_wise, "ROOT")
            root.streaming_write(str(path), 101, split)
            sizes[f"{name} {int(member_wise)}"] = path.stat().st_size
        root.streaming_write(str(FOLDER / f"{kind}_whole.root"), 0, 0)  # for the next function
    return sizes


def write_by_sapwood() -> dict[str, Any]:
    """The same events from values, as ROOT's files have them; their sizes."""
    import sapwood

    sizes: dict[str, Any] = {}
    for name, (kind, split, _, _) in CMS.items():
        tree = sapwood.open(FOLDER / f"{kind}_whole.root")["tree"]
        values, schema = tree.arrays(library="ak"), tree.arrays(library="arrow", entry_stop=1).schema
        known: dict[str, Any] = {}
        types = {field.name: class_of(field.name.strip("."), field.type, known) for field in schema}
        for member_wise in (False, True):
            path = path_of(name, member_wise, "Sapwood")
            with sapwood.recreate(path, compression="zlib:1", threads=1) as file:
                made = file.mktree("tree", types, split_level=split, member_wise=member_wise)
                for start in range(0, len(values), 100):
                    made.extend({field: values[field][start : start + 100] for field in types})
            sizes[f"{name} {int(member_wise)}"] = path.stat().st_size
    return sizes


def read_cms(job: dict[str, Any]) -> dict[str, Any]:
    """CPU seconds of reading the files of one name that ROOT wrote, both ways in turns."""
    kind, found = CMS[job["name"]][0], {}
    paths = [path_of(job["name"], member_wise, "ROOT") for member_wise in (False, True)]
    if job["who"] == "ROOT":
        root = load_root(DATA, ["streaming"])
        calls = {"ROOT": lambda path: root.streaming_read(str(path), kind)}
    else:
        import sapwood

        def iterate(path: Path) -> None:
            for batch in sapwood.open(path, threads=1)["tree"].iterate(library="arrow"):
                len(batch)

        calls = {
            "arrays": lambda path: sapwood.open(path, threads=1)["tree"].arrays(library="arrow"),
            "iterate": iterate,
        }
    for who, call in calls.items():
        for path in paths:
            call(path)
        times: list[list[float]] = [[], []]
        for _ in range(REPEAT):
            for path, taken in zip(paths, times, strict=True):
                before = cpu_seconds()
                call(path)
                taken.append(cpu_seconds() - before)
        found[who] = times
    return found


def work(job: dict[str, Any]) -> Any:
    if job["part"] == "cms":
        if job["who"] == "write ROOT":
            return write_by_root(job["scale"])
        return write_by_sapwood() if job["who"] == "write Sapwood" else read_cms(job)
    return (streaming_plain if job["part"] == "plain" else event1997).work(job)


def ask(**job: Any) -> Any:
    line = [sys.executable, "-W", "ignore", "-m", "bench.read.streaming", "--job", json.dumps(job)]
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=HERE.parent)
    answers = [x for x in done.stdout.splitlines() if x.startswith("answer ")]
    if not answers:
        sys.exit(f"{job}: {done.stderr[-2000:]}")
    return json.loads(answers[-1].removeprefix("answer "))


def measure_cms(scale: float, rounds: int) -> dict[str, Any]:
    root, ours = ask(part="cms", who="write ROOT", scale=scale), ask(part="cms", who="write Sapwood")
    times: dict[str, dict[str, list[list[float]]]] = {}
    for _ in range(rounds):
        for name in CMS:
            for who in ("ROOT", "Sapwood"):
                for call, pair in ask(part="cms", who=who, name=name).items():
                    kept = times.setdefault(name, {}).setdefault(call, [[], []])
                    for old, new in zip(kept, pair, strict=True):
                        old += new
    medians = {
        name: {call: [statistics.median(taken) for taken in pair] for call, pair in calls.items()}
        for name, calls in times.items()
    }
    return {"ROOT": root, "Sapwood": ours, "times": medians, "scale": scale}


def measure_plain(scale: float, rounds: int) -> dict[str, Any]:
    ask(part="plain", who="write", scale=scale, path="")
    found: dict[str, dict[str, Any]] = {}
    for name in streaming_plain.FILES:
        for codec in streaming_plain.CODECS:
            path, sums = str(streaming_plain.path_of(name, codec)), set()
            times: dict[str, list[float]] = {}
            for _ in range(rounds):
                for who in streaming_plain.WHO:
                    answer = ask(part="plain", who=who, path=path, repeat=REPEAT, name=name)
                    times.setdefault(who, []).extend(answer["cpu"])
                    sums |= {f"{answer['sum']:.9g}"} if "sum" in answer else set()
            if len(sums) != 1:
                sys.exit(f"{name}, {codec}: the decoders disagree: {sums}")
            found[f"{name}, {codec}"] = {who: statistics.median(taken) for who, taken in times.items()}
    return {"rows": found, "scale": scale}


def measure_event(scale: float, rounds: int) -> dict[str, Any]:
    entries = max(int(1000 * scale), 20)
    found: dict[str, list[list[dict[str, Any]]]] = {"ROOT": [], "Sapwood": [], "first": []}
    for _ in range(rounds):
        for who, runs in found.items():
            runs.append(ask(part="event", who=who, entries=entries))
    medians = {
        who: [
            {key: statistics.median(run[i][key] for run in runs) for key in runs[0][i]}
            for i in range(len(runs[0]))
        ]
        for who, runs in found.items()
    }
    return {"rows": medians, "entries": entries, "scale": scale}


def cms_section(found: dict[str, Any]) -> str:
    body = []
    for name, (_, _, entries, what) in CMS.items():
        for i, way in enumerate(WAYS):
            sizes = [found[who][f"{name} {i}"] / 1e6 for who in ("ROOT", "Sapwood")]
            cells = [f"{size:.2f}" for size in sizes]
            cells += [f"{found['times'][name][call][i]:.3f}" for call in ("ROOT", "arrays", "iterate")]
            if i:
                pairs = [[found[who][f"{name} {k}"] for k in (0, 1)] for who in ("ROOT", "Sapwood")]
                pairs += [found["times"][name][call] for call in ("ROOT", "arrays", "iterate")]
                cells += [f"{after / before:.2f}" for before, after in pairs]
            else:
                cells += [""] * 5
            events = max(int(entries * found["scale"]), 20)
            body.append([f"{name}-like: {what}", way, f"{events:,}", *cells])
    head = ["file", "streamed", "events", "ROOT's file, MB", "Sapwood's file, MB"]
    head += ["ROOT reads, CPU s", "Sapwood arrays, CPU s", "Sapwood iterate, CPU s"]
    head += ["size, ROOT", "size, Sapwood", "ROOT reads", "arrays", "iterate"]
    return table(head, body)


def page(found: dict[str, Any]) -> str:
    about, scale = found["machine"], found["cms"]["scale"]
    command = "python -m bench.read.streaming" + ("" if scale == 1 else f" --scale {scale:g}")
    versions = ", ".join(f"{name} {about['versions'][name]}" for name in ("ROOT", "pyarrow", "sapwood"))
    return f"""# Streaming

Written by `{command}` on {about["cpu"]}, {about["cores"]} cores; {versions}. One thread; files are in the page
cache; CPU seconds are medians of {found["rounds"]} rounds in which contenders took turns. The machine had other work, so that
times may be a few hundredths off; sizes are exact. The numbers behind this page are in `bench/read/streaming.json`.

## Member by member on five files

The paper of 2010 rewrote five files of CMS. These are ours, in the class structures that the files of CMS in ROOT's own corpus
have (`bench/read/streaming.C`): towers with their crystals and layers, jets, simulated tracks, vertices and hits, digis, raw data
of front ends, provenance; PAT's jets keep their towers and the results of taggers in themselves. Each product is a branch, in a
wrapper with a base; ZLIB-1. Read are ROOT's files: by ROOT's compiled classes, event by event, and by Sapwood as Arrow tables.
Sapwood's files hold the same values, written from dataclasses, which have the members of bases as their own. The last five
columns are the second way by the first; the paper has 0.96 and 0.97 for the sizes of split files, 0.93, 0.92 and 0.90 for those
of others, and for reading 0.86, 0.91, 0.75, 0.78 and 0.79, in the order of the rows.

{cms_section(found["cms"])}
## Compiled programs on three experiments

Whole objects, one branch each (CMS': one each product), streamed member by member where they are collections. *Value by value*
is `bench/read/plain.cc`, a decoder in C++ that walks the members of a class and looks up the type of each value when it comes to
it. It does what is needed and nothing else: no limits, no errors that name their place, one file; it inflates with the library
that Sapwood has, and fills Sapwood's columns, which it adds up to the same sums. ATLAS' classes are those of xAOD, structures of
vectors with links to elements; CMS' those of cms3 above; ALICE's those of its ESD, with `TObject` below everything,
`TClonesArray`s and arrays of fixed length. Answers are kept in the columns with *fresh memory* (its pages have to come from the
kernel), and handed back in the others. ROOT fills objects, by its own compiled actions.

{streaming_plain.section(found["plain"]["rows"])}
## The Event benchmark of 1997 with its own classes

{event1997.section(found["event"]["rows"], found["event"]["entries"])}"""


def main() -> None:
    parts = {"cms": measure_cms, "plain": measure_plain, "event": measure_event}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="share of the events of a full run")
    parser.add_argument("--rounds", type=int, default=5, help="how often each contender takes its turn")
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    parser.add_argument("--draw", action="store_true", help="write the page from what was measured")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    said = parser.parse_args()
    if said.job:
        print("\nanswer " + json.dumps(work(json.loads(said.job))), flush=True)
        os._exit(0)  # ROOT's end may crash after all is done, and nothing is left to do
    FOLDER.mkdir(parents=True, exist_ok=True)
    full = said.scale == 1
    results = RESULTS if full else DATA / "streaming.json"
    found = json.loads(results.read_text()) if results.exists() else {}
    for part in [] if said.draw else said.only:
        began = time.perf_counter()
        found |= {part: parts[part](said.scale, said.rounds), "machine": machine(), "rounds": said.rounds}
        results.write_text(json.dumps(found, indent=1) + "\n")
        print(f"{part}: {time.perf_counter() - began:.0f} s", flush=True)
    if all(part in found for part in parts):
        target = TARGET if full else DATA / "streaming.md"
        target.write_text(page(found))
        print(f"wrote {target.name}")


if __name__ == "__main__":
    main()
