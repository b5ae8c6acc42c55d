"""Runs uproot's own tests with Sapwood in its place: ``python -m tools.uproot_suite UPROOT DATA``.

``UPROOT`` is a checkout of scikit-hep/uproot5, ``DATA`` the folder ``src/skhep_testdata/data`` of one of
scikit-hep/scikit-hep-testdata. The tests run unchanged, warnings are errors as there, first with uproot
and then with Sapwood as ``import uproot``. What passes with uproot is counted, by what a test is about;
``--list KIND`` names what fails with Sapwood. ``known.toml`` beside this has the reason for each that does:
``--table FILE`` writes them as a page, and what fails without a reason, or passes with one, is an error.

Tests that use what uproot is made of (``uproot.models``, ``uproot.source``,
``uproot.interpretation.identify``, ``uproot._util`` and so on) are no tests of public behaviour.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
INSIDE = re.compile(
    r"uproot\.(models|source|_util|_dask|sink|const|containers|streamers|serialization|deserialization|extras|futures|model\.|"
    r"interpretation\.[a-z]|compression\.[a-z_]|writing\.(_|identify|writable)|cache\.|reading\.|behaviors?\b|register_interpretation|language\.)"
    r"|\._(cascading|forth|complete_forth_code|file\b|source\b)|\.(header|footer)\.|\bpage_link_list\b|get_field_metadata|\.file\.source"
    # Classes that uproot makes of StreamerInfo, and what it finds baskets with.
    r"|\b(has_class_named|class_named|classname_(de|en)code|reset_classes|entries_to_ranges_or_baskets)\b|\bModel_\w+\("
)
NETWORK = re.compile(r"root://|https?://|s3://|\bserver\b")
OUTCOME = re.compile(r"(PASSED|FAILED|ERROR) (tests/\S+?\.py)::(\S+)")
SETTINGS = """[pytest]
filterwarnings =
    error
    ignore:unclosed transport
