"""Results that wait for one set of files, and the pass that computes them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from sapwood import _core
from sapwood._frame.results import Result
from sapwood._frame.samples import Sample, lacking, samples_of
from sapwood._frame.sinks import Sinks, Snapshots
from sapwood._frame.workers import FrameSelector
from sapwood._read import progress as progress_bar
from sapwood._read import reading
from sapwood._read.chain import Chain, Member
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
        samples = samples_of(files)
        #: Whether results have a value for each sample.
        self.has_samples = samples is not None
        self.samples = [Sample("", files, {})] if samples is None else samples
        self.options, self.reads = dict(options), dict(reads)
        self.aliases = dict(aliases or {})
        self.progress = progress
        self._waiting: list[Result] = []
        self._lock = threading.Lock()

    @property
    def waiting(self) -> list[Result]:
        """Results that the next pass computes."""
        return list(self._waiting)

    def book(self, result: Result) -> None:
        """Adds a result to those that the next pass computes."""
        self._waiting.append(result)

    def run(
        self, progress: bool | None = None, executor: Any = None, step_size: int | str = WORKER_STEP
    ) -> None:
        """Computes all results that wait, in one pass."""
        with self._lock:
            waiting, show = list(self._waiting), self.progress if progress is None else progress
            if not waiting:
                return
            snapshots = [
                one.booking.collects for one in waiting if isinstance(one.booking.collects, Snapshots)
            ]
            try:
                found = []
                for sample in self.samples:
                    if executor is None:
                        found.append(self._run(sample, waiting, show))
                    else:
                        found.append(self._run_on(executor, sample, waiting, show, step_size))
                for one in snapshots:
                    one.closed()
            except BaseException:
                for one in snapshots:
                    one.discard()
                raise
            for sample, of_sample in zip(self.samples, found, strict=True):
                for result, (nominal, varied) in zip(waiting, of_sample, strict=True):
                    result._take(sample.name if self.has_samples else None, nominal, varied)
            self._waiting = [result for result in self._waiting if result not in waiting]

    def _chain(self, sample: Sample) -> Chain:
        return Chain("frame", sample.files, self.options, **self.reads)

    def _run(self, sample: Sample, waiting: list[Result], show: bool | None) -> Any:
        """In this process, with the engine's threads."""
        chain = self._chain(sample)
        run = _core.FrameRun([result.wanted for result in waiting])
        sinks = Sinks(
            [result.booking.collects for result in waiting], sample.name if self.has_samples else None
        )
        take = sinks.take if sinks.used else None
        try:
            for member in progress_bar.each(chain.members(), len(chain.sources), show, "files", "files"):
                try:
                    self._add(run, chain, member, sample, take)
                except NotFoundError as error:
                    chain.left_out(member.source, self._named(error, sample))
            return sinks.partial(run.finish())
        except BaseException:
            sinks.discard()
            raise

    def _names(self, chain: Chain, member: Member, sample: Sample) -> dict[str, str]:
        """Names of expressions for a file of a sample."""
        named = chain.aliases(member, self.aliases, *self.aliases.values())
        for name in sample.names:
            if member.tree._find(name) is not None:
                raise MismatchError(
                    f"the sample {sample.name!r} has {name!r}, which is a column of its files, too"
                )
        return {**sample.names, **reading.used_aliases(member.tree, named)}

    def _add(self, run: _core.FrameRun, chain: Chain, member: Member, sample: Sample, take: Any) -> None:
        named = list(self._names(chain, member, sample).items())
        more = chain.friends_of(member)
        tree = member.tree
        for start, stop in member.ranges:
            selection = member.select(start, stop)
            rows, _ = selection.in_order()
            span = selection.span

            def add(friends: list[Any], span: Any = span, rows: Any = rows) -> None:
                run.add(tree._core, named, friends, span[0], span[1], rows, None, take)

            with chain.naming(member):
                tree._with_friends(add, more)

    def _run_on(
        self, executor: Any, sample: Sample, waiting: list[Result], show: bool | None, step_size: int | str
    ) -> Any:
        """On an executor: workers open the files."""
        bookings = [result.booking for result in waiting]
        for booking in bookings:
            booking.check_workers()
        options = {name: value for name, value in self.options.items() if name != "threads"}
        selector = FrameSelector(bookings, {**sample.names, **self.aliases})
        done = processing.process(
            sample.files, selector, executor, step_size=step_size, progress=show, **self.reads, **options
        )
        if done is None:
            raise MismatchError("nothing was read: the files have no entries")
        return done.found

    def explain(self, waiting: list[Result]) -> Any:
        """Describes a pass over the first file."""
        sample = self.samples[0]
        chain = self._chain(sample)
        run = _core.FrameRun([result.wanted for result in waiting])
        for member in chain.members():
            named = list(self._names(chain, member, sample).items())
            more = chain.friends_of(member)
            with chain.naming(member):
                return member.tree._with_friends(lambda of: run.explain(member.tree._core, named, of), more)
        raise MismatchError("no file could be read")

    def _named(self, error: NotFoundError, sample: Sample) -> Exception:
        """An error about a name that this sample lacks, and others have."""
        for known in {name for other in self.samples for name in other.names}:
            if lacking(known, self.samples) == sample.name and known in str(error):
                return ExpressionError(f"the sample {sample.name!r} has no {known!r}, and others do: {error}")
        return error
