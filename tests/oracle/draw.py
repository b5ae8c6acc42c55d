"""What `TTree::Draw` makes of expressions: writes the file that they are about, and the values and weights of each as JSON.

Usage: draw.py FOLDER EXPRESSIONS HISTOGRAMS OUTPUT, where a line of EXPRESSIONS is `expression ;; cut`, and
one of HISTOGRAMS `expression ;; cut ;; option`.
"""

from __future__ import annotations

import json
import math
import os
import sys
from typing import Any

import ROOT

ROOT.gROOT.SetBatch(True)
ROOT.gErrorIgnoreLevel = ROOT.kFatal

ENTRIES = 40

CODE = """
#include <string>
#include <vector>
#include <TTree.h>
#include <TFile.h>
#include <TMath.h>
struct Hit { float x; double e; int id; };
struct Track { float pt; float eta; std::vector<float> chi; int charge; };
struct Head { int run; long long number; float weight; };
struct Event { Head head; std::vector<Hit> hits; double m[2][3]; };
#ifdef __CLING__
#pragma link C++ struct Hit+;
#pragma link C++ struct Track+;
#pragma link C++ struct Head+;
#pragma link C++ struct Event+;
#pragma link C++ class std::vector<Hit>+;
#pragma link C++ class std::vector<Track>+;
#pragma link C++ class std::vector<std::vector<float>>+;
#endif
void write(const char *path, int entries) {
  TFile file(path, "RECREATE");
  TTree t("t", "expressions");
  float x; double y; int i; unsigned u; long long big; unsigned long long huge; bool b; short s; char name[20]; int n;
  float v[10], w[10]; int k[10]; double m[2][3]; float a[3];
  std::vector<float> vf; std::vector<int> vi; std::vector<std::vector<float>> vv; std::string text;
  Event event; std::vector<Track> tracks;
  struct { float p; int q; } leaves;
  auto *pf = &vf; auto *pi = &vi; auto *pv = &vv; auto *pt = &text; auto *pe = &event; auto *pk = &tracks;
  t.Branch("x", &x, "x/F"); t.Branch("y", &y, "y/D"); t.Branch("i", &i, "i/I"); t.Branch("u", &u, "u/i");
  t.Branch("big", &big, "big/L"); t.Branch("huge", &huge, "huge/l"); t.Branch("b", &b, "b/O"); t.Branch("s", &s, "s/S");
  t.Branch("name", name, "name/C"); t.Branch("n", &n, "n/I"); t.Branch("v", v, "v[n]/F"); t.Branch("w", w, "w[n]/F");
  t.Branch("k", k, "k[n]/I"); t.Branch("m", m, "m[2][3]/D"); t.Branch("a", a, "a[3]/F");
  t.Branch("vf", &pf); t.Branch("vi", &pi); t.Branch("vv", &pv); t.Branch("text", &pt);
  t.Branch("pair", &leaves, "p/F:q/I");
  t.Branch("event.", &pe, 32000, 99); t.Branch("whole.", &pe, 32000, 0); t.Branch("tracks", &pk, 32000, 99);
  const char *names[] = {"mu", "e", "tau"};
  for (int e = 0; e < entries; ++e) {
    x = (e * 37 % 100) / 8.f - 5; y = (e * 53 % 97) / 3. + 0.125; i = e % 11 - 3; u = e * 3; big = 1000000000000LL + e;
    huge = 5000000000ULL * e; b = e % 3 == 0; s = e % 5; snprintf(name, 20, "%s", names[e % 3]); n = e % 5;
    for (int j = 0; j < n; ++j) { v[j] = e * 2 + j * 0.5f; w[j] = j - 1.5f; k[j] = (e + j) % 4; }
    for (int j = 0; j < 6; ++j) m[j / 3][j % 3] = e * 10 + j;
    for (int j = 0; j < 3; ++j) a[j] = e - j * 0.25f;
    vf.clear(); vi.clear(); vv.clear(); tracks.clear(); event.hits.clear();
    for (int j = 0; j < n; ++j) { vf.push_back(e + j / 4.f); vi.push_back(e * j); }
    for (int j = 0; j < n; ++j) { vv.push_back({}); for (int l = 0; l < 1 + (e + j) % 3; ++l) vv.back().push_back(e * 100 + j * 10 + l); }
    text = names[(e + 1) % 3];
    leaves.p = e / 2.f; leaves.q = e % 7;
    event.head = {e / 10, 100LL * e, 0.5f + e % 4};
    for (int j = 0; j < 6; ++j) event.m[j / 3][j % 3] = e + j * 0.5;
    for (int j = 0; j < (e + 1) % 4; ++j) event.hits.push_back({e + j * 0.1f, e * 1.5 - j, j});
    for (int j = 0; j < 1 + e % 3; ++j) tracks.push_back({10.f * e + j, j - 0.5f, {1.f * j, 2.f * e}, j % 2 ? 1 : -1});
    t.Fill();
  }
  t.SetAlias("r", "sqrt(x*x+y*y)");
  t.SetAlias("good", "x>0 && i!=2");
  t.SetAlias("rr", "r*r");
  t.Write();
}
"""


