"""What real ROOT reads from files of objects: python read_objects.py FILE... prints one JSON document.

For each object of a file: its class, and what ROOT's own methods say of it. Histograms are also added,
cloned, merged and projected, which takes all of their members.
"""

from __future__ import annotations

import itertools
import json
import sys
from typing import Any

import ROOT

ROOT.gROOT.SetBatch(True)
ROOT.TH1.AddDirectory(False)
#: Projections of one name would be one histogram.
COUNT = itertools.count()


def axis(found: Any) -> dict[str, Any]:
    bins = found.GetNbins()
    labels = [str(found.GetBinLabel(i + 1)) for i in range(bins)] if found.GetLabels() else None
    return {
        "edges": [found.GetBinLowEdge(i + 1) for i in range(bins + 1)],
        "regular": not found.IsVariableBinSize(),
        "title": str(found.GetTitle()),
        "labels": labels,
    }


def histogram(h: Any) -> dict[str, Any]:
    directions = h.GetDimension()
    cells = range(h.GetNcells())
    out = {
        "name": str(h.GetName()),
        "title": str(h.GetTitle()),
        "axes": [axis(h.GetXaxis()), axis(h.GetYaxis()), axis(h.GetZaxis())][:directions],
        "values": [h.GetBinContent(i) for i in cells],
        "errors": [h.GetBinError(i) for i in cells],
        "entries": h.GetEntries(),
        "effective": h.GetEffectiveEntries(),
        "integral": h.Integral(),
        "mean": [h.GetMean(i + 1) for i in range(directions)],
        "rms": [h.GetRMS(i + 1) for i in range(directions)],
        "sumw2": h.GetSumw2N(),
    }
    if h.InheritsFrom("TProfile") or h.InheritsFrom("TProfile2D") or h.InheritsFrom("TProfile3D"):
        out["counts"] = [h.GetBinEntries(i) for i in cells]
        out["effective_counts"] = [h.GetBinEffectiveEntries(i) for i in cells]
    # The sums that were stored, and the same from the bins alone.
    again = h.Clone("again")
    again.ResetStats()
    out["mean_of_bins"] = [again.GetMean(i + 1) for i in range(directions)]
    out["rms_of_bins"] = [again.GetRMS(i + 1) for i in range(directions)]
    twice = h.Clone("twice")
    twice.Add(h)
    out["twice"] = [twice.GetBinContent(i) for i in cells]
    merged = h.Clone("merged")
    others = ROOT.TList()
    others.Add(h)
    if merged.Merge(others) < 0:
        sys.exit(f"{h.GetName()}: ROOT cannot merge")
    out["merged"] = [merged.GetBinContent(i) for i in cells]
    if directions == 2 and not h.InheritsFrom("TProfile2D"):
        projected = h.ProjectionX(f"projected_{next(COUNT)}", 1, h.GetNbinsY())
        out["projected"] = [projected.GetBinContent(i) for i in range(projected.GetNcells())]
    if directions == 3 and not h.InheritsFrom("TProfile3D"):
        projected = h.Project3D(f"{next(COUNT)}_yx")
        out["projected"] = [projected.GetBinContent(i) for i in range(projected.GetNcells())]
    canvas = ROOT.TCanvas()
    h.Draw()
    canvas.Update()
    return out


def graph(g: Any) -> dict[str, Any]:
    points = range(g.GetN())
    canvas = ROOT.TCanvas()
    g.Draw("AP")
    canvas.Update()
    return {
        "name": str(g.GetName()),
        "title": str(g.GetTitle()),
        "x": [g.GetPointX(i) for i in points],
        "y": [g.GetPointY(i) for i in points],
        "ex": [[g.GetErrorXlow(i), g.GetErrorXhigh(i)] for i in points],
        "ey": [[g.GetErrorYlow(i), g.GetErrorYhigh(i)] for i in points],
    }


def told(thing: Any) -> dict[str, Any]:
    name = thing.ClassName()
    out: dict[str, Any] = {"class": name}
    if thing.InheritsFrom("TH1"):
        out |= histogram(thing)
    elif thing.InheritsFrom("TGraph"):
        out |= graph(thing)
    elif name.startswith("TParameter"):
        out |= {"name": str(thing.GetName()), "value": thing.GetVal()}
    elif name == "TMap":
        out["items"] = {str(key.GetName()): str(thing.GetValue(key).GetName()) for key in thing}
    elif thing.InheritsFrom("TCollection"):
        out["items"] = [told(item) for item in thing]
    elif thing.InheritsFrom("TF1"):
        out |= {
            "name": str(thing.GetName()),
            "formula": str(thing.GetExpFormula()),
            "at": [thing.Eval(x / 4) for x in range(5)],
        }
    else:
        out |= {"name": str(thing.GetName()), "title": str(thing.GetTitle())}
    return out


def walk(folder: Any, path: str, out: dict[str, Any]) -> None:
    for key in folder.GetListOfKeys():
        thing = key.ReadObj()
        if thing.InheritsFrom("TDirectory"):
            walk(thing, path + key.GetName() + "/", out)
        else:
            out[path + key.GetName()] = told(thing)


def main() -> None:
    out: dict[str, Any] = {}
    for argument in sys.argv[1:]:
        file = ROOT.TFile.Open(argument)
        out[argument] = {}
        walk(file, "", out[argument])
        file.Close()
    sys.stdout.write("\n" + json.dumps(out) + "\n")


if __name__ == "__main__":
    main()
