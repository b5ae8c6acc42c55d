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
        #: The part of the rows that this worker has.
        self._part: int | None = None

    def set_epoch(self, epoch: int, batch: int = 0) -> None:
        """Sets the epoch that comes next: workers do not know how many there were. It begins at a batch, counted
        over all workers as the loader returns them: the steps of a training so far."""
        self.epoch, self._batch = epoch, batch

    def state_dict(self) -> dict[str, Any]:
        """The position of this worker: for loaders that ask each worker for its state, as the
        ``StatefulDataLoader`` of torchdata."""
        return {**(self._current or self.batches).state_dict(), "part": self._part}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Makes the next iteration begin at the place of :meth:`state_dict`, in the same worker of the same
        number of workers."""
        self._state = dict(state)

    def __iter__(self) -> Iterator[Any]:
        worker = _data.get_worker_info()
        batches = self.batches
        if worker is not None:
            done, workers = self._batch or 0, worker.num_workers
            parts = [batches.part(number, workers) for number in range(workers)]
            given, turn = in_turn([len(part) for part in parts], done)
            # This worker goes on with the part whose turn it is when the loader begins with the first worker.
            number = turn[worker.id]
            if self._state is not None and self._state.get("part") is not None:
                number = self._state["part"]
            self._part = number
            batches = parts[number]
            batches.set_epoch(self.epoch, given[number])
        elif self._batch is not None:
            batches.set_epoch(self.epoch, self._batch)
            self._batch = None
        if self._state is not None:
            batches.load_state_dict(self._state)
            self._state = None
        self._current = batches
        yield from map(tuple, batches)


def in_turn(lengths: list[int], done: int) -> tuple[list[int], list[int]]:
    """How many batches of each part a loader has returned after ``done`` of all, one of each part in turn as long as
    it has any; and the parts in the order in which they go on.

    >>> in_turn([3, 3, 4], 4), in_turn([3, 3, 4], 9)
    (([2, 1, 1], [1, 2, 0]), ([3, 3, 3], [2, 0, 1]))
    """
    given, number = [0] * len(lengths), 0
    for _ in range(min(done, sum(lengths))):
        while given[number] == lengths[number]:
            number = (number + 1) % len(lengths)
        given[number] += 1
        number = (number + 1) % len(lengths)
    order = [(number + place) % len(lengths) for place in range(len(lengths))]
    # Parts that have ended come last, or their workers would be waited for.
    return given, sorted(order, key=lambda part: given[part] == lengths[part])
