"""Counters that lists share, through other formats and back."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.rootrun import root

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
feather = pytest.importorskip("pyarrow.feather")

from sapwood._convert import sources  # noqa: E402

COUNTS = [e % 4 for e in range(100)]
SHARED = {"Muon_pt": "nMuon", "Muon_q": "nMuon", "Muon_cov": "nMuon", "Jet_pt": "count", "x": "nx"}


def rows() -> dict[str, Any]:
    return {
        "nMuon": np.array(COUNTS, "u4"),
        "Muon_pt": ak.Array([[e + k / 4 for k in range(n)] for e, n in enumerate(COUNTS)]),
        "Muon_q": ak.Array([[(-1) ** k for k in range(n)] for n in COUNTS]),
        "Muon_cov": ak.to_regular(
            ak.Array([[[k, e]] * n for k, n in enumerate(COUNTS) for e in [n]]), axis=2
        ),
        "count": np.array([n + 1 for n in COUNTS], "i2"),
        "Jet_pt": ak.Array([[0.5] * (n + 1) for n in COUNTS]),
        "x": ak.Array([[1.5] * (n % 2) for n in COUNTS]),
        "run": np.arange(100),
    }


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("counters") / "events.root"
    types = {"nMuon": "u4", "count": "i2", "run": "i8", "x": "var * f8"}
    types |= {"Muon_pt": "var * f8", "Muon_q": "var * i8", "Muon_cov": "var * 2 * i8", "Jet_pt": "var * f8"}
    types = {name: types[name] for name in rows()}
    with sapwood.recreate(path) as file:
        tree = file.mktree("events", types, counter_name=lambda name: SHARED[name])
        tree.extend(rows())
    assert counted(path, "events") == SHARED
    return path


def counted(path: Any, name: str) -> dict[str, str]:
    """The counter of each list."""
    with sapwood.open(path) as file:
        return {
            branch.name: branch.count_branch.name
            for branch in file[name].branches
            if branch.count_branch is not None
        }


def edited(table: Any, name: str, values: list[Any]) -> Any:
    """The table with other values in one column, whose type and metadata stay."""
    place = table.schema.get_field_index(name)
    field = table.schema.field(place)
    return table.set_column(place, field, [pa.array(values, field.type)])


def quietly(*arguments: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return sapwood.convert(*arguments, **options)


@pytest.mark.parametrize("step", [7, "64 MB"])
@pytest.mark.parametrize("ends", ["parquet", "feather", "arrows", "root"])
def test_lists_share_a_counter_after_a_way_there_and_back(
    path: Path, tmp_path: Path, ends: str, step: Any
) -> None:
    other, again = tmp_path / f"other.{ends}", tmp_path / "again.root"
    quietly(f"{path}:events", f"{other}:events" if ends == "root" else other, step_size=step)
    quietly(other, f"{again}:events", step_size=step)
    assert counted(again, "events") == SHARED
    first, last = (sapwood.open(one)["events"] for one in (path, again))
    assert last.keys() == first.keys()
    assert last.arrays().tolist() == first.arrays().tolist()
    assert [branch.typename for branch in last.branches] == [branch.typename for branch in first.branches]


def test_real_root_reads_them(path: Path, tmp_path: Path) -> None:
    quietly(f"{path}:events", tmp_path / "a.parquet")
    quietly(tmp_path / "a.parquet", f"{tmp_path}/a.root:events", step_size=30)
    lines = """
