"""Draws docs/benchmarks/treecache.md from what bench/read/treecache.py measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.support.draw import table

Answer = dict[str, Any]
LISTS = {"root_entry_list": "TEntryList", "root_event_list": "TEventList"}
TABLES = {
    "all": "Everything",
    "few": "Every 33rd branch, as 33 MB of 1,100",
    "runs": "A fifth of the events, in runs",
    "events": "A fifth of the events, at random",
}
"""Headings of the tables that are made at the size of the talk, too."""
ROUND_TRIP_S = 0.001
"""Of the talk's local network."""
NAMES = {"root": "ROOT", "rows": "rows", "arrays": "arrays"}


def number(value: float) -> str:
    return f"{value:,.0f}"


def seconds(answer: Answer, name: str) -> str:
    """Seconds; none where calls were only counted."""
    return f"{answer[name]:.2f}" if name in answer else "" if "calls" in answer else "cannot"


def calls(answer: Answer) -> str:
    """Requests, and how many ranges they ask for."""
    if "calls" not in answer:
        return "cannot"
    if "ranges" not in answer:
        return number(answer["calls"])
    return f"{number(answer['calls'])} ({number(answer['ranges'])})"


def mega(answer: Answer, *names: str) -> str:
    return f"{sum(answer[name] for name in names) / 1e6:.0f}" if names[0] in answer else ""


def taken(answer: Answer) -> str:
    """Megabytes that were read; ROOT does not count those that it did not want."""
    return mega(answer, "bytes", "extra") if "ranges" not in answer else mega(answer, "bytes")


def of_table(rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["table"] == name]


HEAD = [
    "calls: ROOT", "rows", "arrays", "MB read: ROOT", "rows", "arrays", "real, s: ROOT", "rows", "arrays", "CPU, s: ROOT", "rows", "arrays",
    "ROOT's memory, MB",
]  # fmt: skip


def costs(of: dict[str, Answer]) -> list[str]:
    answers = [of.get(reader, {}) for reader in NAMES]
    held = mega(of["root"], "held")
    return [
        *map(calls, answers), *map(taken, answers), *(seconds(x, "seconds") for x in answers),
        *(seconds(x, "cpu") for x in answers), held
    ]  # fmt: skip


def of_caches(rows: list[dict[str, Any]], name: str) -> str:
    body = [[row["row"], str(row["cache"]), *costs(row["of"])] for row in of_table(rows, name)]
    return table(["", "cache, MB", *HEAD], body)


def of_layouts(rows: list[dict[str, Any]]) -> str:
    body = []
    for row in of_table(rows, "layouts"):
        what, _, layout = row["row"].partition("; ")
        of = [row["of"].get(reader, {}) for reader in NAMES]
        shown = layout if layout == "as it was" else f"`{layout}`"
        body.append([what, shown, *map(calls, of), *map(taken, of), mega(row["of"]["root"], "held")])
    head = ["calls: ROOT", "rows", "arrays", "MB read: ROOT", "rows", "arrays", "ROOT's memory, MB"]
    return table(["", "rewritten with", *head], body)


def lists(rows: list[dict[str, Any]]) -> str:
    names = {"root": "ROOT", **LISTS, "rows": "rows", "arrays": "arrays"}
    body = []
    for row in of_table(rows, "lists"):
        of = [row["of"].get(reader, {}) for reader in names]
        held = mega(row["of"]["root_event_list"], "held")
        body.append([row["row"], *map(calls, of), *map(taken, of), held])
    head = [f"{what}: {name}" for what in ("calls", "MB read") for name in names.values()]
    return table(["", *head, "memory of ROOT's TEventList, MB"], body)


def misses(rows: list[dict[str, Any]], name: str) -> str:
    body = []
    for row in of_table(rows, name):
        of = [row["of"].get(reader, {}) for reader in NAMES]
        missed = [number(x["misses"]) if "misses" in x else "cannot" for x in of[:2]]
        body.append([row["row"], *map(calls, of), *missed, *(seconds(x, "seconds") for x in of)])
    return table(
        ["", "calls: ROOT", "rows", "arrays", "misses: ROOT", "rows", "real, s: ROOT", "rows", "arrays"], body
    )


