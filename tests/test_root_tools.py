"""What real ROOT does with files of ours beside reading them: `hadd`, RDataFrame, `Scan`, filling on; and how large its own are."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.rootrun import root

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")

ROWS = 3_000


@dataclasses.dataclass
class Spot:
    x: np.float32
    y: np.float32
    charge: np.int16


@dataclasses.dataclass
class Shot:
    number: int
    spots: list[Spot]
    name: str


CPP = """
struct Spot { float x, y; short charge; };
struct Shot { Long64_t number; std::vector<Spot> spots; std::string name; };
#ifdef __CLING__
#pragma link C++ struct Spot+;
#pragma link C++ class std::vector<Spot>+;
#pragma link C++ struct Shot+;
#endif
"""

LOAD = f"""
import os, tempfile
os.chdir(os.path.dirname(sys.argv[1]))
open("shot.C", "w").write('#include <string>\\n#include <vector>\\n#include <Rtypes.h>\\n' + {CPP!r})
assert ROOT.gROOT.ProcessLine(".L shot.C+") == 0
"""


def columns(start: int, rows: int = ROWS) -> dict[str, Any]:
    number = np.arange(start, start + rows)
    lengths = number % 7
    ends = np.arange(lengths.sum())
    spots = ak.zip(
        {
            "x": (ends % 1000 / 8).astype("f4"),
            "y": (ends % 77).astype("f4"),
            "charge": (ends % 9).astype("i2"),
        }
    )
    return {
        "x": np.sqrt(number), "i": (number % 321).astype("i4"),
        "hits": ak.unflatten((ends % 500 / 4).astype("f4"), lengths),
        "vector": ak.unflatten((ends % 123).astype("i2"), lengths),
        "text": [f"row {n % 100}" for n in number],
        "shot": ak.zip(
            {"number": number, "spots": ak.unflatten(spots, lengths), "name": [f"s{n % 50}" for n in number]},
            depth_limit=1,
        ),
    }  # fmt: skip


TYPES = {
    "x": "f8",
    "i": "i4",
    "hits": "var * float32",
    "vector": "vector<int16_t>",
    "text": "string",
    "shot": Shot,
}


def write(path: Path, start: int, split: int = 99, compression: str = "zlib:1") -> None:
    with sapwood.recreate(path, compression=compression) as file:
        tree = file.mktree("deep/tree", TYPES, split_level=split, auto_flush=1_000)
        tree.extend(columns(start))
        file["h"] = np.histogram(columns(start)["x"], 10, (0, 100))


def check(tree: Any, at: int, start: int, rows: int = ROWS) -> None:
    """Entries of a tree from ``at`` on are those that `columns` makes from ``start`` on."""
    for name, wanted in columns(start, rows).items():
        found = tree[name].array(entry_start=at, entry_stop=at + rows)
        if name != "shot":
            assert ak.to_list(found) == ak.to_list(wanted), name
            continue
        for member in ("number", "name"):
            assert ak.to_list(found[member]) == ak.to_list(wanted[member]), member
        for member in ("x", "y", "charge"):
            of = (
                member if member in found["spots"].fields else f"spots.{member}"
            )  # as the branch of a split member is called
            assert ak.to_list(found["spots"][of]) == ak.to_list(wanted["spots"][member]), member


HADD = """
import os
answer(os.path.join(os.path.dirname(ROOT.__file__), "bin", "hadd"))
"""


@pytest.mark.parametrize("split", [0, 99])
def test_hadd_takes_our_baskets_as_they_are(tmp_path: Path, split: int) -> None:
    for part in range(3):
        write(tmp_path / f"{part}.root", part * ROWS, split)
    merged = tmp_path / "merged.root"
    command = [root(HADD), "-fk", "-v", "99", merged, *(tmp_path / f"{part}.root" for part in range(3))]
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=300, check=False
    )
    said = done.stdout + done.stderr
    # classes are unknown to it, and it says nothing else
    complaints = [
        line
        for line in said.splitlines()
        if line.startswith(("Error", "Warning")) and "no dictionary" not in line
    ]
    assert done.returncode == 0 and not complaints, said[-3000:]
    with sapwood.open(merged) as file:
        tree = file["deep/tree"]
        baskets = [sapwood.open(tmp_path / f"{part}.root")["deep/tree"] for part in range(3)]
        # fast: each basket is there, none was made anew
        assert {b.name: b.num_baskets for b in tree.branches} == {
            b.name: sum(t[b.name].num_baskets for t in baskets) for b in tree.branches
        }
        for part in range(3):
            check(tree, part * ROWS, part * ROWS)
        assert file["h"].values().sum() == sum(columns(p * ROWS)["x"].size for p in range(3))
    assert not sapwood.verify(merged).damaged


FRAME = (
    LOAD
    + """
