"""Checks the subjects of commits: ``area: verb what``, at most 72 characters. Takes a range, as ``origin/main..``."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_LENGTH = 72
#: An area, then what the commit does, in small letters: "cache: merge adjacent ranges".
FORM = re.compile(r"[a-z0-9][a-z0-9 ,./+_-]*: [a-z]")


def wrong_subjects(log: str) -> list[str]:
    """Commits of a log, a hash and a subject per line, whose subjects are too long or do not name an area."""
    wrong = []
    for line in log.splitlines():
        commit, _, subject = line.partition(" ")
        if subject.startswith("Merge "):  # git writes these
            continue
        if len(subject) > MAX_LENGTH:
            wrong.append(f"{commit}: {len(subject)} characters, {MAX_LENGTH} at most: {subject}")
        if not FORM.match(subject):
            wrong.append(f"{commit}: write `area: verb what`: {subject}")
    return wrong


def main() -> int:
    """Prints commits whose subjects break the rule; returns 1 if there are any."""
    commits = sys.argv[1:] or ["-1"]
    log = ["git", "log", "--format=%h %s", *commits]
    found = subprocess.run(log, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    wrong = wrong_subjects(found)
    good = f"{len(found.splitlines())} subjects of commits keep to the rule"
    print("\n".join(wrong) if wrong else good)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
