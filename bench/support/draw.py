#!/usr/bin/env python3
"""Draw docs/benchmarks.md and its pictures from bench/read/results.json: python -m bench.support.draw"""

from __future__ import annotations

import json
import statistics
from html import escape
from pathlib import Path
from typing import Any

from bench.support.files import INPUTS

HERE = Path(__file__).resolve().parent.parent

LABELS = {
    "flat": "20 flat branches", "jagged": "counted arrays", "vectors": "vectors", "event_split": "Event, split",
    "event_whole": "Event, unsplit", "wide": "2,000 branches", "clusters10": "10,000 branches, 10 clusters",
    "clusters100": "10,000 branches, 100 clusters",
}  # fmt: skip
CODECS = {"none": "raw", "zlib1": "ZLIB-1", "lz4": "LZ4", "zstd5": "ZSTD-5"}
WAYS = [
    ("limit", "fresh", "limit"), ("limit", "reused", "limit, memory reused"),
    ("sapwood", "arrays", "Sapwood arrays"),
    ("sapwood", "iterate", "Sapwood iterate"), ("uproot", "arrays", "uproot"), ("root", "bulk", "ROOT bulk"),
    ("root", "getentry", "ROOT GetEntry"), ("root", "ttreereader", "ROOT TTreeReader"),
    ("root", "rdataframe", "ROOT RDataFrame"),
]  # fmt: skip
COLOURS = {"limit": "#9aa0a6", "sapwood": "#2e7d32", "uproot": "#c77700", "root": "#3366aa"}

Rows = dict[tuple[str, str, str, str], dict[str, Any]]


def seconds(r: dict[str, Any] | None, clock: str) -> float | None:
    return statistics.median(r[clock]) if r and clock in r else None


def shown(x: float | None, r: dict[str, Any] | None = None) -> str:
    if x is None:
        return "cannot" if r and "error" in r else ""
    return f"{x:.2f}" if x >= 1 else f"{x:.3f}"


def ratio(a: float | None, b: float | None) -> str:
    return f"{a / b:.2f}" if a is not None and b else ""


def label(name: str) -> str:
    family, _, codec = name.rpartition("_")
    return f"{LABELS.get(family, family)}, {CODECS.get(codec, codec)}"


def table(head: list[str], body: list[list[str]]) -> str:
    out = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join(out + ["| " + " | ".join(row) + " |" for row in body]) + "\n"


def bars(title: str, unit: str, values: list[tuple[str, str, float]]) -> str:
    """A picture of horizontal bars: (label, colour, value)."""
    width, left, row, top = 760, 190, 24, 40
    height = top + row * len(values) + 12
    most = max(v for _, _, v in values)
    out = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="{escape(title)}">'
        ),
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="24" font-size="15" font-weight="600" fill="#222">{escape(title)}</text>',
    ]
    for k, (name, colour, value) in enumerate(values):
        y = top + row * k
        length = max(1.0, (width - left - 90) * value / most)
        out.append(f'<text x="{left - 8}" y="{y + 15}" text-anchor="end" fill="#222">{escape(name)}</text>')
        out.append(
            f'<rect x="{left}" y="{y + 3}" width="{length:.1f}" height="{row - 8}" rx="2" fill="{colour}"/>'
        )
        out.append(
            f'<text x="{left + length + 6:.1f}" y="{y + 15}" fill="#444">{shown(value)} {escape(unit)}</text>'
        )
    return "\n".join([*out, "</svg>"]) + "\n"


#: The files that the README shows.
OVERVIEW = ["flat_zstd5", "flat_zlib1", "jagged_zstd5", "vectors_zstd5", "event_whole_zlib1"]


def fastest(rows: Rows, name: str, reader: str) -> tuple[str, float | None]:
    """The way of a reader that takes least time for all columns as arrays or values, and that time."""
    times = [
        (seconds(rows.get((name, "all", a, b)), "cpu"), w)
        for a, b, w in WAYS
        if a == reader and b != "iterate"
    ]
    return min(
        ((w, time) for time, w in times if time is not None),
        key=lambda found: found[1],
        default=(reader, None),
    )


