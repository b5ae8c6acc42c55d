"""What trees and branches have in common: a mapping from names to branches, and reading several of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from sapwood._file import sizes
from sapwood._read import instances, reading, stream
from sapwood._read.compat_kwargs import Foreign, ignore
from sapwood._read.filters import Filter, as_match
from sapwood._read.lumi_mask import LumiMask
from sapwood._read.record import HasRecord
from sapwood._read.virtual import arrays as virtual_arrays
from sapwood._tree import iteration
from sapwood.errors import MismatchError, near, not_found
from sapwood.models.entry_list import as_numbers

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from sapwood._tree.branch import Branch
    from sapwood._tree.tree import Tree

BranchFilter = Callable[["Branch"], bool]
T = TypeVar("T")


class HasBranches(HasRecord):
    """A mapping from names of branches to branches.

    It has the methods of a mapping and is none by type: libraries would take it for a dictionary of columns
    before they see that it speaks Arrow.

    ``keys``, ``values``, ``items`` and ``typenames`` go depth first, in the order of the file, and take
    filters: ``filter_name`` sees a branch's name, its path, and its path with a leading slash;
    ``filter_typename`` the type in C++ words; ``filter_branch`` is a function of the branch. A filter is a
    function, a name, a glob, a regular expression between slashes that must match from the beginning
    (``"/mu.*/i"``), or several of these, of which one must match.
    """

    _id: int | None = None
    _path_in_tree = ""
    # What stands between the names of a path.
    _separator = "/"
    # Whether the values of one hold those of all below it.
    _is_whole = False

    @property
    def _below(self) -> Sequence[int]:
        """Numbers of the branches directly below."""
        raise NotImplementedError

    @property
    def _children(self) -> list[Branch]:
        branch = self.tree._branch
        return [branch(id) for id in self._below]

    @property
    def branches(self) -> list[Branch]:
        """The branches directly below, in the order of the file."""
        return self._children

    @property
    def tree(self) -> Tree:
        """The tree."""
        raise NotImplementedError

    @property
    def object_path(self) -> str:
        """Its path in the file."""
        raise NotImplementedError

    @property
    def file_path(self) -> str:
        """Name of the file."""
        return self.tree.file.file_path

    @property
    def aliases(self) -> dict[str, str]:
        """Names of expressions that the tree brings along, and the expressions."""
        return self.tree.aliases

    # ---- names

    def iteritems(
        self,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: BranchFilter | None = None,
        recursive: bool = True,
        full_paths: bool = True,
        ignore_duplicates: bool = False,
    ) -> Iterator[tuple[str, Branch]]:
        """Names and branches, as :meth:`items`."""
        named = self._named(filter_name, filter_typename, filter_branch, recursive, full_paths)
        seen: set[str] = set()
        for name, id, branch in named:
            if ignore_duplicates:
                if name in seen:
                    continue
                seen.add(name)
            yield name, self.tree._branch(id) if branch is None else branch

    def _named(
        self,
        filter_name: Filter,
        filter_typename: Filter,
        filter_branch: BranchFilter | None,
        recursive: bool,
        full_paths: bool,
    ) -> Iterator[tuple[str, int, Branch | None]]:
        """Names and numbers of branches, and the branches themselves where a filter looked at them."""
        name_passes, type_passes = as_match(filter_name), as_match(filter_typename)
        if filter_branch is not None and not callable(filter_branch):
            raise TypeError(f"filter_branch is None or a function of a branch, not {filter_branch!r}")
        outline, make, separator = self.tree._outline, self.tree._branch, self._separator
        names, below = outline.names, outline.below
        todo = [(names[id], id) for id in reversed(self._below)]
        while todo:
            path, id = todo.pop()
            name = names[id]
            if recursive and below[id]:
                todo.extend((f"{path}{separator}{names[child]}", child) for child in reversed(below[id]))
            if name_passes is not None and not (
                name_passes(name) or (path != name and name_passes(path)) or name_passes("/" + path)
            ):
                continue
            branch: Branch | None = None
            if type_passes is not None or filter_branch is not None:
                branch = make(id)
                if type_passes is not None and not type_passes(branch.typename):
                    continue
                if filter_branch is not None and not filter_branch(branch):
                    continue
            yield path if full_paths else name, id, branch

    def iterkeys(
        self,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: BranchFilter | None = None,
        recursive: bool = True,
        full_paths: bool = True,
        ignore_duplicates: bool = False,
    ) -> Iterator[str]:
        """Names, as :meth:`keys`."""
        named = self._named(filter_name, filter_typename, filter_branch, recursive, full_paths)
        names = (name for name, _, _ in named)
        return iter(dict.fromkeys(names)) if ignore_duplicates else names

    def keys(
        self,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: BranchFilter | None = None,
        recursive: bool = True,
        full_paths: bool = True,
        ignore_duplicates: bool = False,
    ) -> list[str]:
        """Names of the branches; of those below them too if ``recursive``, then as paths if
        ``full_paths``."""
        return list(
            self.iterkeys(
                filter_name=filter_name,
                filter_typename=filter_typename,
                filter_branch=filter_branch,
                recursive=recursive,
                full_paths=full_paths,
                ignore_duplicates=ignore_duplicates,
            )
        )

    def itervalues(
        self,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: BranchFilter | None = None,
        recursive: bool = True,
    ) -> Iterator[Branch]:
        """The branches themselves."""
        for _, branch in self.iteritems(
            filter_name=filter_name,
            filter_typename=filter_typename,
            filter_branch=filter_branch,
            recursive=recursive,
            full_paths=False,
        ):
            yield branch

    def values(
        self,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: BranchFilter | None = None,
        recursive: bool = True,
    ) -> list[Branch]:
        """The branches themselves."""
        return list(
            self.itervalues(
                filter_name=filter_name,
                filter_typename=filter_typename,
                filter_branch=filter_branch,
                recursive=recursive,
            )
        )

    def items(
        self,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: BranchFilter | None = None,
        recursive: bool = True,
        full_paths: bool = True,
        ignore_duplicates: bool = False,
    ) -> list[tuple[str, Branch]]:
        """Names and branches."""
        return list(
            self.iteritems(
                filter_name=filter_name,
                filter_typename=filter_typename,
                filter_branch=filter_branch,
                recursive=recursive,
                full_paths=full_paths,
                ignore_duplicates=ignore_duplicates,
            )
        )

    def itertypenames(
        self,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: BranchFilter | None = None,
        recursive: bool = True,
        full_paths: bool = True,
    ) -> Iterator[tuple[str, str]]:
        """Names and types in C++ words."""
        for name, branch in self.iteritems(
            filter_name=filter_name,
            filter_typename=filter_typename,
            filter_branch=filter_branch,
            recursive=recursive,
            full_paths=full_paths,
        ):
            yield name, branch.typename

    def typenames(
        self,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: BranchFilter | None = None,
        recursive: bool = True,
        full_paths: bool = True,
    ) -> dict[str, str]:
        """Type of each branch in C++ words; ``unknown`` where it cannot be decoded."""
        return dict(
            self.itertypenames(
                filter_name=filter_name,
                filter_typename=filter_typename,
                filter_branch=filter_branch,
                recursive=recursive,
                full_paths=full_paths,
            )
        )

    def _find(self, where: str) -> Branch | None:
        """A branch by name or path; by name the one directly below, else the first one depth first."""
        recursive = not where.startswith("/")
        name = where if recursive else where[1:].rstrip("/")
        found = self._direct(name)
        if found is not None:
            return found
        if self._separator in name or "/" in name:
            at: HasBranches | None = self
            for piece in name.replace(self._separator, "/").split("/"):
                at = at._find(piece) if piece and at is not None else None
            return at  # type: ignore[return-value]
        return self._anywhere(name) if recursive else None

    def _direct(self, name: str) -> Branch | None:
        found = self._anywhere(name)
        # A branch directly below comes before all others of its name.
        return found if found is not None and found.parent == self else None

    def _is_exact(self, name: str) -> bool:
        """Whether a branch directly below has this name, or any this path."""
        found = self._find(name)
        return found is not None and (
            found.parent == self
            or found.path == name.strip("/").replace("/", self._separator)
            or (found.name == name and "." in name)  # as ROOT names branches of split objects
        )

    def _anywhere(self, name: str) -> Branch | None:
        found = self.tree._outline.meant(self._id).get(name)
        return None if found is None else self.tree._branch(found)

    def __getitem__(self, where: Any) -> Branch:
        if isinstance(where, int) and not isinstance(where, bool):
            return self.tree._branch(self._below[where])
        if not isinstance(where, str):
            raise TypeError(f"branches are named by a string or counted by a whole number, not {where!r}")
        found = self._find(where)
        if found is None:
            names = [branch.name for branch in self.itervalues()] if "/" not in where else self.keys()
            message = f"not found: no branch {where!r}{near(where, names)}{self.tree._friendly_words}"
            raise not_found(message, self.file_path, self.object_path)
        return found

    def get(self, where: Any, default: Any = None) -> Any:
        """The branch of a name; ``default`` where there is none."""
        found = self._find(where) if isinstance(where, str) else None
        return default if found is None else found

    def __contains__(self, where: object) -> bool:
        return isinstance(where, str) and self._find(where) is not None

    def __iter__(self) -> Iterator[Any]:
        # Branches and not names, as in uproot.
        return iter(self._children)

    def __len__(self) -> int:
        return len(self._below)

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def _ipython_key_completions_(self) -> list[str]:
        return self.keys()

    def show(
        self,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: BranchFilter | None = None,
        recursive: bool = True,
        full_paths: bool = True,
        name_width: int = 20,
        typename_width: int = 24,
        interpretation_width: int = 30,
        stream: TextIO | None = None,
    ) -> None:
        """Writes a table of branches: name, type in C++ words, how they are read."""
        widths = (name_width, typename_width, interpretation_width)
        if min(widths) < 3:
            raise ValueError("columns of the table must be at least 3 wide")

        def line(*cells: str) -> str:
            cut = [
                cell if len(cell) <= wide else cell[: wide - 3] + "..." for cell, wide in zip(cells, widths)
            ]
            return " | ".join(cell.ljust(wide) for cell, wide in zip(cut, widths))

        out = stream if stream is not None else sys.stdout
        out.write(line("name", "typename", "interpretation") + "\n")
        out.write("-+-".join("-" * wide for wide in widths) + "\n")
        rows = self.iteritems(
            filter_name=filter_name,
            filter_typename=filter_typename,
            filter_branch=filter_branch,
            recursive=recursive,
            full_paths=full_paths,
        )
        itself: list[tuple[str, Any]] = []
        if self.tree is not self:
            itself.append((self.name, self))  # type: ignore[attr-defined]
        for name, branch in (*itself, *rows):
            out.write(line(name, branch.typename, repr(branch.interpretation)).rstrip(" ") + "\n")

    # ---- values

    def arrays(
        self,
        expressions: Any = None,
        cut: str | None = None,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: BranchFilter | None = None,
        aliases: dict[str, str] | None = None,
        entry_start: int | None = None,
        entry_stop: int | None = None,
        entries: Any = None,
        lumi_mask: Any = None,
        library: Any = "ak",
        how: Any = None,
        progress: bool | None = None,
        virtual: bool = False,
        access_log: Any = None,
        ak_add_doc: bool | Mapping[str, str] = False,
        **others: Unpack[Foreign],
    ) -> Any:
        """Reads branches, or computes expressions, for all entries or some of them.

        ``expressions`` is a string, a list of strings, or ``None`` for all branches that pass the filters:
        names of branches and aliases, and what is computed of them (see ``docs/expressions.md``).
        A mapping or pairs of branches and NumPy types look at numbers as another type, like
        :meth:`Branch.array`. Only branches that are named are read. ``cut`` is an expression, too: entries
        where it is false are left out, and of the other branches only the baskets are read in which entries
        survive; a cut on lists leaves out items.

        ``entry_start`` and ``entry_stop`` are entry numbers (negative: from the end); ``entries`` says more
        exactly which: a slice, a list of ``(start, stop)`` ranges, a mask, numbers, or a TEntryList or
        TEventList that was read. ``lumi_mask`` leaves only entries of certified luminosity sections: ``{run:
        [[first, last], ...]}``, the path of a "golden JSON" file with one, or a pair of one of these and the
        names of the two columns, which are ``("run", "luminosityBlock")`` otherwise. Only these are read to
        find the entries.

        ``library`` is ``"ak"`` (Awkward Array, zero-copy), ``"np"`` (dictionary of NumPy arrays), ``"pd"``
        (DataFrame), ``"pl"`` (polars.DataFrame) or ``"arrow"`` (pyarrow.Table). ``how`` is ``None``,
        ``tuple``, ``list`` or ``dict``; for Awkward Arrays also ``"zip"`` (lists of equal lengths become one
        array of records) or ``"records"`` (fields of one collection, or counted by the same branch, become
        one array of records).

        ``progress`` shows a line on long reads; by default only if standard error is a terminal. With
        ``virtual`` each branch is read when its values are first looked at; a list as ``access_log`` gets
        what was. ``ak_add_doc`` gives Awkward Arrays the title of their branch as the parameter ``__doc__``;
        a mapping like ``{"__doc__": "title", "typename": "typename"}`` names parameters and the properties of
        branches that they get.

        Shape: one row an entry that is wanted. Branches that cannot be decoded are left out unless they are
        named; those that lack some of the entries too, with a warning.

        Raises ``KeyError`` naming near branches, :class:`~sapwood.errors.ExpressionError`,
        :class:`~sapwood.errors.UnsupportedError`, :class:`~sapwood.errors.MalformedError`.
        """
        ignore(others, "arrays")
        if access_log is not None and not virtual:
            raise MismatchError("access_log cannot be used with 'virtual=False'")
        if virtual and any(one is not None for one in (expressions, cut, aliases)):
            raise MismatchError(
                "expressions, cut and aliases cannot be used with 'virtual=True', which reads whole branches"
            )
        filters = (filter_name, filter_typename, filter_branch)
        plan = reading.Plan(self, expressions, cut, *filters, aliases, ak_add_doc=ak_add_doc)
        selection = reading.select(
            self.tree.num_entries, entry_start, entry_stop, as_numbers(entries, self.tree)
        )
        mask = LumiMask.of(lumi_mask)
        if mask is not None:
            selection = mask.select(self.tree, selection)
        if virtual:
            return virtual_arrays(plan, selection, library, how, access_log)
        return reading.read(plan, selection, library, how, progress)

    def iterate(
        self,
        expressions: Any = None,
        cut: str | None = None,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: BranchFilter | None = None,
        aliases: dict[str, str] | None = None,
        entry_start: int | None = None,
        entry_stop: int | None = None,
        lumi_mask: Any = None,
        step_size: int | str = "100 MB",
        library: Any = "ak",
        how: Any = None,
        report: bool = False,
        progress: bool | None = None,
        ak_add_doc: bool | Mapping[str, str] = False,
        **others: Unpack[Foreign],
    ) -> Iterator[Any]:
        """Reads in steps, in the order of entries; the next step is read while you use the last.

        ``step_size`` is a number of entries, or a size like ``"100 MB"`` of the wanted branches once
        inflated: then steps end where clusters end, if one fits. With ``report``, each item is ``(arrays,
        report)`` and the :class:`~sapwood.Report` tells which entries these are. Libraries that
        speak Arrow take the iterator itself, as a stream with a batch for each step. The rest is as in
        :meth:`arrays`.
        """
        ignore(others, "iterate")
        filters = (filter_name, filter_typename, filter_branch)
        plan = reading.Plan(self, expressions, cut, *filters, aliases, ak_add_doc=ak_add_doc)
        entries = reading.bounds(self.tree.num_entries, entry_start, entry_stop)
        mask = LumiMask.of(lumi_mask)
        rows = None if mask is None else mask.rows(self.tree, *entries)
        answers = iteration.iterate(plan, entries, step_size, library, how, report, progress, rows)
        return stream.steps_of(plan, entries, step_size, answers, rows)

    def objects(
        self, kind: type[T], entry_start: int | None = None, entry_stop: int | None = None
    ) -> Iterator[T]:
        """Entries as objects of a dataclass, one after another, read cluster by cluster: those of a branch of
        objects, split or not; of a tree, whose branches are the members. Dataclasses are those that
        :meth:`sapwood.writing.WritableFile.mktree` takes, and lists or dicts of them.

        The class in the file may be another version. Members are found by name, in the object and its bases;
        a member that the file lacks gets the dataclass's default, one that the dataclass lacks is not read;
        numbers become those of the annotation where they fit. ``field(metadata={"was": "old"})`` gives the
        name, or the names, that a member had before.

        >>> import dataclasses, io, sapwood
        >>> @dataclasses.dataclass
        ... class Hit:
        ...     x: float
        ...     adc: int
        >>> memory = io.BytesIO()
        >>> with sapwood.recreate(memory) as file:
        ...     file.mktree("hits", {"hit": Hit}).extend({"hit": [Hit(0.5, 3), Hit(1.5, 4)]})
        >>> list(sapwood.open(memory)["hits/hit"].objects(Hit))
        [Hit(x=0.5, adc=3), Hit(x=1.5, adc=4)]
        >>> @dataclasses.dataclass
        ... class Pulse:
        ...     charge: float = dataclasses.field(metadata={"was": "adc"})
        ...     time: float = -1.0
        >>> list(sapwood.open(memory)["hits/hit"].objects(Pulse, entry_stop=1))
        [Pulse(charge=3.0, time=-1.0)]

        Raises :class:`~sapwood.errors.MismatchError`, naming class and member, where a type or value does not
        fit.
        """
        start, stop = reading.bounds(self.tree.num_entries, entry_start, entry_stop)
        return instances.instances(self.tree, self._path_in_tree, kind, start, stop)

    def num_entries_for(
        self,
        memory_size: int | str,
        expressions: Any = None,
        cut: str | None = None,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: BranchFilter | None = None,
        aliases: dict[str, str] | None = None,
        entry_start: int | None = None,
        entry_stop: int | None = None,
    ) -> int:
        """Entries whose wanted branches take ``memory_size`` (bytes, or ``"100 MB"``) once inflated; at least
        1."""
        plan = reading.Plan(self, expressions, cut, filter_name, filter_typename, filter_branch, aliases)
        first, last = reading.bounds(self.tree.num_entries, entry_start, entry_stop)
        return iteration.entries_for(plan.branches(), sizes.as_bytes(memory_size), first, last)

    def common_entry_offsets(
        self,
        *,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: BranchFilter | None = None,
        recursive: bool = True,
    ) -> list[int]:
        """Entry numbers at which a basket begins in every branch, and the end."""
        common: set[int] | None = None
        rows = self.itervalues(
            filter_name=filter_name,
            filter_typename=filter_typename,
            filter_branch=filter_branch,
            recursive=recursive,
        )
        itself: tuple[Any, ...] = () if self.tree is self else (self,)
        for branch in (*itself, *rows):
            if branch.num_baskets:
                own = set(branch.entry_offsets)
                common = own if common is None else common & own
        return [0] if common is None else sorted(common)

    def __arrow_c_schema__(self) -> Any:
        """Schema of the columns, for libraries that speak Arrow."""
        return stream.schema(self)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Columns in batches, for libraries that speak Arrow: ``polars.DataFrame(tree)``,
        ``pyarrow.table(tree)``.

        All branches that Arrow has a type for, under their own names. Lists and strings have 64-bit offsets;
        a batch is read when it is asked for. ``requested_schema`` is ignored.
        """
        return stream.stream(self)
