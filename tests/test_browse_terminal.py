"""`sapwood browse --terminal` in a terminal of this machine, key by key."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from support.ranged import serving

sapwood = pytest.importorskip("sapwood")
ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[()][A-Z0-9]|[=>])")


class Terminal:
    """The command behind a pseudo-terminal."""

    def __init__(self, *targets: object) -> None:
        self.side, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        command = [sys.executable, "-m", "sapwood", "browse", "--terminal", *map(str, targets)]
        self.process = subprocess.Popen(
            command, stdin=other, stdout=other, stderr=other, start_new_session=True
        )
        os.close(other)

    def press(self, keys: str) -> None:
        os.write(self.side, keys.encode())

    def shows(self, words: str, seconds: float = 20) -> str:
        """What was painted until some words were."""
        end, painted = time.monotonic() + seconds, ""
        while time.monotonic() < end:
            if select.select([self.side], [], [], 0.1)[0]:
                painted += os.read(self.side, 1 << 16).decode(errors="replace")
                if words in ESCAPES.sub("", painted):
                    return ESCAPES.sub("", painted)
        raise AssertionError(f"{words!r} is not in {ESCAPES.sub('', painted)!r}")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    with sapwood.recreate(tmp_path / "file.root") as file:
        file.mktree("tree", {"x": np.arange(1000.0), "y": np.arange(1000.0) % 7})
        file["h"] = np.histogram(np.arange(10.0), bins=5)
    terminal = Terminal(tmp_path / "file.root")
    yield terminal
    terminal.process.kill()
    terminal.process.wait(20)
    os.close(terminal.side)


DOWN, RIGHT, ENTER = "\x1b[B", "\x1b[C", "\r"


def test_keys_unfold_and_draw(terminal: Terminal) -> None:
    terminal.shows("tree;1")
    terminal.press(DOWN + RIGHT)
    terminal.shows("double")
    terminal.press(DOWN + ENTER)
    assert "mean x 499.5" in terminal.shows("any key")
    terminal.press("b")
    terminal.shows("q: end")
    terminal.press("cy > 5" + ENTER)
    terminal.shows("cut: y > 5")
    terminal.press(ENTER)
    assert "entries 142" in terminal.shows("any key")
    terminal.press("b/y" + ENTER)
    terminal.shows("names hold y")
    terminal.press("c" + ENTER + ENTER)
    assert "entries 1000" in terminal.shows("any key")
    terminal.press("bq")
    assert terminal.process.wait(20) == 0


def test_a_picture_fits(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "file.root") as file:
        file["tree"] = {"x": np.arange(1000.0)}
    terminal = Terminal(tmp_path / "file.root")
    terminal.shows("tree;1")
    terminal.press(RIGHT + DOWN + RIGHT + DOWN + ENTER)
    # Its last line, which says how many bins are one.
    painted = terminal.shows("any key: back")
    assert "each line is 6 bins" in painted
    terminal.press("bq")
    assert terminal.process.wait(20) == 0
    os.close(terminal.side)


def test_a_draw_is_stopped(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "file.root") as file:
        file["tree"] = {"x": np.random.default_rng(1).normal(size=100_000)}
    with serving(tmp_path) as far:
        terminal = Terminal(f"{far.url}/file.root")
        terminal.shows("tree;1")
        terminal.press(DOWN + RIGHT)
        terminal.shows("double")
        far.delay = 5
        begun = time.monotonic()
        terminal.press(DOWN + ENTER)
        terminal.shows("Esc stops")
        terminal.press("\x1b")
        terminal.shows("stopped")
        assert time.monotonic() - begun < 4, "it waited for the server"
        terminal.press("q")
        assert terminal.process.wait(20) == 0
        os.close(terminal.side)


def test_a_file_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "broken.root").write_bytes(b"root" + bytes(200))
    terminal = Terminal(tmp_path / "broken.root")
    terminal.shows("malformed")
    terminal.press("q")
    assert terminal.process.wait(20) == 0
    os.close(terminal.side)


def test_without_a_terminal_it_refuses(tmp_path: Path) -> None:
    (tmp_path / "file.root").write_bytes(b"root")
    command = [sys.executable, "-m", "sapwood", "browse", "--terminal", str(tmp_path / "file.root")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "terminal" in done.stderr
