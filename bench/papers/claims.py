"""What the papers measured, and where the same stands in our own tables."""

from __future__ import annotations

from dataclasses import dataclass

from bench.papers.tables import Cell

TALK = "Brun, WLCG Jamboree 2010"
PAPER = "Canal et al., CHEP 2010"
STUDY = "Zhang and Bockelman, 2017"
PAGE = "Event benchmark, 1997"
MERGER = "Amadio, 2017"


@dataclass(frozen=True)
class Change:
    """A number before and after what a paper proposes; of some only one is known."""

    before: float | Cell | None
    after: float | Cell | None

    def values(self) -> tuple[float | None, float | None]:
        return _value(self.before), _value(self.after)


def _value(of: float | Cell | None) -> float | None:
    return of.value() if isinstance(of, Cell) else of


@dataclass(frozen=True)
class Claim:
    """A row: less is better in all of them."""

    source: str
    what: str
    unit: str
    paper: Change
    root: Change | None
    ours: Change
    #: Why we fall behind ROOT 6.40, or gain less than the paper; said only where that is so.
    why: str = ""


def page_of(heading: str) -> str:
    """The page on the tree cache that has a table at the largest size."""
    return f"benchmarks/treecache{'-full' if heading in AT_FULL_SIZE else ''}.md"


def treecache(heading: str, before: tuple[str, str], after: tuple[str, str], who: str) -> Change:
    """Calls of two rows of the page on the tree cache."""
    page, column = page_of(heading), f"calls: {who}"
    return Change(Cell(page, heading, before, column), Cell(page, heading, after, column))


def calls(
    what: str, heading: str, rows: tuple[tuple[str, str], tuple[str, str]], paper: Change, why: str = ""
) -> Claim:
    root, ours = (treecache(heading, *rows, who) for who in ("ROOT", "rows"))
    return Claim(TALK, what, "calls", paper, root, ours, why)


EVERY, LAYOUTS, FIFTH, OTHERS = (
    "Everything",
    "Layouts for few branches and for all",
    "A fifth of the events, in runs",
    "Other files",
)
AT_FULL_SIZE = (EVERY, LAYOUTS, FIFTH)
APART, NEAR = "every 33rd branch", "as many side by side"
OLD, NEW, UNSPLIT = "interleaved", "reclustered", "unsplit"
#: The file of the talk without a cache: 1,328,586 reads for 1,265.92 MB.
READS_PER_MB = 1_328_586 / 1_265.92


def less_sick() -> str:
    """Why a file gains less: it took fewer reads for each MB before. Empty once it takes as many."""
    reads, size = (
        Cell(page_of(EVERY), EVERY, (OLD, "0"), of).value()
        for of in ("calls: rows", "MB read: rows")
    )
    if not reads or not size or reads / size >= READS_PER_MB:
        return ""
    return (
        f"gains less than the paper because our file is less sick before: {reads / size:.0f} reads for each MB, "
        f"theirs {READS_PER_MB:,.0f}"
    )

