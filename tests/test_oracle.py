#!/usr/bin/env python3
"""Awkward cases that real ROOT writes here and now: Sapwood must read what ROOT reads from them, and what uproot reads.

    pytest tests/test_oracle.py                 # needs ROOT and uproot; skipped by name without them, unless
    CI is set python tests/test_oracle.py --report [--reader uproot|sapwood] [-v] [CASE ...]

The files are generated once (tests/oracle/generate.py) into a cache folder: SAPWOOD_ORACLE_CACHE, or one
below the system's temporary folder; its name changes with the generator. Failures that are understood stand
in oracle_known.toml.
"""

from __future__ import annotations

import argparse
import collections
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "oracle")]

import generate

from support.guard import run_guarded
from support.known import load_listed
from support.parts import array_parts, plain
from support.readers import READERS, Reader, wrong_range
from support.rootjson import Comparison, NoOracle, column, resolve_references, unordered

KNOWN = HERE / "oracle_known.toml"
CI = os.environ.get("CI", "").lower() in ("1", "true", "yes")
BAD = {"mismatch", "error", "panic", "crash", "hang"}
ORDER = ["ok", "by uproot", "untold", "group", "mismatch", "error", "panic", "crash", "hang"]

SAME_AS = {"leaves_offset_map": "leaves_zlib", "leaves_offset_map_raw": "leaves_zlib"}
"""ROOT 6.40 leaves out the offsets of arrays that it cannot count again (`x[n][2]`, packed ones) and then misreads its
own file; the values are those of the other case."""

BASES = frozenset({"Base1", "Base2", "TObject", "TNamed", "Track", "Plain", "Hit"})
UNORDERED = re.compile(r"fUset|fUmap")
SPECIAL = re.compile(r"(^|[./])(fBits|fUniqueID)$")


def cache_folder() -> Path:
    base = (
        os.environ.get("SAPWOOD_ORACLE_CACHE")
        or Path(tempfile.gettempdir()) / f"sapwood-oracle-{os.getuid()}"
    )
    return Path(base) / generate.fingerprint()


def ensure_cases() -> Path:
    """Generate what is not there yet, in another interpreter: ROOT must not share a process with the readers."""
    folder = cache_folder()
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            [sys.executable, str(HERE / "oracle" / "generate.py"), str(folder)],
            check=False,
            capture_output=True,
            text=True,
            timeout=1800,
        )
        if done.returncode != 0:
            raise RuntimeError(
                f"ROOT could not write the oracle cases:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
            )
        (folder / "complete").write_text(done.stdout)
    return folder


# ---- comparing


def brief(e: BaseException) -> str:
    try:
        text = str(e)
    except Exception:  # an error whose own text fails
        text = "(no text)"
    return f"{type(e).__name__}: {text}".strip().replace("\n", " ")[:300]


def expected_values(top: dict[str, Any], top_name: str, name: str) -> tuple[list[Any], bool]:
    """ROOT's values of the (sub-)branch `name`, one for each entry, and whether these hold more than the branch does."""
    values = top["values"]
    if name == top_name:
        return values, False
    rest = name[len(top_name) :].lstrip(".") if name.startswith(top_name.rstrip(".") + ".") else name
    names = [n for n in re.sub(r"\[[^\]]*\]", "", rest).rstrip(".").split(".") if n]
    return [column(v, names, BASES) for v in values], names[-1] in BASES


DTYPES = {
    "Char_t": "int8", "UChar_t": "uint8", "Short_t": "int16", "UShort_t": "uint16", "Int_t": "int32", "UInt_t": "uint32",
    "Long64_t": "int64", "ULong64_t": "uint64", "Long_t": "int64", "ULong_t": "uint64", "Bool_t": "bool",
    "Float_t": "float32", "Double_t": "float64", "Float16_t": "float32", "Double32_t": "float64",
}  # fmt: skip


