"""RNTuples that are being filled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sapwood._write import fields, tables
from sapwood.errors import MismatchError

if TYPE_CHECKING:
    from sapwood.writing import WritableFile


class WritableNTuple:
    """An RNTuple that is being filled.

    >>> import io, sapwood
    >>> memory = io.BytesIO()
    >>> with sapwood.recreate(memory) as file:
    ...     ntuple = file.mkrntuple("events", {"run": "int32", "jets": "var * float32"})
    ...     ntuple.extend({"run": [1, 1], "jets": [[20.5, 30.5], []]})
    >>> sapwood.open(memory)["events"]["jets"].array().tolist()
    [[20.5, 30.5], []]
    """

    def __init__(self, core: Any, kinds: dict[str, fields.Kind], name: str) -> None:
        self._core = core
        self._kinds = kinds
        self.name = name
        """Its name in the file."""
        self._entries = 0
        self.closed = False
        """Whether it takes no more rows."""

    @property
    def num_entries(self) -> int:
        """Entries so far."""
        return self._entries

    @property
    def field_names(self) -> list[str]:
        """Names of its fields."""
        return list(self._kinds)

    def extend(self, data: Any) -> None:
        """Adds rows: a mapping from names of fields to columns, an Awkward array of records, a structured
        NumPy array, a DataFrame or an Arrow table.

        Raises :class:`~sapwood.errors.MismatchError` where fields are missing, unknown or of another type: no
        row is added then.
        """
        if self.closed:
            raise MismatchError(f"the RNTuple {self.name!r} is closed")
        given, rows = [], 0
        for name, column in tables.columns_of(data, self._kinds).items():
            kind, rows, buffers = fields.of_data(name, column, self._kinds.get(name))
            given.append((name, kind, rows, buffers))
        self._core.extend(given)
        self._entries += rows if given else 0

    def flush(self) -> None:
        """Writes rows that wait as a cluster of their own."""
        if not self.closed:
            self._core.flush()

    def close(self) -> None:
        """Writes rows that wait, and ends."""
        if not self.closed:
            self.closed = True
            self._core.close()

    def __enter__(self) -> WritableNTuple:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<WritableNTuple {self.name!r} ({len(self._kinds)} fields, {self._entries} entries)>"


def begin(
    file: WritableFile,
    path: str,
    given: Any,
    description: str,
    compression: str | None,
    cluster_bytes: int | None,
    page_bytes: int | None,
) -> WritableNTuple:
    """Begins an RNTuple of types, or of data, which are its first entries."""
    if fields.are_types(given):
        kinds = {str(name): fields.of_type(str(name), kind) for name, kind in given.items()}
        data = None
    else:
        data = tables.columns_of(given)
        kinds = {name: fields.of_data(name, column)[0] for name, column in data.items()}
    specs = list(kinds.items())
    core = file._core.ntuple(path, specs, description, compression, cluster_bytes, page_bytes)
    ntuple = WritableNTuple(core, kinds, path)
    file._take(ntuple)
    if data is not None:
        ntuple.extend(data)
    return ntuple
