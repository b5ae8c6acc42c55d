"""Trees as datasets of pyarrow, from which DuckDB and others read the columns of a query."""

from __future__ import annotations

import ast
from typing import Any, NoReturn

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.dataset as ds  # type: ignore[import-untyped]

from sapwood._read import predicate as cuts
from sapwood._read import stream
from sapwood.errors import UnsupportedError

#: Batches are smaller than those of streams: Arrow reads some of them ahead.
BATCH = "16 MB"
#: So many of them.
AHEAD = 2

_SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


class TreeDataset(ds.Dataset):  # type: ignore[misc]
    """A tree as a :class:`pyarrow.dataset.Dataset`: a scan reads the columns that it names and those that its
    filter needs, and only baskets with entries that the filter leaves."""

    def __init__(
        self, tree: Any, filter_name: Any = None, step_size: int | str = BATCH, only: Any = None
    ) -> None:
        self._tree = tree
        self._filter_name = filter_name
        self._step_size = step_size
        self._only = only
        ids, names = stream.branches(tree, filter_name)
        self._schema = pa.schema(stream.Described(tree._core.arrow_schema(ids, names)))

    def __reduce__(self) -> Any:
        return TreeDataset, (self._tree, self._filter_name, self._step_size, self._only)

    @property
    def schema(self) -> Any:
        """Names and types of the columns."""
        return self._schema

    @property
    def partition_expression(self) -> Any:
        """A tree has no partitions."""
        return ds.scalar(True)

    def scanner(self, columns: Any = None, filter: Any = None, **options: Any) -> Any:
        """A scan of some columns, or of expressions by names, and of the rows that pass a filter. Of the
        other options ``batch_size`` and ``memory_pool`` count."""
        known = {
            name: options[name] for name in ("batch_size", "memory_pool") if options.get(name) is not None
        }
        filter = filter if self._only is None else self._only if filter is None else self._only & filter
        names = self._schema.names
        wanted = names if columns is None else list(columns)
        texts = [str(one) for one in columns.values()] if isinstance(columns, dict) else []
        texts += [] if filter is None else [str(filter)]
        read = {name for name in names if any(name in text for text in texts)}
        read |= set() if isinstance(columns, dict) else set(wanted)
        # Rows are counted by a column.
        chosen = [name for name in names if name in read] or names[:1]
        self._tree.file._check_unchanged()
        reader = pa.RecordBatchReader.from_stream(self._stream(chosen, filter))
        columns = wanted if columns is None else columns
        return ds.Scanner.from_batches(
            reader, columns=columns, filter=filter, batch_readahead=AHEAD, use_threads=True, **known
        )

    def _stream(self, names: list[str], filter: Any) -> Any:
        """Batches of columns of the entries that may pass a filter."""
        columns = stream.kinds(self._tree, names)
        cut = None if filter is None else cut_of(filter, columns)
        plan = cuts.plan(self._tree, names, cut, columns)
        return stream.steps_of(plan, (0, self._tree.num_entries), self._step_size)

    def filter(self, expression: Any) -> TreeDataset:
        """The same tree, of which every scan has this filter."""
        only = expression if self._only is None else self._only & expression
        return TreeDataset(self._tree, self._filter_name, self._step_size, only)

    def count_rows(self, filter: Any = None, **options: Any) -> int:
        """Rows that pass a filter; without one, the entries of the tree."""
        if filter is None and self._only is None:
            return int(self._tree.num_entries)
        return int(self.scanner(columns=[], filter=filter, **options).count_rows())

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise UnsupportedError("a tree is one stream of batches: to_table() gives a table that can do this")

    get_fragments = replace_schema = sort_by = join = join_asof = _refuse

    def __repr__(self) -> str:
        return f"<TreeDataset of {self._tree!r}>"


def cut_of(filter: Any, columns: cuts.Columns) -> str | None:
    """What of a filter of pyarrow the engine can decide before it reads the other columns. An expression
    shows itself by its text alone, which has Python's grammar but for what is left out here."""
    try:
        return _Reader(columns).cut(ast.parse(str(filter), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _Reader:
    def __init__(self, columns: cuts.Columns) -> None:
        self.columns = columns

    def cut(self, node: ast.expr, negated: bool = False) -> str | None:
        """A condition."""
        if isinstance(node, ast.BoolOp):
            parts = [self.cut(value, negated) for value in node.values]
            return (cuts.both if isinstance(node.op, ast.And) != negated else cuts.either)(parts)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _SIGNS:
            sign = _SIGNS[type(node.ops[0])]
            sign = cuts.NEGATED[sign] if negated else sign
            return cuts.compare(self.operand(node.left), sign, self.operand(node.comparators[0]))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
            if node.func.id == "invert" and not node.keywords:
                return self.cut(node.args[0], not negated)
            return None
        if isinstance(node, ast.Name):
            return cuts.compare(self.operand(node), "==" if negated else "!=", cuts.literal(0))
        return None

    def operand(self, node: ast.expr) -> cuts.Operand | None:
        """One side of a comparison."""
        if isinstance(node, ast.Name):
            truth = {"true": True, "false": False}.get(node.id)
            found = self.columns.find(node.id)
            if truth is not None:
                return cuts.literal(truth) if found is None else None
            return found
        try:
            value = ast.literal_eval(node)
        except (ValueError, TypeError):
            return None
        return cuts.literal(value) if type(value) in (int, float, str) else None
