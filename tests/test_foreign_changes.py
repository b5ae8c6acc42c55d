"""Trees by go-hep and by older versions of uproot stay true for real ROOT after every kind of change.

The files are in `tests/data/foreign`, with the programs that made them.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.trueforroot import assert_true_for_root

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")
np = pytest.importorskip("numpy")
_core = pytest.importorskip("sapwood._core")

STORED = Path(__file__).parent / "data" / "foreign"
ONCE: dict[str, list[Any]] = {"j": [[1.0], [2.0, 3.0], [4.0]], "k": [7, 8, 9]}

DIES = """
import os, sys
import awkward as ak, numpy as np, sapwood
file = sapwood.update(sys.argv[1])
file["t"].extend({"j": ak.values_astype(ak.Array([[1.0], [2.0, 3.0], [4.0]]), "float32"), "k": np.array([7, 8, 9], "i8")})
file["t"].flush()
os._exit(0)
"""


def run(*arguments: object) -> None:
    """Runs the command in this process: there are many."""
    assert _core.command(["sapwood", *map(str, arguments)]) == 0, arguments


REWRITES: dict[str, tuple[list[str], slice]] = {
    "plain": ([], slice(None)),
    "cluster-entries": (["--cluster-entries", "2"], slice(None)),
    "cluster-bytes": (["--cluster-bytes", "100"], slice(None)),
    "basket-bytes": (["--basket-bytes", "100"], slice(None)),
    "lz4": (["--compression", "lz4:4"], slice(None)),
    "lzma": (["--compression", "j=lzma:7", "--compression", "k=none"], slice(None)),
    "random": (["--random-access", "1"], slice(None)),
    "auto": (["--random-access", "auto"], slice(None)),
    "by-branch": (["--order", "branch"], slice(None)),
    "by-offset": (["--order", "offset"], slice(None)),
    "kept": (["--baskets", "keep"], slice(None)),
    "kept-verified": (["--baskets", "keep", "--verify", "--order", "entry"], slice(None)),
    "of-tree": (["--tree", "t"], slice(None)),
    "entries": (["--entries", "1:3"], slice(1, 3)),
    "cut": (["--cut", "k > 7 && j[0] < 3"], slice(1, 2)),
    "one-thread": (["--threads", "1"], slice(None)),
}


@pytest.mark.parametrize("stored", ["gohep", "uproot4", "uproot50"])
def test_every_change(stored: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    content = gzip.decompress((STORED / f"{stored}.root.gz").read_bytes())
    times = 1 if stored == "gohep" else 2
    own = {name: times * values for name, values in ONCE.items()}
    more = {"j": ak.values_astype(ak.Array(ONCE["j"]), "float32"), "k": np.array(ONCE["k"], "i8")}
    outputs: dict[Path, dict[str, list[Any]]] = {}

    def output(name: str, factor: int = 1) -> Path:
        outputs[tmp_path / f"{name}.root"] = {name: factor * values for name, values in own.items()}
        return tmp_path / f"{name}.root"

    def copied(name: str) -> Path:
        outputs[tmp_path / f"{name}.root"] = {name: own[name] + ONCE[name] for name in ONCE}
        (tmp_path / f"{name}.root").write_bytes(content)
        return tmp_path / f"{name}.root"

    given = output("given")
    given.write_bytes(content)
    for name, (options, rows) in REWRITES.items():
        path = output(f"rewritten-{name}")
        run("rewrite", *options, given, path)
        if rows != slice(None):
            chosen = [entry for entry in range(len(own["k"])) if entry % 3 in range(3)[rows]]
            if name == "entries":
                chosen = list(range(len(own["k"])))[rows]
            outputs[path] = {name: [values[entry] for entry in chosen] for name, values in own.items()}
    only = output("rewritten-keep")
    run("rewrite", "--keep", "k", given, only)
    outputs[only] = {"k": own["k"]}
    there = tmp_path / "there.root"
    run("rewrite", "--to", "rntuple", given, there)
    run("rewrite", "--to", "ttree", there, output("back"))
    for name, options in {"plain": [], "level": ["-f505"], "again": ["-O"]}.items():
        run("merge", "-f", *options, output(f"merged-{name}", 2), given, given)
    run("cp", f"{given}:t", f"{output('copied')}:t")
    sapwood.skim(f"{given}:t", output("skimmed"), cut="k > 0", filter_name="*")
    with sapwood.update(copied("extended")) as file:
        file["t"].extend(more)
    with sapwood.update(output("wider")) if (tmp_path / "wider.root").write_bytes(content) else None as file:
        file.add_branches("t", {"x": np.arange(len(own["k"]), dtype="f8")})
    outputs[tmp_path / "wider.root"]["x"] = list(range(len(own["k"])))
    run("merge", "-a", copied("appended"), tmp_path / "extended.root")
    outputs[tmp_path / "appended.root"] = {name: 2 * own[name] + ONCE[name] for name in ONCE}
    died = copied("recovered")
    subprocess.run([sys.executable, "-c", DIES, died], check=True)
    run("recover", died)
    assert_true_for_root(outputs)
    capfd.readouterr()
    for path in outputs:
        run("verify", path)
    assert "damage" not in "".join(capfd.readouterr())
