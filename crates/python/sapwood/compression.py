"""Settings of compression, as ROOT writes them in one number."""

from __future__ import annotations

from dataclasses import dataclass

_NAMES = {0: "ZLIB", 1: "ZLIB", 2: "LZMA", 3: "OLD", 4: "LZ4", 5: "ZSTD"}


@dataclass(frozen=True)
class Compression:
    """Algorithm and level.

    >>> Compression.from_code(505)
    ZSTD(5)
    >>> Compression.from_code(505).code
    505
    """

    name: str
    """``ZLIB``, ``LZMA``, ``LZ4``, ``ZSTD``, or ``OLD`` for the one of ROOT 5 and before."""
    level: int
    """0 for none at all, 1 for the fastest, 9 for the smallest."""

    @classmethod
    def from_code(cls, code: int) -> Compression:
        """The setting of ``fCompress``: a hundred times the algorithm, plus the level."""
        algorithm, level = divmod(max(int(code), 0), 100)
        return cls(_NAMES.get(algorithm, f"algorithm {algorithm}"), level)

    @property
    def code(self) -> int:
        """The number that ROOT writes."""
        numbers = {"ZLIB": 1, "LZMA": 2, "OLD": 3, "LZ4": 4, "ZSTD": 5}
        return 100 * numbers.get(self.name, 0) + self.level

    def __repr__(self) -> str:
        return f"{self.name}({self.level})"
