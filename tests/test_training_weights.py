"""A small classifier has the same weights, bit for bit, whether its batches come from files, from memory, from
workers, or from both sides of a restart."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

import pytest

sapwood = pytest.importorskip("sapwood")
np = pytest.importorskip("numpy")

from test_training import the_torch  # noqa: E402

FILES, CLUSTERS, ROWS, SIZE, EPOCHS = 3, 4, 90, 32, 2
TOTAL = FILES * CLUSTERS * ROWS


@pytest.fixture(scope="module", params=["tree", "rntuple"])
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two classes that overlap."""
    folder = tmp_path_factory.mktemp(request.param)
    rng = np.random.default_rng(5)
    for place in range(FILES):
        with sapwood.recreate(folder / f"{place}.root") as file:
            table: Any = None
            for _ in range(CLUSTERS):
                label = rng.integers(0, 2, ROWS).astype("f4")
                part = {f"x{n}": (rng.normal(size=ROWS) + label * (n + 1) / 2).astype("f4") for n in range(3)}
                part["label"] = label
                if table is None:
                    table = (file.mktree if request.param == "tree" else file.mkrntuple)("t", part)
                else:
                    table.extend(part)
                table.flush()
    return [f"{folder}/{place}.root:t" for place in range(FILES)]


def made(files: list[str], to: str, **options: Any) -> Any:
    names = [f"x{n}" for n in range(3)]
    fixed = {"matrix": True, "dtype": "f4", "shuffle": True, "seed": 8, "buffer": "12 kB"}
    return sapwood.batches(files, names, SIZE, target="label", to=to, **fixed, **options)


class TorchTraining:
    """A network of two layers, and its optimiser, whose momentum is a part of the state."""

    def __init__(self, torch: Any) -> None:
        torch.manual_seed(3)
        torch.set_num_threads(1)
        layers = torch.nn
        self.torch = torch
        self.network = layers.Sequential(layers.Linear(3, 8), layers.ReLU(), layers.Linear(8, 1))
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.05, momentum=0.9)

    def run(self, steps: Iterable[Any]) -> TorchTraining:
        loss = self.torch.nn.BCEWithLogitsLoss()
        for x, y in steps:
            self.optimizer.zero_grad()
            loss(self.network(x)[:, 0], y).backward()
            self.optimizer.step()
        return self

    @property
    def weights(self) -> list[Any]:
        return [one.tolist() for one in self.network.state_dict().values()]

    def save(self, path: Path, batches: dict[str, Any]) -> None:
        state = {"network": self.network.state_dict(), "optimizer": self.optimizer.state_dict()}
        self.torch.save({**state, "batches": batches}, path)

    def load(self, path: Path) -> dict[str, Any]:
        state = self.torch.load(path)
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        return dict(state["batches"])


def accuracy(torch: Any, training: TorchTraining, batches: Any) -> float:
    right = sum(int(((training.network(x)[:, 0] > 0) == (y > 0.5)).sum()) for x, y in batches)
    return right / TOTAL


