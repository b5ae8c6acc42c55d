"""One object of each class that is added, in three files: run in real ROOT. Arguments: seed, directory."""

import random
import sys
from array import array
from typing import Any

import ROOT

ROOT.TH1.AddDirectory(False)
ROOT.gErrorIgnoreLevel = ROOT.kError
chance = random.Random(int(sys.argv[1]))
kept = []


def own(made: Any) -> Any:
    """Kept for as long as the process lives: lists and files hold objects without owning them."""
    ROOT.SetOwnership(made, False)
    kept.append(made)
    return made


def points(graph: Any, errors: int = 0) -> Any:
    for _ in range(chance.randint(1, 5)):
        point = graph.GetN()
        graph.SetPoint(point, chance.random(), chance.random())
        if errors:
            graph.SetPointError(point, *(chance.random() for _ in range(errors)))
    graph.SetTitle("a graph")
    return own(graph)


def hist(name: str) -> Any:
    made = own(ROOT.TH1F(name, "title", 5, 0, 5))
    for _ in range(9):
        made.Fill(chance.uniform(0, 5))
    return made


def collected(made: Any, *items: Any) -> Any:
    for item in items:
        made.Add(item)
    return own(made)


def numbers(*values: float) -> Any:
    return array("d", values)


for place in range(3):
    file = ROOT.TFile(f"{sys.argv[2]}/in{place}.root", "recreate")
    put = lambda name, made, file=file: file.WriteTObject(own(made), name, "SingleKey")  # noqa: E731
    put("graph", points(ROOT.TGraph()))
    put("errors", points(ROOT.TGraphErrors(), 2))
    put("asymmetric", points(ROOT.TGraphAsymmErrors(), 4))
    put("bent", points(ROOT.TGraphBentErrors(), 8))
    put("no points", ROOT.TGraph() if place == 0 else points(ROOT.TGraph()))
    put("cut", points(ROOT.TCutG(f"cut{place}", 3, numbers(0, 1, 1), numbers(0, 0, 1))))
    for kind in ("double", "float", "int", "long", "Long64_t", "bool"):
        for mode in "+*MmfL":
            value = chance.random() < 0.5 if kind == "bool" else chance.randint(1, 9)
            put(
                f"{kind} {ord(mode)}",
                ROOT.TParameter(kind)("p", value, mode.lower() if mode == "L" else mode),
            )
    put("constant", ROOT.TParameter("int")("p", 4))
    efficiency = ROOT.TEfficiency("e", "title", 5, 0, 5)
    efficiency2 = ROOT.TEfficiency("e2", "title", 5, 0, 5, 3, 0, 1)
    efficiency.SetWeight(1 + place)
    for _ in range(20):
        efficiency.Fill(chance.random() < 0.4, chance.uniform(0, 5))
        efficiency2.Fill(chance.random() < 0.4, chance.uniform(0, 5), chance.random())
    put("efficiency", efficiency)
    put("efficiency 2", efficiency2)
    for letter in "DFISCL":
        sparse = getattr(ROOT, f"THnSparse{letter}")(
            "s", "title", 3, array("i", [5, 4, 3]), numbers(0, 0, 0), numbers(1, 1, 1))  # fmt: skip
        for _ in range(30):
            sparse.Fill(numbers(*(chance.uniform(-0.1, 1.1) for _ in range(3))), chance.choice([1.0, 2.0]))
        put(f"sparse {letter}", sparse)
    chunks = ROOT.THnSparseD("c", "title", 2, array("i", [100, 100]), numbers(0, 0), numbers(1, 1), 50)
    chunks.Sumw2()
    for _ in range(120):
        chunks.Fill(numbers(chance.random(), chance.random()))
    put("chunks", chunks)
    for kind in ("float", "double", "int", "short", "long"):
        full = ROOT.THnT(kind)("n", "title", 2, array("i", [5, 4]), numbers(0, 0), numbers(1, 1))
        if place == 2 and kind == "double":
            full.Sumw2()
        for _ in range(30):
            full.Fill(numbers(chance.uniform(-0.1, 1.1), chance.uniform(-0.1, 1.1)))
        put(f"full {kind}", full)
    text = own(ROOT.TObjString(f"text {place}"))
    put("list", collected(ROOT.TList(), hist("a"), text, points(ROOT.TGraph())))
    put("array", collected(ROOT.TObjArray(), hist("b"), collected(ROOT.TList(), hist("c"))))
    put("hash list", collected(ROOT.THashList(), hist("z")))
    put("stack", collected(ROOT.THStack("stack", "title"), hist("d"), hist("e")))
    statistic = ROOT.TStatistic("statistic")
    for _ in range(3 * place):
        statistic.Fill(chance.gauss(0, 1), chance.uniform(0.5, 2))
    put("statistic", statistic)
    drawn = hist("drawn")
    drawn.GetListOfFunctions().Add(own(ROOT.TF1("line", "[0]*x", 0, 1)))
    drawn.SetOption("E")
    drawn.SetLineColor(3)
    drawn.SetMaximum(7)
    put("drawn", drawn)
    put("kept", ROOT.TNamed("kept", f"of {place}"))
    file.Close()
