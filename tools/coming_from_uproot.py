"""Compares public names, parameters and results with uproot's, and writes docs/coming-from-uproot.md.

    python -m tools.coming_from_uproot            # writes the page
    python -m tools.coming_from_uproot --check    # whether the page is what it should be for this uproot
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
import tempfile
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import sapwood
import uproot

PAGE = Path(__file__).parent.parent / "docs/coming-from-uproot.md"

#: Names of parts that a user of uproot does not call.
INSIDE = "inside of uproot's reader"

#: What stands for names that are not here: patterns of ``of.name``, the first one counts.
INSTEAD = [
    (r"uproot\.(As\w+)",
     "`branch.interpretation` tells the type; `AsDtype`, `AsJagged`, `AsStrings`, `AsObjects` are here"),
    (r"uproot\.(\w*Source|source)", "a URL or path; what fsspec reaches is read through it"),
    (r"uproot\.(\w*Executor|\w*ThreadPool\w*)", "`threads=`"),
    (r"uproot\.(LRU\w*|cache)", "the cache is in the engine: `sapwood.open(..., cache=)` for files far away"),
    (r"uproot\.graphed.*", "`sapwood.dask`"),
    (r"uproot\.(ImplementsFormMapping\w*)", "`sapwood.nanoevents`, `sapwood.dask`"),
    (r"uproot\.language", "[one language](expressions.md) for all expressions"),
    (r"uproot\.(exceptions|DeserializationError)", "`sapwood.errors`"),
    (r"uproot\.default_library", "`library=` of each call; Awkward Array where it is installed"),
    (r"uproot\..*", "inside of uproot: classes are compiled by the engine, and none are made in Python"),
    (r"\w+\.(hook_\w+|.*cursor|\w*chunk\w*|read\w*|.*deserialize.*|postprocess|post_process|serialize|"
     r"check_numbytes|class_\w+|base_names_versions|instance_version|strided_interpretation|awkward_form|"
     r"is_memberwise|num_bytes|concrete|writable|empty|behaviors|gpu_\w+|.*_form|to_akform|.*_records?|"
     r"get_uncompressed_\w+|get_field_\w+|combine_\w+|page_\w+|remove_class_definition|streamer_rules|"
     r"cluster_summaries|record|context|source|custom_classes|options|detached|.*executor|.*_cache)",
     INSIDE),
    (r"file\.(f[A-Z]\w*|nfree)", "`sapwood map --json`: `header`"),
    (r"file\.(class_named|streamers_named)", "`file.streamer_named`, `file.streamers`"),
    (r"(directory|key)\.(f[A-Z]\w*|is_64bit)", "`sapwood map --json`: `records`"),
    (r"directory\.(created_on|modified_on)", "`created_on` of its key, `file.key(\"directory\")`"),
    (r"\w+\.cache_key", "objects are not cached by name"),
    (r"directory\.(class_of|descent_into_path)", "`directory.classname_of`"),
    (r"branch\.(basket\w*|embedded_baskets|count_leaf)",
     "`sapwood.doctor`, `sapwood layout` describe baskets"),
    (r"branch\.debug\w*", "errors name basket, entry and offset"),
    (r"ntuple\.(fields|field_names|all_fields|ntuple|path|header|footer)",
     "`ntuple.branches`, `ntuple.keys()`"),
    (r"field\.(description|field_id|fields|in_variant|is_anonymous|ntuple)", "`ntuple[\"field\"].branches`"),
    (r"\w+\.(encoded_classname|is_instance|to_pyroot|to_writable)",
     "`classname`; `sapwood.to_pyroot`, `sapwood.to_writable`"),
    (r"hist\.(close|closed|parent|read_member_n)|axis\.(close|closed|parent|read_member_n)",
     "objects do not hold their file"),
    (r"writable tree\.add_branches", "`sapwood.update` and `file.append`, `add_fields` for RNTuples"),
    (r"writable tree\.(file_path|num_baskets|show)",
     "those of the tree that is read back: `file[\"tree\"]` of an open file"),
]  # fmt: skip


def public(of: Any) -> set[str]:
    return {name for name in dir(of) if not name.startswith("_")}


def without_modules(of: Any, names: set[str]) -> set[str]:
    return {name for name in names if not inspect.ismodule(getattr(of, name))}


def instead(place: str, name: str) -> str | None:
    for pattern, words in INSTEAD:
        if re.fullmatch(pattern, f"{place}.{name}"):
            return words
    return None


def samples(folder: Path) -> list[tuple[str, str, Any, Any]]:
    """Objects of both, by what they are: its name, what it is called here, uproot's and ours."""
    with uproot.recreate(folder / "a.root") as file:
        file.mkdir("dir").mktree("t", {"x": np.arange(3.0)})
        file.mkrntuple("n", {"x": np.arange(3.0)})
        file["h"] = np.histogram([1.0, 2.0])
    theirs, ours = uproot.open(folder / "a.root"), sapwood.open(folder / "a.root")
    to = uproot.recreate(folder / "theirs.root"), sapwood.recreate(folder / "ours.root")
    for file in to:
        file.mktree("t", {"x": "f8"})
    return [
        ("uproot", "`sapwood`", uproot, sapwood),
        ("directory", "directories and files", theirs, ours),
        ("file", "`directory.file`", theirs.file, ours.file),
        ("key", "`directory.key(...)`", theirs.key("h"), ours.key("h")),
        ("tree", "trees", theirs["dir/t"], ours["dir/t"]),
        ("branch", "branches", theirs["dir/t/x"], ours["dir/t/x"]),
        ("ntuple", "RNTuples", theirs["n"], ours["n"]),
        ("field", "fields of RNTuples", theirs["n"]["x"], ours["n"]["x"]),
        ("hist", "histograms", theirs["h"], ours["h"]),
        ("axis", "axes", theirs["h"].axes[0], ours["h"].axes[0]),
        ("writable file", "files that are written", *to),
        ("writable tree", "trees that are written", to[0]["t"], to[1]["t"]),
    ]


