"""Trees of several files as one: which files, what of them, and the next one opened while one is read."""

from __future__ import annotations

import itertools
import logging
import numbers
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sapwood import _core
from sapwood._file import file as files_module
from sapwood._file import session
from sapwood._read import friends as friends_module
from sapwood._read import reading
from sapwood._read.compat_kwargs import ignore
from sapwood._read.entry_choice import EntryChoice
from sapwood._read.filters import Filter, as_match, no_filter
from sapwood._read.friends import Friend
from sapwood._read.lumi_mask import LumiMask
from sapwood._read.selection import Range, Selection, bounds
from sapwood._read.stored_chains import StoredChainError, refuse_chain, replaced
from sapwood._remote import network, paths
from sapwood._remote.urls import is_url
from sapwood._tree.iteration import within
from sapwood.errors import ExpressionError, MismatchError, MissingFileError, NotFoundError, not_found, place

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_log = logging.getLogger("sapwood")

#: Seconds in which a file opens that is on this machine, and was read before.
_AT_ONCE = 0.002


def from_chain(files: Any) -> Any:
    """The files of a ``TChain`` that was read; all else as it is."""
    return files.files if getattr(files, "classname", None) == "TChain" else files


class Member(NamedTuple):
    """The tree of one file."""

    source: paths.Source
    tree: Any
    offset: int
    """Entries of the trees before."""
    ranges: list[Range]
    """The entries that are wanted."""
    rows: np.ndarray[Any, Any] | None
    """Those of them that a luminosity mask and a choice of entries leave; ``None`` for all."""

    def select(self, start: int, stop: int) -> Selection:
        """What is wanted of some entries."""
        return within(self.rows, (start, stop))


class FriendSpan(NamedTuple):
    """Trees of a friend that have entries for one file, before they are opened."""

    name: str
    sources: list[paths.Source]
    first: int
    by: friends_module.Index


