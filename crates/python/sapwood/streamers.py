"""The classes that a file describes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, TextIO


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

    @property
    def classname(self) -> str:
        """ROOT's class for a description of this kind, ``TStreamerString`` and so on."""
        if self.is_base:
            return "TStreamerBase"
        if self.code == 365 or (self.code == 500 and self.typename in ("string", "std::string")):
            return "TStreamerSTLstring"
        # An array of a kind has its number and 20.
        kind = self.code - 20 if 80 < self.code < 100 else self.code
        special = _DESCRIPTIONS.get(kind)
        if special is not None:
            return special
        return "TStreamerBasicPointer" if 40 < kind < 60 else "TStreamerBasicType"


#: Classes for descriptions of members that are no plain numbers, by ROOT's number for their kind.
_DESCRIPTIONS = {
    61: "TStreamerObject",
    62: "TStreamerObjectAny",
    63: "TStreamerObjectPointer",
    64: "TStreamerObjectPointer",
    65: "TStreamerString",
    66: "TStreamerObject",
    67: "TStreamerObject",
    68: "TStreamerObjectAnyPointer",
    69: "TStreamerObjectAnyPointer",
    71: "TStreamerSTL",
    300: "TStreamerSTL",
    500: "TStreamerSTL",
    501: "TStreamerLoop",
}


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
    #: The engine's file that describes it, from which another file takes the description.
    _described: ClassVar[Any] = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_described"}

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

    def tojson(self) -> dict[str, Any]:
        """As a dictionary with ROOT's names of members, for JSON."""
        elements = [
            {
                "fName": element.name,
                "fTitle": element.title,
                "fType": element.code,
                "fTypeName": element.typename,
                "fArrayLength": element.array_length,
            }
            for element in self.elements
        ]
        return {
            "_typename": "TStreamerInfo",
            "fName": self.name,
            "fCheckSum": self.checksum,
            "fClassVersion": self.class_version,
            "fElements": elements,
        }

    def show(self, stream: TextIO | None = None) -> None:
        """Writes the class and its members, a line each."""
        print("\n".join(self._lines({})), file=stream or sys.stdout)

    def _lines(self, infos: dict[str, dict[int, StreamerInfo]]) -> Iterator[str]:
        """With versions of those bases that ``infos`` have in one version."""
        names = []
        for base in self.base_names_versions:
            versions = list(infos.get(base, ()))
            names.append(f"{base} (v{versions[0]})" if len(versions) == 1 else base)
        bases = ", ".join(names)
        yield f"{self.name} (v{self.class_version}){': ' + bases if bases else ''}"
        for element in self.elements:
            if not element.is_base:
                yield f"    {element.name}: {element.typename} ({element.classname})"


def with_dependencies(infos: dict[str, dict[int, StreamerInfo]], info: StreamerInfo) -> list[StreamerInfo]:
    """A class and all others that its bases and members are made of, each after those that it needs. ``TString``
    is among them, though no file has to describe it."""
    infos = {"TString": {2: StreamerInfo("TString", 2, 0, ())}, **infos}
    found: list[StreamerInfo] = []
    begun: set[str] = set()

    def add(one: StreamerInfo) -> None:
        if one.name in begun:
            return
        begun.add(one.name)
        for element in reversed(one.elements):
            words = element.name if element.is_base else element.typename
            for word in re.findall(r"[A-Za-z_][\w:]*", words):
                versions = infos.get(word)
                if versions:
                    add(versions[max(versions)])
        found.append(one)

    add(info)
    return found


def gather(file: Any, known: bool) -> dict[str, dict[int, StreamerInfo]]:
    """Infos of the engine's file by class and version; with ``known`` also those of classes that it knows
    without a description in the file."""
    found: dict[str, dict[int, StreamerInfo]] = {}
    for name, version, checksum, elements in file.infos(known):
        members = tuple(
            StreamerElement(name, typename, title, code, length, base)
            for name, typename, code, title, length, base in elements
        )
        info = found.setdefault(name, {})[version] = StreamerInfo(name, version, checksum, members)
        if not known:
            object.__setattr__(info, "_described", file)
    return found
