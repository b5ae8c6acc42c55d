"""The page of the RNTuple benchmark: python -m bench.ntuple.page draws docs/benchmarks/rntuple.md from the kept results."""

from __future__ import annotations

import json
import statistics
from typing import Any

from bench.ntuple.files import INPUTS
from bench.support.draw import ratio, seconds, shown, table
from bench.support.files import HERE

WAYS = [
    ("limit", "fresh", "limit"), ("limit", "reused", "limit, memory reused"),
    ("sapwood", "arrays", "Sapwood arrays"),
    ("sapwood", "iterate", "Sapwood iterate"), ("uproot", "arrays", "uproot"), ("root", "bulk", "ROOT bulk"),
    ("root", "entry", "ROOT by entry"), ("root", "frame", "ROOT RDataFrame"),
]  # fmt: skip
READ_AIM, WRITE_AIM, MERGE_AIM, OPEN_MS = 1.15, 0.85, 0.8, 10.0

Rows = dict[tuple[str, str, str, str], dict[str, Any]]


def _met(what: str, found: list[tuple[str, float]], met: Any) -> str:
    """Which rows meet an aim, with the figures of those that do not."""
    missed = [f"{name} ({value:.2f})" for name, value in found if not met(value)]
    if not found:
        return ""
    count = f"{len(found) - len(missed)} of {len(found)} rows"
    return f"{what}: {'met in every row' if not missed else f'met in {count}; not by ' + ', '.join(missed)}."


def _having(rows: Rows, workload: str) -> list[tuple[str, str]]:
    return [(i.name, i.label) for i in INPUTS if any(k[0] == i.name and k[1] == workload for k in rows)]


def _reading(rows: Rows, workload: str) -> list[str]:
    body, fresh, reused, ahead = [], [], [], []
    for name, label in _having(rows, workload):
        cells = {(a, b): rows.get((name, workload, a, b)) for a, b, _ in WAYS}
        times = {way: seconds(cell, "cpu") for way, cell in cells.items()}
        ours, again = times["sapwood", "arrays"], times["sapwood", "iterate"]
        peers = [t for (who, _), t in times.items() if who in ("uproot", "root") and t is not None]
        best = min(peers, default=None)
        line = [label, *(shown(times[a, b], cells[a, b]) for a, b, _ in WAYS)]
        line += [
            ratio(ours, times["limit", "fresh"]),
            ratio(again, times["limit", "reused"]),
            ratio(best, ours),
        ]
        body.append(line)
        if ours and times["limit", "fresh"]:
            fresh.append((label, ours / times["limit", "fresh"]))
        if again and times["limit", "reused"]:
            reused.append((label, again / times["limit", "reused"]))
        if ours and best:
            ahead.append((label, best / ours))
    ends = ["arrays / limit", "iterate / limit reused", "best peer / arrays"]
    return [
        table(["CPU seconds", *(w for _, _, w in WAYS), *ends], body),
        _met(f"`arrays` within {READ_AIM} of the limit", fresh, lambda x: x <= READ_AIM),
        _met(f"`iterate` within {READ_AIM} of the limit with memory reused", reused, lambda x: x <= READ_AIM),
        _met("`arrays` ahead of ROOT and uproot", ahead, lambda x: x > 1) + "\n",
    ]


def _threads(rows: Rows) -> list[str]:
    ways = [("limit", "fresh", "limit"), ("sapwood", "arrays", "Sapwood"), ("uproot", "arrays", "uproot")]
    ways += [("root", "frame", "ROOT RDataFrame")]
    body, ahead = [], []
    for name, label in _having(rows, "threads"):
        line, two = [label], {}
        for a, b, _ in ways:
            cell = rows.get((name, "threads", a, b))
            two[a], one = seconds(cell, "wall"), seconds(rows.get((name, "all", a, b)), "wall")
            line += [shown(two[a], cell), ratio(one, two[a])]
        peers = [two[a] for a in ("uproot", "root") if two[a] is not None]
        body.append([*line, ratio(two["sapwood"], two["limit"])])
        if peers and two["sapwood"]:
            ahead.append((label, min(peers) / two["sapwood"]))
    head = ["wall seconds, 2 threads"]
    for _, _, words in ways:
        head += [words, "gain"]
    return [
        table([*head, "Sapwood / limit"], body),
        _met("Ahead of ROOT and uproot", ahead, lambda x: x > 1) + "\n",
    ]


