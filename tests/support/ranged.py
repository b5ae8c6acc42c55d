"""A small HTTP server of one folder on loopback that knows ranges, waits before it answers, and counts.

python tests/support/ranged.py FOLDER DELAY_SECONDS      # prints its port, ends with its standard input
"""

from __future__ import annotations

import http.server
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Ranged:
    """A server that runs."""

    folder: Path
    delay: float
    #: Whether only the first range of a request is answered, as many servers do.
    only_first: bool = False
    #: The header ``Range`` of each request.
    asked: list[str] = field(default_factory=list)
    sent: int = 0
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def forget(self) -> None:
        self.asked.clear()
        self.sent = 0


def handler(server: Ranged) -> Any:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16
        disable_nagle_algorithm = True

        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            wanted = self.headers.get("Range", "")
            server.asked.append(wanted)
            if server.delay:
                time.sleep(server.delay)
            path = server.folder / Path(self.path.split("?")[0]).name
            if not path.is_file():
                self.send_error(404)
                return
            about = path.stat()
            tag = f'"{about.st_mtime_ns:x}-{about.st_size:x}"'
            with path.open("rb") as file:
                ranges = spans(wanted, about.st_size)[: 1 if server.only_first else None]
                total = sum(end - start for start, end in ranges)
                heads = [
                    f"\r\n--ranged\r\nContent-Range: bytes {start}-{end - 1}/{about.st_size}\r\n\r\n".encode()
                    for start, end in ranges
                ]
                end_mark = b"\r\n--ranged--\r\n"
                self.send_response(206 if wanted else 200)
                self.send_header("ETag", tag)
                if len(ranges) == 1:
                    start, end = ranges[0]
                    self.send_header("Content-Range", f"bytes {start}-{end - 1}/{about.st_size}")
                    heads, end_mark = [b""], b""
                else:
                    self.send_header("Content-Type", "multipart/byteranges; boundary=ranged")
                self.send_header("Content-Length", str(total + sum(map(len, heads)) + len(end_mark)))
                self.end_headers()
                for head, (start, end) in zip(heads, ranges, strict=True):
                    self.wfile.write(head)
                    file.seek(start)
                    while start < end:
                        piece = file.read(min(end - start, 1 << 20))
                        self.wfile.write(piece)
                        start += len(piece)
                        server.sent += len(piece)
                self.wfile.write(end_mark)

    return Handler


def spans(header: str, length: int) -> list[tuple[int, int]]:
    """Ranges of a header; all where there is none."""
    found = []
    for text in header.removeprefix("bytes=").split(",") if header else []:
        first, _, last = text.strip().partition("-")
        if first:
            found.append((int(first), min(int(last) + 1 if last else length, length)))
        else:
            found.append((max(length - int(last), 0), length))
    return found or [(0, length)]


@contextmanager
def serving(folder: Path, delay: float = 0, only_first: bool = False) -> Iterator[Ranged]:
    """A server in a thread of this process."""
    state = Ranged(folder, delay, only_first)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(state))
    server.daemon_threads = True
    state.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    with serving(Path(sys.argv[1]), float(sys.argv[2])) as running:
        print(running.port, flush=True)
        sys.stdin.read()
