"""Events of coffea as collections of Dask: imported only where these are made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import awkward as ak
import numpy as np
from dask_awkward.lib.io.columnar import ColumnProjectionMixin

from sapwood._read import chain, nano_mapping
from sapwood._read.libraries import need
from sapwood._read.partitions import Unit, check_versions

dask_awkward: Any = need("dask_awkward", 'mode="dask"', "dask-awkward")


class ReadEvents(ColumnProjectionMixin):
    """Reads one partition: its columns in one plan, once it is known which are needed, and any other when it
    is looked at."""

    attrs = None
    use_optimization = True

    def __init__(
        self, schema: Any, preload: list[str], opening: dict[str, Any], needed: Iterable[str] = ()
    ) -> None:
        self.schema, self.preload, self.opening, self.needed = schema, preload, opening, list(needed)
        self.form = ak.forms.from_dict(schema.form) if isinstance(schema.form, dict) else schema.form

    @property
    def behavior(self) -> Any:
        """What the records of the schema can do."""
        return dict(self.schema.behavior())

    def project_columns(self, columns: frozenset[str]) -> ReadEvents:
        """The same with the columns that are needed."""
        needed = nano_mapping.columns_of(self.form.select_columns(sorted(columns))) if columns else []
        return ReadEvents(self.schema, self.preload, self.opening, needed)

    project_manually = project_columns

    def __call__(self, unit: Unit) -> Any:
        tree = chain.open_tree(unit.source, self.opening).tree
        span = unit.span or (0, tree.num_entries)
        for name in self.needed:
            tree[name]  # or an error that says where it is missing
        names = dict.fromkeys([*self.preload, *self.needed])
        factory = nano_mapping.factory(tree, self.schema, span, True, names, None, self.opening, True)
        return factory.events()


def collection(schema: Any, units: Sequence[Unit], preload: list[str], opening: dict[str, Any]) -> Any:
    """The collection of these partitions."""
    check_versions('mode="dask"')
    read = ReadEvents(schema, preload, {**opening, "threads": 1})
    if not units:
        return dask_awkward.from_awkward(read.mock_empty(), npartitions=1)
    lengths = [stop - start for start, stop in (unit.span or (0, 0) for unit in units)]
    divisions = tuple(np.cumsum([0, *lengths]).tolist())
    events = dask_awkward.from_map(read, units, label="nanoevents", meta=read.mock(), divisions=divisions)
    # What the methods of coffea look for when they follow references to other collections.
    events._meta.attrs["@original_array"] = events
    return events
