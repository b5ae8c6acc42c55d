"""Branches that count lists: which lists share one, as the fields of an Arrow schema remember it, and the names
that they get in a new tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from sapwood._notices import warn
from sapwood._read.libraries import need
from sapwood._write import lossless
from sapwood._write.branch_schema import counter_name, field_name, schema_of
from sapwood.errors import MismatchError

#: The key in the metadata of a field with lists. Its value is the name of the branch that counted them.
KEY = b"sapwood:counter"


def remember(schema: Any, branches: Iterable[tuple[str, Any]]) -> Any:
    """A schema whose fields name the branches that count their lists. ``branches`` are columns, each with the
    branch that it is read from."""
    columns = {name: branch for name, branch in branches if branch is not None}
    names = {branch._id: name for name, branch in columns.items()}
    # Two branches may have one name. Lists of the second one are counted one by one.
    owners: dict[str, int] = {}
    fields = list(schema)
    for place, field in enumerate(fields):
        counter = columns[field.name].count_branch if field.name in columns else None
        if counter is None:
            continue
        name = names.get(counter._id, counter.name.rstrip("."))
        if owners.setdefault(name, counter._id) == counter._id:
            fields[place] = field.with_metadata({**(field.metadata or {}), KEY: name.encode()})
    return need("pyarrow", "sapwood.convert()").schema(fields, schema.metadata)


def remembered(schema: Any) -> dict[str, str]:
    """The branch that counted the lists of each column, if the schema came from a tree.

    >>> import pyarrow as pa
    >>> field = pa.field("Muon_pt", pa.list_(pa.float32()), metadata={"sapwood:counter": "nMuon"})
    >>> remembered(pa.schema([field]))
    {'Muon_pt': 'nMuon'}
    """
    found = {field.name: (field.metadata or {}).get(KEY, b"") for field in schema}
    # No branch of ROOT has a zero in its name.
    kept = {name: value for name, value in found.items() if value and b"\0" not in value}
    return {name: value.decode(errors="replace") for name, value in kept.items()}


class Counting(NamedTuple):
    """Facts about counters that earlier attempts to write the rows found."""

    columns: frozenset[str] = frozenset()
    """Columns with the name of a counter that hold other numbers."""
    apart: frozenset[str] = frozenset()
    """Counters that lists cannot share, since their lengths differ."""
    is_final: bool = False
    """Whether no list shares a counter, and no column is one."""


class CountersCollideError(MismatchError):
    """The rows do not fit the counters that were chosen."""

    def __init__(self, message: str, counting: Counting) -> None:
        super().__init__(message)
        self.counting = counting
        """All that is known for the next attempt."""


class Counters:
    """The counters of a new tree with these columns."""

    def __init__(self, columns: Mapping[str, Any], remembered: Mapping[str, str], counting: Counting) -> None:
        counted: dict[str, tuple[str, str | None]] = {}

        def note(name: str) -> str:
            counted.setdefault(name, ("", None))
            return f"{name}\x1f"  # a name that no branch has

        schema = schema_of(columns, note, field_name)
        for column, parts in schema.columns.items():
            for part, spec in parts:
                if spec.counter:
                    counted[spec.counter.removesuffix("\x1f")] = column, part
        self._places = counted
        self._names = {spec.name for spec in schema.specs}
        self._counting = counting
        self._lists: dict[str, list[str]] = {}
        self._former: dict[str, list[str]] = {}
        for name in counted:
            shared = remembered.get(name)
            if shared is not None and (counting.is_final or shared in counting.apart):
                self._former.setdefault(shared, []).append(name)
                shared = None
            self._lists.setdefault(shared or counter_name(name), []).append(name)
        self._kept = self._lists.keys() & set(remembered.values())
        self._chosen = self._choose()
        self._by_list = {
            name: self._chosen[wanted] for wanted, lists in self._lists.items() for name in lists
        }

    def _choose(self) -> dict[str, str]:
        """The name that each counter gets."""
        taken = self._names.union(self._lists)
        chosen: dict[str, str] = {}
        for wanted in self._lists:
            name = wanted
            if wanted in self._names and (self._counting.is_final or wanted in self._counting.columns):
                name = f"{wanted.removeprefix('n') or wanted}_n"
                while name in taken:
                    name += "_"
                taken.add(name)
            chosen[wanted] = name
        return chosen

    def of(self, name: str) -> str:
        """The counter of a list."""
        return self._by_list[name]

    def types(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """The types of the columns. Counters that are remembered keep theirs, others are an ``int``."""
        found: dict[str, Any] = {}
        for name, column in columns.items():
            if lossless.is_awkward(column):
                found[name] = lossless.awkward().type(column).content
            else:
                found[name] = np.dtype((column.dtype, column.shape[1:]))
            if self._chosen.get(name) == name and name not in self._kept and _numbers(column) is not None:
                found[name] = np.dtype("i4")
        return found

    def tell(self) -> None:
        """Warns of counters that are not those that one would expect."""
        for wanted, lists in self._former.items():
            if len(lists) > 1:
                words = f"no longer share the counter {wanted!r}, since lists that share one differ in length"
                warn(f"{_shown(lists)} {words}", stacklevel=2)
        for wanted, lists in self._lists.items():
            chosen = self._chosen[wanted]
            if chosen != wanted:
                other = f"since {wanted!r} is another column"
                warn(f"branch {chosen!r} counts the items of {_shown(lists)}, {other}", stacklevel=2)

    def refuted(self, columns: Mapping[str, Any]) -> Counting | None:
        """Facts that these rows add, against the choice; nothing if they agree with it."""
        apart, others = set(self._counting.apart), set(self._counting.columns)
        for wanted, lists in self._lists.items():
            lengths = [self._lengths(name, columns) for name in lists]
            if any(not np.array_equal(lengths[0], one) for one in lengths[1:]):
                apart.add(wanted)
            if wanted in self._names and self._chosen[wanted] == wanted:
                numbers = _numbers(columns[wanted]) if wanted in columns else None
                if numbers is None or not np.array_equal(numbers, lengths[0]):
                    others.add(wanted)
        found = Counting(frozenset(others), frozenset(apart))
        return None if self._counting.is_final or found == self._counting else found

    def _lengths(self, name: str, columns: Mapping[str, Any]) -> Any:
        ak = lossless.awkward()
        column, part = self._places[name]
        array = columns[column]
        for inner in part.split(".") if part else ():
            array = array[inner] if array.fields else array
        return np.asarray(ak.num(array, axis=1))


def _numbers(column: Any) -> Any:
    """A column of whole numbers; nothing if it is another."""
    ak = lossless.awkward()
    if lossless.is_awkward(column):
        if column.ndim != 1 or type(ak.type(column).content).__name__ != "NumpyType":
            return None
        column = ak.to_numpy(column)
    return column if column.ndim == 1 and column.dtype.kind in "iu" else None


def _shown(names: list[str]) -> str:
    """Some names, in words."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(map(repr, names[:3])) + more