file = ROOT.TFile(sys.argv[1])
tree = file.Get("events")
leaves = {leaf.GetName(): leaf for leaf in tree.GetListOfLeaves()}
counts = {name: leaf.GetLeafCount().GetName() for name, leaf in leaves.items() if leaf.GetLeafCount()}
frame = ROOT.RDataFrame("events", sys.argv[1])
sums = [frame.Define("s", f"Sum({name})").Sum("s").GetValue() for name in ("Muon_pt", "Muon_q", "Jet_pt")]
answer([counts, sums, [[row.nMuon, list(row.Muon_pt)] for row in tree], leaves["nMuon"].GetTypeName()])
"""
    counts, sums, values, kind = root(lines, tmp_path / "a.root")
    assert counts == SHARED and kind == "UInt_t"
    assert sums == [float(ak.sum(rows()[name])) for name in ("Muon_pt", "Muon_q", "Jet_pt")]
    assert values == [[n, one] for n, one in zip(COUNTS, rows()["Muon_pt"].tolist())]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"columns": ["Muon_pt", "Muon_q"]}, {"Muon_pt": "nMuon", "Muon_q": "nMuon"}),
        ({"filter_name": "Muon_[pq]*"}, {"Muon_pt": "nMuon", "Muon_q": "nMuon"}),
        ({"columns": ["Muon_*", "nMuon"], "cut": "nMuon > 1"}, {n: c for n, c in SHARED.items() if "M" in n}),
        # An expression has its own counter.
        ({"columns": ["Jet_pt", "Jet_pt * 2"]}, {"Jet_pt": "count", "Jet_pt * 2": "nJet_pt * 2"}),
    ],
)
def test_a_choice_of_columns_shares_the_counter(
    path: Path, tmp_path: Path, options: Any, wanted: dict[str, str]
) -> None:
    quietly(f"{path}:events", tmp_path / "a.parquet", **options)
    quietly(tmp_path / "a.parquet", f"{tmp_path}/a.root:events")
    assert counted(tmp_path / "a.root", "events") == wanted
    tree = sapwood.open(tmp_path / "a.root")["events"]
    for name in set(wanted) & set(SHARED):
        expected = rows()[name]
        if "cut" in options:
            expected = expected[np.array(COUNTS) > 1]
        assert tree[name].array().tolist() == expected.tolist()


def test_columns_of_the_parquet_file_are_chosen(path: Path, tmp_path: Path) -> None:
    quietly(f"{path}:events", tmp_path / "a.parquet")
    quietly(tmp_path / "a.parquet", f"{tmp_path}/a.root:events", columns=["Muon_*"])
    assert set(counted(tmp_path / "a.root", "events").values()) == {"nMuon"}
    assert sapwood.open(tmp_path / "a.root")["events/nMuon"].array().tolist() == COUNTS


@pytest.mark.parametrize("step", [30, "64 MB"])
def test_a_list_that_no_longer_agrees_has_its_own_counter(path: Path, tmp_path: Path, step: Any) -> None:
    quietly(f"{path}:events", tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    charges = table["Muon_q"].to_pylist()
    charges[80] = [7] * 9  # in a late step
    pq.write_table(edited(table, "Muon_q", charges), tmp_path / "b.parquet", row_group_size=30)
    with pytest.warns(UserWarning) as caught:
        sapwood.convert(tmp_path / "b.parquet", f"{tmp_path}/b.root:events", step_size=step)
    assert [str(one.message) for one in caught] == [
        "'Muon_q' no longer shares the counter 'nMuon', since lists that share one differ in length"
    ]
    assert counted(tmp_path / "b.root", "events") == {**SHARED, "Muon_q": "nMuon_q"}
    tree = sapwood.open(tmp_path / "b.root")["events"]
    assert tree["Muon_q"].array().tolist() == charges
    assert all(tree[name].array().tolist() == rows()[name].tolist() for name in rows() if name != "Muon_q")


def test_lists_that_became_shorter_together_keep_a_counter(path: Path, tmp_path: Path) -> None:
    quietly(f"{path}:events", tmp_path / "a.parquet", columns=["nMuon", "Muon_pt", "Muon_q"])
    table, pts = pq.read_table(tmp_path / "a.parquet"), rows()["Muon_pt"]
    for name in ("Muon_pt", "Muon_q"):
        table = edited(table, name, rows()[name][pts > 50].tolist())
    pq.write_table(table, tmp_path / "b.parquet", row_group_size=20)
    with pytest.warns(
        UserWarning, match="branch 'Muon_n' counts the items of 'Muon_pt', 'Muon_q', since 'nMuon' is"
    ):
        sapwood.convert(tmp_path / "b.parquet", f"{tmp_path}/b.root:events", step_size=20)
    assert counted(tmp_path / "b.root", "events") == {"Muon_pt": "Muon_n", "Muon_q": "Muon_n"}
    tree = sapwood.open(tmp_path / "b.root")["events"]
    assert tree["nMuon"].array().tolist() == COUNTS
    assert tree["Muon_pt"].array().tolist() == pts[pts > 50].tolist()
    assert tree["Muon_q"].array().tolist() == rows()["Muon_q"][pts > 50].tolist()


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([0.5] * 100, "since 'nMuon' is another column"),
        (["a"] * 100, "since 'nMuon' is another column"),
        ([[1]] * 100, "since 'nMuon' is another column"),
        ([n + 1 for n in COUNTS], "since 'nMuon' is another column"),
    ],
)
def test_a_counter_that_is_something_else_now_stays(
    path: Path, tmp_path: Path, counts: list[Any], message: str
) -> None:
    quietly(f"{path}:events", tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    pq.write_table(table.set_column(0, "nMuon", [counts]), tmp_path / "b.parquet")
    with pytest.warns(UserWarning, match=message):
        sapwood.convert(tmp_path / "b.parquet", f"{tmp_path}/b.root:events")
    tree = sapwood.open(tmp_path / "b.root")["events"]
    assert tree["nMuon"].array().tolist() == counts
    found = counted(tmp_path / "b.root", "events")
    assert {found[name] for name in ("Muon_pt", "Muon_q", "Muon_cov")} == {"Muon_n"}
    assert found["Jet_pt"] == "count" and found["x"] == "nx"
    assert tree["Muon_pt"].array().tolist() == rows()["Muon_pt"].tolist()


def test_a_file_that_forgot_them_counts_one_by_one(path: Path, tmp_path: Path) -> None:
    quietly(f"{path}:events", tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    columns = {name: table[name] for name in table.column_names}
    pq.write_table(pa.table(columns), tmp_path / "b.parquet")
    quietly(tmp_path / "b.parquet", f"{tmp_path}/b.root:events")
    assert counted(tmp_path / "b.root", "events") == {name: f"n{name}" for name in SHARED}
    tree = sapwood.open(tmp_path / "b.root")["events"]
    assert all(tree[name].array().tolist() == column.tolist() for name, column in rows().items())


@pytest.mark.parametrize("name", [b"x", b"y", b"\xff", b"a\0b", b"", b"n/x", b"i", b"s", "né".encode()])
def test_any_name_in_the_metadata_loses_no_value(tmp_path: Path, name: bytes) -> None:
    values = {"x": [[1], [], [2, 3]], "y": [[4], [], [5, 6]], "i": [7, 8, 9], "s": ["a", "b", "c"]}
    kinds = [pa.list_(pa.int64()), pa.list_(pa.int64()), pa.int64(), pa.string()]
    metadata = {b"sapwood:counter": name}
    fields = [pa.field(one, kind, metadata=metadata) for one, kind in zip(values, kinds)]
    feather.write_feather(pa.table(values, schema=pa.schema(fields)), tmp_path / "a.feather")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sapwood.convert(tmp_path / "a.feather", f"{tmp_path}/a.root:t")
    tree = sapwood.open(tmp_path / "a.root")["t"]
    assert {one: tree[one].array().tolist() for one in values} == values


def written(
    lists: dict[str, Any], shared: dict[str, str], folder: Path
) -> tuple[dict[str, str], list[str], int]:
    """The counters in a tree of these columns, of which a step has one row; the warnings; and how often the rows
    were read."""
    fields = []
    for name, column in lists.items():
        kind = pa.list_(pa.int64()) if isinstance(column[0], list) else pa.int64()
        metadata = {"sapwood:counter": shared[name]} if name in shared else None
        fields.append(pa.field(name, kind, metadata=metadata))
    feather.write_feather(pa.table(lists, schema=pa.schema(fields)), folder / "a.feather", chunksize=1)
    opened: list[Any] = []
    with warnings.catch_warnings(record=True) as caught, pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("always")
        read = sources.open_rows
        patch.setattr(sources, "open_rows", lambda *of: opened.append(of) or read(*of))
        sapwood.convert(folder / "a.feather", f"{folder}/a.root:t", overwrite=True)
    tree = sapwood.open(folder / "a.root")["t"]
    assert {name: tree[name].array().tolist() for name in lists} == lists
    return counted(folder / "a.root", "t"), [str(one.message) for one in caught], len(opened)


def test_groups_that_disagree_in_different_steps_are_found_in_one_more_attempt(tmp_path: Path) -> None:
    groups, rows = range(8), 10
    lists = {
        f"g{k}_{part}": [[1] * (2 if row == k and part == "b" and k % 4 else 1) for row in range(rows)]
        for k in groups
        for part in "ab"
    }
    shared = {name: f"n{name[:2]}" for name in lists}
    found, messages, reads = written(lists, shared, tmp_path)
    assert found == {name: shared[name] if int(name[1]) % 4 == 0 else f"n{name}" for name in lists}
    (message,), parts = messages, ["'g1_a', 'g1_b' no longer share the counter 'ng1'; 'g2_a', 'g2_b' no"]
    assert all(part in message for part in [*parts, "'ng7', since lists that share one differ in length"])
    assert reads == 2 and "g4" not in message


def test_lists_that_agree_go_on_sharing(tmp_path: Path) -> None:
    lists = {"a": [1, 2, 0], "b": [1, 2, 3], "c": [1, 2, 0], "d": [1, 0, 3], "e": [1, 2, 0]}
    columns = {name: [[5] * n for n in lengths] for name, lengths in lists.items()}
    found, messages, reads = written(columns, dict.fromkeys(lists, "nx"), tmp_path)
    assert found == {"a": "nx", "b": "nb", "c": "nx", "d": "nd", "e": "nx"} and reads == 2
    assert messages == [
        "'b', 'd' no longer share the counter 'nx', since lists that share one differ in length"
    ]
    # The column decides which of them has it.
    columns = {"nx": [1, 2, 3], **columns}
    found, messages, reads = written(columns, dict.fromkeys(lists, "nx"), tmp_path)
    assert found == {"a": "na", "b": "nx", "c": "nc", "d": "nd", "e": "ne"} and reads == 2
    columns["nx"] = [1, 2, 9]
    found, messages, reads = written(columns, dict.fromkeys(lists, "nx"), tmp_path)
    assert found == {"a": "x_n", "b": "nb", "c": "x_n", "d": "nd", "e": "x_n"} and reads == 2
    assert len(messages) == 1 and "branch 'x_n' counts the items of 'a', 'c', 'e', since" in messages[0]


def test_a_name_that_a_list_gets_later_is_looked_at_from_the_first_row(tmp_path: Path) -> None:
    # "b" loses "nx" in the last row, and "nb" was something else only in the first one.
    columns = {"a": [[1], [1], [1]], "b": [[1], [1], []], "nb": [7, 1, 0]}
    found, messages, reads = written(columns, {"a": "nx", "b": "nx"}, tmp_path)
    assert found == {"a": "na", "b": "b_n"} and len(messages) == 1 and reads == 2
    # The counter that "b" gets is that of other lists, of other lengths.
    columns = {"a": [[1], [1]], "c": [[1], [1]], "b": [[1], []], "d": [[1], [1]], "e": [[], [1]]}
    found, messages, reads = written(columns, dict.fromkeys("acb", "nx") | {"d": "nb", "e": "ne"}, tmp_path)
    assert found == {"a": "nx", "c": "nx", "b": "nb", "d": "nd", "e": "ne"} and reads == 2


@pytest.mark.parametrize("seed", range(12))
def test_any_disagreement_is_known_after_one_attempt(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, names = 6, [f"l{k}" for k in range(7)]
    lengths = {name: rng.integers(0, 3, rows) * rng.integers(0, 2) + 1 for name in names[:3]}
    for name in names[3:]:  # as another one, mostly in all rows
        lengths[name] = lengths[str(rng.choice(names[:3]))].copy()
        lengths[name][rng.integers(rows)] += rng.integers(0, 2)
    columns: dict[str, Any] = {name: [[3] * n for n in of] for name, of in lengths.items()}
    for name in rng.choice(["nl0", "nl3", "nl5", "ng"], 2, replace=False):
        columns[str(name)] = lengths[str(rng.choice(names))].tolist()
    counters = ["ng", "nh", "nl0", "nl3", "nl6"]
    shared = {name: str(rng.choice(counters)) for name in names if rng.random() < 0.8}
    found, messages, reads = written(columns, shared, tmp_path)
    assert reads <= 2 and len(messages) <= 1
    for name, one in lengths.items():
        assert all(found[name] != found[other] or (one == lengths[other]).all() for other in names)


def test_several_files_share_the_counters_of_the_first(path: Path, tmp_path: Path) -> None:
    for name in "ab":
        quietly(f"{path}:events", tmp_path / f"{name}.parquet")
    quietly(str(tmp_path / "?.parquet"), f"{tmp_path}/all.root:events")
    assert counted(tmp_path / "all.root", "events") == SHARED
    assert (
        sapwood.open(tmp_path / "all.root")["events/Muon_pt"].array().tolist()
        == rows()["Muon_pt"].tolist() * 2
    )


def test_rntuples_and_texts_take_the_lists_alone(path: Path, tmp_path: Path) -> None:
    quietly(f"{path}:events", tmp_path / "a.parquet")
    quietly(tmp_path / "a.parquet", f"{tmp_path}/n.root:events", format="rntuple")
    tree = sapwood.open(tmp_path / "n.root")["events"]
    assert all(tree[name].array().tolist() == column.tolist() for name, column in rows().items())
    for ends in ("jsonl", "h5"):
        pytest.importorskip("h5py")
        quietly(f"{path}:events", tmp_path / f"a.{ends}", columns=["Muon_pt", "Muon_q"])
        quietly(tmp_path / f"a.{ends}", f"{tmp_path}/{ends}.root:events")
        assert (
            sapwood.open(tmp_path / f"{ends}.root")["events/Muon_pt"].array().tolist()
            == rows()["Muon_pt"].tolist()
        )


def test_collections_of_objects_share_the_counter_of_the_collection(tmp_path: Path) -> None:
    lines = """
