#!/usr/bin/env python3
"""Draw the section on writing of docs/benchmarks.md from bench/write/writing.json: python -m bench.support.draw_writing"""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from bench.support.draw import COLOURS, bars, label, ratio, seconds, shown, table

HERE = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- writing -->\n", "<!-- end of writing -->\n"

Rows = dict[tuple[str, str, int], dict[str, Any]]


def line(r: dict[str, Any]) -> str:
    """One contender, for who looks on."""
    head = f"{r['row']:20} {r['writer']:8} {r['threads']} thread(s)"
    if not r["wall"]:
        return f"{head}  {r.get('error', 'no answer')}"
    cpu, wall = (statistics.median(r[k]) for k in ("cpu", "wall"))
    return (
        f"{head}  cpu {cpu:8.4f} s  wall {wall:8.4f} s  size {r['size'] / 1e6:9.3f} MB  peak {r['peak'] / 1e6:7.1f} MB"
        f"  others {r['others']:.2f}"
    )


def clock(r: dict[str, Any] | None, which: str) -> float | None:
    return seconds(r, which) if r and r.get(which) else None


def one_thread(rows: Rows, names: list[str]) -> str:
    who = ("limit", "sapwood", "root", "uproot")
    body = []
    for name in names:
        cells = {w: rows.get((name, w, 1)) for w in who}
        words = [label(name)]
        for which in ("cpu", "wall"):
            words += [shown(clock(cells[w], which), cells[w]) for w in who]
        for which in ("cpu", "wall"):
            words.append(ratio(clock(cells["limit"], which), clock(cells["sapwood"], which)))
        body.append(words)
    names_of = ["limit", "Sapwood", "ROOT Fill", "uproot"]
    head = ["one thread", *(f"{n}, CPU s" for n in names_of), *(f"{n}, wall s" for n in names_of)]
    return table([*head, "limit / Sapwood, CPU", "limit / Sapwood, wall"], body)


def two_threads(rows: Rows, names: list[str]) -> str:
    body = []
    for name in names:
        words, gains = [label(name)], {}
        for writer in ("limit", "sapwood", "root"):
            one, two = (clock(rows.get((name, writer, threads)), "wall") for threads in (1, 2))
            gains[writer] = one / two if one and two else None
            words += [shown(two), shown(gains[writer])]
        body.append([*words, ratio(gains["sapwood"], gains["limit"])])
    head = ["two threads", "limit, wall s", "gain", "Sapwood, wall s", "gain", "ROOT, wall s", "gain"]
    return table([*head, "Sapwood's gain / limit's"], body)


def sizes(rows: Rows, names: list[str]) -> str:
    body = []
    for name in names:
        words = [label(name)]
        found = {w: (rows.get((name, w, 1)) or {}).get("size") for w in ("sapwood", "root", "uproot")}
        words += [f"{size / 1e6:.2f}" if size else "" for size in found.values()]
        words.append(f"{found['sapwood'] / found['root']:.3f}" if found["sapwood"] and found["root"] else "")
        for key in ((name, "sapwood", 1), (name, "sapwood", 2), (name, "root", 1), (name, "uproot", 1)):
            r = rows.get(key)
            words.append(f"{r['peak'] / 1e6:.0f}" if r and r.get("peak") else "")
        body.append(words)
    head = ["size of the file, MB", "Sapwood", "ROOT", "uproot", "Sapwood / ROOT"]
    return table([*head, "peak MB, Sapwood", "two threads", "ROOT", "uproot"], body)


def pictures(rows: Rows, names: list[str], folder: Path) -> list[str]:
    """A picture a row, and the words that show it."""
    words = {
        "limit": "limit",
        "sapwood": "Sapwood extend",
        "uproot": "uproot extend",
        "root": "ROOT TTree::Fill",
    }
    folder.mkdir(parents=True, exist_ok=True)
    out = []
    for name in names:
        found = [(w, clock(rows.get((name, who, 1)), "cpu"), COLOURS[who]) for who, w in words.items()]
        values = [(w, colour, s) for w, s, colour in found if s is not None]
        if values:
            title = f"Writing {label(name)}: one thread"
            (folder / f"writing_{name}.svg").write_text(bars(title, "CPU s", values))
            out.append(f"![{title}](benchmarks/writing_{name}.svg)\n")
    return out


def again(docs: Path) -> None:
    """Draws what was measured before, where something was."""
    kept = HERE / "write" / "writing.json"
    if kept.exists():
        draw(json.loads(kept.read_text()), docs)


def draw(results: dict[str, Any], docs: Path) -> Path:
    """Writes the section into docs/benchmarks.md, in place of the one that is there."""
    rows: Rows = {(r["row"], r["writer"], r["threads"]): r for r in results["rows"]}
    names = list(dict.fromkeys(r["row"] for r in results["rows"]))
    others = max((r.get("others", 0) for r in results["rows"]), default=0)
    text = [
        "## Writing\n",
        (
            "Written by `python -m bench.write.writing` (what takes another share of the rows: `--scale`); the numbers behind it are in `bench/write/writing.json`. Rows are in memory before a "
            "measurement begins; it ends when the file is closed, in the page cache. Every number is a median over several "
            "runs, contenders took turns. Other processes used at most "
            f"{100 * others:.0f} % of the machine during a measurement.\n"
        ),
        *(["**A smoke test with few entries: the ratios mean little.**\n"] if results["scale"] != 1 else []),
        (
            "The *limit* is a program (`bench/limit/src/write.rs`) that swaps, compresses and writes the payloads of Sapwood's own "
            "baskets, with the library and level in use, and does nothing else. Sapwood's `extend` is called from Python with "
            "NumPy and Awkward arrays in steps, whole events as columns of a dataclass. ROOT's loop is compiled. ROOT's ZSTD-5 is "
            "level 10 of the library, which uproot is given too; uproot's LZ4 has no slow search, ROOT's from level 4 on has.\n"
        ),
        one_thread(rows, names),
        *pictures(rows, names, docs / "benchmarks"),
        two_threads(rows, names),
        (
            "Memory is what is held above the rows that are given, at its peak. uproot writes a basket a branch for each step.\n"
        ),
        sizes(rows, names),
    ]
    for more in ("event", "streaming"):
        made = HERE / "write" / f"{more}.md" if results["scale"] == 1 else docs / f"{more}.md"
        if made.exists():
            text.append(made.read_text())
    path = docs / "benchmarks.md"
    docs.mkdir(parents=True, exist_ok=True)
    put(path, "\n".join(text))
    return path


def put(path: Path, section: str) -> None:
    """Puts a section between its marks; before the last section where there are none."""
    before = path.read_text() if path.exists() else ""
    if BEGIN in before:
        head, _, rest = before.partition(BEGIN)
        tail = rest.partition(END)[2]
    else:
        head, mark, tail = before.partition("## Run it again")
        tail = mark + tail
    path.write_text(
        head + BEGIN + "\n" + section + "\n" + END + ("" if tail.startswith("\n") else "\n") + tail
    )


if __name__ == "__main__":
    again(HERE.parent / "docs")
