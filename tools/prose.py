"""Counts phrases that readers stumble over, and fails when a change adds more of them.

Each rule is a pattern. Its matching lines are counted per area: the command's help, messages (string
literals), pages, docstrings and rustdoc, comments, code, and the tests and tools. ``tools/prose.json`` holds
the highest count that each may have; ``--write`` lowers these numbers to the present counts and never raises
one.

Usage: ``prose.py [--write] [--lines RULE [AREA]] [--base REV]``. ``--lines`` prints the lines that a rule
matches; ``--base`` chooses the revision from which added lines are listed when a count is too high.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "tools" / "prose.json"

#: Rules about words. The text says what to write instead.
WORDS = {
    "told": (r"\b(told|tells?|said|says)\b", "name who does it: reports, returns, sets, warns"),
    "no-head": (
        r"^(What|Those|That of|The same|Of (the|a|an|all|one|its)|As (that|those|in|the)|Which|Whose) ",
        "begin with a noun or a verb",
    ),
    "where": (
        r"\b[Ww]here (a|an|the|it|there|they|that|this|no|none|some|one|nothing|both|its|all|values|rows"
        r"|entries) ",
        "write if or when for a condition",
    ),
    "behind": (r"[a-z`)] (behind|beside) [a-z`]", "write after, next to or besides"),
    "is-no": (r"\b(is|are|was|were) (no [a-z]|none\b)", "write is not a, is invalid"),
    "as-many": (r"\b(so|as) (many|much)\b", "write the number or its name"),
    "of-own": (r"\bof (its|their|our) own\b|\bof ours\b", "write its own X"),
    "is-there": (r"\b(is|are|was|were) there\b", "write exists, existing"),
    "gives": (r"\b[Gg]ives (a|an|the|its|their|them|it|each|what|for)\b", "write returns"),
}
#: Rules about code.
CODE = {
    "most": (r"const (MOST|LEAST|LARGEST|DEEPEST|LONGEST)|\busual\b", "write MAX_, MIN_, default"),
    "pairs": (r"\blet (mut )?\((\w|mut |_|, )+\)(: [^=]+)? = \(", "bind unrelated variables one by one"),
    "true-arm": (r"\btrue => ", "write if"),
}
#: Areas of text. `tests` is all text and code of tests, tools, examples and measurements.
AREAS = ("help", "messages", "pages", "docstrings", "comments", "code", "tests")
#: Folders whose text is not met by users.
ASIDE = ("tests/", "tools/", "bench/", "examples/", "fuzz/", "crates/testkit/")
#: A comment, a string or a character of Rust.
RUST = re.compile(
    r"""(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)|b?r(?P<hash>\#*)".*?"(?P=hash)"""
    r"""|b?"(?:\\.|[^"\\])*"|b?'(?:\\.|[^'\\\n])'""",
    re.DOTALL,
)
#: An item that clap turns into options or sub-commands: its comments are help.
CLAP = re.compile(r"#\[derive\([^)]*\b(Args|Parser|Subcommand|ValueEnum)\b")


@dataclass(frozen=True)
class Line:
    """A line of text of one area."""

    path: str
    number: int
    area: str
    text: str


def is_aside(path: str) -> bool:
    """Whether a file belongs to the tests, the tools, the examples or the measurements."""
    return path.startswith(ASIDE) or bool(re.match(r"crates/\w+/(tests|benches|examples)/", path))


