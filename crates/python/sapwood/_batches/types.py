"""The type of each column, over all files and samples: decided before the first batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from sapwood._batches.columns import Shape
from sapwood.errors import MismatchError


class Known(NamedTuple):
    """The shape of a column, with the type that holds the numbers of all files so far."""

    shape: Shape
    path: str
    """The first file that has it."""


class ColumnTypes:
    """The types of columns. Numbers of the same shape have the type that NumPy gives to all of them together."""

    def __init__(self, is_wide: bool = True) -> None:
        """With ``is_wide`` the branches of files may differ in the width of their numbers; expressions always
        may."""
        self._is_wide = is_wide
        self._known: dict[str, Known] = {}

    def __getitem__(self, name: str) -> Shape:
        return self._known[name].shape

    @property
    def identity(self) -> list[list[object]]:
        """The shapes and types of all columns."""
        return [[name, *known.shape] for name, known in sorted(self._known.items())]

    def add(self, shapes: Mapping[str, Shape], path: str, branches: Iterable[str] = ()) -> None:
        """Adds the columns of a file, of which ``branches`` are stored."""
        for name, shape in shapes.items():
            known = self._known.setdefault(name, Known(shape, path))
            first, where = known.shape, known.path
            if (first.are_lists, first.inner) != (shape.are_lists, shape.inner):
                raise MismatchError(
                    f"the column {name!r} holds {_words(shape)} in {path} and {_words(first)} in {where}: batches "
                    "need the same shape in all files and samples"
                )
            if first.number != shape.number:
                if name in branches and not self._is_wide:
                    raise MismatchError(
                        f"the column {name!r} holds {shape.number} in {path} and {first.number} in {where}: "
                        "dtype= names one type for all"
                    )
                number = np.result_type(first.number, shape.number).name
                self._known[name] = Known(shape._replace(number=number), where)

    @classmethod
    def joined(cls, samples: Iterable[ColumnTypes]) -> ColumnTypes:
        """The types of columns over several samples."""
        found = cls()
        for sample in samples:
            for name, known in sample._known.items():
                found.add({name: known.shape}, known.path)
        return found


def _words(shape: Shape) -> str:
    """A shape in words.

    >>> _words(Shape(False, "float32", (2, 3))), _words(Shape(True, "float32", ()))
    ('arrays of 2 x 3 numbers', 'lists of numbers')
    """
    if shape.are_lists:
        return "lists of numbers"
    return f"arrays of {' x '.join(map(str, shape.inner))} numbers" if shape.inner else "numbers"
