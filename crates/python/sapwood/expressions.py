"""Expressions over branches: parsed into a small tree of allowed steps, never handed to Python to run.

Allowed are numbers, names of branches and aliases, ``get("any name")``, arithmetic, comparisons (chains,
too), ``& | ~ ^``, indexing and slicing, fields of records (``hit.x``), and calls of the functions in
:data:`FUNCTIONS`.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from sapwood import _core
from sapwood.errors import MismatchError, NotFoundError, near, not_found

#: The longest expression, in characters, and the deepest, in steps.
LONGEST, DEEPEST = 20_000, 100


def _special(name: str) -> Callable[[Any], Any]:
    """A function that NumPy lacks, by the engine, for numbers, arrays and Awkward Arrays."""

    def function(x: Any) -> Any:
        if type(x).__module__.startswith("awkward."):
            import awkward as ak

            return ak.transform(lambda layout, **_: _of_layout(function, layout), x)
        out = np.array(x, "float64", copy=True, order="C")
        flat = out.reshape(-1)
        _core.special(name, flat)
        return flat.reshape(out.shape)[()]

    return function


def _of_layout(function: Callable[[Any], Any], layout: Any) -> Any:
    """The numbers of an Awkward Array with a function of them in their place; ``None`` to look for them
    further in."""
    return type(layout)(function(np.asarray(layout.data))) if layout.is_numpy else None


_gamma = _special("tgamma")


#: Functions that an expression may call: names of NumPy, of C and of ROOT.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(np, name)
        for name in [
            "absolute",
            "arccos",
            "arccosh",
            "arcsin",
            "arcsinh",
            "arctan",
            "arctan2",
            "arctanh",
            "cbrt",
            "ceil",
            "conj",
            "conjugate",
            "copysign",
            "cos",
            "cosh",
            "exp",
            "exp2",
            "expm1",
            "fabs",
            "floor",
            "fmax",
            "fmin",
            "fmod",
            "hypot",
            "imag",
            "isfinite",
            "isinf",
            "isnan",
            "log",
            "log10",
            "log1p",
            "log2",
            "logical_and",
            "logical_not",
            "logical_or",
            "logical_xor",
            "maximum",
            "minimum",
            "nextafter",
            "power",
            "real",
            "rint",
            "round",
            "sign",
            "signbit",
            "sin",
            "sinh",
            "sqrt",
            "square",
            "tan",
            "tanh",
            "trunc",
            "where",
        ]
    },
    "abs": np.absolute,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "erf": _special("erf"),
    "erfc": _special("erfc"),
    "factorial": lambda x: np.round(_gamma(np.round(x) + 1.0)),
    "gamma": _gamma,
    "lgamma": _special("lgamma"),
    "max": np.maximum,
    "min": np.minimum,
    "neg": np.negative,
    "pow": np.power,
    "tgamma": _gamma,
}

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
GETTER = "get"


class ExpressionError(SyntaxError, ValueError):
    """An expression that cannot be understood, or that asks for something that is not allowed."""


class Expression:
    """An expression that was understood.

    >>> e = Expression("sqrt(px**2 + py**2) > 1", {"px", "py"})
    >>> sorted(e.names)
    ['px', 'py']
    >>> e.value({"px": np.array([3.0, 0.0]), "py": np.array([4.0, 0.5])}.__getitem__)
    array([ True, False])
    """

    def __init__(self, text: str, known: Collection[str], functions: Mapping[str, Any] | None = None) -> None:
        self.text = text
        self.names: list[str] = []
        """Branches and aliases that it needs."""
        self.has_index = False
        """Does it index or slice, so that its value depends on which entries are there?"""
        self._known = known
        self._functions = FUNCTIONS if functions is None else functions
        if len(text) > LONGEST:
            raise ExpressionError(f"the expression has {len(text)} characters, more than {LONGEST}")
        try:
            self._source = " ".join(text.split("\n")).strip()
            parsed = ast.parse(self._source, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            hint = ""
            if any(word in text for word in ("&&", "||", "!")):
                hint = "; write & for &&, | for ||, ~ for !, with comparisons in brackets"
            elif "*" in text or "?" in text:
                hint = "; patterns of names go to filter_name="
            raise ExpressionError(f"cannot understand {text!r}: {error}{hint}") from None
        self._step = self._compile(parsed, 0)

    def value(self, get: Callable[[str], Any]) -> Any:
        """The expression's value, with arrays from ``get(name)``."""
        return self._step(get)

    def _compile(self, node: ast.AST, depth: int) -> Callable[[Callable[[str], Any]], Any]:
        if depth > DEEPEST:
            raise ExpressionError(f"{self.text!r} nests deeper than {DEEPEST} steps")

        def inner(node: ast.AST) -> Callable[[Callable[[str], Any]], Any]:
            return self._compile(node, depth + 1)

        if isinstance(node, ast.Constant):
            if not isinstance(node.value, (bool, int, float, complex)):
                raise self._refuse(node)
            constant = _bounded(node.value)
            return lambda get: constant
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._compile_name(node)
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            combine, left, right = _guarded(_BINARY[type(node.op)]), inner(node.left), inner(node.right)
            return lambda get: combine(left(get), right(get))
        if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
            change, operand = _UNARY[type(node.op)], inner(node.operand)
            return lambda get: change(operand(get))
        if isinstance(node, ast.Compare) and all(type(op) in _COMPARE for op in node.ops):
            for one in (node.left, *node.comparators):
                self._check_brackets(one)
            steps = [inner(one) for one in (node.left, *node.comparators)]
            compare = [_COMPARE[type(op)] for op in node.ops]

            def chain(get: Callable[[str], Any]) -> Any:
                values = [step(get) for step in steps]
                result = compare[0](values[0], values[1])
                for index in range(1, len(compare)):
                    result = result & compare[index](values[index], values[index + 1])
                return result

            return chain
        if isinstance(node, ast.Call):
            return self._compile_call(node, inner)
        if isinstance(node, ast.Subscript):
            self.has_index = True
            return self._compile_subscript(node, inner(node.value), self._compile_index(node.slice, inner))
        if isinstance(node, ast.BoolOp) or isinstance(getattr(node, "op", None), ast.Not):
            raise ExpressionError(
                f"in {self.text!r}: write & for 'and', | for 'or', ~ for 'not', with comparisons in brackets"
            )
        raise self._refuse(node)

    def _refuse(self, node: ast.AST) -> ExpressionError:
        found = ast.get_source_segment(self.text.strip(), node) if hasattr(node, "lineno") else None
        return ExpressionError(f"in {self.text!r}: {found or type(node).__name__!r} is not allowed here")

    def _no_branch(self, name: str) -> NotFoundError:
        return not_found(
            f"not found: no branch {name!r} for the expression {self.text!r}{near(name, self._known)}"
        )

    def _need(self, name: str) -> Callable[[Callable[[str], Any]], Any]:
        if name not in self.names:
            self.names.append(name)
        return lambda get: get(name)

    def _compile_name(self, node: ast.Name | ast.Attribute) -> Callable[[Callable[[str], Any]], Any]:
        parts: list[str] = []
        at: ast.expr = node
        while isinstance(at, ast.Attribute):
            parts.insert(0, at.attr)
            at = at.value
        if any(part.startswith("__") for part in parts):
            raise self._refuse(node)
        if isinstance(at, ast.Name):
            parts.insert(0, at.id)
            # The longest name that there is; what is left over are fields of records.
            for length in range(len(parts), 0, -1):
                name = ".".join(parts[:length])
                if name in self._known:
                    return _fields(self._need(name), parts[length:])
            raise self._no_branch(".".join(parts))
        return _fields(self._compile(at, 1), parts)

    def _check_brackets(self, node: ast.AST) -> None:
        """``&``, ``|`` and ``^`` bind tighter than comparisons: ``a == 1 | b == 2`` is no choice of two
        comparisons."""
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor))):
            return
        text = self._source.encode()
        before, behind = text[: node.col_offset].rstrip()[-1:], text[node.end_col_offset :].lstrip()[:1]
        if (before, behind) != (b"(", b")"):
            raise ExpressionError(
                f"in {self.text!r}: put comparisons beside &, | and ^ in brackets, as in (a > 1) & (b < 2)"
            )

    def _compile_call(
        self, node: ast.Call, inner: Callable[[ast.AST], Any]
    ) -> Callable[[Callable[[str], Any]], Any]:
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise self._refuse(node)
        name = node.func.id
        if name == GETTER and GETTER not in self._functions:
            argument = node.args[0] if len(node.args) == 1 else None
            if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str):
                raise ExpressionError(f"in {self.text!r}: {GETTER}() takes one name in quotes")
            if argument.value not in self._known:
                raise self._no_branch(argument.value)
            return self._need(argument.value)
        if name not in self._functions:
            raise ExpressionError(
                f"in {self.text!r}: there is no function {name!r}{near(name, self._functions)}"
            )
        function, arguments = self._functions[name], [inner(one) for one in node.args]
        return lambda get: function(*(argument(get) for argument in arguments))

    def _compile_subscript(
        self, node: ast.Subscript, of: Any, index: Any
    ) -> Callable[[Callable[[str], Any]], Any]:
        def look(get: Callable[[str], Any]) -> Any:
            value, where = of(get), index(get)
            try:
                return value[where]
            except (IndexError, ValueError, TypeError) as error:
                raise self._no_item(node, str(error)) from None

        return look

    def _no_item(self, node: ast.Subscript, reason: str) -> MismatchError:
        whole, of, index = (ast.unparse(part) for part in (node, node.value, node.slice))
        start = f"in {self.text!r}: {whole!r} asks for "
        if not any(
            words in reason for words in ("out of range", "out of bounds", "cannot slice ListOffsetArray")
        ):
            return MismatchError(f"in {self.text!r}: {whole!r} cannot be taken: {reason.splitlines()[0]}")
        if isinstance(node.slice, ast.Tuple):
            return MismatchError(
                f"{start}items that some entries of {of!r} do not have, because they are too short: take a slice, as in "
                f"{of}[:, :1], or read only entries that are long enough (entries=)"
            )
        return MismatchError(
            f"{start}an entry that is not there; the first index counts entries, and {of}[:, {index}] is an item of each"
        )

    def _compile_index(self, node: ast.AST, inner: Callable[[ast.AST], Any]) -> Any:
        if isinstance(node, ast.Tuple):
            several = [self._compile_index(one, inner) for one in node.elts]
            return lambda get: tuple(one(get) for one in several)
        if isinstance(node, ast.Slice):
            parts = [None if one is None else inner(one) for one in (node.lower, node.upper, node.step)]
            return lambda get: slice(*(None if part is None else part(get) for part in parts))
        if isinstance(node, ast.Constant) and (node.value is None or node.value is Ellipsis):
            constant = node.value
            return lambda get: constant
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not node.value.startswith("__"):
            field = node.value
            return lambda get: field
        return inner(node)


