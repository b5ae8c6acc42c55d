"""RNTuples from Python: filling from types, dataclasses and threads; errors; figures; attributes; bases."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import io
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sapwood

from support.rootrun import root


def test_progress_counts_the_bytes_of_windows() -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file, file.mkrntuple("events", {"x": "f8"}) as ntuple:
        for cluster in range(4):
            ntuple.extend({"x": np.random.default_rng(cluster).random(50_000)})
            ntuple.flush()
    core = sapwood.open(memory, threads=1)["events"]._core
    seen: list[tuple[int, int]] = []
    core.columns([0], 0, 200_000, progress=lambda done, total: seen.append((done, total)))
    stored = sum(row[3] for row in core.baskets(0))
    assert len(seen) > 1 and seen[-1][0] == seen[-1][1] >= stored
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})

    def stop(*_: int) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        core.columns([0], 0, 200_000, progress=stop)


def test_layout_and_figures_count_pages() -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory, compression=None) as file:
        with file.mkrntuple("events", {"x": "f8", "hits": "var * int32"}) as ntuple:
            for cluster in range(2):
                ntuple.extend({"x": np.arange(100) + cluster, "hits": [[entry] * 3 for entry in range(100)]})
                ntuple.flush()
    events = sapwood.open(memory, threads=1)["events"]
    layout = events.layout()
    assert [cluster["entries"] for cluster in layout["clusters"]] == [[0, 100], [100, 200]]
    assert [cluster["num_baskets"] for cluster in layout["clusters"]] == [3, 3]
    assert [branch["path"].split()[0] for branch in layout["branches"]] == ["x", "hits", "hits"]
    with events.perf as perf:
        events.arrays(["hits"])
    figures = {name: figure.value for name, figure in perf.figures.items()}
    assert (figures["N leaves"], figures["ReadUnZip"]) == (2, 2 * (100 * 8 + 300 * 4) / 1e6)
    assert figures["ReadCalls"] >= 1
    assert [read.entry for read in perf.reads if read.entry is not None] == [0, 100]
    assert "ReadUnZip" in str(perf) and perf.svg().startswith("<svg")


def test_types_and_rows_that_do_not_fit(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "types.root") as file:
        types = {"run": "int32", "jets": "var * {pt: float32, tag: ?string}", "w": np.dtype(("f8", (2,)))}
        ntuple = file.mkrntuple("events", types)
        ntuple.extend({"run": [1, 1], "jets": [[{"pt": 20.5, "tag": None}], []], "w": [[1, 2], [3, 4]]})
        ntuple.extend({"run": [2], "jets": [[]], "w": np.ones((1, 2))})
        for name, values, words in [
            ("run", [1.5], "takes int32, and was given 1.5 in row 0"),
            ("run", [2**40], "takes int32"),
            ("jets", [[{"pt": 1.0}]], "takes var"),
            ("w", [[1, 2, 3]], "takes 2"),
        ]:
            rows: dict[str, Any] = {"run": [1], "jets": [[]], "w": [[1, 2]], name: values}
            with pytest.raises(sapwood.errors.MismatchError, match=words):
                ntuple.extend(rows)
        with pytest.raises(sapwood.SapwoodError, match="jets"):
            ntuple.extend({"run": [1], "w": [[1, 2]]})
        with pytest.raises(sapwood.SapwoodError, match="field 'x'|\"x\""):
            ntuple.extend({"run": [1], "jets": [[]], "w": [[1, 2]], "x": [1]})
        assert ntuple.num_entries == 3
        for name in ("a.b", "a b", ""):
            with pytest.raises(sapwood.errors.MismatchError, match="cannot be named"):
                file.mkrntuple("bad", {name: [1]})
        with pytest.raises(sapwood.errors.UnsupportedError, match="is not understood"):
            file.mkrntuple("bad", {"x": "var * what"})
        with pytest.raises(sapwood.errors.UnsupportedError, match="complex128"):
            file.mkrntuple("bad", {"x": np.zeros(1, complex)})
    events = sapwood.open(tmp_path / "types.root")["events"]
    assert events["jets"].array().to_list() == [[{"pt": 20.5, "tag": None}], [], []]
    assert events["w"].array().to_list() == [[1, 2], [3, 4], [1, 1]]
    assert "bad" not in sapwood.open(tmp_path / "types.root")


@dataclasses.dataclass
class Hit:
    x: float
    channels: list[np.uint16]
    tag: str = ""


def test_members_of_a_dataclass_are_fields() -> None:
    hits = [Hit(0.5 * entry, list(range(entry % 3)), f"hit {entry}") for entry in range(50)]
    for given in (Hit, hits):
        memory = io.BytesIO()
        with sapwood.recreate(memory) as file:
            ntuple = file.mkrntuple("hits", given)
            if given is Hit:
                ntuple.extend(hits[:20])
                # What is no object goes into the same fields.
                rest = hits[20:]
                ntuple.extend(
                    {name: [getattr(hit, name) for hit in rest] for name in ("tag", "x", "channels")}
                )
            assert (ntuple.num_entries, ntuple.field_names) == (50, ["x", "channels", "tag"])
        read = sapwood.open(memory)["hits"]
        assert read["channels"].typename == "std::vector<std::uint16_t>"
        assert list(read.objects(Hit)) == hits
        assert list(read.objects(Hit, 7, 9)) == hits[7:9]

    @dataclasses.dataclass
    class Pulse:
        x: float
        time: float = -1.0

    assert list(read.objects(Pulse, 0, 2)) == [Pulse(0.0), Pulse(0.5)]

    @dataclasses.dataclass
    class Other:
        y: int

    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        ntuple = file.mkrntuple("hits", Hit)
        with pytest.raises(sapwood.errors.MismatchError, match="member 'x'.*Other.*row 1"):
            ntuple.extend([hits[0], Other(1)])
        with pytest.raises(sapwood.errors.MismatchError, match="field 'channels'.*in row 2"):
            ntuple.extend([hits[0], hits[1], Hit(1.0, [70_000])])

        @dataclasses.dataclass
        class Queue:
            waiting: collections.deque[int]

        with pytest.raises(sapwood.errors.UnsupportedError, match="std::vector.*waiting"):
            file.mkrntuple("queue", Queue)
        with pytest.raises(sapwood.errors.MismatchError, match="types of fields were expected"):
            file.parallel_rntuple("hits2", hits)


def test_many_threads_fill_one_rntuple(tmp_path: Path) -> None:
    path = tmp_path / "threads.root"
    with sapwood.recreate(path, threads=2) as file:
        ntuple = file.parallel_rntuple("hits", Hit, cluster_bytes=2000, page_bytes=500)

        def work(start: int) -> None:
            with ntuple.context() as context:
                for first in range(start, start + 300, 100):
                    context.extend(
                        [Hit(float(entry), [entry % 7], str(entry)) for entry in range(first, first + 100)]
                    )

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(0, 3000, 300)))
        assert ntuple.save() == ntuple.num_entries == 3000
        with contextlib.suppress(KeyError), ntuple.context() as context:
            context.extend([Hit(-1.0, [])])
            raise KeyError
        left_open = ntuple.context()
        left_open.extend([Hit(-2.0, [])])
        assert sapwood.open(path)["hits"].num_entries == 3000, "what was saved is there"
    hits = sapwood.open(path)["hits"].arrays()
    assert sorted(hits["x"].to_list()) == [-2.0, *map(float, range(3000))]
    assert all(hit["tag"] == str(int(hit["x"])) for hit in hits.to_list() if hit["x"] >= 0)
    root(
        "assert ROOT.RDataFrame('hits', sys.argv[1]).Sum['double']('x').GetValue() == sum(range(3000)) - 2",
        path,
    )


@pytest.mark.parametrize("compression", [None, "zstd:5"])
def test_numbered_units_stand_in_their_order(tmp_path: Path, compression: str | None) -> None:
    files = []
    for threads in (1, 3):
        path = tmp_path / str(threads) / "same.root"  # the name is in the file
        path.parent.mkdir()
        with sapwood.recreate(path, reproducible=True) as file:
            types = {"x": "int64", "lists": "var * float32"}
            ntuple = file.parallel_rntuple(
                "t", types, compression=compression, cluster_bytes=2_000, page_bytes=500
            )
            workers = [ntuple.numbered() for _ in range(threads)]

            def work(worker: Any, numbers: list[int]) -> None:
                with worker:
                    for number in numbers:
                        with worker.unit(number) as unit:
                            for step in range(3):
                                rows = np.arange(200) + 1000 * number + 200 * step
                                unit.extend({"x": rows, "lists": [[float(row)] * (row % 3) for row in rows]})

            shares = [list(range(12))[start::threads] for start in range(threads)]
            with ThreadPoolExecutor(threads) as pool:
                # The last share is begun first.
                list(pool.map(work, workers[::-1], shares[::-1]))
        files.append(path.read_bytes())
        events = sapwood.open(path)["t"]
        expected = [1000 * number + row for number in range(12) for row in range(600)]
        assert events["x"].array().tolist() == expected and len(events.clusters) >= 24
        assert events["lists"].array().tolist() == [[float(row)] * (row % 3) for row in expected]
    assert files[0] == files[1]
    lines = """
