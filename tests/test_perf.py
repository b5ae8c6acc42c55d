"""What reading costs: figures by ROOT's names, ranges, pictures, and two runs side by side."""

from __future__ import annotations

import json
import math
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from support.rootrun import root

sapwood = pytest.importorskip("sapwood")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "perf.root"
    with sapwood.recreate(found, compression="zlib:1") as file:
        tree = file.mktree("t", {name: "f8" for name in "abcd"}, auto_flush=1_000)
        chance = np.random.default_rng(1)
        tree.extend({name: chance.random(10_000) for name in "abcd"})
    return found


def test_figures_are_exact(path: Path) -> None:
    tree = sapwood.open(path, threads=1)["t"]
    with tree.perf as perf:
        tree.arrays(["a", "c"])
    figures = perf.figures
    baskets = [
        basket
        for branch in tree.layout()["branches"]
        if branch["path"] in "ac"
        for basket in branch["baskets"]
    ]
    used = sum(nbytes for *_, nbytes in baskets)
    assert (figures["N leaves"].value, len(baskets)) == (2, 20)
    assert figures["ReadTotal"].value == pytest.approx((used + sum_of_gaps(perf, baskets)) / 1e6)
    assert figures["Thrown away"].value == pytest.approx(sum_of_gaps(perf, baskets) / 1e6)
    # Keys and headers are not compressed away.
    assert 16 * 10_000 / 1e6 < figures["ReadUnZip"].value < 1.05 * 16 * 10_000 / 1e6
    assert figures["ReadCalls"].value == len({read.at for read in perf.reads if read.entry is not None})
    assert sorted(read.entry for read in perf.reads if read.entry is not None)[0] == 0
    for read in perf.reads:
        assert 0 <= read.used_bytes <= read.stop - read.start and read.took >= 0
    assert 0 < figures["Disk Time"].value <= figures["Real Time"].value
    with tree.perf as perf:
        pass
    assert perf.figures["ReadCalls"].value == 0 and perf.reads == []


def sum_of_gaps(perf: Any, baskets: list[Any]) -> int:
    """Bytes that were read and hold none of these baskets."""
    read = sum(read.stop - read.start for read in perf.reads if read.entry is not None)
    return read - sum(nbytes for *_, nbytes in baskets)


def test_nothing_is_recorded_unless_it_is_wanted(path: Path) -> None:
    tree = sapwood.open(path)["t"]
    tree.arrays()
    assert tree.perf.reads == []


def test_what_is_decoded_in_order_counts_once(tmp_path: Path) -> None:
    """Lists of a part of a basket find their places one after the other; whole baskets do at once."""
    with sapwood.recreate(tmp_path / "lists.root") as file:
        file["t"] = {"x": [list(range(row % 7)) for row in range(1_000)]}
    tree = sapwood.open(tmp_path / "lists.root")["t"]
    unpacked = []
    for stop in (1_000, 999):
        with tree.perf as perf:
            tree.arrays(["x"], entry_stop=stop)
        unpacked.append(perf.figures["ReadUnZip"].value)
        assert perf.figures["Decode Time"].value > 0
    assert unpacked[0] == unpacked[1] > 0


def marks(picture: str, colour: str) -> int:
    """Marks of a picture in a colour."""
    return sum(
        1
        for mark in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}rect")
        if mark.get("fill") == colour
    )


USED, TIME = "#2166ac", "#d73027"


def ranges(picture: str) -> int:
    """Marks of a picture that are ranges, pale or not."""
    fills = [
        mark.get("fill") for mark in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}rect")
    ]
    return sum(fill not in (TIME, "#fff", "none") for fill in fills)


def png_size(content: bytes) -> tuple[int, int]:
    """Width and height of a PNG whose chunks are whole."""
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    at, kinds, rows = 8, [], b""
    while at < len(content):
        (length,) = struct.unpack_from(">I", content, at)
        kind, body = content[at + 4 : at + 8], content[at + 8 : at + 8 + length]
        assert struct.unpack_from(">I", content, at + 8 + length) == (zlib.crc32(kind + body),)
        kinds.append(kind)
        rows += body if kind == b"IDAT" else b""
        at += 12 + length
    assert kinds == [b"IHDR", b"IDAT", b"IEND"]
    width, height = struct.unpack_from(">II", content, 16)
    assert len(zlib.decompress(rows)) == height * (1 + 3 * width)
    return width, height


