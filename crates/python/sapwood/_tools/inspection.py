"""How a file is laid out, what that costs its readers, and whether it is whole."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from sapwood import _core
from sapwood._file.file import File, check_options, open_file
from sapwood._read import progress as progress_bar
from sapwood._remote import filesystems, paths, urls


@dataclass(frozen=True)
class Finding:
    """Something that is not as it should be. What is not known is ``None``."""

    severity: str
    """``"damage"``: something cannot be read; ``"unusual"``: against the rules, but readable; ``"note"``."""
    message: str
    """What it is, in words."""
    object: str | None = None
    """Path of the object in the file, with branch where it is one."""
    basket: int | None = None
    """Number of the basket in its branch."""
    offset: int | None = None
    """Offset in the file."""
    expected: int | None = None
    """What should be there."""
    found: int | None = None
    """What is there."""

    def __str__(self) -> str:
        known = {name: getattr(self, name) for name in ("object", "basket", "offset", "expected", "found")}
        places = ", ".join(f"{name} {value}" for name, value in known.items() if value is not None)
        return f"{self.severity}: {self.message}" + (f" ({places})" if places else "")


class Findings(list[Finding]):
    """A list of :class:`Finding`, and what was looked at."""

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__(Finding(**row) for row in document["findings"])
        self.damaged = bool(document["damaged"])
        """Is anything damaged?"""
        self.counts: dict[str, int] = {
            name: count for name, count in document.items() if name not in ("file", "damaged", "findings")
        }
        """How many ``records``, ``gaps``, ``gap_bytes``, ``payloads``, ``inflated_bytes``, ``baskets``,
        ``trees``, ``pages`` and ``ntuples`` there are, and how many findings were ``left_out`` because there
        are too many."""


class Diagnosis:
    """What :func:`doctor` says of a file. As text it is what ``sapwood doctor`` prints."""

    def __init__(self, document: dict[str, Any], words: str) -> None:
        self.healthy = bool(document["healthy"])
        """Are there no issues?"""
        self.issues: list[dict[str, str]] = document["issues"]
        """What is wrong with the file itself: dictionaries of ``kind``, a word for programs, and
        ``message``."""
        self.trees: list[dict[str, Any]] = document["trees"]
        """For each tree ``tree``, ``entries``, ``zip_bytes``, ``issues``, ``options`` that mend it, and
        ``readings``: what each of three readings costs ``now``, and would cost in a ``good`` layout; ``cuts``
        as :func:`doctor` describes them."""
        self.rewrite: list[str] = document["rewrite"]
        """Commands that mend the file."""
        self._words = words

    def __str__(self) -> str:
        return self._words

    def __repr__(self) -> str:
        count = len(self.issues) + sum(len(tree["issues"]) for tree in self.trees)
        return f"<Diagnosis: {count} issues about {len(self.trees)} trees>"


def verify(source: Any, *, threads: int = 0, progress: bool | None = None) -> Findings:
    """Says whether a file is whole.

    ``source`` is a path, a URL, the content of a file as ``bytes`` or ``memoryview``, or a binary file
    object. Its structure is checked, each block of each payload is inflated (which verifies the checksums of
    zlib, LZ4 and xz), and baskets are compared with their index. A file that is too damaged to be opened is
    reported, too. ``progress`` shows a line that says how far it is, by default only for large files, if
    standard error is a terminal.

    >>> import io, sapwood
    >>> memory = io.BytesIO()
    >>> with sapwood.recreate(memory, compression="lz4:4") as file:
    ...     file["tree"] = {"x": [1] * 1000}
    >>> sapwood.verify(memory)
    []
    >>> findings = sapwood.verify(memory.getvalue()[:-1])
    >>> findings.damaged, findings[0].message
    (True, 'the file is shorter than its header says')

    Raises ``FileNotFoundError``, and :class:`~sapwood.errors.IOError` where the file cannot be read.
    """
    check_options(threads=threads)
    content, name = _content(source)
    with progress_bar.told(progress, "verify") as note:
        return Findings(json.loads(_core.verify_file(content, name, threads, note)))


def _content(source: Any) -> tuple[Any, str]:
    """The bytes of a file, or where it is, and its name."""
    remote = filesystems.remote_of(source)
    if remote is not None:
        return remote, remote.name
    if paths.is_bytes(source):
        return bytes(source), "<memory>"
    if paths.is_open_file(source):
        return bytes(paths.content(source)), "<memory>"
    place = os.fspath(source)
    path = place if urls.is_url(place) else os.path.expanduser(place)
    if not urls.is_url(path) and not paths.is_member(path) and not os.path.exists(path):
        raise paths.missing_file(path)
    return path, path


def doctor(source: Any, tree: str | None = None, *, cuts: bool = False) -> Diagnosis:
    """Says what is wrong with a file's layout, what it costs readers, and how to mend it.

    ``source`` is what :func:`sapwood.open` takes, or an open :class:`~sapwood.File`; ``tree`` names one of
    its trees, or ``source`` does: ``"file.root:tree"``. Only metadata is read: costs are planned, for a
    reader with a cache of 30 MB which fetches whole clusters from a server that answers within 1 ms and
    delivers 100 MB/s.

    With ``cuts=True`` each tree has ``cuts``: for columns with one number per entry, how many of their
    ``runs`` (baskets or pages) a cut on the largest values skips by statistics if it keeps 1 % of the
    entries, how many it would skip in sorted entries, and whether statistics of the column are ``useful``.
    Columns without statistics are read for this.

    >>> import io, sapwood
    >>> memory = io.BytesIO()
    >>> with sapwood.recreate(memory) as file:
    ...     file["tree"] = {"x": [1] * 1000}
    >>> diagnosis = sapwood.doctor(memory)
    >>> diagnosis.healthy, diagnosis.rewrite
    (True, [])
    >>> diagnosis.trees[0]["readings"][0]["now"]["requests"]
    1

    Raises what :func:`sapwood.open` raises, and ``KeyError`` where there is no such tree.
    """
    if isinstance(source, File):
        opened = source
    elif paths.is_bytes(source) or paths.is_open_file(source):
        opened = open_file(source, threads=1)
    else:
        found = paths.expand(source)
        if len(found) != 1:
            raise ValueError(f"a doctor sees one file at a time, not the {len(found)} of {source!r}")
        opened, tree = open_file(found[0].file, threads=1), tree or found[0].object
    document, words = _core.doctor(opened._engine(), tree, cuts)
    return Diagnosis(json.loads(document), words)
