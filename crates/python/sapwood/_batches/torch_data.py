"""Batches as a data set of PyTorch: imported only if one is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sapwood._read.libraries import need

if TYPE_CHECKING:
    from sapwood._batches.batches import Batches


def dataset(batches: Batches) -> Any:
    """An ``IterableDataset``, whose workers share the rows of ``batches``."""
    data = need("torch.utils.data", "Batches.torch()", "torch")

    base: Any = data.IterableDataset

    class Data(base):  # type: ignore[misc]
        """Batches for ``DataLoader(..., batch_size=None)``."""

        def __init__(self) -> None:
            super().__init__()
            self.batches = batches
            self.epoch = 0

        def set_epoch(self, epoch: int) -> None:
            """Says which epoch comes next: workers do not know how many there were."""
            self.epoch = epoch

        def __iter__(self) -> Iterator[Any]:
            worker = data.get_worker_info()
            if worker is None:
                yield from map(tuple, self.batches)
                return
            own = self.batches.part(worker.id, worker.num_workers)
            own.set_epoch(self.epoch)
            yield from map(tuple, own)

    return Data()
