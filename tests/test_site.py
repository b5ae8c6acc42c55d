"""The documentation as a site: it builds without a warning, and no page scrolls sideways on a phone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("material", reason="mkdocs-material is not installed")
REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_each_page_is_on_the_site(site: Path) -> None:
    for page in (REPOSITORY / "docs").rglob("*.md"):
        assert (site / page.relative_to(REPOSITORY / "docs")).with_suffix(".html").exists(), page


def test_no_page_scrolls_sideways_on_a_phone(site: Path) -> None:
    api = pytest.importorskip("playwright.sync_api")
    from support.browser import CHROMIUM

    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        pytest.skip("no Chromium")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        page = browser.new_page(viewport={"width": 390, "height": 844})
        wide = {}
        for path in sorted(site.rglob("*.html")):
            page.goto(path.as_uri())
            width = page.evaluate("document.scrollingElement.scrollWidth")
            if width > 390:
                wide[str(path.relative_to(site))] = width
        browser.close()
    assert not wide
