"""Collections of dask-awkward: values, and the columns that are read for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")
dask = pytest.importorskip("dask")
dask_awkward = pytest.importorskip("dask_awkward")
ak = pytest.importorskip("awkward")

ROWS = 60


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("dask")
    for part in range(3):
        numbers = np.arange(part * ROWS, (part + 1) * ROWS)
        with sapwood.recreate(folder / f"part{part}.root") as file:
            types = {"x": "i8", "y": "f8", "v": "var * float32", "name": "string", "Muon": "var * {pt: float32, eta: float32}"}
            with file.mktree("t", types, auto_flush=20) as tree:
                lists = ak.Array([[n + k for k in range(n % 4)] for n in numbers.tolist()])
                tree.extend({
                    "x": numbers,
                    "y": numbers / 2,
                    "v": ak.values_astype(lists, "float32"),
                    "name": [f"n{n}" for n in numbers],
                    "Muon": ak.zip({"pt": ak.values_astype(lists * 2, "float32"), "eta": ak.values_astype(-lists, "float32")}),
                })
    return f"{folder}/part*.root:t"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Columns of each read."""
    from sapwood._read import partitions

    found: list[list[str]] = []
    real = partitions.reading.read

    def read(plan: Any, *rest: Any) -> Any:
        found.append([output.name for output in plan.outputs])
        return real(plan, *rest)

    monkeypatch.setattr(partitions.reading, "read", read)
    return found


def computed(collection: Any) -> Any:
    with dask.config.set(scheduler="synchronous"):
        return collection.compute()


def test_values_are_those_of_concatenate(files: str) -> None:
    events = sapwood.dask(files, step_size=20)
    assert events.npartitions == 9 and events.divisions == tuple(range(0, 181, 20))
    whole = sapwood.concatenate(files)
    assert events.fields == whole.fields
    assert computed(events).to_list() == whole.to_list()
    assert computed(dask_awkward.sum(events.x)) == sum(range(3 * ROWS)) and len(events) == 3 * ROWS


def test_only_columns_of_the_graph_are_read(files: str, asked: list[list[str]]) -> None:
    events = sapwood.dask(files, step_size=60)
    asked.clear()
    found = computed(events[events.x > 100].v)
    assert found.to_list() == [[n + k for k in range(n % 4)] for n in range(101, 180)]
    assert len(asked) == 3 and all(set(columns) == {"x", "v"} for columns in asked)
    asked.clear()
    zipped = dask_awkward.zip({"a": events.y, "b": events.x}, depth_limit=1)
    assert computed(zipped.a).to_list() == [n / 2 for n in range(180)]
    assert asked == [["y"]] * 3
    asked.clear()
    assert computed(dask_awkward.num(events, axis=0)) == 180


def test_expressions_cuts_friends_and_masks_are_those_of_iterate(files: str, tmp_path: Path) -> None:
    events = sapwood.dask(files, ["x", "Sum$(v)", "z"], "x % 3 == 0", aliases={"z": "y*2"}, step_size=25)
    assert computed(events.z).to_list() == list(range(0, 180, 3))
    assert computed(events["Sum$(v)"]).to_list() == [sum(n + k for k in range(n % 4)) for n in range(0, 180, 3)]
    with sapwood.recreate(tmp_path / "friend.root") as file:
        file["f"] = {"w": np.arange(180) * 10}
    joined = sapwood.dask(files, ["x", "f.w"], friends={"f": f"{tmp_path}/friend.root:f"}, step_size=25)
    assert computed(joined["f.w"] - 10 * joined.x).to_list() == [0] * 180
    masked = sapwood.dask(files, ["x"], lumi_mask=({"1": [[5, 8], [70, 71]]}, ("1", "x")))
    assert computed(masked.x).to_list() == [5, 6, 7, 8, 70, 71]


def test_workers_of_other_processes_read_their_partitions(files: str) -> None:
    events = sapwood.dask(files, step_size=20)
    with dask.config.set(scheduler="processes", num_workers=2):
        assert (events.x * 2).compute().to_list() == list(range(0, 360, 2))


def test_what_cannot_be_a_collection_says_why(files: str) -> None:
    with pytest.raises(sapwood.errors.NotFoundError, match='no branch "nope"'):
        sapwood.dask(files, ["nope"])
    with pytest.raises(TypeError, match="unexpected keyword argument 'nope'"):
        sapwood.dask(files, nope=1)
    with sapwood.open(files.replace("*", "0")) as tree:
        with pytest.raises(sapwood.errors.MismatchError, match="takes paths"):
            sapwood.dask(tree)
