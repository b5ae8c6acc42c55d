"""Rows of expressions with an item of each list on a line of its own: what ``TTree::Scan`` prints."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood import _core
from sapwood._read import notebook, reading
from sapwood._read.filters import as_match
from sapwood._read.selection import Selection, of_rows
from sapwood._tree import iteration
from sapwood.errors import MismatchError

if TYPE_CHECKING:
    from sapwood._read.friends import Friend
    from sapwood._tree.tree import Tree

#: Numbers of entries, a column for each expression, and whether one more is a cut on items.
Block = tuple[np.ndarray[Any, Any], list[_core.Column], bool]
#: What a cell holds; `None` where a list has too few items.
Cell = int | float | str | None
#: Entry, number of the item in it, and cells.
Line = tuple[int, int, list[Cell]]

#: Entries and bytes that are read at a time, at most, and lines that are made of them at a time.
_ENTRIES, _BYTES, _LINES = 1 << 14, 4_000_000, 1 << 12
#: Lines of a table, unless ``limit`` says how many.
_SHOWN = 25
#: What needs no quotes to be a name in an expression.
_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


class Scan:
    """The rows of :meth:`sapwood.Tree.scan`: a table where it is printed or shown in a notebook, and a mapping
    for each row where it is iterated over. Rows are read when they are needed, each time anew, a few at a
    time. Loops, CSV and JSON lines have all rows, or the first ``limit``; a table has 25 of them where no
    ``limit`` is given, and says so.

    Items of lists are on lines of their own; ``instance`` counts those of an entry. Values that are no lists
    are repeated, and where a list has too few items there is ``None``.

    >>> import io, sapwood
    >>> with sapwood.recreate(memory := io.BytesIO()) as file:
    ...     file["t"] = {"x": [0.5, 1.5], "v": [[1, 2], [3]]}
    >>> scan = sapwood.open(memory)["t"].scan("x:v", "v > 1")
    >>> print(scan)
    ***********************************************
    *    Row   * Instance *         x *         v *
    ***********************************************
    *        0 *        1 *       0.5 *         2 *
    *        1 *        0 *       1.5 *         3 *
    ***********************************************
    >>> next(iter(scan))
    {'entry': 0, 'instance': 1, 'x': 0.5, 'v': 2}
    >>> print(scan.csv(), end="")
    entry,instance,x,v
    0,1,0.5,2
    1,0,1.5,3
    """

    def __init__(
        self,
        names: list[str],
        blocks: Callable[[int | None], Iterator[Block]],
        has_lists: bool,
        limit: int | None,
        look: tuple[str, int, int],
    ) -> None:
        if limit is not None and limit < 0:
            raise MismatchError(f"limit is a number of rows, or None for all of them, not {limit}")
        #: The expressions, as columns of the table.
        self.names = names
        self._blocks = blocks
        self._limit = limit
        self._table = _core.ItemTable(names, *look, has_lists)
        self._precision = look[2]

    def _lines(self) -> Iterator[Line]:
        return islice(self._all_lines(self._limit), self._limit)

    def _table_lines(self, most: int | None = None) -> tuple[list[Line], bool]:
        """The lines of a table, and whether there are more that were not asked to be left out."""
        wanted = _SHOWN if self._limit is None else self._limit
        shown = wanted if most is None else min(wanted, most)
        found = list(islice(self._all_lines(shown), shown if shown == self._limit else shown + 1))
        return found[:shown], len(found) > shown

    def _all_lines(self, wanted: int | None) -> Iterator[Line]:
        for numbers, columns, cuts_items in self._blocks(wanted):
            row = 0
            while row < len(numbers):
                found, row = _core.item_lines(columns, row, _LINES)
                for at, instance, cells in found:
                    if cuts_items and not cells.pop():
                        continue
                    yield int(numbers[at]), instance, cells

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for entry, instance, cells in self._lines():
            yield {"entry": entry, "instance": instance, **dict(zip(self.names, cells))}

    def __str__(self) -> str:
        lines, has_more = self._table_lines()
        rows = (self._table.row(*line) for line in lines)
        more = [_more(len(lines))] if has_more else []
        return "\n".join([self._table.head(), *rows, self._table.end(), *more])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        lines, has_more = self._table_lines(notebook.MOST)
        rows = [
            [entry, instance, *(self._shown(cell) for cell in cells)] for entry, instance, cells in lines
        ]
        table = notebook.table("scan", ["entry", "instance", *self.names], rows, len(rows))
        return f"{table}<p>{_more(len(rows))}</p>" if has_more else table

    def _shown(self, cell: Cell) -> str:
        if isinstance(cell, float):
            return f"{cell:.{self._precision}g}"
        return "" if cell is None else str(cell)

    def csv(self, path: Any = None) -> str | None:
        """The rows as comma-separated values, below a line of names: as a text, or in a file."""
        return _written(path, self._csv_lines())

    def json_lines(self, path: Any = None) -> str | None:
        """The rows as JSON objects, one on a line: as a text, or in a file. What is not finite is ``NaN``,
        ``Infinity`` or ``-Infinity``, as in what :func:`sapwood.convert` writes and reads."""
        return _written(path, (json.dumps(row) + "\n" for row in self))

    def _csv_lines(self) -> Iterator[str]:
        import csv

        line = io.StringIO()
        writer = csv.writer(line, lineterminator="\n")
        head: Iterable[list[Cell]] = [["entry", "instance", *self.names]]
        rows = ([entry, instance, *map(_plain, cells)] for entry, instance, cells in self._lines())
        for row in chain(head, rows):
            writer.writerow(row)
            yield line.getvalue()
            line.seek(0)
            line.truncate()


def _written(path: Any, lines: Iterator[str]) -> str | None:
    if path is None:
        return "".join(lines)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.writelines(lines)
    return None


def _more(shown: int) -> str:
    return f"only the first {shown} rows are shown: limit= shows more; loops, csv() and json_lines() have all"


def _plain(cell: Cell) -> Cell:
    if isinstance(cell, float) and not math.isfinite(cell):
        return "NaN" if cell != cell else "Infinity" if cell > 0 else "-Infinity"
    return cell


def expressions_of(tree: Tree, wanted: Any) -> dict[str, str]:
    """Expressions by the names that they are shown with. Patterns stand for the names that they match, and
    ``None`` for all that a table can show."""
    if wanted is None or isinstance(wanted, str) and reading.is_pattern(wanted):
        texts: Iterable[Any] = [wanted]
    else:
        texts = _core.split_expressions(wanted) if isinstance(wanted, str) else wanted
    found: dict[str, str] = {}
    for text in texts:
        if text is not None and not isinstance(text, str):
            raise TypeError(f"an expression is a string, not {text!r}")
        match = as_match(text) if text is None or reading.is_pattern(text) else None
        is_wanted = text is None or match is not None
        names = [name for name in _shown_names(tree) if match is None or match(name)] if is_wanted else []
        found.update((name, name if _NAME.fullmatch(name) else f'get("{name}")') for name in names)
        if not names and text is not None:
            found[text] = text
    if not found:
        raise MismatchError("a scan has at least one column")
    return found


def _shown_names(tree: Tree) -> list[str]:
    outputs = reading.Plan(tree).outputs
    return [output.name for output in outputs if _is_shown(output.branch.interpretation.kind)]  # type: ignore[union-attr]


def _is_shown(kind: tuple[Any, ...] | None) -> bool:
    while kind is not None and kind[0] in ("list", "fixed"):
        kind = kind[-1]
    return kind is not None and kind[0] in ("number", "text")


def query_of(
    tree: Tree,
    expressions: Iterable[str],
    cut: str,
    aliases: Mapping[str, str] | None,
    friends: Iterable[Friend] = (),
) -> tuple[_core.Query, bool]:
    """What is read of a tree, and whether its last column is a cut on items."""
    plan = reading.Plan(tree, [], aliases=aliases, friends=friends)
    values = list(expressions)
    query = plan.query(values, cut or None)
    if query.cut_depth:
        # Entries without an item that passes are left out as wholes before the others are read.
        return plan.query(values, cut, cut), True
    return query, False


def has_lists(query: _core.Query) -> bool:
    """Whether a column of a query has lists."""
    return any(column.kind[0] in ("list", "fixed") for column in query.read([], 0, 0)[2])


def blocks(
    tree: Tree,
    query: _core.Query,
    cuts_items: bool,
    selection: Selection,
    limit: int | None,
    before: int = 0,
) -> Iterator[Block]:
    """The rows of some entries that pass the cut: as many entries as lines are wanted, then more at a time,
    within bounds; ``before`` is added to their numbers."""
    rows, _ = selection.in_order()
    start, last = (0, len(rows)) if rows is not None else selection.span
    tree = tree.tree
    branches = [tree._branch(id) for id in query.needed]
    most = min(_ENTRIES, iteration.entries_for(branches, _BYTES, 0, tree.num_entries))
    step = most if limit is None else min(max(limit, 1), most)
    while start < last:
        stop = min(start + step, last)
        part = Selection((start, stop)) if rows is None else of_rows(rows[start:stop])
        passed, _, columns = query.read([], *part.span, part.rows)
        if passed is not None:
            numbers = np.asarray(passed).view("int64")
        else:
            numbers = np.arange(*part.span) if part.rows is None else part.rows
        yield numbers + before, columns, cuts_items
        start, step = stop, min(2 * step, most)


__all__ = ["Scan"]
