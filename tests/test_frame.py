"""Frames: names, filters, variations and results in one pass, beside RDataFrame, NumPy and Awkward."""

from __future__ import annotations

import itertools
import operator
import pickle
from concurrent.futures import ThreadPoolExecutor

import awkward as ak
import numpy as np
import pytest
import sapwood
from sapwood.errors import ExpressionError, MismatchError, NotFoundError, SapwoodError

from support import frames
from support.frames import ENTRIES, small
from support.rootrun import root

arrays = frames.arrays
path = frames.path


def counts_of(values, bins, weights=None):
    return np.histogram(np.asarray(values), *bins[:1], bins[1:], weights=weights)[0]


def test_results_of_one_pass_are_those_of_numpy(path, arrays):
    frame = sapwood.frame(path).define("ht", "Sum$(jet_pt)").filter("ht > 50", "busy")
    central = frame.define("good", "abs(jet_eta) < 1")
    met = frame.hist("met", bins=(20, 0, 200), weight="w")
    pt = central.hist("jet_pt[good]", bins=(10, 0, 100))
    both = central.hist("jet_pt", "jet_eta", bins=[(4, 0, 100), (5, -5, 5)])
    count, mean, std = frame.count(), frame.mean("met"), frame.std("met")
    least, largest, total = frame.min("jet_pt"), frame.max("jet_pt"), frame.sum("w")
    cuts = central.filter("met > 100").report(weight="w")
    taken = frame.take("met", "jet_pt[jet_pt > 20]")
    ht = ak.sum(arrays["jet_pt"].to_list(), axis=1).to_numpy()
    keep = ht > 50
    assert np.allclose(met.value.values(), counts_of(arrays["met"][keep], (20, 0, 200), arrays["w"][keep]))
    jets, eta = arrays["jet_pt"][keep], arrays["jet_eta"][keep]
    good = ak.flatten(jets[abs(eta) < 1])
    assert np.array_equal(pt.value.values(), counts_of(good, (10, 0, 100)))
    expected = np.histogram2d(ak.flatten(jets), ak.flatten(eta), [4, 5], [[0, 100], [-5, 5]])[0]
    assert np.array_equal(both.value.values(), expected)
    assert count.value == keep.sum()
    assert mean.value == pytest.approx(arrays["met"][keep].mean(), rel=1e-13)
    assert std.value == pytest.approx(arrays["met"][keep].std(ddof=1), rel=1e-12)
    assert (least.value, largest.value) == (ak.min(jets), ak.max(jets))
    assert total.value == pytest.approx(arrays["w"][keep].sum(), rel=1e-13)
    first, second = cuts.value
    tail = keep & (arrays["met"] > 100)
    assert first[:3] == ("busy", ENTRIES, keep.sum())
    assert second[:3] == ("met > 100", keep.sum(), tail.sum())
    assert second.weights == pytest.approx((arrays["w"][keep].sum(), arrays["w"][tail].sum()))
    assert np.array_equal(taken.value["met"], arrays["met"][keep])
    assert ak.array_equal(taken.value["jet_pt[jet_pt > 20]"], jets[jets > 20])


def test_variations_compute_again_what_depends_on_them(path, arrays):
    frame = sapwood.frame(path).vary(
        "jes", {"up": {"jet_pt": "jet_pt * 2"}, "down": {"jet_pt": "jet_pt / 2"}}
    )
    frame = frame.define("weight", "w").vary("btag", {"up": {"weight": "weight * 1.5"}})
    frame = frame.define("ht", "Sum$(jet_pt)").filter("ht > 50")
    ht, met = frame.hist("ht", bins=(10, 0, 500), weight="weight"), sapwood_hist(frame)
    plain = sapwood.frame(path).vary("jes", {"up": {"jet_pt": "jet_pt * 2"}}).count()
    with pytest.warns(UserWarning, match="no result depends on the variation 'jes:up'"):
        sapwood.run(plain)
    assert list(ht.variations) == ["nominal", "jes:up", "jes:down", "btag:up"]
    jets = arrays["jet_pt"]
    for name, scale, weight in [
        ("nominal", 1, 1),
        ("jes:up", 2, 1),
        ("jes:down", 0.5, 1),
        ("btag:up", 1, 1.5),
    ]:
        sums = ak.sum(ak.values_astype(jets, "float64") * scale, axis=1).to_numpy()
        keep = sums > 50
        expected = counts_of(sums[keep], (10, 0, 500), weight * arrays["w"][keep])
        assert np.allclose(ht.variations[name].values(), expected), name
        if name != "btag:up":
            assert np.array_equal(met.variations[name].values(), counts_of(arrays["met"][keep], (20, 0, 200)))
    # The weight is not needed there.
    assert list(met.variations) == ["nominal", "jes:up", "jes:down"]
    assert plain.variations == {"nominal": ENTRIES}
    stacked = ht.stacked()
    assert [axis.name for axis in stacked.axes][:1] == ["variation"]
    assert np.array_equal(stacked["jes:up", :].values(), ht.variations["jes:up"].values())


