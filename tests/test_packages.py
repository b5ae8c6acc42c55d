"""The bill of materials of a package, its man pages and completions."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
COMMAND = (sys.executable, "-m", "sapwood")


def run(*arguments: str, **more: Any) -> str:
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo")
def test_the_bill_of_materials_names_what_the_lock_file_has() -> None:
    found = json.loads(run(sys.executable, str(REPOSITORY / "tools" / "sbom.py")))
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    assert found["metadata"]["component"]["name"] == "sapwood-python"
    parts = {part["name"]: part for part in found["components"]}
    assert {"sapwood", "sapwood-store", "zstd", "rustls", "pyo3"} <= parts.keys()
    assert "divan" not in parts, "what only tests have is no part of it"
    locked = {
        (one["name"], one["version"]): one
        for one in tomllib.loads((REPOSITORY / "Cargo.lock").read_text())["package"]
    }
    for part in found["components"]:
        assert part["licenses"], part
        checksum = locked[part["name"], part["version"]].get("checksum")
        assert [one["content"] for one in part.get("hashes", [])] == [checksum] * (checksum is not None)
    known = {part["bom-ref"] for part in [*found["components"], found["metadata"]["component"]]}
    assert all({one["ref"], *one["dependsOn"]} <= known for one in found["dependencies"])
    assert str(REPOSITORY) not in json.dumps(found)


def test_man_pages_are_there_for_each_command(tmp_path: Path) -> None:
    said = run(*COMMAND, "man", str(tmp_path / "man"))
    assert said.strip().endswith("sapwood.1")
    pages = {page.name for page in (tmp_path / "man").iterdir()}
    listed = run(*COMMAND, "--help").split("Options:")[0]
    commands = {line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line[2] != " "}
    assert {"ls", "merge", "rewrite", "man"} <= commands
    commands |= {"convert", "process", "makeselector"}
    expected = {"sapwood.1"} | {f"sapwood-{command}.1" for command in commands}
    assert expected <= pages
    # The commands of a command have their own.
    assert {page.rpartition("-")[0] for page in pages - expected} <= {"sapwood-cache"}
    page = (tmp_path / "man" / "sapwood-merge.1").read_text()
    assert page.count(".TH") == 1 and "recluster" in page
    page = (tmp_path / "man" / "sapwood-convert.1").read_text()
    assert page.count(".TH") == 1 and "\\-\\-nullable" in page and "\nusage" not in page
    (tmp_path / "taken").write_text("")
    done = subprocess.run([*COMMAND, "man", str(tmp_path / "taken")], capture_output=True, text=True)
    assert done.returncode == 1 and "taken" in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_takes_the_completions(shell: str, tmp_path: Path) -> None:
    text = run(*COMMAND, "completions", shell)
    assert all(name in text for name in ("rewrite", "recluster", "convert"))
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    path = tmp_path / "sapwood"
    path.write_text(text)
    run(shell, "-n", str(path))


def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    path = tmp_path / "sapwood"
    path.write_text(run(*COMMAND, "completions", "bash"))
    script = (
        f"source {path}; "
        'complete_for() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); '
        '_sapwood sapwood "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"; echo "${COMPREPLY[@]}"; }; '
        "complete_for sapwood me; complete_for sapwood merge --recl; complete_for sapwood conv"
    )
    assert run("bash", "-c", script).splitlines() == ["merge", "--recluster", "convert"]


def test_another_shell_is_refused_by_name() -> None:
    done = subprocess.run([*COMMAND, "completions", "dos"], capture_output=True, text=True)
    assert done.returncode == 2 and "bash" in done.stderr
