"""Columns beyond those that the engine gives: joined from several entry ranges, with an own copy of their
buffers."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np


class Joined:
    """Columns of one branch put one after another. Looks like a column of the engine."""

    def __init__(self, columns: list[Any]) -> None:
        self.kind: tuple[Any, ...] = columns[0].kind
        self._columns = columns
        self._len = sum(len(column) for column in columns)
        self._buffers: dict[int, np.ndarray[Any, Any]] = {}
        # Objects of each column have numbers of their own, from 1 on.
        self._object_bases: list[int] = []
        self._join(self.kind, [len(column) for column in columns])

    def __len__(self) -> int:
        return self._len

    def buffer(self, id: int) -> np.ndarray[Any, Any]:
        """A buffer by its number, as bytes."""
        return self._buffers[id]

    def object(self, id: int) -> Any:
        """Object ``id`` of the column's pointers."""
        if id == 0:
            return None
        which = bisect_right(self._object_bases, id) - 1
        return self._columns[which].object(id - self._object_bases[which])

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return sum(buffer.nbytes for buffer in self._buffers.values())

    def _join(self, kind: tuple[Any, ...], rows: list[int]) -> None:
        sort = kind[0]
        if sort == "number":
            self._numbers(kind[1], kind[2], rows)
        elif sort in ("text", "opaque"):
            self._numbers(kind[2], "uint8", self._offsets(kind[1], rows))
        elif sort == "list":
            self._join(kind[3], self._offsets(kind[1], rows))
        elif sort == "fixed":
            self._join(kind[2], [count * kind[1] for count in rows])
        elif sort == "record":
            for _, _, of in kind[2]:
                self._join(of, rows)
        elif sort == "pointer":
            ids = [
                self._view(column, kind[1], "uint32")[:count] for column, count in zip(self._columns, rows)
            ]
            if not self._object_bases:
                base = 0
                for column in self._columns:
                    self._object_bases.append(base)
                    base += getattr(column, "objects", 1 << 24)
            shifted = [np.where(one == 0, 0, one + base) for one, base in zip(ids, self._object_bases)]
            self._buffers[kind[1]] = np.concatenate(shifted).astype("uint32").view("uint8")

    @staticmethod
    def _view(column: Any, id: int, dtype: str) -> np.ndarray[Any, Any]:
        return np.asarray(column.buffer(id)).view(dtype)

    def _numbers(self, id: int, dtype: str, rows: list[int]) -> None:
        parts = [self._view(column, id, dtype)[:count] for column, count in zip(self._columns, rows)]
        self._buffers[id] = np.concatenate(parts).view("uint8")

    def _offsets(self, id: int, rows: list[int]) -> list[int]:
        out = np.zeros(sum(rows) + 1, "int64")
        items, at = [], 1
        base = 0
        for column, count in zip(self._columns, rows):
            offsets = self._view(column, id, "int64")[: count + 1]
            total = int(offsets[-1]) if len(offsets) else 0
            out[at : at + count] = offsets[1:] + base
            items.append(total)
            base += total
            at += count
        self._buffers[id] = out.view("uint8")
        return items


def join(columns: list[Any]) -> Any:
    """One column of several."""
    return columns[0] if len(columns) == 1 else Joined(columns)
