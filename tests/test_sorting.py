"""Entries sorted by columns: the order of `numpy.lexsort`, whatever the types, the memory and the format."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import sapwood
from sapwood.errors import MismatchError, NotFoundError

from support.rootrun import root

ENTRIES = 6_000
COMMAND = [sys.executable, "-m", "sapwood"]


def values() -> dict[str, Any]:
    """Keys of many types with ties, and lists, strings and records to carry along."""
    random = np.random.default_rng(5)
    counts = random.integers(0, 5, ENTRIES)
    x = random.normal(0, 3, ENTRIES).round(1)
    x[random.integers(0, ENTRIES, 300)] = np.nan
    x[random.integers(0, ENTRIES, 300)] = -0.0
    x[random.integers(0, ENTRIES, 50)] = -np.inf
    x[random.integers(0, ENTRIES, 50)] = np.inf
    big = random.integers(0, 40, ENTRIES).astype("u8") + np.uint64(2**63 - 20)
    return {
        "place": np.arange(ENTRIES, dtype="i4"),
        "run": random.integers(0, 7, ENTRIES).astype("i4"),
        "event": random.permutation(ENTRIES).astype("i8") - 2**53 - 1,
        "big": big,
        "x": x,
        "f": x.astype("f4"),
        "flag": random.integers(0, 2, ENTRIES).astype(bool),
        "hits": ak.unflatten(random.normal(0, 1, counts.sum()).astype("f4"), counts),
        "label": [f"{place:x}" * (place % 3) for place in range(ENTRIES)],
        "pair": np.arange(2 * ENTRIES, dtype="i2").reshape(ENTRIES, 2),
    }


CASES: list[tuple[list[str], Any]] = [
    (["run"], lambda v: np.lexsort((v["run"],))),
    (["run", "event"], lambda v: np.lexsort((v["event"], v["run"]))),
    (["x"], lambda v: np.lexsort((v["x"],))),
    (["-x"], lambda v: np.lexsort((-v["x"],))),
    (["f", "-run"], lambda v: np.lexsort((-v["run"], v["f"]))),
    (["big"], lambda v: np.lexsort((v["big"],))),
    (["-big", "flag"], lambda v: np.lexsort((v["flag"], ~v["big"]))),
    (["-flag", "-event"], lambda v: np.lexsort((-v["event"], ~v["flag"]))),
]


@pytest.fixture(scope="module", params=["tree", "rntuple"])
def source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree or an RNTuple of these values in twelve clusters."""
    path: Path = tmp_path_factory.mktemp("sorting") / f"{request.param}.root"
    given = values()
    with sapwood.recreate(path) as file:
        make = file.mktree if request.param == "tree" else file.mkrntuple
        options = (
            {"auto_flush": 500, "basket_bytes": 2_000}
            if request.param == "tree"
            else {"cluster_bytes": 9_000}
        )
        events = make("events", {name: column[:500] for name, column in given.items()}, **options)
        for start in range(500, ENTRIES, 500):
            events.extend({name: column[start : start + 500] for name, column in given.items()})
    return path


def check(path: Path, order: Any) -> None:
    """Each column has these entries of the source, bit by bit, and the file is whole."""
    given = values()
    found = sapwood.open(path)["events"].arrays()
    assert found["place"].tolist() == order.tolist()
    for name, column in given.items():
        wanted = ak.Array(column)[order]
        assert ak.to_json(ak.nan_to_num(found[name]) if name in "xf" else found[name]) == ak.to_json(
            ak.nan_to_num(wanted) if name in "xf" else wanted
        ), name
    signs = np.signbit(np.asarray(found["x"])[~np.isnan(found["x"])])
    assert signs.tolist() == np.signbit(given["x"][order][~np.isnan(given["x"][order])]).tolist()
    assert sapwood.verify(path) == []


@pytest.mark.parametrize("case", range(len(CASES)), ids=["_".join(by) for by, _ in CASES])
@pytest.mark.parametrize("memory", ["1 MB", 40_000])
def test_the_order_is_that_of_lexsort(source: Path, tmp_path: Path, case: int, memory: Any) -> None:
    by, order = CASES[case]
    target = tmp_path / "sorted.root"
    [(before, after)] = sapwood.rewrite(
        source, target, sort_by=by, sort_memory=memory, auto_flush=700
    ).values()
    assert before.entries == after.entries == ENTRIES
    assert os.listdir(tmp_path) == ["sorted.root"]
    check(target, order(values()))


def test_sizes_depend_neither_on_threads_nor_on_memory(source: Path, tmp_path: Path) -> None:
    sizes = set()
    arrays = []
    for threads, memory in [(1, "512 MB"), (4, "512 MB"), (1, 30_000), (4, 100_000)]:
        target = tmp_path / f"{threads}-{memory}" / "sorted.root"
        target.parent.mkdir()
        sapwood.rewrite(source, target, sort_by="x", sort_memory=memory, threads=threads, auto_flush=700)
        arrays.append(sapwood.open(target)["events"].arrays())
        sizes.add(target.stat().st_size)
    assert len(sizes) == 1
    assert all(ak.to_json(each["event"]) == ak.to_json(arrays[0]["event"]) for each in arrays)


