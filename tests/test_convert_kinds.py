"""Dates, times and other types of Arrow that files of ROOT hold as whole numbers, there and back; types that are
asked for."""

from __future__ import annotations

import datetime
import decimal
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.rootrun import root

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")
pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
pq = pytest.importorskip("pyarrow.parquet")

from sapwood import errors  # noqa: E402

LEAST, MOST = -(2**63), 2**63 - 1
DATES = {
    "day": (pa.date32(), [0, -(2**31), 2**31 - 1]),
    "day64": (pa.date64(), [0, -86_400_000, 86_400_000_000]),
    **{f"when_{unit}": (pa.timestamp(unit), [LEAST + 1, 0, MOST]) for unit in ("s", "ms", "us", "ns")},
    "utc": (pa.timestamp("us", "UTC"), [LEAST + 1, 1, MOST]),
    "berlin": (pa.timestamp("ns", "Europe/Berlin"), [-1, 0, MOST]),
    "offset": (pa.timestamp("s", "+05:30"), [1, 2, 3]),
    "clock_s": (pa.time32("s"), [0, 1, 86_399]),
    "clock_ms": (pa.time32("ms"), [0, 1, 86_399_999]),
    "clock_us": (pa.time64("us"), [0, 1, 86_399_999_999]),
    "clock_ns": (pa.time64("ns"), [0, 1, 86_399_999_999_999]),
    **{f"took_{unit}": (pa.duration(unit), [LEAST + 1, 0, MOST]) for unit in ("s", "ms", "us", "ns")},
    "a.b": (pa.timestamp("s"), [1, 2, 3]),
}


def dates(kind: Any, numbers: list[int]) -> Any:
    width = pa.int32() if kind.bit_width == 32 else pa.int64()
    return pa.array(numbers, width).cast(kind) if kind != pa.date64() else pa.array(numbers, width).view(kind)


def table() -> Any:
    return pa.table({name: dates(*of) for name, of in DATES.items()})


@pytest.mark.parametrize("format", ["ttree", "rntuple"])
@pytest.mark.parametrize("ends", ["parquet", "feather", "arrows"])
def test_dates_are_whole_numbers_in_root_and_dates_again(tmp_path: Path, format: str, ends: str) -> None:
    columns = table()
    if format == "rntuple":  # whose names have no dots
        columns = columns.drop_columns(["a.b"])
    if ends == "parquet":  # which has no seconds
        columns = columns.select([name for name in columns.column_names if not name.endswith("_s")])
        columns = columns.drop_columns(
            [name for name in ("offset", "a.b", "day64") if name in columns.column_names]
        )
    feather.write_feather(columns, tmp_path / "a.feather")
    sapwood.convert(tmp_path / "a.feather", tmp_path / f"b.{ends}")
    sapwood.convert(tmp_path / f"b.{ends}", f"{tmp_path}/c.root:t", format=format)
    tree = sapwood.open(tmp_path / "c.root")["t"]
    for name in columns.column_names:
        assert tree[name].array(library="np").dtype == np.int64
        assert tree[name].array().tolist() == DATES[name][1]
    sapwood.convert(f"{tmp_path}/c.root:t", tmp_path / "d.feather")
    assert feather.read_table(tmp_path / "d.feather").cast(columns.schema).equals(columns)
    assert feather.read_table(tmp_path / "d.feather").schema.types == columns.schema.types


def nested() -> Any:
    when, clock = pa.timestamp("us", "UTC"), pa.time32("s")
    return pa.table(
        {
            "list": pa.array([[1], [], [2, 3]], pa.list_(when)),
            "pair": pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.date32(), 2)),
            "r": pa.array([{"t": 1, "x": 2}] * 3, pa.struct([("t", clock), ("x", pa.int64())])),
            "rs": pa.array(
                [[{"t": 1, "x": 2}], [], []], pa.list_(pa.struct([("t", clock), ("x", pa.int64())]))
            ),
        }
    )


