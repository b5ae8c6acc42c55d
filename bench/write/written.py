"""The rows that are written: which tree, with which setting, and where its values come from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.support.files import DATA, load_root

SETTINGS = {"none": 0, "lz4": 404, "zstd5": 505, "zlib1": 101}
"""ROOT's numbers."""
LIBRARY = {"none": "none:0", "lz4": "lz4hc:4", "zstd5": "zstd:10", "zlib1": "zlib:2"}
"""What ROOT's numbers mean to the libraries that compress."""
ENTRIES = {"flat": 4_000_000, "jagged": 1_000_000, "event": 1_000}
STEPS = {"flat": 50_000, "jagged": 50_000, "event": 50}
"""Rows that an array writer is given at a time."""


@dataclass(frozen=True)
class Row:
    """A row of the table: a tree and a setting."""

    family: str
    codec: str
    split: int = 99

    @property
    def values(self) -> str:
        """Which values it holds."""
        return self.family.partition("_")[0]

    @property
    def name(self) -> str:
        return f"{self.family}_{self.codec}"


ROWS = [
    Row(family, codec, 0 if family == "event_whole" else 99)
    for family in ("flat", "jagged", "event_split", "event_whole")
    for codec in SETTINGS
]


def entries(values: str, scale: float) -> int:
    return max(int(ENTRIES[values] * scale), 20)


def source(values: str, scale: float) -> Path:
    """The file that holds the values; ROOT writes it, uncompressed, when it is missing."""
    count = entries(values, scale)
    path = DATA / "writing" / f"{values}_{count}.root"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        root = load_root(DATA, ["gen"])
        part = path.with_suffix(".part")
        if values == "event":
            root.gen_event(str(part), 0, count, 99)
        else:
            getattr(root, f"gen_{values}")(str(part), 0, count)
        part.rename(path)
    return path


def columns(values: str, path: Path) -> Any:
    """The values as an array writer is given them: NumPy arrays where all entries have one length, else Awkward's."""
    import awkward as ak
    import numpy as np
    import sapwood

    tree = sapwood.open(path, threads=1)["tree"]
    if values == "flat":
        return {name: np.asarray(column) for name, column in tree.arrays(library="np").items()}
    array = tree.arrays(library="ak")
    if values == "event":
        return {"event": _events(array)}
    lists: dict[str, dict[str, Any]] = {}
    out: dict[str, Any] = {}
    for name in array.fields:
        outer, _, inner = name.partition("_")
        if inner:
            lists.setdefault(outer, {})[inner] = array[name]
        elif not name.startswith("n"):
            out[name] = ak.to_numpy(array[name])
    return {**out, **{outer: ak.zip(fields) for outer, fields in lists.items()}}


def _events(array: Any) -> Any:
    """Whole events from the branches of their members."""
    import awkward as ak

    of_tracks = {name.rpartition(".")[2]: array[name] for name in array.fields if "fTracks." in name}
    members = {
        name: array[next(x for x in array.fields if x.rpartition(".")[2].partition("[")[0] == name)]
        for name in ("fRun", "fNumber", "fTemperature", "fMeasures", "fMatrix")
    }
    narrow = {
        name: ak.values_astype(column, "float32") if name[1] in "XYZC" else column
        for name, column in of_tracks.items()
    }  # Double32_t is a float in a file
    return ak.zip({**members, "fTracks": ak.zip(narrow)}, depth_limit=1)


def event_class() -> Any:
    """The event as a class of Python: the members of `bench/support/event.h`."""
    import dataclasses
    from typing import Annotated

    import numpy as np

    floats = (
        "fPx fPy fPz fRandom fMass2 fBx fBy fMeanCharge fXfirst fXlast fYfirst fYlast fZfirst fZlast fCharge"
    )
    track = dataclasses.make_dataclass(
        "Track",
        [*((name, np.float32) for name in floats.split()), ("fNpoint", np.int32), ("fValid", np.int16)],
    )
    return dataclasses.make_dataclass(
        "Event",
        [
            ("fRun", np.int32), ("fNumber", np.int64), ("fTemperature", np.float32),
            ("fMeasures", Annotated[np.int32, 10]),
            ("fMatrix", Annotated[np.float32, 4, 4]), ("fTracks", list[track]),  # type: ignore[valid-type]
        ],
    )  # fmt: skip
