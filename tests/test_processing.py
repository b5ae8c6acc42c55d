"""Selectors over many files: results do not depend on the executor, and errors name the entries."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections import Counter, OrderedDict, defaultdict
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")

from sapwood._tools.processing import ProcessingError, Selector, process  # noqa: E402

ROWS = 500


class Positive(Selector):
    """Texts of positive numbers: their order shows in which order results were merged."""

    columns, cut = ["x", "double_x"], "x > 0"
    aliases = {"double_x": "2*x"}

    def process(self, batch: Any) -> Any:
        assert np.all(batch["double_x"] == 2 * batch["x"])
        return [int(one) for one in batch["x"]]


class Failing(Selector):
    columns = ["x"]

    def process(self, batch: Any) -> Any:
        if np.any(batch["x"] == 700):
            raise KeyError("seven hundred")
        return 0


class Dying(Selector):
    columns = ["x"]

    def process(self, batch: Any) -> Any:
        os._exit(1)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("processing")
    for part in range(3):
        with sapwood.recreate(folder / f"{part}.root") as file:
            with file.mktree("t", {"x": "i8"}, auto_flush=100) as tree:
                tree.extend({"x": np.arange(part * ROWS, (part + 1) * ROWS) - 10})
    return f"{folder}/*.root:t"


class Backwards(Executor):
    """Runs the second of two tasks before the first one."""

    def __init__(self) -> None:
        self.held: Any = None

    def submit(self, function: Any, /, *arguments: Any, **others: Any) -> Future[Any]:
        future: Future[Any] = Future()
        work = lambda: future.set_result(function(*arguments, **others))  # noqa: E731
        if self.held is None:
            self.held = work
            return future
        work()
        self.held()
        self.held = lambda: None
        return future


def test_results_do_not_depend_on_the_executor(files: str) -> None:
    expected = list(range(1, 3 * ROWS - 10))
    assert process(files, Positive(), step_size=100) == expected
    with ThreadPoolExecutor(3) as threads:
        assert process(files, Positive(), threads, step_size=70) == expected
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as processes:
        assert process(files, Positive(), processes, step_size=200) == expected
    assert process(files, Positive(), Backwards(), step_size=100) == expected


class Found(Selector):
    columns = ["x"]

    def process(self, batch: Any) -> Any:
        found = {"entries": len(batch), "by sign": {"positive": int(np.sum(batch["x"] > 0))}}
        if np.any(batch["x"] < 0):
            found["by sign"]["negative"] = int(np.sum(batch["x"] < 0))
        return found


def test_dictionaries_are_merged_key_by_key(files: str) -> None:
    found = process(files, Found(), step_size=100)
    assert found == {"entries": 3 * ROWS, "by sign": {"positive": 3 * ROWS - 11, "negative": 10}}


class OwnSum(dict[str, int]):
    def __add__(self, other: Any) -> OwnSum:
        return OwnSum(own=self["own"] + other["own"] + 1)


class Makes(Selector):
    columns = ["x"]

    def __init__(self, make: Any) -> None:
        self.make = make

    def process(self, batch: Any) -> Any:
        return self.make()


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        # The + of a Counter drops what is not above zero.
        (lambda: Counter(a=1, b=-1, c=0), Counter(a=2, b=-2, c=0)),
        (lambda: defaultdict(int, a=1), defaultdict(int, a=2)),
        (lambda: OrderedDict(a=[1]), OrderedDict(a=[1, 1])),
        (lambda: {"a": Counter(b=1)}, {"a": Counter(b=2)}),
        (lambda: OwnSum(own=1), OwnSum(own=3)),
    ],
)
def test_classes_of_dictionaries_stay(tmp_path: Path, make: Any, wanted: Any) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["t"] = {"x": [1.0]}
    found = process([f"{tmp_path}/a.root:t"] * 2, Makes(make))
    assert found == wanted and type(found) is type(wanted)
    assert getattr(found, "default_factory", None) == getattr(wanted, "default_factory", None)


class Total(Selector):
    columns = ["x"]

    def process(self, batch: Any) -> float:
        return float(np.sum(batch["x"]))


def test_data_sets_and_trees_of_paths_are_told_apart(tmp_path: Path) -> None:
    path = f"{tmp_path}/a.root"
    with sapwood.recreate(path) as file:
        file["t"], file["n:t"] = {"x": [1.0]}, {"x": [10.0]}
    assert process({path: "n:t"}, Total()) == 10
    assert process({path: "t"}, Total()) == 1
    assert process({1: [f"{path}:t"], "1": f"{path}:n:t"}, Total()) == {1: 1, "1": 10}
    # Coffea's data sets name the tree once.
    assert process({"a": {"files": [path], "treename": "n:t"}}, Total()) == {"a": 10}
    assert process({"a": {"files": [f"{path}:t", path], "treename": "n:t"}}, Total()) == {"a": 11}


def test_data_sets_have_a_result_each(files: str) -> None:
    first, second = (files.replace("*", str(part)) for part in (0, 1))
    whole = process([first, second], Positive())
    for sets in (
        {"a": [first], "b": [second]},
        {"a": first, "b": second},
        {"a": {"files": [first]}, "b": {"files": {second.rpartition(":")[0]: second.rpartition(":")[2]}}},
    ):
        found = process(sets, Positive())
        assert list(found) == ["a", "b"] and found["a"] + found["b"] == whole
    path, _, tree = first.rpartition(":")
    assert process({path: tree}, Positive()) == found["a"]


def test_partial_results_grow(files: str) -> None:
    seen: list[tuple[int, int]] = []
    process(files, Positive(), step_size=100, partial=lambda result, units: seen.append((len(result), units)))
    assert seen == sorted(seen) and seen[-1] == (3 * ROWS - 11, 15)


def test_a_selector_that_raises_is_told_with_its_entries(files: str) -> None:
    with pytest.raises(
        ProcessingError, match=r"entries 200 to 300 of .*1\.root: KeyError: 'seven hundred'"
    ) as raised:
        process(files, Failing(), step_size=100)
    assert isinstance(raised.value.__cause__, KeyError)
    with pytest.raises(NotImplementedError):
        Selector().process(None)
    with pytest.raises(sapwood.errors.NotFoundError):
        process(files, type("Wrong", (Selector,), {"columns": ["nope"]})())
    with pytest.raises(TypeError, match="unexpected keyword argument 'report'"):
        process(files, Positive(), report=True)


class Nothing(Selector):
    columns = ["x"]

    def process(self, batch: Any) -> Any:
        return None


class Unmerged(Selector):
    columns = ["x"]

    def process(self, batch: Any) -> Any:
        return 1 if batch["x"][0] < 400 else "one"


def test_what_a_selector_does_wrong_is_told_with_its_line(files: str) -> None:
    here = "test_processing.py, line "
    with pytest.raises(ProcessingError, match=rf"KeyError: 'seven hundred' \(.*{here}\d+\)$"):
        process(files, Failing(), step_size=100)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as processes:
        with pytest.raises(ProcessingError, match=rf"KeyError: 'seven hundred' \(.*{here}\d+\)$"):
            process(files, Failing(), processes, step_size=100)
    with pytest.raises(
        ProcessingError, match="failed to merge result 5 with those before it: TypeError: unsupp"
    ):
        process(files, Unmerged(), step_size=100)
    with pytest.raises(
        sapwood.errors.MismatchError, match=r"Nothing.process\(\) returned None.* return what"
    ):
        process(files, Nothing(), step_size=100)
    with pytest.raises(TypeError, match=r"Failing is a class: process\(files, Failing\(\)\)"):
        process(files, Failing)
    with pytest.raises(
        TypeError, match="derives from sapwood.Selector, and function .* lacks begin, process"
    ):
        process(files, command)


class Slow(Positive):
    def process(self, batch: Any) -> Any:
        time.sleep(0.05)
        return super().process(batch)


class Unsendable(Exception):
    def __init__(self, one: Any, two: Any) -> None:
        super().__init__(f"{one} and {two}")


class FailingFar(Selector):
    columns = ["x"]

    def process(self, batch: Any) -> Any:
        if np.any(batch["x"] == 700):
            raise Unsendable("this", "that")
        return 0


def test_what_a_selector_raises_in_a_process_arrives_with_its_place(files: str) -> None:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as processes:
        with pytest.raises(ProcessingError, match=r"entries 200 to 300 of .*1\.root: KeyError") as raised:
            process(files, Failing(), processes, step_size=100)
        notes = "".join(getattr(raised.value.__cause__, "__notes__", []))
        assert "in a worker" in notes and 'raise KeyError("seven hundred")' in notes
        with pytest.raises(ProcessingError, match="entries 200 to 300 of .*Unsendable: this and that"):
            process(files, FailingFar(), processes, step_size=100)


class Clock:
    """Time that passes only where it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