def test_dates_in_lists_and_records(tmp_path: Path) -> None:
    feather.write_feather(nested(), tmp_path / "a.feather")
    for format in ("ttree", "rntuple"):
        source, back = f"{tmp_path}/{format}.root:t", tmp_path / f"{format}.feather"
        sapwood.convert(tmp_path / "a.feather", source, format=format)
        sapwood.convert(source, back)
        found = feather.read_table(back)
        wanted = nested().to_pydict()
        if format == "rntuple":
            assert found.to_pydict() == wanted
            continue
        assert found.column_names == ["nlist", "list", "pair", "r_t", "r_x", "nrs", "rs_t", "rs_x"]
        assert found["list"].to_pylist() == wanted["list"] and found["pair"].to_pylist() == wanted["pair"]
        assert (
            found["r_t"].to_pylist() == [datetime.time(0, 0, 1)] * 3 and found["r_x"].to_pylist() == [2] * 3
        )
        assert found["rs_t"].to_pylist() == [[datetime.time(0, 0, 1)], [], []]


def test_real_root_shows_numbers_and_the_types(tmp_path: Path) -> None:
    feather.write_feather(table().select(["day", "berlin"]), tmp_path / "a.feather")
    sapwood.convert(tmp_path / "a.feather", f"{tmp_path}/a.root:t")
    lines = """
file = ROOT.TFile(sys.argv[1])
tree = file.Get("t")
answer([tree.GetTitle(), [[row.day, row.berlin] for row in tree]])
"""
    title, values = root(lines, tmp_path / "a.root")
    assert title == 'Types of columns: {"day": "date32[day]", "berlin": "timestamp[ns, tz=Europe/Berlin]"}'
    assert values == [list(row) for row in zip(DATES["day"][1], DATES["berlin"][1])]


def test_expressions_and_types_have_the_numbers(tmp_path: Path) -> None:
    feather.write_feather(table().select(["day", "took_s"]), tmp_path / "a.feather")
    source = f"{tmp_path}/a.root:t"
    sapwood.convert(tmp_path / "a.feather", source)
    sapwood.convert(source, tmp_path / "b.feather", columns=["day", "day + 0"], cut="day >= 0")
    found = feather.read_table(tmp_path / "b.feather")
    assert found["day"].type == pa.date32() and found["day + 0"].to_pylist() == [0, 2**31 - 1]
    sapwood.convert(source, tmp_path / "c.feather", types={"day": "int64"})
    assert feather.read_table(tmp_path / "c.feather").schema.types == [pa.int64(), pa.duration("s")]


def test_missing_dates_are_optional_fields(tmp_path: Path) -> None:
    column = pa.array([1, None, 3], pa.timestamp("ms"))
    feather.write_feather(pa.table({"when": column}), tmp_path / "a.feather")
    with pytest.raises(errors.MismatchError, match=r"missing values .*--to rntuple --nullable"):
        sapwood.convert(tmp_path / "a.feather", tmp_path / "a.root")
    sapwood.convert(tmp_path / "a.feather", f"{tmp_path}/a.root:t", format="rntuple", nullable=True)
    sapwood.convert(f"{tmp_path}/a.root:t", tmp_path / "b.feather")
    assert feather.read_table(tmp_path / "b.feather")["when"].combine_chunks().equals(column)


@pytest.mark.parametrize(
    "title",
    [
        "Types of columns: ",
        "Types of columns: [1]",
        "Types of columns: {]",
        'Types of columns: {"x": 5, "y": "date32[day]"}',
        'Types of columns: {"x": "int8"}',
        'Types of columns: {"x": "timestamp[us, tz=UTC"}',
        "Types of columns: " + "[" * 100_000,
        'types of columns: {"x": "date32[day]"}',
    ],
)
def test_other_titles_are_titles(tmp_path: Path, title: str) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        file.mktree("t", {"x": "i8", "y": "f8"}, title).extend({"x": [1], "y": [0.5]})
    sapwood.convert(f"{tmp_path}/a.root:t", tmp_path / "a.feather")
    assert feather.read_table(tmp_path / "a.feather").to_pydict() == {"x": [1], "y": [0.5]}