file = ROOT.TFile(sys.argv[1], "RECREATE")
tree = ROOT.TTree("t", "")
hits = ROOT.TClonesArray("TNamed")
tree.Branch("hits", hits, 32000, 99)
for entry in range(5):
    hits.Clear("C")
    for k in range(entry % 3): hits.ConstructedAt(k).SetUniqueID(k + 1)
    tree.Fill()
tree.Write()
file.Close()
"""
    source, target = tmp_path / "a.root", tmp_path / "b.root"
    root(lines, source)
    quietly(f"{source}:t", tmp_path / "a.parquet", columns=["hits.fUniqueID", "hits.fBits"])
    quietly(tmp_path / "a.parquet", f"{target}:t")
    assert counted(target, "t") == {"hits.fUniqueID": "hits", "hits.fBits": "hits"}
    assert sapwood.open(target)["t"]["hits.fUniqueID"].array().tolist() == [[], [1], [1, 2], [], [1]]


def test_the_command_warns(path: Path, tmp_path: Path) -> None:
    quietly(f"{path}:events", tmp_path / "a.parquet", columns=["Muon_pt", "Muon_q"])
    table = pq.read_table(tmp_path / "a.parquet")
    pq.write_table(edited(table, "Muon_q", [[1]] * 100), tmp_path / "b.parquet")
    command = [sys.executable, "-m", "sapwood", "convert", tmp_path / "b.parquet", f"{tmp_path}/b.root:t"]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "'Muon_pt', 'Muon_q' no longer share the counter 'nMuon'" in done.stderr
