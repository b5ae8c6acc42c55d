"""From expressions to values: what is wanted, what must be read for it, and reading just that."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood import _core
from sapwood._notices import warn
from sapwood._read import ak_docs, libraries
from sapwood._read import progress as progress_bar
from sapwood._read.entry_ranges import EntryRanges
from sapwood._read.filters import Filter
from sapwood._read.libraries import Library, Loaded, as_library
from sapwood._read.selection import Range, Selection, bounds, of_rows, select
from sapwood.errors import (
    ExpressionError,
    MismatchError,
    NameConflictWarning,
    NotFoundError,
    SapwoodError,
    UnsupportedError,
    not_found,
    place,
)
from sapwood.interpretation import AsDtype, AsJagged, Grouped, InPlace, Interpretation, Unknown

if TYPE_CHECKING:
    from sapwood._read.branches import HasBranches
    from sapwood._read.friends import Friend
    from sapwood._tree.branch import Branch
    from sapwood._tree.tree import Tree

__all__ = ["Plan", "bounds", "read", "read_branch", "select", "wrap"]


#: What looks like a pattern of names, and is no expression.
_PATTERN = re.compile(r"[\w./]*[*?][\w./*?]*")


def is_pattern(text: str) -> bool:
    """Whether a text looks like a pattern of names (`x*y` does, too)."""
    return _PATTERN.fullmatch(text) is not None


class Output:
    """A field of the answer: a branch, with a NumPy type if it is to be looked at as another, or an
    expression."""

    __slots__ = ("branch", "dtype", "name")

    def __init__(self, name: str, branch: Branch | None, dtype: Any = None) -> None:
        self.name, self.branch, self.dtype = name, branch, dtype


#: The name of what a cut on items is, among the values: no expression is empty.
_CONDITION = ""


def used_aliases(over: HasBranches, aliases: Mapping[str, str] | None) -> dict[str, str]:
    """Aliases, without those that have the name or the path of a branch: the branch is meant, as in uproot, and a
    warning says so. The name alone of what is in another branch leads there only where no alias has it."""
    used = {}
    for name, text in (aliases or {}).items():
        if not over._is_exact(name):
            used[name] = text
            continue
        warn(
            f"the alias {name!r} has the name of a branch, and the branch is taken: give it another name",
            NameConflictWarning,
            stacklevel=4,
        )
    return used


class Plan:
    """What is wanted of a tree, in the order of the answer."""

    def __init__(
        self,
        over: HasBranches,
        expressions: Any = None,
        cut: str | None = None,
        filter_name: Filter = None,
        filter_typename: Filter = None,
        filter_branch: Any = None,
        aliases: Mapping[str, str] | None = None,
        friends: Iterable[Friend] = (),
        ak_add_doc: Any = False,
        more: Iterable[str] = (),
    ) -> None:
        """``more`` are expressions that are added if all branches are wanted."""
        self.over = over
        self.ak_add_doc = ak_docs.check(ak_add_doc)
        self.friends = list(friends)
        self.tree = over.tree
        self.aliases = used_aliases(over, aliases)
        self.is_everything = expressions is None
        if expressions is None:
            self.outputs = self._everything(filter_name, filter_typename, filter_branch)
            self.outputs += [self._output(text) for text in more]
        else:
            texts = [expressions] if isinstance(expressions, str) else expressions
            if not isinstance(texts, Iterable):
                raise TypeError(
                    "expressions are a string, a list of strings or of (branch, type) pairs, a mapping from branches to types, or "
                    f"None, not {expressions!r}"
                )
            items = list(texts.items() if isinstance(texts, Mapping) else texts)
            self.outputs = [
                self._typed_output(*item)
                if isinstance(item, tuple) and len(item) == 2
                else self._output(item)
                for item in items
            ]
            types: dict[str, Any] = {}
            for output in self.outputs:
                if types.setdefault(output.name, output.dtype) != output.dtype:
                    raise MismatchError(f"{output.name!r} is asked for as two types: read each by itself")
        if cut is not None and not isinstance(cut, str):
            raise TypeError(f"a cut is a string, not {cut!r}")
        self.cut = cut
        self._values = list(dict.fromkeys(output.name for output in self.outputs if output.branch is None))
        # What the engine computes; nothing where branches are read as they are.
        self._query = self.query(self._values, cut) if self._values or cut is not None else None
        if self._query is not None and self._query.cut_depth:
            # A cut on items leaves out items, and no entries.
            self._query = self.query(self._values, None, cut)
            self.cut_on_items = True
        else:
            self.cut_on_items = False

    def query(self, values: list[str], cut: str | None, condition: str | None = None) -> Any:
        """Expressions and a cut, as the engine computes them; and a condition on items, as its last value."""
        below = None if self.over is self.tree else self.over._id
        try:
            return self.tree._with_friends(
                lambda friends: _core.Query(
                    self.tree._core, values, cut, list(self.aliases.items()), below, friends, condition
                ),
                self.friends,
            )
        except NotFoundError as error:
            # The engine names the tree; users know it by its path, or a branch that they looked below.
            message = str(error).removesuffix(place(error.file, error.object))
            raise not_found(message, self.over.file_path, self.over.object_path) from error.__cause__
        except ExpressionError as error:
            if any(is_pattern(text) for text in [*values, cut or condition or ""]):
                raise ExpressionError(f"{error}; patterns of names go to filter_name=") from None
            raise

    def _typed_output(self, text: Any, interpretation: Any) -> Output:
        """A branch that is looked at as another type; ``None`` for its own."""
        output = self._output(text)
        if isinstance(interpretation, InPlace) and output.branch is not None:
            return Output(output.name, output.branch, interpretation)
        dtype = dtype_of(interpretation)
        if dtype is None:
            return output
        if output.branch is None:
            raise MismatchError(f"{text!r} is computed: only a branch can be looked at as {dtype}")
        return Output(output.name, output.branch, dtype)

    def _output(self, text: Any) -> Output:
        if not isinstance(text, str):
            raise TypeError(f"an expression is a string, not {text!r}")
        return Output(text, None if text in self.aliases else self.over._find(text))

    def _everything(self, filter_name: Filter, filter_typename: Filter, filter_branch: Any) -> list[Output]:
        """Branches with values, each under its own name; a group only where not all of what is below it
        passes."""
        plain: list[Branch] = []
        groups: list[Branch] = []
        rows = self.over.itervalues(
            filter_name=filter_name, filter_typename=filter_typename, filter_branch=filter_branch
        )
        for branch in rows:
            found = branch.interpretation
            if isinstance(found, Grouped):
                groups.append(branch)
            elif not isinstance(found, Unknown):
                plain.append(branch)
        if not plain and not groups and self.over is not self.tree and not self.over._below:
            # A branch without others below it stands for itself.
            if filter_branch is None or filter_branch(self.over):
                plain.append(self.over)  # type: ignore[arg-type]
        passed = {branch._id for branch in plain}
        if self.tree._is_whole:
            tops = [branch for branch in plain if not any(above._id in passed for above in _above(branch))]
            return [Output(branch.path, branch) for branch in tops]
        whole: list[Branch] = []
        inside: set[int] = set()
        for group in groups:
            leaves = [leaf._id for leaf in values_below(group)]
            if not leaves or passed.issuperset(leaves) or group._id in inside:
                continue
            inside.update(leaves)
            inside.update(branch._id for branch in group.itervalues())
            whole.append(group)
        outputs: dict[str, Output] = {}
        for branch in plain:
            if branch._id not in inside:
                # Of several branches of one name, uproot reads the first under that name.
                first = self.over._find(branch.name)
                outputs.setdefault(branch.name, Output(branch.name, first if _reads(first) else branch))
        for branch in whole:
            outputs.setdefault(branch.name, Output(branch.name, branch))
        return list(outputs.values())

    def branches(self) -> list[Branch]:
        """Branches that must be read, each once."""
        found = {leaf._id: leaf for leaf in self.plain()}
        for id in self._query.needed if self._query is not None else []:
            found.setdefault(id, self.tree._branch(id))
        return list(found.values())

    def plain(self) -> list[Branch]:
        """Branches with values that are read as they are, each once."""
        named = (output.branch for output in self.outputs if output.branch is not None)
        return list({leaf._id: leaf for branch in named for leaf in values_below(branch)}.values())

    def whole(self, selection: Selection) -> Plan:
        """Leaves out branches that lack wanted entries, with a warning; what was named stays, and will
        raise."""
        if not self.is_everything or len(selection) == 0:
            return self
        short: list[str] = []
        kept: list[Output] = []
        for output in self.outputs:
            if output.branch is None:
                kept.append(output)
                continue
            (
                kept if all(_has(leaf, selection.span) for leaf in values_below(output.branch)) else short
            ).append(
                output  # type: ignore[arg-type]
            )
        if short:
            names = ", ".join(repr(output.name) for output in short[:5])  # type: ignore[attr-defined]
            more = f" and {len(short) - 5} more" if len(short) > 5 else ""
            warn(
                f"left out, as they do not have entries {selection.span[0]} to {selection.span[1]}: "
                f"{names}{more}{place(self.tree.file_path, self.tree.object_path)}",
                stacklevel=4,
            )
            self.outputs = kept
        return self


def _above(branch: Branch) -> Iterator[Branch]:
    above = branch._parent
    while above is not None:
        yield above
        above = above._parent


def _reads(branch: Branch | None) -> bool:
    return branch is not None and not isinstance(branch.interpretation, (Grouped, Unknown))


def _has(branch: Branch, span: Range) -> bool:
    found = branch._tree._core.entry_range(branch._id)
    if branch._row["file_name"]:
        return False
    return found is not None and bool(found[0] <= span[0] and span[1] <= found[1])


def values_below(branch: Branch) -> list[Branch]:
    """The branch itself if it has values, else those below it that have and can be decoded."""
    found = branch.interpretation
    if not isinstance(found, Grouped):
        return [branch]
    out: list[Branch] = []
    for child in branch._children:
        if not isinstance(child.interpretation, Unknown):
            out.extend(values_below(child))
    return out


# ---- reading


def _check(branches: Iterable[Branch]) -> None:
    for branch in branches:
        found = branch.interpretation
        if isinstance(found, Unknown):
            raise found.copy_error()
        if not branch._row["has_data"]:
            raise UnsupportedError(
                f"{branch.path!r} holds no values{place(branch.file_path, branch.object_path)}"
            )


def load(branches: list[Branch], selection: Selection, show: Any = None) -> dict[int, Loaded]:
    """Reads branches for the entries of a selection, in one plan of the engine."""
    _check(branches)
    if not branches:
        return {}
    rows, index = selection.in_order()
    ids = [branch._id for branch in branches]
    note = progress_bar.part(show, branches, selection)
    columns = branches[0]._tree._core.columns(ids, *selection.span, rows, note)
    return {branch._id: Loaded(column, index, branch.typename) for branch, column in zip(branches, columns)}


def read(plan: Plan, selection: Selection, library: Any, how: Any = None, show: bool | None = None) -> Any:
    """Reads what is planned, for the entries of a selection."""
    to = as_library(library)
    if selection.rows is not None and len(selection.rows) == 0:
        selection = Selection((0, 0))
    plan = plan.whole(selection)
    with progress_bar.bar(plan.branches, selection, show) as bar:
        return _read(plan, selection, to, how, bar)


def _read(plan: Plan, selection: Selection, to: Library, how: Any, bar: Any) -> Any:
    branches = plan.plain()
    for branch in branches:
        to.check(branch.path, branch)
    values: dict[str, Loaded] = {}
    mask: Any = None
    try:
        loaded, values, selection = load_plan(plan, branches, selection, bar)
    except UnsupportedError:
        if not plan.is_everything:
            raise
        # The entries that pass, and then what can be decoded of them.
        _, values, selection = load_plan(plan, [], selection, None)
        loaded = _load_what_can_be(plan, branches, selection, bar)
    if plan.cut_on_items:
        mask = libraries.CALCULATION.column(values[_CONDITION], selection) != 0
    arrays: dict[str, Any] = {}
    for output in plan.outputs:
        if output.name in arrays:
            continue  # asked for twice
        if output.branch is None:
            arrays[output.name] = to.column(values[output.name], selection)
        elif isinstance(output.dtype, InPlace):
            filled = output.dtype.fill(branch_value(output.branch, loaded, libraries.NUMPY, selection))
            arrays[output.name] = to.convert(filled, selection)
        elif output.dtype is not None:
            flat = branch_value(output.branch, loaded, libraries.NUMPY, selection)
            arrays[output.name] = to.convert(view_as(output.branch, flat, output.dtype), selection)
        else:
            arrays[output.name] = branch_value(output.branch, loaded, to, selection)
        if output.branch is not None and to is libraries.AWKWARD:
            arrays[output.name] = ak_docs.describe(arrays[output.name], output.branch, plan.ak_add_doc)
    if mask is not None:
        arrays = {name: _items_left(plan.cut, name, array, mask, to) for name, array in arrays.items()}
    return to.group(arrays, plan.outputs, how, loaded)


def load_plan(
    plan: Plan, branches: list[Branch], selection: Selection, bar: Any
) -> tuple[dict[int, Loaded], dict[str, Loaded], Selection]:
    """Branches, values of expressions, and the entries that pass the cut: all in one call of the engine."""
    if plan._query is None:
        return load(branches, selection, bar), {}, selection
    _check(branches)
    rows, index = selection.in_order()
    note = progress_bar.part(bar, plan.branches(), selection)
    ids = [branch._id for branch in branches]
    passed, plain, computed = plan._query.read(ids, *selection.span, rows, note)
    if passed is not None:
        passed = np.asarray(passed).view("int64")
        if index is None or selection.rows is None:
            selection = of_rows(passed)
        else:
            # Entries in another order, or several times.
            wanted = np.isin(selection.rows, passed)
            selection = selection.narrow(wanted)
            index = np.searchsorted(passed, selection.rows) if selection.rows is not None else None
    loaded = {branch._id: Loaded(column, index, branch.typename) for branch, column in zip(branches, plain)}
    names = [*plan._values, *([_CONDITION] if plan.cut_on_items else [])]
    return loaded, {name: Loaded(column, index) for name, column in zip(names, computed)}, selection


def _items_left(cut: str | None, name: str, array: Any, mask: Any, to: Library) -> Any:
    """What a cut on items leaves of a column, which has a list for each of its lists."""
    try:
        return to.apply_mask(array, mask)
    except SapwoodError:
        raise
    except (IndexError, TypeError, ValueError):
        raise MismatchError(
            f"the cut {cut!r} is on items of lists, and {name!r} has no list for each of them: leave it out, or cut "
            "on one value an entry"
        ) from None


def _load_what_can_be(
    plan: Plan, branches: list[Branch], selection: Selection, bar: Any
) -> dict[int, Loaded]:
    """Reads branches one by one and leaves out, with a warning, those that turn out to be undecodable."""
    loaded: dict[int, Loaded] = {}
    for branch in branches:
        try:
            loaded.update(load([branch], selection, bar))
        except UnsupportedError as error:
            warn(f"left out: {error}", stacklevel=5)
            plan.outputs = [
                output
                for output in plan.outputs
                if output.branch is None or branch not in values_below(output.branch)
            ]
    return loaded


@dataclass(frozen=True)
class Decided:
    """Decisions of statistics on the entries of a tree, without reading any."""

    none: int
    """Entries that cannot pass."""
    all: int
    """Entries that all pass."""
    look: int
    """Entries for which the cut is computed."""
    runs_none: int
    """Runs of entries that cannot pass; runs end with the baskets or pages of the cut's columns."""
    runs_all: int
    """Runs of entries that all pass."""
    runs_look: int
    """Runs of entries for which the cut is computed."""


