"""Every operation over both formats: a tree and an RNTuple of the same columns give the same answers.

Each operation is one function of a file that holds the table `events`; its result for the tree has to equal
its result for the RNTuple. REFUSED lists features that one of the formats lacks, each with its error.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.browser import browsing

sapwood = pytest.importorskip("sapwood")
np = pytest.importorskip("numpy")
ak = pytest.importorskip("awkward")

ENTRIES = 60
FORMATS = ("tree", "rntuple")
TYPES = {"x": "float64", "run": "int32", "v": "var * float32", "word": "string"}

Operation = Callable[[Path, Path], Any]
OPERATIONS: dict[str, Operation] = {}


def operation(make: Operation) -> Operation:
    """Enters an operation into the table, by its name."""
    OPERATIONS[make.__name__.replace("_", " ").strip()] = make
    return make


def columns(start: int = 0, stop: int = ENTRIES) -> dict[str, Any]:
    numbers = range(start, stop)
    return {
        "x": np.arange(start, stop) * 0.5,
        "run": np.arange(start, stop, dtype="int32") // 7,
        "v": ak.values_astype(ak.Array([[n + 0.25 * k for k in range(n % 4)] for n in numbers]), "float32"),
        "word": [f"w{n % 3}" for n in numbers],
    }


def write(path: Path, form: str, start: int = 0, stop: int = ENTRIES, name: str = "events") -> Path:
    """A file with a table in three clusters."""
    with sapwood.recreate(path) as file:
        make = file.mktree if form == "tree" else file.mkrntuple
        table = make(name, TYPES)
        step = max((stop - start) // 3, 1)
        for first in range(start, stop, step):
            table.extend(columns(first, min(first + step, stop)))
    return path


def run(*arguments: object) -> str:
    """The output of a command."""
    done = subprocess.run(
        [sys.executable, "-m", "sapwood", *map(str, arguments)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


#: The branch that counts the items of `v`: trees have one, RNTuples count in a column of the field.
COUNTER = "nv"


def rows(array: Any) -> list[Any]:
    """Rows of an array, without the counters that only trees have."""
    return plain(ak.to_list(array))


def plain(rows: list[Any]) -> list[Any]:
    return [{k: v for k, v in row.items() if k != COUNTER} if isinstance(row, dict) else row for row in rows]


def opened(path: Path) -> Any:
    return sapwood.open(path)["events"]


@operation
def keys(path: Path, _: Path) -> Any:
    names = [name for name in opened(path).keys() if name != COUNTER]
    return names, opened(path).num_entries, len(opened(path).clusters)


@operation
def ls(path: Path, _: Path) -> Any:
    listed = json.loads(run("ls", "-l", "--json", path))[0]["keys"]
    return [(one["name"], one.get("entries")) for one in listed]


@operation
def show(path: Path, _: Path) -> Any:
    first = [line.split()[0] for line in run("show", f"{path}:events").splitlines() if line.strip()]
    return [word for word in first if word in TYPES]


@operation
def arrays(path: Path, _: Path) -> Any:
    return rows(opened(path).arrays()), opened(path)["x"].array(library="np").tolist()


@operation
def arrays_of_a_range(path: Path, _: Path) -> Any:
    return rows(opened(path).arrays(["x", "v"], entry_start=7, entry_stop=-9))


@operation
def arrays_of_some_entries(path: Path, _: Path) -> Any:
    return rows(opened(path).arrays(["x", "word"], entries=[3, 41, 7]))


@operation
def pandas_and_numpy(path: Path, _: Path) -> Any:
    pytest.importorskip("pandas")
    frame = opened(path).arrays(["x", "run"], library="pd")
    return (
        frame["x"].tolist(),
        frame["run"].tolist(),
        opened(path).arrays(["run"], library="np")["run"].tolist(),
    )


@operation
def iterate(path: Path, _: Path) -> Any:
    return [rows(step) for step in opened(path).iterate(["x", "v"], step_size=13)]


@operation
def iterate_with_a_cut(path: Path, _: Path) -> Any:
    return [rows(step) for step in opened(path).iterate(["x"], "run > 3", step_size=20)]


@operation
def single_rows(path: Path, _: Path) -> Any:
    table = opened(path).rows(columns=["x", "v", "word"])
    return [(float(row["x"]), row["v"].tolist(), str(row["word"])) for row in (table[5], table[59], table[0])]


@operation
def expressions(path: Path, _: Path) -> Any:
    return rows(opened(path).arrays(["x*2 + run", "Sum$(v)", "Alt$(v[0], -1)", "Entry$", "word == 'w1'"]))


@operation
def aliases_and_a_cut(path: Path, _: Path) -> Any:
    return rows(opened(path).arrays(["twice", "v"], "twice > 30 && Length$(v) > 1", aliases={"twice": "2*x"}))


@operation
def cut_of_items(path: Path, _: Path) -> Any:
    return rows(opened(path).arrays(["v"], "v > 20"))


@operation
def passing(path: Path, _: Path) -> Any:
    return np.asarray(opened(path).passing("x > 4 && word == 'w1'")).tolist()


@operation
def points(path: Path, _: Path) -> Any:
    values = opened(path).points("v:x", "run > 2")
    return [np.asarray(one).tolist() for one in values]


@operation
def draw(path: Path, _: Path) -> Any:
    table = opened(path)
    one = table.draw("v>>h(10, 0, 60)", "x > 3", library="np")
    many = table.draw_many(["x>>a(5,0,30)", ("v:x>>b(3,0,60,3,0,30)", "run > 1")], library="np")
    drawing = sapwood.Drawing("x", bins=(5, 0, 30), weight="run")
    named = table.draw_many({"x": drawing}, "run > 1", library="np")
    profile = table.draw("v:x>>p(4,0,30)", profile=True, library="np")
    return [[np.asarray(part).tolist() for part in answer] for answer in (one, *many, named["x"], profile)]


@operation
def draw_on_the_command_line(path: Path, folder: Path) -> Any:
    run("draw", f"{path}:events", "v", "x > 3", "--out", folder / "h.root")
    with sapwood.open(folder / "h.root") as file:
        return file[file.keys()[0]].values().tolist()


@operation
def scan(path: Path, _: Path) -> Any:
    table = run("scan", f"{path}:events", "x", "v", "word", "-n", 9)
    lines = run("scan", f"{path}:events", "x", "Sum$(v)", "--json", "--cut", "run == 2")
    return table, lines, str(opened(path).scan("x:v", "x < 4"))


@operation
def entry_list(path: Path, _: Path) -> Any:
    table = opened(path)
    chosen = table.draw(">>some", "x > 10 && run % 2 == 0")
    return rows(table.arrays(["x"], entries=chosen))


@operation
def friend_by_entry(path: Path, folder: Path) -> Any:
    with sapwood.recreate(folder / "friend.root") as file:
        file["more"] = {"w": np.arange(ENTRIES) * 10}
    table = opened(path)
    table.add_friend(f"{folder / 'friend.root'}:more", "f")
    return rows(table.arrays(["x + f.w"]))


@operation
def table_as_a_friend(path: Path, folder: Path) -> Any:
    with sapwood.recreate(folder / "main.root") as file:
        file["main"] = {"run": np.array([3, 0, 5], "int32")}
    main = sapwood.open(folder / "main.root")["main"]
    main.add_friend(f"{path}:events", "e", index="run")
    return rows(main.arrays(["e.x", "e.word"]))


@operation
def lumi_mask(path: Path, _: Path) -> Any:
    mask = ({"2": [[0, 9]], "5": [[35, 60]]}, ("run", "Entry$"))
    return rows(opened(path).arrays(["x"], lumi_mask=mask))


@operation
def chain(path: Path, folder: Path) -> Any:
    form = "rntuple" if opened(path).classname.startswith("ROOT") else "tree"
    files = [path, write(folder / "second.root", form, 60, 80)]
    places = [f"{file}:events" for file in files]
    return (
        rows(sapwood.concatenate(places, ["x", "Entry$"], "run > 6")),
        [rows(step) for step in sapwood.iterate(places, ["v"], step_size=50)],
        [np.asarray(part).tolist() for part in sapwood.draw(places, "x>>h(5,0,40)", library="np")],
        [entries for *_, entries in sapwood.num_entries(places)],
        run("scan", *places[:1], "x", "Entry$/Entries$", "--csv"),
    )


@operation
def skim(path: Path, folder: Path) -> Any:
    sapwood.skim(f"{path}:events", folder / "skim.root", {"y": "2*x", "v": "v", "word": "word"}, "run > 5")
    return rows(opened_any(folder / "skim.root").arrays())


@operation
def rewrite(path: Path, folder: Path) -> Any:
    sapwood.rewrite(path, folder / "new.root", compression="lz4:4", drop=["word"])
    table = opened(folder / "new.root")
    return [name for name in table.keys() if name != COUNTER], rows(table.arrays())


@operation
def rewrite_with_a_cut(path: Path, folder: Path) -> Any:
    run("rewrite", path, folder / "cut.root", "--cut", "run > 5")
    return rows(opened(folder / "cut.root").arrays())


@operation
def rewrite_to_the_other_format(path: Path, folder: Path) -> Any:
    to = "ttree" if opened(path).classname.startswith("ROOT") else "rntuple"
    sapwood.rewrite(path, folder / "other.root", to=to)
    return rows(opened(folder / "other.root").arrays(["x", "run", "v", "word"]))


@operation
def merge(path: Path, folder: Path) -> Any:
    form = "rntuple" if opened(path).classname.startswith("ROOT") else "tree"
    sapwood.merge(folder / "all.root", [path, write(folder / "second.root", form, 60, 80)])
    return rows(opened(folder / "all.root").arrays())


@operation
def append(path: Path, folder: Path) -> Any:
    copy = folder / "more.root"
    copy.write_bytes(path.read_bytes())
    with sapwood.update(copy) as file:
        file["events"].extend(columns(60, 64))
    return rows(opened(copy).arrays())


@operation
def parallel_writing(path: Path, folder: Path) -> Any:
    is_ntuple = opened(path).classname.startswith("ROOT")
    with sapwood.recreate(folder / "parallel.root") as file:
        make = file.parallel_rntuple if is_ntuple else file.parallel_tree
        with make("events", TYPES).numbered() as writer:
            for number in range(3):
                with writer.unit(number) as unit:
                    unit.extend(columns(20 * number, 20 * number + 20))
    return rows(opened(folder / "parallel.root").arrays())


@operation
def copy_rename_and_delete(path: Path, folder: Path) -> Any:
    run("cp", f"{path}:events", f"{folder / 'copy.root'}:here/events")
    run("mv", f"{folder / 'copy.root'}:here/events", f"{folder / 'copy.root'}:here/moved")
    with sapwood.open(folder / "copy.root") as file:
        found = rows(file["here/moved"].arrays(["x"]))
    run("rm", f"{folder / 'copy.root'}:here/moved")
    return found, sapwood.open(folder / "copy.root").keys()


@operation
def recover(path: Path, folder: Path) -> Any:
    copy = folder / "whole.root"
    copy.write_bytes(path.read_bytes())
    report = sapwood.recover(copy)
    return report.was_closed, report.cut_bytes, rows(opened(copy).arrays())


@operation
def verify(path: Path, _: Path) -> Any:
    return sapwood.verify(path), run("verify", "--quiet", path)


@operation
def layout(path: Path, folder: Path) -> Any:
    parsed = json.loads(run("layout", f"{path}:events", "--json"))
    run("layout", f"{path}:events", "--svg", folder / "layout.svg")
    return sorted(parsed), (folder / "layout.svg").read_text()[:4]


@operation
def doctor(path: Path, _: Path) -> Any:
    return sorted(json.loads(run("doctor", path, "--json")))


@operation
def perf(path: Path, _: Path) -> Any:
    parsed = json.loads(run("perf", f"{path}:events", "--json", "--threads", 1))
    return sorted(parsed), parsed["entries"] if "entries" in parsed else None


@operation
def map_(path: Path, _: Path) -> Any:
    parsed = json.loads(run("map", path, "--json"))
    return sorted(parsed), parsed["header"]["fVersion"]


@operation
def arrow(path: Path, _: Path) -> Any:
    pa = pytest.importorskip("pyarrow")
    table = pa.table(opened(path))
    steps = pa.RecordBatchReader.from_stream(opened(path).iterate(["x"], "run > 3", step_size=10))
    return plain(table.to_pylist()), steps.read_all().to_pylist()


@operation
def arrow_dataset(path: Path, _: Path) -> Any:
    pytest.importorskip("pyarrow.dataset")
    import pyarrow.compute as pc

    return opened(path).dataset().to_table(columns=["x", "word"], filter=pc.field("x") > 20).to_pylist()


@operation
def polars(path: Path, _: Path) -> Any:
    pl = pytest.importorskip("polars")
    lazy = opened(path).lazy().filter(pl.col("run") > 5).select("x", "v")
    return lazy.collect().to_dicts()


@operation
def dask(path: Path, _: Path) -> Any:
    pytest.importorskip("dask_awkward")
    array = sapwood.dask(f"{path}:events", step_size=20)
    return rows((array.x * 2).compute(scheduler="sync")), rows(array.v.compute(scheduler="sync"))


class Count(sapwood.Selector):
    """Counts and sums."""

    columns = ["x"]

    def process(self, batch: Any) -> Any:
        return {"entries": len(batch), "sum": float(ak.sum(batch["x"]))}


@operation
def process(path: Path, _: Path) -> Any:
    return sapwood.process(f"{path}:events", Count())


@operation
def convert(path: Path, folder: Path) -> Any:
    pq = pytest.importorskip("pyarrow.parquet")
    sapwood.convert(f"{path}:events", folder / "events.parquet")
    return plain(pq.read_table(folder / "events.parquet").to_pylist())


@operation
def pickled(path: Path, _: Path) -> Any:
    import pickle

    return rows(pickle.loads(pickle.dumps(opened(path))).arrays(["x"]))


@operation
def browse(path: Path, _: Path) -> Any:
    with browsing(path) as served:
        listed = served.ask("list", file="0")["names"]
        table = served.ask("table", file="0", path="events", columns="x", count=5)
        drawn = served.ask("draw", file="0", path="events", x="x", cut="run > 2", bins="5,0,40")
    del table["state"], drawn["state"]
    return listed, table, drawn


def opened_any(path: Path) -> Any:
    """The only table of a file."""
    file = sapwood.open(path)
    return file[file.keys()[0]]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("both")
    for form in FORMATS:
        (folder / form).mkdir()
    return {form: write(folder / form / "events.root", form) for form in FORMATS}


@operation
def branches_for_existing_entries(path: Path, out: Path) -> Any:
    copy = out.with_name(f"{out.name}-more.root")
    shutil.copy(path, copy)
    with sapwood.update(copy) as file:
        file.add_branches("events", {"y": np.arange(ENTRIES) * 2.0})
    with sapwood.open(copy) as file:
        return [file["events"][name].array().tolist() for name in ("x", "y", "v")]


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_tree_and_an_rntuple_give_the_same(name: str, files: dict[str, Path], tmp_path: Path) -> None:
    found = {}
    for form in FORMATS:
        (tmp_path / form).mkdir()
        found[form] = OPERATIONS[name](files[form], tmp_path / form)
    assert found["tree"] == found["rntuple"]


def new_tree_like(path: Path) -> None:
    with sapwood.update(path) as file:
        file.mktree("another", like=sapwood.open(path)["events"])


def go_on_after_closing(path: Path) -> None:
    with sapwood.recreate(path) as file:
        table = file.mkrntuple("events", TYPES)
        table.close()
        table.extend(columns())


#: Features that one of the formats lacks: the reason, a call that asks for one, and words of the error.
REFUSED: dict[str, tuple[str, str, Callable[[Path], Any], str]] = {
    "baskets": (
        "rntuple",
        "it has pages",
        lambda path: opened(path)["x"].basket(0),
        "pages instead of baskets",
    ),
    "sizes of baskets": (
        "rntuple",
        "pages grow by themselves",
        lambda path: opened(path).optimize_baskets(),
        "pages",
    ),
    "a tree like it": ("rntuple", "it has no branches to copy", new_tree_like, "is like a TTree"),
    "rows after its end": (
        "rntuple",
        "its footer is written when it is closed",
        go_on_after_closing,
        "is closed",
    ),
    "attributes": (
        "tree",
        "ROOT has them in RNTuples alone",
        lambda path: opened(path).attributes,
        "attributes",
    ),
    "late fields": (
        "tree",
        "trees take branches with values (`add_branches`)",
        lambda path: late(path),
        "add_fields",
    ),
}


def late(path: Path) -> None:
    with sapwood.update(path) as file:
        file["events"].add_fields({"y": "float64"})


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_format_does_not_have_is_refused_in_words(
    name: str, files: dict[str, Path], tmp_path: Path
) -> None:
    form, _, ask, words = REFUSED[name]
    copy = tmp_path / "copy.root"
    copy.write_bytes(files[form].read_bytes())
    with pytest.raises((sapwood.SapwoodError, AttributeError, TypeError), match=words):
        ask(copy)
