"""Arrow's interfaces both ways: streams, LazyFrames of Polars, DuckDB, pandas, nanoarrow. Queries beside the
same queries on frames in memory."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")
pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

from polars.testing import assert_frame_equal  # noqa: E402
from sapwood import errors  # noqa: E402
from sapwood._read import layout, lazy_frame, predicate, stream  # noqa: E402

CORPUS = Path(os.environ.get("SAPWOOD_CORPUS") or Path(__file__).resolve().parents[2] / "shared" / "corpus")
ENTRIES = 4000
WIDE = 2**53


def columns() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    x = rng.normal(size=ENTRIES)
    x[::97] = np.nan
    x[5], x[6] = np.inf, -np.inf
    f = (rng.integers(0, 10, ENTRIES) / 10).astype("f4")
    f[::53] = np.nan
    return {
        "i": np.arange(ENTRIES),
        "x": x,
        "y": rng.normal(size=ENTRIES),
        "f": f,
        "small": rng.integers(-5, 5, ENTRIES).astype("i1"),
        "u": rng.integers(0, 7, ENTRIES).astype("u4"),
        "wide": WIDE + np.arange(ENTRIES) % 5,
        "far": np.uint64(2**64 - 1) - (np.arange(ENTRIES) % 3).astype("u8"),
        "flag": rng.integers(0, 2, ENTRIES).astype(bool),
        "v": ak.Array([[0.5] * (k % 4) for k in range(ENTRIES)]),
        "name": [("mu", "e", "tau", 'q"')[k % 4] for k in range(ENTRIES)],
        "matrix": rng.normal(size=(ENTRIES, 2, 3)),
    }


@pytest.fixture(scope="module", params=["ttree", "rntuple"])
def path(request: Any, tmp_path_factory: Any) -> str:
    place = str(tmp_path_factory.mktemp("arrow") / f"{request.param}.root")
    with sapwood.recreate(place, format=request.param) as file:
        if request.param == "ttree":
            with file.mktree("events", columns(), auto_flush=500) as tree:
                assert tree.num_entries == ENTRIES
        else:
            with file.mkrntuple("events", columns(), cluster_bytes=30_000):
                pass
    return place


@pytest.fixture()
def tree(path: str) -> Any:
    return sapwood.open(path)["events"]


@pytest.fixture(scope="module")
def frame(path: str) -> Any:
    return pl.DataFrame(sapwood.open(path)["events"])


def inflated(tree: Any, work: Any) -> float:
    """Bytes that some reading inflates."""
    with tree.perf as perf:
        work()
    return float(perf.figures["ReadUnZip"].value)


# ---- LazyFrames

X, F = pl.col("x"), pl.col("f")
#: Predicates, and whether the engine can decide something of them.
PREDICATES = [
    (pl.col("i") > 3900, True),
    (X > 2, True),
    (X >= 2.0, True),
    (X < -2, True),
    (2 > X, True),
    (X == float("inf"), False),
    (X != 0.5, True),
    (X.is_nan(), True),
    (~X.is_nan(), False),
    (X.abs() > 2, True),
    (X + pl.col("y") * 2 > 3, True),
    (X / pl.col("y") > 100, True),
    (X > pl.col("y"), True),
    (~(X > pl.col("y")), True),
    (X.is_between(0.1, 0.2), True),
    (~X.is_between(-2, 2), True),
    (F > 0.7, True),
    (F >= 0.7, True),
    (F <= 0.3, True),
    (F == 0.1, True),
    (F != 0.1, False),
    (F.cast(pl.Float64) > 0.7, True),
    (F + F > 1.1, False),
    (pl.col("small") == 3, True),
    (pl.col("small") + pl.lit(127, pl.Int8) > 0, False),
    (pl.col("small") > 0.5, True),
    (pl.col("small").is_in([1, -2]), True),
    (~pl.col("small").is_in([1, -2]), False),
    (pl.col("u") - 3 < 2, False),
    (pl.col("wide") == WIDE + 1, False),
    (pl.col("wide") > WIDE - 1, True),
    (pl.col("far") > 5, True),
    (pl.col("far") == 2**64 - 1, False),
    (pl.col("flag"), True),
    (~pl.col("flag"), True),
    (pl.col("flag") & (X > 1), True),
    (~(pl.col("flag") | (X > 1)), True),
    ((X > 1) | (F + F > 1), False),
    ((X > 1) & (F + F > 1), True),
    ((X > 1) ^ pl.col("flag"), False),
    (pl.col("v").list.len() > 2, True),
    (pl.col("v").list.sum() > 1, False),
    (pl.col("name") == "mu", True),
    (pl.col("name") == 'q"', False),
    (pl.col("name").str.starts_with("t"), False),
    (pl.col("x").is_not_null(), False),
    (pl.col("i") % 7 == 3, False),
    (pl.col("i").cast(pl.Float64) * 0.5 > 1990, False),
    (pl.col("u").cast(pl.Float64) * 0.5 > 2.0, True),
]


@pytest.mark.parametrize(("number"), range(len(PREDICATES)))
def test_predicates_are_those_of_polars(tree: Any, frame: Any, number: int, monkeypatch: Any) -> None:
    wanted, is_decided = PREDICATES[number]
    cuts: list[Any] = []
    plan = predicate.plan

    def noted(tree: Any, names: Any, cut: Any, columns: Any) -> Any:
        made = plan(tree, names, cut, columns)
        cuts.append((cut, made.cut))
        return made

    monkeypatch.setattr(predicate, "plan", noted)
    found = tree.lazy(step_size=1000).filter(wanted).collect()
    assert found.equals(frame.filter(wanted)), cuts
    assert [cut is not None for cut, _ in cuts] == [is_decided]
    # The engine understands what was made of it.
    assert all(cut == used for cut, used in cuts)


def test_random_predicates_are_those_of_polars(tree: Any, frame: Any) -> None:
    rng = np.random.default_rng(int(os.environ.get("SAPWOOD_SEED", 3)))
    numbers = ["i", "x", "y", "f", "small", "u", "wide", "far"]
    values = [0, 1, -1, 0.1, 0.3, 0.7, 2, 1e300, 3_000, WIDE, WIDE + 2]

    def condition(depth: int) -> Any:
        if depth and rng.random() < 0.7:
            left, right = condition(depth - 1), condition(depth - 1)
            return [left & right, left | right, ~left][rng.integers(3)]
        left = pl.col(str(rng.choice(numbers)))
        right = (
            pl.lit(values[rng.integers(len(values))])
            if rng.random() < 0.7
            else pl.col(str(rng.choice(["x", "y"])))
        )
        signs = (left > right, left >= right, left < right, left <= right, left == right, left != right)
        return signs[rng.integers(6)]

    lazy = tree.lazy(step_size=1500)
    for _ in range(60):
        wanted = condition(3)
        try:
            expected = frame.filter(wanted)
        except pl.exceptions.PolarsError:
            continue  # what Polars does not compare
        assert lazy.filter(wanted).collect().equals(expected), str(wanted)


def test_a_query_reads_what_it_needs(tree: Any) -> None:
    lazy = tree.lazy(step_size=500)
    whole = inflated(tree, lambda: lazy.collect())
    one = inflated(tree, lambda: lazy.select("y").collect())
    rare = inflated(tree, lambda: lazy.filter(pl.col("i") == 3999).select("y", "matrix").collect())
    some = inflated(tree, lambda: lazy.select("y", "matrix").collect())
    assert 0 < one < whole / 4 and 0 < rare < some
    first = inflated(tree, lambda: lazy.select("matrix").head(3).collect())
    assert 0 < first < inflated(tree, lambda: lazy.select("matrix").collect()) / 2


def test_slices_and_rows(tree: Any, frame: Any) -> None:
    lazy = tree.lazy(step_size=700)
    for query in (
        lambda one: one.head(1003),
        lambda one: one.slice(650, 100),
        lambda one: one.tail(5),
        lambda one: one.head(100).filter(X > 1),
        lambda one: one.filter(X > 1).head(10),
        lambda one: one.select(pl.len()),
        lambda one: one.filter(pl.col("i") > 5000),
        lambda one: one.select("matrix", "name", "v").head(0),
        lambda one: one.group_by("name").agg(pl.col("y").sum()).sort("name"),
        lambda one: one.with_row_index("row").filter(pl.col("row") < 3),
        lambda one: one.join(one.select("i", again="x"), on="i").filter(pl.col("again") > 2).sort("i"),
    ):
        left, right = query(lazy).collect(), query(frame.lazy()).collect()
        assert_frame_equal(left, right)
        streamed = query(lazy).collect(engine="streaming")
        assert streamed.shape == right.shape


@pytest.mark.filterwarnings("error")
def test_steps_may_end_in_the_thread_that_reads_ahead() -> None:
    from sapwood._tree import iteration

    steps: Any = None

    def read(step: int) -> int:
        nonlocal steps
        if step == 2:
            ended.wait(60)
            steps = None  # as the collector of garbage would
        return step

    ended = threading.Event()
    steps = iteration.ahead(iter([0, 1, 2, 3]), read)
    assert next(steps) == 0 and next(steps) == 1
    gone = weakref.ref(steps)
    ended.set()
    for _ in range(600):
        if gone() is None:
            break
        time.sleep(0.05)
    assert gone() is None


def test_batches_are_bounded(tree: Any) -> None:
    heights = [len(batch) for batch in tree.lazy(step_size=300).collect_batches(maintain_order=True)]
    assert sum(heights) == ENTRIES
    source = lazy_frame.Source(tree, ["x", "v"], 300)
    heights = [len(part) for part in source(None, None, None, None)]
    assert max(heights) == 300 and sum(heights) == ENTRIES


def test_optional_values_are_left_to_polars(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        file.mkrntuple("t", {"o": "?int32", "x": "float64"}).extend(
            {"o": ak.Array([1, None, 3, None]), "x": [1.0, 2.0, 3.0, 4.0]}
        )
    lazy = sapwood.open(tmp_path / "a.root")["t"].lazy()
    assert lazy.filter(pl.col("o") > 1).collect()["x"].to_list() == [3.0]
    assert lazy.filter(~(pl.col("o") > 1)).collect()["x"].to_list() == [1.0]
    assert lazy.filter(pl.col("o").is_null() & (X > 3)).collect()["x"].to_list() == [4.0]


def test_names_that_mean_something_else(tmp_path: Path) -> None:
    """Names that an expression does not read as the branch."""
    odd = {"pi": [1.0, 5.0], "x y": [1.0, 5.0], "e": [1.0, 5.0], "Entry$": [7.0, 8.0], "cos": [1.0, 5.0]}
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["t"] = odd
    lazy = sapwood.open(tmp_path / "a.root")["t"].lazy()
    for name, values in odd.items():
        for limit in (0.0, 2.0, 4.0, 7.5):
            found = lazy.filter(pl.col(name) > limit).collect()[name].to_list()
            assert found == [value for value in values if value > limit], name


def test_a_file_that_changed_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.root"
    with sapwood.recreate(path) as file:
        file["t"] = {"x": [1.0, 2.0]}
    tree = sapwood.open(path)["t"]
    lazy, dataset = tree.lazy(), tree.dataset()
    assert lazy.collect().height == 2
    os.utime(path, ns=(1, 1))
    for query in (lazy.collect, lazy.select("x").head(1).collect, dataset.to_table):
        with pytest.raises(Exception, match=r"a\.root changed since it was opened.*open it again"):
            query()
    lazy = sapwood.open(path)["t"].lazy()
    with sapwood.recreate(tmp_path / "b.root") as file:
        file["t"] = {"x": [1.0, 2.0, 3.0]}
    os.replace(tmp_path / "b.root", path)
    with pytest.raises(Exception, match="changed since it was opened"):
        lazy.collect()
    path.unlink()
    with pytest.raises(Exception, match="changed since it was opened"):
        lazy.collect()


def test_a_closed_file_says_so(path: str) -> None:
    with sapwood.open(path) as file:
        lazy = file["events"].lazy()
    with pytest.raises(Exception, match="is closed"):
        lazy.collect()


def test_types_that_polars_lacks_are_named(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        data = {"x": [1, 2], "u": ak.Array([1, "a"])}
        file.mkrntuple("t", {"x": "int32", "u": "union[int32, string]"}).extend(data)
    tree = sapwood.open(tmp_path / "a.root")["t"]
    words = r"'u' holds std::variant<std::int32_t,std::string>.*Polars.*leave it out"
    for work in (tree.lazy, lambda: tree.arrays(library="pl"), lambda: tree["u"].array(library="pl")):
        with pytest.raises(errors.UnsupportedError, match=words):
            work()
    assert tree.lazy(filter_name="x").collect()["x"].to_list() == [1, 2]
    assert pa.table(tree)["u"].to_pylist() == [1, "a"]


# ---- DuckDB, datasets


def test_duckdb_reads_the_columns_of_a_query(tree: Any, frame: Any) -> None:
    duckdb = pytest.importorskip("duckdb")
    dataset, lazy = tree.dataset(step_size=500), tree.lazy(step_size=500)
    assert dataset.schema == pa.schema(tree) and lazy.collect_schema() == frame.schema
    for query, expected in (
        ("SELECT sum(i) FROM {}", frame["i"].sum()),
        (
            "SELECT sum(y) FROM {} WHERE i > 3900 AND flag",
            frame.filter((pl.col("i") > 3900) & pl.col("flag"))["y"].sum(),
        ),
        ("SELECT count(*) FROM {}", ENTRIES),
        (
            "SELECT count(*) FROM {} WHERE name = 'mu' AND f >= 0.7::FLOAT AND NOT isnan(f)",
            frame.filter((pl.col("name") == "mu") & (F >= 0.7) & ~F.is_nan()).height,
        ),
        (
            "SELECT count(*) FROM {} WHERE NOT (i < 100 OR small IN (1, 2))",
            frame.filter(~((pl.col("i") < 100) | pl.col("small").is_in([1, 2]))).height,
        ),
        (
            "SELECT sum(len(v)) FROM {} WHERE wide = 9007199254740993",
            frame.filter(pl.col("wide") == WIDE + 1)["v"].list.len().sum(),
        ),
        ("SELECT max(far) FROM {} WHERE x > 1", frame["far"].max()),
        ("SELECT i FROM {} WHERE i IS NOT NULL ORDER BY i DESC LIMIT 1", ENTRIES - 1),
    ):
        for name in ("dataset", "lazy", "tree"):
            (found,) = duckdb.sql(query.format(name)).fetchall()[0]
            assert found == pytest.approx(expected, rel=1e-12), (query, name)
    whole = inflated(tree, lambda: dataset.to_table())
    for events in (dataset, lazy):

        def read_by_name(query: str, events: Any = events) -> float:
            with tree.perf as perf:
                duckdb.sql(query).fetchall()
            return float(perf.figures["ReadUnZip"].value)

        assert 0 < read_by_name("SELECT sum(y) FROM events") < whole / 4
        both = read_by_name("SELECT y, matrix FROM events")
        assert 0 < read_by_name("SELECT y, matrix FROM events WHERE i = 3999") < both


def test_datasets(tree: Any, frame: Any) -> None:
    ds = pytest.importorskip("pyarrow.dataset")
    dataset = tree.dataset(step_size=600)
    field = ds.field
    for filter, wanted in (
        (field("i") > 3990, pl.col("i") > 3990),
        ((field("y") < -2) | (field("small") == -5), (pl.col("y") < -2) | (pl.col("small") == -5)),
        (~(field("i") >= 10), pl.col("i") < 10),
        (field("f") > pa.scalar(0.7, pa.float32()), (F > 0.7) & ~F.is_nan()),
        (field("name") == "tau", pl.col("name") == "tau"),
        (field("name") == 'q"', pl.col("name") == 'q"'),
        (field("small").isin([1, 2]), pl.col("small").is_in([1, 2])),
        (field("flag"), pl.col("flag")),
        (field("y") == -1.2345678901234567e-5, pl.lit(False)),
    ):
        found = dataset.to_table(columns=["i", "name"], filter=filter)
        assert found["i"].to_pylist() == frame.filter(wanted)["i"].to_list(), str(filter)
        assert dataset.filter(filter).count_rows() == found.num_rows == dataset.count_rows(filter)
    number = float(frame["y"][17])
    assert dataset.to_table(filter=field("y") == number)["i"].to_pylist() == [17]
    twice = dataset.to_table(columns={"twice": field("i") + field("i")}, filter=field("i") < 2)
    assert twice.to_pydict() == {"twice": [0, 2]}
    assert dataset.head(3, columns=["v"]).to_pydict() == {"v": frame["v"][:3].to_list()}
    assert sum(len(batch) for batch in dataset.to_batches(columns=["x"])) == ENTRIES
    with pytest.raises(errors.UnsupportedError, match="to_table"):
        dataset.sort_by("x")
    with pytest.raises(errors.UnsupportedError, match="to_table"):
        list(dataset.get_fragments())
    import pickle

    assert pickle.loads(pickle.dumps(dataset)).to_table(columns=["i"]).num_rows == ENTRIES


# ---- streams


def test_iterators_are_streams(tree: Any, frame: Any, path: str) -> None:
    wanted = frame.filter((X > 1) & ~X.is_nan())
    for steps in (
        tree.iterate(["i", "x * 2", "v"], "x > 1", step_size=300),
        sapwood.iterate(f"{path}:events", ["i", "x * 2", "v"], "x > 1", step_size=300),
    ):
        for _ in range(2):  # from the beginning
            found = pl.DataFrame(steps)
            assert found["i"].to_list() == wanted["i"].to_list()
            assert found["v"].to_list() == wanted["v"].to_list()
            assert found["x * 2"].to_list() == (wanted["x"] * 2).to_list()
    reader = pa.RecordBatchReader.from_stream(tree.iterate(["x"], step_size=300))
    assert [len(batch) for batch in reader] == [300] * 13 + [100]
    both = sapwood.iterate([f"{path}:events", f"{path}:events"], ["i"], step_size=1500)
    assert pa.table(both)["i"].to_pylist() == 2 * list(range(ENTRIES))
    assert len(next(both)) == 1500
    assert pa.table(tree.iterate(["i"], entry_start=5, entry_stop=5)).num_rows == 0


@pytest.mark.filterwarnings("ignore:left out, as they do not have entries")
def test_streams_of_everything_leave_out_what_has_no_type() -> None:
    path = CORPUS / "roottest__alice_ESDs.root"
    if not path.exists():
        pytest.skip("the corpus of real files is not here (set SAPWOOD_CORPUS)")
    with sapwood.open(path) as file:
        tree = file["esdTree"]
        whole, steps = pa.schema(tree).names, pa.table(tree.iterate(entry_stop=1)).column_names
        assert whole == steps and 0 < len(whole) < len(tree.arrays(entry_stop=1).fields)


def test_streams_name_what_they_cannot_hold(tree: Any) -> None:
    with pytest.raises(errors.UnsupportedError, match="v > 0.*leaves out items"):
        pa.table(tree.iterate(["v"], "v > 0"))
    with pytest.raises(errors.UnsupportedError, match="'i' cannot be in a stream.*uint64"):
        pa.table(tree.iterate({"i": "u8"}))


def test_errors_reach_the_reader_of_a_stream(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["t"] = {"x": [1.0, 2.0], "n": [1, 2]}
    with sapwood.recreate(tmp_path / "b.root") as file:
        file["t"] = {"x": np.asarray([1.0], "f4")}
    files = [str(tmp_path / "a.root:t"), str(tmp_path / "b.root:t")]
    with pytest.raises(Exception, match="'x' holds float32.*and float64"):
        pa.table(sapwood.iterate(files, ["x"]))
    with pytest.raises(Exception, match='"x" are of type Float32, where Float64 was expected'):
        pa.table(sapwood.iterate(files, ["x"], widen=True))
    with pytest.raises(Exception, match='no branch "n"'):
        pa.table(sapwood.iterate(files, ["n"]))


def test_other_libraries_take_trees(tree: Any, frame: Any) -> None:
    pd, na = pytest.importorskip("pandas"), pytest.importorskip("nanoarrow")
    assert pd.DataFrame.from_arrow(tree)["y"].tolist() == frame["y"].to_list()
    assert na.ArrayStream(tree).read_all().n_children == len(frame.columns)
    assert na.Array(tree["i"].array(library="arrow")).to_pylist() == list(range(ENTRIES))


def test_nothing_is_copied(tree: Any) -> None:
    ids = [tree[name]._id for name in ("y", "v")]
    flat, lists = tree._core.columns(ids, 0, ENTRIES)
    numbers = np.asarray(flat.buffer(flat.kind[1])).ctypes.data
    offsets = np.asarray(lists.buffer(lists.kind[1])).ctypes.data
    items = np.asarray(lists.buffer(lists.kind[3][1])).ctypes.data
    assert layout.to_numpy(flat).ctypes.data == numbers
    array = layout.to_awkward(lists).layout
    assert (array.offsets.data.ctypes.data, array.content.data.ctypes.data) == (offsets, items)
    assert pa.array(flat).buffers()[1].address == numbers
    arrow = pa.array(lists)
    assert (arrow.buffers()[1].address, arrow.buffers()[3].address) == (offsets, items)
    series, listed = pl.Series(flat), pl.Series(lists)
    assert series.to_numpy(allow_copy=False).ctypes.data == numbers
    assert listed.to_arrow().buffers()[3].address == items
    names, taken = stream.schema_columns(tree.iterate(["y", "v"])._plan().__enter__())
    from sapwood import _core

    batches = _core.columns_stream(names, taken, iter([(ENTRIES, [flat, lists])]))

    class Given:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return batches

    batch = next(iter(pa.RecordBatchReader.from_stream(Given())))
    assert batch["y"].buffers()[1].address == numbers and batch["v"].buffers()[3].address == items


# ---- writing


class Speaks:
    """What has one method of Arrow's interface, and nothing else."""

    def __init__(self, name: str, of: Any) -> None:
        setattr(type(self), name, lambda self, requested_schema=None: getattr(of, name)())


