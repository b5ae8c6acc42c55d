"""One run of `bench.write.files` in a process of its own: python -m bench.write.files_worker '{"who": .., "branches": .., ..}'

Prints a line of JSON: seconds and CPU seconds from the first file that is opened to the last that is closed,
and bytes. The system call `getsid` stands before and after, so that who traces the process finds what was
measured.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"

from bench.support.files import DATA, load_root
from bench.support.worker import leave

#: ROOT's number, and ours, of the same setting.
COMPRESSION = (101, "zlib:1")


def columns(job: dict[str, Any]) -> dict[str, Any]:
    """A cluster: numbers with twelve random bits in their fraction."""
    import numpy as np

    random = np.random.default_rng(1)
    return {
        f"b{branch}": (1 + random.integers(0, 4096, job["rows"]) / 4096).astype("f4")
        for branch in range(job["branches"])
    }


def shares(job: dict[str, Any]) -> list[int]:
    """How many clusters each thread fills."""
    return [len(range(thread, job["clusters"], job["contexts"])) for thread in range(job["contexts"])]


def in_threads(work: Callable[[int, int], None], job: dict[str, Any]) -> None:
    with ThreadPoolExecutor(job["contexts"]) as pool:
        list(pool.map(work, range(job["contexts"]), shares(job)))


def tree(job: dict[str, Any]) -> Callable[[], None]:
    """All threads fill one tree."""
    import sapwood

    values = columns(job)

    def run() -> None:
        with sapwood.recreate(f"{job['out']}.root", compression=COMPRESSION[1], threads=1) as file:
            tree = file.parallel_tree("tree", dict.fromkeys(values, "f4"), auto_flush=job["rows"])

            def work(_: int, clusters: int) -> None:
                with tree.context() as context:
                    for _ in range(clusters):
                        context.extend(values)

            in_threads(work, job)

    return run


def files(job: dict[str, Any]) -> Callable[[], None]:
    """Each thread fills a file of its own."""
    import sapwood

    values = columns(job)

    def work(thread: int, clusters: int) -> None:
        path = f"{job['out']}_{thread}.root"
        with sapwood.recreate(path, compression=COMPRESSION[1], threads=1) as file:
            tree = file.mktree("tree", dict.fromkeys(values, "f4"), auto_flush=job["rows"])
            for _ in range(clusters):
                tree.extend(values)

    return lambda: in_threads(work, job)


def root(job: dict[str, Any]) -> Callable[[], None]:
    R = load_root(DATA, ["parallel"])
    numbers = (job["contexts"], job["branches"], job["rows"], job["clusters"], COMPRESSION[0])
    if job["who"] == "merger":
        return lambda: R.fill("flat", f"{job['out']}.root", *numbers)
    return lambda: R.fill_files("flat", job["out"], *numbers)


RUNS = {"tree": tree, "files": files, "merger": root, "root files": root}


def main() -> None:
    job = json.loads(sys.argv[1])
    run = RUNS[job["who"]](job)
    os.getsid(0)
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    answer = {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    os.getsid(0)
    paths = list(Path(job["out"]).parent.glob(f"{Path(job['out']).name}*.root"))
    answer["bytes"] = sum(path.stat().st_size for path in paths)
    for path in paths:
        path.unlink()
    leave(answer)


if __name__ == "__main__":
    main()
