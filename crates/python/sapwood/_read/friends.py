"""Friends of trees: trees whose entries belong to those of another one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from sapwood import _core
from sapwood._file import session
from sapwood._remote import paths, urls
from sapwood.errors import LimitError, MismatchError, SapwoodError, place

if TYPE_CHECKING:
    from sapwood._tree.tree import Tree

#: Two expressions, or whether the stored index counts (``None``), or none does (``False``).
Index = tuple[str, str] | bool | None

#: Friends of friends.
DEEPEST = 20


class Friend:
    """A friend: its trees, which follow one another, and which entry belongs to which."""

    def __init__(self, name: str, trees: Sequence[Tree], first: int = 0, index: Index = None) -> None:
        self.name, self.trees, self.first, self.index = name, list(trees), first, check_index(index)
        self._engine: Any = None
        self._generation = -1

    def core(self) -> Any:
        """The engine's friend, made once: an index is built when it is first needed."""
        if self._engine is None or self._generation != session.generation():
            pair = self.index if isinstance(self.index, tuple) else None
            cores = [tree._core for tree in self.trees]
            is_stored = self.index is None
            self._engine = _core.Friend(self.name, cores, self.first, pair, is_stored)
            self._generation = session.generation()
        return self._engine


def check_index(index: Any) -> Index:
    """An index as one or two expressions, ``None`` or ``False``."""
    if index is None or index is False:
        return index
    pair = (index, "0") if isinstance(index, str) else index
    if isinstance(pair, (tuple, list)) and len(pair) in (1, 2) and all(isinstance(one, str) for one in pair):
        return (pair[0], pair[1] if len(pair) == 2 else "0")
    raise TypeError(f"an index is one or two expressions, as in ('run', 'event'), or False, not {index!r}")


def has_index(tree: Any) -> bool:
    """Does a tree bring an index along?"""
    return bool(getattr(tree.tree._core, "has_index", False))


def check_name(name: Any) -> str:
    """The name of a friend, by which expressions know it."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a friend is a string, not {name!r}")
    if not name.isidentifier():
        raise MismatchError(f"{name!r} cannot be the name of a friend: expressions write it before a point")
    return name


def trees_of(other: Any, of: Tree) -> list[Any]:
    """The trees of what may be a friend of a tree: one that is open, or those of files."""
    from sapwood._read import chain

    if hasattr(other, "num_entries"):
        return [other.tree]
    options = of._root._options
    sources = paths.expand(other, network=options.get("network"))
    return [chain.open_tree(source, options) for source in sources]


def engine(tree: Tree, more: Iterable[Friend], failed: list[str] | None) -> list[Any]:
    """The engine's friends of a tree: those that were added and ``more``. With a list for words about those
    that cannot be read, also those that the trees bring along, and theirs."""
    known = _friends(tree, more, failed)
    seen = {_identity(tree)} | {_identity(one) for friend in known for one in friend.trees}
    return [_nested(friend, failed, seen, 0) for friend in known]


def _friends(tree: Tree, more: Iterable[Friend], failed: list[str] | None) -> list[Friend]:
    known = {**tree._added, **{friend.name: friend for friend in more}}
    if failed is not None:
        for name in tree.friends:
            if name not in known and (friend := _stored(tree, name, failed)) is not None:
                known[name] = friend
    return list(known.values())


def _nested(friend: Friend, failed: list[str] | None, seen: set[tuple[str | int, str]], depth: int) -> Any:
    """The engine's friend with its own friends. A tree that is known already is no friend again: trees often
    are friends of each other."""
    nested: list[list[Any]] = []
    for tree in friend.trees:
        friends = _friends(tree, (), failed)
        known = [one for one in friends if not any(_identity(of) in seen for of in one.trees)]
        if known and depth >= DEEPEST:
            words = f"friends of friends are followed to a depth of {DEEPEST}: {friend.name!r} has more"
            raise LimitError(words)
        seen |= {_identity(of) for one in known for of in one.trees}
        nested.append([_nested(one, failed, seen, depth + 1) for one in known])
    return friend.core().with_friends(nested) if any(nested) else friend.core()


def _identity(tree: Tree) -> tuple[str | int, str]:
    """What a tree and the same one in a file that was opened again have in common. Files in memory have no
    path of their own."""
    path = tree.file_path
    return id(tree._root) if path.startswith("<") else path, tree.object_path


def _stored(tree: Tree, name: str, failed: list[str]) -> Friend | None:
    """A friend that a tree brings along. Relative paths are tried as they are, as ROOT does, and then from the
    tree's folder."""
    if name in tree._stored:
        return tree._stored[name]
    path, inner = tree.friends[name]
    try:
        opened = tree._root if not path else _open(tree, path)
        friend = opened[inner]
    except (SapwoodError, OSError) as error:
        where = f"tree {inner!r} in {path or 'this file'!r}"
        failed.append(f"the friend {name!r} ({where}) cannot be read: {error}")
        return None
    if not hasattr(friend, "num_entries"):
        failed.append(f"the friend {name!r} is no tree{place(tree.file_path, tree.object_path)}")
        return None
    return tree._stored.setdefault(name, Friend(name, [friend]))


def _open(tree: Tree, path: str) -> Any:
    from sapwood._file import file as files

    return files.open_file(place_of(tree.file_path, path), **tree._root._options)


def place_of(of_tree: str, path: str) -> str:
    """Where a file is that a file at some place names, for a friend or in a chain. A path is tried as it is
    first, as ROOT does.

    A file cannot make this process ask another server than its own.
    """
    is_near = not urls.is_url(of_tree) and not urls.is_url(path)
    return path if is_near and os.path.exists(path) else _core.beside(of_tree, path)
