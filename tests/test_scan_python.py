"""``tree.scan`` in Python: the table of the command, rows, CSV and JSON lines, over trees, RNTuples and files."""

from __future__ import annotations

import csv
import io
import warnings
import xml.etree.ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from test_scan import scan as command

sapwood = pytest.importorskip("sapwood")

COLUMNS = {
    "x": np.array([0.5, 1.5, np.nan]),
    "n": np.array([1, 2, 300], "i2"),
    "Muon_pt": [[1.0, 2.0], [], [3.0]],
    "Muon_q": [[1, -1], [], [1]],
    "name": ['a "b"', "c,d", "e"],
}


@pytest.fixture(scope="module", params=["TTree", "RNTuple"])
def path(request: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    place: Path = tmp_path_factory.mktemp("scan") / "a.root"
    with sapwood.recreate(place) as file:
        if request.param == "TTree":
            file["t"] = COLUMNS
        else:
            file.mkrntuple("t", COLUMNS)
    return f"{place}:t"


@pytest.fixture
def tree(path: str) -> Any:
    return sapwood.open(path)


#: Expressions, cut, options here, options of the command.
LOOKS: list[tuple[list[str], str, dict[str, Any], list[str]]] = [
    (["x", "n"], "", {}, []),
    (["x", "Muon_pt", "name"], "", {}, []),
    (["Muon_pt", "Muon_q", "x*2"], "Muon_pt > 1", {}, ["--cut", "Muon_pt > 1"]),
    (["n", "x"], "n > 1", {"col": "#x:6.2f"}, ["--cut", "n > 1", "--col", "#x:6.2f"]),
    (["Muon_*"], "", {"limit": 2, "precision": 3}, ["-n", "2", "--precision", "3"]),
    (["x"], "", {"col_size": 5}, ["--col-size", "5"]),
]  # fmt: skip


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: " ".join(look[0]))
def test_the_table_is_that_of_the_command(path: str, tree: Any, look: Any) -> None:
    expressions, cut, options, words = look
    scan = tree.scan(expressions, cut, **options)
    expected = command(path, "--expand", *expressions, *words)
    assert str(scan) + "\n" == repr(scan) + "\n" == expected
    assert str(sapwood.scan(path, expressions, cut, **options)) + "\n" == expected


def test_rows_are_read_anew_each_time(tree: Any) -> None:
    scan = tree.scan("n:Muon_pt", "n < 300")
    rows = [
        {"entry": 0, "instance": 0, "n": 1, "Muon_pt": 1.0},
        {"entry": 0, "instance": 1, "n": 1, "Muon_pt": 2.0},
        {"entry": 1, "instance": 0, "n": 2, "Muon_pt": None},
    ]
    assert list(scan) == rows == list(scan) and scan.names == ["n", "Muon_pt"]
    assert list(tree.scan("n:Muon_pt", limit=1)) == rows[:1]
    assert list(tree.scan("n:Muon_pt", limit=0)) == []
    assert [row["n"] for row in tree.scan("n", entry_start=1)] == [2, 300]
    assert [row["entry"] for row in tree.scan("n", entries=[0, 2])] == [0, 2]
    assert [row["two"] for row in tree.scan(["two"], aliases={"two": "2*n"})] == [2, 4, 600]


def test_what_is_shown_without_names(tree: Any) -> None:
    counts = {"nMuon_pt", "nMuon_q"}
    assert [name for name in tree.scan().names if name not in counts] == list(COLUMNS)
    assert tree.scan("Muon_*").names == ["Muon_pt", "Muon_q"]
    assert tree.scan("n*x").names == ["n*x"]


def test_csv_and_json_lines(tree: Any, tmp_path: Path) -> None:
    scan = tree.scan("x:name")
    text = scan.csv()
    assert list(csv.reader(io.StringIO(text))) == [
        ["entry", "instance", "x", "name"],
        ["0", "0", "0.5", 'a "b"'],
        ["1", "0", "1.5", "c,d"],
        ["2", "0", "NaN", "e"],
    ]
    assert scan.csv(tmp_path / "a.csv") is None and (tmp_path / "a.csv").read_text() == text
    lines = scan.json_lines()
    assert lines.splitlines()[2] == '{"entry": 2, "instance": 0, "x": NaN, "name": "e"}'
    scan.json_lines(tmp_path / "a.jsonl")
    assert (tmp_path / "a.jsonl").read_text() == lines


