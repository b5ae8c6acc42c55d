"""The query of the talk of 2010 over all of its links, by three caches; writes docs/benchmarks/links.md.

    python -m bench.remote.talk [--longest 25] [--wan PROGRAM]

The talk waited 2,800 s at 240 ms: for some 11,700 reads, one after another. The file has as many baskets, of
0.6 kB, for six of its branches. What would take longer than `--longest` seconds is not waited for: its
requests and bytes are counted at 0.3 ms, and its time is that of the same read without a link, a round trip
for each request, and its bytes at the rate of the link. Where both are known the page says how far they are
apart.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from pathlib import Path
from typing import Any

from bench.read.run import build_example, machine
from bench.remote.remote import CACHES, FOLDER, LINKS, Link, make, read, sizes, wan
from bench.support.draw import table
from bench.support.files import HERE
from bench.support.worker import exit_with
from tests.support import servers

TARGET = HERE.parent / "docs" / "benchmarks" / "links.md"
BRANCHES, CLUSTER = 30, 254
COLUMNS = [f"b{number:05}" for number in range(2, BRANCHES, 5)]
READERS = {"sapwood": "Sapwood", "root": "ROOT"}
SIZES = ("0", "64 KB", "10 MB")


class Cells:
    """Reads by reader and cache, over one link after another."""

    def __init__(self, program: Path, local: Path, port: int, longest: float) -> None:
        self.program, self.local, self.port, self.longest = program, local, port, longest
        self.known: list[tuple[float, float]] = []
        """Seconds as computed and as measured, where both are known."""

    def far(self, job: dict[str, Any], link: Link) -> tuple[float, dict[str, int]]:
        """Seconds over a link, and what went through it."""
        with wan(self.program, self.port, link) as way:
            answer = read(job | {"url": f"http://127.0.0.1:{way.port}/{self.local.name}"})
            if "seconds" not in answer:
                raise SystemExit(f"{job['reader']} over {link.name}: {answer}")
            return answer["seconds"], way.counts()

    def row(self, reader: str, cache: str) -> dict[str, Any]:
        """Requests, bytes, and seconds over each link, computed where they are many."""
        job = {"reader": reader, "url": str(self.local), "columns": COLUMNS, "cache": CACHES[cache]}
        near = min(read(job)["seconds"] for _ in range(3))
        _, counted = self.far(job, LINKS[1])
        found: dict[str, Any] = {"reader": reader, "cache": cache, **counted, "links": {}}
        for link in LINKS:
            computed = near + link.floor(counted["requests"], counted["down"])
            if not link.megabits or computed > self.longest:
                found["links"][link.name] = {"seconds": computed, "measured": not link.megabits}
            else:
                seconds, _ = self.far(job, link)
                self.known.append((computed, seconds))
                found["links"][link.name] = {"seconds": seconds, "measured": True}
            print(f"{reader:8} {cache:6} {link.name:18} {found['links'][link.name]}", flush=True)
        return found


def shown(cell: dict[str, Any]) -> str:
    seconds = cell["seconds"]
    text = f"{seconds:,.0f}" if seconds >= 100 else f"{seconds:.3g}"
    return text if cell["measured"] else f"{text} *computed*"


def page(document: dict[str, Any]) -> str:
    rows = {(row["reader"], row["cache"]): row for row in document["rows"]}
    order = [(reader, cache) for cache in SIZES for reader in READERS]
    names = [f"{READERS[reader]}, {cache}" for reader, cache in order]
    times = [[link.name, *(shown(rows[one]["links"][link.name]) for one in order)] for link in LINKS]
    counts = [
        [name, f"{rows[one]['requests']:,}", f"{rows[one]['down'] / 1e6:.2f}"]
        for name, one in zip(names, order, strict=True)
    ]
    found, known = document["sizes"], [measured / computed for computed, measured in document["known"]]
    return f"""# The links of the talk

Written by `python -m bench.remote.talk`. {document["machine"]["cpu"]}, {document["machine"]["cores"]} cores. A query of six of
{BRANCHES} branches reads {found["query"] / 1e6:.1f} MB in {found["baskets"]:,} baskets of 0.6 kB, from a file of {found["file"] / 1e6:.0f} MB that ROOT wrote and Apache
serves: as many reads as the talk of 2010 waited for. Caches and link are those of [the other page](remote.md).

What would take longer than {document["longest"]:.0f} s is *computed*: the time of the read without a link, a round trip for each request,
and the bytes at the rate of the link; requests and bytes were counted at 0.3 ms. Of the {len(known)} reads that were
both measured and computed, the measured took {min(known):.2f} to {max(known):.2f} times the computed: the link adds a quarter of a
millisecond to each trip, which is most of it at 0.3 ms and nothing at 240; and with a cache fewer trips are waited for
than there are requests, since several are on their way at a time.

## All links

{table(["seconds", *names], times)}

## Requests

{table(["", "requests", "MB taken"], counts)}
"""


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--longest", type=float, default=25, help="seconds; what takes longer is computed")
    ap.add_argument("--wan", type=Path, help="the program that is the link, if it is built already")
    ap.add_argument("--results", type=Path, default=HERE / "remote" / "talk.json")
    said = ap.parse_args()
    local = FOLDER / "talk.root"
    make(local, BRANCHES, CLUSTER)
    program = said.wan or build_example("wan", "sapwood-testkit")
    with servers.serving("apache2") as server:
        shutil.copyfile(local, server.data / local.name)
        os.chmod(server.data / local.name, 0o644)
        cells = Cells(program, local, int(server.url.rsplit(":", 1)[1]), said.longest)
        rows = [cells.row(reader, cache) for cache in SIZES for reader in READERS]
    document = {
        "machine": machine(),
        "sizes": sizes(local, COLUMNS),
        "longest": said.longest,
        "known": cells.known,
        "rows": rows,
    }
    said.results.write_text(json.dumps(document, indent=1) + "\n")
    TARGET.write_text(page(document))


if __name__ == "__main__":
    exit_with(main)
