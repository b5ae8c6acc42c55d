"""What reading a tree cost: the figures of ``TTreePerfStats``, every range that was read, and a picture."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sapwood import _core

if TYPE_CHECKING:
    from sapwood.tree import Tree


class Figure(NamedTuple):
    """A figure and its unit."""

    value: float
    """The value."""
    unit: str
    """Its unit; empty for counts."""


class Read(NamedTuple):
    """A range of bytes that was read."""

    entry: int | None
    """Lowest entry of a basket in it; ``None`` where it holds none of the tree."""
    start: int
    """Offset of its first byte."""
    stop: int
    """One past its last byte."""
    at: float
    """Seconds from the beginning of the record."""
    took: float
    """Seconds that the call took; ranges of one call have the same."""
    used_bytes: int
    """Bytes of baskets in it that were used."""


class PerfStats:
    """A record of what is read of a tree, made by :attr:`sapwood.Tree.perf`. As text it is what ``TTreePerfStats::Print`` shows, and more.

    >>> import io, sapwood
    >>> with sapwood.recreate(memory := io.BytesIO()) as file:
    ...     file["t"] = {"x": list(range(1000)), "y": [0.5] * 1000}
    >>> tree = sapwood.open(memory)["t"]
    >>> with tree.perf as perf:
    ...     tree.arrays(["x"]).fields
    ['x']
    >>> perf.figures["N leaves"], perf.figures["ReadCalls"]
    (Figure(value=1.0, unit=''), Figure(value=1.0, unit=''))
    >>> perf.reads[0].entry
    0
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def start(self) -> None:
        """Forgets what was recorded of the tree's file, and records from now on."""
        _core.record(self._tree._core, True)

    def stop(self) -> None:
        """Records no more; what was recorded stays."""
        _core.record(self._tree._core, False)

    def __enter__(self) -> PerfStats:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(_core.perf(self._tree._core)[0])
        return document

    @property
    def figures(self) -> dict[str, Figure]:
        """The figures by ROOT's names (``ReadCalls``, ``ReadTotal``, ``Disk IO`` and so on), and those that ROOT has not: ``Ranges``, ``Thrown
        away``, ``Beside`` (bytes that hold no baskets), ``Decode Time``, ``Wait Time``, ``Hits`` and ``Misses`` of the cache."""
        return {name: Figure(**figure) for name, figure in self._document()["figures"].items()}

    @property
    def reads(self) -> list[Read]:
        """Every range that was read, in the order in which their calls began."""
        return [Read(*read) for read in self._document()["reads"]]

    def svg(self, path: str | os.PathLike[str] | None = None) -> str:
        """The picture: offsets, and entries, against time. Written to ``path`` where one is given."""
        picture = str(_core.perf(self._tree._core)[2])
        if path is not None:
            Path(path).write_text(picture)
        return picture

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the figures as JSON: ``sapwood perf --against`` and :meth:`beside` show them beside those of another run."""
        Path(path).write_text(_core.perf(self._tree._core)[0] + "\n")

    def beside(self, before: str | os.PathLike[str]) -> dict[str, tuple[float, float]]:
        """Each figure of a run that was saved, and of this one."""
        then = json.loads(Path(before).read_text())["figures"]
        return {name: (then[name]["value"], now.value) for name, now in self.figures.items() if name in then}

    def __str__(self) -> str:
        return str(_core.perf(self._tree._core)[1])
