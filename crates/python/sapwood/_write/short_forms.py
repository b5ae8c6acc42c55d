"""Values that may be given as less than their members: references, and lists of objects.

A null ``TRef`` is ``None``, a ``TRefArray``, ``TList`` or ``TObjArray`` with nothing in it an empty list.
Others are as reading shows them: of references the number of an object (``ref``), or several (``refs``), and
which process of the file's list numbered them (``pidf``).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from sapwood import errors
from sapwood._write.lossless import shown
from sapwood.model import Model

_LIST: dict[str, Any] = {"fName": "", "items": [], "options": []}
USUAL: dict[str, dict[str, Any]] = {
    "TRef": {"pidf": 0, "ref": 0, "fBits": 0},
    "TRefArray": {"fName": "", "pidf": 0, "fLowerBound": 0, "refs": []},
    "TObjArray": {"fName": "", "fLowerBound": 0, "items": []},
    "TList": _LIST,
    "THashList": _LIST,
    "TSortedList": _LIST,
}
"""The members of values with nothing in them, by class."""
NAMED = {
    name: next(member for member in ("ref", "refs", "items") if member in of) for name, of in USUAL.items()
}
"""The member that says what is in them."""


def as_members(name: str, value: Any) -> Any:
    """A value of one of these classes as an object with its members.

    >>> as_members("TRef", None)
    namespace(pidf=0, ref=0, fBits=0)
    >>> as_members("TRefArray", [3, 4]).refs
    [3, 4]
    """
    usual, named = USUAL[name], NAMED[name]
    if value is None:
        return SimpleNamespace(**usual)
    if isinstance(value, Model):
        if named == "items" and len(value.member("items")):
            raise errors.MismatchError(
                f"a {name} that holds objects is no value: leave it empty, or add the entries by merging their file "
                "into this one (merge(..., append=True))"
            )
        given = {member: value.member(member, none_if_missing=True) for member in usual}
        return SimpleNamespace(**usual | {member: of for member, of in given.items() if of is not None})
    if isinstance(value, Mapping):
        value = SimpleNamespace(**value)
    if hasattr(value, named):
        return SimpleNamespace(**{member: getattr(value, member, of) for member, of in usual.items()})
    if isinstance(usual[named], list) and hasattr(value, "__len__") and not isinstance(value, (str, bytes)):
        return SimpleNamespace(**(usual | {named: value}))
    short = "a list" if isinstance(usual[named], list) else f"sapwood.{name}(number of an object)"
    raise errors.MismatchError(
        f"a {name} is None, {short}, or has the member {named!r}, and {shown(value)} was given"
    )
