"""From arrays and tables to the branches of a tree that is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sapwood import errors

CounterName = Callable[[str], str]
FieldName = Callable[[str, str], str]


@dataclass(frozen=True)
class Spec:
    """A branch: ``kind`` is ``numbers``, ``jagged``, ``counter`` or ``text``."""

    name: str
    kind: str
    dtype: str = ""
    counter: str = ""
    dimensions: tuple[int, ...] = ()

    def for_engine(self) -> tuple[str, str, str, str, tuple[int, ...]]:
        return self.name, self.kind, self.dtype, self.counter, self.dimensions


@dataclass
class Schema:
    """Branches in their order, and for each column of the data the branches that it fills: a field of it, or itself."""

    specs: list[Spec] = field(default_factory=list)
    columns: dict[str, list[tuple[str | None, Spec]]] = field(default_factory=dict)

    def add(self, column: str, part: str | None, spec: Spec) -> None:
        counters = {known.name for known in self.specs if known.kind == "counter"}
        if spec.counter and spec.counter not in counters:
            self.specs.append(Spec(spec.counter, "counter", "int32"))
        self.specs.append(spec)
        self.columns.setdefault(column, []).append((part, spec))


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
    if type(data).__module__.startswith("pandas"):
        return {str(name): data[name].to_numpy() for name in data.columns}
    if _is_awkward(data) and data.fields:
        return {name: data[name] for name in data.fields}
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "to_arrow"):
        import awkward as ak
        import pyarrow as pa  # type: ignore[import-untyped]

        table = ak.from_arrow(data.to_arrow() if hasattr(data, "to_arrow") else pa.table(data))
        return {name: _without_options(name, table[name]) for name in table.fields}
    raise TypeError(
        f"a tree is filled from a mapping of names to arrays, a structured NumPy array, an Awkward record array, a DataFrame "
        f"or an Arrow table, not from {type(data).__name__}"
    )


def _is_awkward(data: Any) -> bool:
    return type(data).__module__.startswith("awkward.")


def _without_options(name: str, array: Any) -> Any:
    """Arrow columns may have nulls; ROOT's branches cannot."""
    import awkward as ak

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
        return data
    if isinstance(data, np.ndarray) and data.dtype.kind in "biuf":
        return data
    if isinstance(data, np.ndarray) and data.dtype.kind in "US":
        data = data.tolist()
    try:
        array = np.asarray(data)
    except ValueError:  # lists of different lengths
        array = np.empty(0, object)
    if array.dtype.kind in "biuf":
        return array
    import awkward as ak

    return ak.from_iter(data)


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
    return schema(types, counters, fields)


def schema(types: Mapping[str, Any], counters: CounterName, fields: FieldName) -> Schema:
    """The branches of a mapping from names to types: NumPy's, Awkward's, or their texts (``f4``, ``var * float32``)."""
    out = Schema()
    for name, kind in types.items():
        if isinstance(kind, Mapping):
            for inner, of in kind.items():
                _add(out, name, str(inner), fields(name, str(inner)), _type(of), counters, fields)
        else:
            _add(out, name, None, name, _type(kind), counters, fields)
    return out


def _type(kind: Any) -> Any:
    """A NumPy or Awkward type."""
    if isinstance(kind, str):
        try:
            return np.dtype(kind)
        except (TypeError, ValueError):
            import awkward as ak

            return ak.types.from_datashape(kind, highlevel=False)
    if type(kind).__module__.startswith("awkward."):
        return getattr(kind, "content", kind) if type(kind).__name__ == "ArrayType" else kind
    return np.dtype(kind)


def _add(
    out: Schema, column: str, part: str | None, name: str, kind: Any, counters: CounterName, fields: FieldName
) -> None:
    if isinstance(kind, np.dtype) or (_word(kind) == "Numpy"):
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
            dtype, dimensions = _numbers(fields(name, inner), of)
            path = inner if part is None else f"{part}.{inner}"
            out.add(column, path, Spec(fields(name, inner), "jagged", dtype, counters(name), dimensions))
    elif _word(kind) == "List":
        dtype, dimensions = _numbers(name, kind.content)
        out.add(column, part, Spec(name, "jagged", dtype, counters(name), dimensions))
    else:
        raise errors.UnsupportedError(f"branch {name!r}: values of type {kind} cannot be written yet")


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


def values(schema: Schema, columns: Mapping[str, Any]) -> list[tuple[str, bytes | None, bytes]]:
    """What the engine takes: for each branch its name, where its lists end, and its values."""
    missing = [name for name in schema.columns if name not in columns]
    unknown = [name for name in columns if name not in schema.columns]
    if missing or unknown:
        words = [f"lacks {', '.join(map(repr, missing))}"] if missing else []
        words += [f"has no branch for {', '.join(map(repr, unknown))}"] if unknown else []
        raise errors.MismatchError(f"the data {' and '.join(words)}")
    out = []
    for name, parts in schema.columns.items():
        column = columns[name]
        nested = isinstance(column, Mapping)
        whole: Any = None if nested else as_column(name, column)
        for part, spec in parts:
            array: Any = whole
            if part is not None:
                path = part.split(".")
                array = as_column(part, column[path[0]]) if nested else whole
                for inner in path[1:] if nested else path:
                    array = array[inner]
            out.append((spec.name, *_buffers(spec, array)))
    return out


def _buffers(spec: Spec, array: Any) -> tuple[bytes | None, bytes]:
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
        return None, _native(spec, array)
    import awkward as ak

    wanted = "strings" if spec.kind == "text" else "lists"
    wrong = errors.MismatchError(f"branch {spec.name!r} holds {wanted} and was given {_spelled(array)}")
    whole = array if _is_awkward(array) else ak.from_numpy(array, regulararray=True)
    layout = ak.to_layout(ak.to_packed(whole))
    if layout.is_regular:
        layout = layout.to_ListOffsetArray64(True)
    if not (layout.is_list and _is_string(layout.form.type) == (spec.kind == "text")):
        raise wrong
    layout = layout.to_ListOffsetArray64(True)
    offsets = np.asarray(layout.offsets.data)
    content = layout.content[: offsets[-1]]
    if spec.kind == "text":
        return offsets[1:].tobytes(), np.asarray(content.data).tobytes()
    try:
        numbers = ak.to_numpy(content, allow_missing=False)
    except ValueError:
        raise wrong from None
    if numbers.shape[1:] != spec.dimensions:
        raise errors.MismatchError(
            f"branch {spec.name!r} holds items of shape {spec.dimensions} and was given {numbers.shape[1:]}"
        )
    return offsets[1:].tobytes(), _native(spec, numbers)


def _native(spec: Spec, array: Any) -> bytes:
    """Bytes of numbers as the branch has them; a type that would lose more than digits is refused."""
    wanted = np.dtype(spec.dtype)
    if array.dtype.kind not in "biuf" or not np.can_cast(array.dtype, wanted, "same_kind"):
        raise errors.MismatchError(f"branch {spec.name!r} holds {wanted} and was given {array.dtype}")
    return bytes(np.ascontiguousarray(array, wanted).tobytes())


def _spelled(array: Any) -> str:
    if _is_awkward(array):
        import awkward as ak

        return str(ak.type(array))
    return f"{array.dtype} of shape {array.shape}"