@pytest.mark.parametrize("format", ["ttree", "rntuple"])
def test_whatever_speaks_arrow_is_written(tree: Any, tmp_path: Path, format: str) -> None:
    duckdb, na = pytest.importorskip("duckdb"), pytest.importorskip("nanoarrow")
    table = pa.table(tree.iterate(["i", "y", "v", "name"]))
    rows = table.slice(0)
    for make in (
        lambda: tree.iterate(["i", "y", "v", "name"], step_size=900),
        lambda: table.to_reader(max_chunksize=1000),
        lambda: type("Stream", (Speaks,), {})("__arrow_c_stream__", table),
        lambda: type("Array", (Speaks,), {})("__arrow_c_array__", table.combine_chunks().to_batches()[0]),
        lambda: tree.lazy(step_size=900).select("i", "y", "v", "name"),
        lambda rows=rows: duckdb.sql("SELECT * FROM rows"),
        lambda: na.ArrayStream(table),
        lambda: table,
        lambda: pl.DataFrame(table),
    ):
        with sapwood.recreate(tmp_path / "a.root", format=format) as file:
            file["t"] = make()
            begin = file.mktree if format == "ttree" else file.mkrntuple
            with begin("twice", make()) as twice:
                twice.extend(make())
        written = sapwood.open(tmp_path / "a.root")
        found = written["t"].arrays(["i", "y", "v", "name"], library="arrow")
        assert found.cast(table.schema).equals(table)
        assert written["twice/i"].array().tolist() == 2 * table["i"].to_pylist()


