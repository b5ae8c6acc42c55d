"""Files in a dCache, over dcap://: a small server of our own, which Debian's own client finds true."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import servers

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
        tree = file.mktree("events", {**{name: "float32" for name in columns}, "hits": "var * int32"}, auto_flush=4_000)
        tree.extend({**columns, "hits": ak.unflatten(np.arange(counts.sum(), dtype="i4"), counts)})
        file["text"] = "hello"
    return path


@pytest.fixture(scope="module")
def door(local: Path) -> Iterator[str]:
    """`dcap://` of a server (`crates/testkit/examples/dcap.rs`) with the file, without a path."""
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("cargo is not installed")
    example = ["--quiet", "--package", "sapwood-testkit", "--example", "dcap"]
    subprocess.run([cargo, "build", *example], cwd=REPOSITORY, check=True, timeout=900)
    command = [cargo, "run", *example, "--", str(local)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout
        port = process.stdout.readline().strip()
        assert port, "the server does not run"
        yield f"dcap://127.0.0.1:{port}"
        process.stdin.close()
        process.wait(10)


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
