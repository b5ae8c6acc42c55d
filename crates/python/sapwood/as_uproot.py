"""``import sapwood.as_uproot`` makes ``import uproot`` mean this package for the rest of the process.

Libraries that read and write files with uproot then do so with Sapwood, unchanged: import this module before
them. It has uproot's public words, also those of its modules that others use (``uproot.behaviors``,
``uproot.const``, ``uproot.interpretation.jagged``, ``uproot.writing.identify`` and so on). What uproot
itself is made of (``uproot.source``, ``uproot.streamers``) is not there: importing it is a
``ModuleNotFoundError``. ``coffea.nanoevents`` uses that, and needs uproot itself. Each process imports this
module, also a worker that is not forked.

>>> import sapwood.as_uproot
>>> import uproot
>>> uproot.open is sapwood.as_uproot.open, uproot.const.kZSTD
(True, 5)
"""

from __future__ import annotations

import abc
import functools
import importlib.machinery
import inspect
import io
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import sapwood
from sapwood import _core, compression, errors, interpretation, model, writing
from sapwood._read import compat_kwargs
from sapwood._read.branches import HasBranches
from sapwood._read.compat_kwargs import Foreign
from sapwood._remote.network import Opening
from sapwood._tree.ntuple import Field, NTuple
from sapwood._write.bins import Bins
from sapwood.errors import MismatchError
from sapwood.models import collection, graph, hist, profile

__all__ = ["HasFields", "open", "to_TAxis", "to_TH1x", "to_TH2x", "to_TH3x"]

#: The version of uproot's interface that this follows.
UPROOT = "5.7.0"
_VERSION = f"{UPROOT}+sapwood.{sapwood.__version__}"


class HasFields(abc.ABC):
    """An RNTuple or a field of one, as ``uproot.behaviors.RNTuple.HasFields``."""


HasFields.register(NTuple)
HasFields.register(Field)


