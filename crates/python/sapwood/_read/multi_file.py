"""Several files as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

from sapwood import file as files_module
from sapwood import iteration, network
from sapwood._read import drawing, reading
from sapwood._read import progress as progress_bar
from sapwood._read.compat_kwargs import ignore
from sapwood._read.libraries import as_library
from sapwood._read.selection import Range, Selection, bounds
from sapwood._remote import paths
from sapwood.directory import RNTUPLES, TREES
from sapwood.errors import MismatchError, MissingFileError, NotFoundError, not_found, place
from sapwood.filters import Filter, as_match
from sapwood.iteration import MOST, Report

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from sapwood.network import Opening


def _open(source: paths.Source, allow_missing: bool, options: dict[str, Any]) -> Any:
    """The tree of a source; ``None`` where it lacks and may."""
    if hasattr(source.file, "num_entries"):
        return source.file
    opened = files_module.open_file(source.file, **options)
    try:
        found = _tree(opened, source.object)
        if not hasattr(found, "num_entries"):
            raise MismatchError(f"{source.object!r} is no tree{place(opened.file_path, source.object)}")
        return found
    except NotFoundError:
        opened.close()
        if allow_missing:
            return None
        raise


def _tree(opened: Any, path: str | None) -> Any:
    if path is not None:
        return opened[path]
    rows = opened.classnames(cycle=False).items()
    names = [name for name, classname in rows if classname in TREES | RNTUPLES]
    if len(names) == 1:
        return opened[names[0]]
    if not names:
        raise not_found("not found: there is no tree", opened.file_path)
    listed = ", ".join(repr(name) for name in names[:10])
    raise ValueError(
        f"there are several trees ({listed}): say which, as in {{{opened.file_path!r}: {names[0]!r}}}"
    )


def _close(source: paths.Source, tree: Any) -> None:
    """Closes a file that was opened here, and not one that was given open."""
    if tree is not None and tree is not source.file:
        tree.tree.close()


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
    progress: bool | None = None,
    threads: int = 0,
    object_limit: int | None = None,
    answer_limit: int | None = None,
    **others: Unpack[Opening],
) -> Iterator[Any]:
    """Reads trees of several files in steps, one file after another; the next step is read while you use the
    last.

    ``files`` is a path with ``:object``, a glob, a list of these, a dictionary ``{path or glob: object}`` (a
    value may also be ``{"object_path": ..., "steps": [[start, stop], ...]}`` to take entry ranges), or open
    trees. Where no object is named, the file must have one tree. ``allow_missing`` skips files without the
    tree or without a branch.

    A step never spans files; a file is opened when its turn comes, and closed after its last step.
    ``progress`` shows a line that counts files; by default only if standard error is a terminal. Entry
    numbers of reports, and the index of DataFrames, count over all files. The rest is as in
    :meth:`Tree.iterate() <sapwood._read.branches.HasBranches.iterate>` and :func:`sapwood.open`.

    >>> import sapwood
    >>> for arrays in sapwood.iterate("run*.root:events", ["px"], step_size="10 MB"):  # doctest: +SKIP
    ...     fill(arrays.px)
    """
    over = network.take_options(cast("dict[str, Any]", others))
    ignore(others, "iterate")
    sources = paths.expand(paths.with_options(files, over), network=over)
    to = as_library(library)
    iteration.step_entries(step_size)
    as_match(filter_name), as_match(filter_typename)
    options = {**files_module.check_options(threads, object_limit, answer_limit), "network": over}

    def steps() -> Iterator[tuple[reading.Plan, Range, int]]:
        offset = 0
        last: tuple[paths.Source, Any] | None = None
        for source in progress_bar.each(sources, len(sources), progress, "files", "files"):
            tree = _open(source, allow_missing, options)
            if tree is None:
                continue
            total = tree.tree.num_entries
            try:
                plan = reading.Plan(
                    tree, expressions, cut, filter_name, filter_typename, filter_branch, aliases
                )
            except NotFoundError:
                _close(source, tree)
                if allow_missing:
                    continue
                raise
            for start, stop in _ranges(source, total):
                for step in iteration.steps(plan, start, stop, step_size):
                    yield plan, step, offset
                    if last is not None:
                        # Its last step is no longer in use, nor the report of it, which needs the file.
                        _close(*last)
                        last = None
            if last is not None:
                _close(*last)
            last = source, tree
            offset += total

    def read(one: tuple[reading.Plan, Range, int]) -> Any:
        plan, step, offset = one
        answer = to.counted_from(reading.read(plan, Selection(step), to, how, False), offset)
        return (answer, Report(plan.over, *step, offset)) if report else answer

    return iteration.ahead(steps(), read)


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
    progress: bool | None = None,
    threads: int = 0,
    object_limit: int | None = None,
    answer_limit: int | None = None,
    **others: Unpack[Opening],
) -> Any:
    """Reads trees of several files into one answer.

    ``entry_start`` and ``entry_stop`` count over all files; one file is open at a time. The rest is as in
    :func:`sapwood.iterate` and :meth:`Tree.arrays() <sapwood._read.branches.HasBranches.arrays>`.

    >>> import sapwood
    >>> sapwood.concatenate({"run*.root": "events"}, ["px", "py"], cut="px > 0")  # doctest: +SKIP
    """
    over = network.take_options(cast("dict[str, Any]", others))
    ignore(others, "concatenate")
    sources = paths.expand(paths.with_options(files, over), network=over)
    to = as_library(library)
    options = {**files_module.check_options(threads, object_limit, answer_limit), "network": over}

    def plan_of(tree: Any) -> reading.Plan:
        return reading.Plan(tree, expressions, cut, filter_name, filter_typename, filter_branch, aliases)

    def trees(sources: Iterable[paths.Source]) -> Iterator[tuple[Any, list[Range]]]:
        """One file after another: each is closed before the next is opened."""
        for source in sources:
            tree = _open(source, allow_missing, options)
            if tree is not None:
                try:
                    yield tree, _ranges(source, tree.tree.num_entries)
                finally:
                    _close(source, tree)

    # Entries that a file's own ranges leave out do not count.
    first, last = entry_start or 0, MOST if entry_stop is None else entry_stop
    if first < 0 or last < 0:
        total = sum(stop - start for _, ranges in trees(sources) for start, stop in ranges)
        first, last = bounds(total, entry_start, entry_stop)
    answers: list[Any] = []
    offset = done = 0
    for tree, ranges in trees(progress_bar.each(sources, len(sources), progress, "files", "files")):
        for start, stop in ranges:
            a, b = max(first - done, 0), min(last - done, stop - start)
            done += stop - start
            if a >= b:
                continue
            try:
                plan = plan_of(tree)
            except NotFoundError:
                if allow_missing:
                    break
                raise
            answer = reading.read(plan, Selection((start + a, start + b)), to, how, False)
            answers.append(to.counted_from(answer, offset))
        offset += tree.tree.num_entries
    if not answers:
        # No entries are wanted: an empty answer of the right type.
        for tree, _ in trees(sources):
            return reading.read(plan_of(tree), Selection((0, 0)), to, how)
    return to.concatenate(answers)


def draw(
    files: Any,
    expression: str,
    cut: str = "",
    *,
    bins: Any = None,
    profile: bool = False,
    aliases: dict[str, str] | None = None,
    library: str = "hist",
    allow_missing: bool = False,
    progress: bool | None = None,
    threads: int = 0,
    object_limit: int | None = None,
    answer_limit: int | None = None,
    **others: Unpack[Opening],
) -> Any:
    """One histogram of the trees of several files, which are opened one after another.

    ``files`` and the options are those of :func:`sapwood.iterate`, the rest is as in
    :meth:`sapwood.Tree.draw`. Where no bins are given, those of the first file are extended as needed.

    >>> import sapwood
    >>> sapwood.draw("run*.root:events", "px>>h(100, -5, 5)", "py > 0")  # doctest: +SKIP
    """
    drawing.check_library(library)
    over = network.take_options(cast("dict[str, Any]", others))
    ignore(others, "draw")
    sources = paths.expand(paths.with_options(files, over), network=over)
    options = {**files_module.check_options(threads, object_limit, answer_limit), "network": over}
    filled: list[Any] | None = None
    for source in progress_bar.each(sources, len(sources), progress, "files", "files"):
        tree = _open(source, allow_missing, options)
        if tree is None:
            continue
        try:
            for start, stop in _ranges(source, tree.tree.num_entries):
                filled = drawing.fill(
                    tree, [(expression, cut)], bins, profile, aliases, start, stop, None, filled
                )
        except NotFoundError:
            if not allow_missing:
                raise
        finally:
            _close(source, tree)
    if filled is None:
        raise MismatchError("no file has a tree that could be drawn")
    return drawing.as_library(filled[0], library)


def num_entries(files: Any, **options: Any) -> Iterator[tuple[str, str, int]]:
    """For each file its path, the path of its tree, and the tree's entries, one file after another. ``files``
    and the options are those of :func:`sapwood.iterate`, as far as they open files.

    >>> import os, sapwood, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.root")
    >>> with sapwood.recreate(path) as file:
    ...     file["t"] = {"x": [1, 2, 3]}
    >>> [(tree, entries) for _, tree, entries in sapwood.num_entries({path: "t"})]
    [('t', 3)]
    """
    over = network.take_options(options)
    limits = {
        name: options.pop(name) for name in ("threads", "object_limit", "answer_limit") if name in options
    }
    ignore(options, "num_entries")
    allowed = {**files_module.check_options(**{"threads": 0, **limits}), "network": over}
    sources = paths.expand(paths.with_options(files, over), network=over)

    def counted() -> Iterator[tuple[str, str, int]]:
        for source in sources:
            tree = _open(source, False, allowed)
            try:
                path = tree.tree._path
                yield str(tree.file_path), path, tree.tree.num_entries
            finally:
                _close(source, tree)

    return counted()


__all__ = ["MissingFileError", "concatenate", "draw", "iterate", "num_entries"]
