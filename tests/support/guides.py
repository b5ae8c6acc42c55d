"""What the blocks of a guide need: files, names, servers. A page without an entry needs nothing.

A block that cannot run has a line ``<!-- not run: why -->`` before it in the page.
"""

from __future__ import annotations

import dataclasses
import re
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import awkward as ak
import numpy as np
import sapwood

#: Languages whose blocks run.
BLOCK = re.compile(r"^(<!-- not run: .+ -->\n)?```(python|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass
class Prepared:
    """What a page is given."""

    names: Callable[[int], dict[str, Any]] = lambda number: {}
    """Names of Python for the block of that number among those of Python."""
    replaced: dict[str, str] = field(default_factory=dict)
    """Words of blocks, and what stands for them: servers on this machine in place of servers elsewhere."""

    def words(self, code: str) -> str:
        """A block as it runs."""
        for there, here in self.replaced.items():
            code = code.replace(there, here)
        return code


def events(entries: int = 100) -> dict[str, Any]:
    """Columns of something like NanoAOD."""
    random = np.random.default_rng(entries)

    def lists(scale: float) -> Any:
        return ak.unflatten((scale * random.random(counts.sum())).astype("f4"), counts)

    columns: dict[str, Any] = {
        "run": np.full(entries, 1, "i4"),
        "event": np.arange(entries),
        "MET_pt": 200 * random.random(entries),
        "x": random.normal(size=entries),
        "y": random.normal(size=entries),
    }
    for name in ("Muon", "Jet"):
        counts = random.integers(0, 4, entries)
        columns[name] = ak.zip({"pt": lists(100), "eta": lists(4)})
    return columns


def write(path: str | Path, *trees: str, **options: Any) -> None:
    with sapwood.recreate(path, **options) as file:
        for tree in trees:
            file[tree] = events()


@contextmanager
def python(place: Path) -> Iterator[Prepared]:
    import hist

    for path in ("events.root", "run1.root", "run2.root"):
        write(path, "folder/events", "Events")
    columns = events()
    with sapwood.recreate("weights1.root") as out:
        out["tree"] = {"weight": np.ones(100)}
    with sapwood.recreate("calibrated.root") as out:
        out["calibrated"] = {"run": columns["run"], "event": columns["event"], "energy": np.arange(100.0)}
    with sapwood.recreate("unit.root", reproducible=True) as out:
        out.mktree("tree", {"x": "f8"}).extend({"x": [3.0]})
    write("in.root", "events", "Events")
    with sapwood.update("in.root") as out:
        out["old"], out["scratch"], out["anything"] = "an object", "another", "text"
    with sapwood.recreate("other.root") as out:
        out["hists/h"] = np.histogram([1.0, 2.0], 2)
    write("trees.root", "events")
    write("a.root", "Events", "folder/events")
    write("b.root", "Events", "folder/events")
    Path("more.txt").write_text("b.root\n")
    shutil.copy("a.root", "killed.root")

    @dataclass
    class Base:
        run: int

    @dataclass
    class Row:
        a: int

    graph = sapwood.objects.graph([1.0, 2.0], [3.0, 4.0])
    histogram = hist.Hist.new.Reg(2, 0, 1).Double().fill([0.5])
    below = above = np.array([0.1, 0.2])

    def names(number: int) -> dict[str, Any]:
        given: dict[str, Any] = {
            "np": np,
            "hist": hist,
            "dataclass": dataclasses.dataclass,
            "Annotated": Annotated,
        }
        tree = sapwood.open("events.root")["folder/events"]
        given |= {"tree": tree, "other": sapwood.open("calibrated.root"), "executor": ThreadPoolExecutor(2)}
        given |= {
            "numpy_array": np.arange(3),
            "awkward_records": ak.Array([[{"pt": 1.5}], [], [{"pt": 2.5}]]),
        }
        given |= {"more": {"x": [4], "jets": [[{"pt": 3.5}]]}, "content": Path("unit.root").read_bytes()}
        given["steps"] = [{"x": [1.0], "hits": [[1.5]], "name": ["a"], "Muon": [[{"pt": 1.0, "eta": 2.0}]]}]
        given |= {"rows": columns, "weights": np.ones(100), "Base": Base, "Row": Row, "graph": graph}
        given |= {
            "histogram": histogram,
            "hist_or_boost_histogram": histogram,
            "below": below,
            "above": above,
        }
        given |= {"x": np.array([1.0, 2.0]), "y": np.array([3.0, 4.0])}
        if number == 9:  # reads what the block before wrote
            with sapwood.update("out.root") as out:
                out["plain"] = {"a": [1, 2, 3]}
            given["file"] = sapwood.open("out.root")
        return given

    yield Prepared(names)


@contextmanager
def tools(place: Path) -> Iterator[Prepared]:
    table = ak.Array({"run": [1, 1], "met": [10.0, 30.0]})
    ak.to_parquet(table, "run1.parquet")
    with sapwood.recreate("run1.root") as file:
        file["events"] = table
    yield Prepared()


@contextmanager
def packed(place: Path) -> Iterator[Prepared]:
    shutil.copy("examples/data/nano.root", "events.root")
    yield Prepared()


@contextmanager
def compression(place: Path) -> Iterator[Prepared]:
    with sapwood.recreate("events.root", compression="none") as file:
        file["Events"] = {"run": np.arange(20_000) // 100, "hits": np.arange(20_000) % 7}
    with sapwood.recreate("in.root") as file:
        file["t"] = {"x": [1.0, -1.0], "Muon_pt": [0.5, 1.5]}
    columns = {"x": [1.0, 2.0], "Muon_pt": [0.5, 1.5]}
    yield Prepared(lambda number: {"columns": columns, "types": {"run": "i4", "hits": "var * f4"}})


@contextmanager
def remote(place: Path) -> Iterator[Prepared]:
    import fsspec

    from support import ranged

    write("run1.root", "Events", "events")
    write("run2.root", "Events", "events")
    fsspec.filesystem("memory").put("run1.root", "/run1.root")
    with ranged.serving(place) as server:
        url = server.url
        yield Prepared(
            lambda number: {"url": f"{url}/run1.root:Events", "fsspec": fsspec},
            {
                "https://example.org/data": url,
                "root://a.example.org//run1.root": f"{url}/run1.root",
                "https://b.example.org": url,
                "/scratch/me/cache": str(place / "cache"),
                "/scratch/run1.root": "run1.root",
                "https://example.org": url,
                "URL:Events": f"{url}/run1.root:Events",
            },
        )


@contextmanager
def training(place: Path) -> Iterator[Prepared]:
    for path in ("run1.root", "run2.root"):
        write(path, "Events")
    yield Prepared()


PAGES: dict[str, Callable[[Path], Any]] = {
    "frame.md": training,
    "training.md": training,
    "tools.md": tools,
    "python.md": python,
    "packed.md": packed,
    "compression.md": compression,
    "remote.md": remote,
}


@contextmanager
def prepared(page: str, place: Path) -> Iterator[Prepared]:
    """What a page needs, until the end of the block; the current folder is ``place``."""
    if page not in PAGES:
        yield Prepared()
        return
    with PAGES[page](place) as found:
        yield found
