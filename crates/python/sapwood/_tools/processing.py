"""Selectors over many files, on any executor: what ``TSelector`` and PROOF did, in columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

from sapwood._read import chain as chain_module
from sapwood._read import reading
from sapwood._read.chain import Chain, FriendSpan
from sapwood._read.libraries import as_library
from sapwood._read.selection import Selection
from sapwood._remote import paths
from sapwood._tree import iteration
from sapwood.errors import NotFoundError, SapwoodError


class Selector:
    """What is done with the entries of many files. Derive from it, and say at least :meth:`process`.

    A selector is copied to the workers of processes, and shared by threads: :meth:`process` returns what it
    found, and changes nothing.

    >>> class Sum(Selector):
    ...     columns, cut = ["x"], "x > 0"
    ...     def process(self, batch):
    ...         return float(np.sum(batch["x"]))
    """

    columns: Any = None
    """Expressions that are read, as for :meth:`sapwood.Tree.arrays`; all branches without them."""
    cut: str | None = None
    """Only entries for which this is true."""
    aliases: Mapping[str, str] | None = None
    """Names of expressions."""

    def begin(self) -> None:
        """Is called once, before anything is read."""

    def process(self, batch: Any) -> Any:
        """What some entries give: anything that :meth:`merge` joins."""
        raise NotImplementedError(f"{type(self).__name__} lacks a method process(batch)")

    def merge(self, one: Any, other: Any) -> Any:
        """Two results as one: by ``+`` unless this is overridden. Results come in the order of entries."""
        return one + other

    def terminate(self, result: Any) -> Any:
        """The result of all, ``None`` where there were no entries, as the caller gets it."""
        return result


class ProcessingError(SapwoodError, RuntimeError):
    """A selector raised: the message says for which file and entries, and what it raised is the cause."""


def process(
    files: Any,
    selector: Selector,
    executor: Any = None,
    *,
    step_size: int | str = "100 MB",
    library: Any = "ak",
    allow_missing: bool = False,
    fill: Mapping[str, float] | None = None,
    friends: Mapping[str, Any] | None = None,
    lumi_mask: Any = None,
    entries: Any = None,
    partial: Callable[[Any, int], None] | None = None,
    **options: Any,
) -> Any:
    """Runs a selector over trees of many files, and merges what it gives.

    ``executor`` is any of ``concurrent.futures``: threads (the default, one for each core), processes, or
    what else has ``submit``; or a ``Client`` of Dask's ``distributed``, whose workers open the files
    themselves: what a lost worker had is done again by others, and counted once. Units of work are steps of
    ``step_size`` that end with clusters; each is read where it is processed. Results are merged in the order
    of entries, so they do not depend on how the work was spread. ``partial`` is called with the result so
    far, and how many units are in it. ``files`` and the options are those of :func:`sapwood.iterate`, as far
    as they open files or say which entries are wanted.

    Raises :class:`ProcessingError` where the selector raises, with the file and the entries.

    >>> import numpy as np, os, sapwood, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.root")
    >>> with sapwood.recreate(path) as file:
    ...     file["t"] = {"x": [1.0, -2.0, 3.0]}
    >>> class Sum(Selector):
    ...     columns, cut = ["x"], "x > 0"
    ...     def process(self, batch):
    ...         return float(np.sum(batch["x"]))
    >>> process(f"{path}:t", Sum())
    4.0
    """
    # A worker is one thread: many of them read side by side.
    chain = Chain(
        "process",
        files,
        options,
        threads=1,
        allow_missing=allow_missing,
        fill=fill,
        friends=friends,
        lumi_mask=lumi_mask,
        entries=entries,
    )
    iteration.step_entries(step_size)
    as_library(library)
    selector.begin()
    work = _units(chain, selector, step_size)
    how = (library, chain.opening)
    if executor is None:
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            result = _merged(selector, threads, work, how, partial)
    elif hasattr(executor, "get_executor"):
        # Reading twice gives the same, but a selector may be no function of its arguments.
        result = _merged(selector, executor.get_executor(pure=False), work, how, partial)
    else:
        result = _merged(selector, executor, work, how, partial)
    return selector.terminate(result)


class Unit(NamedTuple):
    """Entries of a file, which a worker reads."""

    source: paths.Source
    selection: Selection
    aliases: dict[str, str]
    friends: list[FriendSpan]


#: Units that wait for a worker: enough to keep all busy, few enough to be forgotten at an error.
_WAITING = 4 * (os.cpu_count() or 1) + 8


def _units(chain: Chain, selector: Selector, step_size: int | str) -> Iterator[Unit]:
    """Units of work, in the order of files and entries; a file is opened when its turn comes."""
    for member in chain.members():
        try:
            plan = chain.plan(member, selector.columns, selector.cut, aliases=selector.aliases)
        except NotFoundError as error:
            chain.left_out(member.source, error)
            continue
        spans = chain.spans(member)
        for start, stop in member.ranges:
            for step in iteration.steps(plan, start, stop, step_size):
                selection = member.select(*step)
                if member.rows is None or len(selection):
                    yield Unit(member.source, selection, plan.aliases, spans)


def _merged(
    selector: Selector,
    executor: Executor,
    work: Iterator[Unit],
    how: tuple[Any, dict[str, Any]],
    partial: Callable[[Any, int], None] | None,
) -> Any:
    """The results of all units, merged in their order."""
    running: dict[Future[Any], tuple[int, Unit]] = {}
    done: dict[int, Any] = {}
    result: Any = None
    merged = submitted = 0
    is_more = True
    try:
        while is_more or running:
            while is_more and len(running) + len(done) < _WAITING:
                unit = next(work, None)
                if unit is None:
                    is_more = False
                else:
                    running[executor.submit(_run, selector, unit, how)] = submitted, unit
                    submitted += 1
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                number, unit = running.pop(future)
                done[number] = _result(future, unit)
            before = merged
            while merged in done:
                one = done.pop(merged)
                result = one if merged == 0 else selector.merge(result, one)
                merged += 1
            if partial is not None and merged > before:
                partial(result, merged)
    finally:
        for future in running:
            future.cancel()
    return result


def _result(future: Future[Any], unit: Unit) -> Any:
    try:
        return future.result()
    except SapwoodError:
        raise
    except Exception as error:
        start, stop = unit.selection.span
        what = "a worker died" if isinstance(error, BrokenExecutor) else "the selector failed"
        where = f"entries {start} to {stop} of {unit.source.file}"
        raise ProcessingError(f"{what} at {where}: {type(error).__name__}: {error}") from error


def _run(selector: Selector, unit: Unit, how: tuple[Any, dict[str, Any]]) -> Any:
    """Reads and processes one unit, in a worker."""
    library, opening = how
    tree = chain_module.open_tree(unit.source, opening)
    try:
        with chain_module.opened(unit.friends, opening) as friends:
            plan = reading.Plan(tree, selector.columns, selector.cut, aliases=unit.aliases, friends=friends)
            return selector.process(reading.read(plan, unit.selection, library, None, False))
    finally:
        chain_module.close(unit.source, tree)


__all__ = ["ProcessingError", "Selector", "process"]
