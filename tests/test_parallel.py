"""Trees that many threads fill: what they hold, in which order, read by real ROOT and by us, also after the writer was killed.

``SAPWOOD_PARALLEL_KILLS`` says how many times; ``make torture`` kills two hundred.
"""

from __future__ import annotations

import io
import os
import random
import resource
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.events import Event
from support.killed import Teller, killed_after
from support.rootrun import root

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")

KILLS = int(os.environ.get("SAPWOOD_PARALLEL_KILLS", "6"))
ROWS = 500


TYPES = {"number": "i8", "noise": "f4", "hits": "var * float32", "name": "string", "vector": "vector<double>"}


def plain(start: int, rows: int = ROWS) -> dict[str, Any]:
    number = np.arange(start, start + rows)
    counts = number % 4
    return {
        "number": number,
        "noise": np.random.default_rng(start).random(rows, dtype="f4"),
        "hits": ak.unflatten(np.repeat(number, counts).astype("f4"), counts),
        "name": [f"e{i}" for i in number],
        "vector": ak.unflatten(np.repeat(number, counts) / 2, counts),
    }


def objects(start: int, rows: int = ROWS) -> dict[str, Any]:
    number = np.arange(start, start + rows)
    hits = ak.unflatten(
        ak.zip({"x": np.repeat(number, number % 3) / 2, "adc": np.repeat(number, number % 3)}), number % 3
    )
    return {
        "event": ak.zip({"number": number, "name": [f"e{i}" for i in number], "hits": hits}, depth_limit=1)
    }


def fill(path: Any, threads: int, steps: int, **options: Any) -> None:
    """Two trees of one file, filled by all threads at once."""
    with sapwood.recreate(path) as file:
        one = file.parallel_tree("folder/plain", TYPES, auto_flush=700, auto_save=3000, **options)
        two = file.parallel_tree("objects", {"event": Event}, auto_flush=300)
        file["note"] = "beside them"

        def work(thread: int) -> None:
            with one.context() as plain_context, two.context() as object_context:
                for step in range(steps):
                    start = (thread * steps + step) * ROWS
                    plain_context.extend(plain(start))
                    object_context.extend(objects(start))
                    if step == steps // 2:
                        one.save()

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, range(threads)))


CHECK = """
ROOT.gInterpreter.Declare(r'''
#include <set>
struct Hit { double x; int adc; };
struct Event { Long64_t number; std::string name; std::vector<Hit> hits; };
long check(const char *path) {
    TFile file(path);
    auto tree = file.Get<TTree>("folder/plain");
    Long64_t number; char name[40]; int n; float hits[10]; std::vector<double> *vector = nullptr;
    tree->SetBranchAddress("number", &number);
    tree->SetBranchAddress("name", name);
    tree->SetBranchAddress("nhits", &n);
    tree->SetBranchAddress("hits", hits);
    tree->SetBranchAddress("vector", &vector);
    std::set<Long64_t> seen;
    for (Long64_t entry = 0; entry < tree->GetEntries(); entry++) {
        if (tree->GetEntry(entry) <= 0) return -1;
        if (!seen.insert(number).second) return -2;
        if (TString(name) != TString::Format("e%lld", number)) return -3;
        if (n != number % 4 || vector->size() != size_t(n)) return -4;
        for (int k = 0; k < n; k++)
            if (hits[k] != float(number) || vector->at(k) != number / 2.) return -5;
    }
    if (seen.size() && *seen.rbegin() + 1 != Long64_t(seen.size())) return -6;
    auto clusters = tree->GetClusterIterator(0);
    for (Long64_t at = clusters(); at < tree->GetEntries(); at = clusters())
        if (clusters.GetNextEntry() - at > 700) return -7;
    return seen.size();
}
''')
answer([ROOT.check(path) for path in sys.argv[1:]])
"""

READ_OBJECTS = """
ROOT.gInterpreter.Declare(r'''
struct Hit { double x; int adc; };
struct Event { Long64_t number; std::string name; std::vector<Hit> hits; };
''')
file = ROOT.TFile(sys.argv[1])
tree = file.Get("objects")
rows = tree.Draw("number:Sum$(hits.adc):Length$(hits.adc)", "", "goff")
found = sorted((int(tree.GetV1()[i]), int(tree.GetV2()[i]), int(tree.GetV3()[i])) for i in range(rows))
assert found == [(number, number * (number % 3), number % 3) for number in range(rows)], found[:10]
answer(rows)
"""


