"""Rows by number, in any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sapwood._batches.arguments import whole
from sapwood._batches.batch import batch_of, library
from sapwood._batches.catalogue import Catalogue
from sapwood._batches.columns import Ragged
from sapwood._batches.form import Counts, Form, Piece, rows_of
from sapwood._batches.order import scattered


class RowData:
    """The rows of all samples by number: a map-style data set of PyTorch, a source of Grain. Rows that are
    asked for together (``__getitems__``) are read together."""

    def __init__(self, catalogues: Sequence[Catalogue], form: Form, to: Any, threads: int) -> None:
        self._catalogues, self._form = list(catalogues), form
        self._to, self._threads = to, threads
        self._ends = np.cumsum([catalogue.rows for catalogue in self._catalogues])
        self._counts = Counts()

    def __len__(self) -> int:
        return int(self._ends[-1])

    @property
    def stats(self) -> dict[str, dict[str, int]]:
        """Numbers that are not finite, and lists that were longer than their padding, by column: of all rows that
        this process has read."""
        return self._counts.by_column

    def __getitem__(self, row: Any) -> Any:
        """One row: its columns, followed by its target and its weight if these were asked for, and by the masks of
        padded lists. A list of rows for a slice."""
        if isinstance(row, slice):
            return self.__getitems__(range(*row.indices(len(self))))
        return self.__getitems__([row])[0]

    def __getitems__(self, rows: Sequence[int]) -> list[Any]:
        """Several rows, in the order in which they are asked for."""
        wanted = np.array([whole(row, "a row") for row in rows], "int64")
        wanted = np.where(wanted < 0, wanted + len(self), wanted)
        if len(wanted) and (wanted.min() < 0 or wanted.max() >= len(self)):
            raise IndexError(f"rows are from 0 until before {len(self)}, not {list(rows)[:3]!r}")
        sample = np.searchsorted(self._ends, wanted, "right")
        to = library(self._to)
        found: list[Any] = [None] * len(wanted)
        for number in np.unique(sample):
            catalogue = self._catalogues[number]
            places = np.flatnonzero(sample == number)
            first = int(self._ends[number]) - catalogue.rows
            group = scattered(catalogue, wanted[places] - first)
            columns = catalogue.columns(group.files, self._form.names)
            held = self._form.hold(columns, group.order, self._counts, self._threads)
            prepared = self._form.take([Piece(held, 0, len(held))], None, self._counts, self._threads)
            for at, place in enumerate(places):
                parts = [_row(part) for part in batch_of(rows_of(prepared, slice(at, at + 1)), to).parts]
                found[place] = parts[0] if len(parts) == 1 else tuple(parts)
        return found


def _row(part: Any) -> Any:
    if isinstance(part, dict):
        return {name: _row(one) for name, one in part.items()}
    return part.values if isinstance(part, Ragged) else part[0]
