"""Reading in steps: how long a step is, and the next step read ahead."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import numpy as np

from sapwood import _core
from sapwood._file import session, sizes
from sapwood._read import progress as progress_bar
from sapwood._read import reading
from sapwood._read.libraries import as_library
from sapwood._read.selection import Range, Selection, of_rows

if TYPE_CHECKING:
    from concurrent.futures import Future

    from sapwood._tree.branch import Branch

Item = TypeVar("Item")
Step = TypeVar("Step")

#: More entries than any tree has.
MOST = 2**63 - 1


class Report:
    """Which entries a step holds: in its tree, and counted from the first entry of the first file."""

    __slots__ = ("global_offset", "source", "tree_entry_start", "tree_entry_stop")

    def __init__(
        self, source: Any, tree_entry_start: int, tree_entry_stop: int, global_offset: int = 0
    ) -> None:
        self.source = source
        """The tree or branch that the step is read from."""
        self.tree_entry_start = tree_entry_start
        """First entry, counted in its tree."""
        self.tree_entry_stop = tree_entry_stop
        """One past the last entry, counted in its tree."""
        self.global_offset = global_offset
        """Entries of the files before."""

    @property
    def tree(self) -> Any:
        """The tree."""
        return self.source.tree

    @property
    def file(self) -> Any:
        """The file."""
        return self.tree.file

    @property
    def file_path(self) -> str:
        """Name of the file."""
        return str(self.tree.file_path)

    @property
    def global_entry_start(self) -> int:
        """First entry, counted over all files."""
        return self.tree_entry_start + self.global_offset

    @property
    def global_entry_stop(self) -> int:
        """One past the last entry, counted over all files."""
        return self.tree_entry_stop + self.global_offset

    start = global_entry_start
    stop = global_entry_stop

    def to_global(self, global_offset: int) -> Report:
        """The same step after so many entries of other files."""
        return Report(self.source, self.tree_entry_start, self.tree_entry_stop, global_offset)

    def __repr__(self) -> str:
        source = f"{self.file_path}:{self.source.object_path}"
        return f"<Report start={self.start} stop={self.stop} source={source!r}>"


def entries_for(branches: list[Branch], target_bytes: int, start: int, stop: int) -> int:
    """Entries whose branches take so many bytes once inflated; at least 1."""
    total = sum(progress_bar.share(branch, range(start, stop)) for branch in branches)
    if total <= 0:
        return max(stop - start, 1)
    return max(round(target_bytes * (stop - start) / total), 1)


def step_entries(step_size: int | str) -> int:
    """Entries, or bytes, of a step.

    Raises ``ValueError`` for none, ``TypeError`` for what is no size.
    """
    size = sizes.as_bytes(step_size)
    if size <= 0:
        raise ValueError(f"step_size must be positive, not {step_size!r}")
    return size


def steps(plan: reading.Plan, start: int, stop: int, step_size: int | str) -> Iterator[Range]:
    """Entry ranges of steps: of so many entries, or of so many bytes and then ending with clusters where one
    fits. While the answer lives, what a step cuts stays inflated for the next one."""
    size = step_entries(step_size)
    by_bytes = isinstance(step_size, str)
    if by_bytes:
        size = entries_for(plan.branches(), size, start, stop)
    found = plan.tree._core.steps(start, stop, min(size, MOST), by_bytes)
    if plan._query is not None:
        plan._query.read_in(found)
    return found


@overload
def ahead(steps: Iterator[Step], read: Callable[[Step], Item]) -> Generator[Item]: ...
@overload
def ahead(
    steps: Iterator[Step], read: Callable[[Step], Item], late: Literal[True]
) -> Generator[Item | None]: ...
def ahead(steps: Iterator[Step], read: Callable[[Step], Item], late: bool = False) -> Generator[Item | None]:
    """Yields the item that is read for each step, and reads the next one while this one is in use. With ``late``,
    ``None`` follows each item: the next step begins only when it is asked for.

    Steps are made in the caller's thread: when the one after the next is asked for, the last is done with.
    """
    from concurrent.futures import ThreadPoolExecutor

    born = session.generation()
    readers: list[int] = []
    stop = _core.Stop()

    def begin() -> None:
        readers.append(threading.get_ident())
        stop.heed()

    pool = ThreadPoolExecutor(1, "sapwood-ahead", initializer=begin)
    coming: Future[Item] | None = None
    fault: Exception | None = None
    step = next(steps, None)
    try:
        while step is not None:
            if born != session.generation():
                # A child process has none of its parent's threads: what they began is never finished.
                item = read(step)
            else:
                item = (coming or pool.submit(read, step)).result()
            step, coming = None, None
            if late:
                holder = [item]
                del item
                yield holder.pop()
            try:
                step = next(steps, None)
            except Exception as error:
                # What was read before comes first.
                fault = error
            if step is not None and born == session.generation():
                coming = pool.submit(read, step)
            # The caller's reference is the only one that stays: at most this item, the next, and the one
            # being made.
            if late:
                yield None
            else:
                holder = [item]
                del item
                yield holder.pop()
        if fault is not None:
            raise fault
    finally:
        fault = None
        if born == session.generation():
            # What is still being read is not wanted any more.
            stop.set()
            if coming is not None:
                coming.cancel()
            # The last reference may be dropped by the collector of garbage, in any thread.
            pool.shutdown(wait=threading.get_ident() not in readers)
        close = getattr(steps, "close", None)
        if close is not None:
            close()


def within(rows: Any, step: Range) -> Selection:
    """What of ascending entry numbers is in a step; all of it where there are none."""
    if rows is None:
        return Selection(step)
    return of_rows(rows[slice(*np.searchsorted(rows, step))])


def chosen(ranges: Iterator[Range], rows: Any) -> Iterator[Range]:
    """The steps in which there are some of ascending entry numbers; all where there are none."""
    return ranges if rows is None else (step for step in ranges if len(within(rows, step)))


def iterate(
    plan: reading.Plan,
    entries: Range,
    step_size: int | str,
    library: Any,
    how: Any,
    report: bool,
    show: bool | None,
    rows: Any = None,
) -> Iterator[Any]:
    """Reads the steps of a plan, one ahead; of ``rows``, if these are given, and none without any."""
    to = as_library(library)

    def read(step: Range) -> Any:
        answer = reading.read(plan, within(rows, step), to, how, False)
        return (answer, Report(plan.over, *step)) if report else answer

    ranges = chosen(steps(plan, *entries, step_size), rows)
    total = entries[1] - entries[0]
    return ahead(
        progress_bar.each(ranges, total, show, "entries", plan.tree.name, lambda step: step[1] - step[0]),
        read,
    )
