"""A hook of MkDocs: links that leave the folder of the documentation lead to the repository."""

from __future__ import annotations

import posixpath
import re
from typing import Any

LINK = re.compile(r"(\]\()((?:\.\./)*[^)\s:#]+)((?:#[^)\s]*)?\))")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """The page with links that lead somewhere on the site, or to the repository."""
    here = posixpath.dirname(page.file.src_uri)

    def leads(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("docs", here, found[2]))
        inside = target.removeprefix("docs/")
        if target.startswith("docs/") and files.get_file_from_path(inside) is not None:
            return found[0]
        # A folder, or a file beside the documentation.
        return f"{found[1]}{config['repo_url']}/blob/main/{target}{found[3]}"

    return LINK.sub(leads, markdown)
