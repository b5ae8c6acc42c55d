"""Entries of classes that hold histograms, added from values to trees of real ROOT, which reads all of it without a word."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.entries import objects, payloads
from support.rootrun import compiled, root

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")

CODE = r"""
#include <TArrayI.h>
#include <TBufferJSON.h>
#include <TError.h>
#include <TFile.h>
#include <TGraph.h>
#include <TH1D.h>
#include <TH1F.h>
#include <TH1I.h>
#include <TH2F.h>
#include <TObjArray.h>
#include <TList.h>
#include <TProfile.h>
#include <TTree.h>
#include <memory>
#include <string>
#include <vector>
namespace shapes {
struct Drawn : public TObject {
   int number = 0;
   TH1F *drawn; //->
   TH1D own;
   TH2F plane;
   TProfile profile;
   TGraph graph;
   TH1I *maybe = nullptr;
   TArrayI counts;
   TList *nothing = nullptr;
   TObjArray empty;
   Drawn() : drawn(new TH1F) {}
   ~Drawn() { delete drawn, delete maybe; }
   ClassDef(Drawn, 1) };
inline void fill(Drawn &one, int k) {
   one.number = k;
   delete one.drawn, delete one.maybe;
   one.drawn = new TH1F(TString::Format("h%d", k), "of the event", 4 + k % 2, 0, 1);
   one.drawn->Fill(k / 10.), one.drawn->Fill(0.5, 2);
   const double edges[] = {0, 1, 3, 10};
   one.own = TH1D("own", TString::Format("title %d;x", k), 3, edges);
   one.own.Sumw2(), one.own.Fill(k), one.own.Fill(2, 0.5);
   one.plane = TH2F("plane", "", 2, 0, 1, 3, 0, 1), one.plane.Fill(0.3, k / 10.);
   one.profile = TProfile("profile", "", 2, 0, 1), one.profile.Fill(0.3, k);
   one.graph = TGraph(k % 3);
   for (int n = 0; n < k % 3; n++) one.graph.SetPoint(n, n, k);
   one.maybe = k % 2 ? new TH1I("maybe", "", 2, 0, 10) : nullptr;
   if (one.maybe) one.maybe->Fill(k);
   one.counts.Set(k % 3);
   for (int n = 0; n < k % 3; n++) one.counts[n] = k + n;
}
inline void write(const char *path, int split, int entries) {
   TH1::AddDirectory(false);
   TFile file(path, "RECREATE", "", 0);
   auto tree = new TTree("tree", "of ROOT");
   Drawn *one = new Drawn;
   fill(*one, 0);
   tree->Branch("one.", &one, 32000, split);
   for (int k = 0; k < entries; k++) { fill(*one, k); tree->Fill(); }
   file.Write();
}
inline std::vector<std::string> read(const char *path) {
   TH1::AddDirectory(false);
   TFile file(path);
   auto tree = file.Get<TTree>("tree");
   Drawn *one = new Drawn;
   tree->SetBranchAddress("one.", &one);
   std::vector<std::string> rows;
   for (int k = 0; k < tree->GetEntries(); k++) {
      if (tree->GetEntry(k) <= 0) ::Error("read", "entry %d", k);
      std::string row = std::to_string(one->number);
      for (TObject *object : {(TObject *)one->drawn, (TObject *)&one->own, (TObject *)&one->plane, (TObject *)&one->profile,
                              (TObject *)&one->graph, (TObject *)one->maybe})
         row += object ? TBufferJSON::ConvertToJSON(object, 3).Data() : "null";
      for (int n = 0; n < one->counts.GetSize(); n++) row += " " + std::to_string(one->counts[n]);
      rows.push_back(row);
   }
   return rows;
}
}
#ifdef __CLING__
#pragma link C++ class shapes::Drawn+;
#pragma link C++ function shapes::write;
#pragma link C++ function shapes::read;
#endif
"""
LOAD = "ROOT.gSystem.Load(sys.argv[1])\n"
WRITE = LOAD + "ROOT.shapes.write(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))\n"
READ = LOAD + "answer([str(row) for row in ROOT.shapes.read(sys.argv[2])])\n"
HALF, ALL = 5, 11
SPLITS = (0, 1, 99)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("classes"), "shapes", CODE)


@pytest.fixture(scope="module")
def written(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trees of real ROOT, and the same with the entries that are added here."""
    folder = tmp_path_factory.mktemp("written")
    for split in SPLITS:
        for entries in (HALF, ALL):
            root(WRITE, library, folder / f"{split}-{entries}.root", split, entries)
    return folder


