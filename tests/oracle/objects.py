"""Cases of objects by key, written through PyROOT, and ROOT's own view of them: TBufferJSON of each object, and what
the histogram and graph classes answer."""

from __future__ import annotations

import array
import json
import math
from typing import Any

CODECS = {"none": 0, "zlib": 101, "lzma": 207, "lz4": 404, "zstd": 505}


def _fill(h: Any, seed: int, n: int = 300) -> Any:
    """Deterministic values over all bins, under- and overflow too."""
    state = seed * 7919 + 17
    dims = h.GetDimension()

    def real() -> float:
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 11) / 2**53

    for _ in range(n):
        at = [-0.2 + 1.4 * real() for _ in range(dims)]
        if "TProfile" in h.ClassName():
            h.Fill(*at, 5 * real())
        elif h.ClassName()[-1] in "CS":
            h.Fill(*at)
        else:
            h.Fill(*at, real() + 0.5)
    return h


def _free(R: Any, o: Any) -> Any:
    """Python must not delete what a file or a list of ROOT holds (and deletes, or not)."""
    R.SetOwnership(o, False)
    return o


def histograms(R: Any, path: str, compression: int = 101) -> None:
    f = R.TFile(path, "RECREATE", "", compression)
    uneven = array.array("d", [0, 0.1, 0.25, 0.5, 0.9, 1.0])
    keep = []
    for letter in "CSILFD":
        one, two, three = (getattr(R, f"TH{d}{letter}", None) for d in (1, 2, 3))
        if one is None:
            continue
        keep.append(_fill(one(f"h1{letter}", "one;x;y", 10, 0.0, 1.0), 1))
        keep.append(_fill(one(f"h1{letter}_uneven", "uneven", 5, uneven), 2))
        weighted = one(f"h1{letter}_sumw2", "weights", 7, 0.0, 1.0)
        weighted.Sumw2()
        keep.append(_fill(weighted, 3))
        keep.append(_fill(two(f"h2{letter}", "two", 4, 0.0, 1.0, 5, uneven), 4))
        keep.append(_fill(three(f"h3{letter}", "three", 3, 0.0, 1.0, 4, -0.5, 1.0, 2, 0.0, 1.0), 5))
    keep.append(R.TH1D("empty", "never filled", 3, 0.0, 1.0))
    labelled = R.TH1F("labels", "labels", 3, 0.0, 3.0)
    for i, name in enumerate(["red", "", "blue"]):
        if name:
            labelled.GetXaxis().SetBinLabel(i + 1, name)
        labelled.Fill(i, i + 1.5)
    keep.append(labelled)
    fitted = _fill(R.TH1D("with_function", "fit", 20, 0.0, 1.0), 6)
    fitted.GetListOfFunctions().Add(_free(R, R.TF1("line", "[0]+[1]*x", 0, 1)))
    keep.append(fitted)
    dates = R.TH1D("time_axis", "", 5, 0.0, 86400.0)
    dates.GetXaxis().SetTimeDisplay(1)
    dates.GetXaxis().SetTimeFormat("%H:%M")
    keep.append(dates)
    for option in ("", "s", "i", "g"):
        keep.append(_fill(R.TProfile(f"profile_{option or 'default'}", "", 6, 0.0, 1.0, option), 7))
    keep.append(_fill(R.TProfile2D("profile2", "", 3, 0.0, 1.0, 4, 0.0, 1.0), 8))
    keep.append(_fill(R.TProfile3D("profile3", "", 2, 0.0, 1.0, 2, 0.0, 1.0, 3, 0.0, 1.0), 9))
    for h in keep:
        h.Write()
    sparse = R.THnSparseD(
        "sparse",
        "sparse",
        3,
        array.array("i", [5, 6, 7]),
        array.array("d", [0, 0, 0]),
        array.array("d", [1, 2, 3]),
    )
    for i in range(40):
        sparse.Fill(array.array("d", [i / 40, i / 20, i / 13]), i + 0.5)
    sparse.Write()
    dense = R.THnF(
        "dense", "dense", 2, array.array("i", [3, 4]), array.array("d", [0, 0]), array.array("d", [1, 1])
    )
    for i in range(40):
        dense.Fill(array.array("d", [i / 40, (i % 7) / 7]), 1.0)
    dense.Write()
    stack = R.THStack("stack", "stack")
    stack.Add(_free(R, _fill(R.TH1F("in_stack", "", 4, 0.0, 1.0), 10)))
    stack.Write()
    f.Close()


