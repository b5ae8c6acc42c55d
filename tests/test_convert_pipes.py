"""JSON lines that come through a pipe, and can be read only once."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")
pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")

from sapwood import errors  # noqa: E402
from sapwood._convert import json_depth  # noqa: E402

if not hasattr(os, "mkfifo"):
    pytest.skip("named pipes are of Unix", allow_module_level=True)

MANY = 40_000


def from_standard_input(target: Path) -> list[str]:
    """The command that converts JSON lines from a pipe of the shell."""
    options = ["--from", "jsonl", "--step-size", "1MB"]
    return [sys.executable, "-m", "sapwood", "convert", "/dev/stdin", str(target), *options]


def through_a_pipe(folder: Path, name: str, content: bytes, target: Path, **options: Any) -> Any:
    """Converts what another thread writes into a named pipe."""
    path = folder / name
    os.mkfifo(path)

    def write() -> None:
        try:
            with open(path, "wb") as pipe:
                pipe.write(content)
        except BrokenPipeError:
            pass  # after an error nobody reads

    writer = threading.Thread(target=write)
    writer.start()
    try:
        return sapwood.convert(path, target, **options)
    finally:
        writer.join(60)
        assert not writer.is_alive()


def lines(rows: Any) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


ROWS = [{"i": i, "x": [i / 2] * (i % 3), "r": {"s": f"é{i}", "t": i % 2 == 0}} for i in range(MANY)]
CONTENTS: dict[str, tuple[bytes, dict[str, Any]]] = {
    "many": (lines(ROWS), {}),
    "no end": (lines(ROWS)[:-1], {}),
    "mark and blank lines": (
        b"\xef\xbb\xbf\n\n" + lines(ROWS[:5]) + b"\n \n" + lines(ROWS[5:9]) + b"\n\n",
        {},
    ),
    "large": (lines([{"n": 2**64 - 1, "v": [2**63]}, {"n": 1, "v": []}] * MANY), {}),
    "types": (lines(ROWS), {"types": {"i": "float64"}}),
    "missing": (lines(ROWS) + lines([{"i": 1, "x": []}]), {"columns": ["i", "x"]}),
    "empty with types": (b"", {"types": {"i": "int64"}}),
    "one long line": (lines([{"x": [1.5] * 500_000}]), {}),
}


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("ends", ["jsonl", "jsonl.gz"])
def test_a_pipe_is_as_good_as_a_file(tmp_path: Path, content: str, ends: str) -> None:
    text, options = CONTENTS[content]
    if ends == "jsonl.gz":
        text = gzip.compress(text, 1)
    if content == "one long line":  # which a file may have only if it fits into two steps
        options = {"step_size": "64 MB"}
    (tmp_path / f"file.{ends}").write_bytes(text)
    options = {"step_size": "1 MB", **options}
    sapwood.convert(tmp_path / f"file.{ends}", tmp_path / "file.feather", **options)
    through_a_pipe(tmp_path, f"pipe.{ends}", text, tmp_path / "pipe.feather", **options)
    wanted, found = (feather.read_table(tmp_path / f"{name}.feather") for name in ("file", "pipe"))
    assert found.schema == wanted.schema and found.equals(wanted)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (lines(ROWS) + b'{"x": "bad"}\n' + lines(ROWS), "the text cannot be read: .*first block"),
        (
            lines(ROWS) + b'{"y": 1}\n' + lines(ROWS),
            "the text cannot be read: .*unexpected field.*first block",
        ),
        (lines(ROWS) + b'{"x": \n' + lines(ROWS), "the text cannot be read"),
        (lines(ROWS) + b'{"x": ' + b"[" * 5000 + b"\n", "nests deeper than 100 levels"),
        (b"", "the file is empty"),
        (b"\n \n", "the file is empty"),
        (b"]", "the text cannot be read"),
    ],
)
def test_an_error_in_the_middle_of_a_pipe_leaves_nothing(tmp_path: Path, text: bytes, words: str) -> None:
    with pytest.raises(errors.MismatchError, match=words):
        through_a_pipe(tmp_path, "a.jsonl", text, tmp_path / "a.root", step_size="1 MB")
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_the_command_ends_with_the_error(tmp_path: Path) -> None:
    text = lines(ROWS) + b'{"x": "bad"}\n' + lines(ROWS) * 3
    for _ in range(2):
        done = subprocess.run(
            from_standard_input(tmp_path / "a.root"), input=text, capture_output=True, timeout=120
        )
        assert done.returncode == 1 and done.stderr.startswith(b"sapwood: the text cannot be read")
        assert done.stderr.count(b"\n") == 1


def test_arrow_calls_no_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pa, "PythonFile", None)
    through_a_pipe(tmp_path, "a.jsonl", lines(ROWS), tmp_path / "a.root")


def test_rows_are_not_read_twice(tmp_path: Path) -> None:
    rows = [{"x": [1] * (i % 3), "nx": i % 3} for i in range(MANY)] + [{"x": [1], "nx": 7}] * MANY
    for text, name in ((lines(rows), "a"), (lines(rows[-1:] * MANY), "b")):
        with pytest.raises(
            errors.MismatchError, match="only all rows show .* can be read only once: write it to a file"
        ):
            through_a_pipe(tmp_path, f"{name}.jsonl", text, tmp_path / f"{name}.root", step_size="1 MB")
    # Columns that count are no reason to begin again.
    through_a_pipe(tmp_path, "c.jsonl", lines(rows[:MANY]), tmp_path / "c.root", step_size="1 MB")
    (name,) = sapwood.open(tmp_path / "c.root").keys(cycle=False)
    assert sapwood.open(tmp_path / "c.root")[name].num_entries == MANY


@pytest.mark.parametrize("rows", [3, 8 * MANY])
def test_an_interrupt_ends_the_wait_for_a_pipe(tmp_path: Path, rows: int) -> None:
    options = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(from_standard_input(tmp_path / "a.root"), **options) as process:
        process.stdin.write(lines([{"a": 1}] * rows))
        process.stdin.flush()
        time.sleep(2)  # it may have begun, or not: both end
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(30) in (130, -signal.SIGINT)
        finally:
            process.kill()
    assert not (tmp_path / "a.root").exists()


def test_long_lines_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_depth, "_MAX_LINE_BYTES", 4 << 20)
    text = b'{"x": [' + b"1," * (4 << 20) + b"1]}\n"
    with pytest.raises(errors.MismatchError, match="a line of JSON has more than 4 MiB"):
        through_a_pipe(tmp_path, "a.jsonl", text, tmp_path / "a.root", step_size="1 MB")


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.arrows", "a.parquet", "a.feather", "a.npz", "a.h5"])
def test_other_formats_are_read_from_files(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(
        errors.UnsupportedError, match=f"{name} is a pipe or a device, and .* write it to a file first"
    ):
        sapwood.convert(tmp_path / name, tmp_path / "a.root")


@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("a.csv", {}),  # has no place for lists
        ("a.root", {"types": {"y": "date32"}}),
        ("a.root", {"columns": ["y"]}),
        ("a.parquet", {"types": {"x": "month_day_nano_interval"}}),
    ],
)
def test_a_pipe_is_closed_if_its_rows_are_refused(tmp_path: Path, target: str, options: Any) -> None:
    rows = [{"x": [k]} for k in range(MANY * 3)]
    with pytest.raises((errors.UnsupportedError, errors.MismatchError, errors.NotFoundError)):
        through_a_pipe(tmp_path, "a.jsonl", lines(rows), tmp_path / target, step_size="1 MB", **options)