def values(path: Path, form: str) -> Any:
    """The entries of a file, as arrays or as objects one by one."""
    with sapwood.open(path) as file:
        array = file["tree"]["one."].array()
        return array if form == "awkward" else objects(array.tolist())


def read_by_root(library: Path, path: Path) -> list[str]:
    """All members of all entries but the bits of TObject, which reading does not show."""
    return [re.sub(r'"fBits":\d+', "", row) for row in root(READ, library, path)]


@pytest.mark.parametrize("form", ["awkward", "objects"])
@pytest.mark.parametrize("split", SPLITS)
def test_entries_that_were_read_are_added(
    library: Path, written: Path, tmp_path: Path, split: int, form: str
) -> None:
    path, theirs = tmp_path / "file.root", written / f"{split}-{ALL}.root"
    shutil.copy(written / f"{split}-{HALF}.root", path)
    of = values(written / f"0-{ALL}.root", form)
    with sapwood.update(path) as file:
        file["tree"].extend({"one.": of[HALF : HALF + 1]})
        file["tree"].extend({"one.": of[HALF + 1 :]})
    read = read_by_root(library, path)
    assert len(read) == ALL
    assert read == read_by_root(library, theirs)
    assert sapwood.verify(path) == []
    with sapwood.open(path) as file, sapwood.open(theirs) as other:
        assert file["tree"].keys() == other["tree"].keys()
        for key in other["tree"].keys():
            assert str(file["tree"][key].array().tolist()) == str(other["tree"][key].array().tolist()), key
    assert {key: list(map(len, of)) for key, of in payloads(path).items()} == {
        key: list(map(len, of)) for key, of in payloads(theirs).items()
    }


def test_a_histogram_of_another_file_is_a_member(library: Path, written: Path, tmp_path: Path) -> None:
    path, other = tmp_path / "file.root", tmp_path / "other.root"
    shutil.copy(written / f"0-{HALF}.root", path)
    with sapwood.recreate(other) as file:
        values, edges = np.histogram([1.0, 2.0, 2.0], bins=3, range=(0, 3))
        file["h"], file["d"] = (values.astype("f4"), edges), (values.astype("f8"), edges)
    one = values(written / f"0-{ALL}.root", "awkward")[HALF].tolist()
    with sapwood.open(other) as file, sapwood.update(path) as into:
        with pytest.raises(sapwood.errors.MismatchError, match="a TH1F was expected, and a TH1D was given"):
            into["tree"].extend({"one.": objects([one | {"drawn": file["d"]}])})
        into["tree"].extend({"one.": objects([one | {"drawn": file["h"], "own": file["d"]}])})
    with sapwood.open(path) as file:
        last = file["tree"]["one."].array()[-1]
        assert last.drawn.TArrayF.tolist() == last.own.TArrayD.tolist() == [0, 0, 1, 2, 0]
    assert root(READ, library, path)[-1].count('"fArray":[0,0,1,2,0]') == 2


@pytest.mark.parametrize("split", [0, 99])
def test_bad_values_are_refused_and_nothing_is_lost(
    library: Path, written: Path, tmp_path: Path, split: int
) -> None:
    path = tmp_path / "file.root"
    shutil.copy(written / f"{split}-{HALF}.root", path)
    before = payloads(path)
    one = values(written / f"0-{ALL}.root", "awkward")[HALF].tolist()
    with sapwood.update(path) as file:
        for bad, words in (
            ({"empty": [objects({"fUniqueID": 0, "fBits": 0})]}, "TObjArray of object 0 holds objects"),
            ({"counts": [0.5]}, "member 'counts'"),
            ({"drawn": None}, "member 'drawn' of .*was expected"),
            ({"own": 3}, "member 'own' of .*was expected"),
            ({"empty": "text"}, "a TObjArray is None or has the members"),
        ):
            with pytest.raises(sapwood.errors.MismatchError, match=words):
                file["tree"].extend({"one.": objects([one | bad])})
    assert payloads(path) == before and sapwood.verify(path) == []
