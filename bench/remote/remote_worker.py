"""One read of a file that is far away, in a process of its own: python -m bench.remote.remote_worker '{"reader": .., "url": .., "columns": [..]}'

Measured from opening the file to the last value in memory. Libraries are loaded before, ROOT's plug-ins
included; nothing else is: no connection is made, no file opened. Prints one line of JSON: seconds, CPU
seconds, the sum of all values.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from bench.read.worker import cpu_seconds
from bench.support.files import DATA, TREE, load_root
from bench.support.worker import failure, leave


def total(arrays: dict[str, Any]) -> float:
    return float(sum(values.sum(dtype="f8") for values in arrays.values()))


def sapwood_reader(job: dict[str, Any]) -> Callable[[], Any]:
    import sapwood

    def read() -> dict[str, Any]:
        tree = sapwood.open(job["url"], **job.get("options", {}))[TREE]
        if job["cache"] is not None:
            tree.cache_size = job["cache"]
        arrays: dict[str, Any] = tree.arrays(job["columns"], library="np")
        return arrays

    return read


def uproot_reader(job: dict[str, Any]) -> Callable[[], Any]:
    import awkward  # noqa: F401  (importing is not reading)
    import uproot

    if job["url"].startswith("http"):
        import fsspec.implementations.http  # noqa: F401
    if job["url"].startswith("root"):
        import fsspec_xrootd  # noqa: F401
    return lambda: uproot.open(job["url"])[TREE].arrays(job["columns"], library="np")


def root_reader(job: dict[str, Any]) -> Callable[[], Any]:
    root = load_root(DATA, ["far"])
    names = root.std.vector["std::string"](job["columns"])
    cache = -1 if job["cache"] is None else job["cache"]
    # What a URL needs is loaded by the first file that has one.
    plugin = root.gROOT.GetPluginManager().FindHandler("TFile", job["url"])
    if plugin:
        plugin.LoadPlugin()

    def read() -> float:
        found: float = root.far_read(job["url"], names, cache)
        if found == root.FAR_FAILED:
            raise OSError("ROOT does not open it")
        return found

    return read


READERS = {"sapwood": sapwood_reader, "uproot": uproot_reader, "root": root_reader}


def main() -> None:
    job = json.loads(sys.argv[1])
    try:
        read = READERS[job["reader"]](job)
        wall, cpu = time.perf_counter(), cpu_seconds()
        values = read()
        answer = {"seconds": time.perf_counter() - wall, "cpu": cpu_seconds() - cpu}
        answer["sum"] = values if isinstance(values, float) else total(values)
    except Exception as error:
        answer = failure(error)
    leave(answer)


if __name__ == "__main__":
    main()