frame = ROOT.RDataFrame("deep/tree", sys.argv[1])
sums = [frame.Sum(name) for name in ("x", "i", "hits", "vector")]
spots = frame.Define("charges", "double sum = 0; for (auto &spot : shot.spots) sum += spot.charge; return sum;").Sum("charges")
cut = frame.Filter("i > 300 && hits.size() > 2").Count()
file = ROOT.TFile(sys.argv[1])
tree = file.Get("deep/tree")
tree.SetScanField(0)
lines = tree.Scan("x:i:Length$(hits):shot.spots.charge", "i == 5", "", 20)
answer([[float(s.GetValue()) for s in sums], float(spots.GetValue()), cut.GetValue(), lines])
"""
)


def test_rdataframe_and_scan(tmp_path: Path) -> None:
    path = tmp_path / "file.root"
    write(path, 0, split=0)
    sums, charges, passed, lines = root(FRAME, path)
    data = columns(0)
    flat = {
        name: float(np.asarray(ak.flatten(data[name], axis=None), "f8").sum())
        for name in ("x", "i", "hits", "vector")
    }
    assert sums == pytest.approx(list(flat.values()), rel=1e-12)
    assert charges == float(ak.sum(data["shot"]["spots"]["charge"]))
    assert passed == int(ak.sum((data["i"] > 300) & (ak.num(data["hits"]) > 2)))
    assert lines == int(ak.sum(ak.num(data["hits"])[:20][data["i"][:20] == 5]))  # a line an item


FILL = (
    LOAD
    + """
from array import array
file = ROOT.TFile(sys.argv[1], "UPDATE")
tree = file.Get("deep/tree")
x, i, n, hits, text = array("d", [0]), array("i", [0]), array("i", [0]), array("f", 10 * [0]), bytearray(20)
vector, shot = ROOT.std.vector("short")(), ROOT.Shot()
counter = tree.GetLeaf("hits").GetLeafCount().GetBranch().GetName()
for name, place in [("x", x), ("i", i), (counter, n), ("hits", hits), ("text", text)]:
    tree.SetBranchAddress(name, place)
tree.SetBranchAddress("vector", vector)
tree.SetBranchAddress("shot", shot)
first = int(sys.argv[2])
base = 0
for row in range(first, first + int(sys.argv[3])):
    x[0], i[0], n[0] = row ** 0.5, row % 321, row % 7
    vector.clear(); shot.spots.clear()
    for k in range(row % 7):
        at = base + k
        hits[k] = at % 500 / 4
        vector.push_back(at % 123)
        spot = ROOT.Spot(); spot.x, spot.y, spot.charge = at % 1000 / 8, at % 77, at % 9
        shot.spots.push_back(spot)
    base += row % 7
    words = f"row {row % 100}".encode() + b"\\0"
    text[: len(words)] = words
    shot.number, shot.name = row, f"s{row % 50}"
    tree.Fill()
