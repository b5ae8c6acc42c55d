"""Objects that the page of `sapwood browse` draws itself: functions, beside real ROOT's values; three axes that turn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.browser import browsing, until
from support.rootrun import root

sapwood = pytest.importorskip("sapwood")

FUNCTIONS = r"""
import array
file = ROOT.TFile(sys.argv[1], "recreate")
made = {}
def function(name, text, low, high, *values):
    found = ROOT.TF1(name, text, low, high)
    if values:
        found.SetParameters(*map(float, values))
    made[name] = found
    return found
function("gauss", "gaus", -3, 3, 2, 0.5, 1)
function("normal", "gausn", -3, 3, 2, 0.5, 1)
function("scaled", "gaus", -3, 3, 2, 0.5, 1).SetNormalized(True)
function("sum", "pol3(0)+[4]*sin([5]*x)^2", -3, 3, 1, 2, 3, 4, 5, 6)
function("landaus", "landau(0)+landaun(3)+expo(6)", 0, 10, 1, 2, 3, 4, 5, 2, 0.1, -1)
function("choice", "x<2 ? sqrt(abs(x)) : TMath::Erf(x)*TMath::Pi()+pow(x,2)*e", 0, 4)
function("named", "[height]*exp(-x/[life]) + [rest]", 0, 4, 3, 2, 1e-3)
function("whole", "1/2*x + 1./2", 0, 4)
function("quotients", "3*1/2*x + 1e-3/2*x + 7%4/2 + pow(x+1,-1/2) + 2^1/4 + (7/2)*x", 0, 4)
function("crystal", "crystalball", -3, 3, 2, 0.5, 1, 1, 2)
function("breit", "breitwigner", -3, 3, 2, 0.5, 1)
function("cheb", "cheb4", -1, 1, 2, 0.5, 1, 3, 4)
function("array", "x[0]*[0] + 2", -1, 1, 7)
function("one", "1", -1, 1)
made["compiled"] = ROOT.TF1("compiled", lambda x, p: p[0] * x[0] ** 2, 0, 4, 1)
made["compiled"].SetParameter(0, 7)
made["plane"] = ROOT.TF2("plane", "[0]*x*y+cos(x)", 0, 4, -1, 2)
made["plane"].SetParameter(0, 7)
made["bell"] = ROOT.TF2("bell", "bigaus", -1, 1, -1, 1)
made["bell"].SetParameters(2, 0.5, 1, 0.1, 1, 0.2)
made["flat"] = ROOT.TF2("flat", lambda x, p: x[0] - x[1], 0, 4, -1, 2, 0)
made["space"] = ROOT.TF3("space", "x*y-z", 0, 4, -1, 2, 0, 1)
function("vavilov", "TMath::VavilovI(x, 0.5, 0.5)", 0, 1)
for found in made.values():
    found.Write()
values = {}
for name, found in made.items():
    counts = [found.GetNpx(), found.GetNpy() if found.GetNdim() > 1 else 0, found.GetNpz() if found.GetNdim() > 2 else 0]
    ranges = [(found.GetXmin(), found.GetXmax())]
    if found.GetNdim() > 1:
        ranges.append((found.GetYmin(), found.GetYmax()))
    if found.GetNdim() > 2:
        ranges.append((found.GetZmin(), found.GetZmax()))
    points = [[]]
    for (start, end), count in reversed(list(zip(ranges, counts))):
        points = [[start + (end - start) * step / count, *rest] for rest in points for step in range(count + 1)]
    # Drawing divides by the norm, as EvalPar does and Eval does not.
    parameters = array.array("d", [found.GetParameter(number) for number in range(found.GetNpar())] or [0.0])
    values[name] = [found.EvalPar(array.array("d", point), parameters) for point in points]