def sapwood_hist(frame):
    return frame.hist("met", bins=(20, 0, 200))


def test_a_variation_sees_the_columns_as_they_are(path, arrays):
    """Two columns that vary together are each computed of both as they are."""
    frame = sapwood.frame(path).vary("swap", {"it": {"met": "w", "w": "met"}})
    met, w = frame.sum("met"), frame.sum("w")
    assert met.variations["swap:it"] == w.variations["nominal"]
    assert w.variations["swap:it"] == met.variations["nominal"]


def test_names_are_defined_again_on_top_of_what_they_meant(path, arrays):
    frame = sapwood.frame(path).redefine("met", "met + 1").redefine("met", "met * 2")
    assert frame.sum("met").value == pytest.approx((2 * (arrays["met"] + 1)).sum())


def test_functions_get_what_passes_and_give_columns(path, arrays):
    seen = []

    def leading(pt, met):
        seen.append(len(pt))
        return ak.fill_none(ak.max(pt, axis=1), -1.0)

    frame = (
        sapwood.frame(path, threads=2).filter("met > 20").define("lead", leading, inputs=["jet_pt", "met"])
    )
    frame = frame.define("scaled", lambda pt, lead: pt / lead, inputs=["jet_pt", "lead"])
    lead = frame.filter("lead > 30").take("lead", "scaled", "met")
    up = frame.vary("met", {"up": {"met": "met + 100"}}).filter("lead > 30").take("met")
    keep = arrays["met"] > 20
    jets = arrays["jet_pt"][keep]
    expected = ak.fill_none(ak.max(jets, axis=1), -1.0)
    passing = expected > 30
    assert ak.array_equal(lead.value["lead"], expected[passing])
    assert ak.array_equal(lead.value["scaled"], (jets / expected)[passing])
    assert np.array_equal(lead.value["met"], arrays["met"][keep][ak.to_numpy(passing)])
    assert np.allclose(up.variations["met:up"], up.value + 100)
    assert sum(seen) == keep.sum()


def test_snapshots_are_read_again(path, arrays, tmp_path):
    frame = sapwood.frame(path).vary("jes", {"up": {"jet_pt": "jet_pt * 2"}}).filter("Sum$(jet_pt) > 100")
    for kind in (False, True):
        target = str(tmp_path / f"skim{kind}.root")
        skim = frame.snapshot(target, {"met": "met", "good": "jet_pt[jet_pt > 20]"}, rntuple=kind)
        beside = frame.count()
        assert skim.variations == {"nominal": f"{target}:Events", "jes:up": f"{target}:Events__jes_up"}
        for name, scale in [("nominal", 1), ("jes:up", 2)]:
            jets = ak.values_astype(arrays["jet_pt"], "float64") * scale
            keep = ak.sum(jets, axis=1) > 100
            with sapwood.open(skim.variations[name]) as tree:
                assert tree.num_entries == beside.variations[name]
                found = tree.arrays()
            assert np.array_equal(found["met"], arrays["met"][ak.to_numpy(keep)])
            assert ak.almost_equal(found["good"], jets[keep][jets[keep] > 20], dtype_exact=False)


def test_aggregate_goes_over_the_entries_in_order(path, arrays):
    frame = sapwood.frame(path, threads=2).filter("met > 10")
    found = frame.aggregate([], lambda so_far, of: so_far + [of["met"]], ["met"], library="np")
    assert np.array_equal(np.concatenate(found.value), arrays["met"][arrays["met"] > 10])


