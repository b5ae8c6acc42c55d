"""Paths of files, with objects in them: ``"events.root:tree"``, globs, lists, dictionaries."""

from __future__ import annotations

import glob
import io
import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from sapwood import _core
from sapwood._remote import filesystems, urls
from sapwood.errors import MismatchError, MissingFileError, UnsupportedError, near

_ROOT_AND_OBJECT = re.compile(r"^(.+\.root(?:\.[0-9]+|\.zst)?):(?!//)(.*)$", re.IGNORECASE | re.DOTALL)
_IS_GLOB = re.compile(r"[\*\?\[\]\{\}]")
_BRACES = re.compile(r"\{[^}]*\}")


class Source(NamedTuple):
    """A file to open, and what of it is wanted."""

    file: Any
    """A path, bytes, a file object or one of fsspec's, or a tree that is open already."""
    object: str | None
    """Path of the object in the file; ``None`` for its only tree."""
    steps: list[tuple[int, int]] | None = None
    """Entry ranges; ``None`` for all entries."""


def split_object(source: str) -> tuple[str, str | None]:
    """Splits ``path:object``. A colon in the name of a file that exists is part of the name.

    >>> split_object("events.root:folder/tree")
    ('events.root', 'folder/tree')
    >>> split_object("events.root")
    ('events.root', None)
    >>> split_object("https://example.org:8443/events:tree")
    ('https://example.org:8443/events', 'tree')
    >>> split_object("root://example.org:1094//store/a.root:folder/tree")
    ('root://example.org:1094//store/a.root', 'folder/tree')
    >>> split_object("zip://events.root:tree::https://example.org/a.zip")
    ('zip://events.root::https://example.org/a.zip', 'tree')
    >>> split_object("image.sqfs:run1/events.root:tree"), split_object("a.zip:events.root")
    (('image.sqfs:run1/events.root', 'tree'), ('a.zip:events.root', None))
    """
    if urls.is_chain(source):
        parts = source.split("::")
        for at, part in enumerate(parts):
            place, inner = split_object(part)
            if inner is not None:
                return "::".join([*parts[:at], place, *parts[at + 1 :]]), inner
        return source, None
    source = source.strip() if not os.path.exists(source) else source
    if ":" not in source or os.path.exists(source):
        return source, None
    end = _core.member_end(source)
    if end is not None:
        return source[:end], source[end + 1 :].strip().strip("/") or None
    found = _ROOT_AND_OBJECT.match(source)
    if found is not None:
        return found.group(1), found.group(2).strip().strip("/")
    if urls.is_url(source):
        # Colons before the path are of the scheme and of the port.
        path_at = source.find("/", source.find("://") + 3)
        at = source.rfind(":") if path_at > 0 else -1
        if at > path_at and source[at + 1 :].strip("/ "):
            return source[:at], source[at + 1 :].strip().strip("/")
        return source, None
    # Names without `.root`: the longest part that is a file, or a folder.
    at = source.rfind(":")
    while at > 0:
        if os.path.exists(source[:at]):
            return source[:at], source[at + 1 :].strip().strip("/")
        at = source.rfind(":", 0, at)
    return source, None


def is_member(path: Any) -> bool:
    """Is it the name of a file within an archive?

    >>> is_member("image.sqfs:run1/x.root"), is_member("x.root:tree")
    (True, False)
    """
    return isinstance(path, str) and _core.member_end(path) is not None


def with_options(source: Any, network: dict[str, Any]) -> Any:
    """The path of a path object that brings ``storage_options`` along, which are put into ``network`` unless
    it has some; all else as it is."""
    options = getattr(source, "storage_options", None)
    if not isinstance(options, Mapping) or is_open_file(source) or hasattr(source, "num_entries"):
        return source
    if options:
        network["storage_options"] = {**options, **(network.get("storage_options") or {})}
    return str(source)


def is_open_file(source: Any) -> bool:
    """Is it a binary file object, or one of fsspec's that stands for one?"""
    if isinstance(source, io.IOBase) or (hasattr(source, "read") and hasattr(source, "seek")):
        return True
    return hasattr(source, "fs") and hasattr(source, "path") and hasattr(source, "open")


def content(source: Any) -> Any:
    """All that a file object has."""
    if hasattr(source, "read"):
        source.seek(0)
        return source.read()
    if getattr(source, "mode", "rb") != "rb":
        raise TypeError(f"the file is to be opened with mode {source.mode!r}: to be read it takes 'rb'")
    with source as opened:
        return opened.read()


def is_bytes(source: Any) -> bool:
    """Is it the content of a file?"""
    return isinstance(source, (bytes, bytearray, memoryview))


def expand(files: Any, colon: bool = True, network: Mapping[str, Any] | None = None) -> list[Source]:
    """All files of a path, glob, list or dictionary ``{path or glob: object}``; each path and object once per
    item. A folder is its files ``*.root`` if a colon may be followed by an object. ``network`` is what was
    said of how files are reached.

    A dictionary's value may be an object path, ``None``, or ``{"object_path": ..., "steps": [[start, stop],
    ...]}``.

    Raises :class:`~sapwood.errors.MissingFileError` where nothing matches, and ``ValueError`` for several
    files with replicas.
    """
    found: list[Source] = []
    seen: set[tuple[int, str, str | None]] = set()
    for item, source in _expand(files, colon, colon, [0], network):
        if isinstance(source.file, str):
            mark = (item, source.file, source.object)
            if mark in seen and source.steps is None:
                continue
            seen.add(mark)
        found.append(source)
    if not found:
        raise MissingFileError(f"no file matches {files!r}")
    if (network or {}).get("replicas") and len({str(source.file) for source in found}) > 1:
        raise ValueError(f"replicas are other places of one file, and {len(found)} match")
    return found


