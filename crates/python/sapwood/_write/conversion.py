"""What is an object of a file, and which: NumPy's histograms, those of the UHI protocol, objects that were
read."""

from __future__ import annotations

import io
import re
import sys
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood import _core, objects
from sapwood._read.libraries import need
from sapwood._write.bins import Bins
from sapwood._write.lossless import is_of, unmasked
from sapwood.errors import MismatchError, UnsupportedError
from sapwood.model import Model
from sapwood.pyroot import from_pyroot, is_pyroot

Array = NDArray[Any]


def as_object(value: Any) -> _core.Draft | None:
    """The object to be written for a value; nothing where it is none."""
    if isinstance(value, _core.Draft):
        return value
    if isinstance(value, str):
        return objects.text(value)
    if is_pyroot(value):
        value = from_pyroot(value)
    if isinstance(value, Model):
        return _draft_of(value)
    if is_of(value, "uproot") and (found := _from_uproot(value)) is not None:
        return found
    if _is_numpy_histogram(value):
        edges = value[1] if isinstance(value[1], (list, tuple)) and np.ndim(value[1][0]) == 1 else value[1:]
        return objects.histogram(value[0], *edges)
    if _is_histogram(value):
        return from_uhi(value)
    if isinstance(value, Mapping) and "uhi_schema" in value and "storage" in value:
        return from_uhi(need("boost_histogram", "UHI's serialization", "boost-histogram").Histogram(value))
    if isinstance(value, (list, tuple)) and any(_is_object(item) for item in value):
        return objects.collection(value)
    if isinstance(value, Mapping) and any(
        isinstance(item, (_core.Draft, Model)) or _is_histogram(item) for item in value.values()
    ):
        raise MismatchError("a dictionary of objects is no table: sapwood.objects.mapping makes a TMap of it")
    return None


def _is_object(value: Any) -> bool:
    return isinstance(value, (_core.Draft, Model)) or _is_numpy_histogram(value) or _is_histogram(value)


def _from_uproot(value: Any) -> _core.Draft | None:
    """An object of uproot with all members that uproot writes; ``None`` for those that it does not write."""
    import sapwood

    uproot: Any = sys.modules["uproot"]
    if not isinstance(value, uproot.Model):
        return None
    memory = io.BytesIO()
    try:
        # Closing it would close the memory, too.
        file = uproot.recreate(memory)
        file[str(value.all_members.get("fName") or "object")] = value
    except Exception:
        # Whatever uproot has against it, the protocol of histograms may do.
        return None
    with sapwood.open(io.BytesIO(memory.getvalue())) as written:
        return _draft_of(written[written.keys()[0]])


def _draft_of(value: Model) -> _core.Draft:
    found = value._identity
    if not isinstance(found, _core.Object):
        raise UnsupportedError(
            f"a {value.classname} that is no object of its own, or a copy, cannot be written"
        )
    return found.draft()


def _is_numpy_histogram(value: Any) -> bool:
    """What ``numpy.histogram``, ``histogram2d`` and ``histogramdd`` give."""
    if not isinstance(value, tuple) or not 2 <= len(value) <= 5 or not isinstance(value[0], np.ndarray):
        return False
    rest = value[1] if len(value) == 2 and isinstance(value[1], (list, tuple)) else value[1:]
    return len(rest) > 0 and all(isinstance(edges, np.ndarray) and edges.ndim == 1 for edges in rest)


def _is_histogram(value: Any) -> bool:
    """Does it follow the protocol of plottable histograms (UHI)?"""
    return all(hasattr(value, name) for name in ("axes", "kind")) and callable(getattr(value, "values", None))


