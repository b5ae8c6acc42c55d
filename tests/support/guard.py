"""Run work on many files, each in a child process of its own, so that a crash or a hang costs one item and not the run."""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import selectors
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

Emit = Callable[[dict[str, Any]], None]
Begin = Callable[[str], None]
Work = Callable[[str, frozenset[str], Emit, Begin], None]
"""work(job, items to leave out, emit a record, say which item begins)."""

MEMORY_BYTES = 8 << 30
MOST_DEATHS = 8


@dataclass
class Child:
    job: str
    pid: int
    pipe: int
    started: float
    last_output: float
    raw: bytearray = field(default_factory=bytearray)
    killed: bool = False


def _start(work: Work, job: str, skip: frozenset[str]) -> Child:
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(r)
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            faulthandler.disable()  # a crash is reported by its signal, not by pages of the parent's stack
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)

            def send(record: dict[str, Any]) -> None:
                left = json.dumps(record).encode() + b"\n"
                while left:
                    left = left[os.write(w, left) :]

            work(job, skip, send, lambda item: send({"begin": item}))
            send({"done": True})
            code = 0
        except BaseException as e:  # nothing may unwind into the parent's copy of the stack
            try:
                send({"failed": f"{type(e).__name__}: {e}"[:500]})
            except OSError:
                pass
        finally:
            os._exit(code)
    os.close(w)
    now = time.monotonic()
    return Child(job, pid, r, now, now)


def run_guarded(
    work: Work, jobs: Sequence[str], parallel: int = 2, stall_s: float = 90, job_s: float = 400
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield (job, its records) as jobs end. An item in which a child died gives a record of its own, with `status`
    `crash` or `hang`, and the job goes on without it."""
    selector = selectors.DefaultSelector()
    waiting = list(reversed(jobs))
    records: dict[str, list[dict[str, Any]]] = {}
    skip: dict[str, set[str]] = {}
    deaths: dict[str, int] = {}
    running = 0

    def start(job: str) -> None:
        nonlocal running
        child = _start(work, job, frozenset(skip.setdefault(job, set())))
        records.setdefault(job, [])
        selector.register(child.pipe, selectors.EVENT_READ, child)
        running += 1

    while waiting or running:
        while waiting and running < parallel:
            start(waiting.pop())
        for key, _ in selector.select(timeout=1):
            child: Child = key.data
            data = os.read(child.pipe, 1 << 20)
            child.last_output = time.monotonic()
            if data:
                child.raw += data
                continue
            selector.unregister(child.pipe)
            os.close(child.pipe)
            running -= 1
            _, status = os.waitpid(child.pid, 0)
            again = _collect(child, status, records[child.job], skip[child.job])
            deaths[child.job] = deaths.get(child.job, 0) + again
            if again and deaths[child.job] <= MOST_DEATHS:
                waiting.append(child.job)
            else:
                yield child.job, records.pop(child.job)
        now = time.monotonic()
        for key in list(selector.get_map().values()):
            child = key.data
            if not child.killed and (now - child.last_output > stall_s or now - child.started > job_s):
                child.killed = True
                os.kill(child.pid, signal.SIGKILL)


def _collect(child: Child, status: int, records: list[dict[str, Any]], skip: set[str]) -> bool:
    """Take the records of a child that ended; true when it died inside an item and should be started again."""
    current, failed, done = None, None, False
    for line in bytes(child.raw).split(b"\n"):
        try:
            record = json.loads(line)
        except ValueError:  # the empty end, or a line that the death cut off
            continue
        if "begin" in record:
            current = record["begin"]
        elif "done" in record:
            done = True
        elif "failed" in record:
            failed = record["failed"]
        else:
            records.append(record)
            skip.add(record["item"])
            current = None
    if done:
        return False
    if child.killed:
        state, note = "hang", "killed: no answer in time"
    elif os.WIFSIGNALED(status):
        state, note = "crash", signal.Signals(os.WTERMSIG(status)).name
    else:
        state, note = "crash", failed or f"exit code {os.WEXITSTATUS(status)}"
    item = current if current is not None else "(file)"
    records.append({"item": item, "status": state, "note": note})
    skip.add(item)
    return current is not None
