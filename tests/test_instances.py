"""Entries as dataclasses: what was written comes back, from ROOT's files too, and classes may have changed since."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

from support.rootrun import root
from test_classes import BUILD, CPP, EVENTS, FORMS, Base, Event, Inner, Point, Track

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("instances")
    for split, member_wise in FORMS:
        with sapwood.recreate(folder / f"{split}{member_wise}.root") as file:
            for name in ("event.", "event"):
                tree = file.mktree(
                    name, {name: Event}, split_level=split, member_wise=member_wise, auto_flush=15
                )
                tree.extend({name: EVENTS})
    return folder


@pytest.mark.parametrize(("split", "member_wise"), FORMS)
@pytest.mark.parametrize("name", ["event.", "event"])
def test_what_was_written_comes_back(files: Path, split: int, member_wise: bool, name: str) -> None:
    with sapwood.open(files / f"{split}{member_wise}.root") as file:
        found = list(file[name][name].objects(Event))
        assert found == EVENTS
        assert list(file[name][name].objects(Event, 13, -5)) == EVENTS[13:-5]
        assert (
            type(found[0].run) is np.int32
            and type(found[0].number) is int
            and type(found[0].big) is np.uint64
        )
        assert type(found[1].best.cov[0]) is np.float32 and type(found[0].matrix[0][0]) is float


def test_what_root_wrote_comes_back(files: Path, tmp_path: Path) -> None:
    (tmp_path / "classes.C").write_text(CPP)
    lines = """
for split in (99, 1, 0):
    ours = ROOT.TFile(sys.argv[2])
    file = ROOT.TFile(f"{sys.argv[3]}/root{split}.root", "RECREATE")
    tree = ROOT.TTree("t", "")
    one = ROOT.Event()
    tree.Branch("event", one, 32000, split)
    source = ours.Get("event")
    source.SetBranchAddress("event", one)
    for entry in range(source.GetEntries()):
        source.GetEntry(entry)
        tree.Fill()
    tree.Write()
    file.Close()
