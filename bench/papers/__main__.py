"""Writes the page of the papers: with `--measure` after the measurements that it draws from, each by its own script.

    python -m bench.papers [--measure] [--scale 0.25] [--only treecache ...]

At scale 1 all of it takes several hours and 20 GB below `bench/data`; at the usual 0.25 about one. Each
script rewrites its own page in `docs/benchmarks`, which says at which scale it was measured.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from bench.papers.page import PAGE, page

#: Names, and the script of each with its options at a scale.
MEASUREMENTS: dict[str, tuple[str, ...]] = {
    "treecache": ("bench.read.treecache", "--scale", "{scale}"),
    "events": ("bench.read.papers", "--scale", "{scale}"),
    "streaming": ("bench.read.streaming",),
    "networks": ("bench.remote.remote",),
    "sessions": ("bench.remote.sessions",),
    "links": ("bench.remote.talk",),
    "layout": ("bench.write.layout",),
    "parallel": ("bench.write.parallel",),
    "files": ("bench.write.files",),
    "cores": ("bench.write.cores",),
    "incremental": ("bench.write.incremental", "--scale", "{scale}"),
    "codecs": ("bench.compression.study",),
    "random_access": ("bench.compression.random_access", "--scale", "{scale}"),
    "packed": ("bench.read.packed",),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--measure", action="store_true", help="run the measurements first")
    parser.add_argument("--scale", type=float, default=0.25, help="the share of the sizes of the papers")
    parser.add_argument("--only", nargs="+", choices=MEASUREMENTS, default=list(MEASUREMENTS))
    said = parser.parse_args()
    for name in said.only if said.measure else []:
        module, *options = (part.format(scale=said.scale) for part in MEASUREMENTS[name])
        print(f"== {name}: python -m {module} {' '.join(options)}", flush=True)
        subprocess.run([sys.executable, "-m", module, *options], check=True)
    PAGE.write_text(page())
    print(f"wrote {PAGE.name}")


if __name__ == "__main__":
    main()
