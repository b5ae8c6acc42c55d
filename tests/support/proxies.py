"""Runs `sapwood proxy`, and clients of XRootD's protocol, as processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from . import servers


@dataclass
class Proxy:
    """A proxy that runs: its addresses of http and of root://, the latter without the slash of a path."""

    url: str
    root: str = ""

    @property
    def roots(self) -> str:
        return self.root.replace("root://", "roots://")


@contextmanager
def running(upstream: str | Path, cache: Path, *arguments: str, **environment: str) -> Iterator[Proxy]:
    """A proxy for as long as the block lasts; it has to end in order."""
    line = [sys.executable, "-m", "sapwood", "proxy", "--upstream", str(upstream), "--cache-dir", str(cache)]
    process = subprocess.Popen(
        [*line, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    assert process.stdout and process.stderr
    try:
        url = process.stdout.readline().strip()
        failed = (url, process.poll() and process.stderr.read())
        assert url.startswith(("http://127.0.0.1:", "https://127.0.0.1:")), failed
        root = process.stdout.readline().strip() if "--xrootd" in arguments else ""
        yield Proxy(url, root)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert process.stderr.read() == ""
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def metrics(url: str) -> dict[str, int]:
    with urllib.request.urlopen(f"{url}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    rows = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {name.removeprefix("sapwood_proxy_"): int(value) for name, value in rows}


def client(name: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs `xrdcp` or `xrdfs`, which tries once and does not wait long. A token or a proxy of the user is not shown."""
    unset = ("BEARER_TOKEN", "BEARER_TOKEN_FILE", "XDG_RUNTIME_DIR", "XrdSecSSSKT", "XrdSecPROTOCOL")
    clean = {key: value for key, value in os.environ.items() if key not in unset}
    times = {"XRD_CONNECTIONRETRY": "1", "XRD_CONNECTIONWINDOW": "10", "XRD_REQUESTTIMEOUT": "60"}
    done = subprocess.run(
        [servers.program(name), *map(str, arguments)],
        capture_output=True,
        timeout=180,
        env={**clean, **times, **environment},
    )
    # A letter for each byte: what is copied to the output may be a file.
    streams = (done.stdout.decode("latin-1"), done.stderr.decode("latin-1"))
    return subprocess.CompletedProcess(done.args, done.returncode, *streams)
