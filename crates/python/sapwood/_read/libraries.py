"""The forms that answers come in: Awkward, NumPy, pandas, Polars, Arrow."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from sapwood._read import common_numbers, joins, layout, zip_fields
from sapwood._read.selection import Selection
from sapwood.errors import UnsupportedError, place


class Loaded:
    """A branch that was read: a column, and which of its rows are wanted, in which order; ``None`` for
    all."""

    __slots__ = ("column", "index", "typename")

    def __init__(self, column: Any, index: np.ndarray[Any, Any] | None, typename: str = "") -> None:
        self.column, self.index = column, index
        self.typename = typename
        """Its type in C++, which says more than that of the column."""

    @property
    def mark(self) -> str | None:
        """What Awkward calls its lists, where that is not said by the column's type."""
        return "bitset" if self.typename.startswith(("std::bitset<", "bitset<")) else None

    def taken(self, index: np.ndarray[Any, Any]) -> Loaded:
        """Only some of the rows."""
        return Loaded(self.column, index if self.index is None else self.index[index], self.typename)


def need(module: str, what: str, package: str | None = None) -> Any:
    """Imports a library, or says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = package or module
        raise ModuleNotFoundError(f"{what} needs the package {name!r}: pip install {name}") from error


def flat_mask(mask: Any) -> np.ndarray[Any, Any] | None:
    """A mask with one boolean an entry, as NumPy has it; ``None`` for a mask of lists."""
    if isinstance(mask, np.ndarray):
        return mask.astype(bool) if mask.ndim == 1 and mask.dtype != object else None
    if getattr(mask, "ndim", 2) == 1:
        return np.asarray(mask).astype(bool)
    return None


def row_mask(mask: Any) -> Any:
    """A mask of one truth value a row: all that a table can take."""
    flat = flat_mask(mask)
    if flat is None:
        raise UnsupportedError("a cut on lists has no meaning in a table: use library='ak'")
    return flat


class Library:
    """One form of answers."""

    name = ""

    def check(self, name: str, branch: Any) -> None:
        """Raises :class:`~sapwood.errors.UnsupportedError`, naming column and type, for a branch that the library
        has no type for."""

    def column(self, loaded: Loaded, selection: Selection) -> Any:
        """A branch."""
        raise NotImplementedError

    def convert(self, value: Any, selection: Selection) -> Any:
        """The value of an expression: a NumPy or an Awkward array."""
        raise NotImplementedError

    def record(self, below: dict[str, Any], length: int) -> Any:
        """A group of branches."""
        raise NotImplementedError

    def apply_mask(self, array: Any, mask: Any) -> Any:
        """What a mask leaves of an answer's field."""
        raise NotImplementedError

    def table(self, arrays: dict[str, Any]) -> Any:
        """All fields in one, for ``how=None``."""
        raise NotImplementedError

    def group(self, arrays: dict[str, Any], outputs: Any, how: Any, loaded: dict[int, Loaded]) -> Any:
        """The whole answer."""
        if how is tuple or how is list:
            # In the order in which they were asked for, as often as they were.
            return how(arrays[output.name] for output in outputs)
        if how is dict:
            return arrays
        if how is None:
            return self.table(arrays)
        raise TypeError(f"for library {self.name!r}, how is tuple, list, dict or None, not {how!r}")

    def concatenate(self, answers: list[Any]) -> Any:
        """Answers of several steps or files, one after another."""
        if not answers:
            return answers
        first = answers[0]
        if isinstance(first, (tuple, list)):
            return type(first)(self.concatenate(list(field)) for field in zip(*answers))
        if isinstance(first, dict):
            return {name: self.concatenate([answer[name] for answer in answers]) for name in first}
        return self.join_arrays(answers)

    def join_arrays(self, arrays: list[Any]) -> Any:
        """Arrays one after another."""
        raise NotImplementedError

    def counted_from(self, answer: Any, offset: int) -> Any:
        """The answer with entry numbers that begin at ``offset``, where the library has some."""
        return answer


