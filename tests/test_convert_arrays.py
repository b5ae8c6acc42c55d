"""Arrays of NumPy and HDF5 whose values have no place in trees and tables: errors say what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")
pytest.importorskip("awkward")
pytest.importorskip("pyarrow")

from sapwood import errors  # noqa: E402

Z = np.array([1 + 2j, 3])


@pytest.mark.parametrize("kind", ["npz", "npy", "fields", "parts", "h5", "h5 records", "h5 lists"])
def test_complex_numbers(tmp_path: Path, kind: str) -> None:
    path, name = tmp_path / f"a.{kind.partition(' ')[0]}", "z"
    if kind == "npz":
        np.savez(path, x=[1, 2], z=Z)
    elif kind.startswith("h5"):
        h5py = pytest.importorskip("h5py")
        with h5py.File(path, "w") as file:
            if kind == "h5 lists":
                file.create_dataset("z", (1,), h5py.vlen_dtype(np.dtype("c8")))[0] = Z.astype("c8")
            else:
                file["z"] = Z if kind == "h5" else np.array([(1, 2j)], [("x", "i4"), ("y", "c8")])
                name = "z" if kind == "h5" else "z.y"
    else:
        path = tmp_path / "a.npy"
        fields = {"npy": Z, "fields": np.array([(1, 2j)], [("x", "i4"), ("z", "c8")])}
        parts = np.array([(1, [2j, 3])], [("x", "i4"), ("z", "c16", 2)])
        np.save(path, fields.get(kind, parts))
        name = "values" if kind == "npy" else "z"
    holds = rf"'{name}' holds complex numbers \(complex.*trees and tables have no place: "
    words = rf"{holds}.*{name}.imag \(file .*/a\.(npz|npy|h5)\)"
    with pytest.raises(errors.UnsupportedError, match=words):
        sapwood.convert(path, tmp_path / "a.root")


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.array([1], np.longdouble), r"values of another type .*astype\('f8'\)"),
        (np.array([1], "M8[h]"), r"values of another type .*astype\('M8\[s\]'\)"),
        (np.array([b"ab"], "V2"), r"values of another type .*view\(\('u1', 2\)\)"),
        (np.array([None, 1], object), r"objects of Python .*astype\('f8'\)"),
        (
            np.array([(1, (2, 3))], [("a", "i4"), ("z", [("x", "f4"), ("y", "f4")])]),
            "records .*each field as an array",
        ),
    ],
)
def test_arrays_of_other_types(tmp_path: Path, array: Any, words: str) -> None:
    if array.dtype == np.float64:
        pytest.skip("long doubles have 64 bits here")
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "a.npz", x=array)
    for path in (tmp_path / "a.npy", tmp_path / "a.npz"):
        with pytest.raises(
            errors.UnsupportedError, match=rf"the array '\w+' holds {words} \(file .*/{path.name}\)"
        ):
            sapwood.convert(path, tmp_path / "a.root")
