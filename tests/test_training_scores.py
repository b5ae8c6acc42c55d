"""Columns that a function computes: all is checked before the first file changes, and a run that was interrupted goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

sapwood = pytest.importorskip("sapwood")
np = pytest.importorskip("numpy")
ak = pytest.importorskip("awkward")

from sapwood.errors import MismatchError  # noqa: E402

from test_training import the_torch  # noqa: E402

KINDS = ["tree", "rntuple"]


def written(path: Path, kind: str, **columns: Any) -> str:
    with sapwood.recreate(path) as file:
        (file.mktree if kind == "tree" else file.mkrntuple)("t", columns)
    return f"{path}:t"


@pytest.fixture(params=KINDS)
def files(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    return [written(tmp_path / f"{n}.root", request.param, x=np.arange(10.0) + 10 * n) for n in range(3)]


def bytes_of(files: list[str]) -> list[bytes]:
    return [Path(place.partition(":")[0]).read_bytes() for place in files]


def double(columns: Any) -> Any:
    return columns["x"] * 2


def values(place: Any, name: str = "score") -> list[float]:
    return sapwood.open(f"{str(place).partition(':')[0]}:t")[name].array().tolist()  # type: ignore[no-any-return]


def test_a_run_that_was_interrupted_goes_on(files: list[str]) -> None:
    calls = []

    def failing(columns: Any) -> Any:
        calls.append(columns["x"].tolist())
        if len(calls) == 5:  # three for the types, and the second file of three
            raise KeyboardInterrupt
        return double(columns)

    with pytest.raises(KeyboardInterrupt):
        sapwood.add_column(files, "score", failing, "x")
    before = bytes_of(files)
    with pytest.raises(
        sapwood.errors.ExistsError, match=r"0.root has a column 'score' in t: .*exists=\"skip\""
    ):
        sapwood.add_column(files, "score", double, "x")
    assert bytes_of(files) == before
    sapwood.add_column(files, "score", double, "x", exists="skip")
    assert bytes_of(files)[0] == before[0], "the first file was not written again"
    assert [values(place) for place in files] == [(2 * (np.arange(10.0) + 10 * n)).tolist() for n in range(3)]


def test_friends_that_exist_are_refused_skipped_or_replaced(files: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "friends"
    sapwood.add_column(files[:1], "score", double, "x", friend=folder)
    with pytest.raises(sapwood.errors.ExistsError, match=r"friends/0.root exists: .*exists=\"replace\""):
        sapwood.add_column(files, "score", double, "x", friend=folder)
    assert sorted(one.name for one in folder.iterdir()) == ["0.root"]
    first = (folder / "0.root").read_bytes()
    written = sapwood.add_column(files, "score", double, "x", friend=folder, exists="skip")
    assert (folder / "0.root").read_bytes() == first and len(written) == 3
    assert [values(place) for place in written] == [
        (2 * (np.arange(10.0) + 10 * n)).tolist() for n in range(3)
    ]
    with pytest.raises(sapwood.errors.ExistsError, match="has no t with 10 entries of 'other'"):
        sapwood.add_column(files, "other", double, "x", friend=folder, exists="skip")
    (folder / "1.root").write_bytes(b"not a file of ROOT")
    with pytest.raises(sapwood.errors.ExistsError, match="1.root exists, and has no t"):
        sapwood.add_column(files, "score", double, "x", friend=folder, exists="skip")
    sapwood.add_column(files, "other", double, "x", friend=folder, exists="replace")
    assert sapwood.open(f"{folder}/1.root:t").keys() == ["other"]
    for exists, place in (("replace", None), ("maybe", folder)):
        with pytest.raises(sapwood.errors.MismatchError, match="exists= is"):
            sapwood.add_column(files, "more", double, "x", friend=place, exists=exists)  # type: ignore[arg-type]


def test_a_friend_that_fails_leaves_no_file(files: list[str], tmp_path: Path) -> None:
    def failing(columns: Any) -> Any:
        return double(columns).astype("f4" if columns["x"][0] == 0 else "f8")

    with pytest.raises(sapwood.errors.MismatchError, match="returned float64 .* and float32"):
        sapwood.add_column(files[0], "score", failing, "x", friend=tmp_path / "friends", size=5)
    assert list((tmp_path / "friends").iterdir()) == []


WRONG: dict[str, tuple[Any, str, str]] = {
    "texts in a name": (double, "", "would not take the column ''"),
    "complex numbers": (lambda columns: columns["x"] * 1j, "score", "would not take the column 'score'"),
    "another shape": (
        lambda columns: np.zeros((10, 2 if columns["x"][0] == 20 else 3)),
        "score",
        r"of shape \(3,\) for .*1.root and of shape \(2,\) for .*2.root",
    ),
    "too few values": (lambda columns: [1] if columns["x"][0] == 20 else [1] * 10, "score", "got 10 rows"),
}


@pytest.mark.parametrize("case", WRONG)
def test_no_file_changes_if_one_would_fail(files: list[str], case: str) -> None:
    function, name, words = WRONG[case]
    before = bytes_of(files)
    with pytest.raises(sapwood.SapwoodError, match=words):
        sapwood.add_column(files, name, function, "x")
    assert bytes_of(files) == before
    sapwood.add_column(files[2], "late", double, "x")
    before = bytes_of(files)
    with pytest.raises(sapwood.errors.ExistsError, match=r"2.root has a column 'late'"):
        sapwood.add_column(files, "late", double, "x")
    assert bytes_of(files) == before


@pytest.mark.parametrize("kind", KINDS)
def test_files_without_rows_are_no_error(tmp_path: Path, kind: str) -> None:
    places = [
        written(tmp_path / "a.root", kind, x=np.arange(3, dtype="f4")),
        written(tmp_path / "b.root", kind, x=np.zeros(0, "f4")),
        written(tmp_path / "c.root", kind, x=np.arange(3.0)),
    ]
    friends = sapwood.add_column(places, "score", double, "x", friend=tmp_path / "friends")
    assert [values(place) for place in friends] == [[0, 2, 4], [], [0, 2, 4]]
    for place in friends:
        branch = sapwood.open(f"{place}:t/score")
        assert branch.typename == "double", "one type for all files"
    sapwood.add_column(places, "score", double, "x")
    assert values(places[0]) == values(places[2]) == [0, 2, 4]
    if kind == "rntuple":
        assert values(places[1]) == []


def test_half_floats_become_floats(files: list[str]) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for name, kind in (("bf16", ml_dtypes.bfloat16), ("f2", "f2")):
        sapwood.add_column(files, name, lambda columns, kind=kind: columns["x"].astype(kind), "x")
        assert values(files[1], name) == list(range(10, 20))
        assert sapwood.open(f"{files[1]}/{name}").typename == "float"


def test_tensors_of_pytorch_are_scores(files: list[str]) -> None:
    torch = the_torch()
    for name, kind in (("f4", torch.float32), ("bf16", torch.bfloat16)):
        score = lambda columns, kind=kind: columns["x"].to(kind).requires_grad_(True)[:, None] * 2  # noqa: E731
        sapwood.add_column(files, name, score, "x", to="torch")
        assert values(files[0], name) == list(range(0, 20, 2))


def test_a_function_of_two_arguments_gets_the_masks(tmp_path: Path) -> None:
    path = tmp_path / "lists.root"
    with sapwood.recreate(path) as file:
        file["t"] = {"v": ak.Array([[1.0, 0.0], [], [5.0], [0.0, 0.0, 2.0]])}
    seen = []

    def count(columns: Any, masks: Any) -> Any:
        seen.append(masks["v"].tolist())
        return masks["v"].sum(axis=1)

    sapwood.add_column(f"{path}:t", "n", count, "v", pad=2)
    assert sapwood.open(path)["t/n"].array().tolist() == [2, 0, 1, 2]
    assert seen[-1] == [[True, True], [False, False], [True, False], [True, True]]
    with pytest.raises(MismatchError, match="friend=FOLDER"):
        sapwood.add_column("http://127.0.0.1:1/a.root:t", "n", count, "v", pad=2)
