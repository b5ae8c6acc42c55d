"""Values of one branch or object beside what other readers found: most functions give a status and a note.

The statuses are those of `test_corpus.py`.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from support.parts import Part, plain, sums, sums_differ


def brief(e: BaseException) -> str:
    try:
        text = str(e)
    except Exception:  # an error whose own text fails
        text = "(no text)"
    return f"{type(e).__name__}: {text}".strip().replace("\n", " ")[:400]


def merge_dimensions(path: str) -> str:
    """`[2][3]` and `[6]` are the same values in the same order."""

    def product(m: re.Match[str]) -> str:
        return f"[{int(np.prod([int(x) for x in re.findall(r'[0-9]+', m.group())]))}]"

    return re.sub(r"(\[[0-9]+\])+", product, path)


def last_name(path: str) -> str:
    return path.rsplit(".", 1)[-1].split("[")[0]


def is_uncompared(path: str) -> bool:
    return last_name(path) == "fBits"


def is_length(t: dict[str, Any], ours: list[Part]) -> bool:
    """Is it the `fN` of an array or the `fSize` of a collection? Those are lists of ours, and no members of them."""
    above = t["path"].rpartition(".")[0]
    return last_name(t["path"]) in ("fN", "fSize") and any(
        p.kind == "counts" and p.path.startswith(above) for p in ours
    )


def same_counter(theirs: str, ours: str) -> bool:
    """A counter is unsigned here, as in uproot; ROOT's own values have the sign that the class declares."""
    return (theirs, ours) == ("int32", "uint32")


def compare_parts(truth: list[dict[str, Any]], ours: list[Part], values: str = "digest") -> str:
    """Difference between the truth's parts and ours in one line, or an empty string. Of values are compared the
    `digest`, or only the `head`, or `nothing`."""
    mine = {(merge_dimensions(p.path), p.kind): p for p in ours}
    for t in truth:
        if is_uncompared(t["path"]) or (values == "nothing" and t["kind"] == "values"):
            continue
        p = mine.pop((merge_dimensions(t["path"]), t["kind"]), None)
        name = f"{t['kind']} {t['path'] or '(top)'}"
        if p is None and is_length(t, ours):
            continue
        if p is None:
            return f"{name} missing; we have {', '.join(f'{q.kind} {q.path}' for q in ours)[:200]}"
        if (
            t["kind"] == "values"
            and t["dtype"] != p.dtype
            and not (t["dtype"] == "unknown" and t["n"] == p.n == 0)
        ):
            return f"{name}: dtype {p.dtype}, expected {t['dtype']}"
        if t["n"] != p.n:
            return f"{name}: {p.n} items, expected {t['n']}"
        if t["kind"] == "values" and values == "head" and t.get("head", []) == p.head:
            continue
        if "sha256" in t and t["sha256"] != p.sha256 and t.get("dtype") != "unknown":
            return (
                f"{name}: head {p.head} total {p.total}, expected head {t.get('head')} total {t.get('sum')}"
            )
    # uproot leaves these two members of a TRefArray out
    extra = [
        f"{kind} {path}"
        for path, kind in mine
        if not is_uncompared(path) and last_name(path) not in ("pidf", "fLowerBound")
    ]
    extra = [] if values == "nothing" else extra
    return f"parts that the truth has not: {', '.join(extra)[:200]}" if extra else ""