def test_samples_have_a_value_each(path, arrays):
    samples = {
        "a": {"files": path, "scale": 2.0, "label": "x"},
        "b": {"files": [path, path], "scale": 0.5, "label": "y"},
    }
    frame = sapwood.frame(samples)
    total, met = frame.sum("w * scale"), frame.hist("met", bins=(5, 0, 100), weight="scale")
    only = frame.filter('label == "x"').count()
    w = arrays["w"].sum()
    assert total.value == pytest.approx({"a": 2 * w, "b": w})
    assert only.value == {"a": ENTRIES, "b": 0}
    assert np.allclose(met.stacked()["b", :].values(), 0.5 * 2 * counts_of(arrays["met"], (5, 0, 100)))
    lacks = sapwood.frame({"a": {"files": path, "xsec": 1.0}, "b": {"files": path}}).sum("xsec")
    with pytest.raises(ExpressionError, match="the sample 'b' has no 'xsec'"):
        _ = lacks.value
    with pytest.raises(MismatchError, match="the sample 'c' has no files"):
        sapwood.frame({"c": {"files": []}})


def test_the_bits_do_not_depend_on_threads(path):
    def found(threads):
        frame = sapwood.frame([path] * 3, threads=threads).vary("jes", {"up": {"jet_pt": "jet_pt * 1.1"}})
        frame = frame.filter("Sum$(jet_pt) > 40")
        histogram = frame.hist("jet_pt", bins=(50, 0, 200), weight="w * met", library="root")
        return [
            (h.values(flow=True).tobytes(), h.variances(flow=True).tobytes())
            for h in histogram.variations.values()
        ]

    assert found(1) == found(2) == found(8)


def test_equal_drawings_are_computed_once(path):
    """Columns are read once, however many results need them."""
    frame = sapwood.frame(path).define("ht", "Sum$(jet_pt)")
    results = [frame.hist("ht", bins=(10, 0, 100 + 0 * number)) for number in range(20)]
    first = results[0].value
    assert all(np.array_equal(result.value.values(), first.values()) for result in results)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda f: f.define("x", "met +"), "expression"),
        (lambda f: f.define("1x", "met"), "begins with no digit"),
        (
            lambda f: f.define("x", "met").define("x", "met"),
            "'x' is defined already|\"x\" is defined already",
        ),
        (lambda f: f.define("x", lambda a: a), "inputs="),
        (lambda f: f.define("x", 3), "an expression or a function"),
        (lambda f: f.hist(), "one to three axes"),
        (lambda f: f.hist("met", bins=[(3, 0, 1), (3, 0, 1)]), "an axis for each expression"),
        (lambda f: f.profile("met"), "name two expressions"),
        (lambda f: f.vary("a", {"up": {"met": "met"}}).vary("a", {"up": {"met": "met"}}), "a:up"),
        (lambda f: f.vary("a", {"up": "met"}), "a variation is"),
        (lambda f: f.take(), "say which values"),
        (lambda f: f.snapshot("x.root", []), "say which columns"),
    ],
)
def test_mistakes_are_told_while_booking(path, make, words):
    with pytest.raises((ExpressionError, MismatchError), match=words):
        make(sapwood.frame(path))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda f: f.hist("met_pt"), NotFoundError, "met"),
        (lambda f: f.filter("jet_pt > 3").count(), ExpressionError, "one answer for each entry"),
        (lambda f: f.define("met", "w").count(), ExpressionError, "has a meaning already"),
        (lambda f: f.redefine("mett", "w").count(), NotFoundError, "met"),
        (lambda f: f.vary("v", {"up": {"mett": "w"}}).count(), NotFoundError, "met"),
        (lambda f: f.define("x", "jet_pt + jet_eta[:, 1:]").sum("x"), MismatchError, "items"),
        (lambda f: f.define("x", lambda a: a[:-1], inputs=["met"]).sum("x"), MismatchError, "rows"),
        (lambda f: f.define("x", lambda a: 1 / 0, inputs=["met"]).sum("x"), Exception, "'x'|\"x\""),
        (
            lambda f: f.define(
                "x", lambda a: a if len(a) else a.astype("int64"), inputs=["met"], library="np"
            ).sum("x"),
            MismatchError,
            "let it give one type",
        ),
    ],
)
def test_mistakes_are_told_with_what_is_wrong(path, make, error, words):
    result = make(sapwood.frame(path))
    with pytest.raises(error, match=words):
        _ = result.value
    # It fails again, and gives no half of a value.
    with pytest.raises(error, match=words):
        _ = result.value