@pytest.mark.parametrize("compression", ["zstd:5", "none"])
def test_real_root_reads_what_many_threads_wrote(tmp_path: Path, compression: str) -> None:
    path = tmp_path / "parallel.root"
    fill(path, 4, 6, compression=None if compression == "none" else compression)
    rows = 4 * 6 * ROWS
    assert sapwood.verify(path) == []
    assert root(CHECK, path) == [rows]
    assert root(READ_OBJECTS, path) == rows
    with sapwood.open(path) as file:
        assert str(file["note"]) == "beside them"
        arrays = file["folder/plain"].arrays()
        order = np.argsort(arrays["number"])
        wanted = [plain(step * ROWS) for step in range(4 * 6)]
        for name in TYPES:
            whole = ak.concatenate([ak.Array(part[name]) for part in wanted])
            assert ak.to_list(arrays[name][order]) == ak.to_list(whole), name
        events = file["objects"].arrays()
        order = np.argsort(ak.flatten(events["number"], axis=None))
        whole = ak.concatenate([objects(step * ROWS)["event"].hits.adc for step in range(4 * 6)])
        assert ak.to_list(events["hits.adc"][order]) == ak.to_list(whole)


def numbered(threads: int, **options: Any) -> bytes:
    """Forty units, from so many threads."""
    memory = io.BytesIO()
    chance = random.Random(threads)
    with sapwood.recreate(memory, reproducible=True) as file:
        tree = file.parallel_tree("tree", TYPES, auto_flush=700, **options)
        workers = [tree.numbered() for _ in range(threads)]
        numbers = iter(range(40))
        lock = threading.Lock()

        def work(worker: Any) -> None:
            with worker:
                while True:
                    with lock:
                        number = next(numbers, None)
                    if number is None:
                        return
                    with worker.unit(number) as unit:
                        time.sleep(chance.random() * 0.003)
                        for start in range(0, 1000, 250):
                            unit.extend(plain(1000 * number + start, 250))

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, workers))
    return memory.getvalue()


