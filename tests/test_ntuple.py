"""RNTuples: what real ROOT and uproot write is read value by value, and what is written is read by them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import sapwood

from support.ntuples import DUMP, DUMP_TREE, HOWS, UNORDERED, normal, rows_of
from support.rootrun import root


@pytest.mark.parametrize("how", HOWS)
def test_every_value_of_root_is_read(ntuples_made: Any, how: str) -> None:
    path, values = ntuples_made(how)
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
def test_parts_are_the_same_as_the_whole(ntuples_made: Any, threads: int) -> None:
    path, values = ntuples_made("small pages")
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


def test_members_are_read_alone(ntuples_made: Any) -> None:
    path, values = ntuples_made("one cluster")
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


def test_what_is_written_is_read_by_root_and_uproot(
    ntuples_made: Any, ntuple_library: Path, tmp_path: Path
) -> None:
    uproot = pytest.importorskip("uproot")
    path, values = ntuples_made("small pages")
    source = sapwood.open(path)["all"]
    # The classes of objects are ROOT's own; unordered and multiple containers, and pointers, become plain
    # ones.
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
    root(DUMP, ntuple_library, " ".join(map(str, files.values())), *names)
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


def test_rows_streams_and_cuts_are_as_those_of_trees(ntuples_made: Any) -> None:
    path, values = ntuples_made("small pages")
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


def test_rows_in_any_order_learn_what_is_used(ntuples_made: Any) -> None:
    path, values = ntuples_made("small pages")
    with sapwood.open(path) as file:
        ntuple = file["all"]
        rows = ntuple.rows()
        for entry in (250, 3, 299, 120, 121, 3):
            for name in ("int32", "strings", "objects"):
                assert (
                    rows_of(ntuple[name].array(entry_start=entry, entry_stop=entry + 1), name)[0]
                    == values[name][entry]
                )
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
    ntuples_made: Any, ntuple_library: Path, tmp_path: Path, how: str
) -> None:
    path, values = ntuples_made(how)
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
    root(DUMP, ntuple_library, " ".join(map(str, files)), *values)
    for ours, times in files.items():
        dumped = json.loads(Path(f"{ours}.json").read_text())
        ntuple = sapwood.open(ours)["all"]
        for name, expected in values.items():
            got = [sorted(row, key=repr) for row in dumped[name]] if name in UNORDERED else dumped[name]
            assert got == expected * times, (ours.name, name)
            assert rows_of(ntuple[name].array(), name) == expected * times, (ours.name, name)


class SmallRecords:
    """The engine of a file, whose RNTuples have records of few bytes."""

    def __init__(self, core: Any) -> None:
        self._core = core

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)

    def ntuple(self, *arguments: Any, **options: Any) -> Any:
        return self._core.ntuple(*arguments, max_key_bytes=400, **options)


def test_payloads_in_several_records_are_read_by_root(ntuple_library: Path, tmp_path: Path) -> None:
    path = tmp_path / "small.root"
    data = {
        "int32": np.arange(5000, dtype="i4"),
        "strings": ak.Array([["a" * (k % 7)] * (k % 3) for k in range(5000)]),
    }
    with sapwood.recreate(path) as file:
        file._core = SmallRecords(file._core)
        ntuple = file.mkrntuple("all", data, compression=None, cluster_bytes=20_000)
        ntuple.extend(data)
    found = sapwood.verify(path)
    assert not found and not found.damaged, [str(finding) for finding in found]
    assert len(sapwood.open(path)["all"].clusters) > 5
    root(DUMP, ntuple_library, path, *data)
    dumped = json.loads(Path(f"{path}.json").read_text())
    for name, values in data.items():
        rows = ak.Array(values).to_list() * 2
        assert dumped[name] == rows and sapwood.open(path)["all"][name].array().to_list() == rows, name


def test_merged_fields_begin_late_and_are_converted(ntuple_library: Path, tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    first = {"int32": np.arange(5, dtype="i4"), "vector": ak.Array([[1, -2], [], [3], [], []])}
    first["vector"] = ak.values_astype(first["vector"], "int32")
    second = dict(
        first,
        string=ak.Array(["a", "", "bc", "d", ""]),
        strings=ak.Array([["x"], [], ["", "yz"], [], ["w"]]),
        optional=ak.Array([0.5, None, 2.5, None, 4.5]),
        array=ak.to_regular(ak.values_astype(ak.Array([[k, k + 0.5, -k] for k in range(5)]), "float32")),
        float=np.arange(5, dtype="f4"),
    )
    inputs = [tmp_path / f"{name}.root" for name in ("one", "two", "three", "four")]
    for path, data, compression in zip(
        inputs, (first, second, first, second), ("zstd:5", None, None, "lz4:4")
    ):
        with sapwood.recreate(path, format="rntuple", compression=compression) as file:
            file["all"] = data
    merged = tmp_path / "merged.root"
    report = sapwood.merge(merged, inputs)
    assert sum("begins with" in notice for notice in report.notices) == 5
    found = sapwood.verify(merged)
    assert not found and not found.damaged, [str(finding) for finding in found]
    absent = {"string": "", "strings": [], "optional": None, "array": [0, 0, 0], "float": 0}
    wanted = {name: ak.Array(values).to_list() * 4 for name, values in first.items()}
    for name, zero in absent.items():
        wanted[name] = ([zero] * 5 + ak.Array(second[name]).to_list()) * 2
    root(DUMP, ntuple_library, merged, *wanted)
    dumped = json.loads(Path(f"{merged}.json").read_text())
    ours, theirs = sapwood.open(merged)["all"], uproot.open(merged)["all"]
    for name, rows in wanted.items():
        assert ours[name].array().to_list() == rows, name
        assert dumped[name] == rows, name
        assert theirs.arrays([name])[name].to_list() == rows, name


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


def test_trees_become_rntuples(ntuple_library: Path, tmp_path: Path) -> None:
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
    root(DUMP, ntuple_library, made, *data)
    dumped = json.loads(Path(f"{made}.json").read_text())
    assert dumped == {name: ak.Array(values).to_list() for name, values in data.items()}
    sapwood.rewrite(tmp_path / "tree.root", made, to="rntuple", cut="int32 % 7 == 3", drop=["string", "nv*"])
    some = sapwood.open(made)["all"]
    assert some["int32"].array().to_list() == list(range(3, 50, 7)) and "string" not in some
    assert some["vector"].array().to_list() == data["vector"][3::7].to_list()
    with pytest.raises(sapwood.errors.MismatchError, match="order and baskets cannot be given"):
        sapwood.rewrite(tmp_path / "tree.root", made, to="rntuple", order="branch")
    with pytest.raises(sapwood.errors.MismatchError, match="'rntuple' or 'ttree'"):
        sapwood.rewrite(tmp_path / "tree.root", made, to="parquet")


REWRITES: dict[str, dict[str, Any]] = {
    "one": {},
    "many": {"auto_flush": 41, "basket_bytes": 300, "compression": "lz4:4"},
    "raw": {"compression": None},
    "kept": {"baskets": "keep"},
    "branch": {"baskets": "keep", "order": "branch", "drop": ["object*", "array*"]},
    "cut": {"cut": "uint16 % 3 == 1", "keep": ["uint*", "strings", "variant*", "rvec*"]},
}


@pytest.mark.parametrize(
    "how", ["one cluster", "small pages", "no checksums", "small keys", "cluster groups"]
)
def test_rewritten_rntuples_are_read_by_root(
    ntuples_made: Any, ntuple_library: Path, tmp_path: Path, how: str
) -> None:
    path, values = ntuples_made(how)
    entries = HOWS[how][1]
    files = {name: tmp_path / f"{name}.root" for name in REWRITES}
    mask = [value % 3 == 1 for value in values["uint16"]]
    for name, target in files.items():
        before, after = sapwood.rewrite(path, target, threads=2, **REWRITES[name])["all"]
        assert before.entries == entries and after.entries == (sum(mask) if name == "cut" else entries)
        assert after.clusters == {"one": 1, "cut": 1, "raw": 1, "many": -(-entries // 41)}.get(
            name, before.clusters
        )
        found = sapwood.verify(target)
        assert not found and not found.damaged, [str(finding) for finding in found]
    root(DUMP, ntuple_library, " ".join(map(str, files.values())))
    for name, target in files.items():
        dumped = json.loads(Path(f"{target}.json").read_text())
        ours = sapwood.open(target)["all"]
        assert list(dumped) == ours.keys(recursive=False)
        assert len(dumped) == len(values) or name in ("branch", "cut")
        assert ("object" in dumped, "uint16" in dumped) == (name not in ("branch", "cut"), True)
        for field, rows in dumped.items():
            wanted = [row for row, passed in zip(values[field], mask) if passed or name != "cut"]
            if field in UNORDERED:
                rows = [sorted(row, key=repr) for row in rows]
            assert rows == wanted, (name, field)
            assert rows_of(ours[field].array(), field) == wanted, (name, field)


NOT_IN_TREES = ["variant", "variants", "variant_of_objects", "optional_variant", "pointers_to_variants"]
# Values that may be absent, at the top and in lists, and arrays, which are vectors in trees.
OPTIONAL = {"optional", "optional_vector", "pointer", "object_pointer"}
LISTS_OF_OPTIONALS = {"optionals", "pointers"}
ARRAYS = {"array_of_vectors", "vector_of_arrays", "vector_of_bits", "array_of_objects"}


def in_tree(name: str, row: Any) -> Any:
    if name in LISTS_OF_OPTIONALS:
        return [[] if one is None else [one] for one in row]
    return ([] if row is None else [row]) if name in OPTIONAL else row


def test_rntuples_become_trees(ntuples_made: Any, ntuple_library: Path, tmp_path: Path) -> None:
    path, values = ntuples_made("small pages")
    tree = tmp_path / "tree.root"
    with pytest.raises(
        sapwood.errors.UnsupportedError,
        match=r"several types \(type std::variant<std::int32_t,std::string>\): leave .*--drop.*all/variant",
    ):
        sapwood.rewrite(path, tree, to="ttree")
    assert not tree.exists()
    with pytest.warns(UserWarning) as warned:
        before, after = sapwood.rewrite(path, tree, to="ttree", unsupported="drop", auto_flush=70, threads=2)[
            "all"
        ]
    said = [str(warning.message) for warning in warned]
    assert sum("is left out: unsupported: a tree does not hold" in one for one in said) == len(NOT_IN_TREES)
    changed = OPTIONAL | LISTS_OF_OPTIONALS | ARRAYS
    assert sum("is not of the type of its field" in one for one in said) == len(changed)
    assert len(said) == len(NOT_IN_TREES) + len(changed), said
    assert (before.clusters, after.clusters, after.entries) == (5, 5, 300)
    found = sapwood.verify(tree)
    assert not found and not found.damaged, [str(finding) for finding in found]
    root(DUMP_TREE, ntuple_library, tree)
    dumped = json.loads(Path(f"{tree}.json").read_text())
    assert list(dumped) == [name for name in values if name not in [*NOT_IN_TREES, "tuple", "tuples"]]
    opened = sapwood.open(tree)["all"]
    assert opened.classname == "TTree" and opened.title == "fields of many types"
    for name, rows in dumped.items():
        rows = [sorted(row, key=repr) for row in rows] if name in UNORDERED else rows
        expected = [in_tree(name, row) for row in values[name]]
        assert rows == expected, name
        if name != "derived":
            assert rows_of(opened[name].array(), name) == expected, name
    # Of tuples each member is a branch.
    for place in range(3):
        members = [row[place] for row in values["tuple"]]
        assert rows_of(opened[f"tuple__{place}"].array(), "") == members
    for place in range(2):
        members = [[one[place] for one in row] for row in values["tuples"]]
        assert rows_of(opened[f"tuples__{place}"].array(), "") == members
    assert opened["ntuples"].array().to_list() == [len(row) for row in values["tuples"]]
    uproot = pytest.importorskip("uproot")
    theirs = uproot.open(tree)["all"]
    plain = {
        "bool",
        "uint64",
        "double",
        "string",
        "enums",
        "vector",
        "bools",
        "strings",
        "nested",
        "deep",
        "rvecs",
    }
    for name in plain | {"array", "arrays", "more_bits", "set", "atomic", "object", "lists_of_objects"}:
        assert rows_of(theirs[name].array(), name) == values[name], name


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
