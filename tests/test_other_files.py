"""Trees whose baskets are in other files (`TBranch::SetFile`), written by real ROOT."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import ranged

sapwood = pytest.importorskip("sapwood")

WRITE = """
import os, sys, ROOT
ROOT.gErrorIgnoreLevel = ROOT.kError
ROOT.gInterpreter.Declare('''
void write(const char *path, const char *one, const char *two) {
  TFile file(path, "recreate");
  TTree t("t", "spread");
  int x; double y; int n; float v[4]; std::vector<double> w; TAttMarker p;
  t.Branch("x", &x, "x/I"); t.Branch("y", &y, "y/D"); t.Branch("n", &n, "n/I"); t.Branch("v", v, "v[n]/F");
  t.Branch("w", &w); t.Branch("p", &p, 4000, 99);
  t.GetBranch("y")->SetFile(one); t.GetBranch("v")->SetFile(two); t.GetBranch("w")->SetFile(one);
  t.GetBranch("p")->SetFile(two);
  t.SetAutoFlush(100);
  for (int e = 0; e < 450; ++e) {
    x = e; y = e / 8.; n = e % 4; w.clear();
    for (int j = 0; j < n; ++j) { v[j] = e + j / 4.f; w.push_back(-e * j); }
    p.SetMarkerColor(e * 3);
    t.Fill();
  }
  file.cd();
  t.Write();
  TFile *others[] = {t.GetBranch("y")->GetFile(), t.GetBranch("v")->GetFile()};
  for (auto other : others) if (other != &file) { other->Write(); other->Close(); }
}
''')
os.chdir(sys.argv[1])
ROOT.write(*sys.argv[2:])
"""


def write(folder: Path, *names: str) -> Path:
    pytest.importorskip("ROOT")
    done = subprocess.run(
        [sys.executable, "-c", WRITE, str(folder), *names], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return folder / names[0]


@pytest.fixture(scope="module")
def spread(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("spread"), "main.root", "one.root", "two.root")


def check(tree: Any) -> None:
    """Every value is as it was written."""
    found = tree.arrays(["x", "y", "v", "w"], library="ak")
    entries = np.arange(450)
    assert found.x.tolist() == entries.tolist()
    assert found.y.tolist() == (entries / 8).tolist()
    assert found.v.tolist() == [[e + j / 4 for j in range(e % 4)] for e in range(450)]
    assert found.w.tolist() == [[float(-e * j) for j in range(e % 4)] for e in range(450)]
    assert tree["p/fMarkerColor"].array(library="np").tolist() == (entries * 3).tolist()


@pytest.mark.parametrize("threads", [1, 2])
def test_baskets_are_read_from_their_files(spread: Path, threads: int) -> None:
    assert {path.name for path in spread.parent.iterdir()} == {"main.root", "one.root", "two.root"}
    with sapwood.open(spread, threads=threads) as file:
        tree = file["t"]
        check(tree)
        chosen = tree.arrays(["y", "v"], "x % 100 == 7", library="np")
        assert chosen["y"].tolist() == [entry / 8 for entry in (7, 107, 207, 307, 407)]
        assert tree.draw("y>>(10,0,60)", library="np")[0].sum() == 450
        rows = [row for row in tree.rows([449, 3, 200], ["x", "y", "v"])]
        assert [(row["y"], len(row["v"])) for row in rows] == [(row["x"] / 8, row["x"] % 4) for row in rows]


def test_places_are_those_of_the_files(spread: Path) -> None:
    with sapwood.open(spread) as file:
        basket = file["t"]["y"].member("fBasketSeek")[0]
        assert 0 < basket < (spread.parent / "one.root").stat().st_size
        assert file["t"]["y"].array(library="np", entry_stop=3).tolist() == [0, 0.125, 0.25]


def test_paths_are_relative_to_the_tree_or_to_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    main = write(tmp_path, "main.root", "sub/one.root", str(tmp_path / "sub" / "two.root"))
    check(sapwood.open(main)["t"])
    (tmp_path / "elsewhere").mkdir()
    os.rename(main, tmp_path / "elsewhere" / "main.root")
    with pytest.raises(sapwood.errors.NotFoundError, match="sub/one.root"):
        sapwood.open(tmp_path / "elsewhere" / "main.root")["t"]["y"].array()
    monkeypatch.chdir(tmp_path)
    check(sapwood.open(tmp_path / "elsewhere" / "main.root")["t"])


def test_a_file_that_is_missing_names_itself(spread: Path, tmp_path: Path) -> None:
    alone = tmp_path / "main.root"
    alone.write_bytes(spread.read_bytes())
    with sapwood.open(alone) as file:
        assert file["t"]["x"].array(library="np").sum() == 450 * 449 // 2
        with pytest.raises(
            sapwood.errors.NotFoundError, match="another file, 'one.root'|another file, \"one.root\""
        ):
            file["t"]["y"].array()
        (tmp_path / "one.root").write_bytes((spread.parent / "one.root").read_bytes()[:3000])
        with pytest.raises(sapwood.errors.SapwoodError, match="one.root"):
            file["t"]["y"].array()
        # What failed is tried again.
        (tmp_path / "one.root").write_bytes((spread.parent / "one.root").read_bytes())
    assert sapwood.open(alone)["t"]["y"].array(library="np")[449] == 449 / 8


def test_baskets_of_far_files_are_read(spread: Path) -> None:
    with ranged.serving(spread.parent) as server:
        with sapwood.open(f"{server.url}/main.root") as file:
            check(file["t"])


def test_baskets_in_archives_are_read(spread: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in ("main.root", "one.root", "two.root"):
            archive.write(spread.parent / name, f"run1/{name}")
    with sapwood.open(f"{tmp_path}/a.zip:run1/main.root") as file:
        check(file["t"])


def test_bytes_have_no_place(spread: Path) -> None:
    tree = sapwood.open(spread.read_bytes())["t"]
    assert tree["x"].array(library="np")[3] == 3
    with pytest.raises(sapwood.errors.SapwoodError, match="one.root"):
        tree["y"].array()


def test_such_trees_are_not_rewritten_with_holes(spread: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sapwood", "rewrite", str(spread), str(tmp_path / "new.root")],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode != 0 and "another file" in done.stderr