class OneByOne(Executor):
    """Two workers, of which one is ten times slower; all in this thread."""

    def __init__(self, clock: Clock) -> None:
        self.clock, self.packets, self.turn = clock, [[], []], 0

    def submit(self, function: Any, /, *arguments: Any, **others: Any) -> Future[Any]:
        future: Future[Any] = Future()
        worker, self.turn = self.turn, 1 - self.turn
        done: list[int] = []

        def run(unit: int) -> int:
            self.clock.now += (0.02, 0.2)[worker]
            done.append(unit)
            return 10 * unit

        units, seconds = arguments
        future.set_result(function(units, run, seconds))
        self.packets[worker].append(done)
        return future


def test_a_slow_worker_gets_smaller_packets_and_every_unit_is_done_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from sapwood._tools import packets

    clock = Clock()
    monkeypatch.setattr(packets, "time", clock)
    workers = OneByOne(clock)

    def submit(units: list[int], seconds: float) -> Future[Any]:
        return workers.submit(packets.work_on, units, seconds)

    def failed(error: Exception, units: list[int], at: str) -> Exception:
        raise AssertionError(units)

    found = list(packets.Packets(iter(range(500)), 2).results(submit, failed))
    assert found == [10 * unit for unit in range(500)]
    fast, slow = workers.packets
    assert sorted(unit for packet in fast + slow for unit in packet) == list(range(500))
    # Half a second is three units of the one, and as many of the other as a packet has.
    assert max(map(len, slow)) <= 3 < max(map(len, fast)) <= 25
    assert len(fast[0]) == 1, "nothing is known at first"


