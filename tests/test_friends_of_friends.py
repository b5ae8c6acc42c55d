"""Friends of friends and their aliases, beside `TTree::Draw` of real ROOT, which wrote them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from support import rootrun

sapwood = pytest.importorskip("sapwood")

EXPRESSIONS = "x y z w c.z twice b.twice yy b.yy zz c.zz b.zz a.x b.yy+1 twice*b.x event"
UNKNOWN = ["b.a.x", "nope", "b.nope"]

SCRIPT = """
import array, os
os.chdir(sys.argv[1])
def write(name, columns, friends=(), aliases=(), index=None, entries=5):
    file = ROOT.TFile(name + ".root", "recreate")
    tree = ROOT.TTree(name, name)
    buffers = {column: array.array("d", [0]) for column in columns}
    for column, buffer in buffers.items():
        tree.Branch(column, buffer, column + "/D")
    for entry in range(entries):
        for column, of in columns.items():
            buffers[column][0] = of(entry)
        tree.Fill()
    for alias, meaning in aliases:
        tree.SetAlias(alias, meaning)
    if index:
        tree.BuildIndex(*index)
    for friend in friends:
        tree.AddFriend(friend, friend + ".root")
    tree.Write()
    file.Close()

ROOT.gErrorIgnoreLevel = ROOT.kFatal  # Unknown names, and trees of a circle that are not there yet.
write("c", {"z": lambda i: 100 * i, "w": lambda i: 7 * i}, aliases=[("zz", "2*z")])
write("b", {"x": lambda i: 10 + i, "y": lambda i: 20 + i}, ["c"], [("twice", "2*x"), ("yy", "2*y")])
write("d", {"event": lambda i: i, "x": lambda i: -i})
write("a", {"x": lambda i: i}, ["b", "d"])
# Friends of each other: real ROOT 6.40 does not come back from drawing one.
write("q", {"y": lambda i: i})
write("p", {"x": lambda i: 2 * i}, ["q"])
write("q", {"y": lambda i: 3 * i}, ["p"])
file = ROOT.TFile("a.root")
tree = file.Get("a")
tree.SetEstimate(100)
found = {}
for expression in sys.argv[2:]:
    count = tree.Draw(expression, "", "goff")
    found[expression] = [tree.GetV1()[i] for i in range(count)] if count >= 0 else None
answer(found)
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[float] | None]]:
    folder = tmp_path_factory.mktemp("friends")
    return folder, rootrun.root(SCRIPT, folder, *EXPRESSIONS.split(), *UNKNOWN)


def test_friends_of_friends_and_their_aliases_answer_as_in_root(
    answers: tuple[Path, dict[str, list[float] | None]],
) -> None:
    folder, theirs = answers
    tree = sapwood.open(folder / "a.root")["a"]
    for expression in EXPRESSIONS.split():
        expected = theirs[expression]
        assert expected is not None, expression
        np.testing.assert_array_equal(tree.points(expression)[0][0], expected, err_msg=expression)
    for expression in UNKNOWN:
        assert theirs[expression] is None
        with pytest.raises(sapwood.errors.NotFoundError, match="no branch"):
            tree.points(expression)


def test_the_command_finds_them_too(answers: tuple[Path, dict[str, list[float] | None]]) -> None:
    folder, theirs = answers
    names = ["z", "c.w", "b.yy", "event"]
    done = run("scan", folder / "a.root:a", *names, "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    for name in names:
        assert [row[name] for row in rows] == theirs[name.replace("c.w", "w")], done.stderr
    # A friend that is named here brings its own along.
    other = f"other={folder / 'a.root'}:a"
    done = run("scan", folder / "c.root:c", "w", "event", "--friend", other, "--json")
    assert [json.loads(line)["event"] for line in done.stdout.splitlines()] == theirs["event"], done.stderr


def test_one_friend_that_is_gone_hides_no_other(
    answers: tuple[Path, dict[str, list[float] | None]], tmp_path: Path
) -> None:
    folder, theirs = answers
    for name in ("a", "d"):
        (tmp_path / f"{name}.root").write_bytes((folder / f"{name}.root").read_bytes())
    tree = sapwood.open(tmp_path / "a.root")["a"]
    assert tree.points("event")[0][0].tolist() == theirs["event"]
    words = "the friend 'b' .tree 'b' in 'b.root'. cannot be read"
    with pytest.raises(sapwood.errors.NotFoundError, match=words):
        tree.points("y")
    done = run("scan", tmp_path / "a.root:a", "event", "--json")
    assert [json.loads(line)["event"] for line in done.stdout.splitlines()] == theirs["event"], done.stderr
    done = run("scan", tmp_path / "a.root:a", "y", "--json")
    assert done.returncode == 1 and 'the friend "b" cannot be read' in done.stderr


def test_trees_that_are_friends_of_each_other_are_read(
    answers: tuple[Path, dict[str, list[float] | None]],
) -> None:
    folder, _ = answers
    assert sapwood.open(folder / "q.root")["q"].friends == {"p": ("p.root", "p")}
    assert sapwood.open(folder / "p.root")["p"].points("y + x")[0][0].tolist() == [0, 5, 10, 15, 20]
    done = run("scan", folder / "q.root:q", "y + x", "--json")
    assert [json.loads(line)["y + x"] for line in done.stdout.splitlines()] == [0, 5, 10, 15, 20], done.stderr


def test_added_friends_bring_theirs_along(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "f.root") as file:
        for name in ("one", "two", "three"):
            file[name] = {name[0] + "x": np.arange(4) + len(name)}
    file = sapwood.open(tmp_path / "f.root")
    one, two, three = file["one"], file["two"], file["three"]
    one.add_friend(two)
    two.add_friend(three)
    three.add_friend(one)
    assert one.points("three.tx")[0][0].tolist() == [5, 6, 7, 8]
    one.add_friend(one, "twin")
    assert one.points("twin.ox")[0][0].tolist() == [3, 4, 5, 6]


def test_a_long_row_of_friends_ends(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "f.root") as file:
        for number in range(40):
            file[f"t{number}"] = {f"x{number}": np.arange(3)}
    file = sapwood.open(tmp_path / "f.root")
    trees = [file[f"t{number}"] for number in range(40)]
    for tree, friend in zip(trees, trees[1:], strict=False):
        tree.add_friend(friend)
    assert trees[30].points("x39")[0][0].tolist() == [0, 1, 2]
    with pytest.raises(sapwood.errors.LimitError, match="depth"):
        trees[0].points("x1")


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sapwood", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)