def in_step(rows: list[dict[str, Any]]) -> str:
    """Four trees, each alone, and in step."""
    alone = [row for row in of_table(rows, "step") if row["row"] != "four in step"]
    together = [row for row in of_table(rows, "step") if row["row"] == "four in step"]
    body = []
    for reader, name in NAMES.items():
        of = [row["of"].get(reader, {}) for row in alone + together]
        if together and all("calls" in answer for answer in of):
            one = [sum(answer.get(what, 0) for answer in of[:-1]) for what in ("calls", "misses")]
            body.append(
                [name, number(one[0]), number(of[-1]["calls"]), number(one[1]), number(of[-1]["misses"])]
            )
    return table(["", "calls: the four alone", "in step", "misses: alone", "in step"], body)


def readahead(rows: list[dict[str, Any]]) -> str:
    body = []
    for row in of_table(rows, "readahead"):
        of = [row["of"].get(reader) for reader in NAMES]
        body.append(
            [
                row["row"],
                *(
                    cell
                    for answer in of
                    for cell in (
                        (calls(answer), taken(answer), seconds(answer, "seconds")) if answer else ("", "", "")
                    )
                ),
            ]
        )
    return table(
        ["", *(f"{name}: {what}" for name in NAMES.values() for what in ("calls", "MB", "real, s"))], body
    )


def more_calls(rows: list[dict[str, Any]]) -> str:
    """Where Sapwood asked more often than ROOT with a cache."""
    found = []
    names = {
        "all": "everything",
        "few": "few branches",
        "runs": "a fifth of the events in runs",
        "events": "a fifth of the events at random",
        "kinds": "other files",
    }
    for row in rows:
        root = row["of"]["root"]
        for reader in ("rows", "arrays"):
            ours = row["of"].get(reader, {})
            if (
                row["table"] in names
                and row["cache"]
                and "calls" in ours
                and "calls" in root
                and ours["calls"] >= root["calls"]
            ):
                memory = f"ROOT held {root['held'] / 1e6:.0f} MB"
                found.append(
                    f"- {names[row['table']]}, {row['row']}, {row['cache']} MB, *{reader}*: {number(ours['calls'])} against {number(root['calls'])}; {memory}"
                )
    return "\n".join(found) or "None."


def sickness(rows: list[dict[str, Any]]) -> str:
    """Reads for each MB of the interleaved file without a cache."""
    first = next((row["of"]["root"] for row in of_table(rows, "all") if row["row"] == "interleaved"), {})
    return number(first["calls"] / (first["bytes"] / 1e6)) if first.get("bytes") else "as many"


def over_a_link(rows: list[dict[str, Any]]) -> str:
    """Seconds that calls wait for a local network, each for a round trip."""
    body = []
    for name in ("all", "few", "runs"):
        what = TABLES[name].split(",")[0].lower()
        for row in of_table(rows, name):
            answers = [row["of"].get(reader, {}) for reader in NAMES]
            waits = (f"{ROUND_TRIP_S * of['calls']:.3f}" if "calls" in of else "cannot" for of in answers)
            body.append([f"{what}: {row['row']}", str(row["cache"]), *waits])
    return table(["seconds", "cache, MB", *NAMES.values()], body)


def counted(
    rows: list[dict[str, Any]],
    name: str,
    heading: str,
    words: str,
    drawn: Callable[[list[dict[str, Any]]], str],
) -> list[str]:
    """The part of the page about a table that was only counted, if it was."""
    if not of_table(rows, name):
        return []
    return [f"## {heading}", "", f"{words}, a cache of 30 MB, calls and bytes only.", "", drawn(rows), ""]


def full_page(document: dict[str, Any]) -> str:
    """The page of the tables that are made from files as large as those of the talk."""
    machine, sizes, rows = (document[name] for name in ("machine", "sizes", "rows"))
    answers = [answer for row in rows for answer in row["of"].values() if "seconds" in answer]
    others = max((answer.get("others", 0.0) for answer in answers), default=0.0)
    there = [
        line
        for name, heading in TABLES.items()
        if of_table(rows, name)
        for line in ("", f"## {heading}", "", of_caches(rows, name))
    ]
    return "\n".join([
        "# The tree cache at the size of the talk",
        "",
        f"`python -m bench.read.treecache --scale 1 --only {' '.join([*TABLES, 'layouts', 'lists'])}` on {machine['cpu']}, {machine['cores']} cores: tables of [the tree cache](treecache.md), which says",
        "what contenders and columns are, from files of the size of the talk's. Other processes took up to "
        f"{100 * others:.0f} % of the machine during a read:",
        "seconds are worth as much as that allows, calls and bytes do not depend on it. The numbers behind the page are in `bench/read/treecache-full.json`.",
        "",
        f"*Interleaved*: {sizes['interleaved']} MB (the talk: 1,266, and 1,328,586 reads), {sickness(rows)} reads for each MB (the talk: 1,050). *Reclustered*: {sizes['reclustered']} MB. "
        f"*Unsplit*: {sizes['objects']} MB.",
        *there,
        "",
        *counted(
            rows, "layouts", "Layouts for few branches and for all",
            "The interleaved file after `sapwood.rewrite` with these options", of_layouts,
        ),
        *counted(rows, "lists", "A cache that knows the list", "A fifth of the events", lists),
        "## Over a local network",
        "",
        "What the talk's row of a LAN adds to the times above: each call waits for a round trip of 1 ms. *Computed* from the calls; the bytes come on top, the same for all.",
        "Calls of Sapwood have up to 16 ranges, which are one request.",
        "",
        over_a_link(rows),
    ]) + "\n"  # fmt: skip


