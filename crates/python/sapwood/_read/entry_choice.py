"""Entries of many files that were chosen before: by number, or by a list that ROOT or ``>>name`` made."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.errors import MismatchError
from sapwood.models.entry_list import EntryList

Rows = np.ndarray[Any, Any]


class EntryChoice:
    """Rising numbers of entries, counted over all files, or a list with a part for each tree."""

    def __init__(self, entries: Any) -> None:
        self._list = entries if isinstance(entries, EntryList) and entries.is_by_tree else None
        self._rows = _numbers(entries) if self._list is None else np.zeros(0, "int64")
        self._first_name: str | None = None
        self._is_used = False

    @classmethod
    def of(cls, entries: Any) -> EntryChoice | None:
        """Chosen entries; ``None`` for all."""
        return None if entries is None else cls(entries)

    def rows(self, tree: Any, offset: int, total: int) -> Rows:
        """Those of a tree with ``offset`` entries before it, by their numbers there."""
        if self._list is None:
            first, stop = np.searchsorted(self._rows, [offset, offset + total])
            return self._rows[first:stop] - offset
        self._first_name = self._first_name or str(tree.file_path)
        listed = self._list.list_of(tree)
        if listed is None:
            return np.zeros(0, "int64")
        self._is_used = True
        return listed.numbers_of(tree)

    def check_end(self, entries: int) -> None:
        """Refuses what was for other files, once all of them were seen: ``entries`` in all."""
        if self._list is not None and len(self._list) and not self._is_used and self._first_name is not None:
            raise MismatchError(
                f"the {self._list.classname} {self._list.name!r} has no list for any of these files, the first of "
                f"which is {self._first_name!r}"
            )
        if len(self._rows) and self._rows[-1] >= entries:
            raise MismatchError(f"entry {self._rows[-1]} is wanted, and all files together have {entries}")


def _numbers(entries: Any) -> Rows:
    found = np.asarray(entries)
    if found.ndim != 1 or (found.dtype.kind not in "iu" and len(found)):
        words = "entries of many files are whole numbers, or a TEntryList or TEventList that was read"
        raise TypeError(words)
    found = found.astype("int64")
    if len(found) and (found[0] < 0 or bool(np.any(found[1:] <= found[:-1]))):
        words = "entries of many files are rising numbers, each once: the files are read in their order"
        raise MismatchError(words)
    return found
