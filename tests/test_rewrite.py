"""Files that are written again in other clusters: every value stays what it was, in real ROOT and here."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.rootrun import root
from test_classes import BUILD, CPP, EVENTS, READ, Event, plain

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")

CORPUS = Path(os.environ.get("SAPWOOD_CORPUS") or Path(__file__).resolve().parents[2] / "shared/corpus")
SMALL = 400_000
"""Files above that many bytes are left to the corpus test."""


def values(tree: Any) -> dict[str, Any]:
    """All values of a tree, as plain lists; what cannot be read is left out."""
    found = {}
    for name in tree.keys(recursive=True):
        try:
            found[name] = ak.to_list(tree[name].array())
        # what cannot be read before cannot be compared; what can be read must be there afterwards
        except Exception as error:
            found[name] = f"{type(error).__name__}"
    return found


def same(a: Any, b: Any) -> bool:
    """Equality of plain lists, with numbers that are none equal to themselves."""
    return bool(a == b) or repr(a) == repr(b)


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus of real files is not here")
@pytest.mark.filterwarnings("ignore:.* keeps its baskets")
def test_files_of_all_writers_keep_their_values(tmp_path: Path) -> None:
    """Real files: clusters of three entries, small baskets, another codec; then back into large clusters; and their own baskets, branch
    by branch."""
    counts = {"files": 0, "branches": 0, "refused": 0, "kept": 0}
    for path in sorted(CORPUS.rglob("*.root")):
        if path.stat().st_size > SMALL:
            continue
        try:
            before = sapwood.open(path)
            names = before.keys(filter_classname=["TTree", "TNtuple", "TNtupleD"], cycle=False)
            old = {name: values(before[name]) for name in names if before[name].num_entries <= 2000}
        except Exception:
            continue
        if not old:
            continue
        first, second, kept = (tmp_path / f"{name}.root" for name in ("first", "second", "kept"))
        try:
            sapwood.rewrite(path, first, auto_flush=3, basket_bytes=300, compression="lz4:1", trees=list(old))
        except (sapwood.errors.UnsupportedError, sapwood.errors.MalformedError, sapwood.errors.LimitError):
            counts["refused"] += 1
            assert not first.exists()
            continue
        sapwood.rewrite(first, second, compression="zstd:3", trees=list(old))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            sapwood.rewrite(path, kept, order="branch", baskets="keep", trees=list(old))
        counts["kept"] += not said
        for step in (first, second, kept):
            with sapwood.open(step) as after:
                for name, columns in old.items():
                    new = values(after[name])
                    for branch, wanted in columns.items():
                        if wanted in ("NotImplementedError", "UnsupportedError", "MalformedError", "Damaged"):
                            continue
                        assert same(new.get(branch), wanted), f"{path.name}: {name}/{branch}"
                        counts["branches"] += 1
            assert not sapwood.verify(step).damaged, path
        counts["files"] += 1
    assert counts["files"] > 100 and counts["refused"] < counts["files"] / 4, counts
    assert counts["kept"] > 0.95 * counts["files"], counts
    print(counts)


def test_real_root_reads_objects_that_were_moved_as_bytes(tmp_path: Path) -> None:
    (tmp_path / "classes.C").write_text(CPP)
    for split in (0, 1, 99):
        with sapwood.recreate(tmp_path / f"{split}.root") as file:
            tree = file.mktree("t", {"event": Event}, split_level=split, auto_flush=11)
            tree.extend({"event": EVENTS})
        sapwood.rewrite(
            tmp_path / f"{split}.root", tmp_path / f"{split}.new.root", auto_flush=7, basket_bytes=500
        )
    lines = """
found = []
for split in (0, 1, 99):
    file = ROOT.TFile(f"{sys.argv[2]}/{split}.new.root")
    tree = file.Get("t")
    one = ROOT.Event()
    tree.SetBranchAddress("event", one)
    found.append([event(one) for entry in range(tree.GetEntries()) if tree.GetEntry(entry) > 0])
answer(found)
"""
    for rows in root(READ + BUILD + lines, tmp_path / "classes.C", tmp_path):
        for found, one in zip(rows, EVENTS, strict=True):
            assert found == plain(one)


def test_trees_of_root_are_reclustered(tmp_path: Path) -> None:
    path, target = tmp_path / "old.root", tmp_path / "new.root"
    lines = """
