"""Cells of the tables in `docs/benchmarks`, as the scripts that measure wrote them."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


@dataclass(frozen=True)
class Cell:
    """A number of a table: the page, the heading above it, the first cells of its row, and the heading of its column.

    Columns under a common heading (`calls: ROOT`, `rows`, `arrays`) are named `calls: rows` and so on.
    """

    page: str
    heading: str
    row: tuple[str, ...]
    column: str

    def value(self) -> float | None:
        """The number; none where the table leaves it out."""
        header, rows = tables(self.page).get(self.heading, ([], []))
        if self.column not in header:
            raise LookupError(f"{self.page}: no column {self.column!r} under {self.heading!r}: {header}")
        for cells in rows:
            if tuple(cells[: len(self.row)]) == self.row:
                return number(cells[header.index(self.column)])
        raise LookupError(f"{self.page}: no row {self.row} under {self.heading!r}")


def number(text: str) -> float | None:
    """The first number of a cell: `2,907 (6,129)` has calls, and in brackets their ranges."""
    found = re.match(r"-?\d[\d,]*(?:\.\d+)?", text)
    return float(found.group().replace(",", "")) if found else None


def scale(page: str) -> float | None:
    """The share of the papers' sizes that a page was measured at, as the command at its top says; none where it has no
    such option."""
    found = re.search(r"`python -m \S+[^`]*--scale (\d+(?:\.\d+)?)", (DOCS / page).read_text())
    return float(found.group(1)) if found else None


@functools.cache
def tables(page: str) -> dict[str, tuple[list[str], list[list[str]]]]:
    """The first table below each heading of a page: names of columns, and rows."""
    found: dict[str, tuple[list[str], list[list[str]]]] = {}
    section = heading = ""
    rows: list[list[str]] = []

    def keep() -> None:
        if len(rows) > 2 and heading not in found:
            found[heading] = (columns(rows[0]), rows[2:])

    for line in (DOCS / page).read_text().splitlines():
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
            continue
        keep()
        rows = []
        if line.startswith("#"):
            section = heading = line.lstrip("# ")
        elif line.endswith(":") and len(line) < 60:
            # One of several tables below a heading: `Over http (Apache):`.
            heading = f"{section}: {line.removesuffix(':')}"
    keep()
    return found


def columns(cells: list[str]) -> list[str]:
    """Names of columns, each with the part before its colon, which the following ones share."""
    names: list[str] = []
    shared = ""
    for cell in cells:
        part, colon, name = cell.partition(": ")
        if colon:
            shared = part
            names.append(cell)
        elif shared and cell in ("rows", "arrays"):
            names.append(f"{shared}: {cell}")
        else:
            shared = ""
            names.append(cell)
    return names
