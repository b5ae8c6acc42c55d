"""What the bytes of a branch mean: its type in C++ words, and in memory."""

from __future__ import annotations

import re
from copy import copy
from typing import TYPE_CHECKING, Any

from sapwood._read import layout, uproot_words
from sapwood.errors import MismatchError

if TYPE_CHECKING:
    import numpy as np

_DIMENSIONS_FIRST = re.compile(r"^(.*?)((?:\[\d+\])+)((?:\[\])+)$")
_NUMPY_TO_CPP = {
    "bool": "bool",
    "int8": "int8_t",
    "uint8": "uint8_t",
    "int16": "int16_t",
    "uint16": "uint16_t",
    "int32": "int32_t",
    "uint32": "uint32_t",
    "int64": "int64_t",
    "uint64": "uint64_t",
    "float32": "float",
    "float64": "double",
}


class Interpretation:
    """How a branch is read. ``kind`` says what it becomes in memory, as nested tuples (see ``sapwood._read.layout``)."""

    __slots__ = ("kind", "typename")

    def __init__(self, typename: str, kind: tuple[Any, ...]) -> None:
        self.typename = typename
        self.kind = kind

    @property
    def is_jagged(self) -> bool:
        """Is it a list of numbers, or of fixed arrays or records of numbers, an entry?"""
        return self.kind[0] == "list" and self.kind[2] == "sequence" and _is_flat(self.kind[3])

    @property
    def is_awkward(self) -> bool:
        """Is the type of its arrays known before it is read? Not where pointers lead to objects of classes that only
        the values tell."""
        return not layout.has(self.kind, "pointer")

    @property
    def numpy_dtype(self) -> Any:
        """Type of its NumPy array: ``object`` for what is no plain number."""
        import numpy as np

        kind, shape = self.kind, []
        while kind[0] == "fixed":
            shape.append(kind[1])
            kind = kind[2]
        if kind[0] == "number":
            return np.dtype((kind[2], tuple(shape)))
        return np.dtype(object)

    def awkward_form(self, *_: Any, **__: Any) -> Any:
        """Form of its Awkward Array. uproot's arguments, a file and what is in its forms, change nothing."""
        return layout.form(self.kind)

    def inplace(self, array: np.ndarray[Any, Any]) -> InPlace:
        """The same, read into an array that is there: ``branch.array(branch.interpretation.inplace(array))``.

        Raises ``TypeError`` for an array whose type does not hold all of its numbers.
        """
        return InPlace(self, array)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Interpretation) and (self.typename, self.kind) == (
            other.typename,
            other.kind,
        )

    def __hash__(self) -> int:
        return hash(self.typename)

    def __repr__(self) -> str:
        return f"AsObjects({uproot_words.objects(self.typename)})"


class AsDtype(Interpretation):
    """Numbers, or fixed arrays of them, an entry. One that is made of a NumPy type says as what the numbers of a
    branch are looked at: ``tree.arrays({"bits": sapwood.AsDtype(">u4")})``, which is the same as ``">u4"``.
    """

    __slots__ = ("asked", "stored")

    def __init__(self, dtype: Any) -> None:
        import numpy as np

        self.stored: np.dtype[Any] | None = np.dtype(dtype)
        asked = self.stored.newbyteorder("=")
        fields = [(name, asked[name]) for name in asked.names or [None]] if asked.names else [("", asked)]
        if any(one.subdtype is not None or one.name not in _NUMPY_TO_CPP for _, one in fields):
            raise TypeError(f"numbers are looked at as a type of one number, such as '>i8', not as {dtype!r}")
        kinds = [(name, False, ("number", 0, one.name)) for name, one in fields]
        members = "; ".join(f"{_NUMPY_TO_CPP[one.name]} {name}" for name, one in fields)
        typename = f"struct {{{members};}}" if asked.names else _NUMPY_TO_CPP[asked.name]
        super().__init__(typename, ("record", "", kinds) if asked.names else kinds[0][2])
        self.asked: np.dtype[Any] | None = asked

    @classmethod
    def of(cls, typename: str, kind: tuple[Any, ...]) -> AsDtype:
        """The interpretation of a branch."""
        made = cls.__new__(cls)
        Interpretation.__init__(made, typename, kind)
        made.asked = made.stored = None
        return made

    def __repr__(self) -> str:
        return f"AsDtype({_dtype(self.kind)})"


