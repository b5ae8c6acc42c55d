"""Selectors over many files, on any executor: what ``TSelector`` and PROOF did, in columns."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, NamedTuple

from sapwood import _core
from sapwood._read import chain as chain_module
from sapwood._read import progress as progress_bar
from sapwood._read.chain import Chain, FriendSpan
from sapwood._read.libraries import as_library
from sapwood._read.selection import Selection
from sapwood._remote import paths
from sapwood._tools import packets, processors
from sapwood._tools.selector import Selector
from sapwood._tree import iteration
from sapwood._write.lossless import shown
from sapwood.errors import NotFoundError, SapwoodError, WrongTypeError


class ProcessingError(SapwoodError, RuntimeError):
    """A selector raised: the message says for which file and entries, and what it raised is the cause."""


def process(
    files: Any,
    selector: Selector,
    executor: Any = None,
    *,
    schema: Any = "nanoaod",
    step_size: int | str | None = None,
    library: Any = "ak",
    allow_missing: bool = False,
    fill: Mapping[str, float] | None = None,
    friends: Mapping[str, Any] | None = None,
    lumi_mask: Any = None,
    entries: Any = None,
    partial: Callable[[Any, int], None] | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Any:
    """Runs a selector over trees of many files, and merges what it gives.

    ``executor`` is any of ``concurrent.futures``: threads (the default, one for each core), processes, or
    what else has ``submit``; or a ``Client`` of Dask's ``distributed``, whose workers open the files
    themselves: what a lost worker had is done again by others, and counted once. Units of work are steps of
    ``step_size``, by default 25 MB, that end with clusters; each is read by the worker that processes it.
    Results are merged unit by unit, in the order of entries, so they do not depend on how the work was
    spread. Workers get units in packets of about half a second, by the time that they have taken so far; a
    slower worker gives back what it did not manage, so that all end together. Large results come in smaller
    packets, and few of them wait at a time.
    ``partial`` is called with the result so far, and how many units are in it; ``progress`` shows a line that
    counts files, by default only if standard error is a terminal.
    ``files`` and the options are those of :func:`sapwood.iterate`, as far as they open files or say which
    entries are wanted. Data sets by name, ``{"ttbar": ["a.root:t", "b.root:t"], ...}`` or coffea's
    ``{"ttbar": {"files": ...}, ...}``, have a result each: a dictionary by name.

    ``selector`` may be a processor of coffea, too: its ``process`` gets events as :func:`sapwood.nanoevents`
    of ``schema`` makes them, with the metadata of the data set and ``dataset``, ``filename``, ``entrystart``
    and others, by default for some 100,000 entries at a time. ``library``, ``fill``, ``friends``,
    ``lumi_mask`` and ``entries`` are for selectors alone. What a processor finds in all data sets is
    accumulated as coffea does, and handed to its ``postprocess``.

    Raises :class:`ProcessingError` where the selector raises, with the file, the entries and the line.

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
    if processors.is_processor(selector):
        given = None if library == "ak" else library
        processors.refuse(library=given, fill=fill, friends=friends, lumi_mask=lumi_mask, entries=entries)
        return _processed(
            files,
            selector,
            executor,
            schema,
            step_size=100_000 if step_size is None else step_size,
            allow_missing=allow_missing,
            partial=partial,
            progress=progress,
            **options,
        )
    _check(selector)
    sets = data_sets(files)
    reads = {
        "allow_missing": allow_missing,
        "fill": fill,
        "friends": friends,
        "lumi_mask": lumi_mask,
        "entries": entries,
    }
    found = process_sets(
        [DataSet(of_set, selector, reads) for of_set in ([files] if sets is None else sets.values())],
        executor,
        step_size="25 MB" if step_size is None else step_size,
        library=library,
        options=options,
        partial=None if partial is None else lambda _, result, units: partial(result, units),
        progress=progress,
    )
    return found[0] if sets is None else dict(zip(sets, found, strict=True))


class DataSet(NamedTuple):
    """Files that one selector reads."""

    files: Any
    selector: Selector
    reads: Mapping[str, Any]
    """Options of the chain: entries, friends, missing files and columns."""


