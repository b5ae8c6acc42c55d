"""Classes of the corpus of real files as source code: compilers of Rust and C++ take all of it.

`SAPWOOD_PROJECTS=1000` (`make torture`) takes all files instead of some.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path

import pytest

from support.c_library import needed
from support.rootrun import root
from support.rust_examples import engine

sapwood = pytest.importorskip("sapwood")

HERE = Path(__file__).resolve().parent
CORPUS = Path(os.environ.get("SAPWOOD_CORPUS") or HERE.parent.parent / "shared" / "corpus")
FILES = int(os.environ.get("SAPWOOD_PROJECTS", "12"))
MAX_BYTES = 60_000_000


def projects(language: str) -> dict[str, str]:
    """Sources by name of file, each once, evenly chosen."""
    if not CORPUS.is_dir():
        pytest.skip("the corpus of real files is not here (set SAPWOOD_CORPUS)")
    found: dict[str, str] = {}
    for path in sorted(CORPUS.glob("*.root")):
        if path.stat().st_size > MAX_BYTES:
            continue
        try:
            source = sapwood.makeproject(path, language=language)
        except sapwood.SapwoodError:
            continue
        if "struct " in source:
            found.setdefault(source, path.name)
    every = max(1, len(found) // FILES)
    return {name: source for index, (source, name) in enumerate(found.items()) if index % every == 0}


def test_rust_compiles(tmp_path: Path) -> None:
    sources = enumerate(projects("rust").values())
    modules = [f"pub mod m{index} {{\n{source}\n}}\n" for index, source in sources]
    (tmp_path / "all.rs").write_text("#![allow(warnings)]\n" + "".join(modules))
    library = engine()
    folders = [folder for folder in (library.parent, library.parent / "deps") if folder.is_dir()]
    command = [needed("rustc"), "--edition=2024", "--crate-type=lib", "--emit=metadata", "all.rs"]
    command += [f"--extern=sapwood={library}", *(f"-Ldependency={folder}" for folder in folders)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[:5000]


def test_cpp_compiles(tmp_path: Path) -> None:
    found = importlib.util.find_spec("ROOT")
    if found is None or found.origin is None:
        pytest.skip("real ROOT is not installed")
    include = Path(found.origin).parent / "include"
    refused = {}
    for name, source in projects("cpp").items():
        (tmp_path / "classes.h").write_text(source)
        command = [needed("g++"), "-std=c++17", "-w", "-fsyntax-only", f"-I{include}", "-xc++", "classes.h"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        if done.returncode:
            refused[name] = done.stderr[:1000]
    assert not refused, refused


READ = """
assert ROOT.gSystem.CompileMacro(sys.argv[2], "kf") == 1
file = ROOT.TFile.Open(sys.argv[1])
tree = file.Get("Events")
read = [tree.GetEntry(entry) for entry in range(3)]
answer([min(read) > 0, bool(ROOT.TClass.GetClass("edm::BranchKey").IsLoaded())])
"""


def test_root_compiles_and_reads(tmp_path: Path) -> None:
    """Classes that are keys of maps, arguments of templates, and used before they are declared."""
    path = CORPUS / "roottest__RefTest.root"
    if not path.is_file():
        pytest.skip("the corpus of real files is not here (set SAPWOOD_CORPUS)")
    (tmp_path / "classes.h").write_text(sapwood.makeproject(path, language="cpp"))
    assert root(READ, path, tmp_path / "classes.h") == [True, True]
