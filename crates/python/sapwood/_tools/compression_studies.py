"""Which codec, level and basket size suit a file: measured on a part of it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from sapwood import _core
from sapwood._file.file import File, check_options, open_file
from sapwood._file.sizes import as_bytes
from sapwood._remote import paths
from sapwood.compression import as_compression


class CompressionStudy:
    """What :func:`compression_study` found. As text it is what ``sapwood compression`` prints, and in a notebook
    a picture."""

    def __init__(self, document: dict[str, Any], words: str, svg: str) -> None:
        self.tree: str = document["tree"]
        """Path of the tree or RNTuple."""
        self.entries: int = document["entries"]
        """Its entries."""
        self.sampled_entries: int = document["sampled_entries"]
        """How many of them were tried."""
        self.zip_bytes: int = document["zip_bytes"]
        """Its bytes now."""
        self.tot_bytes: int = document["tot_bytes"]
        """Its bytes before compression."""
        self.trials: list[dict[str, Any]] = document["trials"]
        """What all branches come to with one setting: ``setting``, ``basket_bytes``, ``bytes``, and seconds of
        one core, ``write_seconds`` and ``read_seconds``."""
        self.branches: dict[str, list[dict[str, Any]]] = {
            branch["path"]: branch["trials"] for branch in document["branches"]
        }
        """The same for each branch, by its path."""
        self.advice: dict[str, dict[str, Any]] = {advice["goal"]: advice for advice in document["advice"]}
        """For each purpose ``compression`` (settings by name), ``basket_bytes``, ``random_access``, ``total``
        with the bytes and seconds that are expected, ``one_setting`` with those of the best setting for all
        branches, and ``rewrite``, the command that does it."""
        self.split_encodings: dict[str, int] | None = document["split_encodings"]
        """Bytes of an RNTuple with its split encodings, and ``plain_bytes`` without; ``None`` for trees, which
        have none."""
        self.kept: str | None = document["kept"]
        """Why baskets cannot be made anew, if they cannot."""
        self._words, self._svg = words, svg

    def options(self, purpose: str) -> dict[str, Any]:
        """Keyword arguments for :func:`sapwood.rewrite` that do what was recommended.

        Raises :class:`KeyError` for purposes that were not asked for.
        """
        advice = self.advice[purpose.replace("-", " ")]
        names = ("compression", "basket_bytes", "random_access")
        return {name: advice[name] for name in names if advice[name] is not None}

    def to_svg(self) -> str:
        """A picture: seconds to inflate to the right, bytes upwards, a point for each setting, and the line of
        the best choices by branch."""
        return self._svg

    def _repr_svg_(self) -> str:
        return self._svg

    def __str__(self) -> str:
        return self._words

    def __repr__(self) -> str:
        trials = f"{len(self.trials)} trials of {len(self.branches)} branches"
        return f"<CompressionStudy of {self.tree!r}: {trials}>"


def compression_study(
    source: Any,
    tree: str | None = None,
    *,
    purposes: Iterable[str] = ("archive", "analysis", "random access"),
    size: int | float | str | None = None,
    read_time: float | None = None,
    write_time: float | None = None,
    settings: Iterable[Any] = (),
    basket_bytes: Iterable[int | str] = (),
    sample_bytes: int | str = "16 MiB",
    threads: int = 0,
) -> CompressionStudy:
    """Tries codecs, levels and sizes of baskets on a part of a tree or RNTuple, and recommends settings.

    ``source`` is what :func:`sapwood.open` takes, or an open :class:`~sapwood.File`; ``tree`` names one of
    its trees, or ``source`` does: ``"file.root:tree"``. About ``sample_bytes`` bytes before compression are
    sampled from all of it, each branch is compressed and inflated with each of the ``settings`` (fifteen of
    all codecs where none are given), in baskets or pages of ``basket_bytes``. Sizes are those that a rewrite
    makes, scaled to all entries; times are those of one core of this machine.

    ``purposes`` are ``"archive"`` (fewest bytes), ``"analysis"`` (fastest to fetch at 100 MB/s and to
    inflate) and ``"random access"`` (fastest single entries in at most 1.15 times the bytes). Budgets are
    recommended for as well: ``size`` (bytes, or a part of those now where it is a ``float``), and seconds of
    one core to inflate (``read_time``) or to compress (``write_time``) all of it.

    >>> import os, sapwood, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> old, new = os.path.join(folder, "old.root"), os.path.join(folder, "new.root")
    >>> with sapwood.recreate(old) as file:
    ...     file["t"] = {"x": list(range(5000)), "y": [0.5] * 5000}
    >>> study = sapwood.compression_study(old, purposes=["archive"], settings=["lz4:4", "zstd:5"])
    >>> study.options("archive")
    {'compression': {'*': 'zstd:5'}}
    >>> _, after = sapwood.rewrite(old, new, **study.options("archive"))["t"]
    >>> after.zip_bytes == study.advice["archive"]["total"]["bytes"]
    True

    Raises what :func:`sapwood.open` raises, :class:`KeyError` where there is no such tree, and
    :class:`sapwood.errors.MismatchError` where several trees are there and none is named, for unknown
    settings and purposes, and for budgets that nothing keeps to.
    """
    check_options(threads=threads)
    if isinstance(source, File):
        opened = source
    elif paths.is_bytes(source) or paths.is_open_file(source):
        opened = open_file(source, threads=threads)
    else:
        found = paths.expand(source)
        if len(found) != 1:
            raise ValueError(f"one file is studied at a time, not the {len(found)} of {os.fspath(source)!r}")
        opened, tree = open_file(found[0].file, threads=threads), tree or found[0].object
    budgets: list[tuple[str, float]] = []
    if size is not None:
        budgets.append(("part", size) if isinstance(size, float) else ("size", float(as_bytes(size))))
    budgets += [("read", read_time)] if read_time is not None else []
    budgets += [("write", write_time)] if write_time is not None else []
    document, words, svg = _core.compression_study(
        opened._engine(),
        tree,
        [as_compression(setting) for setting in settings],
        [as_bytes(size) for size in basket_bytes],
        as_bytes(sample_bytes),
        [purposes] if isinstance(purposes, str) else list(purposes),
        budgets,
    )
    return CompressionStudy(json.loads(document), words, svg)
