"""Histograms of samples and variations as parts of one."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood._read.libraries import need
from sapwood.errors import MismatchError


def joined_axis(axes: list[Any], what: str) -> Any:
    """The axis that some have in common: the same bins, or all categories of any of them."""
    first = axes[0]
    if first.traits.continuous:
        if any(list(axis.edges) != list(first.edges) for axis in axes[1:]):
            raise MismatchError(f"the bins of {what} lie around the values of each: say bins= to stack them")
        return first
    known = list(dict.fromkeys(category for axis in axes for category in axis))
    if known == list(first):
        return first
    hist = need("hist", "a histogram with axes of categories")
    kind = hist.axis.StrCategory if isinstance(known[0], str) else hist.axis.IntCategory
    return kind(known, name=first.name, label=first.label, growth=bool(first.traits.growth))


def laid_out(histogram: Any, axes: list[Any]) -> Any:
    """A histogram with these axes, which have all of its categories."""
    if all(own is axis or own == axis for own, axis in zip(histogram.axes, axes, strict=True)):
        return histogram
    out = type(histogram)(*axes, storage=histogram.storage_type())
    places = []
    for own, axis in zip(histogram.axes, axes, strict=True):
        if axis.traits.continuous:
            places.append(np.arange(own.extent))
            continue
        known = list(axis)
        of_categories = [known.index(category) for category in own]
        # The bin of all other categories comes last.
        places.append(np.array([*of_categories, len(known)][: own.extent]))
    out.view(flow=True)[np.ix_(*places)] = histogram.view(flow=True)
    return out
