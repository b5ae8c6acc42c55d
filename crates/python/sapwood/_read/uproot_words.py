"""The words that uproot has for types: texts of interpretations."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

_CODES = {
    "bool": "bool",
    "int8_t": "int8",
    "uint8_t": "uint8",
    "int16_t": ">i2",
    "uint16_t": ">u2",
    "int32_t": ">i4",
    "uint32_t": ">u4",
    "int64_t": ">i8",
    "uint64_t": ">u8",
    "float": ">f4",
    "double": ">f8",
}
_STRINGS = ("std::string", "TString", "char*")
_SEQUENCES = {"std::vector": "AsVector", "std::set": "AsSet"}
_TEMPLATE = re.compile(r"(std::\w+)<(.*)>")
_RANGE = re.compile(r"\[\s*([^,\[\]]+),\s*([^,\[\]]+)(?:,\s*(\d+))?\s*\]")


class Range(NamedTuple):
    """How ``Double32_t`` and ``Float16_t`` are packed: between two numbers, in so many bits."""

    low: float
    high: float
    bits: int


def range_of(title: str) -> Range | None:
    """The range in the title of a leaf or a member; ``None`` where there is none in plain numbers.

    >>> range_of("d[-2.71,10,30]")
    Range(low=-2.71, high=10.0, bits=30)
    """
    found = _RANGE.search(title)
    if found is None:
        return None
    try:
        return Range(float(found[1]), float(found[2]), int(found[3] or 32))
    except ValueError:
        return None


def packed(name: str, range: Range, shape: tuple[int, ...]) -> str:
    """Numbers between two others: ``name`` is ``AsDouble32`` or ``AsFloat16``.

    >>> packed("AsDouble32", Range(0.0, 8.0, 4), (3,))
    'AsDouble32(0.0, 8.0, 4, to_dims=(3,))'
    """
    dims = f", to_dims={shape}" if shape else ""
    return f"{name}({range.low}, {range.high}, {range.bits}{dims})"


def objects(typename: str) -> str:
    """What is no plain number, list of numbers or text.

    >>> objects("std::map<int32_t, std::vector<a::Hit>>")
    "AsMap(True, dtype('>i4'), AsVector(True, Model_a_3a3a_Hit))"
    """
    if typename.endswith("[]"):
        inner = _words(typename[:-2], False)
        return typename if inner is None else f"AsArray(True, False, {inner}, ())"
    return _words(typename, True) or typename


def model(classname: str, version: int | None = None) -> str:
    """The name of uproot's class for a class of C++, in a version where one is given.

    >>> model("xAOD::EventInfo_v1", 1)
    'Model_xAOD_3a3a_EventInfo_5f_v1_v1'
    """
    plain = re.sub(r"[^a-zA-Z0-9]+", lambda found: f"_{found[0].encode().hex()}_", classname)
    return f"Model_{plain}" + ("" if version is None else f"_v{version}")


def _words(typename: str, header: bool) -> str | None:
    """``header``: a collection has its own version and size in bytes before it; those in vectors have none.
    ``None`` for a type that uproot has no word for."""
    if typename in _CODES:
        return repr(np.dtype(_CODES[typename]))
    if typename in _STRINGS:
        return f"AsString({header})"
    if typename.endswith("*"):
        return f"AsPointer({model(typename[:-1])})"
    found = _TEMPLATE.fullmatch(typename)
    if found is None:
        return model(typename) if re.fullmatch(r"[A-Za-z_][\w:<>, *]*", typename) else None
    name, arguments = found[1], _split(found[2])
    if name == "std::bitset":
        return f"AsBitSet({header}, dtype('bool'))"
    inner = [_words(one, header and name == "std::map") for one in arguments]
    if None in inner:
        return None
    if name == "std::map" and len(inner) == 2:
        return f"AsMap({header}, {inner[0]}, {inner[1]})"
    if name in _SEQUENCES and len(inner) == 1:
        return f"{_SEQUENCES[name]}({header}, {inner[0]})"
    return None


def _split(arguments: str) -> list[str]:
    """Arguments of a template."""
    out, depth = [""], 0
    for letter in arguments:
        depth += (letter == "<") - (letter == ">")
        if letter == "," and depth == 0:
            out.append("")
        else:
            out[-1] += letter
    return [one.strip() for one in out]


def shape_of(kind: tuple[Any, ...]) -> tuple[int, ...]:
    """Extents of a fixed array; none for what is no array."""
    return (kind[1], *shape_of(kind[2])) if kind[0] == "fixed" else ()
