"""Objects that Sapwood writes: real ROOT, uproot and Sapwood itself read them; what is read can be written again."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

bh = pytest.importorskip("boost_histogram")
hist = pytest.importorskip("hist")
sapwood = pytest.importorskip("sapwood")
uproot = pytest.importorskip("uproot")
objects = sapwood.objects
MismatchError, UnsupportedError = sapwood.errors.MismatchError, sapwood.errors.UnsupportedError

HERE = Path(__file__).resolve().parent
CI = os.environ.get("CI", "").lower() in ("1", "true", "yes")
RANDOM = np.random.default_rng(7)
X, Y, Z = RANDOM.normal(size=(3, 400))
W = RANDOM.uniform(0.5, 2, 400)
KINDS = {"C": "int8", "S": "int16", "I": "int32", "L": "int64", "F": "float32", "D": "float64"}


def filled(*axes: Any, storage: Any, **how: Any) -> Any:
    made = hist.Hist(*axes, storage=storage)
    made.fill(*(X, Y, Z)[: len(axes)], **how)
    return made


def regular(bins: int = 6, **how: Any) -> Any:
    return hist.axis.Regular(bins, -2, 2, **how)


STORAGE = hist.storage
NUMPY = {
    "np1": np.histogram(X, 20, (-3, 3)),
    "np1_edges": np.histogram(X, [-3.0, -1, 0, 0.5, 3]),
    "np1_weights": np.histogram(X, 5, (-3, 3), weights=W),
    "np2": np.histogram2d(X, Y, [5, 4]),
    "np3": np.histogramdd((X, Y, Z), [5, 4, 3]),
}
COUNTS = {
    "double": filled(regular(name="x", label="x [cm]"), storage=STORAGE.Double()),
    "int64": filled(regular(), storage=STORAGE.Int64()),
    "weight": filled(regular(), storage=STORAGE.Weight(), weight=W),
    "weight2": filled(regular(), hist.axis.Variable([-2, -1, 0, 2]), storage=STORAGE.Weight(), weight=W),
    "weight3": filled(regular(), regular(3), regular(2), storage=STORAGE.Weight(), weight=W),
    "no_overflow": filled(regular(overflow=False), storage=STORAGE.Double()),
    "circular": filled(regular(circular=True), storage=STORAGE.Double()),
}
MEANS = {
    "mean": filled(regular(), storage=STORAGE.Mean(), sample=Y),
    "mean2": filled(regular(), regular(3), storage=STORAGE.Mean(), sample=Z),
    "mean3": filled(regular(), regular(3), regular(2), storage=STORAGE.Mean(), sample=W),
    "weighted_mean": filled(regular(), storage=STORAGE.WeightedMean(), sample=Y, weight=W),
}


def labelled() -> dict[str, Any]:
    category = hist.Hist(hist.axis.StrCategory(["a", "b", "c"]), storage=STORAGE.Double())
    category.fill(["a", "b", "b", "elsewhere"])
    numbers = bh.Histogram(bh.axis.IntCategory([3, 5]), bh.axis.Integer(-1, 2))
    numbers.fill([3, 5, 5], [0, 1, 1])
    return {"labels": category, "numbers": numbers}


def filled_by_root(path: Path) -> None:
    """The same entries as in `MEANS` and `COUNTS`, filled by ROOT itself; and objects to be copied."""
    code = """
        import sys, numpy as np, ROOT
        from array import array
        X, Y, Z, W = np.load(sys.argv[1] + ".npy")
        file = ROOT.TFile(sys.argv[1], "RECREATE")
        h = ROOT.TH1D("weight", "", 6, -2, 2); h.Sumw2()
        p = ROOT.TProfile("mean", "", 6, -2, 2)
        q = ROOT.TProfile("weighted_mean", "", 6, -2, 2)
        for x, y, z, w in zip(X, Y, Z, W):
            h.Fill(x, w); p.Fill(x, y); q.Fill(x, y, w)
        f = ROOT.TF1("f", "[0]*x+[1]", -2, 2); f.SetParameters(2, 3); f.Write()
        fit = ROOT.TH1F("fit", "fitted;x;y", 20, -2, 2)
        for x in X: fit.Fill(x)
        fit.Fit("gaus", "Q0")
        labels = ROOT.TH1D("filled", "", 3, 0, 3)
        for label in "aabccc": labels.Fill(label, 1)
        h2 = ROOT.TH2F("h2", "two", 3, 0, 3, 2, array("d", [0, 1, 5])); h2.Fill(1, 2); h2.Fill(2, 4, 3.5)
        h3 = ROOT.TH3I("h3", "three", 3, 0, 3, 2, 0, 2, 2, 0, 2); h3.Fill(1, 1, 0.5)
        text, named = ROOT.TObjString("in a list"), ROOT.TNamed("name", "title")
        items = ROOT.TList(); items.Add(text); items.Add(named); items.Write("list", 1)
        g = ROOT.TGraphAsymmErrors(2, array("d", [1, 2]), array("d", [3, 4])); g.SetPointError(0, 1, 2, 3, 4); g.Write("graph")
        ROOT.TParameter["double"]("parameter", 2.5).Write()
        file.Write(); file.Close()
    """
    np.save(str(path) + ".npy", np.array([X, Y, Z, W]))
    lines = [line.removeprefix("        ") for line in code.splitlines()]
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "\n".join(lines), str(path)], check=True, timeout=600
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("objects") / "written.root"
    with sapwood.recreate(path, compression="zstd:3") as file:
        for name, value in (NUMPY | COUNTS | MEANS | labelled()).items():
            file[name] = value
        for kind in KINDS:
            for directions in (1, 2, 3):
                cells = np.arange(2 * 3**directions).reshape((2 * 3, *[3] * (directions - 1)))
                file[f"kinds/{directions}{kind}"] = objects.histogram(
                    cells, (6, 0, 3), *[(3, 0, 1)] * (directions - 1), kind=kind
                )
        file["g"] = objects.graph([1, 2, 3], [4, 5, 6], title="points", axis_titles=["x", "y"])
        file["ge"] = objects.graph([1, 2], [4, 5], ey=[0.5, 0.25])
        file["ga"] = objects.graph([1, 2], [4, 5], ([0.1, 0.2], [0.3, 0.4]), ([1, 2], [3, 4]))
        file["list"] = [objects.text("first"), NUMPY["np1"], objects.named("second", "name")]
        file["map"] = objects.mapping({"key": "value"})
        file["named"] = objects.named("a title")
        for index, value in enumerate((True, 2, np.int32(3), np.float32(1.5), 2.5)):
            file[f"parameter/{index}"] = objects.parameter(value)
        file["text"] = "grüße"
    return path


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    _need_root()
    path = tmp_path_factory.mktemp("objects") / "root.root"
    filled_by_root(path)
    return path


@pytest.fixture(scope="module")
def copied(source: Path) -> Path:
    path = source.parent / "copied.root"
    with sapwood.open(source) as file:
        content = {key: file[key] for key in file.keys(cycle=False)}
    with sapwood.recreate(path) as copy:  # the source is closed by now
        for name, value in content.items():
            copy[name] = value
        copy["of_list"] = list(content["list"])[1]
    return path


def _need_root() -> None:
    if importlib.util.find_spec("ROOT") is None:
        if CI:
            pytest.fail("ROOT is required here")
        pytest.skip("ROOT is not installed")


@pytest.fixture(scope="module")
def root(written: Path, source: Path, copied: Path) -> dict[str, Any]:
    """What real ROOT says of each file; it prints nothing."""
    paths = [str(path) for path in (written, source, copied)]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(HERE / "oracle" / "read_objects.py"), *paths],
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    said = [
        line
        for line in (done.stdout + done.stderr).splitlines()
        if line.startswith(("Warning", "Error", "SysError"))
    ]
    assert not said, said
    read = json.loads(done.stdout.splitlines()[-1])
    return {name: read[path] for name, path in zip(("written", "source", "copied"), paths, strict=True)}


def close(found: Any, expected: Any) -> bool:
    return bool(np.allclose(np.ravel(found), np.ravel(expected), rtol=1e-12, atol=1e-12))


def in_order(array: Any) -> Any:
    return np.ravel(array, order="F")


def test_real_root_reads_histograms_of_numpy(root: dict[str, Any]) -> None:
    for name, (values, *edges) in NUMPY.items():
        edges = edges[0] if isinstance(edges[0], (list, tuple)) else edges
        found = root["written"][name]
        assert found["class"] == f"TH{len(edges)}D" and found["name"] == name
        for axis, expected in zip(found["axes"], edges, strict=True):
            assert close(axis["edges"], expected) and axis["regular"] == (name != "np1_edges")
        assert close(found["values"], in_order(np.pad(values, 1))) and close(found["entries"], values.sum())
        assert close(found["twice"], 2 * np.array(found["values"])) and found["merged"] == found["twice"]
        assert close(found["mean"], found["mean_of_bins"]) and close(found["rms"], found["rms_of_bins"])
        if len(edges) == 2:
            assert close(found["projected"][1:-1], values.sum(axis=1))


def test_real_root_reads_histograms_of_hist(root: dict[str, Any]) -> None:
    for name, given in COUNTS.items():
        found = root["written"][name]
        values, variances = given.values(flow=True), given.variances(flow=True)
        if name in ("no_overflow", "circular"):
            values, variances = np.pad(given.values(), 1), np.pad(given.variances(), 1)
            values[0] = given.values(flow=True)[0] if name == "no_overflow" else 0
            values[-1] = given.values(flow=True)[-1] if name == "circular" else 0
            variances = values
        assert close(found["values"], in_order(values)) and close(
            np.square(found["errors"]), in_order(variances)
        ), name
        assert (found["sumw2"] > 0) == ("weight" in name)
        inside = (slice(1, -1),) * values.ndim
        weights, squares = values[inside], variances[inside]
        assert close(found["effective"], weights.sum() ** 2 / squares.sum()) and close(
            found["integral"], weights.sum()
        )
        centers = given.axes[0].centers
        others = tuple(range(1, weights.ndim))
        mean = (weights.sum(axis=others) * centers).sum() / weights.sum()
        assert close(found["mean"][0], mean) and close(found["mean"], found["mean_of_bins"])
        assert found["twice"] == found["merged"]
    assert root["written"]["double"]["axes"][0]["title"] == "x [cm]"
    assert not root["written"]["weight2"]["axes"][1]["regular"]


def test_real_root_reads_profiles_of_hist(root: dict[str, Any]) -> None:
    for name, given in MEANS.items():
        found = root["written"][name]
        assert found["class"] == ["TProfile", "TProfile2D", "TProfile3D"][given.ndim - 1]
        counts = np.nan_to_num(in_order(given.counts(flow=True)))
        view = given.view(flow=True)
        weights = in_order(view["sum_of_weights"] if "sum_of_weights" in view.dtype.names else view["count"])
        assert close(found["counts"], weights) and close(found["effective_counts"], counts)
        assert close(found["values"], np.where(weights > 0, in_order(given.values(flow=True)), 0))
        assert close(found["twice"], found["merged"])


def test_what_real_root_filled_itself_is_the_same(root: dict[str, Any]) -> None:
    for name in ("weight", "mean", "weighted_mean"):
        ours, theirs = root["written"][name], root["source"][name]
        for what in (
            "values",
            "errors",
            "integral",
            "sumw2",
            "effective",
            "counts",
            "effective_counts",
            "mean_of_bins",
        ):
            assert (what in ours) == (what in theirs)
            assert what not in ours or close(ours[what], theirs[what]), (name, what)
        for axis, other in zip(ours["axes"], theirs["axes"], strict=True):
            assert close(axis["edges"], other["edges"]) and {**axis, "edges": 0} == {**other, "edges": 0}


def test_real_root_reads_labels(root: dict[str, Any]) -> None:
    found = root["written"]["labels"]
    assert found["axes"][0]["labels"] == ["a", "b", "c"] and found["values"] == [0, 1, 2, 0, 1]
    found = root["written"]["numbers"]
    assert found["axes"][0]["labels"] == ["3", "5"] and found["axes"][1]["edges"] == [-1, 0, 1, 2]


def test_real_root_reads_all_kinds(root: dict[str, Any]) -> None:
    for kind in KINDS:
        for directions in (1, 2, 3):
            found = root["written"][f"kinds/{directions}{kind}"]
            assert found["class"] == f"TH{directions}{kind}" and found["name"] == f"{directions}{kind}"
            cells = np.arange(2 * 3**directions).reshape((6, *[3] * (directions - 1)))
            assert found["values"] == in_order(np.pad(cells, 1)).tolist()


def test_real_root_reads_all_else(root: dict[str, Any]) -> None:
    found = root["written"]
    assert found["g"] | {"ex": 0, "ey": 0} == {
        "class": "TGraph", "name": "g", "title": "points;x;y", "x": [1, 2, 3], "y": [4, 5, 6], "ex": 0,
        "ey": 0,
    }  # fmt: skip
    assert found["ge"]["ey"] == [[0.5, 0.5], [0.25, 0.25]] and found["ge"]["ex"] == [[0, 0], [0, 0]]
    assert found["ga"]["ex"] == [[0.1, 0.3], [0.2, 0.4]] and found["ga"]["ey"] == [[1, 3], [2, 4]]
    assert [item["class"] for item in found["list"]["items"]] == ["TObjString", "TH1D", "TNamed"]
    assert found["map"]["items"] == {"key": "value"}
    assert found["named"] == {"class": "TNamed", "name": "named", "title": "a title"}
    assert [found[f"parameter/{index}"]["value"] for index in range(5)] == [True, 2, 3, 1.5, 2.5]
    kinds = ["bool", "Long64_t", "int", "float", "double"]
    assert [found[f"parameter/{index}"]["class"] for index in range(5)] == [
        f"TParameter<{kind}>" for kind in kinds
    ]
    assert found["text"]["name"] == "grüße"


def test_real_root_reads_copies_as_it_reads_the_source(root: dict[str, Any]) -> None:
    for name, theirs in root["source"].items():
        ours = root["copied"][name]
        assert json.dumps({**ours, "name": ""}) == json.dumps({**theirs, "name": ""}), name
        if "name" in ours and theirs["class"] != "TObjString":
            assert ours["name"] == name
    assert root["copied"]["of_list"] == {"class": "TNamed", "name": "of_list", "title": "title"}


def test_uproot_reads_what_was_written(written: Path) -> None:
    file = uproot.open(written)
    for name, (values, *edges) in NUMPY.items():
        edges = edges[0] if isinstance(edges[0], (list, tuple)) else edges
        found = file[name].to_numpy()
        assert close(found[0], values) and all(close(a, b) for a, b in zip(found[1:], edges, strict=True))
    for name in ("weight", "weight2", "weight3"):
        assert close(file[name].values(flow=True), COUNTS[name].values(flow=True))
        assert close(file[name].variances(flow=True), COUNTS[name].variances(flow=True))
    counts = np.nan_to_num(MEANS["mean"].values(flow=True))
    assert close(file["mean"].values(flow=True), counts)
    assert file["labels"].axis().labels() == ["a", "b", "c"]
    assert file["ga"].errors("low", "x").tolist() == [0.1, 0.2] and str(file["text"]) == "grüße"
    assert [item.classname for item in file["list"]] == ["TObjString", "TH1D", "TNamed"]
    assert file["parameter/4"].member("fVal") == 2.5


def test_sapwood_reads_its_own_and_writes_it_again(written: Path) -> None:
    file = sapwood.open(written)
    memory = io.BytesIO()
    with sapwood.recreate(memory) as copy:
        for key in file.keys(recursive=True, cycle=False):
            if not file.classnames(recursive=True, cycle=False)[key].startswith("TDirectory"):
                copy[key] = file[key]
    again = sapwood.open(memory)
    for name in (*NUMPY, *COUNTS, "labels"):
        assert again[name] == file[name] and file[name].axes == again[name].axes
    for name, given in COUNTS.items():
        assert close(file[name].values(), given.values()) and close(file[name].variances(), given.variances())
    for name in MEANS:
        assert close(again[name].values(), file[name].values()) and close(
            again[name].errors(), file[name].errors()
        )
    assert again["map"].tolist() == file["map"].tolist()
    assert again["list"].tolist() == file["list"].tolist()
    # By the protocol of plottable histograms, as another library's would be written.
    memory = io.BytesIO()
    with sapwood.recreate(memory) as copy:
        copy["h"] = uproot.open(written)["weight2"]
        copy["p"] = uproot.open(written)["mean"]
        copy["boost"] = file["weight3"].to_boost()
    third = sapwood.open(memory)
    assert third["h"] == file["weight2"] and close(
        third["boost"].variances(True), file["weight3"].variances(True)
    )
    assert close(third["p"].values(), file["mean"].values()) and close(
        third["p"].errors(), file["mean"].errors()
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: objects.histogram([1, 2], [0, 1]), "shape"),
        (lambda: objects.histogram([1, 2], [0, 1, 1]), "grow"),
        (lambda: objects.histogram([1, 2], [0, 2, 1]), "grow"),
        (lambda: objects.histogram([1, 2], (2, 0, np.inf)), "finite"),
        (lambda: objects.histogram([1, 2], [0, np.inf, np.inf]), "grow"),
        (lambda: objects.histogram([1], [[0, 1], [1]]), "edges"),
        (lambda: objects.histogram([[1], [1, 2]], [0, 1], [0, 1]), "inhomogeneous|numbers"),
        (lambda: objects.histogram(["a"], [0, 1]), "numbers"),
        (lambda: objects.histogram(np.zeros((1,) * 4), *[[0, 1]] * 4), "one to three axes"),
        (lambda: objects.histogram([300], [0, 1], kind="C"), "does not hold"),
        (lambda: objects.histogram([1], [0, 1], kind="X"), "one of"),
        (lambda: objects.histogram([1], [0, 1], variances=[-1]), "negative"),
        (lambda: objects.histogram([1], [0, 1], variances=[1, 2]), "shape"),
        (lambda: objects.graph([1, 2], [1]), "2 points"),
        (lambda: objects.graph([1, 2], [1, 2], ey=[1]), "2 points"),
        (lambda: objects.graph(["a"], [1]), "numbers"),
        (lambda: objects.parameter("a"), "number"),
        (lambda: objects.parameter(2**64), "holds"),
        (lambda: objects.histogram([1], np.array(["2020-01-01", "2020-01-02"], "M8[D]")), "edges"),
        (lambda: objects.text(3), "text"),
        (lambda: objects.collection([3]), "no object"),
        (lambda: [objects.text("a"), 3], "no object"),
        (lambda: {"a": objects.text("a")}, "mapping"),
        (lambda: np.histogramdd(np.zeros((3, 4))), "one to three axes"),
        (lambda: hist.Hist(*[hist.axis.Regular(2, 0, 1)] * 4), "one to three axes"),
    ],
)
def test_what_is_no_object_says_why_and_leaves_nothing(make: Any, words: str) -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        with pytest.raises((MismatchError, ValueError), match=words):
            file["wrong"] = make()
        file["right"] = "here"
    assert sapwood.open(memory).keys() == ["right;1"]


def test_objects_keep_their_bytes() -> None:
    # The digest changes only where files are meant to change.
    made = [
        objects.histogram(
            np.arange(2 * 3**directions).reshape((6, *[3] * (directions - 1))),
            (6, 0, 3),
            *[(3, 0, 1)] * (directions - 1),
            kind=kind,
            title="t",
            axis_titles=["a"],
        )
        for kind in KINDS
        for directions in (1, 2, 3)
    ]
    made += [
        objects.histogram([1.0, 2.5], [0, 1, 5.0], variances=[1, 2], entries=7),
        objects.histogram([1.0, 2.5, 3, 4], [0, 1, 5.0], variances=[1, 2, 3, 4], flow=True),
        objects.histogram([[1.0, 2.5]], [0, 1], ["a", "ü"]),
        objects.profile(
            [4, 9], [1.5, 2.5], [0.5, 0.25], (2, 0, 1), squared_weights=[3, 8], axis_titles=["x"]
        ),
        objects.profile([[4, 9]], [[1.5, 2.5]], [[0.5, 0.25]], [0, 2], (2, 0, 1), title="title"),
        objects.graph([1, 2, 3], [4, 5, 6], title="points", axis_titles=["x", "y"]),
        objects.graph([1, 2], [4, 5], ey=[0.5, 0.25]),
        objects.graph([1, 2], [4, 5], [0.1, 0.2], ([1, 2], [3, 4])),
    ]
    frame = {"x": [1, 2], "y": [3, 4], "x_errors": [1, 2]}
    made.append(objects.as_TGraph(frame, title="p", minY=0, maxY=5)._identity.draft())
    found = hashlib.sha256(b"".join(draft.encoded(70) for draft in made)).hexdigest()
    assert found == "ee0d20c4137fdd009893434c523ba7b8a2fbc8dc522be3d588ccc9c295ef459f"


def test_parts_of_objects_are_no_objects(written: Path) -> None:
    axis = sapwood.open(written)["double"].axis()
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file, pytest.raises(UnsupportedError, match="of its own"):
        file["axis"] = axis
    assert sapwood.open(memory).keys() == []


def test_large_whole_numbers_stay_exact() -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        file["d"] = objects.histogram(np.array([2**53]), [0, 1])
        file["l"] = objects.histogram(np.array([2**53 + 1]), [0, 1])
    read = sapwood.open(memory)
    assert (read["d"].classname, read["l"].classname) == ("TH1D", "TH1L")
    assert read["l"].values().tolist() == [2**53 + 1]
