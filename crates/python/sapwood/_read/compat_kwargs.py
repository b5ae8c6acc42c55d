"""Keyword arguments of uproot that set nothing here: they are taken, so that scripts run as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from sapwood._notices import warn

#: What only tunes how uproot fetches, caches and decodes: no result depends on it.
QUIET = frozenset(
    [
        "array_cache",
        "begin_chunk_size",
        "handler",
        "max_num_elements",
        "minimal_ttree_metadata",
        "num_fallback_workers",
        "num_workers",
        "object_cache",
        "use_threads",
    ]
)


#: Whether this package is what ``import uproot`` means: libraries then set what they always set.
stands_for_uproot = False


class UnusedArgument(PendingDeprecationWarning):
    """An argument that sets something in uproot, and nothing here. Python shows this warning only where it is
    asked to: ``python -W default::sapwood.UnusedArgument``."""


class Foreign(TypedDict, total=False):
    """What uproot sets and Sapwood has no use for: caches, executors, how bytes are fetched."""

    array_cache: Any
    begin_chunk_size: Any
    custom_classes: Any
    decompression_executor: Any
    file_handler: Any
    handler: Any
    initial_basket_capacity: Any
    initial_directory_bytes: Any
    initial_streamers_bytes: Any
    interpretation_executor: Any
    max_num_elements: Any
    minimal_ttree_metadata: Any
    num_fallback_workers: Any
    num_workers: Any
    object_cache: Any
    resize_factor: Any
    timeout: Any
    use_threads: Any
    uuid_function: Any


def ignore(others: Mapping[str, Any], what: str, stacklevel: int = 3) -> None:
    """Warns of arguments without use, at the caller's caller; raises ``TypeError`` for unknown ones."""
    for name in others:
        if name not in Foreign.__annotations__:
            raise TypeError(f"{what}() got an unexpected keyword argument {name!r}")
    loud = [name for name in others if name not in QUIET and not stands_for_uproot]
    if "custom_classes" in loud:
        # Imported here: classes are made of what reads.
        from sapwood.models.behavior import classes

        if others["custom_classes"] in (None, classes):
            loud.remove("custom_classes")
    if loud:
        names = ", ".join(f"{name}=" for name in loud)
        warn(
            f"{what}() has no use for {names}: sapwood.open(threads=...) sets all",
            UnusedArgument,
            stacklevel=stacklevel,
        )
