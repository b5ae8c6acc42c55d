"""Writers in a forked child: it neither writes its parent's rows nor waits for threads that it does not have."""

from __future__ import annotations

import gc
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="forks need a system that has them"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]

FIELDS = {"x": "f8", "y": "f8"}
ROWS = {name: np.random.default_rng(1).random(150_000) for name in FIELDS}


def plain(kind: str) -> Callable[[Any], tuple[Any, list[Any]]]:
    def begin(file: Any) -> tuple[Any, list[Any]]:
        writer = getattr(file, kind)("t", FIELDS)
        return writer, [writer]

    return begin


def context(kind: str) -> Callable[[Any], tuple[Any, list[Any]]]:
    def begin(file: Any) -> tuple[Any, list[Any]]:
        whole = getattr(file, kind)("t", FIELDS)
        one = whole.context().__enter__()
        return one, [one, whole]

    return begin


def numbered(kind: str) -> Callable[[Any], tuple[Any, list[Any]]]:
    def begin(file: Any) -> tuple[Any, list[Any]]:
        whole = getattr(file, kind)("t", FIELDS)
        units = whole.numbered().__enter__()
        unit = units.unit(0).__enter__()
        return unit, [unit, units, whole]

    return begin


WRITERS = {
    "tree": plain("mktree"),
    "rntuple": plain("mkrntuple"),
    "parallel tree": context("parallel_tree"),
    "parallel rntuple": context("parallel_rntuple"),
    "numbered tree": numbered("parallel_tree"),
    "numbered rntuple": numbered("parallel_rntuple"),
}


def in_child(work: Callable[[], int], seconds: float = 20) -> int:
    """The exit code of a forked child that does this work, which must end in the time."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(work())
        finally:
            os._exit(99)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the child hangs")


@pytest.mark.parametrize("begin", WRITERS.values(), ids=WRITERS)
def test_a_child_neither_writes_nor_hangs(tmp_path: Path, begin: Any) -> None:
    path = tmp_path / "parent.root"
    file = sapwood.recreate(path, threads=2)
    writer, ends = begin(file)
    for _ in range(2):
        writer.extend(ROWS)
    writer.flush()  # starts the pool, whose threads a child does not have
    writer.extend(ROWS)  # buffered

    def refuse() -> int:
        refused = 0
        more = {name: [1.0] for name in FIELDS}
        for act in (lambda: writer.extend(more), writer.flush, *(end.close for end in ends)):
            try:
                act()
            except sapwood.errors.MismatchError:
                refused += 1
        return refused

    def drop() -> int:
        nonlocal writer, ends, file
        writer, ends, file = None, [], None
        gc.collect()
        return 0

    assert in_child(refuse) >= 3
    assert in_child(drop) == 0
    for end in ends:
        end.__exit__(None, None, None) if hasattr(end, "__exit__") else end.close()
    file.close()
    with sapwood.open(path) as read:
        assert read["t"].num_entries == 3 * len(ROWS["x"])