def test_a_failing_snapshot_leaves_no_file(path, tmp_path):
    target = tmp_path / "half.root"
    skim = sapwood.frame([path, str(tmp_path / "missing.root") + ":events"]).snapshot(target, ["met"])
    with pytest.raises(FileNotFoundError):
        _ = skim.value
    assert not target.exists()


RDF = """
tree, name = sys.argv[2], sys.argv[1]
df = ROOT.RDataFrame(tree, name)
df = df.Vary("jet_pt", "ROOT::RVec<ROOT::RVecF>{jet_pt * 1.5f, jet_pt * 0.5f}", ["up", "down"], "jes")
df = df.Define("ht", "Sum(ROOT::RVecD(jet_pt.begin(), jet_pt.end()))").Filter("ht > 60", "busy")
df = df.Filter("jet_pt.size() >= 2", "two")
booked = {
    "ht": ROOT.RDF.Experimental.VariationsFor(df.Histo1D(("h", "", 1000, 0.0, 500.0), "ht", "w")),
    "pt": ROOT.RDF.Experimental.VariationsFor(df.Histo1D(("h", "", 1000, 0.0, 500.0), "jet_pt")),
}
report, bins = df.Report(), range(1002)
found = {
    name: {
        str(key): [[of[key].GetBinContent(b) for b in bins], [of[key].GetBinError(b) for b in bins], of[key].GetEntries()]
        for key in of.GetKeys()
    }
    for name, of in booked.items()
}
answer([found, [[cut.GetName(), cut.GetAll(), cut.GetPass()] for cut in report.GetValue()]])
"""


def test_results_of_root_are_the_same(path):
    """RDataFrame with the same expressions: 1000 bins, filters, a report and variations."""
    theirs, cuts_of_root = root(RDF, *path.rsplit(":", 1))
    frame = sapwood.frame(path)
    varied = {tag: {"jet_pt": f"(float)(jet_pt * {scale})"} for tag, scale in (("up", 1.5), ("down", 0.5))}
    frame = frame.vary("jes", varied).define("ht", "Sum$(jet_pt)").filter("ht > 60", "busy")
    frame = frame.filter("Length$(jet_pt) >= 2", "two")
    ours = {
        "ht": frame.hist("ht", bins=(1000, 0, 500), weight="w", library="root"),
        "pt": frame.hist("jet_pt", bins=(1000, 0, 500), library="root"),
    }
    cuts = frame.report()
    for name, result in ours.items():
        assert set(result.variations) == set(theirs[name])
        for variation, found in result.variations.items():
            values, errors, entries = theirs[name][variation]
            assert np.array_equal(found.values(flow=True), values), (name, variation)
            assert np.allclose(found.errors(flow=True), errors, rtol=1e-12), (name, variation)
            assert found.member("fEntries") == entries
    assert [list(cut[:3]) for cut in cuts.value] == cuts_of_root


def test_many_definitions_in_each_other_cost_no_stack(path, arrays):
    frame = sapwood.frame(path)
    for number in range(60):
        before = f"x{number - 1} + x{number - 1}" if number else "met"
        frame = frame.define(f"x{number}", f"({before}) / 2" if number else before)
    assert frame.sum("x59").value == pytest.approx(arrays["met"].sum())


def test_collections_are_chosen_from_again_and_again(path, arrays):
    """Definitions may be collections, see what was varied before, and end before the stack does."""
    frame = (
        sapwood.frame(path).vary("jes", {"up": {"jet_pt": "jet_pt * 2"}}).define("good", "jet[jet.pt > 30]")
    )
    frame = frame.redefine("good", "good[abs(good.eta) < 1]").define("hard", "sorted(good, -good.pt)[:1]")
    total, hardest = frame.sum("Sum$(good.pt)"), frame.take("hard.pt")
    for name, scale in [("nominal", 1), ("jes:up", 2)]:
        pt = ak.values_astype(arrays["jet_pt"], "float64") * scale
        pt = pt[(pt > 30) & (abs(arrays["jet_eta"]) < 1)]
        assert total.variations[name] == pytest.approx(ak.sum(pt), rel=1e-12)
        found = ak.values_astype(hardest.variations[name], "float64")
        assert ak.array_equal(found, ak.sort(pt, ascending=False)[:, :1], dtype_exact=False)
    for number in range(2_000):
        frame = frame.redefine("good", "good[good.pt > 1]")
    with pytest.raises(SapwoodError, match="in each other|masks, indices|values of an expression"):
        _ = frame.sum("Sum$(good.pt)").value


