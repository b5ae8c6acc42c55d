"""Files of root:// through fsspec-xrootd: where a server wants a proof that only XRootD's own client can give."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support import servers

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")
fsspec = pytest.importorskip("fsspec")
# The module: the package has a mapping of that name.
registry = pytest.importorskip("fsspec.registry")

from fsspec.implementations.memory import MemoryFileSystem  # noqa: E402

PROTOCOL, LOGIN = 3006, 3007


def answered(connection: socket.socket, offers: bytes) -> None:
    """Speaks with a client until it goes: a hello, the protocol, a login that wants a proof; all else is refused."""

    def take(count: int) -> bytes:
        found = b""
        while len(found) < count:
            piece = connection.recv(count - len(found))
            if not piece:
                raise ConnectionError
            found += piece
        return found

    def say(stream: bytes, status: int, body: bytes) -> None:
        connection.sendall(stream + struct.pack(">HI", status, len(body)) + body)

    with connection:
        try:
            take(20)
            say(b"\0\0", 0, struct.pack(">II", 0x500, 1))
            while True:
                stream, request, _, length = struct.unpack(">2sH16sI", take(24))
                take(length)
                if request == PROTOCOL:
                    say(stream, 0, struct.pack(">II", 0x500, 1))
                elif request == LOGIN:
                    say(stream, 0, b"0123456789abcdef" + offers)
                else:
                    say(stream, 4003, struct.pack(">I", 3010) + b"who are you?\0")
        except OSError:
            pass


@contextmanager
def strict(offers: bytes) -> Iterator[str]:
    """The address of a server that wants one of these proofs of every client."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            try:
                while True:
                    connection, _ = listener.accept()
                    threading.Thread(target=answered, args=(connection, offers), daemon=True).start()
            except OSError:
                pass

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        # Who waits in `accept` does not hear that the socket is closed.
        listener.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A file system in the place of fsspec-xrootd's; what it was asked for."""
    asked: list[str] = []

    class Client(MemoryFileSystem):
        protocol = "root"
        cachable = False

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            if "://" in path:
                asked.append(path)
            return "/" + path.rsplit("/", 1)[1]

    monkeypatch.setitem(registry._registry, "root", Client)
    return asked


@pytest.fixture
def content(tmp_path: Path) -> Iterator[bytes]:
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["events"] = {"x": range(1000)}
    content = (tmp_path / "a.root").read_bytes()
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/a.root", content)
    yield content
    memory.store.clear()


def test_a_server_that_wants_krb5_is_left_to_xrootds_client(
    client: list[str], content: bytes, tmp_path: Path
) -> None:
    with strict(b"&P=gsi,v:10600,c:ssl,ca:1&P=krb5,host@REALM\0") as address:
        for scheme in ("root", "xroot"):
            with pytest.warns(
                RuntimeWarning, match=rf"{address} requires authentication by krb5: fsspec-xrootd"
            ) as warned:
                tree = sapwood.open(f"{scheme}://{address}//data/a.root:events")
            assert len(warned) == 1
            assert tree.arrays(["x"])["x"].to_list() == list(range(1000))
        assert client and all(url.startswith(f"root://{address}//") for url in client)
        with pytest.warns(RuntimeWarning, match="fsspec-xrootd"):
            assert sapwood.merge(tmp_path / "all.root", [f"root://{address}//data/a.root"] * 2).inputs == 2
        with pytest.warns(RuntimeWarning, match="fsspec-xrootd"):
            steps = sapwood.iterate(
                f"root://{address}//data/a.root:events", ["x"], cache="blocks", cache_dir=tmp_path
            )
            assert sum(len(step) for step in steps) == 1000
        # TLS was asked for, and nothing says that the other client would speak it.
        asked = len(client)
        with pytest.raises(sapwood.errors.IOError, match="TLS"):
            sapwood.open(f"roots://{address}//data/a.root")
        assert len(client) == asked


def test_without_xrootds_client_the_error_says_what_helps(
    monkeypatch: pytest.MonkeyPatch, client: list[str]
) -> None:
    monkeypatch.delitem(registry._registry, "root")
    monkeypatch.setitem(
        registry.known_implementations, "root", {"class": "no_such_module.Client", "err": "none"}
    )
    with strict(b"&P=krb5,host@REALM\0") as address:
        with pytest.raises(sapwood.errors.IOError, match=r"by krb5; .*pip install fsspec-xrootd") as error:
            sapwood.open(f"root://{address}//data/a.root")
        assert error.value.kind == "denied"
    for offer, words in (
        (b"&P=ztn,0:4096:\0", "by ztn; ztn: no token"),
        (b"&P=gsi,v:10600\0", "by gsi; gsi: "),
    ):
        with strict(offer) as address:
            with pytest.raises(sapwood.errors.IOError, match=words) as error:
                sapwood.open(f"root://{address}//data/a.root")
            assert "fsspec" not in str(error.value)


def test_other_errors_are_not_handed_on(client: list[str]) -> None:
    with servers.serving("xrootd") as server, pytest.raises(FileNotFoundError):
        sapwood.open(f"{server.root_url}//missing.root")
    assert client == []


def test_the_real_client_reads_the_same(content: bytes) -> None:
    pytest.importorskip("fsspec_xrootd", exc_type=ImportError)
    with servers.serving("xrootd") as server:
        (server.data / "runs").mkdir(mode=0o755)
        (server.data / "runs/a.root").write_bytes(content)
        os.chmod(server.data / "runs/a.root", 0o644)
        # In a process of its own: its client has threads that outlive the server.
        code = f"""
import sapwood
for threads in (1, 2):
    file = sapwood.open("{server.root_url}//runs/a.root", handler="fsspec", threads=threads)
    assert type(file._source) is str and file._engine().by_python
    assert file["events"].arrays(["x"])["x"].to_list() == list(range(1000))
found = sapwood.concatenate("{server.root_url}//runs/*.root:events", ["x"], handler="fsspec")
assert len(found) == 1000
try:
    sapwood.open("{server.root_url}//missing.root", handler="fsspec")
except sapwood.SapwoodError as error:
    assert "missing.root" in str(error), error
else:
    raise AssertionError("there is no such file")
"""
        subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
