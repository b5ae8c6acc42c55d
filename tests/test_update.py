"""Files that are there, made by real ROOT or by us, and changed in place: real ROOT reads them without a word."""

from __future__ import annotations

import io
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.rootrun import root

sapwood = pytest.importorskip("sapwood")

MAKE = """
ROOT.gInterpreter.Declare("struct Plain { int i = 3; double d = 0.5; std::vector<float> v{1, 2}; };")
file = ROOT.TFile(sys.argv[1], "RECREATE")
for name in ("a", "b"):
    folder = file.mkdir(name)
    folder.cd()
    for i in range(3):
        h = ROOT.TH1D(f"h{i}", "a histogram", 10, 0, 1)
        h.Fill(0.05 + i / 10)
        h.Write()
    folder.mkdir("deep").cd()
    ROOT.TNamed("inner", name).Write()
file.cd()
ROOT.TNamed("note", "first").Write()
ROOT.TNamed("note", "second").Write()
tree = ROOT.TTree("tree", "of ROOT")
plain, x = ROOT.Plain(), ROOT.std.vector("double")()
tree.Branch("plain", plain)
tree.Branch("x", x)
for i in range(500):
    plain.i = i
    x.clear()
    for k in range(i % 4):
        x.push_back(i + k / 8)
    tree.Fill()
tree.Write()
file.Close()
"""

LOOK = """
def look(folder):
    found = {}
    for key in folder.GetListOfKeys():
        thing = key.ReadObj()
        name = f"{key.GetName()};{key.GetCycle()}"
        if thing.InheritsFrom("TDirectory"):
            found[key.GetName()] = look(thing)
        elif thing.InheritsFrom("TTree"):
            found[name] = sum(thing.GetEntry(i) > 0 for i in range(thing.GetEntries()))
        elif thing.InheritsFrom("TH1"):
            found[name] = [thing.GetBinContent(i) for i in range(12)]
        else:
            found[name] = str(thing.GetTitle() if thing.InheritsFrom("TNamed") else thing.GetString())
    return found
file = ROOT.TFile(sys.argv[1])
assert not file.IsZombie() and not file.TestBit(ROOT.TFile.kRecovered)
answer(look(file))
"""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("update") / "original.root"
    root(MAKE, path)
    return path.read_bytes()


@pytest.fixture
def path(tmp_path: Path, original: bytes) -> Path:
    path = tmp_path / "file.root"
    path.write_bytes(original)
    return path


def test_files_of_root_are_updated(path: Path) -> None:
    before = root(LOOK, path)
    with sapwood.update(path) as file:
        file["note"] = "third"
        file["a/deep/more"] = "text"
        file["c/d/tree"] = {"y": np.arange(1000.0), "z": [[1, 2], [3]] * 500}
        del file["b/h1"]
        del file["a/h0;1"]
    after = root(LOOK, path)
    assert after["note;3"] == "third" and after["c"] == {"d": {"tree;1": 1000}}
    assert after["a"]["deep"] == {"inner;1": "a", "more;1": "text"}
    assert set(after["b"]) == {"h0;1", "h2;1", "deep"} and set(after["a"]) == {"h1;1", "h2;1", "deep"}
    assert (
        after["note;1"] == "first"
        and after["note;2"] == "second"
        and after["tree;1"] == before["tree;1"] == 500
    )
    assert after["b"]["h2;1"] == before["b"]["h2;1"]
    with sapwood.open(path) as file:
        assert file["tree/x"].array()[7].tolist() == [7, 7.125, 7.25]
        assert file["c/d/tree/y"].array(library="np").tolist() == np.arange(1000.0).tolist()


