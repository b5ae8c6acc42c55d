"""Failures that are understood, listed with their reasons in TOML files that people read."""

from __future__ import annotations

import tomllib
from pathlib import Path


def load_listed(path: Path, table: str, subject: str) -> dict[tuple[str, str], str]:
    """One table of the file: (subject, item) -> reason. An entry names one `item` or several `items`."""
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get(table, []) if path.exists() else []
    out: dict[tuple[str, str], str] = {}
    for e in entries:
        for item in e["items"] if "items" in e else [e["item"]]:
            if (e[subject], item) in out:
                raise ValueError(f"{path.name}: {e[subject]} {item} stands there twice")
            out[e[subject], item] = e["reason"]
    return out
