"""What is given to be written: nothing is lost silently, and what cannot be written says which column and why."""

from __future__ import annotations

import dataclasses
import decimal
import gc
import io
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.written import written

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")

Mismatch, Unsupported = sapwood.errors.MismatchError, sapwood.errors.UnsupportedError


def test_masks_are_not_lost() -> None:
    masked = np.ma.masked_array([1.0, -999.0, 3.0], [0, 1, 0])
    edges = np.array([0.0, 1, 2, 3])
    record = np.ma.masked_array([(1, 2.0)], [(False, True)], dtype=[("a", "i4"), ("b", "f8")])
    for column in (masked, [masked, masked], [1.0, np.ma.masked], record, {"y": masked}):
        with pytest.raises(Mismatch, match="'x': .*masked"):
            written({"x": column})
    with sapwood.recreate(io.BytesIO()) as file:
        with pytest.raises(Mismatch, match="values of a histogram are masked"):
            file["h"] = (masked, edges)
        with pytest.raises(Mismatch, match="variances of a histogram are masked"):
            sapwood.objects.histogram([1, 2, 3], edges, variances=masked)
        with pytest.raises(Mismatch, match="x of a graph are masked"):
            sapwood.objects.graph(masked, [1.0, 2.0, 3.0])
        whole = np.ma.masked_array([1.0, 2.0, 3.0], [0, 0, 0])
        file["h"], file["g"] = (whole, edges), sapwood.objects.graph(whole, whole)
        file["t"] = {"x": whole, "y": np.ma.masked_array([1, 2, 3])}
        assert file["h"].values().tolist() == file["g"].values("x").tolist() == [1, 2, 3]
        assert file["t"].arrays().tolist() == [{"x": 1, "y": 1}, {"x": 2, "y": 2}, {"x": 3, "y": 3}]


@pytest.mark.parametrize(
    "column",
    [
        [[1, np.ma.masked], [3, 4]],
        [[1, np.ma.masked], [3]],
        [([1, np.ma.masked],)],
        [[np.ma.array([1, 2], mask=[1, 0])]],
        [{"y": np.ma.array([1, 2], mask=[1, 0])}],
        [[[np.ma.array([1, 2], mask=[0, 0])], [np.ma.masked]]],
    ],
)
def test_masks_in_lists_are_not_lost(column: Any) -> None:
    with pytest.raises(Mismatch, match="'x': 1 of the values are masked"):
        written({"x": column})


def test_masks_of_nothing_in_lists_are_none() -> None:
    whole = np.ma.array([1, 2], mask=[0, 0])
    assert written({"x": [[whole], [whole, whole]]})["x"].array().tolist() == [[[1, 2]], [[1, 2], [1, 2]]]
    assert written({"x": [(1, whole)]})["x_1"].array().tolist() == [[1, 2]]


def test_whole_numbers_of_several_types_stay_what_they_are() -> None:
    pd = pytest.importorskip("pandas")
    three, less, large = np.uint64(3), np.int64(-5), np.uint64(2**63)
    for column in (
        [three, less],
        np.array([three, less], object),
        pd.Series([three, less], dtype=object),
        [three, -5],
    ):
        tree = written({"x": column})
        assert (tree["x"].typename, tree["x"].array().tolist()) == ("int64_t", [3, -5])
        with pytest.raises(Mismatch, match="'x' holds uint64 and was given -5 in row 1"):
            written({"x": column}, {"x": "u8"})
    for lists in ([[three, three], [less, three]], [np.array([3, 3], "u8"), np.array([-5, 3])]):
        assert written({"x": lists})["x"].array().tolist() == [[3, 3], [-5, 3]]
    assert written({"x": [np.array(2**60 + 1, "u8"), np.array(-5)]})["x"].array().tolist() == [2**60 + 1, -5]
    assert written({"x": [three, np.int64(5), large]})["x"].array().tolist() == [3, 5, 2**63]
    for column in ([less, large], [[less, less], [large, three]]):
        with pytest.raises(
            Mismatch, match="'x': no type of 64 bits holds whole numbers from -5 to 9223372036854775808"
        ):
            written({"x": column})
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        tree = file.mktree("t", {"x": "i8", "u": "var * u8"})
        tree.fill(x=three, u=[three])
        tree.fill(x=less, u=[large])
        tree.fill(x=less, u=[less])
        with pytest.raises(
            Mismatch, match="row 2 is left out: branch 'u' holds lists of uint64 and was given -5, which"
        ):
            tree.flush()
    assert sapwood.open(memory)["t"].arrays(["x", "u"]).tolist() == [
        {"x": 3, "u": [3]},
        {"x": -5, "u": [2**63]},
    ]


