"""Plain lists as arrays, without loss: whole numbers above 2^63 that stand beside small ones stay whole,
texts stay Python's, masks are not forgotten, and numbers fit their type or are refused."""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Collection
from typing import Any

import numpy as np

from sapwood._read import common_numbers
from sapwood._read.libraries import need
from sapwood.errors import MismatchError

_LEAST, _MOST = -(2**63), 2**64 - 1


def as_array(data: Any) -> np.ndarray[Any, Any]:
    """The same as ``numpy.asarray``, but that whole numbers stay whole, ``int64`` where some are negative and
    ``uint64`` where some are above 2^63, and that texts stay objects: NumPy would give each the room of the
    longest. Of masks :func:`unmasked` knows.

    >>> as_array([1, 2**63]).dtype, as_array([np.uint64(1), np.int64(-1)]).dtype
    (dtype('uint64'), dtype('int64'))
    >>> as_array(["a", "long"]).dtype
    dtype('O')

    Raises :class:`~sapwood.errors.MismatchError` for whole numbers that no type of 64 bits holds together;
    ``ValueError`` for lists of different lengths.
    """
    if isinstance(data, np.ndarray):
        return data
    first = _first(data)
    array = np.asarray(data, object if isinstance(first, (str, bytes)) else None)
    # NumPy gives negative numbers beside ``uint64`` another value, or makes floats of both.
    is_doubtful = (
        array.dtype.kind in "fO"
        and _is_whole(first)
        or array.dtype == np.uint64
        and array.size > 0
        and array.max() >= 2**63
    )
    if not is_doubtful:
        return array
    numbers = np.empty(array.shape, object)
    numbers[...] = data
    if not all(map(_is_whole, numbers.flat)):
        return array
    least, most = int(numbers.min()), int(numbers.max())
    if least < 0 and most >= 2**63 or least < _LEAST or most > _MOST:
        raise MismatchError(f"no type of 64 bits holds whole numbers from {least} to {most}")
    return numbers.astype(np.int64 if least < 0 else np.uint64)


def is_of(data: Any, package: str, kind: str = "") -> bool:
    """Whether it is of a package, and of the class of this name, or of one that derives from such a class.
    Nothing is imported for it.

    >>> is_of(np.array(1), "numpy"), is_of(np.array(1), "numpy", "dtype"), is_of([1], "numpy")
    (True, False, False)
    """
    classes = (one for one in type(data).__mro__ if one.__module__.partition(".")[0] == package)
    return any(kind in ("", one.__name__) for one in classes)


def is_awkward(data: Any, kind: str = "") -> bool:
    """Whether it is of Awkward. Behaviors make classes of their own, of other modules: those of ``vector``, of
    coffea, of users.

    >>> import awkward as ak
    >>> is_awkward(ak.Array([1])), is_awkward(ak.Array([{"x": 1}])[0], "Record"), is_awkward([1])
    (True, True, False)
    """
    return is_of(data, "awkward", kind)


def awkward() -> Any:
    """The package of lists, texts and records."""
    return need("awkward", "writing texts, lists, records, Arrow or RNTuples")


def as_jagged(data: Any) -> Any:
    """An Awkward Array of lists, or of lists of lists, of numbers that :func:`as_array` takes, or of texts
    that :func:`as_texts` takes."""
    ak = awkward()

    if all(isinstance(item, (str, bytes)) for item in data):
        return as_texts(data)
    if not all(isinstance(item, (list, tuple, np.ndarray)) for item in data):
        return ak.from_numpy(as_array(data))
    return ak.unflatten(as_jagged([item for items in data for item in items]), [len(items) for items in data])


def as_texts(texts: Collection[str | bytes]) -> Any:
    """An Awkward Array of strings.

    >>> as_texts(["a", "é"]).tolist()
    ['a', 'é']
    """
    ak = awkward()

    parts = [_encoded(text, row) for row, text in enumerate(texts)]
    offsets = np.zeros(len(parts) + 1, "i8")
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    letters = ak.contents.NumpyArray(np.frombuffer(b"".join(parts), "u1"), parameters={"__array__": "char"})
    return ak.Array(
        ak.contents.ListOffsetArray(ak.index.Index64(offsets), letters, parameters={"__array__": "string"})
    )


def encoded(value: Any) -> bytes:
    """The bytes of a text; those that were no UTF-8 when they were read are what they were.

    Raises :class:`~sapwood.errors.MismatchError` for what is no text.
    """
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise MismatchError(f"a string was expected, and {type(value).__name__} was given")
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise MismatchError(f"the text {value!r:.60} has no UTF-8: {error.reason}") from None


def _encoded(value: str | bytes, row: int) -> bytes:
    try:
        return encoded(value)
    except MismatchError as error:
        raise MismatchError(f"{error} (row {row})") from None


