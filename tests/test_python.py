"""The Python package on files that uproot wrote for it: mappings, values, steps, several files."""

from __future__ import annotations

import dataclasses
import io
import struct
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")
uproot = pytest.importorskip("uproot")
ak = pytest.importorskip("awkward")

from support.samples import ENTRIES, write  # noqa: E402

# ---- opening


def test_a_file_opens_from_everything_that_holds_one(path: str) -> None:
    raw = Path(path).read_bytes()
    names = sapwood.open(path).keys()
    for source in (
        Path(path),
        raw,
        bytearray(raw),
        memoryview(raw),
        io.BytesIO(raw),
        [path],
        path.replace("events", "ev*"),
    ):
        assert sapwood.open(source).keys() == names
    with open(path, "rb") as handle:
        assert sapwood.open(handle).keys() == names
    for source in (f"{path}:folder/tree", {path: "folder/tree"}, {Path(path): "folder/tree;1"}):
        assert sapwood.open(source).num_entries == ENTRIES


def test_what_is_missing_says_what_is_near(path: str) -> None:
    with pytest.raises(FileNotFoundError, match="events.root"):
        sapwood.open(path.replace("events.root", "event.root"))
    file = sapwood.open(path)
    with pytest.raises(KeyError, match="folder") as caught:
        file["foldr"]
    assert caught.value.file == path
    with pytest.raises(KeyError, match="Muon_pt"):
        file["folder/tree"]["Muon_p"]
    for missing in (
        lambda: file["folder/tree"].arrays("Muon_p + 1"),
        lambda: file["folder/tree"].arrays("Muon_p"),
    ):
        with pytest.raises(KeyError, match="Muon_pt") as lost:
            missing()
        assert (lost.value.file, lost.value.object) == (path, "/folder/tree;1") and path in str(lost.value)
    with pytest.raises(KeyError, match="fTitle"):
        file["h"].member("fTitel")
    with pytest.raises(sapwood.errors.MalformedError):
        sapwood.open(b"this is no ROOT file" * 100)
    for error in (caught.value,):
        assert isinstance(error, sapwood.SapwoodError)


@pytest.mark.parametrize("url", ["gcs://bucket/a.root:t", "gs://bucket/a*.root"])
def test_remote_files_of_other_kinds_say_not_yet(url: str) -> None:
    for use in (sapwood.open, sapwood.iterate, sapwood.concatenate):
        for files in (url, {url: "t"}):
            with pytest.raises(NotImplementedError, match="fsspec") as caught:
                use(files)
            assert caught.value.file.startswith(url.split("//")[0])


def test_a_file_url_is_a_path(path: str) -> None:
    assert sapwood.open(f"file://{path}:other").num_entries == 5


@pytest.mark.parametrize(
    "options",
    [{"threads": -1}, {"threads": 1025}, {"threads": 2**70}, {"object_limit": -1}, {"answer_limit": 2**64}],
)
def test_options_are_checked(path: str, options: dict[str, Any]) -> None:
    for use in (sapwood.open, sapwood.iterate, sapwood.concatenate):
        with pytest.raises(ValueError, match=next(iter(options))):
            use({path: "other"}, **options)
        with pytest.raises(TypeError, match=next(iter(options))):
            use({path: "other"}, **{name: "many" for name in options})
    with pytest.raises(ValueError, match="threads"):
        sapwood.recreate(io.BytesIO(), threads=20_000)


def test_with_closes_the_file_and_its_trees(path: str) -> None:
    with sapwood.open(path) as file:
        tree, branch, h = file["folder/tree"], file["folder/tree/x"], file["h"]
        array = branch.array()
        assert not file.closed
    assert file.closed
    for use in (
        lambda: file["h"],
        lambda: file.keys(),
        lambda: tree.arrays("x"),
        lambda: tree.num_entries,
        lambda: branch.array(),
    ):
        with pytest.raises(OSError, match="events.root is closed"):
            use()
    assert len(array) == ENTRIES and len(h.values()) == 20
    assert "closed" in repr(tree) and "closed" in repr(branch)
    file.close()
    with sapwood.open({path: "folder/tree"}) as tree:
        pass
    with pytest.raises(OSError, match="closed"):
        tree.arrays("x")


