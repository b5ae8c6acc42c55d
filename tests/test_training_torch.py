"""Data sets of PyTorch: masks, epochs of workers that stay, lengths and counts of all workers."""

from __future__ import annotations

from typing import Any

import pytest

sapwood = pytest.importorskip("sapwood")
np = pytest.importorskip("numpy")
ak = pytest.importorskip("awkward")

from test_training import the_torch  # noqa: E402

ROWS = 1000


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("torch") / "a.root"
    number = np.arange(ROWS)
    with sapwood.recreate(path) as file:
        file["t"] = {"n": number, "x": np.where(number % 10 == 0, np.inf, 1.0), "v": lists_of(number)}
    return f"{path}:t"


def lists_of(number: Any) -> Any:
    """Zero to three numbers in each list."""
    counts = number % 4
    return ak.unflatten(np.arange(counts.sum(), dtype="f4"), counts)


def made(place: str, *columns: str, **options: Any) -> Any:
    the_torch()
    given = {"size": 32, "shuffle": True, "to": "torch", "buffer": "20 kB"}
    return sapwood.batches(place, columns or ("n",), **{**given, **options})


def loader(data: Any, workers: int = 2, **options: Any) -> Any:
    return the_torch().utils.data.DataLoader(data, batch_size=None, num_workers=workers, **options)


def numbers(batches: Any) -> list[list[int]]:
    return [batch[0]["n"].tolist() for batch in batches]


@pytest.mark.parametrize("workers", [0, 2])
def test_padded_lists_come_with_their_masks(place: str, workers: int) -> None:
    data = made(place, "n", "v", pad=3, target="n", weight="x").torch()
    seen = 0
    for x, y, w, masks in loader(data, workers):
        assert (x["n"] == y).all() and len(w) == len(y)
        assert masks["v"].sum(dim=1).tolist() == (y % 4).tolist()
        seen += len(y)
    assert seen == ROWS
    rows = the_torch().utils.data.DataLoader(made(place, "n", "v", pad=3).row_data(), batch_size=50)
    for x, masks in rows:
        assert masks["v"].sum(dim=1).tolist() == (x["n"] % 4).tolist()


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers_that_stay_have_the_epoch_that_was_set(place: str, context: str) -> None:
    data = made(place).torch()
    staying = loader(data, persistent_workers=True, multiprocessing_context=context)
    found = {}
    for epoch, batch in ((0, 0), (3, 5), (1, 0)):
        data.set_epoch(epoch, batch)
        found[epoch] = numbers(staying)
    later = numbers(staying), numbers(staying)

    def wanted(epoch: int, batch: int = 0) -> list[list[int]]:
        others = made(place).torch()
        others.set_epoch(epoch, batch)
        return numbers(loader(others))

    assert found == {0: wanted(0), 3: wanted(3, 5), 1: wanted(1)}
    assert found[0] != found[1] and found[3] == wanted(3)[5:]
    assert later == (wanted(2), wanted(3)), "epochs that nobody set follow one another"


def test_an_epoch_cannot_begin_after_its_end(place: str) -> None:
    for workers in (0, 2):
        data = made(place).torch()
        data.set_epoch(1, 32)
        assert numbers(loader(data, workers)) == []
        data.set_epoch(1, 33)
        with pytest.raises(
            sapwood.errors.MismatchError, match="has 32 batches, and cannot begin at batch 33"
        ):
            list(loader(data, workers))
    for wrong in ((1, -3), (-1, 0), (0.5, 0)):
        with pytest.raises(sapwood.errors.MismatchError, match="is a whole number from 0 on"):
            data.set_epoch(*wrong)


def test_the_length_is_that_of_all_workers(place: str) -> None:
    for workers, batches in ((0, 32), (3, 33)):
        data = made(place).torch(workers)
        assert len(loader(data, workers)) == len(data) == len(numbers(loader(data, workers))) == batches
    with pytest.raises(sapwood.errors.MismatchError, match="made for 3 workers, and the loader has 2"):
        list(loader(data, 2))
    with pytest.raises(TypeError, match="depends on that of workers"):
        len(made(place).torch())


@pytest.mark.parametrize("workers", [0, 2])
def test_all_workers_are_counted(place: str, workers: int) -> None:
    data = made(place, "x", "v", pad=2, target="n").torch()
    for epochs in (1, 2):
        list(loader(data, workers))
        assert data.stats == {
            "rows": epochs * ROWS,
            "not_finite": {"x": epochs * ROWS // 10},
            "cut_lists": {"v": epochs * ROWS // 4},
        }
