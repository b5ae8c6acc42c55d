#!/usr/bin/env python3
"""Write the tree of five branches whose layout the talk of 2010 shows, by ROOT before and after flushes and by Sapwood; draw each
by offset and in rows of 1 MB; and write docs/benchmarks/layout.md.

    python -m bench.write.layout [--entries 1000] [--no-draw]

Everything here is counted: nothing depends on the machine.
"""

from __future__ import annotations

import argparse
import bisect
import itertools
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.support.files import DATA, HERE, load_root

FOLDER = DATA / "layout"
DOCS = HERE.parent / "docs" / "benchmarks"
TARGET = DOCS / "layout.md"
MB = 1_000_000
BRANCHES = ["b1", "b2", "b3", "b4", "b5"]
BUFFER = 8_000
FLUSH = 1_000_000
"""Bytes of a cluster: of the talk's ten rows each is about one."""


@dataclass(frozen=True)
class Form:
    """A file: how it is called on the page, and whether it is drawn."""

    name: str
    title: str
    drawn: bool = True

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.root"


BEFORE = Form("before", "ROOT, buffers of 8,000 bytes, `SetAutoFlush(0)`")
AFTER = Form("after", "ROOT, the same with `SetAutoFlush(-1000000)`")
OURS = Form("sapwood", 'Sapwood, `mktree(auto_flush="1 MB")`')
REWRITTEN = Form("rewritten", 'the first by `sapwood.rewrite(order="entry", auto_flush="1 MB")`', drawn=False)
FORMS = [BEFORE, AFTER, OURS, REWRITTEN]


@dataclass(frozen=True)
class Basket:
    """Entries from `first` to before `last`, `size` bytes at `start`."""

    first: int
    last: int
    start: int
    size: int
    branch: int

    @property
    def end(self) -> int:
        return self.start + self.size


def write(entries: int) -> None:
    """All of the files: the same entries in each."""
    import sapwood

    FOLDER.mkdir(parents=True, exist_ok=True)
    root = load_root(DATA, ["layout"])
    root.layout_write(str(BEFORE.path), entries, 0, BUFFER)
    root.layout_write(str(AFTER.path), entries, -FLUSH, BUFFER)
    with sapwood.open(BEFORE.path) as file:
        arrays = file["tree"].arrays(library="ak")
    kinds = {"b1": "400 * uint8"} | dict.fromkeys(BRANCHES[1:], "vector<unsigned char>")
    with sapwood.recreate(OURS.path, compression="zlib:1") as file:
        tree = file.mktree("tree", kinds, "five branches", auto_flush=FLUSH_TEXT)
        tree.extend({name: arrays[name] for name in BRANCHES})
    sapwood.rewrite(BEFORE.path, REWRITTEN.path, order="entry", auto_flush=FLUSH_TEXT)
    for form in FORMS[1:]:
        with sapwood.open(form.path) as file:
            other = file["tree"].arrays(library="ak")
        if any(arrays[name].to_list() != other[name].to_list() for name in BRANCHES):
            sys.exit(f"{form.name}: entries differ")


FLUSH_TEXT = f"{FLUSH // MB} MB"


def layout_of(form: Form) -> tuple[list[Basket], dict[str, Any]]:
    import sapwood

    with sapwood.open(form.path) as file:
        layout = file["tree"].layout()
    found = [
        Basket(*numbers, BRANCHES.index(branch["path"]))
        for branch in layout["branches"]
        for numbers in branch["baskets"]
    ]
    return found, layout


@dataclass(frozen=True)
class Reading:
    """What reading all branches entry by entry asks of the file: each basket once, when its first entry comes."""

    seeks: int
    back: int
    fetched: int
    jumped: float
    apart: float


