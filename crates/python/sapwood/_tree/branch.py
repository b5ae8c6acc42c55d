"""Branches of a tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sapwood import interpretation
from sapwood._read import reading, stored_lists, uproot_words
from sapwood._read.branches import HasBranches
from sapwood._read.compat_kwargs import Foreign, ignore
from sapwood._tree.basket import Basket, BasketKey
from sapwood.compression import Compression, or_none
from sapwood.errors import SapwoodError, UnsupportedError
from sapwood.interpretation import AsJagged, Grouped, InPlace, Interpretation, Unknown
from sapwood.models.entry_list import as_numbers

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from sapwood._file.file import File
    from sapwood._tree.tree import Tree
    from sapwood.model import Model

#: Leaves of ``Double32_t`` and ``Float16_t``, whose titles have the range.
_PACKED = ("TLeafD32", "TLeafF16")


class Branch(HasBranches):
    """A branch of a tree: a column, or a group of columns; a mapping from names to the branches below it.

    It is made when it is asked for; two of the same branch are equal.
    """

    def __init__(self, tree: Tree, id: int, name: str) -> None:
        self._tree = tree
        self._id: int = id
        self.name: str = name
        """Its name (``fName``)."""

    @property
    def _below(self) -> Sequence[int]:
        return self._tree._outline.below[self._id]

    @property
    def _parent(self) -> Branch | None:
        above = self._tree._outline.above[self._id]
        return None if above is None else self._tree._branch(above)

    @property
    def _row(self) -> dict[str, Any]:
        facts = self._tree._outline.facts
        if self._id not in facts:
            facts[self._id] = self._tree._core.branch(self._id)
        return facts[self._id]

    @property
    def tree(self) -> Tree:
        """The tree."""
        return self._tree

    @property
    def parent(self) -> Any:
        """The branch above, or the tree."""
        above = self._parent
        return above if above is not None else self._tree

    @property
    def top_level(self) -> bool:
        """Is it directly below the tree?"""
        return self._tree._outline.above[self._id] is None

    @property
    def index(self) -> int:
        """Its place among the branches of its parent."""
        found: int = self.parent._below.index(self._id)
        return found

    @property
    def path(self) -> str:
        """Names from the top-level branch down to this one, joined by ``/``."""
        return str(self._row["path"])

    @property
    def _path_in_tree(self) -> str:  # type: ignore[override]
        return self.path

    @property
    def cache_key(self) -> str:
        """Text that tells it from branches of all other files: the file's own number, and its place."""
        return f"{self.parent.cache_key}:{self.name}({self.index})"

    @property
    def object_path(self) -> str:
        """Its path in the file."""
        return f"{self._tree.object_path}:{self.path}"

    @property
    def title(self) -> str:
        """Its title (``fTitle``)."""
        return str(self._row["title"])

    @property
    def classname(self) -> str:
        """Class of its record: ``TBranch``, ``TBranchElement`` and so on."""
        return str(self._row["class"])

    @property
    def num_entries(self) -> int:
        """Its entries (``fEntries``)."""
        return int(self._row["entries"])

    @property
    def count_branch(self) -> Branch | None:
        """The branch that counts its items; ``None`` where there is none."""
        counter = self._row["count_branch"]
        return None if counter is None else self._tree._branch(counter)

    @property
    def file(self) -> File:
        """The file that it is in."""
        return self._tree.file

    @property
    def model(self) -> Model:
        """Its own record, with all members by ROOT's names."""
        found: Model = self.parent.member("fBranches")[self.index]
        return found

    # ---- type

    @property
    def interpretation(self) -> Interpretation:
        """What its bytes mean: an :class:`~sapwood.interpretation.Interpretation`.

        ``Grouped`` for a branch without values of its own, ``Unknown`` for one that cannot be decoded.
        """
        kinds = self._tree._outline.kinds
        if self._id not in kinds:
            kinds[self._id] = self._interpret()
        return kinds[self._id]

    def _interpret(self) -> Interpretation:
        if self._below:
            declared = self._declared_type()
            if declared != "TClonesArray" or not self._row["has_data"]:
                return Grouped(declared, {child.name: child.interpretation for child in self._children})
        try:
            name, kind = self._tree._core.interpretation(self._id)
        except SapwoodError as error:
            # Without the way that it took, which holds the tree.
            return Unknown(error.with_traceback(None))
        typename = interpretation.typename(name, kind)
        row = self._row
        # Of the class itself, and not of one that it is a member of.
        version = row["class_version"] if row["element_id"] == -1 else None
        leaves = row["leaves"]
        range = uproot_words.range_of(leaves[0][2]) if len(leaves) == 1 and leaves[0][1] in _PACKED else None
        return interpretation.interpret(typename, kind, range=range, version=version)

    def _declared_type(self) -> str | None:
        """The class that a branch with branches below it is declared with; ``None`` where nothing says it."""
        row = self._row
        if row["class_name"] is None:
            return None
        if self.top_level:
            return str(row["class_name"])
        if row["element_id"] is not None and row["element_id"] >= 0:
            versions = self._tree.file._known_streamers.get(row["class_name"], {})
            info = versions.get(row["class_version"]) or next(iter(versions.values()), None)
            if info is not None and row["element_id"] < len(info.elements):
                element = info.elements[row["element_id"]]
                return element.name if element.is_base else element.typename
        return str(row["clones_name"] or row["class_name"])

    @property
    def typename(self) -> str:
        """Type in C++ words; ``unknown`` where it cannot be decoded."""
        return self.interpretation.typename

    @property
    def streamer(self) -> Any:
        """What the file says of its class; ``None`` where it says nothing."""
        return self._tree.file.streamer_named(self._row["class_name"] or "")

    # ---- baskets

    @property
    def compression(self) -> Compression | None:
        """Setting that its baskets are written with; ``None`` for none."""
        return or_none(Compression.from_code(self._row["compress"]))

    @property
    def compressed_bytes(self) -> int:
        """Bytes of all its baskets in the file (``fZipBytes``)."""
        return int(self._row["zip_bytes"])

    @property
    def uncompressed_bytes(self) -> int:
        """Bytes of all its baskets once inflated (``fTotBytes``)."""
        return int(self._row["tot_bytes"])

    @property
    def compression_ratio(self) -> float:
        """Inflated bytes for one byte in the file; not a number for a branch without baskets."""
        return self.uncompressed_bytes / self.compressed_bytes if self.compressed_bytes else float("nan")

    @property
    def _baskets(self) -> list[tuple[int, int, int | None, int]]:
        if "basket_rows" not in self._row:
            self._row["basket_rows"] = self._tree._core.baskets(self._id)
        rows: list[tuple[int, int, int | None, int]] = self._row["basket_rows"]
        return rows

    @property
    def num_baskets(self) -> int:
        """Its baskets, those in the tree's own record included."""
        return len(self._baskets)

    @property
    def entry_offsets(self) -> list[int]:
        """First entry of each basket, and the end: one number more than baskets."""
        rows = self._baskets
        if not rows:
            return [0]
        return [row[0] for row in rows] + [rows[-1][1]]

    def basket_entry_start_stop(self, basket_num: int) -> tuple[int, int]:
        """First entry of a basket, and one past its last."""
        start, stop, _, _ = self._basket(basket_num)
        return start, stop

    def basket_compressed_bytes(self, basket_num: int) -> int:
        """Bytes of a basket's record in the file, key included; 0 for one in the tree's own record."""
        return self._basket(basket_num)[3]

    def basket_seek(self, basket_num: int) -> int | None:
        """Where a basket's record begins in the file; ``None`` for one in the tree's own record."""
        return self._basket(basket_num)[2]

    def basket(self, basket_num: int) -> Basket:
        """A basket as bytes, inflated and not decoded.

        Raises ``IndexError`` where there is none, and :class:`~sapwood.errors.UnsupportedError` where its
        writer left out the offsets.
        """
        self._basket(basket_num)
        if not hasattr(self._tree._core, "basket"):
            words = f"{self.path!r} is a field of an RNTuple, which has pages instead of baskets"
            raise UnsupportedError(words)
        return Basket(self, basket_num, self._tree._core.basket(self._id, basket_num))

    def basket_uncompressed_bytes(self, basket_num: int) -> int:
        """Bytes of a basket's record once inflated."""
        return self.basket(basket_num).uncompressed_bytes

    def basket_key(self, basket_num: int) -> BasketKey | None:
        """The key of a basket; ``None`` for one in the tree's own record."""
        return self.basket(basket_num).key

    def _basket(self, basket_num: int) -> tuple[int, int, int | None, int]:
        rows = self._baskets
        if not 0 <= basket_num < len(rows):
            raise IndexError(
                f"branch {self.name!r} has {len(rows)} baskets, so there is no basket {basket_num}"
            )
        return rows[basket_num]

    def entries_to_ranges_or_baskets(self, entry_start: int, entry_stop: int) -> list[int]:
        """Numbers of the baskets that hold entries of a range."""
        return [i for i, row in enumerate(self._baskets) if entry_start < row[1] and row[0] < entry_stop]

    # ---- values

    def array(
        self,
        interpretation: Any = None,
        entry_start: int | None = None,
        entry_stop: int | None = None,
        *,
        entries: Any = None,
        library: Any = "ak",
        progress: bool | None = None,
        ak_add_doc: bool | Mapping[str, str] = False,
        **others: Unpack[Foreign],
    ) -> Any:
        """Reads the branch for all its entries or some of them; of a group, an array of records.

        ``interpretation`` may be a NumPy type to look at the numbers with, of the same size, or
        ``branch.interpretation.inplace(array)`` to read into an array, or an :class:`~sapwood.AsJagged` for
        the bytes of a class that has its own Streamer. The rest is as
        in :meth:`~sapwood._read.branches.HasBranches.arrays`; ``library="np"`` gives one NumPy array, of
        objects where entries are no plain numbers.

        Shape: one row an entry. Raises :class:`~sapwood.errors.UnsupportedError` that says why it cannot be
        decoded.
        """
        ignore(others, "array")
        interpretation = AsJagged.of_uproot(interpretation)
        total = self.num_entries if not self._below else self._tree.num_entries
        selection = reading.select(total, entry_start, entry_stop, as_numbers(entries, self._tree))
        if isinstance(interpretation, AsJagged) and interpretation.stored is not None:
            return stored_lists.read(self, selection, library, interpretation)
        if isinstance(interpretation, InPlace):
            return interpretation.fill(reading.read_branch(self, selection, "np", progress))
        dtype = reading.dtype_of(interpretation)
        if dtype is not None:
            flat = reading.read_branch(self, selection, "np", progress)
            return reading.wrap(reading.view_as(self, flat, dtype), library, selection)
        return reading.read_branch(self, selection, library, progress, ak_add_doc)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        out = self.array(library="np")
        return out if dtype is None else out.astype(dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Branch) and (self._id, self._tree) == (other._id, other._tree)

    def __hash__(self) -> int:
        return hash((self._id, self._tree))

    def __repr__(self) -> str:
        if self._tree.file.closed:
            return f"<branch {self.name!r} of {self.file_path!r}, which is closed>"
        below = f" ({len(self)} subbranches)" if self._below else ""
        return f"<{self.classname} {self.name!r}{below} in {self._tree.name!r}>"

    def __reduce__(self) -> Any:
        return _reopen, (self._tree, self._id)


def _reopen(tree: Tree, id: int) -> Branch:
    return tree._branch(id)