def _lenient(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a function so that it drops keyword arguments that it does not know, as uproot does."""
    known = {*inspect.signature(function).parameters, *Foreign.__annotations__, *Opening.__annotations__}

    @functools.wraps(function)
    def lenient(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{name: value for name, value in kwargs.items() if name in known})

    # So that pickle finds it in this module: other processes open files with it.
    lenient.__module__ = __name__
    return lenient


open = _lenient(sapwood.open)


def to_TAxis(
    fName: str,
    fTitle: str,
    fNbins: int,
    fXmin: float,
    fXmax: float,
    fXbins: Any = None,
    fLabels: Iterable[Any] | None = None,
    **others: Any,
) -> Bins:
    """An axis for :func:`to_TH1x`, as ``uproot.writing.identify.to_TAxis``: with equal bins, or those between the
    edges ``fXbins``. Colours and fonts are those of ROOT's new axes.

    >>> len(to_TAxis("fXaxis", "", 4, 0, 1))
    4
    """
    edges = np.linspace(fXmin, fXmax, int(fNbins) + 1) if fXbins is None or len(fXbins) == 0 else fXbins
    if len(edges) != int(fNbins) + 1:
        raise MismatchError(f"an axis of {fNbins} bins has {int(fNbins) + 1} edges, not {len(edges)}")
    return Bins(edges, None if fLabels is None else [str(label) for label in fLabels], fTitle)


def _histogram(
    name: str, title: str, data: Any, entries: float, sums: list[float], squares: Any, axes: list[Bins]
) -> Any:
    cells = int(np.prod([len(axis) + 2 for axis in axes]))
    values = np.ascontiguousarray(np.asarray(data).ravel())
    if values.size != cells:
        words = f"a histogram with these axes has {cells} bins with under- and overflow, not {values.size}"
        raise MismatchError(words)
    variances = None if squares is None else np.asarray(squares, "float64").ravel()
    if variances is not None and variances.size not in (0, cells):
        # Variances of the bins between the ends: those at the ends are not known.
        inner = [len(axis) for axis in reversed(axes)]
        if variances.size != int(np.prod(inner)):
            raise MismatchError(f"a histogram with {cells} bins has {cells} variances, not {variances.size}")
        variances = np.pad(variances.reshape(inner), 1).ravel()
    if variances is not None and variances.size == 0:
        variances = None
    draft = _core.histogram(
        title, [axis.native for axis in axes], values, variances, float(entries), [float(one) for one in sums]
    )
    # As an object that was read: it has members, and can be written under any name.
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        file[name or "h"] = draft
    return sapwood.open(memory)[name or "h"]


def to_TH1x(
    fName: str,
    fTitle: str,
    data: Any,
    fEntries: float,
    fTsumw: float,
    fTsumw2: float,
    fTsumwx: float,
    fTsumwx2: float,
    fSumw2: Any,
    fXaxis: Bins,
    **others: Any,
) -> Any:
    """A histogram of one direction, as ``uproot.writing.identify.to_TH1x``: ``data`` begin with the underflow bin
    and end with the overflow bin, and their type decides the class.

    >>> axis = to_TAxis("fXaxis", "", 2, 0, 1)
    >>> to_TH1x("h", "", np.array([0.0, 1, 2, 0]), 3, 3, 3, 1.75, 1.2, None, axis).values().tolist()
    [1.0, 2.0]
    """
    return _histogram(fName, fTitle, data, fEntries, [fTsumw, fTsumw2, fTsumwx, fTsumwx2], fSumw2, [fXaxis])


def to_TH2x(
    fName: str,
    fTitle: str,
    data: Any,
    fEntries: float,
    fTsumw: float,
    fTsumw2: float,
    fTsumwx: float,
    fTsumwx2: float,
    fTsumwy: float,
    fTsumwy2: float,
    fTsumwxy: float,
    fSumw2: Any,
    fXaxis: Bins,
    fYaxis: Bins,
    **others: Any,
) -> Any:
    """A histogram of two directions, as ``uproot.writing.identify.to_TH2x``: in ``data`` the bins of the first
    direction follow one another."""
    sums = [fTsumw, fTsumw2, fTsumwx, fTsumwx2, fTsumwy, fTsumwy2, fTsumwxy]
    return _histogram(fName, fTitle, data, fEntries, sums, fSumw2, [fXaxis, fYaxis])


def to_TH3x(
    fName: str,
    fTitle: str,
    data: Any,
    fEntries: float,
    fTsumw: float,
    fTsumw2: float,
    fTsumwx: float,
    fTsumwx2: float,
    fTsumwy: float,
    fTsumwy2: float,
    fTsumwxy: float,
    fTsumwz: float,
    fTsumwz2: float,
    fTsumwxz: float,
    fTsumwyz: float,
    fSumw2: Any,
    fXaxis: Bins,
    fYaxis: Bins,
    fZaxis: Bins,
    **others: Any,
) -> Any:
    """A histogram of three directions, as ``uproot.writing.identify.to_TH3x``."""
    sums = [fTsumw, fTsumw2, fTsumwx, fTsumwx2, fTsumwy, fTsumwy2, fTsumwxy]
    sums += [fTsumwz, fTsumwz2, fTsumwxz, fTsumwyz]
    return _histogram(fName, fTitle, data, fEntries, sums, fSumw2, [fXaxis, fYaxis, fZaxis])


class _DispatchByVersion:
    """In uproot, a class that stands for those of several versions. Nothing is an instance of it here."""


class _NotNumerical(Exception):
    """In uproot, what cannot be read as numbers raises this. Here it is read otherwise."""


#: The modules of uproot that others use, and what they have.
_MODULES: dict[str, dict[str, Any]] = {
    "behaviors": {},
    "behaviors.RNTuple": {"HasFields": HasFields, "RNTuple": NTuple},
    "behaviors.TAxis": {"TAxis": sapwood.classes.get("TAxis", model.Model)},
    "behaviors.TBranch": {
        "HasBranches": HasBranches,
        "TBranch": sapwood.Branch,
        "concatenate": sapwood.concatenate,
        "iterate": sapwood.iterate,
    },
    "behaviors.TGraph": {"TGraph": graph.Graph},
    "behaviors.TGraphAsymmErrors": {"TGraphAsymmErrors": graph.GraphAsymmErrors},
    "behaviors.TGraphErrors": {"TGraphErrors": graph.GraphErrors},
    "behaviors.TH1": {"Histogram": hist.Hist, "TH1": hist.Hist1D},
    "behaviors.TH2": {"TH2": hist.Hist2D},
    "behaviors.TH3": {"TH3": hist.Hist3D},
    "behaviors.TProfile": {"Profile": profile.Profile, "TProfile": profile.Profile1D},
    "behaviors.TTree": {"TTree": sapwood.Tree},
    "const": {"kZLIB": 1, "kLZMA": 2, "kOldCompressionAlgo": 3, "kLZ4": 4, "kZSTD": 5},
    "containers": {
        "STLMap": sapwood.STLMap,
        "STLSet": sapwood.STLSet,
        "STLVector": sapwood.STLVector,
    },
    "exceptions": {
        "DeserializationError": errors.MalformedError,
        "KeyInFileError": errors.NotFoundError,
        "NotNumerical": _NotNumerical,
    },
    "interpretation.jagged": {"AsJagged": interpretation.AsJagged},
    "interpretation.numerical": {"AsDtype": interpretation.AsDtype, "Numerical": interpretation.AsDtype},
    "interpretation.objects": {
        "AsObjects": interpretation.AsObjects,
        "AsStridedObjects": interpretation.AsStridedObjects,
    },
    "interpretation.strings": {"AsStrings": interpretation.AsStrings},
    "model": {"DispatchByVersion": _DispatchByVersion},
    "models": {},
    "models.RNTuple": {"Model_ROOT_3a3a_RNTuple": NTuple, "RField": Field},
    "models.TObjString": {"Model_TObjString": sapwood.classes.get("TObjString", str)},
    "models.TTree": {"Model_TTree": sapwood.Tree},
    "models.TList": {"Model_TList": collection.Collection},
    "reading": {
        "ReadOnlyDirectory": sapwood.Directory,
        "ReadOnlyFile": sapwood.File,
        "ReadOnlyKey": sapwood.Key,
        "open": open,
    },
    "writing.identify": {
        "to_TAxis": to_TAxis,
        "to_TH1x": to_TH1x,
        "to_TH2x": to_TH2x,
        "to_TH3x": to_TH3x,
        "to_writable": sapwood.to_writable,
    },
    "writing.writable": {
        "WritableDirectory": sapwood.WritableDirectory,
        "WritableFile": sapwood.WritableFile,
        "WritableTree": sapwood.WritableTree,
        "create": sapwood.create,
        "recreate": sapwood.recreate,
        "update": sapwood.update,
    },
}


def _made(name: str, base: types.ModuleType | None, words: dict[str, Any]) -> types.ModuleType:
    """A module of uproot's name, with what ``base`` has and these words."""
    made = types.ModuleType(f"uproot.{name}" if name else "uproot", sapwood.__doc__ if not name else "")
    made.__path__ = []
    # Libraries ask `importlib.util.find_spec` whether there is uproot.
    made.__spec__ = importlib.machinery.ModuleSpec(made.__name__, None, is_package=True)
    inherited = vars(base or made).items()
    made.__dict__.update({word: value for word, value in inherited if not word.startswith("__")})
    made.__dict__.update(words)
    return made


def _install() -> types.ModuleType:
    """Makes ``uproot`` and its modules those of Sapwood.

    Raises ``ImportError`` if uproot itself was imported: what holds its classes would mix both.
    """
    there = sys.modules.get("uproot")
    if getattr(there, "__version__", None) == _VERSION:
        assert there is not None
        return there  # this module is imported again, by `importlib.reload`
    if there is not None:
        raise ImportError("uproot was imported already: import sapwood.as_uproot before all that uses uproot")
    bases = {"compression": compression, "interpretation": interpretation, "model": model, "writing": writing}
    names = sorted({*bases, *_MODULES}, key=lambda name: name.count("."))
    # Named one by one: the package imports a name at its first use.
    words = {word: getattr(sapwood, word) for word in dir(sapwood)}
    uproot = _made("", None, {**words, "open": open, "__version__": _VERSION})
    made = {"": uproot}
    for name in names:
        made[name] = _made(name, bases.get(name), _MODULES.get(name, {}))
        above, _, last = name.rpartition(".")
        setattr(made[above], last, made[name])
    compat_kwargs.stands_for_uproot = True
    sys.modules.update({f"uproot.{name}" if name else "uproot": module for name, module in made.items()})
    return uproot


_install()
