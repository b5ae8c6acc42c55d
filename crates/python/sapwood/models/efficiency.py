"""Efficiencies: how many of all passed, and how sure that is."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from sapwood import _core
from sapwood._read.libraries import need
from sapwood.errors import UnsupportedError
from sapwood.model import Model
from sapwood.models.hist import Array


class Efficiency(Model):
    """TEfficiency: two histograms, of those that passed and of all."""

    @property
    def kind(self) -> str:
        """``MEAN``: a value is a part of one, not a count."""
        return "MEAN"

    @cached_property
    def _native(self) -> _core.Efficiency:
        return _core.Efficiency.of(self._value)

    @property
    def passed(self) -> Any:
        """Histogram of what passed."""
        return self.member(_core.efficiency_members()[1])

    @property
    def total(self) -> Any:
        """Histogram of all."""
        return self.member(_core.efficiency_members()[0])

    @property
    def axes(self) -> Any:
        """The axes."""
        return self.total.axes

    def axis(self, axis: int | str = 0) -> Any:
        """An axis by number or letter."""
        return self.total.axis(axis)

    @property
    def confidence_level(self) -> float:
        """Part of cases that the errors are to cover."""
        return self._native.confidence_level

    @property
    def statistic(self) -> str:
        """How ROOT would compute the errors."""
        return self._native.interval

    def values(self, flow: bool = False) -> Array:
        """Part that passed in each bin; 0 where nothing was filled."""
        found: Array = self.total._reshape(self._native.values(), flow)
        return found

    def counts(self, flow: bool = False) -> Array:
        """How many were filled in each bin."""
        return np.asarray(self.total.values(flow))

    def errors(self, which: str = "mean", flow: bool = False) -> Array:
        """Errors: ``"low"``, ``"high"``, their ``"mean"``, or ``"diff"``. As ROOT's for entries without
        weights.

        Raises :class:`~sapwood.errors.UnsupportedError` for Feldman-Cousins intervals.
        """
        low, high = self._interval(flow)
        value = self.values(flow)
        below, above = value - low, high - value
        if which == "low":
            return below
        if which == "high":
            return above
        if which not in ("mean", "diff"):
            raise ValueError(f"which is 'low', 'high', 'mean' or 'diff', not {which!r}")
        return (below + above) / 2.0 if which == "mean" else above - below

    def variances(self, flow: bool = False) -> Array:
        """Squares of the mean errors."""
        return np.square(self.errors("mean", flow))

    def _interval(self, flow: bool) -> tuple[Array, Array]:
        passed = np.asarray(self.passed.values(flow), "float64")
        total = np.asarray(self.total.values(flow), "float64")
        level, name = self.confidence_level, self.statistic
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(total > 0, passed / total, 0.0)
            if name in ("normal", "wilson", "agresti-coull"):
                from statistics import NormalDist

                kappa = NormalDist().inv_cdf(1.0 - (1.0 - level) / 2.0)
                if name == "normal":
                    wide = kappa * np.sqrt(part * (1.0 - part) / total)
                    low, high = np.maximum(part - wide, 0.0), np.minimum(part + wide, 1.0)
                else:
                    middle = (passed + kappa**2 / 2.0) / (total + kappa**2)
                    if name == "wilson":
                        wide = kappa / (total + kappa**2) * np.sqrt(passed * (1.0 - part) + kappa**2 / 4.0)
                    else:
                        wide = kappa * np.sqrt(middle * (1.0 - middle) / (total + kappa**2))
                    low, high = np.maximum(middle - wide, 0.0), np.minimum(middle + wide, 1.0)
            elif name == "feldman-cousins":
                raise UnsupportedError("Feldman-Cousins intervals are not computed here")
            else:
                beta = need("scipy.stats", f"errors of a TEfficiency ({name})", "scipy").beta
                tail = (1.0 - level) / 2.0
                if name == "clopper-pearson":
                    low = np.where(passed == 0, 0.0, beta.ppf(tail, passed, total - passed + 1.0))
                    high = np.where(passed == total, 1.0, beta.ppf(1.0 - tail, passed + 1.0, total - passed))
                else:
                    a, b = self._native.prior
                    low = beta.ppf(tail, passed + a, total - passed + b)
                    high = beta.ppf(1.0 - tail, passed + a, total - passed + b)
        empty = total == 0
        return np.where(empty, 0.0, low), np.where(empty, 1.0, high)
