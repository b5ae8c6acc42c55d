"""Means and widths of columns, by which batches are scaled."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sapwood._batches.columns import Column, Ragged
from sapwood.errors import MismatchError


class Scaling:
    """Scales columns to a mean of 0 and a width of 1: ``(value - mean) / width``.

    >>> Scaling({"pt": (20.0, 5.0)}).apply("pt", np.array([20.0, 30.0])).tolist()
    [0.0, 2.0]
    """

    def __init__(self, columns: Mapping[str, tuple[float, float] | None]) -> None:
        self.columns = {name: _checked(name, one) for name, one in columns.items()}
        """The mean and the width of each column, by its name; ``None`` if it stays as it is."""

    @classmethod
    def fit(cls, groups: Iterable[Mapping[str, Column]]) -> Scaling:
        """The means and standard deviations of all finite values, in one pass. A width of 0 becomes 1; a column
        without finite values has a mean of 0 and a width of 1."""
        sums: dict[str, tuple[int, float, float]] = {}
        for group in groups:
            for name, column in group.items():
                sums.setdefault(name, (0, 0.0, 0.0))
                values = (column.values if isinstance(column, Ragged) else column).astype("float64").ravel()
                values = values[np.isfinite(values)]
                if not len(values):
                    continue
                mean = float(values.mean())
                squares = float(((values - mean) ** 2).sum())
                count, old, old_squares = sums[name]
                # Chan's way to join two samples loses no digits, whatever the mean.
                both = count + len(values)
                shift = mean - old
                squares += old_squares + shift * shift * count * len(values) / both
                sums[name] = both, old + shift * len(values) / both, squares
        return cls(
            {
                name: (mean, (squares / max(count, 1)) ** 0.5 or 1.0)
                for name, (count, mean, squares) in sums.items()
            }
        )

    def check(self, names: Iterable[str]) -> None:
        """Raises an error unless each of these columns has a mean and a width, or ``None``."""
        lacking = [name for name in names if name not in self.columns]
        if lacking:
            raise MismatchError(
                f"scaling= has {list(self.columns)!r} and not the column {lacking[0]!r}: fit it to the same "
                f"columns, or leave this one as it is by Scaling({{..., {lacking[0]!r}: None}})"
            )

    def apply(self, name: str, values: Any) -> Any:
        """Scaled values of a column; those of others are returned as they are."""
        scale = self.columns.get(name)
        return values if scale is None else scaled(values, scale)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it as JSON."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(
                {
                    name: None if one is None else {"mean": one[0], "width": one[1]}
                    for name, one in self.columns.items()
                },
                file,
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scaling:
        """Reads what :meth:`save` wrote."""
        with open(path, encoding="utf-8") as file:
            try:
                return cls(
                    {
                        name: None if one is None else (one["mean"], one["width"])
                        for name, one in json.load(file).items()
                    }
                )
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise MismatchError(f"{os.fspath(path)!r} does not hold a scaling: {error!r}") from error

    def __repr__(self) -> str:
        return f"Scaling({self.columns!r})"


def _checked(name: str, scale: tuple[float, float] | None) -> tuple[float, float] | None:
    if scale is None:
        return None
    mean, width = map(float, scale)
    if not math.isfinite(mean) or not 0 < width < math.inf:
        raise MismatchError(
            f"a scaling has a finite mean and a width above 0, and {name!r} has {mean} and {width}"
        )
    return mean, width


def scaled(values: Any, scale: tuple[float, float]) -> Any:
    """Values with a mean of 0 and a width of 1; whole numbers become ``float64``.

    >>> scaled(np.array([20, 30]), (20.0, 5.0)).tolist()
    [0.0, 2.0]
    """
    mean, width = scale
    kind = values.dtype if values.dtype.kind == "f" else np.dtype("float64")
    return ((values.astype("float64") - mean) / width).astype(kind)
