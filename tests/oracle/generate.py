#!/usr/bin/env python3
"""Let real ROOT write the oracle cases, and dump what ROOT itself reads back from them.

    python tests/oracle/generate.py DIRECTORY [--only PART_OF_A_NAME]

Each case becomes DIRECTORY/<name>.root and DIRECTORY/<name>.json. Sources are copied into DIRECTORY/build and
compiled there, once; nothing is written into the checkout. The dumps come from other processes than the
files, so that ROOT reads what is in the file and not what the writer left in memory.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SOURCES = ["cases.h", "dump.h", "cases.C", "packed.C", "objects.py", "generate.py"]
CODECS = {"none": 0, "zlib": 101, "lzma": 207, "lz4": 404, "zstd": 505}
SPLITS = [0, 1, 99]
LIBRARIES = ["cases", "packed"]


def fingerprint() -> str:
    """Changes when a file of the generator changes: the name of a cache folder."""
    h = hashlib.sha256()
    for name in SOURCES:
        h.update((HERE / name).read_bytes())
    return h.hexdigest()[:16]


def load_root(build: Path, libraries: list[str], compile_now: bool = False) -> Any:
    warnings.simplefilter("ignore")  # the wheel calls itself an alpha
    import ROOT

    ROOT.PyConfig.IgnoreCommandLineOptions = True
    ROOT.gROOT.SetBatch(True)
    ROOT.TH1.AddDirectory(False)
    ROOT.gEnv.SetValue("Root.Stacktrace", "0")
    ROOT.gErrorIgnoreLevel = ROOT.kError
    for name in libraries:
        if compile_now:
            shutil.copy(HERE / f"{name}.C", build)
            for header in ("cases.h", "dump.h"):
                shutil.copy(HERE / header, build)
            ROOT.gSystem.SetFlagsOpt("-O0")  # the dictionary is large, the work is small
            if not ROOT.gSystem.CompileMacro(str(build / f"{name}.C"), "kgs"):
                raise SystemExit(f"ACLiC cannot compile {name}.C")
        elif ROOT.gSystem.Load(str(build / f"{name}_C.so")) < 0:
            raise SystemExit(f"cannot load {name}_C.so")
    return ROOT


def cases() -> dict[str, Callable[[Any, str], None]]:
    """Name of the file -> how ROOT writes it."""
    import objects

    out: dict[str, Callable[[Any, str], None]] = {}
    for codec, number in CODECS.items():
        out[f"leaves_{codec}"] = lambda R, p, c=number: R.leaves(p, c, False)
        if codec not in ("none", "lzma"):  # a chain of blocks; lzma is slow and shows nothing new
            out[f"large_{codec}"] = lambda R, p, c=number: R.large(p, c)
    out["leaves_offset_map"] = lambda R, p: R.leaves(p, 101, True)
    out["leaves_offset_map_raw"] = lambda R, p: R.leaves(p, 0, True)
    out["ntuples"] = lambda R, p: R.ntuples(p)
    out["odd"] = lambda R, p: R.odd(p)
    out["unclosed"] = lambda R, p: R.unclosed(p + ".writing", p)
    for split in SPLITS:
        out[f"old_branches_split{split}"] = lambda R, p, s=split: R.old_branches(p, s)
        for how in ("object", "member"):
            member = how == "member"
            out[f"collections_split{split}_{how}wise"] = lambda R, p, s=split, m=member: R.collections(
                p, s, m, 101
            )
            out[f"classes_split{split}_{how}wise"] = lambda R, p, s=split, m=member: R.classes(
                p, s, m, m, 101
            )
            out[f"packed_split{split}_{how}wise"] = lambda R, p, s=split, m=member: R.packed(p, s, m)
    out["collections_lz4"] = lambda R, p: R.collections(p, 99, True, 404)
    out["classes_zstd"] = lambda R, p: R.classes(p, 99, True, True, 505)
    for name, write in objects.CASES.items():
        out[name] = write
    return out


def _write(R: Any, name: str, path: str) -> None:
    cases()[name](R, path)


def _dump(R: Any, name: str, path: str) -> None:
    import objects

    out = path.removesuffix(".root") + ".json"
    if name in objects.CASES:
        Path(out).write_text(json.dumps(objects.dump(R, path)))
    else:
        R.gErrorIgnoreLevel = R.kFatal  # TBufferJSON complains of what it leaves out; the comparison knows it
        R.dump_trees(path, out)
        with open(out, encoding="utf-8") as f:
            json.load(f)  # a dump that is no JSON must fail here, where the reason is known


def library_of(name: str) -> str:
    """Never both: to ROOT, a vector of Double32_t and one of double are then the same class."""
    return "packed" if name.startswith("packed") else "cases"


def _child(
    work: Callable[[Any, str, str], None], build: Path, jobs: list[tuple[str, str]], pipe: Any
) -> None:
    sys.path.insert(0, str(HERE))
    R = load_root(build, [library_of(jobs[0][0])])
    for name, path in jobs:
        pipe.send((name, "began"))
        try:
            work(R, name, path)
        except BaseException as e:
            pipe.send((name, f"{type(e).__name__}: {e}"))
        else:
            pipe.send((name, ""))


def run(
    work: Callable[[Any, str, str], None], build: Path, jobs: list[tuple[str, str]], what: str
) -> list[str]:
    """All jobs in one other process (starting ROOT takes longer than most of them); when ROOT crashes in one, the rest
    goes on in a new process. Returns what failed."""
    context = multiprocessing.get_context("spawn")
    failed, left = [], list(jobs)
    while left:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_child, args=(work, build, left, theirs))
        process.start()
        theirs.close()
        current, ended = "", set()
        while True:
            try:
                if not ours.poll(240):
                    process.kill()
                name, message = ours.recv()
            except EOFError:
                break
            if message == "began":
                current = name
                continue
            current = ""
            ended.add(name)
            if message:
                failed.append(f"{name}: {what}: {message}")
        process.join()
        if current:
            failed.append(f"{current}: {what} died (exit code {process.exitcode})")
            ended.add(current)
        elif not ended:
            failed.append(f"ROOT does not start (exit code {process.exitcode})")
            break
        left = [j for j in left if j[0] not in ended]
    return failed


def compile_classes(build: Path) -> None:
    """In a process of its own: the one that built a library has its classes from the interpreter too."""
    if all((build / f"{n}_C.so").exists() for n in LIBRARIES):
        return
    build.mkdir(parents=True, exist_ok=True)
    for name in LIBRARIES:
        process = multiprocessing.get_context("spawn").Process(target=load_root, args=(build, [name], True))
        process.start()
        process.join()
        if process.exitcode != 0:
            raise RuntimeError(f"ACLiC cannot compile {name}.C")


def generate(directory: Path, only: str = "") -> list[str]:
    """Write all cases and their dumps; returns one line for each that failed."""
    build = directory / "build"
    compile_classes(build)
    jobs = [(n, str(directory / f"{n}.root")) for n in cases() if only in n]
    failed: list[str] = []
    for library in LIBRARIES:
        mine = [j for j in jobs if library_of(j[0]) == library]
        failed += run(_write, build, mine, "writing")
        lost = {f.split(":")[0] for f in failed}
        failed += run(_dump, build, [j for j in mine if j[0] not in lost], "reading back")
    return failed


def main() -> int:
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("directory", type=Path)
    ap.add_argument("--only", default="", help="only cases whose name contains this")
    args = ap.parse_args()
    failed = generate(args.directory.resolve(), args.only)
    print("\n".join(failed) if failed else "all cases written and read back")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    sys.exit(main())