def without_fences(lines: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The lines outside of blocks of code."""
    in_code = False
    for number, line in lines:
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code:
            yield number, line


def rust_lines(path: str, text: str) -> Iterator[Line]:
    """Comments, strings and code of a file of Rust."""
    has_help = path.startswith("crates/cli/") and CLAP.search(text) is not None
    documented: list[tuple[int, str]] = []
    code, at, number = [], 0, 1
    for found in RUST.finditer(text):
        code += [text[at : found.start()], "\n" * found.group().count("\n")]
        number += text.count("\n", at, found.start())
        token, first, at = found.group(), number, found.end()
        number += token.count("\n")
        if found["line"]:
            if token.startswith(("///", "//!")):
                documented.append((first, token[3:].strip()))
            else:
                yield Line(path, first, "comments", token[2:].strip())
        elif token.lstrip("br#").startswith('"'):
            for more, line in enumerate(token.strip("br#\"").split("\n")):
                yield Line(path, first + more, "messages", line.strip())
    code.append(text[at:])
    area = "help" if has_help else "docstrings"
    for number, line in without_fences(documented):
        yield Line(path, number, area, line)
    for number, line in enumerate("".join(code).split("\n"), 1):
        yield Line(path, number, "code", line.rstrip())


def python_lines(path: str, text: str) -> Iterator[Line]:
    """Docstrings, strings, comments and code of a file of Python."""
    tree = ast.parse(text)
    docstrings = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for before, statement in enumerate(body if isinstance(body, list) else []):
            is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if is_text and (before == 0 or isinstance(body[before - 1], ast.AnnAssign | ast.Assign)):
                docstrings.add(id(statement.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            area = "docstrings" if id(node) in docstrings else "messages"
            lines = list(enumerate(node.value.split("\n"), node.lineno))
            for number, line in without_fences(lines):
                yield Line(path, number, area, line.strip())
    for number, line in enumerate(text.split("\n"), 1):
        if found := re.search(r"(?:^|\s)#:? (.*)$", line):
            yield Line(path, number, "comments", found[1].strip())
        yield Line(path, number, "code", line.rstrip())


def lines_of(path: str, text: str) -> Iterator[Line]:
    """The lines of a file with their areas."""
    if path.endswith(".md"):
        for number, line in without_fences(list(enumerate(text.split("\n"), 1))):
            yield Line(path, number, "pages", re.sub(r"^[\s>*|+-]+", "", line))
        return
    for line in rust_lines(path, text) if path.endswith(".rs") else python_lines(path, text):
        yield Line(path, line.number, "tests", line.text) if is_aside(path) else line


def matches(line: Line, rule: str) -> bool:
    """Whether a line breaks a rule: one of words outside of code, one of code anywhere but in text."""
    if rule in CODE:
        return line.area in ("code", "tests") and re.search(CODE[rule][0], line.text) is not None
    return line.area != "code" and re.search(WORDS[rule][0], line.text) is not None


def tracked() -> list[str]:
    """Files of text and code that git knows; generated pages and this file's patterns are left out."""
    names = git("ls-files", "*.rs", "*.py", "*.pyi", "*.md").split()
    left_out = ("tools/prose.py", "crates/c/include/")
    return [name for name in names if not name.startswith(left_out) and (ROOT / name).exists()]


def git(*arguments: str) -> str:
    """The output of a command of git."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


def broken() -> Iterator[tuple[str, Line]]:
    """Each rule with each line that breaks it, once per line of a file."""
    for path in tracked():
        lines = list(lines_of(path, (ROOT / path).read_text()))
        for rule in (*WORDS, *CODE):
            seen = set()
            for line in lines:
                if (line.number, line.area) not in seen and matches(line, rule):
                    seen.add((line.number, line.area))
                    yield rule, line


def added_since(base: str) -> set[tuple[str, int]]:
    """Path and number of each line that was added since a revision."""
    found: set[tuple[str, int]] = set()
    path = ""
    for line in git("diff", "-U0", "--no-color", "--no-ext-diff", base).split("\n"):
        if line.startswith("+++ "):
            path = line[6:]
        elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            found |= {(path, number) for number in range(first, first + count)}
    return found


def main() -> int:
    """Compares the counts with the table; returns 1 if one is higher."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="lower the table to the present counts")
    lines_help = "print the lines that a rule matches, of one area or of all"
    parser.add_argument("--lines", nargs="+", metavar="RULE", help=lines_help)
    base_help = "list lines added since this revision; default: the table's last change"
    parser.add_argument("--base", help=base_help)
    options = parser.parse_args()
    found = list(broken())
    if options.lines:
        rule, area = (*options.lines, None)[:2]
        for name, line in found:
            if name == rule and area in (None, line.area):
                print(f"{line.path}:{line.number}: [{line.area}] {line.text.strip()}")
        return 0
    counts = Counter((rule, line.area) for rule, line in found)
    table = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    keys = [(rule, area) for rule in (*WORDS, *CODE) for area in AREAS]
    highest = {key: table.get(key[0], {}).get(key[1], 0) for key in keys}
    if options.write:
        if table:
            counts_now = {key: min(counts[key], highest[key]) for key in keys}
        else:
            counts_now = {key: counts[key] for key in keys}
        rules = (*WORDS, *CODE)
        lowest = {rule: {area: counts_now[rule, area] for area in AREAS} for rule in rules}
        rows = (f"  {json.dumps(rule)}: {json.dumps(row)}" for rule, row in lowest.items())
        TABLE.write_text("{\n" + ",\n".join(rows) + "\n}\n")
        highest = {(rule, area): count for rule, row in lowest.items() for area, count in row.items()}
    above = {key for key in keys if counts[key] > highest[key]}
    if above:
        base = options.base or git("log", "-1", "--format=%H", "--", str(TABLE)).strip() or "HEAD"
        added = added_since(base)
        for rule, area in sorted(above):
            advice = (WORDS | CODE)[rule][1]
            print(f"{rule} in {area}: {counts[rule, area]}, at most {highest[rule, area]}: {advice}")
            for name, line in found:
                if (name, line.area) == (rule, area) and (line.path, line.number) in added:
                    print(f"  {line.path}:{line.number}: {line.text.strip()}")
        return 1
    fallen = sum(highest[key] - counts[key] for key in keys)
    note = f", {fallen} less than allowed: --write lowers the table" if fallen else ""
    print(f"{sum(counts.values())} lines match a rule of prose{note}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
