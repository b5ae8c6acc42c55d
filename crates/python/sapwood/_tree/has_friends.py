"""Friends of a tree or an RNTuple: other trees whose branches its expressions know."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sapwood._read import friends as friends_module
from sapwood._read import reading
from sapwood._read.friends import Friend
from sapwood.errors import ExistsError, NotFoundError, not_found

if TYPE_CHECKING:
    from sapwood._tree.tree import Tree

Found = TypeVar("Found")


class HasFriends:
    """A tree that may have friends."""

    #: Friends that were added, by their names.
    _added: dict[str, Friend]

    if TYPE_CHECKING:

        @property
        def _core(self) -> Any: ...
        @property
        def file_path(self) -> Any: ...
        @property
        def object_path(self) -> str: ...

    @property
    def friends(self) -> dict[str, tuple[str, str]]:
        """Friends that the tree brings along (``fFriends``): by their names the path of the file, empty for
        the same file, and the tree in it. Expressions find their branches; they are opened when a name is
        asked for that the tree does not have."""
        return {name: (file, tree) for name, tree, file in self._core.friends}

    def add_friend(self, other: Any, name: str | None = None, *, index: Any = None) -> None:
        """Makes the branches of other trees known to expressions (``TTree::AddFriend``): as ``name.branch``,
        or ``branch`` where this tree has none of that name and no other friend either.

        ``other`` is a tree or an RNTuple, or a path or list of files as for :func:`sapwood.iterate`, which
        are opened, and whose trees follow one another. ``name`` is the name of the first tree unless it is
        given. Without ``index`` an entry of the friend belongs to the entry with the same number, or, if the
        friend brings a ``TTreeIndex`` along, to those for which that index has the same values.
        ``index=("run", "event")`` builds one, of two expressions that both trees have; ``index=False`` leaves
        out the one that is there.

        Where a friend has no entry, a value is missing: nothing is drawn, lists are empty, and ``arrays``
        refuses single values unless the cut leaves such entries out. Friends are not stored in the file.

        >>> import io, sapwood
        >>> with sapwood.recreate(memory := io.BytesIO()) as file:
        ...     file["t"] = {"event": [1, 2, 3], "x": [1.0, 2.0, 3.0]}
        ...     file["late"] = {"event": [3, 1], "y": [30.0, 10.0]}
        >>> file = sapwood.open(memory)
        >>> tree = file["t"]
        >>> tree.add_friend(file["late"], "f", index="event")
        >>> tree.points("f.y - x")[0][0].tolist()
        [9.0, 27.0]
        """
        trees = friends_module.trees_of(other, cast("Tree", self))
        name = friends_module.check_name(trees[0].name if name is None else name)
        if name in self._added:
            raise ExistsError(f"there is a friend {name!r} already: give this one another name")
        friend = Friend(name, trees, 0, index)
        if isinstance(friend.index, tuple):
            # A wrong name is told here, and not by each query to come.
            for tree in trees[:1]:
                reading.Plan(tree, []).query(list(friend.index), None)
        self._added[name] = friend

    def _with_friends(self, make: Callable[[list[Any]], Found], more: Iterable[Friend] = ()) -> Found:
        """What is made of the engine's friends: of those that were added, and where a name is not found of
        those that the tree brings along, too."""
        more = list(more)
        try:
            return make(friends_module.engine(cast("Tree", self), more, None))
        except NotFoundError as error:
            failed: list[str] = []
            deep = friends_module.engine(cast("Tree", self), more, failed)
            try:
                return make(deep)
            except NotFoundError as second:
                if not failed:
                    raise
                words = "; ".join([str(error), *failed])
                raise not_found(words, self.file_path, self.object_path) from second

    @property
    def _friendly_words(self) -> str:
        """What to say where a branch is not there."""
        names = [*self._added, *self.friends]
        if not names:
            return ""
        return f"; those of its friends ({', '.join(names)}) are read by arrays() and other expressions"
