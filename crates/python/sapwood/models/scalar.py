"""Small classes that stand for one value: strings, parameters, dates."""

from __future__ import annotations

import datetime
from typing import Any

from sapwood.model import Model


class Named(Model):
    """TNamed: a name and a title."""


class Numbers(Model):
    """TArrayF and its like: an array of numbers, as which NumPy takes it."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        numbers = self.member("fArray")
        return numbers if dtype is None else numbers.astype(dtype)

    def __len__(self) -> int:
        return len(self.member("fArray"))

    def __getitem__(self, where: Any) -> Any:
        return self.member("fArray")[where]


class ObjString(Model, str):
    """TObjString: a ``str`` that is also an object of the file."""

    def __new__(cls, value: Any, identity: Any = None) -> ObjString:
        text = value.members.get("fString", "") if hasattr(value, "members") else value
        return str.__new__(cls, text)

    def __repr__(self) -> str:
        return f"<TObjString {str.__repr__(self)}>"

    def __str__(self) -> str:
        return str.__str__(self)

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return str.__ne__(self, other)

    __hash__ = str.__hash__
    title = str.title  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return str, (str.__str__(self),)


class Parameter(Model):
    """TParameter: a name and one number, which Python can count and compare with."""

    @property
    def value(self) -> Any:
        """The number: ``bool``, ``int`` or ``float``, as its class says."""
        found = self.member("fVal")
        inside = self.classname.partition("<")[2].rstrip("> ")
        if inside in ("bool", "Bool_t"):
            return bool(found)
        if inside in ("float", "double", "long double", "Float_t", "Double_t", "LongDouble_t"):
            return float(found)
        return int(found)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __index__(self) -> int:
        value = self.value
        if not isinstance(value, int):
            raise TypeError(f"a {self.classname} is no whole number")
        return int(value)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (int, float)):
            return bool(self.value == other)
        return super().__eq__(other)

    __hash__ = object.__hash__

    def _describe(self) -> str:
        return f"<{self.classname} {self.name!r} = {self.value}>"


class Datime(Model):
    """TDatime: a date and time of day, in the writer's time zone."""

    def to_datetime(self) -> datetime.datetime:
        """As Python's ``datetime``."""
        packed = int(self.member("fDatime"))
        return datetime.datetime(
            (packed >> 26) + 1995,
            packed >> 22 & 15 or 1,
            packed >> 17 & 31 or 1,
            packed >> 12 & 31,
            packed >> 6 & 63,
            packed & 63,
        )
