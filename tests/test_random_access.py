"""Baskets whose blocks end at entries: ROOT, uproot and jsroot read them, merging keeps their blocks, and single entries
need few of these."""

from __future__ import annotations

import dataclasses
import json
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import jsroot as npm
from support.rootrun import root

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")
uproot = pytest.importorskip("uproot")

ENTRIES = 2_500
SETTINGS = [1, 7, 128, "auto"]


@dataclasses.dataclass
class Hit:
    cell: int
    energy: float


@dataclasses.dataclass
class Event:
    number: int
    hits: list[Hit]
    label: str


def columns() -> dict[str, Any]:
    numbers = np.arange(ENTRIES)
    lists = ak.unflatten(np.arange((numbers % 5).sum(), dtype="f4"), numbers % 5)
    words = ak.Array([f"entry {number // 10}" for number in numbers])
    return {"x": numbers / 3, "i": (numbers // 7).astype("i4"), "list": lists, "s": words}


def write(path: Path, random_access: Any, compression: Any = "zlib:6", **options: Any) -> Path:
    """Flat columns, and objects split and whole, in clusters of a thousand entries."""
    events = [
        Event(number, [Hit(cell, number + cell / 8) for cell in range(number % 4)], "ab" * (number % 3))
        for number in range(ENTRIES)
    ]
    with sapwood.recreate(path, compression=compression, random_access=random_access, **options) as file:
        file.mktree("flat", columns(), auto_flush=1_000)
        for name, split_level in (("split", 99), ("whole", 0)):
            tree = file.mktree(name, {"event": Event}, auto_flush=1_000, split_level=split_level)
            for event in events:
                tree.fill(event=event)
    return path


def blocks(path: Path, branch: str) -> list[list[int]]:
    """Unsealed bytes of the blocks of each basket, by their headers; none where it is raw."""
    content, found = path.read_bytes(), []
    with sapwood.open(path) as file:
        tree, name = branch.split("/", 1)
        of = file[tree][name]
        places = [of.basket_seek(number) for number in range(of.num_baskets)]
    for at in places:
        nbytes, _, objlen, _, keylen = struct.unpack(">iHiIH", content[at : at + 16])
        payload, sizes, covered = at + keylen, [], 0
        while nbytes - keylen < objlen and covered < objlen:
            stored = int.from_bytes(content[payload + 3 : payload + 6], "little")
            sizes.append(int.from_bytes(content[payload + 6 : payload + 9], "little"))
            covered, payload = covered + sizes[-1], payload + 9 + stored
        assert covered in (0, objlen)
        found.append(sizes)
    return found


ROOT_VALUES = """
file = ROOT.TFile(sys.argv[1])
out = {}
for tree in ("flat", "split", "whole"):
    found = file.Get(tree)
    rows = []
    entries = range(found.GetEntries()) if len(sys.argv) < 3 else json.loads(sys.argv[2])
    for entry in entries:
        assert found.GetEntry(entry) > 0
        if tree == "flat":
            rows.append([found.x, found.i, list(found.list), found.GetLeaf("s").GetValueString()])
        else:
            event = found.event
            rows.append([event.number, [[hit.cell, hit.energy] for hit in event.hits], str(event.label)])
    out[tree] = rows
answer(out)
"""
CLASSES = """
ROOT.gInterpreter.Declare('''
#include <string>
#include <vector>
struct Hit { Long64_t cell; double energy; };
struct Event { Long64_t number; std::vector<Hit> hits; std::string label; };
''')
"""


def expected(entries: list[int]) -> dict[str, list[Any]]:
    table = columns()
    flat = [
        [float(table["x"][e]), int(table["i"][e]), table["list"][e].tolist(), table["s"][e]] for e in entries
    ]
    events = [[e, [[cell, e + cell / 8] for cell in range(e % 4)], "ab" * (e % 3)] for e in entries]
    return {"flat": flat, "split": events, "whole": events}


@pytest.mark.parametrize(
    ("random_access", "compression"),
    [*((each, "zlib:6") for each in SETTINGS), (7, "lz4:4"), (7, "zstd:5"), (7, "lzma:5")],
)
def test_real_root_reads_divided_baskets(tmp_path: Path, random_access: Any, compression: str) -> None:
    path = write(tmp_path / "divided.root", random_access, compression)
    assert root(CLASSES + ROOT_VALUES, path) == expected(list(range(ENTRIES)))
    few = [2_499, 0, 1_234, 999, 1_000, 127, 128]
    assert root(CLASSES + ROOT_VALUES, path, json.dumps(few)) == expected(few)


@pytest.mark.parametrize("random_access", SETTINGS)
def test_uproot_reads_divided_baskets(tmp_path: Path, random_access: Any) -> None:
    path = write(tmp_path / "divided.root", random_access)
    tree = uproot.open(path)["flat"]
    for name, values in columns().items():
        assert ak.array_equal(tree[name].array(), ak.Array(values), dtype_exact=False), name


SELECT = """
import { openFile, TSelector, treeProcess } from 'jsroot';
const file = await openFile(process.argv[2]);
const tree = await file.readObject('flat');
const rows = [];
class Rows extends TSelector {
  constructor() { super(); for (const name of ['x', 'i', 'list', 's']) this.addBranch(name); }
  Process() { const { x, i, list, s } = this.tgtobj; rows.push([x, i, Array.from(list), s]); }
}
await treeProcess(tree, new Rows());
console.log(JSON.stringify(rows));
"""


@pytest.mark.parametrize("random_access", [7, "auto"])
def test_jsroot_reads_divided_baskets(tmp_path: Path, jsroot: Path, random_access: Any) -> None:
    path = write(tmp_path / "divided.root", random_access)
    assert npm.run(jsroot, SELECT, path) == expected(list(range(ENTRIES)))["flat"]


def test_blocks_hold_as_many_entries_as_was_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "divided.root", 128)
    assert blocks(path, "flat/x") == [[1024] * 7 + [832]] * 2 + [[1024] * 3 + [928]]
    assert [len(sizes) for sizes in blocks(path, "flat/list")] == [9, 9, 5]
    # Each branch of an object, and the object as a whole.
    assert all(len(sizes) >= 4 for sizes in blocks(path, "split/number"))
    assert all(len(sizes) >= 4 for sizes in blocks(path, "whole/event"))


def test_branches_and_files_have_settings_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "own.root"
    with sapwood.recreate(path, compression="zlib:6", random_access=100) as file:
        setting = {"list": None, "s": 500, "*": 250}
        file.mktree("own", columns(), auto_flush=1_000, random_access=setting)
        file.mktree("file", columns(), auto_flush=1_000)
    counts = {name: len(blocks(path, f"own/{name}")[0]) for name in columns()}
    assert counts == {"x": 4, "i": 4, "list": 1, "s": 3}
    assert len(blocks(path, "file/x")[0]) == 10
    by_name = {"li*": None, "x": 500, "elsewhere": 10, "*": 250}
    with sapwood.recreate(path, compression="zlib:6", random_access=by_name) as file:
        file.mktree("file", columns(), auto_flush=1_000)
        file.mktree("own", columns(), auto_flush=1_000, random_access=100)
    counts = {name: len(blocks(path, f"file/{name}")[0]) for name in columns()}
    assert counts == {"x": 2, "i": 4, "list": 1, "s": 5}
    assert len(blocks(path, "own/x")[0]) == 10
    whole = path.read_bytes()
    with pytest.raises(sapwood.errors.MismatchError, match="random access"):
        sapwood.recreate(path, random_access={"x": "some"})
    assert path.read_bytes() == whole, "the file is untouched"
    with sapwood.recreate(path) as file, pytest.raises(sapwood.errors.NotFoundError, match="no branch 'y'"):
        file.mktree("own", columns(), random_access={"y": 1})
    for wrong in (0, -1, "some", "1.5"):
        with pytest.raises(sapwood.errors.MismatchError, match="random access|a block"):
            sapwood.recreate(path, random_access=wrong)
    for wrong in (True, 1.5):
        with pytest.raises(TypeError, match="random access"):
            sapwood.recreate(path, random_access=wrong)


def test_single_entries_are_the_same(tmp_path: Path) -> None:
    """One entry, many in one call, masks, cuts, rows, dataclasses: all know blocks."""
    entries = [0, 6, 7, 999, 1_000, 1_777, 2_499]
    for random_access in SETTINGS:
        path = write(tmp_path / "divided.root", random_access)
        with sapwood.open(path) as file:
            flat, wanted = file["flat"], expected(entries)["flat"]
            together = flat.arrays(["x", "i", "list", "s"], entries=entries)
            assert [list(row.values()) for row in together.to_list()] == wanted
            mask = np.isin(np.arange(ENTRIES), entries)
            assert flat.arrays(["x", "i", "list", "s"], entries=mask).to_list() == together.to_list()
            cut = flat.arrays(["x", "i", "list", "s"], cut="Entry$ == 1777 || i == 0").to_list()
            assert len(cut) == 8 and list(cut[-1].values()) == expected([1_777])["flat"][0]
            rows = flat.rows()
            # Backwards and forwards: each jump reads a block, and going on from there reads on.
            for entry in [*reversed(entries), *entries, 1_776, 1_777, 1_778, 1_779, 5]:
                x, i, items, text = expected([entry])["flat"][0]
                row = rows[entry]
                assert (row["x"], row["i"], list(row["list"]), row["s"]) == (x, i, items, text)
            for tree in ("split", "whole"):
                read = file[tree]["event"].array(entries=entries).to_list()
                assert read == file[tree]["event"].array()[entries].to_list()
                assert [[e["number"], e["label"]] for e in read] == [[e, "ab" * (e % 3)] for e in entries]


HADD = """
merger = ROOT.TFileMerger(False)
merger.SetFastMethod(True)
merger.OutputFile(sys.argv[1], True, 106)
for path in sys.argv[2:]:
    assert merger.AddFile(path)
assert merger.Merge()
"""


def test_merging_keeps_blocks(tmp_path: Path) -> None:
    first, second = (write(tmp_path / f"{name}.root", 100) for name in ("first", "second"))
    before = blocks(first, "flat/x") + blocks(second, "flat/x")
    ours, theirs = tmp_path / "ours.root", tmp_path / "theirs.root"
    sapwood.merge(ours, [first, second])
    root(CLASSES + HADD, theirs, first, second)
    for merged in (ours, theirs):
        assert blocks(merged, "flat/x") == before
        with sapwood.open(merged) as file:
            assert file["flat/x"].array(entries=[0, 3_000]).tolist() == [0.0, 500 / 3]
    # Blocks stay where they are when baskets are compressed again.
    again = tmp_path / "again.root"
    sapwood.merge(again, [first, second], compression="zstd:5")
    assert blocks(again, "flat/x") == before
    assert root(CLASSES + ROOT_VALUES, again, "[0, 2600]")["flat"] == expected([0, 100])["flat"]


def test_rewriting_divides_baskets(tmp_path: Path) -> None:
    plain, divided = write(tmp_path / "plain.root", None), tmp_path / "divided.root"
    assert [len(sizes) for sizes in blocks(plain, "flat/x")] == [1, 1, 1]
    sapwood.rewrite(plain, divided, random_access=50, auto_flush=1_000)
    assert [len(sizes) for sizes in blocks(divided, "flat/x")] == [20, 20, 10]
    assert root(CLASSES + ROOT_VALUES, divided) == expected(list(range(ENTRIES)))
    with pytest.raises(sapwood.errors.MismatchError, match="random_access takes new ones"):
        sapwood.rewrite(plain, divided, random_access=50, baskets="keep")
    # The file's own record has the name that the file got at last.
    assert b".unfinished" not in divided.read_bytes()
    target = tmp_path / "command.root"
    arguments = ["sapwood", "rewrite", str(plain), str(target), "--random-access", "auto"]
    assert sapwood._core.command(arguments) == 0
    assert len(blocks(target, "flat/x")[0]) > 1
    assert sapwood._core.command([*arguments[:4], "--force", "--random-access", "none"]) != 0


def test_verify_finds_a_chain_that_is_no_smaller_than_what_it_holds(tmp_path: Path) -> None:
    path = write(tmp_path / "divided.root", 128)
    assert sapwood.verify(path) == []
    content = bytearray(path.read_bytes())
    with sapwood.open(path) as file:
        at = file["flat/x"].basket_seek(0)
    nbytes, keylen = struct.unpack(">i10xH", content[at : at + 16])
    # One block that could not shrink, as long as the payload: real ROOT takes it for raw entries.
    held = bytes(nbytes - keylen - 9 - 11)
    block = b"\x78\x01\x01" + struct.pack("<HH", len(held), len(held) ^ 0xFFFF) + held
    block += struct.pack(">I", zlib.adler32(held))
    sizes = len(block).to_bytes(3, "little") + len(held).to_bytes(3, "little")
    content[at + keylen : at + nbytes] = b"ZL\x08" + sizes + block
    content[at + 6 : at + 10] = struct.pack(">i", len(held))
    content[at + keylen - 5 : at + keylen - 1] = struct.pack(">i", keylen + len(held))
    path.write_bytes(content)
    findings = [str(finding) for finding in sapwood.verify(path)]
    assert any("not smaller than what they hold" in finding for finding in findings), findings


def test_a_length_that_lies_is_an_error_and_no_other_entry(tmp_path: Path) -> None:
    path = tmp_path / "a.root"
    with sapwood.recreate(path, compression="zlib:1", random_access=16) as file:
        file.mktree("t", {"i": "i8"}, auto_flush=10_000).extend({"i": np.arange(10_000)})
    raw = bytearray(path.read_bytes())
    with sapwood.open(path)["t"] as tree:
        start = tree["i"].basket_seek(0)
    header = raw.index(b"ZL\x08", start)
    assert int.from_bytes(raw[header + 6 : header + 9], "little") == 16 * 8
    for bit in range(24):
        spoilt = bytearray(raw)
        spoilt[header + 6 + bit // 8] ^= 1 << bit % 8
        with sapwood.open(bytes(spoilt))["t"] as tree:
            for entries in ([387, 4147], [9_999]):
                with pytest.raises(sapwood.errors.MalformedError, match="basket 0"):
                    tree.arrays(["i"], entries=entries)
            with pytest.raises(sapwood.errors.MalformedError, match="basket 0"):
                tree.rows(columns=["i"])[5_000]["i"]


@pytest.mark.parametrize("entries", ["list", "sorted", "jumps", "near", "all"])
def test_rows_in_any_order_are_those_that_were_written(entries: str, tmp_path: Path) -> None:
    path = tmp_path / "a.root"
    with sapwood.recreate(path, compression="zstd:1", random_access=50, threads=1) as file:
        file.mktree("t", {"i": "i8"}, auto_flush=20_000).extend({"i": np.arange(60_000)})
    wanted = {
        "list": [59_001, 7, 30_017, 101],
        "sorted": [7, 101, 30_017, 59_001],
        "jumps": [0, 40_000, 3, 59_999, 20_000],
        "near": [0, 5_000, 9_000, 1_000, 13_000],
        "all": list(range(60_000)),
    }[entries]
    with sapwood.open(path)["t"] as tree:
        rows = tree.rows(wanted, columns=["i"]) if entries in ("list", "sorted") else tree.rows(columns=["i"])
        found = (
            [row["i"] for row in rows]
            if entries in ("list", "sorted", "all")
            else [rows[e]["i"] for e in wanted]
        )
    assert found == wanted


def test_a_wrong_setting_leaves_the_file_that_is_there(tmp_path: Path) -> None:
    path = tmp_path / "keep.root"
    with sapwood.recreate(path) as file:
        file["t"] = {"x": [1]}
    before = path.read_bytes()
    for wrong in ("zz", {"*": "zz"}, {"x": "zz"}, {"x": "zstd:99"}):
        with pytest.raises(sapwood.errors.MismatchError):
            sapwood.recreate(path, compression=wrong)
        assert path.read_bytes() == before


def test_entries_that_are_added_get_the_blocks_of_those_before(tmp_path: Path) -> None:
    path = tmp_path / "grows.root"
    with sapwood.recreate(path, compression="zlib:6") as file:
        file.mktree("flat", columns(), auto_flush=1_000, random_access={"s": "off", "i": 16, "*": 7})
    with sapwood.update(path) as file:
        file["flat"].extend(columns())
    for branch, entries in (("x", 7), ("i", 16), ("list", 7), ("s", 0)):
        found = blocks(path, f"flat/{branch}")
        old, new = found[: len(found) // 2], found[len(found) // 2 :]
        assert len(new) == 3
        assert (len(new[0]) > 50) == (entries > 0), branch
        assert new == old, branch
    found = sapwood.open(path)["flat"].arrays()
    for name, values in columns().items():
        assert ak.array_equal(found[name], ak.concatenate([ak.Array(values)] * 2), dtype_exact=False), name
    # What was said goes before.
    with sapwood.update(path, random_access=128) as file:
        file["flat"].extend(columns())
    assert len(blocks(path, "flat/i")[-1]) == 4


def test_clusters_that_merging_makes_can_have_blocks(tmp_path: Path) -> None:
    parts = [tmp_path / f"{name}.root" for name in "ab"]
    for part in parts:
        with sapwood.recreate(part, compression="zlib:6") as file:
            file.mktree("flat", columns(), auto_flush=1_000)
    target = tmp_path / "all.root"
    sapwood.merge(target, [str(part) for part in parts], recluster=True, auto_flush=1_000, random_access=16)
    assert [len(sizes) for sizes in blocks(target, "flat/x")] == [63] * 5
    command = [sys.executable, "-m", "sapwood", "merge", "--force", "--recluster"]
    command += ["--cluster-entries", "1000"]
    subprocess.run([*command, "--random-access", "16", target, *parts], check=True, capture_output=True)
    assert [len(sizes) for sizes in blocks(target, "flat/x")] == [63] * 5
    added = sapwood.open(target)["flat"]["list"].array()[ENTRIES:]
    assert ak.array_equal(added, columns()["list"], dtype_exact=False)
    with pytest.raises(sapwood.errors.MismatchError, match="recluster=True"):
        sapwood.merge(target, [str(part) for part in parts], random_access=16)


def test_a_skim_can_have_blocks(tmp_path: Path) -> None:
    source, target = tmp_path / "source.root", tmp_path / "skim.root"
    with sapwood.recreate(source) as file:
        file.mktree("flat", columns(), auto_flush=1_000)
    sapwood.skim(f"{source}:flat", target, ["x", "i"], "i >= 0", random_access={"i": 16})
    assert all(not sizes or len(sizes) == 1 for sizes in blocks(target, "flat/x"))
    assert all(len(sizes) > 10 for sizes in blocks(target, "flat/i"))
    with pytest.raises(sapwood.errors.MismatchError, match="pages instead of baskets"):
        sapwood.skim(f"{source}:flat", target, format="rntuple", random_access=16)


@pytest.mark.parametrize("what", ["checksum", "header", "cut"])
def test_errors_name_branch_basket_block_and_offset(tmp_path: Path, what: str) -> None:
    path = write(tmp_path / "damaged.root", 128, "lz4:4")
    with sapwood.open(path) as file:
        at = file["flat"]["x"].basket_seek(1)
    content = bytearray(path.read_bytes())
    place = at + struct.unpack(">H", content[at + 14 : at + 16])[0]
    for _ in range(3):
        place += 9 + int.from_bytes(content[place + 3 : place + 6], "little")
    # The fourth block: its checksum, its magic, or its length.
    content[place + {"checksum": 12, "header": 0, "cut": 5}[what]] ^= 0x55
    path.write_bytes(content)
    tree = sapwood.open(path)["flat"]
    with pytest.raises(sapwood.SapwoodError) as raised:
        tree["x"].array(library="np")
    error = raised.value
    assert (error.object, error.basket, error.block, error.offset) == ("flat/x", 1, 3, place), str(error)
    assert f"basket 1, block 3, offset {place}" in str(error)
    # Entries of other blocks are read, where the headers are whole.
    if what == "checksum":
        assert tree["x"].array(entry_start=1_000, entry_stop=1_010, library="np")[0] == 1_000 / 3
        with pytest.raises(sapwood.SapwoodError, match=f"basket 1, block 3, offset {place}"):
            tree["x"].array(entry_start=1_400, entry_stop=1_401, library="np")
