"""Keyword arguments of whatever opens files, for those that are reached over a network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sapwood.foreign import Foreign


class Opening(Foreign, total=False):
    """What the functions that open files take beside their own arguments.

    ``token`` is a bearer token for the host that is named, and ``headers`` a dictionary of more headers. ``certificate`` is a PEM file
    with a client certificate and its key (an X.509 proxy, for instance), ``authorities`` a PEM file or a folder of them with
    authorities to be trusted beside the system's. ``timeout`` is how many seconds may pass without a byte before an attempt
    is given up (30), ``retries`` how often is tried again what brought nothing (4).
    """

    token: str | None
    headers: Mapping[str, str] | None
    certificate: Any
    authorities: Any
    retries: int | None


_NAMES = ("token", "headers", "certificate", "authorities", "timeout", "retries")


def taken(others: dict[str, Any]) -> dict[str, Any]:
    """Takes the arguments of the network out of ``others``.

    >>> others = {"token": "t", "timeout": None, "num_workers": 4}
    >>> taken(others), others
    ({'token': 't'}, {'num_workers': 4})
    """
    found = {name: others.pop(name) for name in _NAMES if name in others}
    if "headers" in found and found["headers"] is not None:
        found["headers"] = dict(found["headers"])
    return {name: value for name, value in found.items() if value is not None}
