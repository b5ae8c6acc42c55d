"""Trees that other programs wrote stay true for real ROOT, whatever is done with them here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.rootrun import root
from support.trueforroot import assert_true_for_root

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")
np = pytest.importorskip("numpy")
uproot = pytest.importorskip("uproot")

ROWS: dict[str, list[Any]] = {"nj": [1, 2, 1], "j": [[1.0], [2.0, 3.0], [4.0]], "k": [7, 8, 9]}
TWICE = {name: 2 * values for name, values in ROWS.items()}


def run(*arguments: object) -> str:
    """The command's output."""
    command = [sys.executable, "-m", "sapwood", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def by_uproot(path: Path, *chunks: bool) -> Path:
    """A tree of lists; chunks have rows or none. If the first has none, uproot declares no offsets."""
    lists = ak.values_astype(ak.Array(ROWS["j"]), "float32")
    numbers = np.array(ROWS["k"], "i8")
    with uproot.recreate(path) as file:
        tree = file.mktree("t", {"j": "var * float32", "k": "int64"})
        for is_full in chunks:
            tree.extend({"j": lists if is_full else lists[:0], "k": numbers if is_full else numbers[:0]})
    return path


def rows() -> dict[str, Any]:
    return {"j": ak.values_astype(ak.Array(ROWS["j"]), "float32"), "k": np.array(ROWS["k"], "i8")}


def test_lists_that_are_added_to_a_tree_without_rows_have_offsets(tmp_path: Path) -> None:
    empty, full = by_uproot(tmp_path / "empty.root", False), by_uproot(tmp_path / "full.root", True)
    outputs: dict[Path, dict[str, list[Any]]] = {}

    def output(name: str, values: dict[str, list[Any]] = ROWS) -> Path:
        outputs[tmp_path / name] = values
        return tmp_path / name

    extended = output("extended.root", TWICE)
    shutil.copy(empty, extended)
    for _ in range(2):
        with sapwood.update(extended) as file:
            file["t"].extend(rows())
    with sapwood.update(extended) as file:
        file.add_branches("t", {"more": np.arange(6.0)})
    outputs[extended] = {**TWICE, "more": list(range(6))}
    with sapwood.recreate(output("like.root")) as file:
        file.mktree("t", like=sapwood.open(empty)["t"]).extend(rows())
    for number, options in enumerate(([], ["-f505"], ["-O"])):
        run("merge", "-f", *options, output(f"first{number}.root"), empty, full)
        run("merge", "-f", *options, output(f"middle{number}.root", TWICE), full, empty, full)
    appended = output("appended.root")
    shutil.copy(empty, appended)
    run("merge", "-a", appended, full)
    run("rewrite", extended, output("rewritten.root", TWICE))
    run("rewrite", "--baskets", "keep", extended, output("kept.root", TWICE))
    run("cp", f"{extended}:t", f"{output('copied.root', TWICE)}:t")
    sapwood.skim(f"{extended}:t", output("skimmed.root", TWICE), cut="k > 0", filter_name="*")
    for declared in assert_true_for_root(outputs):
        assert declared["j"] and not declared["k"]
    for path in outputs:
        assert "damage" not in run("verify", path)


PLAIN = """
from array import array
file = ROOT.TFile(sys.argv[1], "RECREATE", "", 0)
tree, n, j, k = ROOT.TTree("t", "t"), array("i", [0]), array("f", 5 * [0]), array("q", [0])
for branch in (("nj", n, "nj/I"), ("j", j, "j[nj]/F"), ("k", k, "k/L")):
    tree.Branch(*branch)
for count, values, number in ((1, [1], 7), (2, [2, 3], 8), (1, [4], 9)):
    n[0], k[0] = count, number
    for i, value in enumerate(values):
        j[i] = value
    tree.Fill()
tree.FlushBaskets()
tree.GetLeaf("nj").SetMaximum(int(sys.argv[2]))
tree.Write()
file.Close()
"""


def faulty(folder: Path) -> tuple[Path, Path, Path]:
    """Trees whose records say less than is true: of offsets, of the largest count; and more, of offsets."""
    offsets, maximum, fixed = (folder / f"{name}.root" for name in ("offsets", "maximum", "fixed"))
    root(PLAIN, offsets, 2)
    root(PLAIN, maximum, 1)
    whole = offsets.read_bytes()
    size = (32_000).to_bytes(4, "big")
    counted = size + (12).to_bytes(4, "big")
    assert whole.count(counted) == 1
    offsets.write_bytes(whole.replace(counted, size + bytes(4)))
    before, after = whole.rsplit(size + bytes(4), 1)
    fixed.write_bytes(before + size + (1000).to_bytes(4, "big") + after)
    return offsets, maximum, fixed


def test_verify_sees_what_root_reads_otherwise_and_rewrite_corrects_it(tmp_path: Path) -> None:
    offsets, maximum, fixed = faulty(tmp_path)
    with pytest.raises(AssertionError, match="GetEntry"):
        assert_true_for_root({offsets: ROWS})
    found = subprocess.run(
        [sys.executable, "-m", "sapwood", "verify", str(offsets)], capture_output=True, text=True
    )
    assert (
        found.returncode != 0
        and "its fEntryOffsetLen is 0: ROOT reads other values" in found.stdout + found.stderr
    )
    assert "a leaf counts more than its fMaximum: ROOT cuts such lists" in run("verify", maximum)
    outputs = {}
    for options in ([], ["--baskets", "keep"]):
        outputs[tmp_path / f"offsets{len(options)}.root"] = ROWS
        run("rewrite", *options, offsets, tmp_path / f"offsets{len(options)}.root")
    run("merge", tmp_path / "merged.root", offsets, offsets)
    run("cp", f"{offsets}:t", f"{tmp_path / 'copied.root'}:t")
    run("rewrite", maximum, tmp_path / "maximum2.root")
    run("rewrite", fixed, tmp_path / "fixed2.root")
    # ROOT reads offsets of all baskets of a branch, or of none.
    with pytest.raises(sapwood.errors.UnsupportedError, match="hold offsets of entries"):
        with sapwood.update(fixed) as file:
            file["t"].extend(rows())
    with sapwood.update(tmp_path / "fixed2.root") as file:
        file["t"].extend(rows())
    shutil.copy(offsets, tmp_path / "extended.root")
    with sapwood.update(tmp_path / "extended.root") as file:
        file["t"].extend(rows())
    outputs |= {tmp_path / f"{name}.root": ROWS for name in ("copied", "maximum2")}
    outputs |= {tmp_path / f"{name}.root": TWICE for name in ("merged", "fixed2", "extended")}
    assert_true_for_root(outputs)


EMPTY = """
from array import array
for name, branches, entries in (("bare", 0, 0), ("bare5", 0, 5), ("full", 1, 3)):
    file = ROOT.TFile(f"{sys.argv[1]}/{name}.root", "RECREATE")
    tree, k = ROOT.TTree("t", "t"), array("q", [0])
    if branches:
        tree.Branch("k", k, "k/L")
    for i in range(entries):
        k[0] = 7 + i
        tree.Fill()
    tree.Write()
    file.Close()
for name, rows in (("nofields", 0), ("fields", 3)):
    model = ROOT.RNTupleModel.Create()
    if rows:
        model.MakeField["double"]("x")
    writer = ROOT.RNTupleWriter.Recreate(model, "t", f"{sys.argv[1]}/{name}.root")
    for i in range(rows):
        writer.Fill(writer.CreateEntry())
    writer = None
"""


def test_trees_without_branches_give_way_in_every_place(tmp_path: Path) -> None:
    root(EMPTY, tmp_path)
    bare, bare5, full, nofields, fields = (
        tmp_path / f"{name}.root" for name in ("bare", "bare5", "full", "nofields", "fields")
    )
    outputs = {}
    for number, order in enumerate(
        ([bare, full], [full, bare], [bare, full, bare, full], [bare5, bare, full, full])
    ):
        output = tmp_path / f"{number}.root"
        words = run("merge", output, *order)
        assert (bare5 in order) == ("have no branches" in words)
        outputs[output] = {"k": order.count(full) * [7, 8, 9]}
    appended = tmp_path / "appended.root"
    shutil.copy(bare, appended)
    run("merge", "-a", appended, full)
    run("merge", "-a", appended, bare)
    outputs[appended] = {"k": [7, 8, 9]}
    assert_true_for_root(outputs)
    run("merge", tmp_path / "bares.root", bare, bare)
    assert sapwood.open(tmp_path / "bares.root")["t"].num_entries == 0
    for number, order in enumerate(([nofields, fields], [fields, nofields], [fields, nofields, fields])):
        run("merge", tmp_path / f"n{number}.root", *order)
        merged = sapwood.open(tmp_path / f"n{number}.root")["t"]
        assert (merged.num_entries, merged.keys()) == (3 * order.count(fields), ["x"])


def test_counters_of_another_sign_are_merged(tmp_path: Path) -> None:
    lines = """
from array import array
for letter in "iI":
    file = ROOT.TFile(f"{sys.argv[1]}/{letter * 2 if letter == 'i' else 'signed'}.root", "RECREATE")
    tree, n, j, k = ROOT.TTree("t", "t"), array("i", [0]), array("f", 5 * [0]), array("q", [0])
    for branch in (("nj", n, "nj/" + letter), ("j", j, "j[nj]/F"), ("k", k, "k/L")):
        tree.Branch(*branch)
    for count, values, number in ((1, [1], 7), (2, [2, 3], 8), (1, [4], 9)):
        n[0], k[0] = count, number
        for i, value in enumerate(values):
            j[i] = value
        tree.Fill()
    tree.Write()
    file.Close()
"""
    root(lines, tmp_path)
    signed, unsigned = tmp_path / "signed.root", tmp_path / "ii.root"
    run("merge", tmp_path / "one.root", signed, unsigned)
    run("merge", tmp_path / "two.root", unsigned, signed)
    assert_true_for_root({tmp_path / "one.root": TWICE, tmp_path / "two.root": TWICE})


def test_files_whose_last_record_root_deleted_are_merged_and_updated(tmp_path: Path) -> None:
    lines = """
path = sys.argv[1]
file = ROOT.TFile(path, "RECREATE"); h = ROOT.TH1D("a", "a", 10, 0, 1); h.Write(); file.Close()
file = ROOT.TFile(path, "UPDATE"); b = ROOT.TH1D("big", "b", 2000, 0, 1)
for i in range(5000):
    b.Fill(ROOT.gRandom.Rndm())
b.Write(); file.Close()
file = ROOT.TFile(path, "UPDATE"); file.Delete("big;*"); file.Close()
"""
    place = tmp_path / "deleted.root"
    root(lines, place)
    run("merge", tmp_path / "merged.root", place)
    with sapwood.update(place) as file:
        file["n"] = "text"
    lines = "file = ROOT.TFile.Open(sys.argv[1]); answer([str(k.GetName()) for k in file.GetListOfKeys()])"
    assert root(lines, tmp_path / "merged.root") == ["a"]
    assert root(lines, place) == ["a", "n"]


def test_directories_keep_their_titles(tmp_path: Path) -> None:
    lines = """
file = ROOT.TFile(sys.argv[1], "RECREATE"); file.mkdir("dd", "my title").mkdir("in", "inner").cd()
ROOT.TNamed("n", "t").Write(); file.Close()
"""
    place = tmp_path / "from.root"
    root(lines, place)
    outputs = [tmp_path / f"{name}.root" for name in ("merged", "rewritten", "copied")]
    run("merge", outputs[0], place)
    run("rewrite", place, outputs[1])
    run("cp", "-r", f"{place}:dd", f"{outputs[2]}:dd")
    titles = """
found = []
for path in sys.argv[2:]:
    file = ROOT.TFile.Open(path)
    found.append([str(file.Get(sys.argv[1]).GetTitle()), str(file.Get(sys.argv[1] + "/in").GetTitle())])
answer(found)
"""
    assert root(titles, "dd", *outputs) == 3 * [["my title", "inner"]]
    with sapwood.update(place) as file:
        file.rename("dd", "ee")
    assert root(titles, "ee", place) == [["my title", "inner"]]


def test_names_of_branches_may_have_any_character(tmp_path: Path) -> None:
    lines = """
from array import array
file = ROOT.TFile(sys.argv[1], "RECREATE"); tree, x = ROOT.TTree("t", "t"), array("f", [0])
for name in ("total/energy", "a:b", "c[2]"):
    tree.Branch(name, x, "x/F")
for i in range(3):
    x[0] = i; tree.Fill()
tree.Write(); file.Close()
"""
    place = tmp_path / "names.root"
    root(lines, place)
    values = dict.fromkeys(("total/energy", "a:b", "c[2]"), [0, 1, 2])
    more = {name: np.array([0, 1, 2], "f4") for name in values}
    outputs = {tmp_path / f"{name}.root": values for name in ("like", "skimmed", "written")}
    like, skimmed, written = outputs
    with sapwood.recreate(like) as file:
        file.mktree("t", like=sapwood.open(place)["t"]).extend(more)
    sapwood.skim(f"{place}:t", skimmed, cut="Entry$ >= 0", filter_name="*")
    with sapwood.recreate(written) as file:
        file["t"] = more
    with sapwood.update(place) as file:
        file["t"].extend(more)
    outputs[place] = {name: 2 * column for name, column in values.items()}
    assert_true_for_root(outputs)
