"""Conversion between ROOT files, Parquet, Arrow, CSV, JSON lines, NumPy's files and HDF5."""

from __future__ import annotations

import argparse
import glob
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from sapwood import file as files_module
from sapwood import iteration, network
from sapwood._convert import formats, sources, targets
from sapwood._read import progress as progress_bar
from sapwood._read.compat_kwargs import ignore
from sapwood._remote import paths
from sapwood.errors import ExistsError, MismatchError
from sapwood.filters import Filter

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from sapwood.network import Opening


class Converted(NamedTuple):
    """What :func:`convert` wrote."""

    files: list[str]
    """Paths of the files."""
    entries: int
    """Rows in all of them."""


def convert(
    files: Any,
    target: Any,
    *,
    format: str | None = None,
    source_format: str | None = None,
    columns: Iterable[str] | None = None,
    cut: str | None = None,
    filter_name: Filter = None,
    aliases: dict[str, str] | None = None,
    compression: str | None = None,
    step_size: int | str = "64 MB",
    jobs: int | None = None,
    nullable: bool = False,
    overwrite: bool = False,
    progress: bool | None = None,
    threads: int = 0,
    **others: Unpack[Opening],
) -> Converted:
    """Converts files to another format.

    ``files`` is a path, a glob or a list of these, or an open tree; a file of ROOT may be followed by ``:tree``. Where
    ``target`` is a folder (one that is there, or a path that ends with a slash), each file becomes one of the same
    name in it, ``jobs`` at a time; else all of them become one file, one after another. The formats are those that
    the names say, or ``source_format`` and ``format``: ``"ttree"``, ``"rntuple"``, ``"parquet"``, ``"feather"``,
    ``"arrows"``, ``"csv"``, ``"jsonl"``, ``"npz"``, ``"npy"``, ``"hdf5"``. Texts may be compressed (``.csv.gz``,
    ``.jsonl.zst``). A target of ROOT may name its tree: ``"out.root:Events"``.

    ``columns`` are names; of ROOT files also expressions, and ``cut``, ``filter_name`` and ``aliases`` are as in
    :meth:`Tree.arrays() <sapwood._read.branches.HasBranches.arrays>`. ``compression`` is a codec of the target with a
    level if need be: ``"zstd:5"``, ``"none"``. Steps of ``step_size`` are in memory: one is written while the next
    is read. A file has its name when it is complete; one that is there is only replaced with ``overwrite``. Trees
    have no place for missing values, and RNTuples one with ``nullable``, which makes fields optional.

    This needs pyarrow, and h5py for HDF5.

    >>> import os, sapwood, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> path = os.path.join(folder, "events.root")
    >>> with sapwood.recreate(path) as file:
    ...     file["events"] = {"x": [1.0, 2.0, 3.0], "v": [[1], [], [2, 3]]}
    >>> sapwood.convert(path, os.path.join(folder, "events.parquet"), cut="x > 1").entries
    2
    >>> sapwood.convert(os.path.join(folder, "events.parquet"), os.path.join(folder, "back.root:t")).entries
    2
    >>> sapwood.open(os.path.join(folder, "back.root:t"))["v"].array().tolist()
    [[], [2, 3]]

    Raises :class:`~sapwood.errors.UnsupportedError` naming the column and type that the target has no place for, and
    what to do, and :class:`~sapwood.errors.ExistsError` for a target that is there.
    """
    rest = dict(others)
    over = network.take_options(rest)
    ignore(rest, "convert")
    sources.arrow()
    iteration.step_entries(step_size)
    opening = {**files_module.check_options(threads), "network": over}
    names = None if columns is None else [columns] if isinstance(columns, str) else list(columns)
    wanted = sources.Wanted(names, cut, filter_name, aliases, step_size, opening)
    inputs = _inputs(files, over)
    plans = _plans(inputs, os.fspath(target), format, source_format)
    tasks = [
        _Task(place, tree, to, targets.check_setting(place, to, compression), parts)
        for place, tree, to, parts in plans
    ]
    for task in tasks:
        if os.path.exists(task.place) and not overwrite:
            raise ExistsError(f"{task.place} is there already: overwrite=True (--force) replaces it")
    workers = max(1, min(len(tasks), jobs or os.cpu_count() or 1))
    work = partial(_convert, wanted=wanted, nullable=nullable)
    label = "convert"
    if workers == 1:
        counts = [work(task, show=progress) for task in progress_bar.each(tasks, len(tasks), progress, "files", label)]
    else:
        with ThreadPoolExecutor(workers, "sapwood-convert") as pool:
            done = pool.map(partial(work, show=False), tasks)
            counts = list(progress_bar.each(done, len(tasks), progress, "files", label))
    return Converted([task.place for task in tasks], sum(counts))