TREECACHE = [
    calls(
        "the file of 9,705 branches, cache 0 and 10 MB",
        EVERY,
        ((OLD, "0"), (OLD, "10")),
        Change(1_328_586, 24_842),
    ),
    calls(
        "the same, cache 0 and 30 MB",
        EVERY,
        ((OLD, "0"), (OLD, "30")),
        Change(1_328_586, 13_885),
        less_sick(),
    ),
    calls("the same, cache 0 and 200 MB", EVERY, ((OLD, "0"), (OLD, "200")), Change(1_328_586, 6_211)),
    calls("reclustered, cache 0 and 30 MB", EVERY, ((NEW, "0"), (NEW, "30")), Change(515_350, 8_717)),
    calls("unsplit, cache 0 and 30 MB", EVERY, ((UNSPLIT, "0"), (UNSPLIT, "30")), Change(15_869, 600)),
    calls(
        "as it was without a cache, and reclustered with one",
        EVERY,
        ((OLD, "0"), (NEW, "30")),
        Change(1_328_586, 521),
        less_sick(),
    ),
    calls(
        "33 of 1,100 MB, every 33rd branch, before and after reclustering",
        LAYOUTS,
        ((APART, "as it was"), (APART, '`order="entry"`')),
        Change(3_186, 265),
        "the branches of the talk are not known; those of every 33rd have no neighbour among them, so that each basket of "
        "2 kB is a range of its own. The bytes between are not read (34 MB against ROOT's 843)",
    ),
    calls(
        "the same, clusters of 100 MB",
        LAYOUTS,
        ((APART, "as it was"), (APART, '`order="entry", auto_flush="100 MB"`')),
        Change(3_186, 265),
        "as above: each basket is a range of its own",
    ),
    calls(
        "33 of 1,100 MB, branches side by side, before and after reclustering",
        LAYOUTS,
        ((NEAR, "as it was"), (NEAR, '`order="entry"`')),
        Change(3_186, 265),
    ),
    # 42 % of the baskets; in the talk 263,853 reads of 515,350.
    calls(
        "a fifth of the events in runs, reclustered, cache 0 and 30 MB",
        FIFTH,
        ((NEW, "0"), (NEW, "30")),
        Change(263_853, 346),
    ),
    calls(
        "minbias, cache of 20 MB, without and with flushes",
        OTHERS,
        (("minbias", "20"), ("minbias flushed", "20")),
        Change(645, 37),
        "ROOT reads the whole of a cluster that is larger than its cache, and held 38 MB; here 20 MB are the bound",
    ),
    Claim(
        TALK,
        "the same with a window of 40 MB of ours: ROOT's cache of 20 MB held 38",
        "calls",
        Change(645, 37),
        treecache(OTHERS, ("minbias", "20"), ("minbias flushed", "20"), "ROOT"),
        treecache(OTHERS, ("minbias", "40"), ("minbias flushed", "40"), "rows"),
        "75 calls before leave less to gain: 6 are left. While one window is decoded the next is on its way, so that up to two "
        "may be held",
    ),
    calls("CMS, cache 0 and 30 MB", OTHERS, (("cms", "0"), ("cms", "30")), Change(143_533, 996)),
    calls(
        "CMS, cache 0, and flushed with 60 MB",
        OTHERS,
        (("cms", "0"), ("cms flushed", "60")),
        Change(143_533, 253),
    ),
]


def told(row: str) -> Claim:
    """Part of the events, whose list the cache knows. ROOT at its best: with a TEventList, or without."""
    heading = "A cache that knows the list"
    of = {
        who: Cell("benchmarks/treecache.md", heading, (row,), f"calls: {who}")
        for who in ("ROOT", "TEventList", "rows")
    }
    without, told = (of[who].value() or 0 for who in ("ROOT", "TEventList"))
    root = Change(of["ROOT"], of["TEventList"]) if told <= without else Change(None, of["ROOT"])
    nothing, ours = Change(None, None), Change(None, of["rows"])
    return Claim(TALK, f"a fifth of the events, {row}", "calls", nothing, root, ours)


TOLD = [
    told(f"{file}, {how}")
    for how in ("in runs", "at random")
    for file in ("interleaved", "reclustered", "unsplit")
]


def link(name: str, ours: str, before: float, after: float) -> Claim:
    """Seconds over a link of the talk, without a cache and with one of 10 MB."""

    def change(who: str) -> Change:
        return Change(
            *(Cell("benchmarks/links.md", "All links", (ours,), f"{who}, {size}") for size in ("0", "10 MB"))
        )

    return Claim(
        TALK, f"{name}, cache 0 and 10 MB", "s", Change(before, after), change("ROOT"), change("Sapwood")
    )


LINKS = [
    link("local", "local", 3.4, 3.3),
    link("CERN LAN, 0.3 ms", "0.3 ms, 100 Mb/s", 8.0, 4.0),
    link("CERN wireless, 2 ms", "2 ms, 10 Mb/s", 11.6, 4.9),
    link("Orsay, 11 ms", "11 ms, 100 Mb/s", 124.7, 9.0),
    link("Amsterdam, 22 ms", "22 ms, 100 Mb/s", 230.9, 8.4),
    link("ADSL, 72 ms", "72 ms, 8 Mb/s", 743.7, 28.0),
    link("Caltech, 240 ms", "240 ms, 10 Gb/s", 2_800.0, 4.6),
]


