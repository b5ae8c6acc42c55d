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
    lines = 'assert ROOT.gSystem.CompileMacro(sys.argv[1], "kgs"), "ACLiC cannot compile it"'
    root(lines, folder / f"{name}.C")
    return folder / f"{name}_C.so"
