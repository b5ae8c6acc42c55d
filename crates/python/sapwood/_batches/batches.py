"""Batches of rows of many files, shuffled in bounded memory."""

from __future__ import annotations

import copy
import numbers
import warnings
from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import groupby, islice
from math import ceil
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood._batches import columns as column_module
from sapwood._batches.arguments import names_of, whole
from sapwood._batches.batch import Batch, batch_of, check_types, library
from sapwood._batches.catalogue import Catalogue
from sapwood._batches.columns import as_dtype
from sapwood._batches.form import Counts, Form, Held, Lease, Piece, Prepared, bytes_of, check_pad, rows_of
from sapwood._batches.identity import check_same, fingerprint
from sapwood._batches.order import Group, Order, mixing, mixing_of_samples, random, share_of
from sapwood._batches.row_data import RowData
from sapwood._batches.samples import Sample, described, hint
from sapwood._batches.scaling import Scaling
from sapwood._batches.split import Split
from sapwood._batches.streams import Allotted, Block, Stream, allot
from sapwood._batches.types import ColumnTypes
from sapwood._file.sizes import as_bytes
from sapwood._tree.iteration import ahead
from sapwood.errors import MismatchError, MissingFileError, WrongTypeError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from sapwood._remote.network import Opening

#: Rows by which the memory of a row is estimated.
_SAMPLE = 256
#: Bytes of the rows that are read together if they are not shuffled: they stay in the processor's cache
#: until they are used.
_READ_BYTES = 16 << 20
#: Pieces of a group, at the least.
_PIECES = 4
#: Entries of clusters that are not divided, however small the buffer is.
_WHOLE = 1 << 16
#: Bytes of the batches that are made together: they stay in the processor's cache until they are used.
_BLOCK_BYTES = 4 << 20
#: Relative error of a number of rows that is computed with floats.
_ROUNDING = 1e-12


