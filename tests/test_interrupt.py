"""Ctrl-C ends a wait for a server long before its time limit, wherever the read waits."""

from __future__ import annotations

import contextlib
import http.server
import io
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sapwood

#: What the client is told to wait at most.
TIMEOUT = 60
#: Far below that, and far above what a busy machine takes.
SOON = 15
ENTRIES = 40_000


class Falling(http.server.ThreadingHTTPServer):
    """A server that knows single ranges, and says nothing more once it ``is_silent``, or about a file of that name."""

    daemon_threads = True

    def __init__(self, content: bytes) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = content
        self.answers = 0
        self.most_answers = 1 << 30
        self.is_waited_for = threading.Event()
        self.is_over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Falling

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        server = self.server
        if "silent" in self.path or server.answers >= server.most_answers:
            server.is_waited_for.set()
            server.is_over.wait(2 * TIMEOUT)
            self.close_connection = True
            return
        server.answers += 1
        size = len(server.content)
        first, _, last = (
            self.headers.get("Range", f"bytes=0-{size - 1}")
            .removeprefix("bytes=")
            .split(",")[0]
            .partition("-")
        )
        start, stop = (int(first), int(last or size - 1) + 1) if first else (size - int(last), size)
        start, stop = max(start, 0), min(stop, size)
        self.send_response(206)
        self.send_header("ETag", '"same"')
        self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{size}")
        self.send_header("Content-Length", str(stop - start))
        self.end_headers()
        self.wfile.write(server.content[start:stop])


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("far") / "events.root"
    random = np.random.default_rng(1)
    with sapwood.recreate(path, compression=None) as file:
        # So large that opening does not bring all of it.
        file.mktree("events", {name: random.random(ENTRIES) for name in "abcdefgh"})
    return path.read_bytes()


@pytest.fixture
def server(content: bytes) -> Iterator[Falling]:
    server = Falling(content)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.is_over.set()
        server.shutdown()
        server.server_close()


@pytest.fixture
def silent(server: Falling) -> Iterator[str]:
    """The address of a root server that takes a connection, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(2 * TIMEOUT)

        def accept() -> None:
            with contextlib.suppress(OSError):  # nothing has connected
                connection, _ = listening.accept()
                server.is_waited_for.set()
                with connection:
                    server.is_over.wait(2 * TIMEOUT)

        threading.Thread(target=accept, daemon=True).start()
        yield f"root://127.0.0.1:{listening.getsockname()[1]}"
        # Wakes the thread that still waits for a connection.
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        server.is_over.set()


OPEN = "tree = sapwood.open(url + '/events.root', timeout={timeout}, retries=5)['events']"
CASES = {
    "opening": "sapwood.open(url + '/silent.root', timeout={timeout})",
    "columns": OPEN + "; ready(); tree.arrays(['a', 'h'])",
    "one thread": OPEN.replace("retries", "threads=1, retries") + "; ready(); tree.arrays(['a', 'h'])",
    "steps": OPEN + "; ready(); next(tree.iterate(['a'], step_size=1000))",
    "rows": OPEN + "; ready(); tree.rows()[17]['a']",
    "a cut": OPEN + "; ready(); tree.arrays(['a'], cut='b > 0.5')",
    "a histogram": OPEN + "; ready(); tree.draw('a', bins=(10, 0, 1))",
    "arrow": OPEN + "; import pyarrow; ready(); pyarrow.table(tree)",
    "merging": "sapwood.merge('all.root', [url + '/events.root', url + '/silent.root'], timeout={timeout})",
    "processing": OPEN + "; ready(); sapwood.process(tree, Nothing(), step_size=5000)",
    "converting open files": OPEN
    + "; more = sapwood.open(url + '/more.root', timeout={timeout})['events']"
    + "; ready(); sapwood.convert([tree, more], 'out/', format='csv', jobs=2)",
    "converting files": (
        "sapwood.convert([url + '/silent1.root:t', url + '/silent2.root:t'], 'out/', format='csv', jobs=2,"
        " timeout={timeout})"
    ),
    "a root server": "sapwood.open(sys.argv[2] + '//silent.root', timeout={timeout})",
}
CODE = """
import sys, pathlib, sapwood
url = sys.argv[1]
def ready():
    print("ready", flush=True)
    sys.stdin.readline()
class Nothing(sapwood.Selector):
    columns = ["a", "h"]
    def process(self, batch):
        return 0
try:
    try:
        {body}
    except Exception as error:
        # Of a stream, pyarrow makes an error of its own, which Ctrl-C follows.
        print(error, flush=True)
except KeyboardInterrupt:
    print("heard", flush=True)
