"""The types of columns that the title of a tree states: dates, times and bytes are whole numbers in files of ROOT, and
``convert`` makes dates and bytes of them again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sapwood.errors import SapwoodError

#: The title of a tree with dates or bytes begins so. A mapping from branches to types follows, as JSON.
TITLE = "Types of columns: "


def stated(title: str) -> dict[str, str]:
    """Types by the paths of values, whose parts have a dot between them; empty for any other title.

    >>> stated('Types of columns: {"day": "date32[day]"}'), stated("Events")
    ({'day': 'date32[day]'}, {})
    """
    if not title.startswith(TITLE):
        return {}
    try:
        listed = json.loads(title.removeprefix(TITLE))
    except (ValueError, RecursionError):
        return {}
    if not isinstance(listed, dict):
        return {}
    return {path: kind for path, kind in listed.items() if isinstance(kind, str)}


def title_of(types: Mapping[str, str]) -> str:
    """The title that states types; empty without any."""
    return TITLE + json.dumps(dict(types), ensure_ascii=False) if types else ""


def of_columns(title: str, columns: Mapping[str, str], separator: str = ".") -> dict[str, str]:
    """The types of some columns: new names, and the branches that they are. The separator is between the names of a
    record and its members in the result.

    >>> of_columns('Types of columns: {"day": "date32[day]", "at": "time32[s]"}', {"when": "day"})
    {'when': 'date32[day]'}
    """
    taken: dict[str, list[str]] = {}
    for new, old in columns.items():
        taken.setdefault(old, []).append(new)
    found = {}
    for path, kind in stated(title).items():
        # A name may have dots itself.
        ends = [*(place for place, letter in enumerate(path) if letter == "."), len(path)]
        for end in ends:
            below = path[end:].replace(".", separator)
            found.update({new + below: kind for new in taken.get(path[:end], ())})
    return found


def kept(title: str, columns: Mapping[str, str], separator: str = ".") -> str:
    """The title of a tree with some columns of another one, see :func:`of_columns`.

    >>> kept('Types of columns: {"day": "date32[day]", "at": "time32[s]"}', {"when": "day"})
    'Types of columns: {"when": "date32[day]"}'
    >>> kept("Events", {})
    'Events'
    """
    if not title.startswith(TITLE):
        return title
    return title_of(of_columns(title, columns, separator))


def of_expression(tree: Any, text: str, aliases: Mapping[str, str]) -> str:
    """The types of the branches that an expression is computed of, in words; empty if none has one. Branches of
    friends are left out."""
    title = tree.tree.title
    # Most trees have none, and need no look at their branches.
    if not stated(title):
        return ""
    kinds = of_columns(title, {path: path for path in _used(tree, text, aliases)})
    return ", ".join(f"{kind} ({path})" for path, kind in sorted(kinds.items()))


def _used(tree: Any, text: str, aliases: Mapping[str, str]) -> list[str]:
    """The paths of the branches that an expression needs."""
    from sapwood._read import reading

    try:
        ids = reading.Plan(tree, [text], aliases=aliases).query([text], None).needed
    except SapwoodError:  # it needs friends that are given apart
        return []
    core = tree.tree._core
    return [core.branch(id)["path"].replace("/", ".") for id in ids]
