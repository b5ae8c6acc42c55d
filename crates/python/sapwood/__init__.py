"""Sapwood reads and writes CERN ROOT files at the speed of the hardware, without ROOT."""

from __future__ import annotations

from sapwood import errors
from sapwood._core import SapwoodError, __version__
from sapwood.model import Model
from sapwood.reading import Directory, File, open
from sapwood.tree import Branch, Tree

__all__ = ["Branch", "Directory", "File", "Model", "SapwoodError", "Tree", "__version__", "errors", "open"]
