"""Keyword arguments of whatever opens files, for those that are reached over a network."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from sapwood._file.sizes import as_bytes
from sapwood._read.compat_kwargs import Foreign
from sapwood._remote import urls


class Opening(Foreign, total=False):
    """What the functions that open files take beside their own arguments.

    ``token`` is a bearer token for the host that is named, and ``headers`` a dictionary of more headers.
    ``certificate`` is a PEM file with a client certificate and its key (an X.509 proxy, for instance) for
    ``https://`` and ``root://``, by default that of ``X509_USER_PROXY`` or of ``/tmp``; ``authorities`` is a
    PEM file or a folder of them with authorities to be trusted in addition to the system's.
    ``keytab`` is a file with keys that servers of ``root://`` have, too. ``timeout`` is how many seconds may
    pass without a byte before an attempt is given up (30), ``retries`` how often is tried again what brought
    nothing (4). With ``insecure_redirects=True`` redirections from ``https://`` to ``http://`` are followed.

    ``cache="blocks"`` keeps what is read on this machine, for this job and the next ones, and
    ``cache="whole"`` fetches the whole file before it is read. ``cache_dir`` says where (the user's own cache
    folder where it is not given), ``cache_size`` how much is kept at most: bytes, or a text like ``"10 GB"``.
    What could not be kept is a ``RuntimeWarning``.

    ``replicas`` is a list of other places of the one file that is opened, URLs or paths: where a place fails,
    the next one is read from there on. Each has to show that it has the same file.

    ``storage_options`` is a dictionary for the file system of fsspec that reads URLs of other schemes
    (``simplecache::https://...``); with ``handler="fsspec"`` that reads ``http(s)://``, ``root://`` and
    clouds, too. Of clouds (``s3://``, ``gs://``, ``az://``, ``abfs(s)://``) the engine takes those that it
    has an equal for: ``anon``, ``key``, ``secret``, ``token``, ``profile``, ``endpoint_url`` and
    ``client_kwargs`` with ``endpoint_url`` and ``region_name``; ``token="anon"`` of ``gs://``; ``anon``,
    ``account_name``, ``account_key`` and ``sas_token`` of Azure. With any other one fsspec reads them.
    """

    token: str | None
    headers: Mapping[str, str] | None
    certificate: Any
    authorities: Any
    keytab: Any
    insecure_redirects: bool | None
    retries: int | None
    cache: Literal["blocks", "whole"] | None
    cache_dir: str | os.PathLike[str] | None
    cache_size: int | str | None
    replicas: Sequence[str | os.PathLike[str]] | None
    storage_options: Mapping[str, Any] | None


_NAMES = (
    "token", "headers", "certificate", "authorities", "keytab", "timeout", "retries", "cache", "cache_dir", "cache_size", "replicas",
    "storage_options", "insecure_redirects",
)  # fmt: skip


def take_options(others: dict[str, Any]) -> dict[str, Any]:
    """Takes the arguments of the network out of ``others``.

    >>> others = {"token": "t", "timeout": None, "num_workers": 4}
    >>> take_options(others), others
    ({'token': 't'}, {'num_workers': 4})
    """
    found = {name: others.pop(name) for name in _NAMES if name in others}
    if isinstance(others.get("handler"), str):
        found["handler"] = others.pop("handler")
        if found["handler"] != "fsspec":
            raise ValueError(f"handler is 'fsspec' or left out, not {found['handler']!r}")
    for name in ("headers", "storage_options"):
        if found.get(name) is not None:
            found[name] = dict(found[name])
    if found.get("cache_dir") is not None:
        found["cache_dir"] = os.path.abspath(os.path.expanduser(found["cache_dir"]))
    if found.get("cache_size") is not None:
        found["cache_size"] = as_bytes(found["cache_size"])
    if found.get("replicas") is not None:
        found["replicas"] = _places(found["replicas"])
    if found.get("cache") not in (None, "blocks", "whole"):
        raise ValueError(f"cache is 'blocks' or 'whole', not {found['cache']!r}")
    if found.get("cache") is None and (
        found.get("cache_dir") is not None or found.get("cache_size") is not None
    ):
        raise ValueError(
            "cache_dir and cache_size say where and how much; cache='blocks' or cache='whole' says what"
        )
    return {name: value for name, value in found.items() if value is not None}


def _places(replicas: Any) -> list[str]:
    if isinstance(replicas, (str, bytes, os.PathLike)):
        raise TypeError(f"replicas are a list of places, not a {type(replicas).__name__}")
    return [
        place if urls.is_url(place) else os.path.abspath(os.path.expanduser(place))
        for place in map(os.fspath, replicas)
    ]
