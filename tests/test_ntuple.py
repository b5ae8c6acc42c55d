"""RNTuples: what real ROOT and uproot write is read value by value, and what is written is read by them."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import io
import json
import math
import pickle
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import awkward as ak
import numpy as np
import pytest
import sapwood

from support.rootrun import root

MACRO = Path(__file__).resolve().parent / "oracle" / "ntuples.C"
COMPILE = """
assert ROOT.gSystem.CompileMacro(sys.argv[1], "kOs"), "ACLiC cannot compile it"
"""
WRITE = """
ROOT.gSystem.Load(sys.argv[1])
for how in sys.argv[3:]:
    path = f"{sys.argv[2]}/{how}.root"
    ROOT.ntuples.write_all(path, *map(int, how.split("-")))
    reader = ROOT.RNTupleReader.Open("all", path)
    names = [field.GetFieldName() for field in reader.GetDescriptor().GetTopLevelFields()]
    ROOT.ntuples.dump_all(path, "all", path + ".json", ROOT.std.vector["std::string"](names))
"""
DUMP = """
ROOT.gSystem.Load(sys.argv[1])
paths, names = sys.argv[2].split(), sys.argv[3:]
for path in paths:
    ROOT.ntuples.dump_all(path, "all", path + ".json", ROOT.std.vector["std::string"](names))
"""
UNORDERED = {"unordered_set", "unordered_multiset", "unordered_map", "unordered_multimap"}


def normal(value: Any) -> Any:
    """A value as the JSON of the dumps has it."""
    if isinstance(value, dict):
        if list(value) == ["first", "second"]:
            return [normal(one) for one in value.values()]
        return {name: normal(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [normal(one) for one in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if isinstance(value, bool):
        return int(value)
    return value


def rows_of(array: Any, name: str) -> list[Any]:
    rows: list[Any] = normal(array.to_list())
    return [sorted(row, key=repr) for row in rows] if name in UNORDERED else rows


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The macro, compiled by ROOT."""
    folder = tmp_path_factory.mktemp("macro")
    shutil.copy(MACRO, folder)
    root(COMPILE, folder / MACRO.name)
    return folder / "ntuples_C.so"


