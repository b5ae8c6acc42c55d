"""Trees as LazyFrames of Polars: only the columns and rows that a query asks for are read."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sapwood._read import predicate as cuts
from sapwood._read import reading, stream
from sapwood._read.libraries import POLARS, need
from sapwood._read.selection import Selection
from sapwood._tree import iteration

if TYPE_CHECKING:
    from sapwood._tree.tree import Tree

_SIGNS = {"Gt": ">", "GtEq": ">=", "Lt": "<", "LtEq": "<=", "Eq": "==", "NotEq": "!="}
_SUMS = {"Plus": "+", "Minus": "-", "Multiply": "*", "TrueDivide": "/"}


class Source:
    """What Polars calls for the rows of a tree."""

    def __init__(self, tree: Tree, names: list[str], step_size: int | str) -> None:
        self.tree, self.names, self.step_size = tree, names, step_size

    def __call__(
        self, with_columns: list[str] | None, predicate: Any, n_rows: int | None, batch_size: int | None
    ) -> Iterator[Any]:
        """DataFrames with some columns of the rows that pass a predicate; of the first ``n_rows``."""
        pl = need("polars", "tree.lazy()")
        tree = self.tree
        tree.file._check_unchanged()
        names = with_columns or self.names
        columns = stream.kinds(tree, names)
        cut = None if predicate is None else cut_of(predicate, columns)
        plan = cuts.plan(tree, names, cut, columns)
        total = tree.num_entries
        entries = (0, total if n_rows is None else min(n_rows, total))
        ranges = iteration.steps(plan, *entries, self.step_size)  # it lives until all are read
        steps = list(ranges)

        def read(step: tuple[int, int]) -> Any:
            return reading.read(plan, Selection(step), "pl", None, False)

        # A thread that reads ahead is worth its start where there is something to read ahead.
        for frame in map(read, steps) if len(steps) == 1 else iteration.ahead(iter(steps), read):
            tree.file._check_unchanged()
            frame = frame if predicate is None else frame.filter(predicate)
            yield frame.select(pl.col(names)) if frame.columns != names else frame


def lazy(tree: Tree, filter_name: Any, step_size: int | str) -> Any:
    """A LazyFrame of a tree."""
    pl = need("polars", "tree.lazy()")
    iteration.step_entries(step_size)
    ids, names = stream.branches(tree, filter_name)
    for id, name in zip(ids, names):
        POLARS.check(name, tree._branch(id))
    schema = pl.Schema(stream.Described(tree._core.arrow_schema(ids, names)))
    from polars.io.plugins import register_io_source

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the interface is said to be unstable
        return register_io_source(Source(tree, names, step_size), schema=schema, is_pure=True)


def cut_of(predicate: Any, columns: cuts.Columns) -> str | None:
    """What of a predicate of Polars the engine can decide before it reads the other columns."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            node = json.loads(predicate.meta.serialize(format="json"))
        return _Reader(columns).cut(node)
    except Exception:
        # Written by another version of Polars, or not in JSON: Polars filters alone.
        return None


class _Reader:
    """Reads an expression that Polars has written as JSON."""

    def __init__(self, columns: cuts.Columns) -> None:
        self.columns = columns

    def cut(self, node: Any, negated: bool = False) -> str | None:
        """A condition."""
        ((kind, body),) = node.items()
        if kind == "Column":
            return cuts.compare(self.columns.find(body), "==" if negated else "!=", cuts.literal(0))
        if kind == "BinaryExpr":
            return self._binary(body, negated)
        if kind == "Function":
            return self._function(body["function"], body["input"], negated)
        return None

    def _binary(self, body: Any, negated: bool) -> str | None:
        op = body["op"]
        if op in ("And", "LogicalAnd", "Or", "LogicalOr"):
            parts = (self.cut(body["left"], negated), self.cut(body["right"], negated))
            return (cuts.both if op.endswith("And") != negated else cuts.either)(parts)
        if op not in _SIGNS:
            return None
        sign = cuts.NEGATED[_SIGNS[op]] if negated else _SIGNS[op]
        return cuts.compare(self.operand(body["left"]), sign, self.operand(body["right"]))

    def _function(self, function: Any, inputs: list[Any], negated: bool) -> str | None:
        name = function.get("Boolean") if isinstance(function, dict) else None
        if name == "Not":
            return self.cut(inputs[0], not negated)
        if name == "IsNan":
            value = self.operand(inputs[0])
            return None if negated or value is None else f"{value.text} != {value.text}"
        if isinstance(name, dict) and "IsBetween" in name:
            value, low, high = map(self.operand, inputs)
            if negated:
                return cuts.either([cuts.compare(value, "<=", low), cuts.compare(value, ">=", high)])
            return cuts.both([cuts.compare(value, ">=", low), cuts.compare(value, "<=", high)])
        if isinstance(name, dict) and "IsIn" in name and not negated:
            value, wanted = self.operand(inputs[0]), self._values(inputs[1])
            if 0 < len(wanted) <= cuts.MOST_VALUES:
                return cuts.either(cuts.compare(value, "==", cuts.literal(one)) for one in wanted)
        return None

    def _values(self, node: Any) -> list[Any]:
        """The values of a list."""
        pl = need("polars", "tree.lazy()")
        text = json.dumps(node).encode()
        found = pl.select(pl.Expr.deserialize(text, format="json")).to_series()
        return list(found.explode().to_list() if found.dtype == pl.List else found.to_list())

    def operand(self, node: Any) -> cuts.Operand | None:
        """One side of a comparison."""
        ((kind, body),) = node.items()
        if kind == "Column":
            return self.columns.find(body)
        if kind == "Literal":
            return _literal(body)
        if kind == "Cast":
            value = self.operand(body["expr"])
            is_double = body["dtype"] == {"Literal": "Float64"}
            if value is None or not is_double or "text" in value.kind:
                return None
            return value._replace(kind="float64") if value.kind == "float32" else value
        if kind == "BinaryExpr" and body["op"] in _SUMS:
            left, right = self.operand(body["left"]), self.operand(body["right"])
            # Numbers of other types are added up with fewer bits there.
            if left is None or right is None or not self._is_double(body["left"], body["right"]):
                return None
            return cuts.Operand(f"({left.text} {_SUMS[body['op']]} {right.text})", "float64")
        if kind == "Function" and len(body["input"]) == 1:
            inner = body["input"][0]
            if body["function"] == {"ListExpr": "Length"} and "Column" in inner:
                return self.columns.find(inner["Column"], 1)
            value = self.operand(inner)
            if body["function"] == "Abs" and value is not None and value.is_float:
                return value._replace(text=f"fabs({value.text})")
        return None

    def _is_double(self, *nodes: Any) -> bool:
        """Are all of these computed in double precision?"""
        for node in nodes:
            ((kind, body),) = node.items()
            if kind == "Literal":
                if set(body.get("Scalar", {})) != {"Float64"}:
                    return False
            elif kind == "Cast":
                value = self.operand(node)
                if value is None or value.kind == "wide":
                    return False
            else:
                value = self.operand(node)
                if value is None or value.kind != "float64":
                    return False
        return True


def _literal(body: Any) -> cuts.Operand | None:
    """A number or a text, whatever its type."""
    while isinstance(body, dict) and len(body) == 1:
        ((kind, body),) = body.items()
        if kind == "Float32" and isinstance(body, (int, float)):
            # Its shortest words, which are near the number.
            import numpy as np

            return cuts.literal(float(np.float32(body)))
        if kind in ("Date", "Datetime", "Duration", "Time", "Decimal", "List", "Array"):
            return None
    return cuts.literal(body)