@pytest.mark.parametrize("options", [{}, {"auto_save": 5000, "basket_bytes": 4000}])
def test_numbered_units_stand_in_order_and_give_the_same_bytes(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    one = numbered(1, **options)
    for threads in (2, 4):
        assert numbered(threads, **options) == one
    path = tmp_path / "numbered.root"
    path.write_bytes(one)
    assert sapwood.open(path)["tree/number"].array(library="np").tolist() == list(range(40_000))
    lines = """
tree = ROOT.TFile(sys.argv[1]).Get("tree")
columns = ROOT.RDataFrame("tree", sys.argv[1]).AsNumpy(["number"])
answer([int(x) for x in columns["number"]])
"""
    assert root(lines, path) == list(range(40_000))


def test_who_fails_leaves_whole_clusters_and_no_rows_that_wait() -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        tree = file.parallel_tree("tree", {"x": "i4"}, auto_flush=10)
        with pytest.raises(ZeroDivisionError), tree.context() as context:
            context.extend({"x": range(15)})
            1 / 0
        left_open = tree.context()
        left_open.fill(x=20)
        assert tree.num_entries == 10 and tree.save() == 10
        workers = [tree.numbered(), tree.numbered()]
        with pytest.raises(ZeroDivisionError), workers[0].unit(0) as unit:
            unit.extend({"x": range(5)})
            1 / 0
        with workers[1].unit(1) as unit:
            unit.extend({"x": [30]})
            with pytest.raises(sapwood.errors.MismatchError, match="still open"):
                workers[1].unit(2)
        with pytest.raises(sapwood.errors.ExistsError):
            workers[0].unit(1)
    assert sapwood.open(memory)["tree/x"].array().tolist() == [*range(10), 30, 20]


def test_the_error_that_came_first_is_told(tmp_path: Path) -> None:
    path = tmp_path / "failed.root"
    kept: list[Any] = []
    for _ in range(2):  # what the first round leaves behind disturbs no other
        with pytest.raises(KeyError, match="a mistake of the user") as told, sapwood.recreate(path) as file:
            tree = file.parallel_tree("tree", {"x": "i4"})
            kept += [tree, worker := tree.numbered()]
            with worker.unit(1) as unit:
                unit.extend({"x": [1, 2]})
            raise KeyError("a mistake of the user")
        assert any("unit 0 was never begun" in note for note in told.value.__notes__)
        assert sapwood.open(path)["tree/x"].array().tolist() == [1, 2]
    with pytest.raises(sapwood.errors.MismatchError, match="the tree is closed"):
        kept[0].context()
    with pytest.raises(sapwood.errors.MismatchError, match="the file is closed"):
        file.mkdir("folder")


def test_finished_files_of_other_processes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        with sapwood.recreate(tmp_path / f"{name}.root") as file:
            file["deep/tree"] = {"x": np.arange(30_000, dtype="i8"), "y": np.full(30_000, len(name), "f4")}
            file["h"] = np.histogram([1], bins=2)
    path = tmp_path / "out.root"
    with sapwood.recreate(path, compression=None) as file:
        tree = file.parallel_tree("tree", {"x": "i8", "y": "f4"})
        with pytest.raises(
            sapwood.errors.MismatchError,
            match=r"holds more than the tree, which would be lost: h; .*one\.root",
        ):
            tree.adopt(tmp_path / "one.root", "deep/tree")
        assert tree.adopt(tmp_path / "one.root", "deep/tree", ignore_rest=True) == 30_000
        assert tree.adopt(f"{tmp_path}/two.root:deep/tree", ignore_rest=True) == 30_000
        with pytest.raises(TypeError, match="'h' is no tree"):
            tree.adopt(tmp_path / "one.root", "h")
        with pytest.raises(sapwood.errors.NotFoundError, match="tree"):
            tree.adopt(tmp_path / "one.root")
        with pytest.raises(sapwood.errors.MismatchError, match="from 0 on, not -1"):
            tree.numbered().unit(-1)
        with pytest.raises(TypeError, match=r"parallel_tree.*'autoflush'; nearest: 'auto_flush'"):
            file.parallel_tree("other", {"x": "i8"}, autoflush=10)
        os.truncate(tmp_path / "one.root", os.path.getsize(tmp_path / "one.root") - 1)
        with pytest.raises(sapwood.errors.MalformedError, match=r"not closed.*one\.root"):
            tree.adopt(tmp_path / "one.root", "deep/tree")
    read = "file = ROOT.TFile.Open(sys.argv[1]); answer([[e.x, e.y] for e in file.Get('tree')])"
    wanted = [[x, 3] for x in range(30_000)] * 2
    assert root(read, path) == wanted and not sapwood.verify(path).damaged


def test_who_waits_for_what_nobody_brings_is_told() -> None:
    memory = io.BytesIO()
    file = sapwood.recreate(memory, compression=None)
    tree = file.parallel_tree("tree", {"x": "f8"}, auto_flush="10 MB")
    worker = tree.numbered()
    unit = worker.unit(7)
    many = np.arange(5_000_000.0)
    with pytest.raises(
        sapwood.errors.MismatchError, match="is blocked on unit 0, which no open context can produce"
    ):
        for _ in range(10):
            unit.extend({"x": many})
    unit.discard()
    worker.close()
    with tree.numbered() as other, other.unit(0) as first:
        first.extend({"x": [1.0]})
    with pytest.raises(sapwood.errors.MismatchError, match="unit 1 was never begun"):
        file.close()
    assert sapwood.open(memory)["tree/x"].array().tolist() == [1.0]


@pytest.mark.parametrize("numbered", [False, True])
def test_a_disk_that_is_full(numbered: bool, tmp_path: Path) -> None:
    """Each thread is told and keeps its rows; they are written once there is room, and nothing is there twice."""
    path, (soft, hard) = tmp_path / "full.root", resource.getrlimit(resource.RLIMIT_FSIZE)
    file = sapwood.recreate(path)
    tree = file.parallel_tree("folder/plain", TYPES, auto_flush=ROWS)
    workers = [tree.numbered() if numbered else tree.context() for _ in range(3)]
    steps = [iter(range(worker, 12, 3)) for worker in range(3)]
    open_units: dict[int, Any] = {}
    told = []

    def work(worker: int) -> None:
        """Fills until storage refuses, or to the end."""
        if worker in open_units:
            open_units.pop(worker).close()
        for step in steps[worker]:
            context = workers[worker].unit(step) if numbered else workers[worker]
            try:
                context.extend(plain(step * ROWS))
                # What its end sets free may be another's, and be refused: the unit is whole nevertheless.
                if numbered:
                    context.close()
            except OSError as error:
                told.append(error)
                if numbered and not context.closed:
                    open_units[worker] = context
                return

    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, hard))
    try:
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(work, range(3)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert told and all("full.root" in str(error) and "too large" in str(error) for error in told), told
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    for context in workers:
        context.close()
    file.close()
    assert rows_of(path) == 12 * ROWS
    assert sapwood.verify(path) == []
    with sapwood.open(path) as file:
        number = file["folder/plain/number"].array(library="np")
        assert not numbered or (number == np.arange(12 * ROWS)).all()


def write(path: Path, tell: Teller) -> None:
    """Fills from three threads until it is killed; says what is saved and what is committed as soon as it is."""
    opened = sapwood.recreate(path)
    tree = opened.parallel_tree("folder/plain", TYPES, auto_flush=700, auto_save=10_000)
    saved = tree.save()
    lock = threading.Lock()
    steps = iter(range(400))

    def work() -> None:
        nonlocal saved
        context = tree.context()
        while True:
            with lock:
                step = next(steps, None)
            if step is None:
                time.sleep(60)
            context.extend(plain(step * 700, 700))
            with lock:
                if step % 20 == 19:
                    saved = tree.save()
                tell.say(saved, tree.num_entries)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def rows_of(path: Path) -> int:
    """Rows of a file whose writer was killed; each is itself, and none is there twice."""
    with sapwood.open(path) as file:
        arrays = file["folder/plain"].arrays()
    number = np.asarray(arrays["number"])
    assert len(np.unique(number)) == len(number)
    assert ak.to_list(arrays["name"]) == [f"e{i}" for i in number]
    assert ak.to_list(arrays["hits"]) == ak.to_list(
        ak.unflatten(np.repeat(number, number % 4).astype("f4"), number % 4)
    )
    return len(number)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_what_killed_threads_committed_comes_back(tmp_path: Path) -> None:
    chance = random.Random(11)
    longer, recovered = 0, []
    for turn in range(KILLS):
        path = tmp_path / f"{turn}.root"
        words = chance.choice([5, 15, 22, 50, 73, 90])
        saved, committed = killed_after(partial(write, path), words, linger=chance.random() * 0.02)
        before = rows_of(path)
        assert before >= saved, f"{before} rows, and {saved} were saved"
        copy = path.with_suffix(".recovered.root")
        shutil.copy(path, copy)
        sapwood.recover(copy)
        now = rows_of(copy)
        assert now >= max(before, committed), f"{now} rows, and {committed} were committed"
        longer += now > before
        # A thread that died before others wrote theirs leaves baskets of no entry, and a save that was cut
        # short leaves freed records without a mark.
        assert [one for one in sapwood.verify(copy) if one.severity != "note"] == []
        recovered.append(copy)
    assert longer > KILLS // 4, "hardly anything was committed and not saved: the test would not see it lost"
    lines = """
found = []
for path in sys.argv[1:]:
    file = ROOT.TFile(path)
    tree = file.Get("folder/plain")
    found.append(sum(tree.GetEntry(i) > 0 for i in range(tree.GetEntries())))
answer(found)
"""
    assert root(lines, *recovered[:50]) == [rows_of(path) for path in recovered[:50]]


def test_recovery_stops_at_a_cluster_that_was_not_written_and_says_so(tmp_path: Path) -> None:
    path, copy = tmp_path / "a.root", tmp_path / "b.root"
    with sapwood.recreate(path) as file:
        tree = file.parallel_tree("t", {"x": "i4", "y": "f8"}, auto_flush=100)
        tree.save()
        with tree.context() as context:
            context.extend({"x": np.arange(500), "y": np.arange(500.0)})
            context.flush()
            shutil.copy(path, copy)
    raw = bytearray(copy.read_bytes())
    # What a thread leaves that has its place in the file and dies before it writes: the mark of a gap.
    keys = [at for at in range(len(raw)) if raw[at + 34 : at + 42] == b"\x07TBasket"]
    third = [at for at in keys if int.from_bytes(raw[at + 16 : at + 18]) == 2]
    assert len(keys) == 10 and len(third) == 2
    length = sum(int.from_bytes(raw[at : at + 4]) for at in third)
    raw[third[0] : third[0] + length] = (-length).to_bytes(4, "big", signed=True) + bytes(length - 4)
    copy.write_bytes(raw)
    found = sapwood.recover(copy)
    assert found.trees == {"t": (0, 200)}
    words = "t: 4 baskets after entry 200 belong to clusters of which a part, or one before them, "
    words += "was never written"
    assert found.left == [words]
    assert sapwood.open(copy)["t/y"].array().tolist() == list(range(200))
    assert [(one.severity, one.message) for one in sapwood.verify(copy)] == [
        ("note", "4 baskets belong to no tree that the file lists")
    ]


def test_a_freed_record_without_a_mark_is_noted_and_one_in_use_is_a_danger(tmp_path: Path) -> None:
    path, before = tmp_path / "a.root", tmp_path / "b.root"
    with sapwood.recreate(path) as file:
        file["a"], file["b"] = "freed", "kept"
    shutil.copy(path, before)
    with sapwood.update(path) as file:
        del file["a"]
    old, raw = before.read_bytes(), bytearray(path.read_bytes())
    at = 100
    while (length := int.from_bytes(raw[at : at + 4], signed=True)) > 0:
        at += length
    length = -length
    freed = old.index(b"\x0aTObjString\x01a") - 26
    assert at < freed < at + length, "the gap holds the record"
    raw[at : at + 4] = (at - freed).to_bytes(4, signed=True)
    raw[freed : at + length] = old[freed : at + length]
    path.write_bytes(raw)
    assert [(one.severity, one.message) for one in sapwood.verify(path)] == [
        ("note", "a record that was freed is not marked as a gap")
    ]
    # The list of free segments names the place of `b` instead.
    kept = raw.index(b"\x0aTObjString\x01b") - 26
    end = kept + int.from_bytes(raw[kept : kept + 4]) - 1
    free = (at).to_bytes(4) + (at + length - 1).to_bytes(4)
    assert raw.count(free) == 1
    path.write_bytes(raw.replace(free, kept.to_bytes(4) + end.to_bytes(4)))
    found = [(one.severity, one.message) for one in sapwood.verify(path)]
    assert ("unusual", "a free segment holds a record: the next writer would overwrite it") in found, found


def test_threads_that_share_a_context_double_no_row() -> None:
    with sapwood.recreate(memory := io.BytesIO()) as file:
        tree = file.parallel_tree("t", {"x": "i4"})
        with tree.context() as context, ThreadPoolExecutor(3) as pool:
            list(pool.map(lambda thread: [context.fill(x=1000 * thread + k) for k in range(1000)], range(2)))
            list(
                pool.map(lambda thread: [context.extend({"x": [9000 + thread]}) for _ in range(50)], range(3))
            )
    found = sapwood.open(memory)["t/x"].array(library="np")
    assert sorted(found[found < 9000]) == list(range(2000)) and len(found) == 2150


FULL = """
import resource, sys, numpy as np, sapwood
def rows():
    with sapwood.recreate(sys.argv[1], compression=None) as file:
        file.mktree("t", {"x": "f8"}).extend({"x": np.arange(200_000.0)})
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, resource.RLIM_INFINITY))
        yield
        sys.exit(0)
left = rows()
next(left)
left.close() if sys.argv[2] == "closed" else next(left)
"""


@pytest.mark.parametrize("how", ["closed", "exit"])
def test_who_ends_is_told_that_nothing_was_written(how: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path / "full.root", how], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1 and "IOError" in done.stderr and "full.root" in done.stderr, done
