"""Sums of objects against real ROOT: member by member what its ``Merge`` and its ``hadd`` make of the same files."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from support.rootobjects import COMPARE
from support.rootrun import root

sapwood = pytest.importorskip("sapwood")

HERE = Path(__file__).resolve().parent
HADD = """
import subprocess
from pathlib import Path
hadd = Path(ROOT.__file__).parent / "bin" / "hadd"
if not hadd.exists():
    hadd = Path(str(ROOT.gSystem.Which(ROOT.gSystem.Getenv("PATH") or "", "hadd")))
done = subprocess.run([str(hadd), "-f", "-v", "0", *sys.argv[1:]], capture_output=True, text=True, timeout=300)
answer([done.returncode, done.stdout + done.stderr])
"""


def add_up(place: Path) -> dict[str, str]:
    """Merges three files; gives why which objects were left out."""
    files = [str(place / f"in{number}.root") for number in range(3)]
    refused: dict[str, str] = {}
    while skipped := sapwood.merge(place / "ours.root", files, skip=True, exclude=list(refused)).skipped:
        # An input is left out whole, and tells of the first object alone.
        found = {re.search(r"object (\w+)", text)[1]: text for text in skipped.values()}
        assert not found.keys() & refused.keys(), found
        refused |= found
    return refused


@pytest.mark.parametrize("seed", [int(seed) for seed in os.environ.get("SAPWOOD_SEEDS", "1").split(",")])
def test_histograms_at_random(tmp_path: Path, seed: int) -> None:
    count = 200
    refused = root((HERE / "oracle" / "sums.py").read_text(), seed, count, tmp_path)
    said = add_up(tmp_path)
    # Where only inner edges differ, ROOT adds bins that are not the same.
    other_edges = {name for name, text in said.items() if "edges differ" in text}
    assert said.keys() - other_edges == set(refused) - other_edges, said
    compared = root(COMPARE, tmp_path / "root.root", tmp_path / "ours.root")
    assert [text for text in compared["differences"] if re.split("[: ]", text)[0] not in said] == []
    assert compared["same"] > count / 3


def test_every_class_as_hadd(tmp_path: Path) -> None:
    root((HERE / "oracle" / "sums_of_all.py").read_text(), 1, tmp_path)
    files = [tmp_path / name for name in ("root.root", "in0.root", "in1.root", "in2.root")]
    assert root(HADD, *files) == [0, ""]
    assert add_up(tmp_path) == {}
    compared = root(COMPARE, tmp_path / "root.root", tmp_path / "ours.root")
    assert compared["differences"] == []
    assert compared["same"] > 60


def test_files_of_other_classes(tmp_path: Path) -> None:
    write = """
for place, name in enumerate(["TH1F", "TH1D", "TH1F"]):
    file = ROOT.TFile(f"{sys.argv[1]}/in{place}.root", "recreate")
    hist = getattr(ROOT, name)("h", "title", 2, 0, 2)
    hist.SetDirectory(ROOT.nullptr)
    file.WriteTObject(hist)
    file.Close()
"""
    root(write, tmp_path)
    assert "a TH1D cannot be added to a TH1F" in add_up(tmp_path)["h"]
    with pytest.raises(sapwood.errors.MismatchError, match=r"in1\.root"):
        sapwood.merge(tmp_path / "none.root", [tmp_path / f"in{number}.root" for number in range(3)])
    assert not (tmp_path / "none.root").exists()


def test_limits_are_found_when_buffers_are_full(tmp_path: Path) -> None:
    write = """
import random
chance = random.Random(5)
ROOT.TH1.AddDirectory(False)
files = [ROOT.TFile(f"{sys.argv[1]}/in{place}.root", "recreate") for place in range(3)]
for number in range(60):
    bins, low, integer = chance.choice([2, 4, 5, 10]), chance.uniform(-3, 3), chance.random() < 0.6
    high = low + chance.uniform(0.5, 60)
    for file in files:
        hist = ROOT.TH1D(f"o{number}", "title", bins, 0, 0)
        hist.SetBuffer(100)
        hist.GetXaxis().SetBit(ROOT.TAxis.kIsInteger, integer)
        for _ in range(70):
            hist.Fill(chance.uniform(low, high))
        file.WriteTObject(hist)
for file in files:
    file.Close()
files = [ROOT.TFile(f"{sys.argv[1]}/in{place}.root") for place in range(3)]
out = ROOT.TFile(f"{sys.argv[1]}/root.root", "recreate")
refused = []
ROOT.gErrorIgnoreLevel = ROOT.kFatal
for number in range(60):
    total, *others = [file.Get(f"o{number}") for file in files]
    for other in others:
        inputs = ROOT.TList()
        inputs.Add(other)
        if total.Merge(inputs) < 0:
            refused.append(f"o{number}")
            break
    else:
        out.WriteTObject(total)
out.Close()
answer(refused)
"""
    refused = root(write, tmp_path)
    said = add_up(tmp_path)
    assert said.keys() == set(refused), said
    found = root(COMPARE, tmp_path / "root.root", tmp_path / "ours.root")["differences"]
    assert [text for text in found if re.split("[: ]", text)[0] not in said] == []


def test_weights_that_cancel_out_as_hadd(tmp_path: Path) -> None:
    """After two of four files the total weight is zero: ROOT then takes means from the centres of the bins."""
    make = """
for number, (x, weight) in enumerate([(0.2, 5.0), (0.7, -5.0), (1.1, 3.0), (1.9, 2.0)]):
    file = ROOT.TFile(f"{sys.argv[1]}/w{number}.root", "recreate")
    one = ROOT.TH1D("one", "", 2, 0, 2)
    two = ROOT.TH2F("two", "", 2, 0, 2, 3, 0, 2)
    one.Fill(x, weight)
    two.Fill(x, x, weight)
    file.Write()
    file.Close()
answer(True)
"""
    assert root(make, tmp_path)
    files = [tmp_path / f"w{number}.root" for number in range(4)]
    assert root(HADD, tmp_path / "root.root", *files) == [0, ""]
    sapwood.merge(tmp_path / "ours.root", files)
    compared = root(COMPARE, tmp_path / "root.root", tmp_path / "ours.root")
    assert compared["differences"] == [] and compared["same"] == 2
