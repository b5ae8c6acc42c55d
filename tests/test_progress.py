"""Long work says how far it is: rewriting, verifying, sending; on a terminal and in Python."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sapwood
from sapwood._read import progress


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int]]:
    """Label, size and what was done of each bar that was closed."""
    found: list[tuple[str, int, int]] = []

    class Noted:
        def __init__(self, total: int, unit: str, label: str) -> None:
            self.label, self.total, self.done = label, total, 0

        def add(self, done: int) -> None:
            self.done += done

        def close(self) -> None:
            found.append((self.label, self.total, self.done))

    monkeypatch.setattr(progress, "Bar", Noted)
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "a.root"
    with sapwood.recreate(made, compression="none") as file:
        file["t"] = {"x": np.arange(200_000.0)}
    return made


def test_work_moves_a_bar_to_its_end(path: Path, bars: list[Any]) -> None:
    size = path.stat().st_size
    assert sapwood.verify(path, progress=True) == []
    assert sapwood.verify(path.read_bytes(), progress=True) == []
    assert bars == [("verify", size, size)] * 2
    bars.clear()
    sapwood.rewrite(path, path.with_name("b.root"), progress=True)
    ((label, total, done),) = bars
    assert label == "rewrite" and 0 < total == done <= size
    bars.clear()
    with sapwood.recreate("memory://progress.root", progress=True) as file:
        file["t"] = {"x": np.arange(1000.0)}
    ((label, total, done),) = bars
    assert label == "upload" and 0 < total == done


def test_there_is_no_bar_where_none_is_wanted(path: Path, bars: list[Any]) -> None:
    for wanted in (None, False):  # standard error is no terminal
        sapwood.verify(path, progress=wanted)
        sapwood.rewrite(path, path.with_name("b.root"), progress=wanted)
    assert bars == []


def test_an_error_of_what_is_told_ends_the_work(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped(Exception):
        pass

    def stop(*_: object) -> None:
        raise Stopped

    monkeypatch.setattr(progress, "Bar", stop)
    for work in (
        sapwood.verify,
        lambda path, progress: sapwood.rewrite(path, f"{path}.new", progress=progress),
    ):
        with pytest.raises((Stopped, sapwood.errors.SapwoodError)):
            work(path, progress=True)
    assert os.listdir(path.parent) == ["a.root"]


@pytest.mark.parametrize("words", [["verify", "a.root"], ["rewrite", "a.root", "b.root"]])
def test_the_command_shows_a_line_on_a_terminal_alone(path: Path, words: list[str]) -> None:
    command = [sys.executable, "-m", "sapwood", *words]
    terminal, end = pty.openpty()
    try:
        done = subprocess.run(command, cwd=path.parent, stdout=subprocess.PIPE, stderr=end, timeout=60)
        shown = os.read(terminal, 1 << 16).decode()
    finally:
        os.close(end)
        os.close(terminal)
    assert done.returncode == 0 and f"] {words[0]}:   0% of " in shown and shown.endswith("\r\x1b[K")
    path.with_name("b.root").unlink(missing_ok=True)
    quiet = subprocess.run(command, cwd=path.parent, capture_output=True, timeout=60)
    assert quiet.returncode == 0 and quiet.stderr == b""


def test_classes_are_described_without_an_object(path: Path, tmp_path: Path) -> None:
    source = sapwood.open(path)
    infos = source.file.streamers
    target = tmp_path / "b.root"
    with sapwood.recreate(target) as file:
        file.update_streamers([infos["TTree"][max(infos["TTree"])]])
    assert list(sapwood.open(target).file.streamers) == ["TTree"]
    with sapwood.update(target) as file:
        file.update_streamers(source)
        with pytest.raises(TypeError, match="int is no StreamerInfo"):
            file.update_streamers([1])
    described = sapwood.open(target).file.streamers
    assert set(described) == set(infos) and described == infos
    assert sapwood.verify(target) == []


@pytest.mark.parametrize("threads", [1, 2])
def test_the_bar_of_a_drawing_comes_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    random = np.random.default_rng(1)
    with sapwood.recreate(tmp_path / "a.root") as file:
        tree = file.mktree("t", {"x": "f8"}, auto_flush=200_000)
        tree.extend({"x": random.normal(size=1_000_000)})
    moved: list[int] = []
    monkeypatch.setattr(progress.Bar, "add", lambda self, done: moved.append(done))
    with sapwood.open(tmp_path / "a.root", threads=threads) as file:
        file["t"].draw("x>>h(10,-5,5)", progress=True)
        size = progress.share(file["t"]["x"], range(1_000_000))
    assert len(moved) > 3 and min(moved) >= 0 and 0.95 * size <= sum(moved) <= size