def test_root_and_we_take_turns(path: Path) -> None:
    for turn in range(3):
        with sapwood.update(path, compression="zstd:5") as file:
            file[f"ours{turn}"] = {"x": np.arange(100 * (turn + 1))}
            if turn:
                del file[f"ours{turn - 1}"]
        root(
            """
file = ROOT.TFile(sys.argv[1], "UPDATE")
file.Delete("note;*")
ROOT.TNamed("note", "turn " + sys.argv[2]).Write()
h = ROOT.TH1F("big" + sys.argv[2], "", 1000, 0, 1)
h.Write()
file.Close()
""",
            path,
            turn,
        )
    found = root(LOOK, path)
    assert found["note;1"] == "turn 2" and found["ours2;1"] == 300 and "ours1;1" not in found
    assert {"big0;1", "big1;1", "big2;1", "tree;1"} <= set(found)


def test_classes_and_rules_that_we_do_not_know_stay(path: Path) -> None:
    lines = """
file = ROOT.TFile(sys.argv[1])
infos = file.GetStreamerInfoList()
answer(sorted([info.GetName(), info.GetClassVersion(), info.GetCheckSum()] for info in infos if info.ClassName() == "TStreamerInfo"))
"""
    before = root(lines, path)
    with sapwood.update(path) as file:
        file["a/text"] = "TObjString is new here"
    after = root(lines, path)
    assert [*sorted([*before, *[info for info in after if info[0] == "TObjString"]])] == after


def test_a_directory_goes_with_all_below_it(path: Path) -> None:
    size = path.stat().st_size
    with sapwood.update(path) as file:
        del file["a"]
        with pytest.raises(KeyError, match="deep"):
            del file["a/deep"]
    assert "a" not in root(LOOK, path)
    with sapwood.update(path) as file:
        file["a/h0"] = "x" * 300
    assert path.stat().st_size < size + 8000  # the list of classes is written again
    assert root(LOOK, path)["a"] == {"h0;1": "x" * 300}


def test_room_is_used_again(tmp_path: Path) -> None:
    path, sizes = tmp_path / "file.root", []
    rng = np.random.default_rng(1)
    with sapwood.recreate(path) as file:
        file["keep"] = {"x": np.arange(10)}
    for _ in range(12):
        with sapwood.update(path, compression=None) as file:
            for name in "abc":
                file[name] = rng.bytes(1500).hex()
        with sapwood.update(path) as file:
            for name in "abc":
                del file[name]
        sizes.append(path.stat().st_size)
    assert max(sizes) < sizes[1] + 2000, sizes
    assert root(LOOK, path) == {"keep;1": 10}


def test_trees_give_their_baskets_back_with_the_last_cycle(path: Path) -> None:
    def free() -> int:
        return sum(size for _, size in sapwood_gaps(path))

    with sapwood.update(path) as file:
        file["big"] = {"x": np.random.default_rng(2).random(50_000)}
    before = free()
    with sapwood.update(path) as file:
        del file["big"]
    assert free() > before + 300_000
    assert root(LOOK, path)["tree;1"] == 500


def sapwood_gaps(path: Path) -> list[tuple[int, int]]:
    """Gaps that are marked, found by walking the records."""
    content = path.read_bytes()
    (begin, end) = struct.unpack(">ii", content[8:16])
    at, found = begin, []
    while at < end:
        (nbytes,) = struct.unpack(">i", content[at : at + 4])
        assert nbytes != 0, f"nothing stands at {at}"
        if nbytes < 0:
            found.append((at, -nbytes))
        at += abs(nbytes)
    assert at == end
    return found


