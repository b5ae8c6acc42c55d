"""Files that have their name once they are complete."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def staged(target: str) -> Iterator[str]:
    """A path beside the target, for what takes its place at the end of the block; nothing stays of a block that
    raises."""
    folder, base = os.path.split(target)
    path = os.path.join(folder, f".{base}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        yield path
        os.replace(path, target)
    except BaseException:
        if os.path.exists(path):
            os.unlink(path)
        raise
