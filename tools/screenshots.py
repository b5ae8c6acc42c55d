"""Takes the pictures of `sapwood browse` in docs/images, in headless Chromium: python tools/screenshots.py

The files that are browsed are made for it: a tree of muons, and the tree with five branches of a talk of
2010 about basket sizes, as it was written and as `sapwood rewrite` leaves it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import sapwood

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
sys.path.insert(0, str(ROOT / "tests"))
from support.browser import CHROMIUM, browsing  # noqa: E402

#: The most bytes of a picture.
MOST = 200_000
#: Bytes of an entry of each branch, and how much they vary.
SIZES = ((400, 0), (2_500, 50), (5_000, 500), (7_500, 2_500), (10_000, 5_000))


def make(folder: Path) -> None:
    random = np.random.default_rng(1)
    entries = 40_000
    counts = random.poisson(1.6, entries)
    total = int(counts.sum())
    peak = random.normal(91.2, 2.5, entries // 4)
    mass = random.permutation(np.concatenate([peak, 40 + random.exponential(30, entries - len(peak))]))
    data = {
        "run": np.full(entries, 297050, "int32"),
        "mass": mass.astype("float32"),
        "met": random.exponential(25, entries).astype("float32"),
        "Muon_pt": ak.unflatten(random.exponential(20, total).astype("float32") + 3, counts),
        "Muon_eta": ak.unflatten(random.normal(0, 1.2, total).astype("float32"), counts),
        "Muon_phi": ak.unflatten(random.uniform(-np.pi, np.pi, total).astype("float32"), counts),
    }
    with sapwood.recreate(folder / "events.root") as file:
        file.mktree("analysis/Events", data)
        file["analysis/cutflow"] = np.histogram(random.integers(0, 6, 500), bins=6)
        file["notes"] = "muons of a made-up run"
    with sapwood.recreate(folder / "before.root", compression=None) as file:
        entries = 200
        columns = {}
        for number, (size, spread) in enumerate(SIZES):
            lengths = np.clip(random.normal(size, spread or 1e-9, entries), 1, None).astype(int)
            content = random.integers(0, 256, int(lengths.sum())).astype("uint8")
            columns[f"branch{number}"] = ak.unflatten(content, lengths)
        file.mktree("T", columns, basket_bytes=8_000)
    command = [sys.executable, "-m", "sapwood", "rewrite", "before.root", "after.root"]
    command += ["--cluster-bytes", "1000000"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def take(page: Any, name: str, prepare: Callable[[], None]) -> None:
    prepare()
    page.wait_for_timeout(700)
    place = IMAGES / f"browse-{name}.png"
    page.screenshot(path=place)
    assert place.stat().st_size < MOST, f"{place} has {place.stat().st_size} bytes"
    print(place.relative_to(ROOT), place.stat().st_size)


def main() -> None:
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, CHROMIUM)))
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = Path(temporary)
        make(folder)
        os.chdir(folder)
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        with browsing("events.root", "before.root", "after.root") as served:

            def fresh(scheme: str = "light") -> Any:
                page = browser.new_page(viewport={"width": 1200, "height": 760}, color_scheme=scheme)
                page.set_default_timeout(20_000)
                return page

            place = "file=0&path=analysis%3B1%2FEvents%3B1"
            page = fresh()
            one = f"{served.url}#{place}&x=mass&cut=met%20%3C%2030"
            take(page, "histogram", lambda: shown(page, one, ".plot svg"))
            page = fresh("dark")
            both = f"{served.url}#{place}&x=Muon_eta&y=Muon_pt&bins=60%2C-4%2C4%2C60%2C0%2C100&log=z"
            take(page, "two-axes", lambda: shown(page, both, ".plot svg"))
            page = fresh()
            columns = "mass%0Amet%0AMuon_pt%0Asqrt(met)"
            table = f"{served.url}#room=table&{place}&columns={columns}&cut=mass%20%3E%2080"
            take(page, "table", lambda: shown(page, table, "#room-table td"))
            page = fresh()

            def two() -> None:
                shown(page, f"{served.url}#room=layout&file=1&path=T%3B1", ".layout canvas")
                page.get_by_role("button", name="Keep beside").click()
                page.evaluate("location.hash = 'room=layout&file=2&path=T%3B1'")
                page.locator(".layout canvas").nth(1).wait_for()

            take(page, "layout", two)
        browser.close()


def shown(page: Any, address: str, what: str) -> None:
    page.goto(address)
    page.locator(what).first.wait_for()


if __name__ == "__main__":
    main()
