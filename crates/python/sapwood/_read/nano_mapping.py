"""Columns for the schemas of coffea: imported only where these are used."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from typing import Any

import awkward as ak
import numpy as np
from coffea.nanoevents import NanoEventsFactory  # type: ignore[import-untyped]
from coffea.nanoevents.mapping.base import BaseSourceMapping, UUIDOpener  # type: ignore[import-untyped]
from coffea.nanoevents.mapping.uproot import CannotBeNanoEvents, _lazify_form  # type: ignore[import-untyped]
from coffea.nanoevents.schemas import EDM4HEPSchema  # type: ignore[import-untyped]
from coffea.nanoevents.schemas.edm4hep import podio_collection_types  # type: ignore[import-untyped]
from coffea.nanoevents.util import tuple_to_key, unquote  # type: ignore[import-untyped]

from sapwood._file import file as files
from sapwood._notices import warn
from sapwood._read import layout, libraries, reading
from sapwood._read.selection import Selection
from sapwood.errors import MismatchError
from sapwood.interpretation import Grouped, Unknown


class Opener(UUIDOpener):  # type: ignore[misc]
    """Opens files again, by the numbers that they have."""

    def __init__(self, paths: dict[str, str], options: dict[str, Any]) -> None:
        super().__init__(paths)
        self._options = options

    def open_uuid(self, uuid: str) -> Any:
        """The file of that number."""
        path = self._uuid_pfnmap[uuid]
        opened = files.open_file(path, **self._options)
        if str(opened.uuid) != uuid:
            raise MismatchError(f"{path} is another file than the events are from: open them again")
        return opened


class Columns(BaseSourceMapping):  # type: ignore[misc]
    """The columns of a tree, as coffea asks for them.

    It asks for one buffer after another. Columns that are asked for together are read in one plan: all of
    them for events that are read at once, those that are named beforehand (:meth:`preload`), and those that
    were looked at in the entries before, of the same tree.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        #: Whether what was read beforehand is there at once.
        self.is_ready = False
        self._before: list[str] = []
        self._touched: dict[str, None] = {}
        self._arrays: dict[str, Any] = {}
        self._lock = threading.Lock()

    def learn(self, tree: Any) -> None:
        """Knows from now on what was looked at in the entries before."""
        self._before, tree._looked_at = list(tree._looked_at), self._touched

    @classmethod
    def _extract_base_form(cls, tree: Any, filter_name: Any = None) -> dict[str, Any]:
        """The form of all columns that coffea can have."""
        forms: dict[str, Any] = {}
        branches = tree.items(filter_name=filter_name)
        # Columns of ATLAS have a container without values beside them.
        beside = {name.partition("Aux")[0] for name, _ in branches if "Aux" in name}
        for name, branch in branches:
            if name in forms or (tree._is_whole and _is_inner(name)) or not _is_known(branch):
                continue
            if name in beside and branch.interpretation.kind[0] == "record":
                continue
            if "," in name or "!" in name:
                warn(
                    f"left out {name!r}: coffea has no columns with a comma or an exclamation mark",
                    stacklevel=4,
                )
                continue
            try:
                form = json.loads(_form(branch).to_json())
                forms[name] = _lazify_form(
                    form, f"{name},!load", docstr=branch.title, typestr=branch.typename
                )
            except CannotBeNanoEvents as error:
                warn(
                    f"left out {name!r} ({branch.typename}): coffea has no such columns: {error}",
                    stacklevel=4,
                )
        return {
            "class": "RecordArray",
            "contents": list(forms.values()),
            "fields": list(forms),
            "parameters": {"__doc__": tree.title},
            "form_key": None,
        }

    def key_root(self) -> str:
        """What the keys of its cache begin with."""
        return "sapwood:"

    def preload(self, tree: Any, names: Iterable[str]) -> None:
        """Reads columns in one plan."""
        with self._lock:
            self._read(tree, self._start, self._stop, [name for name in names if name in tree])

    def __getitem__(self, key: str) -> Any:
        found = super().__getitem__(key)
        if self.is_ready and callable(found):
            _, _, _, _, _, nodes = self.interpret_key(key)
            if self._arrays.keys() >= set(_loaded(nodes)):
                return found()
        return found

    def get_column_handle(self, columnsource: Any, name: str, allow_missing: bool) -> Any:
        """A branch; ``None`` where it is missing and may be."""
        if allow_missing and name not in columnsource:
            return None
        return columnsource[name], name

    def extract_column(
        self, columnhandle: Any, start: int, stop: int, allow_missing: bool, use_ak_forth: bool = True
    ) -> Any:
        """The values of a branch."""
        length = stop - start
        if columnhandle is None:
            nothing = ak.contents.NumpyArray(np.zeros(0, bool))
            return ak.contents.IndexedOptionArray(ak.index.Index64(np.full(length, -1, "int64")), nothing)
        branch, name = columnhandle
        with self._lock:
            if name not in self._arrays:
                tree = branch.tree
                # What was looked at in the entries before will be looked at in these.
                others = [other for other in self._before if other in tree]
                self._read(tree, start, stop, list(dict.fromkeys([name, *others])))
            self._touched[name] = None
            found = self._arrays[name]
        if allow_missing:
            there = ak.index.Index64(np.arange(length, dtype="int64"))
            return ak.Array(ak.contents.IndexedOptionArray(there, ak.to_layout(found)))
        return found

    def _read(self, tree: Any, start: int, stop: int, names: list[str]) -> None:
        branches = {name: tree[name] for name in names if name not in self._arrays}
        leaves = {leaf._id: leaf for branch in branches.values() for leaf in reading.values_below(branch)}
        selection = Selection((start, stop))
        loaded = reading.load(list(leaves.values()), selection)
        for name, branch in branches.items():
            array = reading.branch_value(branch, loaded, libraries.AWKWARD, selection)
            if isinstance(array.layout, ak.contents.ListOffsetArray):
                array = ak.Array(array.layout.to_ListOffsetArray64(True))
            self._arrays[name] = array

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None, "_arrays": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())

    def __len__(self) -> int:
        return int(self._stop - self._start)

    def __iter__(self) -> Any:
        raise NotImplementedError