HOWS = {
    "one cluster": (505, 300, 0, 0),
    "raw": (0, 100, 30, 0),
    "small pages": (404, 300, 70, 1),
    "no checksums": (101, 300, 70, 2),
    "unbuffered": (505, 100, 30, 4),
    "small keys": (0, 300, 0, 8),
    "late fields": (207, 200, 30, 16),
    "cluster groups": (0, 200, 30, 16 + 32 + 1),
}
"""Compression, entries, entries a cluster, flags of the macro."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, library: Path) -> Any:
    """Files that ROOT wrote, and the values that it reads from them, by name."""
    folder = tmp_path_factory.mktemp("ntuples")
    words = {name: "-".join(map(str, how)) for name, how in HOWS.items()}
    root(WRITE, library, folder, *words.values())

    def find(name: str) -> tuple[Path, dict[str, Any]]:
        path = folder / f"{words[name]}.root"
        values = json.loads(Path(f"{path}.json").read_text())
        for field in UNORDERED & set(values):
            values[field] = [sorted(row, key=repr) for row in values[field]]
        return path, values

    return find


@pytest.mark.parametrize("how", HOWS)
def test_every_value_of_root_is_read(made: Any, how: str) -> None:
    path, values = made(how)
    with sapwood.open(path) as file:
        ntuple = file["all"]
        assert ntuple.num_entries == HOWS[how][1] and ntuple.description == "fields of many types"
        assert ntuple.keys(recursive=False) == list(values)
        for name, expected in values.items():
            assert rows_of(ntuple[name].array(), name) == expected, name
    found = sapwood.verify(path)
    assert not found and not found.damaged, [str(finding) for finding in found]
    assert found.counts["ntuples"] == 1 and found.counts["pages"] > 100


@pytest.mark.parametrize("threads", [1, 2])
def test_parts_are_the_same_as_the_whole(made: Any, threads: int) -> None:
    path, values = made("small pages")
    rng = np.random.default_rng(5)
    with sapwood.open(path, threads=threads) as file:
        ntuple = file["all"]
        for start, stop in [(0, 1), (69, 71), (10, 290), (299, 300), (70, 140), (5, 5)]:
            arrays = ntuple.arrays(entry_start=start, entry_stop=stop)
            for name, expected in values.items():
                assert rows_of(arrays[name], name) == expected[start:stop], (name, start, stop)
        mask = rng.random(300) < 0.1
        arrays = ntuple.arrays(entries=mask)
        for name, expected in values.items():
            assert rows_of(arrays[name], name) == [row for row, is_in in zip(expected, mask) if is_in], name
        steps = list(ntuple.iterate(["vector", "strings", "map"], step_size=37))
        assert [len(step) for step in steps] == [37] * 8 + [4]
        assert rows_of(ak.concatenate([step["strings"] for step in steps]), "strings") == values["strings"]


def test_members_are_read_alone(made: Any) -> None:
    path, values = made("one cluster")
    ntuple = sapwood.open(path)["all"]
    assert rows_of(ntuple["object.fName"].array(), "") == [row["fName"] for row in values["object"]]
    assert rows_of(ntuple["objects.fBase"].array(), "") == [
        [one["fBase"] for one in row] for row in values["objects"]
    ]
    assert rows_of(ntuple["objects.fMember.fName"].array(), "") == [
        [one["fMember"]["fName"] for one in row] for row in values["objects"]
    ]
    assert rows_of(ntuple["pairs.1"].array(), "") == [[one[1] for one in row] for row in values["pairs"]]
    assert rows_of(ntuple["map.0"].array(), "") == [[one[0] for one in row] for row in values["map"]]
    assert "objects.fMember.fName" in ntuple.keys() and "objects" in ntuple
    with pytest.raises(KeyError, match="objects"):
        ntuple["objects.fOthers"]


def test_what_is_written_is_read_by_root_and_uproot(made: Any, library: Path, tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    path, values = made("small pages")
    source = sapwood.open(path)["all"]
    # The classes of objects are ROOT's own; unordered and multiple containers, and pointers, become plain ones.
    others = {
        "enum",
        "small_enum",
        "enums",
        "char",
        "byte",
        "multiset",
        "multimap",
        "pointer",
        "pointers",
        "atomic",
    }
    others |= {"atomic_float", "object_pointer", "variant_of_objects", "rvec", "rvecs", "bits", "more_bits"}
    others |= {"vector_of_bits", "array_of_objects", *UNORDERED}
    # Awkward has no option of a union: its nulls are those of the union.
    others |= {"optional_variant", "pointers_to_variants"}
    others |= {name for name in values if "object" in name or name == "derived"}
    names = [name for name in values if name not in others]
    arrays = {name: source[name].array() for name in names}
    files = {setting: tmp_path / f"{setting}.root".replace(":", "") for setting in ("zstd:5", "lz4:4", None)}
    for compression, ours in files.items():
        with sapwood.recreate(ours) as file:
            first = {name: array[:111] for name, array in arrays.items()}
            ntuple = file.mkrntuple(
                "all", first, "here", compression=compression, cluster_bytes=4000, page_bytes=300
            )
            ntuple.extend({name: array[111:] for name, array in arrays.items()})
    root(DUMP, library, " ".join(map(str, files.values())), *names)
    for ours in files.values():
        again = sapwood.open(ours)["all"]
        assert len(again.clusters) > 3
        assert {name: again[name].typename for name in names} == {
            name: source[name].typename for name in names
        }
        dumped = json.loads(Path(f"{ours}.json").read_text())
        by_uproot = uproot.open(ours)["all"]
        for name in names:
            assert rows_of(again[name].array(), name) == values[name], name
            assert dumped[name] == values[name], name
            # uproot 5.7 takes the values of a variant from the wrong cluster.
            if "variant" not in name:
                assert rows_of(by_uproot.arrays([name])[name], name) == values[name], name


def test_what_uproot_writes_is_read(tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    data = {
        "x": np.arange(100, dtype="f4"),
        "n": ak.Array([[number] * (number % 3) for number in range(100)]),
        "s": ak.Array([str(number) for number in range(100)]),
        "r": ak.Array([{"a": number, "b": [number / 2]} for number in range(100)]),
    }
    with uproot.recreate(tmp_path / "theirs.root") as file:
        ntuple = file.mkrntuple("t", {name: array[:60] for name, array in data.items()})
        ntuple.extend({name: array[60:] for name, array in data.items()})
    arrays = sapwood.open(tmp_path / "theirs.root")["t"].arrays()
    for name, array in data.items():
        assert arrays[name].to_list() == ak.Array(array).to_list(), name


def test_rows_streams_and_cuts_are_as_those_of_trees(made: Any) -> None:
    path, values = made("small pages")
    ntuple = sapwood.open(path)["all"]
    rows = ntuple.rows()
    assert len(rows) == 300
    for entry in (0, 299, 69, 70, 150):
        assert normal(ak.to_list(rows[entry]["strings"])) == values["strings"][entry]
        assert int(rows[entry]["int32"]) == values["int32"][entry]
    cut = ntuple.arrays(["string"], cut="(int32 > 0) & (float < 1)")
    expected = [
        text
        for text, whole, real in zip(values["string"], values["int32"], values["float"])
        if whole > 0 and real not in ("inf", "nan") and real < 1
    ]
    assert cut["string"].to_list() == expected
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(ntuple)
    assert table["vector"].to_pylist() == values["vector"]
    assert table["optional_vector"].to_pylist() == values["optional_vector"]
    assert ntuple.arrays(["int32", "double"], library="pd")["int32"].tolist() == values["int32"]
    for refused in (ntuple.optimize_baskets, lambda: ntuple.model):
        with pytest.raises(sapwood.errors.UnsupportedError, match="RNTuple"):
            refused()


def test_rows_in_any_order_learn_what_is_used(made: Any) -> None:
    path, values = made("small pages")
    with sapwood.open(path) as file:
        ntuple = file["all"]
        rows = ntuple.rows()
        for entry in (250, 3, 299, 120, 121, 3):
            for name in ("int32", "strings", "objects"):
                assert rows_of(ntuple[name].array(entry_start=entry, entry_stop=entry + 1), name)[0] == values[name][entry]
                assert normal(ak.to_list(rows[entry][name])) == values[name][entry], (name, entry)
        for row in rows:
            assert int(row["int32"]) == values["int32"][row.entry]
        figures = ntuple.cache_figures
        assert figures["hits"] > 0 and figures["fetched_bytes"] > 0
        listed = [200, 17, 17, 5]
        assert [int(row["int32"]) for row in ntuple.rows(listed, columns=["int32", "string"])] == [
            values["int32"][entry] for entry in listed
        ]
        with pytest.raises(IndexError):
            rows[300]
        with pytest.raises(sapwood.errors.MismatchError, match="no such entry"):
            ntuple.rows([300])[0]["int32"]


def test_progress_counts_the_bytes_of_windows() -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file, file.mkrntuple("events", {"x": "f8"}) as ntuple:
        for cluster in range(4):
            ntuple.extend({"x": np.random.default_rng(cluster).random(50_000)})
            ntuple.flush()
    core = sapwood.open(memory, threads=1)["events"]._core
    seen: list[tuple[int, int]] = []
    core.columns([0], 0, 200_000, progress=lambda done, total: seen.append((done, total)))
    stored = sum(row[3] for row in core.baskets(0))
    assert len(seen) > 1 and seen[-1][0] == seen[-1][1] >= stored
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})

    def stop(*_: int) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        core.columns([0], 0, 200_000, progress=stop)


def test_layout_and_figures_count_pages() -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory, compression=None) as file:
        with file.mkrntuple("events", {"x": "f8", "hits": "var * int32"}) as ntuple:
            for cluster in range(2):
                ntuple.extend({"x": np.arange(100) + cluster, "hits": [[entry] * 3 for entry in range(100)]})
                ntuple.flush()
    events = sapwood.open(memory, threads=1)["events"]
    layout = events.layout()
    assert [cluster["entries"] for cluster in layout["clusters"]] == [[0, 100], [100, 200]]
    assert [cluster["num_baskets"] for cluster in layout["clusters"]] == [3, 3]
    assert [branch["path"].split()[0] for branch in layout["branches"]] == ["x", "hits", "hits"]
    with events.perf as perf:
        events.arrays(["hits"])
    figures = {name: figure.value for name, figure in perf.figures.items()}
    assert (figures["N leaves"], figures["ReadUnZip"]) == (2, 2 * (100 * 8 + 300 * 4) / 1e6)
    assert figures["ReadCalls"] >= 1
    assert [read.entry for read in perf.reads if read.entry is not None] == [0, 100]
    assert "ReadUnZip" in str(perf) and perf.svg().startswith("<svg")


def test_types_and_rows_that_do_not_fit(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "types.root") as file:
        types = {"run": "int32", "jets": "var * {pt: float32, tag: ?string}", "w": np.dtype(("f8", (2,)))}
        ntuple = file.mkrntuple("events", types)
        ntuple.extend({"run": [1, 1], "jets": [[{"pt": 20.5, "tag": None}], []], "w": [[1, 2], [3, 4]]})
        ntuple.extend({"run": [2], "jets": [[]], "w": np.ones((1, 2))})
        for name, values, words in [
            ("run", [1.5], "takes int32, and was given 1.5 in row 0"),
            ("run", [2**40], "takes int32"),
            ("jets", [[{"pt": 1.0}]], "takes var"),
            ("w", [[1, 2, 3]], "takes 2"),
        ]:
            rows: dict[str, Any] = {"run": [1], "jets": [[]], "w": [[1, 2]], name: values}
            with pytest.raises(sapwood.errors.MismatchError, match=words):
                ntuple.extend(rows)
        with pytest.raises(sapwood.SapwoodError, match="jets"):
            ntuple.extend({"run": [1], "w": [[1, 2]]})
        with pytest.raises(sapwood.SapwoodError, match="field 'x'|\"x\""):
            ntuple.extend({"run": [1], "jets": [[]], "w": [[1, 2]], "x": [1]})
        assert ntuple.num_entries == 3
        for name in ("a.b", "a b", ""):
            with pytest.raises(sapwood.errors.MismatchError, match="cannot be named"):
                file.mkrntuple("bad", {name: [1]})
        with pytest.raises(sapwood.errors.UnsupportedError, match="is not understood"):
            file.mkrntuple("bad", {"x": "var * what"})
        with pytest.raises(sapwood.errors.UnsupportedError, match="complex128"):
            file.mkrntuple("bad", {"x": np.zeros(1, complex)})
    events = sapwood.open(tmp_path / "types.root")["events"]
    assert events["jets"].array().to_list() == [[{"pt": 20.5, "tag": None}], [], []]
    assert events["w"].array().to_list() == [[1, 2], [3, 4], [1, 1]]
    assert "bad" not in sapwood.open(tmp_path / "types.root")


def test_files_of_rntuples_by_assignment(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "all.root", format="rntuple") as file:
        file["folder/t"] = {"x": [1, 2], "y": [[1.5], []]}
        file["note"] = "text"
    opened = sapwood.open(tmp_path / "all.root")
    assert opened.classnames(cycle=False)["folder/t"] == "ROOT::RNTuple"
    assert opened["folder/t"].arrays().to_list() == [{"x": 1, "y": [1.5]}, {"x": 2, "y": []}]
    with pytest.raises(ValueError, match="'ttree' or 'rntuple'"):
        sapwood.recreate(tmp_path / "other.root", format="parquet")


@pytest.mark.parametrize("how", ["raw", "small keys", "late fields", "cluster groups"])
def test_root_reads_every_value_of_copies_and_sums(
    made: Any, library: Path, tmp_path: Path, how: str
) -> None:
    path, values = made(how)
    copy, moved, merged = (tmp_path / name for name in ("copy.root", "moved.root", "merged.root"))
    for ours in (copy, moved):
        with sapwood.recreate(ours) as file:
            file.copy(path, "all")
    with sapwood.update(moved) as file:
        file.rename("all", "folder/moved")
    with sapwood.update(moved) as file:
        file.rename("folder/moved", "all")
    sapwood.merge(merged, [path, copy])
    files = {copy: 1, moved: 1, merged: 2}
    root(DUMP, library, " ".join(map(str, files)), *values)
    for ours, times in files.items():
        dumped = json.loads(Path(f"{ours}.json").read_text())
        ntuple = sapwood.open(ours)["all"]
        for name, expected in values.items():
            got = [sorted(row, key=repr) for row in dumped[name]] if name in UNORDERED else dumped[name]
            assert got == expected * times, (ours.name, name)
            assert rows_of(ntuple[name].array(), name) == expected * times, (ours.name, name)


def test_files_without_checksums_are_merged(tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    inputs = [tmp_path / "one.root", tmp_path / "two.root"]
    for number, path in enumerate(inputs):
        with uproot.recreate(path) as file:
            ntuple = file.mkrntuple("t", {"x": np.arange(5), "l": ak.Array([[number]] * 5)})
            ntuple.extend({"x": np.arange(5, 7), "l": ak.Array([[], [1, 2]])})
    sapwood.merge(tmp_path / "merged.root", inputs)
    for arrays in [
        sapwood.open(tmp_path / "merged.root")["t"].arrays(),
        uproot.open(tmp_path / "merged.root")["t"].arrays(),
    ]:
        assert arrays["x"].to_list() == [0, 1, 2, 3, 4, 5, 6] * 2
        assert arrays["l"].to_list() == [[0]] * 5 + [[], [1, 2]] + [[1]] * 5 + [[], [1, 2]]


def test_trees_become_rntuples(library: Path, tmp_path: Path) -> None:
    data = {"int32": np.arange(50, dtype="i4"), "vector": ak.Array([[k] * (k % 4) for k in range(50)])}
    data["string"] = ak.Array([str(k) for k in range(50)])
    data["vector"] = ak.values_astype(data["vector"], "int32")
    with sapwood.recreate(tmp_path / "tree.root") as file:
        file["all"] = data
        file["h"] = np.histogram([1, 2, 2])
    made = tmp_path / "ntuple.root"
    before, after = sapwood.rewrite(tmp_path / "tree.root", made, to="rntuple")["all"]
    assert (before.entries, after.entries) == (50, 50)
    opened = sapwood.open(made)
    assert opened.classnames(cycle=False)["all"] == "ROOT::RNTuple" and opened["h"].values().tolist()
    for name, values in data.items():
        assert opened["all"][name].array().to_list() == ak.Array(values).to_list()
    root(DUMP, library, made, *data)
    dumped = json.loads(Path(f"{made}.json").read_text())
    assert dumped == {name: ak.Array(values).to_list() for name, values in data.items()}
    with pytest.raises(sapwood.errors.MismatchError, match="cut cannot be given"):
        sapwood.rewrite(tmp_path / "tree.root", made, to="rntuple", cut="int32 > 3")


def test_no_value_is_lost_on_the_way(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "kept.root"
    with sapwood.recreate(path, format="rntuple", compression="lz4:4") as file:
        file["t"] = {
            "whole": pandas.Series([2**53 + 1, None], dtype="Int64"),
            "text": pandas.Series(["a", None], dtype=object),
            "mixed": [1, "a"],
            "none": [1, None],
        }
        narrow = file.mkrntuple("narrow", {"x": "float32"})
        with pytest.raises(sapwood.errors.MismatchError, match="float32"):
            narrow.extend({"x": [1e300]})
        with pytest.raises(sapwood.errors.MismatchError, match="field 'x'"):
            file.mkrntuple("bad", {"x": 1.0})
    table = sapwood.open(path)["t"]
    assert table["whole"].array().to_list() == [2**53 + 1, None]
    assert table["text"].array().to_list() == ["a", None]
    assert table["mixed"].array().to_list() == [1, "a"]
    assert table["none"].array().to_list() == [1, None]
    assert str(table["whole"].compression) == str(sapwood.LZ4(4))
    before = path.read_bytes()
    for change in (sapwood.recreate, sapwood.update):
        with pytest.raises(ValueError, match="'ttree' or 'rntuple'"):
            change(path, format="foo")
        assert path.read_bytes() == before


@dataclasses.dataclass
class Base:
    fBase: np.int32
    fName: str
    __root_name__ = "ntuples::Base"


@dataclasses.dataclass
class Other:
    fOther: np.float32
    __root_name__ = "ntuples::Other"


@dataclasses.dataclass
class Derived(Base, Other):
    fValues: list[float]
    fThree: Annotated[np.int16, 3]
    fMember: Base
    __root_name__ = "ntuples::Derived"


def derived(value: dict[str, Any]) -> Derived:
    """What ROOT's dump has as an object."""
    values = {name: float(one) if one == "inf" else one for name, one in value.items()}
    values["fValues"] = [float(one) for one in values["fValues"]]
    return Derived(**{**values, "fMember": Base(**values["fMember"])})


