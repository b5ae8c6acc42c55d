"""Logins to the `root://` of a proxy with the clients of XRootD, ROOT and sapwood: TLS, tokens, keys, names."""

from __future__ import annotations

import shutil
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from support import proxies, rootrun, servers
from support.proxies import client

sapwood = pytest.importorskip("sapwood")

TOKEN = "sesame-4417"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, and next to it certificates."""
    servers.program("openssl")
    folder = tmp_path_factory.mktemp("logins")
    servers.certificates(folder, rsa=True)
    (folder / "data").mkdir()
    (folder / "data" / "f.bin").write_bytes(np.random.default_rng(3).bytes(3_000_001))
    with sapwood.recreate(folder / "data" / "a.root") as file:
        file["text"] = "hello"
    (folder / "token").write_text(f"{TOKEN}\n")
    return folder


def pair(place: Path) -> list[str]:
    return ["--tls-cert", str(place / "server.pem"), "--tls-key", str(place / "server.key")]


def trusting(place: Path) -> dict[str, str]:
    return {"X509_CERT_FILE": str(place / "authority.pem"), "X509_CERT_DIR": str(place / "ca")}


def copies(url: str, place: Path, tmp_path: Path, *arguments: str, **environment: str) -> str:
    """Copies the file; returns what is wrong, and nothing if it has the right bytes."""
    target = tmp_path / "copy.bin"
    target.unlink(missing_ok=True)
    done = client("xrdcp", "-f", *arguments, f"{url}/f.bin", target, **{**trusting(place), **environment})
    if done.returncode == 0:
        is_same = target.read_bytes() == (place / "data" / "f.bin").read_bytes()
        assert is_same
        return ""
    return done.stdout + done.stderr or "?"


@pytest.fixture(scope="module")
def secure(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[proxies.Proxy]:
    """A proxy that requires a token."""
    cache = tmp_path_factory.mktemp("cache")
    options = ["--xrootd", "0", "--token-file", str(place / "token"), *pair(place)]
    with proxies.running(place / "data", cache, *options) as proxy:
        yield proxy
    kept = b"".join(path.read_bytes() for path in cache.rglob("*") if path.is_file())
    assert TOKEN.encode() not in kept


def test_tls_is_spoken_to_those_that_want_it(place: Path, tmp_path: Path) -> None:
    with proxies.running(place / "data", tmp_path / "cache", "--xrootd", "0", *pair(place)) as proxy:
        for url in (proxy.root, proxy.roots):
            for streams in ("1", "4"):
                assert copies(url, place, tmp_path, "-S", streams) == ""
        assert copies(proxy.roots, place, tmp_path, X509_CERT_FILE="/none", X509_CERT_DIR="/none") != ""
        authorities = str(place / "authority.pem")
        assert sapwood.open(f"{proxy.roots}/a.root", authorities=authorities)["text"] == "hello"
        with pytest.raises(sapwood.errors.IOError):
            sapwood.open(f"{proxy.roots}/a.root")
    with proxies.running(place / "data", tmp_path / "plain", "--xrootd", "0") as proxy:
        assert copies(proxy.root, place, tmp_path) == ""
        assert copies(proxy.roots, place, tmp_path) != "", "a client that wants TLS takes nothing else"


def test_a_token_is_required_over_tls(secure: proxies.Proxy, place: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o600)
    for url in (secure.root, secure.roots):
        assert copies(url, place, tmp_path, BEARER_TOKEN=TOKEN) == ""
        assert copies(url, place, tmp_path, BEARER_TOKEN_FILE=str(tmp_path / "token")) == ""
        assert copies(url, place, tmp_path, "-S", "3", BEARER_TOKEN=TOKEN) == ""
        for wrong in ("", "another", TOKEN + "x"):
            assert copies(url, place, tmp_path, BEARER_TOKEN=wrong) != "", wrong
    lines = """