from array import array
file = ROOT.TFile(sys.argv[1], "RECREATE")
h = ROOT.TH1D("h", "", 10, 0, 1); h.Fill(0.5)
file.mkdir("deep").cd()
tree = ROOT.TTree("tree", "")
tree.SetAutoFlush(0)
n, x = array("i", [0]), array("f", 10 * [0])
v = ROOT.std.vector("double")()
obj = ROOT.TNamed("a", "b")
tree.Branch("n", n, "n/I", 500); tree.Branch("x", x, "x[n]/F", 500); tree.Branch("v", v, 500); tree.Branch("obj", obj, 500, 0)
for i in range(3000):
    n[0] = i % 7
    for k in range(n[0]): x[k] = i + k / 8
    v.clear()
    for k in range(i % 4): v.push_back(i)
    obj.SetTitle(f"title {i}")
    tree.Fill()
tree.Write()
file.cd()
h.Write()
file.Close()
"""
    root(lines, path)
    (made,) = sapwood.rewrite(path, target, compression="zstd:5", auto_flush=1000).values()
    before, after = made
    assert (before.entries, after.entries, after.clusters) == (
        3000,
        3000,
        3,
    ) and after.baskets < before.baskets / 3
    look = """
file = ROOT.TFile(sys.argv[1])
tree = file.Get("deep/tree")
rows = [[tree.GetEntry(i) > 0 and tree.n, list(tree.x)[: tree.n], list(tree.v), str(tree.obj.GetTitle())] for i in range(tree.GetEntries())]
clusters, iterator = [], tree.GetClusterIterator(0)
while (start := iterator()) < tree.GetEntries(): clusters.append(start)
answer([rows, clusters, file.Get("h").GetBinContent(6)])
"""
    rows, clusters, content = root(look, target)
    assert clusters == [0, 1000, 2000] and content == 1.0
    for i, row in enumerate(rows):
        assert row == [i % 7, [i + k / 8 for k in range(i % 7)], [float(i)] * (i % 4), f"title {i}"]
    assert sapwood.doctor(target).healthy or not sapwood.doctor(target).issues
    seeks = [
        basket
        for branch in sapwood.open(target)["deep/tree"].layout()["branches"]
        for basket in branch.get("seeks", [])
    ]
    assert seeks == sorted(seeks) or not seeks


def test_branches_and_entries_are_chosen(tmp_path: Path) -> None:
    path, target = tmp_path / "old.root", tmp_path / "new.root"
    x = np.arange(1000)
    with sapwood.recreate(path) as file:
        file["a/tree"] = {
            "x": x,
            "y": x * 0.5,
            "hits": ak.unflatten(np.arange((x % 3).sum()), x % 3),
            "name": [f"n{i}" for i in x],
        }
        file["other"] = {"x": x}
        file["note"] = "stays"
    with pytest.raises(KeyError, match="nothing"):
        sapwood.rewrite(path, target, trees=["nothing"])
    assert not target.exists() and sorted(p.name for p in tmp_path.iterdir()) == ["old.root"]
    made = sapwood.rewrite(path, target, trees=["a/tree"], keep=["hits", "name"], cut="x % 5 == 2")
    assert made["a/tree"][1].entries == 200 and made["other"][1].entries == 1000
    with sapwood.open(target) as file:
        tree = file["a/tree"]
        assert tree.keys() == ["nhits", "hits", "name"] and file["note"].member("fString") == "stays"
        assert tree["name"].array().tolist() == [f"n{i}" for i in x if i % 5 == 2]
        hits = ak.unflatten(np.arange((x % 3).sum()), x % 3)[x % 5 == 2]
        assert tree["hits"].array().tolist() == hits.tolist()
    rows = root(
        "file = ROOT.TFile(sys.argv[1]); tree = file.Get('a/tree'); answer([tree.Draw('hits', '', 'goff'), tree.GetEntries()])",
        target,
    )
    assert rows == [int((x % 3)[x % 5 == 2].sum()), 200]
    command = [
        sys.executable,
        "-m",
        "sapwood",
        "rewrite",
        str(path),
        str(target),
        "--drop",
        "h*",
        "--entries",
        "10:20",
    ]
    assert subprocess.run(command, capture_output=True).returncode == 1, "the target is there"
    done = subprocess.run(
        [*command, "--force", "--tree", "a/tree", "--compression", "zstd:3"], capture_output=True, text=True
    )
    assert done.returncode == 0 and "1000" in done.stdout, done.stderr
    with sapwood.open(target) as file:
        assert file["a/tree/x"].array().tolist() == list(range(10, 20)) and "hits" not in file["a/tree"]


FILL = """
from array import array
def fill(tree, entries):
    n, x = array("i", [0]), array("f", 10 * [0])
    v = ROOT.std.vector("double")()
    obj = ROOT.TNamed("a", "b")
    tree.Branch("n", n, "n/I", 700); tree.Branch("x", x, "x[n]/F", 900); tree.Branch("v", v, 1100); tree.Branch("obj", obj, 1300, 0)
    for i in range(entries):
        n[0] = i % 7
        for k in range(n[0]): x[k] = i + k / 8
        v.clear()
        for k in range(i % 4): v.push_back(i)
        obj.SetTitle(f"title {i}")
        tree.Fill()
