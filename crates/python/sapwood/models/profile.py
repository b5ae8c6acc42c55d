"""Profiles: the mean of a quantity in each bin, and how sure it is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood._read.libraries import need
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

    @property
    def weighted(self) -> bool:
        """Was it filled with weights, so that squares of them were summed?"""
        return self._native.bin_sumw2() is not None

    def values(self, flow: bool = False) -> Array:
        """Mean in each bin; 0 where nothing was filled."""
        return self._reshape(self._native.values(), flow)

    def counts(self, flow: bool = False) -> Array:
        """Effective entries of each bin: the square of the summed weights over the sum of their squares."""
        return self._reshape(self._native.counts(), flow)

    def errors(self, flow: bool = False, error_mode: int | str | None = None) -> Array:
        """Error of each mean: ``""`` error of the mean, ``"s"`` spread, ``"i"`` spread of whole numbers,
        ``"g"`` Gaussian; ``None`` as the histogram itself says in ``fErrorMode``, which is what ROOT
        shows."""
        try:
            mode = None if error_mode is None else _MODES[error_mode]
        except (KeyError, TypeError):
            raise ValueError(
                f"error_mode is '' for the error of the mean, 's' for the spread, 'i' for the spread of whole numbers "
                f"or 'g' for Gaussian errors, not {error_mode!r}"
            ) from None
        return self._reshape(self._native.profile_errors(mode), flow)

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

        def shaped(flat: Any) -> Array:
            return self._reshape(flat, True)[where]

        native = self._native
        weights, mean, squares = native.bin_entries(), native.values(), native.sumw2()
        deviations = np.maximum(squares - weights * mean**2, 0.0)
        view = out.view(flow=True)
        view["value"] = shaped(mean)
        if self.weighted:
            view["sum_of_weights"] = shaped(weights)
            view["sum_of_weights_squared"] = shaped(native.bin_sumw2())
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
