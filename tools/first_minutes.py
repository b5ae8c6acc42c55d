"""How long the first things take: imports, the command, a first read; and those of other libraries that are installed.

    python tools/first_minutes.py                    # prints a table
    python tools/first_minutes.py --times 40 FILE    # more often; FILE is listed, and has trees

Each line is a new process. The lines take turns, so that what else the machine does meets all of them.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

READ = "import {0}; print(len({0}.open({1!r})['tree'].arrays(library='np')))"


def program(name: str) -> str | None:
    """A command of this Python, of the ROOT that it has, or of the PATH."""
    root = importlib.util.find_spec("ROOT")
    folders = [Path(sys.executable).parent, *map(Path, root.submodule_search_locations or () if root else ())]
    places = [*map(str, folders), *(str(folder / "bin") for folder in folders), os.environ.get("PATH", "")]
    return shutil.which(name, path=os.pathsep.join(places))


def lines(file: str, folder: Path) -> dict[str, list[str]]:
    """The processes, by what the table calls them."""

    def python(code: str) -> list[str]:
        return [sys.executable, "-c", code]

    found = {"`python -c pass`": python("pass")}
    # Importing ROOT alone loads none of its libraries.
    for code in (
        "import numpy",
        "import sapwood",
        "import uproot",
        "import awkward",
        "import polars",
        "from ROOT import TFile",
    ):
        if importlib.util.find_spec(code.split()[1]):
            found[f"`{code}`"] = python(code)
    found["`sapwood.open(FILE).keys()`"] = python(f"import sapwood; sapwood.open({file!r}).keys()")
    for name in ("sapwood", "uproot"):
        if importlib.util.find_spec(name):
            code = READ.format(name, file)
            found[f'`{name}.open(FILE)["tree"].arrays(library="np")`'] = python(code)
    out = str(folder / "out.root")
    commands = {
        "`sapwood --version`": ["sapwood", "--version"],
        "`sapwood ls FILE`": ["sapwood", "ls", file],
        "`rootls FILE`": ["rootls", file],
        "`sapwood merge OUT FILE`": ["sapwood", "merge", "--force", out, file],
        "`hadd OUT FILE`": ["hadd", "-f", out, file],
    }
    for title, (command, *arguments) in commands.items():
        if (place := program(command)) is not None:
            found[title] = [place, *arguments]
    return found


def measure(processes: dict[str, list[str]], times: int) -> dict[str, list[float]]:
    """Milliseconds of each process."""
    # Compiled modules are kept, as those of an installed package are; the first round writes them.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    taken: dict[str, list[float]] = {title: [] for title in processes}
    for turn in range(times + 1):
        for title, process in processes.items():
            begun = time.perf_counter()
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            subprocess.run(process, check=True, env=environment, **quiet)
            if turn:
                taken[title].append(1000 * (time.perf_counter() - begun))
    return taken


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", nargs="?", metavar="FILE", help="a file with a tree of the name `tree`")
    parser.add_argument("--times", type=int, default=20, help="processes for each line")
    options = parser.parse_args()
    import sapwood

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = options.file or str(folder / "file.root")
        if options.file is None:
            with sapwood.recreate(file) as made:
                made["tree"] = {"x": [1.0, 2.0, 3.0], "y": [1, 2, 3]}
        taken = measure(lines(file, folder), options.times)
    size = Path(sapwood._core.__file__).stat().st_size / 1e6
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, Sapwood {sapwood.__version__} "
        f"(extension of {size:.0f} MB); {options.times} processes for each line.\n"
    )
    print("| process | median | least |\n|---|---:|---:|")
    for title, values in taken.items():
        print(f"| {title} | {statistics.median(values):.0f} ms | {min(values):.0f} ms |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
