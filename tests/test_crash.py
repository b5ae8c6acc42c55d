"""Writers that are killed at random moments: every file opens, here and in real ROOT, with all that was saved; what was committed
comes back.

``SAPWOOD_KILLS`` says how many times; ``make torture`` kills a thousand.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
import warnings
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

KILLS = int(os.environ.get("SAPWOOD_KILLS", "21"))
ROWS = 2_000


def rows(kind: str, start: int) -> dict[str, Any]:
    number = np.arange(start, start + ROWS)
    if kind == "flat":
        return {
            "number": number,
            "noise": np.random.default_rng(start).random(ROWS),
            "square": (number * number) % 1000,
        }
    if kind == "jagged":
        return {
            "number": number,
            "hits": ak.unflatten(np.arange((number % 5).sum(), dtype="f4"), number % 5),
            "name": [f"e{i}" for i in number],
        }
    hits = ak.unflatten(
        ak.zip({"x": np.arange((number % 3).sum()) / 2, "adc": np.arange((number % 3).sum())}), number % 3
    )
    return {
        "event": ak.zip({"number": number, "name": [f"e{i}" for i in number], "hits": hits}, depth_limit=1)
    }


def write(path: Path, kind: str, update: bool, tell: Teller) -> None:
    """Writes until it is killed; says what is saved and what is committed as soon as it is."""
    types = {
        "flat": {"number": "i8", "noise": "f8", "square": "i8"},
        "jagged": {"number": "i8", "hits": "var * float32", "name": "string"},
    }
    opened = sapwood.update(path) if update else sapwood.recreate(path, compression="zlib:1")
    tree = opened.mktree(
        f"deep/{kind}",
        types.get(kind, {"event": Event}),
        auto_flush=700,
        auto_save="200 kB" if kind == "flat" else 0,
    )
    opened.save()
    tell.say(0, 0)
    start = saved = 0
    while True:
        tree.extend(rows(kind, start))
        start += ROWS
        if start % (3 * ROWS) == 0:
            opened.save()  # what is left over is a cluster of its own: the next begins here
            saved = start
            tree.flush()
        # the last whole cluster may be on its way
        tell.say(saved, max(saved, saved + (start - saved) // 700 * 700 - 700))
        if start > 100 * ROWS:
            time.sleep(60)


def entries(path: Path, kind: str) -> int:
    """Entries of the tree; all values are what they should be."""
    with sapwood.open(path) as file:
        if f"deep/{kind}" not in file:
            return 0
        tree = file[f"deep/{kind}"]
        for branch in tree.branches:
            if not branch.branches:
                branch.array()
        number = tree["number"].array(library="np") if tree.num_entries else []
        assert (number == np.arange(tree.num_entries)).all() if len(number) else True
        return int(tree.num_entries)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, str, int, int]]:
    """Files of writers that were killed: path, kind, entries saved and committed."""
    folder = tmp_path_factory.mktemp("killed")
    chance = random.Random(7)
    with sapwood.recreate(folder / "before.root") as file:
        file["old"] = {"x": np.arange(1000)}
        for k in range(30):
            file[f"note{k}"] = "x" * 200
    with sapwood.update(folder / "before.root") as file:
        for k in range(0, 30, 2):
            del file[f"note{k}"]
    found = []
    for turn in range(KILLS):
        kind, update = ("flat", "jagged", "object")[turn % 3], turn % 2 == 1
        path = folder / f"{turn}.root"
        if update:
            shutil.copy(folder / "before.root", path)
        words = chance.choice([1, 2, 4, 7, 8, 12])  # most after the second save
        saved, committed = killed_after(
            partial(write, path, kind, update), words, linger=chance.random() * 0.02
        )
        found.append((path, kind, saved, committed))
    return found


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_what_was_saved_is_there_and_what_was_committed_comes_back(
    killed: list[tuple[Path, str, int, int]],
) -> None:
    longer = 0
    for path, kind, saved, committed in killed:
        before = entries(path, kind)
        assert before >= saved, f"{path}: {before} entries, and {saved} were saved"
        copy = path.with_suffix(".recovered.root")
        shutil.copy(path, copy)
        told = sapwood.recover(copy, dry_run=True)
        assert copy.read_bytes() == path.read_bytes()
        found = sapwood.recover(copy)
        assert found == told and found.left == []
        now = entries(copy, kind)
        assert now >= max(before, committed), f"{path}: {now} entries, and {committed} were committed"
        longer += now > before
        # A writer that dies inside of a write leaves bytes after the end: a note.
        assert [one for one in sapwood.verify(copy) if one.severity != "note"] == [], path
        with sapwood.update(copy) as file:
            file["more"] = "the next job"
        assert entries(copy, kind) == now
    assert longer > len(killed) // 4, (
        "hardly anything was committed and not saved: the test would not see it lost"
    )


def test_real_root_reads_them_all(killed: list[tuple[Path, str, int, int]]) -> None:
    lines = """