def test_real_root_reads_sorted_entries(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "sorted.root"
    sapwood.rewrite(source, target, sort_by=["run", "-event"], sort_memory=50_000, auto_flush=700)
    given = values()
    order = np.lexsort((-given["event"], given["run"]))
    found = root(
        '''
frame = ROOT.RDataFrame("events", sys.argv[1])
file = ROOT.TFile(sys.argv[1])
tree = file.Get("events")
def taken(name, kind):
    return frame.Take[kind](name).GetValue()
def labels():
    if isinstance(tree, ROOT.TTree):
        ROOT.gInterpreter.Declare("""
            std::vector<std::string> labels(TTree *tree) {
               std::vector<std::string> all;
               char text[100];
               tree->SetBranchAddress("label", text);
               for (Long64_t entry = 0; entry < tree->GetEntries(); ++entry) {
                  tree->GetEntry(entry);
                  all.push_back(text);
               }
               return all;
            }
        """)
        return [str(label) for label in ROOT.labels(tree)]
    return [str(label) for label in taken("label", "std::string")]
answer({
    "place": list(taken("place", "int")),
    "label": labels(),
    "hits": [list(map(float, hits)) for hits in taken("hits", "ROOT::VecOps::RVec<float>")],
    "pair": [list(map(int, pair)) for pair in taken("pair", "ROOT::VecOps::RVec<short>")],
})
''',
        target,
    )
    assert found["place"] == order.tolist()
    assert found["label"] == [given["label"][place] for place in order]
    assert found["hits"] == ak.values_astype(given["hits"], "f8")[order].to_list()
    assert found["pair"] == given["pair"][order].tolist()


def test_sorted_entries_are_copied_with_a_notice(source: Path, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="in this order already"):
        sapwood.rewrite(source, tmp_path / "same.root", sort_by="place")
    check(tmp_path / "same.root", np.arange(ENTRIES))


def test_cuts_branches_and_statistics_compose(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "few.root"
    given = values()
    # The column to sort by need not be kept.
    sapwood.rewrite(
        source, target, sort_by=["run", "event"], cut="x > 0", drop="event", statistics=True, auto_flush=100
    )
    chosen = np.flatnonzero(given["x"] > 0)
    order = chosen[np.lexsort((given["event"][chosen], given["run"][chosen]))]
    tree = sapwood.open(target)["events"]
    assert tree["place"].array().tolist() == order.tolist()
    assert "event" not in tree.keys()
    decided = tree.decided("run == 3")
    wanted = int((given["run"][chosen] == 3).sum())
    assert decided.all + decided.look < wanted + 200 and decided.none > len(chosen) - wanted - 200


def test_statistics_of_the_old_order_are_not_kept(source: Path, tmp_path: Path) -> None:
    sapwood.index(source)
    try:
        sapwood.rewrite(source, tmp_path / "sorted.root", sort_by="x")
        assert os.listdir(tmp_path) == ["sorted.root"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sapwood.rewrite(source, tmp_path / "same.root", sort_by="place")
        assert sorted(os.listdir(tmp_path)) == ["same.root", "same.root.sapwood-index", "sorted.root"]
    finally:
        Path(f"{source}.sapwood-index").unlink()


@pytest.mark.parametrize(
    ("by", "error", "words"),
    [
        ("evnt", NotFoundError, r"cannot sort by \"evnt\".*event"),
        ("hits", MismatchError, r"one number per entry: \"hits\" holds var \* float32"),
        ("label", MismatchError, r"one number per entry: \"label\" holds string"),
        ("pair", MismatchError, r"one number per entry: \"pair\" holds 2 \* int16"),
        ("-", NotFoundError, r"cannot sort by \"\""),
    ],
)
def test_columns_that_no_entry_can_be_sorted_by(
    source: Path, tmp_path: Path, by: str, error: Any, words: str
) -> None:
    with pytest.raises(error, match=words):
        sapwood.rewrite(source, tmp_path / "none.root", sort_by=by)
    assert os.listdir(tmp_path) == []


def test_what_does_not_go_with_an_order_is_refused(source: Path, tmp_path: Path) -> None:
    with pytest.raises(MismatchError, match="sort_by takes new ones"):
        sapwood.rewrite(source, tmp_path / "none.root", sort_by="x", baskets="keep")
    with pytest.raises(MismatchError, match="second step"):
        sapwood.rewrite(
            source, tmp_path / "none.root", sort_by="x", to="ttree" if "rn" in source.stem else "rntuple"
        )
    with pytest.raises(MismatchError, match=r"cluster by cluster"):
        sapwood.rewrite(source, tmp_path / "none.root", sort_by="x", order="branch")
    assert os.listdir(tmp_path) == []


def test_the_command_sorts_the_trees_that_it_names(tmp_path: Path) -> None:
    source, target = tmp_path / "two.root", tmp_path / "sorted.root"
    with sapwood.recreate(source) as file:
        file["events"] = {"pt": [3.0, 1.0, 2.0], "n": [1, 1, 0]}
        file["runs"] = {"lumi": [2, 1]}
    command = [*COMMAND, "rewrite", str(source), str(target), "--sort-by"]
    done = subprocess.run([*command, "-n,pt"], capture_output=True, text=True)
    assert done.returncode != 0 and "name the trees that are sorted" in done.stderr
    done = subprocess.run(
        [*command, "-n,pt", "--tree", "events", "--json"], capture_output=True, text=True, check=True
    )
    assert {tree["tree"]: tree["reordered"] for tree in json.loads(done.stdout)["trees"]} == {
        "events": True,
        "runs": False,
    }
    assert sapwood.open(target)["events"]["pt"].array().tolist() == [1.0, 3.0, 2.0]
    assert sapwood.open(target)["runs"]["lumi"].array().tolist() == [2, 1]
    done = subprocess.run([*command, "pt", "--baskets", "keep", "--force"], capture_output=True, text=True)
    assert done.returncode != 0 and "--sort-by takes new ones" in done.stderr


def test_friends_and_indices_are_left_out_with_a_notice(tmp_path: Path) -> None:
    source, target = tmp_path / "friends.root", tmp_path / "sorted.root"
    root(
        """
file = ROOT.TFile(sys.argv[1], "RECREATE")
import array
for name in ("friend", "main"):
    tree = ROOT.TTree(name, name)
    x = array.array("i", [0])
    tree.Branch("x", x, "x/I")
    for value in (3, 1, 2):
        x[0] = value
        tree.Fill()
    if name == "main":
        tree.BuildIndex("x")
        tree.AddFriend("friend")
    tree.Write()
file.Close()
""",
        source,
    )
    with pytest.warns(UserWarning) as caught:
        sapwood.rewrite(source, target, trees=["main"], sort_by="x")
    words = [str(each.message) for each in caught]
    assert any("index (TTreeIndex) is left out" in each for each in words), words
    assert any("its friends (friend) are left out" in each for each in words), words
    found = root(
        """
file = ROOT.TFile(sys.argv[1])
tree = file.Get("main")
answer([[entry.x for entry in tree], bool(tree.GetListOfFriends()), bool(tree.GetTreeIndex())])
""",
        target,
    )
    assert found == [[1, 2, 3], False, False]


def test_a_sorted_friend_is_noted(tmp_path: Path) -> None:
    source, target = tmp_path / "friends.root", tmp_path / "sorted.root"
    root(
        """
file = ROOT.TFile(sys.argv[1], "RECREATE")
import array
for name in ("friend", "main"):
    tree = ROOT.TTree(name, name)
    x = array.array("i", [0])
    tree.Branch("x", x, "x/I")
    for value in (3, 1, 2):
        x[0] = value
        tree.Fill()
    if name == "main":
        tree.AddFriend("friend")
    tree.Write()
file.Close()
""",
        source,
    )
    with pytest.warns(UserWarning, match="'main': its friend friend was sorted"):
        sapwood.rewrite(source, target, trees=["friend"], sort_by="x")


def big(path: Path) -> None:
    random = np.random.default_rng(1)
    with sapwood.recreate(path, compression=None) as file:
        file["events"] = {name: random.permutation(400_000).astype("f8") for name in "abcdefgh"}


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    source, folder = tmp_path / "big.root", tmp_path / "out"
    folder.mkdir()
    big(source)
    limit = 8 << 20

    def small() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    command = [*COMMAND, "rewrite", str(source), str(folder / "sorted.root"), "--sort-by", "a"]
    done = subprocess.run(
        [*command, "--sort-memory", "4000000"], capture_output=True, text=True, preexec_fn=small
    )
    assert done.returncode != 0 and "temporary file" in done.stderr, done.stderr
    assert os.listdir(folder) == []


def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    source, folder = tmp_path / "big.root", tmp_path / "out"
    folder.mkdir()
    big(source)
    command = [*COMMAND, "rewrite", str(source), str(folder / "sorted.root"), "--sort-by", "a"]
    calls = "import sapwood, sys; sapwood.rewrite(*sys.argv[1:], sort_by='a', sort_memory=300_000, threads=1)"
    for command, left in [
        ([sys.executable, "-c", calls, str(source), str(folder / "called.root")], 0),
        # The command is ended by the signal: the next one with this output removes what it leaves.
        ([*command, "--sort-memory", "300000", "-j", "1"], 1),
    ]:
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while running.poll() is None and not os.listdir(folder):
            time.sleep(0.005)
        time.sleep(0.3)
        running.send_signal(signal.SIGINT)
        words = running.communicate()[1]
        assert running.returncode not in (0, None), words
        assert left or "KeyboardInterrupt" in words
        assert [name.endswith(".unfinished") for name in os.listdir(folder)] == [True] * left