class Chain:
    """Trees of several files, with what is said about all of them."""

    def __init__(
        self,
        caller: str,
        files: Any,
        options: Mapping[str, Any],
        *,
        threads: int = 0,
        allow_missing: bool = False,
        fill: Mapping[str, Any] | None = None,
        widen: bool = True,
        friends: Mapping[str, Any] | None = None,
        lumi_mask: Any = None,
        entries: Any = None,
    ) -> None:
        """``options`` are what is left of the arguments of ``caller``: how files are opened. Unknown ones are
        refused."""
        rest = dict(options)
        over = network.take_options(rest)
        limits = {name: rest.pop(name) for name in ("object_limit", "answer_limit") if name in rest}
        files = from_chain(files)
        self.sources = paths.expand(paths.with_options(files, over), network=over)
        opening = files_module.check_options(rest.pop("threads", threads), **limits)
        self.opening = {**opening, "network": over}
        self.allow_missing = allow_missing
        self.fill = check_fill(fill)
        self.mask = LumiMask.of(lumi_mask)
        self.chosen = EntryChoice.of(entries)
        self.friends = [_Files(name, of, self.opening) for name, of in (friends or {}).items()]
        self._types = Types(widen)
        self._known_total: int | None = None
        #: Names of the columns of the first file, if all branches are wanted.
        self._names: list[str] | None = None
        #: Files whose leaving out was told.
        self._told: list[Any] = []
        #: Trees that are taken where none is named, and there are several.
        self.default_trees: tuple[str, ...] = ()
        ignore(rest, caller, stacklevel=4)

    def plan(
        self,
        member: Member,
        expressions: Any,
        cut: str | None,
        filters: tuple[Filter, Filter, Any] = (None, None, None),
        aliases: Mapping[str, str] | None = None,
        ak_add_doc: Any = False,
    ) -> reading.Plan:
        """What is wanted of one of the trees; ``expressions`` are read for each."""
        texts = [expressions] if isinstance(expressions, str) else expressions or ()
        named, friends = self.aliases(member, aliases, *texts, cut), self.friends_of(member)
        more = self._filled(member, filters) if expressions is None else ()
        with self.naming(member):
            plan = reading.Plan(member.tree, expressions, cut, *filters, named, friends, ak_add_doc, more)
        if expressions is None:
            self._check_names(member, plan)
        self._types.check(
            member.tree, {one.name: one.branch for one in plan.outputs if one.branch is not None}
        )
        return plan

    def _filled(self, member: Member, filters: tuple[Filter, Filter, Any]) -> list[str]:
        """Branches that a file lacks and ``fill`` stands in for, if the filters let them pass or the first file has
        them."""
        passes = (as_match(filters[0]) or no_filter) if filters[1] is None and filters[2] is None else None
        known = self._names or ()
        return [
            name
            for name in self.fill
            if member.tree._find(name) is None and (name in known or (passes is not None and passes(name)))
        ]

    def _check_names(self, member: Member, plan: reading.Plan) -> None:
        """Puts the branches in the order of the first file. A file that lacks some is left out if that is allowed."""
        names = [output.name for output in plan.outputs]
        if self._names is None:
            self._names = names
        lacking = [name for name in self._names if name not in names]
        if lacking and self.allow_missing:
            raise not_found(f"not found: the branch {lacking[0]!r}", member.tree.file_path)
        places = {name: number for number, name in enumerate(self._names)}
        plan.outputs.sort(key=lambda output: places.get(output.name, len(places)))

    @contextmanager
    def naming(self, member: Member) -> Iterator[None]:
        """Errors about expressions name the file that they come from, if there are several."""
        try:
            yield
        except (ExpressionError, MismatchError) as error:
            if len(self.sources) < 2 or getattr(error, "file", None):
                raise
            named = type(error)(f"{error}{place(member.tree.file_path, member.tree.object_path)}")
            named.file, named.object = str(member.tree.file_path), str(member.tree.object_path)
            raise named from error.__cause__

    def close(self) -> None:
        """Closes the files of friends."""
        for friend in self.friends:
            friend.close()

    def members(self, sources: Iterable[paths.Source] | None = None) -> Iterator[Member]:
        """The trees, one after another; each is closed when the next one is asked for, and what friends have
        opened at the end."""
        offset = 0
        try:
            for source, tree in self._opened(self.sources if sources is None else sources):
                try:
                    member = self._member_if_there(source, tree, offset)
                    if member is not None:
                        yield member
                    offset += tree.tree.num_entries
                finally:
                    close(source, tree)
            if self.chosen is not None and sources is None:
                self.chosen.check_end(offset)
        finally:
            self.close()

    def kept(self) -> Iterator[Member]:
        """The same, and the caller closes them, and the chain at the end."""
        offset = 0
        for source, tree in self._opened(self.sources):
            total = tree.tree.num_entries
            member = self._member_if_there(source, tree, offset)
            if member is None:
                close(source, tree)
            else:
                yield member
            offset += total
        if self.chosen is not None:
            self.chosen.check_end(offset)

    def left_out(self, source: Any, error: Exception) -> None:
        """Goes on without a file if that is allowed, and says so once: in the log, as the caller asked for it, and a
        warning could be turned into an error."""
        if not self.allow_missing:
            raise error
        if any(known is source for known in self._told):
            return
        self._told.append(source)
        _log.warning("left out %s: %s", source.file, error)

    def _refuse_friends_by_place(self, source: Any, error: Exception) -> None:
        """A file that cannot be opened has an unknown number of entries: those of friends that follow it would
        belong to others."""
        names = [friend.name for friend in self.friends if not friend.index]
        if self.allow_missing and names:
            raise MismatchError(
                f"{source.file} cannot be left out: the entries of the friend {names[0]!r} are matched by their "
                "place, and how many it has is not known; give the friend an index, or leave both files out"
            ) from error

    def aliases(self, member: Member, aliases: Mapping[str, str] | None, *texts: Any) -> dict[str, str]:
        """Names of expressions, with those that stand in for branches which this tree lacks, and those that count
        over all files as a ``TChain`` does; ``texts`` are what uses them."""
        known = dict(aliases or {})
        filled = {name: text for name, text in self.fill.items() if member.tree._find(name) is None}
        counts = {"Entry$": f"(LocalEntry$ + {member.offset})"} if member.offset else {}
        if len(self.sources) > 1 and any(_uses_entries(text) for text in (*texts, *known.values())):
            counts["Entries$"] = str(self._total())
        return {**filled, **counts, **known}

    def _total(self) -> int:
        """Entries of all files. Each is opened for it, once."""
        if self._known_total is None:
            self._known_total = 0
            for source, tree in self._opened(self.sources):
                self._known_total += tree.tree.num_entries
                close(source, tree)
        return self._known_total

    def spans(self, member: Member) -> list[FriendSpan]:
        """What of the friends has entries for a file."""
        stop = member.offset + member.tree.tree.num_entries
        return [friend.span(member.offset, stop) for friend in self.friends]

    def friends_of(self, member: Member) -> list[Friend]:
        """The friends of a file, open."""
        stop = member.offset + member.tree.tree.num_entries
        found = []
        for friend in self.friends:
            try:
                found.append(friend.over(member.offset, stop))
            except (NotFoundError, MissingFileError) as error:
                # Not an error of the file that would be left out for it.
                raise MismatchError(f"the friend {friend.name!r} cannot be read: {error}") from error
        return found

    def _member_if_there(self, source: paths.Source, tree: Any, offset: int) -> Member | None:
        """A file with its entries; ``None`` where it lacks what the mask needs and may be left out."""
        try:
            return self._member(source, tree, offset)
        except NotFoundError as error:
            self.left_out(source, error)
            return None

    def _member(self, source: paths.Source, tree: Any, offset: int) -> Member:
        total = tree.tree.num_entries
        steps = source.steps
        ranges = [(0, total)] if steps is None else [bounds(total, start, stop) for start, stop in steps]
        rows = None if self.mask is None else self.mask.rows(tree.tree, 0, total)
        if self.chosen is not None:
            chosen = self.chosen.rows(tree.tree, offset, total)
            rows = chosen if rows is None else rows[np.isin(rows, chosen, assume_unique=True)]
        return Member(source, tree, offset, ranges, rows)

    def _open(self, source: paths.Source) -> tuple[Any, bool]:
        """The tree of a file, and whether another thread should open the next one: to wait for a server, and not
        where a file opens at once."""
        began = perf_counter()
        tree = open_tree(source, self.opening, self.default_trees if source.object is None else ())
        return tree, is_url(source.file) or perf_counter() - began > _AT_ONCE

    def _replace(self, source: paths.Source, by: StoredChainError) -> None:
        """Puts the trees of a stored chain in its place, once for each time that it is named."""
        if any(known is source for known in self.sources):
            self.sources = replaced(self.sources, source, by)

    def _opened(self, sources: Iterable[paths.Source]) -> Iterator[tuple[paths.Source, Any]]:
        """Sources with their trees: the next one is opened while the one before is in use, where that spares a wait."""
        born = session.generation()
        stop = _core.Stop()
        pool: ThreadPoolExecutor | None = None
        coming: Future[Any] | None = None
        rest = iter(sources)
        source = next(rest, None)
        #: Trees of stored chains, which may not be chains again.
        listed: list[paths.Source] = []
        try:
            while source is not None:
                is_parent = born == session.generation()
                is_slow = True
                try:
                    # A child process has none of its parent's threads.
                    tree, is_slow = (
                        coming.result() if coming is not None and is_parent else self._open(source)
                    )
                except StoredChainError as error:
                    if any(source is known for known in listed):
                        raise
                    self._replace(source, error)
                    listed += error.sources
                    rest = itertools.chain(error.sources, rest)
                    source, coming = next(rest, None), None
                    continue
                except (NotFoundError, MissingFileError) as error:
                    tree = None
                    self._refuse_friends_by_place(source, error)
                    self.left_out(source, error)
                now, source, coming = source, next(rest, None), None
                if source is not None and is_parent and is_slow:
                    pool = pool or _other_thread(stop)
                    coming = pool.submit(self._open, source)
                if tree is not None:
                    yield now, tree
        finally:
            if born == session.generation():
                stop.set()
                if coming is not None and not coming.cancel() and coming.exception() is None:
                    close(source, coming.result()[0])
                if pool is not None:
                    pool.shutdown(wait=True)


