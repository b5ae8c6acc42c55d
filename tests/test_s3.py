"""Files in buckets of a server that speaks S3, read by the command."""

from __future__ import annotations

import importlib.util
import os
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

import servers

sapwood = pytest.importorskip("sapwood")

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
        """What the user has in his environment; an empty value takes one away."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "http_proxy", "all_proxy"))}
        user = {"AWS_ENDPOINT_URL": self.endpoint, "AWS_ACCESS_KEY_ID": self.key, "AWS_SECRET_ACCESS_KEY": self.secret}
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
        policy = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}'
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
    request = urllib.request.Request(f"{endpoint}/moto-api/reset-auth", after.encode(), {"Content-Type": "text/plain"})
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
    return subprocess.run([sys.executable, "-m", "sapwood", *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def test_the_command_reads_as_it_reads_files_here(bucket: Bucket, local: Path) -> None:
    bucket.requests()
    assert run(bucket, "ls", ONE)[0] == near("ls", local / "one.root")
    opened = bucket.requests()
    assert len(opened) == 2 and all(line.startswith("GET /data/runs%20of%202026/one.root 206") for line in opened), opened
    assert run(bucket, "scan", f"{ONE}:events", "-n", "50")[0] == near("scan", f"{local / 'one.root'}:events", "-n", "50")
    assert run(bucket, "dump", f"{ONE}:events")[0] == near("dump", f"{local / 'one.root'}:events")
    run(bucket, "verify", ONE)


def test_inputs_are_merged(bucket: Bucket, local: Path, tmp_path: Path) -> None:
    run(bucket, "merge", tmp_path / "both.root", ONE, TWO)
    both = sapwood.open(tmp_path / "both.root")["events"].arrays(library="np")
    each = [sapwood.open(local / name)["events"].arrays(library="np") for name in ("one.root", "two.root")]
    for name in ("x", "n"):
        assert np.array_equal(both[name], np.concatenate([one[name] for one in each]))


@pytest.mark.parametrize("kind", ["blocks", "whole"])
def test_what_a_cache_has_is_not_asked_for_again(bucket: Bucket, local: Path, tmp_path: Path, kind: str) -> None:
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
        assert f"404 Not Found: {word}" in error and bucket.endpoint.removeprefix("http://") in error and url in error, error
    wrong = ("AWS_SECRET_ACCESS_KEY", ": SignatureDoesNotMatch"), ("AWS_ACCESS_KEY_ID", ": InvalidAccessKeyId"), ("AWS_SKIP_SIGNATURE", "")
    for name, word in wrong:
        _, error = run(bucket, "ls", ONE, code=1, **{name: "true"})
        assert f"403 Forbidden{word}" in error and ONE in error and bucket.key not in error, error
    # Nobody says who asks, and the service that a machine of the cloud would ask is not there.
    nobody = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_METADATA_ENDPOINT": f"http://127.0.0.1:{servers.free_port()}"}
    _, error = run(bucket, "ls", ONE, code=1, **nobody)
    assert "no proof of who asks" in error, error
    _, error = run(bucket, "ls", "s3://me:sesame@data/one.root", code=1)
    assert "sesame" not in error, error


def test_a_signed_url_is_read_though_several_ranges_are_answered_with_the_whole_file(bucket: Bucket, local: Path) -> None:
    url = bucket.client.generate_presigned_url("get_object", {"Bucket": "data", "Key": "runs of 2026/one.root"})
    compare_signatures(bucket.endpoint, after="inf")  # those in URLs it cannot compare
    try:
        found = sapwood.open(url)["events"].arrays(library="np")
    finally:
        compare_signatures(bucket.endpoint, after="0")
    here = sapwood.open(local / "one.root")["events"].arrays(library="np")
    assert all(np.array_equal(found[name], here[name]) for name in ("x", "n"))


@pytest.mark.parametrize("who", ["with its token", "anybody"])
def test_a_proxy_reads_with_its_own_keys_for_those_alone_who_show_its_token(bucket: Bucket, local: Path, tmp_path: Path, who: str) -> None:
    token = tmp_path / "token"
    token.write_text("sesame")
    own = ["--token-file", str(token)] if who == "with its token" else []
    line = [sys.executable, "-m", "sapwood", "proxy", "--upstream", "s3://data", "--cache-dir", str(tmp_path / "cache"), *own]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=bucket.environment())
    assert process.stdout and process.stderr
    try:
        url = process.stdout.readline().strip() + "/runs%20of%202026/one.root"
        if own:
            found = sapwood.open(url, token="sesame")["events"].arrays(library="np")
            assert np.array_equal(found["x"], sapwood.open(local / "one.root")["events"].arrays(library="np")["x"])
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
