"""Objects by key: a class name and named members, with the words of uproot."""

from __future__ import annotations

import json
import re
from copy import copy
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from sapwood import _core
from sapwood._read.elements import STLDict
from sapwood._read.pickling import Held, hold
from sapwood.errors import MalformedError, SapwoodError, near, not_found


class DetachedFile(NamedTuple):
    """What an object knows of its file."""

    file_path: str
    """Path or URL of the file."""


class Model:
    """An object of a file.

    ``classname`` is its C++ class; :meth:`member` gives one member, :attr:`all_members` all of them with
    those of its bases, :attr:`members` only its own. Classes that can do more (histograms, graphs,
    collections) have a Python class of their own that derives from this one.
    """

    #: Models of objects of the same record, by their numbers, as long as they are in use.
    _known: WeakValueDictionary[int, Any] | None = None

    def __init__(self, value: Any, identity: Any = None) -> None:
        self._value = value
        self._identity = identity

    @staticmethod
    def of(found: Any) -> Any:
        """Wraps what the engine gives: objects and records become models, all else stays plain.

        Opens a tree. Turns an object that a pointer leads to and that cannot be decoded into a
        :class:`Damaged`.
        """
        if isinstance(found, (_core.Object, Held)):
            try:
                tree = found.tree() if isinstance(found, _core.Object) else None
                return Model.of_value(found.value(), found) if tree is None else tree
            except SapwoodError as error:
                return Damaged(error.with_traceback(None))
        return Model.of_value(found, None)

    @staticmethod
    def of_value(value: Any, identity: Any) -> Any:
        """Wraps a value; ``identity`` is the object that it is of, where it is one."""
        from sapwood.models.behavior import make_model

        return make_model(value, identity) if isinstance(value, _core.Struct) else plain(value)

    def _of(self, found: Any) -> Any:
        """As :meth:`of`, for what this object leads to: the same object is the same model each time, as long as
        that is in use."""
        if isinstance(found, list):
            return [self._of(item) for item in found]
        if not isinstance(found, (_core.Object, Held, _core.Struct)):
            return Model.of(found)
        if self._known is None:
            self._known = WeakValueDictionary()
            if self._identity is not None:
                self._known[self._identity.id] = self
        number = None if isinstance(found, _core.Struct) else found.id
        known = None if number is None else self._known.get(number)
        if known is not None:
            return known
        made = Model.of(found)
        if isinstance(made, Model):
            made._known = self._known
        if number is not None and _is_object(made):
            self._known[number] = made
        return made

    @property
    def classname(self) -> str:
        """Name of the C++ class."""
        return str(self._identity.classname if self._identity is not None else self._value.classname)

    @property
    def bases(self) -> list[Any]:
        """The base classes, each with its own members."""
        from sapwood.models.scalar import Numbers

        is_array = re.compile("TArray(C|S|I|L|L64|F|D)").fullmatch
        return [(Numbers if is_array(base.classname) else Model)(base) for base in self._value.bases]

    def base(self, classname: str) -> Any:
        """The base class of that name, however far up; ``None`` where there is none."""
        found = _base(self._value, classname)
        return None if found is None else Model(found)

    def is_instance(self, classname: str) -> bool:
        """Is it of that class, or of one that derives from it?"""
        return classname == self.classname or _base(self._value, classname) is not None

    @property
    def members(self) -> dict[str, Any]:
        """Members of the class itself, without those of its bases."""
        return {name: self._of(value) for name, value in self._value.members.items()}

    @property
    def all_members(self) -> dict[str, Any]:
        """All members; where a name comes twice, the derived class wins."""
        out: dict[str, Any] = {}
        for base in self.bases:
            out.update(base.all_members)
        out.update(self.members)
        return out

    @property
    def member_names(self) -> list[str]:
        """Names of all members, those of bases first."""
        return list(dict.fromkeys(_names(self._value)))

    def has_member(self, name: str, all: bool = True) -> bool:
        """Is there a member of that name, here or, with ``all``, in a base?"""
        return self._find(name) is not None if all else name in self.members

    def member(self, name: str, all: bool = True, none_if_missing: bool = False) -> Any:
        """One member, of the class or, with ``all``, of a base.

        Raises ``KeyError`` naming members that look alike, or gives ``None`` if that is wanted.
        """
        found = self._find(name) if all or name in self.members else None
        if found is None:
            if none_if_missing:
                return None
            raise not_found(f"class {self.classname} has no member {name!r}{near(name, self.member_names)}")
        return self._of(found[0])

    def _find(self, name: str) -> tuple[Any] | None:
        return find_member(self._value, name)

    @property
    def name(self) -> str:
        """Its name (``fName``); empty where its class has none."""
        found = self._find("fName")
        return found[0] if found is not None and isinstance(found[0], str) else ""

    @property
    def title(self) -> str:
        """Its title (``fTitle``); empty where its class has none."""
        found = self._find("fTitle")
        return found[0] if found is not None and isinstance(found[0], str) else ""

    @property
    def file(self) -> DetachedFile | None:
        """The file that it was read from, which may be closed; ``None`` for what is no object of its own."""
        name = getattr(self._identity, "file", None)
        return None if name is None else DetachedFile(name)

    def tolist(self) -> Any:
        """As plain dictionaries and lists. Each object is shown once: where another pointer leads to it again
        stands its class name in angle brackets."""
        return _plain(self, set())

    def tojson(self) -> Any:
        """As :meth:`tolist`, with what JSON has no word for as text: bytes, and numbers that are none."""
        return _for_json(self.tolist())

    def to_pyroot(self) -> Any:
        """As an object of PyROOT.

        Raises ``ModuleNotFoundError`` where ROOT is not installed.
        """
        from sapwood.pyroot import to_pyroot

        return to_pyroot(self)

    def to_writable(self) -> Model:
        """As an object that a file takes: it is one."""
        return self

    def _repr_json_(self) -> Any:
        return json.loads(json.dumps(self.tojson(), default=str))

    def _count(self, name: str) -> int:
        """A member that counts."""
        count = int(self.member(name))
        if count < 0:
            raise MalformedError(f"{name} of the {self.classname} {self.name!r} is {count}")
        return count

    def _describe(self) -> str:
        name = self.name
        return f"<{self.classname} {name!r}>" if name else f"<{self.classname}>"

    def __repr__(self) -> str:
        try:
            return self._describe()
        except Exception as error:
            # A repr never fails: it is what one looks at to find the damage.
            return f"<{self.classname} {self.name!r}, damaged: {error}>"

    def __reduce__(self) -> Any:
        return Model.of, (hold(self._value if self._identity is None else self._identity),)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Model) or type(self) is not type(other):
            return NotImplemented
        return self.classname == other.classname and _same(self.tolist(), other.tolist())

    __hash__ = object.__hash__