def test_offsets_of_64_bits(tmp_path: Path) -> None:
    """A file above 2 GB, most of it a gap without bytes on the disk."""
    path = tmp_path / "big.root"
    with sapwood.recreate(path) as file:
        file["small"] = {"x": np.arange(10)}
    content = bytearray(path.read_bytes())
    end, size = len(content), 2_500_000_000
    (seek_free, nbytes_free) = struct.unpack(">ii", content[16:24])
    # The gap is not in the list of free segments: what comes next goes behind it.
    content[12:16] = struct.pack(">i", 1_999_999_000)
    segment = struct.pack(">hII", 1, 1_999_999_000, 2_000_000_000)
    at = seek_free + nbytes_free - 10
    content[at : at + 10] = segment
    content += struct.pack(">i", -(1_999_999_000 - end))
    path.write_bytes(content)
    os.truncate(path, 1_999_999_000)
    for step in range(4):
        with sapwood.update(path, compression=None) as file:
            file[f"folder{step}/tree"] = {
                "x": np.arange(1000) + step,
                "y": [[1.5] * (i % 3) for i in range(1000)],
            }
            file[f"folder{step}/text"] = "behind 2 GB"
            if step:
                file["folder0/more"] = f"step {step}"
    assert 2_000_000_000 < path.stat().st_size < size
    found = root(LOOK, path)
    assert found["small;1"] == 10 and found["folder0"]["more;3"] == "step 3"
    assert [found[f"folder{step}"] | {} for step in (1, 2, 3)] == [
        {"tree;1": 1000, "text;1": "behind 2 GB"}
    ] * 3
    with sapwood.open(path) as file:
        assert file["folder3/tree/x"].array(library="np").tolist() == list(range(3, 1003))


def test_what_cannot_be_updated_says_why(path: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sapwood.update(tmp_path / "nothing.root")
    (tmp_path / "text.root").write_text("no ROOT file, but long enough to be read as one" * 10)
    with pytest.raises(sapwood.errors.MalformedError, match="not a ROOT file"):
        sapwood.update(tmp_path / "text.root")
    with sapwood.update(path) as file:
        with pytest.raises(OSError, match="another writer"):
            sapwood.update(path)
        with pytest.raises(OSError, match="another writer"):
            sapwood.recreate(path)
        with pytest.raises(KeyError, match="nothing"):
            del file["nothing"]
        with pytest.raises(OSError, match="no directory"):
            file["note/x"] = "text"
        tree = file.mktree("open", {"x": "f4"})
        del file["open"]  # which ends it
        with pytest.raises(ValueError, match="closed"):
            tree.extend({"x": [1.0]})
        with pytest.raises(TypeError):
            sapwood.update(3)
    content = path.read_bytes()
    path.write_bytes(content + b"\0" * 100)
    with pytest.raises(sapwood.errors.MalformedError, match="not closed") as caught:
        sapwood.update(path)
    assert caught.value.found == caught.value.expected + 100
    path.write_bytes(content[:-10])
    with pytest.raises(sapwood.errors.MalformedError):
        sapwood.update(path)
    assert path.read_bytes() == content[:-10]


def test_commands(path: Path) -> None:
    def sapwood_command(*arguments: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "sapwood", *map(str, arguments)], capture_output=True, text=True
        )

    done = sapwood_command("rm", f"{path}:a")
    assert done.returncode == 1 and "-r" in done.stderr
    assert sapwood_command("rm", f"{path}:b/h0", f"{path}:nothing").returncode == 1
    assert "h0;1" in root(LOOK, path)["b"], "nothing goes where one is missing"
    assert (
        sapwood_command(
            "rm", "-rf", f"{path}:b/h0", f"{path}:nothing", f"{path}:a", f"{path}:note;1"
        ).returncode
        == 0
    )
    assert sapwood_command("mkdir", f"{path}:new/deep").returncode == 0
    found = root(LOOK, path)
    assert (
        "h0;1" not in found["b"]
        and "a" not in found
        and "note;1" not in found
        and found["new"] == {"deep": {}}
    )


COPY = """
def look(folder):
    found = {}
    for key in folder.GetListOfKeys():
        thing = key.ReadObj()
        if thing.InheritsFrom("TDirectory"):
            found[key.GetName()] = look(thing)
        elif thing.InheritsFrom("TTree"):
            found[key.GetName()] = [thing.GetEntries(), thing.GetName(), thing.Draw("x", "", "goff"), sum(thing.GetEntry(i) > 0 for i in range(thing.GetEntries()))]
        else:
            found[key.GetName()] = [thing.ClassName(), str(thing.GetName()), key.GetCycle()]
    return found
answer(look(ROOT.TFile(sys.argv[1])))
"""