file.cd("deep")
tree.Write("", ROOT.TObject.kOverwrite)
file.Close()
"""
)


@pytest.mark.parametrize("split", [0, 99])
def test_root_goes_on_with_our_tree(tmp_path: Path, split: int) -> None:
    path = tmp_path / "file.root"
    write(path, 0, split)
    root(FILL, path, ROWS, 500)
    with sapwood.open(path) as file:
        check(file["deep/tree"], 0, 0)
        check(file["deep/tree"], ROWS, ROWS, 500)


SIZES = (
    LOAD
    + """
source = ROOT.TFile(sys.argv[1])
tree = source.Get("deep/tree")
shot = ROOT.Shot()
tree.SetBranchAddress("shot", shot)
sizes = {}
for split in (0, 99):
    for setting in (101, 404, 505):
        out = ROOT.TFile(f"root_{split}_{setting}.root", "RECREATE", "", setting)
        # the same baskets at equal settings: ROOT's own size is tuned to its memory
        copy = ROOT.TTree("tree", "")
        copy.SetAutoFlush(1000)
        copy.Branch("shot", shot, 512 << 10, split)
        for k in range(tree.GetEntries()):
            tree.GetEntry(k)
            copy.Fill()
        copy.Write()
        sizes[f"{split} {setting}"] = sum(b.GetZipBytes("*") for b in copy.GetListOfBranches())
        out.Close()
answer(sizes)
"""
)


def test_objects_are_no_larger_than_those_of_root(tmp_path: Path) -> None:
    source = tmp_path / "source.root"
    write(source, 0, split=0)
    theirs = root(SIZES, source)
    for split in (0, 99):
        for setting, number in (("zlib:1", 101), ("lz4:4", 404), ("zstd:5", 505)):
            path = tmp_path / f"ours_{split}_{number}.root"
            with sapwood.recreate(path, compression=setting) as file:
                file.mktree("tree", {"shot": Shot}, split_level=split, auto_flush=1000).extend(
                    {"shot": columns(0)["shot"]}
                )
            with sapwood.open(path) as file:
                ours = sum(branch.compressed_bytes for branch in file["tree"].branches)
            assert ours <= 1.02 * theirs[f"{split} {number}"], (
                f"split {split}, {setting}: {ours} and {theirs[f'{split} {number}']} of ROOT"
            )


PLAIN = """
from array import array
import numpy as np
source = ROOT.TFile(sys.argv[1])
tree = source.Get("deep/tree")
sizes = {}
for setting in (101, 404, 505):
    out = ROOT.TFile(sys.argv[2], "RECREATE", "", setting)
    tree.SetBranchStatus("*", 1)
    tree.SetBranchStatus("shot*", 0)
    copy = tree.CloneTree(0)
    copy.SetAutoFlush(1000)
    copy.SetBasketSize("*", 512 << 10)
    for branch in copy.GetListOfBranches(): branch.SetCompressionSettings(setting)
    for k in range(tree.GetEntries()):
        tree.GetEntry(k)
        copy.Fill()
    copy.Write()
    sizes[str(setting)] = sum(b.GetZipBytes("*") for b in copy.GetListOfBranches())
    out.Close()
answer(sizes)
"""


def test_columns_are_no_larger_than_those_of_root(tmp_path: Path) -> None:
    source = tmp_path / "source.root"
    write(source, 0)
    theirs = root(PLAIN, source, tmp_path / "theirs.root")
    for setting, number in (("zlib:1", 101), ("lz4:4", 404), ("zstd:5", 505)):
        path = tmp_path / f"ours_{number}.root"
        with sapwood.recreate(path, compression=setting) as file:
            data = columns(0)
            del data["shot"]
            file.mktree(
                "tree", {name: kind for name, kind in TYPES.items() if name != "shot"}, auto_flush=1000
            ).extend(data)
        with sapwood.open(path) as file:
            ours = sum(branch.compressed_bytes for branch in file["tree"].branches)
        assert ours <= 1.02 * theirs[str(number)], f"{setting}: {ours} and {theirs[str(number)]} of ROOT"
