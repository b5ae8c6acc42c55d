"""Files that are written."""

from __future__ import annotations

import inspect
import io
import os
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sapwood import _core, errors
from sapwood._file import session
from sapwood._file.file import check_options, open_file
from sapwood._file.sizes import as_bytes, every
from sapwood._notices import warn
from sapwood._read.compat_kwargs import ignore
from sapwood._remote import urls
from sapwood._remote.network import take_options
from sapwood._write import branch_schema
from sapwood._write.branch_schema import Schema
from sapwood._write.parallel_tree import ParallelTree
from sapwood._write.upload import FsspecUpload, Upload, make_folders, upload
from sapwood._write.writable_directory import WritableDirectory
from sapwood._write.writable_ntuple import ParallelNTuple, WritableNTuple
from sapwood._write.writable_tree import WritableTree
from sapwood.compression import (
    Compression,
    as_compression,
    as_random_access,
    by_name,
    from_text,
    names_of,
    of_names,
)
from sapwood.errors import near

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from sapwood._remote.network import Opening


class _Usual(str):
    """A setting that was not asked for."""


USUAL = _Usual("zlib:1")
"""ROOT's setting of files, for objects and trees. RNTuples have one of their own."""


def recreate(
    file_path: Any,
    *,
    compression: Any = USUAL,
    threads: int = 0,
    reproducible: bool = False,
    sync: bool = False,
    format: str = "ttree",
    random_access: Any = None,
    statistics: bool | str | Sequence[str] = False,
    progress: bool | None = None,
    **others: Unpack[Opening],
) -> WritableFile:
    """A new file in place of what is there.

    ``file_path`` is a path, whose folders are made, or a binary file object like ``io.BytesIO``, which gets
    the bytes when the file is closed. A URL gets them then, too: the file is written on this machine, sent,
    checked, and only then has its name. The engine writes ``http(s)://``, ``root(s)://`` and clouds, with the
    arguments that :func:`sapwood.open` takes for them (``token``, ``timeout``, ``storage_options`` ...);
    fsspec writes what else it has a file system for (``memory://``, ``simplecache::...``). ``compression``
    is ``"zstd:5"``, ROOT's number (505), a :class:`~sapwood.Compression` like ``sapwood.ZSTD(5)``, or
    ``None`` for none; the default is ROOT's. A mapping from names or globs to such settings is for the
    branches and fields of all trees and RNTuples of the file, ``"*"`` for the rest. ``reproducible`` leaves
    dates and UUIDs out, so that the same content gives the same bytes. ``sync`` waits at each save until the
    bytes are on storage. Tables that are assigned become trees, or RNTuples where ``format`` is
    ``"rntuple"``. ``random_access`` says for all trees what :meth:`WritableDirectory.mktree` says for one; in
    a mapping, names and globs need not be in each tree. ``statistics`` makes those of :func:`sapwood.index`
    once the file is complete: ``True``, or names or patterns of columns. ``progress`` shows a line while the
    file is sent to a
    URL, by default only for large files, if standard error is a terminal.

    >>> import io, sapwood
    >>> memory = io.BytesIO()
    >>> with sapwood.recreate(memory) as file:
    ...     file["tree"] = {"x": [1, 2, 3], "y": [[1.5], [], [2.5, 3.5]]}
    >>> sapwood.open(memory)["tree/y"].array().tolist()
    [[1.5], [], [2.5, 3.5]]

    Raises :class:`sapwood.errors.IOError` where the file cannot be written.
    """
    return _begin(
        "recreate", file_path, compression=compression, threads=threads, reproducible=reproducible, sync=sync,
        format=format, random_access=random_access, statistics=statistics, progress=progress, **others,
    )  # fmt: skip


