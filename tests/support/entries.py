"""Entries that are added to trees of real ROOT, beside those that ROOT writes itself."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import sapwood

from support.rootrun import root

LARGEST = """
def walk(branch):
    yield [str(branch.GetName()), getattr(branch, "GetMaximum", lambda: 0)()]
    for below in branch.GetListOfBranches():
        yield from walk(below)
file = ROOT.TFile.Open(sys.argv[1])
answer([one for branch in file.Get("tree").GetListOfBranches() for one in walk(branch)])
"""
"""The largest count that each branch tells."""


def objects(value: Any) -> Any:
    """Rows as objects with attributes."""
    if isinstance(value, dict):
        return SimpleNamespace(**{key: objects(of) for key, of in value.items()})
    return [objects(of) for of in value] if isinstance(value, list) else value


def payloads(path: Path) -> dict[str, list[bytes]]:
    """Bytes of each entry of each branch of ``tree``."""
    found = {}
    with sapwood.open(path) as file:
        for key, branch in file["tree"].iteritems():
            entries: list[bytes] = []
            for n in range(branch.num_baskets):
                basket = branch.basket(n)
                data, offsets = bytes(basket.data), basket.byte_offsets
                if offsets is None:
                    width = len(data) // basket.num_entries
                    offsets = range(0, len(data) + 1, width)
                entries += [data[start:end] for start, end in zip(offsets[:-1], offsets[1:])]
            found[key] = entries
    return found


def check(read: str, library: Path, path: Path, theirs: Path, branches: Iterable[str]) -> None:
    """Compares a file with one of ROOT: bytes of each entry, what ROOT reads, and what is read here.

    ``read`` are the lines that let ROOT read a file with classes of a library.
    """
    ours_bytes, their_bytes = payloads(path), payloads(theirs)
    assert ours_bytes.keys() == their_bytes.keys()
    for key, entries in their_bytes.items():
        assert ours_bytes[key] == entries, key
    assert root(read, library, path) == root(read, library, theirs)
    assert root(LARGEST, path) == root(LARGEST, theirs)
    assert sapwood.verify(path) == []
    with sapwood.open(path) as file, sapwood.open(theirs) as other:
        assert file["tree"].keys() == other["tree"].keys()
        for branch in branches:
            assert file["tree"][branch].array().tolist() == other["tree"][branch].array().tolist()