class Awkward(Library):
    name = "ak"

    def column(self, loaded: Loaded, selection: Selection) -> Any:
        need("awkward", 'library="ak"')
        array = layout.to_awkward(loaded.column, loaded.mark)
        return array if loaded.index is None else array[loaded.index]

    def convert(self, value: Any, selection: Selection) -> Any:
        ak = need("awkward", 'library="ak"')
        return value if isinstance(value, ak.Array) else ak.Array(value)

    def record(self, below: dict[str, Any], length: int) -> Any:
        ak = need("awkward", 'library="ak"')
        contents = [array.layout for array in below.values()]
        return ak.Array(ak.contents.RecordArray(contents, list(below), length=length))

    def apply_mask(self, array: Any, mask: Any) -> Any:
        return array[mask]

    def table(self, arrays: dict[str, Any]) -> Any:
        length = len(next(iter(arrays.values()))) if arrays else 0
        return self.record(arrays, length)

    def group(self, arrays: dict[str, Any], outputs: Any, how: Any, loaded: dict[int, Loaded]) -> Any:
        if how == "zip":
            return zip_fields.zip_arrays(arrays, outputs)
        if how == "records":
            return zip_fields.collect_records(arrays, outputs)
        if how not in (tuple, list, dict, None):
            raise TypeError(f'how is tuple, list, dict, "zip", "records" or None, not {how!r}')
        return super().group(arrays, outputs, how, loaded)

    def join_arrays(self, arrays: list[Any]) -> Any:
        joined = need("awkward", 'library="ak"').concatenate(_as_one_type(arrays))
        if "union[" in str(joined.type) and not any("union[" in str(array.type) for array in arrays):
            raise joins.different([str(array.type).partition(" * ")[2] for array in arrays])
        return joined


def _as_one_type(arrays: list[Any]) -> list[Any]:
    """Arrays of Awkward whose numbers have the same types, place by place; as they are where their shapes differ."""
    ak = need("awkward", 'library="ak"')
    if len({str(ak.type(array).content) for array in arrays}) < 2:
        return arrays
    # Numbers that a cut left out do not count.
    packed = [ak.to_packed(array) for array in arrays]
    numbers: list[list[Any]] = []
    for array in packed:
        found: list[Any] = []

        def collect(layout: Any, found: list[Any] = found, **_: Any) -> Any:
            if layout.is_numpy:
                found.append(np.asarray(layout.data))
            return layout if layout.is_numpy or _is_text(layout) else None

        ak.transform(collect, array, return_value="none")
        numbers.append(found)
    places = [list(found) for found in zip(*numbers)]
    if len({len(found) for found in numbers}) > 1 or any(
        one.dtype.kind not in "biuf" for found in places for one in found
    ):
        return arrays
    common = list(common_numbers.agreed(places))
    out = []
    for array in packed:
        wanted = iter(common)

        def change(layout: Any, wanted: Any = wanted, **_: Any) -> Any:
            if not layout.is_numpy:
                return layout if _is_text(layout) else None
            changed = np.asarray(layout.data).astype(next(wanted), copy=False)
            return ak.contents.NumpyArray(changed, parameters=layout.parameters)

        out.append(ak.transform(change, array))
    return out


def _is_text(layout: Any) -> bool:
    return layout.parameter("__array__") in ("string", "bytestring")