def judge_values(reader: Reader, branch: Any, top: dict[str, Any], top_name: str) -> tuple[str, str, Any]:
    """(status, note, the array when there is one)."""
    array = None
    try:
        array = reader.values(branch)
        ours = array.to_list()
    except Exception as e:
        failed = brief(e)
        try:
            objects = reader.objects(branch)
        except Exception as e2:
            return "error", brief(e2), None
        if objects is None:
            return "error", failed, None
        ours = [plain(x) for x in objects]
    if (
        array is not None
        and len(top["leaves"]) == 1
        and top["leaves"][0][1] != "TLeafC"
        and top["branch"] == "TBranch"
    ):
        dtype, expected_dtype = array_parts(array)[-1].dtype, DTYPES[top["leaves"][0][2]]
        if dtype != expected_dtype and len(array):
            return "mismatch", f"dtype {dtype}, ROOT has {expected_dtype}", array
    try:
        expected, more = expected_values(top, top_name, branch.name)
    except NoOracle as e:
        return "untold", str(e), array
    if len(ours) != len(expected):
        return "mismatch", f"{len(ours)} entries, ROOT has {len(expected)}", array
    if "unordered" in top["class"] or UNORDERED.search(branch.name):
        expected, ours = [unordered(x) for x in expected], [unordered(x) for x in ours]
    c = Comparison(partial=more).values(expected, ours)
    if not c.compared and not c.wrong and expected:
        return "untold", "ROOT shows nothing that can be compared", array
    return ("mismatch" if c.wrong else "ok"), "; ".join(c.wrong[:3])[:400], array


def judge_branch(
    reader: Reader, branch: Any, other: tuple[Reader, Any] | None, top: dict[str, Any], top_name: str
) -> tuple[str, str]:
    status, note, array = judge_values(reader, branch, top, top_name)
    if status not in ("ok", "untold") or array is None:
        return status, note
    if reader.ranges:
        wrong = wrong_range(reader, branch, array)
        if wrong:
            return "mismatch", wrong
    if other is None:
        return status, note
    # uproot is only asked where it agrees with ROOT, or where ROOT tells nothing
    try:
        other_status, _, other_array = judge_values(other[0], other[1](), top, top_name)
    except Exception:  # a tree that uproot cannot open
        return status, note
    if other_array is None or other_status not in ("ok", "untold"):
        return status, note
    mine = [(p.path, p.kind, p.dtype, p.n, p.sha256) for p in array_parts(array)]
    other_parts = [(p.path, p.kind, p.dtype, p.n, p.sha256) for p in array_parts(other_array)]
    if mine != other_parts:
        first = next(
            (f"{a} / {b}" for a, b in zip(mine, other_parts) if a != b),
            f"{len(mine)} / {len(other_parts)} parts",
        )
        return "mismatch", f"not as uproot: {first}"[:400]
    return ("by uproot" if status == "untold" else status), note


def judge_histogram(o: Any, e: dict[str, Any]) -> list[str]:
    shape = tuple(e["shape"])
    out = []
    for name in ("values", "errors"):
        theirs = np.array([float(x) for x in e[name]]).reshape(shape[::-1]).T
        try:
            ours = np.asarray(getattr(o, name)(flow=True), dtype=np.float64)
        except Exception as err:
            out.append(f"{name}(): {brief(err)}")
            continue
        near = (
            np.array_equal(ours, theirs, equal_nan=True)
            if name == "values"
            else np.allclose(ours, theirs, rtol=1e-12, equal_nan=True)
        )
        if ours.shape != shape or not near:
            out.append(f"{name}(): {ours.ravel()[:4]}, ROOT has {theirs.ravel()[:4]}")
    for i, edges in enumerate(e["edges"]):
        ours = np.asarray(o.axis(i).edges(flow=False) if hasattr(o, "axis") else o.axes[i].edges)
        if not np.allclose(ours, edges, rtol=1e-14, atol=1e-15):
            out.append(f"edges of axis {i}: {ours[:4]}, ROOT has {edges[:4]}")
    return out


