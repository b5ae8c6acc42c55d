"""The work list of the limit: which pages hold which elements of an RNTuple, from uproot's description of the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.support.files import TREE

KINDS = {
    0x07: ("plain", 4, "i"), 0x0C: ("plain", 4, "f"), 0x0D: ("plain", 8, "f"), 0x0F: ("index", 8, "-"),
    0x13: ("zigzag", 4, "i"), 0x18: ("split", 4, "f"), 0x19: ("split", 8, "f"), 0x1B: ("splitindex", 8, "-"),
}  # fmt: skip
"""Types of columns: how their elements lie in a page, their width, and what they are."""


def _child_column(ntuple: Any, field: int) -> int:
    """The first column below a field: its elements are what the lists of the field hold."""
    children = [
        k for k, record in enumerate(ntuple.field_records) if record.parent_field_id == field and k != field
    ]
    for child in children:
        columns = [k for k, column in enumerate(ntuple.column_records) if column.field_id == child]
        return columns[0] if columns else _child_column(ntuple, child)
    raise ValueError("a list without items")


def _top(ntuple: Any, field: int) -> str:
    """The name of the field of the entry that a field belongs to."""
    while (parent := ntuple.field_records[field].parent_field_id) != field:
        field = parent
    return str(ntuple.field_records[field].field_name)


def write_index(path: Path) -> Path:
    """Makes the index of one file, unless it is there."""
    out = path.with_suffix(".index")
    if out.exists() and out.stat().st_mtime >= path.stat().st_mtime:
        return out
    import uproot

    ntuple: Any = uproot.open(path)[TREE]
    anchor = ntuple.members
    envelopes = [
        (anchor[f"fSeek{of}"], anchor[f"fNBytes{of}"], anchor[f"fLen{of}"]) for of in ("Header", "Footer")
    ]
    for group in ntuple.footer.cluster_group_records:
        link = group.page_list_link
        envelopes.append((link.locator.offset, link.locator.num_bytes, link.env_uncomp_size))
    lines = [f"file {path}", *("envelope {} {} {}".format(*envelope) for envelope in envelopes)]
    clusters = ntuple.page_link_list
    for k, column in enumerate(ntuple.column_records):
        kind, width, number = KINDS[column.type]
        child = _child_column(ntuple, column.field_id) if "index" in kind else None
        first, pages = 0, []
        for cluster in clusters:
            base = cluster[child].element_offset if child is not None else 0
            if cluster[k].element_offset != first:
                raise ValueError(f"{path.name}: column {k} has a gap")
            for page in cluster[k].pages:
                elements = abs(page.num_elements)
                place = page.locator
                pages.append(
                    f"page {place.offset} {place.num_bytes} {elements * width} {elements} {first} {base}"
                )
                first += elements
        lines.append(f"column {_top(ntuple, column.field_id)} {kind} {width} {number} {first}")
        lines += pages
    out.write_text("\n".join(lines) + "\n")
    return out
