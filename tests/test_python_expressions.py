"""Expressions and cuts: what they may say, and that they mean what uproot means."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")
uproot = pytest.importorskip("uproot")
ak = pytest.importorskip("awkward")

from support.samples import ENTRIES  # noqa: E402


def test_expressions_and_cuts_are_those_of_uproot(tree: Any, theirs: Any) -> None:
    for expression, cut in (
        ("x + i", None),
        (["x", "sqrt(abs(x)) * 2", "i % 7"], "x > 0"),
        (["Muon_pt * Muon_charge"], "nMuon >= 2"),
        (["Muon_pt"], "Muon_pt > 20"),
        (["where(x > 0, x, -x)"], "(x > -1) & ~(i < 10)"),
        (["xyz[:, 0]"], None),
        (["i"], "i == -1"),
    ):
        ours, other = tree.arrays(expression, cut), theirs.arrays(expression, cut)
        assert ours.fields == other.fields and ours.type == other.type
        assert ours.to_list() == other.to_list()
    aliases = {"r": "sqrt(s)", "s": "x**2"}
    ours, other = tree.arrays(["r"], "s > 1", aliases=aliases), theirs.arrays(["r"], "s > 1", aliases=aliases)
    assert ak.array_equal(ours, other)
    with pytest.raises(ValueError, match="brackets"):
        tree.arrays("0 < x < 1")
    assert ak.array_equal(
        tree.arrays('get("Muon_pt") + 1')['get("Muon_pt") + 1'], tree["Muon_pt"].array() + 1
    )
    with pytest.raises(ValueError, match="needs itself"):
        tree.arrays("a", aliases={"a": "b", "b": "a"})


def test_a_branch_goes_before_an_alias_of_its_name_as_in_uproot(tree: Any, theirs: Any) -> None:
    aliases = {"x": "1000 + x"}
    with pytest.warns(sapwood.errors.NameConflictWarning, match="'x' has the name of a branch"):
        ours = tree.arrays(["x"], "x > 0", aliases=aliases)
    with pytest.warns(Warning):
        other = theirs.arrays(["x"], "x > 0", aliases=aliases)
    assert ours.x.to_list() == other.x.to_list()
    with pytest.warns(sapwood.errors.NameConflictWarning):
        assert tree.points("x*1", aliases=aliases)[0][0].tolist() == tree["x"].array(library="np").tolist()


@pytest.mark.filterwarnings("error")
def test_an_alias_goes_before_the_name_of_a_member() -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        kinds = {"v": "{pt: float32, in: {q: int32}}", "w": "float32"}
        file.mkrntuple("t", kinds).extend({"v": [{"pt": 1.5, "in": {"q": 3}}], "w": [10.0]})
    ntuple = sapwood.open(memory)["t"]
    aliases = {"pt": "w*2 + v.pt", "q": "w"}
    assert ntuple.arrays(["pt", "q", "v.pt"], "pt > 20", aliases=aliases).tolist() == [
        {"pt": 21.5, "q": 10.0, "v.pt": 1.5}
    ]
    assert ntuple.points("pt", aliases=aliases)[0][0].tolist() == [21.5]
    assert ntuple.arrays(["pt"]).tolist() == [{"pt": 1.5}]
    for name in ("w", "v.pt", "v/pt", "v.in.q"):  # these are exact
        with pytest.warns(sapwood.errors.NameConflictWarning, match="has the name of a branch"):
            found = ntuple.arrays([name], aliases={name: "100"})
        assert found[name].tolist() == ntuple[name].array().tolist()


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "x.__class__",
        "x.__class__.__mro__[1].__subclasses__()",
        "(lambda: 1)()",
        "[y for y in x]",
        "{x: 1}",
        "f'{x}'",
        "x if x else x",
        "open('/etc/passwd')",
        "eval('1')",
        "getattr(x, 'real')",
        "sqrt.__globals__",
        "x['__class__']",
        "get('x', 'y')",
        "get(x)",
        "sqrt(*x)",
        "sqrt(x=x)",
        "x := 1",
        "'text' * 1000000000",
        "x and x",
        "not x",
        "x; x",
        "import os",
        "(" * 500 + "x" + ")" * 500,
        "-" * 5000 + "x",
        "1" + "0" * 100,
        "",
    ],
)
def test_expressions_can_do_nothing_else(tree: Any, text: str) -> None:
    with pytest.raises((SyntaxError, KeyError)):
        tree.arrays(text)


def test_comparisons_beside_bit_operators_need_brackets(path: str) -> None:
    tree = sapwood.open(path)["folder/tree"]
    for cut in ("i == 3 | i == 4", "i > 1 & x", "(i == 3 | i == 4)", "i < 3 ^ i < 4"):
        with pytest.raises(ValueError, match="brackets"):
            tree.arrays(["i"], cut)
    assert tree.arrays(["i"], "(i == 3) | (i == 4)")["i"].tolist() == [3, 4]
    assert tree.arrays(["i"], "(i & 1) == 1")["i"].tolist() == list(range(1, ENTRIES, 2))
    assert tree.arrays(["i"], "i > 1 && i < 3")["i"].tolist() == [2]
    with pytest.raises(ValueError, match="filter_name"):
        tree.arrays(["i"], "i*")


def test_a_cut_on_lists_names_the_column_without() -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        file["t"] = {"l": [[1], [2, 3]], "x": [1, 2]}
    tree = sapwood.open(memory)["t"]
    for library in ("ak", "np"):
        with pytest.raises(
            sapwood.errors.MismatchError, match="cut 'l > 2' is on items of lists, and 'x' has no list"
        ):
            tree.arrays(["l", "x"], cut="l > 2", library=library)
    assert tree.arrays(["l"], cut="l > 2")["l"].tolist() == [[], [3]]


def test_an_index_beyond_an_entry_says_what_to_do() -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        file["t"] = {"v": [[1, 2], [], [3]], "x": [1.0, 2.0, 3.0], "i": [0, 0, 5]}
    tree = sapwood.open(memory)["t"]
    for text in ("v[0]", "v[:, 0]", "v[i]"):
        words = (
            f"in {text!r}: entry 1 has no value here: it has too few items.*Take a slice.*object t".replace(
                "[", r"\["
            ).replace("]", r"\]")
        )
        with pytest.raises(sapwood.errors.MismatchError, match=words.replace("'", '"')):
            tree.arrays([text])
    for text, words in (
        ("x[7]", "one value an entry: it has no items"),
        ("v['a']", 'a number has no member "a"'),
        ("v.a", 'a number has no member "a"'),
        ("v[-1]", "last item of each"),
        ("v[2:]", "the first index counts entries"),
        ("v[x > 1]", "a mask has a truth value for each item"),
    ):
        for use in (lambda: tree.arrays(["x"], text), lambda: tree.arrays([text])):
            with pytest.raises(sapwood.errors.ExpressionError, match=f"{words}.*at character"):
                use()
    # An entry without the item does not pass.
    assert tree.arrays(["x"], "v[0] > 1").x.tolist() == [3.0]
    assert tree.arrays(["Alt$(v[0], -1)"])["Alt$(v[0], -1)"].tolist() == [1, -1, 3]
    assert tree.arrays(["x"], "i == 0").x.tolist() == [1, 2]


def test_special_functions_are_exact() -> None:
    import math

    x = np.concatenate([np.linspace(-5, 30, 1000), [0.0, 1.0, 2.0, 100.5, 1e-9]])
    memory = io.BytesIO()
    with sapwood.recreate(memory) as file:
        file["t"] = {"x": x, "v": [[0.5], [], [1.5, 2.5]] + [[]] * (len(x) - 3)}
    tree = sapwood.open(memory)["t"]
    for name, exact in (
        ("erf", math.erf),
        ("erfc", math.erfc),
        ("lgamma", math.lgamma),
        ("tgamma", math.gamma),
    ):
        ours = tree.arrays([f"{name}(x)"], "(x > 0)", library="np")[f"{name}(x)"]
        theirs = np.array([exact(value) for value in x if value > 0])
        # Logarithms near their zeros have no digits of their own.
        np.testing.assert_allclose(ours, theirs, rtol=5e-15, atol=2e-15 if name == "lgamma" else 0)
    assert tree.arrays("erf(v)")["erf(v)"][:3].tolist() == [
        [math.erf(0.5)],
        [],
        [math.erf(1.5), math.erf(2.5)],
    ]
    assert tree.arrays("factorial(0*x + 5)", entry_stop=1, library="np")["factorial(0*x + 5)"].tolist() == [
        120
    ]


def test_where_c_and_python_differ_without_an_error() -> None:
    with sapwood.recreate(memory := io.BytesIO()) as file:
        file["t"] = {"k": [-3, 3, -4, 5], "x": [-1.0, 4.0, 0.0, np.nan]}
    tree = sapwood.open(memory)["t"]
    found = tree.arrays(["k%2", "k//2", "k - 2*(k//2)", "x/(k-k)"])
    assert found["k%2"].tolist() == [-1, 1, 0, 1] and found["k//2"].tolist() == [-2, 1, -2, 2]
    assert found["k - 2*(k//2)"].tolist() == [k % 2 for k in (-3, 3, -4, 5)]
    assert np.isinf(np.asarray(found["x/(k-k)"][:2])).all()
    with pytest.raises(sapwood.errors.ExpressionError, match="divides by zero"):
        tree.arrays(["x/0"])
    # What is not a number is not 0.
    assert tree.passing("sqrt(x)").tolist() == [0, 1, 3] and tree.passing("sqrt(x) > 0").tolist() == [1]
