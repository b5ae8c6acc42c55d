"""Results of frames with any number of axes, results on the way, and one storage for all histograms."""

from __future__ import annotations

import concurrent.futures
import json

import hist
import numpy as np
import pytest
import sapwood
from sapwood.errors import ExpressionError, MismatchError, SapwoodError

from support.frames import ENTRIES, arrays, path, small  # noqa: F401
from support.rootrun import root

AXES = [(200, 0, 300), (6, -0.5, 5.5), (50, -1, 3), [0.0, 10.0, 20.0, 500.0]]
OF = ["met", "run", "w", "Sum$(jet_pt)"]


def dense(arrays, weight=None):  # noqa: F811
    """The bins of NumPy, without those below and above."""
    import awkward as ak

    columns = [arrays["met"], arrays["run"], arrays["w"], ak.to_numpy(ak.sum(arrays["jet_pt"], axis=1))]
    edges = [np.linspace(low, high, bins + 1) for bins, low, high in AXES[:3]] + [AXES[3]]
    return np.histogramdd(np.column_stack(columns), edges, weights=weight)[0]


@pytest.mark.parametrize("executor", [None, 2])
def test_a_sparse_histogram_has_the_bins_of_a_dense_one(path, arrays, executor):  # noqa: F811
    frame = sapwood.frame([path, path])
    frame = frame.vary("shift", {"up": {"met": "met + 20"}})
    sparse = frame.sparse(*OF, bins=AXES, weight="w", name="four", title="four axes")
    counted = frame.sparse(*OF, bins=AXES)
    if executor is None:
        sapwood.run(sparse, counted)
    else:
        with concurrent.futures.ThreadPoolExecutor(executor) as pool:
            sapwood.run(sparse, counted, executor=pool, step_size=500)
    weights = arrays["w"]
    assert sparse.value.classname == "THnSparseT<TArrayD>"
    assert (sparse.value.name, sparse.value.member("fTitle")) == ("four", "four axes")
    assert np.allclose(sparse.value.values(), 2 * dense(arrays, weights), rtol=1e-12, atol=1e-12)
    assert np.allclose(sparse.value.variances(), 2 * dense(arrays, weights**2), rtol=1e-12, atol=1e-12)
    assert np.array_equal(counted.value.values(), 2 * dense(arrays)) and counted.value.squares is None
    assert sparse.value.member("fEntries") == 2 * ENTRIES
    moved = {**arrays, "met": arrays["met"] + 20}
    assert np.array_equal(counted.variations["shift:up"].values(), 2 * dense(moved))


THEIRS = """
import array
import numpy as np
file = ROOT.TFile(sys.argv[1])
found = []
for name in ("weighted", "counted"):
    ours, tree = file.Get(name), file.Get("t")
    bins = array.array("i", [200, 6, 5000, 3])
    theirs = ROOT.THnSparseD("h", "h", 4, bins, array.array("d", [0, -0.5, -1, 0]), array.array("d", [300, 5.5, 3, 9]))
    if name == "weighted":
        theirs.Sumw2()
    point = np.zeros(4)
    for entry in tree:
        point[:] = [entry.a, entry.b, entry.c, entry.d]
        theirs.Fill(point, entry.w if name == "weighted" else 1.0)
    coordinates = array.array("i", [0] * 4)
    same = ours.GetNbins() == theirs.GetNbins()
    for bin in range(theirs.GetNbins()):
        content = theirs.GetBinContent(bin, coordinates)
        at = ours.GetBin(coordinates, False)
        same = same and at >= 0 and ours.GetBinContent(at, coordinates) == content
        same = same and ours.GetBinError2(at) == theirs.GetBinError2(bin)
    axes = [ours.GetAxis(axis).GetName() for axis in range(4)]
    sums = [[of.GetEntries(), of.GetSumw(), of.GetSumw2()] for of in (ours, theirs)]
    sums += [[of.GetSumwx(axis) for axis in range(4)] for of in (ours, theirs)]
    ours.Add(theirs)
    found.append([bool(same), axes, sums, ours.Projection(0).Integral(), ours.GetNbins()])
answer(found)
"""


