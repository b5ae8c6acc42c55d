"""Statistics of baskets and pages: the same entries with and without them, and less that is read."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import sapwood

from support.rootrun import root

ENTRIES = 20_000
CUTS = [
    "run > 180",
    "run == 7 && x > 0.5",
    "tail > 60",
    "block && run < 50",
    "Sum$(v) > 80 && run > 10",
    "Max$(v) > 199",
    "any(v > 190)",
    "abs(x - 0.5) < 0.001",
    "!(run < 150) || tail > 100",
    "Entry$ < 100 && run >= 0",
]


def columns() -> dict[str, Any]:
    """Columns that rise, come in blocks, have a tail, and are random."""
    random = np.random.default_rng(5)
    run = np.arange(ENTRIES) // 100
    tail = random.exponential(5.0, ENTRIES)
    tail[[777, 12_345]] = [100.0, np.nan]
    lengths = random.integers(0, 4, ENTRIES)
    v = [list(run[entry] + random.random(length)) for entry, length in enumerate(lengths)]
    return {
        "run": run.astype("i4"),
        "x": random.random(ENTRIES),
        "tail": tail,
        "block": run % 20 == 3,
        "v": v,
    }


def write(path: Path, kind: str) -> None:
    """Writes a tree or an RNTuple of many baskets or pages."""
    values = columns()
    with sapwood.recreate(path) as file:
        types = {"run": "i4", "x": "f8", "tail": "f8", "block": "?", "v": "var * f8"}
        if kind == "tree":
            rows = file.mktree("events", types, auto_flush=500)
        else:
            rows = file.mkrntuple("events", types, page_bytes=2000, cluster_bytes=20_000)
        for first in range(0, ENTRIES, 500):
            rows.extend({name: column[first : first + 500] for name, column in values.items()})


@pytest.fixture(scope="module", params=["tree", "ntuple"])
def indexed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with statistics."""
    path = tmp_path_factory.mktemp("statistics") / "events.root"
    write(path, request.param)
    [made] = sapwood.index(path)
    assert made.statistics == str(path) + ".sapwood-index"
    kept = {column.name for column in made.columns if column.kept}
    assert kept >= {"run", "x", "tail", "block", "v"}
    assert 0 < made.bytes < made.file_bytes / 20
    return path


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Opens a file without statistics."""

    def opened(path: Path) -> Any:
        monkeypatch.setenv("SAPWOOD_STATISTICS", "off")
        tree = sapwood.open(path)["events"]
        monkeypatch.delenv("SAPWOOD_STATISTICS")
        return tree

    return opened


@pytest.mark.parametrize("cut", CUTS)
def test_entries_are_the_same(indexed: Path, without: Any, cut: str) -> None:
    plain = without(indexed)
    tree = sapwood.open(indexed)["events"]
    assert plain.decided(cut) is None
    decided = tree.decided(cut)
    assert decided.none >= ENTRIES / 20 or cut.startswith("abs")
    assert decided.none + decided.all + decided.look == ENTRIES
    wanted = plain.passing(cut)
    assert tree.passing(cut).tolist() == wanted.tolist()
    assert len(wanted) <= decided.all + decided.look
    names = ["x", "run"]
    for name in names:
        found = tree.arrays(names, cut=cut, library="np")[name]
        np.testing.assert_array_equal(found, plain.arrays(names, cut=cut, library="np")[name])
    parts = [part["x"] for part in tree.iterate(["x"], cut=cut, step_size=3000, library="np")]
    np.testing.assert_array_equal(np.concatenate(parts), tree.arrays(["x"], cut=cut, library="np")["x"])
    [drawn, expected] = [of.draw("x>>h(50, 0, 1)", cut) for of in (tree, plain)]
    np.testing.assert_array_equal(drawn.values(), expected.values())


def test_runs_that_cannot_pass_are_not_read(indexed: Path, without: Any) -> None:
    read = {}
    for name, tree in [("with", sapwood.open(indexed)["events"]), ("without", without(indexed))]:
        cut = "run == 150 && x < 2"
        tree.decided(cut)  # the stamp is made of baskets, too
        with tree.perf as perf:
            assert len(tree.arrays(["x"], cut=cut, library="np")["x"]) == 100
        read[name] = perf.figures["ReadTotal"].value
    assert read["with"] < read["without"] / 10, read


def test_statistics_of_a_changed_file_are_not_used(tmp_path: Path) -> None:
    path = tmp_path / "events.root"
    for first in (0, 1000):
        with sapwood.recreate(path) as file:
            file["events"] = {"x": np.arange(first, first + 100)}
        if first == 0:
            sapwood.index(path)
    with pytest.warns(RuntimeWarning, match="not used"), sapwood.open(path) as file:
        assert file["events"].passing("x >= 1050").tolist() == list(range(50, 100))
        assert file["events"].decided("x >= 1050") is None
    sapwood.index(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with sapwood.open(path) as file:
            assert file["events"].decided("x < 1000").none == 100


def test_rewriting_and_merging_make_files_of_their_own(indexed: Path, tmp_path: Path, without: Any) -> None:
    few = tmp_path / "few.root"
    sapwood.rewrite(indexed, few, cut="run == 20")
    assert sapwood.open(few)["events"].num_entries == 100
    assert sapwood.open(few)["events"].decided("run == 20") is None
    both = tmp_path / "both.root"
    sapwood.merge(both, [indexed, few])
    assert len(sapwood.open(both)["events"].passing("run == 20")) == 200


def sapwood_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sapwood", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_the_command_makes_and_explains_statistics(tmp_path: Path) -> None:
    path = tmp_path / "events.root"
    write(path, "tree")
    assert "no statistics" in sapwood_command("index", f"{path}:events", "--cut", "run > 3").stdout
    ran = sapwood_command("index", str(path), "--columns", "r*,tail", "--json")
    [made] = json.loads(ran.stdout)
    assert [column["name"] for column in made["columns"]] == ["run", "tail"]
    ran = sapwood_command("index", f"{path}:events", "--cut", "run > 1000", "--json")
    [decided] = json.loads(ran.stdout)
    assert decided["none"]["entries"] == ENTRIES and decided["look"]["entries"] == 0
    found = sapwood_command("scan", f"{path}:events", "run", "--cut", "run == 3", "--csv")
    assert found.stdout.count("\n") >= 100, found
    whole = sapwood_command("verify", str(path))
    assert whole.returncode == 0 and "whole" in whole.stdout
    with sapwood.update(path) as file:
        del file["events"]
        file["events"] = {"run": np.arange(10, dtype="i4")}
    stale = sapwood_command("verify", str(path))
    assert stale.returncode == 0 and "another state" in stale.stdout
    assert "not used" in sapwood_command("scan", f"{path}:events", "run", "--cut", "run == 3").stderr
    refused = sapwood_command("index", str(path), "--columns", "nothing")
    assert refused.returncode == 1 and "nothing" in refused.stderr


def test_verify_finds_statistics_that_lie(tmp_path: Path) -> None:
    path, other = tmp_path / "a.root", tmp_path / "b.root"
    for place, last in [(path, 5), (other, 7)]:
        with sapwood.recreate(place) as file:
            file["t"] = {"x": np.array([1, last], dtype="i4")}
        sapwood.index(place)
    beside = [Path(f"{place}.sapwood-index") for place in (path, other)]
    # The extremes of the one with the stamp of the other, without a right checksum: it is not used.
    mine, others = (place.read_bytes() for place in beside)
    beside[0].write_bytes(mine[:-20] + others[-20:])
    assert any("not used" in finding.message for finding in sapwood.verify(path))
    beside[0].write_bytes(mine)
    assert sapwood.verify(path) == []


BY_ROOT = """
file = ROOT.TFile(sys.argv[1], "RECREATE")
tree = ROOT.TTree("t", "")
run, pq, a = array("i", [0]), np.zeros(1, dtype=[("p", "f8"), ("q", "i4")]), array("f", [0] * 3)
v = ROOT.std.vector("float")()
tree.Branch("run", run, "run/I", 2000); tree.Branch("pq", pq, "p/D:q/I", 4000)
tree.Branch("a", a, "a[3]/F", 4000); tree.Branch("v", v, 4000)
tree.SetAutoFlush(1000)
for entry in range(10000):
    run[0] = entry // 100
    pq["p"] = entry / 7; pq["q"] = -(entry // 1000)
    a[0], a[1], a[2] = entry, entry + 0.5, -entry
    v.clear()
    for item in range(entry % 4): v.push_back(entry + 100 * item)
    tree.Fill()
tree.Write(); file.Close()
file = ROOT.TFile(sys.argv[1])
tree = file.Get("t")
answer({cut: tree.GetEntries(cut) for cut in json.loads(sys.argv[2])})
"""
MORE_BY_ROOT = """
file = ROOT.TFile(sys.argv[1], "UPDATE")
tree = file.Get("t")
run = array("i", [7])
v = ROOT.std.vector("float")()
tree.SetBranchAddress("run", run); tree.SetBranchAddress("v", v)
for entry in range(50): tree.Fill()
tree.Write("", ROOT.TObject.kOverwrite)
answer(file.Get("t").GetEntries("run == 7"))
"""


def test_files_of_root_are_decided_right_and_followed_through_its_changes(tmp_path: Path) -> None:
    path = tmp_path / "root.root"
    cuts = [
        "run == 37",
        "p > 1400",
        "q < -8 && run > 0",
        "a[1] > 9000",
        "a > 9990",
        "Sum$(v) > 30000",
        "v[2] > 9900",
    ]
    imports = "import json\nfrom array import array\nimport numpy as np\n"
    counts = root(imports + BY_ROOT, path, json.dumps(cuts))
    [made] = sapwood.index(path)
    assert {column.name for column in made.columns} == {"run", "pq.p", "pq.q", "a", "v"}
    tree = sapwood.open(path)["t"]
    for cut in cuts:
        assert tree.decided(cut).none > 5000, cut
        assert len(tree.passing(cut)) == counts[cut], cut
    # A file that was written is another one, whatever was written.
    with sapwood.update(path) as file:
        file["note"] = "new"
    with pytest.warns(RuntimeWarning, match="not used"), sapwood.open(path) as file:
        assert file["t"].decided("run == 37") is None
    sapwood.index(path)
    assert sapwood.open(path)["t"].decided("run == 37").none > 5000
    assert root(imports + MORE_BY_ROOT, path) == 150
    with pytest.warns(RuntimeWarning, match="not used"), sapwood.open(path) as file:
        assert file["t"].decided("run == 7") is None
        assert len(file["t"].passing("run == 7")) == 150
    sapwood.index(path)
    assert len(sapwood.open(path)["t"].passing("run == 7")) == 150


def test_uproot_reads_files_with_statistics_and_its_changes_are_noticed(
    indexed: Path, tmp_path: Path
) -> None:
    uproot = pytest.importorskip("uproot")
    assert uproot.open(indexed)["events"].num_entries == ENTRIES
    path = tmp_path / "uproot.root"
    for first in (0, 10):
        with uproot.recreate(path) as file:
            file["t"] = {"x": np.arange(first, first + 10)}
        if first == 0:
            sapwood.index(path)
            with uproot.update(path) as file:
                file["more"] = {"y": np.arange(3)}
            with pytest.warns(RuntimeWarning, match="not used"), sapwood.open(path) as opened:
                assert opened["t"].decided("x > 9") is None
    assert len(sapwood.open(path)["t"].passing("x > 9")) == 10


def test_a_file_that_was_written_again_loses_its_statistics(tmp_path: Path) -> None:
    """Also if all baskets have the same sizes and places as before, and the file the same identifier."""
    path = tmp_path / "again.root"
    values = np.arange(1e6) % 7

    def write(of: np.ndarray) -> None:
        with sapwood.recreate(path, reproducible=True, compression="none") as file:
            file["t"] = {"x": of}

    write(values)
    sapwood.index(path)
    assert sapwood.open(path)["t"].decided("x > 1000").none == len(values)
    changed = values.copy()
    changed[510_000] = 1e6
    write(changed)
    with pytest.warns(RuntimeWarning, match="not used"):
        with sapwood.open(path) as file:
            assert file["t"].arrays(["x"], cut="x > 1000")["x"].tolist() == [1e6]


def test_statistics_are_as_private_as_their_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.root"
    with sapwood.recreate(path) as file:
        file["t"] = {"x": [1.0, 2.0]}
    path.chmod(0o600)
    sapwood.index(path)
    assert (tmp_path / "mine.root.sapwood-index").stat().st_mode & 0o777 == 0o600


def test_files_of_one_name_have_statistics_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    for number, folder in enumerate("ab"):
        (tmp_path / folder).mkdir()
        with sapwood.recreate(tmp_path / folder / "x.root") as file:
            file["t"] = {"x": [float(number)] * 10}
        made.append(tmp_path / folder / "x.root")
    (tmp_path / "index").mkdir()
    places = [one.statistics for one in sapwood.index([str(path) for path in made], to=tmp_path / "index")]
    assert len(set(map(str, places))) == 2
    monkeypatch.setenv("SAPWOOD_STATISTICS_FOLDER", str(tmp_path / "index"))
    for number, path in enumerate(made):
        with sapwood.open(path) as file:
            decided = file["t"].decided("x > 0.5")
            assert decided is not None and decided.none == (0 if number else 10)


def damaged(path: Path) -> str:
    """A file with two columns and damaged statistics."""
    with sapwood.recreate(path) as file:
        file["t"] = {"x": np.arange(4000, dtype="float64"), "y": np.ones(4000)}
    sapwood.index(path)
    beside = Path(f"{path}.sapwood-index")
    beside.write_bytes(beside.read_bytes()[:-1])
    return f"{path}:t"


@pytest.mark.parametrize(
    "read",
    [
        lambda tree: tree.passing("x > 3990"),
        lambda tree: tree.arrays("y", "x > 3990"),
        lambda tree: list(tree.iterate("y", "x > 3990")),
        lambda tree: tree.draw("y", "x > 3990"),
        lambda tree: str(tree.scan("y", "x > 3990")),
    ],
)
def test_damaged_statistics_give_one_warning_at_once(tmp_path: Path, read: Any) -> None:
    tree = sapwood.open(damaged(tmp_path / "a.root"))
    with pytest.warns(RuntimeWarning, match="statistics are not used"):
        read(tree)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(tree)


@pytest.mark.parametrize("kind", ["tree", "rntuple"])
def test_frames_over_files_without_a_match_have_types_and_trees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path = tmp_path / "a.root"
    columns = {
        "x": np.arange(4000, dtype="float64"),
        "i": np.arange(4000, dtype="int32"),
        "v": ak.Array([[1.0], []] * 2000),
        "s": ak.Array(["a", "b"] * 2000),
    }
    with sapwood.recreate(path) as file:
        file.mkrntuple("t", columns) if kind == "rntuple" else file.mktree("t", columns)
        file["t"].extend(columns)
    sapwood.index(path)
    seen: list[int] = []

    def results(name: str) -> Any:
        frame = sapwood.frame(f"{path}:t").filter("x > 1e6")
        taken = {column: frame.take(column) for column in columns}
        kept = frame.aggregate(0, lambda so_far, of: seen.append(len(of["i"])) or so_far, ["i"])
        frame.snapshot(tmp_path / name, list(columns)).value
        kept.value
        with sapwood.open(tmp_path / name) as file:
            keys = file.keys(cycle=False), file["Events"].keys(), file["Events"].num_entries
        return {column: str(result.value.type) for column, result in taken.items()}, keys

    found = results("with.root")
    assert found[0] == {"x": "0 * float64", "i": "0 * int32", "v": "0 * var * float64", "s": "0 * string"}
    assert found[1] == (["Events"], ["x", "i", "nv", "v", "s"], 0) and seen == [0]
    monkeypatch.setenv("SAPWOOD_STATISTICS", "off")
    assert results("without.root") == found
