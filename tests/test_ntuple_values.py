"""Values of RNTuples in Python: tuples, multisets, and texts that are no UTF-8."""

from __future__ import annotations

import io
from pathlib import Path
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


def test_texts_that_are_no_utf_8_are_written_as_they_were_read(tmp_path: Path) -> None:
    texts = [b"a\xff\n".decode("utf-8", "surrogateescape"), "é", ""]
    for kind, rows in [
        ("string", texts),
        ("?string", [None, *texts]),
        ("var * string", [texts, []]),
        ("{s: string, n: int8}", [{"s": text, "n": 1} for text in texts]),
    ]:
        for values in (rows, np.array([*rows, None], object)[:-1]):
            field = written(kind, values)
            assert field.array().tolist() == rows
            assert written(kind, field.array(library="np")).array().tolist() == rows
    with sapwood.recreate(tmp_path / "tree.root") as file:
        file["t"] = {
            "flat": texts,
            "lists": [texts, [], texts[:1]],
            "record": [{"s": text} for text in texts],
        }
    tree = sapwood.open(tmp_path / "tree.root")["t"]
    assert [tree[name].array().tolist() for name in ("flat", "record_s")] == [texts, texts]
    assert tree["lists"].array().tolist() == [texts, [], texts[:1]]


@pytest.mark.parametrize("values", [["a", "\ud800"], [["a"], ["\ud800"]], [{"s": "a"}, {"s": "\ud800"}]])
def test_surrogates_that_stand_for_no_byte_are_named(values: Any) -> None:
    for format in ("ttree", "rntuple"):
        with sapwood.recreate(io.BytesIO(), format=format) as file:
            with pytest.raises(sapwood.errors.MismatchError, match=r"has no UTF-8.*\(row 1\)") as raised:
                file["t"] = {"col": values}
            assert "'col'" in str(raised.value)
