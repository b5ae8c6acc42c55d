"""Displays in notebooks: tables and pictures as HTML, with every name of a file escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

#: Rows of a table; of more the number is told.
MOST = 50


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]], total: int) -> str:
    """A table of the first rows, below a title."""
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row, _ in zip(rows, range(MOST), strict=False)
    )
    more = f"<p>and {total - MOST} more</p>" if total > MOST else ""
    return (
        f"<p><b>{escape(title)}</b></p>"
        f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>{more}"
    )


def size(count: int | float) -> str:
    """Bytes in units that are read."""
    value, units = float(count), iter(("B", "kB", "MB", "GB"))
    unit = next(units)
    for larger in units:
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.3g} {unit}"