def from_uhi(found: Any) -> _core.Draft:
    """A histogram or profile for one of the UHI protocol, with flow bins where it has them."""
    directions = list(found.axes)
    if not 1 <= len(directions) <= 3:
        raise MismatchError(
            f"a histogram has one to three axes, not {len(directions)}: project it, or write one for each bin of the others"
        )
    all_bins = [_bins_of(axis) for axis in directions]
    title = _title(found, ("title", "label", "metadata"))
    entries = _entries(found)

    def padded(values: Any) -> Array:
        return _pad(np.asarray(unmasked(values)), directions, all_bins)

    names = getattr(_view(found), "dtype", np.dtype("f8")).names or ()
    if "MEAN" in str(found.kind):
        if "_sum_of_deltas_squared" in names:  # Mean
            view = _view(found)
            counts, means, deltas, squares = (
                view["count"],
                view["value"],
                view["_sum_of_deltas_squared"],
                None,
            )
        elif "_sum_of_weighted_deltas_squared" in names:  # WeightedMean
            view = _view(found)
            counts, means, deltas = (
                view["sum_of_weights"],
                view["value"],
                view["_sum_of_weighted_deltas_squared"],
            )
            squares = padded(view["sum_of_weights_squared"])
        else:
            counts, means, variances = (
                padded(_flow(getattr(found, what))) for what in ("counts", "values", "variances")
            )
            spread = np.sqrt(variances)
            return objects.profile(counts, means, spread, *all_bins, title=title, entries=entries, flow=True)
        counts, means, deltas = (padded(part).astype("float64") for part in (counts, means, deltas))
        means = np.where(counts > 0, means, 0.0)
        return objects.profile_of(
            all_bins, counts, counts * means, deltas + counts * means**2, squares, title, entries
        )
    values = padded(_flow(found.values))
    given = _flow(found.variances) if callable(getattr(found, "variances", None)) else None
    known: Array | None = None if given is None else padded(given)
    # Variances that are the values are not worth a word, but where the storage has them anyway.
    if known is not None and "variance" not in names and np.array_equal(known, values):
        known = None
    return objects.histogram(values, *all_bins, variances=known, title=title, entries=entries, flow=True)


def _entries(found: Any) -> float | None:
    """How often a histogram was filled, where its ``metadata`` says so in ``fEntries``: bins of weights do
    not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of boost-histogram, where there is no metadata
        metadata = getattr(found, "metadata", None)
    given = metadata.get("fEntries") if isinstance(metadata, Mapping) else None
    if given is None:
        return None
    if not isinstance(given, (int, float, np.number)) or not 0 <= given < np.inf:
        raise MismatchError(f"fEntries in the metadata of a histogram is a number of fills, not {given!r}")
    return float(given)


def _flow(get: Any) -> Any:
    try:
        return get(flow=True)
    except TypeError:
        return get()


def _view(found: Any) -> Any:
    view = getattr(found, "view", None)
    return view(flow=True) if callable(view) else None


def _pad(values: Array, directions: list[Any], all_bins: list[Bins]) -> Array:
    """With flow bins at both ends, whatever ends there are."""
    if values.ndim != len(all_bins):
        raise MismatchError(f"values of {values.ndim} dimensions, but {len(all_bins)} axes")
    out = np.zeros([len(bins_) + 2 for bins_ in all_bins], values.dtype)
    where: list[slice] = []
    for given, axis, one in zip(list(values.shape), directions, all_bins, strict=True):
        bins_given = 0 if _is_empty(axis) else len(one)
        more = given - bins_given
        traits = getattr(axis, "traits", None)
        has_under = bool(getattr(traits, "underflow", more == 2))
        if more not in (0, 1, 2) or more == 2 and not has_under:
            raise MismatchError(f"values have {given} bins where the axis has {bins_given}")
        if bins_given == 0:
            values, given = np.insert(values, int(has_under), 0, axis=len(where)), given + 1
        start = 0 if more == 2 or more == 1 and has_under else 1
        where.append(slice(start, start + given))
    out[tuple(where)] = values
    return out


def _is_empty(axis: Any) -> bool:
    """Whether an axis has no bin yet, as it grows with the values that are filled. ROOT's axes have one at least."""
    return hasattr(axis, "__len__") and len(axis) == 0


def _bins_of(axis: Any) -> Bins:
    title = _title(axis, ("label", "title", "metadata", "name"))
    is_discrete = bool(getattr(getattr(axis, "traits", None), "discrete", False))
    if is_discrete and ("Category" in type(axis).__name__ or not hasattr(axis, "edges")):
        labels = [str(axis[place]) for place in range(len(axis))]
        if not labels:
            return Bins([0, 1], None, title)
        return Bins(np.arange(len(labels) + 1), labels, title)
    edges = getattr(axis, "edges", None)
    if edges is None:
        ranges = [axis[place] for place in range(len(axis))]
        edges = [*(low for low, _ in ranges), ranges[-1][1]]
    edges = edges() if callable(edges) else edges
    if _is_empty(axis) and len(edges) == 1:
        return Bins([edges[0], edges[0] + 1], None, title)
    labels_of = getattr(axis, "labels", None)
    found = labels_of() if callable(labels_of) else None
    return Bins(edges, found if found is not None and len(found) == len(axis) else None, title)


def _title(found: Any, names: tuple[str, ...]) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of boost-histogram, where there is no metadata
        texts = [getattr(found, name, None) for name in names]
    # Axes of hist that have no label say which they are.
    return next(
        (text for text in texts if isinstance(text, str) and text and not re.fullmatch(r"Axis \d+", text)), ""
    )
