"""From arrays and tables to the branches of a tree that is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sapwood import classes, errors, whole

CounterName = Callable[[str], str]
FieldName = Callable[[str, str], str]


@dataclass(frozen=True)
class Spec:
    """A branch: ``kind`` is ``numbers``, ``jagged``, ``counter``, ``text``, ``vector`` or ``object``.

    Of a vector ``dimensions`` is its depth, and ``dtype`` is empty where it holds strings; of an object it is the split level, and
    ``objects`` is its type.
    """

    name: str
    kind: str
    dtype: str = ""
    counter: str = ""
    dimensions: tuple[int, ...] = ()
    objects: classes.Type | None = None

    def for_engine(self, compression: str | None = None) -> tuple[Any, ...]:
        return self.name, self.kind, self.dtype, self.counter, self.dimensions, self.objects, compression


@dataclass
class Schema:
    """Branches in their order, and for each column of the data the branches that it fills: a field of it, or itself.

    A column of whole numbers that has the name of a counter is that counter: it may be given, and must agree with the lists.
    """

    specs: list[Spec] = field(default_factory=list)
    columns: dict[str, list[tuple[str | None, Spec]]] = field(default_factory=dict)
    counters: dict[str, str] = field(default_factory=dict)
    """Branches that count, and a branch that each of them counts."""
    places: dict[str, int] = field(default_factory=dict)
    """Where the branch of a name stands."""
    is_declared: bool = True
    """Whether somebody chose the types: then a counter has its own, else it is an ``int``."""

    def add(self, column: str, part: str | None, spec: Spec) -> None:
        if spec.counter and spec.counter not in self.counters:
            self.counters[spec.counter] = spec.name
            counter = Spec(spec.counter, "counter", "int32")
            given = self.places.get(spec.counter)
            if given is not None and _may_count(self.specs[given]):
                self.specs[given] = replace(counter, dtype=self.specs[given].dtype) if self.is_declared else counter
                self.columns.pop(spec.counter, None)
            else:
                self._append(counter)
        if spec.name in self.counters and _may_count(spec) and part is None:
            if self.is_declared:
                there = self.places[spec.name]
                self.specs[there] = replace(self.specs[there], dtype=spec.dtype)
            return
        self._append(spec)
        self.columns.setdefault(column, []).append((part, spec))

    def _append(self, spec: Spec) -> None:
        if spec.name in self.places:
            raise errors.MismatchError(f"two branches would have the name {spec.name!r}: see counter_name and field_name")
        self.places[spec.name] = len(self.specs)
        self.specs.append(spec)


def _may_count(spec: Spec) -> bool:
    return spec.kind == "numbers" and not spec.dimensions and np.dtype(spec.dtype).kind in "iu"


def counter_name(counted: str) -> str:
    """uproot's choice: ``nMuon`` counts ``Muon``."""
    return "n" + counted


def field_name(outer: str, inner: str) -> str:
    """uproot's choice: ``Muon_pt`` is the field ``pt`` of ``Muon``; a record without a name has its fields' names."""
    return inner if outer == "" else f"{outer}_{inner}"


def columns_of(data: Any) -> dict[str, Any]:
    """The columns of whatever is a table: a mapping, a structured or record array, a DataFrame, an Arrow table."""
    if isinstance(data, Mapping):
        return {str(name): column for name, column in data.items()}
    if isinstance(data, np.ndarray) and data.dtype.names:
        return {name: data[name] for name in data.dtype.names}
    if type(data).__module__.startswith("pandas") and hasattr(data, "columns"):
        return {str(name): data[name].to_numpy() for name in data.columns}
    if _is_awkward(data) and data.fields:
        return {name: _without_options(name, data[name]) for name in data.fields}
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "to_arrow"):
        import awkward as ak
        import pyarrow as pa  # type: ignore[import-untyped]

        table = ak.from_arrow(data.to_arrow() if hasattr(data, "to_arrow") else pa.table(data))
        return {name: _without_options(name, table[name]) for name in table.fields}
    raise TypeError(
        f"a tree is filled from a mapping of names to arrays, a structured NumPy array, an Awkward record array, a DataFrame "
        f"or an Arrow table, not from {type(data).__name__}; histograms and other objects cannot be written yet"
    )


def _is_awkward(data: Any) -> bool:
    return type(data).__module__.startswith("awkward.")