def test_results_that_wait_for_one_are_bounded() -> None:
    from sapwood._tools import packets

    held: list[tuple[Future[Any], list[int]]] = []
    begun: list[int] = []

    def submit(units: list[int], seconds: float) -> Future[Any]:
        future: Future[Any] = Future()
        begun.extend(units)
        if not held:
            held.append((future, units))
            return future
        future.set_result(packets.Outcome(list(units), packets.SECONDS))
        if len(begun) > 6 and not held[0][0].done():
            held[0][0].set_result(packets.Outcome(list(held[0][1]), packets.SECONDS))
        return future

    found = list(packets.Packets(iter(range(40)), 2).results(submit, lambda error, units, at: error))
    assert found == list(range(40))


def test_results_of_fast_units_that_wait_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from sapwood._tools import packets

    made = packets.Packets(iter(range(4_000)), 2)
    futures: list[Future[Any]] = []
    waited: list[int] = []

    def submit(units: list[int], seconds: float) -> Future[Any]:
        future: Future[Any] = Future()
        futures.append(future)
        if len(futures) > 1:
            future.set_result(packets.Outcome(list(units), 1e-6 * len(units)))
        return future

    def wait(running: Any, **options: Any) -> Any:
        waited.append(len(made._done))
        if list(running) == futures[:1] and not futures[0].done():
            # Nothing else is given out.
            futures[0].set_result(packets.Outcome([0], 1e-6))
        return original(running, **options)

    original = packets.wait
    monkeypatch.setattr(packets, "wait", wait)
    assert list(made.results(submit, lambda error, units, at: error)) == list(range(4_000))
    # For each worker 32 that wait, and 2 packets of 32 that were given out before.
    assert 64 < max(waited) <= 2 * (32 + 2 * 32)


def test_dask_counts_once_what_a_lost_worker_had(files: str, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    # Workers are processes of their own, and import this module for its selectors.
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    )
    lost: list[int] = []
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        workers = list(client.run(os.getpid).values())

        def kill_one(_: Any, units: int) -> None:
            if units >= 3 and not lost:
                lost.append(workers[0])
                os.kill(workers[0], signal.SIGKILL)

        found = process(files, Slow(), client, step_size=50, partial=kill_one)
    assert lost and found == list(range(1, 3 * ROWS - 10))


def test_a_worker_that_dies_is_an_error(files: str) -> None:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as processes:
        with pytest.raises(ProcessingError, match="a worker died at entries"):
            process(files, Dying(), processes)