def page(document: dict[str, Any]) -> str:
    machine, scale, sizes, rows = (document[name] for name in ("machine", "scale", "sizes", "rows"))
    answers = [answer for row in rows for answer in row["of"].values() if "seconds" in answer]
    others = max((answer.get("others", 0.0) for answer in answers), default=0.0)
    with_cache = [
        row for row in rows if row["cache"] and row["table"] in ("all", "few", "runs", "events", "kinds")
    ]
    fewer = {
        reader: sum(
            row["of"][reader].get("calls", 1e300) < row["of"]["root"].get("calls", 0) for row in with_cache
        )
        for reader in ("rows", "arrays")
    }
    return "\n".join([
        "# The tree cache",
        "",
        f"`python -m bench.read.treecache --scale {scale}` on {machine['cpu']}, {machine['cores']} cores. Files are written by ROOT 6.40 and local; at scale 1 they are about",
        "as large as those of the talk of 2010 whose tables these are (1,100 MB; 471 and 566 MB). Cache sizes are those of the talk at any scale. Of each file",
        "nothing is in the system's cache when a read begins (`posix_fadvise`), each read is a process of its own and was done once; sums of all values agree.",
        f"Other processes took up to {100 * others:.0f} % of the machine during a read: seconds are worth as much as that allows, calls and bytes do not depend on it.",
        "Rows without seconds were only counted (`--count`), on a machine with other work; those of *rows* through Python, which asks the same reader for the same. The numbers behind the page are in",
        "`bench/read/treecache.json`.",
        *([] if document["is_whole"] else ["**Rows are missing: not all tables were measured.**"]),
        "",
        "- *ROOT*: `GetEntry` in compiled C++, with `TTreeCache` of the size that is given and told all branches that are read, so that it learns nothing;",
        "  readahead of 256 KB where nothing else is said. *Calls* are `TFile::GetReadCalls` once the trees are open. *ROOT's memory* is what the buffer of its",
        "  cache has in the end: it takes up to four times its size where a cluster does not fit.",
        "- *rows*: `Tree::reader` from entry to entry (`crates/core/examples/rows.rs`), which is what `tree.rows()` of Python uses; compiled, too. *arrays*: `tree.arrays` of",
        "  Python, all columns at once. *Calls* are requests, and in brackets the ranges of bytes in them: a request reads up to 16 ranges that are announced to the",
        "  system together. Both decode with all cores; CPU time is that of all threads. `cache_size` bounds a window; while one is read, the next is on its way.",
        "  Without a cache *rows* reads one basket of each branch twice.",
        "- *MB read*: with bytes between baskets that were not wanted. Megabytes are millions of bytes, seconds are from opening the file on.",
        "",
        f"*Interleaved*: {sizes['interleaved']} MB, one tree of 9,705 branches of 1 to 400 floats, `SetAutoFlush(0)`, ZLIB 1, in baskets of 730 to 2,200 bytes, of each branch another size:",
        f"each flushes its baskets alone. That is as sick as the file of the talk, which took 1,050 reads for each MB; this one takes {sickness(rows)}. *Reclustered*: the same",
        f"after `sapwood.rewrite(order=\"entry\")`, clusters of 23 MB (30 MB of the old baskets), {sizes['reclustered']} MB. *Unsplit*: the same values in 203 branches, each an object with a number and the",
        f"list of its 48 columns' floats, ROOT's default flush, {sizes['objects']} MB.",
        "",
        f"## {TABLES['all']}",
        "",
        of_caches(rows, "all"),
        "",
        f"## {TABLES['few']}",
        "",
        of_caches(rows, "few"),
        "",
        "## Layouts for few branches and for all",
        "",
        "The interleaved file after `sapwood.rewrite` with these options, a cache of 30 MB. *Everything* is all 9,705 branches, *as many side by side* 295 that follow one another,",
        "as those of a collection or two do. Without `auto_flush` clusters come to 23 MB here, with `\"100 MB\"` to 65 MB: 128 MiB before compression end a cluster at the latest.",
        "",
        of_layouts(rows),
        "",
        "- **Few branches of a very wide tree and all of them**: `order=\"entry\", auto_flush=\"100 MB\"`. A third of the calls for branches that lie apart, and no more for everything;",
        "  the file is 7 % smaller, too. What it costs: runs of events read twice the bytes, for a run needs the whole of a longer cluster; and whoever reads all branches entry by",
        "  entry holds the baskets of such a cluster, whatever the size of the cache (Python came to 435 MB of memory against 376).",
        "- **Part of the events, and all of their branches**: `order=\"entry\"` with its clusters of 30 MB, which is what `rewrite` does by itself.",
        "- Branches side by side are served by every layout with `order=\"entry\"`: their baskets are one range in each cluster.",
        "- `order=\"branch\"` is for those who read whole columns, and few: with *arrays* a range for each branch. Reading everything entry by entry then takes as many calls as the file that",
        "  was not rewritten, or more, because each window has a piece of every branch.",
        "- Larger baskets (`basket_bytes`) have no part in this: every branch has one basket in each cluster already, and only longer clusters make it larger.",
        "",
        f"## {TABLES['runs']}",
        "",
        "Runs of about 60 events that follow one another, each at some place of an equal part of the tree: of the reclustered file 42 % of the baskets, of the talk's 51 %.",
        "",
        of_caches(rows, "runs"),
        "",
        f"## {TABLES['events']}",
        "",
        "Here and there, in their order; most baskets hold one of them.",
        "",
        of_caches(rows, "events"),
        "",
        "## A cache that knows the list",
        "",
        "A fifth of the events as above, 30 MB of cache. *ROOT* is told nothing, *TEntryList* has `SetEntryList`, *TEventList* `SetEventList`, and both loop over `GetEntryNumber`;",
        "*rows* is `tree.rows(entries=...)`, *arrays* `tree.arrays(entries=...)`. TTreeCache looks at event lists only: to it an entry list is as good as none.",
        "",
        lists(rows),
        "",
        "## Other files",
        "",
        f"*minbias*: 1,128 branches as above, {sizes['minbias']} MB without flush and {sizes['minbias flushed']} MB with ROOT's default one. *cms*: 1,270 branches, of lists nine of ten, with",
        f"the numbers that count them in the tenth, {sizes['cms']} and {sizes['cms flushed']} MB.",
        "",
        of_caches(rows, "kinds"),
        "",
        "## Readahead",
        "",
        "ROOT joins what is not farther apart than `TFile::SetReadaheadSize` says, 30 MB of cache. Sapwood has no such setting: it reads a gap where that costs less than",
        "another range does.",
        "",
        readahead(rows),
        "",
        "## Four trees of a file in step",
        "",
        f"{sizes['four']} MB, four trees of 280 branches in clusters of 3 MB, caches of 1 MB each. Trees do not evict one another: in step they cost what they cost alone.",
        "A miss is a basket that had to be asked for when it was needed: of ROOT's, a read past its cache; of Sapwood's, the first look at each branch is one.",
        "Python's *arrays* reads one tree after the other.",
        "",
        in_step(rows),
        "",
        "## Events in the order of luminosity sections",
        "",
        "The first of these trees with its cache of 1 MB: 40 sections whose events ended up in the tree up to two sections from their own. Sapwood is told the list; ROOT has no way to be.",
        "",
        misses(rows, "order"),
        "",
        "## Where Sapwood asks more often",
        "",
        f"Of {len(with_cache)} cells with a cache above, *rows* makes fewer calls than ROOT in {fewer['rows']} and *arrays* in {fewer['arrays']}. Those that are left:",
        "",
        more_calls(rows),
        "",
        "Where a cluster is larger than the cache, Sapwood reads parts of it; ROOT reads the whole cluster, beyond the size that it was given. With",
        "a window as large as what ROOT held (minbias flushed, 40 MB) *rows* makes fewer calls; while one window is decoded the next is on its way, so that up to two may be held.",
    ]) + "\n"  # fmt: skip
