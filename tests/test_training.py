"""Batches for training: every row once, the same for one seed, restarted anywhere, shared by ranks and
workers."""

from __future__ import annotations

import importlib.util
import json
import pickle
import sys
import threading
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

sapwood = pytest.importorskip("sapwood")
np = pytest.importorskip("numpy")
ak = pytest.importorskip("awkward")

FILES, CLUSTERS, ROWS = 4, 5, 60
TOTAL = FILES * CLUSTERS * ROWS


def columns(first: int, rows: int) -> dict[str, Any]:
    number = np.arange(first, first + rows)
    return {
        "x": number * 1.0,
        "n": number.astype("int32") % 7,
        "run": number // 100,
        "event": number,
        "v": ak.values_astype(
            ak.Array([[n + 0.5 * k for k in range(n % 4)] for n in number.tolist()]), "float32"
        ),
        "fixed": np.stack([number, -number], axis=1).astype("float32"),
        "word": [f"w{n}" for n in number.tolist()],
    }


@pytest.fixture(scope="module", params=["tree", "rntuple"])
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp(request.param)
    for place in range(FILES):
        with sapwood.recreate(folder / f"{place}.root") as file:
            table: Any = None
            for cluster in range(CLUSTERS):
                part = columns((place * CLUSTERS + cluster) * ROWS, ROWS)
                if table is None:
                    table = (file.mktree if request.param == "tree" else file.mkrntuple)("t", part)
                else:
                    table.extend(part)
                table.flush()
    return [f"{folder}/{place}.root:t" for place in range(FILES)]


def seen(batches: Any, name: str = "event") -> list[int]:
    return [int(one) for batch in batches for one in batch.x[name]]


