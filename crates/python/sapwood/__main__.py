"""The ``sapwood`` command, also as ``python -m sapwood``."""

import os
import signal
import sys

from sapwood import _core

# The engine runs most commands, and starts at once: the modules of the others are imported for these alone.


def main() -> int:
    """Runs the command line; gives its exit code."""
    # The engine does not look at Python's signals: let Ctrl-C end it as it ends any command.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    name, arguments = "".join(sys.argv[1:2]), sys.argv[2:]
    if name in ("convert", "makeselector", "process"):
        return _run_in_python(name, arguments)
    code = _core.command(["sapwood", *sys.argv[1:]])
    if code == 0 and name == "man" and len(arguments) == 1 and os.path.isdir(arguments[0]):
        _write_man_pages(arguments[0])
    return code


def _run_in_python(name: str, arguments: list[str]) -> int:
    from sapwood._tools import selectors

    if name == "process":
        return selectors.run(selectors.process_command, arguments)
    if name == "makeselector":
        return selectors.run(selectors.makeselector_command, arguments)
    from sapwood._convert import command

    return selectors.run(command.convert_command, arguments)


def _write_man_pages(folder: str) -> None:
    from sapwood._convert import command
    from sapwood._tools import man_pages, selectors

    parsers = {
        "convert": command.convert_parser,
        "process": selectors.process_parser,
        "makeselector": selectors.makeselector_parser,
    }
    man_pages.write(folder, parsers)


if __name__ == "__main__":
    sys.exit(main())
