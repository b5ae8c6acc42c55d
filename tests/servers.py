"""Real servers on loopback for the tests: Apache, nginx and XRootD, as Debian has them."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

RECIPES = Path(__file__).resolve().parent / "servers"
#: Servers and the Debian packages that bring them.
PACKAGES = {"apache2": "apache2", "nginx": "nginx", "xrootd": "xrootd-server", "openssl": "openssl"}
#: Nobody's account: two of the servers refuse to be run by root.
ACCOUNT = "daemon"


@dataclass
class Server:
    """A server that runs, and the folder that it serves."""

    name: str
    url: str
    tls_url: str
    place: Path

    @property
    def data(self) -> Path:
        return self.place / "data"

    def lines(self) -> list[tuple[int, int, str]]:
        """Status, bytes and ranges of all requests so far; forgets them."""
        log = self.place / "access.log"
        text = log.read_text() if log.exists() else ""
        os.truncate(log, 0)
        rows = [line.split(" ", 2) for line in text.splitlines()]
        return [(int(status), int(size), ranges) for status, size, ranges in rows]


def program(name: str) -> str:
    """The path of a server; skips where there is none, by name, and fails where CI should have it."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin:/sbin")
    if found is None:
        words = f"no {name} here (Debian: {PACKAGES[name]})"
        if os.environ.get("CI") == "true":
            pytest.fail(words)
        pytest.skip(words)
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def certificates(place: Path) -> None:
    """An authority, a server of it at 127.0.0.1, and a client of it: `client.pem` with its key."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=place, check=True, capture_output=True)

    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *new, "-days", "2", "-subj", "/CN=authority", "-keyout", "authority.key", "-out", "authority.pem")
    (place / "server.ext").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\nbasicConstraints=CA:FALSE\n")
    (place / "client.ext").write_text("basicConstraints=CA:FALSE\n")
    for name in ("server", "client"):
        openssl("req", *new, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        signed = ["-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial", "-days", "2"]
        openssl("x509", "-req", "-in", f"{name}.csr", *signed, "-extfile", f"{name}.ext", "-out", f"{name}.pem")
    with open(place / "client.pem", "a") as both:
        both.write((place / "client.key").read_text())


@contextmanager
def serving(name: str) -> Iterator[Server]:
    """A server of this name for as long as the block lasts."""
    path = program(name)
    if name == "nginx":
        program("openssl")
    place = Path(tempfile.mkdtemp(prefix=f"sapwood-{name}-"))
    for folder in ("data", "admin", "run"):
        (place / folder).mkdir()
    port, other = free_port(), free_port()
    if name == "nginx":
        certificates(place)
    recipe = {"apache2": "apache.conf", "nginx": "nginx.conf", "xrootd": "xrootd.cfg"}[name]
    text = (RECIPES / recipe).read_text().replace("@DIR@", str(place)).replace("@PORT@", str(port))
    text = text.replace("@TLS_PORT@", str(other)).replace("@XRD_PORT@", str(other))
    config = place / recipe
    config.write_text(text)
    command = {
        "apache2": [path, "-f", str(config), "-DFOREGROUND"],
        "nginx": [path, "-p", str(place), "-e", str(place / "error.log"), "-c", str(config)],
        "xrootd": [path, "-c", str(config), "-l", str(place / "xrootd.log"), "-n", "sapwood", "-I", "v4"],
    }[name]
    account = {}
    if os.geteuid() == 0:
        account = {"user": ACCOUNT, "group": ACCOUNT, "extra_groups": []}
        for item in (place, *place.iterdir()):
            shutil.chown(item, ACCOUNT, ACCOUNT)
    with open(place / "output.log", "wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd=place, **account)  # type: ignore[call-overload]
        try:
            _wait(process, port, place)
            yield Server(name, f"http://127.0.0.1:{port}", f"https://127.0.0.1:{other}", place)
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
    logs = [log.read_text(errors="replace") for log in place.glob("*.log")]
    pytest.fail(f"the server does not run: {' '.join(logs)[-2000:]}")