def _without_options(name: str, array: Any) -> Any:
    """Arrow columns may have nulls; ROOT's branches cannot."""
    import awkward as ak

    if "?" not in str(array.type) and "option" not in str(array.type):
        return array

    def project(layout: Any, **_: Any) -> Any:
        if not layout.is_option:
            return None
        if layout.mask_as_bool(valid_when=False).any():
            raise errors.MismatchError(f"column {name!r} has missing values, which no branch can hold")
        return ak.transform(project, layout.project(), highlevel=False)

    return ak.transform(project, array)


def as_column(name: str, data: Any) -> Any:
    """A column as a NumPy or Awkward array."""
    if _is_awkward(data):
        return _without_options(name, data)
    if isinstance(data, np.ndarray) and data.dtype.kind in "biuf":
        return data
    if isinstance(data, np.ndarray) and data.dtype.kind in "US":
        data = data.tolist()
    try:
        array = whole.as_array(data)
    except errors.MismatchError as error:
        raise errors.MismatchError(f"column {name!r}: {error}") from None
    except ValueError:  # lists of different lengths
        array = np.empty(0, object)
    if array.dtype.kind in "biuf":
        return array
    import awkward as ak

    try:
        return ak.from_iter(data)
    except RuntimeError:  # whole numbers above 2^63
        pass
    try:
        return whole.as_jagged(data)
    except (errors.MismatchError, ValueError, TypeError) as error:
        raise errors.MismatchError(f"column {name!r}: {error}") from None


def schema_of(columns: Mapping[str, Any], counters: CounterName, fields: FieldName) -> Schema:
    """The branches that hold these columns."""
    types: dict[str, Any] = {}
    for name, column in columns.items():
        if _is_awkward(column):
            import awkward as ak

            kind = ak.type(column)
            types[name] = kind.content
        else:
            types[name] = np.dtype((column.dtype, column.shape[1:]))
    return schema(types, counters, fields, is_declared=False)


def schema(
    types: Mapping[str, Any], counters: CounterName, fields: FieldName, split_level: int = 99, is_declared: bool = True
) -> Schema:
    """The branches of a mapping from names to types: NumPy's, Awkward's, their texts (``f4``, ``var * float32``), or dataclasses."""
    out = Schema(is_declared=is_declared)
    for name, kind in types.items():
        if classes.is_class(kind):
            out.add(name, None, Spec(name, "object", dimensions=(split_level,), objects=classes.type_of(kind)))
        elif isinstance(kind, Mapping):
            for inner, of in kind.items():
                _add(out, name, str(inner), fields(name, str(inner)), _type(of), counters, fields)
        else:
            _add(out, name, None, name, _type(kind), counters, fields)
    return out


def _type(kind: Any) -> Any:
    """A NumPy or Awkward type, or the words of a C++ vector."""
    if isinstance(kind, str):
        if kind.replace("std::", "").startswith("vector<"):
            return kind.replace("std::", "").replace(" ", "")
        try:
            return np.dtype(kind)
        except (TypeError, ValueError):
            import awkward as ak

            try:
                return ak.types.from_datashape(kind, highlevel=False)
            except Exception:  # the parser's own errors, which name neither branch nor type
                raise errors.UnsupportedError(
                    f"the type {kind!r} is not understood: NumPy's ('f4'), Awkward's ('var * float32', 'string') and vectors "
                    "('vector<float>') are"
                ) from None
    if type(kind).__module__.startswith("awkward."):
        return getattr(kind, "content", kind) if type(kind).__name__ == "ArrayType" else kind
    return np.dtype(kind)


def _add(
    out: Schema, column: str, part: str | None, name: str, kind: Any, counters: CounterName, fields: FieldName
) -> None:
    if isinstance(kind, str):
        depth = kind.count("vector<")
        item = kind[7 * depth : len(kind) - depth]
        if kind != "vector<" * depth + item + ">" * depth or item not in _ITEMS:
            raise errors.UnsupportedError(f"branch {name!r}: {kind} cannot be written yet; items are {', '.join(_ITEMS)}")
        out.add(column, part, Spec(name, "vector", _ITEMS[item], dimensions=(depth,)))
    elif isinstance(kind, np.dtype) or (_word(kind) == "Numpy"):
        dtype, dimensions = _numbers(name, kind)
        out.add(column, part, Spec(name, "numbers", dtype, dimensions=dimensions))
    elif _is_string(kind):
        out.add(column, part, Spec(name, "text"))
    elif _word(kind) == "Regular":
        dtype, dimensions = _numbers(name, kind)
        out.add(column, part, Spec(name, "numbers", dtype, dimensions=dimensions))
    elif _word(kind) == "Record":
        for inner, of in zip(kind.fields, kind.contents):
            path = inner if part is None else f"{part}.{inner}"
            _add(out, column, path, fields(name, inner), of, counters, fields)
    elif _word(kind) == "List" and _word(kind.content) == "Record":
        for inner, of in zip(kind.content.fields, kind.content.contents):
            if _word(of) in ("List", "Record"):
                raise errors.UnsupportedError(f"branch {name!r}: lists of records with {inner!r} of type {of} cannot be written yet")
            dtype, dimensions = _numbers(fields(name, inner), of)
            path = inner if part is None else f"{part}.{inner}"
            out.add(column, path, Spec(fields(name, inner), "jagged", dtype, counters(name), dimensions))
    elif _word(kind) == "List" and _word(kind.content) == "List":
        depth = 0
        while _word(kind) == "List" and not _is_string(kind):
            depth, kind = depth + 1, kind.content
        dtype, dimensions = ("", ()) if _is_string(kind) else _numbers(name, kind)
        if dimensions:
            raise errors.UnsupportedError(f"branch {name!r}: vectors of arrays cannot be written yet")
        out.add(column, part, Spec(name, "vector", dtype, dimensions=(depth,)))
    elif _word(kind) == "List":
        dtype, dimensions = _numbers(name, kind.content)
        out.add(column, part, Spec(name, "jagged", dtype, counters(name), dimensions))
    else:
        raise errors.UnsupportedError(f"branch {name!r}: values of type {kind} cannot be written yet")


