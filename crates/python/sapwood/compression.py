"""Settings of compression, as ROOT writes them in one number."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from sapwood._read.filters import as_match
from sapwood.errors import MismatchError, near, not_found

if TYPE_CHECKING:
    from sapwood._write.branch_schema import Schema

_NAMES = {0: "ZLIB", 1: "ZLIB", 2: "LZMA", 3: "OLD", 4: "LZ4", 5: "ZSTD"}


class Compression:
    """Algorithm and level. :class:`ZLIB`, :class:`LZMA`, :class:`LZ4` and :class:`ZSTD` make one by its
    level.

    >>> Compression.from_code(505)
    ZSTD(5)
    >>> Compression.from_code(505).code
    505
    """

    name: str
    """``ZLIB``, ``LZMA``, ``LZ4``, ``ZSTD``, or ``OLD`` for the one of ROOT 5 and before."""
    level: int
    """0 for none at all, 1 for the fastest, 9 for the smallest."""

    def __init__(self, name: str, level: int) -> None:
        self.name, self.level = name, int(level)

    @classmethod
    def from_code(cls, code: int) -> Compression:
        """The setting of ``fCompress``: a hundred times the algorithm, plus the level."""
        algorithm, level = divmod(max(int(code), 0), 100)
        name = _NAMES.get(algorithm, f"algorithm {algorithm}")
        known = _CLASSES.get(name)
        return Compression(name, level) if known is None else known(level)

    @classmethod
    def from_code_pair(cls, algorithm: int, level: int) -> Compression:
        """The setting of an algorithm's number and a level.

        >>> Compression.from_code_pair(5, 7)
        ZSTD(7)
        """
        return cls.from_code(100 * int(algorithm) + int(level))

    @property
    def code(self) -> int:
        """The number that ROOT writes."""
        algorithm, level = self.code_pair
        return 100 * algorithm + level

    @property
    def code_pair(self) -> tuple[int, int]:
        """The algorithm's number, and the level.

        >>> ZSTD(7).code_pair
        (5, 7)
        """
        numbers = {"ZLIB": 1, "LZMA": 2, "OLD": 3, "LZ4": 4, "ZSTD": 5}
        return numbers.get(self.name, 0), self.level

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Compression) and (self.name, self.level) == (other.name, other.level)

    def __hash__(self) -> int:
        return hash((self.name, self.level))

    def __reduce__(self) -> Any:
        return Compression.from_code if self.name in _CLASSES else Compression, self._made_of

    @property
    def _made_of(self) -> tuple[Any, ...]:
        return (self.code,) if self.name in _CLASSES else (self.name, self.level)

    def __repr__(self) -> str:
        return f"{self.name}({self.level})"


class _Algorithm(Compression):
    """One algorithm, with a level from 0 to 9."""

    def __init__(self, level: int) -> None:
        super().__init__(type(self).__name__, level)


class ZLIB(_Algorithm):
    """ROOT's default.

    >>> ZLIB(1), ZLIB(1).code
    (ZLIB(1), 101)
    """


class LZMA(_Algorithm):
    """Small and slow.

    >>> LZMA(8).code
    208
    """


class LZ4(_Algorithm):
    """Large and fast.

    >>> LZ4(4).code
    404
    """


class ZSTD(_Algorithm):
    """Nearly as small as ZLIB at a high level, and much faster to read.

    >>> ZSTD(5).code
    505
    """


_CLASSES: dict[str, type[_Algorithm]] = {"ZLIB": ZLIB, "LZMA": LZMA, "LZ4": LZ4, "ZSTD": ZSTD}


def from_text(text: str) -> Compression | None:
    """The setting that the engine's text names; ``None`` where it is none.

    >>> from_text("zstd:5"), from_text("zlib:0")
    (ZSTD(5), None)
    """
    name, _, level = text.upper().partition(":")
    found = _CLASSES[name] if name in _CLASSES else functools.partial(Compression, name)
    return or_none(found(int(level) if level.isdecimal() else _USUAL.get(name, 1)))


def or_none(found: Compression) -> Compression | None:
    """``None`` for a setting that compresses nothing, as uproot has it."""
    return found if found.level else None


_USUAL = {"LZMA": 7, "LZ4": 4, "ZSTD": 5}
"""Levels of algorithms that are named without one, where it is not 1."""


def as_compression(compression: Any) -> str:
    """The engine's text for a setting of compression.

    >>> as_compression(505), as_compression("505"), as_compression("ZSTD:5"), as_compression("lz4")
    ('zstd:5', 'zstd:5', 'zstd:5', 'lz4')
    >>> as_compression(None), as_compression("none")
    ('zlib:0', 'zlib:0')

    Raises :class:`sapwood.errors.MismatchError` for algorithms and levels that there are not.
    """
    if compression is None:
        return _RAW
    if isinstance(compression, bool) or not isinstance(compression, (str, int, Compression)):
        code = getattr(compression, "code", None)  # uproot's own settings
        if not isinstance(code, int):
            raise TypeError(
                f"compression is a text like 'zstd:5', ROOT's number or None, not {compression!r}"
            )
        compression = code
    if isinstance(compression, str) and compression.strip().isdecimal():
        compression = int(compression)
    if isinstance(compression, str):
        name, colon, digits = compression.strip().lower().partition(":")
        if not colon:
            return _RAW if name in ("none", "raw") else name
        # What is no number of the kind the engine refuses, with its words.
        level = int(digits) if digits.isdecimal() else 0
        text = f"{name}:{digits}"
    else:
        if isinstance(compression, int) and not 0 <= compression < 600:
            raise MismatchError(
                f"no such compression: {compression} (a hundred times the algorithm, from 1 to 5, plus the level)"
            )
        found = compression if isinstance(compression, Compression) else Compression.from_code(compression)
        name, level = found.name.lower(), found.level
        text = f"{name}:{level}" if level else _RAW
    most = _MOST.get(name, 9)
    if not 0 <= level <= most:
        raise MismatchError(f"no such compression: {compression} (the levels of {name} go from 0 to {most})")
    return text


_RAW = "zlib:0"
_MOST = {"zstd": 11}
"""Highest levels that are not 9."""


def as_random_access(setting: Any) -> str:
    """The engine's text for how many entries of a basket can be inflated alone.

    >>> as_random_access(None), as_random_access("auto"), as_random_access(128)
    ('off', 'auto', '128')
    """
    if setting is None:
        return "off"
    if isinstance(setting, bool) or not isinstance(setting, (int, str)):
        raise TypeError(f"random access is 'auto', a number of entries or None, not {setting!r}")
    return str(setting)


def by_name(
    compression: Any, as_text: Callable[[Any], str] = as_compression
) -> tuple[str | None, dict[str, str]]:
    """The general setting, if there is one, and those of names and patterns, as the engine's texts.

    >>> by_name({"Muon_*": "lz4", "*": 505})
    ('zstd:5', {'Muon_*': 'lz4'})
    """
    if not isinstance(compression, Mapping):
        return as_text(compression), {}
    settings = {pattern: as_text(setting) for pattern, setting in compression.items()}
    return settings.pop("*", None), settings


def of_names(
    compression: Any,
    names: Mapping[str, Iterable[str]],
    *,
    all_used: bool = True,
    as_text: Callable[[Any], str] = as_compression,
) -> tuple[str | None, dict[str, str]]:
    """The general setting, if there is one, and those of branches or fields that have their own. ``names``
    gives each the other names by which it goes.

    >>> of_names({"Muon": "lz4", "*": 505}, {"Muon_pt": ["Muon"], "run": []})
    ('zstd:5', {'Muon_pt': 'lz4'})

    Raises :class:`sapwood.errors.NotFoundError` for names and globs that no branch has, unless not all need
    to be used.
    """
    general, settings = by_name(compression, as_text)
    found: dict[str, str] = {}
    # What is spelled out comes before globs.
    for wanted in sorted(settings, key=lambda name: any(mark in name for mark in "*?[/")):
        match = as_match(wanted)
        fits = [name for name in names if match and any(match(each) for each in (name, *names[name]))]
        if not fits and all_used:
            raise not_found(f"there is no branch {wanted!r} to compress{near(wanted, list(names))}")
        for name in fits:
            found.setdefault(name, settings[wanted])
    return general, found


def names_of(schema: Schema) -> dict[str, list[str]]:
    """Names of branches, each with that of the column that it is made of."""
    columns = {spec.name: column for column, parts in schema.columns.items() for _, spec in parts}
    return {spec.name: [columns[spec.name]] if spec.name in columns else [] for spec in schema.specs}


def of_branches(
    compression: Any, inherited: str, schema: Schema, as_text: Callable[[Any], str] = as_compression
) -> tuple[str | None, dict[str, str]]:
    """The setting of a tree, nothing where it is ``inherited``, and those of branches that have their own.

    Raises :class:`sapwood.errors.NotFoundError` for names and globs that no branch has.
    """
    if isinstance(compression, str) and compression == inherited:
        return None, {}
    return of_names(compression, names_of(schema), as_text=as_text)
