"""Graphs: points, with errors where the class has some."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood.model import Model

Floats = NDArray[Any]
_WHICH = ("low", "high", "mean", "diff")


class Graph(Model):
    """TGraph: points in a plane."""

    _letters = "xy"

    def __len__(self) -> int:
        return self._count("fNpoints")

    def _points(self, name: str) -> Floats:
        found = self.member(name, none_if_missing=True)
        if found is None:
            return np.zeros(len(self))
        return np.asarray(found)[: len(self)]

    def _axis(self, axis: int | str) -> str:
        letters = self._letters
        if isinstance(axis, str) and len(axis) == 1 and axis in letters:
            return axis
        if isinstance(axis, int) and -len(letters) <= axis < len(letters):
            return letters[axis]
        raise ValueError(
            f"a {self.classname} has the axes {', '.join(map(repr, letters))} and 'both', not {axis!r}"
        )

    def values(self, axis: int | str = "both") -> Any:
        """Coordinates along an axis (``0``, ``1``, ``"x"``, ``"y"``), or of all as a tuple of arrays
        (``"both"``)."""
        if axis in ("both", "all"):
            return tuple(self._points(f"f{letter.upper()}") for letter in self._letters)
        return self._points(f"f{self._axis(axis).upper()}")

    def to_numpy(self) -> tuple[Floats, ...]:
        """Coordinates of all points: x, y (and z)."""
        found: tuple[Floats, ...] = self.values("both")
        return found

    def _describe(self) -> str:
        return f"<{self.classname} {self.name!r} of {len(self)} points>"


class _WithErrors(Graph):
    def _low_high(self, letter: str) -> tuple[Floats, Floats]:
        raise NotImplementedError

    def errors(self, which: str = "mean", axis: int | str = "both") -> Any:
        """Errors of the points along an axis, or of all axes as a tuple: ``which`` is ``"low"``, ``"high"``,
        their ``"mean"``, or ``"diff"``, how much the high one is larger."""
        if which not in _WHICH:
            raise ValueError(f"which is one of {', '.join(map(repr, _WHICH))}, not {which!r}")
        if axis in ("both", "all"):
            return tuple(self.errors(which, letter) for letter in self._letters)
        low, high = self._low_high(self._axis(axis))
        if which == "low":
            return low
        if which == "high":
            return high
        return (high + low) / 2.0 if which == "mean" else high - low


class GraphErrors(_WithErrors):
    """TGraphErrors: points with errors that are the same on both sides."""

    def _low_high(self, letter: str) -> tuple[Floats, Floats]:
        found = self._points(f"fE{letter.upper()}")
        return found, found


class GraphAsymmErrors(_WithErrors):
    """TGraphAsymmErrors and TGraphBentErrors: points with an error below and one above."""

    def _low_high(self, letter: str) -> tuple[Floats, Floats]:
        return self._points(f"fE{letter.upper()}low"), self._points(f"fE{letter.upper()}high")


class GraphMultiErrors(_WithErrors):
    """TGraphMultiErrors: several sets of errors in y; :meth:`errors` gives their squared sum."""

    def _sets(self, name: str) -> Floats:
        found = self.member(name, none_if_missing=True)
        rows = []
        for one in found if found is not None else []:
            array = one.member("fArray") if isinstance(one, Model) and one.has_member("fArray") else one
            rows.append(np.asarray(array, "float64")[: len(self)])
        return np.array(rows) if rows else np.zeros((0, len(self)))

    def _low_high(self, letter: str) -> tuple[Floats, Floats]:
        if letter == "x":
            return self._points("fExL"), self._points("fExH")
        return tuple(np.sqrt((self._sets(name) ** 2).sum(axis=0)) for name in ("fEyL", "fEyH"))


class Graph2D(Graph):
    """TGraph2D: points in space."""

    _letters = "xyz"


class MultiGraph(Model):
    """TMultiGraph: several graphs in one drawing."""

    @property
    def graphs(self) -> list[Any]:
        """The graphs."""
        found = self.member("fGraphs")
        return [] if found is None else list(found)

    def __len__(self) -> int:
        return len(self.graphs)

    def __iter__(self) -> Any:
        return iter(self.graphs)
