"""Entries and fields that are added to RNTuples, of ROOT, of uproot and of our own: real ROOT reads every value."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pytest
import sapwood

from support.killed import Teller, killed_after
from support.ntuples import DUMP, HOWS, UNORDERED, rows_of
from support.rootrun import root


def dumped(path: Path, ntuple_library: Path, *names: str) -> dict[str, Any]:
    """What ROOT reads."""
    root(DUMP, ntuple_library, path, *names)
    values: dict[str, Any] = json.loads(Path(f"{path}.json").read_text())
    return {
        name: [sorted(row, key=repr) for row in rows] if name in UNORDERED else rows
        for name, rows in values.items()
    }


def sound(path: Path) -> None:
    found = sapwood.verify(path)
    assert not found and not found.damaged, [str(finding) for finding in found]


@pytest.mark.parametrize("how", HOWS)
def test_entries_follow_those_of_root(
    ntuples_made: Any, ntuple_library: Path, tmp_path: Path, how: str
) -> None:
    uproot = pytest.importorskip("uproot")
    path, values = ntuples_made(how)
    grown = tmp_path / "grown.root"
    shutil.copy(path, grown)
    source = sapwood.open(path)["all"]
    more = {name: source[name].array()[:77] for name in values}
    for before in (HOWS[how][1], HOWS[how][1] + 77):
        with sapwood.update(grown) as file, file.append("all", cluster_bytes=20_000) as ntuple:
            assert ntuple.field_names == list(values) and ntuple.num_entries == before
            ntuple.extend(more)
    sound(grown)
    ours = sapwood.open(grown)["all"]
    assert ours.num_entries == HOWS[how][1] + 2 * 77
    by_root = dumped(grown, ntuple_library)
    for name, rows in values.items():
        expected = rows + rows[:77] * 2
        assert rows_of(ours[name].array(), name) == expected, name
        assert by_root[name] == expected, name
    if how == "small keys":  # uproot does not read payloads in several records
        return
    theirs = uproot.open(grown)["all"]
    assert theirs.num_entries == ours.num_entries
    assert theirs["int32"].array().tolist() == ours["int32"].array().tolist()
    assert theirs["nested"].array().tolist() == ours["nested"].array().tolist()


@pytest.mark.parametrize("compression", ["keep", "zstd", None])
def test_pages_are_merged_into_those_of_several_records(
    ntuples_made: Any, ntuple_library: Path, tmp_path: Path, compression: str | None
) -> None:
    (path, values), (other, _), (late, _) = (
        ntuples_made("small keys"),
        ntuples_made("small pages"),
        ntuples_made("late fields"),
    )
    grown = tmp_path / "grown.root"
    shutil.copy(path, grown)
    for _ in range(2):
        sapwood.merge(grown, [other, late, path], append=True, compression=compression)
    sound(grown)
    ours, by_root = sapwood.open(grown)["all"], dumped(grown, ntuple_library)
    sources = [sapwood.open(source)["all"] for source in (other, late, path)]
    assert ours.num_entries == 300 + 2 * (300 + 200 + 300)
    for name, rows in values.items():
        added = [row for source in sources for row in rows_of(source[name].array(), name)]
        expected = rows + added * 2
        assert rows_of(ours[name].array(), name) == expected, name
        assert by_root[name] == expected, name
    strings = by_root["late_strings"]
    assert strings[:600] == [[]] * 600 and strings == ak.to_list(ours["late_strings"].array())
    # A page that no key holds is there as before: its checksum, behind it, is in the last of its keys.
    largest = max(basket[3] for branch in ours.layout()["branches"] for basket in branch["baskets"])
    assert compression == "zstd" or largest > 3000


@pytest.mark.parametrize("compression", ["zstd", None])
@pytest.mark.parametrize("cut", [False, True])
def test_clusters_in_several_records_are_recovered(
    ntuples_made: Any, ntuple_library: Path, tmp_path: Path, compression: str | None, cut: bool
) -> None:
    """The process is killed after a save and two more clusters; or the file is cut within the last of them."""
    path, values = ntuples_made("small keys")
    grown = tmp_path / "grown.root"
    shutil.copy(path, grown)
    source = sapwood.open(path)["all"]
    more = {name: source[name].array()[:150] for name in values}

    def write(teller: Teller) -> None:
        with sapwood.update(grown, compression=compression) as file:
            ntuple = file.append("all", compression=compression)
            ntuple.extend(more)
            ntuple.flush()
            file.save()
            teller.say(150, 150)
            for count in (2, 3):
                ntuple.extend(more)
                ntuple.flush()
                teller.say(150, 150 * count)
            time.sleep(60)

    assert killed_after(write, 3) == (150, 450)
    assert sapwood.open(grown)["all"].num_entries == 450
    if cut:
        with grown.open("r+b") as file:
            file.truncate(grown.stat().st_size - 5_000)
    sapwood.recover(grown)
    sound(grown)
    times = 2 if cut else 3
    ours, by_root = sapwood.open(grown)["all"], dumped(grown, ntuple_library)
    assert ours.num_entries == 300 + 150 * times
    for name, rows in values.items():
        expected = rows + rows[:150] * times
        assert rows_of(ours[name].array(), name) == expected, name
        assert by_root[name] == expected, name


FEW_BITS = """
model = ROOT.RNTupleModel.Create()
trunc, quant, half = (ROOT.RField["float"](name) for name in ("trunc", "quant", "half"))
trunc.SetTruncated(16)
quant.SetQuantized(-1., 1., 12)
half.SetHalfPrecision()
double32 = ROOT.RField["double"]("narrow")
double32.SetColumnRepresentatives([[ROOT.ROOT.ENTupleColumnType.kSplitReal32]])
lists = ROOT.RField["std::vector<std::string>"]("lists")
lists.SetColumnRepresentatives([[ROOT.ROOT.ENTupleColumnType.kIndex32]])
for field in (trunc, quant, half, double32, lists):
    model.AddField(ROOT.std.move(field.Clone(field.GetFieldName())))
