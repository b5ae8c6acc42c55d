"""Classes of a file as source code: it is executed or compiled, and meets the file that it came from."""

from __future__ import annotations

import dataclasses
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

from support.rootrun import root

sapwood = pytest.importorskip("sapwood")


@dataclasses.dataclass
class Point:
    x: float
    y: float


@dataclasses.dataclass
class Header:
    run: np.int32
    weights: list[np.float32]


@dataclasses.dataclass
class Track:
    __root_name__ = "lab::Track"
    pt: np.float32
    charge: np.int8
    at: Point
    cov: Annotated[np.float32, 2, 3]


@dataclasses.dataclass
class Event(Header):
    __root_version__ = 3
    number: int
    tracks: list[Track]
    counts: dict[str, np.int32]
    words: list[str]
    maybe: Point | None


def event(made: Any, seed: int) -> Any:
    """An object of the classes of a module."""
    tracks = [
        made.Track(seed / 2, -item, made.Point(1.0, item), np.ones((2, 3), "f4")) for item in range(seed % 3)
    ]
    maybe = made.Point(seed, 0.5) if seed % 2 else None
    return made.Event(
        seed, [0.5] * (seed % 3), 10 * seed, tracks, {"key": seed}, ["word"] * (seed % 2), maybe
    )


@pytest.fixture
def generated() -> Iterator[types.ModuleType]:
    module = types.ModuleType("generated")
    sys.modules["generated"] = module
    yield module
    del sys.modules["generated"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("makeproject") / "in.root"
    with sapwood.recreate(path) as file:
        for name, split in (("t", 99), ("whole", 0)):
            tree = file.mktree(name, {"event.": Event}, split_level=split)
            for seed in range(20):
                tree.fill({"event.": event(sys.modules[__name__], seed)})
    return path


def test_generated_dataclasses_write_the_same_classes(
    path: Path, generated: types.ModuleType, tmp_path: Path
) -> None:
    exec(sapwood.makeproject(path), generated.__dict__)
    assert generated.__all__ == ["Header", "Point", "Track", "Event"]
    assert generated.Track.__root_name__ == "lab::Track" and generated.Event.__root_version__ == 3
    with sapwood.recreate(tmp_path / "out.root") as file:
        tree = file.mktree("t", {"event.": generated.Event})
        for seed in range(20):
            tree.fill({"event.": event(generated, seed)})
    with sapwood.open(path) as ours, sapwood.open(tmp_path / "out.root") as theirs:
        for branch in (
            "event.number",
            "event.tracks.pt",
            "event.tracks.cov[2][3]",
            "event.words",
            "event.Header.weights",
        ):
            assert ours["t"][branch].array().tolist() == theirs["t"][branch].array().tolist(), branch
    assert sapwood.makeproject(tmp_path / "out.root") == sapwood.makeproject(path)


def test_the_command_writes_what_the_function_gives(path: Path, tmp_path: Path) -> None:
    from sapwood import _core

    for language in ("python", "rust", "cpp"):
        out = tmp_path / language
        wish = ["--lang", language, "--class", "lab::Track", "-o", str(out)]
        assert _core.command(["sapwood", "makeproject", str(path), *wish]) == 0
        assert out.read_text() == sapwood.makeproject(path, language=language, classes=["lab::Track"])
        assert "Event" not in out.read_text() and "Point" in out.read_text()
    with pytest.raises(KeyError, match="Nobody"):
        sapwood.makeproject(path, classes=["Nobody"])
    with pytest.raises(ValueError, match="fortran"):
        sapwood.makeproject(path, language="fortran")


def test_root_compiles_the_header_and_reads_the_file(path: Path, tmp_path: Path) -> None:
    (tmp_path / "classes.h").write_text(sapwood.makeproject(path, language="cpp"))
    (tmp_path / "classes.C").write_text(
        '#include "classes.h"\ninline int charge(const lab::Track &t) { return t.charge; }\n'
    )
    lines = """
assert ROOT.gSystem.CompileMacro(sys.argv[1], 'kgs') == 1
file = ROOT.TFile(sys.argv[2])
found = {}
for name in ("t", "whole"):
    tree = file.Get(name)
    e = ROOT.Event()
    tree.SetBranchAddress("event.", e)
    found[name] = []
    for entry in range(tree.GetEntries()):
        assert tree.GetEntry(entry) > 0
        found[name].append([e.run, list(e.weights), e.number, [[t.pt, ROOT.charge(t), t.at.y, t.cov[1][2]] for t in e.tracks], [[str(k), v] for k, v in e.counts],
                            [str(w) for w in e.words], e.maybe.x if e.maybe else None])
answer(found)
"""
    found = root(lines, tmp_path / "classes.C", path)
    for rows in found.values():
        for seed, row in enumerate(rows):
            tracks = [[seed / 2, -item, item, 1] for item in range(seed % 3)]
            words, maybe = ["word"] * (seed % 2), seed if seed % 2 else None
            assert row == [seed, [0.5] * (seed % 3), 10 * seed, tracks, [["key", seed]], words, maybe]


@dataclasses.dataclass
class ProjectHit:
    x: float


@dataclasses.dataclass
class ProjectEvent:
    matrix: Annotated[float, 3, 3]
    best: ProjectHit | None
    hits: list[ProjectHit]


def test_root_compiles_the_classes_of_an_rntuple(tmp_path: Path) -> None:
    """Arrays and owning pointers need a header, and no word to rootcling."""
    pytest.importorskip("ROOT")
    rows = [
        ProjectEvent([[1.0] * 3] * 3, ProjectHit(k) if k % 2 else None, [ProjectHit(9)]) for k in range(3)
    ]
    with sapwood.recreate(tmp_path / "new.root") as file:
        file.mkrntuple("t", {"event": ProjectEvent}).extend({"event": rows})
    header = tmp_path / "classes.h"
    header.write_text(sapwood.makeproject(tmp_path / "new.root", language="cpp"))
    text = header.read_text()
    assert "#include <memory>" in text and "class std::vector<ProjectHit>+" in text
    lines = """
assert ROOT.gSystem.CompileMacro(sys.argv[1], 'kgs') == 1
def read():
    reader = ROOT.RNTupleReader.Open("t", sys.argv[2])
    view = reader.GetView["ProjectEvent"]("event")
    rows = []
    for entry in range(3):
        one = view(entry)
        rows.append([one.best.x if one.best else None, one.hits[0].x])
    del view, one
    return rows
answer(read())
"""
    assert root(lines, header, tmp_path / "new.root") == [[None, 9], [1, 9], [None, 9]]
