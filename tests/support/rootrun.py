"""Runs a few lines in real ROOT, in a process of their own: what they print as JSON comes back, and a warning is a failure."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HEAD = """
import json, sys
import ROOT
ROOT.gROOT.SetBatch(True)
ROOT.gErrorIgnoreLevel = ROOT.kInfo
def answer(value):
    print("answer:" + json.dumps(value))
def build(macro):
    # Loads the classes and functions of a macro, which is compiled once, whatever tests and processes use it.
    import fcntl, hashlib, os, tempfile
    code = open(macro, "rb").read()
    # A library names the headers of the ROOT that made it: another installation makes its own.
    made_by = f"{ROOT.gROOT.GetVersion()} {ROOT.__file__}"
    name = hashlib.sha256(made_by.encode() + code).hexdigest()[:16]
    kept = os.path.join(tempfile.gettempdir(), f"sapwood-macros-{os.getuid()}", name)
    os.makedirs(kept, exist_ok=True)
    path = os.path.join(kept, os.path.basename(macro))
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path):
            with open(path + ".new", "wb") as file:
                file.write(code)
            os.replace(path + ".new", path)
        # A library that exists is loaded, unless it is older than the macro.
        assert ROOT.gSystem.CompileMacro(path, "kgs") == 1, "ACLiC cannot compile it"
    return os.path.splitext(path)[0] + "_C.so"
"""


def root(lines: str, *arguments: object, timeout: float = 600) -> Any:
    """Runs Python lines that may call ``answer(value)``; ``sys.argv[1:]`` are the arguments.

    Skips the test where ROOT is missing; in CI it is required.
    """
    if importlib.util.find_spec("ROOT") is None:
        if os.environ.get("CI", "").lower() in ("1", "true", "yes"):
            pytest.fail("ROOT is required in CI")
        pytest.skip("real ROOT is not installed")
    done = subprocess.run(
        [sys.executable, "-c", HEAD + lines, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-3000:]
    complaints = [
        line for line in said.splitlines() if line.startswith(("Warning", "Error", "SysError", "Fatal"))
    ]
    assert not complaints, complaints
    answers = [line for line in done.stdout.splitlines() if line.startswith("answer:")]
    return json.loads(answers[-1].removeprefix("answer:")) if answers else None


def compiled(folder: Path, name: str, code: str) -> Path:
    """The library that ROOT makes of C++ with its classes, functions and links of dictionaries."""
    (folder / f"{name}.C").write_text(code)
    return Path(root("answer(build(sys.argv[1]))", folder / f"{name}.C"))