def _expand(
    files: Any, colon: bool, folders: bool, count: list[int], network: Mapping[str, Any] | None
) -> Iterator[tuple[int, Source]]:
    if isinstance(files, str):
        path, inner = split_object(files) if colon else (files, None)
        for name in _glob(path, folders, network):
            yield count[0], Source(name, inner)
    elif is_bytes(files) or is_open_file(files) or hasattr(files, "num_entries"):
        yield count[0], Source(files, None)
    elif isinstance(files, os.PathLike):
        for name in _glob(os.fspath(files), folders, network):
            yield count[0], Source(name, None)
    elif isinstance(files, Mapping):
        for key, value in files.items():
            steps = None
            if isinstance(value, Mapping):
                steps = _steps(value.get("steps"))
                value = value.get("object_path")
            if value is not None and not isinstance(value, str):
                raise TypeError(f"the object of {key!r} is a path in the file or None, not {value!r}")
            for item, source in _expand(key, False, folders, count, network):
                yield item, Source(source.file, value, steps)
    elif isinstance(files, Iterable):
        for one in files:
            count[0] += 1
            yield from _expand(one, colon, folders, count, network)
    else:
        raise TypeError(
            "files are given as a path (with ':object', with globs), a list of these, a dictionary "
            f"{{path: object}}, bytes, file objects or open trees, not as {files!r}"
        )


def _steps(steps: Any) -> list[tuple[int, int]] | None:
    if steps is None:
        return None
    rows = list(steps)
    if rows and all(isinstance(row, int) for row in rows):
        # Offsets: borders of steps that touch each other.
        return list(zip(rows[:-1], rows[1:]))
    return [(int(start), int(stop)) for start, stop in rows]


def _glob(path: str, folders: bool, network: Mapping[str, Any] | None) -> list[str]:
    path = urls.local_path(path)
    if is_member(path) and not urls.is_url(path):
        return [os.path.expanduser(path)]
    by_fsspec = urls.by_fsspec(path, network)
    if by_fsspec or urls.is_cloud(path) and _IS_GLOB.search(path) is not None:
        try:
            filesystems.check(path, network)
        except UnsupportedError:
            if by_fsspec or "*" in path:
                raise
            return [path]
        # Of the web it does.
        if urls.is_ours(path) and not urls.is_cloud(path) and "*" not in path:
            return [path]
        # A name with brackets may be a name, and a question mark may begin a query.
        found = _matching(path, lambda pattern: filesystems.glob(pattern, network))
        return found if found or "*" in path else [path]
    if urls.is_url(path):
        return [path]
    expanded = os.path.expanduser(path)
    if folders and os.path.isdir(expanded):
        found = sorted(glob.glob(os.path.join(glob.escape(expanded), "*.root")))
        if not found:
            raise MissingFileError(f"not found: no file '*.root' is in the folder {expanded!r}")
        return found
    return (
        [expanded]
        if os.path.exists(expanded)
        else _matching(expanded, lambda pattern: sorted(glob.glob(pattern)))
    )


def _matching(path: str, match: Callable[[str], list[str]]) -> list[str]:
    """The files of a path: itself, or those of its wildcards and braces."""
    if _IS_GLOB.search(path) is None:
        return [path]
    choices = [found.group(0)[1:-1].split(",") for found in _BRACES.finditer(path)]
    pieces = _BRACES.split(path)
    names: list[str] = []
    for combination in itertools.product(*choices):
        names += match(pieces[0] + "".join(choice + piece for choice, piece in zip(combination, pieces[1:])))
    return list(dict.fromkeys(names))


def missing_url(path: str, error: Exception) -> MissingFileError:
    """The error for a file that a server does not have."""
    missing = MissingFileError(str(error))
    missing.kind, missing.file = "not found", path
    return missing


def missing_file(path: str) -> MissingFileError:
    """The error for a file that is not there, with files beside it that look alike."""
    folder, name = os.path.split(path)
    try:
        beside = os.listdir(folder or ".")
    except OSError:
        hint = f"; there is no directory {folder!r}"
    else:
        hint = near(name, beside)
    error = MissingFileError(f"not found: no file {path!r}{hint}")
    error.kind, error.file = "not found", path
    return error


def refuse_input(target: str, sources: Iterable[Any]) -> None:
    """Refuses an output that is one of the files that are read, also by another name.

    Raises :class:`~sapwood.errors.MismatchError`.
    """
    place = _identity(target)
    for source in sources:
        if isinstance(source, (str, os.PathLike)) and _identity(os.fspath(source)) == place:
            raise MismatchError(f"{urls.shown(target)} is a file that is read: write to another one")


def _identity(path: str) -> str:
    return path if urls.is_url(path) else os.path.realpath(os.path.expanduser(urls.local_path(path)))
