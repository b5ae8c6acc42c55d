"""The identity of tables and options: whether a file changed, and whether a state belongs to the same batches."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from sapwood.errors import IOError, MismatchError, NotFoundError, place

#: The parts of an identity, in words for errors.
_PARTS = {
    "files": "files: another file, another order, or a friend",
    "columns": (
        "columns: columns, target, weight, labels, aliases, pad, pad_value, dtype, matrix, scaling or missing"
    ),
    "options": (
        "options: size, shuffle, buffer, seed, cut, split, entries, lumi_mask, shares, rank, world, workers, "
        "drop_last or repeat"
    ),
    "groups": "groups of rows that are in memory together: another version of Sapwood divides them in another way",
}


class Table(NamedTuple):
    """A tree or an RNTuple, and what changes when it is written again."""

    key: str
    """The UUID of its file and its path: a copy of the file has them, too."""
    entries: int
    written: tuple[Any, ...]
    """The place of its key, and when it was written."""


def table_of(tree: Any) -> Table:
    """The identity of an open table."""
    path = str(tree.object_path).strip("/")
    try:
        key = tree.file.key(path)
        written: tuple[Any, ...] = (key.fSeekKey, key.fNbytes, str(key.date))
    except NotFoundError:
        written = ()  # a table that was recovered
    return Table(str(tree.cache_key), int(tree.num_entries), written)


def check_unchanged(tree: Any, known: Table) -> None:
    """Raises an error if a table was written again since its rows were counted."""
    now = table_of(tree)
    if now == known:
        return
    where = place(tree.file_path, tree.object_path)
    if now.entries != known.entries:
        what = f"the table has {now.entries} entries now, and had {known.entries} when the batches were made"
    else:
        what = "the table was written again after the batches were made"
    raise IOError(f"{what}: make them again{where}")


def fingerprint(parts: Mapping[str, Any]) -> dict[str, str]:
    """A hash of each part of an identity."""
    return {
        name: hashlib.sha256(json.dumps(part, sort_keys=True, default=str).encode()).hexdigest()[:16]
        for name, part in parts.items()
    }


def check_same(state: Any, known: Mapping[str, str]) -> None:
    """Raises an error unless a state belongs to batches with this fingerprint; it names the parts that differ."""
    of = state.get("of") if isinstance(state, Mapping) else None
    numbers = ("epoch", "batch", "taken")
    if not isinstance(of, Mapping) or set(of) != set(known) or not all(name in state for name in numbers):
        raise MismatchError(f"a state is what state_dict() of the same batches returned, not {state!r:.100}")
    differing = [name for name, value in known.items() if of[name] != value]
    if len(differing) > 1 and "groups" in differing:
        differing.remove("groups")  # they follow from the others
    if differing:
        words = "; and in their ".join(_PARTS[name] for name in differing)
        raise MismatchError(
            f"this state belongs to other batches, which differ in their {words}. "
            "Make the batches as they were, or use set_epoch(epoch, batch) to begin at a batch of these"
        )