def test_a_stream_is_written_batch_by_batch(tmp_path: Path) -> None:
    given = 0

    def batches() -> Any:
        nonlocal given
        for start in range(0, 50):
            given = start
            yield pa.record_batch({"x": np.arange(1000.0)})
            # What was given before is written, or waits in a cluster of 100 entries.
            assert start == 0 or (tmp_path / "a.root").stat().st_size > (start - 2) * 8000

    with sapwood.recreate(tmp_path / "a.root", compression=None) as file:
        schema = pa.schema([("x", pa.float64())])
        file.mktree("t", pa.RecordBatchReader.from_batches(schema, batches()), auto_flush=100)
    assert given == 49 and sapwood.open(tmp_path / "a.root")["t"].num_entries == 50_000


def test_streams_without_rows_have_columns(tmp_path: Path) -> None:
    schema = pa.schema([("x", pa.float32()), ("v", pa.list_(pa.int32()))])
    for format in ("ttree", "rntuple"):
        with sapwood.recreate(tmp_path / "a.root", format=format) as file:
            file["t"] = pa.RecordBatchReader.from_batches(schema, [])
            file["l"] = pl.LazyFrame({"x": [1.0]}).filter(pl.col("x") > 2)
        written = sapwood.open(tmp_path / "a.root")
        # An RNTuple holds values that may be missing, as the schema says; no tree does.
        assert str(written["t"].arrays(["x", "v"]).type) == (
            "0 * {x: float32, v: var * int32}"
            if format == "ttree"
            else "0 * {x: ?float32, v: option[var * ?int32]}"
        )
        assert written["l"].num_entries == 0 and written["l"].keys() == ["x"]