def test_arrays_of_no_dimension_are_scalars() -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        tree = file.mktree("t", {"x": "f8", "s": str, "v": "var * f8", "p": Point})
        tree.fill(x=np.array(1.5), s=np.array("é"), v=[np.array(2.5)], p=Point(np.array(3.5), "a"))
        for wrong, words in (
            ({"x": np.array("a")}, "holds float64"),
            ({"v": np.array(1.5)}, "holds lists"),
            ({"x": np.array([1.5])}, "holds float64"),
        ):
            with pytest.raises(Mismatch, match=f"is left out: branch '{next(iter(wrong))}' {words}"):
                tree.fill({"x": 1.0, "s": "", "v": [], "p": Point(1, "")} | wrong)
        with pytest.raises(
            Mismatch, match="'p': a column is a list of values, one for each entry, and ndarray"
        ):
            tree.extend({"x": [1.0], "s": [""], "v": [[]], "p": np.array(1.5)})
    assert [branch.array().tolist() for branch in sapwood.open(memory)["t"].branches] == [
        [1.5],
        ["é"],
        [1],
        [[2.5]],
        [{"x": 3.5, "tag": "a"}],
    ]


def test_lengths_of_lists_may_be_filled() -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        tree = file.mktree("t", {"v": "var * f8"})
        for row in ({"nv": 1, "v": [1.5]}, {"v": [1, 2]}, {"v": []}, {"v": [3], "nv": np.int16(1)}):
            tree.fill(row)
        for wrong in (2, "a", None):
            tree.fill(v=[4], nv=wrong)
            with pytest.raises(Mismatch, match=r"is left out: .*'nv'"):
                tree.flush()
        with pytest.raises(Mismatch, match="given were 'nv'$"):
            tree.fill(nv=1)
    assert sapwood.open(memory)["t"].arrays(["nv", "v"]).tolist() == [
        {"nv": len(v), "v": v} for v in ([1.5], [1, 2], [], [3])
    ]


def test_rows_of_other_calls_and_trees_are_kept() -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        first, second = file.mktree("a", {"v": "var * f8"}), file.mktree("b", {"x": "f8"})
        first.fill(v=[1])
        first.fill(v=["one"])
        with pytest.raises(
            Mismatch,
            match="row 1 is left out: .*; 1 of the 2 rows .* kept; the rows given to extend are added",
        ):
            first.extend({"v": [[2], [3]]})
        assert first.num_entries == 3
        first.fill(v=[4])
        first.fill(v=["five"])
        second.fill(x=1.5)
        with pytest.raises(Mismatch, match="row 3 is left out"):
            file.save()
        assert file["a"].num_entries == 4
        saved = sapwood.open(io.BytesIO(file._core.content()))
        assert (saved["a/v"].array().tolist(), saved["b/x"].array().tolist()) == ([[1], [2], [3], [4]], [1.5])


