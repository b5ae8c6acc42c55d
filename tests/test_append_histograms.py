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
#include <TBuffer.h>
#include <TBufferJSON.h>
#include <TClonesArray.h>
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
struct Inner { TH1D deep; int n = 0; virtual ~Inner() {} ClassDef(Inner, 1) };
struct Outer { Inner inner; int m = 0; virtual ~Outer() {} ClassDef(Outer, 1) };
struct Counts : public TArrayI { int k = 0; ClassDef(Counts, 1) };
struct Length { int n = 0; virtual ~Length() {} ClassDef(Length, 1) };
struct Longer : public Length { float *x = nullptr; //[n]
   ~Longer() { delete[] x; }
   ClassDef(Longer, 1) };
struct Point : public TObject { TH1F shape; short q = 0; ClassDef(Point, 1) };
struct Drawn : public TObject {
   int number = 0;
   TH1F *drawn; //->
   TH1D own;
   TH2F plane;
   TProfile profile;
   TGraph graph;
   TH1I *maybe = nullptr;
   TArrayI counts;
   Outer outer;
   Counts derived;
   Longer longer;
   TClonesArray points;
   TList *nothing = nullptr;
   TObjArray empty;
   Drawn() : drawn(new TH1F), points("shapes::Point", 2) {}
   ~Drawn() { delete drawn, delete maybe; }
   ClassDef(Drawn, 1) };
