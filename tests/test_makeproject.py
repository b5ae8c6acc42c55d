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

from support.rootrun import compiled, root

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


#: Names of classes, their code, what is set in an object ``o``, what is read of a pointer ``o``, and its
#: value.
HEADERS = {
    "an array of objects": (
        ["Point", "Obj"],
        "struct Point { int i; float x; }; struct Obj { int k; Point points[4]; };",
        "o.k = 7; o.points[2].i = 5",
        "o->k + 100 * o->points[2].i",
        507,
    ),
    "an array of pointers": (
        ["Seed", "Obj"],
        "struct Seed { double y; }; struct Obj { int k; Seed *seeds[3]; Obj() : k(0), seeds{} {} };",
        "o.k = 3",
        "o->k",
        3,
    ),
    "a template": (
        ["Link<unsigned int>", "Obj"],
        "template <class T> struct Link { T id; int other; };struct Obj { Link<unsigned int> link; int z; };",
        "o.link.id = 9; o.z = 1",
        "o->z + 10 * o->link.id",
        91,
    ),
    "a base in a namespace": (
        ["lab::Base", "Obj"],
        "namespace lab { struct Base { int b = 0; virtual ~Base() {} }; }"
        "struct Obj : public lab::Base { lab::Base *next = nullptr; };",
        "o.b = 4",
        "o->b",
        4,
    ),
    "keys that differ in a base, an array or a container": (
        ["Origin", "Child", "Row", "Items", "std::set<Child>", "std::map<Row,int>", "std::set<Items>", "Obj"],
        "#include <map>\n#include <set>\n"
        "struct Origin { int id = 0; };"
        "struct Child : public Origin { int other = 0; bool operator<(const Child &o) const { return id < o.id; } };"
        "struct Row { int cells[2][2] = {};"
        " bool operator<(const Row &o) const { return cells[1][1] < o.cells[1][1]; } };"
        "struct Items { std::vector<int> all; bool operator<(const Items &o) const { return all < o.all; } };"
        "struct Obj { Child one; std::set<Child> d; std::map<Row, int> m; std::set<Items> v; };",
        "for (int i : {2, 0, 1}) { Child d; d.id = i; o.d.insert(d); Row r; r.cells[1][1] = i; o.m[r] = i;"
        " Items v; v.all = {i}; o.v.insert(v); }",
        "100 * o->d.size() + 10 * o->m.size() + o->v.size()",
        333,
    ),
    "a key with a member that has no order": (
        ["Place", "std::set<Place>", "Obj"],
        '#include <set>\n#include "TVector2.h"\n'
        "struct Place { TVector2 at; int k = 0; bool operator<(const Place &o) const { return k < o.k; } };"
        "struct Obj { std::set<Place> places; };",
        "for (int i : {2, 0, 1}) { Place p; p.k = i; o.places.insert(p); }",
        "o->places.size()",
        3,
    ),
    "templates of containers and truth": (
        ["Of<std::vector<int>>", "If<true>", "std::set<Of<std::vector<int>>>", "Obj"],
        "#include <set>\n"
        "template <class T> struct Of { T t; bool operator<(const Of &o) const { return t < o.t; } };"
        "template <bool B> struct If { int x = 0; };"
        "struct Obj { Of<std::vector<int>> one; If<true> two; std::set<Of<std::vector<int>>> three; };",
        "o.one.t = {1, 2}; o.two.x = 5; o.three.insert(o.one); o.three.insert(Of<std::vector<int>>())",
        "o->one.t.size() + 10 * o->two.x + 100 * o->three.size()",
        252,
    ),
}
WRITE = """
assert ROOT.gSystem.Load(sys.argv[1]) == 0
ROOT.write(sys.argv[2])
"""
READ = """
_, path, header, value = sys.argv
assert ROOT.gROOT.ProcessLine(".L " + header + "+") == 0
code = "double value(TFile &f) { auto o = f.Get<Obj>(\\"o\\"); return " + value + "; }"
ROOT.gInterpreter.Declare(code)
f = ROOT.TFile.Open(path)
answer(ROOT.value(f))
"""


@pytest.mark.parametrize(("names", "classes", "values", "value", "wanted"), HEADERS.values(), ids=HEADERS)
def test_headers_of_every_shape_compile_in_root(
    tmp_path: Path, names: list[str], classes: str, values: str, value: str, wanted: float
) -> None:
    path, header = tmp_path / "in.root", tmp_path / "made.h"
    links = "\n".join(f"#pragma link C++ class {name}+;" for name in names)
    write = f'TFile f(path, "RECREATE"); Obj o{{}}; {values}; f.WriteObject(&o, "o");'
    code = f"""
#include <vector>
#include "TFile.h"
{classes}
void write(const char *path) {{ {write} }}
#ifdef __ROOTCLING__
{links}
#pragma link C++ function write(const char *);
#endif
"""
    root(WRITE, compiled(tmp_path, "classes", code), path)
    header.write_text(sapwood.makeproject(path, language="cpp"))
    assert "by hand" not in header.read_text()
    assert root(READ, path, header, value) == wanted


@dataclasses.dataclass
class Hit(sapwood.TObject):
    pt: np.float32


@dataclasses.dataclass
class Hits(sapwood.TObject):
    n: np.int32
    hits: Annotated[list[Hit], "TClonesArray"]


def test_classes_of_version_1_with_a_base_of_root_have_a_version(tmp_path: Path) -> None:
    path = tmp_path / "v1.root"
    with sapwood.recreate(path) as file:
        tree = file.mktree("t", {"e.": Hits})
        tree.fill(**{"e.": Hits(2, [Hit(1.5), Hit(2.5)])})
    text = sapwood.makeproject(path, language="cpp")
    assert "ClassDef(Hit, 1)" in text and "ClassDef(Hits, 1)" in text


@dataclasses.dataclass
class Inner:
    __root_name__ = "Outer::Inner"
    at: Point
    a: np.int32


@dataclasses.dataclass
class Outer:
    n: np.int32
    inner: list[Inner]


def test_a_class_within_a_class_is_declared_in_its_body(tmp_path: Path) -> None:
    path, header = tmp_path / "nested.root", tmp_path / "nested.h"
    with sapwood.recreate(path) as file:
        tree = file.mktree("t", {"o.": Outer}, split_level=0)
        tree.fill(**{"o.": Outer(2, [Inner(Point(0.5, 1.5), 5)])})
    header.write_text(sapwood.makeproject(path, language="cpp"))
    assert "namespace Outer" not in header.read_text()
    lines = """
assert ROOT.gROOT.ProcessLine(".L " + sys.argv[2] + "+") == 0
f = ROOT.TFile.Open(sys.argv[1])
t = f.Get("t")
t.GetEntry(0)
o = getattr(t, "o.")
answer([o.n, o.inner[0].a, o.inner[0].at.y])
"""
    assert root(lines, path, header) == [2, 5, 1.5]
