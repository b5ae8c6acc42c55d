"""Samples: files with what is known of them, such as a cross section."""

from __future__ import annotations

import json
import numbers
from collections.abc import Mapping
from typing import Any, NamedTuple

from sapwood._remote import paths
from sapwood._tools.processing import data_sets
from sapwood.errors import ExpressionError, MismatchError


class Sample(NamedTuple):
    """Files, and values of expressions for all of their entries."""

    name: str
    files: Any
    names: dict[str, str]
    """Expressions by name: what the metadata of the sample say."""
    friends: dict[str, Any] | None
    """Friends that only this sample has."""


def samples_of(files: Any) -> list[Sample] | None:
    """The samples of a mapping by name; ``None`` if files are given otherwise.

    >>> [(one.name, one.names) for one in samples_of({"ttbar": {"files": "t.root:Events", "xsec": 831.8}})]
    [('ttbar', {'xsec': '831.8'})]
    """
    if isinstance(files, Mapping):
        files = {name: _with_trees(name, of) for name, of in files.items()}
        if not files:
            raise MismatchError("name files, or samples with files: the mapping is empty")
    sets = data_sets(files)
    if sets is None:
        return None
    found = []
    for name, of_set in sets.items():
        if not of_set:
            raise MismatchError(f"the sample {name!r} has no files")
        given = files[name]
        known: dict[str, Any] = {}
        friends = None
        if isinstance(given, Mapping):
            rest = {
                key: value
                for key, value in given.items()
                if key not in ("files", "treename", "trees", "metadata", "friends")
            }
            friends = given.get("friends")
            known = {**(given.get("metadata") or {}), **rest}
        found.append(
            Sample(str(name), of_set, {key: _text(name, key, value) for key, value in known.items()}, friends)
        )
    return found


def _with_trees(name: Any, of: Any) -> Any:
    """The files of a sample with the names of their trees: ``trees`` of RDataFrame's specification, or
    ``treename``."""
    if not isinstance(of, Mapping):
        return of
    if not of.get("files"):
        raise MismatchError(f"the sample {name!r} has no files")
    trees = of.get("trees", of.get("treename"))
    if trees is None:
        return of
    listed = [of["files"]] if isinstance(of["files"], str) else list(of["files"])
    names = [trees] if isinstance(trees, str) else list(trees)
    if len(names) not in (1, len(listed)):
        raise MismatchError(f"the sample {name!r} has {len(listed)} files and {len(names)} trees")
    pairs = zip(listed, names * (len(listed) if len(names) == 1 else 1), strict=True)
    found = [{file: tree} if paths.split_object(file)[1] is None else file for file, tree in pairs]
    return {**of, "files": found}


def _text(sample: Any, key: str, value: Any) -> str:
    """A value of metadata as an expression."""
    if not (isinstance(key, str) and key.isidentifier()):
        raise ExpressionError(f"{key!r} of the sample {sample!r} cannot be a name in expressions")
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()  # of NumPy
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))  # The language has inf and nan, too.
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    raise ExpressionError(
        f"{key!r} of the sample {sample!r} is {type(value).__name__}: expressions know numbers and texts"
    )


def check_reads(reads: Mapping[str, Any]) -> None:
    """Refuses entries that belong to those of all files by their place: the entries of each sample begin anew."""
    for name, of in (reads["friends"] or {}).items():
        has_index = isinstance(of, tuple) and len(of) == 2 and of[1] not in (None, False)
        if not has_index:
            raise MismatchError(
                f"the entries of the friend {name!r} are matched by their place, which begins anew in each sample: "
                "give each sample its own ('friends': {...} next to 'files'), or give the friend an index"
            )
    if reads["entries"] is not None and getattr(reads["entries"], "classname", None) != "TEntryList":
        raise MismatchError(
            "entries= counts from the first entry of each sample: use a filter, or one sample"
        )


def categories(samples: list[Sample], by: str | None) -> dict[str, str]:
    """The category of each sample: its name, or the value of metadata.

    >>> one = Sample("a", "a.root", {"process": '"top"', "year": "2018"}, None)
    >>> categories([one], None), categories([one], "process"), categories([one], "year")
    ({'a': 'a'}, {'a': 'top'}, {'a': '2018'})
    """
    if by is None:
        return {one.name: one.name for one in samples}
    without = [one.name or "files" for one in samples if by not in one.names]
    if without:
        raise MismatchError(f"{', '.join(without)}: no metadata {by!r} to make an axis of")
    values = {one.name: one.names[by] for one in samples}
    return {name: json.loads(text) if text.startswith('"') else text for name, text in values.items()}


def lacking(name: str, samples: list[Sample]) -> str | None:
    """The sample that lacks a value which others have."""
    if not any(name in sample.names for sample in samples):
        return None
    return next((sample.name for sample in samples if name not in sample.names), None)
