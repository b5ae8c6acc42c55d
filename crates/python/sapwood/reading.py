"""Files and directories, as mappings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from sapwood import _core
from sapwood.model import Model
from sapwood.tree import Tree

_TREES = ("TTree", "TNtuple", "TNtupleD", "TChain")


class Directory:
    """A directory of a file: a mapping from ``name;cycle`` to objects.

    Names may leave the cycle out (the highest counts) and may be paths like ``folder/name``.
    """

    def __init__(self, core: Any, path: str = "") -> None:
        self._file = core
        self._path = path

    def _rows(self, recursive: bool) -> list[tuple]:
        return self._file.keys(self._path, recursive)

    def keys(self, recursive: bool = True, cycle: bool = True) -> list[str]:
        """Names of all keys, in the order of the file."""
        return [f"{row[0]};{row[1]}" if cycle else row[0] for row in self._rows(recursive)]

    def classnames(self, recursive: bool = True, cycle: bool = True) -> dict[str, str]:
        """Class of each key."""
        return {(f"{row[0]};{row[1]}" if cycle else row[0]): row[2] for row in self._rows(recursive)}

    def items(self, recursive: bool = True) -> list[tuple[str, Any]]:
        """Names and objects; each object is read."""
        return [(key, self[key]) for key in self.keys(recursive)]

    def values(self, recursive: bool = True) -> list[Any]:
        """Objects; each is read."""
        return [self[key] for key in self.keys(recursive)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self._rows(True))

    def __contains__(self, name: object) -> bool:
        try:
            self._file.key(self._full(str(name)))
        except KeyError:
            return False
        return True

    def _full(self, name: str) -> str:
        name = name.strip("/")
        return f"{self._path}/{name}" if self._path else name

    def __getitem__(self, name: str) -> Any:
        path = self._full(name)
        found = self._file.key(path)
        classname = found[2]
        if classname in ("TDirectory", "TDirectoryFile"):
            return Directory(self._file, path)
        if classname in _TREES:
            return Tree(self._file.tree(path), self)
        return Model.of(self._file.object(path))

    def __repr__(self) -> str:
        return f"<Directory {self._file.name}:/{self._path}>"


class File(Directory):
    """A file that is open for reading."""

    def __enter__(self) -> File:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the file. Trees and objects that are in use keep what they need."""

    @property
    def file_path(self) -> str:
        """Name of the file."""
        return self._file.name

    @property
    def is_recovered(self) -> bool:
        """Was the file never closed, so that it shows what was saved last?"""
        return self._file.is_recovered

    def __repr__(self) -> str:
        return f"<File {self._file.name}>"


def open(source: Any, *, threads: int = 0, object_limit: int | None = None) -> Any:
    """Opens a file for reading.

    ``source`` is a path, ``"path:object"``, ``bytes``, a ``memoryview`` or a binary file object. ``threads`` is the
    number of decoding threads: 0 for all cores, 1 for the caller's own.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return File(_core.File.from_bytes(bytes(source), "<memory>", threads, object_limit))
    if hasattr(source, "read"):
        name = getattr(source, "name", "<file object>")
        return File(_core.File.from_bytes(source.read(), str(name), threads, object_limit))
    path, inner = split_path(os.fspath(source))
    opened = File(_core.File.open(path, threads, object_limit))
    return opened[inner] if inner else opened


def split_path(source: str) -> tuple[str, str | None]:
    """Splits ``path:object``; a colon in the name of a file that exists is part of it."""
    if ":" in source and not os.path.exists(source):
        path, _, inner = source.rpartition(":")
        if path and "/" not in path.rsplit(".root", 1)[-1] or os.path.exists(path):
            return path, inner
    return source, None
