"""What scripts that were written for uproot do: the same calls give the same answers, or the same files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")
pd = pytest.importorskip("pandas")
uproot = pytest.importorskip("uproot")

X = np.array([1.5, 2.5, 3.5])
FRAME = pd.DataFrame({"a": X, "b": [1, 2, 3]})
DATA: dict[str, Any] = {
    "arrays": {"a": X, "b": np.array([1, 2, 3])},
    "lists": {"a": [1.5, 2.5, 3.5]},
    "series": {"a": pd.Series(X)},
    "a frame": FRAME,
    "a frame with a range": pd.DataFrame({"a": X}, index=pd.RangeIndex(5, 8)),
    "structured": np.array([(1.5, 2), (2.5, 3)], [("a", "f8"), ("b", "i4")]),
    "records": ak.Array([{"a": 1.5, "b": 1}, {"a": 2.5, "b": 2}]),
    "fixed arrays": {"a": np.arange(6.0).reshape(3, 2)},
    "jagged": {"a": ak.Array([[1.5], [], [2.5, 3.5]])},
    "fields": {"m": {"pt": X, "eta": X}},
}


@pytest.mark.parametrize("name", DATA)
def test_a_tree_is_made_from_data(tmp_path: Path, name: str) -> None:
    data = DATA[name]
    with sapwood.recreate(tmp_path / "ours.root") as ours, uproot.recreate(tmp_path / "theirs.root") as theirs:
        entries = ours.mktree("t", data, title="made").num_entries
        theirs.mktree("t", data, title="made")
    ours, theirs = (uproot.open({tmp_path / f"{who}.root": "t"}) for who in ("ours", "theirs"))
    assert ours.title == "made" and ours.typenames() == theirs.typenames()
    assert ours.arrays().tolist() == theirs.arrays().tolist() and entries == theirs.num_entries > 0


def test_types_begin_an_empty_tree() -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        for number, types in enumerate(({"x": "f4"}, {"x": np.int8}, {"x": {"y": "var * f4"}}, {"x": ("f8", (2,))})):
            assert file.mktree(f"t{number}", types).num_entries == 0
        with pytest.raises(ValueError, match="different lengths"):
            file.mktree("no", {"x": [1], "y": [1, 2]})
        assert "no" not in file


def test_the_index_of_a_frame_is_kept(tmp_path: Path) -> None:
    named = FRAME.set_index(pd.Index([7, 8, 9], name="event"))
    several = FRAME.set_index(pd.MultiIndex.from_arrays([[1, 1, 2], [5, 6, 5]], names=["run", None]))
    texts = FRAME.set_index(pd.Index(["x", "y", "z"]))
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["plain"], file["named"], file["several"], file["texts"] = FRAME, named, several, texts
        file["plain"].extend(FRAME)
        file["own"] = FRAME.assign(index=[4, 5, 6])
        with pytest.raises(ValueError, match="the index and a column have the name 'event'"):
            file["twice"] = named.assign(event=1)
        file.mktree("bare", {"a": "f8", "b": "i8"}).extend(FRAME)  # a tree without the index
    with uproot.open(tmp_path / "a.root") as file:
        assert file["plain/index"].array().tolist() == [0, 1, 2] * 2
        assert file["named"].keys() == ["event", "a", "b"] and file["named/event"].array().tolist() == [7, 8, 9]
        assert file["several"].keys()[:2] == ["run", "level_1"] and file["several/level_1"].array().tolist() == [5, 6, 5]
        assert file["texts/index"].array().tolist() == ["x", "y", "z"]
        assert file["own"].keys() == ["a", "b", "index"] and file["own/index"].array().tolist() == [4, 5, 6]
        assert file["bare"].keys() == ["a", "b"]


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    with uproot.recreate(tmp_path / "numbers.root") as file:
        file.mktree("t", {"i1": np.array([-1, 2], "i1"), "x": np.array([1.0, 2.0]), "v": ak.Array([[1], [2, 3]])})
    return tmp_path / "numbers.root"


def test_branches_are_looked_at_as_another_type(numbers: Path) -> None:
    tree = sapwood.open(numbers)["t"]
    for expressions in ({"i1": ">u1", "x": None}, [("i1", ">u1"), "x"], [("i1", "u1"), ("x", tree["x"].interpretation)]):
        assert tree.arrays(expressions).tolist() == [{"i1": 255, "x": 1}, {"i1": 2, "x": 2}]
        assert next(tree.iterate(expressions, library="np"))["i1"].tolist() == [255, 2]
    assert tree.arrays({"x": ">i8"}, "i1 < 0", library="pd")["x"].tolist() == [np.float64(1).view("i8")]
    for wrong in ({"i1": ">u2"}, {"v": ">i8"}, {"x + 1": ">i8"}):
        with pytest.raises(ValueError, match="cannot be looked at|only a branch"):
            tree.arrays(wrong)


def test_what_is_asked_for_twice_comes_twice(numbers: Path) -> None:
    tree = sapwood.open(numbers)["t"]
    for how in (tuple, list):
        for library in ("ak", "np", "pd"):
            found = tree.arrays(["x", "i1", "x"], library=library, how=how)
            assert type(found) is how and [one.tolist() for one in found] == [[1, 2], [-1, 2], [1, 2]]
    assert tree.arrays(["x", "x"]).fields == ["x"]
    first, second = sapwood.concatenate({numbers: "t"}, ["x + 1", "x + 1"], how=tuple)
    assert first.tolist() == second.tolist() == [2, 3]


def test_what_was_written_is_there_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.root"
    with sapwood.recreate(path) as file:
        file["t"], file["h"] = {"x": [1, 2]}, np.histogram([1, 2], bins=2)
        file["dir/t"], file["dir/note"] = {"x": [1.5]}, "text"
        assert sorted(file.keys()) == ["dir/note;1", "dir/t;1", "dir;1", "h;1", "t;1"] and len(file) == 5
        assert "t" in file and "t;1" in file and "dir/t" in file and "u" not in file
        file["t"].extend({"x": [3]})
        assert file["t"].num_entries == 3 and file["t"]["x"].array().tolist() == [1, 2, 3]
        file["t"].extend({"x": [4]})
        assert file["h"].values().tolist() == [1, 1] and str(file["dir"]["note"]) == "text"
        file["dir"]["t"].extend({"x": [2.5]})
        assert file["dir"].keys() == ["note;1", "t;1"] and file["dir/t"].arrays().tolist() == [{"x": 1.5}, {"x": 2.5}]
        file["gone"] = {"x": [1]}
        file["gone"].extend({"x": [2]})
        gone = file["gone"]
        del file["gone"], file["h"]
        assert "gone" not in file and "h" not in file
        with pytest.raises(ValueError, match="closed"):
            gone.extend({"x": [3]})
        with pytest.raises(KeyError):
            file["gone"]
        file["t"] = {"y": ["a"]}
        file["t"].extend({"y": ["b"]})
        assert file["t"].keys() == ["y"] and file["t;1"].arrays().tolist() == [{"x": x} for x in (1, 2, 3, 4)]
        with file.mktree("made", {"x": "f4"}) as tree:
            tree.extend({"x": [1]})
        file["made"].extend({"x": [2]})
        assert file["made"].num_entries == 2
    with uproot.open(path) as found:
        assert found["t;2/y"].array().tolist() == ["a", "b"] and found["t;1/x"].array().tolist() == [1, 2, 3, 4]
        assert found["dir/t/x"].array().tolist() == [1.5, 2.5] and found["made/x"].array().tolist() == [1, 2]
    with sapwood.update(path) as file:
        file["t"].extend({"y": ["c"]})  # which was there before
        assert file["t"].num_entries == 3
    assert sapwood.open(path)["t/y"].array().tolist() == ["a", "b", "c"]


def test_a_resumed_tree_grows_in_its_own_cycle() -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory, reproducible=True) as file:
        file["t"] = {"x": np.arange(1000), "v": ak.Array([[1.5], []] * 500)}
        for step in range(3):
            file["t"].extend({"x": np.arange(10) + step, "v": [[float(step)]] * 10})
    file = sapwood.open(memory)
    assert file.keys() == ["t;1"] and file["t"].num_entries == 1030
    assert file["t/x"].array().tolist() == [*range(1000), *range(10), *range(1, 11), *range(2, 12)]
    assert file["t/v"].array()[-1].tolist() == [2.0] and not sapwood.verify(memory.getvalue()).damaged


def test_streamers_are_those_of_the_file(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["h"] = np.histogram([1, 2], bins=2)
    with uproot.open(tmp_path / "a.root") as theirs, sapwood.open(tmp_path / "a.root") as ours:
        assert set(ours.streamers) == set(theirs.file.streamers) and "TTree" not in ours.streamers
