"""Real servers on loopback for the tests: Apache, nginx and XRootD, as Debian has them."""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

RECIPES = Path(__file__).resolve().parent.parent / "servers"
#: Servers and the Debian packages that bring them.
PACKAGES = {
    "apache2": "apache2",
    "nginx": "nginx",
    "xrootd": "xrootd-server",
    "xrdcp": "xrootd-client",
    "xrdfs": "xrootd-client",
    "xrdsssadmin": "xrootd-server",
    "openssl": "openssl",
    "dccp": "dcap",
}
#: Nobody's account: two of the servers refuse to be run by root.
ACCOUNT = "daemon"


@dataclass
class Server:
    """A server that runs, and the folder that it serves."""

    name: str
    url: str
    tls_url: str
    #: root:// of an XRootD, without a path.
    root_url: str
    place: Path

    @property
    def data(self) -> Path:
        return self.place / "data"

    def lines(self, count: int = 0) -> list[tuple[int, int, str]]:
        """Status, bytes and ranges of all requests so far; forgets them. Servers log a request after it is
        answered: ``count`` are waited for, and then a while for what should not be there."""
        log = self.place / "access.log"
        text, deadline = None, time.monotonic() + 20
        while True:
            before, text = text, log.read_text() if log.exists() else ""
            is_whole = text == before and text.count("\n") >= count
            if is_whole or time.monotonic() > deadline:
                break
            time.sleep(0.1)
        os.truncate(log, 0)
        rows = [line.split(" ", 2) for line in text.splitlines()]
        return [(int(status), int(size), ranges) for status, size, ranges in rows]


