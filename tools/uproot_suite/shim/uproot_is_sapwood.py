"""A plugin of pytest: ``import uproot`` gives Sapwood. Modules of uproot's that Sapwood does not have can be
imported, so that other tests of a file run, and fail once they are used."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from typing import Any

import sapwood


class Absent:
    """Something inside of uproot."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise AttributeError("this is inside of uproot")

    def __class_getitem__(cls, _: Any) -> type[Absent]:
        return cls


class AbsentModule(types.ModuleType):
    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        return (
            importlib.machinery.ModuleSpec(name, self, is_package=True)
            if name.startswith("uproot.")
            else None
        )

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return AbsentModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


sys.modules["uproot"] = sapwood
for name, module in list(sys.modules.items()):
    if name.startswith("sapwood."):
        sys.modules["uproot" + name.removeprefix("sapwood")] = module
        if not hasattr(module, "__path__"):
            module.__path__ = []
sys.meta_path.append(Finder())
for name in (
    "_util",
    "behaviors",
    "const",
    "containers",
    "exceptions",
    "models",
    "reading",
    "sink",
    "source",
):
    if not hasattr(sapwood, name):
        setattr(sapwood, name, AbsentModule(f"uproot.{name}"))
