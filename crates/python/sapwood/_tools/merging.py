"""Many files that become one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sapwood import _core, errors
from sapwood._file.file import check_options
from sapwood._file.sizes import as_bytes, every
from sapwood._notices import warn
from sapwood._read.compat_kwargs import ignore
from sapwood._remote import network, paths, urls
from sapwood._tools import indexing
from sapwood._write.staged import sent
from sapwood.compression import as_compression, as_random_access

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from sapwood._remote.network import Opening


@dataclass(frozen=True)
class MergedTree:
    """A tree of the output."""

    tree: str
    """Its path."""
    level: str
    """How its baskets came there: ``"copy"``, ``"recompress"`` or ``"re-encode"``."""
    inputs: int
    """How many inputs have it."""
    entries: int
    num_clusters: int
    num_baskets: int
    zip_bytes: int
    tot_bytes: int
    """Bytes before compression."""
    copied: dict[str, int]
    """``num_baskets`` and ``bytes`` of what was copied as it was."""
    recompressed: dict[str, int]
    """The same of what was compressed again."""
    reencoded: dict[str, int]
    """The same of what holds numbers that were widened to the type of the first input."""
    embedded: dict[str, int]
    """The same of what stood in the records of trees."""


@dataclass(frozen=True)
class Merged:
    """What :func:`merge` did."""

    output: str
    bytes: int
    """Bytes of the output."""
    inputs: int
    """How many inputs were merged."""
    input_bytes: int
    requests: int
    """Reads that the inputs were asked for, but for those that the system copies itself."""
    seconds: float
    adler32: str | None
    """The checksum of the output, where it was wanted."""
    objects: int
    """Objects that are no trees."""
    unread: int
    """Baskets that were copied without being inflated, so that damage in them stays unseen; none with
    ``verify=True``."""
    trees: dict[str, MergedTree]
    """Trees by their paths."""
    skipped: dict[str, str]
    """Inputs that were left out, and why."""
    notices: list[str]
    """What is worth a word: branches that were left out, an index that was dropped since an input lacks
    it."""


def merge(
    output: Any,
    inputs: Any,
    *,
    compression: Any = "keep",
    append: bool = False,
    replace: bool = True,
    skip: bool = False,
    trees: bool = True,
    only: str | Iterable[str] | None = None,
    exclude: str | Iterable[str] | None = None,
    recluster: bool = False,
    auto_flush: int | str | None = None,
    basket_bytes: int | str | None = None,
    random_access: Any = None,
    open_files: int | None = None,
    threads: int = 0,
    adler32: bool = False,
    verify: bool = False,
    statistics: bool | str | Iterable[str] = False,
    progress: Callable[[int, int, int], object] | None = None,
    **others: Unpack[Opening],
) -> Merged:
    """Merges files into one: trees become one tree, directories one directory. Says what was done.

    ``inputs`` are paths, globs or URLs, and ``"@list.txt"`` for those that a text file names, one a line;
    they are merged in this order. Few are open at a time (``open_files``), the next ones are opened while one
    is merged.

    Baskets are moved as they are, without being looked into, where ``compression`` is ``"keep"``, or is what
    they have; ``verify=True`` inflates them, so that a damaged one is an error. ``"first"`` is the one of the
    first input; else they are compressed again. With ``recluster=True`` entries go into new clusters, across
    the borders of inputs; ``auto_flush``, ``basket_bytes`` and ``random_access`` are those of
    :func:`rewrite`.

    The first input decides which branches a tree has. Branches that only others have are left out. A
    plain branch gets the narrowest type that holds the numbers of all inputs (see :attr:`Merged.notices`); an
    input that lacks a branch, or whose type has none in common with the others, is an error, as is one that
    was not closed or was cut. With ``skip=True``
    such inputs are left out, with a warning.

    Of RNTuples, top-level fields that only later inputs have begin with them: entries before have zeros,
    empty lists and empty strings there. Fields of the first that a later one lacks are an error. Fields
    inside of others that the first does not have are left out, and pages whose columns are narrower than
    those of the first are converted.

    ``only`` and ``exclude`` name objects and directories, by their names wherever they are, or by their
    paths; ``trees=False`` leaves all trees out. With ``append=True`` the inputs are added to what the output
    has. If all inputs have statistics (:func:`sapwood.index`), the output gets theirs, joined; ``statistics``
    makes new ones. The output has its name only once it is whole; a file that has it is replaced then, unless
    ``replace=False`` or another writer has it. It may be a URL that :func:`recreate` takes: it is sent there
    when it is whole. ``progress`` is called after each input with their number, the
    number of all, and the bytes so far. What remote inputs take is what :func:`open` takes.

    >>> import os, sapwood, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for run in (1, 2):
    ...     with sapwood.recreate(os.path.join(folder, f"run{run}.root")) as file:
    ...         file["events"] = {"x": [run, run + 1]}
    >>> merged = sapwood.merge(os.path.join(folder, "all.root"), os.path.join(folder, "run*.root"))
    >>> merged.inputs, merged.trees["events"].level
    (2, 'copy')
    >>> sapwood.open(os.path.join(folder, "all.root"))["events"].arrays(library="np")["x"].tolist()
    [1, 2, 2, 3]

    Raises :class:`sapwood.errors.MismatchError` for trees that do not fit and for an input that is the
    output; :class:`sapwood.errors.MalformedError` for inputs that are damaged; :class:`FileNotFoundError` and
    its kin. The output is then what it was.
    """
    options: dict[str, Any] = dict(others)
    connection = network.take_options(options)
    ignore(options, "merge")
    indexing.check_statistics(output, statistics, append)
    if only is not None and exclude is not None:
        raise errors.MismatchError("only and exclude do not go together")
    if not recluster and any(each is not None for each in (auto_flush, basket_bytes, random_access)):
        raise errors.MismatchError(
            "auto_flush, basket_bytes and random_access are those of new clusters: recluster=True makes them"
        )
    chosen = only if only is not None else exclude or ()
    names = [chosen] if isinstance(chosen, str) else list(chosen)
    listed = None if only is None and exclude is None else (only is not None, names)
    setting = compression if compression in ("keep", "first") else as_compression(compression)
    flush = every(-30_000_000 if auto_flush is None else auto_flush)
    bytes_each = None if basket_bytes is None else as_bytes(basket_bytes)
    clusters = (flush, bytes_each, as_random_access(random_access)) if recluster else None
    files = [_path(source.file) for source in paths.expand(inputs, colon=False, network=connection)]
    check_options(threads)
    target = os.path.expanduser(os.fspath(output))
    target = urls.local_path(target)
    is_remote = urls.is_url(target)
    try:
        with sent(target, connection, replace or append, fetches=append) as path:
            document, notices = _core.merge(
                path, files, setting, append, replace or is_remote, skip, trees, listed, clusters, open_files,
                threads, adler32, verify, connection or None, progress,
            )  # fmt: skip
    except errors.NotFoundError as error:
        if error.file in files and error.object is None and not os.path.exists(error.file):
            raise (
                paths.missing_url(error.file, error)
                if urls.is_url(error.file)
                else paths.missing_file(error.file)
            ) from None
        raise
    for words in notices:
        warn(words, RuntimeWarning, stacklevel=2)
    if not append:
        indexing.carried(target, files, statistics, threads)
    found = json.loads(document)
    if is_remote:
        found["output"] = urls.shown(target)
    found["trees"] = {tree["tree"]: MergedTree(**tree) for tree in found["trees"]}
    found["skipped"] = {each["input"]: each["why"] for each in found["skipped"]}
    for name, why in found["skipped"].items():
        warn(f"{name!r} is left out: {why}", stacklevel=2)
    return Merged(**found)


def _path(source: Any) -> str:
    if not isinstance(source, str):
        raise TypeError(f"files are merged by their paths, not as {type(source).__name__}")
    return source
