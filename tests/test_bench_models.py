"""What the benchmarks compute and do not measure: layouts, waits in a trace, and the model of many cores."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.read import cores as reading_cores  # noqa: E402
from bench.support.waits import waits  # noqa: E402
from bench.write import cores, layout  # noqa: E402


def test_seeks_of_a_layout_are_counted() -> None:
    # Two branches of four entries: the second one has a basket for two of them, before the first one's.
    baskets = [
        layout.Basket(0, 4, 300, 100, 0),
        layout.Basket(0, 2, 100, 100, 1),
        layout.Basket(2, 4, 200, 100, 1),
    ]
    found = layout.reading(baskets, 4, [0])
    assert (found.seeks, found.back, found.fetched) == (1, 1, 0)
    assert found.jumped == pytest.approx(300e-6) and found.apart == pytest.approx(250e-6)


def test_waits_are_told_apart_by_their_calls() -> None:
    mutex = "futex(0x1, FUTEX_WAIT_BITSET_PRIVATE, 2, NULL, FUTEX_BITSET_MATCH_ANY"
    clock = "futex(0x3, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 0, {tv_sec=1}, FUTEX_BITSET_MATCH_ANY"
    found = waits(
        [
            "7  getsid(0) = 1 <0.000001>",
            "7  futex(0x1, FUTEX_WAIT_PRIVATE, 2, NULL) = 0 <9.0>",
            f"8  {mutex} <unfinished ...>",
            "9  futex(0x2, FUTEX_WAIT_PRIVATE, 2, NULL) = 0 <0.25>",
            "9  futex(0x2, FUTEX_WAIT_PRIVATE, 2, NULL) = -1 EAGAIN (Resource temporarily unavailable) <0.5>",
            "9  futex(0x2, FUTEX_WAKE_PRIVATE, 1) = 1 <0.5>",
            "8  <... futex resumed>) = 0 <0.125>",
            f"9  {clock}) = 0 <0.5>",
            "7  getsid(0) = 1 <0.000001>",
            f"8  {mutex}) = 0 <9.0>",
        ]
    )
    assert found == {"engine": (1, 0.125), "mutex": (1, 0.25), "condition": (1, 0.5), "other": (0, 0)}


def test_waits_for_a_condition_that_has_counted_to_two_are_none_for_a_mutex() -> None:
    def waited(value: int, seconds: float) -> str:
        call = f"futex(0x1, FUTEX_WAIT_BITSET_PRIVATE, {value}, NULL, FUTEX_BITSET_MATCH_ANY"
        return f"8  {call}) = 0 <{seconds}>"

    mark = "7  getsid(0) = 1 <0.000001>"
    alone = waits([mark, waited(2, 0.5), mark])
    assert alone["engine"] == (1, 0.5) and alone["other"] == (0, 0)
    among = waits([mark, waited(1, 0.25), waited(2, 0.5), waited(3, 0.25), mark])
    assert among["engine"] == (0, 0) and among["other"] == (3, 1.0)


def test_the_model_of_reading_is_bound_by_the_caller() -> None:
    costs = reading_cores.Costs(caller=0.1, threads=1.0, groups=1_000)
    one, two, many = (reading_cores.modelled(costs, number) for number in (1, 2, 64))
    assert one == pytest.approx(1.0, rel=0.01), "the caller works meanwhile"
    assert one / two == pytest.approx(2, rel=0.01)
    assert many == pytest.approx(0.1, rel=0.02)
    few = reading_cores.Costs(caller=0.0, threads=1.0, groups=4)
    assert reading_cores.modelled(few, 64) == pytest.approx(0.25), "no more threads than groups have work"


def test_the_model_shares_what_threads_have_in_common() -> None:
    ours = cores.Costs(fill=0.1, lock=0.0, write=0.01, end=0.0, bytes=1e6)
    one, ten, many = (cores.one_tree(ours, threads, 1_000, 0.0).seconds for threads in (1, 10, 100))
    assert one == pytest.approx(1_000 * 0.11, rel=0.01)
    assert 9 < one / ten <= 10
    assert one / many == pytest.approx(11, rel=0.05), "writes to one file follow one another"
    assert cores.files(0.11, 100, 1_000) < many / 5


def test_the_model_queues_what_finds_the_lock_taken() -> None:
    root = cores.RootCosts(fill=0.1, merge=0.01, copy=0.0, queued=0.01, end=0.0)
    one, many = (cores.merger(root, threads, 1_000, 0.0) for threads in (1, 100))
    assert one.queue == 0 and one.seconds == pytest.approx(1_000 * 0.11, rel=0.01)
    assert many.queue > 50 and one.seconds / many.seconds == pytest.approx(11, rel=0.1)
    assert cores.merger(root, 100, 1_000, 0.0) == many, "no chance in it"
