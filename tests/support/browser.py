"""`sapwood browse` for the tests, and a headless Chromium that looks at its page."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import pytest

#: Programs that are Chromium, under the names that systems give it.
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@dataclass
class Browsed:
    """A page that is served."""

    url: str

    @property
    def origin(self) -> str:
        parts = urllib.parse.urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    def ask(self, name: str, headers: dict[str, str] | None = None, **query: Any) -> Any:
        """The result of a route; an error is an exception with its words."""
        status, _, body = self.get(f"{self.url}api/{name}?{urllib.parse.urlencode(query)}", headers)
        last = json.loads(body.splitlines()[-1])
        if "error" in last:
            raise AssertionError(f"{status} {last['error']['kind']}: {last['error']['words']}")
        return last["result"]

    def get(
        self, url: str, headers: dict[str, str] | None = None, method: str = "GET"
    ) -> tuple[int, Any, bytes]:
        """Status, headers and body, whatever the status."""
        request = urllib.request.Request(url, headers=headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, response.headers, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()


@contextmanager
def browsing(*targets: object, more: tuple[str, ...] = ()) -> Iterator[Browsed]:
    """The command, until the end of the block."""
    command = [sys.executable, "-m", "sapwood", "browse", "--no-open", *more, *map(str, targets)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline().strip()
            assert line.startswith("http://127.0.0.1:"), f"no address: {line!r}"
            yield Browsed(line)
        finally:
            process.terminate()
            process.wait(30)


def until(page: Any, condition: str, argument: Any = None, seconds: float = 15) -> None:
    """Waits for an expression of JavaScript: the policy of the page lets nothing in it wait for one."""
    end = time.monotonic() + seconds
    while not page.evaluate(condition, argument):
        assert time.monotonic() < end, f"still not: {condition}"
        page.wait_for_timeout(30)


def frame_of(page: Any, document: str, seconds: float = 15) -> Any:
    """The frame with a document, once it is loaded: an element of the page is there before its content."""
    end = time.monotonic() + seconds
    while not (found := [frame for frame in page.frames if frame.url.endswith(document)]):
        assert time.monotonic() < end, f"no frame has {document}: {[frame.url for frame in page.frames]}"
        page.wait_for_timeout(30)
    found[0].wait_for_load_state()
    return found[0]


def missing(what: str) -> NoReturn:
    """Skips; fails where everything has to be there."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} is missing")
    pytest.skip(f"{what} is not installed")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A headless Chromium of this machine; nothing is downloaded."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright")
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        missing("chromium")
    # Containers have little shared memory. Its sandbox does not run for root.
    arguments = ["--disable-dev-shm-usage", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    """An empty page. Errors of its program, and what its policy refuses, fail the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 860}, accept_downloads=True)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on(
        "console", lambda said: errors.append(said.text) if "Content Security Policy" in said.text else None
    )
    page.set_default_timeout(15_000)
    yield page
    context.close()
    assert not errors, errors
