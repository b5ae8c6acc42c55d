"""What cannot be written says which column and row, and why; names and types in words."""

from __future__ import annotations

import collections
import dataclasses
import io
import resource
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.written import written

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")

Mismatch, Unsupported = sapwood.errors.MismatchError, sapwood.errors.UnsupportedError


@dataclasses.dataclass
class Point:
    x: float
    tag: str


def raising() -> Iterator[int]:
    yield 1
    raise RuntimeError("of the generator")


def holds_itself() -> list[Any]:
    items: list[Any] = [1]
    items.append([items, items])
    return items


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (5, "list of values, one for each entry, and int 5 was given"),
        (np.array(5), "one for each entry"),
        ("abc", "one for each entry, and str 'abc'"),
        (None, "one for each entry, and None was given"),
        (ak.Record({"y": 1}), "one for each entry, and Record"),
        ({"y": [1], "z": [1, 2]}, "different lengths"),
        ({1: [2]}, "names of fields as keys, not 1"),
        ([1.0, None], r"missing values \(the first in row 1\)"),
        ([[1], [None]], r"missing values \(the first in row 1\)"),
        ([{"a": 1}, {"b": 2}], "missing values"),
        ([1, "a"], "union"),
        (holds_itself(), "hold themselves"),
        (["\ud800"], "no UTF-8"),
        ([object()], "type object"),
        (np.array(["2020-01-01"], "M8[s]"), "astype"),
        ([1 + 2j], "complex"),
    ],
)
def test_columns_that_are_none_say_so(column: Any, words: str) -> None:
    with pytest.raises(sapwood.SapwoodError, match=f"'x'.*{words}"):
        written({"x": column})


def test_columns_of_many_kinds_are_taken() -> None:
    for column in (
        range(2),
        (0, 1),
        collections.deque([0, 1]),
        iter([0, 1]),
        (n for n in range(2)),
        {0: "", 1: ""}.keys(),
    ):
        assert written({"x": column})["x"].array().tolist() == [0, 1]
    assert written({"x": (n for n in range(2))}, {"x": "f8"})["x"].array().tolist() == [0, 1]
    for types in (None, {"x": "f8"}):
        with pytest.raises(RuntimeError, match="of the generator"):
            written({"x": raising()}, types)
    assert written({"x": {"y": [1, 2], "s": ["a", "b"]}}).arrays().tolist() == [
        {"x_y": 1, "x_s": "a"},
        {"x_y": 2, "x_s": "b"},
    ]
    lists = [([[], []], "var * float64"), ([[[], []], []], "var * var * float64"), ([], "float64")]
    for empty, kind in lists:
        assert str(written({"x": empty})["x"].array().type) == f"{len(empty)} * {kind}", "as of NumPy"
    assert written({"m": ak.Array([(1, 2.5)])}).arrays().tolist() == [{"m_0": 1, "m_1": 2.5}]
    assert written({"s": ["\udce9", "a"], "v": [["\udce9"], []]}).arrays().tolist() == [
        {"s": "\udce9", "v": ["\udce9"]},
        {"s": "a", "v": []},
    ]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (5, "int 5 cannot be written: a file takes tables.*parameter"),
        (None, "None cannot"),
        (ak.Record({"x": 1}), "one row of a table"),
    ],
)
def test_values_that_are_no_objects_say_what_can_be_written(value: Any, words: str) -> None:
    with sapwood.recreate(io.BytesIO()) as file:
        with pytest.raises(Mismatch, match=words):
            file["o"] = value
        assert file.keys() == []


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("var * f8", "double[]"),
        ("var * Long64_t", "int64_t[]"),
        ("2 * f4", "float[2]"),
        ("Long64_t", "int64_t"),
        ("unsigned int", "uint32_t"),
        ("ULong64_t", "uint64_t"),
        ("Float_t", "float"),
        ("std::string", "char*"),
        (str, "char*"),
        ("U", "char*"),
        (np.dtype("U5"), "char*"),
        ("std::vector<std::string>", "std::vector<std::string>"),
        ("std::vector<unsigned short>", "std::vector<uint16_t>"),
        ("var * var * i2", "std::vector<std::vector<int16_t>>"),
    ],
)
def test_words_of_types(kind: Any, name: str) -> None:
    assert written({"x": []}, {"x": kind})["x"].typename == name


def test_records_of_any_words() -> None:
    for kind in (
        "{pt: f4, i1: unsigned char}",
        '{"pt": float32, "i1": u1}',
        np.dtype([("pt", "f4"), ("i1", "u1")]),
    ):
        tree = written({"m": [{"pt": 1.5, "i1": 2}]}, {"m": kind}, field_name="{}.{}")
        assert tree.typenames() == {"m.pt": "float", "m.i1": "uint8_t"}
    tree = written({"m": [[{"pt": 1}]]}, {"m": "var * {pt: f4}"}, counter_name="n_{}")
    assert tree.keys() == ["n_m", "m_pt"]
    for rows, found in (([[], []], [[], []]), ([], [])):  # nothing says that these would be records
        assert written({"m": rows}, {"m": "var * {pt: f4}"})["m_pt"].array().tolist() == found
    for names in ({"counter_name": "{}{}"}, {"counter_name": 5}, {"field_name": "{a}"}):
        with pytest.raises(Mismatch, match=f"{next(iter(names))} is a function of names, or a text"):
            written({}, {"m": "var * f4"}, **names)
    for wrong, words in (
        ({"a": 1}, "its records lack 'b'"),
        ({"a": 1, "b": 2, "c": 3}, "the tree has no branch for their 'c'"),
    ):
        with pytest.raises(Mismatch, match=f"'m': {words}"):
            written({"m": [wrong]}, {"m": "{a: i4, b: i4}"})


