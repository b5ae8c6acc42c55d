"""Errors of frames: each result has its own, and none changes another one."""

from __future__ import annotations

import concurrent.futures
import pickle
import threading

import numpy as np
import pytest
import sapwood
from sapwood.errors import ExpressionError, MismatchError, SapwoodError

from support.frames import ENTRIES, arrays, path, small  # noqa: F401


def fails(met):
    """A function that works without entries alone."""
    if len(met):
        raise ZeroDivisionError("of the calibration")
    return met


@pytest.mark.parametrize("bad", ["function", "aggregate", "name", "snapshot"])
def test_a_result_that_fails_takes_no_other_with_it(path, tmp_path, bad):  # noqa: F811
    frame = sapwood.frame(path)
    if bad == "function":
        wrong = frame.define("x", fails, inputs=["met"], library="np").sum("x")
    elif bad == "aggregate":
        wrong = frame.aggregate(0, lambda so_far, of: fails(of["met"]), ["met"], library="np")
    elif bad == "name":
        wrong = frame.sum("mett")
    else:
        (tmp_path / "file").write_text("no folder")
        wrong = frame.snapshot(tmp_path / "file" / "x.root", ["met"])
    count = frame.count()
    with pytest.warns(UserWarning, match="were not computed"):
        assert count.value == ENTRIES
    # The next results are not computed twice for it.
    assert frame.filter("met > -1").count().value == ENTRIES
    with pytest.raises(SapwoodError):
        wrong.value  # noqa: B018


def test_errors_of_functions_name_their_entries(path):  # noqa: F811
    frame = sapwood.frame(path)
    with pytest.raises(MismatchError, match=r"defines \"x\" failed.*in entries 0 to .*ZeroDivisionError"):
        frame.define("x", fails, inputs=["met"], library="np").sum("x").value  # noqa: B018
    with pytest.raises(MismatchError, match=r"what takes met failed in entries 0 to .*ZeroDivisionError"):
        frame.aggregate(0, lambda so_far, of: fails(of["met"]), ["met"], library="np").value  # noqa: B018


def test_no_result_changes_what_others_get(path, arrays):  # noqa: F811
    def doubles(so_far, of):
        of["met"] *= 2
        return so_far

    frame = sapwood.frame(path)
    taken, wrong = frame.take("met", library="np"), frame.aggregate(0, doubles, ["met"], library="np")
    with pytest.raises(MismatchError, match="read-only"):
        wrong.value  # noqa: B018
    assert np.array_equal(taken.value, arrays["met"])
    taken.value[:] = 0
    assert frame.sum("met").value == pytest.approx(arrays["met"].sum())


def test_a_merge_cannot_wait_for_a_result_of_its_frame(path):  # noqa: F811
    frame = sapwood.frame(path)
    count = frame.count()
    wrong = frame.aggregate(0, lambda a, of: a, ["met"], merge=lambda a, b: count.value)
    with concurrent.futures.ThreadPoolExecutor(2) as pool, pytest.raises(MismatchError, match="cannot wait"):
        sapwood.run(wrong, executor=pool, step_size=500)


def test_snapshots_replace_no_file_of_their_frame(tmp_path):
    path = small(tmp_path, x=[1, 2, 3])  # noqa: F811
    frame = sapwood.frame(path)
    for executor in (None, concurrent.futures.ThreadPoolExecutor(1)):
        skim = frame.filter("x > 1").snapshot(path.rsplit(":", 1)[0], ["x"], name="t")
        with pytest.raises(MismatchError, match="is a file that is read: write the snapshot to another one"):
            sapwood.run(skim, executor=executor)
        one, other = (frame.snapshot(tmp_path / "new.root", ["x"]) for _ in range(2))
        with pytest.raises(MismatchError, match="two snapshots would be"):
            sapwood.run(one, other, executor=executor)
    assert sapwood.frame(path).count().value == 3


def test_definitions_above_a_variation_stay_as_they_are(path):  # noqa: F811
    """Members of a collection, too: its objects and their members are of one meaning."""
    frame = sapwood.frame(path).define("hard", "jet[jet.pt > 30]").define("hard_pt", "jet_pt[jet_pt > 30]")
    for later in (
        frame.vary("jes", {"up": {"jet_pt": "jet_pt * 1.5"}}),
        frame.redefine("jet_pt", "jet_pt * 1.5"),
    ):
        members, numbers = later.sum("hard.pt"), later.sum("hard_pt")
        pairs, mass = later.sum("pt(hard)"), later.count()
        sapwood.run(members, numbers, pairs, mass)
        assert members.value == numbers.value == pairs.value == frame.sum("hard_pt").value
        assert members.variations.keys() == {"nominal"}
    below = frame.vary("jes", {"up": {"jet_pt": "jet_pt * 1.5"}}).define("now", "jet[jet.pt > 30]")
    below = below.sum("now.pt")
    again = frame.redefine("jet_pt", "jet_pt * 1.5").sum("jet_pt[jet_pt > 30]")
    assert below.variations["jes:up"] == again.value > below.value
    # A member that is defined later is one of the collection, too.
    assert frame.define("jet_twice", "jet_pt * 2").sum("hard.twice").value == 2 * frame.sum("hard_pt").value


