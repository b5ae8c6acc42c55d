"""The page for users of uproot says what is so."""

from __future__ import annotations

from pathlib import Path

import pytest

uproot = pytest.importorskip("uproot")
REPOSITORY = Path(__file__).resolve().parent.parent


def test_the_page_for_users_of_uproot_is_true() -> None:
    from tools.coming_from_uproot import RESULTS, page

    stored = (REPOSITORY / "docs/coming-from-uproot.md").read_text()
    if f"uproot {uproot.__version__}." not in stored:
        pytest.skip(f"the page was made beside another uproot than {uproot.__version__}")
    text, unexplained = page()
    assert unexplained == []
    assert f"{len(RESULTS)} of {len(RESULTS)} calls on a small file give equal results." in text
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [line for line in stored.splitlines() if line.startswith("#")]