def test_pytorch_has_the_same_weights_from_files_from_memory_and_after_a_restart(
    files: list[str], tmp_path: Path
) -> None:
    torch = the_torch()
    begun = TorchTraining(torch)
    before = begun.weights
    from_files = made(files, "torch")
    for _ in range(EPOCHS):
        begun.run(from_files)
    assert begun.weights != before and accuracy(torch, begun, made(files, "torch")) > 0.7

    arrays = made(files, "numpy")
    memory = [(batch.x.copy(), batch.y.copy()) for _ in range(EPOCHS) for batch in arrays]
    from_memory = TorchTraining(torch).run((torch.from_dlpack(x), torch.from_dlpack(y)) for x, y in memory)
    assert from_memory.weights == begun.weights

    steps = len(from_files)
    for stop in (1, steps // 2, steps, steps + 3):
        first, batches = TorchTraining(torch), made(files, "torch", threads=1)
        epochs = chain.from_iterable(batches for _ in range(EPOCHS))
        first.run(islice(epochs, stop))
        first.save(tmp_path / "checkpoint", batches.state_dict())
        later, again = TorchTraining(torch), made(files, "torch", threads=2)
        again.load_state_dict(later.load(tmp_path / "checkpoint"))
        while again.state_dict()["epoch"] < EPOCHS:
            later.run(again)
        assert later.weights == begun.weights, stop


def alternately(parts: list[Any]) -> Iterator[Any]:
    """The batches of several workers as a loader returns them."""
    for batches in zip_longest(*parts):
        yield from (batch for batch in batches if batch is not None)


@pytest.mark.parametrize("workers", [0, 2])
def test_pytorch_has_the_same_weights_with_workers_and_after_a_restart(
    files: list[str], workers: int
) -> None:
    torch = the_torch()

    def loader(data: Any) -> Any:
        return torch.utils.data.DataLoader(data, batch_size=None, num_workers=workers)

    def epochs(training: TorchTraining, data: Any, first: int, batch: int = 0) -> TorchTraining:
        for epoch in range(first, EPOCHS):
            data.set_epoch(epoch, batch if epoch == first else 0)
            training.run(loader(data))
        return training

    whole = epochs(TorchTraining(torch), made(files, "torch").torch(), 0)
    memory = TorchTraining(torch)
    for epoch in range(EPOCHS):
        parts = [made(files, "torch").part(worker, max(workers, 1)) for worker in range(max(workers, 1))]
        for part in parts:
            part.set_epoch(epoch)
        memory.run([tuple(batch) for batch in alternately([list(part) for part in parts])])
    assert memory.weights == whole.weights

    for stop in (1, 6, 20):
        data = made(files, "torch").torch()
        begun = iter(loader(data))
        training = TorchTraining(torch).run(islice(begun, stop))
        del begun  # ends the workers
        later = made(files, "torch").torch()
        assert epochs(training, later, 0, stop).weights == whole.weights, stop


def test_jax_has_the_same_weights_from_files_from_memory_and_after_a_restart(files: list[str]) -> None:
    jax = pytest.importorskip("jax")
    numbers = jax.numpy

    def loss(weights: Any, x: Any, y: Any) -> Any:
        hidden = jax.nn.relu(x @ weights["first"] + weights["bias"])
        logits = hidden @ weights["second"]
        return (numbers.logaddexp(0, logits) - y * logits).mean()

    @jax.jit
    def step(weights: Any, x: Any, y: Any) -> Any:
        slopes = jax.grad(loss)(weights, x, y)
        return jax.tree_util.tree_map(lambda weight, slope: weight - 0.1 * slope, weights, slopes)

    def start() -> Any:
        keys = jax.random.split(jax.random.PRNGKey(2), 2)
        return {
            "first": jax.random.normal(keys[0], (3, 8)),
            "bias": numbers.zeros(8),
            "second": jax.random.normal(keys[1], (8,)),
        }

    def run(weights: Any, batches: Iterable[Any]) -> Any:
        for x, y in batches:
            weights = step(weights, numbers.asarray(x), numbers.asarray(y))
        return weights

    def bits(weights: Any) -> dict[str, bytes]:
        return {name: np.asarray(one).tobytes() for name, one in weights.items()}

    from_files, batches = start(), made(files, "jax")
    for _ in range(EPOCHS):
        from_files = run(from_files, batches)
    assert bits(from_files) != bits(start())
    arrays = made(files, "numpy")
    memory = [(batch.x.copy(), batch.y.copy()) for _ in range(EPOCHS) for batch in arrays]
    assert bits(run(start(), memory)) == bits(from_files)
    for stop in (1, len(batches) // 2, len(batches) + 3):
        begun = made(files, "jax", threads=1)
        epochs = chain.from_iterable(begun for _ in range(EPOCHS))
        weights = run(start(), islice(epochs, stop))
        again = made(files, "jax", threads=2)
        again.load_state_dict(json.loads(json.dumps(begun.state_dict())))
        while again.state_dict()["epoch"] < EPOCHS:
            weights = run(weights, again)
        assert bits(weights) == bits(from_files), stop
