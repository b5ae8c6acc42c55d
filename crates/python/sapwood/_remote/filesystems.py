"""Files that fsspec reaches: clouds, archives, whatever it has a file system for.

Nothing is imported before it is asked for: without fsspec everything else works.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Mapping
from typing import Any

from sapwood._remote import clouds, urls
from sapwood.errors import IOError, UnsupportedError

#: What tells one state of a file from another, the best first; file systems have many names for it.
_MARKS = (
    "ETag", "etag", "e_tag", "generation", "version_id", "md5", "md5Hash", "content_md5", "sha", "hex", "CRC",
    "mtime", "LastModified", "last_modified", "updated", "modified", "modify", "modificationTime", "created",
)  # fmt: skip


class Remote:
    """A file in a file system of fsspec, as the engine reads it: its state, and many ranges in one call.

    >>> import fsspec
    >>> memory = fsspec.filesystem("memory")
    >>> memory.pipe_file("/greeting", b"hello world")
    >>> remote = Remote(memory, "/greeting")
    >>> remote.name, remote.state(False)[0], remote.read([0, 6], [5, 11])
    ('memory:///greeting', 11, [b'hello', b'world'])
    """

    def __init__(self, fs: Any, path: str, url: str | None = None) -> None:
        self.fs, self.path, self.url = fs, path, url or str(fs.unstrip_protocol(path))
        #: The URL without a password.
        self.name = urls.shown(self.url)
        #: Are several ranges of a call on their way at a time?
        self.vectors, self._plain = _abilities(fs)
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._file: Any = None
        self._mark: tuple[str, str] | None = None

    @property
    def cache_name(self) -> str:
        """The name by which a cache knows the file: equal names in other archives, or at another endpoint,
        are other files."""
        import hashlib

        made = hashlib.sha256(f"{self.name} {_maker(self.fs)}".encode()).hexdigest()[:32]
        return f"{self.name}{'&' if '?' in self.name else '?'}fs={made}"

    def state(self, again: bool) -> tuple[int, str | None]:
        """Length in bytes, and what changes when the bytes do, if the file system knows of anything. With
        ``again`` no listing that it remembers will do."""
        self._renew()
        if again:
            self.fs.invalidate_cache(self.path)
        about = self.fs.info(self.path)
        if about.get("type") == "directory":
            raise IsADirectoryError(self.path)
        size = about.get("size")
        if size is None:
            raise OSError("the file system does not know the length of the file")
        # A listing may know less of a file, or other things, than the file itself: what was taken first is
        # compared.
        names = _MARKS if self._mark is None else (self._mark[0],)
        found = next(
            ((name, _text(about[name])) for name in names if about.get(name) not in (None, "")), None
        )
        self._mark = found or self._mark
        return int(size), None if self._mark is None else "=".join(self._mark)

    def read(self, starts: list[int], ends: list[int]) -> list[bytes | bytearray]:
        """The bytes of ranges, none of which is empty."""
        self._renew()
        if self._plain:
            with self._lock:
                return [self._piece(start, end) for start, end in zip(starts, ends)]
        parts = self.fs.cat_ranges([self.path] * len(starts), starts, ends)
        for part in parts:
            if isinstance(part, BaseException):
                raise part
        return [part if isinstance(part, (bytes, bytearray)) else bytes(part) for part in parts]

    def _piece(self, start: int, end: int) -> bytes:
        """A range through a file object: it stays open, for to open it may cost more than to read."""
        try:
            return self._piece_of(self._open_handle(), start, end)
        except BaseException:
            # Its connection may be broken: the next one opens it anew.
            self._forget()
            raise

    def _open_handle(self) -> Any:
        if self._file is None or self._file.closed:
            try:
                # Ranges were merged already: what a file object reads ahead would be thrown away.
                self._file = self.fs.open(self.path, "rb", cache_type="none")
            except TypeError:
                self._file = self.fs.open(self.path, "rb")
        return self._file

    @staticmethod
    def _piece_of(file: Any, start: int, end: int) -> bytes:
        file.seek(start)
        pieces: list[bytes] = []
        while start < end:
            piece = file.read(end - start)
            if not piece:
                break
            pieces.append(piece)
            start += len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _forget(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(Exception):
                file.close()

    def close(self) -> None:
        """Closes the file; the next read opens it again."""
        with self._lock:
            self._forget()

    def _renew(self) -> None:
        """A child process has none of its parent's connections and threads: it needs a file system of its
        own."""
        if self._process != os.getpid():
            make, arguments = self.fs.__reduce__()[:2]
            self.fs, self._file, self._lock = make(*arguments), None, threading.Lock()
            self._process = os.getpid()

    def __reduce__(self) -> Any:
        return Remote, (self.fs, self.path, self.url)

    def __repr__(self) -> str:
        return f"<Remote {self.name!r}>"


def _abilities(fs: Any) -> tuple[bool, bool]:
    """Has it several ranges on their way at a time, and is a plain file object the best that it has?"""
    from fsspec.asyn import AsyncFileSystem
    from fsspec.spec import AbstractFileSystem

    kind = type(fs)
    if issubclass(kind, AsyncFileSystem):
        return True, False
    own_ranges = getattr(kind, "cat_ranges", None) is not AbstractFileSystem.cat_ranges
    return own_ranges, not own_ranges and kind.cat_file is AbstractFileSystem.cat_file


def _text(value: Any) -> str:
    """A mark as text: some give an ETag with quotes here and without them there."""
    text = value.isoformat() if hasattr(value, "isoformat") else str(value)
    return text.removeprefix("W/").strip('"')


def _maker(fs: Any) -> str:
    """What makes a file system, its options among it; where that cannot be written down, something unique."""
    try:
        return str(fs.to_json(include_password=False))
    except Exception:
        return f"{os.getpid()} {id(fs)}"


def find(place: str, network: Mapping[str, Any] | None) -> Remote | None:
    """The file of a place that fsspec reads; ``None`` where the engine does. ``network`` is what the user
    said.

    >>> find("root://example.org//a.root", None), find("events.root", {"handler": "fsspec"})
    (None, None)
    >>> find("memory://a.root", None)
    <Remote 'memory://a.root'>

    Raises :class:`~sapwood.errors.UnsupportedError` where a package is missing.
    """
    if not urls.by_fsspec(place, network):
        return None
    # What a cache knows it by must not depend on the working folder.
    place = urls.absolute(place)
    return Remote(*resolve(place, network), place)


def settings(place: str, network: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """What ``storage_options`` say to the engine's own store for the cloud of a URL.

    >>> settings("s3://bucket/a.root", {"storage_options": {"anon": True}})
    [('AWS_SKIP_SIGNATURE', 'true')]
    """
    return clouds.settings(urls.scheme(place), (network or {}).get("storage_options"))


def with_proof(place: str, network: Mapping[str, Any] | None) -> Remote | None:
    """The file of a ``root://`` URL through XRootD's own client; ``None`` where fsspec-xrootd is not
    there."""
    try:
        return Remote(*resolve("root://" + place.split("://", 1)[1], network), place)
    except UnsupportedError:
        return None


def remote_of(source: Any) -> Remote | None:
    """The file of one of fsspec's own objects, an ``OpenFile`` or a file object that is open for reading;
    ``None`` for all else.

    >>> import fsspec, io
    >>> remote_of(fsspec.open("memory://a.root")), remote_of(io.BytesIO())
    (<Remote 'memory:///a.root'>, None)
    """
    if isinstance(source, Remote):
        return source
    if not is_of_fsspec(source) or getattr(source, "compression", None) is not None:
        return None
    return Remote(source.fs, source.path) if getattr(source, "mode", "rb") == "rb" else None


def is_of_fsspec(source: Any) -> bool:
    """Is it one of fsspec's own objects, that know their file system?"""
    return hasattr(getattr(source, "fs", None), "cat_ranges") and isinstance(
        getattr(source, "path", None), str
    )


