"""Partitions of collections of Dask: imported only where these are made."""

from __future__ import annotations

import functools
import os
import re
import time
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import awkward as ak
import numpy as np
from dask_awkward.lib.io.columnar import ColumnProjectionMixin
from dask_awkward.lib.utils import form_with_unique_keys

from sapwood._read import chain as chain_module
from sapwood._read import reading
from sapwood._read.chain import FriendSpan
from sapwood._read.libraries import need
from sapwood._read.selection import Range, Selection
from sapwood._remote import paths, urls
from sapwood.errors import MissingFileError, NotFoundError, UnsupportedError

dask: Any = need("dask", "sapwood.dask()", "dask-awkward")
dask_awkward: Any = need("dask_awkward", "sapwood.dask()", "dask-awkward")

#: The first version of dask that computes no collection, the last of dask-awkward of which that is known, and
#: what to install in their place, as the extra `dask` has it.
_BREAKS, _BROKEN = (2025, 4), (2026, 2, 1)
INSTALL = 'pip install "dask-awkward>=2025.9" "dask[array]>=2025.3,<2025.4" "distributed>=2025.3,<2025.4"'


def check_versions(what: str) -> None:
    """Whether dask and dask-awkward work together.

    Raises :class:`~sapwood.errors.UnsupportedError` where they do not.
    """
    versions = [str(package.__version__) for package in (dask, dask_awkward)]
    numbers = [tuple(map(int, re.findall(r"\d+", version)[:3])) for version in versions]
    if numbers[0] >= _BREAKS and numbers[1] <= _BROKEN:
        raise UnsupportedError(
            f"{what} computes nothing with dask {versions[0]} and dask-awkward {versions[1]}, which do not work "
            f"together: {INSTALL}"
        )


