"""The codec table of the study of 2017 (Zhang and Bockelman, J. Phys. Conf. Ser. 898 072043), with ROOT and Sapwood side by side.

    python -m bench.compression.study [--events 120] [--rounds 2]

Events of Pythia 8 in classes of CMS are written by ROOT, split and whole, without compression, and rewritten
into baskets of 64,000 bytes. ROOT compresses and decompresses the bytes of these baskets with the functions
that its baskets use, Sapwood with those that its writer and its reader use: the same bytes, one thread, CPU
time, the best of some rounds. The page is docs/benchmarks/compression.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from bench.compression import events
from bench.support.draw import table
from bench.support.files import DATA, load_root

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs" / "benchmarks" / "compression.md"
FOLDER = DATA / "compression"
BASKET = 64_000
SIZE = 6400
"""Megabytes of the paper's file."""
PAPER = {
    "ZLIB-1": (86.47, 21.51, 3.58),
    "ZLIB-5": (159.84, 19.20, 4.05),
    "ZLIB-6": (228.67, 18.45, 4.16),
    "ZLIB-9": (1715.25, 18.28, 4.30),
    "LZ4": (11.26, 2.97, 2.95),
    "LZ4HC-5": (95.13, 2.81, 3.66),
    "LZ4HC-9": (275.31, 2.54, 3.86),
    "LZMA-1": (823.84, 230.64, 4.74),
    "LZMA-5": (3318.35, 211.71, 5.20),
    "LZMA-9": (4969.20, 212.47, 5.29),
}
"""Seconds to compress and to decompress 6.4 GB, and the ratio."""
ROWS = {
    "ZLIB-1": 101, "ZLIB-5": 105, "ZLIB-6": 106, "ZLIB-9": 109, "LZ4": 401, "LZ4HC-5": 405, "LZ4HC-9": 409,
    "LZMA-1": 201, "LZMA-5": 205, "LZMA-9": 209, "ZSTD-1": 501, "ZSTD-3": 503, "ZSTD-5": 505, "ZSTD-7": 507,
    "ZSTD-9": 509,
}  # fmt: skip
"""ROOT's numbers. The paper does not have ZSTD."""


def inputs(count: int) -> dict[str, Path]:
    """The file without compression, split and whole."""
    import sapwood

    FOLDER.mkdir(parents=True, exist_ok=True)
    found = {kind: FOLDER / f"{kind}_{count}.root" for kind in ("split", "whole")}
    numbers = FOLDER / f"events_{count}.bin"
    if not numbers.exists():
        events.write(numbers, count)
    for kind, path in found.items():
        if not path.exists():
            written = FOLDER / f"root_{kind}_{count}.root"
            load_root(DATA, ["cms"]).cms_write(str(numbers), str(written), 99 if kind == "split" else 0)
            sapwood.rewrite(written, path, compression=None, basket_bytes=BASKET)
    return found


def places(path: Path) -> list[int]:
    """Of each basket its offset, the bytes of its key, and those behind it."""
    import sapwood

    raw = path.read_bytes()
    found = []
    for branch in sapwood.open(path)["Events"].layout()["branches"]:
        for _, _, at, _ in branch["baskets"]:
            length, key = (
                int.from_bytes(raw[at + 6 : at + 10], "big"),
                int.from_bytes(raw[at + 14 : at + 16], "big"),
            )
            found += [at, key, length]
    return found


def of_root(path: Path, rounds: int) -> dict[str, list[float]]:
    """Bytes, seconds to compress and to decompress, by ROOT."""
    root = load_root(DATA, ["cms"])
    baskets = root.std.vector["long"](places(path))
    found = {}
    for name, setting in ROWS.items():
        found[name] = list(root.cms_zip(str(path), baskets, setting, rounds))
        if not found[name]:
            sys.exit(f"{name}: ROOT does not get back what it compressed")
    return found


