"""New trees of classes that derive from ``TObject``, with a ``TClonesArray``, references, arrays with a length and ROOT's own
arrays: entry by entry the bytes that real ROOT writes of the same class, which reads them without a word."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

from support.entries import check
from support.rootrun import compiled, root

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")

CODE = r"""
#include <TArrayF.h>
#include <TArrayL64.h>
#include <TClonesArray.h>
#include <TError.h>
#include <TFile.h>
#include <TNamed.h>
#include <TRef.h>
#include <TRefArray.h>
#include <TString.h>
#include <TTree.h>
#include <string>
#include <vector>
namespace fresh {
struct Hit : public TObject { float x = 0; TString tag; ClassDef(Hit, 1) };
struct Base : public TObject { int nAll = 0; ClassDef(Base, 2) };
struct Track : public TObject {
   int n = 0;
   float pt = 0;
   short *adc = nullptr; //[n]
   Hit hit;
   float cov[3];
   ~Track() { delete[] adc; }
   ClassDef(Track, 3) };
struct Event : public Base {
   int run = 0;
   double *weights = nullptr; //[nAll]
   TClonesArray *tracks; //->
   TRef last;
   TRefArray best;
   Hit hit;
   Hit *maybe = nullptr;
   TNamed label;
   TArrayF sums;
   TArrayL64 times;
   std::vector<Hit> hits;
   Event() : tracks(new TClonesArray("fresh::Track", 10)) {}
   ~Event() { delete tracks; delete[] weights; delete maybe; }
   ClassDef(Event, 4) };
struct Name : public TNamed { int number = 0; ClassDef(Name, 1) };
inline void fill(Hit &hit, int k) { hit.x = k / 2.f; hit.tag = TString::Format("tag %d", k); }
inline void fill(Track &track, int k, int i) {
   track.n = (k + i) % 3;
   track.pt = k + i / 8.f;
   delete[] track.adc;
   track.adc = track.n ? new short[track.n] : nullptr;
   for (int j = 0; j < track.n; j++) track.adc[j] = k - j;
   fill(track.hit, k + i);
   for (int j = 0; j < 3; j++) track.cov[j] = i + j / 2.f;
}
inline void fill(Event &event, int k) {
   event.nAll = k % 4;
   event.run = k;
   delete[] event.weights;
   event.weights = event.nAll ? new double[event.nAll] : nullptr;
   for (int i = 0; i < event.nAll; i++) event.weights[i] = k + i / 4.;
   event.tracks->Clear("C");
   event.best.Clear();
   event.last = nullptr;
   for (int i = 0; i < k % 5; i++) {
      auto &track = *static_cast<Track *>(event.tracks->ConstructedAt(i));
      fill(track, k, i);
      track.SetUniqueID(0);
      track.ResetBit(kIsReferenced);
      event.last = &track;
      if (i % 2) event.best.Add(&track);
   }
   fill(event.hit, k + 1);
   delete event.maybe;
   event.maybe = nullptr;
   if (k % 2) { event.maybe = new Hit; fill(*event.maybe, k); }
   event.label.SetNameTitle(TString::Format("name %d", k), "title");
   event.sums.Set(k % 3);
   event.sums.Reset(k / 4.f);
   event.times.Set(k % 2);
   event.times.Reset(Long64_t(k) << 40);
   event.hits.resize(k % 4);
   for (auto &hit : event.hits) fill(hit, k + 3);
}
inline TString show(const Hit &hit) { return TString::Format("{%g %s}", hit.x, hit.tag.Data()); }
inline TString show(const Track &track) {
   TString text = TString::Format(" [%g %g %g %g #%u", track.pt, track.cov[0], track.cov[1], track.cov[2], track.GetUniqueID());
   for (int j = 0; j < track.n; j++) text += TString::Format(" %d", track.adc[j]);
   return text + show(track.hit) + "]";
}
inline TString show(const Event &event) {
   TString text = TString::Format("%d %d:", event.run, event.nAll);
   for (int i = 0; i < event.nAll; i++) text += TString::Format(" %g", event.weights[i]);
   for (int i = 0; i < event.tracks->GetEntriesFast(); i++) {
      text += show(*static_cast<Track *>(event.tracks->UncheckedAt(i)));
   }
   // What references lead to.
   auto last = static_cast<Track *>(event.last.GetObject());
   text += last ? TString::Format(" last %g", last->pt) : TString(" none");
   for (int i = 0; i < event.best.GetEntriesFast(); i++) {
      auto best = static_cast<Track *>(event.best.At(i));
      text += best ? TString::Format(" best %g", best->pt) : TString(" lost");
   }
   text += show(event.hit) + (event.maybe ? show(*event.maybe) : TString("-")) + event.label.GetName() + event.label.GetTitle();
   for (int i = 0; i < event.sums.GetSize(); i++) text += TString::Format(" %g", event.sums[i]);
   for (int i = 0; i < event.times.GetSize(); i++) text += TString::Format(" %lld", event.times[i]);
   for (auto &hit : event.hits) text += show(hit);
   return text;
}
inline void write(const char *path, int split, int entries) {
   TFile file(path, "RECREATE", "", 0);
   auto tree = new TTree("tree", "");
   auto event = new Event;
   auto name = new Name;
   auto track = new Track;
   tree->Branch("event.", &event, 32000, split);
   tree->Branch("name.", &name, 32000, split);
   tree->Branch("track", &track, 32000, split);
   for (int k = 0; k < entries; k++) {
      fill(*event, k);
      fill(*track, k, 0);
      name->SetNameTitle(TString::Format("n%d", k), "t");
      name->number = k;
      tree->Fill();
   }
   file.Write();
}
inline std::vector<std::string> read(const char *path) {
   TFile file(path);
   auto tree = file.Get<TTree>("tree");
   auto event = new Event;
   auto name = new Name;
   auto track = new Track;
   tree->SetBranchAddress("event.", &event);
   tree->SetBranchAddress("name.", &name);
   tree->SetBranchAddress("track", &track);
   std::vector<std::string> rows;
   for (int k = 0; k < tree->GetEntries(); k++) {
      if (tree->GetEntry(k) <= 0) ::Error("read", "entry %d", k);
      rows.push_back((show(*event) + "|" + name->GetName() + name->GetTitle() + TString::Format("%d", name->number) + show(*track)).Data());
   }
   return rows;
}
}
#ifdef __CLING__
#pragma link C++ class fresh::Hit+;
#pragma link C++ class fresh::Base+;
#pragma link C++ class fresh::Track+;
#pragma link C++ class fresh::Event+;
#pragma link C++ class fresh::Name+;
#pragma link C++ class std::vector<fresh::Hit>+;
#pragma link C++ function fresh::write;
#pragma link C++ function fresh::read;
#endif
"""
LOAD = "ROOT.gSystem.Load(sys.argv[1])\n"
WRITE = LOAD + "ROOT.fresh.write(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))\n"
READ = LOAD + "answer([str(row) for row in ROOT.fresh.read(sys.argv[2])])\n"
PLAIN = """
file = ROOT.TFile.Open(sys.argv[1])
tree = file.Get("tree")
answer([tree.GetEntry(k) for k in range(tree.GetEntries())])
"""
"""Without the library: classes as the file describes them."""
DESCRIBED = """
def walk(branch):
    of = [branch.GetName(), branch.GetTitle(), branch.GetClassName(), branch.GetClonesName()]
    of += [branch.GetParentName()]
    of += [branch.GetID(), branch.GetType(), branch.GetStreamerType(), branch.GetClassVersion(), branch.GetSplitLevel()]
    counts = [branch.GetBranchCount(), branch.GetBranchCount2(), *(leaf.GetLeafCount() for leaf in branch.GetListOfLeaves())]
    of += [count.GetName() if count else "" for count in counts] + [branch.GetEntryOffsetLen() > 0, branch.GetMaximum()]
    of += [name for leaf in branch.GetListOfLeaves() for name in (leaf.GetName(), leaf.GetTitle())]
    yield [str(one) for one in of]
    for below in branch.GetListOfBranches():
        yield from walk(below)
