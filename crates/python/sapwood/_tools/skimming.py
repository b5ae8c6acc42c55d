"""Skims: selected entries and columns of many files, with new columns, as one tree."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

from sapwood import writing
from sapwood._file import file as files_module
from sapwood._read import reading, stated_types
from sapwood._read.chain import Chain, from_chain, listed, without_chains
from sapwood._read.filters import as_match
from sapwood._read.multi_file import concatenate, iterate
from sapwood._remote import network, paths
from sapwood._tools.skim_layout import Layout
from sapwood._tree.branch import Branch
from sapwood._tree.ntuple import NTuple
from sapwood._write.staged import staged
from sapwood.compression import by_name
from sapwood.errors import MismatchError, NotFoundError

#: Options that choose among all branches.
_FILTERS = ("filter_name", "filter_typename", "filter_branch")


def skim(
    files: Any,
    output: str | os.PathLike[str],
    columns: Iterable[str] | Mapping[str, str] | None = None,
    cut: str | None = None,
    *,
    tree: str | None = None,
    format: str = "ttree",
    compression: Any = "zstd:5",
    random_access: Any = None,
    aliases: Mapping[str, str] | None = None,
    step_size: int | str = "100 MB",
    **options: Any,
) -> int:
    """Writes the entries of many files that pass a cut into a tree of a new file (``Snapshot`` of
    RDataFrame); gives how many these were. A file of that name is replaced.

    ``tree`` is the name of the new tree; without it, that of the first one that is read. ``columns`` are
    names of branches, or a mapping from names of new branches to expressions; all branches without it. With
    a mapping, ``filter_name`` and its kin add the branches that pass: ``filter_name="*"`` for all of them.
    Branches that are taken as they are keep their type, and lists their counter; members of objects become
    branches.
    Entries are read and written in steps of ``step_size``, and compressed while the next ones are read;
    ``compression`` is a setting, or a mapping from names or globs of columns to settings, and so is
    ``random_access``, as :meth:`~sapwood.writing.WritableDirectory.mktree` takes it. With
    ``format="rntuple"`` the file holds an RNTuple, which has no blocks. The output gets its name when all is
    written: what fails leaves nothing. It may be a URL that :func:`sapwood.recreate` takes. Further options
    are those of :func:`sapwood.iterate`; those of the network are for the output, too.

    >>> import os, sapwood, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with sapwood.recreate(os.path.join(folder, "in.root")) as file:
    ...     file["t"] = {"x": [1.0, -2.0, 3.0], "v": [[1.0], [2.0, 3.0], []]}
    >>> sapwood.skim(
    ...     os.path.join(folder, "in.root:t"),
    ...     os.path.join(folder, "out.root"),
    ...     {"x": "x", "sum_v": "Sum$(v)"},
    ...     cut="x > 0",
    ... )
    2
    >>> sapwood.open(os.path.join(folder, "out.root"))["t"].arrays(library="np")["sum_v"].tolist()
    [1.0, 0.0]
    """
    if format not in ("ttree", "rntuple"):
        raise MismatchError(f'format is "ttree" or "rntuple", not {format!r}')
    taken = sorted({"how", "library", "report"} & options.keys())
    if taken:
        raise TypeError(f"skim() decides about {taken[0]!r} itself")
    if columns is not None and not columns:
        raise MismatchError("no column is named: leave columns out for all branches")
    if format == "rntuple" and random_access is not None:
        raise MismatchError("random_access is for trees: an RNTuple has pages instead of baskets")
    target, columns = os.fspath(output), listed(columns)
    files = list(files) if isinstance(files, Iterator) else files
    over = network.take_options(dict(options))
    _refuse_input(files, target, over)
    filters = {name: options.pop(name) for name in _FILTERS if name in options}
    named = columns if isinstance(columns, Mapping) else None
    if named is not None and filters:
        named = {**{name: name for name in _names(files, filters, options)}, **named}
    elif columns is None:
        options |= filters
    elif named is None and filters:
        raise TypeError(
            "filters are for all branches, or go with a mapping of new columns: name columns or filter them"
        )
    if columns is None and cut is not None:
        columns = _without_counters(files, cut, filters, options)
    wanted = list(dict.fromkeys(named.values())) if named is not None else columns
    about: dict[str, Any] = {"aliases": dict(aliases or {}), "how": dict, **options}
    passed = 0
    into: Any = None
    first_types: dict[str, str] | None = None
    first_names: list[str] | None = None
    setting = by_name(compression)[0] or "zstd:5"
    with staged(target, over) as partial, writing.recreate(partial, compression=setting) as file:

        def begin(source: Any, values: Mapping[str, Any], texts: Mapping[str, str]) -> Any:
            if not values and filters:
                said = ", ".join(f"{name}={reprlib.repr(filter)}" for name, filter in filters.items())
                raise NotFoundError(f"no branch passes {said} (object {source.object_path})")
            name = tree or source.name
            # Each member of a record becomes a branch.
            splits = isinstance(source.tree, NTuple) and format == "ttree"
            title = stated_types.kept(
                source.tree.title, _branches_of(source, texts), "_" if splits else "."
            )
            if format == "rntuple":
                return file.mkrntuple(name, values, title, compression=compression)
            blocks = "off" if random_access is None else random_access
            layout = Layout(source, texts)
            made = file.mktree(
                name,
                layout.types(values),
                title,
                counter_name=layout.counter,
                compression=compression,
                random_access=blocks,
                branch_titles=layout.titles(),
            )
            made.extend(layout.stored(values))
            return _Skimmed(made, layout)

        for step, report in iterate(files, wanted, cut, step_size=step_size, report=True, **about):
            texts = _texts(report.source, step, named)
            values = {name: step[text] for name, text in texts.items()}
            first_names = list(values) if first_names is None else first_names
            if values.keys() != set(first_names):
                _refuse_other_names(report.source, first_names, values)
            compared = texts if cut is None else {**texts, _CUT: cut}
            types = _types(report.source, compared, about["aliases"])
            first_types = types if first_types is None else first_types
            if types != first_types:
                _refuse_other_types(report.source, first_types, types)
            passed += len(next(iter(values.values()), ()))
            if into is None:
                into = begin(report.source, values, texts)
            else:
                into.extend(values)
        if into is None:
            # No file has entries: a tree of the same branches without any.
            with _first(files, options) as source:
                step = concatenate(files, wanted, cut, **about)
                texts = _texts(source, step, named)
                begin(source, {name: step[text] for name, text in texts.items()}, texts)
    return passed


def _texts(source: Any, names: Iterable[str], named: Mapping[str, str] | None) -> dict[str, str]:
    """New columns and what each is read from. A member of an object that is an array has its extents in its name
    (``a[3]``), which the new leaf gets from the values."""
    if named is not None:
        return dict(named)
    names = list(names)
    short = [name.partition("[")[0] if _is_array_member(source, name) else name for name in names]
    return {one if short.count(one) == 1 else name: name for one, name in zip(short, names)}


def _branches_of(source: Any, texts: Mapping[str, str]) -> dict[str, str]:
    """The columns that are branches as they are, not computed."""
    return {name: text for name, text in texts.items() if source._find(text) is not None}


#: Stands for the cut among the columns; no column has such a name.
_CUT = "\0cut"


def _types(source: Any, texts: Mapping[str, str], aliases: Mapping[str, str]) -> dict[str, str]:
    """The types of dates and bytes among the columns, and those of the branches that others are computed of. Most trees
    have none, and need no look at each column."""
    title = source.tree.title
    if not stated_types.stated(title):
        return {}
    found = stated_types.of_columns(title, _branches_of(source, texts))
    for name, text in texts.items():
        if source._find(text) is None:
            kinds = stated_types.of_expression(source, text, aliases)
            if kinds:
                found[name] = kinds
    return found


def _refuse_other_names(source: Any, first: Iterable[str], names: Iterable[str]) -> NoReturn:
    """Raises for a file with other branches than the first one."""
    missing = [name for name in first if name not in names]
    more = [name for name in names if name not in first]
    name = [*missing, *more][0]
    which = "the file lacks" if missing else "files before this one lack"
    way = f"name columns that all files have, or give a number (fill={{{name!r}: 0}})"
    raise MismatchError(f"{which} the branch {name!r}: {way} (file {source.tree.file_path})")


def _refuse_other_types(source: Any, first: Mapping[str, str], types: Mapping[str, str]) -> NoReturn:
    """Raises for whole numbers that are dates, or bytes, in one file, and others in the next."""
    name = next(name for name in {**first, **types} if first.get(name) != types.get(name))
    what = "the cut" if name == _CUT else repr(name)
    raise MismatchError(
        f"{what} has values of type {types.get(name, 'numbers')} here, and of {first.get(name, 'numbers')} in the files "
        f"before: convert them to one type first (file {source.tree.file_path})"
    )


def _is_array_member(source: Any, name: str) -> bool:
    branch = source._find(name) if name.endswith("]") else None
    return isinstance(branch, Branch) and {leaf[1] for leaf in branch._row["leaves"]} == {"TLeafElement"}


class _Skimmed:
    """The tree of a skim."""

    def __init__(self, tree: Any, layout: Layout) -> None:
        self._tree, self._layout = tree, layout

    def extend(self, values: Mapping[str, Any]) -> None:
        """Adds rows."""
        self._tree.extend(self._layout.stored(values))


@contextmanager
def _first(files: Any, options: Mapping[str, Any]) -> Iterator[Any]:
    """The first tree that is there."""
    apart = {
        "fill",
        "widen",
        "friends",
        "lumi_mask",
        "entries",
        "ak_add_doc",
        "progress",
        "allow_missing",
        *_FILTERS,
    }
    opening = {name: value for name, value in options.items() if name not in apart}
    chain = Chain("skim", files, opening, allow_missing=bool(options.get("allow_missing")))
    members = chain.members()
    try:
        member = next(members, None)
        if member is None:
            raise MismatchError("no file has a tree: nothing says what the skim would hold")
        yield member.tree
    finally:
        members.close()  # type: ignore[attr-defined]


def _names(files: Any, filters: Mapping[str, Any], options: Mapping[str, Any]) -> list[str]:
    """The branches of the first tree that pass filters."""
    with _first(files, options) as tree:
        names = [output.name for output in reading.Plan(tree, **filters).outputs]
        passes = as_match(filters.get("filter_name")) if set(filters) <= {"filter_name"} else None
        filled = [name for name in options.get("fill") or () if passes is not None and passes(name)]
        return list(dict.fromkeys([*names, *filled]))


def _without_counters(
    files: Any, cut: str, filters: Mapping[str, Any], options: Mapping[str, Any]
) -> list[str] | None:
    """Where a cut leaves out items, all branches but those that count the lists of others: lists count anew."""
    with _first(files, options) as tree:
        plan = reading.Plan(tree, None, cut, **filters)
        if not plan.cut_on_items:
            return None
        counters = {branch.count_branch.name for branch in tree.values() if branch.count_branch is not None}
        return [output.name for output in plan.outputs if output.name not in counters]


def _refuse_input(files: Any, target: str, over: Mapping[str, Any]) -> None:
    """Refuses to write over what is read."""
    sources = paths.expand(from_chain(files), network=over)
    if os.path.exists(target):
        # A stored chain may list the target.
        sources = without_chains(sources, {**files_module.check_options(0), "network": over})
    paths.refuse_input(target, [getattr(source.file, "file_path", source.file) for source in sources])


__all__ = ["skim"]