file = ROOT.TFile.Open(sys.argv[1])
answer([file.ClassName(), [key.GetName() for key in file.GetListOfKeys()]])
"""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**trusting(place), "BEARER_TOKEN": TOKEN}.items():
            patch.setenv(name, value)
        # ROOT has no roots://; its client begins TLS if the server asks for it.
        assert rootrun.root(lines, f"{secure.root}/a.root") == ["TNetXNGFile", ["text"]]
    # A client without TLS is turned away before it can show anything.
    host, port = secure.root.removeprefix("root://").strip("/").split(":")
    with socket.create_connection((host, int(port)), 30) as link:
        hello = struct.pack(">iiiii", 0, 0, 0, 4, 2012)
        link.sendall(hello + struct.pack(">HHIBB10xi", 1, 3006, 0x520, 0, 3, 0))
        answers = b"".join(iter(lambda: link.recv(4096), b""))
    assert answers[16:].startswith(struct.pack(">HH", 1, 4003)) and answers[24:28] == struct.pack(">I", 3028)
    options = {"authorities": str(place / "authority.pem")}
    assert sapwood.open(f"{secure.root}/a.root", token=TOKEN, **options)["text"] == "hello"
    for token in ("another", None):
        with pytest.raises(sapwood.errors.IOError) as caught:
            sapwood.open(f"{secure.root}/a.root", **options, **({"token": token} if token else {}))
        assert TOKEN not in str(caught.value)


def test_a_token_is_passed_on(place: Path, tmp_path: Path) -> None:
    """nginx wants one below `private`; the proxy shows that of the client."""
    import test_http

    data = tmp_path / "data.root"
    shutil.copy(place / "data" / "a.root", data)
    with test_http.running("nginx", data) as server:
        with proxies.running(server.url, tmp_path / "cache", "--xrootd", "0", *pair(place)) as proxy:
            options = {"authorities": str(place / "authority.pem"), "retries": 0}
            private = f"{proxy.roots}/private/data.root"
            with pytest.raises(sapwood.errors.IOError):
                sapwood.open(private, **options)
            assert sapwood.open(private, token="sesame", **options)["text"] == "hello"
            # The bytes are in the cache now, and still only for those that may have them.
            for token in (None, "wrong"):
                with pytest.raises(sapwood.errors.IOError):
                    sapwood.open(private, **options, **({"token": token} if token else {}))
            assert sapwood.open(f"{proxy.roots}/data.root", **options)["text"] == "hello"
            shown = client(
                "xrdcp", "-f", private, tmp_path / "copy", **trusting(place), BEARER_TOKEN="sesame"
            )
            assert shown.returncode == 0, shown.stderr
            assert client("xrdcp", "-f", private, tmp_path / "copy", **trusting(place)).returncode != 0
            authz = f"{private}?authz=Bearer%20sesame"
            assert client("xrdcp", "-f", authz, tmp_path / "copy", **trusting(place)).returncode == 0
            plain = authz.replace("roots://", "root://")
            refused = client("xrdcp", "-f", plain, tmp_path / "copy", **trusting(place))
            assert refused.returncode != 0 and "TLS" in refused.stderr, refused.stderr
            assert (tmp_path / "copy").read_bytes() == data.read_bytes()


def test_a_key_opens(place: Path, tmp_path: Path) -> None:
    servers.program("xrdsssadmin")
    keys, other = tmp_path / "sss.keytab", tmp_path / "other.keytab"
    servers.keytab(keys, "many", "-u", "anybody", "-g", "usrgroup")
    servers.keytab(keys, "long", "-u", "someone", "-g", "us", "-l", "64")
    servers.keytab(other, "many", "-u", "anybody", "-g", "usrgroup")
    options = ["--xrootd", "0", "--xrootd-keytab", str(keys)]
    with proxies.running(place / "data", tmp_path / "cache", *options) as proxy:
        assert copies(proxy.root, place, tmp_path, XrdSecSSSKT=str(keys)) == ""
        assert copies(proxy.root, place, tmp_path, XrdSecSSSKT=str(other)) != ""
        assert copies(proxy.root, place, tmp_path) != ""
        assert sapwood.open(f"{proxy.root}/a.root", keytab=str(keys))["text"] == "hello"
        with pytest.raises(sapwood.errors.IOError):
            sapwood.open(f"{proxy.root}/a.root", keytab=str(other))
    both = ["--token-file", str(place / "token"), *pair(place)]
    with proxies.running(place / "data", tmp_path / "cache", *options, *both) as proxy:
        assert copies(proxy.root, place, tmp_path, XrdSecSSSKT=str(keys)) == ""
        assert copies(proxy.roots, place, tmp_path, BEARER_TOKEN=TOKEN) == ""
        assert copies(proxy.roots, place, tmp_path, BEARER_TOKEN="another") != ""


def test_a_name_is_required_if_asked_for(place: Path, tmp_path: Path) -> None:
    with proxies.running(place / "data", tmp_path / "cache", "--xrootd", "0", "--xrootd-unix") as proxy:
        assert copies(proxy.root, place, tmp_path) == ""
        assert copies(proxy.root, place, tmp_path, XrdSecPROTOCOL="sss") != ""
        assert sapwood.open(f"{proxy.root}/a.root")["text"] == "hello"


def test_a_login_without_the_first_words_needs_the_token_too(secure: proxies.Proxy) -> None:
    """Old clients log in at once: without TLS they have no way to show a token."""
    port = int(secure.root.rsplit(":", 1)[1].strip("/"))
    hello = struct.pack(">5i", 0, 0, 0, 4, 2012)
    login = struct.pack(">HHI8sBBBBI", 1, 3007, 0, b"nobody", 0, 0, 0, 0, 0)
    protocol = struct.pack(">HHIB11xI", 1, 3006, 0x520, 0, 1) + b"x"
    for first in (login, protocol + login):
        with socket.create_connection(("127.0.0.1", port), timeout=20) as stream:
            stream.sendall(hello + first)
            answer = b""
            while data := stream.recv(4096):
                answer += data
        # The connection has ended: nothing can be asked for.
        assert b"TLS" in answer
