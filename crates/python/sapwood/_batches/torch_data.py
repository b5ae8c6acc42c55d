"""Batches as a data set of PyTorch: imported only if one is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sapwood._read.libraries import need

if TYPE_CHECKING:
    from sapwood._batches.batches import Batches

_data: Any = need("torch.utils.data", "Batches.torch()", "torch")
_Iterable: Any = _data.IterableDataset


class TorchData(_Iterable):  # type: ignore[misc]
    """Batches for ``DataLoader(..., batch_size=None)``, whose workers divide the rows."""

    def __init__(self, batches: Batches) -> None:
        super().__init__()
        self.batches = batches
        self.epoch = 0
        self._current: Batches | None = None
        self._state: dict[str, Any] | None = None

    def set_epoch(self, epoch: int) -> None:
        """Says which epoch comes next: workers do not know how many there were."""
        self.epoch = epoch

    def state_dict(self) -> dict[str, Any]:
        """The position of this worker: for loaders that ask each worker for its state, as the
        ``StatefulDataLoader`` of torchdata."""
        return (self._current or self.batches).state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Makes the next iteration begin at the place of :meth:`state_dict`, in the same worker of the same
        number of workers."""
        self._state = dict(state)

    def __iter__(self) -> Iterator[Any]:
        worker = _data.get_worker_info()
        batches = self.batches
        if worker is not None:
            batches = batches.part(worker.id, worker.num_workers)
            batches.set_epoch(self.epoch)
        if self._state is not None:
            batches.load_state_dict(self._state)
            self._state = None
        self._current = batches
        yield from map(tuple, batches)
