"""How deep JSON nests, before anything parses it: parsers call themselves for each level, and a process ends when
its stack does."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

import numpy as np

from sapwood.errors import MismatchError, place

#: Levels of objects and lists, the object of the line included. Columns nest to 64 levels.
MAX_LEVELS = 100

_PIECE_BYTES = 32 << 20
#: Lines are held in memory as a whole; Arrow counts their bytes in 32 bits.
_MAX_LINE_BYTES = 1 << 30
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


def pieces(file: Any, path: str, size: int) -> Generator[bytes]:
    """A file of JSON in parts of about ``size`` bytes, none of which ends within a line. The file is closed at the
    end.

    Raises :class:`~sapwood.errors.MismatchError` if it nests too deep, or a line is too long.
    """
    nesting, parts, held = Nesting(), [b""], 0
    with file:
        # As much as a line has already: each line is looked at a few times only, however long it is.
        while piece := bytes(file.read(max(size, held))):
            if nesting.add(piece) > MAX_LEVELS:
                raise MismatchError(
                    f"the JSON nests deeper than {MAX_LEVELS} levels: no column can hold that, so flatten it, or keep "
                    f"the inner part as a text{place(path, None)}"
                )
            whole, end, rest = piece.rpartition(b"\n")
            if end:
                yield b"".join([*parts, whole, end])
                parts, held = [], 0
            parts.append(rest)
            held += len(rest)
            if held > _MAX_LINE_BYTES:
                raise MismatchError(
                    f"a line of JSON has more than {_MAX_LINE_BYTES >> 20} MiB: an object on each line is read"
                    f"{place(path, None)}"
                )
        if held:
            yield b"".join(parts)


def check_depth(file: Any, path: str) -> None:
    """Reads a file to its end, and closes it.

    Raises :class:`~sapwood.errors.MismatchError` if it nests too deep.
    """
    for _ in pieces(file, path, _PIECE_BYTES):
        pass
