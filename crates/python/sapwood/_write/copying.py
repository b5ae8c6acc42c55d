"""Objects that come from other files, or get another name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sapwood import errors
from sapwood._read.filters import Filter

if TYPE_CHECKING:
    from sapwood._file.file import File
    from sapwood.writing import WritableFile


class Copying:
    """What a directory of a file that is written takes from others."""

    if TYPE_CHECKING:

        @property
        def file(self) -> WritableFile: ...

        def _full(self, name: Any, what: str = "the name of an object") -> str: ...

    def copy(self, source: Any, name: str, to: str | None = None) -> None:
        """Copies an object, a tree with its baskets, or a directory with all below it: from ``source``, an
        open :class:`~sapwood.File` or a path, under the same name or the path ``to``.

        Nothing is inflated, and classes need not be known: their descriptions come along.

        >>> import os, sapwood, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> with sapwood.recreate(os.path.join(folder, "a.root")) as file:
        ...     file["tree"] = {"x": [1, 2, 3]}
        >>> with sapwood.recreate(os.path.join(folder, "b.root")) as file:
        ...     file.copy(os.path.join(folder, "a.root"), "tree", "old/tree")
        >>> sapwood.open(os.path.join(folder, "b.root"))["old/tree/x"].array().tolist()
        [1, 2, 3]

        Raises :class:`KeyError` where there is none of that name.
        """
        from sapwood._file.file import as_file

        target = self._full(name if to is None else to)
        self.file._make_way(target)
        self.file._core.copy(as_file(source)._engine(), name, target)
        self.file._forget_tree(target)

    def copy_from(
        self,
        source: Any,
        *,
        filter_name: Filter = None,
        filter_classname: Filter = None,
        rename: Any = None,
        require_matches: bool = True,
    ) -> None:
        """Copies all that passes the filters from ``source``, a directory that was read or a path, as
        :meth:`copy` does: trees, too.

        ``rename`` gives names in this directory: a function, or a mapping of the names that change.

        >>> import io, sapwood
        >>> first, second = io.BytesIO(), io.BytesIO()
        >>> with sapwood.recreate(first) as file:
        ...     file["run"], file["raw/tree"] = "17", {"x": [1, 2]}
        >>> with sapwood.recreate(second) as file:
        ...     file.copy_from(sapwood.open(first), filter_name="raw/*", rename={"raw/tree": "tree"})
        >>> sapwood.open(second).keys()
        ['tree;1']

        Raises ``ValueError`` where nothing passes, unless ``require_matches`` is false.
        """
        from sapwood._file.file import as_directory

        found: File | Any = as_directory(source)
        choose = rename if callable(rename) else lambda name: (rename or {}).get(name, name)
        rows = found._iter(True, False, filter_name, filter_classname)
        names = [name for name, key in rows if not key.is_directory]
        if require_matches and not names:
            raise errors.MismatchError(f"nothing in {found.file_path} passes filter_name={filter_name!r}")
        for name in names:
            self.copy(found.file, found._full(name), choose(name))

    def rename(self, name: str, to: str) -> None:
        """Gives an object, a tree or a directory that was in the file before another path."""
        old, new = self._full(name), self._full(to)
        self.file._core.rename(old, new)
        for path in (old, new):
            self.file._forget_tree(path)