def cache_of_blocks(column: str, what: str, paper: Change) -> Claim:
    row = Cell("benchmarks/remote.md", "The cache of blocks", ("http (Apache)",), column)
    return Claim(TALK, what, "ratio", paper, None, Change(None, row))


CACHE = [
    cache_of_blocks(
        "first / none", "persistent cache: first run, to one without", Change(None, 142.4 / 123.7)
    ),
    cache_of_blocks(
        "(second - 2 trips) / local",
        "persistent cache: second run, to a local file",
        Change(None, 118.7 / 116),
    ),
]


def session(before: str, after: str, what: str, paper: Change, why: str = "") -> Claim:
    page, heading = "benchmarks/remote.md", "A file of 1 GB and the cache of blocks"
    ours = Change(*(Cell(page, heading, (row,), "CPU, s") for row in (before, after)))
    return Claim(TALK, f"persistent cache, 1 GB: {what}", "CPU s", paper, None, ours, why)


FIRST, SECOND = "with cache, first time", "with cache, second time"
CACHE += [
    session(
        "remote",
        FIRST,
        "without, and first run",
        Change(117.1, 120.1),
        "the blocks of 1 GB cost 1.2 s beside a read of 10 s, on a machine with other work",
    ),
    session("local", SECOND, "a local file, and second run", Change(110.0, 117.9)),
]


def streaming(
    name: str, what: str, paper: tuple[float, float], why: tuple[str, str] = ("", "")
) -> list[Claim]:
    """Size and reading of one of the paper's files, member by member by object by object."""
    page, heading = "benchmarks/streaming.md", "Member by member on five files"

    def change(column: str) -> Change:
        rows = [(f"{name}-like: {what}", way) for way in ("object by object", "member by member")]
        return Change(*(Cell(page, heading, row, column) for row in rows))

    title = f"member-wise, {name}: {what}"
    size, read = paper
    return [
        Claim(
            PAPER,
            f"{title}: size",
            "MB",
            Change(1.0, size),
            change("ROOT's file, MB"),
            change("Sapwood's file, MB"),
            why[0],
        ),
        Claim(
            PAPER,
            f"{title}: reading",
            "CPU s",
            Change(1.0, read),
            change("ROOT reads, CPU s"),
            change("Sapwood arrays, CPU s"),
            why[1],
        ),
    ]


STREAMING = [
    *streaming("cms1", "RECO, split", (16.8 / 17.5, 9.12 / 10.55)),
    *streaming("cms4", "PAT, split", (1.43 / 1.47, 9.24 / 10.18)),
    *streaming("cms2", "RAW, unsplit", (1.53 / 1.65, 8.20 / 10.95)),
    *streaming("cms3", "RECO, unsplit", (0.717 / 0.780, 8.29 / 10.59)),
    *streaming("cms5", "AOD, unsplit", (1.40 / 1.55, 8.09 / 10.20)),
]


def programs(experiment: str, kind: str, why: str) -> Claim:
    """A decoder that looks up each value's type, and compiled programs; ROOT's own actions beside them."""
    page, heading = "benchmarks/streaming.md", "Compiled programs on three experiments"
    plain, ours, root = (
        Cell(page, heading, (f"{experiment}-like, {kind}",), column)
        for column in ("value by value, fresh memory", "Sapwood arrays", "ROOT GetEntry")
    )
    what = f"compiled actions, {experiment}-like, {kind}: reading (0.80)"
    return Claim(PAPER, what, "CPU s", Change(1.0, 0.80), Change(None, root), Change(plain, ours), why)