# ---- mappings


def test_directories_are_mappings_as_in_uproot(path: str) -> None:
    ours, theirs = sapwood.open(path), uproot.open(path)
    for options in (
        {},
        {"recursive": False},
        {"cycle": False},
        {"filter_name": "*t*"},
        {"filter_name": "/fold.*/"},
        {"filter_classname": "TTree"},
        {"filter_classname": ["TH1D", "TTree"]},
        {"filter_name": lambda name: "a" in name},
    ):
        assert ours.keys(**options) == theirs.keys(**options)
        assert ours.classnames(**options) == theirs.classnames(**options)
        assert list(ours.iterkeys(**options)) == ours.keys(**options)
    assert len(ours) == len(theirs) and list(ours) == list(theirs)
    assert "folder/tree" in ours and "h;1" in ours and "h;7" not in ours and 3 not in ours
    assert ours.classname_of("folder/tree") == "TTree" and ours.get("nothing") is None
    assert ours["folder"].keys() == theirs["folder"].keys() and ours["folder/tree:x"].name == "x"
    assert ours["folder/tree/x"].name == "x" and ours["folder"]["text"] == "hello"
    assert [key for key, _ in ours.items(recursive=False)] == ours.keys(recursive=False)
    key, other = ours.key("folder/tree"), theirs.key("folder/tree")
    for name in ("fName", "fCycle", "fClassName", "fSeekKey", "fNbytes", "fObjlen", "fKeylen", "object_path"):
        assert getattr(key, name) == getattr(other, name)
    assert key.get() is ours["folder/tree"]


def test_an_object_is_looked_up_once(path: str) -> None:
    file = sapwood.open(path)
    core, asked = file._core, []

    class Spy:
        def __getattr__(self, name: str) -> Any:
            asked.append(name)
            return getattr(core, name)

    file._core = Spy()
    assert file["h"].name == "h" and asked == ["key", "holds_tree", "object"]
    asked.clear()
    assert len(file.items(recursive=False, filter_classname=["TH1D", "TObjString"])) == 1
    assert asked == ["keys", "holds_tree", "object"]
    asked.clear()
    assert file["folder/tree"] is not None and asked == ["key", "tree"]


def test_a_name_may_end_like_a_cycle(tmp_path: Path) -> None:
    place = tmp_path / "names.root"
    with uproot.recreate(place, compression=None) as file:
        file["x_3"] = "text"
        write(file, "t_3", {"a": np.arange(3)})
    file = sapwood.open(place.read_bytes().replace(b"x_3", b"x;3").replace(b"\x03t_3", b"\x03t;3"))
    assert file.keys() == ["x;3;1", "t;3;1"]
    assert file["x;3;1"] == file.key("x;3;1").get() == dict(file.items())["x;3;1"] == "text"
    assert file.key("x;3;1").object_path == "/x;3;1" and file["t;3;1"].object_path == "/t;3;1"


def test_bytes_are_shared(path: str) -> None:
    raw = Path(path).read_bytes()
    before = sys.getrefcount(raw)
    file = sapwood.open(raw)
    assert sys.getrefcount(raw) == before + 1
    del file
    # A thread lets go of them, and the next call of the engine counts that.
    for _ in range(500):
        sapwood.open(path)
        if sys.getrefcount(raw) == before:
            break
        time.sleep(0.01)
    assert sys.getrefcount(raw) == before


