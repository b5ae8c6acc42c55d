"""The classes that a file describes, as source code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

from sapwood import _core


def makeproject(
    path: str | os.PathLike[str],
    *,
    language: Literal["python", "rust", "cpp"] = "python",
    classes: Sequence[str] = (),
) -> str:
    """Source code of the classes that a file describes, but for ROOT's own, those that others are made of
    first.

    Python gives dataclasses that :meth:`WritableFile.mktree` takes, Rust types with ``#[derive(Entry)]``, C++
    a header that ROOT compiles. With ``classes`` only these and what they are made of. What a language cannot
    express is a comment that says why.

    Raises :class:`sapwood.errors.NotFoundError` for a class that the file does not describe.
    """
    return _core.makeproject(os.fspath(path), language, list(classes))
