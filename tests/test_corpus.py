#!/usr/bin/env python3
"""Read every file of the corpus of real ROOT files and compare it with its truth, value by value.

    pytest tests/test_corpus.py                                  # needs the corpus folder, else skipped by
    name python tests/test_corpus.py --report [--reader uproot|sapwood] [-v] [FILE or part of a name ...]

The corpus is found through SAPWOOD_CORPUS or beside the checkout, in ../shared/corpus. What cannot be read
yet is listed with its reason in corpus_known.toml; an entry there that reads well after all is a failure too.

What happened to one item (a branch, an object, the list of keys):

    ok        same as the truth                    mismatch  other values, other parts, another shape
    weak      same sums as the truth               error     could not be read, though uproot or ROOT could
    unsure    the truth itself is weak, and        panic, crash, hang   must never happen
              differs (listed, no failure)         refused   could not be read, and no reader tells the values
    untold    read; no reader tells the values      group     holds no values of its own
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from support.guard import run_guarded
from support.known import load_listed
from support.parts import array_parts, number_part, pair, plain, sums, sums_differ
from support.readers import READERS, Reader, wrong_range
from support.truth import (
    brief,
    compare_json,
    compare_leaves,
    compare_members,
    compare_parts,
    entry_sums,
    is_told,
    told_by_root,
)

HERE = Path(__file__).resolve().parent
CORPUS = Path(os.environ.get("SAPWOOD_CORPUS") or HERE.parent.parent / "shared" / "corpus")
KNOWN = HERE / "corpus_known.toml"
CI = os.environ.get("CI", "").lower() in ("1", "true", "yes")

BAD = {"mismatch", "error", "panic", "crash", "hang"}
GOOD = {"ok", "weak", "unsure", "untold", "refused", "group"}
ORDER = ["ok", "weak", "unsure", "untold", "refused", "group", "mismatch", "error", "panic", "crash", "hang"]
RNTUPLE = {"ROOT::RNTuple", "ROOT::Experimental::RNTuple", "RNTuple"}
DIRECTORIES = {"TDirectory": "TDirectoryFile"}


def judge_branch(
    reader: Reader, b: dict[str, Any], branch: Any, entries: int, doubted: bool
) -> tuple[str, str]:
    up, root = b.get("uproot", {}), b.get("root") or {}
    try:
        array, objects = reader.values(branch), None
        ours = array_parts(array)
        length = len(array)
    except Exception as e:
        if "only groups its sub-branches" in str(e) and branch.branches and up.get("status") != "ok":
            return "group", ""
        failed = e
        try:
            objects = reader.objects(branch)
        except Exception as e2:
            failed = e2
            objects = None
        if objects is None:
            return ("error" if is_told(b) else "refused"), brief(failed)
        array, ours, length = None, None, len(objects)
    if reader.ranges and array is not None and (wrong := wrong_range(reader, branch, array)):
        return "mismatch", wrong
    if up.get("status") == "ok" and "parts" in up and ours is not None:
        leaves = told_by_root(b)
        if b.get("agree") in ("close", "differ", "unsure") and b.get("trust") in ("root", "none") and leaves:
            status, note = compare_leaves(leaves, ours)
            if b["trust"] == "none":
                return (
                    ("ok", "") if status == "ok" or not compare_parts(up["parts"], ours) else ("unsure", note)
                )
            if status != "ok":
                return status, note
            note = compare_parts(up["parts"], ours, values="nothing")
            return ("ok" if not note else "mismatch"), note
        note = compare_parts(up["parts"], ours, "head" if doubted else "digest")
        return ("mismatch" if note else "weak" if doubted else "ok"), note
    if up.get("status") == "ok" and "parts" in up:
        return "mismatch", "an array was expected, there are only Python objects"
    if up.get("status") == "ok" and "paths" in up:
        if length != up["entries"]:
            return "mismatch", f"{length} entries, expected {up['entries']}"
        wrong, missing = sums_differ(up["paths"], entry_sums(array if array is not None else objects))
        if wrong or missing:
            return "mismatch", "sums by path: " + "; ".join(wrong + missing)[:400]
        return "weak", ""
    leaves = told_by_root(b)
    if ours is not None and leaves:
        return compare_leaves(leaves, ours)
    if ours is not None and any(m.get("status") == "ok" for m in root.get("members", [])):
        return compare_members(root["members"], ours)
    if (root.get("json") or {}).get("status") == "ok":
        return compare_json(root["json"], array if array is not None else objects, entries)
    return "untold", ""


def judge_object(reader: Reader, t: dict[str, Any], f: Any, key: str) -> tuple[str, str]:
    up, root = t.get("uproot", {}), t.get("root", {})
    told = (up.get("status") == "ok" and bool(up.get("paths"))) or root.get("status") == "ok"
    try:
        o = f[key]
        ours = sums(
            plain(list(map(pair, o.items())) if isinstance(o, dict) else o, once=up.get("status") != "ok")
        )
    except Exception as e:
        return ("error" if told else "refused"), brief(e)
    if "values" in up:
        p = number_part("", np.asarray(o.values(flow=True), dtype="<f8"))
        if p.sha256 != up["values"]["sha256"]:
            return (
                "mismatch",
                f"values(): {p.n} total {p.total}, expected {up['values']['n']} total {up['values'].get('sum')}",
            )
    if up.get("status") == "ok" and up.get("paths"):
        wrong, missing = sums_differ(up["paths"], ours)
        if wrong or missing:
            return "mismatch", "; ".join(wrong + missing)[:400]
        return "ok", ""
    if root.get("status") == "ok" and "paths" in root and not root.get("unparsed"):
        wrong, missing = sums_differ(root["paths"], ours)
        if wrong:
            return "mismatch", "; ".join(wrong)[:400]
        return ("unsure", "; ".join(missing)[:400]) if missing else ("weak", "")
    return "untold", ""


def judge_keys(reader: Reader, truth: dict[str, Any], f: Any) -> tuple[str, str]:
    def norm(keys: Any) -> list[tuple[str, int, str]]:
        return sorted({(p, c, DIRECTORIES.get(cl, cl)) for p, c, cl in keys})

    expected = norm((k["path"], k["cycle"], k["class"]) for k in truth["keys"])
    ours = norm(reader.keys(f))
    if ours != expected:
        less = [k for k in expected if k not in ours]
        more = [k for k in ours if k not in expected]
        return "mismatch", f"missing {less[:5]}, unexpected {more[:5]}"
    records = reader.records(f)
    if records:
        by_seek = {r.get("seek_key", r.get("seek")): r for r in records}
        for k in truth["keys"]:
            r = by_seek.get(k["seek"])
            if r is None or (r.get("nbytes"), r.get("objlen")) != (k["nbytes"], k["objlen"]):
                return (
                    "mismatch",
                    f"{k['path']};{k['cycle']}: record {r}, expected seek {k['seek']} nbytes {k['nbytes']} objlen {k['objlen']}",
                )
    return "ok", ""


def find_branch(tree: Any, place: str) -> Any:
    b = tree
    for i in place.split("."):
        b = b.branches[int(i)]
    return b


# ---- one file


def check_file(
    reader: Reader, path: str, truth: dict[str, Any], doubted: set[str], skip: frozenset[str] = frozenset()
) -> Iterator[Any]:
    """Yields the name of an item before work on it starts and (status, note) when it ended."""

    def judged(item: str, told: dict[str, Any], work: Any) -> Iterator[Any]:
        if item in skip:
            return
        yield item
        try:
            status, note = work()
            yield ("refused" if status in BAD and reader.excused(told) else status), note
        except Exception as e:
            yield "error", f"(outside of reading) {brief(e)}"
        except BaseException as e:  # a Rust panic arrives as BaseException
            if type(e).__name__ != "PanicException":
                raise
            yield "panic", brief(e)

    readable = bool(truth["keys"])
    f: Any = None

    def open_file() -> tuple[str, str]:
        nonlocal f
        try:
            f = reader.open(path)
        except Exception as e:
            return ("error" if readable else "refused"), brief(e)
        return "ok", ""

    yield "open"  # always done anew: a child that is started again needs the file
    yield open_file()
    if f is None:
        return
    yield from judged("keys", {}, lambda: judge_keys(reader, truth, f))
    for key, t in truth["trees"].items():
        is_rntuple = t.get("class") in RNTUPLE
        tree: Any = None
        entries = t["entries"] if t.get("entries") is not None else t.get("root", {}).get("entries")

        def open_tree() -> tuple[str, str]:
            nonlocal tree
            try:
                tree = f[key]
            except Exception as e:
                return "error", brief(e)
            n = int(tree.num_entries)
            top = [b["path"] for b in t["branches"] if "." not in b["id"]]
            ours = [b.name for b in tree.branches] if not is_rntuple else top
            if n != entries:
                return "mismatch", f"{n} entries, expected {entries}"
            return ("ok", "") if ours == top else ("mismatch", f"branches {ours}, expected {top}"[:400])

        yield key
        status, note = open_tree()
        yield ("refused" if status in BAD and reader.excused(t) else status), note
        if tree is None:
            for b in t["branches"]:
                lost = ("error" if is_told(b) else "refused"), "the tree could not be read"
                yield from judged(f"{key}|{b['path']}", b, lambda lost=lost: lost)
            continue
        for b in t["branches"]:
            item = f"{key}|{b['path']}"

            def read_branch(
                b: Any = b, item: str = item, tree: Any = tree, entries: int = entries
            ) -> tuple[str, str]:
                place = b["id"]
                try:
                    branch = find_branch(tree, place) if not is_rntuple else tree[b["path"]]
                except Exception as e:
                    return "error", f"no branch at {place}: {brief(e)}"
                if branch.name != b["path"] and not b["path"].endswith("/" + branch.name):
                    return "mismatch", f"branch at {place} is {branch.name}, expected {b['path']}"
                if "entries" in b and int(branch.num_entries) != b["entries"]:
                    return "mismatch", f"{branch.num_entries} entries, expected {b['entries']}"
                if b.get("uproot", {}).get("status") == "group":
                    return "group", ""
                return judge_branch(reader, b, branch, entries, item in doubted)

            yield from judged(item, b, read_branch)
    for key, t in truth["objects"].items():
        yield from judged(key, t, lambda key=key, t=t: judge_object(reader, t, f, key))


def corpus_files() -> dict[str, dict[str, Any]]:
    index = json.loads((CORPUS / "index.json").read_text())
    return {entry["name"]: entry for entry in index["files"]}


def check_all(
    reader: Reader, names: list[str], parallel: int = 2
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    files = corpus_files()
    doubts = load_listed(KNOWN, "doubted", "file")

    def work(name: str, skip: frozenset[str], emit: Any, begin: Any) -> None:
        truth = json.loads((CORPUS / files[name]["truth"]).read_text())
        item, since = "", 0.0
        doubted = {i for n, i in doubts if n == name}
        for step in check_file(reader, str(CORPUS / name), truth, doubted, skip):
            if isinstance(step, str):
                item, since = step, time.perf_counter()
                begin(item)
            elif item not in skip:  # opening is repeated, not counted again
                emit(
                    {
                        "item": item,
                        "status": step[0],
                        "note": step[1],
                        "s": round(time.perf_counter() - since, 4),
                    }
                )

    largest_first = sorted(names, key=lambda n: -files[n]["size"])
    yield from run_guarded(work, largest_first, parallel)


def unexpected(name: str, records: list[dict[str, Any]], known: dict[tuple[str, str], str]) -> list[str]:
    """Lines on what is not as it should be: failures that are not listed, and listed ones that are none (any more)."""
    lines, seen = [], set()
    for r in records:
        seen.add(r["item"])
        listed = (name, r["item"]) in known
        if r["status"] in BAD and not listed:
            lines.append(f"{r['status']:9} {r['item']}: {r['note']}")
        elif r["status"] not in BAD and listed:
            lines.append(f"listed in {KNOWN.name}, but reads well ({r['status']}): {r['item']}")
    lines += [
        f"listed in {KNOWN.name}, but there is no such item: {i}"
        for n, i in known
        if n == name and i not in seen
    ]
    return lines


# ---- pytest

if "pytest" in sys.modules:
    import pytest

    def files_or_reason() -> tuple[list[str], str]:
        if not (CORPUS / "index.json").exists():
            return [], f"the corpus of real files is not here ({CORPUS.name}; set SAPWOOD_CORPUS)"
        if not hasattr(os, "fork"):
            return [], "the corpus tests need fork"
        try:
            import sapwood  # noqa: F401
        except ImportError as e:
            if CI:
                raise
            return [], f"sapwood is not installed: {e}"
        return sorted(corpus_files()), ""

    FILES, REASON = files_or_reason()
    pytestmark = pytest.mark.skipif(not FILES, reason=REASON)

    @pytest.fixture(scope="session")
    def results(request: pytest.FixtureRequest) -> dict[str, list[dict[str, Any]]]:
        """All files that this session asks for, read two at a time before the first comparison is judged."""
        asked = {
            i.callspec.params["name"]
            for i in request.session.items
            if i.name.startswith("test_file[") and hasattr(i, "callspec")
        }
        return dict(check_all(READERS["sapwood"](), sorted(asked & set(FILES))))

    @pytest.fixture(scope="session")
    def known() -> dict[tuple[str, str], str]:
        return load_listed(KNOWN, "known", "file")

    @pytest.mark.parametrize("name", FILES or ["(no corpus)"])
    def test_file(name: str, results: Any, known: Any) -> None:
        lines = unexpected(name, results[name], known)
        assert not lines, "\n".join([f"{name}: {len(lines)} unexpected", *lines[:40]])

    def test_known_names_real_files(known: Any) -> None:
        listed = {**known, **load_listed(KNOWN, "doubted", "file")}
        assert {name for name, _ in listed} <= set(FILES)


# ---- the report


def report(args: argparse.Namespace) -> int:
    reader = READERS[args.reader]()
    files = corpus_files()
    names = [n for n in files if not args.files or any(Path(a).name in n for a in args.files)]
    known = load_listed(KNOWN, "known", "file") if args.reader == "sapwood" else {}
    began = time.perf_counter()
    per_kind: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    failures: list[tuple[str, dict[str, Any]]] = []
    reasons: collections.Counter[str] = collections.Counter()
    slow: list[tuple[float, str]] = []
    results: dict[str, Any] = {}
    surprises = 0
    for name, records in check_all(reader, names, args.jobs):
        results[name] = records
        truth_trees = set(json.loads((CORPUS / files[name]["truth"]).read_text())["trees"])
        for r in records:
            kind = (
                "file"
                if r["item"] in ("open", "keys", "(file)")
                else "tree"
                if r["item"] in truth_trees
                else "branch"
                if "|" in r["item"]
                else "object"
            )
            per_kind[kind][r["status"]] += 1
            shown = BAD | ({"unsure", "refused"} if args.verbose else set())
            if r["status"] in shown:
                failures.append((name, r))
                reasons[f"{kind} {r['status']}: " + re.sub(r"[0-9]+", "#", r["note"])[:110]] += 1
            slow.append((r.get("s", 0), f"{name} {r['item']}"))
        surprises += len(unexpected(name, records, known))
    shown_per_file: collections.Counter[str] = collections.Counter()
    for name, r in sorted(failures, key=lambda x: x[0]):
        shown_per_file[name] += 1
        if shown_per_file[name] <= args.per_file:
            mark = " (known)" if (name, r["item"]) in known else ""
            print(f"{r['status']:9}{mark} {name}  {r['item']}\n            {r['note'][: args.width]}")
    for name, n in shown_per_file.items():
        if n > args.per_file:
            print(f"{name}: {n - args.per_file} more")
    print("\nmost frequent reasons")
    for reason, n in reasons.most_common(args.reasons):
        print(f"{n:6}  {reason}")
    print(f"\n{'':8}" + "".join(f"{s:>9}" for s in ORDER) + f"{'sum':>9}")
    for kind in ("file", "tree", "branch", "object"):
        c = per_kind[kind]
        print(f"{kind:8}" + "".join(f"{c[s] or '.':>9}" for s in ORDER) + f"{sum(c.values()):>9}")
    clean = sum(not any(r["status"] in BAD for r in records) for records in results.values())
    print(
        f"\n{clean} of {len(results)} files without a failure, {time.perf_counter() - began:.1f} s; reader {args.reader}; {len(known)} known"
    )
    if args.slow:
        print("\n".join(f"{s:8.2f} s  {what}" for s, what in sorted(slow, reverse=True)[: args.slow]))
    if args.json:
        Path(args.json).write_text(json.dumps(results, indent=1))
    return 1 if surprises and args.reader == "sapwood" else 0


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--report", action="store_true", help="print a table and the first lines of each failure")
    ap.add_argument("--reader", choices=sorted(READERS), default="sapwood")
    ap.add_argument("--jobs", type=int, default=2, help="processes")
    ap.add_argument("--per-file", type=int, default=5, help="failures shown of one file")
    ap.add_argument("--reasons", type=int, default=25, help="most frequent reasons shown")
    ap.add_argument("--slow", type=int, default=0, help="slowest items shown")
    ap.add_argument("--width", type=int, default=300, help="characters of a note shown")
    ap.add_argument("--json", help="write all results to this file")
    ap.add_argument("-v", "--verbose", action="store_true", help="show unsure and refused items too")
    ap.add_argument("files", nargs="*", help="names of files, or parts of names (all when absent)")
    args = ap.parse_args()
    if not (CORPUS / "index.json").exists():
        print(f"no corpus at {CORPUS}; set SAPWOOD_CORPUS", file=sys.stderr)
        return 2
    return report(args)


if __name__ == "__main__":
    sys.exit(main())
