"""Histograms, in the words of uproot and of UHI (the protocol of plottable histograms)."""

from __future__ import annotations

import io
import math
import re
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood._read.libraries import need
from sapwood.errors import MalformedError, MismatchError, SapwoodError, UnsupportedError
from sapwood.model import Model, find_member
from sapwood.models.axis import METADATA, Axis

Array = NDArray[Any]
_LETTERS = "xyz"


#: Members that change when entries in the buffer of a histogram are put into its bins.
_FILLED = re.compile(r"f[XYZ]axis|fNcells|fEntries|fTsumw\w*|fN|fArray|fSumw2|fBinEntries|fBinSumw2|fBuffer")


def _finished(value: Any) -> Any:
    """The record of a histogram with buffered entries in its bins: ROOT does so when it is looked at
    (``TH1::BufferEmpty``)."""
    found = find_member(value, "fBuffer")
    if found is None or found[0] is None or len(found[0]) == 0 or not found[0][0] > 0:
        return value
    import sapwood

    try:
        draft = _core.Histogram.of(value).draft()
    except SapwoodError:
        # Whoever asks for its bins gets the error; all else of it can be read.
        return value
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        file["finished"] = draft
    filled = sapwood.open(memory)["finished"]._value

    def replaced(record: Any) -> Any:
        members = {}
        for name, member in record.members.items():
            new = find_member(filled, name) if _FILLED.fullmatch(name) else None
            members[name] = member if new is None else new[0]
        return _core.Struct(record.classname, [replaced(base) for base in record.bases], members)

    return replaced(value)


class Hist(Model):
    """A histogram: axes, values, variances. With ``flow``, each direction begins with its underflow bin and
    ends with its overflow bin. Entries that were still in its buffer are in its bins."""

    _ndim = 0

    def __init__(self, value: Any, identity: Any = None) -> None:
        super().__init__(_finished(value), identity)

    @property
    def kind(self) -> str:
        """``COUNT``: a value says how many; ``MEAN``: it says how large."""
        return "COUNT"

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes: x, y, z."""
        return tuple(self.member(name) for name in _core.axis_members(self._ndim))

    def axis(self, axis: int | str = 0) -> Axis:
        """An axis by number (negative: from the last), or as ``"x"``, ``"y"``, ``"z"``."""
        axes = self.axes
        if isinstance(axis, str) and len(axis) == 1 and axis in _LETTERS[: len(axes)]:
            return axes[_LETTERS.index(axis)]
        if isinstance(axis, int) and -len(axes) <= axis < len(axes):
            return axes[axis]
        letters = ", ".join(repr(letter) for letter in _LETTERS[: len(axes)])
        raise ValueError(f"a {self.classname} has the axes 0 to {len(axes) - 1}, or {letters}, not {axis!r}")

    @cached_property
    def _native(self) -> _core.Histogram:
        return _core.Histogram.of(self._value)

    def _reshape(self, flat: Any, flow: bool) -> Array:
        shape = tuple(len(axis) + 2 for axis in self.axes)
        flat = np.asarray(flat)
        if flat.size != math.prod(shape):
            raise MalformedError(f"{self.classname} {self.name!r} has {flat.size} bins, its axes say {shape}")
        shaped = flat.reshape(shape[::-1]).T
        return shaped if flow else shaped[(slice(1, -1),) * len(shape)]

    @property
    def weighted(self) -> bool:
        """Was it filled with weights, so that squares of them were summed?"""
        return self._native.sumw2() is not None

    def values(self, flow: bool = False) -> Array:
        """Content of each bin, an axis of the array for each axis of the histogram, in the type of the
        file."""
        return self._reshape(self._native.cells(), flow)

    def variances(self, flow: bool = False) -> Array:
        """Square of the error of each bin: the sum of squared weights, or the content without its sign if none
        was summed."""
        sums = self._native.sumw2()
        squares = np.abs(np.asarray(self._native.cells(), "float64")) if sums is None else np.asarray(sums)
        return self._reshape(squares, flow)

    def errors(self, flow: bool = False) -> Array:
        """Error of each bin; NaN for a sum of squares that is negative."""
        with np.errstate(invalid="ignore"):
            return np.sqrt(self.variances(flow))

    def counts(self, flow: bool = False) -> Array:
        """How many entries each bin has, effectively; for a histogram without weights its values."""
        return self.values(flow)

    def to_numpy(self, flow: bool = False, dd: bool = False) -> tuple[Any, ...]:
        """Values and edges, as ``numpy.histogram`` gives them; with ``dd`` as ``numpy.histogramdd``."""
        edges = tuple(axis.edges(flow) for axis in self.axes)
        return (self.values(flow), edges) if dd else (self.values(flow), *edges)

    def to_boost(
        self, metadata: dict[str, str] | None = None, axis_metadata: dict[str, str] | None = None
    ) -> Any:
        """As a histogram of boost-histogram.

        Raises ``ModuleNotFoundError`` where boost-histogram is not installed.
        """
        bh = need("boost_histogram", "to_boost()", "boost-histogram")
        axes = [axis.to_boost(axis_metadata) for axis in self.axes]
        values = self.values(flow=True)
        variances = self.variances(flow=True) if self.weighted else None
        if variances is not None:
            storage = bh.storage.Weight()
        else:
            storage = bh.storage.Int64() if np.issubdtype(values.dtype, np.integer) else bh.storage.Double()
        out = bh.Histogram(*axes, storage=storage)
        for name, member in (METADATA if metadata is None else metadata).items():
            setattr(out, name, self.member(member))
        where = without_underflow(axes)
        view = out.view(flow=True)
        if variances is not None:
            view.value, view.variance = values[where], variances[where]
        else:
            view[...] = values[where]
        return out

    def to_hist(
        self, metadata: dict[str, str] | None = None, axis_metadata: dict[str, str] | None = None
    ) -> Any:
        """As a histogram of hist.

        Raises ``ModuleNotFoundError`` where hist is not installed.
        """
        return need("hist", "to_hist()").Hist(self.to_boost(metadata, axis_metadata))

    def __add__(self, other: Any) -> Any:
        """The sum of two histograms with the same axes, as a histogram of hist. Without weights the variances are
        the values, as for :meth:`variances`, so that histograms with and without weights can be added."""
        if isinstance(other, (int, float, np.number)):
            return self.to_hist() + other
        if isinstance(other, Hist):
            other = other.to_hist()
        elif not hasattr(other, "axes"):
            return NotImplemented
        one = self.to_hist()
        return _added_to(other, one) + _added_to(one, other)

    def _to_boost_histogram_(self) -> Any:
        return self.to_boost()

    def _to_uhi_(self) -> Any:
        """Its form in UHI's serialization, which ``uhi.io`` writes as JSON, HDF5 or zip."""
        return self.to_boost()._to_uhi_()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hist) or type(self) is not type(other):
            return NotImplemented
        return (
            self.axes == other.axes
            and np.array_equal(self.values(True), other.values(True))
            and np.array_equal(self.variances(True), other.variances(True))
        )

    __hash__ = object.__hash__

    def _repr_html_(self) -> str:
        """The picture, for notebooks; of three axes and many bins, words."""
        try:
            return self._native.svg()
        except (UnsupportedError, MismatchError, MalformedError):
            return escape(repr(self))

    def _describe(self) -> str:
        bins = " x ".join(str(len(axis)) for axis in self.axes)
        return f"<{self.classname} {self.name!r} of {bins} bins>"


