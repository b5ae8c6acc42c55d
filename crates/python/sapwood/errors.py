"""One tree of exceptions: every error of the engine is a :class:`SapwoodError`.

Each also derives from what Python calls its kind, so that ``except KeyError`` works where uproot raises one.

Attributes say where: ``kind``, ``file``, ``object``, ``basket``, ``block``, ``offset``, ``expected``,
``found``; ``None`` where that is not known.

>>> issubclass(NotFoundError, KeyError) and issubclass(MissingFileError, FileNotFoundError)
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sapwood._core import SapwoodError, redact

__all__ = [
    "ExistsError",
    "ExpressionError",
    "IOError",
    "InternalError",
    "LimitError",
    "MalformedError",
    "MismatchError",
    "MissingFileError",
    "NameConflictWarning",
    "NotFoundError",
    "SapwoodError",
    "UnsupportedError",
    "WrongTypeError",
]

# What an error does not know is `None`, and never an AttributeError.
for _name in ("kind", "file", "object", "basket", "block", "offset", "expected", "found"):
    if not hasattr(SapwoodError, _name):
        setattr(SapwoodError, _name, None)


def _without_secrets(self: SapwoodError, *args: object) -> None:
    """Keeps the arguments, texts without the passwords and tickets of URLs: no message can forget to hide them."""
    super(SapwoodError, self).__init__(*(redact(arg) if isinstance(arg, str) else arg for arg in args))


# Pickles find it under the name that users know.
SapwoodError.__module__ = __name__
SapwoodError.__init__ = _without_secrets  # type: ignore[assignment]


class NotFoundError(SapwoodError, KeyError):
    """No such key, branch or member. The message names what looks alike."""

    __str__ = SapwoodError.__str__


class ExpressionError(SapwoodError, SyntaxError, ValueError):
    """An expression that cannot be understood, or that asks for something that is not allowed."""

    __str__ = SapwoodError.__str__


class MissingFileError(SapwoodError, FileNotFoundError):
    """No such file. The message names files of the same directory that look alike."""

    __str__ = SapwoodError.__str__


class NameConflictWarning(UserWarning):
    """Something that was named is not used, since something else has its name."""


class IncompleteFileWarning(UserWarning):
    """A file was not closed, or its end is missing: there may be more than it shows."""


class ExistsError(SapwoodError, FileExistsError):
    """There is one of that name."""

    __str__ = SapwoodError.__str__


class MalformedError(SapwoodError, ValueError):
    """The bytes contradict the format, or a checksum does not match."""


class UnsupportedError(SapwoodError, NotImplementedError):
    """Well formed, but nothing here can read it; the message says why."""


class LimitError(SapwoodError, MemoryError):
    """A limit against hostile files would be passed."""


class MismatchError(SapwoodError, ValueError):
    """What was asked for does not fit what is there."""


class WrongTypeError(MismatchError, TypeError):
    """A value of a type that has no place in a file."""


class IOError(SapwoodError, OSError):
    """The operating system or the network refused."""


class InternalError(SapwoodError, RuntimeError):
    """A fault in Sapwood itself: please report it."""


def near(name: str, candidates: Iterable[str], most: int = 5) -> str:
    """Names that look like ``name``, as the end of an error message."""
    import difflib

    names = list(dict.fromkeys(candidates))
    found = difflib.get_close_matches(name, names[:20000], most, 0.4) or names[:most]
    if not found:
        return "; there are none"
    return "; nearest: " + ", ".join(repr(one) for one in found)


def not_found(message: str, file: str | None = None, object: str | None = None) -> NotFoundError:
    """A :class:`NotFoundError` that says where, in its message and in its attributes."""
    error = NotFoundError(message + place(file, object))
    error.kind, error.file, error.object = "not found", file, object
    return error


def place(file: str | None, object: str | None) -> str:
    """File and object path as the end of an error message."""
    parts = [f"file {file}"] if file else []
    parts += [f"object {object}"] if object else []
    return f" ({', '.join(parts)})" if parts else ""


def throw(failures: list[Exception]) -> None:
    """Raises the first of what went wrong, if anything did."""
    if failures:
        first = failures[0]
        for other in failures[1:]:
            first.add_note(f"and: {other}")
        failures.clear()  # else error and frame would hold each other, and all that they know
        try:
            raise first
        finally:
            del first


def close_after(error: BaseException | None, close: Callable[[], object]) -> None:
    """Closes what a ``with`` block leaves. The error that left the block is the one that is raised: an error
    of closing becomes a note on it. After an exit or an interrupt, which show no notes, the error of closing
    is raised."""
    if not isinstance(error, Exception):
        close()
        return
    try:
        close()
    except Exception as other:
        error.add_note(f"closing failed, too: {other}")