def _begin(
    mode: str,
    file_path: Any,
    *,
    compression: Any = USUAL,
    threads: int = 0,
    reproducible: bool = False,
    sync: bool = False,
    format: str = "ttree",
    random_access: Any = None,
    statistics: bool | str | Sequence[str] = False,
    progress: bool | None = None,
    **others: Any,
) -> WritableFile:
    """A new file, as :func:`recreate` or :func:`create` makes it."""
    over = take_options(others)
    ignore(others, mode, stacklevel=4)
    tables = _format(format)  # before the file that is there goes
    if statistics:
        from sapwood._tools.indexing import check_statistics

        check_statistics(_place(file_path), statistics)
    options = (threads, reproducible, sync, over, random_access)
    made = WritableFile(mode, file_path, compression, *options)
    made._format = tables
    made._show = progress
    made._statistics = statistics
    made._is_usual = compression is USUAL or (isinstance(compression, Mapping) and "*" not in compression)
    return made


def _format(format: str) -> str:
    if format not in ("ttree", "rntuple"):
        raise ValueError(f"tables become 'ttree' or 'rntuple', not {format!r}")
    return format


def create(file_path: Any, **options: Any) -> WritableFile:
    """A new file. The same as :func:`recreate`, but what is there stays.

    Raises :class:`sapwood.errors.ExistsError`, a :class:`FileExistsError`, where there is a file of that
    name.
    """
    place = _place(file_path)
    if place is not None and not urls.is_url(place) and os.path.exists(place):
        raise errors.ExistsError(
            f"there is a file {place!r}: sapwood.recreate would replace it, sapwood.update would add to it"
        )
    return _begin("create", file_path, **options)


def update(
    file_path: Any,
    *,
    compression: Any = "file",
    threads: int = 0,
    reproducible: bool = False,
    sync: bool = False,
    format: str = "ttree",
    random_access: Any = None,
    progress: bool | None = None,
    **others: Unpack[Opening],
) -> WritableFile:
    """A file that is there, made by whatever wrote it: what it holds stays, objects and trees are added,
    replaced and deleted in place. Of a URL the file is fetched first, and brought back when it is closed.

    ``compression`` is for what is written now; the default is what the file has. Entries that are added to a
    tree are compressed in blocks where those before are, unless ``random_access`` says otherwise. The other
    options are those of :func:`recreate`.

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

    Raises :class:`FileNotFoundError` where there is no such file; :class:`sapwood.errors.MalformedError`
    where it was never closed: ``sapwood recover`` brings back what it holds.
    """
    said: dict[str, Any] = dict(others)
    over = take_options(said)
    ignore(said, "update")
    place = _place(file_path)
    if place is None:
        raise TypeError(f"a file is updated at a path, not in {type(file_path).__name__}")
    if not os.path.exists(place) and not urls.is_url(place):
        raise errors.MissingFileError(f"no file {place!r}: sapwood.recreate makes one")
    tables = _format(format)
    options = (threads, reproducible, sync, over, random_access)
    made = WritableFile("update", file_path, compression, *options)
    made._format, made._show = tables, progress
    return made


def _place(path: Any) -> str | None:
    """The path or URL to write to; ``None`` for a file object."""
    if isinstance(getattr(path, "storage_options", None), Mapping) and not hasattr(path, "write"):
        path = str(path)
    if not isinstance(path, (str, os.PathLike)):
        return None
    place = urls.local_path(os.fspath(path))
    _core.check_output(place)
    return place if urls.is_url(place) else os.path.expanduser(place)


def _sizes(cluster: int | str | None, basket: int | str | None) -> tuple[int | None, int | None]:
    return (None if cluster is None else as_bytes(cluster)), (None if basket is None else as_bytes(basket))


