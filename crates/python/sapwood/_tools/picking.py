"""Files of chosen events."""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sapwood import _core
from sapwood._notices import warn
from sapwood._read import progress as progress_bar
from sapwood._read.chain import Chain
from sapwood._remote import network, urls
from sapwood._write.staged import sent
from sapwood.errors import MismatchError, MissingFileError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from sapwood._remote.network import Opening

#: Trees that are taken of files with several.
USUAL_TREES = ("Events", "CollectionTree")


class Picked(NamedTuple):
    """The report of :func:`pick`."""

    entries: int
    """Entries of the new file."""
    files: int
    """Files that had any of the events."""
    missing: list[str]
    """Events that no file has."""
    repeated: list[str]
    """Events that were found more than once; all their entries are in the new file."""


def pick(
    files: Any,
    events: Any,
    out: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    threads: int = 0,
    progress: bool | None = None,
    **others: Unpack[Opening],
) -> Picked:
    """Copies chosen events of many files into a new one, with all their branches or fields.

    ``files`` are those of :func:`sapwood.iterate`. ``events`` are tuples ``(run, event)`` or
    ``(run, lumi, event)``, texts ``"RUN:LUMI:EVENT"``, or the path of a file with such a text on each
    line. ``columns`` name run, luminosity section (if events have it) and number. By default common names
    are tried, such as ``run``, ``luminosityBlock`` and ``event``. A file ``out`` that exists is replaced
    once the new one is complete.

    Events are found by a stored index, or by the statistics of :func:`sapwood.index` if a file has any.
    Otherwise run numbers are read first, and the other columns only for runs that are wanted. If the files
    have different columns, the new one has those of the first file with events, with a warning.

    >>> import os, sapwood, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> path = os.path.join(folder, "a.root")
    >>> with sapwood.recreate(path) as file:
    ...     file["Events"] = {"run": [1, 1, 2], "event": [5, 6, 5], "met": [0.5, 1.5, 2.5]}
    >>> found = sapwood.pick(path, [(1, 6), (2, 5), (7, 7)], os.path.join(folder, "few.root"))
    >>> found.entries, found.missing
    (2, ['7:7'])
    """
    over = network.take_options(dict(others))
    chain = Chain("pick", files, others, threads=threads)
    chain.default_trees = USUAL_TREES
    named = None if columns is None else list(columns)
    found = with_some = 0
    with sent(urls.local_path(os.fspath(out)), over, show=progress) as path:
        core = _core.Pick(*_events(events), named, path, True, threads)
        try:
            for member in progress_bar.each(chain.members(), len(chain.sources), progress, "files", "files"):
                with chain.naming(member):
                    picked = core.add(member.tree.file._engine(), member.tree.object_path, member.ranges)
                found += picked
                with_some += picked > 0
            missing, repeated, notices = core.finish()
        except BaseException:
            core.discard()
            raise
    for words in notices:
        warn(words, stacklevel=2)
    return Picked(found, with_some, missing, repeated)


def _events(events: Any) -> tuple[Any, bool]:
    """Lines of events or the numbers of each, and whether it is the path of a list instead."""
    if isinstance(events, (str, os.PathLike)):
        path = os.path.expanduser(os.fspath(events))
        if not os.path.exists(path):
            raise MissingFileError(f"no file {path!r} with events: give events themselves in a list")
        return path, True
    listed = list(events)
    if listed and all(isinstance(one, str) for one in listed):
        return "\n".join(listed), False
    try:
        return [[operator.index(number) for number in one] for one in listed], False
    except TypeError as error:
        raise MismatchError(
            "events are whole numbers (run, event) or (run, lumi, event), lines of these, or the path of a "
            f"list: {error}"
        ) from None