class Batches:
    """Batches of rows of many files: iterating over it is one epoch, see :func:`sapwood.batches`."""

    def __init__(
        self,
        samples: Sequence[Sample],
        form: Form,
        size: int,
        *,
        shuffle: Any,
        buffer: int,
        seed: int,
        rank: int,
        world: int,
        drop_last: bool,
        repeat: bool,
        to: Any,
        pin: bool,
        threads: int,
    ) -> None:
        self._samples, self._form = list(samples), form
        self.size = size
        """Rows of a batch."""
        self._shuffle, self._buffer, self._seed = shuffle, buffer, seed
        self._rank, self._world = rank, world
        self._drop_last, self._repeat = drop_last, repeat
        self._to, self._pin, self._threads = to, pin, threads
        self._begin()
        check_types(to, form.made_of)
        self._group_rows, self._read_rows, self._block = self._sizes()
        for sample in self._samples:
            # Clusters are read as a whole if a group has several: one in two groups is decoded twice.
            sample.catalogue.divide(max(size, _WHOLE, self._group_rows // _PIECES))

    def _begin(self) -> None:
        """The state before the first batch."""
        for sample in self._samples:
            if sample.share is not None and sample.catalogue.rows < self._world:
                raise MismatchError(
                    f"the sample {sample.name!r} has {sample.catalogue.rows} rows, fewer than there are ranks and "
                    f"workers ({self._world}), and each of these needs some: use fewer of them"
                )
        self._next_epoch = 0
        self._resumed: dict[str, Any] | None = None
        self._position: dict[str, Any] = {"epoch": 0, "batch": 0, "taken": [0] * len(self._samples)}
        self._known_fingerprint: dict[str, str] | None = None
        self._counts = Counts()
        self._seconds = {"reading": 0.0, "mixing": 0.0, "waiting": 0.0, "library": 0.0, "consumer": 0.0}
        self._rows_given = 0

    # ---- sizes

    def _sizes(self) -> tuple[int, int, int]:
        """Rows of a group, for each sample; rows that are read together; and how many batches are made together.
        Two groups are in memory, one in use and the next one, a piece of the next one that is being read, and
        three blocks of batches: all of that is the buffer."""
        # The widest rows decide: lists of one sample may be longer than those of the others.
        read, handed_out, in_memory = np.max(
            [self._row_bytes(one.catalogue) for one in self._samples], axis=0
        )
        block_bytes = min(_BLOCK_BYTES, self._buffer / 24)
        block = max(1, min(int(block_bytes / (handed_out * self.size)), 64))
        left = (self._buffer - 3 * block_bytes) / len(self._samples)
        fitting = int(left / (2 * in_memory + read / _PIECES))
        whole = min(
            max(part.rows for one in self._samples for part in one.catalogue.parts), max(self.size, _WHOLE)
        )
        if fitting < _PIECES * whole:
            # A piece is a cluster at least.
            fitting = int(max(left - whole * read, left / 2) / (2 * in_memory))
        group_rows = max(self.size, fitting // self.size * self.size)
        read_rows = int(min(_READ_BYTES / read, group_rows / _PIECES))
        return group_rows, min(group_rows, max(self.size, read_rows)), block

    def _row_bytes(self, catalogue: Catalogue) -> tuple[float, float, float]:
        """The memory of a row as it is read, as it is handed out, and while it is held: that of the first rows."""
        part = catalogue.parts[0]
        rows = catalogue.chosen(part, 0, min(part.rows, _SAMPLE))
        counts = Counts()
        columns = catalogue.columns([(part.file, rows)], self._form.names)
        held = self._form.hold(columns, None, counts, self._threads)
        prepared = self._form.take([Piece(held, 0, len(held))], None, counts, self._threads)
        read = sum(one.nbytes for pieces in columns.values() for one in pieces)
        read, handed_out, in_memory = (
            max(1.0, size / len(held)) for size in (read, bytes_of(prepared), held.rows.nbytes)
        )
        return read, handed_out, in_memory

    def _orders(self, epoch: int, sample: int, cycle: int) -> Order:
        keys = (self._seed, epoch, sample, cycle)
        of = self._samples[sample].catalogue
        rows = self._read_rows if self._shuffle is None else self._group_rows
        return Order(of, self._shuffle, rows, keys, self._rank, self._world, self._read_rows)

    def _lengths(self) -> list[int]:
        """Rows of each sample, for this rank."""
        shares = [share_of(sample.catalogue.rows, self._rank, self._world) for sample in self._samples]
        return [stop - start for start, stop in shares]

    @property
    def rows(self) -> int:
        """Rows of an epoch, for this rank."""
        counts = [sample.catalogue.rows for sample in self._samples]
        if self._is_shared:
            # With drop_last, every rank has the same number of whole batches.
            total = sum(count // self._world for count in counts) if self._drop_last else sum(self._lengths())
        else:
            # Every rank has the same number, though the rows of a sample differ by one.
            shares = [float(sample.share or 1) for sample in self._samples]
            most = [-(-count // self._world) / share for count, share in zip(counts, shares, strict=True)]
            least = [count // self._world / share for count, share in zip(counts, shares, strict=True)]
            # Divided by a share, a whole number may become a little more or less than one.
            total = ceil(max(most) * (1 - _ROUNDING)) if self._repeat else int(min(least) * (1 + _ROUNDING))
        return total // self.size * self.size if self._drop_last else total

    @property
    def columns(self) -> list[str]:
        """The names of all columns that are read: of ``columns``, ``target`` and ``weight``."""
        return self._form.names

    @property
    def _is_shared(self) -> bool:
        return all(sample.share is None for sample in self._samples)

    def __len__(self) -> int:
        """Batches of an epoch, for this rank."""
        return -(-self.rows // self.size)

    # ---- an epoch

    def __iter__(self) -> Generator[Batch]:
        start = self._resumed or {"epoch": self._next_epoch, "batch": 0, "taken": [0] * len(self._samples)}
        self._resumed, self._next_epoch = None, start["epoch"] + 1
        return self._epoch(start["epoch"], start["batch"], list(start["taken"]))

    def _epoch(self, epoch: int, number: int, taken: list[int]) -> Generator[Batch]:
        to = library(self._to, self._pin)
        counts, total = self._lengths(), self.rows
        # Of each sample its share is taken, to about one row.
        limits = (
            counts
            if self._is_shared
            else [int(share * total) + len(counts) for share in self._shares(counts)]
        )

        def stream(sample: int) -> Stream:
            catalogue = self._samples[sample].catalogue
            return Stream(
                lambda cycle: self._orders(epoch, sample, cycle),
                lambda group: self._read(catalogue, group),
                taken[sample],
                counts[sample],
                limits[sample],
            )

        streams = [stream(sample) for sample in range(len(counts))]
        self._position = {"epoch": epoch, "batch": number, "taken": list(taken)}
        blocks = ahead(self._blocks(streams, self._allotted(epoch, number, taken)), self._mixed)
        try:
            began = perf_counter()
            for prepared, ends, lease in blocks:
                first = 0
                for rows, after in ends:
                    now = perf_counter()
                    self._seconds["waiting"] += now - began
                    self._rows_given += rows
                    number += 1
                    self._position = {"epoch": epoch, "batch": number, "taken": after}
                    batch = batch_of(rows_of(prepared, slice(first, first + rows)), to)
                    first += rows
                    handed = perf_counter()
                    self._seconds["library"] += handed - now
                    yield batch
                    began = perf_counter()
                    self._seconds["consumer"] += began - handed
                del prepared, lease  # the memory is free for the next ones
            self._position = {"epoch": epoch + 1, "batch": 0, "taken": [0] * len(taken)}
        finally:
            blocks.close()
            for one in streams:
                one.close()

    def _allotted(
        self, epoch: int, number: int, taken: list[int], is_ordered: bool = True
    ) -> Iterator[Allotted]:
        """The batches of an epoch from one on: how many rows of each sample they have, and in which order if
        that is wanted."""
        total, counts = self.rows, self._lengths()
        is_mixed = is_ordered and len(counts) > 1 and self._shuffle is not None
        shares = self._shares(counts)
        while number * self.size < total:
            stop = min((number + 1) * self.size, total)
            wanted = allot(shares, taken, stop)
            taken = [known + rows for known, rows in zip(taken, wanted, strict=True)]
            rows = stop - number * self.size
            mix = random(self._seed, epoch, number, 3).permutation(rows) if is_mixed else None
            yield Allotted(number, rows, wanted, taken, mix)
            number += 1

    def _shares(self, counts: Sequence[int]) -> list[float]:
        if self._is_shared:
            return [count / max(sum(counts), 1) for count in counts]
        return [float(sample.share or 0) for sample in self._samples]

    def _blocks(self, streams: Sequence[Stream], allotted: Iterator[Allotted]) -> Iterator[Block]:
        """Blocks of batches. They end at the same batches after a restart."""
        for _, batches in groupby(allotted, lambda one: one.number // self._block):
            block = Block([], [], [])
            before = 0
            for stream in streams:
                stream.begin()
            for one in batches:
                for stream, rows in zip(streams, one.wanted, strict=True):
                    stream.take(rows, block.pieces)
                if one.mix is not None:
                    block.mix.append(before + one.mix)
                block.ends.append((one.rows, one.taken))
                before += one.rows
            yield block

    def _mixed(self, block: Block) -> tuple[Prepared, list[tuple[int, list[int]]], Lease]:
        """The batches of a block, one after another, where each ends, and their memory."""
        began = perf_counter()
        mix = np.concatenate(block.mix) if block.mix else None
        found = self._form.take(block.pieces, mix, self._counts, self._threads)
        block.pieces.clear()  # the memory of a group that is used up is free for the one after the next
        self._seconds["mixing"] += perf_counter() - began
        return found, block.ends, Lease(self._counts.memory, bytes_of(found))

    def _read(self, catalogue: Catalogue, group: Group) -> Held:
        began = perf_counter()
        if group.seed is None:
            columns = catalogue.columns(group.files, self._form.names)
            held = self._form.hold(columns, group.places, self._counts, self._threads)
        else:
            pieces = (catalogue.columns(files, self._form.names) for files in group.pieces)
            held = self._form.mix(pieces, group.seed, group.rows, self._counts, self._threads)
        self._seconds["reading"] += perf_counter() - began
        return held

    # ---- the state

    def set_epoch(self, epoch: int, batch: int = 0) -> None:
        """Sets the epoch that comes next, which determines the order of rows, and the batch at which it begins: a
        number of batches of this epoch, from 0 to ``len``."""
        epoch, batch = whole(epoch, "an epoch", 0), whole(batch, "a batch")
        taken = [0] * len(self._samples)
        if not 0 <= batch <= len(self):
            raise MismatchError(f"an epoch has {len(self)} batches, and cannot begin at batch {batch}")
        if batch:
            *_, last = islice(self._allotted(epoch, 0, taken, is_ordered=False), batch)
            taken = last.taken
        self._next_epoch, self._resumed = epoch, {"epoch": epoch, "batch": batch, "taken": taken}
        self._position = dict(self._resumed)

    def state_dict(self) -> dict[str, Any]:
        """The position after the last batch, as numbers and texts that JSON holds."""
        return {**self._position, "taken": list(self._position["taken"]), "of": dict(self._fingerprint())}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Makes the next iteration begin at a place that :meth:`state_dict` gave.

        Raises :class:`~sapwood.errors.MismatchError` if it is a place in other data, or in batches of another
        kind. Copies of the files are the same data, wherever they are.
        """
        check_same(state, self._fingerprint())
        self._resumed = {"epoch": state["epoch"], "batch": state["batch"], "taken": list(state["taken"])}
        self._position = dict(self._resumed)

    def _fingerprint(self) -> dict[str, str]:
        """Hashes of all that decides on rows and their values. They are computed once: loaders may ask for a state
        after each batch."""
        if self._known_fingerprint is not None:
            return self._known_fingerprint
        catalogues = [sample.catalogue for sample in self._samples]
        options = [
            [[sample.name, sample.share, sample.catalogue.choice] for sample in self._samples],
            [self.size, self._shuffle, self._buffer, self._seed],
            [self._rank, self._world, self._drop_last, self._repeat],
        ]
        self._known_fingerprint = fingerprint(
            {
                "files": [catalogue.tables for catalogue in catalogues],
                "columns": [self._form.identity, [catalogue.meaning for catalogue in catalogues]],
                "options": options,
                "groups": [self._group_rows, [catalogue.parts for catalogue in catalogues]],
            }
        )
        return self._known_fingerprint

    # ---- more

    @property
    def stats(self) -> dict[str, Any]:
        """Figures of all batches so far: rows; seconds of reading, of mixing and padding, in which the consumer
        waited for a batch, in which arrays of the library (``to=``) were made of it, and in which the
        consumer used it; numbers that are not finite and lists that were longer than their padding, by
        column; and the most bytes of rows and batches that were in memory together. Some rows are counted
        before
        they are handed out."""
        return {
            "rows": self._rows_given,
            "reading_seconds": self._seconds["reading"],
            "mixing_seconds": self._seconds["mixing"],
            "waiting_seconds": self._seconds["waiting"],
            "library_seconds": self._seconds["library"],
            "consumer_seconds": self._seconds["consumer"],
            **self._counts.by_column,
            "group_rows": self._group_rows,
            "most_bytes": self._counts.memory.most,
        }

    def mixing(self, epoch: int = 0) -> float:
        """How well an epoch is shuffled, from 0 to 1: the mean distance of neighbours in a batch, as a share
        of that in a perfect shuffle. Of several samples it is the worst; or, if that is less, how often
        neighbours in a batch are of different samples, as a share of how often they would be in a perfect
        shuffle."""
        orders = [self._orders(epoch, number, 0) for number in range(len(self._samples))]
        found = min(mixing(order, self.size) for order in orders)
        if len(orders) == 1:
            return found
        allotted = self._allotted(epoch, 0, [0] * len(orders))
        return min(found, mixing_of_samples((one.wanted, one.mix) for one in allotted))

    def fit_scaling(self) -> Scaling:
        """The means and standard deviations of all columns, in one pass over the rows of this rank: with several
        ranks, fit it to batches of one rank and hand it to all."""
        groups = (
            {
                name: column_module.joined([column_module.to_numpy(piece) for piece in pieces])
                for name, pieces in sample.catalogue.columns(piece, self._form.columns).items()
            }
            for number, sample in enumerate(self._samples)
            for group, _ in self._orders(0, number, 0).groups()
            for piece in group.pieces
        )
        return Scaling.fit(groups)

    def row_data(self) -> RowData:
        """The rows of all ranks by number, in any order: a map-style data set of PyTorch, a source of Grain."""
        catalogues = [sample.catalogue for sample in self._samples]
        return RowData(catalogues, self._form, self._to, self._threads)

    def torch(self, workers: int | None = None) -> Any:
        """An ``IterableDataset`` of PyTorch for ``DataLoader(..., batch_size=None)``: workers divide the
        rows. With the number of workers of the loader, ``len`` has the number of batches."""
        from sapwood._batches.torch_data import TorchData

        return TorchData(self, workers)

    def part(self, rank: int, world: int) -> Batches:
        """Batches of one of ``world`` workers of this rank."""
        made = copy.copy(self)
        made._rank, made._world = self._rank * world + rank, self._world * world
        made._begin()
        return made

    def close(self) -> None:
        """Closes the files that stay open between epochs."""
        for sample in self._samples:
            sample.catalogue.close()

    def __enter__(self) -> Batches:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Batches of {self.size} rows, {len(self)} an epoch>"


def batches(
    files: Any,
    columns: str | Sequence[str],
    size: int = 4096,
    *,
    target: str | Sequence[str] | None = None,
    weight: str | None = None,
    cut: str | None = None,
    aliases: Mapping[str, str] | None = None,
    shuffle: bool | str = False,
    buffer: int | str = "256 MB",
    seed: int = 0,
    split: Any = None,
    rank: int = 0,
    world: int = 1,
    drop_last: bool = False,
    repeat: bool = True,
    pad: int | Mapping[str, int] | None = None,
    pad_value: float = 0,
    missing: float | None = None,
    dtype: Any = None,
    matrix: bool = False,
    scaling: Scaling | None = None,
    to: Any = "numpy",
    pin: bool = False,
    allow_missing: bool = False,
    friends: Mapping[str, Any] | None = None,
    lumi_mask: Any = None,
    entries: Any = None,
    threads: int = 0,
    **others: Unpack[Opening],
) -> Batches:
    """Batches of ``size`` rows of many files, for training.

    ``files`` are those of :func:`sapwood.iterate`, or samples: ``{"signal": {"files": ..., "share": 0.5,
    "label": 1}, ...}``. ``columns``, ``target`` and ``weight`` are names and expressions of numbers and of
    lists of numbers; numbers that a sample has next to its files (``label``) are names, too. With shares,
    each batch has that part of each sample: an epoch ends when all rows were seen (``repeat``: smaller
    samples begin again), or when the first sample is exhausted. Without shares an epoch has every row once.

    ``shuffle=True`` takes clusters of all files in random order and mixes the rows of those that fit into
    ``buffer``; ``shuffle="rows"`` is a perfect shuffle, which reads single rows (files with blocks for random
    access are made for it). ``seed``, the epoch and the rank determine every batch, whatever the number of
    threads. ``split=("train", {"train": 0.8, "test": 0.2}, ("run", "event"))`` takes one share of the rows,
    by a hash of these columns, or of the file's name and the entry without them; a seed may follow the
    columns. ``rank`` and ``world`` divide the rows among several processes: their lengths differ by one row
    at most, and with ``drop_last`` or shares by none.

    Lists are :class:`Ragged` (offsets and values), or of ``pad`` items with a mask, targets too. ``dtype`` is
    a type for all columns (``"f4"``, ``"f2"``, ``"bf16"``), ``scaling`` what :meth:`Batches.fit_scaling`
    gave, ``matrix`` joins columns of numbers into one matrix, of ``float32`` unless ``dtype`` names another
    type. Numbers have the type that NumPy gives to those of all files and samples together. ``friends``,
    ``lumi_mask`` and ``entries`` are those of :func:`sapwood.iterate`; ``allow_missing`` leaves out files
    that do not exist or lack a column. ``to`` is ``"numpy"``, ``"torch"``, ``"jax"``, ``"tensorflow"``,
    ``"cupy"``, or a function of a NumPy array; ``pin`` puts tensors of PyTorch into pinned memory.

    >>> import io, sapwood
    >>> with sapwood.recreate(memory := io.BytesIO()) as file:
    ...     file["t"] = {"x": [1.0, 2.0, 3.0, 4.0, 5.0], "label": [0, 1, 0, 1, 0]}
    >>> for x, y in sapwood.batches({"all": {"files": sapwood.open(memory)["t"]}}, ["x"], 2, target="label"):
    ...     print(x["x"], y)
    [1. 2.] [0 1]
    [3. 4.] [0 1]
    [5.] [0]

    Raises :class:`~sapwood.errors.MismatchError` for columns that hold no numbers or have another shape in
    another file, shares that make no sense, values that are missing (``missing`` stands in for them), splits
    without rows, and types that the library lacks.
    """
    names, targets = names_of(columns, "columns="), names_of(() if target is None else target, "target=")
    if not names:
        raise MismatchError("batches need columns")
    if weight is not None and not isinstance(weight, str):
        raise WrongTypeError(f"weight= is one name or expression, not {weight!r}")
    if scaling is not None and not isinstance(scaling, Scaling):
        raise WrongTypeError(f"scaling= is a Scaling, as Scaling.load({scaling!r}) reads it from a file")
    for what, value in (("missing=", missing), ("pad_value=", pad_value)):
        if value is not None and not isinstance(value, numbers.Real):
            raise WrongTypeError(f"{what} is a number, not {value!r}")
    size, seed = whole(size, "size=", 1), whole(seed, "seed=")
    world = whole(world, "world=", 1)
    rank = whole(rank, "rank=", 0)
    if rank >= world:
        raise MismatchError(f"rank= is from 0 until before world=, not {rank} of {world}")
    shuffles = {False: None, True: "clusters", "clusters": "clusters", "rows": "rows"}
    if shuffle not in shuffles:
        raise MismatchError(f'shuffle= is True, False or "rows", not {shuffle!r}')
    form = Form(
        names,
        targets,
        weight,
        check_pad(pad, [*names, *targets]),
        pad_value,
        None if dtype is None else as_dtype(dtype),
        matrix,
        scaling,
    )
    memory = whole(as_bytes(buffer), "buffer=, in bytes,", 1)
    library(to, pin)  # or an error, before anything is read
    found = []
    for sample in described(files):
        try:
            catalogue = Catalogue(
                sample.files,
                {**others, "threads": threads},
                cut=cut,
                split=Split.of(split),
                aliases={**(aliases or {}), **sample.constants},
                allow_missing=allow_missing,
                names=form.names,
                is_wide=dtype is not None,
                missing=missing,
                friends=friends,
                lumi_mask=lumi_mask,
                entries=entries,
            )
        except MissingFileError as error:
            raise MissingFileError(f"{error}{hint(files)}") from error
        if not catalogue.parts:
            which = f" of the sample {sample.name!r}" if sample.name else ""
            raise MismatchError(f"no row{which} is left by the cut and the split")
        found.append(Sample(sample.name, catalogue, sample.share))
    types = ColumnTypes.joined(sample.catalogue.types for sample in found)
    form = form.decided(types)
    if (
        matrix
        and dtype is None
        and (wide := [name for name in names if types[name].number.endswith("int64")])
    ):
        warnings.warn(
            f"matrix=True makes float32 of {wide[0]!r}, which holds {types[wide[0]].number}: numbers above 16,777,216 "
            'are rounded; dtype="f4" accepts it, and dtype="f8" keeps them',
            stacklevel=2,
        )
    return Batches(
        found,
        form,
        size,
        shuffle=shuffles[shuffle],
        buffer=memory,
        seed=seed,
        rank=rank,
        world=world,
        drop_last=drop_last,
        repeat=repeat,
        to=to,
        pin=pin,
        threads=threads,
    )
