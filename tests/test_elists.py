"""Entry lists that are made here and read by real ROOT, which draws with them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")

ENTRIES = 150_000
READ = """
import json, os, sys, ROOT
ROOT.gErrorIgnoreLevel = ROOT.kWarning
folder = sys.argv[1]
lists = ROOT.TFile(f"{folder}/lists.root")
found, kept = {}, []
for key in lists.GetListOfKeys():
    made = key.ReadObj()
    size = int(made.GetN())
    numbers = [int(made.GetEntry(n)) for n in range(min(size, 2000))]
    # Drawing goes on where a list was read last: it gets one of its own, and nothing is deleted before the
    # end.
    fresh, file = key.ReadObj(), ROOT.TFile(f"{folder}/a.root")
    tree = file.Get("t")
    kept += [made, fresh, file, tree]
    if made.ClassName() == "TEntryList":
        tree.SetEntryList(fresh)
    else:
        tree.SetEventList(fresh)
    found[key.GetName()] = [made.ClassName(), size, numbers, int(tree.Draw("x", "x >= 10", "goff")), made.GetTitle()]
chain = ROOT.TChain("t")
for name in ("a", "b"):
    chain.Add(f"{folder}/{name}.root")
other = ROOT.TFile(f"{folder}/both.root")
both = other.Get("both")
chain.SetEntryList(both)
found["both"] = [both.ClassName(), int(both.GetN()), [], int(chain.Draw("x", "", "goff")), both.GetTitle()]
print(json.dumps(found), flush=True)
os._exit(0)
"""


def test_root_reads_lists_that_are_made_here(tmp_path: Path) -> None:
    pytest.importorskip("ROOT")
    x = np.arange(ENTRIES)
    for name in ("a", "b"):
        with sapwood.recreate(tmp_path / f"{name}.root") as file:
            file["t"] = {"x": x}
    cuts = {
        "few": "x % 1000 == 3",
        "half": "x % 2 == 0",
        "mixed": "x < 64000 || x % 777 == 0",
        "none": "x < 0",
        "all": "1",
    }
    wanted = {
        "few": x[x % 1000 == 3],
        "half": x[::2],
        "mixed": x[(x < 64000) | (x % 777 == 0)],
        "none": x[:0],
        "all": x,
    }
    with sapwood.open(tmp_path / "a.root") as file, sapwood.recreate(tmp_path / "lists.root") as out:
        tree = file["t"]
        for name, cut in cuts.items():
            made = tree.draw(f">>{name}", cut)
            assert made.classname == "TEntryList" and made.numbers().tolist() == wanted[name].tolist()
            assert tree.arrays(["x"], entries=made, library="np")["x"].tolist() == wanted[name].tolist()
            out[name] = made
        out["events"] = sapwood.objects.event_list(wanted["few"])
    with sapwood.recreate(tmp_path / "both.root") as out:
        both = sapwood.draw(f"{tmp_path}/[ab].root:t", ">>both", "x % 1000 == 3")
        assert len(both) == 300 and [len(one) for one in both.lists] == [150, 150]
        out["both"] = both
    done = subprocess.run([sys.executable, "-c", READ, tmp_path], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "Error" not in done.stderr, (done.stdout + done.stderr)[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    for name, numbers in wanted.items():
        classname, size, entries, drawn, title = found[name]
        assert (classname, size, title) == ("TEntryList", len(numbers), cuts[name])
        assert entries == numbers[:2000].tolist() and drawn == np.count_nonzero(numbers >= 10)
    assert found["events"][:4] == [
        "TEventList",
        150,
        wanted["few"].tolist(),
        np.count_nonzero(wanted["few"] >= 10),
    ]
    assert found["both"][1] == found["both"][3] == 300


def test_lists_respect_ranges_masks_and_friends(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["t"] = {"x": np.arange(20), "run": [1] * 20, "luminosityBlock": np.arange(20)}
        file["f"] = {"y": np.arange(20)[::-1].copy()}
    with sapwood.open(tmp_path / "a.root") as file:
        tree = file["t"]
        tree.add_friend(file["f"])
        assert tree.draw(">>e", "y < 5").numbers().tolist() == [15, 16, 17, 18, 19]
        assert tree.draw(">>e", "y < 5", entry_stop=17).numbers().tolist() == [15, 16]
        assert tree.draw(">>e", "x > 3", lumi_mask={1: [[0, 5]]}).numbers().tolist() == [4, 5]
        assert tree.draw(">>e", entries=[3, 7]).numbers().tolist() == [3, 7]
    masked = sapwood.draw(f"{tmp_path}/a.root:t", ">>e", "x > 3", lumi_mask={1: [[0, 5]]})
    assert masked.lists[0].numbers().tolist() == [4, 5]


@pytest.mark.parametrize("entries", [[-1], [0.5], [[1, 2]]])
def test_what_are_no_entries_is_refused(entries: list[object]) -> None:
    with pytest.raises(sapwood.errors.MismatchError, match="numbers of entries, from 0 on"):
        sapwood.objects.entry_list(entries)
