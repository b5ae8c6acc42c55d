"""Batches as a data set of PyTorch: imported only if one is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sapwood._batches.arguments import whole
from sapwood._read.libraries import need
from sapwood.errors import MismatchError

if TYPE_CHECKING:
    from sapwood._batches.batches import Batches

_torch: Any = need("torch", "Batches.torch()")
_data: Any = need("torch.utils.data", "Batches.torch()", "torch")
_Iterable: Any = _data.IterableDataset

#: Workers that count by themselves; more share the same counts.
MAX_WORKERS = 256


class TorchData(_Iterable):  # type: ignore[misc]
    """Batches for ``DataLoader(..., batch_size=None)``, whose workers divide the rows.

    Each batch is a tuple: the columns, the target and the weight if these were asked for, and the masks of
    padded lists if there are any.
    """

    def __init__(self, batches: Batches, workers: int | None = None) -> None:
        """``workers`` is the number of workers of the loader, on which the number of batches depends."""
        super().__init__()
        self.batches = batches
        self._workers = None if workers is None else whole(workers, "workers=", 0)
        #: The next epoch, its first batch, and how often these were set: workers that stay read them, too.
        self._next = _torch.zeros(3, dtype=_torch.int64).share_memory_()
        columns = len(batches.columns)
        #: Rows, numbers that are not finite and lists that were cut, of each worker.
        self._counted = _torch.zeros((MAX_WORKERS, 1 + 2 * columns), dtype=_torch.int64).share_memory_()
        self._current: Batches | None = None
        self._state: dict[str, Any] | None = None
        #: The part of the rows that this worker has.
        self._part: int | None = None
        #: How often epochs had been set when this process began its last one, and that one.
        self._seen = 0
        self._worker_epoch: int | None = None
        #: Counts of this worker that the first process has.
        self._known: list[int] = []

    @property
    def epoch(self) -> int:
        """The epoch that was set."""
        return int(self._next[0])

    def set_epoch(self, epoch: int, batch: int = 0) -> None:
        """Sets the epoch that comes next, also for workers that stay (``persistent_workers=True``); other workers
        do not know how many there were. It begins at a batch, counted over all workers as the loader returns
        them: the steps of a training so far."""
        self._next[0], self._next[1] = whole(epoch, "an epoch", 0), whole(batch, "a batch", 0)
        self._next[2] += 1

    def state_dict(self) -> dict[str, Any]:
        """The position of this worker: for loaders that ask each worker for its state, as the
        ``StatefulDataLoader`` of torchdata."""
        return {**(self._current or self.batches).state_dict(), "part": self._part}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Makes the next iteration begin at the place of :meth:`state_dict`, in the same worker of the same
        number of workers."""
        self._state = dict(state)

    @property
    def stats(self) -> dict[str, Any]:
        """Rows, numbers that are not finite and lists that were longer than their padding, of this process and of
        all workers."""
        own, names = self.batches.stats, self.batches.columns
        rows, *counts = self._counted.sum(dim=0).tolist()
        found: dict[str, Any] = {"rows": own["rows"] + rows}
        for number, what in enumerate(("not_finite", "cut_lists")):
            more = dict(zip(names, counts[number * len(names) :], strict=False))
            both = {name: own[what].get(name, 0) + count for name, count in more.items()}
            found[what] = {name: count for name, count in both.items() if count}
        return found

    def __len__(self) -> int:
        """Batches of an epoch, for the number of workers that the data set was made for."""
        if self._workers is None:
            raise TypeError("the number of batches depends on that of workers: torch(workers=...) has it")
        if self._workers == 0:
            return len(self.batches)
        return sum(len(self.batches.part(number, self._workers)) for number in range(self._workers))

    def __iter__(self) -> Iterator[Any]:
        worker = _data.get_worker_info()
        epoch, done, changes = self._next.tolist()
        workers = 0 if worker is None else worker.num_workers
        if self._workers not in (None, workers):
            raise MismatchError(
                f"this data set was made for {self._workers} workers, and the loader has {workers}"
            )
        if worker is not None:
            if self._worker_epoch is not None and changes == self._seen:
                epoch, done = self._worker_epoch + 1, 0
            batches = self._part_of_worker(worker, epoch, done)
            self._worker_epoch = epoch
        else:
            batches = self.batches
            if changes != self._seen:
                batches.set_epoch(epoch, done)
        self._seen = changes
        if self._state is not None:
            batches.load_state_dict(self._state)
            self._worker_epoch = self._state["epoch"]
            self._state = None
        self._current = batches
        for batch in batches:
            if worker is not None:
                self._count(worker.id, batches)
            yield batch.parts

    def _part_of_worker(self, worker: Any, epoch: int, done: int) -> Batches:
        """The batches of a worker in an epoch of which the loader has returned ``done`` batches."""
        parts = [self.batches.part(number, worker.num_workers) for number in range(worker.num_workers)]
        lengths = [len(part) for part in parts]
        if done > sum(lengths):
            raise MismatchError(f"an epoch has {sum(lengths)} batches, and cannot begin at batch {done}")
        given, turn = in_turn(lengths, done)
        # This worker goes on with the part whose turn it is when the loader begins with the first worker.
        number = turn[worker.id]
        if self._state is not None and self._state.get("part") is not None:
            number = self._state["part"]
        self._part = number
        self._known = [0] * self._counted.shape[1]
        parts[number].set_epoch(epoch, given[number])
        return parts[number]

    def _count(self, worker: int, batches: Batches) -> None:
        """Adds the counts of the last batch to those of this worker, which the first process reads."""
        stats, names = batches.stats, batches.columns
        now = [
            stats["rows"],
            *(stats[what].get(name, 0) for what in ("not_finite", "cut_lists") for name in names),
        ]
        for place, (count, before) in enumerate(zip(now, self._known, strict=True)):
            if count != before:
                self._counted[worker % MAX_WORKERS, place] += count - before
        self._known = now


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
