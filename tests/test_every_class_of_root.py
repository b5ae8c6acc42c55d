"""Every class that ROOT can construct by default: written by ROOT, read here, and compared with what ROOT reads."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sapwood

from support.rootjson import Comparison, resolve_references
from support.rootrun import root

WRITER = Path(__file__).parent / "support" / "everyclass.py"

NOT_READ = {
    "TClass": "the file describes members, and the streamer writes only those of TDictionary",
    "TClassTree": "the streamer writes other members than the file describes",
    "TMethodCall": "the file describes members, and the streamer writes only those of TObject",
    "TStreamerElement": "the TNamed in it has no TObject",
    "ROOT::Experimental::XRooFit::xRooNode": "its base is a list of pointers that share their objects",
    "ROOT::RNTuple": "an anchor without header and footer",
}
"""Objects that are refused."""

LEAVES = [f"TLeaf{kind}" for kind in ["", *"BCDFGILOS", "D32", "Element", "F16", "Object"]]

DIFFERENT = {
    **dict.fromkeys(LEAVES, "ROOT makes a length of 0 one as it reads"),
    "TPad": "ROOT computes the pixels as it reads",
    "TStyle": "ROOT's JSON has two members of one name",
    "TFoamSampler": "ROOT shows a null pointer as an array of nulls",
    **dict.fromkeys(("TDataMember", "TScatter", "TScatter2D"), "counters are unsigned here: this one is -1"),
    **dict.fromkeys(
        (
            *(f"ROOT::Fit::{name}Data" for name in ("Bin", "Fit", "UnBin")),
            "ROOT::RDF::RTrivialDS",
            "TASPngWriter",
        ),
        "of a list of pointers to numbers, ROOT writes the count alone: bytes",
    ),
    **dict.fromkeys(
        ("ROOT::Experimental::RTreeMapPainter", "RooStats::HistFactory::HistoToWorkspaceFactoryFast"),
        "the file does not describe the class of a member: bytes",
    ),
    **dict.fromkeys(
        (f"ROOT::Minuit2::{name}Minimizer" for name in ("Combined", "Minuit2", "VariableMetric")),
        "ROOT does not show the counter of a shared pointer",
    ),
    **dict.fromkeys(
        (
            "RooAddModel",
            "RooBinWidthFunction",
            "RooHistFunc",
            "RooLagrangianMorphFunc",
            "RooLinearCombination",
        ),
        "RooFit fills a list of references as it reads",
    ),
    "PiecewiseInterpolation": "RooFit makes a configuration as it reads",
}
"""Objects of which members differ from ROOT's."""

NOT_CONSTANT = {"TCandle"}
"""Classes whose constructor leaves members as the memory is."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    if importlib.util.find_spec("ROOT") is None:
        if os.environ.get("CI", "").lower() in ("1", "true", "yes"):
            pytest.fail("ROOT is required in CI")
        pytest.skip("real ROOT is not installed")
    folder = tmp_path_factory.mktemp("classes")
    done = subprocess.run(
        [sys.executable, WRITER, folder / "classes.root", folder / "classes.json"],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return folder / "classes.root", json.loads((folder / "classes.json").read_text())


def test_every_class(written: tuple[Path, dict[str, Any]]) -> None:
    path, found = written
    views = found["views"]
    refused, different = {}, {}
    compared = numbers = 0
    with sapwood.open(path) as file:
        for key in file.keys(cycle=False):
            if key not in views:
                continue
            try:
                value = file[key]
                value = value.tolist() if hasattr(value, "tolist") else value
            except sapwood.SapwoodError as error:
                refused[key] = str(error)
                continue
            try:
                expected = resolve_references(json.loads(views[key]))
            except ValueError:
                continue
            if not isinstance(value, (dict, list)) or expected is None:
                continue
            comparison = Comparison(lenient=True)
            comparison.value(expected, value)
            compared += 1
            numbers += comparison.compared
            if comparison.wrong:
                different[key] = comparison.wrong
    assert compared > 1000 and numbers > 30_000, (compared, numbers)
    assert {key: why for key, why in refused.items() if key not in NOT_READ} == {}
    known = DIFFERENT.keys() | NOT_CONSTANT
    assert {key: why for key, why in different.items() if key not in known} == {}
    assert {key for key in NOT_READ if key in views} <= refused.keys(), "entries of NOT_READ are read"
    assert {key for key in DIFFERENT if key in views} <= different.keys(), "entries of DIFFERENT are equal"


STORED = """
file = ROOT.TFile(sys.argv[1], "RECREATE")
ROOT.TNamed("a", "title").Write("named")
file.WriteObjectAny(ROOT.TUrl("https://who@host:8443/path/f.root?a=b#c"), "TUrl", "url")
key = file.GetKey("named")
key.SetTitle("of a key")
file.WriteObjectAny(key, "TKey", "key")
answer([key.GetObjlen(), key.GetKeylen(), key.GetSeekKey(), key.GetNbytes()])
file.Close()
"""

READ_BACK = """
file = ROOT.TFile.Open(sys.argv[1])
url, key = file.Get("url"), file.Get(sys.argv[2])
answer([url.GetUrl(), url.GetPort(), key.GetName(), key.GetTitle(), key.GetClassName(),
        [key.GetObjlen(), key.GetKeylen(), key.GetSeekKey(), key.GetNbytes()]])
"""


def test_keys_and_urls_as_objects(tmp_path: Path) -> None:
    numbers = root(STORED, tmp_path / "stored.root")
    with sapwood.open(tmp_path / "stored.root") as file, sapwood.recreate(tmp_path / "copy.root") as out:
        key, url = file["key"], file["url"]
        assert [key.member(name) for name in ("fObjlen", "fKeylen", "fSeekKey", "fNbytes")] == numbers
        texts = [key.member(name) for name in ("fName", "fTitle", "fClassName")]
        assert texts == ["named", "of a key", "TNamed"]
        assert (url.member("fHost"), url.member("fPort"), url.member("fAnchor")) == ("host", 8443, "c")
        out["named"], out["url"] = key, url
    wanted = root(READ_BACK, tmp_path / "stored.root", "key")
    assert wanted[1:] == [8443, "named", "of a key", "TNamed", numbers]
    assert root(READ_BACK, tmp_path / "copy.root", "named") == wanted