file.Close()
answer(values)
"""


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[float]]]:
    place = tmp_path_factory.mktemp("functions") / "functions.root"
    return place, root(FUNCTIONS, place)


def test_functions_have_the_values_of_root(functions: tuple[Path, dict[str, list[float]]]) -> None:
    place, expected = functions
    saved = {"compiled", "flat"}
    with browsing(place) as served:
        for name, values in expected.items():
            drawn = served.ask("object", file="0", path=name)["object"]
            if name == "vavilov":
                assert drawn is None, "jsroot draws what is not computed here"
                continue
            found = np.array([float(value) for value in drawn["values"]])
            assert drawn["kind"] == "function" and drawn["is_saved"] == (name in saved), name
            np.testing.assert_allclose(found, values, rtol=1e-7, atol=1e-9, err_msg=name)
        parameters = served.ask("object", file="0", path="named")["object"]["parameters"]
        assert sorted(parameters) == [["height", 3, 0], ["life", 2, 0], ["rest", 0.001, 0]]


def test_functions_in_python_have_the_same_values(functions: tuple[Path, dict[str, list[float]]]) -> None:
    place, expected = functions
    file = sapwood.open(place)
    for name in ("gauss", "normal", "sum", "landaus", "named", "crystal", "cheb"):
        low, high = file[name].range
        at = np.linspace(low, high, len(expected[name]))
        np.testing.assert_allclose(file[name](at), expected[name], rtol=1e-7, atol=1e-9, err_msg=name)


def test_the_page_draws_functions(page: Any, functions: tuple[Path, dict[str, list[float]]]) -> None:
    place, _ = functions
    with browsing(place) as served:
        page.goto(served.url)
        row = page.locator("[role=treeitem]")
        row.filter(has_text="gauss;1").dblclick()
        svg = page.locator("#room-object figure.plot svg")
        svg.locator(".figures text", has_text="Constant").wait_for()
        assert "Mean 0.5" in svg.get_attribute("aria-label")
        assert page.locator("iframe").count() == 0
        with page.expect_download() as waiting:
            page.locator("#room-object .tools").get_by_text("CSV", exact=True).click()
        lines = Path(waiting.value.path()).read_text().splitlines()
        assert (lines[0], len(lines)) == ("x,value", 102)
        row.filter(has_text="plane;1").dblclick()
        label = "document.querySelector('#room-object svg')?.getAttribute('aria-label')"
        until(page, f"{label}.startsWith('Function [0]*x*y')")
        assert svg.locator("g path").count() > 10
        row.filter(has_text="space;1").dblclick()
        svg.locator("g.boxes rect").first.wait_for()


def test_three_axes_turn_with_the_mouse_and_with_keys(page: Any, tmp_path: Path) -> None:
    place = tmp_path / "solid.root"
    random = np.random.default_rng(1)
    with sapwood.recreate(place) as file:
        file["t"] = {name: random.normal(size=500) for name in "xyz"}
    with browsing(place) as served:
        page.goto(f"{served.url}#file=0&path=t&x=x&y=y&z=z")
        boxes = page.locator("#room-draw figure.plot svg g.boxes")
        boxes.wait_for()
        where = page.locator("#room-draw figure.plot svg").bounding_box()

        def seen() -> str:
            return boxes.inner_html()

        before = seen()
        middle = where["x"] + where["width"] / 2, where["y"] + where["height"] / 2
        page.mouse.move(*middle)
        page.mouse.down()
        page.mouse.move(middle[0] + 80, middle[1], steps=4)
        turned = seen()
        assert turned != before
        page.mouse.move(middle[0] + 80, middle[1] + 60, steps=4)
        tilted = seen()
        assert tilted != turned
        page.mouse.up()
        page.mouse.move(*middle)
        assert seen() == tilted, "it turns without a button"
        for key in ("ArrowLeft", "ArrowUp"):
            now = seen()
            page.keyboard.press(key)
            assert seen() != now, key
        # What has two axes is dragged to choose a range, as before.
        page.locator("#draw-z").fill("")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Draw", exact=True).click()
        until(page, "!document.querySelector('#room-draw g.boxes')")
        page.mouse.move(*middle)
        page.mouse.down()
        page.mouse.move(middle[0] + 80, middle[1] + 60, steps=4)
        page.mouse.up()
        until(page, "document.querySelector('#room-draw input[name=bins]').value !== ''")


def test_bins_below_zero_are_drawn(page: Any, tmp_path: Path) -> None:
    place = tmp_path / "below.root"
    with sapwood.recreate(place) as file:
        file["h"] = np.array([[1.0, -2.0], [0.0, 3.0]]), np.array([0.0, 1, 2]), np.array([0.0, 1, 2])
    with browsing(place) as served:
        page.goto(f"{served.url}#room=object&file=0&path=h")
        shades = page.locator("#room-object svg g[shape-rendering] path")
        shades.first.wait_for()
        assert shades.count() == 3


FITS = """
file = ROOT.TFile(sys.argv[1], "recreate")
histogram = ROOT.TH1D("h", "fitted", 50, -3, 3)
histogram.FillRandom("gaus", 5000)
histogram.Fit("gaus", "Q")
histogram.Write()
hidden = histogram.Clone("hidden")
hidden.GetFunction("gaus").SetBit(ROOT.TF1.kNotDraw)
hidden.Write()
graph = ROOT.TGraph(5)
for point in range(5):
    graph.SetPoint(point, point, 2 * point + 1)