def test_root_reads_dataclasses(made: Any, library: Path, tmp_path: Path) -> None:
    _, values = made("small pages")
    objects = {
        "object": [Base(**row) for row in values["object"]],
        "derived": [derived(row) for row in values["derived"]],
        "objects": [[derived(one) for one in row] for row in values["objects"]],
        "lists_of_objects": [[[Base(**one) for one in row] for row in rows] for rows in values["lists_of_objects"]],
        "map_of_objects": [{key: Base(**one) for key, one in row} for row in values["map_of_objects"]],
        "object_pointer": [row and Base(**row) for row in values["object_pointer"]],
    }
    kinds: dict[str, Any] = {
        "object": Base,
        "derived": Derived,
        "objects": list[Derived],
        "lists_of_objects": list[list[Base]],
        "map_of_objects": dict[np.int32, Base],
        "object_pointer": Base | None,
    }
    ours = tmp_path / "objects.root"
    with sapwood.recreate(ours) as file:
        ntuple = file.mkrntuple("all", kinds, cluster_bytes=4000, page_bytes=300)
        ntuple.extend({name: column[:100] for name, column in objects.items()})
        ntuple.extend({name: column[100:] for name, column in objects.items()})
    root(DUMP, library, ours, *kinds)
    dumped = json.loads(Path(f"{ours}.json").read_text())
    again = sapwood.open(ours)["all"]
    assert len(again.clusters) > 3
    for name, kind in kinds.items():
        assert dumped[name] == values[name], name
        assert rows_of(again[name].array(), name) == values[name], name
        assert list(again[name].objects(kind)) == objects[name], name
    theirs = sapwood.open(made("small pages")[0])["all"]
    for name, kind in kinds.items():
        assert list(theirs[name].objects(kind, 20, 290)) == objects[name][20:290], name


