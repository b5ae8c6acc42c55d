"""Displays in notebooks: what ``_repr_html_`` of files, trees, histograms and runs shows."""

from __future__ import annotations

import xml.etree.ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")
EVIL = "<b>&"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Any:
    place: Path = tmp_path_factory.mktemp("notebook") / "file.root"
    with sapwood.recreate(place) as file:
        file.mktree("tree", {"x": np.arange(1000.0), EVIL: np.arange(1000)})
        file["h"] = np.histogram(np.arange(10.0), bins=5)
        file["h2"] = np.histogram2d(np.arange(10.0), np.arange(10.0), bins=5)
        file.mkdir("folder")
    return sapwood.open(place)


def elements(html: str) -> Any:
    """The display as a tree of elements: what is not closed or not escaped is an error."""
    return xml.etree.ElementTree.fromstring(f"<div>{html}</div>")


def test_keys_and_branches_are_tables(file: Any) -> None:
    cells = [cell.text for cell in elements(file._repr_html_()).iter("td")]
    assert cells[:2] == ["tree;1", "TTree"] and "folder;1" in cells
    assert [cell.text for cell in elements(file["folder"]._repr_html_()).iter("td")] == []
    shown = elements(file["tree"]._repr_html_())
    rows = [[cell.text for cell in row.iter("td")] for row in shown.iter("tr")][1:]
    assert [row[:2] for row in rows] == [["x", "double"], [EVIL, "int64_t"]]
    assert rows[0][2].startswith("8") and rows[0][2].endswith("kB")


def test_histograms_are_pictures(file: Any) -> None:
    for name in ("h", "h2"):
        (svg,) = elements(file[name]._repr_html_())
        assert svg.tag.endswith("svg")


def test_runs_are_figures_and_pictures(file: Any) -> None:
    tree = file["tree"]
    with tree.perf as run:
        tree.arrays(["x"])
    shown = elements(run._repr_html_())
    assert "ReadCalls" in [cell.text for cell in shown.iter("td")]
    assert any(element.tag.endswith("svg") for element in shown)
    both = elements(run.beside(run)._repr_html_())
    assert "ReadCalls" in [cell.text for cell in both.iter("td")]


def test_many_rows_are_counted(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "many.root") as file:
        file.mktree("many", {f"b{number}": np.arange(2) for number in range(70)})
    shown = sapwood.open(tmp_path / "many.root")["many"]._repr_html_()
    assert "and 20 more" in shown and len(list(elements(shown).iter("tr"))) == 51


def test_long_work_shows_a_bar_and_takes_it_away(file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from sapwood._read import progress

    shown: list[str] = []

    def display(text: str, before: Any) -> str:
        shown.append(text)
        return "the display"

    monkeypatch.setattr(progress, "notebook", lambda: display)
    tree = file["tree"]
    tree.arrays(["x"])
    assert shown == [], "short work shows a bar"
    monkeypatch.setattr(progress, "LONG_BYTES", 1)
    works = (
        lambda: tree.arrays(["x"]),
        lambda: tree.draw("x", library="np"),
        lambda: tree.draw_many(["x", "x*x"]),
    )
    for work in works:
        shown.clear()
        work()
        bars = [elements(text).find("progress") for text in shown[:-1]]
        assert len(bars) >= 2 and shown[-1] == ""
        assert float(bars[0].get("value")) == 0 and float(bars[-1].get("value")) == float(bars[-1].get("max"))
        assert bars[-1].get("aria-label").startswith("tree: 100%")
    shown.clear()
    tree.arrays(["x"], progress=False)
    assert shown == []


def test_a_kernel_of_ipython_is_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    import types

    from sapwood._read import progress

    ipython = pytest.importorskip("IPython")
    monkeypatch.setattr(ipython, "get_ipython", lambda: types.SimpleNamespace(kernel=None))
    assert progress.notebook() is None
    monkeypatch.setattr(ipython, "get_ipython", lambda: types.SimpleNamespace(kernel=object()))
    shown: list[Any] = []

    def keep(html: Any, display_id: Any) -> None:
        shown.append((html.data, display_id))

    monkeypatch.setattr("IPython.display.display", keep)
    progress.notebook()("<progress></progress>", None)
    assert shown == [("<progress></progress>", True)]
