"""Compare what a reader gives with ROOT's own view of the same entry, as TBufferJSON wrote it."""

from __future__ import annotations

import math
import struct
from typing import Any

IGNORED = {"_typename", "fUniqueID", "fBits", "fPID", "fIOFeatures"}
"""ROOT's additions to its JSON, and what ROOT changes in memory."""

COLLECTIONS = ("TClonesArray", "TObjArray", "TList", "THashList", "TOrdCollection", "TRefArray")


OF_COLLECTIONS = {"fName", "fSize", "fLast", "fLowerBound", "fSorted"}
"""Members of ROOT's collections themselves."""

SHOWN_RAW = {"TDatime"}
"""Classes that stream themselves, and whose fields ROOT shows as they are."""


HASHED = {"fUset", "fUmap"}
"""Members of the cases that are hash containers: they have no order."""


class NoOracle(Exception):
    """ROOT's JSON does not hold this."""


def resolve_references(value: Any) -> Any:
    """Replace {"$ref": n} by the n-th object, counted as jsroot counts them: dicts in order of their opening brace."""
    seen: list[Any] = []

    def walk(v: Any) -> Any:
        if isinstance(v, list):
            return [walk(x) for x in v]
        if not isinstance(v, dict):
            return v
        if set(v) == {"$ref"}:
            n = int(v["$ref"])
            return seen[n] if n < len(seen) else v
        if "$pair" not in v:
            seen.append(v)
        for k in list(v):
            v[k] = walk(v[k])
        return v

    return walk(value)


def column(value: Any, names: list[str], bases: frozenset[str]) -> Any:
    """The values of one sub-branch: follow its name through objects, and through lists element by element. A branch of
    a base class gives the whole object: JSON holds its members flat (see `is_base`)."""
    if not names:
        return value
    if isinstance(value, list):
        return [column(v, names, bases) for v in value]
    if isinstance(value, dict):
        if "arr" in value and names[0] not in value:
            if names[0] in OF_COLLECTIONS:
                raise NoOracle(f"ROOT's JSON has no {names[0]} of a collection")
            return [column(v, names, bases) for v in value["arr"]]
        if names[0] in value:
            return column(value[names[0]], names[1:], bases)
        if names[0] in bases:
            return column(value, names[1:], bases)
    raise NoOracle(f"ROOT's JSON has no {'.'.join(names)}")


def _items(e: dict[str, Any]) -> list[Any] | None:
    """A ROOT dict that stands for a list."""
    kind = e.get("_typename", "")
    if "arr" in e and (kind in COLLECTIONS or "name" in e):
        return e["arr"]
    if kind.startswith("array<") and "_M_elems" in e:
        return e["_M_elems"]
    return None


def _pair(g: Any) -> tuple[Any, Any] | None:
    if isinstance(g, (tuple, list)) and len(g) == 2:
        return g[0], g[1]
    if isinstance(g, dict):
        g = {k.lstrip("@"): v for k, v in g.items()}
        for names in (("first", "second"), ("0", "1"), ("fKey", "fValue")):
            if set(g) == set(names):
                return g[names[0]], g[names[1]]
    return None


def _text(g: list[Any]) -> str | None:
    """Characters that a reader gives as numbers."""
    if all(isinstance(x, (int, bool)) for x in g):
        return bytes(int(x) & 255 for x in g).split(b"\0")[0].decode("latin-1")
    return None


def _number(x: Any) -> Any:
    return float(x) if x in ("nan", "inf", "-inf") else x


def _single(x: float) -> float | None:
    """The number of 32 bits that these digits mean: ROOT prints nine of them."""
    try:
        return struct.unpack("f", struct.pack("f", x))[0]
    except (OverflowError, struct.error):
        return None


def _flat(e: list[Any]) -> list[Any]:
    return [y for x in e for y in (_flat(x) if isinstance(x, list) else [x])]


def unordered(value: Any) -> Any:
    """Lists sorted: hash containers have no order that outlives the process."""
    if isinstance(value, list):
        return sorted((unordered(v) for v in value), key=_sort_key)
    if isinstance(value, tuple):
        return tuple(unordered(v) for v in value)
    return {k: unordered(v) for k, v in value.items()} if isinstance(value, dict) else value


def _sort_key(v: Any) -> str:
    pair = _pair(v) if not isinstance(v, dict) or "first" in v or "0" in v else None
    return repr(pair if pair is not None else v)


def _pair_key(v: Any) -> str:
    first = (_pair(v) or (v, None))[0] if not isinstance(v, dict) or "$pair" not in v else v["first"]
    if isinstance(first, dict):
        first = first.get("fString", first.get("fName", first))
    return repr(first)


