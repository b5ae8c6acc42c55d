"""Entry lists with a part for each tree of a chain."""

import numpy as np
import pytest
import sapwood


@pytest.mark.parametrize("tree", ["t", "d/t"])
def test_lists_of_roots_chains_are_found_also_in_folders(tmp_path, tree):
    ROOT = pytest.importorskip("ROOT")
    for part in (0, 1):
        with sapwood.recreate(tmp_path / f"{part}.root") as file:
            file[tree] = {"x": np.arange(3) + 10.0 * part}
    chain = ROOT.TChain(tree)
    for part in (0, 1):
        chain.Add(f"{tmp_path}/{part}.root")
    chain.Draw(">>l", "x>1 && x<12", "entrylist")
    found = ROOT.gDirectory.Get("l")
    file = ROOT.TFile(f"{tmp_path}/list.root", "RECREATE")
    file.WriteObject(found, "l")
    file.Close()
    ROOT.gDirectory.Delete("l")
    files = [f"{tmp_path}/{part}.root:{tree}" for part in (0, 1)]
    entries = sapwood.open(tmp_path / "list.root")["l"]
    assert sapwood.concatenate(files, ["x"], entries=entries).x.tolist() == [2.0, 10.0, 11.0]
    made = sapwood.draw(files, ">>l", "x>1 && x<12")
    assert sapwood.concatenate(files, ["x"], entries=made).x.tolist() == [2.0, 10.0, 11.0]
    assert [one.tree_name for one in made.lists] == [one.tree_name for one in entries.lists] == [tree] * 2


def test_the_list_of_a_tree_is_looked_up(tmp_path, monkeypatch):
    files = []
    for part in range(8):
        with sapwood.recreate(tmp_path / f"{part}.root") as file:
            file["t"] = {"x": [part, part + 0.5]}
        files.append(f"{tmp_path}/{part}.root:t")
    entries = sapwood.draw(files, ">>l", "x == int(x)")
    from sapwood.models.entry_list import EntryList

    asked = []
    lists = EntryList.lists.fget
    monkeypatch.setattr(EntryList, "lists", property(lambda self: (asked.append(1), lists(self))[1]))
    assert sapwood.concatenate(files, ["x"], entries=entries).x.tolist() == list(range(8))
    # A few looks for each file, and none for each pair of files.
    assert len(asked) <= 4 * len(files)


def test_pandas_takes_texts_that_are_not_utf8(tmp_path):
    pytest.importorskip("pandas")
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["t"] = {"c": [b"caf\xe9", b"tea"]}
    found = sapwood.open(f"{tmp_path}/a.root:t").arrays(library="pd")
    assert [one.encode("utf-8", "surrogateescape") for one in found.c] == [b"caf\xe9", b"tea"]
    assert len(sapwood.concatenate([f"{tmp_path}/a.root:t"] * 2, library="pd")) == 4
