"""One tree of exceptions: every error of the engine is a :class:`SapwoodError`.

Each also derives from what Python calls its kind, so that ``except KeyError`` works where uproot raises one.

Attributes say where: ``kind``, ``file``, ``object``, ``basket``, ``offset``, ``expected``, ``found``; ``None`` where
that is not known.
"""

from __future__ import annotations

from sapwood._core import SapwoodError

__all__ = [
    "IOError",
    "LimitError",
    "MalformedError",
    "MismatchError",
    "NotFoundError",
    "SapwoodError",
    "UnsupportedError",
]


class NotFoundError(SapwoodError, KeyError, FileNotFoundError):
    """No such file, key or branch. The message names what looks alike."""

    __str__ = SapwoodError.__str__


class MalformedError(SapwoodError, ValueError):
    """The bytes contradict the format, or a checksum does not match."""


class UnsupportedError(SapwoodError, NotImplementedError):
    """Well formed, but nothing here can read it; the message says why."""


class LimitError(SapwoodError, MemoryError):
    """A limit against hostile files would be passed."""


class MismatchError(SapwoodError, ValueError):
    """What was asked for does not fit what is there."""


class IOError(SapwoodError, OSError):
    """The operating system or the network refused."""