found = {}
for path in sys.argv[1:]:
    name, kind = path.split("=")
    file = ROOT.TFile(name)
    tree = file.Get("deep/" + kind)
    if not tree:
        found[path] = [0, 0]
        continue
    read = sum(tree.GetEntry(i) > 0 for i in range(tree.GetEntries()))
    found[path] = [tree.GetEntries(), read]
answer(found)
"""
    wanted = {}
    for path, kind, saved, _ in killed[:200]:
        wanted[f"{path}={kind}"] = saved
        copy = path.with_suffix(".recovered.root")
        if copy.exists():
            wanted[f"{copy}={kind}"] = entries(copy, kind)
    for path, (there, read) in root(lines, *wanted).items():
        assert there == read >= wanted[path], path


def test_a_killed_root_is_recovered(tmp_path: Path) -> None:
    """Real ROOT dies behind an AutoSave: its own recovery gives the entries of that, ours those of all whole clusters."""
    path = tmp_path / "killed.root"
    lines = """
import os
file = ROOT.TFile(sys.argv[1], "RECREATE")
tree = ROOT.TTree("tree", "")
from array import array
x, n, y = array("i", [0]), array("i", [0]), array("f", 10 * [0])
v = ROOT.std.vector("double")()
tree.Branch("x", x, "x/I"); tree.Branch("n", n, "n/I"); tree.Branch("y", y, "y[n]/F"); tree.Branch("v", v)
tree.SetAutoFlush(100); tree.SetAutoSave(0)
for i in range(1050):
    x[0] = i; n[0] = i % 7 if i > 500 else i % 3
    v.clear()
    for k in range(i % 4): v.push_back(i / 2)
    for k in range(n[0]): y[k] = i
    tree.Fill()
    if i == 420: tree.AutoSave("SaveSelf")
file.Flush()
os.kill(os.getpid(), 9)
"""
    with pytest.raises(AssertionError):
        root(lines, path)
    found = sapwood.recover(path)
    assert found.trees == {"tree": (421, 1000)} or found.trees == {"tree": (400, 1000)}, found
    with sapwood.open(path) as file:
        assert file["tree/x"].array(library="np").tolist() == list(range(1000))
        assert file["tree/y"].array()[999].tolist() == [999.0] * (999 % 7)
    lines = """
file = ROOT.TFile(sys.argv[1])
tree = file.Get("tree")
answer([[tree.GetEntry(i) > 0 and tree.x, list(tree.y)[: tree.n], list(tree.v)] for i in range(tree.GetEntries())])
"""
    rows = root(lines, path)
    assert [row[0] for row in rows] == list(range(1000)) and rows[998][1] == [998.0] * (998 % 7)


@pytest.mark.parametrize("kind", ["mktree", "mkrntuple"])
def test_opening_says_that_there_is_more_or_less(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "killed.root"

    def write(teller: Teller) -> None:
        file = sapwood.recreate(path)
        table = getattr(file, kind)("t", {"x": "f8"})
        table.extend({"x": np.arange(5000.0)})
        table.flush()
        teller.say(0, 5000)
        time.sleep(60)

    killed_after(write, 1)
    warning = sapwood.errors.IncompleteFileWarning
    with pytest.warns(warning, match="killed.root goes on for .* bytes after the end.*recover") as told:
        assert sapwood.open(path)["t"].num_entries == 0
    assert told[0].filename == __file__

    def said(*arguments: str) -> tuple[str, str]:
        command = [sys.executable, "-m", "sapwood", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout, done.stderr

    assert "killed.root goes on behind its end" in said("scan", f"{path}:t")[1]
    assert "(goes on behind its end: " in said("ls", str(path))[0]
    assert json.loads(said("ls", "--json", str(path))[0])[0]["closed"] is False
    assert sapwood.recover(path).trees or kind == "mkrntuple"
    whole = path.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error", warning)
        assert sapwood.open(path)["t"].num_entries == sapwood.open(whole)["t"].num_entries == 5000
        with sapwood.update(path) as file:
            file["u"] = {"x": [1, 2]}
            assert file["t"].num_entries == 5000 and file["u"]["x"].array().tolist() == [1, 2]
            file["u"].extend({"x": [3]}) if kind == "mktree" else None
        sapwood.pack(path, tmp_path / "killed.root.zst")
        assert sapwood.open(tmp_path / "killed.root.zst")["t"].num_entries == 5000
    # What ROOT leaves of a file that became shorter is no record: a gap, or what stood there before.
    for rest in ((-1_999_993_202).to_bytes(4, "big", signed=True) + bytes(200), b"\x21" * 90):
        path.write_bytes(whole + rest)
        with warnings.catch_warnings():
            warnings.simplefilter("error", warning)
            assert sapwood.open(path)["t"].num_entries == 5000
    for cut in (len(whole) - 1, len(whole) - 10):
        path.write_bytes(whole[:cut])
        for source in (path, whole[:cut]):
            with pytest.warns(warning, match=f"is cut off: .* {len(whole)} bytes, of which {cut} are there"):
                sapwood.open(source)
