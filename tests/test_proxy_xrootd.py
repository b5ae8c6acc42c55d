"""`sapwood proxy --xrootd` in front of folders and real servers, read by xrdcp, xrdfs, ROOT, uproot and sapwood."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import test_http
from support import proxies, rootrun
from support.proxies import Proxy, client, metrics

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")

#: A long file for copies: longer than one request of xrdcp.
LONG_BYTES = 40_000_003


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("xproxy")
    test_http.write(folder / "data.root")
    (folder / "long.bin").write_bytes(np.random.default_rng(2).bytes(LONG_BYTES))
    (folder / "sub").mkdir()
    (folder / "sub" / "empty.bin").write_bytes(b"")
    return folder / "data.root"


@pytest.fixture(scope="module", params=["folder", "http", "root"])
def proxy(
    request: pytest.FixtureRequest, local: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proxy]:
    """In front of a folder, of nginx and of an XRootD."""
    cache = tmp_path_factory.mktemp("cache")
    if request.param == "folder":
        with proxies.running(local.parent, cache, "--xrootd", "0") as found:
            yield found
        return
    name = {"http": "nginx", "root": "xrootd"}[request.param]
    with test_http.running(name, local) as server:
        for path in ("long.bin", "sub/empty.bin"):
            (server.data / path).parent.mkdir(exist_ok=True)
            (server.data / path).write_bytes((local.parent / path).read_bytes())
        upstream = server.url if name == "nginx" else f"{server.root_url}/"
        with proxies.running(upstream, cache, "--xrootd", "0") as found:
            yield found


def same(one: Any, other: Any) -> bool:
    return bool(ak.array_equal(one, other, equal_nan=True))


def output(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("streams", [1, 4])
def test_xrdcp_copies_files_byte_for_byte(proxy: Proxy, local: Path, tmp_path: Path, streams: int) -> None:
    for path in ("long.bin", "sub/empty.bin", "data.root"):
        target = tmp_path / Path(path).name
        output(client("xrdcp", "-f", "-S", streams, f"{proxy.root}/{path}", target))
        is_same = target.read_bytes() == (local.parent / path).read_bytes()
        assert is_same, path


def test_xrdcp_compares_checksums(proxy: Proxy, local: Path, tmp_path: Path) -> None:
    url = f"{proxy.root}/long.bin"
    for kind in ("adler32", "crc32c"):
        done = client("xrdcp", "-f", "--cksum", f"{kind}:source", url, tmp_path / "long.bin")
        # crc32c is one that only newer clients have.
        assert done.returncode == 0 or kind == "crc32c", done.stderr
    done = client("xrdcp", "-f", "--cksum", "adler32:print", url, tmp_path / "long.bin")
    assert done.returncode == 0, done.stderr
    sum_ = f"{zlib.adler32((local.parent / 'long.bin').read_bytes()):08x}"
    assert sum_ in done.stdout + done.stderr
    at = proxy.root.rstrip("/")
    assert output(client("xrdfs", at, "query", "checksum", "/long.bin")).split() == ["adler32", sum_]


def test_xrdfs_sees_files_and_folders(proxy: Proxy, local: Path) -> None:
    at = proxy.root.rstrip("/")
    state = output(client("xrdfs", at, "stat", "/long.bin"))
    assert f"Size:   {LONG_BYTES}" in state and "IsReadable" in state and "IsDir" not in state
    assert "IsDir" in output(client("xrdfs", at, "stat", "/"))
    config = output(client("xrdfs", at, "query", "config", "readv_iov_max readv_ior_max version"))
    assert config.split()[:2] == ["1024", "2097136"] and config.split()[2].startswith("sapwood-")
    is_same = output(client("xrdfs", at, "cat", "/data.root")).encode("latin-1") == local.read_bytes()
    assert is_same
    assert at.removeprefix("root://") in output(client("xrdfs", at, "locate", "/long.bin"))
    assert "Read" in output(client("xrdfs", at, "locate", "-h", "/data.root"))


def test_xrdfs_lists(proxy: Proxy, local: Path) -> None:
    at = proxy.root.rstrip("/")
    done = client("xrdfs", at, "ls", "/")
    if done.returncode != 0:
        # nginx lists nothing by default.
        assert "[3010]" in done.stderr and "403" in done.stderr, done.stderr
        return
    assert {"/data.root", "/long.bin", "/sub"} <= set(done.stdout.split())
    rows = {
        line.split()[-1]: line.split() for line in output(client("xrdfs", at, "ls", "-l", "/")).splitlines()
    }
    assert rows["/long.bin"][0].startswith("-r") and str(LONG_BYTES) in rows["/long.bin"]
    assert rows["/sub"][0].startswith("dr")
    assert output(client("xrdfs", at, "ls", "/sub")).split() == ["/sub/empty.bin"]


def test_what_is_missing_or_written_is_refused(proxy: Proxy, tmp_path: Path) -> None:
    at = proxy.root.rstrip("/")
    done = client("xrdcp", f"{proxy.root}/none.root", tmp_path / "none")
    assert done.returncode != 0 and "[3011]" in done.stderr, done.stderr
    assert "[3011]" in client("xrdfs", at, "stat", "/none.root").stderr
    (tmp_path / "new").write_text("new")
    done = client("xrdcp", tmp_path / "new", f"{proxy.root}/new")
    assert done.returncode != 0 and "[3025]" in done.stderr, done.stderr
    for words in (
        ["rm", "/data.root"],
        ["mkdir", "/new"],
        ["mv", "/data.root", "/b"],
        ["truncate", "/data.root", "1"],
    ):
        done = client("xrdfs", at, *words)
        refused = "[3025]" in done.stderr or "read-only" in done.stdout + done.stderr
        assert done.returncode != 0 and refused, (words, done.stdout, done.stderr)


READ = """
file = ROOT.TFile.Open(sys.argv[1])
assert file.ClassName() == sys.argv[2], file.ClassName()
tree = file.Get("events")
tree.SetCacheSize(2_000_000)
tree.AddBranchToCache("*", True)
rows = []
for entry in range(tree.GetEntries()):
    tree.GetEntry(entry)
    if entry % 101 == 0:
        rows.append([tree.x00, tree.x11, list(tree.hits)])