def answers(path: str, lines: list[str]) -> list[dict[str, Any]]:
    """Columns of values and weights of each expression; only weights where there is a cut."""
    file = ROOT.TFile(path)
    tree = file.Get("t")
    tree.SetEstimate(1_000_000)
    found = []
    for line in lines:
        expression, _, cut = line.partition(" ;; ")
        rows = tree.Draw(expression, cut, "goff")
        if rows < 0:
            found.append({"line": line, "error": True})
            continue
        dimensions = tree.GetPlayer().GetDimension()
        columns = []
        for number in range(dimensions):
            values = tree.GetVal(number)
            columns.append([_plain(values[row]) for row in range(rows)])
        weights = tree.GetW()
        found.append(
            {
                "line": line,
                "columns": columns,
                "weights": [weights[row] for row in range(rows)] if rows else [],
            }
        )
    return found


def _plain(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def histograms(path: str, lines: list[str]) -> list[dict[str, Any]]:
    """What the histogram of each line holds, flow bins included."""
    file = ROOT.TFile(path)
    tree = file.Get("t")
    found = []
    # ROOT keeps numbers of bins that were asked for as the next ones' usual numbers: those without bins come
    # first.
    for line in sorted(lines, key=lambda line: ">>" in line):
        expression, cut, option = (part.strip() for part in line.split(";;"))
        for name in ("h", "htemp"):
            ROOT.gDirectory.Delete(name)
        tree.Draw(expression, cut, f"goff {option}")
        made = ROOT.gDirectory.Get("h" if ">>" in expression else "htemp")
        axes = [getattr(made, f"Get{letter}axis")() for letter in "XYZ"[: made.GetDimension()]]
        cells = made.GetNcells()
        found.append(
            {
                "line": line,
                "class": made.ClassName(),
                "axes": [[axis.GetNbins(), axis.GetXmin(), axis.GetXmax()] for axis in axes],
                "values": [made.GetBinContent(cell) for cell in range(cells)],
                "errors": [made.GetBinError(cell) for cell in range(cells)],
                "entries": made.GetEntries(),
                "mean": made.GetMean(),
                "std_dev": made.GetStdDev(),
            }
        )
    return found


def read(path: str) -> list[str]:
    """The lines of a table, without its comments."""
    with open(path) as file:
        return [line for line in file.read().splitlines() if line.strip() and not line.startswith("#")]


def main() -> None:
    folder, expressions, drawn, output = sys.argv[1:]
    os.chdir(folder)
    with open("expressions.C", "w") as file:
        file.write(CODE)
    assert ROOT.gROOT.ProcessLine(".L expressions.C+") == 0
    ROOT.write("expressions.root", ENTRIES)
    made = [histograms("expressions.root", read(drawn)), answers("expressions.root", read(expressions))]
    with open(output, "w") as file:
        json.dump(made, file)


if __name__ == "__main__":
    main()
