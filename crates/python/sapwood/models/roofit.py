"""Plots of RooFit: binned data and curves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sapwood._read.libraries import need
from sapwood.errors import MismatchError
from sapwood.models.graph import Floats, Graph, GraphAsymmErrors


class RooHist(GraphAsymmErrors):
    """RooHist: binned data as points; errors in x are halves of bins."""

    def to_boost(self) -> Any:
        """As a histogram of boost-histogram with weights: a variance is the square of the mean error.

        Raises :class:`~sapwood.errors.MismatchError` where the bins leave gaps or overlap, and
        ``ModuleNotFoundError`` where boost-histogram is not installed.
        """
        bh = need("boost_histogram", "to_boost()", "boost-histogram")
        x, y = self.values()
        low, high = x - self.errors("low", "x"), x + self.errors("high", "x")
        if not len(x) or not np.allclose(low[1:], high[:-1]):
            raise MismatchError(f"the {len(x)} points of the RooHist {self.name!r} are not bins side by side")
        return _weighted(bh, np.append(low, high[-1]), y, self.errors("mean", "y") ** 2)

    def to_hist(self) -> Any:
        """As a histogram of hist.

        Raises ``ModuleNotFoundError`` where hist is not installed.
        """
        return need("hist", "to_hist()").Hist(self.to_boost())


class RooCurve(Graph):
    """RooCurve: a function as points, or the band of its errors: its upper edge, and the lower one back."""

    @property
    def curve_type(self) -> str:
        """``"VALUES"`` of a function, ``"ERRORS"`` of a band."""
        x, _ = self.values()
        return "VALUES" if bool(np.all(np.diff(x) >= 0)) else "ERRORS"

    def interpolate(self, xvalues: ArrayLike) -> Floats:
        """Values of the function between its points, along straight lines.

        Raises :class:`~sapwood.errors.MismatchError` for a band.
        """
        if self.curve_type == "ERRORS":
            raise MismatchError(f"{self.name!r} is a band: interpolate_errors has its width")
        return np.interp(np.asarray(xvalues, dtype=float), *self.values())

    def interpolate_asymm_errors(self, xvalues: ArrayLike) -> tuple[Floats, Floats]:
        """The upper and the lower edge of a band.

        Raises :class:`~sapwood.errors.MismatchError` for a curve that is no band.
        """
        if self.curve_type == "VALUES":
            raise MismatchError(f"{self.name!r} is a function, not a band: interpolate has its values")
        x, y = self.values()
        half = len(x) // 2
        if not np.array_equal(x[:half], x[half:][::-1]):
            raise MismatchError(f"the edges of the band {self.name!r} have points at different places")
        wanted = np.asarray(xvalues, dtype=float)
        up, down = y[:half], y[half:][::-1]
        return np.interp(wanted, x[:half], up), np.interp(wanted, x[:half], down)

    def interpolate_errors(self, xvalues: ArrayLike) -> Floats:
        """Half of the width of a band.

        Raises :class:`~sapwood.errors.MismatchError` for a curve that is no band.
        """
        up, down = self.interpolate_asymm_errors(xvalues)
        return 0.5 * np.abs(up - down)

    def to_boost(self, bin_edges: ArrayLike, error_curve: RooCurve | None = None) -> Any:
        """As a histogram of boost-histogram: the function in the middle of each bin; a band gives variances.

        Raises ``ModuleNotFoundError`` where boost-histogram is not installed.
        """
        bh = need("boost_histogram", "to_boost()", "boost-histogram")
        edges = np.asarray(bin_edges, dtype=float)
        middles = (edges[1:] + edges[:-1]) / 2
        errors = None if error_curve is None else error_curve.interpolate_errors(middles)
        return _weighted(bh, edges, self.interpolate(middles), None if errors is None else errors**2)

    def to_hist(self, bin_edges: ArrayLike, error_curve: RooCurve | None = None) -> Any:
        """As a histogram of hist, as :meth:`to_boost`.

        Raises ``ModuleNotFoundError`` where hist is not installed.
        """
        return need("hist", "to_hist()").Hist(self.to_boost(bin_edges, error_curve))


def _weighted(bh: Any, edges: Floats, values: Floats, variances: Floats | None) -> Any:
    storage = bh.storage.Double() if variances is None else bh.storage.Weight()
    out = bh.Histogram(bh.axis.Variable(edges), storage=storage)
    view = out.view()
    if variances is None:
        view[...] = values
    else:
        view.value, view.variance = values, variances
    return out
