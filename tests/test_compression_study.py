"""Studies of compression: what the command and the package recommend, done, has the predicted size and the values."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.rootrun import root

sapwood = pytest.importorskip("sapwood")
uproot = pytest.importorskip("uproot")

ENTRIES = 50_000
SETTINGS = ["none", "lz4:4", "zlib:6", "zstd:5", "lzma:5"]


def columns() -> dict[str, Any]:
    generator = np.random.default_rng(1)
    return {
        "run": np.arange(ENTRIES) // 10_000,
        "event": np.arange(ENTRIES),
        "Muon_pt": generator.exponential(30, ENTRIES).astype("f4").round(2),
        "Muon_noise": generator.integers(-(2**62), 2**62, ENTRIES),
        "hits": [list(range(e % 4)) for e in range(ENTRIES)],
    }


@pytest.fixture(scope="module", params=["ttree", "rntuple"])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("study") / f"{request.param}.root"
    with sapwood.recreate(path, format=request.param, compression="zlib:1") as file:
        file["folder/events"] = columns()
        file["note"] = "stays"
    return path


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sapwood", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def test_what_is_recommended_has_the_predicted_size(path: Path, tmp_path: Path) -> None:
    study = sapwood.compression_study(path, settings=SETTINGS, size=1.2, write_time=1000)
    assert study.sampled_entries == study.entries == ENTRIES
    assert study.zip_bytes < study.tot_bytes
    assert set(study.advice) >= {"archive", "analysis", "random access", "at most 1000 s to compress"}
    for purpose in study.advice:
        advice = study.advice[purpose]
        options = study.options(purpose)
        new = tmp_path / "new.root"
        _, after = sapwood.rewrite(path, new, **options)["folder/events"]
        # The figures of an RNTuple leave the checksums of its pages out.
        assert after.zip_bytes == pytest.approx(advice["total"]["bytes"], rel=0.003)
        found = sapwood.open(new)["folder/events"].arrays(library="np")
        for name, values in columns().items():
            assert [list(one) if name == "hits" else one for one in found[name][-50:]] == list(values[-50:])
    assert study.advice["archive"]["total"]["bytes"] <= study.advice["archive"]["one_setting"]["bytes"]


def test_fewer_bytes_than_any_one_setting_where_branches_differ(path: Path) -> None:
    """Whatever the times: noise is stored raw by all codecs, but no codec is the best for everything else."""
    study = sapwood.compression_study(path, purposes=["archive"], settings=SETTINGS)
    total = study.advice["archive"]["total"]["bytes"]
    assert total <= min(trial["bytes"] for trial in study.trials)
    by_branch = {name: min(row["bytes"] for row in rows) for name, rows in study.branches.items()}
    assert sum(by_branch.values()) <= total
    raw = [row["bytes"] for row in study.branches["Muon_noise"] if row["setting"] == "zlib:0"]
    assert min(raw) < 1.05 * by_branch["Muon_noise"]


def test_a_part_is_close_to_all(path: Path) -> None:
    whole = sapwood.compression_study(path, purposes="archive", settings=SETTINGS)
    part = sapwood.compression_study(path, purposes="archive", settings=SETTINGS, sample_bytes="500 kB")
    assert part.sampled_entries < ENTRIES / 2
    sizes = [{(t["setting"], t["basket_bytes"]): t["bytes"] for t in study.trials} for study in (whole, part)]
    for key, size in sizes[0].items():
        # Equal pages of an RNTuple are stored once, and raw ones are equal here and there.
        if key[0] == "zlib:0" and path.stem == "rntuple":
            continue
        assert sizes[1][key] == pytest.approx(size, rel=0.1), key


def test_the_command_prints_draws_and_recommends_what_works(path: Path, tmp_path: Path) -> None:
    picture = tmp_path / "trade-off.svg"
    done = run("compression", f"{path}:folder/events", "--settings", ",".join(SETTINGS), "--out", picture)
    assert done.returncode == 0, done.stderr
    assert picture.read_text().startswith("<svg ") and ">zstd:5</text>" in picture.read_text()
    words = done.stdout
    assert ("split encodings" in words) == (path.stem == "rntuple")
    assert ("Nothing rearranges bytes" in words) == (path.stem == "ttree")
    lines = [line.strip() for line in words.splitlines() if line.strip().startswith("sapwood rewrite")]
    assert len(lines) == 3
    archive = lines[0].split()
    target = archive[3]
    assert target.endswith("-archive.root")
    done = run("rewrite", path, tmp_path / "new.root", *[word.strip("'") for word in archive[4:]])
    assert done.returncode == 0, done.stderr
    assert sapwood.open(tmp_path / "new.root")["note"] == "stays"


def test_json_has_all_that_was_tried(path: Path) -> None:
    done = run(
        "compression",
        path,
        "--settings",
        "lz4,505",
        "--basket-bytes",
        "65536,524288",
        "--json",
        "--read-time",
        "1e6",
    )
    document = json.loads(done.stdout)
    assert {(t["setting"], t["basket_bytes"]) for t in document["trials"]} == {
        (setting, size) for setting in ("lz4:4", "zstd:5") for size in (65536, 524288)
    }
    assert [advice["goal"] for advice in document["advice"]] == ["at most 1000000 s to inflate"]
    for trial in document["trials"]:
        rows = [row for branch in document["branches"] for row in branch["trials"]]
        same = [row for row in rows if all(row[key] == trial[key] for key in ("setting", "basket_bytes"))]
        assert sum(row["bytes"] for row in same) == trial["bytes"]


def test_real_root_reads_what_was_recommended(path: Path, tmp_path: Path) -> None:
    study = sapwood.compression_study(path, purposes="archive", settings=SETTINGS)
    sapwood.rewrite(path, tmp_path / "new.root", **study.options("archive"))
    lines = """
