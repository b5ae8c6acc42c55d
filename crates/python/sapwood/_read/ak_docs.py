"""What arrays say of themselves: titles of branches as parameters of Awkward Arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sapwood._read.libraries import need


def check(ak_add_doc: Any) -> Any:
    """``ak_add_doc`` as it is.

    Raises ``TypeError`` for what it cannot be.
    """
    if isinstance(ak_add_doc, bool) or (
        isinstance(ak_add_doc, Mapping) and all(isinstance(one, str) for one in ak_add_doc.values())
    ):
        return ak_add_doc
    raise TypeError(
        "ak_add_doc is True, False, or a mapping from parameters to properties of branches, like "
        f'{{"__doc__": "title"}}, not {ak_add_doc!r}'
    )


def describe(array: Any, branch: Any, ak_add_doc: Any) -> Any:
    """An Awkward Array with the parameters that ``ak_add_doc`` asks for: the branch's title as ``__doc__``
    for ``True``, else its properties."""
    if not ak_add_doc:
        return array
    ak = need("awkward", 'library="ak"')
    for name, what in ({"__doc__": "title"} if ak_add_doc is True else ak_add_doc).items():
        array = ak.with_parameter(array, name, getattr(branch, what))
    return array
