"""What `sapwood dump` prints is what jsroot reads: it draws it, and finds the numbers that are in the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sapwood
from sapwood import _core

from support import jsroot as npm
from support.rootrun import root

DATA = Path(__file__).resolve().parent.parent / "examples/data"
DRAW = """
import { readFileSync } from 'fs';
import { makeSVG, parse } from 'jsroot';
const object = parse(readFileSync(process.argv[2], 'utf8'));
const svg = await makeSVG({ object, option: process.argv[3] ?? '', width: 600, height: 400 });
const contents = Array.from({ length: object.fXaxis.fNbins }, (_, i) => object.getBinContent(i + 1));
console.log(JSON.stringify({ svg, contents, entries: object.fEntries }));
"""


@pytest.mark.parametrize("name", ["h1d", "h1f-var"])
def test_jsroot_draws_a_dumped_histogram(jsroot: Path, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert _core.command(["sapwood", "dump", f"{DATA / 'histograms.root'}:{name}"]) == 0
    (jsroot / "object.json").write_text(capfd.readouterr().out)
    drawn = npm.run(jsroot, DRAW, "object.json")
    histogram = sapwood.open(DATA / "histograms.root")[name]
    assert drawn["contents"] == pytest.approx(histogram.values().tolist())
    assert drawn["entries"] == histogram.member("fEntries")
    assert "<path" in drawn["svg"] and len(drawn["svg"]) > 2000


NESTED = """
file = ROOT.TFile(sys.argv[1], "RECREATE")
inner = ROOT.TObjString("innermost")
kept = [inner]
for _ in range(6000):
    outer = ROOT.TList()
    outer.Add(inner)
    kept.append(outer)
    inner = outer
file.WriteObject(inner, "deep")
file.Close()
"""


def test_lists_within_lists_are_left_out_where_they_are_too_deep(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "deep.root"
    root(NESTED, path)
    assert _core.command(["sapwood", "dump", "--compact", f"{path}:deep"]) == 0
    text = capfd.readouterr().out
    assert text.count('"_typename":"TList"') == 201 and text.count("nested deeper than 200 levels") == 1
    shown = json.loads(text)
    assert shown["_typename"] == "TList" and shown["arr"][0]["_typename"] == "TList"
