"""What a tree knows of its branches, by their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sapwood.interpretation import Interpretation

#: Most branches have none below them, and share it.
_NONE: Sequence[int] = ()


class Outline:
    """Names and places of all branches, which are numbered depth first, and what was found out about them."""

    __slots__ = ("above", "below", "facts", "first", "kinds", "names", "top")

    def __init__(self, names: list[str], above: list[int | None]) -> None:
        self.names = names
        self.above = above
        """The branch above each."""
        self.below: list[Sequence[int]] = [_NONE] * len(names)
        """The branches directly below each."""
        self.top: list[int] = []
        """The branches directly below the tree."""
        below: dict[int, list[int]] = {}
        for id, over in enumerate(above):
            (self.top if over is None else below.setdefault(over, [])).append(id)
        for over, children in below.items():
            self.below[over] = children
        self.first: dict[int | None, dict[str, int]] = {}
        """For a branch, or ``None`` for the tree: which branch of all below it a name means."""
        self.facts: dict[int, dict[str, Any]] = {}
        """What the record of a branch says."""
        self.kinds: dict[int, Interpretation] = {}
        """What the bytes of a branch mean."""

    def meant(self, over: int | None) -> dict[str, int]:
        """For each name the branch that has it: one directly below before all others, else the first depth
        first."""
        known = self.first.get(over)
        if known is None:
            known = {}
            children = self.top if over is None else self.below[over]
            for id in children:
                known.setdefault(self.names[id], id)
            for id in children:
                if self.below[id]:
                    for name, deeper in self.meant(id).items():
                        known.setdefault(name, deeper)
            self.first[over] = known
        return known