def process_sets(
    sets: Sequence[DataSet],
    executor: Any,
    *,
    step_size: int | str,
    library: Any = "ak",
    options: Mapping[str, Any],
    partial: Callable[[int, Any, int], None] | None = None,
    progress: bool | None = None,
) -> list[Any]:
    """Runs a selector over the files of each data set; workers go on with the next set while the last units of
    one are on their way. ``partial`` is called with the number of the set, its result so far, and how many
    units are in it."""
    # A worker is one thread: many of them read side by side.
    chains = [Chain("process", one.files, options, threads=1, **one.reads) for one in sets]
    selectors = [one.selector for one in sets]
    iteration.step_entries(step_size)
    as_library(library)
    for selector in selectors:
        selector.begin()
    cores = os.cpu_count() or 1
    work = _units(chains, selectors, step_size, progress)
    how = (library, [chain.opening for chain in chains])
    if executor is None:
        stop = _core.Stop()
        with ThreadPoolExecutor(cores, "sapwood-process", initializer=stop.heed) as threads:
            try:
                found = _merged(selectors, threads, cores, work, how, partial)
            except BaseException:
                # What the threads still read is not wanted any more.
                stop.set()
                threads.shutdown(wait=False, cancel_futures=True)
                raise
    else:
        if not hasattr(executor, "submit"):
            raise WrongTypeError(
                f"an executor has submit(), as those of concurrent.futures and Dask's Client, unlike {shown(executor)}"
            )
        workers = packets.workers_of(executor, cores)
        if hasattr(executor, "get_executor"):
            # Reading twice gives the same, but a selector may be no function of its arguments.
            executor = executor.get_executor(pure=False)
        found = _merged(selectors, executor, workers, work, how, partial)
    return [selector.terminate(result) for selector, result in zip(selectors, found, strict=True)]


def _processed(
    files: Any,
    processor: Any,
    executor: Any,
    schema: Any,
    *,
    step_size: int | str,
    allow_missing: bool,
    partial: Callable[[Any, int], None] | None,
    progress: bool | None,
    **options: Any,
) -> Any:
    """Runs a processor of coffea over all data sets."""
    sets = data_sets(files)
    wanted = []
    for name, of_set in ({"": files} if sets is None else sets).items():
        given = files[name] if sets is not None else None
        metadata = processors.metadata_of(str(name), given)
        selector = processors.ProcessorSelector(processor, schema, metadata)
        wanted.append(DataSet(of_set, selector, {"allow_missing": allow_missing}))
    found: Any = None
    tell = None if partial is None else lambda _, result, units: partial(result, units)
    all_found = process_sets(
        wanted,
        executor,
        step_size=step_size,
        options=options,
        partial=tell,
        progress=progress,
    )
    for of_set, one in zip(wanted, all_found, strict=True):
        if one is not None:
            found = one if found is None else of_set.selector.merge(found, one)
    done = processor.postprocess(found)
    # As coffea's own Runner: a processor may change what it got, and return nothing.
    return found if done is None else done


def data_sets(files: Any) -> dict[Any, Any] | None:
    """The files of each data set by its name; ``None`` if files are given otherwise, as in ``{path: tree}``."""
    if not isinstance(files, Mapping) or not files:
        return None

    def files_of(name: Any, of_set: Any) -> Any:
        if isinstance(of_set, Mapping):
            return _of_coffea(of_set)
        if isinstance(of_set, str):
            # `{path: tree}`, too, has texts, and names of trees may have colons.
            is_path = str(name).endswith(".root") or "://" in str(name) or os.path.exists(str(name))
            return of_set if ":" in of_set and not is_path else None
        return of_set if isinstance(of_set, (list, tuple)) else None

    found = {name: files_of(name, of_set) for name, of_set in files.items()}
    return None if any(of_set is None for of_set in found.values()) else found


def _of_coffea(of_set: Mapping[str, Any]) -> Any:
    """The files of coffea's ``{"files": ..., "treename": ...}``; ``None`` for another mapping."""
    found, tree = of_set.get("files"), of_set.get("treename")
    if tree is None or not isinstance(found, (list, tuple)):
        return found
    return [
        {file: tree} if isinstance(file, str) and paths.split_object(file)[1] is None else file
        for file in found
    ]