def reading(baskets: list[Basket], entries: int, starts: list[int]) -> Reading:
    """Seeks are baskets that do not begin where the one before ended; `fetched` those of a reader that fetches from
    each of the entries `starts` to the next one in the order of offsets. `apart`: from the first byte of an
    entry's baskets to their last, mean of the entries."""
    order = sorted(baskets, key=lambda basket: (basket.first, basket.branch))
    seeks = back = jumped = 0
    for one, other in itertools.pairwise(order):
        seeks += other.start != one.end
        back += other.start < one.end
        jumped += abs(other.start - one.end)
    spans = [[sys.maxsize, 0] for _ in range(entries)]
    for basket in baskets:
        for span in spans[basket.first : basket.last]:
            span[0], span[1] = min(span[0], basket.start), max(span[1], basket.end)
    window = {basket: bisect.bisect_right(starts, basket.first) for basket in baskets}
    fetch = sorted(baskets, key=lambda basket: (window[basket], basket.start))
    fetched = sum(other.start != one.end for one, other in itertools.pairwise(fetch))
    apart = sum(end - start for start, end in spans) / entries
    return Reading(seeks, back, fetched, jumped / MB, apart / MB)


def by_offset(form: Form) -> str:
    """The picture of `sapwood layout`; rectangles of a colour become one path, which is a third as long."""
    path = FOLDER / f"{form.name}.svg"
    command = [sys.executable, "-m", "sapwood", "layout", str(form.path), "--svg", str(path)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    paths: dict[str, list[str]] = {}
    mark = re.compile(r'<rect x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)" fill="(#\w+)"/>\n?')

    def take(found: re.Match[str]) -> str:
        x, y, width, height, colour = found.groups()
        paths.setdefault(colour, []).append(f"M{x} {y}h{width}v{height}h-{width}")
        return ""

    def group(found: re.Match[str]) -> str:
        mark.sub(take, found.group(2))
        lines = [f'<path fill="{colour}" d="{"".join(parts)}"/>\n' for colour, parts in paths.items()]
        return found.group(1) + "".join(lines) + "</g>"

    return re.sub(r"(<g [^>]*>\n)(.*?)</g>", group, path.read_text(), count=1, flags=re.DOTALL)


def colours(picture: str) -> dict[str, str]:
    """Those that the picture by offset has, by branch."""
    found = re.findall(r'<rect [^>]*fill="(#\w+)"/>\n<text [^>]*>(b\d)</text>', picture)
    return {name: colour for colour, name in found}


def in_rows(form: Form, baskets: list[Basket], file_bytes: int, of: dict[str, str]) -> str:
    """The file from left to right and from top to bottom, a row for each MB: what the talk shows. Colours are `of`
    branches."""
    scale, left, top, row = 1_000, 60, 40, 22
    rows = -(-file_bytes // MB)
    strokes: list[list[str]] = [[] for _ in BRANCHES]
    for basket in baskets:
        at = basket.start
        while at < basket.end:
            line = at // MB
            stop = min(basket.end, (line + 1) * MB)
            x, width = round(at % MB / scale), max(round((stop - at) / scale), 1)
            strokes[basket.branch].append(f"M{left + x} {top + line * row + 10}h{width}")
            at = stop
    width, height = left + MB // scale + 70, top + rows * row + 10
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<text x="{left}" y="24" font-size="14">{form.title.replace("`", "").replace(chr(34), "&quot;")}: '
        f"{len(baskets):,} baskets, rows of 1 MB</text>",
    ]
    for branch, parts in enumerate(strokes):
        colour, y = of[BRANCHES[branch]], top + 10 + 20 * branch
        lines.append(f'<path stroke="{colour}" stroke-width="16" d="{"".join(parts)}"/>')
        lines.append(
            f'<rect x="{left + MB // scale + 16}" y="{y - 10}" width="12" height="12" fill="{colour}"/>'
        )
        lines.append(f'<text x="{left + MB // scale + 34}" y="{y + 1}">b{branch + 1}</text>')
    for line in range(rows):
        lines.append(f'<text x="{left - 6}" y="{top + line * row + 14}" text-anchor="end">{line} MB</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def page(given: str, entries: int, forms: list[tuple[Form, list[Basket], dict[str, Any]]]) -> str:
    buffer = next(layout for form, _, layout in forms if form is BEFORE)
    median = max(branch["median_bytes"] for branch in buffer["branches"][:3])
    lines = [
        "# The layout of a tree of five branches",
        "",
        f"`python -m bench.write.layout{given}`: the tree with which Brun explained at the WLCG Jamboree 2010 why files are read in disorder. It has {entries:,} entries of b1",
        "(400 bytes), b2 (2,500 ± 50), b3 (5,000 ± 500), b4 (7,500 ± 2,500) and b5 (10,000 ± 5,000), a buffer of 8,000 bytes for each branch, of which ZLIB 1 leaves less than",
        f"3,000 (here {median:,} in the median), and about 10 MB. Everything is counted, nothing depends on the machine. All files hold the same entries.",
        "",
        "*Seeks*: baskets that do not begin where the one before ended, when all branches are read entry by entry and each basket is read once, at its first entry; *backwards*: of",
        "these, so many go back. *By cluster*: seeks of a reader that fetches each cluster in the order of offsets, as caches do (of the first file, which has none, a tenth of the\nentries). *Jumped*: the sum of the ways of the first. *Apart*: from the first byte of the baskets of an entry to their last, mean of the entries. *b1* to *b5*: baskets.",
        "",
        "| | MB | clusters | baskets | b1 | b2 | b3 | b4 | b5 | seeks | backwards | by cluster | jumped, MB | apart, MB |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for form, baskets, layout in forms:
        has_clusters = form is not BEFORE
        starts = [cluster["entries"][0] for cluster in layout["clusters"]]
        of = reading(baskets, entries, starts if has_clusters else list(range(0, entries, entries // 10)))
        counts = [sum(basket.branch == branch for basket in baskets) for branch in range(len(BRANCHES))]
        clusters = len(starts) if has_clusters else 0
        cells = [f"{layout['file_bytes'] / MB:.1f}", f"{clusters or ''}", f"{len(baskets):,}"]
        cells += [f"{count:,}" for count in counts]
        cells += [f"{of.seeks:,}", f"{of.back:,}", f"{of.fetched:,}", f"{of.jumped:,.1f}", f"{of.apart:.3f}"]
        lines.append(f"| {form.title} | {' | '.join(cells)} |")
    lines += [
        "",
        "Each branch fills its buffer at entries of its own: a basket of b1 has the values of about 20 entries, and stands behind those of b5, which has one basket for each. With",
        "flushes all branches end their baskets at the same entry, and those of a cluster stand together: what is left are ways within a cluster. ROOT's first cluster keeps the",
        "small buffers, which it enlarges with the first flush.",
    ]
    for form, _, _ in forms:
        if form.drawn:
            lines += ["", f"## {form.title}", ""]
            lines += ["By offset, as `sapwood layout --svg` draws it:", ""]
            lines += [f"![baskets by entry and offset](layout_{form.name}.svg)", "", "In rows of 1 MB:", ""]
            lines += [f"![baskets in rows of 1 MB](layout_{form.name}_rows.svg)"]
    return "\n".join(lines) + "\n"


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--entries", type=int, default=1_000)
    ap.add_argument("--no-draw", action="store_true", help="leave the page and its pictures as they are")
    args = ap.parse_args()
    write(args.entries)
    forms = [(form, *layout_of(form)) for form in FORMS]
    given = "" if args.entries == ap.get_default("entries") else f" --entries {args.entries}"
    text = page(given, args.entries, forms)
    print(text)
    if not args.no_draw:
        for form, baskets, layout in forms:
            if form.drawn:
                picture = by_offset(form)
                rows = in_rows(form, baskets, layout["file_bytes"], colours(picture))
                (DOCS / f"layout_{form.name}.svg").write_text(picture)
                (DOCS / f"layout_{form.name}_rows.svg").write_text(rows)
        TARGET.write_text(text)
    for form in FORMS:
        form.path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
