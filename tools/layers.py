"""Checks that modules of the engine import only downwards, in the order in which data flows, and crates only those below them."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

# Each may import those before it. `error` stands before all; `session` is what files share.
ORDER = (
    "error wire memory io perf codec container session column schema object tree read file write merge entry project inspect"
).split()
# Where two modules are one in two files: a tree knows its file, a file opens its trees.
TOGETHER = {("tree", "file"), ("read", "file"), ("object", "file")}
CRATES = Path(__file__).resolve().parent.parent / "crates"
SOURCE = CRATES / "core/src"
# Crates of the project that each may use; tests may use the testkit as well. The network is in `store`, and what
# is served in `serve`.
USES = {
    "derive": set[str](),
    "core": {"derive"},
    "store": {"core"},
    "serve": {"core", "store"},
    "cli": {"core", "store", "serve"},
    "python": {"core", "store", "cli"},
    "testkit": {"core"},
}
NETWORK = {"futures-util", "hyper", "hyper-util", "object_store", "reqwest", "rustls", "rustls-native-certs", "tokio", "tokio-rustls"}


def module(path: Path) -> str:
    """The top-level module of a source file."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".rs")


def crates() -> list[str]:
    """Crates that use what they should not."""
    wrong = []
    for path in sorted(CRATES.glob("*/Cargo.toml")):
        here = path.parent.name
        if here not in USES:
            wrong.append(f"crate {here} has no place in the order")
            continue
        used = set(tomllib.loads(path.read_text()).get("dependencies", {}))
        ours = {"core" if name == "sapwood" else name.removeprefix("sapwood-") for name in used if name.startswith("sapwood")}
        wrong += [f"crate {here} uses {name}" for name in sorted(ours - USES[here])]
        if here not in ("store", "serve"):
            wrong += [f"crate {here} uses {name}: the network is in store and serve" for name in sorted(used & NETWORK)]
    return wrong


def main() -> int:
    """Prints what imports upwards; gives 1 if anything does."""
    wrong = crates()
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
    print("\n".join(wrong) if wrong else f"{len(ORDER)} modules and {len(USES)} crates import only downwards")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
