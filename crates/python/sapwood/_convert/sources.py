"""Where rows come from: files of any format as streams of Arrow's batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sapwood._convert import counters, hdf5, kept, kinds, numpy_files, texts
from sapwood._convert.arrow_types import arrow
from sapwood._file import sizes
from sapwood._notices import warn
from sapwood._read import stated_types
from sapwood._read.libraries import need
from sapwood.errors import MismatchError, SapwoodError, UnsupportedError, near, not_found, place

#: Rows of a batch, which Arrow counts in 64 bits.
_MAX_ROWS = 1 << 62


class Rows(NamedTuple):
    """The rows of a file, or of several as one."""

    schema: Any
    """Names and types of the columns, as a ``pyarrow.Schema``."""
    batches: Iterator[Any]
    """The rows, as ``pyarrow.RecordBatch``."""
    total: int | None
    """How many there are, where that is known before."""
    name: str
    """What a tree of them is called, unless that is said."""
    left_out: Sequence[str] = ()
    """Branches of the first file that are no columns of Arrow."""
    computed: Mapping[str, str] = {}
    """Types of dates that the cut and expressions compute with, in words."""


class Wanted(NamedTuple):
    """What of a file is wanted."""

    columns: list[str] | None
    cut: str | None
    filter_name: Any
    aliases: Any
    step_size: int | str
    options: dict[str, Any]
    """How files of ROOT are opened."""
    types: Mapping[str, Any] | None = None
    """Types of columns."""


def open_rows(path: Any, format: str, wanted: Wanted) -> Rows:
    """The rows of a file."""
    if format in ("ttree", "rntuple"):
        return _of_root(path, wanted)
    if wanted.cut is not None or wanted.aliases or wanted.filter_name is not None:
        raise MismatchError(f"cut, aliases and filter_name are for files of ROOT, and {path} is {format}")
    arrow()
    path = os.fspath(path)
    if not os.path.exists(path):
        from sapwood._remote import paths

        raise paths.missing_file(path)
    if format != "jsonl" and not os.path.isfile(path):
        words = f"{path} is a pipe or a device, and {format} is read from files: write it to a file first"
        raise UnsupportedError(f"{words} (only JSON lines come through pipes)")
    with _Unreadable(path, format):
        rows = _READERS[format](path, wanted)
    try:
        return _chosen(rows, path, format, wanted)
    except BaseException:
        close(rows.batches)
        raise


def close(batches: Iterator[Any]) -> None:
    """Ends reading: one who writes into a pipe waits until it is closed."""
    end = getattr(batches, "close", None)
    if end is not None:
        end()


def _chosen(rows: Rows, path: str, format: str, wanted: Wanted) -> Rows:
    """The columns that are wanted, with their types."""
    texts.check_once(rows.schema.names, path)
    rows = rows._replace(batches=_told(rows.batches, path, format))
    types = texts.unparsed(kinds.named(wanted.types), format)
    _check_typed(types, rows.schema, path)
    if wanted.columns is None:
        return _as_types(rows, types, path)
    names = columns_of(wanted.columns, rows.schema.names)
    missing = [name for name in names if name not in rows.schema.names]
    if missing:
        raise not_found(f"there is no column {missing[0]!r}{near(missing[0], rows.schema.names)}", path)
    schema = arrow().schema([rows.schema.field(name) for name in names])
    rows = rows._replace(schema=schema, batches=(batch.select(names) for batch in rows.batches))
    return _as_types(rows, {name: kind for name, kind in types.items() if name in names}, path)


def _check_typed(types: Mapping[str, Any], schema: Any, path: Any) -> None:
    for name in types:
        if name not in schema.names:
            words = f"column {name!r} does not exist and cannot have a type{near(name, schema.names)}"
            raise not_found(words, name_of(path))


def _as_types(rows: Rows, wanted: Mapping[str, Any], path: Any) -> Rows:
    """Rows whose columns have other types: those that are asked for, and those that a file remembers."""
    if not wanted:
        return rows
    schema, batches = kinds.changed(rows, wanted, name_of(path))
    return rows._replace(schema=schema, batches=batches)


def columns_of(wanted: list[str], names: list[str]) -> list[str]:
    """The columns that are wanted, each once: patterns stand for the names that they match.

    >>> columns_of(["b", "a*"], ["ab", "ac", "b"])
    ['b', 'ab', 'ac']
    """
    return list(dict.fromkeys(name for text in wanted for name in _fitting(text, names) or [text]))


def _fitting(text: str, names: list[str]) -> list[str]:
    """The names that a pattern matches; none where it is none."""
    from sapwood._read import filters, reading

    match = filters.as_match(text) if text not in names and reading.is_pattern(text) else None
    return [] if match is None else [name for name in names if match(name)]


class _Unreadable:
    """What other packages say of a file that they cannot read, told with its name and format."""

    def __init__(self, path: str, format: str) -> None:
        self._path, self._format = path, format

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: Any, error: BaseException | None, __: Any) -> None:
        # Packages raise errors of any class for damaged files. Those of the system have a number.
        is_other = isinstance(error, (SapwoodError, ImportError)) or getattr(error, "errno", None) is not None
        if isinstance(error, Exception) and not is_other:
            found = " ".join(str(error).split()) or type(error).__name__
            raise MismatchError(
                f"the file cannot be read as {self._format}: {found}: it is damaged, or of another format, which "
                f"source_format= (--from) names{place(self._path, None)}"
            ) from error


def _told(batches: Iterator[Any], path: str, format: str) -> Iterator[Any]:
    with _Unreadable(path, format):
        yield from batches


def _of_root(path: Any, wanted: Wanted) -> Rows:
    """Rows of a tree or an RNTuple."""
    from sapwood._read import chain as chains
    from sapwood._read import reading, stream
    from sapwood._remote import paths

    source = paths.expand(path)[0] if not hasattr(path, "num_entries") else paths.Source(path, None)
    tree = chains.open_tree(source, wanted.options)
    left_out: Sequence[str] = ()
    if wanted.columns is None:
        _check_filter(tree, wanted.filter_name, path)
        ids, names, left_out = stream.branches_and_left_out(tree, wanted.filter_name)
    else:
        is_pattern = any(map(reading.is_pattern, wanted.columns))
        # What looks like a pattern and fits no name is an expression.
        ids, names = [], columns_of(wanted.columns, stream.branches(tree)[1] if is_pattern else [])
    steps: Any
    if wanted.columns is None and wanted.cut is None and not wanted.aliases:
        # What is read as it is needs no Python between the batches.
        steps = _Branches(tree, ids, names, wanted.step_size)
        read_from = [(name, tree._branch(id)) for id, name in zip(ids, names)]
    else:
        plan = reading.Plan(tree, names, wanted.cut, aliases=wanted.aliases)
        steps = stream.steps_of(plan, (0, tree.tree.num_entries), wanted.step_size)
        read_from = [(output.name, output.branch) for output in plan.outputs]
    reader = arrow().RecordBatchReader.from_stream(steps)

    def batches() -> Iterator[Any]:
        try:
            yield from reader
        except arrow().ArrowException as error:
            words = " ".join(str(error).removeprefix("Schema error: ").split())
            words = words.replace("leave it out of the stream", "leave it out (columns, filter_name)")
            raise MismatchError(f"{words}{place(name_of(path), None)}") from error
        finally:
            chains.close(source, tree)

    total = tree.tree.num_entries if wanted.cut is None else None
    schema = counters.remember(reader.schema, read_from)
    rows = Rows(schema, batches(), total, str(tree.tree.name), left_out, _computed(tree, names, wanted))
    types = kinds.named(wanted.types)
    _check_typed(types, schema, path)
    # A type of numbers is for the numbers in the file, any other one for the dates and bytes that they were.
    former = {
        name: kind
        for name, kind in kinds.remembered(str(tree.tree.title), schema).items()
        if name not in types or not kinds.are_numbers(types[name])
    }
    return _as_types(_as_types(rows, former, path), types, path)


def _computed(tree: Any, names: list[str], wanted: Wanted) -> dict[str, str]:
    """The types of dates that the cut and the columns compute with."""
    texts = {f"column {name!r}": name for name in names if tree._find(name) is None}
    if wanted.cut is not None:
        texts["the cut"] = wanted.cut
    found = {
        what: stated_types.of_expression(tree, text, wanted.aliases or {}) for what, text in texts.items()
    }
    return {what: words for what, words in found.items() if words}


def _check_filter(tree: Any, filter: Any, path: Any) -> None:
    """Refuses a filter that no branch passes."""
    if filter is not None and not any(True for _ in tree.itervalues(filter_name=filter)):
        words = f"no branch passes filter_name={filter!r} (--filter-name){near(str(filter), tree.keys())}"
        raise not_found(words, name_of(path))


class _Branches:
    """Some branches of a tree, read in steps."""

    def __init__(self, tree: Any, ids: list[int], names: list[str], step_size: int | str) -> None:
        self.of = tree, ids, names, step_size

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The stream."""
        from sapwood._read import reading
        from sapwood._tree import iteration

        tree, ids, names, step_size = self.of
        steps = iteration.steps(reading.Plan(tree, names), 0, tree.tree.num_entries, step_size)
        core = tree.tree._core
        return core.arrow_stream(ids, names, steps, tree.tree.file._engine().by_python)


