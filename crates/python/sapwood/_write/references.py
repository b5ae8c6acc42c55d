"""References to objects: what ``TRef`` and ``TRefArray`` are in Python.

A null reference is ``None``, an array without references an empty list. Others are as reading shows them:
the number of an object (``ref``), or several (``refs``), and which process of the file's list numbered them
(``pidf``).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from sapwood import errors
from sapwood._write.lossless import shown

USUAL: dict[str, dict[str, Any]] = {
    "TRef": {"pidf": 0, "ref": 0, "fBits": 0},
    "TRefArray": {"fName": "", "pidf": 0, "fLowerBound": 0, "refs": []},
}
"""The members of null references, by class."""
NAMED = {"TRef": "ref", "TRefArray": "refs"}
"""The member that says which objects."""


def as_members(name: str, value: Any) -> Any:
    """A value of class ``TRef`` or ``TRefArray`` as an object with its members.

    >>> as_members("TRef", None)
    namespace(pidf=0, ref=0, fBits=0)
    >>> as_members("TRefArray", [3, 4]).refs
    [3, 4]
    """
    usual, named = USUAL[name], NAMED[name]
    if value is None:
        return SimpleNamespace(**usual)
    if isinstance(value, Mapping):
        value = SimpleNamespace(**value)
    if hasattr(value, named):
        return SimpleNamespace(**{member: getattr(value, member, of) for member, of in usual.items()})
    if name == "TRefArray" and hasattr(value, "__len__") and not isinstance(value, (str, bytes)):
        return SimpleNamespace(**(usual | {"refs": value}))
    raise errors.MismatchError(
        f"a {name} is None or has the members {', '.join(map(repr, usual))}, and {shown(value)} was given"
    )
