"""Programs among the examples of the Rust crates, built by cargo and run by tests of what they write and print."""

from __future__ import annotations

import functools
import json
import subprocess
from pathlib import Path

from support.c_library import REPOSITORY, needed


@functools.cache
def built(name: str) -> Path:
    """The program of ``crates/*/examples/NAME.rs``.

    All crates but the Python package are selected, so that it has the features it has in `make test-rust`:
    where that ran before, nothing is built again.
    """
    command = [needed("cargo"), "build", "--quiet", "--workspace", "--exclude", "sapwood-python"]
    command += ["--example", name, "--message-format=json"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr[-5000:]
    messages = map(json.loads, done.stdout.splitlines())
    programs = [
        Path(message["executable"])
        for message in messages
        if message.get("executable") and message["target"]["name"] == name
    ]
    assert programs, f"cargo names no program for the example {name}"
    return programs[-1]


def run(name: str, *arguments: object) -> str:
    """What an example prints."""
    command = [str(built(name)), *map(str, arguments)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@functools.cache
def engine() -> Path:
    """The compiled library of the engine, which other programs may use."""
    command = [needed("cargo"), "build", "--quiet", "--workspace", "--exclude", "sapwood-python"]
    command += ["--message-format=json"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr[-5000:]
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message.get("target", {}).get("name") == "sapwood" and "lib" in message["target"]["kind"]:
            return next(Path(file) for file in message["filenames"] if file.endswith(".rlib"))
    raise AssertionError("cargo names no library of the engine")