graph.Fit("pol1", "Q")
graph.Write("g")
answer([histogram.GetFunction("gaus").GetParameter(number) for number in range(3)])
file.Close()
"""


def test_what_was_fitted_is_drawn_over_it(page: Any, tmp_path: Path) -> None:
    place = tmp_path / "fits.root"
    fitted = root(FITS, place)
    with browsing(place) as served:
        (function,) = served.ask("object", file="0", path="h")["object"]["functions"]
        assert [value for _, value, _ in function["parameters"]] == pytest.approx(fitted)
        assert all(error > 0 for _, _, error in function["parameters"])
        assert served.ask("object", file="0", path="hidden")["object"]["functions"] == []
        for name in "hg":
            page.goto(f"{served.url}#room=object&file=0&path={name}")
            page.reload()
            page.locator("#room-object svg path.function").wait_for()
            assert "±" in page.locator("#room-object svg .figures").text_content()


def test_members_stand_where_there_is_no_picture(page: Any, tmp_path: Path) -> None:
    place = tmp_path / "parameter.root"
    root(
        """
file = ROOT.TFile(sys.argv[1], "recreate")
ROOT.TParameter[float]("lumi", 42.5).Write("lumi")
file.Close()
""",
        place,
    )
    with browsing(place) as served:
        page.goto(f"{served.url}#room=object&file=0&path=lumi")
        page.get_by_role("alert").filter(has_text="members").wait_for()
        members = page.locator("#room-object").get_by_role("region", name="Members")
        assert "42.5" in members.locator("tr", has_text="fVal").text_content()


def test_a_text_is_shown_as_a_table(page: Any, tmp_path: Path) -> None:
    place = tmp_path / "words.root"
    with sapwood.recreate(place) as file:
        file["t"] = {"name": ["muon", "tau"], "x": [1.0, 2.0]}
    with browsing(place) as served:
        page.goto(f"{served.url}#file=0&path=t")
        page.locator("[role=treeitem]", has_text="t;1").first.dblclick()
        page.locator("[role=treeitem]", has_text="name").first.dblclick()
        page.locator("#room-table td", has_text="tau").wait_for()


def test_the_picture_of_a_layout_is_that_of_the_command(tmp_path: Path) -> None:
    place, picture = tmp_path / "words.root", tmp_path / "layout.svg"
    with sapwood.recreate(place) as file:
        file["t"] = {"x": np.arange(1000.0), "y": np.arange(1000)}
    command = [sys.executable, "-m", "sapwood", "layout", f"{place}:t", "--svg", picture]
    subprocess.run(command, check=True, capture_output=True)
    with browsing(place) as served:
        status, headers, body = served.get(f"{served.url}api/layout.svg?file=0&path=t")
    assert (status, headers["Content-Type"]) == (200, "image/svg+xml")
    assert body == picture.read_bytes()


def test_efficiencies_that_the_page_cannot_compute_are_left_to_jsroot(tmp_path: Path) -> None:
    place = tmp_path / "a.root"
    root(
        """
