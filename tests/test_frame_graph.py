"""Graphs of frames: which steps there are, and the entries and seconds of each."""

from __future__ import annotations

import concurrent.futures

import pytest
import sapwood
from sapwood.errors import MismatchError

from support.frames import ENTRIES, arrays, path  # noqa: F401


def booked(f):
    """Results below two filters, with a variation of the jets."""
    f = f.define("ht", "Sum$(jet_pt)").define("scaled", "ht * w")
    f = f.vary("jes", {"up": {"jet_pt": "jet_pt * 1.1"}, "down": {"jet_pt": "jet_pt * 0.9"}})
    busy = f.filter("Sum$(jet_pt) > 60", "busy")
    hard = busy.filter("met > 30")
    return [
        busy.hist("met", bins=(10, 0, 100)),
        hard.hist("scaled", bins=(10, 0, 500)),
        hard.count(),
        busy.report(),
    ]


def of_kind(graph, kind):
    return [step for step in graph.steps if step.kind == kind]


@pytest.mark.parametrize("threads", [1, 3])
def test_steps_have_the_entries_that_reached_them(path, arrays, threads):  # noqa: F811
    import awkward as ak

    f = sapwood.frame([path, path], threads=threads)
    results = booked(f)
    before = f.graph()
    assert not before.has_run and {step.entries for step in before.steps} == {0}
    sapwood.run(*results)
    graph = f.graph()
    assert graph.has_run and (graph.entries, graph.read) == (2 * ENTRIES, 2 * ENTRIES)
    busy, hard = of_kind(graph, "filter")
    passes = ak.to_numpy(ak.sum(arrays["jet_pt"], axis=1) > 60)
    met = arrays["met"][passes]
    assert (busy.name, busy.entries, busy.passed) == ("busy", 2 * ENTRIES, 2 * passes.sum())
    assert (hard.name, hard.text) == ("", "met > 30")
    assert (hard.entries, hard.passed) == (busy.passed, 2 * (met > 30).sum())
    reached = [busy.passed, hard.passed, hard.passed, busy.passed]
    assert [step.entries for step in of_kind(graph, "result")] == reached
    assert hard.passed == results[2].value
    assert busy.variations == hard.variations == 2
    assert [step.name for step in of_kind(graph, "result")] == ["hist met", "hist scaled", "count", "report"]
    # Each step that computes has taken some time, and reads have.
    assert all(step.seconds > 0 for step in graph.steps if step.kind in ("filter", "result"))
    assert graph.reading_seconds > 0


def test_entries_count_once_where_few_pass(path, arrays):  # noqa: F811
    """Filters are computed first there, and again for those that pass."""
    f = sapwood.frame(path)
    rare = f.filter("met > 20", "some").filter("run == 3 && met > 200", "rare")
    total = rare.sum("Sum$(jet_pt)")
    assert f.explain().first
    total.value  # noqa: B018
    some, few = of_kind(f.graph(), "filter")
    passes = arrays["met"] > 20
    assert (some.entries, some.passed) == (ENTRIES, passes.sum())
    rarely = passes & (arrays["run"] == 3) & (arrays["met"] > 200)
    assert (few.entries, few.passed) == (passes.sum(), rarely.sum())


@pytest.mark.parametrize("cut", ["met > -1", "met > 20"])
def test_filters_side_by_side_count_their_own_entries(path, arrays, cut):  # noqa: F811
    """Also if one of them passes all, so that there is nothing to be found out for the others."""
    f = sapwood.frame(path)
    wide, few = f.filter(cut), f.filter("run < 1")
    totals = [wide.sum("w"), few.filter("met > 5").sum("w")]
    assert f.explain().first
    sapwood.run(*totals)
    first, second, third = of_kind(f.graph(), "filter")
    threshold = float(cut.split()[-1])
    assert (first.entries, first.passed) == (ENTRIES, (arrays["met"] > threshold).sum())
    assert (second.entries, second.passed) == (ENTRIES, (arrays["run"] < 1).sum())
    both = (arrays["run"] < 1) & (arrays["met"] > 5)
    assert (third.entries, third.passed) == (second.passed, both.sum())


def test_definitions_and_functions_have_their_own_time(path):  # noqa: F811
    import time

    def slow(met):
        time.sleep(0.02)
        return met * 2

    f = sapwood.frame(path).define("ht", "Sum$(jet_pt)").define("twice", slow, inputs=["met"])
    total = f.filter("ht > 10").sum("twice")
    slept = f.aggregate(0, lambda so_far, of: time.sleep(0.02) or so_far, ["met"])
    sapwood.run(total, slept)
    graph = f.graph()
    (ht,), (twice,) = of_kind(graph, "define"), of_kind(graph, "function")
    assert ht.seconds > 0 and twice.seconds >= 0.02 and twice.entries == ENTRIES
    (folded,) = [step for step in of_kind(graph, "result") if step.name.startswith("aggregate")]
    assert folded.seconds >= 0.02 and folded.entries == ENTRIES


def test_workers_and_samples_add_up(path):  # noqa: F811
    alone = sapwood.frame([path, path])
    sapwood.run(*booked(alone))
    counts = [(step.kind, step.name, step.entries, step.passed) for step in alone.graph().steps]

    spread = sapwood.frame([path, path])
    results = booked(spread)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        sapwood.run(*results, executor=pool, step_size=500)
    assert [(s.kind, s.name, s.entries, s.passed) for s in spread.graph().steps] == counts

    samples = sapwood.frame({"one": {"files": path}, "two": {"files": path}})
    sapwood.run(*booked(samples))
    assert [(s.kind, s.name, s.entries, s.passed) for s in samples.graph().steps] == counts


def test_a_graph_is_a_picture_and_text(path, tmp_path):  # noqa: F811
    f = sapwood.frame(path)
    with pytest.raises(MismatchError, match="nothing was asked"):
        f.graph()
    results = booked(f)
    assert "not run yet" in repr(f.graph())
    sapwood.run(*results)
    graph = f.graph()
    lines = str(graph).splitlines()
    assert lines[0].startswith(f"{ENTRIES} entries, {ENTRIES} read in ")
    assert any(line.startswith("        filter busy: Sum$(jet_pt) > 60, ") for line in lines), lines
    graph.save(tmp_path / "steps.svg")
    svg = (tmp_path / "steps.svg").read_text()
    assert svg == graph._repr_svg_() and svg.count("<rect") > 6
    assert "filter busy: Sum$(jet_pt) &gt; 60" in svg


def test_a_failed_pass_leaves_the_graph_of_the_one_before(path):  # noqa: F811
    f = sapwood.frame(path)
    assert f.count().value == ENTRIES
    wrong = f.sum("nothing")
    with pytest.raises(sapwood.errors.NotFoundError):
        wrong.value  # noqa: B018
    assert [step.name for step in f.graph().steps] == ["count"]
