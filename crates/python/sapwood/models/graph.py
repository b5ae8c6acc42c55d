"""Graphs: points, with errors where the class has some."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.model import Model

Floats = NDArray[Any]
_WHICH = ("low", "high", "mean", "diff")


class Graph(Model):
    """TGraph: points in a plane."""

    _letters = "xy"

    @cached_property
    def _native(self) -> _core.Graph:
        return _core.Graph.of(self._value)

    def __len__(self) -> int:
        return len(self._native)

    def _axis(self, axis: int | str) -> int:
        letters = self._letters
        if isinstance(axis, str) and len(axis) == 1 and axis in letters:
            return letters.index(axis)
        if isinstance(axis, int) and -len(letters) <= axis < len(letters):
            return axis % len(letters)
        raise ValueError(
            f"a {self.classname} has the axes {', '.join(map(repr, letters))} and 'both', not {axis!r}"
        )

    def values(self, axis: int | str = "both") -> Any:
        """Coordinates along an axis (``0``, ``1``, ``"x"``, ``"y"``), or of all as a tuple of arrays
        (``"both"``)."""
        if axis in ("both", "all"):
            return tuple(self._native.values(place) for place in range(len(self._letters)))
        return self._native.values(self._axis(axis))

    def to_numpy(self) -> tuple[Floats, ...]:
        """Coordinates of all points: x, y (and z)."""
        found: tuple[Floats, ...] = self.values("both")
        return found

    def _describe(self) -> str:
        return f"<{self.classname} {self.name!r} of {len(self)} points>"


class _WithErrors(Graph):
    def errors(self, which: str = "mean", axis: int | str = "both") -> Any:
        """Errors of the points along an axis, or of all axes as a tuple: ``which`` is ``"low"``, ``"high"``,
        their ``"mean"``, or ``"diff"``, how much the high one is larger. Several sets of errors are
        one as the graph says: the first, the root of the sum of squares, or the sum."""
        if which not in _WHICH:
            raise ValueError(f"which is one of {', '.join(map(repr, _WHICH))}, not {which!r}")
        if axis in ("both", "all"):
            return tuple(self.errors(which, letter) for letter in self._letters)
        found = self._native.errors(self._axis(axis))
        low, high = (np.zeros(len(self)),) * 2 if found is None else found
        if which == "low":
            return low
        if which == "high":
            return high
        return (high + low) / 2.0 if which == "mean" else high - low


class GraphErrors(_WithErrors):
    """TGraphErrors: points with errors that are the same on both sides."""


class GraphAsymmErrors(_WithErrors):
    """TGraphAsymmErrors and TGraphBentErrors: points with an error below and one above."""


class GraphMultiErrors(_WithErrors):
    """TGraphMultiErrors: several sets of errors in y."""


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
