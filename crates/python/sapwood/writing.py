"""Files that are written."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping
from typing import Any

from sapwood import _core, errors, filling
from sapwood.compression import Compression
from sapwood.conversion import as_object
from sapwood.file import checked
from sapwood.filling import Schema


def recreate(
    path: Any,
    *,
    compression: Any = "zlib:1",
    threads: int = 0,
    reproducible: bool = False,
    sync: bool = False,
) -> WritableFile:
    """A new file in place of what is there.

    ``path`` is a path, or a binary file object like ``io.BytesIO``, which gets the bytes when the file is closed.
    ``compression`` is ``"zstd:5"``, ROOT's number (505), a :class:`~sapwood.Compression`, or ``None`` for none; the default is
    ROOT's. ``reproducible`` leaves dates and UUIDs out, so that the same content gives the same bytes. ``sync`` waits at each
    save until the bytes are on storage.

    >>> import io, sapwood
    >>> memory = io.BytesIO()
    >>> with sapwood.recreate(memory) as file:
    ...     file["tree"] = {"x": [1, 2, 3], "y": [[1.5], [], [2.5, 3.5]]}
    >>> sapwood.open(memory)["tree/y"].array().tolist()
    [[1.5], [], [2.5, 3.5]]

    Raises :class:`sapwood.errors.IOError` where the file cannot be written.
    """
    return WritableFile(path, compression=compression, threads=threads, reproducible=reproducible, sync=sync)


def create(path: Any, **options: Any) -> WritableFile:
    """A new file. The same as :func:`recreate`, but what is there stays.

    Raises :class:`FileExistsError` where there is a file of that name.
    """
    if isinstance(path, (str, os.PathLike)) and os.path.exists(path):
        raise FileExistsError(f"there is a file {os.fspath(path)!r}: sapwood.recreate would replace it")
    return recreate(path, **options)


def as_compression(compression: Any) -> str:
    """The engine's text for a setting of compression."""
    if compression is None:
        return "zlib:0"
    if isinstance(compression, bool) or not isinstance(compression, (str, int, Compression)):
        code = getattr(compression, "code", None)  # uproot's own settings
        if not isinstance(code, int):
            raise TypeError(f"compression is a text like 'zstd:5', ROOT's number or None, not {compression!r}")
        compression = code
    if isinstance(compression, str):
        return compression
    found = compression if isinstance(compression, Compression) else Compression.from_code(compression)
    if found.level == 0:
        return "zlib:0"
    return f"{found.name.lower()}:{found.level}"


