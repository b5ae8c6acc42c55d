"""Checks the subjects of commits: under 72 characters. Takes a range, such as ``origin/main..``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST = 71


def long_subjects(log: str) -> list[str]:
    """Commits of a log with a hash and a subject in each line, whose subjects are too long."""
    wrong = []
    for line in log.splitlines():
        commit, _, subject = line.partition(" ")
        # Subjects of merges are written by git.
        if len(subject) > MOST and not subject.startswith("Merge "):
            wrong.append(f"{commit}: {len(subject)} characters, {MOST} at most: {subject}")
    return wrong


def main() -> int:
    """Prints commits whose subjects are too long; gives 1 if there are any."""
    commits = sys.argv[1:] or ["-1"]
    log = ["git", "log", "--format=%h %s", *commits]
    found = subprocess.run(log, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    wrong = long_subjects(found)
    good = f"{len(found.splitlines())} subjects of commits have at most {MOST} characters"
    print("\n".join(wrong) if wrong else good)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
