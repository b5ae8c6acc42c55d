"""Measure one writer in a process of its own: python -m bench.write.write_worker '{"writer": .., "family": .., "codec": .., ..}'

The values are in memory before; measured is from opening the file to its being closed. Prints one JSON line.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # NumPy's idle threads would spin, and their CPU time count

from bench.read.worker import cpu_seconds, memory, reset_peak  # noqa: E402
from bench.support.files import DATA, load_root  # noqa: E402
from bench.support.worker import failure, leave  # noqa: E402
from bench.write.written import SETTINGS, STEPS, columns, event_class  # noqa: E402

Write = Callable[[str, int], None]
"""Writes so many entries to a path."""


def writer_sapwood(job: dict[str, Any]) -> Write:
    import sapwood

    values, step = job["values"], STEPS[job["values"]]
    data = columns(values, Path(job["source"]))
    setting = SETTINGS[job["codec"]]
    if values == "event":
        types: dict[str, Any] = {"event": event_class()}
    else:
        types = {
            name: column.dtype if hasattr(column, "dtype") else column.type.content
            for name, column in data.items()
        }
    counters = {"Muon": "nMuon", "Jet": "nJet"}

    def write(path: str, entries: int) -> None:
        with sapwood.recreate(path, compression=setting or None, threads=job["threads"]) as file:
            tree = file.mktree(
                "tree",
                types,
                counter_name=lambda name: counters[name],
                split_level=job["split"],
                member_wise=job.get("member_wise", True),
            )
            for start in range(0, entries, step):
                end = min(start + step, entries)
                tree.extend({name: column[start:end] for name, column in data.items()})

    return write


def writer_uproot(job: dict[str, Any]) -> Write:
    import uproot

    values, step = job["values"], STEPS[job["values"]]
    data = columns(values, Path(job["source"]))
    # the same level of the library as ROOT has; uproot has no slow search (HC) of LZ4
    setting = {"none": None, "zlib1": uproot.ZLIB(1), "lz4": uproot.LZ4(4), "zstd5": uproot.ZSTD(10)}[
        job["codec"]
    ]

    def write(path: str, entries: int) -> None:
        with uproot.recreate(path, compression=setting) as file:
            tree = file.mktree(
                "tree",
                {
                    name: column.dtype if hasattr(column, "dtype") else column.type
                    for name, column in data.items()
                },
            )
            for start in range(0, entries, step):
                tree.extend(
                    {name: column[start : min(start + step, entries)] for name, column in data.items()}
                )

    return write


def writer_root(job: dict[str, Any]) -> Write:
    root = load_root(DATA, ["gen", "writers"])
    if job["threads"] > 1:
        root.EnableImplicitMT(job["threads"])
    values, setting = job["values"], SETTINGS[job["codec"]]
    getattr(root, f"load_{values}")(job["source"])
    function = getattr(root, f"write_{values}")
    root.TVirtualStreamerInfo.SetStreamMemberWise(job.get("member_wise", True))
    if values == "event":
        return lambda path, entries: function(path, setting, entries, job["split"])
    return lambda path, entries: function(path, setting, entries)


WRITERS = {"sapwood": writer_sapwood, "uproot": writer_uproot, "root": writer_root}


def main() -> None:
    job = json.loads(sys.argv[1])
    target = Path(job["target"])
    out: dict[str, Any] = {"cpu": [], "wall": [], "peak": 0}
    try:
        write = WRITERS[job["writer"]](job)
        write(str(target), min(job["entries"], 20))  # libraries load
        for _ in range(job["repeat"]):
            target.unlink(missing_ok=True)  # taking pages away from a file that is there is not writing
            before = memory("VmRSS")
            reset_peak()
            wall, cpu = time.perf_counter(), cpu_seconds()
            write(str(target), job["entries"])
            out["cpu"].append(cpu_seconds() - cpu)
            out["wall"].append(time.perf_counter() - wall)
            out["peak"] = max(memory("VmHWM") - before, out["peak"])
            out["size"] = target.stat().st_size
    except Exception as e:
        out = failure(e)
    finally:
        if not job.get("keep"):
            target.unlink(missing_ok=True)
    leave(out)


if __name__ == "__main__":
    main()
