"""How far a long read has come: a line on standard error, or a bar in a notebook."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import Any, TypeVar

Item = TypeVar("Item")

#: Reads of fewer bytes, once inflated, and other work on so few stored bytes, are too short for a line.
LONG_BYTES = 200_000_000


def notebook() -> Any:
    """What displays in the notebook that this process is the kernel of; ``None`` elsewhere."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    if getattr(shell, "kernel", None) is None:
        return None
    import IPython.display

    # Its functions have no types.
    pages: Any = IPython.display
    return lambda text, shown: (
        pages.display(pages.HTML(text), display_id=True) if shown is None else shown.update(pages.HTML(text))
    )


class Bar:
    """One line, rewritten: a bar in a notebook, and elsewhere ``tqdm`` draws it if it is installed."""

    def __init__(self, total: int, unit: str, label: str) -> None:
        self._total, self._unit, self._label = max(total, 1), unit, label
        self._done = 0
        self._began = self._shown = time.monotonic()
        self._tqdm: Any = None
        self._display: Any = None
        self._notebook = notebook()
        if self._notebook is not None:
            self._display = self._notebook(self._html(), None)
            return
        try:
            from tqdm import tqdm
        except ImportError:
            pass
        else:
            self._tqdm = tqdm(
                total=total, unit=unit, unit_scale=True, desc=label, leave=False, file=sys.stderr
            )

    def add(self, done: int) -> None:
        """So much more is done."""
        self._done += done
        if self._tqdm is not None:
            self._tqdm.update(done)
            return
        now = time.monotonic()
        if now - self._shown >= 0.2 or self._done >= self._total:
            self._shown = now
            if self._display is not None:
                self._notebook(self._html(), self._display)
                return
            sys.stderr.write(f"\r{self._text():<79}")
            sys.stderr.flush()

    def _text(self) -> str:
        part = min(self._done / self._total, 1.0)
        rate = self._done / max(time.monotonic() - self._began, 1e-9)
        total, speed = _scale(self._total, self._unit), _scale(rate, self._unit)
        return f"{self._label}: {part:4.0%} of {total}, {speed}/s"

    def _html(self) -> str:
        text = html.escape(self._text())
        return f'<progress max="{self._total}" value="{self._done}" aria-label="{text}"></progress> {text}'

    def close(self) -> None:
        """Takes the line away."""
        if self._display is not None:
            self._notebook("", self._display)
        elif self._tqdm is not None:
            self._tqdm.close()
        elif self._shown > self._began:
            sys.stderr.write("\r" + " " * 79 + "\r")
            sys.stderr.flush()


def _scale(number: float, unit: str) -> str:
    for prefix in ("", "k", "M", "G", "T"):
        if number < 1000:
            break
        number /= 1000
    return f"{number:.3g} {prefix}{unit}"


def is_wanted(show: bool | None) -> bool:
    """Is a bar to be shown? Unless it is said, in a notebook, and where standard error is a terminal."""
    if show is not None:
        return show
    if notebook() is not None:
        return True
    return bool(sys.stderr is not None and getattr(sys.stderr, "isatty", lambda: False)())


@contextmanager
def bar(branches: Callable[[], list[Any]], selection: Any, show: bool | None) -> Iterator[Bar | None]:
    """A bar over the bytes of some branches; ``None`` for short reads, and where none is wanted."""
    if not is_wanted(show) or len(selection) == 0:
        yield None
        return
    found = branches()
    total = sum(share(branch, selection) for branch in found)
    if total < LONG_BYTES and show is not True:
        yield None
        return
    made = Bar(total, "B", found[0].tree.name if found else "")
    try:
        yield made
    finally:
        made.close()


def each(
    items: Iterable[Item],
    total: int,
    show: bool | None,
    unit: str,
    label: str,
    size: Callable[[Item], int] = lambda item: 1,
) -> Iterator[Item]:
    """The same items; a bar moves on when the next one is asked for. Unless it is said, there is none for
    only one."""
    made: Bar | None = None
    done = 0
    try:
        for number, item in enumerate(items):
            if made is None and (show or number == 1) and is_wanted(show):
                made = Bar(total, unit, label)
            yield item
            done += size(item)
            if made is not None:
                made.add(done)
                done = 0
    finally:
        if made is not None:
            made.close()


def share(branch: Any, selection: Sized) -> int:
    """Bytes of a branch, once inflated, that belong to so many entries."""
    entries = max(branch.num_entries, 1)
    return int(branch.uncompressed_bytes * min(1.0, len(selection) / entries))


def part(show: Bar | None, branches: list[Any], selection: Any) -> Callable[[int, int], None] | None:
    """What the engine calls while it reads branches, with the stored bytes that are done and all of them:
    moves the bar by their share of it."""
    if show is None:
        return None
    size = sum(share(branch, selection) for branch in branches)
    moved = 0

    def note(done: int, total: int) -> None:
        nonlocal moved
        now = size if done >= total else size * done // total
        show.add(now - moved)
        moved = now

    return note


def steps(
    show: Bar | None, branches: Callable[[], list[Any]], selection: Sized
) -> Callable[[int, int], None] | None:
    """The same for work in steps, of each of which the engine says how far it is: the stored bytes of all
    branches are all of it."""
    if show is None:
        return None
    found = branches()
    size = sum(share(branch, selection) for branch in found)
    stored = max(1.0, sum(_stored(branch, selection) for branch in found))
    before = moved = 0

    def note(done: int, total: int) -> None:
        nonlocal before, moved
        now = int(size * min(1.0, (before + done) / stored))
        show.add(now - moved)
        moved = now
        if done >= total:
            # The next word is of another read.
            before += done

    return note


@contextmanager
def told(show: bool | None, label: str) -> Iterator[Callable[[int, int], None] | None]:
    """What the engine calls with the bytes that are done of long work, and all of them: moves a bar, where one
    is wanted."""
    if not is_wanted(show):
        yield None
        return
    made: Bar | None = None
    moved = 0

    def note(done: int, total: int) -> None:
        nonlocal made, moved
        if made is None:
            if total < LONG_BYTES and show is not True:
                return
            made = Bar(total, "B", label)
        made.add(max(done - moved, 0))
        moved = max(done, moved)

    try:
        yield note
    finally:
        if made is not None:
            made.close()


def _stored(branch: Any, selection: Sized) -> float:
    part = min(1.0, len(selection) / max(branch.num_entries, 1))
    return float(branch.compressed_bytes * part)
