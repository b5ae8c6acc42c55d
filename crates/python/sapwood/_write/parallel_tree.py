"""Trees that many threads fill."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from sapwood import _core, errors
from sapwood._file.file import File, open, open_file
from sapwood._tree.tree import Tree
from sapwood._write.branch_schema import Schema
from sapwood._write.writable_tree import WritableTree


@contextlib.contextmanager
def _open_finished(source: Any, name: str | None, usual: str) -> Iterator[Tree]:
    # Without a name of its own a path may say which object is meant.
    found = open(source) if name is None else open_file(source)
    if isinstance(found, File):
        with found:
            yield _as_tree(found[name or usual], name or usual)
    else:
        yield _as_tree(found, str(source))


def _as_tree(found: Any, name: str) -> Tree:
    if not isinstance(found, Tree):
        raise TypeError(f"{name!r} is no tree")
    return found


def check_number(number: int) -> int:
    if number < 0:
        raise errors.MismatchError(f"units of work have numbers from 0 on, not {number}")
    return number


class Context(WritableTree):
    """What one thread fills a tree through: as :class:`WritableTree`, but leaving its ``with`` block by an error gives up the rows
    that wait."""

    number = -1
    """The number of its unit of work; -1 where it has none."""

    def discard(self) -> None:
        """Gives up the rows that wait, and ends. What was committed stays; a numbered unit has no other entries."""
        self.closed = True
        self._rows.clear()
        if self._engine is not None:
            self._engine.discard()

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            self.close()
        else:
            self.discard()


class NumberedContext:
    """Brings numbered units of work, one after another. Leaving its ``with`` block ends it."""

    def __init__(self, core: _core.NumberedContext, tree: ParallelTree) -> None:
        self._core = core
        self._tree = tree

    def unit(self, number: int) -> Context:
        """Begins the unit of a number: it is whole once it is closed.

        Raises :class:`sapwood.errors.ExistsError` where the number was given before,
        :class:`sapwood.errors.MismatchError` while the last unit of this context is open.
        """
        return self._tree._begun(self._core.unit(check_number(number)), number)

    def adopt(self, number: int, source: Any, name: str | None = None, *, ignore_rest: bool = False) -> int:
        """Takes all entries of a finished tree as the unit of a number, as :meth:`ParallelTree.adopt` does."""
        with _open_finished(source, name, self._tree.name) as tree:
            return self._core.adopt(check_number(number), tree._core, ignore_rest)

    def close(self) -> None:
        """Brings no more units."""
        self._core.close()

    def __enter__(self) -> NumberedContext:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ParallelTree:
    """A tree that many threads fill."""

    def __init__(self, core: _core.ParallelWriter, schema: Schema, name: str) -> None:
        self._core = core
        self._schema = schema
        self.name = name
        """Its name in the file."""
        self._contexts: set[Context] = set()
        self._lock = threading.Lock()
        self.closed = False
        """Whether it takes no more rows."""

    @property
    def branches(self) -> list[str]:
        """Names of the branches, those that count lists included."""
        return [spec.name for spec in self._schema.specs]

    @property
    def num_entries(self) -> int:
        """Entries of the clusters that are committed: a save shows as many."""
        return self._core.entries()

    def context(self) -> Context:
        """What one thread fills the tree through. Its clusters follow those that others committed before.

        Rows wait in it until their cluster is whole: close it, or leave its ``with`` block. One that is left
        open is closed with the tree.
        """
        return self._begun(self._core.context())

    def numbered(self) -> NumberedContext:
        """Brings units of work that stand in the tree in the order of their numbers, from 0 on, whichever is done first: the file does not depend
        on the threads (with ``reproducible`` not in a byte).

        Make one for each thread before any begins: waiting for a number that no open context can bring is an
        error.

        >>> import io, sapwood
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> memory = io.BytesIO()
        >>> with sapwood.recreate(memory) as file:
        ...     tree = file.parallel_tree("tree", {"x": "i4"})
        ...     workers = [tree.numbered() for _ in range(2)]
        ...     def work(worker, numbers):
        ...         with worker:
        ...             for number in numbers:
        ...                 with worker.unit(number) as unit:
        ...                     unit.extend({"x": [10 * number, 10 * number + 1]})
        ...     with ThreadPoolExecutor(2) as pool:
        ...         _ = list(pool.map(work, workers, [[1, 2], [0, 3]]))
        >>> sapwood.open(memory)["tree/x"].array().tolist()
        [0, 1, 10, 11, 20, 21, 30, 31]
        """
        return NumberedContext(self._core.numbered(), self)

    def _begun(self, core: _core.TreeWriter, number: int = -1) -> Context:
        context = Context(core, self._schema, self.name)
        context.number = number
        with self._lock:
            # Those that are closed need no one to close them.
            self._contexts = {known for known in self._contexts if not known.closed} | {context}
        return context

    def adopt(self, source: Any, name: str | None = None, *, ignore_rest: bool = False) -> int:
        """Takes all entries of a finished tree that has the same branches: its clusters join this tree as they are, without being
        inflated. Gives their number.

        ``source`` is what :func:`sapwood.open` takes: the content of a file that another process made, or a
        path, with or without ``:tree``; ``name`` is its path in it. The tree has the same name as this one.
        Several threads may do so at once, while others fill.

        Other objects of the file are not taken: they make this an error, unless ``ignore_rest`` says that
        they may be left.

        >>> import io, sapwood
        >>> def work(start):  # in another process
        ...     part = io.BytesIO()
        ...     with sapwood.recreate(part) as file:
        ...         file.mktree("tree", {"x": "i4"}).extend({"x": [start, start + 1]})
        ...     return part.getvalue()
        >>> memory = io.BytesIO()
        >>> with sapwood.recreate(memory) as file:
        ...     tree = file.parallel_tree("tree", {"x": "i4"})
        ...     tree.adopt(work(0)), tree.adopt(work(2))
        (2, 2)
        >>> sapwood.open(memory)["tree/x"].array().tolist()
        [0, 1, 2, 3]

        Raises :class:`sapwood.errors.MismatchError` naming a branch that is not the same in both trees, or
        other objects of the file, :class:`sapwood.errors.UnsupportedError` for baskets without a record of
        their own, as real ROOT leaves the last ones.
        """
        with _open_finished(source, name, self.name) as tree:
            return self._core.adopt(tree._core, ignore_rest)

    def save(self) -> int:
        """Makes what is committed visible to every reader, from any thread; gives the entries that the tree has then."""
        return self._core.save()

    def flush(self) -> None:
        """The same as :meth:`save`: rows that wait are their contexts' own."""
        if not self.closed:
            self.save()

    def close(self) -> None:
        """Ends the tree, and contexts that are still open."""
        if self.closed:
            return
        self.closed = True
        failures: list[Exception] = []
        for context in sorted(self._contexts, key=lambda context: context.number):
            try:
                if not context.closed:
                    context.close()
            except Exception as error:
                failures.append(error)
        self._contexts.clear()
        self._core.close()
        errors.throw(failures)

    def __enter__(self) -> ParallelTree:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        errors.close_after(error, self.close)
