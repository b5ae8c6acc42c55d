"""`sapwood browse` with folders of servers: XRootD, nginx with its index pages, a bucket."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import servers
from support.browser import Browsed, browsing

sapwood = pytest.importorskip("sapwood")

#: Names as they are in the wild: blanks, signs of URLs, letters beyond ASCII.
NAMES = ("a b&c.root", "plain.root", "ähre.root")


def fill(place: Path) -> None:
    """A folder with files, another one with one, and what is no ROOT file."""
    (place / "runs" / "deep er").mkdir(parents=True)
    with sapwood.recreate(place / "runs" / "plain.root") as file:
        file["t"] = {"x": np.arange(10.0)}
    for name in (*NAMES, "deep er/last.root"):
        if name != "plain.root":
            shutil.copy(place / "runs" / "plain.root", place / "runs" / name)
    (place / "runs" / "notes.txt").write_text("none")
    (place / "runs" / ".hidden.root").write_text("none")
    for item in place.rglob("*"):
        os.chmod(item, 0o755 if item.is_dir() else 0o644)


@pytest.fixture(scope="module", params=["xrootd", "nginx"])
def folder(request: pytest.FixtureRequest) -> Iterator[str]:
    with servers.serving(request.param) as found:
        fill(found.data)
        yield f"{found.url}/runs/" if request.param == "nginx" else f"{found.root_url}//runs/"


def names(served: Browsed, file: str) -> list[tuple[str, str, str]]:
    level = served.ask("list", file=file)
    return list(zip(level["names"], level["kinds"], level["ids"], strict=True))


def test_folders_of_servers_are_listed(folder: str) -> None:
    with browsing(folder) as served:
        assert names(served, "") == [(folder, "folder", "0")]
        expected = [("deep er", "folder", "0/deep er/"), *((name, "file", f"0/{name}") for name in NAMES)]
        assert names(served, "0") == expected
        assert names(served, "0/deep er/") == [("last.root", "file", "0/deep er/last.root")]
        for _, kind, file in expected + names(served, "0/deep er/"):
            if kind == "file":
                assert served.ask("list", file=file)["names"] == ["t;1"]
        for outside in ("0/../runs/", "0/deep er/../../", "0/./"):
            with pytest.raises(AssertionError, match="nothing that is browsed"):
                served.ask("list", file=outside)


def test_symbolic_links_do_not_lead_out_of_a_folder(tmp_path: Path) -> None:
    fill(tmp_path)
    secret = tmp_path / "secret"
    secret.mkdir()
    shutil.copy(tmp_path / "runs" / "plain.root", secret / "inside.root")
    (tmp_path / "runs" / "out.root").symlink_to(secret / "inside.root")
    (tmp_path / "runs" / "away").symlink_to(secret)
    (tmp_path / "runs" / "same.root").symlink_to("plain.root")
    (tmp_path / "link").symlink_to(tmp_path / "runs")
    for folder in ("runs", "link"):
        with browsing(tmp_path / folder) as served:
            assert served.ask("list", file="0/same.root")["names"] == ["t;1"]
            for outside in ("0/out.root", "0/away", "0/away/inside.root", "0/away/gone.root"):
                with pytest.raises(AssertionError, match="out of the folder by a symbolic link"):
                    served.ask("list", file=outside)


def test_a_folder_is_unfolded_in_the_page(page: Any, folder: str) -> None:
    with browsing(folder) as served:
        page.goto(served.url)
        row = page.locator("[role=treeitem]")
        row.filter(has_text="deep er").dblclick()
        row.filter(has_text="last.root").dblclick()
        row.filter(has_text="t;1").dblclick()
        row.filter(has_text="x").last.dblclick()
        page.locator("figure.plot svg .figures text").first.wait_for()
        # A link to it opens the same view, with its row.
        other = page.context.new_page()
        other.goto(page.url)
        other.locator("figure.plot svg .figures text").first.wait_for()
        other.locator('[role=treeitem][aria-selected=true]:has-text("t;1")').wait_for()


def test_a_folder_that_is_not_there_says_so(folder: str) -> None:
    with browsing(f"{folder}none/") as served, pytest.raises(AssertionError, match="not found"):
        served.ask("list", file="0")


def test_a_page_without_links_is_no_index() -> None:
    from support.ranged import serving

    place = Path(__file__).parent
    with serving(place) as found, browsing(f"{found.url}/conftest.py/") as served:
        with pytest.raises(AssertionError, match="no index of this folder"):
            served.ask("list", file="0")


def test_schemes_without_folders_say_so() -> None:
    refused = pytest.raises(AssertionError, match="are not listed")
    with browsing("dcap://127.0.0.1:1/data/") as served, refused:
        served.ask("list", file="0")
