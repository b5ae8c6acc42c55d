"""How deep JSON nests, before anything parses it: parsers call themselves for each level, and a process ends when
its stack does."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from sapwood.errors import MismatchError, place

#: Levels of objects and lists, the object of the line included. Columns nest to 64 levels.
MAX_LEVELS = 100

#: A line that is longer is looked at once more for each piece of it.
_PIECE_BYTES = 32 << 20
_OTHER = bytes(set(range(256)) - set(b'[]{}"'))
_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_STEP = np.zeros(256, "int8")
_STEP[[ord("["), ord("{")]] = 1
_STEP[[ord("]"), ord("}")]] = -1


class Nesting:
    """Follows the levels of a text that comes in pieces.

    >>> nesting = Nesting()
    >>> nesting.add(b'{"a[[": [[1]]}')
    3
    """

    def __init__(self) -> None:
        self._depth = 0
        self._line = b""
        """The line that has not ended: a text in quotes may be cut, and no line ends within it."""

    def add(self, piece: bytes) -> int:
        """The deepest level until the end of the piece."""
        whole, end, rest = piece.rpartition(b"\n")
        deepest = 0
        if end:
            deepest, self._depth = self._levels(self._line + whole)
            self._line = rest
        else:
            self._line += piece
        return max(deepest, self._levels(self._line)[0])

    def _levels(self, text: bytes) -> tuple[int, int]:
        """The deepest level of some lines, and the level after them."""
        if b"\\" in text:
            text = _ESCAPE.sub(b"", text)
        # Every second part is within quotes.
        brackets = b"".join(text.translate(None, _OTHER).split(b'"')[::2])
        levels = np.cumsum(_STEP[np.frombuffer(brackets, "u1")], dtype="int64") + self._depth
        return (int(levels.max()), max(int(levels[-1]), 0)) if len(levels) else (self._depth, self._depth)


class CheckedJson:
    """A file of JSON that Arrow reads, and that nests no deeper than it may."""

    closed = False

    def __init__(self, file: Any, path: str) -> None:
        self._file, self._path, self._nesting = file, path, Nesting()

    def read(self, size: int = -1) -> bytes:
        """The next bytes.

        Raises :class:`~sapwood.errors.MismatchError` if they nest too deep.
        """
        piece = bytes(self._file.read(size))
        if self._nesting.add(piece) > MAX_LEVELS:
            raise MismatchError(
                f"the JSON nests deeper than {MAX_LEVELS} levels: no column can hold that, so flatten it, or keep the "
                f"inner part as a text{place(self._path, None)}"
            )
        return piece

    def readable(self) -> bool:
        """Arrow asks this."""
        return True

    def writable(self) -> bool:
        """Arrow asks this, too."""
        return False

    def seekable(self) -> bool:
        """It is read once."""
        return False

    def close(self) -> None:
        """Closes the file."""
        self.closed = True
        self._file.close()


def check_depth(file: Any, path: str) -> None:
    """Reads a file to its end, and closes it.

    Raises :class:`~sapwood.errors.MismatchError` if it nests too deep.
    """
    checked = CheckedJson(file, path)
    try:
        while checked.read(_PIECE_BYTES):
            pass
    finally:
        checked.close()