def _opening(rows: Rows) -> list[str]:
    words = {
        "open": "the number of entries",
        "names": "the names of all fields",
        "one": "the values of one field",
    }
    body, found = [], []
    for name, _ in _having(rows, "open"):
        for way, what in words.items():
            cells = [rows.get((name, way, who, way)) for who in ("limit", "sapwood", "uproot", "root")]
            ms = [None if (s := seconds(cell, "wall")) is None else 1e3 * s for cell in cells]
            body.append([what, *("" if m is None else f"{m:.1f}" for m in ms)])
            if ms[1] is not None:
                found.append((what, ms[1]))
    head = ["wall milliseconds, 10,000 fields", "inflating the envelopes", "Sapwood", "uproot", "ROOT"]
    return [table(head, body), _met(f"Under {OPEN_MS:.0f} ms", found, lambda x: x < OPEN_MS) + "\n"]


def _writing(rows: Rows, workload: str, clock: str) -> list[str]:
    who = [("limit", "limit"), ("sapwood", "Sapwood"), ("root", "RNTupleWriter"), ("uproot", "uproot")]
    body, near, ahead = [], [], []
    for name, label in _having(rows, workload):
        cells = {a: rows.get((name, workload, a, "write")) for a, _ in who}
        times = {a: seconds(cell, clock) for a, cell in cells.items()}
        best = min((t for a in ("root", "uproot") if (t := times[a]) is not None), default=None)
        line = [label, *(shown(times[a], cells[a]) for a, _ in who)]
        line += [ratio(times["limit"], times["sapwood"]), ratio(best, times["sapwood"])]
        sizes = [(cells[a] or {}).get("size") for a in ("sapwood", "root", "uproot")]
        body.append([*line, *("" if size is None else f"{size / 1e6:.1f}" for size in sizes)])
        if times["limit"] and times["sapwood"]:
            near.append((label, times["limit"] / times["sapwood"]))
        if best and times["sapwood"]:
            ahead.append((label, best / times["sapwood"]))
    head = [
        f"{'CPU' if clock == 'cpu' else 'wall'} seconds",
        *(w for _, w in who),
        "limit / Sapwood",
        "best peer / Sapwood",
    ]
    return [
        table([*head, "MB by Sapwood", "by ROOT", "by uproot"], body),
        _met(f"At least {WRITE_AIM} of the limit's speed", near, lambda x: x >= WRITE_AIM),
        _met("Ahead of ROOT and uproot", ahead, lambda x: x > 1) + "\n",
    ]


def _merging(rows: Rows) -> list[str]:
    who = [("cat", "`cat`"), ("sapwood", "Sapwood"), ("root", "`TFileMerger`")]
    body, found = [], []
    for name, label in _having(rows, "merge"):
        cells = {a: rows.get((name, "merge", a, "merge")) for a, _ in who}
        base = {clock: seconds(cells["cat"], clock) for clock in ("wall", "cpu")}
        for a, words in who:
            wall, cpu = seconds(cells[a], "wall"), seconds(cells[a], "cpu")
            size = (cells[a] or {}).get("size")
            speed = [ratio(base["wall"], wall), ratio(base["cpu"], cpu)]
            body.append(
                [words, shown(wall, cells[a]), shown(cpu), *speed, f"{size / 1e6:.1f}" if size else ""]
            )
            if a == "sapwood" and wall and base["wall"]:
                found.append((label, base["wall"] / wall))
    head = ["six files", "wall seconds", "CPU seconds", "speed of `cat`, wall", "CPU", "MB"]
    return [table(head, body), _met(f"At least {MERGE_AIM} of `cat`", found, lambda x: x >= MERGE_AIM) + "\n"]