markers = {marks}
"""
MARKS = ("slow", "network", "distributed", "pyodide", "kvikio", "cupy", "xrootd", "s3")


def run(uproot: Path, data: Path, stand_in: bool) -> dict[tuple[str, str], str]:
    """Outcome of each test."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder) / "pytest.ini"
        settings.write_text(SETTINGS.format(marks="".join(f"\n    {mark}" for mark in MARKS)))
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-c",
            settings,
            "--rootdir",
            uproot,
            "-p",
            "no:cacheprovider",
        ]
        command += [
            "-q",
            "-rA",
            "--tb=no",
            "--color=no",
            "--continue-on-collection-errors",
            "--timeout=60",
            # What other machines serve changes, and may be out of reach.
            "-m",
            "not network and not xrootd and not s3",
            "tests",
        ]
        if stand_in:
            command += ["-p", "uproot_is_sapwood"]
        environment = {**os.environ, "SKHEP_DATA": str(data), "PYTHONPATH": str(HERE / "shim")}
        done = subprocess.run(command, cwd=uproot, env=environment, capture_output=True, text=True)
    found = {
        (path, name): outcome for outcome, path, name in map(re.Match.groups, OUTCOME.finditer(done.stdout))
    }
    if not found:
        raise SystemExit(f"no test ran:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return found


@cache
def _sources(path: Path) -> tuple[str, dict[str, str]]:
    """Imports of uproot's modules by name, and the text of each function and class."""
    text = path.read_text()
    nodes = list(ast.walk(ast.parse(text)))
    names = ""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("uproot."):
            names += "".join(f"{one.asname or one.name} {node.module}.\n" for one in node.names)
        if isinstance(node, ast.Import):
            names += "".join(f"{one.asname} {one.name}.\n" for one in node.names if one.asname)
    kinds = (ast.FunctionDef, ast.ClassDef)
    lines = text.splitlines()
    # With their decorators, which may name what a test is given.
    return names, {
        node.name: "\n".join(
            lines[min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1 : node.end_lineno]
        )
        for node in nodes
        if isinstance(node, kinds)
    }


def kind(uproot: Path, path: str, test: str) -> str:
    """What a test is about."""
    names, parts = _sources(uproot / path)
    name = test.split("[")[0].split("::")[-1]
    text = parts.get(name, "")
    # With the functions and fixtures that it calls, and what these call.
    left = {other: part for other, part in parts.items() if other != name and not other.startswith("test")}
    while called := [other for other in left if re.search(rf"\b{other}\b", text)]:
        text += "".join(left.pop(other) for other in called)
    for line in names.splitlines():
        imported, module = line.split()
        if re.search(rf"\b{imported}\b", text):
            text += f"\n{module}"
    if re.search(r"xrootd|http|network", path) or NETWORK.search(text):
        return "network"
    if INSIDE.search(text):
        return "inside"
    low = (path + text).lower()
    return "rntuple" if "rntuple" in low else "dask" if "dask" in low else "public"


def _name(test: tuple[str, str]) -> str:
    return f"{test[0].removeprefix('tests/')}::{test[1]}"


class Known:
    """Tests that fail, and why."""

    def __init__(self, path: Path) -> None:
        self.groups: list[dict[str, Any]] = tomllib.loads(path.read_text())["group"]

    def is_named(self, test: tuple[str, str]) -> bool:
        """Whether this very test is listed, with its parameters."""
        return any(_name(test) in group["tests"] for group in self.groups)

    def why(self, test: tuple[str, str]) -> str | None:
        """The reason of a test; a name without parameters covers all of them."""
        name = _name(test)
        for group in self.groups:
            if name in group["tests"] or name.split("[")[0] in group["tests"]:
                return str(group["why"])
        return None


def table(counts: Counter[str], passed: Counter[str], reasons: Counter[str], uproot: Path) -> str:
    """The page of what passes, and why the rest does not."""
    version = subprocess.run(
        ["git", "describe", "--tags", "--always"], cwd=uproot, capture_output=True, text=True
    ).stdout.strip()
    lines = [
        "# uproot's own tests",
        "",
        f"Made by `python -m tools.uproot_suite` with the tests of uproot {version}, unchanged, and Sapwood in the",
        "place of `uproot`. What passes with uproot itself is counted; tests of what uproot is made of are not",
        "tests of public behaviour.",
        "",
        "| about | pass | of | |",
        "|---|---:|---:|---:|",
    ]
    for one in ("public", "rntuple", "dask"):
        lines.append(f"| {one} | {passed[one]} | {counts[one]} | {passed[one] / max(counts[one], 1):.1%} |")
    lines += ["", "Why the others do not:", "", "| tests | reason |", "|---:|---|"]
    lines += [f"| {count} | {why} |" for why, count in reasons.most_common()]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("uproot", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--list", action="append", default=[], metavar="KIND")
    parser.add_argument("--table", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    theirs = run(arguments.uproot, arguments.data, stand_in=False)
    ours = run(arguments.uproot, arguments.data, stand_in=True)
    tests = {test: kind(arguments.uproot, *test) for test, outcome in theirs.items() if outcome == "PASSED"}
    count, passed = (
        Counter(tests.values()),
        Counter(tests[test] for test in tests if ours.get(test) == "PASSED"),
    )
    for one in sorted(count):
        print(f"{one:10} {passed[one]:4} of {count[one]:4}  {passed[one] / count[one]:.3f}")
    for (path, name), one in sorted(tests.items()):
        if one in arguments.list and ours.get((path, name)) != "PASSED":
            print(f"{one:10} {path}::{name}")
    known, reasons, wrong = Known(HERE / "known.toml"), Counter[str](), []
    for test, one in sorted(tests.items()):
        if one not in ("public", "rntuple", "dask"):
            continue
        why = known.why(test)
        if ours.get(test) == "PASSED":
            wrong += [f"passes, and is listed: {test[0]}::{test[1]}"] * known.is_named(test)
        elif why is None:
            wrong.append(f"fails, and no reason is listed: {test[0]}::{test[1]}")
        else:
            reasons[why] += 1
    if arguments.table is not None:
        arguments.table.write_text(table(count, passed, reasons, arguments.uproot))
    if wrong:
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
