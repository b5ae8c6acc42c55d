"""One basket of a branch, as bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from sapwood._tree.branch import Branch


class BasketKey(NamedTuple):
    """The key of a basket, by ROOT's names."""

    fNbytes: int
    """Bytes of the record in the file, key included."""
    fObjlen: int
    """Bytes once inflated."""
    fKeylen: int
    """Bytes of the key."""
    fCycle: int
    """Its cycle: the number of the basket."""
    fSeekKey: int
    """Where the record begins in the file."""
    fSeekPdir: int
    """Where the tree's directory begins."""


class Basket:
    """A basket (``TBasket``), inflated and not decoded.

    >>> import io, sapwood
    >>> memory = io.BytesIO()
    >>> with sapwood.recreate(memory) as file:
    ...     file["tree"] = {"x": [1, 2, 3]}
    >>> basket = sapwood.open(memory)["tree/x"].basket(0)
    >>> basket.data.view(">i8").tolist(), basket.byte_offsets, basket.num_entries
    ([1, 2, 3], None, 3)
    """

    def __init__(self, branch: Branch, number: int, core: Any) -> None:
        data, starts, key = core
        self.branch = branch
        """The branch."""
        self.basket_num = number
        """Its number."""
        self.data = np.frombuffer(data, dtype=np.uint8)
        """Bytes of all entries, big-endian, without the offsets behind them. Shape: one item a byte."""
        self.byte_offsets = None if starts is None else np.asarray(starts, dtype=np.int32)
        """Where each entry begins in :attr:`data`, and where the last one ends; ``None`` where all have the same
        number of bytes. Shape: one item an entry, and one more."""
        self.key = None if key is None else BasketKey(*key)
        """Its key; ``None`` for a basket in the tree's own record."""

    @property
    def entry_start_stop(self) -> tuple[int, int]:
        """Its first entry, and one past its last."""
        return self.branch.basket_entry_start_stop(self.basket_num)

    @property
    def num_entries(self) -> int:
        """Its entries."""
        start, stop = self.entry_start_stop
        return stop - start

    @property
    def is_embedded(self) -> bool:
        """Is it in the tree's own record?"""
        return self.key is None

    @property
    def compressed_bytes(self) -> int:
        """Bytes of its record in the file, key included."""
        return len(self.data) if self.key is None else self.key.fNbytes

    @property
    def uncompressed_bytes(self) -> int:
        """Bytes of its record once inflated: key, entries and offsets, as uproot counts them."""
        return len(self.data) if self.key is None else self.key.fObjlen + self.key.fKeylen

    def __repr__(self) -> str:
        return f"<TBasket {self.basket_num} of {self.branch.name!r}: {self.num_entries} entries>"
