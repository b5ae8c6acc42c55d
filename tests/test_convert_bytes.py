"""Bytes of Parquet and Arrow, which files of ROOT hold as lists of numbers, there and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.rootrun import root

sapwood = pytest.importorskip("sapwood")
pytest.importorskip("awkward")
pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
pq = pytest.importorskip("pyarrow.parquet")

from sapwood import errors  # noqa: E402

PAIRS = [b"\0\xff", b"ab", b"\x80\0", b"\0\0"]
ANY = [b"\0\xff", b"", b"a text", bytes(range(256))]
RECORD = pa.struct([("a", pa.binary()), ("f", pa.binary(2)), ("n", pa.int64())])
RECORDS = [{"a": a, "f": f, "n": n} for n, (a, f) in enumerate(zip(ANY, PAIRS))]
COLUMNS = {
    "fixed": (PAIRS, pa.binary(2)),
    "any": (ANY, pa.binary()),
    "large": (ANY, pa.large_binary()),
    "none": ([b""] * 4, pa.binary()),
    "of_zero": ([b""] * 4, pa.binary(0)),
    "lists": ([ANY, [], ANY[:2], [b""]], pa.list_(pa.binary())),
    "pairs": ([PAIRS, [], PAIRS[:2], [b"\0\0"]], pa.list_(pa.binary(2))),
    "deep": ([[ANY, []], [], [[b""]], [ANY]], pa.list_(pa.list_(pa.binary()))),
    "square": ([PAIRS[:2], PAIRS[2:], PAIRS[:2], PAIRS[2:]], pa.list_(pa.binary(2), 2)),
    "r": (RECORDS, RECORD),
    "rs": ([RECORDS, [], RECORDS[:1], RECORDS[1:]], pa.list_(RECORD)),
}


def table() -> Any:
    """All columns, twice and cut: with chunks, and values that do not begin where their memory does."""
    whole = pa.table({name: pa.array(*of) for name, of in COLUMNS.items()})
    return pa.concat_tables([whole, whole]).slice(1, 6)


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("format", ["ttree", "rntuple"])
@pytest.mark.parametrize("ends", ["parquet", "feather", "arrows"])
def test_bytes_are_the_same_after_a_way_through_root(
    tmp_path: Path, name: str, format: str, ends: str
) -> None:
    if name == "of_zero" and ends == "parquet":
        pytest.skip("Parquet has no bytes of length 0")
    if name in ("r", "rs") and format == "ttree":
        pytest.skip("fields of records become branches")
    column = table().select([name])
    feather.write_feather(column, tmp_path / "first.feather", chunksize=4)
    sapwood.convert(tmp_path / "first.feather", tmp_path / f"a.{ends}")
    sapwood.convert(tmp_path / f"a.{ends}", f"{tmp_path}/a.root:t", format=format)
    sapwood.convert(f"{tmp_path}/a.root:t", tmp_path / f"b.{ends}")
    sapwood.convert(tmp_path / f"b.{ends}", tmp_path / "last.feather")
    back = feather.read_table(tmp_path / "last.feather")[name]
    assert back.to_pylist() == column[name].to_pylist()
    assert pa.types.is_nested(back.type) or back.type == column[name].type


def test_records_of_bytes_are_branches_of_a_tree(tmp_path: Path) -> None:
    feather.write_feather(table().select(["r"]), tmp_path / "a.feather")
    sapwood.convert(tmp_path / "a.feather", f"{tmp_path}/a.root:t")
    sapwood.convert(f"{tmp_path}/a.root:t", tmp_path / "b.feather", columns=["r_*"])
    back = feather.read_table(tmp_path / "b.feather")
    assert [dict(zip("afn", row.values())) for row in back.to_pylist()] == table()["r"].to_pylist()


@pytest.mark.parametrize("name", ["dictionary", "view", "uuid"])
@pytest.mark.parametrize("format", ["ttree", "rntuple"])
def test_bytes_of_other_types_of_arrow(tmp_path: Path, name: str, format: str) -> None:
    values = [bytes(range(16)), bytes(16), b"\xff" * 16]
    plain = pa.array(values, pa.binary(16))
    if name == "dictionary":
        column = plain.dictionary_encode()
    elif not hasattr(pa, "uuid" if name == "uuid" else "binary_view"):
        pytest.skip("an older pyarrow")
    else:
        column = pa.array(values, pa.uuid() if name == "uuid" else pa.binary_view())
    feather.write_feather(pa.table({"x": column}), tmp_path / "a.feather")
    sapwood.convert(tmp_path / "a.feather", f"{tmp_path}/a.root:t", format=format)
    sapwood.convert(f"{tmp_path}/a.root:t", tmp_path / "b.parquet")
    assert pq.read_table(tmp_path / "b.parquet")["x"].to_pylist() == values


@pytest.mark.parametrize(
    "column",
    [
        pa.array([b"\0", None, b"", None], pa.binary()),
        pa.array([b"\0\xff", None, b"ab", None], pa.binary(2)),
        pa.array([[b"\0", None], None, [], [b""]], pa.list_(pa.binary())),
    ],
)
def test_missing_bytes_are_optional_fields(tmp_path: Path, column: Any) -> None:
    feather.write_feather(pa.table({"x": column}), tmp_path / "a.feather")
    for format in ("ttree", "rntuple"):
        with pytest.raises(errors.MismatchError, match="'x': missing values"):
            sapwood.convert(tmp_path / "a.feather", tmp_path / "a.root", format=format)
    sapwood.convert(tmp_path / "a.feather", f"{tmp_path}/a.root:t", format="rntuple", nullable=True)
    sapwood.convert(f"{tmp_path}/a.root:t", tmp_path / "b.parquet")
    assert pq.read_table(tmp_path / "b.parquet")["x"].to_pylist() == column.to_pylist()


def test_real_root_reads_the_numbers(tmp_path: Path) -> None:
    feather.write_feather(table().select(["fixed", "any", "lists"]), tmp_path / "a.feather")
    sapwood.convert(tmp_path / "a.feather", f"{tmp_path}/a.root:t")
    sapwood.convert(tmp_path / "a.feather", f"{tmp_path}/n.root:n", format="rntuple")
    lines = """
