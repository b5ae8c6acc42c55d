"""Results that wait for one set of files, and the pass that computes them."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sapwood import _core
from sapwood._frame.booking import Booking
from sapwood._frame.functions import is_running
from sapwood._frame.graph import FrameGraph
from sapwood._frame.partials import Partials
from sapwood._frame.results import Result
from sapwood._frame.samples import Sample, check_reads, lacking, samples_of
from sapwood._frame.sinks import Sinks, Snapshots
from sapwood._frame.workers import FrameSelector
from sapwood._notices import warn
from sapwood._read import progress as progress_bar
from sapwood._read import reading
from sapwood._read.chain import Chain, Member
from sapwood._remote import paths
from sapwood._remote.urls import is_url
from sapwood._tools import processing
from sapwood.errors import ExpressionError, MismatchError, NotFoundError

#: Entries that a worker computes at a time, about: steps end with clusters.
WORKER_STEP = 250_000


class Analysis:
    """Files, how they are opened, and results that wait for a pass over them."""

    def __init__(
        self,
        files: Any,
        options: Mapping[str, Any],
        reads: Mapping[str, Any],
        aliases: Any,
        progress: bool | None,
    ) -> None:
        self._given = (files, options, reads, aliases, progress)
        samples = samples_of(files)
        #: Whether results have a value for each sample.
        self.has_samples = samples is not None
        self.samples = [Sample("", files, {}, None)] if samples is None else samples
        self.options, self.reads = dict(options), dict(reads)
        self.aliases = dict(aliases or {})
        self.progress = progress
        if len(self.samples) > 1:
            check_reads(self.reads)
        #: Results that nobody holds any more are not computed, but files are written.
        self._waiting: list[Callable[[], Result | None]] = []
        self._booking = threading.Lock()
        #: Variations without effect that were noted.
        self._noted: set[str] = set()
        self._lock = threading.Lock()
        #: The steps of the last pass, with entries and seconds of each.
        self._diagram: _core.Diagram | None = None

    def __reduce__(self) -> Any:
        # Results are not sent along.
        return Analysis, self._given

    @property
    def waiting(self) -> list[Result]:
        """Results that the next pass computes, unless it is for others: without those of a pass that failed."""
        return [result for result in self._asked if not result.is_suspect]

    @property
    def _asked(self) -> list[Result]:
        found = (one() for one in self._waiting)
        return [result for result in found if result is not None]

    def book(self, result: Result) -> None:
        """Adds a result to those that the next pass computes."""
        is_file = isinstance(result.booking.collects, Snapshots)
        held: Callable[[], Result | None] = (lambda: result) if is_file else weakref.ref(result)
        with self._booking:
            self._waiting = [*(one for one in self._waiting if one() is not None), held]

    def run(
        self,
        wanted: Sequence[Result],
        progress: bool | None = None,
        executor: Any = None,
        step_size: int | str = WORKER_STEP,
        partials: Partials | None = None,
    ) -> None:
        """Computes results and all that wait, in one pass. If that fails, the wanted ones are computed alone: an
        error of others is not theirs."""
        if is_running():
            raise MismatchError("a function of a frame cannot wait for a result: look at the result before")
        with self._lock:
            waiting = [one for one in self._asked if one in wanted or not one.is_suspect]
            if not waiting:
                return
            show = self.progress if progress is None else progress
            try:
                self._pass(waiting, show, executor, step_size, partials)
            except Exception as error:
                others = [one for one in waiting if one not in wanted]
                own = [one for one in waiting if one in wanted]
                for one in others or own:
                    one.is_suspect = True
                if not others or not own:
                    raise
                self._pass(own, show, executor, step_size, partials)
                what = ", ".join(one.what for one in others)
                warn(f"results that waited, too, were not computed ({what}): {error}", stacklevel=5)

    def _pass(
        self,
        waiting: list[Result],
        show: bool | None,
        executor: Any,
        step_size: int | str,
        partials: Partials | None,
    ) -> None:
        self._check_written(waiting)
        with contextlib.ExitStack() as written:
            for one in waiting:
                if isinstance(one.booking.collects, Snapshots):
                    written.enter_context(one.booking.collects)
            if executor is None:
                done = [self._run(sample, waiting, show, partials) for sample in self.samples]
            else:
                done = self._run_on(executor, waiting, show, step_size, partials)
        found = [results for results, _ in done]
        diagram = functools.reduce(lambda one, other: one.plus(other), (diagram for _, diagram in done))
        self._diagram = named(diagram, waiting)
        with self._booking:
            self._waiting = [one for one in self._waiting if one() not in waiting]
        self._note_unused(waiting, found)
        names = [self._sample_name(sample) for sample in self.samples]
        for result, of_samples in zip(waiting, zip(*found, strict=True), strict=True):
            result._take(dict(zip(names, of_samples, strict=True)))

    def _check_written(self, waiting: list[Result]) -> None:
        """Refuses new files in the place of files that are read, and two of one path."""
        read = {
            os.path.realpath(os.fspath(source.file))
            for sample in self.samples
            for source in paths.expand(sample.files)
            if isinstance(source.file, (str, os.PathLike)) and not is_url(os.fspath(source.file))
        }
        written = [one.booking.collects for one in waiting if isinstance(one.booking.collects, Snapshots)]
        known: set[str] = set()
        for path in (os.path.realpath(one.path) for one in written if one.is_local()):
            if path in read:
                raise MismatchError(f"{path} is a file that is read: write the snapshot to another one")
            if path in known:
                raise MismatchError(f"two snapshots would be {path}: give each its own path")
            known.add(path)

    def _note_unused(self, waiting: list[Result], found: list[Any]) -> None:
        """Warns of variations that change no result of a pass: their names may be wrong."""
        declared = {
            name: None
            for result in waiting
            for method, arguments in result.booking.frame.steps
            if method == "vary"
            for name, _ in arguments[0]
        }
        used = {name for of_sample in found for _, varied in of_sample for name, _ in varied}
        unused = [name for name in declared if name not in used and name not in self._noted]
        self._noted.update(unused)
        if unused:
            words = ", ".join(repr(name) for name in unused)
            warn(f"no result depends on the variation {words}: all have nominal values alone", stacklevel=5)

    def graph(self) -> FrameGraph:
        """The steps of the next pass if results wait, else those of the last one."""
        waiting = self.waiting
        if not waiting and self._diagram is not None:
            return FrameGraph(self._diagram, True)
        if not waiting:
            raise MismatchError(
                "nothing was asked of this frame yet: draw its graph after its results are named"
            )
        run = _core.FrameRun([result.wanted for result in waiting])
        return FrameGraph(named(run.diagram(), waiting), False)

    def _sample_name(self, sample: Sample) -> str | None:
        """The name of a sample in results, if they have values for samples."""
        return sample.name if self.has_samples else None

    def _chain(self, sample: Sample) -> Chain:
        return Chain("frame", sample.files, self.options, **self._reads(sample))

    def _reads(self, sample: Sample) -> dict[str, Any]:
        """Options for the files of a sample, whose friends are those of all samples and its own."""
        if sample.friends is None:
            return self.reads
        return {**self.reads, "friends": {**(self.reads["friends"] or {}), **sample.friends}}

    def _run(
        self, sample: Sample, waiting: list[Result], show: bool | None, partials: Partials | None = None
    ) -> tuple[Any, _core.Diagram]:
        """In this process, with the engine's threads."""
        chain = self._chain(sample)
        run = _core.FrameRun([result.wanted for result in waiting])
        sinks = Sinks([result.booking.collects for result in waiting], self._sample_name(sample))
        has_read, lacking_name = False, None
        for member in progress_bar.each(chain.members(), len(chain.sources), show, "files", "files"):
            try:
                plan = self._plan(run, chain, member, sample)
            except NotFoundError as error:
                lacking_name = self._named(error, sample)
                chain.left_out(member.source, lacking_name)
                continue
            has_read = True
            with chain.naming(member):
                for start, stop in member.ranges:
                    sinks.read(run, plan, member.select(start, stop))
            if partials is not None and partials.is_due():
                found = sinks.partial(run.so_far())
                partials.take(waiting, self._sample_name(sample), found, run.diagram())
        if not has_read and lacking_name is not None:
            raise MismatchError(f"all files were left out: {lacking_name}") from lacking_name
        diagram = run.diagram()
        return sinks.partial(run.finish()), diagram

    def _names(self, chain: Chain, member: Member, sample: Sample) -> dict[str, str]:
        """Names of expressions for a file of a sample."""
        named = chain.aliases(member, self.aliases, *self.aliases.values())
        for name in sample.names:
            if member.tree._find(name) is not None:
                raise MismatchError(
                    f"the sample {sample.name!r} has {name!r}, which is a column of its files, too"
                )
        return {**sample.names, **reading.used_aliases(member.tree, named)}

    def _plan(self, run: _core.FrameRun, chain: Chain, member: Member, sample: Sample) -> _core.FramePlan:
        """How a file is read."""
        named = list(self._names(chain, member, sample).items())
        more = chain.friends_of(member)
        with chain.naming(member):
            return member.tree._with_friends(lambda of: run.plan(member.tree._core, named, of), more)

    def _run_on(
        self,
        executor: Any,
        waiting: list[Result],
        show: bool | None,
        step_size: int | str,
        partials: Partials | None,
    ) -> list[tuple[Any, _core.Diagram]]:
        """On an executor: workers open the files of all samples."""
        bookings = [result.booking for result in waiting]
        for booking in bookings:
            booking.check_workers()
        options = {name: value for name, value in self.options.items() if name != "threads"}

        def tell(number: int, so_far: Any, units: int) -> None:
            if partials is not None and partials.is_due():
                partials.take(waiting, self._sample_name(self.samples[number]), so_far.found, so_far.diagram)

        sets = [
            processing.DataSet(
                sample.files,
                FrameSelector(bookings, {**sample.names, **self.aliases}, sample.names),
                self._reads(sample),
            )
            for sample in self.samples
        ]
        done = processing.process_sets(
            sets,
            executor,
            step_size=step_size,
            progress=show,
            partial=None if partials is None else tell,
            options=options,
        )
        found = []
        for sample, of_sample in zip(self.samples, done, strict=True):
            if of_sample is None:
                # Files without entries have no units of work.
                found.append(self._run(sample, waiting, False))
                continue
            name = self._sample_name(sample)
            pairs = zip(bookings, of_sample.found, strict=True)
            found.append(([_assembled(booking, name, of) for booking, of in pairs], of_sample.diagram))
        return found

    def explain(self, waiting: list[Result]) -> Any:
        """Describes a pass over the first file."""
        sample = self.samples[0]
        chain = self._chain(sample)
        run = _core.FrameRun([result.wanted for result in waiting])
        for member in chain.members():
            return self._plan(run, chain, member, sample).explained()
        raise MismatchError("no file could be read")

    def _named(self, error: NotFoundError, sample: Sample) -> Exception:
        """An error about a name that this sample lacks, and others have."""
        for known in {name for other in self.samples for name in other.names}:
            if lacking(known, self.samples) == sample.name and known in str(error):
                return ExpressionError(f"the sample {sample.name!r} has no {known!r}, and others do: {error}")
        return error


def named(diagram: _core.Diagram, of: list[Result]) -> _core.Diagram:
    """A diagram whose results have the words that they were asked for with."""
    diagram.name([result.what for result in of])
    return diagram


def _assembled(booking: Booking, sample: str | None, of: Any) -> Any:
    """The result of workers; a new file is written from its parts."""
    collects = booking.collects
    if not isinstance(collects, Snapshots):
        return of
    nominal, varied = of
    return (
        collects.assembled(sample, None, nominal),
        [(name, collects.assembled(sample, name, parts)) for name, parts in varied],
    )
