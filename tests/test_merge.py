"""Files that are merged: every value is where `hadd` puts it, in real ROOT, in uproot and here; and what goes wrong takes nothing away."""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import subprocess
import sys
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import ranged
from support.rootrun import root
from test_classes import BUILD, CPP, EVENTS, READ, Event, plain

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")
uproot = pytest.importorskip("uproot")

TREE = "deep/er/tree"
SMALL_FILES = int(os.environ.get("SAPWOOD_SMALL_FILES", "50"))

FILL = """
from array import array
def make(path, first, entries, compression=101, flush=None, order=1, embedded=False, title="one"):
    file = ROOT.TFile(path, "RECREATE", "", compression)
    ROOT.TNamed("note", path.rsplit("/")[-1]).Write()
    inner = file.mkdir("deep").mkdir("er")
    inner.cd()
    tree = ROOT.TTree("tree", title)
    if flush is not None:
        tree.SetAutoFlush(flush)
    if embedded:
        tree.SetDirectory(ROOT.nullptr)
    x, n, y = array("f", [0]), array("i", [0]), array("d", 20 * [0])
    v, s, vv = ROOT.std.vector("double")(), ROOT.std.string(), ROOT.std.vector("std::vector<int>")()
    branches = [("x", x, "x/F"), ("n", n, "n/I"), ("y", y, "y[n]/D"), ("v", v), ("s", s), ("vv", vv)]
    for branch in branches[:1] + branches[1:][::order] if order > 0 else [branches[k] for k in (5, 1, 2, 4, 0, 3)]:
        tree.Branch(*branch)
    for i in range(first, first + entries):
        x[0], n[0] = 0.5 * i, i % (7 + first % 5)
        for k in range(n[0]):
            y[k] = i + k
        v.clear(); vv.clear()
        for k in range(i % 4):
            v.push_back(i * k)
            vv.push_back(ROOT.std.vector("int")(range(k)))
        s.assign("x" * (i % 300 if i % 100 == 0 else 3) + str(i))
        tree.Fill()
    inner.cd()
    inner.WriteTObject(tree)
    other = ROOT.TTree("few", "")
    other.Branch("n", n, "n/I")
    for i in range(3):
        n[0] = first + i
        other.Fill()
    other.Write()
    other.Write()  # another cycle
    file.Close()
"""

MAKE = """
make(sys.argv[1] + "/a.root", 0, 1000, flush=100)
make(sys.argv[1] + "/b.root", 1000, 450, compression=505, order=-1)
make(sys.argv[1] + "/c.root", 1450, 0, compression=0)
make(sys.argv[1] + "/d.root", 1450, 37, compression=207, flush=10)
make(sys.argv[1] + "/e.root", 1487, 200, compression=404, embedded=True)
"""

LOOK = """
answers = []
for path in sys.argv[1:]:
    file = ROOT.TFile(path)
    tree = file.Get("deep/er/tree")
    rows = []
    for entry in tree:
        rows.append([entry.x, entry.n, list(entry.y)[: entry.n], list(entry.v), str(entry.s), [list(inner) for inner in entry.vv]])
    few = file.Get("deep/er/few")
    answers.append([rows, [entry.n for entry in few]])
answer(answers)
"""


def rows(first: int, entries: int) -> list[Any]:
    made = []
    # The counter's range goes by the first entry of its file.
    for i in range(first, first + entries):
        n = i % (7 + first % 5)
        text = "x" * (i % 300 if i % 100 == 0 else 3) + str(i)
        lists = [[float(i * k) for k in range(i % 4)], text, [list(range(k)) for k in range(i % 4)]]
        made.append([0.5 * i, n, [float(i + k) for k in range(n)], *lists])
    return made


ALL = rows(0, 1000) + rows(1000, 450) + rows(1450, 37) + rows(1487, 200)
FEW = [first + k for first in (0, 1000, 1450, 1450, 1487) for k in range(3)]


