"""Trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sapwood import session
from sapwood.branch import Branch
from sapwood.branches import HasBranches
from sapwood.model import Model

if TYPE_CHECKING:
    from sapwood.file import File


class Tree(HasBranches):
    """A tree: a mapping from names to branches.

    Names of branches below others are found by their own name, or by a path like ``event/tracks``.
    """

    def __init__(self, core: Any, file: File, path: str, key: Any) -> None:
        self._engine = core
        self._root = file
        self._path = path
        self._key = key
        self._generation = session.generation()
        self._outline: tuple[list[Branch], list[Branch]] | None = None
        self._names: dict[str, Branch] | None = None
        self._aliases: dict[str, str] | None = None

    def _branches(self) -> tuple[list[Branch], list[Branch]]:
        """All branches, and those at the top: made on first use, for a wide tree has many."""
        if self._outline is None:
            branches: list[Branch] = []
            top: list[Branch] = []
            for id, (name, above) in enumerate(self._core.outline()):
                parent = None if above is None else branches[above]
                branch = Branch(self, id, name, parent)
                branches.append(branch)
                (top if parent is None else parent._subbranches).append(branch)
            self._outline = branches, top
        return self._outline

    @property
    def _all(self) -> list[Branch]:
        return self._branches()[0]

    @property
    def _children(self) -> list[Branch]:
        return self._branches()[1]

    @property
    def _core(self) -> Any:
        if self._generation != session.generation():
            # A child process has none of its parent's threads.
            self._engine = self._root._engine().tree(self._key)
            self._generation = session.generation()
        return self._engine

    def _direct(self, name: str) -> Branch | None:
        if self._names is None:
            self._names = {branch.name: branch for branch in reversed(self._children)}
        return self._names.get(name)

    @property
    def tree(self) -> Tree:
        """The tree itself."""
        return self

    @property
    def file(self) -> File:
        """The file that it is in."""
        return self._root

    @property
    def name(self) -> str:
        """Its name (``fName``)."""
        return str(self._core.name)

    @property
    def title(self) -> str:
        """Its title (``fTitle``)."""
        return str(self._core.title)

    @property
    def classname(self) -> str:
        """Its class: ``TTree``, ``TNtuple`` and so on."""
        return str(self._core.classname)

    @property
    def object_path(self) -> str:
        """Its path in the file, with its cycle."""
        return f"/{self._path};{self._key.cycle}"

    @property
    def num_entries(self) -> int:
        """Its entries (``fEntries``)."""
        return int(self._core.num_entries)

    @property
    def clusters(self) -> list[tuple[int, int]]:
        """Entry ranges that were written together: reading whole ones reads no basket twice."""
        return list(self._core.clusters)

    @property
    def aliases(self) -> dict[str, str]:
        """Names of expressions that the tree brings along (``fAliases``), and the expressions."""
        if self._aliases is None:
            self._aliases = dict(self._core.aliases)
        return self._aliases

    @property
    def model(self) -> Model:
        """The tree's own record, with all members by ROOT's names."""
        found: Model = Model.of(self._core.object)
        return found

    def member(self, name: str) -> Any:
        """A member of the tree's own record by ROOT's name."""
        return self.model.member(name)

    def close(self) -> None:
        """Closes the file."""
        self._root.close()

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{self.classname} {self.name!r} ({len(self)} branches, {self.num_entries} entries) of {self.file_path!r}>"

    def __reduce__(self) -> Any:
        return _reopened, (self._root, f"{self._path};{self._key.cycle}")


def _reopened(file: File, path: str) -> Tree:
    tree: Tree = file[path]
    return tree