def test_what_trees_cannot_hold_is_named(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        with pytest.raises(errors.MismatchError, match=r"column 'x': missing values \(the first in row 1\)"):
            file["t"] = pa.table({"x": [1, None, 3]}).to_reader()
        with pytest.raises(errors.UnsupportedError, match="column 'd': Arrow's type decimal128.*cast it"):
            file["t"] = pa.table({"d": pa.array([1, 2], pa.decimal128(5, 1))}).to_reader()
        with pytest.raises(errors.MismatchError, match="two columns have the name 'x'"):
            file["t"] = pa.table([[1], [2]], names=["x", "x"]).to_reader()
        assert file.keys() == []


# ---- what is missing


@pytest.mark.parametrize(
    ("missing", "work", "words"),
    [
        ("polars", "tree.lazy()", "tree.lazy() needs the package 'polars': pip install polars"),
        ("pyarrow", "tree.dataset()", "tree.dataset() needs the package 'pyarrow': pip install pyarrow"),
        (
            "pyarrow",
            "file['t'] = tree",
            "writing from Arrow needs the package 'pyarrow': pip install pyarrow",
        ),
    ],
)
def test_a_missing_package_gives_its_install_line(path: str, missing: str, work: str, words: str) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "import io, sapwood\n"
        f"tree = sapwood.open({path!r})['events']\n"
        "file = sapwood.recreate(io.BytesIO())\n"
        f"try:\n    {work}\nexcept ModuleNotFoundError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == words
