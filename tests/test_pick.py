"""Events by their numbers: `find`, `pick` and `--event`, with stored indices, with statistics and without."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import sapwood
from sapwood.errors import MismatchError, NotFoundError

from support.rootrun import root

FILES, ENTRIES = 4, 3_000


def events_of(file: int) -> dict[str, Any]:
    """Runs that rise, event numbers at random, and lists of jets."""
    random = np.random.default_rng(file)
    run = 100 + file * 10 + np.arange(ENTRIES) // 500
    counts = random.integers(0, 4, ENTRIES)
    return {
        "run": run.astype("u4"),
        "luminosityBlock": (np.arange(ENTRIES) // 50 % 10).astype("u4"),
        "event": (random.permutation(ENTRIES) + 5_000_000_000).astype("u8"),
        "met": random.exponential(30, ENTRIES).astype("f4"),
        "Jet_pt": ak.unflatten(random.exponential(40, counts.sum()).astype("f4"), counts),
    }


@pytest.fixture(scope="module", params=["tree", "rntuple"])
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Files of trees or RNTuples, in clusters of some 250 entries, each with something else."""
    folder = tmp_path_factory.mktemp("pick")
    paths = []
    for number in range(FILES):
        path = folder / f"run{number}.root"
        columns = events_of(number)
        with sapwood.recreate(path) as file:
            make = file.mktree if request.param == "tree" else file.mkrntuple
            options = {"auto_flush": 250} if request.param == "tree" else {"cluster_bytes": 4_000}
            first = {name: column[:250] for name, column in columns.items()}
            table = make("Events", first, **options)
            for start in range(250, ENTRIES, 250):
                table.extend({name: column[start : start + 250] for name, column in columns.items()})
            file["Runs"] = {"run": np.unique(columns["run"])}
        paths.append(path)
    return paths


def wanted() -> list[tuple[int, int, int]]:
    """Events of the first, the second and the last file."""
    found = []
    for file, rows in [(0, [3, 700, 701]), (1, [2_999]), (3, [0, 1_499])]:
        columns = events_of(file)
        found += [
            (int(columns["run"][row]), int(columns["luminosityBlock"][row]), int(columns["event"][row]))
            for row in rows
        ]
    return found


ROWS = [(0, 3), (0, 700), (0, 701), (1, 2_999), (3, 0), (3, 1_499)]


def check(path: Path) -> None:
    """Compares a file of the picked events with what was written."""
    table = sapwood.open(path)["Events"]
    assert table.num_entries == len(ROWS)
    arrays = table.arrays()
    for place, (file, row) in enumerate(ROWS):
        columns = events_of(file)
        for name, column in columns.items():
            assert ak.to_list(arrays[name][place]) == ak.to_list(column[row]), (name, place)


@pytest.mark.parametrize("has_statistics", [False, True])
def test_events_of_many_files_become_one(files: list[Path], tmp_path: Path, has_statistics: bool) -> None:
    side = [Path(f"{path}.sapwood-index") for path in files]
    if has_statistics:
        sapwood.index([str(path) for path in files])
    try:
        found = sapwood.pick(
            [f"{path}:Events" for path in files], [*wanted(), (1, 2, 3)], tmp_path / "few.root"
        )
    finally:
        for one in side:
            one.unlink(missing_ok=True)
    assert (found.entries, found.files) == (6, 3)
    assert (found.missing, found.repeated) == (["1:2:3"], [])
    check(tmp_path / "few.root")
    assert [path.name for path in tmp_path.iterdir()] == ["few.root"]


def test_the_command_takes_a_list(files: list[Path], tmp_path: Path) -> None:
    lines = [":".join(map(str, event)) for event in wanted()]
    (tmp_path / "list.txt").write_text("# chosen\n" + "\n".join(lines) + "\n\n9:9:9  # not there\n")
    pattern = str(files[0].parent / "run*.root")
    out = tmp_path / "few.root"
    done = command("pick", pattern, tmp_path / "list.txt", "--out", out)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("6 entries for 7 events, from 3 of 4 files, in ")
    assert "1 event was not found: 9:9:9" in done.stderr
    check(out)
    again = command("pick", pattern, tmp_path / "list.txt", "--out", out)
    assert again.returncode != 0 and "exists" in again.stderr
    named = command("pick", pattern, "--event", lines[3], "--out", out, "--force")
    assert named.returncode == 0, named.stderr
    assert sapwood.open(out)["Events"]["event"].array(library="np").tolist() == [wanted()[3][2]]


