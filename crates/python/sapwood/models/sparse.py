"""Sparse histograms: only bins that were filled, in any number of dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood._read.libraries import need
from sapwood.errors import LimitError, MalformedError
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

    def _chunks(self) -> list[Any]:
        return [chunk for chunk in self.member("fBinContent") if chunk is not None]

    @staticmethod
    def _array(found: Any) -> NDArray[Any]:
        if isinstance(found, Model):
            found = found.member("fArray", none_if_missing=True)
        return np.asarray(found if found is not None else [])

    def __len__(self) -> int:
        return self._count("fFilledBins")

    @property
    def contents(self) -> NDArray[Any]:
        """Content of each bin that was filled."""
        parts = [self._array(chunk.member("fContent")) for chunk in self._chunks()]
        return np.concatenate(parts)[: len(self)] if parts else np.zeros(0)

    @property
    def squares(self) -> NDArray[Any] | None:
        """Sum of squared weights of each bin that was filled; ``None`` where none was summed."""
        parts = [chunk.member("fSumw2", none_if_missing=True) for chunk in self._chunks()]
        if not parts or any(part is None for part in parts):
            return None
        return np.concatenate([self._array(part) for part in parts])[: len(self)]

    def coordinates(self) -> NDArray[np.int64]:
        """Bin numbers along each axis, of each bin that was filled: shape (bins, axes)."""
        # `THnSparseCompactBinCoord`: as many bits an axis as its number of bins needs, from the lowest bit
        # on.
        widths = [int(len(axis) + 2).bit_length() for axis in self.axes]
        rows = []
        for chunk in self._chunks():
            wide = int(chunk.member("fSingleCoordinateSize"))
            raw = self._array(chunk.member("fCoordinates")).astype("uint8")
            if wide <= 0 or len(raw) % wide or 8 * wide < sum(widths):
                raise MalformedError(f"coordinates of {self.name!r} do not fit its axes")
            bits = np.unpackbits(raw.reshape(-1, wide), axis=1, bitorder="little").astype("int64")
            columns, at = [], 0
            for width in widths:
                columns.append(bits[:, at : at + width] @ (1 << np.arange(width)))
                at += width
            rows.append(np.stack(columns, axis=1))
        found = np.concatenate(rows) if rows else np.zeros((0, len(widths)), "int64")
        return np.asarray(found[: len(self)], "int64")

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
