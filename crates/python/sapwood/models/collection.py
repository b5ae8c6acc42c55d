"""Collections of objects: lists, arrays, maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sapwood.errors import near, not_found
from sapwood.model import Model


class Collection(Model, Sequence[Any]):
    """TList, TObjArray, TClonesArray and their kin: a sequence of objects; ``None`` for an empty place."""

    def _raw(self) -> list[Any]:
        found = self._find("items")
        items = found[0] if found is not None else []
        if isinstance(items, tuple) and items and items[0] == "map":
            items = items[1]
        return list(items)

    @property
    def members(self) -> dict[str, Any]:
        """Members of the class itself; the items are what the sequence holds."""
        return {name: self._of(value) for name, value in self._value.members.items() if name != "items"}

    def _items(self) -> list[Any]:
        return [self._of(item) for item in self._raw()]

    def __len__(self) -> int:
        return len(self._raw())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str):
            for item in self:
                if getattr(item, "name", None) == index:
                    return item
            names = [item.name for item in self if isinstance(item, Model)]
            raise not_found(f"the {self.classname} holds no object {index!r}{near(index, names)}")
        if isinstance(index, slice):
            return [self._of(item) for item in self._raw()[index]]
        return self._of(self._raw()[index])

    def __iter__(self) -> Iterator[Any]:
        return (self._of(item) for item in self._raw())

    def _describe(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        return f"<{self.classname}{name} of {len(self)} items>"

    __hash__ = object.__hash__


class RefArray(Collection):
    """TRefArray: numbers of objects that are elsewhere."""

    def _raw(self) -> list[Any]:
        for name in ("items", "refs", "fUIDs"):
            found = self._find(name)
            if found is not None:
                return list(found[0])
        return []


class Map(Model, Mapping[Any, Any]):
    """TMap: a mapping from objects to objects. Keys may be asked for by their names."""

    def _pairs(self) -> list[tuple[Any, Any]]:
        found = self._find("items")
        items = found[0] if found is not None else []
        if isinstance(items, tuple) and items and items[0] == "map":
            items = items[1]
        pairs = []
        for item in items:
            if isinstance(item, tuple):
                pairs.append((Model.of(item[0]), Model.of(item[1])))
            else:
                both = list(item.members.values())
                pairs.append((Model.of(both[0]), Model.of(both[1])))
        return pairs

    def __getitem__(self, key: Any) -> Any:
        for known, value in self._pairs():
            if known == key or (isinstance(key, str) and getattr(known, "name", None) == key):
                return value
        names = [str(known) for known, _ in self._pairs()]
        raise not_found(f"the TMap has no key {key!r}{near(str(key), names)}")

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self._pairs())

    def __len__(self) -> int:
        return len(self._pairs())

    def tolist(self) -> Any:
        """As a dictionary of plain values; keys are shown as text."""
        return {
            str(key) if isinstance(key, str) else repr(key): value.tolist()
            if isinstance(value, Model)
            else value
            for key, value in self._pairs()
        }

    def _describe(self) -> str:
        return f"<TMap of {len(self)} pairs>"

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Map) and self.tolist() == other.tolist())

    __hash__ = object.__hash__
