"""Skims keep what they take as it is: types, counters, names; real ROOT draws of them."""

from __future__ import annotations

import os
from pathlib import Path

import awkward as ak
import numpy as np
import pytest
import sapwood

from support.rootrun import root

CORPUS = Path(os.environ.get("SAPWOOD_CORPUS") or Path(__file__).resolve().parents[2] / "shared/corpus")

ENTRIES = 20
#: How many values real ROOT draws of some branches, and what counts the lists of one.
COUNT = """
file = ROOT.TFile(sys.argv[1])
tree = file.Get("Events")
drawn = [tree.Draw(name, "", "goff") for name in ("Muon_pt", "v", "a", "nMuon")]
answer([drawn, str(tree.GetLeaf("Muon_pt").GetLeafCount().GetName())])
"""


@pytest.fixture
def source(tmp_path: Path) -> str:
    """A tree with lists that share a counter, a vector, an array, texts."""
    muons = [[{"pt": i + k / 4, "charge": 1 - 2 * (k % 2)} for k in range(i % 4)] for i in range(ENTRIES)]
    types = {
        "run": "uint32",
        "Muon": "var * {pt: float32, charge: int32}",
        "v": "vector<float>",
        "words": "vector<string>",
        "a": np.dtype(("f8", (3,))),
        "s": "string",
    }
    with sapwood.recreate(tmp_path / "in.root") as file:
        tree = file.mktree("Events", types)
        tree.extend(
            {
                "run": np.arange(ENTRIES, dtype="u4"),
                "Muon": ak.Array(muons),
                "v": ak.Array([[i / 2] * (i % 3) for i in range(ENTRIES)]),
                "words": ak.Array([["w"] * (i % 2) for i in range(ENTRIES)]),
                "a": np.arange(3.0 * ENTRIES).reshape(ENTRIES, 3),
                "s": [f"text {i}" for i in range(ENTRIES)],
            }
        )
    return f"{tmp_path / 'in.root'}:Events"


def types_of(path: Path) -> dict[str, str]:
    with sapwood.open(path) as file:
        return {name: branch.typename for name, branch in file["Events"].items()}


def test_branches_keep_their_types_and_counters(source: str, tmp_path: Path) -> None:
    output = tmp_path / "out.root"
    assert sapwood.skim(source, output, cut="run > 4", step_size=6) == ENTRIES - 5
    assert types_of(output) == types_of(Path(source.rpartition(":")[0]))
    with sapwood.open(output) as file:
        tree = file["Events"]
        assert tree["Muon_pt"].count_branch.name == tree["Muon_charge"].count_branch.name == "nMuon"
        before = sapwood.open(source).arrays(entry_start=5)
        assert tree.arrays().to_list() == before.to_list()
    muons = sum(i % 4 for i in range(5, ENTRIES))
    drawn = [muons, sum(i % 3 for i in range(5, ENTRIES)), 3 * (ENTRIES - 5), ENTRIES - 5]
    assert root(COUNT, output) == [drawn, "nMuon"]


def test_new_columns_stand_beside_those_that_a_filter_lets_pass(source: str, tmp_path: Path) -> None:
    output = tmp_path / "out.root"
    sapwood.skim(source, output, {"ht": "Sum$(Muon_pt)"}, filter_name="*")
    assert [*types_of(output)] == [*types_of(Path(source.rpartition(":")[0])), "ht"]
    sapwood.skim(source, output, {"ht": "Sum$(Muon_pt)"}, filter_name="Muon_*")
    assert types_of(output).keys() == {"nMuon", "Muon_pt", "Muon_charge", "ht"}
    # What is new may have the name of a counter.
    sapwood.skim(source, output, {"nMuon": "Sum$(Muon_pt > 5)", "pt": "Muon_pt"})
    with sapwood.open(output) as file:
        assert file["Events/pt"].count_branch.name == "npt"
        assert file["Events/nMuon"].array().to_list() == [
            sum(i + k / 4 > 5 for k in range(i % 4)) for i in range(ENTRIES)
        ]
    with pytest.raises(TypeError, match="name columns or filter them"):
        sapwood.skim(source, output, ["run"], filter_name="Muon_*")


def test_a_filter_that_no_branch_passes_is_an_error(source: str, tmp_path: Path) -> None:
    with pytest.raises(sapwood.errors.NotFoundError, match=r"no branch passes filter_name=\['runs'\]"):
        sapwood.skim(source, tmp_path / "out.root", filter_name=["runs"])
    assert not (tmp_path / "out.root").exists()