_ITEMS = {
    "bool": "bool", "char": "int8", "unsignedchar": "uint8", "short": "int16", "unsignedshort": "uint16", "int": "int32",
    "unsignedint": "uint32", "Long64_t": "int64", "ULong64_t": "uint64", "longlong": "int64", "unsignedlonglong": "uint64",
    "int8_t": "int8", "uint8_t": "uint8", "int16_t": "int16", "uint16_t": "uint16", "int32_t": "int32", "uint32_t": "uint32",
    "int64_t": "int64", "uint64_t": "uint64", "float": "float32", "double": "float64", "string": "",
}  # fmt: skip
"""What vectors hold, in C++ words without blanks."""


def _word(kind: Any) -> str:
    """``List`` for Awkward's ``ListType``, and so on."""
    return type(kind).__name__.removesuffix("Type")


def _is_string(kind: Any) -> bool:
    return _word(kind) == "List" and (kind.parameters or {}).get("__array__") in ("string", "bytestring")


def _numbers(name: str, kind: Any) -> tuple[str, tuple[int, ...]]:
    """Type of the numbers, and the extents of the array that each is."""
    dimensions: tuple[int, ...] = ()
    while _word(kind) == "Regular":
        dimensions += (int(kind.size),)
        kind = kind.content
    if isinstance(kind, np.dtype):
        base, shape = kind.subdtype or (kind, ())
        if base.kind in "biuf" and base.itemsize <= 8 and base != np.float16:
            return base.newbyteorder("=").name, dimensions + tuple(shape)
    elif _word(kind) == "Numpy" and not _is_complex(kind.primitive):
        return kind.primitive, dimensions
    raise errors.UnsupportedError(f"branch {name!r}: values of type {kind} cannot be written yet")


def _is_complex(primitive: str) -> bool:
    return primitive.startswith(("complex", "datetime", "timedelta", "float16", "float128"))


def schema_there(branches: list[tuple[str, str, str, str, list[int], classes.Type | None]]) -> Schema:
    """The branches of a tree that is there already, as the engine tells them: each is a column of its own."""
    out = Schema()
    for name, kind, dtype, counter, dimensions, objects in branches:
        spec = Spec(name, kind, dtype, counter, tuple(dimensions), objects)
        out.places[name] = len(out.specs)
        out.specs.append(spec)
        if kind != "counter":
            out.columns[name] = [(None, spec)]
        if counter:
            out.counters.setdefault(counter, name)
    return out


Array = np.ndarray[Any, Any]
NOTHING = np.empty(0, "u1")


def values(schema: Schema, columns: Mapping[str, Any]) -> list[tuple[str, list[Array], Array, classes.Column | None]]:
    """What the engine takes: for each branch its name, where the lists of each level end, and its values; or objects."""
    missing = [name for name in schema.columns if name not in columns]
    unknown = [name for name in columns if name not in schema.columns and name not in schema.counters]
    if missing or unknown:
        words = [f"lacks {', '.join(map(repr, missing))}"] if missing else []
        words += [f"has no branch for {', '.join(map(repr, unknown))}"] if unknown else []
        raise errors.MismatchError(f"the data {' and '.join(words)}")
    out: list[tuple[str, list[Array], Array, classes.Column | None]] = []
    for name, parts in schema.columns.items():
        column = columns[name]
        if parts[0][1].objects is not None:
            try:
                out.append((name, [], NOTHING, classes.column_of(parts[0][1].objects, column)))
            except errors.MismatchError as error:
                raise errors.MismatchError(f"branch {name!r}: {error}") from None
            continue
        nested = isinstance(column, Mapping)
        whole: Any = None if nested else as_column(name, column)
        for part, spec in parts:
            array: Any = whole
            if part is not None:
                path = part.split(".")
                array = as_column(part, column[path[0]]) if nested else whole
                for inner in path[1:] if nested else path:
                    array = array[inner]
            out.append((spec.name, *_buffers(spec, array), None))
    _check_counters(schema, columns, {name: levels for name, levels, *_ in out})
    return out


