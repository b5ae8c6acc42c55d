"""Awkward's categories are written to trees as their values."""

import awkward as ak
import pytest
import sapwood


@pytest.mark.parametrize("values", [["a", "b", "a"], [["a"], [], ["b", "a"]]])
def test_categories_of_awkward_are_written_as_values(tmp_path, values):
    pytest.importorskip("pyarrow")
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["t"] = {"x": ak.str.to_categorical(ak.Array(values))}
    assert sapwood.open(f"{tmp_path}/a.root:t")["x"].array().tolist() == values