@dataclasses.dataclass
class Hit:
    x: float
    channels: list[np.uint16]
    tag: str = ""


def test_members_of_a_dataclass_are_fields() -> None:
    hits = [Hit(0.5 * entry, list(range(entry % 3)), f"hit {entry}") for entry in range(50)]
    for given in (Hit, hits):
        memory = io.BytesIO()
        with sapwood.recreate(memory) as file:
            ntuple = file.mkrntuple("hits", given)
            if given is Hit:
                ntuple.extend(hits[:20])
                # What is no object goes into the same fields.
                rest = hits[20:]
                ntuple.extend({name: [getattr(hit, name) for hit in rest] for name in ("tag", "x", "channels")})
            assert (ntuple.num_entries, ntuple.field_names) == (50, ["x", "channels", "tag"])
        read = sapwood.open(memory)["hits"]
        assert read["channels"].typename == "std::vector<std::uint16_t>"
        assert list(read.objects(Hit)) == hits
        assert list(read.objects(Hit, 7, 9)) == hits[7:9]

    @dataclasses.dataclass
    class Pulse:
        x: float
        time: float = -1.0

    assert list(read.objects(Pulse, 0, 2)) == [Pulse(0.0), Pulse(0.5)]
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        ntuple = file.mkrntuple("hits", Hit)
        with pytest.raises(sapwood.errors.MismatchError, match="member 'x'.*Base.*row 1"):
            ntuple.extend([hits[0], Base(np.int32(1), "")])
        with pytest.raises(sapwood.errors.MismatchError, match="field 'channels'.*in row 2"):
            ntuple.extend([hits[0], hits[1], Hit(1.0, [70_000])])

        @dataclasses.dataclass
        class Queue:
            waiting: collections.deque[int]

        with pytest.raises(sapwood.errors.UnsupportedError, match="std::vector.*waiting"):
            file.mkrntuple("queue", Queue)
        with pytest.raises(sapwood.errors.MismatchError, match="types of fields were expected"):
            file.parallel_rntuple("hits2", hits)


