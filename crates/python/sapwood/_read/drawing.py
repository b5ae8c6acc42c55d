"""Histograms of expressions: what ``Tree.draw`` does."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood import _core, objects
from sapwood._notices import warn
from sapwood._read import layout, reading
from sapwood._read import progress as progress_bar
from sapwood._read.drawings import Drawing
from sapwood._read.even_edges import even_edges
from sapwood._read.libraries import need
from sapwood._read.lumi_mask import LumiMask
from sapwood._read.selection import select
from sapwood.errors import ExpressionError, MismatchError
from sapwood.models.entry_list import as_numbers
from sapwood.models.hist import with_variances

if TYPE_CHECKING:
    from sapwood._read.friends import Friend
    from sapwood._tree.tree import Tree

#: The name of a histogram that is to be filled further.
_ADDS = re.compile(r">>\s*\+\s*[A-Za-z_]\w*\s*(\([^()]*\)\s*)?$")
#: Notices that were given once.
_NOTICED: set[str] = set()


def fill(
    tree: Tree,
    drawings: Iterable[Drawing],
    aliases: Mapping[str, str] | None,
    entry_start: int | None,
    entry_stop: int | None,
    entries: Any,
    more: list[_core.Histogram] | None = None,
    friends: Iterable[Friend] = (),
    show: bool | None = False,
    tree_weight: bool | float = True,
) -> list[_core.Histogram]:
    """Histograms of one tree, which is read once; they go on from those of ``more``. ``show`` is as
    ``progress`` of :meth:`arrays`."""
    wanted = [(*one.texts, one.profile, None if one.bins is None else axes_of(one.bins)) for one in drawings]
    draws = _draws(tree, wanted, aliases, friends, tree_weight)
    start, stop, rows = _wanted(tree, entry_start, entry_stop, entries)
    selection = range(stop - start) if rows is None else rows

    def branches() -> list[Any]:
        return [tree._branch(id) for id in draws.needed]

    with progress_bar.bar(branches, selection, show) as bar:
        return draws.fill(start, stop, rows, more, progress_bar.steps(bar, branches, selection))


def points(
    tree: Tree,
    drawing: tuple[str, str],
    aliases: Mapping[str, str] | None,
    entry_start: int | None,
    entry_stop: int | None,
    entries: Any,
    tree_weight: bool | float = True,
) -> tuple[list[np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    """The values that a histogram would be filled with, along x first, and their weights."""
    draws = _draws(tree, [(*drawing, False, None)], aliases, tree_weight=tree_weight)
    columns, weights = draws.points(*_wanted(tree, entry_start, entry_stop, entries))
    found = [layout.to_numpy(column) for column in columns]
    return found, np.ones(len(found[0])) if weights is None else layout.to_numpy(weights)


def _draws(
    tree: Tree,
    wanted: list[Any],
    aliases: Mapping[str, str] | None,
    more: Iterable[Friend] = (),
    tree_weight: bool | float = True,
) -> _core.Draws:
    named = list(reading.used_aliases(tree, aliases).items())
    # The engine's way to go on with a histogram has another form here.
    adding = next((words for words, *_ in wanted if _ADDS.search(words)), None)
    if adding is not None:
        raise ExpressionError(
            f"'>>+' adds to a histogram, in {adding!r}: draw without it and add the two (h + tree.draw(...)), or "
            "draw several files at once (sapwood.draw)"
        )
    weight = _weight(tree_weight)
    draws = tree._with_friends(lambda friends: _core.Draws(tree._core, wanted, named, friends, weight), more)
    for words in draws.notices:
        if words not in _NOTICED:
            _NOTICED.add(words)
            warn(words, stacklevel=4)
    return draws


def _weight(tree_weight: bool | float) -> float | None:
    """The weight of each entry instead of the weight of the tree; ``None`` keeps that of the tree."""
    if isinstance(tree_weight, bool):
        return None if tree_weight else 1.0
    return float(tree_weight)


def masked(tree: Tree, start: int | None, stop: int | None, entries: Any, lumi_mask: Any) -> Any:
    """The entries that a luminosity mask leaves; all of them without one."""
    mask = LumiMask.of(lumi_mask)
    if mask is None:
        return entries
    found = mask.select(tree, select(tree.num_entries, start, stop, as_numbers(entries, tree)))
    return np.arange(*found.span, dtype="int64") if found.rows is None else found.rows


def _wanted(tree: Tree, start: int | None, stop: int | None, entries: Any) -> tuple[int, int, Any]:
    """The entries as the engine takes them, each once."""
    selection = select(tree.num_entries, start, stop, as_numbers(entries, tree))
    rows, _ = selection.in_order()
    return (*selection.span, rows)


def axes_of(bins: Any) -> list[_core.Axis]:
    """Axes from bins: a tuple ``(bins, low, high)``, edges, an axis of hist or boost-histogram, or a list of these
    for several axes. The axes of a histogram are a tuple."""
    is_list = isinstance(bins, list) and all(_is_axis(one) or np.ndim(one) == 1 for one in bins)
    is_axes = isinstance(bins, tuple) and len(bins) > 0 and all(map(_is_axis, bins))
    return [_axis(one) for one in (bins if is_list or is_axes else [bins])]


def _is_axis(bins: Any) -> bool:
    """Whether bins are an axis of hist or boost-histogram."""
    return hasattr(bins, "edges") and hasattr(bins, "traits")


def _axis(bins: Any) -> _core.Axis:
    if isinstance(bins, tuple) and len(bins) == 3:
        count, low, high = bins
        if int(count) != count or not 0 < count < 1e8:
            raise MismatchError(f"the number of bins is a whole number, at least 1, not {count!r}")
        return _core.Axis(even_edges(int(count), low, high).tolist(), None, "")
    if _is_axis(bins):
        traits = bins.traits
        if not (traits.continuous or traits.ordered) or traits.circular:
            raise MismatchError(f"bins are an axis of numbers that has ends, not {bins!r}")
        return _core.Axis(np.asarray(bins.edges, "float64").tolist(), None, "")
    edges = np.asarray(bins, "float64")
    if edges.ndim != 1 or len(edges) < 2:
        raise MismatchError(f"bins are (bins, low, high), edges or an axis of hist, not {bins!r}")
    return _core.Axis(edges.tolist(), None, "")


def check_library(library: str) -> None:
    """Refuses a form of histograms that there is not, before anything is read."""
    if library not in ("hist", "root", "np"):
        raise TypeError(f'library is "hist", "root" or "np", not {library!r}')
    if library == "hist":
        need("hist", 'library="hist"')


def list_name(expression: str) -> str | None:
    """The name of an entry list that is asked for, as in ``>>elist``; ``None`` for what is drawn."""
    words = expression.strip()
    name = words.removeprefix(">>").strip()
    return name if words.startswith(">>") and name.isidentifier() else None


def listed_place(tree: Any) -> tuple[str, str]:
    """The path of a tree and that of its file, by which ROOT finds the list of a tree."""
    return tree.tree._path.partition(";")[0].strip("/"), str(tree.tree.file_path)


def passed_list(tree: Any, name: str, cut: str, rows: Any) -> _core.Draft:
    """A ``TEntryList`` of entries of a tree."""
    path, file = listed_place(tree)
    return objects.entry_list(rows, name, cut, tree=path, file=file)


def as_model(draft: _core.Draft, name: str) -> Any:
    """What is to be written as what was read, with the methods that such a thing has."""
    import sapwood

    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        file[name] = draft
    return sapwood.open(memory)[name]


def has_categories(bins: Any) -> bool:
    """Whether an axis of hist among the bins has categories."""
    given = [bins] if _is_axis(bins) else bins if isinstance(bins, (list, tuple)) else []
    axes = [one for one in given if _is_axis(one)]
    return any(not (axis.traits.continuous or axis.traits.ordered) for axis in axes)


def with_axes_of(found: Any, bins: Any) -> Any:
    """A histogram of hist with the axes that were given as ``bins``: their names, labels and flow bins."""
    given = [bins] if _is_axis(bins) else list(bins) if isinstance(bins, (list, tuple)) else []
    if not any(map(_is_axis, given)) or len(given) != len(found.axes):
        return found
    axes = [one if _is_axis(one) else own for one, own in zip(given, found.axes, strict=True)]
    out = type(found)(*axes, storage=found.storage_type())
    flow = found.view(flow=True)
    kept = [
        slice(None if axis.traits.underflow else 1, None if axis.traits.overflow else -1) for axis in axes
    ]
    out.view(flow=True)[...] = flow[tuple(kept)]
    return out


def as_library(histogram: _core.Histogram, library: str) -> Any:
    """A histogram in a library. Those of hist have variances, with weights and without, so that they can be added."""
    model = as_model(histogram.draft(), histogram.name)
    if library == "hist":
        return with_variances(model.to_hist())
    return model.to_numpy() if library == "np" else model