def graphs(R: Any, path: str) -> None:
    f = R.TFile(path, "RECREATE", "", 101)
    n = 6

    def d(k: int) -> Any:
        return array.array("d", [k + i * i / 3 for i in range(n)])

    R.TGraph(n, d(0), d(1)).Write("graph")
    R.TGraph().Write("graph_empty")
    R.TGraphErrors(n, d(0), d(1), d(2), d(3)).Write("errors")
    R.TGraphAsymmErrors(n, d(0), d(1), d(2), d(3), d(4), d(5)).Write("asymm")
    R.TGraphBentErrors(n, d(0), d(1), d(2), d(3), d(4), d(5), d(6), d(7), d(8), d(9)).Write("bent")
    multi = R.TGraphMultiErrors(n, d(0), d(1), d(2), d(3), d(4), d(5))
    multi.AddYError(n, d(6), d(7))
    multi.Write("multi")
    R.TGraph2D(n, d(0), d(1), d(2)).Write("graph2d")
    R.TGraph2DErrors(n, d(0), d(1), d(2), d(3), d(4), d(5)).Write("graph2d_errors")
    together = R.TMultiGraph("together", "two")
    together.Add(_free(R, R.TGraph(n, d(0), d(1))), "L")
    together.Add(_free(R, R.TGraphErrors(n, d(0), d(1), d(2), d(3))), "P")
    together.Write()
    passed, total = R.TH1D("passed", "", 4, 0.0, 1.0), R.TH1D("total", "", 4, 0.0, 1.0)
    for i in range(100):
        total.Fill((i % 10) / 10)
        if i % 3:
            passed.Fill((i % 10) / 10)
    efficiency = R.TEfficiency(passed, total)
    efficiency.SetName("efficiency")
    efficiency.Write()
    line = R.TF1("line", "[0]+[1]*x", 0, 10)
    line.SetParameters(1.5, -2.5)
    line.SetParError(1, 0.25)
    line.SetParName(0, "offset")
    line.Write()
    R.TF1("gauss", "gaus", -3, 3).Write()
    R.TF2("plane", "x*[0]+y", 0, 1, 0, 2).Write()
    R.TF3("space", "x+y*z", 0, 1, 0, 2, 0, 3).Write()
    R.TFormula("formula", "sin(x)*[0]").Write()
    R.TSpline3("spline", d(0), d(1), n).Write("spline")
    f.Close()