file = ROOT.TFile.Open(sys.argv[1])
branches = [one for branch in file.Get("tree").GetListOfBranches() for one in walk(branch)]
classes = {}
for info in file.GetStreamerInfoList():
    if str(info.GetName()).startswith("fresh::"):
        of = classes[str(info.GetName())] = [info.GetClassVersion(), info.GetCheckSum()]
        for element in info.GetElements():
            one = [element.ClassName(), element.GetName(), element.GetTypeName(), element.GetType()]
            one += [element.GetArrayLength(), element.GetTitle() if element.GetTitle()[:1] in "[-" else ""]
            one += [getattr(element, f"GetCount{of}", int)() for of in ("Name", "Class", "Version")]
            of.append([str(x) for x in one])
answer([branches, classes])
"""
ENTRIES = 14


@dataclasses.dataclass
class Hit(sapwood.TObject):
    __root_name__ = "fresh::Hit"
    x: np.float32
    tag: Annotated[str, "TString"]


@dataclasses.dataclass
class Base(sapwood.TObject):
    __root_name__ = "fresh::Base"
    __root_version__ = 2
    nAll: np.int32


@dataclasses.dataclass
class Track(sapwood.TObject):
    __root_name__ = "fresh::Track"
    __root_version__ = 3
    n: np.int32
    pt: np.float32
    adc: Annotated[list[np.int16], "[n]"]
    hit: Hit
    cov: Annotated[np.float32, 3]


@dataclasses.dataclass
class Event(Base):
    __root_name__ = "fresh::Event"
    __root_version__ = 4
    run: np.int32
    weights: Annotated[list[float], "[nAll]"]
    tracks: Annotated[list[Track], "TClonesArray"]
    last: sapwood.TRef
    best: sapwood.TRefArray
    hit: Hit
    maybe: Hit | None
    label: sapwood.TNamed
    sums: Annotated[list[np.float32], "TArrayF"]
    times: Annotated[list[int], "TArrayL64"]
    hits: list[Hit]


@dataclasses.dataclass
class Name(sapwood.TNamed):
    __root_name__ = "fresh::Name"
    number: np.int32


def hit(k: int) -> Hit:
    return Hit(np.float32(k / 2), f"tag {k}")


def track(k: int, i: int, number: int) -> Track:
    n = (k + i) % 3
    made = Track(n, k + i / 8, [k - j for j in range(n)], hit(k + i), [i + j / 2 for j in range(3)])
    if number:
        # ROOT marks it for cleaning up, too: kMustCleanup.
        made.fUniqueID, made.fBits = number, sapwood.TObject.IS_REFERENCED | 1 << 3
    return made


def events(entries: int) -> list[Event]:
    made, number = [], 0
    for k in range(entries):
        tracks = []
        for i in range(k % 5):
            number += 1  # as ROOT numbers what something refers to
            tracks.append(track(k, i, number))
        numbers = [one.fUniqueID for one in tracks]
        made.append(
            Event(
                k % 4, k, [k + i / 4 for i in range(k % 4)], tracks,
                sapwood.TRef(numbers[-1]) if tracks else None,
                sapwood.TRefArray(numbers[1::2]), hit(k + 1), hit(k) if k % 2 else None,
                sapwood.TNamed(f"name {k}", "title"), [k / 4] * (k % 3), [k << 40] * (k % 2),
                [hit(k + 3)] * (k % 4),
            )
        )  # fmt: skip
    return made


def rows(entries: int) -> dict[str, list[Any]]:
    names = [Name(f"n{k}", "t", k) for k in range(entries)]
    return {"event.": events(entries), "name.": names, "track": [track(k, 0, 0) for k in range(entries)]}


TYPES = {"event.": Event, "name.": Name, "track": Track}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("classes"), "fresh", CODE)


def described(path: Path, split: int) -> Any:
    """Branches and classes. Where ROOT does not split a ``TClonesArray``, its comment lacks the class of its objects."""
    branches, classes = root(DESCRIBED, path)
    for member in classes["fresh::Event"]:
        if split < 2 and isinstance(member, list) and member[1:2] == ["tracks"]:
            member[5] = member[5].removesuffix(" (fresh::Track)")
    return branches, classes


@pytest.mark.parametrize("split", [0, 1, 2, 99])
def test_new_trees_are_those_of_root(library: Path, tmp_path: Path, split: int) -> None:
    ours, theirs = tmp_path / "ours.root", tmp_path / "theirs.root"
    root(WRITE, library, theirs, split, ENTRIES)
    with sapwood.recreate(ours, compression=None) as file:
        file.mktree("tree", TYPES, split_level=split).extend(rows(ENTRIES))
    assert described(ours, split) == described(theirs, split)
    check(READ, library, ours, theirs, TYPES)
    assert root(PLAIN, ours) == root(PLAIN, theirs)


@pytest.mark.parametrize("split", [0, 1, 99])
def test_trees_like_another_are_those_of_root(library: Path, tmp_path: Path, split: int) -> None:
    ours, theirs = tmp_path / "ours.root", tmp_path / "theirs.root"
    root(WRITE, library, theirs, split, ENTRIES)
    with sapwood.open(theirs) as source, sapwood.recreate(ours) as file:
        file.mktree("tree", like=source["tree"]).extend(rows(ENTRIES))
    assert described(ours, split) == described(theirs, split)
    check(READ, library, ours, theirs, TYPES)


@pytest.mark.parametrize("split", [1, 2, 99])
@pytest.mark.parametrize("form", ["table", "branches"])
def test_split_objects_are_written_as_they_were_read(
    library: Path, tmp_path: Path, split: int, form: str
) -> None:
    ours, theirs = tmp_path / "ours.root", tmp_path / "theirs.root"
    root(WRITE, library, theirs, split, ENTRIES)
    with sapwood.open(theirs) as source, sapwood.recreate(ours, compression=None) as file:
        tree = source["tree"]
        read = tree.arrays() if form == "table" else {name: tree[name].array() for name in TYPES}
        file.mktree("tree", like=tree).extend(read)
    if split == 99:  # each member of ``TObject`` is a column, too
        check(READ, library, ours, theirs, TYPES)
    ours_read, theirs_read = (sapwood.open(path)["tree"].arrays() for path in (ours, theirs))
    assert ours_read.fields == theirs_read.fields
    for name in ours_read.fields:
        if not name.endswith((".fUniqueID", ".fBits", "last", "best")):
            assert ours_read[name].to_list() == theirs_read[name].to_list(), name


@pytest.mark.parametrize("name", ["ev", "ev."])
def test_records_of_members_stay_as_they_are(tmp_path: Path, name: str) -> None:
    @dataclasses.dataclass
    class Place:
        x: float
        y: float

    @dataclasses.dataclass
    class Event:
        x: float
        place: Place
        hits: list[Place]

    given = [{"x": 1.0, "place": {"x": 5.0, "y": 6.0}, "hits": [{"x": 7.0, "y": 8.0}]}]
    with sapwood.recreate(tmp_path / "plain.root") as file:
        file.mktree("tree", {name: Event}, split_level=0).extend({name: ak.Array(given)})
        file.mktree("split", {name: Event}).extend({name: ak.Array(given)})
    with sapwood.open(tmp_path / "plain.root") as file:
        assert file["tree"][name].array().to_list() == given
        wanted = [Event(1.0, Place(5.0, 6.0), [Place(7.0, 8.0)])]
        assert list(file["split"][name].objects(Event)) == wanted
    with sapwood.open(tmp_path / "plain.root") as file, sapwood.recreate(tmp_path / "again.root") as again:
        again.mktree("split", like=file["split"]).extend(file["split"].arrays())
        again.mktree("one", {name: Event}).extend({name: file["split"][name].array()})
    with sapwood.open(tmp_path / "again.root") as file:
        assert [list(file[tree][name].objects(Event)) for tree in ("split", "one")] == [wanted] * 2


def test_what_is_written_is_read_as_the_same_classes(tmp_path: Path) -> None:
    path, wanted = tmp_path / "own.root", rows(ENTRIES)
    with sapwood.recreate(path) as file, file.mktree("tree", TYPES, auto_flush=4) as tree:
        for event, name, one in zip(*wanted.values()):
            tree.fill(**{"event.": event, "name.": name, "track": one})
    with sapwood.open(path) as file:
        tree = file["tree"]
        assert list(tree["name."].objects(Name)) == wanted["name."]
        assert list(tree["track"].objects(Track)) == wanted["track"]
        for got, event in zip(tree["event."].objects(Event), wanted["event."], strict=True):
            event.last = event.last or sapwood.TRef()  # a null reference
            assert got == event
            assert [one.fUniqueID for one in got.tracks] == [one.fUniqueID for one in event.tracks]
        assert tree["event.tracks.adc"].array().to_list() == [
            [one.adc for one in event.tracks] for event in wanted["event."]
        ]
    uproot = pytest.importorskip("uproot")
    with uproot.open(path) as file:
        assert file["tree/event.tracks.pt"].array().to_list() == [
            [one.pt for one in event.tracks] for event in wanted["event."]
        ]


def test_many_threads_write_the_same(library: Path, tmp_path: Path) -> None:
    alone, many = tmp_path / "alone.root", tmp_path / "many.root"
    wanted = rows(ENTRIES)
    with sapwood.recreate(alone) as file:
        file.mktree("tree", TYPES).extend(wanted)
    with sapwood.recreate(many) as file:
        tree = file.parallel_tree("tree", TYPES)
        for half in (slice(0, ENTRIES // 2), slice(ENTRIES // 2, None)):
            with tree.context() as context:
                context.extend({name: values[half] for name, values in wanted.items()})
    assert root(READ, library, many) == root(READ, library, alone)


def test_columns_and_new_branches(tmp_path: Path) -> None:
    path = tmp_path / "columns.root"

    @dataclasses.dataclass
    class Pair(sapwood.TObject):
        n: np.int32
        x: Annotated[list[np.float32], "[n]"]
        refs: sapwood.TRefArray

    with sapwood.recreate(path) as file:
        file["plain"] = {"k": [1, 2]}
        # References may be added to a tree that exists, also where there were none before.
        file.mktree("pairs", {"pair": Pair}).extend(
            {"pair": ak.Array([{"n": 2, "x": [0.5, 1.5], "refs": [7]}, {"n": 0, "x": [], "refs": []}])}
        )
    with sapwood.open(path) as file:
        assert file["pairs/x"].array().to_list() == [[0.5, 1.5], []]
        assert file["ProcessID0"].classname == "TProcessID"
        title = file["ProcessID0"].member("fTitle")
        assert [len(part) for part in title.split("-")] == [8, 4, 4, 4, 12]
    with sapwood.update(path) as file, file.append("pairs") as tree:
        tree.extend({"pair": [Pair(1, [2.5], [9])]})
    assert sapwood.open(path)["pairs/x"].array().to_list() == [[0.5, 1.5], [], [2.5]]
    assert sapwood.verify(path) == []


def test_files_that_are_reproducible_are_so_with_references(tmp_path: Path) -> None:
    written = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "same.root"
        with sapwood.recreate(path, reproducible=True) as file:
            file.mktree("tree", TYPES).extend(rows(4))
        written.append(path.read_bytes())
    assert written[0] == written[1]
    other = tmp_path / "other.root"
    with sapwood.recreate(other, reproducible=True) as file:
        file.mktree("tree", TYPES).extend(rows(4))
    # References of files that are merged are told apart by it.
    titles = [sapwood.open(path)["ProcessID0"].member("fTitle") for path in (path, other)]
    assert titles[0] != titles[1]


@dataclasses.dataclass
class Bare:
    x: float


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (Annotated[list[Bare], "TClonesArray"], "class Bare does not derive from TObject"),
        (Annotated[list[float], "TClonesArray"], "a TClonesArray holds objects of a dataclass"),
        (Annotated[list[float], "TArrayF"], "TArrayF float32"),
        (Annotated[list[np.float32], "[missing]"], "by missing, and no member of that name is before it"),
        (Annotated[list[np.float32], "[n + 1]"], "an array with a length"),
        (Annotated[list[np.float32], "n"], r"as 'n': as vector, .*TClonesArray, .*\[n\] it can"),
        (Annotated[str, "Tstring"], "as TString it can"),
        (Annotated[list[np.float32], "[long]"], "x is counted by long, which is a Long64_t"),
        (Annotated[list[str], "[n]"], "an array with a length .* numbers"),
        (list[Annotated[list[Hit], "TClonesArray"]], "only classes have such members"),
        (Annotated[list[sapwood.TObject], "TClonesArray"], "of TObject itself cannot be written"),
        (dataclasses.make_dataclass("TRef", [("x", float)]), "class TRef is ROOT's own: .* sapwood.TRef"),
    ],
)
def test_what_cannot_be_declared_is_refused(annotation: Any, words: str, tmp_path: Path) -> None:
    kind = dataclasses.make_dataclass(
        "Wrong", [("n", np.int32), ("long", int), ("x", annotation)], bases=(sapwood.TObject,)
    )
    with sapwood.recreate(tmp_path / "wrong.root") as file:
        with pytest.raises(sapwood.errors.SapwoodError, match=words.replace("+", r"\+")):
            file.mktree("tree", {"x": kind})
        assert file.keys() == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"adc": [1, 2, 3]}, "adc has 3 numbers in object 0, and n, which counts them, is 2"),
        ({"adc": None}, "a list was expected"),
        ({"n": -1, "adc": []}, "and n, which counts them, is -1"),
        ({"hit": None}, "an object of class fresh::Hit was expected"),
    ],
)
def test_values_that_do_not_fit_are_refused(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    right = {"n": 2, "pt": 1.0, "adc": [1, 2], "hit": hit(1), "cov": [0.0] * 3}
    with sapwood.recreate(tmp_path / "values.root") as file:
        tree = file.mktree("tree", {"track": Track})
        with pytest.raises(sapwood.errors.MismatchError, match=words):
            tree.extend({"track": [Track(**(right | change))]})
        tree.extend({"track": [Track(**right)]})
    assert sapwood.open(tmp_path / "values.root")["tree/adc"].array().to_list() == [[1, 2]]


def test_a_class_that_is_no_dataclass_is_refused(tmp_path: Path) -> None:
    class Track(sapwood.TObject):  # inherits what makes it look like one
        pt: np.float32

    kind = dataclasses.make_dataclass(
        "Event", [("tracks", Annotated[list[Track], "TClonesArray"])], bases=(sapwood.TObject,)
    )
    with sapwood.recreate(tmp_path / "plain.root") as file:
        with pytest.raises(sapwood.errors.UnsupportedError, match="class Track .* @dataclass"):
            file.mktree("tree", {"event": kind})


def test_references_are_members(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "branch.root") as file:
        for kind in (sapwood.TRef, sapwood.TRefArray):
            with pytest.raises(sapwood.errors.UnsupportedError, match="is a member of a class"):
                file.mktree("tree", {"one": kind})
        twice = dataclasses.make_dataclass("Twice", [("one", sapwood.TRef)])
        with pytest.raises(sapwood.errors.SapwoodError, match="two branches would have the name"):
            file.mktree("tree", {"one": twice})
        assert file.keys() == []  # no process either


def test_a_tree_is_like_one_that_can_be_added_to(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "like.root") as file:
        with pytest.raises(TypeError, match="or a tree to be like"):
            file.mktree("tree")
        with pytest.raises(TypeError, match="or a tree to be like"):
            file.mktree("tree", {"x": "f8"}, like=object())
        with pytest.raises(TypeError, match="like a TTree that was opened"):
            file.mktree("tree", like=object())
        for option in ({"split_level": 0}, {"member_wise": False}, {"counter_name": "n{}"}):
            with pytest.raises(TypeError, match="split_level and member_wise from the tree"):
                file.mktree("tree", like=object(), **option)
        file["plain"] = {"x": [1.5, 2.5], "s": ["a", "bc"], "v": ak.Array([[1, 2], []])}
    with sapwood.open(tmp_path / "like.root") as source, sapwood.recreate(tmp_path / "more.root") as file:
        tree = file.mktree("folder/again", like=source["plain"], title="other", compression="zstd:5")
        tree.extend({"x": [0.5], "s": ["d"], "v": ak.Array([[7]])})
    with sapwood.open(tmp_path / "more.root") as file:
        tree = file["folder/again"]
        assert tree.title == "other" and tree["x"].compression == sapwood.ZSTD(5)
        assert tree.arrays(["x", "s", "v"]).to_list() == [{"x": 0.5, "s": "d", "v": [7]}]
    assert sapwood.verify(tmp_path / "more.root") == []
