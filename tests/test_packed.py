"""Packed files: what other programs write is read in place, and what is packed they inflate."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import ranged, servers

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")
pyzstd = pytest.importorskip("pyzstd")

ENTRIES = 50_000


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file without compression inside, of some MB."""
    path = tmp_path_factory.mktemp("packed") / "plain.root"
    random = np.random.default_rng(1)
    columns = {
        "x": random.normal(size=ENTRIES).astype("f4"),
        "run": np.repeat(np.arange(ENTRIES // 100), 100),
        "hits": ak.unflatten(random.poisson(3, ENTRIES * 2), np.full(ENTRIES, 2)),
    }
    with sapwood.recreate(path, compression=None) as file:
        types = {"x": "float32", "run": "int64", "hits": "var * int64"}
        file.mktree("folder/events", types, auto_flush=5_000).extend(columns)
        file["note"] = "hello"
    return path


@pytest.fixture(scope="module")
def packed(plain: Path) -> Path:
    return Path(sapwood.pack(plain, block="16 kB").output)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ranged.Ranged]:
    with ranged.serving(tmp_path) as found:
        yield found


def command(*arguments: Any) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "sapwood", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True)


def image(folder: Path, path: Path, *options: str) -> Path:
    """A SquashFS image of a folder."""
    tool = shutil.which("mksquashfs") or servers.missing("mksquashfs", "squashfs-tools")
    subprocess.run([tool, folder, path, "-noappend", "-quiet", "-no-progress", *options], check=True)
    return path


def check(place: str, plain: Path) -> None:
    """All of it, parts of it, and an object are what they are in the plain file."""
    with sapwood.open(plain) as one, sapwood.open(place) as other:
        assert other["note"] == one["note"]
        wanted, found = one["folder/events"], other["folder/events"]
        assert ak.array_equal(wanted.arrays(), found.arrays())
        assert ak.array_equal(
            wanted.arrays(["hits"], entry_start=777, entry_stop=31_000),
            found.arrays(["hits"], entry_start=777, entry_stop=31_000),
        )
    assert sapwood.open(f"{place}:folder/events").num_entries == ENTRIES
    assert not sapwood.verify(place)


def test_a_packed_file_is_read_in_place(packed: Path, plain: Path) -> None:
    assert packed.stat().st_size < 0.7 * plain.stat().st_size
    check(str(packed), plain)
    with sapwood.open(packed) as file:
        copy = pickle.loads(pickle.dumps(file))
    assert copy["note"] == "hello"
    chunks = list(sapwood.iterate(f"{packed}:folder/events", ["x"], step_size=20_000))
    assert [len(chunk) for chunk in chunks] == [20_000, 20_000, 10_000]
    both = sapwood.concatenate({str(packed): "folder/events", str(plain): "folder/events"}, ["run"])
    assert len(both) == 2 * ENTRIES


def test_other_programs_inflate_what_is_packed(packed: Path, plain: Path, tmp_path: Path) -> None:
    content = plain.read_bytes()
    assert pyzstd.decompress(packed.read_bytes()) == content
    with pyzstd.SeekableZstdFile(packed) as file:
        for at in (0, len(content) - 10, 123_456, 1_000_000):
            file.seek(at)
            assert file.read(20_000) == content[at : at + 20_000]
    if (zstd := shutil.which("zstd")) is not None:
        back = tmp_path / "back.root"
        subprocess.run([zstd, "-q", "-d", packed, "-o", back], check=True)
        assert back.read_bytes() == content


@pytest.mark.parametrize("frame", [5_000, 1_000_000])
def test_seekable_files_of_another_writer_are_read(frame: int, plain: Path, tmp_path: Path) -> None:
    path = tmp_path / "other.root.zst"
    with pyzstd.SeekableZstdFile(path, "w", max_frame_content_size=frame) as file:
        file.write(plain.read_bytes())
    check(str(path), plain)