frame = ROOT.RDataFrame("folder/events", sys.argv[1])
answer([frame.Sum("event").GetValue(), frame.Sum("Muon_noise").GetValue(), frame.Define("n", "(int) hits.size()").Sum("n").GetValue()])
"""
    of = columns()
    found = root(lines, tmp_path / "new.root")
    assert found[0] == int(of["event"].sum()) and found[2] == sum(len(hits) for hits in of["hits"])
    assert found[1] == pytest.approx(float(of["Muon_noise"].astype("f8").sum()), rel=1e-9)


def test_what_cannot_be_studied_says_why(path: Path, tmp_path: Path) -> None:
    for arguments, words in [
        (["--settings", "brotli"], "no such compression: brotli"),
        (["--size", "12"], "no setting that was tried keeps to it"),
        (["--size", "little"], "no number of bytes"),
        (["--size", "0"], "a budget is a number above 0"),
        (["--read-time", "0"], "a budget is a number above 0"),
        (["--write-time", "0"], "a budget is a number above 0"),
        (["--settings", ""], "no such compression: an empty text"),
        (["--read-time", "0.000000001", "--settings", "zstd:5"], "no setting that was tried keeps to it"),
        (["--for", "speed"], "archive, analysis or random-access"),
        (["--basket-bytes", "0"], "at least one byte"),
        (["--sample", "0"], "at least one byte"),
    ]:
        done = run("compression", path, *arguments)
        assert done.returncode != 0 and words in done.stderr, (arguments, done.stderr)
    done = run("compression", f"{path}:note")
    assert done.returncode == 1 and "not a tree" in done.stderr
    with pytest.raises(KeyError):
        sapwood.compression_study(path, "nothing")
    with pytest.raises(sapwood.errors.MismatchError, match="a file is for"):
        sapwood.compression_study(path, purposes=["speed"])
    whole = path.read_bytes()
    (tmp_path / "cut.root").write_bytes(whole[: len(whole) // 2])
    done = run("compression", tmp_path / "cut.root")
    assert done.returncode == 1 and "sapwood: " in done.stderr


def test_random_access_stays_near_the_size_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "small.root"
    with sapwood.recreate(path, compression="zstd:9") as file:
        numbers = np.arange(200_000)
        file["t"] = {"run": numbers // 10_000, "event": numbers * 3, "x": numbers % 977}
    done = run("compression", f"{path}:t", "--for", "random-access", "--json")
    assert done.returncode == 0, done.stderr
    study = json.loads(done.stdout)
    (advice,) = study["advice"]
    print(advice["rewrite"], advice["total"]["bytes"], study["zip_bytes"])
    assert advice["total"]["bytes"] <= 1.15 * study["zip_bytes"]


def test_baskets_that_stay_are_tried_as_they_are(tmp_path: Path) -> None:
    """Objects that refer to each other by position keep the borders of their baskets."""
    corpus = Path(
        os.environ.get("SAPWOOD_CORPUS") or Path(__file__).resolve().parents[2] / "shared" / "corpus"
    )
    events = corpus / "skhep__uproot-issue494.root"
    if not events.exists():
        pytest.skip("the corpus of real files is not here (set SAPWOOD_CORPUS)")
    study = sapwood.compression_study(events, "Event", settings=["zstd:5", "none"], sample_bytes="1 GB")
    assert "refer to each other by position" in study.kept
    assert {trial["basket_bytes"] for trial in study.trials} == {0}
    assert set(study.options("archive")) == set(study.options("random access")) == {"compression"}
    with pytest.warns(UserWarning, match="keeps its baskets"):
        _, after = sapwood.rewrite(
            events, tmp_path / "new.root", trees=["Event"], **study.options("archive")
        )["Event"]
    assert after.zip_bytes == study.advice["archive"]["total"]["bytes"]
