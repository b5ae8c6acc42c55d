"""What reading a tree cost: the figures of ``TTreePerfStats``, every range that was read, pictures, and runs
that were saved."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from sapwood import _core
from sapwood._read import notebook
from sapwood._remote import paths

if TYPE_CHECKING:
    from sapwood._tree.tree import Tree


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
    """Seconds from the beginning of the record. Of a run of ROOT's, which keeps only how long each call took,
    the seconds of those before."""
    took: float
    """Seconds that the call took; ranges of one call have the same."""
    used_bytes: int
    """Bytes of baskets in it that were used. Of a run of ROOT's, which does not say, all."""


class Compared(NamedTuple):
    """A figure of two runs."""

    before: float | None
    """Of the one run; ``None`` where it does not have it."""
    after: float | None
    """Of the other."""
    ratio: float | None
    """How often the value before goes into that after; ``None`` where one is missing, or the one before is
    zero."""
    unit: str
    """Its unit; empty for counts."""


class PerfStats:
    """What reading a tree cost: a run that was saved, or what was recorded until now. As text it is what
    ``TTreePerfStats::Print`` shows, and more."""

    def __init__(self, run: Any) -> None:
        self._known = run

    def _run(self) -> Any:
        return self._known

    def _document(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self._run().document())
        return document

    @property
    def title(self) -> str:
        """The file and the tree in it."""
        return str(self._document()["title"])

    @property
    def host(self) -> str:
        """The system and the program that read."""
        return str(self._document()["host"])

    @property
    def figures(self) -> dict[str, Figure]:
        """The figures by ROOT's names (``ReadCalls``, ``ReadTotal``, ``Disk IO`` and so on), and those that
        ROOT has not: ``Ranges``, ``Thrown away``, ``Decode Time``, ``Beside`` (bytes that hold no baskets),
        ``Wait Time``, ``Hits`` and ``Misses`` of the cache. The last four are not known of a run that ROOT
        saved."""
        return {name: Figure(**figure) for name, figure in self._document()["figures"].items()}

    @property
    def reads(self) -> list[Read]:
        """Every range that was read, in the order in which their calls began."""
        return [Read(*read) for read in self._document()["reads"]]

    def svg(self, path: str | os.PathLike[str] | None = None) -> str:
        """The picture: entries to the right, offsets in the file upwards, a mark a range, paler the less of
        it was used; the red line is time. Written to ``path`` where one is given."""
        return _text(str(self._run().svg()), path)

    def png(self, path: str | os.PathLike[str] | None = None) -> bytes:
        """The picture as PNG, without words. Written to ``path`` where one is given."""
        return _bytes(bytes(self._run().png()), path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the run into a new ROOT file: a ``TTreePerfStats`` named ``ioperf``, which ROOT prints and
        draws, and trees beside it with every range that was read. :func:`load` brings it back."""
        self._run().save(os.path.expanduser(path))

    def beside(self, before: PerfStats | str | os.PathLike[str]) -> Comparison:
        """This run beside one before it: a run, or where one was saved, as :func:`load` takes it."""
        then = before if isinstance(before, PerfStats) else load(before)
        return Comparison(then._run(), self._run())

    def __str__(self) -> str:
        return str(self._run().words())

    def _repr_html_(self) -> str:
        """The figures and the picture, for notebooks."""
        rows = [(name, f"{figure.value:.6g} {figure.unit}") for name, figure in self.figures.items()]
        return notebook.table(self.title, ("figure", "value"), rows, len(rows)) + self.svg()


class PerfRecord(PerfStats):
    """A record of what is read of a tree, made by :attr:`sapwood.Tree.perf`.

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
        super().__init__(None)
        self._tree = tree

    def _run(self) -> Any:
        return _core.perf(self._tree._core)

    def start(self) -> None:
        """Forgets what was recorded of the tree's file, and records from now on."""
        _core.record(self._tree._core, True)

    def stop(self) -> None:
        """Records no more; what was recorded stays."""
        _core.record(self._tree._core, False)

    def __enter__(self) -> PerfRecord:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class Comparison(dict[str, Compared]):
    """Two runs side by side: each figure by its name. As text it is a table."""

    def __init__(self, before: Any, after: Any) -> None:
        document, self._words = after.beside(before)
        super().__init__(
            {name: Compared(**figure) for name, figure in json.loads(document)["figures"].items()}
        )
        self._runs = (before, after)

    def svg(self, path: str | os.PathLike[str] | None = None) -> str:
        """Both pictures, in the same scales. Written to ``path`` where one is given."""
        before, after = self._runs
        return _text(str(after.svg(before)), path)

    def png(self, path: str | os.PathLike[str] | None = None) -> bytes:
        """Both pictures as PNG, without words. Written to ``path`` where one is given."""
        before, after = self._runs
        return _bytes(bytes(after.png(before)), path)

    def __str__(self) -> str:
        return str(self._words)

    def _repr_html_(self) -> str:
        """The figures of both runs and their pictures, for notebooks."""
        def value(number: float | None) -> str:
            return "" if number is None else f"{number:.6g}"

        rows = [(name, value(both.before), value(both.after), both.unit) for name, both in self.items()]
        return notebook.table("two runs", ("figure", "before", "after", ""), rows, len(rows)) + self.svg()


def load(source: Any, name: str | None = None) -> PerfStats:
    """The run that was saved in a file, by :meth:`PerfStats.save` or by ROOT's ``TTreePerfStats::SaveAs``:
    the one of that name, or the only one. ``source`` is a path, a URL, bytes or a binary file object;
    ``"path:name"`` names the run, too.

    Raises ``KeyError`` where there is none, and :class:`~sapwood.errors.MismatchError` where there are
    several, or the name is of something else.

    >>> import sapwood, tempfile
    >>> from pathlib import Path
    >>> folder = tempfile.TemporaryDirectory()
    >>> with sapwood.recreate(Path(folder.name, "t.root")) as file:
    ...     file["t"] = {"x": [1, 2, 3]}
    >>> tree = sapwood.open(Path(folder.name, "t.root"))["t"]
    >>> with tree.perf as perf:
    ...     tree.arrays().fields
    ['x']
    >>> perf.save(Path(folder.name, "run.root"))
    >>> saved = sapwood.perf.load(Path(folder.name, "run.root"))
    >>> saved.figures == perf.figures
    True
    >>> saved.beside(perf)["ReadCalls"].ratio
    1.0
    >>> folder.cleanup()
    """
    from sapwood._file.file import open_file  # which imports trees, and they this

    if not paths.is_bytes(source) and not paths.is_open_file(source):
        source, inner = paths.split_object(os.fspath(source))
        name = name or inner
    with open_file(source) as file:
        return PerfStats(_core.perf_load(file._engine(), name))


def _text(picture: str, path: str | os.PathLike[str] | None) -> str:
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(picture)
    return picture


def _bytes(picture: bytes, path: str | os.PathLike[str] | None) -> bytes:
    if path is not None:
        with open(path, "wb") as file:
            file.write(picture)
    return picture
