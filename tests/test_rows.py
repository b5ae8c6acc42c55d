"""Trees entry by entry, and the cache that serves them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.events import Event, Hit
from support.ranged import serving

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")

ENTRIES = 3_000


@pytest.fixture
def tree(tmp_path: Path) -> Any:
    with sapwood.recreate(tmp_path / "rows.root") as file:
        number = np.arange(ENTRIES)
        types = {"number": "i8", "root": "f8", "hits": "var * float32", "name": "string", "pair": "2 * int16"}
        tree = file.mktree("deep/t", types, auto_flush=250)
        hits = ak.unflatten(np.arange((number % 4).sum(), dtype="f4"), number % 4)
        names = [f"entry {k}" for k in number]
        pairs = np.stack([number % 100, -(number % 7)], axis=1)
        tree.extend({"number": number, "root": np.sqrt(number), "hits": hits, "name": names, "pair": pairs})
    with sapwood.open(tmp_path / "rows.root") as file:
        yield file["deep/t"]


def check(tree: Any, row: Any, entry: int) -> None:
    assert (row.entry, row["number"], row["name"]) == (entry, entry, f"entry {entry}")
    assert row["root"] == np.sqrt(entry) and len(row["hits"]) == entry % 4
    assert row["pair"].tolist() == [entry % 100, -(entry % 7)]


def test_entries_in_order(tree: Any) -> None:
    rows = tree.rows()
    assert len(rows) == ENTRIES
    for entry, row in enumerate(rows):
        check(tree, row, entry)
    assert list(rows[7]) == [branch.name for branch in tree.branches] and len(rows[7]) == len(tree.branches)
    assert tree.cache_figures["misses"] == 5, "each branch is met once"
    assert tree.cache_figures["wasted_bytes"] == 0
    assert ak.to_list(dict(rows[5])["hits"]) == tree["hits"].array()[5].tolist()


def test_entries_in_any_order(tree: Any) -> None:
    rows = tree.rows()
    chance = random.Random(3)
    for _ in range(60):
        entry = chance.randrange(ENTRIES)
        check(tree, rows[entry], entry)
    check(tree, rows[-1], ENTRIES - 1)
    assert [row["number"] for row in rows[10:16:2]] == [10, 12, 14]
    with pytest.raises(IndexError):
        rows[ENTRIES]


def test_a_list_of_entries(tree: Any) -> None:
    entries = [entry for run in range(5) for entry in range(run, ENTRIES, 250)]
    for entry, row in zip(entries, tree.rows(entries), strict=True):
        check(tree, row, entry)
    with pytest.raises(sapwood.errors.MismatchError, match="no such entry"):
        tree.rows([ENTRIES])


def test_a_mask_of_entries(tree: Any) -> None:
    mask = np.arange(ENTRIES) % 1000 == 7
    for entries in (
        mask,
        mask.tolist(),
        ak.Array(mask),
        np.flatnonzero(mask).astype("u2"),
        iter([7, 1007, 2007]),
    ):
        assert [row["number"] for row in tree.rows(entries)] == [7, 1007, 2007]
    assert len(tree.rows([])) == len(tree.rows(np.zeros(ENTRIES, bool))) == 0


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([True, False], f"a mask of 2 values was given for {ENTRIES} entries"),
        ([1.0, 2.0], "entries are whole numbers, or a mask"),
        (["1"], "entries are whole numbers, or a mask"),
        ([[1], [2, 3]], "entries are whole numbers, or a mask"),
        ([[1, 2]], "entries are whole numbers, or a mask"),
        ([3, -1], "no such entry: -1"),
        ([np.uint64(3), np.int64(-1)], "no such entry: -1"),
        (np.ma.array([1, 2], mask=[0, 1]), "1 of the entries are masked"),
        (5, "entries are whole numbers, or a mask"),
    ],
)
def test_what_is_no_list_of_entries(tree: Any, entries: Any, words: str) -> None:
    with pytest.raises(sapwood.errors.MismatchError, match=words):
        tree.rows(entries)


def test_the_cache_may_be_changed_and_switched_off(tree: Any) -> None:
    assert tree.cache_size == 30_000_000
    for size in (0, "20 kB", 1, "1 GB"):
        tree.cache_size = size
        for entry in range(0, ENTRIES, 100):
            check(tree, tree.rows()[entry], entry)
        assert (tree["number"].array(library="np") == np.arange(ENTRIES)).all()
    assert tree.cache_size == 1_000_000_000
    with pytest.raises(KeyError, match="nearest|not found"):
        tree.rows()[0]["nothing"]


@pytest.mark.parametrize("split_level", [0, 99])
def test_groups_of_branches_and_objects(tmp_path: Path, split_level: int) -> None:
    with sapwood.recreate(tmp_path / "events.root") as file:
        tree = file.mktree("t", {"event": Event}, auto_flush=20, split_level=split_level)
        for number in range(100):
            tree.fill(event=Event(number, "", [Hit(number / 2, k) for k in range(number % 3)]))
    with sapwood.open(tmp_path / "events.root") as file:
        tree = file["t"]
        whole = tree["event"].array()
        for entry in (0, 99, 45, 46, 47):
            assert ak.to_list(tree.rows()[entry]["event"]) == ak.to_list(whole[entry])


def test_over_a_link_entries_cost_requests_by_the_window(tree: Any) -> None:
    """The requests that a server sees."""
    with serving(Path(tree.file_path).parent, only_first=True) as server:
        far = sapwood.open(f"{server.url}/rows.root")["deep/t"]
        server.forget()
        for row in far.rows():
            assert row["number"] == row.entry and row["root"] == np.sqrt(row.entry)
    # 12 clusters of two branches: the first look at each, and windows of 1, 1, 2, 4 and the last 4 clusters,
    # one range a request.
    assert 4 <= len(server.asked) <= 14, server.asked


def test_what_is_looked_at_together_comes_together(tmp_path: Path) -> None:
    """Branches of an object, and those that were named in advance: requests of the first entry do not grow with them."""
    with sapwood.recreate(tmp_path / "rows.root", compression="zlib:1") as file:
        file["t"] = {f"x{k}": np.full(1000, k) for k in range(40)}
        tree = file.mktree("objects", {"event": Event}, auto_flush=500)
        tree.extend({"event": [Event(number, "", [Hit(number / 2, 3)]) for number in range(1000)]})
    with serving(tmp_path, only_first=True) as server:
        found = []
        for look in (
            lambda rows: [rows["t"].rows()[0][name] for name in ("x3", "x7")],
            lambda rows: (row := rows["t"].rows(columns="x*")[0]) and [row[f"x{k}"] for k in range(40)],
            lambda rows: (row := rows["t"].rows(columns=["x7", "x3"])[0]) and [row[f"x{k}"] for k in (3, 7)],
            lambda rows: [ak.to_list(rows["objects"].rows()[0]["event"])["number"] + 1],
        ):
            far = sapwood.open(f"{server.url}/rows.root")
            far["t"], far["objects"]
            server.forget()
            assert look(far) in (list(range(40)), [3, 7], [1])
            found.append(len(server.asked))
    # One by one; all of one cluster; two places in it; an object's branches in two clusters.
    assert found[0] == 2 and found[1] == 1 and found[2] <= 2 and found[3] <= 3, found
    with sapwood.open(tmp_path / "rows.root") as file, pytest.raises(KeyError, match="like"):
        file["t"].rows(columns="nothing*")