def _check_counters(schema: Schema, columns: Mapping[str, Any], levels: Mapping[str, list[Array]]) -> None:
    """Counts that were given are those of the lists."""
    for counter, counted in schema.counters.items():
        if counter not in columns:
            continue
        given = np.asarray(as_column(counter, columns[counter]))
        lengths = np.diff(levels[counted][0], prepend=0)
        if given.shape != lengths.shape or (given != lengths).any():
            raise errors.MismatchError(f"the numbers given for {counter!r} are not the lengths of the lists of {counted!r}")


def _buffers(spec: Spec, array: Any) -> tuple[list[Array], Array]:
    if spec.kind == "numbers":
        if _is_awkward(array):
            import awkward as ak

            try:
                array = ak.to_numpy(array, allow_missing=False)
            except ValueError as error:
                raise errors.MismatchError(f"branch {spec.name!r} was given values of another kind: {error}") from None
        if array.shape[1:] != spec.dimensions:
            raise errors.MismatchError(
                f"branch {spec.name!r} holds arrays of shape {spec.dimensions} and was given {array.shape[1:]}"
            )
        return [], _native(spec, array)
    import awkward as ak

    depth = spec.dimensions[0] if spec.kind == "vector" else int(spec.kind == "jagged")
    is_text = not spec.dtype
    wanted = " of ".join(["lists"] * depth + ["strings"] * is_text)
    wrong = errors.MismatchError(f"branch {spec.name!r} holds {wanted} and was given {_spelled(array)}")
    whole = array if _is_awkward(array) else ak.from_numpy(array, regulararray=True)
    layout = ak.to_layout(ak.to_packed(whole))
    levels = []
    for level in range(depth + is_text):
        if len(layout) == 0:  # nothing says what would be in it
            levels.append(np.empty(0, "i8"))
            continue
        if not (layout.is_list or layout.is_regular) or _is_string(layout.form.type) != (level == depth):
            raise wrong
        layout = layout.to_ListOffsetArray64(True)
        offsets = np.asarray(layout.offsets.data)
        levels.append(np.ascontiguousarray(offsets[1:]))
        layout = layout.content[: offsets[-1]]
    if len(layout) == 0:
        return levels, NOTHING
    if is_text:
        return levels, classes.memory(np.asarray(layout.data))
    try:
        numbers = ak.to_numpy(layout, allow_missing=False)
    except ValueError:
        raise wrong from None
    shape = () if spec.kind == "vector" else spec.dimensions
    if numbers.shape[1:] != shape:
        raise errors.MismatchError(f"branch {spec.name!r} holds items of shape {shape} and was given {numbers.shape[1:]}")
    return levels, _native(spec, numbers)


def _native(spec: Spec, array: Any) -> Array:
    """Bytes of numbers as the branch has them. Digits of floats may be lost; whole numbers fit or are refused."""
    wanted = np.dtype(spec.dtype)
    if array.size == 0:  # nothing says of what type
        return NOTHING
    kinds = array.dtype.kind + wanted.kind
    if kinds[0] not in "biuf" or (kinds[0] != kinds[1] and kinds not in ("ui", "iu", "if", "uf", "bi", "bu", "bf")):
        raise errors.MismatchError(f"branch {spec.name!r} holds {wanted} and was given {array.dtype}")
    if kinds in ("ii", "uu", "ui", "iu") and array.size and not np.can_cast(array.dtype, wanted):
        least, most = int(array.min()), int(array.max())
        if least < np.iinfo(wanted).min or most > np.iinfo(wanted).max:
            raise errors.MismatchError(f"branch {spec.name!r} holds {wanted} and was given numbers from {least} to {most}")
    return classes.memory(np.ascontiguousarray(array, wanted))


def _spelled(array: Any) -> str:
    if _is_awkward(array):
        import awkward as ak

        return str(ak.type(array))
    return f"{array.dtype} of shape {array.shape}"