def overview(rows: Rows, names: list[str]) -> str:
    """A picture of groups of bars: how many times the limit's CPU time each reader takes for all columns."""
    width, left, row, gap, top = 760, 200, 16, 14, 66
    readers = ("sapwood", "uproot", "root")
    groups = []
    for name in names:
        limit = seconds(rows.get((name, "all", "limit", "fresh")), "cpu")
        found = [fastest(rows, name, reader) for reader in readers]
        if limit:
            groups.append((name, [(way, time / limit if time is not None else None) for way, time in found]))
    most = max(times for _, group in groups for _, times in group if times is not None)
    scale = (width - left - 70) / most
    height = top + len(groups) * (row * len(readers) + gap) + 8
    title = "CPU time to read all columns, in multiples of the limit"
    text = 'fill="#666" font-size="11"'
    out = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="system-ui, sans-serif" font-size="13" '
            f'role="img" aria-label="{escape(title)}">'
        ),
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="22" font-size="15" font-weight="600" fill="#222">{escape(title)}</text>',
        (
            '<text x="12" y="42" fill="#666">Shorter is better. The limit only inflates and swaps bytes; '
            "one thread, files in the page cache.</text>"
        ),
    ]
    for k, (name, group) in enumerate(groups):
        y = top + k * (row * len(readers) + gap)
        middle = y + row * len(readers) / 2 + 4
        out.append(
            f'<text x="12" y="{middle:.0f}" fill="#222" font-weight="600">{escape(label(name))}</text>'
        )
        for i, (reader, (way, times)) in enumerate(zip(readers, group, strict=True)):
            at, length = y + i * row, scale * (times or 0)
            words = f"{way} {times:.2f}" if times is not None else f"{way} cannot read it"
            if length:
                size = f'width="{length:.1f}" height="{row - 3}"'
                out.append(f'<rect x="{left}" y="{at + 1}" {size} rx="2" fill="{COLOURS[reader]}"/>')
            look = text if length < 300 else 'fill="#fff" font-size="11" text-anchor="end"'
            x = left + length + (6 if length < 300 else -6)
            out.append(f'<text x="{x:.1f}" y="{at + 12}" {look}>{escape(words)}</text>')
    line = left + scale
    dashes = f'stroke="{COLOURS["limit"]}" stroke-dasharray="4 3" fill="none"'
    out.append(f'<path d="M{line:.1f} {top - 6}V{height - 8}" {dashes}/>')
    out.append(f'<text x="{line:.1f}" y="{top - 9}" text-anchor="middle" {text}>limit</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def all_columns(rows: Rows, workload: str, names: list[str]) -> str:
    body = []
    for name in names:
        cells = {(a, b): rows.get((name, workload, a, b)) for a, b, _ in WAYS}
        base, again = (seconds(cells["limit", w], "cpu") for w in ("fresh", "reused"))
        line = [label(name)]
        for a, b, _ in WAYS:
            line.append(shown(seconds(cells[a, b], "cpu"), cells[a, b]))
        line.append(ratio(seconds(cells["sapwood", "arrays"], "cpu"), base))
        line.append(ratio(seconds(cells["sapwood", "iterate"], "cpu"), again))
        peers = [seconds(c, "cpu") for (a, _), c in cells.items() if a in ("uproot", "root")]
        best = min((p for p in peers if p is not None), default=None)
        line.append(ratio(best, seconds(cells["sapwood", "arrays"], "cpu")))
        body.append(line)
    head = [
        "CPU seconds",
        *(w for _, _, w in WAYS),
        "arrays / limit",
        "iterate / limit reused",
        "best peer / arrays",
    ]
    return table(head, body)


def two_threads(rows: Rows, names: list[str]) -> str:
    ways = [
        ("limit", "fresh", "limit"),
        ("sapwood", "arrays", "Sapwood"),
        ("uproot", "arrays", "uproot"),
        ("root", "rdataframe", "ROOT RDataFrame"),
    ]
    body = []
    for name in names:
        line, gains = [label(name)], {}
        for a, b, _ in ways:
            two, one = rows.get((name, "threads", a, b)), rows.get((name, "all", a, b))
            line.append(shown(seconds(two, "wall"), two))
            t1, t2 = seconds(one, "wall"), seconds(two, "wall")
            gains[a] = t1 / t2 if t1 and t2 else None
            line.append(f"{gains[a]:.2f}" if gains[a] else "")
        line.append(ratio(gains["sapwood"], gains["limit"]))
        body.append(line)
    head = ["wall seconds, 2 threads"]
    for _, _, w in ways:
        head += [w, "gain"]
    return table([*head, "Sapwood's gain / limit's"], body)


def compiled(rows: Rows, names: list[str]) -> str:
    body = []
    for name in names:
        plain = seconds(rows.get((name, "all", "limit", "plain")), "cpu")
        ours = seconds(rows.get((name, "all", "sapwood", "iterate")), "cpu")
        if plain and ours:
            body.append([label(name), shown(plain), shown(ours), f"{100 * (1 - ours / plain):.0f} %"])
    return table(["CPU seconds", "value by value", "Sapwood iterate", "saved"], body) if body else ""


def opening(rows: Rows, names: list[str]) -> str:
    body = []
    for name in names:
        cells = [
            rows.get((name, workload, a, "open"))
            for workload, a in (
                ("open", "limit"),
                ("open", "sapwood"),
                ("open2", "sapwood"),
                ("open", "uproot"),
                ("open", "root"),
            )
        ]
        ms = [seconds(c, "wall") for c in cells]
        body.append(
            [
                label(name),
                *(
                    f"{1e3 * m:.1f}" if m is not None else shown(None, c)
                    for m, c in zip(ms, cells, strict=True)
                ),
                ratio(ms[1], ms[0]),
                ratio(ms[2], ms[0]),
            ]
        )
    return table(
        [
            "wall milliseconds",
            "inflating the record",
            "Sapwood",
            "all cores",
            "uproot",
            "ROOT",
            "Sapwood / inflating",
            "all cores / inflating",
        ],
        body,
    )


def peaks(rows: Rows, names: list[str]) -> str:
    ways = [
        ("sapwood", "arrays", "Sapwood arrays"),
        ("sapwood", "iterate", "Sapwood iterate"),
        ("uproot", "arrays", "uproot"),
        ("root", "getentry", "ROOT GetEntry"),
    ]
    body = []
    for name in names:
        answer = (rows.get((name, "all", "limit", "fresh")) or {}).get("answer_bytes")
        line = [label(name), f"{answer / 1e6:.0f}" if answer else ""]
        for a, b, _ in ways:
            r = rows.get((name, "memory", a, b))
            line.append(f"{r['peak'] / 1e6:.0f}" if r and "peak" in r else shown(None, r))
        body.append(line)
    return table(["peak of resident memory, MB", "the answer itself", *(w for _, _, w in ways)], body)


def draw(results: dict[str, Any], docs: Path) -> None:
    rows: Rows = {(r["input"], r["workload"], r["reader"], r["way"]): r for r in results["rows"]}
    present = [i.name for i in INPUTS if any(k[0] == i.name for k in rows)]

    def having(workload: str) -> list[str]:
        return [n for n in present if any(k[0] == n and k[1] == workload for k in rows)]

    pictures = docs / "benchmarks"
    pictures.mkdir(parents=True, exist_ok=True)
    drawn = []
    for name in having("all"):
        values = []
        for a, b, w in WAYS:
            s = seconds(rows.get((name, "all", a, b)), "cpu")
            if s is not None:
                values.append((w, COLOURS[a], s))
        if values:
            (pictures / f"{name}.svg").write_text(
                bars(f"{label(name)}: all columns, one thread", "CPU s", values)
            )
            drawn.append(name)
    shown_first = [name for name in OVERVIEW if name in drawn]
    if shown_first:
        images = docs / "images"
        images.mkdir(parents=True, exist_ok=True)
        (images / "reading.svg").write_text(overview(rows, shown_first))
    m = results["machine"]
    versions = ", ".join(f"{k} {v}" for k, v in m["versions"].items())
    others = max((r.get("others", 0) for r in results["rows"]), default=0)
    text = [
        "# Benchmarks\n",
        (
            "Written by `make bench` (`python -m bench.read.run`); do not edit by hand. "
            "The numbers behind it are in `bench/read/results.json`.\n"
        ),
        (
            f"Machine: {m['cpu']}, {m['cores']} cores; Python {m['python']}; {versions}. Files are in the page cache. "
            "Every number is a median over several runs after one that is not counted, CPU time that of all threads. "
            f"Other processes used at most {100 * others:.0f} % of the machine during a measurement.\n"
        ),
    ]
    if results["quick"]:
        text.append("**These are smoke-test inputs, ten times smaller: the ratios mean little.**\n")
    text += [
        (
            "The *limit* is a program (`bench/limit`) that only inflates each basket with the fastest library and swaps its "
            "bytes straight into the answer, from a work list made beforehand. It fills fresh memory, whose pages have to come "
            "from the kernel, or memory that it has used before. ROOT's loops also add up what they read; the array readers "
            "only build their arrays. *cannot*: the reader has no way to read this file, or fails.\n"
        ),
        "## All columns, one thread\n",
        all_columns(rows, "all", having("all")),
        *(f"![{label(n)}](benchmarks/{n}.svg)\n" for n in drawn),
    ]
    if having("three"):
        text += ["## Three of twenty columns, one thread\n", all_columns(rows, "three", having("three"))]
        share = []
        for n in having("three"):
            for a, b, w in WAYS[:4]:
                part, whole = (seconds(rows.get((n, k, a, b)), "cpu") for k in ("three", "all"))
                if part is not None and whole:
                    share.append([label(n), w, f"{part / whole:.3f}"])
        text += [
            "Share of the time for all columns (three columns of twenty hold 0.16 of the bytes):\n",
            table(["file", "reader", "share"], share),
        ]
    if having("threads"):
        text += ["## Two threads\n", two_threads(rows, having("threads"))]
    programs = compiled(rows, having("all"))
    if programs:
        text += [
            "## Compiled programs\n",
            (
                "Whole objects, decoded by the engine's compiled programs and by a loop that inflates as the limit does and looks "
                "up the type of each value when it comes to it (`bench/limit/src/plain.rs`); memory reused in both.\n"
            ),
            programs,
        ]
    if having("open"):
        text += ["## Opening a tree of 10,000 branches\n", opening(rows, having("open"))]
    if having("memory"):
        text += [
            "## Memory\n",
            "Highest resident memory while reading, above what the process had before; pages of the file that are mapped count.\n",
            peaks(rows, having("memory")),
        ]
    text.append(
        "## More\n\n[Many small things](benchmarks/many.md): chains of files, histograms, keys. [Small steps](benchmarks/steps.md). "
        "[Cold files and slow links](benchmarks/cold.md), [reading with many cores](benchmarks/reading-cores.md). "
        "[Queries](benchmarks/queries.md), [RNTuple](benchmarks/rntuple.md), [merging](benchmarks/merging.md), "
        "[parallel writing](benchmarks/parallel.md), [layouts](benchmarks/layout.md), [compression](benchmarks/compression.md), "
        "[random access](benchmarks/random-access.md), [files that are far away](benchmarks/remote.md), "
        "[streaming](benchmarks/streaming.md), [the tables of the papers](benchmarks/papers.md), [other tools](benchmarks/reach.md).\n"
    )
    text.append(
        "## Run it again\n\n```sh\nmake bench                          # everything; inputs take about 2 GB in bench/data\npython -m bench.read.run --quick         # a tenth of it, as a smoke test\npython -m bench.read.run --only flat     # some rows; the others stay\npython -m bench.read.papers              # the tables of old papers, for the next command to show\npython -m bench.read.streaming            # docs/benchmarks/streaming.md\npython -m bench.write.writing             # writing: inputs and files take about 2 GB more\npython -m bench.write.writing --scale 0.02 --rounds 1 --repeat 1\npython -m bench.remote.remote              # files that are far away: docs/benchmarks/remote.md\npython -m bench.read.many                  # docs/benchmarks/many.md\n```\n"
    )
    (docs / "benchmarks.md").write_text("\n".join(text))


if __name__ == "__main__":
    from bench.support import draw_writing

    draw(json.loads((HERE / "read" / "results.json").read_text()), HERE.parent / "docs")
    draw_writing.again(HERE.parent / "docs")
