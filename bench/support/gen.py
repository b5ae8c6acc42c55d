#!/usr/bin/env python3
"""Write the inputs of the benchmark with real ROOT: python -m bench.support.gen [--quick] [--only PART_OF_A_NAME] [--force]

They go to bench/data (about 2 GB; --quick: a tenth), which git ignores. The same command writes the same
values anywhere.
"""

from __future__ import annotations

import argparse
import time

from bench.support.files import DATA, INPUTS, load_root


def generate(scale: str, only: str = "", force: bool = False) -> None:
    R = None
    for i in INPUTS:
        path = i.path(scale)
        if only not in i.name or (path.exists() and not force) or (scale == "tiny" and i.flush):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        R = R or load_root(DATA, ["gen"])
        began = time.perf_counter()
        part = path.with_suffix(".part")
        i.write(R, scale, str(part))
        part.rename(path)  # a file that is there is whole
        mb = path.stat().st_size / 1e6
        print(
            f"{i.name:20} {i.size(scale):>10,} entries {mb:9.1f} MB {time.perf_counter() - began:7.1f} s",
            flush=True,
        )


def main() -> None:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--quick", action="store_true", help="ten times smaller")
    ap.add_argument("--only", default="", help="only inputs whose name contains this")
    ap.add_argument("--force", action="store_true", help="write again what is there")
    args = ap.parse_args()
    generate("quick" if args.quick else "full", args.only, args.force)


if __name__ == "__main__":
    main()
