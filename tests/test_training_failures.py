"""Training that is interrupted: workers that die, consumers that stop; and the memory that batches take."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

sapwood = pytest.importorskip("sapwood")
np = pytest.importorskip("numpy")
ak = pytest.importorskip("awkward")

from test_training import the_torch  # noqa: E402

ROWS = 4000


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("failures") / "a.root"
    with sapwood.recreate(path) as file:
        for start in range(0, ROWS, 500):
            part = {"event": np.arange(start, start + 500), "x": np.arange(500) / 7}
            if start == 0:
                file["t"] = part
            else:
                file["t"].extend(part)
            file["t"].flush()
    return f"{path}:t"


def made_of(place: str) -> Any:
    return sapwood.batches(place, ["event", "x"], 64, shuffle=True, buffer="30 kB", seed=4)


def work(place: str, worker: int, state: Any, dies_after: int, results: Any) -> None:
    """Hands over the events of each batch and the state after it; dies in the middle of an epoch, or not."""
    batches = made_of(place).part(worker, 2)
    if state is not None:
        batches.load_state_dict(state)
    for number, batch in enumerate(batches):
        if number == dies_after:
            os._exit(9)
        results.send((batch["event"].tolist(), batches.state_dict()))
    results.send(None)


def test_every_row_comes_once_though_workers_die(place: str) -> None:
    context = multiprocessing.get_context("spawn")
    seen: list[int] = []
    deaths = 0
    for worker in range(2):
        state = None
        for dies_after in (2, 0, -1):
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=work, args=(place, worker, state, dies_after, theirs))
            process.start()
            theirs.close()
            is_done = False
            while True:
                try:
                    found = ours.recv()
                except EOFError:
                    break
                if found is None:
                    is_done = True
                    break
                seen += found[0]
                state = found[1]
            process.join()
            deaths += process.exitcode == 9
            if is_done:
                break
    assert deaths == 4 and sorted(seen) == list(range(ROWS))


def test_a_worker_of_pytorch_that_dies_is_an_error_and_its_state_goes_on(place: str) -> None:
    torch = the_torch()
    loaders = torch.utils.data

    class Dying(loaders.IterableDataset):  # type: ignore[misc]
        def __init__(self, data: Any, dies: bool) -> None:
            self.data, self.dies = data, dies

        def __iter__(self) -> Any:
            for number, batch in enumerate(self.data):
                if self.dies and number == 3 and loaders.get_worker_info().id == 1:
                    os._exit(1)
                yield batch

    data = sapwood.batches(
        place, ["event"], 64, shuffle=True, to="torch", buffer="30 kB", matrix=True
    ).torch()
    # PyTorch reports that the worker is gone, or fails to take over memory that it shared.
    with pytest.raises((RuntimeError, EOFError, OSError)):
        list(loaders.DataLoader(Dying(data, True), batch_size=None, num_workers=2))
    whole = loaders.DataLoader(Dying(data, False), batch_size=None, num_workers=2)
    assert sorted(int(one) for (x,) in whole for one in x[:, 0]) == list(range(ROWS))

    # As torchdata's StatefulDataLoader does it in each worker.
    begun = iter(data)
    first = [next(begun) for _ in range(20)]
    state = data.state_dict()
    begun.close()
    later = sapwood.batches(
        place, ["event"], 64, shuffle=True, to="torch", buffer="30 kB", matrix=True
    ).torch()
    later.load_state_dict(state)
    events = [int(one) for (x,) in [*first, *later] for one in x[:, 0]]
    assert sorted(events) == list(range(ROWS))


ENDS = """
import sys, sapwood
batches = sapwood.batches(sys.argv[1], ["event", "x"], 16, shuffle=True, buffer="20 kB")
for number, batch in enumerate(batches):
    if number == 3:
        {how}
"""


@pytest.mark.parametrize("how", ["break", "sys.exit(0)", "raise SystemExit(0)"])
def test_a_program_that_stops_in_the_middle_ends(place: str, how: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDS.format(how=how), place], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0 and done.stderr == ""


def test_a_consumer_that_fails_leaves_no_thread(place: str) -> None:
    before = threading.active_count()
    batches = made_of(place)
    with pytest.raises(ZeroDivisionError):
        for _ in batches:
            _ = 1 // 0
    assert threading.active_count() == before
    assert sorted(int(one) for batch in batches for one in batch["event"]) == list(range(ROWS))
    assert threading.active_count() == before


def test_an_error_of_a_reader_reaches_the_consumer(tmp_path: Path) -> None:
    path = tmp_path / "short.root"
    with sapwood.recreate(path, compression=None) as file:
        file["t"] = {"x": np.arange(100_000.0)}
    before = threading.active_count()
    batches = sapwood.batches(f"{path}:t", "x", 1000, shuffle=True, buffer="100 kB")
    with open(path, "r+b") as raw:
        raw.seek(400_000)
        raw.write(b"\0" * 200_000)
    batches.close()
    path.write_bytes(path.read_bytes()[:500_000])
    with pytest.raises(sapwood.SapwoodError):
        list(batches)
    assert threading.active_count() == before


MEMORY = """
import sys, sapwood
from sapwood import _core

