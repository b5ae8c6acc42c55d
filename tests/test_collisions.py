"""Trees of collisions with a TClonesArray, references and a histogram in each entry, which real ROOT writes: rewritten,
merged and read in part, they are to ROOT what they were."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.rootrun import root

sapwood = pytest.importorskip("sapwood")

SOURCE = Path(__file__).resolve().parent / "oracle" / "collision.C"
SPLITS = (99, 1, 0)
LOAD = """
ROOT.gSystem.SetFlagsOpt("-O0")
build(sys.argv[1])
"""
WRITE = """
for split in (99, 1, 0):
    ROOT.write(f"{sys.argv[2]}/first{split}.root", split, 0, 600, 101, 8000)
    ROOT.write(f"{sys.argv[2]}/second{split}.root", split, 600, 300, 101, 8000)
"""
# In a process that has not built the classes yet, as most are that open a file.
DIGEST = """
answer([list(ROOT.digest(name)) for name in sys.argv[2:]])
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("collisions")
    shutil.copy(SOURCE, place)
    root(LOAD + WRITE, place / "collision.C", place)
    return place


def digests(folder: Path, *names: object) -> list[list[float]]:
    """Sums over all values, as ROOT reads them: entries, values, references, fills, references that lead nowhere."""
    return root(LOAD + DIGEST, folder / "collision.C", *names)


def codecs(place: Path) -> set[bytes]:
    """The first letters of all baskets."""
    found = set()
    data = place.read_bytes()
    for branch in sapwood.open(place)["T"].itervalues():
        for number in range(branch.num_baskets):
            seek = branch.basket_seek(number)
            assert seek is not None
            nbytes, objlen, keylen = (
                int.from_bytes(data[seek + at : seek + end], "big") for at, end in ((0, 4), (6, 10), (14, 16))
            )
            if objlen > nbytes - keylen:
                found.add(data[seek + keylen : seek + keylen + 2])
    return found


@pytest.mark.parametrize("split", SPLITS)
def test_root_reads_what_was_written_again(folder: Path, tmp_path: Path, split: int) -> None:
    first, second = folder / f"first{split}.root", folder / f"second{split}.root"
    kept, packed = tmp_path / "kept.root", tmp_path / "packed.root"
    merged, both = tmp_path / "merged.root", tmp_path / "both.root"
    sapwood.rewrite(first, kept, baskets="keep")
    # Objects of an entry refer to each other by place: their baskets keep their borders.
    with pytest.warns(UserWarning, match="keeps its baskets"):
        sapwood.rewrite(first, packed, compression="zstd:5")
    sapwood.merge(merged, [first, second])
    sapwood.merge(both, [first, second], compression="zstd:5")
    before, after, *others = digests(folder, first, second, kept, packed, merged, both)
    assert before[0] == 600 and after[0] == 300 and before[4] == after[4] == 0
    assert others[0] == others[1] == before
    for found in others[2:]:
        assert found == pytest.approx([a + b for a, b in zip(before, after, strict=True)])
    assert codecs(first) == codecs(kept) == codecs(merged) == {b"ZL"}
    assert codecs(packed) == codecs(both) == {b"ZS"}


def test_ranges_of_packed_members_are_found(folder: Path, tmp_path: Path) -> None:
    """A bit of the member says that its title has a range: without it ROOT reads other numbers."""
    lines = """
found = []
for name in sys.argv[1:]:
    file = ROOT.TFile(name)
    infos = {info.GetName(): info for info in file.GetStreamerInfoList()}
    found.append({
        f"{of} {element.GetName()}": [element.TestBit(1 << 6), element.GetFactor()]
        for of in ("Trace", "Collision", "Header") for element in infos[of].GetElements()
    })
answer(found)
"""
    kept = tmp_path / "kept.root"
    sapwood.rewrite(folder / "first99.root", kept, baskets="keep")
    before, after = root(lines, folder / "first99.root", kept)
    assert before == after
    assert before["Trace fMass2"][0] and not before["Collision fTemperature"][0]


def test_a_few_fields_cost_what_they_hold(folder: Path) -> None:
    """Only baskets of what is asked for are read and inflated."""
    tree = sapwood.open(folder / "first99.root")["T"]
    wanted = {name: branch for name, branch in tree.iteritems() if name.endswith(("fList.fPx", "fNumber"))}
    assert len(wanted) == 2, wanted
    with tree.perf as perf:
        tree.arrays(list(wanted))
    branches = [*wanted.values(), tree["event/fList"]]
    inflated = sum(
        branch.basket_uncompressed_bytes(n) for branch in branches for n in range(branch.num_baskets)
    )
    everything = sum(
        branch.basket_uncompressed_bytes(n) for branch in tree.itervalues() for n in range(branch.num_baskets)
    )
    found = perf.figures["ReadUnZip"].value * 1e6
    assert 0 < found <= inflated < everything / 10


def test_entries_are_not_added_and_nothing_is_lost(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "copy.root"
    shutil.copy(folder / "first99.root", place)
    with sapwood.update(place) as file:
        with pytest.raises(sapwood.errors.UnsupportedError, match="cannot be added as values.*sapwood merge"):
            file["T"].extend({})
    assert digests(folder, place) == digests(folder, folder / "first99.root")
