"""Files that have their name once they are complete."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sapwood._remote import urls
from sapwood._write.upload import upload
from sapwood.errors import IOError, MissingFileError


@contextmanager
def staged(target: str, network: Mapping[str, Any] | None = None, replaces: bool = True) -> Iterator[str]:
    """A path for what takes the place of ``target``, a path or a URL, at the end of the block; nothing stays
    of a block that raises."""
    target = urls.local_path(target)
    if urls.is_url(target):
        with sent(target, network, replaces) as path:
            yield path
        return
    if os.path.exists(target) and not os.path.isfile(target):
        raise IOError(f"denied: the output is not a plain file, name another one (file {target})")
    # The target of a symbolic link is replaced, not the link, which others write through.
    target = os.path.realpath(target)
    folder, base = os.path.split(target)
    path = os.path.join(folder, f".{base}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        yield path
        os.replace(path, target)
    except BaseException:
        if os.path.exists(path):
            os.unlink(path)
        raise


@contextmanager
def sent(
    target: str,
    network: Mapping[str, Any] | None,
    replaces: bool = True,
    fetches: bool = False,
    show: bool | None = None,
) -> Iterator[str]:
    """A path for what is sent to a URL at the end of the block; ``fetches`` copies what is there to it, and
    ``show`` says whether a line says how far it is. A path stands for itself."""
    if not urls.is_url(target):
        yield target
        return
    made = upload(target, network, replaces)
    try:
        if fetches:
            try:
                made.fetch()
            except MissingFileError:
                made = upload(target, network, replaces)
        yield made.path
    except BaseException:
        made.discard()
        raise
    made.send(show)
