"""Every object of the corpus, read and written again: the same bytes, but for what `corpus_rewritten.toml` lists.

Trees count as objects here: their records, that is, and not what is in their branches. Each object is also
written into a new file, and from there comes out once more as it was: so the new file describes all of its
classes.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from support.known import load_listed

sapwood = pytest.importorskip("sapwood")
_core, errors, Model = sapwood._core, sapwood.errors, sapwood.Model


HERE = Path(__file__).resolve().parent
CORPUS = Path(os.environ.get("SAPWOOD_CORPUS") or HERE.parent.parent / "shared" / "corpus")
CI = os.environ.get("CI", "").lower() in ("1", "true", "yes")


def objects_of(path: Path) -> list[tuple[Any, Any]]:
    """All objects of a file that can be read."""
    found = []
    try:
        file = _core.File.open(path)
        keys = file.keys("", True)
    except errors.SapwoodError:
        return []
    for key in keys:
        if key.classname.startswith("TDirectory") or key.classname == "ROOT::RNTuple":
            continue
        try:
            file.object(key)
        except errors.SapwoodError:
            continue
        found.append((file, key))
    return found


def members(file: Any, key: Any) -> object:
    value = Model.of(file.object(key))
    return value.tolist() if isinstance(value, Model) else value


def outcome(file: Any, key: Any) -> str | None:
    """What becomes of an object that does not come out as it was."""
    try:
        payload, draft = file.payload(key), file.draft(key)
        writer = _core.FileWriter.open("recreate", None, "zlib:0")
        writer.write("object", draft)
        writer.close()
        copy = _core.File.from_bytes(writer.content() or b"", "copy.root")
        if draft.encoded(key.keylen) == payload:
            again = copy.draft(copy.key("object")).encoded(key.keylen)
            return None if again == payload else "the copy is no copy"
        same = members(file, key) == members(copy, copy.key("object"))
    except errors.SapwoodError as error:
        return str(error)
    return "other bytes, the same members" if same else "other members"


def test_objects_of_the_corpus_are_written_as_they_were(capsys: pytest.CaptureFixture[str]) -> None:
    paths = sorted(CORPUS.glob("*.root"))
    if not paths:
        if CI:
            pytest.fail("the corpus is required here")
        pytest.skip(f"the corpus of real files is not here ({CORPUS.name}; set SAPWOOD_CORPUS)")
    listed = HERE / "corpus_rewritten.toml"
    known, undescribed = load_listed(listed, "known", "file"), load_listed(listed, "undescribed", "file")
    found: dict[tuple[str, str], str] = {}
    total = 0
    for path in paths:
        for file, key in objects_of(path):
            total += 1
            what = outcome(file, key)
            if what is not None:
                found[path.stem, f"{key.path};{key.cycle}"] = what
    with capsys.disabled():
        print(f" {total - len(found)} of {total} objects come out byte for byte ", end="")
    assert {item: what for item, what in found.items() if item not in known | undescribed} == {}
    assert (known | undescribed).keys() - found.keys() == set(), "listed, but written as they were"
    assert {found[item] for item in known} == {"other bytes, the same members"}
