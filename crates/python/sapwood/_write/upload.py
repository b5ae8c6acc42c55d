"""Files that are written to a URL: written on this machine first, and sent there when they are closed."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from typing import Any

from sapwood import _core
from sapwood._read import progress
from sapwood._remote import filesystems, urls
from sapwood.errors import ExistsError, IOError, MissingFileError, NotFoundError, UnsupportedError

#: Schemes that fsspec only reads.
_READ_ONLY = ("http", "https", "dcap", "gsidcap")


def upload(url: str, network: Mapping[str, Any] | None, replaces: bool = True) -> Upload | FsspecUpload:
    """A file for a URL: the engine sends it where it can, else fsspec does.

    Raises :class:`~sapwood.errors.ExistsError` where there is a file that must not be replaced.
    """
    if urls.is_ours(url) and not urls.by_fsspec(url, network):
        return Upload(url, network, replaces)
    made = FsspecUpload(url, (network or {}).get("storage_options"))
    if not replaces:
        made.refuse_existing()
    return made


class Upload:
    """A file that is written in a folder of its own on this machine, and then sent to a URL by the engine."""

    def __init__(self, url: str, network: Mapping[str, Any] | None, replaces: bool) -> None:
        self._target = _core.Target(url, replaces, dict(network or {}))
        self.shown = urls.shown(url)
        """Its URL without a password."""
        self.path = os.fspath(self._target.path)
        """Where it is on this machine."""

    def fetch(self) -> None:
        """Copies the file that is there to this machine.

        Raises :class:`~sapwood.errors.MissingFileError` where there is none.
        """
        try:
            self._target.fetch()
        except (FileNotFoundError, NotFoundError) as error:
            self.discard()
            raise MissingFileError(f"no file {self.shown!r}: sapwood.recreate makes one") from error

    def send(self, show: bool | None = None) -> None:
        """Sends the file, checks what arrived, names it, and removes it here. Where that fails, it stays
        here, and the error says where. ``show`` says whether a line says how far it is; by default it does
        for large files, if standard error is a terminal."""
        with progress.told(show, "upload") as note:
            self._target.publish(note)

    def discard(self) -> None:
        """Removes what is on this machine."""
        self._target.discard()


class FsspecUpload:
    """A file that is written in a folder of its own on this machine, and then brought to a URL through
    fsspec.

    >>> import os
    >>> upload = FsspecUpload("memory://runs/a.root", None)
    >>> with open(upload.path, "wb") as staged:
    ...     _ = staged.write(b"content")
    >>> upload.send()
    >>> import fsspec
    >>> fsspec.filesystem("memory").cat("/runs/a.root"), os.path.exists(upload.path)
    (b'content', False)
    """

    def __init__(self, url: str, options: Mapping[str, Any] | None) -> None:
        if urls.scheme(url) in _READ_ONLY:
            raise UnsupportedError(
                f"{urls.shown(url)!r}: fsspec reads files of {urls.scheme(url)}://, and cannot write them"
            )
        network = {"storage_options": dict(options or {}), "handler": "fsspec"}
        self.url, self._options = url, dict(options or {})
        self.shown = urls.shown(url)
        """Its URL without a password."""
        self._fs, self._path = filesystems.resolve(url, network)
        name = os.path.basename(self._path.rstrip("/")) or "file.root"
        self._folder = tempfile.mkdtemp(prefix="sapwood-")
        self.path = os.path.join(self._folder, name)
        """Where it is on this machine."""

    def refuse_existing(self) -> None:
        """Raises :class:`~sapwood.errors.ExistsError` where there is a file."""
        if self._try("look for", lambda: self._fs.exists(self._path)):
            self.discard()
            raise ExistsError(f"there is a file {self.shown!r}: sapwood.recreate would replace it")

    def fetch(self) -> None:
        """Brings the file that is there to this machine.

        Raises :class:`~sapwood.errors.MissingFileError` where there is none.
        """

        def copy() -> None:
            with self._fs.open(self._path, "rb") as there, open(self.path, "wb") as here:
                shutil.copyfileobj(there, here, 1 << 20)

        try:
            self._try("read", copy)
        except FileNotFoundError:
            self.discard()
            raise MissingFileError(f"no file {self.shown!r}: sapwood.recreate makes one") from None

    def send(self, show: bool | None = None) -> None:
        """Brings the file to its URL, and removes it here. Where that fails, it stays here, and the error
        says where. ``show`` is that of :meth:`Upload.send`."""
        import fsspec

        with contextlib.suppress(Exception):  # many file systems have no folders
            self._fs.makedirs(self._fs._parent(self._path), exist_ok=True)

        def copy() -> None:
            with open(self.path, "rb") as here, progress.told(show, "upload") as note:
                size, done = os.path.getsize(self.path), 0
                there = fsspec.open(self.url, "wb", **self._options).open()
                try:
                    while piece := here.read(1 << 20):
                        there.write(piece)
                        done += len(piece)
                        if note is not None:
                            note(done, size)
                    there.close()
                except BaseException:
                    self._take_back(there)
                    raise

        try:
            self._try("write", copy)
        except Exception as error:
            error.add_note(f"the whole file is on this machine: {self.path}")
            raise
        self.discard()

    def _take_back(self, there: Any) -> None:
        """Removes what was brought of a file that was not brought whole."""
        with contextlib.suppress(Exception):
            there.discard()
        with contextlib.suppress(Exception):
            # Closing it, as the last reference to it does too, would publish what it has.
            there.closed = True
        with contextlib.suppress(Exception):
            there.close()
        with contextlib.suppress(Exception):
            self._fs.rm_file(self._path)

    def discard(self) -> None:
        """Removes what is on this machine."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _try(self, what: str, work: Any) -> Any:
        try:
            return work()
        except FileNotFoundError:
            raise
        except Exception as error:
            kind = UnsupportedError if isinstance(error, NotImplementedError) else IOError
            raise kind(f"cannot {what} {self.shown!r}: {error or type(error).__name__}") from error


def make_folders(path: str) -> None:
    """Makes the folders above a file.

    Raises :class:`~sapwood.errors.IOError` where that cannot be done.
    """
    folder = os.path.dirname(os.path.abspath(path))
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise IOError(f"cannot make the folder {folder!r} for {path!r}: {error.strerror or error}") from error
