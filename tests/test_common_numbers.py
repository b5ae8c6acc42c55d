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


def shaped(shape, values):
    """Values as a column of a tree or an RNTuple: its type, and four numbers in some arrangement."""
    lists = ak.unflatten(values, [3, 0, 1])
    name = values.dtype.name
    if shape == "flat":
        return values.dtype, values
    if shape == "fixed":
        return np.dtype((values.dtype, (2,))), values.reshape(2, 2)
    if shape == "lists":
        return f"var * {name}", lists
    if shape == "deep":
        return f"var * var * {name}", ak.unflatten(lists, [2, 0, 1])
    texts = ak.Array([["a", "b", "c"], [], ["d"]])
    return None, ak.zip({"a": lists, "s": texts})


def plain(values):
    """Values of any library as those of Python."""
    if hasattr(values, "to_pylist"):
        return values.to_pylist()
    found = values.to_list() if hasattr(values, "to_list") else values
    if isinstance(found, (list, np.ndarray)):
        return [plain(one) for one in found]
    if isinstance(found, dict):
        return {name: plain(one) for name, one in found.items()}
    return found.item() if isinstance(found, np.generic) else found


@pytest.mark.parametrize("library", ["ak", "np", "pd", "arrow", "pl"])
@pytest.mark.parametrize("shape", ["flat", "fixed", "lists", "deep", "records"])
def test_all_pairs_of_types_are_exact_or_refused(tmp_path, library, shape):
    pytest.importorskip({"pd": "pandas", "arrow": "pyarrow", "pl": "polars"}.get(library, "numpy"))
    kinds = [np.dtype("?"), *TYPES]
    for kind in kinds:
        limits = np.iinfo(kind) if kind.kind in "iu" else None
        values = (
            [limits.min, limits.max] if limits else [np.finfo(kind).max, 0.5] if kind.kind == "f" else [1, 0]
        )
        declared, column = shaped(shape, np.array([*values, 1, 0], kind))
        with sapwood.recreate(tmp_path / f"{kind.name}.root") as file:
            if declared is None:
                file.mkrntuple("t", {"x": column})
            else:
                file.mktree("t", {"x": declared}).extend({"x": column})
    wanted = {kind: plain(sapwood.open(tmp_path / f"{kind.name}.root")["t/x"].array()) for kind in kinds}
    refused = set()
    for number, pair in enumerate(itertools.combinations(kinds, 2)):
        one, other = pair if number % 2 else pair[::-1]
        files = [f"{tmp_path / kind.name}.root:t" for kind in (one, other)]
        try:
            found = sapwood.concatenate(files, ["x"], widen=True, library=library)["x"]
        except sapwood.errors.MismatchError as error:
            assert "no type of numbers" in str(error) or "is not exact as float64" in str(error)
            refused.add(pair)
            continue
        assert plain(found) == wanted[one] + wanted[other], (one, other)
    # Objects of Python keep the types that their numbers had.
    has_objects = (
        library in ("np", "pd") and shape not in ("flat", "fixed") or (library, shape) == ("pd", "fixed")
    )
    assert len(refused) == (0 if has_objects else 8)


@pytest.mark.parametrize("library", ["ak", "arrow", "pl"])
def test_rows_that_are_left_out_do_not_count(tmp_path, library):
    pytest.importorskip({"arrow": "pyarrow", "pl": "polars"}.get(library, "numpy"))
    for name, values in (("a", [[2**62 + 1], [5]]), ("b", [[0.5], [1.5]])):
        with sapwood.recreate(tmp_path / f"{name}.root") as file:
            file["t"] = {"x": ak.Array(values), "y": np.arange(2)}
    files = [f"{tmp_path / name}.root:t" for name in "ab"]
    found = sapwood.concatenate(files, ["x", "x + 1"], "y > 0", widen=True, library=library)
    assert plain(found["x"]) == [[5], [1.5]] and plain(found["x + 1"]) == [[6], [2.5]]
    for how in (tuple, dict):
        found = sapwood.concatenate(files, ["x"], "y > 0", widen=True, library=library, how=how)
        assert plain(found[0 if how is tuple else "x"]) == [[5], [1.5]]
    with pytest.raises(sapwood.errors.MismatchError, match=r"4611686018427387905 is not exact as float64"):
        sapwood.concatenate(files, ["x"], widen=True, library=library)


@pytest.mark.parametrize("library", ["ak", "np", "arrow", "pl"])
def test_arrays_of_other_lengths_are_not_joined(tmp_path, library):
    pytest.importorskip({"arrow": "pyarrow", "pl": "polars"}.get(library, "numpy"))
    write(tmp_path / "a.root", np.dtype(("f4", (2,))), np.ones((1, 2)))
    write(tmp_path / "b.root", np.dtype(("f8", (3,))), np.ones((1, 3)))
    files = [f"{tmp_path / name}.root:t" for name in "ab"]
    if library == "ak":  # whose lists may have any length
        found = sapwood.concatenate(files, ["x"], widen=True)["x"]
        assert found.tolist() == [[1.0, 1.0], [1.0, 1.0, 1.0]]
        return
    with pytest.raises(sapwood.errors.MismatchError, match="different types"):
        sapwood.concatenate(files, ["x"], widen=True, library=library)


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


@pytest.mark.parametrize("library", ["ak", "np", "pd", "arrow", "pl"])
def test_texts_and_numbers_are_not_joined(tmp_path, library):
    for number, values in enumerate(([1.0], ["a"], [2.0])):
        with sapwood.recreate(tmp_path / f"{number}.root") as file:
            file["t"] = {"x": values}
    with pytest.raises(sapwood.errors.MismatchError, match="different types"):
        sapwood.concatenate(f"{tmp_path}/*.root:t", library=library)
