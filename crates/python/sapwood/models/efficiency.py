"""Efficiencies: how many of all passed, and how sure that is."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood._read.libraries import need
from sapwood.errors import UnsupportedError
from sapwood.model import Model
from sapwood.models.hist import Array

#: Names of `TEfficiency::EStatOption`.
_OPTIONS = (
    "clopper-pearson",
    "normal",
    "wilson",
    "agresti-coull",
    "feldman-cousins",
    "jeffreys",
    "uniform",
    "bayesian",
)


class Efficiency(Model):
    """TEfficiency: two histograms, of those that passed and of all."""

    @property
    def kind(self) -> str:
        """``MEAN``: a value is a part of one, not a count."""
        return "MEAN"

    @property
    def passed(self) -> Any:
        """Histogram of what passed."""
        return self.member("fPassedHistogram")

    @property
    def total(self) -> Any:
        """Histogram of all."""
        return self.member("fTotalHistogram")

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
        return float(self.member("fConfLevel"))

    @property
    def statistic(self) -> str:
        """How ROOT would compute the errors."""
        number = int(self.member("fStatisticOption"))
        return _OPTIONS[number] if 0 <= number < len(_OPTIONS) else f"option {number}"

    def values(self, flow: bool = False) -> Array:
        """Part that passed in each bin; 0 where nothing was filled."""
        passed = np.asarray(self.passed.values(flow), "float64")
        total = np.asarray(self.total.values(flow), "float64")
        return np.divide(passed, total, out=np.zeros_like(total), where=total != 0)

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
                    a, b = {"jeffreys": (0.5, 0.5), "uniform": (1.0, 1.0)}.get(
                        name, (self.member("fBeta_alpha"), self.member("fBeta_beta"))
                    )
                    low = beta.ppf(tail, passed + a, total - passed + b)
                    high = beta.ppf(1.0 - tail, passed + a, total - passed + b)
        empty = total == 0
        return np.where(empty, 0.0, low), np.where(empty, 1.0, high)