def test_friends_of_samples_are_their_own(tmp_path):
    files = {"a": small(tmp_path, "a.root", x=[1, 2, 3]), "b": small(tmp_path, "b.root", x=[4, 5])}
    friends = {"a": small(tmp_path, "fa.root", y=[10, 20, 30]), "b": small(tmp_path, "fb.root", y=[40, 50])}
    samples = {name: {"files": files[name], "friends": {"f": friends[name]}} for name in files}
    assert sapwood.frame(samples).sum("x * f.y").value == {"a": 140, "b": 410}
    total = sapwood.frame(samples).sum("x * f.y")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        sapwood.run(total, executor=pool)
    assert total.value == {"a": 140, "b": 410}
    without = {name: {"files": files[name]} for name in files}
    with pytest.raises(MismatchError, match="begins anew in each sample"):
        sapwood.frame(without, friends={"f": list(friends.values())})
    with pytest.raises(MismatchError, match="one sample"):
        sapwood.frame(without, entries=[0, 1])


def test_a_frame_is_pickled_without_its_results(path):  # noqa: F811
    frame = sapwood.frame({"a": {"files": path, "scale": 2.0}}).define("y", "met * scale").filter("y > 60")
    count = frame.count()
    for number in range(200):
        frame.hist(f"met * {number}", bins=(100, 0, 100))
    sent = pickle.dumps(frame)
    assert len(sent) < 5_000
    assert pickle.loads(sent).count().value == count.value


def test_samples_are_computed_side_by_side(path):  # noqa: F811
    waits = threading.Barrier(3, timeout=60)

    def meets(met):
        # All three samples are at work at once, or the barrier breaks.
        if len(met):
            waits.wait()
        return met

    samples = {name: {"files": path} for name in "abc"}
    total = sapwood.frame(samples).define("m", meets, inputs=["met"], library="np").count()
    once = sapwood.frame(samples).define("m", meets, inputs=["met"], library="np").filter("m >= 0").count()
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        sapwood.run(total, executor=pool, step_size=10 * ENTRIES)
        sapwood.run(once, executor=pool, step_size=10 * ENTRIES)
    assert once.value == total.value == dict.fromkeys("abc", ENTRIES)


def test_what_is_read_late_does_not_depend_on_what_else_is_asked(path, arrays):  # noqa: F811
    frame = sapwood.frame(path)
    rare = frame.filter("run == 5").filter("met > 150", "rare")
    wanted = rare.take("Sum$(jet_pt)", library="np").value
    others = [
        lambda: rare.report(),
        lambda: frame.count(),
        lambda: frame.hist("run", bins=(6, 0, 6)),
        lambda: frame.filter("run < 5").hist("met", bins=(6, 0, 6)),
        lambda: rare.define("y", lambda w: w * 2, ["w"]).sum("y"),
    ]
    for other in others:
        taken, more = rare.take("Sum$(jet_pt)", library="np"), other()
        assert set(frame.explain().first) == {"run", "met"}
        assert np.array_equal(taken.value, wanted)
        assert repr(more.value) == repr(other().value)
    cuts = rare.report().value
    assert (cuts[0].all, cuts[0].passed) == (ENTRIES, ENTRIES // 6)
    assert cuts[1].passed == len(wanted) == (arrays["met"][-ENTRIES // 6 :] > 150).sum()


def test_arguments_of_other_types_are_refused_at_once(path):  # noqa: F811
    frame = sapwood.frame(path)
    for wrong in (
        lambda: frame.filter(lambda met: met > 3),
        lambda: frame.vary("v", [1]),
        lambda: frame.vary("a:b", {"up": {"met": "met * 2"}}),
        lambda: frame.vary("v", {"up": {"jet.pt": "jet_pt * 2"}}),
        lambda: frame.define("one", lambda met: 1.0, ["met"]).sum("one").value,
        lambda: frame.graph().save("steps.png"),
        lambda: frame.hist(3),
        lambda: sapwood.run(frame.count(), executor=4),
        lambda: sapwood.frame({}),
        lambda: sapwood.frame({"a": {"xsec": 1.0}}),
        lambda: sapwood.frame({"a": {"files": [path, path], "trees": ["t", "t", "t"]}}),
    ):
        with pytest.raises((ExpressionError, MismatchError)):
            wrong()


def test_trees_of_a_data_set_specification(path):  # noqa: F811
    file, tree = path.rsplit(":", 1)
    for trees in ([tree], [tree, tree], tree):
        samples = {"a": {"files": [file, file], "trees": trees}}
        assert sapwood.frame(samples).count().value == {"a": 2 * ENTRIES}
    assert sapwood.frame({"a": {"files": file, "treename": tree}}).count().value == {"a": ENTRIES}


def test_all_files_that_lack_a_name_are_told_with_it(path):  # noqa: F811
    with pytest.raises(MismatchError, match="all files were left out.*mett"):
        sapwood.frame([path, path], allow_missing=True).sum("mett").value  # noqa: B018