def test_two_runs_side_by_side(path: Path, tmp_path: Path) -> None:
    tree = sapwood.open(path, threads=1)["t"]
    for cache, name in ((0, "before"), ("30 MB", "after")):
        tree.cache_size = cache
        with tree.perf as perf:
            tree.arrays(["a"])
        perf.save(tmp_path / f"{name}.root")
    before, after = (sapwood.perf.load(tmp_path / f"{name}.root") for name in ("before", "after"))
    both = after.beside(before)
    calls = both["ReadCalls"]
    assert calls.before == 10 and calls.after < 10, "a basket a call, or as many as a window needs"
    assert calls.ratio == calls.after / calls.before and both["ReadTotal"].unit == "MBytes"
    assert perf.beside(tmp_path / "before.root") == both, (
        "a run may be named by its path, and be one that was just recorded"
    )
    assert "ReadCalls" in str(both) and "before: " in str(both)
    alone, together = before.svg(), both.svg(tmp_path / "both.svg")
    assert ranges(alone) == 10 and ranges(together) == 10 + after.figures["Ranges"].value
    assert (tmp_path / "both.svg").read_text(encoding="utf-8") == together
    (width, height), two = png_size(before.png()), png_size(both.png(tmp_path / "both.png"))
    assert two == (2 * width, height) and (tmp_path / "both.png").exists()


def test_runs_are_kept_whole(path: Path, tmp_path: Path) -> None:
    tree = sapwood.open(path)["t"]
    with tree.perf as perf:
        tree.arrays(["a", "d"])
        for row in tree.rows([7, 9_000, 3]):
            assert row["b"] >= 0
    perf.save(tmp_path / "run.root")
    saved = sapwood.perf.load(f"{tmp_path / 'run.root'}:ioperf")
    assert saved.figures == perf.figures and saved.reads == perf.reads
    assert (saved.title, saved.host) == (perf.title, perf.host) and saved.title.endswith("perf.root/t")
    assert str(saved) == str(perf) and saved.svg() == perf.svg() and saved.png() == perf.png()
    assert sapwood.perf.load((tmp_path / "run.root").read_bytes()).reads == perf.reads
    file = sapwood.open(tmp_path / "run.root")
    assert file["ioperf_reads"].arrays()["used_bytes"].tolist() == [read.used_bytes for read in perf.reads]
    assert sapwood.verify(tmp_path / "run.root") == []
    with pytest.raises(KeyError, match="no TTreePerfStats"):
        sapwood.perf.load(path)
    with pytest.raises(sapwood.errors.MismatchError, match="this is no TTreePerfStats"):
        sapwood.perf.load(tmp_path / "run.root", "ioperf_reads")
    with sapwood.update(tmp_path / "run.root") as many:
        many["another"] = file["ioperf"]
    with pytest.raises(sapwood.errors.MismatchError, match="which run.*another, ioperf"):
        sapwood.perf.load(tmp_path / "run.root")
    assert (
        sapwood.perf.load(tmp_path / "run.root", "another").figures["ReadCalls"] == perf.figures["ReadCalls"]
    )


def test_pale_is_what_nobody_used(path: Path) -> None:
    """A mark has the colour of the share that was used."""
    tree = sapwood.open(path, threads=1)["t"]
    with tree.perf as perf:
        tree.arrays(["a", "c"], entry_stop=1_000)
    wasted = [
        read for read in perf.reads if read.entry is not None and read.used_bytes < read.stop - read.start
    ]
    assert bool(wasted) == (
        marks(perf.svg(), USED) < len([read for read in perf.reads if read.entry is not None])
    )
    assert marks(perf.svg(), TIME) > 0


def test_the_command(path: Path, tmp_path: Path) -> None:
    def run(*arguments: object, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "sapwood", "perf", *map(str, arguments)], capture_output=True, text=True
        )
        assert done.returncode == code, done.stderr
        return done.stderr if code else done.stdout

    told = json.loads(run(path, "a", "b", "--json", "--threads", 1))
    assert told["figures"]["N leaves"]["value"] == 2
    before, after = tmp_path / "before.root", tmp_path / "after.root"
    first = run(
        path,
        "--tree-cache",
        0,
        "--save",
        before,
        "--svg",
        tmp_path / "reads.svg",
        "--png",
        tmp_path / "reads.png",
    )
    assert run(before) == run(f"{before}:ioperf") == first
    assert (
        max(entry for entry, *_ in json.loads(run(before, "--json"))["reads"] if entry is not None) == 9_000
    )
    run(before, "--svg", tmp_path / "again.svg", "--png", tmp_path / "again.png")
    assert (tmp_path / "again.svg").read_text() == (tmp_path / "reads.svg").read_text()
    assert (tmp_path / "again.png").read_bytes() == (tmp_path / "reads.png").read_bytes()
    beside = run(path, "--against", before, "--save", after)
    line = next(line.split() for line in beside.splitlines() if line.startswith("ReadCalls"))
    assert int(line[1]) == 40 and int(line[2]) < 40
    assert run(after, "--against", before) == beside
    both = json.loads(run(after, "--against", before, "--json"))
    assert both["figures"]["ReadCalls"]["before"] == 40 and both["before"]["reads"] != both["after"]["reads"]
    run(after, "--against", before, "--svg", tmp_path / "both.svg", "--png", tmp_path / "both.png")
    assert ranges((tmp_path / "both.svg").read_text()) > ranges((tmp_path / "reads.svg").read_text())
    assert (
        png_size((tmp_path / "both.png").read_bytes())[0]
        == 2 * png_size((tmp_path / "reads.png").read_bytes())[0]
    )
    assert "no branches are read" in run(before, "a", code=1)
    assert "no TTreePerfStats" in run(path, "--against", path, code=1)


