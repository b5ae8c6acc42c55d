"""Frames on executors and Dask, and processors of coffea."""

from __future__ import annotations

import operator
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import awkward as ak
import numpy as np
import pytest
import sapwood
from sapwood.errors import MismatchError

from support import frames

path = frames.path
arrays = frames.arrays


def selected(pt, met):
    """A function of a module, which other processes find by its name."""
    return ak.num(pt[pt > 20]) + 0 * met


def counted(so_far, of):
    """Another one."""
    return so_far + len(of["met"])


@pytest.mark.parametrize("how", ["threads", "processes"])
def test_executors_find_what_one_process_finds(path, how):
    from multiprocessing import get_context

    def book():
        frame = sapwood.frame({"a": {"files": [path, path], "k": 2.0}, "b": {"files": path, "k": 0.5}})
        frame = frame.vary("jes", {"up": {"jet_pt": "jet_pt * 1.5"}}).define(
            "n", selected, inputs=["jet_pt", "met"]
        )
        busy = frame.filter("Sum$(jet_pt) > 60", "busy")
        return {
            "hist": busy.hist("jet_pt", bins=(20, 0, 200), weight="k"),
            "root": busy.hist("met", "n", bins=[(10, 0, 100), (7, 0, 7)], library="root"),
            "profile": busy.profile("met", "n", bins=(5, 0, 100), library="root"),
            "count": busy.count(),
            "mean": busy.mean("n"),
            "std": busy.std("met"),
            "report": busy.report(weight="k"),
            "take": busy.take("n", "Entry$"),
            "fold": busy.aggregate(0, counted, ["met"], merge=operator.add),
        }

    alone, apart, coarse = book(), book(), book()
    sapwood.run(*alone.values())
    made = {
        "threads": lambda: ThreadPoolExecutor(2),
        "processes": lambda: ProcessPoolExecutor(2, mp_context=get_context("spawn")),
    }
    with made[how]() as executor:
        sapwood.run(*apart.values(), executor=executor, step_size=500)
    with ThreadPoolExecutor(1) as executor:
        sapwood.run(*coarse.values(), executor=executor, step_size=500)
    for name, result in alone.items():
        assert list(result.variations) == list(apart[name].variations), name
        for variation, of in result.variations.items():
            for sample, value in of.items():
                other = apart[name].variations[variation][sample]
                same = coarse[name].variations[variation][sample]
                if name in ("hist", "root", "profile"):
                    flow = {"flow": True}
                    assert np.allclose(value.values(**flow), other.values(**flow), rtol=1e-12), name
                    # All bits are equal, whatever the number of workers.
                    assert other.values(**flow).tobytes() == same.values(**flow).tobytes()
                elif name == "take":
                    assert ak.array_equal(value["n"], other["n"])
                    assert ak.array_equal(value["Entry$"], other["Entry$"])
                elif name == "report":
                    assert [cut[:3] for cut in value] == [cut[:3] for cut in other]
                    assert value[0].weights == pytest.approx(other[0].weights)
                else:
                    assert value == pytest.approx(other, rel=1e-12), name


def test_a_dask_client_is_an_executor(path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        2, processes=False, dashboard_address="127.0.0.1:0", threads_per_worker=1
    ) as cluster:
        with distributed.Client(cluster) as client:
            frame = sapwood.frame(path).define("n", lambda pt: ak.num(pt), inputs=["jet_pt"])
            apart = frame.hist("n", bins=(6, 0, 6))
            sapwood.run(apart, executor=client, step_size=1000)
    alone = sapwood.frame(path).hist("Length$(jet_pt)", bins=(6, 0, 6))
    assert np.array_equal(apart.value.values(flow=True), alone.value.values(flow=True))


@pytest.mark.parametrize("rntuple", [False, True])
@pytest.mark.parametrize("how", ["threads", "processes"])
def test_workers_write_parts_of_a_snapshot(path, tmp_path, how, rntuple):
    """Entries stand in their order, also of variations, whatever worker was first."""
    from multiprocessing import get_context

    def book(name):
        frame = sapwood.frame({"a": {"files": [path, path]}, "b": {"files": path}})
        frame = frame.vary("jes", {"up": {"jet_pt": "jet_pt * 1.5"}, "none": {"jet_pt": "jet_pt"}})
        busy = frame.filter("Sum$(jet_pt) > 60")
        columns = {"met": "met", "pt": "jet_pt[jet_pt > 20]", "n": "Length$(jet_pt)"}
        return busy.snapshot(tmp_path / name, columns, rntuple=rntuple), busy.count()

    alone, apart = book("alone.root"), book("apart.root")
    sapwood.run(*alone)
    made = {
        "threads": lambda: ThreadPoolExecutor(2),
        "processes": lambda: ProcessPoolExecutor(2, mp_context=get_context("spawn")),
    }
    with made[how]() as executor:
        sapwood.run(*apart, executor=executor, step_size=700)
    assert apart[1].value == alone[1].value
    with sapwood.open(tmp_path / "alone.root") as one, sapwood.open(tmp_path / "apart.root") as other:
        names = one.keys(cycle=False)
        assert sorted(other.keys(cycle=False)) == sorted(names) and len(names) == 4
        for name in names:
            assert one[name].typenames() == other[name].typenames()
            for column in ("met", "pt", "n"):
                assert ak.array_equal(one[name][column].array(), other[name][column].array()), (name, column)
        assert one["Events__a"].num_entries == apart[1].value["a"]
    assert apart[0].value["b"].endswith("apart.root:Events__b")
    # No parts stay.
    assert sorted(left.name for left in tmp_path.iterdir()) == ["alone.root", "apart.root"]


