"""States of batches belong to the same data, wherever it is; files that change are an error."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

sapwood = pytest.importorskip("sapwood")
np = pytest.importorskip("numpy")
ak = pytest.importorskip("awkward")

ROWS = 100


def written(path: Path, sign: int = 1) -> str:
    number = np.arange(ROWS)
    with sapwood.recreate(path) as file:
        file["t"] = {
            "x": sign * number / 2,
            "n": sign * number,
            "v": ak.unflatten(np.arange(2.0 * ROWS), np.full(ROWS, 2)),
        }
    return f"{path}:t"


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    return [written(tmp_path / "a.root"), written(tmp_path / "b.root", -1)]


OTHERS: dict[str, tuple[dict[str, Any], str]] = {
    "another target": ({"target": "n + 1"}, "columns"),
    "a weight": ({"weight": "n"}, "columns"),
    "another padding": ({"pad": 3}, "columns"),
    "another number in it": ({"pad_value": -1}, "columns"),
    "another type": ({"dtype": "f4"}, "columns"),
    "a matrix": ({"matrix": True}, "columns"),
    "a scaling": ({"scaling": {"x": (1, 2), "v": None}}, "columns"),
    "another number for missing ones": ({"missing": 0}, "columns"),
    "another alias": ({"aliases": {"twice": "3*x"}}, "columns"),
    "another size": ({"size": 9}, "options"),
    "another seed": ({"seed": 1}, "options"),
    "another order": ({"shuffle": "rows"}, "options"),
    "another cut": ({"cut": "n > -1000"}, "options"),
    "a split": ({"split": ("a", {"a": 1.0})}, "options"),
    "another rank": ({"rank": 1, "world": 2}, "options"),
    "whole batches alone": ({"drop_last": True}, "options"),
}


def made(files: Any, **options: Any) -> Any:
    if "scaling" in options:
        options["scaling"] = sapwood.Scaling(options["scaling"])
    given = {"size": 10, "target": "n", "pad": 2, "shuffle": True, "aliases": {"twice": "2*x"}}
    return sapwood.batches(files, ["x", "v"], **{**given, **options})


@pytest.mark.parametrize("name", OTHERS)
def test_a_state_of_other_options_is_refused(files: list[str], name: str) -> None:
    options, part = OTHERS[name]
    state = json.loads(json.dumps(made(files).state_dict()))
    made(files).load_state_dict(state)
    other = made(files, **options)
    with pytest.raises(sapwood.errors.MismatchError, match=f"differ in their {part}: .*set_epoch") as error:
        other.load_state_dict(state)
    assert str(error.value).count("in their") == 1


def test_a_state_of_other_files_is_refused_and_one_of_copies_is_not(files: list[str], tmp_path: Path) -> None:
    begun = made(files)
    steps = iter(begun)
    next(steps)
    state = begun.state_dict()
    for others in ([files[1], files[1]], files[::-1], [files[0], written(tmp_path / "c.root", -1)]):
        with pytest.raises(sapwood.errors.MismatchError, match="differ in their files: another file"):
            made(others).load_state_dict(state)
    copies = []
    for place in files:
        path = tmp_path / "moved" / Path(place.partition(":")[0]).name
        path.parent.mkdir(exist_ok=True)
        shutil.copy(place.partition(":")[0], path)
        copies.append(f"{path}:t")
    moved = made(copies)
    moved.load_state_dict(state)
    assert (next(iter(moved)).y == next(steps).y).all()


def test_a_state_of_other_labels_or_friends_is_refused(files: list[str]) -> None:
    def labelled(label: int) -> Any:
        return made({"a": {"files": files, "label": label}}, target="label")

    with pytest.raises(sapwood.errors.MismatchError, match="differ in their columns"):
        labelled(2).load_state_dict(labelled(1).state_dict())
    friend = {"f": files}
    with pytest.raises(sapwood.errors.MismatchError, match="differ in their files"):
        made(files, friends=friend).load_state_dict(made(files, friends={"f": files[::-1]}).state_dict())
    made(files, friends=friend).load_state_dict(made(files, friends=friend).state_dict())


def test_what_is_not_a_state_is_refused(files: list[str]) -> None:
    state = made(files).state_dict()
    without = {name: value for name, value in state.items() if name != "epoch"}
    for wrong in (None, {}, without, {**state, "of": "0123456789abcdef"}):
        with pytest.raises(sapwood.errors.MismatchError, match="a state is what state_dict"):
            made(files).load_state_dict(wrong)


def test_numbers_of_numpy_are_numbers(files: list[str]) -> None:
    eight = np.int64(8)
    numbers = {"size": eight, "seed": np.int32(3), "rank": np.uint8(0), "world": np.int64(2), "pad": eight}
    batches = made({"a": {"files": files, "label": np.int64(1), "share": np.float32(1)}}, **numbers)
    batches.set_epoch(np.int64(2), np.int64(1))
    next(iter(batches))
    state = json.loads(json.dumps(batches.state_dict()))
    assert (state["epoch"], state["batch"]) == (2, 2)
    plain = {name: int(value) for name, value in numbers.items()}
    made({"a": {"files": files, "label": 1, "share": 1.0}}, **plain).load_state_dict(state)


@pytest.mark.parametrize("which", ["file", "friend"])
def test_a_file_that_is_written_again_is_an_error(files: list[str], tmp_path: Path, which: str) -> None:
    friend = written(tmp_path / "friend.root")
    batches = made(files[0], cut="f.n < 20", friends={"f": friend})
    batches.close()
    written(tmp_path / ("a.root" if which == "file" else "friend.root"), -1)
    with pytest.raises(sapwood.errors.IOError, match="written again after the batches were made: make them"):
        list(batches)


def test_a_table_that_is_replaced_in_its_file_is_an_error(tmp_path: Path) -> None:
    place = written(tmp_path / "a.root")
    batches = sapwood.batches(place, "x", 10, cut="x > 20")
    state = batches.state_dict()
    batches.close()
    with sapwood.update(tmp_path / "a.root") as file:
        file["t"] = {"x": np.zeros(ROWS)}
    with pytest.raises(sapwood.errors.IOError, match="written again"):
        list(batches)
    with pytest.raises(sapwood.errors.MismatchError, match="differ in their files"):
        sapwood.batches(place, "x", 10).load_state_dict(state)