def test_scan_shows_an_event(files: list[Path]) -> None:
    event = ":".join(map(str, wanted()[1]))
    done = command("scan", f"{files[0]}:Events", "event", "Entry$", "--event", event, "--csv")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:] == [f"700,{wanted()[1][2]},700"]


def test_find_reads_what_statistics_leave(files: list[Path]) -> None:
    run, _, event = wanted()[1]
    with sapwood.open(files[0]) as file:
        assert file["Events"].find(run=run, event=event).tolist() == [700]
        assert file["Events"].find(event=event, run=run, luminosityBlock=4).tolist() == [700]
        assert file["Events"].find(run=run, event=1).tolist() == []
    without = bytes_read(files[0], run, event)
    sapwood.index(str(files[0]))
    try:
        # Of 3,000 entries 500 have this run, in two clusters of 250.
        assert bytes_read(files[0], run, event) < without / 2
    finally:
        Path(f"{files[0]}.sapwood-index").unlink()


def bytes_read(path: Path, run: int, event: int) -> float:
    """Megabytes that the search for an event reads."""
    with sapwood.open(path) as file:
        tree = file["Events"]
        with tree.perf as perf:
            assert tree.find(event=event, run=run).tolist() == [700]
        return perf.figures["ReadTotal"].value


def test_columns_may_have_other_names(tmp_path: Path) -> None:
    path = tmp_path / "atlas.root"
    with sapwood.recreate(path) as file:
        file["CollectionTree"] = {"RunNumber": [1, 1], "EventNumber": [5, 6], "lbn": [7, 8]}
    picked = sapwood.pick(path, ["1:6"], tmp_path / "out.root")
    assert picked.entries == 1
    columns = ["RunNumber", "lbn", "EventNumber"]
    assert sapwood.pick(path, [(1, 7, 5)], tmp_path / "out.root", columns=columns).entries == 1
    with pytest.raises(NotFoundError, match="luminosityBlock, lumiBlock"):
        sapwood.pick(path, [(1, 7, 5)], tmp_path / "out.root")


def test_events_that_are_there_twice_are_told(files: list[Path], tmp_path: Path) -> None:
    found = sapwood.pick([files[0], files[0]], wanted()[:2], tmp_path / "twice.root")
    assert found.entries == 4 and found.repeated == [":".join(map(str, one)) for one in wanted()[:2]]


def test_numbers_of_64_bits_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "large.root"
    event = np.array([2**63 + 5, 2**64 - 1, 5], "u8")
    with sapwood.recreate(path) as file:
        file["t"] = {"run": [1, 1, 1], "event": event, "signed": event.astype("i8")}
    tree = sapwood.open(path)["t"]
    assert tree.find(run=1, event=2**63 + 5).tolist() == [0]
    assert tree.find(event=-1).tolist() == [] and tree.find(signed=-1).tolist() == [1]
    assert sapwood.pick(path, [f"1:{2**64 - 1}"], tmp_path / "few.root").entries == 1


