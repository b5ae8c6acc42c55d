"""Several files as one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sapwood import file as files_module
from sapwood import iteration, paths, reading
from sapwood.directory import TREES
from sapwood.errors import MissingFileError, NotFoundError, not_found
from sapwood.filters import Filter
from sapwood.iteration import Report
from sapwood.libraries import as_library
from sapwood.selection import Range, Selection, bounds


def _open(source: paths.Source, allow_missing: bool, options: dict[str, Any]) -> Any:
    """The tree of a source; ``None`` where it lacks and may."""
    if hasattr(source.file, "num_entries"):
        return source.file
    opened = files_module.open_file(source.file, **options)
    if source.object is not None:
        try:
            return opened[source.object]
        except NotFoundError:
            if allow_missing:
                return None
            raise
    names = [name for name, classname in opened.classnames(cycle=False).items() if classname in TREES]
    if len(names) == 1:
        return opened[names[0]]
    if not names:
        if allow_missing:
            return None
        raise not_found("not found: there is no tree", opened.file_path)
    listed = ", ".join(repr(name) for name in names[:10])
    raise ValueError(
        f"there are several trees ({listed}): say which, as in {{{opened.file_path!r}: {names[0]!r}}}"
    )


def iterate(
    files: Any,
    expressions: Any = None,
    cut: str | None = None,
    *,
    filter_name: Filter = None,
    filter_typename: Filter = None,
    filter_branch: Any = None,
    aliases: dict[str, str] | None = None,
    step_size: int | str = "100 MB",
    library: Any = "ak",
    how: Any = None,
    report: bool = False,
    allow_missing: bool = False,
    threads: int = 0,
    object_limit: int | None = None,
) -> Iterator[Any]:
    """Reads trees of several files in steps, one file after another; the next step is read while you use the last.

    ``files`` is a path with ``:object``, a glob, a list of these, a dictionary ``{path or glob: object}`` (a value may
    also be ``{"object_path": ..., "steps": [[start, stop], ...]}`` to take entry ranges), or open trees. Where no object
    is named, the file must have one tree. ``allow_missing`` skips files without the tree or without a branch.

    A step never spans files. Entry numbers of reports, and the index of DataFrames, count over all files. The rest is
    as in :meth:`Tree.iterate() <sapwood.branches.HasBranches.iterate>` and :func:`sapwood.open`.

    >>> import sapwood
    >>> for arrays in sapwood.iterate("run*.root:events", ["px"], step_size="10 MB"):  # doctest: +SKIP
    ...     fill(arrays.px)
    """
    sources = paths.expand(files)
    to = as_library(library)
    options = {"threads": threads, "object_limit": object_limit}

    def read() -> Iterator[Any]:
        offset = 0
        for source in sources:
            tree = _open(source, allow_missing, options)
            if tree is None:
                continue
            total = tree.tree.num_entries
            try:
                plan = reading.Plan(
                    tree, expressions, cut, filter_name, filter_typename, filter_branch, aliases
                )
            except NotFoundError:
                if allow_missing:
                    continue
                raise
            for start, stop in _ranges(source, total):
                for first, last in iteration.steps(plan, start, stop, step_size):
                    answer = reading.read(plan, Selection((first, last)), to, how, False)
                    answer = to.counted_from(answer, offset)
                    yield (answer, Report(tree, first, last, offset)) if report else answer
                    del answer
            offset += total

    return iteration.ahead(read())


def _ranges(source: paths.Source, total: int) -> list[Range]:
    if source.steps is None:
        return [(0, total)]
    return [bounds(total, start, stop) for start, stop in source.steps]


def concatenate(
    files: Any,
    expressions: Any = None,
    cut: str | None = None,
    *,
    filter_name: Filter = None,
    filter_typename: Filter = None,
    filter_branch: Any = None,
    aliases: dict[str, str] | None = None,
    entry_start: int | None = None,
    entry_stop: int | None = None,
    library: Any = "ak",
    how: Any = None,
    allow_missing: bool = False,
    threads: int = 0,
    object_limit: int | None = None,
) -> Any:
    """Reads trees of several files into one answer.

    ``entry_start`` and ``entry_stop`` count over all files. The rest is as in :func:`sapwood.iterate` and
    :meth:`Tree.arrays() <sapwood.branches.HasBranches.arrays>`.

    >>> import sapwood
    >>> sapwood.concatenate({"run*.root": "events"}, ["px", "py"], cut="px > 0")  # doctest: +SKIP
    """
    sources = paths.expand(files)
    to = as_library(library)
    options = {"threads": threads, "object_limit": object_limit}
    parts: list[tuple[Any, list[Range]]] = []
    for source in sources:
        tree = _open(source, allow_missing, options)
        if tree is not None:
            parts.append((tree, _ranges(source, tree.tree.num_entries)))
    # Entries that a file's own ranges leave out do not count.
    first, last = bounds(
        sum(stop - start for _, ranges in parts for start, stop in ranges), entry_start, entry_stop
    )
    answers: list[Any] = []
    offset = done = 0
    for tree, ranges in parts:
        for start, stop in ranges:
            a, b = max(first - done, 0), min(last - done, stop - start)
            done += stop - start
            if a >= b:
                continue
            try:
                plan = reading.Plan(
                    tree, expressions, cut, filter_name, filter_typename, filter_branch, aliases
                )
            except NotFoundError:
                if allow_missing:
                    break
                raise
            answer = reading.read(plan, Selection((start + a, start + b)), to, how)
            answers.append(to.counted_from(answer, offset))
        offset += tree.tree.num_entries
    if not answers and parts:
        # No entries are wanted: an empty answer of the right type.
        tree = parts[0][0]
        plan = reading.Plan(tree, expressions, cut, filter_name, filter_typename, filter_branch, aliases)
        return reading.read(plan, Selection((0, 0)), to, how)
    return to.concatenate(answers)


__all__ = ["MissingFileError", "concatenate", "iterate"]
