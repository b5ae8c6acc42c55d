"""A column that a function computes from others, added to files."""

from __future__ import annotations

import inspect
import io
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sapwood._batches.batches import batches
from sapwood._file.file import open as open_file
from sapwood._read.chain import Chain, Member
from sapwood._remote import paths
from sapwood._remote.urls import is_url
from sapwood._write.staged import staged
from sapwood.errors import ExistsError, MismatchError, SapwoodError
from sapwood.writing import recreate, update

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from sapwood._remote.network import Opening


class Task(NamedTuple):
    """A file that gets the column."""

    source: paths.Source
    path: str
    tree_path: str
    """The tree in the file, without a cycle."""
    is_ntuple: bool
    entries: int
    place: Path
    """The file that is written."""

    def write_into(self, file: Any, column: Mapping[str, Any]) -> None:
        """Writes a new table of the same kind with this column alone."""
        (file.mkrntuple if self.is_ntuple else file.mktree)(self.tree_path, column)


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
    exists: Literal["refuse", "skip", "replace"] = "refuse",
    **others: Unpack[Opening],
) -> list[Path]:
    """Adds a column to trees and RNTuples: the scores of a network, for instance. ``function`` gets the
    columns of some rows, as :func:`sapwood.batches` hands them out (a mapping from names, or a matrix), and
    returns a number for each row, or a row of numbers. With ``pad`` it gets the masks, too, if it takes a
    second argument.

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

    All is checked before the first file changes: names, files that exist, and the type of what the function
    returns for the first rows of each file, which becomes one type for all files. If a run was interrupted,
    ``exists="skip"`` goes on with the files that lack the column. ``exists="replace"`` replaces files of
    friends.

    Raises :class:`~sapwood.errors.ExistsError` if a file has a column of this name, or if a file of a friend
    exists; :class:`~sapwood.errors.MismatchError` if the function returns another number of values than it
    got rows, or if a file would replace an input or another file of this call.
    """
    if exists not in ("refuse", "skip", "replace") or (exists == "replace" and friend is None):
        words = 'exists= is "refuse", "skip" or, for friends, "replace"'
        raise MismatchError(f"{words}, not {exists!r}")
    if not isinstance(name, str):
        raise MismatchError(f"the name of a column is a text, not {name!r}")
    has_masks = pad is not None and _takes_two(function)
    chain = Chain("add_column", files, others)
    for source in chain.sources:
        if friend is None and isinstance(source.file, str) and is_url(source.file):
            raise MismatchError(f"{source.file} is not on this machine: write friends with friend=FOLDER")
    options = {"aliases": aliases, "pad": pad, "pad_value": pad_value, "missing": missing, "dtype": dtype}
    options.update(matrix=matrix, scaling=scaling, to=to)

    def computed(task: Task, tree: Any, first_alone: bool = False) -> NDArray[Any] | None:
        """The values for a file, or for its first rows; ``None`` for a file without rows."""
        if not task.entries:
            return None
        with closing(iter(batches(tree, columns, size, **options))) as made:
            rows = islice(made, 1) if first_alone else made
            return np.concatenate(
                [
                    _values(function(batch.x, *([batch.masks] if has_masks else [])), len(batch), name)
                    for batch in rows
                ]
            )

    tasks: list[Task] = []
    wanted: list[Task] = []
    first: list[tuple[str, NDArray[Any]]] = []
    for member in chain.members():
        task = _task(member, chain, friend, tasks)
        tasks.append(task)
        if _is_done(task, member.tree, name, friend is not None, exists):
            continue
        wanted.append(task)
        values = computed(task, member.tree, first_alone=True)
        _probe(task, name, np.zeros(0) if values is None else values[:1])
        if values is not None:
            first.append((task.path, values))
    kind, shape = _type_of(name, first)
    if friend is not None:
        Path(friend).mkdir(parents=True, exist_ok=True)
    for task, member in zip(wanted, chain.members([task.source for task in wanted]), strict=True):
        values = computed(task, member.tree)
        column = {
            name: _fitting(name, np.zeros((0, *shape), kind) if values is None else values, kind, shape)
        }
        if friend is None:
            with update(task.place) as file:
                file.add_branches(task.tree_path, column)
        else:
            with staged(str(task.place)) as partial, recreate(partial) as file:
                task.write_into(file, column)
    return [task.place for task in tasks]