@pytest.mark.parametrize("shuffle", [False, True, "rows"])
@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_every_row_comes_once_with_its_own_values(files: list[str], shuffle: Any, size: int) -> None:
    if size == 1 and shuffle == "rows":
        pytest.skip("one row a read takes long and shows nothing new")
    batches = sapwood.batches(
        files, ["x", "event", "v", "fixed"], size, shuffle=shuffle, buffer="20 kB", target="n"
    )
    order = []
    for x, y in batches:
        rows = len(x["event"])
        assert rows == size or len(order) + rows == TOTAL
        order += x["event"].tolist()
        np.testing.assert_array_equal(x["x"], x["event"])
        np.testing.assert_array_equal(y, x["event"] % 7)
        np.testing.assert_array_equal(x["fixed"], np.stack([x["event"], -x["event"]], axis=1))
        lists = [
            x["v"].values[a:b].tolist() for a, b in zip(x["v"].offsets, x["v"].offsets[1:], strict=False)
        ]
        assert lists == [[n + 0.5 * k for k in range(n % 4)] for n in x["event"].tolist()]
    assert sorted(order) == list(range(TOTAL)) and (order == list(range(TOTAL))) == (shuffle is False)
    assert len(batches) == -(-TOTAL // size) and batches.rows == TOTAL


def test_a_seed_determines_every_batch(files: list[str]) -> None:
    def made(seed: int, threads: int = 0) -> Any:
        return sapwood.batches(files, "event", 32, shuffle=True, seed=seed, threads=threads, buffer="9 kB")

    first = made(1)
    one, two = seen(first), seen(first)
    assert one != two and sorted(one) == sorted(two)
    again = made(1, threads=1)
    assert seen(again) == one and seen(again) == two
    assert seen(made(2)) != one
    again.set_epoch(0)
    assert seen(again) == one


def test_shuffling_mixes_well(files: list[str]) -> None:
    batches = sapwood.batches(files, "event", 40, shuffle=True, buffer="100 kB")
    assert batches.mixing() > 0.5
    assert sapwood.batches(files, "event", 40).mixing() < 0.01
    exact = sapwood.batches(files, "event", 40, shuffle="rows")
    assert exact.mixing() > 0.9
    # Chi-square of places: each tenth of an epoch has the same number of rows of each tenth of the files.
    counts = np.zeros((10, 10))
    for place, event in enumerate(order for epoch in range(5) for order in seen(exact)):
        counts[place % TOTAL * 10 // TOTAL, event * 10 // TOTAL] += 1
    expected = 5 * TOTAL / 100
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    assert chi_square < 150, "81 degrees of freedom: beyond 150 in one of 10,000 shuffles"


@pytest.mark.parametrize("shuffle", [False, True, "rows"])
@pytest.mark.parametrize("world", [2, 3, 7])
def test_ranks_share_the_rows(files: list[str], shuffle: Any, world: int) -> None:
    parts = [
        sapwood.batches(files, "event", 50, shuffle=shuffle, rank=rank, world=world, buffer="20 kB")
        for rank in range(world)
    ]
    for _ in range(2):
        found = [seen(part) for part in parts]
        assert sorted(sum(found, [])) == list(range(TOTAL))
        assert max(map(len, found)) - min(map(len, found)) <= 1
    dropping = [
        sapwood.batches(files, "event", 50, shuffle=shuffle, rank=rank, world=world, drop_last=True)
        for rank in range(world)
    ]
    assert (
        {len(list(part)) for part in dropping} == {TOTAL // world // 50} == {len(part) for part in dropping}
    )


@pytest.mark.parametrize("shuffle", [False, True, "rows"])
def test_a_restart_goes_on_exactly(files: list[str], shuffle: Any) -> None:
    def made() -> Any:
        return sapwood.batches(files, ["event", "v"], 37, shuffle=shuffle, seed=5, buffer="12 kB")

    whole = made()
    wanted = [batch.x["event"].tolist() for _ in range(2) for batch in whole]
    for stop in (0, 1, 5, 32, 33, 40):
        begun, found = made(), []
        while len(found) < stop:
            for batch in begun:
                found.append(batch.x["event"].tolist())
                if len(found) == stop:
                    break
        state = json.loads(json.dumps(begun.state_dict()))
        restarted = made()
        restarted.load_state_dict(state)
        assert restarted.state_dict() == state
        while len(found) < len(wanted):
            found += [batch.x["event"].tolist() for batch in restarted]
        assert found == wanted, stop


def test_a_state_of_other_data_is_refused(files: list[str]) -> None:
    state = sapwood.batches(files, "event", 37).state_dict()
    for other in (
        sapwood.batches(files[:3], "event", 37),
        sapwood.batches(files, "event", 38),
        sapwood.batches(files, "x", 37),
        sapwood.batches(files, "event", 37, cut="event > 3"),
        sapwood.batches(files, "event", 37, rank=1, world=2),
    ):
        with pytest.raises(sapwood.errors.MismatchError, match="differ in their"):
            other.load_state_dict(state)


def test_cuts_and_expressions(files: list[str]) -> None:
    batches = sapwood.batches(
        files, ["twice", "Sum$(v)", "event"], 64, cut="event % 3 == 1", aliases={"twice": "2*x"}, shuffle=True
    )
    found = []
    for batch in batches:
        found += batch["event"].tolist()
        np.testing.assert_array_equal(batch["twice"], 2 * batch["event"])
        np.testing.assert_allclose(
            batch["Sum$(v)"], [sum(n + 0.5 * k for k in range(n % 4)) for n in batch["event"].tolist()]
        )
    assert sorted(found) == list(range(1, TOTAL, 3)) and batches.rows == len(found)


def test_friends_masks_and_entry_lists(files: list[str], tmp_path: Path) -> None:
    for place in range(2):
        with sapwood.recreate(tmp_path / f"{place}.root") as file:
            file["more"] = {"w": np.arange(TOTAL // 2) + place * TOTAL // 2}
    friends = {"f": [f"{tmp_path}/{place}.root:more" for place in range(2)]}
    made = sapwood.batches(
        files, ["event", "f.w"], 64, cut="f.w % 5 == 2", friends=friends, shuffle=True, buffer="9 kB"
    )
    for _ in range(2):
        rows = [batch for batch in made]
        assert all((batch["event"] == batch["f.w"]).all() for batch in rows)
        assert sorted(sum((batch["event"].tolist() for batch in rows), [])) == list(range(2, TOTAL, 5))
    mask = ({"3": [[0, 320]], "9": [[950, 2000]]}, ("run", "event"))
    assert seen(sapwood.batches(files, "event", 64, lumi_mask=mask)) == [*range(300, 321), *range(950, 1000)]
    chosen = np.arange(5, TOTAL, 71)
    assert seen(sapwood.batches(files, "event", 64, entries=chosen)) == chosen.tolist()


def test_splits_are_disjoint_and_whole(files: list[str]) -> None:
    shares = {"train": 0.7, "validation": 0.2, "test": 0.1}
    for by in (("run", "event"), None):
        found = {}
        for name in shares:
            split = (name, shares) if by is None else (name, shares, by)
            made = sapwood.batches(files, "event", 64, split=split, shuffle=True)
            found[name] = set(seen(made))
            assert set(seen(made)) == found[name], "the same in every epoch"
        assert set.union(*found.values()) == set(range(TOTAL)) and sum(map(len, found.values())) == TOTAL
        for name, share in shares.items():
            assert abs(len(found[name]) / TOTAL - share) < 0.05, name
    # The numbers of an event decide, and not its file.
    backwards = sapwood.batches(files[::-1], "event", 64, split=("train", shares, ("run", "event")))
    forwards = sapwood.batches(files, "event", 64, split=("train", shares, ("run", "event")))
    assert set(seen(backwards)) == set(seen(forwards))


def test_shares_in_another_order_are_the_same_split(files: list[str]) -> None:
    def rows(name: str, shares: dict[str, float], *more: Any) -> set[int]:
        return set(seen(sapwood.batches(files, "event", 64, split=(name, shares, "event", *more))))

    train = rows("train", {"train": 0.8, "test": 0.2, "empty": 0.0})
    test = rows("test", {"empty": 0.0, "test": 0.2, "train": 0.8})
    assert not train & test and train | test == set(range(TOTAL))
    assert rows("train", {"train": 0.8, "test": 0.2}, 7) not in (train, test), "another seed"
    with pytest.raises(sapwood.errors.WrongTypeError, match="the seed of a split is a whole number"):
        rows("train", {"train": 1.0}, 0.5)


def test_a_split_and_a_cut_are_computed_in_steps(files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from sapwood._batches import catalogue
    from sapwood._batches.split import Split

    options: dict[str, Any] = {
        "split": ("a", {"a": 0.5, "b": 0.5}),
        "cut": "event % 3 > 0",
        "entries": np.arange(5, TOTAL, 2),
        "lumi_mask": ({"3": [[0, 380]], "9": [[950, 990]]}, ("run", "event")),
    }
    whole = seen(sapwood.batches(files, "event", 64, **options))
    asked: list[int] = []
    mask = Split.mask

    def counting(self: Any, read: Any, start: int, stop: int, path: str) -> Any:
        asked.append(stop - start)
        return mask(self, read, start, stop, path)

    monkeypatch.setattr(catalogue, "STEP", 64)
    monkeypatch.setattr(Split, "mask", counting)
    assert whole and seen(sapwood.batches(files, "event", 64, **options)) == whole
    assert asked == FILES * [64, 64, 64, 64, 44]


def test_lists_are_padded_and_what_is_cut_off_is_counted(files: list[str]) -> None:
    batches = sapwood.batches(files, ["v"], 100, pad={"v": 2}, pad_value=-1)
    events = [n for n in range(TOTAL)]
    values = np.concatenate([batch["v"] for batch in batches])
    masks = np.concatenate([batch.masks["v"] for batch in batches])
    wanted = [([n + 0.5 * k for k in range(min(n % 4, 2))] + [-1, -1])[:2] for n in events]
    assert values.tolist() == wanted and masks.sum(axis=1).tolist() == [min(n % 4, 2) for n in events]
    assert batches.stats["cut_lists"] == {"v": 2 * sum(n % 4 == 3 for n in events)}


def test_a_matrix_of_one_type(files: list[str]) -> None:
    pytest.importorskip("ml_dtypes")
    for kind in ("f4", "f2", "bf16"):
        made = sapwood.batches(
            files, ["x", "n", "fixed"], 50, matrix=True, dtype=kind, target="event", cut="event < 200"
        )
        for x, y in made:
            assert x.shape == (50, 4) and x.dtype == (kind if kind != "bf16" else "bfloat16")
            np.testing.assert_allclose(x[:, 0].astype(float), y, rtol=0.01)
            np.testing.assert_allclose(x[:, 3].astype(float), -y, rtol=0.01)


def test_scaling_is_fitted_saved_and_applied(files: list[str], tmp_path: Path) -> None:
    scaling = sapwood.batches(files, ["x", "v"], 64, buffer="9 kB").fit_scaling()
    mean, width = scaling.columns["x"]
    np.testing.assert_allclose([mean, width], [np.arange(TOTAL).mean(), np.arange(TOTAL).std()], rtol=1e-12)
    scaling.save(tmp_path / "scaling.json")
    known = sapwood.Scaling.load(tmp_path / "scaling.json")
    assert known.columns == scaling.columns
    x = np.concatenate([batch["x"] for batch in sapwood.batches(files, "x", 64, scaling=known)])
    np.testing.assert_allclose([x.mean(), x.std()], [0, 1], atol=1e-12)
    (tmp_path / "wrong.json").write_text("[1]")
    with pytest.raises(sapwood.errors.MismatchError, match="does not hold a scaling"):
        sapwood.Scaling.load(tmp_path / "wrong.json")


def test_samples_have_shares_and_constants(files: list[str]) -> None:
    samples = {
        "signal": {"files": files[:1], "share": 1, "label": 1},
        "background": {"files": files[1:], "share": 3, "label": 0},
    }
    batches = sapwood.batches(samples, "event", 20, target="label", shuffle=True, seed=3)
    labels, events = [], []
    for x, y in batches:
        assert y.sum() == 5 and len(y) == 20
        labels, events = labels + y.tolist(), events + x["event"].tolist()
    assert all((event < TOTAL // FILES) == bool(label) for event, label in zip(events, labels, strict=True))
    assert sorted(events) == list(range(TOTAL))
    unequal = {**samples, "signal": {**samples["signal"], "share": 3}}
    again = Counter(seen(sapwood.batches(unequal, "event", 20)))
    assert set(again) == set(range(TOTAL)) and max(again.values()) == 3
    once = Counter(seen(sapwood.batches(unequal, "event", 20, repeat=False)))
    assert set(once.values()) == {1} and len(once) == 2 * (TOTAL // FILES)
    no_shares = {name: {k: v for k, v in one.items() if k != "share"} for name, one in samples.items()}
    assert sorted(seen(sapwood.batches(no_shares, "event", 20, shuffle=True))) == list(range(TOTAL))


def test_a_restart_with_samples(files: list[str]) -> None:
    def made() -> Any:
        samples = {
            "few": {"files": files[:1], "share": 0.4, "label": 1},
            "many": {"files": files[1:], "share": 0.6, "label": 0},
        }
        return sapwood.batches(samples, "event", 17, shuffle=True, buffer="9 kB")

    wanted = [batch["event"].tolist() for batch in made()]
    for stop in (1, 50, len(wanted) - 1):
        begun = made()
        for _, _ in zip(range(stop), begun, strict=False):
            pass
        restarted = made()
        restarted.load_state_dict(begun.state_dict())
        assert [batch["event"].tolist() for batch in restarted] == wanted[stop:]


def test_rows_by_number(files: list[str]) -> None:
    rows = sapwood.batches(files, ["x", "v"], target="n").row_data()
    assert len(rows) == TOTAL
    picked = [1199, 3, 700, 3, -1]
    for (x, y), row in zip(rows.__getitems__(picked), [1199, 3, 700, 3, 1199], strict=True):
        assert x["x"] == row and y == row % 7 and x["v"].tolist() == [row + 0.5 * k for k in range(row % 4)]
    with pytest.raises(IndexError, match="until before 1200"):
        rows[TOTAL]


def test_batches_are_pickled_and_leave_no_thread(files: list[str]) -> None:
    before = threading.active_count()
    made = sapwood.batches(files, "event", 10, shuffle=True, buffer="9 kB")
    begun = iter(made)
    next(begun)
    copied = pickle.loads(pickle.dumps(made))
    del begun
    assert threading.active_count() == before
    made.set_epoch(0)
    copied.set_epoch(0)
    assert seen(copied) == seen(made)
    made.close()
    copied.close()


def the_torch() -> Any:
    """PyTorch as it is installed, or as Debian has it (python3-torch): built for an older NumPy, so by DLPack
    alone."""
    if importlib.util.find_spec("torch") is None and Path(DEBIAN, "torch").exists():
        sys.path.append(DEBIAN)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("torch", exc_type=ImportError)


DEBIAN = "/usr/lib/python3/dist-packages"


def test_torch_takes_batches_from_workers_and_rows_by_number(files: list[str]) -> None:
    torch = the_torch()
    loaders = torch.utils.data
    made = sapwood.batches(
        files, ["event"], 32, target="n", shuffle=True, to="torch", matrix=True, dtype="f4"
    )
    assert len(list(pickle.loads(pickle.dumps(made.torch())))) == len(made), "processes that are not forked"
    for workers in (0, 2):
        data = loaders.DataLoader(made.torch(), batch_size=None, num_workers=workers)
        events = [int(one) for x, y in data for one in x[:, 0]]
        assert sorted(events) == list(range(TOTAL))
    by_number = loaders.DataLoader(made.row_data(), batch_size=100, shuffle=True)
    assert sorted(int(one) for x, y in by_number for one in x[:, 0]) == list(range(TOTAL))


@pytest.mark.parametrize("kind", ["f4", "f2", "bf16"])
def test_torch_has_padded_lists_and_their_masks(files: list[str], kind: str) -> None:
    torch = the_torch()
    pytest.importorskip("ml_dtypes")
    made = sapwood.batches(files, ["v"], 100, pad=3, dtype=kind, to="torch", cut="event < 300")
    for number, batch in enumerate(made):
        assert batch["v"].dtype == {"f4": torch.float32, "f2": torch.float16, "bf16": torch.bfloat16}[kind]
        assert batch.masks["v"].sum(dim=1).tolist() == [
            n % 4 for n in range(100 * number, 100 * number + 100)
        ]
        assert batch["v"][:, 0].float().sum() > 0


def test_scores_become_a_branch_or_a_friend(files: list[str], tmp_path: Path) -> None:
    copies = []
    for place in files:
        path = tmp_path / Path(place.partition(":")[0]).name
        path.write_bytes(Path(place.partition(":")[0]).read_bytes())
        copies.append(f"{path}:t")
    square = lambda batch: batch["x"] ** 2  # noqa: E731
    written = sapwood.add_column(copies, "score", square, ["x"], friend=tmp_path / "friends", size=50)
    chain = sapwood.concatenate(copies, ["s.score - x*x"], friends={"s": [f"{one}:t" for one in written]})
    assert ak.all(chain[chain.fields[0]] == 0) and len(chain) == TOTAL
    sapwood.add_column(copies, "score", square, ["x"], size=50)
    found = sapwood.concatenate(copies, ["x", "score"])
    assert ak.all(found.score == found.x**2) and sapwood.verify(copies[0].partition(":")[0]) == []
    size = Path(copies[0].partition(":")[0]).stat().st_size
    with pytest.raises(
        sapwood.errors.MismatchError, match=r"got 300 rows and returned values of shape \(3,\)"
    ):
        sapwood.add_column(copies, "wrong", lambda batch: [1, 2, 3], ["x"])
    assert Path(copies[0].partition(":")[0]).stat().st_size == size


def test_files_of_scores_replace_no_other(files: list[str], tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.root").write_bytes(Path(files[0].partition(":")[0]).read_bytes())
    both = [f"{tmp_path}/{folder}/a.root:t" for folder in ("one", "two")]
    before = (tmp_path / "one" / "a.root").read_bytes()
    column = lambda batch: batch["x"]  # noqa: E731
    with pytest.raises(sapwood.errors.MismatchError, match="is a file that is read"):
        sapwood.add_column(both, "score", column, ["x"], friend=tmp_path / "one")
    assert (tmp_path / "one" / "a.root").read_bytes() == before
    with pytest.raises(
        sapwood.errors.MismatchError, match="two/a.root and .*one/a.root would both be written"
    ):
        sapwood.add_column(both, "score", column, ["x"], friend=tmp_path / "friends")


def test_samples_that_are_too_small_for_the_ranks(files: list[str]) -> None:
    samples = {
        "few": {"files": files[0], "share": 1},
        "many": {"files": files[1:], "share": 1},
    }
    with pytest.raises(sapwood.errors.MismatchError, match="'few' has 2 rows, fewer than there are ranks"):
        sapwood.batches(samples, "event", 4, cut="event < 2 || event > 400", rank=0, world=3)


def test_values_that_are_missing(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "some.root") as file:
        file.mkrntuple(
            "t", {"maybe": ak.Array([1.5, None, float("nan"), 2.0]), "x": [1.0, 2.0, float("inf"), 4.0]}
        )
    place = f"{tmp_path}/some.root:t"
    with pytest.raises(sapwood.errors.MismatchError, match="lacks values.*missing="):
        list(sapwood.batches(place, ["maybe"], 2))
    made = sapwood.batches(place, ["maybe", "x"], 4, missing=-1)
    (batch,) = made
    assert batch["maybe"].tolist()[:2] == [1.5, -1] and made.stats["not_finite"] == {"maybe": 1, "x": 1}


def test_files_of_different_types(tmp_path: Path) -> None:
    for place, kind in enumerate(("f4", "f8")):
        with sapwood.recreate(tmp_path / f"{place}.root") as file:
            file["t"] = {"x": np.arange(10, dtype=kind)}
    with sapwood.recreate(tmp_path / "2.root") as file:
        file["t"] = {"x": [[1.0, 2.0], []]}
    two = [f"{tmp_path}/{place}.root:t" for place in range(2)]
    with pytest.raises(
        sapwood.errors.MismatchError, match="'x' holds float64 in .*1.root and float32 in .*0.root"
    ):
        sapwood.batches(two, "x", 4)
    kinds = {batch["x"].dtype.name for batch in sapwood.batches(two, "x", 4, dtype="f4")}
    assert kinds == {"float32"}
    with pytest.raises(sapwood.errors.MismatchError, match="lists of numbers in .*2.root and numbers in"):
        sapwood.batches([*two, f"{tmp_path}/2.root:t"], "x", 4, dtype="f4")


def test_a_file_that_changes_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.root"
    with sapwood.recreate(path) as file:
        file["t"] = {"x": np.arange(10.0)}
    batches = sapwood.batches(f"{path}:t", "x", 4)
    batches.close()
    with sapwood.recreate(path) as file:
        file["t"] = {"x": np.arange(11.0)}
    with pytest.raises(
        sapwood.errors.IOError, match="has 11 entries now, and had 10 when the batches were made"
    ):
        list(batches)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a text": ({"columns": ["word"]}, "holds string"),
    "no columns": ({"columns": []}, "need columns"),
    "an unknown name": ({"columns": ["nothing"]}, "nothing"),
    "a size of none": ({"columns": "x", "size": 0}, "from 1 on"),
    "a rank that there is not": ({"columns": "x", "rank": 2, "world": 2}, "rank="),
    "an order that there is not": ({"columns": "x", "shuffle": "well"}, "shuffle="),
    "an empty cut": ({"columns": "x", "cut": "x < -1"}, "no row is left"),
    "an empty split": ({"columns": "x", "split": ("b", {"a": 1.0, "b": 0.0})}, "no row is left"),
    "shares beyond the whole": ({"columns": "x", "split": ("a", {"a": 0.9, "b": 0.9})}, "add up to 1"),
    "a split by numbers that are not whole": (
        {"columns": "n", "split": ("a", {"a": 1.0}, "x")},
        "whole numbers",
    ),
    "no padding": ({"columns": "v", "pad": 0}, "from 1 on"),
    "padding of another column": ({"columns": "v", "pad": {"w": 1}}, "and the columns are"),
    "a matrix of lists": ({"columns": "v", "matrix": True}, "are lists"),
    "a weight of lists": ({"columns": "x", "weight": "v"}, "one number for each row"),
    "a library that there is not": ({"columns": "x", "to": "fortran"}, "to="),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_say_what_is_wrong(files: list[str], name: str) -> None:
    arguments, words = WRONG[name]
    with pytest.raises((sapwood.SapwoodError, KeyError), match=words):
        list(sapwood.batches(files, **arguments))


def test_samples_without_files_or_with_some_shares_are_refused(files: list[str]) -> None:
    with pytest.raises(sapwood.errors.MismatchError, match="all samples have a share, or none"):
        sapwood.batches({"a": {"files": files, "share": 1}, "b": {"files": files}}, "x")
    with pytest.raises(sapwood.errors.MismatchError, match="above 0"):
        sapwood.batches({"a": {"files": files, "share": 0}, "b": {"files": files, "share": 1}}, "x")
