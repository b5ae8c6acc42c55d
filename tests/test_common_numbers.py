"""Numbers of several types under one name: exact, or an error."""

import itertools

import awkward as ak
import numpy as np
import pytest
import sapwood

TYPES = [np.dtype(name) for name in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")]


def write(path, kind, values, name="x"):
    with sapwood.recreate(path) as file:
        file.mktree("t", {name: kind}).extend({name: values})


def test_unsigned_and_signed_numbers_of_64_bits_stay_whole(tmp_path):
    write(tmp_path / "a.root", "i8", np.array([2**62 + 1, 5]))
    write(tmp_path / "b.root", "u8", np.array([2**63 + 1, 7], "u8"))
    files = [f"{tmp_path / name}.root:t" for name in "ab"]
    for library in ("ak", "np", "pd"):
        found = sapwood.concatenate(files, ["x"], widen=True, library=library)["x"]
        assert [int(one) for one in found] == [2**62 + 1, 5, 2**63 + 1, 7]


def test_lists_of_them_stay_whole(tmp_path):
    write(tmp_path / "a.root", "var * int64", ak.Array([[2**62 + 1], []]))
    write(tmp_path / "b.root", "var * uint64", ak.Array(np.array([[2**63 + 1]], "u8")))
    files = [f"{tmp_path / name}.root:t" for name in "ab"]
    assert sapwood.concatenate(files, ["x"], widen=True)["x"].tolist() == [[2**62 + 1], [], [2**63 + 1]]


def test_what_no_type_holds_is_an_error(tmp_path):
    write(tmp_path / "a.root", "i8", np.array([-1]))
    write(tmp_path / "b.root", "u8", np.array([2**63], "u8"))
    files = [f"{tmp_path / name}.root:t" for name in "ab"]
    with pytest.raises(sapwood.errors.MismatchError, match="no type of numbers"):
        sapwood.concatenate(files, ["x"], widen=True)


@pytest.mark.parametrize("library", ["ak", "np", "pd"])
def test_all_pairs_of_types_are_exact_or_refused(tmp_path, library):
    for kind in TYPES:
        limits = np.iinfo(kind) if kind.kind in "iu" else None
        values = [limits.min, limits.max] if limits else [np.finfo(kind).max, 0.5]
        write(tmp_path / f"{kind.name}.root", kind, np.array(values, kind))
    for one, other in itertools.permutations(TYPES, 2):
        files = [f"{tmp_path / kind.name}.root:t" for kind in (one, other)]
        wanted = [value.item() for path in files for value in sapwood.open(path)["x"].array(library="np")]
        try:
            found = sapwood.concatenate(files, ["x"], widen=True, library=library)["x"]
        except sapwood.errors.MismatchError:
            assert 8 in (one.itemsize, other.itemsize)
            continue
        assert [value.item() for value in np.asarray(found)] == wanted, (one, other)


def test_a_branch_of_floats_refuses_whole_numbers_that_it_would_change(tmp_path):
    with sapwood.recreate(tmp_path / "a.root") as file:
        tree = file.mktree("t", {"x": "f4", "y": "f8"})
        with pytest.raises(sapwood.errors.MismatchError, match="16777217"):
            tree.extend({"x": np.array([1, 16777217]), "y": np.array([1, 1])})
        with pytest.raises(sapwood.errors.MismatchError, match="4611686018427387905"):
            tree.extend({"x": np.array([1]), "y": np.array([2**62 + 1])})
        tree.extend({"x": np.array([2**24]), "y": np.array([2**62])})
    assert sapwood.open(tmp_path / "a.root")["t"].arrays().tolist() == [{"x": 2.0**24, "y": 2.0**62}]


def test_a_skim_does_not_change_whole_numbers(tmp_path):
    write(tmp_path / "a.root", "f4", [1.5])
    write(tmp_path / "b.root", "i4", np.array([16777217]))
    files = [f"{tmp_path / name}.root:t" for name in "ab"]
    with pytest.raises(sapwood.errors.MismatchError, match="16777217"):
        sapwood.skim(files, tmp_path / "c.root", ["x"], widen=True)


@pytest.mark.parametrize("library", ["ak", "np", "pd"])
def test_texts_and_numbers_are_not_joined(tmp_path, library):
    for number, values in enumerate(([1.0], ["a"], [2.0])):
        with sapwood.recreate(tmp_path / f"{number}.root") as file:
            file["t"] = {"x": values}
    with pytest.raises(sapwood.errors.MismatchError, match="different types"):
        sapwood.concatenate(f"{tmp_path}/*.root:t", library=library)
