"""Checks the order of modules and crates: imports go downwards; neither files nor folders import in circles.

What counts as an import is every path that begins with `crate`, `self`, `super` or a module below, outside of
tests and comments. A name that a module re-exports belongs to the file that defines it; a re-export is an
import only where the module uses the name itself.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

CRATES = Path(__file__).resolve().parent.parent / "crates"
# Modules of the engine, and of `write` in it, in the order of data flow: each may import those before it.
ORDER = {
    "": (
        "error idle scoped interrupt progress wire memory io perf codec container column schema session object hist tree read ntuple "
        "batch statistics file table query chain frame write merge entry project inspect"
    ).split(),
    "write": (
        "clustering options model basket page commit record file tree ntuple writer parallel rewrite recover"
    ).split(),
}
# A tree knows its file, and a file opens its trees and RNTuples: these may name types of `file/mod.rs` alone.
KNOW_THEIR_FILE = {"tree", "read", "ntuple"}
# Crates of the project that each may use; tests may use the testkit as well. The network is in `store` and
# `serve`.
USES = {
    "derive": set[str](),
    "core": {"derive"},
    "store": {"core"},
    "serve": {"core", "store"},
    "cli": {"core", "store", "serve"},
    "c": {"core", "store"},
    "python": {"core", "store", "cli"},
    "testkit": {"core"},
}
NETWORK = set(
    "futures-util hyper hyper-util object_store reqwest rustls rustls-native-certs tokio tokio-rustls".split()
)

Module = tuple[str, ...]
USE = re.compile(r"^[ \t]*(pub(?:\([\w: ]+\))? )?use ([^;]+);", re.MULTILINE)
INLINE = re.compile(r"(?<![\w:.])(\w+(?:::\w+)+)")
TESTS = re.compile(r"( *)#\[cfg\((?:all\()?test")


def without_tests(code: str) -> str:
    """The code without the items that only tests have, as rustfmt lays them out."""
    kept, indent = [], None
    for line in code.splitlines():
        if indent is None:
            if found := TESTS.match(line):
                indent = found[1]
            else:
                kept.append(line)
        elif re.match(rf"{indent}\S", line) and re.search(r"[;}},]$", line) and line.strip()[0] != "#":
            indent = None
    return "\n".join(kept)


def leaves(tree: str, before: Module = ()) -> Iterator[tuple[Module, str]]:
    """The paths that a `use` names, each with the name that it gets."""
    tree = tree.strip()
    if not tree.endswith("}"):
        path, _, alias = tree.partition(" as ")
        parts = (*before, *(part.strip() for part in path.split("::")))
        parts = parts[:-1] if parts[-1] == "self" and len(parts) > 1 else parts
        yield parts, alias.strip() or parts[-1]
        return
    head, _, rest = tree.partition("{")
    within = (*before, *(part.strip() for part in head.split("::") if part.strip()))
    depth, start = 0, 0
    items = rest[:-1]
    for at, char in enumerate(items + ","):
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            if items[start:at].strip():
                yield from leaves(items[start:at], within)
            start = at + 1


class Crate:
    """The modules of a crate and what they import."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self.files: dict[Module, Path] = {}
        for path in sorted(source.rglob("*.rs")):
            parts = path.relative_to(source).with_suffix("").parts
            module = parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts
            if "bin" not in parts:
                self.files.setdefault(module, path)
        self.exports: dict[Module, dict[str, Module]] = {module: {} for module in self.files}
        self.paths: dict[Module, set[Module]] = {module: set() for module in self.files}
        for module, path in self.files.items():
            self._read(module, path)

    def _read(self, module: Module, path: Path) -> None:
        code = "\n".join(line.split("//")[0].rstrip() for line in path.read_text().splitlines())
        code = without_tests(code)
        rest = re.sub(r"\bmod \w+;|\bpub\([^)]*\)", "", USE.sub("", code))
        words = set(re.findall(r"(?<![\w:.])\w+", rest))
        for public, tree in USE.findall(code):
            for parts, name in leaves(tree):
                absolute = self._absolute(module, parts)
                if absolute is None:
                    continue
                if public:
                    self.exports[module][name] = absolute
                if not public or name in words:
                    self.paths[module].add(absolute)
        for text in INLINE.findall(rest):
            absolute = self._absolute(module, tuple(text.split("::")))
            if absolute is not None:
                self.paths[module].add(absolute)

    def _absolute(self, module: Module, parts: Module) -> Module | None:
        """The path from the root of the crate; none for what is in another crate."""
        if parts[0] == "crate":
            return parts[1:]
        if parts[0] in ("self", "super"):
            at = module
            for part in parts:
                if part == "super":
                    at = at[:-1]
                elif part != "self":
                    break
            return at + tuple(part for part in parts if part not in ("self", "super"))
        # A path that begins with a module below this one.
        return module + parts if module + parts[:1] in self.files else None

    def home(self, path: Module, depth: int = 0) -> Module:
        """The module that defines what a path names."""
        at: Module = ()
        for index, part in enumerate(path):
            if at + (part,) in self.files:
                at += (part,)
                continue
            target = self.exports.get(at, {}).get(part)
            if target is not None and depth < 9:
                return self.home(target + path[index + 1 :], depth + 1)
            break
        return at

    def imports(self) -> dict[Module, set[Module]]:
        """For each module those that it imports."""
        graph = {}
        for module, paths in self.paths.items():
            graph[module] = {self.home(path) for path in paths} - {module}
        return graph

    def name(self, module: Module) -> str:
        """A module as it is called in messages."""
        return str(self.files[module].relative_to(self.source.parent.parent))


