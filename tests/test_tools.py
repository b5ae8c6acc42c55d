"""The checks of the source itself: each finds what it is for, in a small crate that is made for it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import commit_subjects
import layers
import line_lengths
import prose
import run_tests


def crate(tmp_path: Path, files: dict[str, str]) -> layers.Crate:
    source = tmp_path / "planted" / "src"
    for name, text in files.items():
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return layers.Crate(source)


CYCLES = {
    "an import of the parent": {"a/mod.rs": "mod b;\nuse b::B;", "a/b.rs": "use super::A;"},
    "a path through a module below": {"a/mod.rs": "mod b;\nfn f() { b::g() }", "a/b.rs": "use super::f;"},
    "a path through self": {"a/mod.rs": "mod b;\nfn f() { self::b::g() }", "a/b.rs": "use super::f;"},
    "the use of what is exported again": {
        "a/mod.rs": "mod b;\npub use b::B;\nfn f() -> B { B }",
        "a/b.rs": "use super::f;\npub struct B;",
    },
    "code behind tests": {
        "a.rs": "#[cfg(test)]\nmod tests {\n    use super::*;\n}\n\nfn f() { crate::b::g() }",
        "b.rs": "use crate::a::f;",
    },
    "three files": {"a.rs": "use crate::b::B;", "b.rs": "use crate::c::C;", "c.rs": "use crate::a::A;"},
}


@pytest.mark.parametrize("files", CYCLES.values(), ids=CYCLES)
def test_files_that_import_each_other_are_found(tmp_path, files):
    found = layers.file_cycles(crate(tmp_path, {"lib.rs": "", **files}))
    assert found[0] == f"{len(files)} files import each other:"
    assert all(any(f"planted/src/{name} imports" in line for line in found) for name in files)


def test_what_is_no_import_makes_no_cycle(tmp_path):
    files = {
        "lib.rs": "pub mod a;\npub use a::A;",
        "a/mod.rs": "mod b;\npub use b::B;\npub struct A;",
        "a/b.rs": "use super::A;\n// crate::c::C\npub struct B;",
        "c.rs": "use crate::a::B;",
        "a/d.rs": "#[cfg(test)]\nmod tests {\n    use crate::c::C;\n}",
    }
    made = crate(tmp_path, files)
    assert layers.file_cycles(made) == [] and layers.folder_cycles(made) == []


def test_folders_that_import_each_other_are_found(tmp_path):
    files = {
        "lib.rs": "",
        "a/mod.rs": "",
        "a/one.rs": "use crate::b::One;",
        "a/two.rs": "",
        "b/mod.rs": "pub struct One;",
        "b/two.rs": "use crate::a::two::Two;",
    }
    made = crate(tmp_path, files)
    assert layers.file_cycles(made) == []
    found = layers.folder_cycles(made)
    assert found == [
        "planted: a, b import each other:",
        "  planted/src/a/one.rs imports planted/src/b/mod.rs",
        "  planted/src/b/two.rs imports planted/src/a/two.rs",
    ]


def test_only_types_of_a_file_may_be_known_by_what_it_opens(tmp_path):
    file = {"lib.rs": "", "file/mod.rs": "use crate::tree::Tree;", "file/listing.rs": ""}
    known = crate(tmp_path, {**file, "tree.rs": "use crate::file::File;"})
    assert layers.file_cycles(known) + layers.folder_cycles(known) + layers.order(known) == []
    beside = crate(tmp_path, {**file, "tree.rs": "use crate::file::listing::Listing;"})
    assert len(layers.folder_cycles(beside)) == 3
    assert layers.order(beside) == ["planted/src/tree.rs: tree imports file, which comes later"]


def test_subjects_of_commits_name_an_area_and_are_short():
    log = f"a1 cache: merge adjacent ranges\nb2 {'x: ' + 'x' * 70}\nc3 Shorter lines\nd4 Merge branch x\n"
    assert commit_subjects.wrong_subjects(log) == [
        f"b2: 73 characters, 72 at most: {'x: ' + 'x' * 70}",
        "c3: write `area: verb what`: Shorter lines",
    ]


RUST = """
/// What it holds.
const MOST: usize = 1; // where the file ends
fn f() { error("there are none, as many", '"'); let (a, b) = (1, 2); }
/// ```
/// // What is code does not count
/// ```
const TEXT: &str = r#"said "so""#;
"""
PYTHON = '''
"""Of the module."""
X = 1  #: is told
"""Gives the value."""
raise ValueError("a name of its own")
'''
PAGE = """
- What it is
```
told
```
"""
BROKEN = {
    ("crates/core/src/a.rs", RUST): {
        ("no-head", "docstrings", 2),
        ("most", "code", 3),
        ("where", "comments", 3),
        ("is-no", "messages", 4),
        ("as-many", "messages", 4),
        ("pairs", "code", 4),
        ("told", "messages", 8),
    },
    ("crates/core/tests/a.rs", "// is told"): {("told", "tests", 1)},
    ("crates/cli/src/a.rs", "#[derive(Args)]\nstruct A {\n    /// What it is\n    a: u8,\n}"): {
        ("no-head", "help", 3)
    },
    ("crates/python/sapwood/a.py", PYTHON): {
        ("no-head", "docstrings", 2),
        ("told", "comments", 3),
        ("gives", "docstrings", 4),
        ("of-own", "messages", 5),
    },
    ("docs/a.md", PAGE): {("no-head", "pages", 2)},
}


@pytest.mark.parametrize(("source", "found"), BROKEN.items(), ids=[path for path, _ in BROKEN])
def test_phrases_are_counted_by_area(source, found):
    path, text = source
    rules = (*prose.WORDS, *prose.CODE)
    lines = list(prose.lines_of(path, text))
    assert {(rule, x.area, x.number) for rule in rules for x in lines if prose.matches(x, rule)} == found


def test_imports_that_go_upwards_are_found(tmp_path):
    upwards = crate(tmp_path, {"lib.rs": "", "io.rs": "fn f() { crate::tree::g() }", "tree.rs": ""})
    assert layers.order(upwards) == ["planted/src/io.rs: io imports tree, which comes later"]
    unknown = crate(tmp_path, {"lib.rs": "", "elsewhere.rs": ""})
    assert layers.order(unknown)[0] == "planted/src/elsewhere.rs: module elsewhere has no place in the order"


def test_lines_that_are_too_long_are_found_and_broken(tmp_path):
    words = "words " * 30
    text = f'''"""{words}
{words}
"""
x = """
{words}
"""
# {words}
y = [{"1, " * 60}]  # noqa
'''
    path = tmp_path / "long.py"
    path.write_text(text)
    assert line_lengths.long_lines(path) == [2, 7, 8]
    line_lengths.fix(path)
    fixed = path.read_text().splitlines()
    # Lines of code are for their authors.
    assert [fixed[number - 1][:3] for number in line_lengths.long_lines(path)] == ["y ="]
    assert f"{words}" in fixed and fixed.count("# words") == 0


def test_parts_of_the_tests_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(run_tests, "LINES", tmp_path / "lines" / "parts.txt")
    lines = ["test result: FAILED. 3 passed; 1 failed; 0 ignored;", "= 7 passed, 2 skipped in 3.10s ="]
    command = [sys.executable, "-c", f"print(*{lines!r}, sep='\\n'); raise SystemExit(4)"]
    skips = [sys.executable, "-c", "print('SKIPPED [1] a.py:3: no server')"]
    assert run_tests.main(["rust", "--", *command]) == 4
    assert run_tests.main(["python", "--", *skips]) == 0
    capsys.readouterr()
    assert run_tests.main(["show", "rust", "python"]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"rust    10 passed, 1 failed, 2 skipped, \d s FAILED .*", shown[0])
    assert shown[1] == "python  skipped: [1] a.py:3: no server"
    assert run_tests.main(["show", "rust", "python", "docs"]) == 1
    assert "docs    did not run" in capsys.readouterr().out
