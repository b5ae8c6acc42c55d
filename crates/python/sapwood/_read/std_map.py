"""Maps in objects: dictionaries whose keys and values are arrays, too, where these are numbers."""

from __future__ import annotations

from collections.abc import KeysView, ValuesView
from typing import Any

import numpy as np


class _Array:
    """What a NumPy array of the items has, ``min()`` and so on."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(list(self), dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.__array__(), name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)!r})"


class Keys(_Array, KeysView[Any]):
    """Keys of a map: a view, as of a dictionary, and an array."""


class Values(_Array, ValuesView[Any]):
    """Values of a map: a view, as of a dictionary, and an array."""


class StdMap(dict[Any, Any]):
    """A ``std::map`` in an object: a dictionary.

    >>> runs = StdMap({7: 0.5, 3: 1.5})
    >>> runs[7], sorted(runs.keys()), runs.keys().max(), np.asarray(runs.values()).sum()
    (0.5, [3, 7], 7, 2.0)
    """

    def keys(self) -> Keys:  # type: ignore[override]
        """Its keys."""
        return Keys(self)

    def values(self) -> Values:  # type: ignore[override]
        """Its values."""
        return Values(self)
