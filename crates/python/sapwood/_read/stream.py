"""Trees and steps of them as streams of Arrow: ``pyarrow.table(tree)``, ``polars.DataFrame(tree)``, DuckDB
and others, without a copy and without pyarrow.

``pandas.DataFrame(...)`` does not ask: ``tree.arrays(library="pd")`` gives a DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from sapwood import _core
from sapwood._read import predicate, reading
from sapwood._read.selection import Range, Selection
from sapwood._tree import iteration
from sapwood.errors import UnsupportedError
from sapwood.interpretation import Grouped, Unknown

#: A batch holds about so many bytes of the branches once inflated.
BATCH = "64 MB"


def branches(over: Any, filter_name: Any = None) -> tuple[list[int], list[str]]:
    """Numbers and names of the branches that a stream of a tree, or of a branch, has: all that Arrow has a
    type for."""
    return _kept(over, _everything(over, filter_name))


def branches_and_left_out(over: Any, filter_name: Any) -> tuple[list[int], list[str], list[str]]:
    """The same, and names of the branches that a stream leaves out, since Arrow has no type for them, or
    nothing can decode them."""
    plan = _everything(over, filter_name)
    ids, names = _kept(over, plan)
    has = set(names)
    lost = [output.name for output in plan.outputs if output.name not in has]
    unknown = [
        branch.path
        for branch in over.itervalues(filter_name=filter_name)
        if isinstance(branch.interpretation, Unknown) and branch.path not in has
    ]
    return ids, names, list(dict.fromkeys(lost + unknown))


def _everything(over: Any, filter_name: Any) -> reading.Plan:
    return reading.Plan(over, filter_name=filter_name).whole(Selection((0, over.tree.num_entries)))


def _kept(over: Any, plan: reading.Plan) -> tuple[list[int], list[str]]:
    kept = [(output.branch._id, output.name) for output in _outputs(plan) if output.branch is not None]
    if not kept:
        raise UnsupportedError(f"{over.object_path!r} has no branch that Arrow has a type for")
    return [id for id, _ in kept], [name for _, name in kept]


def _outputs(plan: reading.Plan) -> list[reading.Output]:
    """What a stream has of a plan: where all branches are wanted, those that Arrow has a type for."""
    if not plan.is_everything:
        return plan.outputs
    kinds = [(output, output.branch.interpretation) for output in plan.outputs if output.branch is not None]
    return [output for output, kind in kinds if kind.is_awkward and not isinstance(kind, Grouped)]


def schema(over: Any) -> Any:
    """Capsule of the schema."""
    return over.tree._core.arrow_schema(*branches(over))


def stream(over: Any, step_size: int | str = BATCH) -> Any:
    """Capsule of a stream with a batch for each step."""
    ids, names = branches(over)
    plan = reading.Plan(over, None)
    steps = iteration.steps(plan, 0, over.tree.num_entries, step_size)
    return over.tree._core.arrow_stream(ids, names, steps, over.tree.file._engine().by_python)


def kinds(tree: Any, names: Iterable[str]) -> predicate.Columns:
    """Types of columns, for predicates."""
    found = {name: tree._find(name) for name in names}
    kept = {name: branch.interpretation for name, branch in found.items() if branch is not None}
    return predicate.Columns(
        {name: kind.kind for name, kind in kept.items() if not isinstance(kind, Grouped)}
    )


class Described:
    """A schema for libraries that speak Arrow."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __arrow_c_schema__(self) -> Any:
        """The schema."""
        return self._capsule


class Steps(Iterator[Any]):
    """What ``iterate()`` gives: an item for each step. Libraries that speak Arrow take it as a stream with a
    batch for each step, from the first one on: ``pyarrow.RecordBatchReader.from_stream(tree.iterate(["x"], "x
    > 1"))``.
    """

    def __init__(
        self,
        steps: Iterator[Any],
        plan: Callable[[], AbstractContextManager[reading.Plan]],
        columns: Callable[[], Any],
    ) -> None:
        self._steps = steps
        self._plan = plan
        self._columns = columns

    def __next__(self) -> Any:
        return next(self._steps)

    def close(self) -> None:
        """Ends it: nothing more is read."""
        close = getattr(self._steps, "close", None)
        if close is not None:
            close()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Batches of the columns; ``requested_schema`` is ignored."""
        with self._plan() as plan:
            names, columns = schema_columns(plan)
        return _core.columns_stream(names, columns, self._columns())


def steps_of(
    plan: reading.Plan,
    entries: Range,
    step_size: int | str,
    answers: Iterator[Any] | None = None,
    rows: Any = None,
) -> Steps:
    """Steps of a plan: ``answers`` one by one, and their columns as a stream."""

    def columns() -> Iterator[tuple[int, list[Any]]]:
        ranges = iteration.chosen(iteration.steps(plan, *entries, step_size), rows)
        return iteration.ahead(ranges, lambda step: columns_of(plan, iteration.within(rows, step)))

    return Steps(
        iter(()) if answers is None else answers, lambda: nullcontext(plan.whole(Selection(entries))), columns
    )


def schema_columns(plan: reading.Plan) -> tuple[list[str], list[Any]]:
    """Names of a plan's columns, and the columns of no entries, which have the types of all others."""
    _, columns = columns_of(plan, Selection((0, 0)))
    return list(dict.fromkeys(output.name for output in _outputs(plan))), columns


def columns_of(plan: reading.Plan, selection: Selection) -> tuple[int, list[Any]]:
    """Number of rows, and the columns of a plan as the engine gives them.

    Raises :class:`~sapwood.errors.UnsupportedError` naming the column that a stream cannot hold.
    """
    if plan.cut_on_items:
        raise UnsupportedError(
            f"the cut {plan.cut!r} leaves out items of lists, which a table cannot: cut in Awkward"
        )
    outputs = _outputs(plan)
    for output in outputs:
        words = f"{output.name!r} cannot be in a stream of Arrow:"
        if output.dtype is not None:
            raise UnsupportedError(f"{words} it is looked at as {output.dtype}; read it with arrays()")
        if output.branch is not None and isinstance(output.branch.interpretation, Grouped):
            raise UnsupportedError(f"{words} it is a group of branches; name those below it")
    if selection.rows is not None and len(selection.rows) == 0:
        selection = Selection((0, 0))
    chosen = {output.branch._id: output.branch for output in outputs if output.branch is not None}
    loaded, values, selection = reading.load_plan(plan, list(chosen.values()), selection, None)
    found = {
        output.name: values[output.name] if output.branch is None else loaded[output.branch._id]
        for output in outputs
    }
    return len(selection), [one.column for one in found.values()]
