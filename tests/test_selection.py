"""Some entries of every branch that real ROOT writes: they are those of the whole branch, whatever its layout."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sapwood


@pytest.fixture(scope="module")
def cases() -> Path:
    pytest.importorskip("ROOT", reason="real ROOT is not installed")
    from test_oracle import ensure_cases

    return ensure_cases()


def trees(folder: Path) -> Iterator[Any]:
    for path in sorted(folder.glob("*.root")):
        with sapwood.open(path) as file:
            for key, name in file.classnames().items():
                if name in ("TTree", "TNtuple", "TNtupleD"):
                    yield file[key]


def test_some_entries_of_each_branch_are_those_of_the_whole(cases: Path) -> None:
    random = np.random.default_rng(3)
    layouts: set[str] = set()
    seen = 0
    for tree in trees(cases):
        for branch in tree.values():
            if isinstance(
                branch.interpretation, (sapwood.interpretation.Unknown, sapwood.interpretation.Grouped)
            ):
                continue
            try:
                whole = branch.array().to_list()
            except sapwood.errors.SapwoodError as error:
                with pytest.raises(type(error)):
                    branch.array(entries=[0, 2])
                continue
            entries = len(whole)
            mask = random.random(entries) < 0.3
            wants = [
                mask,
                slice(1, None, 3),
                [(1, 3), (entries // 2, entries // 2 + 2)],
                random.permutation(entries)[:7],
            ]
            for wanted in wants:
                rows = np.arange(entries)
                if isinstance(wanted, list):
                    rows = np.concatenate([rows[a:b] for a, b in wanted])
                else:
                    rows = rows[wanted]
                found = branch.array(entries=wanted).to_list()
                # Texts: not a number is equal to itself.
                assert repr(found) == repr([whole[row] for row in rows]), (
                    tree.file_path,
                    branch.path,
                    wanted,
                )
            if seen % 3 == 0:
                # Steps that end within baskets, which the next one goes on with.
                steps = tree.iterate([branch.path], step_size=max(entries // 5, 1), entry_stop=entries)
                found = [value for step in steps for value in step[step.fields[0]].to_list()]
                assert repr(found) == repr(whole), (tree.file_path, branch.path)
            seen += 1
            layouts.add(branch.typename)
    assert seen > 500 and len(layouts) > 100, (seen, len(layouts))


@pytest.mark.parametrize(
    ("file", "name", "branches"),
    [
        ("classes_zstd.root", "pointers", ["p./p.fLoop", "p./p.fN", "p./p.fLoopHit"]),
        ("classes_zstd.root", "clones", ["tracks/tracks.fPoints", "tracks/tracks.fNp"]),
        ("collections_lz4.root", "t", ["v_track/v_track.fNp", "v_track/v_track.fPoints"]),
        ("leaves_offset_map.root", "t", ["I_n", "L_n2", "n", "B_n"]),
    ],
)
def test_what_counts_for_others_is_inflated_once(
    cases: Path, file: str, name: str, branches: list[str]
) -> None:
    with sapwood.open(cases / file) as opened:
        tree = opened[name]
        with tree.perf as perf:
            whole = tree.arrays(branches)
        inflated = round(1e6 * perf.figures["ReadUnZip"].value)
        assert inflated == sum(tree[branch].uncompressed_bytes for branch in branches)
        rows = [0, tree.num_entries - 1]
        with tree.perf as perf:
            assert tree.arrays(branches, entries=rows).to_list() == whole[rows].to_list()
        assert 0 < 1e6 * perf.figures["ReadUnZip"].value < inflated, "a basket between is left out"


def test_entries_are_those_that_uproot_reads(path: str, tree: Any, theirs: Any) -> None:
    ak = pytest.importorskip("awkward")
    random = np.random.default_rng(5)
    rows = np.flatnonzero(random.random(tree.num_entries) < 0.2)
    ours, others = tree.arrays(entries=rows), theirs.arrays()
    assert set(ours.fields) == set(others.fields)
    for name in ours.fields:
        assert ak.array_equal(ours[name], others[name][rows], check_parameters=False, dtype_exact=False), name


def test_a_bar_reaches_its_end_and_an_error_in_it_ends_the_read(
    tree: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sapwood._read import progress

    added: list[int] = []

    class Counted(progress.Bar):
        def add(self, done: int) -> None:
            added.append(done)

    monkeypatch.setattr(progress, "Bar", Counted)
    tree.arrays(entries=slice(None, None, 7), progress=True)
    shares = sum(progress.share(branch, range(143)) for branch in tree.values())
    assert sum(added) == shares > 0

    class Broken(progress.Bar):
        def add(self, done: int) -> None:
            raise ZeroDivisionError("no bar")

    monkeypatch.setattr(progress, "Bar", Broken)
    with pytest.raises(ZeroDivisionError, match="no bar"):
        tree.arrays(progress=True)


def test_ctrl_c_ends_a_read_between_windows(tree: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from sapwood._read import progress

    class Pressed(progress.Bar):
        def add(self, done: int) -> None:
            signal.raise_signal(signal.SIGINT)

    assert threading.current_thread() is threading.main_thread()
    monkeypatch.setattr(progress, "Bar", Pressed)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            tree.arrays(progress=True)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(tree.arrays("x")) == tree.num_entries
