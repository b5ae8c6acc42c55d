"""Rust types as entries: real ROOT reads what a Rust program wrote, and the program reads what real ROOT wrote of other versions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from support import rust_examples
from support.rootrun import root

POINT = "struct Point { double x, y; };\n"
CPP = (
    """
#include <deque>
#include <list>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>
#include <Rtypes.h>
"""
    + POINT
    + """
struct Header { int run; std::vector<float> weights; };
namespace lab {
struct Track { float fPt; char charge; Point at; std::vector<short> hits; std::string tag; float cov[3]; };
inline int charge(const Track &t) { return t.charge; }
struct Event : public Header { ULong64_t number; bool ok; double matrix[2][3]; Track best; std::vector<Track> tracks; std::map<std::string, int> counts;
  std::unordered_map<int, Point> places; std::set<int> layers; std::unordered_set<std::string> names; std::deque<Point> queue; std::list<float> list;
  std::vector<std::string> words; std::vector<std::vector<unsigned short>> nested; Point *vertex = nullptr;
  Event() {}
  virtual ~Event() {}
  ClassDef(lab::Event, 3) };
}
#ifdef __CLING__
#pragma link C++ struct Point+;
#pragma link C++ struct Header+;
#pragma link C++ namespace lab;
#pragma link C++ struct lab::Track+;
#pragma link C++ class lab::Event+;
#pragma link C++ class std::vector<lab::Track>+;
#pragma link C++ class std::map<std::string, int>+;
#pragma link C++ class std::unordered_map<int, Point>+;
#pragma link C++ class std::unordered_set<std::string>+;
#pragma link C++ class std::deque<Point>+;
#pragma link C++ class std::vector<std::vector<unsigned short>>+;
#endif
"""
)

# Other versions: members elsewhere, of other types, more and fewer; `run` in a base of the base.
OTHER = (
    """
#include <map>
#include <string>
#include <vector>
#include <TString.h>
"""
    + POINT
    + """
struct Run { short run; };
struct Header : public Run { std::vector<float> weights; };
struct TrackBase { double fPt; };
struct Track : public TrackBase { Point at; TString tag; std::vector<Point> points; std::vector<unsigned char> hits; Point *none = nullptr; };
struct Event : public Header { Track best; std::map<std::string, short> counts; Long64_t number; std::vector<Track> tracks; float matrix[2][3]; };
#ifdef __CLING__
#pragma link C++ struct Point+;
#pragma link C++ struct Run+;
#pragma link C++ struct Header+;
#pragma link C++ struct TrackBase+;
#pragma link C++ struct Track+;
#pragma link C++ struct Event+;
#pragma link C++ class std::vector<Point>+;
#pragma link C++ class std::vector<Track>+;
#pragma link C++ class std::map<std::string, short>+;
#endif
"""
)

# Items in a TClonesArray, and an object behind a pointer.
CLONES = """
#include <map>
#include <string>
#include <vector>
#include <TClonesArray.h>
#include <TFile.h>
#include <TString.h>
#include <TTree.h>
struct Track : public TObject { std::vector<int> hits; float momentum; TString tag; ClassDef(Track, 2) };
struct Event : public TObject { int run; TClonesArray tracks; unsigned short number; std::map<std::string, int> counts; double matrix[2][3]; Track *best;
  Event() : tracks("Track"), best(new Track) {}
  ClassDef(Event, 7) };