def compare_leaves(leaves: list[dict[str, Any]], ours: list[Part]) -> tuple[str, str]:
    """ROOT's own values of a branch, leaf by leaf in order. TTreeFormula (`via`) is not always right about which branch
    it takes and about nested vectors: another number of values is then no proof."""
    mine = [p for p in ours if p.kind == "values"]
    if leaves and all(is_uncompared(t.get("name", "")) for t in leaves) and len(mine) == len(leaves):
        return "untold", ""
    if len(mine) != len(leaves):
        note = f"{len(mine)} leaves, ROOT has {len(leaves)}"
        return ("unsure" if any(t.get("via") for t in leaves) else "mismatch"), note
    for t, p in zip(leaves, mine):
        same_counts = p.per_entry is None or "counts_sha256" not in t or p.per_entry == t["counts_sha256"]
        if (
            t["n"] == p.n
            and t["sha256"] == p.sha256
            and (t["dtype"] == p.dtype or t["n"] == 0 or same_counter(t["dtype"], p.dtype or ""))
            and same_counts
        ):
            continue
        note = f"{p.path or t.get('name')}: {p.n} {p.dtype} head {p.head} total {p.total}; "
        note += f"ROOT has {t['n']} {t['dtype']} head {t.get('head')} total {t.get('sum')}"
        if t["n"] == p.n and t["sha256"] == p.sha256 and t["dtype"] == p.dtype:
            note += "; values same, numbers of values in each entry differ"
        return ("unsure" if t.get("via") and t["n"] != p.n else "mismatch"), note
    return "ok", ""


def member_path(path: str) -> str:
    path = re.sub(r"\[[0-9]*\]|\?|\|[0-9]+|@", "", path)
    return re.sub(r"\.1$|\.1(?=\.)", ".second", re.sub(r"\.0$|\.0(?=\.)", ".first", path)).lstrip(".")


def compare_members(members: list[dict[str, Any]], ours: list[Part]) -> tuple[str, str]:
    """ROOT's values of single members of whole objects, by TTreeFormula: equal digests prove, another count does not."""
    mine: dict[str, list[Part]] = {}
    for p in ours:
        if p.kind == "values":
            mine.setdefault(member_path(p.path), []).append(p)
    proved, doubts = 0, []
    for t in members:
        if t.get("status") != "ok" or is_uncompared(t["path"]):
            continue
        found = mine.get(t["path"]) or [
            p for k, ps in mine.items() if k.endswith("." + t["path"]) for p in ps
        ]
        if any(p.n == t["n"] and p.sha256 == t["sha256"] for p in found):
            proved += 1
        elif any(p.n == t["n"] and t["n"] for p in found):
            p = next(p for p in found if p.n == t["n"])
            doubts.append(
                f"{t['path']}: head {p.head} total {p.total}, ROOT head {t.get('head')} total {t.get('sum')}"
            )
        else:
            doubts.append(f"{t['path']}: {[p.n for p in found]} values, ROOT {t['n']}")
    if proved and not doubts:
        return "ok", ""
    return ("untold" if not doubts else "unsure"), f"{proved} members proved; " + "; ".join(doubts)[:300]


def entry_sums(entries: Any) -> dict[str, dict[str, Any]]:
    """Sums by path, the paths beginning inside the entry."""
    out: dict[str, dict[str, Any]] = {}
    for x in entries.to_list() if hasattr(entries, "to_list") else entries:
        sums(plain(x), out)
    return out


def compare_json(weak: dict[str, Any], values: Any, entries: int) -> tuple[str, str]:
    """Sums by path of whole objects against ROOT's JSON, which leaves out and renames: a difference is no proof."""
    if weak.get("entries") != entries or weak.get("unparsed"):
        return "untold", ""
    wrong, missing = sums_differ(weak["paths"], entry_sums(values))
    return ("weak", "") if not wrong and not missing else ("unsure", "; ".join(wrong + missing)[:400])


def told_by_root(b: dict[str, Any]) -> list[dict[str, Any]]:
    return [t for t in (b.get("root") or {}).get("leaves", []) if t.get("status") == "ok" and "sha256" in t]


def is_told(b: dict[str, Any]) -> bool:
    """Is there a known truth for this branch?"""
    root = b.get("root") or {}
    return (
        b.get("uproot", {}).get("status") == "ok"
        or bool(told_by_root(b))
        or any(m.get("status") == "ok" for m in root.get("members", []))
        or (root.get("json") or {}).get("status") == "ok"
    )
