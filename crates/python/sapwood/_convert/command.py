"""The command ``sapwood convert``."""

from __future__ import annotations

import argparse
import re
import signal
import sys
import warnings
from collections.abc import Sequence

from sapwood._convert import formats
from sapwood._tools.converting import convert
from sapwood.errors import MismatchError

#: A type has an equals sign itself if it has a time zone.
_WITH_ZONE = re.compile(r"(.*)=(timestamp\[\w+, *tz=.*)", re.DOTALL)


def convert_parser() -> argparse.ArgumentParser:
    """What ``sapwood convert`` takes."""
    parser = argparse.ArgumentParser(
        "sapwood convert",
        description="Convert files between ROOT (trees and RNTuples), Parquet, Arrow and Feather, CSV, JSON "
        "lines, NumPy and "
        "HDF5. The ends of their names say the formats. Needs pyarrow, Awkward Array to write "
        "files of ROOT, and h5py for HDF5.",
    )
    parser.add_argument(
        "files", nargs="+", metavar="FILE[:TREE]", help="files, with globs, as one after another"
    )
    parser.add_argument("target", metavar="TARGET[:TREE]", help="a file, or a folder for one file each")
    parser.add_argument("--to", metavar="FORMAT", help=f"format of the target: {', '.join(formats.NAMES)}")
    parser.add_argument("--from", dest="source", metavar="FORMAT", help="format of the files")
    parser.add_argument(
        "-c",
        "--columns",
        action="append",
        metavar="NAME",
        help="a column, a pattern or an expression; several times",
    )
    parser.add_argument("--filter-name", metavar="PATTERN", help="columns whose names fit, of ROOT files")
    parser.add_argument("--cut", metavar="EXPRESSION", help="rows of ROOT files for which this is true")
    parser.add_argument(
        "--compression", metavar="CODEC[:LEVEL]", help="of the target, like zstd:5; none for none"
    )
    parser.add_argument("--step-size", default="64 MB", help="rows, or bytes, that are in memory")
    parser.add_argument("-j", "--jobs", type=int, help="files at a time; one for each core by default")
    parser.add_argument(
        "--nullable", action="store_true", help="RNTuples with optional fields, for missing values"
    )
    parser.add_argument(
        "--types",
        action="append",
        metavar="COLUMN=TYPE",
        help="another type for a column: string, uint64, float64 ...; several times",
    )
    parser.add_argument("-f", "--force", action="store_true", help="replace files that are there")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress, no summary")
    return parser


def convert_command(arguments: Sequence[str]) -> int:
    """``sapwood convert FILES... TARGET``."""
    options = convert_parser().parse_args(arguments)
    size = options.step_size
    # Ctrl-C takes away what is not complete.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    warnings.showwarning = lambda message, *_: print(f"sapwood: warning: {message}", file=sys.stderr)
    try:
        done = convert(
            options.files,
            options.target,
            format=options.to,
            source_format=options.source,
            columns=options.columns,
            cut=options.cut,
            filter_name=options.filter_name,
            compression=options.compression,
            step_size=int(size) if size.isdecimal() else size,
            jobs=options.jobs,
            nullable=options.nullable,
            types=_types(options.types),
            overwrite=options.force,
            progress=False if options.quiet else None,
        )
    except KeyboardInterrupt:
        print("sapwood: interrupted", file=sys.stderr)
        return 130
    if not options.quiet:
        plural = "" if len(done.files) == 1 else "s"
        listed = ", ".join(done.files[:3]) + (" ..." if len(done.files) > 3 else "")
        print(f"{done.entries} rows in {len(done.files)} file{plural}: {listed}")
    return 0


def _types(listed: Sequence[str] | None) -> dict[str, str] | None:
    """Types by columns, of ``COLUMN=TYPE``."""
    if listed is None:
        return None
    found: dict[str, str] = {}
    for one in listed:
        zoned = _WITH_ZONE.fullmatch(one)
        name, kind = zoned.groups() if zoned else one.rpartition("=")[::2]
        if not name or not kind:
            raise MismatchError(f"--types {one}: it is a column and its type, like id=uint64")
        if name in found:
            raise MismatchError(
                f"--types {one}: column {name!r} has the type {found[name]} already: leave one out"
            )
        found[name] = kind
    return found
