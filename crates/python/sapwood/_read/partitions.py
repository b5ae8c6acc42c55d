"""Partitions of collections of dask-awkward: imported only where these are made."""

from __future__ import annotations

from typing import Any

import awkward as ak
from dask_awkward.lib.io.columnar import ColumnProjectionMixin
from dask_awkward.lib.utils import form_with_unique_keys

from sapwood._read import chain as chain_module
from sapwood._read import reading
from sapwood._read.chain import FriendSpan
from sapwood._read.selection import Selection
from sapwood._remote import paths


class Read(ColumnProjectionMixin):
    """Reads one partition: the columns that a graph needs. It stands in for the others, too, as dask-awkward
    asks for all that the form has, and looks at none of these."""

    behavior = attrs = None

    def __init__(
        self, form: Any, names: list[str], wanted: list[str], cut: str | None, opening: dict[str, Any]
    ) -> None:
        self.form, self.names, self.wanted, self.cut, self.opening = form, names, wanted, cut, opening

    @property
    def use_optimization(self) -> bool:
        """Columns are left out."""
        return True

    def project_columns(self, columns: frozenset[str]) -> Read:
        """The same with the columns that are needed; of a record, all of it is read."""
        wanted = [
            name for name in self.names if any(one == name or one.startswith(f"{name}.") for one in columns)
        ]
        return Read(self.form, self.names, wanted, self.cut, self.opening)

    project_manually = project_columns

    def empty(self) -> ak.Array:
        """An array without entries."""
        return ak.Array(self.form.length_zero_array(highlevel=False))

    def __call__(self, unit: tuple[paths.Source, Any, Any, dict[str, str], list[FriendSpan]]) -> ak.Array:
        source, span, rows, aliases, spans = unit
        tree = chain_module.open_tree(source, self.opening)
        try:
            # Where nothing is needed but the number of entries, the first column says how many passed a cut.
            wanted = self.wanted or ([] if self.cut is None else self.names[:1])
            selection = Selection(span, rows)
            length = len(selection)
            found: dict[str, Any] = {}
            if wanted:
                with chain_module.opened(spans, self.opening) as friends:
                    plan = reading.Plan(tree, wanted, self.cut, aliases=aliases, friends=friends)
                    arrays = reading.read(plan, selection, "ak", None, False)
                found, length = {name: arrays[name].layout for name in wanted}, len(arrays)
        finally:
            chain_module.close(source, tree)
        contents = [
            found[name] if name in found else _placeholder(self.form.content(name), length)
            for name in self.names
        ]
        return ak.Array(ak.contents.RecordArray(contents, self.names, length=length))


def _placeholder(form: Any, length: int) -> Any:
    """Something of a form and length that nothing looks at."""
    keyed = form_with_unique_keys(form, "@")
    numpy = ak._nplikes.numpy.Numpy.instance()
    unknown = ak.typetracer.unknown_length
    buffers = {
        key: ak.typetracer.PlaceholderArray(numpy, (unknown,), dtype)
        for key, dtype in keyed.expected_from_buffers(buffer_key="{form_key}-{attribute}").items()
    }
    return ak.from_buffers(keyed, length, buffers, buffer_key="{form_key}-{attribute}", highlevel=False)
