"""The inputs of the benchmark: what each file holds, and which rows of the tables come from it."""

from __future__ import annotations

import os
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("SAPWOOD_BENCH_DATA") or HERE / "data")
TREE = "tree"
CODECS = {"none": 0, "zlib1": 101, "lz4": 404, "zstd5": 505}
"""ROOT's numbers: algorithm * 100 + level. ROOT's zstd 5 is level 10 of the library, its lz4 4 the fast one."""


@dataclass(frozen=True)
class Input:
    family: str
    codec: str
    entries: int
    split: int = 0
    branches: int = 0
    flush: int = 0

    @property
    def name(self) -> str:
        return f"{self.family}_{self.codec}"

    def path(self, scale: str) -> Path:
        return DATA / scale / f"{self.name}.root"

    def size(self, scale: str) -> int:
        """Number of entries: `full`, `quick` (a tenth), or `tiny` (to load libraries and nothing else)."""
        if self.flush or scale == "full":
            return self.entries
        return 20 if scale == "tiny" else max(self.entries // 10, 20)

    def count(self, scale: str) -> int:
        return self.branches if scale == "full" else self.branches // 10

    def write(self, R: Any, scale: str, path: str) -> None:
        codec, n = CODECS[self.codec], self.size(scale)
        if self.family == "flat":
            R.gen_flat(path, codec, n)
        elif self.family == "jagged":
            R.gen_jagged(path, codec, n)
        elif self.family == "vectors":
            R.gen_vectors(path, codec, n)
        elif self.family.startswith("event"):
            R.gen_event(path, codec, n, self.split)
        else:
            R.gen_wide(path, codec, n, self.count(scale), self.flush)


INPUTS = [
    *(Input("flat", c, 4_000_000) for c in ("zstd5", "zlib1", "lz4", "none")),
    *(Input("jagged", c, 1_000_000) for c in ("zstd5", "zlib1", "none")),
    *(Input("vectors", c, 300_000) for c in ("zstd5", "none")),
    *(Input("event_split", c, 1_000, split=99) for c in ("zlib1", "none")),
    *(Input("event_whole", c, 1_000, split=0) for c in ("zlib1", "none")),
    Input("wide", "zlib1", 20_000, branches=2_000),
    Input("clusters10", "zlib1", 20, branches=10_000, flush=2),
    Input("clusters100", "zlib1", 200, branches=10_000, flush=2),
]
"""clusters10 and clusters100 are only opened: 10,000 branches with 10 and with 100 baskets each."""

THREE = {"flat": ["f0", "d2", "i2"]}


def make_cold(path: str | Path) -> None:
    """Has the system forget what it keeps of the file."""
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)


def load_root(data: Path, names: list[str]) -> Any:
    """ROOT with the benchmark's C++, compiled by ACLiC into the (ignored) data folder."""
    warnings.simplefilter("ignore")
    import shutil

    import ROOT

    ROOT.PyConfig.IgnoreCommandLineOptions = True
    ROOT.gROOT.SetBatch(True)
    ROOT.gErrorIgnoreLevel = ROOT.kWarning
    build = data / "build"
    build.mkdir(parents=True, exist_ok=True)
    for header in HERE.glob("support/*.h"):
        shutil.copy2(header, build)
    for name in names:
        source = next(HERE.glob(f"*/{name}.C"))
        shutil.copy2(source, build)  # keeps the time, so that ACLiC compiles only what changed
        if not ROOT.gSystem.CompileMacro(str(build / f"{name}.C"), "kOs"):
            sys.exit(f"ACLiC cannot compile {name}.C")
    return ROOT
