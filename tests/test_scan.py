"""`sapwood scan` beside `TTree::Scan` of real ROOT: the same cells; CSV, JSON lines, patterns, masks."""

from __future__ import annotations

import csv
import io
import json
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")

WRITE = """
import sys, ROOT
ROOT.gErrorIgnoreLevel = ROOT.kError
ROOT.gInterpreter.Declare('''
void write(const char *path) {
  TFile file(path, "recreate");
  TTree t("t", "scanned");
  float x; double y; int i; unsigned u; Long64_t big; int n; float v[5]; int k[5]; double m[2][2]; char name[20]; float w[3];
  float p[5][2]; std::vector<std::vector<float>> vv;
  t.Branch("x", &x, "x/F"); t.Branch("y", &y, "y/D"); t.Branch("i", &i, "i/I"); t.Branch("u", &u, "u/i");
  t.Branch("big", &big, "big/L"); t.Branch("n", &n, "n/I"); t.Branch("v", v, "v[n]/F"); t.Branch("k", k, "k[n]/I");
  t.Branch("m", m, "m[2][2]/D"); t.Branch("name", name, "name/C"); t.Branch("w", w, "w[3]/F");
  t.Branch("p", p, "p[n][2]/F"); t.Branch("vv", &vv);
  for (int e = 0; e < 12; ++e) {
    x = e * 0.1f; y = e * 1e7 / 3 - 2e7; i = 3 - e; u = 1u << (2 * e); big = 1000000007LL * e; n = e % 4;
    for (int j = 0; j < n; ++j) { v[j] = e + j / 8.f; k[j] = e * j; }
    for (int j = 0; j < 4; ++j) m[j / 2][j % 2] = e * 10 + j;
    for (int j = 0; j < 3; ++j) w[j] = j - e;
    vv.clear();
    for (int j = 0; j < n; ++j) {
      for (int l = 0; l < 2; ++l) p[j][l] = e * 100 + j * 10 + l;
      vv.push_back(std::vector<float>(1 + (e + j) % 3, e + j / 8.f));
    }
    snprintf(name, 20, "n%d", e * 1111);
    t.Fill();
  }
  t.Write();
}
''')
ROOT.write(sys.argv[1])
file = ROOT.TFile(sys.argv[1])
tree = file.Get("t")
tree.SetScanField(0)
for number, line in enumerate(sys.argv[3:]):
    columns, cut, option = line.split(";;")
    tree.GetPlayer().SetScanRedirect(True)
    tree.GetPlayer().SetScanFileName(f"{sys.argv[2]}/{number}.txt")
    tree.Scan(columns, cut, option)
"""

#: Columns, cut, ROOT's option, ours.
SCANS = [
    ("x:y:i:u:big", "", "", []),
    ("x:v", "", "", []),
    ("i:v:k", "", "", []),
    ("x:m", "i > 0", "", []),
    ("v:w", "", "", []),
    ("v", "v > 5", "", []),
    ("x:v:k", "k % 2 == 0", "", []),
    ("v:p", "v > 5", "", []),
    ("p:v", "k % 2 == 0", "", []),
    ("x:p", "v > 5", "", []),
    ("v", "p > 300", "", []),
    ("v:vv:k", "v > 5", "", []),
    ("vv", "k % 2 == 0", "", []),
    ("name:x", "", "", []),
    ("x+y:sqrt(big)", "x > 0.3", "", []),
    ("y:u", "", "col=12.3f:#x", ["--col", "12.3f:#x"]),
    ("y:u:i", "", "col=:10d:5d", ["--col", ":10d:5d"]),
    ("x:y", "", "colsize=15 precision=4", ["--col-size", "15", "--precision", "4"]),
    ("y", "", "col=14.5e", ["--col", "14.5e"]),
    ("Sum$(v):Length$(v)", "n > 1", "", []),
]


