"""Values of RNTuples in Python: tuples, multisets, values of several types, and texts that are no UTF-8."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Annotated, Any

import awkward as ak
import numpy as np
import pytest
import sapwood

from support.rootrun import root


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


UNIONS = [
    ("union[int32, string]", [["a", 1], [1, 2], ["x"], [None, "y"], [], [None]]),
    ("union[string, int64]", [[1, "a"], [2], np.array([3, 4], "int16"), ak.Array(["b", 5])]),
    ("union[int64, string, var * float32]", [[1, "a"], [[0.5], []], ["b", [1.5, 2.0], 3]]),
    ("union[bool, int8, float64]", [[2.5, True, 1], [1], [False], ak.Array([0.5])]),
    ("var * union[int32, string]", [[["a"], [], [1, "b"]], [[2]], [[], []]]),
    ("2 * union[int32, string]", [[["a", 1]], [[1, 2], ["b", "c"]]]),
    ("{a: union[int32, string], b: int8}", [[{"a": "x", "b": 1}], [{"a": 1, "b": 2}]]),
    ("(int8, union[int32, string])", [[(1, "a")], [(2, 3), (4, "b")]]),
]


@pytest.mark.parametrize(("kind", "batches"), UNIONS, ids=[kind for kind, _ in UNIONS])
def test_values_of_a_union_are_matched_by_type(kind: str, batches: list[Any]) -> None:
    expected = [value for batch in batches for value in ak.Array(batch).to_list()]
    expected = [tuple(value) if kind.startswith("(") else value for value in expected]
    assert written(kind, *batches).array().tolist() == expected
    for library in ("ak",) if kind.startswith("(") else ("ak", "arrow"):  # as they were read
        again = written(kind, *batches).array(library=library)
        assert written(kind, again, again[:1]).array().tolist() == expected + expected[:1]


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        ("union[int32, string]", ["a", 2**31], "was given int 2147483648 in row 1"),
        ("union[int32, string]", np.array([1, 2**31]), "was given int 2147483648 in row 1"),
        ("union[int32, string]", [1, "a", 1.5], "was given float 1.5 in row 2"),
        ("union[int32, string]", [1, True], "was given bool True in row 1"),
        ("var * union[int32, string]", [[1], ["a", [2]]], r"was given list \[2\] in row 1"),
        ("var * union[int32, string]", [[1], None], "was given None in row 1"),
        ("2 * union[int32, string]", [[1, 2], [1]], "was given a list of 1 in row 1"),
        ("{a: union[int32, string]}", [{"a": 1}, {"b": 1}], r"was given dict .*'b'.* in row 1"),
    ],
)
def test_what_is_of_no_type_of_a_union_is_named(kind: str, values: Any, words: str) -> None:
    with pytest.raises(sapwood.errors.MismatchError, match=f"field 'x' takes .*union.*{words}"):
        written(kind, values)


WRITE_VARIANTS = """
model = ROOT.RNTupleModel.Create()
for name, kind in (("v", "std::variant<std::int32_t,std::string,float>"),
                   ("l", "std::vector<std::variant<std::int32_t,std::string,float>>")):
    model.AddField(ROOT.RFieldBase.Create(name, kind).Unwrap())
with ROOT.RNTupleWriter.Recreate(ROOT.std.move(model), "events", sys.argv[1]) as writer:
    writer.Fill(writer.CreateEntry())
"""

READ_VARIANTS = """
ROOT.gInterpreter.Declare(r'''
#include <ROOT/RNTupleReader.hxx>
#include <variant>
using V = std::variant<std::int32_t, std::string, float>;
std::string shown(const V &v)
{
   if (v.index() > 2) return "none";  // of types that cannot be without a value libstdc++ does not say so itself
   if (v.index() == 0) return "i" + std::to_string(std::get<0>(v));
   if (v.index() == 1) return "s" + std::get<1>(v);
   return "f" + std::to_string(std::get<2>(v));
}
std::vector<std::string> read_variants(const char *path)
{
   auto reader = ROOT::RNTupleReader::Open("events", path);
   auto v = reader->GetView<V>("v");
   auto l = reader->GetView<std::vector<V>>("l");
   std::vector<std::string> out;
   for (auto entry : *reader) {
      std::string line = shown(v(entry));
      for (const auto &one : l(entry)) line += " " + shown(one);
      out.push_back(line);
   }
   return out;
}
''')
answer([str(line) for line in ROOT.read_variants(sys.argv[1])])
"""


def test_root_reads_unions_of_any_batches(tmp_path: Path) -> None:
    batches: list[dict[str, list[Any]]] = [
        {"v": [2.5, "a", 1], "l": [["b", 1], [], [0.5]]},
        {"v": [7], "l": [[]]},
        {"v": ["x"], "l": [["y"]]},
        {"v": [None, 1.5], "l": [[1, 2], [2.5, 3]]},
        {"v": [2**20], "l": [[None, "z"]]},
    ]

    def words(value: Any) -> str:
        kind = type(value).__name__[0]
        return "none" if value is None else f"f{value:.6f}" if kind == "f" else f"{kind}{value}"

    expected = [
        " ".join(map(words, [value, *items]))
        for batch in batches
        for value, items in zip(batch["v"], batch["l"])
    ]
    made, grown = tmp_path / "made.root", tmp_path / "grown.root"
    with sapwood.recreate(made) as file:
        kinds = {"v": "union[int32, string, float32]", "l": "var * union[int32, string, float32]"}
        ntuple = file.mkrntuple("events", kinds)
        for batch in batches:
            ntuple.extend(batch)
    assert root(READ_VARIANTS, made) == expected
    of_root = tmp_path / "root.root"
    root(WRITE_VARIANTS, of_root)
    shutil.copy(of_root, grown)
    with sapwood.update(grown) as file, file.append("events") as ntuple:
        for batch in batches:
            ntuple.extend(batch)
    assert root(READ_VARIANTS, grown) == ["i0", *expected]


def test_texts_that_are_no_utf_8_are_written_as_they_were_read(tmp_path: Path) -> None:
    texts = [b"a\xff\n".decode("utf-8", "surrogateescape"), "é", ""]
    for kind, rows in [
        ("string", texts),
        ("?string", [None, *texts]),
        ("var * string", [texts, []]),
        ("{s: string, n: int8}", [{"s": text, "n": 1} for text in texts]),
        ("union[int8, string]", [1, *texts]),
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


def test_half_floats_are_refused_with_what_to_do() -> None:
    with pytest.raises(sapwood.errors.UnsupportedError, match=r"float16 cannot .* to float32 first.*'x'"):
        written("float32", np.array([1.5], "float16"))
