"""No message, warning or report shows the password or the ticket of a URL."""

from __future__ import annotations

import http.server
import pickle
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")

SECRET = "SEKRET"


class Handler(http.server.BaseHTTPRequestHandler):
    """One file under every name, but for names with ``none``; it takes no file."""

    content = b""
    protocol_version = "HTTP/1.1"

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self) -> None:
        whole, wanted = self.content, self.headers.get("Range", "")
        if "none" in self.path:
            self.answer(404, b"")
        elif wanted and "," not in wanted:
            first, last = wanted.removeprefix("bytes=").split("-")
            start = max(0, len(whole) - int(last)) if not first else int(first)
            stop = len(whole) if not first or not last else min(int(last) + 1, len(whole))
            self.answer(206, whole[start:stop], Content_Range=f"bytes {start}-{stop - 1}/{len(whole)}")
        else:
            self.answer(200, whole)

    do_HEAD = do_GET

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(403, b"")

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    path = tmp_path_factory.mktemp("secrets") / "a.root"
    with sapwood.recreate(path) as file:
        file["t"] = {"x": np.arange(1000.0)}
    Handler.content = path.read_bytes()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()


URLS = {
    "a login": lambda port, name: f"http://me:{SECRET}@127.0.0.1:{port}/{name}",
    "a ticket": lambda port, name: f"http://127.0.0.1:{port}/{name}?authz={SECRET}",
}
BRIEFLY = {"timeout": 3, "retries": 0}
CALLS: dict[str, Callable[[str, Path], Any]] = {
    "merge": lambda url, to: sapwood.merge(to / "m.root", [url, url], **BRIEFLY),
    "merge, one missing": lambda url, to: sapwood.merge(
        to / "m.root", [url, url.replace("x.root", "none.root")], skip=True, **BRIEFLY
    ),
    "convert": lambda url, to: sapwood.convert(url, to / "c.parquet", **BRIEFLY),
    "convert, no format": lambda url, to: sapwood.convert(url, to / "c.unknown", **BRIEFLY),
    "pack": lambda url, to: sapwood.pack(url, to / "p.zst", **BRIEFLY),
    "unpack": lambda url, to: sapwood.unpack(url, to / "u.root", **BRIEFLY),
    "open": lambda url, to: sapwood.open(url.replace("x.root", "none.root"), **BRIEFLY),
    "draw": lambda url, to: sapwood.draw(url + ":nope", "x", **BRIEFLY),
    "upload": lambda url, to: sapwood.convert(to / "none.parquet", url, **BRIEFLY),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("url", URLS.values(), ids=URLS)
def test_calls(port: int, tmp_path: Path, url: Any, call: Any) -> None:
    shown = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call(url(port, "x.root"), tmp_path)
            shown += [repr(result), str(result)]
        except sapwood.SapwoodError as error:
            shown += [str(error), repr(error), str(error.file), repr(error.__cause__)]
    shown += [str(warning.message) for warning in caught]
    assert shown and not any(SECRET in text for text in shown)


COMMANDS = {
    "merge": ["merge", "{to}/m.root", "{url}", "{url}"],
    "pack": ["pack", "{url}", "-o", "{to}/p.zst"],
    "convert": ["convert", "{url}", "{to}/c.unknown"],
    "ls": ["ls", "{none}"],
    "checksum": ["checksum", "{none}", "{url}"],
    "recover": ["recover", "{url}"],
    "rm": ["rm", "{url}:t"],
    "mv": ["mv", "{url}:t", "{url}:u"],
    "mkdir": ["mkdir", "{url}:d"],
    "cp": ["cp", "{url}:t", "{to}/none/c.root"],
    "makeselector": ["makeselector", "{url}:t", "{to}/s.py"],
}


@pytest.mark.parametrize("line", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("url", URLS.values(), ids=URLS)
def test_commands(port: int, tmp_path: Path, url: Any, line: list[str]) -> None:
    words = {"to": tmp_path, "url": url(port, "x.root"), "none": url(port, "none.root")}
    command = [sys.executable, "-m", "sapwood", *(word.format(**words) for word in line)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert SECRET not in done.stdout + done.stderr
    for written in tmp_path.glob("*.py"):
        assert SECRET not in written.read_text()


def test_messages_of_errors_and_warnings_hide_secrets_wherever_they_are_made() -> None:
    from sapwood import _notices, errors

    words = f"no file http://me:{SECRET}@a.org/x.root?authz={SECRET}"
    for kind in (sapwood.SapwoodError, errors.MissingFileError, errors.NotFoundError, errors.MismatchError):
        error = kind(words)
        assert SECRET not in str(error) + repr(error) + repr(error.args) and "a.org/x.root" in str(error)
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is kind and str(again) == str(error)
    with pytest.warns(UserWarning, match="a.org/x.root") as caught:
        _notices.warn(words)
    assert SECRET not in str(caught[0].message)
