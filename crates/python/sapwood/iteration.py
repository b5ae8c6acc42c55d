"""Reading in steps: how long a step is, and the next step read ahead."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from sapwood import progress as progress_bar
from sapwood import reading, sizes
from sapwood.libraries import as_library
from sapwood.selection import Range, Selection

if TYPE_CHECKING:
    from sapwood.branch import Branch

Item = TypeVar("Item")


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
        return f"<Report start={self.start} stop={self.stop} source={self.file_path + ':' + self.source.object_path!r}>"


def entries_for(branches: list[Branch], target_bytes: int, start: int, stop: int) -> int:
    """Entries whose branches take so many bytes once inflated; at least 1."""
    total = sum(progress_bar.share(branch, (start, stop)) for branch in branches)
    if total <= 0:
        return max(stop - start, 1)
    return max(int(target_bytes * (stop - start) / total), 1)


def steps(plan: reading.Plan, start: int, stop: int, step_size: int | str) -> Iterator[Range]:
    """Entry ranges of steps: of so many entries, or of so many bytes and then ending with clusters where one fits."""
    if not isinstance(step_size, str):
        size = sizes.as_bytes(step_size)
        if size <= 0:
            raise ValueError(f"step_size must be positive, not {step_size!r}")
        borders: list[int] = []
    else:
        size = entries_for(plan.branches(), sizes.as_bytes(step_size), start, stop)
        borders = [last for _, last in plan.tree.clusters]
    while start < stop:
        end = min(start + size, stop)
        at = bisect_right(borders, end) - 1
        if end < stop and at >= 0 and borders[at] > start:
            end = borders[at]
        yield start, end
        start = end


def ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The same items, each made while the one before is in use."""
    pool = ThreadPoolExecutor(1, "sapwood-ahead")
    end = object()
    coming: Future[Any] = pool.submit(next, items, end)
    try:
        while True:
            item = coming.result()
            if item is end:
                return
            coming = pool.submit(next, items, end)
            # The caller's reference is the only one that stays: at most this item, the next, and the one being made.
            holder = [item]
            del item
            yield holder.pop()
    finally:
        coming.cancel()
        pool.shutdown(wait=True)
        close = getattr(items, "close", None)
        if close is not None:
            close()


def iterate(
    plan: reading.Plan, over: Iterable[Range], library: Any, how: Any, report: bool, show: bool | None
) -> Iterator[Any]:
    """Reads the steps of a plan, one ahead."""
    to = as_library(library)
    ranges = list(over)

    def read() -> Iterator[Any]:
        for start, stop in ranges:
            answer = reading.read(plan, Selection((start, stop)), to, how, False)
            yield (answer, Report(plan.over, start, stop)) if report else answer
            del answer

    total = sum(stop - start for start, stop in ranges)
    wanted = progress_bar.is_wanted(show) and (show or len(ranges) > 1)
    return _with_bar(ahead(read()), ranges, total, plan.tree.name) if wanted else ahead(read())


def _with_bar(items: Iterator[Item], ranges: list[Range], total: int, name: str) -> Iterator[Item]:
    bar = progress_bar.Bar(total, "entries", name)
    try:
        for item, (start, stop) in zip(items, ranges):
            yield item
            bar.add(stop - start)
    finally:
        bar.close()
