"""URLs, and which part of the package reads them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from sapwood import _core
from sapwood._remote import clouds

#: Schemes that the engine reads.
_OURS = ("http", "https", "root", "roots", "xroot", "xroots", "dcap", "gsidcap")
#: Schemes of files within another one, which the next link of a chain names.
_ARCHIVES = ("zip", "tar", "libarchive")
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]+$")
_URL = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+)://")


def scheme(path: Any) -> str | None:
    """The scheme of a URL, in lower case; ``None`` of all else.

    >>> scheme("HTTPS://example.org/a.root"), scheme("file:///a.root"), scheme("a.root:tree")
    ('https', 'file', None)
    """
    found = _URL.match(path) if isinstance(path, str) else None
    return found.group(1).lower() if found else None


def local_path(path: str) -> str:
    """The path that a ``file:`` URL names, with one slash, two, three or none; all else as it is.

    >>> local_path("file:///a.root"), local_path("file:/a.root"), local_path("file:a.root")
    ('/a.root', '/a.root', 'a.root')
    >>> local_path("memory://a.root")
    'memory://a.root'
    """
    if not path[:5].lower() == "file:" or is_chain(path) or os.path.exists(path):
        return path
    return path[7:] if path[5:7] == "//" else path[5:]


def is_url(path: Any) -> bool:
    """Is it the URL of a remote file, or a chain of them, and no path?

    >>> is_url("https://example.org/a.root"), is_url("file:///a.root"), is_url("a.root")
    (True, False, False)
    """
    return scheme(path) not in (None, "file") or is_chain(path)


def is_ours(path: Any) -> bool:
    """Is it one that the engine can read?"""
    return scheme(path) in _OURS and not is_chain(path) or is_cloud(path)


def is_cloud(path: Any) -> bool:
    """Is it one of a cloud that the engine can read?

    >>> is_cloud("s3://bucket/a.root"), is_cloud("zip://a.root::s3://bucket/a.zip")
    (True, False)
    """
    return clouds.has(scheme(path)) and not is_chain(path)


def is_chain(path: Any) -> bool:
    """Is it a chain of URLs, as fsspec has them? Names in files have two colons, too.

    >>> is_chain("simplecache::https://example.org/a.root")
    True
    >>> is_chain("zip://a.root::/data/a.zip"), is_chain("zip://a.root::a.zip")
    (True, True)
    >>> is_chain("https://example.org/a.root:std::set"), is_chain("a.root:std::set")
    (False, False)
    """
    if not isinstance(path, str) or "::" not in path:
        return False
    first, *middle, last = path.split("::")
    if "://" not in last and not last.startswith("/"):
        # A relative path behind an archive's member; else it is a name with two colons unless there is such a
        # file.
        link = scheme([first, *middle][-1])
        return link in _ARCHIVES or link not in (None, "file", *_OURS) and os.path.exists(last)
    return (
        scheme(first) is not None
        or "." not in first
        and _SCHEME.match(first) is not None
        and not os.path.exists(path)
    )


def by_fsspec(path: Any, network: Mapping[str, Any] | None = None) -> bool:
    """Does fsspec read it? That is so for URLs of schemes that the engine does not know, for chains, for
    clouds with ``storage_options`` that the engine has nothing like or where the environment sets fsspec up
    for it, and with ``handler="fsspec"`` for all URLs.

    >>> by_fsspec("ftp://example.org/a.root"), by_fsspec("https://example.org/a.root"), by_fsspec("a.root")
    (True, False, False)
    >>> by_fsspec("https://example.org/a.root", {"handler": "fsspec"})
    True
    >>> by_fsspec("s3://bucket/a.root", {"storage_options": {"anon": True}})
    False
    >>> by_fsspec("s3://bucket/a.root", {"storage_options": {"requester_pays": True}})
    True
    """
    if not is_url(path):
        return False
    said = network or {}
    if not is_ours(path) or said.get("handler") == "fsspec":
        return True
    return is_cloud(path) and (clouds.fsspec_is_set_up(scheme(path)) or bool(foreign_options(path, said)))


def foreign_options(path: Any, network: Mapping[str, Any]) -> list[str]:
    """Names of ``storage_options`` for the cloud of a URL that only fsspec knows.

    >>> foreign_options("s3://bucket/a.root", {"storage_options": {"requester_pays": True}})
    ['requester_pays']
    """
    return clouds.without_equal(scheme(path), network.get("storage_options")) if is_cloud(path) else []


def shown(url: str) -> str:
    """A URL, or a chain of them, without passwords and without the values of tickets.

    >>> shown("ftp://user:secret@example.org/a.root"), shown("https://example.org:8443/a.root?authz=secret")
    ('ftp://user@example.org/a.root', 'https://example.org:8443/a.root?authz=...')
    """
    return _core.redact(url)


def absolute(place: str) -> str:
    """A chain whose last link is a relative path, with an absolute one; anything else as it is.

    >>> absolute("zip://a.root::/data/a.zip")
    'zip://a.root::/data/a.zip'
    >>> absolute("zip://a.root::a.zip") == "zip://a.root::" + os.path.abspath("a.zip")
    True
    """
    before, mark, last = place.rpartition("::")
    return before + mark + os.path.abspath(last) if is_chain(place) and "://" not in last else place


def links(chain: str) -> list[str]:
    """The schemes of a URL, or of a chain of them.

    >>> links("simplecache::s3://bucket/a.root"), links("zip://a.root::/data/a.zip")
    (['simplecache', 's3'], ['zip'])
    """
    *before, last = chain.split("::") if is_chain(chain) else [chain]
    return [scheme(link) or link for link in before] + ([found] if (found := scheme(last)) else [])
