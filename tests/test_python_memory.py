"""The Python package on files that uproot wrote for it: memory, other libraries, processes, threads."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")
uproot = pytest.importorskip("uproot")
ak = pytest.importorskip("awkward")

from support.samples import ENTRIES, write  # noqa: E402

# ---- memory, processes, threads


def test_arrays_share_memory_with_the_engine(tree: Any) -> None:
    column = tree._core.columns([tree["Muon_pt"]._id], 0, ENTRIES)[0]
    from sapwood._read import layout

    array = layout.to_awkward(column)
    numbers = np.asarray(column.buffer(column.kind[3][1]))
    assert array.layout.content.data.ctypes.data == numbers.ctypes.data
    assert array.layout.offsets.data.ctypes.data == np.asarray(column.buffer(column.kind[1])).ctypes.data
    column = tree._core.columns([tree["x"]._id], 0, ENTRIES)[0]
    flat = layout.to_numpy(column)
    assert flat.ctypes.data == np.asarray(column.buffer(column.kind[1])).ctypes.data
    pyarrow = pytest.importorskip("pyarrow")
    assert pyarrow.array(column).buffers()[1].address == flat.ctypes.data
    kept = flat.copy()
    del column
    assert np.array_equal(flat, kept)


@pytest.mark.parametrize("library", ["np", "pd"])
def test_arrays_can_be_written(tree: Any, library: str) -> None:
    pytest.importorskip({"np": "numpy", "pd": "pandas"}[library])
    array = tree["x"].array(library=library)
    array += 1.0
    array[0] = 7.0
    again = tree["x"].array(library=library)
    assert array[0] == 7.0 and np.allclose(np.asarray(array)[1:], np.asarray(again)[1:] + 1.0)
    whole = tree.arrays(["x", "xyz"], entries=[(3, 5), (900, 950)], library="np")
    whole["x"][0] = whole["xyz"][0, 0] = 7.0


def test_arrow(tree: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table(tree)
    assert table.num_rows == ENTRIES and table.column_names == tree.arrays().fields
    assert table["Muon_pt"].to_pylist() == tree["Muon_pt"].array().to_list()
    assert table["flag"].to_pylist() == tree["flag"].array().to_list()
    assert table["xyz"].type == pa.list_(pa.field("item", pa.float32(), False), 3)
    assert pa.schema(tree) == table.schema
    arrow = tree.arrays(["i", "Muon_pt", "x*2"], "i > 990", library="arrow")
    assert arrow["i"].to_pylist() == list(range(991, 1000))
    assert sapwood.concatenate([tree, tree], "i", library="arrow").num_rows == 2 * ENTRIES


def test_polars(tree: Any) -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(tree)
    assert frame.shape == (ENTRIES, len(tree.arrays().fields))
    assert frame["Muon_pt"].to_list() == tree["Muon_pt"].array().to_list()
    few = tree.arrays(["i", "Muon_pt", "x*2"], "i > 990", library="pl")
    assert few["i"].to_list() == list(range(991, 1000)) and few["Muon_pt"].dtype == pl.List(pl.Float32)


def test_trees_can_be_pickled(path: str) -> None:
    tree = sapwood.open(path, threads=1)["folder/tree"]
    again = pickle.loads(pickle.dumps(tree))
    assert again.object_path == tree.object_path and again.file.threads == 1
    assert ak.array_equal(again["x"].array(), tree["x"].array())
    branch = pickle.loads(pickle.dumps(tree["Muon_pt"]))
    assert branch.path == "Muon_pt" and len(branch.array()) == ENTRIES
    with pytest.raises(TypeError, match="memory"):
        pickle.dumps(sapwood.open(Path(path).read_bytes()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_reads_with_threads_of_its_own(path: str) -> None:
    tree = sapwood.open(path, threads=2)["folder/tree"]
    memory = sapwood.open(Path(path).read_bytes(), threads=2)["folder/tree"]
    total = float(ak.sum(tree["x"].array())) + float(ak.sum(memory["x"].array()))
    again = child_answers(lambda: float(ak.sum(tree["x"].array())) + float(ak.sum(memory["x"].array())))
    assert again == total


def run_python(code: str, *arguments: str) -> Any:
    env = {**os.environ, "PYTHONPATH": str(Path(sapwood.__file__).resolve().parent.parent)}
    return subprocess.run([sys.executable, "-c", code, *arguments], env=env, capture_output=True, text=True)


def child_answers(work: Callable[[], Any]) -> Any:
    """What a forked child answers; it must not hang."""
    ends, begins = multiprocessing.Pipe(False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        try:
            begins.send(work())
        finally:
            os._exit(0)
    begins.close()
    assert ends.poll(30), "the child hangs"
    os.waitpid(child, 0)
    return ends.recv()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_goes_on_where_its_parent_was(path: str) -> None:
    file = sapwood.open(path, threads=2)
    for steps in (
        file["folder/tree"].iterate("i", step_size=300),
        sapwood.iterate([{path: "folder/tree"}], "i", step_size=300),
    ):
        first = next(steps).i.to_list()
        rest = child_answers(lambda steps=steps: [number for step in steps for number in step.i.to_list()])
        assert first + rest == list(range(ENTRIES))
        assert child_answers(lambda steps=steps: steps.close()) is None
        assert first + [number for step in steps for number in step.i.to_list()] == list(range(ENTRIES))

    def closed() -> str:
        try:
            tree.arrays("i")
        except OSError as error:
            return str(error)
        return "open"

    tree = file["folder/tree"]
    assert child_answers(closed) == "open"
    file.close()
    assert "is closed" in closed() and child_answers(closed) == closed()


DESCRIPTORS = """
import gc, os, resource, sys
gc.disable()
import sapwood
path = sys.argv[1]
kept = [sapwood.open(path)["h"]]