def test_a_notebook_shows_a_table(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["t"] = {"x": np.arange(100) / 3, "name": ["<b>&"] * 100}
    shown = xml.etree.ElementTree.fromstring(
        f"<div>{sapwood.open(tmp_path / 'a.root')['t'].scan('x:name', limit=60, precision=3)._repr_html_()}</div>"
    )
    rows = [[cell.text for cell in row.iter("td")] for row in shown.iter("tr")][1:]
    assert len(rows) == 50 and rows[1] == ["1", "0", "0.333", "<b>&"]
    assert "only the first 50 rows are shown: limit= shows more" in "".join(shown.itertext())


def test_all_rows_unless_a_limit_is_given(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["t"] = {"x": np.arange(60)}
        file["few"] = {"x": np.arange(25)}
    with sapwood.open(tmp_path / "a.root") as file:
        for scan in (file["t"].scan("x"), sapwood.scan(f"{tmp_path}/a.root:t", "x")):
            assert [row["x"] for row in scan] == list(range(60))
            assert len(scan.csv().splitlines()) == 61 and len(scan.json_lines().splitlines()) == 60
            *table, said = str(scan).splitlines()
            assert len(table) == 3 + 25 + 1 and said.startswith("only the first 25 rows are shown: limit=")
            assert scan._repr_html_().count("<tr>") == 26 and "the first 25 rows" in scan._repr_html_()
        limited = file["t"].scan("x", limit=30)
        assert len(str(limited).splitlines()) == 4 + 30 and len(limited.csv().splitlines()) == 31
        assert limited._repr_html_().count("<tr>") == 31 and "only" not in limited._repr_html_()
        assert len(str(file["few"].scan("x")).splitlines()) == 4 + 25
        assert len(str(file["t"].scan("x", limit=0)).splitlines()) == 4


def test_many_entries_are_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sapwood._read import scanning

    with sapwood.recreate(tmp_path / "a.root") as file:
        file["t"] = {"x": np.arange(50_000), "v": [[1, 2]] * 50_000}
    tree = sapwood.open(tmp_path / "a.root")["t"]
    assert [row["x"] for row in tree.scan("x", "x % 7 == 0")] == list(range(0, 50_000, 7))
    lines = [(row["entry"], row["instance"]) for row in tree.scan("v")]
    assert lines == [(entry, item) for entry in range(50_000) for item in (0, 1)]
    # Only what is shown is read.
    parts: list[int] = []
    blocks = scanning.blocks

    def counted(*arguments: Any) -> Any:
        for block in blocks(*arguments):
            parts.append(len(block[0]))
            yield block

    monkeypatch.setattr(scanning, "blocks", counted)
    assert len(list(tree.scan("x", limit=3))) == 3
    assert parts == [3]
    parts.clear()
    assert len(list(tree.scan("x", "x % 100 == 0", limit=3))) == 3
    assert parts == [1, 0, 0, 0, 0, 1, 2], "of 3, 6, 12 ... 192 entries"


def test_entries_that_weigh_much_are_read_a_few_at_a_time(tmp_path: Path) -> None:
    values = np.arange(4_000 * 2_000, dtype="f8").reshape(4_000, 2_000)
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["t"] = {"v": values}
    tree = sapwood.open(tmp_path / "a.root", answer_limit=10_000_000)["t"]
    assert [row["v"] for row in tree.scan("v", limit=3)] == [0, 1, 2]
    # All lines of a cut that few entries pass: 64 MB in sum.
    assert [row["v"] for row in tree.scan("v", "v >= 7999998")] == [7_999_998, 7_999_999]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_cut_is_on_items_in_the_files_that_have_lists(tmp_path: Path, order: tuple[int, int]) -> None:
    for part, column in zip(order, [{"x": [10, 20], "v": [[1, 2], [3]]}, {"x": [30, 40], "v": [1, 6]}]):
        with sapwood.recreate(tmp_path / f"{part}.root") as file:
            file["t"] = column
    scan = sapwood.scan(f"{tmp_path}/?.root:t", "x", "v > 1")
    first, second = 2 * order[0], 2 * order[1]
    lines = [(first, 1, 10), (first + 1, 0, 20), (second + 1, 0, 40)]
    assert [(row["entry"], row["instance"], row["x"]) for row in scan] == sorted(lines)


def test_files_are_opened_and_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from sapwood._read import chain

    for part in range(2):
        with sapwood.recreate(tmp_path / f"{part}.root") as file:
            file["t"] = {"x" if part else "other": np.arange(3)}
    opened: list[str] = []
    open_tree = chain.open_tree

    def counted(source: Any, *arguments: Any) -> Any:
        opened.append(Path(source.file).name)
        return open_tree(source, *arguments)

    monkeypatch.setattr(chain, "open_tree", counted)
    listed = [f"{tmp_path}/{name}.root:t" for name in ("missing", "0", "1")]
    scan = sapwood.scan(listed, "x", allow_missing=True)
    assert [row["x"] for row in scan] == [0, 1, 2]
    assert opened == ["missing.root", "0.root", "1.root"]
    assert [row["x"] for row in scan] == [0, 1, 2], "anew"
    assert ["missing.root" in one for one in caplog.messages] == [True, False]


def test_several_files_are_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for part in range(3):
        with sapwood.recreate(tmp_path / f"{part}.root") as file:
            file["t"] = {"x": np.arange(3) + 3 * part, "v": [[part]] * 3}
            file["w"] = {"y": 10 * (np.arange(3) + 3 * part)}
    files = f"{tmp_path}/?.root:t"
    scan = sapwood.scan(files, "x:v", "x > 1", limit=5)
    assert [(row["entry"], row["x"], row["v"]) for row in scan] == [(x, x, x // 3) for x in range(2, 7)]
    assert list(scan) == list(scan)
    assert [row["x"] for row in sapwood.scan(files, "x", entries=[1, 4, 8])] == [1, 4, 8]
    friends = {"w": f"{tmp_path}/?.root:w"}
    assert [row["w.y - 10*x"] for row in sapwood.scan(files, "w.y - 10*x", friends=friends)] == [0] * 9
    (tmp_path / "1.root").unlink()
    listed = [f"{tmp_path}/{part}.root:t" for part in range(3)]
    with pytest.raises(FileNotFoundError):
        list(sapwood.scan(listed, "x"))
    assert [row["x"] for row in sapwood.scan(listed, "x", allow_missing=True)] == [0, 1, 2, 6, 7, 8]
    assert any("left out" in one and "1.root" in one for one in caplog.messages)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [row["x"] for row in sapwood.scan(listed, "x", limit=2)] == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (["nope"], {}, 'no .* "nope"'),
        (["x:"], {}, "a value is missing"),
        (["x"], {"col": "5q"}, "no format of a column"),
        (["x"], {"col": "5:5"}, "formats for 2 columns, and 1 columns"),
        (["x"], {"col_size": 5_000}, "at most 1000 characters"),
        (["x"], {"limit": -1}, "limit is a number of rows"),
        ([[]], {}, "at least one column"),
        (["x", "name"], {}, "a cut is a number|is a text"),
    ],
)
def test_what_is_wrong_is_told_at_once(tree: Any, arguments: Any, options: Any, words: str) -> None:
    with pytest.raises(sapwood.SapwoodError, match=words):
        tree.scan(*arguments, **options)


def test_a_tree_without_entries(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        file.mktree("t", {"x": "f8"})
    scan = sapwood.open(tmp_path / "a.root")["t"].scan("x")
    assert list(scan) == [] and len(str(scan).splitlines()) == 4