PROGRAMS = [
    Claim(
        PAPER,
        f"compiled actions, {kind}: reading (0.80)",
        "CPU s",
        Change(1.0, 0.80),
        None,
        Change(
            Cell("benchmarks.md", "Compiled programs", (f"Event, unsplit, {kind}",), "value by value"),
            Cell("benchmarks.md", "Compiled programs", (f"Event, unsplit, {kind}",), "Sapwood iterate"),
        ),
        "inflating is in both, and takes most of the time" if kind == "ZLIB-1" else "",
    )
    for kind in ("ZLIB-1", "raw")
]
PASSES = (
    "the other decoder is one tight loop that writes straight into an answer of known size; ours checks each step, and "
    "copies the ends of lists into the answer"
)
PROGRAMS += [
    programs(experiment, kind, PASSES)
    for experiment in ("ATLAS", "CMS", "ALICE")
    for kind in ("ZLIB-1", "raw")
]

EVENT = [
    Claim(
        PAGE,
        f"1,000 events, comp 0, {split}: size",
        "MB",
        Change(None, paper),
        Change(None, Cell("benchmarks.md", "The Event benchmark of 1997", (f"ROOT, comp 0, {split}",), "MB")),
        Change(
            None, Cell("benchmarks.md", "The Event benchmark of 1997", (f"Sapwood, comp 0, {split}",), "MB")
        ),
    )
    for split, paper in (("unsplit", 48.7), ("split", 47.17))
]

BUFFERS = "ROOT, buffers of 8,000 bytes, `SetAutoFlush(0)`"
FLUSHED = "ROOT, the same with `SetAutoFlush(-1000000)`"
WRITTEN = 'Sapwood, `mktree(auto_flush="1 MB")`'


def five_branches(column: str, what: str) -> Claim:
    def change(after: str) -> Change:
        page, heading = "benchmarks/layout.md", "The layout of a tree of five branches"
        return Change(*(Cell(page, heading, (form,), column) for form in (BUFFERS, after)))

    return Claim(TALK, what, "", Change(None, None), change(FLUSHED), change(WRITTEN))


LAYOUT = [
    five_branches("seeks", "five branches, read entry by entry: seeks"),
    five_branches("jumped, MB", "five branches, read entry by entry: MB jumped"),
]


def event(what: str, rows: tuple[str, str], column: str, unit: str, paper: Change, why: str = "") -> Claim:
    """A row of the page with the classes of ROOT's own test program: one column of a row, or two."""
    page, heading = "benchmarks/streaming.md", "The Event benchmark of 1997 with its own classes"
    before, after = rows

    def change(who: str) -> Change:
        cells = [Cell(page, heading, (f"{who}, {row}",), column) if row else None for row in (before, after)]
        return Change(*cells)

    return Claim(PAGE, f"its own classes, {what}", unit, paper, change("ROOT"), change("Sapwood"), why)


def sample(row: str) -> Claim:
    """All events and the sample."""
    page, heading = "benchmarks/streaming.md", "The Event benchmark of 1997 with its own classes"

    def change(who: str) -> Change:
        columns = ("read all", "read sample")
        return Change(*(Cell(page, heading, (f"{who}, {row}",), column) for column in columns))

    what = f"its own classes, {row}: all, and the sample"
    return Claim(PAGE, what, "CPU s", Change(None, None), change("ROOT"), change("Sapwood"))


EVENT += [
    event(f"comp 0, {row}: size", ("", f"comp 0, {row}"), "MB", "MB", Change(None, paper))
    for row, paper in (("unsplit", 48.7), ("split", 47.17))
]
RAW_WRITE = (
    "values are columns of an Awkward Array: half of the time goes into those of the class (0.046 of 0.105 CPU s where "
    "they are unsplit), which ROOT has as objects in memory; ahead where entries are compressed"
)
EVENT += [
    event(
        f"{row}: effective write",
        ("", row),
        "effective write",
        "CPU s",
        Change(None, None),
        RAW_WRITE if "comp 0" in row else "",
    )
    for row in ("comp 0, unsplit", "comp 1, unsplit", "comp 0, split", "comp 1, split")
]
EVENT += [
    event(
        f"{row}: read all",
        ("", row),
        "read all",
        "CPU s",
        Change(None, None),
    )
    for row in ("comp 0, unsplit", "comp 1, unsplit", "comp 0, split", "comp 1, split")
]
EVENT += [
    sample(f"comp {level}, {split}")
    for split in ("split once", "split")
    for level in (0, 1, 2)
]


