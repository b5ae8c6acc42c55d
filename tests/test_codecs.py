"""Every codec and level in trees, RNTuples and files: what real ROOT and uproot read, and which setting they see."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.rootrun import root

sapwood = pytest.importorskip("sapwood")
uproot = pytest.importorskip("uproot")

ENTRIES = 2000
CODES = [100 * algorithm + level for algorithm in (1, 2, 3, 4, 5) for level in range(1, 10)] + [510, 511]
MAGIC = {1: b"ZL", 2: b"XZ", 3: b"CS", 4: b"L4", 5: b"ZS"}


def values(code: int) -> np.ndarray:
    """Numbers that pack, other ones for each setting."""
    generator = np.random.default_rng(code)
    return np.cumsum(generator.integers(0, 5, ENTRIES)).astype("i4")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("codecs") / "all.root"
    names = {f"c{code}": "i4" for code in CODES}
    with sapwood.recreate(path, compression={f"c{code}": code for code in CODES}) as file:
        file["assigned"] = {name: values(int(name[1:])) for name in names}
        rows = {name: values(int(name[1:])) for name in names}
        file.mktree(
            "t",
            {**names, "v": "var * f4"},
            compression={**{f"c{code}": str(code) for code in CODES}, "*v": "lz4:9"},
        )
        file["t"].extend({**rows, "v": [[0.5] * (e % 4) for e in range(ENTRIES)]})
        own: dict[str, Any] = {f"c{code}": code for code in CODES}
        file.mkrntuple("n", {**names, "v": "var * float32"}, compression={**own, "*": "lzma:3"}).extend(
            {**rows, "v": [[0.5] * (e % 4) for e in range(ENTRIES)]}
        )
    return path


def test_blocks_are_those_of_the_codec(path: Path) -> None:
    raw = path.read_bytes()
    with uproot.open(path) as file:
        for tree in ("t", "assigned"):
            for code in CODES:
                branch = file[tree][f"c{code}"]
                key = branch.basket_key(0)
                assert branch.member("fCompress") == code
                assert raw[key.fSeekKey + key.fKeylen :][:2] == MAGIC[code // 100], code
                assert key.fNbytes < key.fKeylen + key.fObjlen


@pytest.mark.parametrize("reader", [uproot, sapwood], ids=["uproot", "sapwood"])
def test_uproot_and_sapwood_read_the_values(path: Path, reader: Any) -> None:
    # uproot does not inflate the codec of ROOT 2 to 4.
    codes = [code for code in CODES if reader is sapwood or code // 100 != 3]
    with reader.open(path) as file:
        for tree in ("t", "assigned", "n"):
            for code in codes:
                assert np.array_equal(np.asarray(file[tree][f"c{code}"].array()), values(code)), (tree, code)
        assert file["t"]["v"].array().tolist() == file["n"]["v"].array().tolist()


def test_real_root_reads_the_values_and_sees_the_settings(path: Path) -> None:
    lines = """
import numpy as np
file = ROOT.TFile(sys.argv[1])
found, settings = {}, {}
for name in ("t", "assigned"):
    tree = file.Get(name)
    names = [b.GetName() for b in tree.GetListOfBranches() if b.GetName().startswith("c")]
    columns = ROOT.RDataFrame(tree).AsNumpy(names)
    found[name] = {n: columns[n].tolist() for n in names}
    settings[name] = {b.GetName(): b.GetCompressionSettings() for b in tree.GetListOfBranches()}
reader = ROOT.RNTupleReader.Open("n", sys.argv[1])
columns = ROOT.RDataFrame("n", sys.argv[1]).AsNumpy(names)
found["n"] = {n: columns[n].tolist() for n in names}
descriptor = reader.GetDescriptor()
settings["n"] = {}
for cluster in descriptor.GetClusterIterable():
    for n in [*names, "v"]:
        field = descriptor.FindFieldId(n)
        column = descriptor.FindPhysicalColumnId(field, 0, 0)
        settings["n"][n] = int(cluster.GetColumnRange(column).GetCompressionSettings().value())
answer([found, settings])
"""
    found, settings = root(lines, path)
    for tree in ("t", "assigned", "n"):
        for code in CODES:
            assert found[tree][f"c{code}"] == values(code).tolist(), (tree, code)
            assert settings[tree][f"c{code}"] == code
    assert settings["t"]["v"] == settings["t"]["nv"] == 409
    assert settings["n"]["v"] == 203


def test_files_say_each_setting(tmp_path: Path) -> None:
    paths = []
    for code in CODES:
        paths.append(tmp_path / f"{code}.root")
        with sapwood.recreate(paths[-1], compression=code) as file:
            file["text"] = "sapwood " * 100
            file["t"] = {"x": values(code)}
    lines = """
