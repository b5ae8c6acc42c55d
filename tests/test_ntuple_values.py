"""Values of RNTuples in Python: tuples."""

from __future__ import annotations

import io
from typing import Any

import pytest
import sapwood


def written(kind: Any, *batches: Any) -> sapwood.Branch:
    """A field ``x`` of a type, filled with some batches."""
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file, file.mkrntuple("t", {"x": kind}) as ntuple:
        for batch in batches:
            ntuple.extend({"x": batch})
    return sapwood.open(memory)["t/x"]


@pytest.mark.parametrize("library", ["np", "pd"])
def test_tuples_are_tuples_of_python(library: str) -> None:
    pytest.importorskip("pandas")
    rows = {
        "(int32, float32)": [(1, 2.5), (3, 4.0), (5, -1.0)],
        "var * (int32, string)": [[(1, "a"), (2, "b")], [], [(3, "c")]],
        "(int32, var * string, (int8, bool))": [
            (1, ["a", "b"], (1, True)),
            (2, [], (2, False)),
            (3, ["c"], (3, True)),
        ],
    }
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        types = {f"x{number}": kind for number, kind in enumerate(rows)}
        file.mkrntuple("t", types).extend(dict(zip(types, rows.values())))
    ntuple = sapwood.open(memory)["t"]
    whole = ntuple.arrays(library=library)
    for name, expected in zip(types, rows.values()):
        assert ntuple[name].array(library=library).tolist() == expected
        assert [row.tolist() if hasattr(row, "tolist") else row for row in whole[name]] == expected
    lists = ntuple["x1"].array(library="np")
    assert isinstance(lists[0][0], tuple) and isinstance(lists[0], sapwood.STLVector)
