"""Writes `docs/benchmarks/papers.md`: each figure of the papers beside ROOT 6.40's and ours, with a judgement."""

from __future__ import annotations

from bench.papers.claims import SECTIONS, Change, Claim
from bench.papers.tables import DOCS, Cell, scale

PAGE = DOCS / "benchmarks" / "papers.md"
#: What differs by less is the same: of a measurement that is repeated.
NOISE = 1.03

HEAD = """# The tables of the papers

Written by `make papers` (`python -m bench.papers` writes it from the pages of the measurements, without measuring).
Each row has what a paper measured, what ROOT 6.40 does today and what Sapwood does: before → after what the paper
proposes, and in brackets how many times less that is. Less is better in every row. Machines, files and their sizes are
those of the pages that are named at each section, not those of the papers: what can be compared is the gain, and ROOT
6.40 with Sapwood, which had the same files, machine and day. Where a page says at which share of the papers' sizes it
was measured, the section repeats it.

"""

PAGES = {
    "The tree cache": "[calls of files of the talk's size](treecache-full.md) and [of smaller ones](treecache.md), `rows` of "
    "Sapwood; a call of ours is up to 16 ranges of bytes, whose number stands there, too",
    "A cache that knows the list": "[calls of files](treecache.md#a-cache-that-knows-the-list): of ROOT without and with a TEventList "
    "where that helps, of ours with `tree.rows(entries=...)`; the talk names such lists, and has no numbers of them",
    "Networks": "[its links](links.md), as many reads as the talk waited for; what would take long is computed "
    "from counted requests, as that page says",
    "A cache that stays": "[the cache of blocks](remote.md#the-cache-of-blocks) and [a file of 1 GB]"
    "(remote.md#a-file-of-1-gb-and-the-cache-of-blocks), where requests and bytes are counted",
    "Streaming": "[streaming](streaming.md), and of Event in [compiled programs](../benchmarks.md#compiled-programs); "
    "[tracks with hits](../benchmarks.md#member-by-member-and-object-by-object) are one more file",
    "The Event benchmark": "[the tracks as vectors](../benchmarks.md#the-event-benchmark-of-1997) and "
    "[its own classes](streaming.md#the-event-benchmark-of-1997-with-its-own-classes)",
    "The layout of five branches": "[its pictures](layout.md), which the talk shows without numbers: baskets that do not begin "
    "where the one before ended",
    "Parallel writing": "[filling one tree](parallel.md) and [as many files](parallel-files.md); the talk shows curves up to "
    "72 threads, and no numbers: beside them stands [a model](cores.md)",
    "Merging while others produce": "[merging](incremental.md): ratios of CPU seconds; "
    "the talk's are estimates of time with disks of 50 MB/s",
    "Random access": "[random access](random-access.md), `auto` of Sapwood; ROOT reads such files, and cannot write them",
}


def measured_at(title: str) -> str:
    """The scale of each page that a section draws from and that is not at the full size of the papers."""
    pages = dict.fromkeys(
        side.page
        for claim in SECTIONS[title]
        for change in (claim.root, claim.ours)
        if change is not None
        for side in (change.before, change.after)
        if isinstance(side, Cell)
    )
    said = [f"{share:g} of the paper's" for page in pages if (share := scale(page)) not in (None, 1.0)]
    return f" Sizes of files: {', '.join(said)} (`--scale`)." if said else ""


def show(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 1_000 or value == int(value) else f"{value:.3g}"


def describe(change: Change | None) -> str:
    if change is None:
        return ""
    before, after = change.values()
    gain = gain_of(change)
    times = f" ({gain:,.1f})" if gain is not None else ""
    return f"{show(before)} → {show(after)}{times}" if before is not None else show(after)


def gain_of(change: Change) -> float | None:
    before, after = change.values()
    return before / after if before is not None and after else None


def compare(times: float, other: str) -> str:
    """In words: so many times less than another one."""
    if 1 / NOISE <= times <= NOISE:
        return f"as {other}"
    return (
        f"{times:.3g} times better than {other}" if times > 1 else f"{1 / times:.3g} times worse than {other}"
    )


def judge(claim: Claim) -> str:
    """What a row says. A row that is worse than the paper's or ROOT's has to say why.

    What is compared: what is left with ROOT's, the gain with ROOT's and with the paper's. Where the paper has
    a gain and we measured only one side of ours, that has to be explained, too.

    Raises:
        ValueError: it does not, or says why of a row that is not.
    """
    words, is_worse = [], False
    (before, ours), gain = claim.ours.values(), gain_of(claim.ours)
    paper, was = gain_of(claim.paper), claim.paper.values()[1]
    was_root, theirs = claim.root.values() if claim.root is not None else (None, None)
    root = gain_of(claim.root) if claim.root is not None else None
    if theirs is not None and ours is not None:
        ratio = theirs / ours
        is_worse |= ratio < 1 / NOISE
        words.append(compare(ratio, "ROOT"))
    if root is not None and gain is not None and root > 1 and gain < root / NOISE:
        share = f"gains {gain / root:.2g} of ROOT's"
        if was_root is not None and before is not None and ours is not None and theirs is not None:
            # A start that is lower leaves less to gain: explained where both sides are better than ROOT's.
            lower = was_root / before
            is_worse |= lower <= NOISE or theirs / ours < 1 / NOISE
            share += f", from a start {lower:.3g} times lower" if lower > NOISE else ""
        words.append(share)
    if paper is not None and gain is not None:
        is_worse |= gain < paper / NOISE
        share = gain / paper
        if share >= 1 / NOISE:
            words.append("gains as much as the paper")
        elif gain < 1 / NOISE:
            words.append(f"loses a factor of {1 / gain:.3g} instead")
        else:
            words.append(f"gains {share:.2g} of the paper's")
    elif paper is not None:
        is_worse = True
        words.append("the paper's gain is not measured")
    elif was is not None and ours is not None:
        is_worse |= was / ours < 1 / NOISE
        words.append(compare(was / ours, "the paper"))
    if is_worse and not claim.why:
        raise ValueError(f"{claim.what}: {', '.join(words)}, and does not say why")
    if claim.why and not is_worse:
        raise ValueError(f"{claim.what}: {', '.join(words)}, and says why it is not")
    return "; ".join([", ".join(words), *([claim.why] if is_worse else [])])


def page() -> str:
    parts = [HEAD]
    for title, claims in SECTIONS.items():
        sources = ", ".join(dict.fromkeys(claim.source for claim in claims))
        parts.append(f"## {title}\n\n{sources}; numbers of {PAGES[title]}.{measured_at(title)}\n\n")
        parts.append(
            "| what | unit | paper | ROOT 6.40 | Sapwood | judgement |\n|---|---|---:|---:|---:|---|\n"
        )
        for claim in claims:
            cells = [describe(claim.paper), describe(claim.root), describe(claim.ours), judge(claim)]
            parts.append(f"| {claim.what} | {claim.unit} | {' | '.join(cells)} |\n")
        parts.append("\n")
    parts.append(
        "Codecs stand side by side with those of 2017 on [their own page](compression.md), SquashFS and packed files on "
        "[theirs](packed.md), and the Event benchmark's other rows, of which the page of 1997 is at hand without its "
        "table, [here](../benchmarks.md#the-event-benchmark-of-1997).\n"
    )
    return "".join(parts).rstrip() + "\n"
