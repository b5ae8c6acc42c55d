"""Collectors of columns of a frame: arrays in memory, trees of a new file, or a function that folds them."""

from __future__ import annotations

import contextlib
import copy
import functools
import io
import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from sapwood import _core, writing
from sapwood._file.file import open as sapwood_open
from sapwood._frame.arrays import array, joined
from sapwood._frame.functions import running
from sapwood._read import layout
from sapwood._read.selection import Selection
from sapwood._remote import network, urls
from sapwood._write.staged import staged
from sapwood._write.upload import make_folders
from sapwood.errors import MismatchError


class Taking:
    """All values of one or more expressions, in memory."""

    def __init__(self, names: Sequence[str], library: str) -> None:
        self._names, self._library = tuple(names), library

    def sink(self, sample: str | None, variation: str | None) -> InMemory:
        """The sink of a sample and a variation."""
        return InMemory(len(self._names), self._library)

    def check_workers(self) -> None:
        """Workers send what they have."""

    def in_worker(self) -> Taking:
        """The collector of a worker."""
        return self

    def plus(self, one: Any, other: Any) -> Any:
        """The parts of both."""
        return [[*a, *b] for a, b in zip(one, other, strict=True)]

    def finished(self, parts: Any) -> Any:
        """An array, or several by name."""
        arrays = [joined(of, self._library) for of in parts]
        return arrays[0] if len(arrays) == 1 else dict(zip(self._names, arrays, strict=True))


class InMemory:
    """Values of several expressions, in parts."""

    def __init__(self, count: int, library: str) -> None:
        self._library = library
        self.found: list[list[Any]] = [[] for _ in range(count)]

    def take(self, columns: list[Any]) -> None:
        """Keeps the values of a step."""
        for parts, column in zip(self.found, columns, strict=True):
            parts.append(array(column, self._library))

    def copied(self, sink: InMemory) -> None:
        """Begins with what another one has."""
        self.found = [list(parts) for parts in sink.found]


class Folding:
    """A function that folds one step after another."""

    def __init__(
        self,
        names: Sequence[str],
        library: str,
        zero: Any,
        add: Callable[[Any, Any], Any],
        merge: Callable[[Any, Any], Any] | None,
    ) -> None:
        self.names, self.library, self.zero, self.add, self.merge = tuple(names), library, zero, add, merge

    def sink(self, sample: str | None, variation: str | None) -> Folded:
        """The sink of a sample and a variation."""
        return Folded(self)

    def check_workers(self) -> None:
        """Results of workers are merged."""
        if self.merge is None:
            raise MismatchError(
                "several workers need a function that joins two results: aggregate(..., merge=)"
            )

    def in_worker(self) -> Folding:
        """The collector of a worker."""
        return self

    def plus(self, one: Any, other: Any) -> Any:
        """Two results as one."""
        self.check_workers()
        with running():
            return self.merge(one, other) if self.merge is not None else None

    def finished(self, found: Any) -> Any:
        """The result as it is."""
        return found


class Folded:
    """The value of the function after the steps so far."""

    def __init__(self, of: Folding) -> None:
        self._of = of
        # A function may change its argument: each sink begins with another copy.
        self.found = copy.deepcopy(of.zero)

    def take(self, columns: list[Any]) -> None:
        """Adds the values of a step."""
        named = zip(self._of.names, columns, strict=True)
        arrays = {name: array(column, self._of.library) for name, column in named}
        with running():
            self.found = self._of.add(self.found, arrays)

    def copied(self, sink: Folded) -> None:
        """Begins with what another one has."""
        self.found = copy.deepcopy(sink.found)


class Snapshots:
    """A new file with a tree, or an RNTuple, for each sample and variation. Leaving its ``with`` block, which
    is about a pass, ends it: the file has its name then, or is gone after an error."""

    def __init__(
        self, path: Any, name: str, names: Sequence[str], kind: str, options: dict[str, Any]
    ) -> None:
        self.path, self.name, self.names, self.kind, self.options = path, name, tuple(names), kind, options
        #: The file that is being written; none between passes.
        self.file: Any = None
        self._trees: set[str] = set()
        #: A folder for parts of workers.
        self._folder: str | None = None
        self._count = 0
        #: Closes the file at the end of a pass.
        self._held = contextlib.ExitStack()

    def sink(self, sample: str | None, variation: str | None) -> Snapshot:
        """The sink of a sample and a variation."""
        if self.file is None:
            self.file, self._trees = self._begun(), set()
        parts = [self.name, *(part for part in (sample, variation) if part is not None)]
        tree = "__".join(parts).replace(":", "_").replace("/", "_")
        if tree in self._trees:
            raise MismatchError(
                f"two samples or variations would be the tree {tree!r} of {self.path}: rename one"
            )
        self._trees.add(tree)
        return Snapshot(self, tree)

    def check_workers(self) -> None:
        """Workers send parts of the file."""

    def in_worker(self) -> Parts:
        """The collector of a worker."""
        return Parts(self.name, self.names, self.kind)

    def __reduce__(self) -> Any:
        # Workers write parts: the file is written here.
        return Parts, (self.name, self.names, self.kind)

    def plus(self, one: Any, other: Any) -> Any:
        """The parts of both."""
        return [*map(self._kept, one), *map(self._kept, other)]

    def _kept(self, part: Any) -> Any:
        """A part on disk: together they may be larger than memory."""
        if not isinstance(part, bytes):
            return part
        if self._folder is None:
            # Next to the file: there is room for it, and temporary files may be in memory.
            beside = None
            if self.is_local():
                path = os.path.realpath(self.path)
                make_folders(path)
                beside = os.path.dirname(path)
            folder = tempfile.TemporaryDirectory(prefix=".sapwood-frame-", dir=beside)
            self._folder = self._held.enter_context(folder)
        self._count += 1
        path = os.path.join(self._folder, f"{self._count}.root")
        with open(path, "wb") as file:
            file.write(part)
        return path

    def is_local(self) -> bool:
        """Whether it is a file of this machine."""
        return isinstance(self.path, (str, os.PathLike)) and not urls.is_url(os.fspath(self.path))

    def assembled(self, sample: str | None, variation: str | None, parts: Any) -> str:
        """Writes the parts of workers, in their order; the path with the name of the tree."""
        sink = self.sink(sample, variation)
        for part in parts:
            with sapwood_open(io.BytesIO(part) if isinstance(part, bytes) else part) as file:
                tree = file[self.name]
                sink.write(dict(tree.arrays(list(self.names), how=dict)))
        return sink.found

    def finished(self, found: Any) -> Any:
        """The path with the name of the tree."""
        return found

    def _begun(self) -> Any:
        """The file, which gets its name once it is complete: until then an older one stays."""
        path, options = self.path, dict(self.options)
        if isinstance(path, (str, os.PathLike)):
            path = self._held.enter_context(staged(os.fspath(path), network.take_options(options)))
        return self._held.enter_context(writing.recreate(path, **options))

    def __enter__(self) -> Snapshots:
        return self

    def __exit__(self, *error: Any) -> None:
        held, self.file, self._folder = self._held.pop_all(), None, None
        held.__exit__(*error)