"""


@pytest.mark.parametrize("case", CASES)
def test_ctrl_c_ends_a_wait(server: Falling, silent: str, tmp_path: Path, case: str) -> None:
    if case == "arrow" or "converting" in case:
        pytest.importorskip("pyarrow")
    code = CODE.format(body=CASES[case].format(timeout=TIMEOUT))
    process = subprocess.Popen(
        [sys.executable, "-c", code, server.url, silent],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        if "ready()" in code.split("try:")[2]:
            assert process.stdout is not None and process.stdin is not None
            assert process.stdout.readline() == "ready\n", process.communicate()[1]
            server.most_answers = server.answers
            process.stdin.write("\n")
            process.stdin.flush()
        assert server.is_waited_for.wait(30), "the client asked nothing"
        time.sleep(0.3)
        assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SOON)
        assert out.endswith("heard\n"), (out, err)
        assert process.returncode == 0
        assert not list(tmp_path.glob("*.root")), "what was not finished has no name"
    finally:
        process.kill()
        process.communicate()


#: What compresses for minutes; the file that was begun is whole, and holds the clusters that were written.
WRITING = {
    "a table": "with file: file['t'] = {'x': x}",
    "a tree": "with file: file.mktree('t', {'x': 'f8'}).extend({'x': x})",
    "an RNTuple": "with file: file.mkrntuple('t', {'x': x})",
    "rewriting": "sapwood.rewrite(source, 'out.root', compression='lzma:9')",
    "rewriting in one thread": "sapwood.rewrite(source, 'out.root', compression='lzma:9', threads=1)",
    "rewriting an RNTuple": "sapwood.rewrite(ntuple, 'out.root', compression='lzma:9')",
    "merging": "sapwood.merge('out.root', [source], compression='lzma:9', recluster=True)",
}
WRITING_CODE = """
import numpy as np
import sapwood
x = np.random.default_rng(1).normal(size=20_000_000)
source, ntuple = "source.root", "ntuple.root"
if "out.root" in {body!r}:
    for path, format in ((source, "ttree"), (ntuple, "rntuple")):
        with sapwood.recreate(path, compression=None, format=format) as made:
            made["t"] = {{"x": x}}
else:
    file = sapwood.recreate("begun.root", compression="lzma:9")
print("ready", flush=True)
try:
    {body}
    print("done", flush=True)
except KeyboardInterrupt:
    print("heard", flush=True)
"""


@pytest.mark.parametrize("case", WRITING)
def test_ctrl_c_ends_long_writes(tmp_path: Path, case: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITING_CODE.format(body=WRITING[case])],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", process.communicate()[1]
        time.sleep(0.5)
        assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=SOON)
        assert out == "heard\n", (out, err)
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()
    left = {path.name for path in tmp_path.iterdir()} - {"source.root", "ntuple.root"}
    assert left <= {"begun.root"}, "what was not finished has no name"
    for name in left:
        found = sapwood.verify(tmp_path / name)
        assert not found.damaged, [str(finding) for finding in found]


class Alarm(Exception):
    """What a handler of a signal raises."""


@pytest.mark.parametrize("format", ["ttree", "rntuple"])
def test_what_a_handler_raises_gives_up_the_rows_of_its_call(tmp_path: Path, format: str) -> None:
    def handler(*_: Any) -> None:
        with pytest.raises(sapwood.errors.MismatchError, match="signal handlers"):
            writer.flush()
        raise Alarm

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with sapwood.recreate(tmp_path / "a.root", compression="lzma:9") as file:
            begin = file.mktree if format == "ttree" else file.mkrntuple
            writer = begin("t", {"x": "f8"}, cluster_bytes="8 MB")
            writer.extend({"x": np.arange(10.0)})
            values = np.random.default_rng(1).normal(size=20_000_000)
            signal.setitimer(signal.ITIMER_REAL, 0.7)
            with pytest.raises(Alarm):
                writer.extend({"x": values})
            taken = writer.num_entries
            writer.extend({"x": [1.5]})
        with sapwood.open(tmp_path / "a.root") as file:
            found = file["t"].arrays(library="np")["x"]
    finally:
        signal.signal(signal.SIGALRM, before)
    assert len(found) == taken + 1 and 10 <= taken < 20_000_010
    assert found[:10].tolist() == [*range(10)] and found[-1] == 1.5


def test_what_was_saved_in_memory_is_there_after_ctrl_c() -> None:
    memory = io.BytesIO()
    file = sapwood.recreate(memory, compression="lzma:9")
    tree = file.mktree("t", {"x": "f8"})
    tree.extend({"x": np.arange(1_000.0)})
    tree.flush()
    tree.extend({"x": np.random.default_rng(1).normal(size=12_000_000)})
    timer = threading.Timer(0.3, signal.raise_signal, (signal.SIGINT,))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            file.close()
            time.sleep(SOON)  # it arrives at the latest here
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert sapwood.open(memory)["t"].num_entries >= 1_000


def test_what_ends_a_call_before_it_begins_gives_up_nothing(tmp_path: Path) -> None:
    with sapwood.recreate(tmp_path / "a.root") as file:
        ntuple = file.mkrntuple("t", {"x": "f8"})
        ntuple.extend({"x": [1.0, 2.0]})
        engine = ntuple._core
        assert engine.give_up(engine.taken()) == 0
        assert engine.give_up(0) == 2 and engine.taken() == 0
        ntuple.extend({"x": [3.0]})
    with sapwood.open(tmp_path / "a.root") as file:
        assert file["t/x"].array().to_list() == [3.0]
