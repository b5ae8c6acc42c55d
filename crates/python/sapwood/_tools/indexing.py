"""Statistics of baskets and pages, so that cuts read only what can match."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sapwood import _core, errors
from sapwood._file.file import check_options, open_file
from sapwood._notices import warn
from sapwood._read import progress as progress_bar
from sapwood._remote import paths, urls


@dataclass(frozen=True)
class IndexedColumn:
    """A column that :func:`index` read."""

    tree: str
    """Path of its tree or RNTuple."""
    name: str
    """Its name in expressions."""
    runs: int
    """Runs of entries: baskets or pages."""
    part: float
    """The part of the column's range that a run has on average: near 0 for a rising column."""
    kept: bool
    """Are its statistics stored?"""


@dataclass(frozen=True)
class Indexed:
    """Statistics that :func:`index` made of a file."""

    file: str
    statistics: str
    """Path of the file of statistics."""
    bytes: int
    """Bytes of the file of statistics."""
    file_bytes: int
    """Bytes of the file itself."""
    columns: list[IndexedColumn]


def index(
    files: Any,
    *,
    columns: str | Iterable[str] | None = None,
    to: str | os.PathLike[str] | None = None,
    threads: int = 0,
    progress: bool | None = None,
) -> list[Indexed]:
    """Makes statistics of files: the least and largest value of every basket and page.

    They are stored next to each file, as ``events.root.sapwood-index``. From then on everything that takes a
    cut reads only baskets and pages that can match. The file itself is not changed; if it changes later, its
    statistics are not used, with a warning.

    ``files`` is a path, a pattern, or a list of these. ``columns`` names branches or fields, or patterns of
    them: by default all of numbers and of lists of numbers, in wide trees only those whose values differ
    from basket to basket. ``to`` is a folder for the statistics, for files on servers: the environment
    variable ``SAPWOOD_STATISTICS_FOLDER`` names it when files are opened. ``SAPWOOD_STATISTICS=off``
    switches all statistics off. ``progress`` is as for :func:`verify`.

    >>> import os, sapwood, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "events.root")
    >>> with sapwood.recreate(path) as file:
    ...     file["events"] = {"run": [1, 1, 2, 2], "x": [0.5, 1.5, 2.5, 3.5]}
    >>> [made] = sapwood.index(path)
    >>> [(column.name, column.kept) for column in made.columns]
    [('run', True), ('x', True)]
    >>> sapwood.open(path)["events"].decided("run > 2")
    Decided(none=4, all=0, look=0, runs_none=1, runs_all=0, runs_look=0)

    Raises what :func:`sapwood.open` raises, ``KeyError`` for a column that no tree has, and
    :class:`ValueError` for a file on a server without ``to``.
    """
    check_options(threads=threads)
    names = [columns] if isinstance(columns, str) else list(columns or [])
    made = []
    for found in paths.expand(files):
        if not isinstance(found.file, str | os.PathLike):
            raise ValueError("statistics are made of files, by their paths")
        path = os.fspath(found.file)
        if to is None and urls.is_url(path):
            raise ValueError(f"statistics of a file on a server need a folder, as to=: {path}")
        folder = None if to is None else os.path.expanduser(os.fspath(to))
        with open_file(path, threads=threads) as file, progress_bar.told(progress, "index") as note:
            document = json.loads(_core.index(file._engine(), names, folder, note))
        rows = [IndexedColumn(**row) for row in document.pop("columns")]
        made.append(Indexed(**document, columns=rows))
    return made


def check_statistics(target: Any, statistics: bool | str | Iterable[str], append: bool = False) -> None:
    """Refuses to make statistics that cannot be stored, before a file is written: of a URL, or of memory."""
    is_path = isinstance(target, str | os.PathLike)
    if statistics and (not is_path or urls.is_url(urls.local_path(os.fspath(target)))):
        raise ValueError("statistics are stored next to a file on this machine: sapwood.index makes others")
    if statistics and append:
        raise ValueError("a file that is appended to gets no statistics: sapwood.index makes them afterwards")


def carried(
    target: Any,
    sources: Sequence[str],
    statistics: bool | str | Iterable[str],
    threads: int,
    opened: _core.File | None = None,
) -> None:
    """Stores statistics of a file: new ones if these are asked for, or those of the files that its entries are from:
    of ``sources`` next to them, or of one that is ``opened``."""
    target = urls.local_path(os.fspath(target))
    if statistics:
        index(target, columns=None if statistics is True else statistics, threads=threads)
        return
    if urls.is_url(target) or any(urls.is_url(source) for source in sources):
        return
    try:
        _core.join_statistics(target, list(sources), opened)
    except errors.SapwoodError as error:
        # The file itself is complete.
        warn(f"{target} has no statistics: {error}", stacklevel=4)
