"""Processors of coffea, run as selectors over data sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sapwood._read.libraries import need
from sapwood._read.selection import Selection
from sapwood._tools import events as events_module
from sapwood._tools.selector import Selector
from sapwood.errors import MismatchError


def is_processor(selector: Any) -> bool:
    """Whether it is a processor of coffea: an instance that has ``process`` and ``postprocess``."""
    return not isinstance(selector, type) and all(
        callable(getattr(selector, name, None)) for name in ("process", "postprocess")
    )


def refuse(**given: Any) -> None:
    """Refuses arguments that the events of a processor know nothing of."""
    for name, value in given.items():
        if value is not None:
            raise MismatchError(
                f"{name}= is for selectors: a processor of coffea selects among all events itself"
            )


class ProcessorSelector(Selector):
    """A processor as the selector of one data set."""

    def __init__(self, processor: Any, schema: Any, metadata: Mapping[str, Any]) -> None:
        need("coffea", "process() of a processor of coffea")
        events_module.schema_of(schema)
        self._processor, self._schema, self._metadata = processor, schema, dict(metadata)
        # A worker reads the columns that a processor looks at.
        self.columns: Any = None

    def process(self, batch: Any) -> Any:
        """Calls the processor with some events."""
        return self._processor.process(batch)

    def merge(self, one: Any, other: Any) -> Any:
        """Two results as one, as coffea accumulates them."""
        from coffea.processor import accumulate  # type: ignore[import-untyped]

        return accumulate([other], one)

    def _reader(
        self, tree: Any, aliases: Mapping[str, str], friends: list[Any], library: Any
    ) -> Callable[[Selection], Any]:
        def read(selection: Selection) -> Any:
            start, stop = selection.span
            known = {
                **self._metadata,
                "filename": str(tree.file_path),
                "treename": tree.object_path.strip("/").partition(";")[0],
                "entrystart": start,
                "entrystop": stop,
                "fileuuid": str(getattr(tree.file, "uuid", "")),
            }
            return events_module.nanoevents(
                tree, self._schema, entry_start=start, entry_stop=stop, metadata=known
            )

        return read


def metadata_of(name: str, given: Any) -> dict[str, Any]:
    """The metadata of one of coffea's data sets, with its name."""
    known = given.get("metadata") if isinstance(given, Mapping) else None
    return {"dataset": name, **(known or {})}
