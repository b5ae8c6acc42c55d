"""Numbers of narrower types that are merged into a tree with wider ones: every value is kept, and real ROOT reads it."""

from __future__ import annotations

import itertools
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.rootrun import root

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")

MAKE = """
from array import array
def make(path, first, entries, types, flush, embedded=False, compression=101):
    file = ROOT.TFile(path, "RECREATE", "", compression)
    tree = ROOT.TTree("t", "numbers")
    tree.SetAutoFlush(flush)
    if embedded:
        tree.SetDirectory(ROOT.nullptr)
    codes = {"B": "b", "b": "B", "S": "h", "s": "H", "I": "i", "i": "I", "L": "q", "l": "Q", "F": "f", "D": "d", "O": "b"}
    x, n, y, a, u, o = (array(codes[code], [0] * 20) for code in types)
    for name, memory, shape, code in zip("xnyauo", (x, n, y, a, u, o), ("", "", "[n]", "[3]", "", ""), types):
        tree.Branch(name, memory, f"{name}{shape}/{code}")
    for i in range(first, first + entries):
        x[0], n[0], u[0], o[0] = 0.1 * i, i % 7, i % 250, i % 2
        for k in range(n[0]):
            y[k] = 0.1 * (i + k)
        for k in range(3):
            a[k] = (-1) ** i * (i + k)
        tree.Fill()
    file.WriteTObject(tree)
    file.Close()
make(sys.argv[1] + "/wide.root", 0, 1000, "DIDLSI", 100)
make(sys.argv[1] + "/narrow.root", 1000, 1037, "FSFIbO", 130)
make(sys.argv[1] + "/embedded.root", 2037, 20, "FBFSbO", 100, embedded=True)
make(sys.argv[1] + "/raw.root", 2057, 400, "FIDSbB", 10, compression=0)
"""

READ = """
def whole(value):
    return ord(value) if isinstance(value, str) else int(value)
def rows(path):
    file = ROOT.TFile.Open(path)
    tree = file.Get("t")
    return [[e.x, whole(e.n), list(e.y), list(e.a), whole(e.u), whole(e.o)] for e in tree], [tree.GetTotBytes(), tree.GetZipBytes()]
answer([rows(path) for path in sys.argv[1:]])
"""


def baskets(path: Path) -> list[tuple[int, int]]:
    """Bytes of each basket before and after compression, key included, as the records of the file say."""
    content, found = path.read_bytes(), []
    at, end = 100, int.from_bytes(content[12:16], "big")
    while at < end:
        nbytes, version, objlen, _, keylen = struct.unpack_from(">ihiIh", content, at)
        name = at + (34 if version > 1000 else 26)
        if content[name : name + 8] == b"\x07TBasket":
            found.append((objlen + keylen, nbytes))
        at += abs(nbytes)
    return found


@pytest.mark.parametrize("compression", ["keep", "zstd:1"])
def test_narrower_numbers_become_wider(tmp_path: Path, compression: str) -> None:
    root(MAKE + "answer(0)", tmp_path)
    inputs = [tmp_path / f"{name}.root" for name in ("wide", "narrow", "embedded", "raw")]
    out = tmp_path / "out.root"
    merged = sapwood.merge(out, inputs, compression=compression)
    tree = merged.trees["t"]
    assert tree.level == "re-encode" and tree.entries == 2457 and tree.reencoded["num_baskets"] > 0
    assert tree.copied["num_baskets"] > 0 or compression != "keep"
    assert f"t/x is widened from float32 in {inputs[1]} to float64" in merged.notices
    answers = root(READ, *inputs, out)
    wanted = sum((rows for rows, _ in answers[:-1]), [])
    assert answers[-1][0] == wanted
    assert not sapwood.verify(out)
    with sapwood.open(out) as file:
        branches = {branch.name: branch for branch in file["t"].branches}
        assert [branches[name].typename for name in "xnyauo"] == [
            "double",
            "int32_t",
            "double[]",
            "int64_t[3]",
            "int16_t",
            "int32_t",
        ]
    assert (
        answers[-1][1] == [tree.tot_bytes, tree.zip_bytes] == [sum(column) for column in zip(*baskets(out))]
    )


def written(path: Path, kind: str, values: Any = (1, 2)) -> Path:
    with sapwood.recreate(path) as file:
        file.mktree("t", {"x": kind}).extend({"x": np.asarray(values)})
    return path


