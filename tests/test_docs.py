"""The README's Python and shell blocks run, links of all pages lead somewhere, and files that pages name are there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import types
from pathlib import Path

import pytest

sapwood = pytest.importorskip("sapwood")
pytest.importorskip("awkward")

from support import guides  # noqa: E402

REPOSITORY = Path(__file__).resolve().parent.parent
README = (REPOSITORY / "README.md").read_text()
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "tests/*.md", "examples/**/*.md")
    for path in REPOSITORY.glob(pattern)
)


def blocks(language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert found, f"the README has a block of {language}"
    return found


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder from which the README's paths lead to the examples; caches are in it, too."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    (tmp_path / "examples").symlink_to(REPOSITORY / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_python_blocks_run(place: Path) -> None:
    for code in blocks("python"):
        exec(compile(code, "README.md", "exec"), {})
    with sapwood.open(place / "jets.root") as file:
        assert file["jets"].num_entries > 0
        assert file["h"].values().sum() > 0


#: Pages that run from the top downwards, and the packages that they need.
RUNNING = {
    "training.md": (),
    "frame.md": ("hist",),
    "statistics.md": (),
    "tools.md": ("polars", "pyarrow", "duckdb", "hist", "coffea", "h5py"),
    "python.md": ("hist", "pandas"),
    "packed.md": (),
    "compression.md": (),
    "remote.md": ("fsspec", "aiohttp"),
    "first-hour.md": ("hist", "pandas"),
    "coming-from-root.md": ("hist",),
    "coming-from-hadd.md": (),
    "command-line.md": ("pyarrow",),
    "troubleshooting.md": (),
    **{f"concepts/{page.name}": () for page in (REPOSITORY / "docs" / "concepts").glob("*.md")},
}


def run_command(line: str) -> None:
    """Runs a line of a shell."""
    program, *arguments = shlex.split(line, comments=True)
    assert program == "sapwood"
    command = [sys.executable, "-m", "sapwood", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{line}\n{done.stderr}"


@pytest.mark.parametrize("page", RUNNING)
def test_the_blocks_of_a_guide_run_one_after_another(place: Path, page: str) -> None:
    for package in RUNNING[page]:
        pytest.importorskip(package)
    text = (REPOSITORY / "docs" / page).read_text()
    # Classes of a block are looked up in its module.
    module = types.ModuleType("guide")
    module.__dict__["sapwood"] = sapwood
    sys.modules["guide"] = module
    number = 0
    try:
        with guides.prepared(page, place) as given:
            for excuse, language, code in guides.BLOCK.findall(text):
                code = given.words(code)
                if language == "python":
                    module.__dict__.update(given.names(number))
                    number += 1
                if excuse:
                    continue
                if language == "python":
                    exec(compile(code, f"{page}, block {number}", "exec"), module.__dict__)
                    continue
                for line in filter(None, code.splitlines()):
                    run_command(line)
    finally:
        del sys.modules["guide"]


#: Pages of which another test runs the blocks, or which take hours.
ELSEWHERE = {"c.md", "benchmarks.md"}


@pytest.mark.parametrize("page", sorted(path.name for path in (REPOSITORY / "docs").glob("*.md")))
def test_a_block_that_does_not_run_says_why(page: str) -> None:
    text = (REPOSITORY / "docs" / page).read_text()
    if page not in RUNNING and page not in ELSEWHERE:
        silent = [code for excuse, _, code in guides.BLOCK.findall(text) if not excuse]
        assert not silent, f"{page} is not in RUNNING, and a block of it says no reason: {silent[0]}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_blocks_of_python_are_python(page: Path) -> None:
    for code in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        compile(code, str(page), "exec")


def test_commands_run(place: Path) -> None:
    for line in "".join(blocks("sh")).splitlines():
        program, *arguments = shlex.split(line, comments=True)
        if program == "make":
            assert f"\n{arguments[0]}:" in (REPOSITORY / "Makefile").read_text()
            continue
        assert program == "sapwood"
        command = [sys.executable, "-m", "sapwood", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        assert done.stdout, line
    assert sapwood.open(place / "all.root")["Events"].num_entries == 2 * 10


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives to headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = page.parent / path if path else page
        assert there.exists(), f"{target}: no such file"
        if anchor:
            assert anchor in anchors(there), f"{target}: no such heading"


NAMING = [page for page in PAGES if page.name == "architecture.md" or page.parent.name == "format"]


@pytest.mark.parametrize("page", NAMING, ids=lambda page: page.name)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    crates = REPOSITORY / "crates"
    roots = [REPOSITORY, REPOSITORY / "docs", crates / "store/src/xrootd", crates / "python/sapwood"]
    roots += crates.glob("*/src")
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for name in re.findall(r"`([a-z_.]+(?:/[a-z_.-]+)+)/?`", text):
        candidates = [root / f"{name}{suffix}" for root in roots for suffix in ("", ".rs", ".py")]
        assert any(path.exists() for path in candidates), f"{name}: no such file"