class Unit(NamedTuple):
    """What one partition holds."""

    source: paths.Source
    span: Range | None
    """Its entries; ``None`` where they are not known before the file is open."""
    rows: np.ndarray[Any, Any] | None
    """Those of them that are wanted; ``None`` for all."""
    aliases: dict[str, str]
    friends: list[FriendSpan]
    part: tuple[int, int] = (0, 1)
    """Which part of the file it is, of how many, where its entries are not known."""

    def selection(self, total: int) -> Selection:
        """Its entries, in a tree of so many."""
        if self.span is None:
            part, parts = self.part
            return Selection((total * part // parts, total * (part + 1) // parts))
        return Selection(self.span, self.rows)


class Read(ColumnProjectionMixin):
    """Reads one partition: the columns that a graph needs. It stands in for the others, too, as dask-awkward
    asks for all that the form has, and looks at none of these."""

    behavior = attrs = None

    def __init__(
        self,
        form: Any,
        names: list[str],
        wanted: list[str],
        cut: str | None,
        opening: dict[str, Any],
        allowed: bool | tuple[type[BaseException], ...] = False,
        allow_missing: bool = False,
    ) -> None:
        self.form, self.names, self.wanted, self.cut, self.opening = form, names, wanted, cut, opening
        self.allow_missing = allow_missing
        self.allowed = (OSError,) if allowed is True else allowed or ()

    @property
    def return_report(self) -> bool:
        """Errors go into reports."""
        return bool(self.allowed)

    @property
    def use_optimization(self) -> bool:
        """Columns are left out."""
        return True

    def project_columns(self, columns: frozenset[str]) -> Read:
        """The same with the columns that are needed; of a record, all of it is read."""
        # Columns, and the records that they are in.
        needed = {above for one in columns for above in accumulate(one.split("."), "{}.{}".format)}
        wanted = [name for name in self.names if name in needed]
        return Read(self.form, self.names, wanted, self.cut, self.opening, self.allowed, self.allow_missing)

    project_manually = project_columns

    def empty(self) -> ak.Array:
        """An array without entries."""
        return ak.Array(self.form.length_zero_array(highlevel=False))

    def __call__(self, unit: Unit) -> Any:
        if not self.allowed:
            return self.read(unit)
        began = time.time()
        try:
            array = self.read(unit)
        except self.allowed as error:
            return self.empty(), _report(unit, began, 0, error)
        return array, _report(unit, began, len(array), None)

    def read(self, unit: Unit) -> ak.Array:
        """The columns of a partition that are wanted, and others that nothing looks at."""
        return self._if_there(lambda: self._read(unit), self.empty)

    def _if_there(self, read: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        """What is read, or what stands for a file, tree or branch that may be missing."""
        try:
            return read()
        except (MissingFileError, NotFoundError):
            if not self.allow_missing:
                raise
            return otherwise()

    def _read(self, unit: Unit) -> ak.Array:
        tree = chain_module.open_tree(unit.source, self.opening)
        try:
            # Where nothing is needed but the number of entries, the first column says how many passed a cut.
            wanted = self.wanted or ([] if self.cut is None else self.names[:1])
            selection = unit.selection(tree.tree.num_entries)
            length = len(selection)
            found: dict[str, Any] = {}
            if wanted:
                with chain_module.opened(unit.friends, self.opening) as friends:
                    plan = reading.Plan(tree, wanted, self.cut, aliases=unit.aliases, friends=friends)
                    arrays = reading.read(plan, selection, "ak", None, False)
                found, length = {name: arrays[name].layout for name in wanted}, len(arrays)
        finally:
            chain_module.close(unit.source, tree)
        for name, layout in found.items():
            # What the form says of a column, such as its title, belongs to the array, too.
            layout._parameters = self.form.content(name).parameters
        contents = [
            found[name] if name in found else _placeholder(self.form.content(name), length)
            for name in self.names
        ]
        return ak.Array(ak.contents.RecordArray(contents, self.names, length=length))

    def column(self, unit: Unit, name: str) -> np.ndarray[Any, Any]:
        """One column of a partition in NumPy's form."""
        found: np.ndarray[Any, Any] = self._if_there(
            lambda: self._column(unit, name), lambda: np.empty(0, _dtype(self.form.content(name)))
        )
        return found

    def _column(self, unit: Unit, name: str) -> np.ndarray[Any, Any]:
        tree = chain_module.open_tree(unit.source, self.opening)
        try:
            with chain_module.opened(unit.friends, self.opening) as friends:
                plan = reading.Plan(tree, [name], self.cut, aliases=unit.aliases, friends=friends)
                arrays = reading.read(plan, unit.selection(tree.tree.num_entries), "np", None, False)
        finally:
            chain_module.close(unit.source, tree)
        found: np.ndarray[Any, Any] = arrays[name]
        return found


def _report(unit: Unit, began: float, entries: int, error: BaseException | None) -> ak.Array:
    """What became of a partition, as an array of one record."""
    # Python's own class, which other readers raise, too: FileNotFoundError.
    classes = [] if error is None else [one for one in type(error).__mro__ if one.__module__ == "builtins"]
    row = {
        "file": str(unit.source.file),
        "call_time": began,
        "duration": time.time() - began,
        "entries": entries,
        "exception": classes[0].__name__ if classes else None,
        "message": None if error is None else str(error),
    }
    return ak.Array([row])


def collection(read: Read, units: Sequence[Unit], library: str) -> Any:
    """The collection of these partitions."""
    lengths = [
        None if unit.span is None or read.cut else len(Selection(unit.span, unit.rows)) for unit in units
    ]
    if library == "np":
        return _columns(read, units, lengths)
    check_versions("sapwood.dask()")
    if not units:
        return dask_awkward.from_awkward(read.empty(), npartitions=1)
    divisions: tuple[int | None, ...] = (None,) * (len(units) + 1)
    if None not in lengths and not read.allowed:
        divisions = tuple(np.cumsum([0, *lengths]).tolist())
    return dask_awkward.from_map(read, units, label="from-sapwood", meta=read.mock(), divisions=divisions)


def _columns(read: Read, units: Sequence[Unit], lengths: Sequence[int | None]) -> dict[str, Any]:
    """An array of Dask for each column, in NumPy's form."""
    arrays: Any = need("dask.array", 'library="np" of sapwood.dask()', "dask[array]")
    found = {}
    for name in read.names:
        like = np.empty(0, _dtype(read.form.content(name)))
        token = f"from-sapwood-{name}-{dask.base.tokenize(read.form, units, read.cut, name)}"
        inner = like.shape[1:]
        zeros = (0,) * len(inner)
        graph: dict[Any, tuple[Any, ...]] = {
            (token, number, *zeros): (functools.partial(read.column, unit, name),)
            for number, unit in enumerate(units)
        } or {(token, 0, *zeros): (np.copy, like)}
        chunks = tuple(float("nan") if length is None else length for length in lengths) or (0,)
        found[name] = arrays.Array(graph, token, (chunks, *((size,) for size in inner)), like.dtype)
    return found


def _dtype(form: Any) -> np.dtype[Any]:
    """The NumPy type of an entry, with its shape; ``object`` for what is no fixed number of numbers."""
    shape = []
    while isinstance(form, ak.forms.RegularForm):
        shape.append(form.size)
        form = form.content
    if isinstance(form, ak.forms.NumpyForm) and form.parameter("__array__") is None:
        return np.dtype((form.primitive, (*shape, *form.inner_shape)))
    return np.dtype(object)


def write_parts(
    array: Any, folder: str, name: str, tree_name: str, title: str, options: dict[str, Any]
) -> Any:
    """The number of entries that are written, each partition to a file of its own, once it is computed."""
    parts = array.to_delayed()
    digits = len(str(max(len(parts) - 1, 0)))
    if not urls.is_url(folder):
        os.makedirs(folder, exist_ok=True)
    write = dask.delayed(_write_part)
    paths_of = [f"{folder.rstrip('/')}/{name}{number:0{digits}}.root" for number in range(len(parts))]
    return dask.delayed(sum)(
        [write(part, path, tree_name, title, options) for part, path in zip(parts, paths_of)]
    )


def _write_part(part: ak.Array, path: str, tree_name: str, title: str, options: dict[str, Any]) -> int:
    from sapwood.writing import recreate

    with recreate(path, **options) as file, file.mktree(tree_name, part, title=title):
        pass
    return len(part)


def _placeholder(form: Any, length: int) -> Any:
    """Something of a form and length that nothing looks at."""
    keyed = form_with_unique_keys(form, "@")
    numpy = ak._nplikes.numpy.Numpy.instance()
    unknown = ak.typetracer.unknown_length
    buffers = {
        key: ak.typetracer.PlaceholderArray(numpy, (unknown,), dtype)
        for key, dtype in keyed.expected_from_buffers(buffer_key="{form_key}-{attribute}").items()
    }
    return ak.from_buffers(keyed, length, buffers, buffer_key="{form_key}-{attribute}", highlevel=False)
