"""Classes of ROOT that dataclasses derive from, or have as members."""

from __future__ import annotations

import dataclasses
from typing import Annotated, ClassVar

import numpy as np


@dataclasses.dataclass
class TObject:
    """ROOT's ``TObject`` as a base: what a ``TClonesArray`` holds derives from it.

    Its members are those of a new object unless they are set. An object that references name has its number
    in ``fUniqueID``, and the bit ``IS_REFERENCED`` in ``fBits``.

    >>> import dataclasses, sapwood
    >>> @dataclasses.dataclass
    ... class Track(sapwood.TObject):
    ...     pt: float
    >>> track = Track(2.5)
    >>> track.fUniqueID, track.fBits = 7, sapwood.TObject.IS_REFERENCED
    >>> track
    Track(pt=2.5)
    """

    IS_REFERENCED: ClassVar[int] = 1 << 4

    fUniqueID: np.uint32 = dataclasses.field(default=np.uint32(0), init=False, repr=False, compare=False)
    fBits: np.uint32 = dataclasses.field(default=np.uint32(0), init=False, repr=False, compare=False)


@dataclasses.dataclass
class TNamed(TObject):
    """ROOT's ``TNamed``, as a base or a member.

    >>> import sapwood
    >>> sapwood.TNamed("name", "title")
    TNamed(fName='name', fTitle='title')
    """

    fName: Annotated[str, "TString"]
    fTitle: Annotated[str, "TString"]


@dataclasses.dataclass
class TRef:
    """A reference to an object by its number, as a member; 0 is null. ``None`` may be given in its place.

    >>> import sapwood
    >>> sapwood.TRef(7)
    TRef(ref=7)
    """

    pidf: np.uint16 = dataclasses.field(default=np.uint16(0), kw_only=True, repr=False)
    ref: np.uint32 = np.uint32(0)
    fBits: np.uint32 = dataclasses.field(default=np.uint32(0), kw_only=True, repr=False)


@dataclasses.dataclass
class TRefArray:
    """References to objects by their numbers, as a member. A list of numbers may be given in its place.

    >>> import sapwood
    >>> sapwood.TRefArray([7, 8])
    TRefArray(refs=[7, 8])
    """

    fName: Annotated[str, "TString"] = dataclasses.field(default="", kw_only=True, repr=False)
    pidf: np.uint16 = dataclasses.field(default=np.uint16(0), kw_only=True, repr=False)
    fLowerBound: np.int32 = dataclasses.field(default=np.int32(0), kw_only=True, repr=False)
    refs: list[np.int32] = dataclasses.field(default_factory=list)


ROOT_CLASSES = (TObject, TNamed, TRef, TRefArray)
