"""Objects of PyROOT in files, and objects of files in PyROOT."""

from __future__ import annotations

from typing import Any

import pytest

from support.rootrun import root

sapwood = pytest.importorskip("sapwood")

LINES = """
import io
import warnings
import numpy as np
import sapwood
warnings.simplefilter("error", sapwood.errors.IncompleteFileWarning)
histogram = ROOT.TH1F("h", "a title", 10, -5, 5)
histogram.Fill(1.5, 2)
found = sapwood.from_pyroot(histogram)
same = sapwood.to_pyroot(found)
memory = io.BytesIO()
with sapwood.recreate(memory) as file:
    file["vector"] = ROOT.TLorentzVector(1, 2, 3, 4)
    file["dir/h"] = histogram
    file["text"] = ROOT.TObjString("wowie")
read = sapwood.open(memory)
vector = read["vector"]
refused = []
for wrong in (ROOT.TTree("t", "t"), 5):
    try:
        sapwood.from_pyroot(wrong)
    except sapwood.SapwoodError as error:
        refused.append(str(error))
answer({
    "values": found.values(flow=True).tolist(), "title": found.title, "weighted": found.weighted,
    "same": [same.GetBinContent(bin) for bin in range(12)], "entries": same.GetEntries(), "owned": same.GetDirectory() == ROOT.nullptr,
    "vector": [vector.member("fP").member("fX"), vector.member("fE")], "text": str(read["text"]), "name": read["dir/h"].name,
    "made": str(sapwood.to_writable("hello").to_pyroot()), "edges": sapwood.to_writable((np.array([3.0]), np.array([1.0, 2.0]))).axis().edges().tolist(),
    "refused": refused,
})
"""


def test_objects_go_to_pyroot_and_back() -> None:
    found: Any = root(LINES)
    assert found["values"] == found["same"] == [0.0] * 7 + [2.0] + [0.0] * 4
    assert found["title"] == "a title" and found["entries"] == 1 and found["owned"]
    assert found["vector"] == [1, 4] and found["text"] == "wowie" and found["name"] == "h"
    assert found["made"] == "hello" and found["edges"] == [1.0, 2.0]
    assert (
        "let ROOT write it to a file" in found["refused"][0]
        and "int is no object of PyROOT" in found["refused"][1]
    )
