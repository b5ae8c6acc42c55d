"""Checks that modules of the engine import only downwards, in the order in which data flows."""

from __future__ import annotations

import re
import sys
from pathlib import Path

# Each may import those before it. `error` stands before all; `session` is what files share.
ORDER = (
    "error wire memory io codec container session column schema object tree read file write entry project inspect"
).split()
# Where two modules are one in two files: a tree knows its file, a file opens its trees.
TOGETHER = {("tree", "file"), ("read", "file"), ("object", "file")}
SOURCE = Path(__file__).resolve().parent.parent / "crates/core/src"


def module(path: Path) -> str:
    """The top-level module of a source file."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".rs")


def main() -> int:
    """Prints what imports upwards; gives 1 if anything does."""
    wrong = []
    for path in sorted(SOURCE.rglob("*.rs")):
        here = module(path)
        if here == "lib":
            continue
        if here not in ORDER:
            wrong.append(f"{path.name}: module {here} has no place in the order")
            continue
        code = path.read_text().split("#[cfg(test)]")[0]
        code = "\n".join(line for line in code.splitlines() if not line.lstrip().startswith("//"))
        for used in sorted(set(re.findall(r"\bcrate::(\w+)", code))):
            if used not in ORDER or used == here or (here, used) in TOGETHER:
                continue
            if ORDER.index(used) > ORDER.index(here):
                wrong.append(f"{path.relative_to(SOURCE)}: {here} imports {used}, which comes later")
    print("\n".join(wrong) if wrong else f"{len(ORDER)} modules import only downwards")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
