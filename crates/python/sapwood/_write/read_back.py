"""Reading what is being written."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sapwood import errors

if TYPE_CHECKING:
    from sapwood._tree.tree import Tree
    from sapwood.writing import WritableFile


class ReadBack:
    """A tree or an RNTuple that is being filled, and is read: attributes that it lacks are those of the one that
    readers see, with all rows so far."""

    #: The word for it in errors.
    _noun: str
    name: str

    def __init__(self, owner: WritableFile | None) -> None:
        # Weak, because a file holds its trees: there is no cycle of references, so that a file that is not
        # closed is closed with the last reference to it.
        self._owner = None if owner is None else weakref.ref(owner)

    @property
    def file(self) -> WritableFile | None:
        """The file that it is in."""
        return None if self._owner is None else self._owner()

    def flush(self) -> None:
        """Writes the rows that are kept as a cluster."""
        raise NotImplementedError

    def _read(self) -> Tree:
        """The one that readers see, with all rows so far."""
        file = self.file
        if file is None or file.closed:
            raise errors.IOError(f"the file of the {self._noun} {self.name!r} is closed")
        self.flush()
        found: Tree = file._reopen()[self.name]
        return found

    def __getattr__(self, name: str) -> Any:
        if self.__dict__.get("_owner") is None or (
            name.startswith("_") and not name.startswith("__arrow_c_")
        ):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._read(), name)

    def __getitem__(self, where: str) -> Any:
        """A branch or a field, to be read."""
        return self._read()[where]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __bool__(self) -> bool:
        return True

    def __contains__(self, name: object) -> bool:
        return name in self._read()