inline void make(Track *t, int seed) {
  t->momentum = seed / 8.f; t->tag = ""; t->hits.clear();
  for (int i = 0; i < seed % 3; ++i) t->tag += "\\xc3\\xa9";
  for (int i = 0; i < seed % 4; ++i) t->hits.push_back(i);
}
inline void filled(const char *path) {
  TFile file(path, "RECREATE");
  Event event;
  for (int split : {99, 1, 0}) for (const char *name : {"event", "event."}) for (bool whole : {true, false}) {
    event.tracks.BypassStreamer(!whole);
    TTree tree(Form("%s%d%d", name, split, whole), "");
    tree.Branch(name, &event, 2000, split);
    for (int seed = 0; seed < 40; ++seed) {
      event.run = seed; event.number = 1000 + seed; event.counts.clear(); event.tracks.Clear("C"); make(event.best, seed);
      for (int i = 0; i < seed % 3; ++i) event.counts[Form("key %d", i)] = i;
      for (int i = 0; i < seed % 4; ++i) make(static_cast<Track *>(event.tracks.ConstructedAt(i)), seed + i);
      double matrix[2][3] = {{double(seed), 1, 2}, {3, 4, 5}};
      for (int i = 0; i < 6; ++i) event.matrix[i / 3][i % 3] = matrix[i / 3][i % 3];
      tree.Fill();
    }
    tree.Write();
  }
}
#ifdef __CLING__
#pragma link C++ class Track+;
#pragma link C++ class Event+;
#pragma link C++ function filled;
#endif
"""

BUILD = "build(sys.argv[1])\n"
TREES = ["split99", "split1", "whole", "objects99", "objects0"]


def entries(*arguments: object) -> str:
    """Runs the Rust program ``crates/core/examples/entries.rs``."""
    return rust_examples.run("entries", *arguments)


def shown(text: str) -> list[Any]:
    """Values that Rust printed: structs as dictionaries."""
    text = re.sub(r"\b[A-Z]\w* \{", "{", text)
    text = re.sub(r"(\w+): ", r'"\1": ', text)
    return [json.loads(line) for line in text.splitlines()]


def point(seed: int) -> list[float]:
    return [seed / 2, -seed]


def track(seed: int) -> dict[str, Any]:
    return {
        "pt": seed / 8, "charge": 1 - seed % 3, "at": point(seed), "hits": list(range(seed % 4)),
        "tag": "é" * (seed % 3),
        "cov": [seed, 1, 2],
    }  # fmt: skip


def event(seed: int) -> dict[str, Any]:
    return {
        "run": seed, "weights": [0.25] * (seed % 3), "number": 1000 + seed, "ok": seed % 2 == 1,
        "matrix": [[seed, 1, 2], [3, 4, 5]],
        "best": track(seed), "tracks": [track(seed + item) for item in range(seed % 4)],
        "counts": [[f"key {item}", item] for item in range(seed % 3)],
        "places": [[item - 2, point(item)] for item in range(seed % 5)],
        "layers": [item - 1 for item in range(seed % 4)],
        "names": [f"name {item}" for item in range(seed % 3)],
        "queue": [point(item) for item in range(seed % 3)], "list": [item / 2 for item in range(seed % 4)],
        "words": [f"word {item}" for item in range(seed % 3)],
        "nested": [[item] * item for item in range(seed % 3)],
        "vertex": point(seed) if seed % 3 == 1 else None,
    }  # fmt: skip


def new_track(seed: int) -> dict[str, Any]:
    return {"hits": list(range(seed % 4)), "momentum": seed / 8, "eta": 0.0, "tag": "é" * (seed % 3)}


def new_event(seed: int) -> dict[str, Any]:
    return {
        "run": seed, "tracks": [new_track(seed + item) for item in range(seed % 4)], "number": 1000 + seed,
        "counts": {f"key {item}": item for item in range(seed % 3)}, "matrix": [[seed, 1, 2], [3, 4, 5]],
        "best": new_track(seed),
        "quality": [],
    }  # fmt: skip


def test_real_root_reads_entries_of_rust_types(tmp_path: Path) -> None:
    entries("write", tmp_path / "events.root")
    for tree in TREES:
        assert shown(entries("read", tmp_path / "events.root", tree)) == [
            new_event(seed) for seed in range(40)
        ], tree
    (tmp_path / "events.C").write_text(CPP)
    lines = """