def rows_in(schema: Any, wanted: Wanted) -> int:
    """How many rows a batch has, of columns of these types."""
    if not isinstance(wanted.step_size, str):
        return min(wanted.step_size, _MAX_ROWS)
    width = sum(
        max(getattr(field.type, "bit_width", 0) if _is_fixed(field.type) else 0, 128) // 8 for field in schema
    )
    return min(max(1024, sizes.as_bytes(wanted.step_size) // max(width, 1)), _MAX_ROWS)


def _is_fixed(kind: Any) -> bool:
    try:
        return bool(kind.bit_width)
    except ValueError:
        return False


def _name(path: str) -> str:
    return os.path.basename(path).partition(".")[0] or "table"


def _parquet(path: str, wanted: Wanted) -> Rows:
    parquet = need("pyarrow.parquet", "sapwood.convert()", "pyarrow")
    file = parquet.ParquetFile(path)
    schema = file.schema_arrow
    columns = None
    if wanted.columns is not None:
        columns = [name for name in columns_of(wanted.columns, schema.names) if name in schema.names]
    batches = file.iter_batches(rows_in(schema, wanted), columns=columns)
    return Rows(schema, batches, file.metadata.num_rows, _name(path))


def _feather(path: str, wanted: Wanted) -> Rows:
    pa = arrow()
    reader = pa.ipc.open_file(pa.memory_map(path))
    batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
    return Rows(reader.schema, batches, None, _name(path))


def _arrows(path: str, wanted: Wanted) -> Rows:
    pa = arrow()
    reader = pa.ipc.open_stream(pa.OSFile(path))
    return Rows(reader.schema, iter(reader), None, _name(path))


def _csv(path: str, wanted: Wanted) -> Rows:
    return _of_text(path, texts.read_csv(path, _block(wanted), wanted.types))


def _jsonl(path: str, wanted: Wanted) -> Rows:
    return _of_text(path, texts.read_jsonl(path, _block(wanted), wanted.types))


def _of_text(path: str, found: texts.Found) -> Rows:
    return Rows(*found, None, _name(path))


def _block(wanted: Wanted) -> int:
    """Bytes of text that are parsed at once; the first ones say the types of the columns."""
    return (
        min(max(sizes.as_bytes(wanted.step_size), 1 << 20), 1 << 30)
        if isinstance(wanted.step_size, str)
        else 8 << 20
    )


def _npz(path: str, wanted: Wanted) -> Rows:
    return Rows(*numpy_files.read_npz(path, lambda schema: rows_in(schema, wanted)), _name(path))


def _npy(path: str, wanted: Wanted) -> Rows:
    return Rows(*numpy_files.read_npy(path, lambda schema: rows_in(schema, wanted)), _name(path))


def _hdf5(path: str, wanted: Wanted) -> Rows:
    return Rows(*hdf5.read(path, lambda schema: rows_in(schema, wanted)), _name(path))


_READERS: dict[str, Callable[[str, Wanted], Rows]] = {
    "parquet": _parquet,
    "feather": _feather,
    "arrows": _arrows,
    "csv": _csv,
    "jsonl": _jsonl,
    "npz": _npz,
    "npy": _npy,
    "hdf5": _hdf5,
}


def one_after_another(parts: list[tuple[Any, Callable[[], Rows]]]) -> Rows:
    """The rows of several files as one. Columns are those of the first; numbers of another width are widened
    or narrowed where no value is lost. A warning names columns that only a later file has."""
    first_path, make = parts[0]
    first = make()

    def batches() -> Iterator[Any]:
        yield from first.batches
        for path, make in parts[1:]:
            rows = make()
            _check_computed(rows.computed, first.computed, name_of(path), name_of(first_path))
            _check_columns(rows.schema, first.schema, name_of(path), name_of(first_path))
            for batch in rows.batches:
                yield _like(batch, first.schema, name_of(path), name_of(first_path))

    total = first.total if len(parts) == 1 else None
    return Rows(first.schema, batches(), total, first.name, first.left_out)


def name_of(part: Any) -> str:
    """A file, or a tree in one, in words.

    >>> name_of("a.csv"), name_of({"a.root": "t"})
    ('a.csv', 'a.root:t')
    """
    if isinstance(part, dict):
        return ":".join(str(one) for pair in part.items() for one in pair)
    return f"{part.file_path}:{part.tree.name}" if hasattr(part, "num_entries") else str(part)


def file_of(part: Any) -> Any:
    """The file of a part, as a path if it has one.

    >>> file_of("a.csv"), file_of({"a.root": "t"})
    ('a.csv', 'a.root')
    """
    return next(iter(part)) if isinstance(part, dict) else getattr(part, "file_path", part)


def _check_columns(found: Any, schema: Any, path: str, first: str) -> None:
    """Refuses columns that are missing or of another kind; a warning names those that are left out."""
    kinds = {field.name: field.type for field in found}
    for field in schema:
        kind = kinds.pop(field.name, None)
        if kind is None:
            raise MismatchError(f"{path} has other columns than {first}: there is no {field.name!r}")
        if not _fits(kind, field.type):
            words = f"{field.name!r} is {kind}, and not {field.type}"
            raise MismatchError(f"{path} has other columns than {first}: {words}")
    more = list(kinds)
    if more:
        others = f" and {len(more) - 5} more" if len(more) > 5 else ""
        words = f"{path}: left out, since {first} has no such columns: {', '.join(more[:5])}{others}"
        warn(words, stacklevel=2)


def _check_computed(found: Mapping[str, str], wanted: Mapping[str, str], path: str, first: str) -> None:
    """Refuses expressions that compute with whole numbers which are dates of one type in one file, and of another type
    in the next."""
    for what in {**wanted, **found}:
        kinds = [types.get(what, "numbers") for types in (found, wanted)]
        if kinds[0] != kinds[1]:
            words = f"{what} computes with {kinds[0]} in {path}, and with {kinds[1]} in {first}"
            raise MismatchError(f"{words}: convert each of them alone first, with types= (--types) for one")


def _fits(kind: Any, wanted: Any) -> bool:
    """Whether values of a type may be those of another: of the same kind, in as many or other bits."""
    types = arrow().types
    if kind.equals(wanted) or types.is_null(kind):
        return True
    if types.is_dictionary(kind) or types.is_dictionary(wanted):
        plain = [one.value_type if types.is_dictionary(one) else one for one in (kind, wanted)]
        return _fits(*plain)
    if types.is_floating(wanted):
        return bool(types.is_floating(kind) or types.is_integer(kind))
    lists = types.is_list, types.is_large_list, types.is_fixed_size_list
    if any(is_list(kind) for is_list in lists) and any(is_list(wanted) for is_list in lists):
        return _fits(kind.value_type, wanted.value_type)
    if types.is_struct(kind) and types.is_struct(wanted):
        pairs = zip(kind, wanted)
        is_same = kind.num_fields == wanted.num_fields
        return is_same and all(a.name == b.name and _fits(a.type, b.type) for a, b in pairs)
    if types.is_temporal(kind) and kind.id == wanted.id:
        return getattr(kind, "tz", None) == getattr(wanted, "tz", None)
    texts_of = types.is_string, types.is_large_string, types.is_string_view
    families = (types.is_integer,), texts_of, (types.is_binary, types.is_large_binary)
    return any(any(is_(kind) for is_ in same) and any(is_(wanted) for is_ in same) for same in families)


def _like(batch: Any, schema: Any, path: str, first: str) -> Any:
    """A batch in the columns of a schema, whose types fit."""
    if batch.schema.equals(schema):
        return batch
    columns = []
    for field in schema:
        column = batch.column(field.name)
        words = f"{path} has values of {field.name!r} that {field.type}, its type in {first}, does not hold"
        try:
            columns.append(column.cast(field.type))
            kept.check(column, columns[-1], rounds=False)
        except (ValueError, TypeError, OverflowError) as error:
            raise MismatchError(f"{words}: {error}") from None
    return arrow().RecordBatch.from_arrays(columns, schema=schema)
