"""Events of coffea: objects of physics over the columns of a tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from sapwood._read import reading
from sapwood._read.chain import Chain, Member
from sapwood._read.filters import Filter
from sapwood._read.libraries import need
from sapwood._read.selection import bounds
from sapwood._tree import iteration
from sapwood.errors import MismatchError, NotFoundError, near

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from sapwood._remote.network import Opening

#: Schemas by short names, and the trees that they are about, in the order in which they are looked for.
SCHEMAS: dict[str, tuple[str, tuple[str, ...]]] = {
    "base": ("BaseSchema", ()),
    "nanoaod": ("NanoAODSchema", ("Events",)),
    "pfnanoaod": ("PFNanoAODSchema", ("Events",)),
    "scoutingnanoaod": ("ScoutingNanoAODSchema", ("Events",)),
    "physlite": ("PHYSLITESchema", ("CollectionTree", "EventData")),
    "edm4hep": ("EDM4HEPSchema", ("events",)),
    "fcc": ("FCCSchema", ("events",)),
    "fccedm4hep1": ("FCCSchema_edm4hep1", ("events",)),
    "delphes": ("DelphesSchema", ("Delphes",)),
    "treemaker": ("TreeMakerSchema", ("PreSelection", "TreeMaker2/PreSelection")),
    "pdune": ("PDUNESchema", ("pduneana/beamana",)),
}


def nanoevents(
    files: Any,
    schema: Any = "nanoaod",
    *,
    mode: str = "virtual",
    entry_start: int | None = None,
    entry_stop: int | None = None,
    preload: Iterable[str] = (),
    filter_name: Filter = None,
    metadata: Any = None,
    access_log: Any = None,
    step_size: int | str = 100_000,
    allow_missing: bool = False,
    threads: int = 0,
    **others: Unpack[Opening],
) -> Any:
    """Events as coffea's ``NanoEventsFactory`` makes them, read by Sapwood.

    ``files`` are as for :func:`sapwood.iterate`; where no tree is named, it is the one that the schema is
    about, or the only one. ``schema`` is a class of ``coffea.nanoevents``, or a name: ``"nanoaod"``,
    ``"pfnanoaod"``, ``"scoutingnanoaod"``, ``"physlite"``, ``"edm4hep"``, ``"fcc"``, ``"fccedm4hep1"``,
    ``"delphes"``, ``"treemaker"``, ``"pdune"``, ``"base"``.

    ``mode`` is ``"virtual"`` (a column is read when it is looked at), ``"eager"`` (all are read at once, in
    one plan), or ``"dask"`` (a collection of any number of files, in partitions of ``step_size``: each reads
    the columns that its graph needs in one plan). Columns that ``preload`` names are read together from the
    beginning. Where a script goes through a tree in ranges of entries, what it looked at in the last range is
    read together as soon as it looks at any of these in the next. Branches that ``filter_name`` leaves out
    are not there for the schema.

    >>> import io, sapwood
    >>> with sapwood.recreate(memory := io.BytesIO()) as file:
    ...     file["Events"] = {"run": [1, 1], "luminosityBlock": [1, 1], "event": [1, 2],
    ...                       "nMuon": [2, 1], "Muon_pt": [[30.0, 20.0], [10.0]]}
    >>> events = sapwood.nanoevents(memory)                                            # doctest: +SKIP
    >>> events.Muon.pt.tolist()                                                        # doctest: +SKIP
    [[30.0, 20.0], [10.0]]

    Raises :class:`~sapwood.errors.NotFoundError` where there is no such tree, ``ModuleNotFoundError`` without
    coffea.
    """
    if mode not in ("virtual", "eager", "dask"):
        raise ValueError(f'mode is "virtual", "eager" or "dask", not {mode!r}')
    made, trees = schema_of(schema)
    chain = Chain("nanoevents", files, {**others, "threads": threads}, allow_missing=allow_missing)
    chain.default_trees = trees
    names = list(preload)
    if mode == "dask":
        if entry_start is not None or entry_stop is not None or access_log is not None:
            raise MismatchError(
                'entry_start, entry_stop and access_log cannot be used with mode="dask": '
                'files={path: {"object_path": tree, "steps": [[start, stop]]}} takes entry ranges'
            )
        return _dask(chain, made, names, filter_name, metadata, step_size)
    if len(chain.sources) != 1:
        raise MismatchError(
            f'{len(chain.sources)} files cannot be one array that is read at once: mode="dask" takes several, '
            "or call "
            "nanoevents for each"
        )
    from sapwood._read import nano_mapping

    for member in chain.kept():
        tree = member.tree.tree
        span = bounds(tree.num_entries, entry_start, entry_stop)
        if member.source.steps is not None and member.ranges:
            span = member.ranges[0]
        filled = made(nano_mapping.base_form(tree, made, metadata, filter_name))
        events = nano_mapping.factory(tree, filled, span, mode == "virtual", names, access_log, chain.opening)
        return events.events()
    raise MismatchError("no file has a tree that could be read")


def schema_of(schema: Any) -> tuple[Any, tuple[str, ...]]:
    """A schema, and the names of the trees that it is about."""
    need("coffea", "sapwood.nanoevents()")
    from coffea.nanoevents import schemas  # type: ignore[import-untyped]

    if isinstance(schema, str):
        name = schema.lower().removesuffix("schema")
        if name not in SCHEMAS:
            raise ValueError(f"there is no schema {schema!r}{near(name, SCHEMAS, 12)}")
        return getattr(schemas, SCHEMAS[name][0]), SCHEMAS[name][1]
    if not callable(schema):
        raise TypeError(f"a schema is a name or a class of coffea.nanoevents, not {schema!r}")
    known = dict(SCHEMAS.values())
    above = (one.__name__ for one in getattr(schema, "__mro__", ()))
    return schema, next((known[name] for name in above if name in known), ())


def _dask(
    chain: Chain, schema: Any, preload: list[str], filter_name: Any, metadata: Any, step_size: Any
) -> Any:
    """A collection, whose form is that of the first file."""
    need("dask_awkward", 'mode="dask"', "dask-awkward")
    from sapwood._read import nano_mapping, nano_partitions
    from sapwood._read.partitions import Unit

    iteration.step_entries(step_size)
    form: Any = None

    def units() -> Iterator[Unit]:
        nonlocal form
        for member in chain.members():
            try:
                tree = member.tree.tree
                form = nano_mapping.base_form(tree, schema, metadata, filter_name) if form is None else form
                for span in _spans(member, filter_name, step_size):
                    yield Unit(member.source._replace(object=tree._path), span, None, {}, [])
            except NotFoundError as error:
                chain.left_out(member.source, error)

    found = list(units())
    if form is None:
        raise MismatchError("no file has a tree that could be read")
    return nano_partitions.collection(schema(form), found, preload, chain.opening)


def _spans(member: Member, filter_name: Any, step_size: Any) -> Iterator[tuple[int, int]]:
    if hasattr(member.source.file, "num_entries"):
        raise MismatchError('mode="dask" takes paths of files: workers open them')
    plan = reading.Plan(member.tree, filter_name=filter_name)
    for start, stop in member.ranges:
        yield from iteration.steps(plan, start, stop, step_size)


__all__ = ["nanoevents"]