"""
    root(BUILD + lines, tmp_path / "classes.C", files / "99True.root", tmp_path)
    for split in (99, 1, 0):
        with sapwood.open(tmp_path / f"root{split}.root") as file:
            assert list(file["t/event"].objects(Event)) == EVENTS


@dataclasses.dataclass(frozen=True)
class NewPoint:
    y: np.float32
    x: np.float64
    z: float = 7.5
    seen: list[str] = dataclasses.field(default_factory=lambda: ["new"])


@dataclasses.dataclass
class NewTrack:
    charge: int
    momentum: float = dataclasses.field(metadata={"was": ("p", "pt")})
    at: NewPoint | None
    found: dict[int, float] = dataclasses.field(metadata={"was": "seen"})
    quality: int = dataclasses.field(default=-3, kw_only=True)
    double: float = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.double = 2 * self.momentum


@dataclasses.dataclass
class NewBase:
    flag: bool
    era: str = "2018A"


@dataclasses.dataclass(kw_only=True)
class NewEvent(NewBase):
    """Bases are others, members have moved, have other types and names."""

    tracks: list[NewTrack]
    run: int
    maybe: NewPoint
    vertex: NewPoint | None
    nested: list[list[float]]


def test_classes_that_changed(files: Path) -> None:
    here = [dataclasses.replace(one, maybe=one.maybe or Point(0)) for one in EVENTS]
    folder = files
    with sapwood.recreate(folder / "here.root") as file:
        for split in (99, 1, 0):
            file.mktree(f"s{split}", {"event": Event}, split_level=split).extend({"event": here})
    with sapwood.open(folder / "here.root") as file:
        for split in (99, 1, 0):
            found = list(file[f"s{split}/event"].objects(NewEvent))
            assert len(found) == len(EVENTS)
            for new, old in zip(found, here):
                assert (new.flag, new.era, new.run, new.nested) == (old.flag, "2018A", old.run, old.nested)
                assert new.maybe == NewPoint(np.float32(old.maybe.y), old.maybe.x) and new.vertex == NewPoint(
                    np.float32(old.vertex.y), old.vertex.x
                )
                for track, was in zip(new.tracks, old.tracks, strict=True):
                    assert (track.momentum, track.charge, track.found) == (was.pt, was.charge, was.seen)
                    assert (
                        track.quality == -3
                        and track.double == 2 * was.pt
                        and track.at is not None
                        and track.at.z == 7.5
                    )
    assert new.tracks[0].at.seen == ["new"] and new.tracks[0].at.seen is not new.maybe.seen


def test_branches_of_a_tree_as_members(tmp_path: Path) -> None:
    @dataclasses.dataclass
    class Row:
        x: float
        name: str
        v: list[np.float32]
        words: list[str]
        matrix: Annotated[int, 2, 2]
        missing: int = 5

    data = {
        "x": [1, 2, 3], "name": ["a", "é", ""], "v": [[1.5], [], [2.5, 3.5]],
        "words": ak.Array([["a"], ["b", "c"], []]),
        "matrix": np.arange(12, dtype="i2").reshape(3, 2, 2), "unwanted": [0.5] * 3,
    }  # fmt: skip
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["t"] = data
    with sapwood.open(tmp_path / "a.root") as file:
        rows = list(file["t"].objects(Row))
        assert rows[1] == Row(2.0, "é", [], ["b", "c"], [[4, 5], [6, 7]])
        assert [row.v for row in rows] == [[1.5], [], [2.5, 3.5]] and rows[2].matrix == [[8, 9], [10, 11]]
        assert list(file["t/x"].objects(float)) == [1.0, 2.0, 3.0]


def test_parts_of_objects(files: Path) -> None:
    with sapwood.open(files / "99True.root") as file:
        assert list(file["event/tracks"].objects(list[Track])) == [one.tracks for one in EVENTS]
        assert list(file["event/best"].objects(Track)) == [one.best for one in EVENTS]
        assert list(file["event/counts"].objects(dict[str, int])) == [one.counts for one in EVENTS]


def test_classes_of_a_function(tmp_path: Path) -> None:
    def reading() -> Any:
        @dataclasses.dataclass
        class Part:
            x: float

        @dataclasses.dataclass
        class All:
            parts: list[Part]

        with sapwood.recreate(tmp_path / "a.root") as file:
            file.mktree("t", {"all": All}).extend({"all": [All([Part(1.0)]), All([])]})
        return sapwood.open(tmp_path / "a.root")["t/all"].objects(All)

    assert [[part.x for part in one.parts] for one in reading()] == [[1.0], []]


def test_what_does_not_fit_is_told(files: Path) -> None:
    def raised(kind: Any, path: str = "event/event") -> str:
        with sapwood.open(files / "99True.root") as file, pytest.raises(ValueError) as found:
            list(file[path].objects(kind))
        return str(found.value)

    def like(name: str, *members: Any, **more: Any) -> Any:
        return dataclasses.make_dataclass(name, members, **more)

    said = raised(like("Event", ("name", float)))
    assert (
        "member name of class Event" in said and "double was expected" in said and "string is stored" in said
    ), said
    said = raised(like("Event", ("number", np.int8)))
    assert "member number of class Event" in said and "does not fit into char" in said, said
    said = raised(like("Event", ("number", int), ("other", str)))
    assert "class Event" in said and "'other'" in said and "default" in said, said
    said = raised(like("Event", ("matrix", Annotated[float, 3, 2])))
    assert "double[3][2] was expected, and double[2][3] is stored" in said, said
    said = raised(like("Event", ("maybe", Point)))
    assert "null pointer" in said and "Point" in said, said
    assert "has none of them" in raised(like("Event", ("nothing", int)))
    with sapwood.open(files / "99True.root") as file:
        with pytest.raises(NotImplementedError, match="complex"):
            file["event/event"].objects(complex)
        with pytest.raises(NotImplementedError, match="member 'z' of Odd"):
            file["event/event"].objects(like("Odd", ("z", complex)))
        assert list(file["event/event"].objects(Base, 1, 3)) == [
            Base(one.run, one.weights) for one in EVENTS[1:3]
        ]
        assert list(file["event/event"].objects(Inner, 0, 0)) == []


@dataclasses.dataclass
class Node:
    value: int
    children: list[Node]


@dataclasses.dataclass
class Again(Base):
    run: float


@dataclasses.dataclass
class Default(Point):
    y: float = 9.0


def test_classes_that_no_file_can_hold(tmp_path: Path, files: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        with pytest.raises(
            NotImplementedError, match=r"member 'children' of Node.*holds itself \(Node -> Node\)"
        ):
            file.mktree("t", {"n": Node})
        with pytest.raises(
            NotImplementedError, match="Again declares member 'run' .float. again, .* base Base .* int32"
        ):
            file.mktree("t", {"n": Again})
        file.mktree("fine", {"p": Default}).fill(p=Default(1.0))
    with sapwood.open(tmp_path / "a.root") as file:
        assert list(file["fine/p"].objects(Default)) == [Default(1.0, 9.0)]
    with (
        sapwood.open(files / "99True.root") as file,
        pytest.raises(NotImplementedError, match="holds itself"),
    ):
        file["event/event"].objects(Node)
