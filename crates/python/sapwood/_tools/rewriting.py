"""Files that are written again: other clusters, compression, order, fewer branches and entries."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sapwood import _core, errors
from sapwood._file import file
from sapwood._file.sizes import as_bytes, every
from sapwood._notices import warn
from sapwood._read import progress as progress_bar
from sapwood._read import reading
from sapwood._read.compat_kwargs import ignore
from sapwood._read.entry_ranges import EntryRanges
from sapwood._read.filters import as_match
from sapwood._remote import network, urls
from sapwood._tools import indexing
from sapwood._write.staged import sent
from sapwood.compression import as_compression, as_random_access

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from sapwood._remote.network import Opening


@dataclass(frozen=True)
class Figures:
    """What a tree has, before or after."""

    entries: int
    baskets: int
    clusters: int
    zip_bytes: int
    tot_bytes: int
    """Bytes before compression."""
    unread: int = field(default=0, compare=False)
    """Baskets that were moved without being inflated, so that damage in them stays unseen; none with
    ``verify=True``."""


def rewrite(
    source: Any,
    target: Any,
    *,
    trees: list[str] | None = None,
    keep: Any = None,
    drop: Any = None,
    cut: Any = None,
    compression: Any = "tree",
    auto_flush: int | str | None = None,
    basket_bytes: int | str | None = None,
    order: str | None = None,
    baskets: str | None = None,
    threads: int = 0,
    verify: bool = False,
    to: str | None = None,
    unsupported: str = "refuse",
    random_access: Any = None,
    statistics: bool | str | Iterable[str] = False,
    sort_by: str | Iterable[str] | None = None,
    sort_memory: int | str | None = None,
    progress: bool | None = None,
    **others: Unpack[Opening],
) -> dict[str, tuple[Figures, Figures]]:
    """Writes a file again: its trees in good clusters, all other objects as they are. Gives for each tree its
    figures before and after.

    Entries are moved as bytes, so that branches of any class can be rewritten. ``trees`` names those that are
    (the others are copied as they are); ``keep`` and ``drop`` are patterns of top-level branches, as
    :meth:`~sapwood.Tree.keys` takes them (a tree without one like ``keep`` has all of its); ``cut`` is an
    expression that entries have to pass. ``auto_flush`` (30 MB of compressed data where it is not given) and
    ``basket_bytes`` are those of :meth:`~sapwood.WritableFile.mktree`, and so is ``compression``: a setting,
    or a mapping from branches to settings. The target has its name only once it is whole; a file that has it
    is replaced then, unless another writer has it. It may be a URL that :func:`recreate` takes. ``others``
    are the arguments that :func:`open` takes for remote files, for the source and the target.

    ``order`` says how baskets follow one another: ``"entry"``, cluster after cluster, good for reading
    most branches; ``"branch"``, all baskets of a branch and then those of the next, good for reading few
    branches over a link (for RNTuples only with ``baskets="keep"``); ``"offset"``, as they stand in the
    source. With ``baskets="keep"``, and with ``order="offset"``, baskets are moved as they are and
    nothing is inflated: as fast as a copy, but clusters, basket sizes and compression stay, and entries
    cannot be chosen; ``verify=True`` inflates them all the same, so that a damaged one is an error.

    What is said of trees, branches and baskets holds for RNTuples, fields and pages as well; clusters hold
    128 MB of compressed data there where ``auto_flush`` is not given. With ``to="rntuple"`` trees become
    RNTuples, with the names of branches that fields may have; with ``to="ttree"`` RNTuples become trees. Of
    records without a class each member is a branch then, and of lists of them the members are lists that one
    branch counts. What differs, like a branch that was left out, is a warning. Values that the other format
    does not hold are an error that names them; with ``unsupported="drop"`` they are left out.

    ``random_access`` compresses new baskets in blocks of so many entries, as
    :meth:`~sapwood.WritableFile.mktree` does; baskets that are kept keep their blocks. ``progress`` shows a
    line that says how far it is, by default only for long work, if standard error is a terminal.

    ``sort_by`` sorts entries by columns of numbers, the first one first: ``["run", "event"]``; a leading
    ``-`` sorts by falling numbers. NaN comes last, and equal entries keep their order. Each entry is read
    once, and written to a temporary file next to the target in between; sorting takes about ``sort_memory``
    bytes of memory (512 MiB). A tree whose entries are in order is written as without it, with a warning.

    A tree whose entries cannot be moved keeps its baskets, compressed as was asked for, with a warning.

    If the source has statistics (:func:`sapwood.index`), no entry is left out and their order stays, the
    target gets them, too; ``statistics`` makes new ones: ``True``, or names or patterns of columns.

    >>> import os, sapwood, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> old, new = os.path.join(folder, "old.root"), os.path.join(folder, "new.root")
    >>> with sapwood.recreate(old) as file:
    ...     tree = file.mktree("events", {"x": "i4", "y": "f8"}, auto_flush=2)
    ...     tree.extend({"x": [1, 2, 3, 4, 5, 6], "y": [0.5] * 6})
    >>> before, after = sapwood.rewrite(old, new, cut="x > 2", drop="y")["events"]
    >>> before.clusters, after.clusters, after.entries
    (3, 1, 4)
    >>> sapwood.open(new)["events"].arrays(library="np")["x"].tolist()
    [3, 4, 5, 6]

    Raises :class:`KeyError` for trees and branches that are not there; :class:`sapwood.errors.MismatchError`
    for what baskets that are kept cannot do; :class:`sapwood.errors.MalformedError` where the file is
    damaged: then there is no target.
    """
    if baskets not in (None, "new", "keep"):
        raise errors.MismatchError(f"baskets is 'new' or 'keep', not {baskets!r}")
    kept_whole = baskets == "keep" or (baskets is None and order == "offset")
    given = {"cut": cut, "auto_flush": auto_flush, "basket_bytes": basket_bytes}
    given["compression"] = None if compression == "tree" else compression
    given["random_access"] = random_access
    columns = [sort_by] if isinstance(sort_by, str) else list(sort_by or [])
    given["sort_by"] = columns or None
    if kept_whole and any(value is not None for value in given.values()):
        named = [name for name, value in given.items() if value is not None]
        raise errors.MismatchError(
            f"baskets that are kept stay as they are: {', '.join(named)} takes new ones"
        )
    if to not in (None, "rntuple", "ttree"):
        raise errors.MismatchError(f"entries are stored as 'rntuple' or 'ttree', not {to!r}")
    if to is not None and (order is not None or baskets is not None):
        raise errors.MismatchError("order and baskets cannot be given where entries are stored otherwise")
    said: dict[str, Any] = dict(others)
    over = network.take_options(said)
    ignore(said, "rewrite")
    indexing.check_statistics(target, statistics)
    opened = source
    if isinstance(source, (str, os.PathLike)):
        opened = file.open(source, threads=threads, **over)
    by_branch = isinstance(compression, Mapping)
    setting = None if by_branch or compression == "tree" else as_compression(compression)
    settings: dict[str, dict[int, str]] = {}
    not_found = list(compression) if by_branch else []
    branches: dict[str, list[str]] = {}
    entries: dict[str, list[tuple[int, int]]] = {}
    names = trees if trees is not None else opened._names_of_trees()
    unused = [pattern for patterns in (keep, drop) for pattern in _each(patterns)]
    for name in dict.fromkeys(names):
        tree = opened[name]
        unused = [pattern for pattern in unused if not _passes_any(pattern, tree.branches)]
        kept, dropped = as_match(keep), as_match(drop)
        if kept is not None or dropped is not None:
            top = [branch.name for branch in tree.branches]
            if kept and not any(map(kept, top)):
                kept = None  # it is said of other trees
            branches[name] = [
                each for each in top if (not kept or kept(each)) and not (dropped and dropped(each))
            ]
            if top and not branches[name]:
                raise errors.MismatchError(
                    f"no branch of {name!r} would be left: trees= names those that lose branches"
                )
        if cut is not None:
            entries[name] = _ranges(tree, cut)
        if by_branch:
            settings[name], found = _settings(tree, compression)
            not_found = [pattern for pattern in not_found if pattern not in found]
    if not_found:
        raise errors.NotFoundError(f"there is no branch {not_found[0]!r} to compress")
    if unused:
        raise errors.NotFoundError(f"no top-level branch is like {unused[0]!r}")
    size = None if basket_bytes is None else as_bytes(basket_bytes)
    flush = None if auto_flush is None else every(auto_flush)
    order = order or ("offset" if kept_whole else "entry")
    with (
        sent(urls.local_path(os.fspath(target)), over, show=progress) as path,
        progress_bar.told(progress, "rewrite") as told,
    ):
        made = _core.rewrite(
            opened._engine(),
            path,
            trees,
            branches,
            entries,
            setting,
            settings,
            flush,
            size,
            order,
            kept_whole,
            threads,
            verify,
            to,
            unsupported,
            as_random_access(random_access),
            columns,
            None if sort_memory is None else as_bytes(sort_memory),
            told,
        )
    reordered = False
    for path, before, after, reason, _, also_kept, notes, is_reordered in made:
        reordered = reordered or is_reordered
        if reason is not None:
            warn(f"{path!r} keeps its baskets: {reason}", stacklevel=2)
        for name in also_kept:
            if (dropped := as_match(drop)) and dropped(name):
                words = f"{name} stays in spite of drop=, since what is kept needs it"
                warn(f"{path!r}: {words}", stacklevel=2)
        for note in notes:
            warn(f"{path!r}: {note}", stacklevel=2)
        lost = Figures(*before).entries - Figures(*after).entries
        if to is not None and lost and path not in entries:
            warn(
                f"{path!r}: nothing is left of what held values, so its {lost} entries are gone, too",
                stacklevel=2,
            )
    # As it was opened: its place may be that of the target.
    if statistics or not reordered:
        indexing.carried(target, [], statistics, threads, opened._engine())
    return {
        path: (Figures(*before), replace(Figures(*after), unread=unread))
        for path, before, after, _, unread, *_ in made
    }


def _settings(tree: Any, wanted: Mapping[str, Any]) -> tuple[dict[int, str], set[str]]:
    """Compression of branches by their numbers, and the names and globs that some branch has."""
    found: dict[int, str] = {}
    used: set[str] = set()
    # What is spelled out comes before globs, and "*" is for the rest.
    for pattern in sorted(wanted, key=lambda name: (any(mark in name for mark in "*?[/"), name == "*")):
        setting, match = as_compression(wanted[pattern]), as_match(pattern)
        for path, branch in tree.items():
            if match is None or match(branch.name) or match(path) or match(path.split("/")[0]):
                used.add(pattern)
                found.setdefault(branch._id, setting)
    return found, used


def _each(patterns: Any) -> list[Any]:
    """Patterns one by one."""
    return (
        list(patterns)
        if isinstance(patterns, (list, tuple, set, frozenset))
        else []
        if patterns is None
        else [patterns]
    )


def _passes_any(pattern: Any, branches: list[Any]) -> bool:
    """Whether any of these branches is like the pattern."""
    match = as_match(pattern)
    return match is None or any(match(branch.name) for branch in branches)


def _ranges(tree: Any, cut: Any) -> list[tuple[int, int]]:
    """Ranges of entries that pass a cut, read step by step."""
    plan = reading.Plan(tree, [], cut)
    return EntryRanges(plan.query([], cut).passing(0, tree.num_entries)).pairs()
