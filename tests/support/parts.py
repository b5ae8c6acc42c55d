"""Values as parts: a form of a column that no library owns.

The corpus truth and the dumps of real ROOT hold every column as a flat list of parts, one for each list level
and one for each leaf, each with a digest of its packed little-endian bytes. This module turns Awkward Arrays
and plain Python objects into the same form, so that any reader can be compared with any other, value by value
and without sharing code.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import awkward as ak
import numpy as np

__all__ = ["Part", "array_parts", "number_part", "pair", "plain", "string_part", "sums", "sums_differ"]


def digest(*pieces: bytes) -> str:
    h = hashlib.sha256()
    for piece in pieces:
        h.update(piece)
    return h.hexdigest()[:32]


@dataclass
class Part:
    """One list level (`counts`), one leaf (`values`), or the mask or tags of an option or a union."""

    path: str
    kind: str
    n: int
    sha256: str
    dtype: str | None = None
    head: list[Any] = field(default_factory=list)
    total: float | None = None
    per_entry: str | None = None
    """Digest of the number of values that each entry has (only `values`, and not below a union)."""

    @property
    def key(self) -> tuple[str, str]:
        return self.path, self.kind


def packed(a: np.ndarray, dtype: str | None = None) -> bytes:
    a = np.ascontiguousarray(a)
    target = np.dtype(dtype or a.dtype).newbyteorder("<")
    return a.astype(target, copy=False).tobytes()


def number_part(path: str, a: np.ndarray, per_entry: np.ndarray | None = None) -> Part:
    """The part of a leaf: all its numbers in order; a bool counts as one byte that is 0 or 1."""
    a = np.asarray(a).reshape(-1)
    name = a.dtype.name
    if a.dtype == np.bool_:
        # memory that came from a file may hold other bytes than 0 and 1
        a = (np.ascontiguousarray(a).view(np.uint8) != 0).astype(np.uint8)
    with np.errstate(all="ignore"):
        total = float(a.sum(dtype=np.float64)) if a.size and a.dtype.kind in "iuf" else None
    return Part(
        path,
        "values",
        int(a.size),
        digest(packed(a)),
        name,
        [x.item() for x in a[:4]],
        total,
        None if per_entry is None else digest(packed(per_entry, "<i8")),
    )


def string_part(path: str, lengths: np.ndarray, data: bytes, per_entry: np.ndarray | None = None) -> Part:
    lengths = np.asarray(lengths, dtype="<i8")
    head = [data[: int(lengths[0])][:60].decode("utf-8", "replace")] if lengths.size else []
    per = None if per_entry is None else digest(packed(per_entry, "<i8"))
    return Part(path, "values", int(lengths.size), digest(lengths.tobytes(), data), "string", head, None, per)


def counts_part(path: str, counts: np.ndarray) -> Part:
    counts = np.asarray(counts, dtype="<i8")
    return Part(
        path,
        "counts",
        int(counts.size),
        digest(counts.tobytes()),
        "int64",
        counts[:4].tolist(),
        float(counts.sum()),
    )


def array_parts(array: Any) -> list[Part]:
    """All parts of an Awkward Array (or of anything `ak.Array` takes), depth first."""
    array = ak.Array(array) if not isinstance(array, ak.Array) else array
    layout = ak.to_packed(array).layout
    parts: list[Part] = []
    _walk(layout, "", np.arange(layout.length + 1, dtype=np.int64), parts)
    return parts


def _walk(lay: Any, path: str, bounds: np.ndarray | None, parts: list[Part]) -> None:
    """`bounds[i]:bounds[i+1]` are the items of this layout that belong to entry i (None below a union)."""

    def per_entry(times: int = 1) -> np.ndarray | None:
        return None if bounds is None else (bounds[1:] - bounds[:-1]) * times

    meaning = lay.parameter("__array__")
    if lay.is_unknown:
        parts.append(Part(path, "values", 0, digest(b""), "unknown", [], None, None))
    elif lay.is_numpy:
        a = np.asarray(lay.data)
        for size in a.shape[1:]:
            path += f"[{size}]"
        parts.append(number_part(path, a, per_entry(math.prod(a.shape[1:]))))
    elif lay.is_list and meaning in ("string", "bytestring"):
        lay = lay.to_ListOffsetArray64(True)
        offsets = np.asarray(lay.offsets.data)
        data = np.asarray(lay.content.data)[: offsets[-1]] if len(offsets) else np.zeros(0, np.uint8)
        parts.append(string_part(path, offsets[1:] - offsets[:-1], data.tobytes(), per_entry()))
    elif lay.is_regular:
        inner = None if bounds is None else bounds * lay.size
        _walk(lay.content[: lay.length * lay.size], f"{path}[{lay.size}]", inner, parts)
    elif lay.is_list:
        lay = lay.to_ListOffsetArray64(True)
        offsets = np.asarray(lay.offsets.data)
        parts.append(counts_part(path + "[]", offsets[1:] - offsets[:-1]))
        _walk(lay.content[: offsets[-1]], path + "[]", None if bounds is None else offsets[bounds], parts)
    elif lay.is_record:
        if not lay.fields:
            parts.append(Part(path, "empty-record", int(lay.length), digest(b"")))
        for name in lay.fields:
            _walk(lay[name], f"{path}.{name.lstrip('@')}", bounds, parts)
    elif lay.is_option:
        valid = ~np.asarray(lay.mask_as_bool(valid_when=False))
        parts.append(Part(path + "?", "valid", int(valid.size), digest(valid.astype("u1").tobytes())))
        inner = None if bounds is None else np.concatenate([[0], np.cumsum(valid)])[bounds]
        _walk(lay.project(), path + "?", inner, parts)
    elif lay.is_indexed:
        _walk(lay.project(), path, bounds, parts)
    elif lay.is_union:
        tags = np.asarray(lay.tags.data)
        parts.append(Part(path + "|", "tags", int(tags.size), digest(packed(tags, "<i8"))))
        for i in range(len(lay.contents)):
            _walk(lay.project(i), f"{path}|{i}", None, parts)
    else:
        raise TypeError(f"no parts for {type(lay).__name__}")


# ---- whole objects: sums by path, a weaker form for what is no column


MAX_NODES = 300_000
MAX_DEPTH = 30


def plain(thing: Any, once: bool = False) -> Any:
    """An object read by key as plain dicts, lists, numbers and strings. Huge ones are cut off: geometries refer to
    themselves. With `once`, an object that is pointed at again is a reference, as in ROOT's JSON."""
    return _plain(thing, 0, [0], set() if once else None)


