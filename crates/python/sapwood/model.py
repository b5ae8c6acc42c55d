"""Objects by key: a class name and named members, with the words of uproot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sapwood import _core


class Model:
    """An object of a file.

    ``classname`` is its C++ class; :meth:`member` gives one member, :attr:`all_members` all of them with those of its
    bases, :attr:`members` only its own.
    """

    def __init__(self, value: Any, identity: Any = None) -> None:
        self._value = value
        self._identity = identity

    @staticmethod
    def of(found: Any) -> Any:
        """Wraps what the engine gives: objects and records become models, all else stays plain."""
        from sapwood.behavior import behaviors

        if isinstance(found, _core.Object):
            value = found.value()
            if isinstance(value, _core.Struct):
                cls = behaviors(found.classname)
                return cls(value, found)
            return plain(value)
        if isinstance(found, _core.Struct):
            return behaviors(found.classname)(found)
        return plain(found)

    @property
    def classname(self) -> str:
        """Name of the C++ class."""
        return self._identity.classname if self._identity is not None else self._value.classname

    @property
    def bases(self) -> list[Model]:
        """The base classes, each with its own members."""
        return [Model(base) for base in self._value.bases]

    @property
    def members(self) -> dict[str, Any]:
        """Members of the class itself, without those of its bases."""
        return {name: Model.of(value) for name, value in self._value.members.items()}

    @property
    def all_members(self) -> dict[str, Any]:
        """All members; where a name comes twice, the derived class wins."""
        out: dict[str, Any] = {}
        for base in self.bases:
            out.update(base.all_members)
        out.update(self.members)
        return out

    def has_member(self, name: str) -> bool:
        """Is there a member of that name, here or in a base?"""
        return self._find(name) is not None

    def member(self, name: str) -> Any:
        """One member, of the class or of a base.

        Raises ``KeyError`` naming the members that there are.
        """
        found = self._find(name)
        if found is None:
            raise KeyError(f"class {self.classname} has no member {name!r}; it has {sorted(self.all_members)}")
        return Model.of(found[0])

    def _find(self, name: str) -> tuple[Any] | None:
        def search(value: Any) -> tuple[Any] | None:
            if name in value.members:
                return (value.members[name],)
            for base in value.bases:
                found = search(base)
                if found is not None:
                    return found
            return None

        return search(self._value)

    def tolist(self) -> Any:
        """As plain dictionaries and lists. Each object is shown once: where another pointer leads to it again stands its
        class name in angle brackets."""
        return _plain(self, set())

    def __repr__(self) -> str:
        name = self._find("fName")
        shown = f" {name[0]!r}" if name is not None and isinstance(name[0], str) else ""
        return f"<{self.classname}{shown}>"

    def __str__(self) -> str:
        if self.classname == "TObjString":
            return str(self._find("fString")[0])
        return repr(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Model) or self._identity is None or other._identity is None:
            return self is other
        return self._identity is other._identity

    __hash__ = object.__hash__


class Collection(Model):
    """TList, TObjArray, TClonesArray and their kin: a sequence of objects."""

    def _items(self) -> list[Any]:
        found = self._find("items")
        items = found[0] if found is not None else []
        return items[1] if isinstance(items, tuple) and items and items[0] == "map" else items

    def __len__(self) -> int:
        return len(self._items())

    def __getitem__(self, index: int) -> Any:
        return Model.of(self._items()[index])

    def __iter__(self) -> Iterator[Any]:
        return (Model.of(item) for item in self._items())

    def tolist(self) -> Any:
        return _plain(self, set())


def plain(value: Any) -> Any:
    """Values that are no records: maps become dictionaries where their keys can be ones."""
    if isinstance(value, tuple) and len(value) == 2 and value[0] == "map":
        pairs = [(Model.of(key), Model.of(item)) for key, item in value[1]]
        try:
            return dict(pairs)
        except TypeError:
            return pairs
    if isinstance(value, tuple) and len(value) == 3 and value[0] == "opaque":
        return value[2]
    if isinstance(value, list):
        return [Model.of(item) for item in value]
    return value


def _plain(value: Any, shown: set[int]) -> Any:
    if isinstance(value, Model):
        if value._identity is not None:
            if value._identity.id in shown:
                return f"<{value.classname}>"
            shown.add(value._identity.id)
        if value.classname == "TObjString":
            return str(value)
        if isinstance(value, Collection):
            return [_plain(item, shown) for item in value]
        return {name: _plain(item, shown) for name, item in value.all_members.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {name: _plain(item, shown) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, shown) for item in value]
    return value