def test_many_threads_fill_one_rntuple(tmp_path: Path) -> None:
    path = tmp_path / "threads.root"
    with sapwood.recreate(path, threads=2) as file:
        ntuple = file.parallel_rntuple("hits", Hit, cluster_bytes=2000, page_bytes=500)

        def work(start: int) -> None:
            with ntuple.context() as context:
                for first in range(start, start + 300, 100):
                    context.extend([Hit(float(entry), [entry % 7], str(entry)) for entry in range(first, first + 100)])

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(0, 3000, 300)))
        assert ntuple.save() == ntuple.num_entries == 3000
        with contextlib.suppress(KeyError), ntuple.context() as context:
            context.extend([Hit(-1.0, [])])
            raise KeyError
        left_open = ntuple.context()
        left_open.extend([Hit(-2.0, [])])
        assert sapwood.open(path)["hits"].num_entries == 3000, "what was saved is there"
    hits = sapwood.open(path)["hits"].arrays()
    assert sorted(hits["x"].to_list()) == [-2.0, *map(float, range(3000))]
    assert all(hit["tag"] == str(int(hit["x"])) for hit in hits.to_list() if hit["x"] >= 0)
    root("assert ROOT.RDataFrame('hits', sys.argv[1]).Sum['double']('x').GetValue() == sum(range(3000)) - 2", path)


