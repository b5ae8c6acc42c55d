"""Values of batches: converted, scaled, padded and mixed by the engine, compared with NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

sapwood = pytest.importorskip("sapwood")
np = pytest.importorskip("numpy")
ak = pytest.importorskip("awkward")

ROWS = 70_000
KINDS = ["bool", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]


def numbers(kind: str, rows: int, rng: Any) -> Any:
    """Numbers of all sizes; of floats also those that are not finite, and all bits at random."""
    if kind == "bool":
        return rng.integers(0, 2, rows).astype(bool)
    size = np.dtype(kind).itemsize
    bits = rng.integers(0, 256, rows * size, dtype="uint8").view(kind)
    if bits.dtype.kind != "f":
        return bits >> rng.integers(0, 8 * size, rows).astype(kind)
    found = np.where(rng.random(rows) < 0.5, bits, rng.normal(0, 1000, rows).astype(kind))
    found[:6] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 65520.0]
    return found


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    rng = np.random.default_rng(7)
    with np.errstate(all="ignore"):
        columns = {f"c_{kind}": numbers(kind, ROWS, rng) for kind in KINDS}
    columns["event"] = np.arange(ROWS)
    counts = rng.integers(0, 12, ROWS)
    total = int(counts.sum())
    for kind in ("f4", "i2", "f8"):
        columns[f"v_{kind}"] = ak.unflatten(rng.normal(0, 100, total).astype(kind), counts)
    columns["fixed"] = rng.normal(size=(ROWS, 3)).astype("f4")
    path = tmp_path_factory.mktemp("values") / "a.root"
    with sapwood.recreate(path) as file:
        file["t"] = {name: one[: ROWS // 2] for name, one in columns.items()}
        file["t"].extend({name: one[ROWS // 2 :] for name, one in columns.items()})
    return f"{path}:t", columns


def dtype_of(name: str) -> Any:
    return np.dtype(pytest.importorskip("ml_dtypes").bfloat16 if name == "bf16" else name)


def same(found: Any, wanted: Any) -> None:
    """All bits are the same, except for those of NaN."""
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    with np.errstate(invalid="ignore"):
        plain = [one.astype("f8") if one.dtype.kind in "fV" else one for one in (found, wanted)]
    is_none = np.isnan(plain[1]) if plain[1].dtype.kind == "f" else np.zeros(wanted.shape, bool)
    if plain[1].dtype.kind == "f":
        assert (np.isnan(plain[0]) == is_none).all()
    bits = [np.ascontiguousarray(one).reshape(-1).view(f"u{one.dtype.itemsize}") for one in (found, wanted)]
    assert (bits[0] == bits[1])[~is_none.reshape(-1)].all()


def read(place: str, columns: list[str], **options: Any) -> tuple[dict[str, Any], Any]:
    """All rows of an epoch, and the batches."""
    made = sapwood.batches(place, columns, 1000, **options)
    rows = list(made)
    return {name: np.concatenate([batch[name] for batch in rows]) for name in columns}, made


@pytest.mark.parametrize("kind", ["f4", "f8", "f2", "bf16", "i8", None])
def test_numbers_are_converted_as_numpy_does(data: tuple[str, dict[str, Any]], kind: str | None) -> None:
    place, columns = data
    names = [f"c_{one}" for one in KINDS]
    if kind == "i8":
        names = [name for name in names if "f" not in name.partition("_")[2]]
    found, made = read(place, names, dtype=kind, threads=2)
    for name in names:
        with np.errstate(all="ignore"):
            wanted = columns[name] if kind is None else columns[name].astype(dtype_of(kind))
        same(found[name], wanted)
        if found[name].dtype.kind not in "iub":
            # Numbers that the type does not hold became infinite.
            with np.errstate(invalid="ignore"):
                special = np.count_nonzero(~np.isfinite(found[name].astype("f8")))
            assert made.stats["not_finite"].get(name, 0) == special
        else:
            assert name not in made.stats["not_finite"]


@pytest.mark.parametrize("kind", ["f4", "f2", "bf16", "i4", None])
def test_scaling_is_that_of_numpy(data: tuple[str, dict[str, Any]], kind: str | None) -> None:
    place, columns = data
    names = ["event", "fixed", "c_i2", "c_f4"] if kind != "i4" else ["event", "fixed", "c_i2"]
    scaling = sapwood.Scaling(
        {"event": (35_000.0, 17.0), "fixed": (0.25, 3.0), "c_f4": (1.5, 0.3), "c_i2": None}
    )
    found, _ = read(place, names, dtype=kind, scaling=scaling)
    for name in names:
        with np.errstate(all="ignore"):
            wanted = scaling.apply(name, columns[name])
            same(found[name], wanted if kind is None else wanted.astype(dtype_of(kind)))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("buffer", ["256 MB", "3 MB"])
def test_rows_stay_together_when_they_are_mixed(
    data: tuple[str, dict[str, Any]], threads: int, buffer: str
) -> None:
    place, columns = data
    names = ["c_f4", "c_i8", "fixed", "v_f4", "v_i2", "v_f8", "event"]
    made = sapwood.batches(
        place,
        names,
        999,
        shuffle=True,
        pad={"v_f4": 4, "v_i2": 16},
        pad_value=-1,
        target="event",
        weight="c_f4",
        buffer=buffer,
        threads=threads,
    )
    seen = []
    cut = 0
    lists = {name: columns[name] for name in names if name.startswith("v_")}
    for x, y, w in ((batch, batch.y, batch.w) for batch in made):
        same(x["c_f4"], columns["c_f4"][y])
        same(w, columns["c_f4"][y])
        same(x["fixed"], columns["fixed"][y])
        seen += y.tolist()
        for name, width in (("v_f4", 4), ("v_i2", 16)):
            wanted = ak.to_numpy(ak.fill_none(ak.pad_none(lists[name][y], width, clip=True), -1))
            same(x[name], wanted.astype(x[name].dtype))
            counts = ak.to_numpy(ak.num(lists[name][y]))
            assert (x.masks[name] == (np.arange(width) < counts[:, None])).all()
            cut += int((counts > width).sum()) if name == "v_f4" else 0
        ends = np.cumsum([0, *ak.num(lists["v_f8"][y]).to_list()])
        assert (x["v_f8"].offsets == ends).all()
        same(x["v_f8"].values, ak.to_numpy(ak.flatten(lists["v_f8"][y])))
    assert sorted(seen) == list(range(ROWS)) and made.stats["cut_lists"] == {"v_f4": cut}


@pytest.mark.filterwarnings("ignore:matrix=True makes float32")
def test_a_matrix_is_the_same_for_any_number_of_threads(data: tuple[str, dict[str, Any]]) -> None:
    place, columns = data
    names = ["c_f4", "c_i2", "fixed", "event"]

    def made(threads: int, **options: Any) -> Any:
        return sapwood.batches(place, names, 512, matrix=True, threads=threads, shuffle=True, **options)

    for options in ({}, {"dtype": "f2"}, {"buffer": "2 MB"}):
        first = [batch.x.tobytes() for batch in made(1, **options)]
        for threads in (2, 3):
            assert [batch.x.tobytes() for batch in made(threads, **options)] == first
    whole = np.concatenate([batch.x for batch in made(2)])
    order = whole[:, 5].astype("i8")
    same(whole, np.concatenate([columns[name].reshape(ROWS, -1).astype("f4") for name in names], 1)[order])


def test_samples_of_different_types_have_the_wider_one(tmp_path: Path) -> None:
    samples: dict[str, Any] = {}
    for name, kind in (("one", "f4"), ("two", "f8")):
        with sapwood.recreate(tmp_path / f"{name}.root") as file:
            x = np.arange(100, dtype=kind) + (0 if name == "one" else 100)
            file["t"] = {"x": x, "v": ak.unflatten(x, np.full(50, 2))[np.arange(100) // 2]}
        samples[name] = {"files": f"{tmp_path}/{name}.root:t"}
    made = sapwood.batches(samples, ["x", "v"], 16, shuffle=True)
    x = np.concatenate([batch["x"] for batch in made])
    assert x.dtype == np.dtype("f8") and sorted(x.tolist()) == list(range(200))
    for batch in made:
        first = batch["v"].values[batch["v"].offsets[:-1]]
        assert (first == batch["x"] - batch["x"] % 2).all()
