"""Drawings: expressions, cuts, weights and bins of histograms."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from sapwood.errors import MismatchError

T = TypeVar("T")


@dataclass(frozen=True)
class Drawing:
    """A histogram of :func:`sapwood.draw_many`: one to three expressions, as :meth:`sapwood.Tree.draw` takes
    them.

    ``cut`` selects entries or items, and a cut that is a number is a weight, too; ``weight`` counts where the
    cut is not 0. ``bins`` and ``profile`` are as in :meth:`sapwood.Tree.draw`.

    >>> import io, sapwood
    >>> with sapwood.recreate(memory := io.BytesIO()) as file:
    ...     file["t"] = {"x": [1.0, 2.0, 3.0]}
    >>> wanted = sapwood.Drawing("x", "x > 1", weight="2 * x", bins=(3, 1, 4))
    >>> (values, edges), = sapwood.open(memory)["t"].draw_many([wanted], library="np")
    >>> values.tolist()
    [0.0, 4.0, 6.0]
    """

    expression: str
    cut: str = ""
    weight: str | float = ""
    bins: Any = None
    profile: bool = False

    @staticmethod
    def of(given: Any) -> Drawing:
        """A drawing from words, or from a pair of words and a cut."""
        if isinstance(given, Drawing):
            return given
        if isinstance(given, str):
            return Drawing(given)
        if (
            isinstance(given, (tuple, list))
            and len(given) == 2
            and all(isinstance(one, str) for one in given)
        ):
            return Drawing(*given)
        raise MismatchError(
            f"a drawing is an expression, a pair of an expression and a cut, or a sapwood.Drawing, not {given!r}"
        )

    @property
    def selection(self) -> str:
        """The cut and the weight as one expression, the value of which is the weight of what passes."""
        return self.cut if self.weight == "" else _product(self.cut, str(self.weight))

    @property
    def texts(self) -> tuple[str, str]:
        """All expressions."""
        return self.expression, self.selection


#: Drawings, or some by name.
Drawings = Iterable["str | tuple[str, str] | Drawing"] | Mapping[str, "str | tuple[str, str] | Drawing"]


def drawings_of(given: Drawings, cut: str, weight: str | float, bins: Any) -> list[Drawing]:
    """Drawings with what is common to all of them: a cut and a weight, and bins for those without their own."""
    if isinstance(given, str):
        raise MismatchError(f"draw_many takes several drawings, not {given!r}: draw takes one")
    of = given.values() if isinstance(given, Mapping) else given

    def one(drawing: Drawing) -> Drawing:
        has_bins = drawing.bins is not None or ">>" in drawing.expression
        weights = [str(part) for part in (weight, drawing.weight) if part != ""]
        return replace(
            drawing,
            cut=_product(cut, drawing.cut),
            weight=" * ".join(f"({part})" for part in weights) if len(weights) > 1 else "".join(weights),
            bins=drawing.bins if has_bins else bins,
        )

    return [one(Drawing.of(drawing)) for drawing in of]


def by_name(given: Drawings, found: list[T]) -> list[T] | dict[str, T]:
    """The found histograms, under the names of the drawings if they have some."""
    return dict(zip(given, found, strict=True)) if isinstance(given, Mapping) else found


def _product(*parts: str) -> str:
    """The product of expressions, each of which counts only where those before it are not 0: a weight may have no
    value where the cut does not pass."""
    written = [part for part in parts if part.strip()]
    return (
        functools.reduce(lambda last, part: f"({part}) ? ({part}) * ({last}) : 0", written[::-1])
        if written
        else ""
    )