file = ROOT.TFile(sys.argv[1], "recreate")
for name, option, weight in (("plain", 0, 0), ("uniform", 6, 0), ("jeffreys", 5, 0), ("weighted", 0, 0.01)):
    found = ROOT.TEfficiency(name, name, 4, 0, 4)
    found.SetDirectory(ROOT.nullptr)
    found.SetStatisticOption(option)
    for i in range(40):
        found.FillWeighted(i % 3 == 0, weight, i % 4) if weight else found.Fill(i % 3 == 0, i % 4)
    file.WriteObject(found, name)
file.Close()
""",
        place,
    )
    with browsing(place) as served:
        kinds = {
            name: (served.ask("object", file="0", path=name)["object"] or {}).get("kind")
            for name in ("plain", "uniform", "jeffreys", "weighted")
        }
    assert kinds == {"plain": "efficiency", "uniform": None, "jeffreys": None, "weighted": None}


def test_bins_that_are_drawn_as_one_have_one_shade(page: Any, tmp_path: Path) -> None:
    place = tmp_path / "a.root"
    with sapwood.recreate(place) as file:
        # 301 bins are drawn as 151 cells, of which the last holds one bin alone.
        edges = np.arange(302.0)
        file["flat"] = (np.ones((301, 2)), edges, np.arange(3.0))
    with browsing(place) as served:
        page.goto(f"{served.url}#room=object&file=0&path=flat")
        page.locator("#room-object svg g[shape-rendering] path").first.wait_for()
        paths = page.locator("#room-object svg g[shape-rendering] path")
        assert paths.count() == 1 and paths.first.get_attribute("d").count("M") == 151 * 2


def test_an_object_is_saved_as_a_file(page: Any, tmp_path: Path) -> None:
    place = tmp_path / "objects.root"
    root(
        """
file = ROOT.TFile(sys.argv[1], "recreate")
file.mkdir("folder").cd()
histogram = ROOT.TH1D("h", "a title", 5, 0, 5)
histogram.Fill(2.5, 7)
histogram.Write()
canvas = ROOT.TCanvas("canvas", "")
canvas.Write()
file.Close()
""",
        place,
    )
    with sapwood.update(place) as file:
        file["tree"] = {"x": np.arange(3.0)}
    with browsing(place) as served:
        for path in ("folder/h;1", "folder/canvas;1"):
            page.goto(f"{served.url}#room=object&file=0&path={path}")
            page.reload()
            save = page.locator("#room-object .tools a", has_text="ROOT")
            save.wait_for()
            with page.expect_download() as waiting:
                save.click()
            saved = tmp_path / waiting.value.suggested_filename
            waiting.value.save_as(saved)
            before, after = sapwood.open(place), sapwood.open(saved)
            name = path.split("/")[1].removesuffix(";1")
            assert saved.name == f"{name}.root" and after.keys() == [f"{name};1"]
            assert after.classnames() == {f"{name};1": before[f"folder/{name}"].classname}
        assert sapwood.open(tmp_path / "h.root")["h"].values().tolist() == [0, 0, 7, 0, 0]
        found = root(
            "file = ROOT.TFile(sys.argv[1])\nanswer(file.Get('h').GetBinContent(3))", tmp_path / "h.root"
        )
        assert found == 7
        for path in ("tree", "folder"):
            status, _, body = served.get(f"{served.url}api/save?file=0&path={path}")
            assert status == 422 and b"sapwood cp" in body