def test_bad_input_is_refused_and_writes_nothing(files: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out.root"
    for events, words in [
        ([], "empty"),
        ([(1, 2), (1, 2, 3)], "all events are RUN:EVENT"),
        (["1:2:x"], "line 1"),
        ([5], "events are"),
        ([(1, 3.9)], "events are"),
        (["1:3", (1, 4)], "events are"),
        (files[0], "ROOT file"),
        ([(8, 8, 8)], "none of the 1 events"),
    ]:
        with pytest.raises((MismatchError, NotFoundError), match=words):
            sapwood.pick(files, events, out)
    assert list(tmp_path.iterdir()) == []
    tree = sapwood.open(files[0])["Events"]
    with pytest.raises(MismatchError, match="whole number per entry"):
        tree.find(met=3)
    with pytest.raises(MismatchError, match="whole number per entry"):
        tree.find(Jet_pt=3)
    with pytest.raises(NotFoundError, match="luminosityBlock"):
        tree.find(luminosityBlok=3)
    with pytest.raises(TypeError):
        tree.find(run=1.5)
    assert command("pick", files[0], "--out", out).returncode != 0


def test_parts_that_wait_for_long_are_kept(files: list[Path], tmp_path: Path, monkeypatch: Any) -> None:
    """Files of others that look abandoned are removed, and parts that are older than these must not be."""
    import os

    opened = sapwood.open

    def slow(*arguments: Any, **options: Any) -> Any:
        for folder in tmp_path.iterdir():
            for one in [folder, *folder.iterdir()] if folder.is_dir() else [folder]:
                os.utime(one, (one.stat().st_mtime - 100, one.stat().st_mtime - 100))
        return opened(*arguments, **options)

    from sapwood._file import file as module

    monkeypatch.setattr(module, "open", slow)
    found = sapwood.pick([f"{path}:Events" for path in files], wanted(), tmp_path / "few.root")
    assert found.entries == 6
    check(tmp_path / "few.root")


def test_columns_that_differ_are_told(tmp_path: Path) -> None:
    one, other = tmp_path / "one.root", tmp_path / "other.root"
    with sapwood.recreate(one) as file:
        file["t"] = {"run": [1, 1], "event": [1, 2]}
    with sapwood.recreate(other) as file:
        file["t"] = {"run": [2, 2], "event": [1, 2], "hlt": [True, False]}
    with pytest.warns(UserWarning, match="hlt"):
        picked = sapwood.pick([one, other], ["1:1", "2:2"], tmp_path / "few.root")
    assert picked.entries == 2
    with pytest.raises(MismatchError, match="hlt") as caught:
        sapwood.pick([other, one], ["1:1", "2:2"], tmp_path / "few.root")
    assert "one.root" in str(caught.value)
    assert sapwood.open(tmp_path / "few.root")["t"]["run"].array().tolist() == [1, 2]


def test_only_chosen_entries_are_looked_at(files: list[Path], tmp_path: Path) -> None:
    some = {str(files[0]): {"object_path": "Events", "steps": [[0, 100], [700, 701]]}}
    found = sapwood.pick(some, wanted()[:3], tmp_path / "few.root")
    assert found.entries == 2 and len(found.missing) == 1


@pytest.mark.parametrize("is_whole", [True, False])
def test_an_index_of_root_tells_the_entries(tmp_path: Path, is_whole: bool) -> None:
    """One that does not cover all entries is not used."""
    path = tmp_path / "indexed.root"
    root(
        """
import numpy as np
path, is_whole = sys.argv[1], sys.argv[2] == "True"
file = ROOT.TFile(path, "recreate")
tree = ROOT.TTree("Events", "")
run, event, met = np.zeros(1, "u4"), np.zeros(1, "u8"), np.zeros(1, "f4")
tree.Branch("run", run, "run/i")
tree.Branch("event", event, "event/l")
tree.Branch("met", met, "met/F")
def fill(*values):
    run[0], event[0], met[0] = values
    tree.Fill()
for i in range(1000):
    fill(1 + i // 300, i * 7919 % 1000, i)
tree.BuildIndex("run", "event")
for i in range(0 if is_whole else 10):
    fill(4, 5000 + i, i)
tree.Write()
file.Close()
""",
        path,
        is_whole,
    )
    event = 450 * 7919 % 1000
    with sapwood.open(path) as file:
        tree = file["Events"]
        assert tree.find(run=2, event=event).tolist() == [450]
        assert tree.find(event=5005, run=4).tolist() == ([] if is_whole else [1005])
    picked = sapwood.pick(path, [(2, event)], tmp_path / "few.root")
    assert picked.entries == 1
    assert sapwood.open(tmp_path / "few.root")["Events"]["met"].array(library="np").tolist() == [450.0]


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sapwood", *map(str, arguments)], capture_output=True, text=True, timeout=120
    )
