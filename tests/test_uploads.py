"""Files that are written to URLs, and into folders that are not there yet."""

from __future__ import annotations

import io
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")
fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def staging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for files on their way."""
    made = tmp_path / "staging"
    made.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    return made


@pytest.mark.parametrize(
    "start", ["file://", "file:", "memory://", "simplecache::file://", "simplecache::memory://"]
)
def test_urls_are_written_updated_and_read(start: str, tmp_path: Path, staging: Path) -> None:
    url = f"{start}{tmp_path}/some/folder/my%20file.root"
    with sapwood.create(url) as file:
        file["t"] = {"x": [1, 2, 3]}
        assert file["t"]["x"].array().tolist() == [1, 2, 3]
        if "::" in start or start == "memory://":
            assert file.file_path == url
    with pytest.raises(FileExistsError, match="my%20file.root"):
        sapwood.create(url)
    with sapwood.update(url) as file:
        file["t"].extend({"x": [4]})
        file["note"] = "more"
    with sapwood.open(url) as file:
        assert file["t/x"].array().tolist() == [1, 2, 3, 4] and str(file["note"]) == "more"
    assert [name for name in os.listdir(staging) if name.startswith("sapwood-")] == []


def test_what_cannot_be_brought_stays_here(staging: Path) -> None:
    class Full(fsspec.AbstractFileSystem):  # type: ignore[misc]
        protocol = "full"

        def _open(self, path: str, mode: str = "rb", **_: Any) -> Any:
            raise OSError(28, "No space left on device")

        def exists(self, path: str, **_: Any) -> bool:
            return False

    fsspec.register_implementation("full", Full, clobber=True)
    file = sapwood.create("full://a.root")
    file["t"] = {"x": [1]}
    with pytest.raises(OSError, match="cannot write 'full://a.root': .*No space left") as caught:
        file.close()
    path = caught.value.__notes__[0].removeprefix("the whole file is on this machine: ")
    assert sapwood.open(path)["t/x"].array().tolist() == [1]
    assert file.closed


def test_what_breaks_off_leaves_nothing(tmp_path: Path, staging: Path) -> None:
    from fsspec.implementations.local import LocalFileSystem
    from fsspec.implementations.memory import MemoryFileSystem
    from fsspec.spec import AbstractBufferedFile

    published: dict[str, bytes] = {}

    class Parts(AbstractBufferedFile):  # type: ignore[misc]
        """As files of buckets: what was taken is published when it is closed."""

        def _initiate_upload(self) -> None:
            self.taken: list[bytes] = []

        def _upload_chunk(self, final: bool = False) -> None:
            if len(self.taken) == 1 and not final:
                raise OSError(5, "the connection broke off")
            self.taken.append(self.buffer.getvalue())
            if final:
                published[self.path] = b"".join(self.taken)

    class Bucket(MemoryFileSystem):  # type: ignore[misc]
        protocol = "bucket"

        def _open(self, path: str, mode: str = "rb", **more: Any) -> Any:
            return Parts(self, path, mode, block_size=1 << 19, autocommit=True)

    class Disk(LocalFileSystem):  # type: ignore[misc]
        protocol = "disk"

        def _open(self, path: str, mode: str = "rb", **more: Any) -> Any:
            made, given = super()._open(path, mode, **more), []

            def write(part: bytes) -> int:
                given.append(part)
                if len(given) == 2:
                    raise OSError(5, "the connection broke off")
                return int(made.f.write(part))

            made.write = write
            return made

    noise = np.random.default_rng(1).random(500_000)
    for protocol, kind in (("bucket", Bucket), ("disk", Disk)):
        fsspec.register_implementation(protocol, kind, clobber=True)
        file = sapwood.create(f"{protocol}://{tmp_path}/broken.root")
        file["t"] = {"x": noise}
        with pytest.raises(OSError, match="broke off") as caught:
            file.close()
        path = caught.value.__notes__[0].removeprefix("the whole file is on this machine: ")
        assert (sapwood.open(path)["t/x"].array(library="np") == noise).all()
        assert not published and not (tmp_path / "broken.root").exists(), protocol


def test_updates_of_missing_files_leave_nothing(staging: Path) -> None:
    with pytest.raises(FileNotFoundError, match="memory://none.root"):
        sapwood.update("memory://none.root")
    assert os.listdir(staging) == []


def test_missing_folders_are_made(tmp_path: Path) -> None:
    for make in (sapwood.recreate, sapwood.create):
        with make(tmp_path / make.__name__ / "deeper" / "a.root") as file:
            file["note"] = "text"
    assert str(sapwood.open(f"file://{tmp_path}/create/deeper/a.root:note")) == "text"
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(OSError, match="cannot make the folder"):
        sapwood.recreate(tmp_path / "file" / "a.root")


def test_arguments_without_use_warn_quietly() -> None:
    assert issubclass(
        sapwood.UnusedArgument, PendingDeprecationWarning
    )  # which Python does not show by itself
    with pytest.warns(sapwood.UnusedArgument, match="initial_directory_bytes="):
        file = sapwood.recreate(io.BytesIO(), initial_directory_bytes=256)
    with file, pytest.warns(sapwood.UnusedArgument, match="resize_factor="):
        file.mktree("t", {"x": "f4"}, resize_factor=2)
    with pytest.raises(TypeError, match="unexpected"):
        sapwood.recreate(io.BytesIO(), no_such_option=1)