def _other_thread(stop: _core.Stop) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(1, "sapwood-open", initializer=stop.heed)


def listed(expressions: Any) -> Any:
    """Expressions that can be read again for each file: an iterator becomes a list."""
    return list(expressions) if isinstance(expressions, Iterator) else expressions


def _uses_entries(text: Any) -> bool:
    """Whether an expression counts the entries of all files."""
    return isinstance(text, str) and re.search(r"(?<!Local)Entries\$", text) is not None


class _Files:
    """A friend of all files: its own files, one after another."""

    def __init__(self, name: Any, of: Any, opening: dict[str, Any]) -> None:
        index: Any = None
        if isinstance(of, tuple) and len(of) == 2 and not isinstance(of[1], (str, bytes)):
            of, index = of
        self.name, self.index = friends_module.check_name(name), friends_module.check_index(index)
        self.sources = paths.expand(of, network=opening["network"])
        self.opening = opening
        #: Whether entries are matched by an index; not known before the first file is open.
        self.by_index: bool | None = True if self.index else index
        self._open: list[tuple[int, int, paths.Source, Any]] = []
        self._next = self._end = 0
        self._whole: Friend | None = None

    def over(self, first: int, stop: int) -> Friend:
        """The friend of entries ``first`` to ``stop`` of all files."""
        if self._is_by_index():
            if self._whole is None:
                self._hold()
                trees = [tree for _, _, _, tree in self._open]
                self._whole = Friend(self.name, trees, 0, self.index)
            return self._whole
        held = self._held(first, stop)
        return Friend(self.name, [tree for _, _, _, tree in held], first - held[0][0], False)

    def span(self, first: int, stop: int) -> FriendSpan:
        """The same, as what a worker opens itself."""
        if self._is_by_index():
            return FriendSpan(self.name, self.sources, 0, self.index)
        held = self._held(first, stop)
        return FriendSpan(self.name, [source for _, _, source, _ in held], first - held[0][0], False)

    def _held(self, first: int, stop: int) -> list[tuple[int, int, paths.Source, Any]]:
        """The trees with these entries: those before are closed. At least one, so that names have types."""
        self._hold(stop)
        while len(self._open) > 1 and self._open[0][1] <= first:
            _, _, source, tree = self._open.pop(0)
            close(source, tree)
        return self._open

    def close(self) -> None:
        """Closes its files. What is asked for later opens them again."""
        for _, _, source, tree in self._open:
            close(source, tree)
        self._open, self._next, self._end, self._whole = [], 0, 0, None

    def _is_by_index(self) -> bool:
        if self.by_index is None:
            self._hold(1)
            self.by_index = friends_module.has_index(self._open[0][3])
        return self.by_index

    def _hold(self, stop: int | None = None) -> None:
        """Opens the files of entries up to this one, or all."""
        while self._next < len(self.sources) and (stop is None or self._end < stop):
            source = self.sources[self._next]
            tree = open_tree(source, self.opening)
            self._open.append((self._end, self._end + tree.tree.num_entries, source, tree))
            self._end, self._next = self._open[-1][1], self._next + 1
            if self.index is None and self.by_index is False and friends_module.has_index(tree):
                raise MismatchError(
                    f"the friend {self.name!r} has a tree with an index in {source.file}, and none in its first "
                    f"file: {{{self.name!r}: (files, ('run', 'event'))}} builds one, and (files, False) matches "
                    "entries by number"
                )


