"""Sparse histograms: only bins that were filled, in any number of dimensions."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood._read.libraries import need
from sapwood.errors import LimitError
from sapwood.model import Model
from sapwood.models.axis import Axis

#: The most bins that :meth:`SparseHist.values` lays out.
MOST_BINS = 100_000_000


class SparseHist(Model):
    """THnSparse: :meth:`coordinates` and :attr:`contents` of the bins that were filled.

    Bins are counted from 1 along each axis; 0 is the underflow and the number after the last the overflow.
    """

    kind = "COUNT"

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes."""
        return tuple(self.member("fAxes"))

    def axis(self, axis: int = 0) -> Axis:
        """An axis by number."""
        return self.axes[axis]

    @cached_property
    def _native(self) -> _core.SparseHistogram:
        return _core.SparseHistogram.of(self._value)

    def __len__(self) -> int:
        return len(self._native)

    @property
    def contents(self) -> NDArray[Any]:
        """Content of each bin that was filled."""
        return self._native.cells()

    @property
    def squares(self) -> NDArray[Any] | None:
        """Sum of squared weights of each bin that was filled; ``None`` where none was summed."""
        return self._native.sumw2()

    def coordinates(self) -> NDArray[np.int64]:
        """Bin numbers along each axis, of each bin that was filled: shape (bins, axes)."""
        return self._native.coordinates().reshape(len(self), len(self.axes))

    def _dense(self, filled: NDArray[Any], flow: bool) -> NDArray[Any]:
        shape = tuple(len(axis) + 2 for axis in self.axes)
        if np.prod([float(bins) for bins in shape]) > MOST_BINS:
            raise LimitError(f"{shape} bins are too many to lay out: use coordinates() and contents")
        out = np.zeros(shape, filled.dtype)
        out[tuple(self.coordinates().T)] = filled
        return out if flow else out[(slice(1, -1),) * len(shape)]

    def values(self, flow: bool = False) -> NDArray[Any]:
        """Content of all bins, those that were never filled included.

        Raises :class:`~sapwood.errors.LimitError` where these are too many.
        """
        return self._dense(self.contents, flow)

    def variances(self, flow: bool = False) -> NDArray[Any]:
        """Square of the error of all bins."""
        squares = self.squares
        filled = np.asarray(self.contents if squares is None else squares, "float64")
        return self._dense(np.maximum(filled, 0.0), flow)

    def errors(self, flow: bool = False) -> NDArray[Any]:
        """Error of all bins."""
        return np.sqrt(self.variances(flow))

    def counts(self, flow: bool = False) -> NDArray[Any]:
        """Entries of all bins."""
        return self.values(flow)

    def to_numpy(self, flow: bool = False) -> tuple[Any, ...]:
        """Values of all bins, and edges."""
        return self.values(flow), tuple(axis.edges(flow) for axis in self.axes)

    def to_boost(self) -> Any:
        """As a histogram of boost-histogram, laid out in full."""
        bh = need("boost_histogram", "to_boost()", "boost-histogram")
        weighted = self.squares is not None
        out = bh.Histogram(
            *(axis.to_boost() for axis in self.axes),
            storage=bh.storage.Weight() if weighted else bh.storage.Double(),
        )
        view = out.view(flow=True)
        if weighted:
            view.value, view.variance = self.values(True), self.variances(True)
        else:
            view[...] = self.values(True)
        return out

    def to_hist(self) -> Any:
        """As a histogram of hist, laid out in full."""
        return need("hist", "to_hist()").Hist(self.to_boost())

    def _describe(self) -> str:
        return f"<{self.classname} {self.name!r} of {len(self.axes)} axes, {len(self)} bins filled>"
