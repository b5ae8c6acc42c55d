"""What a process has once: a count of forks, so that a child makes new threads instead of waiting for its
parent's."""

from __future__ import annotations

import os

_generation = 0


def generation() -> int:
    """Changes in each child process that was forked."""
    return _generation


def _after_fork() -> None:
    global _generation
    _generation += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
