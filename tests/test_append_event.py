"""Entries of classes like the ``Event`` of ROOT's tutorial, added from values to trees of real ROOT, which reads all of it without a word."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from support.entries import check, objects, payloads
from support.rootrun import compiled, root

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")

CODE = r"""
#include <TBits.h>
#include <TClonesArray.h>
#include <TError.h>
#include <TFile.h>
#include <TObject.h>
#include <TProcessID.h>
#include <TRef.h>
#include <TRefArray.h>
#include <TString.h>
#include <TTree.h>
#include <TVirtualStreamerInfo.h>
#include <string>
#include <vector>
namespace page {
struct Hit : public TObject { float x = 0; short q = 0; ClassDef(Hit, 1) };
struct Track : public Hit {
   double p = 0;
   int nq = 0;
   float *qs = nullptr; //[nq]
   std::vector<float> v;
   TString tag;
   Hit inner;
   Track() {}
   Track(const Track &other) : Hit(other) { *this = other; }
   Track &operator=(const Track &other) {
      Hit::operator=(other);
      p = other.p, v = other.v, tag = other.tag, inner = other.inner;
      delete[] qs;
      nq = other.nq, qs = nq ? new float[nq] : nullptr;
      std::copy(other.qs, other.qs + nq, qs);
      return *this;
   }
   ~Track() { delete[] qs; }
   ClassDef(Track, 2) };
struct Header { int run = 0; Long64_t number = 0; virtual ~Header() {} ClassDef(Header, 1) };
struct Counted : public TObject {
   int n = 0;
   unsigned m = 0;
   float *f = nullptr; //[n]
   double *d = nullptr; //[n]
   char *c = nullptr; //[n]
   unsigned char *b = nullptr; //[m]
   short *s = nullptr; //[n]
   unsigned short *us = nullptr; //[n]
   int *i = nullptr; //[n]
   unsigned *ui = nullptr; //[n]
   long *l = nullptr; //[n]
   unsigned long *ul = nullptr; //[n]
   Long64_t *ll = nullptr; //[n]
   ULong64_t *ull = nullptr; //[n]
   bool *o = nullptr; //[n]
   ~Counted() { clear(); }
   void clear() {
      delete[] f, delete[] d, delete[] c, delete[] b, delete[] s, delete[] us, delete[] i, delete[] ui;
      delete[] l, delete[] ul, delete[] ll, delete[] ull, delete[] o;
      f = nullptr, d = nullptr, c = nullptr, b = nullptr, s = nullptr, us = nullptr, i = nullptr, ui = nullptr;
      l = nullptr, ul = nullptr, ll = nullptr, ull = nullptr, o = nullptr;
   }
   ClassDef(Counted, 1) };
struct More : public Counted {
   int k = 0;
   float *g = nullptr; //[n]
   ~More() { delete[] g; }
   ClassDef(More, 1) };
struct Event : public TObject {
   char type[8] = {};
   int run = 0;
   int nvertex = 0;
   Header header;
   float *distance = nullptr; //[nvertex]
   TClonesArray *tracks; //->
   TClonesArray *slow; //->
   TClonesArray hits;
   TClonesArray *loose;
   TClonesArray held; //||
   TBits bits;
   Hit whole; //||
   std::vector<Hit> wholes; //||
   std::vector<Track> list;
   Event()
      : tracks(new TClonesArray("page::Track", 4)), slow(new TClonesArray("page::Track", 4)), hits("page::Hit", 4),
        loose(new TClonesArray("page::Hit", 4)), held("page::Hit", 4) {
      slow->BypassStreamer(false);
      slow->SetName("slow ones");
   }
   ~Event() { delete[] distance, delete tracks, delete slow, delete loose; }
   ClassDef(Event, 4) };
struct Links : public TObject {
   TClonesArray *tracks; //->
   TRef last;
   TRefArray *muons; //->
   TRefArray *high;
   TRefArray own;
   std::vector<TRef> all;
   Links() : tracks(new TClonesArray("page::Hit", 4)), muons(new TRefArray), high(new TRefArray) {}
   ~Links() { delete tracks, delete muons, delete high; }
   ClassDef(Links, 1) };
struct Packed : public TObject { int n = 0; Double32_t *values = nullptr; //[n]
   ClassDef(Packed, 1) };
struct Words : public TObject { char *words = nullptr; ClassDef(Words, 1) };
struct Rows : public TObject { int n = 0; float *rows[2] = {}; //[n]
   ClassDef(Rows, 1) };
struct Holds : public TObject { TClonesArray *hits; //->
   Holds() : hits(new TClonesArray("page::Hit", 4)) {}
   ClassDef(Holds, 1) };
inline void mark(TObject &object, int k) { object.SetUniqueID(k); object.SetBit(BIT(14), k % 2); }
inline void fill(Hit &hit, int k) { mark(hit, k); hit.x = k / 2.f; hit.q = -k; }
inline void fill(Track &track, int k) {
   fill(static_cast<Hit &>(track), k);
   track.p = k / 4.;
   delete[] track.qs;
   track.nq = k % 3;
   track.qs = track.nq ? new float[track.nq] : nullptr;
   for (int n = 0; n < track.nq; n++) track.qs[n] = k + n / 8.f;
   track.v.assign(k % 2, k / 8.f);
   track.tag = TString::Format("tag %d", k);
   fill(track.inner, k + 1);
}
template <class T> void numbers(T *&into, int n, int k) {
   into = n ? new T[n] : nullptr;
   for (int i = 0; i < n; i++) into[i] = T(k + i);
}
inline void fill(Counted &one, int k) {
   mark(one, k);
   one.clear();
   one.n = k % 4;
   one.m = (k + 1) % 3;
   numbers(one.f, one.n, k), numbers(one.d, one.n, k), numbers(one.c, one.n, k), numbers(one.b, one.m, k);
   numbers(one.s, one.n, k), numbers(one.us, one.n, k), numbers(one.i, one.n, k), numbers(one.ui, one.n, k);
   numbers(one.l, one.n, k), numbers(one.ul, one.n, k), numbers(one.ll, one.n, k), numbers(one.ull, one.n, k);
   numbers(one.o, one.n, k);
}
inline void fill(More &one, int k) {
   fill(static_cast<Counted &>(one), k);
   one.k = k;
   delete[] one.g;
   numbers(one.g, one.n, 2 * k);
}
template <class T> void fill(TClonesArray &into, int items, int k) {
   into.Clear("C");
   for (int n = 0; n < items; n++) fill(*static_cast<T *>(into.ConstructedAt(n)), k + n);
}
inline void fill(Event &event, int k) {
   mark(event, k);
   strcpy(event.type, k % 2 ? "odd" : "even");
   event.run = k;
   event.nvertex = k % 3;
   event.header.run = k, event.header.number = 10 * k;
   delete[] event.distance;
   numbers(event.distance, event.nvertex, k);
   fill<Track>(*event.tracks, k % 4, k);
   fill<Track>(*event.slow, k % 3, k + 1);
   fill<Hit>(event.hits, (k + 1) % 3, k + 2);
   fill<Hit>(*event.loose, k % 2, k + 3);
   fill<Hit>(event.held, (k + 2) % 4, k + 4);
   char bytes[8] = {1, 2, 3, 4, 5, 6, 7, char(k)};
   event.bits.Clear();
   event.bits.Set(3 * k + 1, bytes);
   fill(event.whole, k);
   event.wholes.resize(k % 3);
   for (auto &hit : event.wholes) fill(hit, k + 5);
   event.list.resize(k % 2);
   for (auto &track : event.list) fill(track, k + 6);
}
inline void fill(Links &links, int k) {
   TProcessID::SetObjectCount(0);
   fill<Hit>(*links.tracks, k % 3, k);
   links.muons->Clear(), links.high->Clear(), links.own.Clear();
   links.last = nullptr;
   links.all.clear();
   if (k % 3 == 0) return;
   for (int n = 0; n < k % 3; n++) {
      auto hit = links.tracks->At(n);
      hit->SetUniqueID(0), hit->ResetBit(BIT(4));
      links.muons->Add(hit);
      links.last = hit;
      links.all.push_back(TRef(hit));
   }
   links.high->Add(links.tracks->At(0));
   links.own.Add(links.tracks->At(0));
}
// All that an object is, as text.
inline TString show(const TObject &object) { return TString::Format("%u %x", object.GetUniqueID() & 0xffffff, object.TestBits(~0u)); }
inline TString show(const Hit &hit) { return "{" + show(static_cast<const TObject &>(hit)) + TString::Format(" %g %d}", hit.x, hit.q); }
inline TString show(const Track &track) {
   TString text = show(static_cast<const Hit &>(track)) + TString::Format("%g", track.p);
   for (int n = 0; n < track.nq; n++) text += TString::Format(" %g", track.qs[n]);
   for (auto value : track.v) text += TString::Format(";%g", value);
   return text + track.tag + show(track.inner);
}
template <class T> TString all(const T *from, int n) {
   TString text = "[";
   for (int i = 0; i < n; i++) text += TString::Format("%g ", double(from[i]));
   return text + "]";
}
inline TString show(const Counted &one) {
   return show(static_cast<const TObject &>(one)) + all(one.f, one.n) + all(one.d, one.n) + all(one.c, one.n) + all(one.b, one.m) +
      all(one.s, one.n) + all(one.us, one.n) + all(one.i, one.n) + all(one.ui, one.n) + all(one.l, one.n) + all(one.ul, one.n) +
      all(one.ll, one.n) + all(one.ull, one.n) + all(one.o, one.n);
}
inline TString show(const More &one) { return show(static_cast<const Counted &>(one)) + TString::Format("%d", one.k) + all(one.g, one.n); }
template <class T> TString show(const TClonesArray &items) {
   TString text = TString::Format("(%s %d:", items.GetName(), items.CanBypassStreamer());
   for (int n = 0; n < items.GetEntriesFast(); n++) text += show(*static_cast<T *>(items.At(n)));
   return text + ")";
}
inline TString show(const Event &event, bool whole) {
   TString text = show(static_cast<const TObject &>(event)) + event.type + TString::Format(" %d %d %lld", event.run, event.header.run, event.header.number);
   text += all(event.distance, event.nvertex);
   text += show<Track>(*event.tracks) + show<Track>(*event.slow) + show<Hit>(event.hits) + show<Hit>(*event.loose) + show<Hit>(event.held);
   for (unsigned bit = 0; bit < event.bits.GetNbits(); bit++) text += event.bits.TestBitNumber(bit) ? "1" : "0";
   text += show(event.whole);
   for (auto &hit : event.wholes) text += show(hit);
   for (auto &track : event.list) text += show(track);
   return text;
}
inline TString show(const Links &links) {
   TString text = show<Hit>(*links.tracks);
   auto named = [](TObject *object) { return object ? show(*static_cast<Hit *>(object)) : TString("null"); };
   text += named(links.last.GetObject());
   for (auto array : {links.muons, links.high, const_cast<TRefArray *>(&links.own)}) {
      text += "/";
      for (int n = 0; n < array->GetEntriesFast(); n++) text += named(array->At(n));
   }
   for (auto &one : links.all) text += "|" + named(one.GetObject());
   return text;
}
struct Tree {
   Event *event = new Event;
   Counted *counted = new Counted;
   More *more = new More;
   Links *links = new Links;
   void fill(int k) { page::fill(*event, k), page::fill(*counted, k), page::fill(*more, k), page::fill(*links, k); }
   std::string show(bool whole) const {
      return (page::show(*event, whole) + "#" + page::show(*counted) + "#" + page::show(*more) + "#" + page::show(*links)).Data();
   }
};
inline void write(const char *path, int split, int entries, bool by_member = true) {
   TVirtualStreamerInfo::SetStreamMemberWise(by_member);
   TFile file(path, "RECREATE", "", 0);
   auto tree = new TTree("tree", "of ROOT");
   Tree one;
   one.fill(0);
   tree->Branch("event.", &one.event, 32000, split);
   tree->Branch("counted.", &one.counted, 32000, split);
   tree->Branch("more.", &one.more, 32000, split);
   tree->Branch("links.", &one.links, 32000, split);
   for (int k = 0; k < entries; k++) { one.fill(k); tree->Fill(); }
   file.Write();
}
inline std::vector<std::string> read(const char *path) {
   TFile file(path);
   auto tree = file.Get<TTree>("tree");
   Tree one;
   tree->SetBranchAddress("event.", &one.event);
   tree->SetBranchAddress("counted.", &one.counted);
   tree->SetBranchAddress("more.", &one.more);
   tree->SetBranchAddress("links.", &one.links);
   std::vector<std::string> rows;
   for (int k = 0; k < tree->GetEntries(); k++) {
      if (tree->GetEntry(k) <= 0) ::Error("read", "entry %d", k);
      rows.push_back(one.show(true));
   }
   return rows;
}
template <class T> void other(const char *path, T *object, int split, int entries) {
   TFile file(path, "RECREATE");
   auto tree = new TTree("tree", "of ROOT");
   tree->Branch("one.", &object, 32000, split);
   for (int k = 0; k < entries; k++) tree->Fill();
   file.Write();
}
inline void others(const char *folder, int split) {
   other(TString(folder) + "/packed.root", new Packed, split, 1);
   other(TString(folder) + "/words.root", new Words, split, 1);
   other(TString(folder) + "/rows.root", new Rows, split, 1);
   other(TString(folder) + "/holds.root", new Holds, split, 0);
}
}
#ifdef __CLING__
#pragma link C++ class page::Hit+;
#pragma link C++ class page::Track+;
#pragma link C++ class page::Header+;
#pragma link C++ class page::Counted+;
#pragma link C++ class page::More+;
#pragma link C++ class page::Event+;
#pragma link C++ class page::Links+;
#pragma link C++ class std::vector<page::Hit>+;
#pragma link C++ class std::vector<page::Track>+;
#pragma link C++ class std::vector<TRef>+;
#pragma link C++ class page::Packed+;
#pragma link C++ class page::Words+;
#pragma link C++ class page::Rows+;
#pragma link C++ class page::Holds+;
#pragma link C++ function page::write;
#pragma link C++ function page::others;
#pragma link C++ function page::read;
#endif
"""
LOAD = "ROOT.gSystem.Load(sys.argv[1])\n"
WRITE = (
    LOAD
    + "for split in (0, 1, 2, 99):\n"
    + "    ROOT.page.write(f'{sys.argv[2]}/{split}.root', split, int(sys.argv[3]), sys.argv[4] == 'True')\n"
)
READ = LOAD + "answer([str(row) for row in ROOT.page.read(sys.argv[2])])\n"
BRANCHES = ("event.", "counted.", "more.", "links.")
SPLITS = (0, 1, 2, 99)
MARK, REFERENCED = 1 << 14, 1 << 4 | 1 << 3
HALF, ALL = 6, 14
"""Entries that ROOT writes, and with those that are added."""


def tobject(k: int) -> dict[str, Any]:
    """What ``mark`` makes of a TObject."""
    return {"fUniqueID": k, "fBits": MARK * (k % 2)}


def hit(k: int) -> dict[str, Any]:
    return tobject(k) | {"x": k / 2, "q": -k}


def track(k: int) -> dict[str, Any]:
    charges = [k + n / 8 for n in range(k % 3)]
    own = {"p": k / 4, "nq": k % 3, "qs": charges, "v": [k / 8] * (k % 2), "tag": f"tag {k}"}
    return hit(k) | own | {"inner": hit(k + 1)}


def several(make: Any, items: int, k: int) -> list[Any]:
    return [make(k + n) for n in range(items)]


def counted(k: int) -> dict[str, Any]:
    n, m = k % 4, (k + 1) % 3
    wholes = {name: [k + i for i in range(n)] for name in ("c", "s", "us", "i", "ui", "l", "ul", "ll", "ull")}
    floats = {name: [float(k + i) for i in range(n)] for name in ("f", "d")}
    bools = {"o": [k + i != 0 for i in range(n)]}
    return tobject(k) | {"n": n, "m": m, "b": [k + i for i in range(m)]} | wholes | floats | bools


def more(k: int) -> dict[str, Any]:
    return counted(k) | {"k": k, "g": [2.0 * k + i for i in range(k % 4)]}


def bits(k: int) -> dict[str, Any]:
    """A ``TBits``, whose bytes are an array with a length."""
    used = (3 * k + 8) // 8
    return {"fNbits": 3 * k + 1, "fNbytes": used, "fAllBits": [1, 2, 3, 4, 5, 6, 7, k][:used]}


def event(k: int) -> dict[str, Any]:
    word = (b"odd" if k % 2 else b"even").ljust(8, b"\0")
    return tobject(k) | {
        "type": list(word), "run": k, "nvertex": k % 3, "header": {"run": k, "number": 10 * k},
        "distance": [float(k + i) for i in range(k % 3)],
        "tracks": several(track, k % 4, k), "slow": several(track, k % 3, k + 1),
        "hits": several(hit, (k + 1) % 3, k + 2), "loose": several(hit, k % 2, k + 3),
        "held": several(hit, (k + 2) % 4, k + 4), "bits": bits(k), "whole": hit(k),
        "wholes": [hit(k + 5)] * (k % 3), "list": [track(k + 6)] * (k % 2),
    }  # fmt: skip


def links(k: int) -> dict[str, Any]:
    """References to the tracks of the entry, which are numbered from 1 on where something refers to them."""
    tracks = several(hit, k % 3, k)
    for n, one in enumerate(tracks):
        one.update({"fUniqueID": n + 1, "fBits": one["fBits"] | REFERENCED})
    named = list(range(1, len(tracks) + 1))
    first = named[:1]
    return {
        "tracks": tracks, "last": {"pidf": 0, "ref": named[-1]} if named else None,
        "muons": {"refs": named}, "high": {"refs": first}, "own": {"refs": first},
        "all": [{"ref": one} for one in named],
    }  # fmt: skip


def rows(first: int, last: int) -> dict[str, list[dict[str, Any]]]:
    makers = event, counted, more, links
    return {branch: [make(k) for k in range(first, last)] for branch, make in zip(BRANCHES, makers)}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("classes"), "page", CODE)


def trees(library: Path, folder: Path, *, by_member: bool) -> Path:
    """Trees of real ROOT, and the same with the entries that are added here."""
    for entries in (HALF, ALL):
        (folder / f"{entries}").mkdir()
        root(WRITE, library, folder / f"{entries}", entries, by_member)
    return folder


@pytest.fixture(scope="module")
def written(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trees(library, tmp_path_factory.mktemp("written"), by_member=True)


@pytest.fixture(scope="module")
def written_one_by_one(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same of a program whose collections are streamed object by object."""
    return trees(library, tmp_path_factory.mktemp("one-by-one"), by_member=False)


