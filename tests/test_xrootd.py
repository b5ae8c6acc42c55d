"""Files on real XRootD servers, over root:// and roots://."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import servers
from support.forked import child_reads

sapwood = pytest.importorskip("sapwood")
ak = pytest.importorskip("awkward")

ENTRIES = 200_000
CORPUS = Path(os.environ.get("SAPWOOD_CORPUS") or Path(__file__).resolve().parents[2] / "shared" / "corpus")


def write(path: Path) -> None:
    """A file of a dozen branches in many clusters."""
    random = np.random.default_rng(2)
    columns = {f"x{i:02d}": random.normal(size=ENTRIES).astype("f4") for i in range(12)}
    counts = random.integers(0, 4, ENTRIES)
    with sapwood.recreate(path, compression="lz4:4") as file:
        tree = file.mktree(
            "events", {**{name: "float32" for name in columns}, "hits": "var * int32"}, auto_flush=4_000
        )
        tree.extend({**columns, "hits": ak.unflatten(np.arange(counts.sum(), dtype="i4"), counts)})
        file["text"] = "hello"


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("xrootd") / "data.root"
    write(path)
    return path


def put(server: servers.Server, path: Path, name: str) -> None:
    shutil.copyfile(path, server.data / name)
    os.chmod(server.data / name, 0o644)


@pytest.fixture(scope="module")
def server(local: Path) -> Iterator[servers.Server]:
    with servers.serving("xrootd") as found:
        put(found, local, "data.root")
        (found.data / "empty.root").write_bytes(b"")
        (found.data / "folder.root").mkdir(mode=0o755)
        yield found


@pytest.fixture(scope="module")
def secure(local: Path) -> Iterator[servers.Server]:
    """All that is said to it is TLS."""
    with servers.serving("xrootd", recipe="xrootd-tls.cfg") as found:
        put(found, local, "data.root")
        yield found


def same(one: Any, other: Any) -> bool:
    return bool(ak.array_equal(one, other, equal_nan=True))


def test_a_tree_is_what_it_is_on_disk(server: servers.Server, local: Path) -> None:
    near = sapwood.open(local)
    for threads in (1, 2):
        far = sapwood.open(f"{server.root_url}//data.root", threads=threads)
        assert far.keys() == near.keys() and far["text"] == near["text"]
        assert same(far["events"].arrays(), near["events"].arrays())
        some = [(i, i + 3) for i in range(0, ENTRIES, 9_999)]
        wanted = {"entries": some, "filter_name": ["x03", "hits"]}
        assert same(far["events"].arrays(**wanted), near["events"].arrays(**wanted))


def content(file: Any, name: str, key: str) -> Any:
    """What is under a key: arrays of a tree, else the object's words, else the kind of error."""
    try:
        found = file[key]
        return (
            found.arrays()
            if hasattr(found, "arrays")
            else (type(found).__name__, repr(found).replace(name, ""))
        )
    except sapwood.errors.SapwoodError as error:
        return type(error)


@pytest.mark.filterwarnings("ignore:left out")
def test_files_of_the_corpus_are_what_they_are_on_disk(server: servers.Server) -> None:
    # All of them where time is no matter.
    paths = sorted(CORPUS.glob("*.root"))[:: 1 if os.environ.get("CI") == "true" else 4]
    if not paths:
        pytest.skip("the corpus of real files is not here (set SAPWOOD_CORPUS)")
    trees = 0
    for path in paths:
        put(server, path, path.name)
        url = f"{server.root_url}//{path.name}"
        try:
            near = sapwood.open(path)
        except sapwood.errors.SapwoodError as error:
            with pytest.raises(type(error)):
                sapwood.open(url)
            continue
        far = sapwood.open(url)
        assert far.keys() == near.keys(), path.name
        for key in near.keys():
            one, other = content(near, str(path), key), content(far, url, key)
            if isinstance(one, ak.Array):
                trees += 1
                assert isinstance(other, ak.Array) and one.type == other.type, (path.name, key)
                assert same(one, other), (path.name, key)
            else:
                assert one == other, (path.name, key)
    assert trees > 10


def test_the_bytes_are_those_of_xrdcp(server: servers.Server, local: Path, tmp_path: Path) -> None:
    xrdcp = servers.program("xrdcp")
    subprocess.run(
        [xrdcp, "-s", f"{server.root_url}//data.root", tmp_path / "copy.root"], check=True, timeout=60
    )
    assert (tmp_path / "copy.root").read_bytes() == local.read_bytes()
    copied, far = sapwood.open(tmp_path / "copy.root"), sapwood.open(f"{server.root_url}//data.root")
    assert same(copied["events"].arrays(), far["events"].arrays())


