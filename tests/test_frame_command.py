"""`sapwood frame`: analyses that are written down, beside the same in Python."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")

ANALYSIS = """
files = ["FILE:events", "FILE:events"]

[frames.all]
define = { ht = "Sum$(jet)", w = "weight" }
[frames.all.vary.jes]
up = { jet = "jet * 2" }
down = { jet = "jet / 2", met = "met + 1" }

[frames.busy]
from = "again"
filter = { "ht above 30" = "ht > 30", "met" = "met > 10" }

[frames.again]
from = "all"
redefine = { ht = "Sum$(jet)" }

[histograms.ht]
frame = "busy"
of = "ht"
bins = [20, 0, 200]
weight = "w"

[histograms.plane]
frame = "busy"
of = ["met", "jet"]
edges = [[0, 10, 50, 100], [0, 20, 40]]

[histograms.mean]
of = ["met", "weight"]
profile = true
bins = [5, 0, 100]
"""


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sapwood", "frame", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 5, 2_000)
    path = tmp_path_factory.mktemp("frame") / "events.root"
    with sapwood.recreate(path) as file:
        file["events"] = {
            "met": rng.exponential(30, 2_000),
            "weight": rng.normal(1, 0.2, 2_000),
            "jet": ak.unflatten(rng.exponential(20, counts.sum()), counts),
        }
    return path


def test_a_document_is_the_same_analysis(events: Path, tmp_path: Path) -> None:
    (tmp_path / "analysis.toml").write_text(ANALYSIS.replace("FILE", str(events)))
    done = command(tmp_path / "analysis.toml", "--out", tmp_path / "h.root", "-j", 2)
    assert done.returncode == 0, done.stderr
    frame = sapwood.frame([f"{events}:events"] * 2).define("ht", "Sum$(jet)").define("w", "weight")
    frame = frame.vary("jes", {"up": {"jet": "jet * 2"}, "down": {"jet": "jet / 2", "met": "met + 1"}})
    busy = frame.redefine("ht", "Sum$(jet)").filter("ht > 30", "ht above 30").filter("met > 10", "met")
    ours = {
        "ht": busy.hist("ht", bins=(20, 0, 200), weight="w", library="root"),
        "plane": busy.hist("met", "jet", bins=[[0, 10, 50, 100], [0, 20, 40]], library="root"),
        "mean": sapwood.frame([f"{events}:events"] * 2).profile(
            "met", "weight", bins=(5, 0, 100), library="root"
        ),
    }
    cuts = busy.report()
    names = []
    with sapwood.open(tmp_path / "h.root") as file:
        for name, result in ours.items():
            for variation, histogram in result.variations.items():
                names.append(name if variation == "nominal" else f"{name}_{variation.replace(':', '_')}")
                found = file[names[-1]]
                assert found.classname == histogram.classname
                assert np.array_equal(found.values(flow=True), histogram.values(flow=True)), names[-1]
                assert found.member("fEntries") == histogram.member("fEntries")
        assert sorted(names) == sorted(file.keys(cycle=False))
    assert len(names) == 7
    lines = done.stdout.splitlines()
    first = cuts.value[0]
    assert [str(first.all), str(first.passed)] == lines[2].split()[-3:-1]
    assert lines[0] == "busy" and lines[-1].startswith("7 histograms in")


def test_samples_have_folders_and_names(events: Path, tmp_path: Path) -> None:
    """The words of RDataFrame's dataset specification, in JSON."""
    document: dict[str, Any] = {
        "samples": {
            "a": {"trees": ["events"], "files": [str(events)], "metadata": {"lumi": 2.5, "kind": "mc"}},
            "b": {"files": [f"{events}:events"], "lumi": 0.5, "kind": "data"},
        },
        "histograms": {"met": {"of": "met", "bins": [10, 0, 100], "weight": '(kind == "mc" ? lumi : 1)'}},
    }
    (tmp_path / "analysis.json").write_text(json.dumps(document))
    done = command(tmp_path / "analysis.json", "--out", tmp_path / "h.root")
    assert done.returncode == 0, done.stderr
    with sapwood.open(tmp_path / "h.root") as file:
        assert np.array_equal(file["a/met"].values(), 2.5 * file["b/met"].values())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("[histograms.ht]", "[histogram.ht]"), '"histogram" is not known'),
        (('frame = "busy"', 'frame = "bussy"'), 'the frame "bussy" is missing'),
        (('from = "all"', 'from = "busy"'), "built on itself"),
        (('of = "ht"', 'of = "ht +"'), "histograms.ht: "),
        (("bins = [20, 0, 200]", "bins = [20, 0]"), "histograms.ht.bins: expected"),
        (('weight = "w"', "weight = 3"), "histograms.ht.weight: expected a text"),
        (('"met" = "met > 10"', '"met" = "met_pt > 10"'), 'no branch "met_pt"'),
        (("[frames.all]", "[frames.all"), "TOML"),
        (("files = ", "filess = "), '"filess" is not known'),
    ],
)
def test_mistakes_are_told_with_their_place(
    events: Path, tmp_path: Path, change: tuple[str, str], words: str
) -> None:
    assert change[0] in ANALYSIS
    (tmp_path / "bad.toml").write_text(ANALYSIS.replace("FILE", str(events)).replace(*change, 1))
    done = command(tmp_path / "bad.toml", "--out", tmp_path / "h.root")
    assert done.returncode != 0
    assert words in done.stderr, done.stderr
    assert "bad.toml" in done.stderr or "events.root" in done.stderr
    assert not (tmp_path / "h.root").exists()


