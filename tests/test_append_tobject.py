"""Entries of classes that derive from ``TObject``, added from values to trees of real ROOT, which reads all of it without a word."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.entries import check, objects, payloads
from support.rootrun import compiled, root

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")

CODE = r"""
#include <TError.h>
#include <TFile.h>
#include <TNamed.h>
#include <TObject.h>
#include <TString.h>
#include <TTree.h>
#include <string>
#include <vector>
namespace made {
struct Hit : public TObject { float x = 0; int n = 0; std::vector<float> v; ClassDef(Hit, 1) };
struct Cell : public Hit { double e = 0; TString tag; ClassDef(Cell, 2) };
struct Plain { int k = 0; Hit hit; std::vector<Hit> hits; };
struct Name : public TNamed { int number = 0; TNamed inner; TObject bare; ClassDef(Name, 1) };
struct Quiet : public TObject { int q = 0; ClassDef(Quiet, 1) };
struct Event : public TObject {
   int run = 0;
   Hit hit;
   Cell cell;
   Plain plain;
   Name name;
   std::vector<Hit> hits;
   std::vector<Cell> cells;
   Hit *best = nullptr;
   ~Event() { delete best; }
   ClassDef(Event, 3) };
struct Keeper { int n = 0; Quiet quiet; };
inline void mark(TObject &object, int k) { object.SetUniqueID(k); object.SetBit(BIT(14), k % 2); }
inline void fill(Hit &hit, int k) {
   mark(hit, k);
   hit.x = k / 2.f;
   hit.n = -k;
   hit.v.assign(k % 3, k / 4.f);
}
inline void fill(Cell &cell, int k) {
   fill(static_cast<Hit &>(cell), k);
   cell.e = k / 8.;
   cell.tag = TString::Format("tag %d", k);
}
inline void fill(Plain &plain, int k) {
   plain.k = k;
   fill(plain.hit, k);
   plain.hits.resize(k % 2);
   for (auto &hit : plain.hits) fill(hit, k + 1);
}
inline void fill(Name &name, int k) {
   mark(name, k);
   name.SetNameTitle(TString::Format("name %d", k), "title");
   name.number = k;
   mark(name.inner, k + 1);
   name.inner.SetNameTitle("inner", TString::Format("title %d", k));
   mark(name.bare, k + 2);
}
inline void fill(Quiet &quiet, int k) { quiet.q = k; }
inline void fill(Event &event, int k) {
   mark(event, k);
   event.run = k;
   fill(event.hit, k);
   fill(event.cell, k + 1);
   fill(event.plain, k + 2);
   fill(event.name, k);
   event.hits.resize(k % 4);
   for (auto &hit : event.hits) fill(hit, k + 3);
   event.cells.resize(k % 3);
   for (auto &cell : event.cells) fill(cell, k + 4);
   delete event.best;
   event.best = nullptr;
   if (k % 2) { event.best = new Hit; fill(*event.best, k); }
}
// All that an object is, as text.
inline TString show(const TObject &object) { return TString::Format("%u %x", object.GetUniqueID(), object.TestBits(~0u)); }
inline TString show(const Hit &hit) {
   TString text = "{" + show(static_cast<const TObject &>(hit)) + TString::Format(" %g %d", hit.x, hit.n);
   for (auto value : hit.v) text += TString::Format(" %g", value);
   return text + "}";
}
inline TString show(const Cell &cell) { return show(static_cast<const Hit &>(cell)) + TString::Format("%g %s", cell.e, cell.tag.Data()); }
inline TString show(const TNamed &named) {
   return show(static_cast<const TObject &>(named)) + TString::Format("<%s><%s>", named.GetName(), named.GetTitle());
}
inline TString show(const Plain &plain) {
   TString text = TString::Format("(%d ", plain.k) + show(plain.hit);
   for (auto &hit : plain.hits) text += show(hit);
   return text + ")";
}
inline TString show(const Name &name) {
   return show(static_cast<const TNamed &>(name)) + TString::Format(" %d ", name.number) + show(name.inner) + " " + show(name.bare);
}
inline TString show(const Quiet &quiet) { return TString::Format("%d", quiet.q); }
inline TString show(const Event &event) {
   TString text = show(static_cast<const TObject &>(event)) + TString::Format(" %d ", event.run);
   text += show(event.hit) + show(event.cell) + show(event.plain) + show(event.name) + " hits";
   for (auto &hit : event.hits) text += show(hit);
   for (auto &cell : event.cells) text += show(cell);
   return event.best ? text + " best " + show(*event.best) : text;
}
struct Tree {
   Event *event = new Event;
   Hit *hit = new Hit;
   Cell *cell = new Cell;
   Plain *plain = new Plain;
   Name *name = new Name;
   Quiet *quiet = new Quiet;
   void fill(int k) {
      made::fill(*event, k); made::fill(*hit, k); made::fill(*cell, k); made::fill(*plain, k); made::fill(*name, k); made::fill(*quiet, k);
   }
   std::string show() const {
      TString all = made::show(*event) + "|" + made::show(*hit) + "|" + made::show(*cell) + "|" + made::show(*plain) + "|" + made::show(*name) + "|" + made::show(*quiet);
      return all.Data();
   }
};
inline void write(const char *path, int split, int entries) {
   Quiet::Class()->IgnoreTObjectStreamer();
   TFile file(path, "RECREATE", "", 0);
   auto tree = new TTree("tree", "of ROOT");
   Tree one;
   tree->Branch("event.", &one.event, 32000, split);
   tree->Branch("hit", &one.hit, 32000, split);
   tree->Branch("cell.", &one.cell, 32000, split);
   tree->Branch("plain.", &one.plain, 32000, split);
   tree->Branch("name.", &one.name, 32000, split);
   tree->Branch("quiet.", &one.quiet, 32000, split);
   for (int k = 0; k < entries; k++) { one.fill(k); tree->Fill(); }
   file.Write();
}
inline std::vector<std::string> read(const char *path) {
   TFile file(path);
   auto tree = file.Get<TTree>("tree");
   Tree one;
   tree->SetBranchAddress("event.", &one.event);
   tree->SetBranchAddress("hit", &one.hit);
   tree->SetBranchAddress("cell.", &one.cell);
   tree->SetBranchAddress("plain.", &one.plain);
   tree->SetBranchAddress("name.", &one.name);
   tree->SetBranchAddress("quiet.", &one.quiet);
   std::vector<std::string> rows;
   for (int k = 0; k < tree->GetEntries(); k++) {
      if (tree->GetEntry(k) <= 0) ::Error("read", "entry %d", k);
      rows.push_back(one.show());
   }
   return rows;
}
template <class T> void other(const char *path, const char *name, T *object, int split) {
   TFile file(path, "RECREATE");
   auto tree = new TTree("tree", "of ROOT");
   tree->Branch("one.", &object, 32000, split);
   tree->Fill();
   file.Write();
}
inline void others(const char *folder, int split) {
   Quiet::Class()->IgnoreTObjectStreamer();
   other(TString(folder) + "/keeper.root", "one.", new Keeper, split);
}
}
#ifdef __CLING__
#pragma link C++ class made::Hit+;
#pragma link C++ class made::Cell+;
#pragma link C++ struct made::Plain+;
#pragma link C++ class made::Name+;
#pragma link C++ class made::Quiet+;
#pragma link C++ class made::Event+;
#pragma link C++ struct made::Keeper+;
#pragma link C++ class std::vector<made::Hit>+;
#pragma link C++ class std::vector<made::Cell>+;
#pragma link C++ function made::write;
#pragma link C++ function made::read;
#pragma link C++ function made::others;
#endif
"""
LOAD = "ROOT.gSystem.Load(sys.argv[1])\n"
WRITE = (
    LOAD
    + "for split in (0, 1, 2, 99): ROOT.made.write(f'{sys.argv[2]}/{split}.root', split, int(sys.argv[3]))\n"
)
READ = LOAD + "answer([str(row) for row in ROOT.made.read(sys.argv[2])])\n"
BRANCHES = ("event.", "hit", "cell.", "plain.", "name.", "quiet.")
SPLITS = (0, 1, 2, 99)
TOBJECT = ("fUniqueID", "fBits", "TObject")
MARK = 1 << 14
HALF, ALL = 6, 14
"""Entries that ROOT writes, and with those that are added."""


def tobject(k: int) -> dict[str, Any]:
    """What ``mark`` makes of a TObject, without the bits that say where it is in memory: ROOT stores none of these."""
    return {"fUniqueID": k, "fBits": MARK * (k % 2)}


def hit(k: int) -> dict[str, Any]:
    return tobject(k) | {"x": k / 2, "n": -k, "v": [k / 4] * (k % 3)}


def cell(k: int) -> dict[str, Any]:
    return hit(k) | {"e": k / 8, "tag": f"tag {k}"}


def plain(k: int) -> dict[str, Any]:
    return {"k": k, "hit": hit(k), "hits": [hit(k + 1)] * (k % 2)}


def name(k: int) -> dict[str, Any]:
    inner = tobject(k + 1) | {"fName": "inner", "fTitle": f"title {k}"}
    own = {"fName": f"name {k}", "fTitle": "title", "number": k}
    return tobject(k) | own | {"inner": inner, "bare": tobject(k + 2)}


def event(k: int) -> dict[str, Any]:
    return tobject(k) | {
        "run": k, "hit": hit(k), "cell": cell(k + 1), "plain": plain(k + 2), "name": name(k),
        "hits": [hit(k + 3)] * (k % 4), "cells": [cell(k + 4)] * (k % 3),
        "best": hit(k) if k % 2 else None,
    }  # fmt: skip


def rows(first: int, last: int) -> dict[str, list[dict[str, Any]]]:
    makers = event, hit, cell, plain, name, lambda k: {"q": k}
    return {branch: [make(k) for k in range(first, last)] for branch, make in zip(BRANCHES, makers)}


def without_tobject(value: Any) -> Any:
    """Rows as reading shows them."""
    if isinstance(value, dict):
        return {key: without_tobject(of) for key, of in value.items() if key.split(".")[-1] not in TOBJECT}
    return [without_tobject(of) for of in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("classes"), "made", CODE)


@pytest.fixture(scope="module")
def written(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trees of real ROOT, and the same with the entries that are added here."""
    folder = tmp_path_factory.mktemp("written")
    for entries in (HALF, ALL):
        (folder / f"{entries}").mkdir()
        root(WRITE, library, folder / f"{entries}", entries)
    return folder


