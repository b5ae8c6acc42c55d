"""Files that are written to real servers: by the package and by the command."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from support import servers

sapwood = pytest.importorskip("sapwood")

SECONDS = 120
#: Servers, and the folder in which each takes files. Redirections come before the body.
PLACES = [
    ("nginx", None, "http", "/dav"),
    ("nginx", None, "http", "/put"),
    ("apache2", None, "http", "/dav"),
    ("nginx", None, "http", "/elsewhere"),
    ("xrootd", None, "http", ""),
    ("xrootd", None, "root", "//files"),
    ("xrootd", "xrootd-sums.cfg", "root", "//files"),
]


def values(count: int, seed: int = 0) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).normal(size=count), "n": np.arange(count)}


def names(place: Path) -> list[str]:
    """All files of a server."""
    return sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())


@pytest.fixture
def staging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for files on their way."""
    made = tmp_path / "staging"
    made.mkdir()
    monkeypatch.setenv("TMPDIR", str(made))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return made


@pytest.fixture(
    scope="module", params=PLACES, ids=lambda place: f"{place[0]}-{place[2]}{place[3]}{place[1] or ''}"
)
def place(request: pytest.FixtureRequest) -> Iterator[tuple[str, Path, servers.Server]]:
    """The URL of a folder, the files of the server, and the server."""
    name, recipe, scheme, folder = request.param
    with servers.serving(name, recipe) as server:
        for made in ("dav", "put"):
            (server.data / made).mkdir()
            if os.geteuid() == 0:
                os.chmod(server.data / made, 0o777)
        yield (server.root_url if scheme == "root" else server.url) + folder, server.data, server


def command(*words: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "sapwood", *words]
    return subprocess.run(line, capture_output=True, text=True, timeout=SECONDS)


def test_files_are_created_replaced_updated_and_read(
    place: tuple[str, Path, servers.Server], staging: Path
) -> None:
    url, data, _ = place
    target, before = f"{url}/new.root", names(data)
    with sapwood.create(target) as file:
        file["t"] = values(100_000)
        assert file["t"].num_entries == 100_000
        assert names(data) == before, "it has its name when it is whole"
    assert (sapwood.open(target)["t/x"].array(library="np") == values(100_000)["x"]).all()
    with pytest.raises(FileExistsError, match="there is a file of that name"):
        sapwood.create(target)
    with sapwood.recreate(target) as file:
        file["t"] = values(10)
    with sapwood.update(target) as file:
        file["t"].extend(values(5, 1))
        file["note"] = "more"
    with sapwood.open(target) as file:
        assert file["t"].num_entries == 15 and str(file["note"]) == "more"
    assert len(names(data)) == len(before) + 1, names(data)
    assert os.listdir(staging) == []


def test_missing_folders_are_made(place: tuple[str, Path, servers.Server], staging: Path) -> None:
    url, data, _ = place
    if url.endswith(("/put", "/elsewhere")):
        return  # it makes none
    with sapwood.recreate(f"{url}/some/folder/a b.root") as file:
        file["t"] = {"x": [1, 2, 3]}
    assert sapwood.open(f"{url}/some/folder/a b.root:t/x").array().tolist() == [1, 2, 3]
    assert os.listdir(staging) == []


def test_skims_merges_rewrites_and_conversions_end_there(
    place: tuple[str, Path, servers.Server], staging: Path, tmp_path: Path
) -> None:
    url, data, _ = place
    for seed in (1, 2):
        with sapwood.recreate(tmp_path / f"{seed}.root") as file:
            file["t"] = values(1_000, seed)
    inputs = [str(tmp_path / f"{seed}.root") for seed in (1, 2)]
    assert sapwood.skim([f"{path}:t" for path in inputs], f"{url}/skim.root", ["n"], "n < 10", tree="t") == 20
    merged = sapwood.merge(f"{url}/merged.root", inputs, adler32=True)
    assert merged.output == f"{url}/merged.root" and merged.trees["t"].entries == 2_000
    with pytest.raises(FileExistsError):
        sapwood.merge(f"{url}/merged.root", inputs, replace=False)
    assert sapwood.merge(f"{url}/merged.root", inputs, append=True).trees["t"].entries == 4_000
    _, after = sapwood.rewrite(f"{url}/merged.root", f"{url}/few.root", cut="n < 5")["t"]
    assert after.entries == 20
    pytest.importorskip("pyarrow")
    assert sapwood.convert(inputs, f"{url}/both.parquet").entries == 2_000
    with pytest.raises(FileExistsError):
        sapwood.convert(inputs, f"{url}/both.parquet")
    for name, entries in (("skim", 20), ("merged", 4_000), ("few", 20)):
        assert sapwood.open(f"{url}/{name}.root")["t"].num_entries == entries
    found = next(path for path in data.rglob("both.parquet"))
    import pyarrow.parquet

    assert pyarrow.parquet.read_table(found).num_rows == 2_000
    assert [name for name in names(data) if name.endswith(("unfinished", "part"))] == []
    assert os.listdir(staging) == []


