"""Collections of dask-awkward: arrays of many files that are read when they are computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sapwood import iteration
from sapwood._read import reading
from sapwood._read.chain import Chain
from sapwood._read.libraries import need
from sapwood._read.selection import Selection
from sapwood.errors import MismatchError, NotFoundError
from sapwood.filters import Filter


def dask(
    files: Any,
    expressions: Any = None,
    cut: str | None = None,
    *,
    filter_name: Filter = None,
    filter_typename: Filter = None,
    filter_branch: Any = None,
    aliases: Mapping[str, str] | None = None,
    step_size: int | str = "100 MB",
    allow_missing: bool = False,
    fill: Mapping[str, float] | None = None,
    friends: Mapping[str, Any] | None = None,
    lumi_mask: Any = None,
    **options: Any,
) -> Any:
    """A :class:`dask_awkward.Array` of many files: ``compute()`` reads the columns that its graph needs, and
    no others.

    Each partition is a step of ``step_size`` that ends with a cluster, and is read by the worker that
    computes it. The files are opened once before, one after another, for their clusters. Where no
    ``expressions`` are named, columns are those that the first file has. The rest is as in
    :func:`sapwood.iterate`; files have paths here, since workers open them.

    >>> import os, sapwood, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.root")
    >>> with sapwood.recreate(path) as file:
    ...     file["t"] = {"x": [1.0, 2.0, 3.0], "v": [[1], [], [2, 3]]}
    >>> events = sapwood.dask(f"{path}:t")                                            # doctest: +SKIP
    >>> events[events.x > 1].v.compute().tolist()                                      # doctest: +SKIP
    [[], [2, 3]]
    """
    dask_awkward = need("dask_awkward", "sapwood.dask()", "dask-awkward")
    from sapwood._read.partitions import Read

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
    )
    iteration.step_entries(step_size)
    units: list[tuple[Any, ...]] = []
    borders = [0]
    form: Any = None
    names: list[str] = []
    filters = (filter_name, filter_typename, filter_branch)
    for member in chain.members():
        if hasattr(member.source.file, "num_entries"):
            raise MismatchError("sapwood.dask() takes paths of files: workers open them")
        try:
            plan = chain.plan(member, names or expressions, cut, filters, aliases)
        except NotFoundError as error:
            chain.left_out(member.source, error)
            continue
        if form is None:
            # What comes of no entries says which columns there are, and of what types.
            empty = reading.read(plan, Selection((0, 0)), "ak", None, False)
            form, names = empty.layout.form, list(empty.fields)
        spans = chain.spans(member)
        for start, stop in member.ranges:
            for step in iteration.steps(plan, start, stop, step_size):
                selection = member.select(*step)
                units.append((member.source, selection.span, selection.rows, plan.aliases, spans))
                borders.append(borders[-1] + len(selection))
    if form is None:
        raise MismatchError("no file has a tree that could be read")
    read = Read(form, names, names, cut, chain.opening)
    divisions = tuple(borders) if cut is None else (None,) * len(borders)
    if not units:
        return dask_awkward.from_awkward(read.empty(), npartitions=1)
    return dask_awkward.from_map(read, units, label="from-sapwood", meta=read.mock(), divisions=divisions)


__all__ = ["dask"]
