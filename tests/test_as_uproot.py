"""``import sapwood.as_uproot``: ``import uproot`` means this package. Each test runs in another process, since the
modules of a process are all of one kind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

WRITES = """
import numpy as np
with uproot.recreate(path, compression=uproot.compression.Compression.from_code_pair(uproot.const.kLZ4, 4)) as file:
    file.mktree("folder/events", {"x": "f8", "y": "i8"}).extend({"x": np.arange(10.0), "y": np.arange(10)})
    file["h"] = np.histogram([1.0, 2.0, 2.5], bins=4, range=(0, 4))
"""
LOOKS = """
import uproot.behaviors.RNTuple, uproot.behaviors.TBranch, uproot.behaviors.TH1, uproot.behaviors.TTree
import uproot.interpretation.jagged, uproot.interpretation.numerical, uproot.interpretation.objects
import uproot.model, uproot.models.RNTuple, uproot.reading
file = uproot.open(path, encoding="utf-8", what_nobody_knows=1)
assert isinstance(file, uproot.reading.ReadOnlyDirectory)
assert sorted(file["/"].keys(cycle=False)) == ["folder", "folder/events", "h"], file["/"].keys()
assert file["folder"]["/"].keys(cycle=False) == ["events"]
tree = file["folder/events"]
assert isinstance(tree, uproot.behaviors.TTree.TTree) and isinstance(tree, uproot.behaviors.TBranch.HasBranches)
assert isinstance(tree["x"].interpretation, uproot.interpretation.numerical.AsDtype)
assert uproot.LZ4(4).code_pair == (uproot.const.kLZ4, 4)
assert isinstance(file["h"], uproot.behaviors.TH1.Histogram)
assert not isinstance(tree, uproot.behaviors.RNTuple.HasFields)
try:
    file["nothing"]
except uproot.exceptions.KeyInFileError as error:
    assert isinstance(error, KeyError)
else:
    raise AssertionError("a missing key is an error")
"""
HISTOGRAMS = """
import numpy as np
identify = uproot.writing.identify
x = identify.to_TAxis("fXaxis", "of x", 2, 0, 1)
y = identify.to_TAxis("fYaxis", "", 3, 0, 9, np.array([0.0, 1, 4, 9]))
one = identify.to_TH1x("h", "title", np.array([1.0, 2, 3, 4]), 10, 5, 5, 2.75, 1.7, np.array([2.0, 3]), x)
two = identify.to_TH2x("h2", "", np.arange(20, dtype="f4"), 190, 60, 60, 1, 2, 3, 4, 5, np.zeros(0), x, y)
with uproot.recreate(path) as file:
    file["h"], file["h2"] = one, two
"""
READS = """
file = uproot.open(path)
h, h2 = file["h"], file["h2"]
answer = [h.classname, h.title, h.values(flow=True).tolist(), h.variances(flow=True).tolist(), h.axis().edges().tolist()]
answer += [h.axis().member("fTitle"), h.member("fEntries"), h.member("fTsumwx"), h.member("fTsumwx2")]
answer += [h2.classname, h2.values(flow=True).T.ravel().tolist(), h2.axis("y").edges().tolist(), h2.member("fTsumwxy")]
print(answer)
"""


def run(*parts: str, path: Path, ours: bool = True) -> str:
    head = "import sapwood.as_uproot\n" if ours else ""
    lines = f"{head}import uproot\npath = {str(path)!r}\n" + "".join(parts)
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("writer", [False, True], ids=["written by uproot", "written here"])
def test_words_of_uproot_mean_the_same(tmp_path: Path, writer: bool) -> None:
    if not writer:
        pytest.importorskip("uproot")
    run(WRITES, path=tmp_path / "a.root", ours=writer)
    run(LOOKS, path=tmp_path / "a.root")


def test_histograms_are_made_of_members(tmp_path: Path) -> None:
    path = tmp_path / "h.root"
    run(HISTOGRAMS, path=path)
    ours = run(READS, path=path)
    assert "'TH1D', 'title', [1.0, 2.0, 3.0, 4.0], [0.0, 2.0, 3.0, 0.0]" in ours
    assert "[0.0, 0.5, 1.0], 'of x', 10.0" in ours
    pytest.importorskip("uproot")
    assert run(READS, path=path, ours=False) == ours


def test_what_uproot_is_made_of_is_not_there(tmp_path: Path) -> None:
    lines = """
import importlib
try:
    importlib.import_module("uproot.source.file")
except ModuleNotFoundError as error:
    print(error)
"""
    assert "uproot.source" in run(lines, path=tmp_path)


def test_functions_are_sent_to_other_processes(tmp_path: Path) -> None:
    lines = """
import concurrent.futures, importlib, importlib.util, multiprocessing, pickle, sapwood
assert all(pickle.loads(pickle.dumps(one)) is one for one in vars(uproot).values() if callable(one))
if __name__ == "__main__":
    with uproot.recreate(path) as file:
        file["t"] = {"x": [1.0, 2.0]}
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn) as pool:
        print(pool.submit(uproot.open, path + ":t").result().num_entries)
    print(importlib.util.find_spec("uproot.behaviors").name, importlib.util.find_spec("uproot.source"))
    importlib.reload(sapwood.as_uproot)
    print(importlib.import_module("uproot") is uproot)
"""
    assert run(lines, path=tmp_path / "a.root").split() == ["2", "uproot.behaviors", "None", "True"]


def test_uproot_that_was_imported_first_is_an_error() -> None:
    pytest.importorskip("uproot")
    lines = "import uproot\nimport sapwood.as_uproot"
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, timeout=120)
    assert "import sapwood.as_uproot before all that uses uproot" in done.stderr


def test_wrong_sizes_are_refused(tmp_path: Path) -> None:
    lines = """
import numpy as np, sapwood
identify = uproot.writing.identify
x = identify.to_TAxis("fXaxis", "", 2, 0, 1)
for data, variances in ((np.zeros(3), None), (np.zeros(4), np.zeros(3))):
    try:
        identify.to_TH1x("h", "", data, 0, 0, 0, 0, 0, variances, x)
    except sapwood.errors.MismatchError as error:
        print(error)
try:
    identify.to_TAxis("fXaxis", "", 2, 0, 1, [0, 1])
except sapwood.errors.MismatchError as error:
    print(error)
"""
    printed = run(lines, path=tmp_path)
    assert "4 bins with under- and overflow, not 3" in printed and "4 variances, not 3" in printed
    assert "an axis of 2 bins has 3 edges, not 2" in printed
