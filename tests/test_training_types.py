"""Each column of batches has one shape and one type, decided over all files and samples; arguments that make no
sense are refused when the batches are made."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Any

import pytest

sapwood = pytest.importorskip("sapwood")
np = pytest.importorskip("numpy")
ak = pytest.importorskip("awkward")

from support.ranged import serving  # noqa: E402
from test_training import the_torch  # noqa: E402

Wrong = sapwood.errors.MismatchError


def table(path: Path, **columns: Any) -> str:
    with sapwood.recreate(path) as file:
        file.mkrntuple("t", columns)
    return f"{path}:t"


def types_of(batches: Any, part: Any) -> set[str]:
    return {part(batch).dtype.name for batch in batches}


@pytest.mark.parametrize("shuffle", [False, True, "rows"])
def test_a_column_has_one_type_in_all_batches(tmp_path: Path, shuffle: Any) -> None:
    kinds = ("f4", "f8", "i4")
    places = [table(tmp_path / kind, x=np.arange(1000, dtype=kind)) for kind in kinds]
    made = sapwood.batches(places, "x*2", 250, shuffle=shuffle, buffer="1 kB")
    assert types_of(made, lambda batch: batch["x*2"]) == {"float64"}
    values = np.concatenate([batch["x*2"] for batch in made])
    assert sorted(values) == sorted(np.arange(0, 2000, 2).tolist() * 3)
    whole = sapwood.batches(places[2], ["x", "x + 1"], 250, shuffle=shuffle)
    assert types_of(whole, lambda batch: batch["x"]) == {"int32"}
    with pytest.raises(Wrong, match="'x' holds float64 in .*f8 and float32 in .*f4: dtype= names one type"):
        sapwood.batches(places[:2], "x")
    # A target keeps its own type, which has to be the same for all files, too.
    targets = sapwood.batches(places, "x", 250, shuffle=shuffle, dtype="f4", target="x", buffer="1 kB")
    assert types_of(targets, lambda batch: batch.y) == {"float64"}
    assert types_of(targets, lambda batch: batch["x"]) == {"float32"}


def test_labels_of_samples_have_one_type(tmp_path: Path) -> None:
    samples = {
        "few": {"files": table(tmp_path / "a", x=np.arange(3.0)), "label": 0.5},
        "many": {"files": table(tmp_path / "b", x=np.arange(5000.0)), "label": True},
    }
    made = sapwood.batches(samples, "x", 16, target="label", shuffle=True)
    assert types_of(made, lambda batch: batch.y) == {"float64"}
    assert sum(batch.y.sum() for batch in made) == 5001.5


def test_shapes_that_differ_are_refused_when_batches_are_made(tmp_path: Path) -> None:
    two, three = np.zeros((4, 2)), np.zeros((4, 3))
    a, b = table(tmp_path / "a", u=two, v=three), table(tmp_path / "b", u=three, v=two)
    for of in ([a, b], {"a": {"files": a}, "b": {"files": b}}):
        with pytest.raises(
            Wrong, match="'u' holds arrays of 3 numbers in .*/b and arrays of 2 numbers in .*/a"
        ):
            sapwood.batches(of, ["u", "v"], matrix=True)
    lists = table(tmp_path / "c", u=[[1.0], [], [2.0, 3.0], []], v=three)
    with pytest.raises(Wrong, match="'u' holds lists of numbers in .*/c and arrays of 2 numbers in .*/a"):
        sapwood.batches({"a": {"files": a}, "c": {"files": lists}}, ["u", "v"])


def test_a_file_that_lacks_a_column_is_found_when_batches_are_made(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    places = [table(tmp_path / "a", x=np.arange(9.0)), table(tmp_path / "b", y=np.arange(9.0))]
    for name in ("x", "x + 1"):
        with pytest.raises(sapwood.errors.NotFoundError, match='no branch "x"'):
            sapwood.batches(places, name)
        with caplog.at_level(logging.WARNING, "sapwood"):
            made = sapwood.batches(places, name, 4, allow_missing=True)
        assert "left out" in caplog.text and made.rows == sum(len(batch) for batch in made) == 9
        caplog.clear()


@pytest.mark.parametrize("kind", ["tree", "rntuple"])
def test_types_are_known_without_reading_baskets(tmp_path: Path, kind: str) -> None:
    from sapwood._batches.catalogue import Catalogue

    with sapwood.recreate(tmp_path / "a.root", compression=None) as file:
        columns = {"x": np.arange(300_000.0), "v": ak.unflatten(np.arange(600_000.0), np.full(300_000, 2))}
        (file.mktree if kind == "tree" else file.mkrntuple)("t", columns)
    sent = []
    with serving(tmp_path) as server:
        for names in ([], ["x", "v", "x*2", "Sum$(v)"]):
            server.forget()
            found = Catalogue(f"{server.url}/a.root:t", {}, names=names).types
            sent.append((len(server.asked), server.sent))
        assert found["v"].are_lists and found["x*2"].number == "float64"
    assert sent[0] == sent[1] and sent[0][1] < 200_000, "of 7 MB"


def test_jax_refuses_numbers_of_eight_bytes_that_it_would_misread(tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")
    place = table(tmp_path / "a", event=np.array([5_000_000_000, 2**40]), v=[[1.5, 2.5], [3.5]])
    for name, kind in (("event", "int64"), ("event / 2", "float64"), ("v", "float64")):
        with pytest.raises(
            Wrong, match=f"does not take {kind}, the type of '{name}'.*dtype=.*jax_enable_x64"
        ):
            sapwood.batches(place, name, to="jax")
    (batch,) = sapwood.batches(place, ["v"], to="jax", dtype="f4")
    assert batch["v"].offsets.tolist() == [0, 2, 3] and batch["v"].values.tolist() == [1.5, 2.5, 3.5]
    try:
        jax.config.update("jax_enable_x64", True)
        (batch,) = sapwood.batches(place, ["event", "v"], to="jax")
        assert batch["event"].tolist() == [5_000_000_000, 2**40]
        assert batch["v"].offsets.dtype.name == "int64" and batch["v"].values.tolist() == [1.5, 2.5, 3.5]
    finally:
        jax.config.update("jax_enable_x64", False)


def test_types_that_pytorch_lacks_are_refused_when_batches_are_made(tmp_path: Path) -> None:
    torch = the_torch()
    place = table(tmp_path / "a", n=np.arange(4, dtype="u4"), x=np.arange(4.0))
    if hasattr(torch, "uint32"):
        pytest.skip("this PyTorch has the type")
    with pytest.raises(Wrong, match="to='torch' does not take uint32, the type of 'n'"):
        sapwood.batches(place, ["x", "n"], to="torch")
    assert next(iter(sapwood.batches(place, ["x", "n"], to="torch", dtype="f4")))["n"].tolist() == [
        0,
        1,
        2,
        3,
    ]


def test_lists_that_are_missing(tmp_path: Path) -> None:
    place = table(
        tmp_path / "a", lists=ak.Array([[1.0], None, [], [5.0, 6.0]]), items=ak.Array([[1.0, None]] * 4)
    )
    for name in ("lists", "items"):
        with pytest.raises(Wrong, match=f"'{name}' lacks values in .*: missing= names a number"):
            list(sapwood.batches(place, name))
    (batch,) = sapwood.batches(place, ["lists", "items"], missing=7, pad=2)
    assert batch["lists"].tolist() == [[1, 0], [0, 0], [0, 0], [5, 6]]
    assert batch.masks["lists"].sum(axis=1).tolist() == [1, 0, 0, 2]
    assert batch["items"].tolist() == [[1, 7]] * 4


def test_targets_are_padded(tmp_path: Path) -> None:
    place = table(tmp_path / "a", v=[[1.0], [], [5.0, 6.0, 7.0]], x=np.arange(3.0))
    (batch,) = sapwood.batches(place, "x", target="v", pad={"v": 2}, pad_value=-1)
    assert batch.y.tolist() == [[1, -1], [-1, -1], [5, 6]]
    assert batch.masks["v"].tolist() == [[True, False], [False, False], [True, True]]


def test_numbers_that_a_type_does_not_hold_are_an_error(tmp_path: Path) -> None:
    place = table(tmp_path / "a", x=np.array([1.0, np.nan]), big=np.array([1e10, 1.0]), v=[[1.0], []])
    for name in ("x", "big"):
        with pytest.raises(Wrong, match=f"'{name}' holds numbers that int32 does not hold"):
            list(sapwood.batches(place, name, dtype="i4"))
    (batch,) = sapwood.batches(place, "x", dtype="i4", cut="x < 2")
    assert batch["x"].tolist() == [1] and batch["x"].dtype == np.dtype("i4")
    for value in (0.5, float("nan"), 300):
        with pytest.raises(Wrong, match=r"pad_value=.* is not a number of uint8, the type of 'v'"):
            sapwood.batches(place, "v", dtype="u1", pad=2, pad_value=value)
    (batch,) = sapwood.batches(place, "v", dtype="u1", pad=2, pad_value=200)
    assert batch["v"].tolist() == [[1, 200], [200, 200]]


def test_numbers_that_become_infinite_are_counted(tmp_path: Path) -> None:
    x = np.array([65519.9, 65520.0, -1e39, np.inf, np.nan, 1.0])
    place = table(tmp_path / "a", x=x, n=np.arange(65_518, 65_524), v=[x.tolist(), [], [], [], [], []])
    for kind, options, count in (
        ("f8", {}, 2),
        ("f4", {}, 3),
        ("bf16", {}, 3),
        ("f2", {}, 4),
        ("f2", {"scaling": sapwood.Scaling({"x": (0, 2), "v": (0, 1e36), "n": (65_520, 1)})}, 3),
    ):
        made = sapwood.batches(place, ["x", "n", "v"], dtype=kind, **options)
        (batch,) = made
        with np.errstate(all="ignore"):
            infinite = {
                name: int(np.count_nonzero(~np.isfinite(values.astype("f8"))))
                for name, values in (("x", batch["x"]), ("n", batch["n"]), ("v", batch["v"].values))
            }
        assert infinite["x"] == count
        assert made.stats["not_finite"] == {name: count for name, count in infinite.items() if count}


def test_a_matrix_that_rounds_whole_numbers_gives_notice(tmp_path: Path) -> None:
    place = table(tmp_path / "a", x=np.arange(4.0), event=np.arange(4))
    with pytest.warns(UserWarning, match="makes float32 of 'event', which holds int64: .*dtype="):
        sapwood.batches(place, ["x", "event"], matrix=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sapwood.batches(place, ["x", "event"], matrix=True, dtype="f4")
        sapwood.batches(place, "x", matrix=True, target="event")


def test_a_scaling_has_all_columns_and_a_width(tmp_path: Path) -> None:
    place = table(tmp_path / "a", x=np.arange(4.0), n=np.arange(4), none=np.full(4, np.nan))
    scaling = sapwood.batches(place, ["x", "none"]).fit_scaling()
    assert scaling.columns["none"] == (0, 1) and len(list(sapwood.batches(place, "x", scaling=scaling))) == 1
    with pytest.raises(Wrong, match="not the column 'n': fit it .* or leave this one as it is"):
        sapwood.batches(place, ["x", "n"], scaling=scaling)
    partial = sapwood.Scaling({"x": (1, 2), "n": None})
    partial.save(tmp_path / "scaling.json")
    known = sapwood.Scaling.load(tmp_path / "scaling.json")
    assert known.columns == {"x": (1, 2), "n": None}
    (batch,) = sapwood.batches(place, ["x", "n"], scaling=known)
    assert batch["n"].dtype == np.dtype("i8") and batch["x"].tolist() == [-0.5, 0, 0.5, 1]
    for width in (0, -1, float("nan"), float("inf")):
        with pytest.raises(Wrong, match="a width above 0, and 'x' has"):
            sapwood.Scaling({"x": (0, width)})


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no seed": ({"seed": None}, "seed= is a whole number, not None"),
    "a seed of a half": ({"seed": 1.5}, "seed= is a whole number"),
    "a size with a point": ({"size": 16.0}, "size= is a whole number from 1 on"),
    "a size that is a text": ({"size": "16"}, "size= is a whole number from 1 on"),
    "an unknown type": ({"dtype": "foo"}, "dtype= is a type of numbers.*not 'foo'"),
    "a type of bytes": ({"dtype": "V8"}, "dtype= is a type of numbers.*not 'V8'"),
    "a number for a column": ({"columns": [3]}, "columns= takes a name or an expression"),
    "a target that is not a name": ({"target": 3}, "target= takes a name or an expression"),
    "several weights": ({"weight": ["x"]}, "weight= is one name or expression"),
    "a weight of several numbers": ({"weight": "w"}, "a weight is one number for each row"),
    "a file for a scaling": ({"scaling": "s.json"}, r"Scaling.load\('s.json'\)"),
    "a text for missing numbers": ({"missing": "0"}, "missing= is a number"),
    "a text that fills up": ({"pad_value": "0"}, "pad_value= is a number"),
    "no buffer": ({"buffer": -5}, "buffer=, in bytes, is a whole number from 1 on"),
    "a column with the name of the matrix": (
        {"columns": ["matrix", "x"], "matrix": True},
        "the name 'matrix' is that of the matrix.*aliases=",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_arguments_that_make_no_sense_are_refused(tmp_path: Path, name: str) -> None:
    place = table(tmp_path / "a", x=np.arange(4.0), w=np.ones((4, 3)), matrix=[[1.0], [], [2.0], []])
    arguments, words = WRONG[name]
    with pytest.raises(Wrong, match=words):
        sapwood.batches(place, **{"columns": "x", **arguments})


def test_samples_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    place = table(tmp_path / "a", x=np.arange(4.0))
    for sample, words in (
        ({"shares": 0.9}, "the sample 'a' has 'shares': samples are"),
        ({"share": float("inf")}, "finite numbers above 0"),
        ({"label": "1"}, "'label' of the sample 'a' is a number"),
    ):
        with pytest.raises(Wrong, match=words):
            sapwood.batches({"a": {"files": place, **sample}}, "x")
    with pytest.raises(Wrong, match="the sample 'b' has no files: samples are"):
        sapwood.batches({"a": {"files": place}, "b": place}, "x")
    with pytest.raises(sapwood.errors.MissingFileError, match="if 'signal' is a sample: .*files"):
        sapwood.batches({"signal": place}, "x")


def test_a_sample_needs_a_row_for_each_worker(tmp_path: Path) -> None:
    places = [table(tmp_path / "a", x=np.arange(3.0)), table(tmp_path / "b", x=np.arange(100.0))]
    made = sapwood.batches({name: {"files": place, "share": 1} for name, place in zip("ab", places)}, "x", 16)
    for worker in range(4):
        with pytest.raises(Wrong, match=r"'a' has 3 rows, fewer than there are ranks and workers \(4\)"):
            made.part(worker, 4)
    assert [sum(len(batch) for batch in made.part(worker, 3)) for worker in range(3)] == [68] * 3


def test_ranks_have_the_same_number_of_rows_if_samples_have_shares(tmp_path: Path) -> None:
    few, many = table(tmp_path / "a", x=np.arange(101.0)), table(tmp_path / "b", x=1000 + np.arange(1000.0))
    samples = {"a": {"files": few, "share": 0.01}, "b": {"files": many, "share": 0.99}}
    for repeat, rows in ((True, 5100), (False, 505)):
        found = [sapwood.batches(samples, "x", 10, rank=rank, world=2, repeat=repeat) for rank in range(2)]
        assert [one.rows for one in found] == [rows] * 2
        seen = [np.concatenate([batch["x"] for batch in one]) for one in found]
        assert [len(one) for one in seen] == [rows] * 2
        if repeat:
            assert set(np.concatenate(seen)) == {*range(101), *range(1000, 2000)}, "all rows were seen"


def test_mixing_counts_the_wanted_rows_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.root"
    with sapwood.recreate(path) as file:
        table = file.mktree("t", {"n": np.arange(1000)})
        for start in range(1000, 10_000, 1000):
            table.extend({"n": np.arange(start, start + 1000)})
            table.flush()
    for options in ({}, {"cut": "n<1000"}, {"cut": "n<500||n>=9500"}, {"entries": np.arange(1000)}):
        assert sapwood.batches(f"{path}:t", "n", 100, shuffle="rows", **options).mixing() > 0.9
        assert sapwood.batches(f"{path}:t", "n", 100, **options).mixing() < 0.01


def test_the_widest_sample_decides_how_many_rows_fit_into_the_buffer(tmp_path: Path) -> None:
    rows = 20_000
    wide, narrow = (
        table(tmp_path / f"{n}", v=ak.unflatten(np.zeros(n * rows, "f4"), np.full(rows, n))) for n in (100, 1)
    )
    for places in ((wide, narrow), (narrow, wide)):
        made = sapwood.batches(
            {str(n): {"files": place} for n, place in enumerate(places)},
            "v",
            256,
            shuffle=True,
            buffer="2 MB",
        )
        for _ in made:
            pass
        assert made.stats["most_bytes"] < 2_000_000


def test_rows_count_numbers_and_lists_and_are_sliced(tmp_path: Path) -> None:
    place = table(tmp_path / "a", v=ak.unflatten(np.full(30, np.inf), np.full(10, 3)))
    rows = sapwood.batches(place, "v", pad=1).row_data()
    (x, masks), *_ = found = rows[2:5]
    assert len(found) == 3 and x["v"].tolist() == [np.inf] and masks["v"].tolist() == [True]
    assert rows.stats == {"not_finite": {"v": 9}, "cut_lists": {"v": 3}}
    with pytest.raises(sapwood.errors.WrongTypeError, match="a row is a whole number"):
        rows[1.5]


def test_seconds_in_which_arrays_of_a_library_are_made_are_counted(tmp_path: Path) -> None:
    made = sapwood.batches(table(tmp_path / "a", x=np.arange(4.0)), "x", to=lambda array: array.tolist())
    list(made)
    assert 0 < made.stats["library_seconds"]