"""
LOOK = """
found = []
for path in sys.argv[1:]:
    file = ROOT.TFile(path)
    tree = file.Get("tree")
    found.append([[tree.GetEntry(i) > 0 and tree.n, list(tree.x)[: tree.n], list(tree.v), str(tree.obj.GetTitle())] for i in range(tree.GetEntries())])
answer(found)
"""


def rows(entries: range) -> list[Any]:
    """What `FILL` gives each entry, as `LOOK` finds it."""
    return [[i % 7, [i + k / 8 for k in range(i % 7)], [float(i)] * (i % 4), f"title {i}"] for i in entries]


def in_file(path: Path, tree: str = "tree") -> list[tuple[str, int]]:
    """Branch and first entry of each basket, in the order of the file."""
    branches = sapwood.open(path)[tree].layout()["branches"]
    found = [(basket[2], branch["path"], basket[0]) for branch in branches for basket in branch["baskets"]]
    return [(name, entry) for _, name, entry in sorted(found)]


def same_in_uproot(path: Path, other: Path) -> None:
    """Both files have the same numbers for uproot."""
    uproot = pytest.importorskip("uproot")
    with uproot.open(path) as a, uproot.open(other) as b:
        for name in ("n", "x", "v"):
            assert ak.array_equal(a["tree"][name].array(), b["tree"][name].array())


def test_baskets_that_are_kept_stand_as_root_sorts_them(tmp_path: Path) -> None:
    """The orders of `TTreeCloner`, basket by basket."""
    path = tmp_path / "old.root"
    lines = """
file = ROOT.TFile(sys.argv[1], "RECREATE")
tree = ROOT.TTree("tree", ""); tree.SetAutoFlush(300)
fill(tree, 2000)
tree.Write(); file.Close()
old = ROOT.TFile(sys.argv[1])
for order in ("Branch", "Entry", "Offset"):
    new = ROOT.TFile(f"{sys.argv[2]}/root{order}.root", "RECREATE")
    clone = old.Get("tree").CloneTree(-1, f"fast SortBasketsBy{order}")
    clone.Write(); new.Close()
"""
    root(FILL + lines, path, tmp_path)
    made = []
    for order in ("branch", "entry", "offset"):
        target = tmp_path / f"{order}.root"
        before, after = sapwood.rewrite(path, target, order=order, baskets="keep")["tree"]
        assert after == before
        assert in_file(target) == in_file(tmp_path / f"root{order.title()}.root")
        assert not sapwood.verify(target), order
        same_in_uproot(path, target)
        made.append(target)
    assert in_file(made[0]) != in_file(path) == in_file(made[2])
    assert root(LOOK, *made) == 3 * [rows(range(2000))]


def test_baskets_in_the_trees_record_get_records_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "old.root"
    lines = """