def test_the_command_writes_there(
    place: tuple[str, Path, servers.Server], staging: Path, tmp_path: Path
) -> None:
    url, data, _ = place
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["t"] = values(1_000)
    one, two = str(tmp_path / "a.root"), f"{url}/commanded.root"
    done = command("merge", "--adler32", two, one, one)
    assert done.returncode == 0, done.stderr
    assert sapwood.open(two)["t"].num_entries == 2_000
    done = command("merge", two, one)
    assert done.returncode != 0 and "--force replaces it" in done.stderr and two in done.stderr
    done = command("merge", "--force", two, one)
    assert done.returncode == 0, done.stderr
    done = command("merge", "--append", two, one)
    assert done.returncode != 0 and "nothing is added to a file on a server" in done.stderr
    done = command("rewrite", two, f"{url}/rewritten.root", "--cut", "n < 7")
    assert done.returncode == 0, done.stderr
    assert sapwood.open(f"{url}/rewritten.root")["t"].num_entries == 7
    assert sapwood.open(two)["t"].num_entries == 1_000
    assert os.listdir(staging) == []


class Cutting:
    """A way to a server that ends, for good, when so many bytes were sent to it."""

    def __init__(self, url: str, most: int) -> None:
        host, port = url.split("://")[1].split("/")[0].split(":")
        self._server, self._left = (host, int(port)), most
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = url.replace(f":{port}", f":{self._listener.getsockname()[1]}")
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._server)
            self._open += [client, server]
            threading.Thread(target=self._pass_on, args=(server, client, False), daemon=True).start()
            threading.Thread(target=self._pass_on, args=(client, server, True), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, counts: bool) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 16):
                if counts:
                    self._left -= len(piece)
                    if self._left < 0:
                        return self.close()
                target.sendall(piece)
            target.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        for one in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


def kept(error: BaseException) -> str:
    """The path of a finished file that could not be sent."""
    found = re.search(r"the finished file is kept as (\S+)", str(error))
    assert found, error
    return found.group(1)


@pytest.mark.parametrize("before", [False, True], ids=["new", "replaced"])
def test_a_server_that_dies_midway_leaves_nothing_with_the_name(
    place: tuple[str, Path, servers.Server], staging: Path, before: bool
) -> None:
    url, data, _ = place
    if url.endswith("/elsewhere"):
        return  # redirected around the cut
    if before:
        with sapwood.recreate(f"{url}/cut.root") as file:
            file["t"] = values(10)
    way = Cutting(url, 1_000_000)
    file = sapwood.recreate(f"{way.url}/cut.root", timeout=2, retries=1)
    file["t"] = values(500_000)
    with pytest.raises(OSError, match="the file was not sent: .*127.0.0.1") as caught:
        file.close()
    assert f"{way.url}/cut.root" in str(caught.value)
    assert sapwood.open(kept(caught.value))["t"].num_entries == 500_000
    shutil.rmtree(os.path.dirname(kept(caught.value)))
    assert os.listdir(staging) == []
    found = list(data.rglob("cut.root"))
    if before:
        assert sapwood.open(found[0])["t"].num_entries == 10
        found[0].unlink()
    elif found:
        # A server that takes a file in place shows what it got; nobody could take that away any more.
        assert "http" in url and not url.endswith("/dav"), found


def test_refusals_are_told_and_keep_the_file(request: pytest.FixtureRequest) -> None:
    with servers.serving("nginx") as server:
        request.getfixturevalue("staging")
        for folder, mode in (("dav", 0o555), ("private", 0o777), ("small", 0o777), ("single", 0o777)):
            (server.data / folder).mkdir()
            os.chmod(server.data / folder, mode)
        for folder, said in (("dav", "500"), ("private", "401"), ("small", "413"), ("single", "405")):
            file = sapwood.recreate(f"{server.url}/{folder}/a.root", token="geheimnis")
            file["t"] = values(100_000)
            words = f"the file was not sent: 127.0.0.1:[0-9]+ answered {said}"
            # A server that knows no PUT takes no files: that is no fault of the network.
            kind = sapwood.errors.UnsupportedError if said == "405" else OSError
            with pytest.raises(kind, match=words) as caught:
                file.close()
            assert "geheimnis" not in str(caught.value)
            assert sapwood.open(kept(caught.value))["t"].num_entries == 100_000
        assert names(server.data) == []


def test_what_others_wrote_meanwhile_stays_for_create(
    place: tuple[str, Path, servers.Server], staging: Path
) -> None:
    url, data, _ = place
    file = sapwood.create(f"{url}/raced.root")
    file["t"] = values(10)
    with sapwood.create(f"{url}/raced.root") as other:
        other["t"] = values(20)
    with pytest.raises(FileExistsError, match="there is a file of that name"):
        file.close()
    assert sapwood.open(f"{url}/raced.root")["t"].num_entries == 20
    assert [name for name in names(data) if "raced.root." in name] == []


def test_files_that_are_updated_have_to_be_there(
    place: tuple[str, Path, servers.Server], staging: Path
) -> None:
    with pytest.raises(FileNotFoundError, match="none.root"):
        sapwood.update(f"{place[0]}/none.root")
    assert os.listdir(staging) == []


def test_what_is_not_written_there_is_told(staging: Path) -> None:
    for url in ("dcap://127.0.0.1:1/a.root", "gsidcap://127.0.0.1:1/a.root"):
        for make in (sapwood.recreate, sapwood.create, sapwood.update):
            with pytest.raises(NotImplementedError, match="dcap"):
                make(url)
    with pytest.raises(NotImplementedError, match="fsspec reads files of https://, and cannot write them"):
        sapwood.recreate("https://user:secret@127.0.0.1:1/a.root", handler="fsspec")
    assert os.listdir(staging) == []
