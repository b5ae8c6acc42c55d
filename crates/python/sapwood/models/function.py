"""Functions: their formula, parameters and values."""

from __future__ import annotations

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
        """Values that were saved with it, evenly spaced over its range; empty where none were."""
        found = self.member("fSave", none_if_missing=True)
        return np.asarray(found if found is not None else [], "float64")

    def __call__(self, x: Any, *more: Any) -> Any:
        formula = self.formula
        if formula is None or not formula.expression:
            raise UnsupportedError(
                f"the {self.classname} {self.name!r} was compiled code: only saved values are left"
            )
        return evaluate(formula.expression, self.parameters, self.parameter_names, (x, *more))


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
