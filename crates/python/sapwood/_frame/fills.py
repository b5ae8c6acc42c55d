"""Histograms of hist and boost-histogram, filled with the arrays of a frame."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from sapwood._frame.sinks import Folding
from sapwood._read import drawing
from sapwood._read.libraries import need
from sapwood.errors import MismatchError


class Fill:
    """Fills a histogram with the arrays of a step, item by item."""

    def __init__(self, axes: int) -> None:
        self._axes = axes

    def __call__(self, histogram: Any, arrays: dict[str, Any]) -> Any:
        ak = need("awkward", "fill()")
        whole = list(arrays.values())
        # Fewer axes of lists than of entries: one value of an entry counts for each item.
        parts = ak.broadcast_arrays(*whole) if any(part.ndim > 1 for part in whole) else whole
        flat = [_flat(ak, part) for part in parts]
        is_there = functools.reduce(operator.and_, (~ak.is_none(part) for part in flat))
        there = [ak.drop_none(part[is_there]) for part in flat]
        values = [part.to_list() if _is_text(part) else ak.to_numpy(part) for part in there]
        weight = values[self._axes] if len(values) > self._axes else None
        histogram.fill(*values[: self._axes], weight=weight)
        return histogram


def filling(histogram: Any, expressions: int, is_weighted: bool) -> Folding:
    """A function that fills a copy of a histogram, without what it holds.

    Raises :class:`MismatchError` for another number of axes, and for weights in a histogram of whole numbers.
    """
    axes = getattr(histogram, "ndim", None)
    if axes is None or not hasattr(histogram, "fill"):
        raise MismatchError(f"a histogram of hist or boost-histogram is filled, not {histogram!r}")
    if axes != expressions:
        raise MismatchError(f"a histogram of {axes} axes takes an expression for each, not {expressions}")
    storage = getattr(histogram.storage_type, "__name__", "")
    if is_weighted and storage.endswith("Int64"):
        raise MismatchError(
            f"a histogram of storage {storage} holds whole numbers: give it Weight() for weights"
        )
    names = [str(number) for number in range(expressions + is_weighted)]
    return Folding(names, "ak", histogram.copy().reset(), Fill(axes), operator.add)


def empty(bins: Any, expressions: int) -> Any:
    """A histogram of hist without fills, with an axis for each expression."""
    hist = need("hist", "histnd()")
    each = [bins] if isinstance(bins, tuple) or hasattr(bins, "traits") else list(bins)
    if each and np.ndim(each[0]) == 0 and not hasattr(each[0], "traits"):
        each = [each]  # the edges of one axis
    if len(each) != expressions:
        raise MismatchError(f"bins= of {len(each)} axes do not fit {expressions} expressions")
    return hist.Hist(*(_axis(hist, one) for one in each), storage=hist.storage.Weight())


def _axis(hist: Any, bins: Any) -> Any:
    if hasattr(bins, "traits"):
        return bins
    (axis,) = drawing.axes_of(bins)
    edges = axis.edges()
    if isinstance(bins, tuple) and len(bins) == 3:
        return hist.axis.Regular(len(axis), axis.low, axis.high)
    return hist.axis.Variable(edges)


def _is_text(array: Any) -> bool:
    return "string" in str(array.type)


def _flat(ak: Any, array: Any) -> Any:
    """All items, one after another. Missing lists have none; missing items stay."""
    while array.ndim > 1:
        array = ak.flatten(array, axis=1)
    return array
