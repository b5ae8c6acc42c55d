"""What is to be written of which files, and writing it."""

from __future__ import annotations

import glob
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

from sapwood import _core
from sapwood._convert import arrow_types, counters, formats, sources, targets
from sapwood._file import file as files_module
from sapwood._read import chain as chains
from sapwood._read import progress as progress_bar
from sapwood._read.compat_kwargs import ignore
from sapwood._remote import network, paths, urls
from sapwood._tree import iteration
from sapwood._write.staged import staged
from sapwood.errors import ExistsError, MismatchError, UnsupportedError, WrongTypeError


class Task(NamedTuple):
    """One file that is written."""

    place: str
    tree: str | None
    format: str
    setting: str | None
    parts: list[tuple[Any, str]]
    """Files that it is made of, and their formats."""
    overwrite: bool


class Done(NamedTuple):
    """What one file that was written has, and what it lacks."""

    entries: int
    left_out: str | None
    """The branches that it lacks, in words."""


def wanted_of(
    columns: Iterable[str] | None,
    cut: str | None,
    filter_name: Any,
    aliases: Any,
    step_size: int | str,
    threads: int,
    types: Mapping[str, Any] | None,
    others: dict[str, Any],
) -> sources.Wanted:
    """What is wanted of each file; ``others`` are the arguments that say how files are opened."""
    over = network.take_options(others)
    ignore(others, "convert", stacklevel=4)
    arrow_types.arrow()
    try:
        iteration.step_entries(step_size)
    except (TypeError, ValueError):
        words = f"step_size (--step-size) cannot be {step_size!r}"
        words += ": it is a number of rows, or of bytes like '64 MB'"
        raise WrongTypeError(words) from None
    if not isinstance(types, Mapping | None):
        raise WrongTypeError(f"types are a mapping of columns, like {{'id': 'uint64'}}, not {types!r}")
    opening = {**files_module.check_options(threads), "network": over}
    names = None if columns is None else [columns] if isinstance(columns, str) else list(columns)
    return sources.Wanted(names, cut, filter_name, aliases, step_size, opening, types)


def tasks(
    files: Any,
    target: Any,
    format: str | None,
    source_format: str | None,
    compression: str | None,
    overwrite: bool,
    wanted: sources.Wanted,
) -> list[Task]:
    """The files that are to be written."""
    inputs = _inputs(files, wanted.options["network"])
    made = [
        Task(place, tree, to, targets.check_setting(place, to, compression), parts, overwrite)
        for place, tree, to, parts in _plans(inputs, os.fspath(target), format, source_format)
    ]
    for task in made:
        if not urls.is_url(task.place) and os.path.exists(task.place) and not overwrite:
            raise ExistsError(f"{task.place} is there already: overwrite=True (--force) replaces it")
        paths.refuse_input(task.place, [sources.file_of(one) for one, _ in task.parts])
    return made


def run(
    made: Sequence[Task], wanted: sources.Wanted, nullable: bool, jobs: int | None, progress: bool | None
) -> list[Done]:
    """Writes files, several at a time."""
    if jobs is not None and jobs < 0:
        raise MismatchError(
            f"jobs (-j, --jobs) cannot be {jobs}: it is a number of files at a time, 0 for all cores"
        )
    one_thread = any(_is_one_thread(task) for task in made)
    workers = 1 if one_thread else max(1, min(len(made), jobs or os.cpu_count() or 1))
    work = partial(convert, wanted=wanted, nullable=nullable)
    if workers == 1:
        return [
            work(task, show=progress)
            for task in progress_bar.each(made, len(made), progress, "files", "convert")
        ]
    stop = _core.Stop()
    with ThreadPoolExecutor(workers, "sapwood-convert", initializer=stop.heed) as pool:
        try:
            done = pool.map(partial(work, show=False, stop=stop), made)
            return list(progress_bar.each(done, len(made), progress, "files", "convert"))
        except BaseException:
            # The others end at their next batch, or where they wait for a server, and leave nothing.
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _is_one_thread(task: Task) -> bool:
    """Whether all is read in the caller's thread. A library with its own lock needs that: after an error in one
    thread, the lock keeps the other waiting for ever. A pipe waits for its writer, and Ctrl-C ends a read in
    the caller's thread alone."""
    return "hdf5" in (task.format, *(kind for _, kind in task.parts)) or bool(_pipes(task))


