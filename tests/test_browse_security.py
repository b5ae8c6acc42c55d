"""Who may ask `sapwood browse`: its own page, and nothing and nobody else."""

from __future__ import annotations

import http.server
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.browser import Browsed, browsing, frame_of, missing, until

sapwood = pytest.importorskip("sapwood")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browsed]:
    place = tmp_path_factory.mktemp("security")
    with sapwood.recreate(place / "secret.root") as file:
        file["h"] = np.histogram([1.0], bins=2)
    (place / "folder").mkdir()
    (place / "folder" / "inside.root").write_bytes((place / "secret.root").read_bytes())
    with browsing(place / "secret.root", place / "folder") as served:
        yield served


@dataclass
class Visited:
    """A server of another origin, and what it was asked for."""

    url: str
    asked: list[str]


@contextmanager
def visited() -> Iterator[Visited]:
    asked: list[str] = []
    with elsewhere("", asked) as url:
        yield Visited(url, asked)


@contextmanager
def elsewhere(text: str, asked: list[str] | None = None) -> Iterator[str]:
    """A page of another origin."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if asked is not None:
                asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://localhost:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


def test_without_the_token_nothing_is_answered(served: Browsed) -> None:
    token = urllib.parse.urlsplit(served.url).path.strip("/")
    assert len(token) == 48
    wrong = token[:-1] + ("0" if token[-1] != "0" else "1")
    for path in (
        "",
        "api/list",
        f"{wrong}/",
        f"{wrong}/api/list",
        f"{token[:-1]}/api/list",
        token,
    ):
        status, headers, body = served.get(f"{served.origin}/{path}")
        assert status == 403, path
        assert b"secret" not in body
        assert "Access-Control-Allow-Origin" not in headers
    with browsing(Path(__file__).parent) as other:
        assert token not in other.url


def test_other_names_of_the_host_are_refused(served: Browsed) -> None:
    list_url = f"{served.url}api/list"
    for host in ("evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1"):
        assert served.get(list_url, {"Host": host})[0] == 421, host
    port = urllib.parse.urlsplit(served.url).port
    assert served.get(list_url, {"Host": f"localhost:{port}"})[0] == 200


def test_other_origins_and_sites_are_refused(served: Browsed) -> None:
    list_url = f"{served.url}api/list"
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    ):
        assert served.get(list_url, headers)[0] == 403, headers
    assert served.get(list_url, {"Origin": served.origin, "Sec-Fetch-Site": "same-origin"})[0] == 200


def test_it_listens_on_this_machine_alone(served: Browsed) -> None:
    port = urllib.parse.urlsplit(served.url).port
    assert port is not None
    with socket.socket() as other:
        # Another address of the loopback interface is another host already.
        other.settimeout(5)
        with pytest.raises(OSError):
            other.connect(("127.0.0.2", port))


def test_nothing_is_changed_by_a_request(served: Browsed) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        status, headers, _ = served.get(f"{served.url}api/list", method=method)
        assert status == 405 and "Access-Control-Allow-Origin" not in headers


def test_answers_are_of_their_type_and_tell_no_address(served: Browsed) -> None:
    for path in ("", "page.js", "page.css", "api/list", "api/none"):
        _, headers, _ = served.get(served.url + path)
        assert headers["X-Content-Type-Options"] == "nosniff", path
        assert headers["Referrer-Policy"] == "no-referrer", path


#: What a program tries that should not run, each with whether it did.
TRIES = """async ([elsewhere, own]) => {
    const found = {};
    const add = (tag, some) => new Promise((done) => {
        const element = Object.assign(document.createElement(tag), some);
        element.onload = () => done("loaded");
        element.onerror = () => done("refused");
        document.body.append(element);
        setTimeout(() => done("nothing"), 1000);
    });
    add("script", { textContent: "window.isRun = true" });
    found.inline = window.isRun === true;
    document.body.insertAdjacentHTML("beforeend", "<p id=tried style='position: fixed' onclick='window.isHandled = true'>");
    document.querySelector("#tried").click();
    found.handler = window.isHandled === true;
    found.style = getComputedStyle(document.querySelector("#tried")).position === "fixed";
    for (const [name, url] of [["far", elsewhere], ["near", own]]) {
        found[`${name} fetch`] = await fetch(url).then(() => "loaded", () => "refused");
        found[`${name} beacon`] = await add("img", { src: url });
        found[`${name} script`] = await add("script", { src: url });
        const request = new XMLHttpRequest();
        found[`${name} request`] = await new Promise((done) => {
            request.onload = () => done("loaded");
            request.onerror = () => done("refused");
            try { request.open("GET", url); request.send(); } catch { done("refused"); }
        });
    }
    await add("iframe", { src: elsewhere });
    const form = Object.assign(document.createElement("form"), { action: elsewhere, method: "GET" });
    document.body.append(form);
    form.submit();
    try { found.store = localStorage.length >= 0; } catch { found.store = false; }
    try { found.parent = parent !== window && Boolean(parent.document); } catch { found.parent = false; }
    found.window = Boolean(window.open(elsewhere + "window"));
    await new Promise((done) => setTimeout(done, 500));
    return found;
}"""


def test_nothing_but_its_own_program_runs_in_the_page(chromium: Any, served: Browsed) -> None:
    with visited() as other:
        page = chromium.new_page()
        page.goto(served.url)
        page.locator("[role=treeitem]").first.wait_for()
        # Its own answers are what the page is for; windows are opened by what a user clicks.
        found = page.evaluate(TRIES, [other.url, f"{served.url}api/list"])
        refused = {name: value for name, value in found.items() if name.startswith("far")}
        assert set(refused.values()) == {"refused"}, found
        assert not found["inline"] and not found["handler"] and not found["style"], found
        page.context.close()
    assert set(other.asked) <= {"/window", "/favicon.ico"}, other.asked


def test_what_runs_in_the_frame_of_jsroot_reaches_nothing(chromium: Any, served: Browsed) -> None:
    frame_address = served.ask("about")["frame"]
    if not frame_address:
        missing("jsroot in this build")
    token = urllib.parse.urlsplit(served.url).path.strip("/")
    assert token not in frame_address
    status, headers, _ = served.get(served.origin + frame_address)
    assert status == 200 and "sandbox allow-scripts;" in headers["Content-Security-Policy"]
    key = frame_address.rsplit("/", 1)[0]
    for path in ("", "/", "/api/list", "/page.js", "/api/raw?file=0"):
        assert served.get(served.origin + key + path)[0] in (403, 404), path
    assert served.get(f"{served.url}frame.html")[0] == 404
    with visited() as other:
        page = chromium.new_page()
        page.goto(f"{served.url}#room=object&file=0&path=h")
        page.get_by_role("button", name="Draw with jsroot").click()
        page.frame_locator("iframe").locator("svg").first.wait_for()
        frame = frame_of(page, "frame.html")
        told = frame.evaluate(
            "location.href + document.referrer + JSON.stringify([...location.ancestorOrigins])"
        )
        assert token not in told
        found = frame.evaluate(TRIES, [other.url, f"{served.url}api/list"])
        assert {value for name, value in found.items() if " " in name} == {"refused"}, found
        assert not any(found[name] for name in ("inline", "handler", "store", "parent", "window")), found
        # It goes nowhere, and takes the page nowhere.
        frame.evaluate(
            "url => { location = url + 'gone'; try { top.location = url + 'top'; } catch {} }", other.url
        )
        page.wait_for_timeout(500)
        assert page.url.startswith(served.url)
        assert other.asked == []
        page.context.close()


def test_the_page_is_in_no_frame(chromium: Any, served: Browsed) -> None:
    """Even of a page that is let through: the browser itself refuses."""
    page = chromium.new_page()
    page.route(
        "**/host", lambda route: route.fulfill(content_type="text/html", body="<iframe src='./'></iframe>")
    )
    page.goto(f"{served.url}host")
    page.wait_for_timeout(500)
    assert all("Sapwood" not in frame.content() for frame in page.frames[1:])
    page.context.close()


def test_only_what_was_named_is_read(served: Browsed) -> None:
    for file in (
        "2",
        "-1",
        "0/..",
        "1/../secret.root",
        "1//etc/passwd",
        "1/../../etc/passwd",
        "/etc/passwd",
        "1/./x",
    ):
        status, _, body = served.get(f"{served.url}api/list?file={urllib.parse.quote(file, safe='')}")
        assert status in (404, 422), (file, status, body)
        assert b"root:" not in body
    assert served.ask("list", file="1")["names"] == ["inside.root"]
    assert served.ask("list", file="1/inside.root")["names"] == ["h;1"]


def test_requests_that_are_none_are_answered_with_words(served: Browsed) -> None:
    for query in ("file=%zz", "file=0&path=none", "file=0&from=many", "file=" + "x" * 40_000):
        status, _, body = served.get(f"{served.url}api/list?{query}")
        assert status in (404, 422) and b'"error"' in body, query[:40]
    port = urllib.parse.urlsplit(served.url).port
    for raw in (
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: " + b"x" * 100_000,
        b"GET //// HTTP/1.1\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", port), 10) as client:
            client.sendall(raw)
            client.shutdown(socket.SHUT_WR)
            client.recv(100)
    assert served.get(served.url)[0] == 200


def test_a_page_from_elsewhere_can_neither_read_nor_steer(chromium: Any, served: Browsed) -> None:
    program = f"""<!doctype html><p id=done></p><script>
        const found = {{}};
        const url = {served.url!r};
        const ask = async (name, options) => {{
            try {{ const answer = await fetch(url + "api/list", options); found[name] = answer.type + answer.status; }}
            catch {{ found[name] = "refused"; }}
        }};
        const load = (tag, source) => new Promise((done) => {{
            const element = document.createElement(tag);
            element.onload = () => done("loaded");
            element.onerror = () => done("refused");
            element.src = source;
            document.body.append(element);
        }});
        (async () => {{
            await ask("cors", {{}});
            await ask("opaque", {{ mode: "no-cors" }});
            await ask("post", {{ method: "POST", body: "x" }});
            found.script = await load("script", url + "page.js");
            found.image = await load("img", url + "api/raw?file=0");
            const frame = document.createElement("iframe");
            frame.src = url;
            document.body.append(frame);
            await new Promise((done) => setTimeout(done, 500));
            try {{ found.frame = frame.contentDocument ? "same" : "other"; }} catch {{ found.frame = "other"; }}
            const other = window.open(url);
            await new Promise((done) => setTimeout(done, 500));
            try {{ found.window = other && other.document ? "read" : "closed"; }} catch {{ found.window = "refused"; }}
            document.querySelector("#done").textContent = JSON.stringify(found);
        }})();
    </script>"""
    with elsewhere(program) as other:
        page = chromium.new_page()
        answers = []
        page.on("response", lambda response: answers.append((response.url, response.status)))
        page.goto(other)
        until(page, "document.querySelector('#done').textContent !== ''")
        found = json.loads(page.locator("#done").text_content())
        page.context.close()
    # Although this page knows the token, it reads nothing. What was sent was refused, too.
    assert found["cors"] == "refused" and found["post"] == "refused"
    assert found["opaque"] in ("opaque0", "refused")
    assert found["script"] == "refused" and found["image"] == "refused"
    assert found["window"] in ("refused", "closed")
    assert all(status == 403 for url, status in answers if url.startswith(served.url)), answers


def test_the_page_has_no_place_for_programs_in_files(page: Any, tmp_path: Path) -> None:
    """Names and titles in a file are text, whatever they look like."""
    evil = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>"
    place = tmp_path / "evil.root"
    with sapwood.recreate(place) as file:
        file.mktree("tree", {"x": np.arange(3.0)}, title=evil)
    with browsing(place) as served:
        page.goto(served.url)
        page.get_by_role("treeitem").filter(has_text="tree;1").click()
        page.locator("#chosen", has_text="onerror").wait_for()
        page.get_by_role("tab", name="Table").click()
        page.wait_for_timeout(300)
        assert page.title() != "owned"
        assert page.locator("img").count() == 0


def test_a_program_list_does_not_tell_the_way_in(tmp_path: Path) -> None:
    """The browser is started with a file that only its user can read, and that ends with the command."""
    place = tmp_path / "file.root"
    with sapwood.recreate(place) as file:
        file["h"] = np.histogram([1.0], bins=2)
    told, runtime = tmp_path / "told", tmp_path / "runtime"
    runtime.mkdir()
    opener = tmp_path / "xdg-open"
    opener.write_text(f'#!/bin/sh\nprintf "%s" "$*" > {told}.new && mv {told}.new {told}\n')
    opener.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "XDG_RUNTIME_DIR": str(runtime)}
    command = [sys.executable, "-m", "sapwood", "browse", str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            served = Browsed(process.stdout.readline().strip())
            end = time.monotonic() + 20
            while not told.exists() and time.monotonic() < end:
                time.sleep(0.05)
            leads = Path(told.read_text())
            assert leads.parent == runtime and served.origin not in str(leads)
            assert leads.stat().st_mode & 0o777 == 0o600
            assert f"0; url={served.url}" in leads.read_text()
        finally:
            process.terminate()
            process.wait(30)
    assert not leads.exists()


def test_the_file_that_a_browser_is_started_with_leads_to_the_page(
    chromium: Any, served: Browsed, tmp_path: Path
) -> None:
    leads = tmp_path / "leads.html"
    leads.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={served.url}">')
    page = chromium.new_page()
    page.goto(leads.as_uri())
    page.wait_for_url(served.url)
    page.locator("[role=treeitem]").first.wait_for()
    page.context.close()