@pytest.fixture(scope="module")
def scanned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("ROOT")
    folder = tmp_path_factory.mktemp("scan")
    lines = [";;".join(scan[:3]) for scan in SCANS]
    done = subprocess.run(
        [sys.executable, "-c", WRITE, folder / "t.root", folder, *lines],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return folder


def scan(*arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "sapwood", "scan", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def cells(table: str) -> list[list[str]]:
    rows = [line.strip().strip("*").split("*") for line in table.splitlines() if line.strip("* ")]
    return [[cell.strip() for cell in row] for row in rows]


@pytest.mark.parametrize("number", range(len(SCANS)), ids=[" ; ".join(one[:3]) for one in SCANS])
def test_cells_are_those_of_root(scanned: Path, number: int) -> None:
    columns, cut, _, options = SCANS[number]
    theirs = cells((scanned / f"{number}.txt").read_text())
    arguments = [*columns.split(":"), *options, *(["--cut", cut] if cut else [])]
    ours = cells(scan(f"{scanned}/t.root:t", "--expand", "-n", 1000, *arguments))
    assert len(theirs) > 4 and ours[1:] == theirs[1:]


def test_items_stand_beside_those_that_hold_them(tmp_path: Path) -> None:
    # Without a cut, TTree::Scan pairs lists of different depth by their number in the entry.
    with sapwood.recreate(tmp_path / "deep.root") as file:
        file["t"] = {
            "v": [[1, 2, 3], [], [4]],
            "vv": [[[10, 11], [], [30]], [], [[], [50]]],
            "w": np.array([[0, 1]] * 3),
        }
    target = f"{tmp_path}/deep.root:t"
    rows = [json.loads(line) for line in scan(target, "v", "vv", "--json", "--expand").splitlines()]
    assert [(row["entry"], row["instance"], row["v"], row["vv"]) for row in rows] == [
        (0, 0, 1, 10), (0, 1, 1, 11), (0, 2, 2, None), (0, 3, 3, 30),
        (1, 0, None, None),
        (2, 0, 4, None), (2, 1, None, 50),
    ]  # fmt: skip
    rows = [
        json.loads(line)
        for line in scan(target, "w", "vv", "--json", "--expand", "--cut", "v > 1").splitlines()
    ]
    assert [(row["instance"], row["w"], row["vv"]) for row in rows] == [
        (2, 1, None),
        (3, None, 30),
        (0, 0, None),
    ]


@pytest.fixture
def plain(tmp_path: Path) -> str:
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["t"] = {
            "x": np.array([0.5, 1.5, 2.5]),
            "Muon_pt": [[1.0, 2.0], [], [3.0]],
            "Muon_eta": [[0.1, 0.2], [], [0.3]],
            "name": ['a "b"', "c,d", "e"],
            "run": [1, 1, 2],
            "luminosityBlock": [5, 6, 5],
        }
    return f"{tmp_path}/a.root:t"


def test_lines_of_csv_and_json(plain: str) -> None:
    rows = list(csv.reader(io.StringIO(scan(plain, "x", "name", "Muon_pt", "--csv"))))
    assert rows == [
        ["entry", "x", "name", "Muon_pt"],
        ["0", "0.5", 'a "b"', "[1.0,2.0]"],
        ["1", "1.5", "c,d", "[]"],
        ["2", "2.5", "e", "[3.0]"],
    ]
    rows = list(csv.reader(io.StringIO(scan(plain, "x", "Muon_pt", "--csv", "--expand", "-n", "2"))))
    assert rows == [["entry", "instance", "x", "Muon_pt"], ["0", "0", "0.5", "1.0"], ["0", "1", "0.5", "2.0"]]
    lines = scan(plain, "x", "Muon_pt", "--json", "--expand", "--cut", "Muon_pt > 1").splitlines()
    assert [json.loads(line) for line in lines] == [
        {"entry": 0, "instance": 1, "x": 0.5, "Muon_pt": 2.0},
        {"entry": 2, "instance": 0, "x": 2.5, "Muon_pt": 3.0},
    ]


def test_patterns_stand_for_names(plain: str) -> None:
    lines = scan(plain, "Muon_*", "?", "--json", "-n", "1").splitlines()
    assert json.loads(lines[0]) == {"entry": 0, "Muon_pt": [1.0, 2.0], "Muon_eta": [0.1, 0.2], "x": 0.5}
    assert json.loads(scan(plain, "x*x", "--json", "-n", "1"))["x*x"] == 0.25


def test_a_mask_leaves_certified_sections(plain: str, tmp_path: Path) -> None:
    golden = tmp_path / "golden.json"
    golden.write_text('{"1": [[6, 9]], "2": [[1, 5]]}')
    rows = [json.loads(line) for line in scan(plain, "x", "--json", "--lumi-mask", golden).splitlines()]
    assert rows == [{"entry": 1, "x": 1.5}, {"entry": 2, "x": 2.5}]
    done = subprocess.run(
        [sys.executable, "-m", "sapwood", "draw", plain, "x>>(5,0,5)", "--lumi-mask", str(golden)],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert "entries 2 " in done.stdout, done.stderr
    golden.write_text("[]")
    done = subprocess.run(
        [sys.executable, "-m", "sapwood", "scan", plain, "x", "--lumi-mask", str(golden)],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1 and "no luminosity mask" in done.stderr


def command(*arguments: object, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "sapwood", *map(str, arguments)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.fixture
def several(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    for part in range(3):
        with sapwood.recreate(folder / f"p{part}.root") as file:
            file["t"] = {"x": np.arange(4) + 4 * part, "v": [[part]] * (part + 1) + [[]] * (3 - part)}
        with sapwood.recreate(tmp_path / f"w{part}.root") as file:
            file["w"] = {"y": np.arange(4) * 10 + 40 * part}
    with sapwood.recreate(tmp_path / "all.root") as file:
        file["w"] = {"y": np.arange(12) * 10}
    return folder


def test_many_files_are_scanned_as_one(several: Path) -> None:
    for target in (f"{several}:t", f"{several}/p*.root:t", f"{several}/p?.root"):
        rows = [json.loads(line) for line in scan(target, "x", "--json").splitlines()]
        assert [(row["entry"], row["x"]) for row in rows] == [(entry, entry) for entry in range(12)], target
    target = f"{several}/p*.root:t"
    rows = list(csv.reader(io.StringIO(scan(target, "x", "--csv", "--start", "3", "-n", "3"))))
    assert rows == [["entry", "x"], ["3", "3"], ["4", "4"], ["5", "5"]]
    rows = list(
        csv.reader(io.StringIO(scan(target, "x", "v", "--csv", "--expand", "--cut", "v > 0", "-n", "4")))
    )
    assert rows[1:] == [
        ["4", "0", "4", "1"],
        ["5", "0", "5", "1"],
        ["8", "0", "8", "2"],
        ["9", "0", "9", "2"],
    ]
    assert len(cells(scan(target, "--expand", "-n", "100"))) == 1 + 12
    assert scan(target, "x").splitlines()[-1].split() == ["11", "11"]
    friend = ["--friend", f"w={several.parent}/all.root:w"]
    rows = [json.loads(line) for line in scan(target, "w.y - 10*x", "--json", *friend).splitlines()]
    assert [row["w.y - 10*x"] for row in rows] == [0] * 12
    same = ["--friend", f"f={several}:t"]
    rows = [json.loads(line) for line in scan(target, "f.x - x", "--json", *same).splitlines()]
    assert [row["f.x - x"] for row in rows] == [0] * 12
    assert "no file matches" in command("scan", f"{several}/q*.root:t", "x", code=1)
    rows = [json.loads(line) for line in scan(f"{several}:t/x", "--json").splitlines()]
    assert [row["x"] for row in rows] == list(range(12))
    # Only scan and show know branches in paths.
    assert "t/x" in command("draw", f"{several}:t/x", "x", code=1)
    assert "t/x" in command("scan", target, "f.x", "--friend", f"f={several}:t/x", code=1)
    lost = command("scan", target, "f.x", "--friend", f"f={several}/lost.root:t", code=1)
    assert "no such file" in lost and "lost.root" in lost


def test_entries_are_counted_over_all_files(several: Path, tmp_path: Path) -> None:
    columns = ["Entry$", "LocalEntry$", "Entries$"]
    rows = scan(f"{several}:t", *columns, "--json", "--cut", "Entry$ > 6")
    found = [tuple(json.loads(row).values()) for row in rows.splitlines()]
    assert found == [(entry, entry, entry % 4, 12) for entry in range(7, 12)]
    out = tmp_path / "h.root"
    command("draw", f"{several}:t", "x>>h(12,0,12)", "Entry$ < Entries$/2", "--out", out)
    assert sapwood.open(out)["h"].values().tolist() == [1] * 6 + [0] * 6


def test_csv_and_json_have_all_rows_where_no_number_is_given(tmp_path: Path) -> None:
    path = tmp_path / "many.root"
    with sapwood.recreate(path) as file:
        file["t"] = {"x": np.arange(60)}
    assert len(scan(path, "x", "--csv").splitlines()) == 61
    assert len(scan(path, "x", "--json").splitlines()) == 60
    assert len(scan(path, "x", "--json", "-n", "7").splitlines()) == 7
    assert scan(path, "x").splitlines()[-1].split() == ["24", "24"]


def test_many_files_are_drawn_as_one(several: Path, tmp_path: Path) -> None:
    out = tmp_path / "h.root"
    command("draw", f"{several}/p*.root:t", "x>>h(12,0,12)", "x != 5", "--out", out)
    assert sapwood.open(out)["h"].values().tolist() == [1] * 5 + [0] + [1] * 6
    command("draw", f"{several}:t", "x", "--out", out, "--force")
    histogram = sapwood.open(out)["htemp"]
    assert histogram.member("fEntries") == 12 and histogram.values().sum() == 12


def test_files_of_a_chain_are_read_as_one(several: Path) -> None:
    root = pytest.importorskip("ROOT")
    chain = root.TChain("t")
    for part in range(3):
        chain.Add(f"{several}/p{part}.root")
    file = root.TFile(f"{several}/chain.root", "recreate")
    chain.Write("all")
    file.Close()
    rows = [json.loads(line) for line in scan(f"{several}/chain.root:all", "x", "--json").splitlines()]
    assert [row["x"] for row in rows] == list(range(12))


def test_a_picture_of_points_has_the_bins(several: Path, tmp_path: Path) -> None:
    for words in ("x>>h(4,0,8)", "x:x>>h(4,0,8,4,0,8)"):
        out = tmp_path / "h.png"
        command("draw", f"{several}/p*.root:t", words, "--out", out, "--force")
        width, height, pixels = read_png(out.read_bytes())
        assert (width, height) == (1440, 960)
        colours = {pixel for row in pixels[::7] for pixel in row[::7]}
        assert (255, 255, 255) in colours and len(colours) >= 2
        # The middle of the first bin has a colour of its own, and above all bins is nothing.
        assert pixels[800][200] != (255, 255, 255) and pixels[10][700] == (255, 255, 255)


def read_png(content: bytes) -> tuple[int, int, list[list[tuple[int, ...]]]]:
    """Width, height and colours of a picture without filters."""
    assert content.startswith(b"\x89PNG\r\n\x1a\n") and content.endswith(b"IEND\xaeB`\x82")
    width, height = struct.unpack(">II", content[16:24])
    data = zlib.decompress(content[content.index(b"IDAT") + 4 : -16])
    rows = [data[at + 1 : at + 1 + 3 * width] for at in range(0, len(data), 1 + 3 * width)]
    return width, height, [[tuple(row[x : x + 3]) for x in range(0, 3 * width, 3)] for row in rows]
