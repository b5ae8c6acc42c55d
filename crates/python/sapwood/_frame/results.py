"""Results of frames: they have values once their frame was run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from sapwood._frame.samples import categories
from sapwood._frame.stacking import joined_axis, laid_out
from sapwood._read.libraries import need
from sapwood.errors import MismatchError

if TYPE_CHECKING:
    from sapwood import _core
    from sapwood._frame.analysis import Analysis
    from sapwood._frame.booking import Booking

#: The name that the columns as they are have among variations.
NOMINAL = "nominal"


class Cut(NamedTuple):
    """A filter of a report."""

    name: str
    all: int
    """Entries that met it."""
    passed: int
    """Entries that passed."""
    weights: tuple[float, float] | None = None
    """Sums of their weights, of those that met it and of those that passed; ``None`` without a weight."""

    @property
    def efficiency(self) -> float:
        """The share that passed; NaN if nothing met it."""
        return self.passed / self.all if self.all else float("nan")


class CutFlow(tuple[Cut, ...]):
    """The filters of a frame, the first one first."""

    def __str__(self) -> str:
        """A table: entries that met each filter, those that passed, and their share.

        >>> print(CutFlow([Cut("two jets", 10, 4)]))
        filter    met  passed       %
        two jets   10       4   40.00
        """
        head, rows = self._table()
        cells = [head, *rows]
        widths = [max(len(row[place]) for row in cells) for place in range(len(head))]
        widths[0], widths[3] = max(widths[0], 6), max(widths[3], 6)
        return "\n".join(
            "  ".join(
                [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]
            )
            for row in cells
        )

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """The head and the rows: with sums of weights, if there is a weight."""
        head = ["filter", "met", "passed", "%"]
        rows = [[cut.name, str(cut.all), str(cut.passed), f"{100 * cut.efficiency:.2f}"] for cut in self]
        if any(cut.weights is not None for cut in self):
            head += ["weight met", "passed"]
            for row, cut in zip(rows, self, strict=True):
                row += ["", ""] if cut.weights is None else [f"{weight:.6g}" for weight in cut.weights]
        return head, rows

    def _repr_html_(self) -> str:
        from html import escape

        head, rows = self._table()
        lines = ["".join(f"<th>{cell}</th>" for cell in head)]
        lines += ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
        return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


class Result:
    """Something that was asked of a frame. The first look at a value runs the frame, with all that was asked of
    it and of those that it belongs to."""

    def __init__(
        self,
        analysis: Analysis,
        booking: Booking,
        wanted: _core.Wanted,
        finish: Callable[[Any], Any],
        what: str,
    ) -> None:
        self._analysis, self._finish = analysis, finish
        #: A description of it, in words.
        self.what = what
        #: The wish for this result, and the engine's form of it.
        self.booking, self.wanted = booking, wanted
        #: Results of the engine, by sample (``None`` without samples) and by variation.
        self._found: dict[str | None, dict[str, Any]] | None = None
        #: Values that were made of it: those that somebody has looked at.
        self._values: dict[tuple[str | None, str], Any] = {}
        #: Whether it waited in a pass that failed: then it is computed only when it is asked for.
        self.is_suspect = False
        analysis.book(self)

    @property
    def value(self) -> Any:
        """The value of the columns as they are: a dictionary by sample, if there are samples."""
        return self._value_of(NOMINAL)

    @property
    def variations(self) -> dict[str, Any]:
        """Values by variation: ``"nominal"``, and those that change this result."""
        names = dict.fromkeys(name for of in self._computed().values() for name in of)
        return {name: self._value_of(name) for name in names}

    def _value_of(self, variation: str) -> Any:
        """The value of a variation, by sample if there are samples."""
        values = {}
        for sample, of in self._computed().items():
            # A sample that a variation does not reach is as it is.
            key = (sample, variation if variation in of else NOMINAL)
            if key not in self._values:
                self._values[key] = self._finish(of[key[1]])
            values[sample] = self._values[key]
        return values[None] if None in values else values

    def explain(self) -> Explained:
        """Describes a pass over the first file for this result alone.

        >>> import os, sapwood, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "a.root")
        >>> with sapwood.recreate(path) as file:
        ...     file["t"] = {"x": [1.0, 2.0], "y": [3.0, 4.0]}
        >>> print(sapwood.frame(f"{path}:t").filter("x > 1").sum("y").explain())
        reads x, y
          first x, then the others for entries that pass
          filter x > 1
        computes 1 outputs; 0 expressions are shared
        """
        return Explained(*self._analysis.explain([self]))

    def stacked(self, sample: str = "dataset", variation: str = "variation", by: str | None = None) -> Any:
        """One histogram of hist, with an axis of samples if there are any, and one of variations if there are any.
        The names of these axes are the arguments. With ``by``, a name of metadata, samples with the same
        value are one bin, and the axis has that name. The histogram can be written to a file of ROOT, whose
        axis has these labels.

        >>> import os, sapwood, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "a.root")
        >>> with sapwood.recreate(path) as file:
        ...     file["t"] = {"x": [1.0, 2.0]}
        >>> samples = {name: {"files": f"{path}:t", "process": "top"} for name in ("semi", "full")}
        >>> x = sapwood.frame(samples).hist("x", bins=(10, 0, 10))
        >>> x.stacked().axes[0].size, x.stacked(by="process")["top", sum].value
        (2, 4.0)
        """
        need("hist", "a histogram with axes of categories")
        import hist

        variations = self.variations
        first = variations[NOMINAL]
        has_samples = isinstance(first, dict)
        one = next(iter(first.values())) if has_samples else first
        if not isinstance(one, hist.Hist):
            raise MismatchError(f"{self.what} is not a histogram of hist: only these are stacked")
        known = categories(self._analysis.samples, by) if has_samples or by is not None else {}
        labels = list(dict.fromkeys(known.values()))
        axes = [hist.axis.StrCategory(labels, name=sample if by is None else by)] if has_samples else []
        if len(variations) > 1:
            axes.append(hist.axis.StrCategory(list(variations), name=variation))
        all_of_them = [
            histogram for of in variations.values() for histogram in (of.values() if has_samples else [of])
        ]
        own_axes = [
            joined_axis(list(same), self.what) for same in zip(*(h.axes for h in all_of_them), strict=True)
        ]
        stacked = hist.Hist(*axes, *own_axes, storage=one.storage_type())
        sums: dict[tuple[int, ...], Any] = {}
        for place, of in enumerate(variations.values()):
            for name, histogram in of.items() if has_samples else [("", of)]:
                at = ([labels.index(known[name])] if has_samples else []) + (
                    [place] if len(variations) > 1 else []
                )
                alike = laid_out(histogram, own_axes)
                sums[tuple(at)] = sums[tuple(at)] + alike if tuple(at) in sums else alike
        view = stacked.view(flow=True)
        for bins, histogram in sums.items():
            view[bins] = histogram.view(flow=True)
        return stacked

    def _computed(self) -> dict[str | None, dict[str, Any]]:
        """Results of the engine, by sample and variation."""
        if self._found is None:
            self._analysis.run([self])
        if self._found is None:  # pragma: no cover
            raise MismatchError(f"{self.what} has no value")
        return self._found

    def finished(self, found: Any) -> Any:
        """A value from what the engine found so far. What it goes on with stays as it is."""
        return self._finish(self.booking.copied(found))

    def _take(self, found: dict[str | None, tuple[Any, list[tuple[str, Any]]]]) -> None:
        """Keeps what the engine found, by sample."""
        self._found = {
            sample: {NOMINAL: nominal, **dict(varied)} for sample, (nominal, varied) in found.items()
        }

    def __repr__(self) -> str:
        state = "not run yet" if self._found is None else repr(self.value)
        return f"<Result {self.what}: {state}>"

    def _repr_html_(self) -> str | None:
        if self._found is None:
            return None
        show = getattr(self.value, "_repr_html_", None)
        return show() if show is not None else None


class Explained(NamedTuple):
    """A pass over one file: columns, filters, outputs."""

    columns: list[str]
    """All columns that are read."""
    first: list[str]
    """Columns that are read first, to find the entries for which the others are needed."""
    filters: list[tuple[int, str]]
    """Filters as they are computed: the number of the one above (0 for all entries), and the expression."""
    functions: list[str]
    """Names that functions compute."""
    outputs: int
    """Different outputs: equal results are one."""
    shared: int
    """Expressions that several others need, and that are computed once."""

    def __str__(self) -> str:
        """The description in lines of text."""
        lines = [f"reads {', '.join(self.columns) or 'nothing'}"]
        if self.first:
            lines.append(f"  first {', '.join(self.first)}, then the others for entries that pass")
        depth = [0]
        for parent, text in self.filters:
            depth.append(depth[parent] + 1)
            lines.append("  " * depth[-1] + f"filter {text}")
        lines += [f"calls the function of {name}" for name in self.functions]
        return "\n".join([*lines, f"computes {self.outputs} outputs; {self.shared} expressions are shared"])


#: Names of the engine's statistics, in order.
_STATISTICS = ("count", "sum", "mean", "min", "max", "std")


def number(name: str) -> Callable[[Any], Any]:
    """One of the statistics of a value; ``min`` and ``max`` of nothing are NaN.

    >>> from sapwood import _core
    >>> number("mean")(_core.FrameStatistics.of((2, (3.0, 0.0, 1.5, 0.5, 1.0, 2.0), None)))
    1.5
    """

    def one(found: _core.FrameStatistics) -> Any:
        statistics = dict(zip(_STATISTICS, found.found(), strict=True))
        return statistics[name] if statistics["count"] or name not in ("min", "max") else float("nan")

    return one


def cut_flow(found: Any) -> CutFlow:
    """The filters of a report."""
    return CutFlow(Cut(*one) for one in found)
