"""Words for the type of a branch: NumPy's, Awkward's, those of C++ and of Python."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from sapwood import errors
from sapwood._write import lossless

ITEMS = {
    "bool": "bool", "char": "int8", "unsignedchar": "uint8", "short": "int16", "unsignedshort": "uint16", "int": "int32",
    "unsignedint": "uint32", "Long64_t": "int64", "ULong64_t": "uint64", "longlong": "int64", "unsignedlonglong": "uint64",
    "int8_t": "int8", "uint8_t": "uint8", "int16_t": "int16", "uint16_t": "uint16", "int32_t": "int32", "uint32_t": "uint32",
    "int64_t": "int64", "uint64_t": "uint64", "float": "float32", "double": "float64", "string": "", "Bool_t": "bool",
    "Char_t": "int8", "UChar_t": "uint8", "Short_t": "int16", "UShort_t": "uint16", "Int_t": "int32", "UInt_t": "uint32",
    "Float_t": "float32", "Double_t": "float64",
}  # fmt: skip
"""Numbers and strings in C++ words without blanks; strings have no type of numbers."""

_WORD = re.compile(r"""\b(?:unsigned )?(?:long long|[A-Za-z_]\w*)\b(?!\s*["']?\s*:)""")
"""A word of a type, which is no name of a field."""
_OF_AWKWARD = {"var", "string", "bytes", "option", "union", "unknown"}


_LETTERS = {
    "O": "bool", "B": "int8", "b": "uint8", "S": "int16", "s": "uint16", "I": "int32", "i": "uint32", "L": "int64",
    "l": "uint64", "F": "float32", "D": "float64",
}  # fmt: skip
"""Types in lists of leaves, as ``TTree::Branch`` takes them."""
_PACKED = re.compile(
    r"((?:(?:var|\d+) *\* *)*)(?:(Double32_t|Float16_t)|/([df])|([df])(?=\[))((?:\[[^\]]*,[^\]]*\])?)"
)
"""Packed numbers, in lists or arrays as Awkward spells them, and their range."""
_LEAF = re.compile(r"([A-Za-z_]\w*)((?:\[\d+\])*)(?:/([A-Za-z]))?")


@dataclass(frozen=True)
class Packed:
    """Numbers that are stored as ``Double32_t`` or ``Float16_t``."""

    of: Any
    range: str


@dataclass(frozen=True)
class Objects:
    """Values of a type of C++ in one branch, such as ``("text",)`` for ``std::string``."""

    of: tuple[Any, ...]


@dataclass(frozen=True)
class Leaves:
    """Several numbers an entry: name, type and extents of each."""

    leaves: tuple[tuple[str, str, tuple[int, ...]], ...]

    def type_of(self, name: str) -> Any:
        """The same as a class, for the engine."""
        members: list[tuple[str, Any, bool, list[str]]] = [
            (leaf, ("array", kind, list(extents)) if extents else ("number", kind), False, [])
            for leaf, kind, extents in self.leaves
        ]
        return "object", (name, None, members)


def is_shaped(kind: Any) -> bool:
    """Whether this is a type in NumPy's pairs, like ``("f4", (2, 3))``, and no data.

    >>> is_shaped(("f4", (2, 3))), is_shaped(("f4", "i4")), is_shaped([1.5])
    (True, False, False)
    """
    try:
        return isinstance(kind, (tuple, list)) and not isinstance(kind[0], list) and bool(np.dtype(kind))
    except (IndexError, TypeError, ValueError, SyntaxError):
        return False


def of_form(given: Any) -> Any:
    """The types of the fields of an Awkward form of records, which stands for them; all else as it is.

    >>> import awkward as ak
    >>> of_form(ak.Array([{"x": 1.5, "v": [1, 2]}]).layout.form)
    {'x': NumpyType('float64'), 'v': ListType(NumpyType('int64'))}
    """
    if type(given).__module__.startswith("awkward.forms."):
        records = given.type
        if type(records).__name__ == "RecordType":
            return {name: records.content(name) for name in records.fields}
    return given


def as_type(kind: Any) -> Any:
    """A NumPy or Awkward type, or the words of a C++ vector.

    Words that NumPy and C++ share are NumPy's: ``int`` has 64 bits, as in Python.

    >>> as_type("Long64_t"), as_type("var * f8"), as_type("std::vector<unsigned int>")
    (dtype('int64'), ListType(NumpyType('float64')), 'vector<unsignedint>')
    >>> as_type("d[0,10,8]"), as_type("var * Float16_t")
    (Packed(of=dtype('float64'), range='[0,10,8]'), Packed(of=ListType(NumpyType('float32')), range=''))
    >>> as_type("x/F:n/I:z[3]/D")
    Leaves(leaves=(('x', 'float32', ()), ('n', 'int32', ()), ('z', 'float64', (3,))))

    Raises :class:`sapwood.errors.UnsupportedError` for what is no type.
    """
    if isinstance(kind, (Packed, Objects, Leaves)):
        return kind
    if isinstance(kind, str):
        return _of_words(kind.replace("std::", "").strip())
    if isinstance(kind, type) and issubclass(kind, (str, bytes)):
        return _of_words("string")
    if type(kind).__module__.startswith("awkward."):
        return getattr(kind, "content", kind) if type(kind).__name__ == "ArrayType" else kind
    try:
        if kind is not None:  # which would be a double
            return np.dtype(kind)
    except (TypeError, ValueError):
        pass
    raise _unknown(kind)


def _of_words(words: str) -> Any:
    if words.startswith("vector<"):
        return words.replace(" ", "")
    packed = _PACKED.fullmatch(words)
    # A letter alone is NumPy's.
    if packed:
        around, *names, within = packed.groups()
        item = "float64" if {"Double32_t", "d"} & set(names) else "float32"
        return Packed(_of_words(around + item), within.replace(" ", ""))
    if "/" in words or ":" in words:
        leaves = _leaves(words)
        if leaves:
            return leaves
    try:
        return np.dtype(words)
    except (TypeError, ValueError, SyntaxError):
        pass
    lossless.awkward()  # what is missing is told as such
    try:
        found = of_datashape(_WORD.sub(lambda word: _of_awkward(word[0]), words))
    except Exception:  # the parser's own errors, which name neither branch nor type
        raise _unknown(words) from None
    return (
        np.dtype(found.primitive) if type(found).__name__ == "NumpyType" and not found.parameters else found
    )


@functools.lru_cache(maxsize=1024)
def of_datashape(words: str) -> Any:
    """The type of Awkward that its words stand for. Kept: its parser takes milliseconds for each."""
    return lossless.awkward().types.from_datashape(words, highlevel=False)


def _leaves(words: str) -> Leaves | None:
    """A list of leaves in the words of ``TTree::Branch``; a type stands for the leaves behind it, too."""
    found, letter = [], "F"
    for part in words.split(":"):
        leaf = _LEAF.fullmatch(part.strip())
        letter = (leaf and leaf[3]) or letter
        if leaf is None or letter not in _LETTERS:
            return None
        found.append((leaf[1], _LETTERS[letter], tuple(map(int, re.findall(r"\d+", leaf[2])))))
    return Leaves(tuple(found))


def _of_awkward(word: str) -> str:
    """Awkward's word for one of NumPy or C++."""
    if word in _OF_AWKWARD:
        return word
    try:
        kind = np.dtype(word)
    except (TypeError, ValueError):
        return ITEMS.get(word.replace(" ", ""), word)
    return "string" if kind.kind in "UST" else kind.name


def _unknown(kind: Any) -> errors.UnsupportedError:
    return errors.UnsupportedError(
        f"the type {kind!r} is not understood: NumPy's ('f4'), Awkward's ('var * float32', 'string', '{{pt: f4}}'), those of C++ "
        "('Long64_t', 'vector<float>', 'Double32_t[0,10,8]', leaves like 'x/F:n/I:z[3]/D') and dataclasses are"
    )


def vector(name: str, words: str) -> tuple[int, str]:
    """How deep the vectors are nested, and the type of the numbers in them.

    >>> vector("v", "vector<vector<float>>")
    (2, 'float32')

    Raises :class:`sapwood.errors.UnsupportedError` naming the branch.
    """
    depth = words.count("vector<")
    item = words[7 * depth : len(words) - depth]
    if words != "vector<" * depth + item + ">" * depth or item not in ITEMS:
        raise errors.UnsupportedError(
            f"branch {name!r}: {words} cannot be written yet; items are {', '.join(ITEMS)}"
        )
    return depth, ITEMS[item]