// Another streamer than the description says.
struct Own : public TObject { int a = 0; int b = 0; ClassDef(Own, 1) };
struct HasOwn : public TObject { Own own; int k = 0; ClassDef(HasOwn, 1) };
struct Pointing : public TObject { TH1 *any = nullptr; TH1F one; ClassDef(Pointing, 1) };
// One class at several depths: at some the levels of splitting are used up.
struct Track { TH1F shape; int q = 0; virtual ~Track() {} ClassDef(Track, 1) };
struct Deep : public TObject { Track track; std::vector<Track> tracks; ClassDef(Deep, 1) };
struct Simple { double x = 0; int n = 0; virtual ~Simple() {} ClassDef(Simple, 1) };
struct Plain : public TObject { Simple inner; int k = 0; ClassDef(Plain, 1) };
template <class T> void other(const char *path, int split, int entries) {
   TFile file(path, "RECREATE");
   auto tree = new TTree("tree", "of ROOT");
   T *object = new T;
   tree->Branch("one.", &object, 32000, split);
   for (int k = 0; k < entries; k++) tree->Fill();
   file.Write();
}
inline void others(const char *folder, int split, int entries) {
   TH1::AddDirectory(false);
   other<HasOwn>(TString(folder) + "/own.root", split, entries);
   other<Pointing>(TString(folder) + "/pointing.root", split, entries);
   other<Deep>(TString(folder) + "/deep.root", split, entries);
   other<Plain>(TString(folder) + "/plain.root", split, entries);
   other<Drawn>(TString(folder) + "/drawn.root", split, entries);
}
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
   one.outer.m = k, one.outer.inner.n = -k;
   one.outer.inner.deep = TH1D("deep", "", 2, 0, 20), one.outer.inner.deep.Fill(k);
   one.derived.Set(k % 4), one.derived.Reset(k), one.derived.k = k;
   delete[] one.longer.x;
   one.longer.n = k, one.longer.x = new float[k + 1];
   for (int n = 0; n < k; n++) one.longer.x[n] = n / 2.f;
   one.points.Clear("C");
   for (int n = 0; n < k % 2; n++) {
      auto point = static_cast<Point *>(one.points.ConstructedAt(n));
      point->q = k, point->shape = TH1F("shape", "", 2, 0, 20), point->shape.Fill(k);
   }
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
      std::vector<TObject *> objects{(TObject *)one->drawn, (TObject *)&one->own, (TObject *)&one->plane, (TObject *)&one->profile,
                              (TObject *)&one->graph, (TObject *)one->maybe, (TObject *)&one->outer.inner.deep,
                                     (TObject *)&one->empty, (TObject *)one->nothing};
      for (auto point : one->points) objects.push_back(&static_cast<Point *>(point)->shape), row += std::to_string(static_cast<Point *>(point)->q);
      for (TObject *object : objects)
         row += object ? TBufferJSON::ConvertToJSON(object, 3).Data() : "null";
      for (int n = 0; n < one->counts.GetSize(); n++) row += " " + std::to_string(one->counts[n]);
      for (int n = 0; n < one->derived.GetSize(); n++) row += " " + std::to_string(one->derived[n]);
      row += " " + std::to_string(one->derived.k) + " " + std::to_string(one->outer.m) + " " + std::to_string(one->outer.inner.n);
      for (int n = 0; n < one->longer.n; n++) row += " " + std::to_string(one->longer.x[n]);
      rows.push_back(row);
   }
   return rows;
}
}
#ifndef __CLING__
void shapes::Own::Streamer(TBuffer &buffer) {
   int more = 77;
   if (buffer.IsReading()) {
      unsigned start, bytes;
      buffer.ReadVersion(&start, &bytes);
      TObject::Streamer(buffer);
      buffer >> a >> more >> b;
      buffer.CheckByteCount(start, bytes, IsA());
   } else {
      unsigned bytes = buffer.WriteVersion(IsA(), true);
      TObject::Streamer(buffer);
      buffer << a << more << b;
      buffer.SetByteCount(bytes, true);
   }
}
#endif
#ifdef __CLING__
#pragma link C++ class shapes::Inner+;
#pragma link C++ class shapes::Outer+;
#pragma link C++ class shapes::Counts+;
#pragma link C++ class shapes::Length+;
#pragma link C++ class shapes::Longer+;
#pragma link C++ class shapes::Point+;
#pragma link C++ class shapes::Drawn+;
#pragma link C++ class shapes::Own-;
#pragma link C++ class shapes::HasOwn+;
#pragma link C++ class shapes::Pointing+;
#pragma link C++ class shapes::Track+;
#pragma link C++ class shapes::Deep+;
#pragma link C++ class shapes::Simple+;
#pragma link C++ class shapes::Plain+;
#pragma link C++ class std::vector<shapes::Track>+;
#pragma link C++ function shapes::others;
#pragma link C++ function shapes::write;
#pragma link C++ function shapes::read;
#endif
"""
LOAD = "ROOT.gSystem.Load(sys.argv[1])\n"
WRITE = LOAD + "ROOT.shapes.write(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))\n"
OTHERS = LOAD + "ROOT.shapes.others(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))\n"
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
        bins, edges = np.histogram([1.0, 2.0, 2.0], bins=3, range=(0, 3))
        file["h"], file["d"] = (bins.astype("f4"), edges), (bins.astype("f8"), edges)
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
            ({"empty": [objects({"fUniqueID": 0, "fBits": 0})]}, "the TObjArray of object 0 has items"),
            ({"counts": [0.5]}, "member 'counts'"),
            ({"counts": "ab"}, "member 'counts'"),
            ({"drawn": None}, "member 'drawn' of .*was expected"),
            ({"own": 3}, "member 'own' of .*was expected"),
            ({"own": one["own"] | {"fNcells": 9}}, "TH1D 0 has an array of 5 numbers.*fNcells.*is 9"),
            ({"empty": "text"}, "a TObjArray is None, a list, or has the member 'items'"),
        ):
            with pytest.raises(sapwood.errors.MismatchError, match=words):
                file["tree"].extend({"one.": objects([one | bad])})
        words = ak.with_field(ak.Array([one]), ak.Array(["ab"]), "counts")
        with pytest.raises(sapwood.errors.MismatchError, match="type string were given where TArray"):
            file["tree"].extend({"one.": words})
    assert payloads(path) == before and sapwood.verify(path) == []


@pytest.mark.parametrize(("entries", "split"), [(3, 0), (3, 99), (0, 99)])
def test_what_has_no_values_is_refused_by_name(
    library: Path, tmp_path: Path, split: int, entries: int
) -> None:
    root(OTHERS, library, tmp_path, split, entries)
    own = "entries that are not as their classes" if entries else "Own, which is not split, where no entry"
    shapes = "TH1D, which is not split, where no entry tells|TH1F, which is not split"
    for name, words in (
        ("own", own),
        ("pointing", "pointers to TH1, which others of the file's classes derive from" if entries else "TH1"),
        *(() if entries else [("drawn", shapes)]),
    ):
        path = tmp_path / f"{name}.root"
        before = payloads(path)
        with sapwood.update(path) as file:
            with pytest.raises(sapwood.errors.UnsupportedError, match=words):
                file["tree"].extend({"one.": []})
        assert payloads(path) == before and sapwood.verify(path) == []


@pytest.mark.parametrize("split", [0, 1, 2, 3, 4, 99])
def test_one_class_at_several_depths(library: Path, tmp_path: Path, split: int) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    root(OTHERS, library, whole, 0, 2)
    root(OTHERS, library, tmp_path, split, 2)
    with sapwood.open(whole / "deep.root") as file:
        entry = file["tree"]["one."].array()[1:].tolist()
    track = entry[0]["track"]
    entry[0] |= {"track": track | {"q": 5}, "tracks": [track | {"q": k} for k in range(3)]}
    with sapwood.update(tmp_path / "deep.root") as file:
        file["tree"].extend({"one.": objects(entry)})
    assert sapwood.verify(tmp_path / "deep.root") == []
    code = (
        LOAD
        + """
file = ROOT.TFile(sys.argv[2])
tree = file.Get("tree")
tree.GetEntry(2)
one = getattr(tree, "one.")
answer([one.track.q, one.track.shape.GetNbinsX(), [track.q for track in one.tracks]])
"""
    )
    assert root(code, library, tmp_path / "deep.root") == [5, 1, [0, 1, 2]]


@pytest.mark.parametrize("split", [0, 1, 2, 3, 99])
def test_a_tree_without_entries_takes_objects_that_its_levels_do_not_split(
    library: Path, tmp_path: Path, split: int
) -> None:
    root(OTHERS, library, tmp_path, split, 0)
    with sapwood.update(tmp_path / "plain.root") as file:
        file["tree"].extend({"one.": objects([{"inner": {"x": 2.5, "n": 3}, "k": k} for k in range(2)])})
    code = (
        LOAD
        + """
file = ROOT.TFile(sys.argv[2])
tree = file.Get("tree")
tree.GetEntry(1)
one = getattr(tree, "one.")
answer([one.inner.x, one.inner.n, one.k])
"""
    )
    assert root(code, library, tmp_path / "plain.root") == [2.5, 3, 1]