tree = ROOT.TTree("tree", "")
tree.SetDirectory(ROOT.nullptr)
fill(tree, 700)
file = ROOT.TFile(sys.argv[1], "RECREATE")
file.WriteTObject(tree)
file.Close()
"""
    root(FILL + lines, path)
    assert sum(branch["embedded"] for branch in sapwood.open(path)["tree"].layout()["branches"]) > 20
    made = [tmp_path / f"{order}.root" for order in ("branch", "offset")]
    for target in made:
        before, after = sapwood.rewrite(path, target, order=target.stem, baskets="keep")["tree"]
        assert (after.entries, after.baskets) == (before.entries, before.baskets)
        layout = sapwood.open(target)["tree"].layout()
        assert all(branch["embedded"] == 0 for branch in layout["branches"])
        assert not sapwood.verify(target)
        same_in_uproot(path, target)
    assert root(LOOK, *made) == 2 * [rows(range(700))]


def test_new_baskets_stand_branch_by_branch(tmp_path: Path) -> None:
    path, target, cut = tmp_path / "old.root", tmp_path / "new.root", tmp_path / "cut.root"
    root(
        FILL
        + 'file = ROOT.TFile(sys.argv[1], "RECREATE"); tree = ROOT.TTree("tree", ""); '
        + "fill(tree, 2000); tree.Write()",
        path,
    )
    _, after = sapwood.rewrite(path, target, order="branch", auto_flush=300, basket_bytes=1000)["tree"]
    names = [name for name, _ in in_file(target)]
    assert names == sorted(names, key=["n", "x", "v", "obj"].index) and in_file(target)[0] == ("n", 0)
    assert after.clusters == 7 and sapwood.open(target)["tree"].num_entries == 2000
    sapwood.rewrite(path, cut, order="branch", cut="n == 3", auto_flush=100)
    found = root(LOOK, target, cut)
    assert found == [rows(range(2000)), [row for row in rows(range(2000)) if row[0] == 3]]
    same_in_uproot(path, target)
    assert not sapwood.verify(target) and not sapwood.verify(cut)
    lines = """
file = ROOT.TFile(sys.argv[1])
clusters, iterator = [], file.Get("tree").GetClusterIterator(0)
while (start := iterator()) < 2000: clusters.append(start)
answer(clusters)
"""
    assert root(lines, target) == list(range(0, 2000, 300))


def test_what_kept_baskets_cannot_do_is_refused(tmp_path: Path) -> None:
    path, target = tmp_path / "old.root", tmp_path / "new.root"
    with sapwood.recreate(path) as file:
        file["t"] = {"x": np.arange(10)}
    for wrong in ({"cut": "x > 2"}, {"compression": "zstd:5"}, {"auto_flush": 5}, {"basket_bytes": 500}):
        with pytest.raises(sapwood.errors.MismatchError, match=next(iter(wrong))):
            sapwood.rewrite(path, target, order="offset", **wrong)
    for wrong in ({"order": "up"}, {"baskets": "some"}, {"order": "offset", "baskets": "new"}):
        with pytest.raises(sapwood.errors.MismatchError):
            sapwood.rewrite(path, target, **wrong)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["old.root"]


def test_baskets_that_were_not_looked_into_are_counted(tmp_path: Path) -> None:
    path, target = tmp_path / "old.root", tmp_path / "new.root"
    with sapwood.recreate(path) as file:
        file["t"] = {"x": np.arange(10)}
    before, after = sapwood.rewrite(path, target, baskets="keep")["t"]
    assert after.unread == after.baskets == 1 and before.unread == 0
    assert sapwood.rewrite(path, target, baskets="keep", verify=True)["t"][1].unread == 0
    assert sapwood.rewrite(path, target)["t"][1].unread == 0
    merged = sapwood.merge(target, [path, path])
    assert merged.unread == merged.trees["t"].copied["num_baskets"] == 2
    assert sapwood.merge(target, [path, path], verify=True).unread == 0


def test_objects_that_refer_to_each_other_keep_their_baskets(tmp_path: Path) -> None:
    """Entries that cannot be moved: their baskets are moved, and branches beside them dropped."""
    path, kept, dropped = tmp_path / "old.root", tmp_path / "kept.root", tmp_path / "dropped.root"
    packed = tmp_path / "packed.root"
    lines = """
file = ROOT.TFile(sys.argv[1], "RECREATE")
tree = ROOT.TTree("tree", "")
from array import array
n = array("i", [0])
line = ROOT.TObjArray()
tree.Branch("n", n, "n/I", 400)
tree.Branch("line", line, 2000, 0)
for i in range(300):
    n[0] = i
    line.Clear()
    one, two = ROOT.TNamed(f"a{i}", "x"), ROOT.TNamed("b", "y")
    # The same object twice: the second time as a reference to the first.
    for each in (one, two, one): line.Add(each)
    tree.Fill()