def test_files_tell_what_they_are(path: str) -> None:
    ours, theirs = sapwood.open(path), uproot.open(path).file
    assert ours.file_path == path and ours.root_version == theirs.root_version
    assert ours.hex_uuid == theirs.hex_uuid and ours.uuid == theirs.uuid
    for name in ("fVersion", "fBEGIN", "fEND", "fCompress", "fSeekInfo", "nfree"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert (ours.compression.name, ours.compression.level) == (
        theirs.compression.name,
        theirs.compression.level,
    )
    assert set(ours.streamers) == set(theirs.streamers)
    assert ours.streamer_named("TAxis").member_names == [
        e.name for e in theirs.streamer_named("TAxis").elements if not e.typename == "BASE"
    ]
    out = io.StringIO()
    ours.show_streamers("TAxis", stream=out)
    assert "fNbins: int" in out.getvalue()
    assert ours.is_64bit is False
    rows = ours._file.records()
    assert {"seek", "nbytes", "objlen", "keylen", "cycle", "class", "name"} <= set(rows[0])


def test_a_header_with_wide_places(path: str) -> None:
    raw = Path(path).read_bytes()
    version, *places = struct.unpack(">6i", raw[4:28])
    rest = struct.unpack(">iBiii18s", raw[28:63])
    begin, end, free, *counts = places
    wide = struct.pack(">iiqqii", version + 1_000_000, begin, end, free, *counts)
    wide += struct.pack(">iBiqi18s", *rest[:1], 8, *rest[2:])
    file = sapwood.open(raw[:4] + wide.ljust(begin - 4, b"\0") + raw[begin:])
    assert file.is_64bit and file.fUnits == 8 and file["other"].num_entries == 5
    assert file.root_version == sapwood.open(path).root_version


def test_trees_are_mappings_as_in_uproot(tree: Any, theirs: Any) -> None:
    for options in (
        {},
        {"recursive": False},
        {"full_paths": False},
        {"filter_name": "Muon_*"},
        {"filter_name": ["x", "/.*pt/"]},
        {"filter_typename": "float[]"},
        {"filter_branch": lambda branch: branch.num_entries > 0},
    ):
        assert tree.keys(**options) == theirs.keys(**options)
        assert tree.typenames(**options) == theirs.typenames(**options)
        assert [name for name, _ in tree.iteritems(**options)] == tree.keys(**options)
    assert len(tree) == len(theirs) and "Muon_pt" in tree and "Muon_xy" not in tree
    assert (tree.name, tree.title, tree.num_entries) == (theirs.name, theirs.title, theirs.num_entries)
    assert tree[0].name == theirs[0].name and tree["/x"].name == "x" and tree.get("nothing", 3) == 3
    assert (
        tree["x"] == tree["x"]
        and tree["x"].parent is tree
        and tree["Muon_pt"].index == tree.keys().index("Muon_pt")
    )
    for name in ("x/", "//x", "/", "x//x", "nothing/x"):
        assert name not in tree
        with pytest.raises(KeyError, match="no branch"):
            tree[name]
    out, expected = io.StringIO(), io.StringIO()
    tree.show(stream=out)
    theirs.show(stream=expected)
    assert out.getvalue() == expected.getvalue()


@pytest.mark.parametrize(
    "filters",
    [
        ["x", "Muon_pt"],
        ["Muon_pt", "x", "nothing"],
        ["Muon_*", "/N.*/i", "x", "x"],
        [lambda branch: branch == "x", "Muon_pt"],
        [],
    ],
)
def test_several_filters_pass_what_one_of_them_does(tree: Any, theirs: Any, filters: list[Any]) -> None:
    assert tree.keys(filter_name=filters) == theirs.keys(filter_name=filters)
    assert tree.keys(filter_name=iter(filters)) == theirs.keys(filter_name=filters)


@dataclasses.dataclass
class Hit:
    """Its second member is a branch of the name ``at[3]``."""

    charge: float
    at: Annotated[float, 3]


def test_a_name_with_brackets_is_its_own_filter(tmp_path: Path) -> None:
    place = tmp_path / "brackets.root"
    with sapwood.recreate(place) as file:
        hits = file.mktree("t", {"hit": Hit})
        hits.extend({"hit": [Hit(0.5, [1, 2, 3])]})
    tree = sapwood.open(place)["t"]
    name = "hit/at[3]"
    assert name in tree.keys()
    assert tree.keys(filter_name=name) == tree.keys(filter_name=[name, "hit/at[2]"]) == [name]
    assert tree.keys(filter_name="hit/at[2]") == []
    assert tree.rows(columns=[name])[0][name].tolist() == [1, 2, 3]
    sapwood.skim(f"{place}:t", tmp_path / "out.root", filter_name=[name])
    skimmed = sapwood.open(tmp_path / "out.root")["t"]
    assert [skimmed[key].array().tolist() for key in skimmed.keys()] == [[[1, 2, 3]]]


@pytest.mark.parametrize("filter", ["/(/", "/x/L", "/x(?au)/", "/[/i"])
def test_a_bad_regular_expression_is_named(tree: Any, filter: str) -> None:
    with pytest.raises(ValueError, match="filter") as caught:
        tree.keys(filter_name=filter)
    assert filter in str(caught.value)


def test_branches_tell_what_uproot_tells(tree: Any, theirs: Any) -> None:
    for name in tree.keys():
        ours, other = tree[name], theirs[name]
        assert ours.typename == other.typename and repr(ours.interpretation) == repr(other.interpretation)
        for fact in ("num_entries", "num_baskets", "compressed_bytes", "uncompressed_bytes", "title"):
            assert getattr(ours, fact) == getattr(other, fact), fact
        assert ours.entry_offsets == list(other.entry_offsets)
        assert ours.basket_entry_start_stop(1) == tuple(other.basket_entry_start_stop(1))
        assert ours.basket_compressed_bytes(1) == other.basket_compressed_bytes(1)
    assert tree["Muon_pt"].count_branch.name == "nMuon" and tree["x"].count_branch is None
    assert tree.common_entry_offsets() == list(theirs.common_entry_offsets())
    with pytest.raises(IndexError):
        tree["x"].basket_entry_start_stop(99)


# ---- values


@pytest.mark.parametrize("library", ["ak", "np", "pd"])
def test_values_are_those_of_uproot(tree: Any, theirs: Any, library: str) -> None:
    pytest.importorskip({"ak": "awkward", "np": "numpy", "pd": "pandas"}[library])
    names = ["i", "x", "flag"] + (["xyz", "Muon_pt"] if library != "pd" else [])
    for start, stop in ((None, None), (5, 7), (150, -100), (-3, None), (7, 7), (2000, None)):
        ours = tree.arrays(names, entry_start=start, entry_stop=stop, library=library)
        other = theirs.arrays(names, entry_start=start, entry_stop=stop, library=library)
        if library == "ak":
            assert ours.type == other.type and ak.array_equal(ours, other)
        elif library == "np":
            assert list(ours) == list(other)
            for name in names:
                assert ours[name].dtype == other[name].dtype and len(ours[name]) == len(other[name])
                assert all(np.array_equal(a, b) for a, b in zip(ours[name], other[name]))
        else:
            assert ours.equals(other) and ours.index.equals(other.index)


def test_how_to_put_fields_together(tree: Any, theirs: Any) -> None:
    names = ["x", "nMuon", "Muon_pt", "Muon_charge"]
    for how in (tuple, list, dict):
        ours, other = tree.arrays(names, how=how), theirs.arrays(names, how=how)
        assert type(ours) is how and len(ours) == len(other)
    zipped, expected = tree.arrays(names, how="zip"), theirs.arrays(names, how="zip")
    assert zipped.type == expected.type and ak.array_equal(zipped, expected)
    records = tree.arrays(names, how="records")
    assert records.fields == ["x", "nMuon", "Muon"] and records.Muon.fields == ["pt", "charge"]
    assert ak.array_equal(records.Muon.pt, tree["Muon_pt"].array())
    with pytest.raises(TypeError):
        tree.arrays(names, how="heap")
    with pytest.raises(ValueError, match="'ak'"):
        tree.arrays(names, library="abacus")


def test_what_only_uproot_can_set_is_ignored_aloud(path: str, tree: Any) -> None:
    files = {path: "folder/tree"}
    for use in (
        lambda **options: sapwood.open(files, **options).arrays("x"),
        lambda **options: tree.arrays("x", **options),
        lambda **options: tree["x"].array(**options),
        lambda **options: next(tree.iterate("x", **options)),
        lambda **options: next(sapwood.iterate(files, "x", **options)),
        lambda **options: sapwood.concatenate(files, "x", **options),
    ):
        with pytest.warns(sapwood.UnusedArgument, match="no use for decompression_executor=:") as caught:
            assert len(use(array_cache=None, decompression_executor=None)) == ENTRIES
        assert caught[0].filename == __file__
        with pytest.raises(TypeError, match="'library_'"):
            use(library_="np")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sapwood.open(path, custom_classes=dict(sapwood.classes)).close()
    with pytest.warns(sapwood.UnusedArgument, match="custom_classes="):
        sapwood.open(path, custom_classes={"Event": object}).close()


def test_entries_as_slices_ranges_masks_and_numbers(tree: Any) -> None:
    x = np.asarray(tree["x"].array())
    mask = np.zeros(ENTRIES, bool)
    mask[[3, 4, 555, 998]] = True
    for entries, expected in (
        (slice(10, 20), x[10:20]),
        (slice(None, None, 300), x[::300]),
        ([(0, 3), (990, 2000)], np.concatenate((x[:3], x[990:]))),
        (mask, x[mask]),
        ([7, 3, 3, -1], x[[7, 3, 3, -1]]),
        (range(0, 10, 3), x[0:10:3]),
        ([], x[:0]),
        (np.zeros(ENTRIES, bool), x[:0]),
        ([[5, 8], [2, 3]], x[[5, 6, 7, 2]]),
        (np.array([[5, 8], [950, 952]]), x[[5, 6, 7, 950, 951]]),
    ):
        assert np.array_equal(tree["x"].array(entries=entries, library="np"), expected)
        assert np.array_equal(tree.arrays("x", entries=entries).x, expected)
    assert np.array_equal(tree["x"].array(entries=mask[100:], entry_start=100, library="np"), x[mask][2:])
    pt = tree["Muon_pt"].array()
    assert tree["Muon_pt"].array(entries=mask).to_list() == pt[mask].to_list()
    # What can be walked only once is walked once.
    assert np.array_equal(
        tree.arrays("x", entries=zip((0, 990), (3, 2000))).x, np.concatenate((x[:3], x[990:]))
    )
    assert np.array_equal(tree.arrays("x", entries=(number for number in (7, 3))).x, x[[7, 3]])
    assert len(tree.arrays("x", entries=iter(()))) == 0
    with pytest.raises(IndexError):
        tree["x"].array(entries=[ENTRIES])
    with pytest.raises(ValueError, match="mask"):
        tree["x"].array(entries=[True, False])


def test_any_entries_are_one_call_of_the_engine(tree: Any) -> None:
    asked: list[tuple[list[str], int, int, Any]] = []
    core = tree._core

    class Spy:
        def __getattr__(self, name: str) -> Any:
            return getattr(core, name)

        def columns(self, ids: list[int], start: int, stop: int, entries: Any, progress: Any) -> Any:
            wanted = None if entries is None else np.asarray(entries).tolist()
            asked.append(([tree._branch(id).name for id in ids], start, stop, wanted))
            return core.columns(ids, start, stop, entries, progress)

    tree._engine = Spy()
    try:
        tree.arrays("x", entries=[3, 850])
        assert asked == [(["x"], 3, 851, [3, 850])]
        asked.clear()
        tree.arrays(["x", "Muon_pt"], entries=[850, 3, 850], progress=True)
        assert asked == [(["x", "Muon_pt"], 3, 851, [3, 850])]
    finally:
        tree._engine = core


def test_only_baskets_with_wanted_entries_are_read(tree: Any) -> None:
    def baskets(entries: Any) -> int:
        with tree.perf as perf:
            tree["x"].array(entries=entries)
        return sum(read.used_bytes for read in perf.reads) // 865

    # Baskets of 100 entries, each of 865 bytes.
    assert tree["x"].num_baskets == 10
    assert baskets(None) == 10
    assert baskets([3, 850]) == 2
    assert baskets(slice(5, None, 300)) == 4
    # Nearly all entries are wanted, and still not the basket between.
    assert baskets([(0, 300), (400, 650), (700, 1000)]) == 9
    mask = np.ones(ENTRIES, bool)
    mask[300:400] = False
    assert baskets(mask) == 9


# ---- expressions


def test_huge_powers_end(tree: Any) -> None:
    began = time.monotonic()
    for text in ("(9**9)**9", "((9**9)**9)**9", "2.0**64 * 2**64", "(0-9)**(9**9)"):
        assert tree.arrays(text, entry_stop=1, library="np")[text].dtype == "float64"
    assert tree.arrays("2**10 + 1", entry_stop=1, library="np")["2**10 + 1"].tolist() == [1025]
    assert time.monotonic() - began < 1


def test_a_cut_reads_only_baskets_that_hold_what_passes(tree: Any) -> None:
    def baskets(*what: Any) -> int:
        """Reads of single baskets of x: those of i are side by side."""
        with tree.perf as perf:
            tree.arrays(*what)
        return sum(1 for read in perf.reads if read.stop - read.start == 868)

    assert baskets(["x"], "(i == 5) | (i == 777) | (i == 778)") == 2
    assert baskets(["x"], "i == 5") == 1
    assert baskets(["x"], "i < 0 - 5") == 0


# ---- steps and several files


def test_steps(tree: Any, theirs: Any) -> None:
    steps = list(tree.iterate(["x", "Muon_pt"], step_size=130, report=True))
    expected = list(theirs.iterate(["x", "Muon_pt"], step_size=130, report=True))
    assert [(report.start, report.stop) for _, report in steps] == [(r.start, r.stop) for _, r in expected]
    assert all(ak.array_equal(a, b) for (a, _), (b, _) in zip(steps, expected))
    whole = tree.arrays(["x"], "x > 0")
    assert ak.array_equal(ak.concatenate(list(tree.iterate(["x"], "x > 0", step_size="10 kB"))), whole)
    # Steps of bytes end where clusters end, where one fits.
    steps = [report for _, report in tree.iterate(["x"], step_size="3 kB", report=True)]
    borders = {stop for _, stop in tree.clusters} | {ENTRIES}
    assert len(tree.clusters) == 1 or all(report.stop in borders for report in steps)
    assert list(tree.iterate("x", entry_start=5, entry_stop=5)) == []
    assert tree.num_entries_for("1 kB", ["x"]) == pytest.approx(
        theirs.num_entries_for("1 kB", ["x"]), rel=0.2
    )
    with pytest.raises(TypeError):
        list(tree.iterate(step_size="100 parsecs"))


def test_a_step_is_read_ahead_and_no_more(tree: Any) -> None:
    from sapwood._tree.iteration import ahead

    made: list[int] = []

    def read(number: int) -> int:
        made.append(number)
        return number

    for number in ahead(iter(range(10)), read):
        time.sleep(0.02)
        assert len(made) <= number + 2
        if number == 3:
            break
    time.sleep(0.05)
    assert len(made) <= 6 and threading.active_count() < 20
    with pytest.raises(ZeroDivisionError):
        list(ahead(iter((1, 0)), lambda number: 1 // number))
    # What was read before a step that cannot be made still comes first.
    seen = []
    with pytest.raises(ZeroDivisionError):
        seen.extend(ahead((1 // number for number in (1, 0)), lambda number: number))
    assert seen == [1]


def test_steps_are_made_when_they_are_asked_for(tree: Any) -> None:
    from sapwood._read import reading
    from sapwood._tree import iteration

    plan = reading.Plan(tree, "x")
    # A file may claim any number of entries.
    steps = iteration.steps(plan, 0, 2**62, 3)
    assert [next(steps), next(steps)] == [(0, 3), (3, 6)]
    assert list(iteration.steps(plan, 5, 5, 3)) == []


@pytest.mark.parametrize("size", [0, -3, "0 MB", "0.2 B"])
def test_bad_steps_are_refused_at_the_call(path: str, tree: Any, size: Any) -> None:
    with pytest.raises(ValueError, match="step_size"):
        tree.iterate("x", step_size=size)
    with pytest.raises(ValueError, match="step_size"):
        sapwood.iterate({path: "folder/tree"}, "x", step_size=size)
    for options in ({"library": "abacus"}, {"filter_name": "/(/"}):
        with pytest.raises(ValueError):
            sapwood.iterate({path: "folder/tree"}, **options)


@pytest.fixture(scope="session")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("several")
    for number in range(3):
        with uproot.recreate(folder / f"part{number}.root") as file:
            write(
                file,
                "t",
                {"n": np.arange(10) + 10 * number, "v": ak.Array([[1.0] * (i % 3) for i in range(10)])},
            )
    with uproot.recreate(folder / "empty.root") as file:
        file["nothing"] = "here"
    return folder


def test_several_files(several: Path) -> None:
    parts = [f"{several}/part{number}.root:t" for number in range(3)]
    for files in (
        f"{several}/part*.root:t",
        parts,
        {f"{several}/part*.root": "t"},
        {Path(several) / "part*.root": "t"},
        f"{several}/part{{0,1,2}}.root:t",
        [f"{several}/part*.root"],
        [sapwood.open(part) for part in parts],
    ):
        assert sapwood.concatenate(files, "n").n.to_list() == list(range(30))
    assert sapwood.concatenate(parts, "n", entry_start=8, entry_stop=-8).n.to_list() == list(range(8, 22))
    assert (
        sapwood.concatenate(parts, ["v"], "n > 27").to_list()
        == uproot.concatenate(parts, ["v"], "n > 27").to_list()
    )
    assert sapwood.concatenate(parts, "n", library="np")["n"].tolist() == list(range(30))
    assert sapwood.concatenate(parts, "n", how=tuple)[0].to_list() == list(range(30))
    rows = list(sapwood.iterate(parts, "n", step_size=7, report=True))
    expected = list(uproot.iterate(parts, "n", step_size=7, report=True))
    assert [(r.start, r.stop, r.tree_entry_start) for _, r in rows] == [
        (r.start, r.stop, r.tree_entry_start) for _, r in expected
    ]
    ranges = {parts[0][:-2]: {"object_path": "t", "steps": [[2, 4], [8, 9]]}, parts[1][:-2]: "t"}
    assert sapwood.concatenate(ranges, "n").n.to_list() == [2, 3, 8, *range(10, 20)]
    pandas = pytest.importorskip("pandas")
    frame = pandas.concat(sapwood.iterate(parts, "n", step_size=7, library="pd"))
    assert frame.index.tolist() == frame.n.tolist() == list(range(30))


def test_missing_trees_and_files(several: Path) -> None:
    files = {f"{several}/*.root": "t"}
    with pytest.raises(KeyError):
        sapwood.concatenate(files, "n")
    assert len(sapwood.concatenate(files, "n", allow_missing=True)) == 30
    assert sum(len(part) for part in sapwood.iterate(files, "n", allow_missing=True)) == 30
    with pytest.raises(FileNotFoundError):
        sapwood.concatenate(f"{several}/nothing*.root:t")
    with pytest.raises(FileNotFoundError):
        list(sapwood.iterate(f"{several}/part7.root:t"))