def missing_parameters(theirs: Any, ours: Any) -> Iterable[tuple[str, list[str]]]:
    """Methods of both whose parameters with defaults are not all here."""
    for name in sorted(public(theirs) & public(ours)):
        pair = [getattr(of if inspect.ismodule(of) else type(of), name, None) for of in (theirs, ours)]
        if not all(inspect.isroutine(one) for one in pair):
            continue
        known, own = (inspect.signature(one).parameters for one in pair)
        kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        lacking = [
            parameter.name
            for parameter in known.values()
            if parameter.default is not inspect.Parameter.empty
            and parameter.kind not in kinds
            and parameter.name not in own
        ]
        if lacking and not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in own.values()):
            yield name, lacking


RESULTS = [
    "keys()", "keys(cycle=False)", "classnames()", 'file["dir/t"].keys()', 'file["dir/t"].typenames()',
    'file["dir/t"].num_entries', 'file["dir/t/x"].array().tolist()', 'file["dir/t"].arrays().tolist()',
    'file["dir/t"].arrays(["x"], cut="x > 0", library="np")["x"].tolist()', 'file["n"].arrays().tolist()',
    'file["n"].keys()', 'file["h"].to_numpy()[0].tolist()', 'file["h"].axes[0].edges().tolist()',
    'file["h"].member("fName")', 'file["h"].classname', 'file["h"].all_members.keys() >= {"fName", "fXaxis"}',
    'file["dir/t/x"].interpretation.numpy_dtype', 'file["dir/t/x"].num_baskets', 'file["dir/t/x"].compressed_bytes',
    'sorted(file.file.streamers)', 'file["dir"].path', 'file["dir/t"].name', 'file["dir/t"].object_path',
    '[len(step) for step in file["dir/t"].iterate(step_size=2)]', 'file["h"].values(flow=True).tolist()',
]  # fmt: skip