def _as_one_kind(arrays: list[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """Arrays of NumPy of one type, if all hold numbers.

    Raises :class:`~sapwood.errors.MismatchError` if some hold numbers and others do not.
    """
    if len({array.dtype for array in arrays}) < 2:
        return arrays
    if any(array.dtype.kind not in "biuf" for array in arrays):
        raise joins.different([str(array.dtype) for array in arrays])
    common = common_numbers.common_type(arrays)
    return [common_numbers.converted(array, common) for array in arrays]


class NumPy(Library):
    name = "np"

    def column(self, loaded: Loaded, selection: Selection) -> Any:
        array = layout.to_numpy(loaded.column, loaded.typename)
        return array if loaded.index is None else array[loaded.index]

    def convert(self, value: Any, selection: Selection) -> Any:
        return value if isinstance(value, np.ndarray) else layout.awkward_to_numpy(value)

    def record(self, below: dict[str, Any], length: int) -> Any:
        return below

    def apply_mask(self, array: Any, mask: Any) -> Any:
        if isinstance(array, dict):
            return {name: self.apply_mask(one, mask) for name, one in array.items()}
        flat = flat_mask(mask)
        if flat is not None:
            return array[flat]
        out = np.empty(len(array), object)
        out[:] = [np.asarray(row)[np.asarray(keep)] for row, keep in zip(array, mask)]
        return out

    def table(self, arrays: dict[str, Any]) -> Any:
        return arrays

    def join_arrays(self, arrays: list[Any]) -> Any:
        if len({array.shape[1:] for array in arrays}) > 1:
            raise joins.different([" * ".join(map(str, (*one.shape[1:], one.dtype))) for one in arrays])
        return np.concatenate(_as_one_kind(arrays))


class Calculation(Library):
    """What expressions are computed with: NumPy for plain numbers, Awkward for all else."""

    def column(self, loaded: Loaded, selection: Selection) -> Any:
        library = NUMPY if loaded.column.kind[0] == "number" else AWKWARD
        return library.column(loaded, selection)

    def record(self, below: dict[str, Any], length: int) -> Any:
        return AWKWARD.record(
            {name: AWKWARD.convert(one, Selection((0, length))) for name, one in below.items()}, length
        )


class Pandas(Library):
    name = "pd"

    @staticmethod
    def _index(selection: Selection) -> Any:
        pandas = need("pandas", 'library="pd"')
        return pandas.RangeIndex(*selection.span) if selection.rows is None else pandas.Index(selection.rows)

    def _series(self, values: Any, selection: Selection) -> Any:
        pandas = need("pandas", 'library="pd"')
        try:
            return pandas.Series(values, index=self._index(selection))
        except UnicodeEncodeError:
            # Its type of texts holds UTF-8 alone; other bytes stay texts of Python.
            return pandas.Series(values, index=self._index(selection), dtype=object)

    def column(self, loaded: Loaded, selection: Selection) -> Any:
        kind = loaded.column.kind
        if kind[0] == "number":
            return self._series(NUMPY.column(loaded, selection), selection)
        if kind[0] != "text" and not layout.has(kind, "pointer"):
            extended = _awkward_extension(lambda: AWKWARD.column(loaded, selection))
            if extended is not None:
                return self._series(extended, selection)
        return self._series(_objects(NUMPY.column(loaded, selection)), selection)

    def convert(self, value: Any, selection: Selection) -> Any:
        if isinstance(value, np.ndarray) and value.ndim == 1:
            return self._series(value, selection)
        if not isinstance(value, np.ndarray):
            extended = _awkward_extension(lambda: value) if value.ndim > 1 else None
            value = extended if extended is not None else _objects(layout.awkward_to_numpy(value))
            return self._series(value, selection)
        return self._series(_objects(value), selection)

    def record(self, below: dict[str, Any], length: int) -> Any:
        pandas = need("pandas", 'library="pd"')
        if not below:
            return pandas.DataFrame()
        out = pandas.concat(list(below.values()), axis=1, ignore_index=True)
        out.columns = list(below)
        return out

    def apply_mask(self, array: Any, mask: Any) -> Any:
        flat = row_mask(mask)
        return array[flat]

    def table(self, arrays: dict[str, Any]) -> Any:
        return self.record(arrays, 0)

    def group(self, arrays: dict[str, Any], outputs: Any, how: Any, loaded: dict[int, Loaded]) -> Any:
        return super().group(arrays, outputs, None if isinstance(how, str) else how, loaded)

    def join_arrays(self, arrays: list[Any]) -> Any:
        pandas = need("pandas", 'library="pd"')
        if not isinstance(arrays[0], pandas.DataFrame):
            values = _as_one_kind([array.to_numpy() for array in arrays])
            return pandas.concat([pandas.Series(one, array.index) for one, array in zip(values, arrays)])
        joined = pandas.concat(arrays)
        if not joined.columns.is_unique:
            return joined
        for name in joined.columns:
            kinds = {array[name].dtype for array in arrays}
            if len(kinds) > 1 and all(isinstance(kind, np.dtype) and kind.kind in "biuf" for kind in kinds):
                joined[name] = np.concatenate(_as_one_kind([array[name].to_numpy() for array in arrays]))
        return joined

    def counted_from(self, answer: Any, offset: int) -> Any:
        if offset == 0:
            return answer
        if isinstance(answer, (tuple, list)):
            return type(answer)(self.counted_from(one, offset) for one in answer)
        if isinstance(answer, dict):
            return {name: self.counted_from(one, offset) for name, one in answer.items()}
        answer.index = answer.index + offset
        return answer


def _objects(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """One object a row."""
    if array.ndim == 1 and array.dtype.names is None:
        return array
    out = np.empty(len(array), object)
    out[:] = list(array)
    return out


def _awkward_extension(make: Any) -> Any:
    try:
        from awkward_pandas import AwkwardExtensionArray
    except ImportError:
        return None
    return AwkwardExtensionArray(make())


class Arrow(Library):
    name = "arrow"

    def column(self, loaded: Loaded, selection: Selection) -> Any:
        pa = need("pyarrow", 'library="arrow"')
        array = pa.chunked_array([pa.array(loaded.column)])
        if loaded.index is not None:
            return array.take(pa.array(loaded.index))
        return array

    def convert(self, value: Any, selection: Selection) -> Any:
        pa = need("pyarrow", 'library="arrow"')
        if isinstance(value, np.ndarray) and value.ndim == 1:
            return pa.chunked_array([pa.array(value)])
        ak = need("awkward", "an expression over lists")
        array = value if isinstance(value, ak.Array) else ak.from_numpy(value, regulararray=True)
        return pa.chunked_array([ak.to_arrow(array, extensionarray=False)])

    def record(self, below: dict[str, Any], length: int) -> Any:
        pa = need("pyarrow", 'library="arrow"')
        arrays = [
            array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
            for array in below.values()
        ]
        return pa.chunked_array([pa.StructArray.from_arrays(arrays, list(below))])

    def apply_mask(self, array: Any, mask: Any) -> Any:
        pa = need("pyarrow", 'library="arrow"')
        flat = row_mask(mask)
        return array.filter(pa.array(flat))

    def table(self, arrays: dict[str, Any]) -> Any:
        return need("pyarrow", 'library="arrow"').table(arrays)

    def join_arrays(self, arrays: list[Any]) -> Any:
        pa = need("pyarrow", 'library="arrow"')
        join = joins.arrow_columns if isinstance(arrays[0], pa.ChunkedArray) else joins.arrow_tables
        return join(pa, arrays)


class Polars(Library):
    name = "pl"

    def check(self, name: str, branch: Any) -> None:
        found = branch.interpretation
        if layout.has_choice(found.kind):
            raise UnsupportedError(
                f"{name!r} holds {found.typename}, values of several types, and Polars has no type for these: leave it out "
                f"(expressions, filter_name), or read it with library='ak' or 'arrow'{place(branch.file_path, branch.object_path)}"
            )

    def column(self, loaded: Loaded, selection: Selection) -> Any:
        pl = need("polars", 'library="pl"')
        whole = pl.Series(loaded.column)
        return whole if loaded.index is None else whole.gather(loaded.index)

    def convert(self, value: Any, selection: Selection) -> Any:
        pl = need("polars", 'library="pl"')
        if isinstance(value, np.ndarray):
            return pl.Series(value)
        return pl.Series(value.to_list()) if value.ndim > 1 else pl.Series(np.asarray(value))

    def record(self, below: dict[str, Any], length: int) -> Any:
        return need("polars", 'library="pl"').DataFrame(below).to_struct("")

    def apply_mask(self, array: Any, mask: Any) -> Any:
        pl = need("polars", 'library="pl"')
        flat = row_mask(mask)
        return array.filter(pl.Series(flat))

    def table(self, arrays: dict[str, Any]) -> Any:
        return need("polars", 'library="pl"').DataFrame(arrays)

    def join_arrays(self, arrays: list[Any]) -> Any:
        pl = need("polars", 'library="pl"')
        return (joins.polars_columns if isinstance(arrays[0], pl.Series) else joins.polars_frames)(pl, arrays)


AWKWARD, NUMPY, CALCULATION, POLARS = Awkward(), NumPy(), Calculation(), Polars()
_LIBRARIES: dict[str, Library] = {
    **dict.fromkeys(("ak", "awkward"), AWKWARD),
    **dict.fromkeys(("np", "numpy"), NUMPY),
    **dict.fromkeys(("pd", "pandas"), Pandas()),
    **dict.fromkeys(("pl", "polars"), POLARS),
    **dict.fromkeys(("arrow", "pa", "pyarrow"), Arrow()),
}


def as_library(library: Any) -> Library:
    """The library of a name.

    >>> as_library("numpy").name
    'np'
    """
    if isinstance(library, Library):
        return library
    name = getattr(library, "__name__", library)
    found = _LIBRARIES.get(name.lower()) if isinstance(name, str) else None
    if found is None:
        raise ValueError(f"library is one of {', '.join(names())}, not {library!r}")
    return found


def names() -> Iterable[str]:
    """Names of the libraries, the short ones."""
    return list(dict.fromkeys(repr(library.name) for library in _LIBRARIES.values()))
