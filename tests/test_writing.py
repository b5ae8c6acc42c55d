"""Files that Sapwood writes: real ROOT and uproot read them back value by value, and ROOT says nothing about them."""

from __future__ import annotations

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

sapwood = pytest.importorskip("sapwood")
uproot = pytest.importorskip("uproot")
ak = pytest.importorskip("awkward")

HERE = Path(__file__).resolve().parent
CI = os.environ.get("CI", "").lower() in ("1", "true", "yes")
ENTRIES = 700
SETTINGS = ["zlib:0", "zlib:1", "zlib:6", "lz4:4", "zstd:5", "lzma:3"]


def data(entries: int = ENTRIES, seed: int = 1) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 6, entries)
    items = int(counts.sum())
    number = np.arange(entries)
    muons = ak.zip(
        {"pt": rng.normal(size=items).astype("f4"), "charge": rng.integers(-1, 2, items).astype("i1")}
    )
    return {
        "b": number % 3 == 0,
        "i8": (number - 100).astype("i1"),
        "u8": number.astype("u1"),
        "i16": (number * -47).astype("i2"),
        "u16": (number * 93).astype("u2"),
        "i32": (number * -3_000_017).astype("i4"),
        "u32": (number * 6_000_011).astype("u4"),
        "i64": number * -(2**53),
        "u64": number.astype("u8") * np.uint64(2**54),
        "f32": rng.normal(size=entries).astype("f4"),
        "f64": rng.normal(size=entries),
        "matrix": rng.normal(size=(entries, 2, 3)),
        "Muon": ak.unflatten(muons, counts),
        "pairs": ak.unflatten(rng.integers(0, 99, (items, 2)).astype("i4"), counts),
        "name": ["", "é" * 3, "x" * 300] + [f"entry {e}" for e in range(3, entries)],
    }


def vectors(entries: int = 90) -> dict[str, Any]:
    """Types and values of `std::vector` branches."""
    rows = range(entries)
    return {
        "vf": ("vector<float>", [[e + k / 4 for k in range(e % 5)] for e in rows]),
        "vb": ("std::vector<bool>", [[(e + k) % 3 == 0 for k in range(e % 4)] for e in rows]),
        "vl": ("vector<Long64_t>", [[-(2**60) + e] * (e % 3) for e in rows]),
        "vuc": ("vector<unsigned char>", [[e + k for k in range(e % 3)] for e in rows]),
        "vvd": ("var * var * float64", [[[e / 8] * (k + e % 3) for k in range(e % 4)] for e in rows]),
        "vvvi": (
            "vector<vector<vector<int>>>",
            [[[[e] * 2, []], [[k] for k in range(e % 3)]][: e % 3] for e in rows],
        ),
        "vs": ("var * string", [["s" * (100 * k) for k in range(e % 4)] for e in rows]),
        "vvs": ("vector<vector<string> >", [[[f"{e}.{k}"] * k for k in range(e % 3)] for e in rows]),
    }


