"""Files that fsspec reaches: the same values as on disk, how often it is asked, and what goes wrong."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.forked import child_reads

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")
fsspec = pytest.importorskip("fsspec")
# The module: the package has a mapping of that name.
registry = pytest.importorskip("fsspec.registry")

from fsspec.asyn import AsyncFileSystem  # noqa: E402
from fsspec.implementations.memory import MemoryFileSystem  # noqa: E402
from fsspec.spec import AbstractFileSystem  # noqa: E402
from sapwood._remote import filesystems  # noqa: E402

ENTRIES = 80_000
CLUSTER = 4_000


class Book:
    """What the file systems of these tests hold, what they were asked, and what they do then."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[Any] = []
        self.trouble: Callable[[list[tuple[int, int]]], None] | None = None
        self.options: dict[str, Any] = {}
        self.cut = 0
        self.etag = "1"

    def forget(self) -> None:
        self.asked.clear()

    def infos(self) -> int:
        return self.asked.count("info")

    def calls(self) -> list[list[tuple[int, int]]]:
        return [one for one in self.asked if isinstance(one, list)]

    def about(self, path: str) -> dict[str, Any]:
        self.asked.append("info")
        if path not in self.files:
            raise FileNotFoundError(path)
        return {"name": path, "size": len(self.files[path]), "type": "file", "ETag": f'"{self.etag}"'}

    def call(self, starts: list[int], ends: list[int]) -> None:
        ranges = list(zip(starts, ends))
        self.asked.append(ranges)
        if self.trouble is not None:
            self.trouble(ranges)

    def part(self, path: str, start: int, end: int) -> bytes:
        return self.files[path][start : end - self.cut]


BOOK = Book()


class Parallel(AsyncFileSystem):
    """Asynchronous: its ranges are on their way at the same time."""

    protocol = "parallel"
    cachable = False

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        BOOK.options = options

    async def _info(self, path: str, **_: Any) -> dict[str, Any]:
        return BOOK.about(self._strip_protocol(path))

    async def _cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        return BOOK.part(path, start or 0, len(BOOK.files[path]) if end is None else end)

    async def _cat_ranges(self, paths: Any, starts: Any, ends: Any, **how: Any) -> Any:
        BOOK.call(starts, ends)
        return await super()._cat_ranges(paths, starts, ends, **how)


class Vector(AbstractFileSystem):
    """Reads many ranges in one call of its own."""

    protocol = "vector"
    cachable = False

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        return BOOK.about(self._strip_protocol(path))

    def cat_ranges(self, paths: Any, starts: Any, ends: Any, *_: Any, **__: Any) -> Any:
        BOOK.call(starts, ends)
        return [memoryview(BOOK.part(path, start, end)) for path, start, end in zip(paths, starts, ends)]


class Slow(io.BytesIO):
    """Gives no more than 10,000 bytes at a time."""

    def read(self, size: int | None = -1) -> bytes:
        BOOK.call([self.tell()], [self.tell() + (size or 0)])
        return super().read(min(size or 0, 10_000))


class Plain(AbstractFileSystem):
    """Knows how to open a file, and nothing better."""

    protocol = "plain"
    cachable = False

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        return BOOK.about(self._strip_protocol(path))

    def _open(self, path: str, mode: str = "rb", **_: Any) -> Any:
        BOOK.asked.append("open")
        return Slow(BOOK.files[path])


def write() -> bytes:
    """A file of a dozen branches in twenty clusters."""
    random = np.random.default_rng(3)
    made = io.BytesIO()
    with sapwood.recreate(made, compression=None) as file:
        columns = {f"x{i:02d}": random.normal(size=ENTRIES).astype("f4") for i in range(12)}
        tree = file.mktree("events", {name: "float32" for name in columns}, auto_flush=CLUSTER)
        tree.extend(columns)
        file["text"] = "hello"
    return made.getvalue()


@pytest.fixture(scope="module")
def content() -> bytes:
    return write()


@pytest.fixture(autouse=True)
def book(content: bytes) -> Iterator[Book]:
    for kind in (Parallel, Vector, Plain):
        fsspec.register_implementation(kind.protocol, kind, clobber=True)
    BOOK.__init__()  # type: ignore[misc]
    BOOK.files = {"a.root": content}
    memory = fsspec.filesystem("memory")
    memory.pipe(
        {"/a.root": content, "/runs/run1.root": content, "/runs/run2.root": content, "/runs/notes.txt": b""}
    )
    yield BOOK
    memory.store.clear()


