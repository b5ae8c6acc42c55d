"""Trees of an event as ROOT's tutorial has it: what is done to them leaves all values, and where references lead."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from support.rootrun import root

sapwood = pytest.importorskip("sapwood")

LOAD = 'ROOT.gROOT.ProcessLine(f".L {sys.argv[1]}+")\n'
FILL = (
    LOAD
    + """
for split in (0, 1, 99):
    ROOT.fill(f"{sys.argv[2]}/a{split}.root", 0, 30, split)
    ROOT.fill(f"{sys.argv[2]}/b{split}.root", 30, 50, split)
"""
)
SAID = LOAD + "answer([str(line) for path in sys.argv[2:] for line in ROOT.said(path)])\n"


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("events")
    code = folder / "event.C"
    shutil.copy(Path(__file__).parent / "oracle" / "event.C", code)
    root(FILL, code, folder)
    return code, folder


def said(code: Path, *paths: Path) -> Any:
    return root(SAID, code, *paths)


@pytest.mark.parametrize("split", [0, 1, 99])
def test_events_are_appended_merged_and_compressed_again(
    events: tuple[Path, Path], split: int, tmp_path: Path
) -> None:
    code, folder = events
    first, second = folder / f"a{split}.root", folder / f"b{split}.root"
    wanted = said(code, first, second)
    assert len(wanted) == 50 and "none" not in " ".join(wanted)
    appended, merged, dense = (tmp_path / f"{name}.root" for name in ("appended", "merged", "dense"))
    shutil.copy(first, appended)
    assert sapwood.merge(appended, [second], append=True).trees["T"].entries == 50
    sapwood.merge(merged, [first, second])
    with pytest.warns(UserWarning, match="'T' keeps its baskets.*refer to each other"):
        sapwood.rewrite(first, dense, compression="zstd:5")
    assert said(code, appended) == said(code, merged) == wanted
    assert said(code, dense) == wanted[:30]
    with sapwood.open(dense) as file:
        branches = [branch for branch in file["T"].itervalues() if branch.num_baskets]
        assert branches and all(branch.compression == sapwood.ZSTD(5) for branch in branches)
    with sapwood.open(appended) as file:
        tree = file["T"]
        numbers = tree.points("fEvtHdr.fEvtNum" if split else "event.fEvtHdr.fEvtNum")[0][0]
        assert numbers.tolist() == list(range(50))


@pytest.mark.parametrize("split", [0, 99])
def test_events_that_are_values_are_refused_with_what_to_do(
    events: tuple[Path, Path], split: int, tmp_path: Path
) -> None:
    path = tmp_path / "events.root"
    shutil.copy(events[1] / f"a{split}.root", path)
    with sapwood.open(path) as file:
        arrays = file["T"].arrays()
    with (
        sapwood.update(path) as file,
        pytest.raises(sapwood.errors.UnsupportedError, match=r"merge\(\.\.\., append=True\)"),
    ):
        file["T"].extend(arrays)
    assert said(events[0], path) == said(events[0], events[1] / f"a{split}.root")
