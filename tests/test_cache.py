"""Caches of remote files: the package and the command against a server that counts."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import ranged

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")

ENTRIES = 200_000


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cache") / "data.root"
    write(path, 1)
    return path


def write(path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    columns = {f"x{i}": random.normal(size=ENTRIES).astype("f4") for i in range(6)}
    with sapwood.recreate(path, compression="lz4:4") as file:
        file.mktree("events", dict.fromkeys(columns, "float32"), auto_flush=20_000).extend(columns)


@pytest.fixture
def server(local: Path, tmp_path: Path) -> Iterator[ranged.Ranged]:
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "data.root").write_bytes(local.read_bytes())
    with ranged.serving(folder) as found:
        yield found


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "sapwood", *arguments]
    return subprocess.run(line, capture_output=True, text=True, env={**os.environ, **environment})


def same(one: Any, other: Any) -> bool:
    return bool(ak.array_equal(one, other, equal_nan=True))


@pytest.mark.parametrize("kind", ["blocks", "whole"])
def test_the_second_run_asks_once(kind: str, server: ranged.Ranged, local: Path, tmp_path: Path) -> None:
    near = sapwood.open(local)["events"].arrays()
    url = f"{server.url}/data.root:events"
    for run in range(2):
        server.forget()
        # A process of its own: nothing but the folder is shared.
        program = (
            "import sys, sapwood\n"
            f"tree = sapwood.open({url!r}, cache={kind!r}, cache_dir={str(tmp_path / 'kept')!r}, cache_size='1 GB')\n"
            "tree.arrays(library='np'); print(tree.num_entries)"
        )
        done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True)
        assert done.stdout == f"{ENTRIES}\n", done.stderr
        if run:
            assert (server.asked, server.sent) == (["bytes=0-0"], 1)
    assert same(sapwood.open(url, cache=kind, cache_dir=tmp_path / "kept").arrays(), near)


def test_a_file_that_was_replaced_is_read_anew(server: ranged.Ranged, tmp_path: Path) -> None:
    path, kept = server.folder / "data.root", tmp_path / "kept"
    for kind in ("blocks", "whole"):
        for seed in (2, 3):
            write(path, seed)
            os.utime(path, ns=(seed, seed * 10**9))
            for _ in range(2):
                file = sapwood.open(f"{server.url}/data.root", cache=kind, cache_dir=kept)
                assert same(file["events"].arrays(), sapwood.open(path)["events"].arrays())


def test_iterate_concatenate_and_pickle_take_the_cache(
    server: ranged.Ranged, local: Path, tmp_path: Path
) -> None:
    over = {"cache": "blocks", "cache_dir": tmp_path / "kept"}
    url = f"{server.url}/data.root:events"
    near = sapwood.open(local)["events"].arrays()
    assert same(sapwood.concatenate(url, **over), near)
    server.forget()
    assert same(ak.concatenate(list(sapwood.iterate(url, step_size=50_000, **over))), near)
    tree = pickle.loads(pickle.dumps(sapwood.open(url, **over)))
    assert same(tree.arrays(), near)
    assert set(server.asked) == {"bytes=0-0"}


def test_options_that_make_no_sense_are_errors(server: ranged.Ranged) -> None:
    url = f"{server.url}/data.root"
    for wrong in ({"cache": "some"}, {"cache_dir": "x"}, {"cache_size": 5}):
        with pytest.raises(ValueError, match="cache"):
            sapwood.open(url, **wrong)


def test_what_cannot_be_kept_is_a_warning(server: ranged.Ranged, local: Path, tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("no folder")
    near = sapwood.open(local)["events"].arrays()
    for kind in ("blocks", "whole"):
        with pytest.warns(RuntimeWarning, match="cache"):
            file = sapwood.open(f"{server.url}/data.root", cache=kind, cache_dir=place)
        assert same(file["events"].arrays(), near)
    with pytest.warns(RuntimeWarning, match="may not hold"):
        sapwood.open(
            f"{server.url}/data.root", cache="whole", cache_dir=tmp_path / "small", cache_size="100 kB"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sapwood.open(local, cache="whole", cache_dir=place)  # a near file needs none


def test_a_full_disk_is_a_warning(server: ranged.Ranged, local: Path) -> None:
    # A small disk that can be filled, where this machine lets us have one.
    program = (
        "import sys, warnings, numpy, sapwood\n"
        "near = sapwood.open(sys.argv[2])['events'].arrays(library='np')\n"
        "for kind in ('blocks', 'whole'):\n"
        "    with warnings.catch_warnings(record=True) as said:\n"
        "        warnings.simplefilter('always')\n"
        "        file = sapwood.open(sys.argv[1], cache=kind, cache_dir=sys.argv[3])\n"
        "        for name, values in file['events'].arrays(library='np').items():\n"
        "            assert (values == near[name]).all()\n"
        "        file.close()\n"
        "    assert len(said) == 1 and 'cache' in str(said[0].message), said\n"
        "print('read')"
    )
    script = 'd=$(mktemp -d) && mount -t tmpfs -o size=1m none "$d" && "$0" -c "$1" "$2" "$3" "$d"'
    line = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script]
    try:
        if subprocess.run(
            [*line[:4], "sh", "-c", "mount -t tmpfs none /mnt"], capture_output=True
        ).returncode:
            pytest.skip("no disks for users here")
    except FileNotFoundError:
        pytest.skip("no unshare here")
    done = subprocess.run(
        [*line, sys.executable, program, f"{server.url}/data.root", str(local)],
        capture_output=True,
        text=True,
    )
    assert done.stdout == "read\n", done.stderr


def test_the_command_lists_verifies_and_clears(server: ranged.Ranged, tmp_path: Path) -> None:
    url, kept = f"{server.url}/data.root", tmp_path / "kept" / "sapwood"
    environment = {"XDG_CACHE_HOME": str(tmp_path / "kept")}
    shown = [
        command("scan", "-n", "2", f"{url}:events", "--cache", "blocks", **environment) for _ in range(2)
    ]
    assert shown[0].returncode == 0 and shown[0].stdout == shown[1].stdout and not shown[0].stderr, shown[0]
    assert command("ls", url, "--cache", "whole", "--cache-dir", str(kept)).returncode == 0
    listed = json.loads(command("cache", "ls", "--json", **environment).stdout)
    assert listed["dir"] == str(kept) and [file["kind"] for file in listed["files"]] == ["blocks", "whole"]
    size = (server.folder / "data.root").stat().st_size
    assert all(file["name"] == url and file["bytes"] == size for file in listed["files"])
    assert "blocks" in command("cache", "ls", "--dir", str(kept)).stdout
    assert command("cache", "verify", "--dir", str(kept)).returncode == 0
    (segment,) = kept.glob("*/*/*.blocks")
    content = bytearray(segment.read_bytes())
    content[-7] ^= 1  # the last block that is kept
    segment.write_bytes(content)
    verified = command("cache", "verify", "--dir", str(kept), "--json")
    assert verified.returncode == 1
    assert [file["damaged"] for file in json.loads(verified.stdout)["files"]] == [1, 0]
    # What is damaged is fetched again, and mended.
    again = command("scan", "-n", "2", f"{url}:events", "--cache", "blocks", **environment)
    assert again.stdout == shown[0].stdout
    assert command("ls", url, "--cache", "blocks", "--cache-dir", "/dev/null").stderr.startswith(
        "sapwood: cache"
    )
    assert json.loads(command("cache", "clear", "--json", **environment).stdout)["files"] > 3
    assert json.loads(command("cache", "ls", "--json", **environment).stdout)["files"] == []
    assert command("ls", url, "--cache-dir", "x").returncode == 2