class WritableFile(WritableDirectory):
    """A file that is being written: its root directory, and a mapping from names to what gets written under
    them.

    What was saved is seen by every reader, whatever happens to this process; closing saves, and a file that
    is not closed is closed when it is collected, with a :class:`ResourceWarning`. :meth:`keys`,
    :meth:`classnames`, ``in``, ``len`` and iteration know what was saved and what was written since;
    ``file[name]`` reads it.
    """

    _closed = True
    #: Whether statistics are made in the end, or the columns that have them.
    _statistics: bool | str | Sequence[str] = False

    def __init__(
        self,
        mode: str,
        path: Any,
        compression: Any,
        threads: int,
        reproducible: bool,
        sync: bool,
        network: Mapping[str, Any] | None = None,
        random_access: Any = None,
    ) -> None:
        super().__init__(None)
        place = _place(path)
        self._target = path if place is None else None
        if self._target is not None and not hasattr(path, "write"):
            raise TypeError(
                f"a file is written to a path or a binary file object, not to {type(path).__name__}"
            )
        setting, self._by_name = self._settings(compression)
        for text in self._by_name.values():
            _core.check_compression(text)  # before the file is touched
        blocks, self._blocks_by_name = by_name(random_access, as_random_access)
        for text in self._blocks_by_name.values():
            _core.check_random_access(text)
        check_options(threads=threads)
        self._upload: Upload | FsspecUpload | None = None
        if place is not None and urls.is_url(place):
            own = getattr(path, "storage_options", None)
            over = {**({"storage_options": dict(own)} if own else {}), **(network or {})}
            self._upload = upload(place, over, replaces=mode != "create")
            place = self._upload.path
            if mode == "update":
                self._upload.fetch()
            else:
                mode = "recreate"
        elif place is not None and mode != "update":
            make_folders(place)
        self._place: str | None = place
        try:
            self._core = _core.FileWriter.open(
                mode, self._place, setting, threads, reproducible, sync, blocks or "off"
            )
        except BaseException:
            if self._upload is not None:
                self._upload.discard()
            raise
        self._setting: Compression | None = None if setting is None else from_text(setting)
        self._own_compression: str | None = None
        self._format = "ttree"
        self._show: bool | None = None
        # Whether its compression is the one that files have if nothing else is said.
        self._is_usual = False
        self._trees: list[WritableTree | ParallelTree | WritableNTuple | ParallelNTuple] = []
        self._trees_by_path: dict[str, Any] = {}
        self._generation = session.generation()
        self._closed = False
        _unclosed.add(self)

    @property
    def file(self) -> WritableFile:
        """The file itself."""
        return self

    @staticmethod
    def _settings(compression: Any) -> tuple[str | None, dict[str, str]]:
        if isinstance(compression, str) and compression == "file":
            return None, {}
        return by_name(compression)

    def _set_compression(self, setting: Any) -> None:
        self._own_compression, self._by_name = by_name(setting)
        if self._own_compression is not None:
            self._setting = from_text(self._own_compression)

    def _compressions(
        self, compression: Any, names: Mapping[str, Iterable[str]]
    ) -> tuple[str | None, dict[str, str]]:
        """The setting of a tree or RNTuple, nothing where it is the file's, and those of branches or fields
        that have their own. Names and globs that were given for the whole file need not be in each tree."""
        if isinstance(compression, str) and compression == "file":
            return None, of_names(self._by_name, names, all_used=False)[1]
        return of_names(compression, names)

    def _random_access(self, setting: Any, schema: Schema) -> tuple[str | None, dict[str, str]]:
        """The blocks of a tree, nothing where they are the file's, and those of branches with their own."""
        if isinstance(setting, str) and setting == "file":
            given = self._blocks_by_name
            return None, of_names(given, names_of(schema), as_text=as_random_access, all_used=False)[1]
        return of_names(setting, names_of(schema), as_text=as_random_access)

    # ---- trees

    def _begin(
        self,
        how: str,
        name: str,
        branch_types: Mapping[str, Any],
        title: str = "",
        counter_name: branch_schema.CounterName = branch_schema.counter_name,
        field_name: branch_schema.FieldName = branch_schema.field_name,
        compression: Any = "file",
        auto_flush: int | str = -30_000_000,
        auto_save: int | str = -300_000_000,
        cluster_bytes: int | str | None = None,
        basket_bytes: int | str | None = None,
        split_level: int = 99,
        member_wise: bool = True,
        random_access: Any = "file",
        titles: Mapping[str, str] | None = None,
    ) -> tuple[Any, Schema]:
        """The engine's tree, and what its branches hold."""
        schema = branch_schema.schema(branch_types, counter_name, field_name, split_level)
        options = (compression, auto_flush, auto_save, cluster_bytes, basket_bytes, split_level, member_wise)
        return self._core_of(how, name, schema, title, *options, random_access, titles), schema

    def _core_of(
        self,
        how: str,
        name: str,
        schema: Schema,
        title: str,
        compression: Any,
        auto_flush: int | str,
        auto_save: int | str,
        cluster_bytes: int | str | None,
        basket_bytes: int | str | None,
        split_level: int,
        member_wise: bool,
        random_access: Any,
        titles: Mapping[str, str] | None = None,
    ) -> Any:
        """The engine's tree of these branches."""
        titles = dict(titles or {})
        known = [spec.name for spec in schema.specs if spec.kind != "object"]
        for branch in titles.keys() - known:
            raise errors.MismatchError(
                f"branch_titles: no branch {branch!r} takes a title{near(branch, known)} (object {name})"
            )
        self._make_way(name)
        setting, own = self._compressions(compression, names_of(schema))
        blocks, own_blocks = self._random_access(random_access, schema)
        return self._core.tree(
            how,
            name,
            [spec.for_engine(own.get(spec.name)) for spec in schema.specs],
            title,
            setting or self._own_compression,
            every(auto_flush),
            every(auto_save),
            *_sizes(cluster_bytes, basket_bytes),
            member_wise=member_wise,
            random_access=blocks,
            random_access_of=own_blocks,
            title_of=titles,
        )

    def _begin_like(
        self,
        name: str,
        like: Any,
        title: str,
        compression: Any,
        auto_flush: int,
        auto_save: int,
        cluster_bytes: int | str | None,
        basket_bytes: int | str | None,
        random_access: Any,
    ) -> tuple[Any, Schema]:
        """The engine's tree with the branches of another, and what they hold."""
        if not isinstance(getattr(like, "_core", None), _core.Tree):
            raise TypeError(f"a new tree is like a TTree that was opened (sapwood.open), not like {like!r}")
        self._make_way(name)
        setting = None if compression == "file" else as_compression(compression)
        blocks, _ = self._random_access(random_access, Schema())
        core = self._core.tree(
            "like", name, [], title, setting, auto_flush, auto_save, *_sizes(cluster_bytes, basket_bytes),
            random_access=blocks, like=(like.file._core, like.object_path),
        )  # fmt: skip
        return core, branch_schema.schema_there(core.branches())

    def _append(
        self,
        name: str,
        compression: Any = "tree",
        auto_save: int | str = -300_000_000,
        cluster_bytes: int | str | None = None,
        basket_bytes: int | str | None = None,
    ) -> tuple[Any, Schema]:
        """The engine's tree that was in the file before, and what its branches hold."""
        setting = None if compression == "tree" else as_compression(compression)
        core = self._core.tree(
            "entries", name, [], "", setting, None, every(auto_save), *_sizes(cluster_bytes, basket_bytes)
        )
        return core, branch_schema.schema_there(core.branches())

    @property
    def _tree_options(self) -> list[str]:
        """What trees are begun with."""
        names = inspect.signature(self._begin).parameters
        return [name for name in names if name not in ("how", "name")]

    def _take(self, tree: WritableTree | ParallelTree | WritableNTuple | ParallelNTuple) -> None:
        """Keeps a tree, to be found by its path and closed with the file."""
        self._forget_tree(tree.name)
        self._trees.append(tree)
        self._trees_by_path[tree.name] = tree

    def _make_way(self, path: str) -> None:
        """Gives a tree at a path its key before another object gets the next one."""
        tree = self._trees_by_path.get(path)
        if isinstance(tree, WritableTree):
            tree.flush()
            if tree.is_unsaved:
                self._settle()

    def _forget_tree(self, path: str) -> None:
        """Another object gets the path of a tree, which from now on is an earlier cycle."""
        tree = self._trees_by_path.pop(path, None)
        if isinstance(tree, WritableTree):
            tree.flush()
            tree.closed = tree.closed or tree.is_resting

    def _tree_at(self, path: str) -> WritableTree | ParallelTree | WritableNTuple | ParallelNTuple | None:
        """The tree of a path that was begun here; one that was closed can be gone on with."""
        tree = self._trees_by_path.get(path)
        if isinstance(tree, WritableTree) and tree.closed:
            tree = tree.again()
            self._take(tree)
        return tree

    def _end_trees(self, path: str) -> None:
        """Closes the trees at a path and below it."""
        for name in [name for name in self._trees_by_path if name == path or name.startswith(f"{path}/")]:
            self._trees_by_path.pop(name).close()

    # ---- what is there

    def _settle(self) -> None:
        """Gives trees that were written whole the keys that they get when the file is saved."""
        if any(tree.is_unsaved for tree in self._trees if isinstance(tree, WritableTree)):
            self._core.save()
            for tree in self._trees:
                if isinstance(tree, WritableTree):
                    tree.is_unsaved = False

    def _reopen(self) -> Any:
        """The file as readers see it, once all that was written is saved."""
        if not self._core.is_saved():
            self._core.save()
        return self._last_saved()

    def _last_saved(self) -> Any:
        """The file as it was when it was saved last."""
        source = self._place if self._place is not None else self._core.content()
        return open_file(source, is_being_written=True)

    def update_streamers(self, streamers: Any) -> None:
        """Describes classes in this file, though it need not hold an object of them: all that an open file
        describes, or some :class:`~sapwood.streamers.StreamerInfo` of open files.

        >>> import io, sapwood
        >>> with sapwood.recreate(first := io.BytesIO()) as file:
        ...     file["note"] = "hello"
        >>> with sapwood.recreate(second := io.BytesIO()) as file:
        ...     file.update_streamers(sapwood.open(first))
        >>> list(sapwood.open(second).file.streamers)
        ['TObject', 'TObjString']

        Raises :class:`TypeError` for what describes no class.
        """
        found = getattr(streamers, "file", streamers)
        infos = getattr(found, "streamers", None)
        if infos is not None:
            streamers = [info for versions in infos.values() for info in versions.values()]
        by_file: dict[Any, set[tuple[str, int]]] = {}
        for info in streamers:
            described = getattr(info, "_described", None)
            if described is None:
                raise TypeError(f"{type(info).__name__} is no StreamerInfo of an open file")
            by_file.setdefault(described, set()).add((info.name, info.class_version))
        for described, classes in by_file.items():
            self._core.describe(described, classes)

    def save(self) -> None:
        """Makes all rows and objects that were written visible to every reader. Where a tree cannot be
        written, the others and all objects are."""
        failures = self._failures(lambda tree: tree.flush())
        self._core.save()
        errors.throw(failures)

    def close(self) -> None:
        """Writes what is kept, saves, and ends. Where a tree cannot be written, the others and all objects
        are."""
        if self._closed:
            return
        self._closed = True
        _unclosed.discard(self)
        try:
            failures = self._failures(lambda tree: tree.close())
        finally:
            # Also after Ctrl-C: what was written is whole.
            self._trees_by_path.clear()
            self._core.close()
            if self._target is not None:
                self._target.write(self._core.content())
                if isinstance(self._target, io.BytesIO):
                    self._target.seek(0)
        if self._upload is not None:
            self._upload.send(self._show)
        errors.throw(failures)
        if self._statistics:
            from sapwood._tools.indexing import index

            index(self._place, columns=None if self._statistics is True else self._statistics)

    def _failures(
        self, action: Callable[[WritableTree | ParallelTree | WritableNTuple | ParallelNTuple], None]
    ) -> list[Exception]:
        """What goes wrong when something is done to all trees. Ctrl-C ends what it interrupts alone, and is raised
        at the end."""
        failures: list[Exception] = []
        interrupt: KeyboardInterrupt | None = None
        for tree in self._trees:
            try:
                action(tree)
            except Exception as error:
                failures.append(error)
            except KeyboardInterrupt as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt
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
                warn(f"{words}, and cannot be closed now: {error}", RuntimeWarning, stacklevel=2, source=self)
            else:
                warn(words, ResourceWarning, stacklevel=2, source=self)
        except Exception:  # warnings may be errors, and there is no caller to raise them to
            pass

    def __enter__(self) -> WritableFile:
        return self

    def __repr__(self) -> str:
        return f"<WritableFile {self.file_path or 'memory'!r}>"


_unclosed: weakref.WeakSet[WritableFile] = weakref.WeakSet()


def _close_all() -> None:
    """Closes files that were never closed. The package calls this at exit."""
    for file in list(_unclosed):
        file.__del__()
