"""Arrays with behaviors, whose classes are not Awkward's own: written as the records that they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sapwood

ak = pytest.importorskip("awkward")
vector = pytest.importorskip("vector")
uproot = pytest.importorskip("uproot")

PLAIN = {
    "records": ak.Array([{"pt": 1.5, "eta": 3.0}, {"pt": 2.5, "eta": 4.0}]),
    "lists": ak.Array([[{"pt": 1.5, "eta": 3.0}], [{"pt": 2.5, "eta": 4.0}, {"pt": 0.5, "eta": 5.0}]]),
    "equal lists": ak.Array([[{"pt": 1.5, "eta": 3.0}], [{"pt": 2.5, "eta": 4.0}]]),
    "empty lists": ak.Array([[{"pt": 1.5, "eta": 3.0}], []])[1:],
}


class Own(ak.Array):
    """The class of a user's behavior."""


def behaving(array: Any, name: str) -> Any:
    """The same values under the name of a behavior."""
    if name == "vector":
        named = ak.with_name(ak.zip({"pt": array.pt, "eta": array.eta, "phi": array.eta}), "Momentum3D")
        named = ak.Array(named, behavior=vector.backends.awkward.behavior)
    else:
        named = ak.Array(ak.with_name(array, name), behavior={name: Own, ("*", name): Own})
    assert not type(named).__module__.startswith("awkward.")
    return named


@pytest.mark.parametrize("format", ["ttree", "rntuple"])
@pytest.mark.parametrize("name", ["vector", "Own"])
@pytest.mark.parametrize("form", PLAIN)
def test_records_with_behaviors_are_written_as_without(
    tmp_path: Path, form: str, name: str, format: str
) -> None:
    array = behaving(PLAIN[form], name)
    plain = ak.without_parameters(array)
    read = []
    for values in (array, plain):
        with sapwood.recreate(tmp_path / "t.root", format=format) as file:
            file["t"] = {"p": values, "n": [7] * len(values)}
            if format == "ttree":
                file["t"].extend({"p": values[:1], "n": [8]})
        with uproot.open(tmp_path / "t.root") as theirs, sapwood.open(tmp_path / "t.root") as ours:
            read.append((ours["t"].typenames(), ours["t"].arrays().to_list()))
            assert theirs["t"].arrays().to_list() == read[-1][1]
    assert read[0] == read[1]
    if format == "rntuple":
        assert [row["p"] for row in read[0][1]] == plain.to_list()


@pytest.mark.parametrize("format", ["ttree", "rntuple"])
def test_arrays_with_behaviors_are_tables(tmp_path: Path, format: str) -> None:
    array = behaving(PLAIN["records"], "Own")
    with sapwood.recreate(tmp_path / "t.root", format=format) as file:
        file["t"] = array
        with pytest.raises(sapwood.errors.SapwoodError, match="one row"):
            file["u"] = array[0]
    assert sapwood.open(tmp_path / "t.root")["t"].arrays().to_list() == PLAIN["records"].to_list()
