"""Lists of entries, chains and friends that real ROOT wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.rootrun import root

sapwood = pytest.importorskip("sapwood")

MAKE = """
import array, os
os.chdir(sys.argv[1])
def tree(name, entries):
    made, x = ROOT.TTree(name, name), array.array("i", [0])
    made.Branch("x", x, "x/I")
    for entry in range(entries):
        x[0] = entry
        made.Fill()
    return made
tests = {"few": lambda i: i % 3000 == 1, "third": lambda i: i % 3 == 0, "most": lambda i: i % 2000 != 5, "none": lambda i: False}
file = ROOT.TFile("lists.root", "recreate")
tree("t", 130000).Write()
for name, test in tests.items():
    for packed in (False, True):
        made = ROOT.TEntryList(name + ("_packed" if packed else ""), "")
        made.SetTree("t", "lists.root")
        for entry in filter(test, range(130000)):
            made.Enter(entry)
        if packed:
            made.OptimizeStorage()
        made.Write()
old = ROOT.TEventList("old", "")
for entry in (3, 5):
    old.Enter(entry)
old.Write()
file.Close()
for name, entries in (("b", 6), ("a", 4)):
    file = ROOT.TFile(name + ".root", "recreate")
    own = tree("t", entries)
    if name == "a":
        own.AddFriend("f = t", "b.root")
    own.Write()
    file.Close()
chain = ROOT.TChain("t")
for name in ("a.root", "b.root"):
    chain.Add(name)
file = ROOT.TFile("chain.root", "recreate")
chain.Write("chain")
chain.Draw(">>passed", "x > 2", "entrylist")
ROOT.gDirectory.Get("passed").Write()
file.Close()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("lists")
    root(MAKE, made)
    return made


def test_the_cache_follows_a_list(folder: Path) -> None:
    wanted = [entry for entry in range(130000) if entry % 3000 == 1]
    with sapwood.open(folder / "lists.root") as file:
        tree, one = file["t"], file["few"]
        chosen = [number for number in one.numbers_of(tree) if number > 100_000]
        assert [row["x"] for row in tree.rows(one)] == wanted
    with sapwood.open(folder / "lists.root") as file:
        tree = file["t"]
        assert [row["x"] for row in tree.rows(chosen)] == chosen
        baskets = tree["x"].num_baskets
        borders = [tree["x"].basket_entry_start_stop(number) for number in range(baskets)]
        holding = [
            number
            for number, (start, stop) in enumerate(borders)
            if any(start <= one < stop for one in chosen)
        ]
        figures = tree.cache_figures
        needed = sum(tree["x"].basket_compressed_bytes(number) for number in holding)
        assert 0 < len(holding) < baskets and figures["wasted_bytes"] == 0
        assert figures["fetched_bytes"] <= needed + 200 * len(holding), (figures, needed)


def test_entries_of_a_list_are_read(folder: Path) -> None:
    file = sapwood.open(folder / "lists.root")
    tests = {
        "few": lambda i: i % 3000 == 1,
        "third": lambda i: i % 3 == 0,
        "most": lambda i: i % 2000 != 5,
        "none": lambda i: False,
    }
    sorts = set()
    for name, test in tests.items():
        wanted = [entry for entry in range(130000) if test(entry)]
        for one in (file[name], file[name + "_packed"]):
            assert len(one) == len(wanted)
            assert file["t"].arrays(["x"], entries=one, library="np")["x"].tolist() == wanted
            assert file["t/x"].array(entries=one, library="np").tolist() == wanted
            sorts |= {
                (block.member("fType"), block.member("fPassing")) for block in one.member("fBlocks") or []
            }
    assert sorts == {(0, True), (1, True), (1, False)}  # bits, entries that passed, entries that did not
    assert file["t/x"].array(entries=file["old"]).tolist() == [3, 5]