def test_without_entries_there_is_no_result(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "empty.root") as file:
        file.mktree("t", {"x": "f8"})
    assert process(f"{tmp_path}/empty.root:t", Positive()) is None


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sapwood", *map(str, arguments)], capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize(
    "workers", [(), ("--processes", "--workers", "2"), ("--step-size", "150", "--workers", "1")]
)
def test_a_made_selector_runs_and_counts(files: str, tmp_path: Path, workers: tuple[str, ...]) -> None:
    script = tmp_path / "counting.py"
    done = command("makeselector", files.replace("*", "0"), script)
    assert done.returncode == 0, done.stderr
    assert "class TSelector(Selector)" in script.read_text() and '"x",  # int64_t' in script.read_text()
    done = command("process", files, script, *workers)
    assert (done.returncode, done.stdout) == (0, "{'entries': 1500}\n"), done.stderr
    assert command("makeselector", files.replace("*", "0"), script).returncode == 1
    assert command("makeselector", files.replace("*", "0")).stdout == script.read_text().replace(
        script.name, "selector.py"
    )


TWO = """
import hist
import numpy as np
from sapwood import Selector

class Counts(Selector):
    columns, cut = ["x"], "x >= 0"
    def process(self, batch):
        return {"h": hist.Hist.new.Reg(10, 0, 1500).Double().fill(batch.x)}
    def merge(self, one, other):
        return {key: one[key] + other[key] for key in one}

class Sums(Selector):
    columns = ["x"]
    def process(self, batch):
        return float(np.sum(batch.x))

class Pairs(Selector):
    columns = ["x"]
    def process(self, batch):
        return ("x", len(batch.x))
"""


def test_the_command_writes_results_and_says_what_is_wrong(files: str, tmp_path: Path) -> None:
    script = tmp_path / "two.py"
    script.write_text(TWO)
    done = command("process", files, script)
    assert (
        done.returncode == 1 and "several selectors" in done.stderr and "Counts, Sums, Pairs" in done.stderr
    )
    done = command("process", files, f"{script}:Sums")
    assert float(done.stdout) == sum(range(-10, 1490)), done.stderr
    first, second = (f"{files.replace('*', str(part))}" for part in (0, 1))
    assert float(command("process", first, second, f"{script}:Sums").stdout) == sum(range(-10, 990))
    done = command("process", files, f"{script}:Sums", "--out", tmp_path / "sum.json")
    assert float((tmp_path / "sum.json").read_text()) == sum(range(-10, 1490)), done.stderr
    done = command(
        "process", files, f"{script}:Counts", "--step-size", "1500", "--out", tmp_path / "out.root"
    )
    assert done.returncode == 0, done.stderr
    assert sapwood.open(tmp_path / "out.root")["h"].values().sum() == 1490
    # A number is a TParameter, and what is no object of ROOT is not lost.
    done = command("process", files, f"{script}:Sums", "--out", tmp_path / "sum.root")
    assert sapwood.open(tmp_path / "sum.root")["result"].value == sum(range(-10, 1490)), done.stderr
    done = command("process", files, f"{script}:Pairs", "--out", tmp_path / "pairs.root")
    assert done.returncode == 1 and "('x', " in done.stdout and "--out with .json" in done.stderr
    assert not list(tmp_path.glob("*pairs.root*"))
    for arguments, words in (
        (("MySelector.C+",), "is C++, which is not run here: `sapwood makeselector FILE:TREE`"),
        (("gone.py",), "no file 'gone.py'"),
        ((f"{script}:Gone",), "has no selector 'Gone'; it has Counts, Sums, Pairs"),
        ((f"{script}:Sums", "--out", "x.txt"), "written as .root or .json"),
        ((f"{script}:Sums", "--out", f"{tmp_path}/sum.json"), "--force"),
    ):
        done = command("process", files, *arguments)
        assert done.returncode == 1 and words in done.stderr, done.stderr


def test_results_that_json_does_not_hold_are_printed(files: str, tmp_path: Path) -> None:
    script, out = tmp_path / "two.py", tmp_path / "out.json"
    script.write_text(TWO)
    done = command("process", files, f"{script}:Counts", "--step-size", "1500", "--out", out)
    assert done.returncode == 1 and "Hist" in done.stdout and not out.exists()
    assert "the result is printed, and not written: a result of type Hist has no form in JSON" in done.stderr
    script.write_text(TWO.replace("float(np.sum(batch.x))", "float('nan')"))
    assert command("process", files, f"{script}:Sums", "--out", out).returncode == 0
    assert out.read_text() == "NaN\n"