def decided(tree: Tree, cut: str, aliases: Mapping[str, str] | None = None) -> Decided | None:
    """Decisions of statistics on a cut; none without statistics."""
    found = Plan(tree, [], aliases=aliases).query([], cut).decided(0, tree.num_entries)
    if found is None:
        return None
    (none, runs_none), (all_, runs_all), (look, runs_look) = found
    return Decided(none, all_, look, runs_none, runs_all, runs_look)


def passing(tree: Tree, cut: str, aliases: Mapping[str, str] | None = None) -> EntryRanges:
    """The entries for which a cut is true."""
    return EntryRanges(Plan(tree, [], aliases=aliases).query([], cut).passing(0, tree.num_entries))


def branch_value(branch: Branch, loaded: dict[int, Loaded], to: Library, selection: Selection) -> Any:
    """The array of a branch, or of a group, in a library."""
    if not isinstance(branch.interpretation, Grouped):
        return to.column(loaded[branch._id], selection)
    below = {
        child.name: branch_value(child, loaded, to, selection)
        for child in branch._children
        if not isinstance(child.interpretation, Unknown)
    }
    return to.record(below, len(selection))


def read_branch(
    branch: Branch, selection: Selection, library: Any, show: bool | None = None, ak_add_doc: Any = False
) -> Any:
    """One branch, or one group, for the entries of a selection."""
    to = as_library(library)
    leaves = values_below(branch)
    if not leaves:
        raise MismatchError(
            f"nothing below {branch.path!r} can be decoded{place(branch.file_path, branch.object_path)}"
        )
    if selection.rows is not None and len(selection.rows) == 0:
        selection = Selection((0, 0))
    for leaf in leaves:
        to.check(leaf.path, leaf)
    with progress_bar.bar(lambda: leaves, selection, show) as bar:
        loaded = load(leaves, selection, bar)
    array = branch_value(branch, loaded, to, selection)
    return ak_docs.describe(array, branch, ak_docs.check(ak_add_doc)) if to is libraries.AWKWARD else array