def test_a_list_for_several_trees_gives_each_its_own(folder: Path) -> None:
    passed = sapwood.open(folder / "chain.root")["passed"]
    assert [len(one) for one in passed.lists] == [1, 3]
    assert sapwood.open(folder / "b.root")["t"].arrays(entries=passed).tolist() == [
        {"x": 3},
        {"x": 4},
        {"x": 5},
    ]
    with pytest.raises(ValueError, match="no list for the tree 't' in 'lists.root': 't' in"):
        sapwood.open(folder / "lists.root")["t"].arrays(entries=passed)
    with pytest.raises(ValueError, match="is for 2 trees"):
        passed.numbers()


def test_a_list_chooses_entries_of_many_files(folder: Path) -> None:
    passed = sapwood.open(folder / "chain.root")["passed"]
    files = [f"{folder}/{name}.root:t" for name in "ab"]
    for entries, expected in (
        (passed, [3, 3, 4, 5]),
        ([3, 7, 8, 9], [3, 3, 4, 5]),
        (sapwood.open(folder / "lists.root")["old"], [3, 1]),
        ([], []),
    ):
        assert all_ways(files, entries) == [expected] * 4
    mask = sapwood.concatenate(files, ["x"], "x != 4", entries=passed, entry_stop=9, library="np")["x"]
    assert mask.tolist() == [3, 3]
    # What was chosen by a drawing of these files is the same.
    drawn = sapwood.draw(files, ">>list", "x > 2")
    assert all_ways(files, drawn) == [[3, 3, 4, 5]] * 4


def all_ways(files: list[str], entries: Any) -> list[list[int]]:
    """The chosen numbers by everything that reads many files."""

    class Values(sapwood.Selector):
        columns = ["x"]

        def process(self, batch: Any) -> Any:
            return batch["x"].tolist()

    drawn = sapwood.draw(files, "x>>h(10,0,10)", library="np", entries=entries)[0]
    steps = sapwood.iterate(files, ["x"], step_size=2, library="np", entries=entries)
    found = sapwood.concatenate(files, ["x"], library="np", entries=entries)["x"].tolist()
    assert [int(count) for count in drawn] == [found.count(number) for number in range(10)]
    dask = sapwood.dask(files, entries=entries)
    return [
        found,
        [int(one) for step in steps for one in step["x"]],
        list(sapwood.process(files, Values(), entries=entries) or []),
        dask["x"].compute().tolist(),
    ]


def test_entries_that_no_file_has_are_refused(folder: Path) -> None:
    files = [f"{folder}/{name}.root:t" for name in "ab"]
    passed = sapwood.open(folder / "chain.root")["passed"]
    for entries, words in (
        ([3, 10], "entry 10 is wanted, and all files together have 10"),
        ([3, 3], "rising numbers"),
        ([-1], "rising numbers"),
        (sapwood.open(folder / "lists.root")["third"], "no list for any of these files"),
    ):
        with pytest.raises(sapwood.errors.MismatchError, match=words):
            sapwood.concatenate(files, ["x"], entries=entries)
    with pytest.raises(TypeError, match="whole numbers"):
        sapwood.concatenate(files, ["x"], entries=[0.5])
    with pytest.raises(sapwood.errors.MismatchError, match="no list for any"):
        list(sapwood.iterate([f"{folder}/lists.root:t"], ["x"], entries=passed))


def test_a_chain_is_a_list_of_files(folder: Path) -> None:
    chain = sapwood.open(folder / "chain.root")["chain"]
    assert chain.classname == "TChain" and chain.member("fNtrees") == 2
    assert chain.num_entries == 10 and len(chain.arrays(["x"])) == 10
    for use in (lambda: chain["x"], lambda: len(chain), lambda: chain.keys()):
        with pytest.raises(sapwood.errors.UnsupportedError, match="list of files.*read them as one tree"):
            use()


def test_a_friend_of_the_file_is_read_by_expressions(folder: Path) -> None:
    tree = sapwood.open(folder / "a.root")["t"]
    assert tree.friends == {"f": ("b.root", "t")}
    assert tree.arrays(["f.x - x"], library="np")["f.x - x"].tolist() == [0, 0, 0, 0]
    with pytest.raises(KeyError, match="those of its friends .f. are read by arrays"):
        tree["f.y"]
    with pytest.raises(KeyError, match="there is no branch .y."):
        tree.arrays("y")