def parallel(kind: str, contexts: str) -> Claim:
    def change(who: str) -> Change:
        page = "benchmarks/parallel.md"
        return Change(
            *(Cell(page, "Filling one tree from many threads", (kind, n), who) for n in ("1", contexts))
        )

    what = f"{kind} branches, 1 and {contexts} contexts on 2 cores"
    return Claim(MERGER, what, "s", Change(None, None), change("TBufferMerger"), change("Sapwood"))


PARALLEL = [
    parallel(kind, contexts)
    for kind in ("flat 20", "flat 10,000", "jagged 1,000")
    for contexts in ("2", "64")
]


def beside_files(kind: str, contexts: str) -> Claim:
    """CPU seconds of as many files as threads, and of one tree."""

    def change(*who: str) -> Change:
        page, heading = "benchmarks/parallel-files.md", "One tree, and as many files"
        return Change(*(Cell(page, heading, (kind, contexts), f"CPU, s: {one}") for one in who))

    root, ours = change("ROOT, files", "TBufferMerger"), change("Sapwood, files", "Sapwood, one tree")
    what = f"{kind} branches, {contexts} threads: as many files, and one tree"
    return Claim(MERGER, what, "CPU s", Change(None, None), root, ours)


PARALLEL += [beside_files(kind, contexts) for kind in ("flat 20", "flat 1,000") for contexts in ("8", "64")]

def merging(row: str, paper: float, why: str = "") -> Claim:
    page, heading = "benchmarks/incremental.md", "Merging while others produce"
    root, ours = (
        Change(None, Cell(page, heading, (row,), column))
        for column in ("ROOT, CPU against producing alone", "CPU against producing alone")
    )
    what = f"8 producers: {row}, to producing alone"
    return Claim(TALK, what, "CPU ratio", Change(None, paper), root, ours, why)


MERGE_AFTER = (
    "merging itself takes 14.1 CPU s and ROOT's 16.6: "
    "producing, which both are compared with, 61.6 and 85.5"
)
MERGE = [
    merging("merged afterwards", (100 + 320) / 100, MERGE_AFTER),
    merging("merged while they produce", 160 / 100),
]


def random_access(events: str, column: str, what: str, paper: float, why: str = "") -> Claim:
    cell = Cell("benchmarks/random-access.md", "Ratios to whole baskets", (f"{events}, auto",), column)
    return Claim(
        STUDY, f"random access, {events}: {what}", "ratio", Change(None, paper), None, Change(None, cell), why
    )


RAC_ALL = "each block of ZLIB begins with tables of codes that are built anew; in ours blocks have 4 KiB"
RAC_RANDOM = "opening, planning and decoding take about 10 µs an entry, whatever it inflates"
RAC = [
    random_access("TFloat", "size", "size", 2.88),
    random_access("TSmall", "size", "size", 1.10),
    random_access("TLarge", "size", "size", 1.00),
    random_access("TFloat", "random CPU", "entries at random, hot", 0.840 / 3.980, RAC_RANDOM),
    random_access("TSmall", "random CPU", "entries at random, hot", 0.287 / 1.363, RAC_RANDOM),
    random_access("TLarge", "random CPU", "entries at random, hot", 1.007 / 0.970),
    random_access("TFloat", "all, CPU", "all entries, hot", 91.660 / 94.507, RAC_ALL),
    random_access("TSmall", "all, CPU", "all entries, hot", 3.577 / 10.907, RAC_ALL),
    random_access("TLarge", "all, CPU", "all entries, hot", 9.520 / 9.440),
]

SECTIONS = {
    "The tree cache": TREECACHE,
    "A cache that knows the list": TOLD,
    "Networks": LINKS,
    "A cache that stays": CACHE,
    "Streaming": STREAMING + PROGRAMS,
    "The Event benchmark": EVENT,
    "The layout of five branches": LAYOUT,
    "Parallel writing": PARALLEL,
    "Merging while others produce": MERGE,
    "Random access": RAC,
}
