"""Streams of Arrow that pyarrow lets go of without the interpreter's lock, while garbage is collected under a call of
the engine: the interpreter's objects in them are still dropped with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sapwood = pytest.importorskip("sapwood")
pytest.importorskip("pyarrow")

SCRIPT = """
import gc, sys, time
import pyarrow as pa
import sapwood
from sapwood import _core
from sapwood._read import stream

tree = sapwood.open(sys.argv[1])["t"]
names, columns = stream.schema_columns(tree.iterate(["x"])._plan().__enter__())
dropped = []

class Last:
    def __del__(self):
        dropped.append(1)

def reader(steps):
    class Given:
        def __arrow_c_stream__(self, requested_schema=None):
            return _core.columns_stream(names, columns, steps)
    return pa.RecordBatchReader.from_stream(Given())

def inner():
    last = Last()
    yield (0, columns)
    yield (0, columns)

def begun():
    one = reader(inner())
    next(one)
    return one

left = [begun() for _ in range(200)]

def outer():
    while left:
        ring = [left.pop()]
        ring.append(ring)
        del ring
        gc.collect()
        yield (0, columns)

gc.disable()
assert sum(1 for _ in reader(outer())) == 200
for _ in range(500):
    if len(dropped) == 200:
        break
    time.sleep(0.01)
    sapwood.open(sys.argv[1])
print(len(dropped))
"""


def test_streams_that_the_collector_of_garbage_finds(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "t.root") as file:
        file["t"] = {"x": [1.0, 2.0]}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "t.root")], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout.strip()) == (0, "200"), done.stderr
