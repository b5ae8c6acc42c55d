"""`sapwood proxy` in front of folders and real servers, read by ROOT, uproot, sapwood and plain http."""

from __future__ import annotations

import http.client
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import test_http
from support import proxies, rootrun, servers
from support.proxies import metrics

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("proxy") / "data.root"
    test_http.write(path)
    return path


@contextmanager
def proxying(upstream: str | Path, cache: Path, *arguments: str, **environment: str) -> Iterator[str]:
    """The URL of a proxy for as long as the block lasts."""
    with proxies.running(upstream, cache, *arguments, **environment) as proxy:
        yield proxy.url


def same(one: Any, other: Any) -> bool:
    return bool(ak.array_equal(one, other, equal_nan=True))


@pytest.mark.parametrize("prefetch", ["with", "without"])
def test_sapwood_and_uproot_read_a_tree_value_for_value(local: Path, tmp_path: Path, prefetch: str) -> None:
    uproot = pytest.importorskip("uproot")
    near = sapwood.open(local)["events"].arrays()
    switch = [] if prefetch == "with" else ["--no-prefetch"]
    with proxying(local.parent, tmp_path / "cache", *switch) as url:
        for _ in range(2):
            tree = sapwood.open(f"{url}/data.root:events")
            assert same(tree.arrays(), near)
            assert same(
                ak.concatenate(list(tree.iterate(["x00", "hits"], step_size=10_000))), near[["x00", "hits"]]
            )
            # One asks for many ranges in one request, the other for each in one of its own.
            for handler in (uproot.HTTPSource, uproot.MultithreadedHTTPSource):
                with uproot.open(f"{url}/data.root", handler=handler) as theirs:
                    assert same(theirs["events"].arrays(), near)
        counts = metrics(url)
        assert counts["upstream_errors_total"] == 0
        # All is there now: the whole file once, and what shows its state.
        assert counts["upstream_bytes_total"] <= local.stat().st_size + 200_000
        assert counts["hits_total"] > counts["misses_total"] > 0


def test_root_reads_a_tree_value_for_value(local: Path, tmp_path: Path) -> None:
    near = sapwood.open(local)["events"].arrays()
    lines = """
# The plug-in of 6.40 names the constructor of its class in a way in which it is not found.
plugins = ROOT.gROOT.GetPluginManager()
plugins.LoadHandlersFromPluginDirs("TFile")
handler = plugins.FindHandler("TFile", sys.argv[1])
if handler and str(handler.GetClass()) == "ROOT::Deprecated::TWebFile":
    plugins.RemoveHandler("TFile", "^http[s]?:")
    plugins.AddHandler("TFile", "^http[s]?:", "ROOT::Deprecated::TWebFile", "Net", "TWebFile(const char*,Option_t*)")
file = ROOT.TFile.Open(sys.argv[1])
tree = file.Get("events")
rows = []
for entry in range(0, tree.GetEntries(), 101):
    tree.GetEntry(entry)
    rows.append([tree.x00, tree.x11, list(tree.hits)])
answer([file.ClassName(), tree.GetEntries(), rows])
"""
    with proxying(local.parent, tmp_path / "cache") as url:
        for _ in range(2):
            kind, entries, rows = rootrun.root(lines, f"{url}/data.root")
            assert kind != "TFile" and entries == len(near)
            for name, column in (("x00", 0), ("x11", 1)):
                assert np.array_equal(
                    np.asarray([row[column] for row in rows], "f4"), ak.to_numpy(near[name][::101])
                )
            assert [row[2] for row in rows] == ak.to_list(near["hits"][::101])
        counts = metrics(url)
        assert counts["upstream_errors_total"] == 0 and counts["hits_total"] > 0