def test_errors_name_row_and_value() -> None:
    with sapwood.recreate(io.BytesIO()) as file:
        types = {"run": "int32", "jets": "var * {pt: float32, n: int8}", "w": "3 * int16", "maybe": "?int8"}
        ntuple = file.mkrntuple("events", types)
        good: dict[str, Any] = {"run": [1, 2, 3], "jets": [[], [], []], "w": [[1, 2, 3]] * 3, "maybe": [1, None, 2]}
        for name, values, words in [
            ("run", [1, 2, 2**40], "takes int32, and was given 1099511627776 in row 2"),
            ("run", [1, 2.5, 3], "takes int32, and was given 2.5 in row 1"),
            ("run", [1, None, 3], "takes int32, and was given None in row 1"),
            ("run", [1, 2, "three"], "takes int32, and was given string in row 2"),
            ("jets", [[], [], [{"pt": 1, "n": 1}, {"pt": 1, "n": 200}]], "was given 200 in row 2"),
            ("jets", [[], [{"pt": 1.0, "m": 1}], []], "was given records without 'n' and with 'm'"),
            ("w", [[1, 2, 3], [1, 2, 3], [1, 2, 70000]], "was given 70000 in row 2"),
            ("w", [[1, 2, 3], [1, 2], [1, 2, 3]], "was given a list of 2 in row 1"),
            ("maybe", [None, 1, 300], "was given 300 in row 2"),
        ]:
            with pytest.raises(sapwood.errors.MismatchError, match=words):
                ntuple.extend({**good, name: values})
        with pytest.raises(sapwood.errors.NotFoundError, match="no field \"rum\"; nearest: \"run\""):
            ntuple.extend({**good, "rum": [1, 2, 3]})
        ntuple.extend(good)
        assert ntuple.num_entries == 3