def hadd(*arguments: Any) -> subprocess.CompletedProcess[str]:
    place = Path(importlib.util.find_spec("ROOT").origin).parent  # type: ignore[union-attr,arg-type]
    environment = os.environ | {"LD_LIBRARY_PATH": str(place / "lib"), "ROOTSYS": str(place)}
    return subprocess.run(
        [place / "bin/hadd", *map(str, arguments)], capture_output=True, text=True, env=environment
    )


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("inputs")
    root(FILL + MAKE, folder)
    return sorted(folder.iterdir())


def in_uproot(path: Path) -> Any:
    with uproot.open(path) as file:
        return ak.to_list(file[TREE].arrays())


def in_sapwood(path: Path) -> Any:
    with sapwood.open(path) as file:
        return ak.to_list(file[TREE].arrays())


def keys(path: Path) -> list[str]:
    with sapwood.open(path) as file:
        return sorted(file.keys(recursive=True))


def command(*arguments: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sapwood", "merge", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
    )


def payloads(path: Path) -> dict[str, list[bytes]]:
    """What stands behind the keys of baskets, branch by branch."""
    found: dict[str, list[bytes]] = {}
    content = path.read_bytes()
    with uproot.open(path) as file:
        for branch in file[TREE].branches:
            for seek in branch.member("fBasketSeek")[: branch.member("fWriteBasket")]:
                length, keylen = (
                    int.from_bytes(content[seek + at : seek + at + size], "big")
                    for at, size in ((0, 4), (14, 2))
                )
                found.setdefault(branch.name, []).append(content[seek + keylen : seek + length])
    return found


def test_all_values_are_where_hadd_puts_them(inputs: list[Path], tmp_path: Path) -> None:
    """Flat, counted, vectors, strings; other orders of branches, clusters and compression; no entries; baskets in records."""
    ours, theirs = tmp_path / "ours.root", tmp_path / "theirs.root"
    merged = sapwood.merge(ours, inputs, adler32=True)
    assert (merged.inputs, merged.skipped, merged.notices) == (5, {}, [])
    assert {path: tree.level for path, tree in merged.trees.items()} == {TREE: "copy", "deep/er/few": "copy"}
    assert (
        merged.trees[TREE].embedded["num_baskets"] > 0 and merged.trees[TREE].recompressed["num_baskets"] == 0
    )
    done = hadd("-fk", theirs, *inputs)
    assert done.returncode == 0, done.stderr
    found = root(LOOK, ours, theirs)
    assert found[0] == [ALL, FEW] and found[1] == found[0]
    assert in_uproot(ours) == in_uproot(theirs) == in_sapwood(ours) == in_sapwood(theirs)
    # Objects that are not added up are there once for each input.
    assert keys(ours) == keys(theirs)
    assert not sapwood.verify(ours)
    assert merged.adler32 == f"{zlib.adler32(ours.read_bytes()):08x}" and merged.bytes == ours.stat().st_size
    # Clusters are those of the inputs, in ROOT as well.
    look = """
file = ROOT.TFile(sys.argv[1])
tree = file.Get("deep/er/tree")
clusters, starts = tree.GetClusterIterator(0), []
while (start := clusters.Next()) < tree.GetEntries():
    starts.append(start)
answer(starts)
"""
    wanted = [*range(0, 1000, 100), 1000, 1450, 1460, 1470, 1480, 1487]
    with sapwood.open(ours) as file:
        assert (
            root(look, ours)
            == [cluster["entries"][0] for cluster in file[TREE].layout()["clusters"]]
            == wanted
        )


def test_sealed_payloads_are_the_same_bytes(inputs: list[Path], tmp_path: Path) -> None:
    target = tmp_path / "out.root"
    sapwood.merge(target, inputs[:4])
    wanted: dict[str, list[bytes]] = {}
    for path in inputs[:4]:
        for branch, sealed in payloads(path).items():
            wanted.setdefault(branch, []).extend(sealed)
    # Beside them are those that stood in the records of trees.
    found = {
        branch: [one for one in sealed if one in wanted[branch]]
        for branch, sealed in payloads(target).items()
    }
    assert found == wanted and sum(map(len, wanted.values())) > 60


