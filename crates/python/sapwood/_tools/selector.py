"""Selectors: work on the entries of many files."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from sapwood._read import reading
from sapwood._read.selection import Selection
from sapwood.errors import MismatchError


class Selector:
    """Work on the entries of many files. Derive from it, and say at least :meth:`process`.

    A selector is copied to the workers of processes, and shared by threads: :meth:`process` returns what it
    found, and changes nothing.

    >>> class Sum(Selector):
    ...     columns, cut = ["x"], "x > 0"
    ...     def process(self, batch):
    ...         return float(np.sum(batch["x"]))
    """

    columns: Any = None
    """Expressions that are read, as for :meth:`sapwood.Tree.arrays`; all branches without them."""
    cut: str | None = None
    """Only entries for which this is true."""
    aliases: Mapping[str, str] | None = None
    """Names of expressions."""

    def begin(self) -> None:
        """Is called once, before anything is read."""

    def process(self, batch: Any) -> Any:
        """Returns the result of some entries: anything that :meth:`merge` joins."""
        raise NotImplementedError(f"{type(self).__name__} lacks a method process(batch)")

    def merge(self, one: Any, other: Any) -> Any:
        """Two results as one, unless this is overridden: by ``+``, and dictionaries key by key, also
        ``Counter``, ``defaultdict`` and others whose class has no ``+``. Results come in the order of
        entries.

        >>> Selector().merge({"n": 1, "sums": {"x": 2.5}}, {"n": 2, "sums": {"x": 1.0, "y": 1.0}})
        {'n': 3, 'sums': {'x': 3.5, 'y': 1.0}}
        """
        if _by_key(one) and _by_key(other):
            # A copy keeps the class, and what a defaultdict makes of missing keys.
            both = copy.copy(one)
            for key, value in other.items():
                both[key] = self.merge(one[key], value) if key in one else value
            return both
        if one is None or other is None:
            raise MismatchError(
                f"{type(self).__name__}.process() returned None, and None has no +: return what was found, or "
                "say merge(one, other)"
            )
        return one + other

    def terminate(self, result: Any) -> Any:
        """The result of all, ``None`` if there were no entries, as the caller gets it."""
        return result

    def _reader(
        self, tree: Any, aliases: Mapping[str, str], friends: list[Any], library: Any
    ) -> Callable[[Selection], Any]:
        """Makes the function that reads batches of a tree."""
        plan = reading.Plan(tree, self.columns, self.cut, aliases=aliases, friends=friends)
        return lambda selection: reading.read(plan, selection, library, None, False)


def _by_key(result: Any) -> bool:
    """Whether a result is merged key by key. A ``Counter`` is, since its ``+`` drops what is not above zero."""
    return isinstance(result, dict) and (isinstance(result, Counter) or not hasattr(result, "__add__"))
