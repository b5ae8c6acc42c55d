"""How a process that measures ends: with a line of JSON, or with what it lacks."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn


def failure(error: Exception) -> dict[str, str]:
    """An error as an answer, in one line."""
    return {"error": f"{type(error).__name__}: {str(error).strip()}"[:300].replace("\n", " ")}


def say(answer: dict[str, Any]) -> None:
    """Prints one line of JSON, on a line of its own."""
    sys.stdout.write("\n" + json.dumps(answer) + "\n")
    sys.stdout.flush()


def leave(answer: dict[str, Any] | None = None) -> NoReturn:
    """Ends the process, after an answer if there is one."""
    if answer is not None:
        say(answer)
    os._exit(0)  # ROOT's end may crash after all is done, and nothing is left to do


def exit_with(main: Callable[[], int | None]) -> NoReturn:
    """Ends with what `main` returns, or with the name of the server that is missing."""
    import pytest

    try:
        sys.exit(main())
    except pytest.skip.Exception as missing:
        sys.exit(str(missing))
