"""Branches that count lists: which lists share one, as the fields of an Arrow schema remember it, and the names
that they get in a new tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
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
    """Facts about counters that an earlier attempt to write the rows found."""

    columns: frozenset[str] = frozenset()
    """Columns with the name of a counter that hold other numbers."""
    apart: frozenset[str] = frozenset()
    """Lists that do not share the counter that they shared before, since their lengths differ."""


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
        self._remembered = remembered
        self._counting = counting
        self._lists = self._grouped(counting.apart)
        self._kept = self._lists.keys() & set(remembered.values())
        self._chosen = self._choose()
        self._by_list = {
            name: self._chosen[wanted] for wanted, lists in self._lists.items() for name in lists
        }
        own = {counter_name(name) for name in self._shared()}
        self._watches = bool(own & (self._names | self._lists.keys()))
        self._alike = Alike(self._classes())

    def _shared(self) -> list[str]:
        """The lists with a counter that is not their own."""
        return [
            name for wanted, lists in self._lists.items() for name in lists if counter_name(name) != wanted
        ]

    def _grouped(self, apart: Collection[str]) -> dict[str, list[str]]:
        """The counters, each with the lists that it counts."""
        groups: dict[str, list[str]] = {}
        for name in self._places:
            shared = None if name in apart else self._remembered.get(name)
            groups.setdefault(shared or counter_name(name), []).append(name)
        return groups

    def _classes(self) -> list[list[Member]]:
        """Lists that have the same lengths before any row is compared, and columns that hold them. If a list that may
        lose its counter could get another one that exists, all of them."""
        classes: list[list[Member]] = []
        for wanted, lists in self._lists.items():
            classes.append([Member(name, False) for name in lists])
            if wanted in self._names and self._chosen[wanted] == wanted:
                classes[-1].append(Member(wanted, True))
        if not self._watches:
            return classes
        columns = self._names & {counter_name(name) for name in self._places}
        others = {Member(name, True) for name in columns}.difference(*classes)
        return [[member for one in classes for member in one] + sorted(others)]

    def _choose(self) -> dict[str, str]:
        """The name that each counter gets."""
        taken = self._names.union(self._lists)
        chosen: dict[str, str] = {}
        for wanted in self._lists:
            name = wanted
            if wanted in self._names and wanted in self._counting.columns:
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
        """Warns once of all counters that are not those that one would expect."""
        former: dict[str, list[str]] = {}
        for name in self._places:
            if name in self._counting.apart and name in self._remembered:
                former.setdefault(self._remembered[name], []).append(name)
        parts = []
        for wanted, lists in former.items():
            verb = "no longer shares" if len(lists) == 1 else "no longer share"
            parts.append(f"{_shown(lists)} {verb} the counter {wanted!r}")
        words = [f"{'; '.join(parts)}, since lists that share one differ in length"] if parts else []
        for wanted, lists in self._lists.items():
            chosen = self._chosen[wanted]
            if chosen != wanted:
                other = f"since {wanted!r} is another column"
                words.append(f"branch {chosen!r} counts the items of {_shown(lists)}, {other}")
        if words:
            warn("; ".join(words), stacklevel=2)

    def watch(self, columns: Mapping[str, Any]) -> None:
        """Looks at rows that were written, if they may matter for lists that lose their counter later."""
        if self._watches:
            self.compare(columns)

    def compare(self, columns: Mapping[str, Any]) -> None:
        """Looks at the lengths of lists in these rows."""
        self._alike.split(lambda member: self._key(member, columns))

    def compared(self) -> set[str]:
        """The columns whose rows :meth:`compare` looks at."""
        members = self._alike.members()
        return {one.name if one.is_column else self._places[one.name][0] for one in members}

    def found(self) -> Counting:
        """All facts about the rows that were compared. Lists of the same lengths go on sharing a counter."""
        place = self._alike.places()
        apart, grows = set(self._counting.apart), True
        while grows:
            groups = self._grouped(apart)
            leaving = {name for of in groups.items() for name in _leaving(*of, place)}
            grows = bool(leaving)
            apart |= leaving
        others = {
            wanted
            for wanted, lists in groups.items()
            if wanted in self._names and place.get(Member(wanted, True)) != place[Member(lists[0], False)]
        }
        return Counting(self._counting.columns | others, frozenset(apart))

    def are_refuted(self, columns: Mapping[str, Any]) -> bool:
        """Whether these rows are against the choice of counters."""
        self.compare(columns)
        return self.found() != self._counting

    def _key(self, member: Member, columns: Mapping[str, Any]) -> Any:
        """Lengths of lists, or numbers of a column, which are equal if and only if the keys are."""
        if not member.is_column:
            lengths = self._lengths(member.name, columns)
        else:
            lengths = _numbers(columns[member.name]) if member.name in columns else None
        # A column of other values is like nothing else.
        return member if lengths is None else lengths.astype("i8").tobytes()

    def _lengths(self, name: str, columns: Mapping[str, Any]) -> Any:
        ak = lossless.awkward()
        column, part = self._places[name]
        array = columns[column]
        for inner in part.split(".") if part else ():
            array = array[inner] if array.fields else array
        return np.asarray(ak.num(array, axis=1))


class Member(NamedTuple):
    """A list, by its lengths, or a column that may count lists, by its numbers."""

    name: str
    is_column: bool


class Alike:
    """Lists and columns in classes that were equal in all rows so far.

    >>> alike = Alike([[Member(name, False) for name in "abc"]])
    >>> alike.split(lambda member: member.name == "b")
    >>> [member.name for member in alike.members()]
    ['a', 'c']
    """

    def __init__(self, classes: list[list[Member]]) -> None:
        self._classes = classes

    def split(self, key: Callable[[Member], Any]) -> None:
        """Keeps those together that have the same key."""
        parts: list[list[Member]] = []
        for one in self._classes:
            if len(one) == 1:
                parts.append(one)
                continue
            found: dict[Any, list[Member]] = {}
            for member in one:
                found.setdefault(key(member), []).append(member)
            parts += found.values()
        self._classes = parts

    def members(self) -> list[Member]:
        """All that are not alone."""
        return [member for one in self._classes if len(one) > 1 for member in one]

    def places(self) -> dict[Member, int]:
        """The number of each one's class."""
        return {member: number for number, one in enumerate(self._classes) for member in one}


def _leaving(wanted: str, lists: list[str], place: Mapping[Member, int]) -> list[str]:
    """The lists that cannot share a counter with the others, and get their own."""
    classes = Counter(place[Member(name, False)] for name in lists)
    if len(classes) == 1:
        return []
    own = next((name for name in lists if counter_name(name) == wanted), None)
    stays = place.get(Member(wanted, True)) if own is None else place[Member(own, False)]
    if stays not in classes:
        stays, size = classes.most_common(1)[0]
        stays = stays if size > 1 else None
    return [name for name in lists if place[Member(name, False)] != stays]


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
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return ", ".join(map(repr, names[:20])) + more