class WritableFile:
    """A file that is being written: a mapping from names to what gets written under them.

    What was saved is seen by every reader, whatever happens to this process; closing saves.
    """

    def __init__(self, path: Any, *, compression: Any, threads: int, reproducible: bool, sync: bool) -> None:
        self._target = None if isinstance(path, (str, os.PathLike)) else path
        if self._target is not None and not hasattr(path, "write"):
            raise TypeError(f"a file is written to a path or a binary file object, not to {type(path).__name__}")
        setting = as_compression(compression)
        place = None if self._target is not None else os.fspath(path)
        checked(threads=threads)
        self._core = _core.FileWriter.recreate(place, setting, threads, reproducible, sync)
        self._trees: list[WritableTree] = []
        self._closed = False

    def mkdir(self, path: str) -> None:
        """Makes a directory, and those above it."""
        self._core.mkdir(path)

    def mktree(
        self,
        name: str,
        branch_types: Mapping[str, Any],
        title: str = "",
        *,
        counter_name: Callable[[str], str] = filling.counter_name,
        field_name: Callable[[str, str], str] = filling.field_name,
        compression: Any = "file",
        cluster_bytes: int | None = None,
        cluster_entries: int = 0,
        basket_bytes: int | None = None,
    ) -> WritableTree:
        """Begins a tree; :meth:`WritableTree.extend` fills it.

        ``branch_types`` gives each branch a type: a NumPy type (``"f4"``, ``np.dtype(("f8", (2, 2)))``), or an Awkward type
        (``"var * float32"``, ``"string"``, ``"var * {pt: float32, eta: float32}"``). Lists are counted by a branch of the name
        ``counter_name`` gives, fields of records have the names ``field_name`` gives. A cluster ends when its rows take
        ``cluster_bytes`` bytes before compression, or after ``cluster_entries`` entries.
        """
        schema = filling.schema(branch_types, counter_name, field_name)
        setting = None if compression == "file" else as_compression(compression)
        specs = [spec.for_engine() for spec in schema.specs]
        core = self._core.tree(name, specs, title, setting, cluster_bytes, cluster_entries, basket_bytes)
        tree = WritableTree(core, schema, name)
        self._trees.append(tree)
        return tree

    def __setitem__(self, name: str, value: Any) -> None:
        """Writes a value: histograms of NumPy, boost-histogram, hist and all others of the UHI protocol, objects that were read
        or that :mod:`sapwood.objects` made, text as ``TObjString``, lists of objects as ``TList``; whatever is a table as a tree.

        An object that has a name gets that of its key.

        >>> import io, numpy as np, sapwood
        >>> memory, copy = io.BytesIO(), io.BytesIO()
        >>> with sapwood.recreate(memory) as file:
        ...     file["h"] = np.histogram([1, 2, 2, 7], bins=4, range=(0, 4))
        >>> with sapwood.recreate(copy) as file:
        ...     file["folder/copy"] = sapwood.open(memory)["h"]
        >>> sapwood.open(copy)["folder/copy"].to_numpy()[0].tolist()
        [0.0, 1.0, 2.0, 0.0]
        """
        draft = as_object(value)
        if draft is not None:
            if draft.has_member("fName") and (draft.has_member("fTitle") or draft.classname.startswith("TParameter<")):
                draft = draft.replaced("fName", name.strip("/").rsplit("/", 1)[-1])
            self._core.write(name, draft)
            return
        columns = {column: filling.as_column(column, data) for column, data in filling.columns_of(value).items()}
        schema = filling.schema_of(columns, filling.counter_name, filling.field_name)
        lengths = {column: len(data) for column, data in columns.items()}
        if len(set(lengths.values())) > 1:  # before there is a tree
            raise errors.MismatchError(f"columns of {name!r} have different lengths: {lengths}")
        specs = [spec.for_engine() for spec in schema.specs]
        core = self._core.tree(name, specs, "", None, None, 0, None)
        with WritableTree(core, schema, name) as tree:
            tree.extend(columns)

    def save(self) -> None:
        """Makes all rows and objects that were written visible to every reader."""
        for tree in self._trees:
            tree.flush()
        self._core.save()

    def close(self) -> None:
        """Writes what is kept, saves, and ends."""
        if self._closed:
            return
        self._closed = True
        for tree in self._trees:
            tree.close()
        self._core.close()
        if self._target is not None:
            self._target.write(self._core.content())
            if isinstance(self._target, io.BytesIO):
                self._target.seek(0)

    def __enter__(self) -> WritableFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class WritableTree:
    """A tree that is being filled."""

    def __init__(self, core: _core.TreeWriter, schema: Schema, name: str) -> None:
        self._core = core
        self._schema = schema
        self.name = name
        """Its name in the file."""
        self.num_entries = 0
        """Entries given so far."""

    @property
    def branches(self) -> list[str]:
        """Names of the branches, those that count lists included."""
        return [spec.name for spec in self._schema.specs]

    def extend(self, data: Any) -> None:
        """Adds rows: the same number for every column.

        ``data`` is a mapping from names to arrays, a structured NumPy array, an Awkward record array, a DataFrame or an Arrow
        table. Rows are kept until their cluster is whole.

        Raises :class:`sapwood.errors.MismatchError` where columns are missing or unknown, lengths differ, or a type does not
        fit: then no row was added.
        """
        columns = filling.columns_of(data)
        values = filling.values(self._schema, columns)
        self._core.extend(values)
        first = next(iter(columns.values()), None)
        while isinstance(first, Mapping):
            first = next(iter(first.values()), None)
        self.num_entries += 0 if first is None else len(first)

    def flush(self) -> None:
        """Writes the rows that are kept as a cluster of their own."""
        self._core.flush()

    def close(self) -> None:
        """Writes the rows that are kept, and ends."""
        self._core.close()

    def __enter__(self) -> WritableTree:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