def test_real_root_shows_what_we_save(path: Path, tmp_path: Path) -> None:
    tree = sapwood.open(path, threads=1)["t"]
    tree.cache_size = 0
    with tree.perf as perf:
        tree.arrays(["a", "c"])
    perf.save(tmp_path / "run.root")
    lines = """
file = ROOT.TFile(sys.argv[1])
stats = file.Get("ioperf")
ROOT.gSystem.RedirectOutput(sys.argv[3])
stats.Print("unzip")
ROOT.gROOT.ProcessLine("gSystem->RedirectOutput(nullptr);")
io, time = stats.GetGraphIO(), stats.GetGraphTime()
canvas = ROOT.TCanvas()
stats.Draw()
canvas.SaveAs(sys.argv[2])
graphs = [[list(graph.GetX()), list(graph.GetY()), list(graph.GetEY())] for graph in (io, time)]
reads = file.Get("ioperf_reads")
answer([
    stats.ClassName(), stats.GetName(), stats.GetHostInfo(), io.GetTitle(), graphs,
    [stats.GetTreeCacheSize(), stats.GetNleaves(), stats.GetReadCalls(), stats.GetBytesRead(), stats.GetBytesReadExtra()],
    [stats.GetRealTime(), stats.GetCpuTime(), stats.GetDiskTime(), stats.GetUnzipTime()],
    [[read.offset, read.bytes] for read in reads],
])
"""
    found = root(lines, tmp_path / "run.root", tmp_path / "drawn.png", tmp_path / "print.txt")
    name, called, host, title, (io, time), counts, times, reads = found
    figures, drawn = perf.figures, [read for read in perf.reads if read.entry is not None]
    assert (name, called, host, title) == ("TTreePerfStats", "ioperf", perf.host, perf.title)
    assert counts == [
        0,
        2,
        figures["ReadCalls"].value,
        round(1e6 * figures["ReadTotal"].value),
        round(1e6 * figures["Thrown away"].value),
    ]
    assert times == [figures[key].value for key in ("Real Time", "CPU  Time", "Disk Time", "Decode Time")]
    assert io[0] == time[0] == [read.entry for read in drawn]
    assert io[1] == pytest.approx([1e-6 * read.start for read in drawn])
    assert io[2] == pytest.approx([1e-9 * (read.stop - read.start) for read in drawn])
    norm = max(io[1]) / figures["Real Time"].value
    assert time[1] == sorted(time[1]) and time[1][-1] == pytest.approx(norm * figures["Disk Time"].value)
    assert reads == [[read.start, read.stop - read.start] for read in perf.reads]
    compare_with_print(figures, tmp_path / "print.txt")
    assert (tmp_path / "drawn.png").stat().st_size > 5_000


def compare_with_print(figures: dict[str, Any], printed: Path) -> None:
    """Our figures beside those that ROOT printed."""
    said = dict(line.split(" = ") for line in printed.read_text().splitlines() if " = " in line)
    said = {name.strip(): float(value.split()[0]) for name, value in said.items()}
    assert {
        "ReadUnZip",
        "ReadUZRT",
        "Readextra",
        "Disk IO",
        "N leaves",
        "CPU  Time",
        "ReadSize",
    } <= said.keys()
    # These ROOT cuts to whole megabytes and kilobytes.
    whole = ("TreeCache", "Readahead")
    for name in figures.keys() & said.keys():
        value = float(int(figures[name].value)) if name in whole else figures[name].value
        if not math.isfinite(said[name]):
            # CPU time has ticks of 10 ms, so a short run took none. ROOT divides by it; ours is 0 then.
            assert name in ("ReadUZCP", "ReadCP") and said["CPU  Time"] == value == 0, name
            continue
        assert said[name] == pytest.approx(value, abs=6e-3, rel=1e-3), name


