"""Axes of histograms."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood.model import Model

Floats = NDArray[np.float64]


class Traits:
    """What UHI asks of an axis."""

    def __init__(self, discrete: bool) -> None:
        self.circular = False
        """Does its end touch its beginning?"""
        self.discrete = discrete
        """Does each bin stand for a value, and not for a range?"""

    def __repr__(self) -> str:
        return f"Traits(circular={self.circular}, discrete={self.discrete})"


class Axis(Model):
    """TAxis: the bins of a histogram along one direction.

    With ``flow``, the underflow bin comes first and the overflow bin last; their outer edges are infinite.
    """

    @cached_property
    def _native(self) -> _core.Axis:
        return _core.Axis.of(self._value)

    def __len__(self) -> int:
        return len(self._native)

    @property
    def low(self) -> float:
        """Where the first bin begins."""
        return self._native.low

    @property
    def high(self) -> float:
        """Where the last bin ends."""
        return self._native.high

    @property
    def width(self) -> float:
        """Width of a bin; their mean where they differ."""
        if not self._native.has_edges:
            return (self.high - self.low) / len(self)
        return float(self.widths().mean())

    @property
    def traits(self) -> Traits:
        """What UHI asks of an axis."""
        return Traits(self.labels() is not None)

    def labels(self, flow: bool = False) -> list[str] | None:
        """Labels of the bins; ``None`` where not each bin has one."""
        labels = self._native.labels()
        if labels is None:
            return None
        return ["underflow", *labels, "overflow"] if flow else labels

    def edges(self, flow: bool = False) -> Floats:
        """Edges of the bins: one more than bins."""
        edges = self._native.edges()
        return np.concatenate(([-np.inf], edges, [np.inf])) if flow else edges

    def intervals(self, flow: bool = False) -> Floats:
        """Both edges of each bin: shape (bins, 2)."""
        edges = self.edges(flow)
        return np.stack((edges[:-1], edges[1:]), axis=1)

    def centers(self, flow: bool = False) -> Floats:
        """Centres of the bins."""
        edges = self.edges(flow)
        return np.asarray((edges[1:] + edges[:-1]) / 2.0)

    def widths(self, flow: bool = False) -> Floats:
        """Widths of the bins."""
        edges = self.edges(flow)
        if not flow and not self._native.has_edges:
            return np.full(len(self), (self.high - self.low) / len(self))
        return np.diff(edges)

    def __getitem__(self, where: int) -> Any:
        labels = self.labels()
        if labels is not None:
            return labels[where]
        edges = self.edges()
        number = where + len(self) if where < 0 else where
        if not 0 <= number < len(self):
            raise IndexError(f"the axis has {len(self)} bins, so there is no bin {where}")
        return float(edges[number]), float(edges[number + 1])

    def __iter__(self) -> Iterator[Any]:
        labels = self.labels()
        return iter(labels) if labels is not None else (tuple(pair) for pair in self.intervals().tolist())

    def __contains__(self, item: object) -> bool:
        return any(item == one for one in self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Axis):
            return NotImplemented
        if self.labels() is not None or other.labels() is not None:
            return self.labels() == other.labels()
        return len(self) == len(other) and np.array_equal(self.edges(), other.edges())

    __hash__ = object.__hash__

    def _describe(self) -> str:
        return f"<TAxis {self.name!r} of {len(self)} bins from {self.low:g} to {self.high:g}>"

    def to_boost(self, metadata: dict[str, str] | None = None) -> Any:
        """As an axis of boost-histogram; ``metadata`` names members to take along."""
        from sapwood._read.libraries import need

        bh = need("boost_histogram", "to_boost()", "boost-histogram")
        texts = self.labels()
        if texts is not None:
            try:
                axis = bh.axis.IntCategory([int(text) for text in texts])
            except ValueError:
                axis = bh.axis.StrCategory(texts)
        elif not self._native.has_edges:
            axis = bh.axis.Regular(len(self), self.low, self.high, underflow=True, overflow=True)
        else:
            axis = bh.axis.Variable(self.edges(), underflow=True, overflow=True)
        for name, member in (metadata or METADATA).items():
            setattr(axis, name, self.member(member))
        return axis


#: What histograms and axes of other libraries are told of ours: attribute and member.
METADATA = {"name": "fName", "label": "fTitle"}
