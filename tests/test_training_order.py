"""The order of shuffled batches: what determines it, and whether all orders are equally likely."""

from __future__ import annotations

from typing import Any

import pytest

sapwood = pytest.importorskip("sapwood")
np = pytest.importorskip("numpy")

ROWS, CLUSTER = 48_000, 2_000
CLUSTERS = ROWS // CLUSTER


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("order")
    for place in range(2):
        with sapwood.recreate(folder / f"{place}.root") as file:
            table: Any = None
            for start in range(place * ROWS // 2, (place + 1) * ROWS // 2, CLUSTER):
                event = np.arange(start, start + CLUSTER)
                part = {"event": event, "x": event / 3, "wide": event[:, None] + np.arange(3)}
                if table is None:
                    table = file.mktree("t", part)
                else:
                    table.extend(part)
                table.flush()
    return [f"{folder}/{place}.root:t" for place in range(2)]


def made(files: list[str], **options: Any) -> Any:
    return sapwood.batches(files, ["event", "x", "wide"], 500, shuffle=True, **options)


def events(batches: Any) -> Any:
    found = []
    for batch in batches:
        event = batch["event"]
        np.testing.assert_array_equal(batch["x"], event / 3)
        np.testing.assert_array_equal(batch["wide"], event[:, None] + np.arange(3))
        found.append(event)
    return np.concatenate(found)


def planned(batches: Any, epoch: int = 0) -> Any:
    """The events in the order that the plan has, without reading them."""
    found = []
    for group, _ in batches._orders(epoch, 0, 0).groups():
        rows = [
            np.arange(one.start, one.stop) + file * ROWS // 2
            if isinstance(one, slice)
            else one + file * ROWS // 2
            for file, one in group.files
        ]
        found.append(np.concatenate(rows)[group.places])
    return np.concatenate(found)


@pytest.mark.parametrize("buffer", ["64 MB", "2 MB", "600 kB"])
def test_rows_come_in_the_order_of_the_plan_for_any_number_of_threads(files: list[str], buffer: str) -> None:
    wanted = planned(made(files, buffer=buffer, seed=3))
    assert sorted(wanted) == list(range(ROWS))
    for threads in (1, 2, 3):
        np.testing.assert_array_equal(events(made(files, buffer=buffer, seed=3, threads=threads)), wanted)
    assert (planned(made(files, buffer=buffer, seed=4)) != wanted).any()


def test_an_epoch_begins_at_any_batch(files: list[str]) -> None:
    samples = {"one": {"files": files[0], "share": 0.3}, "two": {"files": files[1], "share": 0.7}}
    for of in (files, samples):
        whole = made(of, buffer="600 kB")
        whole.set_epoch(2)
        wanted = [batch["event"].tolist() for batch in whole]
        for first in (0, 1, 37, len(wanted) - 1, len(wanted)):
            later = made(of, buffer="600 kB")
            later.set_epoch(2, first)
            assert later.state_dict()["batch"] == first
            assert [batch["event"].tolist() for batch in later] == wanted[first:]
            assert later.state_dict()["epoch"] == 3


def chi_square(counts: Any) -> float:
    expected = counts.sum() / counts.size
    return float(((counts - expected) ** 2 / expected).sum())


def test_rows_of_all_places_come_to_all_places_of_an_epoch(files: list[str]) -> None:
    # One group: 256 buckets, and rows of all files.
    batches = made(files, buffer="64 MB")
    places, pairs, parts = np.zeros((12, 12)), np.zeros((12, 12)), 12
    for epoch in range(6):
        part = planned(batches, epoch) * parts // ROWS
        np.add.at(places, (np.arange(ROWS) * parts // ROWS, part), 1)
        np.add.at(pairs, (part[0::2], part[1::2]), 1)
    # 121 and 143 degrees of freedom: outside of these bounds once in 10,000 shuffles.
    assert 70 < chi_square(places) < 190 and 85 < chi_square(pairs) < 215


def test_clusters_come_to_all_places_of_an_epoch(files: list[str]) -> None:
    batches = made(files, buffer="600 kB")
    quarters = np.zeros((CLUSTERS, 4))
    epochs = 50
    for epoch in range(epochs):
        cluster = planned(batches, epoch) // CLUSTER
        for quarter, part in enumerate(np.split(cluster, 4)):
            quarters[:, quarter] += np.bincount(part, minlength=CLUSTERS) / CLUSTER
    # 69 degrees of freedom. Clusters that are divided by a border of quarters make it smaller.
    assert chi_square(quarters) < 120
    assert np.allclose(quarters.sum(axis=1), epochs)


def test_neighbours_are_of_one_cluster_no_more_often_than_by_chance(files: list[str]) -> None:
    batches = made(files, buffer="600 kB")
    found = expected = variance = 0.0
    for group, _ in batches._orders(0, 0, 0).groups():
        first = np.concatenate(
            [np.arange(one.start, one.stop) if isinstance(one, slice) else one for _, one in group.files]
        )
        file = np.concatenate(
            [
                np.full(one.stop - one.start if isinstance(one, slice) else len(one), file)
                for file, one in group.files
            ]
        )
        cluster = (first // CLUSTER + file * 100)[group.places]
        shares = np.unique(cluster, return_counts=True)[1] / len(cluster)
        chance = float((shares**2).sum())
        found += float((cluster[1::2] == cluster[0::2][: len(cluster[1::2])]).sum())
        expected += chance * len(cluster[1::2])
        variance += chance * (1 - chance) * len(cluster[1::2])
    assert abs(found - expected) < 4 * variance**0.5


def test_batches_have_the_values_of_arrays(files: list[str]) -> None:
    arrays = sapwood.concatenate(files, ["event", "x", "wide"], library="np")
    batches = made(files, buffer="2 MB")
    order = planned(batches)
    for name in ("event", "x", "wide"):
        found = np.concatenate([batch[name] for batch in made(files, buffer="2 MB")])
        np.testing.assert_array_equal(found, arrays[name][order])