def peak():
    # Kilobytes. The peak that getrusage reports begins with that of the parent process.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

batches = sapwood.batches(sys.argv[1], sys.argv[3].split(), 1024, shuffle=True, buffer=sys.argv[2], threads=2,
                          matrix=sys.argv[4] == "matrix", pad=4 if sys.argv[4] == "pad" else None)
_core.memory_bytes(2)
before, rows = peak(), 0
for _ in range(2):
    for batch in batches:
        rows += len(batch)
del batch
lent, most, idle = _core.memory_bytes(2)
print(rows, peak() - before, lent, batches.stats["most_bytes"], batches.stats["group_rows"])
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> str:
    """64 MB of numbers, and lists of 0 to 15 of them: clusters of 1 MB."""
    path = tmp_path_factory.mktemp("large") / "large.root"
    cluster = 1 << 14
    counts = np.arange(cluster) % 16
    with sapwood.recreate(path, compression=None) as file:
        part = {f"c{number}": np.arange(cluster, dtype="f4") for number in range(8)}
        part["v"] = ak.unflatten(np.arange(counts.sum(), dtype="f4"), counts)
        file["t"] = part
        for _ in range(LARGE // cluster - 1):
            file["t"].extend(part)
            file["t"].flush()
    return f"{path}:t"


LARGE = 1 << 21


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak of memory is that of Linux")
@pytest.mark.parametrize("how", ["matrix", "pad", "lists"])
def test_the_buffer_bounds_the_memory(large: str, how: str) -> None:
    names = " ".join(f"c{number}" for number in range(8)) if how == "matrix" else "v"
    for buffer in (4_000, 12_000, 24_000):
        done = subprocess.run(
            [sys.executable, "-c", MEMORY, large, f"{buffer} kB", names, how],
            capture_output=True,
            text=True,
            check=True,
        )
        rows, peak, lent, most, group_rows = map(int, done.stdout.split())
        assert rows == 2 * LARGE and lent == 0, "all memory is given back"
        # The engine holds two groups at least, and the buffer at most, for rows and batches.
        assert 0.6 * buffer * 1000 < most <= buffer * 1000, (how, buffer, most, group_rows)
        # Next to it are baskets that are being decoded, memory that waits to be used again, and Python's.
        assert peak < 45_000 + 1.5 * buffer, (how, buffer, peak)


def test_mixing_of_several_samples(place: str) -> None:
    samples = {
        "one": {"files": place, "share": 0.3},
        "two": {"files": place, "share": 0.7},
    }

    def mixing(**options: Any) -> float:
        return float(sapwood.batches(samples, "event", 50, **options).mixing())

    assert mixing() < 0.05 and mixing(shuffle="rows") > 0.9
    assert mixing(shuffle=True, buffer="1 MB") > 0.9 > mixing(shuffle=True, buffer="10 kB")


def test_a_score_of_an_old_cycle_is_not_written_to_the_newest(tmp_path):
    path = tmp_path / "cycles.root"
    for values in ([1, 2, 3], [10, 20, 30]):
        with (sapwood.update if path.exists() else sapwood.recreate)(path) as file:
            file.mkrntuple("t", {"x": np.array(values, "i4")})
    with pytest.raises(sapwood.errors.MismatchError, match="older cycle"):
        sapwood.add_column(f"{path}:t;1", "s", lambda columns: columns["x"] * 2, ["x"])
    sapwood.add_column(f"{path}:t;2", "s", lambda columns: columns["x"] * 2, ["x"])
    assert sapwood.open(path)["t/s"].array().tolist() == [20, 40, 60]


def test_an_epoch_begins_at_one_of_its_batches(tmp_path):
    path = tmp_path / "few.root"
    with sapwood.recreate(path) as file:
        file["t"] = {"x": np.arange(100.0)}
    made = sapwood.batches(f"{path}:t", ["x"], 10)
    made.set_epoch(3, 10)
    assert list(made) == []
    for batch in (-1, 11):
        with pytest.raises(sapwood.errors.MismatchError, match="has 10 batches"):
            made.set_epoch(3, batch)


def test_memory_that_ends_while_it_is_counted_does_not_wait():
    """A lease may be collected at any moment of the thread that counts another one."""
    from sapwood._batches.form import Lease, Meter

    meter = Meter()
    held = [Lease(meter, 5)]
    with meter._lock:
        held.clear()
    Lease(meter, 3)
    assert meter.most == 5 and meter.now == 3
