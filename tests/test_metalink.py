"""Metalinks: files that are read at the places that a list names."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import sapwood
from sapwood.errors import SapwoodError


class Server:
    """A server of http on loopback that answers ranges of one file, and remembers headers."""

    def __init__(self, content: dict[str, bytes]) -> None:
        seen: list[tuple[str, str | None]] = []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                seen.append((self.path, self.headers.get("Authorization")))
                body = content.get(self.path)
                if body is None:
                    self.send_response(404)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                given = self.headers.get("Range")
                if given is None or "," in given:
                    self.send_response(200)
                    part = body
                else:
                    first, _, last = given.removeprefix("bytes=").partition("-")
                    start = int(first) if first else max(0, len(body) - int(last))
                    stop = min(int(last) + 1, len(body)) if first and last else len(body)
                    part = body[start:stop]
                    self.send_response(206)
                    self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(body)}")
                self.send_header("Content-Length", str(len(part)))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(part)

            do_HEAD = do_GET

            def log_message(self, *_: object) -> None:
                pass

        self.seen = seen
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file of ten entries."""
    path = tmp_path_factory.mktemp("metalink") / "a.root"
    with sapwood.recreate(path) as file:
        file["events"] = {"x": list(range(10))}
    return path.read_bytes()


def metalink(*urls: str, size: int | None = None) -> str:
    length = "" if size is None else f"<size>{size}</size>"
    places = "".join(f'<url priority="{n}">{url}</url>' for n, url in enumerate(urls, 1))
    head = '<metalink xmlns="urn:ietf:params:xml:ns:metalink">'
    return f'{head}<file name="a">{length}{places}</file></metalink>'


def read(place: object, **options: object) -> list[int]:
    with sapwood.open(place, **options) as file:  # type: ignore[arg-type]
        return file["events"]["x"].array(library="np").tolist()


def test_the_next_place_is_read_if_one_fails(data: bytes, tmp_path: Path) -> None:
    with Server({"/good.root": data, "/old.root": data[:-1]}) as server:
        at = f"http://127.0.0.1:{server.port}"
        path = tmp_path / "a.root.meta4"
        path.write_text(metalink(f"{at}/gone.root", f"{at}/old.root", f"{at}/good.root", size=len(data)))
        assert read(path) == list(range(10))
        assert read(f"{path}") == list(range(10))
        assert {where for where, _ in server.seen} == {"/gone.root", "/old.root", "/good.root"}
        path.write_text(metalink(f"{at}/old.root", size=len(data)))
        with pytest.raises(SapwoodError, match="another length than its list"):
            read(path)


def test_a_list_of_a_server_gets_no_token_for_other_hosts(data: bytes, tmp_path: Path) -> None:
    with Server({"/good.root": data}) as other:
        content = {"/list.meta4": metalink(f"http://localhost:{other.port}/good.root").encode()}
        with Server(content) as server:
            assert read(f"http://127.0.0.1:{server.port}/list.meta4", token="secret") == list(range(10))
            assert {token for _, token in server.seen} == {"Bearer secret"}
            assert {token for _, token in other.seen} == {None}
        path = tmp_path / "mine.meta4"
        path.write_text(metalink(f"http://localhost:{other.port}/good.root"))
        other.seen.clear()
        # The user has named these places.
        assert read(path, token="secret") == list(range(10))
        assert {token for _, token in other.seen} == {"Bearer secret"}


def test_other_files_are_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.metalink"
    for text, words in [
        ("", "not a metalink"),
        ("<html/>", "not a metalink"),
        (metalink(), "no place"),
        (metalink(str(tmp_path / "a.root")), "no place"),
        (metalink("file:///etc/hostname"), "no place"),
        ("x" * (1 << 21), "limit"),
    ]:
        path.write_text(text)
        with pytest.raises(SapwoodError, match=words):
            sapwood.open(path)
