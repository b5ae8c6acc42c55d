"""The machinery of comparison itself: digests of parts, sums by path, guarded children."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from support.guard import run_guarded
from support.parts import array_parts, plain, sums, sums_differ


def sha(*pieces: bytes) -> str:
    return hashlib.sha256(b"".join(pieces)).hexdigest()[:32]


def i8(*numbers: int) -> bytes:
    return np.array(numbers, "<i8").tobytes()


def test_lists_of_lists_give_two_levels_of_counts() -> None:
    array = ak.Array([[[1, 2], []], [], [[3]]])
    counts, inner, values = array_parts(array)
    assert (counts.path, counts.kind, counts.sha256) == ("[]", "counts", sha(i8(2, 0, 1)))
    assert (inner.path, inner.kind, inner.sha256) == ("[][]", "counts", sha(i8(2, 0, 1)))
    assert (values.path, values.dtype, values.sha256) == ("[][]", "int64", sha(i8(1, 2, 3)))
    assert values.per_entry == sha(i8(2, 0, 1))


def test_a_view_has_the_digest_of_its_own_values() -> None:
    whole = ak.Array([[1.0, 2.0], [3.0], [], [4.0]])
    assert [p.sha256 for p in array_parts(whole[1:3])] == [
        p.sha256 for p in array_parts(ak.Array([[3.0], []]))
    ]


def test_fixed_dimensions_strings_records_and_options() -> None:
    parts = {
        p.path: p
        for p in array_parts(ak.Array({"x": np.arange(6, dtype="<i4").reshape(2, 3), "@s": ["a", "bc"]}))
    }
    assert parts[".x[3]"].sha256 == sha(np.arange(6, dtype="<i4").tobytes())
    assert parts[".x[3]"].per_entry == sha(i8(3, 3))
    assert parts[".s"].sha256 == sha(i8(1, 2), b"abc")
    valid, values = array_parts(ak.Array([1, None, 3]))
    assert (valid.path, valid.sha256) == ("?", sha(b"\1\0\1"))
    assert values.per_entry == sha(i8(1, 0, 1))


def test_a_bool_is_one_byte_that_is_0_or_1() -> None:
    (values,) = array_parts(ak.Array(np.array([2, 0, 1], np.uint8).view(np.bool_)))
    assert values.sha256 == sha(b"\1\0\1")


def test_sums_find_a_changed_number_and_a_lost_member() -> None:
    truth = sums(plain({"a": [1, 2], "b": {"c": "xy", "d": 1.5}}))
    assert sums_differ(truth, sums(plain({"a": [1, 2], "b": {"c": "xy", "d": 1.5}}))) == ([], [])
    assert sums_differ(truth, sums(plain({"a": [1, 3], "b": {"c": "xy", "d": 1.5}})))[0]
    assert sums_differ(truth, sums(plain({"a": [1, 2], "b": {"c": "xy"}})))[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the guard needs fork")
def test_a_crash_and_a_hang_cost_one_item_each() -> None:
    def work(job: str, skip: frozenset[str], emit: Any, begin: Any) -> None:
        for item in ("first", "dies", "sleeps", "last"):
            if item in skip:
                continue
            begin(item)
            if item == "dies":
                os.kill(os.getpid(), signal.SIGSEGV)
            if item == "sleeps":
                time.sleep(60)
            emit({"item": item, "status": "ok"})

    ((job, records),) = run_guarded(work, ["one"], stall_s=1)
    assert job == "one"
    assert {r["item"]: r["status"] for r in records} == {
        "first": "ok",
        "dies": "crash",
        "sleeps": "hang",
        "last": "ok",
    }
