"""Values of RNTuples in Python: tuples and multisets."""

from __future__ import annotations

import io
from typing import Annotated, Any

import numpy as np
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


def test_multisets_keep_equal_values() -> None:
    kept = [[3, 1, 1], [], [2, 2, 2], [5, 4]]
    for kind, made in [("multiset", sorted), ("unordered_multiset", list), ("set", set)]:
        declared: Any = set[np.int32] if kind == "set" else Annotated[list[np.int32], kind]
        field = written(declared, [made(row) for row in kept])
        assert kind in field.typename
        rows = field.array(library="np")
        assert all(isinstance(row, sapwood.STLSet) for row in rows)
        if kind == "set":
            assert [row.tolist() for row in rows] == [set(row) for row in kept]
        else:  # a list, whether values are equal or not
            assert [row.tolist() for row in rows] == field.array().tolist() == [made(row) for row in kept]
    inside = written(list[Annotated[list[np.int32], "multiset"]], [[[1, 1], [2]], []])
    assert inside.array(library="np")[0].tolist() == [[1, 1], [2]]
    nested = written(dict[str, Annotated[list[np.int32], "multiset"]], [{"a": [1, 1], "b": [2]}])
    assert nested.array(library="np")[0].tolist() == {"a": [1, 1], "b": [2]}
