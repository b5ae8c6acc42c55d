"""Draws docs/benchmarks/remote.md from what bench/remote/remote.py measured."""

from __future__ import annotations

import statistics
from typing import Any

from bench.support.draw import table

NAMES = {"sapwood": "Sapwood", "root": "ROOT", "uproot": "uproot"}
SCHEMES = {"http": "http (Apache)", "root": "root:// (XRootD)"}
Rows = dict[tuple[str, str, str, str], dict[str, Any]]


def seconds(row: dict[str, Any] | None) -> float | None:
    return statistics.median(row["seconds"]) if row and row["seconds"] and "late" not in row else None


def shown(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    if "error" in row:
        return "cannot"
    if "late" in row:
        return "> 120"
    return text(seconds(row))


def text(number: float | None) -> str:
    if number is None:
        return ""
    return f"{number:.3f}" if number < 1 else f"{number:.2f}" if number < 10 else f"{number:.1f}"


def ratio(one: float | None, other: float | None) -> str:
    return f"{one / other:.2f}" if one is not None and other else ""


def against_floor(document: dict[str, Any], rows: Rows, scheme: str) -> str:
    """As each is used best: Sapwood as it comes, ROOT with a cache that holds the query."""
    body = []
    for link, floors in document["floors"].items():
        of = "local" if link == "local" else scheme
        cells = [
            rows.get((link, of, *who))
            for who in (("sapwood", "default"), ("root", "10 MB"), ("uproot", "none"))
        ]
        ours, peers = seconds(cells[0]), [x for x in map(seconds, cells[1:]) if x is not None]
        floor = floors[of] or None
        body.append(
            [
                link,
                text(floor),
                shown(cells[0]),
                ratio(ours, floor),
                *map(shown, cells[1:]),
                ratio(min(peers, default=None), ours),
            ]
        )
    head = ["seconds", "floor", "Sapwood", "/ floor", "ROOT, 10 MB", "uproot", "best peer / Sapwood"]
    return table(head, body)


def by_cache(document: dict[str, Any], rows: Rows, scheme: str) -> str:
    caches = ("0", "64 KB", "10 MB", "default")
    columns = [(reader, cache) for cache in caches for reader in ("sapwood", "root")]
    body = []
    for link in document["floors"]:
        of = "local" if link == "local" else scheme
        body.append([link, *(shown(rows.get((link, of, *column))) for column in columns)])
    return table(["seconds", *(f"{NAMES[reader]}, {cache}" for reader, cache in columns)], body)


def counted(document: dict[str, Any], rows: Rows, link: str) -> str:
    body = []
    for (of, scheme, reader, cache), row in rows.items():
        if of == link and "down" in row and "error" not in row and not cache.endswith(("blocks", "run")):
            numbers = [str(row[name]) for name in ("connections", "requests")]
            megabytes = [f"{row[name] / 1e6:.2f}" for name in ("up", "down")]
            cpu = text(statistics.median(row["cpu"])) if row["cpu"] else ""
            body.append(
                [f"{SCHEMES[scheme]}: {NAMES[reader]}, {cache}", *numbers, *megabytes, shown(row), cpu]
            )
    body.sort(key=lambda line: line[0].split(":")[0])
    return table(
        [f"at {link}", "connections", "requests", "MB sent", "MB taken", "seconds", "CPU seconds"], body
    )


def of_blocks(document: dict[str, Any], rows: Rows, link: str) -> str:
    body = []
    local = seconds(rows.get(("local", "local", "sapwood", "default")))
    for scheme in SCHEMES:
        cells = [
            rows.get((link, scheme, "sapwood", name)) for name in ("no blocks", "first run", "second run")
        ]
        none, first, second = map(seconds, cells)
        waited = 2 * float(link.split()[0]) / 1e3
        rest = second - waited if second is not None else None
        taken = [f"{cell['down'] / 1e6:.2f}" if cell else "" for cell in cells]
        body.append(
            [
                SCHEMES[scheme],
                *map(text, (none, first, second, local)),
                ratio(first, none),
                ratio(rest, local),
                *taken,
            ]
        )
    head = ["no cache", "first run", "second run", "local file", "first / none", "(second - 2 trips) / local"]
    return table(
        ["seconds", *head, *(f"MB, {name}" for name in ("no cache", "first run", "second run"))], body
    )


def of_sessions(sessions: dict[str, Any]) -> list[str]:
    """A file of 1 GB, locally, over http, and with the cache of blocks."""
    m, body = sessions["machine"], []
    for row in sessions["rows"]:
        numbers = [f"{row[name]:,}" for name in ("requests", "ranges")]
        sizes = [f"{row[name] / 1e6:,.0f}" for name in ("sent", "kept")]
        times = [f"{row[name]:.1f}" for name in ("cpu", "seconds") if name in row]
        body.append([row["session"], *numbers, *sizes, *times])
    words = " The machine did other things meanwhile: real times say nothing and are left out."
    busy = words if sessions["busy"] else ""
    head = ["", "requests", "ranges", "MB sent", "MB kept", "CPU, s", *([] if busy else ["real, s"])]
    return [
        "## A file of 1 GB and the cache of blocks\n",
        f"`python -m bench.remote.sessions` on {m['cpu']}, {m['cores']} cores: the four sessions of the talk of 2010, all of a file of {sessions['size'] / 1e6:,.0f} MB with 9,705 branches "
        f"that ROOT wrote, through a server of ours that waits for {1e3 * sessions['delay']:.0f} ms before each answer and counts. Times are medians of {sessions['rounds']} rounds.{busy} "
        "The second time the server is asked once, for one byte: whether the file is still the same.\n",
        table(head, body),
    ]


def page(document: dict[str, Any]) -> str:
    rows: Rows = {(r["link"], r["scheme"], r["reader"], r["cache"]): r for r in document["rows"]}
    sizes, m = document["sizes"], document["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in m["versions"].items())
    others = max((row.get("others", 0) for row in document["rows"]), default=0)
    trips = ", ".join(f"{link.split(',')[0]}: {ms:.2f} ms" for link, ms in document["trips"].items())
    middle = "22 ms, 100 Mb/s"
    parts = [
        "# Files that are far away\n",
        (
            f"Written by `python -m bench.remote.remote`; the numbers behind it are in `bench/remote/remote.json`. {m['cpu']}, {m['cores']} cores; "
            f"Python {m['python']}; {versions}. Other processes used up to {100 * others:.0f} % of the machine during a read: "
            "what computes more is then slowed down more.\n"
        ),
        (
            f"One query reads {sizes['query'] / 1e6:.1f} MB ({sizes['baskets']} baskets of six of 300 branches, {sizes['entries']:,} entries) "
            f"of a tree of {sizes['file'] / 1e6:.0f} MB that ROOT wrote, whose record has {sizes['record'] / 1e3:.0f} kB. Each read is a fresh "
            f"process, measured from opening the file to the last value in memory; libraries are loaded before. Numbers are medians of rounds; there were {document['rounds']}.\n"
        ),
        (
            "**The link** is a program on this machine, the same for all: bytes follow one another at its rate, which all connections share, and "
            "travel for half a round trip each way; what a client sends first waits for a round trip, as it would to connect. "
            "It keeps any number of bytes on their way: TCP's slow start and its windows, which over real links cost "
            "further round trips, are not seen. Round trips of one byte, as measured through it: "
            f"{trips}.\n"
        ),
        (
            "**The floor** is what the protocol asks for: a round trip to connect, over root:// one to log in, two to find what is to be read, and "
            "one to read it, and the bytes of the query and of the tree's record at the rate of the link. Nothing is decoded in it.\n"
        ),
        (
            "Servers are Debian's Apache and XRootD. ROOT 6.40's `TFile::Open` does not find its class for http, so that a `TWebFile` is made for it. "
            "*cannot*: the reader fails on such a file.\n"
        ),
    ]
    for scheme, name in SCHEMES.items():
        parts += [f"## Over {name}\n", against_floor(document, rows, scheme)]
    parts.append(
        "\n## By size of the cache\n\nROOT's cache (`SetCacheSize`) is told the branches, *default* is what it does by itself; Sapwood's "
        "(`tree.cache_size`) bounds a window, while the next is on its way.\n"
    )
    for scheme, name in SCHEMES.items():
        parts += [f"Over {name}:\n", by_cache(document, rows, scheme)]
    parts += ["## Requests and bytes\n", "Counted by the link.\n", counted(document, rows, middle)]
    if any(row["cache"] == "second run" for row in document["rows"]):
        parts += [
            "## The cache of blocks\n",
            f"At {middle}, into an empty cache and from a full one (`cache=\"blocks\"`). To know whether the file is still the same takes two "
            "round trips: to connect, and to ask. Blocks have 1 KiB: baskets that lie apart bring a little of their neighbours along.\n",
            of_blocks(document, rows, middle),
        ]
    if "sessions" in document:
        parts += of_sessions(document["sessions"])
    return "\n".join(parts)
