"""Files on real servers: Apache, nginx and XRootD, over http and https."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import servers

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")

NAMES = ("apache2", "nginx", "xrootd")
ENTRIES = 200_000
#: Folders whose files are those of the top.
FOLDERS = ("private", "single", "few", "whole")


def write(path: Path) -> None:
    """A file of a dozen branches in many clusters: a few megabytes, baskets of some kilobytes."""
    random = np.random.default_rng(1)
    columns = {f"x{i:02d}": random.normal(size=ENTRIES).astype("f4") for i in range(12)}
    counts = random.integers(0, 4, ENTRIES)
    with sapwood.recreate(path, compression="lz4:4") as file:
        tree = file.mktree(
            "events", {**{name: "float32" for name in columns}, "hits": "var * int32"}, auto_flush=4_000
        )
        hits = ak.unflatten(np.arange(counts.sum(), dtype="i4"), counts)
        for start in range(0, ENTRIES, 5_000):
            step = slice(start, start + 5_000)
            tree.extend({**{name: values[step] for name, values in columns.items()}, "hits": hits[step]})
        file["text"] = "hello"


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("http") / "data.root"
    write(path)
    return path


@pytest.fixture(scope="module", params=NAMES)
def server(request: pytest.FixtureRequest, local: Path) -> Iterator[servers.Server]:
    with running(request.param, local) as found:
        yield found


@pytest.fixture(scope="module")
def nginx(local: Path) -> Iterator[servers.Server]:
    with running("nginx", local) as found:
        yield found


def running(name: str, local: Path) -> Any:
    return filled(servers.serving(name), local)


class filled:
    """A server with the file in all its folders."""

    def __init__(self, serving: Any, local: Path) -> None:
        self.serving, self.local = serving, local

    def __enter__(self) -> servers.Server:
        found: servers.Server = self.serving.__enter__()
        for place in (found.data, *(found.data / folder for folder in FOLDERS)):
            place.mkdir(exist_ok=True)
            (place / "data.root").write_bytes(self.local.read_bytes())
            os.chmod(place, 0o755)
            os.chmod(place / "data.root", 0o644)
        (found.data / "empty.root").write_bytes(b"")
        return found

    def __exit__(self, *error: object) -> Any:
        return self.serving.__exit__(*error)


def same(one: Any, other: Any) -> bool:
    return bool(ak.array_equal(one, other, equal_nan=True))


def test_a_tree_is_what_it_is_on_disk(server: servers.Server, local: Path) -> None:
    near, far = sapwood.open(local), sapwood.open(f"{server.url}/data.root")
    assert far.keys() == near.keys() and far["text"] == near["text"]
    for threads in (1, 2):
        far = sapwood.open(f"{server.url}/data.root", threads=threads)
        assert same(far["events"].arrays(), near["events"].arrays())
        some = [(i, i + 3) for i in range(0, ENTRIES, 9_999)]
        wanted = {"entries": some, "filter_name": ["x03", "hits"]}
        assert same(far["events"].arrays(**wanted), near["events"].arrays(**wanted))


def test_objects_are_named_in_urls_and_files_are_many(server: servers.Server, local: Path) -> None:
    assert sapwood.open(f"{server.url}/data.root:events").num_entries == ENTRIES
    steps = list(
        sapwood.iterate([f"{server.url}/data.root:events", f"{local}:events"], ["x00"], step_size=ENTRIES)
    )
    assert len(steps) == 2 and same(*steps)


def test_what_is_not_there_is_no_file(server: servers.Server) -> None:
    with pytest.raises(FileNotFoundError, match=r"127\.0\.0\.1"):
        sapwood.open(f"{server.url}/missing.root")
    with pytest.raises(sapwood.errors.MalformedError):
        sapwood.open(f"{server.url}/empty.root")


def test_a_file_is_whole_when_all_of_it_is_read(server: servers.Server) -> None:
    assert sapwood.verify(f"{server.url}/data.root") == []


def test_a_file_that_changes_is_an_error(server: servers.Server, local: Path) -> None:
    path = server.data / "changing.root"
    path.write_bytes(local.read_bytes())
    os.chmod(path, 0o644)
    tree = sapwood.open(f"{server.url}/changing.root")["events"]
    tree.arrays(["x00"], entry_stop=10)
    path.write_bytes(local.read_bytes() + b"more")
    os.utime(path, (1e9, 1e9))
    with pytest.raises(sapwood.errors.IOError, match="changed"):
        tree.arrays(["x05"])


@pytest.mark.parametrize("name", ["apache2", "nginx"])
def test_requests_are_few(name: str, local: Path) -> None:
    with running(name, local) as server:
        file = sapwood.open(f"{server.url}/data.root")
        opened = server.lines(2)
        # Both ends together; list of keys, classes and the tree itself are in the tail.
        assert {(size, ranges) for _, size, ranges in opened} == {
            (4096, "bytes=0-4095"),
            (65536, "bytes=-65536"),
        }
        tree = file["events"]
        assert server.lines() == []
        tree.arrays(["x00"])
        read = server.lines(1)
        baskets = tree["x00"].num_baskets
        assert baskets == 50 and len(read) == 1, (baskets, read)
        assert all(status == 206 for status, _, _ in opened + read)
        assert tree["x00"].compressed_bytes < read[0][1] < 1.02 * tree["x00"].compressed_bytes


def test_servers_that_know_fewer_ranges_are_read_as_well(nginx: servers.Server, local: Path) -> None:
    near = sapwood.open(local)["events"].arrays(["x01", "x07"])
    for folder in ("single", "few", "whole"):
        far = sapwood.open(f"{nginx.url}/{folder}/data.root")["events"]
        assert same(far.arrays(["x01", "x07"]), near), folder


@pytest.mark.parametrize("name", ["apache2", "nginx"])
def test_a_token_opens_what_is_private(name: str, local: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(name, local) as server:
        private = f"{server.url}/private/data.root"
        with pytest.raises(sapwood.errors.IOError, match="denied"):
            sapwood.open(private)
        with pytest.raises(sapwood.errors.IOError, match="denied"):
            sapwood.open(private, token="wrong")
        assert sapwood.open(private, token="sesame")["text"] == "hello"
        file = pickle.loads(pickle.dumps(sapwood.open(private, headers={"Authorization": "Bearer sesame"})))
        assert file["events"].num_entries == ENTRIES
        monkeypatch.setenv("BEARER_TOKEN", "sesame")  # loopback is private enough
        assert sapwood.open(private)["text"] == "hello"
        assert sapwood.open(f"{server.url}/moved")["text"] == "hello"


def test_https_trusts_whom_it_is_told_to(nginx: servers.Server, local: Path) -> None:
    url, authority = f"{nginx.tls_url}/data.root", nginx.place / "authority.pem"
    with pytest.raises(sapwood.errors.IOError, match=r"denied: no TLS with .*certificate.*") as caught:
        sapwood.open(url)
    assert "attempt" not in str(caught.value), "it is no better the second time"
    file = sapwood.open(url, authorities=authority)
    assert same(file["events"].arrays(["x02"]), sapwood.open(local)["events"].arrays(["x02"]))
    private = url.replace("/data.root", "/private/data.root")
    with pytest.raises(sapwood.errors.IOError, match="denied"):
        sapwood.open(private, authorities=authority)
    assert (
        sapwood.open(private, authorities=authority, certificate=nginx.place / "client.pem")["text"]
        == "hello"
    )


def test_redirections_that_leave_tls_are_refused(nginx: servers.Server) -> None:
    url, authority = f"{nginx.tls_url}/clear", nginx.place / "authority.pem"
    with pytest.raises(
        sapwood.errors.IOError, match="denied: .*from https to http.*insecure_redirects"
    ) as caught:
        sapwood.open(url, authorities=authority)
    assert "sesame" not in str(caught.value)
    assert sapwood.open(url, authorities=authority, insecure_redirects=True)["text"] == "hello"
    command = [sys.executable, "-m", "sapwood", "ls", url, "--authorities", str(authority)]
    assert subprocess.run(command, capture_output=True, timeout=120).returncode == 1
    assert (
        subprocess.run([*command, "--insecure-redirects"], capture_output=True, timeout=120).returncode == 0
    )


def test_the_command_takes_urls(nginx: servers.Server, local: Path) -> None:
    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "sapwood", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    far, near = f"{nginx.url}/data.root", str(local)
    for command in (["ls", "-l"], ["map"], ["verify"]):
        assert run(*command, far).replace(far, near) == run(*command, near), command
    assert f"sapwood rewrite {far} data-mended.root" in run("doctor", far)
    for command in (["show"], ["scan", "-n", "3"], ["layout"]):
        assert run(*command, f"{far}:events") == run(*command, f"{near}:events"), command
    assert run("dump", f"{far}:text") == run("dump", f"{near}:text")


def test_the_command_waits_as_long_as_it_is_told() -> None:
    import socket

    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/a.root"
        command = [sys.executable, "-m", "sapwood", "ls", url, "--timeout", "0.2", "--retries", "1"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "at attempt 2" in done.stderr, done.stderr


def test_what_is_only_read_is_not_written() -> None:
    url = "dcap://127.0.0.1:1/a.root"
    for work in (sapwood.create, sapwood.recreate, sapwood.update):
        with pytest.raises(sapwood.errors.UnsupportedError, match="are read, and cannot be written"):
            work(url)


def test_a_child_after_a_fork_reads_on(nginx: servers.Server) -> None:
    tree = sapwood.open(f"{nginx.url}/data.root")["events"]
    before = tree.arrays(["x00"])
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if same(tree.arrays(["x00"]), before) else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert same(tree.arrays(["x00"]), before)


def test_python_goes_on_while_a_server_is_waited_for() -> None:
    import socket

    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        errors: list[Exception] = []

        def wait() -> None:
            try:
                sapwood.open(f"http://127.0.0.1:{silent.getsockname()[1]}/x.root", timeout=0.5, retries=1)
            except Exception as error:
                errors.append(error)

        waiting = threading.Thread(target=wait)
        waiting.start()
        turns = 0
        while waiting.is_alive():
            waiting.join(0.01)
            turns += 1
        assert turns > 20
        assert isinstance(errors[0], TimeoutError | sapwood.errors.IOError)
        assert "sent nothing for 0.5 s, at attempt 2" in str(errors[0])


def test_options_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    url = "http://127.0.0.1:9/x.root"
    with pytest.raises(ValueError, match="timeout"):
        sapwood.open(url, timeout=-1)
    with pytest.raises(sapwood.errors.MismatchError, match="token"):
        sapwood.open(url, token="a\nb")
    with pytest.raises(FileNotFoundError):
        sapwood.open(url, authorities=tmp_path / "none.pem")
    (tmp_path / "bad.pem").write_text("nothing")
    with pytest.raises(sapwood.errors.MismatchError, match="authority"):
        sapwood.open(url, authorities=tmp_path / "bad.pem")
    with pytest.raises(sapwood.errors.UnsupportedError, match="gopher"):
        sapwood.open("gopher://127.0.0.1/x.root")
    with pytest.raises(TypeError, match="tokens"):
        sapwood.open(url, tokens="a")
