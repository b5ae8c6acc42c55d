"""Files in a dCache, over dcap://: a small server of our own, which Debian's own client finds true."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import rust_examples, servers

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")

REPOSITORY = Path(__file__).resolve().parent.parent
ENTRIES = 100_000


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of a dozen branches in many clusters."""
    path = tmp_path_factory.mktemp("dcap") / "data.root"
    random = np.random.default_rng(3)
    columns = {f"x{i:02d}": random.normal(size=ENTRIES).astype("f4") for i in range(12)}
    counts = random.integers(0, 4, ENTRIES)
    with sapwood.recreate(path, compression="lz4:4") as file:
        tree = file.mktree(
            "events", {**{name: "float32" for name in columns}, "hits": "var * int32"}, auto_flush=4_000
        )
        tree.extend({**columns, "hits": ak.unflatten(np.arange(counts.sum(), dtype="i4"), counts)})
        file["text"] = "hello"
    return path


@pytest.fixture(scope="module")
def door(local: Path) -> Iterator[str]:
    """`dcap://` of a server (`crates/testkit/examples/dcap.rs`) with the file, without a path."""
    command = [str(rust_examples.built("dcap")), str(local)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout
        port = process.stdout.readline().strip()
        assert port, "the server does not run"
        yield f"dcap://127.0.0.1:{port}"
        process.stdin.close()
        process.wait(10)


def same(one: Any, other: Any) -> bool:
    return bool(ak.array_equal(one, other, equal_nan=True))


def dccp(url: str, target: Path) -> subprocess.CompletedProcess[str]:
    """Debian's client, in its passive mode."""
    # Its debugging and its doors can be set from outside.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DCACHE_")}
    command = [servers.program("dccp"), "-A", url, str(target)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)


def test_dccp_finds_the_server_true(door: str, local: Path, tmp_path: Path) -> None:
    done = dccp(f"{door}/data.root", tmp_path / "copy.root")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "copy.root").read_bytes() == local.read_bytes()
    done = dccp(f"{door}/missing.root", tmp_path / "missing.root")
    assert done.returncode != 0 and "No such file" in done.stderr


def test_a_tree_is_what_it_is_on_disk(door: str, local: Path) -> None:
    near = sapwood.open(local)
    for threads in (1, 2):
        far = sapwood.open(f"{door}/data.root", threads=threads)
        assert far.keys() == near.keys() and far["text"] == near["text"]
        assert same(far["events"].arrays(), near["events"].arrays())
        some = [(i, i + 3) for i in range(0, ENTRIES, 9_999)]
        wanted = {"entries": some, "filter_name": ["x03", "hits"]}
        assert same(far["events"].arrays(**wanted), near["events"].arrays(**wanted))
    steps = list(sapwood.iterate([f"{door}/data.root:events", f"{local}:events"], ["x00"], step_size=ENTRIES))
    assert len(steps) == 2 and same(*steps)


def test_what_is_not_there_is_no_file(door: str) -> None:
    with pytest.raises(FileNotFoundError, match=r"127\.0\.0\.1.*No such file"):
        sapwood.open(f"{door}/missing.root")


def test_tunnels_are_refused_with_words() -> None:
    with pytest.raises(sapwood.errors.SapwoodError, match="authentication that only.*root://"):
        sapwood.open("gsidcap://example.invalid/a.root")


def test_a_child_process_reads_on_connections_of_its_own(door: str) -> None:
    code = f"""
import os, sapwood
tree = sapwood.open("{door}/data.root")["events"]
before = tree.arrays(["x00"], entry_stop=1000)
child = os.fork()
if child == 0:
    os._exit(0 if tree.arrays(["x01"])["x01"][5] == tree.arrays(["x01"])["x01"][5] else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert (tree.arrays(["x00"], entry_stop=1000)["x00"] == before["x00"]).tolist() == [True] * 1000
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_command_takes_urls(door: str, local: Path) -> None:
    command = [sys.executable, "-m", "sapwood"]

    def said(*arguments: str) -> str:
        return subprocess.run(
            [*command, *arguments], capture_output=True, text=True, timeout=60, check=True
        ).stdout

    assert "events" in said("ls", f"{door}/data.root")
    assert said("scan", f"{door}/data.root:events", "x00", "hits") == said(
        "scan", f"{local}:events", "x00", "hits"
    )
