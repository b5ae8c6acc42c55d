"""Lists of entries (TEntryList, TEventList), and chains of trees (TChain), which are lists of files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sapwood._read.entry_ranges import BLOCK_ENTRIES
from sapwood.errors import MalformedError, MismatchError, UnsupportedError
from sapwood.model import Model

if TYPE_CHECKING:
    from sapwood._tree.tree import Tree

Entries = NDArray[np.int64]

Places = dict[tuple[str, str], list["EntryList"]]


class EntryList(Model):
    """TEntryList or TEventList: numbers of entries that passed a selection.
    ``tree.arrays(entries=file["list"])`` reads them."""

    @property
    def lists(self) -> list[EntryList]:
        """Lists for several trees, where it has some."""
        found = self.member("fLists", none_if_missing=True)
        return [] if found is None else list(found)

    @property
    def tree_name(self) -> str:
        """Name of the tree; empty where it is not known."""
        return str(self.member("fTreeName", none_if_missing=True) or "")

    @property
    def tree_file(self) -> str:
        """Path of the tree's file, as it was when the list was made; empty where it is not known."""
        return str(self.member("fFileName", none_if_missing=True) or "")

    def numbers(self) -> Entries:
        """The numbers, rising.

        Raises :class:`~sapwood.errors.MismatchError` for a list of several trees: see :meth:`numbers_of`.
        """
        if self.lists:
            raise MismatchError(
                f"the {self.classname} {self.name!r} is for {len(self.lists)} trees: {self._trees()}"
            )
        listed = self.member("fList", none_if_missing=True)
        if listed is not None:  # TEventList
            return np.asarray(listed, "int64")[: self._count("fN")]
        blocks = self.member("fBlocks", none_if_missing=True)
        parts = [_numbers(block) for block in blocks or []]
        found, first = np.empty(sum(map(len, parts)), "int64"), 0
        for place, part in enumerate(parts):
            np.add(part, place * BLOCK_ENTRIES, out=found[first : first + len(part)], dtype="int64")
            first += len(part)
        wanted = self._count("fN")
        if len(found) < wanted:
            raise MalformedError(
                f"the {self.classname} {self.name!r} has {len(found)} entries and says {wanted}"
            )
        return found

    def numbers_of(self, tree: Tree) -> Entries:
        """The numbers for a tree: of a list for several trees those of the one that has its name and the name
        of its file."""
        if self.lists:
            found = self.list_of(tree)
            if found is None:
                raise MismatchError(
                    f"the {self.classname} {self.name!r} has no list for the tree {tree.name!r} in "
                    f"{os.path.basename(tree.file_path)!r}: {self._trees()}"
                )
            return found.numbers_of(tree)
        numbers = self.numbers()
        # A block that lists what did not pass goes on behind the tree's end.
        return numbers[numbers < tree.num_entries] if len(numbers) > self._count("fN") else numbers

    @property
    def is_by_tree(self) -> bool:
        """Whether it says for which tree its numbers are."""
        return bool(self.lists or self.tree_name)

    def list_of(self, tree: Tree) -> EntryList | None:
        """The list for a tree, which has its name and the path or name of its file; itself where it is for
        this tree alone. ``None`` where there is none.

        Raises :class:`~sapwood.errors.MismatchError` where files of one name in several folders fit.
        """
        path = tree.file_path
        by_path, by_base = self._places()
        # ROOT names the tree of a chain's list by its path in the file.
        names = dict.fromkeys([tree.name, str(tree.object_path).partition(";")[0].strip("/")])
        found = [one for name in names for one in by_path.get((name, path), ())]
        found = found or [one for name in names for one in by_base.get((name, os.path.basename(path)), ())]
        if len(found) > 1:
            raise MismatchError(
                f"the {self.classname} {self.name!r} has {len(found)} lists for the tree {tree.name!r} in "
                f"{os.path.basename(path)!r}: {self._trees()}"
            )
        return found[0] if found else None

    def _places(self) -> tuple[Places, Places]:
        """The lists by the name of the tree, and the path or the name of the file."""
        known: tuple[Places, Places] | None = self.__dict__.get("_by_place")
        if known is None:
            known = {}, {}
            for one in self.lists or [self]:
                name, path = one.tree_name.strip("/"), one.tree_file
                known[0].setdefault((name, path), []).append(one)
                known[1].setdefault((name, os.path.basename(path)), []).append(one)
            self.__dict__["_by_place"] = known
        return known

    def _trees(self) -> str:
        return ", ".join(f"{one.tree_name!r} in {one.tree_file!r}" for one in self.lists[:5])

    def __len__(self) -> int:
        return self._count("fN")

    def __bool__(self) -> bool:
        return True

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        found = self.numbers()
        return found if dtype is None else found.astype(dtype)

    def _describe(self) -> str:
        return f"<{self.classname} {self.name!r} of {len(self)} entries>"


def as_numbers(entries: Any, tree: Tree) -> Any:
    """Entries of a list that was read as numbers for a tree; all else as it is."""
    return entries.numbers_of(tree) if isinstance(entries, EntryList) else entries


def _numbers(block: Model) -> NDArray[np.uint16]:
    """Numbers of a block, counted from its first entry: from bits, or from a list of those that passed, or
    did not."""
    words = np.asarray(block.member("fIndices"), "uint16")
    if not block.member("fType"):
        words = words[: BLOCK_ENTRIES // 16]
        return _places(np.unpackbits(words.astype("<u2").view("uint8"), bitorder="little"))
    listed = words[: block.member("fN")]
    if block.member("fPassing"):
        return listed[: block.member("fNPassed")]
    passed = np.ones(2**16, bool)
    passed[listed] = False
    return _places(passed[:BLOCK_ENTRIES])


def _places(passed: NDArray[Any]) -> NDArray[np.uint16]:
    # All blocks wait in two bytes for each entry until their numbers are known.
    return np.flatnonzero(passed).astype("uint16")


class Chain(Model):
    """TChain: the names of files and of the trees in them. What takes many files takes it, too
    (``sapwood.process(file["chain"], ...)``); its own methods read all of them as one tree."""

    @property
    def files(self) -> list[dict[str, str]]:
        """The files and the paths of their trees, as :func:`sapwood.iterate` takes them. Relative paths are
        tried as they are, as ROOT does, and then from the folder of the chain's own file."""
        from sapwood._read import friends

        own = str(getattr(self._identity, "file", None) or "")
        elements = [element for element in self.member("fFiles") if element is not None]
        return [{friends.place_of(own, one.title): one.name or self.name} for one in elements]

    @property
    def num_entries(self) -> int:
        """Entries of all files, which are opened to count them."""
        import sapwood

        return sum(entries for _, _, entries in sapwood.num_entries(self))

    def arrays(self, *arguments: Any, **options: Any) -> Any:
        """All files as one answer: :func:`sapwood.concatenate`."""
        import sapwood

        return sapwood.concatenate(self, *arguments, **options)

    def iterate(self, *arguments: Any, **options: Any) -> Any:
        """All files in steps: :func:`sapwood.iterate`."""
        import sapwood

        return sapwood.iterate(self, *arguments, **options)

    def draw(self, *arguments: Any, **options: Any) -> Any:
        """One histogram of all files: :func:`sapwood.draw`."""
        import sapwood

        return sapwood.draw(self, *arguments, **options)

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise UnsupportedError(
            f"the TChain {self.name!r} is a list of files: arrays(), iterate() and draw() read them as one tree, and "
            "branches are those of each file's own tree"
        )

    keys = values = items = rows = show = typenames = __getitem__ = __iter__ = __len__ = _refuse

    def __bool__(self) -> bool:
        return True
