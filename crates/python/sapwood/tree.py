"""Trees and branches."""

from __future__ import annotations

from typing import Any

from sapwood import _layout
from sapwood.errors import SapwoodError


class Branch:
    """A branch of a tree."""

    def __init__(self, tree: Tree, row: dict[str, Any]) -> None:
        self._tree = tree
        self._row = row

    @property
    def name(self) -> str:
        """Its name."""
        return self._row["name"]

    @property
    def path(self) -> str:
        """Names from the top-level branch on, joined by ``/``."""
        return self._row["path"]

    @property
    def title(self) -> str:
        """Its title."""
        return self._row["title"]

    @property
    def num_entries(self) -> int:
        """Entries."""
        return self._row["entries"]

    @property
    def branches(self) -> list[Branch]:
        """Sub-branches."""
        return [self._tree._branches[i] for i in self._row["children"]]

    @property
    def typename(self) -> str:
        """Type in C++ words; ``unknown`` where nobody can decode it."""
        try:
            return self._tree._core.interpretation(self._row["id"])[0]
        except SapwoodError:
            return self._row["class_name"] or "unknown"

    def array(self, library: str = "ak", entry_start: int | None = None, entry_stop: int | None = None) -> Any:
        """All values."""
        start, stop = self._tree._range(entry_start, entry_stop)
        (column,) = self._tree._core.columns([self._row["id"]], start, stop)
        return _layout.to_numpy(column) if library == "np" else _layout.to_awkward(column)

    def __repr__(self) -> str:
        return f"<Branch {self.path} {self.typename}>"


class Tree:
    """A tree."""

    def __init__(self, core: Any, directory: Any) -> None:
        self._core = core
        self._directory = directory
        self._branches = [Branch(self, row) for row in core.branches()]

    @property
    def name(self) -> str:
        """Its name."""
        return self._core.name

    @property
    def num_entries(self) -> int:
        """Entries."""
        return self._core.num_entries

    @property
    def branches(self) -> list[Branch]:
        """Top-level branches."""
        return [self._branches[i] for i in self._core.top]

    def keys(self, recursive: bool = True) -> list[str]:
        """Paths of all branches."""
        return [branch.path for branch in self._branches]

    def __getitem__(self, name: str) -> Branch:
        for branch in self._branches:
            if name in (branch.path, branch.name):
                return branch
        raise KeyError(name)

    def _range(self, start: int | None, stop: int | None) -> tuple[int, int]:
        first, last, _ = slice(start, stop).indices(self.num_entries)
        return first, max(first, last)