@pytest.mark.parametrize(
    ("kind", "column", "words"),
    [
        ("var * i4", [[1], [], [2, 2**40]], f"holds lists of int32 and was given {2**40} in row 2"),
        ("var * var * f4", [[[1.0]], [[2.0], [1e300]]], "given 1e.300 in row 1"),
        ("2 * i1", [[1, 2], [3, 400]], "given 400 in row 1"),
        ("f8", [1.5, "one"], "holds float64 and was given string in row 1"),
        ("f8", np.array(["one"]), "was given strings"),
        ("3 * f8", [[1.0, 2.0, 3.0], [4.0]], "a list of 1 in row 1"),
        ("var * f8", [[1.0], [2.0], [None]], "first in row 2"),
    ],
)
def test_what_does_not_fit_is_told_with_its_row(kind: Any, column: Any, words: str) -> None:
    with pytest.raises(Mismatch, match=words) as caught:
        written({"x": column}, {"x": kind})
    assert "shape" not in str(caught.value) and "<U" not in str(caught.value)


def test_objects_that_do_not_fit_are_told_with_their_row() -> None:
    rows = [Point(float(row), "a") for row in range(20)]
    rows[13].x = "no number"  # type: ignore[assignment]
    with pytest.raises(Mismatch, match="branch 'p' in row 13: member 'x' of Point"):
        written({"p": rows}, {"p": Point})


@pytest.mark.parametrize("names", [{}, {"field_name": "{}.{}"}])
def test_records_are_added_to_the_branches_that_records_became(names: dict[str, str], tmp_path: Path) -> None:
    ak = pytest.importorskip("awkward")
    rows = [{"r": {"a": 1, "s": {"b": 2.5}}, "p": [{"c": 3}]}, {"r": {"a": 4, "s": {"b": 5.5}}, "p": []}]
    path = tmp_path / "records.root"
    with sapwood.recreate(path) as file:
        types = {"r": "{a: i8, s: {b: f8}}", "p": "var * {c: i8}"}
        file.mktree("t", types, **names).extend({name: [row[name] for row in rows] for name in types})
    before = sapwood.open(path)["t"].arrays().tolist()
    with sapwood.update(path) as file:
        file["t"].extend(ak.Array(rows))
        file["t"].extend({name: [row[name] for row in rows] for name in types})
        with pytest.raises(Mismatch, match="the data lacks '(r_s_b|r.s.b)'"):
            file["t"].extend({"r": [{"a": 1}], "p": [[{"c": 3}]]})
    assert sapwood.open(path)["t"].arrays().tolist() == 3 * before


@pytest.mark.parametrize(
    "kind", [None, list[float], "O", "complex64", "?f8", "var * ?f8", "no type", "vector<TObject>", 5]
)
def test_what_is_no_type_is_refused(kind: Any) -> None:
    with pytest.raises(Unsupported, match="branch 'x'"):
        written({"x": []}, {"x": kind})


def test_numbers_that_do_not_fit_are_refused() -> None:
    for kind, values in (
        ("f4", [1.0, 1e300]),
        ("var * f4", [[], [-1e300]]),
        ("vector<float>", [[1e300]]),
        ("i1", [128]),
        ("u8", [-1]),
    ):
        with pytest.raises(Mismatch, match="'x' holds .* which does not fit"):
            written({"x": values}, {"x": kind})
    assert written({"x": [np.inf, 1e-300, 0.1]}, {"x": "f4"})["x"].array().tolist() == [
        np.inf,
        0,
        float(np.float32(0.1)),
    ]


def test_names_that_no_file_holds_are_refused() -> None:
    with sapwood.recreate(io.BytesIO()) as file:
        for name, words in (
            ("a\udc80", "has no UTF-8"),
            ("a\0b", "has a zero in it"),
            (5, "is a text, not int 5"),
        ):
            for write in (
                lambda name: file.__setitem__(name, "text"),
                lambda name: file.mktree(name, {"x": "f4"}),
                file.mkdir,
            ):
                with pytest.raises(Mismatch, match=words):
                    write(name)
            if isinstance(name, str):
                with pytest.raises(Mismatch, match=f"name of a branch {words}"):
                    file["t"] = {name: [1]}
        assert len(file) == 0


def test_a_file_that_is_there_is_not_created(tmp_path: Path) -> None:
    sapwood.create(tmp_path / "a.root").close()
    with pytest.raises(FileExistsError) as caught:
        sapwood.create(tmp_path / "a.root")
    assert isinstance(caught.value, sapwood.SapwoodError)


def test_a_full_disk_keeps_all_rows_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "small.root"
    file = sapwood.recreate(path, compression=None, threads=1)
    tree = file.mktree("t", {"x": "f8"}, auto_flush=1000)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, before[1]))
    try:
        with pytest.raises(OSError, match="too large") as caught:
            tree.extend({"x": np.arange(2000.0)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert any("flush() tries again" in note for note in caught.value.__notes__)
    tree.flush()
    file.close()
    assert sapwood.open(path)["t/x"].array().tolist() == list(range(2000))
