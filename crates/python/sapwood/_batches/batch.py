"""One batch, in the arrays of a library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sapwood._batches.columns import Column, Ragged
from sapwood._batches.form import Prepared
from sapwood._read.libraries import need
from sapwood.errors import MismatchError

#: Types that DLPack of NumPy or of PyTorch does not know, and those in which they are handed over.
_AS_OTHERS = {"bool": "uint8", "bfloat16": "int16"}
#: Bytes at whose multiples the memory of a tensor of TensorFlow begins.
ALIGNED = 64


class Batch:
    """Rows for one step of a training.

    ``x`` are the columns, by name or as one matrix; ``y`` the target, ``w`` the weight, ``masks`` which
    places of padded lists hold a value. ``for x, y in batches`` takes those that were asked for, in this
    order.
    """

    __slots__ = ("masks", "w", "x", "y")

    def __init__(self, x: Any, y: Any = None, w: Any = None, masks: Mapping[str, Any] | None = None) -> None:
        self.x, self.y, self.w = x, y, w
        self.masks: dict[str, Any] = dict(masks or {})

    def __iter__(self) -> Any:
        return iter([part for part in (self.x, self.y, self.w) if part is not None])

    def __getitem__(self, name: str) -> Any:
        """A column by its name."""
        if isinstance(self.x, Mapping):
            return self.x[name]
        raise KeyError(f"{name!r}: the columns are one matrix")

    def __len__(self) -> int:
        first = next(iter(self.x.values())) if isinstance(self.x, Mapping) else self.x
        return len(first.offsets) - 1 if isinstance(first, Ragged) else len(first)

    def __repr__(self) -> str:
        names = list(self.x) if isinstance(self.x, Mapping) else f"matrix {tuple(self.x.shape)}"
        return f"<Batch of {len(self)} rows: {names}>"


def batch_of(prepared: Prepared, to: Callable[[Any], Any]) -> Batch:
    """A batch of columns, in the arrays of a library."""

    def made(column: Column) -> Any:
        return Ragged(to(column.offsets), to(column.values)) if isinstance(column, Ragged) else to(column)

    by_part: dict[str, dict[str, Any]] = {"x": {}, "mask": {}, "y": {}, "w": {}}
    for (part, name), column in prepared.items():
        by_part[part][name] = made(column)
    x = by_part["x"]
    only: Any = (
        x[""] if list(x) == [""] else {("matrix" if name == "" else name): one for name, one in x.items()}
    )
    targets = by_part["y"]
    y = None if not targets else next(iter(targets.values())) if len(targets) == 1 else targets
    return Batch(only, y, next(iter(by_part["w"].values()), None), by_part["mask"])


def library(to: Any, pin: bool = False) -> Callable[[Any], Any]:
    """A function that makes arrays of a library, by DLPack and without a copy if the library can. Any other
    function of a NumPy array may be given instead of a name."""
    if pin and to != "torch":
        raise MismatchError(f'pin= takes pinned memory of PyTorch: to= is "torch" then, not {to!r}')
    if callable(to):
        return to
    if to == "numpy":
        return lambda array: array
    if to == "torch":
        torch = need("torch", 'to="torch"')

        def tensor(array: Any) -> Any:
            # By DLPack, which also serves builds of PyTorch for another version of NumPy.
            made = _by_dlpack(torch.from_dlpack, array)
            kind = array.dtype.name
            if kind in _AS_OTHERS:
                made = made.bool() if kind == "bool" else made.view(torch.bfloat16)
            return made.pin_memory() if pin else made

        return tensor
    if to == "jax":
        jax, numbers = need("jax", 'to="jax"'), need("jax.numpy", 'to="jax"', "jax")
        # XLA takes over memory that begins at a multiple of 64 bytes, as that of most batches does.
        return lambda array: (
            numbers.asarray(array)
            if array.dtype.name in _AS_OTHERS
            else _by_dlpack(jax.dlpack.from_dlpack, array)
        )
    if to == "tensorflow":
        tensorflow = need("tensorflow", 'to="tensorflow"')

        def tensorflow_tensor(array: Any) -> Any:
            # TensorFlow takes it for aligned, whatever it is.
            if array.dtype.name in _AS_OTHERS or array.ctypes.data % ALIGNED:
                return tensorflow.convert_to_tensor(array)
            return _by_dlpack(lambda one: tensorflow.experimental.dlpack.from_dlpack(one.__dlpack__()), array)

        return tensorflow_tensor
    if to == "cupy":
        cupy = need("cupy", 'to="cupy"')
        return lambda array: cupy.asarray(array)  # the copy to the device
    names = '"numpy", "torch", "jax", "tensorflow", "cupy" or a function'
    raise MismatchError(f"to= is {names}, not {to!r}")


def _by_dlpack(take: Callable[[Any], Any], array: Any) -> Any:
    """An array in the hands of another library. DLPack takes no memory that is only read."""
    array = np.require(array, requirements=["C", "W"])
    kind = array.dtype.name
    return take(array.view(_AS_OTHERS[kind]) if kind in _AS_OTHERS else array)
