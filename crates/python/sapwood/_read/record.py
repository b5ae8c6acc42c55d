"""What trees and branches tell of their own records, by ROOT's names of members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from sapwood._file.file import File
    from sapwood.model import Model

Self = TypeVar("Self", bound="HasRecord")


class HasRecord:
    """A tree or branch: its record as an object with members, and the file that it is in. In ``with``, the
    file is closed behind it."""

    @property
    def model(self) -> Model:
        """Its own record, with all members by ROOT's names."""
        raise NotImplementedError

    @property
    def file(self) -> File:
        """The file that it is in."""
        raise NotImplementedError

    def member(self, name: str, all: bool = True, none_if_missing: bool = False) -> Any:
        """A member of its own record by ROOT's name.

        Raises ``KeyError`` naming members that look alike, or gives ``None`` if that is wanted.
        """
        return self.model.member(name, all, none_if_missing)

    def has_member(self, name: str, all: bool = True) -> bool:
        """Has its record a member of that name, its own or, with ``all``, of a base class?"""
        return self.model.has_member(name, all)

    @property
    def members(self) -> dict[str, Any]:
        """Members of its record's own class."""
        return self.model.members

    @property
    def all_members(self) -> dict[str, Any]:
        """Members of its record, with those of the base classes."""
        return self.model.all_members

    @property
    def member_names(self) -> list[str]:
        """Names of the members of its record."""
        return self.model.member_names

    @property
    def bases(self) -> list[Any]:
        """The base classes of its record, each with its own members."""
        return self.model.bases

    def base(self, classname: str) -> Any:
        """The base class of that name of its record; ``None`` where there is none."""
        return self.model.base(classname)

    def tojson(self) -> Any:
        """Its record as plain dictionaries and lists."""
        return self.model.tojson()

    @property
    def closed(self) -> bool:
        """Has the file been closed?"""
        return self.file.closed

    def close(self) -> None:
        """Closes the file: nothing more is read from it."""
        self.file.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