def of_sapwood(path: Path, rounds: int) -> dict[str, list[float]]:
    """The same by Sapwood."""
    import sapwood

    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        study = sapwood.compression_study(
            path,
            purposes=[],
            settings=list(ROWS.values()),
            basket_bytes=[BASKET],
            sample_bytes=1 << 40,
            threads=1,
        )
        for name, trial in zip(ROWS, study.trials, strict=True):
            row = [float(trial["bytes"]), trial["write_seconds"], trial["read_seconds"]]
            found[name] = [min(pair) for pair in zip(row, found.get(name, row), strict=True)]
    return found


def judged(root: dict[str, list[float]], ours: dict[str, list[float]]) -> str:
    """In a sentence: where we are slower, or larger, than ROOT."""
    words = []
    for place, what, most in ((1, "compress", 1.05), (2, "decompress", 1.05), (0, "are larger", 1.01)):
        worse = [
            f"{name} ({ours[name][place] / root[name][place]:.2f})"
            for name in ROWS
            if ours[name][place] > most * root[name][place]
        ]
        if place == 0:
            words.append(f"Larger than ROOT's by more than 1 %: {', '.join(worse) or 'none'}.")
        else:
            words.append(f"Slower than ROOT to {what} by more than 5 %: {', '.join(worse) or 'none'}.")
    return " ".join(words)


def section(kind: str, size: int, root: dict[str, list[float]], ours: dict[str, list[float]]) -> str:
    """One table, all speeds in megabytes before compression a second."""
    body = []
    for name in ROWS:
        row = [name]
        if name in PAPER:
            zipped, unzipped, ratio = PAPER[name]
            row += [f"{SIZE / zipped:.0f}", f"{SIZE / unzipped:.0f}", f"{ratio:.2f}"]
        else:
            row += ["", "", ""]
        for of in (root[name], ours[name]):
            row += [f"{size / of[1] / 1e6:.0f}", f"{size / of[2] / 1e6:.0f}", f"{size / of[0]:.3f}"]
        row += [f"{root[name][place] / ours[name][place]:.2f}" for place in (1, 2)]
        body.append(row)
    head = [
        "",
        "paper, in",
        "out",
        "ratio",
        "ROOT, in",
        "out",
        "ratio",
        "Sapwood, in",
        "out",
        "ratio",
        "in / ROOT",
        "out / ROOT",
    ]
    title = f"## {kind.capitalize()} objects\n\n{size / 1e6:.1f} MB.\n\n"
    return f"{title}{table(head, body)}\n{judged(root, ours)}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=120)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--make", action="store_true", help="make the inputs and measure nothing")
    arguments = parser.parse_args()
    files = inputs(arguments.events)
    if arguments.make:
        return
    results: dict[str, Any] = {"events": arguments.events}
    sections = []
    for kind, path in files.items():
        found = places(path)
        size = sum(found[1::3]) + sum(found[2::3])
        root, ours = of_root(path, arguments.rounds), of_sapwood(path, arguments.rounds)
        results[kind] = {"bytes": size, "root": root, "sapwood": ours}
        sections.append(section(kind, size, root, ours))
        print(sections[-1], flush=True)
    (HERE / "compression.json").write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text(INTRODUCTION.format(events=arguments.events) + "\n" + "\n".join(sections))


INTRODUCTION = """# Compression

The codec table of [the study of 2017](https://doi.org/10.1088/1742-6596/898/7/072043), whose file had 6,500 events of
CMS and 6.4 GB, beside ROOT 6.40 and Sapwood on {events} events of Pythia 8: QCD at 13 TeV, as tracks, vertices and
tracker hits in the classes of CMS's simulation, in baskets of 64,000 bytes.

Speeds are megabytes before compression a second of one core: *in* compresses, *out* decompresses. The paper's are its
seconds for all of its file, on another machine. ROOT and Sapwood compress the same bytes, basket by basket, with the
functions that their writers and readers call; the last columns are Sapwood's speed as a multiple of ROOT's
(`python -m bench.compression.study`).

LZ4, LZMA and Zstandard are the same libraries on both sides, in other builds, and the sizes are ROOT's; ZLIB is
libdeflate here. Where Sapwood is slower than ROOT, it is the library's own time: `cargo bench -p sapwood --bench codecs`
shows what the engine adds to it.
"""


if __name__ == "__main__":
    main()
