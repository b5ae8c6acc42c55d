"""Classes of ROOT whose streamer is written by hand, and state that only unfinished files have, beside real ROOT."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
import sapwood

from support.rootrun import root

CLASSES = """
ROOT.gSystem.Load("libGraf3d")
file = ROOT.TFile(sys.argv[1], "RECREATE")
table = ROOT.TExMap()
table.Add(5, 50)
table.Add(7, -70)
table.Write("table")
ROOT.TExMap().Write("empty")
material = ROOT.TMaterial("iron", "of Lapland", 55.85, 26.0, 7.87, 1.76, 16.8)
material.SetFillColor(7)
material.Write("material")
mixture = ROOT.TMixture("water", "", 2)
mixture.DefineElement(0, 1, 1, 2)
mixture.DefineElement(1, 16, 8, 1)
mixture.Write("mixture")
image = ROOT.TAttImage(ROOT.TAttImage.kImgGood, 50, True)
file.WriteObjectAny(image, "TAttImage", "image")
file.Close()
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("streamers") / "classes.root"
    root(CLASSES, path)
    return path


def test_classes_with_streamers_of_their_own(written: Path) -> None:
    with sapwood.open(written) as file:
        entries = file["table"].tolist()["entries"]
        assert [(entry["fKey"], entry["fValue"]) for entry in entries] == [(5, 50), (7, -70)]
        assert file["empty"].tolist()["entries"] == []
        material = file["material"]
        names = ("fA", "fZ", "fDensity", "fRadLength", "fInterLength", "fFillColor")
        assert [material.member(name) for name in names] == pytest.approx([55.85, 26.0, 7.87, 1.76, 16.8, 7])
        mixture = file["mixture"]
        assert [list(mixture.member(name)) for name in ("fAmixt", "fZmixt", "fWmixt")] == [
            [1, 16],
            [1, 8],
            [2, 1],
        ]
        image = file["image"]
        assert (image.member("fImageCompression"), image.member("fConstRatio")) == (50, True)
        assert (
            image.member("fPalette").member("fNumPoints")
            == len(image.member("fPalette").member("fPoints"))
            == 12
        )


def test_a_table_of_numbers_is_written_for_root(written: Path, tmp_path: Path) -> None:
    with sapwood.open(written) as file, sapwood.recreate(tmp_path / "copy.root") as out:
        for name in ("table", "empty", "mixture", "material", "image"):
            out[name] = file[name]
    found = root(
        """
ROOT.gSystem.Load("libGraf3d")
file = ROOT.TFile.Open(sys.argv[1])
table = file.Get("table")
answer([table.GetSize(), table.GetValue(5), table.GetValue(7), table.GetValue(6), file.Get("empty").GetSize(),
        file.Get("mixture").GetNmixt(), file.Get("material").GetDensity(), file.Get("image").GetImageCompression()])
""",
        tmp_path / "copy.root",
    )
    assert found == [2, 50, -70, 0, 0, 2, pytest.approx(7.87), 50]


def test_versions_that_uproot_lowered(tmp_path: Path) -> None:
    path = tmp_path / "lowered.root"
    with sapwood.recreate(path) as file:
        file["t"] = {"x": [1, 2, 3]}
    content = bytearray(path.read_bytes())
    (version,) = struct.unpack(">i", content[4:8])
    content[4:8] = struct.pack(">i", version - 1_000_000)
    path.write_bytes(content)
    with sapwood.open(path) as found:
        assert found["t"]["x"].array().tolist() == [1, 2, 3]
    with sapwood.update(path) as more:
        more["text"] = "added"
    assert struct.unpack(">i", path.read_bytes()[4:8]) == (version,)
    with sapwood.open(path) as found:
        assert found["t"]["x"].array().tolist() == [1, 2, 3]


SAVED = """
import array
path, entries, basket_bytes, auto_flush = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
file = ROOT.TFile(path, "RECREATE", "", 0)
tree = ROOT.TTree("t", "t")
tree.SetAutoFlush(auto_flush)
features = ROOT.TIOFeatures()
features.Set("kGenerateOffsetMap")
tree.SetIOFeatures(features)
n, v = array.array("i", [0]), array.array("d", [0.0] * 20)
tree.Branch("n", n, "n/I", basket_bytes)
tree.Branch("v", v, "v[n]/D", basket_bytes)
for entry in range(entries):
    n[0] = entry % 4
    for item in range(n[0]):
        v[item] = entry + item / 10
    tree.Fill()
tree.AutoSave()
with open(path, "rb") as stored, open(path + ".copy", "wb") as copy:
    copy.write(stored.read())
file.Close()
answer(True)
"""


@pytest.mark.parametrize(
    ("entries", "basket_bytes", "auto_flush"),
    [(1, 64000, 0), (3, 1000, -30_000_000), (50, 32000, 5), (50, 1000, 0)],
)
def test_baskets_in_the_tree_whose_offsets_were_left_out(
    tmp_path: Path, entries: int, basket_bytes: int, auto_flush: int
) -> None:
    path = tmp_path / "saved.root"
    root(SAVED, path, entries, basket_bytes, auto_flush)
    wanted: list[Any] = [[entry + item / 10 for item in range(entry % 4)] for entry in range(entries)]
    with sapwood.open(f"{path}.copy") as file:
        assert file["t"]["v"].array().tolist() == wanted
        assert [row["v"].tolist() for row in file["t"].rows()] == wanted


def test_classes_of_root_in_a_file_that_was_never_closed(tmp_path: Path) -> None:
    root(
        """
import os
file = ROOT.TFile(sys.argv[1], "RECREATE")
function = ROOT.TF1("f", "[0]*x", 0, 1)
function.SetParameter(0, 3.0)
histogram = ROOT.TH1D("", "", 2, 0, 1)
histogram.Fill(0.7)
graph = ROOT.TGraphErrors(2)
graph.SetPoint(1, 4.0, 5.0)
objects = {
    "h1": histogram, "h2": ROOT.TH2D("", "", 2, 0, 1, 2, 0, 1), "p": ROOT.TProfile("", "", 2, 0, 1), "g": graph,
    "par": ROOT.TParameter["double"]("par", 2.5), "f": function,
}
for name, one in objects.items():
    file.WriteTObject(one, name)
os._exit(0)
""",
        tmp_path / "open.root",
    )
    with sapwood.open(tmp_path / "open.root") as file:
        assert file["h1"].values().tolist() == [0.0, 1.0]
        assert file["h2"].values().shape == (2, 2)
        assert file["p"].values().tolist() == [0.0, 0.0]
        assert file["g"].values("y").tolist() == [0.0, 5.0]
        assert file["par"].member("fVal") == 2.5
        assert file["f"].member("fNpar") == 1