ATTRIBUTES = """
ROOT.gInterpreter.Declare(r'''
#include <ROOT/RNTupleAttrWriting.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <TFile.h>
void write_attributes(const char *path)
{
   std::unique_ptr<TFile> file(TFile::Open(path, "RECREATE"));
   auto model = ROOT::RNTupleModel::Create();
   auto x = model->MakeField<int>("x");
   auto writer = ROOT::RNTupleWriter::Append(std::move(model), "events", *file);
   auto said = ROOT::RNTupleModel::Create();
   auto text = said->MakeField<std::string>("text");
   auto number = said->MakeField<int>("number");
   auto set = writer->CreateAttributeSet(std::move(said), "notes");
   for (int range = 0; range < 3; range++) {
      auto open = set->BeginRange();
      *text = "range " + std::to_string(range);
      *number = 10 * range;
      for (int k = 0; k < 5 + range; k++) { *x = 100 * range + k; writer->Fill(); }
      set->CommitRange(std::move(open));
   }
}
''')
ROOT.write_attributes(sys.argv[1])
"""


def test_attributes_of_root_are_read_and_copied(tmp_path: Path) -> None:
    path, copy = tmp_path / "attributes.root", tmp_path / "copy.root"
    root(ATTRIBUTES, path)
    with sapwood.recreate(copy) as file:
        file.copy(path, "events", "folder/events")
    expected = [
        {"_rangeStart": start, "_rangeLen": 5 + entry, "_userData": {"text": f"range {entry}", "number": 10 * entry}}
        for entry, start in enumerate((0, 5, 11))
    ]
    for place, name in ((path, "events"), (copy, "folder/events")):
        events = sapwood.open(place)[name]
        assert (events.num_entries, events.attribute_sets) == (18, ["notes"])
        notes = events.attributes("notes")
        assert notes.arrays().to_list() == expected
        assert notes["_userData.text"].array().to_list() == ["range 0", "range 1", "range 2"]
        assert pickle.loads(pickle.dumps(notes)).arrays().to_list() == expected
        assert notes.object_path == f"/{name};1:notes"
        with pytest.raises(sapwood.errors.NotFoundError, match="'note'.*notes|\"note\".*notes"):
            events.attributes("note")
        findings = sapwood.verify(place)
        assert not findings.damaged and not any("not verified" in str(finding) for finding in findings)
    damaged = bytearray(path.read_bytes())
    place = damaged.index(b"range 0")
    damaged[place] ^= 1
    found = [finding for finding in sapwood.verify(bytes(damaged)) if finding.severity == "damage"]
    assert found and all(":notes" in finding.object for finding in found), found


