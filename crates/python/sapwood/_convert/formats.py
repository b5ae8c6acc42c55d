"""Formats by the names of files, and what a target has no place for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

from sapwood.errors import MismatchError, UnsupportedError, near

#: Formats by the ends of names.
SUFFIXES = {
    ".root": "ttree",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".ipc": "feather",
    ".arrows": "arrows",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".npz": "npz",
    ".npy": "npy",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".hdf": "hdf5",
}
#: Other names of formats.
OTHER_NAMES = {
    "root": "ttree",
    "arrow": "feather",
    "ipc": "feather",
    "json": "jsonl",
    "ndjson": "jsonl",
    "h5": "hdf5",
}
NAMES = ("ttree", "rntuple", "parquet", "feather", "arrows", "csv", "jsonl", "npz", "npy", "hdf5")
#: Texts that may be compressed as a whole, by what their names end with.
PACKED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}
#: Codecs of each format, and what is taken where none is named; ``None`` for none at all.
CODECS: dict[str, tuple[str | None, tuple[str, ...]]] = {
    "parquet": ("zstd", ("none", "snappy", "gzip", "brotli", "lz4", "zstd")),
    "feather": ("zstd", ("none", "lz4", "zstd")),
    "arrows": ("zstd", ("none", "lz4", "zstd")),
    "npz": (None, ("none", "zip")),
    "npy": (None, ("none",)),
    "hdf5": (None, ("none", "gzip", "lzf")),
    "csv": (None, ("none", *PACKED.values())),
    "jsonl": (None, ("none", *PACKED.values())),
}
#: The lowest and the highest level of each codec that has some.
LEVELS = {"zstd": (-131072, 22), "gzip": (0, 9), "brotli": (0, 11), "lz4": (0, 12), "zip": (0, 9)}
_LEVEL = re.compile(r"-?[0-9]{1,9}")


def format_of(path: str, named: str | None) -> str:
    """The format of a file: as it is named, or by the end of the file's name.

    >>> format_of("a.parquet", None), format_of("a.csv.gz", None), format_of("a.root", "rntuple")
    ('parquet', 'csv', 'rntuple')

    Raises :class:`~sapwood.errors.MismatchError` where neither tells.
    """
    if named is not None:
        found = OTHER_NAMES.get(named.lower(), named.lower())
        if found not in NAMES:
            raise MismatchError(f"there is no format {named!r}{near(named, NAMES, 10)}")
        return found
    base = path.lower()
    for packed in PACKED:
        base = base.removesuffix(packed)
    ends = os.path.splitext(base)[1]
    if ends not in SUFFIXES:
        raise MismatchError(
            f"the name {os.path.basename(path)!r} does not say which format it has: name it "
            f"(format=, --to or --from: "
            f"{', '.join(NAMES)})"
        )
    return SUFFIXES[ends]


def is_known(path: str) -> bool:
    """Whether the end of a name says a format.

    >>> is_known("a.csv.gz"), is_known("a.txt")
    (True, False)
    """
    base = path.lower()
    for packed in PACKED:
        base = base.removesuffix(packed)
    return os.path.splitext(base)[1] in SUFFIXES


def packing(path: str) -> str | None:
    """How a text is compressed, by its name.

    >>> packing("a.csv.zst"), packing("a.csv")
    ('zstd', None)
    """
    return PACKED.get(os.path.splitext(path.lower())[1])


def codec(format: str, setting: str | None) -> tuple[str | None, int | None]:
    """A codec and its level, as a setting like ``"zstd:5"`` has them; ``None`` for no compression, or no
    level.

    >>> codec("parquet", "zstd:5"), codec("parquet", None), codec("feather", "none")
    (('zstd', 5), ('zstd', None), (None, None))

    Raises :class:`~sapwood.errors.MismatchError` for what the format does not have.
    """
    default, known = CODECS[format]
    words = default or "none" if setting is None else setting
    name, colon, level = words.lower().partition(":")
    if name not in known or (colon and not _LEVEL.fullmatch(level)):
        raise MismatchError(
            f"{format} has no compression {setting!r}: it is one of {', '.join(known)}, "
            "and a level after a colon"
        )
    if colon and name not in LEVELS:
        raise MismatchError(f"{format} has no compression {setting!r}: {name} has no levels")
    if colon and not LEVELS[name][0] <= int(level) <= LEVELS[name][1]:
        first, last = LEVELS[name]
        raise MismatchError(
            f"{format} has no compression {setting!r}: the levels of {name} go from {first} to {last}"
        )
    return None if name == "none" else name, int(level) if colon else None


def refuse(format: str, name: str, kind: Any, words: str, others: Iterable[str]) -> UnsupportedError:
    """The error about a column that a format has no place for."""
    is_date = str(kind).startswith(("timestamp", "date", "time", "duration"))
    numbers = f"write it as whole numbers (types=, --types {name}=int64), " if is_date else ""
    if "binary" in str(kind) and format != "CSV":
        numbers = f"write bytes that are UTF-8 as texts (types=, --types {name}=string), "
    return UnsupportedError(
        f"column {name!r} holds {kind}, and {format} {words}: {numbers}leave it out (columns, "
        "filter_name), or convert to "
        f"{' or '.join(others)}"
    )