def test_a_file_comes_back_byte_for_byte(packed: Path, plain: Path, tmp_path: Path) -> None:
    back = sapwood.unpack(packed, tmp_path / "back.root")
    assert Path(back).read_bytes() == plain.read_bytes()
    with pytest.raises(FileExistsError):
        sapwood.unpack(packed, back)
    sapwood.unpack(packed, back, replace=True)
    with pytest.raises(FileExistsError):
        sapwood.pack(plain, packed)
    with pytest.raises(sapwood.errors.MismatchError, match="level of zstd"):
        sapwood.pack(plain, tmp_path / "x.zst", level=40)
    with pytest.raises(FileNotFoundError):
        sapwood.pack(tmp_path / "none.root")
    with pytest.raises(sapwood.errors.MismatchError, match="does not say how"):
        sapwood.unpack(plain)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_file_of_the_corpus_is_packed_and_told_to_be_rewritten(threads: int, tmp_path: Path) -> None:
    corpus = Path(os.environ.get("SAPWOOD_CORPUS", Path(__file__).resolve().parents[2] / "shared" / "corpus"))
    source = corpus / "roottest__CaloJets.root"
    if not source.exists():
        if os.environ.get("CI") == "true":
            pytest.fail("the corpus is required in CI")
        pytest.skip("no corpus")
    target = tmp_path / "nano.root.zst"
    with pytest.warns(UserWarning, match="sapwood rewrite .* plain.root --compression zlib:0"):
        sapwood.pack(source, target, threads=threads, level=1)
    assert pyzstd.decompress(target.read_bytes()) == source.read_bytes()
    with sapwood.open(source) as one, sapwood.open(target) as other:
        assert one.keys() == other.keys()
    assert not sapwood.verify(target).damaged
    # What the advice says helps.
    sapwood.rewrite(source, tmp_path / "plain.root", compression=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        better = sapwood.pack(tmp_path / "plain.root")
    assert better.packed_bytes < better.bytes / 2


@pytest.mark.parametrize("codec", ["gzip", "xz", "lz4", "zstd"])
def test_files_of_an_image_are_read(codec: str, plain: Path, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    (folder / "run1").mkdir(parents=True)
    shutil.copy(plain, folder / "run1" / "x.root")
    (folder / "latest.root").symlink_to("run1/x.root")
    path = image(folder, tmp_path / "image.sqfs", "-comp", codec, "-b", "16384", "-always-use-fragments")
    for place in (f"{path}:run1/x.root", f"{path}:latest.root"):
        check(place, plain)
    with pytest.raises(FileNotFoundError, match='no "run2" in its directory; it begins with "latest.root"'):
        sapwood.open(f"{path}:run2/x.root")
    with pytest.raises(sapwood.errors.MismatchError, match="no file in it"):
        sapwood.open(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_members_of_an_archive_are_read(method: int, plain: Path, packed: Path, tmp_path: Path) -> None:
    path = tmp_path / "archive.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("README", "about")
        archive.write(plain, "run1/x.root")
        archive.write(packed, "run1/y.root.zst")
        archive.writestr("run1/odd", "x" * 1_000, zipfile.ZIP_BZIP2)
    check(f"{path}:run1/x.root", plain)
    check(f"{path}:run1/y.root.zst", plain)
    back = sapwood.unpack(f"{path}:run1/x.root", tmp_path / "back.root")
    assert Path(back).read_bytes() == plain.read_bytes()
    with pytest.raises(FileNotFoundError, match='no member "x.root"; it begins with "README"'):
        sapwood.open(f"{path}:x.root")
    with pytest.raises(sapwood.errors.UnsupportedError, match="method 12"):
        sapwood.open(f"{path}:run1/odd")
    with pytest.raises(FileNotFoundError):
        sapwood.open(tmp_path / "none.zip:x.root")


def test_packed_files_of_a_server_take_few_requests(
    packed: Path, plain: Path, server: ranged.Ranged, tmp_path: Path
) -> None:
    shutil.copy(packed, tmp_path / "x.root.zst")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(plain, "run1/x.root")
    server.forget()
    with sapwood.open(f"{server.url}/x.root.zst:folder/events") as tree:
        opened = len(server.asked)
        tree.arrays(["x"], entry_start=100, entry_stop=110)
        assert len(server.asked) == opened + 1, "the blocks of one basket are one request"
        assert server.sent < packed.stat().st_size / 2
    check(f"{server.url}/x.root.zst", plain)
    with sapwood.open(f"{server.url}/a.zip:run1/x.root?ticket=1") as file:
        assert file["note"] == "hello"
    check(f"{server.url}/a.zip:run1/x.root", plain)
    done = command("ls", f"{server.url}/a.zip:run1/x.root")
    assert done.returncode == 0 and "note" in done.stdout, done.stderr
    # A cache keeps the packed bytes.
    for _ in range(2):
        server.forget()
        place = f"{server.url}/x.root.zst"
        with sapwood.open(place, cache="blocks", cache_dir=str(tmp_path / "cache")) as file:
            assert len(file["folder/events/x"].array()) == ENTRIES
    assert len(server.asked) <= 2, "whether the file is the same"


def test_a_file_without_a_seek_table_says_what_to_do(plain: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.root.zst"
    path.write_bytes(pyzstd.compress(plain.read_bytes()))
    with pytest.raises(sapwood.errors.UnsupportedError, match=r"zstd -d FILE.*sapwood pack FILE"):
        sapwood.open(path)
    done = command("ls", path)
    assert done.returncode == 1 and "zstd -d FILE" in done.stderr


def test_damage_is_found(packed: Path, tmp_path: Path) -> None:
    content = bytearray(packed.read_bytes())
    content[100_000] ^= 1
    path = tmp_path / "x.root.zst"
    path.write_bytes(content)
    with pytest.raises(sapwood.SapwoodError, match="object block [0-9]+"):
        sapwood.unpack(path)
    assert not (tmp_path / "x.root").exists()


def test_the_command_packs_and_unpacks(plain: Path, tmp_path: Path) -> None:
    target, back = tmp_path / "x.root.zst", tmp_path / "back.root"
    done = command("pack", plain, "-o", target, "--block", "64kB", "--level", 9, "--threads", 2, "--json")
    found = json.loads(done.stdout)
    assert found["blocks"] == -(-plain.stat().st_size // 64_000) and found["advice"] is None
    assert command("unpack", target, "-o", back).returncode == 0
    assert back.read_bytes() == plain.read_bytes()


def test_names_of_packed_files_are_not_written_into(tmp_path: Path) -> None:
    plain, packed = tmp_path / "x.root", tmp_path / "x.root.zst"
    with sapwood.recreate(plain, compression=None) as file:
        file["t"] = {"x": np.arange(1000)}
    sapwood.pack(plain, packed)
    before = packed.read_bytes()
    for make in (sapwood.recreate, sapwood.update):
        with pytest.raises(
            sapwood.errors.MismatchError, match="packed file, which is not written into.*sapwood pack"
        ):
            make(packed)
    with pytest.raises(sapwood.errors.MismatchError, match="within archives are not written"):
        sapwood.recreate(tmp_path / "a.zip:run1/x.root")
    for command in (
        ["rewrite", plain, packed, "--force"],
        ["merge", "-f", packed, plain],
        ["cp", f"{plain}:t", f"{packed}:t2"],
        ["mkdir", f"{packed}:d"],
        ["rm", f"{packed}:t"],
        ["recover", packed],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "sapwood", *map(str, command)], capture_output=True, text=True
        )
        assert done.returncode != 0 and "which is not written into" in done.stderr, (command, done)
    assert packed.read_bytes() == before and sorted(path.name for path in tmp_path.iterdir()) == [
        "x.root",
        "x.root.zst",
    ]


def test_impossible_blocks_are_refused(plain: Path, tmp_path: Path) -> None:
    for block in (-1, 0, 1, "1 TB"):
        with pytest.raises(sapwood.errors.MismatchError, match="a block has 1024 to 67108864 bytes"):
            sapwood.pack(plain, tmp_path / "x.root.zst", block=block)


def test_a_packed_file_that_was_cut_off_says_so(packed: Path, tmp_path: Path) -> None:
    content = packed.read_bytes()
    for left in (len(content) // 2, len(content) - 1):
        (tmp_path / "cut.root.zst").write_bytes(content[:left])
        with pytest.raises(sapwood.errors.UnsupportedError, match="it was cut off: copy it again"):
            sapwood.open(tmp_path / "cut.root.zst")


def test_what_is_not_packed_is_not_unpacked(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "x.root") as file:
        file["t"] = {"x": [1]}
    with pytest.raises(sapwood.errors.MismatchError, match="does not say how the file is packed"):
        sapwood.unpack(tmp_path / "x.root", tmp_path / "y.root")
    assert not (tmp_path / "y.root").exists()


def test_a_block_longer_than_what_is_kept_is_inflated_once(tmp_path: Path) -> None:
    plain = tmp_path / "x.root"
    with sapwood.recreate(plain, compression=None) as file:
        file.mktree("t", {"x": "f8"}, auto_flush=100_000).extend({"x": np.arange(5_000_000.0)})
    packed = sapwood.pack(plain, block="64 MiB").output
    with sapwood.open(f"{packed}:t", threads=1) as tree:
        for start in range(0, 5_000_000, 500_000):
            assert tree["x"].array(entry_start=start, entry_stop=start + 1, library="np").tolist() == [start]