def test_a_type_holds_the_numbers_of_all_inputs(tmp_path: Path) -> None:
    outputs: dict[Path, tuple[list[float], str]] = {}
    limits: dict[str, list[Any]] = {"f4": [1.5, -3.4e38], "f8": [1e-300, 5.5], "?": [True, False]}
    for kinds, wanted in [
        (["i4", "i8"], "int64_t"), (["f4", "f8"], "double"), (["f4", "i4"], "double"),
        (["u4", "i4"], "int64_t"),
        (["u2", "i4"], "int32_t"), (["i1", "u1"], "int16_t"), (["?", "u1", "i1", "u4"], "int64_t"),
        (["i1", "i2", "u4", "f4"], "double"),
    ]:  # fmt: skip
        inputs, expected = [], []
        for index, kind in enumerate(kinds):
            info = np.iinfo(kind) if kind not in limits else None
            values = limits[kind] if info is None else [int(info.min), int(info.max)]
            inputs.append(written(tmp_path / f"{index}.root", kind, np.array(values, kind)))
            expected += np.array(values, kind).tolist()
        out = tmp_path / f"{'_'.join(kinds).replace('?', 'bool')}.root"
        merged = sapwood.merge(out, inputs)
        assert merged.trees["t"].entries == 2 * len(kinds)
        widened = [notice for notice in merged.notices if notice.startswith("t/x is widened from ")]
        assert len(widened) == 1 and not sapwood.verify(out), merged.notices
        with sapwood.open(out) as file:
            assert file["t/x"].typename == wanted, kinds
            assert file["t/x"].array().tolist() == expected
        title = {"int64_t": "x/L", "int32_t": "x/I", "int16_t": "x/S", "double": "x/D"}[wanted]
        outputs[out] = [float(value) for value in expected], title
    assert root(VALUES, *outputs) == [list(wanted) for wanted in outputs.values()]


@pytest.mark.parametrize(
    ("kinds", "wanted"),
    [
        (["i4", "u4", "f4"], "double"), (["i1", "u2", "f4"], "float"), (["i1", "i2", "i4", "u4"], "int64_t"),
        (["i2", "u4", "f8"], "double"), (["?", "u1", "u2"], "uint16_t"), (["u4", "u8"], "uint64_t"),
    ],
)  # fmt: skip
def test_the_type_does_not_depend_on_the_order_of_inputs(
    tmp_path: Path, kinds: list[str], wanted: str
) -> None:
    inputs = {kind: written(tmp_path / f"{number}.root", kind, np.array([0, 1], kind))
              for number, kind in enumerate(kinds)}  # fmt: skip
    for order in itertools.permutations(kinds):
        sapwood.merge(tmp_path / "all.root", [inputs[kind] for kind in order], skip=True)
        with sapwood.open(tmp_path / "all.root") as file:
            assert (file["t/x"].typename, file["t"].num_entries) == (wanted, 2 * len(kinds)), order


VALUES = """
def of(path):
    file = ROOT.TFile.Open(path)
    tree = file.Get("t")
    values = [float(value) for value in ROOT.RDataFrame(tree).AsNumpy(["x"])["x"]]
    assert values == [float(entry.x) for entry in tree]
    return [values, tree.GetBranch("x").GetTitle()]
answer([of(path) for path in sys.argv[1:]])
"""


COUNTED = """
from array import array
def make(path, code, kind, wide):
    file = ROOT.TFile(path, "RECREATE")
    tree = ROOT.TTree("t", "lists")
    n, y, z = array(kind, [0]), array("d" if wide else "f", [0] * 300), array("i", [0] * 300)
    # The leaf that counts comes after a list, and so is defined in that.
    tree.Branch("n", n, f"n/{code}")
    tree.Branch("y", y, f"y[n]/{'D' if wide else 'F'}")
    tree.Branch("z", z, "z[n]/I")
    tree.SetAutoFlush(3)
    for length in (0, 3, 120, 1, 100 if kind in "bB" else 200):
        n[0] = length
        for item in range(length):
            y[item], z[item] = item + 0.5, length
        tree.Fill()
    tree.Write()
    file.Close()
for number, argument in enumerate(sys.argv[1:]):
    path, code, kind = argument.rsplit("|", 2)
    make(path, code, kind, number == 1)
answer(0)
"""


@pytest.mark.parametrize(("codes", "counter"), [
    (["B|b", "b|B"], "int16_t"), (["b|B", "B|b"], "int16_t"), (["S|h", "s|H"], "int32_t"),
    (["b|B", "I|i", "B|b"], "int32_t"), (["s|H", "l|L"], "uint64_t"),
])  # fmt: skip
def test_counters_of_every_sign_and_width_are_merged(tmp_path: Path, codes: list[str], counter: str) -> None:
    inputs = [tmp_path / f"{index}.root" for index in range(len(codes))]
    root(COUNTED, *[f"{path}|{code}" for path, code in zip(inputs, codes)])
    out = tmp_path / "out.root"
    sapwood.merge(out, inputs)
    assert not sapwood.verify(out)
    apart = [sapwood.open(path)["t"].arrays(["y", "z"]).to_list() for path in inputs]
    with sapwood.open(out) as file:
        assert file["t/n"].typename == counter and file["t/y"].typename == "double[]"
        assert file["t"].arrays(["y", "z"]).to_list() == sum(apart, [])
    assert root(LISTS, out) == [entry["y"] for entry in sum(apart, [])]