def judge_graph(o: Any, e: dict[str, Any]) -> list[str]:
    names = {"x": "fX", "y": "fY"}
    out = []
    for name, member in names.items():
        try:
            ours = np.asarray(o.member(member), dtype=np.float64)
        except Exception as err:
            out.append(f"{member}: {brief(err)}")
            continue
        if not np.array_equal(ours, np.array([float(x) for x in e[name]])):
            out.append(f"{member}: {ours[:4]}, ROOT has {e[name][:4]}")
    return out


def judge_object(f: Any, key: str, e: dict[str, Any]) -> tuple[str, str]:
    try:
        o = f[key]
        ours = plain(o, once=True)
    except Exception as err:
        return "error", brief(err)
    if hasattr(o, "num_entries") and hasattr(o, "branches"):
        return "untold", "the record of a tree or a chain: its branches are what counts"
    wrong = []
    if "histogram" in e:
        wrong += judge_histogram(o, e["histogram"])
    if "graph" in e:
        wrong += judge_graph(o, e["graph"])
    if e["json"] is not None:
        c = Comparison(lenient=True)
        c.value(e["json"], ours)
        wrong += c.wrong
        if not c.compared and not wrong and len(e) == 2:
            return "untold", "ROOT shows nothing that can be compared"
    elif not wrong:
        return "untold", "ROOT gives no JSON of this"
    return ("mismatch" if wrong else "ok"), "; ".join(wrong[:3])[:400]


def names_below(branch: Any) -> list[Any]:
    return [[b.name, names_below(b)] for b in branch.branches]


