"""Trees with friends that ROOT writes, and what `TTree::Draw` makes of expressions over them.

Usage: friends.py FOLDER OUTPUT. The file `main.root` holds `t`, with friends of its own: `same` in the same
file, `far` (the tree `f` of `friend.root`), and `g`, in another order, with an index of run and event.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import ROOT

ROOT.gROOT.SetBatch(True)
ROOT.gErrorIgnoreLevel = ROOT.kError

CODE = """
#include <vector>
#include <TTree.h>
#include <TFile.h>
#include <TFriendElement.h>
void write_far(int entries) {
  TFile file("friend.root", "RECREATE");
  TTree f("f", "by entry");
  float y; int n; float w[5]; double x; std::vector<float> vf; auto *pf = &vf;
  f.Branch("y", &y, "y/F"); f.Branch("n", &n, "n/I"); f.Branch("w", w, "w[n]/F"); f.Branch("x", &x, "x/D");
  f.Branch("vf", &pf);
  f.SetAutoFlush(7);
  for (int e = 0; e < entries; ++e) {
    y = e * 1.5f - 10; n = (e + 2) % 5; x = 1000 + e;
    vf.clear();
    for (int j = 0; j < n; ++j) { w[j] = e + j * 0.25f; vf.push_back(j - e); }
    f.Fill();
  }
  f.SetAlias("twice", "2*y");
  f.Write();
}
void write_index(int entries) {
  TFile file("index.root", "RECREATE");
  TTree g("g", "by index");
  int run; long long event; double z; int m; float q[4];
  g.Branch("run", &run, "run/I"); g.Branch("event", &event, "event/L"); g.Branch("z", &z, "z/D");
  g.Branch("m", &m, "m/I"); g.Branch("q", q, "q[m]/F");
  // In another order, each entry of the tree and a few more.
  for (int k = 0; k < entries + 6; ++k) {
    int e = (k * 29) % (entries + 6);
    run = e / 10; event = e % 10; z = e * 100.; m = e % 4;
    for (int j = 0; j < m; ++j) q[j] = e + j / 8.f;
    g.Fill();
  }
  g.BuildIndex("run", "event");
  g.Write();
}
void write_main(int entries) {
  TFile file("main.root", "RECREATE");
  TTree same("s", "in the same file");
  int k; same.Branch("k", &k, "k/I");
  for (int e = 0; e < entries; ++e) { k = e % 9; same.Fill(); }
  same.Write();
  TTree t("t", "with friends");
  int run; long long event; double x; int n; float v[4];
  t.Branch("run", &run, "run/I"); t.Branch("event", &event, "event/L"); t.Branch("x", &x, "x/D");
  t.Branch("n", &n, "n/I"); t.Branch("v", v, "v[n]/F");
  for (int e = 0; e < entries; ++e) {
    run = e / 10; event = e % 10; x = e / 4.; n = e % 4;
    for (int j = 0; j < n; ++j) v[j] = e * 2 + j;
    t.Fill();
  }
  t.SetAlias("sum", "x + far.y");
  t.AddFriend("same = s");
  t.AddFriend("far = f", "friend.root");
  t.AddFriend("g", "index.root");
  t.Write("", TObject::kOverwrite);
}
"""

#: Expressions and cuts; `g` is by index, the others by entry.
LINES = [
    "far.y",
    "y",
    "far.x",
    "x",
    "same.k",
    "k*far.y",
    "far.x-x",
    "far.w",
    "w",
    "far.vf",
    "far.w[1]",
    "far.w[0]:v",
    "Sum$(far.w)",
    "x ;; far.y>0",
    "x ;; far.w>20",
    "far.y ;; k>3 && x>2",
    "z",
    "g.z",
    "g.z-100*(10*run+event)",
    "g.run*10+g.event-4*x",
    "g.q",
    "v*g.q",
    "x ;; far.w[2]>10",
    "x ;; g.m==2",
    "g.z:far.y:x ;; k",
    "sum",
    "Length$(g.q)",
    "Entry$+far.y",
    "Max$(far.vf)",
    "far.n",
    "n",
]


def answers(tree: Any, lines: list[str]) -> list[dict[str, Any]]:
    found = []
    for line in lines:
        expression, _, cut = line.partition(" ;; ")
        rows = tree.Draw(expression, cut, "goff")
        assert rows >= 0, line
        columns = [
            [tree.GetVal(axis)[row] for row in range(rows)] for axis in range(tree.GetPlayer().GetDimension())
        ]
        weights = tree.GetW()
        found.append({"line": line, "columns": columns, "weights": [weights[row] for row in range(rows)]})
    return found


def main() -> None:
    folder, output = sys.argv[1:]
    os.chdir(folder)
    with open("friends.C", "w") as file:
        file.write(CODE)
    assert ROOT.gROOT.ProcessLine(".L friends.C+") == 0
    ROOT.write_far(60)
    ROOT.write_index(60)
    ROOT.write_main(60)
    file = ROOT.TFile("main.root")
    with open(output, "w") as out:
        json.dump(answers(file.Get("t"), LINES), out)


if __name__ == "__main__":
    main()