def _pipes(task: Task) -> list[str]:
    """The parts that can be read only once."""
    paths = [str(sources.file_of(part)) for part, kind in task.parts if kind not in ("ttree", "rntuple")]
    return [path for path in paths if os.path.exists(path) and not os.path.isfile(path)]


def _inputs(files: Any, over: Any) -> list[Any]:
    """Files one by one."""
    if hasattr(files, "num_entries"):
        return [files]
    listed = list(files) if isinstance(files, (list, tuple)) else [files]
    found: list[Any] = []
    for one in listed:
        if hasattr(one, "num_entries") or isinstance(one, dict):
            found += [one] if not isinstance(one, dict) else [{path: of} for path, of in one.items()]
            continue
        path = os.fspath(one)
        place, tree = paths.split_object(path)
        if tree is not None or place.lower().endswith(".root") or "://" in place:
            expanded = paths.expand(path, network=over)
            if tree is not None and len(expanded) == 1:
                opening = {**files_module.check_options(0), "network": over}
                expanded = chains.without_chains(expanded, opening)
            found += [part.file if part.object is None else {part.file: part.object} for part in expanded]
        elif glob.has_magic(path) and not os.path.exists(path):
            matched = sorted(glob.glob(path))
            if not matched:
                raise paths.missing_file(path)
            found += matched
        else:
            found.append(path)
    if not found:
        raise MismatchError("there is no file to convert")
    return found


def _plans(inputs: list[Any], target: str, format: str | None, source_format: str | None) -> list[Any]:
    """What becomes of which files: place, tree, format, parts."""
    parts = [(one, _source_format(one, source_format)) for one in inputs]
    if not (os.path.isdir(target) or target.endswith(("/", os.sep))):
        place, tree = _split_target(target)
        to = formats.format_of(place, format)
        if tree is not None and to not in ("ttree", "rntuple"):
            raise MismatchError(f"{place} has no trees: leave out {':' + tree!r}, for {to} is one table")
        return [(place, tree, to, parts)]
    if format is None:
        raise MismatchError(f"{target} is a folder: name the format of the files in it (format=, --to)")
    to = formats.format_of("", format)
    ends = next(end for end, name in formats.SUFFIXES.items() if name == ("ttree" if to == "rntuple" else to))
    if not urls.is_url(target):
        os.makedirs(target, exist_ok=True)
    plans = [(os.path.join(target, f"{_stem(one)}{ends}"), None, to, [(one, kind)]) for one, kind in parts]
    places = [place for place, *_ in plans]
    twice = next((place for place in places if places.count(place) > 1), None)
    if twice is not None:
        raise MismatchError(f"two files would become {twice}: convert them into folders of their own")
    return plans


def _split_target(target: str) -> tuple[str, str | None]:
    """The file of a target, and the tree in it."""
    if target == "-":
        raise MismatchError(
            "a conversion writes a file, and not to the terminal: name one (`sapwood scan` with --csv or --json "
            "writes there)"
        )
    place, tree = paths.split_object(target)
    before, colon, behind = place.rpartition(":")
    if tree is None and colon and formats.is_known(before) and not urls.is_url(place):
        return before, behind
    return place, tree


def _check_no_folder(path: str) -> None:
    if os.path.isdir(path):
        known = [name for name in sorted(os.listdir(path)) if formats.is_known(name)]
        like = os.path.join(path, "*" + (os.path.splitext(known[0])[1] if known else ".parquet"))
        raise MismatchError(f"{path} is a folder: name its files, with a pattern like {like!r}")


def _source_format(one: Any, named: str | None) -> str:
    if hasattr(one, "num_entries") or isinstance(one, dict):
        return "ttree"
    _check_no_folder(str(one))
    found = formats.format_of(str(one), named)
    if urls.is_url(str(one)) and found not in ("ttree", "rntuple"):
        raise UnsupportedError(
            f"{urls.shown(str(one))} is on a server, from where files of ROOT are read alone: copy it first (sapwood cp)"
        )
    return found