def test_friends_and_missing_files_as_elsewhere(path, arrays, tmp_path):
    other = str(tmp_path / "friend.root")
    with sapwood.recreate(other) as file:
        file["scores"] = {"score": np.arange(ENTRIES, dtype="float64")}
    frame = sapwood.frame(
        [path, str(tmp_path / "no.root") + ":events"], friends={"scores": (f"{other}:scores", False)}
    )
    with pytest.raises(FileNotFoundError):
        _ = frame.count().value
    frame = sapwood.frame(path, friends={"scores": f"{other}:scores"})
    assert frame.sum("score").value == ENTRIES * (ENTRIES - 1) / 2
    chain = sapwood.frame([path, path], entries=[1, ENTRIES + 2])
    assert np.array_equal(chain.take("met", library="np").value, arrays["met"][[1, 2]])
    numbers = sapwood.frame([path, path]).filter("Entry$ >= 2999").take("Entry$", library="np").value
    assert numbers[0] == 2999 and numbers[-1] == 2 * ENTRIES - 1


def test_a_frame_of_many_results_is_small_where_it_is_sent(path):
    from sapwood._frame.workers import FrameSelector

    frame = sapwood.frame(path)
    for number in range(30):
        frame = frame.define(f"x{number}", f"met * {number} + Sum$(jet_pt)")
    bins = [(50, 0, 100), (50, 0, 100)]
    results = [
        frame.filter(f"x{number} > 10").hist("met", f"x{number}", bins=bins, weight="w")
        for number in range(30)
        for _ in range(5)
    ]
    selector = FrameSelector([result.booking for result in results], {})
    assert len(pickle.dumps(selector)) < 100_000


def test_a_weight_of_a_function_has_no_value_above_its_filters(tmp_path):
    path = small(tmp_path, x=[1.0, -1, 1, -1], w=[5.0, 1, 1, 1])
    frame = sapwood.frame(path).filter("x > 0").define("ww", lambda w: w, inputs=["w"])
    report = frame.report(weight="ww")
    with pytest.raises(ExpressionError, match="define it before the filters"):
        _ = report.value
    before = sapwood.frame(path).define("ww", lambda w: w, inputs=["w"]).filter("x > 0").report(weight="ww")
    assert before.value[0].weights == (8.0, 6.0)


def test_values_below_a_filter_are_not_computed_for_what_it_leaves_out(tmp_path):
    """A filter may be what makes an expression possible, whatever else is asked for."""
    path = small(tmp_path, a=[[1.0], [1.0, 2.0]], b=[[1.0], [1.0]], x=[1.0, -1.0])
    frame = sapwood.frame(path).vary("v", {"u": {"x": "x * 2"}})
    same = frame.filter("Length$(a) == Length$(b) && x > 0")
    below = same.filter("Sum$(a * b) > 0").count()
    beside = frame.filter("Length$(a) == Length$(b)").sum("Sum$(a * b)")
    called = same.define("y", lambda of: ak.sum(of, axis=1), inputs=["a * b"]).sum("y")
    assert below.variations == {"nominal": 1, "v:u": 1}
    assert (beside.value, called.value) == (1.0, 1.0)


def test_stacked_histograms_have_the_bins_of_each(tmp_path):
    path = small(tmp_path, x=[1.0, 2.0, 3.0], w=[1.0, 2.0, 3.0])
    frame = sapwood.frame(path).vary("s", {"up": {"x": "x * 10"}})
    with pytest.raises(MismatchError, match="say bins="):
        frame.hist("x", bins=10).stacked()
    # Weighted histograms are such, also without entries.
    stacked = frame.filter("x > 5").hist("x", bins=(3, 0, 60), weight="w").stacked()
    assert np.array_equal(stacked.values(), [[0, 0, 0], [1, 5, 0]])


def test_a_zero_is_not_shared(tmp_path):
    paths = [small(tmp_path, f"{name}.root", x=np.arange(1000.0)) for name in "ab"]

    def add(so_far, of):
        so_far.append(len(of["x"]))
        return so_far

    def book():
        samples = {"a": {"files": paths[0]}, "b": {"files": paths[1]}}
        return sapwood.frame(samples).aggregate([], add, ["x"], merge=operator.add)

    assert book().value == {"a": [1000], "b": [1000]}
    with ThreadPoolExecutor(2) as executor:
        sapwood.run(apart := book(), executor=executor, step_size=500)
    assert apart.value == {"a": [500, 500], "b": [500, 500]}


