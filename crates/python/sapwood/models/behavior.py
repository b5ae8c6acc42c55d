"""Which Python class stands for which C++ class."""

from __future__ import annotations

from typing import Any

from sapwood.model import Model
from sapwood.models.axis import Axis
from sapwood.models.collection import Collection, Map, RefArray
from sapwood.models.efficiency import Efficiency
from sapwood.models.entry_list import Chain, EntryList
from sapwood.models.function import Formula, Function
from sapwood.models.graph import Graph, Graph2D, GraphAsymmErrors, GraphErrors, GraphMultiErrors, MultiGraph
from sapwood.models.hist import Hist, Hist1D, Hist2D, Hist3D, PolyHist
from sapwood.models.profile import Profile1D, Profile2D, Profile3D
from sapwood.models.roofit import RooCurve, RooHist
from sapwood.models.scalar import Datime, Named, Numbers, ObjString, Parameter
from sapwood.models.sparse import SparseHist

#: Python classes that users add for C++ classes; they come before Sapwood's own.
classes: dict[str, type[Model]] = {}
#: The class nearest to the object's own wins; of a class that is not here, its bases are looked up.
_CLASSES: dict[str, type[Model]] = {
    "RooCurve": RooCurve,
    "RooHist": RooHist,
    **{f"TArray{letters}": Numbers for letters in ("C", "S", "I", "L", "L64", "F", "D")},
    "TAxis": Axis,
    "TChain": Chain,
    "TClonesArray": Collection,
    "TCollection": Collection,
    "TDatime": Datime,
    "TEfficiency": Efficiency,
    "TEntryList": EntryList,
    "TEventList": EntryList,
    "TF1": Function,
    "TFormula": Formula,
    "TGraph": Graph,
    "TGraph2D": Graph2D,
    "TGraphAsymmErrors": GraphAsymmErrors,
    "TGraphBentErrors": GraphAsymmErrors,
    "TGraphErrors": GraphErrors,
    "TGraphMultiErrors": GraphMultiErrors,
    "TH1": Hist1D,
    "TH2": Hist2D,
    "TH2Poly": PolyHist,
    "TH3": Hist3D,
    "THashList": Collection,
    "THnBase": SparseHist,
    "THnSparse": SparseHist,
    "TList": Collection,
    "TMap": Map,
    "TMultiGraph": MultiGraph,
    "TNamed": Named,
    "TObjArray": Collection,
    "TObjString": ObjString,
    "TProfile": Profile1D,
    "TProfile2D": Profile2D,
    "TProfile3D": Profile3D,
    "TRefArray": RefArray,
    "TSortedList": Collection,
}
_KNOWN: dict[str, type[Model]] = {}


def behaviors(value: Any, classname: str) -> type[Model]:
    """The Python class for a record of a C++ class."""
    if classname in classes:
        return classes[classname]
    known = _KNOWN.get(classname)
    if known is None:
        found = _nearest(value, classname)
        # What only has a name is a plain model with all its members.
        known = Model if found is None or (found is Named and classname != "TNamed") else found
        if len(_KNOWN) < 10_000:
            _KNOWN[classname] = known
    return known


def _nearest(value: Any, classname: str) -> type[Model] | None:
    if classname in _CLASSES:
        return _CLASSES[classname]
    if classname.startswith("TParameter<"):
        return Parameter
    for base in value.bases:
        found = _nearest(base, base.classname)
        if found is not None:
            return found
    return None


def make_model(value: Any, identity: Any) -> Any:
    """A model for a record."""
    classname = identity.classname if identity is not None else value.classname
    return behaviors(value, classname)(value, identity)


__all__ = ["Hist", "behaviors", "classes", "make_model"]
