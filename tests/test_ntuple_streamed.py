"""RNTuples with fields that a class's streamer writes: real ROOT writes them, and reads what is added."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import sapwood

from support.rootrun import compiled, root

CODE = r"""
#include <TObject.h>
#include <TString.h>
#include <map>
#include <string>
#include <vector>
namespace streamed {
struct Point { float x = 0; int n = 0; };
struct Inner : public TObject { int fInner = 0; std::vector<Point> fPoints; ClassDef(Inner, 3); };
struct Whole {
   int fNumber = 0;
   TString fName;
   std::vector<std::string> fWords;
   std::vector<Point> fPoints;
   std::map<int, double> fMap;
   double fThree[3] = {0, 0, 0};
   Inner fInner;
};
struct First : public TObject { int fFirst = 0; ClassDef(First, 1); };
struct Second : public TObject { double fSecond = 0; ClassDef(Second, 4); };
struct Holder { TObject *fObject = nullptr; ~Holder() { delete fObject; } Holder() = default; Holder(const Holder &) = delete; };
inline void fill(Whole &whole, int k) {
   whole.fNumber = k;
   whole.fName = TString::Format("name %d", k);
   whole.fWords.assign(k % 3, std::string(k % 5, 'w'));
   whole.fPoints.assign(k % 4, Point{k / 2.f, k});
   whole.fMap.clear();
   for (int i = 0; i < k % 3; i++) whole.fMap[i] = i / 4. + k;
   for (int i = 0; i < 3; i++) whole.fThree[i] = k + i;
   whole.fInner.fInner = -k;
   whole.fInner.fPoints.assign(k % 2, Point{1.f, k});
}
inline bool is_same(const std::vector<Point> &one, const std::vector<Point> &other) {
   if (one.size() != other.size()) return false;
   for (size_t i = 0; i < one.size(); i++) if (one[i].x != other[i].x || one[i].n != other[i].n) return false;
   return true;
}
// Whether a value is the one that `fill` makes of its number.
inline bool is_whole(const Whole &whole) {
   Whole own;
   fill(own, whole.fNumber);
   bool same = own.fName == whole.fName && own.fWords == whole.fWords && own.fMap == whole.fMap;
   same = same && is_same(own.fPoints, whole.fPoints) && is_same(own.fInner.fPoints, whole.fInner.fPoints);
   for (int i = 0; i < 3; i++) same = same && own.fThree[i] == whole.fThree[i];
   return same && own.fInner.fInner == whole.fInner.fInner;
}
inline void point(Holder &holder, int kind, int k) {
   delete holder.fObject;
   holder.fObject = nullptr;
   if (kind == 1) { auto one = new First; one->fFirst = k; holder.fObject = one; }
   if (kind == 2) { auto one = new Second; one->fSecond = k / 2.; holder.fObject = one; }
}
inline double pointed(const Holder &holder) {
   if (auto one = dynamic_cast<First *>(holder.fObject)) return one->fFirst;
   if (auto one = dynamic_cast<Second *>(holder.fObject)) return one->fSecond;
   return -1;
}
}
#ifdef __CLING__
#pragma link C++ struct streamed::Point+;
#pragma link C++ class streamed::Inner+;
#pragma link C++ options=rntupleStreamerMode(true) class streamed::Whole+;
#pragma link C++ class streamed::First+;
#pragma link C++ class streamed::Second+;
#pragma link C++ options=rntupleStreamerMode(true) class streamed::Holder+;
#endif
"""
WRITE = """
ROOT.gSystem.Load(sys.argv[1])
first, last, kind = map(int, sys.argv[3:])
model = ROOT.RNTupleModel.Create()
fields = {"whole": "streamed::Whole", "wholes": "std::vector<streamed::Whole>"}
if kind:
    fields["holder"] = "streamed::Holder"
for name, of in fields.items():
    model.AddField(ROOT.RFieldBase.Create(name, of).Unwrap())
writer = ROOT.RNTupleWriter.Recreate(ROOT.std.move(model), "t", sys.argv[2])
entry = writer.CreateEntry()
for k in range(first, last):
    ROOT.streamed.fill(entry["whole"], k)
    entry["wholes"].resize(k % 3)
    for i in range(k % 3):
        ROOT.streamed.fill(entry["wholes"][i], k + i)
    if kind:
        ROOT.streamed.point(entry["holder"], kind, k)
    writer.Fill(entry)
