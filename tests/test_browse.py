"""`sapwood browse` in a real browser: a headless Chromium looks at the page and works with it."""

from __future__ import annotations

import io
import json
import shutil
import time
import xml.etree.ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.browser import Browsed, browsing, missing, until
from support.ranged import serving
from support.rootrun import root

sapwood = pytest.importorskip("sapwood")

ENTRIES = 2_000
MANY = 10_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files as they are browsed: a tree with lists and objects beside it, many branches, a file that is none."""
    place = tmp_path_factory.mktemp("browse")
    random = np.random.default_rng(7)
    counts = random.integers(0, 5, ENTRIES)
    import awkward as ak

    lists = ak.unflatten(random.exponential(20, int(counts.sum())).astype("float32"), counts)
    with sapwood.recreate(place / "events.root") as file:
        data = {
            "x": random.normal(size=ENTRIES),
            "y": random.uniform(size=ENTRIES),
            "i": np.arange(ENTRIES),
            "pt": lists,
        }
        file.mktree("folder/tree", data)
        file["h"] = np.histogram(data["x"], bins=20)
    with sapwood.recreate(place / "many.root") as file:
        data = {f"b{number:05}": np.arange(3, dtype="float32") + number for number in range(MANY)}
        file.mktree("many", data)
    (place / "broken.root").write_bytes(b"root" + bytes(200))
    return place


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Browsed]:
    with browsing(folder / "events.root", folder / "many.root", folder / "broken.root") as served:
        yield served


@pytest.fixture(scope="module")
def arrays(folder: Path) -> Any:
    return sapwood.open(folder / "events.root")["folder/tree"].arrays(library="np")


def row(page: Any, name: str) -> Any:
    return page.locator(f'[role=treeitem]:has(.name:text-is("{name}"))')


def file_row(page: Any, name: str) -> Any:
    return page.locator(".row.file", has_text=f"{name}.root")


def to_tree(page: Any, served: Browsed) -> None:
    """Unfolds the file and its directory down to the branches."""
    page.goto(served.url)
    file_row(page, "events").dblclick()
    row(page, "folder;1").dblclick()
    row(page, "tree;1").dblclick()
    row(page, "x").wait_for()


def figures(page: Any) -> dict[str, float]:
    """The figures in the picture that is shown."""
    page.locator("figure.plot svg .figures text").first.wait_for()
    words = page.locator("figure.plot svg .figures text").all_text_contents()
    return {name: float(value) for name, value in zip(words[::2], words[1::2], strict=True)}


def drawn(page: Any, **fields: str) -> dict[str, float]:
    """Fills the fields, draws, and gives the figures."""
    before = page.locator("#said").text_content()
    for name, words in fields.items():
        page.locator(f"#room-draw input[name={name}]").fill(words)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Draw", exact=True).click()
    until(page, "before => document.querySelector('#said').textContent !== before", before)
    return figures(page)


def test_a_double_click_draws_a_leaf_with_its_figures(page: Any, served: Browsed, arrays: Any) -> None:
    to_tree(page, served)
    row(page, "x").dblclick()
    found = figures(page)
    x = arrays["x"]
    assert found["Entries"] == ENTRIES
    assert found["Mean"] == pytest.approx(x.mean(), rel=1e-4)
    assert found["Std dev"] == pytest.approx(x.std(), rel=1e-4)
    assert (found["Underflow"], found["Overflow"]) == (0, 0)
    # Lists count each of their items.
    row(page, "pt").dblclick()
    until(page, "document.querySelector('.plot svg').getAttribute('aria-label').includes('of pt')")
    assert figures(page)["Entries"] == sum(map(len, arrays["pt"]))


def test_cuts_weights_and_axes(page: Any, served: Browsed, arrays: Any) -> None:
    to_tree(page, served)
    row(page, "x").dblclick()
    figures(page)
    x, y = arrays["x"], arrays["y"]
    assert drawn(page, cut="y > 0.5")["Entries"] == (y > 0.5).sum()
    found = drawn(page, weight="2")
    assert found["Integral"] == pytest.approx(2 * (y > 0.5).sum())
    found = drawn(page, cut="", weight="", bins="10,0,1")
    assert (found["Underflow"], found["Overflow"]) == ((x < 0).sum(), (x >= 1).sum())
    found = drawn(page, bins="", y="y")
    assert found["Mean y"] == pytest.approx(y.mean(), rel=1e-4)
    found = drawn(page, bins="10,0,1,10,0.25,0.5")
    assert (found["Underflow x"], found["Overflow x"]) == ((x < 0).sum(), (x >= 1).sum())
    assert (found["Underflow y"], found["Overflow y"]) == ((y < 0.25).sum(), (y >= 0.5).sum())
    found = drawn(page, bins="", z="i")
    assert found["Mean z"] == pytest.approx((ENTRIES - 1) / 2, rel=1e-4)
    page.get_by_label("Three axes").wait_for()
    # What cannot be drawn is said, and the page lives.
    page.locator("#draw-x").fill("x +")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Draw", exact=True).click()
    page.get_by_role("alert").filter(has_text="expression").wait_for()
    assert drawn(page, x="x", y="", z="")["Entries"] == ENTRIES


def test_a_range_is_dragged_and_axes_are_logarithmic(page: Any, served: Browsed) -> None:
    to_tree(page, served)
    row(page, "x").dblclick()
    figures(page)
    box = page.locator(".plot svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    until(page, "document.querySelector('#room-draw input[name=bins]').value !== ''")
    count, low, high = map(float, page.locator("#room-draw input[name=bins]").input_value().split(","))
    assert count == 100 and low < high
    until(page, "location.hash.includes('bins')")
    page.locator(".figures text", has_text="Underflow").wait_for()
    assert figures(page)["Underflow"] > 0
    outline = page.locator(".plot svg path").first.get_attribute("d")
    page.locator("#room-draw").get_by_label("log y").check()
    assert page.locator(".plot svg path").first.get_attribute("d") != outline


def test_names_are_found_among_many_and_completed(page: Any, served: Browsed) -> None:
    page.goto(served.url)
    file_row(page, "many").click()
    page.locator("#search").fill("b07")
    page.locator("#found li").first.wait_for()
    assert page.locator("#found li .name").first.text_content() == "b07000"
    page.locator("#search").fill("7 b0 77")
    until(page, "document.querySelector('#said').textContent.includes('hold 7 b0 77')")
    assert all("77" in name for name in page.locator("#found li .name").all_text_contents())
    page.locator("#search").fill("B07777")
    until(page, "document.querySelectorAll('#found li').length === 1")
    page.keyboard.press("Enter")
    assert figures(page)["Mean"] == pytest.approx(7778, rel=1e-3)
    assert row(page, "b07777").get_attribute("aria-selected") == "true"
    # Only rows that are seen are in the document, and screen readers know of all.
    assert page.locator("[role=treeitem]").count() < 200
    assert row(page, "b07777").get_attribute("aria-setsize") == str(MANY)
    page.locator("#draw-cut").fill("b0000")
    page.locator("#room-draw [role=option]").first.wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("#draw-cut").input_value().startswith("b0000")
    assert len(page.locator("#draw-cut").input_value()) == 6


def test_pictures_are_saved(page: Any, served: Browsed, arrays: Any, tmp_path: Path) -> None:
    to_tree(page, served)
    row(page, "x").dblclick()
    figures(page)

    def save(name: str) -> Path:
        with page.expect_download() as waiting:
            page.locator("#room-draw .tools").get_by_text(name, exact=True).click()
        place = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(place)
        return place

    assert xml.etree.ElementTree.parse(save("SVG")).getroot().tag.endswith("svg")
    assert save("PNG").read_bytes().startswith(b"\x89PNG")
    lines = save("CSV").read_text().splitlines()
    assert lines[0] == "x_low,x_high,value"
    assert sum(float(line.split(",")[2]) for line in lines[1:]) == ENTRIES
    kept = sapwood.open(save("ROOT"))["h"]
    assert kept.values().sum() == ENTRIES
    assert kept.member("fTsumwx") == pytest.approx(arrays["x"].sum())


def test_a_link_opens_the_view_again_and_python_does_the_same(page: Any, served: Browsed) -> None:
    to_tree(page, served)
    row(page, "x").dblclick()
    figures(page)
    found = drawn(page, cut="y > 0.25", y="pt")
    other = page.context.new_page()
    other.goto(page.url)
    assert figures(other) == found
    assert other.locator("#draw-cut").input_value() == "y > 0.25"
    lines = page.locator(".python").text_content()
    scope: dict[str, Any] = {}
    exec(lines, scope)  # noqa: S102
    assert scope["histogram"].sum(flow=True).value == pytest.approx(found["Integral"])
    page.go_back()
    until(page, "document.querySelector('#draw-cut').value === ''")


def test_a_draw_that_fails_leaves_no_picture_of_another(page: Any, served: Browsed) -> None:
    to_tree(page, served)
    row(page, "x").dblclick()
    figures(page)
    page.locator("#draw-x").fill("none_such")
    # Enter draws what is written; names that come later do not stand in the way.
    page.keyboard.press("Enter")
    until(page, "!document.querySelector('#room-draw .plot svg')")
    assert page.locator("#room-draw [role=listbox]:visible").count() == 0
    page.locator("#draw-x").fill("y")
    page.keyboard.press("Enter")
    until(page, "document.querySelector('.plot svg')?.getAttribute('aria-label').includes('of y')")


def test_a_tree_that_is_selected_is_drawn(page: Any, served: Browsed) -> None:
    page.goto(served.url)
    file_row(page, "events").dblclick()
    row(page, "folder;1").dblclick()
    row(page, "tree;1").click()
    page.locator("#draw-x").fill("x")
    page.keyboard.press("Enter")
    assert figures(page)["Entries"] == ENTRIES


def test_a_folder_says_that_a_file_is_searched(page: Any, folder: Path) -> None:
    with browsing(folder) as served:
        page.goto(served.url)
        page.locator("#tree [role=treeitem]").first.click()
        page.locator("#search").fill("x")
        until(page, "document.querySelector('#said').textContent.includes('choose a file')")


def test_a_table_shows_lists(page: Any, served: Browsed, arrays: Any) -> None:
    to_tree(page, served)
    page.get_by_role("tab", name="Table").click()
    page.locator("#room-table td").first.wait_for()
    head = page.locator("#room-table thead th").all_text_contents()
    assert head[:3] == ["entry", "x", "y"] and "pt" in head
    page.get_by_label("Columns, one a line").first.fill("pt\ni\nsqrt(i)\nnone_such")
    page.get_by_label("Cut").last.fill("i > 99")
    page.get_by_role("button", name="Show").click()
    until(page, "document.querySelectorAll('#room-table thead th').length === 5")
    cells = page.locator("#room-table tbody tr").first.locator("th, td").all_text_contents()
    assert cells[0] == "100" and cells[2:4] == ["100", "10"]
    assert [float(item) for item in json.loads(cells[1])] == pytest.approx(list(arrays["pt"][100]), rel=1e-6)
    assert "none_such" in page.locator("#room-table .where").text_content()
    page.get_by_role("button", name="Next").click()
    until(page, "document.querySelector('#room-table tbody th').textContent === '150'")
    page.get_by_role("button", name="Previous").click()
    until(page, "document.querySelector('#room-table tbody th').textContent === '100'")


def test_the_layout_room(page: Any, served: Browsed) -> None:
    to_tree(page, served)
    row(page, "x").dblclick()
    figures(page)
    page.get_by_label("Record reads").check()
    drawn(page, cut="y > 0.3")
    page.get_by_role("tab", name="Layout").click()
    page.locator(".layout canvas").wait_for()
    assert "5 branches" in page.locator(".layout figcaption").text_content()
    assert page.locator(".doctor").text_content()
    assert page.locator(".branches tbody tr").count() == 5
    page.get_by_label("Reads of").select_option(index=1)
    page.locator("table.figures", has_text="ReadCalls").wait_for()
    page.get_by_label("Zoom to byte").fill("30000")
    page.get_by_label("Zoom to byte").press("Enter")
    until(page, "location.hash.includes('10000%2C50000')")
    page.get_by_role("button", name="All").click()
    page.get_by_role("button", name="Keep beside").click()
    page.locator("#search").fill("many")
    page.locator("#room-layout").get_by_role("button", name="All").focus()
    file_row(page, "many").dblclick()
    row(page, "many;1").click()
    page.locator("#chosen").get_by_role("button", name="Layout").click()
    until(page, "document.querySelectorAll('.layout canvas').length === 2")


def test_two_tabs_and_a_long_draw_do_not_wait_for_each_other(page: Any, folder: Path) -> None:
    with serving(folder) as far, browsing(f"{far.url}/events.root", folder / "events.root") as served:
        tree = served.ask("list", file="0", path="folder/tree")
        assert tree["names"] == ["x", "y", "i", "npt", "pt"]
        page.goto(f"{served.url}#file=0&path=folder%2Ftree%3B1")
        row(page, "tree;1").wait_for()
        page.locator("#draw-x").fill("x")
        far.delay = 6
        page.get_by_role("button", name="Draw", exact=True).click()
        page.get_by_role("button", name="Stop").wait_for()
        begun = time.monotonic()
        other = page.context.new_page()
        other.goto(f"{served.url}#file=1&path=folder%2Ftree%3B1&x=x")
        assert figures(other)["Entries"] == ENTRIES
        assert time.monotonic() - begun < 5, "it waited for the other page"
        page.get_by_role("button", name="Stop").click()
        page.get_by_role("alert").filter(has_text="stopped").wait_for()
        far.delay = 0


def test_a_far_file_is_not_read_whole(page: Any, folder: Path) -> None:
    with serving(folder, delay=0.05) as far, browsing(f"{far.url}/events.root") as served:
        page.goto(served.url)
        row(page, "folder;1").dblclick()
        row(page, "tree;1").dblclick()
        row(page, "y").dblclick()
        assert figures(page)["Entries"] == ENTRIES
        assert far.sent < (folder / "events.root").stat().st_size + 70_000
        # The file's head and tail, the tree's record, and its baskets.
        assert len(far.asked) <= 5, far.asked
        page.get_by_role("tab", name="Live").click()
        page.locator(".live tbody td").first.wait_for()
        assert int(page.locator(".live tbody td").nth(1).text_content()) == len(far.asked)


def test_a_broken_file_says_so_and_the_page_lives(page: Any, served: Browsed) -> None:
    page.goto(served.url)
    file_row(page, "broken").dblclick()
    error = page.locator(".row.error")
    error.wait_for()
    assert "broken.root" in error.text_content()
    to_tree(page, served)
    row(page, "x").dblclick()
    assert figures(page)["Entries"] == ENTRIES


def test_a_file_that_changes_is_said_to_have_changed(page: Any, folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "moving.root"
    shutil.copy(folder / "events.root", place)
    with browsing(place) as served:
        page.goto(served.url)
        row(page, "h;1").wait_for()
        fresh = tmp_path / "fresh.root"
        with sapwood.recreate(fresh) as file:
            file["other"] = np.histogram([1.0], bins=2)
        fresh.replace(place)
        page.locator("#changed").filter(has_text="moving.root has changed").wait_for()
        page.get_by_role("button", name="Load again").click()
        row(page, "other;1").wait_for()
        assert row(page, "h;1").count() == 0


def test_the_keyboard_reaches_everything(page: Any, served: Browsed) -> None:
    page.goto(served.url)
    page.locator("[role=treeitem]").first.wait_for()
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "tree":
            break
    assert page.evaluate("document.activeElement.id") == "tree"
    press = page.keyboard.press
    active = (
        "document.getElementById(document.querySelector('#tree').getAttribute('aria-activedescendant'))"
        "?.textContent"
    )
    press("ArrowRight")
    until(page, "document.querySelectorAll('[role=treeitem]').length > 3")
    press("ArrowDown")
    assert "folder" in page.evaluate(active)
    press("ArrowRight")
    until(page, "document.querySelectorAll('[role=treeitem]').length > 5")
    press("ArrowDown")
    press("ArrowRight")
    row(page, "y").wait_for()
    page.keyboard.type("x")
    until(page, f"{active}?.includes('x')")
    press("ArrowDown")
    press("ArrowUp")
    press("Enter")
    assert figures(page)["Entries"] == ENTRIES
    press("ArrowDown")
    press("y")
    page.locator(".figures text", has_text="Mean y").wait_for()
    press("ArrowLeft")
    press("ArrowLeft")
    until(page, "!document.querySelector('#tree').textContent.includes('npt')")
    press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.get_by_role("tab", name="Histogram").focus()
    press("ArrowRight")
    assert page.get_by_role("tab", name="Table").get_attribute("aria-selected") == "true"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_stands_in_the_way_of_screen_readers(page: Any, served: Browsed, scheme: str) -> None:
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        missing("axe-playwright-python")
    axe = Axe()
    page.emulate_media(color_scheme=scheme)
    to_tree(page, served)
    row(page, "x").dblclick()
    figures(page)
    wrong = []
    for room in ("Histogram", "Table", "Object", "Layout", "Live"):
        page.get_by_role("tab", name=room).click()
        page.wait_for_timeout(700)
        found = axe.run(page)
        wrong += [
            (room, fault["id"], [node["html"] for node in fault["nodes"]])
            for fault in found.response["violations"]
        ]
    assert not wrong, wrong


def test_objects_are_drawn_and_have_members(page: Any, served: Browsed) -> None:
    to_tree(page, served)
    row(page, "h;1").dblclick()
    assert figures(page)["Entries"] == ENTRIES
    row(page, "h;1").click()
    page.keyboard.press("ArrowRight")
    row(page, "fXaxis").dblclick()
    bins = row(page, "fNbins").locator(".detail")
    bins.wait_for()
    assert bins.text_content() == "20"


def test_the_answers_are_bounded(served: Browsed) -> None:
    assert len(served.ask("list", file="1", path="many", count=10**9)["names"]) == MANY
    found = served.ask("search", file="1", text="b")
    assert found["total"] >= MANY and len(found["paths"]) == 500
    table = served.ask("table", file="0", path="folder/tree", columns="x", count=10**9)
    assert len(table["entries"]) == 1_000 and table["next"] == 1_000
    with pytest.raises(AssertionError, match="limit"):
        served.ask("draw", file="0", path="folder/tree", x="x", bins="100000000,0,1")
    status, headers, body = served.get(f"{served.url}api/raw?file=0", {"Range": "bytes=0-3"})
    assert (status, body, headers["Content-Range"].startswith("bytes 0-3/")) == (206, b"root", True)


def test_a_histogram_of_the_server_is_that_of_the_package(served: Browsed, folder: Path) -> None:
    answer = served.ask("draw", file="0", path="folder/tree;1", x="pt", cut="y > 0.5", bins="50,0,100")
    tree = sapwood.open(folder / "events.root")["folder/tree"]
    expected = tree.draw("pt>>h(50, 0, 100)", "y > 0.5", library="root")
    assert answer["object"]["values"] == list(expected.values(flow=True))
    status, _, body = served.get(
        f"{served.url}api/save?file=0&path=folder/tree&x=pt&cut=y%3E0.5&bins=50,0,100&name=kept"
    )
    assert status == 200
    kept = sapwood.open(io.BytesIO(body))["kept"]
    assert list(kept.values(flow=True)) == list(expected.values(flow=True))


CANVAS = """
file = ROOT.TFile(sys.argv[1], "recreate")
canvas = ROOT.TCanvas("canvas", "drawn by ROOT")
histogram = ROOT.TH1D("inside", "inside of a canvas", 10, 0, 10)
histogram.Fill(3)
histogram.Draw()
words = ROOT.TLatex(5, 0.5, "WORDS-OF-ROOT")
words.Draw()
canvas.Write()
file.Close()
"""


def test_jsroot_draws_what_the_page_does_not(page: Any, tmp_path: Path) -> None:
    place = tmp_path / "canvas.root"
    root(CANVAS, place)
    with browsing(place) as served:
        if not served.ask("about")["frame"]:
            missing("jsroot in this build")
        page.goto(served.url)
        row(page, "canvas;1").dblclick()
        frame = page.frame_locator("iframe")
        frame.locator("svg text", has_text="WORDS-OF-ROOT").first.wait_for()
        assert frame.locator("svg .draw_area, svg .main_layer").count() > 0
        # Members of any object are in the tree.
        row(page, "canvas;1").click()
        page.keyboard.press("ArrowRight")
        row(page, "fUniqueID").wait_for()


def test_without_jsroot_the_page_says_how_to_add_it(page: Any, tmp_path: Path) -> None:
    place = tmp_path / "text.root"
    with sapwood.recreate(place) as file:
        file["words"] = "hello"
    with browsing(place) as served:
        page.route(
            "**/api/about?*",
            lambda route: route.fulfill(
                content_type="application/x-ndjson", body='{"result": {"version": "0", "frame": null}}\n'
            ),
        )
        page.goto(served.url)
        row(page, "words;1").dblclick()
        page.get_by_role("alert").filter(has_text="npm run jsroot").wait_for()