def test_a_snapshot_of_workers_that_fail_leaves_nothing(path, tmp_path):
    def fails(met):
        if len(met):
            raise RuntimeError("no such calibration")
        return met

    kept = tmp_path / "kept.root"
    kept.write_text("kept")
    frame = sapwood.frame(path).define("x", fails, inputs=["met"])
    with ThreadPoolExecutor(2) as executor, pytest.raises(MismatchError, match="calibration"):
        sapwood.run(frame.snapshot(kept, ["x"]), executor=executor, step_size=500)
    assert kept.read_text() == "kept" and list(tmp_path.iterdir()) == [kept]


def test_nothing_that_passes_is_a_snapshot_with_types(path, tmp_path):
    columns = {"pt": "jet_pt", "n": "run"}
    none = sapwood.frame(path).filter("met < -1").snapshot(tmp_path / "new" / "none.root", columns)
    with ThreadPoolExecutor(2) as executor:
        sapwood.run(none, executor=executor, step_size=500)
    with sapwood.open(none.value.rsplit(":", 1)[0]) as file:
        tree = file["Events"]
        assert tree.num_entries == 0 and tree["n"].array(library="np").dtype == np.dtype("int32")


def test_what_workers_cannot_do_together_is_told(path, tmp_path):
    frame = sapwood.frame(path)
    made = [
        (lambda: frame.hist("met"), "say bins="),
        (lambda: frame.aggregate(0, lambda a, of: a, ["met"]), "merge="),
    ]
    with ThreadPoolExecutor(1) as executor:
        for make, words in made:
            frame = sapwood.frame(path)
            with pytest.raises(MismatchError, match=words):
                sapwood.run(make(), executor=executor)
    assert not (tmp_path / "no.root").exists()


def test_processors_of_coffea_run_unchanged(tmp_path):
    processor = pytest.importorskip("coffea.processor")
    rng = np.random.default_rng(1)
    paths = {}
    numbers = {"luminosityBlock": np.ones(1000, "i4"), "event": np.arange(1000)}
    for name in ("ttbar", "wjets"):
        counts = rng.integers(0, 5, 1000)
        names = ("pt", "eta", "phi", "mass")
        members = {name: rng.exponential(30, counts.sum()).astype("f4") for name in names}
        jets = ak.unflatten(ak.zip(members), counts)
        paths[name] = f"{tmp_path}/{name}.root"
        with sapwood.recreate(paths[name]) as file:
            file["Events"] = {"Jet": jets, "run": np.ones(1000, "i4"), **numbers}

    class Count(processor.ProcessorABC):
        def process(self, events):
            known = events.metadata
            assert known["entrystop"] - known["entrystart"] == len(events)
            found = {"n": len(events), "pt": float(ak.sum(events.Jet.pt)), "files": {known["filename"]}}
            return {known["dataset"]: found, "xsec": {known["xsec"]}}

        def postprocess(self, accumulator):
            accumulator["done"] = True

    sets = {name: {"files": {path: "Events"}, "metadata": {"xsec": 2.0}} for name, path in paths.items()}
    with warnings.catch_warnings():
        # Of coffea: these events have few of the columns that it knows.
        warnings.simplefilter("ignore")
        found = sapwood.process(sets, Count(), step_size=300)
        for given in (
            {"friends": {"f": "f.root:t"}},
            {"entries": [1]},
            {"library": "np"},
            {"fill": {"x": 0}},
        ):
            with pytest.raises(MismatchError, match=f"{next(iter(given))}= is for selectors"):
                sapwood.process(sets, Count(), **given)
    assert found["done"] and found["xsec"] == {2.0}
    for name, path in paths.items():
        jets = sapwood.open(f"{path}:Events")["Jet_pt"].array()
        assert found[name]["n"] == 1000
        assert found[name]["pt"] == pytest.approx(ak.sum(ak.values_astype(jets, "f8")), rel=1e-5)
        assert found[name]["files"] == {path}
