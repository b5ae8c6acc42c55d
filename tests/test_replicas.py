"""One file in two folders of a web server, either of which may go away."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import servers

sapwood = pytest.importorskip("sapwood")

ENTRIES = 60_000


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("replicas") / "data.root"
    random = np.random.default_rng(5)
    with sapwood.recreate(path, compression=None) as file:
        names = [f"x{i}" for i in range(8)]
        tree = file.mktree("events", dict.fromkeys(names, "float64"), auto_flush=4_000)
        tree.extend({name: random.normal(size=ENTRIES) for name in names})
    return path


@pytest.fixture(scope="module")
def apache() -> Iterator[servers.Server]:
    with servers.serving("apache2") as found:
        yield found


@pytest.fixture
def pair(apache: servers.Server, local: Path) -> list[str]:
    """The URLs of both, whose ETags and times differ."""
    for seconds, name in enumerate(("one", "two")):
        folder = apache.data / name
        folder.mkdir(exist_ok=True)
        (folder / "data.root").write_bytes(local.read_bytes())
        os.utime(folder / "data.root", (1e9 + seconds, 1e9 + seconds))
        os.chmod(folder, 0o755)
        os.chmod(folder / "data.root", 0o644)
    apache.lines()
    return [f"{apache.url}/{name}/data.root" for name in ("one", "two")]


def gone(apache: servers.Server, name: str) -> None:
    (apache.data / name / "data.root").unlink()


def same(found: Any, local: Path, name: str) -> bool:
    return np.array_equal(found, sapwood.open(local)["events"][name].array(library="np"))


def test_what_goes_away_while_it_is_read_is_read_elsewhere(
    apache: servers.Server, pair: list[str], local: Path
) -> None:
    tree = sapwood.open(f"{pair[0]}:events", replicas=pair[1:])
    assert same(tree["x0"].array(library="np"), local, "x0")
    assert {status for status, *_ in apache.lines()} == {206}
    gone(apache, "one")
    assert same(tree["x1"].array(library="np"), local, "x1")
    # The place that is gone, both ends of the other as a proof, and the column.
    assert sorted(status for status, *_ in apache.lines(4)) == [206, 206, 206, 404]
    assert same(tree["x2"].array(library="np"), local, "x2")
    assert [status for status, *_ in apache.lines(1)] == [206]


def test_any_of_them_may_be_missing_from_the_start(
    pair: list[str], apache: servers.Server, local: Path
) -> None:
    gone(apache, "one")
    file = sapwood.open(pair[0], replicas=pair[1:])
    assert same(pickle.loads(pickle.dumps(file))["events"]["x3"].array(library="np"), local, "x3")
    both = sapwood.concatenate(f"{pair[0]}:events", ["x4"], library="np", replicas=pair[1:])
    assert same(both["x4"], local, "x4")
    steps = sapwood.iterate(f"{pair[0]}:events", ["x4"], step_size=ENTRIES, library="np", replicas=pair[1:])
    assert same(next(iter(steps))["x4"], local, "x4")
    # A path here is as good as a URL.
    assert sapwood.open("no-such-file.root", replicas=[local])["events"].num_entries == ENTRIES
    line = [sys.executable, "-m", "sapwood", "dump", "--replica", pair[1], f"{pair[0]}:events"]
    far = subprocess.run(line, capture_output=True, text=True, timeout=60, check=True)
    near = subprocess.run(
        [*line[:4], f"{local}:events"], capture_output=True, text=True, timeout=60, check=True
    )
    assert far.stdout == near.stdout


def test_another_file_is_no_replica(pair: list[str], apache: servers.Server, local: Path) -> None:
    other = bytearray(local.read_bytes())
    other[-1] ^= 1
    (apache.data / "two" / "data.root").write_bytes(other)
    tree = sapwood.open(pair[0], replicas=pair[1:])["events"]
    gone(apache, "one")
    with pytest.raises(sapwood.errors.IOError, match="changed") as caught:
        tree["x0"].array(library="np")
    assert f"{pair[1]} is no replica of {pair[0]}" in str(caught.value)


def test_when_all_are_gone_each_is_named(pair: list[str], apache: servers.Server) -> None:
    for name in ("one", "two"):
        gone(apache, name)
    with pytest.raises(FileNotFoundError, match="all 2 replicas failed") as caught:
        sapwood.open(pair[0], replicas=pair[1:])
    assert all(url in str(caught.value) for url in pair)
    with pytest.raises(FileNotFoundError, match="nor-this"):
        sapwood.open("no-such-file.root", replicas=["nor-this.root"])


def test_replicas_are_of_one_file_and_a_list(pair: list[str], local: Path) -> None:
    with pytest.raises(ValueError, match="one file"):
        sapwood.concatenate([pair[0], str(local)], replicas=pair[1:])
    with pytest.raises(TypeError, match="list") as caught:
        sapwood.open(pair[0], replicas=pair[1].replace("//", "//me:sesame@"))
    assert "sesame" not in str(caught.value)
    copy = local.with_name("copy.root")
    for words in (["ls"], ["verify"], ["merge", str(copy)]):
        line = [
            sys.executable,
            "-m",
            "sapwood",
            *words,
            str(local),
            "no-such-file.root",
            "--replica",
            pair[1],
        ]
        done = subprocess.run(line, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and "other places of one file" in done.stderr and not copy.exists(), words


def test_a_cache_holds_no_password_of_a_chain(local: Path, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        archive.write(local, "data.root")
    chains = [
        f"zip://data.root::{tmp_path / 'data.zip'}",
        "simplecache::http://me:sesame@127.0.0.1:1/data.root",
    ]
    file = sapwood.open(chains[0], replicas=chains[1:], cache="blocks", cache_dir=tmp_path / "cache")
    assert same(file["events"]["x6"].array(library="np"), local, "x6")
    kept = [path.read_bytes() for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert any(b"simplecache::" in found for found in kept) and not any(b"sesame" in found for found in kept)


def test_a_cache_knows_them_in_whatever_order(
    pair: list[str], apache: servers.Server, local: Path, tmp_path: Path
) -> None:
    how: dict[str, Any] = {"cache": "blocks", "cache_dir": tmp_path}
    assert same(
        sapwood.open(pair[0], replicas=pair[1:], **how)["events"]["x5"].array(library="np"), local, "x5"
    )
    apache.lines()
    assert same(
        sapwood.open(pair[1], replicas=pair[:1], **how)["events"]["x5"].array(library="np"), local, "x5"
    )
    assert [status for status, *_ in apache.lines(2)] == [206, 206], "both ends, by which the file is known"
