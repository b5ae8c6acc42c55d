"""Trees as streams of Arrow: ``pyarrow.table(tree)``, ``polars.DataFrame(tree)``, DuckDB and others,
without a copy and without pyarrow.

``pandas.DataFrame(...)`` does not ask: ``tree.arrays(library="pd")`` gives a DataFrame."""

from __future__ import annotations

from typing import Any

from sapwood import iteration
from sapwood._read import reading
from sapwood.errors import UnsupportedError

#: A batch holds about so many bytes of the branches once inflated.
BATCH = "64 MB"


def branches(over: Any) -> tuple[list[int], list[str]]:
    """Numbers and names of the branches that a stream of a tree, or of a branch, has: all that Arrow has a
    type for."""
    plan = reading.Plan(over)
    rows = [(output.branch, output.name) for output in plan.outputs if output.branch is not None]
    kept = [(branch._id, name) for branch, name in rows if branch.interpretation.is_awkward]
    if not kept:
        raise UnsupportedError(f"{over.object_path!r} has no branch that Arrow has a type for")
    return [id for id, _ in kept], [name for _, name in kept]


def schema(over: Any) -> Any:
    """Capsule of the schema."""
    return over.tree._core.arrow_schema(*branches(over))


def stream(over: Any, step_size: int | str = BATCH) -> Any:
    """Capsule of a stream with a batch for each step."""
    ids, names = branches(over)
    plan = reading.Plan(over, None)
    steps = iteration.steps(plan, 0, over.tree.num_entries, step_size)
    return over.tree._core.arrow_stream(ids, names, steps, over.tree.file._engine().by_python)