@pytest.mark.parametrize("form", ["awkward", "objects"])
@pytest.mark.parametrize("split", SPLITS)
def test_entries_are_those_that_root_would_write(
    library: Path, written: Path, tmp_path: Path, split: int, form: str
) -> None:
    """Also byte by byte, with the members of TObject given."""
    path = tmp_path / "file.root"
    shutil.copy(written / f"{HALF}/{split}.root", path)
    with sapwood.update(path) as file:
        for first, last in ((HALF, HALF + 1), (HALF + 1, ALL)):
            of = {
                branch: ak.Array(values) if form == "awkward" else objects(values)
                for branch, values in rows(first, last).items()
            }
            file["tree"].extend(of)
    theirs = written / f"{ALL}/{split}.root"
    check(READ, library, path, theirs, BRANCHES)


@pytest.mark.parametrize("split", SPLITS)
def test_members_of_tobject_are_those_of_a_new_object(
    library: Path, written: Path, tmp_path: Path, split: int
) -> None:
    """Where they are not given: reading does not show the members of TObject."""
    path = tmp_path / "file.root"
    shutil.copy(written / f"{HALF}/{split}.root", path)
    new = without_tobject(rows(HALF, ALL))
    with sapwood.update(path) as file:
        # A record needs a field, which a TObject alone has none of then.
        whole = ("event.", "name.")
        file["tree"].extend(
            {name: objects(of) if name in whole else ak.Array(of) for name, of in new.items()}
        )
    found, theirs = root(READ, library, path), root(READ, library, written / f"{ALL}/{split}.root")
    assert found[:HALF] == theirs[:HALF]
    assert found[HALF:] == [as_new(text) for text in theirs[HALF:]] != theirs[HALF:]
    assert sapwood.verify(path) == []


