"""Inspection: sizes of baskets against ROOT's own algorithm, files of real ROOT that are whole, and the commands."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import pytest

sapwood = pytest.importorskip("sapwood")
np = pytest.importorskip("numpy")

from sapwood import _core  # noqa: E402

HERE = Path(__file__).resolve().parent
CI = os.environ.get("CI", "").lower() in ("1", "true", "yes")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of files by real ROOT, and the sizes of baskets that it chose."""
    if importlib.util.find_spec("ROOT") is None:
        if CI:
            pytest.fail("ROOT is required here")
        pytest.skip("ROOT is not installed")
    folder = tmp_path_factory.mktemp("optimized")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(HERE / "oracle" / "optimized.py"), str(folder)],
        check=False,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    (folder / "sizes.json").write_text(done.stdout.splitlines()[-1])
    return folder


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One without findings, and one with thousands of small baskets."""
    folder = tmp_path_factory.mktemp("inspected")
    rng = np.random.default_rng(1)
    columns = {f"x{k}": rng.normal(size=100_000).astype("f4") for k in range(10)}
    found = {}
    for name, options in (("good", {}), ("poor", {"auto_flush": 200})):
        found[name] = str(folder / f"{name}.root")
        with sapwood.recreate(found[name], compression="zstd:1") as file:
            with file.mktree("tree", {column: "f4" for column in columns}, **options) as tree:
                tree.extend(columns)
    return found


def test_sizes_are_those_of_root_branch_by_branch(written: Path) -> None:
    checked = 0
    for name, sizes in json.loads((written / "sizes.json").read_text()).items():
        case, memory, packed = name.split()
        tree = sapwood.open(written / f"{case}.root")["tree"]
        found = tree.optimize_baskets(int(memory), float(packed))
        for branch in found["branches"]:
            assert branch["root"] == sizes[branch["path"]], (name, branch)
        checked += len(found["branches"])
    assert checked > 1000


def test_our_sizes_make_few_baskets_of_small_ones(written: Path) -> None:
    found = sapwood.open(written / "small_baskets.root")["tree"].optimize_baskets()
    now, ours, root = found["now"], found["ours"], found["root"]
    assert ours["baskets"] == 10 * len(found["branches"])
    assert (
        ours["overhead_bytes"] < now["overhead_bytes"] and ours["baskets"] <= root["baskets"] < now["baskets"]
    )
    assert ours["requests"] <= now["requests"]


def test_the_command_shows_the_sizes(written: Path, tmp_path: Path) -> None:
    place = written / "small_baskets.root"
    command = [sys.executable, "-m", "sapwood", "optimize", f"{place}:tree"]
    found = sapwood.open(place)["tree"].optimize_baskets()
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["ours"] == found["ours"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    first = found["branches"][0]
    assert shown[1].split() == [first["path"], *map(str, (first["now"], first["root"], first["ours"]))]
    baskets = next(line for line in shown if line.startswith("baskets")).split()
    assert baskets[1:] == [str(found[of]["baskets"]) for of in ("now", "root", "ours")]
    less = subprocess.run([*command, "--max-memory", "100000", "--json"], capture_output=True, text=True)
    assert json.loads(less.stdout)["root"] == sapwood.open(place)["tree"].optimize_baskets(100_000)["root"]
    # What `rewrite` makes of it has these baskets, where the clusters stay.
    better, clusters = tmp_path / "better.root", sapwood.open(place)["tree"].layout()["clusters"]
    entries = str(clusters[0]["entries"][1])
    rewrite = [sys.executable, "-m", "sapwood", "rewrite", place, better, "--cluster-entries", entries]
    subprocess.run(rewrite, capture_output=True, check=True)
    tree = sapwood.open(better)["tree"]
    assert sum(branch.num_baskets for branch in tree.itervalues()) == found["ours"]["baskets"]


def test_files_of_real_root_are_whole(written: Path) -> None:
    for path in sorted(written.glob("*.root")):
        found = sapwood.verify(path, threads=2)
        assert not found.damaged, (path, [str(finding) for finding in found])
        assert all(finding.severity == "note" for finding in found), (
            path,
            [str(finding) for finding in found],
        )
        assert found.counts["trees"] >= 1 and (found.counts["baskets"] >= 1 or path.stem == "empty")
        layout = sapwood.open(path)["tree"].layout()
        assert sum(cluster["num_baskets"] for cluster in layout["clusters"]) == sum(
            branch["num_baskets"] for branch in layout["branches"]
        )


def test_gaps_are_no_damage(written: Path) -> None:
    found = sapwood.verify(written / "gaps.root")
    assert found.counts["gaps"] > 1 and found.counts["gap_bytes"] > 100 and not found.damaged


def test_damage_has_a_place() -> None:
    memory = io.BytesIO()
    with sapwood.recreate(memory, compression="lz4:4") as file:
        file["folder/tree"] = {"x": np.arange(5_000) // 7}
    assert sapwood.verify(memory) == [] and sapwood.verify(memory.getvalue()) == []
    bytes_ = bytearray(memory.getvalue())
    basket = sapwood.open(memory)["folder/tree"].layout()["branches"][0]["baskets"][0]
    bytes_[basket[2] + basket[3] - 5] ^= 4
    found = sapwood.verify(bytes(bytes_))
    (damage,) = (finding for finding in found if finding.severity == "damage")
    assert (damage.object, damage.basket, damage.offset) == ("folder/tree;1/x", 0, basket[2])
    assert str(damage).startswith("damage: lz4: the checksum differs (object folder/tree;1/x, basket 0, ")


def test_a_histogram_must_fit_itself(tmp_path: Path) -> None:
    uproot = pytest.importorskip("uproot")
    path = tmp_path / "histogram.root"
    with uproot.recreate(path, compression=None) as file:
        file["h"] = np.histogram(np.arange(9.0), bins=777)
    assert not any("histogram" in finding.message for finding in sapwood.verify(path))
    content = path.read_bytes().replace((779).to_bytes(4, "big"), (780).to_bytes(4, "big"), 1)
    found = [finding for finding in sapwood.verify(content) if "histogram" in finding.message]
    assert found[0].message == "a histogram has another number of cells than its axes make"
    assert (found[0].severity, found[0].object, found[0].expected, found[0].found) == (
        "unusual",
        "h;1",
        779,
        780,
    )


def test_what_is_no_file_is_damaged_or_missing() -> None:
    assert sapwood.verify(b"no ROOT file").damaged
    with pytest.raises(FileNotFoundError):
        sapwood.verify("no-such-file.root")
    with pytest.raises(FileNotFoundError):
        sapwood.doctor("no-such-file.root")


def test_layouts_add_up(files: dict[str, str]) -> None:
    tree = sapwood.open(files["poor"])["tree"]
    layout = tree.layout()
    assert [tuple(cluster["entries"]) for cluster in layout["clusters"]] == tree.clusters
    assert layout["zip_bytes"] == sum(branch["zip_bytes"] for branch in layout["branches"])
    for cluster in layout["clusters"]:
        assert cluster["num_baskets"] == 10 and cluster["contiguity"] == 1.0
    first = layout["branches"][0]
    assert first["path"] == "x0" and first["type"] == "float" and first["baskets_per_cluster"] == 1.0
    assert (
        first["baskets"][0][:2] == [0, 200]
        and first["min_bytes"] <= first["median_bytes"] <= first["max_bytes"]
    )


def test_a_doctor_knows_good_from_poor(files: dict[str, str]) -> None:
    good = sapwood.doctor(files["good"])
    assert good.healthy and good.rewrite == [] and str(good).endswith("nothing to fix\n")
    poor = sapwood.doctor(files["poor"], "tree")
    kinds = {issue["kind"] for issue in poor.trees[0]["issues"]}
    assert {"small-clusters", "small-baskets"} <= kinds, kinds
    assert poor.trees[0]["options"] == ["--cluster-bytes", "30000000", "--basket-bytes", "524288"]
    full, three, fifth = poor.trees[0]["readings"]
    assert full["now"]["wanted_bytes"] == full["good"]["wanted_bytes"] == poor.trees[0]["zip_bytes"]
    assert len(three["branches"]) == 3 and three["now"]["bytes"] > 2 * three["good"]["bytes"]
    assert fifth["now"]["wanted_bytes"] < full["now"]["wanted_bytes"] / 4
    with sapwood.open(files["poor"]) as file:
        assert str(sapwood.doctor(file)) == str(poor) == str(sapwood.doctor(files["poor"] + ":tree"))
    with pytest.raises(KeyError):
        sapwood.doctor(files["poor"], "another")


def test_compression_and_counters_are_looked_at(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    path = tmp_path / "file.root"
    counts = rng.integers(0, 6, 60_000)
    items = rng.normal(size=int(counts.sum()))
    lists = pytest.importorskip("awkward").unflatten(items, counts)
    with sapwood.recreate(path, compression="lzma:1") as file:
        file["noise"] = {"x": np.frombuffer(rng.bytes(2_400_000), dtype=np.int64)}
        with file.mktree(
            "lists",
            {"a": "var * float64", "b": "var * float64", "c": "var * float64"},
            auto_flush=12_345,
        ) as tree:
            tree.extend({"a": lists, "b": lists, "c": lists[::-1]})
    noise, found = (sapwood.doctor(path, name).trees[0] for name in ("noise", "lists"))
    assert [issue["kind"] for issue in noise["issues"]] == ["useless-compression"]
    assert noise["options"] == ["--compression", "zstd:5"]
    words = {issue["kind"]: issue["message"] for issue in found["issues"]}
    assert "slow-compression" in words
    assert words["repeated-counters"].startswith("1 counters say what another says as well (na and nb ")


def run(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = _core.command(["sapwood", *arguments])
    said = capfd.readouterr()
    return code, said.out, said.err


def test_the_commands_print_tables_and_json(
    files: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    svg, png = tmp_path / "layout.svg", tmp_path / "layout.png"
    code, out, _ = run(
        capfd, "layout", f"{files['poor']}:tree", "--svg", str(svg), "--png", str(png), "--clusters", "2"
    )
    assert (
        code == 0
        and "and 498 clusters more" in out
        and out.startswith("tree;1: 100000 entries, 5000 baskets of 10")
    )
    assert xml.etree.ElementTree.parse(svg).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert png.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    code, out, _ = run(capfd, "layout", files["poor"], "--json")
    assert code == 0 and json.loads(out) == sapwood.open(files["poor"])["tree"].layout()
    code, out, _ = run(capfd, "doctor", files["poor"])
    assert code == 0 and out.splitlines()[-1] == (
        f"sapwood rewrite {files['poor']} {files['poor'][:-5]}-mended.root --cluster-bytes 30000000 --basket-bytes 524288"
    )
    code, out, _ = run(capfd, "doctor", files["good"], "--json")
    assert code == 0 and json.loads(out)["healthy"]


def test_verify_gives_an_exit_code(
    files: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capfd, "verify", *files.values())
    assert code == 0 and out.count("whole: ") == 2 and not err
    cut = tmp_path / "cut.root"
    cut.write_bytes(Path(files["good"]).read_bytes()[:-1])
    code, out, _ = run(capfd, "verify", "--quiet", files["good"], str(cut))
    assert code == 1 and out.startswith(f"{cut}: damage: the file is shorter than its header says")
    code, out, _ = run(capfd, "verify", "--json", str(cut))
    assert code == 1 and json.loads(out)[0]["damaged"]
    code, _, err = run(capfd, "verify", str(tmp_path / "missing.root"))
    assert code == 1 and err.startswith("sapwood: not found")
    for command in ("layout", "doctor", "verify"):
        code, out, _ = run(capfd, command, "--help")
        assert code == 0 and "Examples:" in out