def from_values(data: Any) -> Any:
    """An Awkward Array of Python's values; texts with surrogates are the bytes that these stand for.

    >>> text = bytes([255]).decode("utf-8", "surrogateescape")
    >>> np.asarray(from_values(["a", text]).layout.content.data).tolist()
    [97, 255]

    Raises :class:`~sapwood.errors.MismatchError` for texts with other surrogates, and what Awkward raises for
    values that it cannot hold together.
    """
    ak = awkward()

    try:
        return ak.from_iter(data)
    except (RuntimeError, UnicodeEncodeError):
        # Awkward takes bytes of any kind, but those of all texts or of none.
        texts = [_with_bytes(value, row) for row, value in enumerate(data)]
    return ak.from_iter(texts)


def _with_bytes(value: Any, row: int) -> Any:
    """A value with bytes in place of texts."""
    if isinstance(value, str):
        return _encoded(value, row)
    if isinstance(value, dict):
        return {name: _with_bytes(one, row) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        items = [_with_bytes(one, row) for one in value]
        return tuple(items) if isinstance(value, tuple) else items
    return value


def unmasked(data: Any, what: str = "values", deepest: int = 64) -> Any:
    """Data without the masks of ``numpy.ma``, however deep in lists, where nothing is masked, and arrays of
    no dimension as the scalars that they are; all else as it is.

    >>> unmasked(np.ma.masked_array([1, 2], [0, 0]))
    array([1, 2])

    Raises :class:`~sapwood.errors.MismatchError` for what is masked, and for lists that hold themselves,
    which would be followed for ever.
    """
    if isinstance(data, np.ma.MaskedArray):
        mask = np.ma.getmask(data)
        flat = np.ravel(np.ma.flatten_mask(mask) if mask.dtype.names else mask)
        if flat.any():
            where = f" (the first is number {int(flat.argmax())})" if data.ndim else ""
            raise MismatchError(
                f"{int(flat.sum())} of the {what} are masked{where}, which cannot be written: give them a value (numpy.ma.filled), or "
                "leave them out"
            )
        data = np.ma.getdata(data)
    if isinstance(data, np.ndarray) and data.ndim == 0:
        return data[()]
    if not isinstance(data, _CONTAINERS):
        return data
    items = list(data.values()) if isinstance(data, dict) else data
    if not any(issubclass(kind, (np.ndarray, *_CONTAINERS)) for kind in set(map(type, items))):
        return data
    if deepest == 0:
        raise MismatchError("lists are nested too deep, or hold themselves")
    plain = [unmasked(item, what, deepest - 1) for item in items]
    if all(map(operator.is_, plain, items)):
        return data
    return (
        dict(zip(data, plain))
        if isinstance(data, dict)
        else tuple(plain)
        if isinstance(data, tuple)
        else plain
    )


_CONTAINERS = (list, tuple, dict)


def fitted(array: np.ndarray[Any, Any], wanted: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Numbers as another type has them. Digits of floats may be lost; what is too large is refused, and whole numbers
    that a type of floats does not hold exactly.

    >>> fitted(np.array([1.5, np.inf]), np.dtype("f4"))
    array([1.5, inf], dtype=float32)

    Raises :class:`~sapwood.errors.MismatchError` where some do not fit.
    """
    is_same_kind = array.dtype.kind == wanted.kind or array.dtype.kind not in "iu"
    if array.size == 0 or (is_same_kind and np.can_cast(array.dtype, wanted)):
        return np.ascontiguousarray(array, wanted)
    if wanted.kind in "iu":
        least, most = int(array.min()), int(array.max())
        if least < np.iinfo(wanted).min or most > np.iinfo(wanted).max:
            raise MismatchError(f"{wanted} was expected, and numbers from {least} to {most} were given")
    inexact = common_numbers.first_inexact(array, wanted)
    if inexact is not None:
        raise MismatchError(
            f"{wanted} was expected, and {array.flat[inexact]} was given, which is not exact as {wanted}"
        )
    with np.errstate(over="ignore"):
        out = np.ascontiguousarray(array, wanted)
    if wanted.kind == "f":
        lost = np.isinf(out) & np.isfinite(array)
        if lost.any():
            raise MismatchError(
                f"{wanted} was expected, and {array[lost][0]} was given, which is too large for it"
            )
    return out


def first_unfit(array: np.ndarray[Any, Any], wanted: np.dtype[Any]) -> int:
    """The place of the first number that :func:`fitted` refuses, counted in all numbers of the array.

    >>> first_unfit(np.array([[1, 2], [3, 400]]), np.dtype("i1"))
    3
    """
    if wanted.kind in "iu":
        unfit = (array < np.iinfo(wanted).min) | (array > np.iinfo(wanted).max)
    else:
        inexact = common_numbers.first_inexact(array, wanted)
        if inexact is not None:
            return inexact
        with np.errstate(over="ignore"):
            unfit = np.isinf(array.astype(wanted)) & np.isfinite(array)
    return int(unfit.argmax())


def shown(value: Any) -> str:
    """A value and its type, in a few words.

    >>> shown(5), shown(None)
    ('int 5', 'None')
    """
    return "None" if value is None else f"{type(value).__name__} {' '.join(reprlib.repr(value).split())}"


def _first(data: Any) -> Any:
    while isinstance(data, Collection) and not isinstance(data, (str, bytes)) and len(data):
        data = next(iter(data))
    return data


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