def test_a_selector_may_be_imported_by_its_file(files: str, tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text(TWO)
    script = tmp_path / "imports.py"
    script.write_text("from two import Sums")
    for named in ("", ":Sums"):
        done = command("process", files, f"{script}{named}", "--processes", "--workers", "2")
        assert float(done.stdout) == sum(range(-10, 1490)), done.stderr
    script.write_text("from two import Sums\nclass Own(Sums):\n    cut = 'x > 1480'\n")
    assert float(command("process", files, script).stdout) == sum(range(1481, 1490))
    script.write_text("\nraise ValueError('no')")
    done = command("process", files, script)
    assert done.returncode == 1
    assert done.stderr == f"sapwood: '{script}' cannot be imported: ValueError: no, line 2\n"
    script.write_text(
        "from two import Sums\nclass Own(Sums):\n    def process(self, batch):\n        1 / 0\n"
    )
    done = command("process", files, script)
    assert done.returncode == 1 and f"ZeroDivisionError: division by zero ({script}, line 4)\n" in done.stderr


def test_names_of_a_file_are_no_code_of_its_selector(tmp_path: Path) -> None:
    from sapwood._tools.selectors import _on_one_line

    assert _on_one_line('int\n    ]\nimport os; """') == "int?    ]?import os; ???"
    path = tmp_path / "a.root"
    with sapwood.recreate(path) as file:
        file['t"""'] = {"x": [1]}
    code = sapwood.makeselector(f'{path}:t"""', name="Hostile")
    compile(code, "selector.py", "exec")
    assert code.count('"""') % 2 == 0


class Large:
    """A result that counts how many of its kind are held, and claims to be large."""

    alive = most = 0

    def __init__(self, rows: list[int]) -> None:
        self.rows, self.nbytes = rows, 40 << 20
        Large.alive += 1
        Large.most = max(Large.most, Large.alive)

    def __del__(self) -> None:
        Large.alive -= 1


class MakesLarge(Selector):
    columns = ["x"]

    def process(self, batch: Any) -> Any:
        return Large([int(one) for one in batch["x"]])

    def merge(self, one: Any, other: Any) -> Any:
        one.rows += other.rows
        return one


@pytest.mark.parametrize("workers", [1, 2])
def test_few_large_results_are_held_at_once(tmp_path: Path, workers: int) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        with file.mktree("t", {"x": "i8"}, auto_flush=5) as tree:
            tree.extend({"x": np.arange(500)})
    Large.alive = Large.most = 0
    with ThreadPoolExecutor(workers) as executor:
        found = process(f"{tmp_path}/a.root:t", MakesLarge(), executor, step_size=5)
    assert found.rows == list(range(500))
    # Of 100 units: the result so far, and a few for each worker.
    assert Large.most <= 2 + 5 * workers


def test_a_packet_ends_when_its_results_are_large() -> None:
    from sapwood._tools.packets import work_on

    few = work_on(list(range(32)), lambda unit: np.zeros(2 << 20), 60.0)  # 16 MB each
    many = work_on(list(range(32)), lambda unit: {"found": [unit, "text"]}, 60.0)
    assert len(few.results) == 2 and few.size == 32 << 20
    assert len(many.results) == 32


class Sly:
    @property
    def nbytes(self) -> int:
        raise KeyError("nothing")


@pytest.mark.parametrize(
    ("make", "least"),
    [
        (lambda: {"a": [np.zeros(1000)] * 3}, 24_000),
        (lambda: [b"x" * 100] * 5000, 500_000),
        (lambda: pytest.importorskip("hist").Hist.new.Reg(1000, 0, 1).Weight(), 16_000),
        (lambda: pytest.importorskip("pandas").DataFrame({"a": np.zeros(1000)}), 8_000),
        (Sly, 0),
    ],
)
def test_bytes_of_results_are_estimated(make: Any, least: int) -> None:
    from sapwood._tools.result_bytes import bytes_of

    assert least <= bytes_of(make()) <= 2 * least + 5000
    loop: list[Any] = []
    loop.append(loop)
    assert bytes_of(loop) > 0


class Counts:
    """Counts how often its size is asked."""

    asked = 0

    @property
    def nbytes(self) -> int:
        Counts.asked += 1
        return 1000


def test_an_estimate_looks_at_few_items() -> None:
    from sapwood._tools.result_bytes import bytes_of

    Counts.asked = 0
    nested = [[[Counts()] * 100] * 500] * 500
    assert 500 * 500 * 100 * 1000 <= bytes_of(nested) <= 1.1 * 500 * 500 * 100 * 1000
    assert 0 < Counts.asked <= 10_000
    # Small items before large ones do not use up the looks.
    assert bytes_of([[[1.0] * 100] * 100, *[np.zeros(1000)] * 50]) >= 50 * 8000
