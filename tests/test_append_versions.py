"""Entries that are added to split trees of a file which describes several versions of their classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.entries import objects
from support.rootrun import compiled, root

sapwood = pytest.importorskip("sapwood")

CODE = r"""
#include <TClonesArray.h>
#include <TFile.h>
#include <TObject.h>
#include <TTree.h>
#include <string>
#include <vector>
namespace grown {
struct Inner : public TObject { MEMBERS ClassDef(Inner, VERSION) };
struct Outer { int k = 0; Inner inner; std::vector<Inner> all; TClonesArray *tracks = new TClonesArray("grown::Inner"); };
inline void write(const char *path, const char *name) {
   TFile file(path, "RECREATE");
   auto tree = new TTree(name, "");
   Outer *one = new Outer;
   tree->Branch("outer.", &one, 32000, 99);
   one->all.resize(1);
   new ((*one->tracks)[0]) Inner;
   tree->Fill();
   file.Write();
}
inline std::vector<std::vector<double>> read(const char *path, const char *name) {
   TFile file(path);
   auto tree = file.Get<TTree>(name);
   Outer *one = nullptr;
   tree->SetBranchAddress("outer.", &one);
   std::vector<std::vector<double>> rows;
   for (int entry = 0; entry < tree->GetEntries(); entry++) {
      tree->GetEntry(entry);
      rows.push_back({double(one->k), one->inner.p});
      for (auto &inner : one->all) rows.back().push_back(inner.p);
      for (auto track : *one->tracks) rows.back().push_back(static_cast<Inner *>(track)->p);
   }
   return rows;
}
}
#ifdef __CLING__
#pragma link C++ class grown::Inner+;
#pragma link C++ struct grown::Outer+;
#pragma link C++ class std::vector<grown::Inner>+;
#pragma link C++ function grown::write;
#pragma link C++ function grown::read;
#endif
"""
MEMBERS = {2: "float p = 0;", 3: "double p = 0; int more = 7;"}
LOAD = "ROOT.gSystem.Load(sys.argv[1])\n"
WRITE = LOAD + "ROOT.grown.write(sys.argv[2], sys.argv[3])\n"
READ = LOAD + "answer([list(row) for row in ROOT.grown.read(sys.argv[2], sys.argv[3])])\n"
TREES = {"old": 2, "new": 3}


def entry(k: int, version: int) -> dict[str, Any]:
    def inner(p: float) -> dict[str, Any]:
        return {"p": p} | ({"more": k} if version == 3 else {})

    return {"k": k, "inner": inner(k + 0.5), "all": [inner(k + 0.25)] * 2, "tracks": [inner(k + 0.125)]}


@pytest.mark.parametrize("order", [["old", "new"], ["new", "old"]])
def test_new_entries_have_the_versions_of_their_branches(tmp_path: Path, order: list[str]) -> None:
    libraries = {}
    for name, version in TREES.items():
        (tmp_path / name).mkdir()
        code = CODE.replace("MEMBERS", MEMBERS[version]).replace("VERSION", str(version))
        libraries[name] = compiled(tmp_path / name, "grown", code)
        root(WRITE, libraries[name], tmp_path / f"{name}.root", name)
    path = tmp_path / "both.root"
    sapwood.merge(path, [tmp_path / f"{name}.root" for name in order])
    with sapwood.update(path) as file:
        for name, version in TREES.items():
            file[name].extend({"outer.": objects([entry(k, version) for k in (1, 2)])})
    assert sapwood.verify(path) == []
    wanted = [[k, k + 0.5, k + 0.25, k + 0.25, k + 0.125] for k in (1, 2)]
    for name in TREES:
        assert root(READ, libraries["new"], path, name)[1:] == wanted, name
    with sapwood.open(path) as file:
        types = {name: file[name]["outer.inner.p"].typename for name in TREES}
    assert types == {"old": "float", "new": "double"}
