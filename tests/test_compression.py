"""Branches that are compressed in their own way: in the record, in each basket, and for all readers."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.rootrun import root

sapwood = pytest.importorskip("sapwood")
uproot = pytest.importorskip("uproot")

ENTRIES = 300


@dataclasses.dataclass
class Hit:
    x: float
    layer: int


@dataclasses.dataclass
class Event:
    number: int
    hits: list[Hit]


SETTINGS = {
    "Muon_*": "lz4:4",
    "Muon_eta": 209,
    "noise": None,
    "event": sapwood.Compression("ZSTD", 7),
    "*": "zlib:6",
}
WANTED = {
    "nMuon": 106,
    "Muon_pt": 404,
    "Muon_eta": 209,
    "noise": 0,
    "event": 507,
    "number": 507,
    "hits": 507,
    "x": 106,
}
BLOCKS = {106: "ZL", 404: "L4", 209: "XZ", 507: "ZS"}


def rows() -> dict[str, Any]:
    counts = [e % 4 for e in range(ENTRIES)]
    return {
        "x": np.arange(ENTRIES) / 2,
        "noise": np.arange(ENTRIES),
        "Muon": [[{"pt": float(k), "eta": e / 4} for k in range(n)] for e, n in enumerate(counts)],
        "event": [Event(e, [Hit(k / 2, e) for k in range(n)]) for e, n in enumerate(counts)],
    }


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("compression") / "mixed.root"
    types = {"x": "f8", "noise": "i8", "Muon": "var * {pt: float32, eta: float32}", "event": Event}
    with sapwood.recreate(path, compression="zstd:1") as file:
        file.mktree("t", types, compression=SETTINGS, auto_flush=120).extend(rows())
        file.mktree("plain", {"x": "f8"}, compression="lz4:2").extend({"x": rows()["x"]})
        file.mktree("one", {"x": "f8", "y": "f8"}, compression={"y": "lzma:1"}).extend(
            {"x": rows()["x"], "y": rows()["x"]}
        )
    return path


def test_records_and_baskets_have_the_setting(path: Path) -> None:
    raw = path.read_bytes()
    with uproot.open(path) as file:
        tree = file["t"]
        for branch in tree.values(recursive=True):
            if branch.num_baskets == 0:
                continue
            code = branch.member("fCompress")
            assert code == WANTED.get(branch.name, 507), branch.name
            for number in range(branch.num_baskets):
                key = branch.basket_key(number)
                block = raw[key.fSeekKey + key.fKeylen :][:2].decode("latin-1")
                if code == 0:
                    assert key.fNbytes == key.fKeylen + key.fObjlen
                elif key.fNbytes < key.fKeylen + key.fObjlen:
                    assert block == BLOCKS[code], branch.name
        assert file["plain/x"].member("fCompress") == 402
        assert [file["one"][name].member("fCompress") for name in "xy"] == [501, 201]


def test_real_root_uproot_and_sapwood_read_the_values(path: Path) -> None:
    lines = """
file = ROOT.TFile(sys.argv[1])
tree = file.Get("t")
found = {name: [] for name in ("x", "noise", "Muon_pt", "Muon_eta", "number", "hits.x", "hits.layer")}
for entry in range(tree.GetEntries()):
    assert tree.GetEntry(entry) > 0
    for name in found:
        leaf = tree.GetLeaf(name)
        found[name].append([leaf.GetValue(k) for k in range(leaf.GetLen())])
settings = {b.GetName(): b.GetCompressionSettings() for b in tree.GetListOfBranches()}
answer([found, settings])
"""
    found, settings = root(lines, path)
    assert all(settings[name] == WANTED[name] for name in settings)
    events = rows()["event"]
    wanted = {
        "number": [[e.number] for e in events],
        "hits.x": [[h.x for h in e.hits] for e in events],
        "hits.layer": [[h.layer for h in e.hits] for e in events],
        "Muon_pt": [[m["pt"] for m in muons] for muons in rows()["Muon"]],
        "Muon_eta": [[m["eta"] for m in muons] for muons in rows()["Muon"]],
        "x": [[x] for x in rows()["x"]],
        "noise": [[x] for x in rows()["noise"]],
    }
    assert found == wanted
    for reader in (uproot, sapwood):
        with reader.open(path) as file:
            for name, values in wanted.items():
                array = file["t"][name].array().tolist()
                assert array == ([one for (one,) in values] if name in ("x", "noise", "number") else values)


def test_added_entries_and_branches_keep_to_their_settings(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.root"
    copy.write_bytes(path.read_bytes())
    with sapwood.update(copy) as file:
        file.add_branches(
            "one", {"z": np.arange(ENTRIES), "w": np.arange(ENTRIES)}, compression={"z": "lz4:1"}
        )
        with file.append("t") as tree:
            names = {name: rows()[name] for name in ("x", "noise", "event")}
            muons = sapwood.open(path)["t"].arrays(["Muon_pt", "Muon_eta"])
            tree.extend({**names, "Muon_pt": muons.Muon_pt, "Muon_eta": muons.Muon_eta})
    raw = copy.read_bytes()
    with uproot.open(copy) as file:
        assert [file["one"][name].member("fCompress") for name in "xyzw"] == [501, 201, 401, 501]
        assert file["t/x"].num_entries == 2 * ENTRIES
        for name in ("x", "Muon_pt", "number"):
            branch = file["t"][name]
            key = branch.basket_key(branch.num_baskets - 1)
            assert raw[key.fSeekKey + key.fKeylen :][:2].decode("latin-1") == BLOCKS[WANTED[name]]
    lines = """
