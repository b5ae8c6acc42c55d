"""Files without entries between others."""

import numpy as np
import pytest
import sapwood


@pytest.fixture
def files(tmp_path):
    for name, entries in (("full", 53), ("empty", 0), ("more", 9)):
        with sapwood.recreate(tmp_path / f"{name}.root") as file:
            file.mktree("t", {"x": "f8"}, auto_flush=5).extend({"x": np.arange(entries) * 1.0})
    return lambda *names: [f"{tmp_path / name}.root:t" for name in names]


@pytest.mark.parametrize(
    "names",
    [["full", "empty"], ["full", "empty", "more"], ["empty", "full"], ["more", "empty", "empty", "full"]],
)
def test_the_tree_of_a_report_is_open_while_its_step_is_used(files, names, tmp_path):
    wanted = []
    for path in files(*names):
        wanted += sapwood.open(path)["x"].array(library="np").tolist()
    found = []
    for step, report in sapwood.iterate(files(*names), ["x"], report=True):
        assert report.source.num_entries == len(report.source["x"].array())
        found += step["x"].tolist()
    assert found == wanted
    assert sapwood.skim(files(*names), tmp_path / "out.root", {"y": "x"}) == len(wanted)
    assert sapwood.open(tmp_path / "out.root")["t"]["y"].array().tolist() == wanted


def test_fill_and_allow_missing_hold_for_filters_and_skims(tmp_path):
    with sapwood.recreate(tmp_path / "both.root") as file:
        file["t"] = {"a": [1, 2], "b": [3, 4]}
    with sapwood.recreate(tmp_path / "one.root") as file:
        file["t"] = {"a": [5]}
    files = [f"{tmp_path}/both.root:t", f"{tmp_path}/one.root:t"]
    out = tmp_path / "out.root"
    for order in (files, files[::-1]):
        rows = {(1, 3), (2, 4), (5, -1)}
        found = sapwood.concatenate(order, filter_name="*", fill={"b": -1})
        assert set(zip(found.a.tolist(), found.b.tolist())) == rows
        steps = list(sapwood.iterate(order, filter_name="*", fill={"b": -1}))
        assert [step.fields for step in steps] == [["a", "b"]] * 2
        assert sapwood.skim(order, out, filter_name=["a", "b"], fill={"b": -1}) == 3
        found = sapwood.open(out)["t"].arrays()
        assert set(zip(found.a.tolist(), found.b.tolist())) == rows
        assert sapwood.skim(order, out, {"c": "a"}, filter_name="*", fill={"b": -1}) == 3
        assert set(sapwood.open(out)["t"]["b"].array().tolist()) == {3, 4, -1}
    assert sapwood.skim(files, out, filter_name="*", allow_missing=True) == 2