def count():
    return len(os.listdir("/proc/self/fd"))

before = count()
resource.setrlimit(resource.RLIMIT_NOFILE, (before + 20, before + 20))
with sapwood.open(path) as file:
    tree = file["folder/tree"]
    branch = tree["x"]
    tree.arrays()
    branch.interpretation, tree.keys(), repr(tree)
assert count() == before, "close() leaves a descriptor"
branch = sapwood.open(path)["folder/tree"]["Muon_pt"]
branch.array(), branch.tree.arrays("x + 1"), list(branch.tree.iterate(step_size=100))
assert branch.tree.file["h"] is not None and count() == before + 1
try:
    branch.tree["nothing"]
except KeyError:
    pass
del branch
assert count() == before, "a file without references is open"
for _ in range(50):
    file = sapwood.open(path)
    file["folder/tree"].arrays(["x"])
files = [{path: "folder/tree"}] * 50
assert sum(len(part) for part in sapwood.iterate(files, "x")) == 50_000
assert len(list(sapwood.iterate(files, "x", report=True))) == 50
for _, report in sapwood.iterate(files, "x", step_size=400, report=True):
    assert report.tree["x"].num_entries == 1000
assert len(sapwood.concatenate(files, "x")) == 50_000
assert len(sapwood.concatenate(files, "x", entry_start=-1500)) == 1500
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="this system does not list open files")
def test_descriptors_go_with_their_files(path: str) -> None:
    done = run_python(DESCRIPTORS, path)
    assert done.returncode == 0, done.stderr


def test_any_number_of_threads_reads_the_same(path: str) -> None:
    arrays = [sapwood.open(path, threads=threads)["folder/tree"].arrays() for threads in (0, 1, 2, 5)]
    assert all(ak.array_equal(array, arrays[0]) for array in arrays)
    assert sapwood.open(path, threads=3).threads == 3


def test_files_share_the_threads_of_their_process(path: str) -> None:
    def threads() -> int:
        return len(os.listdir("/proc/self/task"))

    if not os.path.isdir("/proc/self/task"):
        pytest.skip("this system does not list its threads")
    files = [sapwood.open(path, threads=3)]
    files[0]["folder/tree"].arrays()
    before = threads()
    for _ in range(20):
        files.append(sapwood.open(path, threads=3))
        files[-1]["folder/tree"].arrays()
    assert threads() <= before


