"""Logins by X.509 at XRootD's own server, with what the environment names: the package and the command. More, such as
kinds of proxies and servers that cheat, is in `crates/store/tests/all/gsi.rs`."""

from __future__ import annotations

import copy
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import servers

sapwood = pytest.importorskip("sapwood")

NAMES = ("X509_USER_PROXY", "X509_USER_CERT", "X509_USER_KEY", "X509_CERT_DIR")


@pytest.fixture(scope="module")
def server() -> Iterator[servers.Server]:
    with servers.serving("xrootd", recipe="xrootd-gsi.cfg") as found:
        path = found.data / "data.root"
        with sapwood.recreate(path) as file:
            file["events"] = {"x": range(1000)}
        os.chmod(path, 0o644)
        yield found


@pytest.fixture
def named(server: servers.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A proxy of the user's own, named by the environment, and the authorities."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    proxy = tmp_path / "proxy.pem"
    shutil.copyfile(server.place / "proxy.pem", proxy)
    proxy.chmod(0o600)
    monkeypatch.setenv("X509_USER_PROXY", str(proxy))
    monkeypatch.setenv("X509_CERT_DIR", str(server.place / "ca"))
    return proxy


def secret(proxy: Path) -> str:
    """A line of the key."""
    return proxy.read_text().split("PRIVATE KEY-----\n")[1].splitlines()[1]


def test_the_environments_proxy_opens_a_file(server: servers.Server, named: Path) -> None:
    url = f"{server.root_url}//data.root"
    tree = sapwood.open(url)["events"]
    assert tree["x"].array().to_list() == list(range(1000))
    command = [sys.executable, "-m", "sapwood", "ls", url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "events" in done.stdout, done.stderr


def test_a_certificate_with_its_key_opens_a_file(
    server: servers.Server, named: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{server.root_url}//data.root"
    both = tmp_path / "client.pem"
    shutil.copyfile(server.place / "client.pem", both)
    both.chmod(0o600)
    monkeypatch.delenv("X509_USER_PROXY")
    monkeypatch.setenv("X509_USER_CERT", str(both))
    monkeypatch.setenv("X509_USER_KEY", str(both))
    assert sapwood.open(url)["events"].num_entries == 1000
    monkeypatch.delenv("X509_USER_KEY")
    monkeypatch.delenv("X509_CERT_DIR")
    file = sapwood.open(url, certificate=both, authorities=server.place / "ca")
    again = pickle.loads(pickle.dumps(file))
    assert again["events"].num_entries == 1000
    for text in (pickle.dumps(file), repr(file).encode(), repr(copy.copy(file)).encode()):
        assert b"PRIVATE" not in text and secret(both).encode() not in text
    line = [
        sys.executable,
        "-m",
        "sapwood",
        "ls",
        url,
        "--certificate",
        both,
        "--authorities",
        server.place / "ca",
    ]
    assert subprocess.run(line, capture_output=True, timeout=60).returncode == 0


def test_what_is_missing_is_said(
    server: servers.Server, named: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{server.root_url}//data.root"

    def fails(words: str) -> None:
        with pytest.raises(sapwood.errors.IOError, match=words) as error:
            sapwood.open(url, retries=0)
        assert error.value.kind == "denied"
        shown = repr(error.value) + str(error.value)
        assert "PRIVATE" not in shown and secret(named) not in shown and "fsspec" not in shown

    # Opened by others before, with the same proxy: connections are shared.
    monkeypatch.setenv("X509_USER_PROXY", str(tmp_path / "none"))
    fails("by gsi; gsi: no such X.509 proxy or certificate: make one with voms-proxy-init.*none")
    open_to_all = tmp_path / "open.pem"
    shutil.copyfile(named, open_to_all)
    open_to_all.chmod(0o644)
    monkeypatch.setenv("X509_USER_PROXY", str(open_to_all))
    fails("its mode is 644 and should be 600")
    monkeypatch.setenv("X509_USER_PROXY", str(named))
    strangers = tmp_path / "strangers"
    strangers.mkdir()
    shutil.copyfile(server.place / "client.pem", strangers / "unknown.pem")
    monkeypatch.setenv("X509_CERT_DIR", str(strangers))
    fails("no authority here signed the certificate of 127.0.0.1: CN=authority")
    done = subprocess.run(
        [sys.executable, "-m", "sapwood", "ls", url, "--retries", "0"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode != 0 and "no authority here signed" in done.stderr and "PRIVATE" not in done.stderr
