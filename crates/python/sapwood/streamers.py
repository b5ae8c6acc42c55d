"""The classes that a file describes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TextIO


@dataclass(frozen=True)
class StreamerElement:
    """A member of a class, or a base class."""

    name: str
    """Its name; of a base class, the class."""
    typename: str
    """Type in C++ words; ``BASE`` of a base class."""
    title: str
    """The comment behind it."""
    code: int
    """``fType``: ROOT's number for the kind of member."""
    array_length: int
    """Items of a fixed array; 0 where it is none."""
    is_base: bool
    """Is it a base class?"""


@dataclass(frozen=True)
class StreamerInfo:
    """A class in one version: its base classes and members in the order of the file."""

    name: str
    """The class."""
    class_version: int
    """Its version."""
    checksum: int
    """``fCheckSum``: what tells versions apart where they have no number."""
    elements: tuple[StreamerElement, ...]
    """Bases and members."""

    @property
    def member_names(self) -> list[str]:
        """Names of the members, without bases."""
        return [element.name for element in self.elements if not element.is_base]

    @property
    def base_names_versions(self) -> list[str]:
        """Names of the base classes."""
        return [element.name for element in self.elements if element.is_base]

    def element(self, name: str) -> StreamerElement | None:
        """The member of that name; ``None`` where there is none."""
        return next((element for element in self.elements if element.name == name), None)

    def show(self, stream: TextIO | None = None) -> None:
        """Writes the class and its members, a line each."""
        print("\n".join(self._lines()), file=stream or sys.stdout)

    def _lines(self) -> Iterator[str]:
        bases = ", ".join(element.name for element in self.elements if element.is_base)
        yield f"{self.name} (v{self.class_version}){': ' + bases if bases else ''}"
        for element in self.elements:
            if not element.is_base:
                yield f"    {element.name}: {element.typename}"


def gather(rows: list[Any]) -> dict[str, dict[int, StreamerInfo]]:
    """Infos by class and version."""
    found: dict[str, dict[int, StreamerInfo]] = {}
    for name, version, checksum, elements in rows:
        members = tuple(
            StreamerElement(name, typename, title, code, length, base)
            for name, typename, code, title, length, base in elements
        )
        found.setdefault(name, {})[version] = StreamerInfo(name, version, checksum, members)
    return found