def _fields(
    step: Callable[[Callable[[str], Any]], Any], fields: list[str]
) -> Callable[[Callable[[str], Any]], Any]:
    if not fields:
        return step

    def walk(get: Callable[[str], Any]) -> Any:
        value = step(get)
        for field in fields:
            try:
                value = value[field]
            except (IndexError, ValueError, TypeError, KeyError):
                raise MismatchError(f"there is no field {field!r} in what stands before '.{field}'") from None
        return value

    return walk


def _bounded(value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > 64:
        raise ExpressionError(f"the number {value} does not fit into 64 bits")
    return value


def _guarded(combine: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Python's whole numbers have no end: ``9**9**9`` would fill the memory. Past 64 bits these become
    floats."""

    def run(a: Any, b: Any) -> Any:
        if not isinstance(a, int) or not isinstance(b, int):
            return combine(a, b)
        bits = 0
        if combine is operator.pow:
            bits = a.bit_length() * abs(b)
        elif combine is operator.lshift:
            bits = a.bit_length() + abs(b)
        if bits <= 64:
            result = combine(a, b)
            if not isinstance(result, int) or result.bit_length() <= 64:
                return result
            return float(result)
        try:
            return float(a) ** b if combine is operator.pow else float(a) * 2.0**b
        except OverflowError:
            return float("inf")

    return run
