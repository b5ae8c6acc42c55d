"""Draws the pictures of docs/concepts: python tools/concept_pictures.py

What a picture says of a file is read from a file that is made for it, with the package itself. All are narrow
enough for a phone.
"""

from __future__ import annotations

import html
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import sapwood

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images" / "concepts"
WIDTH = 420
#: Fill and ink of what a box stands for.
COLOURS = {
    "plain": ("#eef0f3", "#2b3440"),
    "a": ("#cfe3f7", "#173f66"),
    "b": ("#ffe0b8", "#6b3d00"),
    "c": ("#d3efd0", "#1f5220"),
    "d": ("#f3d2dd", "#6b1a37"),
    "gone": ("#ffffff", "#8a939e"),
}


class Picture:
    """Boxes, words and arrows, from the top downwards."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.parts: list[str] = []
        self.bottom = 0.0

    def box(self, place: tuple[float, float, float, float], words: str = "", colour: str = "plain") -> None:
        x, y, width, height = place
        fill, ink = COLOURS[colour]
        dashes = ' stroke-dasharray="3 2"' if colour == "gone" else ""
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="3" fill="{fill}" '
            f'stroke="{ink}" stroke-width="0.8"{dashes}/>'
        )
        if words:
            self.words(x + width / 2, y + height / 2 + 4, words, "middle", ink)
        self.bottom = max(self.bottom, y + height)

    def words(self, x: float, y: float, text: str, anchor: str = "start", ink: str = "#2b3440") -> None:
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{ink}">{html.escape(text)}</text>'
        )
        self.bottom = max(self.bottom, y + 4)

    def arrow(self, points: list[tuple[float, float]]) -> None:
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{line}" fill="none" stroke="#5b6672" marker-end="url(#tip)"/>')

    def line(self, x: float, top: float, bottom: float) -> None:
        self.parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}" stroke="#a01f3c" '
            'stroke-dasharray="4 3"/>'
        )

    def save(self, name: str) -> None:
        height = self.bottom + 12
        text = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
            f'font-family="sans-serif" font-size="12"><title>{html.escape(self.title)}</title>'
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0 0 8 4 0 8z" fill="#5b6672"/></marker></defs>'
            f'<rect width="{WIDTH}" height="{height:.0f}" fill="#fff"/>{"".join(self.parts)}</svg>\n'
        )
        place = IMAGES / f"{name}.svg"
        place.write_text(text)
        print(place.name, len(text))


def sapwood_map(path: Path) -> Any:
    command = [sys.executable, "-m", "sapwood", "map", "--json", str(path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def inside(folder: Path) -> None:
    """The records of a small file, in the order in which they stand."""
    path = folder / "small.root"
    with sapwood.recreate(path) as file:
        file.mktree("events", {"run": np.arange(500, dtype="int32"), "met": np.linspace(0, 99, 500)})
        file["h"] = np.histogram([1.0, 2.0, 2.5], 4)
    picture = Picture("The records of a small file, from its first byte to its last")
    about = sapwood_map(path)
    picture.words(12, 18, "offset")
    picture.words(84, 18, "record")
    picture.words(WIDTH - 12, 18, "bytes", "end")
    y = 26.0
    rows = [("file header: where the rest is", 0, 100, "a")]
    for record in about["records"]:
        kind, name, at = record.get("class") or "", record.get("name") or "", record["at"]
        words, colour = {
            "": ("free: a later save may use it", "gone"),
            "TBasket": (f"basket of {name}", "b"),
            "TTree": (f"tree {name}: where its baskets are", "c"),
            "TFile": ("the list of keys", "a"),
        }.get(kind, (f"{kind} {name}", "plain"))
        if at == about["header"]["fBEGIN"]:
            words = "the directory at the top"
        elif at == about["header"]["fSeekFree"]:
            words = "the list of free segments"
        elif at == about["header"]["fSeekInfo"]:
            words = "StreamerInfo: the classes"
        rows.append((words, at, record["nbytes"], colour))
    for words, at, size, colour in rows:
        picture.words(12, y + 16, f"{at}")
        picture.box((60, y, WIDTH - 130, 23), words, colour)
        picture.words(WIDTH - 12, y + 16, f"{abs(size)}", "end")
        y += 27
    picture.save("file")


def clusters(folder: Path) -> None:
    """Baskets of three branches, as a real tree has them."""
    path = folder / "clusters.root"
    random = np.random.default_rng(2)
    with sapwood.recreate(path) as file:
        tree = file.mktree(
            "events", {"run": "int32", "met": "float64", "image": "(40,)float64"}, auto_flush=250
        )
        for _ in range(4):
            tree.extend({"run": np.arange(250), "met": random.random(250), "image": random.random((250, 40))})
    layout = sapwood.open(path)["events"].layout()
    picture = Picture("Baskets of three branches in four clusters")
    entries = layout["entries"]
    left, width = 64.0, WIDTH - 64.0 - 14
    picture.words(12, 18, "branch")
    picture.words(WIDTH - 12, 18, "entries to the right", "end")
    y = 30.0
    for branch, colour in zip(layout["branches"], "abc"):
        picture.words(12, y + 20, branch["path"])
        for number, basket in enumerate(branch["baskets"]):
            first, last = basket[:2]
            x, end = left + width * first / entries, left + width * last / entries
            picture.box((x + 1, y, end - x - 2, 30), str(number), colour)
        y += 38
    for cluster in layout["clusters"]:
        picture.line(left + width * cluster["entries"][1] / entries, 24, y)
    picture.words(left, y + 14, "red: a cluster ends, and a basket of every branch with it")
    picture.save("clusters")


def tree_cache(folder: Path) -> None:
    """What is read of a file, with a cache and without."""
    path = folder / "cache.root"
    random = np.random.default_rng(3)
    names = [f"branch{number}" for number in range(12)]
    with sapwood.recreate(path, compression=None) as file:
        tree = file.mktree("events", dict.fromkeys(names, "float64"), auto_flush=1000)
        for _ in range(6):
            tree.extend({name: random.random(1000) for name in names})
    size = path.stat().st_size
    picture = Picture("Reads of a file, entry by entry, without a cache and with one")
    left, width, y = 12.0, WIDTH - 24.0, 12.0
    for title, budget in (("without a cache", 0), ("with a cache of 200 kB", 200_000)):
        tree = sapwood.open(path)["events"]
        tree.cache_size = budget
        with tree.perf as perf:
            for row in tree.rows():
                for name in names:
                    row[name]
        reads = perf.reads
        picture.words(left, y + 10, f"{title}: {len(reads)} reads")
        y += 18
        for read in reads:
            x, end = left + width * read.start / size, left + width * read.stop / size
            picture.box((x, y, max(end - x, 1.5), 2.5), "", "b")
            y += 3
        y += 12
    picture.words(left, y + 2, "offsets in the file to the right, time downwards")
    picture.save("tree-cache")


def member_wise() -> None:
    picture = Picture("Objects one after another, and member by member")
    for y, title, order in (
        (12.0, "object-wise: one object after another", "xyzxyzxyzxyz"),
        (82.0, "member-wise: one member of all objects after another", "xxxxyyyyzzzz"),
    ):
        picture.words(12, y + 12, title)
        counts = dict.fromkeys("xyz", 0)
        for place, member in enumerate(order):
            counts[member] += 1
            colour = {"x": "a", "y": "b", "z": "c"}[member]
            picture.box((12 + place * 33, y + 22, 31, 26), f"{member}{counts[member]}", colour)
    picture.words(12, 148, "Equal kinds side by side compress better, and are copied as a block.")
    picture.save("member-wise")


def random_access() -> None:
    picture = Picture("A basket in one block, and in blocks that end where entries do")
    for y, title, blocks in (
        (12.0, "one block: entry 5 inflates all of it", [(0, 12)]),
        (96.0, "blocks that end where entries do: one is inflated", [(0, 3), (3, 6), (6, 9), (9, 12)]),
    ):
        picture.words(12, y + 12, title)
        for start, stop in blocks:
            hit = start <= 5 < stop
            picture.box((12 + start * 33, y + 20, (stop - start) * 33 - 3, 44), "", "b" if hit else "gone")
        for entry in range(12):
            picture.box((15 + entry * 33, y + 28, 26, 28), str(entry), "d" if entry == 5 else "plain")
    picture.words(12, 184, "orange: bytes that are inflated for one entry")
    picture.save("random-access")


def parallel_writing() -> None:
    picture = Picture("Three threads fill one tree")
    picture.words(12, 22, "thread")
    picture.words(WIDTH - 12, 22, "time to the right", "end")
    lanes = [(0.0, "a", 0), (40.0, "b", 1), (80.0, "c", 2)]
    y = 34.0
    for shift, colour, number in lanes:
        picture.words(12, y + 18, str(number + 1))
        picture.box((40 + shift * 0.4, y, 190, 26), "fill and compress", colour)
        picture.box((232 + shift * 0.9, y, 8, 26), "", "d")
        picture.box((242 + shift * 0.9, y, 92, 26), "write baskets", colour)
        y += 36
    picture.words(12, y + 12, "red: the lock; a cluster gets its place in the file and in the tree")
    y += 28
    for number, (_, colour, _) in enumerate(lanes):
        picture.box((12 + number * 132, y, 130, 28), f"cluster {number + 1}", colour)
    picture.words(12, y + 46, "The file: clusters in the order in which they took their places.")
    picture.save("parallel-writing")


def merging() -> None:
    picture = Picture("Baskets of two files become those of one")
    picture.words(12, 22, "a.root")
    picture.words(218, 22, "b.root")
    for column, colour in ((12.0, "a"), (218.0, "b")):
        for number in range(3):
            picture.box((column + number * 64, 30, 60, 28), f"basket {number}", colour)
        picture.box((column, 64, 188, 24), "record of the tree", "plain")
        for number in range(3):
            x = column + number * 64 + 30
            picture.arrow([(x, 92), (12 + (number + (3 if column > 100 else 0)) * 66 + 31, 138)])
    picture.words(12, 134, "")
    for number in range(6):
        picture.box((12 + number * 66, 140, 63, 28), f"basket {number}", "a" if number < 3 else "b")
    picture.box((12, 174, 393, 24), "record of the tree: a new one, for all baskets", "c")
    picture.words(12, 216, "all.root: compressed bytes are copied; only words of keys change.")
    picture.save("merging")


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        inside(Path(folder))
        clusters(Path(folder))
        tree_cache(Path(folder))
    member_wise()
    random_access()
    parallel_writing()
    merging()


if __name__ == "__main__":
    main()
