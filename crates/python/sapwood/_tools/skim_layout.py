"""The branches of a skim: as they are in the tree that is read, where its values are taken as they are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from sapwood._tree.branch import Branch
from sapwood._tree.ntuple import Field
from sapwood._write import branch_schema, branch_types
from sapwood.errors import MismatchError, UnsupportedError


class Layout:
    """How columns are stored: vectors stay vectors, and lists that shared a counter share it."""

    def __init__(self, source: Any, columns: Mapping[str, str]) -> None:
        """``columns`` are names and what is read for each: a branch of ``source``, or an expression."""
        self._branches = {name: source._find(text) for name, text in columns.items()}
        self._counters: dict[str, str] = {}
        self._counting: dict[str, Any] = {}
        for name, branch in self._branches.items():
            counter = None if branch is None else branch.count_branch
            if counter is None:
                continue
            given = self._branches.get(counter.name, counter) if counter.name in columns else counter
            # A new column may have the name of what counts in the tree that is read.
            if given is not None and given.name == counter.name:
                self._counters[name] = counter.name
                self._counting[counter.name] = counter
        self._columns = columns

    def counter(self, name: str) -> str:
        """The name of what counts the lists of a column."""
        return self._counters.get(name) or branch_schema.counter_name(name)

    def types(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The type of each column."""
        return {
            name: self._vector(name) or self._as_stored(name, _type(_short(name, column)))
            for name, column in values.items()
        }

    def titles(self) -> dict[str, str]:
        """Titles other than the names and types of leaves, which each new branch gets by default."""
        found = {}
        branches = {**self._branches, **self._counting}
        for name, branch in branches.items():
            if not isinstance(branch, Branch) or not _takes_title(branch):
                continue
            if isinstance(branch, Field):
                # Without a description the new branch has the title that branches have by default.
                found.update({name: branch.title} if branch.title else {})
                continue
            leaves = [leaf[0] for leaf in branch._row["leaves"]]
            default_titles = {branch.name, *(leaf[2] for leaf in branch._row["leaves"])}
            # Anything else may follow the slash, such as a unit.
            typed = re.sub(r"(\[[^:/]*\])?/[A-Za-z](\[[^\]:]*\])?(?=:|$)", "", branch.title)
            if typed.partition("[")[0].split(":") != leaves and branch.title not in default_titles:
                found[name] = branch.title
        return found

    def _as_stored(self, name: str, kind: Any) -> Any:
        """The type of a column, as the branch that it is taken from stores it: values alone do not distinguish packed numbers
        from others, nor ``std::string`` from ``char*``, nor leaves from records."""
        branch = self._branches.get(name)
        if branch is None:
            return kind
        if branch.typename == "std::string":
            return branch_types.Objects(("text",))
        leaves = branch._row["leaves"]
        classes = {leaf[1] for leaf in leaves}
        if len(leaves) == 1 and classes <= {"TLeafD32", "TLeafF16"}:
            # The title of a leaf has the letter of its type only next to a range.
            _, slash, stored = leaves[0][2].partition("/")
            return branch_types.Packed(kind, stored[1:] if slash else "")
        if classes == {"TLeafElement"} and (packing := _packing(branch)) is not None:
            return branch_types.Packed(kind, packing)
        if len(leaves) > 1 and branch.interpretation.kind[0] == "record":
            return _leaves(branch.interpretation.kind) or kind
        return kind

    def stored(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """What is given to the tree: lists without what counts them, for a cut may have left out items."""
        import awkward as ak

        counts = set(self._counters.values())
        for name, counter in self._counters.items():
            if counter in values and not ak.all(ak.num(values[name]) == values[counter]):
                raise MismatchError(
                    f"{counter!r} counts the lists of {name!r} in the first file, and not in a later one: give it "
                    "another name, in a mapping of columns"
                )
        return {name: _short(name, column) for name, column in values.items() if name not in counts}

    def _vector(self, name: str) -> str | None:
        """The type of a column that is a ``std::vector``, if one like it can be written."""
        branch = self._branches.get(name)
        word = "" if branch is None else branch.typename.removeprefix("std::")
        if not word.startswith("vector<"):
            return None
        try:
            branch_types.vector(name, word)
        except UnsupportedError:
            return None
        return word


def _type(column: Any) -> Any:
    import awkward as ak

    if isinstance(column, ak.Array):
        return ak.type(column).content
    return np.dtype((column.dtype, column.shape[1:]))


def _packing(branch: Branch) -> str | None:
    """The range of a packed member of an object, empty without one; ``None`` for other members."""
    word = branch.typename.partition("[")[0]
    if word not in ("Double32_t", "Float16_t") or branch.streamer is None:
        return None
    elements = branch.streamer.elements
    place = branch._row["element_id"]
    if not 0 <= place < len(elements) or elements[place].typename != word:
        return None
    title = elements[place].title
    return title[: title.find("]") + 1] if title.startswith("[") else ""


def _takes_title(branch: Branch) -> bool:
    """Whether a branch becomes one whose title can be chosen: not objects, which have that of their class, nor records,
    of which each member becomes a branch."""
    kind = branch.interpretation.kind
    if kind[0] == "record":
        # Records of RNTuples become a branch for each member.
        return not isinstance(branch, Field) and _leaves(kind) is not None
    while kind[0] in ("list", "fixed"):
        kind = kind[-1]
    return kind[0] in ("number", "text") and branch.typename != "std::string"


def _leaves(record: tuple[Any, ...]) -> branch_types.Leaves | None:
    """A record of numbers and arrays of them as a list of leaves; ``None`` for other records."""
    found = []
    for name, _, kind in record[2]:
        extents = []
        while kind[0] == "fixed":
            extents.append(int(kind[1]))
            kind = kind[-1]
        if kind[0] != "number":
            return None
        found.append((name, str(kind[2]), tuple(extents)))
    return branch_types.Leaves(tuple(found))


def _short(name: str, column: Any) -> Any:
    """A column of records with the names of their members: a split collection has those of its branches, in
    which its own name and the extents of arrays stand, too."""
    import awkward as ak

    def change(layout: Any, **_: Any) -> Any:
        if not layout.is_record or layout.is_tuple:
            return None
        fields = [one.removeprefix(f"{name}.").partition("[")[0] for one in layout.fields]
        if fields == layout.fields or len(set(fields)) < len(fields):
            return layout
        return ak.contents.RecordArray(
            layout.contents, fields, length=layout.length, parameters=layout.parameters
        )

    return ak.transform(change, column) if isinstance(column, ak.Array) else column


__all__ = ["Layout"]
