"""C and C++: the examples and what calls must refuse, built with the system's compilers; what they write is read by real ROOT,
uproot and the Python package. Streams cross to pyarrow without a copy."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import ranged
from support.c_library import REPOSITORY, Library, needed
from support.rootrun import root

sapwood = pytest.importorskip("sapwood")

EXAMPLES = REPOSITORY / "examples/c"
NANO = REPOSITORY / "examples/data/nano.root"
CUT = "nJet > 2"
# What lives as long as the process, as tables of classes do, is reachable or "possibly" lost.
VALGRIND = ["valgrind", "--quiet", "--error-exitcode=99", "--leak-check=full"]
VALGRIND += ["--errors-for-leak-kinds=definite", "--show-leak-kinds=definite"]


def good(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def said_of_nano() -> str:
    """What `read.c` prints of the example, as Python computes it."""
    events = sapwood.open(NANO)["Events"]
    pt = events.arrays(["Jet_pt"], cut=CUT, library="ak")["Jet_pt"]
    flat = np.concatenate([np.asarray(jets) for jets in pt])
    bins = np.histogram(np.concatenate([np.asarray(jets) for jets in events["Jet_pt"].array()]), 4, (0, 200))[
        0
    ]
    lines = [f"{path} {name}" for path, name in sapwood.open(NANO).classnames().items()]
    lines += ["nJet: uint32", "Jet_pt: var * float32"]
    lines.append(f"{len(pt)} entries with {len(flat)} jets, sum of pt {float(flat.astype(float).sum()):.3f}")
    return "\n".join([*lines, *(f"bin {bin + 1}: {count}" for bin, count in enumerate(bins))]) + "\n"


def test_c_lists_reads_cuts_and_draws(c_library: Library) -> None:
    program = c_library.build(EXAMPLES / "read.c")
    assert good(c_library.run(program, NANO, "Events")) == said_of_nano()
    missing = c_library.run(program, NANO, "Evnts")
    assert missing.returncode == 1 and 'no key "Evnts"; nearest: "Events"' in missing.stderr


def test_c_reads_from_a_server(c_library: Library) -> None:
    program = c_library.build(EXAMPLES / "read.c")
    with ranged.serving(NANO.parent) as server:
        assert good(c_library.run(program, f"{server.url}/nano.root", "Events")) == said_of_nano()


TREE = """
file = ROOT.TFile(sys.argv[1]); tree = file.Get("events")
names = [branch.GetName() + ":" + branch.GetLeaf(branch.GetName()).GetTypeName() for branch in tree.GetListOfBranches()]
answer([names, [[entry.event, entry.ntrack, list(entry.pt)] for entry in tree]])
"""


def test_four_threads_of_c_fill_a_tree(c_library: Library, tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    path, events = tmp_path / "threads.root", 1003
    good(c_library.run(c_library.build(EXAMPLES / "threads.c"), path, events))
    expected = [
        [event, event % 4, [event + 0.25 * track for track in range(event % 4)]] for event in range(events)
    ]
    names, found = root(TREE, path)
    assert names == ["event:Int_t", "ntrack:Int_t", "pt:Float_t"]
    assert sorted(found) == expected
    theirs = uproot.open(path)["events"].arrays(["event", "ntrack", "pt"], library="ak")
    assert sorted(map(list, zip(*(theirs[name].tolist() for name in theirs.fields)))) == expected
    assert sapwood.verify(path) == []


def test_cpp_reads_spans_and_writes(c_library: Library, tmp_path: Path) -> None:
    path = tmp_path / "busy.root"
    said = good(c_library.run(c_library.build(EXAMPLES / "read.cpp"), NANO, path))
    events = sapwood.open(NANO)["Events"]
    pt = events.arrays(["Jet_pt"], cut=CUT)["Jet_pt"]
    hardest = max(max(jets) for jets in pt.tolist())
    assert f"{sum(map(len, pt.tolist()))} jets, the hardest of {hardest:g} GeV" in said
    assert sapwood.open(path)["busy/Jet_pt"].array().tolist() == pt.tolist()
    lines = "file = ROOT.TFile(sys.argv[1]); h = file.Get('h')"
    lines += (
        "\nanswer([h.ClassName(), [h.GetBinContent(bin) for bin in range(6)], file.Get('busy').GetEntries()])"
    )
    drawn = events.draw("Jet_pt>>h(4, 0, 200)").values(flow=True).tolist()
    assert root(lines, path) == ["TH1D", drawn, len(pt)]


@pytest.mark.parametrize("standard", ["c++17", "c++20"])
def test_a_framework_fills_from_four_threads(c_library: Library, tmp_path: Path, standard: str) -> None:
    uproot = pytest.importorskip("uproot")
    program = c_library.build(EXAMPLES / "framework.cpp", f"-std={standard}")
    path, events = tmp_path / "framework.root", 1999
    assert good(c_library.run(program, path, events)).startswith(f"{events} events, sum ")
    lines = "file = ROOT.TFile(sys.argv[1]); tree = file.Get('events')"
    lines += "\nodd = tree.GetEntries('label == \"odd\" && number % 2 == 1')"
    lines += "\nanswer([odd, [[entry.number, list(entry.energy), entry.sum] for entry in tree]])"
    odd, found = root(lines, path)
    assert odd == events // 2
    assert [row[0] for row in found] == list(range(events)), "units are in the order of their numbers"
    assert [len(row[1]) for row in found] == [number % 6 for number in range(events)]
    assert all(row[2] == sum(row[1]) for row in found)
    theirs = uproot.open(path)["events"]
    assert theirs["energy"].array().tolist() == [row[1] for row in found]
    assert theirs["label"].array().tolist() == ["odd" if number % 2 else "even" for number in range(events)]


def test_calls_are_refused_by_kind(c_library: Library, tmp_path: Path) -> None:
    program = c_library.build(REPOSITORY / "tests/c/refusals.c")
    good(c_library.run(program, NANO, tmp_path / "refused.root"))


@pytest.mark.parametrize("name", ["refusals", "threads"])
def test_no_memory_is_lost_or_touched_after_its_end(c_library: Library, tmp_path: Path, name: str) -> None:
    needed("valgrind")
    folder, arguments = EXAMPLES, (tmp_path / "out.root", 200)
    if name == "refusals":
        folder, arguments = REPOSITORY / "tests/c", (NANO, tmp_path / "out.root")
    good(c_library.run(c_library.build(folder / f"{name}.c"), *arguments, under=VALGRIND))


def test_cmake_finds_it(c_library: Library, tmp_path: Path) -> None:
    cmake = needed("cmake")
    configure = [cmake, "-S", str(EXAMPLES), "-B", str(tmp_path), f"-DCMAKE_PREFIX_PATH={c_library.prefix}"]
    for command in (configure, [cmake, "--build", str(tmp_path)]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert good(c_library.run(tmp_path / "read_c", NANO, "Events")) == said_of_nano()
    too_new = [*configure[:-2], str(tmp_path / "new"), configure[-1]]
    listed = tmp_path / "source"
    listed.mkdir()
    (listed / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\nproject(new C)\nfind_package(Sapwood 0.9 REQUIRED)\n"
    )
    too_new[2] = str(listed)
    refused = subprocess.run(too_new, capture_output=True, text=True, timeout=300)
    assert refused.returncode != 0 and "compatible with requested version" in refused.stderr


class Calls:
    """The library through ctypes."""

    def __init__(self, library: Library) -> None:
        self.c = ctypes.CDLL(str(library.prefix / "lib/libsapwood_c.so"))
        self.c.sapwood_error_message.restype = ctypes.c_char_p
        for name in (
            "open",
            "file_table",
            "table_read",
            "writer_open",
            "writer_write_stream",
            "writer_close",
        ):
            getattr(self.c, f"sapwood_{name}").restype = ctypes.c_void_p

    def __call__(self, name: str, *arguments: Any) -> None:
        error = getattr(self.c, f"sapwood_{name}")(*arguments)
        if error:
            words = self.c.sapwood_error_message(ctypes.c_void_p(error)).decode()
            self.c.sapwood_error_free(ctypes.c_void_p(error))
            raise RuntimeError(words)

    def table(self, path: Path, name: str) -> ctypes.c_void_p:
        file, table = ctypes.c_void_p(), ctypes.c_void_p()
        self("open", str(path).encode(), None, ctypes.byref(file))
        self("file_table", file, name.encode(), ctypes.byref(table))
        self.c.sapwood_file_free(file)
        return table

    def read(self, path: Path, name: str) -> Any:
        """All columns of a table, by pyarrow."""
        pa = pytest.importorskip("pyarrow")
        table, stream = self.table(path, name), (ctypes.c_void_p * 5)()
        self("table_read", table, None, stream)
        self.c.sapwood_table_free(table)
        return pa.RecordBatchReader._import_from_c(ctypes.addressof(stream)).read_all()

    def write(self, path: Path, name: str, reader: Any) -> int:
        """A stream of pyarrow as a tree."""
        stream, writer, entries = (ctypes.c_void_p * 5)(), ctypes.c_void_p(), ctypes.c_uint64()
        reader._export_to_c(ctypes.addressof(stream))
        self("writer_open", str(path).encode(), 0, None, None, ctypes.byref(writer))
        try:
            self("writer_write_stream", writer, name.encode(), stream, ctypes.byref(entries))
        finally:
            assert stream[3] is None, "the stream was taken"
            self("writer_close", writer)
        return entries.value


@pytest.fixture
def calls(c_library: Library) -> Calls:
    return Calls(c_library)


def test_streams_are_those_of_python(calls: Calls, path: str) -> None:
    pa = pytest.importorskip("pyarrow")
    for file, name in ((NANO, "Events"), (Path(path), "folder/tree")):
        found = calls.read(file, name)
        assert found.num_columns > 0 and found.num_rows > 0
        assert found.equals(pa.table(sapwood.open(file)[name]).select(found.column_names))


def test_what_pyarrow_gives_is_written(calls: Calls, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table(
        {
            "x": pa.array([0.5, 1.5, 2.5]),
            "flag": pa.array([True, False, True]),
            "jets": pa.array([[1.0, 2.0], [], [3.0]], pa.large_list(pa.float32())),
            "name": pa.array(["mu", "", "tau"]),
            "triggers": pa.array([["a"], ["b", "c"], []], pa.list_(pa.string())),
            "xyz": pa.array([[1, 2, 3]] * 3, pa.list_(pa.int32(), 3)),
        }
    )
    path = tmp_path / "arrow.root"
    # Two batches, the second a slice whose offsets do not begin with 0.
    assert (
        calls.write(
            path,
            "t",
            pa.RecordBatchReader.from_batches(
                table.schema, [*table[:1].to_batches(), *table[1:].to_batches()]
            ),
        )
        == 3
    )
    assert sapwood.open(path)["t"].arrays().tolist() == table.to_pylist()
    lines = "file = ROOT.TFile(sys.argv[1]); tree = file.Get('t')"
    lines += "\nanswer([[e.x, bool(e.flag), list(e.jets), list(e.xyz)] for e in tree])"
    assert root(lines, path) == [[r["x"], r["flag"], r["jets"], r["xyz"]] for r in table.to_pylist()]


@pytest.mark.parametrize(
    "column, words",
    [([1, None], "value 1 is null"), ([{"a": 1}], "Struct")],
)
def test_what_a_tree_cannot_hold_is_told(calls: Calls, tmp_path: Path, column: list[Any], words: str) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"x": column})
    with pytest.raises(RuntimeError, match=words):
        calls.write(tmp_path / "x.root", "t", table.to_reader())
    assert sapwood.open(tmp_path / "x.root").keys() == []


def test_an_error_of_a_stream_keeps_its_kind(calls: Calls, tmp_path: Path) -> None:
    """A file that was cut off is found while the stream is read, after the table was opened."""
    path = tmp_path / "damaged.root"
    shutil.copy(NANO, path)
    content = bytearray(path.read_bytes())
    branch = sapwood.open(NANO)["Events/Jet_pt"]
    at = branch.tree._core.baskets(branch._id)[0][2]
    content[at + 60 : at + 120] = b"\x00" * 60
    path.write_bytes(content)
    table, stream = calls.table(path, "Events"), (ctypes.c_void_p * 5)()
    calls("table_read", table, None, stream)
    get_next = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(stream[1])
    array = (ctypes.c_void_p * 10)()
    assert get_next(ctypes.addressof(stream), ctypes.addressof(array)) != 0
    calls.c.sapwood_stream_error.restype = ctypes.c_void_p
    error = ctypes.c_void_p(calls.c.sapwood_stream_error(stream))
    assert calls.c.sapwood_error_kind(error) in (3, 4)
    assert str(path) in calls.c.sapwood_error_message(error).decode()
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(stream[3])(ctypes.addressof(stream))
    calls.c.sapwood_table_free(table)


PAGE = REPOSITORY / "docs/c.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("language, written", [("c", "skim.root:busy"), ("cpp", "out.root:events")])
def test_blocks_of_the_guide_run(
    c_library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str, written: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(REPOSITORY / "examples")
    assert len(blocks(language)) == 3
    for number, code in enumerate(blocks(language)):
        source = tmp_path / f"block{number}.{language}"
        source.write_text(code)
        good(c_library.run(c_library.build(source)))
    assert sapwood.open(f"{tmp_path}/{written}").num_entries in (3, 8)


def test_commands_of_the_guide_are_there() -> None:
    text = "".join(blocks("sh"))
    assert re.search(r"make install-c PREFIX=", text)
    assert "\ninstall-c:" in (REPOSITORY / "Makefile").read_text()
