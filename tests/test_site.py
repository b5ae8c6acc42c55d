"""The documentation as a site: it builds without a warning, and no page scrolls sideways on a phone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

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


def test_no_page_scrolls_sideways_on_a_phone(site: Path, page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    wide = {}
    for path in sorted(site.rglob("*.html")):
        page.goto(path.as_uri())
        width = page.evaluate("document.scrollingElement.scrollWidth")
        if width > 390:
            wide[str(path.relative_to(site))] = width
    assert not wide
