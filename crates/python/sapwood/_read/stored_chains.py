"""Chains (TChain) that stand in files: the trees that they list take their place."""

from __future__ import annotations

from typing import Any

from sapwood._remote import paths
from sapwood.errors import MismatchError, place


class StoredChainError(MismatchError):
    """A chain was found instead of one tree. Functions of several trees read ``sources`` instead."""

    def __init__(self, message: str, sources: list[paths.Source]) -> None:
        super().__init__(message)
        self.sources = sources

    def __reduce__(self) -> tuple[Any, ...]:
        return StoredChainError, (str(self), self.sources)


def refuse_chain(found: Any, source: paths.Source, network: Any) -> None:
    """Raises :class:`StoredChainError` if a chain was found instead of a tree."""
    if getattr(found, "classname", None) != "TChain":
        return
    path = source.file if isinstance(source.file, str) else None
    words = f"{source.object!r} is a TChain, a list of files, and one tree is needed here"
    words = f"{words}: name one of its files{place(path, source.object)}"
    raise StoredChainError(words, paths.expand(found.files, network=network))


def replaced(sources: list[paths.Source], source: paths.Source, by: StoredChainError) -> list[paths.Source]:
    """Replaces a chain by the sources that it lists.

    Raises :class:`~sapwood.errors.MismatchError` for entry ranges of a chain.
    """
    if source.steps is not None:
        raise MismatchError(
            f"steps count the entries of one file, and {source.object!r} in {source.file} is a TChain: "
            "give steps for its files, or use entries="
        ) from by
    at = next(number for number, known in enumerate(sources) if known is source)
    return [*sources[:at], *by.sources, *sources[at + 1 :]]
