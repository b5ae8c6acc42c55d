#!/usr/bin/env python3
"""How fast `sapwood browse` is in headless Chromium: python -m bench.look.look

Prints a table; with --write it becomes docs/benchmarks/look.md. Files are made in a temporary folder.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import sapwood

HERE = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(HERE / "tests"))
from support.browser import CHROMIUM, browsing  # noqa: E402
from support.ranged import serving  # noqa: E402

ENTRIES = 4_000_000
BRANCHES = 10_000
SPARSE_BYTES = 20_000_000_000
DELAY = 0.1
TIMES = 5


def make(folder: Path) -> None:
    random = np.random.default_rng(3)
    with sapwood.recreate(folder / "leaf.root") as file:
        file.mktree("tree", {"x": random.normal(size=ENTRIES), "y": random.exponential(size=ENTRIES)})
    with sapwood.recreate(folder / "many.root") as file:
        file.mktree("many", {f"branch_{number:05}": np.arange(100.0) for number in range(BRANCHES)})
    leaves, step = 20, 1_000_000
    with sapwood.recreate(folder / "sparse.root", compression=None) as file:
        tree = file.mktree("tree", {f"x{number}": "f8" for number in range(leaves)})
        part = {f"x{number}": np.zeros(step) for number in range(leaves)}
        done = 0
        for _ in range(SPARSE_BYTES // (leaves * step * 8)):
            tree.extend(part)
            # Zeros take no space.
            there = (folder / "sparse.root").stat().st_size
            dig = ["fallocate", "--dig-holes", "--offset", str(done), "--length", str(max(there - done, 1))]
            subprocess.run([*dig, str(folder / "sparse.root")], check=True)
            done = there


@contextmanager
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, CHROMIUM)))
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        yield browser
        browser.close()


def memory(url: str) -> int:
    """The most bytes that the server had so far."""
    port = url.split(":")[2].split("/")[0]
    listed = subprocess.run(["ss", "-ltnpH", f"sport = :{port}"], capture_output=True, text=True).stdout
    process = listed.split("pid=")[1].split(",")[0]
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def median(measure: Callable[[], float]) -> float:
    return statistics.median(measure() for _ in range(TIMES))


#: Seconds from something that is done in the page until something is there, as the page sees both.
UNTIL = """([act, there]) => new Promise((done) => {
    const begun = performance.now();
    const seen = () => document.querySelector(there);
    const look = () => seen() ? requestAnimationFrame(() => done((performance.now() - begun) / 1000))
                              : requestAnimationFrame(look);
    if (act === "draw") document.querySelector("#room-draw form .main").click();
    else document.querySelector("#tree").dispatchEvent(new KeyboardEvent("keydown", { key: act, bubbles: true }));
    look();
})"""


def first_paint(browser: Any, url: str) -> float:
    page = browser.new_page()
    page.goto(url)
    page.locator("[role=treeitem]").first.wait_for()
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000")
    page.context.close()
    return float(paint)


def tree_shown(browser: Any, url: str) -> float:
    page = browser.new_page()
    page.goto(url, wait_until="commit")
    page.locator("[role=treeitem]").nth(1).wait_for()
    shown = page.evaluate("performance.now() / 1000")
    page.context.close()
    return float(shown)


def histogram(browser: Any, url: str) -> float:
    """A histogram that is drawn again: its file is warm."""
    page = browser.new_page()
    page.goto(f"{url}#file=0&path=tree%3B1&x=x")
    page.locator(".plot svg").wait_for()
    page.evaluate("document.querySelector('.plot').replaceChildren()")
    taken = page.evaluate(UNTIL, ["draw", ".plot svg"])
    page.context.close()
    return float(taken)


def unfold(browser: Any, url: str) -> float:
    page = browser.new_page()
    page.goto(url)
    page.locator("[role=treeitem]").nth(1).click()
    taken = page.evaluate(UNTIL, ["ArrowRight", "[aria-setsize='10000']"])
    page.context.close()
    return float(taken)


def far(browser: Any, folder: Path) -> tuple[float, int]:
    """The first histogram over a link with a delay, from an empty page; and how many requests that took."""
    with serving(folder) as server, browsing(f"{server.url}/leaf.root") as served:
        server.delay = DELAY
        page = browser.new_page()
        begun = time.monotonic()
        page.goto(f"{served.url}#file=0&path=tree%3B1&x=x")
        page.locator(".plot svg").wait_for()
        taken = time.monotonic() - begun
        page.context.close()
        return taken, len(server.asked)


def sparse(browser: Any, folder: Path) -> tuple[int, int]:
    """Memory of the server after a walk through a large file."""
    with browsing(folder / "sparse.root") as served:
        page = browser.new_page()
        page.goto(f"{served.url}#file=0&path=tree%3B1&x=x3&y=x4")
        page.locator(".plot svg").wait_for(timeout=300_000)
        for room in ("table", "layout"):
            page.goto(f"{served.url}#room={room}&file=0&path=tree%3B1")
            page.locator("#room-table td" if room == "table" else ".layout canvas").first.wait_for(
                timeout=60_000
            )
        page.context.close()
        return memory(served.url), (folder / "sparse.root").stat().st_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--folder", type=Path, help="where the files are, or are made")
    arguments = parser.parse_args()
    rows: list[tuple[str, str, str]] = []
    with tempfile.TemporaryDirectory() as temporary, chromium() as browser:
        folder = arguments.folder or Path(temporary)
        if not (folder / "sparse.root").exists():
            folder.mkdir(exist_ok=True)
            make(folder)
        with browsing(folder / "leaf.root", folder / "many.root") as served:
            rows.append(("first paint", f"{median(lambda: first_paint(browser, served.url)):.3f} s", "0.5 s"))
            histogram(browser, served.url)
            taken = median(lambda: histogram(browser, served.url))
            rows.append(("histogram of a leaf of 4 M entries, warm", f"{taken:.3f} s", "0.3 s"))
        with browsing(folder / "many.root") as served:
            rows.append(("the tree of a file", f"{tree_shown(browser, served.url):.3f} s", ""))
            rows.append(("10,000 branches unfold, first", f"{unfold(browser, served.url):.3f} s", "0.2 s"))
            rows.append(
                (
                    "10,000 branches unfold, again",
                    f"{median(lambda: unfold(browser, served.url)):.3f} s",
                    "0.2 s",
                )
            )
        taken, requests = far(browser, folder)
        floor = requests * DELAY
        rows.append(
            (
                f"first histogram over {DELAY * 1000:.0f} ms: {requests} requests",
                f"{taken:.3f} s",
                f"{floor + 0.5:.1f} s",
            )
        )
        most, size = sparse(browser, folder)
        rows.append((f"memory for a file of {size / 1e9:.1f} GB", f"{most / 1e6:.0f} MB", "200 MB"))
    text = "| what | measured | aim |\n|---|---:|---:|\n" + "".join(
        f"| {a} | {b} | {c} |\n" for a, b, c in rows
    )
    print(text)
    if arguments.write:
        head = "# The browser\n\n`python -m bench.look.look`, headless Chromium on the same machine.\n\n"
        (HERE / "docs/benchmarks/look.md").write_text(head + text)


if __name__ == "__main__":
    main()
