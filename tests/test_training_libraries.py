"""Batches in the arrays of other libraries: which take them over by DLPack, and what PyTorch pins."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

sapwood = pytest.importorskip("sapwood")
np = pytest.importorskip("numpy")
ak = pytest.importorskip("awkward")

from test_training import the_torch  # noqa: E402

ROWS = 1000


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("libraries") / "a.root"
    number = np.arange(ROWS)
    with sapwood.recreate(path) as file:
        file["t"] = {
            "x": number.astype("f4"),
            "n": number.astype("i4"),
            "is_odd": number % 2 == 1,
            "v": ak.unflatten(np.arange(2 * ROWS).astype("f4"), np.full(ROWS, 2)),
        }
    return f"{path}:t"


def made(place: str, **options: Any) -> Any:
    return sapwood.batches(place, ["x", "n", "is_odd", "v"], 64, pad=3, shuffle=True, target="n", **options)


class Capsule:
    """A consumer of DLPack that gets the memory alone, as TensorFlow does."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def tensorflow(copied: list[str]) -> Any:
    """Takes over what DLPack of TensorFlow takes, and copies the rest."""

    def convert(array: Any) -> Any:
        copied.append(array.dtype.name)
        return np.array(array)

    dlpack = SimpleNamespace(from_dlpack=lambda capsule: np.from_dlpack(Capsule(capsule)))
    return SimpleNamespace(experimental=SimpleNamespace(dlpack=dlpack), convert_to_tensor=convert)


def test_tensorflow_takes_over_memory(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []
    monkeypatch.setitem(sys.modules, "tensorflow", tensorflow(copied))
    for found, wanted in zip(made(place, to="tensorflow"), made(place), strict=True):
        for name in ("x", "n", "is_odd", "v"):
            assert found[name].dtype == wanted[name].dtype and (found[name] == wanted[name]).all()
        assert (found.y == wanted.y).all() and (found.masks["v"] == wanted.masks["v"]).all()
    assert set(copied) == {"bool"}, "nothing else is copied"
    array = next(iter(made(place)))["x"]
    from sapwood._batches.batch import library

    assert library("tensorflow")(array).ctypes.data == array.ctypes.data


def test_cupy_copies_to_its_device(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    device: list[Any] = []

    def asarray(array: Any) -> Any:
        device.append(array.shape)
        return array.copy()

    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(asarray=asarray))
    values = np.concatenate([batch["n"] for batch in made(place, to="cupy")])
    assert sorted(values.tolist()) == list(range(ROWS)) and len(device) == 6 * len(made(place))


def test_any_function_takes_batches(place: str) -> None:
    for batch in made(place, to=lambda array: np.from_dlpack(array)):
        assert (batch["x"] == batch["n"]).all() and batch["v"].shape == (len(batch), 3)
    with pytest.raises(sapwood.errors.MismatchError, match="or a function"):
        made(place, to="fortran")


def test_jax_takes_over_memory(place: str) -> None:
    jax = pytest.importorskip("jax")
    from sapwood._batches.batch import library

    to = library("jax")
    for batch in made(place):
        for array in (batch["x"], batch["n"], batch["v"]):
            assert array.ctypes.data % 64 == 0
            found = to(array)
            assert isinstance(found, jax.Array) and found.unsafe_buffer_pointer() == array.ctypes.data
    for found, wanted in zip(made(place, to="jax"), made(place), strict=True):
        for name in ("x", "n", "is_odd", "v"):
            assert found[name].dtype == wanted[name].dtype
            assert np.asarray(found[name]).tolist() == wanted[name].tolist()


def test_jax_has_bfloat16(place: str) -> None:
    jax = pytest.importorskip("jax")
    pytest.importorskip("ml_dtypes")
    batch = next(iter(sapwood.batches(place, ["x"], 64, dtype="bf16", to="jax")))
    assert batch["x"].dtype == jax.numpy.bfloat16 and batch["x"].tolist() == list(range(64))


def test_pytorch_takes_over_memory_and_pins_it(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = the_torch()
    from sapwood._batches.batch import library

    array = next(iter(made(place)))["x"]
    assert library("torch")(array).data_ptr() == array.ctypes.data
    pinned: list[Any] = []

    def pin_memory(tensor: Any) -> Any:
        pinned.append(tensor.data_ptr())
        return tensor

    # Only a GPU has such memory.
    monkeypatch.setattr(torch.Tensor, "pin_memory", pin_memory)
    batch = next(iter(made(place, to="torch", pin=True)))
    tensors = [batch["x"], batch["n"], batch["is_odd"], batch["v"], batch.y, batch.masks["v"]]
    assert len(pinned) >= 6 and {one.data_ptr() for one in tensors if one.dtype != torch.bool} <= set(pinned)
    for to in ("numpy", "jax"):
        with pytest.raises(sapwood.errors.MismatchError, match="pin= takes pinned memory of PyTorch"):
            made(place, to=to, pin=True)


def test_a_column_that_is_the_target_may_be_changed(place: str) -> None:
    for shuffle in (False, True):
        for batch in sapwood.batches(place, ["n", "x"], 64, target="n", shuffle=shuffle):
            before = batch.y.tolist()
            batch["n"][:] = -1
            assert batch.y.tolist() == before


def test_batches_outlive_their_files(place: str, tmp_path: Path) -> None:
    path = tmp_path / "a.root"
    path.write_bytes(Path(place.partition(":")[0]).read_bytes())
    batches = made(f"{path}:t", to=lambda array: np.from_dlpack(array))
    rows = [(batch["x"], batch.y) for batch in batches]
    batches.close()
    del batches
    path.unlink()
    assert all((x == y).all() for x, y in rows) and sum(len(y) for _, y in rows) == ROWS


def test_grain_takes_rows_by_number(place: str) -> None:
    grain = pytest.importorskip("grain")
    rows = sapwood.batches(place, ["x", "v"], pad=3, target="n").row_data()
    data = grain.MapDataset.source(rows).shuffle(seed=1).batch(50)
    found = [(one["x"], one["v"], n) for one, n, _ in data]
    assert sorted(np.concatenate([n for *_, n in found]).tolist()) == list(range(ROWS))
    for x, v, n in found:
        assert v.shape == (50, 3) and (x == n).all() and (v[:, 0] == 2 * n).all()
    assert all(masks["v"].tolist() == [[True, True, False]] * 50 for *_, masks in data)
    shuffled = grain.samplers.IndexSampler(
        num_records=len(rows),
        shuffle=True,
        seed=2,
        num_epochs=1,
        shard_options=grain.sharding.ShardOptions(shard_index=1, shard_count=2),
    )
    loader = grain.DataLoader(
        data_source=rows, sampler=shuffled, operations=[grain.transforms.Batch(100)], worker_count=0
    )
    assert sum(len(n) for _, n, _ in loader) == ROWS // 2