def test_a_file_that_exists_is_kept(events: Path, tmp_path: Path) -> None:
    (tmp_path / "analysis.toml").write_text(ANALYSIS.replace("FILE", str(events)))
    (tmp_path / "h.root").write_text("mine")
    done = command(tmp_path / "analysis.toml", "--out", tmp_path / "h.root")
    assert done.returncode != 0 and "--force" in done.stderr
    assert (tmp_path / "h.root").read_text() == "mine"
    (tmp_path / "bad.toml").write_text(ANALYSIS.replace("FILE", str(tmp_path / "none.root")))
    assert command(tmp_path / "bad.toml", "--out", tmp_path / "h.root", "--force").returncode != 0
    assert (tmp_path / "h.root").read_text() == "mine"
    assert command(tmp_path / "analysis.toml", "--out", tmp_path / "h.root", "--force").returncode == 0
    assert sorted(one.suffix for one in tmp_path.iterdir()) == [".root", ".toml", ".toml"]


def test_steps_are_drawn_once_the_histograms_are_there(tmp_path: Path) -> None:
    path = tmp_path / "a.root"
    with sapwood.recreate(path) as file:
        file["t"] = {"x": np.arange(10.0)}
    text = f'files = "{path}:t"\n[frames.busy]\nfilter = {{ big = "x > 3" }}\n'
    text += '[frames.busy.vary.jes]\nup = { x = "x" }\n'
    text += '[histograms.x]\nframe = "busy"\nof = "x"\nbins = [10, 0, 10]\n'
    (tmp_path / "a.toml").write_text(text)
    done = command(tmp_path / "a.toml", "--out", tmp_path / "h.root", "--graph", tmp_path / "steps.svg")
    assert done.returncode == 0, done.stderr
    assert "6 of 10 (60.0 %)" in (tmp_path / "steps.svg").read_text()
    assert "no result depends on the variation jes:up" in done.stderr
    lost = command(
        tmp_path / "a.toml", "--out", tmp_path / "h.root", "--force", "--graph", tmp_path / "no/steps.svg"
    )
    assert lost.returncode != 0 and "cannot be written" in lost.stderr
    assert sapwood.open(tmp_path / "h.root")["x"].values().sum() == 6
    for other in ("a.toml", "h.root"):
        refused = command(
            tmp_path / "a.toml", "--out", tmp_path / "h.root", "--force", "--graph", tmp_path / other
        )
        assert refused.returncode != 0 and "name another one" in refused.stderr