def pair(item: tuple[Any, Any]) -> dict[str, Any]:
    """A pair of a map as a record of the file."""
    return {"first": item[0], "second": item[1]}


def _plain(o: Any, depth: int, nodes: list[int], seen: set[Any] | None) -> Any:
    if o is None or isinstance(o, (bool, int, float, str)) and type(o) in (bool, int, float, str):
        return o
    if isinstance(o, type):
        return o.__name__
    if isinstance(o, np.ndarray):
        return o.tolist() if o.dtype.kind != "O" else [_plain(x, depth + 1, nodes, seen) for x in o]
    if isinstance(o, np.generic):
        return o.item()
    if isinstance(o, (bytes, bytearray)):
        return bytes(o).decode("latin-1")
    if isinstance(o, ak.Array):
        return _plain(o.to_list(), depth, nodes, seen)
    members = getattr(o, "all_members", None)
    nodes[0] += members is not None
    if depth > MAX_DEPTH or (nodes[0] > MAX_NODES and members is not None):
        return "..."
    mark = getattr(getattr(o, "_identity", None), "id", None)
    if seen is not None and mark is not None:
        if mark in seen:
            return {"$ref": mark}
        seen.add(mark)
    if members is not None:
        if getattr(o, "classname", "") in ("TString", "TObjString"):
            return str(o)
        # a dictionary in an object is a map of the file
        out = {
            k: _plain(list(map(pair, v.items())) if isinstance(v, dict) else v, depth + 1, nodes, seen)
            for k, v in members.items()
            if not k.startswith("@")
        }
        if isinstance(o, Sequence) or (hasattr(o, "_data") and hasattr(o, "__iter__")):
            try:
                out["items"] = [_plain(x, depth + 1, nodes, seen) for x in o]
            except Exception:  # a histogram is iterable in some readers and not in others
                pass
        return out
    if isinstance(o, str):
        return str(o)
    if type(o).__name__ == "STLMap" or (isinstance(o, Mapping) and not isinstance(o, dict)):
        pairs = zip(o.keys(), o.values())
        return [
            {"first": _plain(k, depth + 1, nodes, seen), "second": _plain(v, depth + 1, nodes, seen)}
            for k, v in pairs
        ]
    if isinstance(o, dict):
        return {str(k): _plain(v, depth + 1, nodes, seen) for k, v in o.items()}
    if isinstance(o, Iterable):
        return [_plain(x, depth + 1, nodes, seen) for x in o]
    return f"<{type(o).__name__}>"