@pytest.mark.parametrize("option", ["-f505", "-f404", "-f0", "-ff"])
def test_other_compression_inflates_and_deflates_only(
    inputs: list[Path], tmp_path: Path, option: str
) -> None:
    target = tmp_path / "out.root"
    done = command(option, "--json", target, *inputs)
    assert done.returncode == 0, done.stderr
    tree = {tree["tree"]: tree for tree in json.loads(done.stdout)["trees"]}[TREE]
    assert tree["level"] == "recompress" and tree["recompressed"]["num_baskets"] > 0
    wanted = {"-f505": 505, "-f404": 404, "-f0": 0, "-ff": 101}[option]
    with uproot.open(target) as file:
        assert {branch.member("fCompress") % 100 for branch in file[TREE].branches} == {wanted % 100}
    assert root(LOOK, target) == [[ALL, FEW]]
    assert not sapwood.verify(target)


def test_small_clusters_become_good_ones_across_inputs(inputs: list[Path], tmp_path: Path) -> None:
    target = tmp_path / "out.root"
    merged = sapwood.merge(target, inputs, recluster=True, auto_flush=400)
    tree = merged.trees[TREE]
    assert (tree.level, tree.num_clusters) == ("re-encode", 5)
    assert merged.unread == 0
    done = command("-O", "--cluster-entries", "400", "-f", target, *inputs)
    assert done.returncode == 0 and "not looked into" not in done.stdout, done.stdout
    with sapwood.open(target) as file:
        assert (
            all(file[path].num_entries == made.entries for path, made in merged.trees.items())
            and len(merged.trees) > 1
        )
    assert root(LOOK, target) == [[ALL, FEW]]
    assert not sapwood.verify(target) and os.listdir(tmp_path) == ["out.root"]
    merged = sapwood.merge(target, inputs, recluster=True, compression="zstd:5")
    assert merged.trees[TREE].num_clusters == 1 and in_sapwood(target) == in_uproot(target)
    with uproot.open(target) as file:
        assert {branch.member("fCompress") for branch in file[TREE].branches} == {505}


def test_offsets_that_do_not_rise_are_found_where_baskets_are_checked(tmp_path: Path) -> None:
    path, target = tmp_path / "damaged.root", tmp_path / "out.root"
    with sapwood.recreate(path, compression=None) as file:
        file["t"] = {"x": ak.Array([[1.0] * (k % 3) for k in range(100)])}
    (branch,) = [one for one in sapwood.open(path)["t"].layout()["branches"] if one["path"] == "x"]
    _, _, seek, nbytes, *_ = branch["baskets"][0]
    content = bytearray(path.read_bytes())
    content[seek + nbytes - 200 : seek + nbytes - 196] = b"\x7f\xff\xff\xff"
    path.write_bytes(content)
    assert sapwood.verify(path).damaged
    sapwood.merge(target, [path])
    with pytest.raises(sapwood.errors.MalformedError, match="entry offsets do not rise"):
        sapwood.merge(tmp_path / "checked.root", [path], verify=True)
    with pytest.raises(sapwood.errors.MalformedError, match="entry offsets do not rise"):
        sapwood.rewrite(path, tmp_path / "checked.root", baskets="keep", verify=True)
    assert not (tmp_path / "checked.root").exists()


def test_objects_of_split_classes(tmp_path: Path) -> None:
    (tmp_path / "classes.C").write_text(CPP)
    made = []
    for split in (0, 99):
        parts = []
        for number, part in enumerate((EVENTS[:15], EVENTS[15:16], EVENTS[16:])):
            parts.append(tmp_path / f"{split}.{number}.root")
            with sapwood.recreate(parts[-1], compression=["zlib:1", "lz4:4", "zstd:5"][number]) as file:
                tree = file.mktree("t", {"event": Event}, split_level=split, auto_flush=7)
                tree.extend({"event": part})
        made.append(tmp_path / f"{split}.new.root")
        assert sapwood.merge(made[-1], parts).trees["t"].entries == len(EVENTS)
        assert not sapwood.verify(made[-1])
        sapwood.merge(tmp_path / f"{split}.large.root", parts, recluster=True)
        made.append(tmp_path / f"{split}.large.root")
    lines = """
found = []
for path in sys.argv[2:]:
    file = ROOT.TFile(path)
    tree = file.Get("t")
    one = ROOT.Event()
    tree.SetBranchAddress("event", one)
    found.append([event(one) for entry in range(tree.GetEntries()) if tree.GetEntry(entry) > 0])
answer(found)
"""
    for rows in root(READ + BUILD + lines, tmp_path / "classes.C", *made):
        assert rows == [plain(one) for one in EVENTS]


