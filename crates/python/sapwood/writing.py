"""Files that are written."""

from __future__ import annotations

import atexit
import inspect
import io
import os
import warnings
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from sapwood import _core, errors, filling, session, tables, whole
from sapwood.compression import as_compression, of_branches
from sapwood.conversion import as_object
from sapwood.errors import near, not_found
from sapwood.file import checked
from sapwood.file import open as _open
from sapwood.filling import Schema
from sapwood.listing import Listing
from sapwood.parallel_tree import ParallelTree
from sapwood.sizes import as_bytes
from sapwood.writable_tree import WritableTree


def recreate(
    path: Any,
    *,
    compression: Any = "zlib:1",
    threads: int = 0,
    reproducible: bool = False,
    sync: bool = False,
) -> WritableFile:
    """A new file in place of what is there.

    ``path`` is a path, or a binary file object like ``io.BytesIO``, which gets the bytes when the file is closed.
    ``compression`` is ``"zstd:5"``, ROOT's number (505), a :class:`~sapwood.Compression`, or ``None`` for none; the default is
    ROOT's. ``reproducible`` leaves dates and UUIDs out, so that the same content gives the same bytes. ``sync`` waits at each
    save until the bytes are on storage.

    >>> import io, sapwood
    >>> memory = io.BytesIO()
    >>> with sapwood.recreate(memory) as file:
    ...     file["tree"] = {"x": [1, 2, 3], "y": [[1.5], [], [2.5, 3.5]]}
    >>> sapwood.open(memory)["tree/y"].array().tolist()
    [[1.5], [], [2.5, 3.5]]

    Raises :class:`sapwood.errors.IOError` where the file cannot be written.
    """
    return WritableFile("recreate", path, compression, threads, reproducible, sync)


def create(path: Any, **options: Any) -> WritableFile:
    """A new file. The same as :func:`recreate`, but what is there stays.

    Raises :class:`sapwood.errors.ExistsError`, a :class:`FileExistsError`, where there is a file of that name.
    """
    if isinstance(path, (str, os.PathLike)) and os.path.exists(path):
        raise errors.ExistsError(
            f"there is a file {os.fspath(path)!r}: sapwood.recreate would replace it, sapwood.update would add to it"
        )
    return recreate(path, **options)