class Comparison:
    """`e`: ROOT's JSON, `g`: plain values of a reader. Numbers must be equal, not near. `lenient` is for objects by
    key: members that only ROOT tells are left out."""

    def __init__(self, lenient: bool = False, partial: bool = False) -> None:
        self.lenient = lenient
        self.partial = partial
        """The reader gives only some of the members (those of a base class)."""
        self.compared = 0
        self.wrong: list[str] = []

    def values(self, expected: list[Any], ours: list[Any]) -> Comparison:
        for i, (e, g) in enumerate(zip(expected, ours)):
            self.value(e, g, f"[{i}]")
        return self

    def value(self, e: Any, g: Any, path: str = "") -> None:
        if len(self.wrong) > 5:
            return
        if (isinstance(e, dict) and set(e) == {"$ref"}) or (isinstance(g, dict) and set(g) == {"$ref"}):
            return  # an object that was compared where it came first
        if isinstance(g, str) and isinstance(e, dict) and g == f"<{e.get('_typename')}>":
            return  # an object that this one is in
        if isinstance(e, dict):
            self._dict(e, g, path)
        elif isinstance(e, list):
            self._list(e, g, path)
        else:
            self._leaf(e, g, path)

    def _leaf(self, e: Any, g: Any, path: str) -> None:
        self.compared += 1
        if isinstance(e, str) and isinstance(g, list):
            text = _text(g)
            g = text if text is not None else g
        if isinstance(e, str) and len(e) < 2 and isinstance(g, int):
            e = ord(e) if e else 0  # ROOT writes a signed char that is a letter as one
        e, g = _number(e), _number(g)
        if isinstance(e, (bool, int, float)) and isinstance(g, (bool, int, float)):
            if e != g and not (math.isnan(e) and math.isnan(g)) and _single(e) != g:
                self.wrong.append(f"{path}: {g!r}, ROOT has {e!r}")
        elif e is None and isinstance(g, float) and math.isnan(g):
            pass  # JSON has no such number
        elif e != g and not (e is None and g == []):  # no pointer, or no elements
            self.wrong.append(f"{path}: {str(g)[:80]!r}, ROOT has {str(e)[:80]!r}")

    def _list(self, e: list[Any], g: Any, path: str) -> None:
        if isinstance(g, dict):
            if "refs" in g:  # a TRefArray: the numbers of the objects, where ROOT shows the objects
                g = g["refs"]
                if len(e) != len(g):
                    self.wrong.append(f"{path}: {len(g)} references, ROOT has {len(e)}")
                self.compared += 1
                return
            g = next((g[k] for k in ("items", "fArray", "_M_elems") if k in g), g)
        if isinstance(g, dict) and not e and not g:
            return  # a map without keys
        if isinstance(g, dict) and e and all(isinstance(x, dict) and "$pair" in x for x in e):
            g = [{"first": k, "second": v} for k, v in g.items()]  # a map that was read by key
        if not isinstance(g, list):
            self.wrong.append(f"{path}: {str(g)[:80]}, expected a list of {len(e)}")
            return
        if (
            e
            and all(isinstance(x, dict) and "$pair" in x for x in e)
            and all(_pair(x) is not None for x in g)
        ):
            # the order of keys is that of a comparison which need not be known outside
            e, g = sorted(e, key=_pair_key), sorted(g, key=_pair_key)
        if e and len(e) == 2 * len(g) and all(_pair(x) is not None for x in g):
            # ROOT writes maps inside of other collections as key, value, key, value
            e = [{"first": e[i], "second": e[i + 1]} for i in range(0, len(e), 2)]
        if len(e) != len(g) and None in g:
            g = [x for x in g if x is not None]  # ROOT leaves out the empty places of an object array
            e = [x for x in e if x is not None]
        if len(e) != len(g) and e and isinstance(e[0], list) and len(_flat(e)) == len(g):
            e = _flat(e)  # [2][3] as [6]: the same values in the same order
        if len(e) != len(g):
            self.wrong.append(f"{path}: {len(g)} elements, ROOT has {len(e)}: {str(g)[:60]} / {str(e)[:60]}")
            return
        self.compared += 1
        for i, (a, b) in enumerate(zip(e, g)):
            self.value(a, b, f"{path}[{i}]")

    def _dict(self, e: dict[str, Any], g: Any, path: str) -> None:
        if "$n" in e:
            n, total, ordered = len(g), sum(g), sum(int(v) * (i % 1009) for i, v in enumerate(g))
            self.compared += 1
            if (n, total, ordered) != (e["$n"], e["$sum"], e["$ordered"]):
                self.wrong.append(f"{path}: {n} numbers, sums {total}, {ordered}; ROOT {list(e.values())}")
            return
        items = _items(e)
        if items is not None:
            self.value(items, g, path)
            return
        if "_blob" in e:  # a class that streams itself
            if e.get("_typename") not in SHOWN_RAW:
                return
            fields = [v for k, v in g.items() if k.lstrip("@") not in IGNORED] if isinstance(g, dict) else [g]
            if len(fields) == len(e["_blob"]):
                self.value(e["_blob"], fields, path)
            return
        members = {k: v for k, v in e.items() if k not in IGNORED and not k.startswith("$")}
        if set(members) == {"first", "second"}:
            pair = _pair(g)
            if pair is None:
                self.wrong.append(f"{path}: {str(g)[:80]}, expected a pair")
                return
            self.value(members["first"], pair[0], path + ".first")
            self.value(members["second"], pair[1], path + ".second")
            return
        if set(members) == {"fString"} and isinstance(g, str):
            self.value(members["fString"], g, path)
            return
        if not isinstance(g, dict):
            if members:
                self.wrong.append(f"{path}: {str(g)[:80]}, expected an object with {list(members)[:6]}")
            return
        mine = {k.lstrip("@"): v for k, v in g.items()}
        if e.get("_typename") == "TRef" and "ref" in mine:
            self.value(e["fUniqueID"] & 0xFFFFFF, mine["ref"], path + ".ref")
            return
        if e.get("_typename") == "TColor" and not mine.get("fTitle"):
            members.pop("fTitle", None)  # ROOT makes up titles of colours that have none
        for k, v in members.items():
            if k in mine and k in HASHED:
                self.value(unordered(v), unordered(mine[k]), f"{path}.{k}")
            elif k in mine:
                self.value(v, mine[k], f"{path}.{k}")
            elif not self.lenient and not self.partial:
                self.wrong.append(f"{path}.{k}: missing, there are {list(mine)[:12]}")
        # where objects of several classes meet in one column, each has the members of all, and no values for
        # them
        extra = [k for k, v in mine.items() if k not in members and k not in IGNORED and v is not None]
        if extra and not self.lenient:
            self.wrong.append(f"{path}: members that ROOT has not: {extra[:6]}")