@contextmanager
def opened(spans: list[FriendSpan], opening: dict[str, Any]) -> Iterator[list[Friend]]:
    """Friends that a worker opens, and that are closed behind it."""
    trees: list[tuple[paths.Source, Any]] = []
    try:
        found = []
        for span in spans:
            first = len(trees)
            for source in span.sources:
                trees.append((source, open_tree(source, opening)))
            found.append(Friend(span.name, [tree for _, tree in trees[first:]], span.first, span.by))
        yield found
    finally:
        for source, tree in trees:
            close(source, tree)


def open_tree(source: paths.Source, options: dict[str, Any], default: tuple[str, ...] = ()) -> Any:
    """The tree of a source; where none is named, the first of ``default`` that is there, or the only one."""
    if hasattr(source.file, "num_entries"):
        return source.file
    found_in = files_module.open_file(source.file, **options)
    try:
        found = _tree(found_in, source.object, default)
        refuse_chain(found, source, options.get("network"))
        if not hasattr(found, "num_entries"):
            raise MismatchError(f"{source.object!r} is no tree{place(found_in.file_path, source.object)}")
        return found
    except (NotFoundError, StoredChainError):
        found_in.close()
        raise


def without_chains(sources: list[paths.Source], options: dict[str, Any]) -> list[paths.Source]:
    """The sources, with the files of stored chains instead of these: each is opened."""
    for source in sources:
        if source.object is None:
            continue
        try:
            close(source, open_tree(source, options))
        except StoredChainError as error:
            sources = replaced(sources, source, error)
        except (NotFoundError, MissingFileError):
            continue  # Whoever reads it decides whether it may be left out.
    return sources


