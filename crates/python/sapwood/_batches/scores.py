"""A column that a function computes from others, added to files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood._batches.batches import batches
from sapwood._read.chain import Chain
from sapwood._remote import paths
from sapwood.errors import MismatchError
from sapwood.writing import recreate, update

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from sapwood._remote.network import Opening


def add_column(
    files: Any,
    name: str,
    function: Callable[..., Any],
    columns: str | Sequence[str],
    *,
    friend: str | os.PathLike[str] | None = None,
    size: int = 1 << 16,
    aliases: Mapping[str, str] | None = None,
    pad: int | Mapping[str, int] | None = None,
    pad_value: float = 0,
    missing: float | None = None,
    dtype: Any = None,
    matrix: bool = False,
    scaling: Any = None,
    to: Any = "numpy",
    **others: Unpack[Opening],
) -> list[Path]:
    """Adds a column to trees and RNTuples: the scores of a network, for instance. ``function`` gets the
    columns of some rows, as :func:`sapwood.batches` hands them out (a mapping from names, or a matrix), and
    returns a number for each row.

    The column becomes a branch of the same tree, or a field of the same RNTuple. With ``friend``, a folder,
    it is written to files of the same names there instead, each with a tree or an RNTuple of the same name
    that is a friend by entry: for files that must not change, and remote ones. Returns the files that have
    the column.

    >>> import os, sapwood, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.root")
    >>> with sapwood.recreate(path) as file:
    ...     file["t"] = {"x": [1.0, 2.0, 3.0]}
    >>> _ = sapwood.add_column(f"{path}:t", "score", lambda columns: columns["x"] ** 2, ["x"])
    >>> sapwood.open(path)["t/score"].array().tolist()
    [1.0, 4.0, 9.0]

    Raises :class:`~sapwood.errors.MismatchError` if the function returns another number of values than it got
    rows, or if a file would replace an input or another file of this call: then this file stays as it was.
    """
    chain = Chain("add_column", files, others)
    places: dict[Path, str] = {}
    if friend is not None:
        Path(friend).mkdir(parents=True, exist_ok=True)
    for member in chain.members():
        path = str(member.tree.file_path)
        tree_path, _, cycle = member.tree.object_path.strip("/").partition(";")
        if cycle and friend is None and member.tree.file.key(tree_path).fCycle != int(cycle):
            raise MismatchError(
                f"{path}: {tree_path};{cycle} is an older cycle, and columns are added to the newest one: leave "
                ";CYCLE out, or write a friend"
            )
        is_ntuple = member.tree.classname == "ROOT::RNTuple"
        place = Path(path) if friend is None else Path(friend) / Path(path).name
        if friend is not None:
            paths.refuse_input(str(place), [source.file for source in chain.sources])
            if place in places:
                raise MismatchError(f"{path} and {places[place]} would both be written to {place}")
        places[place] = path
        made = batches(
            member.tree,
            columns,
            size,
            aliases=aliases,
            pad=pad,
            pad_value=pad_value,
            missing=missing,
            dtype=dtype,
            matrix=matrix,
            scaling=scaling,
            to=to,
        )
        values = np.concatenate([_values(function(batch.x), len(batch), name) for batch in made])
        if friend is None:
            with update(place) as file:
                file.add_branches(tree_path, {name: values})
        else:
            with recreate(place) as file:
                (file.mkrntuple if is_ntuple else file.mktree)(tree_path, {name: values})
    return list(places)


def _values(found: Any, rows: int, name: str) -> Any:
    """The result of the function as an array of NumPy."""
    if hasattr(found, "detach"):
        found = found.detach().cpu()
    values = np.asarray(found)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape[:1] != (rows,):
        raise MismatchError(
            f"the function for {name!r} got {rows} rows and returned values of shape {values.shape}"
        )
    return values
