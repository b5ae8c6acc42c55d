"""Checks the lengths of lines: 120 columns in Rust and Markdown, 110 in Python; ``--fix`` breaks what it can.

In Markdown, tables, headings and code blocks may be longer, and so may a line without a blank to break at,
such as a link. In Rust and Python a line that is one long string may be longer. Lines of a string of several
lines in Python that is no docstring may be, too: it is code of another language. ``--fix`` breaks paragraphs
of Markdown, of comments and of docstrings; lines of code are left to their authors.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMITS = {".rs": 120, ".md": 120, ".py": 110}
#: Pages that a program of `bench/` writes.
WRITTEN = ("docs/benchmarks.md", "docs/benchmarks/", "bench/write/event.md", "bench/write/streaming.md")
COMMENT = re.compile(r"^(\s*(?:///|//!|//|#:|#))( |$)(.*)$")
#: Parts of strings; f-strings have some of their own from Python 3.12 on.
STRINGS = (tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
#: What a docstring follows: the beginning of a body, another statement.
BEFORE_DOCSTRINGS = (tokenize.INDENT, tokenize.NEWLINE, tokenize.DEDENT, tokenize.ENCODING)
#: A row of a table in a comment.
TABLE = re.compile(r"^\s*//[/!] \|")
#: What tells other tools to let a line be.
MARKED = re.compile(r"  # (?:type: ignore|noqa|fmt: skip).*$")
#: What begins an item of a list.
MARKER = re.compile(r"^(\s*)([-*] |\d+\. )")
#: Lines that are no part of a paragraph.
OTHER = re.compile(r"^\s*($|\||#|>|<!--|```)")


def is_breakable(line: str, limit: int) -> bool:
    """Whether there is a blank to break at, outside of code and the target of a link."""
    text = joined(line)
    start = len(line) - len(line.lstrip()) + 4
    return " " in text[start : limit + 1]


def joined(text: str) -> str:
    """The text with the blanks of code and links replaced, so that it is not broken there."""
    return re.sub(r"`[^`]*`|\]\([^)]*\)", lambda found: found.group().replace(" ", "\0"), text)


def is_string(line: str) -> bool:
    """Whether a line of code is a string alone, or a part of a string of several lines."""
    quotes = len(re.findall(r'(?<!\\)"', line))
    return (
        line.endswith("\\")
        or quotes % 2 == 1
        or re.fullmatch(r"""\s*(?:let \w+ = )?[rbf]*(["']).*\1[,;)]*""", line) is not None
    )


def lines_in_strings(text: str) -> set[int]:
    """Numbers of the lines of strings of several lines in Python, but for those of docstrings."""
    found: set[int] = set()
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in STRINGS and before not in BEFORE_DOCSTRINGS:
            found.update(range(token.start[0], token.end[0] + 1) if token.end[0] > token.start[0] else ())
        if token.type not in (tokenize.NL, tokenize.COMMENT):
            before = token.type
    return found


def long_lines(path: Path) -> list[int]:
    """Numbers of the lines that could be broken and are not."""
    limit = LIMITS[path.suffix]
    found = []
    in_code = False
    text = path.read_text()
    in_strings = lines_in_strings(text) if path.suffix == ".py" else set()
    for number, line in enumerate(text.splitlines(), 1):
        if path.suffix == ".md":
            in_code ^= line.lstrip().startswith("```")
            if in_code or OTHER.match(line):
                continue
        elif number in in_strings or is_string(line) or TABLE.match(line):
            continue
        if path.suffix == ".py":
            line = MARKED.sub("", line)
        if len(line) > limit and is_breakable(line, limit):
            found.append(number)
    return found


def wrap(text: str, first: str, rest: str, width: int) -> list[str]:
    """Lines of a paragraph that begin with `first` and `rest`."""
    lines, line = [], first
    for word in joined(text).split(" "):
        begins_list = re.match(r"([-*+>#]|1[.)])$", word)
        if (
            line.strip()
            and len(line) + len(word) + 1 > width
            and line not in (first, rest)
            and not begins_list
        ):
            lines.append(line)
            line = rest
        line += word if line in (first, rest) else f" {word}"
    return [line.replace("\0", " ") for line in [*lines, line]]


def break_paragraphs(lines: list[str], width: int) -> list[str]:
    """Breaks paragraphs from their first line that is too long on."""
    done: list[str] = []
    at, in_code = 0, False
    while at < len(lines):
        line = lines[at]
        in_code ^= line.lstrip().startswith("```")
        at += 1
        if in_code or OTHER.match(line) or len(line) <= width or not is_breakable(line, width):
            done.append(line)
            continue
        paragraph = [line]
        while at < len(lines) and not OTHER.match(lines[at]) and not MARKER.match(lines[at]):
            paragraph.append(lines[at])
            at += 1
        marker = MARKER.match(line)
        first = marker.group() if marker else line[: len(line) - len(line.lstrip())]
        indent = paragraph[1] if len(paragraph) > 1 else " " * len(first)
        rest = indent[: len(indent) - len(indent.lstrip())] if len(paragraph) > 1 else indent
        text = " ".join([line[len(first) :], *(part.strip() for part in paragraph[1:])])
        done += wrap(text, first, rest, width)
    return done


def break_comments(lines: list[str], limit: int) -> list[str]:
    """Breaks paragraphs of comments that stand on lines of their own."""
    done: list[str] = []
    at = 0
    while at < len(lines):
        found = COMMENT.match(lines[at])
        if not found:
            done.append(lines[at])
            at += 1
            continue
        prefix, texts = found[1], []
        while at < len(lines) and (found := COMMENT.match(lines[at])) and found[1] == prefix:
            texts.append(found[3])
            at += 1
        done += [f"{prefix} {text}".rstrip() for text in break_paragraphs(texts, limit - len(prefix) - 1)]
    return done


def break_docstrings(lines: list[str], limit: int) -> list[str]:
    """Breaks paragraphs within docstrings, but for the lines that have the quotes."""
    done: list[str] = []
    within: list[str] | None = None
    in_strings = lines_in_strings("\n".join(lines) + "\n")
    for number, line in enumerate(lines, 1):
        is_end = within is not None and '"""' in line
        if is_end or within is None and number not in in_strings and line.count('"""') == 1:
            done += break_paragraphs(within, limit) if within else []
            done.append(line)
            within = [] if within is None else None
        elif within is None:
            done.append(line)
        else:
            within.append(line)
    return done


def fix(path: Path) -> None:
    """Breaks what is too long and can be broken without knowing the language."""
    text = path.read_text()
    lines, limit = text.splitlines(), LIMITS[path.suffix]
    if path.suffix == ".py":
        lines = break_docstrings(lines, limit)
    broken = break_paragraphs(lines, limit) if path.suffix == ".md" else break_comments(lines, limit)
    if (found := "\n".join(broken) + "\n") != text:
        path.write_text(found)


def main() -> int:
    """Prints lines that are too long; gives 1 if there are any."""
    names = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    names = [name for name in names if Path(name).suffix in LIMITS and not name.startswith(WRITTEN)]
    wrong = []
    chosen = [arg for arg in sys.argv[1:] if not arg.startswith("-")]
    for name in names:
        path = ROOT / name
        if not path.exists() or chosen and not name.startswith(tuple(chosen)):
            continue
        found = long_lines(path)
        if found and "--fix" in sys.argv:
            fix(path)
            found = long_lines(path)
        wrong += [f"{name}:{number}: more than {LIMITS[path.suffix]} columns" for number in found]
    print("\n".join(wrong) if wrong else f"{len(names)} files keep to the lengths of lines")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
