"""Collections of Dask: arrays of many files that are read when they are computed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sapwood._read import reading
from sapwood._read.chain import Chain, Member, listed
from sapwood._read.filters import Filter
from sapwood._read.libraries import need
from sapwood._read.selection import Selection
from sapwood._tree import iteration
from sapwood.errors import MismatchError, NotFoundError

if TYPE_CHECKING:
    from sapwood._read.partitions import Unit


def dask(
    files: Any,
    expressions: Any = None,
    cut: str | None = None,
    *,
    filter_name: Filter = None,
    filter_typename: Filter = None,
    filter_branch: Any = None,
    aliases: Mapping[str, str] | None = None,
    library: str = "ak",
    step_size: int | str | None = None,
    open_files: bool = True,
    steps_per_file: int | None = None,
    allow_missing: bool = False,
    allow_read_errors_with_report: bool | tuple[type[BaseException], ...] = False,
    fill: Mapping[str, float] | None = None,
    friends: Mapping[str, Any] | None = None,
    lumi_mask: Any = None,
    entries: Any = None,
    ak_add_doc: bool | Mapping[str, str] = False,
    **options: Any,
) -> Any:
    """A :class:`dask_awkward.Array` of many files: ``compute()`` reads the columns that its graph needs, and
    no others. With ``library="np"``, a dictionary of :class:`dask.array.Array`, one a column.

    Each partition is a step of ``step_size`` (100 MB) that ends with a cluster, or one of ``steps_per_file``
    parts of its file that are as long as each other, and is read by the worker that computes it. The files
    are opened once before, one after another, for their clusters. With ``open_files=False`` only the first
    one that is there is opened, for the types of the columns: each file is ``steps_per_file`` partitions (1)
    of unknown length, unless ``files`` says its steps. Where no ``expressions`` are named, columns are those
    that the first file has. The rest is as in :func:`sapwood.iterate`; files have paths here, since workers
    open them.

    With ``allow_read_errors_with_report`` (``True`` for ``OSError``, or the classes of errors), the answer is
    a pair: the collection, in which what cannot be read is missing, and an array of reports, one a partition,
    which says what was read, and of what failed the ``exception`` and its ``message``.

    >>> import os, sapwood, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.root")
    >>> with sapwood.recreate(path) as file:
    ...     file["t"] = {"x": [1.0, 2.0, 3.0], "v": [[1], [], [2, 3]]}
    >>> events = sapwood.dask(f"{path}:t")                                            # doctest: +SKIP
    >>> events[events.x > 1].v.compute().tolist()                                      # doctest: +SKIP
    [[], [2, 3]]
    """
    if library not in ("ak", "np"):
        raise ValueError(f'library is "ak" or "np" in sapwood.dask(), not {library!r}')
    if library == "np" and allow_read_errors_with_report:
        raise MismatchError('reports of errors need library="ak"')
    need("dask_awkward", "sapwood.dask()", "dask-awkward")
    from sapwood._read import partitions

    chain = Chain(
        "dask",
        files,
        options,
        threads=1,
        allow_missing=allow_missing,
        fill=fill,
        widen=False,
        friends=friends,
        lumi_mask=lumi_mask,
        entries=entries,
    )
    if step_size is not None:
        iteration.step_entries(step_size)
        if steps_per_file is not None or not open_files:
            words = "steps_per_file" if steps_per_file is not None else "open_files=False"
            raise MismatchError(f"step_size and {words} do not go together: both say where partitions end")
    if steps_per_file is not None and steps_per_file < 1:
        raise ValueError(f"steps_per_file is 1 or more, not {steps_per_file!r}")
    columns = _Columns(
        chain, listed(expressions), cut, (filter_name, filter_typename, filter_branch), aliases, ak_add_doc
    )
    if open_files:
        units = list(_steps(chain, columns, step_size or "100 MB", steps_per_file))
    else:
        if friends or lumi_mask is not None or entries is not None:
            words = "open_files=False knows no entries, which friends, lumi_mask and entries need"
            raise MismatchError(words)
        units = list(_unopened(chain, columns, steps_per_file or 1))
    read = partitions.Read(
        columns.form,
        columns.names,
        columns.names,
        cut,
        chain.opening,
        allow_read_errors_with_report,
        allow_missing,
    )
    return partitions.collection(read, units, library)


class _Columns:
    """The columns of all files: those that the first one has."""

    def __init__(
        self,
        chain: Chain,
        expressions: Any,
        cut: str | None,
        filters: tuple[Any, Any, Any],
        aliases: Any,
        ak_add_doc: Any,
    ) -> None:
        self.chain, self.expressions, self.cut = chain, expressions, cut
        self.filters, self.aliases, self.ak_add_doc = filters, aliases, ak_add_doc
        self.names: list[str] = []
        self._form: Any = None

    def plan(self, member: Member) -> reading.Plan:
        """What is read of the tree of a file."""
        wanted = self.names or self.expressions
        plan = self.chain.plan(member, wanted, self.cut, self.filters, self.aliases, self.ak_add_doc)
        if self._form is None:
            # What comes of no entries says which columns there are, and of what types.
            empty = reading.read(plan, Selection((0, 0)), "ak", None, False)
            self._form, self.names = empty.layout.form, list(empty.fields)
        return plan

    @property
    def form(self) -> Any:
        """Form of the answer."""
        if self._form is None:
            raise MismatchError("no file has a tree that could be read")
        return self._form


def _steps(
    chain: Chain, columns: _Columns, step_size: int | str, steps_per_file: int | None
) -> Iterator[Unit]:
    """Steps of files that are opened for their clusters; or so many equal ones of each file."""
    from sapwood._read.partitions import Unit

    for member in chain.members():
        _check_path(member.source)
        try:
            plan = columns.plan(member)
        except NotFoundError as error:
            chain.left_out(member.source, error)
            continue
        spans = chain.spans(member)
        for start, stop in member.ranges:
            if steps_per_file is None or member.source.steps is not None:
                steps = list(iteration.steps(plan, start, stop, step_size))
            else:
                borders = [
                    start + (stop - start) * part // steps_per_file for part in range(steps_per_file + 1)
                ]
                steps = [step for step in zip(borders, borders[1:]) if step[0] < step[1]]
            for step in steps:
                selection = member.select(*step)
                yield Unit(member.source, selection.span, selection.rows, plan.aliases, spans)


def _unopened(chain: Chain, columns: _Columns, steps_per_file: int) -> Iterator[Unit]:
    """Parts of files, of which only one is opened."""
    from sapwood._read.partitions import Unit

    aliases = None
    for source in chain.sources:
        for member in chain.members([source]):
            aliases = columns.plan(member).aliases
        if aliases is not None:
            break
    else:
        raise MismatchError("no file has a tree that could be read")
    for source in chain.sources:
        _check_path(source)
        if source.steps is None:
            for part in range(steps_per_file):
                yield Unit(source, None, None, aliases, [], (part, steps_per_file))
        else:
            for span in source.steps:
                yield Unit(source, span, None, aliases, [])


def _check_path(source: Any) -> None:
    if hasattr(source.file, "num_entries"):
        raise MismatchError("sapwood.dask() takes paths of files: workers open them")


def dask_write(
    array: Any,
    destination: Any,
    compute: bool = True,
    prefix: str | None = None,
    tree_name: str = "tree",
    title: str = "",
    **options: Any,
) -> Any:
    """Writes a :class:`dask_awkward.Array`: each partition becomes a file with a tree, ``part0.root`` and so on
    in the folder or URL ``destination``, or ``PREFIX-part0.root``. ``options`` are those of
    :func:`sapwood.recreate`. Gives the number of entries.

    With ``compute=False`` it gives a :class:`dask.delayed.Delayed`, and nothing is written before that is
    computed.

    >>> import sapwood
    >>> sapwood.dask_write(events, "skimmed", prefix="run1")                           # doctest: +SKIP
    """
    need("dask_awkward", "sapwood.dask_write()", "dask-awkward")
    from sapwood._read.partitions import write_parts

    name = "part" if prefix is None else f"{prefix}-part"
    written = write_parts(array, os.fspath(destination), name, tree_name, title, options)
    return written.compute() if compute else written


__all__ = ["dask", "dask_write"]