def test_long_reads_begin_and_end_inside_of_pages(server: servers.Server, tmp_path: Path) -> None:
    x = np.random.default_rng(3).normal(size=3_000_000)
    with sapwood.recreate(tmp_path / "long.root", compression=None) as file:
        file.mktree("t", {"x": "float64"}, auto_flush=1_000_000).extend({"x": x})
    put(server, tmp_path / "long.root", "long.root")
    tree = sapwood.open(f"{server.root_url}//long.root")["t"]
    for start, stop in [(0, len(x)), (1, 999_999), (123_457, 2_345_678), (999_999, 1_000_001)]:
        assert np.array_equal(
            tree["x"].array(entry_start=start, entry_stop=stop, library="np"), x[start:stop]
        )


@pytest.mark.parametrize("kind", ["clear", "tls", "name"])
def test_several_connections_bring_the_same(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XRD_SUBSTREAMSPERCHANNEL", "4")
    recipe = {"clear": None, "tls": "xrootd-tls.cfg", "name": "xrootd-unix.cfg"}[kind]
    x = np.random.default_rng(3).normal(size=3_000_000)
    with servers.serving("xrootd", recipe=recipe) as server:
        with sapwood.recreate(server.data / "long.root", compression=None) as file:
            file.mktree("t", {"x": "float64"}, auto_flush=1_000_000).extend({"x": x})
        os.chmod(server.data / "long.root", 0o644)
        trusted = {"authorities": server.place / "authority.pem"} if kind == "tls" else {}
        tree = sapwood.open(f"{server.root_url}//long.root", **trusted)["t"]
        log = next(server.place.rglob("xrootd.log"))
        until = time.monotonic() + 10
        while (text := log.read_text(errors="replace")).count(" bound") < 3:
            assert time.monotonic() < until, text[-2000:]
            time.sleep(0.05)
        for start, stop in [(0, len(x)), (1, 999_999), (123_457, 2_345_678)]:
            assert np.array_equal(
                tree["x"].array(entry_start=start, entry_stop=stop, library="np"), x[start:stop]
            )


def test_objects_are_named_in_urls_and_files_are_many(server: servers.Server, local: Path) -> None:
    assert sapwood.open(f"{server.root_url}//data.root:events").num_entries == ENTRIES
    steps = list(
        sapwood.iterate(
            [f"{server.root_url}//data.root:events", f"{local}:events"], ["x00"], step_size=ENTRIES
        )
    )
    assert len(steps) == 2 and same(*steps)
    assert sapwood.verify(f"{server.root_url}//data.root") == []


def test_what_is_not_there_is_no_file(server: servers.Server) -> None:
    with pytest.raises(FileNotFoundError, match=r"127\.0\.0\.1.*no such file"):
        sapwood.open(f"{server.root_url}//missing.root")
    with pytest.raises(sapwood.errors.MalformedError):
        sapwood.open(f"{server.root_url}//empty.root")
    with pytest.raises(sapwood.errors.SapwoodError, match="directory"):
        sapwood.open(f"{server.root_url}//folder.root")


def test_a_file_that_changes_is_an_error(server: servers.Server, local: Path) -> None:
    put(server, local, "changing.root")
    tree = sapwood.open(f"{server.root_url}//changing.root")["events"]
    tree.arrays(["x00"], entry_stop=10)
    with open(server.data / "changing.root", "ab") as file:
        file.write(b"more")
    time.sleep(1.1)  # so often is it looked at
    with pytest.raises(sapwood.errors.IOError, match="changed"):
        tree.arrays(["x05"])


def test_a_child_process_reads_on_connections_of_its_own(server: servers.Server) -> None:
    child_reads(f"{server.root_url}//data.root")


def test_the_command_takes_urls(server: servers.Server) -> None:
    command = [sys.executable, "-m", "sapwood"]
    done = subprocess.run(
        [*command, "ls", f"{server.root_url}//data.root"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0 and "events" in done.stdout, done.stderr
    scan = [*command, "scan", f"{server.root_url}//data.root:events", "x00", "-n", "3"]
    done = subprocess.run(scan, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_tls_is_spoken_where_the_server_wants_it(secure: servers.Server, local: Path) -> None:
    near = sapwood.open(local)["events"].arrays(["x00", "hits"])
    trusted = {"authorities": secure.place / "authority.pem", "retries": 1}
    for scheme in ("root", "roots"):
        url = f"{scheme}://{secure.root_url.split('://')[1]}//data.root"
        assert same(sapwood.open(url, **trusted)["events"].arrays(["x00", "hits"]), near), scheme
        with pytest.raises(sapwood.errors.IOError, match="denied.*(UnknownIssuer|certificate)"):
            sapwood.open(url)


def test_a_server_may_send_us_elsewhere(server: servers.Server, local: Path) -> None:
    target = server.root_url.split("://")[1]
    with servers.serving("xrootd", recipe="xrootd-redirect.cfg", target=target) as manager:
        far = sapwood.open(f"{manager.root_url}//data.root")
        assert same(far["events"].arrays(["x02"]), sapwood.open(local)["events"].arrays(["x02"]))
        with pytest.raises(FileNotFoundError, match=rf"{target} says"):
            sapwood.open(f"{manager.root_url}//missing.root")


def test_a_cache_in_front_of_a_server_is_read_cold_and_warm(local: Path) -> None:
    near = sapwood.open(local)["events"]
    some = {"filter_name": ["x00", "x07", "hits"]}
    apart = [(i, i + 3) for i in range(0, ENTRIES, 9_999)]
    with ExitStack() as both, ExitStack() as behind:
        server = behind.enter_context(servers.serving("xrootd"))
        put(server, local, "data.root")
        target = server.root_url.split("://")[1]
        cache = both.enter_context(servers.serving("xrootd", recipe="xcache.cfg", target=target))
        url = f"{cache.root_url}//data.root"
        cold = sapwood.open(url)["events"]
        assert same(cold.arrays(**some), near.arrays(**some))
        assert same(
            cold.arrays(entries=apart, filter_name=["x02"]), near.arrays(entries=apart, filter_name=["x02"])
        )
        behind.close()
        # No server is left that could be asked.
        with pytest.raises(sapwood.errors.IOError, match="no connection"):
            sapwood.open(f"{server.root_url}//data.root", retries=0)
        warm = sapwood.open(url)["events"]
        assert same(warm.arrays(**some), near.arrays(**some))
        assert same(
            warm.arrays(entries=apart, filter_name=["x02"]), near.arrays(entries=apart, filter_name=["x02"])
        )
        assert (cache.data / "data.root.cinfo").exists()
        with pytest.raises(sapwood.errors.IOError, match=cache.root_url.split("://")[1]):
            sapwood.open(url, timeout=1, retries=0)["events"].arrays(["x11"])


def test_a_server_that_goes_away_is_an_error_in_time(local: Path) -> None:
    with servers.serving("xrootd") as found:
        put(found, local, "data.root")
        tree = sapwood.open(f"{found.root_url}//data.root", timeout=2, retries=1)["events"]
        tree.arrays(["x00"], entry_stop=10)
    began = time.monotonic()
    with pytest.raises(sapwood.errors.IOError, match="no connection to 127"):
        tree.arrays(["x05"])
    assert time.monotonic() - began < 20


def test_tls_is_not_given_up(server: servers.Server) -> None:
    with pytest.raises(sapwood.errors.IOError, match="does not support TLS"):
        sapwood.open(f"roots://{server.root_url.split('://')[1]}//data.root")


def test_a_name_opens_what_asks_for_one(local: Path) -> None:
    with servers.serving("xrootd", recipe="xrootd-unix.cfg") as found:
        put(found, local, "data.root")
        for who in ("", "somebody@"):
            url = f"root://{who}{found.root_url.split('://')[1]}//data.root"
            assert sapwood.open(url)["events"].num_entries == ENTRIES


def test_a_token_opens_what_asks_for_one(local: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with servers.serving("xrootd", recipe="xrootd-ztn.cfg") as found:
        put(found, local, "data.root")
        trusted = {"authorities": found.place / "authority.pem", "retries": 1}
        token = servers.token(found.place)
        for scheme in ("root", "roots"):
            url = f"{scheme}://{found.root_url.split('://')[1]}//data.root"
            assert sapwood.open(url, token=token, **trusted)["events"].num_entries == ENTRIES
            with pytest.raises(sapwood.errors.IOError, match="denied.*ztn") as error:
                sapwood.open(url, token=token[:-4] + "AAAA", **trusted)
            assert token[:-4] not in str(error.value)
            with pytest.raises(sapwood.errors.IOError, match=r"by ztn; ztn: no token"):
                sapwood.open(url, **trusted)
            with pytest.raises(sapwood.errors.IOError, match="denied"):
                sapwood.open(url, token=servers.token(found.place, minutes=-10), **trusted)
            monkeypatch.setenv("BEARER_TOKEN", token)
            assert sapwood.open(url, **trusted)["events"].num_entries == ENTRIES
            monkeypatch.delenv("BEARER_TOKEN")


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines(keepends=True)


def keys(path: Path, text: str, mode: int = 0o600) -> dict[str, Path]:
    """A keytab with these lines, for `open`."""
    path.write_text(text)
    path.chmod(mode)
    return {"keytab": path}


@pytest.fixture(scope="module")
def locked(local: Path) -> Iterator[servers.Server]:
    """It admits clients that have one of its keys."""
    with servers.serving("xrootd", recipe="xrootd-sss.cfg") as found:
        put(found, local, "data.root")
        yield found


def test_a_key_opens_what_asks_for_one(locked: servers.Server, local: Path, tmp_path: Path) -> None:
    near, url = sapwood.open(local)["events"].arrays(), f"{locked.root_url}//data.root"
    both = lines(locked.place / "sss.keytab")
    assert len(both) == 2
    for number, text in enumerate([*both, "".join(both)]):
        far = sapwood.open(url, **keys(tmp_path / f"{number}.keytab", text))
        assert same(far["events"].arrays(), near)
    grouped = keys(tmp_path / "keytab.grp", both[0], 0o640)
    assert sapwood.open(url.replace("//", "//me@", 1), **grouped)["events"].num_entries == ENTRIES


def test_a_key_of_the_environment_is_shown(
    locked: servers.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{locked.root_url}//data.root"
    command = [sys.executable, "-m", "sapwood", "ls", url]
    monkeypatch.delenv("XrdSecSSSKT", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(
        sapwood.errors.IOError,
        match=r"by sss; sss: no keytab was named, the server's users have /etc/sapwood-users\.keytab",
    ):
        sapwood.open(url)
    assert subprocess.run(command, capture_output=True, timeout=60).returncode != 0
    (tmp_path / ".xrd").mkdir()
    keytab = tmp_path / ".xrd/sss.keytab"
    keys(keytab, lines(locked.place / "sss.keytab")[0])
    assert sapwood.open(url)["events"].num_entries == ENTRIES
    assert subprocess.run(command, capture_output=True, timeout=60).returncode == 0
    keytab.rename(tmp_path / "elsewhere")
    for name in ("XrdSecSSSKT", "XrdSecsssKT"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
        assert sapwood.open(url)["events"].num_entries == ENTRIES
        monkeypatch.setenv(name, "")


def test_a_key_that_does_not_do_is_an_error_that_hides_it(locked: servers.Server, tmp_path: Path) -> None:
    url = f"{locked.root_url}//data.root"
    line = lines(locked.place / "sss.keytab")[0]
    secret = line.split(" k:")[1].strip()
    other = secret[:-2] + ("00" if secret[-2:] != "00" else "01")
    for number, (text, mode, words) in enumerate(
        [
            (line.replace(secret, other), 0o600, "Unable to decrypt credentials"),
            (re.sub(r" N:\d+", " N:4711", line), 0o600, "Decryption key not found"),
            (line.replace("e:0", "e:1000"), 0o600, "the keys of the keytab are expired"),
            (line.replace(secret, secret[:-1]), 0o600, "line 1 of the keytab has a key that cannot be"),
            (line, 0o644, "others may read or write the keytab: its mode is 644 and should be 600"),
            (line, 0o640, "its mode is 640 and should be 600"),
            ("", 0o600, "the keytab has no keys"),
        ]
    ):
        with pytest.raises(sapwood.errors.IOError, match=words) as error:
            sapwood.open(url, retries=0, **keys(tmp_path / f"{number}.keytab", text, mode))
        said = repr(error.value) + str(error.value)
        assert error.value.kind == "denied" and "by sss" in said
        assert secret[:8] not in said and secret[-9:-1] not in said
    with pytest.raises(sapwood.errors.IOError, match="by sss.*missing.keytab"):
        sapwood.open(url, keytab=tmp_path / "missing.keytab")
