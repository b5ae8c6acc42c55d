"""Entries of a branch as the bytes that they are: lists of a type that the caller names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood._read import libraries
from sapwood._read.selection import Selection
from sapwood.errors import MismatchError

if TYPE_CHECKING:
    from sapwood._tree.branch import Branch
    from sapwood.interpretation import AsJagged


def read(branch: Branch, selection: Selection, library: Any, wanted: AsJagged) -> Any:
    """The lists of the selected entries, as an Awkward Array or a NumPy array of arrays.

    Shape: one list per selected entry. Raises :class:`~sapwood.errors.MismatchError` for an entry that is not
    ``header_bytes`` and a whole number of values.
    """
    to = libraries.as_library(library)
    if to not in (libraries.AWKWARD, libraries.NUMPY):
        raise MismatchError(f"{wanted!r} is read with library='ak' or 'np'")
    rows = np.arange(*selection.span) if selection.rows is None else selection.rows
    values, counts = _bytes(branch, selection, wanted)
    ends = np.concatenate([[0], np.cumsum(counts)])
    stored = wanted.stored
    assert stored is not None, "the type of a branch does not describe its bytes"
    flat = values.view(stored).astype(stored.newbyteorder("="))
    rows = rows - selection.span[0]
    if to is libraries.NUMPY:
        out = np.empty(len(rows), dtype=object)
        for place, row in enumerate(rows):
            out[place] = flat[ends[row] : ends[row + 1]]
        return out
    ak = libraries.need("awkward", "library='ak'")
    lists = ak.contents.ListOffsetArray(ak.index.Index64(ends), ak.from_numpy(flat, highlevel=False))
    array = ak.Array(lists)
    return array if selection.rows is None else array[rows]


def _bytes(branch: Branch, selection: Selection, wanted: AsJagged) -> tuple[Any, Any]:
    """The bytes of the values of all entries in the span, and how many values each entry has."""
    first, last = selection.span
    header, wide = wanted.header_bytes, wanted.stored.itemsize  # type: ignore[union-attr]
    pieces, counts = [np.zeros(0, "uint8")], [np.zeros(0, "int64")]
    for number in branch.entries_to_ranges_or_baskets(first, last):
        basket = branch.basket(number)
        start, stop = basket.entry_start_stop
        starts = basket.byte_offsets
        if starts is None:
            starts = np.linspace(0, len(basket.data), stop - start + 1).astype("int64")
        starts = starts[max(first, start) - start : min(last, stop) - start + 1].astype("int64")
        sizes = np.maximum(np.diff(starts) - header, 0)
        wrong = np.flatnonzero(sizes % wide)
        if len(wrong):
            raise MismatchError(
                f"entry {max(first, start) + int(wrong[0])} of {branch.path!r} has {int(np.diff(starts)[wrong[0]])} bytes, "
                f"which are not {header} and values of {wide} bytes"
            )
        data = basket.data[starts[0] : starts[-1]]
        is_value = np.ones(len(data), dtype=bool)
        for skip in range(header):
            at = starts[:-1] + skip
            is_value[at[at < starts[1:]] - starts[0]] = False
        pieces.append(data[is_value])
        counts.append(sizes // wide)
    return np.concatenate(pieces), np.concatenate(counts)