class _Task(NamedTuple):
    """One file that is written."""

    place: str
    tree: str | None
    format: str
    setting: str | None
    parts: list[tuple[Any, str]]
    """Files that it is made of, and their formats."""


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
        place, tree = paths.split_object(target)
        return [(place, tree, formats.format_of(place, format), parts)]
    if format is None:
        raise MismatchError(f"{target} is a folder: name the format of the files in it (format=, --to)")
    to = formats.format_of("", format)
    ends = next(end for end, name in formats.SUFFIXES.items() if name == ("ttree" if to == "rntuple" else to))
    os.makedirs(target, exist_ok=True)
    plans = [(os.path.join(target, f"{_stem(one)}{ends}"), None, to, [(one, kind)]) for one, kind in parts]
    places = [place for place, *_ in plans]
    twice = next((place for place in places if places.count(place) > 1), None)
    if twice is not None:
        raise MismatchError(f"two files would become {twice}: convert them into folders of their own")
    return plans


def _source_format(one: Any, named: str | None) -> str:
    if hasattr(one, "num_entries") or isinstance(one, dict):
        return "ttree"
    return formats.format_of(str(one), named)


def _stem(one: Any) -> str:
    path = next(iter(one)) if isinstance(one, dict) else getattr(one, "file_path", one)
    name = os.path.basename(str(path))
    for packed in formats.PACKED:
        name = name.removesuffix(packed)
    return os.path.splitext(name)[0]


def _convert(task: _Task, wanted: sources.Wanted, nullable: bool, show: bool | None) -> int:
    """Writes one file under another name, which it loses when it is complete. Gives the number of rows."""
    openers: list[tuple[Any, Callable[[], sources.Rows]]] = [
        (one, partial(sources.open_rows, one, kind, wanted)) for one, kind in task.parts
    ]
    rows = sources.one_after_another(openers)
    folder, base = os.path.split(task.place)
    made = os.path.join(folder, f".{base}.{os.getpid()}-{threading.get_ident()}.part")
    count = 0
    writer: targets.Writer | None = None
    try:
        writer = targets.writer(made, task.format, rows.schema, task.tree or rows.name, task.setting, nullable)
        total = rows.total or 0
        batches = _ahead(rows.batches)
        shown = progress_bar.each(batches, total, show if total else False, "rows", base, lambda batch: batch.num_rows)
        for batch in shown:
            writer.write(batch)
            count += batch.num_rows
        writer.close()
        os.replace(made, task.place)
    except BaseException:
        if writer is not None:
            writer.abort()
        if os.path.exists(made):
            os.unlink(made)
        raise
    return count


def _ahead(batches: Iterator[Any]) -> Iterator[Any]:
    """Batches, of which the next is read while one is written."""
    with ThreadPoolExecutor(1, "sapwood-ahead") as pool:
        try:
            coming = pool.submit(next, batches, None)
            while (batch := coming.result()) is not None:
                coming = pool.submit(next, batches, None)
                yield batch
        finally:
            close = getattr(batches, "close", None)
            if close is not None:
                pool.submit(close)


def convert_command(arguments: Sequence[str]) -> int:
    """``sapwood convert FILES... TARGET``."""
    parser = argparse.ArgumentParser(
        "sapwood convert",
        description="Convert files between ROOT (trees and RNTuples), Parquet, Arrow and Feather, CSV, JSON lines, NumPy and "
        "HDF5. The ends of their names say the formats. Needs pyarrow, and h5py for HDF5.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE[:TREE]", help="files, with globs, as one after another")
    parser.add_argument("target", metavar="TARGET[:TREE]", help="a file, or a folder for one file each")
    parser.add_argument("--to", metavar="FORMAT", help=f"format of the target: {', '.join(formats.NAMES)}")
    parser.add_argument("--from", dest="source", metavar="FORMAT", help="format of the files")
    parser.add_argument("-c", "--columns", action="append", metavar="NAME", help="a column, or an expression; several times")
    parser.add_argument("--filter-name", metavar="PATTERN", help="columns whose names fit, of ROOT files")
    parser.add_argument("--cut", metavar="EXPRESSION", help="rows of ROOT files for which this is true")
    parser.add_argument("--compression", metavar="CODEC[:LEVEL]", help="of the target, like zstd:5; none for none")
    parser.add_argument("--step-size", default="64 MB", help="rows, or bytes, that are in memory")
    parser.add_argument("-j", "--jobs", type=int, help="files at a time; all cores by default")
    parser.add_argument("--nullable", action="store_true", help="RNTuples with optional fields, for missing values")
    parser.add_argument("-f", "--force", action="store_true", help="replace files that are there")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress, no summary")
    options = parser.parse_args(arguments)
    size = options.step_size
    # Ctrl-C takes away what is not complete.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        done = convert(
            options.files,
            options.target,
            format=options.to,
            source_format=options.source,
            columns=options.columns,
            cut=options.cut,
            filter_name=options.filter_name,
            compression=options.compression,
            step_size=int(size) if size.isdigit() else size,
            jobs=options.jobs,
            nullable=options.nullable,
            overwrite=options.force,
            progress=False if options.quiet else None,
        )
    except KeyboardInterrupt:
        print("sapwood: interrupted", file=sys.stderr)
        return 130
    if not options.quiet:
        plural = "" if len(done.files) == 1 else "s"
        print(f"{done.entries} rows in {len(done.files)} file{plural}: {', '.join(done.files[:3])}{' ...' if len(done.files) > 3 else ''}")
    return 0


__all__ = ["Converted", "convert"]
