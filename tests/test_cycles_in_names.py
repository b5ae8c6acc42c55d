"""Names with a cycle at their end, as keys() lists them, in assignments."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")


def test_keys_of_one_file_are_names_in_another() -> None:
    with sapwood.recreate(first := io.BytesIO()) as file:
        file["d/h"] = np.histogram([1, 2], bins=2)
        file["t"] = {"x": [1, 2]}
    source = sapwood.open(first)
    with sapwood.recreate(second := io.BytesIO()) as file:
        file["d/h;1"] = source["d/h;1"]
        file["t;1"] = source["t;1"].arrays()
        file.mktree("u;1", {"x": "i4"}).extend({"x": [1]})
        file.mkrntuple("n;1", {"x": [1.0]}).close()
        file["d"]["text;1"] = "first"
        file["d/text;2"] = "second"
        assert str(file["d/text;2"]) == "second"
    found = sapwood.open(second)
    assert sorted(found.keys()) == ["d/h;1", "d/text;1", "d/text;2", "d;1", "n;1", "t;1", "u;1"]
    assert str(found["d/text;1"]) == "first" and found["d/h"].name == "h"


def test_root_finds_what_was_assigned_with_a_cycle(tmp_path: Path) -> None:
    ROOT = pytest.importorskip("ROOT")
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["d/h;1"] = "text"
    opened = ROOT.TFile(str(tmp_path / "a.root"))
    assert str(opened.Get("d/h").GetString()) == "text"
    opened.Close()


def test_a_cycle_that_a_key_would_not_get_is_refused() -> None:
    with sapwood.recreate(io.BytesIO()) as file:
        with pytest.raises(sapwood.errors.MismatchError, match="would get the cycle 1.*write 'h'"):
            file["h;2"] = "text"
        file["h"] = "text"
        with pytest.raises(sapwood.errors.MismatchError, match="would get the cycle 2.*write 'h'"):
            file["h;1"] = "other"
        with pytest.raises(sapwood.errors.MismatchError, match="cycle 2"):
            file.mktree("h;1", {"x": "i4"})
        with pytest.raises(sapwood.errors.MismatchError, match="would get the cycle 2"):
            file["h;" + "9" * 5000] = "text"
        # A semicolon without a number is a part of the name.
        file["a;b"] = "text"
        assert file.keys() == ["h;1", "a;b;1"]


def test_directories_are_made_by_the_names_that_keys_lists() -> None:
    with sapwood.recreate(memory := io.BytesIO()) as file:
        for name in ("d;1", "d", "d;1"):
            file.mkdir(name)["x"] = name
    assert sorted(sapwood.open(memory).keys()) == ["d/x;1", "d/x;2", "d/x;3", "d;1"]