def test_files_of_all_writers(tmp_path: Path) -> None:
    paths = [tmp_path / f"{writer}.root" for writer in ("root", "uproot", "sapwood")]
    lines = """
from array import array
file = ROOT.TFile(sys.argv[1], "RECREATE")
tree = ROOT.TTree("t", "")
x, n, y = array("d", [0]), array("i", [0]), array("f", 9 * [0])
tree.Branch("x", x, "x/D"); tree.Branch("ny", n, "ny/I"); tree.Branch("y", y, "y[ny]/F")
for i in range(100):
    x[0], n[0] = i, i % 3
    for k in range(n[0]): y[k] = i
    tree.Fill()
tree.Write(); file.Close()
"""
    root(lines, paths[0])
    y = ak.Array([[float(i)] * (i % 9) for i in range(100)])
    values = {"x": np.arange(100.0), "y": ak.values_astype(y, np.float32)}
    with uproot.recreate(paths[1]) as file:
        file.mktree("t", {"x": "f8", "y": "var * float32"})
        file["t"].extend(values)
    with sapwood.recreate(paths[2], compression="lz4:9") as file:
        file["t"] = values
    target = tmp_path / "out.root"
    assert sapwood.merge(target, paths).trees["t"].level == "copy"
    look = """
file = ROOT.TFile(sys.argv[1])
answer([[entry.x, list(entry.y)[: entry.ny]] for entry in file.Get("t")])
"""
    wanted = [[i, [i] * (i % 3)] for i in range(100)] + 2 * [[i, [i] * (i % 9)] for i in range(100)]
    assert root(look, target) == wanted
    with sapwood.open(target) as ours, uproot.open(target) as theirs:
        assert (
            ours["t"]["y"].array().tolist() == theirs["t"]["y"].array().tolist() == [row[1] for row in wanted]
        )
    assert not sapwood.verify(target)


def test_an_output_is_appended_to(inputs: list[Path], tmp_path: Path) -> None:
    target = tmp_path / "out.root"
    # One that real ROOT made, with baskets in the record of its tree.
    target.write_bytes(inputs[4].read_bytes())
    assert sapwood.merge(target, inputs[:2], append=True).inputs == 2
    wanted = [rows(1487, 200) + rows(0, 1000) + rows(1000, 450), FEW[12:] + FEW[:6]]
    assert root(LOOK, target) == [wanted]
    assert not sapwood.verify(target)
    done = command("-fk", "-a", target, inputs[3])
    assert done.returncode == 0 and "copy" in done.stdout, done.stderr
    assert root(LOOK, target) == [[wanted[0] + rows(1450, 37), wanted[1] + FEW[9:12]]]
    # One that goes wrong leaves no trace: the file is as it was, and can be appended to.
    before = [keys(target), in_sapwood(target)]
    bad = tmp_path / "bad.root"
    bad.write_bytes(inputs[0].read_bytes()[:-3000])
    with pytest.raises(sapwood.errors.MalformedError, match=r"bad\.root"):
        sapwood.merge(target, [inputs[0], bad], append=True)
    assert [keys(target), in_sapwood(target)] == before
    assert not sapwood.verify(target).damaged
    assert sapwood.merge(target, inputs[3], append=True).inputs == 1
    assert not sapwood.verify(target).damaged and len(in_uproot(target)) == len(before[1]) + 37