class AsPacked(AsDtype):
    """``Double32_t`` or ``Float16_t`` in a range: numbers that are packed into so many bits."""

    __slots__ = ("range",)

    def __init__(self, typename: str, kind: tuple[Any, ...], range: uproot_words.Range) -> None:
        Interpretation.__init__(self, typename, kind)
        self.asked = self.stored = None
        self.range = range

    def __repr__(self) -> str:
        name = "AsDouble32" if self.typename.startswith("Double32_t") else "AsFloat16"
        return uproot_words.packed(name, self.range, uproot_words.shape_of(self.kind))


class AsJagged(Interpretation):
    """A list of numbers, or of fixed arrays of them, per entry.

    One that is made of an :class:`AsDtype` reads a branch whose class has its own Streamer:
    ``branch.array(sapwood.AsJagged(sapwood.AsDtype([("id", ">i4"), ("tot", "u1")]), header_bytes=10))``. Each
    entry is ``header_bytes`` that are left out, and then values of that type.
    """

    __slots__ = ("header_bytes", "stored")

    def __init__(self, content: Any, header_bytes: int = 0) -> None:
        if not isinstance(content, AsDtype):
            content = AsDtype(content)
        if content.stored is None or header_bytes < 0:
            raise TypeError("a list is made of an AsDtype of a NumPy type, and of 0 or more bytes before it")
        super().__init__(f"{content.typename}[]", ("list", 0, "sequence", content.kind))
        self.stored: np.dtype[Any] | None = content.stored
        self.header_bytes = int(header_bytes)

    @classmethod
    def of(cls, typename: str, kind: tuple[Any, ...]) -> AsJagged:
        """The interpretation of a branch."""
        made = cls.__new__(cls)
        Interpretation.__init__(made, typename, kind)
        made.stored, made.header_bytes = None, 0
        return made

    @property
    def content(self) -> AsDtype:
        """The interpretation of one item."""
        if self.stored is not None:
            return AsDtype(self.stored)
        item = self.kind[3]
        return AsDtype.of(self.typename.removesuffix("[]"), item)

    @staticmethod
    def of_uproot(found: Any) -> Any:
        """Converts uproot's ``AsJagged(AsDtype(...))``; returns anything else as it is."""
        content: Any = getattr(found, "content", None)
        is_one = type(found).__module__.startswith("uproot.") and hasattr(found, "header_bytes")
        if is_one and hasattr(content, "from_dtype"):
            return AsJagged(AsDtype(content.from_dtype), found.header_bytes)
        return found

    def __repr__(self) -> str:
        if self.stored is not None:
            dtype = repr(self.stored.descr if self.stored.names else self.stored.str)
            return f"AsJagged(AsDtype({dtype}), header_bytes={self.header_bytes})"
        header = ", header_bytes=10" if self.typename.startswith(("std::vector<", "vector<")) else ""
        return f"AsJagged(AsDtype({_dtype(self.kind[3])}){header})"


class AsStrings(Interpretation):
    """Text."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "AsStrings()"


class AsObjects(Interpretation):
    """All else: lists of lists, records, maps, objects."""

    __slots__ = ()


class AsStridedObjects(AsObjects):
    """Objects of a class whose members are all numbers, or which has none; ``version`` is that of the class."""

    __slots__ = ("version",)

    def __init__(self, typename: str, kind: tuple[Any, ...], version: int) -> None:
        super().__init__(typename, kind)
        self.version = version

    def __repr__(self) -> str:
        return f"AsStridedObjects({uproot_words.model(self.typename, self.version)})"


def interpret(
    typename: str,
    kind: tuple[Any, ...],
    *,
    range: uproot_words.Range | None = None,
    version: int | None = None,
) -> Interpretation:
    """The interpretation of a type. ``range`` is that of packed numbers, ``version`` that of a class, where these
    are known."""
    if _is_flat(kind):
        if range is not None and typename.startswith(("Double32_t", "Float16_t")):
            return AsPacked(typename, kind, range)
        return AsDtype.of(typename, kind)
    if version is not None and kind[0] == "record" and _has_fixed_size(kind):
        return AsStridedObjects(typename, kind, version)
    plain = Interpretation(typename, kind)
    if plain.is_jagged and not typename.startswith("std::bitset<"):
        return AsJagged.of(typename, kind)
    return (AsStrings if kind[0] == "text" else AsObjects)(typename, kind)


class InPlace(Interpretation):
    """Numbers that are read into an array that is there."""

    __slots__ = ("array",)

    def __init__(self, of: Interpretation, array: np.ndarray[Any, Any]) -> None:
        import numpy as np

        super().__init__(of.typename, of.kind)
        dtype = of.numpy_dtype
        if dtype.hasobject or not np.can_cast(dtype.base, array.dtype, "safe"):
            raise TypeError(f"{of.typename} cannot be read into an array of {array.dtype}")
        self.array = array

    def fill(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Copies what was read, and gives the part of the array that it takes.

        Raises :class:`~sapwood.errors.MismatchError` where it has no room.
        """
        taken = self.array[: len(values)]
        if taken.shape != values.shape:
            raise MismatchError(
                f"values of the shape {values.shape} do not fit into one of {self.array.shape}"
            )
        taken[...] = values
        return taken


