"""Samples: files, and their share of every batch."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sapwood._batches.arguments import is_number
from sapwood._batches.catalogue import Catalogue
from sapwood._read.chain import check_fill
from sapwood.errors import MismatchError, WrongTypeError

_EXAMPLE = '{"signal": {"files": ..., "share": 0.5, "label": 1}, ...}'


class Sample:
    """Files, and their share of every batch."""

    def __init__(self, name: str, catalogue: Catalogue, share: float | None) -> None:
        self.name, self.catalogue, self.share = name, catalogue, share


class Described(NamedTuple):
    """A sample as a user describes it."""

    name: str
    files: Any
    share: float | None
    constants: dict[str, str]
    """Expressions for the numbers that it has."""


def described(files: Any) -> list[Described]:
    """Samples that a mapping describes; files alone are one sample without a name."""
    if not isinstance(files, Mapping) or not any(isinstance(one, Mapping) for one in files.values()):
        return [Described("", files, None, {})]
    for name, one in files.items():
        if not isinstance(one, Mapping) or "files" not in one:
            raise MismatchError(f"the sample {name!r} has no files: samples are {_EXAMPLE}, not {one!r}")
    shares = [one.get("share") for one in files.values()]
    if any(share is None for share in shares) and any(share is not None for share in shares):
        raise MismatchError("either all samples have a share, or none")
    if shares[0] is not None:
        if not all(is_number(share) and share > 0 for share in shares):
            raise MismatchError(f"shares of samples are finite numbers above 0, not {shares!r}")
        total = float(sum(shares))
        shares = [float(share) / total for share in shares]
    return [
        Described(str(name), one["files"], share, _constants(name, one))
        for (name, one), share in zip(files.items(), shares, strict=True)
    ]


def _constants(name: Any, sample: Mapping[str, Any]) -> dict[str, str]:
    """Numbers of a sample as expressions."""
    found: dict[str, Any] = {}
    for key, value in sample.items():
        if key in ("files", "share"):
            continue
        if not isinstance(key, str) or key.lower() in ("file", "shares"):
            raise MismatchError(f"the sample {name!r} has {key!r}: samples are {_EXAMPLE}")
        if not isinstance(value, (bool, np.bool_, numbers.Real)):
            raise WrongTypeError(
                f"{key!r} of the sample {name!r} is a number for all of its rows, and not {value!r}"
            )
        found[key] = int(value) if isinstance(value, (bool, np.bool_)) else value
    return check_fill(found)


def hint(files: Any) -> str:
    """Words for a mapping whose files do not exist: it may have been meant as samples."""
    return (
        f"; if {next(iter(files))!r} is a sample: {_EXAMPLE}" if isinstance(files, Mapping) and files else ""
    )