def _far(rows: Rows) -> list[str]:
    who = [("sapwood", "arrays", "Sapwood"), ("uproot", "arrays", "uproot"), ("root", "bulk", "ROOT bulk")]
    who += [("root", "frame", "ROOT RDataFrame")]
    body, ahead = [], []
    for name, label in _having(rows, "far"):
        cells = {(a, b): rows.get((name, "far", a, b)) for a, b, _ in who}
        for a, b, words in who:
            cell = cells[a, b] or {}
            counts = [
                "" if "error" in cell or k not in cell else f"{cell[k] / per:.{n}f}"
                for k, per, n in (("requests", 1, 0), ("down", 1e6, 1))
            ]
            body.append(
                [
                    words,
                    shown(seconds(cells[a, b], "wall") if cell.get("wall") else None, cells[a, b]),
                    *counts,
                ]
            )
        times = {k: statistics.median(cell["wall"]) for k, cell in cells.items() if cell and cell.get("wall")}
        peers = [time for (a, _), time in times.items() if a != "sapwood"]
        if peers and ("sapwood", "arrays") in times:
            ahead.append((label, min(peers) / times["sapwood", "arrays"]))
    head = ["http, 22 ms, 100 Mb/s", "wall seconds", "requests", "MB received"]
    return [table(head, body), _met("Ahead of ROOT and uproot", ahead, lambda x: x > 1) + "\n"]


def page(document: dict[str, Any]) -> str:
    rows: Rows = {(r["input"], r["workload"], r["reader"], r["way"]): r for r in document["rows"]}
    m = document["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in m["versions"].items())
    others = max((r.get("others", 0) for r in document["rows"]), default=0)
    text = [
        "# RNTuples\n",
        "Written by `python -m bench.ntuple.run`; do not edit by hand. The numbers behind it are in `bench/ntuple/ntuple.json`.\n",
        f"Machine: {m['cpu']}, {m['cores']} cores; Python {m['python']}; {versions}. ROOT writes the files, which are in the page cache.",
        "Every number is a median over several runs after one that is not counted, CPU time that of all threads.",
        f"Other processes used at most {100 * others:.0f} % of the machine during a measurement. Sums of all values agree.\n",
        "The *limit* (`bench/limit/src/ntuple.rs`) only inflates each page and undoes its encoding straight into the answer, from a work",
        "list made beforehand; written, it encodes and compresses the pages of Sapwood's own file and adds their checksums. It fills fresh",
        "memory, whose pages come from the kernel, or memory that it has used before. ROOT's loops also add up what they read.",
        "*ROOT bulk* is `RBulkValues` for numbers and direct-access views below collection views for lists, cluster after cluster;",
        "*by entry* is `LoadEntry`. *cannot*: the reader fails. uproot's LZ4 is the fast one, which makes larger files; that of the others",
        "searches longer (ROOT's level 4).\n",
    ]
    if "note" in document:
        text.append(document["note"] + "\n")
    if document["scale"] != 1:
        text.append("**These are inputs of another size: the ratios mean little.**\n")
    sections = [
        ("All fields, one thread", "all", lambda: _reading(rows, "all")),
        ("Three of twenty fields, one thread", "three", lambda: _reading(rows, "three")),
        ("Two threads", "threads", lambda: _threads(rows)),
        ("Opening 10,000 fields", "open", lambda: _opening(rows)),
        ("Three of twenty fields, far away", "far", lambda: _far(rows)),
        ("Writing, one thread", "write1", lambda: _writing(rows, "write1", "cpu")),
        ("Writing, two threads", "write2", lambda: _writing(rows, "write2", "wall")),
        ("Merging", "merge", lambda: _merging(rows)),
    ]
    for title, workload, draw in sections:
        if _having(rows, workload):
            text += [f"## {title}\n", *draw()]
    text.append(
        "## Run it again\n\n```sh\npython -m bench.ntuple.run                   # inputs take about 0.7 GB in bench/data"
    )
    text.append("python -m bench.ntuple.run --scale 0.1       # a tenth of it, as a smoke test")
    text.append("python -m bench.ntuple.run --parts writing   # some tables; the others stay\n```")
    return "\n".join(text) + "\n"


def main() -> None:
    document = json.loads((HERE / "ntuple" / "ntuple.json").read_text())
    (HERE.parent / "docs" / "benchmarks" / "rntuple.md").write_text(page(document))


if __name__ == "__main__":
    main()
