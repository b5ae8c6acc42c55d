"""Files that are open for reading."""

from __future__ import annotations

import builtins
import operator
import os
import sys
import threading
from typing import TYPE_CHECKING, Any, TextIO, cast
from weakref import WeakValueDictionary

from sapwood import _core
from sapwood._file import session
from sapwood._file.directory import Directory
from sapwood._notices import warn
from sapwood._read.compat_kwargs import ignore
from sapwood._remote import filesystems, network, paths, urls
from sapwood.compression import Compression, or_none
from sapwood.errors import IncompleteFileWarning, IOError, NotFoundError, not_found
from sapwood.streamers import StreamerInfo, gather, with_dependencies

if TYPE_CHECKING:
    import uuid

    from typing_extensions import Unpack

    from sapwood._remote.network import Opening
    from sapwood._tree.tree import Tree

#: More threads than any machine has use for.
MOST_THREADS = 1024

_HEADER = frozenset(
    [
        "fVersion",
        "fBEGIN",
        "fEND",
        "fSeekFree",
        "fNbytesFree",
        "nfree",
        "fNbytesName",
        "fUnits",
        "fCompress",
        "fSeekInfo",
        "fNbytesInfo",
        "fUUID",
    ]
)


class File(Directory):
    """A file that is open for reading: its root directory, and what is known of the file.

    Header fields have ROOT's names: ``fVersion``, ``fBEGIN``, ``fEND``, ``fSeekFree``, ``fNbytesFree``,
    ``nfree``, ``fNbytesName``, ``fUnits``, ``fCompress``, ``fSeekInfo``, ``fNbytesInfo``, ``fUUID``.
    """

    def __init__(self, core: Any, source: Any = None, options: dict[str, Any] | None = None) -> None:
        self._core = core
        self._source = source
        self._options = options or {}
        self._generation = session.generation()
        self._lock = threading.Lock()
        # Weak, because a tree holds its file: without references to it or to one of its trees a file is
        # closed.
        self._trees: WeakValueDictionary[Any, Tree] = WeakValueDictionary()
        self._streamers: dict[str, dict[int, StreamerInfo]] | None = None
        self._all_streamers: dict[str, dict[int, StreamerInfo]] | None = None
        self._closed = False
        #: Which file was opened, where that is known: see `_check_unchanged`.
        self._state: tuple[int, ...] | None = None
        self._name: str = core.name
        super().__init__(None, "")

    @property
    def _root(self) -> File:
        return self

    def close(self) -> None:
        """Closes the file: nothing more is read from it, nor from its trees. Arrays and objects stay good."""
        if self._core is not None:
            _warn(self._core)
        if isinstance(self._source, filesystems.Remote):
            self._source.close()
        self._closed, self._core = True, None
        for tree in list(self._trees.values()):
            tree._engine = None

    def _engine(self) -> Any:
        """The engine's file; after a fork, one with threads of this process."""
        if self._closed:
            raise IOError(f"the file {self._name} is closed")
        if self._generation != session.generation():
            self._core = self._core.renewed()
            self._generation = session.generation()
            self._lock = threading.Lock()
        return self._core

    def _check_unchanged(self) -> None:
        """Raises :class:`~sapwood.errors.IOError` where the path leads to another file than was opened, or that
        file was written since. Files on servers are compared when they are read."""
        if self._state is not None and _state(self._source) != self._state:
            error = IOError(
                f"the file {self._name} changed since it was opened, and what was asked for is of the file as it was: open "
                "it again"
            )
            error.kind, error.file = "changed", self._name
            raise error

    def _tree(self, path: str, key: Any) -> Tree:
        engine = self._engine()
        with self._lock:
            known = self._trees.get(key.seek)
        if known is not None:
            return known
        # With NumPy, which opening a file and listing its keys do not need.
        from sapwood._tree.ntuple import NTuple
        from sapwood._tree.tree import Tree

        # Not while the lock is held: a tree with many branches takes its time.
        made: Tree
        if key.is_ntuple:
            made = NTuple(engine.ntuple(key), self, path, key)
        else:
            made = Tree(engine.tree(key), self, path, key)
        with self._lock:
            return self._trees.setdefault(key.seek, made)

    def _tree_within(self, path: str, key: Any, found: Any) -> Any:
        """A tree that an object of the file holds, such as a list: by the object that it is, or by its number.
        ``None`` for an object of a closed file."""
        if self._closed and not isinstance(found, int):
            return None
        id = found if isinstance(found, int) else found.id
        engine, inner = self._engine(), key.within(id)
        with self._lock:
            known = self._trees.get((key.seek, id))
        if known is not None:
            return known
        from sapwood._tree.tree import Tree

        core = engine.tree(inner) if found is id else engine.tree_within(key, found)
        made = Tree(core, self, f"{path};{key.cycle}#{id}", inner)
        with self._lock:
            return self._trees.setdefault((key.seek, id), made)

    def __enter__(self) -> File:
        return self

    @property
    def is_recovered(self) -> bool:
        """Were the keys found by walking the records, since the file was never closed or is cut off?"""
        return bool(self._engine().is_recovered)

    @property
    def was_closed(self) -> bool:
        """Did its writer close it? Of a file that was not closed, what was saved last is there; one that is cut off was
        closed once."""
        return bool(self._engine().was_closed)

    @property
    def threads(self) -> int:
        """Threads that decode."""
        return int(self._engine().threads)

    @property
    def compression(self) -> Compression | None:
        """Setting that new objects of the file are written with, ``None`` for none; each object may have its
        own."""
        return or_none(Compression.from_code(self._engine().header["fCompress"]))

    @property
    def root_version_tuple(self) -> tuple[int, int, int]:
        """Version of ROOT that wrote the file."""
        version = int(self._engine().header["fVersion"]) % 1000000
        return version // 10000, version // 100 % 100, version % 100

    @property
    def root_version(self) -> str:
        """Version of ROOT that wrote the file, as ``6.32/04``."""
        return "{}.{:02d}/{:02d}".format(*self.root_version_tuple)

    @property
    def is_64bit(self) -> bool:
        """Has its header 64-bit offsets?"""
        return int(self._engine().header["fUnits"]) == 8

    @property
    def uuid(self) -> uuid.UUID:
        """The file's own number."""
        import uuid

        return uuid.UUID(bytes=_uuid_bytes(self._engine().header["fUUID"]))

    @property
    def hex_uuid(self) -> str:
        """The file's own number in hex digits."""
        return str(self.uuid)

    def __getattr__(self, name: str) -> Any:
        if name in _HEADER:
            return self._engine().header[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def streamers(self) -> dict[str, dict[int, StreamerInfo]]:
        """Classes that the file describes, by name and version."""
        if self._streamers is None:
            self._streamers = gather(self._engine(), False)
        return self._streamers

    @property
    def _known_streamers(self) -> dict[str, dict[int, StreamerInfo]]:
        """The same, and classes that are known without a description in the file."""
        if self._all_streamers is None:
            self._all_streamers = gather(self._engine(), True)
        return self._all_streamers

    def streamer_named(self, classname: str, version: int | str = "max") -> StreamerInfo | None:
        """What the file says of a class: in the version ``"max"``, ``"min"`` or a number."""
        versions = self.streamers.get(classname)
        if not versions:
            return None
        if version == "max":
            return versions[max(versions)]
        if version == "min":
            return versions[min(versions)]
        return versions.get(int(version))

    def streamer_dependencies(self, classname: str, version: int | str = "max") -> list[tuple[str, int]]:
        """Name and version of a class, and before it those of all classes that it is made of.

        Raises :class:`~sapwood.errors.NotFoundError` where it says nothing.
        """
        found = self.streamer_named(classname, version)
        if found is None:
            raise not_found(f"the file describes no class {classname!r} (version {version})", self._name)
        return [(one.name, one.class_version) for one in with_dependencies(self._known_streamers, found)]

    def show_streamers(
        self, classname: str | None = None, version: int | str = "max", stream: TextIO | None = None
    ) -> None:
        """Writes the file's classes and their members; of one class and those that it is made of, if it is
        named."""
        if classname is None:
            infos = [info for versions in self.streamers.values() for info in versions.values()]
        else:
            found = self.streamer_named(classname, version)
            if found is None:
                raise not_found(f"the file describes no class {classname!r} (version {version})", self._name)
            infos = with_dependencies(self._known_streamers, found)
        known = {info.name: {info.class_version: info} for info in infos} if classname else self.streamers
        print("\n\n".join("\n".join(info._lines(known)) for info in infos), file=stream or sys.stdout)

    def records(self) -> list[dict[str, Any]]:
        """Every record of the file in its order: ``seek``, ``nbytes`` (negative: a gap), ``objlen``,
        ``keylen``, ``cycle``, ``date``, ``class``, ``name``, ``title``, and ``path`` where a directory lists
        it."""
        engine = self._engine()
        listed = {key.seek: key.path for key in engine.keys("", True)}
        rows: list[dict[str, Any]] = engine.records()
        for row in rows:
            row["path"] = listed.get(row["seek"])
        return rows

    def __reduce__(self) -> Any:
        if isinstance(self._source, filesystems.Remote):
            return _reopen, (self._source, self._options)
        if not isinstance(self._source, str):
            raise TypeError(f"the file {self._name} was opened from memory: it has no path to be pickled by")
        place = self._source if urls.is_url(self._source) else os.path.abspath(self._source)
        return _reopen, (place, self._options)

    def __repr__(self) -> str:
        return f"<File {self._name!r}>"


def _uuid_bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return bytes.fromhex(value.replace("-", ""))
    return bytes(value)


def _reopen(path: Any, options: dict[str, Any]) -> File:
    return open_file(path, **options)


def open_file(
    source: Any,
    *,
    threads: int = 0,
    object_limit: int | None = None,
    answer_limit: int | None = None,
    network: dict[str, Any] | None = None,
    is_being_written: bool = False,
) -> File:
    """Opens a path, a URL, bytes, a binary file object or one of fsspec's, without an object in it. A warning says
    that it is incomplete, but not of one that this process is writing."""
    opened, size = _open_source(source, threads, object_limit, answer_limit, network)
    words = None if is_being_written else _lacks(opened, size)
    if words:
        warn(words, IncompleteFileWarning, stacklevel=3)
    return opened


def _lacks(file: File, size: int | None) -> str | None:
    """What a file may lack, by its header and its size, where that is known."""
    end = int(file._core.header["fEND"])
    if size == end and not file.is_recovered:
        return None
    if file._state is not None and not _is_plain(file._source):
        size = None  # that of the file which holds it
    if file.is_recovered and not file.was_closed:
        return (
            f"the file {file._name} was not closed: what was saved last is there, and its writer may have written "
            "more, which sapwood.recover brings back"
        )
    if file.is_recovered or (size is not None and size < end):
        found = "" if size is None else f", of which {size} are there"
        return (
            f"the file {file._name} is cut off: its header says {end} bytes{found}, and it shows what is left"
        )
    if size is not None and file._engine().has_unsaved:
        return (
            f"the file {file._name} goes on for {size - end} bytes after the end that its header names: its writer was "
            "killed, or is still at work, and sapwood.recover brings back what a killed one had committed"
        )
    return None


def _open_source(
    source: Any,
    threads: int,
    object_limit: int | None,
    answer_limit: int | None,
    network: dict[str, Any] | None,
) -> tuple[File, int | None]:
    """The file, and its bytes where that is known."""
    options = check_options(threads, object_limit, answer_limit)
    remote = filesystems.remote_of(source)
    if remote is not None:
        return _open_core(remote, remote.name, {**options, "network": network})
    if paths.is_bytes(source):
        return _of_bytes(bytes(source), "<memory>", options)
    if paths.is_open_file(source):
        name = getattr(source, "name", None)
        content = paths.content(source)
        if isinstance(content, str):
            raise TypeError("the file object gives text; open it with mode 'rb'")
        return _of_bytes(content, str(name or "<file object>"), options)
    place = os.fspath(source)
    path = place if urls.is_url(place) else os.path.expanduser(place)
    return _open_core(path, path, {**options, "network": network})


def _of_bytes(content: Any, name: str, options: dict[str, Any]) -> tuple[File, int]:
    return File(_core.File.from_bytes(content, name, **options), None, options), len(content)


def as_directory(source: Any) -> Any:
    """A directory that is read: as it is, or the root of the file at a path or in what else :func:`open`
    takes."""
    found = source if isinstance(source, Directory) else open(source)
    if not isinstance(found, Directory):
        raise TypeError(f"{source!r} is no file or directory that is read, but {found!r}")
    return found


def as_file(source: Any) -> File:
    """The file of a directory that is read, or that at a path."""
    return as_directory(source).file


def _open_core(place: Any, name: str, options: dict[str, Any]) -> tuple[File, int | None]:
    """Opens a path, a URL, or a file of fsspec's under this name."""
    state = _state(place)
    try:
        core = _core.File.open(place, **options)
    except NotFoundError as error:
        if urls.is_url(name) or paths.is_member(name) or (options["network"] or {}).get("replicas"):
            raise paths.missing_url(urls.shown(name), error) from error.__cause__
        if not os.path.exists(name):
            raise paths.missing_file(name) from None
        raise
    _warn(core)
    opened = File(core, place, options)
    opened._state = state
    return opened, None if state is None else state[2]


def _is_plain(path: str) -> bool:
    """Whether a local file is one of ROOT itself, and not one that holds some."""
    if paths.is_member(path):
        return False
    with builtins.open(path, "rb") as file:
        return file.read(4) == b"root"


def _state(place: Any) -> tuple[int, ...] | None:
    """What tells a local file from another one at the same path, or from itself at another time."""
    try:
        found = os.stat(place) if isinstance(place, str) and not urls.is_url(place) else None
    except OSError:
        return None
    return None if found is None else (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _warn(core: Any) -> None:
    """Says what a cache could not keep: it never fails a read."""
    for words in core.notices():
        warn(words, RuntimeWarning, stacklevel=5)


def check_options(
    threads: int, object_limit: int | None = None, answer_limit: int | None = None
) -> dict[str, Any]:
    """The options of a file.

    Raises ``ValueError`` and ``TypeError`` for what they cannot be.
    """
    limits = {"object_limit": object_limit, "answer_limit": answer_limit}
    _within("threads", threads, MOST_THREADS)
    for name, limit in limits.items():
        if limit is not None:
            _within(name, limit, 2**64 - 1)
    return {"threads": threads, **limits}


def _within(name: str, value: int, most: int) -> None:
    if not hasattr(value, "__index__"):
        raise TypeError(f"{name} is a whole number, not {value!r}")
    if not 0 <= operator.index(value) <= most:
        raise ValueError(f"{name} is from 0 to {most}, not {value!r}")


def open(
    path: Any,
    *,
    threads: int = 0,
    object_limit: int | None = None,
    answer_limit: int | None = None,
    **others: Unpack[Opening],
) -> Any:
    """Opens a file for reading.

    ``path`` is a path, ``"path:object"``, a one-item dictionary ``{path: object}``, the content of a file
    as ``bytes`` or ``memoryview``, or a binary file object. A glob or list must name one file: for several,
    see :func:`sapwood.iterate` and :func:`sapwood.concatenate`. ``bytes`` are shared, all else that is no
    path is copied once. A path may be a URL, ``http(s)://``, ``root(s)://``, ``s3://``, ``gs://`` or
    ``az://``, of which only what is needed is read; for these there are more keyword arguments, see
    :class:`sapwood.Opening`; ``cache="blocks"`` keeps what was read for the next time. URLs of other
    schemes (``memory://``), chains of them (``simplecache::https://...``) and what ``fsspec.open`` gives are
    read through fsspec, by ranges too; ``storage_options={...}`` goes to its file system.

    ``threads`` is the number of decoding threads: 0 for all cores, 1 for the caller's own, at most 1024. What
    would take more bytes than a limit raises :class:`~sapwood.errors.LimitError`: ``object_limit`` for one
    object once inflated (by default 1 GiB), ``answer_limit`` for the arrays of one read (by default 1 TiB).

    Gives a :class:`~sapwood.File`, or the object if one is named. Both can be used in ``with``. A file is
    closed when no reference to it, or to one of its trees, is left.

    Raises ``FileNotFoundError``, ``KeyError`` (no such object), :class:`~sapwood.errors.MalformedError` (no
    ROOT file).

    >>> import sapwood
    >>> sapwood.open("no-such-file.root")                            # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    sapwood.errors.MissingFileError: not found: no file 'no-such-file.root'

    >>> import fsspec, io                                            # a file in memory, for one on a cloud
    >>> made = io.BytesIO()
    >>> with sapwood.recreate(made) as file:
    ...     file["tree"] = {"x": [1, 2, 3]}
    >>> fsspec.filesystem("memory").pipe_file("/run1.root", made.getvalue())
    >>> sapwood.open("memory://run1.root:tree").arrays(["x"], library="np")["x"].tolist()
    [1, 2, 3]
    """
    network_options = network.take_options(cast("dict[str, Any]", others))
    ignore(others, "open")
    inner: str | None = None
    path = paths.with_options(path, network_options)
    if not paths.is_bytes(path) and not paths.is_open_file(path):
        if not isinstance(path, (str, os.PathLike, dict, list, tuple)):
            raise TypeError(
                "a file is opened by a path, {path: object}, bytes, a memoryview or a binary file object, "
                f"not {path!r}"
            )
        found = paths.expand(path, network=network_options)
        if len(found) > 1:
            names = ", ".join(str(one.file) for one in found[:5])
            raise ValueError(
                f"{len(found)} files match {path!r} ({names}...): use sapwood.iterate or sapwood.concatenate"
            )
        path, inner = found[0].file, found[0].object
    opened = open_file(
        path, threads=threads, object_limit=object_limit, answer_limit=answer_limit, network=network_options
    )
    return opened[inner] if inner else opened
