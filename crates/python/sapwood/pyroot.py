"""Objects from real ROOT and back, where PyROOT is loaded. Nothing else here needs it."""

from __future__ import annotations

import io
from typing import Any

from sapwood.errors import MismatchError, UnsupportedError

_NAME = "object"


def is_pyroot(value: Any) -> bool:
    """Whether it is an object of PyROOT, without its import."""
    return type(value).__module__.startswith("cppyy.gbl") and hasattr(type(value), "__cpp_name__")


def from_pyroot(value: Any) -> Any:
    """An object of PyROOT as one that was read: what ROOT would write of it.

    >>> import ROOT                                                         # doctest: +SKIP
    >>> from_pyroot(ROOT.TH1F("h", "title", 10, -5, 5)).axis().edges()      # doctest: +SKIP

    Raises :class:`~sapwood.errors.UnsupportedError` for trees and directories, whose content is not theirs.
    """
    from sapwood._file.file import open

    if not is_pyroot(value):
        raise MismatchError(f"a {type(value).__name__} is no object of PyROOT")
    import ROOT

    classname = str(type(value).__cpp_name__)
    if isinstance(value, (ROOT.TTree, ROOT.TDirectory)):
        raise UnsupportedError(
            f"a {classname} of PyROOT has content beside it: let ROOT write it to a file, and read that"
        )
    with ROOT.TDirectory.TContext():
        file = ROOT.TMemFile("sapwood.root", "RECREATE", "", 0)
        if not file.WriteObject(value, _NAME):
            raise UnsupportedError(f"ROOT does not write the {classname}")
        file.Write()
        content = bytearray(file.GetSize())
        read, end = file.CopyTo(content, len(content)), file.GetEND()
        file.Close()
    if read != len(content):
        raise UnsupportedError(f"ROOT gave {read} bytes of {len(content)} for the {classname}")
    return open(bytes(content[:end]))[_NAME]  # memory goes on behind it


def to_pyroot(value: Any) -> Any:
    """An object as one of PyROOT: what ROOT reads of it.

    >>> to_pyroot((np.array([3.0, 2.0]), np.array([0.0, 1.0, 2.0])))        # doctest: +SKIP

    Raises ``ModuleNotFoundError`` where ROOT is not installed.
    """
    from sapwood._read.libraries import need
    from sapwood.writing import recreate

    ROOT = need("ROOT", "to_pyroot()")
    memory = io.BytesIO()
    with recreate(memory) as file:
        file[_NAME] = value
    content = memory.getvalue()
    with ROOT.TDirectory.TContext():
        read = ROOT.TMemFile("sapwood.root", content, len(content))
        found = read.Get(_NAME)
        if hasattr(found, "SetDirectory"):
            found.SetDirectory(ROOT.nullptr)
        ROOT.SetOwnership(found, True)
        read.Close()
    return found


def to_writable(value: Any) -> Any:
    """A value as the object that a file would hold of it: histograms, text, graphs, lists, objects of PyROOT.

    >>> to_writable("hello").classname
    'TObjString'

    Raises :class:`~sapwood.errors.MismatchError` for what is no object.
    """
    from sapwood._file.file import open
    from sapwood._write.conversion import as_object
    from sapwood.writing import recreate

    draft = as_object(value)
    if draft is None:
        raise MismatchError(f"a {type(value).__name__} is no object that a file holds")
    memory = io.BytesIO()
    with recreate(memory) as file:
        file[_NAME] = draft
    return open(memory.getvalue())[_NAME]
