"""Files that are written to buckets of a server that speaks S3, by the command and in Python."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")
# Its fixtures: a server with a bucket.
from test_remote_writing import Cutting, kept  # noqa: E402
from test_s3 import Bucket, bucket, local, mine, run, said  # noqa: E402, F401

SMALL, LARGE = 10_000, 3_000_000


@pytest.fixture
def staging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for files on their way."""
    made = tmp_path / "staging"
    made.mkdir()
    monkeypatch.setenv("TMPDIR", str(made))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return made


@pytest.fixture
def clean(mine: Bucket) -> Iterator[Bucket]:  # noqa: F811
    """A bucket whose new files go away."""
    yield mine
    for one in mine.client.list_objects_v2(Bucket="data", Prefix="new/").get("Contents", []):
        mine.client.delete_object(Bucket="data", Key=one["Key"])


def noise(count: int) -> dict[str, np.ndarray]:
    """Values that no compression makes smaller."""
    return {"x": np.random.default_rng(count).random(count)}


def keys(bucket: Bucket) -> list[str]:  # noqa: F811
    found = bucket.client.list_objects_v2(Bucket="data", Prefix="new/")
    return [one["Key"] for one in found.get("Contents", [])]


@pytest.mark.parametrize("count", [SMALL, LARGE])
def test_a_file_is_one_request_or_parts(clean: Bucket, staging: Path, count: int) -> None:
    url, options = "s3://data/new/a b.root", said(clean)
    with sapwood.create(url, storage_options=options, compression=None) as file:
        file["t"] = noise(count)
        assert keys(clean) == [], "it has its name when it is whole"
    changes = [line for line in clean.requests() if not line.startswith(("GET ", "HEAD "))]
    if count == SMALL:
        assert changes == ["PUT /data/new/a%20b.root 200"]
    else:
        assert changes[0].startswith("POST /data/new/a%20b.root?uploads"), changes
        assert len([line for line in changes if "partNumber=" in line]) == 2 and len(changes) == 4, changes
    read = sapwood.open(f"{url}:t", storage_options=options)["x"].array(library="np")
    assert (read == noise(count)["x"]).all()
    with pytest.raises(FileExistsError, match="there is a file of that name"):
        sapwood.create(url, storage_options=options)
    with sapwood.recreate(url, storage_options=options) as file:
        file["t"] = {"x": [1.0]}
    with sapwood.update(url, storage_options=options) as file:
        file["t"].extend({"x": [2.0]})
    assert sapwood.open(f"{url}:t/x", storage_options=options).array().tolist() == [1, 2]
    assert os.listdir(staging) == []


@pytest.mark.parametrize("count", [SMALL, LARGE])
def test_what_others_wrote_meanwhile_stays_for_create(clean: Bucket, staging: Path, count: int) -> None:
    file = sapwood.create("s3://data/new/raced.root", storage_options=said(clean), compression=None)
    file["t"] = noise(count)
    clean.client.put_object(Bucket="data", Key="new/raced.root", Body=b"theirs")
    with pytest.raises(FileExistsError, match="there is a file of that name"):
        file.close()
    assert clean.client.get_object(Bucket="data", Key="new/raced.root")["Body"].read() == b"theirs"
    assert "Uploads" not in clean.client.list_multipart_uploads(Bucket="data")


@pytest.mark.parametrize("count", [SMALL, LARGE])
def test_a_server_that_dies_midway_leaves_nothing_with_the_name(
    clean: Bucket, staging: Path, count: int
) -> None:
    way = Cutting(clean.endpoint, 40_000 if count == SMALL else 10_000_000)
    options = {**said(clean), "endpoint_url": way.url}
    url = "s3://data/new/cut.root"
    file = sapwood.recreate(url, storage_options=options, compression=None, timeout=2, retries=1)
    file["t"] = noise(count)
    with pytest.raises(OSError, match="the file was not sent: .*no connection to 127.0.0.1") as caught:
        file.close()
    assert url in str(caught.value) and clean.secret not in str(caught.value)
    assert sapwood.open(kept(caught.value))["t"].num_entries == count
    assert keys(clean) == []


def test_refusals_are_told(clean: Bucket, staging: Path) -> None:
    for change, word in (
        ({"key": "nobody"}, "InvalidAccessKeyId"),
        ({"secret": "geheim"}, "SignatureDoesNotMatch"),
    ):
        with pytest.raises(OSError, match=word) as caught:
            sapwood.create("s3://data/new/refused.root", storage_options={**said(clean), **change})
        assert "geheim" not in str(caught.value) and clean.secret not in str(caught.value)
    file = sapwood.recreate("s3://none/a.root", storage_options=said(clean))
    file["t"] = noise(SMALL)
    words = "the file was not sent: the cloud refused.*NoSuchBucket"
    with pytest.raises(sapwood.errors.NotFoundError, match=words) as caught:
        file.close()
    assert sapwood.open(kept(caught.value))["t"].num_entries == SMALL
    assert keys(clean) == []


def test_merges_rewrites_and_skims_end_there(
    clean: Bucket,
    local: Path,  # noqa: F811
    staging: Path,
) -> None:
    one, two = local / "one.root", local / "two.root"
    run(clean, "merge", "s3://data/new/both.root", one, two)
    _, error = run(clean, "merge", "s3://data/new/both.root", one, code=1)
    assert "--force replaces it" in error and "s3://data/new/both.root" in error
    run(clean, "rewrite", "s3://data/new/both.root", "s3://data/new/few.root", "--cut", "n < 5")
    options = said(clean)
    skimmed = sapwood.skim(
        f"{one}:events", "s3://data/new/skim.root", ["n"], "n < 7", storage_options=options
    )
    assert skimmed == 7
    sapwood.merge("s3://data/new/merged.root", [str(one), str(two)], storage_options=options)
    entries = {
        name: sapwood.open(f"s3://data/new/{name}.root", storage_options=options)[tree].num_entries
        for name, tree in (("both", "events"), ("few", "events"), ("skim", "events"), ("merged", "events"))
    }
    assert entries == {"both": 80_000, "few": 10, "skim": 7, "merged": 80_000}
    assert os.listdir(staging) == []
