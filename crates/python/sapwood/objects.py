"""Objects to be written: ``file["name"] = objects.graph(x, y)``.

Each function gives an object that a :class:`~sapwood.WritableFile` takes, on its own, in a list (``TList``)
or in a :func:`mapping` (``TMap``).
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sapwood import _core
from sapwood._read.entry_ranges import EntryRanges, blocks_of_numbers
from sapwood._write import bins
from sapwood._write.bins import Bins
from sapwood._write.lossless import unmasked
from sapwood.errors import MismatchError
from sapwood.model import Model

Array = NDArray[Any]
_LETTERS = {
    "bool": "C", "int8": "C", "uint8": "S", "int16": "S", "uint16": "I", "int32": "I", "float16": "F", "float32": "F",
}  # fmt: skip


def text(value: str) -> _core.Draft:
    """A string: ``TObjString``. The same as ``file["name"] = value``.

    >>> text("written here").classname
    'TObjString'
    """
    return _core.Draft("TObjString", [("fString", value)])


def named(title: str = "", name: str = "") -> _core.Draft:
    """A name and a title: ``TNamed``. In a file, its name is that of its key.

    >>> import io, sapwood
    >>> memory = io.BytesIO()
    >>> with sapwood.recreate(memory) as file:
    ...     file["selection"] = named("pt > 20")
    >>> sapwood.open(memory)["selection"].title
    'pt > 20'
    """
    return _core.Draft("TNamed", [("fName", name), ("fTitle", title)])


def parameter(value: Any, name: str = "") -> _core.Draft:
    """A number: ``TParameter`` of ``bool``, ``Long64_t``, ``int`` (for ``numpy.int32``), ``float``
    (``numpy.float32``) or ``double``.

    >>> import io, sapwood
    >>> memory = io.BytesIO()
    >>> with sapwood.recreate(memory) as file:
    ...     file["luminosity"] = parameter(41.5)
    >>> sapwood.open(memory)["luminosity"].value
    41.5
    """
    kinds: list[tuple[tuple[type, ...], str]] = [
        ((bool, np.bool_), "bool"),
        ((np.int8, np.int16, np.int32, np.uint8, np.uint16), "int"),
        ((int, np.integer), "Long64_t"),
        ((np.float16, np.float32), "float"),
        ((float, np.floating), "double"),
    ]
    kind = next((kind for types, kind in kinds if isinstance(value, types)), None)
    if kind is None:
        raise MismatchError(f"a parameter is a number, not a {type(value).__name__}")
    if kind == "Long64_t" and not -(2**63) <= int(value) < 2**63:
        raise MismatchError(f"no parameter holds {value}")
    plain = bool(value) if kind == "bool" else int(value) if kind in ("int", "Long64_t") else float(value)
    bit_first = 1 << 21  # merged, the first one counts: `TParameter::kFirst`
    return _core.Draft(f"TParameter<{kind}>", [("fBits", bit_first), ("fName", name), ("fVal", plain)])


def graph(
    x: Any, y: Any, ex: Any = None, ey: Any = None, *, title: str = "", axis_titles: Sequence[str] = ()
) -> _core.Draft:
    """Points: ``TGraph``; with errors ``TGraphErrors``; with errors that are pairs (below, above)
    ``TGraphAsymmErrors``.

    >>> import io, sapwood
    >>> memory = io.BytesIO()
    >>> with sapwood.recreate(memory) as file:
    ...     file["g"] = graph([1, 2, 3], [4, 5, 6], ey=([0.1, 0.2, 0.3], [1, 1, 1]))
    >>> read = sapwood.open(memory)["g"]
    >>> read.classname, read.values("y").tolist(), read.errors("low", "y").tolist()
    ('TGraphAsymmErrors', [4.0, 5.0, 6.0], [0.1, 0.2, 0.3])
    """
    points = _points(x, "x"), _points(y, "y")
    zeros = np.zeros(len(points[0]))
    both = None
    sides = None
    if any(_has_sides(errors) for errors in (ex, ey)):
        sides = [
            tuple(
                zeros if side is None else _points(side, f"e{letter}")
                for side in (errors if _has_sides(errors) else (errors, errors))
            )
            for letter, errors in (("x", ex), ("y", ey))
        ]
    elif ex is not None or ey is not None:
        both = tuple(
            zeros if errors is None else _points(errors, f"e{letter}")
            for letter, errors in (("x", ex), ("y", ey))
        )
    return _core.graph(";".join([title, *axis_titles]), points, both, sides)


def _has_sides(errors: Any) -> bool:
    return isinstance(errors, tuple) and len(errors) == 2 and np.ndim(errors[0]) == 1


def as_TGraph(
    df: Any,
    title: str = "",
    xAxisLabel: str = "",
    yAxisLabel: str = "",
    minY: float | None = None,
    maxY: float | None = None,
    lineColor: int = 602,
    lineStyle: int = 1,
    lineWidth: int = 1,
    markerColor: int = 1,
    markerStyle: int = 1,
    markerSize: float = 1.0,
) -> Model:
    """uproot's way to a graph: from a DataFrame or mapping with ``x``, ``y``, and errors where it has columns
    ``x_errors`` and ``y_errors``, or ``x_errors_low``, ``x_errors_high``, ``y_errors_low`` and
    ``y_errors_high``. ``minY`` and ``maxY`` are the range of the plot; without them it is that
    of ``y``, and a tenth of it more on each side.

    >>> made = as_TGraph({"x": [1, 2], "y": [3, 13]}, title="points")
    >>> made.classname, made.title, made.member("fMinimum"), made.member("fMaximum")
    ('TGraph', 'points;;', 2.0, 14.0)
    """

    def errors(letter: str) -> Any:
        sides = [df.get(f"{letter}_errors_{side}") for side in ("low", "high")]
        both = df.get(f"{letter}_errors")
        if any(side is not None for side in sides):
            zeros = np.zeros(len(df["x"]))
            low, high = (zeros if side is None else np.asarray(side) for side in sides)
            return low, high
        return None if both is None else np.asarray(both)

    y = np.asarray(df["y"])
    made = graph(
        np.asarray(df["x"]), y, errors("x"), errors("y"), title=title, axis_titles=[xAxisLabel, yAxisLabel]
    )
    # Points on one line get -1111, which leaves the choice to ROOT.
    finite = y[np.isfinite(y)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    margin = 0.1 * (high - low)
    chosen = {
        "fMinimum": minY if minY is not None else low - margin if margin else None,
        "fMaximum": maxY if maxY is not None else high + margin if margin else None,
        "fLineColor": lineColor,
        "fLineStyle": lineStyle,
        "fLineWidth": lineWidth,
        "fMarkerColor": markerColor,
        "fMarkerStyle": markerStyle,
        "fMarkerSize": markerSize,
    }
    for name, value in chosen.items():
        if value is not None:
            made = made.replaced(
                name, float(value) if name in ("fMinimum", "fMaximum", "fMarkerSize") else int(value)
            )
    return _read_back(made)


def _read_back(made: _core.Draft) -> Model:
    """The object as it is read from a file: with members."""
    from sapwood._file.file import open
    from sapwood.writing import recreate

    memory = io.BytesIO()
    with recreate(memory, compression=None) as file:
        # In a list, for an object of a key gets the name of that.
        file["objects"] = collection([made])
    found: Model = open(memory)["objects"][0]
    return found


def _points(values: Any, what: str) -> Array:
    values = unmasked(values, f"{what} of a graph")
    try:
        array = np.asarray(values, "float64")
    except (TypeError, ValueError):
        raise MismatchError(f"{what} of a graph are numbers") from None
    if array.ndim != 1:
        raise MismatchError(f"{what} of a graph are a list of numbers, not of shape {array.shape}")
    return np.ascontiguousarray(array)


def histogram(
    values: Any,
    *axes: Any,
    variances: Any = None,
    title: str = "",
    axis_titles: Sequence[str] = (),
    kind: str | None = None,
    entries: float | None = None,
    flow: bool = False,
) -> _core.Draft:
    """A histogram: ``TH1``, ``TH2`` or ``TH3``, as many directions as there are ``axes``.

    An axis is a list of edges, ``(number of bins, low, high)``, or a list of labels. With ``flow``,
    ``values`` and ``variances`` begin with the underflow bin and end with the overflow bin in each direction.
    ``variances`` are the squares of the errors (``fSumw2``); without them, errors are the roots of the
    values. ``kind`` is the last letter of the class (``"F"`` for ``TH1F``); without it, the type of the
    values decides, and 64-bit whole numbers are ``D`` as long as it holds them exactly. ``entries`` is
    ``fEntries``; without it, the sum of the values, or the effective number of weighted ones.

    >>> import io, sapwood
    >>> memory = io.BytesIO()
    >>> with sapwood.recreate(memory) as file:
    ...     file["h"] = histogram([1, 2, 4], (3, 0, 6), variances=[1, 3, 9], kind="F", axis_titles=["x [cm]"])
    ...     file["cuts"] = histogram([[10, 5]], [0, 1], ["all", "good"])
    >>> read = sapwood.open(memory)
    >>> read["h"].values().tolist(), read["h"].axis().edges().tolist(), read["h"].axis().title
    ([1.0, 2.0, 4.0], [0.0, 2.0, 4.0, 6.0], 'x [cm]')
    >>> read["cuts"].classname, read["cuts"].axis("y").labels()
    ('TH2D', ['all', 'good'])
    """
    all_bins = _bins(axes, axis_titles)
    weights = bins.whole(values, all_bins, flow, "values")
    squares = None if variances is None else bins.whole(variances, all_bins, flow, "variances")
    if squares is not None and not (np.asarray(squares) >= 0).all():
        raise MismatchError("variances of a histogram are not negative")
    stored = _to_stored_type(weights, kind)
    return _core.histogram(
        title,
        [one.native for one in all_bins],
        bins.flat(stored),
        None if squares is None else bins.flat(squares).astype("float64"),
        bins.entries(weights, squares) if entries is None else float(entries),
        bins.sums(weights, weights if squares is None else squares, all_bins),
    )


def profile(
    counts: Any,
    means: Any,
    errors: Any,
    *axes: Any,
    squared_weights: Any = None,
    title: str = "",
    axis_titles: Sequence[str] = (),
    entries: float | None = None,
    flow: bool = False,
) -> _core.Draft:
    """A profile: ``TProfile``, ``TProfile2D`` or ``TProfile3D``; of each bin the mean of a value, and the
    error of the mean.

    ``counts`` are the entries of each bin, or the sums of their weights; ``squared_weights`` the sums of the
    squares. Axes and ``flow`` are those of :func:`histogram`.

    >>> import io, sapwood
    >>> memory = io.BytesIO()
    >>> with sapwood.recreate(memory) as file:
    ...     file["p"] = profile([4, 9], [1.5, 2.5], [0.1, 0.2], (2, 0, 1))
    >>> sapwood.open(memory)["p"].values().tolist()
    [1.5, 2.5]
    """
    all_bins = _bins(axes, axis_titles)
    sizes = bins.whole(counts, all_bins, flow, "counts").astype("float64")
    middle = bins.whole(means, all_bins, flow, "means").astype("float64")
    spread = bins.whole(errors, all_bins, flow, "errors").astype("float64")
    squares = (
        sizes if squared_weights is None else bins.whole(squared_weights, all_bins, flow, "squared_weights")
    )
    # ROOT's error of a mean is the spread divided by the root of the effective entries.
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = np.where(squares > 0, sizes * sizes / squares, 0.0)
    squared_values = np.where(sizes > 0, sizes * (middle * middle + effective * spread * spread), 0.0)
    return profile_of(
        all_bins,
        sizes,
        np.where(sizes > 0, sizes * middle, 0.0),
        squared_values,
        None if squared_weights is None else np.asarray(squares, "float64"),
        title,
        entries,
    )


def profile_of(
    all_bins: Sequence[Bins],
    weights: Array,
    values: Array,
    squared_values: Array,
    squared_weights: Array | None,
    title: str,
    entries: float | None = None,
) -> _core.Draft:
    """A profile by its sums in each bin, flow bins included: of weights, of weighted values, of their
    weighted squares, and of squares of weights."""
    inner = bins.inside(len(all_bins))
    squares = weights if squared_weights is None else squared_weights
    return _core.profile(
        title,
        [one.native for one in all_bins],
        (bins.flat(weights), bins.flat(values), bins.flat(squared_values)),
        None if squared_weights is None else bins.flat(squared_weights),
        bins.entries(weights, squared_weights) if entries is None else float(entries),
        [
            *bins.sums(weights, squares, all_bins),
            float(values[inner].sum()),
            float(squared_values[inner].sum()),
        ],
    )


def collection(items: Sequence[Any], name: str = "") -> _core.Draft:
    """A ``TList`` of objects. The same as ``file["name"] = [...]``.

    >>> import io, sapwood
    >>> memory = io.BytesIO()
    >>> with sapwood.recreate(memory) as file:
    ...     file["all"] = collection([text("first"), graph([1], [2])])
    >>> [item.classname for item in sapwood.open(memory)["all"]]
    ['TObjString', 'TGraph']
    """
    return _core.Draft("TList", [("fName", name), ("items", [_item(item) for item in items])])


def mapping(items: Mapping[Any, Any], name: str = "") -> _core.Draft:
    """A ``TMap`` from objects to objects; text is an object here.

    >>> import io, sapwood
    >>> memory = io.BytesIO()
    >>> with sapwood.recreate(memory) as file:
    ...     file["runs"] = mapping({"period": "2018A", "tag": "v3"})
    >>> len(sapwood.open(memory)["runs"])
    2
    """
    pairs = [
        _core.Draft("TPair", [("fKey", _item(key)), ("fValue", _item(item))]) for key, item in items.items()
    ]
    return _core.Draft("TMap", [("fName", name), ("items", pairs)])


def entry_list(
    entries: Any, name: str = "", title: str = "", *, tree: str = "", file: str = ""
) -> _core.Draft:
    """Numbers of entries of a tree: ``TEntryList``. ROOT finds the tree by its name and file, where these are
    given; for several trees ``entries`` are ``{(tree, file): numbers}``.

    >>> import io, sapwood
    >>> memory = io.BytesIO()
    >>> with sapwood.recreate(memory) as file:
    ...     file["t"] = {"x": [1, 2, 3]}
    ...     file["passed"] = entry_list([0, 2], tree="t")
    >>> file = sapwood.open(memory)
    >>> file["t"].arrays(["x"], entries=file["passed"], library="np")["x"].tolist()
    [1, 3]
    """
    members = [("fName", name), ("fTitle", title), ("fTreeName", tree), ("fFileName", file)]
    if isinstance(entries, Mapping):
        lists = [_list_of_tree(of, name, title, path, where) for (path, where), of in entries.items()]
        total = sum(passed for _, passed in lists)
        drafts = collection([draft for draft, _ in lists])
        return _core.Draft("TEntryList", [*members, ("fN", total), ("fLists", drafts)])
    return _list_of_tree(entries, name, title, tree, file)[0]


def _list_of_tree(entries: Any, name: str, title: str, tree: str, file: str) -> tuple[_core.Draft, int]:
    """A list for one tree, and how many entries it has."""
    passed = entries if isinstance(entries, EntryRanges) else _entry_numbers(entries)
    found = passed.blocks() if isinstance(passed, EntryRanges) else blocks_of_numbers(passed)
    blocks = []
    for words, is_list, count in found:
        block = [("fNPassed", count), ("fN", len(words)), ("fIndices", words)]
        blocks.append(_core.Draft("TEntryListBlock", [*block, ("fType", int(is_list)), ("fPassing", True)]))
    members: list[Any] = [("fName", name), ("fTitle", title), ("fTreeName", tree), ("fFileName", file)]
    if blocks:
        array = _core.Draft("TObjArray", [("items", blocks)])
        members += [("fNBlocks", len(blocks)), ("fN", len(passed)), ("fBlocks", array)]
    return _core.Draft("TEntryList", members), len(passed)


def event_list(entries: Any, name: str = "", title: str = "") -> _core.Draft:
    """Numbers of entries: ``TEventList``, the older form of :func:`entry_list`.

    >>> import io, sapwood
    >>> memory = io.BytesIO()
    >>> with sapwood.recreate(memory) as file:
    ...     file["passed"] = event_list([3, 5])
    >>> sapwood.open(memory)["passed"].numbers().tolist()
    [3, 5]
    """
    numbers = _entry_numbers(entries)
    size = max(len(numbers), 1)
    members = [("fName", name), ("fTitle", title), ("fN", len(numbers)), ("fSize", size), ("fDelta", 1000)]
    return _core.Draft("TEventList", [*members, ("fList", numbers)])


def _entry_numbers(entries: Any) -> NDArray[np.int64]:
    """Numbers of entries, ascending, each once."""
    numbers = np.asarray(entries)
    if numbers.size == 0:
        return np.zeros(0, "int64")
    if numbers.ndim != 1 or not np.issubdtype(numbers.dtype, np.integer) or numbers.min() < 0:
        raise MismatchError("entries are numbers of entries, from 0 on; np.flatnonzero makes them of a mask")
    numbers = numbers.astype("int64", copy=False)
    return numbers if bool(np.all(numbers[1:] > numbers[:-1])) else np.unique(numbers)


def _item(value: Any) -> _core.Draft:
    from sapwood._write.conversion import as_object

    found = as_object(value)
    if found is None:
        raise MismatchError(f"a {type(value).__name__} is no object that a file holds")
    return found


def _bins(axes: Sequence[Any], titles: Sequence[str]) -> list[Bins]:
    if not 1 <= len(axes) <= 3:
        raise MismatchError(f"a histogram has one to three axes, not {len(axes)}")
    if len(titles) > len(axes) + 1:
        raise MismatchError(f"{len(titles)} titles for {len(axes)} axes")
    return [Bins.of(axis, title) for axis, title in zip(axes, [*titles, "", "", ""], strict=False)]


def _to_stored_type(values: Array, kind: str | None) -> Array:
    """The values in the type of a class of histograms."""
    if kind is None:
        kind = _LETTERS.get(values.dtype.name, "D")
        # Whole numbers of 64 bits: ROOT's own class for them cannot be read by older versions.
        if (
            kind == "D"
            and values.dtype.kind in "iu"
            and values.size
            and int(np.abs(values.astype(object)).max()) > 2**53
        ):
            kind = "L"
    dtype = _core.histogram_dtype(f"TH{values.ndim}{kind}")
    if dtype is None:
        raise MismatchError(f"a histogram is one of C, S, I, L, F, D, not {kind!r}")
    with np.errstate(invalid="ignore", over="ignore"):
        stored = values.astype(dtype)
    if stored.dtype.kind == "i" and not np.array_equal(stored, values):
        raise MismatchError(f"a TH{values.ndim}{kind} does not hold these values")
    return stored