frame = ROOT.RDataFrame("t", sys.argv[1])
answer([int(frame.Sum("x").GetValue()), float(frame.Define("s", "Sum(lists)").Sum("s").GetValue())])
"""
    assert root(lines, path) == [sum(expected), sum(float(row) * (row % 3) for row in expected)]


def test_units_that_are_missing_or_given_twice_are_named() -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        ntuple = file.parallel_rntuple("t", {"x": "int32"})
        with ntuple.numbered() as worker:
            for number in (2, 0):
                unit = worker.unit(number)
                with pytest.raises(sapwood.errors.MismatchError, match="still open"):
                    worker.unit(5)
                unit.extend({"x": [number]})
                unit.close()
            with pytest.raises(sapwood.errors.ExistsError, match="unit 2 was begun before"):
                worker.unit(2)
            with pytest.raises(KeyError, match="given up"), worker.unit(3) as unit:
                unit.extend({"x": [3]})
                raise KeyError("given up")
            # Fields are those that all threads fill.
            with worker.unit(4) as unit, pytest.raises(sapwood.errors.UnsupportedError, match="many threads"):
                unit.add_fields({"y": "int8"})
        with pytest.raises(sapwood.errors.MismatchError, match="unit 1 was never begun"):
            ntuple.close()
    assert sapwood.open(memory)["t/x"].array().tolist() == [0, 2]


def test_errors_name_row_and_value() -> None:
    with sapwood.recreate(io.BytesIO()) as file:
        types = {"run": "int32", "jets": "var * {pt: float32, n: int8}", "w": "3 * int16", "maybe": "?int8"}
        ntuple = file.mkrntuple("events", types)
        good: dict[str, Any] = {
            "run": [1, 2, 3],
            "jets": [[], [], []],
            "w": [[1, 2, 3]] * 3,
            "maybe": [1, None, 2],
        }
        for name, values, words in [
            ("run", [1, 2, 2**40], "takes int32, and was given 1099511627776 in row 2"),
            ("run", [1, 2.5, 3], "takes int32, and was given 2.5 in row 1"),
            ("run", [1, None, 3], "takes int32, and was given None in row 1"),
            ("run", [1, 2, "three"], "takes int32, and was given string in row 2"),
            ("jets", [[], [], [{"pt": 1, "n": 1}, {"pt": 1, "n": 200}]], "was given 200 in row 2"),
            ("jets", [[], [{"pt": 1.0, "m": 1}], []], "was given records without 'n' and with 'm'"),
            ("w", [[1, 2, 3], [1, 2, 3], [1, 2, 70000]], "was given 70000 in row 2"),
            ("w", [[1, 2, 3], [1, 2], [1, 2, 3]], "was given a list of 2 in row 1"),
            ("maybe", [None, 1, 300], "was given 300 in row 2"),
        ]:
            with pytest.raises(sapwood.errors.MismatchError, match=words):
                ntuple.extend({**good, name: values})
        with pytest.raises(sapwood.errors.NotFoundError, match='no field "rum"; nearest: "run"'):
            ntuple.extend({**good, "rum": [1, 2, 3]})
        ntuple.extend(good)
        assert ntuple.num_entries == 3


ATTRIBUTES = """
ROOT.gInterpreter.Declare(r'''
#include <ROOT/RNTupleAttrWriting.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <TFile.h>
void write_attributes(const char *path)
{
   std::unique_ptr<TFile> file(TFile::Open(path, "RECREATE"));
   auto model = ROOT::RNTupleModel::Create();
   auto x = model->MakeField<int>("x");
   auto writer = ROOT::RNTupleWriter::Append(std::move(model), "events", *file);
   auto said = ROOT::RNTupleModel::Create();
   auto text = said->MakeField<std::string>("text");
   auto number = said->MakeField<int>("number");
   auto set = writer->CreateAttributeSet(std::move(said), "notes");
   for (int range = 0; range < 3; range++) {
      auto open = set->BeginRange();
      *text = "range " + std::to_string(range);
      *number = 10 * range;
      for (int k = 0; k < 5 + range; k++) { *x = 100 * range + k; writer->Fill(); }
      set->CommitRange(std::move(open));
   }
}
''')
ROOT.write_attributes(sys.argv[1])
"""


def test_attributes_of_root_are_read_and_copied(tmp_path: Path) -> None:
    path, copy = tmp_path / "attributes.root", tmp_path / "copy.root"
    root(ATTRIBUTES, path)
    with sapwood.recreate(copy) as file:
        file.copy(path, "events", "folder/events")
    expected = [
        {
            "_rangeStart": start,
            "_rangeLen": 5 + entry,
            "_userData": {"text": f"range {entry}", "number": 10 * entry},
        }
        for entry, start in enumerate((0, 5, 11))
    ]
    for place, name in ((path, "events"), (copy, "folder/events")):
        events = sapwood.open(place)[name]
        assert (events.num_entries, events.attribute_sets) == (18, ["notes"])
        notes = events.attributes("notes")
        assert notes.arrays().to_list() == expected
        assert notes["_userData.text"].array().to_list() == ["range 0", "range 1", "range 2"]
        assert pickle.loads(pickle.dumps(notes)).arrays().to_list() == expected
        assert notes.object_path == f"/{name};1:notes"
        with pytest.raises(sapwood.errors.NotFoundError, match="'note'.*notes|\"note\".*notes"):
            events.attributes("note")
        findings = sapwood.verify(place)
        assert not findings.damaged and not any("not verified" in str(finding) for finding in findings)
    damaged = bytearray(path.read_bytes())
    place = damaged.index(b"range 0")
    damaged[place] ^= 1
    found = [finding for finding in sapwood.verify(bytes(damaged)) if finding.severity == "damage"]
    assert found and all(":notes" in finding.object for finding in found), found


HIDDEN = """
ROOT.gInterpreter.Declare(r'''
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriter.hxx>
struct First { int a = 0; int z = 0; };
struct Middle : First { int b = 0; };
struct Second { int a = 0; };
struct Many : Middle, Second { int a = 0; };
void write_many(const char *path)
{
   auto model = ROOT::RNTupleModel::Create();
   auto many = model->MakeField<Many>("many");
   auto list = model->MakeField<std::vector<Many>>("list");
   auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "events", path);
   for (int k = 0; k < 4; k++) {
      many->First::a = k; many->z = 10 + k; many->b = 20 + k; many->Second::a = 30 + k; many->a = 40 + k;
      list->assign(k, *many);
      writer->Fill();
   }
}
''')
ROOT.write_many(sys.argv[1])
"""


def test_members_of_several_bases_keep_apart(tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    path = tmp_path / "many.root"
    root(HIDDEN, path)
    events = sapwood.open(path)["events"]
    many = [{"Middle::a": k, "z": 10 + k, "b": 20 + k, "Second::a": 30 + k, "a": 40 + k} for k in range(4)]
    assert events["many"].array().to_list() == many
    assert events["list"].array().to_list() == [[many[k]] * k for k in range(4)]
    assert uproot.open(path)["events"].arrays(["many"])["many"].to_list() == many
    assert [name for name in events.keys() if name.startswith("many.")] == [
        f"many.{name}" for name in many[0]
    ]
    for name, value in many[2].items():
        assert events[f"many.{name}"].array().to_list()[2] == value
        assert events[f"list.{name}"].array().to_list()[2] == [value] * 2
    pyarrow = pytest.importorskip("pyarrow")
    assert pyarrow.table(events)["many"].to_pylist() == many

    @dataclasses.dataclass
    class Second:
        a: int

    @dataclasses.dataclass
    class OfSecond(Second):
        b: int

    # A dataclass has one member of a name: that of its base where it says so.
    assert [one.a for one in events["many"].objects(Second)] == [40, 41, 42, 43]
