"""Friends of trees, beside `TTree::Draw` of real ROOT, which wrote them."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")

HERE = Path(__file__).parent
EXPRESSIONS = "far.y y far.x x same.k k*far.y z g.z g.q v*g.q sum n far.n Length$(g.q)".split()


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    if importlib.util.find_spec("ROOT") is None:
        if os.environ.get("CI", "").lower() in ("1", "true", "yes"):
            pytest.fail("ROOT is required in CI")
        pytest.skip("real ROOT is not installed")
    folder = tmp_path_factory.mktemp("friends")
    done = subprocess.run(
        [sys.executable, HERE / "oracle" / "friends.py", folder, folder / "answers.json"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return folder, json.loads((folder / "answers.json").read_text())


def test_friends_of_the_file_answer_as_in_root(answers: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, lines = answers
    tree = sapwood.open(folder / "main.root")["t"]
    assert tree.friends == {"same": ("", "s"), "far": ("friend.root", "f"), "g": ("index.root", "g")}
    assert len(lines) >= 25
    for theirs in lines:
        expression, _, cut = theirs["line"].partition(" ;; ")
        columns, weights = tree.points(expression, cut)
        for ours, values in zip(reversed(columns), theirs["columns"], strict=True):
            np.testing.assert_array_equal(ours, np.array(values, "float64"), err_msg=theirs["line"])
        np.testing.assert_array_equal(weights, theirs["weights"], err_msg=theirs["line"])


def test_arrays_and_steps_and_skims_hold_what_friends_have(
    answers: tuple[Path, list[dict[str, Any]]], tmp_path: Path
) -> None:
    folder, _ = answers
    with sapwood.open(folder / "main.root") as file:
        tree = file["t"]
        whole = tree.arrays(EXPRESSIONS)
        assert whole["far.y"].tolist() == [e * 1.5 - 10 for e in range(60)]
        assert whole["g.z"].tolist() == [e * 100.0 for e in range(60)]
        assert whole["g.q"].tolist() == [[e + j / 8 for j in range(e % 4)] for e in range(60)]
        steps = list(tree.iterate(EXPRESSIONS, step_size=17))
        assert [row for step in steps for row in step.tolist()] == whole.tolist()
        passed = tree.arrays(["x", "g.z"], "far.y > 20 && same.k < 4", library="np")
        wanted = [e for e in range(60) if e * 1.5 - 10 > 20 and e % 9 < 4]
        assert passed["x"].tolist() == [e / 4 for e in wanted] and passed["g.z"].tolist() == [
            100 * e for e in wanted
        ]
        assert tree.passing("g.m == 3").tolist() == [e for e in range(60) if e % 4 == 3]
        assert tree.arrays(["g.z"], entries=[5, 2, 40], library="np")["g.z"].tolist() == [500, 200, 4000]
        with pytest.raises(sapwood.errors.NotFoundError, match="those of its friends .same, far, g."):
            tree["far.y"]
    output = tmp_path / "skim.root"
    assert sapwood.skim(f"{folder}/main.root:t", output, {"z": "g.z", "x": "x"}, "g.q[0] > 10") == 37
    assert sapwood.open(output)["t"]["z"].array().tolist() == [100 * e for e in range(11, 60) if e % 4]


@pytest.fixture
def trees(tmp_path: Path) -> Any:
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["t"] = {"run": [1, 1, 2, 2, 3], "event": [7, 8, 7, 9, 1], "x": [0.0, 1, 2, 3, 4]}
    with sapwood.recreate(tmp_path / "b.root") as file:
        file["f"] = {
            "run": [2, 1, 9, 1],
            "event": [7, 7, 9, 8],
            "y": [20.0, 10.0, 90.0, 11.0],
            "v": [[1.0, 2.0], [3.0], [], [4.0, 5.0, 6.0]],
            "a": np.arange(8).reshape(4, 2),
            "name": ["two", "one", "nine", "one"],
        }
        file.mkrntuple("n", {"y": [5.0, 6.0, 7.0, 8.0, 9.0]})
    with sapwood.open(tmp_path / "a.root") as one, sapwood.open(tmp_path / "b.root") as other:
        yield one["t"], other


@pytest.mark.parametrize("by_path", [False, True])
def test_a_friend_is_matched_by_an_index_that_is_built(trees: Any, by_path: bool) -> None:
    tree, other = trees
    tree.add_friend(f"{other.file_path}:f" if by_path else other["f"], index=("run", "event"))
    assert tree.points("x:y")[0][0].tolist() == [10, 11, 20]
    assert tree.points("x")[0][0].tolist() == [0, 1, 2, 3, 4]
    assert tree.points("f.v*x")[0][0].tolist() == [0, 4, 5, 6, 2, 4]
    assert tree.points("a[1]:x")[0][0].tolist() == [0, 1, 2]
    assert tree.points("x", 'f.name == "one"')[0][0].tolist() == [0, 1]
    assert tree.arrays(["f.v"])["f.v"].tolist() == [[3], [4, 5, 6], [1, 2], [], []]
    with pytest.raises(sapwood.errors.MismatchError, match="entry 3 has no value.*a friend has no entry"):
        tree.arrays(["y"])
    assert tree.arrays(["y"], "y > 0", library="np")["y"].tolist() == [10, 11, 20]
    assert tree.points("Alt$(y, -1)")[0][0].tolist() == [10, 11, 20, -1, -1]
    assert tree.draw("y>>(10, 0, 100)", library="np")[0].sum() == 3


def test_a_shorter_friend_has_no_values_behind_its_end(trees: Any) -> None:
    tree, other = trees
    tree.add_friend(other["f"], "short", index=False)
    tree.add_friend(other["n"], "n")
    assert tree.points("short.y")[0][0].tolist() == [20, 10, 90, 11]
    assert tree.points("x", "short.y > 15 || x > 3")[0][0].tolist() == [0, 2]
    assert tree.arrays(["n.y", "n.y + x"], library="np")["n.y + x"].tolist() == [5, 7, 9, 11, 13]
    with pytest.raises(sapwood.errors.MismatchError, match='several friends have "y": write short.y or n.y'):
        tree.points("y")
    again = pickle.loads(pickle.dumps(tree))
    assert again.points("short.y + n.y")[0][0].tolist() == [25, 16, 97, 19]


def test_a_friend_may_be_many_files(trees: Any, tmp_path: Path) -> None:
    tree, _ = trees
    keys = [[(1, 8)], [(1, 7), (2, 7)], [(2, 9), (3, 1), (9, 9)]]
    for part, values in enumerate(([0.5], [1.5, 2.5], [3.5, 4.5, 5.5])):
        with sapwood.recreate(tmp_path / f"part{part}.root") as file:
            file["p"] = {
                "w": values,
                "l": ak.Array([[value] * (n + 1) for n, value in enumerate(values)]),
                "x": [-1] * len(values),
                "run": [run for run, _ in keys[part]],
                "event": [event for _, event in keys[part]],
            }
    tree.add_friend(str(tmp_path / "part*.root:p"))
    assert tree.points("w - x")[0][0].tolist() == [0.5] * 5
    assert tree.arrays(["p.l", "p.x + x"])["p.l"].tolist() == [[0.5], [1.5], [2.5, 2.5], [3.5], [4.5, 4.5]]
    assert tree.arrays(["w"], entries=[4, 0], library="np")["w"].tolist() == [4.5, 0.5]
    tree.add_friend(str(tmp_path / "part*.root:p"), "q", index=("run", "event"))
    assert tree.points("q.w")[0][0].tolist() == [1.5, 0.5, 2.5, 3.5, 4.5]
    assert tree.arrays(["q.l"])["q.l"].tolist() == [[1.5], [0.5], [2.5, 2.5], [3.5], [4.5, 4.5]]


@pytest.mark.parametrize(
    ("other", "options", "error", "words"),
    [
        ("f", {"index": ("run", "nope")}, sapwood.errors.NotFoundError, 'no branch "nope"'),
        (
            "f",
            {"index": ("y", "event")},
            sapwood.errors.NotFoundError,
            'the friend "f" has an index of "y" and "event"',
        ),
        ("f", {"index": "v"}, sapwood.errors.MismatchError, "not one number an entry"),
        ("f", {"index": 3}, TypeError, "one or two expressions"),
        ("f", {"name": "a b"}, sapwood.errors.MismatchError, "cannot be the name"),
        ("f", {"name": 1}, TypeError, "is a string"),
    ],
)
def test_a_friend_that_cannot_be_says_why(
    trees: Any, other: str, options: Any, error: Any, words: str
) -> None:
    tree, file = trees
    with pytest.raises(error, match=words):
        tree.add_friend(file[other], **options)
        tree.points("f.y")


def test_two_friends_have_two_names(trees: Any) -> None:
    tree, other = trees
    tree.add_friend(other["f"])
    with pytest.raises(sapwood.errors.ExistsError, match="'f' already"):
        tree.add_friend(other["n"], "f")


def test_the_command_draws_and_scans_friends(answers: tuple[Path, list[dict[str, Any]]]) -> None:
    folder, _ = answers

    def run(*arguments: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "sapwood", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=60,
        )

    done = run("scan", folder / "main.root:t", "x", "far.y", "g.z", "--cut", "k > 7", "--json", "-n", 2)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["x"], row["far.y"], row["g.z"]) for row in rows] == [(2, 2, 800), (4.25, 15.5, 1700)], (
        done.stderr
    )
    friend = f"new={folder / 'index.root'}:g"
    done = run("scan", folder / "main.root:t", "new.z", "--friend", friend, "--json", "-n", 3)
    assert [json.loads(line)["new.z"] for line in done.stdout.splitlines()] == [0, 100, 200], done.stderr
    done = run("draw", folder / "main.root:t", "z>>(5,0,6000)", "far.y > 0")
    assert "entries 53 " in done.stdout, done.stderr
    done = run("draw", folder / "main.root:t", "nope")
    assert done.returncode == 1 and 'no branch "nope"' in done.stderr


def test_a_file_of_friends_that_is_gone_says_which(
    answers: tuple[Path, list[dict[str, Any]]], tmp_path: Path
) -> None:
    folder, _ = answers
    lonely = tmp_path / "main.root"
    lonely.write_bytes((folder / "main.root").read_bytes())
    tree = sapwood.open(lonely)["t"]
    assert len(tree.points("x")[0][0]) == 60
    with pytest.raises(
        sapwood.errors.NotFoundError, match="the friend 'far' .tree 'f' in 'friend.root'. cannot be"
    ):
        tree.points("far.y")


def test_friends_in_archives_are_found_there(
    answers: tuple[Path, list[dict[str, Any]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = answers
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile("a.zip", "w") as archive:
        for name in ("main.root", "friend.root", "index.root"):
            archive.write(folder / name, name)
    expected = sapwood.open(folder / "main.root")["t"].points("far.y")[0][0].tolist()
    assert sapwood.open("a.zip:main.root")["t"].points("far.y")[0][0].tolist() == expected
    done = subprocess.run(
        [sys.executable, "-m", "sapwood", "scan", "a.zip:main.root:t", "far.y", "--json", "-n", "100"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert [json.loads(line)["far.y"] for line in done.stdout.splitlines()] == expected, done.stderr


WITH_INDEX = """
import sys, ROOT
ROOT.gErrorIgnoreLevel = ROOT.kError
ROOT.gInterpreter.Declare('''
void write(const char *path, int first, int last, bool has_index, const char *minor) {
  TFile file(path, "recreate");
  TTree t("g", "indexed");
  int run, event; double z;
  t.Branch("run", &run, "run/I"); t.Branch("event", &event, "event/I"); t.Branch("z", &z, "z/D");
  for (int e = last - 1; e >= first; --e) { run = 1 + e / 10; event = e; z = e * 1.5; t.Fill(); }
  if (has_index) t.BuildIndex("run", minor);
  t.Write();
}
''')
for number, (has_index, minor) in enumerate([(True, "event"), (True, "event"), (False, ""), (True, "z")]):
    ROOT.write(f"{sys.argv[1]}/{number}.root", 10 * number, 10 * number + 10, has_index, minor)