@pytest.mark.parametrize("name", test_http.NAMES)
def test_real_servers_are_asked_once(name: str, local: Path, tmp_path: Path) -> None:
    near = sapwood.open(local)["events"].arrays()
    with test_http.running(name, local) as server:
        upstreams = [server.url] + ([server.root_url + "/"] if name == "xrootd" else [])
        for number, upstream in enumerate(upstreams):
            with proxying(upstream, tmp_path / f"cache{number}") as url:
                # Where the upstream wants a token, the client's is passed on, and no other client gets in
                # with it.
                private = name != "xrootd"
                far = f"{url}/private/data.root" if private else f"{url}/data.root"
                options = {"token": "sesame"} if private else {}
                assert same(sapwood.open(f"{far}:events", **options).arrays(), near)
                asked = metrics(url)["upstream_reads_total"]
                assert same(sapwood.open(f"{far}:events", **options).arrays(), near)
                assert metrics(url)["upstream_reads_total"] == asked
                assert status(f"{url}/none.root") == 404
                if private:
                    assert status(far) in (401, 403) and status(far, Authorization="Bearer wrong") == 403
                    assert status(far, Authorization="Bearer sesame") == 200


def status(url: str, **headers: str) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_tokens_are_checked(local: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("sesame-4417\n")
    near = sapwood.open(local)["events"].arrays("x00")
    with proxying(local.parent, tmp_path / "cache", "--token-file", str(token)) as url:
        assert same(sapwood.open(f"{url}/data.root:events", token="sesame-4417").arrays("x00"), near)
        with pytest.raises(sapwood.errors.IOError):
            sapwood.open(f"{url}/data.root", token="another")
        assert status(f"{url}/metrics") == 401 and status(f"{url}/health") == 200
        assert status(f"{url}/metrics", Authorization="Bearer sesame-4417") == 200
    kept = b"".join(path.read_bytes() for path in (tmp_path / "cache").rglob("*") if path.is_file())
    assert b"sesame" not in kept


def test_tls(local: Path, tmp_path: Path) -> None:
    servers.program("openssl")
    servers.certificates(tmp_path)
    pair = ["--tls-cert", str(tmp_path / "server.pem"), "--tls-key", str(tmp_path / "server.key")]
    with proxying(local.parent, tmp_path / "cache", *pair) as url:
        assert url.startswith("https://")
        tree = sapwood.open(f"{url}/data.root:events", authorities=str(tmp_path / "authority.pem"))
        assert same(tree.arrays("x00"), sapwood.open(local)["events"].arrays("x00"))
        with pytest.raises(sapwood.errors.IOError):
            sapwood.open(f"{url}/data.root")


def test_many_connections_at_once(local: Path, tmp_path: Path) -> None:
    bytes_ = local.read_bytes()
    with proxying(local.parent, tmp_path / "cache", "--max-connections", "40") as url:
        wrong: list[str] = []

        def read(number: int) -> None:
            link = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
            for step in range(10):
                start = (number * 7919 + step * 104_729) % (len(bytes_) - 50_000)
                link.request("GET", "/data.root", headers={"Range": f"bytes={start}-{start + 49_999}"})
                if link.getresponse().read() != bytes_[start : start + 50_000]:
                    wrong.append(f"{number}: {start}")
            link.close()

        threads = [threading.Thread(target=read, args=(number,)) for number in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
        assert metrics(url)["served_bytes_total"] == 40 * 10 * 50_000


def test_what_makes_no_sense_is_refused(local: Path, tmp_path: Path) -> None:
    for wrong in (
        ["--upstream", "gopher://example.org"],
        ["--upstream", str(local)],
        ["--upstream", str(local.parent), "--tls-cert", "x"],
        ["--upstream", str(local.parent), "--token-file", str(tmp_path / "none")],
        ["--upstream", str(local.parent), "--idle", "0"],
    ):
        line = [sys.executable, "-m", "sapwood", "proxy", "--cache-dir", str(tmp_path / "cache"), *wrong]
        done = subprocess.run(line, capture_output=True, text=True, timeout=60)
        assert done.returncode in (1, 2) and done.stderr and not done.stdout, wrong
