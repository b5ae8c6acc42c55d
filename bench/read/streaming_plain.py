"""Compiled programs against a decoder that looks up the type of each value, on the classes of three experiments.

The decoder is `bench/read/plain.cc`; this makes its work list from the infos that a file has of its classes,
compiles it with the libdeflate that Cargo has fetched, and measures both.
"""

from __future__ import annotations

import json
import re
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from bench.support.draw import table
from bench.support.files import DATA, HERE, load_root

#: Of plain.cc, in its order.
KINDS = (
    "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float double double32 TObject object base string TString "
    "list clones"
).split()
#: Types of numbers in infos.
NUMBERS = {
    "char": "int8", "unsigned char": "uint8", "bool": "uint8", "short": "int16", "unsigned short": "uint16",
    "int": "int32", "unsigned int": "uint32", "long": "int64", "unsigned long": "uint64", "Long64_t": "int64",
    "ULong64_t": "uint64", "long long": "int64", "unsigned long long": "uint64", "float": "float", "double": "double",
    "Double32_t": "double32",
}  # fmt: skip
#: Names, how many events, and what writes them; the paper's are some of ATLAS and CMS.
FILES = {"ATLAS-like": ("xaod", 1500), "CMS-like": ("reco", 1500), "ALICE-like": ("esd", 500)}
CODECS = {"raw": 0, "ZLIB-1": 101}
#: Options of plain.cc.
PLAIN = {"plain": [], "plain fresh": ["fresh"]}
WHO = (*PLAIN, "arrays", "iterate", "ROOT")
#: What the members of a TClonesArray are, which an info does not say.
CLONES = {"fTracks": "EsdTrack", "fV0s": "EsdV0", "fClusters": "EsdCluster"}


def node(kind: str, length: int = 1, framed: bool = True, members: list[str] | None = None) -> str:
    members = members or []
    return " ".join([f"{KINDS.index(kind)} {max(length, 1)} {int(framed)} {len(members)}", *members])


class Description:
    """Members of classes in the words of plain.cc, from the infos of a file."""

    def __init__(self, file: Any) -> None:
        self.infos = file.file.streamers

    def members(self, name: str) -> list[str]:
        info = next(iter(self.infos[name].values()))
        return [self.element(element) for element in info.elements]

    def element(self, element: Any) -> str:
        name, length = element.typename, element.array_length
        if element.is_base:
            return (
                node("TObject")
                if element.name == "TObject"
                else node("base", members=self.members(element.name))
            )
        if name.startswith("TClonesArray"):
            return node("clones", members=[node("object", members=self.members(CLONES[element.name]))])
        return self.value(name, length, framed=True)

    def value(self, name: str, length: int, framed: bool) -> str:
        if name in NUMBERS:
            return node(NUMBERS[name], length)
        if name in ("string", "std::string"):
            return node("string", framed=framed)
        if found := re.fullmatch(r"(?:std::)?vector<(.*?) ?>", name):
            return node("list", framed=framed, members=[self.value(found.group(1), 1, framed=False)])
        return node("object", members=self.members(name))


def write_index(path: Path) -> Path:
    """The work list of a file whose branches are whole objects."""
    import sapwood
    import uproot

    ours, raw = Description(sapwood.open(path)), np.memmap(path, dtype=np.uint8, mode="r")
    lines = [f"file {path}"]
    for branch in uproot.open(path)["tree"].branches:
        members = ours.members(branch.member("fClassName"))
        lines.append("branch " + node("object", members=members))
        for k in range(branch.num_baskets):
            seek = int(branch.member("fBasketSeek")[k])
            nbytes, _, objlen, _, keylen = struct.unpack(">ihiIh", raw[seek : seek + 16].tobytes())
            _, _, n, last = struct.unpack(">iiii", raw[seek + keylen - 17 : seek + keylen - 1].tobytes())
            lines.append(f"basket {seek} {nbytes} {keylen} {objlen} {last - keylen} {n}")
    out = path.with_suffix(".index")
    out.write_text("\n".join(lines) + "\n")
    return out