def glob(pattern: str, network: Mapping[str, Any] | None) -> list[str]:
    """URLs of the files that match a URL with wildcards, in the order of their names.

    >>> import fsspec
    >>> fsspec.filesystem("memory").pipe({"/runs/b.root": b"", "/runs/a.root": b"", "/runs/c.txt": b""})
    >>> glob("memory://runs/*.root", None)
    ['memory://runs/a.root', 'memory://runs/b.root']
    """
    fs, path = resolve(pattern, network)
    try:
        names = sorted(str(name) for name in fs.glob(path))
    except Exception as error:
        failed = IOError(f"the file system does not list what {urls.shown(pattern)!r} matches: {error}")
        failed.kind, failed.file = (
            "denied" if isinstance(error, PermissionError) else "i/o",
            urls.shown(pattern),
        )
        raise failed from error
    # What was stripped, a host for instance, is put back as it was.
    first, mark, rest = pattern.partition("::")
    for head, tail in ((pattern, ""), (first, mark + rest)):
        if head.endswith(path):
            return [head.removesuffix(path) + name + tail for name in names]
    return [str(fs.unstrip_protocol(name)) for name in names]


def check(place: str, network: Mapping[str, Any] | None = None) -> None:
    """Raises :class:`~sapwood.errors.UnsupportedError` where fsspec, or a package that it needs for a URL, is
    missing."""
    why = _why(place, network or {})
    try:
        from fsspec import get_filesystem_class
    except ImportError:
        words = (
            f"{urls.links(place)[0]}:// is read through fsspec, which is not here: pip install fsspec{why}"
        )
        raise _unsupported(place, words) from None
    for link in urls.links(place):
        try:
            get_filesystem_class(link)
        except ImportError as error:
            missing = getattr(error.__cause__, "name", None)
            install = f": pip install {missing.split('.')[0].replace('_', '-')}" if missing else ""
            raise _unsupported(
                place, f"fsspec lacks a package for {link}:// ({error}){install}{why}"
            ) from error
        except ValueError as error:
            raise _unsupported(place, f"nothing here reads {link}://, nor does fsspec") from error


def _why(place: str, network: Mapping[str, Any]) -> str:
    """Why a URL that the engine can read does not go to the engine."""
    if not urls.is_ours(place) or network.get("handler") == "fsspec":
        return ""
    options = urls.foreign_options(place, network)
    said = (
        f"it has nothing like storage_options {', '.join(options)}"
        if options
        else "it lists no names with wildcards"
    )
    return f"; the engine reads {urls.links(place)[0]}:// itself, but {said}"


def resolve(place: str, network: Mapping[str, Any] | None) -> tuple[Any, str]:
    """File system and path of a URL.

    >>> resolve("memory://runs/a.root", None)[1]
    '/runs/a.root'
    """
    check(place, network)
    from fsspec.core import url_to_fs

    fs, path = url_to_fs(place, **((network or {}).get("storage_options") or {}))
    return fs, str(path)


def _unsupported(place: str, words: str) -> UnsupportedError:
    error = UnsupportedError(f"unsupported: {words}")
    error.kind, error.file = "unsupported", urls.shown(place)
    return error


# Pickles of earlier versions look for files there.
sys.modules.setdefault("sapwood.filesystems", sys.modules[__name__])
