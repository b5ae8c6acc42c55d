"""RNTuples: read as trees are, with fields in place of branches."""

from __future__ import annotations

from typing import Any

from sapwood import interpretation
from sapwood._file import session
from sapwood._read.libraries import need
from sapwood._tree.branch import Branch
from sapwood._tree.tree import Tree
from sapwood.errors import SapwoodError, UnsupportedError, near, not_found, place
from sapwood.interpretation import Interpretation, Unknown


class Field(Branch):
    """A field of an RNTuple: its values, and those of the members of its records and lists of records.

    ``ntuple["jets.pt"]`` is a list of numbers for each entry where ``jets`` is a list of records: only the
    columns of ``pt`` are read.
    """

    _separator = "."
    _is_whole = True

    @property
    def title(self) -> str:
        """Its description."""
        return str(self._row["title"])

    @property
    def classname(self) -> str:
        """``RField``."""
        return "RField"

    def _interpret(self) -> Interpretation:
        try:
            name, kind = self._tree._core.interpretation(self._id)
        except SapwoodError as error:
            # Without the way that it took, which holds the tree.
            return Unknown(error.with_traceback(None))
        return interpretation.interpret(interpretation.typename(name, kind), kind)

    @property
    def ntuple(self) -> NTuple:
        """The RNTuple that it is a field of."""
        found = self._tree
        assert isinstance(found, NTuple), "a field is one of an RNTuple"
        return found

    def to_akform(self) -> tuple[Any, list[str]]:
        """The form of a record with this field as an Awkward Array, and the path of the field in it."""
        forms = need("awkward", "to_akform()").forms
        form = self.array(entry_stop=0, library="ak").layout.form
        return forms.RecordForm([form], [self.name]), [self.name]

    @property
    def model(self) -> Any:
        """A field has no record of its own."""
        raise _no_record(self._tree)


class NTuple(Tree):
    """An RNTuple (``ROOT::RNTuple``): a mapping from names to fields.

    What reads a :class:`~sapwood.Tree` reads an RNTuple: ``arrays``, ``iterate``, cuts, ``show``.
    Members of records have paths with dots.
    """

    _separator = "."
    _is_whole = True

    @property
    def ntuple(self) -> NTuple:
        """Itself, as ``field.ntuple`` of its fields."""
        return self

    @property
    def _core(self) -> Any:
        if self._engine is None or self._generation != session.generation():
            self._engine = self._root._engine().ntuple(self._key)
            self._generation = session.generation()
        return self._engine

    def _branch(self, id: int) -> Branch:
        return Field(self, id, self._outline.names[id])

    @property
    def title(self) -> str:
        """Its description."""
        return str(self._core.title)

    @property
    def description(self) -> str:
        """What its writer said about it."""
        return self.title

    @property
    def format_version(self) -> tuple[int, int, int, int]:
        """Version of the format: epoch, major, minor, patch."""
        version: tuple[int, int, int, int] = tuple(self._core.origin[0])
        return version

    @property
    def writer(self) -> str:
        """The program that wrote it."""
        return str(self._core.origin[1])

    @property
    def attribute_sets(self) -> list[str]:
        """Names of the sets of attributes that belong to it; :meth:`attributes` opens one."""
        return list(self._core.attribute_sets)

    def attributes(self, name: str) -> AttributeSet:
        """A set of attributes: what its writer said about ranges of entries. It is read as an RNTuple is;
        each of its entries has ``_rangeStart``, ``_rangeLen`` and ``_userData``, a record.

        Raises :class:`~sapwood.errors.NotFoundError` where there is none of that name.
        """
        return AttributeSet(self, name)

    @property
    def friends(self) -> dict[str, tuple[str, str]]:
        """RNTuples have no friends of their own."""
        return {}

    @property
    def compressed_bytes(self) -> int:
        """Bytes of all pages in the file."""
        return sum(field.compressed_bytes for field in self.branches)

    @property
    def uncompressed_bytes(self) -> int:
        """Bytes of all pages once inflated."""
        return sum(field.uncompressed_bytes for field in self.branches)

    @property
    def model(self) -> Any:
        """An RNTuple has no record with members by ROOT's names but its anchor: see :meth:`member`."""
        raise _no_record(self)

    @property
    def members(self) -> dict[str, Any]:
        """Members of its anchor: the version, and where header and footer are."""
        return dict(self._core.anchor)

    all_members = members

    def member(self, name: str, all: bool = True, none_if_missing: bool = False) -> Any:
        """A member of its anchor by ROOT's name, like ``fSeekHeader``.

        Raises ``KeyError`` naming members that look alike, or gives ``None`` if that is wanted.
        """
        members = self.members
        if name not in members and not none_if_missing:
            raise not_found(f"an RNTuple has no member {name!r}{near(name, list(members))}")
        return members.get(name)

    def optimize_baskets(self, *_: Any, **__: Any) -> Any:
        """An RNTuple has no baskets: raises :class:`UnsupportedError`."""
        where = place(self.file_path, self.object_path)
        raise UnsupportedError(f"an RNTuple has pages of a fixed size, and no baskets{where}")

    def __repr__(self) -> str:
        if self._root.closed:
            return f"<RNTuple {self.object_path!r} of {self.file_path!r}, which is closed>"
        size = f"{len(self)} fields, {self.num_entries} entries"
        return f"<{self.classname} {self.name!r} ({size}) of {self.file_path!r}>"


class AttributeSet(NTuple):
    """What the writer of an RNTuple said about ranges of its entries: an RNTuple itself."""

    def __init__(self, of: NTuple, name: str) -> None:
        super().__init__(of._core.attribute_set(name), of._root, of._path, of._key)
        self._of = of
        self._set = name

    @property
    def _core(self) -> Any:
        if self._engine is None or self._generation != session.generation():
            self._engine = self._of._core.attribute_set(self._set)
            self._generation = session.generation()
        return self._engine

    @property
    def object_path(self) -> str:
        """Path of its RNTuple, and its name."""
        return f"{self._of.object_path}:{self._set}"

    def __reduce__(self) -> Any:
        return AttributeSet, (self._of, self._set)


def _no_record(ntuple: Tree) -> UnsupportedError:
    where = place(ntuple.file_path, ntuple.object_path)
    return UnsupportedError(f"an RNTuple has no record with members by ROOT's names{where}")
