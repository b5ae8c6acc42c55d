"""One batch, in the arrays of a library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from sapwood._batches.columns import Column, Ragged
from sapwood._batches.form import BatchColumn, Prepared
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
    order, without the masks.
    """

    __slots__ = ("masks", "w", "x", "y")

    def __init__(self, x: Any, y: Any = None, w: Any = None, masks: Mapping[str, Any] | None = None) -> None:
        self.x, self.y, self.w = x, y, w
        self.masks: dict[str, Any] = dict(masks or {})

    def __iter__(self) -> Any:
        return iter([part for part in (self.x, self.y, self.w) if part is not None])

    @property
    def parts(self) -> tuple[Any, ...]:
        """``x``, the target and the weight if they were asked for, and the masks if there are any."""
        return (*self, self.masks) if self.masks else tuple(self)

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


def batch_of(prepared: Prepared, to: Library) -> Batch:
    """A batch of columns, in the arrays of a library."""

    def made(column: Column) -> Any:
        return (
            Ragged(to.offsets(column.offsets), to(column.values))
            if isinstance(column, Ragged)
            else to(column)
        )

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


class Library:
    """Makes arrays of a library from those of NumPy."""

    def __init__(self, array: Callable[[Any], Any], offsets: Callable[[Any], Any] | None = None) -> None:
        self._array = array
        self.offsets = offsets or array
        """Makes an array of the offsets of lists."""

    def __call__(self, array: Any) -> Any:
        return self._array(array)


def library(to: Any, pin: bool = False) -> Library:
    """Returns the maker of arrays of a library, by DLPack and without a copy if the library can. Any other function of a NumPy
    array may be given instead of a name."""
    if pin and to != "torch":
        raise MismatchError(f'pin= takes pinned memory of PyTorch: to= is "torch" then, not {to!r}')
    if callable(to):
        return Library(to)
    if to == "numpy":
        return Library(lambda array: array)
    if to == "torch":
        return _torch(pin)
    if to == "jax":
        return _jax()
    if to == "tensorflow":
        tensorflow = need("tensorflow", 'to="tensorflow"')

        def tensorflow_tensor(array: Any) -> Any:
            # TensorFlow takes it for aligned, whatever it is.
            if array.dtype.name in _AS_OTHERS or array.ctypes.data % ALIGNED:
                return tensorflow.convert_to_tensor(array)
            return _by_dlpack(lambda one: tensorflow.experimental.dlpack.from_dlpack(one.__dlpack__()), array)

        return Library(tensorflow_tensor)
    if to == "cupy":
        cupy = need("cupy", 'to="cupy"')
        return Library(lambda array: cupy.asarray(array))  # the copy to the device
    names = '"numpy", "torch", "jax", "tensorflow", "cupy" or a function'
    raise MismatchError(f"to= is {names}, not {to!r}")


def _torch(pin: bool) -> Library:
    torch = need("torch", 'to="torch"')

    def tensor(array: Any) -> Any:
        # By DLPack, which also serves builds of PyTorch for another version of NumPy.
        made = _by_dlpack(torch.from_dlpack, array)
        kind = array.dtype.name
        if kind in _AS_OTHERS:
            made = made.bool() if kind == "bool" else made.view(torch.bfloat16)
        return made.pin_memory() if pin else made

    return Library(tensor)


def _jax() -> Library:
    jax, numbers = need("jax", 'to="jax"'), need("jax.numpy", 'to="jax"', "jax")
    is_wide = bool(jax.config.jax_enable_x64)

    def array_of(array: Any) -> Any:
        if not is_wide and array.dtype.itemsize == 8:
            # It would read them as twice the number of smaller ones.
            raise MismatchError(
                f'JAX holds no {array.dtype}: dtype= names another type, or jax.config.update("jax_enable_x64", '
                "True) makes it hold them"
            )
        # XLA takes over memory that begins at a multiple of 64 bytes, as that of most batches does.
        if array.dtype.name in _AS_OTHERS:
            return numbers.asarray(array)
        return _by_dlpack(jax.dlpack.from_dlpack, array)

    def offsets(array: Any) -> Any:
        if not is_wide and array[-1] < 2**31:
            array = array.astype("int32")
        return array_of(array)

    return Library(array_of, offsets)


def check_types(to: Any, columns: Iterable[BatchColumn]) -> None:
    """Raises an error if a library does not take the type of a column of batches."""
    if to not in ("torch", "jax"):
        return
    made = library(to)
    for column in columns:
        try:
            made(np.zeros(1, column.dtype))
        except Exception as error:
            names = ", ".join(map(repr, column.names))
            raise MismatchError(
                f"to={to!r} does not take {column.dtype}, the type of {names}: {error}. The values of int(...) and "
                "float(...) in an expression have 32 bits: target='int(label)'"
            ) from error


def _by_dlpack(take: Callable[[Any], Any], array: Any) -> Any:
    """An array in the hands of another library. DLPack takes no memory that is only read."""
    array = np.require(array, requirements=["C", "W"])
    kind = array.dtype.name
    return take(array.view(_AS_OTHERS[kind]) if kind in _AS_OTHERS else array)