@pytest.mark.parametrize("form", ["awkward", "objects"])
@pytest.mark.parametrize("split", SPLITS)
def test_entries_are_those_that_root_would_write(
    library: Path, written: Path, tmp_path: Path, split: int, form: str
) -> None:
    path = tmp_path / "file.root"
    shutil.copy(written / f"{HALF}/{split}.root", path)
    with sapwood.update(path) as file:
        for first, last in ((HALF, HALF + 1), (HALF + 1, ALL)):
            of = {
                branch: ak.Array(values) if form == "awkward" else objects(values)
                for branch, values in rows(first, last).items()
            }
            file["tree"].extend(of)
    check(READ, library, path, written / f"{ALL}/{split}.root", BRANCHES)


@pytest.mark.parametrize("split", SPLITS)
def test_collections_stand_object_by_object_where_they_did(
    library: Path, written_one_by_one: Path, tmp_path: Path, split: int
) -> None:
    path = tmp_path / "file.root"
    shutil.copy(written_one_by_one / f"{HALF}/{split}.root", path)
    with sapwood.update(path) as file:
        file["tree"].extend({branch: ak.Array(values) for branch, values in rows(HALF, ALL).items()})
    check(READ, library, path, written_one_by_one / f"{ALL}/{split}.root", BRANCHES)