def _form(branch: Any) -> Any:
    """The form of its array."""
    if isinstance(branch.interpretation, Grouped):
        names = [child.name for child in branch._children]
        return ak.forms.RecordForm([_form(child) for child in branch._children], names)
    return branch.interpretation.awkward_form(None)


def _is_inner(name: str) -> bool:
    """Is it a part of a field of an RNTuple, or a collection that ROOT's importer of trees made?"""
    return "." in name or name.startswith("_collection")


def _is_known(branch: Any) -> bool:
    """Is the type of its arrays known, and that of all that is below it, and are there values?"""
    found = branch.interpretation
    if isinstance(found, Grouped):
        return bool(branch._children) and all(_is_known(child) for child in branch._children)
    return not isinstance(found, Unknown) and bool(found.is_awkward) and layout.has_values(found.kind)


def base_form(tree: Any, schema: Any, metadata: Any, filter_name: Any) -> dict[str, Any]:
    """What a schema makes its form of."""
    form = Columns._extract_base_form(tree, filter_name)
    form["typenames"] = tree.typenames()
    if isinstance(schema, type) and issubclass(schema, EDM4HEPSchema):
        form["podio_collection_types"] = podio_collection_types(tree)
    if metadata is not None:
        form["parameters"]["metadata"] = metadata
    return form


def factory(
    tree: Any,
    schema: Any,
    span: tuple[int, int],
    is_virtual: bool,
    preload: Iterable[str],
    access_log: Any,
    options: dict[str, Any],
    is_ready: bool = False,
) -> Any:
    """A factory of events: ``schema`` is made of the form of the tree's columns. With ``is_ready``, columns
    to ``preload`` are arrays from the beginning."""
    uuid, path = str(tree.file.uuid), tree.object_path
    mapping = Columns(
        Opener({uuid: tree.file_path}, options),
        *span,
        cache={},
        access_log=access_log,
        file_handle=tree.file,
        virtual=is_virtual,
    )
    mapping.preload_column_source(uuid, path, tree)
    if is_virtual:
        mapping.learn(tree)
    else:
        preload = columns_of(schema.form)
    mapping.preload(tree, preload)
    mapping.is_ready = is_ready
    key = tuple_to_key((uuid, path, f"{span[0]}-{span[1]}"))
    return NanoEventsFactory(schema, mapping, key, mode="virtual" if is_virtual else "eager")


def _loaded(nodes: list[str]) -> list[str]:
    """Columns that are read for a buffer."""
    return [name for name, what in zip(nodes, nodes[1:]) if what.startswith("!load")]


def columns_of(form: Any) -> list[str]:
    """Names of the columns that are read for a form."""
    found: dict[str, None] = {}

    def visit(node: Any) -> None:
        if isinstance(node, Mapping):
            key = node.get("form_key")
            found.update(dict.fromkeys(_loaded(unquote(key).split(",")) if isinstance(key, str) else ()))
            for value in node.values():
                visit(value)
        elif isinstance(node, (list, tuple)):
            for value in node:
                visit(value)

    visit(form if isinstance(form, Mapping) else form.to_dict())
    return list(found)
