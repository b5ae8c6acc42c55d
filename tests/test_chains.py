"""Many files as one tree: what is missing, what has another type, friends, luminosity masks, stored chains."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")

from sapwood._tools.processing import Selector  # noqa: E402

ROWS = 40


class Values(Selector):
    """All values of a column, in their order."""

    def __init__(self, *columns: str, cut: str | None = None) -> None:
        self.columns, self.cut = list(columns), cut

    def process(self, batch: Any) -> Any:
        return [tuple(row.values()) for row in batch.to_list()]


@pytest.fixture
def files(tmp_path: Path) -> str:
    """Three files of one tree; only the first has a weight."""
    for part in range(3):
        first = part * ROWS
        with sapwood.recreate(tmp_path / f"part{part}.root") as file:
            columns = {"x": np.arange(first, first + ROWS), "run": np.arange(first, first + ROWS) // 50 + 1}
            columns["luminosityBlock"] = np.arange(first, first + ROWS) % 50
            if part == 0:
                columns["weight"] = np.full(ROWS, 2.5)
            with file.mktree(
                "t", {name: values.dtype for name, values in columns.items()}, auto_flush=10
            ) as tree:
                tree.extend(columns)
    return f"{tmp_path}/part*.root:t"


def all_ways(files: Any, column: str, **options: Any) -> list[list[Any]]:
    """A column by everything that reads many files."""
    drawn: list[Any] = sapwood.draw(files, f"{column}>>h(200,0,200)", library="np", **options)[0].tolist()
    steps = sapwood.iterate(files, [column], step_size=7, **options)
    return [
        sapwood.concatenate(files, [column], library="np", **options)[column].tolist(),
        [one for step in steps for one in step[column].tolist()],
        [one for (one,) in sapwood.process(files, Values(column), step_size=7, **options) or []],
        [place for place, count in enumerate(drawn) for _ in range(int(count))],
    ]


def test_entries_are_counted_over_all_files(files: str, tmp_path: Path) -> None:
    total = 3 * ROWS
    assert all_ways(files, "Entry$") == [[*range(total)]] * 4
    assert all_ways(files, "LocalEntry$") == [[*range(ROWS)] * 3] * 3 + [sorted([*range(ROWS)] * 3)]
    assert all_ways(files, "Entries$ - Entry$ - 1")[:3] == [[*range(total)][::-1]] * 3
    assert all_ways(files, "LocalEntries$ + 0*x") == [[ROWS] * total] * 4
    assert sapwood.concatenate(files, "x", "Entry$ < 50 && Entry$ > 38", library="np")["x"].tolist() == [
        *range(39, 50)
    ]
    rows = sapwood.scan(files, "Entry$", "Entry$ >= 118")
    assert [(row["entry"], row["Entry$"]) for row in rows] == [(118, 118), (119, 119)]
    assert sapwood.skim(files, tmp_path / "skim.root", ["x"], "Entry$ % 40 == 0") == 3
    root = pytest.importorskip("ROOT")
    chain = root.TChain("t")
    for part in range(3):
        chain.Add(f"{tmp_path}/part{part}.root")
    for cut in ("Entry$ < 50", "LocalEntry$ < 5", "Entry$ < Entries$/2", "Entry$ % LocalEntries$ == 3"):
        drawn = sapwood.draw(files, "x>>h(200,0,200)", cut, library="np")[0].sum()
        assert drawn == chain.Draw("x", cut, "goff"), cut


def test_many_histograms_of_many_files(files: str) -> None:
    drawings = [
        "x>>h(200,0,200)",
        ("x>>h(12,0,120)", "x % 2 == 0"),
        ("Entry$:x>>h(3,0,120,3,0,120)", "x > 5"),
    ]
    many = sapwood.draw_many(files, drawings)
    pairs = [(one, "") if isinstance(one, str) else one for one in drawings]
    assert many == [sapwood.draw(files, *pair) for pair in pairs]
    assert many[1].values().tolist() == [5] * 12
    (weights,) = sapwood.draw_many(files, ["weight>>h(5,0,5)"], allow_missing=True, library="np")
    assert weights[0].sum() == ROWS
    with pytest.raises(sapwood.errors.NotFoundError, match="weight"):
        sapwood.draw_many(files, ["x", "weight"])


def test_a_folder_is_its_files(tmp_path: Path) -> None:
    (tmp_path / "runs [1]").mkdir()
    for part in range(3):
        with sapwood.recreate(tmp_path / "runs [1]" / f"{part}.root") as file:
            file["Events"] = {"x": [part, part + 10]}
    (tmp_path / "runs [1]" / "notes.txt").write_text("no file of ROOT")
    folder, wanted = f"{tmp_path}/runs [1]", [0, 10, 1, 11, 2, 12]
    for files in (f"{folder}:Events", folder, f"{folder}/:Events", {folder: "Events"}, Path(folder)):
        assert sapwood.concatenate(files, ["x"])["x"].tolist() == wanted
    assert [row["x"] for row in sapwood.scan(f"{folder}:Events", "x")] == wanted
    assert sapwood.draw(f"{folder}:Events", "x>>h(20,0,20)").sum().value == 6

    class Count(sapwood.Selector):
        columns = ["x"]

        def process(self, batch: Any) -> int:
            return len(batch)

    assert sapwood.process(f"{folder}:Events", Count()) == 6
    (tmp_path / "none").mkdir()
    with pytest.raises(FileNotFoundError, match=r"no file '\*.root' is in the folder '.*none'"):
        sapwood.concatenate(f"{tmp_path}/none:Events")
    with pytest.raises(ValueError, match="3 files match"):
        sapwood.open(folder)


def test_a_missing_file_is_skipped_on_request_and_reported(
    files: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    listed = [f"{tmp_path}/part0.root:t", f"{tmp_path}/gone.root:t", f"{tmp_path}/part2.root:t"]
    wanted = [*range(ROWS), *range(2 * ROWS, 3 * ROWS)]
    for use in (all_ways, lambda *_, **o: sapwood.skim(listed, tmp_path / "skim.root", ["x"], **o)):
        with pytest.raises(FileNotFoundError, match="gone.root"):
            use(listed, "x")
    assert not caplog.messages
    assert all_ways(listed, "x", allow_missing=True) == [wanted] * 4
    assert len(caplog.messages) == 4, "each way says it once"
    assert sapwood.skim(listed, tmp_path / "skim.root", ["x"], allow_missing=True) == 2 * ROWS
    assert all(re.match("left out .*gone.root: not found", one) for one in caplog.messages)


def test_a_file_that_lacks_a_branch_is_named_skipped_or_filled(
    files: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(sapwood.errors.NotFoundError, match='no branch "weight".*part1.root'):
        all_ways(files, "weight")
    assert all_ways(files, "weight*2", allow_missing=True) == [[5] * ROWS] * 4
    assert any(re.match('left out .*part1.root: .*"weight"', one) for one in caplog.messages)
    filled = [2.5] * ROWS + [1.0] * 2 * ROWS
    columns, steps, processed, drawn = all_ways(files, "weight", fill={"weight": 1.0})
    assert columns == steps == processed == filled and drawn == [1] * 2 * ROWS + [2] * ROWS
    assert sapwood.concatenate(files, "x", "weight > 2", fill={"weight": 1}, library="np")["x"].tolist() == [
        *range(ROWS)
    ]
    with pytest.raises(TypeError, match="number for each entry"):
        sapwood.concatenate(files, "x", fill={"weight": "x"})


def test_another_width_is_an_error_unless_it_is_allowed(files: str, tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "part3.root") as file:
        file["t"] = {"x": np.arange(120, 125, dtype="f4"), "run": [1] * 5, "luminosityBlock": [1] * 5}
    for use in (sapwood.concatenate, lambda *a, **o: list(sapwood.iterate(*a, **o))):
        with pytest.raises(
            sapwood.errors.MismatchError, match="'x' holds float32 in .*part3.root and int64 in .*part0"
        ):
            use(files, ["x"])
        assert len(use(files, ["x"], widen=True)) > 3
    assert sapwood.concatenate(files, ["x"], widen=True, library="np")["x"].tolist() == [*range(125)]
    assert sapwood.draw(files, "x", library="np")[0].sum() == 125


def test_friends_of_all_files_have_files_of_their_own(files: str, tmp_path: Path) -> None:
    for part, (first, last) in enumerate(((0, 25), (25, 30), (30, 110), (110, 130))):
        with sapwood.recreate(tmp_path / f"friend{part}.root") as file:
            file["f"] = {"y": np.arange(first, last) * 1.0, "x": np.arange(first, last)[::-1]}
    friends = {"f": f"{tmp_path}/friend*.root:f"}
    wanted = list(range(3 * ROWS))
    assert all_ways(files, "f.y", friends=friends) == [wanted] * 4
    assert all_ways(files, "f.y*(1+0*x)", friends=friends) == [wanted] * 4
    by_index = {"f": (f"{tmp_path}/friend*.root:f", ("x",))}
    theirs = [
        y for first, last in ((0, 25), (25, 30), (30, 110), (110, 130)) for y in range(first, last)[::-1]
    ]
    assert all_ways(files, "f.y", friends=by_index)[:3] == [theirs[: 3 * ROWS]] * 3
    short = {"f": f"{tmp_path}/friend[01].root:f"}
    assert all_ways(files, "x", friends=short) == [wanted] * 4
    assert sapwood.draw(files, "y>>h(200,0,200)", friends=short, library="np")[0].sum() == 30


MASK = {"1": [[3, 5], [49, 60]], "2": [[0, 0], [10, 12]], "7": [[1, 9]]}
IN_MASK = [n for n in range(3 * ROWS) if any(a <= n % 50 <= b for a, b in MASK.get(str(n // 50 + 1), []))]


def test_a_luminosity_mask_leaves_certified_sections(files: str, tmp_path: Path) -> None:
    golden = tmp_path / "golden.json"
    golden.write_text(json.dumps(MASK))
    assert IN_MASK == [3, 4, 5, 49, 50, 60, 61, 62]
    for mask in (
        MASK,
        golden,
        str(golden),
        ({int(run): of for run, of in MASK.items()}, ("run", "luminosityBlock")),
    ):
        assert all_ways(files, "x", lumi_mask=mask) == [IN_MASK] * 4
    assert sapwood.skim(files, tmp_path / "skim.root", ["x"], "x > 4", lumi_mask=golden) == 6
    with sapwood.open(f"{tmp_path}/part1.root")["t"] as tree:
        own = [n for n in IN_MASK if 40 <= n < 80]
        assert tree.arrays(["x"], lumi_mask=MASK, library="np")["x"].tolist() == own
        assert tree.arrays(["x"], "x > 50", lumi_mask=MASK, library="np")["x"].tolist() == own[2:]
        assert tree.arrays(["x"], entries=[22, 3, 9], lumi_mask=MASK, library="np")["x"].tolist() == [62, 49]
        steps = tree.iterate(["x"], lumi_mask=MASK, step_size=8, library="np")
        assert [step["x"].tolist() for step in steps] == [[49, 50], [60, 61, 62]]
        assert tree.points("x", "x < 62", lumi_mask=MASK)[0][0].tolist() == own[:-1]
        assert tree.draw("x>>(10,40,80)", lumi_mask=MASK, library="np")[0].sum() == len(own)
        assert len(tree.arrays(["x"], lumi_mask={})) == 0


def test_a_file_is_rewritten_with_certified_sections(files: str, tmp_path: Path) -> None:
    golden, target = tmp_path / "golden.json", tmp_path / "new.root"
    golden.write_text(json.dumps(MASK))
    options = ["--lumi-mask", golden, "--force"]
    own = [n for n in IN_MASK if 40 <= n < 80]
    for more, expected in (([], own), (["--cut", "x > 50"], own[2:]), (["--entries", "0:20"], own[:2])):
        done = rewrite(tmp_path / "part1.root", target, *options, *more)
        assert done.returncode == 0, done.stderr
        assert sapwood.open(target)["t"]["x"].array(library="np").tolist() == expected
    with sapwood.update(tmp_path / "part1.root") as file:
        file["other"] = {"run": np.arange(3)}
    done = rewrite(tmp_path / "part1.root", target, *options)
    assert done.returncode == 1 and "luminosityBlock" in done.stderr and "--tree" in done.stderr
    done = rewrite(tmp_path / "part1.root", target, *options, "--tree", "t")
    assert done.returncode == 0, done.stderr
    written = sapwood.open(target)
    assert written["t"].num_entries == len(own) and written["other"].num_entries == 3
    done = rewrite(tmp_path / "part1.root", target, *options, "--baskets", "keep")
    assert done.returncode == 1 and "--lumi-mask takes new ones" in done.stderr


def rewrite(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sapwood", "rewrite", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("mask", "error", "words"),
    [
        (3, TypeError, "a luminosity mask is"),
        ({"one": [[1, 2]]}, sapwood.errors.MismatchError, "runs and sections, not 'one'"),
        ({"1": [1, 2]}, sapwood.errors.MismatchError, "sections of run 1 are"),
        ({"1": [[1.7, 3]]}, sapwood.errors.MismatchError, "runs and sections, not 1.7"),
        ({"1": [[True, 3]]}, sapwood.errors.MismatchError, "runs and sections, not True"),
        ({1.5: [[1, 3]]}, sapwood.errors.MismatchError, "runs and sections, not 1.5"),
        ({"1": [[5, 2]]}, sapwood.errors.MismatchError, r"\[5, 2\] of run 1 end before they begin"),
        ((MASK, ("run", "lumi")), sapwood.errors.NotFoundError, 'no branch "lumi"'),
        ((MASK, ("run", 1)), TypeError, "a run and a section"),
    ],
)
def test_a_mask_that_is_none_says_why(files: str, mask: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        sapwood.concatenate(files, ["x"], lumi_mask=mask)


def test_a_mask_is_no_json(files: str, tmp_path: Path) -> None:
    (tmp_path / "golden.json").write_text("{")
    with pytest.raises(sapwood.errors.MismatchError, match="golden.json' is no JSON"):
        sapwood.concatenate(files, ["x"], lumi_mask=tmp_path / "golden.json")


def test_the_next_file_is_opened_while_one_is_in_use(files: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from sapwood._read import chain

    opened, real = threading.Semaphore(0), chain.open_tree

    def counted(*arguments: Any) -> Any:
        found = real(*arguments)
        opened.release()
        return found

    monkeypatch.setattr(chain, "open_tree", counted)
    # A file that takes longer than nothing, and, at the end, one that opens at once.
    monkeypatch.setattr(chain, "_AT_ONCE", 0.0)
    for use in (
        lambda: chain.Chain("test", files, {}).members(),
        lambda: sapwood.num_entries(files),
    ):
        members = use()
        next(members)
        # The first is in use, and the second is opened although nothing asks for it.
        assert opened.acquire(timeout=30) and opened.acquire(timeout=30)
        assert not opened.acquire(timeout=0.05), "no more than the next one"
        members.close()
    monkeypatch.setattr(chain, "_AT_ONCE", 1e9)
    members = chain.Chain("test", files, {}).members()
    next(members)
    assert opened.acquire(timeout=30) and not opened.acquire(timeout=0.05)
    members.close()


CHAIN = """
import sys, ROOT
chain = ROOT.TChain("t")
for path in sys.argv[2:]:
    chain.Add(path)