def test_files_that_are_never_closed_are_closed(tmp_path: Path) -> None:
    path = tmp_path / "a.root"

    def forgotten(value: Any) -> None:
        file = sapwood.recreate(path)
        file.mktree("t", {"v": "var * f8"}).fill(v=[value])

    for value, kind, words in (
        (1.5, ResourceWarning, "a.root' was never closed$"),
        ("one", RuntimeWarning, "cannot be closed now: row 0"),
    ):
        with pytest.warns(kind, match=words):
            forgotten(value)
            gc.collect()
        assert sapwood.open(path)["t"].num_entries == (value == 1.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with sapwood.recreate(path) as file:
            file["t"] = {"x": [1]}
        for wrong in ({"threads": -1}, {"compression": "none such"}):
            with pytest.raises((sapwood.SapwoodError, ValueError)):
                sapwood.recreate(path, **wrong)
        with pytest.raises(TypeError):
            sapwood.recreate(5)
        del file
        gc.collect()


@pytest.mark.parametrize("held", ["", "def holds(): return file\nimport sys; sys.kept = file"])
def test_files_that_an_interpreter_leaves_open_are_closed(tmp_path: Path, held: str) -> None:
    code = f"""
import os, sapwood
file = sapwood.recreate({str(tmp_path / "a.root")!r})
tree = file.mktree("t", {{"x": "f8"}})
tree.fill(x=1.5)
if os.fork() == 0:
    del file, tree
    raise SystemExit
os.wait()
tree.fill(x=2.5)
{held}
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stderr == ""
    assert sapwood.open(tmp_path / "a.root")["t/x"].array().tolist() == [1.5, 2.5]


def test_rows_that_do_not_fit_are_refused_and_all_others_are_kept() -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        tree = file.mktree("t", {"x": "i4", "v": "var * f8", "s": str})
        for number, wrong in enumerate(
            [{"x": "one"}, {"x": 1.5}, {"x": None}, {"x": 2**31}, {"v": 1.0}, {"v": None}, {"s": 7}, {"y": 1}]
        ):
            name = "'x', 'v', 's'" if "y" in wrong else f"branch '{next(iter(wrong))}'"
            with pytest.raises(Mismatch, match=f"row {2 * number + 1} is left out: .*{name}"):
                tree.fill({"x": number, "v": [number], "s": "a"})
                tree.fill({"x": 1, "v": [], "s": ""} | wrong)
        assert tree.num_entries == 8
        # Only a conversion finds these.
        for number in range(100):
            tree.fill(x=number, v=["five"] if number == 50 else [1.0], s="a\0b" if number == 70 else "b")
        with pytest.raises(
            Mismatch, match=r"row 66 \(and 1 others, the last is row 86\) .*'v'.*; 106 of the 108 rows"
        ):
            tree.flush()
        assert tree.num_entries == 106
        tree.fill(x=-1, v=[], s="")
    tree = sapwood.open(memory)["t"]
    assert tree["x"].array().tolist() == [*range(8), *(n for n in range(100) if n not in (50, 70)), -1]
    with pytest.raises(Mismatch, match="closed"):
        file._trees[0].fill(x=1, v=[], s="")


@dataclasses.dataclass
class Point:
    x: float
    tag: str


@dataclasses.dataclass
class Nothing:
    pass


def test_objects_that_do_not_fit_are_left_out() -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        tree = file.mktree("t", {"p": Point})
        for number in range(1005):
            tag: Any = 5 if number == 500 else "b"
            if number == 999:
                with pytest.raises(Mismatch, match="row 500 is left out: .*'p'.*'tag'.*999 of the 1000"):
                    tree.fill(p=Point(number, tag))
            else:
                tree.fill(p=Point(number, tag))
        with pytest.raises(Mismatch, match="row 1005 is left out: branch 'p' cannot hold missing values"):
            tree.fill(p=None)
    assert sapwood.open(memory)["t/x"].array().tolist() == [n for n in range(1005) if n != 500]
    with sapwood.recreate(io.BytesIO()) as file, pytest.raises(Unsupported, match="Nothing has no members"):
        file.mktree("t", {"n": Nothing})


def test_structured_arrays_are_records() -> None:
    inner = np.dtype([("x", "f8"), ("n", "i8")])
    given = np.array([(2**60 + 1, (2.5, 7)), (7, (3.5, -1))], dtype=[("a", "i8"), ("b", inner)])
    names = np.array([(1, "é"), (2, "b")], dtype=[("i", "i2"), ("s", "U3")])
    assert written({"r": given}).arrays().tolist() == [
        {"r_a": 2**60 + 1, "r_b_x": 2.5, "r_b_n": 7},
        {"r_a": 7, "r_b_x": 3.5, "r_b_n": -1},
    ]
    assert written(given).keys() == ["a", "b_x", "b_n"]
    assert written({"r": given}, {"r": given.dtype}).typenames()["r_a"] == "int64_t"
    assert written({"r": list(names)})["r_s"].array().tolist() == ["é", "b"]
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        tree = file.mktree("t", {"r": names.dtype})
        for row in names:
            tree.fill(r=row)
            row["i"] = 99
    assert sapwood.open(memory)["t"].arrays().tolist() == [{"r_i": 1, "r_s": "é"}, {"r_i": 2, "r_s": "b"}]


def test_classes_that_derive_from_those_of_pandas_are_like_them() -> None:
    pd = pytest.importorskip("pandas")

    class Frame(pd.DataFrame):  # type: ignore[misc]
        """As GeoPandas and others have them."""

    frame = Frame({"a": [1.5, 2.5]}, index=[5, 6])
    tree = written(frame)
    assert tree.keys() == written(pd.DataFrame(frame)).keys() == ["index", "a"]
    assert tree.arrays().to_list() == [{"index": 5, "a": 1.5}, {"index": 6, "a": 2.5}]


def test_missing_values_of_pandas_are_refused() -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for kind, values in (
        ("Int64", [2**62 + 1, 3]),
        ("int64[pyarrow]", [2**62 + 1, 3]),
        ("boolean", [True, False]),
        ("Float64", [1.5, 2.5]),
        ("string", ["x", "é"]),
        ("string[pyarrow]", ["x", "é"]),
        ("category", ["x", "é"]),
        ("object", ["x", "é"]),
    ):
        assert written(pd.DataFrame({"a": pd.Series(values, dtype=kind)}))["a"].array().tolist() == values, (
            kind
        )
        frame = pd.DataFrame({"a": pd.Series([*values, None], dtype=kind)})
        for given in (frame, {"a": frame["a"]}):
            with pytest.raises(Mismatch, match=r"'a': missing values \(the first in row 2\)"):
                written(given)
    assert np.isnan(written(pd.DataFrame({"a": [1.5, None]}))["a"].array()[1])
    with pytest.raises(Mismatch, match="two columns have the name 'a'"):
        written(pd.DataFrame([[1, 2.5, 3]], columns=["a", "b", "a"]))
    assert written(pd.Series([1, 2], name="a"))["a"].array().tolist() == [1, 2]
    with pytest.raises(Mismatch, match="Series without a name"):
        written(pd.Series([1, 2]))


@pytest.mark.parametrize("format", ["ttree", "rntuple"])
def test_texts_of_arrow_in_all_forms(format: str) -> None:
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")

    def there_and_back(column: Any) -> Any:
        with sapwood.recreate(memory := io.BytesIO(), format=format) as file:
            file["t"] = {"c": column} if isinstance(column, pl.Series) else pa.table({"c": column})
        return sapwood.open(memory)["t"]["c"].array().tolist()

    words = ["a", "b" * 30, "a", "c"]
    for index in (pa.int8(), pa.uint8(), pa.int16(), pa.uint32(), pa.int64()):
        kind = pa.dictionary(index, pa.string())
        assert there_and_back(pa.array(words, kind)) == words
        assert there_and_back(pa.array(words, kind)[1:3]) == words[1:3]
        assert there_and_back(pa.array([words, [], words[:2]], pa.list_(kind))[1:]) == [[], words[:2]]
    views = pa.array([words, [], words[:2]], pa.large_list(pa.string_view()))
    assert there_and_back(views[1:]) == [[], words[:2]]
    assert there_and_back(pa.array(words, pa.string_view())[1:]) == words[1:]
    assert there_and_back(pl.Series(words, dtype=pl.Enum(["c", "a", "b" * 30]))) == words
    # Bytes are texts, and those that are no UTF-8 can be had back.
    raw = [b"\xff\x80", b"plain"]
    found = there_and_back(pa.array(raw, pa.binary()))
    assert [text.encode("utf-8", "surrogateescape") for text in found] == raw
    for refused in (
        pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32())),
        pa.array([decimal.Decimal("1.5")]),
        pa.array([[1, 2], [], [3]], pa.list_view(pa.int32())),
    ):
        with pytest.raises(sapwood.errors.UnsupportedError, match="Arrow.s type .* cannot be written"):
            there_and_back(refused)


def test_arrow_is_taken_as_far_as_it_goes() -> None:
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    words = ["a", "b" * 30, "a"]
    table = pa.table(
        {
            "v": pa.array(words, pa.string_view()),
            "d": pa.array(words).dictionary_encode(),
            "l": [[1], [], [2, 3]],
        }
    )
    assert written(table).arrays(["v", "d", "l"]).tolist() == [
        {"v": w, "d": w, "l": n} for w, n in zip(words, [[1], [], [2, 3]])
    ]
    assert (
        written(pl.DataFrame({"s": words, "c": pl.Series(words, dtype=pl.Categorical)}))["c"].array().tolist()
        == words
    )
    assert written({"x": pl.Series([1, 2]), "y": pa.array([1.5, 2.5])})["x"].array().tolist() == [1, 2]
    with pytest.raises(Mismatch, match=r"ChunkedArray .* a file takes tables"):
        written(pa.chunked_array([[1]]))
    for wrong in (pl.Series([1, None]), pa.array([1, None]), pa.chunked_array([[1, None]])):
        with pytest.raises(Mismatch, match=r"'x': missing values \(the first in row 1\)"):
            written({"x": wrong})
    for wrong in (
        pa.array([decimal.Decimal("1.5")]),
        pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int32())),
    ):
        with pytest.raises(Unsupported, match="'x': Arrow's type (decimal|map).*cast"):
            written(pa.table({"x": wrong}))
    # What a slice leaves out may be missing.
    assert written(pa.table({"l": [[None], [1]]})[1:])["l"].array().tolist() == [[1]]


def test_entries_after_an_interrupt_are_those_of_earlier_calls_and_what_was_written(tmp_path: Path) -> None:
    file = sapwood.recreate(tmp_path / "a.root", compression="lzma:6")
    tree = file.mktree("t", {"x": "f8"})
    tree.extend({"x": np.arange(10.0)})
    # A background process of a shell ignores interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Twelve million numbers take seconds to compress.
    rows = np.random.default_rng(1).random(12_000_000)
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        tree.extend({"x": rows})
        time.sleep(10)  # it arrives at the latest here
    file.close()
    with sapwood.open(tmp_path / "a.root") as there:
        found = there["t"].arrays(library="np")["x"]
    assert tree.num_entries == len(found) < 12_000_010
    assert found[:10].tolist() == [*range(10)]


def test_strings_take_memory_for_their_bytes() -> None:
    code = (
        "import io, resource, awkward, sapwood\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "with sapwood.recreate(io.BytesIO()) as file:\n"
        "    for name, lists in (('s', False), ('v', True)):\n"
        "        texts = ['x' * 1_000_000] + ['a'] * 10_000\n"
        "        file[name] = {'s': [[text] for text in texts] if lists else texts}\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(done.stdout) < 100_000


@pytest.mark.parametrize(
    ("format", "data"),
    [
        ("ttree", "{'s': ['a', 'b']}"),
        ("ttree", "{'v': [[1], [2, 3]]}"),
        ("ttree", "{'r': [{'a': 1}]}"),
        ("ttree", "{'x': 'var * f8'}"),
        ("rntuple", "{'x': [1.5]}"),
        ("rntuple", "{'x': 'f8'}"),
    ],
)
def test_what_needs_awkward_gives_its_install_line(format: str, data: str) -> None:
    code = (
        "import io, sys; sys.modules['awkward'] = None\nimport sapwood\n"
        f"try:\n    with sapwood.recreate(io.BytesIO(), format={format!r}) as file:\n"
        f"        file.{'mktree' if format == 'ttree' else 'mkrntuple'}('t', {data})\n"
        "except ModuleNotFoundError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert "needs the package 'awkward': pip install awkward" in done.stdout


@pytest.mark.parametrize("format", ["ttree", "rntuple"])
def test_slices_of_arrow_hold_what_they_show(tmp_path: Path, format: str) -> None:
    """Awkward itself takes the missing values of a slice from the beginning of what was sliced."""
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"x": [None, 1, 2, 3, 4], "l": [[None], [1], [2, 3], [], [4]]})
    records = pa.table({"r": pa.array([{"a": None}, {"a": 1}, {"a": 2}])})
    with sapwood.recreate(tmp_path / "a.root", format=format) as file:
        file["slice"] = table.slice(1)
        file["batches"] = pa.Table.from_batches(table.slice(1).to_batches(max_chunksize=1))
        if format == "ttree":
            file["records"] = records.slice(1)
            with pytest.raises(Mismatch, match="missing values"):
                file["x"] = pa.table({"x": [1, None, 3]}).slice(1, 1)
        else:
            file["missing"] = pa.table({"x": [1, None, 3]}).slice(1)
    with sapwood.open(tmp_path / "a.root") as file:
        for name in ("slice", "batches"):
            assert file[name]["x"].array().to_list() == [1, 2, 3, 4]
            assert file[name]["l"].array().to_list() == [[1], [2, 3], [], [4]]
        if format == "ttree":
            assert file["records/r_a"].array().to_list() == [1, 2]
        else:
            assert file["missing/x"].array().to_list() == [None, 3]


def test_columns_larger_than_a_part_of_their_memory() -> None:
    """Python's memory is copied part by part, and parts end anywhere."""
    n, step = 40_000, 33_333
    r = np.random.default_rng(3)
    counts = r.integers(0, 9, n)
    lists = ak.unflatten(r.integers(-30_000, 30_000, int(counts.sum())).astype("i2"), counts)
    nested = ak.unflatten(lists, np.full(n // 4, 4))
    columns = {
        "three": r.random((n, 3)),
        "flag": r.integers(0, 2, n).astype("?"),
        "narrow": r.integers(0, 256, n).astype("u1"),
        "items": ak.zip({"a": lists, "b": lists + 1}),
        "vectors": ak.concatenate([nested, nested, nested, nested]),
    }
    with sapwood.recreate(io.BytesIO(), compression=None) as file:
        tree = file.mktree(
            "t",
            {
                "three": ("f8", (3,)),
                "flag": "?",
                "narrow": "u1",
                "items": columns["items"].type.content,
                "vectors": "vector<vector<short>>",
            },
        )
        for start in range(0, n, step):
            tree.extend({name: column[start : start + step] for name, column in columns.items()})
        read = file["t"].arrays(library="ak")
        for name in ("three", "flag", "narrow"):
            assert (ak.to_numpy(read[name]) == columns[name]).all(), name
        assert ak.array_equal(read["items_a"], lists)
        assert ak.array_equal(read["items_b"], columns["items"].b)
        assert ak.array_equal(read["vectors"], columns["vectors"])


def test_ends_of_lists_are_those_of_their_own_column() -> None:
    """Offsets that were freed and made again at the same address are not taken for the ones before."""
    rows = [[[1], [2, 3]], [[4, 5], []], [[6, 7, 8], [9]]]
    given = {f"b{index}": [list(map(float, items)) for items in lists] for index, lists in enumerate(rows)}
    with sapwood.recreate(io.BytesIO()) as file:
        file.mktree("t", {name: "var * float64" for name in given}).extend(given)
        assert {name: file["t"][name].array().tolist() for name in given} == given


def test_lists_that_are_all_empty_and_arrays_of_other_byte_orders() -> None:
    """Awkward knows no type of what is in empty lists, and takes native numbers only."""
    rows = ak.Array([{"x": 1.0, "lo": []}, {"x": 2.0, "lo": []}])
    assert rows.layout.content("lo").content.is_unknown
    unmasked = ak.Array(ak.contents.UnmaskedArray(ak.Array([{"x": 5.0, "lo": [{"a": 1}]}]).layout))
    big = np.arange(6, dtype=">f8").reshape(2, 3)
    with sapwood.recreate(io.BytesIO()) as file:
        tree = file.mktree("t", {"k": Outer, "x": "var * float64"}, split_level=0)
        tree.extend({"k": rows, "x": big})
        tree.extend({"k": ak.Array([]), "x": []})
        tree.extend({"k": unmasked, "x": [[7.0]]})
        read = file["t"].arrays(library="ak")
        assert read["x"].to_list() == [[0, 1, 2], [3, 4, 5], [7]]
        assert file["t"]["k"].array()["x"].to_list() == [1, 2, 5]
        assert ak.num(file["t"]["k"].array()["lo"]).to_list() == [0, 0, 1]


@dataclasses.dataclass
class Inner:
    a: np.int32


@dataclasses.dataclass
class Outer:
    x: float
    lo: list[Inner]