class Snapshot:
    """A tree, or an RNTuple, of a new file."""

    def __init__(self, of: Snapshots, name: str) -> None:
        self._of, self._name = of, name
        self._tree: Any = None
        self.found = f"{os.fspath(of.path)}:{name}" if isinstance(of.path, (str, os.PathLike)) else name

    def take(self, columns: list[Any]) -> None:
        """Writes the values of a step."""
        self.write(
            {name: layout.to_awkward(column) for name, column in zip(self._of.names, columns, strict=True)}
        )

    def write(self, arrays: dict[str, Any]) -> None:
        """Writes values by their names."""
        if self._tree is not None:
            self._tree.extend(arrays)
        elif self._of.kind == "rntuple":
            self._tree = self._of.file.mkrntuple(self._name, arrays)
        else:
            self._of.file[self._name] = arrays
            self._tree = self._of.file[self._name]

    def copied(self, sink: Snapshot) -> None:
        """Refuses to begin with what has been written."""
        raise MismatchError(
            f"{self._name} of {self._of.path} begins with a later file: the variation changes nothing in the "
            "files before, whose rows are not kept"
        )


class Parts:
    """Parts of a new file, which workers write in memory."""

    def __init__(self, name: str, names: Sequence[str], kind: str) -> None:
        self.name, self.names, self.kind = name, tuple(names), kind

    def in_worker(self) -> Parts:
        """The collector of a worker."""
        return self

    def sink(self, sample: str | None, variation: str | None) -> Part:
        """The sink of a variation."""
        return Part(self)


class Part:
    """The entries of one unit of work, in a file in memory."""

    def __init__(self, of: Parts) -> None:
        self._memory = io.BytesIO()
        # It is read once.
        snapshots = Snapshots(self._memory, of.name, of.names, of.kind, {"compression": "lz4:1"})
        self._snapshots = snapshots
        self._sink = snapshots.sink(None, None)

    def take(self, columns: list[Any]) -> None:
        """Writes the values of a step."""
        try:
            self._sink.take(columns)
        except BaseException:
            self._snapshots.__exit__(None, None, None)
            raise

    def copied(self, sink: Any) -> None:
        """One file has the same variations from its first entry on."""
        raise MismatchError("a variation begins within a file")

    @functools.cached_property
    def found(self) -> list[bytes]:
        """The file, which is closed with this."""
        self._snapshots.__exit__(None, None, None)
        return [self._memory.getvalue()]


class Sinks:
    """Sinks of columns: for each result that wants them, one for each variation."""

    def __init__(self, collects: list[Any], sample: str | None) -> None:
        self._collects, self._sample = collects, sample
        self._open: dict[tuple[int, str | None], Any] = {}

    def _of(self, number: int, variation: str | None) -> Any:
        key = (number, variation)
        if key not in self._open:
            self._open[key] = self._collects[number].sink(self._sample, variation)
        return self._open[key]

    def read(self, run: _core.FrameRun, plan: _core.FramePlan, selection: Selection) -> None:
        """Reads entries of a table, whose columns go to those that they are for."""
        # A variation that has changed nothing so far has what the columns gave as they are.
        for number, variation in run.begins(plan):
            self._of(number, variation).copied(self._of(number, None))

        def take(number: int, variation: str | None, columns: list[_core.Column]) -> None:
            self._of(number, variation).take(columns)

        is_wanted = any(one is not None for one in self._collects)
        start, stop = selection.span
        run.read(plan, start, stop, selection.in_order()[0], take if is_wanted else None)

    def partial(
        self, found: list[tuple[Any, list[tuple[str, Any]]]]
    ) -> list[tuple[Any, list[tuple[str, Any]]]]:
        """The results of the engine, with what was made of columns in its place."""
        whole = []
        for number, (nominal, varied) in enumerate(found):
            if self._collects[number] is None:
                whole.append((nominal, varied))
                continue
            # Sinks that got nothing are made, too.
            sinks = [(name, self._of(number, name)) for name in [None, *(name for name, _ in varied)]]
            whole.append((sinks[0][1].found, [(str(name), sink.found) for name, sink in sinks[1:]]))
        return whole