def branches(given: dict[str, Any]) -> dict[str, Any]:
    """What each branch holds."""
    out = dict(given)
    for column in ("Muon", "pairs"):
        counted = out.pop(column)
        out["n" + column] = ak.num(counted)
        out |= {f"{column}_{field}": counted[field] for field in counted.fields} or {column: counted}
    return out


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One file for each setting of compression."""
    folder = tmp_path_factory.mktemp("written")
    out = {}
    for setting in SETTINGS:
        path = folder / f"{setting.replace(':', '')}.root"
        with sapwood.recreate(path, compression=setting) as file:
            file["folder/tree"] = data()
            types = {
                "x": "f8",
                "v": "var * float32",
                "rec": {"a": "i2", "b": "string"},
                "point": np.dtype(("f4", (3,))),
            }
            many = file.mktree("many", types, "a title", auto_flush=50, basket_bytes=300)
            for start in range(0, 230, 30):
                n = min(30, 230 - start)
                x = np.arange(start, start + n)
                many.extend(
                    {
                        "x": x / 4,
                        "v": [[float(e)] * (e % 3) for e in x],
                        "rec": {"a": x, "b": [f"<{e}>" for e in x]},
                        "point": np.stack([x, x, -x], axis=1),
                    }
                )
            nested = file.mktree(
                "vectors", {name: kind for name, (kind, _) in vectors().items()}, auto_flush=40
            )
            for start in (0, 30, 60):
                nested.extend({name: values[start : start + 30] for name, (_, values) in vectors().items()})
            file.mktree("empty", {"x": "f4", "s": "string", "v": "var * int64"})
            file["text"] = "written by Sapwood"
        out[setting] = path
    return out


@pytest.fixture(scope="module")
def root(files: dict[str, Path]) -> dict[str, Any]:
    """What real ROOT reads from each file; it prints nothing."""
    if importlib.util.find_spec("ROOT") is None:
        if CI:
            pytest.fail("ROOT is required here")
        pytest.skip("ROOT is not installed")
    paths = [str(path) for path in files.values()]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(HERE / "oracle" / "read_back.py"), *paths],
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
    return {setting: read[str(path)] for setting, path in files.items()}


@pytest.mark.parametrize("setting", SETTINGS)
def test_real_root_reads_every_value(setting: str, root: dict[str, Any]) -> None:
    tree = root[setting]["folder/tree"]
    assert tree["entries"] == ENTRIES and tree["clusters"] == [0]
    expected = branches(data())
    assert set(tree["values"]) == set(expected)
    for name, values in expected.items():
        if name == "name":
            assert tree["values"][name] == values
            continue
        flat = [np.ravel(np.asarray(row)).tolist() for row in values]
        assert tree["values"][name] == flat, name
    assert root[setting]["text"] == {"class": "TObjString", "text": "written by Sapwood"}


def test_real_root_knows_clusters_and_empty_trees(root: dict[str, Any]) -> None:
    many = root["zstd:5"]["many"]
    assert many["clusters"] == [0, 50, 100, 150, 200] and many["entries"] == 230
    assert many["values"]["point"][7] == [7, 7, -7] and many["values"]["rec_b"][229] == "<229>"
    empty = root["zstd:5"]["empty"]
    assert empty["entries"] == 0 and set(empty["values"]) == {"x", "s", "nv", "v"}


@pytest.mark.parametrize("setting", SETTINGS)
def test_uproot_and_sapwood_read_every_value(setting: str, files: dict[str, Path]) -> None:
    expected = branches(data())
    for reader in (uproot, sapwood):
        with reader.open(files[setting]) as file:
            tree = file["folder/tree"]
            assert set(tree.keys()) == set(expected) and tree.num_entries == ENTRIES
            for name, values in expected.items():
                found = tree[name].array()
                assert ak.to_list(found) == ak.to_list(values), (reader.__name__, name)
            assert file["many"].title == "a title" and file["empty"].num_entries == 0
    found = sapwood.open(files[setting])["many"]
    assert found["rec_b"].array().tolist() == [f"<{e}>" for e in range(230)]
    assert found.clusters == [(0, 50), (50, 100), (100, 150), (150, 200), (200, 230)]


def test_real_root_reads_vectors(root: dict[str, Any]) -> None:
    for setting in SETTINGS:
        found = root[setting]["vectors"]["values"]
        found["vuc"] = [
            [ord(character) for character in row] for row in found["vuc"]
        ]  # as Python shows bytes of C++
        for name, (_, values) in vectors().items():
            assert found[name] == values, (setting, name)


def test_uproot_and_sapwood_read_vectors(files: dict[str, Path]) -> None:
    for reader in (uproot, sapwood):
        tree = reader.open(files["zstd:5"])["vectors"]
        for name, (_, values) in vectors().items():
            assert ak.to_list(tree[name].array()) == values, (reader.__name__, name)
    assert (
        sapwood.open(files["zstd:5"])["vectors"].typenames()["vvs"] == "std::vector<std::vector<std::string>>"
    )


def test_real_root_merges_and_appends(files: dict[str, Path], root: dict[str, Any]) -> None:
    folder = files["zlib:0"].parent
    tree = sapwood.open(folder / "merged.root")["folder/tree"]
    expected = branches(data())
    assert tree.num_entries == 2 * ENTRIES
    for name, values in expected.items():
        assert ak.to_list(tree[name].array()) == 2 * ak.to_list(values), name
    tree = sapwood.open(folder / "appended.root")["folder/tree"]
    assert tree["i32"].array().tolist() == [*expected["i32"].tolist(), -1]
    assert tree["Muon_pt"].array()[-1].tolist() == expected["Muon_pt"][0].tolist()


def test_tables_of_all_kinds_are_trees() -> None:
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    columns = {"x": np.arange(5), "y": np.linspace(0, 1, 5)}
    structured = np.zeros(5, [("x", "i8"), ("y", "f8")])
    structured["x"], structured["y"] = columns["x"], columns["y"]
    lists = {**columns, "v": [[1], [], [2, 3], [4], []], "s": list("abcde")}
    for given in (
        columns,
        structured,
        pd.DataFrame(columns),
        ak.Array(lists),
        pl.DataFrame(lists),
        pa.table(lists),
    ):
        memory = io.BytesIO()
        with sapwood.recreate(memory) as file:
            file["t"] = given
        tree = sapwood.open(memory)["t"]
        assert tree["x"].array().tolist() == [0, 1, 2, 3, 4], type(given)
        assert tree["y"].array().tolist() == columns["y"].tolist()
        if "v" in tree:
            assert tree["v"].array().tolist() == lists["v"] and tree["s"].array().tolist() == lists["s"]
    with sapwood.recreate(io.BytesIO()) as file, pytest.raises(sapwood.errors.MismatchError, match="missing"):
        file["t"] = pa.table({"x": [1, None]})


def test_the_same_content_gives_the_same_bytes() -> None:
    def written(threads: int) -> bytes:
        memory = io.BytesIO()
        with sapwood.recreate(memory, reproducible=True, threads=threads, compression="zstd:1") as file:
            file["t"] = data()
            file["text"] = "the same"
        return memory.getvalue()

    assert written(1) == written(3)


def test_names_are_as_wished_and_lists_share_a_counter() -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        types = {"jet": "var * {pt: float32, eta: float32}"}
        tree = file.mktree(
            "t",
            types,
            counter_name=lambda name: f"{name}_n",
            field_name=lambda outer, inner: f"{outer}.{inner}",
        )
        assert tree.branches == ["jet_n", "jet.pt", "jet.eta"]
        tree.extend({"jet": [[{"pt": 1, "eta": 2}], []]})
        assert tree.num_entries == 2
    assert sapwood.open(memory)["t"].typenames()["jet.eta"] == "float[]"


def test_counters_that_are_there_count(tmp_path: Path) -> None:
    jets = ak.Array([[{"pt": 1.0, "eta": 2.0}], [], [{"pt": 3.0, "eta": 4.0}] * 2])
    with sapwood.recreate(tmp_path / "skim.root") as file:
        file["before"] = ak.Array({"nJet": ak.num(jets), "Jet": jets})
        file["behind"] = {"Jet": jets, "nJet": [1, 0, 2]}
        with pytest.raises(sapwood.errors.MismatchError, match="lengths of the lists"):
            file["wrong"] = {"Jet": jets, "nJet": [1, 1, 1]}
        with pytest.raises(sapwood.errors.MismatchError, match="different lengths"):
            file["uneven"] = {"x": [1, 2], "y": [1]}
    with sapwood.recreate(tmp_path / "again.root") as file:
        file["again"] = sapwood.open(tmp_path / "skim.root")["before"].arrays(how="records")
        file["table"] = ak.from_arrow(ak.to_arrow_table(ak.Array({"x": [1.5, 2.5]})))
    for path, name in (("skim.root", "before"), ("skim.root", "behind"), ("again.root", "again")):
        tree = sapwood.open(tmp_path / path)[name]
        assert sorted(tree.keys()) == ["Jet_eta", "Jet_pt", "nJet"]
        assert (
            tree["nJet"].array().tolist() == [1, 0, 2] and tree["Jet_pt"].array().tolist() == jets.pt.tolist()
        )
        assert uproot.open(tmp_path / path)[name]["Jet_eta"].array().tolist() == jets.eta.tolist()
    assert sapwood.open(tmp_path / "again.root")["table/x"].array().tolist() == [1.5, 2.5]
    assert "uneven" not in sapwood.open(tmp_path / "skim.root")


def test_what_does_not_fit_says_why_and_loses_nothing() -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        tree = file.mktree("t", {"x": "i4", "v": "var * float32", "s": "string", "m": np.dtype(("f4", (2,)))})
        good = {"x": [1], "v": [[1.0]], "s": ["a"], "m": [[1, 2]]}
        for wrong, words in [
            ({"x": [1, 2]}, "another number of entries"),
            ({"x": [1.5]}, "holds int32"),
            ({"x": ["one"]}, "holds int32"),
            ({"x": [2**31]}, "given 2147483648"),
            ({"s": [1], "z": [1]}, "^the tree has no branch for 'z'"),
            ({"v": [1.0]}, "holds lists"),
            ({"s": [1]}, "holds strings"),
            ({"s": ["a\0b"]}, "zero"),
            ({"m": [[1, 2, 3]]}, r"holds 2 \* float32 and was given 3 \* int64"),
            ({"y": [1]}, "no branch for 'y'"),
        ]:
            with pytest.raises(sapwood.errors.MismatchError, match=words):
                tree.extend({**good, **wrong})
        with pytest.raises(sapwood.errors.MismatchError, match="lacks 'x'"):
            tree.extend({name: good[name] for name in "vsm"})
        tree.extend(good)
        for types in ({"a\0b": "f4"}, {"z": "complex64"}, {"v": "vector<TLorentzVector>"}):
            with pytest.raises((sapwood.errors.MismatchError, sapwood.errors.UnsupportedError)):
                file.mktree("u", types)
        with pytest.raises(TypeError, match="int 3 cannot be written: a file takes tables") as caught:
            file["u"] = 3
        assert isinstance(caught.value, sapwood.errors.MismatchError)
    again = sapwood.open(memory)
    assert again.keys() == ["t;1"] and again["t"].num_entries == 1
    with pytest.raises(sapwood.errors.MismatchError, match="closed"):
        tree.extend(good)


def test_places_that_cannot_be_written_say_so(tmp_path: Path) -> None:
    with sapwood.create(tmp_path / "file.root") as file:
        file["text"] = "first"
    for make in (sapwood.recreate, sapwood.create):
        with pytest.raises(OSError, match="cannot make the folder"):
            make(tmp_path / "file.root" / "below.root")
    with pytest.raises(FileExistsError):
        sapwood.create(tmp_path / "file.root")
    with pytest.raises(ValueError, match="no such compression"):
        sapwood.recreate(tmp_path / "other.root", compression="zip:9")


def test_what_was_saved_is_there_while_the_file_is_open(tmp_path: Path) -> None:
    file = sapwood.recreate(tmp_path / "open.root")
    tree = file.mktree("t", {"x": "i4"})
    for step in range(1, 4):
        tree.extend({"x": [step] * 10})
        file.save()
        assert sapwood.open(tmp_path / "open.root")["t"].num_entries == 10 * step
        assert uproot.open(tmp_path / "open.root")["t"].num_entries == 10 * step
    tree.extend({"x": [9] * 10})
    assert sapwood.open(tmp_path / "open.root")["t"].num_entries == 30
    file.close()
    assert sapwood.open(tmp_path / "open.root")["t"].num_entries == 40


def test_whole_numbers_above_two_to_the_63(tmp_path: Path) -> None:
    data = {
        "x": [1, 2**63, 2**64 - 1],
        "m": [[1, 2], [3, 2**63], [5, 6]],
        "v": [[], [7, 2**63], [1]],
        "vv": [[[1]], [], [[2**63], []]],
    }
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["t"] = data
        tree = file.mktree("filled", {"x": "u8", "v": "var * uint64"})
        for x, v in zip(data["x"], data["v"]):
            tree.fill(x=x, v=v)
    for reader in (uproot, sapwood):
        with reader.open(tmp_path / "a.root") as read:
            for name, values in data.items():
                assert read["t"][name].array().tolist() == values
            assert read["t/x"].array(library="np").dtype == np.uint64
            assert (
                read["filled/x"].array().tolist() == data["x"]
                and read["filled/v"].array().tolist() == data["v"]
            )
    for wrong in ([-1, 2**63], [[-1], [2**63, 1]], [2**64], [[1], [2**64, 2]]):
        with sapwood.recreate(io.BytesIO()) as file:
            with pytest.raises(sapwood.SapwoodError, match="'x'.* 64 bits .* from -?[0-9]+ to [0-9]+"):
                file["t"] = {"x": wrong}