def test_a_function_that_waits_for_a_result_is_an_error(tmp_path):
    frame = sapwood.frame(small(tmp_path, x=[1.0, 2.0]), threads=2)
    total = frame.sum("x")
    with pytest.raises(SapwoodError, match="cannot wait for a result"):
        _ = frame.define("y", lambda x: x / total.value, inputs=["x"]).sum("y").value
    with pytest.raises(SapwoodError, match="cannot wait for a result"):
        _ = frame.aggregate(0, lambda a, of: a + total.value, ["x"]).value
    assert total.value == 3


def test_what_a_function_raises_is_the_cause(path):
    def fails(met):
        raise KeyError("no such thing")

    for result in (
        sapwood.frame(path).define("x", fails, inputs=["met"]).sum("x"),
        sapwood.frame(path, threads=2).aggregate(0, lambda a, of: fails(of), ["met"]),
    ):
        with pytest.raises(MismatchError, match="KeyError: 'no such thing'") as raised:
            _ = result.value
        assert isinstance(raised.value.__cause__, KeyError)


def test_filters_over_deep_definitions_end(tmp_path):
    frame = sapwood.frame(small(tmp_path, x=[1e-30, -1.0]))
    for _ in range(60):
        frame = frame.redefine("x", "x + x")
    assert frame.filter("x > 0").count().value == 1


def test_a_faulty_result_does_not_spoil_the_others(path):
    frame = sapwood.frame(path)
    bad, count = frame.sum("nope"), frame.count()
    for _ in range(2):
        with pytest.raises(NotFoundError, match="nope"):
            _ = bad.value
    assert count.value == ENTRIES


def test_functions_that_nothing_needs_are_not_called(path):
    seen = []
    frame = sapwood.frame(path).vary("v", {"u": {"met": "met + 1"}})
    frame = frame.define("y", lambda met: seen.append(len(met)) or met, inputs=["met"])
    assert frame.sum("w").variations.keys() == {"nominal"}
    assert set(seen) == {0}


def test_files_without_entries_have_results_everywhere(tmp_path):
    empty = small(tmp_path, x=np.zeros(0))
    full = small(tmp_path, "full.root", x=np.ones(3))

    def book():
        frame = sapwood.frame({"a": {"files": full}, "e": {"files": empty}})
        return [frame.sum("x"), frame.hist("x", bins=(2, 0, 2), library="np"), frame.take("x")]

    alone, apart = book(), book()
    with ThreadPoolExecutor(2) as executor:
        sapwood.run(*apart, executor=executor)
    assert alone[0].value == apart[0].value == {"a": 3.0, "e": 0.0}
    assert apart[1].value["e"][0].sum() == 0
    assert str(alone[2].value["e"].type) == "0 * float64"
    skim = sapwood.frame(empty).snapshot(tmp_path / "skim.root", ["x"])
    with sapwood.open(skim.value) as tree:
        assert tree.num_entries == 0 and tree.keys() == ["x"]


def test_trees_of_snapshots_have_different_names(path, tmp_path):
    frame = sapwood.frame(path).vary("a", {"b_c": {"met": "met + 1"}}).vary("a_b", {"c": {"met": "met + 2"}})
    skim = frame.snapshot(tmp_path / "skim.root", ["met"])
    with pytest.raises(MismatchError, match="rename one"):
        _ = skim.value
    assert not (tmp_path / "skim.root").exists()


def test_names_with_a_meaning_are_not_defined(tmp_path):
    jets = ak.zip({"pt": [[1.0], []], "eta": [[0.5], []]})
    path = small(tmp_path, x=[1.0, 2.0], Jet=jets)
    samples = {"a": {"files": path, "xsec": np.float64("inf"), "low": float("-inf"), "mc": np.bool_(True)}}
    frame = sapwood.frame(samples, aliases={"al": "x * 2"})
    assert frame.sum("(xsec > x) + (low < x) + mc").value == {"a": 6.0}
    for name in ("al", "xsec", "pi", "true", "Jet", "x"):
        bad = frame.define(name, "x * 3").count()
        with pytest.raises(ExpressionError, match="has a meaning already"):
            _ = bad.value
        del bad
    again = frame.redefine("Jet", "Jet[Jet.pt > 5]").sum("Length$(Jet.pt)")
    assert again.value == {"a": 0.0}


