"""Predicates of other libraries as cuts of the engine, which decide what is read.

A cut may let more entries pass than its predicate, and never fewer: the library filters what is left. So what
has no counterpart is left out, and a comparison lets values pass about which libraries differ (NaN, numbers
that are rounded to 32 bits).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sapwood._read import reading
from sapwood.errors import SapwoodError

if TYPE_CHECKING:
    from sapwood._tree.tree import Tree

FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
"""The same comparison with its sides exchanged."""
NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
"""What is true where a comparison is not."""
#: Doubles hold all whole numbers below this one.
_WHOLE = 2**53
#: Words of names that an expression reads as they are.
_NAME = re.compile(r"[A-Za-z_]\w*")
#: Texts that an expression takes between quotes.
_TEXT = re.compile(r"[ !#-\[\]-~]*")
#: The longest list of values that a column is compared with.
MOST_VALUES = 100


class Operand(NamedTuple):
    """One side of a comparison."""

    text: str
    """As an expression."""
    kind: str
    """``"float64"``, ``"float32"``, ``"wide"`` for whole numbers of 64 bits, ``"whole"`` for shorter ones and
    truth values, ``"text"``; ``"literal"`` for a number."""
    value: float = 0.0
    """The number."""

    @property
    def is_float(self) -> bool:
        """May it be NaN?"""
        return self.kind in ("float64", "float32")


def literal(value: Any) -> Operand | None:
    """A number or a text; ``None`` for what no expression takes."""
    if isinstance(value, str):
        return Operand(f'"{value}"', "literal text") if _TEXT.fullmatch(value) else None
    if isinstance(value, bool):
        value = int(value)
    if not isinstance(value, (int, float)) or value != value:
        return None
    return Operand(_number(value), "literal", value)


def _number(value: float) -> str:
    if math.isinf(value):
        return "(1./0.)" if value > 0 else "(-1./0.)"
    return f"({value!r})" if value < 0 else repr(value)


def compare(left: Operand | None, sign: str, right: Operand | None) -> str | None:
    """A comparison; ``None`` where it says nothing."""
    if left is None or right is None:
        return None
    if left.kind.startswith("literal"):
        left, sign, right = right, FLIPPED[sign], left
    if left.kind.startswith("literal"):
        return None
    if "text" in left.kind or "text" in right.kind:
        is_text = left.kind == "text" and right.kind == "literal text"
        return f"{left.text} == {right.text}" if is_text and sign == "==" else None
    if right.kind == "literal":
        if left.kind == "wide" and abs(right.value) >= _WHOLE:
            return None
        values = [right.value]
        if left.kind == "float32":
            if sign == "!=" or abs(right.value) > np.finfo("f4").max:
                return None
            values = sorted({float(right.value), float(np.float32(right.value))})
        texts = [_number(value) for value in values]
    elif "wide" in (left.kind, right.kind):
        return None
    else:
        texts = [right.text]
    if sign == "==":
        tests = [f"{left.text} == {text}" for text in texts]
        return either(tests + [f"{side.text} != {side.text}" for side in (left, right) if side.is_float])
    text = texts[0]
    if len(texts) > 1:
        # Whether the number itself passes depends on how it was rounded.
        sign = {"<": "<=", ">": ">="}[sign[0]]
        text = texts[0] if sign == ">=" else texts[-1]
    if sign != "!=" and (left.is_float or right.is_float):
        # Of NaN no comparison is true.
        return f"!({left.text} {NEGATED[sign]} {text})"
    return f"{left.text} {sign} {text}"


def both(parts: Iterable[str | None]) -> str | None:
    """What passes all of these; those that say nothing are left out."""
    known = [part for part in parts if part is not None]
    return " && ".join(f"({part})" for part in known) if len(known) > 1 else known[0] if known else None


def either(parts: Iterable[str | None]) -> str | None:
    """What passes any of these; nothing is known where one of them says nothing."""
    listed = list(parts)
    if any(part is None for part in listed):
        return None
    known = [part for part in listed if part is not None]
    return " || ".join(f"({part})" for part in known) if len(known) > 1 else known[0] if known else None


class Columns:
    """Columns by their names."""

    def __init__(self, kinds: Mapping[str, tuple[Any, ...]]) -> None:
        self._kinds = kinds

    def find(self, name: str, depth: int = 0) -> Operand | None:
        """A column of single values (``depth`` 0), or the length of one of lists (1)."""
        kind = self._kinds.get(name)
        if kind is None or not _NAME.fullmatch(name):
            return None
        if depth == 1:
            return Operand(f"Length$({name})", "whole") if kind[0] == "list" else None
        if kind[0] == "text":
            return Operand(name, "text")
        if kind[0] != "number":
            return None
        dtype = np.dtype(kind[2])
        kinds = {"f8": "float64", "f4": "float32", "i8": "wide", "u8": "wide"}
        is_known = dtype.str[1:] in kinds or (dtype.kind in "iub" and dtype.itemsize <= 4)
        return Operand(name, kinds.get(dtype.str[1:], "whole")) if is_known else None

    def used(self, cut: str) -> list[str]:
        """Those that a cut names."""
        return [name for name in _NAME.findall(cut) if name in self._kinds]


def plan(tree: Tree, names: Any, cut: str | None, columns: Columns) -> reading.Plan:
    """What is read of a tree: some columns, of the entries that pass a cut if the engine understands it as it
    is meant."""
    if cut is not None:
        try:
            found = reading.Plan(tree, names, cut)
            needed = set(found._query.needed) if found._query is not None else set()
            branches = [tree._find(name) for name in columns.used(cut)]
            # A name may mean something else in an expression: an alias, or a constant.
            is_meant = all(branch is not None and branch._id in needed for branch in branches)
            if is_meant and not found.cut_on_items:
                return found
        except SapwoodError:
            pass
    return reading.Plan(tree, names)