def _check(selector: Any) -> None:
    """Whether it is a selector: an instance that has its methods."""
    needed = ("begin", "process", "merge", "terminate", "columns", "cut", "aliases")
    if isinstance(selector, type):
        name = selector.__name__
        raise WrongTypeError(f"a selector is an instance, and {name} is a class: process(files, {name}())")
    missing = [name for name in needed if not hasattr(selector, name)]
    if missing:
        raise WrongTypeError(
            f"a selector is an instance of a class that derives from sapwood.Selector, and {shown(selector)} "
            f"lacks {', '.join(missing)}"
        )


class Unit(NamedTuple):
    """Entries of a file, which a worker reads."""

    of_set: int
    """The number of its data set."""
    source: paths.Source
    selection: Selection
    aliases: dict[str, str]
    friends: list[FriendSpan]


def _units(
    chains: list[Chain], selectors: list[Selector], step_size: int | str, progress: bool | None
) -> Iterator[Unit]:
    """Units of work, in the order of sets, files and entries; a file is opened when its turn comes."""
    members = ((number, member) for number, chain in enumerate(chains) for member in chain.members())
    files = sum(len(chain.sources) for chain in chains)
    for number, member in progress_bar.each(members, files, progress, "files", "files"):
        chain, selector = chains[number], selectors[number]
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
                    yield Unit(number, member.source, selection, plan.aliases, spans)


def _merged(
    selectors: list[Selector],
    executor: Executor,
    workers: int,
    work: Iterator[Unit],
    how: tuple[Any, list[dict[str, Any]]],
    partial: Callable[[int, Any, int], None] | None,
) -> list[Any]:
    """For each set the results of its units, merged in their order; ``None`` for a set without units."""

    def submit(units: list[Unit], seconds: float) -> Future[packets.Outcome]:
        needed = {unit.of_set: selectors[unit.of_set] for unit in units}
        return executor.submit(_run, needed, units, how, seconds)

    results: list[Any] = [None] * len(selectors)
    merged = [0] * len(selectors)
    for number, one in packets.Packets(work, workers).results(submit, _failed):
        try:
            results[number] = one if not merged[number] else selectors[number].merge(results[number], one)
        except SapwoodError:
            raise
        except Exception as error:
            what = f"the selector failed to merge result {merged[number]} with those before it"
            raise _told(what, error, packets.line_of(error)) from error
        del one  # Not kept while the next one is waited for.
        merged[number] += 1
        if partial is not None:
            partial(number, results[number], merged[number])
    return results


def _told(what: str, error: Exception, at: str) -> ProcessingError:
    return ProcessingError(f"{what}: {type(error).__name__}: {error}" + (f" ({at})" if at else ""))


def _failed(error: Exception, units: list[Unit], at: str) -> Exception:
    """What is raised for a unit, or for a packet of which nothing came back."""
    if isinstance(error, SapwoodError):
        return error
    first, last = units[0], units[-1]
    what = "a worker died" if isinstance(error, BrokenExecutor) else "the selector failed"
    start, stop = first.selection.span[0], last.selection.span[1]
    through = "" if first.source.file == last.source.file else f" of {first.source.file}"
    where = f"entries {start}{through} to {stop} of {last.source.file}"
    return _told(f"{what} at {where}", error, at)


def _run(
    selectors: dict[int, Selector], units: list[Unit], how: tuple[Any, list[dict[str, Any]]], seconds: float
) -> packets.Outcome:
    """Reads and processes units, in a worker; a file is opened once for those that follow one another. A result is
    the number of the set with what the selector found."""
    library, openings = how
    with ExitStack() as held:
        last: Unit | None = None
        read: Any = None

        def run(unit: Unit) -> Any:
            nonlocal last, read
            selector, opening = selectors[unit.of_set], openings[unit.of_set]
            if last is None or unit._replace(selection=last.selection) != last:
                held.close()
                tree = chain_module.open_tree(unit.source, opening)
                held.callback(chain_module.close, unit.source, tree)
                friends = held.enter_context(chain_module.opened(unit.friends, opening))
                reader = getattr(selector, "_reader", None) or functools.partial(Selector._reader, selector)
                read = reader(tree, unit.aliases, friends, library)
                last = unit
            return unit.of_set, selector.process(read(unit.selection))

        return packets.work_on(units, run, seconds)


__all__ = ["ProcessingError", "Selector", "process"]
