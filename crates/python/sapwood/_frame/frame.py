"""Whole analyses: names, filters and variations, and results of them in one pass."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sapwood import _core
from sapwood._frame import results
from sapwood._frame.analysis import WORKER_STEP, Analysis
from sapwood._frame.booking import Booking, Description, applied, short
from sapwood._frame.fills import empty, filling
from sapwood._frame.graph import FrameGraph
from sapwood._frame.partials import Partials
from sapwood._frame.results import Explained, Result
from sapwood._frame.sinks import Folding, Snapshots, Taking
from sapwood._read import drawing
from sapwood._read.libraries import as_library
from sapwood.errors import ExpressionError, MismatchError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from sapwood._remote.network import Opening


def frame(
    files: Any,
    *,
    aliases: Mapping[str, str] | None = None,
    allow_missing: bool = False,
    fill: Mapping[str, float] | None = None,
    friends: Mapping[str, Any] | None = None,
    lumi_mask: Any = None,
    entries: Any = None,
    progress: bool | None = None,
    threads: int = 0,
    object_limit: int | None = None,
    answer_limit: int | None = None,
    **others: Unpack[Opening],
) -> Frame:
    """An analysis of trees or RNTuples, which is described first and computed in one pass.

    ``files`` and the options are those of :func:`sapwood.iterate`. Or they are samples by name, ``{"ttbar":
    {"files": ..., "xsec": 831.8}, ...}``: numbers and texts of a sample are names in expressions, and each
    result is a dictionary by sample.

    >>> import os, sapwood, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.root")
    >>> with sapwood.recreate(path) as file:
    ...     file["events"] = {"met": [10.0, 50.0, 90.0], "jets": [[30.0], [], [20.0, 60.0]]}
    >>> events = sapwood.frame(f"{path}:events").define("ht", "Sum$(jets)")
    >>> busy = events.filter("ht > 0", "a jet")
    >>> met, count, cuts = busy.hist("met", bins=(10, 0, 100)), busy.count(), busy.report()
    >>> count.value, met.value.sum(), cuts.value[0].efficiency
    (2, 2.0, 0.6666666666666666)
    """
    limits = {"threads": threads, "object_limit": object_limit, "answer_limit": answer_limit}
    reads = {
        "allow_missing": allow_missing,
        "fill": fill,
        "friends": friends,
        "lumi_mask": lumi_mask,
        "entries": entries,
    }
    return Frame(
        Analysis(files, {**others, **limits}, reads, aliases, progress), Description(), _core.Frame()
    )


class Frame:
    """Names, filters and variations on top of files: see :func:`sapwood.frame`. Each method returns a new frame
    or a result, and leaves its frame as it is."""

    def __init__(self, analysis: Analysis, description: Description, core: _core.Frame) -> None:
        self._analysis, self._description, self._core = analysis, description, core

    def __reduce__(self) -> Any:
        return _unpickled, (self._analysis, self._description)

    def _on_top(self, method: str, *arguments: Any) -> Frame:
        """A frame with one more step; mistakes show here."""
        core = applied(self._core, method, arguments)
        return Frame(self._analysis, self._description.and_then(method, *arguments), core)

    def _booked(
        self,
        what: str,
        method: str,
        *arguments: Any,
        finish: Callable[[Any], Any] = lambda found: found,
        collects: Any = None,
    ) -> Result:
        booking = Booking(self._description, method, arguments, collects)
        wanted = applied(self._core, method, booking.of_engine())
        return Result(self._analysis, booking, wanted, finish, what)

    def define(
        self,
        name: str,
        value: str | Callable[..., Any],
        inputs: Sequence[str] | None = None,
        library: str = "ak",
    ) -> Frame:
        """Names the value of an expression, or what a function computes.

        A function gets the values of ``inputs`` as arrays of ``library`` (``"ak"`` or ``"np"``): those of
        some thousand entries that pass the filters so far. It returns a value for each entry: numbers, texts,
        or lists of these. It is called without entries first, to learn the type of its values, and from
        several threads.

        >>> import sapwood
        >>> f = sapwood.frame("a.root:events").define("ht", "Sum$(Jet_pt)")
        >>> f = f.define("root", lambda ht: ht ** 0.5, inputs=["ht"])
        """
        return self._defined(name, value, inputs, library, False)

    def redefine(
        self,
        name: str,
        value: str | Callable[..., Any],
        inputs: Sequence[str] | None = None,
        library: str = "ak",
    ) -> Frame:
        """Changes the meaning of a column or another name. The new one may be computed of the old one.

        >>> import sapwood
        >>> f = sapwood.frame("a.root:events").redefine("Jet_pt", "Jet_pt * 1.02")
        """
        return self._defined(name, value, inputs, library, True)

    def _defined(
        self, name: str, value: Any, inputs: Sequence[str] | None, library: str, again: bool
    ) -> Frame:
        if isinstance(value, str):
            if inputs is not None:
                raise ExpressionError(
                    f"{name!r} is an expression, which names its inputs itself: leave inputs= out"
                )
            return self._on_top("define", name, value, again)
        if not callable(value):
            raise ExpressionError(f"{name!r} is an expression or a function, not {value!r}")
        if inputs is None:
            raise ExpressionError(
                f"say of which values the function computes {name!r}: inputs=['Jet_pt', ...]"
            )
        check_array_library(library)
        listed = [inputs] if isinstance(inputs, str) else list(inputs)
        return self._on_top("compute", name, listed, value, library, again)

    def filter(self, expression: str, name: str = "") -> Frame:
        """Keeps the entries for which an expression is true. ``name`` stands for it in reports.

        >>> import sapwood
        >>> f = sapwood.frame("a.root:events").filter("nMuon >= 2", "two muons")
        """
        if not isinstance(expression, str):
            raise ExpressionError(
                f"a filter is an expression, not {expression!r}: define a name by the function, and filter by it"
            )
        return self._on_top("filter", expression, name)

    def range(self, *bounds: int | None) -> Frame:
        """Keeps some of the entries that pass the filters so far, by their positions. ``bounds`` are those of
        :func:`itertools.islice`: ``range(1000)`` keeps the first thousand, ``range(1000, 5000)`` the four
        thousand after these, ``range(0, None, 10)`` every tenth. Positions count through all files of a
        sample.

        Columns of the filters above are read twice, up to the last of these entries. Entries after
        all ranges are not read.

        >>> import os, sapwood, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "a.root")
        >>> with sapwood.recreate(path) as file:
        ...     file["t"] = {"x": [1, 2, 3, 4, 5, 6]}
        >>> sapwood.frame(f"{path}:t").filter("x > 1").range(1, None, 2).take("x", library="np").value
        array([3, 5])
        """
        if not 1 <= len(bounds) <= 3:
            raise MismatchError(f"range takes stop, or start and stop, or start, stop and step: {bounds}")
        start, stop, step = (None, bounds[0], None) if len(bounds) == 1 else (*bounds, None)[:3]
        for value in bounds:
            if value is not None and (not isinstance(value, numbers.Integral) or value < 0):
                raise MismatchError(f"bounds of a range are whole numbers from 0 on, not {value!r}")
        return self._on_top("range", start or 0, stop, 1 if step is None else step)

    def vary(self, name: str, variations: Mapping[str, Mapping[str, str]]) -> Frame:
        """Varies columns or other names: results further down have a value for each variation that changes them,
        beside the nominal one.

        ``variations`` are, by tag, the names that change and what stands in their place. In the results a
        variation is called ``name:tag``.

        >>> import sapwood
        >>> f = sapwood.frame("a.root:events")
        >>> f = f.vary("jes", {"up": {"Jet_pt": "Jet_pt * 1.03"}, "down": {"Jet_pt": "Jet_pt * 0.97"}})
        """
        if not isinstance(variations, Mapping):
            raise ExpressionError(
                f"variations are {{tag: {{name: expression}}}}, and those of {name!r} are {variations!r}"
            )
        given = []
        for part in (name, *variations):
            if not isinstance(part, str) or ":" in part:
                raise ExpressionError(f"{part!r} cannot name a variation: names are texts without a colon")
        for tag, of in variations.items():
            if not isinstance(of, Mapping):
                raise ExpressionError(f"a variation is {{name: expression}}, and {name}:{tag} is {of!r}")
            for column, text in of.items():
                if not isinstance(text, str):
                    raise ExpressionError(
                        f"{column!r} of the variation {name}:{tag} is an expression, not {text!r}"
                    )
            given.append((f"{name}:{tag}", list(of.items())))
        return self._on_top("vary", given)

    def hist(
        self,
        *expressions: str,
        bins: Any = None,
        weight: str | None = None,
        name: str = "h",
        title: str | None = None,
        library: str = "hist",
    ) -> Result:
        """A histogram of one to three expressions, along x first. Lists count item by item.

        ``bins`` are as for :meth:`sapwood.Tree.draw`: ``(100, 0, 200)``, edges, an axis of hist (also of
        categories), a list of these for several axes, or a number of bins that lie around the values.
        ``weight`` is an expression.
        With ``library="root"`` the histogram is one of ROOT's classes, which can be written, and with
        ``"np"`` arrays.

        >>> import sapwood
        >>> ht = sapwood.frame("a.root:events").hist("Sum$(Jet_pt)", bins=(50, 0, 500), weight="genWeight")
        """
        if library == "hist" and drawing.has_categories(bins):
            return self.histnd(*expressions, bins=bins, weight=weight)
        return self._histogram(expressions, bins, weight, name, title, library, False)

    def fill(self, histogram: Any, *expressions: str, weight: str | None = None) -> Result:
        """A histogram of hist or boost-histogram with any number of axes, also of categories. It has the axes
        and the storage of ``histogram``, which does not change, and takes an expression for each axis. Lists
        count item by item, and the value of an entry for each item of the others. Missing ones are left out.

        Arrays are filled, a step at a time: :meth:`hist` is faster.

        >>> import hist, sapwood
        >>> empty = hist.Hist.new.IntCat([1, 2, 3]).Reg(50, 0, 500).Reg(10, -5, 5).Weight()
        >>> f = sapwood.frame("a.root:events")
        >>> found = f.fill(empty, "Jet_flavour", "Jet_pt", "Jet_eta", weight="genWeight")
        """
        given = [*expressions] if weight is None else [*expressions, weight]
        folding = filling(histogram, len(expressions), weight is not None)
        words = f"fill {words_of(expressions)}"
        return self._booked(words, "columns", given, finish=folding.finished, collects=folding)

    def histnd(self, *expressions: str, bins: Any, weight: str | None = None) -> Result:
        """A histogram of hist with any number of axes. ``bins`` has ``(50, 0, 500)``, edges or an axis of hist for
        each expression, also axes of categories. The rest is as in :meth:`fill`.

        >>> import os, sapwood, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "a.root")
        >>> with sapwood.recreate(path) as file:
        ...     file["t"] = {"x": [1.0, 2.0], "y": [3.0, 4.0], "z": [5.0, 6.0], "u": [7.0, 8.0]}
        >>> found = sapwood.frame(f"{path}:t").histnd("x", "y", "z", "u", bins=[(10, 0, 10)] * 4)
        >>> found.value.ndim, found.value[1j, 3j, 5j, 7j].value
        (4, 1.0)
        """
        return self.fill(empty(bins, len(expressions)), *expressions, weight=weight)

    def sparse(
        self,
        *expressions: str,
        bins: Any,
        weight: str | None = None,
        name: str = "h",
        title: str | None = None,
    ) -> Result:
        """A sparse histogram of any number of expressions: a ``THnSparse`` of ROOT, which takes memory for bins that
        were filled alone. ``bins`` are as in :meth:`hist`, a list with one for each expression. The value can
        be written to a file, and has ``coordinates()``, ``contents``, ``squares`` and ``to_hist()``.

        >>> import os, sapwood, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "a.root")
        >>> with sapwood.recreate(path) as file:
        ...     file["t"] = {"x": [1.5, 1.5, 2.5], "y": [3.5, 3.5, 4.5]}
        >>> found = sapwood.frame(f"{path}:t").sparse("x", "y", bins=[(1000, 0, 1000), (1000, 0, 1000)])
        >>> found.value.coordinates().tolist(), found.value.contents.tolist()
        ([[2, 4], [3, 5]], [2.0, 1.0])
        """
        axes = [short(axis) for axis in drawing.axes_of(bins)]
        words = words_of(expressions)
        return self._booked(
            f"sparse {words}",
            "sparse",
            list(expressions),
            axes,
            weight,
            name,
            words if title is None else title,
            finish=lambda found: drawing.as_model(found.draft(), found.name),
        )

    def profile(
        self,
        *expressions: str,
        bins: Any = None,
        weight: str | None = None,
        name: str = "h",
        title: str | None = None,
        library: str = "hist",
    ) -> Result:
        """Means of the last expression in bins of those before it; the rest is as in :meth:`hist`.

        >>> import sapwood
        >>> response = sapwood.frame("a.root:events").profile("Jet_eta", "Jet_pt", bins=(20, -5, 5))
        """
        return self._histogram(expressions, bins, weight, name, title, library, True)

    def _histogram(
        self,
        expressions: Sequence[str],
        bins: Any,
        weight: str | None,
        name: str,
        title: str | None,
        library: str,
        profile: bool,
    ) -> Result:
        drawing.check_library(library)
        count = int(bins) if isinstance(bins, numbers.Integral) and not isinstance(bins, bool) else None
        axes = None
        if bins is not None and count is None:
            axes = [short(axis) for axis in drawing.axes_of(bins)]
        words = words_of(expressions)
        named = (name, words if title is None else title)
        return self._booked(
            f"hist {words}",
            "histogram",
            list(expressions),
            axes,
            count,
            weight,
            *named,
            profile,
            finish=lambda found: _with_axes(drawing.as_library(found, library), bins, library),
        )

    def explain(self) -> Explained:
        """Describes the next pass over the first file, for all results that wait.

        >>> import os, sapwood, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "a.root")
        >>> with sapwood.recreate(path) as file:
        ...     file["t"] = {"x": [1.0, 2.0], "y": [3.0, 4.0]}
        >>> busy = sapwood.frame(f"{path}:t").filter("x > 1")
        >>> total, mean = busy.sum("y"), busy.mean("y")
        >>> found = busy.explain()
        >>> found.columns, found.first, found.outputs
        (['x', 'y'], ['x'], 1)
        """
        waiting = self._analysis.waiting
        if not waiting:
            raise MismatchError("nothing was asked of this frame yet: explain it after its results are named")
        return Explained(*self._analysis.explain(waiting))

    def graph(self) -> FrameGraph:
        """The steps of the next pass if results wait for one, else those of the last pass: with the entries
        that reached each step, and its seconds. Notebooks show a picture, which ``save`` writes as SVG.
        Entries that statistics ruled out are not counted.

        >>> import os, sapwood, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "a.root")
        >>> with sapwood.recreate(path) as file:
        ...     file["t"] = {"x": [1.0, 2.0, 3.0], "y": [3.0, 4.0, 5.0]}
        >>> f = sapwood.frame(f"{path}:t")
        >>> total = f.filter("x > 1", "high").sum("y").value
        >>> [(step.kind, step.entries, step.passed) for step in f.graph().steps]
        [('filter', 3, 2), ('result', 2, 2)]
        """
        return self._analysis.graph()

    def count(self) -> Result:
        """The number of entries that pass.

        >>> import sapwood
        >>> passed = sapwood.frame("a.root:events").filter("nMuon >= 2").count()
        """
        return self._booked("count", "count")

    def _statistic(self, expression: str, which: str) -> Result:
        return self._booked(f"{which} {expression}", "statistics", expression, finish=results.number(which))

    def sum(self, expression: str) -> Result:
        """The sum of an expression, over all items of lists.

        >>> import sapwood
        >>> total = sapwood.frame("a.root:events").sum("genWeight")
        """
        return self._statistic(expression, "sum")

    def mean(self, expression: str) -> Result:
        """The mean of an expression, over all items of lists; NaN for none.

        >>> import sapwood
        >>> mean = sapwood.frame("a.root:events").mean("MET_pt")
        """
        return self._statistic(expression, "mean")

    def min(self, expression: str) -> Result:
        """The least value of an expression, over all items of lists; NaN for none.

        >>> import sapwood
        >>> least = sapwood.frame("a.root:events").min("MET_pt")
        """
        return self._statistic(expression, "min")

    def max(self, expression: str) -> Result:
        """The largest value of an expression, over all items of lists; NaN for none.

        >>> import sapwood
        >>> largest = sapwood.frame("a.root:events").max("MET_pt")
        """
        return self._statistic(expression, "max")

    def std(self, expression: str) -> Result:
        """The standard deviation of an expression, by one less than the number of values, as
        ``RDataFrame::StdDev``.

        >>> import sapwood
        >>> spread = sapwood.frame("a.root:events").std("MET_pt")
        """
        return self._statistic(expression, "std")

    def report(self, weight: str | None = None) -> Result:
        """How many entries met each filter and passed it: a tuple of ``(name, all, passed, weights)``, which prints
        as a table. ``weights`` are the sums of ``weight`` of those that met it and of those that passed.

        >>> import sapwood
        >>> cuts = sapwood.frame("a.root:events").filter("nMuon >= 2", "two muons").report()
        """
        return self._booked("report", "report", weight, finish=results.cut_flow)

    def take(self, *expressions: str, library: str = "ak") -> Result:
        """The values of expressions for the entries that pass: an array of one, or a dictionary of several.

        >>> import sapwood
        >>> met = sapwood.frame("a.root:events").filter("nMuon >= 2").take("MET_pt", library="np")
        """
        if not expressions:
            raise ExpressionError("say which values are taken: take('MET_pt', ...)")
        check_array_library(library)
        taking = Taking(expressions, library)
        words = f"take {words_of(expressions)}"
        return self._booked(words, "columns", list(expressions), finish=taking.finished, collects=taking)

    def aggregate(
        self,
        zero: Any,
        add: Callable[[Any, dict[str, Any]], Any],
        columns: Sequence[str],
        library: str = "ak",
        merge: Callable[[Any, Any], Any] | None = None,
    ) -> Result:
        """Folds the entries with a function, some thousand at a time: ``add(so_far, arrays)`` returns the
        next value, and ``zero`` is the first one. ``arrays`` are those of ``columns``, by name. ``merge(one,
        other)`` joins what two workers of an executor found.

        >>> import sapwood
        >>> f = sapwood.frame("a.root:events")
        >>> longest = f.aggregate(0, lambda most, of: max([most, *map(len, of["Jet_pt"])]), ["Jet_pt"])
        """
        check_array_library(library)
        listed = [columns] if isinstance(columns, str) else list(columns)
        folding = Folding(listed, library, zero, add, merge)
        words = f"aggregate {', '.join(listed)}"
        return self._booked(words, "columns", listed, finish=folding.finished, collects=folding)

    def snapshot(
        self,
        path: Any,
        columns: Sequence[str] | Mapping[str, str],
        name: str = "Events",
        *,
        rntuple: bool = False,
        **options: Any,
    ) -> Result:
        """Writes values of the entries that pass into a new file, beside everything else that is computed. The value
        of the result is the path with the name of the tree.

        ``columns`` are names, or expressions by the names that they get. ``rntuple=True`` writes an RNTuple
        instead of a tree. Each sample and variation has its own tree: ``Events__ttbar``, ``Events__jes_up``.
        ``options`` are those of :func:`sapwood.recreate`.

        >>> import sapwood
        >>> skim = sapwood.frame("a.root:events").filter("nMuon >= 2").snapshot("skim.root", ["MET_pt"])
        """
        listed = [columns] if isinstance(columns, str) else columns
        named = dict(listed) if isinstance(listed, Mapping) else {column: column for column in listed}
        if not named:
            raise ExpressionError("say which columns are written: snapshot(path, ['MET_pt', ...])")
        snapshots = Snapshots(path, name, list(named), "rntuple" if rntuple else "tree", options)
        return self._booked(
            f"snapshot {path}",
            "columns",
            list(named.values()),
            finish=snapshots.finished,
            collects=snapshots,
        )


def words_of(expressions: Sequence[Any]) -> str:
    """Expressions in one text; other things are refused."""
    for text in expressions:
        if not isinstance(text, str):
            raise ExpressionError(f"results are of expressions, which are texts, not {text!r}")
    return ", ".join(expressions)


def _with_axes(found: Any, bins: Any, library: str) -> Any:
    return drawing.with_axes_of(found, bins) if library == "hist" and bins is not None else found


def _unpickled(analysis: Analysis, description: Description) -> Frame:
    return Frame(analysis, description, description.core())


def run(
    *wanted: Result,
    executor: Any = None,
    step_size: int | str = WORKER_STEP,
    progress: bool | None = None,
    partial: Callable[[list[Any], int], None] | None = None,
) -> None:
    """Computes results, and all else that was asked of their frames: one pass over the files of each.

    ``executor`` is one of ``concurrent.futures`` or a ``Client`` of Dask, as for :func:`sapwood.process`:
    workers open the files themselves and compute ``step_size`` entries at a time. What they find is put
    together in the order of entries, so that it does not depend on their number. What a lost worker of Dask
    had is computed again, and counted once. Without one, the engine's threads work in this process.

    ``partial(values, entries)`` is called on the way, at most twice a second: with the values of the results
    so far (``None`` for one that has none yet, and for a new file), and how many entries were read for them.

    >>> import sapwood
    >>> sapwood.run()
    """
    for one in wanted:
        if not isinstance(one, Result):
            raise MismatchError(f"run() takes results of frames, not {one!r}")
    partials = None if partial is None else Partials(wanted, partial)
    for analysis in dict.fromkeys(one._analysis for one in wanted):
        analysis.run(wanted, progress, executor, step_size, partials)


def check_array_library(library: str) -> None:
    """Refuses what functions cannot get."""
    if library not in ("ak", "np"):
        raise TypeError(f'library is "ak" or "np", not {library!r}')
    as_library(library)