file = ROOT.TFile(sys.argv[1])
tree = file.Get("t")
found = [tree.GetTitle()]
for frame in ROOT.RDataFrame("t", sys.argv[1]), ROOT.RDataFrame("n", sys.argv[2]):
    found.append([[[int(x) for x in row] for row in frame.Take[kind](name).GetValue()] for name, kind in
        (("fixed", "ROOT::RVec<unsigned char>"), ("any", "ROOT::RVec<unsigned char>"))])
answer(found)
"""
    title, *found = root(lines, tmp_path / "a.root", tmp_path / "n.root")
    assert title == 'Types of columns: {"fixed": "fixed_size_binary[2]", "any": "binary", "lists": "binary"}'
    wanted = [[list(value) for value in table()[name].to_pylist()] for name in ("fixed", "any")]
    assert found == [wanted, wanted]


def test_types_make_numbers_or_texts_of_bytes_and_bytes_of_numbers(tmp_path: Path) -> None:
    columns = {"x": pa.array([b"a", "é".encode(), b""]), "raw": pa.array([b"\xff", b"\0", b""])}
    feather.write_feather(pa.table(columns), tmp_path / "a.feather")
    source, back = f"{tmp_path}/a.root:t", tmp_path / "b.feather"
    sapwood.convert(tmp_path / "a.feather", source)

    def read(**types: Any) -> Any:
        sapwood.convert(source, back, columns=["x", "raw"], types=types, overwrite=True)
        return feather.read_table(back)

    found = read(x="string", raw="uint8")
    assert found.to_pydict() == {"x": ["a", "é", ""], "raw": [[255], [0], []]}
    assert read(x="large_binary")["x"].type == pa.large_binary()
    with pytest.raises(
        errors.MismatchError, match=r"values of 'raw' \(binary\) that string does not hold.*--types"
    ):
        read(raw="string")
    with pytest.raises(errors.MismatchError, match=r"'raw' \(binary\) that fixed_size_binary\[1\] does not"):
        read(raw=pa.binary(1))
    with sapwood.recreate(tmp_path / "n.root") as file:
        file.mktree("t", {"v": "var * u1", "w": "3 * u1"}).extend({"v": [[0, 255], []], "w": [[1, 2, 3]] * 2})
    sapwood.convert(f"{tmp_path}/n.root:t", back, types={"v": "binary", "w": "binary"}, overwrite=True)
    assert feather.read_table(back).select("vw").to_pydict() == {"v": [b"\0\xff", b""], "w": [b"\1\2\3"] * 2}


def test_titles_make_no_bytes_of_other_columns(tmp_path: Path) -> None:
    title = 'Types of columns: {"x": "binary", "v": "binary", "w": "fixed_size_binary[99999999999]"}'
    columns = {"x": [1, 2], "v": [[1], [2, 3]], "w": [[1.5], []]}
    with sapwood.recreate(tmp_path / "a.root") as file:
        file.mktree("t", {"x": "i8", "v": "var * i4", "w": "var * f8"}, title).extend(columns)
    sapwood.convert(f"{tmp_path}/a.root:t", tmp_path / "a.feather", columns=list(columns))
    assert feather.read_table(tmp_path / "a.feather").to_pydict() == columns


@pytest.mark.parametrize("format", ["ttree", "rntuple"])
def test_skims_keep_bytes(tmp_path: Path, format: str) -> None:
    feather.write_feather(table().select(["fixed", "any"]), tmp_path / "a.feather")
    sapwood.convert(tmp_path / "a.feather", f"{tmp_path}/a.root:t", format=format)
    sapwood.skim(f"{tmp_path}/a.root:t", tmp_path / "b.root", {"any": "any", "two": "fixed"}, format=format)
    sapwood.convert(f"{tmp_path}/b.root:t", tmp_path / "b.feather")
    back = feather.read_table(tmp_path / "b.feather")
    assert back["any"].to_pylist() == table()["any"].to_pylist()
    assert back["two"].combine_chunks().to_pylist() == table()["fixed"].to_pylist()


@pytest.mark.parametrize("name", ["any", "fixed", "lists", "r"])
def test_json_has_no_place_for_bytes(tmp_path: Path, name: str) -> None:
    feather.write_feather(table().select([name]), tmp_path / "a.feather")
    with pytest.raises(
        errors.UnsupportedError, match=f"'{name}' holds .*binary.*JSON has texts alone.*--types {name}=str"
    ):
        sapwood.convert(tmp_path / "a.feather", tmp_path / "a.jsonl")


def test_what_a_tree_has_no_place_for_says_that_an_rntuple_has(tmp_path: Path) -> None:
    feather.write_feather(table().select(["rs"]), tmp_path / "a.feather")
    with pytest.raises(errors.UnsupportedError, match="'rs': .* in trees: write an RNTuple .*--to rntuple"):
        sapwood.convert(tmp_path / "a.feather", tmp_path / "a.root")


@pytest.mark.parametrize("format", ["ttree", "rntuple"])
def test_texts_of_root_that_are_not_utf8_are_an_error_that_names_the_file(
    tmp_path: Path, format: str
) -> None:
    with sapwood.recreate(tmp_path / "a.root", format=format) as file:
        file["t"] = {"s": [b"ab", b"\xff"], "x": [1, 2]}
    with pytest.raises(errors.MismatchError, match=r'"s" .* no UTF-8.* leave it out \(columns.*a\.root:t\)'):
        sapwood.convert(f"{tmp_path}/a.root:t", tmp_path / "a.parquet")
    assert not (tmp_path / "a.parquet").exists()
