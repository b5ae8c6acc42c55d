"""Payloads above 1 GiB, which RNTuples spread over several records. It takes 5 GB of disk: `SAPWOOD_BIG=1` asks for it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from support.rootrun import root

sapwood = pytest.importorskip("sapwood")

ROWS = (1 << 30) // 8 + 20_000_000

pytestmark = pytest.mark.skipif("SAPWOOD_BIG" not in os.environ, reason="takes 5 GB of disk: SAPWOOD_BIG=1")

WRITE = """
ROOT.gInterpreter.Declare(r'''
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>
#include <ROOT/RNTupleWriter.hxx>
void write_big(const char *path, long long rows) {
  auto model = ROOT::RNTupleModel::Create();
  auto x = model->MakeField<std::int64_t>("x");
  ROOT::RNTupleWriteOptions options;
  options.SetCompression(0);
  options.SetMaxUnzippedClusterSize(4LL << 30);
  options.SetApproxZippedClusterSize(3LL << 30);
  options.SetMaxUnzippedPageSize(2LL << 30);
  options.SetInitialUnzippedPageSize(2LL << 30);
  options.SetPageBufferBudget(6LL << 30);
  auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "n", path, options);
  for (long long i = 0; i < rows; ++i) { *x = 7919 * i; writer->Fill(); }
}
''')
ROOT.write_big(sys.argv[1], int(sys.argv[2]))
answer([])
"""

CHECK = """
ROOT.gInterpreter.Declare(r'''
#include <ROOT/RNTupleReader.hxx>
long long wrong(const char *path, long long rows) {
  auto reader = ROOT::RNTupleReader::Open("n", path);
  auto x = reader->GetView<std::int64_t>("x");
  long long wrong = 0;
  for (auto entry : reader->GetEntryRange()) wrong += x(entry) != 7919 * ((long long)entry % rows);
  return wrong;
}
''')
answer([ROOT.wrong(sys.argv[1], int(sys.argv[2])), ROOT.RNTupleReader.Open("n", sys.argv[1]).GetNEntries()])
"""


def test_pages_above_the_size_of_a_key(tmp_path: Path) -> None:
    """ROOT writes one page of 1.2 GB; it is read, copied sealed into a merged file, and ROOT reads that."""
    theirs, ours, merged = (tmp_path / name for name in ("theirs.root", "ours.root", "merged.root"))
    root(WRITE, theirs, ROWS)
    ntuple = sapwood.open(theirs)["n"]
    ((_, stop, _, nbytes),) = ntuple.layout()["branches"][0]["baskets"]
    assert stop == ROWS and nbytes > 1 << 30
    values = ntuple.arrays(["x"], library="np")["x"]
    assert np.array_equal(values, 7919 * np.arange(ROWS))
    assert ntuple.arrays(["x"], entry_start=ROWS - 2)["x"].tolist() == [7919 * (ROWS - 2), 7919 * (ROWS - 1)]
    with sapwood.recreate(ours, compression=None) as file:
        file.mkrntuple("n", {"x": "int64"}, page_bytes="2GiB", cluster_bytes="4GiB").extend({"x": values})
    sapwood.merge(merged, [theirs, ours])
    assert sapwood.verify(merged) == []
    assert root(CHECK, merged, ROWS) == [0, 2 * ROWS]
