"""Awkward Arrays whose branches are read when they are first looked at."""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from sapwood._read.libraries import AWKWARD, as_library, need
from sapwood._read.reading import Plan, branch_value, load, values_below
from sapwood._read.selection import Selection
from sapwood.errors import MismatchError

if TYPE_CHECKING:
    from sapwood._tree.branch import Branch


class Accessed(NamedTuple):
    """A buffer that was read: whose, and which."""

    branch: str
    buffer_key: str


class _Lazy:
    """The buffers of a branch's array, which is read once."""

    def __init__(self, branch: Branch, selection: Selection, number: int, log: Any) -> None:
        self.branch, self.selection, self.number, self.log = branch, selection, number, log
        self._buffers: dict[str, Any] | None = None
        self._lock = threading.Lock()

    def parts(self, array: Any) -> tuple[Any, dict[str, Any]]:
        """Form and buffers of an array of the branch, with names that no other branch has."""
        ak = need("awkward", "virtual=True")
        form, _, buffers = ak.to_buffers(array, form_key=f"{self.branch.name}.{self.number}.{{id}}")
        return form, dict(buffers)

    def buffer(self, key: str) -> Any:
        """One of them."""
        if self.log is not None:
            self.log += [Accessed(self.branch.name, key)]
        with self._lock:
            if self._buffers is None:
                loaded = load(values_below(self.branch), self.selection)
                array = branch_value(self.branch, loaded, AWKWARD, self.selection)
                _, self._buffers = self.parts(array)
            return self._buffers[key]


def arrays(plan: Plan, selection: Selection, library: Any, how: Any, log: Any) -> Any:
    """An Awkward Array of records that reads each branch of a plan when it is first looked at.

    Raises :class:`~sapwood.errors.MismatchError` for what needs values at once.
    """
    wrong = ["how"] * (how is not None) + ["library"] * (as_library(library) is not AWKWARD)
    if wrong:
        raise MismatchError(
            f"{', '.join(wrong)} cannot be used with 'virtual=True', which reads only what is looked at"
        )
    ak = need("awkward", "virtual=True")
    plan = plan.whole(selection)
    forms, container = [], {}
    for number, output in enumerate(plan.outputs):
        assert output.branch is not None, "without expressions all outputs are branches"
        lazy = _Lazy(output.branch, selection, number, log)
        nothing = branch_value(
            output.branch, load(values_below(output.branch), Selection((0, 0))), AWKWARD, Selection((0, 0))
        )
        form, buffers = lazy.parts(nothing)
        forms.append(form)
        container.update({key: functools.partial(lazy.buffer, key) for key in buffers})
    record = ak.forms.RecordForm(forms, [output.name for output in plan.outputs])
    return ak.from_buffers(record, len(selection), container)
