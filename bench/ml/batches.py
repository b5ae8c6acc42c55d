"""Batches for training next to ROOT's loader, uproot and Parquet; writes docs/benchmarks/training.md.

Usage: python -m bench.ml.batches [--entries N] [--runs N] [--threads 1,2] [--only NAMES] [--write]

Every program hands out one epoch of batches of 4,096 rows as NumPy arrays, in one process each, after an
epoch that is not measured: rows per second by the clock, and nanoseconds of CPU per row, the best of several
runs, on one thread and on two. Over http, the same files come from a server on this machine, which answers
ranges.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import awkward as ak
import numpy as np
import sapwood
from bench.support.draw import table

DATA = Path(__file__).resolve().parent.parent / "data"
PAGE = Path(__file__).resolve().parents[2] / "docs/benchmarks/training.md"
SERVER = Path(__file__).resolve().parents[2] / "tests/support/ranged.py"
NAMES = [f"c{number}" for number in range(20)]
SIZE, PADDED = 4096, 32

HEAD = """
import sys, time
import numpy as np
root, parquet, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
NAMES, SIZE, PADDED = [f"c{number}" for number in range(20)], 4096, 32
def epoch(make):
    for run in range(2):
        cpu, wall, rows = time.process_time(), time.perf_counter(), 0
        for batch in make():
            rows += len(batch)
        took = time.process_time() - cpu, time.perf_counter() - wall
    print(rows, *took)
"""
SAPWOOD = HEAD + "import sapwood\n"
ITERATE = SAPWOOD + 'epoch(lambda: sapwood.iterate(f"{root}:t", COLUMNS, step_size="50 MB", threads=threads))'
OURS = SAPWOOD + 'epoch(lambda: sapwood.batches(f"{root}:t", COLUMNS, SIZE, threads=threads, HOW))'
CUT = """
def cut(steps, shuffled):
    rng = np.random.default_rng(1)
    for matrix in steps:
        if shuffled:
            matrix = matrix[rng.permutation(len(matrix))]
        for start in range(0, len(matrix), SIZE):
            yield matrix[start : start + SIZE]
epoch(lambda: cut(matrices(), SHUFFLED))
"""
UPROOT = """
import uproot, awkward as ak
def matrices():
    for step in uproot.iterate(f"{root}:t", NAMES, step_size="85 MB"):
        yield np.stack([ak.to_numpy(step[name]) for name in NAMES], axis=1)
"""
PARQUET = """
import pyarrow, pyarrow.parquet as parquets
pyarrow.set_cpu_count(threads)
def matrices():
    for step in parquets.ParquetFile(parquet).iter_batches(batch_size=1 << 20, columns=NAMES, use_threads=threads > 1):
        yield np.stack([column.to_numpy() for column in step.columns], axis=1)
"""
TORCH = """
sys.path.append("/usr/lib/python3/dist-packages")
import warnings
warnings.simplefilter("ignore")
import torch
def batches():
    for matrix in matrices():
        # By DLPack, which also serves a PyTorch that was built for an older NumPy.
        data = torch.utils.data.TensorDataset(torch.from_dlpack(matrix))
        order = torch.randperm(len(data)) if SHUFFLED else range(len(data))
        sampler = torch.utils.data.BatchSampler(order.tolist() if SHUFFLED else order, SIZE, False)
        loader = torch.utils.data.DataLoader(data, sampler=sampler, batch_size=None)
        yield from (batch for (batch,) in loader)
epoch(batches)
"""
ROOT = """
import ROOT
if threads > 1:
    ROOT.EnableImplicitMT(threads)
loader = ROOT.Experimental.ML.RDataLoader
def batches():
    frame = ROOT.RDataFrame("t", root)
    made = loader(frame, batch_size=SIZE, batches_in_memory=250, columns=COLUMNS, MORE shuffle=SHUFFLED,
                  drop_remainder=False, set_seed=1)
    return made.as_numpy()
