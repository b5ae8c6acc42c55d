"""Directories of a file, as mappings, and their keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from sapwood._read import notebook
from sapwood._read.filters import Filter
from sapwood._read.key_listing import Listing
from sapwood.errors import NotFoundError, not_found

if TYPE_CHECKING:
    from sapwood._file.file import File

_CYCLE = re.compile(r";\d+$")


class Key:
    """A key of a directory: what is known of an object before it is read. Sizes are in bytes."""

    __slots__ = ("_core", "_directory", "_path")

    def __init__(self, directory: Directory, core: Any, path: str) -> None:
        self._directory = directory
        self._core = core
        self._path = path

    @property
    def fName(self) -> str:
        """Name of the object."""
        return str(self._core.name)

    @property
    def fCycle(self) -> int:
        """Number among objects of the same name; the highest is the latest."""
        return int(self._core.cycle)

    @property
    def fClassName(self) -> str:
        """Class of the object."""
        return str(self._core.classname)

    @property
    def fTitle(self) -> str:
        """Title of the object."""
        return str(self._core.title)

    @property
    def fSeekKey(self) -> int:
        """Where its record begins."""
        return int(self._core.seek)

    @property
    def fNbytes(self) -> int:
        """Length of its record, key included."""
        return int(self._core.nbytes)

    @property
    def fObjlen(self) -> int:
        """Length of the object once inflated."""
        return int(self._core.objlen)

    @property
    def fKeylen(self) -> int:
        """Length of the key itself."""
        return int(self._core.keylen)

    @property
    def date(self) -> str:
        """When it was written, as ``2024-12-31 23:59:59`` in the writer's time."""
        return str(self._core.date)

    @property
    def created_on(self) -> datetime:
        """The same as a time without a zone (``fDatime``)."""
        return datetime.fromisoformat(self.date)

    @property
    def data_compressed_bytes(self) -> int:
        """Length of the object in the file."""
        return self.fNbytes - self.fKeylen

    @property
    def data_uncompressed_bytes(self) -> int:
        """Length of the object once inflated."""
        return self.fObjlen

    def name(self, cycle: bool = False) -> str:
        """Its name, with ``;cycle`` if wanted."""
        return f"{self.fName};{self.fCycle}" if cycle else self.fName

    def title(self) -> str:
        """Title of the object."""
        return self.fTitle

    def classname(self) -> str:
        """Class of the object."""
        return self.fClassName

    @property
    def object_path(self) -> str:
        """Its path in the file, with its cycle."""
        return f"/{self._path};{self.fCycle}"

    @property
    def parent(self) -> Directory:
        """The directory that lists it."""
        return self._directory

    @property
    def file(self) -> File:
        """The file that it is in."""
        return self._directory.file

    @property
    def is_compressed(self) -> bool:
        """Is the object smaller in the file than once inflated?"""
        return self.data_compressed_bytes != self.data_uncompressed_bytes

    def get(self) -> Any:
        """Reads the object."""
        return self._directory._object(f"{self._path};{self.fCycle}", self._core)

    def __repr__(self) -> str:
        return f"<Key {self.name(cycle=True)}: {self.fClassName} (seek {self.fSeekKey})>"