def walk_branches(branches: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for b in branches:
        yield prefix + b.name, b
        yield from walk_branches(b.branches, prefix + b.name + "/")


def check_case(
    reader: Reader, other: Reader | None, folder: Path, case: str, skip: frozenset[str]
) -> Iterator[Any]:
    """Yields the name of an item before work on it starts, and (status, note) when it ended."""
    dump = json.loads((folder / f"{case}.json").read_text())
    for t in (
        json.loads((folder / f"{SAME_AS[case]}.json").read_text())["trees"].items() if case in SAME_AS else ()
    ):
        dump["trees"][t[0]]["branches"] = t[1]["branches"]
    for t in dump["trees"].values():
        for top in t["branches"].values():
            top["values"] = [resolve_references(v) for v in top["values"]]
    path = str(folder / f"{case}.root")

    def judged(item: str, work: Any) -> Iterator[Any]:
        if item in skip:
            return
        yield item
        try:
            yield work()
        except Exception as e:
            yield "error", brief(e)
        except BaseException as e:  # a Rust panic arrives as BaseException
            if type(e).__name__ != "PanicException":
                raise
            yield "panic", brief(e)

    opened: list[Any] = []

    def open_file() -> tuple[str, str]:
        opened.append(reader.open(path))
        return "ok", ""

    yield from judged("open", open_file)
    f = opened[0] if opened else (reader.open(path) if "open" in skip else None)
    if f is None:
        return
    other_file = other.open(path) if other else None

    def keys() -> tuple[str, str]:
        ours = sorted({(p, c, "TDirectoryFile" if cl == "TDirectory" else cl) for p, c, cl in reader.keys(f)})
        theirs = sorted({(p, c, cl) for p, c, cl in dump["keys"]})
        less, more = [k for k in theirs if k not in ours], [k for k in ours if k not in theirs]
        return ("mismatch", f"missing {less[:4]}, unexpected {more[:4]}") if less or more else ("ok", "")

    if "keys" in dump:
        yield from judged("keys", keys)
    for key, t in dump["trees"].items():
        trees: list[Any] = []

        def open_tree(key: str = key, t: Any = t, trees: list[Any] = trees) -> tuple[str, str]:
            trees.append(f[key])
            names = (
                [b.name for b in trees[0].branches if b.classname != "TBranchRef"]
                if hasattr(trees[0], "branches")
                else []
            )
            if int(trees[0].num_entries) != t["entries"]:
                return "mismatch", f"{trees[0].num_entries} entries, ROOT has {t['entries']}"
            if names != list(t["branches"]):
                return "mismatch", f"branches {names}, ROOT has {list(t['branches'])}"[:300]
            for b in trees[0].branches:
                if b.name in t["branches"] and names_below(b) != t["branches"][b.name]["sub"]:
                    return (
                        "mismatch",
                        f"below {b.name}: {names_below(b)}, ROOT has {t['branches'][b.name]['sub']}"[:400],
                    )
            return "ok", ""

        yield from judged(key, open_tree)
        if not trees:
            if key not in skip:
                continue
            trees.append(f[key])
        for top_branch in trees[0].branches:
            top = t["branches"].get(top_branch.name)
            if top is None:
                continue
            for name, branch in walk_branches([top_branch]):
                if SPECIAL.search(branch.name):
                    continue
                if branch.branches:
                    continue  # its values are those of its sub-branches

                def read(
                    branch: Any = branch,
                    name: str = name,
                    key: str = key,
                    top: Any = top,
                    top_name: str = top_branch.name,
                ) -> tuple[str, str]:
                    def at_other() -> Any:
                        b = other_file[key]
                        for place in _place(trees[0], name):
                            b = b.branches[place]
                        return b

                    pair = (other, at_other) if other is not None else None
                    return judge_branch(reader, branch, pair, top, top_name)

                yield from judged(f"{key}|{name}", read)
    for key, e in dump.get("objects", {}).items():
        yield from judged(key, lambda key=key, e=e: judge_object(f, key, e))


def _place(tree: Any, path: str) -> list[int]:
    """Positions in the lists of branches, which do not depend on how a reader splits names."""

    def find(branches: Any, prefix: str) -> list[int] | None:
        for i, b in enumerate(branches):
            here = prefix + b.name
            if here == path:
                return [i]
            if path.startswith(here + "/"):
                below = find(b.branches, here + "/")
                if below is not None:
                    return [i, *below]
        return None

    return find(tree.branches, "") or []


def check_all(reader: Reader, other: Reader | None, folder: Path, names: list[str], parallel: int = 2) -> Any:
    def work(case: str, skip: frozenset[str], emit: Any, begin: Any) -> None:
        item = ""
        for step in check_case(reader, other, folder, case, skip):
            if isinstance(step, str):
                item = step
                begin(item)
            else:
                emit({"item": item, "status": step[0], "note": step[1]})

    size = {n: (folder / f"{n}.json").stat().st_size for n in names}
    yield from run_guarded(work, sorted(names, key=lambda n: -size[n]), parallel)


def unexpected(case: str, records: list[dict[str, Any]], known: dict[tuple[str, str], str]) -> list[str]:
    lines, seen = [], set()
    for r in records:
        seen.add(r["item"])
        listed = (case, r["item"]) in known
        if r["status"] in BAD and not listed:
            lines.append(f"{r['status']:9} {r['item']}: {r['note']}")
        elif r["status"] not in BAD and listed:
            lines.append(f"listed in {KNOWN.name}, but reads well ({r['status']}): {r['item']}")
    lines += [
        f"listed in {KNOWN.name}, but there is no such item: {i}"
        for n, i in known
        if n == case and i not in seen
    ]
    return lines


# ---- pytest

if "pytest" in sys.modules:
    import pytest

    def missing() -> str:
        lost = [m for m in ("sapwood", "ROOT", "uproot", "awkward") if importlib.util.find_spec(m) is None]
        if lost and CI:
            raise ModuleNotFoundError(f"the oracle tests need {', '.join(lost)} here")
        return f"not installed: {', '.join(lost)}" if lost else ""

    REASON = missing()
    pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "-")

    @pytest.fixture(scope="session")
    def results(request: pytest.FixtureRequest) -> dict[str, list[dict[str, Any]]]:
        asked = {
            i.callspec.params["case"]
            for i in request.session.items
            if i.name.startswith("test_case[") and hasattr(i, "callspec")
        }
        return dict(check_all(READERS["sapwood"](), READERS["uproot"](), ensure_cases(), sorted(asked)))

    @pytest.fixture(scope="session")
    def known() -> dict[tuple[str, str], str]:
        return load_listed(KNOWN, "known", "case")

    @pytest.mark.parametrize("case", sorted(generate.cases()))
    def test_case(case: str, results: Any, known: Any) -> None:
        lines = unexpected(case, results[case], known)
        assert not lines, "\n".join([f"{case}: {len(lines)} unexpected", *lines[:40]])

    def test_known_names_real_cases(known: Any) -> None:
        assert {case for case, _ in known} <= set(generate.cases())