class Damaged(Model):
    """An object that another one points at and that cannot be decoded: :attr:`error` says why, and is raised
    when a member is asked for."""

    classname = ""
    name = ""
    title = ""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self._identity = None

    @property
    def _value(self) -> Any:
        raise copy(self.error)

    def tolist(self) -> str:
        return repr(self)

    def _describe(self) -> str:
        return f"<damaged: {self.error}>"

    def __reduce__(self) -> Any:
        return Damaged, (self.error,)


def _base(value: Any, classname: str) -> Any:
    for base in value.bases:
        if base.classname == classname:
            return base
        found = _base(base, classname)
        if found is not None:
            return found
    return None


def find_member(value: Any, name: str) -> tuple[Any] | None:
    """A member of a record or of its bases, in a tuple; ``None`` if it is missing."""
    if name in value.members:
        return (value.members[name],)
    for base in value.bases:
        found = find_member(base, name)
        if found is not None:
            return found
    return None


def _names(value: Any) -> list[str]:
    names: list[str] = []
    for base in value.bases:
        names.extend(_names(base))
    names.extend(value.members)
    return names


def plain(value: Any) -> Any:
    """Values that are no records: maps become dictionaries where their keys can be ones and none comes twice."""
    if isinstance(value, tuple) and len(value) == 2 and value[0] == "map":
        pairs = [(Model.of(key), Model.of(item)) for key, item in value[1]]
        try:
            mapping = STLDict(pairs)
        except TypeError:
            return pairs
        return mapping if len(mapping) == len(pairs) else pairs
    if isinstance(value, tuple) and len(value) == 3 and value[0] == "opaque":
        return value[2]
    if isinstance(value, list):
        return [Model.of(item) for item in value]
    return value


def _is_object(value: Any) -> bool:
    """Is it an object of a file: a model, or a tree, whose record is one?"""
    return isinstance(value, Model) or hasattr(type(value), "model")


def _plain(value: Any, shown: set[int]) -> Any:
    if not isinstance(value, Model) and _is_object(value):
        value = value.model
    if isinstance(value, Model):
        if isinstance(value, str):
            return str(value)
        if isinstance(value, Damaged):
            return value.tolist()
        if value._identity is not None:
            if value._identity.id in shown:
                return f"<{value.classname}>"
            shown.add(value._identity.id)
        items = getattr(value, "_items", None)
        if items is not None:
            return [_plain(item, shown) for item in items()]
        return {name: _plain(item, shown) for name, item in value.all_members.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {
            (name if isinstance(name, str) else _plain(name, shown)): _plain(item, shown)
            for name, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_plain(item, shown) for item in value]
    return value


def as_plain(value: Any) -> Any:
    """Anything the engine or a model gives, as plain dictionaries and lists."""
    return _plain(value, set())


def _for_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _for_json(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_for_json(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return set(a) == set(b) and all(_same(a[name], b[name]) for name in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(a == b) or (a != a and b != b)