class Directory(Listing, Mapping[str, Any]):  # type: ignore[misc]
    """A directory of a file: a mapping from ``name;cycle`` to objects. Nothing is read before it is asked
    for.

    Names may leave the cycle out (the highest counts), may be paths like ``folder/name``, and may go on into
    trees: ``folder/tree/branch`` or ``folder/tree:branch``.
    """

    def __init__(self, root: File | None, path: str = "") -> None:
        self._in = root
        self._path = path
        self._listed: dict[bool, list[Any]] = {}

    @property
    def _root(self) -> File:
        assert self._in is not None, "only a file is in no file, and it is its own root"
        return self._in

    @property
    def _file(self) -> Any:
        return self._root._engine()

    @property
    def file(self) -> File:
        """The file that it is in."""
        return self._root

    @property
    def file_path(self) -> str:
        """Name of the file."""
        return self._root._name

    @property
    def path(self) -> tuple[str, ...]:
        """Names of the directories from the root down to this one."""
        return tuple(_CYCLE.sub("", part) for part in self._path.split("/") if part)

    @property
    def object_path(self) -> str:
        """Its path in the file, with slashes at both ends."""
        return f"/{self._path}/" if self._path else "/"

    @property
    def closed(self) -> bool:
        """Has the file been closed?"""
        return self._root._closed

    def close(self) -> None:
        """Closes the file: nothing more is read from it, nor from its trees. Arrays and objects stay good."""
        self._root.close()

    def __enter__(self) -> Directory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- names

    def _keys(self, recursive: bool) -> list[Any]:
        if recursive not in self._listed:
            self._listed[recursive] = self._file.keys(self._path, recursive)
        return self._listed[recursive]

    def _names(self, recursive: bool, cycle: bool) -> list[str]:
        if recursive in self._listed:
            return super()._names(recursive, cycle)
        return self._file.names(self._path, recursive, cycle)

    def iteritems(
        self,
        *,
        recursive: bool = True,
        cycle: bool = True,
        filter_name: Filter = None,
        filter_classname: Filter = None,
    ) -> Iterator[tuple[str, Any]]:
        """Names and objects; an object is read when its turn comes."""
        for name, key in self._iter(recursive, cycle, filter_name, filter_classname):
            yield name, self._object(self._full(f"{key.path};{key.cycle}"), key)

    def items(  # type: ignore[override]
        self,
        *,
        recursive: bool = True,
        cycle: bool = True,
        filter_name: Filter = None,
        filter_classname: Filter = None,
    ) -> list[tuple[str, Any]]:
        """Names and objects; all objects are read."""
        return list(
            self.iteritems(
                recursive=recursive, cycle=cycle, filter_name=filter_name, filter_classname=filter_classname
            )
        )

    def itervalues(
        self, *, recursive: bool = True, filter_name: Filter = None, filter_classname: Filter = None
    ) -> Iterator[Any]:
        """Objects; each is read when its turn comes."""
        for _, value in self.iteritems(
            recursive=recursive, cycle=False, filter_name=filter_name, filter_classname=filter_classname
        ):
            yield value

    def values(  # type: ignore[override]
        self, *, recursive: bool = True, filter_name: Filter = None, filter_classname: Filter = None
    ) -> list[Any]:
        """Objects; all are read."""
        return list(
            self.itervalues(recursive=recursive, filter_name=filter_name, filter_classname=filter_classname)
        )

    # ---- objects

    def _full(self, name: str) -> str:
        name = name.strip("/")
        return f"{self._path}/{name}" if self._path else name

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        try:
            self._file.key(self._full(name))
        except NotFoundError:
            return False
        return True

    def key(self, where: str) -> Key:
        """The key of a name or path; without a cycle, the highest.

        Raises ``KeyError`` naming keys that look alike.
        """
        full = self._full(where)
        found = self._file.key(full)
        return Key(self, found, _without_cycle(full, found))

    def title_of(self, where: str) -> str:
        """Title of the object of a name or path; nothing is read."""
        return str(self._file.key(self._full(where)).title)

    @property
    def parent(self) -> Directory | None:
        """The directory above; ``None`` for the root."""
        above = self._path.rpartition("/")[0]
        return None if not self._path else Directory(self._root, above) if above else self._root

    @property
    def root_directory(self) -> File:
        """The root directory of the file, which is the file."""
        return self._root

    def classname_of(self, where: str) -> str:
        """Class of the object of a name or path; nothing is read."""
        return str(self._file.key(self._full(where)).classname)

    def streamer_of(self, where: str) -> Any:
        """What the file says of the class of an object; ``None`` where it says nothing."""
        versions = self._root.streamers.get(self.classname_of(where), {})
        return versions[max(versions)] if versions else None

    def __getitem__(self, where: str) -> Any:
        if not isinstance(where, str):
            raise TypeError(f"names of objects are strings, not {where!r}")
        if where and not where.strip("/"):
            return self  # a slash alone is the directory itself, as in uproot
        full = self._full(where)
        try:
            key = self._file.key(full)
        except NotFoundError as error:
            found = self._descend(full)
            if found is None:
                raise error from None
            return found[0]
        return self._object(full, key)

    def _descend(self, full: str) -> tuple[Any] | None:
        """Where a part of the path is a tree, the rest names a branch of it."""
        for at, letter in enumerate(full):
            if letter not in ":/" or at == 0:
                continue
            try:
                key = self._file.key(full[:at])
            except NotFoundError:
                continue
            path, rest = full[:at], full[at + 1 :].lstrip("/:")
            if not key.is_directory:
                if not (key.is_tree or key.is_ntuple or self._file.holds_tree(key)):
                    message = f"not found: {full!r}, because {path!r} is a {key.classname}"
                    raise not_found(message, self.file_path, path)
                return (self._object(path, key)[rest],)
            if letter == ":":
                return (self._object(path, key)[rest],)
        return None

    def _object(self, path: str, key: Any) -> Any:
        if key.is_directory:
            return Directory(self._root, path)
        if key.is_tree or key.is_ntuple or self._file.holds_tree(key):
            return self._root._tree(_without_cycle(path, key), key)
        from sapwood.model import Model  # with NumPy, which listing keys does not need

        name = _without_cycle(path, key)
        found = self._file.object(key, partial(self._root._tree_within, name, key))
        return Model.of_value(found.value(), found)

    def __repr__(self) -> str:
        return f"<Directory {self.object_path!r} of {self.file_path!r}>"

    def _repr_html_(self) -> str:
        """The keys, for notebooks."""
        classes = self.classnames(recursive=False)
        title = f"{self.file_path} {self.object_path}"
        return notebook.table(title, ("key", "class"), classes.items(), len(classes))


def _without_cycle(path: str, key: Any) -> str:
    """A path that led to a key, without the cycle behind it: a name may end like one itself."""
    return path if path == key.name or path.endswith(f"/{key.name}") else path.removesuffix(f";{key.cycle}")


__all__ = ["Directory", "Key"]