del writer
"""
READ = """
ROOT.gSystem.Load(sys.argv[1])
reader = ROOT.RNTupleReader.Open("t", sys.argv[2])
entry = reader.CreateEntry()
rows = []
for k in range(reader.GetNEntries()):
    reader.LoadEntry(k, entry)
    assert ROOT.streamed.is_whole(entry["whole"]), k
    assert all(ROOT.streamed.is_whole(one) for one in entry["wholes"]), k
    row = [entry["whole"].fNumber, [one.fNumber for one in entry["wholes"]]]
    if len(sys.argv) > 3:
        row.append(ROOT.streamed.pointed(entry["holder"]))
    rows.append(row)
answer(rows)
"""


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Classes with dictionaries, compiled by ROOT."""
    return compiled(tmp_path_factory.mktemp("classes"), "streamed", CODE)


def numbers(first: int, last: int) -> list[list[Any]]:
    """What the entries of ``WRITE`` are."""
    return [[k, [k + i for i in range(k % 3)]] for k in range(first, last)]


def sound(path: Path) -> None:
    found = sapwood.verify(path)
    assert not found and not found.damaged, [str(finding) for finding in found]


def test_files_with_other_classes_behind_pointers_are_merged(classes: Path, tmp_path: Path) -> None:
    """Each file describes the classes that it met: the sum describes both."""
    grown, other = tmp_path / "grown.root", tmp_path / "other.root"
    root(WRITE, classes, grown, 0, 20, 1)
    root(WRITE, classes, other, 20, 50, 2)
    before = os.path.getsize(grown)
    sapwood.merge(grown, other, append=True)
    assert os.path.getsize(grown) > before
    sound(grown)
    pointed = [[float(k)] for k in range(20)] + [[k / 2] for k in range(20, 50)]
    rows = [row + value for row, value in zip(numbers(0, 50), pointed, strict=True)]
    assert root(READ, classes, grown, "holder") == rows
    ours = sapwood.open(grown)["t"]["holder"].array(library="np")
    assert [one["fObject"]["fFirst"] for one in ours[:20]] == list(range(20))
    assert [one["fObject"]["fSecond"] for one in ours[20:]] == [k / 2 for k in range(20, 50)]


def test_entries_of_streamed_fields_are_added(classes: Path, tmp_path: Path) -> None:
    grown, other = tmp_path / "grown.root", tmp_path / "other.root"
    root(WRITE, classes, grown, 0, 20, 0)
    root(WRITE, classes, other, 20, 50, 0)
    more = sapwood.open(other)["t"].arrays()
    with sapwood.update(grown) as file, file.append("t") as ntuple:
        ntuple.extend({name: more[name] for name in more.fields})
    sound(grown)
    assert root(READ, classes, grown) == numbers(0, 50)
    ours = sapwood.open(grown)["t"].arrays()
    assert ours.whole[20:].to_list() == more.whole.to_list()
    assert ours.wholes[20:].to_list() == more.wholes.to_list()


def test_values_of_another_class_are_refused_and_nothing_is_lost(classes: Path, tmp_path: Path) -> None:
    path = tmp_path / "refused.root"
    root(WRITE, classes, path, 0, 5, 0)
    more = sapwood.open(path)["t"].arrays()
    with sapwood.update(path) as file, file.append("t") as ntuple:
        with pytest.raises(sapwood.SapwoodError, match="whole"):
            ntuple.extend({"whole": [1.5, 2.5], "wholes": more.wholes[:2]})
    sound(path)
    assert root(READ, classes, path) == numbers(0, 5)


def test_pointers_in_streamed_fields_are_refused_by_name(classes: Path, tmp_path: Path) -> None:
    path = tmp_path / "pointers.root"
    root(WRITE, classes, path, 0, 5, 1)
    with sapwood.update(path) as file:
        with pytest.raises(sapwood.SapwoodError, match="(?s)pointers.*holder"):
            file.append("t")
    sound(path)
