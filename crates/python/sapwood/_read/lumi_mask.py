"""Luminosity masks: certified luminosity sections by run, as "golden JSON" files have them."""

from __future__ import annotations

import json
import numbers
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood import _core
from sapwood._read.selection import Selection, of_rows
from sapwood.errors import MismatchError

if TYPE_CHECKING:
    from sapwood._tree.tree import Tree

#: The columns of a run and a luminosity section in NanoAOD.
COLUMNS = ("run", "luminosityBlock")


class LumiMask:
    """Ranges of luminosity sections, first and last, by run."""

    def __init__(self, runs: list[tuple[int, list[tuple[int, int]]]], columns: tuple[str, str]) -> None:
        self.runs, self.columns = runs, columns

    @classmethod
    def of(cls, mask: Any) -> LumiMask | None:
        """A mask from a mapping ``{run: [[first, last], ...]}``, or the path of a JSON file with one; and a
        pair of one of these and the two columns. ``None`` where there is none."""
        if mask is None or isinstance(mask, LumiMask):
            return mask
        columns: Any = COLUMNS
        if isinstance(mask, tuple) and len(mask) == 2:
            mask, columns = mask
        if isinstance(mask, (str, os.PathLike)):
            mask = _file(mask)
        if not isinstance(mask, Mapping):
            raise TypeError(
                f"a luminosity mask is {{run: [[first, last], ...]}}, or a file of JSON, not {mask!r}"
            )
        if len(columns) != 2 or not all(isinstance(one, str) for one in columns):
            raise TypeError(f"columns of a luminosity mask are a run and a section, not {columns!r}")
        return cls([(_whole(run), _ranges(run, ranges)) for run, ranges in mask.items()], tuple(columns))

    def rows(self, tree: Tree, start: int, stop: int) -> np.ndarray[Any, Any]:
        """Those of the entries ``start`` to ``stop`` that are in it: only the two columns are read."""
        ranges = _core.in_lumi_mask(tree._core, self.runs, self.columns, start, stop)
        found = [np.arange(first, last, dtype="int64") for first, last in ranges]
        return np.concatenate(found) if found else np.zeros(0, "int64")

    def select(self, tree: Tree, selection: Selection) -> Selection:
        """What is left of a selection."""
        rows = self.rows(tree, *selection.span)
        if selection.rows is not None:
            rows = selection.rows[np.isin(selection.rows, rows)]
        return of_rows(rows)


def _file(path: Any) -> Any:
    with open(os.path.expanduser(path), encoding="utf-8") as file:
        try:
            return json.load(file)
        except ValueError as error:
            raise MismatchError(f"{os.fspath(path)!r} is no JSON: {error}") from error


def _whole(value: Any) -> int:
    """A whole number, which JSON has as text where it is a key."""
    if isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            pass
    raise MismatchError(f"a luminosity mask has whole numbers for runs and sections, not {value!r}")


def _ranges(run: Any, ranges: Any) -> list[tuple[int, int]]:
    try:
        pairs = [(first, last) for first, last in ranges]
    except (TypeError, ValueError):
        words = f"luminosity sections of run {run} are [[first, last], ...], not {ranges!r}"
        raise MismatchError(words) from None
    return [(_whole(first), _whole(last)) for first, last in pairs]