"""


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("ROOT")
    folder = tmp_path_factory.mktemp("indexed")
    done = subprocess.run(
        [sys.executable, "-c", WITH_INDEX, folder], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    with sapwood.recreate(folder / "t.root") as file:
        event = np.array([3, 17, 40, 0, 12])
        file["t"] = {"run": 1 + event // 10, "event": event}
    return folder


OF_LARGE_VALUES = """
import sys, ROOT
ROOT.gInterpreter.Declare('''
void write(const char* path) {
  TFile file(path, "recreate"); TTree t("g", "");
  ULong64_t event; double z; t.Branch("event", &event); t.Branch("z", &z);
  for (ULong64_t each : {3ull, 17ull, ~0ull}) { event = each; z = each % 100; t.Fill(); }
  t.BuildIndex("event");
  t.Write();
}
''')
ROOT.write(sys.argv[1])
"""


def test_an_index_that_lost_large_values_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("ROOT")
    path = tmp_path / "g.root"
    done = subprocess.run(
        [sys.executable, "-c", OF_LARGE_VALUES, path], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    with sapwood.recreate(tmp_path / "t.root") as file:
        file["t"] = {"event": np.array([17, 2**64 - 1, 5], "uint64")}
    with sapwood.open(tmp_path / "t.root") as file, sapwood.open(path) as other:
        # ROOT stores 2^64-1 and each other value from 2^63 on as the same number.
        with pytest.raises(sapwood.errors.UnsupportedError, match="from 2.63 on apart: match entries by"):
            tree = file["t"]
            tree.add_friend(other["g"], "g")
            tree.points("g.z")
    with sapwood.open(tmp_path / "t.root") as file, sapwood.open(path) as other:
        tree = file["t"]
        tree.add_friend(other["g"], "built", index="event")
        found = tree.points("built.z")[0][0]
        assert found[:2].tolist() == [17.0, 15.0]


def test_stored_indexes_of_several_files_count(indexed: Path) -> None:
    files = [f"{indexed}/{number}.root:g" for number in (0, 1)]
    expected = [4.5, 25.5, 0.0, 18.0]
    with sapwood.open(indexed / "t.root") as file:
        tree = file["t"]
        tree.add_friend(files, "g")
        assert tree.points("g.z")[0][0].tolist() == expected
        tree.add_friend(files, "by_number", index=False)
        assert tree.points("by_number.z")[0][0].tolist() == [13.5, 12.0, 10.5, 9.0, 7.5]
    for way in (
        sapwood.concatenate(f"{indexed}/t.root:t", ["g.z"], "event != 40", friends={"g": files}).tolist(),
        ak.concatenate(
            list(
                sapwood.iterate(
                    f"{indexed}/t.root:t", ["g.z"], "event != 40", friends={"g": files}, step_size=2
                )
            )
        ).tolist(),
    ):
        assert [row["g.z"] for row in way] == expected
    histogram = sapwood.draw(f"{indexed}/t.root:t", "g.z>>(4,0,40)", friends={"g": files}, library="np")
    assert histogram[0].tolist() == [2, 1, 1, 0]


@pytest.mark.parametrize(
    ("numbers", "words"), [((0, 2), "none like it"), ((0, 3), "none like it"), ((2, 0), "index")]
)
def test_files_with_and_without_an_index_are_refused(
    indexed: Path, numbers: tuple[int, int], words: str
) -> None:
    files = [f"{indexed}/{number}.root:g" for number in numbers]
    tree = sapwood.open(indexed / "t.root")["t"]
    tree.add_friend(files, "g")
    with pytest.raises(sapwood.errors.MismatchError, match=words):
        tree.points("g.z")
    with pytest.raises(sapwood.errors.MismatchError, match=words):
        sapwood.concatenate([f"{indexed}/t.root:t"] * 4, ["g.z"], friends={"g": files})
    tree = sapwood.open(indexed / "t.root")["t"]
    tree.add_friend(files, "h", index=("run", "event"))
    assert tree.points("h.z")[0][0].tolist()[0] == 4.5


def test_files_of_friends_are_closed(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sapwood._read import chain

    held: list[Any] = []
    first = chain.open_tree

    def noted(*arguments: Any) -> Any:
        held.append(first(*arguments))
        return held[-1]

    monkeypatch.setattr(chain, "open_tree", noted)
    many, friends = [f"{indexed}/t.root:t"] * 2, {"g": [f"{indexed}/{number}.root:g" for number in (0, 1)]}

    class Count(sapwood.Selector):
        columns, cut = ("g.z",), "event != 40"

        def process(self, batch: Any) -> int:
            return len(batch)

    for run in (
        lambda: sapwood.concatenate(many, ["g.z"], "event != 40", friends=friends),
        lambda: list(sapwood.iterate(many, ["g.z"], "event != 40", friends=friends)),
        lambda: sapwood.draw(many, "g.z", friends=friends),
        lambda: sapwood.process(many, Count(), friends=friends),
    ):
        held.clear()
        run()
        assert len(held) >= 4 and all(tree.tree._root._closed for tree in held)


def test_a_file_does_not_lead_to_other_servers(tmp_path: Path) -> None:
    from sapwood._read.friends import place_of

    assert place_of("http://one/a/t.root", "f.root") == "http://one/a/f.root"
    assert place_of("http://one/a/t.root", "http://one/f.root") == "http://one/f.root"
    for of_tree, path in (("a.root", "http://one/f.root"), ("http://one/a.root", "http://two/f.root")):
        with pytest.raises(sapwood.errors.UnsupportedError, match="by hand"):
            place_of(of_tree, path)
    with pytest.raises(sapwood.errors.UnsupportedError, match="another machine"):
        place_of("http://one/a.root", "/etc/f.root")


def test_a_file_cannot_lead_through_chains_of_file_systems() -> None:
    from sapwood._read.friends import place_of

    for tree, friend in [
        ("zip://a.root::https://good.example/a.zip", "zip://a.root::https://other.example/x.zip"),
        ("https://good.example/t.root", "https://good.example/x::https://other.example/y"),
        ("zip://a.root::https://good.example/a.zip", "https://good.example/b.root"),
    ]:
        with pytest.raises(sapwood.errors.UnsupportedError, match="several file systems"):
            place_of(tree, friend)
    assert place_of("https://good.example/a/t.root", "b.root") == "https://good.example/a/b.root"


def test_values_of_friends_that_may_be_absent_stay_so(tmp_path: Path) -> None:
    total, split = 9, 4
    optional = [None if k % 3 == 1 else k + 0.5 for k in range(total)]
    items = [[k, None][: k % 3] for k in range(total)]
    for name, part in (("a", slice(0, split)), ("b", slice(split, total))):
        with sapwood.recreate(tmp_path / f"{name}.root") as file:
            ntuple = file.mkrntuple("n", {"k": "int64", "o": "?float64", "items": "var * ?int64"})
            ntuple.extend(
                {"k": np.arange(total)[part], "o": ak.Array(optional[part]), "items": ak.Array(items[part])}
            )
    k = np.array([8, 3, 3, 0, 7, 1, 4, 4, 20, 5, 6, 2])
    with sapwood.recreate(tmp_path / "main.root") as file:
        file["t"] = {"x": np.arange(12), "k": k}
    files = [f"{tmp_path}/a.root:n", f"{tmp_path}/b.root:n"]
    names = ["x", "w.o", "w.items", "Sum$(w.items)", "w.o*2"]
    for friend, rows in ((files, range(12)), ((files, ("k", "0")), k.tolist())):
        wanted = []
        for x, row in enumerate(rows):
            value, of = (optional[row], items[row]) if row < total else (None, [])
            both = (value, of, sum(one or 0 for one in of), value and value * 2)
            wanted.append(dict(zip(names, (x, *both))))
        for threads in (1, 2):
            find = functools.partial(
                sapwood.concatenate, f"{tmp_path}/main.root:t", friends={"w": friend}, threads=threads
            )
            assert find(names).tolist() == wanted
            passing = [row["x"] for row in wanted if (row["w.o"] or 0) > 3]
            assert find(["x"], "w.o > 3")["x"].tolist() == passing and 2 < len(passing) < 9


def test_what_a_step_cuts_is_inflated_once_in_friends_and_lazy_frames(tmp_path: Path) -> None:
    entries = 20_000
    numbers = np.arange(entries, dtype="f4")
    for name in ("tree", "friend"):
        with sapwood.recreate(tmp_path / f"{name}.root") as file:
            made = file.mktree("t", {name[0]: "float32"}, auto_flush=entries)
            made.extend({name[0]: numbers})
    tree = sapwood.open(tmp_path / "tree.root", threads=1)["t"]
    friend = sapwood.open(tmp_path / "friend.root", threads=1)["t"]
    tree.add_friend(friend, "friend")

    def inflated(of: Any, iterate: Callable[[], Any]) -> float:
        with of.perf as perf:
            iterate()
        return float(perf.figures["ReadUnZip"].value)

    def read() -> None:
        steps = tree.iterate(["t", "friend.f"], step_size=100, library="np")
        found = [np.concatenate(columns) for columns in zip(*(step.values() for step in steps))]
        assert all(np.array_equal(column, numbers) for column in found) and len(found) == 2

    once = inflated(tree, lambda: tree["t"].array())
    assert once > 0.07
    assert (inflated(tree, read), inflated(friend, read)) == (once, once)
    pytest.importorskip("polars")
    assert inflated(tree, lambda: tree.lazy(step_size=100).collect()) == once