def test_objects_and_trees_are_copied_as_they_are(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "target.root"
    with sapwood.recreate(target) as file:
        file["own"] = "text"
        file.copy(path, "tree")
        file.copy(path, "tree", "again/other name")
        file.copy(path, "a", "b/c")
        file.copy(path, "note;1", "renamed")
        with sapwood.open(path) as source:
            file.copy(source, "b/h1")
        with pytest.raises(KeyError):
            file.copy(path, "nothing")
    found = root(COPY, target)
    assert found["tree"] == [500, "tree", 750, 500]
    assert found["again"]["other name"] == [500, "other name", 750, 500]
    assert found["b"]["c"]["h1"] == ["TH1D", "h1", 1] and found["b"]["c"]["deep"]["inner"][0] == "TNamed"
    assert found["renamed"] == ["TNamed", "renamed", 1] and found["b"]["h1"] == ["TH1D", "h1", 1]
    with sapwood.open(path) as before, sapwood.open(target) as after:
        for name in ("tree", "again/other name"):
            assert after[name]["x"].array().tolist() == before["tree/x"].array().tolist()
            assert after[name]["i"].array().tolist() == list(range(500))
    assert sapwood.verify(target) == []


def test_objects_are_moved(path: Path) -> None:
    size = path.stat().st_size
    with sapwood.update(path) as file:
        file.rename("tree", "deeper/moved")
        file.rename("a", "z")
        with pytest.raises(OSError, match="cannot go"):
            file.rename("b", "b/c")
    found = root(COPY, path)
    assert found["deeper"]["moved"] == [500, "moved", 750, 500] and "tree" not in found and "a" not in found
    assert set(found["z"]) == {"h0", "h1", "h2", "deep"}
    assert path.stat().st_size < 2.5 * size
    with sapwood.update(path) as file:
        file.rename("deeper/moved", "tree")
    assert root(COPY, path)["tree"] == [500, "tree", 750, 500]


def test_copy_commands(path: Path, tmp_path: Path) -> None:
    def run(*arguments: Any) -> int:
        return subprocess.run(
            [sys.executable, "-m", "sapwood", *map(str, arguments)], capture_output=True
        ).returncode

    target = tmp_path / "target.root"
    assert run("cp", f"{path}:a", f"{target}:") == 1 and not target.exists()
    assert run("cp", "-r", f"{path}:a", f"{path}:tree", f"{target}:") == 0
    assert run("cp", f"{path}:b/h1", f"{target}:a/") == 0
    assert run("mv", f"{target}:tree", f"{target}:trees/first") == 0
    assert run("mv", f"{path}:note", f"{target}:moved") == 0
    found = root(COPY, target)
    assert found["trees"]["first"][0] == 500 and found["a"]["h1"][2] == 1 and found["moved"][0] == "TNamed"
    assert root(COPY, path)["note"] == ["TNamed", "note", 1], "the cycle that was copied goes"


def test_what_changed_since_it_was_opened_is_not_moved(tmp_path: Path) -> None:
    """A move reads what was there when the file was opened: anything else is refused, and stays."""
    path = tmp_path / "file.root"
    with sapwood.recreate(path) as file:
        file["h"] = "old"
        file["d/inner"] = "inside"
        file["t"] = {"x": np.arange(1000)}
    with sapwood.update(path) as file:
        file["h"] = "new"
        with pytest.raises(ValueError, match="close the file first"):
            file.rename("h", "g")
        file["d/new"] = "new"
        with pytest.raises(ValueError, match="close the file first"):
            file.rename("d", "e")
        with file.append("t") as tree:
            tree.extend({"x": np.arange(5)})
        with pytest.raises(ValueError, match="close the file first"):
            file.rename("t", "u")
        for to in ("d/x", "d//x", "d"):
            with pytest.raises(OSError, match="cannot go"):
                file.rename("d;1", to)
        with pytest.raises(OSError, match="is a directory"):
            file["d"] = "text"
        del file["t"]
        with pytest.raises(KeyError):
            file.rename("t", "u")
    with sapwood.update(path) as file:
        file.rename("d", "e")
        with pytest.raises(KeyError):
            file.rename("d", "f")
    with sapwood.open(path) as file:
        assert file.keys() == ["h;2", "h;1", "e;1", "e/inner;1", "e/new;1"]


def test_branches_that_were_refused_leave_the_tree_alone(tmp_path: Path) -> None:
    path = tmp_path / "file.root"
    with sapwood.recreate(path) as file:
        file["t"] = {"x": np.arange(10)}
    with sapwood.update(path) as file:
        with pytest.raises(ValueError, match="another number"):
            file.add_branches("t", {"a": np.arange(9)})
        file.add_branches("t", {"a": np.arange(10)})
        with pytest.raises(ValueError, match="close the file first"):
            file.add_branches("t", {"b": np.arange(10)})
        with pytest.raises(KeyError):
            file.append("typo/t")
    with sapwood.open(path) as file:
        assert file["t"].keys() == ["x", "a"] and file.keys() == ["t;1"]


def test_rows_may_share_memory_and_lists_may_be_empty(tmp_path: Path) -> None:
    path = tmp_path / "file.root"
    with sapwood.recreate(path) as file:
        tree = file.mktree("t", {"x": ("f4", (2,)), "v": "var * int32", "w": "vector<vector<string>>"})
        row, items = np.zeros(2, "f4"), []
        for i in range(4):
            row[0] = i
            tree.fill(x=row, v=items, w=[])
            if i == 2:
                items.append(7)
        tree.close()
        file.save()
        file.mktree("u", {"v": "var * uint64"}).extend({"v": [[], []]})
    with sapwood.open(path) as file:
        assert file["t/x"].array().tolist() == [[0, 0], [1, 0], [2, 0], [3, 0]]
        assert file["t/v"].array().tolist() == [[], [], [], [7]] and file["u/v"].array().tolist() == [[], []]
        assert file["t/w"].array().tolist() == [[]] * 4


def test_long_names_are_refused_and_long_titles_cut(tmp_path: Path) -> None:
    path = tmp_path / "file.root"
    with sapwood.recreate(path) as file:
        file.mktree("t", {"x": "i4"}, title="T" * 70_000).extend({"x": [1]})
        with pytest.raises(MemoryError, match="too long"):
            file["n" * 70_000] = "text"
    assert sapwood.open(path)["t/x"].array().tolist() == [1]


def test_an_assignment_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "there.root"
    with sapwood.recreate(path) as file:
        file["t"] = {"a": [1, 2, 3]}
    with sapwood.update(path) as file:
        with pytest.raises(sapwood.SapwoodError):
            file["t"] = {"s": ["x", "a\0b"]}
        with pytest.raises(sapwood.SapwoodError):
            file["new"] = {"s": ["x", "a\0b"]}
    with sapwood.open(path) as file:
        assert file.keys() == ["t;1"] and file["t/a"].array(library="np").tolist() == [1, 2, 3]
    assert sapwood.verify(path) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_does_not_write(tmp_path: Path) -> None:
    path = tmp_path / "parents.root"
    with sapwood.recreate(path) as file:
        tree = file.mktree("t", {"x": "i8"}, auto_flush=10)
        tree.extend({"x": np.arange(25)})
        child = os.fork()
        if child == 0:
            refused = 0
            for act in (lambda: tree.extend({"x": np.arange(5)}), tree.flush, file.save, file.close):
                try:
                    act()
                except sapwood.errors.MismatchError:
                    refused += 1
            os._exit(refused)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) >= 3
        tree.extend({"x": np.arange(25, 50)})
    assert sapwood.open(path)["t/x"].array(library="np").tolist() == list(range(50))


