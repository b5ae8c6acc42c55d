"""What classes can do beyond showing their members: histograms, graphs, collections."""

from __future__ import annotations

from sapwood.model import Collection, Model

_COLLECTIONS = {"TList", "THashList", "TSortedList", "TObjArray", "TClonesArray", "TMap", "TRefArray"}


def behaviors(classname: str) -> type[Model]:
    """The Python class for a C++ class."""
    if classname in _COLLECTIONS:
        return Collection
    return Model
