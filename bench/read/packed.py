#!/usr/bin/env python3
"""Measure packed files beside baskets, and a trained dictionary; write docs/benchmarks/packed.md.

    python -m bench.read.packed [--events 12000] [--rounds 3]

The input is made once: charged particles of Pythia 8 events, in a ROOT file without compression. `baskets` is
the same file with baskets of so many bytes, compressed by ZSTD-5 of ROOT (level 10 of zstd); `SquashFS` and
`pack` hold the plain file in blocks of so many bytes at the same level of zstd. SquashFS is read in user
space, by Sapwood: nothing is mounted. Each number is the median of the rounds, in a process of its own that
reads the file once before; files are in the page cache. Bytes are those that the process read from the file
system (`rchar` of /proc/self/io), so that they are what a cold disk or a server would be asked for.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # NumPy's idle threads would spin, and their CPU time count

from bench.read.run import HERE, machine
from bench.read.worker import cpu_seconds
from bench.support.draw import table
from bench.support.files import DATA

FOLDER = DATA / "packed"
TARGET = HERE.parent / "docs" / "benchmarks" / "packed.md"
LEVEL = 10
SIZES = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20]
STEPS = [1, 10, 100]
USUAL, SMALL = 32_000, 4 << 10
"""Bytes of ROOT's baskets, and of those in a file that is packed for single entries: a basket is read whole, packed or not."""


def make(events: int) -> Path:
    """The plain file, unless it is there."""
    path = FOLDER / f"plain_{events}.root"
    if path.exists():
        return path
    FOLDER.mkdir(parents=True, exist_ok=True)
    import awkward as ak
    import numpy as np
    import pythia8mc
    import sapwood

    pythia = pythia8mc.Pythia("", False)
    for line in ("Beams:eCM = 13000", "HardQCD:all = on", "PhaseSpace:pTHatMin = 30", "Print:quiet = on"):
        pythia.readString(line)
    pythia.init()
    counts, rows = [], []
    for _ in range(events):
        pythia.next()
        kept = [p for p in pythia.event if p.isFinal() and p.isCharged()]
        counts.append(len(kept))
        rows += [(p.pT(), p.eta(), p.phi(), p.id()) for p in kept]
    table = np.array(rows)
    columns = {
        name: ak.unflatten(table[:, i].astype("i4" if name == "id" else "f4"), counts)
        for i, name in enumerate(("pt", "eta", "phi", "id"))
    }
    types = {"pt": "var * float32", "eta": "var * float32", "phi": "var * float32", "id": "var * int32"}
    with sapwood.recreate(path, compression=None) as file:
        file.mktree("events", types).extend(columns)
    return path


def rebuilt(path: Path, basket_bytes: int, compression: str | None) -> Path:
    """The same events in baskets of so many bytes."""
    import sapwood

    made = path.with_name(f"{path.stem}_{basket_bytes}_{(compression or 'none').replace(':', '')}.root")
    if not made.exists():
        sapwood.rewrite(path, made, compression=compression, basket_bytes=basket_bytes)
    return made


def variants(path: Path, plain: Path, size: int) -> dict[str, tuple[str, Path]]:
    """Places and files of the three forms in blocks of so many bytes: baskets, and a plain file in an image and packed."""
    import sapwood

    baskets = rebuilt(path, size, "zstd:5")
    image, packed = (FOLDER / f"{plain.stem}_{size}.{end}" for end in ("sqfs", "root.zst"))
    if not image.exists():
        line = ["mksquashfs", plain, image, "-comp", "zstd", "-Xcompression-level", LEVEL, "-b", size]
        subprocess.run([*map(str, line), "-quiet", "-no-progress"], check=True, stdout=subprocess.DEVNULL)
    if not packed.exists():
        sapwood.pack(plain, packed, block=size, level=LEVEL)
    return {
        "baskets": (str(baskets), baskets),
        "SquashFS": (f"{image}:{plain.name}", image),
        "pack": (str(packed), packed),
    }


def worker(place: str, step: int, rounds: int) -> dict[str, float]:
    import sapwood

    def read() -> None:
        with sapwood.open(place, threads=1) as file:
            file["events"].arrays(entries=slice(None, None, step))

    read()
    wall, cpu, before = [], [], rchar()
    for _ in range(rounds):
        began, used = time.perf_counter(), cpu_seconds()
        read()
        wall.append(time.perf_counter() - began)
        cpu.append(cpu_seconds() - used)
    total = rchar() - before
    return {"wall": statistics.median(wall), "cpu": statistics.median(cpu), "bytes": total / rounds}


def rchar() -> int:
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("rchar")))


def measure(place: str, step: int, rounds: int) -> dict[str, float]:
    line = [
        sys.executable,
        "-m",
        "bench.read.packed",
        "--worker",
        place,
        "--step",
        str(step),
        "--rounds",
        str(rounds),
    ]
    done = subprocess.run(line, capture_output=True, text=True, check=True, cwd=HERE.parent)
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer


