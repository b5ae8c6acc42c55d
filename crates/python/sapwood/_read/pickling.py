"""Objects apart from their file, for pickles and copies."""

from __future__ import annotations

import copyreg
import sys
from typing import Any

from sapwood import _core
from sapwood.errors import SapwoodError


class Held:
    """What an object of the engine tells, without the engine."""

    file: str | None = None
    """Name of the file that it is from."""

    def __init__(self, classname: str, id: int, file: str | None = None) -> None:
        self.classname, self.id, self.file = classname, id, file
        self._value: Any = None
        self._error: SapwoodError | None = None

    def value(self) -> Any:
        """Its value; raises why there is none."""
        if self._error is not None:
            raise self._error
        return self._value


def hold(found: Any, known: dict[int, Held] | None = None) -> Any:
    """A value of the engine with all objects that it leads to, each once."""
    known = {} if known is None else known
    if isinstance(found, _core.Object):
        if found.id not in known:
            made = known[found.id] = Held(found.classname, found.id, found.file)
            try:
                made._value = hold(found.value(), known)
            except SapwoodError as error:
                made._error = error.with_traceback(None)
        return known[found.id]
    if isinstance(found, _core.Struct):
        members = {name: hold(value, known) for name, value in found.members.items()}
        return _core.Struct(found.classname, [hold(base, known) for base in found.bases], members)
    if isinstance(found, (list, tuple)):
        return type(found)(hold(one, known) for one in found)
    return found


def _parts(record: _core.Struct) -> Any:
    return _core.Struct, (record.classname, record.bases, record.members)


copyreg.pickle(_core.Struct, _parts)
# Pickles of earlier versions look for objects there.
sys.modules.setdefault("sapwood.held", sys.modules[__name__])