def _stem(one: Any) -> str:
    name = os.path.basename(str(sources.file_of(one)))
    for packed in formats.PACKED:
        name = name.removesuffix(packed)
    return os.path.splitext(name)[0]


def convert(
    task: Task,
    wanted: sources.Wanted,
    nullable: bool,
    show: bool | None,
    stop: _core.Stop | None = None,
) -> Done:
    """Writes one file under another name, which it loses when it is complete."""
    try:
        return _convert(task, wanted, nullable, show, stop, counters.Counting())
    except counters.CountersCollideError as error:
        # Only all rows show which columns count, and which lists have the same lengths.
        _check_twice(task, str(error))
        return _convert(task, wanted, nullable, show, stop, error.counting)


def _check_twice(task: Task, words: str) -> None:
    """Refuses to begin again with what can be read only once."""
    for path in _pipes(task):
        raise MismatchError(
            f"{words}: only all rows show which columns count lists, and {path} can be read only once: write it to a "
            "file, and convert that"
        )


def _convert(
    task: Task,
    wanted: sources.Wanted,
    nullable: bool,
    show: bool | None,
    stop: _core.Stop | None,
    counting: counters.Counting,
) -> Done:
    openers: list[tuple[Any, Callable[[], sources.Rows]]] = [
        (one, partial(sources.open_rows, one, kind, wanted)) for one, kind in task.parts
    ]
    rows = sources.one_after_another(openers)
    count, total, base = 0, rows.total or 0, os.path.basename(urls.shown(task.place))
    if not urls.is_url(task.place):
        os.makedirs(os.path.dirname(os.path.abspath(task.place)), exist_ok=True)
    with staged(task.place, wanted.options["network"], task.overwrite) as made:
        in_root = targets.InRoot(task.tree or rows.name, nullable, counting, bool(_pipes(task)))
        try:
            _check_names(task, rows.schema.names)
            with targets.explained(task.place, task.format, rows.schema):
                writer = targets.writer(made, task.format, rows.schema, task.setting, in_root)
        except BaseException:
            sources.close(rows.batches)
            raise
        batches = rows.batches if _is_one_thread(task) else _ahead(rows.batches)
        try:
            shown = progress_bar.each(
                batches, total, show if total else False, "rows", base, lambda batch: batch.num_rows
            )
            for batch in shown:
                if stop is not None and stop.is_set():
                    raise CancelledError
                try:
                    with targets.explained(task.place, task.format, rows.schema, batch):
                        writer.write(batch)
                except MismatchError as error:
                    if count and not isinstance(error, counters.CountersCollideError):
                        raise MismatchError(f"{error} (the step begins with row {count})") from None
                    raise
                count += batch.num_rows
            writer.close()
        except BaseException:
            writer.abort()
            sources.close(batches)
            raise
    return Done(count, _left_out(task, rows.left_out))


def _check_names(task: Task, names: Sequence[str]) -> None:
    """Refuses columns without a name, which only tables have."""
    if "" in names and task.format in ("ttree", "rntuple", "npy", "hdf5"):
        which = f"column {names.index('') + 1} of {sources.name_of(task.parts[0][0])} has no name"
        way = "name it there, or choose other columns (columns, -c)"
        raise MismatchError(f"{which}, and in {task.format} each one has a name: {way}")


def _left_out(task: Task, names: Sequence[str]) -> str | None:
    """The branches that a file lacks, in words."""
    if not names:
        return None
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    first = sources.name_of(task.parts[0][0])
    return f"{first}: left out, since they cannot be columns of Arrow: {', '.join(names[:5])}{more}"


def _ahead(batches: Iterator[Any]) -> Iterator[Any]:
    """Batches, of which the next is read while one is written."""
    found = iteration.ahead(itertools.repeat(batches), lambda rows: next(rows, None))
    try:
        yield from itertools.takewhile(lambda batch: batch is not None, found)
    finally:
        found.close()
        sources.close(batches)
