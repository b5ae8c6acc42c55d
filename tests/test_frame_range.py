"""Ranges of entries in frames: by their positions among those that pass the filters before."""

from __future__ import annotations

import concurrent.futures
import itertools
import json

import numpy as np
import pytest
import sapwood
from sapwood.errors import MismatchError

from support.frames import ENTRIES, arrays, path  # noqa: F401
from support.rootrun import root


def islice(values, bounds):
    return list(itertools.islice(values, *bounds))


BOUNDS = [(10,), (0,), (7, 1500), (3, None, 7), (None, 2500, 1001), (ENTRIES, None), (5, 5)]


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("threads", [1, 3])
def test_a_range_of_all_entries(path, arrays, bounds, threads):  # noqa: F811
    run = sapwood.frame([path, path], threads=threads).range(*bounds)
    met, count = run.take("met", library="np"), run.count()
    wanted = islice(np.concatenate([arrays["met"]] * 2), bounds)
    assert met.value.tolist() == wanted and count.value == len(wanted)


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("threads", [1, 3])
def test_a_range_below_a_filter(path, arrays, bounds, threads):  # noqa: F811
    whole = np.concatenate([arrays["met"]] * 2)
    f = sapwood.frame([path, path], threads=threads).filter("met > 30", "high")
    some = f.range(*bounds)
    met, cuts, all_of_them = some.filter("met < 60").take("met", library="np"), some.report(), f.count()
    wanted = islice(whole[whole > 30], bounds)
    assert met.value.tolist() == [value for value in wanted if value < 60]
    assert all_of_them.value == (whole > 30).sum()
    assert cuts.value[0].all == 2 * ENTRIES and cuts.value[0].passed == all_of_them.value


def test_a_report_below_a_range_begins_with_its_entries(path, arrays):  # noqa: F811
    f = sapwood.frame(path).range(100, 400).filter("met > 30").range(50).filter("met > 40")
    first, second = f.report(weight="2").value
    met = arrays["met"][100:400]
    passed = met[met > 30]
    assert (first.all, first.passed) == (300, len(passed))
    assert (second.all, second.passed) == (50, (passed[:50] > 40).sum())
    assert first.weights == (600.0, 2.0 * len(passed)) and second.weights == (100.0, 2.0 * second.passed)


def test_each_variation_has_its_own_range(path, arrays):  # noqa: F811
    f = sapwood.frame([path, path]).vary("scale", {"up": {"met": "met * 2"}})
    found = f.filter("met > 30").range(5, 700, 3).take("met", library="np").variations
    whole = np.concatenate([arrays["met"]] * 2)
    assert found["nominal"].tolist() == islice(whole[whole > 30], (5, 700, 3))
    doubled = whole * 2
    assert found["scale:up"].tolist() == islice(doubled[doubled > 30], (5, 700, 3))


def test_functions_above_and_below_a_range(path, arrays):  # noqa: F811
    f = sapwood.frame(path).define("twice", lambda met: met * 2, inputs=["met"], library="np")
    f = f.filter("twice > 60").range(3, 40).define("half", lambda met: met / 2, inputs=["met"], library="np")
    met = arrays["met"]
    assert f.take("half", library="np").value.tolist() == (met[met > 30][3:40] / 2).tolist()


def test_entries_behind_all_ranges_are_not_read(path):  # noqa: F811
    f = sapwood.frame(path)
    total = f.range(10).sum("met")
    assert total.value > 0
    graph = f.graph()
    assert (graph.entries, graph.read) == (ENTRIES, 10)
    (step,) = (step for step in graph.steps if step.kind == "range")
    assert (step.text, step.entries, step.passed) == ("0 to 10", 10, 10)
    explained = sapwood.frame(path).filter("met > 30").range(2, 10, 3).sum("run").explain()
    assert explained.filters == [(0, "met > 30"), (1, "range 2 to 10 by 3")]


def test_samples_are_counted_apart(path, arrays):  # noqa: F811
    samples = {"a": {"files": path}, "b": {"files": [path, path]}}
    found = sapwood.frame(samples).range(ENTRIES - 5, ENTRIES + 5).count().value
    assert found == {"a": 5, "b": 10}


def test_bad_bounds_and_workers_are_refused(path):  # noqa: F811
    f = sapwood.frame(path)
    for bounds in [(), (1, 2, 3, 4), (-1,), (1.5,), (0, 5, 0), (5, 4)]:
        with pytest.raises(MismatchError, match="range"):
            f.range(*bounds)
    with concurrent.futures.ThreadPoolExecutor(1) as executor, pytest.raises(MismatchError, match="no order"):
        sapwood.run(f.range(5).count(), executor=executor)


def test_root_finds_the_same(path):  # noqa: F811
    file, tree = path.rsplit(":", 1)
    bounds = [(0, 100, 1), (50, 1000, 7), (20, 0, 3)]
    theirs = root(RANGES, file, tree, json.dumps(bounds))
    f = sapwood.frame(path)
    for (start, stop, step), wanted in zip(bounds, theirs, strict=True):
        some = f.range(start, stop or None, step).filter("met > 30").range(3, 60, 2)
        assert some.sum("met").value == wanted


RANGES = """
file, tree = sys.argv[1], sys.argv[2]
sums = []
for bounds in json.loads(sys.argv[3]):
    frame = ROOT.RDataFrame(tree, file)
    sums.append(frame.Range(*bounds).Filter("met > 30").Range(3, 60, 2).Sum["double"]("met").GetValue())
answer(sums)
"""