def program(name: str) -> str:
    """The path of a server; skips where there is none, by name, and fails where CI should have it."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin:/sbin")
    return found or missing(name, PACKAGES[name])


def missing(name: str, package: str) -> NoReturn:
    """Skips by name, and fails where CI should have it."""
    words = f"no {name} here (Debian: {package})"
    if os.environ.get("CI") == "true":
        pytest.fail(words)
    pytest.skip(words)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def certificates(place: Path, rsa: bool = False) -> None:
    """An authority, a server of it at 127.0.0.1, and a client of it: `client.pem` with its key. With `rsa` keys are
    those that `gsi` takes, the authority is in the folder `ca` as well, and `proxy.pem` is one of the client."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=place, check=True, capture_output=True)

    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    new = ["-newkey", "rsa:2048", "-nodes"] if rsa else curve
    openssl(
        "req",
        "-x509",
        *new,
        "-days",
        "2",
        "-subj",
        "/CN=authority",
        "-keyout",
        "authority.key",
        "-out",
        "authority.pem",
    )
    (place / "server.ext").write_text(
        "subjectAltName=IP:127.0.0.1,DNS:localhost\nbasicConstraints=CA:FALSE\n"
    )
    (place / "client.ext").write_text("basicConstraints=CA:FALSE\n")
    for name in ("server", "client"):
        openssl("req", *new, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        signed = ["-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial", "-days", "2"]
        openssl(
            "x509", "-req", "-in", f"{name}.csr", *signed, "-extfile", f"{name}.ext", "-out", f"{name}.pem"
        )
    if rsa:
        (place / "ca").mkdir()
        named = ["openssl", "x509", "-in", "authority.pem", "-noout", "-subject_hash"]
        hashed = subprocess.run(named, cwd=place, check=True, capture_output=True, text=True).stdout.strip()
        shutil.copy(place / "authority.pem", place / "ca" / f"{hashed}.0")
        (place / "proxy.ext").write_text("proxyCertInfo=critical,language:id-ppl-inheritAll\n")
        openssl("req", *new, "-subj", "/CN=client/CN=4711", "-keyout", "proxy.key", "-out", "proxy.csr")
        signed = ["-CA", "client.pem", "-CAkey", "client.key", "-CAcreateserial", "-days", "1"]
        openssl("x509", "-req", "-in", "proxy.csr", *signed, "-extfile", "proxy.ext", "-out", "proxy.crt")
        parts = [(place / name).read_text() for name in ("proxy.crt", "proxy.key", "client.pem")]
        (place / "proxy.pem").write_text("".join(parts))
        os.chmod(place / "proxy.pem", 0o600)
    with open(place / "client.pem", "a") as both:
        both.write((place / "client.key").read_text())


def token(place: Path, minutes: int = 15) -> str:
    """A token to read all, of an issuer whose keys the server at `place` has as if it had fetched them."""

    def text(content: bytes) -> str:
        return base64.urlsafe_b64encode(content).rstrip(b"=").decode()

    def openssl(*arguments: str, given: bytes = b"") -> bytes:
        return subprocess.run(
            ["openssl", *arguments], cwd=place, check=True, capture_output=True, input=given
        ).stdout

    now, issuer = int(time.time()), "https://issuer.invalid"
    if not (place / "issuer.key").exists():
        openssl("genrsa", "-out", "issuer.key", "2048")
        modulus = openssl("rsa", "-in", "issuer.key", "-noout", "-modulus").decode().strip().split("=")[1]
        key = {
            "kty": "RSA",
            "alg": "RS256",
            "use": "sig",
            "kid": "k",
            "n": text(bytes.fromhex(modulus)),
            "e": "AQAB",
        }
        (place / "scitokens.cfg").write_text(
            f"[Global]\naudience = test\n[Issuer test]\nissuer = {issuer}\nbase_path = /\n"
        )
        cache = place / "cache" / "scitokens"
        cache.mkdir(parents=True)
        with sqlite3.connect(cache / "scitokens_cpp.sqllite") as known:
            known.execute(
                "CREATE TABLE keycache (issuer text UNIQUE PRIMARY KEY NOT NULL, keys text NOT NULL)"
            )
            keys = {"expires": now + 86_400, "next_update": now + 80_000, "jwks": {"keys": [key]}}
            known.execute("INSERT INTO keycache VALUES (?, ?)", (issuer, json.dumps(keys)))
        known.close()
    claims = {"iss": issuer, "aud": "test", "sub": "me", "scope": "read:/", "ver": "scitoken:2.0"}
    times = {"iat": now - 5, "nbf": now - 5, "exp": now + 60 * minutes}
    body = ".".join(
        text(json.dumps(one).encode())
        for one in ({"alg": "RS256", "typ": "JWT", "kid": "k"}, {**claims, **times})
    )
    return body + "." + text(openssl("dgst", "-sha256", "-sign", "issuer.key", given=body.encode()))


def keytab(path: Path, name: str, *options: str) -> None:
    """Adds a key of this name to a file, which is made if there is none."""
    subprocess.run(
        [program("xrdsssadmin"), "-k", name, *options, "add", path],
        check=True,
        capture_output=True,
        input=b"y\n",
        timeout=30,
    )


@contextmanager
def serving(name: str, recipe: str | None = None, target: str = "") -> Iterator[Server]:
    """A server of this name for as long as the block lasts; `recipe` is another file than its usual one, and `target`
    a server that it sends to."""
    path = program(name)
    certified = name == "nginx" or recipe in ("xrootd-tls.cfg", "xrootd-ztn.cfg", "xrootd-gsi.cfg")
    if certified:
        program("openssl")
    place = Path(tempfile.mkdtemp(prefix=f"sapwood-{name}-"))
    for folder in ("data", "admin", "run"):
        (place / folder).mkdir()
    port, other = free_port(), free_port()
    if certified:
        certificates(place, rsa=recipe == "xrootd-gsi.cfg")
        os.chmod(place / "server.key", 0o400)  # XRootD asks for it
    if recipe == "xrootd-ztn.cfg":
        if not list(Path("/usr/lib").glob("**/libXrdAccSciTokens-5.so")):
            missing("the plugin of tokens", "xrootd-scitokens-plugins")
        token(place)
    if recipe == "xrootd-gsi.cfg" and not list(Path("/usr/lib").glob("**/libXrdSecgsi-5.so")):
        missing("the plugin of gsi", "xrootd-plugins")
    if recipe == "xrootd-sss.cfg":
        keytab(place / "sss.keytab", "many", "-u", "anybody", "-g", "usrgroup")
        keytab(place / "sss.keytab", "one", "-u", ACCOUNT, "-g", ACCOUNT, "-l", "64")
    only_root = recipe is not None
    recipe = recipe or {"apache2": "apache.conf", "nginx": "nginx.conf", "xrootd": "xrootd.cfg"}[name]
    text = (RECIPES / recipe).read_text().replace("@DIR@", str(place)).replace("@PORT@", str(port))
    text = (
        text.replace("@TLS_PORT@", str(other)).replace("@XRD_PORT@", str(other)).replace("@TARGET@", target)
    )
    config = place / recipe
    config.write_text(text)
    command = {
        "apache2": [path, "-f", str(config), "-DFOREGROUND"],
        "nginx": [path, "-p", str(place), "-e", str(place / "error.log"), "-c", str(config)],
        "xrootd": [path, "-c", str(config), "-l", str(place / "xrootd.log"), "-n", "sapwood", "-I", "v4"],
    }[name]
    account = {"env": {**os.environ, "XDG_CACHE_HOME": str(place / "cache")}}
    if os.geteuid() == 0:
        account |= {"user": ACCOUNT, "group": ACCOUNT, "extra_groups": []}
        for item in (place, *place.rglob("*")):
            shutil.chown(item, ACCOUNT, ACCOUNT)
    with open(place / "output.log", "wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd=place, **account)  # type: ignore[call-overload]
        try:
            _wait(process, port, place)
            root = f"root://127.0.0.1:{port if only_root else other}"
            yield Server(name, f"http://127.0.0.1:{port}", f"https://127.0.0.1:{other}", root, place)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            shutil.rmtree(place, ignore_errors=True)


def _wait(process: subprocess.Popen[bytes], port: int, place: Path) -> None:
    """Until the server answers."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    logs = [log.read_text(errors="replace") for log in place.rglob("*.log")]
    pytest.fail(f"the server does not run: {' '.join(logs)[-2000:]}")