@pytest.fixture(scope="module")
def near(content: bytes) -> Any:
    return sapwood.open(content)["events"].arrays()


@pytest.fixture
def local(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "a.root"
    path.write_bytes(content)
    return path


def same(one: Any, other: Any) -> bool:
    return bool(ak.array_equal(one, other, equal_nan=True))


@pytest.mark.parametrize("threads", [1, 2])
def test_the_values_are_those_of_the_bytes(near: Any, local: Path, tmp_path: Path, threads: int) -> None:
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.write(local, "in/a.root")
    cache = {"simplecache": {"cache_storage": str(tmp_path / "cache")}}
    places: list[tuple[Any, dict[str, Any]]] = [
        ("memory://a.root", {}),
        ("parallel://a.root", {}),
        ("vector://a.root", {}),
        ("plain://a.root", {}),
        (f"local://{local}", {}),
        ("simplecache::memory://a.root", {"storage_options": cache}),
        (f"simplecache::file://{local}", {"storage_options": cache}),
        (f"zip://in/a.root::{archive}", {}),
        (f"zip://in/a.root::file://{archive}", {}),
        (fsspec.open("memory://a.root"), {}),
        (fsspec.open(f"file://{local}"), {}),
        (fsspec.open("parallel://a.root"), {}),
        (fsspec.filesystem("memory").open("a.root"), {}),
    ]
    for place, options in places:
        with sapwood.open(place, threads=threads, **options) as file:
            assert file["text"] == "hello", place
            assert same(file["events"].arrays(), near), place
            some = [(i, i + 3) for i in range(0, ENTRIES, 9_999)]
            assert same(
                file["events"].arrays(["x03"], entries=some),
                near[["x03"]][np.r_[tuple(slice(*one) for one in some)]],
            )


def test_a_url_names_an_object(near: Any, local: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.write(local, "a.root")
    for place in (
        "memory://a.root:events",
        {"memory://a.root": "events"},
        "simplecache::memory://a.root:events",
        f"zip://a.root:events::{tmp_path / 'a.zip'}",
    ):
        assert same(sapwood.open(place).arrays(["x01"]), near[["x01"]]), place


@pytest.mark.parametrize("scheme", ["parallel", "vector"])
def test_many_baskets_are_one_call(book: Book, scheme: str, near: Any) -> None:
    file = sapwood.open(f"{scheme}://a.root", threads=2)
    # What the file is, then both ends of it: two round trips.
    assert book.infos() == 1 and len(book.calls()) == 1 and len(book.calls()[0]) == 2
    tree = file["events"]
    tree.arrays(["x01"], entry_stop=1)
    book.forget()
    assert same(tree.arrays(["x03", "x07"]), near[["x03", "x07"]])
    [call] = book.calls()
    assert len(call) == 2 * ENTRIES // CLUSTER
    # No unwanted bytes lie between: what was asked for is what the baskets have, and a gap of few bytes at
    # most.
    assert sum(end - start for start, end in call) < 2 * ENTRIES * 4 * 1.1


def test_a_file_that_can_only_be_opened_is_opened_once(book: Book, near: Any) -> None:
    tree = sapwood.open("plain://a.root", threads=2)["events"]
    assert same(tree.arrays(["x03", "x07"]), near[["x03", "x07"]])
    assert book.asked.count("open") == 1


def test_options_reach_the_file_system(book: Book, near: Any) -> None:
    options = {"storage_options": {"anon": True}}
    sapwood.open("parallel://a.root", **options)
    assert book.options == {"anon": True}
    steps = list(sapwood.iterate("parallel://a.root:events", ["x00"], step_size=ENTRIES, **options))
    assert same(steps[0], near[["x00"]]) and book.options == {"anon": True}
    with pytest.raises(TypeError, match="anon"):
        sapwood.open("parallel://a.root", anon=True)


def test_urls_may_be_many_and_have_wildcards(near: Any, tmp_path: Path) -> None:
    twice = ak.concatenate([near[["x02"]], near[["x02"]]])
    for files in (
        "memory://runs/*.root:events",
        "memory://runs/run{1,2}.root:events",
        {"memory://runs/run?.root": "events"},
        ["memory://runs/run1.root:events", "simplecache::memory://runs/run2.root:events"],
        [fsspec.open("memory://runs/run1.root"), "memory://runs/run2.root"],
        fsspec.open_files("memory://runs/*.root"),
    ):
        assert same(sapwood.concatenate(files, ["x02"]), twice), files
        assert len(list(sapwood.iterate(files, ["x02"], step_size=ENTRIES))) == 2
    with pytest.raises(FileNotFoundError, match="no file matches"):
        sapwood.concatenate("memory://runs/*.txt?", ["x02"])
    merged = sapwood.merge(tmp_path / "all.root", "memory://runs/*.root")
    assert merged.inputs == 2 and merged.trees["events"].entries == 2 * ENTRIES
    assert same(sapwood.open(tmp_path / "all.root")["events"].arrays(["x02"]), twice)
    assert sapwood.verify("memory://a.root") == [] and sapwood.verify(fsspec.open("memory://a.root")) == []
    assert sapwood.doctor("memory://a.root").trees


def test_what_is_no_plain_file_is_read_whole(tmp_path: Path, content: bytes, near: Any) -> None:
    import gzip

    (tmp_path / "a.root.gz").write_bytes(gzip.compress(content, 1))
    packed = fsspec.open(f"file://{tmp_path / 'a.root.gz'}", compression="gzip")
    assert same(sapwood.open(packed)["events"].arrays(["x01"]), near[["x01"]])
    with pytest.raises(TypeError, match="'rb'"):
        sapwood.open(fsspec.open("memory://runs/notes.txt", "r"))


@pytest.mark.parametrize("scheme", ["parallel", "vector", "memory"])
def test_what_is_not_there_is_no_file(scheme: str) -> None:
    with pytest.raises(FileNotFoundError, match=f"{scheme}://missing.root") as error:
        sapwood.open(f"{scheme}://missing.root")
    assert (
        isinstance(error.value.__cause__, FileNotFoundError)
        and error.value.file == f"{scheme}://missing.root"
    )
    with pytest.raises(FileNotFoundError):
        sapwood.merge("out.root", [f"{scheme}://missing.root"])
    assert not os.path.exists("out.root")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("scheme", ["parallel", "vector", "plain"])
def test_what_python_raises_is_an_error_that_names_the_file(book: Book, scheme: str, threads: int) -> None:
    tree = sapwood.open(f"{scheme}://a.root", threads=threads)["events"]
    tree.arrays(["x01"], entry_stop=1)
    for raised, kind in (
        (PermissionError("not you"), "denied"),
        (TimeoutError("too late"), "timed out"),
        (fsspec.exceptions.FSTimeoutError("too late"), "timed out"),
        (OSError("broken"), "i/o"),
        (ValueError("odd"), "i/o"),
        (FileNotFoundError("gone"), "not found"),
    ):

        def trouble(_: Any, raised: Exception = raised) -> None:
            raise raised

        book.trouble = trouble
        with pytest.raises(sapwood.SapwoodError, match=f"{scheme}://a.root") as error:
            tree.arrays(["x05"])
        assert error.value.kind == kind, (raised, error.value)
        # Of what its loop calls a timeout fsspec keeps no words.
        assert str(raised) in str(error.value) or kind == "timed out"
        book.trouble = None
    assert len(tree.arrays(["x05"])) == ENTRIES


def test_one_range_that_fails_is_an_error(book: Book) -> None:
    tree = sapwood.open("parallel://a.root", threads=2)["events"]
    tree.arrays(["x01"], entry_stop=1)
    whole, rest = BOOK.part, iter(range(1000))

    def part(path: str, start: int, end: int) -> bytes:
        if next(rest) == 7:
            raise OSError("the seventh")
        return whole(path, start, end)

    book.part = part  # type: ignore[method-assign]
    try:
        with pytest.raises(sapwood.errors.IOError, match="the seventh"):
            tree.arrays(["x03", "x07"])
    finally:
        del book.part


@pytest.mark.parametrize("scheme", ["parallel", "vector"])
def test_bytes_that_lack_are_noticed(book: Book, scheme: str) -> None:
    tree = sapwood.open(f"{scheme}://a.root", threads=2)["events"]
    book.cut = 1
    with pytest.raises(sapwood.errors.IOError, match="another number of bytes") as error:
        tree.arrays(["x03"])
    assert error.value.expected == error.value.found + 1
    with pytest.raises(sapwood.errors.IOError, match="another number of bytes"):
        sapwood.open(f"{scheme}://a.root")


def test_a_file_that_changes_is_an_error(book: Book, content: bytes) -> None:
    tree = sapwood.open("parallel://a.root", threads=2)["events"]
    tree.arrays(["x00"], entry_stop=10)
    book.etag = "2"
    time.sleep(1.1)  # so often is it looked at
    with pytest.raises(sapwood.errors.IOError, match="changed"):
        tree.arrays(["x05"])
    # One that becomes shorter is noticed at once.
    tree = sapwood.open("vector://a.root", threads=2)["events"]
    book.files["a.root"] = content[: len(content) // 2]
    with pytest.raises(sapwood.errors.IOError, match="changed"):
        tree.arrays(["x05"])


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_goes_through(book: Book, threads: int) -> None:
    tree = sapwood.open("vector://a.root", threads=threads)["events"]
    tree.arrays(["x01"], entry_stop=1)

    def trouble(_: Any) -> None:
        raise KeyboardInterrupt

    book.trouble = trouble
    with pytest.raises(KeyboardInterrupt):
        tree.arrays(["x05"])
    with pytest.raises(KeyboardInterrupt):
        sapwood.open("vector://a.root")
    book.trouble = None
    assert len(tree.arrays(["x05"])) == ENTRIES


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        registry.known_implementations, "far", {"class": "no_such_module.fs.Far", "err": "install something"}
    )
    for use in (sapwood.open, sapwood.iterate, sapwood.concatenate):
        with pytest.raises(
            NotImplementedError, match=r"far://.*install something.*pip install no-such-module"
        ) as error:
            use("far://a.root")
        assert error.value.file == "far://a.root"
        with pytest.raises(NotImplementedError, match="nothing here reads nowhere://"):
            use("nowhere://a.root")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    for use in (sapwood.open, sapwood.iterate, sapwood.concatenate):
        with pytest.raises(NotImplementedError, match="pip install fsspec"):
            use("memory://a.root")
        with pytest.raises(NotImplementedError, match="pip install fsspec"):
            use("s3://bucket/a.root", handler="fsspec")


def test_without_fsspec_all_else_works(local: Path) -> None:
    code = f"""
import sys
import tarfile
sys.modules["fsspec"] = None
import sapwood
assert sapwood.open({str(local)!r})["events"].num_entries == {ENTRIES}
assert sapwood.open(open({str(local)!r}, "rb"))["events"].num_entries == {ENTRIES}
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("kind", ["blocks", "whole"])
def test_caches_keep_what_was_read(book: Book, tmp_path: Path, near: Any, kind: str) -> None:
    options = {"cache": kind, "cache_dir": tmp_path / "cache"}
    for _ in range(2):
        book.forget()
        file = sapwood.open("parallel://a.root", **options)
        assert same(file["events"].arrays(["x03", "x07"]), near[["x03", "x07"]])
        file.close()
    assert book.infos() >= 1 and book.calls() == []
    book.etag = "2"
    book.forget()
    assert same(sapwood.open("parallel://a.root", **options)["events"].arrays(["x03"]), near[["x03"]])
    assert book.calls()
    # The same name at another place is another file.
    book.forget()
    sapwood.open("parallel://a.root", storage_options={"endpoint_url": "http://elsewhere"}, **options)
    assert book.calls()


def test_passwords_are_not_shown() -> None:
    remote = filesystems.Remote(fsspec.filesystem("memory"), "/a.root", "ftp://me:secret@host/a.root")
    assert remote.name == "ftp://me@host/a.root" and "secret" not in repr(remote) + remote.cache_name


def test_files_can_be_pickled(near: Any) -> None:
    for place in ("memory://a.root", fsspec.open("memory://a.root"), "simplecache::memory://a.root"):
        tree = pickle.loads(pickle.dumps(sapwood.open(place)["events"]))
        assert same(tree.arrays(["x04"]), near[["x04"]])


def test_threads_do_not_wait_for_one_another(near: Any) -> None:
    tree = sapwood.open("parallel://a.root", threads=2)["events"]
    found: list[bool] = []

    def read(number: int) -> None:
        other = sapwood.open("vector://a.root", threads=2)
        name = f"x{number:02d}"
        found.append(
            same(tree.arrays([name]), near[[name]]) and same(other["events"].arrays([name]), near[[name]])
        )

    threads = [threading.Thread(target=read, args=(number,), daemon=True) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [True] * 8


def test_streams_of_arrow_are_read_with_the_lock_let_go(near: Any) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    for scheme in ("parallel", "plain"):
        table = pyarrow.table(sapwood.open(f"{scheme}://a.root", threads=2)["events"])
        assert table.column("x03").to_numpy().tolist() == near["x03"].to_list()


FAR = """
import fsspec
from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper
from fsspec.implementations.local import LocalFileSystem

class Far(AsyncFileSystemWrapper):
    protocol = "far"
    def __init__(self, **_):
        super().__init__(LocalFileSystem(), asynchronous=False)

fsspec.register_implementation("far", Far)
"""


def test_a_child_process_has_a_file_system_of_its_own(local: Path) -> None:
    child_reads(f"far://{local}", FAR)


def test_fsspec_reads_what_the_engine_knows_if_it_is_told_to(
    monkeypatch: pytest.MonkeyPatch, near: Any
) -> None:
    class Web(MemoryFileSystem):
        protocol = "https"

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            return "/" + path.rsplit("/", 1)[1]

    monkeypatch.setitem(registry._registry, "https", Web)
    url = "https://example.invalid/a.root"
    assert same(sapwood.open(f"{url}:events", handler="fsspec").arrays(["x01"]), near[["x01"]])
    assert same(sapwood.concatenate({url: "events"}, ["x01"], handler="fsspec"), near[["x01"]])
    with pytest.raises(ValueError, match="handler"):
        sapwood.open(url, handler="carrier pigeon")


def test_a_cache_does_not_take_equal_names_in_two_archives_for_one_file(tmp_path: Path) -> None:
    for number in (1, 2):
        made = io.BytesIO()
        with sapwood.recreate(made, compression=0, reproducible=True) as file:
            file["t"] = {"x": np.full(1000, number, dtype="i4")}
        with tarfile.open(tmp_path / f"{number}.tar", "w") as archive:
            about = tarfile.TarInfo("events.root")  # of the year 1970
            about.size = len(made.getvalue())
            archive.addfile(about, io.BytesIO(made.getvalue()))
    for number in (1, 2):
        inside = fsspec.open(f"tar://events.root::{tmp_path / f'{number}.tar'}")
        with sapwood.open(inside, cache="blocks", cache_dir=tmp_path / "kept") as file:
            assert set(file["t/x"].array(library="np")) == {number}


def test_a_file_that_is_open_for_writing_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "keep.root"
    path.write_bytes(b"what is there")
    for look in (sapwood.open, sapwood.verify):
        with pytest.raises(TypeError, match="'wb'"):
            look(fsspec.open(f"file://{path}", "wb"))
    assert path.read_bytes() == b"what is there"


def test_errors_show_no_passwords() -> None:
    for url in ("ftp://user:secret@127.0.0.1:1/x.root", "nowhere://user:secret@example.org/x.root"):
        with pytest.raises(sapwood.errors.SapwoodError) as found:
            sapwood.open(url)
        assert "secret" not in str(found.value) + str(found.value.file) and "user@" in str(found.value.file)


def test_names_with_colons_and_brackets(
    tmp_path: Path, content: bytes, near: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run::a").mkdir()
    (tmp_path / "run::a" / "1.root").write_bytes(content)
    assert same(sapwood.concatenate("run::a/*.root:events", ["x02"]), near[["x02"]])
    with pytest.raises(FileNotFoundError):
        sapwood.open("no::such.root")
    fsspec.filesystem("memory").pipe_file("/d/a[1].root", content)
    assert same(sapwood.open("memory://d/a[1].root")["events"].arrays(["x02"]), near[["x02"]])


def test_a_chain_may_end_with_a_relative_path(
    near: Any, local: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.write(local, "a.root")
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    assert same(sapwood.open("zip://a.root::a.zip")["events"].arrays(["x01"]), near[["x01"]])
    assert same(sapwood.open("zip://a.root:events::a.zip").arrays(["x01"]), near[["x01"]])
    monkeypatch.chdir(tmp_path / "sub")
    file = sapwood.open("zip://a.root::../a.zip")
    monkeypatch.chdir(tmp_path)
    assert same(file["events"].arrays(["x01"]), near[["x01"]]), "the folder of the call is what counts"
    with pytest.raises(FileNotFoundError):
        sapwood.open("zip://a.root::missing.zip")
