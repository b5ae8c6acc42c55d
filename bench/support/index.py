"""The work list of the limit: which bytes hold which values of a tree, written by uproot into a text file beside it."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
from bench.support.files import TREE

EVENT = [
    ("member", 4, 1, 0, "i"),
    ("member", 8, 1, 0, "i"),
    ("member", 4, 1, 0, "f"),
    ("member", 4, 10, 0, "i"),
    ("member", 4, 16, 0, "f"),
    ("skip", 8),  # byte count, version and class version of the collection, which is stored member by member
    ("count",),
    *[("element", 4, 1, 0, "f")] * 8,
    *[("element", 4, 1, 1, "f")] * 7,  # Double32_t: a float in the file
    ("element", 4, 1, 0, "i"),
    ("element", 2, 1, 0, "i"),
]
"""How a whole BenchEvent lies in a basket."""


def _key(raw: np.ndarray, seek: int) -> tuple[int, int, int]:
    """nbytes, objlen, keylen of the record at `seek`."""
    nbytes, _, objlen, _, keylen = struct.unpack(">ihiIh", raw[seek : seek + 16].tobytes())
    return nbytes, objlen, keylen


def _describe(branch: Any) -> tuple[str, int, int, int, str, int] | None:
    """kind, width, values of one element, widen, kind of number, header bytes; None for what holds no values."""
    how = branch.interpretation
    kind = type(how).__name__
    if (
        branch.member("fClassName", none_if_missing=True) == "BenchEvent"
        and not branch.branches
        and branch.name == "event"
    ):
        return "rows", 0, 1, 0, "-", 0
    if branch.branches or kind == "AsGrouped":
        return None  # the counts of a split collection are also the lengths of its members' lists
    if kind == "AsStrings":
        return "text", 1, 1, 0, "t", 0
    if kind == "AsObjects":
        return "lists2", 4, 1, 0, "f", 10  # byte count, version, number of lists
    content = how.content if kind == "AsJagged" else how
    file, answer = content.from_dtype, content.to_dtype
    times = int(np.prod(file.shape)) if file.shape else 1
    widen = int(file.base.itemsize == 4 and answer.base.itemsize == 8)
    number = {"f": "f", "i": "i", "u": "u", "b": "u"}[file.base.kind]
    if kind == "AsJagged":
        return "list", file.base.itemsize, times, widen, number, how.header_bytes
    return "fixed", file.base.itemsize, times, widen, number, 0


def write_index(path: Path, name: str = TREE) -> Path:
    """Make the index of one file, when it is not there yet."""
    out = path.with_suffix(".index")
    if out.exists() and out.stat().st_mtime >= path.stat().st_mtime:
        return out
    import awkward as ak
    import uproot

    file = uproot.open(path)
    tree = file[name]
    raw = np.memmap(path, dtype=np.uint8, mode="r")
    record = file.key(name)
    seek = int(record.fSeekKey)
    nbytes, objlen, keylen = _key(raw, seek)
    lines = [f"file {path}", f"record {seek} {nbytes} {keylen} {objlen}"]
    opened_only = "clusters" in path.name
    for branch in [] if opened_only else tree.itervalues(recursive=True):
        described = _describe(branch)
        if described is None:
            continue
        kind, width, times, widen, number, header = described
        entries = int(branch.num_entries)
        lists = None
        if kind == "lists2":
            array = branch.array()
            lists = np.concatenate([[0], np.cumsum(ak.to_numpy(ak.num(array, axis=1)))])
            values_before = np.concatenate(
                [[0], np.cumsum(ak.to_numpy(ak.sum(ak.num(array, axis=2), axis=1)))]
            )
        size = sum(s[1] for s in EVENT if s[0] == "element")
        fixed = sum(s[1] * s[2] for s in EVENT if s[0] == "member") + 8 + 4
        baskets, first_entry, first_value, first_inner = [], 0, 0, 0
        for k in range(branch.num_baskets):
            seek = int(branch.member("fBasketSeek")[k])
            if seek == 0:
                raise ValueError(f"{path.name}: {branch.name} has a basket inside the tree's record")
            nbytes, objlen, keylen = _key(raw, seek)
            _, _, n, last = struct.unpack(">iiii", raw[seek + keylen - 17 : seek + keylen - 1].tobytes())
            border = last - keylen
            baskets.append(
                f"basket {seek} {nbytes} {keylen} {objlen} {border} {n} {first_entry} {first_value} {first_inner}"
            )
            first_entry += n
            if kind == "rows":
                first_value += (border - n * fixed) // size
            elif kind == "text":
                first_value += border - n  # every string here is shorter than 255
            elif lists is not None:
                first_value, first_inner = int(values_before[first_entry]), int(lists[first_entry])
            else:
                first_value += (border - header * n) // width
        if first_entry != entries:
            raise ValueError(f"{path.name}: {branch.name} has {entries} entries, its baskets {first_entry}")
        label = branch.name.replace(" ", "_")
        lines.append(
            f"branch {label} {kind} {width} {times} {widen} {number} {header} {entries} {first_value} {first_inner}"
        )
        if kind == "rows":
            lines += ["step " + " ".join(map(str, s)) for s in EVENT]
        lines += baskets
    out.write_text("\n".join(lines) + "\n")
    return out
