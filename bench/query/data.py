"""The files that queries are measured on."""

from __future__ import annotations

from pathlib import Path

import awkward as ak
import numpy as np
import sapwood

DATA = Path(__file__).resolve().parent.parent / "data"
FLAT, MUONS, SMALL = DATA / "query.root", DATA / "muons.root", DATA / "small"
SMALL_FILES, SMALL_ENTRIES = 2_000, 500
PART = 500_000


def write(entries: int) -> None:
    """Writes what is not there yet."""
    DATA.mkdir(exist_ok=True)
    if not FLAT.exists():
        _write(FLAT, "t", entries, _flat)
    if not MUONS.exists():
        _write(MUONS, "Events", entries // 2, _muons)
    if not SMALL.exists():
        SMALL.mkdir()
        for number in range(SMALL_FILES):
            rng = np.random.default_rng(number)
            with sapwood.recreate(SMALL / f"{number:04}.root", compression="zstd:5") as file:
                file["t"] = {name: rng.normal(0, 1, SMALL_ENTRIES) for name in ("x", "y")}


def _write(path: Path, tree: str, entries: int, columns: object) -> None:
    rng = np.random.default_rng(1)
    with sapwood.recreate(path, compression="zstd:5") as file:
        for start in range(0, entries, PART):
            part = columns(rng, start, min(PART, entries - start), entries)  # type: ignore[operator]
            if start == 0:
                file[tree] = part
            else:
                file[tree].extend(part)


def _lists(values: np.ndarray, counts: np.ndarray) -> ak.Array:
    return ak.unflatten(values.astype("f4"), counts)


def _flat(rng: np.random.Generator, start: int, rows: int, entries: int) -> dict[str, object]:
    normal = ["x", "y", *(f"c{n}" for n in range(8))]
    columns: dict[str, object] = {name: np.round(rng.normal(0, 1, rows), 3).astype("f4") for name in normal}
    columns["z"] = np.round(rng.exponential(40, rows), 2)
    # Rises from 0 to 1: what a cut on it keeps stands together.
    columns["place"] = (start + np.arange(rows)) / entries
    columns["random"] = rng.random(rows)
    counts = rng.poisson(3, rows)
    columns["v"] = _lists(np.round(rng.exponential(20, counts.sum()), 2), counts)
    columns["w"] = _lists(np.round(rng.normal(0, 1, counts.sum()), 2), counts)
    return columns


def _muons(rng: np.random.Generator, start: int, rows: int, entries: int) -> dict[str, object]:
    counts = rng.poisson(1.6, rows)
    total = counts.sum()
    columns = {
        "pt": rng.exponential(20, total) + 3,
        "eta": rng.normal(0, 1.2, total),
        "phi": rng.uniform(-np.pi, np.pi, total),
    }
    fields = {name: values.astype("f4") for name, values in columns.items()}
    charge = rng.choice(np.array([-1, 1], "i4"), total)
    return {"Muon": ak.unflatten(ak.zip({**fields, "charge": charge}), counts)}