def test_several_python_threads_read_at_once(path: str) -> None:
    tree = sapwood.open(path, threads=1)["folder/tree"]
    expected = tree.arrays()
    wrong: list[Any] = []

    def work() -> None:
        for _ in range(10):
            if not ak.array_equal(tree.arrays(), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    assert not wrong and not any(thread.is_alive() for thread in threads)


def test_python_goes_on_while_the_engine_reads(tmp_path: Path) -> None:
    place = tmp_path / "large.root"
    with uproot.recreate(place, compression=uproot.ZLIB(1)) as file:
        write(file, "t", {f"x{i}": np.random.default_rng(i).normal(size=400_000) for i in range(6)})
    tree = sapwood.open(place, threads=1)["t"]
    ticks, done = [0], threading.Event()

    def count() -> None:
        while not done.is_set():
            ticks[0] += 1
            time.sleep(0.0005)

    counter = threading.Thread(target=count)
    counter.start()
    core = tree._core
    before = ticks[0]
    began = time.monotonic()
    core.columns([branch._id for branch in tree.values()], 0, tree.num_entries)
    took = time.monotonic() - began
    seen = ticks[0] - before
    done.set()
    counter.join()
    # One call into the engine: if it held the lock, the other thread would have stood still.
    assert seen > 2, f"{seen} ticks in {took:.3f} s"


def test_limits_hold(path: str) -> None:
    with pytest.raises(MemoryError):
        sapwood.open(path, object_limit=10)["folder/tree"]
    tree = sapwood.open(path, answer_limit=6 * ENTRIES)["folder/tree"]
    assert len(tree["i"].array()) == ENTRIES
    with pytest.raises(MemoryError, match="answer"):
        tree["x"].array()


def test_branches_that_lack_entries_are_left_out_with_a_warning(
    tree: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = tree._core

    class Short:
        def __getattr__(self, name: str) -> Any:
            return getattr(core, name)

        def entry_range(self, id: int) -> tuple[int, int]:
            return (0, 10) if id == tree["x"]._id else core.entry_range(id)

    tree._engine = Short()
    try:
        with pytest.warns(UserWarning, match="left out.*'x'"):
            assert "x" not in tree.arrays().fields
        assert "x" in tree.arrays(entry_stop=10).fields
    finally:
        tree._engine = core


def test_progress_is_shown_only_on_a_terminal(tree: Any, capsys: pytest.CaptureFixture[str]) -> None:
    tree.arrays()
    list(tree.iterate(step_size=100))
    assert capsys.readouterr().err == ""
    for read in (
        lambda: tree.arrays(progress=True),
        lambda: tree["x"].array(progress=True),
        lambda: list(tree.iterate(step_size=100, progress=True)),
    ):
        read()
        assert "tree" in capsys.readouterr().err
    for read in (
        lambda: sapwood.concatenate([tree, tree], progress=True),
        lambda: list(sapwood.iterate([tree, tree], progress=True)),
    ):
        read()
        assert "files" in capsys.readouterr().err


def test_the_package_needs_numpy_only() -> None:
    code = (
        "import sys\n"
        "for name in ('awkward', 'pandas', 'polars', 'pyarrow', 'hist', 'boost_histogram', 'tqdm'): sys.modules[name] = None\n"
        "import sapwood, numpy\n"
        "tree = sapwood.open(sys.argv[1])['folder/tree']\n"
        "assert len(tree.arrays(['x', 'Muon_pt'], 'x > 0', library='np')['x']) > 0\n"
        "try: tree.arrays('x')\n"
        "except ModuleNotFoundError as error: assert 'pip install awkward' in str(error)\n"
        "else: raise SystemExit(1)\n"
    )
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "f.root")
        with uproot.recreate(file) as out:
            out.mkdir("folder")
            write(
                out,
                "folder/tree",
                {"x": np.arange(5.0), "Muon": ak.zip({"pt": ak.Array([[1.0], [], [2.0], [], []])})},
            )
        done = run_python(code, file)
    assert done.returncode == 0, done.stderr


DOCTESTS = """
import doctest, importlib, sys
module = importlib.import_module(sys.argv[1])
sys.exit(doctest.testmod(module).failed)
"""


def test_every_example_in_the_docstrings_runs() -> None:
    import pkgutil

    import sapwood as package

    # Each runs in a new process: `sapwood.as_uproot` changes what `import uproot` means.
    names = [module.name for module in pkgutil.iter_modules(package.__path__, "sapwood.")]
    failed = {}
    for name in ["sapwood", *names]:
        if not name.rsplit(".", 1)[-1].startswith("_"):
            done = run_python(DOCTESTS, name)
            if done.returncode:
                failed[name] = done.stdout + done.stderr
    assert not failed
