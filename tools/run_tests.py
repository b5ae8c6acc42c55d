"""Runs the tests of Rust, of Python, or both, shows their output, and ends with one line for each part:

    rust    1480 passed, 0 failed, 4 skipped, 312 s
    python  2650 passed, 0 failed, 12 skipped, 1100 s

with the names of skipped and failed tests above it. A part that fails does not keep the next one from
running.

    python tools/run_tests.py rust -- cargo test --workspace
    python tools/run_tests.py python -- .venv/bin/python -m pytest tests
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Where parts that ran before left their lines, for the end of `make test`.
LINES = Path("target/test-parts.txt")

CARGO = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;")
CARGO_TEST = re.compile(r"^test (.+) \.\.\. (ignored.*|FAILED)$")
PYTEST = re.compile(r"^=+ .*\bin [\d.]+s\b.*=+$")
PYTEST_COUNT = re.compile(r"(\d+) (passed|failed|skipped|errors?|xfailed|xpassed)\b")
PYTEST_NAME = re.compile(r"^(SKIPPED|FAILED|ERROR) (.+)$")


@dataclass
class Counted:
    """Sums of the closing lines of the test runners."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    names: list[str] = field(default_factory=list)

    def take(self, line: str) -> None:
        """Counts the tests that one line reports.

        >>> counted = Counted()
        >>> counted.take("test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out")
        >>> counted.take("test chain::large ... ignored, takes an hour")
        >>> counted.take("===== 1 failed, 20 passed, 3 skipped in 4.21s =====")
        >>> counted
        Counted(passed=32, failed=1, skipped=4, names=['ignored, takes an hour: chain::large'])
        """
        if found := CARGO.match(line):
            passed, failed, ignored = map(int, found.groups())
            self.passed += passed
            self.failed += failed
            self.skipped += ignored
        elif found := CARGO_TEST.match(line):
            self.names.append(f"{found[2]}: {found[1]}")
        elif PYTEST.match(line):
            for count, what in PYTEST_COUNT.findall(line):
                if what in ("passed", "xpassed"):
                    self.passed += int(count)
                elif what in ("skipped", "xfailed"):
                    self.skipped += int(count)
                else:
                    self.failed += int(count)
        elif found := PYTEST_NAME.match(line):
            self.names.append(f"{found[1].lower()}: {found[2]}")


def run(command: list[str]) -> tuple[Counted, int]:
    """Runs a command, shows its output as it comes, and counts."""
    counted = Counted()
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, text=True, errors="replace", **streams) as child:
        assert child.stdout is not None
        for line in child.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            counted.take(line.rstrip("\n"))
    return counted, child.returncode


def main(arguments: list[str]) -> int:
    """One part, or with `show` the lines of those that ran: each of the parts that are named has to be there."""
    if arguments[:1] == ["show"]:
        text = LINES.read_text() if LINES.exists() else ""
        ran = {line.split(" ")[0] for line in text.splitlines()}
        missing = [f"{part:7} did not run: FAILED\n" for part in arguments[1:] if part not in ran]
        print(text + "".join(missing), end="")
        return int("FAILED" in text or bool(missing))
    name, dashes, *command = arguments
    if dashes != "--" or not command:
        print(__doc__, file=sys.stderr)
        return 2
    began = time.monotonic()
    counted, code = run(command)
    seconds = time.monotonic() - began
    counts = f"{counted.passed} passed, {counted.failed} failed, {counted.skipped} skipped, {seconds:.0f} s"
    words = [f"{name:7} {one}" for one in counted.names]
    words.append(f"{name:7} {counts}" + ("" if code == 0 else f" FAILED ({command[0]} ended with {code})"))
    LINES.parent.mkdir(exist_ok=True)
    with LINES.open("a") as file:
        file.write("\n".join(words) + "\n")
    print("\n".join(words))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