def test_a_variation_may_begin_with_a_later_file(tmp_path):
    paths = [small(tmp_path, "one.root", x=[1.0]), small(tmp_path, "two.root", x=[10.0], xa=[20.0])]
    fill = {"xa": 0}
    for order in (paths, paths[::-1]):
        frame = sapwood.frame(order, fill=fill).vary("v", {"u": {"x": "xa > 0 ? xa : x"}})
        assert frame.sum("x").variations == {"nominal": 11.0, "v:u": 21.0}


def collected(state, of):
    state.extend(of["shift"].tolist())
    return state


def test_columns_of_a_variation_that_begins_with_a_later_file(tmp_path):
    """A variation changes nothing in a file that lacks its column."""
    small(tmp_path, "without.root", x=[1.0, 2.0])
    small(tmp_path, "with.root", x=[1.0, 2.0], up=[3.0, 4.0])
    skim = tmp_path / "skim.root"

    def frame(order):
        files = [f"{tmp_path / name}.root:t" for name in order]
        frame = sapwood.frame(files, fill={"up": 0}).define("shift", "0")
        return frame.vary("v", {"up": {"shift": "up"}})

    orders = [("without", "with", "without"), ("with", "without", "without")]
    for order, executor in itertools.product(orders, (None, ThreadPoolExecutor(2))):
        up = [value for name in order for value in ([3.0, 4.0] if name == "with" else [0.0, 0.0])]
        of = frame(order)
        taken = of.take("shift", library="np")
        folded = of.aggregate([], collected, ["shift"], merge=lambda one, other: one.extend(other) or one)
        sapwood.run(taken, folded, executor=executor)
        assert taken.variations["nominal"].tolist() == [0.0] * 6
        assert taken.variations["v:up"].tolist() == up
        assert folded.variations == {"nominal": [0.0] * 6, "v:up": up}
    late = frame(orders[0]).snapshot(skim, ["shift"])
    with pytest.raises(MismatchError, match="begins with a later file"):
        _ = late.value
    assert not skim.exists()
    assert frame(orders[1]).snapshot(skim, ["shift"]).value
    with sapwood.open(skim) as file:
        assert file["Events__v_up/shift"].array().tolist() == [3.0, 4.0, 0.0, 0.0, 0.0, 0.0]


def test_an_older_file_stays_where_a_snapshot_fails(path, tmp_path):
    target = tmp_path / "skim.root"
    assert sapwood.frame(path).filter("met > 50").snapshot(target, ["met"]).value
    before = target.read_bytes()

    def fails(met):
        raise ValueError("no")

    frame = sapwood.frame(path).define("bad", fails, inputs=["met"])
    again = frame.snapshot(target, ["bad"])
    with pytest.raises(MismatchError, match="ValueError: no"):
        _ = again.value
    assert target.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["skim.root"]
    del again
    # A file is not replaced by what is read from it.
    whole = sapwood.frame(f"{target}:Events")
    with pytest.raises(MismatchError, match="is a file that is read"):
        _ = whole.filter("met > 60").snapshot(target, ["met"]).value
    assert target.read_bytes() == before


def test_statistics_leave_functions_what_passes_before_them(tmp_path):
    with sapwood.recreate(tmp_path / "s.root") as file:
        tree = file.mktree("t", {"x": "f8"})
        for start in range(0, 1000, 50):
            tree.extend({"x": np.arange(start, start + 50, dtype="f8")})
    sapwood.index(str(tmp_path / "s.root"))

    def place(x):
        return np.arange(len(x)) * 1.0

    frame = sapwood.frame(f"{tmp_path / 's.root'}:t").filter("x >= 100")
    found = frame.define("k", place, inputs=["x"]).filter("x > 990").take("k", library="np").value
    assert np.array_equal(found, np.arange(891, 900))


def test_cut_flows_are_tables(path):
    report = sapwood.frame(path).filter("met > 50", "large").report().value
    assert str(report).splitlines()[0].split() == ["filter", "met", "passed", "%"]
    assert "<table>" in report._repr_html_()
    assert pickle.loads(pickle.dumps(tuple(report))) == tuple(report)