def dtype_of(interpretation: Any) -> np.dtype[Any] | None:
    """The NumPy type that an interpretation asks for; ``None`` where it is the branch's own."""
    if isinstance(interpretation, AsDtype):
        if interpretation.asked is not None and interpretation.asked.names:
            raise TypeError(f"several numbers are a type for AsJagged only, not {interpretation.stored!r}")
        return interpretation.asked
    lists = AsJagged.of_uproot(interpretation)
    if isinstance(lists, AsJagged) and lists.stored is not None:
        raise MismatchError("an AsJagged is for one branch: branch.array(AsJagged(...))")
    if interpretation is None or isinstance(interpretation, Interpretation):
        return None
    return np.dtype(interpretation).newbyteorder("=")


def view_as(branch: Branch, flat: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Numbers of a branch looked at as another type of the same size.

    Raises :class:`~sapwood.errors.MismatchError` for what is no number, or of another size.
    """
    if flat.dtype == object or flat.dtype.itemsize != dtype.itemsize:
        raise MismatchError(f"{branch.path!r} holds {branch.typename}, which cannot be looked at as {dtype}")
    return flat.view(dtype)


def wrap(array: np.ndarray[Any, Any], library: Any, selection: Selection) -> Any:
    """A plain NumPy array in a library."""
    return as_library(library).convert(array, selection)
