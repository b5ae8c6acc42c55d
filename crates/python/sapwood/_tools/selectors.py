"""Selectors in files of their own: written as a skeleton, and run by ``sapwood process``."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from typing import Any

import numpy as np

from sapwood import objects, writing
from sapwood._file import file as files_module
from sapwood._read import chain
from sapwood._remote import paths
from sapwood._tools import processing
from sapwood._tools.processing import Selector
from sapwood._write.staged import staged
from sapwood.errors import (
    ExistsError,
    MismatchError,
    MissingFileError,
    SapwoodError,
    UnsupportedError,
    WrongTypeError,
)
from sapwood.interpretation import Grouped, Unknown

#: Names of files of C++, with what ACLiC takes behind them.
_MACRO = re.compile(r"\.(c|cc|cpp|cxx|h|hh|hpp|hxx)\+*g?O?$", re.IGNORECASE)

SKELETON = '''"""A selector for the {kind} {tree!r}, as it is in {file}.

Run it with `sapwood process FILES {module}`, or `sapwood.process(files, {name}())`.
"""

from __future__ import annotations

from typing import Any

from sapwood import Selector


class {name}(Selector):
    # What is read: branches and expressions. Leave out what you do not need.
    columns = [
{columns}
    ]
    # Only entries for which this is true: "nMuon > 1", for instance.
    cut = None

    def begin(self) -> None:
        """Is called once, before anything is read."""

    def process(self, batch: Any) -> Any:
        """What some entries give. `batch` is an Awkward Array with a field for each column.

        Copies of this run in many workers: return what was found, and change nothing.
        """
        return {{"entries": len(batch)}}

    def merge(self, one: Any, other: Any) -> Any:
        """Two results as one, in the order of entries."""
        return {{key: one[key] + other[key] for key in one}}

    def terminate(self, result: Any) -> Any:
        """The result of all entries; None where there were none."""
        return result
'''


def makeselector(source: Any, *, module: str = "selector.py", name: str | None = None) -> str:
    """Python code of a :class:`~sapwood.Selector` for a tree (``TTree::MakeSelector``): all columns that can
    be read, with their types, and the methods to be filled in. It runs as it is.

    ``source`` is a tree, or a path like ``"events.root:tree"``; ``name`` that of the class, by default made
    of the tree's.

    >>> import os, sapwood, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.root")
    >>> with sapwood.recreate(path) as file:
    ...     file["events"] = {"x": [1.0, 2.0]}
    >>> code = makeselector(f"{path}:events")
    >>> [line for line in code.splitlines() if "class" in line or "double" in line]
    ['class EventsSelector(Selector):', '        "x",  # double']
    """
    found = paths.expand(source)
    if len(found) > 1:
        raise MismatchError(f"a selector is made of one tree, and {source!r} are {len(found)} files")
    tree = chain.open_tree(found[0], {**files_module.check_options(0), "network": {}})
    columns = [
        f"        {json.dumps(path)},  # {_on_one_line(branch.typename)}"
        for path, branch in tree.items(recursive=True)
        if not isinstance(branch.interpretation, (Grouped, Unknown)) and branch._row["has_data"]
    ]
    words = re.sub(r"\W+", " ", tree.name).title().replace(" ", "")
    chosen = name or f"{words if words[:1].isalpha() else 'Tree'}Selector"
    if not chosen.isidentifier():
        raise MismatchError(f"{chosen!r} cannot be the name of a class")
    return SKELETON.format(
        kind="RNTuple" if tree.classname.endswith("RNTuple") else "tree",
        tree=_on_one_line(tree.name),
        file=_on_one_line(os.path.basename(str(tree.file_path))),
        module=module,
        name=chosen,
        columns="\n".join(columns),
    )


def _on_one_line(text: str) -> str:
    """Words of a file for a comment or a docstring: nothing in them ends either."""
    return "".join(letter if letter.isprintable() and letter not in "\\\"'" else "?" for letter in text)


def load(path: str) -> Selector:
    """The selector of a file of Python, ``selector.py`` or ``selector.py:Class``.

    Raises :class:`~sapwood.errors.UnsupportedError` for a macro of C++, and
    :class:`~sapwood.errors.MismatchError` where it is not clear which class is meant.
    """
    place, _, name = path.partition(":") if not os.path.exists(path) else (path, "", "")
    if _MACRO.search(place):
        raise UnsupportedError(
            f"{place!r} is C++, which is not run here: `sapwood makeselector FILE:TREE` writes the skeleton of a "
            "selector in Python, with the same begin, process and terminate; ROOT's TTree::Process runs this one"
        )
    if not os.path.isfile(place):
        raise paths.missing_file(place)
    folder, file = os.path.split(os.path.abspath(place))
    module = file.removesuffix(".py")
    if not file.endswith(".py") or not module.isidentifier():
        raise MismatchError(f"{place!r} is no module of Python: name it like selector.py")
    # By its name, so that workers of other processes find it, too.
    sys.path.insert(0, folder)
    sys.modules.pop(module, None)
    try:
        loaded = importlib.import_module(module)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [
            frame.lineno for frame in frames if os.path.abspath(frame.filename) == os.path.join(folder, file)
        ]
        at = f", line {lines[-1]}" if lines else ""
        raise MismatchError(f"{place!r} cannot be imported: {type(error).__name__}: {error}{at}") from error
    known = {
        key: value
        for key, value in vars(loaded).items()
        if isinstance(value, type) and issubclass(value, Selector) and value is not Selector
    }
    # Those that the file only imports are meant where it has none of its own, or where one is named.
    own = {key: value for key, value in known.items() if value.__module__ == module}
    classes = known if name or not own else own
    if name:
        if name not in classes:
            raise MismatchError(f"{place!r} has no selector {name!r}; it has {', '.join(classes) or 'none'}")
        return classes[name]()
    if len(classes) != 1:
        listed = (
            f"several selectors: {place}:CLASS with one of {', '.join(classes)}" if classes else "no selector"
        )
        raise MismatchError(
            f"{place!r} has {listed}; a selector is a class that derives from sapwood.Selector"
        )
    return next(iter(classes.values()))()


def process_parser() -> argparse.ArgumentParser:
    """What ``sapwood process`` takes."""
    parser = argparse.ArgumentParser(
        "sapwood process",
        description="Run a selector, a class that derives from sapwood.Selector, over trees of many files.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE[:TREE]", help="files, with globs")
    parser.add_argument("selector", metavar="SELECTOR.py[:CLASS]", help="a file of Python, and a class in it")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="how many; all cores by default")
    parser.add_argument("--processes", action="store_true", help="workers are processes, and not threads")
    parser.add_argument("--step-size", default="100 MB", help="entries, or bytes, of a unit of work")
    parser.add_argument(
        "--allow-missing", action="store_true", help="go on without files, trees and branches"
    )
    parser.add_argument("--lumi-mask", metavar="JSON", help="only certified luminosity sections")
    parser.add_argument(
        "--friend",
        action="append",
        default=[],
        metavar="NAME=FILE[:TREE]",
        help="files whose entries belong to those of FILES; may be given several times",
    )
    parser.add_argument(
        "-o",
        "--out",
        metavar="FILE",
        help="write the result: .root (histograms and numbers by name) or .json",
    )
    parser.add_argument("-f", "--force", action="store_true", help="replace that file")
    return parser


def process_command(arguments: Sequence[str]) -> int:
    """``sapwood process FILES... SELECTOR``."""
    options = process_parser().parse_args(arguments)
    write = _writer(options.out, options.force)
    friends = dict(one.partition("=")[::2] for one in options.friend)
    size = options.step_size
    pool = futures.ProcessPoolExecutor if options.processes else futures.ThreadPoolExecutor
    if options.workers < 1:
        raise MismatchError("--workers is at least 1")
    selector = load(options.selector)
    with pool(options.workers) as executor:
        result = processing.process(
            options.files,
            selector,
            executor,
            step_size=int(size) if size.isdigit() else size,
            allow_missing=options.allow_missing,
            friends=friends,
            lumi_mask=options.lumi_mask,
        )
    write(result)
    return 0


def makeselector_parser() -> argparse.ArgumentParser:
    """What ``sapwood makeselector`` takes."""
    parser = argparse.ArgumentParser(
        "sapwood makeselector", description="Write the skeleton of a selector in Python, which runs as it is."
    )
    parser.add_argument("target", metavar="FILE[:TREE]", help="a tree or an RNTuple")
    parser.add_argument(
        "output", nargs="?", metavar="SELECTOR.py", help="where to; to the terminal without it"
    )
    parser.add_argument("--name", help="name of the class")
    parser.add_argument("-f", "--force", action="store_true", help="replace that file")
    return parser


def makeselector_command(arguments: Sequence[str]) -> int:
    """``sapwood makeselector FILE:TREE``."""
    options = makeselector_parser().parse_args(arguments)
    code = makeselector(
        options.target, module=os.path.basename(options.output or "selector.py"), name=options.name
    )
    if options.output is None:
        sys.stdout.write(code)
        return 0
    _check_free(options.output, options.force)
    with open(options.output, "w", encoding="utf-8") as file:
        file.write(code)
    return 0


def _check_free(path: str, force: bool) -> None:
    if os.path.exists(path) and not force:
        raise ExistsError(f"{path} is there already: --force replaces it")


def _writer(path: str | None, force: bool) -> Callable[[Any], None]:
    """What is done with a result, checked before anything is read."""
    if path is None:
        return lambda result: print(result)
    _check_free(path, force)
    if path.endswith(".json"):

        def as_json(result: Any) -> None:
            try:
                text = json.dumps(result, default=_plain)
            except (MismatchError, TypeError, ValueError) as error:
                print(result)  # what was computed is not lost
                raise MismatchError(
                    f"{path}: the result is printed, and not written: {error}; --out with .root takes histograms"
                ) from error
            with open(path, "w", encoding="utf-8") as file:
                file.write(text + "\n")

        return as_json
    if not path.endswith(".root"):
        raise MismatchError(f"{path}: a result is written as .root or .json")

    def as_root(result: Any) -> None:
        values = result if isinstance(result, Mapping) else {"result": result}
        try:
            with staged(path) as place, writing.recreate(place) as file:
                for name, value in values.items():
                    is_number = isinstance(value, (int, float, np.number))
                    file[str(name)] = objects.parameter(value) if is_number else value
        except WrongTypeError as error:
            print(result)  # what was computed is not lost
            raise MismatchError(
                f"{path}: the result is printed, and not written: {error}; --out with .json takes numbers and lists"
            ) from error

    return as_root


def _plain(value: Any) -> Any:
    for method in ("to_list", "tolist"):
        if hasattr(value, method):
            return getattr(value, method)()
    raise MismatchError(f"a result of type {type(value).__name__} has no form in JSON")


def run(command: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> int:
    """Runs a command; what goes wrong is told as the others tell it."""
    try:
        return command(arguments)
    except (SapwoodError, MissingFileError, ModuleNotFoundError, OSError) as error:
        print(f"sapwood: {error}", file=sys.stderr)
        return 1


__all__ = ["load", "makeselector"]
