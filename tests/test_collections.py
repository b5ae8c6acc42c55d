"""Collections and combinations in expressions, beside Awkward Array: every value, in trees and RNTuples."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")

ENTRIES = 1_500
OBJECTS = {"Jet": 3.5, "Muon": 1.4, "Electron": 0.9}
COMPONENTS = ("px", "py", "pz", "E")


def made(rng: np.random.Generator) -> dict[str, Any]:
    """Entries with no, one and several objects, in doubles: nothing is rounded on the way."""
    columns: dict[str, Any] = {
        "MET_pt": rng.exponential(35, ENTRIES),
        "MET_phi": rng.uniform(-np.pi, np.pi, ENTRIES),
    }
    for name, mean in OBJECTS.items():
        counts = rng.poisson(mean, ENTRIES)
        counts[:3] = [0, 1, 3]
        total = int(counts.sum())
        values = {
            "pt": 5 + rng.exponential(40, total),
            "eta": rng.normal(0, 1.5, total),
            "phi": rng.uniform(-np.pi, np.pi, total),
            "mass": rng.exponential(5, total),
            "btag": rng.random(total).round(1),
            "charge": rng.choice(np.array([-1, 1], np.int32), total),
        }
        values["btag"][::7] = np.nan
        jagged = ak.zip({key: ak.unflatten(of, counts) for key, of in values.items()})
        columns[name] = jagged[ak.argsort(jagged.pt, ascending=False, stable=True)]
    return columns


@pytest.fixture(scope="module")
def columns() -> dict[str, Any]:
    return made(np.random.default_rng(40))


@pytest.fixture(scope="module", params=["tree of columns", "ntuple of records", "ntuple of columns"])
def tree(
    request: pytest.FixtureRequest, columns: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Any:
    path = tmp_path_factory.mktemp("collections") / "events.root"
    split = {f"{name}_{member}": columns[name][member] for name in OBJECTS for member in columns[name].fields}
    with sapwood.recreate(path) as file:
        match request.param:
            case "tree of columns":
                file["Events"] = columns
            case "ntuple of records":
                file.mkrntuple("Events", columns)
            case _:
                single = {key: of for key, of in columns.items() if key not in OBJECTS}
                file.mkrntuple("Events", single | split)
    tree = sapwood.open(path)["Events"]
    assert ("Jet_pt" in tree.keys()) == (request.param != "ntuple of records")  # noqa: SIM118
    return tree


def same(found: Any, wanted: Any, digits: float = 0.0) -> None:
    """Compares lists, absent values and numbers."""
    assert found.ndim == wanted.ndim
    for _ in range(found.ndim - 1):
        assert ak.all(ak.num(found) == ak.num(wanted))
        found, wanted = ak.flatten(found), ak.flatten(wanted)
    assert ak.to_list(ak.is_none(found)) == ak.to_list(ak.is_none(wanted))
    a, b = (ak.to_numpy(ak.drop_none(array)).astype(float) for array in (found, wanted))
    np.testing.assert_allclose(a, b, rtol=digits, atol=0)


def vectors(of: Any) -> Any:
    px, py, pz = of.pt * np.cos(of.phi), of.pt * np.sin(of.phi), of.pt * np.sinh(of.eta)
    energy = np.sqrt((of.pt * np.cosh(of.eta)) ** 2 + of.mass**2)
    return ak.zip({"px": px, "py": py, "pz": pz, "E": energy}, depth_limit=of.ndim)


def added(*of: Any) -> Any:
    total = of[0]
    for more in of[1:]:
        total = ak.zip({key: total[key] + more[key] for key in COMPONENTS}, depth_limit=total.ndim)
    return total


def mass(of: Any) -> Any:
    squared = of.E**2 - of.px**2 - of.py**2 - of.pz**2
    return np.sign(squared) * np.sqrt(abs(squared))


def turned(phi: Any) -> Any:
    return (phi + np.pi) % (2 * np.pi) - np.pi


def distance(a: Any, b: Any) -> Any:
    return np.sqrt((a.eta - b.eta) ** 2 + turned(a.phi - b.phi) ** 2)


def chosen(of: Any, at: Any) -> Any:
    """The item of each list that `ak.argmax` or `ak.argmin` names."""
    return ak.firsts(of[ak.singletons(at)])


def nested(a: Any, b: Any) -> Any:
    return ak.unzip(ak.cartesian([a, b], nested=True))


def in_order(of: Any, key: Any) -> Any:
    """Sorted by a key, NaN last."""
    order = [
        sorted(range(len(keys)), key=lambda at: (keys[at] != keys[at], keys[at])) for keys in ak.to_list(key)
    ]
    return of[ak.from_iter([[int(at) for at in ats] for ats in order])]


Case = Callable[[Any, Any, Any, dict[str, Any]], Any]

#: Expressions, and what they are of jets, muons, electrons and all columns.
EXACT: dict[str, Case] = {
    "Jet.pt": lambda j, m, e, c: j.pt,
    "MET.pt": lambda j, m, e, c: ak.Array(c["MET_pt"]),
    "Jet[Jet.pt > 30].eta": lambda j, m, e, c: j[j.pt > 30].eta,
    "Jet[Jet.pt > 30 && abs(Jet.eta) < 1].btag": lambda j, m, e, c: j[(j.pt > 30) & (abs(j.eta) < 1)].btag,
    "Jet[MET.pt > 40 && Jet.pt > 30].pt": lambda j, m, e, c: j[(j.pt > 30) & (c["MET_pt"] > 40)].pt,
    "Jet[:2].pt": lambda j, m, e, c: j[:, :2].pt,
    "Jet[:, 1:].pt": lambda j, m, e, c: j[:, 1:].pt,
    "Jet[Jet.pt > 30][:1].pt": lambda j, m, e, c: j[j.pt > 30][:, :1].pt,
    "first(Jet.pt)": lambda j, m, e, c: ak.firsts(j.pt),
    "last(Jet.pt)": lambda j, m, e, c: ak.firsts(j.pt[:, ::-1]),
    "first(Jet).eta": lambda j, m, e, c: ak.firsts(j.eta),
    "first(Jet[Jet.pt > 60]).charge": lambda j, m, e, c: ak.firsts(j[j.pt > 60].charge),
    "Jet[argmax(Jet.eta)].pt": lambda j, m, e, c: chosen(j.pt, ak.argmax(j.eta, axis=1)),
    "Jet[argmin(Jet.eta)].charge": lambda j, m, e, c: chosen(j.charge, ak.argmin(j.eta, axis=1)),
    "sorted(Jet, -Jet.btag).pt": lambda j, m, e, c: in_order(j, -j.btag).pt,
    "sorted(Jet, Jet.charge).btag": lambda j, m, e, c: in_order(j, j.charge).btag,
    "sorted(Jet[Jet.pt > 20], Jet[Jet.pt > 20].eta)[:2].pt": lambda j, m, e, c: (
        in_order(j[j.pt > 20], j[j.pt > 20].eta)[:, :2].pt
    ),
    "len(Jet)": lambda j, m, e, c: ak.num(j),
    "Length$(Jet[Jet.pt > 30])": lambda j, m, e, c: ak.num(j[j.pt > 30]),
    "@Jet.size() + Muon.size()": lambda j, m, e, c: ak.num(j) + ak.num(m),
    "len(pairs(Jet))": lambda j, m, e, c: ak.num(ak.combinations(j, 2)),
    "len(cross(Jet, Muon))": lambda j, m, e, c: ak.num(j) * ak.num(m),
    "len(each(Jet, Muon))": lambda j, m, e, c: ak.num(ak.cartesian([j, m], nested=True), axis=2),
    "Jet[Jet.pt > 30].index": lambda j, m, e, c: ak.local_index(j.pt)[j.pt > 30],
    "pairs(Jet).second.index": lambda j, m, e, c: ak.unzip(ak.argcombinations(j, 2))[1],
    "pairs(Muon).first.pt": lambda j, m, e, c: ak.unzip(ak.combinations(m, 2))[0].pt,
    "pairs(Muon).second.charge": lambda j, m, e, c: ak.unzip(ak.combinations(m, 2))[1].charge,
    "triples(Jet).first.pt": lambda j, m, e, c: ak.unzip(ak.combinations(j, 3))[0].pt,
    "triples(Jet).second.pt": lambda j, m, e, c: ak.unzip(ak.combinations(j, 3))[1].pt,
    "triples(Jet).third.pt": lambda j, m, e, c: ak.unzip(ak.combinations(j, 3))[2].pt,
    "cross(Electron, Muon).first.pt": lambda j, m, e, c: ak.unzip(ak.cartesian([e, m]))[0].pt,
    "cross(Electron, Muon).second.pt": lambda j, m, e, c: ak.unzip(ak.cartesian([e, m]))[1].pt,
    "each(Jet, Muon).first.pt": lambda j, m, e, c: nested(j, m)[0].pt,
    "each(Jet, Muon).second.pt": lambda j, m, e, c: nested(j, m)[1].pt,
    "pairs(pairs(Muon)).second.first.pt": lambda j, m, e, c: (
        ak.combinations(ak.combinations(m, 2), 2)["1"]["0"].pt
    ),
    "concat(Electron, Muon).pt": lambda j, m, e, c: ak.concatenate([e.pt, m.pt], axis=1),
    "concat(Electron, Muon).charge": lambda j, m, e, c: ak.concatenate([e.charge, m.charge], axis=1),
    "concat(Electron, Muon, Jet).which": lambda j, m, e, c: ak.concatenate(
        [ak.full_like(of.charge, at) for at, of in enumerate((e, m, j))], axis=1
    ),
    "concat(Electron, Muon[Muon.pt > 20]).index": lambda j, m, e, c: ak.concatenate(
        [ak.local_index(e.pt), ak.local_index(m.pt)[m.pt > 20]], axis=1
    ),
    "mass(Jet)": lambda j, m, e, c: j.mass,
    "pt(Jet[Jet.pt > 30])": lambda j, m, e, c: j[j.pt > 30].pt,
}
CLOSE: dict[str, Case] = {
    "energy(Jet)": lambda j, m, e, c: vectors(j).E,
    "mass(pairs(Muon))": lambda j, m, e, c: mass(added(*ak.unzip(ak.combinations(vectors(m), 2)))),
    "mass(triples(Jet))": lambda j, m, e, c: mass(added(*ak.unzip(ak.combinations(vectors(j), 3)))),
    "pt(pairs(Jet))": lambda j, m, e, c: np.hypot(
        *(added(*ak.unzip(ak.combinations(vectors(j), 2)))[key] for key in ("px", "py"))
    ),
    "phi(pairs(Jet))": lambda j, m, e, c: np.arctan2(
        *(added(*ak.unzip(ak.combinations(vectors(j), 2)))[key] for key in ("py", "px"))
    ),
    "mass(cross(Electron, Muon))": lambda j, m, e, c: mass(
        added(*ak.unzip(ak.cartesian([vectors(e), vectors(m)])))
    ),
    "mass(first(Jet), last(Muon))": lambda j, m, e, c: mass(
        added(ak.firsts(vectors(j)), ak.firsts(vectors(m)[:, ::-1]))
    ),
    "deltaPhi(Jet, MET)": lambda j, m, e, c: turned(c["MET_phi"] - j.phi),
    "deltaPhi(Jet.phi, MET.phi)": lambda j, m, e, c: turned(c["MET_phi"] - j.phi),
    "deltaR(pairs(Jet).first, pairs(Jet).second)": lambda j, m, e, c: distance(
        *ak.unzip(ak.combinations(j, 2))
    ),
    "deltaR(each(Jet, Muon).first, each(Jet, Muon).second)": lambda j, m, e, c: distance(*nested(j, m)),
    "min_deltaR(Jet, Muon[Muon.pt > 20])": lambda j, m, e, c: ak.fill_none(
        ak.min(distance(*nested(j, m[m.pt > 20])), axis=2), np.inf
    ),
}


def cases(columns: dict[str, Any]) -> tuple[Any, Any, Any, dict[str, Any]]:
    return columns["Jet"], columns["Muon"], columns["Electron"], columns


@pytest.mark.parametrize("expression", EXACT)
def test_members_of_chosen_objects_are_those_of_awkward(
    tree: Any, columns: dict[str, Any], expression: str
) -> None:
    same(tree.arrays([expression])[expression], EXACT[expression](*cases(columns)))


@pytest.mark.parametrize("expression", CLOSE)
def test_four_vectors_are_those_of_formulas(tree: Any, columns: dict[str, Any], expression: str) -> None:
    same(tree.arrays([expression])[expression], CLOSE[expression](*cases(columns)), 1e-9)


def test_the_nearest_object_is_found_for_each(tree: Any, columns: dict[str, Any]) -> None:
    jets, muons, *_ = cases(columns)
    found = tree.arrays(["x[argmin(deltaR(x.first, x.second))].second.pt"], aliases={"x": "each(Jet, Muon)"})
    jet, muon = nested(jets, muons)
    nearest = ak.argmin(distance(jet, muon), axis=2, keepdims=True)
    same(found[found.fields[0]], ak.firsts(muon[nearest].pt, axis=2))


#: Names that the queries of the ADL benchmark need, and for each histogram its expression, cut and last edge.
ALIASES = {
    "Z": "pairs(Muon)",
    "top": "triples(Jet)",
    "best": "top[argmin(abs(mass(top) - 172.5))]",
    "clean": "Jet[Jet.pt > 30 && min_deltaR(Jet, Muon[Muon.pt > 10]) >= 0.4"
    " && min_deltaR(Jet, Electron[Electron.pt > 10]) >= 0.4]",
    "lepton": "concat(Electron, Muon)",
    "two": "pairs(lepton)",
    "ossf": "two[two.first.which == two.second.which && two.first.charge != two.second.charge]",
    "boson": "ossf[argmin(abs(mass(ossf) - 91.2))]",
    "other": "lepton[(lepton.which != boson.first.which || lepton.index != boson.first.index)"
    " && (lepton.which != boson.second.which || lepton.index != boson.second.index)]",
    "lead": "other[argmax(other.pt)]",
}
QUERIES = {
    "q1": ("MET.pt", "", 200),
    "q2": ("Jet.pt", "", 200),
    "q3": ("Jet[abs(Jet.eta) < 1].pt", "", 200),
    "q4": ("MET.pt", "Sum$(Jet.pt > 40) >= 2", 200),
    "q5": ("MET.pt", "any(Z.first.charge != Z.second.charge && mass(Z) > 60 && mass(Z) < 120)", 200),
    "q6a": ("pt(best)", "", 200),
    "q6b": ("max(best.first.btag, max(best.second.btag, best.third.btag))", "", 1),
    "q7": ("sum(clean.pt)", "", 200),
    "q8": ("sqrt(2 * lead.pt * MET.pt * (1 - cos(lead.phi - MET.phi)))", "len(lepton) >= 3", 200),
}


def by_awkward(columns: dict[str, Any]) -> dict[str, Any]:
    jets, muons, electrons, _ = cases(columns)
    met, met_phi = ak.Array(columns["MET_pt"]), ak.Array(columns["MET_phi"])
    a, b = ak.unzip(ak.combinations(ak.zip({"v": vectors(muons), "charge": muons.charge}, depth_limit=2), 2))
    dimuon = mass(added(a.v, b.v))
    has_z = ak.any((dimuon > 60) & (dimuon < 120) & (a.charge != b.charge), axis=1)

    top = ak.combinations(ak.zip({"v": vectors(jets), "btag": jets.btag}, depth_limit=2), 3)
    total = added(top["0"].v, top["1"].v, top["2"].v)
    best = ak.argmin(abs(mass(total) - 172.5), axis=1, keepdims=True)
    total, top = ak.flatten(ak.drop_none(total[best])), ak.flatten(ak.drop_none(top[best]))
    largest = np.maximum(top["0"].btag, np.maximum(top["1"].btag, top["2"].btag))

    def far(leptons: Any) -> Any:
        return ak.all(distance(*nested(jets, leptons[leptons.pt > 10])) >= 0.4, axis=2)

    clean = jets[far(muons) & far(electrons) & (jets.pt > 30)]

    def leptons(of: Any, which: int) -> Any:
        keys = {key: of[key] for key in ("pt", "eta", "phi", "mass", "charge")}
        return ak.zip(keys | {"which": ak.full_like(of.charge, which), "v": vectors(of)}, depth_limit=2)

    lepton = ak.concatenate([leptons(electrons, 0), leptons(muons, 1)], axis=1)
    keep = ak.num(lepton) >= 3
    lepton, pt, phi = lepton[keep], met[keep], met_phi[keep]
    pair = ak.argcombinations(lepton, 2, fields=["i", "k"])
    i, k = lepton[pair.i], lepton[pair.k]
    pair = pair[(i.which == k.which) & (i.charge != k.charge)]
    masses = mass(added(lepton[pair.i].v, lepton[pair.k].v))
    pair = ak.drop_none(pair[ak.argmin(abs(masses - 91.2), axis=1, keepdims=True)])
    has = ak.num(pair) > 0
    lepton, pt, phi, pair = lepton[has], pt[has], phi[has], pair[has][:, 0]
    place = ak.local_index(lepton.pt)
    rest = lepton[(place != pair.i) & (place != pair.k)]
    lead = rest[ak.argmax(rest.pt, axis=1, keepdims=True)][:, 0]
    return {
        "q1": met,
        "q2": ak.flatten(jets.pt),
        "q3": ak.flatten(jets.pt[abs(jets.eta) < 1]),
        "q4": met[ak.sum(jets.pt > 40, axis=1) >= 2],
        "q5": met[has_z],
        "q6a": np.hypot(total.px, total.py),
        "q6b": largest,
        "q7": ak.sum(clean.pt, axis=1),
        "q8": np.sqrt(2 * lead.pt * pt * (1 - np.cos(lead.phi - phi))),
    }


@pytest.mark.parametrize("query", QUERIES)
def test_the_queries_of_the_adl_benchmark(tree: Any, columns: dict[str, Any], query: str) -> None:
    expression, cut, last = QUERIES[query]
    wanted = np.asarray(ak.to_numpy(by_awkward(columns)[query]), float)
    assert len(wanted) > 50
    (found,), _ = tree.points(expression, cut, aliases=ALIASES)
    # A sum in another order has other last digits.
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    if query != "q6b":  # whose values lie on edges of bins
        drawn = tree.draw(f"{expression}>>h(100,0,{last})", cut, aliases=ALIASES)
        counts, _ = np.histogram(wanted, np.linspace(0, last, 101))
        assert drawn.values().tolist() == counts.tolist()
    if cut == "":
        read = tree.arrays(["value"], aliases=ALIASES | {"value": expression})["value"]
        flat = ak.drop_none(ak.flatten(read, axis=None))
        np.testing.assert_array_equal(ak.to_numpy(flat).astype(float), found)


def test_branches_with_the_name_win(tmp_path: Any) -> None:
    path = tmp_path / "names.root"
    with sapwood.recreate(path) as file:
        file["t"] = {"a_x": np.arange(3.0), "a.x": np.arange(3.0) + 10, "a_y": np.arange(3.0) + 20}
    tree = sapwood.open(path)["t"]
    assert tree.arrays(["a.x + 0"])["a.x + 0"].tolist() == [10, 11, 12]
    assert tree.arrays(["a.y + 0"])["a.y + 0"].tolist() == [20, 21, 22]


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("Jet[Jet.pt > 30]", "name a member"),
        ("pairs(Jet)", "collection of combinations"),
        ("Jet[Jet.pt > 3].bta", 'near to it: "btag"'),
        ("mass(MET)", "mass, or px, py, pz and energy"),
        ("deltaR(Jet, Muon)", "cross(Jet, Muon)"),
        ("Jet[Muon.pt > 3].pt", "a mask has other lists"),
        ("pairs(Jet).pt", "has no member"),
    ],
)
def test_mistakes_are_explained(tree: Any, expression: str, words: str) -> None:
    with pytest.raises(Exception, match="expression|mismatch") as caught:
        tree.arrays([expression])
    assert words in str(caught.value)


def test_combinations_are_bounded(tmp_path: Any) -> None:
    path = tmp_path / "many.root"
    with sapwood.recreate(path) as file:
        file["t"] = {"x_pt": ak.Array([np.arange(10_000.0)])}
    tree = sapwood.open(path)["t"]
    for expression in ("len(pairs(x))", "len(triples(x))", "len(cross(x, x))", "len(each(x, x))"):
        with pytest.raises(Exception, match="combinations"):
            tree.arrays([expression])


def test_members_may_be_components(tmp_path: Any) -> None:
    path = tmp_path / "components.root"
    rng = np.random.default_rng(4)
    counts = rng.poisson(2, 200)
    of = {key: ak.unflatten(rng.normal(0, 20, counts.sum()), counts) for key in ("px", "py", "pz")}
    of["energy"] = np.sqrt(of["px"] ** 2 + of["py"] ** 2 + of["pz"] ** 2 + 1)
    with sapwood.recreate(path) as file:
        file["t"] = {"p": ak.zip(of), "q": ak.zip({key: of[key] for key in ("px", "py")})}
    tree = sapwood.open(path)["t"]
    read = tree.arrays(["pt(p)", "phi(p)", "eta(p)", "mass(p)", "mass(pairs(p))", "pt(q)"])
    pt = np.hypot(of["px"], of["py"])
    same(read["pt(p)"], pt, 1e-12)
    same(read["pt(q)"], pt, 1e-12)
    same(read["phi(p)"], np.arctan2(of["py"], of["px"]), 1e-12)
    same(read["eta(p)"], np.arcsinh(of["pz"] / pt), 1e-12)
    same(read["mass(p)"], ak.ones_like(pt), 1e-6)
    vector = ak.zip({"px": of["px"], "py": of["py"], "pz": of["pz"], "E": of["energy"]})
    same(read["mass(pairs(p))"], mass(added(*ak.unzip(ak.combinations(vector, 2)))), 1e-9)
    with pytest.raises(Exception, match="eta, or px, py and pz"):
        tree.arrays(["eta(q)"])


def test_several_threads_and_steps_have_one_answer(tree: Any) -> None:
    expression = "mass(best)"
    whole = tree.arrays([expression], aliases=ALIASES)[expression]
    steps = [part[expression] for part in tree.iterate([expression], step_size=211, aliases=ALIASES)]
    assert len(steps) > 5
    assert ak.to_list(ak.concatenate(steps)) == ak.to_list(whole)


def test_lists_that_are_paired_by_position_are_noticed_once(tmp_path: Any, columns: dict[str, Any]) -> None:
    path = tmp_path / "paired.root"
    with sapwood.recreate(path) as file:
        file["Events"] = columns
    tree = sapwood.open(path)["Events"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tree.draw("Jet_pt:Jet_eta", "nMuon > 0 && Sum$(Muon_pt) > 10")
        assert not caught
        for _ in range(3):
            tree.draw("Jet_pt - Muon_pt")
    assert [str(words.message).count("cross(Jet, Muon)") for words in caught] == [1]
    assert caught[0].filename == __file__
    command = [sys.executable, "-m", "sapwood", "draw", f"{path}:Events", "Jet_pt - Muon_pt"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr.count("cross(Jet, Muon)") == 1
