"""The steps of an analysis as a graph, with entries and seconds of each."""

from __future__ import annotations

import os
from typing import NamedTuple

from sapwood import _core
from sapwood.errors import MismatchError


class Step(NamedTuple):
    """A step of an analysis: a definition, a filter, variations, or a result."""

    parent: int | None
    """The number of the step before it; ``None`` for all entries."""
    kind: str
    """``"define"``, ``"function"``, ``"filter"``, ``"vary"`` or ``"result"``."""
    name: str
    """Its name, if it has one."""
    text: str
    """Its expression or expressions."""
    entries: int
    """Entries that reached it. Definitions count none."""
    passed: int
    """Entries that passed it, if it is a filter; otherwise those that reached it."""
    seconds: float
    """The time that threads took to compute it, in all variations, without that of other steps."""
    variations: int
    """Variations for which it was computed apart."""


class FrameGraph:
    """The steps of an analysis: see :meth:`sapwood.Frame.graph`. Notebooks show it as a picture."""

    def __init__(self, diagram: _core.Diagram, has_run: bool) -> None:
        self._diagram = diagram
        self.has_run = has_run
        """Whether the steps were computed: entries and seconds are 0 before."""
        #: Entries of the files, those that were read, and the seconds of reads, of all threads together.
        self.entries, self.read, reading, steps = diagram.state()
        self.reading_seconds = reading / 1e9
        self.steps = [Step(*step)._replace(seconds=step[6] / 1e9) for step in steps]

    def svg(self) -> str:
        """The picture, as SVG."""
        return self._diagram.svg()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture into a file ``.svg``."""
        if not os.fspath(path).lower().endswith(".svg"):
            raise MismatchError(f"the picture is SVG: give {path} the ending .svg")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg())

    def _repr_svg_(self) -> str:
        return self.svg()

    def __str__(self) -> str:
        """The steps as indented lines."""
        lines = [f"{self.entries} entries, {self.read} read in {self.reading_seconds:.3f} s"]
        depths: list[int] = []
        for step in self.steps:
            depths.append(0 if step.parent is None else depths[step.parent] + 1)
            lines.append("  " * (depths[-1] + 1) + _line(step))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<FrameGraph of {len(self.steps)} steps{'' if self.has_run else ', not run yet'}>"


def _line(step: Step) -> str:
    named = f"{step.name}: {step.text}" if step.name and step.text else step.name or step.text
    parts = [f"{step.kind} {named}"]
    if step.kind in ("filter", "range"):
        parts.append(f"{step.passed} of {step.entries} entries")
    elif step.kind != "define" and step.kind != "vary":
        parts.append(f"{step.entries} entries")
    if step.kind != "vary":
        parts.append(f"{step.seconds:.3f} s")
    if step.variations:
        parts.append(f"{step.variations} variations")
    return ", ".join(parts)