def results(theirs: Any, ours: Any) -> tuple[int, list[str]]:
    """How many calls give the same, and those that do not."""
    other = []
    for call in RESULTS:
        found = []
        for file in (theirs, ours):
            text = call if call.startswith(("file", "[", "sorted")) else f"file.{call}"
            try:
                found.append(eval(text, {"file": file, "len": len, "sorted": sorted}))
            except Exception as error:
                found.append(f"{type(error).__name__}: {error}")
        if found[0] != found[1]:
            other.append(f"`{call}`: {found[0]!r:.80}, here {found[1]!r:.80}")
    return len(RESULTS) - len(other), other


def page() -> tuple[str, list[str]]:
    """The page, and what has no words yet."""
    lines = [
        "# Coming from uproot",
        "",
        f"Made by `python -m tools.coming_from_uproot` beside uproot {uproot.__version__}. Scripts run with",
        "`import sapwood as uproot` as far as they use what users of uproot see; uproot's own tests are the measure",
        "([which pass](uproot-tests.md)). What has the same name does the same, but for the",
        "[differences](python.md#differences-from-uproot) that the guide lists. Keyword arguments that only tune how",
        "uproot fetches and caches are taken and have no effect. `import sapwood.as_uproot`, before all that uses",
        "uproot, makes `import uproot` mean this package for the whole process, with the modules of uproot that",
        "libraries use (`uproot.behaviors`, `uproot.const`, `uproot.writing.identify` and so on): libraries that read",
        "and write with uproot then do so with Sapwood. Those that use what uproot is made of (`uproot._util`,",
        "`uproot.source`) need uproot itself: coffea's NanoEvents does.", "",
    ]  # fmt: skip
    silent = []
    with tempfile.TemporaryDirectory() as folder:
        found = samples(Path(folder))
        same, other = results(found[1][2], found[1][3])
        end = ":" if other else "."
        lines += [f"{same} of {len(RESULTS)} calls on a small file give equal results{end}", ""]
        lines += [f"- {line}" for line in other] + [""] * bool(other)
        for place, heading, theirs, ours in found:
            known, own = public(theirs), public(ours)
            if inspect.ismodule(theirs):
                known = without_modules(theirs, known)
                own = without_modules(ours, own)
            groups: dict[str, list[str]] = {}
            insides = 0
            for name in sorted(known - own):
                words = instead(place, name)
                if words is None:
                    silent.append(f"{place}.{name}")
                if words == INSIDE:
                    insides += 1
                else:
                    groups.setdefault(words or "not here", []).append(name)
            lines += [f"## {heading[0].upper()}{heading[1:]}", ""]
            total = f"{len(known & own)} of uproot's {len(known)} names, and {len(own - known)} more."
            if insides:
                total += f" {insides} of the others are inside of its reader: hooks, cursors, chunks, models."
            lines += textwrap.wrap(total, 118) + [""]
            if groups:
                lines += ["| uproot | here |", "|---|---|"]
                for words, names in groups.items():
                    lines.append(f"| {', '.join(f'`{name}`' for name in names)} | {words} |")
                lines += [""]
            lacking = [f"`{name}({', '.join(of)})`" for name, of in missing_parameters(theirs, ours)]
            if lacking:
                lines += textwrap.wrap(f"Parameters that are not taken: {', '.join(lacking)}.", 118) + [""]
        for place, _, theirs, ours in found:
            if place.startswith("writable file"):
                theirs.close(), ours.close()
    return "\n".join(lines).rstrip() + "\n", silent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    text, silent = page()
    for name in silent:
        print(f"{name} has neither a counterpart nor words in tools/coming_from_uproot.py")
    if not parser.parse_args().check:
        PAGE.write_text(text)
    elif PAGE.read_text() != text:
        print(f"{PAGE.name} is not what python -m tools.coming_from_uproot writes")
        return 1
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
