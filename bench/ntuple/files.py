"""The RNTuples of the benchmark: what each file holds. Real ROOT writes them when they are missing."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.support.files import CODECS, DATA, load_root

FOLDER = DATA / "ntuple"
ENTRIES = {"flat": 2_000_000, "lists": 500_000, "nested": 150_000, "wide": 1_000}
FIELDS = 10_000
"""Of `wide`."""
CLUSTER = {"wide": 100}
"""Entries of a cluster where they are not ROOT's own choice."""
THREE = ["f0", "d2", "i2"]
LABELS = {
    "flat": "20 flat fields", "lists": "lists of numbers", "nested": "lists of lists and of records",
    "wide": "10,000 fields",
}  # fmt: skip


@dataclass(frozen=True)
class Input:
    """A file: a family of fields and a codec."""

    family: str
    codec: str

    @property
    def name(self) -> str:
        return f"{self.family}_{self.codec}"

    @property
    def label(self) -> str:
        return f"{LABELS[self.family]}, {({'none': 'raw', 'lz4': 'LZ4', 'zstd5': 'ZSTD-5'})[self.codec]}"

    def entries(self, scale: float) -> int:
        return max(int(ENTRIES[self.family] * scale), 20)

    def path(self, scale: float) -> Path:
        return FOLDER / f"{self.name}_{self.entries(scale)}.root"


INPUTS = [
    *(Input(family, codec) for family in ("flat", "lists", "nested") for codec in ("zstd5", "lz4", "none")),
    Input("wide", "zstd5"),
]


def generate(scale: float, only: str) -> None:
    """Writes what is missing, in a process of its own: ROOT takes long to end."""
    missing = [i for i in INPUTS if only in i.name and not i.path(scale).exists()]
    if missing:
        FOLDER.mkdir(parents=True, exist_ok=True)
        names = [i.name for i in missing]
        subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "bench.ntuple.worker", str(scale), *names], check=True
        )


def write(scale: float, names: list[str]) -> None:
    root = load_root(DATA, ["ntuple"])
    for family in ENTRIES:
        wanted = [i for i in INPUTS if i.family == family and i.name in names]
        if not wanted:
            continue
        entries = wanted[0].entries(scale)
        root.ntuple_fill(family, entries, FIELDS)
        for i in wanted:
            part = i.path(scale).with_suffix(".part")
            root.ntuple_write(family, str(part), CODECS[i.codec], entries, CLUSTER.get(family, 0), 1)
            part.rename(i.path(scale))  # a file that is there is whole
        root.ntuple_fill(family, 0, FIELDS)