answer([tree.GetEntries(), rows, file.GetReadCalls()])
"""


def test_root_reads_a_tree_value_for_value(proxy: Proxy, local: Path) -> None:
    near = sapwood.open(local)["events"].arrays()
    before = metrics(proxy.url)
    for _ in range(2):
        entries, rows, calls = rootrun.root(READ, f"{proxy.root}/data.root", "TNetXNGFile")
        assert entries == len(near) and calls < 200
        for name, column in (("x00", 0), ("x11", 1)):
            values = np.asarray([row[column] for row in rows], "f4")
            assert np.array_equal(values, ak.to_numpy(near[name][::101]))
        assert [row[2] for row in rows] == ak.to_list(near["hits"][::101])
    counts = metrics(proxy.url)
    # Vectors of ranges, and not one request for each basket.
    asked = 'xrootd_requests_total{status="ok"}'
    assert counts[asked] - before[asked] < 400
    assert counts["upstream_errors_total"] == before["upstream_errors_total"]


def test_uproot_reads_a_tree_value_for_value(proxy: Proxy, local: Path) -> None:
    uproot = pytest.importorskip("uproot")
    pytest.importorskip("XRootD")
    near = sapwood.open(local)["events"].arrays()
    for handler in (None, uproot.source.xrootd.XRootDSource, uproot.source.xrootd.MultithreadedXRootDSource):
        options = {"handler": handler} if handler else {}
        with uproot.open(f"{proxy.root}/data.root", **options) as theirs:
            assert same(theirs["events"].arrays(), near)


def test_sapwood_reads_and_lists(proxy: Proxy, local: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    near = sapwood.open(local)["events"].arrays()
    for streams in ("1", "4"):
        monkeypatch.setenv("XRD_SUBSTREAMSPERCHANNEL", streams)
        assert same(sapwood.open(f"{proxy.root}/data.root:events").arrays(), near)
    line = [sys.executable, "-m", "sapwood", "verify", f"{proxy.root}/data.root"]
    assert subprocess.run(line, capture_output=True, timeout=120).returncode == 0
    with pytest.raises(FileNotFoundError):
        sapwood.open(f"{proxy.root}/none.root")


def test_python_clients_read_vectors(proxy: Proxy, local: Path) -> None:
    client_ = pytest.importorskip("XRootD.client")
    whole = (local.parent / "long.bin").read_bytes()
    with client_.File() as file:
        status, _ = file.open(f"{proxy.root}/long.bin")
        assert status.ok, status.message
        wanted = [(start, 20_000) for start in range(5, LONG_BYTES - 20_000, 400_000)] + [(1, 2_097_136)]
        status, found = file.vector_read(wanted)
        assert status.ok, status.message
        for chunk in found.chunks:
            is_same = chunk.buffer == whole[chunk.offset : chunk.offset + chunk.length]
            assert is_same, (chunk.offset, chunk.length)
        status, found = file.read(LONG_BYTES - 7, 100)
        assert status.ok and found == whole[-7:]
        status, _ = file.vector_read([(LONG_BYTES - 5, 10)])
        assert not status.ok and status.errno == 3000


def test_the_second_client_asks_nothing_of_the_upstream(local: Path, tmp_path: Path) -> None:
    with test_http.running("nginx", local) as server:
        with proxies.running(server.url, tmp_path / "cache", "--xrootd", "0") as proxy:
            near = sapwood.open(local)["events"].arrays()
            assert same(sapwood.open(f"{proxy.url}/data.root:events").arrays(), near)
            asked = metrics(proxy.url)["upstream_reads_total"]
            entries, *_ = rootrun.root(READ, f"{proxy.root}/data.root", "TNetXNGFile")
            assert entries == len(near)
            counts = metrics(proxy.url)
            # The bytes between baskets are all that http did not ask for.
            assert counts["upstream_reads_total"] <= asked + 5
            assert counts["upstream_bytes_total"] <= local.stat().st_size + 400_000
            assert counts['protocol_hits_total{protocol="xrootd"}'] > 10


def test_what_makes_no_sense_is_refused(local: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("sesame")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for wrong in (
            ["--xrootd", "no"],
            ["--xrootd", "127.0.0.1"],
            ["--xrootd", str(taken.getsockname()[1])],
            ["--xrootd-unix"],
            ["--xrootd", "0", "--token-file", str(token)],
        ):
            line = [sys.executable, "-m", "sapwood", "proxy", "--upstream", str(local.parent)]
            line += ["--cache-dir", str(tmp_path / "cache"), *wrong]
            done = subprocess.run(line, capture_output=True, text=True, timeout=60)
            assert done.returncode in (1, 2) and done.stderr and not done.stdout, wrong
    assert os.path.exists(local)
