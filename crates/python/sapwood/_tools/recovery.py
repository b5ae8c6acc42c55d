"""What a writer that died had written."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from sapwood import _core, errors


@dataclass(frozen=True)
class Recovered:
    """What was brought back."""

    objects: list[str] = field(default_factory=list)
    """Objects and directories that no directory listed."""
    trees: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Trees that have more entries than before, and how many they had and have."""
    left: list[str] = field(default_factory=list)
    """What was seen and left alone, and why."""
    doubtful: list[str] = field(default_factory=list)
    """What was brought back and may not be what was written: baskets without compression that hold a page of zeros, which after the
    crash of the machine may be one that never reached the disk; objects whose class the file does not describe."""
    cut_bytes: int = 0
    """Bytes of unfinished records, which were cut off."""
    was_closed: bool = False
    """Whether the file was closed, so that there was nothing to do."""


def recover(path: Any, *, dry_run: bool = False) -> Recovered:
    """Brings back, in place, what a writer that died had written: objects whose record is whole, and the
    clusters of trees that were committed after the last save, up to the last entry that all branches have.
    With ``dry_run`` nothing is written.

    Every record is read and every basket inflated before it is accepted. After a crash of a process all
    that it wrote is there; after that of the machine only what was saved with ``sync=True`` is sure to be.

    >>> import os, sapwood, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "file.root")
    >>> with sapwood.recreate(path) as file:
    ...     file["note"] = "closed"
    >>> sapwood.recover(path).was_closed
    True

    Raises :class:`FileNotFoundError`; :class:`sapwood.errors.MalformedError` where there is no root
    directory; :class:`sapwood.errors.IOError` where the file is being written.
    """
    if not os.path.exists(path):
        raise errors.MissingFileError(f"no file {os.fspath(path)!r}")
    objects, trees, left, doubtful, cut_bytes, was_closed = _core.recover(path, dry_run)
    return Recovered(
        objects, {name: (before, now) for name, before, now in trees}, left, doubtful, cut_bytes, was_closed
    )
