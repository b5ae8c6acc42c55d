"""Man pages of the sub-commands that are Python's."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable
from pathlib import Path

WIDTH = 78
"""Columns of the text of a page."""


def write(folder: str, parsers: dict[str, Callable[[], argparse.ArgumentParser]]) -> None:
    """Writes a page for each sub-command into a folder that is there."""
    for name, parser in parsers.items():
        (Path(folder) / f"sapwood-{name}.1").write_text(page(name, parser()), encoding="utf-8")


def page(name: str, parser: argparse.ArgumentParser) -> str:
    """The page of a sub-command, from what its ``--help`` says.

    >>> parser = argparse.ArgumentParser("sapwood dance", description="Dance.")
    >>> print(page("dance", parser).splitlines()[2])
    sapwood\\-dance \\- Dance
    """
    parser.formatter_class = functools.partial(argparse.HelpFormatter, width=WIDTH)
    usage, about, *rest = parser.format_help().split("\n\n")
    about = " ".join(about.split())
    sections = [
        f'.TH "sapwood-{name}" 1',
        ".SH NAME",
        _escaped(f"sapwood-{name} - {about.partition('. ')[0].rstrip('.')}"),
        ".SH SYNOPSIS",
        *_as_it_is(usage.removeprefix("usage: ")),
        ".SH DESCRIPTION",
        _escaped(about),
        ".SH ARGUMENTS",
        *_as_it_is("\n\n".join(rest).rstrip()),
    ]
    return "\n".join(sections) + "\n"


def _as_it_is(text: str) -> list[str]:
    return [".nf", _escaped(text), ".fi"]


def _escaped(text: str) -> str:
    lines = text.replace("\\", "\\e").replace("-", "\\-").splitlines()
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in lines)
