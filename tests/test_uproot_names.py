"""What scripts that were written for uproot do: the same calls give the same answers, or the same files."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")
pd = pytest.importorskip("pandas")
uproot = pytest.importorskip("uproot")

X = np.array([1.5, 2.5, 3.5])
FRAME = pd.DataFrame({"a": X, "b": [1, 2, 3]})
DATA: dict[str, Any] = {
    "arrays": {"a": X, "b": np.array([1, 2, 3])},
    "lists": {"a": [1.5, 2.5, 3.5]},
    "series": {"a": pd.Series(X)},
    "a frame": FRAME,
    "a frame with a range": pd.DataFrame({"a": X}, index=pd.RangeIndex(5, 8)),
    "structured": np.array([(1.5, 2), (2.5, 3)], [("a", "f8"), ("b", "i4")]),
    "records": ak.Array([{"a": 1.5, "b": 1}, {"a": 2.5, "b": 2}]),
    "fixed arrays": {"a": np.arange(6.0).reshape(3, 2)},
    "jagged": {"a": ak.Array([[1.5], [], [2.5, 3.5]])},
    "fields": {"m": {"pt": X, "eta": X}},
}


@pytest.mark.parametrize("name", DATA)
def test_a_tree_is_made_from_data(tmp_path: Path, name: str) -> None:
    data = DATA[name]
    with (
        sapwood.recreate(tmp_path / "ours.root") as ours,
        uproot.recreate(tmp_path / "theirs.root") as theirs,
    ):
        entries = ours.mktree("t", data, title="made").num_entries
        theirs.mktree("t", data, title="made")
    ours, theirs = (uproot.open({tmp_path / f"{who}.root": "t"}) for who in ("ours", "theirs"))
    assert ours.title == "made" and ours.typenames() == theirs.typenames()
    assert ours.arrays().tolist() == theirs.arrays().tolist() and entries == theirs.num_entries > 0


def test_types_begin_an_empty_tree() -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        for number, types in enumerate(
            ({"x": "f4"}, {"x": np.int8}, {"x": {"y": "var * f4"}}, {"x": ("f8", (2,))})
        ):
            assert file.mktree(f"t{number}", types).num_entries == 0
        with pytest.raises(ValueError, match="different lengths"):
            file.mktree("no", {"x": [1], "y": [1, 2]})
        assert "no" not in file


def test_the_index_of_a_frame_is_kept(tmp_path: Path) -> None:
    named = FRAME.set_index(pd.Index([7, 8, 9], name="event"))
    several = FRAME.set_index(pd.MultiIndex.from_arrays([[1, 1, 2], [5, 6, 5]], names=["run", None]))
    texts = FRAME.set_index(pd.Index(["x", "y", "z"]))
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["plain"], file["named"], file["several"], file["texts"] = FRAME, named, several, texts
        file["plain"].extend(FRAME)
        file["own"] = FRAME.assign(index=[4, 5, 6])
        with pytest.raises(ValueError, match="the index and a column have the name 'event'"):
            file["twice"] = named.assign(event=1)
        file.mktree("bare", {"a": "f8", "b": "i8"}).extend(FRAME)  # a tree without the index
    with uproot.open(tmp_path / "a.root") as file:
        assert file["plain/index"].array().tolist() == [0, 1, 2] * 2
        assert file["named"].keys() == ["event", "a", "b"] and file["named/event"].array().tolist() == [
            7,
            8,
            9,
        ]
        assert file["several"].keys()[:2] == ["run", "level_1"] and file[
            "several/level_1"
        ].array().tolist() == [5, 6, 5]
        assert file["texts/index"].array().tolist() == ["x", "y", "z"]
        assert file["own"].keys() == ["a", "b", "index"] and file["own/index"].array().tolist() == [4, 5, 6]
        assert file["bare"].keys() == ["a", "b"]


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    with uproot.recreate(tmp_path / "numbers.root") as file:
        file.mktree(
            "t", {"i1": np.array([-1, 2], "i1"), "x": np.array([1.0, 2.0]), "v": ak.Array([[1], [2, 3]])}
        )
    return tmp_path / "numbers.root"


def test_branches_are_looked_at_as_another_type(numbers: Path) -> None:
    tree = sapwood.open(numbers)["t"]
    for expressions in (
        {"i1": ">u1", "x": None},
        [("i1", ">u1"), "x"],
        [("i1", "u1"), ("x", tree["x"].interpretation)],
    ):
        assert tree.arrays(expressions).tolist() == [{"i1": 255, "x": 1}, {"i1": 2, "x": 2}]
        assert next(tree.iterate(expressions, library="np"))["i1"].tolist() == [255, 2]
    assert tree.arrays({"x": ">i8"}, "i1 < 0", library="pd")["x"].tolist() == [np.float64(1).view("i8")]
    for wrong in ({"i1": ">u2"}, {"v": ">i8"}, {"x + 1": ">i8"}, [("i1", ">u1"), ("i1", None)]):
        with pytest.raises(ValueError, match="cannot be looked at|only a branch|as two types"):
            tree.arrays(wrong)


def test_what_is_asked_for_twice_comes_twice(numbers: Path) -> None:
    tree = sapwood.open(numbers)["t"]
    for how in (tuple, list):
        for library in ("ak", "np", "pd"):
            found = tree.arrays(["x", "i1", "x"], library=library, how=how)
            assert type(found) is how and [one.tolist() for one in found] == [[1, 2], [-1, 2], [1, 2]]
    assert tree.arrays(["x", "x"]).fields == ["x"]
    first, second = sapwood.concatenate({numbers: "t"}, ["x + 1", "x + 1"], how=tuple)
    assert first.tolist() == second.tolist() == [2, 3]


def test_what_was_written_is_there_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.root"
    with sapwood.recreate(path) as file:
        file["t"], file["h"] = {"x": [1, 2]}, np.histogram([1, 2], bins=2)
        file["dir/t"], file["dir/note"] = {"x": [1.5]}, "text"
        assert sorted(file.keys()) == ["dir/note;1", "dir/t;1", "dir;1", "h;1", "t;1"] and len(file) == 5
        assert "t" in file and "t;1" in file and "dir/t" in file and "u" not in file
        file["t"].extend({"x": [3]})
        assert file["t"].num_entries == 3 and file["t"]["x"].array().tolist() == [1, 2, 3]
        file["t"].extend({"x": [4]})
        assert file["h"].values().tolist() == [1, 1] and str(file["dir"]["note"]) == "text"
        file["dir"]["t"].extend({"x": [2.5]})
        assert file["dir"].keys() == ["note;1", "t;1"] and file["dir/t"].arrays().tolist() == [
            {"x": 1.5},
            {"x": 2.5},
        ]
        file["gone"] = {"x": [1]}
        file["gone"].extend({"x": [2]})
        gone = file["gone"]
        del file["gone"], file["h"]
        assert "gone" not in file and "h" not in file
        with pytest.raises(ValueError, match="closed"):
            gone.extend({"x": [3]})
        with pytest.raises(KeyError):
            file["gone"]
        file["t"] = {"y": ["a"]}
        file["t"].extend({"y": ["b"]})
        assert file["t"].keys() == ["y"] and file["t;1"].arrays().tolist() == [{"x": x} for x in (1, 2, 3, 4)]
        with file.mktree("made", {"x": "f4"}) as tree:
            tree.extend({"x": [1]})
        file["made"].extend({"x": [2]})
        assert file["made"].num_entries == 2
    with uproot.open(path) as found:
        assert found["t;2/y"].array().tolist() == ["a", "b"] and found["t;1/x"].array().tolist() == [
            1,
            2,
            3,
            4,
        ]
        assert found["dir/t/x"].array().tolist() == [1.5, 2.5] and found["made/x"].array().tolist() == [1, 2]
    with sapwood.update(path) as file:
        file["t"].extend({"y": ["c"]})  # which was there before
        assert file["t"].num_entries == 3
    assert sapwood.open(path)["t/y"].array().tolist() == ["a", "b", "c"]


def test_a_resumed_tree_grows_in_its_own_cycle() -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory, reproducible=True) as file:
        file["t"] = {"x": np.arange(1000), "v": ak.Array([[1.5], []] * 500)}
        for step in range(3):
            file["t"].extend({"x": np.arange(10) + step, "v": [[float(step)]] * 10})
    file = sapwood.open(memory)
    assert file.keys() == ["t;1"] and file["t"].num_entries == 1030
    assert file["t/x"].array().tolist() == [*range(1000), *range(10), *range(1, 11), *range(2, 12)]
    assert file["t/v"].array()[-1].tolist() == [2.0] and not sapwood.verify(memory.getvalue()).damaged


def test_streamers_are_those_of_the_file(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["h"] = np.histogram([1, 2], bins=2)
    with uproot.open(tmp_path / "a.root") as theirs, sapwood.open(tmp_path / "a.root") as ours:
        assert set(ours.streamers) == set(theirs.file.streamers) and "TTree" not in ours.streamers


def test_branches_and_trees_are_contexts_with_members(numbers: Path) -> None:
    with sapwood.open({numbers: "t/x"}) as branch, uproot.open({numbers: "t/x"}) as theirs:
        assert branch.array().tolist() == [1, 2] and not branch.closed
        for name in ("fName", "fTitle", "fCompress", "fBasketSize", "fEntries", "fTotBytes"):
            assert branch.member(name) == theirs.member(name)
        assert branch.member("fLeaves")[0].member("fLen") == 1 and branch.has_member("fIOFeatures")
        assert (
            branch.member("no", none_if_missing=True) is None and branch.base("TNamed").member("fName") == "x"
        )
        tree, their_tree = branch.tree, theirs.tree
        assert tree.member("fEntries") == 2 and set(their_tree.member_names) <= set(tree.member_names) | {
            "@fUserInfo"
        }
        for name in ("compressed_bytes", "uncompressed_bytes", "compression_ratio"):
            assert getattr(tree, name) == pytest.approx(getattr(their_tree, name))
        assert tree.parent is tree.file and branch.file is tree.file
        with pytest.raises(KeyError, match="nearest: 'fBasketSize'"):
            branch.member("fBasketSized")
    assert branch.closed and tree.closed


def test_elements_of_numpy_arrays_have_the_methods_of_containers(tmp_path: Path) -> None:
    import dataclasses

    @dataclasses.dataclass
    class Hit:
        x: float
        ids: list[int]

    memory = io.BytesIO()
    rows = {
        "names": [["a", "b"], []],
        "nested": [[[1.5], []], []],
        "hit": [Hit(1.5, [1, 2]), Hit(2.5, [])],
        "counts": [{"one": 1, "two": 2}, {}],
        "seen": [{3, 1}, set()],
        "hits": [[Hit(0.5, [7])], []],
    }
    types = {
        "names": "vector<string>", "nested": "vector<vector<double>>", "hit": Hit, "hits": list[Hit],
        "counts": dict[str, int], "seen": set[int],
    }  # fmt: skip
    holder = dataclasses.make_dataclass(
        "Holder", [(name, types[name]) for name in ("counts", "seen", "hits")]
    )
    with sapwood.recreate(memory) as file:
        plain = {name: rows[name] for name in ("names", "nested", "hit")}
        held = [holder(*row) for row in zip(rows["counts"], rows["seen"], rows["hits"])]
        made = file.mktree("t", {**{name: types[name] for name in plain}, "h": holder}, split_level=0)
        made.extend({**plain, "h": held})
    tree = sapwood.open(memory)["t"]
    assert [one.tolist() for one in tree["names"].array(library="np")] == rows["names"]
    assert [one.tolist() for one in tree["nested"].array(library="np")] == rows["nested"]
    hit = tree["hit"].array(library="np")[0]
    assert hit.member("x") == 1.5 and hit.member("ids").tolist() == [1, 2] and hit.classname == "Hit"
    assert hit == {"x": 1.5, "ids": hit["ids"]} and hit.tolist() == {"x": 1.5, "ids": [1, 2]}
    with pytest.raises(KeyError, match="nearest: 'x'"):
        hit.member("y")
    first, second = tree["h"].array(library="np")
    counts = first.member("counts")
    assert counts.tolist() == {"one": 1, "two": 2} and counts["two"] == 2 and counts.values().max() == 2
    assert counts.keys().tolist() == ["one", "two"] and list(counts) == [("one", 1), ("two", 2)]
    assert first.member("seen").tolist() == {1, 3} and second.member("seen").tolist() == set()
    assert first.member("hits")[0].member("ids").tolist() == [7]
    assert first.tolist()["hits"] == [{"x": 0.5, "ids": [7]}]
    assert isinstance(counts, sapwood.STLMap) and isinstance(first.member("seen"), sapwood.STLSet)
    import pickle

    assert pickle.loads(pickle.dumps(first)).tolist() == first.tolist()


def test_virtual_arrays_read_what_is_looked_at(numbers: Path) -> None:
    log: list[Any] = []
    with sapwood.open(numbers) as file:
        tree = file["t"]
        virtual = tree.arrays(virtual=True, access_log=log, entry_start=1)
        assert len(virtual) == 1 and log == [] and virtual.fields == tree.arrays().fields
        assert virtual.x.tolist() == [2] and {one.branch for one in log} == {"x"}
        eager = tree.arrays(entry_start=1)
        assert ak.materialize(virtual).tolist() == eager.tolist() and {one.branch for one in log} == set(
            tree.keys()
        )
        for wrong in ({"how": "zip"}, {"library": "np"}, {"cut": "x > 1"}, {"expressions": "x"}):
            with pytest.raises(ValueError, match="'virtual=True'"):
                tree.arrays(virtual=True, **wrong)
        with pytest.raises(ValueError, match="'virtual=False'"):
            tree.arrays(access_log=[])


def test_entries_are_counted_file_by_file(numbers: Path, tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "other.root") as file:
        file["dir/s"] = {"x": [1]}
    counts = sapwood.num_entries({numbers: "t", tmp_path / "other.root": "dir/s"}, threads=1)
    assert next(counts) == (str(numbers), "t", 2)
    assert list(counts) == [(str(tmp_path / "other.root"), "dir/s", 1)]
    with pytest.raises(KeyError):
        list(sapwood.num_entries({numbers: "none"}))


def test_graphs_are_made_from_frames() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0], "y_errors": [0.1, 0.2]})
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        file["g"] = sapwood.as_TGraph(frame, title="points", xAxisLabel="t", minY=0, lineColor=2)
        file["plain"] = sapwood.as_TGraph(frame[["x", "y"]])
        sides = {"x": [1], "y": [2], "y_errors_low": [0.5], "y_errors_high": [0.25]}
        file["sides"] = sapwood.as_TGraph(sides)
    file = sapwood.open(memory)
    assert file.classnames(cycle=False) == {
        "g": "TGraphErrors",
        "plain": "TGraph",
        "sides": "TGraphAsymmErrors",
    }
    assert file["g"].title == "points;t;" and file["g"].errors("mean", "y").tolist() == [0.1, 0.2]
    assert (file["g"].member("fMinimum"), file["g"].member("fLineColor")) == (0, 2)
    assert file["sides"].errors("high", "y").tolist() == [0.25]


def test_directories_that_are_written_have_the_methods_of_files(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        folder = file.mkdir("2026/muons")
        assert (
            folder.path == ("2026", "muons") and folder.file is file and folder.object_path == "/2026/muons/"
        )
        folder.mktree("t", {"x": [1.5]})
        folder.mkdir("deeper")["note"] = "text"
        file["2026"].update({"a": "one"}, b="two")
        assert file["2026"].pop("a") == "one" and "a" not in file["2026"]
        assert sorted(file.keys(filter_classname="TObjString")) == ["2026/b;1", "2026/muons/deeper/note;1"]
        assert [str(value) for value in file["2026/muons"].values(filter_name="*note")] == ["text"]
        assert file.get("nothing") is None
    with sapwood.recreate(tmp_path / "b.root") as file:
        with sapwood.open(tmp_path / "a.root") as source:
            file.mkdir("copy").copy_from(source["2026"], filter_name=["muons/t", "b"], rename={"b": "letter"})
        with pytest.raises(ValueError, match="nothing in .* passes"):
            file.copy_from(tmp_path / "a.root", filter_name="none")
    with uproot.open(tmp_path / "b.root") as file:
        assert sorted(file.keys(recursive=True, cycle=False)) == [
            "copy",
            "copy/letter",
            "copy/muons",
            "copy/muons/t",
        ]
        assert file["copy/muons/t/x"].array().tolist() == [1.5]
    assert sorted(sapwood.open(tmp_path / "a.root").keys(cycle=False)) == [
        "2026", "2026/b", "2026/muons", "2026/muons/deeper", "2026/muons/deeper/note", "2026/muons/t",
    ]  # fmt: skip


def test_entries_of_weighted_histograms(tmp_path: Path) -> None:
    hist = pytest.importorskip("hist")

    def made(**options: Any) -> Any:
        axis = hist.axis.Regular(10, -5, 5)
        return hist.Hist(axis, storage=hist.storage.Weight(), **options).fill(
            [-2, 3, 3, 1, 99], weight=[1, 1, 5, 5, 3]
        )

    profile = hist.Hist(
        hist.axis.Regular(2, 0, 2), storage=hist.storage.WeightedMean(), metadata={"fEntries": 7}
    )
    profile.fill([0.5, 1.5], sample=[1, 2], weight=[2, 3])
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["known"], file["effective"], file["p"] = made(metadata={"fEntries": 5}), made(), profile
        for wrong in (-1, "many", float("nan")):
            with pytest.raises(ValueError, match="a number of fills"):
                file["no"] = made(metadata={"fEntries": wrong})
    with uproot.open(tmp_path / "a.root") as file:
        assert [file[name].member("fEntries") for name in ("known", "p")] == [5, 7]
        assert file["effective"].member("fEntries") == pytest.approx(15**2 / (1 + 1 + 25 + 25 + 9))
        assert file["known"].values().tolist() == file["effective"].values().tolist()


def test_jagged_records_share_a_counter(tmp_path: Path) -> None:
    records = ak.Array([[{"x": 1, "y": 1.1}, {"x": 2, "y": 2.2}], [], [{"x": 3, "y": 3.3}]])
    frame = pd.DataFrame({"x": [1.1, 2.2], "y": [4, 5]})
    with (
        sapwood.recreate(tmp_path / "ours.root") as ours,
        uproot.recreate(tmp_path / "theirs.root") as theirs,
    ):
        for file in (ours, theirs):
            file.mktree("records", records).extend(records)
            file.mktree("framed", {"a": np.array([1, 2]), "b": frame})
        ours["same"] = records
        ours["same"].extend(records)
        ours.mktree("apart", {"x": "var * i4", "y": "var * f8"}).extend(records)
    with uproot.open(tmp_path / "ours.root") as ours, uproot.open(tmp_path / "theirs.root") as theirs:
        for name in ("records", "framed"):
            assert ours[name].typenames() == theirs[name].typenames()
            assert ours[name].arrays().tolist() == theirs[name].arrays().tolist()
        assert ours["same"].keys() == ["n", "x", "y"] and ours["same"].num_entries == 6
        assert ours["apart"].keys() == ["nx", "x", "ny", "y"]


def test_paths_may_bring_options_and_cycles(numbers: Path) -> None:
    class Somewhere:
        def __init__(self, url: str, **options: Any) -> None:
            self.url, self.storage_options = url, options

        def __str__(self) -> str:
            return self.url

    fsspec = pytest.importorskip("fsspec")
    fsspec.filesystem("memory").pipe_file("/options.root", numbers.read_bytes())
    for place in (
        Somewhere(str(numbers), headers={"A": "b"}),
        Somewhere("memory://options.root", skip_instance_cache=True),
    ):
        assert sapwood.open(place)["t"].num_entries == 2
        assert len(sapwood.concatenate(place, "x")) == 2
    with sapwood.recreate(Somewhere("memory://written.root")) as file:
        file["dir/t"] = {"x": [1]}
    file = sapwood.open("memory://written.root")
    assert file["dir;1"].path == ("dir",) and file["dir;1"]["t"].num_entries == 1
    assert file["dir/t"]["/x/"].name == "x"


def test_objects_know_the_path_of_their_file(tmp_path: Path) -> None:
    import copy
    import pickle

    with sapwood.recreate(tmp_path / "a.root") as file:
        file["h"], file["l"] = np.histogram([1], bins=2), [sapwood.objects.text("item")]
    with sapwood.open(tmp_path / "a.root") as file:
        found, listed = file["h"], file["l"]
    for one in (found, listed[0], copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert one.file.file_path == str(tmp_path / "a.root")
    assert found.axis().file is None


def test_files_with_trees_are_closed_with_their_last_reference(tmp_path: Path) -> None:
    file = sapwood.recreate(tmp_path / "a.root")
    file["t"] = {"x": [1]}
    file["t"].extend({"x": [2]})
    tree = file["t"]
    with pytest.warns(ResourceWarning, match="never closed"):
        del file  # without a collection of cycles
    assert tree.closed and tree.file is None
    assert sapwood.open(tmp_path / "a.root")["t/x"].array().tolist() == [1, 2]


def test_many_trees_take_no_memory_for_later() -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        for number in range(50):
            file[f"t{number}"] = {"x": [number]}
        assert all(tree.is_resting for tree in file._trees)
        file["t7"].extend({"x": [70]})
        assert sum(not tree.is_resting for tree in file._trees) == 1 and len(file) == 50
    assert sapwood.open(memory)["t7/x"].array().tolist() == [7, 70]


def test_members_of_the_class_alone_and_of_its_bases(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["h"] = np.histogram([1], bins=2)
    with sapwood.open(tmp_path / "a.root") as ours, uproot.open(tmp_path / "a.root") as theirs:
        for file in (ours, theirs):
            histogram = file["h"]
            assert histogram.member("fName") == "h" and histogram.has_member("fName")
            assert not histogram.has_member("fName", all=False) and histogram.base(
                "TH1" if file is ours else uproot.Model
            )
            assert histogram.member("fName", all=False, none_if_missing=True) is None
            with pytest.raises(KeyError):
                histogram.member("fName", False)


def test_keys_and_directories_say_where_they_are(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["one/two/t"] = {"x": np.zeros(10000)}
        file["one/note"] = sapwood.objects.named("a title")
    with sapwood.open(tmp_path / "a.root") as file:
        inner = file["one/two"]
        assert inner.parent.path == ("one",) and inner.parent.parent is file and file.parent is None
        assert inner.root_directory is file and file.title_of("one/note") == "a title"
        key = file["one"].key("two/t")
        assert key.parent.path == ("one",) and key.file is file and key.is_compressed
        assert isinstance(file, sapwood.ReadOnlyFile) and isinstance(file["one/two/t"], sapwood.TTree)


def test_names_lead_to_the_newest_object(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "other.root") as file:
        file["t"] = {"z": [9]}
    path = tmp_path / "a.root"
    with sapwood.recreate(path) as file:
        file["t"] = {"x": [1]}
        file["t"].extend({"x": [2]})
        del file["t;1"]
        assert "t" not in file
        with pytest.raises(KeyError):
            file["t"]
        file["t"], file["u"] = {"x": [1]}, {"x": [3]}
        file.copy(tmp_path / "other.root", "t")
        assert file["t"].arrays().tolist() == [{"z": 9}] and file["t;1"].arrays().tolist() == [{"x": 1}]
        file["u"] = "text"
        assert str(file["u"]) == "text"
    with sapwood.update(path) as file:
        del file["t;1"]
        file.rename("t", "moved")
        assert file["moved"].arrays().tolist() == [{"z": 9}] and sorted(file.keys(cycle=False)) == [
            "moved",
            "u",
        ]


def test_files_are_named_by_keywords(tmp_path: Path) -> None:
    path = tmp_path / "a.root"
    for make in (sapwood.recreate, sapwood.update):
        with make(file_path=path) as file:
            file["note"] = make.__name__
    with sapwood.open(path=path) as file:
        assert sorted(file.keys()) == ["note;1", "note;2"] and str(file["note"]) == "update"
    with pytest.raises(FileExistsError):
        sapwood.create(file_path=path)


def test_many_threads_open_a_tree_once(numbers: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    row = {"i1": [1], "x": [1.0], "v": [[5]]}
    with sapwood.update(numbers) as file:
        tree = file["t"]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: file["t"].extend(row), range(40)))
        assert tree.num_entries == 42 and file["t"] is file["t;1"] is tree
        tree.close()
        for use in (lambda: tree.extend(row), lambda: setattr(tree, "compression", "lz4")):
            with pytest.raises(ValueError, match="closed"):
                use()
    assert sapwood.open(numbers)["t"].num_entries == 42


def test_forms_stand_for_types(tmp_path: Path) -> None:
    data = ak.Array([{"x": 1.5, "v": [1, 2], "s": "a"}, {"x": 2.5, "v": [], "s": "bc"}])
    for form in (data.layout.form, data[[1, 0]].layout.form):
        with sapwood.recreate(tmp_path / "a.root") as file:
            file.mkrntuple("n", form).extend(data)
            file.mktree("t", form).extend(data)
            file["empty"] = form
            file.mkrntuple("shaped", {"a": ("i4", (2,))}).extend({"a": np.arange(6).reshape(3, 2)})
        with sapwood.open(tmp_path / "a.root") as file:
            assert file["n"].arrays().to_list() == data.to_list()
            assert file["t"].arrays(["x", "v", "s"]).to_list() == data.to_list()
            assert file["empty"].num_entries == 0 and {"x", "v", "s"} <= set(file["empty"].keys())
            assert file["shaped"].arrays()["a"].to_list() == [[0, 1], [2, 3], [4, 5]]


def test_branches_are_read_into_arrays_that_are_there(numbers: Path) -> None:
    with sapwood.open(numbers)["t"] as tree:
        room = np.zeros(5)
        found = tree["x"].array(tree["x"].interpretation.inplace(room), library="np")
        wanted = tree["x"].array(library="np")
        assert (
            found.base is room
            and room[: len(wanted)].tolist() == wanted.tolist()
            and not room[len(wanted) :].any()
        )
        room[:] = 0
        tree.arrays({"x": tree["x"].interpretation.inplace(room)}, library="np")
        assert room[: len(wanted)].tolist() == wanted.tolist()
        with pytest.raises(TypeError, match="cannot be read into an array of"):
            tree["x"].interpretation.inplace(np.zeros(5, "i4"))
        with pytest.raises(TypeError, match="cannot be read into"):
            tree["v"].interpretation.inplace(room)
        with pytest.raises(sapwood.errors.MismatchError, match="do not fit"):
            tree["x"].array(tree["x"].interpretation.inplace(np.zeros(1)))


def test_interpretations_have_their_classes(numbers: Path) -> None:
    with sapwood.open(numbers)["t"] as tree:
        assert isinstance(tree["x"].interpretation, sapwood.AsDtype)
        assert isinstance(tree["v"].interpretation, sapwood.AsJagged)
        assert tree["v"].interpretation.awkward_form(tree.file).type == tree["v"].array().layout.form.type
        assert tree["x"].cache_key == f"{tree.file.hex_uuid}:/t;1:x({tree['x'].index})"


def test_what_only_tunes_uproot_is_taken_without_a_word(
    numbers: Path, recwarn: pytest.WarningsRecorder
) -> None:
    with sapwood.open(
        numbers, handler=None, num_workers=3, use_threads=False, object_cache=None, array_cache=100
    ) as file:
        assert file["t"].num_entries == 2
    assert [str(one.message) for one in recwarn] == []


def test_classes_know_what_they_are_made_of(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["h"] = np.histogram([1, 2], bins=3)
    with sapwood.open(tmp_path / "a.root") as file:
        needed = file.streamer_dependencies("TH1D")
        assert needed[-1] == ("TH1D", file.streamer_named("TH1D").class_version)
        names = [name for name, _ in needed]
        assert names.index("TObject") < names.index("TNamed") < names.index("TH1") < names.index("TH1D")
        assert len(set(names)) == len(names) and {"TAxis", "TArrayD"} <= set(names)
        described = json.loads(json.dumps(file.streamer_named("TAxis").tojson()))
        assert described["fName"] == "TAxis" and described["fElements"][0]["fName"] == "TNamed"
        with pytest.raises(KeyError, match="Nope"):
            file.streamer_dependencies("Nope")


def test_keys_know_when_they_were_written(tmp_path: Path) -> None:
    with uproot.recreate(tmp_path / "a.root") as file:
        file["note"] = "text"
    ours, theirs = (of.open(tmp_path / "a.root").key("note") for of in (sapwood, uproot))
    assert ours.created_on == theirs.created_on
