"""Damaged files of other formats, and JSON that nests too deep: errors that name the file, and never the end."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

sapwood = pytest.importorskip("sapwood")
pytest.importorskip("pyarrow")

from sapwood._convert.json_depth import MAX_LEVELS, Nesting  # noqa: E402
from sapwood.errors import MismatchError, SapwoodError  # noqa: E402


def _plain_depth(text: str) -> int:
    depth = deepest = 0
    in_text = escaped = False
    for letter in text:
        if in_text:
            in_text = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        elif letter == '"':
            in_text = True
        elif letter in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif letter in "]}":
            depth -= 1
    return deepest


def test_levels_are_counted_in_pieces_of_any_size() -> None:
    chance = random.Random(3)
    parts = ['{"a": [', "1, ", "]}", '"[[{"', '"\\"[["', '"\\\\"', "[[", "]]", '"]]]\\n"', "\n"]
    for _ in range(200):
        # The level never falls below zero.
        text = "[" * 40 + "".join(chance.choice(parts) for _ in range(15))
        nesting, at, deepest = Nesting(), 0, 0
        while at < len(text):
            size = chance.randint(1, 12)
            deepest = max(deepest, nesting.add(text[at : at + size].encode()))
            at += size
        assert deepest == _plain_depth(text), text


@pytest.mark.parametrize("levels", [101, 5_000, 100_000])
@pytest.mark.parametrize("open_close", ["[]", "{}"])
def test_deep_json_is_refused_with_its_file(tmp_path: Path, levels: int, open_close: str) -> None:
    path = tmp_path / "deep.jsonl"
    opening = '{"a":' if open_close == "{}" else "["
    deep = opening * (levels - 1) + "1" + open_close[1] * (levels - 1)
    path.write_text('{"x": {"a": 1}}\n' if open_close == "{}" else '{"x": [1]}\n')
    with path.open("a") as file:
        file.write('{"x": ' + deep + "}\n")
    for types in (None, {"x": "float64"}):
        with pytest.raises(MismatchError, match=rf"deeper than {MAX_LEVELS} levels.*deep\.jsonl"):
            sapwood.convert(path, tmp_path / "out.parquet", types=types)


def test_deep_json_within_the_limit_and_packed_is_read(tmp_path: Path) -> None:
    import gzip

    import pyarrow.parquet

    deep = "[" * 30 + "1" + "]" * 30
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(f'{{"x": {deep}, "s": "[[[{{"}}\n'.encode() * 3))
    sapwood.convert(path, tmp_path / "out.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "out.parquet")["s"].to_pylist() == ["[[[{"] * 3


@pytest.mark.parametrize("ending", ["parquet", "feather", "arrows", "h5", "npz", "npy"])
def test_damaged_files_are_errors_that_name_them(tmp_path: Path, ending: str) -> None:
    if ending == "h5":
        pytest.importorskip("h5py")
    with sapwood.recreate(tmp_path / "a.root") as file:
        columns = {"x": np.arange(200)} if ending == "npy" else {"x": np.arange(200), "y": np.arange(200) / 3}
        file["t"] = columns
    good = tmp_path / f"good.{ending}"
    sapwood.convert(f"{tmp_path}/a.root:t", good)
    content = good.read_bytes()
    path = tmp_path / f"bad.{ending}"
    chance = random.Random(5)
    damaged = [content[:size] for size in (0, 1, 10, len(content) // 2, len(content) - 1)]
    damaged.append(b"\xff" * len(content))
    for _ in range(12):
        changed = bytearray(content)
        for _ in range(8):
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        damaged.append(bytes(changed))
    refused = 0
    for number, bad in enumerate(damaged):
        path.write_bytes(bad)
        try:
            # Formats without checksums may not notice.
            sapwood.convert(path, tmp_path / f"{number}.root")
        except SapwoodError as error:
            refused += 1
            assert f"bad.{ending}" in str(error)
    assert refused >= 3


def test_arrow_reads_json_lines_without_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread of Arrow that calls Python while Python ends, as after an error, ends the process."""
    pa = pytest.importorskip("pyarrow")
    monkeypatch.setattr(pa, "PythonFile", None)
    path = tmp_path / "a.jsonl"
    path.write_text('{"x": [1, 2]}\n{"x": []}\n')
    sapwood.convert(path, tmp_path / "a.root:t")
    assert sapwood.open(tmp_path / "a.root")["t/x"].array().to_list() == [[1, 2], []]
