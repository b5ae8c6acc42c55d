"""Compare what a reader gives with ROOT's own view of the same entry, as TBufferJSON wrote it."""

from __future__ import annotations

import math
from typing import Any

IGNORED = {"_typename", "fUniqueID", "fBits", "fPID", "fIOFeatures"}
"""ROOT's additions to its JSON, and what ROOT changes in memory."""

COLLECTIONS = ("TClonesArray", "TObjArray", "TList", "THashList", "TOrdCollection", "TRefArray")


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
    """The values of one sub-branch: follow its name through objects, and through lists element by element."""
    if not names:
        return value
    if isinstance(value, list):
        return [column(v, names, bases) for v in value]
    if isinstance(value, dict):
        if "arr" in value and names[0] not in value:
            return [column(v, names, bases) for v in value["arr"]]
        if names[0] in value:
            return column(value[names[0]], names[1:], bases)
        if names[0] in bases:  # a branch of a base class; JSON holds its members flat
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
    if isinstance(g, tuple) and len(g) == 2:
        return g
    if isinstance(g, list) and len(g) == 2:
        return g[0], g[1]
    if isinstance(g, dict):
        g = {k.lstrip("@"): v for k, v in g.items()}
        if set(g) == {"first", "second"}:
            return g["first"], g["second"]
        if set(g) == {"0", "1"}:
            return g["0"], g["1"]
    return None


def _text(g: list[Any]) -> str | None:
    """Characters that a reader gives as numbers."""
    if all(isinstance(x, (int, bool)) for x in g):
        return bytes(int(x) & 255 for x in g).split(b"\0")[0].decode("latin-1")
    return None


def _number(x: Any) -> Any:
    return float(x) if x in ("nan", "inf", "-inf") else x


def _pairs_in_row(e: list[Any]) -> list[Any]:
    """ROOT writes maps inside of other collections as key, value, key, value."""
    return [{"first": e[i], "second": e[i + 1]} for i in range(0, len(e), 2)]


def differences(e: Any, g: Any, path: str = "", out: list[str] | None = None, lenient: bool = False) -> list[str]:
    """`e`: ROOT's JSON, `g`: plain values of a reader. Numbers must be equal, not near. `lenient` is for objects by key:
    members that only ROOT tells are left out."""
    out = [] if out is None else out
    if len(out) > 5:
        return out
    if isinstance(e, dict) and "$n" in e:
        n, total, ordered = len(g), sum(g), sum(int(v) * (i % 1009) for i, v in enumerate(g))
        if (n, total, ordered) != (e["$n"], e["$sum"], e["$ordered"]):
            out.append(f"{path}: {n} numbers, sums {total}, {ordered}; ROOT {e['$n']}, {e['$sum']}, {e['$ordered']}")
        return out
    if isinstance(e, dict):
        items = _items(e)
        if items is not None:
            if isinstance(g, dict):
                g = g.get("items", g.get("fArray", g))
            if isinstance(items, list) and isinstance(g, list):
                # an object array keeps its empty places, some readers drop those at the end
                while len(items) > len(g) and items[-1] is None:
                    items = items[:-1]
            return differences(items, g, path, out, lenient)
        if "_blob" in e:
            e = e["_blob"]
            if isinstance(g, dict):
                g = list(v for k, v in g.items() if k.lstrip("@") not in IGNORED)
            return differences(e, g if isinstance(g, list) else [g], path, out, lenient)
        members = {k: v for k, v in e.items() if k not in IGNORED and not k.startswith("$")}
        if set(members) == {"first", "second"}:
            pair = _pair(g)
            if pair is None:
                out.append(f"{path}: {str(g)[:80]}, expected a pair")
                return out
            differences(members["first"], pair[0], path + ".first", out, lenient)
            return differences(members["second"], pair[1], path + ".second", out, lenient)
        if set(members) == {"fString"} and isinstance(g, str):
            return differences(members["fString"], g, path, out, lenient)
        if not isinstance(g, dict):
            if members:
                out.append(f"{path}: {str(g)[:80]}, expected an object with {list(members)[:6]}")
            return out
        mine = {k.lstrip("@"): v for k, v in g.items()}
        for k, v in members.items():
            if k not in mine:
                if not lenient:
                    out.append(f"{path}.{k}: missing, there are {list(mine)[:12]}")
                continue
            differences(v, mine[k], f"{path}.{k}", out, lenient)
        if not lenient:
            extra = [k for k in mine if k not in members and k not in IGNORED]
            if extra:
                out.append(f"{path}: members that ROOT has not: {extra[:6]}")
        return out
    if isinstance(e, list):
        if isinstance(g, dict) and isinstance(g.get("items", g.get("fArray")), list):
            g = g.get("items", g.get("fArray"))
        if not isinstance(g, list):
            out.append(f"{path}: {str(g)[:80]}, expected a list of {len(e)}")
            return out
        if e and len(e) == 2 * len(g) and all(_pair(x) is not None for x in g):
            e = _pairs_in_row(e)
        if len(e) != len(g):
            out.append(f"{path}: {len(g)} elements, ROOT has {len(e)}: {str(g)[:60]} / {str(e)[:60]}")
            return out
        for i, (a, b) in enumerate(zip(e, g)):
            differences(a, b, f"{path}[{i}]", out, lenient)
        return out
    if isinstance(e, str) and isinstance(g, list):
        text = _text(g)
        g = text if text is not None else g
    e, g = _number(e), _number(g)
    if isinstance(e, (bool, int, float)) and isinstance(g, (bool, int, float)):
        if e != g and not (math.isnan(e) and math.isnan(g)):
            out.append(f"{path}: {g!r}, ROOT has {e!r}")
    elif e != g:
        out.append(f"{path}: {str(g)[:80]!r}, ROOT has {str(e)[:80]!r}")
    return out