def compiled() -> Path:
    """The decoder, with the source of libdeflate that the engine is built with."""
    target, source = DATA / "build" / "plain", HERE / "read" / "plain.cc"
    if target.exists() and target.stat().st_mtime > source.stat().st_mtime:
        return target
    found = sorted((Path.home() / ".cargo/registry/src").glob("*/libdeflate-sys-*/libdeflate"))
    if not found:
        raise FileNotFoundError("`cargo fetch` brings libdeflate, with which baskets are inflated")
    target.parent.mkdir(parents=True, exist_ok=True)
    lib = found[-1]
    parts = ["adler32", "crc32", "deflate_decompress", "utils", "zlib_decompress"]
    sources = [str(lib / "lib" / f"{part}.c") for part in parts]
    sources += [str(path) for path in sorted(lib.glob("lib/*/cpu_features.c"))]
    objects = target.with_suffix(".objects")
    objects.mkdir(exist_ok=True)
    subprocess.run(["gcc", "-O2", "-c", f"-I{lib}", *sources[:5]], cwd=objects, check=True)
    for i, path in enumerate(sources[5:]):
        subprocess.run(["gcc", "-O2", "-c", f"-I{lib}", path, "-o", f"cpu{i}.o"], cwd=objects, check=True)
    made = [str(path) for path in sorted(objects.glob("*.o"))]
    line = ["g++", "-std=c++17", "-O2", f"-I{lib}", str(source), *made, "-o", str(target)]
    subprocess.run(line, check=True)
    return target


def path_of(name: str, codec: str) -> Path:
    return DATA / "streaming" / f"{FILES[name][0]}_{codec}.root"


def write_files(scale: float) -> None:
    """All files and their work lists."""
    root = load_root(DATA, ["experiments", "streaming"])
    root.TVirtualStreamerInfo.SetStreamMemberWise(True)
    for name, (kind, entries) in FILES.items():
        entries = max(int(entries * scale), 20)
        if kind == "reco":
            root.streaming_make(kind, entries)
        else:
            getattr(root, f"{kind}_make")(entries)
        for codec, number in CODECS.items():
            path = str(path_of(name, codec))
            if kind == "reco":
                root.streaming_write(path, number, 0)
            else:
                getattr(root, f"{kind}_write")(path, number)


def work(job: dict[str, Any]) -> dict[str, Any]:
    """One contender on one file: CPU seconds of some reads, and the sum of all values."""
    path = Path(job["path"])
    if job["who"] == "write":
        write_files(job["scale"])
        return {}
    if job["who"] == "ROOT":
        return by_root(job)
    if job["who"] in PLAIN:
        index = path.with_suffix(".index")
        if not index.exists() or index.stat().st_mtime < path.stat().st_mtime:
            write_index(path)
        line = [str(compiled()), str(index), str(job["repeat"]), *PLAIN[job["who"]]]
        return dict(json.loads(subprocess.run(line, capture_output=True, text=True, check=True).stdout))
    import sapwood
    from bench.read.worker import arrow_total, cpu_seconds

    def tree() -> Any:
        return sapwood.open(path, threads=1)["tree"]

    def iterate() -> None:
        for batch in tree().iterate(library="arrow", step_size="100 MB"):
            len(batch)

    read = iterate if job["who"] == "iterate" else lambda: tree().arrays(library="arrow")
    kept, cpu = [read()], []
    for _ in range(job["repeat"]):
        before = cpu_seconds()
        kept.append(read())
        cpu.append(cpu_seconds() - before)
    return {"cpu": cpu, "sum": arrow_total(tree().arrays(library="arrow"))}


def by_root(job: dict[str, Any]) -> dict[str, Any]:
    """ROOT fills its objects, entry by entry."""
    from bench.read.worker import cpu_seconds

    kind = FILES[job["name"]][0]
    root = load_root(DATA, ["experiments", "streaming"])
    if kind == "reco":
        read = lambda: root.streaming_read(job["path"], kind)  # noqa: E731
    else:
        read = lambda: getattr(root, f"{kind}_read")(job["path"])  # noqa: E731
    read()
    cpu = []
    for _ in range(job["repeat"]):
        before = cpu_seconds()
        read()
        cpu.append(cpu_seconds() - before)
    return {"cpu": cpu}


def section(rows: dict[str, dict[str, float]]) -> str:
    """The table, from CPU seconds of each contender."""
    body = []
    for name, times in rows.items():
        cells = []
        for plain, ours in (("plain fresh", "arrays"), ("plain", "iterate")):
            saved = f"{100 * (1 - times[ours] / times[plain]):.0f} %"
            cells += [f"{times[plain]:.3f}", f"{times[ours]:.3f}", saved]
        body.append([name, *cells, f"{times['ROOT']:.3f}"])
    head = ["CPU seconds", "value by value, fresh memory", "Sapwood arrays", "arrays save"]
    head += ["value by value, memory reused", "Sapwood iterate", "iterate saves", "ROOT GetEntry"]
    return table(head, body)