def _takes_two(function: Callable[..., Any]) -> bool:
    """Whether a function needs two arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    places = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return len([one for one in places if one.default is one.empty]) == 2


def _task(member: Member, chain: Chain, friend: Any, others: Sequence[Task]) -> Task:
    """The file that gets the column of a tree."""
    path = str(member.tree.file_path)
    tree_path, _, cycle = member.tree.object_path.strip("/").partition(";")
    if cycle and friend is None and member.tree.file.key(tree_path).fCycle != int(cycle):
        raise MismatchError(
            f"{path}: {tree_path};{cycle} is an older cycle, and columns are added to the newest one: leave "
            ";CYCLE out, or write a friend"
        )
    place = Path(path) if friend is None else Path(friend) / Path(path).name
    if friend is not None:
        paths.refuse_input(str(place), [source.file for source in chain.sources])
        for other in others:
            if other.place == place:
                raise MismatchError(f"{path} and {other.path} would both be written to {place}")
    is_ntuple = member.tree.classname == "ROOT::RNTuple"
    return Task(member.source, path, tree_path, is_ntuple, int(member.tree.num_entries), place)


def _is_done(task: Task, tree: Any, name: str, is_friend: bool, exists: str) -> bool:
    """Whether a file has the column and may be skipped."""
    if not is_friend:
        if name not in [branch.name for branch in tree.branches]:
            return False
        if exists == "skip":
            return True
        raise ExistsError(
            f"{task.path} has a column {name!r} in {task.tree_path}: take another name, or go on with the files "
            'that lack it by exists="skip"'
        )
    if not task.place.exists() or exists == "replace":
        return False
    if exists == "skip" and _has_column(task, name):
        return True
    words = f"{task.place} exists"
    if exists == "skip":
        words += f", and has no {task.tree_path} with {task.entries} entries of {name!r}"
    raise ExistsError(f'{words}: name another folder, or replace files by exists="replace"')


def _has_column(task: Task, name: str) -> bool:
    """Whether the file of a friend has the column."""
    try:
        with open_file(task.place) as file:
            tree = file[task.tree_path]
            return tree.num_entries == task.entries and name in [branch.name for branch in tree.branches]
    except (SapwoodError, AttributeError):
        return False


def _probe(task: Task, name: str, values: NDArray[Any]) -> None:
    """Writes values to memory: their type and the name may be none that files hold."""
    try:
        with recreate(io.BytesIO()) as file:
            task.write_into(file, {name: values})
    except SapwoodError as error:
        raise type(error)(f"{task.path} would not take the column {name!r}: {error}") from error


def _type_of(name: str, first: Sequence[tuple[str, NDArray[Any]]]) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """One type and shape for the values of all files."""
    shapes = {values.shape[1:]: path for path, values in first}
    if len(shapes) > 1:
        words = " and ".join(f"of shape {shape} for {path}" for shape, path in shapes.items())
        raise MismatchError(f"the function for {name!r} returned values {words}, per row")
    kinds = [values.dtype for _, values in first]
    return np.result_type(*kinds) if kinds else np.dtype("float64"), next(iter(shapes), ())


def _fitting(name: str, values: NDArray[Any], kind: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """The values of a file in the type of all files."""
    if values.shape[1:] != shape or not np.can_cast(values.dtype, kind):
        raise MismatchError(
            f"the function for {name!r} returned {values.dtype} of shape {values.shape[1:]} per row, and {kind} of "
            f"shape {shape} for the first rows: it has to return the same for all"
        )
    return values.astype(kind, copy=False)


def _values(found: Any, rows: int, name: str) -> NDArray[Any]:
    """The result of the function as an array of NumPy. Half floats become ``float32``: trees hold no others."""
    if hasattr(found, "detach"):
        found = found.detach().cpu()
        if str(found.dtype) in ("torch.bfloat16", "torch.float16"):
            found = found.float()
        try:
            values = np.asarray(found)
        except RuntimeError:
            values = np.from_dlpack(found)  # a build for another version of NumPy
    else:
        values = np.asarray(found)
    if values.dtype.name in ("bfloat16", "float16"):
        values = values.astype("float32")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape[:1] != (rows,):
        raise MismatchError(
            f"the function for {name!r} got {rows} rows and returned values of shape {values.shape}"
        )
    return values
