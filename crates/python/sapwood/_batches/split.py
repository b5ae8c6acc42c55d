"""Training, validation and test: which rows belong to which, the same in every epoch and on every machine."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood._batches.arguments import whole
from sapwood.errors import MismatchError, near


class Split:
    """One of several shares of the rows. A hash decides to which share a row belongs: of some columns, or, if
    none are named, of the name of its file and its number."""

    def __init__(self, name: str, shares: Mapping[str, float], by: Any = None, seed: int = 0) -> None:
        self.name = name
        self.shares = {str(key): float(share) for key, share in shares.items()}
        if name not in self.shares:
            raise MismatchError(f"no share is named {name!r}{near(name, list(self.shares))}")
        total = sum(self.shares.values())
        if any(share < 0 or share != share for share in self.shares.values()) or not abs(total - 1) < 1e-9:
            raise MismatchError(f"shares are numbers from 0 to 1 that add up to 1, not {dict(shares)!r}")
        self.by = [by] if isinstance(by, str) else list(by or ())
        self.seed = whole(seed, "the seed of a split", 0)

    @classmethod
    def of(cls, split: Any) -> Split | None:
        """Parses ``("train", {"train": 0.8, "test": 0.2})``, which columns and a seed may follow."""
        if split is None or isinstance(split, Split):
            return split
        if not isinstance(split, tuple) or len(split) not in (2, 3, 4) or not isinstance(split[1], Mapping):
            raise TypeError(
                f'a split is ("train", {{"train": 0.8, "test": 0.2}}, ("run", "event"), seed), and columns '
                f"and the seed may be left out, not {split!r}"
            )
        return cls(*split)

    @property
    def identity(self) -> list[Any]:
        """All that decides which rows the share has."""
        return [self.name, sorted(self.shares.items()), self.by, self.seed]

    def mask(
        self, read: Callable[[Sequence[str]], Any], start: int, stop: int, path: str
    ) -> NDArray[np.bool_]:
        """A truth value for each of some entries of a file: whether the share has it. ``read`` reads columns of
        these entries."""
        if self.by:
            keys = [_whole(name, column) for name, column in zip(self.by, read(self.by), strict=True)]
        else:
            name = path.rpartition("/")[2].encode()
            keys = [np.full(stop - start, zlib.crc32(name), "uint64"), np.arange(start, stop, dtype="uint64")]
        hashed = np.full(stop - start, _mixed(np.array([self.seed], "uint64"))[0], "uint64")
        for key in keys:
            hashed = _mixed(hashed ^ key)
        # 53 bits are what a double holds.
        at = (hashed >> np.uint64(11)).astype("float64") * 2.0**-53
        # By name: mappings that list the same shares in another order mean the same split.
        names = sorted(self.shares)
        ends = np.cumsum([self.shares[one] for one in names])
        # Sums of shares may be a little less than 1: the last share that is not empty has the rest.
        ends[max(number for number, one in enumerate(names) if self.shares[one] > 0) :] = 1.0
        return np.asarray(np.searchsorted(ends, at, "right") == names.index(self.name))


def _whole(name: str, column: Any) -> NDArray[np.uint64]:
    values = np.asarray(column)
    if values.dtype.kind not in "iub" or values.ndim != 1:
        raise MismatchError(f"rows are split by whole numbers, and {name!r} holds {values.dtype}")
    return values.astype("int64").view("uint64") if values.dtype.kind != "u" else values.astype("uint64")


def _mixed(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64: every bit of the result depends on every bit of the value."""
    with np.errstate(over="ignore"):
        value = value + np.uint64(0x9E3779B97F4A7C15)
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))
