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
        self._batch: int | None = None
        self._current: Batches | None = None
        self._state: dict[str, Any] | None = None

    def set_epoch(self, epoch: int, batch: int = 0) -> None:
        """Sets the epoch that comes next: workers do not know how many there were. It begins at a batch, counted
        over all workers as the loader returns them: the steps of a training so far."""
        self.epoch, self._batch = epoch, batch

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
            # The loader takes batches of all workers in turn, beginning with the first worker.
            done, workers = self._batch or 0, worker.num_workers
            number = (worker.id + done) % workers
            batches = batches.part(number, workers)
            batches.set_epoch(self.epoch, -(-(done - number) // workers))
        elif self._batch is not None:
            batches.set_epoch(self.epoch, self._batch)
            self._batch = None
        if self._state is not None:
            batches.load_state_dict(self._state)
            self._state = None
        self._current = batches
        yield from map(tuple, batches)