epoch(batches)
"""


def programs() -> dict[str, dict[str, str]]:
    """For each row of the table the code of each program."""

    def flat(shuffled: bool) -> dict[str, str]:
        how = f"matrix=True, dtype='f4', shuffle={shuffled}"
        return {
            "iterate": ITERATE.replace("COLUMNS", "NAMES"),
            "batches": OURS.replace("COLUMNS", "NAMES").replace("HOW", how),
            "ROOT": HEAD
            + ROOT.replace("COLUMNS", "NAMES").replace("MORE ", "").replace("SHUFFLED", str(shuffled)),
            "uproot": HEAD + (UPROOT + CUT).replace("SHUFFLED", str(shuffled)),
            "Parquet": HEAD + (PARQUET + CUT).replace("SHUFFLED", str(shuffled)),
            "PyTorch": HEAD + PARQUET + TORCH.replace("SHUFFLED", str(shuffled)),
        }

    def lists(shuffled: bool) -> dict[str, str]:
        how = f"pad=PADDED, shuffle={shuffled}"
        more = 'max_vec_sizes={"v": PADDED}, '
        root = ROOT.replace("COLUMNS", '["v"]').replace("MORE ", more).replace("SHUFFLED", str(shuffled))
        return {
            "iterate": ITERATE.replace("COLUMNS", '["v"]'),
            "batches": OURS.replace("COLUMNS", '["v"]').replace("HOW", how),
            "ROOT": HEAD + root,
        }

    return {
        "20 flat columns as a matrix": flat(False),
        "the same, shuffled": flat(True),
        f"lists padded to {PADDED}": lists(False),
        f"lists padded to {PADDED}, shuffled": lists(True),
    }


def write(entries: int) -> tuple[Path, Path]:
    """The files that are read, written once: 20 numbers and a list of 0 to 39 numbers for each entry."""
    import pyarrow.parquet as parquets

    DATA.mkdir(exist_ok=True)
    root, parquet = DATA / f"batches{entries}.root", DATA / f"batches{entries}.parquet"
    if not root.exists() or not parquet.exists():
        rng = np.random.default_rng(1)
        writer = None
        with sapwood.recreate(root, compression="zstd:5") as file:
            for start in range(0, entries, 500_000):
                rows = min(500_000, entries - start)
                counts = rng.integers(0, 40, rows)
                part = {name: rng.normal(size=rows).astype("f4") for name in NAMES}
                lists = ak.unflatten(rng.normal(size=int(counts.sum())).astype("f4"), counts)
                whole = {**part, "v": lists}
                if start == 0:
                    file["t"] = whole
                else:
                    file["t"].extend(whole)
                columns = ak.to_arrow_table(ak.zip(part, depth_limit=1))
                writer = writer or parquets.ParquetWriter(
                    parquet, columns.schema, compression="zstd", compression_level=5
                )
                writer.write_table(columns)
        assert writer is not None
        writer.close()
    return root, parquet


def run(code: str, *arguments: object, runs: int, cores: str) -> tuple[float, float, int]:
    """The least seconds of CPU and by the clock, and the rows that were handed out."""
    command = ["taskset", "-c", cores, sys.executable, "-W", "ignore", "-c", code, *map(str, arguments)]
    found = []
    for _ in range(runs):
        done = subprocess.run(command, capture_output=True, text=True, timeout=3600)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-3000:])
        rows, cpu, wall = done.stdout.split()[-3:]
        found.append((float(cpu), float(wall), int(rows)))
    return min(cpu for cpu, *_ in found), min(wall for _, wall, _ in found), found[0][2]


@contextmanager
def served() -> Iterator[str]:
    """A server of the folder with the data, which answers ranges; its address."""
    command = [sys.executable, str(SERVER), str(DATA), "0"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None and server.stdout is not None
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        server.stdin.close()


NAMED = ["iterate", "batches", "ROOT", "uproot", "Parquet", "PyTorch"]


def measured(
    paths: tuple[object, object], threads: int, arguments: argparse.Namespace, names: list[str]
) -> tuple[list[list[str]], list[list[str]]]:
    """The rows of two tables: a million rows per second, nanoseconds of CPU per row."""
    speeds, costs = [], []
    for row, codes in programs().items():
        found = {
            name: run(code, *paths, threads, runs=arguments.runs, cores="0" if threads == 1 else "0,1")
            for name, code in codes.items()
            if name in names
        }
        for which, tables in ((1, speeds), (0, costs)):
            seconds = {name: one[which] for name, one in found.items()}
            cells = [
                ""
                if name not in found
                else f"{found[name][2] / seconds[name] / 1e6:.2f}"
                if which == 1
                else f"{seconds[name] / found[name][2] * 1e9:.0f}"
                for name in names
            ]
            ratios = [
                f"{seconds[name] / seconds['batches']:.2f}" if name in seconds else ""
                for name in ("iterate", "ROOT")
                if name in names
            ]
            tables.append([row, *cells, *ratios])
            what = "million rows per second" if which == 1 else "ns of CPU per row"
            print(f"{threads} threads, {paths[0]}, {row}, {what}:", *zip(names, cells), *ratios, flush=True)
    return speeds, costs


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entries", type=int, default=4_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--only", default=",".join(NAMED), help="programs that run")
    parser.add_argument("--no-http", action="store_true")
    parser.add_argument("--write", action="store_true", help="write the page")
    arguments = parser.parse_args()
    paths = write(arguments.entries)
    pages = []

    def tables(place: tuple[object, object], threads: int, names: list[str], where: str) -> None:
        ratios = [f"{name} / batches" for name in ("iterate", "ROOT") if name in names]
        head = ["", *names, *ratios]
        speeds, costs = measured(place, threads, arguments, names)
        on = f"{where}, {'one thread' if threads == 1 else f'{threads} threads'}"
        pages.append(f"Million rows per second, {on} (ratios of seconds):\n\n{table(head, speeds)}")
        pages.append(f"Nanoseconds of CPU per row, {on}:\n\n{table(head, costs)}")

    names = [name for name in NAMED if name in arguments.only.split(",")]
    for threads in map(int, arguments.threads.split(",")):
        tables(paths, threads, names, "local files")
        if not arguments.no_http:
            with served() as url:
                # pyarrow does not read over http, and ROOT's wheel comes without its class for that.
                far = [name for name in names if name in ("iterate", "batches", "uproot")]
                tables((f"{url}/{paths[0].name}", paths[1]), threads, far, "http")
    if arguments.write:
        today = datetime.date.today().isoformat()
        PAGE.write_text(
            f"# Batches for training\n\n{arguments.entries:,} entries of 20 numbers of four bytes and a list of 0 to 39 of\n"
            f"them, Zstandard level 5; one epoch of batches of {SIZE:,} rows as NumPy arrays (`python -m bench.ml.batches\n"
            f"--write`, {today}). ROOT is `ROOT.Experimental.ML.RDataLoader` with 250 batches in memory, about the rows that\n"
            "`batches` holds by default; uproot and Parquet hand out what a few lines of NumPy make of their steps, PyTorch\n"
            "is a `DataLoader` over the same steps of Parquet. The server is on the same machine. `iterate` hands out columns as\n"
            "they were decoded; batches copy each number once more, into a matrix or padded lists, and shuffling once again.\n\n"
            + "\n".join(pages)
        )


if __name__ == "__main__":
    main()
