"""Expressions, cuts and histograms, beside real ROOT: each value of `TTree::Draw`, in its order."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")

HERE = Path(__file__).parent
TABLE, DRAWN = HERE / "data" / "expressions.txt", HERE / "data" / "histograms.txt"


def lines(table: Path) -> list[str]:
    return [line for line in table.read_text().splitlines() if line.strip() and not line.startswith("#")]


LINES = lines(TABLE)

#: Where ROOT's own approximation has fewer digits, and ours are those of a table made with fifty
#: (`crates/core/tests/data/distributions.txt`).
DIGITS_OF_ROOT = {
    "Landau(": 1e-6,
    "Voigt(": 2e-4,
    "BesselI": 3e-7,
    "BesselK": 3e-7,
    "ErfInverse": 1e-10,
    "ErfcInverse": 1e-10,
    "KolmogorovProb": 1e-8,
    "NormQuantile": 1e-13,
    "ChisquareQuantile": 1e-5,
    "Prob(": 1e-12,
    "Gamma(2": 1e-12,
    "Beta": 1e-12,
    "BinomialI": 1e-12,
    "StudentQuantile": 1e-5,
    "Student": 1e-12,
    "DiLog": 1e-12,
    "LandauI": 1e-6,
    "StruveH": 1e-9,
    "StruveL": 1e-12,
    "FDist": 1e-12,
    "GammaDist": 1e-12,
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, dict[str, Any]]:
    if importlib.util.find_spec("ROOT") is None:
        if os.environ.get("CI", "").lower() in ("1", "true", "yes"):
            pytest.fail("ROOT is required in CI")
        pytest.skip("real ROOT is not installed")
    folder = tmp_path_factory.mktemp("query")
    output = folder / "answers.json"
    done = subprocess.run(
        [sys.executable, HERE / "oracle" / "draw.py", folder, TABLE, DRAWN, output],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    found = {one["line"]: one for made in json.loads(output.read_text()) for one in made}
    return sapwood.open(folder / "expressions.root")["t"], found


def test_the_table_has_many_expressions() -> None:
    assert len(set(LINES)) == len(LINES) >= 250


@pytest.mark.parametrize("line", LINES)
def test_values_and_weights_are_those_of_root(answers: tuple[Any, dict[str, Any]], line: str) -> None:
    tree, found = answers
    theirs = found[line]
    expression, _, cut = line.partition(" ;; ")
    columns, weights = tree.points(expression, cut)
    rtol = next((digits for name, digits in DIGITS_OF_ROOT.items() if f"TMath::{name}" in line), 2e-14)
    # ROOT numbers the expressions from the first one; ours are along x first.
    for ours, values in zip(reversed(columns), theirs["columns"], strict=True):
        np.testing.assert_allclose(ours, np.array(values, "float64"), rtol=rtol, atol=1e-13)
    np.testing.assert_allclose(weights, theirs["weights"], rtol=1e-15)


@pytest.mark.parametrize("line", lines(DRAWN))
def test_histograms_are_those_of_root(answers: tuple[Any, dict[str, Any]], line: str) -> None:
    tree, found = answers
    theirs = found[line]
    expression, cut, option = (part.strip() for part in line.split(";;"))
    ours = tree.draw(expression, cut, profile=option == "prof", library="root")
    # ROOT's are of floats where ours are of doubles.
    assert ours.classname.replace("D", "F") == theirs["class"].replace("D", "F")
    axes = [(len(axis), axis.low, axis.high) for axis in ours.axes]
    np.testing.assert_allclose(axes, theirs["axes"], rtol=1e-14)
    flat = lambda array: array.T.reshape(-1)  # noqa: E731
    np.testing.assert_allclose(flat(ours.values(flow=True)), theirs["values"], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(flat(ours.errors(flow=True)), theirs["errors"], rtol=1e-6, atol=1e-9)
    assert ours.member("fEntries") == theirs["entries"]


def test_a_histogram_is_one_of_hist(answers: tuple[Any, dict[str, Any]]) -> None:
    tree, _ = answers
    drawn = tree.draw("y:x", bins=[(4, -5, 8), [0, 10, 20, 40]])
    assert type(drawn).__name__ == "Hist" and [len(axis) for axis in drawn.axes] == [4, 3]
    assert drawn.sum(flow=True).value == tree.num_entries
    several = tree.draw_many(["x>>a(4,-5,8)", ("x>>b(4,-5,8)", "x > 0")], library="root")
    assert [one.name for one in several] == ["a", "b"]
    assert several[1].values().sum() == np.count_nonzero(tree["x"].array(library="np") > 0)


def test_many_drawings_have_bins_weights_and_names(answers: tuple[Any, dict[str, Any]]) -> None:
    tree, _ = answers
    x, y = (tree[name].array(library="np") for name in "xy")
    wanted = {
        "plain": "x",
        "own": sapwood.Drawing("x", "y > 5", bins=[-5, 0, 8], weight="y"),
        "means": sapwood.Drawing("y:x", bins=(4, -5, 8), profile=True),
        "words": ("x>>h(2,0,1)", "y > 2"),
    }
    found = tree.draw_many(wanted, "x > 0", weight=2, bins=(13, -5, 8), library="root")
    assert list(found) == list(wanted)
    assert [len(one.axis().edges()) for one in found.values()] == [14, 3, 5, 3]
    is_in = x > 0
    flat = {name: one.values(flow=True).sum() for name, one in found.items() if name != "means"}
    assert flat == pytest.approx(
        {
            "plain": 2 * np.count_nonzero(is_in),
            "own": 2 * y[is_in & (y > 5)].sum(),
            "words": 2 * np.count_nonzero(is_in & (y > 2)),
        }
    )
    assert found["means"].classname == "TProfile"
    alone = tree.draw("y:x", "2 * (x > 0)", bins=(4, -5, 8), profile=True, library="root")
    np.testing.assert_allclose(found["means"].values(), alone.values())


def test_a_weight_without_a_value_does_not_count_where_the_cut_does_not_pass(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "w.root") as file:
        file["t"] = {"x": np.array([1.0, -1.0, 4.0])}
    tree = sapwood.open(tmp_path / "w.root")["t"]
    for options in [{"cut": "x > 0", "weight": "sqrt(x)"}, {"cut": "x > 0 && x < 9", "weight": "sqrt(x)"}]:
        (values, _), *_ = tree.draw_many(["x", "x"], **options, bins=(2, -2, 6), library="np")
        assert values.tolist() == [1.0, 2.0]


def test_what_is_no_drawing_is_refused(answers: tuple[Any, dict[str, Any]]) -> None:
    tree, _ = answers
    for wrong, words in [("x", "draw takes one"), ([1], "a drawing is"), ([("x", "y", "z")], "a drawing is")]:
        with pytest.raises(sapwood.errors.MismatchError, match=words):
            tree.draw_many(wrong)


@pytest.mark.parametrize(
    ("expression", "cut", "words"),
    [
        ("nope", "", 'no branch "nope"'),
        ("x +", "", "a value is missing before the end, at character 4"),
        ("x", "y = 2", "write == to compare, at character 3"),
        ("sqroot(x)", "", 'no function "sqroot"; near to it: "sqrt"'),
        ("x/0", "", "divides by zero"),
        ("u%0", "", "divides by zero"),
        ("name + 1", "", "a text is joined with a number"),
        ("name", "", "texts cannot be drawn"),
        ("x", "name", "this is a text, and a number is needed"),
        ("x & 1", "", "bits of whole numbers"),
        ("i ^ 2", "", "power in ROOT and an exclusive or in Python"),
        ("x % 2", "", "fmod"),
        ("x[0]", "", "one value an entry: it has no items"),
        ("v[0][1]", "", "one value an entry: it has no items"),
        ("sum(x)", "", "one value an entry"),
        ("pow(x)", "", "takes 2 values, not 1"),
        ("x>>h(0,1,2)", "", "from 1 to"),
        ("x>>+h", "", "draw without it and add the two"),
        ("x>>h(5,2,1)", "", "begins below where it ends"),
        ("x>>h(5,1,2,5,1,2)", "", "more than 1 axes"),
        ("x:y:i:u", "", "one to three axes"),
        ("__import__('os')", "", "no function"),
        ("TMath::VavilovI(x, 0.5, 0.5)", "", 'no function "TMath::VavilovI"'),
        ("(" * 300 + "x" + ")" * 300, "", "deep"),
        ("x" + "+x" * 100_000, "", "characters, more than"),
        ("v + name", "", "a text is joined with a number"),
        ("x", "v[", "a value is missing|does not end|is missing"),
    ],
)
def test_what_cannot_be_drawn_says_why(
    answers: tuple[Any, dict[str, Any]], expression: str, cut: str, words: str
) -> None:
    tree, _ = answers
    with pytest.raises(sapwood.errors.SapwoodError, match=words):
        tree.draw(expression, cut)


def test_what_a_condition_guards_need_not_be_there(answers: tuple[Any, dict[str, Any]]) -> None:
    tree, _ = answers
    n, i = tree["n"].array(library="np"), tree["i"].array(library="np")
    v = tree["v"].array().tolist()
    found = tree.arrays(["n == 0 || v[n-1] > 30"], library="np")["n == 0 || v[n-1] > 30"]
    assert found.tolist() == [not items or items[-1] > 30 for items in v]
    found = tree.arrays(["i != 0 && 10 % i > 0"], library="np")["i != 0 && 10 % i > 0"]
    assert found.tolist() == [bool(one) and int(np.fmod(10, one)) > 0 for one in i]
    # Without the condition, and where it stands behind, the value must be there.
    for expression in ("v[n-1] > 30", "v[n-1] > 30 || n == 0", "n == 0 || v[0] > 30"):
        with pytest.raises(sapwood.errors.MismatchError, match="entry 0 has no value here"):
            tree.arrays([expression])
    assert len(tree.arrays(["x"], "n == 0 || v[0] > 30")) == sum(count > 0 for count in n) - sum(
        0 < len(items) and items[0] <= 30 for items in v
    )


def test_lists_of_other_lengths_are_refused_by_arrays(answers: tuple[Any, dict[str, Any]]) -> None:
    tree, _ = answers
    with pytest.raises(sapwood.errors.MismatchError, match="lists of 0 and of 3 items.*in entry 0.*object t"):
        tree.arrays(["v * a"])


def test_an_rntuple_answers_like_a_tree(tmp_path: Path) -> None:
    data = {"x": np.linspace(-3, 3, 50), "v": [list(range(n % 4)) for n in range(50)]}
    with sapwood.recreate(tmp_path / "both.root") as file:
        file["t"] = data
        file.mkrntuple("n", data)
    with sapwood.open(tmp_path / "both.root") as file:
        tree, ntuple = file["t"], file["n"]
        for what in (("x", ""), ("x", "Sum$(v) > 1"), ("v:x", "v > 0"), ("sum(v)", "x*x")):
            for one, other in zip(tree.points(*what)[0], ntuple.points(*what)[0]):
                assert np.array_equal(one, other) and len(one)
        for expression in ("x**2", "v * x", "v[v > 1]"):
            one, other = tree.arrays([expression], "x > -1"), ntuple.arrays([expression], "x > -1")
            assert one.tolist() == other.tolist()


@pytest.fixture
def optional(tmp_path: Path) -> Any:
    ak = pytest.importorskip("awkward")
    with sapwood.recreate(tmp_path / "optional.root") as file:
        file.mkrntuple(
            "n",
            {
                "x": np.arange(6.0),
                "o": ak.Array([0.5, None, 2.5, None, 4.5, 5.5]),
                "items": ak.Array([[1, None, 3], [], [None], [4], [5, 6], [7]]),
                "list": ak.Array([[1, 2], None, [3], [], [4, 5, 6], None]),
                "s": ak.Array(["a", None, "b", "c", None, "a"]),
                "either": ak.concatenate([ak.Array([1, 2, 3]), ak.Array([["p"], [], ["q", "r"]])]),
            },
        )
    with sapwood.open(tmp_path / "optional.root") as file:
        yield file["n"]


@pytest.mark.parametrize(
    ("expression", "wanted", "type_of"),
    [
        ("o*2", [1, None, 5, None, 9, 11], "?float64"),
        ("o > 1", [False, None, True, None, True, True], "?bool"),
        ("items + 1", [[2, None, 4], [], [None], [5], [6, 7], [8]], "var * ?int64"),
        ("list * x", [[0, 0], [], [6], [], [16, 20, 24], []], "var * ?float64"),
        ("sum(items)", [4, 0, 0, 4, 11, 7], "int64"),
        ("Sum$(list)", [3, 0, 3, 0, 15, 0], "int64"),
        ("Length$(items)", [2, 0, 0, 1, 2, 1], "int64"),
        ("@list.size()", [2, 0, 1, 0, 3, 0], "int64"),
        ("list[0]", [1, None, 3, None, 4, None], "?int64"),
        ("x > 2 ? o : x", [0, 1, 2, None, 4.5, 5.5], "?float64"),
        ("Alt$(o, -1)", [0.5, -1, 2.5, -1, 4.5, 5.5], "float64"),
        ('s == "a"', [True, None, False, False, None, True], "?bool"),
        ("s", ["a", None, "b", "c", None, "a"], "?string"),
    ],
)
def test_what_is_computed_of_absent_values_is_absent(
    optional: Any, expression: str, wanted: list[Any], type_of: str
) -> None:
    found = optional.arrays([expression])[expression]
    assert found.tolist() == wanted and str(found.type) == f"6 * {type_of}"


def test_absent_values_pass_no_cut_and_fill_nothing(optional: Any) -> None:
    assert optional.arrays(["x"], cut="o > 1").x.tolist() == [2, 4, 5]
    assert optional.arrays(["x"], cut='s == "a"').x.tolist() == [0, 5]
    assert optional.arrays(["items"], cut="items > 1")["items"].tolist() == [[3], [], [], [4], [5, 6], [7]]
    assert optional.points("o:x")[0][1].tolist() == [0.5, 2.5, 4.5, 5.5]
    assert optional.points("list:x", "o > 1")[0][1].tolist() == [3, 4, 5, 6]
    rows = [(row["entry"], row["o"], row["items"]) for row in optional.scan("o:items")]
    assert rows == [
        (0, 0.5, 1), (0, 0.5, None), (0, 0.5, 3), (1, None, None), (2, 2.5, None), (3, None, 4),
        (4, 4.5, 5), (4, 4.5, 6), (5, 5.5, 7),
    ]  # fmt: skip
    with pytest.raises(sapwood.errors.ExpressionError, match="no common one"):
        optional.arrays(["either + 1"])


def test_absent_values_of_many_rows_are_those_of_their_rows(tmp_path: Path) -> None:
    # More rows than are computed together.
    ak = pytest.importorskip("awkward")
    rng = np.random.default_rng(3)
    numbers, there, counts = np.arange(100_000.0), rng.random(100_000) < 0.7, rng.integers(0, 4, 100_000)
    optional = ak.mask(ak.Array(numbers), there)
    lists = ak.unflatten(ak.mask(ak.Array(np.arange(counts.sum())), rng.random(counts.sum()) < 0.5), counts)
    with sapwood.recreate(tmp_path / "many.root") as file:
        file.mkrntuple("n", {"o": optional, "items": lists})
    with sapwood.open(tmp_path / "many.root") as file:
        found = file["n"].arrays(["o * 2", "items + 1", "o"])
        assert ak.array_equal(found["o * 2"], optional * 2, same_content_types=False)
        assert ak.to_list(found["items + 1"]) == ak.to_list(lists + 1)
        passing = ak.flatten(ak.drop_none(optional[ak.fill_none(optional > 500, False)]), axis=None)
        assert np.array_equal(file["n"].points("o", "o > 500")[0][0], passing)


@pytest.mark.parametrize(
    ("expression", "cut"),
    [
        ("x + y", "i % 3 == 0"), ("v * w", "i % 3 == 0"), ("a * x", "i % 5 == 1"), ("Entry$", "i % 3 == 0"),
        ("v[1]", "i % 3 == 0"), ("Sum$(v > x) + Iteration$", "i % 4"), ("x", "(i % 3 == 0) * y"),
        ("v", "(i % 4) * x"),
        ("m[][1] + v", "i % 7 == 0"), ("Length$(v)", "i % 3 == 2"), ("x", "v[0] > 1e9"),
    ],
)  # fmt: skip
def test_a_cut_on_entries_that_comes_first_changes_nothing(
    answers: tuple[Any, dict[str, Any]], expression: str, cut: str
) -> None:
    tree, _ = answers
    # A cut that asks for its loop is computed together with the values.
    (found, weights), (wanted, wanted_weights) = (
        tree.points(expression, text) for text in (cut, f"({cut}) * (Iteration$ >= 0)")
    )
    assert len(found) == len(wanted) and (len(found[0]) or "1e9" in cut)
    for ours, other in zip([*found, weights], [*wanted, wanted_weights]):
        assert np.array_equal(ours, other)


@pytest.fixture
def parts(tmp_path: Path) -> tuple[str, np.ndarray[Any, Any], list[list[float]]]:
    """Three files of one tree, and what is in them."""
    x = np.arange(90) / 4 - 5
    v = [[float(n + k) for k in range(n % 3)] for n in range(90)]
    for part in range(3):
        with sapwood.recreate(tmp_path / f"part{part}.root") as file:
            file["t"] = {"x": x[30 * part : 30 * part + 30], "v": v[30 * part : 30 * part + 30]}
    return f"{tmp_path}/part*.root:t", x, v


def test_many_files_fill_one_histogram(parts: Any) -> None:
    files, x, _ = parts
    drawn = sapwood.draw(files, "x>>h(10,-5,20)", "x > 0", library="root")
    assert np.array_equal(drawn.values(), np.histogram(x[x > 0], 10, (-5, 20))[0])
    assert sapwood.draw(files, "v", library="root").values(flow=True).sum() == 90
    with pytest.raises(sapwood.errors.NotFoundError, match="no branch"):
        sapwood.draw(files, "nope")


def test_entries_that_pass_are_a_list_for_other_reads(parts: Any) -> None:
    files, x, v = parts
    with sapwood.open(files.replace("part*", "part0").removesuffix(":t"))["t"].file as file:
        tree = file["t"]
        passed = tree.passing("Length$(v) == 2")
        assert passed.tolist() == [n for n in range(30) if len(v[n]) == 2]
        assert np.array_equal(tree.arrays(["x"], entries=passed, library="np")["x"], x[passed])
        assert np.array_equal(tree.points("x", entries=passed)[0][0], x[passed])


@pytest.mark.parametrize("format", ["ttree", "rntuple"])
def test_a_skim_holds_what_passed_and_new_columns(parts: Any, tmp_path: Path, format: str) -> None:
    files, x, v = parts
    output = tmp_path / "skim.root"
    columns = {"x": "x", "double_x": "2*x", "v": "v", "sum_v": "Sum$(v)", "large": "v[v > 40]"}
    passed = sapwood.skim(
        files, output, columns, "x > 0 && Length$(v) > 0", tree="few", format=format, step_size=20
    )
    wanted = [n for n in range(90) if x[n] > 0 and v[n]]
    with sapwood.open(output) as file:
        found = file["few"].arrays(list(columns))
    assert passed == len(found) == len(wanted)
    assert found["double_x"].tolist() == [2 * x[n] for n in wanted]
    assert found["v"].tolist() == [v[n] for n in wanted]
    assert found["sum_v"].tolist() == [sum(v[n]) for n in wanted]
    assert found["large"].tolist() == [[one for one in v[n] if one > 40] for n in wanted]
    with pytest.raises(sapwood.errors.NotFoundError):
        sapwood.skim(files, tmp_path / "none.root", {"y": "nope"})
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *(f"part{n}.root" for n in range(3)),
        "skim.root",
    ]
    with pytest.raises(sapwood.errors.MismatchError, match="no column is named"):
        sapwood.skim(files, tmp_path / "none.root", {})


@pytest.fixture
def whole(tmp_path: Path) -> Any:
    """Whole numbers of all widths."""
    with sapwood.recreate(tmp_path / "whole.root") as file:
        file["t"] = {
            "b": np.arange(-3, 4, dtype="i1"),
            "ub": np.arange(7, dtype="u1"),
            "u": np.arange(7, dtype="i4"),
            "q": np.arange(7, dtype="u8"),
            "v": [[1, 2], [], [3], [4, 0], [], [5], [6]],
        }
    with sapwood.open(tmp_path / "whole.root") as file:
        yield file["t"]


@pytest.mark.parametrize(
    "expression",
    [
        "u > 3 ? ub : -1",
        "maximum(b, 1000)",
        "b | 1024",
        "where(u > 3, u, 3000000000)",
        "b // -1",
        "q - 5",
        "-q",
        "q * -1",
        "maximum(q, 1)",
        "abs(q)",
        "q % 3",
        "q + 1",
        "2 * q",
        "10 // (u + 1)",
    ],
)
def test_columns_hold_what_is_drawn(whole: Any, expression: str) -> None:
    (drawn,), _ = whole.points(expression)
    assert whole.arrays([expression], library="np")[expression].astype("f8").tolist() == drawn.tolist()


def test_whole_numbers_divided_by_zero_have_no_value(whole: Any) -> None:
    assert whole.points("10 % u", "u != 0")[0][0].tolist() == [10 % n for n in range(1, 7)]
    assert whole.points("u != 0 ? 10 % u : -1")[0][0].tolist() == [-1, *(10 % n for n in range(1, 7))]
    assert whole.points("10 % v[1]")[0][0].tolist() == [0]
    with pytest.raises(
        sapwood.errors.MismatchError, match="entry 0 has no value here.*divides a whole number by zero"
    ):
        whole.arrays(["10 % u"])
    assert whole.arrays(["10 % u"], "u != 0", library="np")["10 % u"].tolist() == [
        10 % n for n in range(1, 7)
    ]


def test_a_loop_of_its_own_is_no_column(whole: Any) -> None:
    with pytest.raises(sapwood.errors.MismatchError, match="Iteration"):
        whole.arrays(["v[Iteration$]"])
    assert whole.arrays(["v*0 + Iteration$"])["v*0 + Iteration$"].tolist() == [
        [0, 1],
        [],
        [0],
        [0, 1],
        [],
        [0],
        [0],
    ]


def test_aliases_cannot_grow_without_end(whole: Any) -> None:
    doubled = {"a0": "u", **{f"a{n}": f"a{n - 1} + a{n - 1}" for n in range(1, 30)}}
    with pytest.raises(sapwood.errors.LimitError, match="values of an expression and its aliases"):
        whole.points("a29", aliases=doubled)
    for text in ("@" * 19_000 + "v", "(" * 90 + "u" + ("+u" * 100 + ")") * 90, "+".join(["u"] * 5_000)):
        with pytest.raises(sapwood.errors.ExpressionError):
            whole.points(text)


@pytest.fixture
def uneven(tmp_path: Path) -> Any:
    """Lists of other lengths in each entry, numbers without sign, and what is not finite."""
    ak = pytest.importorskip("awkward")
    lists = [
        [[1, 2, 3], [4, 5]],
        [[11, 12], [13, 14], [15]],
        [[21, 22], [23, 24, 25]],
        [[31, 32, 33], [34], [35, 36]],
    ]
    with sapwood.recreate(tmp_path / "uneven.root", format="rntuple") as file:
        file["n"] = {
            "m": ak.Array(lists),
            "k": ak.Array([[0], [0, 1, 0, 1], [0, 2], [0]]),
            "q": np.array([6, 2**63 + 5, 1, 9], "u8"),
            "u": ak.values_astype(ak.Array([[], [7], [8], []]), "u8"),
            "i": np.arange(4),
            "x": np.array([np.nan, 1.0, 0.0, np.inf]),
            "v": ak.Array([[1.0, 2.0], [np.nan, 1.0], [1.0, np.nan], [3.0]]),
            "w": ak.Array([[1.0], [5.0, 0.0], [0.5, 2.0], [2.0]]),
            "items": ak.Array([[1, None, 3], [None], [], [4]]),
        }
    with sapwood.open(tmp_path / "uneven.root") as file:
        yield file["n"]


def test_items_by_position_are_those_of_their_entry(uneven: Any) -> None:
    wanted = [[1], [11, 14, 15], [21, 25], [31]]
    alone = [uneven.points("m[][k]", entry_start=n, entry_stop=n + 1)[0][0].tolist() for n in range(4)]
    assert alone == wanted
    assert uneven.points("m[][k]")[0][0].tolist() == sum(wanted, [])


@pytest.mark.parametrize(
    ("expression", "drawn"),
    [
        ("i > 0 ? q : -1", [-1, 2**63 + 5, 1, 9]),
        ("where(i > 0, q, -1)", [-1, 2**63 + 5, 1, 9]),
        ("Alt$(u[0], -1)", [-1, 7, 8, -1]),
        ("i % (2-2)", []),
        ("i // (1-1)", []),
        ("v[x]", [1, 1]),
        ("int(x)", [1, 0]),
        ("int(1e300) + i", []),
        ("max(v)", [2, 1, 1, 3]),
        ("min(v)", [1, 1, 1, 3]),
        ("argmax(v)", [1, 1, 0, 0]),
        ("max(items)", [3, 4]),
        ("count(items)", [2, 0, 0, 1]),
        ("num(items)", [3, 1, 0, 1]),
    ],
)
def test_what_has_no_value_is_no_number(uneven: Any, expression: str, drawn: list[float]) -> None:
    assert uneven.points(expression)[0][0].tolist() == [float(one) for one in drawn]


def test_rows_that_a_cut_leaves_out_do_not_decide_on_a_mask(uneven: Any) -> None:
    # The lists of entry 0 differ in length; most of the others pass, or few.
    with pytest.raises(sapwood.errors.MismatchError, match="mask"):
        uneven.points("v[w>1]")
    assert uneven.points("v[w>1]", "i == 3")[0][0].tolist() == [3]
    np.testing.assert_array_equal(uneven.points("v[w>1]", "i > 0")[0][0], [np.nan, np.nan, 3])
    assert uneven.arrays(["max(items)"])["max(items)"].tolist() == [3, None, None, 4]


def test_items_without_a_value_pass_no_cut(tmp_path: Path) -> None:
    ak = pytest.importorskip("awkward")
    lists = ak.Array([[1, 2], [0, 1], [], [3, 0]])
    with sapwood.recreate(tmp_path / "a.root") as file:
        file["t"] = {"x": np.arange(4), "idx": lists, "i": np.array([0, 1, 2, 0])}
    with sapwood.open(tmp_path / "a.root") as file:
        tree = file["t"]
        assert tree.arrays(["idx"], "10 % idx >= 1")["idx"].tolist() == [[], [], [], [3]]
        assert tree.points("idx", "10 % idx >= 1")[0][0].tolist() == [3]
        assert [row["idx"] for row in tree.scan("x:idx", "10 % idx >= 1")] == [3]
        # The cut may be asked for itself.
        assert tree.arrays(["idx*1"], "idx*1")["idx*1"].tolist() == [[1, 2], [1], [], [3]]
        # Only what is chosen has to be there.
        assert tree.arrays(["where(i == 0, -1, 10 % i)"]).tolist() == [
            {"where(i == 0, -1, 10 % i)": one} for one in (-1, 0, 0, -1)
        ]
