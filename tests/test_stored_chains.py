"""Chains that ROOT stored in files, named by their path like a tree; and the names of trees in entry lists."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")
ROOT = pytest.importorskip("ROOT")

EXPECTED = [0, 1, 2, 10, 11, 12]


@pytest.fixture
def stored(tmp_path: Path) -> str:
    for part in (0, 1):
        with sapwood.recreate(tmp_path / f"{part}.root") as file:
            file["d/t"] = {"x": np.arange(3) + 10 * part}
    chain = ROOT.TChain("d/t")
    for part in (0, 1):
        chain.Add(f"{tmp_path}/{part}.root")
    file = ROOT.TFile(f"{tmp_path}/chain.root", "RECREATE")
    file.WriteObject(chain, "all")
    file.Close()
    return f"{tmp_path}/chain.root:all"


class Listed(sapwood.Selector):
    columns = ["x"]

    def process(self, batch: Any) -> Any:
        return batch["x"].tolist()


def test_a_stored_chain_is_read_by_its_path(stored: str, tmp_path: Path) -> None:
    assert sapwood.concatenate(stored).x.tolist() == EXPECTED
    assert sapwood.concatenate({stored.rpartition(":")[0]: "all"}).x.tolist() == EXPECTED
    assert sapwood.concatenate([stored, f"{tmp_path}/0.root:d/t", stored]).x.tolist() == [
        *EXPECTED,
        *EXPECTED[:3],
        *EXPECTED,
    ]
    assert [step.x.tolist() for step in sapwood.iterate(stored)] == [EXPECTED[:3], EXPECTED[3:]]
    assert sapwood.concatenate(stored, ["Entries$"])["Entries$"].tolist() == [6] * 6
    assert sapwood.concatenate(stored, entries=[1, 4]).x.tolist() == [1, 11]
    assert [entries for *_, entries in sapwood.num_entries(stored)] == [3, 3]
    assert sapwood.draw(stored, "x>>h(20, 0, 20)", library="np")[0].sum() == 6
    assert [one.numbers().tolist() for one in sapwood.draw(stored, ">>l", "x > 1").lists] == [[2], [0, 1, 2]]
    assert len(list(sapwood.scan(stored, "x"))) == 6
    with ThreadPoolExecutor(2) as executor:
        assert sapwood.process(stored, Listed(), executor) == EXPECTED
    assert sapwood.skim(stored, tmp_path / "skim.root", cut="x > 1") == 4


def test_a_stored_chain_is_converted(stored: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    sapwood.convert(stored, tmp_path / "all.parquet")
    import pyarrow.parquet

    assert pyarrow.parquet.read_table(tmp_path / "all.parquet")["x"].to_pylist() == EXPECTED


def test_dask_reads_a_stored_chain(stored: str) -> None:
    pytest.importorskip("dask_awkward")
    for options in ({}, {"steps_per_file": 2}, {"open_files": False}):
        assert sapwood.dask(stored, **options).x.compute().tolist() == EXPECTED, options


def test_the_trees_of_a_stored_chain_are_not_written_over(stored: str, tmp_path: Path) -> None:
    with pytest.raises(sapwood.errors.SapwoodError, match=r"1\.root"):
        sapwood.skim(stored, tmp_path / "1.root", cut="x > 1")
    assert sapwood.concatenate(stored).x.tolist() == EXPECTED


def test_steps_and_friends_of_a_stored_chain_are_refused(stored: str, tmp_path: Path) -> None:
    path = stored.rpartition(":")[0]
    with pytest.raises(sapwood.errors.MismatchError, match="TChain: give steps for its files"):
        sapwood.concatenate({path: {"object_path": "all", "steps": [[0, 1]]}})
    tree = sapwood.open(f"{tmp_path}/0.root:d/t")
    with pytest.raises(sapwood.errors.MismatchError, match="is a TChain, a list of files"):
        tree.add_friend(stored)


def test_chains_that_list_one_another_end(tmp_path: Path) -> None:
    chain = ROOT.TChain("all")
    chain.Add(f"{tmp_path}/loop.root")
    file = ROOT.TFile(f"{tmp_path}/loop.root", "RECREATE")
    file.WriteObject(chain, "all")
    file.Close()
    with pytest.raises(sapwood.errors.MismatchError, match="is a TChain"):
        sapwood.concatenate(f"{tmp_path}/loop.root:all")


def test_the_list_of_a_tree_in_a_folder_has_the_path_as_root_does(stored: str, tmp_path: Path) -> None:
    file = ROOT.TFile(f"{tmp_path}/0.root")
    tree = file.Get("d/t")
    tree.Draw(">>l", "x > 0", "entrylist")
    of_root = ROOT.gDirectory.Get("l")
    made = sapwood.open(f"{tmp_path}/0.root:d/t").draw(">>l", "x > 0")
    assert (made.tree_name, made.tree_file) == (str(of_root.GetTreeName()), str(of_root.GetFileName()))
    with sapwood.recreate(tmp_path / "list.root") as out:
        out["l"] = made
    # A chain of ROOT finds no list by the bare name, and takes no entries then.
    lists = ROOT.TFile(f"{tmp_path}/list.root")
    chain = ROOT.TChain("d/t")
    chain.Add(f"{tmp_path}/0.root")
    chain.SetEntryList(lists.Get("l"))
    assert chain.Draw("x", "", "goff") == 2
    chain.SetEntryList(ROOT.nullptr)
    file.Close()
