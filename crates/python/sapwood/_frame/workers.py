"""Frames on executors: what workers compute of some entries, and how it is put together."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sapwood import _core
from sapwood._frame.booking import Booking, Known
from sapwood._frame.sinks import Sinks
from sapwood._read.selection import Selection
from sapwood._tools.selector import Selector
from sapwood.errors import MismatchError
from sapwood.models.sparse import SparseHist

#: The engine's result: the nominal one, and by variation.
Found = tuple[Any, list[tuple[str, Any]]]


class Partial:
    """The results of some entries, in the engine's form. Histograms travel as a file of ROOT."""

    def __init__(self, found: list[Found], diagram: _core.Diagram) -> None:
        self.found, self.diagram = found, diagram

    def __reduce__(self) -> Any:
        histograms: list[_core.Histogram | _core.SparseFill] = []

        def packed(value: Any) -> Any:
            if not isinstance(value, (_core.Histogram, _core.SparseFill)):
                return value
            histograms.append(value)
            return Place(len(histograms) - 1)

        found = [
            (packed(nominal), [(name, packed(one)) for name, one in varied]) for nominal, varied in self.found
        ]
        return _unpacked, (found, _as_file(histograms), self.diagram)


class Place:
    """The number of a histogram in a file."""

    def __init__(self, number: int) -> None:
        self.number = number


def _as_file(histograms: list[_core.Histogram | _core.SparseFill]) -> bytes:
    if not histograms:
        return b""
    import sapwood

    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        for number, histogram in enumerate(histograms):
            file[f"h{number}"] = histogram.draft()
    return memory.getvalue()


def _unpacked(found: list[Found], data: bytes, diagram: _core.Diagram) -> Partial:
    histograms: dict[int, _core.Histogram | _core.SparseFill] = {}
    if data:
        import sapwood

        with sapwood.open(io.BytesIO(data)) as file:
            for key in file.keys(cycle=False):
                read = file[key]
                of_class = _core.SparseFill if isinstance(read, SparseHist) else _core.Histogram
                histograms[int(key[1:])] = of_class.of(read._value)

    def opened(value: Any) -> Any:
        return histograms[value.number] if isinstance(value, Place) else value

    return Partial(
        [(opened(nominal), [(name, opened(one)) for name, one in varied]) for nominal, varied in found],
        diagram,
    )


def _part(booking: Booking, varied: Mapping[str, Any], name: str, nominal: Any) -> Any:
    """The result of a variation; one that changes nothing in these entries has a copy of the nominal one."""
    return varied[name] if name in varied else booking.copied(nominal)


class FrameSelector(Selector):
    """Computes results of one sample, some entries at a time."""

    #: Steps have a fixed number of entries: no columns decide on them.
    columns: Any = ()

    def __init__(
        self, bookings: list[Booking], aliases: Mapping[str, str], metadata: Iterable[str] = ()
    ) -> None:
        self._bookings, self._metadata = bookings, list(metadata)
        self.aliases = dict(aliases)

    def process(self, batch: Any) -> Partial:
        """The results of some entries."""
        tree, aliases, friends, selection = batch
        for name in self._metadata:
            if tree._find(name) is not None:
                raise MismatchError(f"the sample has {name!r}, which is a column of its files, too")
        known: Known = {}
        run = _core.FrameRun([booking.core(known) for booking in self._bookings])
        collects = [booking.collects and booking.collects.in_worker() for booking in self._bookings]
        sinks = Sinks(collects, None)
        named = list(aliases.items())
        plan = tree._with_friends(lambda of: run.plan(tree._core, named, of), friends)
        sinks.read(run, plan, selection)
        diagram = run.diagram()
        return Partial(sinks.partial(run.finish()), diagram)

    def merge(self, one: Partial, other: Partial) -> Partial:
        """Both as one."""
        merged = []
        for booking, (nominal, varied), (more, more_varied) in zip(
            self._bookings, one.found, other.found, strict=True
        ):
            names = list(dict.fromkeys(name for name, _ in [*varied, *more_varied]))
            own, others = dict(varied), dict(more_varied)
            both = [
                (name, booking.plus(_part(booking, own, name, nominal), _part(booking, others, name, more)))
                for name in names
            ]
            merged.append((booking.plus(nominal, more), both))
        return Partial(merged, one.diagram.plus(other.diagram))

    def _reader(
        self, tree: Any, aliases: Mapping[str, str], friends: list[Any], library: Any
    ) -> Callable[[Selection], Any]:
        return lambda selection: (tree, dict(aliases), friends, selection)