file = ROOT.TFile(sys.argv[1], "recreate")
chain.Write("all")
file.Close()
"""


def test_a_stored_chain_is_read_as_one_tree(files: str, tmp_path: Path) -> None:
    pytest.importorskip("ROOT")
    names = [f"part{part}.root" for part in range(3)]
    done = subprocess.run(
        [sys.executable, "-c", CHAIN, "chain.root", *names], cwd=tmp_path, capture_output=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    chain = sapwood.open(tmp_path / "chain.root")["all"]
    assert chain.files == [{f"{tmp_path}/{name}": "t"} for name in names]
    assert all_ways(chain, "x") == [list(range(3 * ROWS))] * 4
    assert chain.num_entries == 3 * ROWS and len(chain.arrays(["x"], "x > 10")) == 3 * ROWS - 11
    assert chain.draw("x", library="np")[0].sum() == 3 * ROWS
    assert sum(len(step) for step in chain.iterate(["x"], step_size=9)) == 3 * ROWS


def test_entries_of_friends_are_not_shifted_by_files_that_are_left_out(tmp_path: Path) -> None:
    for number in range(3):
        for name, branch in (("a", "x"), ("w", "weight")):
            with sapwood.recreate(tmp_path / f"{name}{number}.root") as file:
                file["t"] = {branch: [10 * number, 10 * number + 1]}
    files = [f"{tmp_path}/{name}.root:t" for name in ("a0", "missing", "a2")]
    friends = {"w": [f"{tmp_path}/w{number}.root:t" for number in range(3)]}
    with pytest.raises(sapwood.errors.MismatchError, match="matched by their place"):
        list(sapwood.iterate(files, ["x", "w.weight"], friends=friends, allow_missing=True))


def test_entry_lists_tell_trees_of_one_name_apart_by_their_folders(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "two.root") as file:
        file["a/t"], file["b/t"] = {"x": [1, 2]}, {"x": [3]}
    trees = [f"{tmp_path}/two.root:a/t", f"{tmp_path}/two.root:b/t"]
    found = sapwood.draw(trees, ">>list", "x > 1")
    assert list(sapwood.concatenate(trees, entries=found)["x"]) == [2, 3]
    with pytest.raises(sapwood.errors.MismatchError, match="by name and file"):
        sapwood.draw([trees[0], trees[0]], ">>list", "x > 1")
