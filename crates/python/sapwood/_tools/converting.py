"""Conversion between ROOT files, Parquet, Arrow, CSV, JSON lines, NumPy's files and HDF5."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from sapwood._notices import warn
from sapwood._read.filters import Filter

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from sapwood._remote.network import Opening


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
    types: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    progress: bool | None = None,
    threads: int = 0,
    **others: Unpack[Opening],
) -> Converted:
    """Converts files to another format.

    ``files`` is a path, a glob or a list of these, or an open tree; a file of ROOT may be followed by
    ``:tree``. Where ``target`` is a folder (one that is there, or a path that ends with a slash), each file
    becomes one of the same name in it, ``jobs`` at a time; else all of them become one file, one after
    another. The formats are those that the names say, or ``source_format`` and ``format``: ``"ttree"``,
    ``"rntuple"``, ``"parquet"``, ``"feather"``, ``"arrows"``, ``"csv"``, ``"jsonl"``, ``"npz"``, ``"npy"``,
    ``"hdf5"``. Texts may be compressed (``.csv.gz``, ``.jsonl.zst``). A target of ROOT may name its tree:
    ``"out.root:Events"``.

    ``columns`` are names and patterns (``"Muon_*"``); of ROOT files also expressions, and ``cut``,
    ``filter_name`` and ``aliases`` are as in
    :meth:`Tree.arrays() <sapwood._read.branches.HasBranches.arrays>`. ``compression`` is a codec of the
    target with a level if need be: ``"zstd:5"``, ``"none"``. Steps of ``step_size`` are in memory: one is
    written while the next is read. A file has its name when it is complete; one that is there is only
    replaced with ``overwrite``. Trees have no place for missing values, and RNTuples one with ``nullable``,
    which makes fields optional. Without ``columns``, branches that cannot be columns of Arrow are left out,
    with a warning that names them.

    Columns of CSV and JSON lines have the types that their first block shows. ``types`` names others, for
    columns of every format: ``{"code": "string", "id": "uint64"}``, or types of pyarrow. Whole numbers above
    2^63 are unsigned; such that 64 bits do not hold are an error unless ``types`` says ``"float64"``.
    ``NaN``, ``Infinity`` and ``-Infinity`` stand for themselves in JSON lines. Dates, times and durations are
    whole numbers in files of ROOT, with their types in the title of the tree, and dates again in other
    formats. So are bytes, as lists of numbers.

    This needs pyarrow, Awkward Array to write files of ROOT, and h5py for HDF5.

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

    Raises :class:`~sapwood.errors.UnsupportedError` naming the column and type that the target has no place
    for, and what to do, and :class:`~sapwood.errors.ExistsError` for a target that is there.
    """
    # Imported here, since nothing else needs it.
    from sapwood._convert import work

    wanted = work.wanted_of(columns, cut, filter_name, aliases, step_size, threads, types, dict(others))
    tasks = work.tasks(files, target, format, source_format, compression, overwrite, wanted)
    done = work.run(tasks, wanted, nullable, jobs, progress)
    for words in (one.left_out for one in done if one.left_out is not None):
        warn(words, stacklevel=2)
    return Converted([task.place for task in tasks], sum(one.entries for one in done))


__all__ = ["Converted", "convert"]