tree.Write()
file.Close()
"""
    root(lines, path)
    with pytest.warns(UserWarning, match="keeps its baskets"):
        sapwood.rewrite(path, kept, order="branch", auto_flush=50)
    with pytest.warns(UserWarning, match="keeps its baskets"):
        _, after = sapwood.rewrite(path, dropped, drop="n", auto_flush=50)["tree"]
    assert sapwood.open(dropped)["tree"].keys() == ["line"] and after.entries == 300
    # Compression needs no entry to be moved.
    with pytest.warns(UserWarning, match="keeps its baskets"):
        before, after = sapwood.rewrite(path, packed, compression="lzma:7")["tree"]
    assert (after.baskets, after.tot_bytes) == (
        before.baskets,
        before.tot_bytes,
    ) and after.zip_bytes < before.zip_bytes
    assert [branch.compression.name for branch in sapwood.open(packed)["tree"].branches] == ["LZMA", "LZMA"]
    assert not sapwood.verify(packed).damaged
    look = """
found = []
for path in sys.argv[1:]:
    file = ROOT.TFile(path)
    tree = file.Get("tree")
    names = []
    for i in range(tree.GetEntries()):
        tree.GetEntry(i)
        names.append([str(each.GetName()) for each in tree.line])
    found.append(names)
answer(found)
"""
    assert root(look, kept, dropped, packed) == 3 * [[[f"a{i}", "b", f"a{i}"] for i in range(300)]]
    assert [name for name, _ in in_file(kept)] == sorted((name for name, _ in in_file(kept)), reverse=True)
    assert not sapwood.verify(kept) and not sapwood.verify(dropped)


def sapwood_command(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs the `sapwood` command of the package."""
    return subprocess.run(
        [sys.executable, "-m", "sapwood", *map(str, arguments)], capture_output=True, text=True
    )


def test_the_command_cuts_sorts_and_reports(tmp_path: Path) -> None:
    path, target = tmp_path / "old.root", tmp_path / "new.root"
    x = np.arange(10_000)
    with sapwood.recreate(path) as file:
        tree = file.mktree("deep/tree", {"x": "i8", "y": "f8", "z": "i4", "w": "i4"}, auto_flush=100)
        tree.extend({"x": x, "y": x / 2, "z": x % 3, "w": x % 5})
    done = sapwood_command(
        "rewrite",
        path,
        target,
        "--cut",
        "(x % 10 == 2) & (y > 50)",
        "--entries",
        ":5000",
        "--order",
        "branch",
    )
    assert done.returncode == 0, done.stderr
    wanted = x[(x % 10 == 2) & (x / 2 > 50)]
    wanted = wanted[wanted < 5000]
    assert sapwood.open(target)["deep/tree/x"].array(library="np").tolist() == wanted.tolist()
    words = done.stdout.split()
    assert "10000" in words and str(len(wanted)) in words and "full" in words and "requests" in words
    done = sapwood_command("rewrite", path, target, "--force", "--order", "offset", "--drop", "y", "--json")
    document = json.loads(done.stdout)
    (tree,) = document["trees"]
    assert (
        tree["tree"] == "deep/tree" and tree["before"]["num_clusters"] == tree["after"]["num_clusters"] == 100
    )
    assert (
        document["before"]["bytes"] == path.stat().st_size
        and document["after"]["bytes"] == target.stat().st_size
    )
    full, columns, fifth = tree["readings"]
    for reading in (full, columns, fifth):
        costs = sapwood.doctor(target).trees[0]["readings"]
        assert reading["after"] in [cost["now"] for cost in costs] and reading["before"]["requests"] > 0
    assert (
        set(columns["branches"]) == {"x", "z", "w"}
        and columns["before"]["wanted_bytes"] == columns["after"]["wanted_bytes"]
    )
    assert full["before"]["bytes"] > full["after"]["bytes"]
    for wrong, words in [
        (["--cut", "nothing > 2"], "nothing"),
        (["--cut", "x +"], "at character 4"),
        (["--order", "offset", "--compression", "zstd:3"], "--compression"),
        (["--baskets", "keep", "--cut", "x > 2"], "--cut"),
        (["--baskets", "new", "--order", "offset"], "order"),
    ]:
        done = sapwood_command("rewrite", path, target, "--force", *wrong)
        assert done.returncode == 1 and words in done.stderr, (wrong, done.stderr)
    assert sapwood_command("rewrite", path, target, "--order", "sideways").returncode == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["new.root", "old.root"]


