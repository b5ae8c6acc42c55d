"""Dataclasses as classes of objects: what C++ would call their members, and their values as columns.

A member is written as its annotation says: ``bool``, ``int`` (``Long64_t``), ``float`` (``double``), ``str``
(``std::string``), NumPy's types for others (``np.float32``), ``list[T]`` (``std::vector``), ``dict[K, V]``
(``std::map``), ``set[T]`` (``std::set``), ``collections.deque[T]`` (``std::deque``), a dataclass, ``D |
None`` (a pointer to an object of class D, or null), ``Annotated[T, 3]`` or ``Annotated[T, 2, 3]`` for arrays
of numbers. ``Annotated`` names other containers: ``Annotated[list[int], "forward_list"]``,
``Annotated[dict[str, int], "unordered_map"]``, ``Annotated[list[tuple[int, float]], "multimap"]``; and what
ROOT has of its own: ``Annotated[str, "TString"]``, ``Annotated[list[D], "TClonesArray"]``,
``Annotated[list[np.float32], "TArrayF"]``, ``Annotated[list[np.float32], "[n]"]`` for an array whose length
is the member ``n`` (``float *x; //[n]``). Dataclasses that a class derives from are its bases.
``__root_name__`` gives the name in C++ where it is another, ``__root_version__`` the number of its
``ClassDef``, which is 1 where a class derives from ``TObject`` and does not say.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import inspect
import operator
import types
import typing
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from sapwood import _core, errors
from sapwood._write import short_forms
from sapwood._write.lossless import as_array, awkward, encoded, fitted, is_awkward, shown, unmasked
from sapwood._write.root_classes import ROOT_CLASSES, TObject
from sapwood.model import Model

Type = tuple[Any, ...]
"""A type, for the engine: its kind, and what it is made of."""
Column = tuple[Any, ...]
"""Values of a type, for the engine: numbers, lists or records."""

NEW_OBJECT = dict(_core.NEW_OBJECT)
"""The members of ``TObject``, as they are where objects do not say otherwise."""
_NUMBERS = {bool: "bool", int: "int64", float: "float64"}


_SEQUENCES: dict[type, tuple[str, ...]] = {
    list: ("vector", "list", "deque", "forward_list", "multiset", "unordered_multiset"),
    collections.deque: ("deque", "vector", "list", "forward_list"),
    set: ("set", "unordered_set"),
    frozenset: ("set", "unordered_set"),
}
"""The containers of C++ that a container of Python can be, the usual one first."""
_MAPPINGS: dict[type, tuple[str, ...]] = {
    dict: ("map", "unordered_map"),
    list: ("multimap", "unordered_multimap"),
}
"""The same of pairs: a list of them where keys may come several times."""
_ROOT_ARRAYS = {
    "TArrayC": "int8", "TArrayS": "int16", "TArrayI": "int32", "TArrayL64": "int64", "TArrayF": "float32",
    "TArrayD": "float64",
}  # fmt: skip
_WORDS = {word for words in _SEQUENCES.values() for word in words}
_PAIRS = {word for words in _MAPPINGS.values() for word in words}


def is_class(kind: Any) -> bool:
    """Whether ``kind`` is a class whose objects are written member by member."""
    return isinstance(kind, type) and dataclasses.is_dataclass(kind)


def type_of(kind: Any, within: tuple[type, ...] = ()) -> Type:
    """The type of an annotation.

    >>> import numpy as np
    >>> type_of(dict[str, list[np.float32]])
    ('map', ('text',), ('vector', ('number', 'float32')))
    """
    if is_class(kind):
        return "object", _object_of(kind, within)
    if kind is str:
        return ("text",)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated and isinstance(arguments[1], str):
        return _container(arguments[0], within, arguments[1])
    if origin is typing.Annotated:
        item = type_of(arguments[0], within)
        if item[0] != "number" or not all(isinstance(extent, int) and extent > 0 for extent in arguments[1:]):
            raise errors.UnsupportedError(f"an array is Annotated[number, extent, ...], not {kind}")
        return "array", item[1], list(arguments[1:])
    if origin in _SEQUENCES or origin in _MAPPINGS or origin is typing.get_origin(Sequence[int]):
        return _container(kind, within)
    if origin in (typing.Union, types.UnionType):
        pointee = pointee_of(kind)
        if pointee is not None:
            return "pointer", _object_of(pointee, within)
        raise errors.UnsupportedError(
            f"{kind} cannot be written: of unions, only D | None for a dataclass D can"
        )
    name = _NUMBERS.get(kind) if isinstance(kind, type) else None
    if (
        name is None
        and isinstance(kind, (str, np.dtype))
        or isinstance(kind, type)
        and issubclass(kind, np.generic)
    ):
        name = np.dtype(kind).name
    if name is None or name == "float16" or np.dtype(name).kind not in "biuf":
        raise errors.UnsupportedError(
            f"{kind!r} cannot be written: {__doc__.split('.')[1].strip() if __doc__ else ''}"
        )
    return "number", name


def _container(kind: Any, within: tuple[type, ...], word: str = "") -> Type:
    """A container by the name that C++ has for it, without one by the usual name."""
    if kind is str and word == "TString":
        return ("TString",)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    origin = list if origin is typing.get_origin(Sequence[int]) else origin
    word = word.removeprefix("std::")
    if origin is list and (word == "TClonesArray" or word in _ROOT_ARRAYS or word.startswith("[")):
        return _of_root(kind, type_of(arguments[0], within), word)
    if word in _MAPPINGS.get(origin, ()) or origin is dict and not word:
        halves = typing.get_args(arguments[0]) if origin is list else arguments
        if len(halves) == 2:
            return word or "map", type_of(halves[0], within), type_of(halves[1], within)
    elif origin in _SEQUENCES and (not word or word in _SEQUENCES[origin]):
        return word or _SEQUENCES[origin][0], type_of(arguments[0], within)
    known = [*_SEQUENCES.get(origin, ()), *_MAPPINGS.get(origin, ())]
    known += ["TClonesArray", *_ROOT_ARRAYS, "[n]"] if origin is list else ["TString"] if kind is str else []
    words = f"as {', '.join(known)} it can" if known else "only containers and str can be something else"
    raise errors.UnsupportedError(f"{kind} cannot be written as {word!r}: {words}")


def _of_root(kind: Any, item: Type, word: str) -> Type:
    """A list as ROOT has it: a ``TClonesArray``, a ``TArrayF`` or its kin, an array with a length."""
    counter = word[1:-1] if word.endswith("]") else ""
    if word == "TClonesArray" and item[0] == "object":
        return word, item[1]
    if item[0] == "number" and counter.isidentifier():
        return "counted", item[1], counter
    if word in _ROOT_ARRAYS and item == ("number", _ROOT_ARRAYS[word]):
        return "TArray", item[1]
    raise errors.UnsupportedError(
        f"{kind} cannot be a {word!r}: a TClonesArray holds objects of a dataclass, an array with a length ([n], where n "
        "is the member before it that counts) numbers, and "
        f"{', '.join(f'{name} {number}' for name, number in _ROOT_ARRAYS.items())}"
    )


def pointee_of(kind: Any) -> type | None:
    """The dataclass ``D`` of ``D | None``; nothing for another annotation."""
    arguments = typing.get_args(kind)
    others = [argument for argument in arguments if argument is not type(None)]
    return others[0] if len(others) == 1 and len(arguments) == 2 and is_class(others[0]) else None


@dataclasses.dataclass(frozen=True)
class Member:
    """A member of a dataclass, or a base."""

    name: str
    kind: Any
    """Its annotation, or the base."""
    is_base: bool
    was: tuple[str, ...] = ()
    """Names that it had before."""


@functools.lru_cache(maxsize=10_000)
def members_of(kind: type) -> tuple[Member, ...]:
    """Bases of a dataclass, then the members that it declares itself.

    They are cached, because annotations may name classes that are local to a calling function and cannot be
    looked up later.
    """
    bases = [base for base in kind.__bases__ if dataclasses.is_dataclass(base)]
    found = [Member(base.__name__, base, True) for base in bases]
    above: dict[str, tuple[type, Any]] = {}
    for base in bases:
        hints = _hints(base)
        above |= {member.name: (base, hints[member.name]) for member in dataclasses.fields(base)}
    hints = _hints(kind)
    for member in dataclasses.fields(kind):
        if member.name in above:
            base, declared = above[member.name]
            if declared != hints[member.name]:
                raise errors.UnsupportedError(
                    f"{kind.__name__} declares member {member.name!r} ({_spelled(hints[member.name])}) again, which its base "
                    f"{base.__name__} declares as {_spelled(declared)}: in C++ these are two members"
                )
            continue
        was = member.metadata.get("was", ())
        found.append(
            Member(member.name, hints[member.name], False, (was,) if isinstance(was, str) else tuple(was))
        )
    return tuple(found)


def _hints(kind: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(kind, include_extras=True)
    except NameError:  # annotations as text that name classes of a function, or of an interactive session
        return typing.get_type_hints(kind, localns=_names_of_callers(), include_extras=True)


def _spelled(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) and not typing.get_args(kind) else str(kind)


def _object_of(
    kind: type, within: tuple[type, ...]
) -> tuple[str, int | None, list[tuple[str, Type, bool, list[str]]]]:
    """A class of which there are objects. One without members can only be a base."""
    made = _class_of(kind, within)
    if not made[2]:
        raise errors.UnsupportedError(
            f"class {kind.__name__} has no members: nothing of its objects would be written"
        )
    return made


def _class_of(
    kind: type, within: tuple[type, ...]
) -> tuple[str, int | None, list[tuple[str, Type, bool, list[str]]]]:
    """Name, version and members of a dataclass, bases first."""
    if kind in ROOT_CLASSES:
        known: tuple[str, int | None, list[tuple[str, Type, bool, list[str]]]]
        known = _core.ROOT_CLASSES[kind.__name__]
        return known
    name = kind.__dict__.get("__root_name__", kind.__name__)
    declared = (str(one) for one in inspect.get_annotations(kind).values())
    if "__dataclass_fields__" not in kind.__dict__ and any("ClassVar" not in one for one in declared):
        raise errors.UnsupportedError(
            f"class {name} has members of its own, and only its base is a dataclass: decorate it with @dataclass"
        )
    if name in _core.ROOT_CLASSES:
        raise errors.UnsupportedError(f"class {name} is ROOT's own: it is declared by sapwood.{name}")
    if kind in within:
        way = " -> ".join(one.__name__ for one in (*within[within.index(kind) :], kind))
        raise errors.UnsupportedError(f"class {kind.__name__} holds itself ({way}), which no column can")
    members: list[tuple[str, Type, bool, list[str]]] = []
    for member in members_of(kind):
        if member.is_base:
            made = _class_of(member.kind, (*within, kind))
            members.append((made[0], ("object", made), True, []))
            continue
        try:
            members.append((member.name, type_of(member.kind, (*within, kind)), False, list(member.was)))
        except errors.UnsupportedError as error:
            raise errors.UnsupportedError(f"member {member.name!r} of {kind.__name__}: {error}") from None
    version = kind.__dict__.get("__root_version__", 1 if issubclass(kind, TObject) else None)
    return name, version, members


def _names_of_callers() -> dict[str, Any]:
    names: dict[str, Any] = {}
    frame = inspect.currentframe()
    while frame is not None:
        names = {**frame.f_globals, **frame.f_locals, **names}
        frame = frame.f_back
    return names


def column_of(kind: Type, values: Any) -> Column:
    """Values of a type as columns: ``values`` are objects one by one, or an Awkward Array whose fields are
    the members.

    Raises :class:`sapwood.errors.MismatchError` where a value is of another type.
    """
    if is_awkward(values):
        layout = awkward().to_layout(values)
        return _as_it_lies(kind, layout, 0, len(layout))
    try:
        items = iter(values)
    except TypeError:
        raise errors.MismatchError(
            f"a column is a list of values, one for each entry, and {shown(values)} was given"
        ) from None
    return _of_objects(kind, list(items))


def _of_objects(kind: Type, values: list[Any], *, is_base: bool = False) -> Column:
    word = kind[0]
    if word in ("number", "array"):
        return _of_numbers(kind, values, len(values))
    if word in ("text", "TString"):
        texts = [encoded(value) for value in values]
        return "lists", _ends(map(len, texts)), ("numbers", 1, b"".join(texts))
    item = item_of(kind)
    if item is not None:
        lists = [_listed(value) for value in values]
        return (
            "lists",
            _ends(map(len, lists)),
            _of_objects(item, [value for items in lists for value in items]),
        )
    if word in _PAIRS:
        maps = [list(_paired(word, value)) for value in values]
        if "unordered" not in word:  # as a std::map has them: in the order of their keys
            try:
                maps = [sorted(pairs, key=operator.itemgetter(0)) for pairs in maps]
            except TypeError as error:
                raise errors.MismatchError(
                    f"keys of one map are of one type, with an order: {error}"
                ) from None
        pairs = [pair for items in maps for pair in items]
        columns = [_of_objects(kind[1 + half], [pair[half] for pair in pairs]) for half in (0, 1)]
        return "lists", _ends(map(len, maps)), ("record", len(pairs), columns)
    if word == "pointer":
        there = [value for value in values if value is not None]
        return (
            "lists",
            _ends(int(value is not None) for value in values),
            _of_objects(("object", kind[1]), there),
        )
    name, _, members = kind[1]
    columns = []
    usual = _usual(kind[1])
    for value in values:
        # Of a class that derives from it, only a part would be written.
        if isinstance(value, Model) and not is_base and value.classname != name:
            raise errors.MismatchError(f"a {name} was expected, and a {value.classname} was given")
    if name in short_forms.USUAL:
        values = [short_forms.as_members(name, value) for value in values]
    for member, of, of_base, _ in members:
        if _is_class(of_base, of):
            columns.append(_of_objects(of, values, is_base=True))
            continue
        try:
            given = [_member(value, member, of_base, usual) for value in values]
            columns.append(_of_objects(of, given))
        except AttributeError as error:
            raise errors.MismatchError(f"an object of class {name} was expected: {error}") from None
        except errors.MismatchError as error:
            raise errors.MismatchError(f"member {member!r} of {name}: {error}") from None
    return "record", len(values), columns


def _member(value: Any, member: str, is_base: bool, usual: dict[str, Any]) -> Any:
    """A member of an object, or a base that is an array (``TArrayF``)."""
    if isinstance(value, Model):
        found = value.member("fArray" if is_base else member, none_if_missing=True)
        if found is None and member in usual:
            return usual[member]
        if found is None and not value.has_member(member):
            raise AttributeError(f"the {value.classname} that was read has no member {member!r}")
        return found
    return getattr(value, member, usual[member]) if member in usual else getattr(value, member)


def _as_it_lies(kind: Type, layout: Any, first: int, last: int, *, is_base: bool = False) -> Column:
    """The values from ``first`` to ``last`` of an Awkward layout: what need not be packed is not."""
    ak = awkward()

    word, parameters = kind[0], layout.parameters
    if type(layout) is ak.contents.UnmaskedArray:
        return _as_it_lies(kind, layout.content, first, last)
    if first == last and layout.is_unknown:  # nothing says what would be in it
        return _of_objects(kind, [])
    if _is_short(kind, layout):
        return _of_objects(kind, ak.to_list(layout[first:last]))
    if word in ("number", "array") and not parameters:
        numbers, shape, start, end = layout, [], first, last
        while type(numbers) is ak.contents.RegularArray and numbers.size and not numbers.parameters:
            shape.append(numbers.size)
            start, end, numbers = start * numbers.size, end * numbers.size, numbers.content
        if type(numbers) is ak.contents.NumpyArray and not numbers.parameters:
            plain = np.asarray(numbers.data)[start:end]
            return _of_numbers(kind, plain.reshape(last - first, *shape, *plain.shape[1:]), last - first)
    elif word == "object" and type(layout) is ak.contents.RecordArray and not layout.is_tuple:
        places = {name: place for place, name in enumerate(layout.fields)}
        _check_members(kind[1], places, is_base)
        columns = [
            _as_it_lies(of, layout, first, last, is_base=True)
            if _is_class(of_base, of)
            else _as_it_lies(of, layout.contents[places[name]], first, last)
            if name in places
            else _repeated(kind[1], name, of, last - first)
            for name, of, of_base, _ in kind[1][2]
        ]
        return "record", last - first, columns
    item = item_of(kind)
    if item is not None and type(layout) is ak.contents.ListOffsetArray and "__array__" not in parameters:
        offsets = np.asarray(layout.offsets.data)[first : last + 1]
        start, end = int(offsets[0]), int(offsets[-1])
        ends = (offsets[1:] - start).astype("u8")
        return "lists", ends, _as_it_lies(item, layout.content, start, end)
    return _of_layout(kind, ak.to_layout(ak.to_packed(layout[first:last])), is_base=is_base)


def _check_members(kind: tuple[Any, ...], fields: Collection[str], is_base: bool) -> None:
    """Refuses records without a member of their class, or with fields that are none: what is no member would be
    lost. A base is only a part of its records."""
    usual = _usual(kind)
    missing = [
        name
        for name, of, is_base, _ in kind[2]
        if not _is_class(is_base, of) and name not in fields and name not in usual
    ]
    if missing:
        raise errors.MismatchError(f"objects of class {kind[0]} lack {', '.join(map(repr, missing))}")
    known = names_of(kind) | NEW_OBJECT.keys()
    others = [name for name in fields if not is_base and name not in known]
    if others:
        listed = ", ".join(map(repr, others[:5])) + (" ..." if len(others) > 5 else "")
        raise errors.MismatchError(
            f"objects of class {kind[0]} have no member {listed}: leave out what is not to be written"
        )


def names_of(kind: tuple[Any, ...]) -> set[str]:
    """Names of the members of a class and its bases."""
    inherited = (names_of(of[1]) for _, of, is_base, _ in kind[2] if _is_class(is_base, of))
    return {name for name, of, is_base, _ in kind[2] if not _is_class(is_base, of)}.union(*inherited)


def _is_class(is_base: bool, of: Type) -> bool:
    """Whether a member is a base whose members stand among those of the object."""
    return is_base and of[0] == "object"


def _usual(kind: tuple[Any, ...]) -> dict[str, Any]:
    """Members that objects of a class need not have: reading does not show those of ``TObject``."""
    if kind[0] in short_forms.USUAL:
        return short_forms.USUAL[kind[0]]
    return NEW_OBJECT if kind[0] == "TObject" else {}


def _is_short(kind: Type, layout: Any) -> bool:
    """Whether values are given as less than their members."""
    if kind[0] != "object" or kind[1][0] not in short_forms.USUAL:
        return False
    return not layout.is_record or short_forms.NAMED[kind[1][0]] not in layout.fields


def item_of(kind: Type) -> Type | None:
    """The type of what a list holds; none for what is no list."""
    if kind[0] in _WORDS:
        item: Type = kind[1]
        return item
    if kind[0] in ("counted", "TArray"):
        return "number", kind[1]
    return ("object", kind[1]) if kind[0] == "TClonesArray" else None


def _repeated(kind: tuple[Any, ...], member: str, of: Type, rows: int) -> Column:
    value = _usual(kind)[member]
    if of[0] != "number":
        return _of_objects(of, [value] * rows)
    return _of_numbers(of, np.full(rows, value, of[1]), rows)


def _of_numbers(kind: Type, values: Any, rows: int) -> Column:
    wanted = np.dtype(kind[1])
    shape = (rows, *kind[2]) if kind[0] == "array" else (rows,)
    array = _numbers(wanted, values, shape)
    return "numbers", wanted.itemsize * int(np.prod(shape[1:])), memory(array)


def _of_layout(kind: Type, layout: Any, *, is_base: bool = False) -> Column:
    """The same of an Awkward layout that is packed, without touching the values one by one."""
    ak = awkward()

    word = kind[0]

    def wrong() -> errors.MismatchError:  # the words cost more than many a column
        declared = f"an array counted by {kind[2]!r}" if word == "counted" else word
        return errors.MismatchError(
            f"values of type {layout.form.type} were given where {declared} is declared"
        )

    if word == "pointer":
        if not layout.is_option:
            there = np.ones(len(layout), "i8")
        else:
            there = 1 - np.asarray(layout.mask_as_bool(valid_when=False)).astype("i8")
        present = ak.to_layout(
            ak.to_packed(ak.drop_none(ak.Array(layout)) if layout.is_option else ak.Array(layout))
        )
        return "lists", _ends(there), _of_layout(("object", kind[1]), present)
    if layout.is_unknown and len(layout) == 0:
        return _of_objects(kind, [])
    if _is_short(kind, layout):
        return _of_objects(kind, ak.to_list(layout))
    if layout.is_option:
        if np.asarray(layout.mask_as_bool(valid_when=False)).any():
            raise wrong()
        # As reading has what pointers lead to.
        return _of_layout(kind, ak.to_layout(ak.to_packed(ak.drop_none(ak.Array(layout), axis=0))))
    if word in ("number", "array"):
        try:
            # packed: an array of numbers is what it holds
            plain = np.asarray(layout.data) if layout.is_numpy else ak.to_numpy(layout, allow_missing=False)
            return _of_numbers(kind, plain, len(layout))
        except (ValueError, TypeError):
            raise wrong() from None
    if word == "object":
        if not layout.is_record:
            raise wrong()
        _check_members(kind[1], layout.fields, is_base)
        columns = [
            _of_layout(of, layout, is_base=True)
            if _is_class(of_base, of)
            else _of_layout(of, layout.content(name))
            if name in layout.fields
            else _repeated(kind[1], name, of, len(layout))
            for name, of, of_base, _ in kind[1][2]
        ]
        return "record", len(layout), columns
    if not (layout.is_list or layout.is_regular):
        raise wrong()
    layout = layout.to_ListOffsetArray64(True)
    offsets = np.asarray(layout.offsets.data)
    content = layout.content if len(layout.content) == offsets[-1] else layout.content[: offsets[-1]]
    ends = offsets[1:].astype("u8")
    if word in ("text", "TString"):
        if layout.parameter("__array__") not in ("string", "bytestring"):
            raise wrong()
        return "lists", ends, ("numbers", 1, memory(np.asarray(layout.content[: offsets[-1]].data)))
    item = item_of(kind)
    if item is not None:
        if layout.parameter("__array__") in ("string", "bytestring"):
            raise wrong()
        return "lists", ends, _of_layout(item, content)
    fields = content.fields  # of a map: pairs
    if len(fields) != 2:
        raise wrong()
    columns = [_of_layout(kind[1 + half], content.content(fields[half])) for half in (0, 1)]
    return "lists", ends, ("record", len(content), columns)


def _numbers(wanted: np.dtype[Any], values: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Numbers as the class has them. Digits of floats may be lost; whole numbers fit or are refused."""
    try:
        array = as_array(unmasked(values)) if len(values) else np.empty(shape, wanted)
    except ValueError as error:
        raise errors.MismatchError(str(error)) from None
    if array.shape != shape:
        raise errors.MismatchError(
            f"values of shape {shape[1:]} were expected, and {array.shape[1:]} were given"
        )
    if (
        array.dtype.kind not in "biuf"
        or array.dtype.kind == "f"
        and wanted.kind != "f"
        or wanted.kind == "b" != array.dtype.kind
    ):
        raise errors.MismatchError(f"{wanted} was expected, and {array.dtype} was given")
    return fitted(array, wanted)


def memory(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bytes of an array, as the engine takes them: without a copy, where they are one behind the
    other."""
    return np.ascontiguousarray(array).reshape(-1).view("u1")


def _ends(lengths: Iterable[int]) -> np.ndarray[Any, Any]:
    return np.cumsum(np.fromiter(lengths, "i8")).astype("u8")


def _listed(value: Any) -> Any:
    if isinstance(value, (set, frozenset)):
        try:
            return sorted(value)  # the same set gives the same bytes
        except TypeError:
            return list(value)
    if isinstance(value, (str, bytes)) or not hasattr(value, "__len__") or isinstance(value, dict):
        raise errors.MismatchError(f"a list was expected, and {type(value).__name__} was given")
    return value


def _paired(word: str, value: Any) -> Iterable[tuple[Any, Any]]:
    """The pairs of a map, or of a container that has a key several times."""
    if word in _MAPPINGS[dict]:
        if isinstance(value, dict):
            return value.items()
        raise errors.MismatchError(f"a dict was expected, and {type(value).__name__} was given")
    pairs = list(_listed(value))
    if not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs):
        raise errors.MismatchError("a list of pairs was expected, and something else was given")
    return pairs
