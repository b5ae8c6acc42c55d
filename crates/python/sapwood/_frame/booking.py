"""Wishes for results of a frame, in a form that can be sent to other processes."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from sapwood import _core
from sapwood._frame.functions import as_column
from sapwood._read.even_edges import even_edges
from sapwood.errors import MismatchError

#: Frames of the engine by the steps that they consist of.
Known = dict[tuple[int, ...], _core.Frame]


class Description(NamedTuple):
    """The steps of a frame: methods of the engine's frame, and their arguments."""

    steps: tuple[tuple[str, tuple[Any, ...]], ...] = ()

    def and_then(self, method: str, *arguments: Any) -> Description:
        """Adds a step."""
        return Description((*self.steps, (method, arguments)))

    def core(self, known: Known | None = None) -> _core.Frame:
        """The engine's frame. Frames that begin with the same steps share these in the engine, if they are ``known``."""
        known = {} if known is None else known
        frame = _core.Frame()
        place: tuple[int, ...] = ()
        for step in self.steps:
            place = (*place, id(step))
            if place not in known:
                known[place] = applied(frame, *step)
            frame = known[place]
        return frame


def applied(frame: _core.Frame, method: str, arguments: tuple[Any, ...]) -> Any:
    """Calls a method of the engine's frame."""
    if method != "compute":
        return getattr(frame, method)(*arguments)
    name, inputs, function, library, again = arguments
    return frame.compute(name, inputs, as_column(name, function, library), again)


class Booking(NamedTuple):
    """Something that is wanted of a frame."""

    frame: Description
    method: str
    arguments: tuple[Any, ...]
    collects: Any = None
    """A collector of columns from :mod:`sapwood._frame.sinks`, if columns are wanted."""

    def core(self, known: Known | None = None) -> _core.Wanted:
        """The engine's."""
        return applied(self.frame.core(known), self.method, self.of_engine())

    def of_engine(self) -> tuple[Any, ...]:
        """The arguments as the engine takes them: axes travel as their edges."""
        if self.method not in ("histogram", "sparse") or self.arguments[1] is None:
            return self.arguments
        axes = [_core.Axis(edges_of(axis), None, "") for axis in self.arguments[1]]
        return (self.arguments[0], axes, *self.arguments[2:])

    def check_workers(self) -> None:
        """Refuses what several workers cannot do together."""
        if any(method == "range" for method, _ in self.frame.steps):
            raise MismatchError(
                "range() counts entries from the first one on, and workers compute in no order: leave executor= out, "
                "or choose entries by an expression of Entry$"
            )
        if self.method == "histogram" and self.arguments[1] is None:
            raise MismatchError(
                f"the bins of the histogram of {', '.join(self.arguments[0])} lie around the values that are seen first: "
                "say bins=, so that workers have the same"
            )
        if self.collects is not None:
            self.collects.check_workers()

    def plus(self, one: Any, other: Any) -> Any:
        """Joins the results of two lots of entries."""
        if self.collects is not None:
            return self.collects.plus(one, other)
        return _PLUS[self.method](one, other)

    def copied(self, found: Any) -> Any:
        """A copy of a result, which :meth:`plus` may change."""
        return found if self.collects is None else copy.deepcopy(found)


def short(axis: _core.Axis) -> tuple[int, float, float] | list[float]:
    """An axis as it is sent: the number of bins and both ends, where these say everything, or else its edges.

    >>> short(_core.Axis([0.0, 1.0, 2.0], None, "")), short(_core.Axis([0.0, 1.0, 4.0], None, ""))
    ((2, 0.0, 2.0), [0.0, 1.0, 4.0])
    """
    edges = [float(edge) for edge in axis.edges()]
    even = (len(edges) - 1, edges[0], edges[-1])
    has_ends = math.isfinite(edges[0]) and math.isfinite(edges[-1])
    return even if has_ends and edges_of(even) == edges else edges


def edges_of(axis: tuple[int, float, float] | list[float]) -> list[float]:
    """The edges of such an axis."""
    return even_edges(*axis).tolist() if isinstance(axis, tuple) else axis


def _plus_reports(one: list[Any], other: list[Any]) -> list[Any]:
    def plus(a: Any, b: Any) -> Any:
        weights = None if a[3] is None or b[3] is None else (a[3][0] + b[3][0], a[3][1] + b[3][1])
        return (a[0], a[1] + b[1], a[2] + b[2], weights)

    return [plus(a, b) for a, b in zip(one, other, strict=True)]


_PLUS: dict[str, Callable[[Any, Any], Any]] = {
    "histogram": lambda one, other: one.plus(other),
    "sparse": lambda one, other: one.plus(other),
    "count": lambda one, other: one + other,
    "statistics": lambda one, other: one.plus(other),
    "report": _plus_reports,
}