# ---- the report


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--report", action="store_true", help="print a table and the first lines of each failure")
    ap.add_argument("--reader", choices=sorted(READERS), default="sapwood")
    ap.add_argument("--jobs", type=int, default=2, help="processes")
    ap.add_argument("--per-case", type=int, default=6, help="failures shown of one case")
    ap.add_argument("--width", type=int, default=300, help="characters of a note shown")
    ap.add_argument("--json", help="write all results to this file")
    ap.add_argument("-v", "--verbose", action="store_true", help="show what ROOT does not tell, too")
    ap.add_argument("cases", nargs="*", help="cases, or parts of their names (all when absent)")
    args = ap.parse_args()
    folder = ensure_cases()
    reader = READERS[args.reader]()
    other = READERS["uproot"]() if args.reader != "uproot" else None
    names = [n for n in sorted(generate.cases()) if not args.cases or any(c in n for c in args.cases)]
    known = load_listed(KNOWN, "known", "case") if args.reader == "sapwood" else {}
    began = time.perf_counter()
    table: dict[str, collections.Counter[str]] = {}
    surprises = 0
    results = dict(check_all(reader, other, folder, names, args.jobs))
    reasons: collections.Counter[str] = collections.Counter()
    for case in names:
        records = results[case]
        table[case] = collections.Counter(r["status"] for r in records)
        shown = 0
        for r in records:
            if r["status"] in BAD or (args.verbose and r["status"] in ("untold", "by uproot")):
                reasons[f"{r['status']}: " + re.sub(r"[-0-9.e+]+", "#", r["note"])[:100]] += 1
                shown += 1
                if shown <= args.per_case:
                    mark = " (known)" if (case, r["item"]) in known else ""
                    print(f"{r['status']:9}{mark} {case}  {r['item']}\n            {r['note'][: args.width]}")
        if shown > args.per_case:
            print(f"{case}: {shown - args.per_case} more")
        surprises += len(unexpected(case, records, known))
    print("\nmost frequent reasons")
    for reason, n in reasons.most_common(25):
        print(f"{n:6}  {reason}")
    print(f"\n{'':32}" + "".join(f"{s:>10}" for s in ORDER))
    for case, c in table.items():
        print(f"{case:32}" + "".join(f"{c[s] or '.':>10}" for s in ORDER))
    total = sum(table.values(), collections.Counter())
    print(f"{'sum':32}" + "".join(f"{total[s] or '.':>10}" for s in ORDER))
    print(
        f"\n{time.perf_counter() - began:.1f} s; reader {args.reader}; {len(known)} known; files in {folder}"
    )
    if args.json:
        Path(args.json).write_text(json.dumps(results, indent=1))
    return 1 if surprises and args.reader == "sapwood" else 0


if __name__ == "__main__":
    sys.exit(main())
