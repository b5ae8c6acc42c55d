"""Rows of objects: what is read together with one, and what is an error of one alone."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")

ENTRIES = 300


@dataclasses.dataclass
class Hit:
    x: np.float32
    n: np.int32


@dataclasses.dataclass
class Event:
    number: np.int64
    hits: list[Hit]


def event(number: int) -> Event:
    return Event(number, [Hit(number / 2 + k, k) for k in range(number % 4)])


@pytest.fixture(params=["tree", "rntuple"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Baskets and pages of a few entries."""
    events = [event(number) for number in range(ENTRIES)]
    with sapwood.recreate(tmp_path / "rows.root", compression="zlib:1") as file:
        if request.param == "tree":
            file.mktree("t", {"event": Event}, split_level=0, auto_flush=3).extend({"event": events})
        else:
            file.mkrntuple("t", {"event": Event}, page_bytes=32).extend({"event": events})
    return tmp_path / "rows.root"


def plain(value: Any) -> Any:
    return value.to_list() if hasattr(value, "to_list") else value


ORDERS = {
    "in order": None,
    "back": list(range(ENTRIES))[::-1],
    "at random": np.random.default_rng(1).permutation(ENTRIES).tolist(),
    "again": [5, 5, 7, 7, 7, 299, 0, 5, 6, 7, 8, 9, 9],
}


@pytest.mark.parametrize("order", ORDERS)
def test_rows_are_those_of_the_array(path: Path, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = sapwood.open(path)["t"]
    whole = tree["event"].array().to_list()
    branch, reads = type(tree["event"]), []
    array = branch.array
    monkeypatch.setattr(branch, "array", lambda self, **how: reads.append(how) or array(self, **how))
    entries = ORDERS[order]
    rows = tree.rows() if entries is None else tree.rows(entries)
    wanted = range(ENTRIES) if entries is None else entries
    assert [plain(row["event"]) for row in rows] == [whole[entry] for entry in wanted]
    assert [row.entry for row in rows] == list(wanted)
    assert len(reads) < 25, "one for more and more rows, and not one for each basket"
    reads.clear()
    for index in (7, 3, 250, 11, -1) if len(rows) == ENTRIES else (7, 3, 11, -1):
        assert plain(rows[index]["event"]) == whole[wanted[index]]
    assert len(reads) <= 5, "rows in no order are read one by one"
    assert [plain(row["event"]) for row in rows[2:9:3]] == [whole[entry] for entry in wanted[2:9:3]]
    with pytest.raises(IndexError):
        rows[len(rows)]


@pytest.mark.parametrize("listed", [False, True])
def test_what_is_broken_is_the_error_of_its_rows(path: Path, listed: bool) -> None:
    whole = sapwood.open(path)["t"]["event"].array().to_list()
    broken = bytearray(path.read_bytes())
    middle = len(broken) // 3
    broken[middle : middle + 40] = bytes(byte ^ 0xFF for byte in broken[middle : middle + 40])
    path.write_bytes(broken)
    tree = sapwood.open(path)["t"]

    def fails(entry: int) -> bool:
        try:
            return plain(tree["event"].array(entry_start=entry, entry_stop=entry + 1)[0]) != whole[entry]
        except sapwood.errors.SapwoodError:
            return True

    alone = {entry for entry in range(ENTRIES) if fails(entry)}
    failed = set()
    for entry, row in enumerate(tree.rows(list(range(ENTRIES))) if listed else tree.rows()):
        try:
            assert plain(row["event"]) == whole[entry]
        except sapwood.errors.SapwoodError:
            failed.add(entry)
    assert alone and alone <= failed and len(failed) < 30, (alone, failed)
