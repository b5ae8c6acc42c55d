"""Trees."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from sapwood import _core
from sapwood._file import session, sizes
from sapwood._read import drawing, lazy_frame, notebook, reading, scanning
from sapwood._read.branch_index import Outline
from sapwood._read.branches import HasBranches
from sapwood._read.drawings import Drawing, Drawings, by_name, drawings_of
from sapwood._read.filters import Filter
from sapwood._read.friends import Friend
from sapwood._read.libraries import need
from sapwood._read.rows import Rows
from sapwood._read.scanning import Scan
from sapwood._read.selection import select
from sapwood._tree.branch import Branch
from sapwood._tree.has_friends import HasFriends
from sapwood.errors import SapwoodError
from sapwood.model import Model
from sapwood.models.entry_list import as_numbers
from sapwood.perf import PerfRecord

if TYPE_CHECKING:
    from sapwood._file.directory import Directory
    from sapwood._file.file import File


class Tree(HasBranches, HasFriends):
    """A tree: a mapping from names to branches.

    Names of branches below others are found by their own name, or by a path like ``event/tracks``.
    """

    def __init__(self, core: Any, file: File, path: str, key: Any) -> None:
        self._engine = core
        self._root = file
        self._path = path
        self._key = key
        self._generation = session.generation()
        self._known: Outline | None = None
        self._aliases: dict[str, str] | None = None
        self._added: dict[str, Friend] = {}
        self._stored: dict[str, Friend] = {}
        #: Models of objects in its record, by their numbers, as long as they are in use.
        self._models: WeakValueDictionary[int, Model] = WeakValueDictionary()
        #: Columns that events of coffea looked at, in the range of entries before.
        self._looked_at: dict[str, None] = {}

    @property
    def _outline(self) -> Outline:
        if self._known is None:
            self._known = Outline(*self._core.outline())
        return self._known

    def _branch(self, id: int) -> Branch:
        # Branches hold their tree, and a tree none of its branches: there is no cycle of references, so that
        # a file is closed with the last of them.
        return Branch(self, id, self._outline.names[id])

    @property
    def _below(self) -> Sequence[int]:
        return self._outline.top

    @property
    def _core(self) -> Any:
        if self._engine is None or self._generation != session.generation():
            # The file was closed, and says so; or this is a child process, which has none of its parent's
            # threads.
            self._engine = self._root._engine().tree(self._key)
            self._generation = session.generation()
        return self._engine

    @property
    def tree(self) -> Tree:
        """The tree itself."""
        return self

    @property
    def file(self) -> File:
        """The file that it is in."""
        return self._root

    @property
    def name(self) -> str:
        """Its name (``fName``)."""
        return str(self._core.name)

    @property
    def title(self) -> str:
        """Its title (``fTitle``)."""
        return str(self._core.title)

    @property
    def classname(self) -> str:
        """Its class: ``TTree``, ``TNtuple`` and so on."""
        return str(self._core.classname)

    @property
    def object_path(self) -> str:
        """Its path in the file, with its cycle, or the path of the list that holds it and its number there."""
        return f"/{self._path}" if self._key.inside is not None else f"/{self._path};{self._key.cycle}"

    @property
    def parent(self) -> Directory:
        """The directory that it is in."""
        above = self._path.rpartition("/")[0]
        found: Directory = self._root[above] if above else self._root
        return found

    @property
    def compressed_bytes(self) -> int:
        """Bytes of all its baskets in the file (``fZipBytes``)."""
        return int(self.member("fZipBytes"))

    @property
    def uncompressed_bytes(self) -> int:
        """Bytes of all its baskets once inflated (``fTotBytes``)."""
        return int(self.member("fTotBytes"))

    @property
    def compression_ratio(self) -> float:
        """Inflated bytes for one byte in the file; not a number for a tree without baskets."""
        return self.uncompressed_bytes / self.compressed_bytes if self.compressed_bytes else float("nan")

    @property
    def num_entries(self) -> int:
        """Its entries (``fEntries``)."""
        return int(self._core.num_entries)

    @property
    def clusters(self) -> list[tuple[int, int]]:
        """Entry ranges that were written together: reading whole ones reads no basket twice."""
        return list(self._core.clusters)

    def rows(self, entries: Any = None, columns: Filter = None) -> Rows:
        """Its entries one at a time, in any order: each a mapping from names to values, which are read when
        they are looked at. Numbers and lists of them are NumPy's, all else is Awkward's.

        The branches need not be named: what is looked at once is fetched for whole clusters, and the next
        clusters while these are used (see :attr:`cache_size`). With ``entries``, numbers of entries in the
        order in which they will be read (events sorted by run and luminosity section, for instance), a mask
        with a truth value for each entry, or a ``TEntryList``, what is fetched follows that list: only
        baskets that hold one of them. Branches that ``columns`` names, by patterns if need be, are fetched
        together from the first entry on, so that over a slow link the first look at each costs no request of
        its own. Objects of local files are read several rows at once as long as rows come in order. Whole
        columns are much faster: :meth:`arrays` and :meth:`iterate`.

        >>> import io, sapwood
        >>> with sapwood.recreate(memory := io.BytesIO()) as file:
        ...     file["t"] = {"x": [1, 2, 3, 4], "y": [[1.0], [], [2.0, 3.0], []]}
        >>> rows = sapwood.open(memory)["t"].rows()
        >>> [int(row["x"]) for row in rows if len(row["y"]) > 0]
        [1, 3]
        >>> rows[-2]["y"].tolist()
        [2.0, 3.0]
        """
        return Rows(self, entries, columns)

    def _reader(self, entries: Any) -> Any:
        """What fetches ahead for single entries: as they come, or these in this order."""
        return _core.Reader(self._core, entries)

    def draw(
        self,
        expression: str,
        cut: str = "",
        *,
        bins: Any = None,
        profile: bool = False,
        aliases: Mapping[str, str] | None = None,
        entry_start: int | None = None,
        entry_stop: int | None = None,
        entries: Any = None,
        lumi_mask: Any = None,
        tree_weight: bool | float = True,
        library: str = "hist",
        progress: bool | None = None,
    ) -> Any:
        """A histogram of one to three expressions (``TTree::Draw``): ``"y:x"``, the last one along x.

        ``cut`` is an expression, too; a number is a weight. Bins stand behind the expression, as in ROOT
        (``"x>>h(100, 0, 10)"``), or in ``bins``: ``(bins, low, high)``, edges or an axis of hist, and a list
        of these for several axes, along x first. Without them they are those that ROOT would choose. Lists
        are looped over; where they differ in length, the shortest counts. With ``profile`` bins hold means of
        the first expression.

        Each entry has the weight of the tree (``TTree::SetWeight``), too; ``tree_weight=False`` leaves that
        out, and a number takes its place.

        ``library`` is ``"hist"`` (:class:`hist.Hist`), ``"root"`` (a ``TH1D`` and so on, with the methods of
        histograms that were read), or ``"np"`` (values and edges). Nothing but the histogram is kept in
        memory. ``lumi_mask`` is as in :meth:`arrays`. With ``">>name"`` alone the entries that pass are a
        ``TEntryList``, which ``entries=`` takes and files hold. ``progress`` is as in :meth:`arrays`.

        >>> import io, sapwood
        >>> with sapwood.recreate(memory := io.BytesIO()) as file:
        ...     file["t"] = {"x": [1.0, 2.0, 3.0, 40.0], "v": [[1, 2], [], [3], [4]]}
        >>> tree = sapwood.open(memory)["t"]
        >>> tree.draw("x>>h(4, 0, 4)", "x > 1", library="np")[0].tolist()
        [0.0, 0.0, 1.0, 1.0]
        """
        name = drawing.list_name(expression)
        if name is not None:
            passed = reading.passing(self, cut or "1", aliases)
            wanted = drawing.masked(self, entry_start, entry_stop, entries, lumi_mask)
            rows = select(self.num_entries, entry_start, entry_stop, as_numbers(wanted, self))
            chosen = passed.within(*rows.span) if rows.rows is None else passed.among(rows.rows)
            return drawing.as_model(drawing.passed_list(self, name, cut, chosen), name)
        drawing.check_library(library)
        found = drawing.fill(
            self,
            [Drawing(expression, cut, bins=bins, profile=profile)],
            aliases,
            entry_start,
            entry_stop,
            drawing.masked(self, entry_start, entry_stop, entries, lumi_mask),
            show=progress,
            tree_weight=tree_weight,
        )
        return drawing.as_library(found[0], library)

    def draw_many(
        self,
        drawings: Drawings,
        cut: str = "",
        *,
        weight: str | float = "",
        bins: Any = None,
        aliases: Mapping[str, str] | None = None,
        entry_start: int | None = None,
        entry_stop: int | None = None,
        entries: Any = None,
        lumi_mask: Any = None,
        tree_weight: bool | float = True,
        library: str = "hist",
        progress: bool | None = None,
    ) -> Any:
        """Histograms of many expressions, for which the tree is read once and what they share is computed once.
        ``drawings`` are expressions, pairs of an expression and a cut, or a :class:`sapwood.Drawing`, which
        has bins and a weight. From a mapping of names a dictionary is returned, else a list. ``cut`` and
        ``weight`` are common to all, ``bins`` are for drawings without them.

        >>> import io, sapwood
        >>> with sapwood.recreate(memory := io.BytesIO()) as file:
        ...     file["t"] = {"x": [1.0, 2.0, 3.0]}
        >>> tree = sapwood.open(memory)["t"]
        >>> [int(h.sum()) for h in tree.draw_many(["x", ("x", "x > 1")], bins=(5, 0, 5))]
        [3, 2]
        """
        drawing.check_library(library)
        entries = drawing.masked(self, entry_start, entry_stop, entries, lumi_mask)
        where = entry_start, entry_stop, entries
        wanted = drawings_of(drawings, cut, weight, bins)
        found = drawing.fill(self, wanted, aliases, *where, show=progress, tree_weight=tree_weight)
        return by_name(drawings, [drawing.as_library(one, library) for one in found])

    def points(
        self,
        expression: str,
        cut: str = "",
        *,
        aliases: Mapping[str, str] | None = None,
        entry_start: int | None = None,
        entry_stop: int | None = None,
        entries: Any = None,
        lumi_mask: Any = None,
        tree_weight: bool | float = True,
    ) -> tuple[list[Any], Any]:
        """The values that :meth:`draw` would fill, and their weights (``TTree::GetVal``, ``GetW``): an array
        for each expression, along x first. ``tree_weight`` is as in :meth:`draw`.

        >>> import io, sapwood
        >>> with sapwood.recreate(memory := io.BytesIO()) as file:
        ...     file["t"] = {"x": [1.0, 2.0], "v": [[1, 2], [3]]}
        >>> (x, v), weights = sapwood.open(memory)["t"].points("v:x", "v > 1")
        >>> x.tolist(), v.tolist()
        ([1.0, 2.0], [2.0, 3.0])
        """
        entries = drawing.masked(self, entry_start, entry_stop, entries, lumi_mask)
        return drawing.points(self, (expression, cut), aliases, entry_start, entry_stop, entries, tree_weight)

    def scan(
        self,
        expressions: Any = None,
        cut: str = "",
        *,
        limit: int | None = None,
        col: str = "",
        col_size: int = 9,
        precision: int = 9,
        aliases: Mapping[str, str] | None = None,
        entry_start: int | None = None,
        entry_stop: int | None = None,
        entries: Any = None,
        lumi_mask: Any = None,
    ) -> Scan:
        """The rows of some expressions (``TTree::Scan``), all or the first ``limit``: printed as ROOT prints
        them, a table in a notebook, and rows to iterate over. Tables show 25 unless there is a ``limit``.

        ``expressions`` are words like ``"x:sqrt(y)"``, or a list of expressions and patterns of names
        (``["Muon_*", "MET_pt"]``); all that a table can show where there are none. Each item of a list has a
        line; a cut on lists leaves out items. ``col`` has formats of the columns with colons between: size,
        precision and type (``"8.3f:#x::20"``); the others have ``col_size`` characters and ``precision``
        digits.

        >>> import io, sapwood
        >>> with sapwood.recreate(memory := io.BytesIO()) as file:
        ...     file["t"] = {"x": [1.0, 2.0], "v": [[1, 2], [3]]}
        >>> tree = sapwood.open(memory)["t"]
        >>> [row["v"] for row in tree.scan("x:v", "x > 1")]
        [3]
        >>> print(tree.scan("x", col="6.2f"))
        *********************
        *    Row   *      x *
        *********************
        *        0 *   1.00 *
        *        1 *   2.00 *
        *********************
        """
        named = scanning.expressions_of(self, expressions)
        query, cuts_items = scanning.query_of(self, named.values(), cut, aliases)
        chosen = drawing.masked(self, entry_start, entry_stop, entries, lumi_mask)
        selection = select(self.num_entries, entry_start, entry_stop, as_numbers(chosen, self))
        has_lists = scanning.has_lists(query)
        look = (col, col_size, precision)
        return Scan(
            list(named),
            lambda wanted: scanning.blocks(self, query, cuts_items, selection, wanted),
            has_lists,
            limit,
            look,
        )

    def passing(self, cut: str, *, aliases: Mapping[str, str] | None = None) -> Any:
        """Numbers of the entries for which a cut is true, ascending, as a NumPy array: an entry list, which
        ``entries=`` takes (``TTree::Draw(">>elist", cut)``). Only what the cut needs is read, step by step. A
        list passes if any of its items does.

        >>> import io, sapwood
        >>> with sapwood.recreate(memory := io.BytesIO()) as file:
        ...     file["t"] = {"x": [1.0, 2.0, 3.0], "v": [[1, 2], [3], []]}
        >>> tree = sapwood.open(memory)["t"]
        >>> tree.passing("x > 1 && Length$(v) > 0").tolist(), tree.passing("v > 1").tolist()
        ([1], [0, 1])
        """
        return reading.passing(self, cut, aliases).numbers()

    def find(self, /, **columns: int) -> Any:
        """Numbers of the entries whose columns have these whole numbers, as a NumPy array: one event by its
        run and number. A stored index of two of the columns (``BuildIndex``) has them, or the statistics of
        :func:`sapwood.index` rule out most entries. Otherwise the first column is read, and the others only
        if it fits.

        >>> import io, sapwood
        >>> with sapwood.recreate(memory := io.BytesIO()) as file:
        ...     file["t"] = {"run": [1, 1, 2], "event": [5, 6, 5]}
        >>> sapwood.open(memory)["t"].find(run=2, event=5).tolist()
        [2]
        """
        return _core.find(self._core, list(columns), [operator.index(number) for number in columns.values()])

    def decided(self, cut: str, *, aliases: Mapping[str, str] | None = None) -> Any:
        """How many entries cannot pass a cut (``none``), all pass (``all``) or have to be read (``look``) by the
        statistics of :func:`sapwood.index`; ``None`` without any. Nothing is read."""
        return reading.decided(self, cut, aliases)

    def lazy(self, *, filter_name: Filter = None, step_size: int | str = "64 MB") -> Any:
        """The tree as a :class:`polars.LazyFrame`: a query reads only the columns that it needs, only as many rows
        as it takes, and of columns that its filters do not need only the baskets in which rows are left.

        Steps of ``step_size``, of the columns in use once inflated, become frames one by one, so that memory
        is bounded with ``collect(engine="streaming")``. Columns are those branches that Arrow has a type for
        and that pass ``filter_name``. The file must stay open, and as it is: a query raises
        :class:`~sapwood.errors.IOError` if it was written meanwhile.

        >>> import io, sapwood, polars as pl
        >>> with sapwood.recreate(memory := io.BytesIO()) as file:
        ...     file["t"] = {"x": [1.0, 2.0, 3.0], "v": [[1], [], [2, 3]]}
        >>> events = sapwood.open(memory)["t"].lazy()
        >>> events.filter(pl.col("x") > 1).select("v").collect()["v"].to_list()
        [[], [2, 3]]
        """
        return lazy_frame.lazy(self, filter_name, step_size)

    def dataset(self, *, filter_name: Filter = None, step_size: int | str = "16 MB") -> Any:
        """The tree as a :class:`pyarrow.dataset.Dataset`, for DuckDB and all else that scans these: a scan reads
        the columns that it names, in batches of ``step_size``, and of columns that its filter does not need
        only the baskets in which rows are left. The rest is as in :meth:`lazy`.

        >>> import io, sapwood
        >>> with sapwood.recreate(memory := io.BytesIO()) as file:
        ...     file["t"] = {"x": [1.0, 2.0, 3.0], "n": [1, 2, 3]}
        >>> events = sapwood.open(memory)["t"].dataset()
        >>> import duckdb
        >>> duckdb.sql("SELECT sum(n) FROM events WHERE x > 1").fetchall()
        [(5,)]
        """
        need("pyarrow", "tree.dataset()")
        from sapwood._read import arrow_dataset

        return arrow_dataset.TreeDataset(self, filter_name, step_size)

    @property
    def perf(self) -> PerfRecord:
        """A record of what is read of it: ``with tree.perf as perf: ...``, then ``print(perf)``
        (``TTreePerfStats``). All trees of a file share one record; the figures are of this tree's baskets, or
        of the pages of this RNTuple."""
        return PerfRecord(self)

    @property
    def cache_size(self) -> int:
        """The most bytes of baskets in a window (``TTree::SetCacheSize``): 30 MB unless set otherwise, as
        bytes or in words like ``"100 MB"``; 0 switches it off. While one window is read the next is fetched.
        A change takes effect at once.
        """
        return int(self._core.cache_size)

    @cache_size.setter
    def cache_size(self, size: int | str) -> None:
        self._core.set_cache_size(sizes.as_bytes(size))

    @property
    def cache_figures(self) -> dict[str, int]:
        """What the cache did so far: baskets that were there when they were needed (``hits``) or not
        (``misses``), bytes that were fetched ahead, and those of them that were not used
        (``wasted_bytes``)."""
        hits, misses, fetched, wasted = self._core.cache_figures
        return {"hits": hits, "misses": misses, "fetched_bytes": fetched, "wasted_bytes": wasted}

    @property
    def aliases(self) -> dict[str, str]:
        """Names of expressions that the tree brings along (``fAliases``), and the expressions."""
        if self._aliases is None:
            self._aliases = dict(self._core.aliases)
        return self._aliases

    @property
    def cache_key(self) -> str:
        """Text that tells it from trees of all other files: the file's own number, and its path."""
        return f"{self.file.hex_uuid}:{self.object_path}"

    @property
    def model(self) -> Model:
        """The tree's own record, with all members by ROOT's names."""
        found: Model = Model.of(self._core.object)
        found._known = self._models
        return found

    def layout(self) -> dict[str, Any]:
        """Where its baskets and clusters are, from its metadata alone.

        ``branches`` has for each branch with baskets its ``path``, ``class``, ``type``, ``entries``,
        ``num_baskets`` (``embedded`` ones stand in the tree's record), ``zip_bytes`` and ``tot_bytes`` (after
        compression and before), ``min_bytes``, ``median_bytes`` and ``max_bytes`` of a stored basket,
        ``baskets_per_cluster``, how many are ``spanning`` clusters, and ``baskets``: first entry, one past
        the last, offset, bytes. ``clusters`` has for each its ``entries``, ``num_baskets``, ``zip_bytes``,
        the ``span`` of offsets, and its ``contiguity``: 1 where its baskets lie side by side. Of an RNTuple
        these are columns in place of branches, and pages in place of baskets.

        >>> import io, sapwood
        >>> memory = io.BytesIO()
        >>> with sapwood.recreate(memory) as file:
        ...     with file.mktree("tree", {"x": "f8"}, auto_flush=100) as tree:
        ...         tree.extend({"x": range(250)})
        >>> layout = sapwood.open(memory)["tree"].layout()
        >>> [cluster["entries"] for cluster in layout["clusters"]], layout["branches"][0]["num_baskets"]
        ([[0, 100], [100, 200], [200, 250]], 3)
        """
        found: dict[str, Any] = json.loads(_core.layout(self._core))
        return found

    def optimize_baskets(self, max_memory: int = 10_000_000, min_compression: float = 1.1) -> dict[str, Any]:
        """Sizes of baskets: what ROOT's ``TTree::OptimizeBaskets`` would set, beside what follows from each
        cluster's own rows.

        Nothing is changed. ``branches`` has for each branch ``now`` (its ``fBasketSize``), ``root`` (what
        ROOT sets, with so much memory for all baskets), ``ours`` (bytes before compression of its largest
        basket, where a cluster makes one of up to 512 KiB), and ``root_resets_compression`` (it packs less
        than ``min_compression``). ``now``, ``root`` and ``ours`` say what each comes to: ``requests`` and
        ``bytes`` of a full read, ``baskets``, ``overhead_bytes`` of their headers, and ``memory_bytes`` that
        a writer needs. ROOT's and ours are simulated over the tree's own clusters.

        >>> import io, sapwood
        >>> memory = io.BytesIO()
        >>> with sapwood.recreate(memory) as file:
        ...     file["tree"] = {"x": range(1000), "y": [0.5] * 1000}
        >>> sizes = sapwood.open(memory)["tree"].optimize_baskets()
        >>> [branch["path"] for branch in sizes["branches"]], sizes["ours"]["baskets"]
        (['x', 'y'], 2)
        """
        found: dict[str, Any] = json.loads(_core.basket_sizes(self._core, max_memory, min_compression))
        return found

    def __repr__(self) -> str:
        if self._root.closed:
            return f"<tree {self.object_path!r} of {self.file_path!r}, which is closed>"
        size = f"{len(self)} branches, {self.num_entries} entries"
        return f"<{self.classname} {self.name!r} ({size}) of {self.file_path!r}>"

    def _repr_html_(self) -> str:
        """The branches with their types and sizes, for notebooks."""
        if self._root.closed:
            return escape(repr(self))
        branches = self.branches
        rows = (
            (
                branch.name,
                _typename(branch),
                notebook.size(branch.uncompressed_bytes),
                notebook.size(branch.compressed_bytes),
            )
            for branch in branches
        )
        title = f"{self.classname} {self.name}: {self.num_entries} entries, {len(branches)} branches"
        return notebook.table(title, ("name", "type", "bytes", "compressed"), rows, len(branches))

    def __reduce__(self) -> Any:
        added = [(friend.name, friend.trees, friend.first, friend.index) for friend in self._added.values()]
        return _reopen, (self._root, self.object_path[1:], added, self._key.inside)


def _typename(branch: Branch) -> str:
    """The type of a branch; of one that cannot be read, why."""
    try:
        return branch.typename
    except SapwoodError as error:
        return f"({error})"


def _reopen(file: File, path: str, added: Iterable[Any] = (), inside: int | None = None) -> Tree:
    if inside is None:
        tree = file[path]
    else:
        path = path.removesuffix(f"#{inside}")
        key = file._engine().key(path)
        tree = file._tree_within(path.removesuffix(f";{key.cycle}"), key, inside)
    tree._added.update((one[0], Friend(*one)) for one in added)
    return tree