def test_we_show_what_real_root_saves(path: Path, tmp_path: Path) -> None:
    lines = """
file = ROOT.TFile(sys.argv[1])
tree = file.Get("t")
tree.SetCacheSize(int(sys.argv[3]))
stats = ROOT.TTreePerfStats("doctored", tree)
for i in range(tree.GetEntries()): tree.GetEntry(i)
stats.SaveAs(sys.argv[2])
ROOT.gSystem.RedirectOutput(sys.argv[4])
stats.Print("unzip")
ROOT.gROOT.ProcessLine("gSystem->RedirectOutput(nullptr);")
io = stats.GetGraphIO()
answer([list(io.GetX()), list(io.GetY()), list(io.GetEY()), stats.GetReadCalls(), stats.GetBytesRead(), stats.GetDiskTime()])
"""
    for budget, name in ((0, "before"), (30_000_000, "after")):
        theirs, printed = tmp_path / f"{name}.root", tmp_path / f"{name}.txt"
        entries, offsets, lengths, calls, read, disk = root(lines, path, theirs, budget, printed)
        ours = sapwood.perf.load(theirs)
        figures = ours.figures
        assert (figures["ReadCalls"].value, figures["Ranges"].value) == (calls, len(entries))
        assert figures["ReadTotal"].value == pytest.approx(read / 1e6)
        assert figures["N leaves"].value == 4 and "Hits" not in figures and "Wait Time" not in figures
        assert [-1 if got.entry is None else got.entry for got in ours.reads] == entries
        assert [got.start for got in ours.reads] == [round(1e6 * offset) for offset in offsets]
        assert (
            sum(got.stop - got.start for got in ours.reads)
            == read
            == sum(round(1e9 * length) for length in lengths)
        )
        assert sum(got.took for got in ours.reads) == pytest.approx(disk, rel=1e-6)
        assert ours.title == f"{path}/t" and "Root6" in ours.host.replace("ROOT ", "Root")
        compare_with_print(figures, printed)
        assert marks(ours.svg(), USED) > 0 and png_size(ours.png())
    both = sapwood.perf.load(tmp_path / "after.root").beside(tmp_path / "before.root")
    assert both["ReadCalls"].before == 40 and both["ReadCalls"].after < 40
    # A run of ROOT's that is saved again is the same for both, and one of ours stands beside it.
    ours.save(tmp_path / "again.root")
    again = sapwood.perf.load(tmp_path / "again.root")
    assert again.reads == ours.reads and again.figures == ours.figures
    tree = sapwood.open(path)["t"]
    with tree.perf as perf:
        tree.arrays()
    assert perf.beside(again)["Hits"].before is None and perf.beside(again)["ReadTotal"].after > 0


def test_real_root_uses_as_many_bytes_in_no_fewer_calls(path: Path) -> None:
    """The same columns through TTreeCache and TTreePerfStats."""
    lines = """
file = ROOT.TFile(sys.argv[1])
tree = file.Get("t")
tree.SetCacheSize(30_000_000)
tree.AddBranchToCache("a"); tree.AddBranchToCache("c"); tree.StopCacheLearningPhase()
stats = ROOT.TTreePerfStats("io", tree)
tree.SetBranchStatus("*", 0); tree.SetBranchStatus("a", 1); tree.SetBranchStatus("c", 1)
for i in range(tree.GetEntries()): tree.GetEntry(i)
stats.Finish()
answer([stats.GetReadCalls(), stats.GetBytesRead() - stats.GetBytesReadExtra()])
"""
    calls, theirs = root(lines, path)
    tree = sapwood.open(path, threads=1)["t"]
    with tree.perf as perf:
        tree.arrays(["a", "c"])
    assert perf.figures["ReadCalls"].value <= calls
    assert 1e6 * (perf.figures["ReadTotal"].value - perf.figures["Thrown away"].value) == pytest.approx(
        theirs
    )


def test_a_run_is_saved_over_nothing_but_a_run(path: Path, tmp_path: Path) -> None:
    with sapwood.open(path)["t"].perf as perf:
        pass
    before = path.read_bytes()
    with pytest.raises(sapwood.SapwoodError, match="a file is there that is no saved run"):
        perf.save(path)
    assert path.read_bytes() == before
    for _ in range(2):
        perf.save(tmp_path / "run.root")
