"""Files in buckets of a server that speaks S3, read by the command and in Python."""

from __future__ import annotations

import importlib.util
import os
import pickle
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import servers

sapwood = pytest.importorskip("sapwood")
from sapwood._remote import urls  # noqa: E402

ENTRIES = 40_000
SECONDS = 120


@dataclass
class Bucket:
    """A bucket, and a user who may read it."""

    endpoint: str
    log: Path
    client: Any
    key: str
    secret: str

    def environment(self, **changes: str) -> dict[str, str]:
        """Variables of the environment; an empty value removes one."""
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("AWS_", "http_proxy", "all_proxy"))
        }
        user = {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.key,
            "AWS_SECRET_ACCESS_KEY": self.secret,
        }
        return {**clean, **user, **changes}

    def requests(self) -> list[str]:
        """Method, path and status of all requests so far; forgets them."""
        plain = re.sub("\x1b\\[[0-9;]*m", "", self.log.read_text())
        os.truncate(self.log, 0)
        return [f"{asked} {status}" for asked, status in re.findall('"([^"]*) HTTP/1.1" ([0-9]+)', plain)]


def write(path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    with sapwood.recreate(path) as file:
        tree = file.mktree("events", {"x": "float64", "n": "int32"}, auto_flush=2_000)
        tree.extend({"x": random.normal(size=ENTRIES), "n": np.arange(ENTRIES, dtype="i4")})


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("s3")
    for seed, name in enumerate(("one.root", "two.root")):
        write(place / name, seed)
    return place


@pytest.fixture(scope="module")
def bucket(local: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    if not (importlib.util.find_spec("moto") and importlib.util.find_spec("flask")):
        servers.missing("moto", "python3-moto, or pip install 'moto[server]'")
    import boto3

    port, log = servers.free_port(), tmp_path_factory.mktemp("moto") / "output.log"
    endpoint = f"http://127.0.0.1:{port}"
    line = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with open(log, "ab") as output:
        process = subprocess.Popen(line, stdout=output, stderr=output)
    try:
        answers(process, f"{endpoint}/moto-api/", log)
        known = {"aws_access_key_id": "root", "aws_secret_access_key": "root", "region_name": "us-east-1"}
        s3, iam = (boto3.client(name, endpoint_url=endpoint, **known) for name in ("s3", "iam"))
        s3.create_bucket(Bucket="data")
        for name in ("one.root", "two.root"):
            s3.put_object(Bucket="data", Key=f"runs of 2026/{name}", Body=(local / name).read_bytes())
        iam.create_user(UserName="me")
        policy = (
            '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}'
        )
        iam.put_user_policy(UserName="me", PolicyName="reads", PolicyDocument=policy)
        made = iam.create_access_key(UserName="me")["AccessKey"]
        keys = {"aws_access_key_id": made["AccessKeyId"], "aws_secret_access_key": made["SecretAccessKey"]}
        compare_signatures(endpoint, after="0")
        client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **keys)
        yield Bucket(endpoint, log, client, *keys.values())
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def compare_signatures(endpoint: str, after: str) -> None:
    """After so many requests; `inf` for never."""
    request = urllib.request.Request(
        f"{endpoint}/moto-api/reset-auth", after.encode(), {"Content-Type": "text/plain"}
    )
    urllib.request.urlopen(request, timeout=30).close()


def answers(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Until the server answers."""
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"the server does not run: {log.read_text()[-2000:]}")


@pytest.fixture
def mine(bucket: Bucket, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bucket:
    """The bucket, and nothing in the environment or at home that says who asks."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    bucket.requests()
    return bucket


def said(bucket: Bucket) -> dict[str, Any]:
    """The same as `storage_options` say it."""
    return {"key": bucket.key, "secret": bucket.secret, "endpoint_url": bucket.endpoint}


def same(found: Any, path: Path) -> bool:
    here = sapwood.open(path)["events"].arrays(library="np")
    return all(np.array_equal(found[name], here[name]) for name in ("x", "n"))


def run(bucket: Bucket, *arguments: object, code: int = 0, **changes: str) -> tuple[str, str]:
    """What the command writes, to both of its outputs."""
    line = [sys.executable, "-m", "sapwood", *map(str, arguments)]
    environment = bucket.environment(**changes)
    done = subprocess.run(line, capture_output=True, text=True, env=environment, timeout=SECONDS)
    assert done.returncode == code, done
    assert bucket.secret not in done.stdout + done.stderr
    return done.stdout, done.stderr


ONE, TWO = "s3://data/runs of 2026/one.root", "s3://data/runs of 2026/two.root"


def near(*arguments: object) -> str:
    return subprocess.run(
        [sys.executable, "-m", "sapwood", *map(str, arguments)], check=True, capture_output=True, text=True
    ).stdout


def test_the_command_reads_as_it_reads_files_here(bucket: Bucket, local: Path) -> None:
    bucket.requests()
    assert run(bucket, "ls", ONE)[0] == near("ls", local / "one.root")
    opened = bucket.requests()
    assert len(opened) == 2 and all(
        line.startswith("GET /data/runs%20of%202026/one.root 206") for line in opened
    ), opened
    assert run(bucket, "scan", f"{ONE}:events", "-n", "50")[0] == near(
        "scan", f"{local / 'one.root'}:events", "-n", "50"
    )
    assert run(bucket, "dump", f"{ONE}:events")[0] == near("dump", f"{local / 'one.root'}:events")
    run(bucket, "verify", ONE)


def test_inputs_are_merged(bucket: Bucket, local: Path, tmp_path: Path) -> None:
    run(bucket, "merge", tmp_path / "both.root", ONE, TWO)
    both = sapwood.open(tmp_path / "both.root")["events"].arrays(library="np")
    each = [sapwood.open(local / name)["events"].arrays(library="np") for name in ("one.root", "two.root")]
    for name in ("x", "n"):
        assert np.array_equal(both[name], np.concatenate([one[name] for one in each]))


@pytest.mark.parametrize("kind", ["blocks", "whole"])
def test_what_a_cache_has_is_not_asked_for_again(
    bucket: Bucket, local: Path, tmp_path: Path, kind: str
) -> None:
    arguments = ("dump", f"{ONE}:events", "--cache", kind, "--cache-dir", tmp_path / "cache")
    first, _ = run(bucket, *arguments)
    bucket.requests()
    assert run(bucket, *arguments)[0] == first == near("dump", f"{local / 'one.root'}:events")
    assert len(bucket.requests()) <= 2
    listed, _ = run(bucket, "cache", "ls", "--dir", tmp_path / "cache")
    assert "s3://data/runs%20of%202026/one.root" in listed and bucket.key not in listed


def test_errors_say_what_is_wrong_and_show_no_keys(bucket: Bucket) -> None:
    for url, word in (("s3://data/none.root", "NoSuchKey"), ("s3://none/one.root", "NoSuchBucket")):
        _, error = run(bucket, "ls", url, code=1)
        assert (
            f"404 Not Found: {word}" in error
            and bucket.endpoint.removeprefix("http://") in error
            and url in error
        ), error
    wrong = (
        ("AWS_SECRET_ACCESS_KEY", ": SignatureDoesNotMatch"),
        ("AWS_ACCESS_KEY_ID", ": InvalidAccessKeyId"),
        ("AWS_SKIP_SIGNATURE", ""),
    )
    for name, word in wrong:
        _, error = run(bucket, "ls", ONE, code=1, **{name: "true"})
        assert f"403 Forbidden{word}" in error and ONE in error and bucket.key not in error, error
    # There are no credentials, and the service that a machine of the cloud would ask is not there.
    nobody = {
        "AWS_ACCESS_KEY_ID": "",
        "AWS_SECRET_ACCESS_KEY": "",
        "AWS_METADATA_ENDPOINT": f"http://127.0.0.1:{servers.free_port()}",
    }
    _, error = run(bucket, "ls", ONE, code=1, **nobody)
    assert "no credentials" in error, error
    _, error = run(bucket, "ls", "s3://me:sesame@data/one.root", code=1)
    assert "sesame" not in error, error


def test_a_signed_url_is_read_though_several_ranges_are_answered_with_the_whole_file(
    bucket: Bucket, local: Path
) -> None:
    url = bucket.client.generate_presigned_url(
        "get_object", {"Bucket": "data", "Key": "runs of 2026/one.root"}
    )
    compare_signatures(bucket.endpoint, after="inf")  # those in URLs it cannot compare
    try:
        found = sapwood.open(url)["events"].arrays(library="np")
    finally:
        compare_signatures(bucket.endpoint, after="0")
    here = sapwood.open(local / "one.root")["events"].arrays(library="np")
    assert all(np.array_equal(found[name], here[name]) for name in ("x", "n"))


@pytest.mark.parametrize("who", ["with its token", "anybody"])
def test_a_proxy_reads_with_its_own_keys_for_those_alone_who_show_its_token(
    bucket: Bucket, local: Path, tmp_path: Path, who: str
) -> None:
    token = tmp_path / "token"
    token.write_text("sesame")
    own = ["--token-file", str(token)] if who == "with its token" else []
    line = [
        sys.executable,
        "-m",
        "sapwood",
        "proxy",
        "--upstream",
        "s3://data",
        "--cache-dir",
        str(tmp_path / "cache"),
        *own,
    ]
    process = subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=bucket.environment()
    )
    assert process.stdout and process.stderr
    try:
        url = process.stdout.readline().strip() + "/runs%20of%202026/one.root"
        if own:
            found = sapwood.open(url, token="sesame")["events"].arrays(library="np")
            assert np.array_equal(
                found["x"], sapwood.open(local / "one.root")["events"].arrays(library="np")["x"]
            )
        else:
            with pytest.raises(sapwood.SapwoodError, match="40[13]"):
                sapwood.open(url)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def test_python_reads_as_the_environment_says(
    mine: Bucket, local: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in mine.environment().items():
        if name.startswith("AWS_"):
            monkeypatch.setenv(name, value)
    file = sapwood.open(ONE)
    opened = mine.requests()
    assert len(opened) == 2 and all(line.startswith("GET ") and line.endswith(" 206") for line in opened), (
        opened
    )
    assert same(file["events"].arrays(library="np"), local / "one.root")
    assert same(pickle.loads(pickle.dumps(file))["events"].arrays(library="np"), local / "one.root")


def test_whoever_set_fsspec_up_is_served_by_it(
    mine: Bucket, local: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fsspec

    assert not urls.by_fsspec(ONE)
    monkeypatch.setenv("FSSPEC_S3_ANON", "false")
    assert urls.by_fsspec(ONE)
    monkeypatch.setitem(fsspec.config.conf, "s3", said(mine))
    assert same(sapwood.open(ONE)["events"].arrays(library="np"), local / "one.root")


def test_whoever_may_not_list_is_told(mine: Bucket) -> None:
    with pytest.raises(
        sapwood.errors.IOError, match=r"does not list what 's3://bucket/\*\.root' matches"
    ) as caught:
        sapwood.concatenate("s3://bucket/*.root:events", storage_options=said(mine) | {"key": "nobody"})
    assert caught.value.kind == "denied" and caught.value.file == "s3://bucket/*.root"


@pytest.mark.parametrize("how", ["plain", "client_kwargs", "profile"])
def test_storage_options_say_who_asks(mine: Bucket, local: Path, tmp_path: Path, how: str) -> None:
    options = said(mine)
    if how == "client_kwargs":
        endpoint = options.pop("endpoint_url")
        options |= {
            "anon": False,
            "token": None,
            "client_kwargs": {"endpoint_url": endpoint, "region_name": "us-east-1"},
        }
    elif how == "profile":
        (tmp_path / ".aws").mkdir()
        keys = f"aws_access_key_id = {mine.key}\naws_secret_access_key = {mine.secret}\n"
        (tmp_path / ".aws" / "credentials").write_text(f"[default]\naws_access_key_id = nobody\n[me]\n{keys}")
        (tmp_path / ".aws" / "config").write_text(
            f"[profile me]\nregion = us-east-1\nendpoint_url = {mine.endpoint}\n"
        )
        options = {"profile": "me"}
    assert same(
        sapwood.open(f"{ONE}:events", storage_options=options).arrays(library="np"), local / "one.root"
    )
    asked = mine.requests()
    assert asked and all(line.startswith("GET ") and line.endswith(" 206") for line in asked), (
        "the engine asks for ranges alone"
    )
    both = sapwood.concatenate([f"{ONE}:events", f"{TWO}:events"], library="np", storage_options=options)
    each = [sapwood.open(local / name)["events"].arrays(library="np") for name in ("one.root", "two.root")]
    assert all(np.array_equal(both[name], np.concatenate([one[name] for one in each])) for name in ("x", "n"))
    steps = sapwood.iterate(f"{ONE}:events", library="np", step_size=ENTRIES, storage_options=options)
    assert same(next(iter(steps)), local / "one.root")


def test_a_cache_keeps_what_python_read(mine: Bucket, local: Path, tmp_path: Path) -> None:
    for _ in range(2):
        mine.requests()
        file = sapwood.open(ONE, storage_options=said(mine), cache="blocks", cache_dir=tmp_path / "cache")
        assert same(file["events"].arrays(library="np"), local / "one.root")
    assert len(mine.requests()) == 1


def test_wrong_keys_are_errors_that_do_not_show_them(mine: Bucket) -> None:
    for name in ("key", "secret"):
        with pytest.raises(sapwood.SapwoodError, match="403 Forbidden") as caught:
            sapwood.open(ONE, storage_options={**said(mine), name: "geheim"})
        words = str(caught.value)
        assert ONE in words and all(secret not in words for secret in ("geheim", mine.key, mine.secret))
    with pytest.raises(FileNotFoundError, match="NoSuchKey"):
        sapwood.open("s3://data/none.root", storage_options=said(mine))


@pytest.mark.parametrize("how", [{"handler": "fsspec"}, {"cache_regions": False}])
def test_fsspec_reads_where_it_is_told_to(mine: Bucket, local: Path, how: dict[str, Any]) -> None:
    pytest.importorskip("s3fs")
    options = {**said(mine), **{name: value for name, value in how.items() if name != "handler"}}
    others = {name: value for name, value in how.items() if name == "handler"}
    found = sapwood.open(f"{ONE}:events", storage_options=options, **others)
    assert same(found.arrays(library="np"), local / "one.root")
    assert any(line.startswith("HEAD ") for line in mine.requests())


def test_wildcards_are_listed_by_fsspec_and_read_by_the_engine(mine: Bucket, local: Path) -> None:
    pytest.importorskip("s3fs")
    for pattern in ("*.root", "{one,two}.root"):
        found = sapwood.concatenate(
            f"s3://data/runs of 2026/{pattern}:events", ["n"], library="np", storage_options=said(mine)
        )
        assert len(found["n"]) == 2 * ENTRIES
    assert not any(line.startswith("HEAD ") for line in mine.requests())


def test_what_is_missing_says_what_the_engine_would_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(NotImplementedError, match="pip install fsspec.*reads s3:// itself.*requester_pays"):
        sapwood.open(ONE, storage_options={"anon": True, "requester_pays": True})
    with pytest.raises(NotImplementedError, match="pip install fsspec.*reads s3:// itself.*wildcards"):
        sapwood.open("s3://data/*.root", storage_options={"anon": True})


@pytest.mark.parametrize("what", ["keys", "role", "nobody"])
def test_the_command_reads_profiles(bucket: Bucket, tmp_path: Path, what: str) -> None:
    config, credentials = tmp_path / "config", tmp_path / "credentials"
    config.write_text(
        f"[profile me]\nendpoint_url = {bucket.endpoint}\n[profile other]\nrole_arn = arn:aws:iam::1:role/x\n"
    )
    credentials.write_text(
        f"[me]\naws_access_key_id = {bucket.key}\naws_secret_access_key = {bucket.secret}\n"
    )
    files = {"AWS_CONFIG_FILE": str(config), "AWS_SHARED_CREDENTIALS_FILE": str(credentials)}
    nothing = dict.fromkeys(("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "")
    if what == "keys":
        assert "events" in run(bucket, "ls", ONE, **nothing, **files, AWS_PROFILE="me")[0]
        # Variables win.
        _, error = run(
            bucket,
            "ls",
            ONE,
            code=1,
            **{**nothing, "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y"},
            **files,
            AWS_PROFILE="me",
        )
        assert "InvalidAccessKeyId" in error
    else:
        profile, words = (
            ("other", "export-credentials --profile other")
            if what == "role"
            else ("none", 'the profile "none" is neither')
        )
        assert words in run(bucket, "ls", ONE, code=1, **nothing, **files, AWS_PROFILE=profile)[1]


def test_buckets_and_their_folders_are_browsed(mine: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    from support.browser import browsing

    for name, value in mine.environment().items():
        monkeypatch.setenv(name, value)
    with browsing("s3://data", "s3://data/runs of 2026/", "s3://none/") as served:
        assert served.ask("list", file="0")["ids"] == ["0/runs of 2026/"]
        files = served.ask("list", file="0/runs of 2026/")
        assert files["names"] == served.ask("list", file="1")["names"] == ["one.root", "two.root"]
        assert served.ask("list", file=files["ids"][0])["names"] == ["events;1"]
        with pytest.raises(AssertionError, match="no such bucket"):
            served.ask("list", file="2")
