"""Which objects and inputs are merged: lists of names and paths, names that mean two things, inputs that are left out."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from test_merge import command

sapwood = pytest.importorskip("sapwood")


def written(path: Path, **objects: Any) -> Path:
    """A file with these objects; two underscores stand for a slash."""
    with sapwood.recreate(path) as file:
        for name, value in objects.items():
            file[name.replace("__", "/")] = value
    return path


def histogram(bins: int = 4) -> Any:
    return np.histogram([0.5], bins=bins, range=(0, 1))


def classes(path: Path) -> dict[str, str]:
    with sapwood.open(path) as file:
        return file.classnames(cycle=False)


@pytest.fixture
def one(tmp_path: Path) -> Path:
    return written(
        tmp_path / "one.root",
        h=histogram(),
        a__h=histogram(),
        b__h=histogram(),
        b__t={"x": [1, 2]},
        t={"x": [3]},
    )


def test_lists_take_names_and_paths(one: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.root"

    def left(**choice: Any) -> list[str]:
        return sorted(
            name
            for name, kind in classes(sapwood.merge(out, [one], **choice).output).items()
            if "Dir" not in kind
        )

    assert left(only="h") == ["a/h", "b/h", "h"]
    assert left(only=["b/h", "/t"]) == ["b/h", "b/t", "t"][::2]
    assert left(only="b") == ["b/h", "b/t"]
    assert left(exclude=["a", "b/t"]) == ["b/h", "h", "t"]
    assert left(exclude="a/h") == ["b/h", "b/t", "h", "t"]
    # What is named twice, or is in what is named, is no less there.
    for only in (["t", "t"], ["t", "b/t"], ["b", "b/t", "b/h"], ["b/t", "t"]):
        assert not sapwood.merge(out, [one], only=only).notices, only
    for exclude in (["b", "b/h"], ["h", "b/h"], ["h", "h"]):
        assert not sapwood.merge(out, [one], exclude=exclude).notices, exclude
    names = tmp_path / "names.txt"
    names.write_text("# of run 3\nb/t\nnowhere/x\n")
    done = command("-f", "-L", names, "-Ltype", "OnlyListed", out, one)
    assert done.returncode == 0 and "nowhere/x" in done.stdout and set(classes(out)) == {"a", "b", "b/t"}


def test_who_asks_for_nothing_that_is_there_is_told(one: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.root"
    out.write_bytes(b"what was there")
    with pytest.raises(sapwood.errors.MismatchError, match=r"no input has any.*nowhere"):
        sapwood.merge(out, [one, one], only=["nowhere", "h1"])
    assert out.read_bytes() == b"what was there"
    with pytest.raises(sapwood.errors.MismatchError, match="no input has any"):
        sapwood.merge(out, [one], only="t", trees=False)
    merged = sapwood.merge(out, [one], exclude=["t", "nowhere"])
    assert merged.notices == ["no input has nowhere, which is listed"]


THINGS = {
    "tree": {"thing": {"x": [1]}},
    "histogram": {"thing": histogram()},
    "directory": {"thing__h": histogram()},
    "text": {"thing": "words"},
}


@pytest.mark.parametrize("append", [False, True])
@pytest.mark.parametrize("pair", list(itertools.permutations(THINGS, 2)), ids=" then ".join)
def test_a_name_means_one_thing(pair: tuple[str, str], append: bool, tmp_path: Path) -> None:
    first, second = (written(tmp_path / f"{name}.root", **THINGS[name]) for name in pair)
    out = tmp_path / "out.root"
    inputs = [first, second]
    if append:
        out.write_bytes(first.read_bytes())
        inputs = [second]
    with pytest.raises(sapwood.errors.ExistsError, match=f"has the name of.*{second.name}, object thing"):
        sapwood.merge(out, inputs, append=append)
    assert not out.exists() or out.read_bytes() == first.read_bytes()
    if not append:
        with pytest.warns(UserWarning, match="left out"):
            merged = sapwood.merge(out, inputs, skip=True)
        assert list(merged.skipped) == [str(second)]
    assert classes(out) == classes(first)


def test_objects_of_one_name_that_nobody_adds_stand_side_by_side(tmp_path: Path) -> None:
    inputs = [written(tmp_path / f"{words}.root", thing=words) for words in ("one", "two")]
    with sapwood.open(sapwood.merge(tmp_path / "out.root", inputs).output) as file:
        assert [str(file[f"thing;{cycle}"]) for cycle in (1, 2)] == ["one", "two"]


def test_inputs_are_left_out_whole(tmp_path: Path) -> None:
    """What of an input fits is not merged either, where one of its objects does not: sums and trees stay those of the same inputs."""
    good = [
        written(tmp_path / f"{name}.root", a=histogram(), t={"x": [1, 2]}, z=histogram())
        for name in ("one", "two")
    ]
    more: Any = {
        "a": histogram(),
        "new": histogram(),
        "folder__inner__h": histogram(),
        "folder__t": {"x": [1]},
        "folder__text": "words",
    }
    bad = written(tmp_path / "bad.root", **more, t={"x": [9]}, z=np.histogram2d([0.5], [0.5], bins=2))
    tree = written(tmp_path / "tree.root", **more, t={"x": [0.5]})
    out = tmp_path / "out.root"
    with pytest.raises(sapwood.errors.MismatchError, match=r"bad\.root, object z"):
        sapwood.merge(out, [good[0], bad, good[1]])
    for inputs in ([good[0], bad, tree, good[1]], [good[0], good[1], tree, bad]):
        with pytest.warns(UserWarning, match="left out"):
            merged = sapwood.merge(out, inputs, skip=True)
        assert set(merged.skipped) == {str(bad), str(tree)}
        assert not sapwood.verify(out)
    with sapwood.open(out) as file:
        assert sorted(file.keys(cycle=False)) == ["a", "t", "z"]  # no directories either
        assert file["a"].values().sum() == file["z"].values().sum() == 2
        assert file["t"]["x"].array().tolist() == [1, 2, 1, 2]


def test_an_output_that_cannot_be_appended_to_is_what_it_was(tmp_path: Path) -> None:
    out = written(tmp_path / "out.root", t={"x": np.arange(1000)}, h=histogram())
    good = written(tmp_path / "good.root", t={"x": np.arange(100_000)}, h=histogram())
    bad = written(tmp_path / "bad.root", t={"x": np.arange(3.0)})
    before = out.read_bytes()
    with pytest.raises(sapwood.errors.MismatchError, match=r"bad\.root, object t/x"):
        sapwood.merge(out, [good, bad], append=True)
    assert out.stat().st_size == len(before)
    assert not sapwood.verify(out)
    with sapwood.open(out) as file:
        assert file["t"]["x"].array().tolist() == list(range(1000)) and file["h"].values().sum() == 1


def test_words_of_hadd_that_come_twice(one: Path, tmp_path: Path) -> None:
    out, names = tmp_path / "out.root", tmp_path / "names.txt"
    names.write_text(f"# two runs\n{one}\n  # and no more\n{one}\n")
    done = command("-f", "-f505", "-v", "0", "-dbg", out, f"@{names}")
    assert done.returncode == 0, done.stderr
    with sapwood.open(out) as file:
        assert file["t"].num_entries == 2 and file.compression.code == 505
    missing = command("-f", tmp_path / "no" / "folder.root", one)
    assert missing.returncode == 1 and f"there is no folder {tmp_path / 'no'}" in missing.stderr


@pytest.mark.parametrize("unfit", ["tree", "ntuple", "both", "new ntuple", "histogram"])
def test_skipped_inputs_leave_all_that_was_merged(tmp_path: Path, unfit: str) -> None:
    def write(name: str, number: int) -> Path:
        path = tmp_path / f"{name}.root"
        bad = unfit if name == "bad" else ""
        with sapwood.recreate(path) as file:
            file["t"] = {"other" if bad in ("tree", "both", "new ntuple") else "x": [number]}
            names = ["y"] if bad in ("ntuple", "both") else ["y", "z"]
            for ntuple in ["n", "more"] if bad != "new ntuple" else ["n", "more", "new"]:
                fields = {each: np.array([number], "i4") for each in names}
                file.mkrntuple(ntuple, fields)
            cells = np.ones((2, 2)) if bad == "histogram" else np.ones(2)
            file["h"] = (cells, *[np.arange(3.0)] * cells.ndim)
        return path

    inputs = [write("first", 1), write("second", 2), write("bad", 3), write("last", 4)]
    out = tmp_path / "out.root"
    with pytest.warns(UserWarning, match="left out"):
        merged = sapwood.merge(out, inputs, skip=True)
    assert len(merged.skipped) == 1 and not sapwood.verify(out)
    with sapwood.open(out) as file:
        assert sorted(file.keys(cycle=False)) == ["h", "more", "n", "t"]
        assert file["t"].arrays(library="np")["x"].tolist() == [1, 2, 4]
        for name in ("n", "more"):
            assert file[name].arrays()["z"].tolist() == [1, 2, 4]
        assert file["h"].values().tolist() == [3, 3]