def sums(
    thing: Any, out: dict[str, dict[str, Any]] | None = None, path: str = ""
) -> dict[str, dict[str, Any]]:
    """Per path of a plain object: count, sum, min, max of numbers; count and total length of strings; sizes of lists."""
    out = {} if out is None else out
    if isinstance(thing, bool):
        thing = int(thing)
    if isinstance(thing, dict):
        for k, v in thing.items():
            sums(v, out, f"{path}.{k}" if path else str(k))
    elif isinstance(thing, (list, tuple)):
        e = out.setdefault(path + "[]", {})
        e["lists"] = e.get("lists", 0) + 1
        e["items"] = e.get("items", 0) + len(thing)
        for v in thing:
            sums(v, out, path + "[]")
    elif isinstance(thing, (int, float)):
        e = out.setdefault(path, {})
        e["n"] = e.get("n", 0) + 1
        e["sum"] = e.get("sum", 0) + thing
        e["min"] = min(e.get("min", thing), thing)
        e["max"] = max(e.get("max", thing), thing)
    elif isinstance(thing, str):
        e = out.setdefault(path, {})
        e["strings"] = e.get("strings", 0) + 1
        e["chars"] = e.get("chars", 0) + len(thing)
    return out


UNCOMPARED = {"fBits", "fUniqueID", "_typename"}
"""ROOT changes these in memory, or they are ROOT's own additions to its JSON."""


def _last(path: str) -> str:
    return path.replace("[]", "").rsplit(".", 1)[-1].lstrip("@")


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, str) or isinstance(b, str):  # "nan" and "inf" are strings in JSON
        return str(a) == str(b)
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return a == b or math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-9)


def sums_differ(
    truth: dict[str, dict[str, Any]], ours: dict[str, dict[str, Any]]
) -> tuple[list[str], list[str]]:
    """Compare sums by path. Returns (differences at paths that both have, paths or counts that only the truth has)."""
    ours = {k.replace("@", ""): v for k, v in ours.items()}
    by_last: dict[str, list[dict[str, Any]]] = {}
    for k, v in ours.items():
        by_last.setdefault(_last(k), []).append(v)
    wrong, missing = [], []
    for path, t in truth.items():
        if _is_hidden(path, ours):
            continue
        if path == "..." or _last(path) in UNCOMPARED or _last(path).startswith("$"):
            continue
        if not (t.get("n") or t.get("strings")):
            continue
        name = path.replace("@", "")
        o = ours.get(name) or _length(name, ours)
        if o is None and (name == "items[]" or name.endswith(".items[]")):
            # an array is a list of numbers, not an object that has one
            o = ours.get(name.removesuffix("items[]").removesuffix(".") + "[]")
        if o is None:
            # the same member may hang under another name (a base class, `arr` for the items of a list)
            same = [
                v
                for v in by_last.get(_last(path), [])
                if v.get("n", 0) == t.get("n", 0) and v.get("strings", 0) == t.get("strings", 0)
            ]
            if not any(_same_sums(t, v) for v in same):
                missing.append(f"{path}: not found")
        elif o.get("n", 0) != t.get("n", 0) or o.get("strings", 0) != t.get("strings", 0):
            missing.append(
                f"{path}: {o.get('n', 0)} numbers, {o.get('strings', 0)} strings; expected {t.get('n', 0)}, {t.get('strings', 0)}"
            )
        elif not _same_sums(t, o):
            wrong.append(f"{path}: {_brief(o)}; expected {_brief(t)}")
    return wrong, missing


def _is_hidden(path: str, ours: dict[str, dict[str, Any]]) -> bool:
    """Is it the name or first index of a collection? In columns, a collection is the list of its items alone."""
    above, _, last = path.rpartition(".")
    return last in ("fName", "fLowerBound") and path not in ours and "lists" in ours.get(above + "[]", {})


def _length(path: str, ours: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
    """What uproot calls `fN` of an array or `fSize` of a collection: lengths of lists here."""
    above, _, last = path.rpartition(".")
    if last not in ("fN", "fSize"):
        return None
    places = (f"{above}[]",) if last == "fN" else (f"{above}.items[]", f"{above}[]", f"{above}.refs[]")
    for place in places:
        found = ours.get(place.lstrip("."))
        if found and "lists" in found:
            return {"n": found["lists"], "sum": found["items"]}
    bases = ["fArray", *(f"TArray{letter}" for letter in "CSILFD")]
    arrays = [ours.get(f"{above}.{base}[]".lstrip("."), {}) for base in bases]
    lists = sum(found.get("lists", 0) for found in arrays)
    return {"n": lists, "sum": sum(found.get("items", 0) for found in arrays)} if lists else None


def _same_sums(t: dict[str, Any], o: dict[str, Any]) -> bool:
    nan = any(
        isinstance(t.get(k), str) or (isinstance(o.get(k), float) and math.isnan(o[k]))
        for k in ("sum", "min", "max")
    )
    # min and max of NaN depend on the order of calls
    keys = ("chars",) if nan else ("sum", "min", "max", "chars")
    if "n" in o and "min" not in o:
        keys = ("sum",)
    return all(_close(t.get(k, 0), o.get(k, 0)) for k in keys)


def _brief(e: dict[str, Any]) -> str:
    return ", ".join(f"{k} {e[k]}" for k in ("sum", "min", "max", "chars") if k in e)
