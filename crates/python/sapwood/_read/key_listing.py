"""Names of what is in a file or directory, read or written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sapwood._read.filters import Filter, as_match


class Listing:
    """Keys by their names; no object is read."""

    def _keys(self, recursive: bool) -> list[Any]:
        """The keys, of directories below too if wanted."""
        raise NotImplementedError

    def _names(self, recursive: bool, cycle: bool) -> list[str]:
        """Their names, each once."""
        return [name for name, _ in self._iter(recursive, cycle, None, None)]

    def _iter(
        self, recursive: bool, cycle: bool, filter_name: Filter, filter_classname: Filter
    ) -> Iterator[tuple[str, Any]]:
        name_passes, class_passes = as_match(filter_name), as_match(filter_classname)
        seen: set[str] = set()
        for key in self._keys(recursive):
            path = key.path
            if name_passes is not None and not name_passes(path):
                continue
            if class_passes is not None and not class_passes(key.classname):
                continue
            name = f"{path};{key.cycle}" if cycle else path
            if name not in seen:
                seen.add(name)
                yield name, key

    def _names_of_trees(self) -> list[str]:
        """Names of trees and RNTuples, without cycles, of directories below too."""
        rows = self._iter(True, False, None, None)
        return [name for name, key in rows if key.is_tree or key.is_ntuple]

    def iterkeys(
        self,
        *,
        recursive: bool = True,
        cycle: bool = True,
        filter_name: Filter = None,
        filter_classname: Filter = None,
    ) -> Iterator[str]:
        """Names of keys in the order of the file, as :meth:`keys`."""
        return (name for name, _ in self._iter(recursive, cycle, filter_name, filter_classname))

    def keys(
        self,
        *,
        recursive: bool = True,
        cycle: bool = True,
        filter_name: Filter = None,
        filter_classname: Filter = None,
    ) -> list[str]:
        """Names of keys in the order of the file; no object is read.

        ``recursive`` goes down into directories, ``cycle`` appends ``;cycle``. ``filter_name`` sees names
        without cycle, with the directories before them (filters as in
        :meth:`sapwood.Tree.keys`); ``filter_classname``
        sees the class.
        """
        if filter_name is None and filter_classname is None:
            return self._names(recursive, cycle)
        return list(
            self.iterkeys(
                recursive=recursive, cycle=cycle, filter_name=filter_name, filter_classname=filter_classname
            )
        )

    def iterclassnames(
        self,
        *,
        recursive: bool = True,
        cycle: bool = True,
        filter_name: Filter = None,
        filter_classname: Filter = None,
    ) -> Iterator[tuple[str, str]]:
        """Names and classes, as :meth:`classnames`."""
        return (
            (name, key.classname) for name, key in self._iter(recursive, cycle, filter_name, filter_classname)
        )

    def classnames(
        self,
        *,
        recursive: bool = True,
        cycle: bool = True,
        filter_name: Filter = None,
        filter_classname: Filter = None,
    ) -> dict[str, str]:
        """Class of each key; no object is read."""
        return dict(
            self.iterclassnames(
                recursive=recursive, cycle=cycle, filter_name=filter_name, filter_classname=filter_classname
            )
        )

    def __iter__(self) -> Iterator[str]:
        return self.iterkeys()

    def __len__(self) -> int:
        return len(self._keys(True))

    def _ipython_key_completions_(self) -> list[str]:
        return self.keys()
