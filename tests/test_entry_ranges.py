"""Entry lists of many entries, made from ranges and from numbers, against plain Python."""

from __future__ import annotations

import io
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")

TOTAL = 200_000


def _masks() -> dict[str, np.ndarray]:
    numbers = np.arange(TOTAL)
    draw = np.random.default_rng(7).random(TOTAL)
    masks = {f"{share:g}": draw < share for share in (0, 1e-5, 0.01, 0.0624, 0.0626, 0.5, 0.99, 1)}
    return {
        **masks,
        "alternating": numbers % 2 == 1,
        "around a block": (numbers >= 63_990) & (numbers < 64_010),
        "a block of none": (numbers < 64_000) | (numbers >= 128_000),
        "a full block": (numbers >= 64_000) & (numbers < 128_000),
        "the last": numbers == TOTAL - 1,
    }


MASKS = _masks()


def _ranges(mask: np.ndarray) -> np.ndarray:
    return np.flatnonzero(np.diff(np.concatenate([[0], mask.astype("int8"), [0]])))


def _stored(entries: object) -> object:
    with sapwood.recreate(memory := io.BytesIO()) as file:
        file["l"] = sapwood.objects.entry_list(entries)
    return sapwood.open(memory)["l"]


@pytest.mark.parametrize("name", MASKS)
def test_lists_of_ranges_and_of_numbers_are_the_same(name: str) -> None:
    from sapwood._read.entry_ranges import EntryRanges

    mask = MASKS[name]
    numbers = np.flatnonzero(mask)
    ranges = EntryRanges(_ranges(mask))
    assert len(ranges) == len(numbers) and np.array_equal(ranges.numbers(), numbers)
    for start, stop in ((0, TOTAL), (63_995, 64_005), (5, 5), (9, 3), (100, 150_001)):
        expected = numbers[(numbers >= start) & (numbers < stop)]
        assert np.array_equal(ranges.within(start, stop).numbers(), expected)
    rows = np.arange(0, TOTAL, 3)
    assert np.array_equal(ranges.among(rows), rows[mask[rows]])
    parts = [ranges.within(0, 70_000), ranges.within(70_000, 70_000), ranges.within(70_000, TOTAL)]
    assert np.array_equal(EntryRanges.joined(parts).numbers(), numbers)
    of_ranges, of_numbers = _stored(EntryRanges.joined(parts)), _stored(numbers)
    assert len(of_ranges) == len(of_numbers) == len(numbers)
    assert np.array_equal(of_ranges.numbers(), numbers) and np.array_equal(of_numbers.numbers(), numbers)
    shuffled = np.random.default_rng(1).permutation(np.concatenate([numbers, numbers]))
    assert np.array_equal(_stored(shuffled).numbers(), numbers)


@pytest.mark.parametrize("cut", ["x >= 0", "x % 2 == 1", "x % 100 == 1", "x < 0", "x % 2000 < 1000"])
def test_drawn_lists_are_those_of_plain_python(tmp_path: Path, cut: str) -> None:
    x = np.arange(TOTAL)
    for part in "ab":
        with sapwood.recreate(tmp_path / f"{part}.root") as file:
            file["t"] = {"x": x}
    tree = sapwood.open(tmp_path / "a.root")["t"]
    mask = eval(cut, {"x": x})
    expected = x[mask]
    assert np.array_equal(tree.passing(cut), expected)
    assert np.array_equal(tree.draw(">>l", cut).numbers(), expected)
    some = expected[(expected >= 10) & (expected < 150_000)]
    assert np.array_equal(tree.draw(">>l", cut, entry_start=10, entry_stop=150_000).numbers(), some)
    rows = x[::-7]
    assert np.array_equal(tree.draw(">>l", cut, entries=rows).numbers(), np.sort(rows[mask[rows]]))
    both = sapwood.draw(f"{tmp_path}/[ab].root:t", ">>l", cut)
    assert len(both) == 2 * len(expected)
    assert all(np.array_equal(one.numbers(), expected) for one in both.lists)
    chosen = np.arange(0, 2 * TOTAL, 7)
    picked = sapwood.draw(f"{tmp_path}/[ab].root:t", ">>l", cut, entries=chosen)
    whole = np.concatenate([mask, mask])[chosen]
    assert len(picked) == np.count_nonzero(whole)


def test_what_a_list_takes_grows_with_its_blocks_not_with_its_entries(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["t"] = {"x": np.zeros(3_000_000, "i1")}
    tree = sapwood.open(tmp_path / "a.root")["t"]
    tree.draw(">>l", "x == 0", entry_stop=1)
    tracemalloc.start()
    try:
        made = tree.draw(">>l", "x == 0")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Numbers of eight bytes would be 24 MB, and a number of Python takes four times more.
    assert len(made) == 3_000_000 and peak < 8_000_000