def test_root_reads_and_fills_the_same_sparse_histogram(tmp_path):
    """Underflow, overflow, NaN, more bins than a chunk of ROOT's has, and coordinates of more than 32 bits."""
    rng = np.random.default_rng(3)
    rows = 40_000
    columns = {
        "a": rng.exponential(60, rows),
        "b": rng.integers(-1, 8, rows).astype("float64"),
        "c": rng.normal(1, 1.5, rows),
        "d": rng.uniform(-1, 10, rows),
        "w": rng.normal(1, 0.3, rows),
    }
    columns["a"][17] = np.nan
    path = small(tmp_path, **columns)  # noqa: F811
    frame = sapwood.frame(path)
    bins = [(200, 0, 300), (6, -0.5, 5.5), (5000, -1, 3), (3, 0, 9)]
    weighted, counted = (frame.sparse("a", "b", "c", "d", bins=bins, weight=of) for of in ("w", None))
    filled = len(weighted.value)
    assert filled > 16_384
    with sapwood.update(path.rsplit(":", 1)[0]) as file:
        file["weighted"], file["counted"] = weighted.value, counted.value
    for same, axes, sums, integral, bins_of_both in root(THEIRS, path.rsplit(":", 1)[0]):
        assert same and axes == ["axis0", "axis1", "axis2", "axis3"]
        ours, theirs, along, along_of_root = sums
        assert ours == theirs and np.array_equal(along, along_of_root, equal_nan=True)
        assert integral > 0 and bins_of_both == filled


