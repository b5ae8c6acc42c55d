"""Several files as one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sapwood import objects
from sapwood._read import drawing, reading, scanning, stream
from sapwood._read import progress as progress_bar
from sapwood._read.chain import Chain, Member, close, listed
from sapwood._read.drawings import Drawing, Drawings, by_name, drawings_of
from sapwood._read.entry_ranges import EntryRanges
from sapwood._read.filters import Filter, as_match
from sapwood._read.libraries import as_library
from sapwood._read.scanning import Scan
from sapwood._read.selection import Range, Selection, bounds
from sapwood._tree import iteration
from sapwood._tree.iteration import MOST, Report
from sapwood.errors import MismatchError, MissingFileError, NotFoundError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from sapwood._remote.network import Opening


#: Bit of a chain whose weight is for all its trees (``TChain::kGlobalWeight``).
_GLOBAL_WEIGHT = 1 << 15


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
    fill: Mapping[str, float] | None = None,
    widen: bool = False,
    friends: Mapping[str, Any] | None = None,
    lumi_mask: Any = None,
    entries: Any = None,
    ak_add_doc: bool | Mapping[str, str] = False,
    progress: bool | None = None,
    threads: int = 0,
    object_limit: int | None = None,
    answer_limit: int | None = None,
    **others: Unpack[Opening],
) -> Iterator[Any]:
    """Reads trees of several files in steps, one file after another; the next step is read while you use the
    last, and the next file is opened while one is read.

    ``files`` is a path with ``:object``, a glob, a folder, a list of these, a dictionary ``{path or glob:
    object}`` (a value may also be ``{"object_path": ..., "steps": [[start, stop], ...]}`` to take entry
    ranges), open trees, or a ``TChain`` that was read. Where no object is named, the file must have one tree.

    ``allow_missing`` skips files that are not there, or lack the tree or a branch, and names them in a log.
    ``fill={"weight": 1.0}`` gives numbers that stand in for branches which a file lacks. A branch whose
    numbers have another width than in the first file is an error, unless ``widen`` allows it. ``friends={"w":
    files}`` are trees whose entries, counted over all files, belong to those of ``files``; with ``(files,
    ("run", "event"))`` they are matched by two expressions, as in :meth:`Tree.add_friend
    <sapwood.Tree.add_friend>`. ``lumi_mask`` is as in :meth:`Tree.arrays()
    <sapwood._read.branches.HasBranches.arrays>`. ``entries`` leaves only some: a TEntryList with a list for
    each tree, or rising numbers (or a TEventList), counted over all files.

    A step never spans files; a file is opened when its turn comes, and closed after its last step.
    ``progress`` shows a line that counts files; by default only if standard error is a terminal. Entry
    numbers of reports, and the index of DataFrames, count over all files. The rest is as in
    :meth:`Tree.iterate() <sapwood._read.branches.HasBranches.iterate>` and :func:`sapwood.open`.

    >>> import sapwood
    >>> for arrays in sapwood.iterate("run*.root:events", ["px"], step_size="10 MB"):  # doctest: +SKIP
    ...     fill(arrays.px)
    """
    limits = {"threads": threads, "object_limit": object_limit, "answer_limit": answer_limit}
    chain = Chain(
        "iterate",
        files,
        {**others, **limits},
        allow_missing=allow_missing,
        fill=fill,
        widen=widen,
        friends=friends,
        lumi_mask=lumi_mask,
        entries=entries,
    )
    to, expressions = as_library(library), listed(expressions)
    iteration.step_entries(step_size)
    as_match(filter_name), as_match(filter_typename)
    filters = (filter_name, filter_typename, filter_branch)

    def steps(held: list[Member]) -> Iterator[tuple[reading.Plan, Selection, Range, int]]:
        for member in progress_bar.each(chain.kept(), len(chain.sources), progress, "files", "files"):
            held.append(member)
            try:
                plan = chain.plan(member, expressions, cut, filters, aliases, ak_add_doc)
            except NotFoundError as error:
                close_last(held)
                chain.left_out(member.source, error)
                continue
            has_steps = False
            for start, stop in member.ranges:
                for step in iteration.steps(plan, start, stop, step_size):
                    selection = member.select(*step)
                    if member.rows is not None and len(selection) == 0:
                        continue
                    has_steps = True
                    yield plan, selection, step, member.offset
                    # The caller asked for a later step, so it is done with the steps and reports of earlier
                    # files, which needed these files to stay open.
                    for before in held[:-1]:
                        close(before.source, before.tree)
                    del held[:-1]
            if not has_steps:
                # The last step of the file before is still in use.
                close_last(held)

    def close_last(held: list[Member]) -> None:
        last = held.pop()
        close(last.source, last.tree)

    def read(one: tuple[reading.Plan, Selection, Range, int]) -> Any:
        plan, selection, step, offset = one
        answer = to.counted_from(reading.read(plan, selection, to, how, False), offset)
        return (answer, Report(plan.over, *step, offset)) if report else answer

    def columns(one: tuple[reading.Plan, Selection, Range, int]) -> Any:
        return stream.columns_of(*one[:2])

    def all_steps(answer: Callable[[Any], Any]) -> Iterator[Any]:
        held: list[Member] = []
        try:
            yield from iteration.ahead(steps(held), answer)
        finally:
            for last in held:
                close(last.source, last.tree)
            chain.close()

    @contextmanager
    def first_plan() -> Iterator[reading.Plan]:
        members = chain.members()
        for member in members:
            try:
                plan = chain.plan(member, expressions, cut, filters, aliases, ak_add_doc)
            except NotFoundError as error:
                chain.left_out(member.source, error)
                continue
            yield plan
            return
        raise MismatchError("no file has a tree that could be read")

    return stream.Steps(all_steps(read), first_plan, lambda: all_steps(columns))


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
    fill: Mapping[str, float] | None = None,
    widen: bool = False,
    friends: Mapping[str, Any] | None = None,
    lumi_mask: Any = None,
    entries: Any = None,
    ak_add_doc: bool | Mapping[str, str] = False,
    progress: bool | None = None,
    threads: int = 0,
    object_limit: int | None = None,
    answer_limit: int | None = None,
    **others: Unpack[Opening],
) -> Any:
    """Reads trees of several files into one answer.

    ``entry_start`` and ``entry_stop`` count over all files; the next file is opened while one is read, and no
    more than these are open at a time. The rest is as in
    :func:`sapwood.iterate` and :meth:`Tree.arrays() <sapwood._read.branches.HasBranches.arrays>`.

    >>> import sapwood
    >>> sapwood.concatenate({"run*.root": "events"}, ["px", "py"], cut="px > 0")  # doctest: +SKIP
    """
    limits = {"threads": threads, "object_limit": object_limit, "answer_limit": answer_limit}
    chain = Chain(
        "concatenate",
        files,
        {**others, **limits},
        allow_missing=allow_missing,
        fill=fill,
        widen=widen,
        friends=friends,
        lumi_mask=lumi_mask,
        entries=entries,
    )
    to, expressions = as_library(library), listed(expressions)

    def plan_of(member: Member) -> reading.Plan:
        filters = (filter_name, filter_typename, filter_branch)
        return chain.plan(member, expressions, cut, filters, aliases, ak_add_doc)

    # Entries that a file's own ranges leave out do not count.
    first, last = entry_start or 0, MOST if entry_stop is None else entry_stop
    if first < 0 or last < 0:
        total = sum(stop - start for member in chain.members() for start, stop in member.ranges)
        first, last = bounds(total, entry_start, entry_stop)
    answers: list[Any] = []
    done = 0
    for member in progress_bar.each(chain.members(), len(chain.sources), progress, "files", "files"):
        for start, stop in member.ranges:
            a, b = max(first - done, 0), min(last - done, stop - start)
            done += stop - start
            if a >= b:
                continue
            try:
                plan = plan_of(member)
            except NotFoundError as error:
                chain.left_out(member.source, error)
                break
            answer = reading.read(plan, member.select(start + a, start + b), to, how, False)
            answers.append(to.counted_from(answer, member.offset))
        if done >= last:
            break
    if not answers:
        # No entries are wanted: an empty answer of the right type.
        for member in chain.members():
            return reading.read(plan_of(member), Selection((0, 0)), to, how)
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
    fill: Mapping[str, float] | None = None,
    friends: Mapping[str, Any] | None = None,
    lumi_mask: Any = None,
    entries: Any = None,
    tree_weight: bool | float = True,
    progress: bool | None = None,
    threads: int = 0,
    object_limit: int | None = None,
    answer_limit: int | None = None,
    **others: Unpack[Opening],
) -> Any:
    """One histogram of the trees of several files: the next one is opened while one is read.

    ``files`` and the options are those of :func:`sapwood.iterate`, the rest is as in
    :meth:`sapwood.Tree.draw`. Where no bins are given, those of the first file are extended as needed.

    >>> import sapwood
    >>> sapwood.draw("run*.root:events", "px>>h(100, -5, 5)", "py > 0")  # doctest: +SKIP
    """
    drawing.check_library(library)
    limits = {"threads": threads, "object_limit": object_limit, "answer_limit": answer_limit}
    tree_weight = _tree_weight(files, tree_weight)
    chain = Chain(
        "draw",
        files,
        {**others, **limits},
        allow_missing=allow_missing,
        fill=fill,
        friends=friends,
        lumi_mask=lumi_mask,
        entries=entries,
    )
    list_name = drawing.list_name(expression)
    if list_name is None:
        wanted = [Drawing(expression, cut, bins=bins, profile=profile)]
        filled = _fill(chain, wanted, aliases, progress, tree_weight)
        return drawing.as_library(filled[0], library)
    lists: dict[tuple[str, str], Any] = {}
    for member in progress_bar.each(chain.members(), len(chain.sources), progress, "files", "files"):
        try:
            place = drawing.listed_place(member.tree)
            if place in lists:
                words = f"two trees {place[0]!r} of {place[1]} cannot be in one list of entries"
                raise MismatchError(f"{words}: ROOT tells them by name and file")
            named = chain.aliases(member, aliases, cut)
            with chain.naming(member):
                lists[place] = _passing(member, cut, named, chain.friends_of(member))
        except NotFoundError as error:
            chain.left_out(member.source, error)
    return drawing.as_model(objects.entry_list(lists, list_name, cut), list_name)


def draw_many(
    files: Any,
    drawings: Drawings,
    cut: str = "",
    *,
    weight: str | float = "",
    bins: Any = None,
    aliases: dict[str, str] | None = None,
    library: str = "hist",
    allow_missing: bool = False,
    fill: Mapping[str, float] | None = None,
    friends: Mapping[str, Any] | None = None,
    lumi_mask: Any = None,
    entries: Any = None,
    tree_weight: bool | float = True,
    progress: bool | None = None,
    threads: int = 0,
    object_limit: int | None = None,
    answer_limit: int | None = None,
    **others: Unpack[Opening],
) -> Any:
    """Histograms of many expressions over the trees of several files, each of which is read once, as
    :meth:`sapwood.Tree.draw_many` fills them. The options are those of :func:`sapwood.draw`.

    >>> import sapwood
    >>> drawings = {"px": sapwood.Drawing("px", bins=(100, -5, 5)), "py": ("py>>(50, 0, 1)", "px > 0")}
    >>> sapwood.draw_many("run*.root:events", drawings, cut="n > 1", weight="w")["px"]  # doctest: +SKIP
    """
    wanted = drawings_of(drawings, cut, weight, bins)
    drawing.check_library(library)
    limits = {"threads": threads, "object_limit": object_limit, "answer_limit": answer_limit}
    tree_weight = _tree_weight(files, tree_weight)
    chain = Chain(
        "draw_many",
        files,
        {**others, **limits},
        allow_missing=allow_missing,
        fill=fill,
        friends=friends,
        lumi_mask=lumi_mask,
        entries=entries,
    )
    filled = _fill(chain, wanted, aliases, progress, tree_weight)
    return by_name(drawings, [drawing.as_library(one, library) for one in filled])


def _tree_weight(files: Any, tree_weight: bool | float) -> bool | float:
    """The weight of each entry: that of a stored chain, if it is for all its trees."""
    is_chain = tree_weight is True and getattr(files, "classname", None) == "TChain"
    if is_chain and files.member("fBits") & _GLOBAL_WEIGHT:
        return float(files.member("fWeight"))
    return tree_weight


def _fill(
    chain: Chain,
    drawings: list[Drawing],
    aliases: Mapping[str, str] | None,
    progress: bool | None,
    tree_weight: bool | float,
) -> list[Any]:
    """Histograms of all files, one after another."""
    filled: list[Any] | None = None
    texts = [text for one in drawings for text in one.texts]
    for member in progress_bar.each(chain.members(), len(chain.sources), progress, "files", "files"):
        try:
            named, more = chain.aliases(member, aliases, *texts), chain.friends_of(member)
            for start, stop in member.ranges:
                wanted = member.select(start, stop)
                with chain.naming(member):
                    filled = drawing.fill(
                        member.tree,
                        drawings,
                        named,
                        *wanted.span,
                        wanted.rows,
                        filled,
                        more,
                        tree_weight=tree_weight,
                    )
        except NotFoundError as error:
            chain.left_out(member.source, error)
    if filled is None:
        raise MismatchError("no file has a tree that could be drawn")
    return filled


def scan(
    files: Any,
    expressions: Any = None,
    cut: str = "",
    *,
    limit: int | None = None,
    col: str = "",
    col_size: int = 9,
    precision: int = 9,
    aliases: dict[str, str] | None = None,
    allow_missing: bool = False,
    fill: Mapping[str, float] | None = None,
    friends: Mapping[str, Any] | None = None,
    lumi_mask: Any = None,
    entries: Any = None,
    threads: int = 0,
    object_limit: int | None = None,
    answer_limit: int | None = None,
    **others: Unpack[Opening],
) -> Scan:
    """The rows of the trees of several files as one, all or the first ``limit``; entries are counted over all
    of them.

    ``files`` and the options are those of :func:`sapwood.iterate`, the rest is as in
    :meth:`sapwood.Tree.scan`. Files are opened while there are rows to show.

    >>> import os, sapwood, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for part in range(2):
    ...     with sapwood.recreate(os.path.join(folder, f"{part}.root")) as file:
    ...         file["t"] = {"x": [2 * part, 2 * part + 1]}
    >>> [(row["entry"], row["x"]) for row in sapwood.scan(f"{folder}/*.root:t", "x", "x > 0")]
    [(1, 1), (2, 2), (3, 3)]
    """
    limits = {"threads": threads, "object_limit": object_limit, "answer_limit": answer_limit}
    chain = Chain(
        "scan",
        files,
        {**others, **limits},
        allow_missing=allow_missing,
        fill=fill,
        friends=friends,
        lumi_mask=lumi_mask,
        entries=entries,
    )

    def queries(members: Iterator[Member]) -> Iterator[tuple[Member, Any, bool]]:
        for member in members:
            try:
                wanted = names or scanning.expressions_of(member.tree, expressions)
                named = chain.aliases(member, aliases, *wanted.values(), cut)
                friend_trees = chain.friends_of(member)
                with chain.naming(member):
                    query, cuts_items = scanning.query_of(
                        member.tree, wanted.values(), cut, named, friend_trees
                    )
            except NotFoundError as error:
                chain.left_out(member.source, error)
                continue
            names.update(wanted)
            yield member, query, cuts_items

    def blocks(most: int | None) -> Iterator[scanning.Block]:
        for member, query, cuts_items in begun.pop() if begun else queries(chain.members()):
            for span in member.ranges:
                wanted = member.select(*span)
                yield from scanning.blocks(member.tree, query, cuts_items, wanted, most, member.offset)

    # What there is, and how deep, the first file says. It stays open for the first who asks for rows.
    names: dict[str, str] = {}
    found = queries(chain.members())
    first = next(found, None)
    if first is None:
        raise MismatchError("no file has a tree that could be scanned")
    begun = [itertools.chain([first], found)]
    has_lists = scanning.has_lists(first[1])
    return Scan(list(names), blocks, has_lists, limit, (col, col_size, precision))


def _passing(member: Member, cut: str, aliases: dict[str, str], friends: Any) -> Any:
    """Numbers of the entries of a file that pass a cut."""
    query = reading.Plan(member.tree, [], aliases=aliases, friends=friends).query([], cut or "1")
    found = []
    for wanted in member.ranges:
        found.append(EntryRanges(query.passing(*wanted)))
    passed = EntryRanges.joined(found)
    return passed if member.rows is None else passed.among(member.rows)


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
    chain = Chain("num_entries", files, options)

    def counted() -> Iterator[tuple[str, str, int]]:
        for member in chain.members():
            tree = member.tree.tree
            yield str(tree.file_path), tree._path, tree.num_entries

    return counted()


__all__ = ["MissingFileError", "concatenate", "draw", "iterate", "num_entries", "scan"]