def knots(graph: dict[Module, set[Module]]) -> list[list[Module]]:
    """Modules that import each other, directly or not (Tarjan's strongly connected components)."""
    index: dict[Module, int] = {}
    low: dict[Module, int] = {}
    stack: list[Module] = []
    found = []

    def visit(module: Module) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for used in sorted(graph.get(module, ())):
            if used not in index:
                visit(used)
                low[module] = min(low[module], low[used])
            elif used in stack:
                low[module] = min(low[module], index[used])
        if low[module] == index[module]:
            at = stack.index(module)
            knot = stack[at:]
            del stack[at:]
            if len(knot) > 1:
                found.append(sorted(knot))

    for module in sorted(graph):
        if module not in index:
            visit(module)
    return found


def knows_its_file(module: Module, used: Module) -> bool:
    """Whether an import is that of a file's types by what the file opens."""
    return used == ("file",) and module[:1] != () and module[0] in KNOW_THEIR_FILE


def file_cycles(crate: Crate) -> list[str]:
    """Files of a crate that import each other."""
    graph = {
        module: {to for to in used if not knows_its_file(module, to)}
        for module, used in crate.imports().items()
    }
    wrong = []
    for knot in knots(graph):
        wrong.append(f"{len(knot)} files import each other:")
        for module in knot:
            within = ", ".join(crate.name(used) for used in sorted(graph[module] & set(knot)))
            wrong.append(f"  {crate.name(module)} imports {within}")
    return wrong


def folder_cycles(crate: Crate) -> list[str]:
    """Modules beside each other, with all that is below them, that import each other."""
    imports = crate.imports()
    wrong = []
    for base in sorted({module[:level] for module in crate.files for level in range(len(module))}):
        level = len(base)
        causes: dict[Module, dict[Module, list[str]]] = {}
        for module, used in sorted(imports.items()):
            here = module[: level + 1]
            for to in sorted(used):
                there = to[: level + 1]
                if {module[:level], to[:level]} != {base} or len(here) == level or len(there) == level:
                    continue
                if here != there and not knows_its_file(module, to):
                    cause = f"  {crate.name(module)} imports {crate.name(to)}"
                    causes.setdefault(here, {}).setdefault(there, []).append(cause)
        for knot in knots({here: set(used) for here, used in causes.items()}):
            wrong.append(f"{crate.source.parent.name}: {', '.join(m[-1] for m in knot)} import each other:")
            for here in knot:
                wrong += [line for to, lines in causes[here].items() if to in knot for line in lines]
    return wrong


def order(core: Crate) -> list[str]:
    """Imports of the engine that go upwards."""
    wrong = []
    for module, used in sorted(core.imports().items()):
        for room, names in ORDER.items():
            base = tuple(filter(None, [room]))
            level = len(base)
            if module[:level] != base or len(module) <= level:
                continue
            here = module[level]
            if here not in names:
                wrong.append(f"{core.name(module)}: module {here} has no place in the order")
                continue
            for other in sorted(used):
                if other[:level] != base or len(other) <= level or other[level] not in names:
                    continue
                there = other[level]
                if names.index(there) > names.index(here) and not knows_its_file(module, other):
                    wrong.append(f"{core.name(module)}: {here} imports {there}, which comes later")
    return wrong


def crates() -> list[str]:
    """Crates that use what they should not."""
    wrong = []
    for path in sorted(CRATES.glob("*/Cargo.toml")):
        here = path.parent.name
        if here not in USES:
            wrong.append(f"crate {here} has no place in the order")
            continue
        used = set(tomllib.loads(path.read_text()).get("dependencies", {}))
        names = [name for name in used if name.startswith("sapwood")]
        ours = {"core" if name == "sapwood" else name.removeprefix("sapwood-") for name in names}
        wrong += [f"crate {here} uses {name}" for name in sorted(ours - USES[here])]
        if here not in ("store", "serve"):
            network = sorted(used & NETWORK)
            wrong += [f"crate {here} uses {name}: the network is in store and serve" for name in network]
    return wrong


def main() -> int:
    """Prints what imports upwards or in a circle; gives 1 if anything does."""
    wrong = crates()
    files = 0
    for name in USES:
        crate = Crate(CRATES / name / "src")
        files += len(crate.files)
        wrong += file_cycles(crate) + folder_cycles(crate)
        if name == "core":
            wrong += order(crate)
    good = f"{files} files in {len(USES)} crates import only downwards, without a cycle of files or folders"
    print("\n".join(wrong) if wrong else good)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
