"""Directories of a file that is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from sapwood import errors
from sapwood._file.sizes import every
from sapwood._read.compat_kwargs import Foreign, ignore
from sapwood._read.filters import Filter
from sapwood._read.key_listing import Listing
from sapwood._write import branch_schema, lossless, tables, writable_ntuple
from sapwood._write.branch_types import of_form
from sapwood._write.conversion import as_object
from sapwood._write.copying import Copying
from sapwood._write.parallel_tree import ParallelTree
from sapwood._write.writable_ntuple import ParallelNTuple, WritableNTuple
from sapwood._write.writable_tree import WritableTree
from sapwood.compression import names_of
from sapwood.errors import near, not_found

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from sapwood._tree.tree import Tree
    from sapwood.writing import WritableFile


class _Listed(NamedTuple):
    """A key, with its path below the directory that lists it."""

    path: str
    cycle: int
    classname: str


class WritableDirectory(Copying, Listing, MutableMapping[str, Any]):  # type: ignore[misc]
    """A directory of a file that is written: a mapping from names to what gets written under them, and reads
    it back.

    Names may be paths; directories on the way are made.

    >>> import io, sapwood
    >>> memory = io.BytesIO()
    >>> with sapwood.recreate(memory) as file:
    ...     folder = file.mkdir("2026/muons")
    ...     folder["note"] = "from the first run"
    ...     folder.mktree("events", {"pt": [1.5, 2.5]})
    ...     file["2026"].keys(), "muons/note" in file["2026"]
    <WritableTree '2026/muons/events' of 2 entries>
    (['muons;1', 'muons/note;1', 'muons/events;1'], True)
    """

    def __init__(self, file: WritableFile | None, path: str = "") -> None:
        self._in = file
        self._path = path

    @property
    def file(self) -> WritableFile:
        """The file that it is in."""
        assert self._in is not None, "only a file is in no file, and it is its own root"
        return self._in

    @property
    def path(self) -> tuple[str, ...]:
        """Names of the directories from the root down to this one."""
        return tuple(part for part in self._path.split("/") if part)

    @property
    def object_path(self) -> str:
        """Its path in the file, with slashes at both ends."""
        return f"/{self._path}/" if self._path else "/"

    @property
    def file_path(self) -> str | None:
        """Path or URL of the file; ``None`` for one in memory."""
        upload = self.file._upload
        return self.file._place if upload is None else upload.shown

    @property
    def closed(self) -> bool:
        """Has the file been closed?"""
        return self.file._closed

    @property
    def compression(self) -> Any:
        """Setting of trees that are begun from now on, unless they name one; ``None`` for none. Objects keep
        the setting that the file was opened with."""
        return self.file._setting

    @compression.setter
    def compression(self, setting: Any) -> None:
        self.file._set_compression(setting)

    def close(self) -> None:
        """Closes the file."""
        self.file.close()

    def __enter__(self) -> WritableDirectory:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        errors.close_after(error, self.close)

    # ---- names

    def _full(self, name: Any, what: str = "the name of an object") -> str:
        name = branch_schema.check_text(name, what).strip("/")
        return f"{self._path}/{name}" if self._path else name

    def _new(self, name: Any, what: str = "the name of an object") -> str:
        """The path of a new key. A cycle at its end is the one that it gets in any case, or refused: ROOT finds
        no key whose name has one."""
        full = self._full(name, what)
        bare, _, cycle = full.rpartition(";")
        if not bare or not (cycle.isascii() and cycle.isdigit()):
            return full
        self.file._settle()
        following = 1 + max((key.cycle for key in self.file._core.keys() if key.path == bare), default=0)
        if cycle.lstrip("0") != str(following):
            raise errors.MismatchError(
                f"{full!r} would get the cycle {following}, for cycles count what was written under a name: "
                f"write {bare!r}"
            )
        return bare

    def _keys(self, recursive: bool) -> list[Any]:
        start = f"{self._path}/" if self._path else ""
        self.file._settle()
        found = []
        for key in self.file._core.keys():
            inner = key.path.removeprefix(start)
            if key.path.startswith(start) and (recursive or "/" not in inner):
                found.append(_Listed(inner, key.cycle, key.classname))
        return found

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        try:
            self.file._settle()
            return bool(self.file._core.key(self._full(name)))
        except (errors.NotFoundError, errors.ExistsError, errors.MismatchError):
            return False

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
            yield name, self[f"{key.path};{key.cycle}"]

    def items(self, **filters: Any) -> list[tuple[str, Any]]:  # type: ignore[override]
        """Names and objects, as :meth:`iteritems`."""
        return list(self.iteritems(**filters))

    def itervalues(self, **filters: Any) -> Iterator[Any]:
        """Objects; each is read when its turn comes."""
        return (value for _, value in self.iteritems(**filters))

    def values(self, **filters: Any) -> list[Any]:  # type: ignore[override]
        """Objects, as :meth:`itervalues`."""
        return list(self.itervalues(**filters))

    # ---- reading

    def __getitem__(self, name: str) -> Any:
        """The object of this name: a tree or an RNTuple to fill and to read (:class:`~sapwood.WritableTree`,
        :class:`~sapwood.WritableNTuple`), a directory, or an object, which is read as :func:`sapwood.open`
        would. All is saved first, but for rows that trees still keep.

        >>> import io, sapwood
        >>> with sapwood.recreate(io.BytesIO()) as file:
        ...     file["note"] = "first"
        ...     file["tree"] = {"x": [1.5]}
        ...     file["tree"].extend({"x": [2.5]})
        ...     file.keys(), "note" in file, str(file["note"]), file["tree"].num_entries
        (['note;1', 'tree;1'], True, 'first', 2)

        Raises :class:`KeyError` where there is none of that name.
        """
        file, full = self.file, self._full(name)
        tree = file._tree_at(full)
        if tree is not None:
            return tree
        file._settle()
        try:
            key = file._core.key(full)
        except (errors.NotFoundError, errors.ExistsError):
            raise not_found(f"not found: no key {full!r}{near(full, file.keys(cycle=False))}") from None
        if key.is_directory:
            return WritableDirectory(file, full)
        path = full.removesuffix(f";{key.cycle}")
        if file._core.key(path).cycle == key.cycle:
            tree = file._tree_at(path)
            if tree is None and (key.is_tree or key.classname == "ROOT::RNTuple"):
                tree = (WritableTree if key.is_tree else writable_ntuple.WritableNTuple).there(file, path)
                file._take(tree)
            if tree is not None:
                return tree
        return file._reopen()[full]

    def __delitem__(self, name: str) -> None:
        """Deletes an object, or a directory and all below it; all cycles, where the name does not end in
        ``;cycle``. Trees that are being filled are closed first.

        Raises :class:`KeyError` where there is none.
        """
        full = self._full(name)
        base, _, cycle = full.rpartition(";")
        self.file._settle()
        if (
            cycle.isdigit()
            and base in self.file._trees_by_path
            and self.file._core.key(base).cycle == int(cycle)
        ):
            self.file._end_trees(base)
        self.file._end_trees(full)
        self.file._settle()
        self.file._core.remove(full)

    # ---- writing

    def mkdir(self, name: str, **others: Unpack[Foreign]) -> WritableDirectory:
        """Makes a directory, and those above it, and gives it."""
        ignore(others, "mkdir")
        # Directories have one cycle, and an existing one is returned again.
        full = self._full(name, "the name of a directory").removesuffix(";1")
        self.file._core.mkdir(full)
        return WritableDirectory(self.file, full)

    def mktree(
        self,
        name: str,
        branch_types: Any = None,
        title: str = "",
        *,
        like: Tree | None = None,
        branch_titles: Mapping[str, str] | None = None,
        counter_name: branch_schema.CounterName = branch_schema.counter_name,
        field_name: branch_schema.FieldName = branch_schema.field_name,
        compression: Any = "file",
        auto_flush: int | str = -30_000_000,
        auto_save: int | str = -300_000_000,
        cluster_bytes: int | str | None = None,
        basket_bytes: int | str | None = None,
        split_level: int = 99,
        member_wise: bool = True,
        random_access: Any = "file",
        **others: Unpack[Foreign],
    ) -> WritableTree:
        """Begins a tree; :meth:`WritableTree.extend` fills it.

        ``branch_types`` gives each branch a type: a NumPy type (``"f4"``, ``np.dtype(("f8", (2, 2)))``), or
        an Awkward type (``"var * float32"``, ``"string"``, ``"var * {pt: f4, eta: f4}"``), or C++'s word
        (``"Long64_t"``, ``"vector<float>"``), or a dataclass for objects, whose members become branches down
        to ``split_level`` (0 keeps each object whole). Lists are counted by a branch of the name
        ``counter_name`` gives, fields of records have the names ``field_name`` gives: functions, or texts
        like ``"n{}"`` and ``"{}_{}"``. Data instead of types (a mapping from names to arrays, a structured
        NumPy array, an Awkward record array, a DataFrame or an Arrow table) are the first entries.

        ``like`` is a tree that was opened, whatever wrote it, in place of types: the new one has its
        branches, with their classes, titles, split levels and names of counters and fields, and takes what
        :meth:`append` takes for it. Its compression is the other's unless a setting is given, which holds for
        all branches.

        ``branch_titles`` are titles of branches, which browsers show and :attr:`Branch.title` has; others
        name their leaves, as ROOT's do.

        ``compression`` is a setting as :func:`recreate` takes it, or a mapping from branches to settings:
        names, or globs like ``"Muon_*"``, of which the first that fits counts; a name of a column or object
        stands for all branches that it becomes, and ``"*"`` for those that nothing else names.

        A cluster ends after ``auto_flush`` entries; where that is negative or a size like ``"30 MB"``, after
        as many entries as the first so many compressed bytes hold; where it is 0, or at the latest, when its
        rows take ``cluster_bytes`` bytes (128 MiB) before compression. ``auto_save`` says in the same words
        how often all that was written becomes visible to readers on the way. Both are ROOT's ``SetAutoFlush``
        and ``SetAutoSave``. Collections of objects are streamed member by member, or object by object where
        ``member_wise`` is false.

        ``random_access`` makes single entries cheap to read: baskets are compressed in blocks of so many
        entries, or of as many as keep the file small (``"auto"``), and one entry inflates one block. Every
        reader of ROOT files reads such baskets. It is a setting, or a mapping from branches to settings, as
        ``compression`` is; ``None`` compresses baskets whole.

        >>> import dataclasses, io, sapwood
        >>> @dataclasses.dataclass
        ... class Hit:
        ...     x: float
        ...     adc: int
        >>> @dataclasses.dataclass
        ... class Event:
        ...     number: int
        ...     hits: list[Hit]
        >>> memory = io.BytesIO()
        >>> with sapwood.recreate(memory) as file:
        ...     tree = file.mktree("events", {"event": Event})
        ...     for number in range(3):
        ...         tree.fill(event=Event(number, [Hit(0.5, number)] * number))
        >>> sapwood.open(memory)["events/hits.adc"].array().tolist()
        [[], [1], [2, 2]]
        """
        ignore(others, "mktree")
        full = self._new(name, "the name of a tree")
        if (like is None) == (branch_types is None):
            raise TypeError("mktree() takes the types of branches, or data, or a tree to be like (like=)")
        if like is not None and branch_titles is not None:
            raise TypeError("mktree(like=) has the titles of its branches: leave branch_titles out")
        if like is not None:
            usual = (branch_schema.counter_name, branch_schema.field_name, 99, True)
            if (counter_name, field_name, split_level, member_wise) != usual:
                raise TypeError(
                    "mktree(like=) takes counter_name, field_name, split_level and member_wise from the tree that it is "
                    "like: leave them out"
                )
            options = (every(auto_flush), every(auto_save), cluster_bytes, basket_bytes, random_access)
            core, schema = self.file._begin_like(full, like, title, compression, *options)
            tree = WritableTree(core, schema, full, self.file)
            self.file._take(tree)
            return tree
        branch_types = of_form(branch_types)
        sizes = (auto_flush, auto_save, cluster_bytes, basket_bytes)
        given = (compression, *sizes, split_level, member_wise, random_access, branch_titles)
        if branch_schema.are_types(branch_types):
            core, schema = self.file._begin(
                "new", full, branch_types, title, counter_name, field_name, *given
            )
            tree = WritableTree(core, schema, full, self.file)
            self.file._take(tree)
            return tree
        parts = tables.batches(branch_types)
        columns = tables.check_columns(full, tables.columns_of(next(parts)))
        schema = branch_schema.schema_of(columns, counter_name, field_name)
        core = self.file._core_of("new", full, schema, title, *given)
        tree = WritableTree(core, schema, full, self.file)
        try:
            for part in chain([columns], parts):
                tree.extend(part)
        except BaseException:
            core.discard()
            raise
        self.file._take(tree)
        return tree

    def parallel_tree(
        self, name: str, branch_types: Mapping[str, Any], title: str = "", **options: Any
    ) -> ParallelTree:
        """Begins a tree that many threads fill, each with a :meth:`~ParallelTree.context` of its own, which
        compresses and writes its own clusters. The arguments are those of :meth:`mktree`; a cluster is kept
        in memory for each thread.

        >>> import io, sapwood
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> def work(start):
        ...     with tree.context() as context:
        ...         context.extend({"x": range(start, start + 100)})
        >>> memory = io.BytesIO()
        >>> with sapwood.recreate(memory) as file:
        ...     tree = file.parallel_tree("tree", {"x": "i4"})
        ...     with ThreadPoolExecutor(4) as pool:
        ...         _ = list(pool.map(work, range(0, 1000, 100)))
        >>> sorted(sapwood.open(memory)["tree/x"].array().tolist()) == list(range(1000))
        True
        """
        known = self.file._tree_options
        for option in options:
            if option not in known:
                words = f"parallel_tree() got an unexpected keyword argument {option!r}"
                raise TypeError(f"{words}{near(option, known, 1)}")
        full = self._new(name, "the name of a tree")
        core, schema = self.file._begin("parallel", full, branch_types, title, **options)
        tree = ParallelTree(core, schema, full)
        self.file._take(tree)
        return tree

    def mkrntuple(
        self,
        name: str,
        field_types: Any,
        description: str = "",
        *,
        compression: Any = "file",
        cluster_bytes: int | str | None = None,
        page_bytes: int | str | None = None,
    ) -> WritableNTuple:
        """Begins an RNTuple; :meth:`WritableNTuple.extend` fills it.

        ``field_types`` gives each field a NumPy or Awkward type (``"float32"``, ``"string"``, ``"?int32"``,
        ``"var * {pt: float32, n: int32}"``) or a dataclass, or is a dataclass, whose members are the fields,
        or the form of an Awkward Array of records, or is data, which are the first entries. Dataclasses are
        those that :meth:`mktree` takes. The compression is the file's, and ROOT's for RNTuples (``"zstd:5"``)
        where the file was made without one; a mapping from names or globs of fields to settings is allowed as
        for :meth:`mktree`. Clusters hold ``cluster_bytes`` compressed bytes (128 MiB), pages ``page_bytes``
        bytes of values (1 MiB), as ROOT has it.

        >>> import io, sapwood
        >>> with sapwood.recreate(memory := io.BytesIO()) as file:
        ...     ntuple = file.mkrntuple("events", {"x": [1.5, 2.5], "tags": [["a"], []]})
        ...     ntuple.extend({"x": [3.5], "tags": [["b", "c"]]})
        >>> sapwood.open(memory)["events"].arrays().tolist()[2]
        {'x': 3.5, 'tags': ['b', 'c']}
        >>> import dataclasses
        >>> @dataclasses.dataclass
        ... class Hit:
        ...     x: float
        ...     adc: int
        >>> with sapwood.recreate(memory := io.BytesIO()) as file:
        ...     file.mkrntuple("hits", Hit).extend([Hit(0.5, 3), Hit(1.5, 4)])
        >>> list(sapwood.open(memory)["hits"].objects(Hit))
        [Hit(x=0.5, adc=3), Hit(x=1.5, adc=4)]
        """
        full = self._new(name, "the name of an RNTuple")
        options = (description, compression, cluster_bytes, page_bytes)
        return writable_ntuple.begin(self.file, full, of_form(field_types), *options)

    def parallel_rntuple(
        self,
        name: str,
        field_types: Any,
        description: str = "",
        *,
        compression: Any = "file",
        cluster_bytes: int | str | None = None,
        page_bytes: int | str | None = None,
    ) -> ParallelNTuple:
        """Begins an RNTuple that many threads fill, each with a :meth:`~ParallelNTuple.context` of its own,
        which compresses its own clusters. The arguments are those of :meth:`mkrntuple`, but for data; a
        cluster is kept in memory for each thread.

        >>> import io, sapwood
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> def work(start):
        ...     with ntuple.context() as context:
        ...         context.extend({"x": range(start, start + 100)})
        >>> memory = io.BytesIO()
        >>> with sapwood.recreate(memory) as file:
        ...     ntuple = file.parallel_rntuple("events", {"x": "i4"})
        ...     with ThreadPoolExecutor(4) as pool:
        ...         _ = list(pool.map(work, range(0, 1000, 100)))
        >>> sorted(sapwood.open(memory)["events/x"].array().tolist()) == list(range(1000))
        True
        """
        full = self._new(name, "the name of an RNTuple")
        options = (description, compression, cluster_bytes, page_bytes)
        return writable_ntuple.begin_parallel(self.file, full, of_form(field_types), *options)

    def __setitem__(self, name: str, value: Any) -> None:
        """Writes a value: histograms of NumPy, boost-histogram, hist and all others of the UHI protocol,
        objects that were read or that :mod:`sapwood.objects` made, text as ``TObjString``, lists of objects
        as ``TList``; whatever is a table as a tree. Of a DataFrame the index is a branch, too, ``index``
        where it has no name, as uproot has it.

        An object that has a name gets that of its key. ``fEntries`` of a histogram is the number of fills
        where its ``metadata`` is a mapping that has it (``hist.Hist(..., metadata={"fEntries": 5})``); else
        the sum of its values, or of weighted ones the effective number, the squared sum of weights over the
        sum of their squares.

        >>> import io, numpy as np, sapwood
        >>> memory, copy = io.BytesIO(), io.BytesIO()
        >>> with sapwood.recreate(memory) as file:
        ...     file["h"] = np.histogram([1, 2, 2, 7], bins=4, range=(0, 4))
        >>> with sapwood.recreate(copy) as file:
        ...     file["folder/copy"] = sapwood.open(memory)["h"]
        >>> sapwood.open(copy)["folder/copy"].to_numpy()[0].tolist()
        [0.0, 1.0, 2.0, 0.0]
        """
        full = self._new(name)
        types = of_form(value)
        if types is not value:  # a form: no entries
            (self.mkrntuple if self.file._format == "rntuple" else self.mktree)(name, types).close()
            return
        draft = as_object(value)
        if draft is not None:
            if draft.has_member("fName") and (
                draft.has_member("fTitle") or draft.classname.startswith("TParameter<")
            ):
                draft = draft.replaced("fName", full.rsplit("/", 1)[-1])
            self.file._make_way(full)
            self.file._core.write(full, draft)
            self.file._forget_tree(full)
            return
        parts = tables.batches(value)
        found = tables.table(next(parts))
        if found is None:
            raise errors.WrongTypeError(
                f"{lossless.shown(value)} cannot be written: a file takes tables ({tables.TABLES}), text, histograms, objects that "
                "were read, lists of objects, and what sapwood.objects makes, like parameter for a number"
            )
        if self.file._format == "rntuple":
            with self.mkrntuple(name, found) as ntuple:
                for part in parts:
                    ntuple.extend(part)
            return
        columns = tables.check_columns(full, found)
        schema = branch_schema.schema_of(columns, branch_schema.counter_name, branch_schema.field_name)
        _, own = self.file._compressions("file", names_of(schema))
        specs = [spec.for_engine(own.get(spec.name)) for spec in schema.specs]
        self.file._make_way(full)
        core = self.file._core.tree("whole", full, specs, "", self.file._own_compression)
        tree = WritableTree(core, schema, full, self.file)
        try:
            for part in chain([columns], parts):
                tree.extend(part)
            tree.rest()
        except BaseException:
            core.discard()  # what had the name before has it again
            raise
        self.file._take(tree)

    def append(
        self,
        name: str,
        *,
        compression: Any = "tree",
        auto_save: int | str = -300_000_000,
        cluster_bytes: int | str | None = None,
        basket_bytes: int | str | None = None,
    ) -> Any:
        """Opens a tree or an RNTuple that was in the file before, whatever wrote it, to add entries to it: as a
        :class:`WritableTree` or a :class:`WritableNTuple`, with a value for each of its branches or fields.

        What is there stays as it is; entries go on in clusters of the size that the last ones have. The
        options are those of :meth:`mktree`; the baskets of an RNTuple are its pages.

        >>> import os, sapwood, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "file.root")
        >>> with sapwood.recreate(path) as file:
        ...     file["tree"] = {"x": [1, 2, 3]}
        >>> with sapwood.update(path) as file:
        ...     with file.append("tree") as tree:
        ...         tree.extend({"x": [4, 5]})
        >>> sapwood.open(path)["tree/x"].array().tolist()
        [1, 2, 3, 4, 5]

        Raises :class:`sapwood.errors.UnsupportedError` naming the branch or field whose like cannot be
        written yet.
        """
        full = self._full(name, "the name of a tree")
        if name in self and self.file._core.key(full).classname == "ROOT::RNTuple":
            sizes = (cluster_bytes, basket_bytes)
            return writable_ntuple.append(self.file, full, compression, every(auto_save), *sizes)
        core, schema = self.file._append(full, compression, auto_save, cluster_bytes, basket_bytes)
        tree = WritableTree(core, schema, full, self.file, self.file._last_saved()[full].num_entries)
        self.file._take(tree)
        return tree

    def add_branches(self, name: str, data: Any, *, compression: Any = "file") -> None:
        """Adds branches to a tree, or fields to an RNTuple, that was in the file before, whatever wrote it: a
        value for each entry. All else in it stays as it was. ``data`` and ``compression`` are those of
        :meth:`mktree` and its ``extend``.

        >>> import os, sapwood, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "file.root")
        >>> with sapwood.recreate(path) as file:
        ...     file["tree"] = {"x": [1, 2, 3]}
        >>> with sapwood.update(path) as file:
        ...     file.add_branches("tree", {"weight": [0.5, 1.0, 0.25]})
        >>> sapwood.open(path)["tree"].keys()
        ['x', 'weight']

        Raises :class:`sapwood.errors.MismatchError` if the number of values is not that of the entries.
        """
        full = self._full(name, "the name of a tree")
        if name in self and self.file._core.key(full).classname == "ROOT::RNTuple":
            return writable_ntuple.fill_fields(self.file, full, data, compression)
        given = tables.columns_of(data, ())
        columns = {column: tables.as_column(column, values) for column, values in given.items()}
        schema = branch_schema.schema_of(columns, branch_schema.counter_name, branch_schema.field_name)
        setting, own = self.file._compressions(compression, names_of(schema))
        specs = [spec.for_engine(own.get(spec.name)) for spec in schema.specs]
        core = self.file._core.tree("branches", full, specs, "", setting)
        with WritableTree(core, schema, full) as tree:
            tree.extend(columns)

    def update(self, pairs: Any = (), /, **more: Any) -> None:
        """Writes several values: a mapping, or pairs of names and values.

        >>> import io, sapwood
        >>> with sapwood.recreate(io.BytesIO()) as file:
        ...     file.update({"a": "one"}, b="two")
        ...     file.keys()
        ['a;1', 'b;1']
        """
        for name, value in [*(pairs.items() if hasattr(pairs, "items") else pairs), *more.items()]:
            self[name] = value

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<WritableDirectory {self.object_path!r} of {self.file_path or 'memory'!r}>"