found = []
for path in sys.argv[1:]:
    file = ROOT.TFile(path)
    x = file.Get("t").GetBranch("x")
    found.append([file.GetCompressionSettings(), x.GetCompressionSettings(), str(file.Get("text").GetString())])
answer(found)
"""
    assert root(lines, *paths) == [[code, code, "sapwood " * 100] for code in CODES]


def test_fields_without_compression_are_stored_as_in_memory(tmp_path: Path) -> None:
    """Split encodings gain nothing there."""
    with sapwood.recreate(tmp_path / "a.root") as file:
        file.mkrntuple("n", {"x": values(1), "y": values(1)}, compression={"x": None, "*": "zstd"})
    with sapwood.recreate(
        tmp_path / "b.root", format="rntuple", compression={"y*": "zstd:5", "*": "none"}
    ) as file:
        file["n"] = {"x": values(1), "y": values(1)}
    for name in ("a.root", "b.root"):
        assert values(1).astype("<i4").tobytes() in (tmp_path / name).read_bytes()
        ntuple = sapwood.open(tmp_path / name)["n"]
        assert ntuple["x"].array().tolist() == ntuple["y"].array().tolist() == values(1).tolist()


def test_skims_and_parallel_trees_take_settings_by_name(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "in.root") as file:
        file["t"] = {"a": values(1), "b": values(2)}
    for format in ("ttree", "rntuple"):
        out = tmp_path / f"{format}.root"
        settings = {"b*": "lzma:2", "*": "lz4:1"}
        sapwood.skim(f"{tmp_path / 'in.root'}:t", out, compression=settings, format=format)
        tree = sapwood.open(out)["t"]
        assert tree["a"].array().tolist() == values(1).tolist()
        if format == "ttree":
            assert [tree[name].compression.code for name in "ab"] == [401, 202]
        with pytest.raises(KeyError, match="no branch 'c' to compress"):
            sapwood.skim(f"{tmp_path / 'in.root'}:t", out, compression={"c": "lz4"}, format=format)
    with sapwood.recreate(tmp_path / "many.root") as file:
        with file.parallel_tree("t", {"a": "i4", "b": "i4"}, compression=settings).context() as context:
            context.extend({"a": values(1), "b": values(2)})
        with file.parallel_rntuple("n", {"a": "i4", "b": "i4"}, compression=settings).context() as context:
            context.extend({"a": values(1), "b": values(2)})
    tree = sapwood.open(tmp_path / "many.root")["t"]
    assert [tree[name].compression.code for name in "ab"] == [401, 202]


@pytest.mark.parametrize("to", [None, "rntuple"])
def test_the_command_takes_settings_by_name(path: Path, tmp_path: Path, to: str | None) -> None:
    def run(*arguments: object) -> Any:
        command = [
            sys.executable,
            "-m",
            "sapwood",
            "rewrite",
            path,
            tmp_path / "new.root",
            "--force",
            *arguments,
        ]
        return subprocess.run([*map(str, command)], capture_output=True, text=True)

    form = ["--to", to, "--tree", "t", "--tree", "assigned"] if to else []
    done = run("--compression", "zstd:1", "--compression", "c1*=lz4:4", "--compression", "c101=209", *form)
    assert done.returncode == 0, done.stderr
    file = sapwood.open(tmp_path / "new.root")
    for name in ("t", "n"):
        assert np.array_equal(file[name]["c101"].array(), values(101))
    if to is None:
        found = {name: file["t"][name].compression.code for name in ("c101", "c102", "c511", "v")}
        assert found == {"c101": 209, "c102": 404, "c511": 501, "v": 501}
    for wrong, words in [
        (["brotli"], "no such compression: brotli"),
        (["zstd:12"], "levels of zstd go from 0 to 11"),
        (["lz4", "zstd"], "two settings"),
        (["d*=lz4"], 'no branch "d\\*" to compress'),
        (["=lz4"], "names no branch"),
    ]:
        given = [word for one in wrong for word in ("--compression", one)]
        done = run(*given, *form)
        assert done.returncode != 0 and re.search(words, done.stderr), done.stderr
