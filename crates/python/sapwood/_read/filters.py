"""Filters of names, types and classes, as uproot writes them.

A filter is ``None`` (all), a function, a name, a glob with ``* ? [``, a regular expression between slashes
(flags may follow: ``"/mu.*/i"``) that must match from the beginning, or several of these, of which one must
match. A name with brackets (``fMeasures[10]``) is a filter of itself, too.

>>> match = as_match(["Muon_*", "/n(Jet|Tau)/"])
>>> [name for name in ("Muon_pt", "nJet", "MET_pt") if match(name)]
['Muon_pt', 'nJet']
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable
from typing import Any

from sapwood.errors import MismatchError

Filter = str | Callable[[str], bool] | Iterable[Any] | None
Match = Callable[[str], bool]

_REGEX = re.compile("^/(.*)/([iLmsux]*)$", re.DOTALL)


def no_filter(name: Any) -> bool:
    """The filter that all names pass.

    >>> no_filter("anything")
    True
    """
    return True


def _is_name(filter: str) -> bool:
    return not any(mark in filter for mark in "*?[") and _REGEX.match(filter) is None


def as_match(filter: Filter) -> Match | None:
    """A function that tells whether a name passes; ``None`` where all do.

    Raises ``TypeError`` for what is not a filter, :class:`~sapwood.errors.MismatchError` for a broken
    regular expression.
    """
    if filter is None:
        return None
    if callable(filter):
        return filter
    if isinstance(filter, str):
        found = _REGEX.match(filter)
        if found is not None:
            flags = 0
            for letter in found.group(2):
                flags |= getattr(re, letter.upper())
            try:
                pattern = re.compile(found.group(1), flags)
            except (re.error, ValueError) as error:
                raise MismatchError(f"the filter {filter!r} is not a regular expression: {error}") from None
            return lambda name: pattern.match(name) is not None
        wanted = filter
        if _is_name(wanted):
            return lambda name: name == wanted
        # Brackets may be of the name itself: `fMeasures[10]`.
        return lambda name: name == wanted or fnmatch.fnmatchcase(name, wanted)
    if isinstance(filter, Iterable) and not isinstance(filter, (bytes, bytearray)):
        given = list(filter)
        # Names as they are, often thousands, are looked up; the others are tried one after another.
        names = frozenset(one for one in given if isinstance(one, str) and _is_name(one))
        several = [as_match(one) for one in given if not isinstance(one, str) or one not in names]
        return lambda name: name in names or any(one is None or one(name) for one in several)
    raise TypeError(
        f"a filter is None, a function, a name, a glob, a /regular expression/ or several of these, not {filter!r}"
    )
