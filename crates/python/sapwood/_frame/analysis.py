"""What belongs to one set of files: the results that were asked for, and the pass that computes them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from sapwood import _core
from sapwood._frame.results import Result
from sapwood._frame.samples import Sample, lacking, samples_of
from sapwood._read import progress as progress_bar
from sapwood._read import reading
from sapwood._read.chain import Chain, Member
from sapwood.errors import ExpressionError, MismatchError, NotFoundError, not_found


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

    def book(self, result: Result) -> None:
        """Adds a result to those that the next pass computes."""
        self._waiting.append(result)

    def run(self, progress: bool | None = None) -> None:
        """Computes all results that wait, in one pass."""
        with self._lock:
            waiting, show = list(self._waiting), self.progress if progress is None else progress
            if not waiting:
                return
            for result in waiting:
                result._found = None
            for sample in self.samples:
                self._run(sample, waiting, show)
            self._waiting = [result for result in self._waiting if result not in waiting]

    def _run(self, sample: Sample, waiting: list[Result], show: bool | None) -> None:
        chain = Chain("frame", sample.files, self.options, **self.reads)
        name = sample.name if self.has_samples else None
        run = _core.FrameRun([result._wanted for result in waiting])
        sinks = Sinks(waiting, name)
        try:
            for member in progress_bar.each(chain.members(), len(chain.sources), show, "files", "files"):
                try:
                    self._add(run, chain, member, sample, sinks)
                except NotFoundError as error:
                    chain.left_out(member.source, self._named(error, sample))
            found = run.finish()
        except BaseException:
            sinks.discard()
            raise
        sinks.finish(found)
        for number, (result, (nominal, variations)) in enumerate(zip(waiting, found, strict=True)):
            if result._sink is not None:
                nominal, variations = sinks.values(number, variations)
            result._take(name, nominal, variations)

    def _add(self, run: _core.FrameRun, chain: Chain, member: Member, sample: Sample, sinks: Sinks) -> None:
        named = chain.aliases(member, self.aliases, *self.aliases.values())
        for name in sample.names:
            if member.tree._find(name) is not None:
                raise MismatchError(
                    f"the sample {sample.name!r} has {name!r}, which is a column of its files, too"
                )
        named = {**sample.names, **reading.used_aliases(member.tree, named)}
        more = chain.friends_of(member)
        tree = member.tree
        take = sinks.take if sinks.used else None
        for start, stop in member.ranges:
            selection = member.select(start, stop)
            rows, _ = selection.in_order()
            span = selection.span

            def add(friends: list[Any], span: Any = span, rows: Any = rows) -> None:
                run.add(tree._core, list(named.items()), friends, span[0], span[1], rows, None, take)

            with chain.naming(member):
                tree._with_friends(add, more)

    def _named(self, error: NotFoundError, sample: Sample) -> Exception:
        """An error about a name that this sample lacks, and others have."""
        for known in {name for other in self.samples for name in other.names}:
            if lacking(known, self.samples) == sample.name and repr(known).strip("'") in str(error):
                return ExpressionError(f"the sample {sample.name!r} has no {known!r}, and others do: {error}")
        return error


class Sinks:
    """What takes columns step by step: for each result that wants them, one for each variation."""

    def __init__(self, waiting: list[Result], sample: str | None) -> None:
        self._waiting, self._sample = waiting, sample
        self._open: dict[tuple[int, str | None], Any] = {}
        self.used = any(result._sink is not None for result in waiting)

    def _of(self, number: int, variation: str | None) -> Any:
        key = (number, variation)
        if key not in self._open:
            make = self._waiting[number]._sink
            if make is None:
                raise not_found(f"a result that takes no columns got some: {number}")
            self._open[key] = make(self._sample, variation)
        return self._open[key]

    def take(self, number: int, variation: str | None, columns: list[_core.Column]) -> None:
        """Hands columns to the one that they are for."""
        self._of(number, variation).take(columns)

    def finish(self, found: list[tuple[Any, list[tuple[str, Any]]]]) -> None:
        """Makes those that got nothing, too, and ends all."""
        for number, (_, variations) in enumerate(found):
            if self._waiting[number]._sink is not None:
                for variation in [None, *(name for name, _ in variations)]:
                    self._of(number, variation)
        for sink in self._open.values():
            sink.finish()

    def discard(self) -> None:
        """Ends all without a result."""
        for sink in self._open.values():
            sink.discard()

    def values(self, number: int, variations: list[tuple[str, Any]]) -> tuple[Any, list[tuple[str, Any]]]:
        """What the sinks of a result have found."""
        varied = [(name, self._open[number, name].value) for name, _ in variations]
        return self._open[number, None].value, varied
