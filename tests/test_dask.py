"""Collections of dask-awkward: values, and the columns that are read for them."""

from __future__ import annotations

import io
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.rootrun import root

sapwood = pytest.importorskip("sapwood")
dask = pytest.importorskip("dask")
dask_awkward = pytest.importorskip("dask_awkward")
ak = pytest.importorskip("awkward")

ROWS = 60
REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("dask")
    for part in range(3):
        numbers = np.arange(part * ROWS, (part + 1) * ROWS)
        with sapwood.recreate(folder / f"part{part}.root") as file:
            types = {
                "x": "i8",
                "y": "f8",
                "v": "var * float32",
                "name": "string",
                "Muon": "var * {pt: float32, eta: float32}",
            }
            with file.mktree("t", types, auto_flush=20) as tree:
                lists = ak.Array([[n + k for k in range(n % 4)] for n in numbers.tolist()])
                tree.extend(
                    {
                        "x": numbers,
                        "y": numbers / 2,
                        "v": ak.values_astype(lists, "float32"),
                        "name": [f"n{n}" for n in numbers],
                        "Muon": ak.zip(
                            {
                                "pt": ak.values_astype(lists * 2, "float32"),
                                "eta": ak.values_astype(-lists, "float32"),
                            }
                        ),
                    }
                )
    return f"{folder}/part*.root:t"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Columns of each read."""
    from sapwood._read import partitions

    found: list[list[str]] = []
    real = partitions.reading.read

    def read(plan: Any, *rest: Any) -> Any:
        found.append([output.name for output in plan.outputs])
        return real(plan, *rest)

    monkeypatch.setattr(partitions.reading, "read", read)
    return found


def computed(collection: Any) -> Any:
    with dask.config.set(scheduler="synchronous"):
        return collection.compute()


def test_values_are_those_of_concatenate(files: str) -> None:
    events = sapwood.dask(files, step_size=20)
    assert events.npartitions == 9 and events.divisions == tuple(range(0, 181, 20))
    whole = sapwood.concatenate(files)
    assert events.fields == whole.fields
    assert computed(events).to_list() == whole.to_list()
    assert computed(dask_awkward.sum(events.x)) == sum(range(3 * ROWS)) and len(events) == 3 * ROWS


def test_only_columns_of_the_graph_are_read(files: str, asked: list[list[str]]) -> None:
    events = sapwood.dask(files, step_size=60)
    asked.clear()
    found = computed(events[events.x > 100].v)
    assert found.to_list() == [[n + k for k in range(n % 4)] for n in range(101, 180)]
    assert len(asked) == 3 and all(set(columns) == {"x", "v"} for columns in asked)
    asked.clear()
    zipped = dask_awkward.zip({"a": events.y, "b": events.x}, depth_limit=1)
    assert computed(zipped.a).to_list() == [n / 2 for n in range(180)]
    assert asked == [["y"]] * 3
    asked.clear()
    assert computed(dask_awkward.num(events, axis=0)) == 180


def test_expressions_cuts_friends_and_masks_are_those_of_iterate(files: str, tmp_path: Path) -> None:
    events = sapwood.dask(files, ["x", "Sum$(v)", "z"], "x % 3 == 0", aliases={"z": "y*2"}, step_size=25)
    assert computed(events.z).to_list() == list(range(0, 180, 3))
    assert computed(events["Sum$(v)"]).to_list() == [
        sum(n + k for k in range(n % 4)) for n in range(0, 180, 3)
    ]
    with sapwood.recreate(tmp_path / "friend.root") as file:
        file["f"] = {"w": np.arange(180) * 10}
    joined = sapwood.dask(files, ["x", "f.w"], friends={"f": f"{tmp_path}/friend.root:f"}, step_size=25)
    assert computed(joined["f.w"] - 10 * joined.x).to_list() == [0] * 180
    masked = sapwood.dask(files, ["x"], lumi_mask=({"1": [[5, 8], [70, 71]]}, ("1", "x")))
    assert computed(masked.x).to_list() == [5, 6, 7, 8, 70, 71]


def test_workers_of_other_processes_read_their_partitions(files: str) -> None:
    events = sapwood.dask(files, step_size=20)
    with dask.config.set(scheduler="processes", num_workers=2):
        assert (events.x * 2).compute().to_list() == list(range(0, 360, 2))


def test_what_cannot_be_a_collection_says_why(files: str) -> None:
    with pytest.raises(sapwood.errors.NotFoundError, match='no branch "nope"'):
        sapwood.dask(files, ["nope"])
    with pytest.raises(TypeError, match="unexpected keyword argument 'nope'"):
        sapwood.dask(files, nope=1)
    with sapwood.open(files.replace("*", "0")) as tree:
        with pytest.raises(sapwood.errors.MismatchError, match="takes paths"):
            sapwood.dask(tree)


def test_versions_that_do_not_work_together_say_what_to_install(
    files: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sapwood._read import partitions

    extra = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["optional-dependencies"][
        "dask"
    ]
    assert partitions.INSTALL == "pip install " + " ".join(f'"{one}"' for one in extra)
    monkeypatch.setattr(dask, "__version__", "2026.8.0")
    monkeypatch.setattr(dask_awkward, "__version__", "2025.3.0")
    with pytest.raises(sapwood.errors.UnsupportedError, match="dask 2026.8.0 and dask-awkward 2025.3.0.*pip"):
        sapwood.dask(files)
    assert sapwood.dask(files, library="np")["x"].compute().tolist() == list(range(180))
    monkeypatch.setattr(dask_awkward, "__version__", "2027.1.0")
    assert sapwood.dask(files).npartitions == 3


def test_columns_are_arrays_of_dask_in_the_form_of_numpy(files: str) -> None:
    columns = sapwood.dask(files, library="np", step_size=20)
    assert columns["x"].chunks == ((20,) * 9,) and columns["x"].dtype == "int64"
    assert columns["x"].compute().tolist() == list(range(180))
    assert [one.tolist() for one in columns["v"].compute()] == [
        [n + k for k in range(n % 4)] for n in range(180)
    ]
    cut = sapwood.dask(files, ["y"], "x >= 100", library="np")["y"]
    assert np.isnan(cut.chunks[0]).all() and cut.compute().tolist() == [n / 2 for n in range(100, 180)]
    with sapwood.recreate(empty := io.BytesIO()) as file:
        file.mktree("t", {"x": "f4"})
    Path(place := files.replace("part*.root:t", "empty.dat")).write_bytes(empty.getvalue())
    assert sapwood.dask({place: "t"}, library="np")["x"].compute().tolist() == []


def test_files_that_are_not_opened_before_are_partitions(files: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from sapwood._read import chain

    opened: list[str] = []
    real = chain.open_tree
    monkeypatch.setattr(
        chain, "open_tree", lambda source, *rest: opened.append(source.file) or real(source, *rest)
    )
    events = sapwood.dask(files, open_files=False)
    assert len(opened) == 1 and events.npartitions == 3 and not events.known_divisions
    assert computed(events.x).to_list() == list(range(180))
    parts = sapwood.dask(files, open_files=False, steps_per_file=7)
    assert parts.npartitions == 21 and computed(parts.v).to_list() == computed(events.v).to_list()
    steps = {files.replace("*", "1").removesuffix(":t"): {"object_path": "t", "steps": [0, 20, 50]}}
    stepped = sapwood.dask(steps, open_files=False)
    assert stepped.divisions == (0, 20, 50) and computed(stepped.x).to_list() == list(range(60, 110))
    with pytest.raises(sapwood.errors.MismatchError, match="open_files=False"):
        sapwood.dask(files, open_files=False, lumi_mask={"1": [[1, 2]]})
    with pytest.raises(ValueError, match="steps_per_file"):
        sapwood.dask(files, open_files=False, steps_per_file=0)


def test_what_is_missing_where_files_are_not_opened_before(files: str, tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "other.root") as file:
        file["other"] = {"x": [1]}
    there = files.replace("*", "1").removesuffix(":t")
    listed = [f"{path}:t" for path in (there, tmp_path / "gone.root", tmp_path / "other.root", there)]
    how = {"open_files": False, "allow_missing": True}
    events = sapwood.dask(listed, **how)
    assert events.npartitions == 4 and computed(events.x).to_list() == 2 * list(range(60, 120))
    column = sapwood.dask(listed, ["x"], library="np", **how)["x"]
    assert column.compute(scheduler="sync").tolist() == 2 * list(range(60, 120))
    with pytest.raises(sapwood.errors.MissingFileError, match="gone.root"):
        computed(sapwood.dask(listed[:2], open_files=False).x)


def test_files_are_cut_into_equal_steps(files: str) -> None:
    events = sapwood.dask(files, steps_per_file=7)
    assert events.known_divisions and events.npartitions == 21
    assert computed(events.x).to_list() == list(range(180))
    assert sapwood.dask(files, library="np", steps_per_file=3)["x"].npartitions == 9
    assert sapwood.dask(files, steps_per_file=25).npartitions == 75
    with pytest.raises(ValueError, match="steps_per_file"):
        sapwood.dask(files, steps_per_file=0)
    for others in ({"steps_per_file": 2}, {"open_files": False}):
        with pytest.raises(sapwood.errors.MismatchError, match=f"step_size and {next(iter(others))}"):
            sapwood.dask(files, step_size=100, **others)


def test_errors_go_into_reports_where_that_is_allowed(files: str, tmp_path: Path) -> None:
    listed = [files.replace("*", "0"), f"{tmp_path}/gone.root:t", files.replace("*", "2")]
    events, report = sapwood.dask(listed, open_files=False, allow_read_errors_with_report=True)
    arrays, report = dask.compute(events.x, report, scheduler="synchronous")
    assert arrays.to_list() == [*range(60), *range(120, 180)]
    assert report["exception"].to_list() == [None, "FileNotFoundError", None]
    assert report["entries"].to_list() == [60, 0, 60] and "gone.root" in report["message"][1]
    events, report = sapwood.dask(listed, open_files=False, allow_read_errors_with_report=(ValueError,))
    with pytest.raises(FileNotFoundError, match="gone.root"):
        dask.compute(events.x, report, scheduler="synchronous")


def test_titles_of_branches_are_documentation(tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    root(
        "file = ROOT.TFile(sys.argv[1], 'recreate'); tree = ROOT.TTree('t', 't')\n"
        "import array; x = array.array('i', [7]); tree.Branch('x', x, 'x/I').SetTitle('how many')\n"
        "tree.Fill(); tree.Fill(); tree.Write(); file.Close()",
        tmp_path / "a.root",
    )
    place = f"{tmp_path}/a.root:t"
    for source in (sapwood, uproot):
        tree = source.open(place)
        assert tree["x"].array(ak_add_doc=True).layout.parameters == {"__doc__": "how many"}
    wanted = {"__doc__": "title", "type": "typename"}
    for arrays in (
        tree.arrays(ak_add_doc=wanted) if (tree := sapwood.open(place)) else None,
        next(tree.iterate(ak_add_doc=wanted)),
        sapwood.concatenate([place, place], ak_add_doc=wanted),
        next(sapwood.iterate(place, ak_add_doc=wanted)),
        sapwood.dask(place, ak_add_doc=wanted).compute(scheduler="synchronous"),
    ):
        assert arrays["x"].layout.parameters == {"__doc__": "how many", "type": "int32_t"}
        assert set(arrays["x"].to_list()) == {7}
    assert tree.arrays()["x"].layout.parameters == {}
    with pytest.raises(TypeError, match="ak_add_doc"):
        tree.arrays(ak_add_doc="title")


def test_partitions_are_written_to_files_of_their_own(files: str, tmp_path: Path) -> None:
    events = sapwood.dask(files, ["x", "v", "name"])
    assert (
        sapwood.dask_write(events[events.x % 2 == 0], tmp_path / "even", prefix="run", compression="lz4")
        == 90
    )
    assert sorted(path.name for path in (tmp_path / "even").iterdir()) == [
        f"run-part{k}.root" for k in range(3)
    ]
    found = sapwood.concatenate(f"{tmp_path}/even/*.root:tree")
    assert sorted(found.x.to_list()) == list(range(0, 180, 2))
    assert found.name.to_list() == [f"n{x}" for x in found.x.to_list()]
    later = sapwood.dask_write(events, tmp_path / "later", compute=False, tree_name="t")
    assert not (tmp_path / "later" / "part0.root").exists()
    assert later.compute(scheduler="synchronous") == 180
    assert sapwood.open(tmp_path / "later" / "part1.root")["t"].num_entries == 60
