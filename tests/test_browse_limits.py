"""What `sapwood browse` does with much at once: tabs, files, letters that are typed, values of a table, long names."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

from support.browser import Browsed, browsing, frame_of, missing, until
from support.rootrun import root

sapwood = pytest.importorskip("sapwood")


def small(place: Path, **more: Any) -> Path:
    with sapwood.recreate(place) as file:
        file["h"] = np.histogram([1.0, 2.0], bins=2)
        file["tree"] = {"x": np.arange(10.0), **more}
    return place


def row(page: Any, name: str) -> Any:
    return page.locator("[role=treeitem]", has_text=name).first


def wait_until(page: Any, is_so: Callable[[], bool]) -> None:
    """Waits for what the page makes true here, while its events are handled."""
    end = time.monotonic() + 15
    while not is_so():
        assert time.monotonic() < end
        page.wait_for_timeout(20)


def test_ten_tabs_are_answered(page: Any, tmp_path: Path) -> None:
    """A web browser has six connections to a server: a tab must not keep one."""
    with browsing(small(tmp_path / "file.root")) as served:
        tabs = [page, *(page.context.new_page() for _ in range(9))]
        for tab in tabs:
            tab.goto(f"{served.url}#file=0&path=tree&x=x")
        for tab in tabs:
            tab.locator("figure.plot svg .figures").wait_for()
            until(tab, "document.querySelector('#counters').textContent.includes('requests')")


def test_counters_are_asked_for_while_the_page_is_seen(page: Any, tmp_path: Path) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/api/live" in request.url else None)
    with browsing(small(tmp_path / "file.root")) as served:
        page.goto(served.url)
        row(page, "tree;1").wait_for()
        until(page, "document.querySelector('#counters').textContent.includes('requests')")
        wait_until(page, lambda: len(asked) >= 3)
        # As in a tab that lies behind another one.
        page.evaluate("""() => {
            Object.defineProperty(document, "hidden", { configurable: true, get: () => window.isBehind });
            window.isBehind = true;
        }""")
        page.wait_for_timeout(700)
        before = len(asked)
        page.wait_for_timeout(1_500)
        assert len(asked) == before
        page.evaluate("window.isBehind = false; document.dispatchEvent(new Event('visibilitychange'))")
        wait_until(page, lambda: len(asked) > before)


def test_more_files_than_are_kept_open_have_not_changed(page: Any, tmp_path: Path) -> None:
    places = [small(tmp_path / f"file{number:02}.root") for number in range(18)]
    with browsing(*places) as served:
        page.goto(served.url)
        for number in [*range(18), 0, 1]:
            page.goto(f"{served.url}#file={number}&path=tree&x=x")
            until(
                page,
                "number => document.querySelector('#place').textContent.includes(`file${number}`)",
                f"{number:02}",
            )
            page.locator("figure.plot svg .figures").wait_for()
            until(page, "document.querySelectorAll('.running:not([hidden])').length === 0")
        page.wait_for_timeout(700)
        assert page.locator("#changed").is_hidden()
        before = served.ask("list", file="0")["state"]
        for number in range(1, 18):
            served.ask("list", file=str(number))
        assert served.ask("list", file="0")["state"] == before
        small(places[0], y=np.arange(10.0))
        assert served.ask("list", file="0")["state"] != before


def test_two_that_open_a_file_at_once_see_one_state(tmp_path: Path) -> None:
    with browsing(small(tmp_path / "file.root")) as served, ThreadPoolExecutor(8) as pool:
        states = {answer["state"] for answer in pool.map(lambda _: served.ask("list", file="0"), range(8))}
        assert len(states) == 1


def test_letters_that_are_typed_are_one_question(page: Any, tmp_path: Path) -> None:
    names = {f"branch_{number:03}": np.arange(10.0) for number in range(50)}
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/api/search" in request.url else None)
    with browsing(small(tmp_path / "file.root", **names)) as served:
        page.goto(f"{served.url}#file=0&path=tree")
        row(page, "tree;1").wait_for()
        page.locator("#search").press_sequentially("branch_04", delay=20)
        until(page, "document.querySelectorAll('#found li').length === 10")
        assert len(asked) <= 2, asked
        asked.clear()
        page.locator("#draw-x").press_sequentially("branch_03", delay=20)
        page.locator("#room-draw [role=option]").first.wait_for()
        assert len(asked) <= 2, asked


def test_an_answer_that_comes_late_is_of_no_use(page: Any, tmp_path: Path) -> None:
    names = {"first": np.arange(10.0), "second": np.arange(10.0)}
    with browsing(small(tmp_path / "file.root", **names)) as served:
        held: list[Any] = []

        def hold(route: Any) -> None:
            if "text=first" in route.request.url and not held:
                held.append((route, route.fetch()))
            else:
                route.continue_()

        page.route("**/api/search?*", hold)
        page.goto(f"{served.url}#file=0&path=tree")
        row(page, "tree;1").wait_for()
        page.locator("#search").fill("first")
        wait_until(page, lambda: bool(held))
        page.locator("#search").fill("second")
        until(page, "document.querySelector('#found li')?.textContent.includes('second')")
        route, answer = held[0]
        route.fulfill(response=answer)
        page.wait_for_timeout(300)
        assert "second" in page.locator("#found li").first.text_content()
        page.keyboard.press("Escape")
        page.wait_for_timeout(300)
        assert page.locator("#found").is_hidden()


def test_a_table_is_bounded_in_sum(served_deep: Browsed) -> None:
    columns = "\n".join(["deep"] * 20)
    answer = served_deep.ask("table", file="0", path="tree", columns=columns, count=1_000)
    # Each cell has 40 x 40 x 40 values of its own.
    cell = answer["columns"][0][0]
    assert len(json.dumps(cell)) < 20_000
    assert {"count": 40} in cell or cell[-1] == {"count": 40}
    assert 0 < len(answer["entries"]) == answer["next"] < 100
    assert all(len(column) == len(answer["entries"]) for column in answer["columns"])
    after = served_deep.ask(
        "table", file="0", path="tree", columns=columns, count=1_000, **{"from": answer["next"]}
    )
    assert after["entries"][0] == answer["next"]


@pytest.fixture(scope="module")
def served_deep(tmp_path_factory: pytest.TempPathFactory) -> Any:
    place = tmp_path_factory.mktemp("deep") / "deep.root"
    one = ak.Array(np.zeros((40, 40, 40), "float32")).to_list()
    with sapwood.recreate(place) as file:
        file["tree"] = {"deep": ak.Array([one] * 100), "x": np.arange(100.0)}
    with browsing(place) as served:
        yield served


def test_bins_around_the_values_count_in_the_sum(served_deep: Browsed) -> None:
    for bins in ("4000000,0,1", "4000000,0,1,,,", "nan,0,1"):
        with pytest.raises(AssertionError, match="bins"):
            served_deep.ask("draw", file="0", path="tree", x="x", y="x", bins=bins)
    assert served_deep.ask("draw", file="0", path="tree", x="x", y="x", bins="100,0,1")["object"]["axes"]


def test_what_jsroot_asks_for_is_bounded_in_sum(page: Any, tmp_path: Path) -> None:
    place = tmp_path / "file.root"
    with sapwood.recreate(place) as file:
        file["words"] = "hello"
    with browsing(place) as served:
        if not served.ask("about")["frame"]:
            missing("jsroot in this build")
        size = place.stat().st_size
        page.goto(f"{served.url}#room=object&file=0&path=words")
        page.locator("iframe").wait_for()
        frame = frame_of(page, "frame.html")
        ask = """ranges => new Promise((done) => {
            addEventListener("message", (event) => event.data.id === -1 && done(event.data.words ?? event.data.found.length));
            parent.postMessage({ kind: "bytes", id: -1, ranges }, "*");
        })"""
        assert frame.evaluate(ask, [[0, 4], [0, size]]) == 2
        assert "not in the file" in frame.evaluate(ask, [[0, size + 1]])
        assert "not in the file" in frame.evaluate(ask, [[-4, 8]])
        assert "at once" in frame.evaluate(ask, [[0, size]] * 10_001)


def test_long_paths_lose_their_middle(page: Any, tmp_path: Path) -> None:
    folder = tmp_path / ("a-long-name-of-a-folder-" * 4)
    folder.mkdir()
    place = small(folder / "the-end-of-the-name.root")
    with browsing(place) as served:
        page.goto(f"{served.url}#file=0&path=tree")
        shown = page.locator("#place")
        until(page, "document.querySelector('#place').textContent.includes('tree')")
        words = shown.text_content()
        assert (
            words.startswith(str(place)[:10])
            and "…" in words
            and words.endswith("the-end-of-the-name.root › tree")
        )
        assert shown.get_attribute("title") == f"{place} › tree"
        assert shown.evaluate("line => line.scrollWidth <= line.clientWidth")
        name = page.locator(".row.file .name")
        assert name.text_content().endswith("the-end-of-the-name.root") and "…" in name.text_content()
        assert str(place) in page.locator(".row.file").get_attribute("title")


NEVER_CLOSED = """
import os
from array import array
file = ROOT.TFile(sys.argv[1], "RECREATE")
tree = ROOT.TTree("tree", "")
x = array("i", [0])
tree.Branch("x", x, "x/I")
for i in range(1000):
    x[0] = i
    tree.Fill()
if sys.argv[2] == "saved":
    tree.AutoSave("SaveSelf")
else:
    tree.AutoSave()
    file.Flush()
os._exit(0)
"""


@pytest.mark.parametrize("how", ["saved", "walked"])
def test_a_file_that_was_never_closed_says_so(page: Any, tmp_path: Path, how: str) -> None:
    place = tmp_path / "dead.root"
    root(NEVER_CLOSED, place, how)
    small(tmp_path / "whole.root")
    with browsing(place, tmp_path / "whole.root") as served:
        page.goto(served.url)
        for name in ("dead", "whole"):
            page.locator(".row.file", has_text=name).dblclick()
            page.locator(f".row.file:has-text('{name}')[aria-expanded=true]").wait_for()
        assert "never closed" in page.locator(".row.file", has_text="dead").text_content()
        assert "never closed" not in page.locator(".row.file", has_text="whole").text_content()
        assert served.ask("list", file="0", path="tree")["names"] == ["x"]