class Grouped(Interpretation):
    """A branch without values of its own, over others."""

    __slots__ = ("subbranches",)

    def __init__(self, typename: str | None, subbranches: dict[str, Interpretation]) -> None:
        self.subbranches = subbranches
        if typename is None:
            inside = ", ".join(f"{name}:{one.typename}" for name, one in subbranches.items())
            typename = f"(group of {inside})"
        super().__init__(typename, ("group",))

    def __repr__(self) -> str:
        return f"AsGroup({self.typename}, {list(self.subbranches)})"


class Unknown(Interpretation):
    """A branch that cannot be decoded; ``reason`` says why."""

    __slots__ = ("error", "reason")

    def __init__(self, error: Exception) -> None:
        super().__init__("unknown", ("unknown",))
        self.reason = str(error)
        self.error = error

    def copy_error(self) -> Exception:
        """The error, to be raised: a copy, for what is raised holds all that it passed."""
        return copy(self.error)

    def __repr__(self) -> str:
        return f"<UnknownInterpretation {self.reason!r}>"


def _is_flat(kind: tuple[Any, ...]) -> bool:
    if kind[0] == "fixed":
        return _is_flat(kind[2])
    if kind[0] == "record":
        return not kind[1] and all(_is_flat(of) for _, _, of in kind[2])
    return kind[0] == "number"


def _has_fixed_size(kind: tuple[Any, ...]) -> bool:
    if kind[0] == "record":
        return all(_has_fixed_size(of) for _, _, of in kind[2])
    return kind[0] == "number" or (kind[0] == "fixed" and _has_fixed_size(kind[2]))


def _dtype(kind: tuple[Any, ...]) -> str:
    """The type in the file, big-endian, in NumPy's words."""
    shape = []
    while kind[0] == "fixed":
        shape.append(kind[1])
        kind = kind[2]
    if kind[0] == "record":
        fields = ", ".join(f"({name!r}, {_dtype(of)})" for name, _, of in kind[2])
        return f"[{fields}]"
    import numpy as np

    dtype = np.dtype(kind[2]).newbyteorder(">")
    if dtype.itemsize > 1:
        text = repr(dtype.str)
    else:
        # In NumPy's words, whose codes in arrays are shorter.
        text = repr(dtype.char if dtype.kind == "b" else dtype.str[1:]) if shape else repr(dtype.name)
    return f'"({text}, {tuple(shape)})"' if shape else text


def typename(engine_name: str, kind: tuple[Any, ...]) -> str:
    """The engine's name of a type in the order that uproot has: ``float[][3]`` is a list of arrays of three."""
    if engine_name.startswith("struct {") and kind[0] == "record":
        fields = [f"{_plain_name(of)} {name};" for name, _, of in kind[2]]
        return f"struct {{{' '.join(fields)}}}"
    found = _DIMENSIONS_FIRST.match(engine_name)
    if found is not None:
        engine_name = found.group(1) + found.group(3) + found.group(2)
    return engine_name.replace("ROOT::VecOps::RVec<", "RVec<")


def _plain_name(kind: tuple[Any, ...]) -> str:
    shape = ""
    while kind[0] in ("fixed", "list"):
        shape += f"[{kind[1]}]" if kind[0] == "fixed" else "[]"
        kind = kind[-1]
    return (_NUMPY_TO_CPP[kind[2]] if kind[0] == "number" else "char*") + shape
