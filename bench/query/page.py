"""Draws docs/benchmarks/queries.md from what bench/query/query.py measured."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

from bench.query import data
from bench.support.draw import table

PAGE = Path(__file__).resolve().parents[2] / "docs/benchmarks/queries.md"
MANY = "ten histograms in one pass"
Answer = dict[str, Any]

NAMES = ["draw", "again", "arrays", "limit", "uproot", "root", "rdf"]
HEAD = ["", *NAMES[:-2], "ROOT", "RDF", "draw / arrays", "again / limit", "ROOT / draw", "RDF / draw"]


def ratio(one: float, other: float) -> str:
    return f"{one / other:.2f}" if one < 10 * other else f"{one / other:.0f}"


def cells(row: Answer) -> list[str]:
    """A row of the table of one thread."""
    cpu = {name: row[name]["cpu"] for name in NAMES if row[name] is not None}
    last = cpu.get("again", cpu["draw"])
    return [
        row["row"], *(f"{cpu[name]:.3f}" if name in cpu else "" for name in NAMES),
        ratio(cpu["draw"], cpu["arrays"]), ratio(last, cpu["limit"]), ratio(cpu["root"], cpu["draw"]),
        ratio(cpu["rdf"], cpu["draw"]),
    ]  # fmt: skip


def line(row: Answer) -> str:
    """A row as the terminal shows it while it is measured."""
    return " ".join(f"{cell:>7}" for cell in cells(row))


def gain(row: Answer, name: str) -> float:
    """How much faster two threads are, by the clock."""
    return row[name]["wall"] / row[f"{name}2"]["wall"]


def of_threads(row: Answer) -> list[str]:
    walls = [row[name]["wall"] for name in ("draw2", "limit2", "rdf2")]
    gains = [gain(row, name) for name in ("draw", "limit", "rdf")]
    return [
        row["row"], *(f"{wall:.3f}" for wall in walls), *(f"{one:.2f}" for one in gains),
        ratio(row["rdf2"]["wall"], row["draw2"]["wall"]), ratio(row["draw2"]["cpu"], row["draw"]["cpu"]),
    ]  # fmt: skip


def waited(rows: list[Answer]) -> float:
    """Seconds by the clock for each of CPU, of drawings on one thread: above one where others used the
    processors, too."""
    return median(row["draw"]["wall"] / row["draw"]["cpu"] for row in rows)


def judged(words: str, values: list[tuple[str, float]], is_met: Any) -> str:
    """A line on an aim: how many rows meet it, and which do not."""
    missed = [f"{name} ({value:.2f})" for name, value in values if not is_met(value)]
    verdict = "met by all rows" if not missed else f"met by {len(values) - len(missed)} of {len(values)} rows"
    return f"- {words}: {verdict}" + (f"; not by {', '.join(missed)}." if missed else ".")


def write(found: Answer) -> None:
    """Writes the page."""
    rows, chain, packet = found["rows"], found["chain"], found["packet"]
    of = lambda make: [(row["row"], make(row)) for row in rows]  # noqa: E731
    cpu = lambda row, name: row[name]["cpu"]  # noqa: E731
    chains = chain["root"]["cpu"] / chain["sapwood"]["cpu"]
    milliseconds = 1e3 * packet["wall"]
    clock = waited(rows)
    # Gains say nothing where a thread waits for other programs.
    is_alone = clock < 1.2
    crowded = (
        ""
        if is_alone
        else (
            f" While this was measured other programs used both processors, so that a second of CPU took {clock:.1f} by the "
            "clock: only the last column can be relied on."
        )
    )
    words = "Two threads: 0.95 of the limit's gain"
    found_gains = of(lambda r: gain(r, "draw") / gain(r, "limit"))
    threads = (
        judged(words, found_gains, lambda v: v >= 0.95) if is_alone else f"- {words}: not judged, see above."
    )
    parts = [
        "# Queries\n",
        f"{found['entries'] / 1e6:g} M entries (muons: half of that), ZSTD-5, a virtual machine with two cores that others "
        f"use, too, the best of {found['runs']} runs in processes of their own (`python -m bench.query.query`).\n",
        "## One thread\n",
        "CPU seconds. *again* is the second drawing in a process, whose memory is there already; *arrays* and *uproot* "
        "read the columns that the drawing needs, and draw nothing; *limit* inflates these and swaps their bytes, into "
        "memory that is there already. *ROOT* is `TTree::Draw`, *RDF* an RDataFrame whose expressions were compiled "
        "before.\n",
        table(HEAD, [cells(row) for row in rows]),
        "\n## Two threads\n",
        "Seconds by the clock, how much faster than one thread that is, and the CPU seconds of both threads for each of one "
        f"thread.{crowded}\n",
        table(
            ["", "draw", "limit", "RDF", "gain: draw", "limit", "RDF", "RDF / draw", "CPU: two / one"],
            [of_threads(row) for row in rows],
        ),
        "\n## Many files\n",
        f"`x`, cut `y>0` of {data.SMALL_FILES:,} files of {data.SMALL_ENTRIES} entries, CPU seconds on one thread: "
        f"{chain['sapwood']['cpu']:.2f}, TChain {chain['root']['cpu']:.2f} ({chains:.1f} times as many). A packet of "
        f"`process` on Dask, two workers on this machine, that reads {data.SMALL_ENTRIES} entries of a file of its own "
        f"takes {milliseconds:.1f} ms by the clock.\n",
        "## Aims\n",
        judged(
            "At least 3 times `TTree::Draw`", of(lambda r: cpu(r, "root") / cpu(r, "draw")), lambda v: v >= 3
        ),
        judged("At least 3 times RDataFrame", of(lambda r: cpu(r, "rdf") / cpu(r, "draw")), lambda v: v >= 3),
        judged("`draw` below `arrays`", of(lambda r: cpu(r, "draw") / cpu(r, "arrays")), lambda v: v <= 1),
        judged(
            "At most 1.3 times the limit, memory reused",
            [(r["row"], cpu(r, "again" if r["again"] else "draw") / cpu(r, "limit")) for r in rows],
            lambda v: v <= 1.3,
        ),
        threads,
        f"- A chain of {data.SMALL_FILES:,} small files at least 5 times as fast as TChain: "
        f"{'met' if chains >= 5 else 'not met'} ({chains:.1f}).",
        f"- A packet of Dask below 10 ms: {'met' if milliseconds < 10 else 'not met'} ({milliseconds:.1f} ms).",
        "\nThe limit evaluates and fills nothing. What is between is in "
        "[the decisions](../decisions/queries.md#what-a-drawing-costs).\n",
    ]  # fmt: skip
    PAGE.write_text("\n".join(parts))