def dictionary(plain: Path) -> list[list[str]]:
    """Blocks with and without a trained dictionary, compressed and inflated one by one."""
    import pyzstd

    content = plain.read_bytes()
    rows = []
    for size in (4 << 10, 8 << 10, 16 << 10):
        blocks = [content[at : at + size] for at in range(0, len(content), size)]
        began = time.perf_counter()
        trained = pyzstd.train_dict(blocks[:: max(len(blocks) * size // (8 << 20), 1)], 110 << 10)
        training = time.perf_counter() - began
        row = [f"{size >> 10} KiB"]
        for found in (None, trained):
            began = time.perf_counter()
            frames = [pyzstd.compress(block, LEVEL, found) for block in blocks]
            compressed = time.perf_counter() - began
            began = time.perf_counter()
            for frame in frames:
                pyzstd.decompress(frame, found)
            inflated = time.perf_counter() - began
            stored = sum(map(len, frames)) + (len(found) if found else 0)
            row += [f"{stored / len(content):.3f}", f"{compressed:.2f}", f"{inflated:.2f}"]
        rows.append([*row, f"{training:.2f}"])
    return rows


def unit(size: int) -> str:
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def page(path: Path, events: int, rounds: int) -> str:
    whole = path.stat().st_size
    usual, plain, small = (
        rebuilt(path, USUAL, "zstd:5"),
        rebuilt(path, USUAL, None),
        rebuilt(path, SMALL, None),
    )
    base = measure(str(usual), 1, rounds)
    files = [
        ("baskets of 32 kB, ZSTD-5", str(usual), usual),
        ("the same without compression", str(plain), plain),
    ]
    for size in SIZES:
        place, file = variants(path, plain, size)["pack"]
        files.append((f"packed in blocks of {unit(size)}", place, file))
    sequential = []
    for name, place, file in files:
        found = measure(place, 1, rounds)
        times = [f"{found[key]:.3f}" for key in ("cpu", "wall")]
        sequential.append(
            [name, f"{file.stat().st_size / whole:.3f}", *times, f"{found['cpu'] / base['cpu']:.2f}"]
        )
    tables: dict[int, list[list[str]]] = {step: [] for step in STEPS}
    for size in SIZES:
        forms = variants(path, small, size)
        for step in STEPS:
            row = [unit(size)]
            for place, file in forms.values():
                found = measure(place, step, rounds)
                row += [f"{file.stat().st_size / whole:.3f}"] if step == 1 else []
                row += [f"{found['bytes'] / 1e6:.2f}", f"{found['cpu']:.3f}"]
            tables[step].append(row)
    about = machine()
    names = ["baskets", "SquashFS", "pack"]
    sized = [f"{name} {what}" for name in names for what in ("size", "MB", "s")]
    unsized = [f"{name} {what}" for name in names for what in ("MB", "s")]
    command = f"python -m bench.read.packed --events {events} --rounds {rounds}"
    return f"""# Packed files

`{command}` on {about.get("cpu", "")}, {os.cpu_count()} cores: the charged particles of {events} events of
Pythia 8 (hard QCD, 13 TeV; four branches of lists), {whole / 1e6:.1f} MB without compression. One codec and level throughout: zstd 10, which
is ROOT's ZSTD-5. *Baskets* are compressed in the ROOT file; *SquashFS* (`mksquashfs -b`) and *pack* (`sapwood pack --block`) hold a
plain file in blocks of so many bytes, which has baskets of 4 KiB except in the first table. Nothing is mounted: Sapwood reads the image in user space. Sizes are parts of the plain file;
MB are what the process read from the file system; seconds are CPU, of opening and reading all branches as Awkward Arrays with
`threads=1`. Files are in the page cache; medians of {rounds}.

## All events, one after another

{table(["", "size", "CPU s", "wall s", "CPU, of the first"], sequential)}

## All events

{table(["block or basket", *sized], tables[1])}

## Every tenth event

{table(["block or basket", *unsized], tables[10])}

## Every hundredth event

{table(["block or basket", *unsized], tables[100])}

## A trained dictionary

Each block compressed by itself at level {LEVEL} by pyzstd, without and with a dictionary of 110 KiB that is trained on blocks of the same
file (its size is counted). Sizes are parts of the plain file, times seconds for the whole file on one core.

{
        table(
            ["block", "size", "compress", "inflate", "size with", "compress with", "inflate with", "train"],
            dictionary(small),
        )
    }
"""


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--events", type=int, default=12_000)
    given.add_argument("--rounds", type=int, default=3)
    given.add_argument("--prepare", action="store_true", help="make the files and measure nothing")
    given.add_argument("--worker", help=argparse.SUPPRESS)
    given.add_argument("--step", type=int, default=1, help=argparse.SUPPRESS)
    arguments = given.parse_args()
    if arguments.worker:
        print(json.dumps(worker(arguments.worker, arguments.step, arguments.rounds)))
        return
    plain = make(arguments.events)
    if arguments.prepare:
        for basket_bytes in (USUAL, SMALL):
            for size in SIZES:
                variants(plain, rebuilt(plain, basket_bytes, None), size)
        rebuilt(plain, USUAL, "zstd:5")
        return
    TARGET.write_text(page(plain, arguments.events, arguments.rounds))


if __name__ == "__main__":
    main()