def test_numbers_that_are_no_dates_any_more_are_an_error_with_a_way_out(tmp_path: Path) -> None:
    feather.write_feather(table().select(["day"]), tmp_path / "a.feather")
    sapwood.convert(tmp_path / "a.feather", f"{tmp_path}/a.root:t")
    with sapwood.update(tmp_path / "a.root") as file, file.append("t") as tree:
        tree.extend({"day": [2**40]})
    with pytest.raises(
        errors.MismatchError, match=r"values of 'day' .* date32.* does not hold.*--types day="
    ):
        sapwood.convert(f"{tmp_path}/a.root:t", tmp_path / "b.feather")
    sapwood.convert(f"{tmp_path}/a.root:t", tmp_path / "b.feather", types={"day": "int64"})
    assert feather.read_table(tmp_path / "b.feather")["day"].to_pylist()[-1] == 2**40


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("string", ["1970-01-01", "1970-01-03"]),
        ("timestamp[s]", [datetime.datetime(1970, 1, 1), datetime.datetime(1970, 1, 3)]),
        ("int32", [0, 2]),
        ("float64", [0.0, 2.0]),
        ("date32", [datetime.date(1970, 1, 1), datetime.date(1970, 1, 3)]),
    ],
)
def test_numbers_are_those_of_the_file_and_other_types_are_made_of_dates(
    tmp_path: Path, kind: str, wanted: list[Any]
) -> None:
    feather.write_feather(pa.table({"day": dates(pa.date32(), [0, 2])}), tmp_path / "a.feather")
    sapwood.convert(tmp_path / "a.feather", f"{tmp_path}/a.root:t")
    sapwood.convert(f"{tmp_path}/a.root:t", tmp_path / "b.feather", types={"day": kind})
    assert feather.read_table(tmp_path / "b.feather")["day"].to_pylist() == wanted


def test_a_day_is_not_a_time_of_day(tmp_path: Path) -> None:
    feather.write_feather(pa.table({"day": dates(pa.date32(), [0, 2])}), tmp_path / "a.feather")
    sapwood.convert(tmp_path / "a.feather", f"{tmp_path}/a.root:t")
    for source in (tmp_path / "a.feather", f"{tmp_path}/a.root:t"):
        with pytest.raises(errors.MismatchError, match=r"'day' \(date32.*time32.* does not hold"):
            sapwood.convert(source, tmp_path / "b.feather", types={"day": "time32[s]"})