def test_bad_inputs_are_named_and_left_out(inputs: list[Path], tmp_path: Path) -> None:
    target = tmp_path / "out.root"
    target.write_bytes(b"what was there")
    good = inputs[0].read_bytes()
    (tmp_path / "cut.root").write_bytes(good[: len(good) // 2])
    (tmp_path / "empty.root").write_bytes(b"")
    (tmp_path / "text.root").write_text("no ROOT file")
    (tmp_path / "folder.root").mkdir()
    damaged = bytearray(good)
    at = good.find(b"TBasket") + 100
    damaged[at : at + 3000] = bytes(3000)
    (tmp_path / "damaged.root").write_bytes(damaged)
    bad = [tmp_path / f"{name}.root" for name in ("cut", "empty", "text", "folder", "missing")]
    for path in bad:
        with pytest.raises((sapwood.SapwoodError, OSError), match=path.name):
            sapwood.merge(target, [inputs[0], path, inputs[1]])
        assert target.read_bytes() == b"what was there"
        done = command("-f", target, inputs[0], path)
        assert done.returncode == 1 and path.name in done.stderr and target.read_bytes() == b"what was there"
    # Damage is met when baskets are looked into.
    with pytest.raises(sapwood.SapwoodError, match=r"damaged\.root"):
        sapwood.merge(target, [inputs[0], tmp_path / "damaged.root"], compression="zstd:1")
    assert target.read_bytes() == b"what was there"
    bad.append(tmp_path / "damaged.root")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        merged = sapwood.merge(
            target, [bad[0], inputs[0], *bad[1:], inputs[1]], skip=True, compression="zstd:1"
        )
    assert list(merged.skipped) == [str(path) for path in bad] and len(said) == len(bad)
    assert root(LOOK, target) == [[rows(0, 1000) + rows(1000, 450), FEW[:6]]]
    assert not sapwood.verify(target).damaged
    done = command("-k", "-f", target, inputs[0], bad[0])
    assert done.returncode == 0 and "left out" in done.stdout and "cut.root" in done.stdout
    assert not [name for name in os.listdir(tmp_path) if "unfinished" in name]
    with pytest.raises(sapwood.errors.MismatchError, match="no input"):
        sapwood.merge(target, bad[:2], skip=True)


def test_the_output_is_no_input(inputs: list[Path], tmp_path: Path) -> None:
    target = tmp_path / "out.root"
    target.write_bytes(inputs[0].read_bytes())
    os.link(target, tmp_path / "hard.root")
    os.symlink(target, tmp_path / "soft.root")
    for name in ("out", "hard", "soft"):
        with pytest.raises(sapwood.errors.MismatchError, match="is the output"):
            sapwood.merge(target, [inputs[1], tmp_path / f"{name}.root"])
    with pytest.raises(sapwood.errors.ExistsError):
        sapwood.merge(target, inputs, replace=False)
    assert "--force" in command(target, *inputs).stderr
    assert target.read_bytes() == inputs[0].read_bytes()


def write(path: Path, **columns: Any) -> Path:
    with sapwood.recreate(path) as file:
        file["t"] = columns
    return path


def test_other_branches(tmp_path: Path) -> None:
    """The first input decides: what only others have is left out, what they lack or have otherwise is an error."""
    first = write(tmp_path / "first.root", x=np.arange(3.0), i=np.arange(3, dtype="i4"))
    more = write(tmp_path / "more.root", i=np.arange(2, dtype="i4"), z=np.arange(2.0), x=np.arange(2.0))
    target = tmp_path / "out.root"
    merged = sapwood.merge(target, [first, more])
    assert len(merged.notices) == 1 and "t/z" in merged.notices[0] and "more.root" in merged.notices[0]
    with sapwood.open(target) as file:
        assert file["t"].keys() == ["x", "i"] and file["t"]["x"].array().tolist() == [0, 1, 2, 0, 1]
    others = {
        "missing": write(tmp_path / "missing.root", x=np.arange(2.0)),
        "whole": write(tmp_path / "whole.root", x=np.arange(2), i=np.arange(2, dtype="i4")),
        "unsigned": write(tmp_path / "unsigned.root", x=np.arange(2, dtype="u8"), i=np.arange(2, dtype="i4")),
        "array": write(tmp_path / "array.root", x=np.ones((2, 3)), i=np.arange(2, dtype="i4")),
        "list": write(tmp_path / "list.root", x=ak.Array([[1.0], []]), i=np.arange(2, dtype="i4")),
    }
    for name, path in others.items():
        with pytest.raises(sapwood.errors.MismatchError, match=rf"{name}\.root.*t/[xi]|t/[xi].*{name}\.root"):
            sapwood.merge(target, [first, path])
        with pytest.warns(UserWarning, match="left out"):
            assert sapwood.merge(target, [first, path, more], skip=True).trees["t"].entries == 5
    with sapwood.recreate(tmp_path / "object.root") as file:
        file["t/x"] = {"a": [1]}
    with pytest.raises(sapwood.SapwoodError, match=r"object\.root"):
        sapwood.merge(target, [first, tmp_path / "object.root"])


def test_lists_of_inputs_and_of_objects(inputs: list[Path], tmp_path: Path) -> None:
    names, inner, few = tmp_path / "names.txt", tmp_path / "inner.txt", tmp_path / "few.txt"
    names.write_text(f"{inputs[0]}\n\n@{inner}\n")
    inner.write_text(f"{inputs[1]}\n")
    few.write_text("# these only\nfew\n")
    target, theirs = tmp_path / "out.root", tmp_path / "theirs.root"
    assert command("-f", target, f"@{names}", inputs[3]).returncode == 0
    assert root(LOOK, target) == [[rows(0, 1000) + rows(1000, 450) + rows(1450, 37), FEW[:6] + FEW[9:12]]]
    for kind in ("OnlyListed", "SkipListed"):
        assert command("-f", "-L", few, "-Ltype", kind, "-v", "0", target, *inputs[:2]).stdout == ""
        assert hadd("-f", "-L", few, "-Ltype", kind, theirs, *inputs[:2]).returncode == 0
        assert keys(target) == keys(theirs), kind
    assert command("-f", "-T", target, *inputs[:2]).returncode == 0
    assert hadd("-f", "-T", theirs, *inputs[:2]).returncode == 0
    assert keys(target) == keys(theirs)
    refused = command("-experimental-io-features", "x", target, inputs[0])
    assert refused.returncode == 2 and "-experimental-io-features" in refused.stderr
    with pytest.raises(sapwood.errors.LimitError):
        inner.write_text(f"@{names}\n")
        sapwood.merge(target, f"@{names}")


def test_a_disk_that_is_full(inputs: list[Path], tmp_path: Path) -> None:
    target = tmp_path / "out.root"
    target.write_bytes(inputs[0].read_bytes())
    before = [keys(target), in_sapwood(target)]
    limit = target.stat().st_size + 10_000

    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    for option in ("-f", "-a", "-k"):
        run = [
            sys.executable,
            "-m",
            "sapwood",
            "merge",
            "-f" if option == "-k" else "-v0",
            option,
            target,
            *inputs,
            *inputs,
        ]
        done = subprocess.run([str(word) for word in run], capture_output=True, text=True, preexec_fn=full)
        assert done.returncode == 1 and "out.root" in done.stderr, done.stdout + done.stderr
        assert [keys(target), in_sapwood(target)] == before
    assert sapwood.merge(target, inputs[1], append=True).inputs == 1
    assert len(in_uproot(target)) == 1450 and not sapwood.verify(target).damaged


def test_many_small_files(tmp_path: Path) -> None:
    """Few files are open at a time, and nothing scatters."""
    paths = []
    for number in range(SMALL_FILES):
        paths.append(tmp_path / f"{number:05}.root")
        with sapwood.recreate(paths[-1]) as file:
            file["t"] = {"x": np.arange(5) + number, "y": ak.Array([[1.0], [], [2.0, 3.0], [], [number]])}
    target = tmp_path / "out.root"
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 100
    seen = []

    def watch(done: int, count: int, size: int) -> None:
        seen.append((done, count))

    resource.setrlimit(resource.RLIMIT_NOFILE, (opened + 20, hard))
    try:
        merged = sapwood.merge(target, paths, progress=watch)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert seen == [(n + 1, SMALL_FILES) for n in range(SMALL_FILES)]
    assert merged.trees["t"].entries == 5 * SMALL_FILES and merged.trees["t"].num_clusters == SMALL_FILES
    wanted = [k + number for number in range(SMALL_FILES) for k in range(5)]
    look = 'file = ROOT.TFile(sys.argv[1]); answer([entry.x for entry in file.Get("t")])'
    with uproot.open(target) as theirs:
        assert root(look, target) == theirs["t"]["x"].array().tolist() == wanted
    assert not sapwood.verify(target)
    sapwood.merge(target, paths, recluster=True)
    with sapwood.open(target) as file:
        assert len(file["t"].layout()["clusters"]) == 1 and file["t"]["x"].array().tolist() == wanted
    assert sapwood.doctor(target).healthy


def test_an_interrupt_leaves_what_was_there(inputs: list[Path], tmp_path: Path) -> None:
    target = tmp_path / "out.root"
    target.write_bytes(b"what was there")

    def stop(done: int, count: int, size: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sapwood.merge(target, inputs, progress=stop)
    assert target.read_bytes() == b"what was there" and os.listdir(tmp_path) == ["out.root"]


def test_a_file_that_was_saved_and_not_closed_is_refused(tmp_path: Path) -> None:
    lines = """
import os, sapwood, sys
tree = (file := sapwood.recreate(sys.argv[1])).mktree("t", {"x": "i4"})
tree.extend({"x": [1, 2]}); file.save()
tree.extend({"x": [3, 4]}); tree.flush()
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", lines, tmp_path / "killed.root"], check=True)
    with pytest.raises(sapwood.errors.MalformedError, match="recover"):
        sapwood.merge(tmp_path / "out.root", [tmp_path / "killed.root"])
    sapwood.recover(tmp_path / "killed.root")
    assert sapwood.merge(tmp_path / "out.root", [tmp_path / "killed.root"]).trees["t"].entries == 4


def test_inputs_from_a_server(inputs: list[Path], tmp_path: Path) -> None:
    with ranged.serving(inputs[0].parent) as server:
        urls = [f"{server.url}/{path.name}" for path in inputs]
        merged = sapwood.merge(tmp_path / "far.root", [urls[0], inputs[1], *urls[2:]])
        assert merged.requests < 60 and merged.trees[TREE].level == "copy"
        sapwood.merge(tmp_path / "near.root", inputs)
        assert payloads(tmp_path / "far.root") == payloads(tmp_path / "near.root")
        with pytest.raises(OSError, match=r"none\.root"):
            sapwood.merge(tmp_path / "far.root", [urls[0], f"{server.url}/none.root"])
    assert in_uproot(tmp_path / "far.root") == in_sapwood(tmp_path / "near.root")


def test_inputs_that_vanish_and_those_that_come_twice(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{number:02}.root", x=np.arange(3.0) + number) for number in range(20)]
    target = tmp_path / "out.root"
    merged = sapwood.merge(target, [paths[0], paths[1], paths[0]])
    assert merged.trees["t"].entries == 9 and "00.root" in merged.notices[0]

    def vanish(done: int, count: int, size: int) -> None:
        paths[15].unlink(missing_ok=True)

    before = target.read_bytes()
    with pytest.raises(FileNotFoundError, match=r"15\.root"):
        sapwood.merge(target, paths, progress=vanish)
    assert target.read_bytes() == before
    with pytest.warns(UserWarning, match=r"15\.root"):
        assert sapwood.merge(target, paths, skip=True, open_files=1).inputs == 19


def test_extents_and_leaves_in_another_order_are_refused(tmp_path: Path) -> None:
    write = """
from array import array
for name, extents, leaves in (("one", "[2][3]", "a/I:b/I"), ("two", "[3][2]", "a/I:b/I"), ("three", "[2][3]", "b/I:a/I")):
    file = ROOT.TFile(f"{sys.argv[1]}/{name}.root", "RECREATE")
    tree = ROOT.TTree("t", "")
    m, pair = array("f", range(6)), array("i", [1, 2])
    tree.Branch("m", m, f"m{extents}/F")
    tree.Branch("pair", pair, leaves)
    tree.Fill()
    tree.Write()
    file.Close()
"""
    root(write, tmp_path)
    for other, branch in (("two", "m"), ("three", "pair")):
        words = rf"{other}\.root.*object t/{branch}"
        with pytest.raises(sapwood.errors.MismatchError, match=words):
            sapwood.merge(tmp_path / "out.root", [tmp_path / "one.root", tmp_path / f"{other}.root"])