file = ROOT.TFile(sys.argv[1])
answer([[[row.x, row.y, row.z, row.w] for row in file.Get("one")], [[row.x, row.noise] for row in file.Get("t")]])
"""
    ones, twice = root(lines, copy)
    assert ones == [[e / 2, e / 2, e, e] for e in range(ENTRIES)]
    assert twice == [[e / 2, e] for e in range(ENTRIES)] * 2


def test_settings_for_nothing_are_refused(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        with pytest.raises(KeyError, match="'Moun_pt'.*nearest: 'Muon_pt'"):
            file.mktree("t", {"Muon_pt": "f4"}, compression={"Moun_pt": "lz4"})
        with pytest.raises(ValueError, match="brotli"):
            file.mktree("t", {"Muon_pt": "f4"}, compression={"Muon_pt": "brotli:3"})
        with pytest.raises(TypeError, match="compression"):
            file.mktree("t", {"Muon_pt": "f4"}, compression={"Muon_pt": 0.5})


def test_compression_has_levels() -> None:
    for wrong in (
        -1,
        1000,
        600,
        150,
        "zstd:99",
        "zstd:12",
        "lz4:10",
        "zlib:-1",
        sapwood.Compression("ZSTD", 99),
    ):
        with pytest.raises(sapwood.errors.MismatchError, match="no such compression"):
            sapwood.recreate(io.BytesIO(), compression=wrong)
    for setting, code in (
        ("ZSTD:5", 505),
        ("raw", 0),
        ("none", 0),
        ("NONE", 0),
        (404, 404),
        ("zstd:11", 511),
        (None, 0),
    ):
        memory = io.BytesIO()
        sapwood.recreate(memory, compression=setting).close()
        assert sapwood.open(memory).fCompress == code


def test_a_rewrite_takes_settings_by_branch(path: Path, tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "old.root", compression="zlib:1") as file:
        numbers = np.arange(20000)
        file["t"] = {"a": numbers, "b_x": numbers, "b_y": numbers, "v": [[1.5], []] * 10000}
    settings = {"a": "lz4:4", "b_*": 505, "*": None}
    sapwood.rewrite(tmp_path / "old.root", tmp_path / "new.root", compression=settings)
    tree = sapwood.open(tmp_path / "new.root")["t"]
    found = {branch.name: str(branch.compression) for branch in tree.branches}
    assert found == {"a": "LZ4(4)", "b_x": "ZSTD(5)", "b_y": "ZSTD(5)", "nv": "None", "v": "None"}
    assert tree["b_x"].array().tolist() == numbers.tolist() and tree["v"].array()[:3].tolist() == [
        [1.5],
        [],
        [1.5],
    ]
    assert tree["v"].compressed_bytes > 2 * sapwood.open(tmp_path / "old.root")["t/v"].compressed_bytes
    with pytest.raises(KeyError, match="no branch 'c' to compress"):
        sapwood.rewrite(tmp_path / "old.root", tmp_path / "no.root", compression={"c": "lz4"})
    with pytest.raises(ValueError, match="compression takes new ones"):
        sapwood.rewrite(tmp_path / "old.root", tmp_path / "no.root", compression=settings, baskets="keep")
    assert not (tmp_path / "no.root").exists()


def test_branches_that_are_filled_change_their_compression(tmp_path: Path) -> None:
    numbers = np.arange(10000)
    with sapwood.recreate(tmp_path / "a.root", compression=sapwood.ZLIB(1)) as file:
        file.mktree("t", {"a": "i8", "b": "i8", "hits": "var * f4"})
        file["t"]["a"].compression = sapwood.LZ4(4)
        file["t"].extend({"a": numbers, "b": numbers, "hits": [[]] * 10000})
        assert file["t"].compression == {
            "a": sapwood.LZ4(4),
            "b": sapwood.ZLIB(1),
            "nhits": sapwood.ZLIB(1),
            "hits": sapwood.ZLIB(1),
        }
        file["t"].compression = {"b": None, "*": "zstd:5"}
        file["t"].extend({"a": numbers, "b": numbers, "hits": [[1.5]] * 10000})
        assert file["t"]["b"].compression is None and file["t"]["a"].compression == sapwood.ZSTD(5)
        file.compression = None
        file["plain"] = {"x": numbers}
        assert file.compression is None
        with pytest.raises(KeyError, match="no branch 'c'"):
            file["t"].compression = {"c": None}
    tree = sapwood.open(tmp_path / "a.root")["t"]
    assert [tree["b"].basket_compressed_bytes(place) > 80000 for place in range(tree["b"].num_baskets)] == [
        False,
        True,
    ]
    assert tree["a"].array().tolist() == tree["b"].array().tolist() == [*numbers, *numbers]
    assert tree["hits"].array()[[0, -1]].tolist() == [[], [1.5]]
    assert sapwood.open(tmp_path / "a.root")["plain/x"].compression is None
    assert root(ROOT_SUMS, tmp_path / "a.root") == [int(numbers.sum()) * 2] * 2 + [
        15000.0,
        int(numbers.sum()),
    ]


ROOT_SUMS = """
file = ROOT.TFile(sys.argv[1])
sums = [0, 0, 0.0]
for entry in file.Get("t"):
    sums = [sums[0] + entry.a, sums[1] + entry.b, sums[2] + sum(entry.hits)]
answer(sums + [sum(entry.x for entry in file.Get("plain"))])
"""
