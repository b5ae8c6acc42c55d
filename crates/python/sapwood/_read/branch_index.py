"""What a tree knows of its branches, by their numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sapwood.interpretation import Interpretation


class Outline:
    """Names and places of all branches, which are numbered depth first, and what was found out about them."""

    __slots__ = ("above", "below", "facts", "first", "kinds", "names", "top")

    def __init__(self, rows: Iterable[tuple[str, int | None]]) -> None:
        self.names: list[str] = []
        self.above: list[int | None] = []
        """The branch above each."""
        self.below: list[list[int]] = []
        """The branches directly below each."""
        self.top: list[int] = []
        """The branches directly below the tree."""
        for id, (name, above) in enumerate(rows):
            self.names.append(name)
            self.above.append(above)
            self.below.append([])
            (self.top if above is None else self.below[above]).append(id)
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