def test_a_file_that_is_written_is_a_mapping(tmp_path: Path) -> None:
    path = tmp_path / "a.root"
    with sapwood.recreate(path) as file:
        file["old/deep/note"] = "first"
        file["t"] = {"x": [1]}
    for file in (sapwood.update(path), sapwood.recreate(io.BytesIO())):
        is_update = "t" in file
        with file:
            file["old/more"], file["h"], file["h"] = (
                "second",
                (np.ones(2), np.arange(3)),
                (np.zeros(2), np.arange(3)),
            )
            tree = file.mktree("new/tree", {"x": "f8"})
            old = (
                ["old;1", "old/deep;1", "old/deep/note;1", "old/more;1", "t;1"]
                if is_update
                else ["old;1", "old/more;1"]
            )
            assert file.keys() == list(file) == [*old, "h;2", "h;1", "new;1", "new/tree;1"] and len(
                file
            ) == len(file.keys())
            assert file.keys(recursive=False, cycle=False) == [
                *(["old", "t"] if is_update else ["old"]),
                "h",
                "new",
            ]
            assert (
                file.keys(filter_classname="TH1*") == ["h;2", "h;1"]
                and file.classnames()["new/tree;1"] == "TTree"
            )
            assert (
                file["new/tree"] is tree
                and "new/tree" in file
                and "h;1" in file
                and "h;3" not in file
                and 5 not in file
            )
            assert file["h"].values().tolist() == [0, 0] and file["h;1"].values().tolist() == [1, 1]
            assert str(file["old/more"]) == "second" and file["old"].keys(recursive=False)[-1] == "more;1"
            if is_update:
                assert file["t"].arrays().tolist() == [{"x": 1}] and str(file["old/deep/note"]) == "first"
            del file["h"]
            file["h"] = (np.full(2, 7.0), np.arange(3))
            assert file["h"].values().tolist() == [7, 7] and "h;2" not in file
            tree.extend({"x": [1.5]})
            tree.close()
            assert file["new/tree"]["x"].array().tolist() == [1.5]
            for name in ("hh", "h/x", "no/h", ""):
                assert name not in file
                with pytest.raises(KeyError, match="no key"):
                    file[name]
    with pytest.raises(sapwood.errors.MismatchError, match="closed"):
        file.keys()