writer = ROOT.RNTupleWriter.Recreate(ROOT.std.move(model), "t", sys.argv[1])
entry = writer.CreateEntry()
for k in range(10):
    for name in ("trunc", "quant", "half", "narrow"):
        entry[name] = k / 10
    entry["lists"] = ["a" * k] * (k % 3)
    writer.Fill(entry)
del writer
"""
READ = """
reader = ROOT.RNTupleReader.Open("t", sys.argv[1])
entry = reader.CreateEntry()
rows = []
for k in range(reader.GetNEntries()):
    reader.LoadEntry(k, entry)
    row = {name: entry[name] for name in ("trunc", "quant", "half", "narrow")}
    rows.append(row | {"lists": [str(text) for text in entry["lists"]]})
answer(rows)
"""


def test_values_get_the_bits_that_their_columns_have(tmp_path: Path) -> None:
    path = tmp_path / "bits.root"
    root(FEW_BITS, path)
    first = sapwood.open(path)["t"].arrays().tolist()
    with sapwood.update(path) as file, file.append("t") as ntuple:
        numbers = np.arange(10) / 10
        rows = {name: numbers.astype("f4") for name in ("trunc", "quant", "half")}
        rows |= {"narrow": numbers, "lists": [["a" * k] * (k % 3) for k in range(10)]}
        with pytest.raises(sapwood.errors.MismatchError, match="1.5 is not between -1 and 1"):
            ntuple.extend(rows | {"quant": numbers.astype("f4") + 1.5})
        ntuple.extend(rows)
    sound(path)
    assert sapwood.open(path)["t"].arrays().tolist() == first * 2
    assert root(READ, path) == first * 2


def test_late_fields_of_each_kind(ntuple_library: Path, tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    path = tmp_path / "late.root"
    late = {
        "int64": np.arange(5) - 2,
        "string": ["a", "", "bc", "d", ""],
        "strings": [["x"], [], ["", "yz"], [], ["w"]],
        "optional": [0.5, None, 2.5, None, 4.5],
        "array": np.arange(15, dtype="f4").reshape(5, 3),
        "record": [{"n": k, "v": [k] * k} for k in range(5)],
    }
    absent = {"int64": 0, "string": "", "strings": [], "optional": None, "array": [0, 0, 0]}
    absent["record"] = {"n": 0, "v": []}
    types = {
        "int64": "int64", "string": "string", "strings": "var * string", "optional": "?float64",
        "array": "3 * float32", "record": "{n: int64, v: var * int64}",
    }  # fmt: skip
    with sapwood.recreate(path) as file, file.mkrntuple("all", {"int32": "int32"}) as ntuple:
        ntuple.extend({"int32": range(7)})
        ntuple.add_fields(
            {name: types[name] for name in ("int64", "string", "strings")}, compression={"int64": None}
        )
        assert ntuple.field_names == ["int32", "int64", "string", "strings"]
        ntuple.extend({"int32": range(5), **{name: late[name] for name in ("int64", "string", "strings")}})
        ntuple.add_fields({name: types[name] for name in ("optional", "array", "record")})
        with pytest.raises(sapwood.errors.MismatchError, match="given no values"):
            ntuple.extend({"int32": range(5)})
        with pytest.raises(sapwood.errors.ExistsError, match="'array'|\"array\""):
            ntuple.add_fields({"array": "int8"})
        ntuple.extend({"int32": range(5), **late})
    with sapwood.update(path) as file, file.append("all") as ntuple:
        ntuple.extend({"int32": range(5), **late})
        ntuple.add_fields({"double": "float64"})
        ntuple.extend({"int32": range(5), **late, "double": np.ones(5)})
    sound(path)
    plain = {name: ak.Array(values).tolist() for name, values in late.items()}
    expected = {"int32": [*range(7), *list(range(5)) * 4]}
    for name in plain:
        is_first = name in ("int64", "string", "strings")
        times = (7, 4) if is_first else (12, 3)
        expected[name] = [absent[name]] * times[0] + plain[name] * times[1]
    expected["double"] = [0.0] * 22 + [1.0] * 5
    ours, theirs = sapwood.open(path)["all"], uproot.open(path)["all"]
    by_root = dumped(path, ntuple_library, *(name for name in expected if name != "record"))
    for name, rows in expected.items():
        assert ours[name].array().tolist() == rows, name
        assert ours[name].array(entry_start=3, entry_stop=21).tolist() == rows[3:21], name
        assert theirs.arrays([name])[name].tolist() == rows, name
        if name != "record":
            assert by_root[name] == rows, name


def test_what_uproot_wrote_is_added_to(ntuple_library: Path, tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    path = tmp_path / "uproot.root"
    data = {"int32": np.arange(50, dtype="i4"), "vector": ak.Array([[k] * (k % 4) for k in range(50)])}
    with uproot.recreate(path) as file:
        file.mkrntuple("all", data)
    with sapwood.update(path) as file, file.append("all", compression="lz4:4") as ntuple:
        ntuple.extend(data)
    sound(path)
    by_root = dumped(path, ntuple_library, *data)
    for name, values in data.items():
        rows = ak.Array(values).tolist() * 2
        assert sapwood.open(path)["all"][name].array().tolist() == rows
        assert uproot.open(path)["all"].arrays([name])[name].tolist() == rows
        assert by_root[name] == rows


def test_what_cannot_be_added_to_says_why(tmp_path: Path) -> None:
    path = tmp_path / "new.root"
    with sapwood.recreate(path) as file:
        file.mkrntuple("t", {"x": [1, 2]}).close()
        with pytest.raises(sapwood.errors.MismatchError, match="only files that are updated"):
            file.append("t")
    with sapwood.update(path) as file:
        ntuple = file.append("t")
        with pytest.raises(sapwood.errors.MismatchError, match="takes int64, and was given string"):
            ntuple.extend({"x": ["a"]})
        with pytest.raises(sapwood.errors.MismatchError, match="since the file was opened"):
            file.append("t")
        with pytest.raises(sapwood.errors.NotFoundError):
            file.append("other")
    assert sapwood.open(path)["t/x"].array().tolist() == [1, 2]
    with sapwood.update(path) as file, pytest.raises(sapwood.errors.MismatchError, match="a number of bytes"):
        file.append("t", auto_save=1000)
