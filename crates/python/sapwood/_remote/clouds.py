"""What fsspec's ``storage_options`` are to the engine's own store for clouds."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

#: Whose cloud a scheme is in.
_PROVIDERS = {"s3": "AWS", "s3a": "AWS", "gs": "GOOGLE", "az": "AZURE", "abfs": "AZURE", "abfss": "AZURE"}
#: Options that are texts, and what the clouds' own tools call them.
_NAMES = {
    "AWS": {
        "key": "AWS_ACCESS_KEY_ID", "secret": "AWS_SECRET_ACCESS_KEY", "token": "AWS_SESSION_TOKEN",
        "endpoint_url": "AWS_ENDPOINT_URL", "region_name": "AWS_REGION", "profile": "AWS_PROFILE",
    },
    "GOOGLE": {},
    "AZURE": {
        "account_name": "AZURE_STORAGE_ACCOUNT_NAME", "account_key": "AZURE_STORAGE_ACCOUNT_KEY",
        "sas_token": "AZURE_STORAGE_SAS_TOKEN",
    },
}  # fmt: skip


def has(scheme: str | None) -> bool:
    """Does the engine read URLs of this scheme from a cloud?

    >>> has("s3"), has("https")
    (True, False)
    """
    return scheme in _PROVIDERS


def fsspec_is_set_up(scheme: str | None) -> bool:
    """Does the environment say how fsspec's file system of this cloud is made (``FSSPEC_S3_KEY`` and the
    like)?

    >>> fsspec_is_set_up("s3")
    False
    """
    return has(scheme) and any(name.upper().startswith(f"FSSPEC_{scheme}_".upper()) for name in os.environ)


def settings(scheme: str | None, options: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Options under the names that the cloud's own tools know in the environment.

    >>> settings("s3", {"anon": True, "client_kwargs": {"region_name": "eu-central-1"}})
    [('AWS_REGION', 'eu-central-1'), ('AWS_SKIP_SIGNATURE', 'true')]
    """
    found = {equal: value for _, value, equal in _items(scheme, options) if equal is not None}
    # An endpoint that is given without TLS is meant to be used without it.
    if str(found.get("AWS_ENDPOINT_URL", "")).lower().startswith("http://"):
        found["AWS_ALLOW_HTTP"] = "true"
    return sorted(found.items())


def without_equal(scheme: str | None, options: Mapping[str, Any] | None) -> list[str]:
    """Names of options that only fsspec's file system knows.

    >>> without_equal("s3", {"key": "me", "secret": "...", "requester_pays": True})
    ['requester_pays']
    """
    return [name for name, _, equal in _items(scheme, options) if equal is None]


def _items(scheme: str | None, options: Mapping[str, Any] | None) -> Iterator[tuple[str, str, str | None]]:
    """Name, value, and the name that the cloud's tools have for it, of all options that say anything."""
    provider = _PROVIDERS.get(scheme or "", "")
    names = _NAMES.get(provider, {})
    for name, value in (options or {}).items():
        if value is None or (name == "anon" and value is False):
            continue
        is_anonymous = (name == "anon" and value is True and provider != "GOOGLE") or (
            provider,
            name,
            value,
        ) == ("GOOGLE", "token", "anon")
        if is_anonymous:
            yield name, "true", f"{provider}_SKIP_SIGNATURE"
        elif name == "client_kwargs" and provider == "AWS" and isinstance(value, Mapping):
            for inner, of_client in value.items():
                known = inner in ("endpoint_url", "region_name") and isinstance(of_client, str)
                yield f"client_kwargs[{inner!r}]", str(of_client), names[inner] if known else None
        else:
            known = name in names and name != "region_name" and isinstance(value, str)
            yield name, str(value), names[name] if known else None
