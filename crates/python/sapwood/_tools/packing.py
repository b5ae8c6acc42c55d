"""Files in blocks that are compressed one by one, and read in place."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sapwood import _core, errors
from sapwood._file.file import check_options
from sapwood._file.sizes import as_bytes
from sapwood._notices import warn
from sapwood._read.compat_kwargs import ignore
from sapwood._remote import filesystems, network, paths, urls

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from sapwood._remote.network import Opening


@dataclass(frozen=True)
class Packed:
    """What :func:`pack` wrote."""

    output: str
    bytes: int
    """Bytes of the file."""
    packed_bytes: int
    """Bytes of the packed file."""
    blocks: int
    """Blocks in it."""


def pack(
    source: Any,
    output: Any = None,
    *,
    block: int | str = "64 kiB",
    level: int = 5,
    threads: int = 0,
    replace: bool = False,
    **others: Unpack[Opening],
) -> Packed:
    """Packs a file into blocks that are compressed one by one: a zstd file in its seekable format, which
    :func:`open` reads in place, and which plain zstd inflates.

    Only files that are not compressed inside gain; for others there is a ``UserWarning`` that says what to
    do. ``block`` is how many bytes are compressed together, and so how many are inflated for one; ``level``
    is zstd's own, 1 to 22. Without an ``output`` the name is that of the file with ``.zst`` behind it. The
    packed file has its name only once it is whole. Of remote files it takes what :func:`open` takes.

    >>> import os, sapwood, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "plain.root")
    >>> with sapwood.recreate(path, compression=None) as file:
    ...     file["events"] = {"x": list(range(10_000))}
    >>> packed = sapwood.pack(path, block="16 kiB")
    >>> packed.output == path + ".zst", packed.packed_bytes < packed.bytes / 2
    (True, True)
    >>> sapwood.open(path + ".zst:events").num_entries
    10000

    Raises :class:`sapwood.errors.ExistsError` where a file would have to be replaced and ``replace`` does not
    allow it; :class:`sapwood.errors.MismatchError` for an impossible block or level;
    :class:`FileNotFoundError`.
    """
    options: dict[str, Any] = dict(others)
    connection = network.take_options(options)
    ignore(options, "pack")
    check_options(threads)
    block_bytes = as_bytes(block)
    if block_bytes < 0:
        raise errors.MismatchError(f"a block has 1024 to 67108864 bytes, not {block_bytes}")
    place, name = _place(source)
    target = _core.packed_name(name) if output is None else os.path.expanduser(os.fspath(output))
    try:
        bytes_, packed_bytes, blocks, advice = _core.pack(
            place, name, target, block_bytes, level, threads, replace, connection or None
        )
    except errors.NotFoundError as error:
        raise _missing(name, error) from error.__cause__
    if advice is not None:
        warn(advice, UserWarning, stacklevel=2)
    return Packed(target, bytes_, packed_bytes, blocks)


def unpack(source: Any, output: Any = None, *, replace: bool = False, **others: Unpack[Opening]) -> str:
    """Gives a packed file back, byte for byte: ``x.root.zst``, ``image.sqfs:path/x.root`` or
    ``archive.zip:path/x.root``, also from a URL. Says where it was written: without an ``output`` that is the
    name without ``.zst``, or the name of the member in the working directory.

    The checksums of packed files and of deflated members are compared; SquashFS images have none for data,
    and those of members that are stored as they are are not looked at.

    >>> import os, sapwood, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "plain.root")
    >>> with sapwood.recreate(path, compression=None) as file:
    ...     file["events"] = {"x": [1] * 10_000}
    >>> back = sapwood.unpack(sapwood.pack(path).output, path + ".back")
    >>> with open(path, "rb") as one, open(back, "rb") as other:
    ...     one.read() == other.read()
    True

    Raises :class:`sapwood.errors.ExistsError` where a file would have to be replaced and ``replace`` does not
    allow it; :class:`sapwood.errors.MalformedError` for damaged ones; :class:`FileNotFoundError`.
    """
    options: dict[str, Any] = dict(others)
    connection = network.take_options(options)
    ignore(options, "unpack")
    place, name = _place(source)
    usual = _core.unpacked_name(name)
    target = usual if output is None else os.path.expanduser(os.fspath(output))
    if usual is None or target is None:
        raise errors.MismatchError(
            f"the name {urls.shown(name)!r} does not say how the file is packed: x.root.zst, "
            "image.sqfs:path/x.root and archive.zip:path/x.root are unpacked"
        )
    try:
        _core.unpack(place, target, replace, connection or None)
    except errors.NotFoundError as error:
        raise _missing(name, error) from error.__cause__
    return str(target)


def _place(source: Any) -> tuple[Any, str]:
    remote = filesystems.remote_of(source)
    if remote is not None:
        return remote, remote.name
    place = os.fspath(source)
    name = place if urls.is_url(place) else os.path.expanduser(place)
    return name, name


def _missing(name: str, error: Exception) -> errors.MissingFileError:
    if urls.is_url(name) or paths.is_member(name) or os.path.exists(name):
        return paths.missing_url(urls.shown(name), error)
    return paths.missing_file(name)