def test_the_engine_evaluates_cuts_of_the_command(tmp_path: Path) -> None:
    path = tmp_path / "old.root"
    with sapwood.recreate(path) as file:
        file["t"] = {"x": np.arange(10)}
    for cut, passes in (("x > 2", range(3, 10)), ("x % 5", [1, 2, 3, 4, 6, 7, 8, 9])):
        code = sapwood._core.command(
            ["sapwood", "rewrite", "--force", str(path), str(tmp_path / "new.root"), "--cut", cut]
        )
        assert code == 0
        assert sapwood.open(tmp_path / "new.root")["t"]["x"].array().tolist() == list(passes)


def test_what_a_doctor_suggests_can_be_run(tmp_path: Path) -> None:
    path = tmp_path / "old file.root"
    x = np.arange(40_000)
    with sapwood.recreate(path, compression="lzma:9") as file:
        for name in ("one", "two"):
            tree = file.mktree(name, {f"b{k}": "i8" for k in range(30)}, auto_flush=50)
            tree.extend({f"b{k}": x * k for k in range(30)})
    lines = sapwood.doctor(path).rewrite
    assert lines
    for line in lines:
        words = shlex.split(line)
        assert words[0] == "sapwood"
        done = sapwood_command(*words[1:], "--force")
        assert done.returncode == 0, done.stderr
        target = words[3]
        assert not sapwood.verify(target)
        with sapwood.open(target) as file:
            assert file["one/b7"].array(library="np").tolist() == (x * 7).tolist()


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus of real files is not here")
def test_a_table_of_references_does_not_name_places_of_the_old_file(tmp_path: Path) -> None:
    path, target = CORPUS / "roottest__missingString.root", tmp_path / "new.root"
    (name,) = [
        name
        for name in sapwood.open(path).keys(filter_classname="TTree", cycle=False)
        if sapwood.open(path)[name].member("fBranchRef")
    ]
    for baskets in ("new", "keep"):
        with pytest.warns(UserWarning, match="its table of references .TBranchRef. is left out"):
            sapwood.rewrite(path, target, baskets=baskets)
        assert sapwood.open(target)[name].member("fBranchRef") is None
        assert not sapwood.verify(target).damaged


def test_what_a_tree_lacks_afterwards_is_told(tmp_path: Path) -> None:
    path, target = tmp_path / "old.root", tmp_path / "new.root"
    fill = """
    from array import array
    file = ROOT.TFile(sys.argv[1], "RECREATE"); tree = ROOT.TTree("tree", "")
    n, x = array("i", [0]), array("f", [1, 2, 3])
    tree.Branch("n", n, "n/I"); tree.Branch("x", x, "x[n]/F")
    for i in range(4): n[0] = i; tree.Fill()
    tree.BuildIndex("n"); file.Write(); answer(tree.GetTreeIndex().GetN())
    """
    assert root(textwrap.dedent(fill), path) == 4

    def told(*options: str) -> list[str]:
        done = sapwood_command("rewrite", path, target, "--force", *options)
        assert done.returncode == 0, done.stderr
        return [line.removeprefix("tree: ") for line in done.stdout.splitlines() if line.startswith("tree: ")]

    index = "its index (TTreeIndex) is left out, since it holds the old numbers of entries: build it again"
    stays = "n stays in spite of --drop, since what is kept needs it"
    assert told() == told("--baskets", "keep") == told("--drop", "x") == []
    assert told("--drop", "n", "--keep", "x") == [stays]
    assert told("--cut", "n > 1") == [index]
    assert told("--cut", "n > -1") == []
    assert told("--entries", "4:", "--drop", "n") == [index, "none of its 4 entries is left", stays]
    place = "its index (TTreeIndex) are left out: an RNTuple has no place for them"
    assert [line for line in told("--to", "rntuple", "--drop", "x") if "count items" not in line] == [place]
    with pytest.warns(UserWarning, match="TTreeIndex"):
        sapwood.rewrite(path, target, cut="n > 1")
    with pytest.warns(UserWarning, match="n stays in spite of drop=, since what is kept needs it"):
        sapwood.rewrite(path, target, drop="n")
    with sapwood.recreate(path, format="rntuple") as file:
        file["tree"] = {"nfoo": [1], "jet": ak.Array([[{"pt": 1.0}, {"pt": 2.0}]]), "y": [0.5]}
    assert told("--to", "ttree", "--drop", "n*") == []
    assert sapwood.open(target)["tree"].keys(recursive=False) == ["njet", "jet_pt", "y"]