def test_a_tree_without_entries_gives_one_without_entries(source: str, tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "empty.root") as file:
        file.mktree("Events", {"x": "f4", "v": "vector<int>", "l": "var * int16"})
    output = tmp_path / "out.root"
    assert sapwood.skim(f"{tmp_path / 'empty.root'}:Events", output) == 0
    assert types_of(output) == types_of(tmp_path / "empty.root")
    for format in ("ttree", "rntuple"):
        assert sapwood.skim(source, output, {"x": "run * 2"}, "run > 99", format=format) == 0
        with sapwood.open(output) as file:
            assert file["Events"].keys() == ["x"]


def test_a_split_collection_has_the_names_of_its_members(tmp_path: Path) -> None:
    path, output = CORPUS / "roottest__fccSkim.root", tmp_path / "out.root"
    if not path.exists():
        pytest.skip("the corpus of real files is not here (set SAPWOOD_CORPUS)")
    entries = sapwood.skim(f"{path}:t", output, ["bTags"])
    with sapwood.open(output) as file, sapwood.open(path) as before:
        assert file["t"].keys() == ["nbTags_tag", "bTags_tag"] and file["t"].num_entries == entries
        wanted = before["t"].arrays(["bTags.tag"])["bTags.tag"]
        assert file["t/bTags_tag"].array().to_list() == wanted.to_list()


def test_what_is_read_is_not_written_over(source: str) -> None:
    path = source.rpartition(":")[0]
    content = Path(path).read_bytes()
    with pytest.raises(sapwood.errors.MismatchError, match="is a file that is read"):
        sapwood.skim(source, path, ["run"])
    assert Path(path).read_bytes() == content


def test_a_counter_of_the_first_file_that_counts_no_more_is_told(tmp_path: Path) -> None:
    lists = ak.Array([[1.0], [], [2.0, 3.0]])
    for name, counter in (("a", "nn"), ("b", "n{}")):
        with sapwood.recreate(tmp_path / f"{name}.root") as file:
            types = {"nn": "int32", "v": "var * float64"}
            tree = file.mktree("t", types, counter_name=counter)
            tree.extend({"v": lists} | ({"nn": [7, 8, 9]} if name == "b" else {}))
    files = [f"{tmp_path}/{name}.root:t" for name in "ab"]
    with pytest.raises(sapwood.errors.MismatchError, match="'nn' counts the lists of 'v' in the first file"):
        sapwood.skim(files, tmp_path / "out.root", ["nn", "v"])
    sapwood.skim(files, tmp_path / "out.root", {"count": "nn", "v": "v"})
    with sapwood.open(tmp_path / "out.root") as file:
        assert file["t/count"].array().to_list() == [1, 0, 2, 7, 8, 9]


def test_a_cut_on_items_lets_lists_count_anew(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "in.root") as file:
        file["t"] = {"v": ak.Array([[1, 5], [2], [7, 8, 9]])}
    output = tmp_path / "out.root"
    sapwood.skim(f"{tmp_path / 'in.root'}:t", output, cut="v > 2")
    with sapwood.open(output) as file:
        assert file["t"].arrays().to_list() == [
            {"nv": 1, "v": [5]},
            {"nv": 0, "v": []},
            {"nv": 3, "v": [7, 8, 9]},
        ]


def test_names_may_come_one_by_one(source: str, tmp_path: Path) -> None:
    output = tmp_path / "out.root"
    assert sapwood.skim([source, source], output, (name for name in ["run", "v"]), step_size=7) == 2 * ENTRIES
    assert [*sapwood.iterate([source, source], map(str, ["run"]))][1]["run"].to_list() == [*range(ENTRIES)]
    assert len(sapwood.concatenate([source, source], iter(["run"]))["run"]) == 2 * ENTRIES


@pytest.mark.parametrize("order", [1, -1])
def test_a_file_with_other_branches_is_named(tmp_path: Path, order: int) -> None:
    for name, columns in (("a", {"x": [1], "y": [2]}), ("b", {"x": [3]})):
        with sapwood.recreate(tmp_path / f"{name}.root") as file:
            file["t"] = columns
    files = [f"{tmp_path}/a.root:t", f"{tmp_path}/b.root:t"][::order]
    named = "b.root" if order == 1 else "a.root"
    words = "lacks? the branch 'y': name columns .* \\(fill={'y': 0}\\) .*/" + named
    with pytest.raises(sapwood.errors.MismatchError, match=words):
        sapwood.skim(files, tmp_path / "out.root", filter_name="*")
    assert sapwood.skim(files, tmp_path / "out.root", filter_name=["x", "y"], fill={"y": 0}) == 2