HIDDEN = """
ROOT.gInterpreter.Declare(r'''
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriter.hxx>
struct First { int a = 0; int z = 0; };
struct Middle : First { int b = 0; };
struct Second { int a = 0; };
struct Many : Middle, Second { int a = 0; };
void write_many(const char *path)
{
   auto model = ROOT::RNTupleModel::Create();
   auto many = model->MakeField<Many>("many");
   auto list = model->MakeField<std::vector<Many>>("list");
   auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "events", path);
   for (int k = 0; k < 4; k++) {
      many->First::a = k; many->z = 10 + k; many->b = 20 + k; many->Second::a = 30 + k; many->a = 40 + k;
      list->assign(k, *many);
      writer->Fill();
   }
}
''')
ROOT.write_many(sys.argv[1])
"""


def test_members_of_several_bases_keep_apart(tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    path = tmp_path / "many.root"
    root(HIDDEN, path)
    events = sapwood.open(path)["events"]
    many = [{"Middle::a": k, "z": 10 + k, "b": 20 + k, "Second::a": 30 + k, "a": 40 + k} for k in range(4)]
    assert events["many"].array().to_list() == many
    assert events["list"].array().to_list() == [[many[k]] * k for k in range(4)]
    assert uproot.open(path)["events"].arrays(["many"])["many"].to_list() == many
    assert [name for name in events.keys() if name.startswith("many.")] == [f"many.{name}" for name in many[0]]
    for name, value in many[2].items():
        assert events[f"many.{name}"].array().to_list()[2] == value
        assert events[f"list.{name}"].array().to_list()[2] == [value] * 2
    pyarrow = pytest.importorskip("pyarrow")
    assert pyarrow.table(events)["many"].to_pylist() == many

    @dataclasses.dataclass
    class Second:
        a: int

    @dataclasses.dataclass
    class OfSecond(Second):
        b: int

    # A dataclass has one member of a name: that of its base where it says so.
    assert [one.a for one in events["many"].objects(Second)] == [40, 41, 42, 43]


def test_classes_of_fields_become_dataclasses(made: Any) -> None:
    path, values = made("small pages")
    source = sapwood.makeproject(path)
    names: dict[str, Any] = {}
    exec(source, names)  # noqa: S102
    found = list(sapwood.open(path)["all"]["derived"].objects(names["Derived"]))
    assert [dataclasses.asdict(one) for one in found] == [dataclasses.asdict(derived(row)) for row in values["derived"]]
