"""Functions: their formula, parameters and values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sapwood import _core
from sapwood._read import layout
from sapwood.errors import ExpressionError, NotFoundError, UnsupportedError
from sapwood.model import Model


class Formula(Model):
    """TFormula: an expression with parameters."""

    @property
    def expression(self) -> str:
        """The formula as text, in ROOT's words."""
        for name in ("fFormula", "fTitle"):
            found = self.member(name, none_if_missing=True)
            if isinstance(found, str) and found:
                return found
        return ""

    @property
    def parameters(self) -> list[float]:
        """Values of the parameters."""
        for name in ("fClingParameters", "fParams"):
            found = self.member(name, none_if_missing=True)
            if found is not None:
                return [float(value) for value in found]
        return []

    @property
    def parameter_names(self) -> list[str]:
        """Names of the parameters."""
        found = self.member("fParams", none_if_missing=True)
        if isinstance(found, dict):
            return [str(name) for name, _ in sorted(found.items(), key=lambda pair: pair[1])]
        names = self.member("fNames", none_if_missing=True)
        return (
            [str(name) for name in names]
            if names is not None
            else [f"p{i}" for i in range(len(self.parameters))]
        )

    def __call__(self, x: Any, *more: Any) -> Any:
        return evaluate(self.expression, self.parameters, self.parameter_names, (x, *more))


class Function(Model):
    """TF1: a function of one variable, or of two and three (TF2, TF3)."""

    @property
    def formula(self) -> Formula | None:
        """Its formula; ``None`` for functions that were compiled code."""
        found = self.member("fFormula", none_if_missing=True)
        if isinstance(found, Formula):
            return found
        base = self.base("TFormula")
        return Formula(base._value) if base is not None else None

    @property
    def expression(self) -> str:
        """The formula as text, in ROOT's words; empty for functions that were compiled code."""
        formula = self.formula
        return formula.expression if formula is not None else ""

    @property
    def parameters(self) -> list[float]:
        """Values of the parameters."""
        formula = self.formula
        if formula is not None:
            return formula.parameters
        kept = self.member("fParams", none_if_missing=True)
        values = kept.member("fParameters", none_if_missing=True) if isinstance(kept, Model) else None
        return [float(value) for value in values] if values is not None else []

    @property
    def parameter_names(self) -> list[str]:
        """Names of the parameters."""
        formula = self.formula
        return (
            formula.parameter_names if formula is not None else [f"p{i}" for i in range(len(self.parameters))]
        )

    @property
    def errors(self) -> list[float]:
        """Errors of the parameters, from a fit."""
        found = self.member("fParErrors", none_if_missing=True)
        return [float(value) for value in found] if found is not None else []

    @property
    def range(self) -> tuple[float, float]:
        """Where it is defined along x."""
        return float(self.member("fXmin")), float(self.member("fXmax"))

    def values(self) -> Any:
        """Values that were saved with it, followed by the limits between which they are evenly spaced, and in two
        and three dimensions by their numbers; empty if none were saved."""
        found = self.member("fSave", none_if_missing=True)
        return np.asarray(found if found is not None else [], "float64")

    def __call__(self, x: Any, *more: Any) -> Any:
        """Its values. Those of compiled code are found between the values that were saved with it, and are 0 outside
        of them, as in ROOT."""
        formula = self.formula
        if formula is not None and formula.expression:
            return evaluate(formula.expression, self.parameters, self.parameter_names, (x, *more))
        points = np.broadcast_arrays(*(np.asarray(one, "float64") for one in (x, *more)))
        axes, values = self._saved(len(points))
        found = _between(axes, values, points)
        return found if points[0].ndim else float(found)

    def _saved(self, given: int) -> tuple[list[Any], Any]:
        """The points along each axis, and the values that were saved at them, as an array with x last."""
        what = f"the {self.classname} {self.name!r} was compiled code"
        saved = self.values()
        classes = [(f"TF{number}", number) for number in (3, 2)]
        dimensions = next(
            (n for name, n in classes if name == self.classname or self.base(name) is not None), 1
        )
        if not saved.size:
            raise UnsupportedError(f"{what}, and no values were saved with it")
        if given < dimensions:
            raise UnsupportedError(f"{what} of {dimensions} variables: only {given} were given")
        limits, sizes = saved[-2:], [saved.size - 2]
        if dimensions > 1:
            limits, counts = saved[-3 * dimensions : -dimensions], saved[-dimensions:]
            sizes = [int(count) + 1 if 0 < count < saved.size else 0 for count in counts]
        elif saved.size > 3 and saved[-1] == saved[-2]:
            words = "values were saved at the centres of the bins of its histogram (values() has them)"
            raise UnsupportedError(f"{what}, and {words}")
        last = 2 if dimensions == 1 else 3 * dimensions
        if min(sizes) < 2 or math.prod(sizes) != saved.size - last:
            raise UnsupportedError(
                f"{what}, and the {saved.size} numbers that were saved with it are invalid"
            )
        ends = zip(limits[::2], limits[1::2], sizes)
        axes = [np.linspace(low, high, size) for low, high, size in ends]
        return axes, saved[:-last].reshape(sizes[::-1])


def _between(axes: list[Any], values: Any, points: Any) -> Any:
    """Values between points of a grid, linear in each direction; 0 outside of it."""
    is_inside = np.ones(points[0].shape, bool)
    corners: list[tuple[Any, Any]] = []
    for axis, at in zip(axes, points):
        width = (axis[-1] - axis[0]) / (len(axis) - 1)
        is_inside &= ~((at < axis[0]) | (at > axis[-1])) if width > 0 else False
        step = (np.where(is_inside, at, axis[0]) - axis[0]) / (width if width > 0 else 1.0)
        # NaN stays NaN.
        lower = np.clip(np.nan_to_num(np.floor(step)), 0, len(axis) - 2).astype("int64")
        corners.append((lower, step - lower))
    found = np.zeros(points[0].shape)
    for place in range(1 << len(axes)):
        weight: Any = 1.0
        index: list[Any] = []
        for direction, (lower, rest) in enumerate(corners):
            is_upper = place >> direction & 1
            weight = weight * (rest if is_upper else 1 - rest)
            index.insert(0, lower + is_upper)
        found = found + weight * values[tuple(index)]
    return np.where(is_inside, found, 0.0)


def evaluate(text: str, parameters: list[float], names: list[str], at: tuple[Any, ...]) -> Any:
    """Value of a formula in ROOT's words, where it is plain arithmetic.

    >>> evaluate("[0]*x + [1]", [2.0, 1.0], ["p0", "p1"], (3.0,))
    7.0
    """
    points = np.broadcast_arrays(*(np.asarray(one, "float64") for one in at))
    columns = [(name, np.ascontiguousarray(one).reshape(-1)) for name, one in zip("xyzt", points)]
    try:
        words = _core.formula(text, names, parameters)
        _, _, found = _core.Query(columns, [words]).read([], 0, points[0].size)
    except (ExpressionError, NotFoundError) as error:
        raise UnsupportedError(f"cannot compute the formula {text!r}: {error}") from None
    flat = layout.to_numpy(found[0]).astype("float64")
    return flat.reshape(points[0].shape) if points[0].ndim else float(flat[0])