def things(R: Any, path: str, compression: int = 101) -> None:
    f = R.TFile(path, "RECREATE", "", compression)
    single = R.TObject.kSingleKey
    words = R.TList()
    for w in ("one", "two"):
        words.Add(_free(R, R.TObjString(w)))
    words.Add(_free(R, R.TNamed("named", "in a list")), "with an option")
    words.Write("list", single)
    objects = R.TObjArray()
    objects.Add(_free(R, R.TH1F("in_array", "", 3, 0.0, 1.0)))
    objects.AddAtAndExpand(_free(R, R.TNamed("after", "a gap")), 3)
    objects.Write("objarray", single)
    hashed = R.THashList()
    hashed.Add(_free(R, R.TNamed("a", "b")))
    hashed.Write("hashlist", single)
    pairs = R.TMap()
    pairs.Add(_free(R, R.TObjString("key")), _free(R, R.TObjString("value")))
    pairs.Add(_free(R, R.TObjString("number")), _free(R, R.TParameter["int"]("n", 7)))
    pairs.Write("map", single)
    nested = R.TList()
    nested.Add(words)
    nested.Add(pairs)
    nested.Write("nested", single)
    R.TObjString("a string").Write("objstring")
    R.TObjString("long" * 100).Write("objstring_long")
    R.TNamed("a name", "a title").Write("named")
    for kind, value in (("int", -5), ("Long64_t", 2**40), ("float", 1.5), ("double", 2.25), ("bool", True)):
        R.TParameter[kind](f"p_{kind}", value).Write()
    m = R.TMatrixD(2, 3)
    for i in range(6):
        m[i // 3, i % 3] = i + 0.5
    m.Write("matrix")
    R.TMatrixF(2, 2).Write("matrix_float")
    s = R.TMatrixDSym(3)
    for i in range(9):
        s[i // 3, i % 3] = min(i // 3, i % 3) + 10 * max(i // 3, i % 3)
    s.Write("matrix_sym")
    v = R.TVectorD(4)
    for i in range(4):
        v[i] = i * 1.5
    v.Write("vector")
    R.TLorentzVector(1, 2, 3, 4).Write("lorentz")
    R.TVector3(1, 2, 3).Write("vector3")
    entries = R.TEventList("event_list", "")
    for i in (1, 5, 8):
        entries.Enter(i)
    entries.Write()
    macro = R.TMacro("macro", "text")
    macro.AddLine("int x = 1;")
    macro.Write()
    f.WriteObject(R.std.vector["int"]([1, 2, 3]), "v_int")
    f.WriteObject(R.std.vector["double"]([1.5, 2.5]), "v_double")
    f.WriteObject(R.std.vector["std::string"](["a", "bc", ""]), "v_string")
    f.WriteObject(R.std.string("hello"), "string")
    numbers = R.std.map["std::string", "int"]()
    numbers["x"], numbers["y"] = 1, 2
    f.WriteObject(numbers, "map_si")
    vv = R.std.vector["std::vector<int>"]()
    for row in ([1], [], [2, 3]):
        vv.push_back(R.std.vector["int"](row))
    f.WriteObject(vv, "vv_int")
    hits = R.std.vector["Hit"]()
    for i in range(3):
        h = R.Hit()
        h.fId, h.fX, h.fE = i, i / 2, 100.0 * i
        hits.push_back(h)
    f.WriteObject(hits, "v_hit")
    event = R.Event()
    event.fRun, event.fNumber = 7, 2**35
    event.Write("event")
    plain = R.Plain()
    plain.i, plain.d = 3, 2.5
    f.WriteObjectAny(plain, "Plain", "plain")
    corner = R.Corner()
    corner.p.i = 9
    f.WriteObjectAny(corner, "Corner", "corner")
    f.WriteObjectAny(R.TArrayD(3, array.array("d", [1, 2, 3])), "TArrayD", "array_d")
    f.WriteObjectAny(R.TDatime(2026, 11, 21, 12, 30, 15), "TDatime", "datime")
    canvas = R.TCanvas("canvas", "canvas", 200, 100)
    text = _free(R, R.TLatex(0.5, 0.5, "x^{2}"))
    text.Draw()
    canvas.Write()
    f.Close()


def directories(R: Any, path: str) -> None:
    f = R.TFile(path, "RECREATE", "", 101)
    for i in range(3):  # cycles of one name
        R.TObjString(f"cycle {i + 1}").Write("again")
    for way in ("a", "a/b", "a/b/c", "empty", "with space", "d;x", "e.f"):
        f.mkdir(way)
    for way in ("a", "a/b", "a/b/c", "with space"):
        f.cd(way)
        R.TNamed("same", way).Write()
        R.TNamed("same", way + " once more").Write()
        R.TH1F("h", way, 2, 0.0, 1.0).Write()
    f.cd()
    for odd in ("x:y", "x/y", "x;1", "", "ä", "n" * 300):
        R.TObjString("odd " + odd[:5]).Write(odd if odd else "unnamed")
    f.mkdir("many")
    f.cd("many")
    for i in range(200):
        R.TObjString(str(i)).Write(f"s{i}")
    f.Close()


def linked(R: Any, path: str) -> None:
    """Trees that refer to each other: friends, indexes, aliases, entry lists, a chain."""
    f = R.TFile(path, "RECREATE", "", 101)
    x, run = array.array("d", [0.0]), array.array("i", [0])
    trees = []
    for name, factor in (("main", 1.0), ("friend", 10.0)):
        t = _free(R, R.TTree(name, name))
        t.Branch("run", run, "run/I")
        t.Branch(f"x_{name}", x, f"x_{name}/D")
        for i in range(50):
            run[0], x[0] = i * 3 % 50, factor * i
            t.Fill()
        trees.append(t)
    trees[1].BuildIndex("run")
    trees[0].AddFriend(trees[1])
    trees[0].SetAlias("twice", "2*x_main")
    trees[0].GetUserInfo().Add(_free(R, R.TObjString("made by the oracle")))
    for t in trees:
        t.Write()
    chosen = _free(R, R.TEntryList("entry_list", "chosen entries", "main", path))
    for i in (2, 3, 20, 49):
        chosen.Enter(i)
    chosen.Write()
    chain = _free(R, R.TChain("main"))
    chain.Add("somewhere.root")
    chain.Add("elsewhere.root", 77)
    chain.Write("chain")
    f.Close()


def roofit(R: Any, path: str) -> None:
    R.RooMsgService.instance().setGlobalKillBelow(R.RooFit.FATAL)
    f = R.TFile(path, "RECREATE", "", 101)
    x = R.RooRealVar("x", "x", 0.5, -1, 1)
    mean = R.RooRealVar("mean", "mean", 0.1, -1, 1)
    sigma = R.RooRealVar("sigma", "sigma", 0.3, 0.01, 2)
    gauss = R.RooGaussian("gauss", "gauss", x, mean, sigma)
    data = R.RooDataSet("data", "data", R.RooArgSet(x))
    for i in range(20):
        x.setVal(-1 + i / 10)
        data.add(R.RooArgSet(x))
    x.Write()
    data.Write()
    R.RooArgSet(x, mean).Write("argset")
    workspace = R.RooWorkspace("workspace")
    getattr(workspace, "import")(gauss)
    workspace.Write()
    f.Close()


CASES = {
    **{f"histograms_{codec}": (lambda R, p, c=c: histograms(R, p, c)) for codec, c in CODECS.items()},
    "graphs": graphs,
    "things": things,
    "things_lz4": lambda R, p: things(R, p, 404),
    "directories": directories,
    "linked": linked,
    "roofit": roofit,
}


# ---- ROOT's own view


def _numbers(values: Any) -> list[Any]:
    return [v if math.isfinite(v) else str(v) for v in map(float, values)]


def _axis(axis: Any) -> list[float]:
    return [axis.GetBinLowEdge(i) for i in range(1, axis.GetNbins() + 2)]


def _histogram(h: Any) -> dict[str, Any]:
    cells = range(h.GetNcells())
    dims = h.GetDimension()
    axes = [h.GetXaxis(), h.GetYaxis(), h.GetZaxis()][:dims]
    return {
        "shape": [a.GetNbins() + 2 for a in axes],  # x runs fastest in the flat lists below
        "values": _numbers(h.GetBinContent(i) for i in cells),
        "errors": _numbers(h.GetBinError(i) for i in cells),
        "edges": [_axis(a) for a in axes],
    }


def _graph(g: Any) -> dict[str, Any]:
    n = g.GetN()
    out = {"x": _numbers(g.GetX()[i] for i in range(n)), "y": _numbers(g.GetY()[i] for i in range(n))}
    if "Errors" in g.ClassName():
        for name in ("EXlow", "EXhigh", "EYlow", "EYhigh"):
            out[name.lower()] = _numbers(getattr(g, f"GetError{name[1:]}")(i) for i in range(n))
    return out


def dump(R: Any, path: str) -> dict[str, Any]:
    R.TBufferJSON.SetFloatFormat("%.17g")
    R.TBufferJSON.SetDoubleFormat("%.17g")
    f = R.TFile.Open(path)
    out: dict[str, Any] = {"keys": [], "objects": {}, "trees": {}}

    def walk(directory: Any, prefix: str) -> None:
        for key in directory.GetListOfKeys():
            name, cycle, cl = str(key.GetName()), int(key.GetCycle()), str(key.GetClassName())
            out["keys"].append([prefix + name, cycle, cl])
            if cl == "TDirectoryFile":
                walk(key.ReadObj(), prefix + name + "/")
                continue
            known = R.TClass.GetClass(cl)
            where = f"{prefix}{name};{cycle}"
            if known and known.InheritsFrom("TTree") and not known.InheritsFrom("TChain"):
                out["trees"][where] = json.loads(str(R.dump_tree(key.ReadObj())))
                continue
            text = str(R.object_json_of_key(key))
            entry: dict[str, Any] = {"class": cl, "json": json.loads(text) if text else None}
            if known and known.InheritsFrom("TH1"):
                entry["histogram"] = _histogram(key.ReadObj())
            elif known and known.InheritsFrom("TGraph"):
                entry["graph"] = _graph(key.ReadObj())
            out["objects"][where] = entry

    walk(f, "")
    return out