def as_new(text: str) -> str:
    """What ``show`` says of objects that were given no number and no bit."""
    return re.sub(r"\b\d+ ([23]00)[04]000\b", r"0 \g<1>0000", text)


@pytest.mark.parametrize("split", SPLITS)
def test_entries_that_were_read_are_added(written: Path, tmp_path: Path, split: int) -> None:
    path = tmp_path / "file.root"
    shutil.copy(written / f"{HALF}/{split}.root", path)
    with sapwood.open(written / f"{ALL}/0.root") as file:
        read = {branch: file["tree"][branch].array() for branch in ("hit", "cell.", "plain.", "quiet.")}
    given = rows(HALF, ALL)
    with sapwood.update(path) as file:
        more = {branch: array[HALF:] for branch, array in read.items()}
        file["tree"].extend(more | {branch: ak.Array(given[branch]) for branch in ("event.", "name.")})
    with sapwood.open(path) as file, sapwood.open(written / f"{ALL}/{split}.root") as other:
        for branch in read:
            ours, theirs = file["tree"][branch].array(), other["tree"][branch].array()
            assert without_tobject(ours.tolist()) == without_tobject(theirs.tolist())


@pytest.mark.parametrize("split", [0, 99])
def test_bad_values_are_refused_and_nothing_is_lost(
    library: Path, written: Path, tmp_path: Path, split: int
) -> None:
    path = tmp_path / "file.root"
    shutil.copy(written / f"{HALF}/{split}.root", path)
    good = rows(HALF, ALL)

    def bad(**members: Any) -> Any:
        changed = [row | members for row in good["hit"]]
        return ak.Array([{key: of for key, of in row.items() if of is not None} for row in changed])

    referenced = [row | {"fBits": row["fBits"] | 16 * (k == 3)} for k, row in enumerate(good["hit"])]
    with sapwood.update(path) as file:
        tree = file["tree"]
        for hits, words in (
            (bad(x=None), "objects of class made::Hit lack 'x'"),
            (bad(n="text"), "int32|number"),
            (bad(v=1.5), "vector"),
            (bad(fBits=-1), "uint32 was expected"),
            (bad(fUniqueID="text"), "uint32|number"),
            (ak.Array(referenced), "fBits of object 3 has the bit kIsReferenced"),
            (objects(referenced), "fBits of object 3 has the bit kIsReferenced"),
        ):
            with pytest.raises(sapwood.errors.MismatchError, match=words) as caught:
                tree.extend({name: ak.Array(of) for name, of in good.items()} | {"hit": hits})
            assert "hit" in str(caught.value)
        tree.extend({name: ak.Array(of) for name, of in good.items()})
    theirs = written / f"{ALL}/{split}.root"
    assert root(READ, library, path) == root(READ, library, theirs)
    assert payloads(path) == payloads(theirs)


@pytest.mark.parametrize("split", [0, 99])
def test_split_objects_that_leave_their_tobject_out_are_refused(
    library: Path, tmp_path: Path, split: int
) -> None:
    root(LOAD + "ROOT.made.others(sys.argv[2], int(sys.argv[3]))", library, tmp_path, split)
    path = tmp_path / "keeper.root"
    before = payloads(path)
    with sapwood.update(path) as file:
        if split:
            words = "IgnoreTObjectStreamer.*sapwood merge --append.*quiet"
            with pytest.raises(sapwood.errors.UnsupportedError, match=words):
                file["tree"].extend({"one.": []})
        else:
            file["tree"].extend({"one.": ak.Array([{"n": 7, "quiet": {"q": 8}}])})
    if split:
        assert payloads(path) == before and sapwood.verify(path) == []
    # They are added by merging.
    shutil.copy(path, tmp_path / "more.root")
    sapwood.merge(path, [tmp_path / "more.root"], append=True)
    assert sapwood.open(path)["tree"].num_entries == (2 if split else 4)
