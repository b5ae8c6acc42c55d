"""The page of the papers: it draws from the tables as they are, and leaves nothing unexplained."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

from bench.papers import claims, page, tables  # noqa: E402


def test_the_page_is_that_of_the_measurements() -> None:
    assert page.PAGE.read_text() == page.page(), "python -m bench.papers writes it"


def test_numbers_are_found_by_their_headings() -> None:
    assert tables.columns(["", "calls: ROOT", "rows", "MB"]) == ["", "calls: ROOT", "calls: rows", "MB"]
    assert tables.number("2,907 (6,129)") == 2907 and tables.number("cannot") is None
    missing = tables.Cell("benchmarks/treecache.md", "Everything", ("no such file", "0"), "calls: rows")
    with pytest.raises(LookupError, match="no row"):
        missing.value()
    with pytest.raises(LookupError, match="no column"):
        tables.Cell("benchmarks/treecache.md", "Everything", (), "none").value()


def test_sections_say_at_which_scale_they_were_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "quarter.md").write_text("`python -m bench.read.treecache --scale 0.25` on a machine\n")
    (tmp_path / "none.md").write_text("`python -m bench.remote.remote` on a machine; `--scale 3`\n")
    monkeypatch.setattr(tables, "DOCS", tmp_path)
    assert tables.scale("quarter.md") == 0.25 and tables.scale("none.md") is None
    monkeypatch.setattr(page, "scale", lambda name: {"benchmarks/treecache.md": 0.25}.get(name, 1.0))
    assert page.measured_at("The tree cache") == " Sizes of files: 0.25 of the paper's (`--scale`)."
    assert page.measured_at("Random access") == ""


def test_a_file_that_is_as_sick_as_the_papers_needs_no_excuse(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(calls: float) -> str:
        monkeypatch.setattr(claims.Cell, "value", lambda cell: calls if "calls" in cell.column else 1_265.92)
        return claims.less_sick()

    assert "100 reads for each MB, theirs 1,050" in read(127_000)
    assert read(1_328_586) == ""


def test_what_is_worse_says_why() -> None:
    def claim(root: float, ours: float, why: str = "") -> claims.Claim:
        change = claims.Change
        return claims.Claim("", "a row", "s", change(10.0, 5.0), change(10.0, root), change(10.0, ours), why)

    def gains(paper: tuple[float, float], root: tuple[float, float], ours: tuple[float | None, float]) -> str:
        change = claims.Change
        return page.judge(claims.Claim("", "a row", "s", change(*paper), change(*root), change(*ours)))

    # From a lower start less can be gained; from the same start that has to be explained.
    assert gains((10, 9), (10, 5), (4, 3)) == (
        "1.67 times better than ROOT, gains 0.67 of ROOT's, from a start 2.5 times lower, gains as much as the paper"
    )
    with pytest.raises(ValueError, match="gains 0.75 of ROOT's.*does not say why"):
        gains((10, 9), (10, 2.5), (10, 3.33))
    # A gain of the paper's that was not measured is no gain.
    with pytest.raises(ValueError, match="the paper's gain is not measured"):
        gains((10, 5), (10, 5), (None, 1))
    assert page.judge(claim(5, 5)) == "as ROOT, gains as much as the paper"
    assert page.judge(claim(5, 2.5)) == "2 times better than ROOT, gains as much as the paper"
    assert page.judge(claim(5, 8, "of a reason")).endswith("gains 0.62 of the paper's; of a reason")
    assert page.judge(claim(5, 20, "of a reason")).endswith("loses a factor of 2 instead; of a reason")
    with pytest.raises(ValueError, match="does not say why"):
        page.judge(claim(5, 8))
    with pytest.raises(ValueError, match="says why it is not"):
        page.judge(claim(5, 5, "of a reason"))
