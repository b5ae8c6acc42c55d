"""Profiles: the mean of a quantity in each bin, and how sure it is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood._read.libraries import need
from sapwood.model import Model
from sapwood.models.axis import METADATA
from sapwood.models.hist import Array, Hist, without_underflow

Floats = NDArray[np.float64]

#: Names of `EErrorType`: error of the mean, spread, spread of whole numbers, Gaussian with error 1.
_MODES = {0: "", "": "", 1: "s", "s": "s", 2: "i", "i": "i", 3: "g", "g": "g"}


class Profile(Hist):
    """TProfile and its kin."""

    @property
    def kind(self) -> str:
        """``MEAN``: a value is the mean of what was filled."""
        return "MEAN"

    def _sums(self, name: str) -> Floats:
        found = self.member(name, none_if_missing=True)
        if isinstance(found, Model):
            found = found.member("fArray", none_if_missing=True)
        return np.asarray(found if found is not None else [], "float64")

    @property
    def weighted(self) -> bool:
        """Was it filled with weights, so that squares of them were summed?"""
        sums = self._sums("fBinSumw2")
        return len(sums) > 0 and len(sums) == self._stored().size

    def _effective(self) -> Floats:
        weights, squares = self._sums("fBinEntries"), self._sums("fBinSumw2")
        if len(squares) == 0 or len(squares) != len(weights):
            return weights
        return np.divide(weights**2, squares, out=np.zeros_like(weights), where=squares > 0)

    def _mean(self) -> Floats:
        sums, weights = np.asarray(self._stored(), "float64"), self._sums("fBinEntries")
        return np.divide(sums, weights, out=np.zeros_like(sums), where=weights != 0)

    def _error(self, mode: int | str | None) -> Floats:
        if mode is None:
            mode = self.member("fErrorMode", none_if_missing=True) or 0
        # `TProfileHelper::GetBinError`, without its approximation for bins of few entries, which ROOT leaves
        # off, too.
        try:
            chosen = _MODES[mode]
        except (KeyError, TypeError):
            raise ValueError(
                f"error_mode is '' for the error of the mean, 's' for the spread, 'i' for the spread of whole numbers "
                f"or 'g' for Gaussian errors, not {mode!r}"
            ) from None
        weights, mean, effective = self._sums("fBinEntries"), self._mean(), self._effective()
        filled = weights != 0
        out = np.zeros_like(mean)
        with np.errstate(divide="ignore", invalid="ignore"):
            if chosen == "g":
                out[filled] = 1.0 / np.sqrt(weights[filled])
                return out
            squares = self._sums("fSumw2")
            if len(squares) != len(mean):
                squares = np.zeros_like(mean)
            spread = np.sqrt(
                np.abs(np.divide(squares, weights, out=np.zeros_like(mean), where=filled) - mean**2)
            )
            if chosen == "s":
                out[filled] = spread[filled]
            elif chosen == "i":
                sure = np.where(spread != 0, spread / np.sqrt(effective), 1.0 / np.sqrt(12.0 * effective))
                out[filled] = sure[filled]
            else:
                out[filled] = (spread / np.sqrt(effective))[filled]
        return out

    def values(self, flow: bool = False) -> Array:
        """Mean in each bin; 0 where nothing was filled."""
        return self._shaped(self._mean(), flow)

    def counts(self, flow: bool = False) -> Array:
        """Effective entries of each bin: the square of the summed weights over the sum of their squares."""
        return self._shaped(self._effective(), flow)

    def errors(self, flow: bool = False, error_mode: int | str | None = None) -> Array:
        """Error of each mean: ``""`` error of the mean, ``"s"`` spread, ``"i"`` spread of whole numbers,
        ``"g"`` Gaussian; ``None`` as the histogram itself says in ``fErrorMode``, which is what ROOT
        shows."""
        return self._shaped(self._error(error_mode), flow)

    def variances(self, flow: bool = False, error_mode: int | str | None = None) -> Array:
        """Squares of :meth:`errors`."""
        return np.square(self.errors(flow, error_mode))

    def to_boost(
        self, metadata: dict[str, str] | None = None, axis_metadata: dict[str, str] | None = None
    ) -> Any:
        """As a histogram of boost-histogram that holds means.

        Raises ``ModuleNotFoundError`` where boost-histogram is not installed.
        """
        bh = need("boost_histogram", "to_boost()", "boost-histogram")
        axes = [axis.to_boost(axis_metadata) for axis in self.axes]
        out = bh.Histogram(*axes, storage=bh.storage.WeightedMean() if self.weighted else bh.storage.Mean())
        for name, member in (METADATA if metadata is None else metadata).items():
            setattr(out, name, self.member(member))
        where = without_underflow(axes)

        def shaped(flat: Floats) -> Array:
            return self._shaped(flat, True)[where]

        weights, mean, squares = self._sums("fBinEntries"), self._mean(), self._sums("fSumw2")
        if len(squares) != len(mean):
            squares = np.zeros_like(mean)
        deviations = np.maximum(squares - weights * mean**2, 0.0)
        view = out.view(flow=True)
        view["value"] = shaped(mean)
        if self.weighted:
            view["sum_of_weights"] = shaped(weights)
            view["sum_of_weights_squared"] = shaped(self._sums("fBinSumw2"))
            view["_sum_of_weighted_deltas_squared"] = shaped(deviations)
        else:
            view["count"] = shaped(weights)
            view["_sum_of_deltas_squared"] = shaped(deviations)
        return out


class Profile1D(Profile):
    """TProfile."""

    _ndim = 1


class Profile2D(Profile):
    """TProfile2D."""

    _ndim = 2


class Profile3D(Profile):
    """TProfile3D."""

    _ndim = 3
