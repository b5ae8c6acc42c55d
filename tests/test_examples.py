"""Examples: what they write is whole, real ROOT finds the physics in it, and so does what reads many files."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import rust_examples
from support.rootrun import root

sapwood = pytest.importorskip("sapwood")

REPOSITORY = Path(__file__).resolve().parent.parent
EVENTS = 12


def pythia(path: Path, how: str, *options: object) -> Path:
    """Three units of four events, by two workers unless told otherwise."""
    if importlib.util.find_spec("pythia8mc") is None:
        if os.environ.get("CI", "").lower() in ("1", "true", "yes"):
            pytest.fail("Pythia is required in CI")
        pytest.skip("Pythia is not installed")
    path.parent.mkdir(exist_ok=True)
    command = [
        sys.executable,
        REPOSITORY / "examples/pythia.py",
        path,
        "--how",
        how,
        "--events",
        EVENTS,
        "--unit",
        4,
        "--workers",
        2,
    ]
    done = subprocess.run(
        [*map(str, command), *map(str, options)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return path


CHECK = """
found = []
for path in sys.argv[1:]:
    file = ROOT.TFile(path)
    tree = file.Get("events")
    final = "(Particle_status > 0)"
    sums = "number:" + ":".join(f"Sum$(Particle_{name} * {final})" for name in ("e", "px", "py", "pz"))
    rows = tree.Draw(sums, "", "para goff")
    found.append(sorted([tree.GetVal(column)[row] for column in range(5)] for row in range(rows)))
answer(found)
"""


def test_pythia_in_each_way(tmp_path: Path) -> None:
    paths = [pythia(tmp_path / f"{how}.root", how) for how in ("serial", "threads", "processes")]
    for path in paths:
        assert sapwood.verify(path) == []
    found = root(CHECK, *paths)
    for events in found:
        assert [number for number, *_ in events] == list(range(EVENTS))
        for _, energy, *momentum in events:
            assert energy == pytest.approx(14_000, abs=0.1)
            assert momentum == pytest.approx([0, 0, 0], abs=0.1)
    assert found[0] == found[1] == found[2], "a unit is the same in every process"


@pytest.mark.parametrize("how", ["threads", "processes"])
def test_numbered_units_are_the_same_bytes_for_any_number_of_workers(tmp_path: Path, how: str) -> None:
    one, three = (
        pythia(tmp_path / f"{workers}/events.root", how, "--numbered", "--workers", workers)
        for workers in (1, 3)
    )
    assert one.read_bytes() == three.read_bytes()
    with sapwood.open(one) as file:
        assert file["events/number"].array(library="np").tolist() == list(range(EVENTS))


def test_toy_shower_keeps_momentum(tmp_path: Path) -> None:
    files = []
    for threads in (1, 3):
        files.append(tmp_path / str(threads) / "shower.root")
        files[-1].parent.mkdir()
        # It adds up the momenta of each event itself.
        rust_examples.run("shower", files[-1], 2500, threads, "numbered")
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_dimuon_spectrum_has_its_peaks(tmp_path: Path) -> None:
    command = [sys.executable, REPOSITORY / "examples/dimuon.py", tmp_path, "--files", 3, "--events", 4000]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    steps = done.stdout.split("\n\n")
    assert "*    Row   * Instance *" in steps[0] and len(steps) == 4
    bars = [line.split("|") for line in steps[1].splitlines()[1:]]
    heights = {int(low.split()[0]): int(bar.split()[-1]) for low, bar in bars}
    # Bins of 2 GeV: the Z stands above what is beside it, and so does the J/psi.
    assert heights[90] > 5 * heights[80] and heights[90] > 5 * heights[104]
    assert heights[2] > 2 * heights[6]
    counted = dict(line.strip().split(": ") for line in steps[2].splitlines()[1:])
    pairs = int(counted["pairs"])
    # A pair in two has opposite charges; three in ten come from a Z, and a few of the others are as heavy.
    assert 2000 < pairs < 3500 and 0.27 * pairs < int(counted["Z"]) < 0.37 * pairs
    mass = sapwood.open(tmp_path / "z.root")["Events/mass"].array(library="np")
    assert len(mass) == int(counted["Z"]) and abs(mass.mean() - 91.19) < 0.5
    found = root(
        """
file = ROOT.TFile(sys.argv[1])
tree = file.Get("Events")
answer([tree.GetEntries(), tree.GetEntries("abs(mass - 91.19) < 7.5"), file.Get("mass").GetEntries()])
""",
        tmp_path / "z.root",
    )
    assert found == [len(mass), len(mass), pairs]