@pytest.mark.parametrize("name", ["deep/tree", "/deep/tree", "deep/tree/"])
def test_a_tree_may_be_named_with_slashes(tmp_path: Path, name: str) -> None:
    with sapwood.recreate(tmp_path / "old.root") as file:
        file["deep/tree"] = {"x": np.arange(10), "y": np.arange(10)}
    sapwood.rewrite(tmp_path / "old.root", tmp_path / "new.root", trees=[name], cut="x > 6", drop="y")
    with sapwood.open(tmp_path / "new.root") as file:
        assert file["deep/tree"].arrays(library="np").keys() == {"x"}
        assert file["deep/tree"]["x"].array(library="np").tolist() == [7, 8, 9]


def test_a_pattern_that_no_branch_is_like_is_an_error(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "old.root") as file:
        file["t"] = {"x": np.arange(3), "y": np.arange(3)}
    for given in ({"keep": "nomatch*"}, {"drop": ["y", "z"]}):
        with pytest.raises(sapwood.errors.NotFoundError, match="nomatch|'z'"):
            sapwood.rewrite(tmp_path / "old.root", tmp_path / "new.root", **given)
    assert not (tmp_path / "new.root").exists()


def test_a_file_that_is_being_written_is_not_replaced(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "other.root") as file:
        file["o"] = "other"
    with sapwood.recreate(tmp_path / "mine.root") as file:
        file["mine"] = {"x": [1, 2, 3]}
        file.save()
        with pytest.raises(sapwood.SapwoodError, match="another writer"):
            sapwood.rewrite(tmp_path / "other.root", tmp_path / "mine.root")
        file["more"] = {"x": [4]}
    assert sapwood.open(tmp_path / "mine.root").keys() == ["mine;1", "more;1"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.root", "other.root"]


@pytest.mark.parametrize("how", ["rewrite", "copy"])
def test_an_rntuple_is_copied_with_its_pages(tmp_path: Path, how: str) -> None:
    uproot = pytest.importorskip("uproot")
    old, new = tmp_path / "old.root", tmp_path / "new.root"
    with uproot.recreate(old) as file:
        file.mkrntuple("ntuple", {"x": np.arange(10)})
    if how == "rewrite":
        sapwood.rewrite(old, new)
    else:
        with sapwood.recreate(new) as file:
            file.copy(old, "ntuple")
    assert sapwood.open(new)["ntuple"]["x"].array().to_list() == list(range(10))
    with uproot.open(new) as file:
        assert file["ntuple"].arrays()["x"].to_list() == list(range(10))


def test_patterns_of_branches_do_not_empty_other_trees(tmp_path: Path) -> None:
    path, new = tmp_path / "two.root", tmp_path / "new.root"
    with sapwood.recreate(path) as file:
        file["events"] = {"x": np.arange(4), "y": np.arange(4)}
        file["runs"] = {"number": np.arange(2)}
        file.mkrntuple("fields", {"z": np.float64}).extend({"z": np.array([1.0, 2.0])})
    sapwood.rewrite(path, new, keep="x")
    done = sapwood_command("rewrite", path, tmp_path / "line.root", "--keep", "x")
    assert done.returncode == 0, done.stderr
    for made in (new, tmp_path / "line.root"):
        with sapwood.open(made) as file:
            assert file["events"].keys() == ["x"]
            assert file["runs"]["number"].array(library="np").tolist() == [0, 1]
            assert file["fields"].num_entries == 2
    with pytest.raises(sapwood.errors.MismatchError, match="no branch of 'runs' would be left: trees="):
        sapwood.rewrite(path, tmp_path / "none.root", drop="number")
    done = sapwood_command("rewrite", path, tmp_path / "none.root", "--drop", "number")
    assert done.returncode == 1 and "no branch of it would be left" in done.stderr
    assert not (tmp_path / "none.root").exists()


def test_what_is_left_of_a_cut_file_is_not_written_as_if_it_were_whole(tmp_path: Path) -> None:
    whole, out = tmp_path / "whole.root", tmp_path / "out.root"
    with sapwood.recreate(whole) as file:
        file["t"] = {"x": np.random.default_rng(1).normal(size=10_000)}
        file["u"] = {"x": np.arange(3)}
    whole.write_bytes(whole.read_bytes()[:-10])
    with pytest.raises(sapwood.errors.MalformedError, match=r"cut: `sapwood recover`.*whole\.root"):
        sapwood.rewrite(whole, out)
    assert not out.exists()