@pytest.mark.parametrize("split", SPLITS)
def test_entries_that_were_read_are_added(written: Path, tmp_path: Path, split: int) -> None:
    """All but the members of TObject, which reading does not show."""
    path = tmp_path / "file.root"
    shutil.copy(written / f"{HALF}/{split}.root", path)
    with sapwood.open(written / f"{ALL}/0.root") as file:
        read = {branch: file["tree"][branch].array() for branch in BRANCHES}
    with sapwood.update(path) as file:
        file["tree"].extend({branch: array[HALF:] for branch, array in read.items()})
    with sapwood.open(path) as file, sapwood.open(written / f"{ALL}/{split}.root") as other:
        for branch in BRANCHES:
            assert without_tobject(file["tree"][branch]) == without_tobject(other["tree"][branch])


def without_tobject(branch: Any) -> Any:
    """Rows of a branch as reading shows them, without the members of TObject that split branches have."""

    def of(value: Any) -> Any:
        if isinstance(value, dict):
            hidden = ("fUniqueID", "fBits")
            return {key: of(inner) for key, inner in value.items() if key.split(".")[-1] not in hidden}
        return [of(inner) for inner in value] if isinstance(value, list) else value

    return of(branch.array().tolist())


@pytest.mark.parametrize("split", [0, 99])
def test_bad_values_are_refused_and_nothing_is_lost(
    library: Path, written: Path, tmp_path: Path, split: int
) -> None:
    path = tmp_path / "file.root"
    shutil.copy(written / f"{HALF}/{split}.root", path)
    good = rows(HALF, ALL)

    def bad(branch: str, **members: Any) -> dict[str, Any]:
        """The fourth row with other members."""
        changed = [row | members if k == 3 else row for k, row in enumerate(good[branch])]
        return {branch: objects(changed)}

    short = [{"q": 1, "fBits": 0, "fUniqueID": 0}]
    with sapwood.update(path) as file:
        tree = file["tree"]
        for values, words in (
            (bad("counted.", n=5), "has 1 numbers in object 3, and n, which counts them, is 5"),
            (bad("counted.", f=["text"]), "member 'f'.*float32|member 'f'.*number"),
            (bad("counted.", b=[300]), "member 'b'"),
            (bad("more.", g=[1.0, 2.0]), "g has 2 numbers in object 3, and n, which counts them, is 1"),
            (bad("event.", tracks=None), "member 'tracks'.*a list was expected"),
            (bad("event.", hits=objects(short)), "class page::Hit was expected.*'x'"),
            (bad("links.", last={"pidf": 7, "ref": 1}), "process 7 .*the file lists 1"),
            (bad("links.", last="text"), r"TRef is None, sapwood.TRef\(number of an object\), or has"),
            (bad("links.", muons=3), "TRefArray is None, a list, or has the member 'refs'"),
        ):
            with pytest.raises(sapwood.errors.MismatchError, match=words):
                tree.extend({name: objects(of) for name, of in good.items()} | values)
        tree.extend({name: ak.Array(of) for name, of in good.items()})
    check(READ, library, path, written / f"{ALL}/{split}.root", BRANCHES)


@pytest.mark.parametrize("split", [0, 99])
def test_what_has_no_values_is_refused_by_name(library: Path, tmp_path: Path, split: int) -> None:
    root(LOAD + "ROOT.page.others(sys.argv[2], int(sys.argv[3]))", library, tmp_path, split)
    for name, words in (
        ("packed", r"Double32_t\*.* cannot be added as values.*sapwood merge --append.*one\./values"),
        ("words", r"char\*.* cannot be added as values.*sapwood merge --append.*one\./words"),
        ("rows", r"float\*.* cannot be added as values.*sapwood merge --append.*one\./rows"),
        ("holds", r"no entry of the tree tells what class.*sapwood merge --append.*one\./hits"),
    ):
        path = tmp_path / f"{name}.root"
        before = payloads(path)
        with sapwood.update(path) as file:
            if (name, split) == ("holds", 99):  # the branch tells the class
                file["tree"].extend({"one.": objects([{"hits": []}, {"hits": [hit(3)]}])})
                continue
            with pytest.raises(sapwood.errors.UnsupportedError, match=words):
                file["tree"].extend({"one.": []})
        if (name, split) != ("holds", 99):
            assert payloads(path) == before and sapwood.verify(path) == []
