"""Checks that examples of the documentation call every public function of the engine, and that links lead somewhere.

An example is one of the function, of its type, of its module or of the crate; `cargo test --doc` runs them. Reads what
`cargo doc` writes:

    cargo doc --package sapwood --no-deps && python tools/examples.py
"""

from __future__ import annotations

import re
import sys
from html import unescape
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "target" / "doc" / "sapwood"
EXAMPLE = re.compile(r'<div class="example-wrap.*?</pre></div>', re.DOTALL)
# A method of the type or trait itself, not of a trait that the standard library brings.
METHOD = re.compile(r'<section id="((?:ty)?method\.\w+)" class="method">.*?(?=<section id="|$)', re.DOTALL)


def examples(html: str) -> str:
    """The code of all examples of a page."""
    return "\n".join(unescape(re.sub(r"<[^>]+>", "", found[0])) for found in EXAMPLE.finditer(html))


def own_part(html: str) -> str:
    """A page without what traits of others bring to its type."""
    return re.split(r'<h2 id="(?:trait|synthetic|blanket|foreign)-impl', html)[0]


def is_called(name: str, code: str) -> bool:
    return re.search(rf"\b{name}(?:::<[^()]*>)?[()]", code) is not None


def main() -> int:
    pages = re.findall(r'<li><a href="([\w/.]+\.html)"', (DOCS / "all.html").read_text())
    tour = examples((DOCS / "index.html").read_text())
    functions, without, dead = 0, [], set()
    for page in pages:
        kind, _, name = page.rpartition("/")[2].removesuffix(".html").partition(".")
        html = own_part((DOCS / page).read_text())
        dead |= {f"{page}: {link}" for link in re.findall(r'href="((?:crate|super|self|Self)::[^"]*)"', html)}
        module = (DOCS / page).parent / "index.html"
        code = "\n".join([examples(html), tour, examples(module.read_text())])
        if kind == "fn":
            functions += 1
            without += [] if is_called(name, code) else [page]
        for method in METHOD.finditer(html):
            functions += 1
            if "example-wrap" not in method[0] and not is_called(method[1].partition(".")[2], code):
                without.append(f"{page}: {method[1].partition('.')[2]}")
    for line in [*without, *sorted(dead)]:
        print(line)
    called = functions - len(without)
    print(f"{called} of {functions} public functions are called by an example; {len(dead)} dead links")
    return 1 if without or dead else 0


if __name__ == "__main__":
    sys.exit(main())