def test_any_number_of_axes_becomes_a_histogram_of_hist(path, arrays):  # noqa: F811
    frame = sapwood.frame(path)
    found = frame.histnd(*OF, bins=AXES, weight="w").value
    assert np.allclose(found.values(), dense(arrays, arrays["w"]), rtol=1e-12, atol=1e-12)
    categories = [hist.axis.IntCategory([1, 3]), (10, 0, 100)]
    chosen = frame.histnd("run", "met", bins=categories).value
    for place, run in enumerate((1, 3)):
        wanted = np.histogram(arrays["met"][arrays["run"] == run], 10, (0, 100))[0]
        assert np.array_equal(chosen.values()[place], wanted)
    assert frame.histnd("met", bins=(10, 0, 100)).value.sum(flow=True).value == ENTRIES
    assert frame.hist("run", "met", bins=categories).value == chosen
    integers = frame.hist("run", bins=hist.axis.Integer(0, 6)).value
    assert integers.values().tolist() == [ENTRIES // 6] * 6


def test_bad_axes_are_refused_where_they_are_asked_for(path):  # noqa: F811
    frame = sapwood.frame(path)
    for wrong in (
        lambda: frame.histnd("met", "run", bins=[(10, 0, 1)]),
        lambda: frame.sparse("met", "run", bins=[(10, 0, 1)]),
        lambda: frame.sparse("met", "run", bins=(10, 0, 1)),
        lambda: frame.sparse(bins=[(10, 0, 1)]),
        lambda: frame.sparse("met +", bins=[(10, 0, 1)]),
    ):
        with pytest.raises((MismatchError, ExpressionError)):
            wrong()
    with pytest.raises(SapwoodError, match="met_"):
        frame.sparse("met_", bins=[(10, 0, 1)]).value  # noqa: B018


@pytest.mark.parametrize("profile", [False, True])
def test_samples_become_bins_by_their_metadata(path, arrays, profile, tmp_path):  # noqa: F811
    samples = {
        "ttbar_semi": {"files": path, "process": "ttbar", "scale": 0.5},
        "ttbar_full": {"files": path, "process": "ttbar", "scale": 0.25},
        "wjets": {"files": path, "process": "W+jets", "scale": 2.0},
    }
    frame = sapwood.frame(samples).vary("up", {"up": {"scale": "scale * 2"}})
    of = frame.profile("met", "w", bins=(5, 0, 100), weight="scale") if profile else None
    met = of or frame.hist("met", bins=(5, 0, 100), weight="scale")
    by_name, by_process = met.stacked(), met.stacked(by="process")
    assert list(by_process.axes[0]) == ["ttbar", "W+jets"] and by_process.axes[0].name == "process"
    assert list(by_name.axes[0]) == list(samples)
    if profile:
        wanted = met.value["ttbar_semi"].values()
        assert np.allclose(by_process["ttbar", "nominal", :].values(), wanted, rtol=1e-12)
        return
    counts = np.histogram(arrays["met"], 5, (0, 100))[0]
    assert np.array_equal(by_process["ttbar", "nominal", :].values(), 0.75 * counts)
    assert np.array_equal(by_process["W+jets", "up:up", :].values(), 4.0 * counts)
    assert np.array_equal(by_process["ttbar", "nominal", :].variances(), (0.25 + 0.0625) * counts)
    with sapwood.recreate(tmp_path / "stacked.root") as file:
        file["met"] = by_process
    with sapwood.open(tmp_path / "stacked.root") as file:
        assert file["met"].axes[0].labels() == ["ttbar", "W+jets"]
    with pytest.raises(MismatchError, match="no metadata 'year'"):
        met.stacked(by="year")
    with pytest.raises(MismatchError, match="no metadata"):
        sapwood.frame(path).hist("met", bins=(5, 0, 100)).stacked(by="process")


def test_histograms_with_and_without_weights_are_added(path, arrays):  # noqa: F811
    frame = sapwood.frame(path)
    plain = frame.hist("met", bins=(5, 0, 100)).value
    weighted = frame.hist("met", bins=(5, 0, 100), weight="2").value
    total = plain + weighted
    counts = np.histogram(arrays["met"], 5, (0, 100))[0]
    assert np.array_equal(total.values(), 3 * counts) and np.array_equal(total.variances(), 5 * counts)
    file, name = path.rsplit(":", 1)
    with sapwood.open(file) as opened:
        drawn = opened[name].draw("met>>h(5, 0, 100)") + opened[name].draw("met>>h(5, 0, 100)", "w")
    assert drawn.storage_type is hist.storage.Weight
    assert sapwood.frame(path).hist("met", bins=(5, 0, 100), library="root").value.weighted is False


@pytest.mark.parametrize("executor", [None, 2])
def test_results_so_far_are_reported(path, executor, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr("sapwood._frame.partials.PAUSE", 0.0)
    frame = sapwood.frame([path, path, path])
    met = frame.hist("met", bins=(5, 0, 100))
    count, taken = frame.count(), frame.take("run", library="np")
    skim = frame.snapshot(tmp_path / "skim.root", ["met"])
    seen = []

    def partial(values, entries):
        seen.append((entries, values[0].sum(flow=True).value, values[1], len(values[2]), values[3]))

    wanted = [met, count, taken, skim]
    if executor is None:
        sapwood.run(*wanted, partial=partial)
    else:
        with concurrent.futures.ThreadPoolExecutor(executor) as pool:
            sapwood.run(*wanted, partial=partial, executor=pool, step_size=1000)
    assert len(seen) >= 3 and seen == sorted(seen, key=lambda one: one[0])
    for entries, of_histogram, of_count, of_taken, of_skim in seen:
        assert entries == of_histogram == of_count == of_taken and of_skim is None
    assert seen[-1][0] == 3 * ENTRIES == count.value
    with sapwood.open(skim.value.rsplit(":", 1)[0]) as file:
        assert file["Events"].num_entries == 3 * ENTRIES


def test_an_error_of_partial_ends_the_pass(path):  # noqa: F811
    def stop(values, entries):
        raise RuntimeError("enough")

    count = sapwood.frame([path, path]).count()
    with pytest.raises(RuntimeError, match="enough"):
        sapwood.run(count, partial=stop)
    assert count.value == 2 * ENTRIES


def test_samples_so_far_are_reported(path, monkeypatch):  # noqa: F811
    monkeypatch.setattr("sapwood._frame.partials.PAUSE", 0.0)
    seen = []
    count = sapwood.frame({"a": {"files": path}, "b": {"files": [path, path]}}).count()
    sapwood.run(count, partial=lambda values, entries: seen.append(json.dumps([entries, *values])))
    assert seen[0] == json.dumps([ENTRIES, {"a": ENTRIES}])
    assert seen[-1] == json.dumps([3 * ENTRIES, {"a": ENTRIES, "b": 2 * ENTRIES}])


def test_axes_of_hist_keep_their_names_and_flow_bins(path, arrays):  # noqa: F811
    axis = hist.axis.Regular(5, 0, 100, name="met", label="missing momentum", flow=False)
    found = sapwood.frame(path).hist("met", "w", bins=[axis, (4, 0, 2)]).value
    assert (found.axes[0].name, found.axes[0].label) == ("met", "missing momentum")
    assert not found.axes[0].traits.overflow and found.axes[1].traits.overflow
    wanted = np.histogram2d(arrays["met"], arrays["w"], [5, 4], [(0, 100), (0, 2)])[0]
    assert np.array_equal(found.values(), wanted)


def test_growing_categories_are_stacked_by_name(tmp_path):
    one = small(tmp_path, "one.root", kind=np.array([1, 2, 2]))
    other = small(tmp_path, "other.root", kind=np.array([2, 1, 1, 3]))
    empty = hist.Hist(hist.axis.IntCategory([], growth=True))
    kinds = sapwood.frame({"a": {"files": one}, "b": {"files": other}}).fill(empty, "kind")
    stacked = kinds.stacked()
    assert list(stacked.axes[1]) == [1, 2, 3]
    assert stacked["a", :].values().tolist() == [1, 2, 0] and stacked["b", :].values().tolist() == [2, 1, 1]


def test_whole_numbers_are_summed_exactly(tmp_path):
    event = np.array([2**53, 2**53 + 1, 2**53 + 3], "int64")
    path = small(tmp_path, event=event, big=event.astype("uint64") << 10, x=[0.5, 1.5, 2.5])  # noqa: F811
    frame = sapwood.frame(path)
    results = [frame.sum("event"), frame.min("event"), frame.max("event"), frame.max("big"), frame.sum("x")]
    wanted = [3 * 2**53 + 4, 2**53, 2**53 + 3, (2**53 + 3) << 10, 4.5]
    assert [one.value for one in results] == wanted and isinstance(results[0].value, int)
    again = [frame.sum("event"), frame.min("event"), frame.max("event"), frame.max("big"), frame.sum("x")]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        sapwood.run(*again, executor=pool, step_size=1)
    assert [one.value for one in again] == wanted


def test_sums_and_spreads_on_executors_are_those_of_one_pass(tmp_path):
    values = np.array([1e16, 1.0, 1.0, -1e16, 1e200, -1e200] * 50)
    path = small(tmp_path, x=values)  # noqa: F811
    frame = sapwood.frame(path)
    local, far = ([frame.sum("x"), frame.std("x"), frame.mean("x")] for _ in range(2))
    sapwood.run(*local)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        sapwood.run(*far, executor=pool, step_size=7)
    assert np.isinf(local[1].value) and np.isinf(far[1].value)
    assert far[0].value == pytest.approx(local[0].value, abs=150)


@pytest.mark.parametrize("cut", ["n >= 0", "n >= 1", "n > 3", "n > 100"])
def test_missing_values_of_functions_stay_missing(tmp_path, cut):
    import awkward as ak

    n = np.arange(2000) % 5
    lists = ak.unflatten(np.arange(4000), np.full(2000, 2))
    path = small(tmp_path, n=n, v=lists)  # noqa: F811
    frame = sapwood.frame(path, threads=1).filter(cut)
    frame = frame.define("odd", lambda n: ak.mask(n, n % 2 == 1), ["n"])
    frame = frame.define("some", lambda v: ak.mask(v, v % 3 > 0), ["v"])
    frame = frame.define("pair", lambda n: np.stack([n, 2 * n], axis=1), ["n"], library="np")
    odd, some, pair = frame.take("odd"), frame.take("some"), frame.take("pair", library="np")
    total, passed = frame.sum("odd"), frame.filter("odd >= 0").count()
    kept = ak.Array(n)[eval(cut, {"n": n})]
    wanted = ak.mask(kept, kept % 2 == 1)
    assert odd.value.to_list() == wanted.to_list()
    assert total.value == ak.sum(wanted) and passed.value == ak.sum(kept % 2 == 1)
    of_lists = lists[eval(cut, {"n": n})]
    assert some.value.to_list() == ak.mask(of_lists, of_lists % 3 > 0).to_list()
    assert pair.value.shape == (len(kept), 2) or len(kept) == 0
    assert pair.value.tolist() == [[one, 2 * one] for one in kept]