def _tree(opened: Any, path: str | None, default: tuple[str, ...]) -> Any:
    path = next((one for one in default if one in opened), None) if path is None else path
    if path is not None:
        return opened[path]
    names = opened._names_of_trees()
    if len(names) == 1:
        return opened[names[0]]
    if not names:
        raise not_found("not found: there is no tree", opened.file_path)
    listed = ", ".join(repr(name) for name in names[:10])
    named = f"{opened.file_path}:{names[0]}"
    raise MismatchError(
        f"{opened.file_path} has several trees ({listed}): say which, as {named!r} or {{{opened.file_path!r}: {names[0]!r}}}"
    )


def close(source: Any, tree: Any) -> None:
    """Closes a file that was opened here, and not one that was given open."""
    if tree is not None and tree is not source.file:
        tree.tree.close()


def check_fill(fill: Mapping[str, Any] | None) -> dict[str, str]:
    """What stands in for branches that a file lacks, as expressions."""
    texts = {}
    for name, value in (fill or {}).items():
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise TypeError(f"fill={{{name!r}: ...}} is a number for each entry, not {value!r}")
        value = int(value) if isinstance(value, numbers.Integral) else float(value)
        texts[name] = "0./0." if value != value else repr(value).replace("inf", "(1./0.)")
    return texts


class Types:
    """Checks that branches hold what they do in the first file.

    Values of another sort in a later file are an error, and so are numbers of another width unless ``widen``
    allows them.
    """

    def __init__(self, widen: bool) -> None:
        self.widen = widen
        self._known: dict[str, tuple[str, str]] = {}
        self._sorts: dict[str, tuple[str, str]] = {}

    def check(self, tree: Any, branches: Mapping[str, Any]) -> None:
        """Compares branches, by the names that they have in the answer."""
        path = str(tree.tree.file_path)
        for name, branch in branches.items():
            kind = branch.interpretation.kind
            if not kind:
                continue
            sort = _sort(kind)
            first, where = self._sorts.setdefault(name, (sort, path))
            if first != sort:
                raise MismatchError(
                    f"files hold values of different types under one name: the branch {name!r} holds {sort} in {path} "
                    f"and {first} in {where}: read them one by one, or name what all have in common"
                )
            own = _number(kind)
            if own is None or self.widen:
                continue
            first, where = self._known.setdefault(name, (own, path))
            if first != own:
                raise MismatchError(
                    f"the branch {name!r} holds {own} in {path} and {first} in {where}: with widen=True "
                    "each file's numbers are read as they are, and the widest of them hold the answer"
                )


def _sort(kind: tuple[Any, ...]) -> str:
    """The sort of a column's values in words: lists of what, whatever the width of numbers.

    >>> _sort(("list", ("number", 0, "float32"))), _sort(("text", 1))
    ('lists of numbers', 'texts')
    """
    depth = 0
    while kind[0] in ("list", "fixed"):
        depth, kind = depth + 1, kind[-1]
    return "lists of " * depth + {"number": "numbers", "text": "texts"}.get(kind[0], "objects")


def _number(kind: tuple[Any, ...]) -> str | None:
    """The type of the numbers of a column of numbers, in lists of any depth."""
    while kind[0] in ("list", "fixed"):
        kind = kind[-1]
    return str(kind[2]) if kind[0] == "number" else None
