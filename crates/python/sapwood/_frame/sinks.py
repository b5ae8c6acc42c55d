"""What takes the columns of a frame step by step: arrays in memory, a tree of a new file, or a function."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from typing import Any

from sapwood._frame.results import joined
from sapwood._read import layout
from sapwood.errors import MismatchError


def array(column: Any, library: str) -> Any:
    """A column as an array of a library."""
    return layout.to_numpy(column) if library == "np" else layout.to_awkward(column)


class InMemory:
    """All values of one or more expressions."""

    def __init__(self, names: Sequence[str], library: str) -> None:
        self._names, self._library = names, library
        self._parts: list[list[Any]] = [[] for _ in names]
        self.value: Any = None

    def take(self, columns: list[Any]) -> None:
        """Keeps the values of a step."""
        for parts, column in zip(self._parts, columns, strict=True):
            parts.append(array(column, self._library))

    def finish(self) -> None:
        """Puts the steps together."""
        arrays = [joined(parts, self._library) for parts in self._parts]
        self.value = arrays[0] if len(arrays) == 1 else dict(zip(self._names, arrays, strict=True))

    def discard(self) -> None:
        """Forgets everything."""
        self._parts = []


class Folded:
    """What a function makes of one step after another."""

    def __init__(self, names: Sequence[str], library: str, zero: Any, add: Callable[[Any, Any], Any]) -> None:
        self._names, self._library, self._add = names, library, add
        self.value = zero

    def take(self, columns: list[Any]) -> None:
        """Adds the values of a step."""
        arrays = {
            name: array(column, self._library) for name, column in zip(self._names, columns, strict=True)
        }
        self.value = self._add(self.value, arrays)

    def finish(self) -> None:
        """Nothing is left to do."""

    def discard(self) -> None:
        """Nothing is held."""


class Snapshots:
    """A new file with a tree, or an RNTuple, for each sample and variation."""

    def __init__(
        self, path: Any, name: str, names: Sequence[str], kind: str, options: dict[str, Any]
    ) -> None:
        self.path, self.name, self.names, self.kind, self.options = path, name, names, kind, options
        self._file: Any = None
        self._open = 0

    def sink(self, sample: str | None, variation: str | None) -> Snapshot:
        """What takes the columns of a sample and a variation."""
        if self._file is None:
            import sapwood

            self._file = sapwood.recreate(self.path, **self.options)
        self._open += 1
        parts = [self.name, *(part for part in (sample, variation) if part is not None)]
        return Snapshot(self, "__".join(parts).replace(":", "_"))

    def finished(self) -> None:
        """Closes the file with the last of its trees."""
        self._open -= 1
        if not self._open and self._file is not None:
            self._file.close()
            self._file = None

    def discard(self) -> None:
        """Removes what was begun."""
        file, self._file, self._open = self._file, None, 0
        if file is not None:
            with contextlib.suppress(Exception):
                file.close()
            if isinstance(self.path, (str, os.PathLike)):
                with contextlib.suppress(OSError):
                    os.remove(self.path)

    @property
    def file(self) -> Any:
        """The file that is being written."""
        if self._file is None:
            raise MismatchError(f"{self.path} was closed before all was written")
        return self._file


class Snapshot:
    """A tree, or an RNTuple, of a new file."""

    def __init__(self, of: Snapshots, name: str) -> None:
        self._of, self._name = of, name
        self._tree: Any = None
        self.value = f"{os.fspath(of.path)}:{name}" if isinstance(of.path, (str, os.PathLike)) else name

    def take(self, columns: list[Any]) -> None:
        """Writes the values of a step."""
        arrays = {
            name: layout.to_awkward(column) for name, column in zip(self._of.names, columns, strict=True)
        }
        if self._tree is not None:
            self._tree.extend(arrays)
        elif self._of.kind == "rntuple":
            self._tree = self._of.file.mkrntuple(self._name, arrays)
        else:
            self._of.file[self._name] = arrays
            self._tree = self._of.file[self._name]

    def finish(self) -> None:
        """Ends the tree."""
        self._of.finished()

    def discard(self) -> None:
        """Removes the file: it is not whole."""
        self._of.discard()