def test_wider_types_need_an_output_that_begins_new(tmp_path: Path) -> None:
    narrow, wide = written(tmp_path / "narrow.root", "i4"), written(tmp_path / "wide.root", "i8")
    out = written(tmp_path / "out.root", "i4")
    before = out.read_bytes()
    with pytest.raises(sapwood.errors.MismatchError, match=r"wide\.root, object t/x") as error:
        sapwood.merge(out, [narrow, wide], append=True)
    assert "merge into a new file" in str(error.value)
    assert out.read_bytes() == before


def test_an_input_that_is_skipped_widens_nothing(tmp_path: Path) -> None:
    inputs, out = [tmp_path / "first.root", tmp_path / "other.root"], tmp_path / "out.root"
    for path, kind, second in zip(inputs, ("i4", "i8"), ("x", "y")):
        with sapwood.recreate(path) as file:
            for name, branch in (("t", "x"), ("u", second)):
                file.mktree(name, {branch: kind}).extend({branch: [1, 2]})
    with pytest.raises(sapwood.errors.MismatchError, match=r"other\.root.*object u/x"):
        sapwood.merge(out, inputs)
    with pytest.warns(UserWarning, match="left out"):
        merged = sapwood.merge(out, inputs, skip=True)
    assert merged.trees["t"].entries == 2 and merged.notices == []
    assert sapwood.open(out)["t/x"].typename == "int32_t"


def test_an_input_that_is_skipped_for_another_object_widens_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out.root"
    inputs = [tmp_path / f"{name}.root" for name in ("first", "other", "last")]
    for path, kind in zip(inputs, ("i4", "i8", "i4")):
        with sapwood.recreate(path) as file:
            file.mktree("t", {"x": kind}).extend({"x": [1, 2]})
            names = ["y"] if path.stem == "other" else ["y", "z"]
            file.mkrntuple("n", {name: "i4" for name in names}).extend({name: [1, 2] for name in names})
    with pytest.warns(UserWarning, match="left out"):
        merged = sapwood.merge(out, inputs, skip=True)
    assert merged.trees["t"].entries == 4 and merged.notices == []
    with sapwood.open(out) as file:
        assert file["t/x"].typename == "int32_t" and file["n"].num_entries == 4


def test_what_would_lose_values_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out.root"
    for first, second in [("i8", "f8"), ("u8", "i8"), ("f8", "u8")]:
        inputs = [written(tmp_path / "first.root", first), written(tmp_path / "second.root", second)]
        with pytest.raises(sapwood.errors.MismatchError, match=r"second\.root, object t/x") as error:
            sapwood.merge(out, inputs)
        assert "merge into a new file" not in str(error.value)
        assert not out.exists()


LISTS = """
file = ROOT.TFile.Open(sys.argv[1])
answer([list(entry.y) for entry in file.Get("t")])
"""

LEFT_OUT = """
from array import array
def make(path, first, features, code="D", memory="d", count="I", counts="i"):
    file = ROOT.TFile(path, "RECREATE")
    tree = ROOT.TTree("t", "lists")
    if features:
        how = ROOT.TIOFeatures()
        how.Set("kGenerateOffsetMap")
        tree.SetIOFeatures(how)
    n, y = array(counts, [0]), array(memory, 300 * [0])
    tree.Branch("n", n, "n/" + count)
    tree.Branch("y", y, "y[n]/" + code)
    for i in range(first, first + 50):
        n[0] = i % 4 if counts == "i" else 150 + i
        for k in range(n[0]):
            y[k] = i + k
        tree.Fill()
    tree.Write()
    file.Close()
make(sys.argv[1] + "/left0.root", 0, True)
make(sys.argv[1] + "/left1.root", 50, True)
make(sys.argv[1] + "/narrow.root", 100, True, "F", "f")
make(sys.argv[1] + "/stored.root", 150, False)
ROOT.gErrorIgnoreLevel = ROOT.kFatal  # it complains of its own maximum
make(sys.argv[1] + "/bytes.root", 0, False, "D", "d", "b", "B")
answer(0)
"""


