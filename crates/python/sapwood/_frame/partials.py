"""Values of results while a pass goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from sapwood import _core
from sapwood._frame.results import Result
from sapwood._frame.sinks import Snapshots

#: Seconds between two calls.
PAUSE = 0.5


class Partials:
    """Calls a function with the values of results so far, and the number of entries."""

    def __init__(self, wanted: Sequence[Result], call: Callable[[list[Any], int], None]) -> None:
        self._wanted, self._call = list(wanted), call
        #: By result, and by sample.
        self._found: dict[Result, dict[str | None, Any]] = {}
        self._entries: dict[tuple[int, str | None], int] = {}
        self._next = 0.0

    def is_due(self) -> bool:
        """Whether the last call was long enough ago."""
        return time.monotonic() >= self._next

    def take(
        self,
        waiting: Sequence[Result],
        sample: str | None,
        found: Sequence[tuple[Any, Any]],
        diagram: _core.Diagram,
    ) -> None:
        """Takes what was found of a sample so far, in the engine's form, and calls the function."""
        self._entries[id(waiting[0]._analysis), sample] = diagram.state()[0]
        for result, (nominal, _) in zip(waiting, found, strict=True):
            if not isinstance(result.booking.collects, Snapshots):
                self._found.setdefault(result, {})[sample] = nominal
        self._call([self._value(result) for result in self._wanted], sum(self._entries.values()))
        self._next = time.monotonic() + PAUSE

    def _value(self, result: Result) -> Any:
        found = self._found.get(result)
        if found is None:
            return None
        values = {sample: result.finished(nominal) for sample, nominal in found.items()}
        return values[None] if None in values else values