def point(p): return [p.x, p.y]
def track(t):
    return {"pt": t.fPt, "charge": ROOT.lab.charge(t), "at": point(t.at), "hits": list(t.hits), "tag": str(t.tag), "cov": [t.cov[i] for i in range(3)]}
def event(e):
    return {"run": e.run, "weights": list(e.weights), "number": e.number, "ok": bool(e.ok), "matrix": [[e.matrix[i][j] for j in range(3)] for i in range(2)],
            "best": track(e.best), "tracks": [track(t) for t in e.tracks], "counts": sorted([str(k), v] for k, v in e.counts),
            "places": sorted([k, point(p)] for k, p in e.places), "layers": list(e.layers), "names": sorted(str(n) for n in e.names),
            "queue": [point(p) for p in e.queue], "list": list(e.list), "words": [str(w) for w in e.words], "nested": [list(v) for v in e.nested],
            "vertex": point(e.vertex) if e.vertex else None}
file = ROOT.TFile(sys.argv[2])
found = {}
for key in file.GetListOfKeys():
    tree = key.ReadObj()
    one = ROOT.lab.Event()
    tree.SetBranchAddress("event.", one)
    found[key.GetName()] = [event(one) for entry in range(tree.GetEntries()) if tree.GetEntry(entry) > 0]
answer(found)
"""
    found = root(BUILD + lines, tmp_path / "events.C", tmp_path / "events.root")
    assert sorted(found) == sorted(TREES)
    for tree, rows in found.items():
        assert rows == [event(seed) for seed in range(40)], tree


def test_entries_of_rust_types_are_read_from_other_versions_of_real_root(tmp_path: Path) -> None:
    (tmp_path / "other.C").write_text(
        OTHER
        + """
#include <TFile.h>
#include <TTree.h>
inline Track track(int seed) {
  Track t; t.fPt = seed / 8.; t.at = {1., 2.};
  for (int i = 0; i < seed % 3; ++i) t.tag += "\\xc3\\xa9";
  for (int i = 0; i < seed % 4; ++i) t.hits.push_back(i);
  t.points.resize(seed % 2);
  return t;
}
inline void fill(const char *path) {
  TFile file(path, "RECREATE");
  for (int split : {99, 2, 1, 0}) for (const char *name : {"event", "event."}) {
    TTree tree(Form("%s%d", name, split), "");
    Event event;
    tree.Branch(name, &event, 2000, split);
    for (int seed = 0; seed < 40; ++seed) {
      event.run = seed; event.weights.assign(seed % 3, 0.5); event.best = track(seed); event.number = 1000 + seed;
      event.counts.clear(); event.tracks.clear();
      for (int i = 0; i < seed % 3; ++i) event.counts[Form("key %d", i)] = i;
      for (int i = 0; i < seed % 4; ++i) event.tracks.push_back(track(seed + i));
      float matrix[2][3] = {{float(seed), 1, 2}, {3, 4, 5}};
      for (int i = 0; i < 6; ++i) event.matrix[i / 3][i % 3] = matrix[i / 3][i % 3];
      tree.Fill();
    }
    tree.Write();
  }
}
"""
    )
    root(BUILD + "ROOT.fill(sys.argv[2])", tmp_path / "other.C", tmp_path / "other.root")
    for name in ("event", "event."):
        for split in (99, 2, 1, 0):
            found = shown(entries("read", tmp_path / "other.root", f"{name}{split}"))
            assert found == [new_event(seed) for seed in range(40)], f"{name} {split}"


def test_entries_of_rust_types_are_read_from_clones_and_pointers(tmp_path: Path) -> None:
    (tmp_path / "clones.C").write_text(CLONES)
    root(BUILD + "ROOT.filled(sys.argv[2])", tmp_path / "clones.C", tmp_path / "clones.root")
    for tree in [
        f"{name}{split}{whole}" for name in ("event", "event.") for split in (99, 1, 0) for whole in (0, 1)
    ]:
        assert shown(entries("read", tmp_path / "clones.root", tree)) == [
            new_event(seed) for seed in range(40)
        ], tree