def update(
    path: Any,
    *,
    compression: Any = "file",
    threads: int = 0,
    reproducible: bool = False,
    sync: bool = False,
) -> WritableFile:
    """A file that is there, made by whomever: what it holds stays, objects and trees are added, replaced and deleted in place.

    ``compression`` is for what is written now; the default is what the file has. The other options are those of
    :func:`recreate`.

    >>> import os, sapwood, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "file.root")
    >>> with sapwood.recreate(path) as file:
    ...     file["run"] = "1"
    ...     file["old/note"] = "goes"
    >>> with sapwood.update(path) as file:
    ...     file["tree"] = {"x": [1, 2, 3]}
    ...     del file["old"]
    >>> with sapwood.open(path) as file:
    ...     file.keys()
    ['run;1', 'tree;1']

    Raises :class:`FileNotFoundError` where there is no such file; :class:`sapwood.errors.MalformedError` where it was never closed:
    ``sapwood recover`` brings back what it holds.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"a file is updated at a path, not in {type(path).__name__}")
    if not os.path.exists(path) and "://" not in os.fspath(path):
        raise errors.MissingFileError(f"no file {os.fspath(path)!r}: sapwood.recreate makes one")
    return WritableFile("update", path, compression, threads, reproducible, sync)


def every(setting: Any) -> int:
    """ROOT's number for a setting of AutoFlush or AutoSave: entries, minus bytes, or 0.

    >>> every(1000), every("30 MB"), every(-30_000_000)
    (1000, -30000000, -30000000)
    """
    return -as_bytes(setting) if isinstance(setting, str) else as_bytes(setting)


def _sizes(cluster: int | str | None, basket: int | str | None) -> tuple[int | None, int | None]:
    return (None if cluster is None else as_bytes(cluster)), (None if basket is None else as_bytes(basket))


class WritableFile(Listing):
    """A file that is being written: a mapping from names to what gets written under them.

    What was saved is seen by every reader, whatever happens to this process; closing saves, and a file that nobody closes is closed
    when it is collected, with a :class:`ResourceWarning`. :meth:`keys`, :meth:`classnames`, ``in``, ``len`` and iteration know what
    was saved and what was written since; ``file[name]`` reads it.
    """

    _closed = True

    def __init__(
        self, mode: str, path: Any, compression: Any, threads: int, reproducible: bool, sync: bool
    ) -> None:
        self._target = None if isinstance(path, (str, os.PathLike)) else path
        if self._target is not None and not hasattr(path, "write"):
            raise TypeError(f"a file is written to a path or a binary file object, not to {type(path).__name__}")
        setting = None if compression == "file" else as_compression(compression)
        self._place = None if self._target is not None else os.fspath(path)
        checked(threads=threads)
        self._core = _core.FileWriter.open(mode, self._place, setting, threads, reproducible, sync)
        self._trees: list[WritableTree | ParallelTree] = []
        self._generation = session.generation()
        self._closed = False
        _unclosed.add(self)

    def mkdir(self, path: str) -> None:
        """Makes a directory, and those above it."""
        filling.check_text(path, "the name of a directory")
        self._core.mkdir(path)

    def mktree(
        self,
        name: str,
        branch_types: Mapping[str, Any],
        title: str = "",
        *,
        counter_name: filling.CounterName = filling.counter_name,
        field_name: filling.FieldName = filling.field_name,
        compression: Any = "file",
        auto_flush: int | str = -30_000_000,
        auto_save: int | str = -300_000_000,
        cluster_bytes: int | str | None = None,
        basket_bytes: int | str | None = None,
        split_level: int = 99,
        member_wise: bool = True,
    ) -> WritableTree:
        """Begins a tree; :meth:`WritableTree.extend` fills it.

        ``branch_types`` gives each branch a type: a NumPy type (``"f4"``, ``np.dtype(("f8", (2, 2)))``), or an Awkward type
        (``"var * float32"``, ``"string"``, ``"var * {pt: f4, eta: f4}"``), or C++'s word (``"Long64_t"``, ``"vector<float>"``), or a
        dataclass for objects, whose members become branches down to ``split_level`` (0 keeps each object whole). Lists are counted by
        a branch of the name ``counter_name`` gives, fields of records have the names ``field_name`` gives: functions, or texts like
        ``"n{}"`` and ``"{}_{}"``.

        ``compression`` is a setting as :func:`recreate` takes it, or a mapping from branches to settings: names, or globs like
        ``"Muon_*"``, of which the first that fits counts; a name of a column or object stands for all branches that it becomes, and
        ``"*"`` for those that nothing else names.

        A cluster ends after ``auto_flush`` entries; where that is negative or a size like ``"30 MB"``, after as many entries as
        the first so many compressed bytes hold; where it is 0, or at the latest, when its rows take ``cluster_bytes`` bytes (128
        MiB) before compression. ``auto_save`` says in the same words how often all that was written becomes visible to
        readers on the way. Both are ROOT's ``SetAutoFlush`` and ``SetAutoSave``. Collections of objects are streamed member by member,
        or object by object where ``member_wise`` is false.

        >>> import dataclasses, io, sapwood
        >>> @dataclasses.dataclass
        ... class Hit:
        ...     x: float
        ...     adc: int
        >>> @dataclasses.dataclass
        ... class Event:
        ...     number: int
        ...     hits: list[Hit]
        >>> memory = io.BytesIO()
        >>> with sapwood.recreate(memory) as file:
        ...     tree = file.mktree("events", {"event": Event})
        ...     for number in range(3):
        ...         tree.fill(event=Event(number, [Hit(0.5, number)] * number))
        >>> sapwood.open(memory)["events/hits.adc"].array().tolist()
        [[], [1], [2, 2]]
        """
        options = (compression, auto_flush, auto_save, cluster_bytes, basket_bytes, split_level, member_wise)
        core, schema = self._begin("new", name, branch_types, title, counter_name, field_name, *options)
        tree = WritableTree(core, schema, name)
        self._trees.append(tree)
        return tree

    def _begin(
        self,
        how: str,
        name: str,
        branch_types: Mapping[str, Any],
        title: str = "",
        counter_name: filling.CounterName = filling.counter_name,
        field_name: filling.FieldName = filling.field_name,
        compression: Any = "file",
        auto_flush: int | str = -30_000_000,
        auto_save: int | str = -300_000_000,
        cluster_bytes: int | str | None = None,
        basket_bytes: int | str | None = None,
        split_level: int = 99,
        member_wise: bool = True,
    ) -> tuple[Any, Schema]:
        """The engine's tree, and what its branches hold."""
        filling.check_text(name, "the name of a tree")
        schema = filling.schema(branch_types, counter_name, field_name, split_level)
        setting, own = of_branches(compression, "file", schema)
        core = self._core.tree(
            how,
            name,
            [spec.for_engine(own.get(spec.name)) for spec in schema.specs],
            title,
            setting,
            every(auto_flush),
            every(auto_save),
            *_sizes(cluster_bytes, basket_bytes),
            member_wise=member_wise,
        )
        return core, schema

    def parallel_tree(
        self, name: str, branch_types: Mapping[str, Any], title: str = "", **options: Any
    ) -> ParallelTree:
        """Begins a tree that many threads fill, each with a :meth:`~ParallelTree.context` of its own, which compresses and writes its own
        clusters. The arguments are those of :meth:`mktree`; a cluster is kept in memory for each thread.

        >>> import io, sapwood
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> def work(start):
        ...     with tree.context() as context:
        ...         context.extend({"x": range(start, start + 100)})
        >>> memory = io.BytesIO()
        >>> with sapwood.recreate(memory) as file:
        ...     tree = file.parallel_tree("tree", {"x": "i4"})
        ...     with ThreadPoolExecutor(4) as pool:
        ...         _ = list(pool.map(work, range(0, 1000, 100)))
        >>> sorted(sapwood.open(memory)["tree/x"].array().tolist()) == list(range(1000))
        True
        """
        for option in options:
            if option not in _OPTIONS:
                raise TypeError(f"parallel_tree() got an unexpected keyword argument {option!r}{near(option, _OPTIONS, 1)}")
        core, schema = self._begin("parallel", name, branch_types, title, **options)
        tree = ParallelTree(core, schema, name)
        self._trees.append(tree)
        return tree

    def __setitem__(self, name: str, value: Any) -> None:
        """Writes a value: histograms of NumPy, boost-histogram, hist and all others of the UHI protocol, objects that were read
        or that :mod:`sapwood.objects` made, text as ``TObjString``, lists of objects as ``TList``; whatever is a table as a tree.

        An object that has a name gets that of its key.

        >>> import io, numpy as np, sapwood
        >>> memory, copy = io.BytesIO(), io.BytesIO()
        >>> with sapwood.recreate(memory) as file:
        ...     file["h"] = np.histogram([1, 2, 2, 7], bins=4, range=(0, 4))
        >>> with sapwood.recreate(copy) as file:
        ...     file["folder/copy"] = sapwood.open(memory)["h"]
        >>> sapwood.open(copy)["folder/copy"].to_numpy()[0].tolist()
        [0.0, 1.0, 2.0, 0.0]
        """
        filling.check_text(name, "the name of an object")
        draft = as_object(value)
        if draft is not None:
            if draft.has_member("fName") and (draft.has_member("fTitle") or draft.classname.startswith("TParameter<")):
                draft = draft.replaced("fName", name.strip("/").rsplit("/", 1)[-1])
            self._core.write(name, draft)
            return
        found = tables.table(value)
        if found is None:
            raise errors.MismatchError(
                f"{whole.shown(value)} cannot be written: a file takes tables ({tables.TABLES}), text, histograms, objects that were read, "
                "lists of objects, and what sapwood.objects makes, like parameter for a number"
            )
        columns = {column: tables.as_column(column, data) for column, data in found.items()}
        schema = filling.schema_of(columns, filling.counter_name, filling.field_name)
        lengths = {column: len(data) for column, data in columns.items()}
        if len(set(lengths.values())) > 1:  # before there is a tree
            raise errors.MismatchError(f"columns of {name!r} have different lengths: {lengths}")
        specs = [spec.for_engine() for spec in schema.specs]
        core = self._core.tree("whole", name, specs, "")
        try:
            tree = WritableTree(core, schema, name)
            tree.extend(columns)
            tree.flush()
        except BaseException:
            core.discard()  # what had the name before has it again
            raise
        core.close()

    def append(
        self,
        name: str,
        *,
        compression: Any = "tree",
        auto_save: int | str = -300_000_000,
        cluster_bytes: int | str | None = None,
        basket_bytes: int | str | None = None,
    ) -> WritableTree:
        """Opens a tree that was in the file before, made by whomever, to add entries to it: with
        :meth:`WritableTree.extend` or :meth:`WritableTree.fill`, a value for each of its branches.

        What is there stays as it is; entries go on in clusters of the size that the last ones have. The options are those of
        :meth:`mktree`.

        >>> import os, sapwood, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "file.root")
        >>> with sapwood.recreate(path) as file:
        ...     file["tree"] = {"x": [1, 2, 3]}
        >>> with sapwood.update(path) as file:
        ...     with file.append("tree") as tree:
        ...         tree.extend({"x": [4, 5]})
        >>> sapwood.open(path)["tree/x"].array().tolist()
        [1, 2, 3, 4, 5]

        Raises :class:`sapwood.errors.UnsupportedError` naming the branch whose like cannot be written yet.
        """
        setting = None if compression == "tree" else as_compression(compression)
        sizes = _sizes(cluster_bytes, basket_bytes)
        core = self._core.tree("entries", name, [], "", setting, None, every(auto_save), *sizes)
        tree = WritableTree(core, filling.schema_there(core.branches()), name)
        self._trees.append(tree)
        return tree

    def add_branches(self, name: str, data: Any, *, compression: Any = "file") -> None:
        """Adds branches to a tree that was in the file before, made by whomever: a value for each of its entries.

        ``data`` is what :meth:`WritableTree.extend` takes, ``compression`` what :meth:`mktree` takes.

        >>> import os, sapwood, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "file.root")
        >>> with sapwood.recreate(path) as file:
        ...     file["tree"] = {"x": [1, 2, 3]}
        >>> with sapwood.update(path) as file:
        ...     file.add_branches("tree", {"weight": [0.5, 1.0, 0.25]})
        >>> sapwood.open(path)["tree"].keys()
        ['x', 'weight']

        Raises :class:`sapwood.errors.MismatchError` where the number of values is not that of the entries: then the tree stays as
        it is.
        """
        columns = {column: tables.as_column(column, values) for column, values in tables.columns_of(data).items()}
        schema = filling.schema_of(columns, filling.counter_name, filling.field_name)
        setting, own = of_branches(compression, "file", schema)
        specs = [spec.for_engine(own.get(spec.name)) for spec in schema.specs]
        core = self._core.tree("branches", name, specs, "", setting)
        with WritableTree(core, schema, name) as tree:
            tree.extend(columns)

    def copy(self, source: Any, name: str, to: str | None = None) -> None:
        """Copies an object, a tree with its baskets, or a directory with all below it: from ``source``, an open
        :class:`~sapwood.File` or a path, under the same name or the path ``to``.

        Nothing is inflated, and classes need not be known: their descriptions come along.

        >>> import os, sapwood, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with sapwood.recreate(os.path.join(folder, "a.root")) as file:
        ...     file["tree"] = {"x": [1, 2, 3]}
        >>> with sapwood.recreate(os.path.join(folder, "b.root")) as file:
        ...     file.copy(os.path.join(folder, "a.root"), "tree", "old/tree")
        >>> sapwood.open(os.path.join(folder, "b.root"))["old/tree/x"].array().tolist()
        [1, 2, 3]

        Raises :class:`KeyError` where there is none of that name.
        """
        file = _open(source) if isinstance(source, (str, os.PathLike)) else source
        self._core.copy(file._engine(), name, name if to is None else to)

    def rename(self, name: str, to: str) -> None:
        """Gives an object, a tree or a directory that was in the file before another path."""
        filling.check_text(to, "the name of an object")
        self._core.rename(name, to)

    def _keys(self, recursive: bool) -> list[Any]:
        return [key for key in self._core.keys() if recursive or "/" not in key.path]

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and bool(self._core.key(name))
        except (errors.NotFoundError, errors.ExistsError, UnicodeEncodeError):
            return False

    def __getitem__(self, name: str) -> Any:
        """A tree that is being filled, to go on with it; all else is read, as :func:`sapwood.open` would. What is not saved yet is
        saved first, but for rows that trees still keep.

        >>> import io, sapwood
        >>> with sapwood.recreate(io.BytesIO()) as file:
        ...     file["note"] = "first"
        ...     tree = file.mktree("tree", {"x": "f8"})
        ...     file["tree"].extend({"x": [1.5]})
        ...     file.keys(), "note" in file, str(file["note"])
        (['note;1', 'tree;1'], True, 'first')

        Raises :class:`KeyError` where there is none of that name.
        """
        for tree in self._trees:
            if not tree.closed and tree.name.strip("/") == str(name).strip("/"):
                return tree
        if name not in self:
            raise not_found(f"not found: no key {name!r}{near(name, self.keys(cycle=False))}")
        if not self._core.is_saved():
            self._core.save()
        return _open(self._place if self._place is not None else self._core.content())[name]

    def __delitem__(self, name: str) -> None:
        """Deletes an object, or a directory and all below it; all cycles, where the name does not end in ``;cycle``.

        Raises :class:`KeyError` where there is none.
        """
        self._core.remove(name)

    def save(self) -> None:
        """Makes all rows and objects that were written visible to every reader. Where a tree cannot be written, the others and all
        objects are."""
        failures = self._failures(lambda tree: tree.flush())
        self._core.save()
        errors.throw(failures)

    def close(self) -> None:
        """Writes what is kept, saves, and ends. Where a tree cannot be written, the others and all objects are."""
        if self._closed:
            return
        self._closed = True
        _unclosed.discard(self)
        failures = self._failures(lambda tree: tree.close())
        self._core.close()
        if self._target is not None:
            self._target.write(self._core.content())
            if isinstance(self._target, io.BytesIO):
                self._target.seek(0)
        errors.throw(failures)

    def _failures(self, action: Callable[[WritableTree | ParallelTree], None]) -> list[Exception]:
        """What goes wrong when something is done to all trees."""
        failures: list[Exception] = []
        for tree in self._trees:
            try:
                action(tree)
            except Exception as error:
                failures.append(error)
        return failures

    def __del__(self) -> None:
        # The file of a child process that was forked is its parent's.
        if self._closed or self._generation != session.generation():
            return
        words = f"{'a file in memory' if self._place is None else self._place!r} was never closed"
        try:
            try:
                self.close()
            except Exception as error:
                warnings.warn(f"{words}, and cannot be closed now: {error}", RuntimeWarning, stacklevel=2, source=self)
            else:
                warnings.warn(words, ResourceWarning, stacklevel=2, source=self)
        except Exception:  # whoever made errors of warnings; there is nobody to raise it to
            pass

    def __enter__(self) -> WritableFile:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        errors.close_after(error, self.close)


_OPTIONS = [name for name in inspect.signature(WritableFile._begin).parameters if name not in ("self", "how")]
"""What trees are begun with."""

_unclosed: weakref.WeakSet[WritableFile] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """While modules can be imported still, which conversions may need."""
    for file in list(_unclosed):
        file.__del__()
