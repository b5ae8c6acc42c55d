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