def test_offsets_that_are_left_out(tmp_path: Path) -> None:
    """Baskets without offsets (``kGenerateOffsetMap``) go on where all are such; ROOT would mistake them for others, and others for them."""
    root(LEFT_OUT, tmp_path)
    left0, left1, narrow, stored = (
        tmp_path / f"{name}.root" for name in ("left0", "left1", "narrow", "stored")
    )
    out = tmp_path / "out.root"
    merged = sapwood.merge(out, [left0, left1, narrow])
    assert merged.trees["t"].reencoded["num_baskets"] == 1
    wanted = [[float(i + k) for k in range(i % 4)] for i in range(150)]
    assert root(LISTS, out) == wanted == sapwood.open(out)["t/y"].array().tolist() and not sapwood.verify(out)
    sapwood.merge(out, [left1], append=True)
    assert root(LISTS, out) == wanted + wanted[50:100]
    for inputs in ([left0, stored], [stored, left0], [stored, narrow]):
        with pytest.raises(
            sapwood.errors.MismatchError, match=r"offsets are.*left out \(fIOBits\).*object t/y"
        ):
            sapwood.merge(tmp_path / "no.root", inputs)
    with sapwood.recreate(tmp_path / "parallel.root") as file:
        tree = file.parallel_tree("t", {"y": "var * float64"}, counter_name=lambda name: "n")
        with pytest.raises(sapwood.errors.MismatchError, match=r"offsets are left out.*fIOBits"):
            tree.adopt(left0)


def test_a_counter_that_becomes_wider_knows_its_largest(tmp_path: Path) -> None:
    """ROOT takes unsigned bytes for signed ones when it looks for the largest, and cuts lists that are longer."""
    root(LEFT_OUT, tmp_path)
    out = tmp_path / "out.root"
    sapwood.merge(out, [tmp_path / "stored.root", tmp_path / "bytes.root"])
    assert [len(y) for y in root(LISTS, out)] == [i % 4 for i in range(150, 200)] + list(range(150, 200))
    assert not sapwood.verify(out)


def test_numbers_that_are_not_whole_are_damage(tmp_path: Path) -> None:
    for name, kind in (("wide", "i8"), ("narrow", "i2")):
        with sapwood.recreate(tmp_path / f"{name}.root", compression=None) as file:
            file.mktree("t", {"x": kind}).extend({"x": np.arange(4, dtype=kind)})
    narrow = bytearray((tmp_path / "narrow.root").read_bytes())
    at = narrow.index(b"\x07TBasket") - 34
    keylen = int.from_bytes(narrow[at + 14 : at + 16], "big")
    for word, less in ((at + 6, 1), (at + keylen - 5, 1)):  # fObjlen, fLast
        narrow[word : word + 4] = (int.from_bytes(narrow[word : word + 4], "big") - less).to_bytes(4, "big")
    (tmp_path / "narrow.root").write_bytes(narrow)
    with pytest.raises(
        sapwood.errors.MalformedError, match=r"not as long as its numbers.*narrow\.root, object t/x"
    ):
        sapwood.merge(tmp_path / "out.root", [tmp_path / "wide.root", tmp_path / "narrow.root"])


def test_damage_is_met(tmp_path: Path) -> None:
    """Offsets that lie, in a basket that has to be widened."""
    with sapwood.recreate(tmp_path / "wide.root") as file:
        file.mktree("t", {"y": "var * float64"}).extend({"y": ak.Array([[1.0], []])})
    narrow = tmp_path / "narrow.root"
    with sapwood.recreate(narrow, compression=None) as file:
        file.mktree("t", {"y": "var * float32"}).extend({"y": ak.Array([[1.5, 2.5], [3.5]])})
    sapwood.merge(tmp_path / "out.root", [tmp_path / "wide.root", narrow])
    assert sapwood.open(tmp_path / "out.root")["t/y"].array().tolist() == [[1.0], [], [1.5, 2.5], [3.5]]
    assert root(LISTS, tmp_path / "out.root") == [[1.0], [], [1.5, 2.5], [3.5]]
    good = narrow.read_bytes()
    at = good.index(np.array([1.5, 2.5, 3.5], ">f4").tobytes()) + 12
    count = int.from_bytes(good[at : at + 4], "big")
    assert 2 <= count <= 3
    for offset in (1, 2**32 - 1, 2**31):
        damaged = good[: at + 8] + offset.to_bytes(4, "big") + good[at + 12 :]
        narrow.write_bytes(damaged)
        with pytest.raises(
            sapwood.errors.MalformedError, match=r"offsets of a basket.*narrow\.root, object t/y"
        ):
            sapwood.merge(tmp_path / "bad.root", [tmp_path / "wide.root", narrow])
        assert not (tmp_path / "bad.root").exists()
