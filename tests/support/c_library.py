"""The library for C and C++, installed below a folder of its own, and programs built with the system's compilers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent.parent
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() in ("1", "true", "yes")


def needed(command: str) -> str:
    """The path of a command, without which the test is skipped; in CI it is required."""
    found = shutil.which(command)
    if found is None:
        if in_ci():
            pytest.fail(f"{command} is required in CI")
        pytest.skip(f"{command} is not installed")
    return found


@dataclass
class Library:
    """An installed library."""

    prefix: Path
    #: Where programs are built.
    place: Path

    def environment(self, **more: str) -> dict[str, str]:
        lib = str(self.prefix / "lib")
        return {**os.environ, "LD_LIBRARY_PATH": lib, "PKG_CONFIG_PATH": f"{lib}/pkgconfig", **more}

    def build(self, source: Path, *flags: str) -> Path:
        """Compiles a program, with warnings as errors and what pkg-config says."""
        is_cpp = source.suffix == ".cpp"
        compiler = needed("c++" if is_cpp else "cc")
        standard = (
            []
            if any(flag.startswith("-std=") for flag in flags)
            else ["-std=c++20" if is_cpp else "-std=c11"]
        )
        told = [needed("pkg-config"), "--cflags", "--libs", "sapwood"]
        asked = subprocess.run(told, env=self.environment(), capture_output=True, text=True, check=True)
        program = self.place / (
            "_".join([source.stem, source.suffix[1:], *flags]).replace("=", "").replace(",", "")
        )
        command = [compiler, *standard, *WARNINGS, "-O1", "-g", *flags, str(source), *asked.stdout.split()]
        done = subprocess.run(
            [*command, "-lpthread", "-o", str(program)], capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr[-5000:]
        return program

    def run(
        self, program: Path, *arguments: object, under: list[str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        command = [*(under or []), str(program), *map(str, arguments)]
        return subprocess.run(command, env=self.environment(), capture_output=True, text=True, timeout=300)


def built_with_the_tests() -> Path:
    """The shared library that was built for the tests of all crates, with the features of all.

    Those tests ran just before, so this builds nothing again. Cargo leaves what is built for tests among the
    dependencies, and says where.
    """
    command = ["cargo", "test", "--workspace", "--exclude", "sapwood-python", "--no-run", "--quiet"]
    command.append("--message-format=json")
    built = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=1800)
    assert built.returncode == 0, built.stderr[-5000:]
    for line in built.stdout.splitlines():
        message = json.loads(line)
        target = message.get("target", {})
        if target.get("name") != "sapwood_c" or "cdylib" not in target.get("crate_types", []):
            continue
        for file in map(Path, message["filenames"]):
            if file.suffix in (".so", ".dylib"):
                return file
    raise AssertionError("cargo names no shared library of sapwood-c")


@pytest.fixture(scope="session")
def c_library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The library, built by cargo."""
    needed("cargo")
    prefix = tmp_path_factory.mktemp("prefix")
    settings = {"SAPWOOD_PROFILE": "dev", "SAPWOOD_STATIC": "0"}
    if in_ci():
        settings["SAPWOOD_BUILT"] = str(built_with_the_tests().parent)
    command = [str(REPOSITORY / "crates/c/install.sh"), str(prefix)]
    done = subprocess.run(
        command, env={**os.environ, **settings}, capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return Library(prefix, tmp_path_factory.mktemp("programs"))
