"""Skims: selected entries and columns of many files, with new columns, as one tree."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from sapwood import writing
from sapwood._read.multi_file import iterate
from sapwood._remote import network
from sapwood._write.staged import staged
from sapwood.compression import by_name
from sapwood.errors import MismatchError


def skim(
    files: Any,
    output: str | os.PathLike[str],
    columns: Iterable[str] | Mapping[str, str] | None = None,
    cut: str | None = None,
    *,
    tree: str | None = None,
    format: str = "ttree",
    compression: Any = "zstd:5",
    random_access: Any = None,
    aliases: Mapping[str, str] | None = None,
    step_size: int | str = "100 MB",
    **options: Any,
) -> int:
    """Writes the entries of many files that pass a cut into a tree of a new file (``Snapshot`` of
    RDataFrame); gives how many these were. A file of that name is replaced.

    ``tree`` is the name of the new tree; without it, that of the first one that is read. ``columns`` are
    names of branches, or a mapping from names of new branches to expressions; all branches without it.
    Entries are read and written in steps of ``step_size``, and compressed while the next ones are read;
    ``compression`` is a setting, or a mapping from names or globs of columns to settings, and so is
    ``random_access``, as :meth:`~sapwood.writing.WritableDirectory.mktree` takes it. With
    ``format="rntuple"`` the file holds an RNTuple, which has no blocks. The output gets its name when all is
    written: what fails leaves nothing. It may be a URL that :func:`sapwood.recreate` takes. Further options
    are those of :func:`sapwood.iterate`; those of the network are for the output, too.

    >>> import os, sapwood, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with sapwood.recreate(os.path.join(folder, "in.root")) as file:
    ...     file["t"] = {"x": [1.0, -2.0, 3.0], "v": [[1.0], [2.0, 3.0], []]}
    >>> sapwood.skim(
    ...     os.path.join(folder, "in.root:t"),
    ...     os.path.join(folder, "out.root"),
    ...     {"x": "x", "sum_v": "Sum$(v)"},
    ...     cut="x > 0",
    ... )
    2
    >>> sapwood.open(os.path.join(folder, "out.root"))["t"].arrays(library="np")["sum_v"].tolist()
    [1.0, 0.0]
    """
    if format not in ("ttree", "rntuple"):
        raise MismatchError(f'format is "ttree" or "rntuple", not {format!r}')
    taken = sorted({"how", "library", "report"} & options.keys())
    if taken:
        raise TypeError(f"skim() decides about {taken[0]!r} itself")
    if columns is not None and not columns:
        raise MismatchError("no column is named: leave columns out for all branches")
    if format == "rntuple" and random_access is not None:
        raise MismatchError("random_access is for trees: an RNTuple has pages instead of baskets")
    blocks = "off" if random_access is None else random_access
    named = columns if isinstance(columns, Mapping) else None
    wanted = list(dict.fromkeys(named.values())) if named is not None else columns
    target = os.fspath(output)
    setting = by_name(compression)[0] or "zstd:5"
    passed = 0
    into: Any = None
    steps = iterate(
        files, wanted, cut, aliases=dict(aliases or {}), step_size=step_size, how=dict, report=True, **options
    )
    over = network.take_options(dict(options))
    with staged(target, over) as partial, writing.recreate(partial, compression=setting) as file:
        for step, report in steps:
            values = {name: step[text] for name, text in named.items()} if named is not None else step
            passed += len(next(iter(values.values()), ()))
            if into is not None:
                into.extend(values)
                continue
            name = tree or report.source.name
            if format == "rntuple":
                into = file.mkrntuple(name, values, compression=compression)
            else:
                into = file.mktree(name, values, compression=compression, random_access=blocks)
        if into is None:
            raise MismatchError("no entry was read: nothing says what the skim would hold")
    return passed


__all__ = ["skim"]
