"""What a NumPy array of objects holds: containers of C++ and objects of classes, with the methods that
uproot's have.

They are lists, tuples and dictionaries of Python. ``tolist()`` gives plain ones: sets as sets, maps as
dictionaries where their keys can be ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sapwood.errors import near, not_found


class STLVector(list[Any]):
    """A ``std::vector`` or another sequence of what is no number, or a fixed array in an object.

    >>> STLVector([STLVector(["a"]), STLVector()]).tolist()
    [['a'], []]
    """

    __slots__ = ()

    def tolist(self) -> Any:
        """As a plain list."""
        return [plain(item) for item in self]


class STLSet(STLVector):
    """A ``std::set``: a list of its items in their order.

    >>> STLSet([1, 2]).tolist(), STLSet([1, 2])[0]
    ({1, 2}, 1)
    >>> STLSet([1, 1]).tolist()
    [1, 1]
    """

    __slots__ = ()

    def tolist(self) -> Any:
        """As a set, or as a list where items come twice or are none that a set of Python holds."""
        items = [plain(item) for item in self]
        try:
            found = set(items)
        except TypeError:
            return items
        return found if len(found) == len(items) else items


class STLMultiSet(STLSet):
    """A ``std::multiset``: a list of its items in their order, equal ones, too.

    >>> STLMultiSet([1, 2]).tolist()
    [1, 2]
    """

    __slots__ = ()

    def tolist(self) -> Any:
        """As a plain list."""
        return STLVector.tolist(self)


class STLMap(STLVector):
    """A ``std::map``: a list of pairs in the order of the keys. A text as index is a key.

    >>> numbers = STLMap([("one", 1), ("two", 2)])
    >>> numbers["two"], numbers.keys().tolist(), numbers.tolist(), numbers[0]
    (2, ['one', 'two'], {'one': 1, 'two': 2}, ('one', 1))
    """

    __slots__ = ()

    def keys(self) -> np.ndarray[Any, Any]:
        """The keys as an array."""
        return _array([key for key, _ in self])

    def values(self) -> np.ndarray[Any, Any]:
        """The values as an array."""
        return _array([value for _, value in self])

    def items(self) -> Iterator[tuple[Any, Any]]:
        """The pairs."""
        return iter(self)

    def __getitem__(self, where: Any) -> Any:
        if not isinstance(where, str):
            return super().__getitem__(where)
        for key, value in self:
            if key == where:
                return value
        raise not_found(f"the map has no key {where!r}{near(where, [str(key) for key, _ in self])}")

    def tolist(self) -> Any:
        """As a dictionary, or as a list of pairs where keys come twice or are none that a dictionary
        holds."""
        pairs = [(plain(key), plain(value)) for key, value in self]
        try:
            found = dict(pairs)
        except TypeError:
            return pairs
        return found if len(found) == len(pairs) else pairs


class STLDict(dict[Any, Any]):
    """A map in an object: a dictionary, whose keys and values are arrays, as uproot has them.

    >>> channels = STLDict([(7, 1.5), (9, 2.5)])
    >>> channels[7], channels.keys().max(), channels.values().tolist()
    (1.5, np.int64(9), [1.5, 2.5])
    """

    def keys(self) -> Any:
        """The keys as an array."""
        return _array(list(self))

    def values(self) -> Any:
        """The values as an array."""
        return _array([self[key] for key in self])


class Record(dict[str, Any]):
    """An object of a class: its members by name, with those of its bases.

    >>> record = Record("Hit", {"x": 1.5, "ids": STLVector(["a"])})
    >>> record.member("x"), record.classname, record.tolist()
    (1.5, 'Hit', {'x': 1.5, 'ids': ['a']})
    """

    def __init__(self, classname: str, members: Any) -> None:
        super().__init__(members)
        self.classname = classname
        """Name of the C++ class."""

    def member(self, name: str, all: bool = True, none_if_missing: bool = False) -> Any:
        """One member; those of bases are among them, whatever ``all`` says.

        Raises ``KeyError`` naming members that look alike, or gives ``None`` if that is wanted.
        """
        if name not in self and not none_if_missing:
            raise not_found(f"class {self.classname} has no member {name!r}{near(name, self)}")
        return self.get(name)

    def has_member(self, name: str) -> bool:
        """Is there a member of that name?"""
        return name in self

    @property
    def members(self) -> dict[str, Any]:
        """The members, with those of bases."""
        return dict(self)

    all_members = members

    @property
    def member_names(self) -> list[str]:
        """Names of the members."""
        return list(self)

    @property
    def refs(self) -> np.ndarray[Any, Any]:
        """Of a TRefArray the numbers of the objects that it refers to."""
        return np.asarray(self.member("refs"))

    def tolist(self) -> dict[str, Any]:
        """As a plain dictionary."""
        return {name: plain(value) for name, value in self.items()}

    def __reduce__(self) -> Any:
        return Record, (self.classname, dict(self))


def plain(value: Any) -> Any:
    """A value without types of this package or of NumPy.

    >>> plain(STLVector([np.array([1, 2])]))
    [[1, 2]]
    """
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return value.tolist() if hasattr(value, "tolist") else value


def _array(items: list[Any]) -> np.ndarray[Any, Any]:
    """Numbers as numbers, all else as objects."""
    if items and all(isinstance(item, (bool, int, float, np.generic)) for item in items):
        return np.array(items)
    out = np.empty(len(items), object)
    for place, item in enumerate(items):
        out[place] = item
    return out


def wrap_elements(kind: tuple[Any, ...], values: list[Any]) -> list[Any]:
    """Values of a type, whose containers and objects become those of this module.

    >>> hit = ("record", "Hit", [("x", False, ("number", 0, "float64"))])
    >>> [type(one).__name__ for one in wrap_elements(("oneof", 1, [hit]), [{"x": 1.5}, None])]
    ['Record', 'NoneType']
    """
    sort = kind[0]
    if sort == "oneof" and len(kind[2]) == 1:
        # Of several types nothing here says which a value has.
        there = iter(wrap_elements(kind[2][0], [value for value in values if value is not None]))
        return [None if value is None else next(there) for value in values]
    if sort == "record" and kind[1] == "tuple":
        # A tuple of Python, as what it holds has no names in C++.
        of = [inner for _, inner in _members(kind)]
        parts = [wrap_elements(inner, [value[at] for value in values]) for at, inner in enumerate(of)]
        return list(zip(*parts)) if parts else values
    if sort == "record":
        fields = [(name, wrap_elements(of, [value[name] for value in values])) for name, of in _members(kind)]
        columns = [column for _, column in fields]
        names = [name for name, _ in fields]
        rows = zip(*columns) if columns else ((),) * len(values)
        return [Record(kind[1], zip(names, row)) for row in rows]
    if sort == "list" and kind[2] == "map":
        of = [inner for _, inner in _members(kind[3])]
        keys = _inside(of[0], [[key for key, _ in pairs] for pairs in values])
        items = _inside(of[1], [[item for _, item in pairs] for pairs in values])
        return [STLMap(zip(*both)) for both in zip(keys, items)]
    if sort == "list" and kind[2] in ("set", "multiset"):
        made = STLSet if kind[2] == "set" else STLMultiSet
        return [made(plain(items) if kind[3][0] == "number" else items) for items in _inside(kind[3], values)]
    if sort in ("list", "fixed"):
        lists = _inside(kind[-1], values)
        return [items if isinstance(items, np.ndarray) else STLVector(items) for items in lists]
    return values


def with_multisets(kind: tuple[Any, ...], typename: str) -> tuple[Any, ...]:
    """A type that tells multisets from sets, as its name in C++ does. What members of classes are, that name does
    not say.

    >>> with_multisets(("list", 0, "set", ("number", 1, "int32")), "std::multiset<std::int32_t>")
    ('list', 0, 'multiset', ('number', 1, 'int32'))
    """
    if "multiset<" not in typename:
        return kind
    name, _, rest = typename.partition("<")
    of = _arguments(rest.rpartition(">")[0])
    sort = kind[0]
    if sort == "record" and kind[1] in ("pair", "tuple") and len(of) == len(kind[2]):
        inner = [(*member[:2], with_multisets(member[2], one)) for member, one in zip(kind[2], of)]
        return (*kind[:2], inner)
    if sort == "oneof" and len(of) == len(kind[2]):
        return (*kind[:2], [with_multisets(one, its) for one, its in zip(kind[2], of)])
    if sort == "list" and kind[2] == "map" and len(of) > 1:
        return (*kind[:3], with_multisets(kind[3], f"std::pair<{of[0]},{of[1]}>"))
    if sort in ("list", "fixed") and of:
        means = ("multiset",) if name.endswith("multiset") else kind[2:-1]
        return (*kind[:2], *means, with_multisets(kind[-1], of[0]))
    return kind


def _arguments(text: str) -> list[str]:
    """What stands between the commas of a template, but for those of templates in it."""
    found, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter == "<") - (letter == ">")
        if letter == "," and depth == 0:
            found.append(text[start:at].strip())
            start = at + 1
    return [*found, text[start:].strip()]


def _inside(kind: tuple[Any, ...], lists: list[Any]) -> list[Any]:
    """Lists whose items are wrapped, all at once."""
    if kind[0] in ("number", "text", "opaque", "pointer"):
        return lists
    flat = wrap_elements(kind, [item for items in lists for item in items])
    ends = np.cumsum([len(items) for items in lists]).tolist()
    return [flat[start:stop] for start, stop in zip([0, *ends], ends)]


def _members(kind: tuple[Any, ...]) -> list[tuple[str, tuple[Any, ...]]]:
    from sapwood._read import layout

    return layout.members(kind)
