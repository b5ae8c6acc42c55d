"""Typed slices and Arrow record batches that a Rust program writes: real ROOT and uproot read every value."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support import rust_examples
from support.rootrun import root

ENTRIES = {
    "number": [1, -2, 3],
    "is_good": [True, False, True],
    "position": [[0.5, 1.0, 1.5], [2.0, 2.5, 3.0], [3.5, 4.0, 4.5]],
    "pt": [[50.25, 20.5], [], [35.0]],
    "text": ["muon", "", "tau"],
    "words": [["a"], ["b", "cd"], []],
}

READ = """
file = ROOT.TFile.Open(sys.argv[1])
found = {}
for name in ["slices", "arrow"]:
    entries = {key: [] for key in json.loads(sys.argv[2])}
    for entry in file.Get(name):
        for key in entries:
            value = entry.GetLeaf(key).GetValueString() if key == "text" else getattr(entry, key)
            if key in ("position", "pt"):
                value = [float(item) for item in value]
            elif key == "words":
                value = [str(item) for item in value]
            elif key == "is_good":
                value = bool(value)
            entries[key].append(value)
    found[name] = entries
answer(found)
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the Rust program ``crates/core/examples/batches.rs`` writes."""
    path = tmp_path_factory.mktemp("batches") / "batches.root"
    rust_examples.run("batches", path)
    return path


def test_root_reads_slices_and_record_batches(written: Path) -> None:
    found = root(READ, written, json.dumps(list(ENTRIES)))
    assert found == {"slices": ENTRIES, "arrow": ENTRIES}


def test_uproot_reads_slices_and_record_batches(written: Path) -> None:
    uproot = pytest.importorskip("uproot")
    with uproot.open(written) as file:
        for tree in ["slices", "arrow"]:
            found = {name: file[tree][name].array(library="ak").to_list() for name in ENTRIES}
            assert found == ENTRIES