def test_a_key_that_a_dead_writer_did_not_finish_is_nothing(tmp_path: Path) -> None:
    """Nothing is lost with a part of a key; a whole key has a payload that `recover` may bring back."""
    path = tmp_path / "half.root"
    with sapwood.recreate(path, compression=None) as file:
        file["t"] = {"x": [1.0, 2.0, 3.0]}
    whole = path.read_bytes()
    with sapwood.update(path) as file:
        file["first"] = "a text that has no room in a gap " * 30
    longer = path.read_bytes()
    (key_bytes,) = struct.unpack(">h", longer[len(whole) + 14 : len(whole) + 16])
    for cut in range(key_bytes):
        path.write_bytes(whole + longer[len(whole) : len(whole) + cut])
        with sapwood.update(path) as file:
            file["more"] = "text"
        with sapwood.open(path) as file:
            assert (file.keys(cycle=False), file["more"]) == (["t", "more"], "text"), cut
            assert file["t"]["x"].array().tolist() == [1.0, 2.0, 3.0]
    lines = "file = ROOT.TFile.Open(sys.argv[1]); answer(str(file.Get('more').GetString()))"
    assert root(lines, path) == "text"
    for cut in (key_bytes, key_bytes + 1, key_bytes + 200):
        path.write_bytes(whole + longer[len(whole) : len(whole) + cut])
        with pytest.raises(sapwood.errors.MalformedError, match="sapwood recover"):
            sapwood.update(path)
    # A key that ends in zeros is a record, too, if it has its own position.
    path.write_bytes(whole + longer[len(whole) : len(whole) + 30] + bytes(200))
    with pytest.raises(sapwood.errors.MalformedError, match="sapwood recover"):
        sapwood.update(path)