def _added_to(other: Any, found: Any) -> Any:
    """A histogram that can be added to another one: of counts, it has variances if the other one has some."""
    storage = need("boost_histogram", "+", "boost-histogram").storage
    return with_variances(found) if getattr(other, "storage_type", None) is storage.Weight else found


def with_variances(found: Any) -> Any:
    """A histogram of counts with its variances, which are the counts, and means of counts as those of weights. Others
    stay as they are."""
    storage = need("boost_histogram", "variances", "boost-histogram").storage
    kind = getattr(found, "storage_type", None)
    if kind not in (storage.Double, storage.Int64, storage.Mean):
        return found
    values = found.view(flow=True)
    if kind is storage.Mean:
        out = type(found)(*found.axes, storage=storage.WeightedMean())
        view = out.view(flow=True)
        view["sum_of_weights"] = view["sum_of_weights_squared"] = values["count"]
        view["value"] = values["value"]
        view["_sum_of_weighted_deltas_squared"] = values["_sum_of_deltas_squared"]
    else:
        out = type(found)(*found.axes, storage=storage.Weight())
        view = out.view(flow=True)
        view.value, view.variance = values, np.abs(values)
    for name in METADATA:
        setattr(out, name, getattr(found, name, None))
    return out


def without_underflow(axes: list[Any]) -> tuple[slice, ...]:
    """Axes of boost-histogram that have labels know no underflow bin."""
    return tuple(
        slice(1, None) if hasattr(axis, "bin") and not axis.traits.underflow else slice(None) for axis in axes
    )


class Hist1D(Hist):
    """TH1C, TH1S, TH1I, TH1L, TH1F, TH1D."""

    _ndim = 1


class Hist2D(Hist):
    """TH2C, TH2S, TH2I, TH2L, TH2F, TH2D."""

    _ndim = 2


class Hist3D(Hist):
    """TH3C, TH3S, TH3I, TH3L, TH3F, TH3D."""

    _ndim = 3


class PolyHist(Hist):
    """TH2Poly: bins are polygons, each with a content of its own. Values are in the order of the bins."""

    _ndim = 2

    @property
    def polygons(self) -> list[Any]:
        """The bins (TH2PolyBin): ``fPoly`` is the outline, ``fContent`` the value."""
        return [bin for bin in self.member("fBins") if bin is not None]

    @property
    def weighted(self) -> bool:
        """Never: the squares of weights are not told apart by polygon."""
        return False

    def values(self, flow: bool = False) -> Array:
        """Content of each polygon; with ``flow``, the nine regions around and between come first."""
        inside = np.array([float(bin.member("fContent")) for bin in self.polygons])
        if not flow:
            return inside
        around = self.member("fOverflow", none_if_missing=True)
        return np.concatenate((np.asarray(around if around is not None else [], "float64"), inside))

    def variances(self, flow: bool = False) -> Array:
        """Square of the error of each polygon."""
        return np.abs(self.values(flow))

    def to_numpy(self, flow: bool = False, dd: bool = False) -> tuple[Any, ...]:
        raise UnsupportedError("the bins of a TH2Poly are polygons: NumPy has no form for them")

    def to_boost(
        self, metadata: dict[str, str] | None = None, axis_metadata: dict[str, str] | None = None
    ) -> Any:
        raise UnsupportedError("the bins of a TH2Poly are polygons: boost-histogram has no form for them")

    def _describe(self) -> str:
        return f"<TH2Poly {self.name!r} of {len(self.polygons)} polygons>"
