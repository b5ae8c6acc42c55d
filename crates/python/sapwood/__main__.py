"""The ``sapwood`` command, also as ``python -m sapwood``."""

from __future__ import annotations

import os
import signal
import sys

from sapwood import _core
from sapwood._tools import selectors


def main() -> int:
    """Runs the command line; gives its exit code."""
    # The engine does not look at Python's signals: let Ctrl-C end it as it ends any command.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.argv[1:2] == ["process"]:
        return selectors.run(selectors.process_command, sys.argv[2:])
    if sys.argv[1:2] == ["makeselector"]:
        return selectors.run(selectors.makeselector_command, sys.argv[2:])
    if sys.argv[1:2] == ["convert"]:
        from sapwood._convert import command

        return selectors.run(command.convert_command, sys.argv[2:])
    code = _core.command(["sapwood", *sys.argv[1:]])
    if code == 0 and sys.argv[1:2] == ["man"] and len(sys.argv) == 3 and os.path.isdir(sys.argv[2]):
        from sapwood._convert import command
        from sapwood._tools import man_pages

        parsers = {
            "convert": command.convert_parser,
            "process": selectors.process_parser,
            "makeselector": selectors.makeselector_parser,
        }
        man_pages.write(sys.argv[2], parsers)
    return code


if __name__ == "__main__":
    sys.exit(main())
