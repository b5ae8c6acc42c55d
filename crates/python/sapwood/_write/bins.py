"""Axes and sums of histograms that are to be written, as ROOT keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood._read.even_edges import even_edges
from sapwood._write.lossless import unmasked
from sapwood.errors import MismatchError

Array = NDArray[Any]


class Bins:
    """One direction of a histogram: ``edges`` are those of all bins, ``labels`` their names or nothing."""

    def __init__(self, edges: Any, labels: Sequence[str] | None = None, title: str = "") -> None:
        try:
            given = np.asarray(unmasked(edges, "edges of an axis"))
        except ValueError:  # lists of different lengths
            given = np.asarray(None)
        if given.dtype.kind not in "biuf":
            raise MismatchError(f"the edges of an axis are numbers, not {edges!r}")
        self.edges = given.astype("float64")
        if self.edges.ndim != 1 or len(self.edges) < 2:
            raise MismatchError(
                f"the edges of an axis are at least two numbers, not of shape {self.edges.shape}"
            )
        self.labels = None if labels is None else [str(label) for label in labels]
        self.title = title
        #: The axis as the engine has it, which checks the edges.
        self.native = _core.Axis(self.edges, self.labels or None, title)

    @staticmethod
    def of(axis: Any, title: str = "") -> Bins:
        """From edges, from ``(number of bins, low, high)``, or from labels."""
        if isinstance(axis, Bins):
            return axis if title in ("", axis.title) else Bins(axis.edges, axis.labels, title)
        if (
            isinstance(axis, tuple)
            and len(axis) == 3
            and isinstance(axis[0], (int, np.integer))
            and axis[0] > 0
        ):
            return Bins(even_edges(*axis), None, title)
        if not isinstance(axis, np.ndarray) and len(axis) and all(isinstance(label, str) for label in axis):
            return Bins(np.arange(len(axis) + 1), axis, title)
        return Bins(axis, None, title)

    def __len__(self) -> int:
        return len(self.edges) - 1

    @cached_property
    def centers(self) -> Array:
        """Where the values of a bin are taken to be; labels are nowhere. In a bin that ends at infinity it is the
        value nearest to its other edge, as in the engine: a mean would be infinite or NaN else."""
        if self.labels:
            return np.zeros(len(self))
        low, high = self.edges[:-1], self.edges[1:]
        with np.errstate(invalid="ignore"):  # a bin from -inf to inf
            found = (low + high) / 2
        to_left = np.isneginf(low[0])
        if to_left:
            found[0] = np.nextafter(high[0], -np.inf)
        if np.isposinf(high[-1]):
            found[-1] = 0.0 if to_left and len(found) == 1 else low[-1]
        return found


def whole(values: Any, all_bins: Sequence[Bins], flow: bool, what: str) -> Array:
    """Values with flow bins at both ends of each direction."""
    array = np.asarray(unmasked(values, f"{what} of a histogram"))
    if array.dtype.kind not in "biuf":
        raise MismatchError(f"{what} of a histogram are numbers, not {array.dtype}")
    inner = tuple(len(bins) for bins in all_bins)
    wanted = tuple(bins + 2 * flow for bins in inner)
    if array.shape != wanted:
        beside = " with flow bins" if flow else ""
        raise MismatchError(f"{what} have the shape {array.shape}, the axes{beside} {wanted}")
    if flow:
        return array
    padded = np.zeros([bins + 2 for bins in inner], array.dtype)
    padded[inside(array.ndim)] = array
    return padded


def inside(directions: int) -> tuple[slice, ...]:
    """All bins but those of the flow."""
    return (slice(1, -1),) * directions


def flat(array: Any) -> Array:
    """In ROOT's order: x runs fastest."""
    return np.asarray(array).ravel(order="F")


def sums(weights: Array, squares: Array, all_bins: Sequence[Bins]) -> list[float]:
    """The sums that ROOT's statistics come from, of the bins without flow, all at their centres: what ROOT
    itself finds where only the bins are known, in the order of ``TH1::GetStats``."""
    part = inside(len(all_bins))
    inner = np.asarray(weights, "float64")[part]
    out = [float(inner.sum()), float(np.asarray(squares, "float64")[part].sum())]
    centers = [bins.centers for bins in all_bins]

    def moment(one: int, other: int | None = None) -> float:
        # Bins of the other directions are summed first: nothing as large as the histogram is made.
        kept = {one} if other is None else {one, other}
        others = tuple(direction for direction in range(inner.ndim) if direction not in kept)
        projected = inner.sum(axis=others)
        if other is None:
            return float((projected * centers[one]).sum())
        if other == one:
            return float((projected * centers[one] ** 2).sum())
        first, second = sorted(kept)
        return float((projected * np.outer(centers[first], centers[second])).sum())

    for one in range(len(all_bins)):
        out += [moment(one), moment(one, one), *(moment(other, one) for other in range(one))]
    return out


def entries(weights: Array, squares: Array | None) -> float:
    """How many entries there were: of weighted ones as many as have the same effect (``TH1::ResetStats``)."""
    if squares is None:
        return float(abs(np.asarray(weights, "float64").sum()))
    total, squared = float(np.sum(weights)), float(np.sum(squares))
    return total * total / squared if squared > 0 else abs(total)
