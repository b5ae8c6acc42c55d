"""Warnings of this package, without the passwords and tickets of URLs in them."""

from __future__ import annotations

import warnings
from typing import Any

from sapwood import _core


def warn(
    message: str, category: type[Warning] = UserWarning, stacklevel: int = 1, source: Any = None
) -> None:
    """Warns as ``warnings.warn`` does, after hiding what is secret in URLs.

    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     warn("https://me:secret@example.org/a.root was left out")
    >>> str(found[0].message)
    'https://example.org/a.root was left out'
    """
    warnings.warn(_core.redact(message), category, stacklevel=stacklevel + 1, source=source)
