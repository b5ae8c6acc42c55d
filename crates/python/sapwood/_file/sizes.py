"""Sizes of memory in words: ``"100 MB"``."""

from __future__ import annotations

import math
import re
from typing import Any

_SIZE = re.compile(r"^\s*\+?((?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)\s*([kmgtpezy]?)(i?)b\s*$", re.IGNORECASE)


def as_bytes(size: Any) -> int:
    """Bytes of a size: a whole number, or a number with a unit from ``B`` to ``YB`` or ``YiB``.

    >>> as_bytes("100 MB"), as_bytes("1.5 kiB"), as_bytes(7)
    (100000000, 1536, 7)
    """
    if isinstance(size, str):
        found = _SIZE.match(size)
        if found is not None and math.isfinite(float(found.group(1))):
            power = " kmgtpezy".index(found.group(2).lower() or " ")
            return int(float(found.group(1)) * (1024 if found.group(3) else 1000) ** power)
    elif isinstance(size, int) and not isinstance(size, bool):
        return size
    elif hasattr(size, "__index__"):
        return int(size.__index__())
    raise TypeError(f"a size is a whole number of bytes or a text like '100 MB', not {size!r}")


def every(setting: Any) -> int:
    """ROOT's number for a setting of AutoFlush or AutoSave: entries, minus bytes, or 0.

    >>> every(1000), every("30 MB"), every(-30_000_000)
    (1000, -30000000, -30000000)
    """
    return -as_bytes(setting) if isinstance(setting, str) else as_bytes(setting)