def test_texts_with_dates(tmp_path: Path) -> None:
    rows = ["day,when,zone", "2024-02-29,2024-02-29 03:04:05,2024-02-29T03:04:05Z"]
    (tmp_path / "a.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "a.jsonl").write_text(json.dumps(dict(zip(*(row.split(",") for row in rows)))) + "\n")
    day, second = 19782, 19782 * 86400 + 3 * 3600 + 4 * 60 + 5
    for ends in ("csv", "jsonl"):
        sapwood.convert(tmp_path / f"a.{ends}", f"{tmp_path}/{ends}.root:t")
        tree = sapwood.open(tmp_path / f"{ends}.root")["t"]
        assert second in (tree["when"].array()[0], tree["when"].array()[0] // 10**9)
        sapwood.convert(f"{tmp_path}/{ends}.root:t", tmp_path / f"{ends}.csv")
        assert "2024-02-29" in (tmp_path / f"{ends}.csv").read_text()
    assert sapwood.open(tmp_path / "csv.root")["t/day"].array().tolist() == [day]


def test_json_lines_keep_nanoseconds(tmp_path: Path) -> None:
    columns = {name: table()[name] for name in ("clock_ns", "when_ns", "took_ns", "clock_us")}
    columns["list"] = pa.array([[1], [], [2]], pa.list_(pa.time64("ns")))
    feather.write_feather(pa.table(columns), tmp_path / "a.feather")
    sapwood.convert(tmp_path / "a.feather", tmp_path / "a.jsonl")
    last = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()][-1]
    assert last == {
        "clock_ns": "23:59:59.999999999",
        "when_ns": "2262-04-11 23:47:16.854775807",
        "took_ns": MOST,
        "clock_us": "23:59:59.999999",
        "list": ["00:00:00.000000002"],
    }


@pytest.mark.parametrize("format", ["ttree", "rntuple"])
def test_floats_of_16_bits(tmp_path: Path, format: str) -> None:
    floats = np.array([65504, 6e-8, -0.0, np.inf], "f2")
    columns = {
        "f": pa.array(floats),
        "fs": pa.array([list(floats), [], [], []], pa.list_(pa.float16())),
    }
    feather.write_feather(pa.table(columns), tmp_path / "a.feather")
    sapwood.convert(tmp_path / "a.feather", f"{tmp_path}/a.root:t", format=format)
    tree = sapwood.open(tmp_path / "a.root")["t"]
    assert tree["f"].array(library="np").tobytes() == floats.astype("f4").tobytes()
    assert tree["fs"].array().tolist() == [floats.tolist(), [], [], []]


def test_types_of_columns_of_every_format(tmp_path: Path) -> None:
    price = pa.array([decimal.Decimal("1.5"), decimal.Decimal("2.25")])
    columns = {"price": price, "when": pa.array([1, 2], pa.timestamp("s")), "n": pa.array([1, 2])}
    columns["prices"] = pa.array([[decimal.Decimal("1.5")], []], pa.list_(price.type))
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(errors.UnsupportedError, match=r"decimal128.* --types COLUMN=float64"):
        sapwood.convert(tmp_path / "a.parquet", tmp_path / "a.root")
    types = {"price": "float64", "prices": "float64", "n": "int8"}
    sapwood.convert(tmp_path / "a.parquet", f"{tmp_path}/a.root:t", types=types)
    tree = sapwood.open(tmp_path / "a.root")["t"]
    assert tree["price"].array().tolist() == [1.5, 2.25] and tree["prices"].array().tolist() == [[1.5], []]
    assert tree["n"].array(library="np").dtype == np.int8
    with pytest.raises(errors.NotFoundError, match="column 'pric' does not exist .* nearest: 'price'"):
        sapwood.convert(tmp_path / "a.parquet", tmp_path / "b.root", types={"pric": "float64"})
    with pytest.raises(errors.MismatchError, match=r"values of 'price' .* that int64 does not hold"):
        sapwood.convert(tmp_path / "a.parquet", tmp_path / "b.root", types={"price": "int64"})
    for ends in ("npz", "h5"):
        if ends == "h5":
            pytest.importorskip("h5py")
        with pytest.raises(errors.UnsupportedError, match="types=, --types when=int64"):
            sapwood.convert(tmp_path / "a.parquet", tmp_path / f"a.{ends}", columns=["when"])
        sapwood.convert(
            tmp_path / "a.parquet", tmp_path / f"a.{ends}", columns=["when"], types={"when": "int64"}
        )


def test_the_command(tmp_path: Path) -> None:
    feather.write_feather(table().select(["berlin"]), tmp_path / "a.feather")
    for source, target, more in (
        (tmp_path / "a.feather", f"{tmp_path}/a.root:t", []),
        (f"{tmp_path}/a.root:t", tmp_path / "b.feather", []),
        (f"{tmp_path}/a.root:t", tmp_path / "c.csv", ["--types", "berlin=int64"]),
    ):
        command = [sys.executable, "-m", "sapwood", "convert", source, target, *more]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0 and done.stderr == ""
    assert feather.read_table(tmp_path / "b.feather")["berlin"].equals(table()["berlin"])
    assert (tmp_path / "c.csv").read_text().split() == ['"berlin"', "-1", "0", str(MOST)]


@pytest.mark.parametrize("format", ["ttree", "rntuple"])
def test_files_with_dates_of_other_units_are_not_joined_as_numbers(tmp_path: Path, format: str) -> None:
    def made(name: str, unit: str | None) -> Path:
        values = pa.array([5, 2000], pa.int64() if unit is None else pa.timestamp(unit))
        pq.write_table(pa.table({"t": values, "x": [1, 2]}), tmp_path / f"{name}.parquet")
        sapwood.convert(tmp_path / f"{name}.parquet", f"{tmp_path}/{name}.root:E", format=format)
        return tmp_path / f"{name}.root"

    first, same, other, plain = (
        made(name, unit) for name, unit in [("a", "ms"), ("b", "ms"), ("c", "us"), ("d", None)]
    )
    out = tmp_path / "out.root"
    for inputs in ([first, other], [first, plain], [plain, first]):
        with pytest.raises(sapwood.errors.MismatchError, match='"t" has values of type'):
            sapwood.merge(out, inputs)
        with pytest.raises(sapwood.errors.MismatchError, match="'t' has values of type"):
            sapwood.skim([f"{path}:E" for path in inputs], out)
        assert not out.exists()
        assert sapwood.skim([f"{path}:E" for path in inputs], out, ["x"]) == 4
        out.unlink()
    sapwood.merge(out, [first, same])
    sapwood.convert(f"{out}:E", tmp_path / "back.parquet")
    back = pq.read_table(tmp_path / "back.parquet")
    assert back["t"].type == pa.timestamp("ms") and back["t"].cast("int64").to_pylist() == [5, 2000] * 2


@pytest.mark.parametrize("format", ["ttree", "rntuple"])
def test_skims_keep_dates_and_make_none(tmp_path: Path, format: str) -> None:
    table = pa.table({"t": pa.array([5, 2000], pa.timestamp("ms")), "x": [1, 2]})
    pq.write_table(table, tmp_path / "a.parquet")
    sapwood.convert(tmp_path / "a.parquet", tmp_path / "a.root:E")
    columns = {"t": "x * 7", "when": "t"}
    sapwood.skim(f"{tmp_path}/a.root:E", tmp_path / "out.root", columns, format=format)
    sapwood.convert(f"{tmp_path}/out.root:E", tmp_path / "back.parquet")
    back = pq.read_table(tmp_path / "back.parquet")
    assert back["t"].to_pylist() == [7, 14]
    assert back["when"].type == pa.timestamp("ms") and back["when"].cast("int64").to_pylist() == [5, 2000]


@pytest.mark.parametrize("format", ["ttree", "rntuple"])
def test_files_with_the_same_dates_are_merged(tmp_path: Path, format: str) -> None:
    def made(name: str, units: dict[str, str], rows: int = 2) -> Path:
        columns = {name: pa.array([5, 7][:rows], pa.timestamp(unit)) for name, unit in units.items()}
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
        sapwood.convert(tmp_path / f"{name}.parquet", f"{tmp_path}/{name}.root:E", format=format)
        return tmp_path / f"{name}.root"

    first = made("a", {"t": "ms", "u": "us"})
    other_order = made("b", {"u": "us", "t": "ms"})
    fewer = tmp_path / "empty.root"
    with sapwood.recreate(fewer) as file:
        make = file.mktree if format == "ttree" else file.mkrntuple
        make("E", {"t": "int64", "u": "int64"})
    sapwood.merge(tmp_path / "out.root", [first, other_order, fewer])
    sapwood.convert(f"{tmp_path}/out.root:E", tmp_path / "back.parquet")
    back = pq.read_table(tmp_path / "back.parquet")
    assert [back[name].type for name in ("t", "u")] == [pa.timestamp("ms"), pa.timestamp("us")]
    assert back["t"].cast("int64").to_pylist() == back["u"].cast("int64").to_pylist() == [5, 7, 5, 7]

    more = made("c", {"t": "ms", "u": "us", "late": "s"})
    if format == "ttree":
        sapwood.merge(tmp_path / "left.root", [first, more])
        assert sapwood.open(tmp_path / "left.root")["E"].keys() == ["t", "u"]
    else:
        with pytest.raises(errors.MismatchError, match='"late" is a date, .* put this input first'):
            sapwood.merge(tmp_path / "left.root", [first, more])


@pytest.mark.parametrize("column", ["t", "E.t", "(t)", "alias"])
def test_skims_join_no_dates_of_other_units(tmp_path: Path, column: str) -> None:
    for unit in ("ms", "us"):
        pq.write_table(pa.table({"t": pa.array([5, 2000], pa.timestamp(unit))}), tmp_path / "t.parquet")
        sapwood.convert(tmp_path / "t.parquet", f"{tmp_path}/{unit}.root:E", overwrite=True)
    files = [f"{tmp_path}/ms.root:E", f"{tmp_path}/us.root:E"]
    words = "'q' has values of type .*us.* here, and of .*ms.* in the files before"
    with pytest.raises(errors.MismatchError, match=words):
        sapwood.skim(files, tmp_path / "out.root", {"q": column}, aliases={"alias": "t"})
    assert sapwood.skim(files[:1], tmp_path / "out.root", {"q": column}, aliases={"alias": "t"}) == 2
    with pytest.raises(errors.MismatchError, match="the cut has values of type .*us"):
        sapwood.skim(files, tmp_path / "cut.root", {"one": "1"}, f"{column} > 6", aliases={"alias": "t"})


@pytest.mark.parametrize("format", ["ttree", "rntuple"])
@pytest.mark.parametrize("source", ["ttree", "rntuple"])
def test_skims_of_records_keep_dates(tmp_path: Path, source: str, format: str) -> None:
    of_dates = pa.struct([("d", pa.timestamp("ms")), ("k", pa.int32())])
    rows = [[{"d": 5, "k": 1}, {"d": 7, "k": 2}], []]
    records = [{"d": 9, "k": 3}, {"d": 11, "k": 4}]
    table = pa.table({"r": pa.array(rows, pa.list_(of_dates)), "s": pa.array(records, of_dates)})
    pq.write_table(table, tmp_path / "in.parquet")
    sapwood.convert(tmp_path / "in.parquet", f"{tmp_path}/in.root:E", format=source)
    sapwood.skim(f"{tmp_path}/in.root:E", tmp_path / "out.root", format=format)
    sapwood.convert(f"{tmp_path}/out.root:E", tmp_path / "out.parquet")
    sapwood.convert(f"{tmp_path}/in.root:E", tmp_path / "same.parquet")
    found, whole = (pq.read_table(tmp_path / name) for name in ("out.parquet", "same.parquet"))

    def dates_of(table: Any) -> list[Any]:
        found = []
        for column in table.columns:
            is_list = pa.types.is_list(column.type) or pa.types.is_large_list(column.type)
            kind = column.type.value_type if is_list else column.type
            fields = kind if pa.types.is_struct(kind) else [pa.field("", kind)]
            found += [field.type for field in fields if pa.types.is_timestamp(field.type)]
        return found

    assert dates_of(found) == dates_of(whole) == [pa.timestamp("ms")] * 2


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(
    ("values", "kind", "words"),
    [
        ([1.5, 1e300], "float32", "1e.300 becomes inf"),
        ([0, 5], "bool", "5 becomes True"),
        ([0.5], "bool", "0.5 becomes True"),
        ([100_000], "float16", "100000 becomes inf"),
        ([2**53 + 1], "float64", ".*"),
        (["1", "1e300"], "float32", "1e300 becomes inf"),
        ([2.555], pa.decimal128(10, 1), "2.555 becomes 2.6"),
        ([decimal.Decimal(10) ** 45], "float32", "10* becomes inf"),
        ([datetime.datetime(2024, 2, 29, 1, 2)], "time64[us]", "the date would be lost"),
        ([datetime.datetime(2024, 2, 29, 1, 2)], "date32", "2024-02-29 01:02:00.* has a time of day"),
    ],
)
def test_types_that_would_change_values_are_refused(
    tmp_path: Path, values: list[Any], kind: Any, words: str, nested: bool
) -> None:
    column = [[{"a": value} for value in values]] if nested else values
    pq.write_table(pa.table({"x": column}), tmp_path / "in.parquet")
    with pytest.raises(errors.MismatchError, match=f"'x' .* does not hold: {words}: types="):
        sapwood.convert(tmp_path / "in.parquet", tmp_path / "out.parquet", types={"x": kind})
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize(
    ("column", "kind", "words"),
    [
        (pa.array([[2], [0]]), pa.large_list(pa.bool_()), "2 becomes True"),
        (pa.array([[1e300]], pa.large_list(pa.float64())), pa.list_(pa.float32()), "1e.300 becomes inf"),
        (pa.array([[2, 1]], pa.list_(pa.int64(), 2)), pa.list_(pa.bool_(), 2), "2 becomes True"),
        (pa.array([1e300]).dictionary_encode(), pa.float32(), "1e.300 becomes inf"),
        (pa.array([{"a": 1, "b": 2}]), pa.struct([("a", pa.int64())]), "records have the members"),
        (pa.array([{"a": 1}]), pa.struct([("p", pa.int64())]), "records have the members"),
        (pa.array([{"a": 1, "b": 2}]), pa.struct([("b", pa.bool_()), ("a", pa.int64())]), "2 becomes True"),
        (
            pa.array([[("k", 1e300)]], pa.map_(pa.string(), pa.float64())),
            pa.map_(pa.string(), pa.float32()),
            "1e.300 becomes inf",
        ),
    ],
)
def test_types_of_nested_columns_keep_their_values(
    tmp_path: Path, column: Any, kind: Any, words: str
) -> None:
    pq.write_table(pa.table({"x": column}), tmp_path / "in.parquet")
    with pytest.raises(errors.MismatchError, match=f"'x' .* does not hold: {words}"):
        sapwood.convert(tmp_path / "in.parquet", tmp_path / "out.parquet", types={"x": kind})


def test_members_of_records_are_found_by_name(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": pa.array([{"f": 5.0, "b": 1}])}), tmp_path / "in.parquet")
    kind = pa.struct([("b", pa.bool_()), ("f", pa.float32())])
    sapwood.convert(tmp_path / "in.parquet", tmp_path / "out.parquet", types={"x": kind})
    assert pq.read_table(tmp_path / "out.parquet")["x"].to_pylist() == [{"b": True, "f": 5.0}]


def test_files_of_narrower_floats_do_not_change_later_ones(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": pa.array([1.0], pa.float16())}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"x": [100_000]}), tmp_path / "2.parquet")
    files = [tmp_path / "1.parquet", tmp_path / "2.parquet"]
    with pytest.raises(errors.MismatchError, match="does not hold: 100000 becomes inf"):
        sapwood.convert(files, tmp_path / "out.parquet")


def test_missing_records_are_missing_in_parquet(tmp_path: Path) -> None:
    members = pa.struct([pa.field("a", pa.int32(), nullable=False)])
    rows = pa.array([[{"a": 1}, None], []], pa.list_(members))
    feather.write_feather(pa.table({"x": rows}), tmp_path / "in.feather")
    sapwood.convert(tmp_path / "in.feather", tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet")["x"].to_pylist() == rows.to_pylist()


@pytest.mark.parametrize("values", [[1, None, 3, None], [None, None], [None, 0.5], [1, 2]])
def test_csv_of_one_column_keeps_rows_without_a_value(tmp_path: Path, values: list[Any]) -> None:
    kind = pa.float64() if 0.5 in values else pa.int64()
    pq.write_table(pa.table({"x": pa.array(values, kind)}), tmp_path / "in.parquet")
    sapwood.convert(tmp_path / "in.parquet", tmp_path / "x.csv")
    sapwood.convert(tmp_path / "x.csv", tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet")["x"].to_pylist() == values


@pytest.mark.parametrize(("precision", "scale"), [(3, 0), (9, 0), (10, 2), (18, 0), (38, 0)])
@pytest.mark.parametrize("kind", ["int8", "int32", "int64", "uint64"])
def test_decimals_become_whole_numbers(tmp_path: Path, precision: int, scale: int, kind: str) -> None:
    numbers = pa.array([decimal.Decimal(1), None, decimal.Decimal(2)], pa.decimal128(precision, scale))
    pq.write_table(pa.table({"x": numbers}), tmp_path / "in.parquet")
    sapwood.convert(tmp_path / "in.parquet", tmp_path / "out.parquet", types={"x": kind})
    assert pq.read_table(tmp_path / "out.parquet")["x"].to_pylist() == [1, None, 2]


@pytest.mark.parametrize(("ends", "text"), [("csv", "x\n1e39\n2\n"), ("jsonl", '{"x": 1e39}\n{"x": 2}\n')])
def test_texts_do_not_become_infinite(tmp_path: Path, ends: str, text: str) -> None:
    (tmp_path / f"in.{ends}").write_text(text)
    with pytest.raises(errors.MismatchError, match="does not hold: 1e.39 becomes inf"):
        sapwood.convert(tmp_path / f"in.{ends}", tmp_path / "out.parquet", types={"x": "float32"})
    table = pa.table({"x": ["1e400", "-Infinity", "inf", None]})
    pq.write_table(table, tmp_path / "in.parquet")
    with pytest.raises(errors.MismatchError, match="does not hold: 1e400 becomes inf"):
        sapwood.convert(tmp_path / "in.parquet", tmp_path / "out.parquet", types={"x": "float64"})
    pq.write_table(table.slice(1), tmp_path / "in.parquet")
    sapwood.convert(tmp_path / "in.parquet", tmp_path / "out.parquet", types={"x": "float64"})
    assert pq.read_table(tmp_path / "out.parquet")["x"].to_pylist() == [-float("inf"), float("inf"), None]


def test_times_that_python_does_not_have_are_an_error(tmp_path: Path) -> None:
    feather.write_feather(pa.table({"t": pa.array([2**60 + 1], pa.timestamp("s"))}), tmp_path / "in.feather")
    with pytest.raises(errors.MismatchError, match="'t'.*does not hold"):
        sapwood.convert(tmp_path / "in.feather", tmp_path / "out.parquet", types={"t": "date32"})


def test_types_that_hold_all_values_are_taken(tmp_path: Path) -> None:
    day = datetime.datetime(2024, 2, 29)
    table = pa.table({"f": [1.5, None, float("inf")], "b": [0, 1, None], "d": [day, None, day]})
    pq.write_table(table, tmp_path / "in.parquet")
    types = {"f": "float32", "b": "bool", "d": "date32"}
    sapwood.convert(tmp_path / "in.parquet", tmp_path / "out.parquet", types=types)
    back = pq.read_table(tmp_path / "out.parquet").to_pydict()
    days = [day.date(), None, day.date()]
    assert back == {"f": [1.5, None, float("inf")], "b": [False, True, None], "d": days}


def test_cuts_do_not_compare_dates_of_other_units(tmp_path: Path) -> None:
    for unit in ("ms", "us"):
        times = pa.array([5, 2000], pa.timestamp(unit))
        pq.write_table(pa.table({"t": times, "n": [1, 2]}), tmp_path / "t.parquet")
        sapwood.convert(tmp_path / "t.parquet", f"{tmp_path}/{unit}.root:E", overwrite=True)
    files, out = [f"{tmp_path}/ms.root:E", f"{tmp_path}/us.root:E"], tmp_path / "out.parquet"
    for asked in ({"cut": "t > 6"}, {"columns": ["n", "t - 5"]}, {"cut": "a > 6", "aliases": {"a": "t"}}):
        with pytest.raises(errors.MismatchError, match="computes with .*us.* in .*us.root:E, and with .*ms"):
            sapwood.convert(files, out, **asked)
    assert sapwood.convert(files, out, cut="n > 1").entries == 2
    assert sapwood.convert(files[:1], out, cut="t > 6", overwrite=True).entries == 1


@pytest.mark.parametrize("format", ["ttree", "rntuple"])
def test_dictionaries_of_dates_are_dates(tmp_path: Path, format: str) -> None:
    second = None if format == "rntuple" else 4
    days = pa.array([3, second, 3], pa.int32()).cast(pa.date32())
    lists = pa.array([[3], [], [4, 5]], pa.list_(pa.int32())).cast(pa.list_(pa.date32()))
    encoded = pa.ListArray.from_arrays(lists.offsets, lists.values.dictionary_encode())
    feather.write_feather(pa.table({"d": days.dictionary_encode(), "l": encoded}), tmp_path / "in.feather")
    is_nullable = format == "rntuple"
    sapwood.convert(tmp_path / "in.feather", tmp_path / "out.root", format=format, nullable=is_nullable)
    sapwood.convert(tmp_path / "out.root", tmp_path / "back.parquet")
    back = pq.read_table(tmp_path / "back.parquet")
    assert back["d"].to_pylist() == days.to_pylist() and back["l"].to_pylist() == lists.to_pylist()


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "dictionary"])
def test_times_of_day_of_texts(tmp_path: Path, kind: str) -> None:
    texts = pa.array(["12:30", None, "23:59:59.5"])
    texts = texts.dictionary_encode() if kind == "dictionary" else texts.cast(getattr(pa, kind)())
    feather.write_feather(pa.table({"t": texts}), tmp_path / "in.feather")
    sapwood.convert(tmp_path / "in.feather", tmp_path / "out.parquet", types={"t": "time64[us]"})
    times = [datetime.time(12, 30), None, datetime.time(23, 59, 59, 500_000)]
    assert pq.read_table(tmp_path / "out.parquet")["t"].to_pylist() == times
    feather.write_feather(pa.table({"t": pa.array(["10", "11:00"])}), tmp_path / "in.feather")
    with pytest.raises(errors.MismatchError, match="10 does not name a time of day, like 12:30:00"):
        sapwood.convert(tmp_path / "in.feather", tmp_path / "no.parquet", types={"t": "time64[us]"})


def test_values_that_nothing_shows_do_not_matter(tmp_path: Path) -> None:
    hidden = pa.array([300, 2])
    record = pa.StructArray.from_arrays([hidden], names=["a"], mask=pa.array([True, False]))
    lists = pa.ListArray.from_arrays(pa.array([1, 2, 2], pa.int32()), hidden)
    starts, lengths = pa.array([1, 0], pa.int32()), pa.array([1, 0], pa.int32())
    views = pa.ListViewArray.from_arrays(starts, lengths, hidden)
    table = pa.table({"r": record, "l": lists, "v": views})
    out = str(tmp_path / "in.arrows")
    with pa.OSFile(out, "wb") as sink, pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    types = {"r": "uint8", "l": "uint8", "v": pa.list_(pa.uint8())}
    sapwood.convert(tmp_path / "in.arrows", tmp_path / "out.parquet", types=types)
    back = pq.read_table(tmp_path / "out.parquet").to_pydict()
    assert back == {"r": [None, {"a": 2}], "l": [[2], []], "v": [[2], []]}
